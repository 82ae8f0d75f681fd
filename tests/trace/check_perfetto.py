# SPDX-License-Identifier: BSD-3-Clause
"""Check a file of rcx_trace --perfetto against the Trace Event format, and
count what is in it.

usage: check_perfetto.py FILE [NAME=COUNT...]

NAME is a category of slices (call, round, wait, message), "flows", "ranks", or
the name of a call.
"""
import collections
import json
import sys


def number(value):
    assert isinstance(value, (int, float)) and not isinstance(value, bool), value
    assert value >= 0, value
    return value


def check_common(event):
    assert event["ph"] in ("X", "M", "s", "f"), event
    assert type(event["pid"]) is int and type(event["tid"]) is int, event
    assert isinstance(event["name"], str) and event["name"], event
    if event["ph"] == "M":
        assert event["name"] in ("process_name", "process_labels",
                                 "process_sort_index", "thread_name"), event
        assert len(event["args"]) == 1 and "ts" not in event, event
        return
    number(event["ts"])
    assert isinstance(event["cat"], str), event
    assert isinstance(event["args"], dict), event


def ns(microseconds):
    """Decimal fractions of a microsecond are whole nanoseconds."""
    whole = round(microseconds * 1000)
    assert abs(whole - microseconds * 1000) < 0.01, microseconds
    return whole


def check_slices(slices):
    """On one track they nest."""
    stack = []
    for event in slices:
        begin = ns(event["ts"])
        end = begin + ns(number(event["dur"]))
        while stack and stack[-1] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1], event
        stack.append(end)


def check_flows(events, slices):
    ends = collections.defaultdict(dict)
    for event in events:
        place = ends[event["id"]]
        assert event["ph"] not in place, event
        place[event["ph"]] = event
        at = ns(event["ts"])
        assert any(ns(s["ts"]) <= at <= ns(s["ts"]) + ns(s["dur"])
                   for s in slices[event["pid"], event["tid"]]), event
        assert event["ph"] == "s" or event["bp"] == "e", event
    for place in ends.values():
        assert set(place) == {"s", "f"}, place
        assert place["s"]["ts"] <= place["f"]["ts"], place
        assert place["s"]["pid"] != place["f"]["pid"], place
        assert place["s"]["args"] == place["f"]["args"], place
        assert place["s"]["name"] == place["f"]["name"], place
    return len(ends)


def main(path, *wanted):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    assert trace["displayTimeUnit"] == "ns"
    events = trace["traceEvents"]
    slices = collections.defaultdict(list)
    count = collections.Counter()
    last, names = 0, set()
    for event in events:
        check_common(event)
        if event["ph"] == "M":
            names.add((event["name"], event["pid"], event["tid"]))
            continue
        assert event["ts"] >= last, event
        last = event["ts"]
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append(event)
            count[event["cat"]] += 1
            count[event["name"]] += event["cat"] == "call"
    for (pid, tid), listed in slices.items():
        assert ("process_name", pid, 0) in names, pid
        assert ("thread_name", pid, tid) in names, (pid, tid)
        check_slices(listed)
    count["flows"] = check_flows(
        [e for e in events if e["ph"] in "sf"], slices)
    count["ranks"] = len({pid for name, pid, _ in names
                          if name == "process_name"})
    for what in wanted:
        name, _, expected = what.partition("=")
        assert count[name] == int(expected), (what, count)


if __name__ == "__main__":
    main(*sys.argv[1:])
