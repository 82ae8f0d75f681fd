# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that end with errors: ends.py killed | raised | left | kept"""

import gc
import os
import signal
import sys
import weakref

import numpy
import rcx


def main(how):
    """Rank 1 is killed, raises an exception, or aborts. The others print their error."""
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
    """Return a weak reference to the buffer of an operation that was started and has failed.
    frees: whether its communicator is freed before."""
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
    """Buffers of a failed operation are kept until the context is closed, as RCX may read them."""
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
