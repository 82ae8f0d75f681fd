/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bootstrap over sockets says of ranks that wait: warnings of what
 * they wait for, and what rank 0 sees of ranks that do not come. A warning that
 * is due at once stands for one after 5 s.
 */
#include "socket_roots.h"

#include "bootstrap/socket_id.h"

/* As run_with_root(), but it warns before it fails. */
static void warn_with_root(const char *root, const char *rank,
                           const char *words)
{
    struct ranks *ranks = ranks_new();
    const struct start start = {
        .timeout_ns = brief.timeout_ns, .by_environment = true, .warns = true};

    set_root(root, rank);
    ranks_start(ranks, 1, &start, whole_life);
    unset_root();
    ranks_end(ranks);
    assert_warned(ranks, 0, words);
    ranks_free(ranks);
}

static void a_start_that_waits_says_what_for(void **state)
{
    struct rcx_socket_addr any = {.port = 0};
    char root[64], words[128];
    int fd;

    (void)state;
    assert_true(rcx_socket_ip_parse(LOOPBACK_IP, &any));
    fd = rcx_socket_listen(&any, 0);
    snprintf(root, sizeof root, "%s:%u", LOOPBACK_HOST,
             (unsigned)rcx_socket_port(fd));
    snprintf(words, sizeof words, "rank 0 cannot listen at %s: Address ", root);
    warn_with_root(root, "0", words);
    snprintf(words, sizeof words, "rank 0 at %s is not reached: ", root);
    warn_with_root(root, "1", words);
    close(fd);
    warn_with_root(root, "0", "rank 1 of 2 has not come");
    warn_with_root("unknown.invalid:7", "1",
                   "rank 0 at unknown.invalid:7 is not reached: "
                   "unknown.invalid: Name or service not known");
    warn_with_root("silent.invalid:7", "1",
                   "the name service does not answer for silent.invalid");
    warn_with_root("file:/nonexistent/root", "1",
                   "rank 0 at file:/nonexistent/root is not reached: No such "
                   "file or directory; rank 0 has not started");
}

/* From now on a warning of the start is due. */
static rcx_status_t exchange_and_warn(struct side *side, struct ranks *ranks)
{
    const rcx_status_t status = open_only(side, ranks);

    if (status != RCX_OK)
        return status;
    wait_at_gate(ranks, 0);
    side->args.wait->next_ns = 0;
    return exchange_all(side);
}

static void a_rank_that_is_stopped_is_named_by_its_neighbour(void **state)
{
    static const int list[] = {0, 1};
    static const char *const words[] = {"rank 0 has not sent what all ranks",
                                        "rank 1 has not taken part"};

    (void)state;
    for (int victim = 0; victim < 2; victim++) {
        struct ranks *ranks = start_some(2, list, 2, exchange_and_warn);

        wait_for_ranks_at(ranks, 0, 2);
        kill(ranks->pids[victim], SIGSTOP);
        atomic_store(&ranks->gates[0], 1);
        assert_int_equal(ranks->pids[!victim],
                         waitpid(ranks->pids[!victim], NULL, 0));
        kill(ranks->pids[victim], SIGKILL);
        assert_int_equal(ranks->pids[victim],
                         waitpid(ranks->pids[victim], NULL, 0));
        assert_warned(ranks, !victim, words[victim]);
        ranks_free(ranks);
    }
}

/* What rank 0 sees when ranks do not come. */
static void rank_0_says_what_may_keep_ranks_away(void **state)
{
    const int fd = rcx_socket_listen(NULL, 0);
    const unsigned port = rcx_socket_port(fd);
    char root[64];

    (void)state;
    close(fd);
    snprintf(root, sizeof root, "unknown.invalid:%u", port);
    run_with_root(root, "0", RCX_ERR_TIMEOUT,
                  "rank 1 of 2 did not come within 0.3 s; rank 0 does not find "
                  "its own host, unknown.invalid: Name or service not known");
    snprintf(root, sizeof root, "198.51.100.9:%u", port);
    run_with_root(root, "0", RCX_ERR_TIMEOUT,
                  "rank 1 of 2 did not come within 0.3 s; rank 0's host does "
                  "not have the address 198.51.100.9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_waits_says_what_for),
        cmocka_unit_test(a_rank_that_is_stopped_is_named_by_its_neighbour),
        cmocka_unit_test(rank_0_says_what_may_keep_ranks_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
