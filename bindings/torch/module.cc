/* SPDX-License-Identifier: BSD-3-Clause */
/* What Python sees: how to make a group, and a job that a launcher started. */
#include "rcx_torch.h"

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

namespace rcx_torch
{

/* The context of the world's group, while that lives: other groups are parts of
 * it. And the one of a job that a launcher started, until the world's group
 * takes it. */
static std::mutex contexts_lock;
static std::weak_ptr<Context> world;
static std::shared_ptr<Context> launched;

/* A job that srun, prterun, rcxrun or mpirun started, before it has a store. */
class Job
{
  public:
    explicit Job(std::chrono::duration<double> timeout)
        : context_(Context::over_pmix(
              std::chrono::duration_cast<milliseconds>(timeout)))
    {
        const std::lock_guard<std::mutex> lock(contexts_lock);

        launched = context_;
    }
    int rank() const
    {
        return rcx_comm_rank(context_->world());
    }
    int size() const
    {
        return rcx_comm_size(context_->world());
    }
    /* What rank 0 says, of at most 255 bytes. */
    std::string bcast(const std::string &text) const
    {
        char buffer[256] = {0};

        text.copy(buffer, sizeof buffer - 1);
        check(rcx_bcast(buffer, sizeof buffer, RCX_BYTE, 0, context_->world()),
              context_->world());
        return buffer;
    }

  private:
    std::shared_ptr<Context> context_;
};

/* All processes of the options' store; nothing of a world that was before is
 * taken. */
static std::shared_ptr<Comm>
whole(const c10d::DistributedBackendOptions &options, milliseconds timeout)
{
    const bool is_world = options.global_ranks_in_group.empty();
    std::unique_lock<std::mutex> lock(contexts_lock);
    auto context = is_world ? std::exchange(launched, nullptr) : nullptr;

    lock.unlock();
    if (!context)
        context = Context::over_store(options.store, options.group_rank,
                                      options.group_size, timeout);
    lock.lock();
    if (is_world)
        world = context;
    return Comm::of_world(std::move(context));
}

/* The world's group makes a context, unless a launcher's job has one; a group
 * of some ranks is a part of it, and a world of its own where there is none. */
static c10::intrusive_ptr<Base>
create(const c10d::DistributedBackendOptions &options, const pybind11::object &)
{
    const auto timeout =
        std::chrono::duration_cast<milliseconds>(options.timeout);
    const std::vector<int> ranks(options.global_ranks_in_group.begin(),
                                 options.global_ranks_in_group.end());
    const pybind11::gil_scoped_release released;
    std::unique_lock<std::mutex> lock(contexts_lock);
    auto context = ranks.empty() ? nullptr : world.lock();

    if (!context && !ranks.empty())
        context = launched;
    lock.unlock();
    return c10::make_intrusive<Group>(
        context ? Comm::of_ranks(std::move(context), ranks, options.group_id)
                : whole(options, timeout),
        timeout);
}

PYBIND11_MODULE(_C, m)
{
    using released = pybind11::call_guard<pybind11::gil_scoped_release>;

    m.def("create", create);
    m.def("version", rcx_version);
    pybind11::class_<Job>(m, "Job")
        .def(pybind11::init<std::chrono::duration<double>>(), released())
        .def_property_readonly("rank", &Job::rank)
        .def_property_readonly("size", &Job::size)
        .def("bcast", &Job::bcast, released());
}

} // namespace rcx_torch
