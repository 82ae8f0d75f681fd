# SPDX-License-Identifier: BSD-3-Clause
"""Fits a line's slopes to data that lies on all ranks, by gradient descent.

    rcxrun -n 4 python3 fit.py
"""

import numpy
import rcx

ROWS, SLOPES, STEPS = 10_000, 8, 200


def main() -> None:
    """Every rank has rows of its own; the gradient is the mean of all."""
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
