# SPDX-License-Identifier: BSD-3-Clause
"""How a job ends that does not end well: ends.py killed | raised | left"""

import os
import signal
import sys

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


main(sys.argv[1])
