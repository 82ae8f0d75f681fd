/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder: its ring, and when it is dumped. */
#include "flight_recorder.h"

#include "flight_writer.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace rcx_torch
{

/* ---- The environment ----------------------------------------------------- */

/* The first of two variables that is set and not empty; or null. */
static const char *either(const char *name, const char *older)
{
    for (const char *each : {name, older}) {
        const char *const value = getenv(each);

        if (value && *value)
            return value;
    }
    return nullptr;
}

/* PyTorch's own names and default. */
FlightRecorder::FlightRecorder() : most_(2000)
{
    const char *const size =
        either("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE");
    const char *const prefix =
        either("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    char *end = nullptr;

    if (size) {
        const long long n = strtoll(size, &end, 10);

        TORCH_CHECK(*end == '\0' && n >= 0 && n <= 10'000'000,
                    "rcx: TORCH_FR_BUFFER_SIZE=", size,
                    ": needs a number of operations, 0 to 10000000");
        most_ = static_cast<size_t>(n);
    }
    prefix_ = prefix ? prefix : "";
}

/* Never destroyed: threads may end operations while the process exits. */
FlightRecorder &FlightRecorder::get()
{
    static auto *const recorder = new FlightRecorder;

    return *recorder;
}

/* ---- Groups -------------------------------------------------------------- */

/* Forget freed groups of which no operation is kept. */
void FlightRecorder::drop_freed_groups()
{
    for (auto at = groups_.begin(); at != groups_.end();) {
        const auto is_of = [&](const Entry &entry) {
            return entry.group == at->first;
        };

        if (!at->second.comm && std::none_of(ring_.begin(), ring_.end(), is_of))
            at = groups_.erase(at);
        else
            ++at;
    }
}

size_t FlightRecorder::add_group(rcx_comm_t *comm, const std::string &name,
                                 const std::vector<int> &ranks, bool is_world)
{
    const int rank = rcx_comm_rank(comm);
    const std::lock_guard<std::mutex> asked(comms_lock_);
    const std::lock_guard<std::mutex> lock(lock_);

    if (is_world) {
        ring_.clear();
        groups_.clear();
        next_ = oldest_ = 0;
        rank_ = rank;
    }
    drop_freed_groups();
    groups_.emplace(next_group_,
                    Group{comm, name.empty() ? "0" : name,
                          is_world ? "default_pg" : "undefined", rank, ranks});
    return next_group_++;
}

void FlightRecorder::remove_group(rcx_comm_t *comm)
{
    const std::lock_guard<std::mutex> asked(comms_lock_);
    const std::lock_guard<std::mutex> lock(lock_);

    for (auto &[number, group] : groups_)
        if (group.comm == comm)
            group.comm = nullptr;
}

/* ---- Operations ---------------------------------------------------------- */

static int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::optional<uint64_t> FlightRecorder::begin(size_t number,
                                              Recorded &&operation,
                                              std::chrono::milliseconds timeout)
{
    const int64_t now = now_ns();
    const std::lock_guard<std::mutex> lock(lock_);
    const auto at = groups_.find(number);

    if (at == groups_.end())
        return std::nullopt; /* of an earlier world */
    Group &group = at->second;
    if (operation.is_message)
        group.messages++;
    else
        group.started = static_cast<int64_t>(++group.collectives);
    Entry entry{next_,
                number,
                group.collectives,
                group.messages,
                ++group.operations,
                std::move(operation),
                now,
                0,
                timeout.count(),
                false,
                false};
    if (ring_.size() < most_)
        ring_.push_back(std::move(entry));
    else
        ring_[next_ % most_] = std::move(entry);
    if (++next_ - oldest_ > most_)
        oldest_++;
    return next_ - 1;
}

void FlightRecorder::end(uint64_t number, bool is_good, int peer)
{
    const int64_t now = now_ns();
    const std::lock_guard<std::mutex> lock(lock_);

    if (number < oldest_ || number >= next_)
        return;
    Entry &entry = ring_[number % most_];
    entry.is_retired = true;
    if (!is_good)
        return;
    entry.is_completed = true;
    entry.completed_ns = now;
    if (peer >= 0)
        entry.what.peer = peer;
    const auto at = groups_.find(entry.group);
    if (at != groups_.end() && !entry.what.is_message)
        at->second.completed = std::max(at->second.completed,
                                        static_cast<int64_t>(entry.collective));
}

/* ---- Failures ------------------------------------------------------------ */

/* Whether comm has an error of which no dump has been written. */
bool FlightRecorder::must_dump(rcx_comm_t *comm)
{
    rcx_error_info_t info{};

    if (rcx_comm_error(comm, &info) != RCX_OK)
        return false;
    const std::lock_guard<std::mutex> lock(lock_);
    for (auto &[number, group] : groups_) {
        if (group.comm != comm || group.dumped == info.status)
            continue;
        group.dumped = info.status;
        return true;
    }
    return false;
}

/* A dump that cannot be written must not hide the error. */
static void write_quietly(FlightRecorder &recorder)
{
    try {
        recorder.write("");
    } catch (const std::exception &e) {
        TORCH_WARN(e.what());
    }
}

void FlightRecorder::failed(rcx_comm_t *comm)
{
    if (is_on() && !prefix_.empty() && must_dump(comm))
        write_quietly(*this);
}

void FlightRecorder::look()
{
    const std::lock_guard<std::mutex> asked(comms_lock_);
    std::vector<rcx_comm_t *> comms;

    {
        const std::lock_guard<std::mutex> lock(lock_);
        for (const auto &[number, group] : groups_)
            if (group.comm)
                comms.push_back(group.comm);
    }
    for (rcx_comm_t *comm : comms) {
        rcx_error_info_t info{};

        if (rcx_comm_error(comm, &info) == RCX_OK && info.status != RCX_OK)
            failed(comm);
    }
}

void FlightRecorder::look_later()
{
    if (!is_on() || prefix_.empty())
        return;
    try {
        std::thread([this] { look(); }).detach();
    } catch (const std::exception &) {
        /* no thread can be started: ranks with operations write theirs */
    }
}

/* ---- Dumps --------------------------------------------------------------- */

std::string FlightRecorder::name_of(const Entry &entry,
                                    const Group &group) const
{
    const Recorded &what = entry.what;
    /* PyTorch's analyser refuses names of other backends */
    std::string name = std::string("nccl:") + what.name;

    if (what.is_message)
        name += " " + std::to_string(group.rank) + (what.sends ? "->" : "<-") +
                std::to_string(what.peer);
    return name;
}

template <class Writer>
static void write_shapes(Writer &out, const char *sizes, const char *types,
                         const Shapes &shapes)
{
    out.key(sizes);
    out.begin_list();
    for (const Shape &shape : shapes) {
        out.begin_list();
        for (const int64_t n : shape.sizes)
            out.number(n);
        out.end_list();
    }
    out.end_list();
    out.key(types);
    out.begin_list();
    for (const Shape &shape : shapes)
        out.text(c10::toString(shape.type));
    out.end_list();
}

/* JSON of PyTorch has 0 where a pickle has None. */
template <class Writer>
static void write_time(Writer &out, const char *key, bool is_known, int64_t ns)
{
    out.key(key);
    if (is_known || Writer::is_json)
        out.number(is_known ? ns : 0);
    else
        out.none();
}

template <class Writer>
void FlightRecorder::write_entry(Writer &out, const Entry &entry) const
{
    const Group &group = groups_.at(entry.group);

    out.begin_dict();
    if (!Writer::is_json) {
        out.key("frames");
        out.begin_list();
        out.end_list();
    }
    out.item("record_id", entry.number);
    out.item("pg_id", entry.group);
    out.key("process_group");
    out.pair(group.name, group.description);
    out.item("collective_seq_id", entry.collective);
    out.item("p2p_seq_id", entry.message);
    out.item("op_id", entry.operation);
    out.item("profiling_name", name_of(entry, group));
    out.item("time_created_ns", static_cast<uint64_t>(entry.created_ns));
    if (entry.is_completed) {
        out.key("duration_ms");
        out.real(static_cast<double>(entry.completed_ns - entry.created_ns) /
                 1e6);
    }
    write_shapes(out, "input_sizes", "input_dtypes", entry.what.inputs);
    write_shapes(out, "output_sizes", "output_dtypes", entry.what.outputs);
    out.item("state",
             std::string(entry.is_completed ? "completed" : "started"));
    write_time(out, "time_discovered_started_ns", true, entry.created_ns);
    write_time(out, "time_discovered_completed_ns", entry.is_completed,
               entry.completed_ns);
    out.key("retired");
    out.truth(entry.is_retired);
    out.item("timeout_ms", static_cast<uint64_t>(entry.timeout_ms));
    out.key("is_p2p");
    out.truth(entry.what.is_message);
    out.end_dict();
}

static std::string text_of(const std::vector<int> &ranks)
{
    std::string text = "[";

    for (const int rank : ranks)
        text += (text.size() > 1 ? ", " : "") + std::to_string(rank);
    return text + "]";
}

template <class Writer> void FlightRecorder::write_groups(Writer &out) const
{
    out.key("pg_config");
    out.begin_dict();
    for (const auto &[number, group] : groups_) {
        out.key(group.name);
        out.begin_dict();
        out.item("name", group.name);
        out.item("desc", std::string(group.description));
        out.item("ranks", text_of(group.ranks));
        out.end_dict();
    }
    out.end_dict();
    out.key("pg_status");
    out.begin_dict();
    for (const auto &[number, group] : groups_) {
        out.key(std::to_string(number));
        out.begin_dict();
        out.status("last_enqueued_collective", group.started);
        out.status("last_started_collective", group.started);
        out.status("last_completed_collective", group.completed);
        out.end_dict();
    }
    out.end_dict();
}

template <class Writer> void FlightRecorder::write_all(Writer &out) const
{
    out.begin_dict();
    out.item("version", std::string("2.10"));
    out.item("comm_lib_version", std::string("RCX ") + rcx_version());
    write_groups(out);
    out.key("entries");
    out.begin_list();
    for (uint64_t n = oldest_; n < next_; n++)
        write_entry(out, ring_[n % most_]);
    out.end_list();
    out.end_dict();
}

std::string FlightRecorder::dump(bool as_json)
{
    const std::lock_guard<std::mutex> lock(lock_);

    TORCH_CHECK(is_on(), "rcx: the flight recorder is off "
                         "(TORCH_FR_BUFFER_SIZE=0)");
    if (as_json) {
        JsonWriter out;

        write_all(out);
        return out.done();
    }
    PickleWriter out;

    write_all(out);
    return out.done();
}

std::string FlightRecorder::write(const std::string &prefix)
{
    const std::string &where = prefix.empty() ? prefix_ : prefix;

    TORCH_CHECK(!where.empty(),
                "rcx: where to write the dump is not known: give a prefix, or "
                "set TORCH_FR_DUMP_TEMP_FILE");
    const std::lock_guard<std::mutex> writing(writing_);
    const std::string text = dump(false);
    std::unique_lock<std::mutex> lock(lock_);
    const std::string path = where + std::to_string(rank_);

    lock.unlock();
    write_file(path, text);
    return path;
}

} // namespace rcx_torch
