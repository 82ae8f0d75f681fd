/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_gpu DRIVER
 *
 * Every call that takes a buffer must reject memory of a GPU, and ask the
 * driver once for each range of addresses. DRIVER is the library made from
 * fake_gpu.c, which the test loads after rcx_init().
 */
#include "test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "capture.h"
#include "context.h"

enum { MIB = 1 << 20, BYTES = 16 * MIB, COUNT = 4 };

static const char *driver;
static struct capture said;

static struct {
    rcx_context_t *context;
    rcx_comm_t *world;
    char *memory;             /* 16 MiB of the host */
    int64_t *on_gpu, *shared; /* the GPU's, once the driver is loaded */
    int *questions;
} it;

static void *symbol(void *handle, const char *name)
{
    void *found = dlsym(handle, name);

    assert_non_null(found);
    return found;
}

/* Load the driver. Memory from 4 MiB on is then the GPU's, and from 12 MiB on
 * both sides can read it. */
static void load_driver(void)
{
    void *handle = dlopen(driver, RTLD_NOW);

    assert_non_null(handle);
    *(const char **)symbol(handle, "fake_begin") = (char *)it.on_gpu;
    *(const char **)symbol(handle, "fake_shared") = (char *)it.shared;
    *(const char **)symbol(handle, "fake_end") = it.memory + BYTES;
    it.questions = symbol(handle, "fake_questions");
}

static void refuses(rcx_status_t status, const char *name)
{
    assert_status(status, RCX_ERR_UNSUPPORTED);
    assert_non_null(strstr(said.text, name));
    assert_non_null(strstr(said.text, " is a GPU's memory"));
    said = (struct capture){.host_lines = 0};
}

static rcx_status_t sum(const int64_t *in, int64_t *out)
{
    return rcx_allreduce(in, out, COUNT, RCX_INT64, RCX_SUM, it.world);
}

static int open_one(void **state)
{
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};

    (void)state;
    assert_ok(rcx_init(&params, &it.context));
    it.world = rcx_world(it.context);
    it.memory = aligned_alloc(4 * MIB, BYTES);
    assert_non_null(it.memory);
    memset(it.memory, 0, BYTES);
    it.on_gpu = (int64_t *)(void *)(it.memory + 4 * MIB);
    it.shared = (int64_t *)(void *)(it.memory + 12 * MIB);
    return 0;
}

static int close_one(void **state)
{
    (void)state;
    assert_ok(rcx_finalize(&it.context));
    free(it.memory);
    return 0;
}

static void without_a_driver_all_memory_is_the_hosts(void **state)
{
    int64_t out[COUNT];

    (void)state;
    assert_ok(sum(it.shared, out));
    assert_string_equal(said.text, "");
}

static void a_gpus_memory_is_refused(void **state)
{
    int64_t host[COUNT] = {1, 2, 3, 4}, out[COUNT];
    int64_t *gpu = it.on_gpu;
    const void *ins[] = {host, gpu};
    void *outs[] = {out, out + 2};
    const size_t counts[] = {2, 2};
    rcx_request_t *r;

    (void)state;
    load_driver();
    assert_ok(sum(host, out));
    refuses(sum(gpu, out), "sendbuf=");
    refuses(sum(host, gpu), "recvbuf=");
    refuses(sum(RCX_IN_PLACE, gpu), "=");
    refuses(rcx_bcast(gpu, 1, RCX_INT64, 0, it.world), "buf=");
    refuses(rcx_allgather(gpu, out, 1, RCX_INT64, it.world), "sendbuf=");
    refuses(rcx_iallreduce(gpu, out, 1, RCX_INT64, RCX_SUM, it.world, &r),
            "sendbuf=");
    refuses(rcx_allreduce_init(gpu, out, 1, RCX_INT64, RCX_SUM, it.world, &r),
            "sendbuf=");
    refuses(
        rcx_allreduce_many(2, ins, outs, counts, RCX_INT64, RCX_SUM, it.world),
        "sendbufs=");
    refuses(rcx_isend(gpu, 1, RCX_INT64, 0, 1, it.world, &r), "buf=");
    refuses(rcx_recv(gpu + MIB / 2, 1, RCX_INT64, 0, 1, it.world, NULL),
            "buf=");
    refuses(rcx_mem_register(it.world, gpu, 4096), "ptr=");
    assert_ok(rcx_allreduce(gpu, out, 0, RCX_INT64, RCX_SUM, it.world));
    assert_ok(sum(host, out)); /* the world still works */
    assert_int_equal(out[3], 4);
}

static void managed_memory_is_accepted(void **state)
{
    int64_t out[COUNT];

    (void)state;
    it.shared[0] = 7;
    assert_ok(sum(it.shared, out));
    assert_int_equal(out[0], 7);
}

static void the_driver_is_queried_once_for_a_buffer(void **state)
{
    int64_t out[COUNT];
    int asked;

    (void)state;
    assert_ok(sum((int64_t *)(void *)it.memory, out));
    asked = *it.questions;
    for (int i = 0; i < 100; i++)
        assert_ok(sum((int64_t *)(void *)it.memory + i % 2, out));
    assert_int_equal(*it.questions, asked);
}

/* Buffers of a call whose addresses differ by a multiple of any table's
 * size. */
static void distant_buffers_of_a_call_are_queried_once(void **state)
{
    const size_t apart = (size_t)1 << 30;
    char *memory = mmap(NULL, 3 * apart + MIB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int asked = 0;

    (void)state;
    assert_ptr_not_equal(memory, MAP_FAILED);
    for (int i = 0; i < 100; i++) {
        int64_t *out = (int64_t *)(void *)(memory + (1 + i % 2) * apart);

        assert_ok(sum((int64_t *)(void *)memory, out));
        if (i < 2)
            asked = *it.questions;
    }
    assert_int_equal(*it.questions, asked);
    assert_int_equal(munmap(memory, 3 * apart + MIB), 0);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver_all_memory_is_the_hosts),
        cmocka_unit_test(a_gpus_memory_is_refused),
        cmocka_unit_test(managed_memory_is_accepted),
        cmocka_unit_test(the_driver_is_queried_once_for_a_buffer),
        cmocka_unit_test(distant_buffers_of_a_call_are_queried_once),
    };

    driver = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests_name("gpu", tests, open_one, close_one);
}
