# SPDX-License-Identifier: BSD-3-Clause
"""The libraries that bench_peers and bench_elsewhere run: their
programs, launchers and settings.

RCX, and some others, are found when the build is configured. Others are in folders of their own,
the prefixes that they were installed to; their programs are compiled here.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.path.join(os.path.dirname(HERE), "build")    # unless --build names another

# environment of every library: no messages that could disturb a measurement
QUIET = {
    "UCX_HANDLE_ERRORS": "none",
    "UCX_WARN_UNUSED_ENV_VARS": "n",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
}

# also without the network cards that Open MPI looks for
UCX_IN_OPEN_MPI = ["OMPI_MCA_pml=ucx", "OMPI_MCA_opal_common_ucx_tls=any",
                   "OMPI_MCA_opal_common_ucx_devices=any"]

# Collectives of Open MPI 5 and 6 that a priority puts before the default ones.
COLL_IN_OPEN_MPI = ("xhc", "acoll", "han")

# Without XPMEM, xhc of August 2026 crashes in a reduction that is longer than what
# it copies through shared memory.
XHC_BY_COPIES = [f"OMPI_MCA_coll_xhc_{coll}_cico_max=16777216"
                 for coll in ("reduce", "allreduce")]

# MPICH's collectives in shared memory, which have no cross-over of their own
RELEASE_GATHER = [f"MPIR_CVAR_{coll}_POSIX_INTRA_ALGORITHM=release_gather"
                  for coll in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE")]


P = "{p}"   # in a launcher: the number of ranks


class Library:
    """A library and its program. settings(shared) returns launchers by the name
    of a setting; each is a list of words before the program. shared: ranks share
    cores."""

    def __init__(self, title, program, settings, *, takes_n=False,
                 arguments=(), kind=None, prefix=None):
        self.title, self.program, self.settings = title, program, settings
        self.takes_n = takes_n          # whether the program takes -n
        self.arguments = list(arguments)
        self.kind, self.prefix = kind, prefix

    def command(self, launcher, p):
        words = (launcher + [self.program]
                 + (["-n", P] if self.takes_n else []) + self.arguments)
        return [str(p) if word == P else word for word in words]


def find(*names):
    for name in names:
        if shutil.which(name):
            return name
    return names[0]


# ---- Launchers --------------------------------------------------------------

def with_environment(words, launcher):
    return ["env"] + words + launcher if words else launcher


YIELD = ["OMPI_MCA_mpi_yield_when_idle=1"]


def openmpi(mpirun, settings, yielding=()):
    """Open MPI's launchers. Where ranks share cores, each setting runs as it is and
    with ranks that yield, those of yielding only with them."""
    def launchers(shared):
        base = [mpirun, "--bind-to", "none", "-n", P]
        if os.geteuid() == 0:
            base.append("--allow-run-as-root")
        if not shared:
            return {name: with_environment(words, base)
                    for name, words in settings.items()}
        base += ["--map-by", ":oversubscribe"]
        found = {}
        for name, words in settings.items():
            if name not in yielding:
                found[name] = with_environment(words, base)
            found[f"{name} yield".strip()] = with_environment(words + YIELD,
                                                              base)
        return found
    return launchers


def mpich(mpiexec):
    base = [mpiexec, "-bind-to", "none", "-n", P]
    return lambda _shared: {
        "": base, "release_gather": with_environment(RELEASE_GATHER, base)}


def installed(build):
    """Return what the build knows of the RCX that it uses: version, libdir, and
    paths of tools. {}: there is no such build."""
    try:
        with open(os.path.join(build, "installed.json"), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return {}


def rcx(build):
    return lambda _shared: {"": [installed(build).get("rcxrun", "rcxrun"), "-n", P]}


def no_launcher(_shared):
    return {"": []}


# ---- Libraries of the build -------------------------------------------------

# Not peers: RCX with buffers of rcx_mem_alloc(), and processes that only load
# and store.
COMPARED = ("rcx-memory", "limit")


def built(build):
    """Return the libraries whose programs the build may have, by name."""
    def program(name):
        return os.path.join(build, name)

    mpirun = find("mpirun.openmpi", "mpirun")
    return {
        "rcx": Library("RCX", program("bench_rcx"), rcx(build)),
        "openmpi-ucx": Library("Open MPI ucx", program("bench_openmpi"),
                               openmpi(mpirun, {"": UCX_IN_OPEN_MPI}),
                               kind="openmpi"),
        "openmpi": Library("Open MPI", program("bench_openmpi"),
                           openmpi(mpirun, {"": []}), kind="openmpi"),
        "mpich": Library("MPICH", program("bench_mpich"),
                         mpich(find("mpirun.mpich", "mpiexec.hydra")),
                         kind="mpich"),
        "gloo": Library("Gloo", program("bench_gloo"), no_launcher,
                        takes_n=True, kind="gloo"),
        "ucc": Library("UCC", program("bench_ucc"), no_launcher,
                       takes_n=True, kind="ucc"),
        "rcx-memory": Library("RCX memory", program("bench_rcx"), rcx(build),
                              arguments=["--memory"]),
        "limit": Library("limit", program("bench_limit"), no_launcher,
                         takes_n=True),
    }


# ---- Libraries in folders of their own --------------------------------------

KINDS = {"bin/ompi_info": "openmpi", "bin/mpichversion": "mpich",
         "include/gloo/allreduce.h": "gloo", "include/ucc/api/ucc.h": "ucc"}


def kind_of(prefix):
    for path, kind in KINDS.items():
        if os.path.exists(os.path.join(prefix, path)):
            return kind
    return None


def compiler_of(kind, prefix):
    """Return the command that compiles and links the program of a kind."""
    flags = ["-O2", "-g", "-D_GNU_SOURCE", f"-I{prefix}/include"]
    folders = [folder for name in ("lib", "lib64")
               for folder in [os.path.join(prefix, name)]
               if os.path.isdir(folder)]
    links = [word for folder in folders
             for word in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    if kind in ("openmpi", "mpich"):
        return ([f"{prefix}/bin/mpicc"] + flags
                + [os.path.join(HERE, "bench_mpi.c")], links)
    if kind == "gloo":
        return ([os.environ.get("CXX", "c++"), "-std=c++17"] + flags
                + [os.path.join(HERE, "bench_gloo.cc")],
                links + ["-lgloo", "-lpthread"])
    return ([os.environ.get("CC", "cc")] + flags
            + [os.path.join(HERE, "bench_ucc.c")], links + ["-lucc"])


def compile_program(build, name, kind, prefix):
    """Compile the program of a prefix, unless it is newer than all that it is
    made of. Returns its path, or None after a message."""
    program = os.path.join(build, f"peer_{name}")
    archives = [os.path.join(build, f"libbench_{part}.a")
                for part in ("loop", "ranks")]
    command, links = compiler_of(kind, prefix)
    made_of = archives + [command[-1]] + glob.glob(os.path.join(HERE, "*.h"))
    made_of += glob.glob(os.path.join(prefix, "lib*", "lib*.so"))
    made_of.append(os.path.realpath(__file__))
    try:
        if os.path.getmtime(program) > max(map(os.path.getmtime, made_of)):
            return program
    except OSError:
        pass
    done = subprocess.run(command + ["-o", program] + archives + links,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"peers: {name} in {prefix} does not compile:\n"
              + "\n".join(done.stderr.splitlines()[-8:]), file=sys.stderr)
        return None
    return program


def components(prefix):
    """Return the components of an Open MPI, as "coll:xhc"."""
    text = subprocess.run([f"{prefix}/bin/ompi_info", "--parsable"],
                          capture_output=True, text=True, check=False).stdout
    return {":".join(line.split(":")[1:3]) for line in text.splitlines()
            if line.startswith("mca:")}


def openmpi_in(prefix):
    """Return the settings of an Open MPI: its default, over UCX, and with each
    of its newer collectives first."""
    has = components(prefix)
    settings = {"": []}
    if "pml:ucx" in has:
        settings["ucx"] = UCX_IN_OPEN_MPI
    forced = {name: [f"OMPI_MCA_coll_{name}_priority=95"]
              for name in COLL_IN_OPEN_MPI if f"coll:{name}" in has}
    if "xhc" in forced and "smsc:xpmem" not in has:
        forced["xhc"] += XHC_BY_COPIES
    return openmpi(f"{prefix}/bin/mpirun", {**settings, **forced},
                   yielding=["ucx", *forced])


def in_prefix(build, text):
    """Return name and library of NAME=FOLDER, None for the library if its program
    cannot be compiled. Raises ValueError if the text or the folder is wrong."""
    name, equals, prefix = text.partition("=")
    if not (equals and name.replace("-", "").replace(".", "").isalnum()):
        raise ValueError(f"{text!r} is not NAME=FOLDER")
    prefix = os.path.realpath(prefix)
    kind = kind_of(prefix)
    if not kind:
        raise ValueError(f"{prefix} has neither Open MPI, MPICH, Gloo nor UCC")
    program = compile_program(build, name, kind, prefix)
    settings = (openmpi_in(prefix) if kind == "openmpi" else
                mpich(f"{prefix}/bin/mpiexec") if kind == "mpich" else
                no_launcher)
    return name, program and Library(name, program, settings,
                                     takes_n=settings is no_launcher,
                                     kind=kind, prefix=prefix)
