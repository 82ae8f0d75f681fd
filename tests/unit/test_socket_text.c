/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bootstrap over sockets reads: ids, roots and addresses, from texts
 * that may be anything; rank and size, from what launchers set; and the codes
 * of its handshake.
 */
#include "bootstrap_side.h"
#include "loopback.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/socket_job.h"
#include "core/base/random.h"

/* ---- Codes --------------------------------------------------------------- */

static void assert_code(size_t bytes, const char *hex)
{
    struct rcx_socket_key key, code;
    unsigned char message[64];
    char text[33];

    for (int i = 0; i < 64; i++)
        message[i] = (unsigned char)i;
    memcpy(key.bytes, message, sizeof key.bytes);
    code = rcx_socket_mac(&key, message, bytes);
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", code.bytes[i]);
    assert_string_equal(hex, text);
}

/* The first are those of the paper's reference implementation; OpenSSL computes
 * all of them. */
static void codes_are_those_of_siphash(void **state)
{
    (void)state;
    assert_code(0, "a3817f04ba25a8e66df67214c7550293");
    assert_code(1, "da87c1d86b99af44347659119b22fc45");
    assert_code(7, "a1f1ebbed8dbc153c0b84aa61ff08239");
    assert_code(12, "d626b266905ef35882634df68532c125");
    assert_code(17, "473d06e8738db89854c066c47ae47740");
}

/* ---- Roots --------------------------------------------------------------- */

#define KEY "000102030405060708090a0b0c0d0e0f"

static void ids_survive_print_and_parse(void **state)
{
    static const char text[] =
        "rcx1:" KEY ":4711.5.89abcdef:65535:192.0.2.1,2001:db8::1";
    struct rcx_socket_root root;
    char again[RCX_SOCKET_ID_BYTES], addr[RCX_SOCKET_ADDR_TEXT];

    (void)state;
    assert_true(rcx_socket_root_parse(text, &root));
    assert_int_equal(RCX_SOCKET_BY_ID, root.by);
    assert_int_equal(4711, root.pid);
    assert_int_equal(5, root.fd);
    assert_true(root.mark == 0x89abcdef);
    assert_int_equal(2, root.addrs.n);
    assert_int_equal(15, root.key.bytes[15]);
    rcx_socket_addr_print(&root.addrs.at[0], addr, sizeof addr);
    assert_string_equal("192.0.2.1:65535", addr);
    rcx_socket_addr_print(&root.addrs.at[1], addr, sizeof addr);
    assert_string_equal("[2001:db8::1]:65535", addr);
    rcx_socket_root_print(&root, again);
    assert_string_equal(text, again);
}

static void an_id_has_as_many_addresses_as_fit(void **state)
{
    struct rcx_socket_root root, again;
    char text[RCX_SOCKET_ID_BYTES];

    (void)state;
    assert_true(rcx_socket_root_parse(
        "rcx1:" KEY ":2147483647.99999.89abcdef:65535:2001:db8:1:2:3:4:5:6",
        &root));
    for (int i = 1; i < RCX_SOCKET_ADDRS; i++) {
        struct rcx_socket_addr addr = root.addrs.at[0];

        addr.ip[15] = (unsigned char)i;
        rcx_socket_addrs_add(&root.addrs, &addr);
    }
    rcx_socket_root_print(&root, text);
    assert_true(strlen(text) < sizeof text);
    assert_true(rcx_socket_root_parse(text, &again));
    assert_true(again.addrs.n >= 1 && again.addrs.n < root.addrs.n);
    assert_memory_equal(root.addrs.at, again.addrs.at, sizeof *root.addrs.at);
}

static void roots_have_three_forms(void **state)
{
    struct rcx_socket_root root;

    (void)state;
    assert_true(rcx_socket_root_parse("file:/a/b", &root));
    assert_int_equal(RCX_SOCKET_BY_FILE, root.by);
    assert_string_equal("/a/b", root.path);
    assert_false(root.has_key);
    assert_true(rcx_socket_root_parse("file:/a?b?" KEY, &root));
    assert_string_equal("/a?b", root.path);
    assert_true(root.has_key);
    assert_true(rcx_socket_root_parse("node7:5000", &root));
    assert_int_equal(RCX_SOCKET_BY_HOST, root.by);
    assert_string_equal("node7", root.host);
    assert_int_equal(5000, root.ports[0]);
    assert_true(rcx_socket_root_parse("[::1]:80", &root));
    assert_string_equal("::1", root.host);
    assert_true(rcx_socket_root_parse("80", &root));
    assert_string_equal("", root.host);
}

