# SPDX-License-Identifier: BSD-3-Clause
"""Fit the slopes of a linear model to data that are distributed over all ranks.

    rcxrun -n 4 python3 fit.py
"""

import numpy
import rcx

ROWS, SLOPES, STEPS = 10_000, 8, 200


def main() -> None:
    """Gradient descent. Each rank has its own rows; the gradient is the mean over all ranks."""
    with rcx.Context(timeout=60) as context:
        world = context.world
        random = numpy.random.default_rng(world.rank)
        truth = numpy.arange(1.0, SLOPES + 1)
        world.bcast(truth)
        x = random.normal(size=(ROWS, SLOPES))
        y = x @ truth + random.normal(scale=0.1, size=ROWS)

        found = numpy.zeros(SLOPES)
        gradient = numpy.empty(SLOPES)
        step = world.persistent.allreduce(gradient, op=rcx.AVG)
        for _ in range(STEPS):
            gradient[:] = x.T @ (x @ found - y) / ROWS
            step.start().wait()
            found -= 0.1 * gradient

        error = numpy.array([abs(found - truth).max()])
        world.allreduce(error, op=rcx.MAX)
        if world.rank == 0:
            print(f"{world.size} ranks: {found.round(2)}, off by {error[0]:.4f} at most")


main()
