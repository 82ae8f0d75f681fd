/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job that calls every function of rcx.hpp in its three forms,
 * and compares the results with those of serial loops. Success: exit status 0,
 * and nothing is printed. */
#include <rcx/rcx.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

#include <poll.h>

namespace
{
int rank, size;
using ints = std::vector<int>;

void expect(bool good, const char *what, int form)
{
    if (good)
        return;
    std::fprintf(stderr, "rank %d: %s, form %d\n", rank, what, form);
    std::exit(1);
}

/* element(): element i of the operand of rank of. sum_of(): the sum of elements
 * i of the ranks from to to - 1. */
int element(int of, int i)
{
    return 100 * of + i * i;
}

int sum_of(int i, int from, int to)
{
    int sum = 0;

    for (int r = from; r < to; r++)
        sum += element(r, i);
    return sum;
}

ints mine(int n, int from = 0)
{
    ints list(static_cast<std::size_t>(n));

    for (int i = 0; i < n; i++)
        list[static_cast<std::size_t>(i)] = element(rank, from + i);
    return list;
}

ints made(int n, const std::function<int(int)> &of)
{
    ints list(static_cast<std::size_t>(n));

    for (int i = 0; i < n; i++)
        list[static_cast<std::size_t>(i)] = of(i);
    return list;
}

/* Run an operation in each form, and the persistent one twice. prepare sets the
 * buffers, is_right checks them. */
template <class Prepare, class Call, class Begin, class Make, class Right>
void try_forms(const char *what, Prepare prepare, Call call, Begin begin,
               Make make, Right is_right)
{
    prepare();
    call();
    expect(is_right(), what, 0);
    prepare();
    {
        rcx::request r = begin();
        rcx::request moved = std::move(r);

        while (!moved.wait_for(std::chrono::milliseconds(1)))
            ;
    }
    expect(is_right(), what, 1);
    prepare();
    rcx::request again = make();
    for (int i = 0; i < 2; i++) {
        prepare();
        again.start();
        again.wait();
        expect(is_right(), what, 2);
    }
}

#define TRY(NAME, PREPARE, RIGHT, ...)                                         \
    try_forms(                                                                 \
        #NAME, [&] { PREPARE; }, [&] { rcx::NAME(__VA_ARGS__); },              \
        [&] { return rcx::i##NAME(__VA_ARGS__); },                             \
        [&] { return rcx::NAME##_init(__VA_ARGS__); }, [&] { return RIGHT; })

void try_reductions(const rcx::comm &c)
{
    enum { N = 5 };
    const ints in = mine(N),
               all = made(N, [](int i) { return sum_of(i, 0, size); });
    const ints before = made(N, [](int i) { return sum_of(i, 0, rank); });
    const ints with = made(N, [](int i) { return sum_of(i, 0, rank + 1); });
    const ints untouched(N, -1);
    const int root = size - 1;
    ints out(N);

    TRY(allreduce, out.assign(N, -1), out == all, in, out, rcx::sum, c);
    TRY(allreduce, out = in, out == all, out, rcx::sum, c);
    TRY(scan, out.assign(N, -1), out == with, in, out, rcx::sum, c);
    TRY(scan, out = in, out == with, out, rcx::sum, c);
    TRY(exscan, out.assign(N, -1), out == (rank ? before : untouched), in, out,
        rcx::sum, c);
    TRY(exscan, out = in, out == (rank ? before : in), out, rcx::sum, c);
    TRY(reduce, out.assign(N, -1), out == (rank == root ? all : untouched), in,
        out, rcx::sum, root, c);
}

/* The first and the last rank's numbers cancel; others have 1. */
void try_exact(const rcx::comm &c)
{
    const double mine = rank == 0 ? 1e30 : rank == size - 1 ? -1e30 : 1;
    const double sum = size == 1 ? mine : size - 2;
    const std::vector<double> in(3, mine);
    std::vector<double> out(3);

    TRY(allreduce, out.assign(3, -1), out == std::vector<double>(3, sum), in,
        out, rcx::sum_exact, c);
    TRY(allreduce, out.assign(3, -1), out == std::vector<double>(3, sum / size),
        in, out, rcx::avg_exact, c);
}

void try_scatters(const rcx::comm &c)
{
    enum { N = 2 };
    const ints in = mine(N * size);
    rcx::counts n(static_cast<std::size_t>(size));
    ints out(N), part, shares;
    int first = 0;

    TRY(reduce_scatter_block, out.assign(N, -1),
        out == made(N, [](int i) { return sum_of(rank * N + i, 0, size); }), in,
        out, rcx::sum, c);
    for (int r = 0; r < size; r++)
        n[static_cast<std::size_t>(r)] = static_cast<std::size_t>(r + 1);
    first = rank * (rank + 1) / 2;
    shares = mine(size * (size + 1) / 2);
    part.resize(static_cast<std::size_t>(rank + 1));
    TRY(reduce_scatter, part.assign(part.size(), -1),
        part ==
            made(rank + 1, [&](int i) { return sum_of(first + i, 0, size); }),
        shares, part, n, rcx::sum, c);
    TRY(scatter, out.assign(N, -1),
        out == made(N, [](int i) { return element(0, rank * N + i); }), in, out,
        0, c);
    TRY(scatterv, part.assign(part.size(), -1),
        part == made(rank + 1, [&](int i) { return element(0, first + i); }),
        shares, part, n, 0, c);
}

void try_gathers(const rcx::comm &c)
{
    enum { N = 3 };
    const ints in = mine(N), own = mine(rank + 1);
    const ints all =
        made(N * size, [](int i) { return element(i / N, i % N); });
    rcx::counts n;
    ints out(static_cast<std::size_t>(N * size)), unequal, wanted;

    for (int r = 0; r < size; r++) {
        n.push_back(static_cast<std::size_t>(r + 1));
        for (int i = 0; i <= r; i++)
            wanted.push_back(element(r, i));
    }
    unequal.resize(wanted.size());
    TRY(gather, out.assign(out.size(), -1), rank != 0 || out == all, in, out, 0,
        c);
    TRY(allgather, out.assign(out.size(), -1), out == all, in, out, c);
    TRY(allgather, std::ranges::copy(in, out.begin() + N * rank), out == all,
        out, c);
    TRY(gatherv, unequal.assign(unequal.size(), -1),
        rank != 0 || unequal == wanted, own, unequal, n, 0, c);
    TRY(allgatherv, unequal.assign(unequal.size(), -1), unequal == wanted, own,
        unequal, n, c);
}

void try_exchanges(const rcx::comm &c)
{
    const ints in = mine(2 * size);
    const ints turned =
        made(2 * size, [](int i) { return element(i / 2, 2 * rank + i % 2); });
    const rcx::counts two(static_cast<std::size_t>(size), 2);
    std::array<int, 4> word = {};
    ints out(in.size());

    TRY(alltoall, out.assign(out.size(), -1), out == turned, in, out, c);
    TRY(alltoall, out = in, out == turned, out, c);
    TRY(alltoallv, out.assign(out.size(), -1), out == turned, in, two, out, two,
        c);
    TRY(bcast, word.fill(rank), word[3] == size - 1, word, size - 1, c);
    TRY(barrier, , true, c);
}

/* In a ring, a rank gets rank + 1 elements from the right, and rank + 2 from the
 * left. With one or two ranks both neighbours are the same one. */
void try_neighbors(const rcx::comm &c)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    const rcx::neighbors dests = {left, right}, sources = {right, left};
    const auto length = [](int of, int more) {
        return static_cast<std::size_t>(of + more);
    };
    const rcx::counts sent = {length(left, 1), length(right, 2)};
    const rcx::counts got = {length(rank, 1), length(rank, 2)};
    const ints in = mine(left + right + 3);
    const ints wanted = made(2 * rank + 3, [&](int i) {
        return i <= rank ? element(right, i)
                         : element(left, (left + size - 1) % size + i - rank);
    });
    ints out(wanted.size());

    TRY(neighbor_alltoallv, out.assign(out.size(), -1), out == wanted, in,
        dests, sent, out, sources, got, c);
    TRY(neighbor_alltoallv, , true, ints(), {}, {}, ints(), {}, {}, c);
}

void try_messages(const rcx::comm &c)
{
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    const std::array<double, 2> word = {1.5 * rank, 2};
    std::array<double, 2> values = {};
    rcx::request sent = rcx::isend(word, next, 7, c);
    const rcx_recv_info_t info = rcx::recv(values, last, 7, c);

    sent.wait();
    {
        std::array<double, 1> alone = {0};
        const rcx::request unseen = rcx::iallreduce(alone, rcx::sum, c);
    } /* the destructor waits for it */
    expect(values[0] == 1.5 * last && info.source == last && info.tag == 7 &&
               info.count == 2,
           "a message", 0);
    rcx::request got = rcx::irecv(values, RCX_ANY_SOURCE, 8, c);
    rcx::send(std::span(word).first(1), next, 8, c);
    got.wait();
    expect(got.received().count == 1 && got.received().source == last,
           "a message of any source", 1);
}

template <class F> rcx_status_t status_of(F f)
{
    try {
        f();
        return RCX_OK;
    } catch (const rcx::error &e) {
        expect(*e.what() != '\0', "an error without words", 0);
        return e.status();
    }
}

void try_errors(const rcx::comm &c)
{
    std::vector<float> four(4), three(3);

    expect(status_of([&] { rcx::allreduce(four, three, rcx::sum, c); }) ==
               RCX_ERR_ARG,
           "other lengths", 0);
    expect(
        status_of([&] {
            rcx::neighbor_alltoallv(four, {rank}, {4, 0}, four, {rank}, {4}, c);
        }) == RCX_ERR_ARG,
        "a count without a neighbour", 0);
    expect(status_of([&] { rcx::allreduce(four, rcx::band, c); }) ==
               RCX_ERR_UNSUPPORTED,
           "an op that the type has not", 0);
    expect(status_of([&] { rcx::bcast(four, size, c); }) == RCX_ERR_ARG,
           "no root", 0);
    rcx::allreduce(four, rcx::sum, c); /* works after errors */
    {
        rcx::comm copy = c.dup();

        copy.abort();
        expect(status_of([&] { rcx::barrier(copy); }) == RCX_ERR_COMM_FAILED,
               "an aborted communicator", 0);
    }
}

/* An op that is not commutative: the later one of two colours. */
void try_ops(const rcx::context &context)
{
    const rcx::comm world = context.world();
    bool throws = false;
    auto later = rcx::make_op<int>(context, [&](int left, int right) {
        if (throws && rank == 0)
            throw std::out_of_range("no such colour");
        return right >= 0 ? right : left;
    });
    ints colours = {rank, -1 - rank, size - rank}, out(3);

    rcx::allreduce(colours, later, world);
    expect(colours == ints{size - 1, -1, 1}, "an op of one's own", 0);
    expect(!later.error(), "an op that did not throw", 0);
    throws = true;
    expect(status_of([&] { rcx::reduce(colours, out, later, 0, world); }) ==
               (size > 1 ? RCX_ERR_OP : RCX_OK),
           "an op that throws", 0);
    if (rank == 0 && size > 1) {
        try {
            std::rethrow_exception(later.error());
        } catch (const std::out_of_range &e) {
            expect(e.what() == std::string("no such colour"),
                   "the exception of the op", 0);
        }
    }
    expect(!later.error(), "the exception of the op, once", 0);
    throws = false;
    std::vector<double> other(3);
    expect(status_of([&] { rcx::allreduce(other, later, world); }) ==
               (size > 1 ? RCX_ERR_OP : RCX_OK),
           "an op of another type", 0);
    rcx::allreduce(colours, later, world); /* works after errors */
}

void try_groups(const rcx::comm &world)
{
    rcx::comm half = world.split(rank % 2, -rank);
    const rcx::comm none = world.split(rank ? 0 : RCX_UNDEFINED);
    std::vector<long> ranks = {rank};

    expect(static_cast<bool>(none) == (rank != 0), "split without a colour", 0);
    half.set_timeout(std::chrono::seconds(30));
    rcx::allreduce(ranks, rcx::max, half);
    expect(ranks[0] % 2 == rank % 2 && ranks[0] >= size - 2, "split", 0);
    expect(half.translate(std::vector<int>{0}, world)[0] == ranks[0],
           "translate", 0);
    expect(world.compare(world) == RCX_COMM_IDENT &&
               world.compare(world.dup()) == RCX_COMM_CONGRUENT &&
               (world.compare(half) == RCX_COMM_UNEQUAL || size == 1),
           "compare", 0);
    rcx::creation copying = world.idup(), splitting = world.isplit(rank % 2);
    rcx::creation nothing = world.isplit(RCX_UNDEFINED);
    const rcx::comm parity = splitting.get(), copy = copying.get();
    expect(world.compare(copy) == RCX_COMM_CONGRUENT && !nothing.get() &&
               parity.size() == (size + 1 - rank % 2) / 2,
           "creation", 0);
    world.idup(); /* is waited for, and freed */
    rcx::creation again = world.idup();
    again = world.idup(); /* so is the one before */
    expect(world.compare(again.get()) == RCX_COMM_CONGRUENT, "creation", 1);
    const rcx::comm node = world.split_node();
    expect(node.size() == size && world.node_of(size - 1) == 0, "one node", 0);
}
/* All floats of 16 bits: back and forth they stay what they are, and numbers
 * between two of them go to the nearest, ties to the even one. */
template <class H> void try_half(std::uint16_t infinity, rcx_datatype_t type)
{
    expect(rcx::datatype<H>::value == type, "the datatype of a half", 0);
    for (std::uint32_t i = 0; i < infinity; i++) {
        H low, high;

        low.bits = static_cast<std::uint16_t>(i);
        high.bits = static_cast<std::uint16_t>(i + 1);
        const float x = static_cast<float>(low), y = static_cast<float>(high);
        const float middle = x + (y - x) / 2;

        expect(H(x).bits == i && H(-x).bits == (i | 0x8000), "a half", 0);
        if (i + 1 == infinity)
            break;
        expect(x < y, "the order of halves", 0);
        expect(H(middle).bits == i + (i & 1), "a tie of halves", 0);
        expect(H(std::nextafter(middle, x)).bits == i &&
                   H(std::nextafter(middle, y)).bits == i + 1,
               "the rounding of a half", 0);
    }
    const H none(std::nanf("")), all(HUGE_VALF);

    expect(all.bits == infinity && std::isinf(static_cast<float>(all)) &&
               std::isnan(static_cast<float>(none)),
           "an infinity, a NaN", 0);
}

template <class H> void try_half_sum(const rcx::comm &world)
{
    std::vector<H> halves(5, H(0.5f + static_cast<float>(rank)));

    rcx::allreduce(halves, rcx::sum, world);
    expect(static_cast<float>(halves[4]) ==
               0.5f * static_cast<float>(size * size),
           "a sum of halves", 0);
}

void try_many(const rcx::comm &world)
{
    ints a = mine(3), b = mine(5), c(3), d(5);
    const ints sums = made(5, [](int i) { return sum_of(i, 0, size); });
    const std::vector<std::span<const int>> in = {a, b};
    const std::vector<std::span<int>> out = {c, d}, same = {a, b};
    const auto reset = [&] { /* in place, as spans refer to them */
                             std::ranges::copy(mine(3), a.begin());
                             std::ranges::copy(mine(5), b.begin());
    };
    const auto is_right = [&](const ints &x, const ints &y) {
        return std::equal(x.begin(), x.end(), sums.begin()) && y == sums;
    };

    rcx::allreduce_many<int>(in, out, rcx::sum, world);
    expect(is_right(c, d), "allreduce_many", 0);
    c.assign(3, 0);
    rcx::iallreduce_many<int>(in, out, rcx::sum, world).wait();
    expect(is_right(c, d), "allreduce_many", 1);
    d.assign(5, 0);
    rcx::request again =
        rcx::allreduce_many_init<int>(in, out, rcx::sum, world);
    again.start();
    again.wait();
    expect(is_right(c, d), "allreduce_many", 2);
    rcx::iallreduce_many<int>(same, rcx::sum, world).wait();
    expect(is_right(a, b), "allreduce_many in place", 1);
    reset();
    rcx::allreduce_many<int>(same, rcx::sum, world);
    expect(is_right(a, b), "allreduce_many in place", 0);
    reset();
    again = rcx::allreduce_many_init<int>(same, rcx::sum, world);
    again.start();
    again.wait();
    expect(is_right(a, b), "allreduce_many in place", 2);
    expect(status_of([&] {
               rcx::allreduce_many<int>({in.data(), 1}, out, rcx::sum, world);
           }) == RCX_ERR_ARG,
           "allreduce_many of other lengths", 0);
}

void try_memory(const rcx::comm &world)
{
    rcx::memory<int> block(world, 1000);
    std::vector<int, rcx::allocator<int>> list(7, rank, world);

    expect(block.size() == 1000 && block[999] == 0, "memory", 0);
    std::fill(block.begin(), block.end(), rank);
    rcx::allreduce(block, rcx::max, world);
    expect(block[999] == size - 1, "memory", 1);
    list.resize(100, rank);
    rcx::allreduce(list, rcx::sum, world);
    expect(list[99] == size * (size - 1) / 2, "the allocator", 0);
}

void try_requests(const rcx::comm &world)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const ints out = {rank};
    ints in = {-1}, other = {-1};
    std::vector<rcx::request> requests(3);
    rcx_recv_info_t info =
        rcx::sendrecv(out, right, 1, in, RCX_ANY_SOURCE, 1, world);

    expect(info.source == left && in[0] == left, "sendrecv", 0);
    expect(!rcx::iprobe(RCX_ANY_SOURCE, 9, world), "iprobe", 0);
    requests[0] = rcx::irecv(other, left, 3, world);
    requests[2] = rcx::irecv(in, left, 4, world);
    expect(!rcx::test_all(requests) && !rcx::test_any(requests), "test", 0);
    requests[0].cancel();
    expect(status_of([&] { rcx::wait_any(requests); }) == RCX_ERR_CANCELED,
           "cancel", 0);
    rcx::barrier(world); /* no message has been sent before */
    const rcx::request sent = rcx::isend(out, right, 2, world);
    requests[1] = rcx::isend(out, right, 4, world);
    const std::size_t first = rcx::wait_any(requests);
    expect(first + rcx::wait_any(requests) == 3, "wait_any", 0);
    expect(rcx::wait_any(requests) == 3, "wait_any", 1);
    expect(status_of([&] { rcx::test_all(requests); }) == RCX_ERR_CANCELED,
           "test_all", 0);
    std::optional<rcx_recv_info_t> found;
    while (!found)
        found = rcx::iprobe(RCX_ANY_SOURCE, 2, world);
    expect(found->source == left && found->count == sizeof(int), "iprobe", 1);
    rcx::recv(in, left, 2, world);
    expect(in[0] == left && other[0] == -1, "what was probed", 0);
}

/* Rank 0 waits for a receive that is cancelled, and for one whose message is sent
 * when rank 1 has the word that is sent last: all are complete when it throws. */
void try_wait_all(const rcx::comm &world)
{
    std::vector<rcx::request> requests(4);
    ints in = {-1}, never = {-1}, word = {5};

    if (rank == 1) {
        rcx::recv(in, 0, 6, world);
        rcx::send(in, 0, 7, world);
    }
    if (rank != 0 || size == 1)
        return;
    requests[0] = rcx::irecv(never, 1, 8, world);
    requests[1] = rcx::irecv(in, 1, 7, world);
    requests[0].cancel();
    requests[3] = rcx::isend(word, 1, 6, world);
    expect(status_of([&] { rcx::wait_all(requests); }) == RCX_ERR_CANCELED,
           "wait_all", 0);
    expect(requests[1].received().source == 1 && in[0] == 5, "wait_all", 1);
    expect(status_of([&] { rcx::test_all(requests); }) == RCX_ERR_CANCELED,
           "test_all", 1);
}

/* An event loop that sleeps on the descriptor. */
void try_sleep(rcx::context &context)
{
    std::vector<int> sum = {1};
    rcx::request request = rcx::iallreduce(sum, rcx::sum, context.world());
    struct pollfd at = {context.get_fd(), POLLIN, 0};

    while (context.progress(), !request.test())
        if (context.arm())
            poll(&at, 1, 1000);
    expect(sum[0] == size, "an event loop", 0);
}
} // namespace

int main()
{
    rcx_params_t params = {};

    params.field_mask = RCX_PARAM_WAKEUP;
    params.wakeup = 1;
    rcx::context context(&params);
    const rcx::comm world = context.world();

    rank = world.rank();
    size = world.size();
    try_reductions(world);
    try_exact(world);
    try_scatters(world);
    try_gathers(world);
    try_exchanges(world);
    try_neighbors(world);
    try_messages(world);
    try_errors(world);
    try_ops(context);
    try_groups(world);
    try_half<rcx::bfloat16>(0x7f80, RCX_BFLOAT16);
    try_half<rcx::float16>(0x7c00, RCX_FLOAT16);
    try_half_sum<rcx::bfloat16>(world);
    try_half_sum<rcx::float16>(world);
    try_many(world);
    try_memory(world);
    try_requests(world);
    try_wait_all(world);
    try_sleep(context);
    return 0;
}
