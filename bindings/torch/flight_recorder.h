/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flight recorder: the last operations of this process, in the format of
 * PyTorch's flight recorder, so that PyTorch's analyser (fr_trace) reads it.
 * README.md says which version of it. Operations are recorded when they start
 * and when they end; a dump is written when a group fails, or on demand.
 *
 * The environment: TORCH_FR_BUFFER_SIZE (or TORCH_NCCL_TRACE_BUFFER_SIZE):
 * operations that are kept, 2000; 0: none. TORCH_FR_DUMP_TEMP_FILE (or
 * TORCH_NCCL_DEBUG_INFO_TEMP_FILE): where dumps of failures are written: the
 * rank of the world is appended. Unset: nowhere.
 */
#ifndef RCX_BINDINGS_TORCH_FLIGHT_RECORDER_H
#define RCX_BINDINGS_TORCH_FLIGHT_RECORDER_H

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>
#include <rcx/rcx.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rcx_torch
{

/* Type and sizes of an operand. */
struct Shape {
    c10::ScalarType type;
    c10::SmallVector<int64_t, 4> sizes;
};
using Shapes = c10::SmallVector<Shape, 1>;

/* An operation as it is recorded. */
struct Recorded {
    const char *name = nullptr; /* NCCL's; null: it is not recorded */
    bool is_message = false;
    bool sends = false; /* a message: to peer, or from it */
    int peer = -1;      /* rank of the group; -1: any */
    Shapes inputs = {}, outputs = {};
};

class FlightRecorder
{
  public:
    static FlightRecorder &get();

    bool is_on() const
    {
        return most_ > 0;
    }
    /* A group and its communicator. ranks: of the world. The group of the world
     * forgets all that was recorded before, of other worlds. Returns the number
     * of the group. */
    size_t add_group(rcx_comm_t *comm, const std::string &name,
                     const std::vector<int> &ranks, bool is_world);
    /* comm is about to be freed. */
    void remove_group(rcx_comm_t *comm);

    /* Record the start of an operation. Returns its number; none: it is not
     * recorded. */
    std::optional<uint64_t> begin(size_t group, Recorded &&operation,
                                  std::chrono::milliseconds timeout);
    /* It has ended. peer: where a message is from. */
    void end(uint64_t number, bool is_good, int peer);

    /* An operation of comm has failed. Writes a dump, once a failure, if the
     * environment says where. */
    void failed(rcx_comm_t *comm);
    /* RCX has logged an error: one of the groups may have failed, although this
     * rank has no operation in it. Looks later, on another thread, as RCX must
     * not be called now. */
    void look_later();

    /* The dump, as a pickle or as JSON. */
    std::string dump(bool as_json);
    /* Write the pickle to prefix and the rank of the world. prefix: empty: of
     * the environment. Returns the path. */
    std::string write(const std::string &prefix);

  private:
    struct Group {
        rcx_comm_t *comm; /* null: it is freed */
        std::string name;
        const char *description;
        int rank;
        std::vector<int> ranks;
        uint64_t collectives = 0, messages = 0, operations = 0;
        int64_t started = -1, completed = -1; /* the last collective */
        std::optional<rcx_status_t> dumped = {};
    };
    struct Entry {
        uint64_t number;
        size_t group;
        uint64_t collective, message, operation;
        Recorded what;
        int64_t created_ns, completed_ns;
        int64_t timeout_ms;
        bool is_completed, is_retired;
    };

    FlightRecorder();
    void drop_freed_groups();
    bool must_dump(rcx_comm_t *comm);
    void look();
    std::string name_of(const Entry &entry, const Group &group) const;
    template <class Writer> void write_groups(Writer &out) const;
    template <class Writer>
    void write_entry(Writer &out, const Entry &entry) const;
    template <class Writer> void write_all(Writer &out) const;

    size_t most_ = 0;
    std::string prefix_;
    std::mutex lock_;
    std::vector<Entry> ring_;
    uint64_t next_ = 0, oldest_ = 0;
    size_t next_group_ = 0;
    std::map<size_t, Group> groups_;
    int rank_ = 0;
    std::mutex writing_;
    std::mutex comms_lock_; /* held while RCX is asked for a failure */
};

} // namespace rcx_torch

#endif
