# SPDX-License-Identifier: BSD-3-Clause
"""Start by an id, which rank 0 passes to processes that it starts: start.py SIZE, or start.py
wrong"""

import subprocess
import sys

import numpy
import rcx


def run(text, rank, size):
    """Sum over all processes."""
    with rcx.Context(id=text, rank=rank, size=size, timeout=30) as context:
        x = numpy.ones(3)
        context.world.allreduce(x)
        print(context.world.rank, x.sum(), flush=True)


def start(size):
    """Start the others, which read the id from their standard input."""
    text = rcx.get_id("127.0.0.1:0")
    others = [subprocess.Popen([sys.executable, __file__, str(size), str(rank)],
                               stdin=subprocess.PIPE, text=True) for rank in range(1, size)]
    for other in others:
        other.stdin.write(text)
        other.stdin.close()
    run(text, 0, size)
    return sum(other.wait() for other in others)


def wrong():
    """Print the exception of each wrong use."""
    for use in (lambda: rcx.get_id("nowhere"), lambda: rcx.Context(id="text"),
                lambda: rcx.Context(id="text", rank=0, size=1),
                lambda: rcx.Context(id=rcx.get_id(), rank=2, size=2),
                lambda: rcx.Context(id="x" * 128, rank=0, size=1)):
        try:
            use()
        except (TypeError, ValueError) as error:
            print(type(error).__name__)


if sys.argv[1] == "wrong":
    wrong()
elif sys.argv[2:]:
    run(sys.stdin.read(), int(sys.argv[2]), int(sys.argv[1]))
else:
    sys.exit(start(int(sys.argv[1])))
