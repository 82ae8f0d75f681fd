/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of tensors and ops to operands of RCX, and checks of arguments.
 * Functions throw if an argument is not valid. */
#ifndef RCX_BINDINGS_TORCH_OPERANDS_H
#define RCX_BINDINGS_TORCH_OPERANDS_H

#include "rcx_torch.h"

#include <c10/util/Exception.h>

namespace rcx_torch
{

rcx_datatype_t datatype_of(const at::Tensor &t);
rcx_op_t op_of(const c10d::ReduceOp &op, const at::Tensor &t);

/* Separate tensors as blocks of one buffer. base is the lowest address of all
 * tensors, displs are in bytes. */
struct Blocks {
    char *base = nullptr;
    std::vector<size_t> bytes, displs;

    explicit Blocks(const std::vector<at::Tensor> &tensors);
};

std::vector<at::Tensor> write_each(Operation &operation,
                                   const std::vector<at::Tensor> &tensors);
std::vector<at::Tensor> read_each(Operation &operation,
                                  const std::vector<at::Tensor> &tensors);

/* Copy tensors into one vector, one after the other. */
at::Tensor packed(const std::vector<at::Tensor> &tensors);

/* Check the length of a list: one element, or one for each rank. */
template <class List>
typename List::value_type &only(List &list, const char *what)
{
    TORCH_CHECK(list.size() == 1, "rcx: needs one ", what, " per rank, not ",
                list.size());
    return list[0];
}
std::vector<at::Tensor> &of_all(std::vector<at::Tensor> &list, int size,
                                const char *what);

void same_type(const at::Tensor &a, const at::Tensor &b);
void root_is_rank(int64_t root, int size);

} // namespace rcx_torch

#endif
