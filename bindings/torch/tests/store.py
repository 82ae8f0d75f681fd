# SPDX-License-Identifier: BSD-3-Clause
"""The store that rank 0 serves for its world: store.py CASE...

    reset killed                                                    with all versions of PyTorch
    unaccepted outlived functions waits strangers slow kept group forked      RCX's, before 2.1
"""

import gc
import json
import os
import random
import signal
import socket
import struct
import sys
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import rcx_torch  # pylint: disable=unused-import # registers the backend
from rcx_torch._recovery import _open_store, new_store

LIMIT = timedelta(seconds=50)  # reached only in a test that fails
SECRET = "known to all ranks"


class Job:
    """Two ranks of one process, or of a parent and its child. The address passes through a
    list."""

    size = 2

    def __init__(self, rank, box):
        self.rank, self.box = rank, box

    def bcast(self, text, _timeout):
        """Broadcast the text of rank 0."""
        if self.rank == 0:
            self.box[:] = [text]
        return self.box[0]


def raises(call, *arguments):
    """Assert that the call raises a RuntimeError, and return its text."""
    try:
        call(*arguments)
    except RuntimeError as error:
        return str(error)
    raise AssertionError(f"{call} did not raise")


def reads(connection):
    """Return the next bytes of a connection, and none if it is closed or reset."""
    try:
        return connection.recv(1)
    except ConnectionError:
        return b""


def threads():
    """Return the number of threads of this process, of Python and others."""
    return len(os.listdir("/proc/self/task"))


def descriptors():
    """Return the number of open descriptors."""
    return len(os.listdir("/proc/self/fd"))