static void bad_roots_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        ":",
        ":80",
        "node7",
        "node7:",
        "node7:65536",
        "node7:-1",
        "node7:80x",
        "::1:80",
        "[::1]",
        "[]:80",
        "file:",
        "file:a",
        "file:/",
        "rcx1:",
        ("rcx1:" KEY),
        "rcx1:" KEY ":",
        "rcx1:" KEY ":1.2.3:4:",
        "rcx1:" KEY ":1.2.3:0:127.0.0.1",
        "rcx1:" KEY ":1.2.3:4:127.0.0",
        "rcx1:" KEY ":1.2.3:4:127.0.0.1,",
        "rcx1:" KEY ":1.2:4:127.0.0.1",
        "rcx1:" KEY ":1.2.123456789:4:127.0.0.1",
        "rcx1:" KEY ":99999999999.2.3:4:127.0.0.1",
        "rcx1:000102030405060708090A0B0C0D0E0F:1.2.3:4:127.0.0.1"};
    struct rcx_socket_root root;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rcx_socket_root_parse(bad[i], &root))
            fail_msg("\"%s\" is accepted", bad[i]);
}

/* What is accepted has a form that is printed and read again. */
static void any_text_is_refused_or_read(void **state)
{
    static const char *const seeds[] = {
        "rcx1:" KEY ":4711.5.89abcdef:65535:192.0.2.1,2001:db8::1",
        ("file:/a/b?" KEY), "[2001:db8::1]:5000", "node7:5000"};
    static const char letters[] = "0123456789abcdef:.,/?[]rcx1file \xff";
    uint64_t random = 1;
    int accepted = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        const char *seed = seeds[rcx_random(&random) % 4];
        char text[256], again[RCX_SOCKET_ID_BYTES];
        size_t length = strlen(seed);
        struct rcx_socket_root root, second;

        strcpy(text, seed);
        for (int n = 1 + (int)(rcx_random(&random) % 4); n > 0; n--) {
            const size_t at = rcx_random(&random) % (length + 1);

            text[at] = letters[rcx_random(&random) % sizeof letters];
            if (at == length)
                text[++length] = '\0';
        }
        if (!rcx_socket_root_parse(text, &root))
            continue;
        accepted++;
        if (root.by != RCX_SOCKET_BY_ID)
            continue;
        rcx_socket_root_print(&root, again);
        assert_true(rcx_socket_root_parse(again, &second));
        assert_memory_equal(&root.key, &second.key, sizeof root.key);
        assert_true(root.mark == second.mark && root.pid == second.pid);
    }
    assert_true(accepted > 1000);
}

static void a_foreign_descriptor_is_not_taken_for_the_listener(void **state)
{
    struct rcx_socket_root root;
    struct rcx_log log;
    rcx_id_t id;

    (void)state;
    rcx_log_init(&log);
    assert_int_equal(RCX_OK, rcx_boot_make_id(LOOPBACK_ANY_PORT, &log, &id));
    assert_true(rcx_socket_root_parse(id.text, &root));
    assert_int_equal(root.fd, rcx_socket_own_listener(&root));
    root.mark++;
    assert_int_equal(-1, rcx_socket_own_listener(&root));
    root.mark--;
    root.pid++;
    assert_int_equal(-1, rcx_socket_own_listener(&root));
    root.pid--;
    assert_int_equal(0, dup2(0, root.fd) - root.fd);
    assert_int_equal(-1, rcx_socket_own_listener(&root));
    close(root.fd);
    assert_int_equal(-1, rcx_socket_own_listener(&root));
}

static void assert_no_id(const char *address, rcx_status_t status)
{
    struct side side;
    rcx_id_t id = {"untouched"};

    side_init(&side, NULL);
    assert_int_equal(status, rcx_boot_make_id(address, &side.log, &id));
    assert_int_equal(1, side.lines.count);
    assert_string_equal("untouched", id.text);
}

static void ids_that_cannot_be_made_are_errors(void **state)
{
    char path[200];

    (void)state;
    assert_no_id("nonsense", RCX_ERR_ARG);
    assert_no_id("file:relative", RCX_ERR_ARG);
    assert_no_id("file:/a?" KEY, RCX_ERR_ARG);
    assert_no_id("rcx1:" KEY ":1.2.3:4:127.0.0.1", RCX_ERR_ARG);
    snprintf(path, sizeof path, "file:/%090d", 1);
    assert_no_id(path, RCX_ERR_ARG);
    assert_no_id("203.0.113.7:0", RCX_ERR_LAUNCH);
    assert_no_id("nohost.invalid:0", RCX_ERR_LAUNCH);
    setenv("RCX_SOCKET_IFNAME", "nothere", 1);
    assert_no_id(NULL, RCX_ERR_CONFIG);
    unsetenv("RCX_SOCKET_IFNAME");
}

