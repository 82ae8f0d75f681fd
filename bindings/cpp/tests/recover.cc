/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job of which rank 1 is killed during collectives. The others
 * agree on it, and go on without it. Success: exit status 0, and nothing is
 * printed to stdout. */
#include <rcx/rcx.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace
{
constexpr int victim = 1;
constexpr std::chrono::seconds limit(20);

void expect(bool good, const char *what)
{
    if (good)
        return;
    std::printf("not as expected: %s\n", what);
    std::exit(1);
}

void use_until_failure(const rcx::comm &comm)
{
    std::array<double, 1000> x = {};

    try {
        for (;;)
            rcx::allreduce(x, rcx::sum, comm);
    } catch (const rcx::error &e) {
        expect(e.status() == RCX_ERR_PEER_FAILED ||
                   e.status() == RCX_ERR_COMM_FAILED,
               e.what());
    }
}

/* Bits of the ranks of old that are in comm. */
std::uint64_t members(const rcx::comm &old, const rcx::comm &comm)
{
    std::array<std::uint64_t, 1> bits = {UINT64_C(1) << old.rank()};

    rcx::allreduce(bits, rcx::bor, comm);
    return bits[0];
}
} // namespace

int main()
try {
    rcx::context context;
    rcx::comm comm = context.world().dup();
    const std::uint64_t all = (UINT64_C(1) << comm.size()) - 1;
    const std::uint64_t mine = UINT64_C(1) << comm.rank();

    expect(comm.agree(~mine) == ~all && comm.failed().empty(),
           "an agreement without failures");
    if (comm.rank() == victim)
        kill(getpid(), SIGKILL);
    use_until_failure(comm);
    if (comm.rank() == 0)
        comm.revoke();
    rcx::comm fresh = comm.shrink(limit);
    expect(comm.failed() == std::vector<int>{victim}, "the failed ranks");
    expect(members(comm, fresh) == all - (1 << victim), "the ranks that live");
    expect(fresh.agree(~mine, limit) == (~all | (1 << victim)),
           "an agreement of the ranks that live");
    expect(fresh.failed().empty(), "no further failure");
    return 0;
} catch (const rcx::error &e) {
    std::printf("%s\n", e.what());
    return 1;
}
