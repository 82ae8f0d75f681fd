# SPDX-License-Identifier: BSD-3-Clause
"""Time all_reduce of gradient buckets, with rcx and gloo in turns: bucket.py [ROUNDS]

    rcxrun -n 2 python3 bucket.py 21
"""

import statistics
import sys
import time

import rcx_torch  # noqa: F401
import torch
import torch.distributed as dist

SIZES = (4 << 10, 256 << 10, 25 << 20)


def measure(group, x, times):
    """Return the seconds of a call: the maximum over all ranks of the mean of times calls."""
    dist.barrier(group=group)
    begin = time.perf_counter()
    for _ in range(times):
        dist.all_reduce(x, group=group)
    taken = torch.tensor((time.perf_counter() - begin) / times)
    dist.all_reduce(taken, dist.ReduceOp.MAX)
    return taken.item()


def main(rounds):
    """Print the medians of all rounds."""
    torch.set_num_threads(1)
    dist.init_process_group("rcx", init_method="rcx://")
    groups = {"rcx": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    for size in SIZES:
        x = torch.zeros(size // 4)
        times = max(3, min(300, (64 << 20) // (size + (64 << 10))))
        taken = {name: [] for name in groups}
        for _ in range(rounds):
            for name, group in groups.items():
                taken[name].append(measure(group, x, times))
        median = {name: statistics.median(values) * 1e6 for name, values in taken.items()}
        if dist.get_rank() == 0:
            print(f"{size:9} bytes: rcx {median['rcx']:10.1f} us, gloo"
                  f" {median['gloo']:10.1f} us, {median['rcx'] / median['gloo']:.2f}")
    dist.destroy_process_group()


main(int(sys.argv[1]) if sys.argv[1:] else 11)
