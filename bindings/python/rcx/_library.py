# SPDX-License-Identifier: BSD-3-Clause
"""Access to librcx: cffi's `ffi` and `lib`, and the conversion of errors to exceptions."""

from __future__ import annotations

import enum
import logging
import os
import threading
from typing import Any

from . import _rcx_h  # generated from rcx.h when RCX is built
from ._where import library

ffi: Any = _rcx_h.ffi
lib: Any = ffi.dlopen(os.environ.get("RCX_LIBRARY", library))
NULL: Any = ffi.NULL


class Status(enum.IntEnum):
    """Status codes of RCX's functions; see rcx.h."""

    OK = 0
    IN_PROGRESS = 1
    ARG = -1
    NOMEM = -2
    UNSUPPORTED = -3
    CONFIG = -4
    LAUNCH = -5
    TRANSPORT = -6
    TIMEOUT = -7
    MISMATCH = -8
    PEER_FAILED = -9
    COMM_FAILED = -10
    OP = -11
    BUSY = -12
    FORKED = -13
    LIMIT = -14
    INTERNAL = -15
    TRUNCATED = -16
    EXCLUDED = -17
    CANCELED = -18

    @property
    def is_fatal(self) -> bool | None:
        """Whether the communicator of an operation that ended so has failed for good. None: the
        status alone does not tell, but `Comm.failure` does.

        >>> import rcx
        >>> rcx.Status.TIMEOUT.is_fatal, rcx.Status.ARG.is_fatal, rcx.Status.MISMATCH.is_fatal
        (True, False, None)
        """
        fatal = int(lib.rcx_status_is_fatal(self))
        return None if fatal < 0 else bool(fatal)


class Error(RuntimeError):
    """An error that RCX returned. `status` is its code. `ranks` are the ranks that caused it,
    as far as the communicator knows them."""

    status: Status
    ranks: tuple[int, ...]

    def __init__(self, status: Status, text: str, ranks: tuple[int, ...] = ()):
        super().__init__(text)
        self.status = status
        self.ranks = ranks

    def __reduce__(self) -> tuple[Any, ...]:  # pickle: errors are passed between processes
        return type(self), (self.status, str(self), self.ranks)


class ArgumentError(Error, ValueError):
    """An argument is not valid. Nothing has been sent."""


class UnsupportedError(Error, TypeError):
    """RCX does not support the call, such as an op that is not defined on a datatype."""


class MemoryFullError(Error, MemoryError):
    """RCX could not allocate memory."""


class DeadlineError(Error, TimeoutError):
    """The deadline of an operation has passed."""


class PeerError(Error, ConnectionError):
    """Another process has failed or cannot be reached, or the communicator has failed before."""


class ExcludedError(Error):
    """The other ranks have agreed that this rank has failed, or too few ranks can be reached.
    The communicator has failed for good: the process ends, or opens a new `Context`."""


class MismatchError(Error):
    """The calls of the ranks do not match."""


_classes = {
    Status.ARG: ArgumentError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.NOMEM: MemoryFullError,
    Status.TIMEOUT: DeadlineError,
    Status.PEER_FAILED: PeerError,
    Status.COMM_FAILED: PeerError,
    Status.TRANSPORT: PeerError,
    Status.MISMATCH: MismatchError,
    Status.EXCLUDED: ExcludedError,
}

# ---- Conversion of errors: the text that RCX logs becomes the text of an exception

_log = logging.getLogger("rcx")
_logged = threading.local()


@ffi.callback("rcx_log_fn_t")  # type: ignore[misc]
def log_line(level: int, text: Any, _arg: Any) -> None:
    """RCX's log function. Keeps the text of an error for the exception of this thread's call,
    and passes other lines to Python's logging. An exception in here, such as
    KeyboardInterrupt, is kept for check() to raise."""
    try:
        line = ffi.string(text).decode(errors="replace")
        if level == lib.RCX_LOG_ERROR:
            _logged.error = line
            _log.debug(line)
        else:
            _log.log({lib.RCX_LOG_WARN: logging.WARNING, lib.RCX_LOG_INFO: logging.INFO}
                     .get(level, logging.DEBUG), line)
    except BaseException as error:
        _logged.raised = error


def failure(comm: Any) -> tuple[str, tuple[int, ...]]:
    """Return why comm failed, or rejected a call, and the ranks that caused it."""
    info = ffi.new("rcx_error_info_t *")
    if comm == NULL or lib.rcx_comm_error(comm, info) != Status.OK:
        return "", ()
    return (ffi.string(info.text).decode(errors="replace"),
            tuple(info.ranks[i] for i in range(info.rank_count)))


def check(status: int, comm: Any = NULL) -> int:
    """Raise an exception if status is an error, or if log_line() has kept one. Returns status."""
    raised = getattr(_logged, "raised", None)
    if raised:
        _logged.raised = None
        raise raised
    if status >= 0:
        return status
    line = getattr(_logged, "error", "")
    _logged.error = ""
    text, ranks = failure(comm)
    parts = [ffi.string(lib.rcx_status_string(status)).decode(), text]
    if line and not (text and text in line):
        parts.append(line)
    raise _classes.get(Status(status), Error)(
        Status(status), ": ".join(filter(None, parts)), ranks)


def distance(error: BaseException) -> int:
    """Return how far an exception on one of several ranks is from the cause of all: 0 is an
    exception of the user's, 1 an error of RCX, 2 one that says that the communicator has failed
    before."""
    return 0 if not isinstance(error, Error) else 1 + (error.status == Status.COMM_FAILED)


def made(ctype: str, function: Any, *arguments: Any, comm: Any = NULL) -> Any:
    """Call function, and return what it stores through its last argument, a pointer to ctype."""
    out = ffi.new(ctype + " *")
    check(function(*arguments, out), comm)
    return out[0]


def deadline_ns(seconds: float | None) -> int:
    """Convert a deadline to RCX's unit, where None is 0. Raises ValueError if it is not more
    than 0: RCX's 0 is no deadline, but Python's is one that has passed."""
    if seconds is not None and not seconds > 0:
        raise ValueError(f"timeout={seconds}: needs more than 0 seconds; None: no deadline")
    return 0 if seconds is None else max(1, round(seconds * 1e9))


def limit(seconds: float | None) -> float | None:
    """Return seconds, for which a caller waits at most; 0: it does not wait, None: no limit.
    Raises ValueError if they are negative."""
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"timeout={seconds}: needs 0 seconds or more; None: no limit")
    return seconds


_SLICE_NS = 100_000_000


def wait(request: Any, timeout_ns: int | None = None) -> int:
    """Wait for request, for timeout_ns at most, in slices of 0.1 s. Between two slices Python
    handles signals, so Ctrl-C raises KeyboardInterrupt; the operation then continues."""
    if timeout_ns is None:
        while (status := lib.rcx_wait_for(request, _SLICE_NS)) == Status.IN_PROGRESS:
            pass
        return int(status)
    while (status := lib.rcx_wait_for(request, min(timeout_ns, _SLICE_NS))) == Status.IN_PROGRESS:
        timeout_ns -= _SLICE_NS
        if timeout_ns <= 0:
            break
    return int(status)
