/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations in progress: Work and Works, which torch.distributed waits for;
 * threads for hooks; and Comm, which starts operations and keeps them until
 * they are over. */
#include "rcx_torch.h"

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace rcx_torch
{

/* Sets a flag during its lifetime, and then restores it, also after an
 * exception. */
class Scope
{
  public:
    explicit Scope(bool &flag) : flag_(flag), outer_(std::exchange(flag, true))
    {
    }
    ~Scope()
    {
        flag_ = outer_;
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    bool &flag_, outer_;
};

static thread_local bool is_in_callback = false;
static thread_local bool is_in_hook = false;

bool in_callback()
{
    return is_in_callback;
}

bool in_hook()
{
    return is_in_hook || is_in_callback;
}

/* ---- Tensors ------------------------------------------------------------- */

static void check_place(const at::Tensor &t)
{
    TORCH_CHECK(t.device().is_cpu(), "rcx: tensors must be on the CPU, not on ",
                t.device());
    TORCH_CHECK(t.layout() == at::kStrided, "rcx: tensors must be dense");
}

/* Check a tensor that is written to. An expanded tensor is invalid: several
 * elements share memory. */
static void check_target(const at::Tensor &t)
{
    check_place(t);
    TORCH_CHECK(at::has_internal_overlap(t) != at::MemOverlap::Yes,
                "rcx: elements of an output tensor share memory (clone() an "
                "expanded tensor)");
}

/* Whether memory holds the elements in order. Conjugate (conj()) and negative
 * tensors (imag of a conjugate) are stored without that change. */
static bool is_plain(const at::Tensor &t)
{
    return t.is_contiguous() && !t.is_conj() && !t.is_neg();
}

at::Tensor Operation::read(const at::Tensor &t)
{
    check_place(t);
    kept.push_back(t.resolve_conj().resolve_neg().contiguous());
    return kept.back();
}

at::Tensor Operation::write(const at::Tensor &t)
{
    check_target(t);
    if (is_plain(t))
        return read(t);
    copies.emplace_back(t, at::empty(t.sizes(), t.options()));
    return copies.back().second;
}

at::Tensor Operation::update(const at::Tensor &t)
{
    check_target(t);
    at::Tensor place = read(t);

    if (!place.is_same(t))
        copies.emplace_back(t, place);
    return place;
}

/* ---- Works --------------------------------------------------------------- */

Work::Work(Operation operation, const std::shared_ptr<Comm> &comm, int rank)
    : c10d::Work(rank, operation.type, operation.title, operation.kept),
      operation_(std::move(operation)), comm_(comm), hooks_(comm->hooks()),
      requests_(operation_.starts.size()), left_(requests_.size()),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get())))
{
}

Work::~Work() = default;

void Work::record(size_t group)
{
    if (operation_.recorded.name)
        recorded_ = FlightRecorder::get().begin(
            group, std::move(operation_.recorded), operation_.timeout);
}

void Work::start(rcx_comm_t *comm)
{
    handle_ = comm;
    for (size_t i = 0; i < requests_.size(); i++)
        started_.push_back(operation_.starts[i](comm, &requests_[i]));
}

/* RCX calls back at once for a completed request, and a hook may then start an
 * operation, so Comm calls this without its lock. If one of several requests
 * was not started, the others continue, and the Work fails. */
void Work::listen()
{
    for (size_t i = 0; i < requests_.size(); i++)
        if (requests_[i])
            rcx_request_set_callback(requests_[i], done, this);
        else
            done(nullptr, started_[i], this);
    if (requests_.empty())
        complete();
}

/* RCX's callback. Comm keeps the Work until complete() has set over_, which it
 * does last. Hooks may wait, so they run on other threads: RCX makes no
 * progress during a callback. */
void Work::done(rcx_request_t *request, rcx_status_t status, void *arg)
{
    const Scope scope(is_in_callback);
    auto work = static_cast<Work *>(arg);
    rcx_recv_info_t info;

    if (status != RCX_OK) {
        const std::lock_guard<std::mutex> lock(work->error_lock_);
        if (work->error_.empty())
            work->error_ = describe(status, work->handle_);
        FlightRecorder::get().failed(work->handle_);
    } else if (work->operation_.type == c10d::OpType::RECVANYSOURCE &&
               rcx_request_recv_info(request, &info) == RCX_OK) {
        work->source_ = info.source;
    }
    if (--work->left_ > 0)
        return;
    const std::lock_guard<std::mutex> lock(work->future_lock_);
    if (work->has_hooks_)
        work->run_later();
    else
        work->complete();
}

/* Complete on a thread on which hooks may wait; on this one if no thread can be
 * started. */
