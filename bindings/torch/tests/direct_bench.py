# SPDX-License-Identifier: BSD-3-Clause
"""Time rcx_torch.all_reduce_() beside RCX in C and Gloo, in turns: direct_bench.py [ROUNDS [CALLS]]

    rcxrun -n 2 python3 direct_bench.py 21

Each rank is bound to a core. The columns are medians of all rounds, in us: the mean time of up
to CALLS (2000) calls, on the slowest rank. C is a loop of rcx_allreduce() on the same tensor;
memory is rcx_torch.empty(); float accumulates in float.
"""

import os
import statistics
import sys
import time

import rcx_torch
import torch
import torch.distributed as dist

SIZES = (8, 4 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20)
TYPES = (torch.float32, torch.bfloat16, torch.float16)


def mean_of(call, times):
    """Return the seconds of one of so many calls."""
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times


def ways_of(comm, size, dtype, gloo):
    """Return functions that take a number of calls, and return the seconds of one."""
    count = max(size // torch.zeros(1, dtype=dtype).element_size(), 1)
    x, y = torch.zeros(count, dtype=dtype), rcx_torch.empty([count], dtype)
    y.zero_()
    all_reduce_ = rcx_torch.all_reduce_
    ways = {
        "C": lambda n: comm._time(x, "", n),  # pylint: disable=protected-access
        "Python": lambda n: mean_of(lambda: all_reduce_(x), n),
        "C, memory": lambda n: comm._time(y, "", n),  # pylint: disable=protected-access
        "Python, memory": lambda n: mean_of(lambda: all_reduce_(y), n),
    }
    if dtype != torch.float32:
        ways["float"] = lambda n: mean_of(lambda: all_reduce_(x, accumulate="float"), n)
    if gloo and dtype != torch.bfloat16:  # which Gloo of PyTorch 1.13 does not sum
        ways["Gloo"] = lambda n: mean_of(lambda: dist.all_reduce(x, group=gloo), max(3, n // 20))
    return ways


def main(rounds, calls):
    """Print a row for each type and size."""
    torch.set_num_threads(1)
    comm = rcx_torch.init()
    dist.init_process_group("rcx", init_method="rcx://")
    gloo = dist.new_group(backend="gloo")
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[comm.rank % len(cores)]})
    for dtype in TYPES:
        for size in SIZES:
            ways = ways_of(comm, size, dtype, gloo)
            times = max(20, min(calls, (64 << 20) // (size + (32 << 10))))
            taken = {name: [] for name in ways}
            for _ in range(rounds):
                for name, way in ways.items():
                    way(5)
                    mean = torch.tensor([way(times)], dtype=torch.float64)
                    taken[name].append(rcx_torch.all_reduce_(mean, "max").item())
            if comm.rank == 0:
                print(f"{str(dtype)[6:]:9}{size:9}", *(
                    f"{name} {statistics.median(all_of) * 1e6:.2f}"
                    for name, all_of in taken.items()), sep="  ", flush=True)
    dist.destroy_process_group()


main(*map(int, sys.argv[1:] + ["11", "2000"][len(sys.argv) - 1:]))
