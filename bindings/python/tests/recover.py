# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that go on after failures: recover.py killed | world | excluded | agreed"""

import os
import signal
import sys
import time

import numpy
import rcx

VICTIM = 1


def total(comm, value):
    """Return the sum over all ranks of comm."""
    x = numpy.array([value])
    comm.allreduce(x)
    return x[0]


def use_until_failure(comm):
    """Call collectives until one raises a PeerError."""
    try:
        while True:
            comm.allreduce(numpy.ones(1000))
    except rcx.PeerError:
        pass


def check_survivors(old, new):
    """The ranks of new are those of old without the victim, in the same order."""
    others = [rank for rank in range(old.size) if rank != VICTIM]
    assert old.failed() == (VICTIM,), old.failed()
    assert new.size == len(others) and new.rank == others.index(old.rank)
    assert not new.failure
    assert total(new, 1 << old.rank) == sum(1 << rank for rank in others)
    assert new.agree(~(1 << old.rank) & 0xff) == 0xff - sum(1 << rank for rank in others)
    assert new.failed() == ()


def killed(context, dies):
    """The victim is killed during collectives, or before any call of the others. The others go
    on without it, twice."""
    world = context.world
    comm = world.dup() if dies == "killed" else world
    if world.rank == VICTIM:
        if dies == "killed":
            comm.allreduce(numpy.ones(1000))
        os.kill(os.getpid(), signal.SIGKILL)
    if dies == "killed":
        use_until_failure(comm)
        assert comm.failed() == ()  # nothing has been agreed on
        if comm.rank == 0:
            comm.revoke()
    new = comm.shrink(timeout=20)
    check_survivors(comm, new)
    new.revoke()
    with new.shrink(timeout=20) as newer:
        assert new.failed() == () and newer.size == new.size
        assert total(newer, 1) == newer.size
    print("went on", flush=True)


def excluded(context, _):
    """The victim stops. The others exclude it, and let it continue; it gets the error."""
    world = context.world
    pids = numpy.zeros(world.size, dtype=numpy.int64)
    world.allgather(numpy.array([os.getpid()]), pids)
    comm = world.dup()
    if world.rank == VICTIM:
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            comm.shrink(timeout=12)
        except rcx.ExcludedError as error:
            assert error.status == rcx.Status.EXCLUDED
            assert not isinstance(error, rcx.PeerError)
            print("excluded", flush=True)
            os._exit(3)  # 0 would have to come after rcx_finalize
        raise AssertionError("no error")
    while open(f"/proc/{pids[VICTIM]}/stat", encoding="ascii").read().split()[2] != "T":
        time.sleep(0.01)
    try:
        new = comm.shrink(timeout=12)
    finally:
        if world.rank == 0:
            os.kill(pids[VICTIM], signal.SIGCONT)
    check_survivors(comm, new)
    print("went on", flush=True)


def agreed(context, _):
    """All ranks live: an agreement is the AND of all flags, and wide flags keep their bits."""
    world = context.world
    assert world.agree(2**64 - 1) == 2**64 - 1
    assert world.agree(2**64 - 1 - (1 << world.rank)) == 2**64 - (1 << world.size)
    for flags in (-1, 2**64):
        try:
            world.agree(flags)
        except OverflowError:
            continue
        raise AssertionError("no error")
    world.barrier()
    print("agreed", flush=True)


def main(how):
    """Run one case. The context closes without an error, also after failures."""
    with rcx.Context(timeout=20) as context:
        {"killed": killed, "world": killed, "excluded": excluded, "agreed": agreed}[how](
            context, how)


main(sys.argv[1])