static void an_interface_can_be_chosen(void **state)
{
    struct rcx_socket_root root;
    struct rcx_log log;
    rcx_id_t id;

    (void)state;
    rcx_log_init(&log);
    setenv("RCX_SOCKET_IFNAME", "nothere,lo", 1);
    assert_int_equal(RCX_OK, rcx_boot_make_id(NULL, &log, &id));
    unsetenv("RCX_SOCKET_IFNAME");
    assert_true(rcx_socket_root_parse(id.text, &root));
    for (int i = 0; i < root.addrs.n; i++)
        assert_true(rcx_socket_is_loopback(&root.addrs.at[i]));
    assert_int_equal(root.fd, rcx_socket_own_listener(&root));
    close(root.fd);
}

/* ---- Parameters of rcx_init() -------------------------------------------- */

static void assert_bad_params(rcx_params_t params, const char *words)
{
    struct lines lines = {.count = 0};
    rcx_context_t *context = NULL;

    params.field_mask |= RCX_PARAM_LOG | RCX_PARAM_ID;
    params.log = lines_keep;
    params.log_arg = &lines;
    assert_int_equal(RCX_ERR_ARG, rcx_init(&params, &context));
    assert_int_equal(1, lines.count);
    if (!strstr(lines.last, words))
        fail_msg("\"%s\" lacks \"%s\"", lines.last, words);
    assert_null(context);
}

static void wrong_parameters_are_errors_that_name_them(void **state)
{
    static const rcx_id_t id = {"127.0.0.1:9"}, bad = {"nonsense"};
    const rcx_id_t cut = {"rcx1:0123456789abcdef0123456789ab"};
    rcx_id_t endless;

    (void)state;
    memset(&endless, '1', sizeof endless);
    assert_bad_params((rcx_params_t){.size = 1}, "params.id=NULL");
    assert_bad_params((rcx_params_t){.id = &id}, "params.size=0");
    assert_bad_params((rcx_params_t){.id = &id, .rank = 2, .size = 2},
                      "params.rank=2");
    assert_bad_params((rcx_params_t){.id = &id, .rank = -1, .size = 2},
                      "params.rank=-1");
    assert_bad_params((rcx_params_t){.id = &bad, .size = 2},
                      "params.id=nonsense: valid is");
    assert_bad_params((rcx_params_t){.id = &cut, .size = 2},
                      "params.id=rcx1:: valid is");
    assert_bad_params((rcx_params_t){.id = &endless, .size = 2},
                      "params.id=111");
    assert_bad_params(
        (rcx_params_t){.field_mask = RCX_PARAM_BOOTSTRAP, .id = &id, .size = 1},
        "params.bootstrap is given, too");
    assert_int_equal(RCX_ERR_ARG, rcx_get_id(NULL, NULL));
}

/* ---- Launchers ----------------------------------------------------------- */

static const char *const names[] = {"RCX_ROOT",
                                    "RCX_RANK",
                                    "RCX_SIZE",
                                    "RCX_SECRET",
                                    "RANK",
                                    "WORLD_SIZE",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "TORCHELASTIC_RUN_ID",
                                    "TORCHELASTIC_RESTART_COUNT",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "SLURM_PROCID",
                                    "SLURM_NTASKS",
                                    "SLURM_JOB_ID",
                                    "SLURM_STEP_ID",
                                    "OMPI_MCA_ess_base_jobid",
                                    "JOB_COMPLETION_INDEX",
                                    "PMIX_NAMESPACE",
                                    "PMIX_RANK",
                                    "PMIX_SERVER_URI2",
                                    "PMIX_SERVER_URI3",
                                    "PMIX_SERVER_URI4",
                                    "PMIX_SERVER_URI41"};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

/* Assignments, which spaces separate. */
static rcx_status_t find_in(const char *environment, struct rcx_socket_job *job,
                            struct side *side)
{
    char text[512], *rest = text, *word;

    clear(NULL);
    snprintf(text, sizeof text, "%s", environment);
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        setenv(word, value, 1);
    }
    side_init(side, NULL);
    return rcx_socket_job_find(&side->args, job);
}

static void assert_place(const char *environment, int rank, int size)
{
    struct rcx_socket_job job;
    struct side side;

    assert_int_equal(RCX_OK, find_in(environment, &job, &side));
    assert_int_equal(rank, job.rank);
    assert_int_equal(size, job.size);
}

