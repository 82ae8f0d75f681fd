# SPDX-License-Identifier: BSD-3-Clause
"""A user-defined bootstrap, which exchanges addresses by files: host.py FOLDER RANK SIZE [bad]"""

import pathlib
import sys
import time

import numpy
import rcx


class Files:
    """A bootstrap that writes a file for each part."""

    def __init__(self, folder, rank, size, bad):
        self.folder, self.rank, self.size = pathlib.Path(folder), rank, size
        self.bad, self.calls = bad, 0

    def allgather(self, part):
        """Write this rank's part, and read those of all ranks."""
        if self.bad:
            raise OSError("the folder is gone")
        self.calls += 1
        mine = self.folder / f"{self.calls}.{self.rank}"
        mine.with_suffix(".new" + str(self.rank)).write_bytes(part)
        mine.with_suffix(".new" + str(self.rank)).rename(mine)
        return b"".join(self._read(rank) for rank in range(self.size))

    def _read(self, rank):
        path = self.folder / f"{self.calls}.{rank}"
        while not path.exists():
            time.sleep(0.001)
        return path.read_bytes()

    def barrier(self):
        """An allgather of a byte."""
        self.allgather(b"x")


def main(folder, rank, size, bad=""):
    """Sum over all processes."""
    try:
        with rcx.Context(bootstrap=Files(folder, int(rank), int(size), bad)) as context:
            x = numpy.ones(3)
            context.world.allreduce(x)
            print(context.world.rank, x.sum())
    except rcx.Error as error:
        print(repr(error), "because of", repr(error.__cause__))


main(*sys.argv[1:])
