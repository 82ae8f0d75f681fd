/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop over Gloo, tcp over the loopback interface: bench_gloo -n 2
 *
 * The options of each collective are kept from call to call, so that its buffers
 * are registered once: Gloo at its best.
 */
#include <cstddef>
#include <cstdio>
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
} all_kept[LOOP_COLLS];

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

int init(int *, char ***)
{
    return guarded("init", [] {
        gloo::transport::tcp::attr attr;
        attr.iface = "lo";
        auto device = gloo::transport::tcp::CreateDevice(attr);
        gloo::rendezvous::FileStore store(my_ranks->directory);

        context = std::make_shared<gloo::rendezvous::Context>(my_ranks->rank,
                                                              my_ranks->size);
        context->connectFullMesh(store, device);
    });
}

/* ---- Collectives: options, and their function -------------------------- */

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

template <typename Options, void (*function)(Options &)>
int call(const struct loop_call *c)
{
    return guarded("collective", [=] {
        struct kept &k = all_kept[c->coll];

        if (!k.run || c->in != k.in || c->out != k.out || c->count != k.count) {
            auto options = std::make_shared<Options>(context);

            set(*options, c);
            k = {[options] { function(*options); }, c->in, c->out, c->count};
        }
        k.run();
    });
}

/* ---- The peer ----------------------------------------------------------- */

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
        context.reset();
    });
}

int run(int argc, char **argv, const struct ranks *ranks)
{
    struct loop_peer peer = {init, {}, rank, size, version, finalize};
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

    my_ranks = ranks;
    return loop_main(argc, argv, &peer);
}

} // namespace

int main(int argc, char **argv)
{
    return ranks_fork(argc, argv, run);
}
