# SPDX-License-Identifier: BSD-3-Clause
"""Failures, timeouts, forks and restarts, in one world:

    ends.py [late] [differs] [loader] [killed] | again STORE
"""

import gc
import os
import signal
import sys
import time
import weakref
from datetime import timedelta

import numpy
import rcx_torch  # noqa: F401
import torch
import torch.distributed as dist


def killed(me):
    """Rank 1 is killed. The other ranks' calls raise errors that name it, in hooks and in
    waits. An operation that had started keeps its tensor alive, as RCX may read it."""
    group = dist.new_group(timeout=timedelta(seconds=8))
    array = numpy.ones(4, dtype=numpy.float32)
    kept = weakref.ref(array)
    if me != 1:
        work = dist.all_reduce(torch.from_numpy(array), group=group, async_op=True)
    del array
    dist.barrier()
    if me == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    future = dist.all_reduce(torch.ones(4), async_op=True).get_future()
    chained = future.then(lambda f: f.value())
    for call in (future.wait, chained.wait, lambda: dist.all_reduce(torch.ones(4)), work.wait,
                 lambda: dist.all_reduce(torch.ones(4), group=group)):
        try:
            call()
        except RuntimeError as error:
            assert "rank 1" in str(error), error
        else:
            raise AssertionError("no error")
    del work, call
    gc.collect()
    assert kept() is not None
    print("it was rank 1")


def late(me):
    """Rank 1 calls after the others' wait() has timed out. The operation still completes."""
    x = torch.ones(4)
    if me == 1:
        time.sleep(1)
    work = dist.all_reduce(x, async_op=True)
    try:
        while me != 1:
            work.wait(timedelta(milliseconds=50))
    except RuntimeError as error:
        assert "timed out" in str(error), error
    work.wait()
    assert (x == dist.get_world_size()).all()
    print("it came", flush=True)  # whole, and before a death


def differs(me):
    """Rank 1 has more elements than the others. With RCX_CHECK=full, all ranks raise an error,
    and the next call works."""
    try:
        dist.all_reduce(torch.ones(4 + (me == 1)))
    except RuntimeError as error:
        assert "count" in str(error), error
    else:
        raise AssertionError("no error")
    dist.barrier()
    print("they differ")


class Squares(torch.utils.data.Dataset):
    """Data for a loader with worker processes."""

    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.tensor(float(i * i))


def loader(_me):
    """Worker processes are forked, and end, while the group is in use."""
    total = torch.zeros(1)
    for _ in range(3):
        for batch in torch.utils.data.DataLoader(Squares(), batch_size=8, num_workers=2):
            total += batch.sum()
            dist.all_reduce(torch.ones(1000))
    dist.all_reduce(total)
    assert total.item() == 3 * dist.get_world_size() * sum(i * i for i in range(64))
    print("loaded", flush=True)


def memory():
    """Return the resident memory of this process in MiB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def again(me):
    """Create and destroy a hundred worlds, each with its own store. Nothing leaks."""
    p = dist.get_world_size()
    dist.destroy_process_group()
    for i in range(100):
        dist.init_process_group("rcx", init_method=f"file://{sys.argv[2]}{i}", rank=me,
                                world_size=p, timeout=timedelta(seconds=8))
        x = torch.full((5,), float(me + i))
        dist.all_reduce(x)
        assert (x == sum(range(p)) + i * p).all(), x
        dist.destroy_process_group()
        if i == 20:
            gc.collect()
            before = memory(), len(os.listdir("/proc/self/fd"))
    gc.collect()
    grown = memory() - before[0]
    assert grown < 40, f"{grown} MiB more after 80 worlds"
    assert len(os.listdir("/proc/self/fd")) <= before[1] + 2, "descriptors stay open"
    print("a hundred")


def main(cases):
    """Run these cases, one after the other."""
    torch.set_num_threads(1)
    dist.init_process_group("rcx", init_method="rcx://", timeout=timedelta(seconds=8))
    dist.barrier()
    for case in cases:
        case(dist.get_rank())
    if dist.is_initialized():
        dist.destroy_process_group()


if sys.argv[1] == "again":
    main([again])
else:
    main([{"killed": killed, "late": late, "differs": differs, "loader": loader}[name]
          for name in sys.argv[1:]])
