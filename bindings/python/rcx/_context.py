# SPDX-License-Identifier: BSD-3-Clause
"""Contexts: start and end of RCX, user-defined ops and types, progress."""

from __future__ import annotations

import enum
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ._buffers import Buffer, operands
from ._comm import Comm
from ._library import NULL, Error, Status, check, deadline_ns, ffi, lib, log_line, made
from ._operations import AnyOp
from ._ops import Combine, UserOp
from ._requests import Request
from ._types import AnyType, Datatype, Op, UserType


class Order(enum.IntEnum):
    """Order levels: which orders of a reduction its result may depend on; see rcx.h."""

    SAME = 1
    RANK = 2
    UNIFORM = 3
    CANONICAL = 4


class Threads(enum.IntEnum):
    """Which threads may call RCX with one context; see rcx.h."""

    SINGLE = 0
    SERIALIZED = 1
    MULTIPLE = 2


class Bootstrap(Protocol):
    """The interface by which processes exchange addresses, instead of PMIx. An exception in
    its methods makes `Context()` fail, and is the cause of its `Error`."""

    rank: int
    size: int

    def allgather(self, part: bytes) -> bytes:
        """Return the parts of all ranks, concatenated in the order of ranks. All have the same
        length."""

    def barrier(self) -> None:
        """Return when all ranks have called it."""


class _Callbacks:
    """The C callbacks of a Bootstrap."""

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
                raise ValueError(f"allgather returned {len(parts)} bytes, needs {bootstrap.size}"
                                 f" parts of {nbytes} bytes")
            ffi.memmove(recv, parts, len(parts))

        self._rank, self._size = bootstrap.rank, bootstrap.size
        fields = dict(ffi.typeof("rcx_bootstrap_t").fields)
        self._allgather = ffi.callback(fields["allgather"].type, guarded(allgather))
        self._barrier = ffi.callback(fields["barrier"].type,
                                     guarded(lambda _: bootstrap.barrier()))

    def fill(self, c: Any) -> None:
        """Set the fields of c, an rcx_bootstrap_t."""
        c.rank, c.size = self._rank, self._size
        c.allgather, c.barrier = self._allgather, self._barrier


def get_id(address: str | None = None) -> str:
    """Return the id of a new job. The process that calls it becomes rank 0; any channel may
    carry the text to the others, and each gives it to `Context(id=..., rank=..., size=...)`.
    It contains a secret: a process that knows it may join the job.

    address: where to listen, "HOST:PORT", "PORT", or "file:/PATH"; see rcx.h. Default: a free
    port.

    >>> import rcx
    >>> with rcx.Context(id=rcx.get_id("127.0.0.1:0"), rank=0, size=1) as context:
    ...     context.world.size
    1
    """
    text = NULL if address is None else ffi.new("char[]", address.encode())
    made_id = made("rcx_id_t", lib.rcx_get_id, text)
    return str(ffi.string(made_id.text).decode())