void Work::run_later()
{
    const auto self =
        c10::intrusive_ptr<Work>::unsafe_reclaim_from_nonowning(this);
    const auto hooks = hooks_;

    try {
        hooks->run([self] { self->complete(); });
    } catch (const std::exception &) {
        complete();
    }
}

static void copy_back(const at::Tensor &tensor, const at::Tensor &place)
{
    if (tensor.is_inference()) {
        const c10::InferenceMode mode; /* required to write to it */
        tensor.copy_(place);
    } else {
        tensor.copy_(place);
    }
}

/* Copy results back, and complete the future, which runs its hooks. An
 * exception of the copies is the Work's error. One that a hook throws is a
 * warning. */
void Work::complete() noexcept
{
    std::exception_ptr error;

    if (recorded_)
        FlightRecorder::get().end(*recorded_, error_.empty(), source_);
    try {
        const at::NoGradGuard no_grad;
        if (!error_.empty())
            throw std::runtime_error(error_);
        for (auto &[tensor, place] : operation_.copies)
            copy_back(tensor, place);
    } catch (...) {
        error = std::current_exception();
    }
    try {
        finish(error);
        if (error)
            future_->setError(error);
        else
            future_->markCompleted(c10::IValue(operation_.results));
    } catch (const std::exception &e) {
        TORCH_WARN("rcx: a hook threw an exception: ", e.what());
    }
    over_ = true;
}

/* ---- Hooks --------------------------------------------------------------- */

Hooks::~Hooks()
{
    const std::lock_guard<std::mutex> lock(state_->lock);

    state_->is_over = true;
    state_->changed.notify_all();
}

/* A hook that waits for another Work occupies its thread, so each waiting hook
 * needs an idle thread, or a new one. */
void Hooks::run(std::function<void()> hook)
{
    const std::lock_guard<std::mutex> lock(state_->lock);

    state_->waiting.push_back(std::move(hook));
    if (state_->waiting.size() <= state_->idle)
        state_->changed.notify_one();
    else
        std::thread(work, state_).detach();
}

void Hooks::work(std::shared_ptr<State> state)
{
    const Scope scope(is_in_hook);
    std::unique_lock<std::mutex> lock(state->lock);

    for (;;) {
        while (!state->waiting.empty()) {
            const auto hook = std::move(state->waiting.front());
            state->waiting.pop_front();
            lock.unlock();
            hook();
            lock.lock();
        }
        state->idle++;
        state->changed.wait_for(lock, std::chrono::seconds(10), [&] {
            return state->is_over || !state->waiting.empty();
        });
        state->idle--;
        if (state->waiting.empty())
            return;
    }
}

/* Handle signals such as Ctrl-C, which only Python's main thread does. */
static void look_for_signals()
{
    if (!Py_IsInitialized())
        return;
    const pybind11::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0)
        throw pybind11::error_already_set();
}

/* Wait for request, until the time until at most. False: it is not complete. */
static bool wait_for(rcx_request_t *request,
                     std::chrono::steady_clock::time_point until)
{
    using std::chrono::nanoseconds;
    static const nanoseconds slice = milliseconds(100);
    int done = 0;

    for (;;) {
        const nanoseconds left = until - std::chrono::steady_clock::now();

        if (left <= nanoseconds(0))
            return false;
        rcx_wait_for(request, std::min(left, slice).count());
        if (rcx_test(request, &done) != RCX_OK || done)
            return true;
        look_for_signals();
    }
}

/* Makes progress on this thread, which is faster than a wake-up by the progress
 * thread. */
bool Work::wait(milliseconds timeout)
{
    TORCH_CHECK(isCompleted() || !in_callback(),
                "rcx: wait() was called in a callback of RCX, during which the "
                "operation cannot complete");
    if (const auto comm = comm_.lock()) {
        const std::shared_lock<std::shared_mutex> lock(requests_in_use_);
        const auto until = timeout == kNoTimeout
                               ? std::chrono::steady_clock::time_point::max()
                               : std::chrono::steady_clock::now() + timeout;

        for (rcx_request_t *request : requests_)
            if (request && !wait_for(request, until))
                break;
    }
    return c10d::Work::wait(timeout);
}

int Work::sourceRank() const
{
    return source_;
}

std::vector<at::Tensor> Work::result()
{
    return operation_.results;
}

void Work::abort()
{
    if (const auto comm = comm_.lock())
        comm->abort();
}

/* The caller may add hooks by then() from now on. */
c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture()
{
    const std::lock_guard<std::mutex> lock(future_lock_);

    has_hooks_ = true;
    return future_;
}

/* Release the tensors. Those of a failed operation that was started stay in
 * context. */
void Work::drop(Context &context)
{
    const std::lock_guard<std::mutex> lock(error_lock_);

    if (!error_.empty() &&
        std::count(started_.begin(), started_.end(), RCX_OK) > 0)
        context.keep(operation_);
    operation_.kept.clear();
    operation_.copies.clear();
}

