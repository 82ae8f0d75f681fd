/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversion of tensors and ops to operands of RCX: datatypes, ops, buffers of
 * separate tensors, and checks of arguments. Starts nothing.
 */
#include "operands.h"

#include <ATen/ATen.h>

#include <map>

namespace rcx_torch
{

using c10d::ReduceOp;

/* ---- Types and ops ------------------------------------------------------- */

rcx_datatype_t datatype_of(const at::Tensor &t)
{
    static const std::map<at::ScalarType, rcx_datatype_t> types{
        {at::kByte, RCX_UINT8},
        {at::kChar, RCX_INT8},
        {at::kShort, RCX_INT16},
        {at::kInt, RCX_INT32},
        {at::kLong, RCX_INT64},
        {at::kHalf, RCX_FLOAT16},
        {at::kBFloat16, RCX_BFLOAT16},
        {at::kFloat, RCX_FLOAT32},
        {at::kDouble, RCX_FLOAT64},
        {at::kComplexFloat, RCX_COMPLEX_FLOAT},
        {at::kComplexDouble, RCX_COMPLEX_DOUBLE},
        {at::kBool, RCX_BOOL},
    };
    const auto found = types.find(t.scalar_type());

    TORCH_CHECK(found != types.end(),
                "rcx: reductions are not supported on tensors of type ",
                t.scalar_type());
    return found->second;
}

/* For booleans, SUM is "or", and PRODUCT is "and". */
rcx_op_t op_of(const ReduceOp &op, const at::Tensor &t)
{
    struct pair {
        rcx_op_t number, logical;
    };
    static const std::map<uint8_t, pair> ops{
        {ReduceOp::SUM, {RCX_SUM, RCX_LOR}},
        {ReduceOp::AVG, {RCX_AVG, RCX_AVG}},
        {ReduceOp::PRODUCT, {RCX_PROD, RCX_LAND}},
        {ReduceOp::MIN, {RCX_MIN, RCX_LAND}},
        {ReduceOp::MAX, {RCX_MAX, RCX_LOR}},
        {ReduceOp::BAND, {RCX_BAND, RCX_LAND}},
        {ReduceOp::BOR, {RCX_BOR, RCX_LOR}},
        {ReduceOp::BXOR, {RCX_BXOR, RCX_LXOR}},
    };
    const auto number =
        static_cast<uint8_t>(static_cast<ReduceOp::RedOpType>(op));
    const auto found = ops.find(number);

    TORCH_CHECK(found != ops.end(), "rcx: not supported: reduction by op ",
                int(number));
    const rcx_op_t result = t.scalar_type() == at::kBool ? found->second.logical
                                                         : found->second.number;
    TORCH_CHECK(rcx_op_supported(result, datatype_of(t)), "rcx: op ",
                int(number), " is not defined on ", t.scalar_type());
    return result;
}

/* ---- Buffers ------------------------------------------------------------- */

Blocks::Blocks(const std::vector<at::Tensor> &tensors)
{
    for (const auto &t : tensors) {
        const auto place = static_cast<char *>(t.data_ptr());

        bytes.push_back(t.nbytes());
        if (t.nbytes() > 0 && (!base || place < base))
            base = place;
    }
    for (const auto &t : tensors)
        displs.push_back(
            t.nbytes() > 0 ? static_cast<char *>(t.data_ptr()) - base : 0);
}

template <class F>
static std::vector<at::Tensor> each(const std::vector<at::Tensor> &tensors,
                                    F taken)
{
    std::vector<at::Tensor> places;

    for (const auto &t : tensors)
        places.push_back(taken(t));
    return places;
}

std::vector<at::Tensor> write_each(Operation &operation,
                                   const std::vector<at::Tensor> &tensors)
{
    return each(tensors,
                [&](const at::Tensor &t) { return operation.write(t); });
}

std::vector<at::Tensor> read_each(Operation &operation,
                                  const std::vector<at::Tensor> &tensors)
{
    return each(tensors,
                [&](const at::Tensor &t) { return operation.read(t); });
}

at::Tensor packed(const std::vector<at::Tensor> &tensors)
{
    return at::cat(
        each(tensors, [](const at::Tensor &t) { return t.reshape({-1}); }));
}

std::vector<at::Tensor> &of_all(std::vector<at::Tensor> &list, int size,
                                const char *what)
{
    TORCH_CHECK(list.size() == static_cast<size_t>(size), "rcx: ", list.size(),
                " ", what, " for ", size, " ranks");
    return list;
}

void same_type(const at::Tensor &a, const at::Tensor &b)
{
    TORCH_CHECK(a.scalar_type() == b.scalar_type(),
                "rcx: tensors must have the same type, not ", a.scalar_type(),
                " and ", b.scalar_type());
}

void root_is_rank(int64_t root, int size)
{
    TORCH_CHECK(root >= 0 && root < size, "rcx: root ", root,
                " is not a rank of a group of size ", size);
}

/* ---- The flight recorder ------------------------------------------------- */

/* blocks: so many of t behind each other; 0: t. */
static Shape shape_of(const at::Tensor &t, int64_t blocks = 0)
{
    Shape shape{t.scalar_type(), {}};

    if (blocks > 0)
        shape.sizes.push_back(blocks);
    shape.sizes.append(t.sizes().begin(), t.sizes().end());
    return shape;
}

static Shapes shapes_of(const std::vector<at::Tensor> &tensors, int64_t blocks)
{
    Shapes shapes;

    for (const auto &t : tensors)
        shapes.push_back(shape_of(t, blocks));
    return shapes;
}

/* A list of equal tensors as one tensor; others as one row of elements. */
static Shapes packed_shape(const std::vector<at::Tensor> &parts)
{
    const auto n = static_cast<int64_t>(parts.size());
    int64_t elements = 0;
    bool are_equal = true;

    for (const auto &t : parts) {
        elements += t.numel();
        are_equal = are_equal && t.sizes() == parts[0].sizes();
    }
    if (are_equal)
        return {shape_of(parts[0], n)};
    return {Shape{parts[0].scalar_type(), {elements}}};
}

void Operation::record(const std::vector<at::Tensor> &inputs,
                       const std::vector<at::Tensor> &outputs, int64_t blocks)
{
    const bool is_of_blocks =
        type == c10d::OpType::REDUCE_SCATTER || type == c10d::OpType::ALLTOALL;

    if (!FlightRecorder::get().is_on())
        return;
    recorded.inputs =
        is_of_blocks ? packed_shape(inputs) : shapes_of(inputs, 0);
    recorded.outputs = blocks > 0 ? shapes_of(inputs, blocks)
                       : type == c10d::OpType::ALLTOALL ? packed_shape(outputs)
                                                        : shapes_of(outputs, 0);
    /* PyTorch's analyser compares types also where a rank has no tensor */
    if (recorded.inputs.empty() && !recorded.outputs.empty())
        recorded.inputs = {Shape{recorded.outputs[0].type, {0}}};
    if (recorded.outputs.empty() && !recorded.inputs.empty())
        recorded.outputs = {Shape{recorded.inputs[0].type, {0}}};
}

void Operation::record_message(const std::vector<at::Tensor> &tensors,
                               bool sends, int peer)
{
    record(tensors, tensors);
    recorded.is_message = true;
    recorded.sends = sends;
    recorded.peer = peer;
    recorded.name = sends ? "send" : "recv";
}

} // namespace rcx_torch
