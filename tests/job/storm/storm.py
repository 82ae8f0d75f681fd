# SPDX-License-Identifier: BSD-3-Clause
"""storm.py RCXRUN STORM_MAIN SEED JOBS SECONDS [recover]

Jobs drawn from SEED: 2 to 6 ranks, every way between them, and one thing that
happens to one rank at any moment. For each job it is asked whether

  - it ends, and whether no rank crashes but by what was done to it;
  - every result is right where the call returned RCX_OK;
  - all calls succeed where nothing that breaks a job happened;
  - errors name the rank to which it happened, and no other, but one that has
    left after its own error;
  - shared memory, files and processes of it are gone afterwards.

With a last argument "recover", two things may happen, and the ranks go on. Then it is
asked whether all decide alike in each agreement, also those that die or leave after it, no
rank that goes on is among the failed ones, and no other than a stopped one is excluded.

SECONDS bounds the time in which jobs are begun. A job that fails is printed as a
command that runs it again, and with its last lines. TAP.
"""

import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

STEPS = 12  # STEPS of storm_main
ENDS_IN = 60  # seconds; the longest deadline is 4
STALLED_MS = 200  # milliseconds without a core: the rank may be late
AT_ONCE = 2
LAST_LINES = 20  # of the output of a job that fails

HARMLESS = ("none", "delay", "shm")
FAULTS = HARMLESS + ("kill", "kill", "exit", "abort", "stop", "memory", "descriptors")

SETTINGS = [
    {},
    {},
    {"RCX_ERR_MODE": "peer"},
    {"RCX_LANES": "ucp"},
    {"RCX_LANES": "ucp", "RCX_ERR_MODE": "peer"},
    {"RCX_UCX_TLS": "tcp,self"},
    {"RCX_UCX_TLS": "tcp,self", "RCX_LANES": "ucp"},
    {"RCX_UCX_TLS": "tcp,self", "RCX_LANES": "ucp", "RCX_ERR_MODE": "peer"},
    {"RCX_PROGRESS": "thread"},
    {"RCX_WAIT": "block"},
    {"RCX_CHECK": "full"},
]

# Give the job its own /dev/shm and System V segments, and print those that are
# left at the end
ROOM = """
mount -t tmpfs -o size=$1 tmpfs /dev/shm || exit 99
shift
"$@"
status=$?
ls -A /dev/shm | sed "s/^/left: /"
sed "1d; s/^/left: /" /proc/sysvipc/shm
exit $status
"""
UNSHARE = ["unshare", "--mount", "--ipc"]


