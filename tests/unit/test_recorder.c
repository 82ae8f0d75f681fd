/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flight recorder and its dumps: times, the ring of entries, resident
 * memory, escaping of text, and files. The JSON contents of dumps are tested in
 * tests/trace.
 */
#include "test.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "members.h"
#include "core/run/diag/dump.h"
#include "core/sched/algo.h"

enum { DEPTH = RCX_RECORDER_DEPTH };

static struct rcx_heap heap;
static struct rcx_recorder recorder;

static int open_recorder(void **state)
{
    (void)state;
    heap = RCX_HEAP_INIT;
    rcx_recorder_init(&recorder, &heap);
    return 0;
}

static int close_recorder(void **state)
{
    (void)state;
    rcx_recorder_free(&recorder);
    return (int)heap.live;
}

/* Begin an operation with a record of its own. Returns its number. */
static uint64_t begin(uint64_t count)
{
    struct rcx_record record = {.count = count,
                                .algo = rcx_algo_table[0],
                                .type = RCX_INT32,
                                .op = RCX_SUM,
                                .coll = RCX_COLL_ALLREDUCE};

    return rcx_recorder_begin(&recorder, &record, rcx_ticks());
}

static const struct rcx_entry *entry_at(uint64_t number)
{
    return rcx_recorder_at(&recorder, number);
}

static uint64_t count_at(uint64_t number)
{
    return rcx_recorder_of(&recorder, entry_at(number))->count;
}

static void end(uint64_t number, rcx_status_t status)
{
    rcx_recorder_end(&recorder, number, status, rcx_ticks());
}

/* ---- Ticks --------------------------------------------------------------- */

static void ticks_become_nanoseconds_on_a_line(void **state)
{
    const struct rcx_instant from = {1000, 5000}, to = {3000, 9000};
    const struct rcx_instant late = {UINT64_C(1) << 54, UINT64_C(1) << 53};

    (void)state;
    assert_int_equal(rcx_ticks_to_ns(1000, &from, &to), 5000);
    assert_int_equal(rcx_ticks_to_ns(1001, &from, &to), 5002);
    assert_int_equal(rcx_ticks_to_ns(2500, &from, &to), 8000);
    assert_int_equal(rcx_ticks_to_ns(3000, &from, &to), 9000);
    /* from another core, whose counter differs slightly */
    assert_int_equal(rcx_ticks_to_ns(999, &from, &to), 4998);
    assert_int_equal(rcx_ticks_to_ns(3002, &from, &to), 9004);
    /* both moments are the same, or in the wrong order */
    assert_int_equal(rcx_ticks_to_ns(3000, &to, &to), 9000);
    assert_int_equal(rcx_ticks_to_ns(1, &to, &from), 5000);
    /* 104 days: the result is exact at both moments */
    assert_int_equal(rcx_ticks_to_ns(1000, &from, &late), 5000);
    assert_int_equal(rcx_ticks_to_ns(late.ticks, &from, &late), late.ns);
}

static void times_never_run_backwards(void **state)
{
    enum { MANY = 100000 };
    static uint64_t ticks[MANY];
    const struct rcx_instant from = rcx_instant_now();
    uint64_t last = from.ns;
    struct rcx_instant to;

    (void)state;
    for (int i = 0; i < MANY; i++)
        ticks[i] = rcx_ticks();
    to = rcx_instant_now();
    for (int i = 0; i < MANY; i++) {
        const uint64_t ns = rcx_ticks_to_ns(ticks[i], &from, &to);

        assert_true(ns >= last);
        last = ns;
    }
    assert_true(last <= to.ns);
    assert_true(to.ns <= rcx_now_ns());
}

/* ---- The ring ------------------------------------------------------------ */

static void the_last_operations_are_kept(void **state)
{
    enum { MANY = 3 * DEPTH + 7 };

    (void)state;
    assert_int_equal(rcx_recorder_oldest(&recorder), 0);
    for (uint64_t i = 0; i < MANY; i++) {
        const uint64_t number = begin(i + 100);

        assert_int_equal(number, i);
        end(number, i % 5 ? RCX_OK : RCX_ERR_TIMEOUT);
        assert_int_equal(rcx_recorder_oldest(&recorder),
                         i < DEPTH ? 0 : i - DEPTH + 1);
    }
    for (uint64_t i = MANY - DEPTH; i < MANY; i++) {
        const struct rcx_entry *entry = entry_at(i);

        assert_int_equal(count_at(i), i + 100);
        assert_int_equal(entry->status, i % 5 ? RCX_OK : RCX_ERR_TIMEOUT);
        assert_true(entry->begin >= recorder.born.ticks);
        assert_true(rcx_entry_ended(entry) >= entry->begin);
    }
    assert_int_equal(heap.calls, 1);
}

