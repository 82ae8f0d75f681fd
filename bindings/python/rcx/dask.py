# SPDX-License-Identifier: BSD-3-Clause
"""Communicators among the workers of a Dask cluster.

    import numpy, rcx.dask
    from distributed import Client

    def total(comm, part):                       # runs on all workers at the same time
        x = numpy.array([part.sum()])
        comm.allreduce(x)
        return x[0]

    with Client("tcp://scheduler:8786") as client, rcx.dask.Comms(client) as comms:
        parts = [numpy.arange(10.0)] * comms.size
        print(comms.run(total, parts))           # a part for each rank

Each worker is a rank. All of them need this package.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import distributed
from distributed.comm import get_address_host

from ._comm import Comm
from ._context import Context, get_id
from ._library import Error, deadline_ns, distance

_TAGS = 8192  # of rcx_comm_create_group()

# ---- On workers


class _Failed(NamedTuple):
    """An exception that a function on a worker has returned: workers log the arguments of
    functions that raise, and the id is a secret."""

    error: Exception


class _Session:
    """A worker's part of a `Comms`. end_timeout: the deadline of close()."""

    def __init__(self, context: Context, end_timeout: float | None):
        self.context, self._end_timeout = context, end_timeout
        self._busy = 0  # calls in progress
        self._is_closing = False
        self._changed = threading.Condition()

    @contextmanager
    def call(self, number: int) -> Iterator[Comm]:
        """A communicator for one call of all ranks, which have given it this number. If an
        exception leaves the call, the other ranks get an error in it."""
        world = self.context.world
        with self._changed:
            if self._is_closing:
                raise LookupError("the session is ending")
            self._busy += 1
        made = None
        try:
            made = world.group(range(world.size), tag=number % _TAGS)
            with self._changed:
                if self._is_closing:  # close() may have aborted what there was before
                    made.abort()
            yield made
        except BaseException:
            if made:
                made.abort()
            raise
        finally:
            self._end(made)

    def _end(self, made: Comm | None) -> None:
        """Free the communicator of a call, but not while close() aborts it."""
        with self._changed:
            try:
                if made:
                    made.free()
            finally:
                self._busy -= 1
                self._changed.notify_all()

    def close(self, abort: bool) -> None:
        """Close the context. With abort, or if calls are in progress, operations end with an
        error on all ranks."""
        with self._changed:
            self._is_closing = True
            if abort or self._busy:
                self.context.abort_comms()
            self._changed.wait_for(lambda: not self._busy)
        self.context.world.set_timeout(self._end_timeout)
        self.context.close()


_sessions: dict[tuple[str, str], _Session] = {}  # by session, and address of the worker


def _find(session: str, worker: Any = None) -> _Session:
    address = (worker or distributed.get_worker()).address
    try:
        return _sessions[session, address]
    except KeyError:
        raise LookupError(f"worker {address} is not in session {session}: it was restarted, or"
                          " the session has ended") from None


def comm(session: str, worker: Any = None) -> Comm:
    """Return this worker's communicator of `Comms.session`, in a task or in a function of
    `Client.run()`. All tasks of the worker get the same one: operations of two tasks that run
    at the same time must not be mixed up, as they are matched by their order.

    worker: the Worker, if the process has several, and this is not a task. Raises LookupError
    if the session has ended, or the worker has been started after it.
    """
    return _find(session, worker).context.world


def _make_id(address: str | None, dask_worker: Any) -> Any:
    host = get_address_host(dask_worker.address)
    try:
        return get_id(address or (f"[{host}]:0" if ":" in host else f"{host}:0"))
    except Exception as error:
        return _Failed(error)


async def _in_thread(function: Callable[..., None], *args: Any) -> Any:
    """Run function while the worker goes on. Return None, or its exception. The function of
    each worker waits for those of the others. So each has a thread of its own: workers of one
    process share the threads of the event loop, which may be fewer than these workers."""
    pool = ThreadPoolExecutor(1, "rcx.dask")
    try:
        await asyncio.get_running_loop().run_in_executor(pool, function, *args)
    except Exception as error:
        return _Failed(error)
    finally:
        pool.shutdown(wait=False)
    return None


