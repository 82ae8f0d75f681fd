/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions without torch.distributed: a communicator whose calls run on the
 * caller's thread, and the Python function all_reduce_().
 */
#ifndef RCX_BINDINGS_TORCH_DIRECT_H
#define RCX_BINDINGS_TORCH_DIRECT_H

#include <pybind11/pybind11.h>

#include "rcx_torch.h"

namespace rcx_torch
{

/* Calls hold Python's lock, but for the time in which they wait long. */
class Direct
{
  public:
    /* owned: this frees comm, which is not the world. */
    Direct(std::shared_ptr<Context> context, rcx_comm_t *comm, bool owned);
    ~Direct();
    Direct(const Direct &) = delete;
    Direct &operator=(const Direct &) = delete;

    rcx_comm_t *handle() const
    {
        return comm_;
    }
    /* Reduce t, which is contiguous, in place. Without an exception the result
     * is there. */
    void all_reduce(const at::Tensor &t, rcx_datatype_t type, rcx_op_t op);
    /* The same in C only, and so many times: returns seconds of one. */
    double time(const at::Tensor &t, rcx_datatype_t type, rcx_op_t op,
                int times);
    /* Collective. A color of -1: none. */
    std::shared_ptr<Direct> split(int color, int key);
    at::Tensor empty(const std::vector<int64_t> &shape, at::ScalarType type);
    void set_timeout(milliseconds timeout);

  private:
    rcx_status_t wait(rcx_request_t *request);

    std::shared_ptr<Context> context_;
    rcx_comm_t *comm_;
    bool owned_;
    std::vector<at::Tensor> kept_; /* of calls that have failed */
};

/* Add the class Comm and the functions to the module. */
void add_direct(pybind11::module_ &m);

} // namespace rcx_torch

#endif
