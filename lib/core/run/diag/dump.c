/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes dumps as JSON.
 */
#include "core/run/diag/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/op/types.h"
#include "core/run/object/comm.h"
#include "core/sched/algo.h"

/* ---- Values -------------------------------------------------------------- */

/* Bytes of the UTF-8 character at s; 0: it is not valid. */
static int character_bytes(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int n = s[0] < 0x80         ? 1
                  : s[0] >> 5 == 0x06 ? 2
                  : s[0] >> 4 == 0x0e ? 3
                  : s[0] >> 3 == 0x1e ? 4
                                      : 0;
    uint32_t c = n > 1 ? s[0] & (0x7fu >> n) : s[0];

    for (int i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* A string, or null. A byte that is not UTF-8 becomes the replacement
 * character. */
static void put_text(FILE *file, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    if (!s) {
        fprintf(file, "null");
        return;
    }
    putc('"', file);
    while (*s) {
        const int n = character_bytes(s);

        if (n == 0)
            fprintf(file, "\\ufffd");
        else if (*s < 0x20)
            fprintf(file, "\\u%04x", *s);
        else
            fprintf(file, "%s%.*s", *s == '"' || *s == '\\' ? "\\" : "", n,
                    (const char *)s);
        s += n ? n : 1;
    }
    putc('"', file);
}

static void put_ranks(FILE *file, const int *ranks, size_t n)
{
    putc('[', file);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s%d", i ? ", " : "", ranks[i]);
    putc(']', file);
}

/* The name of the enumerator. */
static void put_status(FILE *file, rcx_status_t status)
{
    const char *text = rcx_status_string(status);

    fprintf(file, "\"%.*s\"", (int)strcspn(text, ":"), text);
}

/* ---- Operations ---------------------------------------------------------- */

static void put_type(FILE *file, rcx_datatype_t number)
{
    const struct rcx_type_info *type = rcx_type_predefined(number);

    fprintf(file, "{\"number\": %d, \"canonical\": %d, \"name\": ", number,
            rcx_type_canonical(number));
    put_text(file, type ? type->name : NULL);
    putc('}', file);
}

/* What the ranks of an operation must agree on. */
static void put_call(FILE *file, const struct rcx_record *r, uint64_t sequence)
{
    const struct rcx_op_info *op = rcx_op_predefined(r->op);

    fprintf(file, "{\"sequence\": %" PRIu64 ", \"collective\": ", sequence);
    put_text(file, rcx_coll_name(r->coll));
    fprintf(file, ", \"count\": %" PRIu64 ", \"type\": ", r->count);
    put_type(file, r->type);
    fprintf(file, ", \"op\": {\"number\": %d, \"name\": ", r->op);
    put_text(file, op ? op->name : NULL);
    fprintf(file, "}, \"root\": %d, \"algorithm\": ", r->root);
    put_text(file, r->algo ? r->algo->name : NULL);
    fprintf(file, ", \"segment\": %" PRIu64, r->segment);
}

static void put_progress(FILE *file, const struct rcx_dump_comm *comm,
                         uint64_t sequence)
{
    struct rcx_dump_progress p = {0};

    if (!comm->progress_of || !comm->progress_of(comm->arg, sequence, &p))
        return;
    fprintf(file,
            ", \"step\": %" PRIu64 ", \"steps\": %" PRIu64
            ", \"waiting_for\": ",
            p.step, p.steps);
    put_ranks(file, p.waiting_for, p.waiting_count);
    if (p.label) {
        fprintf(file, ", \"label\": ");
        put_text(file, p.label);
    }
}

static void put_state(FILE *file, const struct rcx_entry *entry)
{
    fprintf(file, ", \"state\": \"%s\", \"status\": ",
            entry->status == RCX_IN_PROGRESS ? "started"
            : entry->status == RCX_OK        ? "done"
                                             : "failed");
    put_status(file, entry->status);
}

static void put_times(FILE *file, const struct rcx_entry *entry,
                      const struct rcx_instant *born,
                      const struct rcx_instant *now)
{
    fprintf(file, ", \"begin_ns\": %" PRIu64 ", \"end_ns\": ",
            rcx_ticks_to_ns(entry->begin, born, now));
    if (entry->status == RCX_IN_PROGRESS)
        fprintf(file, "null}");
    else
        fprintf(file, "%" PRIu64 "}",
                rcx_ticks_to_ns(rcx_entry_ended(entry), born, now));
}

static void put_operation(FILE *file, const struct rcx_dump_comm *comm,
                          uint64_t number, const struct rcx_instant *now)
{
    const struct rcx_recorder *r = comm->recorder;
    const struct rcx_entry *entry = rcx_recorder_at(r, number);

    put_call(file, rcx_recorder_of(r, entry), 1 + number);
    put_state(file, entry);
    if (entry->status == RCX_IN_PROGRESS)
        put_progress(file, comm, 1 + number);
    put_times(file, entry, &r->born, now);
}

/* See rcx_p2p_get() for the fields of a message's record. */
static void put_message(FILE *file, const struct rcx_recorder *recorder,
                        uint64_t number, const struct rcx_instant *now)
{
    const struct rcx_entry *entry = rcx_recorder_at(recorder, number);
    const struct rcx_record *r = rcx_recorder_of(recorder, entry);

    fprintf(file,
            "{\"sequence\": %" PRIu64 ", \"call\": \"%s\", "
            "\"count\": %" PRIu64 ", \"type\": ",
            1 + number, r->coll ? "send" : "receive", r->count);
    put_type(file, r->type);
    if (r->root == RCX_ANY_SOURCE)
        fprintf(file, ", \"peer\": null");
    else
        fprintf(file, ", \"peer\": %d", r->root);
    fprintf(file, ", \"tag\": %" PRIu64, r->segment);
    put_state(file, entry);
    put_times(file, entry, &recorder->born, now);
}

static void put_messages(FILE *file, const struct rcx_recorder *r,
                         const struct rcx_instant *now)
{
    const uint64_t oldest = rcx_recorder_oldest(r);

    fprintf(file, ", \"dropped_messages\": %" PRIu64 ", \"messages\": [",
            oldest);
    for (uint64_t n = oldest; n < r->next; n++) {
        fprintf(file, n == oldest ? "\n" : ",\n");
        put_message(file, r, n, now);
    }
    putc(']', file);
}

/* ---- Communicators ------------------------------------------------------- */

static void put_comm(FILE *file, const struct rcx_dump_comm *comm,
                     const struct rcx_instant *now)
{
    const struct rcx_recorder *r = comm->recorder;
    const uint64_t oldest = rcx_recorder_oldest(r);

    fprintf(file, "{\"id\": %" PRIu32 ", ", comm->id);
    if (comm->name && comm->name[0]) {
        fprintf(file, "\"name\": ");
        put_text(file, comm->name);
        fprintf(file, ", ");
    }
    fprintf(file, "\"rank\": %d, \"size\": %d, \"ranks\": ", comm->rank,
            comm->size);
    if (comm->ranks)
        put_ranks(file, comm->ranks, (size_t)comm->size);
    else
        fprintf(file, "null");
    fprintf(file, ", \"status\": ");
    put_status(file, comm->status);
    fprintf(file, ", \"error\": ");
    put_text(file, comm->error);
    fprintf(file, ", \"missing\": ");
    put_ranks(file, comm->missing, comm->missing_count);
    fprintf(file,
            ", \"next_sequence\": %" PRIu64 ", \"dropped\": %" PRIu64
            ", \"operations\": [",
            comm->next_sequence, oldest);
    for (uint64_t n = oldest; n < r->next; n++) {
        fprintf(file, n == oldest ? "\n" : ",\n");
        put_operation(file, comm, n, now);
    }
    putc(']', file);
    if (comm->messages && comm->messages->next > 0)
        put_messages(file, comm->messages, now);
    putc('}', file);
}

/* ---- The whole ----------------------------------------------------------- */

void rcx_dump_write(FILE *file, const struct rcx_dump_head *head)
{
    const struct rcx_instant now = rcx_instant_now();
    const char *separator = "\n";
    struct rcx_dump_comm comm = {0};
    char host[HOST_NAME_MAX + 1] = "";
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    gethostname(host, sizeof host - 1);
    fprintf(file, "{\"rcx_dump\": 1, \"rank\": %d, \"size\": %d, \"host\": ",
            head->rank, head->size);
    put_text(file, host);
    fprintf(file,
            ", \"pid\": %d, \"time_ns\": %" PRIu64
            ", \"monotonic_ns\": %" PRIu64 ", \"reason\": ",
            (int)getpid(),
            (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, now.ns);
    put_text(file, head->reason);
    fprintf(file, ", \"communicators\": [");
    while (head->next(head->arg, &comm)) {
        fprintf(file, "%s", separator);
        put_comm(file, &comm, &now);
        separator = ",\n";
        comm = (struct rcx_dump_comm){0};
    }
    putc(']', file);
    if (head->more)
        head->more(file, head->more_arg);
    fprintf(file, "}\n");
}

rcx_status_t rcx_dump_to_path(const struct rcx_log *log, const char *path,
                              const struct rcx_dump_head *head)
{
    struct rcx_file_text text;
    char why[RCX_FILE_WHY];

    rcx_file_text_open(&text);
    if (text.to)
        rcx_dump_write(text.to, head);
    if (rcx_file_text_close(&text, path, rcx_file_write))
        return RCX_OK;
    rcx_file_why(path, errno, why, sizeof why);
    return rcx_fail(log, RCX_ERR_ARG, "%s: %s cannot be written: %s",
                    head->by ? head->by : "rcx_dump", path, why);
}