async def _open(session: str, text: str, ranks: dict[str, int], timeout: float | None,
                options: dict[str, Any], dask_worker: Any) -> Any:
    """Create the context of a session."""
    address = dask_worker.address

    def run() -> None:
        context = Context(id=text, rank=ranks[address], size=len(ranks), **options)
        context.world.set_timeout(timeout)
        _sessions[session, address] = _Session(context, options["timeout"])
    return await _in_thread(run)


async def _close(session: str, abort: bool, dask_worker: Any) -> Any:
    """Close the context of a session, if there is one."""
    found = _sessions.pop((session, dask_worker.address), None)
    return await _in_thread(found.close, abort) if found else None


def _call(function: Callable[..., Any], session: str, number: int, given: dict[str, Any]) -> Any:
    """A task of `Comms.map()`. What the user gives is in a dict: `Client.submit()` has keyword
    arguments of its own, and calls the first item of a tuple outside of a dict."""
    with _find(session).call(number) as its_comm:
        return function(its_comm, *given["args"], **given["kwargs"])


# ---- On the client


class Comms:
    """A context of RCX among workers of client: each is a rank. They are all workers of the
    cluster, or workers, addresses in the order of ranks. Opened by a `with` statement, or by
    `init()` and `destroy()`. If an exception leaves the `with` statement, operations in
    progress end with an error.

    client: default: the current one. It must not be asynchronous.
    timeout: the deadline of operations, in seconds. Default: none; a worker that dies is found
        without.
    start_timeout: the deadline of `init()` and `destroy()`.
    address: where the first worker listens during `init()`, as for `get_id()`. Default: a free
        port of the worker's address.
    verbose: print to stderr what is done.
    context: further arguments of `Context()`.

    `session` names it on workers, where `comm(session)` is the communicator. `workers` are the
    addresses in the order of ranks, `size` is their number. Any number may be open at a time.
    """

    session: str
    workers: tuple[str, ...]

    def __init__(self, client: Any = None, workers: Sequence[str] | None = None, *,
                 timeout: float | None = None, start_timeout: float = 60,
                 address: str | None = None, verbose: bool = False, **context: Any):
        self.client = client or distributed.get_client()
        if self.client.asynchronous:
            raise TypeError("Comms needs a client that is not asynchronous")
        self.session, self.workers = uuid.uuid4().hex, ()
        self._wanted, self._address = workers, address
        for seconds in (timeout, start_timeout):
            deadline_ns(seconds)  # raises the error here, and not on workers
        self._timeout, self._options = timeout, {"timeout": start_timeout, **context}
        self._numbers = itertools.count()
        self._verbose, self._is_open = verbose, False

    @property
    def size(self) -> int:
        """The number of ranks; 0 unless it is open."""
        return len(self.workers)

    def __enter__(self) -> Comms:
        self.init()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.destroy(abort=error is not None)

    def init(self) -> None:
        """Create a context on each worker. Raises `Error`, or ConnectionError if a worker is
        lost meanwhile; nothing is left on workers then."""
        if self._is_open:
            raise ValueError("it is open")
        there = self.client.nthreads()
        workers = tuple(there if self._wanted is None else self._wanted)
        wrong = [worker for worker in workers if worker not in there]
        if wrong or not workers or len(set(workers)) < len(workers):
            raise ValueError(f"no workers of the cluster: {wrong}" if wrong else
                             "a worker is named twice" if workers else "there are no workers")
        self.session, self.workers, self._is_open = uuid.uuid4().hex, workers, True
        try:
            self._say(f"opens among {len(workers)} workers")
            text = self._run(_make_id, self._address, workers=workers[:1])[0]
            self._run(_open, self.session, text, {at: i for i, at in enumerate(workers)},
                      self._timeout, self._options)
        except BaseException:
            self.destroy(abort=True)
            raise
        self._say("is open")

    def destroy(self, abort: bool = False) -> None:
        """Close the contexts. Calls in progress, with abort all operations, end with an error.
        Returns when their functions have ended. Workers that are lost, or were restarted, do
        not matter."""
        if not self._is_open:
            return
        workers, self.workers, self._is_open = self.workers, (), False
        if self.client.status != "running":
            return  # workers ended with their cluster, or will never hear of this
        there = self.client.nthreads()
        left = [worker for worker in workers if worker in there]
        lost = len(left) < len(workers)
        try:
            if left:
                self._run(_close, self.session, abort or lost, workers=left)
        except ConnectionError:
            pass  # a PeerError, or a worker that is lost meanwhile
        except Error:
            if not abort:
                raise
        self._say("is closed")

    def map(self, function: Callable[..., Any], /, *iterables: Iterable[Any],
            **kwargs: Any) -> list[Any]:
        """Start function(comm, *items, **kwargs) as a task on each worker, and return the
        futures in the order of ranks. Each of iterables has an item for each rank, which may
        be a future. All keyword arguments are the function's. comm is a communicator of this call alone, freed at its end, so that
        calls can overlap. If function raises an exception on a rank, the others get an error
        in comm, and other calls are not affected.

        Calls that overlap need a thread each on every worker, or a timeout: a worker may
        begin with another call than the others.
        """
        columns = [list(items) for items in iterables]
        if not self._is_open or any(len(items) != self.size for items in columns):
            raise ValueError(f"iterables need {self.size} items" if self._is_open
                             else "it is not open")
        number = next(self._numbers)
        name = getattr(function, "__name__", "call")
        return [self.client.submit(
            _call, function, self.session, number,
            {"args": [items[rank] for items in columns], "kwargs": kwargs},
            key=f"{name}-{self.session}-{number}-{rank}", workers=[worker],
            allow_other_workers=False, pure=False)
            for rank, worker in enumerate(self.workers)]

    def run(self, function: Callable[..., Any], /, *iterables: Iterable[Any],
            **kwargs: Any) -> list[Any]:
        """`map()` and `gather()`. Its futures are then released."""
        futures = self.map(function, *iterables, **kwargs)
        try:
            return self.gather(futures)
        finally:
            if self.client.status == "running":
                self.client.cancel(futures)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of futures, which one `map()` has returned. If its function raised an
        exception on a rank, raises it here, when function has ended on all workers that
        live: not the error that the other ranks then got, as `Client.gather()` may do. If a
        worker dies, this is a `PeerError`, and another `Comms` goes on with those that live.
        """
        workers = self.workers
        if len(futures) != len(workers) or not workers:
            raise ValueError("gather() needs the futures of a map(), and an open session")
        while True:
            there = self.client.nthreads()
            pending = [future for future, worker in zip(futures, workers)
                       if future.status == "pending" and worker in there]
            if not pending:
                break
            try:
                distributed.wait(pending, timeout=1)
            except (TimeoutError, distributed.TimeoutError):
                pass
        errors = [future.exception() for future in futures if future.status == "error"]
        if errors:
            raise min(errors, key=distance)  # the first of the nearest
        lost = [worker for worker, future in zip(workers, futures)
                if future.status != "finished"]
        if lost:
            raise ConnectionError(f"workers are lost: {', '.join(lost)}")
        return list(self.client.gather(futures))

    def _run(self, function: Callable[..., Any], *args: Any,
             workers: Sequence[str] | None = None) -> list[Any]:
        """Run function on workers. Return what it returns, in their order, or raise an error."""
        workers = workers or self.workers
        results = self.client.run(function, *args, workers=list(workers), on_error="return")
        for worker in workers:  # first what causes other errors
            if isinstance(results.get(worker), Exception):
                raise ConnectionError(f"worker {worker} is lost") from results[worker]
        failed = [results[worker].error for worker in workers
                  if isinstance(results[worker], _Failed)]
        if failed:
            raise min(failed, key=distance)
        return [results[worker] for worker in workers]

    def _say(self, what: str) -> None:
        if self._verbose:
            print(f"rcx.dask: session {self.session} {what}", file=sys.stderr, flush=True)
