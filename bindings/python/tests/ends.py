# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that end with errors: ends.py killed | raised | left | kept | closed"""

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
            side, freed = world.dup(), world.dup()
            freed.free()
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


def fail(world, how):
    """Return a weak reference to the buffer of an operation that was started and has failed.
    how: what becomes of its communicator or of its request."""
    side = world.dup()
    x = numpy.ones(4)
    if world.rank != 1:
        request = side.nonblocking.allreduce(x)
    world.barrier()
    if world.rank == 1:
        side.abort()
        return lambda: x
    if how in ("waited", "comm freed"):
        if how == "comm freed":
            side.free()
        try:
            request.wait()
        except rcx.PeerError:
            return weakref.ref(x)
        raise AssertionError("no error")
    while not side.failure:
        world.context.progress()
    if how != "dropped":
        rcx.lib.rcx_wait(request.handle)
        request.free() if how == "freed" else request.end()
    return weakref.ref(x)


def keep():
    """Buffers of a failed operation are kept until the context is closed, as RCX may read them."""
    with rcx.Context(timeout=5) as context:
        buffers = [fail(context.world, how)
                   for how in ("waited", "comm freed", "dropped", "freed", "ended")]
        context.world.barrier()
        context.reap()
        gc.collect()
        assert all(buffer() is not None for buffer in buffers), buffers
        freed = context.world.rank == 1
    gc.collect()
    assert freed or all(buffer() is None for buffer in buffers)
    print("all is well")


def close():
    """After close(), with or without an error, objects of the context are safe to use."""
    def last(dst, left, right):
        dst[:] = right

    context = rcx.Context(timeout=5)
    world = context.world
    op, left = context.op(last), context.op(last)
    x = numpy.ones(1)
    world.allreduce(x, op=op)
    if world.rank == 1:
        world.abort()
    try:
        context.close()
        closed = "closed"
    except rcx.Error as error:
        closed = type(error).__name__
    op.free()
    del left
    context.close()
    for call in (world.barrier, lambda: world.failure, context.progress,
                 lambda: context.op(last), lambda: context.type(8)):
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("no error")
    print(closed)


{"kept": keep, "closed": close}.get(sys.argv[1], lambda: main(sys.argv[1]))()
