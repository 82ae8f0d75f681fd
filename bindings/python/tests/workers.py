# SPDX-License-Identifier: BSD-3-Clause
"""rcx.dask on clusters of this machine: workers.py calls | given | left | killed | restarted |
missing"""

import inspect
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import distributed
import numpy
import rcx.dask
from distributed import Client, Event, LocalCluster, wait


def cluster(size, threads=1):
    """Return a cluster of processes of this machine."""
    return LocalCluster(n_workers=size, threads_per_worker=threads, protocol="tcp://",
                        dashboard_address=None)


def total(comm, value, scale=1):
    """Return the sum of value over all ranks, with rank and process."""
    x = numpy.array([value * scale])
    comm.allreduce(x)
    return int(x[0]), comm.rank, os.getpid()


def by_session(session, value):
    """The same on the communicator of the session, in a task of its own."""
    return total(rcx.dask.comm(session), value)


def in_thread(session, value):
    """The same on another thread than the task's."""
    found = []
    comm = rcx.dask.comm(session)
    thread = threading.Thread(target=lambda: found.append(total(comm, value)))
    thread.start()
    thread.join()
    return found[0]


def ring(comm, rounds):
    """Pass messages of this call around; those of another call have another sum."""
    x = numpy.array([comm.rank + rounds])
    for _ in range(rounds):
        request = comm.nonblocking.send(x.copy(), (comm.rank + 1) % comm.size)
        comm.recv(x, (comm.rank - 1) % comm.size)
        request.wait()
    return int(x[0])


def when_set(value):
    """Return value when the event is set."""
    assert Event("gate").wait(60)
    return value


def raises(comm, victim):
    """An exception on one rank, where the others wait for it."""
    if comm.rank == victim:
        raise KeyError("of a user")
    comm.barrier()


def rejected(comm, victim):
    """An error of RCX on one rank, where the others wait for it."""
    if comm.rank == victim:
        comm.send(numpy.zeros(1), comm.size)
    comm.barrier()


def raised(kind, call, *args, **kwargs):
    """Return the exception of a call."""
    try:
        call(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"no {kind}")


def pids(client, workers):
    """Return the processes of workers."""
    found = client.run(os.getpid, workers=list(workers))
    return [found[worker] for worker in workers]


