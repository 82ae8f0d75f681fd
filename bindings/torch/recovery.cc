/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery after failures: communicators of the ranks that live, and the
 * functions of a Group that PyTorch 2 calls for it. */
#include "rcx_torch.h"

#include <c10/util/Exception.h>

#include <algorithm>

#ifdef C10D_BACKEND_HAS_RECONFIGURE
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <random>
#include <variant>
#endif

namespace rcx_torch
{

/* ---- Communicators ------------------------------------------------------- */

std::shared_ptr<Comm> Comm::shrink(milliseconds timeout)
{
    rcx_comm_t *fresh = nullptr;

    check(rcx_comm_shrink(handle_, nanoseconds(timeout), &fresh), handle_);
    return std::make_shared<Comm>(context_, fresh, true);
}

uint64_t Comm::agree(uint64_t flags, milliseconds timeout)
{
    check(rcx_comm_agree(handle_, &flags, nanoseconds(timeout)), handle_);
    return flags;
}

std::vector<int> Comm::failed() const
{
    const int *ranks = nullptr;
    int n = 0;

    check(rcx_comm_failed(handle_, &n, &ranks));
    return {ranks, ranks + n};
}

/* ---- Groups -------------------------------------------------------------- */

void Group::abort()
{
    comm()->abort();
}

void Group::setTimeout(milliseconds timeout)
{
    timeout_ = timeout;
}

bool Group::supportsShrinking() const
{
    return true;
}

static std::vector<int> remaining(int size,
                                  const std::vector<int64_t> &excluded)
{
    std::vector<int> ranks;

    for (int i = 0; i < size; i++)
        if (std::count(excluded.begin(), excluded.end(), i) == 0)
            ranks.push_back(i);
    return ranks;
}

/* Shrink comm to these ranks, which are expected to be the ones that live. */
static std::shared_ptr<Comm>
shrink_to(Comm &comm, const std::vector<int> &ranks, milliseconds timeout)
{
    comm.abort();
    auto fresh = comm.shrink(timeout);
    const auto failed = comm.failed();
    const std::vector<int64_t> excluded(failed.begin(), failed.end());
    const int size = rcx_comm_size(comm.handle());

    TORCH_CHECK(remaining(size, excluded) == ranks, "rcx: rank(s) ",
                c10::Join(", ", failed),
                " have failed, which are not those to be excluded");
    return fresh;
}

c10::intrusive_ptr<Base>
Group::shrink(const std::vector<int64_t> &excluded, int flags,
              const c10::intrusive_ptr<Base::Options> &options)
{
    const auto ranks = remaining(getSize(), excluded);
    const auto mine = std::find(ranks.begin(), ranks.end(), getRank());
    const auto limit = options ? options->timeout : timeout_;

    TORCH_CHECK(ranks.size() + excluded.size() ==
                    static_cast<size_t>(getSize()),
                "rcx: the ranks to exclude must be different ranks of 0 to ",
                getSize() - 1);
    TORCH_CHECK(mine != ranks.end(), "rcx: this rank is to be excluded");
    return c10::make_intrusive<Group>(
        flags & 1 ? shrink_to(*comm(), ranks, limit)
                  : Comm::of_ranks(*comm(), ranks, "shrink"),
        static_cast<int>(mine - ranks.begin()), static_cast<int>(ranks.size()),
        timeout_);
}

#ifdef C10D_BACKEND_HAS_RECONFIGURE
/* ---- Other members: the interface of later versions of PyTorch 2 --------- */

static std::string random_name()
{
    std::random_device random;

    return "rcx:" + std::to_string((uint64_t{random()} << 32) | random());
}

void Group::set_store(const c10::intrusive_ptr<c10d::Store> &store)
{
    store_ = store;
    reconfigure_handle_ = random_name();
}

c10d::ReconfigureHandle Group::get_reconfigure_handle() const
{
    return reconfigure_handle_;
}

/* Ranks are in the order of a list, or sorted if the handles are a set. */
static std::vector<std::string> list_of(const c10d::ReconfigureOptions &options)
{
    std::vector<std::string> list;

    std::visit(
        [&](const auto &handles) {
            list.assign(handles.begin(), handles.end());
        },
        options.handles);
    if (!std::holds_alternative<std::vector<std::string>>(options.handles))
        std::sort(list.begin(), list.end());
    return list;
}

/* The new context starts over the store, under the uuid. After an error the
 * group is as before. */
Group::WorkPtr Group::reconfigure(const c10d::ReconfigureOptions &options)
{
    const auto handles = list_of(options);
    const auto mine =
        std::find(handles.begin(), handles.end(), reconfigure_handle_);
    const auto rank = static_cast<int>(mine - handles.begin());
    const auto store = c10::make_intrusive<c10d::PrefixStore>(
        "rcx_reconfigure/" + std::to_string(options.uuid), store_);

    TORCH_CHECK(mine != handles.end(),
                "rcx: the handle of this process is not one of those given");
    TORCH_CHECK(store->add("claimed/" + std::to_string(rank), 1) == 1,
                "rcx: the uuid ", options.uuid, " was already used");
    auto context =
        Context::over_store(store, rank, static_cast<int>(handles.size()),
                            options.timeout.value_or(timeout_));
    if (comm_)
        comm_->abort();
    comm_ = Comm::of_world(std::move(context));
    comm_->become_world();
    set_world(comm_);
    rank_ = rank;
    size_ = static_cast<int>(handles.size());
    return Works::of({});
}
#endif

} // namespace rcx_torch
