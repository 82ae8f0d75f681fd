/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conjugate and negative tensors (conj(), imag of a conjugate) as arguments of
 * a group.
 *
 * Torch resolves them into clones before it calls a backend. Results that a
 * collective writes into the clones are lost, without an error. So this file
 * passes them unchanged to groups of RCX, which resolve operands and results
 * (work.cc). Groups of other backends get clones as before.
 */
#include "rcx_torch.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/irange.h>
#include <torch/library.h>

namespace rcx_torch
{

using c10::DispatchKey;
using c10::DispatchKeySet;

static std::string
backend_of(const c10::intrusive_ptr<c10d::ProcessGroup> &group)
{
#if TORCH_VERSION_MAJOR >= 2
    return group->getBackend(c10::DeviceType::CPU)->getBackendName();
#else
    return group->getBackendName();
#endif
}

static bool is_for_rcx(const torch::jit::Stack &stack, size_t arguments)
{
    static const auto type =
        c10::getCustomClassType<c10::intrusive_ptr<c10d::ProcessGroup>>();

    for (const auto &value : torch::jit::last(stack, arguments))
        if (value.isObject() && value.type()->isSubtypeOf(*type))
            return backend_of(value.toCustomClass<c10d::ProcessGroup>()) ==
                   "rcx";
    return false;
}

static c10::IValue resolved(const c10::IValue &value)
{
    if (value.isTensor())
        return value.toTensor().resolve_conj().resolve_neg();
    if (value.isTensorList()) {
        auto list = value.toTensorList().copy();
        for (const auto i : c10::irange(list.size()))
            list.set(i, list.get(i).resolve_conj().resolve_neg());
        return list;
    }
    if (value.isList()) {
        auto list = value.toList().copy();
        for (const auto i : c10::irange(list.size()))
            list.set(i, resolved(list.get(i)));
        return list;
    }
    return value;
}

template <DispatchKey key>
static void pass_on(const c10::OperatorHandle &op, DispatchKeySet keys,
                    torch::jit::Stack *stack)
{
    const size_t n = op.schema().arguments().size();

    if (!is_for_rcx(*stack, n))
        for (auto &value : torch::jit::last(*stack, n))
            const_cast<c10::IValue &>(value) = resolved(value);
    op.redispatchBoxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, key),
                       stack);
}

template <DispatchKey key> static void pass_all(torch::Library &library)
{
    for (const char *name :
         {"broadcast_", "allreduce_", "allreduce_coalesced_", "allgather_",
          "allgather_coalesced_", "_allgather_base_",
          "allgather_into_tensor_coalesced_", "reduce_scatter_",
          "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_",
          "reduce_", "gather_", "scatter_", "alltoall_", "alltoall_base_",
          "send", "recv_", "recv_any_source_"})
        library.impl(
            name, torch::CppFunction::makeFromBoxedFunction<&pass_on<key>>());
}

TORCH_LIBRARY_IMPL(c10d, Conjugate, library)
{
    pass_all<DispatchKey::Conjugate>(library);
}

TORCH_LIBRARY_IMPL(c10d, Negative, library)
{
    pass_all<DispatchKey::Negative>(library);
}

} // namespace rcx_torch