def calls():
    """Calls, sessions, subsets and errors."""
    with cluster(3, threads=2) as local, Client(local) as client:
        everyone = list(client.nthreads())
        with rcx.dask.Comms(client, verbose=True) as comms, \
                rcx.dask.Comms(client, everyone[2:0:-1], timeout=60) as pair:
            assert sorted(comms.workers) == sorted(everyone) and comms.size == 3
            assert pair.workers == (everyone[2], everyone[1])
            processes = pids(client, comms.workers)
            assert comms.run(total, [1, 2, 4], scale=10) == [
                (70, rank, process) for rank, process in enumerate(processes)]
            futures = [client.submit(int, value, workers=[worker], pure=False)
                       for value, worker in zip((5, 6), pair.workers)]
            assert [found[:2] for found in pair.run(total, futures)] == [(11, 0), (11, 1)]
            # tasks that overlap: of two sessions, and of one
            started = [comms.map(ring, [rounds] * 3) for rounds in (4, 5)]
            started.append(pair.map(ring, [3] * 2))
            found = [its.gather(futures) for its, futures in zip((comms, comms, pair), started)]
            assert found == [[(r - n) % 3 + n for r in range(3)] for n in (4, 5)] + [[4, 3]]
            # at the same time in nonblocking calls of one context, again and again
            for _ in range(20):
                started = [comms.map(ring, [rounds] * 3) for rounds in (100, 101)]
                assert [comms.gather(futures) for futures in started] == [
                    [(r - n) % 3 + n for r in range(3)] for n in (100, 101)]
            # rank 0 begins with the second call, the others with the first one
            gate = client.submit(when_set, 4, workers=comms.workers[:1])
            first = comms.map(ring, [gate, 4, 4])
            assert client.gather(comms.map(ring, [5] * 3)) == [(r - 5) % 3 + 5 for r in range(3)]
            Event("gate", client=client).set()
            assert client.gather(first) == [(r - 4) % 3 + 4 for r in range(3)]
            for task in (by_session, in_thread):
                tasks = [client.submit(task, comms.session, 1 << rank, workers=[worker])
                         for rank, worker in enumerate(comms.workers)]
                assert [found[:2] for found in client.gather(tasks)] == [(7, 0), (7, 1), (7, 2)]
            # the cause, and not what the others got
            for victim in range(3):
                error = raised(KeyError, comms.run, raises, [victim] * 3)
                assert error.args == ("of a user",)
                futures = comms.map(raises, [victim] * 3)
                assert raised(KeyError, comms.gather, futures).args == ("of a user",)
                assert [type(future.exception()) for future in futures] == [
                    KeyError if rank == victim else rcx.PeerError for rank in range(3)]
                raised(rcx.ArgumentError, comms.run, rejected, [victim] * 3)
            assert comms.run(total, [1, 1, 1])[0][0] == 3  # the session is as before
            raised(ValueError, comms.map, total, [1, 2])
            raised(ValueError, comms.gather, futures[:2])
            raised(ValueError, comms.init)
            session = comms.session
        for closed in (comms, pair):
            assert closed.size == 0
            closed.destroy()
            raised(ValueError, closed.map, total, [])
        task = client.submit(by_session, session, 1)
        assert "not in session" in str(raised(LookupError, task.result))
        raised(ValueError, rcx.dask.Comms(client, ["tcp://127.0.0.1:1"]).init)
        raised(ValueError, rcx.dask.Comms(client, everyone[:1] * 2).init)
        raised(rcx.ArgumentError, rcx.dask.Comms(client, address="nowhere").init)
        comms.init()
        assert comms.session != session and comms.run(total, [1, 1, 2])[0][0] == 4
        with Client(local, set_as_default=False) as other:  # ends before its session
            rcx.dask.Comms(other).init()
        comms.destroy()
    with LocalCluster(n_workers=3, processes=False, dashboard_address=None) as local, \
            Client(local) as client:  # in one process
        local.loop.asyncio_loop.set_default_executor(ThreadPoolExecutor(1))
        with rcx.dask.Comms(client) as comms:
            assert [found[:2] for found in comms.run(total, [1, 2, 4])] == [
                (7, 0), (7, 1), (7, 2)]
    print("calls done")


def got(_comm, *args, **kwargs):
    """Return the arguments."""
    return args, kwargs


def forget(dask_worker):
    """Keep this worker's sessions from their end."""
    dask_worker.kept = dict(rcx.dask._sessions)
    rcx.dask._sessions.clear()


def given():
    """Functions get all arguments, whatever the names of those of others; deadlines."""
    with cluster(2) as local, Client(local) as client:
        with rcx.dask.Comms(client) as comms:
            names = [*inspect.signature(client.submit).parameters,
                     *inspect.signature(rcx.dask._call).parameters, "function", "self"]
            kwargs = {name: [number] for number, name in enumerate(dict.fromkeys(names))}
            assert len(kwargs) > 15 and {"priority", "key", "session", "self"} <= kwargs.keys()
            for name, value in kwargs.items():
                assert comms.run(got, [1, 2], **{name: value}) == [
                    ((1,), {name: value}), ((2,), {name: value})], name
            assert comms.run(got, **kwargs) == [((), kwargs)] * 2
            calls_int = (int, "7")  # what Dask would call
            future = client.submit(int, 3, pure=False)
            found = comms.run(got, [calls_int, [calls_int]], [future, [future]], other=future)
            assert found == [((calls_int, 3), {"other": 3}), (([calls_int], [3]), {"other": 3})]
        for wrong in ({"timeout": 0}, {"timeout": -1}, {"start_timeout": -1}):
            assert "timeout=" in str(raised(ValueError, rcx.dask.Comms, client, **wrong))
        comms = rcx.dask.Comms(client, start_timeout=3)
        comms.init()
        client.run(forget, workers=comms.workers[1:])
        raised(rcx.DeadlineError, comms.destroy)  # one worker does not come to its end
    print("given done")


