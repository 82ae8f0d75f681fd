# SPDX-License-Identifier: BSD-3-Clause
"""Commands on other nodes: a server on each, and the calls that bin/ is made of.

A call is one connection. It sends a line of JSON: command, folder, environment. Back
come frames: a letter (o: output, e: errors, s: exit status), a length, the bytes. A
command ends when its caller does.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

PORT = 7000
# eth0 is for ranks, and tests make faults on it. eth1 is for commands to nodes.
DATA, CONTROL = "10.78.0", "10.79.0"
REQUESTS = "\0guest-requests"  # abstract: with_guest's line, shared by node 1's processes
FRAME = struct.Struct("!cI")
VANISHED = 255


# --- the server ---

def serve_command(connection):
    reader = connection.makefile("rb")
    line = reader.readline()
    if not line:  # the caller asked only whether somebody answers
        return
    asked = json.loads(line)
    lock = threading.Lock()

    def send(kind, data):
        with lock:
            connection.sendall(FRAME.pack(kind, len(data)) + data)

    try:
        process = subprocess.Popen(
            asked["command"], cwd=asked["folder"], env=asked["environment"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
    except OSError as error:
        send(b"e", f"{asked['command'][0]}: {error.strerror}\n".encode())
        send(b"s", b"127")
        return

    def pass_on(kind, pipe):
        while data := os.read(pipe.fileno(), 65536):
            send(kind, data)

    def end_with_caller():
        reader.read()  # until the caller closes
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    threads = [threading.Thread(target=pass_on, args=pair) for pair in
               ((b"o", process.stdout), (b"e", process.stderr))]
    for thread in (*threads, threading.Thread(target=end_with_caller, daemon=True)):
        thread.start()
    status = process.wait()
    for thread in threads:
        thread.join()
    send(b"s", str(status if status >= 0 else 128 - status).encode())


def accept(listener, serve_one):
    def serve_quietly(connection):
        with connection:
            try:
                serve_one(connection)
            except OSError:
                pass  # the caller has ended

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_quietly, args=(connection,), daemon=True).start()


def serve(address):
    listener = socket.create_server((address, PORT), backlog=64)
    threading.Thread(target=accept, args=(listener, serve_command), daemon=True).start()


# --- calls ---

def connect(node):
    return socket.create_connection((f"{CONTROL}.{node}", PORT), timeout=20)


def wait_for_all(count):
    for node in range(1, count + 1):
        while True:
            try:
                connect(node).close()
                break
            except OSError:
                time.sleep(0.1)


def receive(reader, size):
    data = reader.read(size)
    if len(data) < size:
        raise EOFError
    return data


def call(node, command, environment=None):
    """Runs a command on a node, passes its output on, and returns its exit status. A
    node that vanishes gives 255."""
    asked = {"command": command, "folder": os.getcwd(),
             "environment": dict(os.environ, **(environment or {}))}
    try:
        with connect(node) as connection:
            connection.settimeout(None)
            connection.sendall(json.dumps(asked).encode() + b"\n")
            return pass_on(connection.makefile("rb"))
    except (EOFError, OSError):
        return VANISHED


def pass_on(reader):
    while True:
        kind, size = FRAME.unpack(receive(reader, FRAME.size))
        data = receive(reader, size)
        if kind == b"s":
            return int(data)
        target = sys.stdout if kind == b"o" else sys.stderr
        target.buffer.write(data)
        target.flush()


# --- requests of node 1 to with_guest ---

def serve_requests(port):
    lock = threading.Lock()

    def serve_request(connection):
        with lock, connection.makefile("rwb", buffering=0) as stream:
            port.write(stream.readline())
            answer = b""
            while not answer.endswith(b"\n"):
                answer += port.read(1)
            stream.write(answer)

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(REQUESTS)
    listener.listen()
    threading.Thread(target=accept, args=(listener, serve_request), daemon=True).start()


def ask_host(request):
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(REQUESTS)
        stream.sendall(request.encode() + b"\n")
        return stream.makefile().readline().strip()
