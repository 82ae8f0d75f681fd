/* SPDX-License-Identifier: BSD-3-Clause */
/* The Python module _C: creates process groups, and gives access to their
 * processes before there is a group: Job. KeptStore lets C++ keep stores that
 * are implemented in Python. */
#include "direct.h"
#include "rcx_torch.h"

#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/utils/pybind.h>

#include <numeric>

namespace rcx_torch
{

using Seconds = std::chrono::duration<double>;

/* world: the communicator of the world's group, while that group lives; other
 * groups are made in it. next_world: one that is ready before its group: of a
 * launcher's job, of ranks that have survived, or of new members. */
static std::mutex world_lock;
static std::weak_ptr<Comm> world;
static std::shared_ptr<Comm> next_world;

void set_world(const std::shared_ptr<Comm> &comm)
{
    const std::lock_guard<std::mutex> lock(world_lock);

    world = comm;
}

static milliseconds rounded(Seconds time)
{
    return std::chrono::ceil<milliseconds>(time);
}

/* The processes of a communicator that no group has yet. */
class Job
{
  public:
    explicit Job(std::shared_ptr<Comm> comm) : comm_(std::move(comm))
    {
    }
    /* Started by srun, prterun, rcxrun or mpirun. */
    static Job over_pmix(Seconds timeout)
    {
        return Job(Comm::of_world(Context::over_pmix(rounded(timeout))));
    }
    static Job over_store(const c10::intrusive_ptr<c10d::Store> &store,
                          int rank, int size, Seconds timeout)
    {
        return Job(Comm::of_world(
            Context::over_store(store, rank, size, rounded(timeout))));
    }
    static Job of_group(const Group &group)
    {
        return Job(group.comm());
    }

    int rank() const
    {
        return rcx_comm_rank(comm_->handle());
    }
    int size() const
    {
        return rcx_comm_size(comm_->handle());
    }
    /* Broadcast rank 0's text, of at most 255 bytes. */
    std::string bcast(const std::string &text, Seconds timeout) const
    {
        rcx_comm_t *comm = comm_->handle();
        char buffer[256] = {0};

        text.copy(buffer, sizeof buffer - 1);
        check(rcx_comm_set_timeout(comm, nanoseconds(rounded(timeout))));
        check(rcx_bcast(buffer, sizeof buffer, RCX_BYTE, 0, comm), comm);
        return buffer;
    }
    Job shrink(Seconds timeout) const
    {
        return Job(comm_->shrink(rounded(timeout)));
    }
    uint64_t agree(uint64_t flags, Seconds timeout) const
    {
        return comm_->agree(flags, rounded(timeout));
    }
    std::vector<int> failed() const
    {
        return comm_->failed();
    }
    /* End all operations of this context's communicators, on all ranks. */
    void abort_all() const
    {
        comm_->context().abort_all();
    }
    /* The next world's group consists of these processes. */
    void become_world() const
    {
        const std::lock_guard<std::mutex> lock(world_lock);

        next_world = comm_;
    }

  private:
    std::shared_ptr<Comm> comm_;
};

/* A store that is implemented in Python. References of C++ keep only the C++
 * half of such an object alive, whose functions fail then: this one keeps the
 * Python half too. Its prefix is empty. */
class __attribute__((visibility("hidden"))) KeptStore : public c10d::PrefixStore
{
  public:
    explicit KeptStore(pybind11::object store)
        : PrefixStore("", store.cast<c10::intrusive_ptr<c10d::Store>>()),
          store_(std::move(store))
    {
    }
    /* The last reference may be one of C++, without Python's lock. */
    ~KeptStore() override
    {
        if (!Py_IsInitialized()) {
            store_.release();
            return;
        }
        const pybind11::gil_scoped_acquire lock;
        store_ = pybind11::object();
    }

