/* SPDX-License-Identifier: BSD-3-Clause */
/* What Python sees: how to make a group, and a job that a launcher started. */
#include "rcx_torch.h"

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <numeric>

namespace rcx_torch
{

/* The context of the world's group, while that lives: other groups are parts of it. */
static std::mutex world_lock;
static std::weak_ptr<Context> world;

static void remember(const std::shared_ptr<Context> &context)
{
    const std::lock_guard<std::mutex> lock(world_lock);

    world = context;
}

static std::shared_ptr<Context> remembered()
{
    const std::lock_guard<std::mutex> lock(world_lock);

    return world.lock();
}

/* A job that srun, prterun, rcxrun or mpirun started, before it has a store. */
class Job
{
  public:
    explicit Job(std::chrono::duration<double> timeout)
        : context_(Context::over_pmix(
              std::chrono::duration_cast<milliseconds>(timeout)))
    {
        remember(context_);
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
    void end()
    {
        context_.reset();
    }

  private:
    std::shared_ptr<Context> context_;
};

/* The world's group makes a context, unless a launcher's job has one; a group of some
 * ranks is a part of it, and a world of its own where there is none. */
static c10::intrusive_ptr<Base>
create(const c10d::DistributedBackendOptions &options, const pybind11::object &)
{
    const auto timeout =
        std::chrono::duration_cast<milliseconds>(options.timeout);
    const std::vector<int> ranks(options.global_ranks_in_group.begin(),
                                 options.global_ranks_in_group.end());
    const pybind11::gil_scoped_release released;
    auto context = remembered();
    std::shared_ptr<Comm> comm;

    if (context && !ranks.empty()) {
        comm = Comm::of_ranks(std::move(context), ranks, options.group_id);
    } else {
        if (!context) {
            context = Context::over_store(options.store, options.group_rank,
                                          options.group_size, timeout);
            if (ranks.empty())
                remember(context);
        }
        comm = Comm::of_world(std::move(context));
    }
    return c10::make_intrusive<Group>(std::move(comm), timeout);
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
        .def("bcast", &Job::bcast, released())
        .def("end", &Job::end, released());
}

} // namespace rcx_torch
