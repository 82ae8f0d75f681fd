# SPDX-License-Identifier: BSD-3-Clause
"""`spawn()`: processes of this machine that are the ranks of a job."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from ._context import Context, get_id
from ._library import distance, limit

_GRACE = 5.0  # seconds from SIGTERM to SIGKILL


class ProcessError(RuntimeError):
    """A process of `spawn()` has failed, and the others were ended. `rank` is its rank. If it
    raised an exception, the text has its traceback, and `__cause__` is the exception, unless
    that cannot be pickled or this process cannot unpickle it. If its result cannot be received,
    `__cause__` says why. Otherwise `exitcode` is its exit status, -N if signal N ended it."""

    rank: int
    exitcode: int | None

    def __init__(self, text: str, rank: int, exitcode: int | None = None):
        super().__init__(text)
        self.rank, self.exitcode = rank, exitcode

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.rank, self.exitcode)


# ---- In the processes of the job


class _Raised(NamedTuple):
    """An exception: its text, its traceback as text, its distance() from the cause, and the
    pickled exception, or b""."""

    text: str
    trace: str
    distance: int
    pickled: bytes

    @classmethod
    def of(cls, error: BaseException) -> _Raised:
        """Describe error."""
        try:
            pickled = pickle.dumps(error)
            pickle.loads(pickled)
        except Exception:
            pickled = b""
        return cls("".join(traceback.format_exception_only(type(error), error)).strip(),
                   "".join(traceback.format_exception(error)), distance(error), pickled)


class _Value(NamedTuple):
    """What the function returned: pickled, and whether the process has to live until it is
    unpickled, as it has resources of the process, such as sockets."""

    pickled: bytes
    has_resources: bool

    @classmethod
    def of(cls, value: Any) -> _Value:
        """Pickle value: by multiprocessing's means only if there is no other way."""
        try:
            return cls(pickle.dumps(value), False)
        except Exception:
            return cls(bytes(ForkingPickler.dumps(value)), True)


def _end_with_parent() -> None:
    """End this process if the one that started it ends without a word."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run(pipe: Connection, rank: int, size: int, function: Callable[..., Any],
         args: Sequence[Any], options: dict[str, Any]) -> None:
    """The main function of a process. It sends the id on rank 0, and then what came of it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    told = False
    try:
        if rank == 0:
            text = get_id("127.0.0.1:0")
            pipe.send(text)
        else:
            text = pipe.recv()
        with Context(id=text, rank=rank, size=size, **options) as context:
            try:
                value = function(context, *args)
            except BaseException as error:
                pipe.send(_Raised.of(error))  # before other ranks can fail because of it
                told = True
                raise
        result = _Value.of(value)
        pipe.send(result)
        if result.has_resources:
            pipe.poll(None)
    except BaseException as error:
        if not told:
            pipe.send(_Raised.of(error))
        sys.exit(1)


# ---- In the process that starts them


class _Result(NamedTuple):
    """What the function has returned on a rank."""

    value: Any


class _Unreceived(NamedTuple):
    """Why that cannot be unpickled."""

    error: BaseException


