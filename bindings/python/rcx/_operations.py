# SPDX-License-Identifier: BSD-3-Clause
"""All that a communicator does, in one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from ._buffers import IN_PLACE, Buffer, Elements, operands, sizes
from ._library import NULL, ffi
from ._ops import UserOp
from ._types import AnyType, Datatype, Op

AnyOp = Op | UserOp
Counts = Sequence[int]
R = TypeVar("R")


class Operations(Generic[R]):
    """The operations of a communicator. Of a `Comm` they return when they are done, of
    `Comm.nonblocking` at once, with a `Request`; `Comm.persistent` only makes that.

    Buffers are objects with the buffer protocol: NumPy arrays, array.array, bytearray,
    memoryview. Their elements say the type, their length the count. Without a second
    buffer an operation is in place. Every rank of the communicator makes the same calls in
    the same order. What each guarantees stands in rcx.h, at the function of its name.
    """

    rank: int
    size: int

    def _run(self, name: str, arguments: tuple[Any, ...], kept: Any) -> R:
        raise NotImplementedError

    def barrier(self) -> R:
        """Done when every rank has called it."""
        return self._run("barrier", (), None)

    # ---- Reductions

    def allreduce(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM, *,
                  datatype: AnyType | None = None) -> R:
        """The vectors of all ranks, combined, on every rank."""
        return self._elementwise("allreduce", send, recv, op, datatype)

    def scan(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM, *,
             datatype: AnyType | None = None) -> R:
        """The vectors of rank 0 to this one, combined."""
        return self._elementwise("scan", send, recv, op, datatype)

    def exscan(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM, *,
               datatype: AnyType | None = None) -> R:
        """The vectors of the ranks before this one, combined; nothing on rank 0, whose
        result is left as it was."""
        return self._elementwise("exscan", send, recv, op, datatype)

    def _elementwise(self, name: str, send: Buffer, recv: Buffer | None, op: AnyOp,
                     datatype: AnyType | None) -> R:
        source, target = operands(send, recv, datatype)
        target.expect(source.count, "recv")
        return self._run(name, (source.pointer, target.pointer, source.count,
                                source.datatype, op), (source, target, op))

    def allreduce_many(self, sends: Sequence[Buffer], recvs: Sequence[Buffer] | None = None,
                       op: AnyOp = Op.SUM, *, datatype: AnyType | None = None) -> R:
        """allreduce of vectors as the one that they are one after another."""
        pairs = [operands(send, recv, datatype) for send, recv in zip(
            sends, [None] * len(sends) if recvs is None else recvs, strict=True)]
        for source, target in pairs:
            target.expect(source.count, "one of recvs")
        types = {source.datatype for source, _ in pairs}
        if len(types) > 1:
            raise TypeError(f"vectors of {types}")
        targets = [target.pointer for _, target in pairs]
        sources = ([source.pointer for source, _ in pairs] if recvs is not None
                   else ffi.cast("void **", IN_PLACE))
        return self._run("allreduce_many", (
            len(pairs), sources, targets, [source.count for source, _ in pairs],
            types.pop() if types else Datatype.BYTE, op), (pairs, op))

    def reduce(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM,
               root: int = 0, *, datatype: AnyType | None = None) -> R:
        """allreduce whose result rank root alone gets; recv is ignored elsewhere."""
        source, target = self._to(root, send, recv, datatype)
        if self.rank == root:
            target.expect(source.count, "recv")
        return self._run("reduce", (source.pointer, target.pointer, source.count,
                                    source.datatype, op, root), (source, target, op))

    def reduce_scatter(self, send: Buffer, recv: Buffer | None, counts: Counts,
                       op: AnyOp = Op.SUM, *, datatype: AnyType | None = None) -> R:
        """The vectors of all ranks, combined, of which rank i gets counts[i] elements. In
        place the result is at the beginning, and the rest undefined."""
        source, target = operands(send, recv, datatype)
        source.expect(sum(counts), "send")
        target.hold([counts[self.rank]], None, "recv")
        return self._run("reduce_scatter", (
            source.pointer, target.pointer, sizes(counts, self.size), source.datatype, op),
            (source, target, op))

    def reduce_scatter_block(self, send: Buffer, recv: Buffer | None = None,
                             op: AnyOp = Op.SUM, *,
                             datatype: AnyType | None = None) -> R:
        """reduce_scatter with as many elements on each rank."""
        source, target = operands(send, recv, datatype)
        count = source.blocks(self.size, "send")
        target.hold([count], None, "recv")
        return self._run("reduce_scatter_block", (
            source.pointer, target.pointer, count, source.datatype, op),
            (source, target, op))

    # ---- Movements

    def bcast(self, buffer: Buffer, root: int = 0, *,
              datatype: AnyType | None = None) -> R:
        """The buffer of rank root, on every rank."""
        there = Elements(buffer, datatype, written=self.rank != root)
        return self._run("bcast", (there.pointer, there.count, there.datatype, root), there)

    def gather(self, send: Buffer, recv: Buffer | None = None, root: int = 0, *,
               datatype: AnyType | None = None) -> R:
        """The blocks of all ranks one after another, at rank root; recv is ignored
        elsewhere. In place the block of root is where it belongs."""
        source, target = self._to(root, send, recv, datatype)
        if self.rank == root:
            count = target.blocks(self.size, "recv")
            source.expect(target.count if recv is None else count, "send")
        else:
            count = source.count
        return self._run("gather", (source.pointer, target.pointer, count, source.datatype,
                                    root), (source, target))

    def gatherv(self, send: Buffer, recv: Buffer | None, counts: Counts,
                displs: Counts | None = None, root: int = 0, *,
                datatype: AnyType | None = None) -> R:
        """gather of counts[i] elements of rank i, which begin at displs[i] of recv."""
        source, target = self._to(root, send, recv, datatype)
        if self.rank == root:
            target.hold(counts, displs, "recv")
        if self.rank != root or recv is not None:
            source.expect(counts[self.rank], "send")
        return self._run("gatherv", (
            source.pointer, target.pointer, sizes(counts, self.size),
            sizes(displs, self.size), source.datatype, root), (source, target))

    def scatter(self, send: Buffer | None, recv: Buffer | None = None, root: int = 0, *,
                datatype: AnyType | None = None) -> R:
        """Block i of send of rank root to rank i; send is ignored elsewhere. Without recv
        the block of root stays where it is."""
        source, target = self._from(root, send, recv, datatype)
        count = (source.blocks(self.size, "send") if self.rank == root
                 else target.count)
        if recv is not None:
            target.expect(count, "recv")
        return self._run("scatter", (source.pointer, target.pointer, count, target.datatype,
                                     root), (source, target))

    def scatterv(self, send: Buffer | None, recv: Buffer | None, counts: Counts,
                 displs: Counts | None = None, root: int = 0, *,
                 datatype: AnyType | None = None) -> R:
        """scatter of counts[i] elements to rank i, which begin at displs[i] of send."""
        source, target = self._from(root, send, recv, datatype)
        if self.rank == root:
            source.hold(counts, displs, "send")
        if recv is not None:
            target.expect(counts[self.rank], "recv")
        return self._run("scatterv", (
            source.pointer, target.pointer, sizes(counts, self.size),
            sizes(displs, self.size), target.datatype, root), (source, target))

    def allgather(self, send: Buffer, recv: Buffer | None = None, *,
                  datatype: AnyType | None = None) -> R:
        """gather on every rank."""
        source, target = operands(send, recv, datatype)
        count = target.blocks(self.size, "recv")
        if recv is not None:
            source.expect(count, "send")
        return self._run("allgather", (source.pointer, target.pointer, count,
                                       source.datatype), (source, target))

    def allgatherv(self, send: Buffer, recv: Buffer | None, counts: Counts,
                   displs: Counts | None = None, *,
                   datatype: AnyType | None = None) -> R:
        """gatherv on every rank."""
        source, target = operands(send, recv, datatype)
        target.hold(counts, displs, "recv")
        if recv is not None:
            source.expect(counts[self.rank], "send")
        return self._run("allgatherv", (
            source.pointer, target.pointer, sizes(counts, self.size),
            sizes(displs, self.size), source.datatype), (source, target))

    def alltoall(self, send: Buffer, recv: Buffer | None = None, *,
                 datatype: AnyType | None = None) -> R:
        """Block i of send to rank i, from which block i of recv comes."""
        source, target = operands(send, recv, datatype)
        count = source.blocks(self.size, "send")
        target.expect(source.count, "recv")
        return self._run("alltoall", (source.pointer, target.pointer, count,
                                      source.datatype), (source, target))

    def alltoallv(self, send: Buffer, sendcounts: Counts, recv: Buffer | None = None,
                  recvcounts: Counts | None = None, *, senddispls: Counts | None = None,
                  recvdispls: Counts | None = None,
                  datatype: AnyType | None = None) -> R:
        """alltoall of sendcounts[i] elements to rank i, which begin at senddispls[i], and
        of recvcounts[i] from it. In place what comes is as long as what goes."""
        source, target = operands(send, recv, datatype)
        if recv is None or recvcounts is None:
            recvcounts, recvdispls = sendcounts, senddispls
        source.hold(sendcounts, senddispls, "send")
        target.hold(recvcounts, recvdispls, "recv")
        return self._run("alltoallv", (
            source.pointer, sizes(sendcounts, self.size), sizes(senddispls, self.size),
            target.pointer, sizes(recvcounts, self.size), sizes(recvdispls, self.size),
            source.datatype), (source, target))

    # ---- Messages

    def send(self, buffer: Buffer, dest: int, tag: int = 0, *,
             datatype: AnyType | None = None) -> R:
        """To rank dest; done when the buffer may be used again."""
        there = Elements(buffer, datatype)
        return self._run("send", (there.pointer, there.count, there.datatype, dest, tag),
                         there)

    # ---- Operands of which one rank has more than the others

    def _to(self, root: int, send: Buffer, recv: Buffer | None,
            datatype: AnyType | None) -> tuple[Elements, Elements]:
        if self.rank == root:
            return operands(send, recv, datatype)
        source = Elements(send, datatype)
        return source, source.at(NULL)

    def _from(self, root: int, send: Buffer | None, recv: Buffer | None,
              datatype: AnyType | None) -> tuple[Elements, Elements]:
        if self.rank != root:
            target = Elements(recv, datatype, written=True)
            return target.at(NULL), target
        if recv is None:
            source = Elements(send, datatype)
            return source, source.at(IN_PLACE)
        return operands(send, recv, datatype)
