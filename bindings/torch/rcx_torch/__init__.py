# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over RCX.

    import rcx_torch
    torch.distributed.init_process_group("rcx")                          # torchrun, mp.spawn
    torch.distributed.init_process_group("rcx", init_method="rcx://")    # srun, rcxrun, ...

With "rcx://", processes find each other through the PMIx server of their launcher. No
address, port or RANK is needed.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from torch.distributed.rendezvous import register_rendezvous_handler

from . import _C

__version__: str = _C.version()

# PyTorch 2.1 and later have a second kind of TCPStore (libuv), which Debian's build lacks
_PLAIN_STORE: dict[str, Any] = {} if torch.__version__ < "2.1" else {"use_libuv": False}


def _rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = timedelta(minutes=30),
    **_: Any,
) -> Iterator[tuple[torch.distributed.Store, int, int]]:
    """Yield (store, rank, size) for a job started by a launcher.

    Rank 0 creates the store, and broadcasts its address through RCX. Raises ValueError if
    rank or world_size are given and differ from the launcher's.
    """
    job = _C.Job(timeout)
    if rank not in (-1, job.rank) or world_size not in (-1, job.size):
        raise ValueError(f"{url}: this is rank {job.rank} of {job.size}, not {rank} of"
                         f" {world_size}")
    here = socket.gethostname()
    if job.rank == 0:
        store = torch.distributed.TCPStore("localhost", 0, job.size, True, timeout,
                                           wait_for_workers=False, **_PLAIN_STORE)
        job.bcast(f"{here} {store.port}")
    else:
        host, port = job.bcast("").split()
        store = torch.distributed.TCPStore("localhost" if host == here else host, int(port),
                                           job.size, False, timeout, **_PLAIN_STORE)
    yield store, job.rank, job.size


register_rendezvous_handler("rcx", _rendezvous)
if torch.__version__ < "2":
    torch.distributed.Backend.register_backend("rcx", _C.create, extended_api=True)
else:
    torch.distributed.Backend.register_backend("rcx", _C.create, extended_api=True,
                                               devices=["cpu"])