static void rank_and_size_are_those_of_the_innermost_launcher(void **state)
{
    (void)state;
    assert_place("RCX_ROOT=h:1 RCX_RANK=1 RCX_SIZE=8 PMI_RANK=2 PMI_SIZE=9", 1,
                 8);
    assert_place("RCX_ROOT=h:1 PMI_RANK=2 PMI_SIZE=9 OMPI_COMM_WORLD_RANK=3 "
                 "OMPI_COMM_WORLD_SIZE=10 SLURM_PROCID=4 SLURM_NTASKS=11",
                 2, 9);
    assert_place("RCX_ROOT=h:1 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=10 "
                 "SLURM_PROCID=4 SLURM_NTASKS=11",
                 3, 10);
    assert_place("RCX_ROOT=h:1 SLURM_PROCID=4 SLURM_NTASKS=11 RANK=5 "
                 "WORLD_SIZE=12",
                 4, 11);
    assert_place("RCX_ROOT=h:1 SLURM_PROCID=0 SLURM_NTASKS=1 RANK=5 "
                 "WORLD_SIZE=12 TORCHELASTIC_RUN_ID=x",
                 5, 12);
    assert_place("RCX_ROOT=h:1 RANK=5 WORLD_SIZE=12", 5, 12);
    assert_place("RCX_ROOT=h:1 JOB_COMPLETION_INDEX=6 RCX_SIZE=13", 6, 13);
    assert_place("RCX_ROOT=rcx1:" KEY ":1.2.3:4:127.0.0.1 RCX_RANK=1 "
                 "RCX_SIZE=2",
                 1, 2);
    assert_place("RANK=5 WORLD_SIZE=12 MASTER_ADDR=h MASTER_PORT=9", 5, 12);
}

static void assert_refused(const char *environment, rcx_status_t status,
                           const char *words)
{
    struct rcx_socket_job job;
    struct side side;

    assert_int_equal(status, find_in(environment, &job, &side));
    assert_int_equal(words ? 1 : 0, side.lines.count);
    if (words && !strstr(side.lines.last, words))
        fail_msg("\"%s\" lacks \"%s\"", side.lines.last, words);
}

static void wrong_variables_are_errors_that_name_them(void **state)
{
    const rcx_status_t config = RCX_ERR_CONFIG;

    (void)state;
    assert_refused("RCX_ROOT=h:1", config, "needs RCX_RANK and RCX_SIZE");
    assert_refused("RCX_ROOT=h:1 RCX_RANK=1", config, "RCX_SIZE is not set");
    assert_refused("RCX_ROOT=h:1 RCX_RANK=1 PMI_RANK=1 PMI_SIZE=2", config,
                   "RCX_SIZE is not set");
    assert_refused("RCX_ROOT=h:1 RCX_RANK=2 RCX_SIZE=2", config,
                   "RCX_RANK=2: valid is 0 to 1, by RCX_SIZE");
    assert_refused("RCX_ROOT=h:1 RCX_RANK=-1 RCX_SIZE=2", config, "RCX_RANK");
    assert_refused("RCX_ROOT=h:1 RCX_RANK=0 RCX_SIZE=0", config, "RCX_SIZE=0");
    assert_refused("RCX_ROOT=h:1 RCX_RANK=0 RCX_SIZE=2x", config,
                   "RCX_SIZE=2x");
    assert_refused("RCX_ROOT=here RCX_RANK=0 RCX_SIZE=2", config,
                   "RCX_ROOT=here: valid is HOST:PORT");
    assert_refused("RCX_ROOT=h:0 RCX_RANK=0 RCX_SIZE=2", config, "RCX_ROOT");
    assert_refused("RCX_ROOT=80 RCX_RANK=0 RCX_SIZE=2", config, "RCX_ROOT");
}

/* Of texts that are wrong, or lack a rank. */
static void no_line_holds_a_secret(void **state)
{
    static const char *const environments[] = {
        "RCX_ROOT=rcx1:5ec2e700000000000000000000000000:1.3.0:9:127.0.0.1",
        "RCX_ROOT=rcx1:5ec2e7 RCX_RANK=0 RCX_SIZE=1",
        "RCX_ROOT=file:/there?5ec2e700000000000000000000000000",
        "RCX_ROOT=file:there?5ec2e7 RCX_RANK=0 RCX_SIZE=1"};
    struct rcx_socket_job job;
    struct side side;

    (void)state;
    for (size_t i = 0; i < sizeof environments / sizeof *environments; i++) {
        assert_int_equal(RCX_ERR_CONFIG, find_in(environments[i], &job, &side));
        assert_int_equal(1, side.lines.count);
        assert_null(strstr(side.lines.last, "5ec2e7"));
    }
}

