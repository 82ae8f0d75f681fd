# SPDX-License-Identifier: BSD-3-Clause
"""A store of torch.distributed for PyTorch before 2.1. In these versions each client of
TCPStore has a thread, which ends its process if the process that serves the store is killed
(docs/dev/quirks.md). Here clients have no thread, and that is an exception in their calls.

A connection begins with the secret of the store. Then requests and results alternate, each a
line of JSON. A request is a list of a function's name and arguments; values are Latin-1.
"""

from __future__ import annotations

import hmac
import json
import os
import select
import socket
import threading
import time
import weakref
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from . import _C

# A child of fork() closes the sockets of its parent: their peers see the end of the parent
# while the child lives on.
_sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
_accepting = threading.Lock()


def _close_in_child() -> None:
    for each in list(_sockets):
        if each.fileno() >= 0:
            os.close(each.detach())
    _accepting.release()


os.register_at_fork(before=_accepting.acquire, after_in_parent=_accepting.release,
                    after_in_child=_close_in_child)


class _Server:
    """Keys and values, a thread that accepts connections, and one for each connection, which
    answers its requests. They end with close()."""

    def __init__(self, secret: str) -> None:
        both = socket.has_dualstack_ipv6()
        self._listener = socket.create_server(
            ("", 0), family=socket.AF_INET6 if both else socket.AF_INET, dualstack_ipv6=both,
            backlog=socket.SOMAXCONN)
        self._listener.setblocking(False)
        _sockets.add(self._listener)
        self.port: int = self._listener.getsockname()[1]
        self._secret, self._pid, self._is_closed = secret.encode(), os.getpid(), False
        self._connections: set[socket.socket] = set()
        self._values: dict[str, str] = {}
        self._changed = threading.Condition()
        self._functions: dict[str, Any] = {each.__name__: each for each in (
            self.set, self.get, self.add, self.compare_set, self.delete, self.check, self.wait,
            self.count)}
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End the threads and connections. A child of fork() has none, and one of the threads may
        have held the lock."""
        if os.getpid() != self._pid:
            return
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for each in [self._listener, *self._connections]:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already

    def _accept(self) -> None:
        polled = select.poll()
        polled.register(self._listener)
        while not self._is_closed:
            polled.poll()
            try:
                with _accepting:
                    connection = self._listener.accept()[0]
                    _sockets.add(connection)
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()
            except (OSError, RuntimeError):  # no descriptors, memory or threads are left
                time.sleep(0.01)
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        self._connections.add(connection)
        try:
            with connection, connection.makefile("rb") as stream:
                is_ours = hmac.compare_digest(stream.read(len(self._secret)), self._secret)
                while is_ours and not self._is_closed:
                    name, *arguments = json.loads(stream.readline())
                    with self._changed:
                        result = self._functions[name](*arguments)
                    connection.sendall(json.dumps(result).encode() + b"\n")
        except Exception:  # pylint: disable=broad-except
            pass  # the client has gone or given up, or a request is malformed
        finally:
            self._connections.discard(connection)

    # These functions are requests, and run with the lock.

    def set(self, key: str, value: str) -> None:
        self._values[key] = value
        self._changed.notify_all()

    def get(self, key: str, limit: float | None) -> str:
        self.wait([key], limit)
        return self._values[key]

    def add(self, key: str, value: int) -> int:
        """A key that does not exist counts as 0. The sum has 64 bits."""
        total = (int(self._values.get(key, 0)) + value + 2**63) % 2**64 - 2**63
        self.set(key, str(total))
        return total

    def compare_set(self, key: str, expected: str, desired: str) -> str:
        """As TCPStore: a key that does not exist counts as empty, but the result is the expected
        value then, even if it is another."""
        if self._values.get(key, "") == expected:
            self.set(key, desired)
        return self._values.get(key, expected)

    def delete(self, key: str) -> bool:
        return self._values.pop(key, None) is not None

    def check(self, keys: list[str]) -> bool:
        return all(key in self._values for key in keys)

    def wait(self, keys: list[str], limit: float | None) -> None:
        """After the limit the client is no longer there."""
        self._changed.wait_for(lambda: self._is_closed or self.check(keys), limit)
        if self._is_closed or not self.check(keys):
            raise TimeoutError

    def count(self) -> int:
        return len(self._values)


class _Store(dist.Store):
    """The functions that PyTorch's C++ calls. A connection is kept for later calls, unless an
    error occurs; each call of several threads has its own. A timeout of 0 is none."""

    def __init__(self, host: str, port: int, secret: str, timeout: timedelta,
                 server: _Server | None = None) -> None:
        super().__init__()
        self.set_timeout(timeout)
        self._address, self._secret = (host, port), secret.encode()
        if server:
            # at exit threads may wait in C++, and must not be woken: they would abort the process
            weakref.finalize(self, server.close).atexit = False
        self._idle: list[socket.socket] = []
        self._idle.append(self._take_connection(timeout.total_seconds() or None))

    def _take_connection(self, limit: float | None) -> socket.socket:
        try:
            while (connection := self._idle.pop()).fileno() < 0:
                pass  # it was of the parent of fork()
        except IndexError:
            connection = socket.create_connection(self._address, limit)
            _sockets.add(connection)
            connection.sendall(self._secret)
        return connection

    def _exchange(self, request: list[Any], limit: float | None) -> Any:
        connection = self._take_connection(limit)
        try:
            connection.settimeout(limit)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline()
            if not line.endswith(b"\n"):
                raise ConnectionError("it has closed it")
            result = json.loads(line)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return result

    def _call(self, name: str, *arguments: Any, timeout: timedelta | None = None) -> Any:
        limit = (self.timeout if timeout is None else timeout).total_seconds() or None
        if name in ("get", "wait"):
            arguments = *arguments, limit and limit + 1  # the server gives up after the client
        try:
            return self._exchange([name, *arguments], limit)
        except socket.timeout:
            reason = "Timed out waiting"  # users of torch.distributed search for these words
        except (OSError, ValueError) as error:
            reason = f"no connection to the process that serves the store: {error}"
        raise RuntimeError(f"rcx: store, {name} {arguments[:1]}: {reason}")

    def set(self, key: str, value: bytes) -> None:
        self._call("set", key, value.decode("latin-1"))

    def get(self, key: str) -> bytes:
        return str(self._call("get", key)).encode("latin-1")

    def add(self, key: str, value: int) -> int:
        return int(self._call("add", key, value))

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        values = (bytes(each).decode("latin-1") for each in (expected, desired))
        return str(self._call("compare_set", key, *values)).encode("latin-1")

    def deleteKey(self, key: str) -> bool:  # pylint: disable=invalid-name
        return bool(self._call("delete", key))

    def getNumKeys(self) -> int:  # pylint: disable=invalid-name
        return int(self._call("count"))

    def check(self, keys: list[str]) -> bool:
        return bool(self._call("check", keys))

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        self._call("wait", keys, timeout=timeout)


def open_store(host: str, port: int, secret: str, timeout: timedelta) -> tuple[dist.Store, int]:
    """Return the store at host and port, and the port. Port 0: a new one, which this process
    serves while the store is used. Several threads may call it at once, also in a child of
    fork(). Errors are RuntimeError."""
    try:
        server = None if port else _Server(secret)
        port = server.port if server else port
        return _C.KeptStore(_Store(host, port, secret, timeout, server)), port
    except OSError as error:
        raise RuntimeError(f"rcx: store: {error}") from None
