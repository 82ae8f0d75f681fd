# SPDX-License-Identifier: BSD-3-Clause
"""Dumps of the flight recorder, on 3 ranks:

    flight.py healthy | missing | mismatch | functions | off PREFIX
    flight.py check PREFIX CASE             checks the dumps of a case, by the format's definition

The world's group, and one of ranks 1 and 2, call collectives; PREFIX is where dumps are.
"""

import json
import os
import pickle
import sys
import time
from datetime import timedelta

RANKS = range(3)

# ---- Jobs ------------------------------------------------------------------


def common(dist, torch):
    """Calls of all cases: two of the world, and one of a group."""
    pair = dist.new_group([1, 2])
    dist.all_reduce(torch.ones(4, 2))
    if dist.get_rank() > 0:
        dist.broadcast(torch.ones(3, dtype=torch.int64), 1, group=pair)
    dist.all_reduce(torch.ones(5))


def healthy(dist, torch, rcx_torch, prefix):
    """All ranks call the same. Each writes a dump on demand."""
    common(dist, torch)
    assert rcx_torch.dump_flight_recorder(prefix) == prefix + str(dist.get_rank())
    as_json = json.loads(rcx_torch.flight_recorder_json())
    with open(prefix + str(dist.get_rank()), "rb") as file:
        as_pickle = pickle.load(file)
    check_json(as_json, as_pickle)


def fails(call):
    """Assert that the call raises, as the ranks do not match."""
    try:
        call()
    except RuntimeError:
        return
    raise AssertionError("no error")


def missing(dist, torch, rcx_torch, prefix):
    """Rank 2 does not make the last call, and is not in RCX: the others time out."""
    common(dist, torch)
    rcx_torch._recovery.group_of().set_timeout(timedelta(seconds=5))
    if dist.get_rank() < 2:
        fails(lambda: dist.all_reduce(torch.ones(6)))
    until = time.monotonic() + 60
    while not all(os.path.exists(prefix + str(rank)) for rank in RANKS):
        assert time.monotonic() < until, "no dump of each rank"
        time.sleep(0.05)


def mismatch(dist, torch, _rcx_torch, _prefix):
    """Rank 2 makes another call than the others. RCX_CHECK=full finds it."""
    common(dist, torch)
    if dist.get_rank() < 2:
        fails(lambda: dist.all_reduce(torch.ones(6)))
    else:
        fails(lambda: dist.broadcast(torch.ones(6), 0))


def functions(dist, torch, rcx_torch, prefix):
    """Every function that is recorded."""
    me, p = dist.get_rank(), dist.get_world_size()
    x, many = torch.ones(2, 3), [torch.ones(2, 3) for _ in RANKS]
    dist.barrier()
    dist.broadcast(x, 0)
    dist.all_reduce(x)
    dist.reduce(x, 0)
    dist.all_gather(many, x)
    dist.all_gather_into_tensor(torch.empty(2 * p, 3), x)
    dist.gather(x, many if me == 0 else None)
    dist.scatter(x, many if me == 0 else None)
    dist.reduce_scatter(x, many)
    dist.reduce_scatter_tensor(x, torch.ones(2 * p, 3))
    dist.all_to_all(many, [torch.ones(2, 3) for _ in RANKS])
    dist.all_to_all_single(torch.empty(p), torch.ones(p))
    if me == 0:
        dist.send(x, 1, tag=5)
    elif me == 1:
        assert dist.recv(x, tag=5) == 0
    dist.barrier()
    rcx_torch.dump_flight_recorder(prefix)


def off(dist, torch, rcx_torch, prefix):
    """With TORCH_FR_BUFFER_SIZE=0 nothing is recorded; with 2 the last two operations are."""
    common(dist, torch)
    if os.environ["TORCH_FR_BUFFER_SIZE"] == "0":
        fails(lambda: rcx_torch.dump_flight_recorder(prefix))
    else:
        entries = json.loads(rcx_torch.flight_recorder_json())["entries"]
        assert [each["record_id"] for each in entries] == ([1, 2] if dist.get_rank() else [0, 1])
        assert entries[-1]["input_sizes"] == [[5]]


def run(case, prefix):
    """Run a case on this rank."""
    import rcx_torch
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("rcx", init_method="rcx://", timeout=timedelta(seconds=60))
    case(dist, torch, rcx_torch, prefix)
    print(f"{case.__name__} done")
    sys.stdout.flush()
    if case is missing:
        os._exit(0)  # the world has failed
    dist.destroy_process_group()


# ---- The format ------------------------------------------------------------

# of version 2.10: PyTorch's FlightRecorder.hpp and FlightRecorderDetail.hpp
ENTRY = {
    "frames": list, "record_id": int, "pg_id": int, "process_group": tuple,
    "collective_seq_id": int, "p2p_seq_id": int, "op_id": int, "profiling_name": str,
    "time_created_ns": int, "input_sizes": list, "input_dtypes": list, "output_sizes": list,
    "output_dtypes": list, "state": str, "time_discovered_started_ns": (int, type(None)),
    "time_discovered_completed_ns": (int, type(None)), "retired": bool, "timeout_ms": int,
    "is_p2p": bool}


