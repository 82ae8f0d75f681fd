/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that are under way, and what torch.distributed sees of them. */
#include "rcx_torch.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <functional>
#include <thread>

namespace rcx_torch
{

static thread_local bool is_in_callback = false;

bool in_callback()
{
    return is_in_callback;
}

/* ---- Tensors ------------------------------------------------------------------- */

at::Tensor Operation::read(const at::Tensor &t)
{
    TORCH_CHECK(t.device().is_cpu(),
                "rcx: tensors are to be on the CPU, not on ", t.device());
    TORCH_CHECK(t.layout() == at::kStrided, "rcx: tensors are to be dense");
    kept.push_back(t.contiguous());
    return kept.back();
}

at::Tensor Operation::write(const at::Tensor &t)
{
    if (t.device().is_cpu() && t.layout() == at::kStrided &&
        !t.is_contiguous()) {
        copies.emplace_back(t, at::empty(t.sizes(), t.options()));
        return copies.back().second;
    }
    return read(t);
}

at::Tensor Operation::update(const at::Tensor &t)
{
    at::Tensor place = read(t);

    if (!place.is_same(t))
        copies.emplace_back(t, place);
    return place;
}

/* ---- Works --------------------------------------------------------------------- */

Work::Work(Operation operation, const std::shared_ptr<Comm> &comm, int rank)
    : c10d::Work(rank, operation.type, operation.title, operation.kept),
      operation_(std::move(operation)), comm_(comm),
      requests_(operation_.starts.size()), left_(requests_.size()),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get())))
{
}

Work::~Work() = default;

void Work::start(rcx_comm_t *comm)
{
    handle_ = comm;
    for (size_t i = 0; i < requests_.size(); i++)
        started_.push_back(operation_.starts[i](comm, &requests_[i]));
}

/* What is over already calls back at once, and a hook may start the next. Where one of
 * several did not start, the others go on, and their Work fails. */
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

/* Comm keeps the Work until it is over, which this says in the end. */
void Work::done(rcx_request_t *request, rcx_status_t status, void *arg)
{
    auto work = static_cast<Work *>(arg);
    rcx_recv_info_t info;

    if (status != RCX_OK) {
        const std::lock_guard<std::mutex> lock(work->error_lock_);
        if (work->error_.empty())
            work->error_ = describe(status, work->handle_);
    } else if (work->operation_.type == c10d::OpType::RECVANYSOURCE &&
               rcx_request_recv_info(request, &info) == RCX_OK) {
        work->source_ = info.source;
    }
    if (--work->left_ == 0) {
        const bool outer = std::exchange(is_in_callback, true);
        work->complete();
        is_in_callback = outer;
    }
}

void Work::complete()
{
    if (error_.empty()) {
        const at::NoGradGuard no_grad;
        for (auto &[tensor, place] : operation_.copies)
            tensor.copy_(place);
        finish();
        future_->markCompleted(c10::IValue(operation_.results));
    } else {
        const auto error = std::make_exception_ptr(std::runtime_error(error_));
        finish(error);
        future_->setError(error);
    }
    over_ = true;
}

/* Who waits makes progress itself, which takes less time than to be woken. */
bool Work::wait(milliseconds timeout)
{
    TORCH_CHECK(isCompleted() || !in_callback(),
                "rcx: wait() in a hook: what it waits for"
                " is done by the thread that it runs on");
    if (const auto comm = comm_.lock()) {
        const std::shared_lock<std::shared_mutex> lock(requests_in_use_);
        const auto until = std::chrono::steady_clock::now() + timeout;

        for (rcx_request_t *request : requests_) {
            if (request && timeout == kNoTimeout)
                rcx_wait(request);
            else if (request)
                rcx_wait_for(
                    request,
                    std::max<int64_t>(
                        0, nanoseconds(std::chrono::duration_cast<milliseconds>(
                               until - std::chrono::steady_clock::now()))));
        }
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

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture()
{
    return future_;
}

bool Work::release()
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
    operation_.kept.clear();
    operation_.copies.clear();
    return true;
}

void Work::end()
{
    for (rcx_request_t *request : requests_)
        if (request && rcx_wait(request) == RCX_ERR_FORKED)
            return;
    while (!release())
        std::this_thread::yield(); /* its callback is on another thread */
}

/* ---- Several as one -------------------------------------------------------------- */

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

/* ---- Communicators -------------------------------------------------------------- */

std::shared_ptr<Comm> Comm::of_world(std::shared_ptr<Context> context)
{
    rcx_comm_t *world = context->world();

    return std::make_shared<Comm>(std::move(context), world, false);
}

std::shared_ptr<Comm> Comm::of_ranks(std::shared_ptr<Context> context,
                                     const std::vector<int> &ranks,
                                     const std::string &name)
{
    rcx_comm_t *handle = nullptr;
    const auto tag = static_cast<int>(std::hash<std::string>{}(name) % 8192);

    check(rcx_comm_create_group(context->world(),
                                static_cast<int>(ranks.size()), ranks.data(),
                                tag, &handle),
          context->world());
    return std::make_shared<Comm>(std::move(context), handle, true);
}

c10::intrusive_ptr<Work> Comm::start(Operation operation)
{
    const milliseconds timeout = operation.timeout;
    auto work = c10::make_intrusive<Work>(
        std::move(operation), shared_from_this(), rcx_comm_rank(handle_));
    {
        const std::lock_guard<std::mutex> lock(starting_);

        under_way_.remove_if(
            [](const auto &other) { return other->release(); });
        under_way_.push_back(work);
        check(rcx_comm_set_timeout(handle_, nanoseconds(timeout)));
        work->start(handle_);
    }
    work->listen();
    return work;
}

void Comm::abort()
{
    rcx_comm_abort(handle_);
}

Comm::~Comm()
{
    for (auto &work : under_way_)
        work->end();
    if (owned_)
        rcx_comm_free(&handle_);
}

} // namespace rcx_torch
