# SPDX-License-Identifier: BSD-3-Clause
"""How a job ends that does not end well: ends.py killed | raised | left | kept"""

import gc
import os
import signal
import sys
import weakref

import numpy
import rcx


def main(how):
    """Rank 1 does it; the others print what it is to them."""
    x = numpy.ones(4)
    try:
        with rcx.Context(timeout=5) as context:
            world = context.world
            side = world.dup()
            world.barrier()
            if world.rank == 1:
                if how == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                if how == "raised":
                    raise KeyError("of a user")
                side.abort()
            try:
                side.allreduce(x)
            except rcx.PeerError as error:
                if how != "left":
                    raise
                assert 1 in error.ranks and side.failure.ranks == error.ranks, error
                assert not world.failure
            world.barrier()
            print("all is well")
    except rcx.Error as error:
        print(f"{type(error).__name__} {error.ranks}")
    except KeyError as error:
        print(f"KeyError {error}")


def fail(world, frees):
    """A buffer of an operation that has begun and fails, of which nothing else is left;
    frees: its communicator neither."""
    side = world.dup()
    x = numpy.ones(4)
    if world.rank != 1:
        request = side.nonblocking.allreduce(x)
    world.barrier()
    if world.rank == 1:
        side.abort()
        return lambda: x
    if frees:
        side.free()
    try:
        request.wait()
    except rcx.PeerError:
        return weakref.ref(x)
    raise AssertionError("no error")


def keep():
    """RCX may read the buffers of an operation that failed until it has left."""
    with rcx.Context(timeout=5) as context:
        buffers = [fail(context.world, frees) for frees in (False, True)]
        context.world.barrier()
        context.reap()
        gc.collect()
        assert all(buffer() is not None for buffer in buffers)
        freed = context.world.rank == 1
    gc.collect()
    assert freed or all(buffer() is None for buffer in buffers)
    print("all is well")


keep() if sys.argv[1] == "kept" else main(sys.argv[1])