class Child:
    """A child process that runs a function, and the parent's end of a connection to it."""

    def __init__(self, function, *arguments):
        self.end, childs_end = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self.end.close()
                function(childs_end, *arguments)
                status = 0
            except BaseException as error:  # pylint: disable=broad-except
                print(f"child: {error!r}", file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        childs_end.close()

    def status(self):
        """Wait for its end, and return its exit status, or -SIGNAL."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Relay:
    """Passes the bytes of connections on to a port of this host."""

    def __init__(self, port):
        self.to, self.near, self.far, self.threads = port, [], [], []
        self.listener = socket.create_server(("localhost", 0))
        self.port = self.listener.getsockname()[1]
        self._start(self._accept)

    def _start(self, function, *arguments):
        self.threads.append(threading.Thread(target=function, args=arguments))
        self.threads[-1].start()

    def _accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            far = socket.create_connection(("localhost", self.to))
            self.near.append(near)
            self.far.append(far)
            self._start(self._pass_on, near, far)
            self._start(self._pass_on, far, near)

    @staticmethod
    def _pass_on(source, target):
        try:
            while data := source.recv(4096):
                target.sendall(data)
        except OSError:
            pass

    def reset(self):
        """Reset all connections, as the kernel does for a process that is killed before it has
        received all data."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.threads[0].join()  # accepts no more
        for near in self.near:
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            near.shutdown(socket.SHUT_RD)
        for far in self.far:
            far.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for each in (*self.near, *self.far, self.listener):
            each.close()


def use_until_reset(parent, box):
    """A client has no thread, which a reset could end with the process. Its calls raise."""
    before = threads()
    store = new_store(Job(1, box), LIMIT)
    parent.send(b"1")
    parent.recv(1)
    assert "imed out" not in raises(store.get, "key")
    assert threads() == before, "a client has a thread"


def check_reset(client, cut):
    """cut() resets the connections of the client, which goes on."""
    assert client.end.recv(1) == b"1"
    cut()
    client.end.close()
    status = client.status()
    assert status == 0, f"the client's status is {status}"


def reset():
    """The connections of a client are reset."""
    box = []
    store = new_store(Job(0, box), LIMIT)
    store.set("key", "value")
    host, port, *others = box[0].split()
    listener = Relay(int(port))
    client = Child(use_until_reset, [" ".join([host, str(listener.port), *others])])
    check_reset(client, listener.reset)


def serve_until_killed(parent):
    """Rank 0, which may fork a child, as for a data loader."""
    box = []
    store = new_store(Job(0, box), LIMIT)
    store.set("key", "value")
    parent.sendall(box[0].encode())
    if parent.recv(1):
        child = Child(lambda _: signal.pause())
        parent.sendall(struct.pack("=i", child.pid))
    signal.pause()


def start_server():
    """Return the process of rank 0, and the address of its store."""
    server = Child(serve_until_killed)
    return server, server.end.recv(1024).decode()


def killed(is_parent=False):
    """The process that serves the store is killed. Calls that wait raise, and later ones do."""
    server, address = start_server()
    job, grandchild = Job(1, [address]), 0
    try:
        store, another = new_store(job, LIMIT), new_store(job, LIMIT)
        assert store.get("key") == another.get("key") == b"value"
        if is_parent:
            server.end.sendall(b"1")
            grandchild = struct.unpack("=i", server.end.recv(4))[0]
        killer = threading.Timer(0.1, os.kill, (server.pid, signal.SIGKILL))
        killer.start()
        for call in (store.get, another.get):
            assert "imed out" not in raises(call, "none")
        assert server.status() == -signal.SIGKILL
        assert "imed out" not in raises(store.add, "key", 1)
        raises(lambda: new_store(job, timedelta(seconds=1)).get("key"))
        killer.join()
    finally:
        if grandchild:
            os.kill(grandchild, signal.SIGKILL)


def outlived():
    """The process that serves the store is killed, and a child of it lives on."""
    killed(is_parent=True)


def unaccepted():
    """The process that serves the store is killed before it has accepted a connection."""
    server, address = start_server()
    os.kill(server.pid, signal.SIGSTOP)
    os.waitpid(server.pid, os.WUNTRACED)

    def kill():
        os.kill(server.pid, signal.SIGKILL)
        assert server.status() == -signal.SIGKILL

    check_reset(Child(use_until_reset, [address]), kill)


def two():
    """Return the store of the server, one of a client of it, and the port."""
    server, port = _open_store("localhost", 0, SECRET, LIMIT)
    return server, _open_store("localhost", port, SECRET, LIMIT)[0], port


def functions():
    """Random calls have the results that they have in PyTorch's store of one process."""
    choose = random.Random(1)
    keys, values = ["", "a", "a key", "ä"], ["", "1", "\0 x", "y" * 200000]
    mine, reference = two()[:2], dist.HashStore()
    calls = {"set": 1, "compare_set": 2, "delete_key": 0, "num_keys": -1, "get": 0}
    for _ in range(1500):
        name, key = choose.choice(list(calls)), choose.choice(keys)
        arguments = [key, *(choose.choice(values) for _ in range(calls[name]))]
        arguments = arguments[:calls[name] + 1]
        if name == "get":
            reference.compare_set(key, "", "")
            choose.choice(mine).compare_set(key, "", "")
        expected = getattr(reference, name)(*arguments)
        assert getattr(choose.choice(mine), name)(*arguments) == expected, (name, key)
    for number in [5, 0, -7, 2**62, 2**62, 2**62]:
        assert choose.choice(mine).add("number", number) == reference.add("number", number)
    assert mine[1].get("number") == reference.get("number")


def waits():
    """Waits end when the keys come, and block no other thread; if none comes, they time out."""
    server, client, _ = two()
    assert server.num_keys() == client.num_keys() == 0  # the server has a thread for each
    before = threads()
    for store in (server, client):
        assert "imed out" in raises(store.wait, ["none"], timedelta(milliseconds=50))
        store.set_timeout(timedelta(milliseconds=50))
        assert "imed out" in raises(store.get, "none")
        store.set_timeout(LIMIT)
    while threads() > before:  # those that answered have ended, or wait for the next request
        time.sleep(0.01)
    found = []
    waiting = [threading.Thread(target=lambda: found.append(client.get("a") + client.get("b"))),
               threading.Thread(target=lambda: found.append(client.wait(["a", "b"], LIMIT)))]
    for thread in waiting:
        thread.start()
    client.set("b", "2")
    client.set("a", "1")
    for thread in waiting:
        thread.join()
    assert sorted(found, key=bool) == [None, b"12"]
    adding = [threading.Thread(target=lambda: [client.add("n", 1) for _ in range(200)])
              for _ in range(8)]
    for thread in adding:
        thread.start()
    for thread in adding:
        thread.join()
    assert server.add("n", 0) == 1600


def line(value):
    """Return the bytes of a request, which is a list, or of a result."""
    return json.dumps(value).encode() + b"\n"


def strangers():
    """Connections that send anything else are closed, and others are served meanwhile."""
    _server, client, port = two()
    hello = SECRET.encode()
    for sent in [hello[:-1] + b"?" + line(["set", "/a", "1"]), b"GET / HTTP/1.1\r\n\r\n" * 9,
                 hello + b"GET / HTTP/1.1\r\n\r\n" * 9, hello + b"[" * 9999 + b"\n",
                 hello + line([]), hello + line("set"), hello + line(["no function"]),
                 hello + line(["set", "/a"]), hello + line([["set"], "/a", "1"]),
                 hello + line(["add", "/text", 1]), hello + line(["add", "/a", ""]),
                 hello + line(["__init__", "guessed"])]:
        client.set("text", "no number")
        with socket.create_connection(("localhost", port)) as other:
            other.sendall(sent)
            assert not reads(other), sent
    silent = [socket.create_connection(("localhost", port)) for _ in range(3)]
    silent[1].sendall(hello[:-1])
    silent[2].sendall(hello + line(["set", "/a", "1"])[:-1])
    assert client.num_keys() == 1
    silent[2].sendall(b"\n")
    assert silent[2].recv(100) == line(None) and client.get("a") == b"1"
    for other in silent:
        other.close()
    wrong = raises(_open_store("localhost", port, SECRET[:-1] + "?", LIMIT)[0].get, "a")
    assert "imed out" not in wrong


def slow():
    """A client that is stopped, and does not receive its results, keeps nobody waiting."""
    server, client, port = two()
    large = os.urandom(2**20).hex() * 8
    client.set("large", large)
    with socket.create_connection(("localhost", port)) as stopped:
        stopped.sendall(SECRET.encode() + line(["get", "/large", None]))
        assert client.get("large") == large.encode()
        expected = line(large)
        assert stopped.recv(len(expected), socket.MSG_WAITALL) == expected


def use_and_release(_parent):
    """Use stores, one after the other. The thread and the descriptors of each are gone then."""
    before = threads(), descriptors()
    for _ in range(3):
        server, client, _ = two()
        within = dist.PrefixStore("world", server)
        del server
        gc.collect()
        within.set("key", "value")
        assert client.get("world/key") == b"value"
        del within
        raises(client.get, "world/key")
        del client
        while (threads(), descriptors()) != before:  # the kernel removes a thread after join()
            time.sleep(0.01)


def kept():
    """A store lives as long as others use it, and then nothing is left of it."""
    assert Child(use_and_release).status() == 0


def group_outlives_names(_parent):
    """Create a world, and a group of another backend, whose C++ code calls the store."""
    box = []
    store = new_store(Job(0, box), LIMIT)
    within = dist.PrefixStore("world", store)  # as PyTorch makes one for rcx://
    dist.init_process_group("rcx", store=within, rank=0, world_size=1)
    del store, within
    gc.collect()
    numbers = torch.tensor([1, 2])
    dist.all_reduce(numbers, group=dist.new_group([0], backend="gloo"))
    assert numbers.tolist() == [1, 2]
    client = new_store(Job(1, box), LIMIT)
    assert client.num_keys() > 1
    dist.destroy_process_group()
    gc.collect()
    assert "imed out" not in raises(client.num_keys)


def group():
    """A group uses the store after the program has dropped it, and then it ends."""
    assert Child(group_outlives_names).status() == 0


def use_in_child(_parent, stores):
    """A forked child may call the store."""
    server, client = stores
    client.set("a", "1")
    assert server.add("n", 1) == 2


def release_in_child(_parent, stores):
    """A forked child has no part in the server, and does not end it."""
    stores.clear()


def forked():
    """A child of fork() leaves the server as it is."""
    stores = list(two()[:2])
    assert stores[1].add("n", 1) == 1
    for use in (use_in_child, release_in_child):
        assert Child(use, stores).status() == 0
    assert stores[1].get("a") == b"1" and stores[0].add("n", 1) == 3


def main(*cases):
    """Run the cases. At the end a store is served still, and threads wait for a key."""
    for case in cases:
        {"reset": reset, "killed": killed, "unaccepted": unaccepted, "outlived": outlived,
         "functions": functions, "waits": waits, "strangers": strangers, "slow": slow,
         "kept": kept, "group": group, "forked": forked}[case]()
        print(f"{case} held")
    store = new_store(Job(0, []), LIMIT)
    for _ in range(8):
        threading.Thread(target=store.get, args=["none"], daemon=True).start()
    time.sleep(0.1)  # until they wait
    return store


left = main(*sys.argv[1:])
