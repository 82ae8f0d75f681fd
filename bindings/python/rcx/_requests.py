# SPDX-License-Identifier: BSD-3-Clause
"""Requests: nonblocking and persistent operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._library import NULL, Error, Status, check, ffi, lib, limit, made, wait

if TYPE_CHECKING:
    from ._comm import Comm


@dataclass(frozen=True)
class Received:
    """A received message: source rank, tag, and number of elements."""

    source: int
    tag: int
    count: int


def received(info: Any) -> Received:
    """Convert rcx_recv_info_t."""
    return Received(info.source, info.tag, info.count)


class Request:
    """A nonblocking operation, or a persistent one, which `start()` starts any number of
    times. Keeps its buffers alive. If the last reference to the request is dropped, the
    operation and its buffers live until it is complete."""

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
        """Start a persistent operation. Returns the request."""
        check(lib.rcx_start(self.handle), self._comm.handle)
        return self

    def test(self) -> bool:
        """Make progress, and return whether the operation is complete. Raises its error."""
        done = ffi.new("int *")
        self._checked(lib.rcx_test(self.handle, done))
        return bool(done[0])

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for completion, for `timeout` seconds at most (0: does not wait, None: no limit).
        Returns False if the operation is not complete by then; it continues. Raises its error,
        and ValueError for a negative timeout."""
        seconds = limit(timeout)
        status = wait(self.handle, None if seconds is None else round(seconds * 1e9))
        return self._checked(status) != Status.IN_PROGRESS

    def received(self) -> Received:
        """Return source, tag and count of a completed receive."""
        return received(made("rcx_recv_info_t", lib.rcx_request_recv_info, self.handle))

    def cancel(self) -> None:
        """Cancel a receive. If no message has matched it, waiting for it raises an `Error` with
        `Status.CANCELED`; else it completes with its message."""
        check(lib.rcx_cancel(self.handle), self._comm.handle)

    @property
    def method(self) -> str:
        """The method that executes the operation, such as "ring:segment=131072"."""
        return str(ffi.string(lib.rcx_request_method(self.handle)).decode())

    def on_done(self, call: Callable[[Error | None], None]) -> None:
        """Call `call(error)` at each completion of the operation, or at once if it is complete.
        error is None or an `Error`. It runs on the thread that makes progress, and must not
        wait."""

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
        """Free the request. Raises `Error` with `Status.BUSY` if it is active."""
        if self._handle != NULL:
            self._comm.context.free_request(self._handle, self._kept)
            self._handle, self._kept = NULL, None

    def end(self) -> None:
        """Wait, and free. Called when the context is closed."""
        if self._handle != NULL:
            lib.rcx_wait(self._handle)  # free() looks at its status
            self.free()

    def __del__(self) -> None:
        if self._handle != NULL:
            self._comm.context.leave(self._handle, (self._kept, self._callback))

    def _checked(self, status: int) -> int:
        return self._comm.check(status, self._kept)


def wait_all(requests: Sequence[Request]) -> None:
    """Wait until all requests are complete. Raises the first error in the order of requests."""
    for handle in [request.handle for request in requests]:
        wait(handle)
    _raise_first(requests)


def test_all(requests: Sequence[Request]) -> bool:
    """Make progress once, and return whether all requests are complete. If so, raises the first
    error in the order of requests."""
    done = ffi.new("int *")
    status = lib.rcx_test_all(len(requests), [request.handle for request in requests], done)
    if done[0]:
        _raise_first(requests)
    check(status)
    return bool(done[0])


def _raise_first(requests: Sequence[Request]) -> None:
    """Raise the first error of requests that are complete. The buffers of the others are safe
    as well: a request looks at its status when it is freed."""
    for request in requests:
        request.wait()


def wait_any(requests: Sequence[Request | None]) -> int | None:
    """Wait until a request is complete, and return its index. Skips None, and requests whose
    completion has been returned before. Returns None if no other request is left. Raises the
    error of the completed request."""
    return _any(_wait_any, requests)


def test_any(requests: Sequence[Request | None]) -> int | None:
    """Like `wait_any()`, but does not wait. Returns None if no request is complete."""
    return _any(lib.rcx_test_any, requests)


def _wait_any(count: int, handles: Any, index: Any) -> int:
    """Do what rcx_wait_any() does by calls of rcx_test_any(). Python handles signals between
    two calls."""
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
