# SPDX-License-Identifier: BSD-3-Clause
"""Unreferenced objects are freed; Ctrl-C ends a call: leftovers.py made | interrupted"""

import os
import signal
import sys
import threading
import time

import numpy
import rcx

MANY = 5000  # more than the limit of live ops


def made():
    """Create an op and a type for each call, and keep none."""
    def larger(dst, left, right):
        for i in range(len(dst)):
            dst[i] = max(left[i], right[i])

    with rcx.Context(timeout=60) as context:
        world = context.world
        for _ in range(MANY):
            x = numpy.full(1, float(world.rank))
            world.allreduce(x, op=context.op(larger))
            assert x[0] == world.size - 1
            context.type(8)
        x = numpy.full(2, float(world.rank))
        request = world.nonblocking.allreduce(x, op=context.op(larger))
        request.wait()
        assert x[1] == world.size - 1


def interrupted():
    """Interrupt each way to wait, without a deadline."""
    with rcx.Context() as context:
        world = context.world
        x = numpy.zeros(1)

        def receive():
            return world.nonblocking.recv(x, tag=9)

        ways = [lambda: world.recv(numpy.zeros(1), tag=8), lambda: receive().wait(),
                lambda: rcx.wait_any([receive(), None, receive()]),
                lambda: rcx.wait_all([receive(), receive()])]
        if world.rank == 0:
            ways.append(lambda: world.nonblocking.barrier().wait())
        for way in ways:
            begin = time.monotonic()
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                way()
            except KeyboardInterrupt:
                assert time.monotonic() - begin < 60
            else:
                raise AssertionError("no KeyboardInterrupt")
        if world.rank != 0:
            time.sleep(2)  # rank 0 is interrupted in its barrier
            world.barrier()
        y = numpy.ones(1)
        world.allreduce(y)  # works as before
        assert y[0] == world.size
        print("interrupted", flush=True)
        for tag in [8] + [9] * 5:  # complete the interrupted receives
            world.send(x, (world.rank + 1) % world.size, tag)


{"made": made, "interrupted": interrupted}[sys.argv[1]]()
print("done", flush=True)
