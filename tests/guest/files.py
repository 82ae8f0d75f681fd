# SPDX-License-Identifier: BSD-3-Clause
"""The files that a guest needs and this machine may lack: QEMU, Debian's kernel, the
tools of RDMA. Packages are fetched by name and unpacked into a folder. Nothing is
installed, and the lists of packages are the folder's own, so any user may do it."""

import fcntl
import glob
import gzip
import os
import platform
import shutil
import subprocess

# What the guest's first process needs to see this machine's files.
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
PROGRAMS = ("qemu-system-x86", "busybox-static", "kmod", "iproute2", "ibverbs-utils",
            "ibverbs-providers", "perftest")
KERNEL = "linux-image-amd64"  # depends on the newest kernel, by its exact name


class Unavailable(Exception):
    """Guests cannot be had here; the text is the reason."""


class Bed:
    """The unpacked files: where QEMU, kernel and initramfs are."""

    def __init__(self, folder):
        self.root = os.path.join(folder, "root")
        self.initramfs = os.path.join(folder, "initramfs.gz")
        self.kernel = os.path.join(folder, "kernel")

    def found(self, program):
        """Path of a program among the unpacked files, or on this machine."""
        unpacked = glob.glob(f"{self.root}/usr/*bin/{program}")
        return unpacked[0] if unpacked else shutil.which(program)

    def environment(self):
        libraries = f"{self.root}/usr/lib/x86_64-linux-gnu"
        return dict(os.environ, LD_LIBRARY_PATH=libraries)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it printed nothing"]
        raise Unavailable(f"{os.path.basename(command[0])} failed: {said[-1]}")
    return done.stdout


class Packages:
    """Debian's packages, with lists in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(folder, name))
        self.options = ["-o", f"Dir::State::Lists={folder}/lists",
                        "-o", f"Dir::Cache={folder}/cache",
                        "-o", "Debug::NoLocking=true", "-o", "APT::Sandbox::User=",
                        "-o", "Acquire::Languages=none"]
        run("apt-get", *self.options, "update", cwd=folder)

    def kernel(self):
        """The exact name, since a pattern would fetch all kernels there are."""
        for line in run("apt-cache", *self.options, "depends", KERNEL).splitlines():
            kind, _, name = line.strip().partition(": ")
            if kind == "Depends" and name.startswith("linux-image-"):
                return name
        raise Unavailable(f"{KERNEL} names no kernel")

    def missing(self):
        """The programs' packages and those that they depend on, but for what is
        installed on this machine."""
        lines = run("apt-get", *self.options, "--simulate", "--no-install-recommends",
                    "install", *PROGRAMS).splitlines()
        return [line.split()[1] for line in lines if line.startswith("Inst ")]

    def unpack(self, root):
        for name in ("bin", "sbin", "lib", "lib64"):  # as /usr has them in Debian 12
            os.makedirs(f"{root}/usr/{name}")
            os.symlink(f"usr/{name}", f"{root}/{name}")
        run("apt-get", *self.options, "download", self.kernel(), *self.missing(),
            cwd=self.folder)
        for package in glob.glob(f"{self.folder}/*.deb"):
            contents = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                                        stdout=subprocess.PIPE)
            run_tar = ["tar", "-x", "--keep-directory-symlink", "--no-same-owner",
                       "-C", root]
            if subprocess.run(run_tar, stdin=contents.stdout).returncode != 0:
                raise Unavailable(f"{os.path.basename(package)} is not unpacked")
            contents.wait()


def in_order(root, release):
    """Files of the boot modules, each after those that it needs."""
    needs = {}
    with open(f"{root}/usr/lib/modules/{release}/modules.dep") as f:
        for line in f:
            path, _, others = line.partition(":")
            needs[os.path.basename(path)[:-3]] = (path, others.split())
    names = {path: name for name, (path, _) in needs.items()}
    found = []

    def add(path):
        for other in needs[names[path]][1]:
            add(other)
        if path not in found:
            found.append(path)

    for name in BOOT_MODULES:
        add(needs[name][0])
    return [f"{root}/usr/lib/modules/{release}/{path}" for path in found]


def make_initramfs(bed, folder, release):
    tree = os.path.join(folder, "initramfs")
    for name in ("bin", "modules", "proc", "sys", "dev", "low", "new"):
        os.makedirs(os.path.join(tree, name))
    busybox = bed.found("busybox")
    shutil.copy(busybox, f"{tree}/bin/busybox")
    shutil.copy(os.path.join(os.path.dirname(__file__), "init"), f"{tree}/init")
    os.chmod(f"{tree}/init", 0o755)
    with open(f"{tree}/modules/list", "w") as modules:
        for path in in_order(bed.root, release):
            shutil.copy(path, f"{tree}/modules/")
            print(os.path.basename(path), file=modules)
    paths = subprocess.run(["find", "."], cwd=tree, stdout=subprocess.PIPE).stdout
    archive = subprocess.run([busybox, "cpio", "-o", "-H", "newc"], input=paths,
                             cwd=tree, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=True).stdout
    with gzip.open(bed.initramfs, "wb", compresslevel=1) as f:
        f.write(archive)
    shutil.rmtree(tree)


def make(folder):
    if platform.machine() != "x86_64":
        raise Unavailable("guests are emulated for x86_64 only")
    if not shutil.which("apt-get"):
        raise Unavailable("QEMU cannot be fetched: this machine has no apt-get")
    os.makedirs(folder)
    bed = Bed(folder)
    packages = Packages(os.path.join(folder, "packages"))
    packages.unpack(bed.root)
    shutil.rmtree(packages.folder)
    release = os.listdir(f"{bed.root}/usr/lib/modules")[0]
    os.replace(f"{bed.root}/boot/vmlinuz-{release}", bed.kernel)
    run("depmod", "-b", bed.root, release, env=bed.environment(),
        executable=bed.found("kmod"))
    make_initramfs(bed, folder, release)


def prepare(folder):
    """The bed in this folder, made if it is not there. Concurrent calls make one."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            shutil.rmtree(folder + ".new", ignore_errors=True)
            make(folder + ".new")
            os.rename(folder + ".new", folder)
    return Bed(folder)