  private:
    pybind11::object store_;
};

/* Create the communicator of a group of all processes of the store. The world's
 * group takes over the one that is ready, if there is one. Contexts of earlier
 * worlds are not used again. */
static std::shared_ptr<Comm>
whole(const c10d::DistributedBackendOptions &options, milliseconds timeout)
{
    const bool is_world = options.global_ranks_in_group.empty();
    std::unique_lock<std::mutex> lock(world_lock);
    auto comm = is_world ? std::exchange(next_world, nullptr) : nullptr;

    lock.unlock();
    if (!comm)
        comm = Comm::of_world(Context::over_store(
            options.store, options.group_rank, options.group_size, timeout));
    if (is_world) {
        comm->become_world();
        set_world(comm);
    }
    return comm;
}

/* The communicator in which groups of some ranks are created; null: none. */
static std::shared_ptr<Comm> parent_of(const std::vector<int> &ranks)
{
    const std::lock_guard<std::mutex> lock(world_lock);

    if (ranks.empty())
        return nullptr;
    const auto comm = world.lock();
    return comm ? comm : next_world;
}

#ifdef C10D_BACKEND_HAS_RECONFIGURE
/* Whether the group begins without members, until reconfigure(). */
static bool is_deferred(const pybind11::object &options)
{
    return !options.is_none() &&
           pybind11::hasattr(options, "enable_reconfigure") &&
           options.attr("enable_reconfigure").cast<bool>();
}
#endif

/* Ranks of the world; ranks: empty: all of comm. */
static std::vector<int> ranks_of(const Comm &comm, std::vector<int> ranks)
{
    if (ranks.empty()) {
        ranks.resize(rcx_comm_size(comm.handle()));
        std::iota(ranks.begin(), ranks.end(), 0);
    }
    return ranks;
}

/* Create a process group. A group of some ranks is a communicator in that of
 * the world's. The world's group, and a group without it, are made by
 * whole(). */
static c10::intrusive_ptr<Base>
create(const c10d::DistributedBackendOptions &options,
       const pybind11::object &backend_options)
{
    const auto timeout =
        std::chrono::duration_cast<milliseconds>(options.timeout);
    const std::vector<int> ranks(options.global_ranks_in_group.begin(),
                                 options.global_ranks_in_group.end());
    std::shared_ptr<Comm> comm;
    bool deferred = false;

#ifdef C10D_BACKEND_HAS_RECONFIGURE
    deferred = is_deferred(backend_options);
#endif
    const pybind11::gil_scoped_release released;
    if (!deferred) {
        const auto parent = parent_of(ranks);
        comm = parent ? Comm::of_ranks(*parent, ranks, options.group_id)
                      : whole(options, timeout);
    }
    if (comm)
        comm->record_as(options.group_id, ranks_of(*comm, ranks));
    auto group = c10::make_intrusive<Group>(
        comm, comm ? rcx_comm_rank(comm->handle()) : options.group_rank,
        comm ? rcx_comm_size(comm->handle()) : options.group_size, timeout);
#ifdef C10D_BACKEND_HAS_RECONFIGURE
    group->set_store(options.store);
#endif
    return group;
}

PYBIND11_MODULE(_C, m)
{
    using released = pybind11::call_guard<pybind11::gil_scoped_release>;
    namespace py = pybind11;

    m.def("create", create);
    m.def("version", rcx_version);
    add_direct(m);
    m.def(
        "dump_flight_recorder",
        [](const std::string &prefix) {
            return FlightRecorder::get().write(prefix);
        },
        released());
    m.def(
        "flight_recorder_json", [] { return FlightRecorder::get().dump(true); },
        released());
    py::register_exception<Excluded>(m, "ExcludedError", PyExc_RuntimeError);
    py::class_<Job>(m, "Job")
        .def_static("over_pmix", &Job::over_pmix, released())
        .def_static("over_store", &Job::over_store, released())
        .def_static("of_group", &Job::of_group)
        .def_property_readonly("rank", &Job::rank)
        .def_property_readonly("size", &Job::size)
        .def("bcast", &Job::bcast, released())
        .def("shrink", &Job::shrink, released())
        .def("agree", &Job::agree, released())
        .def("failed", &Job::failed)
        .def("abort_all", &Job::abort_all, released())
        .def("become_world", &Job::become_world);
    py::class_<Group, Base, c10::intrusive_ptr<Group>>(m, "Group")
        .def_property_readonly("timeout", &Group::timeout)
        .def("abort", &Group::abort, released())
        .def("set_timeout", &Group::setTimeout)
        .def_property_readonly("supports_shrinking", &Group::supportsShrinking)
        .def(
            "shrink",
            [](Group &group, const std::vector<int64_t> &excluded, int flags,
               const c10::intrusive_ptr<Base::Options> &options) {
                return group.shrink(excluded, flags, options);
            },
            py::arg("ranks_to_exclude"), py::arg("shrink_flags") = 0,
            py::arg("opts_override") = py::none(), released());
    py::class_<KeptStore, c10d::Store, c10::intrusive_ptr<KeptStore>>(
        m, "KeptStore")
        .def(py::init<py::object>());
}

} // namespace rcx_torch
