# SPDX-License-Identifier: BSD-3-Clause
"""What a guest runs after init: it sets up the networks, serves commands from other
nodes, and on node 1 runs the command that with_guest was given."""

import json
import os
import subprocess
import sys
import threading

sys.dont_write_bytecode = True

import nodes  # noqa: E402

PORTS = "/sys/class/virtio-ports"


def run(*command):
    subprocess.run(command, check=True)


def set_up_network(node, count, rxe):
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    run("ip", "link", "set", "lo", "up")
    run("modprobe", "virtio_net")
    for device, network in (("eth0", nodes.DATA), ("eth1", nodes.CONTROL)):
        run("ip", "address", "add", f"{network}.{node}/24", "dev", device)
        run("ip", "link", "set", device, "up")
    if rxe:
        run("modprobe", "-a", "rdma_rxe", "ib_uverbs", "rdma_ucm")
        run("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")
    with open("/etc/hosts", "w") as hosts:
        print("127.0.0.1 localhost", file=hosts)
        for other in range(1, count + 1):
            print(f"{nodes.DATA}.{other} n{other}", file=hosts)
    with open("/proc/sys/kernel/hostname", "w") as name:
        name.write(f"n{node}")


def set_environment(given):
    build = given["build"]
    os.environ.update(given["environment"], HOME="/tmp", LC_ALL="C.UTF-8",
                      GUEST_NODES=str(given["nodes"]), GUEST_BUILD=build,
                      GUEST_SCRATCH=given["scratch"])
    os.environ["PATH"] = ":".join(
        [f"{given['guest']}/bin", f"{build}/tools", f"{build}/tests/job",
         os.environ["PATH"]])


def pump(source, target):
    while data := os.read(source.fileno(), 65536):
        target.write(data)
    target.close()


def open_ports():
    """A port is opened once, and by one process."""
    run("modprobe", "virtio_console")
    ports = {}
    while len(ports) < 3:  # they appear one after the other, in steps
        for device in os.listdir(PORTS):
            try:
                with open(f"{PORTS}/{device}/name") as f:
                    name = f.read().strip()
                if name not in ports:
                    ports[name] = open(f"/dev/{device}", "r+b", buffering=0)
            except FileNotFoundError:
                pass
    return ports


def run_command(given, ports):
    command = given["command"]
    if given["ranks"] > 0:
        count = given["ranks"] * given["nodes"]
        command = ["ranks", "-k", "-n", str(count), *command]
    try:
        done = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=given["folder"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        ports["err"].write(f"with_guest: {command[0]}: {error.strerror}\n".encode())
        return 127
    threads = [threading.Thread(target=pump, args=pair) for pair in
               ((done.stdout, ports["out"]), (done.stderr, ports["err"]))]
    for thread in threads:
        thread.start()
    status = done.wait()
    for thread in threads:
        thread.join()
    return status if status >= 0 else 128 - status


def main():
    words = dict(word.split("=", 1) for word in open("/proc/cmdline").read().split()
                 if "=" in word)
    with open(f"{words['scratch']}/guest.json") as f:
        given = dict(json.load(f), **words)
    node = int(words["node"])
    set_up_network(node, given["nodes"], given["rxe"])
    set_environment(given)
    nodes.serve(f"{nodes.CONTROL}.{node}")
    if node > 1:
        threading.Event().wait()
    ports = open_ports()
    nodes.serve_requests(ports["ask"])
    nodes.wait_for_all(given["nodes"])
    status = run_command(given, ports)
    nodes.ask_host(f"exit {status}")
    threading.Event().wait()


main()