class Processes:
    """The processes of a job, which `spawn(join=False)` started. `processes` are objects of
    multiprocessing, in the order of ranks. `results` are what the function returned on each
    rank, once `join()` has returned True.
    """

    processes: list[BaseProcess]
    results: list[Any]

    def __init__(self, function: Callable[..., Any], size: int, args: Sequence[Any],
                 daemon: bool, start_method: str, options: dict[str, Any]):
        start: Any = multiprocessing.get_context(start_method)
        self.processes, self.results = [], []
        self._pipes: list[Connection] = []
        self._told: dict[int, Any] = {}
        self._open = set(range(size))  # ranks whose pipe has not ended
        self._killed: set[BaseProcess] = set()
        self._failure: ProcessError | None = None
        try:
            for rank in range(size):
                mine, theirs = start.Pipe()
                self._pipes.append(mine)
                process = start.Process(
                    target=_run, args=(theirs, rank, size, function, args, options),
                    name=f"rank {rank}", daemon=daemon)
                process.start()
                self.processes.append(process)
                theirs.close()
            self._pass_id()
        except BaseException:
            self.terminate()
            raise

    def _pass_id(self) -> None:
        """Receive the id from rank 0, and send it to the others."""
        self._receive(0)
        text = self._told.get(0)
        if isinstance(text, str):
            del self._told[0]
            for pipe in self._pipes[1:]:
                try:
                    pipe.send(text)
                except OSError:
                    pass  # it has ended: join() finds that

    def _receive(self, rank: int) -> None:
        """Receive what rank has sent, which may be its end."""
        try:
            told = self._pipes[rank].recv()
        except (EOFError, OSError):
            self._open.discard(rank)
            return
        self._told[rank] = self._unpickled(rank, told) if isinstance(told, _Value) else told

    def _unpickled(self, rank: int, told: _Value) -> _Result | _Unreceived:
        """Return a result, or why it cannot be received, and let its process end."""
        try:
            result: _Result | _Unreceived = _Result(pickle.loads(told.pickled))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            result = _Unreceived(error)
        if told.has_resources:
            try:
                self._pipes[rank].send(None)
            except OSError:
                pass  # it has ended: join() finds that
        return result

    def pids(self) -> list[int | None]:
        """Return the ids of the processes, in the order of ranks."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until all processes have ended, for timeout seconds at most. Returns whether
        they have. If one fails, ends the others and raises `ProcessError`. A process that has
        returned a socket, or another resource of its own, ends when this has received it."""
        seconds = limit(timeout)
        end = None if seconds is None else time.monotonic() + seconds
        ranks = range(len(self.processes))
        while self._failure is None:
            codes = [process.exitcode for process in self.processes]
            self._drain()  # after exit codes: what has ended sends nothing more
            failed = {rank for rank in ranks if self._has_failed(rank, codes[rank])}
            if failed:
                self._failure = self._end(failed)
            elif not any(code is None for code in codes):
                break
            else:
                left = None if end is None else max(0.0, end - time.monotonic())
                if not wait([self._pipes[rank] for rank in self._open] + [
                        process.sentinel for process, code in zip(self.processes, codes)
                        if code is None], left):
                    return False
        if self._failure:
            raise self._failure
        self.results = [self._told[rank].value for rank in ranks]
        return True

    def _drain(self) -> None:
        """Receive all that has been sent."""
        for rank in list(self._open):
            while rank in self._open and self._pipes[rank].poll():
                self._receive(rank)

    def _has_failed(self, rank: int, code: int | None) -> bool:
        """Whether rank, whose exit code is code, has told an exception, or a result that cannot
        be received, or has ended without a result."""
        told = self._told.get(rank)
        return isinstance(told, (_Raised, _Unreceived)) or (
            code is not None and (code != 0 or not isinstance(told, _Result)))

    def terminate(self) -> None:
        """End all processes that have not ended: by SIGTERM, and 5 s later by SIGKILL."""
        for process in self.processes:
            process.terminate()
        end = time.monotonic() + _GRACE
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.exitcode is None:
                self._killed.add(process)
                process.kill()
                process.join()

    def _end(self, failed: set[int]) -> ProcessError:
        """End the others, and return the error of the rank that failed first, as far as that
        can be told. A rank may fail with an error of RCX because another one has failed, so
        the order is: ranks that have ended without an exception, those with an exception
        that is not RCX's, the others."""
        ended = {rank for rank, process in enumerate(self.processes)
                 if process.exitcode is not None}
        self.terminate()
        self._drain()

        def key(rank: int) -> tuple[int, bool, int]:
            told, process = self._told.get(rank), self.processes[rank]
            if isinstance(told, _Raised):
                return 1 + told.distance, rank not in failed, rank
            if isinstance(told, _Unreceived):
                return 0, False, rank
            by_itself = self._has_failed(rank, process.exitcode) and (rank in ended or (
                process.exitcode != -signal.SIGTERM and process not in self._killed))
            return 0 if by_itself else 4, rank not in failed, rank

        first = min(range(len(self.processes)), key=key)
        return self._error(first, self.processes[first].exitcode)

    def _error(self, rank: int, code: int | None) -> ProcessError:
        told = self._told.get(rank)
        if isinstance(told, _Raised):
            error = ProcessError(f"rank {rank} raised {told.text}\n\n{told.trace}", rank)
            error.__cause__ = _unpickled_error(told.pickled)
            return error
        if isinstance(told, _Unreceived):
            why = f"{type(told.error).__name__}: {told.error}"
            error = ProcessError(f"the result of rank {rank} cannot be received: {why}", rank)
            error.__cause__ = told.error
            return error
        how = (f"was ended by {signal.Signals(-code).name}" if code and code < 0
               else f"ended with exit status {code}")
        what = "after its function had returned" if isinstance(told, _Result) else "without a result"
        return ProcessError(f"rank {rank} {how}, {what}", rank, code)


def _unpickled_error(pickled: bytes) -> BaseException | None:
    """Return an exception; None if it cannot be unpickled here."""
    try:
        found = pickle.loads(pickled)
    except Exception:
        return None
    return found if isinstance(found, BaseException) else None


def spawn(function: Callable[..., Any], nprocs: int, args: Sequence[Any] = (), *,
          join: bool = True, daemon: bool = False, start_method: str = "spawn",
          **context: Any) -> Any:
    """Run function(context, *args) in nprocs new processes of this machine, the ranks of a job.
    Each gets its `Context`, which is closed when the function returns. Returns the list of
    what the function returned, in the order of ranks.

    join: False returns `Processes` at once, to be joined later. daemon: as for
    multiprocessing.Process. start_method: "spawn", "forkserver", or "fork", which raises
    ValueError if this process has other threads of Python, or has created a `Context`, since
    a copy of it cannot use these. context: further arguments of `Context()`, such as timeout.

    function, args and results are pickled. Results are copies; only sockets and the like, which
    pickle refuses, are passed as multiprocessing does. As for any use of multiprocessing, the main module
    must be importable without side effects: `if __name__ == "__main__":`.

    If a process fails, or its result cannot be received, the others are ended, and
    `ProcessError` has the rank, and the traceback of its exception. If this process ends, also by SIGKILL, so do the others.
    """
    if nprocs < 1:
        raise ValueError(f"nprocs is {nprocs}, not 1 or more")
    if start_method == "fork":
        if Context.created:
            raise ValueError("fork: this process has created a Context; use spawn or forkserver")
        if threading.active_count() > 1:
            raise ValueError("fork: this process has other threads; use spawn or forkserver")
    processes = Processes(function, nprocs, args, daemon, start_method, context)
    if not join:
        return processes
    try:
        processes.join()
    except BaseException:  # Ctrl-C
        processes.terminate()
        raise
    return processes.results