/* Some records repeat, others occur once, in random order. Each entry that is
 * kept must refer to its own record. */
static void entries_know_their_operations(void **state)
{
    enum { RECORDS = 3 * DEPTH, MANY = 40 * DEPTH };
    static struct rcx_record records[RECORDS];
    static uint64_t counts[MANY];
    uint64_t draws = 1;

    (void)state;
    for (uint64_t i = 0; i < RECORDS; i++)
        records[i] = (struct rcx_record){.count = i};
    for (uint64_t i = 0; i < MANY; i++) {
        /* periods of few different records, and of many */
        const int kinds = i / (5 * DEPTH) % 2 ? RECORDS : 3;

        counts[i] = (uint64_t)members_draw(&draws, kinds);
        rcx_recorder_begin(&recorder, &records[counts[i]], i);
        for (uint64_t k = rcx_recorder_oldest(&recorder); k <= i; k++)
            if (count_at(k) != counts[k])
                fail_msg("%d: entry %d has the record of %d, not of %d", (int)i,
                         (int)k, (int)count_at(k), (int)counts[k]);
    }
}

static void times_are_kept_in_few_bits(void **state)
{
    static const uint64_t ticks[] = {0,
                                     1,
                                     4096,
                                     RCX_TOOK_LONG - 1,
                                     RCX_TOOK_LONG,
                                     UINT64_C(10000000000),
                                     UINT64_C(1000000000000),
                                     (UINT64_C(1) << 43) - 1};
    struct rcx_record record = {.count = 1};

    (void)state;
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        const uint64_t number = rcx_recorder_begin(&recorder, &record, 77);
        uint64_t took;

        rcx_recorder_end(&recorder, number, RCX_OK, 77 + ticks[i]);
        took = rcx_entry_ended(entry_at(number)) - 77;
        assert_true(took <= ticks[i]);
        assert_true(ticks[i] - took <= ticks[i] / 100000);
    }
    assert_int_equal(rcx_took(77, 70), 0); /* from another core */
    assert_int_equal(rcx_took(0, UINT64_C(1) << 50), UINT32_MAX);
}

static void an_operation_is_started_until_it_ends(void **state)
{
    const uint64_t first = begin(1), second = begin(2);

    (void)state;
    assert_int_equal(entry_at(first)->status, RCX_IN_PROGRESS);
    end(second, RCX_OK);
    assert_int_equal(entry_at(first)->status, RCX_IN_PROGRESS);
    end(first, RCX_OK);
    assert_int_equal(entry_at(first)->status, RCX_OK);
}

static void an_overwritten_operation_ends_without_a_trace(void **state)
{
    const uint64_t old = begin(1);
    struct rcx_entry before;
    uint64_t young = 0;

    (void)state;
    for (int i = 0; i < DEPTH; i++)
        young = begin(2);
    assert_ptr_equal(entry_at(old), entry_at(young));
    before = *entry_at(young);
    end(old, RCX_ERR_TRANSPORT);
    assert_memory_equal(&before, entry_at(young), sizeof before);
}

static void without_memory_the_last_operation_is_kept(void **state)
{
    uint64_t old, young;

    (void)state;
    heap.budget = 0;
    old = begin(1);
    young = begin(2);
    heap.budget = UINT64_MAX; /* no ring is allocated later */
    end(old, RCX_ERR_OP);
    assert_int_equal(entry_at(young)->status, RCX_IN_PROGRESS);
    end(young, RCX_OK);
    assert_int_equal(entry_at(young)->status, RCX_OK);
    assert_int_equal(count_at(young), 2);
    assert_int_equal(begin(3), 2);
    assert_int_equal(rcx_recorder_oldest(&recorder), 2);
    assert_int_equal(heap.calls, 0);
}

static void a_ring_that_was_opened_allocates_no_more(void **state)
{
    (void)state;
    rcx_recorder_open(&recorder);
    rcx_recorder_open(&recorder);
    assert_int_equal(heap.calls, 1);
    heap.budget = 0;
    for (uint64_t i = 0; i < 2 * DEPTH; i++)
        end(begin(i), RCX_OK);
    assert_int_equal(rcx_recorder_oldest(&recorder), DEPTH);
}

/* ---- Memory -------------------------------------------------------------- */

