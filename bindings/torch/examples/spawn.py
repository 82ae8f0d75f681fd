# SPDX-License-Identifier: BSD-3-Clause
"""Start processes by torch.multiprocessing, without a launcher: fit a line by gradient descent.

    python3 spawn.py [RANKS]
"""

import sys
import tempfile

import rcx_torch  # noqa: F401  # registers the backend
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ROWS, STEPS = 1200, 100


def fit(rank, size, folder):
    """Each rank has every size-th row; the gradient is summed over all ranks."""
    torch.set_num_threads(1)
    dist.init_process_group("rcx", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    x = torch.linspace(-1, 1, ROWS, dtype=torch.float64)
    rows = torch.stack((torch.ones_like(x), x), 1)[rank::size]
    y = rows @ torch.tensor([2.0, 3.0], dtype=torch.float64)
    line = torch.zeros(2, dtype=torch.float64)
    for _ in range(STEPS):
        gradient = rows.T @ (rows @ line - y) / ROWS
        dist.all_reduce(gradient)
        line -= gradient
    if rank == 0:
        print(f"{size} ranks: {line[0]:.6f} + {line[1]:.6f} x")
    dist.destroy_process_group()


if __name__ == "__main__":
    ranks = int(sys.argv[1]) if sys.argv[1:] else 4
    with tempfile.TemporaryDirectory() as its_folder:
        mp.spawn(fit, (ranks, its_folder), nprocs=ranks)
