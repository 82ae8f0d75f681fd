# SPDX-License-Identifier: BSD-3-Clause
"""Contexts: how processes meet."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ._buffers import Buffer, operands
from ._comm import Comm
from ._library import NULL, Error, Status, check, ffi, lib, log_line, made, nanoseconds
from ._operations import AnyOp
from ._ops import Combine, UserOp
from ._requests import Request
from ._types import AnyType, Datatype, Op, UserType


class Order(enum.IntEnum):
    """How much a reduction owes its user; see rcx.h."""

    SAME = 1
    RANK = 2
    UNIFORM = 3
    CANONICAL = 4


class Threads(enum.IntEnum):
    """Which threads call RCX with one context; see rcx.h."""

    SINGLE = 0
    SERIALIZED = 1
    MULTIPLE = 2


class Bootstrap(Protocol):
    """How processes exchange addresses, instead of by PMIx. What it raises fails the
    context."""

    rank: int
    size: int

    def allgather(self, part: bytes) -> bytes:
        """The parts of all ranks, which are equally long, one after another."""

    def barrier(self) -> None:
        """Returns when all ranks have called it."""


class _Callbacks:
    """A Bootstrap as rcx.h has it."""

    def __init__(self, bootstrap: Bootstrap):
        self.error: BaseException | None = None

        def guarded(call: Callable[..., None]) -> Callable[..., int]:
            def run(*arguments: Any) -> int:
                try:
                    call(*arguments)
                    return 0
                except BaseException as error:
                    self.error = error
                    return 1
            return run

        def allgather(send: Any, recv: Any, nbytes: int, _arg: Any) -> None:
            parts = bootstrap.allgather(bytes(ffi.buffer(send, nbytes)))
            if len(parts) != nbytes * bootstrap.size:
                raise ValueError(f"{bootstrap.size} parts of {nbytes} bytes were to come,"
                                 f" and {len(parts)} bytes did")
            ffi.memmove(recv, parts, len(parts))

        self._rank, self._size = bootstrap.rank, bootstrap.size
        fields = dict(ffi.typeof("rcx_bootstrap_t").fields)
        self._allgather = ffi.callback(fields["allgather"].type, guarded(allgather))
        self._barrier = ffi.callback(fields["barrier"].type,
                                     guarded(lambda _: bootstrap.barrier()))

    def fill(self, c: Any) -> None:
        """c: rcx_bootstrap_t"""
        c.rank, c.size = self._rank, self._size
        c.allgather, c.barrier = self._allgather, self._barrier


class Context:
    """The processes of a job. Made by all of them, and left by all of them: at the end of
    a `with`, or by `close()`. Where an exception ends the `with`, its communicators are
    given up, so that others get an error instead of waiting for what never comes.

    Times are seconds. A process without a launcher is a job of its own.

    >>> import rcx
    >>> with rcx.Context(timeout=30) as context:
    ...     context.world.rank < context.world.size
    True
    """

    def __init__(self, *, name: str | None = None, order: Order | None = None,
                 timeout: float | None = None, threads: Threads = Threads.MULTIPLE,
                 progress_thread: bool = False, wakeup: bool = False,
                 bootstrap: Bootstrap | None = None):
        self._handle: Any = NULL
        self._left: list[tuple[Any, Any]] = []  # requests, and what they keep
        self._lost: list[Any] = []
        self._left_comms: list[Any] = []
        self._left_ops: list[tuple[int, Any]] = []  # and what RCX calls
        self._left_types: list[int] = []
        self._made: weakref.WeakSet[Comm | Request] = weakref.WeakSet()
        self._types: weakref.WeakValueDictionary[int, UserType] = weakref.WeakValueDictionary()
        params = ffi.new("rcx_params_t *")
        params.field_mask = (lib.RCX_PARAM_LOG | lib.RCX_PARAM_THREADS
                             | lib.RCX_PARAM_WAKEUP | lib.RCX_PARAM_PROGRESS)
        params.log = log_line
        params.threads = threads
        params.wakeup, params.progress_thread = wakeup, progress_thread
        if name is not None:
            params.field_mask |= lib.RCX_PARAM_NAME
            name_text = ffi.new("char[]", name.encode())
            params.name = name_text
        if order is not None:
            params.field_mask |= lib.RCX_PARAM_ORDER
            params.order = order
        if timeout is not None:
            params.field_mask |= lib.RCX_PARAM_TIMEOUT
            params.timeout_ns = nanoseconds(timeout)
        self._bootstrap = _Callbacks(bootstrap) if bootstrap else None
        if self._bootstrap:
            params.field_mask |= lib.RCX_PARAM_BOOTSTRAP
            self._bootstrap.fill(params.bootstrap)
        try:
            self._handle = made("rcx_context_t *", lib.rcx_init, params)
        except Exception as error:
            raise error from (self._bootstrap.error if self._bootstrap else None)
        self.world_handle = lib.rcx_world(self._handle)
        self.world = Comm(self, self.world_handle)

    @property
    def handle(self) -> Any:
        """rcx_context_t *"""
        if self._handle == NULL:
            raise ValueError("the context is closed")
        return self._handle

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.close()
        elif self._handle != NULL:
            for comm in [made for made in self._made if isinstance(made, Comm)]:
                comm.abort()
            try:
                self.close()
            except Error:
                pass  # the exception that is under way says more

    def close(self) -> None:
        """Leaves, when all others do. What was not freed is."""
        if self._handle == NULL:
            return
        for made in list(self._made):
            made.end()
        self.reap(wait=True)
        check(lib.rcx_finalize(ffi.new("rcx_context_t **", self.handle)))
        self._handle = NULL
        self._lost.clear()

    def remember(self, made: Comm | Request) -> None:
        """For close(), which frees what is left."""
        self._made.add(made)

    def leave(self, request: Any, kept: Any) -> None:
        """A request that nobody keeps goes on, and so do its buffers."""
        self._left.append((request, kept))

    def keep(self, kept: Any) -> None:
        """Buffers of an operation whose communicator failed: RCX may read them until it
        has left."""
        self._lost.append(kept)

    def leave_comm(self, comm: Any) -> None:
        """A communicator that nobody keeps. It is the collector who calls: any thread."""
        self._left_comms.append(comm)

    def leave_op(self, op: int, arg: Any) -> None:
        """An op that nobody keeps; likewise."""
        self._left_ops.append((op, arg))

    def reap(self, wait: bool = False) -> None:
        """Frees what was left and is over."""
        while self._left_ops:
            lib.rcx_op_free(self._handle, ffi.new("rcx_op_t *", self._left_ops.pop()[0]))
        while self._left_types:
            lib.rcx_type_free(self._handle, ffi.new("rcx_datatype_t *", self._left_types.pop()))
        while self._left_comms:
            lib.rcx_comm_free(ffi.new("rcx_comm_t **", self._left_comms.pop()))
        done = ffi.new("int *")
        for left in self._left[:]:
            if wait:
                lib.rcx_wait(left[0])
            lib.rcx_test(left[0], done)
            if done[0]:
                self._left.remove(left)
                lib.rcx_request_free(ffi.new("rcx_request_t **", left[0]))

    # ---- Ops and types of one's own

    def op(self, combine: Combine, *, commutative: bool = False,
           exact: bool = False) -> UserOp:
        """An op: combine(dst, left, right) stores `left op right`, element by element. The
        three are memoryviews of as many elements, dst may be one of the others. What it
        raises is an `Error` on all ranks, and the cause of this rank's.

        >>> import array, rcx
        >>> def hypotenuse(dst, left, right):
        ...     for i, (a, b) in enumerate(zip(left, right)):
        ...         dst[i] = (a * a + b * b) ** 0.5
        >>> with rcx.Context() as context:
        ...     side = array.array("d", [3.0, 5.0])
        ...     context.reduce_local(side, array.array("d", [4.0, 12.0]),
        ...                          context.op(hypotenuse))
        ...     side
        array('d', [5.0, 13.0])
        """
        self.reap()
        flags = (lib.RCX_OP_COMMUTATIVE * commutative) | (lib.RCX_OP_EXACT * exact)
        return UserOp(self, combine, flags)

    def type(self, size: int) -> UserType:
        """A type of opaque elements of so many bytes, for ops of one's own."""
        self.reap()
        number = made("rcx_datatype_t", lib.rcx_type_create, self.handle, size)
        made_type = UserType(number, size)
        weakref.finalize(made_type, self._left_types.append, number)
        self._types[number] = made_type
        return made_type

    def type_of(self, number: int) -> AnyType:
        """The type of that number."""
        return self._types.get(number) or Datatype(number)

    def reduce_local(self, left: Buffer, right: Buffer, op: AnyOp = Op.SUM, *,
                     datatype: AnyType | None = None) -> None:
        """left = left op right, here and now."""
        source, target = operands(right, left, datatype)
        target.expect(source.count, "left")
        try:
            check(lib.rcx_reduce_local(self.handle, target.pointer, target.pointer,
                                       source.pointer, source.count, source.datatype, op))
        except Error as error:
            raise error from (op.take_error() if isinstance(op, UserOp) else None)

    # ---- Progress and events

    def progress(self) -> int:
        """Lets communication advance; the number of events handled."""
        return check(lib.rcx_progress(self.handle))

    def fileno(self) -> int:
        """Can be read when `progress()` has something to do (`wakeup=True`): a context may
        be registered with selectors and asyncio."""
        return int(made("int", lib.rcx_get_fd, self.handle))

    def arm(self) -> bool:
        """Before a sleep on `fileno()`: False where there is something to do first."""
        return check(lib.rcx_arm(self.handle)) == Status.OK

    # ---- The worst

    def dump(self, path: str) -> None:
        """Writes what this process waits for to a file, which rcx_trace reads."""
        check(lib.rcx_dump(self.handle, path.encode()))

    def abort(self, code: int = 1, text: str = "") -> None:
        """Ends the job, all its processes; at once, without Python's atexit."""
        check(lib.rcx_abort(self.handle, code, text.encode()))
