# SPDX-License-Identifier: BSD-3-Clause
"""rcx.spawn: spawning.py returns|fails|blames|received|refused|interrupted|orphans FLAG PIDS [METHOD]

FLAG and PIDS are files of the test: what a rank waits for, and the ids of the processes.
"""

import asyncio
import os
import pickle
import signal
import socket
import sys
import threading
import time
import types

import numpy
import rcx


def total(context, value, scale):
    """Return the sum over all ranks, with rank, size and process."""
    world = context.world
    x = numpy.full(1000, float(value + world.rank))
    world.allreduce(x)
    return x * scale, world.rank, world.size, os.getpid()


def late(context):
    """Rank 1 ends last."""
    while context.world.rank == 1 and not os.path.exists(sys.argv[2]):
        time.sleep(0.01)


class Unpickled:
    """An object that cannot be unpickled."""

    def __reduce__(self):
        return exec, ("raise OSError('not here')",)


class Strange(Exception):
    """An exception that cannot be unpickled."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


async def cancel():
    """Raise CancelledError, which is no Exception."""
    asyncio.current_task().cancel()
    await asyncio.sleep(1)


def foreign(base):
    """Return a class of a module that the process that started this one does not have."""
    module = types.ModuleType("only_there")
    sys.modules["only_there"] = module
    module.Foreign = type("Foreign", (base,), {"__module__": "only_there"})
    return module.Foreign


class Opened:
    """An object that is a file when it is unpickled."""

    def __reduce__(self):
        return open, ("/no/such/file",)


def bound(context):
    """A socket, which is passed from process to process by a handle."""
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    return context.world.rank, made


def give(context, how):
    """Rank 1 returns a result that the process that started it cannot unpickle, or ends with an
    error behind its result."""
    if context.world.rank == 1:
        if how == "late":
            threading._register_atexit(os._exit, 3)
        return {"opened": Opened, "foreign": lambda: foreign(object)(), "late": int}[how]()
    return None


def fail(context, how):
    """Rank 1 fails while the others wait for it."""
    world = context.world
    pids = numpy.zeros(world.size, dtype=numpy.int64)
    world.allgather(numpy.array([os.getpid()]), pids)
    if world.rank == 0:
        with open(sys.argv[3], "w", encoding="ascii") as file:
            file.write(" ".join(map(str, pids)))
    world.barrier()
    if world.rank == 1:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "_exit":
            os._exit(3)
        elif how == "exit":
            sys.exit(0)
        elif how == "strange":
            raise Strange(1, 2)
        elif how == "result":
            return threading.Lock()
        elif how == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif how == "raise":
            raise KeyError("of a user")
        elif how == "argument":
            world.send(numpy.zeros(1), world.size)
        elif how == "cancel":
            asyncio.run(cancel())
        elif how == "interrupt":
            raise KeyboardInterrupt("of one rank")
        elif how == "foreign":
            raise foreign(Exception)("of its module")
    if how == "deaf" and world.rank == 2:
        raise KeyError("of a user")
    if how == "result":
        return None
    while True:
        world.barrier() if how != "deaf" else time.sleep(1)


def gone(pids):
    """Whether none of the processes is there: zombies count as gone."""
    def is_gone(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except FileNotFoundError:
            return True
    return all(map(is_gone, pids))


def error_of(function, *args, **kwargs):
    """Return the exception of spawn() on 3 processes, which are all gone then."""
    try:
        rcx.spawn(function, 3, args, **kwargs)
    except rcx.ProcessError as error:
        return error
    raise AssertionError("no error")


def returns(method):
    """Results, joined at once and later."""
    for size in (1, 3):
        results = rcx.spawn(total, size, (1, 2.0), timeout=60, start_method=method)
        assert len({result[3] for result in results} | {os.getpid()}) == size + 1
        for rank, (x, its_rank, its_size, _) in enumerate(results):
            assert (its_rank, its_size) == (rank, size)
            assert (x == 2.0 * sum(range(1, size + 1))).all()
    started = rcx.spawn(late, 2, join=False, start_method=method)
    assert isinstance(started, rcx.Processes) and len(set(started.pids())) == 2
    assert not started.join(timeout=0.2) and not gone(started.pids())
    with open(sys.argv[2], "w", encoding="ascii"):
        pass
    try:
        started.join(timeout=-1)
    except ValueError as error:
        assert "timeout=-1" in str(error)
    else:
        raise AssertionError("no error")
    assert started.join() and started.join() and started.results == [None, None]
    os.unlink(sys.argv[2])


def blames(method):
    """All ranks have failed before the caller looks: it is told of the first one."""
    for how, cause, text in (("raise", KeyError, "KeyError: 'of a user'"),
                             ("kill", None, "SIGKILL"),
                             ("argument", rcx.ArgumentError, "dest"),
                             ("cancel", asyncio.CancelledError, "CancelledError"),
                             ("interrupt", KeyboardInterrupt, "of one rank"),
                             ("foreign", None, "Foreign: of its module")):
        started = rcx.spawn(fail, 3, (how,), join=False, start_method=method)
        for process in started.processes:
            process.join()
        for _ in range(2):
            try:
                started.join(timeout=0)
            except rcx.ProcessError as error:
                assert (error.rank, text in str(error)) == (1, True), error
                assert type(error.__cause__) is (cause or type(None)), repr(error.__cause__)
            else:
                raise AssertionError("no error")


def fails(method):
    """Each kind of failure, of which the others do not remain."""
    def check(how, kind, code, text):
        error = error_of(fail, how, start_method=method)
        assert (error.rank, error.exitcode) == (2 if how == "deaf" else 1, code), error
        assert type(error.__cause__) is kind and text in str(error), (how, repr(error))
        with open(sys.argv[3], encoding="ascii") as file:
            pids = file.read().split()
        assert len(pids) == 3 and gone(pids), pids
        return error

    nothing = type(None)
    error = check("raise", KeyError, None, 'raise KeyError("of a user")')
    assert "rank 1 raised KeyError: 'of a user'" in str(error) and ", in fail" in str(error)
    check("kill", nothing, -signal.SIGKILL, "rank 1 was ended by SIGKILL")
    check("_exit", nothing, 3, "rank 1 ended with exit status 3")
    check("exit", SystemExit, None, "rank 1 raised SystemExit: 0")
    check("strange", nothing, None, "Strange: 1 and 2")
    check("result", TypeError, None, "cannot pickle")
    check("deaf", KeyError, None, "of a user")
    error = error_of(total, 1, 2, start_method=method, order="loud")
    assert error.__cause__ is not None and "loud" not in str(error.__cause__.args[1:])
    error = error_of(total, 1, Unpickled(), start_method=method) if method != "fork" else None
    assert error is None or error.exitcode == 1, error


def received(method):
    """Results that are received while their process lives, and those that cannot be."""
    for rank, (its_rank, made) in enumerate(rcx.spawn(bound, 2, start_method=method)):
        assert its_rank == rank and made.getsockname()[0] == "127.0.0.1"
        made.close()
    for how, kind, text in (("opened", FileNotFoundError, "/no/such/file"),
                            ("foreign", ModuleNotFoundError, "only_there")):
        error = error_of(give, how, start_method=method)
        assert error.rank == 1 and type(error.__cause__) is kind, repr(error)
        assert f"result of rank 1 cannot be received: {kind.__name__}: " in str(error), error
        assert text in str(error), error
    error = error_of(give, "late", start_method=method)
    assert (error.rank, error.exitcode) == (1, 3) and "had returned" in str(error), error


def refused():
    """Arguments that are wrong, and forks that are not safe."""
    def wrong(*args, **kwargs):
        try:
            rcx.spawn(*args, **kwargs)
        except ValueError as error:
            return str(error)
        raise AssertionError("no error")

    wrong(total, 0)
    wrong(total, 1, start_method="none")
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    assert "other threads" in wrong(total, 1, (1, 2), start_method="fork")
    end.set()
    thread.join()
    assert rcx.spawn(total, 1, (1, 2), start_method="fork")[0][1:3] == (0, 1)
    with rcx.Context():
        pass
    assert "created a Context" in wrong(total, 1, (1, 2), start_method="fork")
    assert rcx.spawn(total, 2, (1, 2))[1][1:3] == (1, 2)
    error = rcx.PeerError(rcx.Status.PEER_FAILED, "text", (1, 2))
    same = pickle.loads(pickle.dumps(error))
    assert type(same) is rcx.PeerError
    assert (same.status, same.ranks, str(same)) == (error.status, (1, 2), "text")
    same = pickle.loads(pickle.dumps(rcx.ProcessError("text", 1, 2)))
    assert (same.rank, same.exitcode, str(same)) == (1, 2, "text")


def interrupted():
    """Ctrl-C ends the processes."""
    def interrupt():
        while not os.path.exists(sys.argv[3]):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        rcx.spawn(fail, 3, ("wait",))
    except KeyboardInterrupt:
        with open(sys.argv[3], encoding="ascii") as file:
            assert gone(file.read().split())
        return
    raise AssertionError("no KeyboardInterrupt")


def orphans():
    """This process is killed; the test looks for the others."""
    rcx.spawn(fail, 3, ("wait",))


if __name__ == "__main__":
    what = sys.argv[1]
    if sys.argv[4:]:
        {"returns": returns, "fails": fails, "blames": blames,
         "received": received}[what](sys.argv[4])
    else:
        {"refused": refused, "interrupted": interrupted, "orphans": orphans}[what]()
    print(what, "done")
