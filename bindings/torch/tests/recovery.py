# SPDX-License-Identifier: BSD-3-Clause
"""Worlds that go on after failures, and with other members, on 4 ranks:

    recovery.py killed | during MS | [aborted] [moved FILE] | excluded | group
"""

import os
import signal
import sys
import threading
import time
from datetime import timedelta

import rcx_torch
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LIMIT = timedelta(seconds=20)


def raises(call, *arguments, **named):
    """Assert that the call raises a RuntimeError, and return its text."""
    try:
        call(*arguments, **named)
    except RuntimeError as error:
        return str(error)
    raise AssertionError(f"{call} did not raise")


def use():
    """A collective call. The last one that a rank makes before it dies or aborts may fail on
    the others."""
    dist.all_reduce(torch.ones(1000))


def use_until_failure():
    """Call collectives until one raises."""
    while True:
        use()


def check_world(names, me):
    """The world consists of the processes with these names, in this order. Groups of some
    ranks, and messages, work in it."""
    assert dist.get_world_size() == len(names)
    assert names[dist.get_rank()] == me
    found = torch.zeros(len(names), dtype=torch.int64)
    dist.all_gather(list(found.split(1)), torch.tensor([me]))
    assert found.tolist() == names, found
    ends = dist.new_group(sorted({0, len(names) - 1}))
    if dist.get_rank() in (0, len(names) - 1):
        x = torch.tensor([me])
        dist.all_reduce(x, group=ends)
        assert x.item() == (names[0] + names[-1] if len(names) > 1 else me)
    everything = [None] * len(names)
    dist.all_gather_object(everything, {"name": me})
    assert [each["name"] for each in everything] == names


def train(net, size):
    """A step of data-parallel training. All ranks have the same parameters after it."""
    parallel = DistributedDataParallel(net)
    (parallel(torch.full((2, 3), dist.get_rank() + 1.0)).sum() * size).backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= 0.01 * parameter.grad
    weights = torch.cat([p.detach().flatten() for p in net.parameters()])
    largest = weights.clone()
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    assert torch.equal(weights, largest)


def killed(me):
    """Rank 1 is killed, and later rank 0, whose process has the store. Each time the others
    get exceptions, go on without it, and train."""
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 2)
    names = list(range(dist.get_world_size()))
    train(net, len(names))
    for victim in (1, 0):
        lost = names.index(victim)
        if me == victim:
            use()
            os.kill(os.getpid(), signal.SIGKILL)
        text = raises(use_until_failure)
        assert f"rank {lost}" in text, text
        names.remove(victim)
        assert rcx_torch.shrink() == [lost]
        check_world(names, me)
        train(net, len(names))
        present = rcx_torch.agree(2**64 - 1 - (1 << me))
        assert present == 2**64 - 1 - sum(1 << name for name in names)
        assert rcx_torch.failed() == []


def during(me):
    """Rank 1 is killed, and rank 0 some milliseconds after the others have begun to shrink:
    before, during or after it. The others end in the same world."""
    if me == 1:
        use()
        os.kill(os.getpid(), signal.SIGKILL)
    raises(use_until_failure)
    if me == 0:
        threading.Timer(float(sys.argv[2]) / 1000, os.kill,
                        (os.getpid(), signal.SIGKILL)).start()
    while dist.get_world_size() > 2:
        rcx_torch.shrink()
        if me == 0:
            signal.pause()
        if dist.get_world_size() > 2:
            raises(use_until_failure)
    check_world([2, 3], me)


def aborted(me):
    """No rank dies. Rank 1 leaves the others' loop; they get exceptions, in the world and in a
    group of some ranks, and all go on together."""
    some = dist.new_group([0, 2])

    def use_and_receive():
        use()
        dist.recv(torch.ones(1), 2, some)  # rank 2 sends nothing

    if me == 1:
        use()
        rcx_torch.abort()
    elif me == 0:
        assert "imed out" not in raises(use_and_receive)
    else:
        raises(use_until_failure)
    assert rcx_torch.shrink() == []
    check_world([0, 1, 2, 3], me)