bool Work::release(Context &context)
{
    if (!over_)
        return false;
    const std::unique_lock<std::shared_mutex> lock(requests_in_use_,
                                                   std::try_to_lock);
    if (!lock)
        return false;
    for (rcx_request_t *&request : requests_)
        if (request && rcx_request_free(&request) != RCX_OK)
            return false;
    drop(context);
    return true;
}

void Work::end(Context &context)
{
    for (rcx_request_t *request : requests_)
        if (request && rcx_wait(request) == RCX_ERR_FORKED)
            return;
    while (!release(context))
        std::this_thread::yield(); /* another thread is in its callback */
}

/* ---- Several operations as one ------------------------------------------- */

Works::Works(std::vector<WorkPtr> works)
    : c10d::Work(-1, c10d::OpType::UNKNOWN, "rcx:coalesced"),
      works_(std::move(works))
{
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
        c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));

    for (const auto &work : works_)
        futures.push_back(work->getFuture());
    future_ = c10::collectAll(futures);
}

Works::WorkPtr Works::of(std::vector<WorkPtr> works)
{
    auto all = c10::make_intrusive<Works>(std::move(works));

    all->future_->addCallback([all](c10::ivalue::Future &future) {
        all->finish(future.hasError() ? future.exception_ptr() : nullptr);
    });
    return all;
}

bool Works::wait(milliseconds timeout)
{
    const auto until = std::chrono::steady_clock::now() + timeout;

    for (const auto &work : works_) {
        const auto left = std::chrono::duration_cast<milliseconds>(
            until - std::chrono::steady_clock::now());

        work->wait(timeout == kNoTimeout ? timeout
                                         : std::max(left, milliseconds(1)));
    }
    return c10d::Work::wait(timeout);
}

std::vector<at::Tensor> Works::result()
{
    std::vector<at::Tensor> all;

    for (const auto &work : works_)
        for (const auto &tensor : work->result())
            all.push_back(tensor);
    return all;
}

void Works::abort()
{
    for (const auto &work : works_)
        work->abort();
}

c10::intrusive_ptr<c10::ivalue::Future> Works::getFuture()
{
    return future_;
}

/* ---- Communicators ------------------------------------------------------- */

std::shared_ptr<Comm> Comm::of_world(std::shared_ptr<Context> context)
{
    rcx_comm_t *world = context->world();

    return std::make_shared<Comm>(std::move(context), world, false);
}

std::shared_ptr<Comm> Comm::of_ranks(const Comm &parent,
                                     const std::vector<int> &ranks,
                                     const std::string &name)
{
    rcx_comm_t *handle = nullptr;
    const auto tag = static_cast<int>(std::hash<std::string>{}(name) % 8192);

    check(rcx_comm_create_group(parent.handle(), static_cast<int>(ranks.size()),
                                ranks.data(), tag, &handle),
          parent.handle());
    return std::make_shared<Comm>(parent.context_, handle, true);
}

Comm::Comm(std::shared_ptr<Context> context, rcx_comm_t *handle, bool owned)
    : context_(std::move(context)), handle_(handle), owned_(owned)
{
    context_->add(handle);
}

c10::intrusive_ptr<Work> Comm::start(Operation operation)
{
    const milliseconds timeout = operation.timeout;
    auto work = c10::make_intrusive<Work>(
        std::move(operation), shared_from_this(), rcx_comm_rank(handle_));
    {
        const std::lock_guard<std::mutex> lock(starting_);

        under_way_.remove_if(
            [&](const auto &other) { return other->release(*context_); });
        under_way_.push_back(work);
        check(rcx_comm_set_timeout(handle_, nanoseconds(timeout)));
        if (recorded_)
            work->record(*recorded_);
        work->start(handle_);
    }
    work->listen();
    return work;
}

void Comm::abort()
{
    rcx_comm_abort(handle_);
}

void Comm::become_world()
{
    is_world_ = true;
}

void Comm::record_as(const std::string &name, const std::vector<int> &ranks)
{
    FlightRecorder &recorder = FlightRecorder::get();

    if (recorder.is_on())
        recorded_ = recorder.add_group(handle_, name, ranks, is_world_);
}

/* After a shrink the world's group has a communicator of its own, and RCX's
 * world has failed, so rcx_finalize() does not wait for the ranks that live. */
Comm::~Comm()
{
    for (auto &work : under_way_)
        work->end(*context_);
    context_->remove(handle_);
    if (recorded_)
        FlightRecorder::get().remove_group(handle_);
    if (!owned_)
        return;
    if (is_world_) {
        rcx_comm_set_timeout(handle_, nanoseconds(leave_within));
        rcx_barrier(handle_);
    }
    rcx_comm_free(&handle_);
}

} // namespace rcx_torch
