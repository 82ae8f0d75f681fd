/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank has a list of measurements. Prints the mean and the standard
 * deviation of all of them. To be started with
 *
 *   rcxrun -n 4 average
 */
#include <rcx/rcx.hpp>

#include <array>
#include <cmath>
#include <cstdio>

int main()
try {
    rcx::context context;
    const rcx::comm world = context.world();
    std::array<double, 3> sums = {0, 0, 0}; /* count, sum, sum of squares */

    for (int i = 0; i <= world.rank(); i++) {
        const double value = 10 * world.rank() + i;

        sums[0] += 1;
        sums[1] += value;
        sums[2] += value * value;
    }
    rcx::allreduce(sums, rcx::sum, world);
    if (world.rank() == 0) {
        const double mean = sums[1] / sums[0];

        std::printf("%.0f values, mean %.3f, spread %.3f\n", sums[0], mean,
                    std::sqrt(sums[2] / sums[0] - mean * mean));
    }
    context.finalize();
    return 0;
} catch (const rcx::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
