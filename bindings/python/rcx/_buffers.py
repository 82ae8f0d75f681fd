# SPDX-License-Identifier: BSD-3-Clause
"""What a call takes: any object that has the buffer protocol, and arrays of counts."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

from ._library import NULL, ffi
from ._types import AnyType, datatype_of, size_of

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    Buffer = Any  # bytearray, array.array, memoryview, numpy.ndarray, ...

IN_PLACE = ffi.cast("void *", -1)


class Elements:
    """A contiguous buffer: where it lies, what is in it, and that it stays there."""

    def __init__(self, buffer: Buffer, datatype: AnyType | None, written: bool = False):
        with memoryview(buffer) as view:
            if written and view.readonly:
                raise TypeError(f"{type(buffer).__name__} is read-only, and is written to")
            if not view.c_contiguous:
                raise ValueError("the buffer is not contiguous, row by row")
            self.datatype: AnyType = datatype_of(view) if datatype is None else datatype
            nbytes = view.nbytes
        size = size_of(self.datatype)
        if nbytes % size:
            raise ValueError(f"{nbytes} bytes are no elements of {size} bytes each")
        self.count = nbytes // size
        self.pointer = ffi.from_buffer(buffer) if nbytes else NULL
        if isinstance(buffer, memoryview):
            # holds its buffer itself, and held by another it breaks CPython's collector
            self.pointer = ffi.cast("void *", self.pointer)
            self.kept = buffer

    def at(self, pointer: Any) -> Elements:
        """The same elements, that a call looks for at pointer: NULL, IN_PLACE."""
        other = copy.copy(self)
        other.pointer = pointer
        return other

    def expect(self, count: int, name: str) -> None:
        """That there are so many."""
        if self.count != count:
            raise ValueError(f"{name} has {self.count} elements where {count} are needed")

    def blocks(self, ranks: int, name: str) -> int:
        """The length of one of equal blocks, one a rank."""
        if self.count % ranks:
            raise ValueError(f"{name} has {self.count} elements, no equal blocks for"
                             f" {ranks} ranks")
        return self.count // ranks

    def hold(self, counts: Sequence[int], displs: Sequence[int] | None, name: str) -> None:
        """That blocks of counts at displs are within it."""
        if displs is None:
            end = sum(counts)
        else:
            end = max((d + n for n, d in zip(counts, displs, strict=True) if n), default=0)
        if end > self.count:
            raise ValueError(f"{name} has {self.count} elements, and blocks end at {end}")


def operands(send: Buffer, recv: Buffer | None,
             datatype: AnyType | None) -> tuple[Elements, Elements]:
    """What is sent, and where the result goes: in place without recv."""
    if recv is None:
        target = Elements(send, datatype, written=True)
        return target.at(IN_PLACE), target
    source, target = Elements(send, datatype), Elements(recv, datatype, written=True)
    if source.datatype is not target.datatype:
        raise TypeError(f"elements of {source.datatype!r} are sent, of {target.datatype!r}"
                        " received")
    return source, target


def sizes(values: Sequence[int] | None, ranks: int | None = None) -> Any:
    """An array of size_t, one a rank; None stays NULL."""
    if values is None:
        return NULL
    if ranks is not None and len(values) != ranks:
        raise ValueError(f"{len(values)} numbers for {ranks} ranks")
    return ffi.new("size_t[]", [int(value) for value in values])