def check_entry(entry):
    """Keys and types of one operation."""
    assert set(ENTRY) <= set(entry) <= set(ENTRY) | {"duration_ms"}, set(entry) ^ set(ENTRY)
    for key, kind in ENTRY.items():
        assert isinstance(entry[key], kind), (key, entry[key])
    is_over = entry["state"] == "completed"
    assert is_over or entry["state"] == "started"
    assert is_over == ("duration_ms" in entry) == bool(entry["time_discovered_completed_ns"])
    assert not is_over or entry["duration_ms"] >= 0 and entry["retired"]
    assert entry["profiling_name"].startswith("nccl:")
    assert abs(entry["time_created_ns"] - time.time_ns()) < 600e9
    for operands in ("input", "output"):
        sizes, types = entry[operands + "_sizes"], entry[operands + "_dtypes"]
        assert len(sizes) == len(types)
        assert all(isinstance(n, int) for shape in sizes for n in shape)


def check_dump(dump, rank):
    """Keys and types of the dump of a rank, and that numbers count."""
    assert set(dump) == {"version", "comm_lib_version", "pg_config", "pg_status", "entries"}
    assert dump["version"] == "2.10" and dump["comm_lib_version"].startswith("RCX ")
    groups = dump["pg_config"]
    assert groups["0"] == {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}
    assert all(group["name"] == name for name, group in groups.items())
    assert len(groups) == (2 if rank else 1) or dump["entries"][0]["input_sizes"] == []
    assert all(set(status) == {"last_enqueued_collective", "last_started_collective",
                               "last_completed_collective"}
               for status in dump["pg_status"].values())
    entries = dump["entries"]
    for entry in entries:
        check_entry(entry)
    assert [entry["record_id"] for entry in entries] == list(range(len(entries)))
    for name in groups:
        own = [entry for entry in entries if entry["process_group"][0] == name]
        numbers = [e["collective_seq_id"] for e in own if not e["is_p2p"]]
        assert numbers == list(range(1, len(numbers) + 1)), numbers
        assert [e["op_id"] for e in own] == list(range(1, len(own) + 1))


def check_json(as_json, as_pickle):
    """JSON has the same, but texts in the status, lists for tuples, 0 for None, and no frames."""
    expected = json.loads(json.dumps(as_pickle))
    for status in expected["pg_status"].values():
        status.update({key: str(value) for key, value in status.items()})
    for entry in expected["entries"]:
        del entry["frames"]
        entry["time_discovered_completed_ns"] = entry["time_discovered_completed_ns"] or 0
    assert as_json == expected, (as_json, expected)


def called(dump, group="0"):
    """What was called in a group."""
    return [(e["profiling_name"], e["input_sizes"], e["input_dtypes"], e["state"])
            for e in dump["entries"] if e["process_group"][0] == group]


def check_functions(dumps):
    """Names are NCCL's; shapes are those that its backend records."""
    x, long = [[2, 3]], [[6, 3]]
    none = [[0]]
    for rank, dump in enumerate(dumps):
        found = [(e["profiling_name"][5:], e["input_sizes"], e["output_sizes"])
                 for e in dump["entries"]]
        root = rank == 0
        message = ([("send 0->1", x, x)] if root else [("recv 1<-0", x, x)] if rank == 1 else [])
        expected = [
            ("all_reduce_barrier", [], []), ("broadcast", x, x), ("all_reduce", x, x),
            ("reduce", x, x), ("all_gather", x, [[3, 2, 3]]), ("_all_gather_base", x, long),
            ("gather", x, x * 3 if root else none), ("scatter", x * 3 if root else none, x),
            ("reduce_scatter", [[3, 2, 3]], x), ("_reduce_scatter_base", long, x),
            ("all_to_all", [[3, 2, 3]], [[3, 2, 3]]), ("all_to_all", [[3]], [[3]]),
            *message, ("all_reduce_barrier", [], [])]
        assert found == expected, (found, expected)


def check(prefix, case):
    """Check the dumps of all ranks."""
    dumps = []
    for rank in RANKS:
        with open(prefix + str(rank), "rb") as file:
            dumps.append(pickle.load(file))
        check_dump(dumps[-1], rank)
    if case == "functions":
        check_functions(dumps)
        return
    good = "completed"
    both = [("nccl:all_reduce", [[4, 2]], ["Float"], good),
            ("nccl:all_reduce", [[5]], ["Float"], good)]
    last = [("nccl:all_reduce", [[6]], ["Float"], "started")]
    other = [("nccl:broadcast", [[6]], ["Float"], "started")]
    for rank, dump in enumerate(dumps):
        end = {"healthy": [], "missing": last if rank < 2 else [],
               "mismatch": last if rank < 2 else other}[case]
        assert called(dump) == both + end, called(dump)
    pair = next(name for name in dumps[1]["pg_config"] if name != "0")
    assert dumps[1]["pg_config"][pair]["ranks"] == "[1, 2]"
    for dump in dumps[1:]:
        assert called(dump, pair) == [("nccl:broadcast", [[3]], ["Long"], good)]


if sys.argv[1] == "check":
    check(sys.argv[2], sys.argv[3])
else:
    run({each.__name__: each for each in (healthy, missing, mismatch, functions, off)}[sys.argv[1]],
        sys.argv[2])
