/* SPDX-License-Identifier: BSD-3-Clause */
/* The Python module _C: creates process groups, and gives access to a job
 * started by a launcher. */
#include "rcx_torch.h"

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

namespace rcx_torch
{

/* world: the context of the world's group, while that group lives; other groups
 * are made in it. launched: the context of a job started by a launcher, until
 * the world's group takes it over. */
static std::mutex contexts_lock;
static std::weak_ptr<Context> world;
static std::shared_ptr<Context> launched;

/* A job started by srun, prterun, rcxrun or mpirun, for use before there is a
 * store. */
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
    /* Broadcast rank 0's text, of at most 255 bytes. */
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

/* Create the communicator of a group of all processes of the store. The world's
 * group takes over the context of a launcher's job, if there is one. Contexts
 * of earlier worlds are not used again. */
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

/* Create a process group. A group of some ranks is a communicator in the
 * world's context, or in that of a launcher's job. The world's group, and a
 * group without such a context, are made by whole(). */
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