class Context:
    """The processes of a job. All of them create it, and close it together, at the end of a
    `with` statement or by `close()`. If an exception leaves the `with` statement, all
    communicators are aborted: the other ranks get an error instead of waiting.

    name: distinguishes contexts; the same on all ranks. Default: a number.
    order: the lowest order level of reductions.
    timeout: the deadline of operations, in seconds, more than 0. Default: none.
    threads: which threads may call RCX.
    progress_thread: whether a thread makes progress.
    wakeup: whether `fileno()` and `arm()` will be used.
    bootstrap: used instead of PMIx.
    settings: values of environment variables by their names, such as
        {"RCX_ERR_MODE": "peer"}. The environment wins over them.
    final_settings: the same, but they win over the environment.
    id, rank, size: start without a launcher. The processes that give the same id, of
        `get_id()`, are a job of size ranks. rank is 0 in the process that made the id.

    Without a launcher, a process is a job of one rank. Raises `Error`.

    >>> import rcx
    >>> with rcx.Context(timeout=30) as context:
    ...     context.world.rank < context.world.size
    True
    """

    created = False  # whether this process has created one, also with an error

    def __init__(self, *, name: str | None = None, order: Order | None = None,
                 timeout: float | None = None, threads: Threads = Threads.MULTIPLE,
                 progress_thread: bool = False, wakeup: bool = False,
                 bootstrap: Bootstrap | None = None, id: str | None = None,
                 rank: int | None = None, size: int | None = None,
                 settings: Mapping[str, str] | None = None,
                 final_settings: Mapping[str, str] | None = None):
        if (id is None) != (rank is None) or (id is None) != (size is None):
            raise TypeError("Context() needs id, rank and size together")
        self._handle: Any = NULL
        self._left: list[tuple[Any, Any]] = []  # requests, and their buffers
        self._lost: list[Any] = []
        self._left_comms: list[Any] = []
        self._left_ops: list[tuple[int, Any]] = []  # ops, and the objects that RCX calls back
        self._left_types: list[int] = []
        self._reaping = threading.Lock()
        self._made: weakref.WeakValueDictionary[int, Comm | Request] \
            = weakref.WeakValueDictionary()  # by id()
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
            params.timeout_ns = deadline_ns(timeout)
        self._bootstrap = _Callbacks(bootstrap) if bootstrap else None
        if self._bootstrap:
            params.field_mask |= lib.RCX_PARAM_BOOTSTRAP
            self._bootstrap.fill(params.bootstrap)
        if id is not None:
            params.field_mask |= lib.RCX_PARAM_ID
            id_text = ffi.new("rcx_id_t *")
            if len(id.encode()) >= len(id_text.text):
                raise ValueError("the id is longer than those of get_id()")
            id_text.text = id.encode()
            params.id, params.rank, params.size = id_text, rank, size
        Context.created = True
        given = [(ffi.new("char[]", key.encode()), ffi.new("char[]", value.encode()), flags)
                 for of, flags in ((settings, 0), (final_settings, lib.RCX_SETTING_FINAL))
                 for key, value in (of or {}).items()]
        if given:
            params.field_mask |= lib.RCX_PARAM_SETTINGS
            setting_list = ffi.new("rcx_setting_t[]", given)
            params.settings, params.setting_count = setting_list, len(given)
        try:
            self._handle = made("rcx_context_t *", lib.rcx_init, params)
        except Exception as error:
            raise error from (self._bootstrap.error if self._bootstrap else None)
        self.world_handle = lib.rcx_world(self._handle)
        self.world = Comm(self, self.world_handle)

    @property
    def handle(self) -> Any:
        """rcx_context_t *"""
        if self.is_closed:
            raise ValueError("the context is closed")
        return self._handle

    @property
    def is_closed(self) -> bool:
        """Whether the context is closed."""
        return bool(self._handle == NULL)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.close()
        elif not self.is_closed:
            try:
                self.abort_comms()
                self.close()
            except Error:
                pass  # the exception that left the with statement has more information

    def close(self) -> None:
        """Close the context together with the other ranks. Frees all communicators and requests."""
        if self.is_closed:
            return
        for made in self._made_now():
            made.end()
        self.reap(wait=True)
        handle = ffi.new("rcx_context_t **", self.handle)
        try:
            check(lib.rcx_finalize(handle))
        finally:
            self._handle = handle[0]  # NULL also after an error, unless the context was busy
            if self.is_closed:
                self._lost.clear()
                self.world.forget()

    def abort_comms(self) -> None:
        """Abort all communicators: their operations end with an error on all ranks."""
        for made in self._made_now():
            if isinstance(made, Comm) and not made.is_freed:
                made.abort()

    def remember(self, made: Comm | Request) -> None:
        """Register an object that close() has to free."""
        self._made[id(made)] = made

    def _made_now(self) -> list[Comm | Request]:
        """Return the objects that close() has to free. Other threads may add some meanwhile."""
        return [made for ref in self._made.valuerefs() if (made := ref()) is not None]

    def leave(self, request: Any, kept: Any) -> None:
        """Take over a request without references: it continues, and its buffers are kept."""
        self._left.append((request, kept))

    def keep(self, kept: Any) -> None:
        """Keep the buffers of an operation whose communicator failed: RCX may read them until
        the context is closed."""
        self._lost.append(kept)

    def leave_comm(self, comm: Any) -> None:
        """Take over a communicator without references, to be freed by reap(). The garbage
        collector calls this on any thread."""
        self._left_comms.append(comm)

    def leave_op(self, op: int, arg: Any) -> None:
        """Take over an op without references, likewise."""
        self._left_ops.append((op, arg))

    def reap(self, wait: bool = False) -> None:
        """Free the objects that were taken over; requests only if they are complete, or, with
        wait, after waiting. Does nothing while another thread, or a caller of this one, does it:
        it does not wait for them, as a callback that RCX runs may come here."""
        if not self._reaping.acquire(blocking=False):
            return
        try:
            self._reap(wait)
        finally:
            self._reaping.release()

    def _reap(self, wait: bool) -> None:
        while self._left_ops:
            lib.rcx_op_free(self.handle, ffi.new("rcx_op_t *", self._left_ops.pop()[0]))
        while self._left_types:
            lib.rcx_type_free(self.handle, ffi.new("rcx_datatype_t *", self._left_types.pop()))
        self._reap_requests(wait)
        while self._left_comms:
            lib.rcx_comm_free(ffi.new("rcx_comm_t **", self._left_comms.pop()))

    def _reap_requests(self, wait: bool) -> None:
        """Before communicators: the end of a `Creation` leaves one."""
        for left in self._left[:]:
            if wait:
                lib.rcx_wait(left[0])
            done = ffi.new("int *")
            lib.rcx_test(left[0], done)
            if done[0]:
                self._left.remove(left)
                self.free_request(*left)

    def free_request(self, request: Any, kept: Any) -> None:
        """Free a request, and keep its buffers if the operation has failed so that RCX may read
        them until the context is closed. Raises `Error` with `Status.BUSY` if it is active."""
        status = lib.rcx_test(request, ffi.new("int *"))
        check(lib.rcx_request_free(ffi.new("rcx_request_t **", request)))
        if lib.rcx_status_is_fatal(status):
            self.keep(kept)

    # ---- User-defined ops and types

    def op(self, combine: Combine, *, commutative: bool = False,
           exact: bool = False) -> UserOp:
        """Create a user-defined op. combine(dst, left, right) stores `left op right` in dst,
        element by element; it must be associative. The arguments are memoryviews of equal
        length; dst may be the same memory as left or right.

        commutative: whether `a op b` has the same bits as `b op a`. exact: whether the op is
        associative bit for bit. An exception in combine raises an `Error` on all ranks, and is
        its cause on this rank.

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
        """Create a datatype of opaque elements of size bytes, for user-defined ops."""
        self.reap()
        number = made("rcx_datatype_t", lib.rcx_type_create, self.handle, size)
        made_type = UserType(number, size)
        weakref.finalize(made_type, self._left_types.append, number)
        self._types[number] = made_type
        return made_type

    def type_of(self, number: int) -> AnyType:
        """Return the datatype with RCX's number."""
        return self._types.get(number) or Datatype(number)

    def reduce_local(self, left: Buffer, right: Buffer, op: AnyOp = Op.SUM, *,
                     datatype: AnyType | None = None) -> None:
        """Compute left = left op right on this rank, without communication."""
        source, target = operands(right, left, datatype)
        target.expect(source.count, "left")
        try:
            check(lib.rcx_reduce_local(self.handle, target.pointer, target.pointer,
                                       source.pointer, source.count, source.datatype, op))
        except Error as error:
            raise error from (op.take_error() if isinstance(op, UserOp) else None)

    # ---- Progress and events

    def progress(self) -> int:
        """Make progress of communication. Returns the number of events handled."""
        return check(lib.rcx_progress(self.handle))

    def fileno(self) -> int:
        """Return a file descriptor that is readable when `progress()` has work to do, for use
        with selectors and asyncio. Requires `wakeup=True`."""
        return int(made("int", lib.rcx_get_fd, self.handle))

    def arm(self) -> bool:
        """To be called before a sleep on `fileno()`. False: call `progress()` first."""
        return check(lib.rcx_arm(self.handle)) == Status.OK

    # ---- Diagnosis and abort

    def peer_failed(self, ranks: Sequence[int]) -> None:
        """Tell RCX that the processes of these ranks of the world have ended. Their communicators
        fail, and `Comm.shrink()` goes on without them. A rank that lives is excluded."""
        check(lib.rcx_peer_failed(self.handle, len(ranks), list(ranks)))

    def dump(self, path: str) -> None:
        """Write what this process waits for to the file path, which rcx_trace reads."""
        check(lib.rcx_dump(self.handle, path.encode()))

    def abort(self, code: int = 1, text: str = "") -> None:
        """End all processes of the job at once, without Python's atexit functions. code is the
        exit status; text is logged."""
        check(lib.rcx_abort(self.handle, code, text.encode()))
