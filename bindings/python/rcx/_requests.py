# SPDX-License-Identifier: BSD-3-Clause
"""Operations that go on while their caller does something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._library import NULL, Error, Status, check, ffi, lib, made, wait

if TYPE_CHECKING:
    from ._comm import Comm


@dataclass(frozen=True)
class Received:
    """What a receive got: from whom, by which tag, how many elements."""

    source: int
    tag: int
    count: int


def received(info: Any) -> Received:
    """What rcx_recv_info_t says."""
    return Received(info.source, info.tag, info.count)


class Request:
    """An operation that was started, or (persistent) that `start()` starts again and
    again. Keeps its buffers alive, also where nobody keeps it: it then goes on until it
    is over."""

    def __init__(self, handle: Any, comm: Comm, kept: Any):
        self._handle = handle
        self._comm = comm
        self._kept = kept
        self._callback: Any = None
        comm.context.remember(self)

    @property
    def handle(self) -> Any:
        """rcx_request_t *"""
        if self._handle == NULL:
            raise ValueError("the request was freed")
        return self._handle

    def start(self) -> Request:
        """Starts a persistent operation."""
        check(lib.rcx_start(self.handle), self._comm.handle)
        return self

    def test(self) -> bool:
        """Makes progress; whether the operation is over, whose error is raised."""
        done = ffi.new("int *")
        self._checked(lib.rcx_test(self.handle, done))
        return bool(done[0])

    def wait(self, timeout: float | None = None) -> bool:
        """Waits, for `timeout` seconds at most: False when they are over and the operation
        is not, which breaks nothing. Raises the operation's error."""
        status = wait(self.handle, None if timeout is None else max(0, round(timeout * 1e9)))
        return self._checked(status) != Status.IN_PROGRESS

    def received(self) -> Received:
        """What a receive got that is over."""
        return received(made("rcx_recv_info_t", lib.rcx_request_recv_info, self.handle))

    @property
    def method(self) -> str:
        """How it is carried out, as the environment would name it."""
        return str(ffi.string(lib.rcx_request_method(self.handle)).decode())

    def on_done(self, call: Callable[[Error | None], None]) -> None:
        """Has `call(error)` called when the operation is over, each time; error is None
        where all is well. On the thread that makes progress; it must not wait."""

        comm, kept = self._comm, self._kept

        def done(_request: Any, status: int, _arg: Any) -> None:
            try:
                comm.check(status, kept)
            except Error as error:
                call(error)
            else:
                call(None)

        callback = ffi.callback("rcx_callback_fn_t", done)
        check(lib.rcx_request_set_callback(self.handle, callback, NULL))
        self._callback = callback

    def free(self) -> None:
        """Frees it; RCX_ERR_BUSY where it is active."""
        if self._handle != NULL:
            check(lib.rcx_request_free(ffi.new("rcx_request_t **", self._handle)))
            self._handle, self._kept = NULL, None

    def end(self) -> None:
        """For the end of the context: waits and frees."""
        if self._handle != NULL:
            lib.rcx_wait(self._handle)
            self.free()

    def __del__(self) -> None:
        if self._handle != NULL:
            self._comm.context.leave(self._handle, (self._kept, self._callback))

    def _checked(self, status: int) -> int:
        return self._comm.check(status, self._kept)


def wait_all(requests: Sequence[Request]) -> None:
    """Waits for all, and raises the first error in their order."""
    for request in requests:
        wait(request.handle)
    for request in requests:
        request.wait()


def wait_any(requests: Sequence[Request | None]) -> int | None:
    """Waits until one is over that no call has told of, and returns its index: None where
    there is none such. Raises its error."""
    return _any(_wait_any, requests)


def test_any(requests: Sequence[Request | None]) -> int | None:
    """As `wait_any()`, without waiting: None where none is over yet."""
    return _any(lib.rcx_test_any, requests)


def _wait_any(count: int, handles: Any, index: Any) -> int:
    """rcx_wait_any() by rcx_test_any(), between two of which Python looks for signals."""
    rounds = 0
    while (status := lib.rcx_test_any(count, handles, index)) == Status.IN_PROGRESS:
        rounds += 1
        if rounds % 1000 == 0:
            time.sleep(1e-4)
    return int(status)


def _any(function: Any, requests: Sequence[Request | None]) -> int | None:
    handles = [request.handle if request else NULL for request in requests]
    index = ffi.new("size_t *", len(handles))
    status = function(len(handles), handles, index)
    found = requests[index[0]] if index[0] < len(handles) else None
    if found is None:
        check(status)
        return None
    found._checked(status)  # pylint: disable=protected-access
    return int(index[0])
