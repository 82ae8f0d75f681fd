/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process group of torch.distributed over RCX: the classes that all files
 * share.
 *
 * A Context is RCX's context: the processes of a job. The world's group creates
 * it, and groups of some ranks create communicators in it. A Comm is a
 * communicator and its operations in progress. A Work is one of these
 * operations. A Group has the functions that torch.distributed calls.
 */
#ifndef RCX_BINDINGS_TORCH_RCX_TORCH_H
#define RCX_BINDINGS_TORCH_RCX_TORCH_H

#include "flight_recorder.h"

#include <rcx/rcx.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/version.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rcx_torch
{

using std::chrono::milliseconds;

#if TORCH_VERSION_MAJOR >= 2
using Base = c10d::Backend;
#else
using Base = c10d::ProcessGroup;
#endif

/* ---- Errors -------------------------------------------------------------- */

/* Describe an error, with the information of comm (NULL: none), or else of
 * RCX's log. */
std::string describe(rcx_status_t status, rcx_comm_t *comm);

/* Throw an exception if status is an error. */
void check(rcx_status_t status, rcx_comm_t *comm = nullptr);

/* Thrown if the other ranks have agreed that this rank has failed:
 * rcx_torch.ExcludedError in Python. */
class Excluded : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/* Convert to RCX's unit. For RCX, 0 is no timeout. */
int64_t nanoseconds(milliseconds time);

/* How long the end of a job waits for ranks, which may have exited before. */
constexpr std::chrono::seconds leave_within{10};

/* ---- Processes ----------------------------------------------------------- */

struct Operation;

class Context
{
  public:
    /* has_thread: operations progress while no thread waits for them.
     *
     * Create the context of size processes that share a store: rank 0 makes
     * the id of the job, and the others read it there. With size 1 the store is
     * not used. */
    static std::shared_ptr<Context>
    over_store(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
               milliseconds timeout, bool has_thread = true);
    /* Create the context of processes started by srun, prterun, rcxrun or
     * mpirun. */
    static std::shared_ptr<Context> over_pmix(milliseconds timeout,
                                              bool has_thread = true);

    explicit Context(rcx_context_t *handle) : handle_(handle)
    {
    }
    /* Finalizes RCX together with the other processes; waits 10 s at most. */
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    rcx_comm_t *world() const
    {
        return rcx_world(handle_);
    }
    /* Keep the tensors of a failed operation: RCX may read them until it is
     * finalized. */
    void keep(const Operation &operation);
    /* Communicators whose operations abort_all() ends, on all their ranks. */
    void add(rcx_comm_t *comm);
    void remove(rcx_comm_t *comm);
    void abort_all();

  private:
    rcx_context_t *handle_;
    std::mutex keeping_;
    std::vector<at::Tensor> kept_;
    std::mutex comms_lock_;
    std::set<rcx_comm_t *> comms_;
};

/* ---- Operations ---------------------------------------------------------- */

class Comm;

/* A call: its tensors, as RCX takes them, and functions that start it. */
struct Operation {
    using Start = std::function<rcx_status_t(rcx_comm_t *, rcx_request_t **)>;

    c10d::OpType type;
    const char *title;
    milliseconds timeout;
    std::vector<at::Tensor> results = {};
    std::vector<Start> starts = {};
    std::vector<at::Tensor> kept = {};
    /* tensors that are not contiguous, each with its contiguous copy */
    std::vector<std::pair<at::Tensor, at::Tensor>> copies = {};

    /* for the flight recorder */
    Recorded recorded = {};

    /* Describe the operands for the flight recorder. blocks: each output is so
     * many inputs, and outputs is not used; 0: outputs are. record_message():
     * peer -1: any. */
    void record(const std::vector<at::Tensor> &inputs,
                const std::vector<at::Tensor> &outputs, int64_t blocks = 0);
    void record_message(const std::vector<at::Tensor> &tensors, bool sends,
                        int peer);

    /* Return t, or a contiguous copy, to be read, written, or both. */
    at::Tensor read(const at::Tensor &t);
    at::Tensor write(const at::Tensor &t);
    at::Tensor update(const at::Tensor &t);
};

/* Threads on which hooks run. They end when there has been no hook for 10 s. */
class Hooks
{
  public:
    ~Hooks();
    /* Run hook on a thread soon, also if earlier hooks are waiting. */
    void run(std::function<void()> hook);

  private:
    struct State {
        std::mutex lock;
        std::condition_variable changed;
        std::deque<std::function<void()>> waiting;
        size_t idle = 0;
        bool is_over = false;
    };
    static void work(std::shared_ptr<State> state);

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

class Work : public c10d::Work
{
  public:
    Work(Operation operation, const std::shared_ptr<Comm> &comm, int rank);
    ~Work() override;

    bool wait(milliseconds timeout = kNoTimeout) override;
    int sourceRank() const override;
    std::vector<at::Tensor> result() override;
    void abort() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

    /* For Comm only. record(): in the flight recorder, as one of this group.
     * start(): start the operation. listen(): set the callbacks
     * of its requests. release(): free its requests and tensors if it is over
     * and no thread waits for it; otherwise return false. end(): wait until it
     * is over, and release it. */
    void record(size_t group);
    void start(rcx_comm_t *comm);
    void listen();
    bool release(Context &context);
    void end(Context &context);

  private:
    static void done(rcx_request_t *request, rcx_status_t status, void *arg);
    void complete() noexcept;
    void run_later();
    void drop(Context &context);

    Operation operation_;
    std::weak_ptr<Comm> comm_;
    std::shared_ptr<Hooks> hooks_;
    rcx_comm_t *handle_ = nullptr; /* lives until this is over */
    std::vector<rcx_request_t *> requests_;
    std::vector<rcx_status_t> started_;
    std::shared_mutex requests_in_use_; /* threads that wait share it */
    std::atomic<size_t> left_;
    std::mutex error_lock_;
    std::string error_;
    int source_ = -1;
    std::atomic<bool> over_{false};
    std::mutex future_lock_; /* protects has_hooks_ */
    bool has_hooks_ = false;
    std::optional<uint64_t> recorded_; /* in the flight recorder */
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/* Several operations as one, which is over when all are, or when one has
 * failed. */
class Works : public c10d::Work
{
  public:
    using WorkPtr = c10::intrusive_ptr<c10d::Work>;

    static WorkPtr of(std::vector<WorkPtr> works);
    explicit Works(std::vector<WorkPtr> works);

    bool wait(milliseconds timeout = kNoTimeout) override;
    std::vector<at::Tensor> result() override;
    void abort() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  private:
    std::vector<WorkPtr> works_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class Comm : public std::enable_shared_from_this<Comm>
{
  public:
    static std::shared_ptr<Comm> of_world(std::shared_ptr<Context> context);
    /* A communicator of some ranks of parent. Only these ranks call it. */
    static std::shared_ptr<Comm> of_ranks(const Comm &parent,
                                          const std::vector<int> &ranks,
                                          const std::string &name);
    Comm(std::shared_ptr<Context> context, rcx_comm_t *handle, bool owned);
    /* Waits for the operations in progress. That of the world also waits for
     * the other ranks; 10 s at most. */
    ~Comm();
    Comm(const Comm &) = delete;
    Comm &operator=(const Comm &) = delete;

    c10::intrusive_ptr<Work> start(Operation operation);
    /* End the operations of all ranks with an error. */
    void abort();
    /* rcx_comm_shrink(), rcx_comm_agree(), rcx_comm_failed(). A failed
     * communicator can shrink, and its ranks can agree. */
    std::shared_ptr<Comm> shrink(milliseconds timeout);
    uint64_t agree(uint64_t flags, milliseconds timeout);
    std::vector<int> failed() const;
    /* From now on this is the communicator of the world's group. */
    void become_world();
    /* Operations are recorded as those of the group of this name. ranks: of the
     * world. */
    void record_as(const std::string &name, const std::vector<int> &ranks);
    Context &context() const
    {
        return *context_;
    }
    rcx_comm_t *handle() const
    {
        return handle_;
    }
    std::shared_ptr<Hooks> hooks() const
    {
        return hooks_;
    }

  private:
    std::shared_ptr<Context> context_;
    std::shared_ptr<Hooks> hooks_ = std::make_shared<Hooks>();
    rcx_comm_t *handle_;
    bool owned_;
    bool is_world_ = false;
    std::optional<size_t> recorded_; /* its group in the flight recorder */
    std::mutex starting_;            /* held while an operation is started */
    std::list<c10::intrusive_ptr<Work>> under_way_;
};

/* Whether this thread is in a callback of RCX's, in which it must not wait.
 * in_hook(): in such a callback, or in a hook, for which the Work waits. */
bool in_callback();
bool in_hook();

/* ---- The functions that torch.distributed calls -------------------------- */

class Group : public Base
{
  public:
    /* comm is null until reconfigure() if the group begins without one. */
    Group(std::shared_ptr<Comm> comm, int rank, int size, milliseconds timeout);
    ~Group() override;

    using Tensor = at::Tensor;
    using Tensors = std::vector<at::Tensor>;
    using Lists = std::vector<std::vector<at::Tensor>>;
    using Splits = std::vector<int64_t>;
    using WorkPtr = c10::intrusive_ptr<c10d::Work>;

    const std::string getBackendName() const override
    {
        return "rcx";
    }
    std::shared_ptr<Comm> comm() const;
    milliseconds timeout() const
    {
        return timeout_;
    }
    WorkPtr broadcast(Tensors &tensors,
                      const c10d::BroadcastOptions &options) override;
    WorkPtr allreduce(Tensors &tensors,
                      const c10d::AllreduceOptions &options) override;
    WorkPtr allreduce_coalesced(
        Tensors &tensors,
        const c10d::AllreduceCoalescedOptions &options) override;
    WorkPtr reduce(Tensors &tensors,
                   const c10d::ReduceOptions &options) override;
    WorkPtr allgather(Lists &outputs, Tensors &inputs,
                      const c10d::AllgatherOptions &options) override;
    WorkPtr _allgather_base(Tensor &output, Tensor &input,
                            const c10d::AllgatherOptions &options) override;
    WorkPtr allgather_coalesced(Lists &outputs, Tensors &inputs,
                                const c10d::AllgatherOptions &options) override;
    WorkPtr gather(Lists &outputs, Tensors &inputs,
                   const c10d::GatherOptions &options) override;
    WorkPtr scatter(Tensors &outputs, Lists &inputs,
                    const c10d::ScatterOptions &options) override;
    WorkPtr reduce_scatter(Tensors &outputs, Lists &inputs,
                           const c10d::ReduceScatterOptions &options) override;
    WorkPtr
    _reduce_scatter_base(Tensor &output, Tensor &input,
                         const c10d::ReduceScatterOptions &options) override;
    WorkPtr alltoall_base(Tensor &output, Tensor &input, Splits &output_splits,
                          Splits &input_splits,
                          const c10d::AllToAllOptions &options) override;
    WorkPtr alltoall(Tensors &outputs, Tensors &inputs,
                     const c10d::AllToAllOptions &options) override;
    WorkPtr send(Tensors &tensors, int to, int tag) override;
    WorkPtr recv(Tensors &tensors, int from, int tag) override;
    WorkPtr recvAnysource(Tensors &tensors, int tag) override;
    WorkPtr barrier(const c10d::BarrierOptions &options) override;
#if TORCH_VERSION_MAJOR >= 2
    WorkPtr allgather_into_tensor_coalesced(
        Tensors &outputs, Tensors &inputs,
        const c10d::AllgatherOptions &options) override;
    WorkPtr reduce_scatter_tensor_coalesced(
        Tensors &outputs, Tensors &inputs,
        const c10d::ReduceScatterOptions &options) override;
    /* Operations between these calls start at once. endCoalescing() returns one
     * Work for all of them. */
    void startCoalescing() override;
    WorkPtr endCoalescing() override;
#endif
    /* No effect: RCX numbers and matches collectives itself. */
    void setSequenceNumberForGroup() override
    {
    }
    uint64_t getSequenceNumberForGroup() override
    {
        return started_;
    }

    /* Recovery. These override functions of PyTorch 2, as far as its version
     * has them; 1.13 has none. abort(): end the operations of all ranks.
     * shrink(): a group without some ranks, which do not call it. With flag 1
     * (SHRINK_ABORT) the group has failed, and the others must be the ranks
     * that live. */
    void abort();
    void setTimeout(milliseconds timeout);
    bool supportsShrinking() const;
    c10::intrusive_ptr<Base>
    shrink(const std::vector<int64_t> &excluded, int flags = 0,
           const c10::intrusive_ptr<Base::Options> &options = {});
#ifdef C10D_BACKEND_HAS_RECONFIGURE
    bool supportsReconfigure() const override
    {
        return true;
    }
    c10d::ReconfigureHandle get_reconfigure_handle() const override;
    WorkPtr reconfigure(const c10d::ReconfigureOptions &options) override;
    void set_store(const c10::intrusive_ptr<c10d::Store> &store);
#endif

  private:
    WorkPtr allreduce_sparse(Tensor &tensor,
                             const c10d::AllreduceOptions &options);
    /* Start an operation. start(): a collective, which is counted.
     * start_message(): a message, which is not. */
    WorkPtr start(Operation operation);
    WorkPtr start_message(Operation operation);
    Operation begin(c10d::OpType type, const char *title,
                    milliseconds timeout) const;
    Operation one(c10d::OpType type, const char *title, milliseconds timeout,
                  Tensors &tensors) const;

    std::shared_ptr<Comm> comm_;
    milliseconds timeout_;
#ifdef C10D_BACKEND_HAS_RECONFIGURE
    c10::intrusive_ptr<c10d::Store> store_;
    std::string reconfigure_handle_;
#endif
    std::atomic<uint64_t> started_{0};
    std::mutex coalescing_lock_;
    bool coalescing_ = false;
    std::vector<WorkPtr> coalesced_;
};

/* The communicator in which groups of some ranks are created: that of the
 * world's group. */
void set_world(const std::shared_ptr<Comm> &comm);

} // namespace rcx_torch

#endif