def excluded(me):
    """Rank 1 is stopped when all have ended their last call: shrink() ends the calls of others.
    The others exclude it, and then let it continue: it gets an exception of its own."""
    pids = [None] * dist.get_world_size()
    dist.all_gather_object(pids, os.getpid())
    store = dist.distributed_c10d._get_default_store()
    store.set(f"excluded {me}", "ready")
    if me == 1:
        store.wait([f"excluded {rank}" for rank in range(len(pids))])
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            rcx_torch.shrink(timedelta(seconds=12))
        except rcx_torch.ExcludedError as error:
            assert isinstance(error, RuntimeError)
            dist.destroy_process_group()
            return
        raise AssertionError("no error")
    while open(f"/proc/{pids[1]}/stat", encoding="ascii").read().split()[2] != "T":
        time.sleep(0.01)
    try:
        assert rcx_torch.shrink(timedelta(seconds=12)) == [1]
    finally:
        if me == 0:
            os.kill(pids[1], signal.SIGCONT)
    check_world([0, 2, 3], me)


def moved(me):
    """Worlds of other members: rank 3 is left out, and enters again. A world that is not
    complete in time leaves the previous one as it was."""
    store = dist.FileStore(sys.argv[-1], -1)
    dist.barrier()
    if me == 0:
        raises(rcx_torch.reconfigure, dist.PrefixStore("0", store), 0, 2,
               timeout=timedelta(milliseconds=200))
    check_world([0, 1, 2, 3], me)
    if me != 3:
        use()
        rcx_torch.reconfigure(dist.PrefixStore("1", store), 2 - me, 3)
        check_world([2, 1, 0], me)
    else:
        assert "imed out" not in raises(use_until_failure)
        if dist.is_initialized():
            dist.destroy_process_group()
    rcx_torch.reconfigure(dist.PrefixStore("2", store), me, 4, timeout=LIMIT)
    check_world([0, 1, 2, 3], me)
    assert "already" in raises(rcx_torch.reconfigure, dist.PrefixStore("2", store), me, 4)
    for world in range(3, 20):
        rcx_torch.reconfigure(dist.PrefixStore(str(world), store), me, 4)
    check_world([0, 1, 2, 3], me)


def group(me):
    """Groups that shrink, as in PyTorch 2: without a rank that lives, and after a death."""
    world = dist.group.WORLD if torch.__version__ < "2" \
        else dist.group.WORLD._get_backend(torch.device("cpu"))
    assert world.supports_shrinking
    if me != 3:
        smaller = world.shrink([3], 0, None)
        x = torch.tensor([float(me)])
        smaller.allreduce([x]).wait()
        assert x.item() == 3 and smaller.size() == 3 and smaller.rank() == me
        raises(world.shrink, [me])
        raises(world.shrink, [3, 3])
    if me == 1:
        use()
        os.kill(os.getpid(), signal.SIGKILL)
    raises(use_until_failure)
    raises(world.shrink, [2] if me != 2 else [0], 1)  # rank 1 has failed
    smaller = world.shrink([1], 1)
    x = torch.tensor([float(me)])
    smaller.allreduce([x]).wait()
    assert x.item() == 5 and smaller.size() == 3 and smaller.rank() == [0, 2, 3].index(me)


def main(names):
    """Run these cases, one after the other."""
    torch.set_num_threads(1)
    dist.init_process_group("rcx", init_method="rcx://", timeout=LIMIT)
    me = dist.get_rank()
    dist.barrier()
    cases = {"killed": killed, "during": during, "aborted": aborted, "excluded": excluded,
             "moved": moved, "group": group}
    went_on = [name for name in names if name in cases]
    for name in went_on:
        cases[name](me)
    if dist.is_initialized():
        dist.destroy_process_group()
    for name in went_on:
        print(f"{name} went on")


main(sys.argv[1:])
