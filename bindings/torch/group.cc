/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that torch.distributed calls: each makes an Operation of RCX
 * calls and starts it. Data that are only moved are sent as bytes. */
#include "operands.h"

#include <ATen/ATen.h>
#include <c10/util/irange.h>
#include <pybind11/pybind11.h>

#include <cstring>
#include <numeric>
#include <thread>

namespace rcx_torch
{

using c10d::OpType;
using c10d::ReduceOp;

/* ---- Groups -------------------------------------------------------------- */

Group::Group(std::shared_ptr<Comm> comm, int rank, int size,
             milliseconds timeout)
    : Base(rank, size), comm_(std::move(comm)), timeout_(timeout)
{
}

std::shared_ptr<Comm> Group::comm() const
{
    TORCH_CHECK(comm_, "rcx: the group has no members before reconfigure()");
    return comm_;
}

/* The last reference to a Comm waits for its operations, and may finalize RCX.
 * This is not possible with Python's lock, which hooks need, nor in a hook, for
 * which an operation waits. */
Group::~Group()
{
    if (in_hook())
        std::thread([comm = std::move(comm_)]() mutable {
            comm.reset();
        }).detach();
    else if (Py_IsInitialized() && PyGILState_Check()) {
        const pybind11::gil_scoped_release released;
        comm_.reset();
    }
}

/* Titles are "rcx:" and mostly NCCL's names. */
Operation Group::begin(OpType type, const char *title,
                       milliseconds timeout) const
{
    Operation operation{type, title,
                        timeout == c10d::kUnsetTimeout ? timeout_ : timeout};

    operation.recorded.name = title + strlen("rcx:");
    return operation;
}

/* Begin an operation on one tensor, which is its result. */
Operation Group::one(OpType type, const char *title, milliseconds timeout,
                     Tensors &tensors) const
{
    Operation operation = begin(type, title, timeout);

    operation.results = {only(tensors, "tensor")};
    return operation;
}

Group::WorkPtr Group::start(Operation operation)
{
    started_++;
    return start_message(std::move(operation));
}

Group::WorkPtr Group::start_message(Operation operation)
{
    WorkPtr work = comm()->start(std::move(operation));
    const std::lock_guard<std::mutex> lock(coalescing_lock_);

    if (coalescing_)
        coalesced_.push_back(work);
    return work;
}

/* ---- Operations on one tensor -------------------------------------------- */

Group::WorkPtr Group::broadcast(Tensors &tensors,
                                const c10d::BroadcastOptions &options)
{
    Operation operation =
        one(OpType::BROADCAST, "rcx:broadcast", options.timeout, tensors);
    const int root = static_cast<int>(options.rootRank);

    root_is_rank(root, getSize());
    operation.record(tensors, tensors);
    const at::Tensor t = getRank() == root ? operation.read(tensors[0])
                                           : operation.write(tensors[0]);
    operation.starts.push_back([=](rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_ibcast(t.data_ptr(), t.nbytes(), RCX_BYTE, root, comm,
                          request);
    });
    return start(std::move(operation));
}

/* Sum sparse tensors. Ranks have different elements, so each rank gathers all
 * of them. The sum is complete when this returns, as the sizes of later steps
 * depend on the numbers of elements. */
Group::WorkPtr Group::allreduce_sparse(Tensor &tensor,
                                       const c10d::AllreduceOptions &options)
{
    Operation operation =
        begin(OpType::ALLREDUCE, "rcx:sparse_all_reduce", options.timeout);
    const Tensor mine = tensor.coalesce();
    const auto numbers = tensor.options().layout(at::kStrided).dtype(at::kLong);
    Tensor count = at::full({1}, mine._nnz(), numbers);
    Tensor counts = at::empty({getSize()}, numbers);
    Tensors indices{mine.indices().t().contiguous()}, values{mine.values()};
    Lists all_indices(1), all_values(1);

    TORCH_CHECK(static_cast<ReduceOp::RedOpType>(options.reduceOp) ==
                    ReduceOp::SUM,
                "rcx: sparse tensors support SUM only");
    TORCH_CHECK(!in_callback(), "rcx: sparse tensors cannot be reduced in a "
                                "hook (callback)");
    _allgather_base(counts, count, {options.timeout})->wait();
    for (const auto rank : c10::irange(getSize())) {
        const int64_t n = counts[rank].item<int64_t>();
        auto shape = values[0].sizes().vec();

        shape[0] = n;
        all_indices[0].push_back(at::empty({n, mine.sparse_dim()}, numbers));
        all_values[0].push_back(at::empty(shape, values[0].options()));
    }
    allgather(all_indices, indices, {options.timeout})->wait();
    allgather(all_values, values, {options.timeout})->wait();
    tensor.copy_(at::sparse_coo_tensor(at::cat(all_indices[0]).t(),
                                       at::cat(all_values[0]), tensor.sizes())
                     .coalesce());
    operation.results = {tensor};
    operation.recorded.name = nullptr; /* its steps are recorded */
    return start_message(std::move(operation));
}

Group::WorkPtr Group::allreduce(Tensors &tensors,
                                const c10d::AllreduceOptions &options)
{
    if (only(tensors, "tensor").is_sparse())
        return allreduce_sparse(tensors[0], options);

    Operation operation =
        one(OpType::ALLREDUCE, "rcx:all_reduce", options.timeout, tensors);
    const rcx_op_t op = op_of(options.reduceOp, tensors[0]);
    const at::Tensor t = operation.update(tensors[0]);

    operation.record(tensors, tensors);
    operation.starts.push_back([=](rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_iallreduce(RCX_IN_PLACE, t.data_ptr(), t.numel(),
                              datatype_of(t), op, comm, request);
    });
    return start(std::move(operation));
}

Group::WorkPtr
Group::allreduce_coalesced(Tensors &tensors,
                           const c10d::AllreduceCoalescedOptions &options)
{
    Operation operation = begin(OpType::ALLREDUCE_COALESCED,
                                "rcx:all_reduce_coalesced", options.timeout);
    std::vector<void *> places;
    std::vector<size_t> counts;

    TORCH_CHECK(!tensors.empty(), "rcx: the list of tensors is empty");
    for (const auto &tensor : tensors) {
        same_type(tensor, tensors[0]);
        const at::Tensor t = operation.update(tensor);
        places.push_back(t.data_ptr());
        counts.push_back(t.numel());
    }
    operation.results = tensors;
    operation.record(tensors, tensors);
    operation.recorded.name = "allreduce_coalesced";
    operation.starts.push_back([=, type = datatype_of(tensors[0]),
                                op = op_of(options.reduceOp, tensors[0])](
                                   rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_iallreduce_many(
            places.size(), static_cast<const void *const *>(RCX_IN_PLACE),
            places.data(), counts.data(), type, op, comm, request);
    });
    return start(std::move(operation));
}

Group::WorkPtr Group::reduce(Tensors &tensors,
                             const c10d::ReduceOptions &options)
{
    Operation operation =
        one(OpType::REDUCE, "rcx:reduce", options.timeout, tensors);
    const rcx_op_t op = op_of(options.reduceOp, tensors[0]);
    const int root = static_cast<int>(options.rootRank);

    root_is_rank(root, getSize());
    const bool is_root = getRank() == root;
    operation.record(tensors, tensors);
    const at::Tensor t =
        is_root ? operation.update(tensors[0]) : operation.read(tensors[0]);
    operation.starts.push_back([=](rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_ireduce(is_root ? RCX_IN_PLACE : t.data_ptr(),
                           is_root ? t.data_ptr() : nullptr, t.numel(),
                           datatype_of(t), op, root, comm, request);
    });
    return start(std::move(operation));
}

/* ---- Operations on blocks of ranks --------------------------------------- */

static Operation::Start allgather_of(Operation &operation,
                                     const at::Tensor &input,
                                     const std::vector<at::Tensor> &outputs)
{
    return [in = operation.read(input),
            blocks = Blocks(write_each(operation, outputs))](
               rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_iallgatherv(in.data_ptr(), blocks.base, blocks.bytes.data(),
                               blocks.displs.data(), RCX_BYTE, comm, request);
    };
}

Group::WorkPtr Group::allgather(Lists &outputs, Tensors &inputs,
                                const c10d::AllgatherOptions &options)
{
    Operation operation =
        begin(OpType::ALLGATHER, "rcx:all_gather", options.timeout);
    const at::Tensor &input = only(inputs, "input");

    operation.results =
        of_all(only(outputs, "list of outputs"), getSize(), "outputs");
    for (const auto &t : operation.results)
        same_type(t, input);
    operation.record(inputs, {}, getSize());
    operation.starts.push_back(
        allgather_of(operation, input, operation.results));
    return start(std::move(operation));
}

Group::WorkPtr Group::allgather_coalesced(Lists &outputs, Tensors &inputs,
                                          const c10d::AllgatherOptions &options)
{
    Operation operation = begin(OpType::ALLGATHER_COALESCED,
                                "rcx:all_gather_coalesced", options.timeout);

    TORCH_CHECK(outputs.size() == static_cast<size_t>(getSize()),
                "rcx: ", outputs.size(), " lists of outputs for ", getSize(),
                " ranks");
    for (const auto i : c10::irange(inputs.size())) {
        Tensors column;
        for (auto &list : outputs) {
            TORCH_CHECK(list.size() == inputs.size(), "rcx: ", list.size(),
                        " outputs for ", inputs.size(), " inputs");
            same_type(list[i], inputs[i]);
            column.push_back(list[i]);
        }
        operation.starts.push_back(allgather_of(operation, inputs[i], column));
    }
    operation.record(inputs, {}, getSize());
    operation.recorded.name = "all_gather_into_tensor_coalesced";
    return start(std::move(operation));
}

static Operation::Start allgather_into(Operation &operation,
                                       const at::Tensor &output,
                                       const at::Tensor &input, int size)
{
    same_type(output, input);
    TORCH_CHECK(output.numel() == input.numel() * size, "rcx: output has ",
                output.numel(), " elements, needs ", size, " times ",
                input.numel());
    return [in = operation.read(input), out = operation.write(output)](
               rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_iallgather(in.data_ptr(), out.data_ptr(), in.nbytes(),
                              RCX_BYTE, comm, request);
    };
}

Group::WorkPtr Group::_allgather_base(Tensor &output, Tensor &input,
                                      const c10d::AllgatherOptions &options)
{
    Operation operation =
        begin(OpType::_ALLGATHER_BASE, "rcx:_all_gather_base", options.timeout);

    operation.results = {output};
    operation.record({input}, {output});
    operation.starts.push_back(
        allgather_into(operation, output, input, getSize()));
    return start(std::move(operation));
}

Group::WorkPtr Group::gather(Lists &outputs, Tensors &inputs,
                             const c10d::GatherOptions &options)
{
    Operation operation = begin(OpType::GATHER, "rcx:gather", options.timeout);
    const at::Tensor &input = only(inputs, "input");
    const int root = static_cast<int>(options.rootRank);

    root_is_rank(root, getSize());
    if (getRank() == root)
        operation.results =
            of_all(only(outputs, "list of outputs"), getSize(), "outputs");
    else
        TORCH_CHECK(outputs.empty(), "rcx: outputs must be empty on ranks "
                                     "other than the root");
    for (const auto &t : operation.results)
        TORCH_CHECK(t.nbytes() == input.nbytes(), "rcx: an output of ",
                    t.nbytes(), " bytes for an input of ", input.nbytes());
    operation.record(inputs, operation.results);
    operation.starts.push_back(
        [in = operation.read(input),
         counts = std::vector<size_t>(getSize(), input.nbytes()),
         blocks = Blocks(write_each(operation, operation.results)),
         root](rcx_comm_t *comm, rcx_request_t **request) {
            return rcx_igatherv(in.data_ptr(), blocks.base, counts.data(),
                                blocks.displs.data(), RCX_BYTE, root, comm,
                                request);
        });
    return start(std::move(operation));
}

Group::WorkPtr Group::scatter(Tensors &outputs, Lists &inputs,
                              const c10d::ScatterOptions &options)
{
    Operation operation =
        one(OpType::SCATTER, "rcx:scatter", options.timeout, outputs);
    const int root = static_cast<int>(options.rootRank);
    Tensors parts;

    root_is_rank(root, getSize());
    if (getRank() == root)
        parts = of_all(only(inputs, "list of inputs"), getSize(), "inputs");
    else
        TORCH_CHECK(inputs.empty(), "rcx: inputs must be empty on ranks other "
                                    "than the root");
    for (const auto &t : parts)
        TORCH_CHECK(t.nbytes() == outputs[0].nbytes(), "rcx: an input of ",
                    t.nbytes(), " bytes for an output of ",
                    outputs[0].nbytes());
    operation.record(parts, outputs);
    operation.starts.push_back(
        [out = operation.write(outputs[0]),
         counts = std::vector<size_t>(getSize(), outputs[0].nbytes()),
         blocks = Blocks(read_each(operation, parts)),
         root](rcx_comm_t *comm, rcx_request_t **request) {
            return rcx_iscatterv(blocks.base, out.data_ptr(), counts.data(),
                                 blocks.displs.data(), RCX_BYTE, root, comm,
                                 request);
        });
    return start(std::move(operation));
}

/* Packs the inputs, as RCX reduces one vector. */
Group::WorkPtr Group::reduce_scatter(Tensors &outputs, Lists &inputs,
                                     const c10d::ReduceScatterOptions &options)
{
    Operation operation = one(OpType::REDUCE_SCATTER, "rcx:reduce_scatter",
                              options.timeout, outputs);
    Tensors &parts =
        of_all(only(inputs, "list of inputs"), getSize(), "inputs");
    const rcx_op_t op = op_of(options.reduceOp, outputs[0]);
    std::vector<size_t> counts;

    for (auto &t : parts) {
        same_type(t, outputs[0]);
        counts.push_back(t.numel());
    }
    TORCH_CHECK(counts[getRank()] == static_cast<size_t>(outputs[0].numel()),
                "rcx: output has ", outputs[0].numel(),
                " elements, the input of this rank ", counts[getRank()]);
    operation.record(parts, outputs);
    const Tensor in = operation.read(packed(parts));
    operation.starts.push_back([=, out = operation.write(outputs[0])](
                                   rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_ireduce_scatter(in.data_ptr(), out.data_ptr(), counts.data(),
                                   datatype_of(out), op, comm, request);
    });
    return start(std::move(operation));
}

static Operation::Start reduce_scatter_from(Operation &operation,
                                            const ReduceOp &by,
                                            const at::Tensor &output,
                                            const at::Tensor &input, int size)
{
    const rcx_op_t op = op_of(by, output);

    same_type(output, input);
    TORCH_CHECK(input.numel() == output.numel() * size, "rcx: input has ",
                input.numel(), " elements, needs ", size, " times ",
                output.numel());
    return [in = operation.read(input), out = operation.write(output),
            op](rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_ireduce_scatter_block(in.data_ptr(), out.data_ptr(),
                                         out.numel(), datatype_of(out), op,
                                         comm, request);
    };
}

Group::WorkPtr
Group::_reduce_scatter_base(Tensor &output, Tensor &input,
                            const c10d::ReduceScatterOptions &options)
{
    Operation operation = begin(OpType::_REDUCE_SCATTER_BASE,
                                "rcx:_reduce_scatter_base", options.timeout);

    operation.results = {output};
    operation.record({input}, {output});
    operation.starts.push_back(reduce_scatter_from(operation, options.reduceOp,
                                                   output, input, getSize()));
    return start(std::move(operation));
}

/* Bytes of the parts that splits makes of t along dimension 0; equal parts if
 * splits is empty. */
static std::vector<size_t> split(const at::Tensor &t,
                                 const std::vector<int64_t> &splits, int size)
{
    const int64_t rows = t.dim() > 0 ? t.size(0) : 0;
    std::vector<int64_t> parts = splits;

    if (parts.empty()) {
        TORCH_CHECK(rows % size == 0, "rcx: ", rows,
                    " rows cannot be split evenly among ", size, " ranks");
        parts.assign(size, rows / size);
    }
    TORCH_CHECK(
        parts.size() == static_cast<size_t>(size) &&
            std::accumulate(parts.begin(), parts.end(), int64_t{0}) == rows,
        "rcx: split sizes must be ", size, " numbers with the sum ", rows);
    std::vector<size_t> bytes;
    for (const int64_t part : parts)
        bytes.push_back(rows > 0 ? t.nbytes() / rows * part : 0);
    return bytes;
}

Group::WorkPtr Group::alltoall_base(Tensor &output, Tensor &input,
                                    Splits &output_splits, Splits &input_splits,
                                    const c10d::AllToAllOptions &options)
{
    Operation operation =
        begin(OpType::ALLTOALL_BASE, "rcx:all_to_all", options.timeout);
    const auto to = split(input, input_splits, getSize());
    const auto from = split(output, output_splits, getSize());
    const bool is_even = input_splits.empty() && output_splits.empty();

    same_type(output, input);
    TORCH_CHECK(!is_even || input.nbytes() == output.nbytes(),
                "rcx: input has ", input.nbytes(), " bytes, output ",
                output.nbytes(), ": must be equal without split sizes");
    operation.results = {output};
    operation.record({input}, {output});
    operation.starts.push_back([=, in = operation.read(input),
                                out = operation.write(output)](
                                   rcx_comm_t *comm, rcx_request_t **request) {
        if (is_even)
            return rcx_ialltoall(in.data_ptr(), out.data_ptr(), to[0], RCX_BYTE,
                                 comm, request);
        return rcx_ialltoallv(in.data_ptr(), to.data(), nullptr, out.data_ptr(),
                              from.data(), nullptr, RCX_BYTE, comm, request);
    });
    return start(std::move(operation));
}

Group::WorkPtr Group::alltoall(Tensors &outputs, Tensors &inputs,
                               const c10d::AllToAllOptions &options)
{
    Operation operation =
        begin(OpType::ALLTOALL, "rcx:all_to_all", options.timeout);

    operation.results = of_all(outputs, getSize(), "outputs");
    of_all(inputs, getSize(), "inputs");
    operation.record(inputs, outputs);
    operation.starts.push_back([in = Blocks(read_each(operation, inputs)),
                                out = Blocks(write_each(operation, outputs))](
                                   rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_ialltoallv(in.base, in.bytes.data(), in.displs.data(),
                              out.base, out.bytes.data(), out.displs.data(),
                              RCX_BYTE, comm, request);
    });
    return start(std::move(operation));
}

/* ---- Messages and barrier ------------------------------------------------ */

Group::WorkPtr Group::send(Tensors &tensors, int to, int tag)
{
    Operation operation =
        one(OpType::SEND, "rcx:send", c10d::kUnsetTimeout, tensors);

    operation.record_message(tensors, true, to);
    operation.starts.push_back([=, t = operation.read(tensors[0])](
                                   rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_isend(t.data_ptr(), t.nbytes(), RCX_BYTE, to, tag, comm,
                         request);
    });
    return start_message(std::move(operation));
}

static Operation::Start receive(Operation &operation, int from, int tag)
{
    return [=, t = operation.write(operation.results[0])](
               rcx_comm_t *comm, rcx_request_t **request) {
        return rcx_irecv(t.data_ptr(), t.nbytes(), RCX_BYTE, from, tag, comm,
                         request);
    };
}

Group::WorkPtr Group::recv(Tensors &tensors, int from, int tag)
{
    Operation operation =
        one(OpType::RECV, "rcx:recv", c10d::kUnsetTimeout, tensors);

    operation.record_message(tensors, false, from);
    operation.starts.push_back(receive(operation, from, tag));
    return start_message(std::move(operation));
}

Group::WorkPtr Group::recvAnysource(Tensors &tensors, int tag)
{
    Operation operation = one(OpType::RECVANYSOURCE, "rcx:recvAnySource",
                              c10d::kUnsetTimeout, tensors);

    operation.record_message(tensors, false, -1);
    operation.starts.push_back(receive(operation, RCX_ANY_SOURCE, tag));
    return start_message(std::move(operation));
}

Group::WorkPtr Group::barrier(const c10d::BarrierOptions &options)
{
    Operation operation =
        begin(OpType::BARRIER, "rcx:barrier", options.timeout);

    operation.recorded.name = "all_reduce_barrier";
    operation.starts.push_back(rcx_ibarrier);
    return start(std::move(operation));
}

#if TORCH_VERSION_MAJOR >= 2
/* ---- Coalesced operations of PyTorch 2 ----------------------------------- */

Group::WorkPtr
Group::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                       const c10d::AllgatherOptions &options)
{
    Operation operation =
        begin(OpType::COALESCED, "rcx:all_gather_into_tensor_coalesced",
              options.timeout);

    TORCH_CHECK(outputs.size() == inputs.size(), "rcx: ", outputs.size(),
                " outputs for ", inputs.size(), " inputs");
    operation.results = outputs;
    operation.record(inputs, outputs);
    for (const auto i : c10::irange(inputs.size()))
        operation.starts.push_back(
            allgather_into(operation, outputs[i], inputs[i], getSize()));
    return start(std::move(operation));
}

Group::WorkPtr Group::reduce_scatter_tensor_coalesced(
    Tensors &outputs, Tensors &inputs,
    const c10d::ReduceScatterOptions &options)
{
    Operation operation =
        begin(OpType::COALESCED, "rcx:reduce_scatter_tensor_coalesced",
              options.timeout);

    TORCH_CHECK(outputs.size() == inputs.size(), "rcx: ", outputs.size(),
                " outputs for ", inputs.size(), " inputs");
    operation.results = outputs;
    operation.record(inputs, outputs);
    for (const auto i : c10::irange(inputs.size()))
        operation.starts.push_back(reduce_scatter_from(
            operation, options.reduceOp, outputs[i], inputs[i], getSize()));
    return start(std::move(operation));
}

void Group::startCoalescing()
{
    const std::lock_guard<std::mutex> lock(coalescing_lock_);

    coalesced_.clear();
    coalescing_ = true;
}

Group::WorkPtr Group::endCoalescing()
{
    const std::lock_guard<std::mutex> lock(coalescing_lock_);

    coalescing_ = false;
    return Works::of(std::exchange(coalesced_, {}));
}
#endif

} // namespace rcx_torch