#ifndef SANITIZED                     /* whose heap writes into new blocks */
enum { LIVE = 4000, PAGES_EACH = 3 }; /* the entry's, malloc's at both ends */

static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    unsigned long kilobytes = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Rss: %lu kB", &kilobytes) == 1)
            break;
    fclose(file);
    assert_true(kilobytes > 0);
    return kilobytes * UINT64_C(1024);
}

/* Number of resident pages of a ring. */
static int resident_pages(const struct rcx_recorder *r)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)r->slots & -page;
    const uintptr_t end = (uintptr_t)(r->slots + DEPTH);
    unsigned char there[64];
    int pages = 0;

    assert_true((end - start + page - 1) / page <= sizeof there);
    assert_int_equal(mincore((void *)start, end - start, there), 0);
    for (uintptr_t i = 0; i < (end - start + page - 1) / page; i++)
        pages += there[i] & 1;
    return pages;
}

static void unused_memory_is_not_resident(void **state)
{
    static struct rcx_recorder recorders[LIVE];
    struct rcx_record record = {.count = 1};
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t before;

    (void)state;
    mallopt(M_PERTURB, 0); /* Meson sets MALLOC_PERTURB_ */
    malloc_trim(0);        /* returns what other tests have used */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    memset(recorders, 1, sizeof recorders); /* makes these pages resident */
    before = resident_bytes();
    for (int i = 0; i < LIVE; i++) {
        rcx_recorder_init(&recorders[i], &heap);
        record.number = 0;
        rcx_recorder_end(&recorders[i],
                         rcx_recorder_begin(&recorders[i], &record, 1), RCX_OK,
                         2);
    }
    print_message("# %.1f KB each\n",
                  (double)(resident_bytes() - before) / LIVE / 1024);
    assert_true(resident_bytes() - before <= LIVE * PAGES_EACH * page);
    for (int i = 0; i < LIVE; i++) {
        assert_true(resident_pages(&recorders[i]) <= PAGES_EACH);
        rcx_recorder_free(&recorders[i]);
    }
}
#endif

/* ---- Text in dumps ------------------------------------------------------- */

static bool no_comm(void *arg, struct rcx_dump_comm *comm_p)
{
    (void)arg, (void)comm_p;
    return false;
}

static void check_reason(const char *reason, const char *expected)
{
    const struct rcx_dump_head head = {
        .size = 1, .reason = reason, .next = no_comm};
    char *text, *found;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);

    rcx_dump_write(file, &head);
    assert_false(ferror(file));
    fclose(file);
    found = strstr(text, "\"reason\": ");
    assert_non_null(found);
    found += strlen("\"reason\": ");
    *strstr(found, ", \"communicators\": []}\n") = '\0';
    assert_string_equal(found, expected);
    free(text);
}

static void strings_are_escaped(void **state)
{
    (void)state;
    check_reason(NULL, "null");
    check_reason("", "\"\"");
    check_reason("plain", "\"plain\"");
    check_reason("say \"a\\b\"/", "\"say \\\"a\\\\b\\\"/\"");
    check_reason("\x01\t\n\r\x1f ", "\"\\u0001\\u0009\\u000a\\u000d\\u001f \"");
}

static void text_that_is_no_utf8_is_replaced(void **state)
{
#define BAD "\\ufffd"
    (void)state;
    /* the first and last characters of 1 to 4 bytes, and around surrogates */
    check_reason("\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf",
                 "\"\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf\"");
    check_reason("\xee\x80\x80 \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",
                 "\"\xee\x80\x80 \xef\xbf\xbf \xf0\x90\x80\x80 "
                 "\xf4\x8f\xbf\xbf\"");
    /* truncated, misplaced, overlong, surrogate, beyond the last character */
    check_reason("\xe2\x82", "\"" BAD BAD "\"");
    check_reason("\xf0\x9f\x98", "\"" BAD BAD BAD "\"");
    check_reason("a\x80z", "\"a" BAD "z\"");
    check_reason("\xc3(", "\"" BAD "(\"");
    check_reason("\xc3\"", "\"" BAD "\\\"\"");
    check_reason("\xc0\xaf", "\"" BAD BAD "\"");
    check_reason("\xe0\x9f\xbf", "\"" BAD BAD BAD "\"");
    check_reason("\xf0\x8f\xbf\xbf", "\"" BAD BAD BAD BAD "\"");
    check_reason("\xed\xa0\x80", "\"" BAD BAD BAD "\"");
    check_reason("\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"");
    check_reason("\xf8\x88\x80\x80\x80", "\"" BAD BAD BAD BAD BAD "\"");
    check_reason("\xff", "\"" BAD "\"");
}

/* ---- Dump files ---------------------------------------------------------- */

static char folder[32], path[64];
static struct rcx_log quiet_log;
static struct capture capture;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/rcx_recorder_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/dump.json", folder);
    rcx_log_init(&quiet_log);
    quiet_log.fn = capture_line;
    quiet_log.arg = &capture;
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails unless it is empty */
}

