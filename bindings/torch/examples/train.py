# SPDX-License-Identifier: BSD-3-Clause
"""Train a small network to distinguish two spirals, with DistributedDataParallel.

    rcxrun -n 4 python3 train.py                    or srun, prterun, mpirun
    torchrun --nproc_per_node 4 train.py
"""

import hashlib
import os
import sys

import rcx_torch  # noqa: F401  # registers the backend
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SAMPLES, STEPS = 960, 150


def spirals():
    """Return points on two arms, and the arm of each: the same on all ranks."""
    along = torch.linspace(0.25, 1.0, SAMPLES // 2, dtype=torch.float64)
    angle = 9 * along
    arm = torch.stack((along * torch.cos(angle), along * torch.sin(angle)), 1)
    labels = torch.cat((torch.zeros(SAMPLES // 2), torch.ones(SAMPLES // 2)))
    mixed = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(1))
    return torch.cat((arm, -arm))[mixed], labels.double()[mixed]


def main():
    """Train on every size-th sample, and print the result on rank 0."""
    torch.manual_seed(2)
    torch.set_num_threads(1)
    dist.init_process_group("rcx", init_method="env://" if "MASTER_ADDR" in os.environ
                            else "rcx://")
    rank, size = dist.get_rank(), dist.get_world_size()
    x, y = (part[rank::size] for part in spirals())

    width = 48
    net = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(2, width), torch.nn.Tanh(), torch.nn.Linear(width, width),
        torch.nn.Tanh(), torch.nn.Linear(width, 1)).double())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(STEPS):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    right = ((net(x).squeeze(1) > 0) == (y > 0.5)).sum()
    dist.all_reduce(right)
    weights = torch.cat([p.detach().flatten() for p in net.parameters()])
    digests = [None] * size
    dist.all_gather_object(digests, hashlib.sha256(weights.numpy().tobytes()).hexdigest())
    if rank == 0:
        print(f"{size} ranks: {right.item()} of {SAMPLES} right,"
              f" {len(set(digests))} set of parameters, norm {weights.norm():.9f}")
        if sys.argv[1:]:
            torch.save(weights, sys.argv[1])
    dist.destroy_process_group()


main()
