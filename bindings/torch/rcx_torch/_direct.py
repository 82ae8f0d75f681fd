# SPDX-License-Identifier: BSD-3-Clause
"""Reductions without torch.distributed, for programs that wait for each of them."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist

from . import _C
from ._C import Comm, all_reduce_

__all__ = ["Comm", "all_reduce_", "empty", "finalize", "init"]


def init(store: dist.Store | None = None, rank: int = 0, world_size: int = 1,
         timeout: timedelta = timedelta(minutes=30)) -> Comm:
    """Return the communicator of all processes, which `all_reduce_()` uses unless it gets
    another one. The first call opens it, and all processes make it together; later calls
    return the same. Without it the first `all_reduce_()` does so.

    Without a store the processes are those of the launcher (rcxrun, srun, prterun, mpirun), or
    of RCX_ROOT. With one they are world_size processes, of which this one is rank. The context
    is one of its own, beside that of torch.distributed.

    timeout: of this call and of all operations; `Comm.set_timeout()` sets another.
    """
    return _C.init_direct(store, rank, world_size, timeout)


def finalize() -> None:
    """Close what `init()` has opened, together with the other processes, once no other Comm is
    left. It waits 10 s at most. Done at exit as well. Tensors of `empty()` end with it."""
    _C.finalize_direct()


def empty(shape: Sequence[int], dtype: torch.dtype = torch.float32,
          comm: Comm | None = None) -> torch.Tensor:
    """Return a tensor in memory that the other processes of this node read where it is, so that
    reductions of 4 KB and more need neither copies nor system calls. All processes of comm call
    it together; the shapes may differ. Its content is undefined."""
    return (comm or init()).empty(list(shape), dtype)


atexit.register(finalize)
