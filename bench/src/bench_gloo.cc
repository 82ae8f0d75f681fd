/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop over Gloo, tcp over the loopback interface: bench_gloo -n 2
 *
 * A Gloo of January 2026 has an allreduce in shared memory, which it chooses by
 * itself if all ranks are on one host.
 *
 * The options of each collective are kept from call to call, so that its
 * buffers are registered once: Gloo at its best.
 */
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#if __has_include(<gloo/gatherv.h>)
#include <gloo/gatherv.h>
#define HAS_GATHERV
#endif

#include "loop.h"
#include "ranks.h"

namespace
{

const struct ranks *my_ranks;
std::shared_ptr<gloo::rendezvous::Context> context;

/* what is kept of a collective, and what it was made for */
struct kept {
    std::function<void()> run;
    const float *in;
    float *out;
    size_t count;
} all_kept[LOOP_COLLS], kept_vectors[LOOP_VECTORS];

template <typename F> int guarded(const char *what, F f)
{
    try {
        f();
        return 0;
    } catch (const std::exception &e) {
        fprintf(stderr, "bench_gloo: %s: %s\n", what, e.what());
        return 1;
    }
}

/* Gloo took a reference to a store until 2023, and shares it since. */
template <typename Context>
auto connect(Context &c, std::shared_ptr<gloo::rendezvous::FileStore> store,
             std::shared_ptr<gloo::transport::Device> device)
    -> decltype(c.connectFullMesh(store, device))
{
    c.connectFullMesh(store, device);
}

template <typename Context>
auto connect(Context &c, std::shared_ptr<gloo::rendezvous::FileStore> store,
             std::shared_ptr<gloo::transport::Device> device)
    -> decltype(c.connectFullMesh(*store, device))
{
    c.connectFullMesh(*store, device);
}

int init(int *, char ***)
{
    return guarded("init", [] {
        gloo::transport::tcp::attr attr;
        /* becomes part of the names of its shared memory, where it has any */
        setenv("MASTER_PORT", strrchr(my_ranks->directory, '/') + 1, 1);
        const char *interface = getenv("BENCH_INTERFACE");

        attr.iface = interface ? interface : "lo";
        auto device = gloo::transport::tcp::CreateDevice(attr);
        auto store =
            std::make_shared<gloo::rendezvous::FileStore>(my_ranks->directory);

        context = std::make_shared<gloo::rendezvous::Context>(my_ranks->rank,
                                                              my_ranks->size);
        connect(*context, store, device);
    });
}

/* ---- Collectives: options, and their function ---------------------------- */

float *in_of(const struct loop_call *c)
{
    return const_cast<float *>(c->in);
}

bool is_root()
{
    return context->rank == 0;
}

template <typename T> std::vector<T> counts_of(const struct loop_call *c)
{
    return std::vector<T>(c->counts, c->counts + context->size);
}

template <typename Options> void set_sum(Options &options)
{
    void (*sum)(void *, const void *, const void *, size_t) = &gloo::sum<float>;

    options.setReduceFunction(sum);
}

/* The input and the output, where all ranks have both. */
template <typename Options>
void set_both(Options &options, const struct loop_call *c)
{
    options.setInput(in_of(c), c->in_count);
    options.setOutput(c->out, c->out_count);
}

void set(gloo::AllreduceOptions &options, const struct loop_call *c)
{
    set_both(options, c);
    set_sum(options);
}

void set(gloo::ReduceOptions &options, const struct loop_call *c)
{
    set_both(options, c);
    set_sum(options);
    options.setRoot(0);
}

void set(gloo::BarrierOptions &, const struct loop_call *)
{
}

void set(gloo::BroadcastOptions &options, const struct loop_call *c)
{
    if (is_root())
        options.setInput(in_of(c), c->in_count);
    options.setOutput(c->out, c->out_count);
    options.setRoot(0);
}

void set(gloo::GatherOptions &options, const struct loop_call *c)
{
    options.setInput(in_of(c), c->in_count);
    if (is_root())
        options.setOutput(c->out, c->out_count);
    options.setRoot(0);
}

#ifdef HAS_GATHERV
void set(gloo::GathervOptions &options, const struct loop_call *c)
{
    options.setInput(in_of(c), c->in_count);
    if (is_root())
        options.setOutput(c->out, counts_of<size_t>(c));
    options.setRoot(0);
}
#endif

void set(gloo::ScatterOptions &options, const struct loop_call *c)
{
    std::vector<float *> blocks;

    for (int i = 0; i < context->size; i++)
        blocks.push_back(in_of(c) + c->displs[i]);
    if (is_root())
        options.setInputs(blocks, c->count);
    options.setOutput(c->out, c->out_count);
    options.setRoot(0);
}

void set(gloo::AllgatherOptions &options, const struct loop_call *c)
{
    set_both(options, c);
}

void set(gloo::AllgathervOptions &options, const struct loop_call *c)
{
    options.setInput(in_of(c), c->in_count);
    options.setOutput(c->out, counts_of<size_t>(c));
}

void set(gloo::AlltoallOptions &options, const struct loop_call *c)
{
    set_both(options, c);
}

void set(gloo::AlltoallvOptions &options, const struct loop_call *c)
{
    options.setInput(in_of(c), counts_of<int64_t>(c));
    options.setOutput(c->out, counts_of<int64_t>(c));
}

/* the one that takes its options as constant */
void allreduce(gloo::AllreduceOptions &options)
{
    gloo::allreduce(options);
}

/* Run what is kept for c, which make() makes where there is none yet. */
template <typename Make>
void run_kept(struct kept &k, const struct loop_call *c, Make make)
{
    if (!k.run || c->in != k.in || c->out != k.out || c->count != k.count)
        k = {make(c), c->in, c->out, c->count};
    k.run();
}

template <typename Options, void (*function)(Options &)>
std::function<void()> by_options(const struct loop_call *c)
{
    auto options = std::make_shared<Options>(context);

    set(*options, c);
    return [options] { function(*options); };
}

template <typename Options, void (*function)(Options &)>
int call(const struct loop_call *c)
{
    return guarded("collective", [=] {
        run_kept(all_kept[c->coll], c, by_options<Options, function>);
    });
}

/* Gloo has no list, nor operations at once: one after another. */
int call_many(const struct loop_call *c)
{
    return guarded("allreduce_many", [=] {
        for (size_t i = 0; i < c->n; i++) {
            struct loop_call one = {};

            one.in = c->ins[i];
            one.out = c->outs[i];
            one.count = one.in_count = one.out_count = c->count;
            run_kept(kept_vectors[i], &one,
                     by_options<gloo::AllreduceOptions, allreduce>);
        }
    });
}

/* In place, and over the operand, so a copy of it is given. */
std::function<void()> by_halving(const struct loop_call *c)
{
    using algorithm = gloo::ReduceScatterHalvingDoubling<float>;
    const float *in = c->in;
    float *out = c->out;
    const size_t given = c->in_count, gotten = c->out_count;
    auto copy = std::make_shared<std::vector<float>>(given);
    auto scatter =
        std::make_shared<algorithm>(context, std::vector<float *>{copy->data()},
                                    static_cast<int>(given), counts_of<int>(c));

    return [=] {
        std::copy(in, in + given, copy->begin());
        scatter->run();
        std::copy(copy->begin(), copy->begin() + gotten, out);
    };
}

int call_reduce_scatter(const struct loop_call *c)
{
    return guarded("reduce_scatter",
                   [=] { run_kept(all_kept[c->coll], c, by_halving); });
}

std::function<void()> by_messages(const struct loop_call *c)
{
    const size_t bytes = c->count * sizeof(float);
    const int partner = c->partner;
    const bool first = c->sends_first;
    std::shared_ptr<gloo::transport::UnboundBuffer> in =
        context->createUnboundBuffer(in_of(c), bytes);
    std::shared_ptr<gloo::transport::UnboundBuffer> out =
        context->createUnboundBuffer(c->out, bytes);

    return [=] {
        /* any number that no collective has */
        const uint64_t slot = uint64_t(1) << 40;

        for (int turn = 0; turn < 2; turn++)
            if (first == (turn == 0)) {
                in->send(partner, slot);
                in->waitSend();
            } else {
                out->recv(partner, slot);
                out->waitRecv();
            }
    };
}

int call_sendrecv(const struct loop_call *c)
{
    return guarded("sendrecv",
                   [=] { run_kept(all_kept[c->coll], c, by_messages); });
}

/* ---- The peer ------------------------------------------------------------ */

int rank()
{
    return context->rank;
}

int size()
{
    return context->size;
}

const char *version()
{
    static char text[32];

    snprintf(text, sizeof(text), "Gloo %d.%d.%d", GLOO_VERSION_MAJOR,
             GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
    return text;
}

int finalize()
{
    return guarded("finalize", [] {
        gloo::BarrierOptions options(context);

        gloo::barrier(options);
        for (auto &k : all_kept)
            k.run = nullptr;
        for (auto &k : kept_vectors)
            k.run = nullptr;
        context.reset();
    });
}

int run(int argc, char **argv, const struct ranks *ranks)
{
    struct loop_peer peer = {init, {}, nullptr, rank, size, version, finalize};
    auto &colls = peer.colls;

    colls[LOOP_ALLREDUCE] = call<gloo::AllreduceOptions, allreduce>;
    colls[LOOP_REDUCE] = call<gloo::ReduceOptions, gloo::reduce>;
    colls[LOOP_BARRIER] = call<gloo::BarrierOptions, gloo::barrier>;
    colls[LOOP_BCAST] = call<gloo::BroadcastOptions, gloo::broadcast>;
    colls[LOOP_GATHER] = call<gloo::GatherOptions, gloo::gather>;
#ifdef HAS_GATHERV
    colls[LOOP_GATHERV] = call<gloo::GathervOptions, gloo::gatherv>;
#endif
    colls[LOOP_SCATTER] = call<gloo::ScatterOptions, gloo::scatter>;
    colls[LOOP_ALLGATHER] = call<gloo::AllgatherOptions, gloo::allgather>;
    colls[LOOP_ALLGATHERV] = call<gloo::AllgathervOptions, gloo::allgatherv>;
    colls[LOOP_ALLTOALL] = call<gloo::AlltoallOptions, gloo::alltoall>;
    colls[LOOP_ALLTOALLV] = call<gloo::AlltoallvOptions, gloo::alltoallv>;
    colls[LOOP_REDUCE_SCATTER] = call_reduce_scatter;
    colls[LOOP_REDUCE_SCATTER_BLOCK] = call_reduce_scatter;
    colls[LOOP_ALLREDUCE_MANY] = call_many;
    colls[LOOP_SENDRECV] = call_sendrecv;

    my_ranks = ranks;
    return loop_main(argc, argv, &peer);
}

} // namespace

int main(int argc, char **argv)
{
    return ranks_fork(argc, argv, run);
}