def stuck(comm):
    """Wait for a message that does not come."""
    comm.recv(numpy.zeros(1), tag=1)


def left():
    """Sessions that end while calls are in progress, by an exception and without."""
    def leave(error):
        with rcx.dask.Comms(client) as comms:
            futures.extend(comms.map(stuck))
            assert comms.run(total, [1, 2])[0][0] == 3  # the other threads are in stuck()
            if error:
                raise error

    with cluster(2, threads=2) as local, Client(local) as client:
        for error in (KeyError("of a user"), None):
            futures = []
            raised(KeyError, leave, error) if error else leave(None)
            assert all(isinstance(future.exception(), rcx.PeerError) for future in futures)
            assert len(futures) == 2
            assert not any(client.run(lambda: len(rcx.dask._sessions)).values())
    print("left done")


def dies(comm, victim):
    """A rank is killed while the others wait for it."""
    comm.barrier()
    if comm.rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.barrier()


def killed():
    """A worker is killed. The others get errors, and go on with a new session, without it and
    then with its successor."""
    with cluster(4) as local, Client(local) as client:
        with rcx.dask.Comms(client) as comms:
            old, victim = comms.workers, 2
            futures = comms.map(dies, [victim] * 4)
            others = [future for rank, future in enumerate(futures) if rank != victim]
            wait(others)
            for future in others:
                assert isinstance(future.exception(), rcx.PeerError), future
                assert victim in future.exception().ranks, future.exception().ranks
            client.cancel(futures)
            raised(rcx.PeerError, comms.run, total, [1] * 4)
        left = [worker for worker in old if worker != old[victim]]
        with rcx.dask.Comms(client, left) as comms:
            assert [found[:2] for found in comms.run(total, [1, 2, 4])] == [(7, 0), (7, 1), (7, 2)]
        client.wait_for_workers(4)
        with rcx.dask.Comms(client) as comms:
            assert old[victim] not in comms.workers
            assert comms.run(total, [1, 2, 4, 8])[3][0] == 15
            raised(rcx.PeerError, comms.run, dies, [0] * 4)
    print("killed done")


def restarted():
    """All workers are restarted while a session is open."""
    with cluster(2) as local, Client(local) as client:
        with rcx.dask.Comms(client) as comms:
            assert comms.run(total, [1, 2])[0][0] == 3
            client.restart()
            client.wait_for_workers(2)
            raised(LookupError, client.submit(by_session, comms.session, 1).result)
        with rcx.dask.Comms(client) as comms:
            assert comms.run(total, [1, 2])[0][0] == 3
    print("restarted done")


def die_in_init():
    """Let this worker die when it creates a context."""
    rcx.dask.Context = lambda **_: os.kill(os.getpid(), signal.SIGKILL)


def missing():
    """A worker dies in init(), which is an error within its deadline, and leaves nothing."""
    with cluster(3) as local, Client(local) as client:
        comms = rcx.dask.Comms(client, start_timeout=4)
        client.run(die_in_init, workers=[list(client.nthreads())[1]])
        assert "is lost" in str(raised(ConnectionError, comms.init))
        assert comms.size == 0
        client.wait_for_workers(3)
        assert not any(client.run(lambda: len(rcx.dask._sessions)).values())
        with rcx.dask.Comms(client) as comms:
            assert comms.run(total, [1, 2, 4])[0][0] == 7
    print("missing done")


if __name__ == "__main__":
    {"calls": calls, "given": given, "killed": killed, "left": left,
     "restarted": restarted, "missing": missing}[sys.argv[1]]()
