# SPDX-License-Identifier: BSD-3-Clause
"""The operations of a communicator, independent of their form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from ._buffers import IN_PLACE, Buffer, Elements, given, operands, sizes
from ._library import NULL, ffi
from ._ops import UserOp
from ._types import AnyType, Datatype, Op

AnyOp = Op | UserOp
Counts = Sequence[int]
R = TypeVar("R")


class Operations(Generic[R]):
    """The operations of a communicator: collectives and messages.

    Those of a `Comm` are blocking: they return when they are complete. Those of
    `Comm.nonblocking` start an operation and return a `Request`. Those of `Comm.persistent`
    return a `Request` that `Request.start()` starts, any number of times.

    send, recv, buffer: contiguous objects with the buffer protocol (NumPy arrays,
        array.array, bytearray, memoryview). Their format determines the datatype, their
        length the count. Without recv, an operation is in place: send also receives.
    op: an `Op`, or a user-defined one (`Context.op()`).
    root: the rank that sends to, or receives from, all ranks.
    counts, displs: for each rank, the number of elements of its block, and where the block
        begins in the buffer, in elements. Without displs, blocks are adjacent.
    datatype: overrides the datatype of the buffers.

    All ranks must call the same collectives of a communicator in the same order. rcx.h
    documents the function of the same name and its guarantees.

    Raises TypeError or ValueError if a buffer does not fit, before anything is sent, and
    `Error` if the operation fails.
    """

    rank: int
    size: int

    def _run(self, name: str, arguments: tuple[Any, ...], kept: Any) -> R:
        raise NotImplementedError

    def barrier(self) -> R:
        """Complete when all ranks have called it."""
        return self._run("barrier", (), None)

    # ---- Reductions

    def allreduce(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM, *,
                  datatype: AnyType | None = None) -> R:
        """Combine the vectors of all ranks by op. Every rank gets the result."""
        return self._elementwise("allreduce", send, recv, op, datatype)

    def scan(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM, *,
             datatype: AnyType | None = None) -> R:
        """Combine the vectors of the ranks 0 to this one (inclusive prefix reduction)."""
        return self._elementwise("scan", send, recv, op, datatype)

    def exscan(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM, *,
               datatype: AnyType | None = None) -> R:
        """Combine the vectors of the ranks before this one (exclusive prefix reduction). On
        rank 0 the result buffer is not changed."""
        return self._elementwise("exscan", send, recv, op, datatype)

    def _elementwise(self, name: str, send: Buffer, recv: Buffer | None, op: AnyOp,
                     datatype: AnyType | None) -> R:
        source, target = operands(send, recv, datatype)
        target.expect(source.count, "recv")
        return self._run(name, (source.pointer, target.pointer, source.count,
                                source.datatype, op), (source, target, op))

    def allreduce_many(self, sends: Sequence[Buffer], recvs: Sequence[Buffer] | None = None,
                       op: AnyOp = Op.SUM, *, datatype: AnyType | None = None) -> R:
        """allreduce of several vectors in one operation, as if they were one vector."""
        pairs = [operands(send, recv, datatype) for send, recv in zip(
            sends, [None] * len(sends) if recvs is None else recvs, strict=True)]
        for source, target in pairs:
            target.expect(source.count, "one of recvs")
        types = {source.datatype for source, _ in pairs}
        if len(types) > 1:
            raise TypeError(f"vectors have different types: {types}")
        targets = [target.pointer for _, target in pairs]
        sources = ([source.pointer for source, _ in pairs] if recvs is not None
                   else ffi.cast("void **", IN_PLACE))
        return self._run("allreduce_many", (
            len(pairs), sources, targets, [source.count for source, _ in pairs],
            types.pop() if types else Datatype.BYTE, op), (pairs, op))

    def reduce(self, send: Buffer, recv: Buffer | None = None, op: AnyOp = Op.SUM,
               root: int = 0, *, datatype: AnyType | None = None) -> R:
        """Like allreduce, but only rank root gets the result. recv is ignored on other ranks."""
        source, target = self._to(root, send, recv, datatype)
        if self.rank == root:
            target.expect(source.count, "recv")
        return self._run("reduce", (source.pointer, target.pointer, source.count,
                                    source.datatype, op, root), (source, target, op))

    def reduce_scatter(self, send: Buffer, recv: Buffer | None, counts: Counts,
                       op: AnyOp = Op.SUM, *, datatype: AnyType | None = None) -> R:
        """Combine the vectors of all ranks. Rank i gets counts[i] elements of the result. In
        place, these are at the beginning of send, and the rest is undefined."""
        source, target = operands(send, recv, datatype)
        source.expect(sum(counts), "send")
        target.hold([counts[self.rank]], None, "recv")
        return self._run("reduce_scatter", (
            source.pointer, target.pointer, sizes(counts, self.size), source.datatype, op),
            (source, target, op))

    def reduce_scatter_block(self, send: Buffer, recv: Buffer | None = None,
                             op: AnyOp = Op.SUM, *,
                             datatype: AnyType | None = None) -> R:
        """reduce_scatter with the same number of elements for each rank."""
        source, target = operands(send, recv, datatype)
        count = source.blocks(self.size, "send")
        target.hold([count], None, "recv")
        return self._run("reduce_scatter_block", (
            source.pointer, target.pointer, count, source.datatype, op),
            (source, target, op))

    # ---- Data movement

    def bcast(self, buffer: Buffer, root: int = 0, *,
              datatype: AnyType | None = None) -> R:
        """Copy the buffer of rank root to all ranks."""
        there = Elements(buffer, datatype, written=self.rank != root)
        return self._run("bcast", (there.pointer, there.count, there.datatype, root), there)

    def gather(self, send: Buffer, recv: Buffer | None = None, root: int = 0, *,
               datatype: AnyType | None = None) -> R:
        """Gather the blocks of all ranks in recv on rank root, in the order of ranks. recv is
        ignored on other ranks. In place, send of root is as long as the result, and has
        root's block where it belongs."""
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
        """gather of counts[i] elements of rank i, which go to displs[i] in recv."""
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
        """Send block i of send on rank root to rank i. send is ignored on other ranks. Without
        recv on root, root's block stays in send."""
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
        """scatter of counts[i] elements to rank i, which begin at displs[i] in send."""
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
        """Like gather, but all ranks get the result."""
        source, target = operands(send, recv, datatype)
        count = target.blocks(self.size, "recv")
        if recv is not None:
            source.expect(count, "send")
        return self._run("allgather", (source.pointer, target.pointer, count,
                                       source.datatype), (source, target))

    def allgatherv(self, send: Buffer, recv: Buffer | None, counts: Counts,
                   displs: Counts | None = None, *,
                   datatype: AnyType | None = None) -> R:
        """Like gatherv, but all ranks get the result."""
        source, target = operands(send, recv, datatype)
        target.hold(counts, displs, "recv")
        if recv is not None:
            source.expect(counts[self.rank], "send")
        return self._run("allgatherv", (
            source.pointer, target.pointer, sizes(counts, self.size),
            sizes(displs, self.size), source.datatype), (source, target))

    def alltoall(self, send: Buffer, recv: Buffer | None = None, *,
                 datatype: AnyType | None = None) -> R:
        """Send block i of send to rank i. Block i of recv is received from rank i."""
        source, target = operands(send, recv, datatype)
        count = source.blocks(self.size, "send")
        target.expect(source.count, "recv")
        return self._run("alltoall", (source.pointer, target.pointer, count,
                                      source.datatype), (source, target))

    def alltoallv(self, send: Buffer, sendcounts: Counts, recv: Buffer | None = None,
                  recvcounts: Counts | None = None, *, senddispls: Counts | None = None,
                  recvdispls: Counts | None = None,
                  datatype: AnyType | None = None) -> R:
        """alltoall of sendcounts[i] elements to rank i, which begin at senddispls[i], and of
        recvcounts[i] from it, which go to recvdispls[i]. In place, or without recvcounts,
        those of the receives are the same as those of the sends, unless given. In place they
        apply to both directions."""
        source, target = operands(send, recv, datatype)
        if recv is None or recvcounts is None:
            recvcounts = sendcounts if recvcounts is None else recvcounts
            recvdispls = senddispls if recvdispls is None else recvdispls
        source.hold(sendcounts, senddispls, "send")
        target.hold(recvcounts, recvdispls, "recv")
        return self._run("alltoallv", (
            source.pointer, sizes(sendcounts, self.size), sizes(senddispls, self.size),
            target.pointer, sizes(recvcounts, self.size), sizes(recvdispls, self.size),
            source.datatype), (source, target))

    def neighbor_alltoallv(self, send: Buffer, dests: Sequence[int], sendcounts: Counts,
                           recv: Buffer, sources: Sequence[int], recvcounts: Counts, *,
                           senddispls: Counts | None = None, recvdispls: Counts | None = None,
                           datatype: AnyType | None = None) -> R:
        """Send sendcounts[i] elements to rank dests[i], and receive recvcounts[i] from rank
        sources[i]. The lists are this rank's own. A rank may be in one several times."""
        source, target = operands(send, recv, datatype)
        source.hold(sendcounts, senddispls, "send")
        target.hold(recvcounts, recvdispls, "recv")
        n, m = len(dests), len(sources)
        return self._run("neighbor_alltoallv", (
            source.pointer, n, list(dests), sizes(sendcounts, n), sizes(senddispls, n),
            target.pointer, m, list(sources), sizes(recvcounts, m), sizes(recvdispls, m),
            source.datatype), (source, target))

    # ---- Messages

    def send(self, buffer: Buffer, dest: int, tag: int = 0, *,
             datatype: AnyType | None = None) -> R:
        """Send a message to rank dest. Complete when the buffer may be used again."""
        there = Elements(buffer, datatype)
        return self._run("send", (there.pointer, there.count, there.datatype, dest, tag),
                         there)

    # ---- Operands of rooted collectives

    def _to(self, root: int, send: Buffer, recv: Buffer | None,
            datatype: AnyType | None) -> tuple[Elements, Elements]:
        if self.rank == root:
            return operands(send, recv, datatype)
        source = Elements(send, datatype)
        return source, source.at(NULL)

    def _from(self, root: int, send: Buffer | None, recv: Buffer | None,
              datatype: AnyType | None) -> tuple[Elements, Elements]:
        if self.rank != root:
            target = Elements(given(recv), datatype, written=True)
            return target.at(NULL), target
        if recv is None:
            source = Elements(given(send), datatype)
            return source, source.at(IN_PLACE)
        return operands(given(send), recv, datatype)