static void other_bootstraps_are_left_alone(void **state)
{
    const rcx_status_t not_mine = RCX_ERR_UNSUPPORTED;

    (void)state;
    assert_refused("RCX_RANK=0 RCX_SIZE=2", not_mine, NULL);
    assert_refused("PMI_RANK=0 PMI_SIZE=2", not_mine, NULL);
    assert_refused("RANK=0 WORLD_SIZE=2", not_mine, NULL);
    assert_refused("RANK=0 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=x", not_mine,
                   NULL);
    assert_refused("RANK=0 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=9 "
                   "PMIX_NAMESPACE=n",
                   not_mine, NULL);
}

static struct rcx_socket_key key_in(const char *environment)
{
    struct rcx_socket_job job;
    struct side side;

    assert_int_equal(RCX_OK, find_in(environment, &job, &side));
    return rcx_socket_job_key(&job, &job.key);
}

static void keys_differ_by_secret_and_job_of_the_launcher(void **state)
{
    const struct rcx_socket_key keys[] = {
        key_in("RCX_ROOT=h:1 RANK=0 WORLD_SIZE=2"),
        key_in("RCX_ROOT=h:1 RANK=0 WORLD_SIZE=2 RCX_SECRET=a"),
        key_in("RCX_ROOT=h:1 RANK=0 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=a"),
        key_in("RCX_ROOT=h:1 RANK=0 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=a "
               "TORCHELASTIC_RESTART_COUNT=1"),
        key_in("RCX_ROOT=h:1 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_JOB_ID=5 "
               "SLURM_STEP_ID=0"),
        key_in("RCX_ROOT=h:1 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_JOB_ID=5 "
               "SLURM_STEP_ID=1")};
    const struct rcx_socket_key same[] = {
        key_in("RCX_ROOT=h:1 RCX_RANK=0 RCX_SIZE=2 SLURM_PROCID=0 "
               "SLURM_NTASKS=1 SLURM_JOB_ID=5 SLURM_STEP_ID=1"),
        key_in("RCX_ROOT=g:7 RANK=1 WORLD_SIZE=2 RCX_SECRET=a")};
    enum { N = sizeof keys / sizeof *keys };

    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            assert_false(rcx_socket_same(&keys[i], &keys[j]));
    for (int i = 0; i < 2; i++)
        assert_true(rcx_socket_same(&keys[i], &same[i]));
}

static void torchruns_ports_follow_that_of_its_store(void **state)
{
    struct rcx_socket_job job;
    struct side side;

    (void)state;
    assert_int_equal(RCX_OK, find_in("RANK=0 WORLD_SIZE=2 MASTER_ADDR=h "
                                     "MASTER_PORT=29500",
                                     &job, &side));
    assert_int_equal(RCX_SOCKET_PORTS, job.root.n_ports);
    for (int i = 0; i < RCX_SOCKET_PORTS; i++)
        assert_int_equal(29501 + i, job.root.ports[i]);
    assert_int_equal(RCX_OK, find_in("RANK=0 WORLD_SIZE=2 MASTER_ADDR=h "
                                     "MASTER_PORT=65534",
                                     &job, &side));
    assert_int_equal(65535, job.root.ports[0]);
    assert_int_equal(65532, job.root.ports[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_those_of_siphash),
        cmocka_unit_test(ids_survive_print_and_parse),
        cmocka_unit_test(an_id_has_as_many_addresses_as_fit),
        cmocka_unit_test(roots_have_three_forms),
        cmocka_unit_test(bad_roots_are_refused),
        cmocka_unit_test(any_text_is_refused_or_read),
        cmocka_unit_test(a_foreign_descriptor_is_not_taken_for_the_listener),
        cmocka_unit_test(ids_that_cannot_be_made_are_errors),
        cmocka_unit_test(an_interface_can_be_chosen),
        cmocka_unit_test(wrong_parameters_are_errors_that_name_them),
        cmocka_unit_test(rank_and_size_are_those_of_the_innermost_launcher),
        cmocka_unit_test(wrong_variables_are_errors_that_name_them),
        cmocka_unit_test(no_line_holds_a_secret),
        cmocka_unit_test(other_bootstraps_are_left_alone),
        cmocka_unit_test(keys_differ_by_secret_and_job_of_the_launcher),
        cmocka_unit_test(torchruns_ports_follow_that_of_its_store),
    };

    return cmocka_run_group_tests(tests, clear, clear);
}
