# SPDX-License-Identifier: BSD-3-Clause
"""librcx itself: `ffi` and `lib` as cffi makes them of rcx.h, and errors as exceptions."""

from __future__ import annotations

import enum
import logging
import os
import threading
from typing import Any

from . import _rcx_h  # made of rcx.h when RCX is built
from ._where import library

ffi: Any = _rcx_h.ffi
lib: Any = ffi.dlopen(os.environ.get("RCX_LIBRARY", library))
NULL: Any = ffi.NULL


class Status(enum.IntEnum):
    """What a function of RCX's returns; see rcx.h."""

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


class Error(RuntimeError):
    """What RCX returns as an error. `status` says which, `ranks` who is to blame, as
    far as the communicator knows."""

    status: Status
    ranks: tuple[int, ...]

    def __init__(self, status: Status, text: str, ranks: tuple[int, ...] = ()):
        super().__init__(text)
        self.status = status
        self.ranks = ranks


class ArgumentError(Error, ValueError):
    """An argument is not valid; found before anything was sent."""


class UnsupportedError(Error, TypeError):
    """Such as an op that is not defined on a type."""


class MemoryFullError(Error, MemoryError):
    """Memory ran out."""


class DeadlineError(Error, TimeoutError):
    """A deadline passed."""


class PeerError(Error, ConnectionError):
    """Another process died, or the communicator failed in an earlier call."""


class MismatchError(Error):
    """Ranks made calls that do not belong together."""


_classes = {
    Status.ARG: ArgumentError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.NOMEM: MemoryFullError,
    Status.TIMEOUT: DeadlineError,
    Status.PEER_FAILED: PeerError,
    Status.COMM_FAILED: PeerError,
    Status.TRANSPORT: PeerError,
    Status.MISMATCH: MismatchError,
}

# ---- Errors that are logged become the texts of exceptions

_log = logging.getLogger("rcx")
_logged = threading.local()


@ffi.callback("rcx_log_fn_t")  # type: ignore[misc]
def log_line(level: int, text: Any, _arg: Any) -> None:
    """An error is the text of the caller's exception; all else goes to Python's logging.
    What is raised here, such as KeyboardInterrupt, is raised by the call that logs."""
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
    """Why a communicator failed, or refused a call, and who is to blame."""
    info = ffi.new("rcx_error_info_t *")
    if comm == NULL or lib.rcx_comm_error(comm, info) != Status.OK:
        return "", ()
    return (ffi.string(info.text).decode(errors="replace"),
            tuple(info.ranks[i] for i in range(info.rank_count)))


def check(status: int, comm: Any = NULL) -> int:
    """Raises what is an error. Returns status."""
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


def made(ctype: str, function: Any, *arguments: Any, comm: Any = NULL) -> Any:
    """What function stores through its last argument, a pointer to ctype."""
    out = ffi.new(ctype + " *")
    check(function(*arguments, out), comm)
    return out[0]


def nanoseconds(seconds: float | None) -> int:
    """RCX's times, of which 0 is none."""
    return 0 if seconds is None else max(1, round(seconds * 1e9))


_SLICE_NS = 100_000_000


def wait(request: Any, timeout_ns: int | None = None) -> int:
    """rcx_wait(), or rcx_wait_for(), in slices: between two of them Python looks for
    signals, and Ctrl-C is an exception. An operation goes on then."""
    if timeout_ns is None:
        while (status := lib.rcx_wait_for(request, _SLICE_NS)) == Status.IN_PROGRESS:
            pass
        return int(status)
    while (status := lib.rcx_wait_for(request, min(timeout_ns, _SLICE_NS))) == Status.IN_PROGRESS:
        timeout_ns -= _SLICE_NS
        if timeout_ns <= 0:
            break
    return int(status)
