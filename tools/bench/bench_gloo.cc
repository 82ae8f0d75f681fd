/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop over Gloo, tcp over the loopback interface: bench_gloo -n 2
 *
 * The options of a collective are kept from call to call, so that its buffers
 * are registered once: Gloo at its best.
 */
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "loop.h"
#include "ranks.h"

namespace
{

const struct ranks *my_ranks;
std::shared_ptr<gloo::rendezvous::Context> context;
std::unique_ptr<gloo::AllreduceOptions> options;
std::unique_ptr<gloo::BarrierOptions> barrier_options;

/* what options were made for */
const float *options_in;
float *options_out;
size_t options_count;

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
        barrier_options = std::make_unique<gloo::BarrierOptions>(context);
    });
}

int allreduce(const float *in, float *out, size_t count)
{
    return guarded("allreduce", [=] {
        if (!options || in != options_in || out != options_out ||
            count != options_count) {
            void (*sum)(void *, const void *, const void *, size_t) =
                &gloo::sum<float>;

            options = std::make_unique<gloo::AllreduceOptions>(context);
            options->setInput(const_cast<float *>(in), count);
            options->setOutput(out, count);
            options->setReduceFunction(sum);
            options_in = in;
            options_out = out;
            options_count = count;
        }
        gloo::allreduce(*options);
    });
}

int barrier()
{
    return guarded("barrier", [] { gloo::barrier(*barrier_options); });
}

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
        gloo::barrier(*barrier_options);
        options.reset();
        barrier_options.reset();
        context.reset();
    });
}

int run(int argc, char **argv, const struct ranks *ranks)
{
    const struct loop_peer peer = {init, allreduce, barrier, rank,
                                   size, version,   finalize};

    my_ranks = ranks;
    return loop_main(argc, argv, &peer);
}

} // namespace

int main(int argc, char **argv)
{
    return ranks_fork(argc, argv, run);
}
