/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: start of RCX by a store that the processes share, or by PMIx, and
 * the text of errors. */
#include "rcx_torch.h"

#include <c10/util/Exception.h>

#include <cstring>

namespace rcx_torch
{

/* ---- Errors -------------------------------------------------------------- */

/* The last error that RCX logged on this thread. RCX logs an error on the
 * thread of the call that returns it. */
static thread_local std::string logged;

static void log_line(rcx_log_level_t level, const char *text, void *)
{
    if (level == RCX_LOG_ERROR)
        logged = text;
    else if (level == RCX_LOG_WARN)
        TORCH_WARN("rcx: ", text);
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

/* ---- A store as a bootstrap ---------------------------------------------- */

namespace
{
struct Exchange {
    c10::intrusive_ptr<c10d::Store> store;
    int rank, size;
    milliseconds timeout;
    int calls = 0;
    std::string error = "";

    std::vector<uint8_t> get(const std::string &key)
    {
        store->wait({key}, timeout);
        return store->get(key);
    }

    /* Rank 0 gathers all parts, so that each other rank reads one value
     * only. */
    void allgather(const void *send, void *recv, size_t bytes)
    {
        const std::string key = "rcx/" + std::to_string(calls++);
        const auto part = static_cast<const uint8_t *>(send);
        std::vector<uint8_t> all(part, part + bytes);

        if (rank > 0) {
            store->set(key + "/" + std::to_string(rank), all);
            all = get(key);
        } else if (size > 1) {
            for (int i = 1; i < size; i++) {
                const auto other = get(key + "/" + std::to_string(i));
                all.insert(all.end(), other.begin(), other.end());
            }
            store->set(key, all);
        }
        if (all.size() != bytes * size)
            throw std::runtime_error("ranks exchange different numbers of "
                                     "bytes: do all run the same RCX?");
        memcpy(recv, all.data(), all.size());
    }
};
} // namespace

static int allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    auto exchange = static_cast<Exchange *>(arg);

    try {
        exchange->allgather(send, recv, bytes);
        return 0;
    } catch (const c10::Error &error) {
        exchange->error = error.what_without_backtrace();
        return 1;
    } catch (const std::exception &error) {
        exchange->error = error.what();
        return 1;
    }
}

/* ---- Contexts ------------------------------------------------------------ */

/* Autograd starts operations on several threads. Futures complete without a
 * thread that waits, so there is a progress thread. */
static rcx_params_t params_of(milliseconds timeout)
{
    rcx_params_t params{};

    params.field_mask = RCX_PARAM_LOG | RCX_PARAM_THREADS | RCX_PARAM_PROGRESS |
                        RCX_PARAM_TIMEOUT;
    params.log = log_line;
    params.threads = RCX_THREAD_MULTIPLE;
    params.progress_thread = 1;
    params.timeout_ns = nanoseconds(timeout);
    return params;
}

std::shared_ptr<Context>
Context::over_store(const c10::intrusive_ptr<c10d::Store> &store, int rank,
                    int size, milliseconds timeout)
{
    /* The context keeps it: RCX may access it until it is finalized. The store
     * is not needed after rcx_init(). */
    const auto exchange =
        std::make_shared<Exchange>(Exchange{store, rank, size, timeout});
    rcx_params_t params = params_of(timeout);
    rcx_context_t *handle = nullptr;
    rcx_status_t status;

    params.field_mask |= RCX_PARAM_BOOTSTRAP;
    params.bootstrap = {rank, size, allgather, nullptr, exchange.get()};
    status = rcx_init(&params, &handle);
    TORCH_CHECK(exchange->error.empty(),
                "rcx: exchange through the store failed: ", exchange->error);
    check(status);
    exchange->store.reset();
    return std::make_shared<Context>(handle, exchange);
}

std::shared_ptr<Context> Context::over_pmix(milliseconds timeout)
{
    rcx_params_t params = params_of(timeout);
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
