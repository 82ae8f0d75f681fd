# SPDX-License-Identifier: BSD-3-Clause
"""Communicators."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from ._buffers import Buffer, Elements
from ._library import NULL, Error, Status, check, deadline_ns, failure, ffi, lib, made, wait
from ._operations import Operations
from ._ops import UserOp
from ._requests import Received, Request, received
from ._types import AnyType

if TYPE_CHECKING:
    from ._context import Context

ANY_SOURCE = -2
TAG_MAX = 0xFFFFFFF


class Failure(NamedTuple):
    """Why a communicator failed: status, the ranks that caused it as far as known, and a text."""

    status: Status
    ranks: tuple[int, ...]
    text: str


class Comparison(IntEnum):
    """What two communicators have in common: they are one, or have the same members with the same
    ranks, or the same members, or not that."""

    IDENT = 0
    CONGRUENT = 1
    SIMILAR = 2
    UNEQUAL = 3


class Started(Operations[Request]):
    """The nonblocking or persistent operations of a communicator, which return requests."""

    def __init__(self, comm: Comm, pattern: str):
        self._comm, self._pattern = comm, pattern
        self.rank, self.size = comm.rank, comm.size

    def _run(self, name: str, arguments: tuple[Any, ...], kept: Any) -> Request:
        comm = self._comm
        comm.context.reap()
        function = getattr(lib, self._pattern.format(name))
        return Request(made("rcx_request_t *", function, *arguments, comm.handle,
                            comm=comm.handle), comm, kept)

    def recv(self, buffer: Buffer, source: int = ANY_SOURCE, tag: int = 0, *,
             datatype: AnyType | None = None) -> Request:
        """Like `Comm.recv()`. `Request.received()` returns source, tag and count."""
        there = Elements(buffer, datatype, written=True)
        return self._run("recv", (there.pointer, there.count, there.datatype, source, tag),
                         there)


class Comm(Operations[None]):
    """A communicator: a group of processes that make collective calls together. Its operations
    are blocking. Those of `nonblocking` and `persistent` return requests.

    >>> import array, rcx
    >>> with rcx.Context() as context:
    ...     world = context.world
    ...     part = array.array("d", [1.0, 2.0])
    ...     world.allreduce(part)
    ...     request = world.nonblocking.allreduce(part, op=rcx.MAX)
    ...     request.wait()
    ...     part == array.array("d", [world.size, 2.0 * world.size])
    True
    True
    """

    def __init__(self, context: Context, handle: Any):
        self.context = context
        self._handle = handle
        self.rank: int = lib.rcx_comm_rank(handle)
        self.size: int = lib.rcx_comm_size(handle)
        context.remember(self)

    @property
    def handle(self) -> Any:
        """rcx_comm_t *"""
        if self._handle == NULL:
            raise ValueError("the communicator was freed")
        return self._handle

    @property
    def is_freed(self) -> bool:
        """Whether the communicator is freed."""
        return bool(self._handle == NULL)

    @property
    def nonblocking(self) -> Started:
        """The operations in nonblocking form: each call starts one and returns a `Request`."""
        return Started(self, "rcx_i{}")

    @property
    def persistent(self) -> Started:
        """The operations in persistent form, to be started by `Request.start()`."""
        return Started(self, "rcx_{}_init")

    def _run(self, name: str, arguments: tuple[Any, ...], kept: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._run_in_slices(name, arguments, kept)
        else:
            self.check(getattr(lib, "rcx_" + name)(*arguments, self.handle), kept)

    def _run_in_slices(self, name: str, arguments: tuple[Any, ...], kept: Any,
                       info: Any = None) -> None:
        """Run an operation on the main thread, which handles signals between two slices of
        the wait. After Ctrl-C the operation continues, and keeps its buffers."""
        request = ffi.new("rcx_request_t **")
        self.check(getattr(lib, "rcx_i" + name)(*arguments, self.handle, request))
        try:
            status = wait(request[0])
        except BaseException:
            self.context.leave(request[0], kept)
            raise
        if info is not None and status == Status.OK:
            check(lib.rcx_request_recv_info(request[0], info))
        if lib.rcx_request_free(request) != Status.OK:  # RCX refused to wait: it is active
            self.context.leave(request[0], kept)
        self.check(status, kept)

    def recv(self, buffer: Buffer, source: int = ANY_SOURCE, tag: int = 0, *,
             datatype: AnyType | None = None) -> Received:
        """Receive a message with this source and tag. It may have fewer elements than buffer.
        Returns its source, tag and count."""
        there = Elements(buffer, datatype, written=True)
        info = ffi.new("rcx_recv_info_t *")
        arguments = (there.pointer, there.count, there.datatype, source, tag)
        if threading.current_thread() is threading.main_thread():
            self._run_in_slices("recv", arguments, there, info)
        else:
            self.check(lib.rcx_recv(*arguments, self.handle, info), there)
        return received(info)

    def sendrecv(self, send: Buffer, dest: int, recv: Buffer, source: int = ANY_SOURCE,
                 tag: int = 0, *, recv_tag: int | None = None) -> Received:
        """Send a message and receive one at once, so that ranks may exchange messages. recv_tag:
        that of the received one, else tag. Returns its source, tag and count."""
        there = self.nonblocking.recv(recv, source, tag if recv_tag is None else recv_tag)
        try:
            sent = self.nonblocking.send(send, dest, tag)
        except Error:
            there.cancel()
            raise
        there.wait()
        sent.wait()
        return there.received()

    def iprobe(self, source: int = ANY_SOURCE, tag: int = 0) -> Received | None:
        """Make progress once, and return source, tag and bytes (as count) of a message that has
        arrived and that no receive has matched; None: there is none."""
        flag = ffi.new("int *")
        info = ffi.new("rcx_recv_info_t *")
        self.check(lib.rcx_iprobe(source, tag, self.handle, flag, info))
        return received(info) if flag[0] else None

    def check(self, status: int, kept: Any = None) -> int:
        """Raise an exception if status is an error. kept: the objects of the operation; if it
        has a `UserOp` that raised an exception, that is the cause. Returns status."""
        try:
            return check(status, self._handle)
        except Error as error:
            if kept is not None and (self._handle == NULL or self.failure):
                self.context.keep(kept)
            ops = [op for op in kept or () if isinstance(op, UserOp)] \
                if isinstance(kept, tuple) and error.status == Status.OP else []
            cause = ops[0].take_error() if ops else None
            if cause and not isinstance(cause, Exception):  # Ctrl-C in the op
                raise cause from error
            raise error from cause

    # ---- Creation of communicators

    def dup(self) -> Comm:
        """Create a communicator of the same ranks. Collective."""
        return self._made("rcx_comm_dup")

    def split(self, color: int | None, key: int = 0) -> Comm | None:
        """Create a communicator for each color, with ranks in the order of key. Returns None for
        color None. Collective."""
        if color is None:
            check(lib.rcx_comm_split(self.handle, -1, key, ffi.new("rcx_comm_t **")),
                  self.handle)
            return None
        return self._made("rcx_comm_split", color, key)

    def group(self, ranks: Sequence[int], tag: int = 0) -> Comm:
        """Create a communicator of these ranks. Only they call it. tag (0 to 8191)
        distinguishes groups that are created at the same time."""
        return self._made("rcx_comm_create_group", len(ranks), list(ranks), tag)

    def idup(self) -> Creation:
        """Start `dup()`, and return what makes the communicator meanwhile."""
        return self._begun("rcx_comm_idup")

    def isplit(self, color: int | None, key: int = 0) -> Creation:
        """Start `split()`, likewise."""
        return self._begun("rcx_comm_isplit", -1 if color is None else color, key)

    def igroup(self, ranks: Sequence[int], tag: int = 0) -> Creation:
        """Start `group()`, likewise."""
        return self._begun("rcx_comm_icreate_group", len(ranks), list(ranks), tag)

    def split_node(self, key: int = 0) -> Comm:
        """Create a communicator for each node, with ranks in the order of key. Collective."""
        return self._made("rcx_comm_split_node", key)

    def node_of(self, rank: int) -> int:
        """Return the node of a rank: ranks that share a node have the same number. Nodes are
        numbered by their lowest ranks."""
        node = ffi.new("int *")
        check(lib.rcx_comm_node_of(self.handle, rank, node), self.handle)
        return int(node[0])

    def translate(self, ranks: Sequence[int], to: Comm) -> list[int | None]:
        """Return the ranks in another communicator of the same context; None: not a member."""
        found = ffi.new("int[]", len(ranks))
        check(lib.rcx_comm_translate(self.handle, len(ranks), list(ranks), to.handle, found),
              self.handle)
        return [rank if rank >= 0 else None for rank in found]

    def compare(self, other: Comm) -> Comparison:
        """Return what the communicators have in common."""
        result = ffi.new("rcx_comparison_t *")
        check(lib.rcx_comm_compare(self.handle, other.handle, result), self.handle)
        return Comparison(result[0])

    def _made(self, function: str, *arguments: Any) -> Comm:
        return Comm(self.context, made("rcx_comm_t *", getattr(lib, function), self.handle,
                                       *arguments, comm=self.handle))

    def _begun(self, function: str, *arguments: Any) -> Creation:
        self.context.reap()
        slot = _Slot(self.context)
        return Creation(made("rcx_request_t *", getattr(lib, function), self.handle, *arguments,
                             slot.pointer, comm=self.handle), self, slot)

    def free(self) -> None:
        """Free the communicator. Not collective. Raises `ArgumentError` for the world."""
        if self._handle != NULL:
            check(lib.rcx_comm_free(ffi.new("rcx_comm_t **", self._handle)))
            self._handle = NULL

    def __del__(self) -> None:
        if self._handle != NULL and self._handle != self.context.world_handle:
            self.context.leave_comm(self._handle)

    def end(self) -> None:
        """Free the communicator, except the world, when the context is closed."""
        if self._handle != self.context.world_handle:
            self.free()

    def forget(self) -> None:
        """Drop the handle of the world, which was freed with the context."""
        self._handle = NULL

    def __enter__(self) -> Comm:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            self.abort()
        self.free()

    # ---- Settings and names

    def set(self, name: str, value: str) -> None:
        """Change a setting of operations that start from now on, by the name of an environment
        variable: the method of a collective, RCX_ORDER, RCX_CHECK, RCX_TIMEOUT, RCX_PLAN_CACHE
        or RCX_QUORUM. Collective: all ranks give the same.

        >>> import rcx
        >>> with rcx.Context() as context:
        ...     context.world.set("RCX_CHECK", "full")
        """
        check(lib.rcx_comm_set(self.handle, name.encode(), value.encode()), self.handle)

    @property
    def name(self) -> str:
        """The name that messages, logs and dumps of this process show, 63 bytes at most.

        >>> import rcx
        >>> with rcx.Context() as context:
        ...     solver = context.world.dup()
        ...     solver.name = "solver"
        ...     context.world.name, solver.name
        ('world', 'solver')
        """
        return str(ffi.string(lib.rcx_comm_name(self.handle)).decode(errors="replace"))

    @name.setter
    def name(self, name: str) -> None:
        check(lib.rcx_comm_set_name(self.handle, name.encode()))

    # ---- Deadlines and failures

    def set_timeout(self, seconds: float | None) -> None:
        """Set the deadline, in seconds, of operations that start from now on; None: no deadline.
        Raises ValueError for 0 and less, as everywhere where a deadline is given.

        >>> import rcx
        >>> with rcx.Context() as context:
        ...     context.world.set_timeout(0)
        Traceback (most recent call last):
        ValueError: timeout=0: needs more than 0 seconds; None: no deadline
        """
        check(lib.rcx_comm_set_timeout(self.handle, deadline_ns(seconds)))

    def abort(self) -> None:
        """Fail the communicator: its operations end with an error on all ranks."""
        check(lib.rcx_comm_abort(self.handle))

    @property
    def failure(self) -> Failure | None:
        """Why the communicator failed; None if it has not failed."""
        info = made("rcx_error_info_t", lib.rcx_comm_error, self.handle)
        if info.status == Status.OK:
            return None
        text, ranks = failure(self.handle)
        return Failure(Status(info.status), ranks, text)

    # ---- Recovery from failures

    def revoke(self) -> None:
        """The same as `abort()`: the operations of all ranks end, so that all can call
        `shrink()`."""
        check(lib.rcx_comm_revoke(self.handle))

    def agree(self, flags: int, timeout: float | None = None) -> int:
        """Return the bitwise AND of the flags, of 64 bits, of the ranks that took part: the
        same value on all ranks, whatever fails meanwhile, and with it `failed()`. All ranks
        that live call it. It also works on a failed communicator.

        timeout: in seconds, the same on all ranks; None: that of the communicator. A rank that
        does not call within a quarter of it is taken for failed.

        Raises `ExcludedError` if the others have agreed that this rank has failed, and
        `DeadlineError` if there is no decision yet: call it again then. Python handles Ctrl-C
        after it returns.

        >>> import rcx
        >>> with rcx.Context() as context:
        ...     bin(context.world.agree(0b101)), context.world.failed()
        ('0b101', ())
        """
        word = ffi.new("uint64_t *", flags)
        self.check(lib.rcx_comm_agree(self.handle, word, deadline_ns(timeout)))
        return int(word[0])

    def shrink(self, timeout: float | None = None) -> Comm:
        """Create a communicator of the ranks that live, in the order of their ranks. Those
        that have failed are then in `failed()` of this communicator. All ranks that live call
        it; otherwise as `agree()`. This communicator may have failed or not, and is not freed.

        >>> import rcx
        >>> with rcx.Context() as context:
        ...     context.world.revoke()
        ...     context.world.shrink().size == context.world.size
        True
        """
        return Comm(self.context, made("rcx_comm_t *", lib.rcx_comm_shrink, self.handle,
                                       deadline_ns(timeout), comm=self.handle))

    def failed(self) -> tuple[int, ...]:
        """Return the ranks that have failed by the last `agree()` or `shrink()`, ascending: the
        same on all ranks. Before the first one there are none, whatever `failure` has."""
        count, ranks = ffi.new("int *"), ffi.new("int **")
        check(lib.rcx_comm_failed(self.handle, count, ranks))
        return tuple(ranks[0][i] for i in range(count[0]))

    # ---- Memory that the ranks of a node share

    def alloc(self, nbytes: int) -> Buffer:
        """Allocate memory for buffers, which ranks of the same node read without a copy. For
        NumPy: `numpy.frombuffer(comm.alloc(8 * n))`. The memory is freed by `dealloc()`, or
        when the context is closed, and must not be accessed afterwards. Collective."""
        pointer = made("void *", lib.rcx_mem_alloc, self.handle, nbytes, comm=self.handle)
        block: Buffer = ffi.buffer(pointer, nbytes)
        return block

    def peers(self, memory: Buffer) -> list[Buffer | None]:
        """Return the blocks of all ranks, mapped in this process, to read and write. `memory`
        is this rank's block, from `alloc()`; all must have its length. None: a block that
        cannot be mapped. The caller must order the accesses. Collective."""
        places = ffi.new("void *[]", self.size)
        check(lib.rcx_mem_peers(self.handle, ffi.from_buffer(memory), places), self.handle)
        nbytes = memoryview(memory).nbytes
        return [ffi.buffer(place, nbytes) if place else None for place in places]

    def dealloc(self, memory: Buffer) -> None:
        """Free memory from `alloc()`."""
        check(lib.rcx_mem_free(self.handle, ffi.from_buffer(memory)))


class _Slot:
    """Where RCX stores a communicator. It is kept as long as the request."""

    def __init__(self, context: Context):
        self.context = context
        self.pointer = ffi.new("rcx_comm_t **")

    def take(self) -> Any:
        """Return the communicator, once, or NULL."""
        handle, self.pointer[0] = self.pointer[0], NULL
        return handle

    def __del__(self) -> None:
        if self.pointer[0] != NULL:
            self.context.leave_comm(self.take())


class Creation(Request):
    """A communicator in the making: a request of `Comm.idup()`, `isplit()` or `igroup()`. What
    `get()` has not returned is freed.

    >>> import rcx
    >>> with rcx.Context() as context:
    ...     making = context.world.idup()
    ...     with making.get() as copy:
    ...         copy.size
    1
    """

    def __init__(self, handle: Any, comm: Comm, slot: _Slot):
        super().__init__(handle, comm, slot)
        self._slot = slot

    def get(self) -> Comm | None:
        """Wait for the communicator and return it, once. None if this rank is in none."""
        self.wait()
        handle = self._slot.take()
        return None if handle == NULL else Comm(self._comm.context, handle)

    def end(self) -> None:
        """Wait, and free. Called when the context is closed."""
        super().end()
        handle = self._slot.take()
        if handle != NULL:
            lib.rcx_comm_free(ffi.new("rcx_comm_t **", handle))