static void read_path(char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");

    assert_non_null(file);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    fclose(file);
}

/* Read the file at path while the dump is being written. */
static bool look(void *arg, struct rcx_dump_comm *comm_p)
{
    (void)comm_p;
    read_path(arg, 100);
    return false;
}

static void a_complete_dump_replaces_the_older_file(void **state)
{
    char meanwhile[100], after[1000];
    const struct rcx_dump_head head = {
        .size = 1, .next = look, .arg = meanwhile};
    FILE *file = fopen(path, "we");

    (void)state;
    fprintf(file, "an older one");
    fclose(file);
    assert_ok(rcx_dump_to_path(&quiet_log, path, &head));
    assert_string_equal(meanwhile, "an older one");
    read_path(after, sizeof after);
    assert_non_null(strstr(after, "{\"rcx_dump\": 1"));
    assert_non_null(strstr(after, "]}\n"));
}

/* A dump must not replace a device that a link points to; root could. Links to
 * regular files are in test_file.c. */
static void a_dump_to_a_link_leaves_a_device_as_it_is(void **state)
{
    const struct rcx_dump_head head = {.size = 1, .next = no_comm};
    struct stat s;

    (void)state;
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_ok(rcx_dump_to_path(&quiet_log, path, &head));
    assert_int_equal(lstat(path, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(stat("/dev/null", &s), 0);
    assert_true(S_ISCHR(s.st_mode));
}

static void a_dump_without_room_leaves_the_older_file(void **state)
{
    const struct rcx_dump_head head = {.size = 1, .next = no_comm};
    struct rlimit limit, little;
    char after[100];
    FILE *file = fopen(path, "we");

    (void)state;
    fprintf(file, "an older one");
    fclose(file);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    little = limit;
    little.rlim_cur = 50;
    setrlimit(RLIMIT_FSIZE, &little);
    capture_begin(&capture);

    const rcx_status_t status = rcx_dump_to_path(&quiet_log, path, &head);

    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    capture_end(&capture);
    capture_check(&capture, "", status, RCX_ERR_ARG,
                  (const char *const[]){path, "File too large", NULL});
    read_path(after, sizeof after);
    assert_string_equal(after, "an older one");
}

static void a_path_that_cannot_be_written_is_refused(void **state)
{
    const struct rcx_dump_head head = {.size = 1, .next = no_comm};
    char longer[5000];

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_refused(&capture, rcx_dump_to_path(&quiet_log, "/no/such", &head),
                   RCX_ERR_ARG, "rcx_dump: /no/such", "No such file");
    assert_refused(&capture, rcx_dump_to_path(&quiet_log, folder, &head),
                   RCX_ERR_ARG, folder, "Is a directory");
    assert_refused(&capture, rcx_dump_to_path(&quiet_log, longer, &head),
                   RCX_ERR_ARG, "rcx_dump: xxx");
}

#define recorder_test(name)                                                    \
    cmocka_unit_test_setup_teardown(name, open_recorder, close_recorder)
#define file_test(name)                                                        \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_become_nanoseconds_on_a_line),
        cmocka_unit_test(times_never_run_backwards),
        recorder_test(the_last_operations_are_kept),
        recorder_test(entries_know_their_operations),
        recorder_test(times_are_kept_in_few_bits),
        recorder_test(an_operation_is_started_until_it_ends),
        recorder_test(an_overwritten_operation_ends_without_a_trace),
        recorder_test(without_memory_the_last_operation_is_kept),
        recorder_test(a_ring_that_was_opened_allocates_no_more),
#ifndef SANITIZED
        recorder_test(unused_memory_is_not_resident),
#endif
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(text_that_is_no_utf8_is_replaced),
        file_test(a_complete_dump_replaces_the_older_file),
        file_test(a_dump_to_a_link_leaves_a_device_as_it_is),
        file_test(a_dump_without_room_leaves_the_older_file),
        file_test(a_path_that_cannot_be_written_is_refused),
    };

    return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
