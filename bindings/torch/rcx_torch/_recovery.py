# SPDX-License-Identifier: BSD-3-Clause
"""Recovery after failures, and worlds of other members, in the same processes."""

from __future__ import annotations

import secrets
import socket
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from . import _C

def group_of(group: Any = None) -> _C.Group:
    """Return RCX's object of a process group; None: of the world."""
    group = dist.group.WORLD if group is None else group
    if group is None:
        raise RuntimeError("rcx: there is no process group: call init_process_group() first")
    if torch.__version__ >= "2":
        group = group._get_backend(torch.device("cpu"))
    if not isinstance(group, _C.Group):
        raise TypeError("rcx: the process group is one of another backend")
    return group


def _open_store(host: str, port: int, secret: str,
                timeout: timedelta) -> tuple[dist.Store, int]:
    """Return the store at host and port, and the port. Port 0: a new one, which this process
    serves."""
    if torch.__version__ < "2.1":
        from ._store import open_store  # pylint: disable=import-outside-toplevel
        return open_store(host, port, secret, timeout)
    # Debian's build lacks the second kind of TCPStore (libuv)
    options: dict[str, Any] = {"use_libuv": False}
    store = dist.TCPStore(host, port, None, port == 0, timeout, wait_for_workers=False, **options)
    return store, store.port


def new_store(job: _C.Job, timeout: timedelta) -> dist.Store:
    """Return a store that the processes of job share. Rank 0 serves it, and broadcasts its
    address through RCX. If rank 0 dies, calls of the others raise RuntimeError."""
    here = socket.gethostname()
    if job.rank == 0:
        secret = secrets.token_hex(16)
        try:
            store, port = _open_store("localhost", 0, secret, timeout)
        except Exception:
            job.bcast("", timeout)
            raise
        job.bcast(f"{here} {port} {secret}", timeout)
        return store
    address = job.bcast("", timeout)
    if not address:
        raise RuntimeError("rcx: rank 0 could not create a store")
    host, number, secret = address.split()
    return _open_store("localhost" if host == here else host, int(number), secret, timeout)[0]


def abort(group: Any = None) -> None:
    """End the operations of the group, on all its ranks, with an exception. The group has
    failed then. None: the world's.

    A rank that leaves the loop of the others calls it, so that they do not wait: then all
    call `shrink()`.
    """
    group_of(group).abort()


def agree(flags: int, group: Any = None, timeout: timedelta | None = None) -> int:
    """Return the bitwise AND of the flags, of 64 bits, of the ranks that took part: the same
    value on all ranks, whatever fails meanwhile. All ranks of the group that live call it; the
    group may have failed. None: the world's, and its timeout.

    Raises ExcludedError if the others have agreed that this rank has failed.
    """
    found = group_of(group)
    return _C.Job.of_group(found).agree(flags, timeout or found.timeout)


def failed(group: Any = None) -> list[int]:
    """Return the ranks of the group that have failed by the last `agree()`: the same on all
    ranks."""
    return _C.Job.of_group(group_of(group)).failed()


def shrink(timeout: timedelta | None = None) -> list[int]:
    """Replace the world by one of the processes that live, in the order of their ranks. All of
    them call it, usually after an exception; operations that are in progress in any group of
    the world end with an exception on all ranks. Groups of some ranks, and objects that hold a
    process group, such as DistributedDataParallel, are to be created again.

    Returns the ranks of the previous world that have failed: the same list on all ranks.

    timeout: of each step, the same on all ranks; None: that of the world. A rank that is not
    found dead, but does not call within a quarter of it, is taken for failed.

    Raises ExcludedError if the others have agreed that this rank has failed: the process ends,
    or enters a new world by `reconfigure()`. After another exception, such as a timeout,
    `shrink()` may be called again.
    """
    world = group_of()
    limit, usual = timeout or world.timeout, world.timeout
    job = _C.Job.of_group(world)
    everyone = range(job.size)
    members = list(everyone)
    while True:
        job.abort_all()
        shrunk = job.shrink(limit)
        dead = job.failed()
        members = [member for rank, member in enumerate(members) if rank not in dead]
        job = shrunk
        # all ranks go on with this world, or all shrink again
        try:
            store = new_store(job, limit)
        except RuntimeError:
            store = None
        if not _agreed(job, store is not None, limit):
            continue
        _make_world(job, store, limit, usual)
        if _agreed(job, True, limit):
            return [member for member in everyone if member not in members]


def _agreed(job: _C.Job, is_good: bool, limit: timedelta) -> bool:
    """Return whether all ranks of job live and have is_good: the same on all ranks."""
    return bool(job.agree(int(is_good), limit)) and not job.failed()


def reconfigure(store: dist.Store, rank: int, world_size: int,
                timeout: timedelta | None = None) -> None:
    """Replace the world by one of world_size processes, of which this one gets rank: a process
    without a world enters, and one that is not among them is left out. All of them call it
    with the same store, which no other world uses or has used: `dist.PrefixStore` makes one of
    it for each. The processes of the previous world that are left out get exceptions.

    timeout: None: that of the world, or 30 minutes. If not all processes have come by then, it
    raises RuntimeError, and the previous world is as it was. If one dies after that, the
    processes may call `shrink()`.
    """
    known = dist.is_initialized()
    usual = group_of().timeout if known else timeout or timedelta(minutes=30)
    limit = timeout or usual
    if store.add(f"rank {rank}", 1) != 1:
        raise RuntimeError(f"rcx: rank {rank} of another world has used this store already")
    job = _C.Job.over_store(dist.PrefixStore("members", store), rank, world_size, limit)
    # all processes replace their world, or none
    if not _agreed(job, True, limit):
        raise RuntimeError(f"rcx: rank(s) {job.failed()} have failed during reconfigure()")
    if known:
        abort()
    _make_world(job, dist.PrefixStore("world", store), limit, usual)


def _make_world(job: _C.Job, store: dist.Store, limit: timedelta, usual: timedelta) -> None:
    """Replace the world by job. limit: of this function; usual: the timeout of operations.

    PyTorch's barrier over the store is left out: it does not find deaths, and would wait for
    the timeout. All ranks of job have agreed on the store, or do so afterwards.
    """
    backend = "rcx"
    if dist.is_initialized():
        if torch.__version__ >= "2":
            backend = str(dist.get_backend_config())
        dist.destroy_process_group()
    job.become_world()
    c10d: Any = dist.distributed_c10d
    barrier = getattr(c10d, "_store_based_barrier", None)
    c10d._store_based_barrier = lambda *_arguments, **_named: None
    try:
        dist.init_process_group(backend, store=store, rank=job.rank, world_size=job.size,
                                timeout=limit)
    finally:
        c10d._store_based_barrier = barrier
    group_of().set_timeout(usual)
