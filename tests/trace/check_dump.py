# SPDX-License-Identifier: BSD-3-Clause
"""Run write_dump, and compare what it wrote with what it was given.

usage: check_dump.py WRITE_DUMP PATH
"""
import itertools
import json
import os
import socket
import subprocess
import sys
import time

MOST = (1 << 64) - 1


def call(sequence, collective, count, kind, op, root, algorithm, segment,
         state, status, **more):
    return {"sequence": sequence, "collective": collective, "count": count,
            "type": dict(zip(("number", "canonical", "name"), kind)),
            "op": dict(zip(("number", "name"), op)), "root": root,
            "algorithm": algorithm, "segment": segment, "state": state,
            "status": status, **more}


# 1030 earlier operations and five more exceed the 512 of a recorder by 523
OPERATIONS = [
    call(i, "allreduce", i - 1, (1, 1, "int8"), (257, "max"), 0, "ring", 0, "done",
         "RCX_OK") for i in range(524, 1031)
] + [
    call(1031, "allreduce", MOST, (12, 12, "float64"), (259, "sum"), 0, "ring",
         MOST - 1, "done", "RCX_OK"),
    call(1032, "reduce", 0, (33, 7, "long_long"), (266, "bxor"), 2, "binomial",
         0, "failed", "RCX_ERR_OP"),
    call(1033, "reduce_scatter", 77, (5000, 5000, None), (6000, None), 0, None,
         0, "failed", "RCX_ERR_PEER_FAILED"),
    call(1034, "allreduce", 3, (22, 22, "2int"), (268, "minloc"), 0,
         "recursive_doubling", 0, "started", "RCX_IN_PROGRESS", step=3,
         steps=14, waiting_for=[0, 2], label='layer "7"'),
    call(1035, "barrier", 0, (18, 18, "byte"), (264, "bor"), 0,
         "dissemination", 0, "started", "RCX_IN_PROGRESS"),
]



def message(sequence, name, count, kind, peer, tag, state, status):
    return {"sequence": sequence, "call": name, "count": count,
            "type": dict(zip(("number", "canonical", "name"), kind)),
            "peer": peer, "tag": tag, "state": state, "status": status}


MESSAGES = [
    message(1, "send", 24, (12, 12, "float64"), 7, 9, "done", "RCX_OK"),
    message(2, "receive", 12, (5, 5, "int32"), 0, 32767, "failed",
            "RCX_ERR_TRUNCATED"),
    message(3, "receive", 3, (12, 12, "float64"), None, 0, "started",
            "RCX_IN_PROGRESS"),
]

DUMP = {
    "rcx_dump": 1, "rank": 1, "size": 8, "reason": "a test",
    "host": socket.gethostname(),
    "communicators": [
        {"id": 1, "name": '"main"', "rank": 1, "size": 8, "ranks": None, "status": "RCX_OK",
         "error": None, "missing": [], "next_sequence": MOST, "dropped": 523,
         "operations": OPERATIONS, "dropped_messages": 0,
         "messages": MESSAGES},
        {"id": 8191, "rank": 1, "size": 3, "ranks": [5, 1, 7],
         "status": "RCX_ERR_TIMEOUT", "error": "C:\\dev\n\ufffd",
         "missing": [2, 0], "next_sequence": 0, "dropped": 0,
         "operations": []}]}


def check_times(operations, begin, end):
    """In the order in which they were taken."""
    for op in operations:
        first, last = op.pop("begin_ns"), op.pop("end_ns")
        assert begin <= first, (begin, first)
        begin = first
        if op["state"] == "started":
            assert last is None, last
        else:
            assert first <= last <= end, (first, last, end)
            begin = last


def main(program, path):
    wall, begin = time.time_ns(), time.monotonic_ns()
    with subprocess.Popen([program, path]) as process:
        pass
    assert process.returncode == 0, process.returncode
    with open(path, encoding="utf-8") as file:
        dump = json.load(file)
    written = dump.pop("monotonic_ns")
    assert begin <= written <= time.monotonic_ns()
    assert wall <= dump.pop("time_ns") <= time.time_ns()
    assert dump.pop("pid") == process.pid
    for key in "operations", "messages":
        check_times(dump["communicators"][0][key], begin, written)
    got = dump["communicators"][0].pop("operations")
    wanted = DUMP["communicators"][0].pop("operations")
    for pair in itertools.zip_longest(got, wanted):
        assert pair[0] == pair[1], pair
    assert dump == DUMP, f"{dump} is not {DUMP}"
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]


if __name__ == "__main__":
    main(*sys.argv[1:])
