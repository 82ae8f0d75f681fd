# SPDX-License-Identifier: BSD-3-Clause
"""The QEMU processes: one for each guest, and one without a machine that connects the
guests' networks. They end with the process that started them."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading

NETWORKS = ("data", "control")  # eth0 and eth1 of each guest
PR_SET_PDEATHSIG = 1
CONSOLE_LINES = 60
libc = ctypes.CDLL(None)


def end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Emulator:
    """A process of QEMU's, with its monitor."""

    def __init__(self, bed, log, arguments, sockets=()):
        ours, theirs = socket.socketpair()
        passed = [theirs, *sockets]
        command = [bed.found("qemu-system-x86_64"),
                   "-nodefaults", "-display", "none",
                   "-chardev", f"socket,id=monitor,fd={theirs.fileno()}",
                   "-mon", "chardev=monitor,mode=readline", *arguments]
        with open(log, "w") as printed:
            self.process = subprocess.Popen(
                command, env=bed.environment(), stdin=subprocess.DEVNULL,
                stdout=printed, stderr=printed,
                pass_fds=[end.fileno() for end in passed], preexec_fn=end_with_parent)
        for end in passed:
            end.close()
        self.lines = ours
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        while self.lines.recv(4096):
            pass

    def monitor(self, command):
        self.lines.sendall(command.encode() + b"\n")

    def end(self):
        self.process.kill()
        self.process.wait()


def port(scratch, network, node):
    """An end of a network: a socket with a name, so that no address is used."""
    return f"addr.type=unix,addr.path={scratch}/{network}.{node}"


def start_switch(bed, scratch, nodes):
    """A QEMU without a machine, whose hubs connect the guests."""
    arguments = ["-machine", "none"]
    for hub, network in enumerate(NETWORKS):
        for node in range(1, nodes + 1):
            name = f"{network}{node}"
            arguments += [
                "-netdev", f"stream,id={name},server=on,{port(scratch, network, node)}",
                "-netdev", f"hubport,id={name}h,hubid={hub},netdev={name}"]
    switch = Emulator(bed, f"{scratch}/qemu.switch", arguments)
    for network in NETWORKS:
        for node in range(1, nodes + 1):
            while not os.path.exists(f"{scratch}/{network}.{node}"):
                if switch.process.poll() is not None:
                    raise SystemExit("with_guest: QEMU makes no network")
    return switch


def network_arguments(scratch, node):
    arguments = []
    for number, network in enumerate(NETWORKS):
        arguments += [
            "-netdev", f"stream,id={network},server=off,{port(scratch, network, node)}",
            "-device", f"virtio-net-pci,id={network}card,netdev={network},"
            f"mac=52:54:00:00:{number:02x}:{node:02x},romfile="]
    return arguments


def numa_arguments(given):
    """Equal memory on each NUMA node, and the cores in blocks."""
    arguments = ["-smp", f"{given.cores},sockets={given.numa}"
                 if given.cores % given.numa == 0 else str(given.cores)]
    if given.numa == 1:
        return arguments
    for node in range(given.numa):
        first = node * given.cores // given.numa
        last = (node + 1) * given.cores // given.numa - 1
        arguments += [
            "-object", f"memory-backend-ram,id=m{node},size={given.memory // given.numa}M",
            "-numa", f"node,nodeid={node},memdev=m{node},cpus={first}-{last}"]
    return arguments


def share(tag, path, read_only):
    access = "readonly=on" if read_only else "readonly=off"
    return ["-fsdev", f"local,id={tag},path={path},security_model=none,{access},"
            "multidevs=remap", "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def guest_arguments(given, bed, scratch, node):
    guest = os.path.dirname(os.path.realpath(__file__))
    top = os.path.dirname(os.path.dirname(guest))
    words = ["console=ttyS0", "no_timer_check", "tsc=reliable", "quiet", "panic=-1",
             "net.ifnames=0", f"node={node}", f"guest={guest}", f"scratch={scratch}",
             f"top={top}", f"folder={os.getcwd()}", f"build={given.build}",
             f"bed={os.path.dirname(bed.root)}"]
    data = f"{bed.root}/usr/share"
    memory = given.memory // given.numa * given.numa
    return ["-L", f"{data}/qemu", "-L", f"{data}/seabios",
            "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max",
            "-m", f"{memory}M", *numa_arguments(given),
            "-serial", f"file:{scratch}/console.{node}", "-no-reboot",
            "-kernel", bed.kernel, "-initrd", bed.initramfs, "-append", " ".join(words),
            "-device", "virtio-rng-pci", *share("host", "/", True),
            *share("build", given.build, False), *share("scratch", scratch, False),
            *network_arguments(scratch, node)]


def copy(source, target):
    """Passes on what a guest prints, as it comes."""
    while data := source.recv(65536):
        target.buffer.write(data)
        target.flush()


class Guests:
    def __init__(self, given, bed, scratch):
        self.scratch = scratch
        self.switch = start_switch(bed, scratch, given.nodes)
        self.nodes, self.printing = [], []
        for node in range(1, given.nodes + 1):
            arguments = guest_arguments(given, bed, scratch, node)
            ports = self.ports() if node == 1 else {}
            if ports:
                arguments += ["-device", "virtio-serial-pci"]
            for name, end in ports.items():
                arguments += ["-chardev", f"socket,id={name},fd={end.fileno()}",
                              "-device", f"virtserialport,chardev={name},name={name}"]
            self.nodes.append(Emulator(bed, f"{scratch}/qemu.{node}",
                                       arguments, ports.values()))

    def ports(self):
        """Node 1's output and requests come by serial lines of their own."""
        theirs = {}
        for name, target in (("out", sys.stdout), ("err", sys.stderr), ("ask", None)):
            ours, theirs[name] = socket.socketpair()
            if target is None:
                self.control = ours.makefile("rw", buffering=1)
                continue
            thread = threading.Thread(target=copy, args=(ours, target), daemon=True)
            thread.start()
            self.printing.append(thread)
        return theirs

    def said(self):
        """What QEMU printed, and the end of each console."""
        text = ""
        for name in sorted(os.listdir(self.scratch)):
            if name.startswith(("qemu.", "console.")):
                with open(f"{self.scratch}/{name}", errors="replace") as f:
                    text += f"{name}:\n" + "".join(f.readlines()[-CONSOLE_LINES:])
        return text

    def end(self):
        for emulator in (*self.nodes, self.switch):
            emulator.end()
        for thread in self.printing:
            thread.join()
