# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of calls: objects with the buffer protocol, and arrays of counts."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

from ._library import NULL, ffi
from ._types import AnyType, datatype_of, size_of

if sys.version_info >= (3, 12):
    from collections.abc import Buffer as Buffer
else:
    Buffer = Any  # bytearray, array.array, memoryview, numpy.ndarray, ...

IN_PLACE = ffi.cast("void *", -1)


def given(buffer: Buffer | None) -> Buffer:
    """A buffer that this rank has to give."""
    if buffer is None:
        raise TypeError("this rank needs a buffer, not None")
    return buffer


class Elements:
    """The elements of a contiguous buffer: address, datatype and count. Keeps the buffer alive.

    Raises TypeError or ValueError if the buffer is not contiguous, is read-only but
    written to, or does not match datatype.
    """

    def __init__(self, buffer: Buffer, datatype: AnyType | None, written: bool = False):
        with memoryview(buffer) as view:
            if written and view.readonly:
                raise TypeError(f"{type(buffer).__name__} is read-only, but a result is to be"
                                " written to it")
            if not view.c_contiguous:
                raise ValueError("the buffer is not C-contiguous")
            self.datatype: AnyType = datatype_of(view) if datatype is None else datatype
            nbytes = view.nbytes
        size = size_of(self.datatype)
        if nbytes % size:
            raise ValueError(f"{nbytes} bytes are not a multiple of elements of {size} bytes")
        self.count = nbytes // size
        self.pointer = ffi.from_buffer(buffer) if nbytes else NULL
        if isinstance(buffer, memoryview):
            # A memoryview holds its buffer itself. CPython's garbage collector fails if ffi's
            # object holds the memoryview, so keep its address only.
            self.pointer = ffi.cast("void *", self.pointer)
            self.kept = buffer

    def at(self, pointer: Any) -> Elements:
        """Return the same elements with another pointer to pass to RCX: NULL, or IN_PLACE."""
        other = copy.copy(self)
        other.pointer = pointer
        return other

    def expect(self, count: int, name: str) -> None:
        """Raise ValueError unless there are count elements."""
        if self.count != count:
            raise ValueError(f"{name} has {self.count} elements where {count} are needed")

    def blocks(self, ranks: int, name: str) -> int:
        """Return the count of one of ranks equal blocks. Raises ValueError if it is no integer."""
        if self.count % ranks:
            raise ValueError(f"{name} has {self.count} elements, which are not equal blocks"
                             f" for {ranks} ranks")
        return self.count // ranks

    def hold(self, counts: Sequence[int], displs: Sequence[int] | None, name: str) -> None:
        """Raise ValueError unless the blocks of counts at displs are within the buffer."""
        if displs is None:
            end = sum(counts)
        else:
            end = max((d + n for n, d in zip(counts, displs, strict=True) if n), default=0)
        if end > self.count:
            raise ValueError(f"{name} has {self.count} elements, but its blocks end at {end}")


def operands(send: Buffer, recv: Buffer | None,
             datatype: AnyType | None) -> tuple[Elements, Elements]:
    """Return the elements to send and to receive. recv None: the operation is in place."""
    if recv is None:
        target = Elements(send, datatype, written=True)
        return target.at(IN_PLACE), target
    source, target = Elements(send, datatype), Elements(recv, datatype, written=True)
    if source.datatype is not target.datatype:
        raise TypeError(f"elements of {source.datatype!r} are sent, of {target.datatype!r}"
                        " received")
    return source, target


def sizes(values: Sequence[int] | None, ranks: int | None = None) -> Any:
    """Convert values to an array of size_t, which has one for each rank. None becomes NULL."""
    if values is None:
        return NULL
    if ranks is not None and len(values) != ranks:
        raise ValueError(f"got {len(values)} numbers, needs one for each of {ranks} ranks")
    return ffi.new("size_t[]", [int(value) for value in values])
