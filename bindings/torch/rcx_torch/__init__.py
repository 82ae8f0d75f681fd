# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over RCX.

    import rcx_torch
    torch.distributed.init_process_group("rcx")                          # torchrun, mp.spawn
    torch.distributed.init_process_group("rcx", init_method="rcx://")    # srun, rcxrun, ...

With "rcx://", processes find each other through the PMIx server of their launcher. No
address, port or RANK is needed.

`all_reduce_()` sums tensors without torch.distributed, with the latency of RCX in C.
`dump_flight_recorder()` writes the last operations for PyTorch's analyser of hangs.

After a failure, `shrink()` goes on with the processes that live, and `reconfigure()` with
other processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from torch.distributed.rendezvous import register_rendezvous_handler

from . import _C
from ._C import ExcludedError
from ._direct import Comm, all_reduce_, empty, finalize, init
from ._flight_recorder import dump_flight_recorder, flight_recorder_json
from ._recovery import abort, agree, failed, new_store, reconfigure, shrink

__version__: str = _C.version()
__all__ = ["Comm", "ExcludedError", "abort", "agree", "all_reduce_", "dump_flight_recorder", "empty",
           "failed", "finalize", "flight_recorder_json", "init", "reconfigure", "shrink"]


def _rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = timedelta(minutes=30),
    **_: Any,
) -> Iterator[tuple[torch.distributed.Store, int, int]]:
    """Yield (store, rank, size) for a job started by a launcher. Raises ValueError if rank or
    world_size are given and differ from the launcher's."""
    job = _C.Job.over_pmix(timeout)
    if rank not in (-1, job.rank) or world_size not in (-1, job.size):
        raise ValueError(f"{url}: this is rank {job.rank} of {job.size}, not {rank} of"
                         f" {world_size}")
    job.become_world()
    yield new_store(job, timeout), job.rank, job.size


register_rendezvous_handler("rcx", _rendezvous)
if torch.__version__ < "2":
    torch.distributed.Backend.register_backend("rcx", _C.create, extended_api=True)
else:
    torch.distributed.Backend.register_backend("rcx", _C.create, extended_api=True,
                                               devices=["cpu"])
