# SPDX-License-Identifier: BSD-3-Clause
"""A worker of torchrun, which is restarted after a failure: elastic.py FOLDER [killed]

    torchrun --nnodes=1:2 --nproc_per_node=2 --max_restarts=3 --rdzv_backend=c10d \\
        --rdzv_endpoint=localhost:0 elastic.py FOLDER killed

Trains from the last checkpoint in FOLDER. With killed, a worker that has not begun from a
checkpoint is killed by SIGKILL; the others get an exception, and torchrun starts all of them
again.
"""

import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import rcx_torch  # noqa: F401
import torch
import torch.distributed as dist

STEPS, EVERY, KILLED_AT, BATCH = 30, 5, 12, 12


def main(folder, dies):
    """Fit a line. Each global batch is split by rank, so its gradient is the same for any
    number of workers."""
    torch.set_num_threads(1)
    dist.init_process_group("rcx", timeout=timedelta(seconds=30))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun's: this worker prints before it ends
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.linspace(-1, 1, BATCH, dtype=torch.float64)
    y = 3 * x + 1
    weights, begin = torch.zeros(2, dtype=torch.float64), 0
    checkpoint = folder / "checkpoint"
    if checkpoint.exists():
        weights, begin = torch.load(checkpoint)
    if rank == 0:
        print(f"{size} workers, from step {begin}", flush=True)
    for step in range(begin, STEPS):
        if dies and begin == 0 and step == KILLED_AT and rank == size - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        off = weights[0] * x[rank::size] + weights[1] - y[rank::size]
        gradient = torch.stack(((off * x[rank::size]).sum(), off.sum())) / BATCH
        try:
            dist.all_reduce(gradient)
        except RuntimeError as error:
            assert f"rank {size - 1}" in str(error), error
            print(f"step {step}: {type(error).__name__} in worker {rank}", flush=True)
            raise
        weights -= gradient
        if rank == 0 and (step + 1) % EVERY == 0:
            torch.save((weights, step + 1), folder / "new")
            (folder / "new").rename(checkpoint)
    if rank == 0:
        print(f"weights {weights[0]:.12f} {weights[1]:.12f}", flush=True)
    dist.destroy_process_group()


main(Path(sys.argv[1]), sys.argv[2:] == ["killed"])
