# SPDX-License-Identifier: BSD-3-Clause
"""States of the cores, for bench_peers: how far they are from each other.

The cores of a virtual machine may be near each other for some seconds, and far
apart for the next. Times of one state do not compare with those of another, so
each run has a probe before and after it, and counts only if both are of one
state. States are what the probes show: sorted, they are divided where one is
GAP times the one below.
"""
import bisect
import statistics
import subprocess

import report

GAP = 1.5


def probe(program):
    """Return the nanoseconds of a hand-over, None if the cores are busy. Raises
    OSError if there is one core, or no program."""
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"{program} failed")
    text = done.stdout.strip()
    return None if text == "busy" else float(text)


class States:
    """The states that are among times of hand-overs."""

    def __init__(self, found):
        found = sorted(value for value in found if value is not None)
        starts = [i for i in range(1, len(found))
                  if found[i] >= GAP * found[i - 1]]
        self.bounds = [found[i] for i in starts]
        groups = [found[a:b] for a, b in zip([0] + starts,
                                             starts + [len(found)])]
        self.names = [f"{statistics.median(group):.0f} ns" for group in groups
                      if group]

    def of(self, before, after):
        """Return the number of the state of a run, None if it changed or is not
        known."""
        if None in (before, after):
            return None
        first = bisect.bisect_right(self.bounds, before)
        return first if first == bisect.bisect_right(self.bounds, after) else None


def within(times, states, number):
    """Return a report.Times of the rounds in a state. times.probes has the probes
    of each round."""
    some = report.Times(times.setting)
    for size, rounds in times.seconds.items():
        for turn, seconds in rounds.items():
            if states.of(*times.probes[turn]) == number:
                some.add(size, turn, seconds)
    return some
