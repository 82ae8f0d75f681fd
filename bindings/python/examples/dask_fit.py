# SPDX-License-Identifier: BSD-3-Clause
"""Fit a linear and a logistic model to data on the workers of a Dask cluster.

    python3 dask_fit.py                          4 workers on this machine
    python3 dask_fit.py tcp://scheduler:8786     the workers of a cluster
"""

import sys

import numpy
import rcx.dask
from distributed import Client, LocalCluster

ROWS, SLOPES, STEPS = 5_000, 6, 12


def rows(part):
    """Return the rows of a part of the data: x, a measured y, and a label."""
    random = numpy.random.default_rng(part)
    x = random.normal(size=(ROWS, SLOPES))
    y = x @ numpy.arange(1.0, SLOPES + 1)
    return x, y + random.normal(size=ROWS), (y > random.logistic(size=ROWS)).astype(float)


def linear(comm, data):
    """Least squares: the sum of the normal equations over all ranks, solved on each."""
    x, y, _ = data
    equations = numpy.column_stack((x.T @ x, x.T @ y))
    comm.allreduce(equations)
    return numpy.linalg.solve(equations[:, :-1], equations[:, -1])


def newton(data, slopes):
    """Return the matrix and the gradient of a step of Newton's, of some rows."""
    x, _, label = data
    chance = 1 / (1 + numpy.exp(-x @ slopes))
    matrix = x.T @ (x * (chance * (1 - chance))[:, None])
    return numpy.column_stack((matrix, x.T @ (label - chance)))


def logistic(comm, data):
    """Maximum likelihood: each step sums over all ranks."""
    slopes = numpy.zeros(SLOPES)
    for _ in range(STEPS):
        step = newton(data, slopes)
        comm.allreduce(step)
        slopes += numpy.linalg.solve(step[:, :-1], step[:, -1])
    return slopes


def alone(parts):
    """The same two models by NumPy on one process that has all rows."""
    data = [numpy.concatenate(some) for some in zip(*map(rows, parts))]
    slopes = numpy.zeros(SLOPES)
    for _ in range(STEPS):
        step = newton(data, slopes)
        slopes += numpy.linalg.solve(step[:, :-1], step[:, -1])
    return numpy.linalg.lstsq(data[0], data[1], rcond=None)[0], slopes


def main(client):
    """Fit, and compare."""
    with rcx.dask.Comms(client) as comms:
        parts = range(comms.size)
        data = [client.submit(rows, part, workers=[worker])  # stays on its worker
                for part, worker in zip(parts, comms.workers)]
        found = [comms.run(fit, data) for fit in (linear, logistic)]
    for name, slopes, expected in zip(("linear", "logistic"), found, alone(parts)):
        same = all((other == slopes[0]).all() for other in slopes)
        print(f"{len(slopes)} workers: {name} {slopes[0].round(2)}, off NumPy's by"
              f" {abs(slopes[0] - expected).max():.0e}, {'equal' if same else 'not equal'} on all")


if __name__ == "__main__":
    if sys.argv[1:]:
        with Client(sys.argv[1]) as its_client:
            main(its_client)
    else:
        with LocalCluster(n_workers=4, threads_per_worker=1, protocol="tcp://",
                          dashboard_address=None) as cluster, Client(cluster) as its_client:
            main(its_client)