def has_room():
    try:
        return subprocess.run(UNSHARE + ["sh", "-c", ROOM, "room", "64k", "true"],
                              stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


class Job:
    def __init__(self, seed, has_room):
        draw = random.Random(seed)
        self.seed = seed
        self.ranks = draw.randint(2, 6)
        self.fault = draw.choice(FAULTS)
        self.victim = draw.randrange(self.ranks)
        self.step = draw.randint(-2, STEPS)
        self.us = draw.choice([0, 200, 3000, 30000])
        if self.fault == "delay":
            self.us = 300000
        self.settings = dict(draw.choice(SETTINGS))
        self.settings["RCX_TIMEOUT"] = draw.choice(["3s", "4s"])
        self.shm = draw.choice(["64k", "2m"]) if self.fault == "shm" else "1g"
        self.has_room = has_room

    def command(self, rcxrun, main):
        job = [rcxrun, "-k", "-n", str(self.ranks), "-x", "UCX_LOG_LEVEL=fatal"]
        for name, value in self.settings.items():
            job += ["-x", name + "=" + value]
        job += [main, str(self.seed), "none" if self.fault == "shm" else self.fault,
                str(self.victim), str(self.step), str(self.us)]
        if not self.has_room:
            return job
        return UNSHARE + ["sh", "-c", ROOM, "room", self.shm] + job

    def run(self, rcxrun, main):
        with tempfile.TemporaryDirectory() as scratch:
            environment = {k: v for k, v in os.environ.items() if not k.startswith("RCX_")}
            environment.update(TMPDIR=scratch, RCX_STORM=self.mark())
            with open(scratch + ".out", "w+", errors="replace") as out:
                os.unlink(scratch + ".out")
                process = subprocess.Popen(self.command(rcxrun, main), stdin=subprocess.DEVNULL,
                                           stdout=out, stderr=out, env=environment,
                                           start_new_session=True)
                try:
                    process.wait(ENDS_IN)
                    self.hangs = False
                except subprocess.TimeoutExpired:
                    self.hangs = True
                    os.killpg(process.pid, signal.SIGTERM)  # rcxrun ends its ranks
                    time.sleep(1)
                    os.killpg(process.pid, signal.SIGKILL)
                out.seek(0)
                self.output = out.read()
            self.left = os.listdir(scratch)
        self.left += [line for line in self.output.splitlines() if line.startswith("left: ")]
        self.left += self.processes()
        return self

    def mark(self):
        """In the environment of its processes; other storms have the same seeds."""
        return "%d of %d" % (self.seed, os.getpid())

    def processes(self):
        """That are still there; the helper of a stopped rank has a moment to end."""
        mark = b"RCX_STORM=%s\0" % self.mark().encode()
        for _ in range(50):
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open("/proc/%s/environ" % pid, "rb") as file:
                        if mark in file.read():
                            found.append("process " + pid)
                except OSError:
                    pass
            if not found:
                break
            time.sleep(0.1)
        return found

    def lines(self):
        for line in self.output.splitlines():
            match = re.match(r"(\d+) (RCX_\w+) (\S+) (\d+) (.*)", line)
            if match:
                rank, status, names, lost, text = match.groups()
                named = [] if names == "-" else [int(name) for name in names.split(",")]
                yield int(rank), status, named, int(lost), text

    def complaints(self):
        if self.hangs:
            return ["it does not end within %d s" % ENDS_IN]
        found = ["left behind: " + thing for thing in self.left]
        for line in self.output.splitlines():
            found += self.complaints_of_other(line)
            # libpmix (4.2) may print uninitialised memory when an allocation
            # fails
            if "\ufffd" in line and self.fault != "memory":
                found.append("no text: " + ascii(line))
        gone = {self.victim} | self.aborted()  # or may have exited after its error
        for rank, status, named, _, text in self.lines():
            if status != "RCX_OK" and self.fault in HARMLESS:
                found.append("rank %d fails: %s %s" % (rank, status, text))
            if set(named) - gone and not self.may_lose_messages():
                found.append("rank %d names %s: %s %s" % (rank, named, status, text))
            if status != "RCX_OK":
                gone.add(rank)
        reported = {line[0] for line in self.lines()}
        silent = set(range(self.ranks)) - reported
        if not self.ucx_aborts() and silent - ({self.victim} if self.fault not in HARMLESS else set()):
            found.append("no result of ranks %s" % sorted(silent))
        return found

    def complaints_of_other(self, line):
        """A line that no rank printed as its result."""
        match = re.match(r"rcxrun: rank (\d+) \(pid \d+\) (.*)", line)
        if match and int(match.group(1)) == self.victim and self.fault not in HARMLESS:
            return []
        if match and self.ucx_aborts():
            return []
        if match or re.match(r"rank \d+: ", line):
            return [line]
        if "ssertion" in line and not self.ucx_aborts():
            return [line]
        return []

    def aborted(self):
        """Ranks that UCX has aborted: others are right to name them."""
        if not self.ucx_aborts():
            return set()
        return {int(rank) for rank in re.findall(
            r"rcxrun: rank (\d+) \(pid \d+\) killed by signal 6", self.output)}

    def ucx_aborts(self):
        """UCX (1.13) may, without memory; and over TCP in a rank that connects to
        one which is about to leave, or resumes after its peers have left
        (docs/reference/guarantees.md)."""
        if self.fault in ("memory", "descriptors"):
            return "ssertion `" in self.output
        return self.fault not in HARMLESS and any(
            words in self.output for words in (
                "send.wireup.type ==", "UCT_TCP_EP_CONN_STATE_CLOSED", "UCT_TCP_EP_FLAG_CTX_TYPE_TX",
                "UCT_TCP_EP_FLAG_PUT_TX_WAITING_ACK", "wireup_ep->pending_count"))

    def may_lose_messages(self):
        """A rank that dies while it writes into the queue of another one's shared
        memory stops that queue (UCX 1.13): its owner receives nothing any more."""
        return (self.settings.get("RCX_LANES") == "ucp" and "RCX_UCX_TLS" not in self.settings
                and self.settings.get("RCX_ERR_MODE") != "peer"
                and self.harms())

    def harms(self):
        return self.fault not in HARMLESS

    def stalled(self):
        return any(lost >= STALLED_MS for _, _, _, lost, _ in self.lines())

    def title(self):
        return "seed %d: %s of rank %d of %d at %d after %d us, %s" % (
            self.seed, self.fault, self.victim, self.ranks, self.step, self.us,
            " ".join("=".join(pair) for pair in self.settings.items()))


class RecoveryJob(Job):
    """The ranks go on after up to two faults. All that live agree on the same failed
    ranks and flags each time; no rank that lives is among them."""

    def __init__(self, seed, has_room):
        super().__init__(seed, has_room)
        draw = random.Random(-seed)
        faults = ("kill", "kill", "kill", "exit", "abort", "stop", "stop", "leave", "leave",
                  "delay", "none")
        self.ranks = draw.randint(2, 8)
        self.fault = draw.choice(faults)
        self.victim = draw.randrange(self.ranks)
        self.step = draw.randint(-1, STEPS)
        self.us = draw.choice([0, 200, 3000])
        self.second = draw.choice(faults)
        self.second_victim = draw.randrange(self.ranks)
        self.second_us = draw.choice([0, 10, 30, 100, 300, 1000, 100000])
        if self.second == "delay":
            self.second_us = 300000
        self.settings["RCX_TIMEOUT"] = "5s"  # of rcx_init; then storm_main sets 1 s
        self.shm = "1g"

    def command(self, rcxrun, main):
        return super().command(rcxrun, main) + [
            self.second, str(self.second_victim), str(self.second_us)]

    def strikes(self, *faults):
        return {victim for fault, victim in ((self.fault, self.victim), (self.second, self.second_victim))
                if fault in faults}

    def harms(self):
        return self.strikes("kill", "exit", "abort", "stop", "leave")

    def may_be_without_quorum(self):
        """Ranks that are stopped may be too many for the others."""
        silent = self.strikes("stop")
        alive = set(range(self.ranks)) - silent - self.strikes("kill", "exit", "abort", "leave")
        return silent and (2 * len(alive) < self.ranks or 2 * len(alive) == self.ranks and 0 not in alive)

    def decisions(self):
        for line in self.output.splitlines():
            match = re.match(r"(\d+) decided (\d+) ([0-9a-f]+) (\S+)$", line)
            if match:
                rank, number, flags, names = match.groups()
                named = () if names == "-" else tuple(map(int, names.split(",")))
                yield int(rank), int(number), flags, named

    def contradictions(self):
        found = []
        decided = {}
        for rank, number, flags, named in self.decisions():
            if decided.setdefault(number, (flags, named)) != (flags, named):
                found.append("rank %d decides %s %s, others %s" % (rank, flags, named, decided[number]))
        return found

    def complaints(self):
        if self.hangs:
            return ["it does not end within %d s" % ENDS_IN]
        found = self.contradictions()
        if self.may_lose_messages():  # living ranks may be silent to each other
            return found
        found += ["left behind: " + thing for thing in self.left]
        for line in self.output.splitlines():
            found += self.complaints_of_other(line)
        victims = self.strikes("kill", "exit", "abort", "stop", "leave") | self.aborted()
        if self.may_be_without_quorum():  # they leave, and stopped ranks find that
            victims |= {rank for rank, status, _, _, _ in self.lines() if status == "RCX_ERR_EXCLUDED"}
        for rank, number, flags, named in self.decisions():
            if set(named) - victims:
                found.append("rank %d decides that %s have failed" % (rank, named))
        reported = set()
        for rank, status, _, _, text in self.lines():
            reported.add(rank)
            if status == "RCX_ERR_EXCLUDED" and (rank in victims or self.may_be_without_quorum()):
                continue
            if status != "RCX_OK":
                found.append("rank %d ends with %s %s" % (rank, status, text))
        silent = set(range(self.ranks)) - reported - victims
        if silent:
            found.append("no result of ranks %s" % sorted(silent))
        return found

    def complaints_of_other(self, line):
        match = re.match(r"rcxrun: rank (\d+) \(pid \d+\) (.*)", line)
        if match and int(match.group(1)) in self.strikes("kill", "exit", "abort"):
            return []
        return super().complaints_of_other(line)

    def title(self):
        return super().title() + "; then %s of rank %d after %d us, %d ranks" % (
            self.second, self.second_victim, self.second_us, self.ranks)


def main():
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__.splitlines()[0])
    rcxrun, program = map(os.path.realpath, sys.argv[1:3])
    seed, most, seconds = map(int, sys.argv[3:6])
    kind = RecoveryJob if sys.argv[6:] == ["recover"] else Job
    room = has_room()
    until = time.monotonic() + seconds
    ran = excused = bad = aborts = 0

    def one(i):
        if time.monotonic() >= until:
            return None
        return kind(seed + i, room).run(rcxrun, program)

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for job in filter(None, pool.map(one, range(most))):
            complaints = job.complaints()
            ran += 1
            aborts += job.ucx_aborts()
            if complaints and not job.hangs and job.stalled():
                excused += 1
                continue
            if complaints:
                bad += 1
                print("# " + job.title())
                for complaint in complaints:
                    print("#   " + complaint)
                command = subprocess.list2cmdline(job.command(rcxrun, program))
                print("# " + command.replace("\n", "\n# "))
                for line in job.output.splitlines()[-LAST_LINES:]:
                    print("#   | " + ascii(line)[1:-1][:200])
    print("# %d jobs; %d in which UCX aborted a rank that starved, or met one that left; "
          "%d ignored as the machine stalled" % (ran, aborts, excused))
    if not room:
        print("# without namespaces of their own: shared memory was not looked at")
    good = bad == 0 and excused * 4 <= ran and ran > 0
    print("%s 1 - %s" % ("ok" if good else "not ok",
                         "jobs in which one thing happens to one rank"))
    print("1..1")
    return 0 if good else 1


sys.exit(main())
