/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: start of RCX by an id in a store that the processes share, or by
 * PMIx, and the text of errors. */
#include "rcx_torch.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>

namespace rcx_torch
{

/* ---- Errors -------------------------------------------------------------- */

/* The last error that RCX logged on this thread. RCX logs an error on the
 * thread of the call that returns it. */
static thread_local std::string logged;

static void log_line(rcx_log_level_t level, const char *text, void *)
{
    if (level == RCX_LOG_ERROR) {
        logged = text;
        FlightRecorder::get().look_later();
    } else if (level == RCX_LOG_WARN) {
        TORCH_WARN("rcx: ", text);
    }
}

std::string describe(rcx_status_t status, rcx_comm_t *comm)
{
    /* users of torch.distributed search for these words */
    const char *const what = status == RCX_ERR_TIMEOUT
                                 ? "Timed out waiting"
                                 : rcx_status_string(status);
    std::string text = std::string("rcx: ") + what;
    rcx_error_info_t info;

    if (comm && rcx_comm_error(comm, &info) == RCX_OK && info.text[0])
        text += std::string(": ") + info.text;
    else if (!logged.empty())
        text += ": " + logged;
    logged.clear();
    return text;
}

void check(rcx_status_t status, rcx_comm_t *comm)
{
    if (status == RCX_ERR_EXCLUDED)
        throw Excluded(describe(status, comm));
    TORCH_CHECK(status >= RCX_OK, describe(status, comm));
}

int64_t nanoseconds(milliseconds time)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

/* ---- Contexts ------------------------------------------------------------ */

/* Autograd starts operations on several threads. Futures complete without a
 * thread that waits, so the contexts of groups have a progress thread. */
static rcx_params_t params_of(milliseconds timeout, bool has_thread)
{
    rcx_params_t params{};

    params.field_mask = RCX_PARAM_LOG | RCX_PARAM_THREADS | RCX_PARAM_PROGRESS |
                        RCX_PARAM_TIMEOUT;
    params.log = log_line;
    params.threads = RCX_THREAD_MULTIPLE;
    params.progress_thread = has_thread;
    params.timeout_ns = nanoseconds(timeout);
    return params;
}

/* Rank 0 makes the id of the job, and the others read it from the store. */
static rcx_id_t id_over_store(c10d::Store &store, int rank, int size,
                              milliseconds timeout)
{
    const std::string key = "rcx/id";
    rcx_id_t id{};

    if (rank == 0) {
        check(rcx_get_id(nullptr, &id));
        if (size > 1)
            store.set(key,
                      std::vector<uint8_t>(id.text, id.text + strlen(id.text)));
    } else {
        store.wait({key}, timeout);
        const auto text = store.get(key);
        TORCH_CHECK(text.size() < sizeof id.text,
                    "rcx: the store has a text that is no id");
        std::copy(text.begin(), text.end(), id.text);
    }
    return id;
}

std::shared_ptr<Context>
Context::over_store(const c10::intrusive_ptr<c10d::Store> &store, int rank,
                    int size, milliseconds timeout, bool has_thread)
{
    const rcx_id_t id = id_over_store(*store, rank, size, timeout);
    rcx_params_t params = params_of(timeout, has_thread);
    rcx_context_t *handle = nullptr;

    params.field_mask |= RCX_PARAM_ID;
    params.id = &id;
    params.rank = rank;
    params.size = size;
    check(rcx_init(&params, &handle));
    return std::make_shared<Context>(handle);
}

std::shared_ptr<Context> Context::over_pmix(milliseconds timeout,
                                            bool has_thread)
{
    rcx_params_t params = params_of(timeout, has_thread);
    rcx_context_t *handle = nullptr;

    check(rcx_init(&params, &handle));
    return std::make_shared<Context>(handle);
}

void Context::keep(const Operation &operation)
{
    const std::lock_guard<std::mutex> lock(keeping_);

    for (const auto &tensor : operation.kept)
        kept_.push_back(tensor);
    for (const auto &[tensor, place] : operation.copies)
        kept_.push_back(place);
}

void Context::add(rcx_comm_t *comm)
{
    const std::lock_guard<std::mutex> lock(comms_lock_);

    comms_.insert(comm);
}

void Context::remove(rcx_comm_t *comm)
{
    const std::lock_guard<std::mutex> lock(comms_lock_);

    comms_.erase(comm);
}

void Context::abort_all()
{
    const std::lock_guard<std::mutex> lock(comms_lock_);

    for (rcx_comm_t *comm : comms_)
        rcx_comm_abort(comm);
}

Context::~Context()
{
    rcx_comm_set_timeout(world(), nanoseconds(leave_within));
    rcx_finalize(&handle_);
}

} // namespace rcx_torch
