/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a job that calls every function of rcx.hpp in its three forms,
 * and compares the results with those of serial loops. Success: exit status 0,
 * and nothing is printed. */
#include <rcx/rcx.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

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
    const rcx::comm node = world.split_node();
    expect(node.size() == size && world.node_of(size - 1) == 0, "one node", 0);
}
} // namespace

int main()
{
    rcx::context context;
    const rcx::comm world = context.world();

    rank = world.rank();
    size = world.size();
    try_reductions(world);
    try_exact(world);
    try_scatters(world);
    try_gathers(world);
    try_exchanges(world);
    try_messages(world);
    try_errors(world);
    try_ops(context);
    try_groups(world);
    return 0;
}
