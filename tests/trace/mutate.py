# SPDX-License-Identifier: BSD-3-Clause
"""Damage good dumps at random, and show each to rcx_trace, all in one process.

It may take them or refuse them, with status 0, 1 or 2; any exception is a
failure, and so is a refusal that does not name the file.

usage: mutate.py RCX_TRACE SEED TIMES DUMP...
"""
import collections
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import sys
import tempfile

ODD = [None, True, False, 0, 1, -1, 2, 3, 4, 5, 1 << 31, 1 << 63, 1 << 64,
       10 ** 4000, 0.5, 1e308, float("inf"), float("nan"), "", "0", "started",
       "done", "failed", "RCX_OK", "RCX_ERR_OP", "\ud800", "\0", [], [0], [[]],
       [3, 2, 1, 0], {}, {"number": 0, "name": None}]


def load(path):
    loader = importlib.machinery.SourceFileLoader("rcx_trace", path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("rcx_trace", loader))
    loader.exec_module(module)
    return module


def damage_bytes(rng, data):
    """Change, drop, add, repeat bytes, or cut the end off."""
    at, length = rng.randrange(len(data)), rng.randrange(1, 9)
    piece = data[at:at + length]
    return rng.choice([
        lambda: data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)])
        + data[at + 1:],
        lambda: data[:at] + data[at + length:],
        lambda: data[:at] + rng.randbytes(length) + data[at:],
        lambda: data[:at] + piece * rng.randrange(2, 99) + data[at:],
        lambda: data[:at] + rng.choice([b"0", b"9" * 5000, b"[", b"}", b'"',
                                        b",", b"-", b"null"])
        + data[at + 1:],
        lambda: data[:at]])()


def places(value):
    """Every (container, key) in a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from places(item)


def damage_value(rng, dump):
    """Take one place out, double it, or give it another value: one that is odd,
    or that of another place; most often of the same type, which goes deeper."""
    everywhere = list(places(dump))
    holder, key = rng.choice(everywhere)
    others = [other[place] for other, place in everywhere] + ODD
    if rng.randrange(5):
        others = [o for o in others if type(o) is type(holder[key])]
    how = rng.randrange(12)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = json.loads(json.dumps(rng.choice(others)))


def damage(rng, text):
    if rng.randrange(5) == 0:
        return damage_bytes(rng, text.encode()) or b" "
    dump = json.loads(text)
    for _ in range(rng.randrange(1, 4)):
        if dump:
            damage_value(rng, dump)
    return json.dumps(dump).encode()


def show(trace, arguments):
    """Exit status and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = trace.main(arguments)
    assert bool(out.getvalue()) == (status != 2), status
    return status, err.getvalue()


def main(program, seed, times, *paths):
    sys.dont_write_bytecode = True
    trace = load(program)
    rng = random.Random(int(seed))
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    statuses = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, "bad")
        for i in range(int(times)):
            victim = rng.randrange(len(paths))
            with open(bad, "wb") as file:
                file.write(damage(rng, texts[victim]))
            files = [bad if k == victim else path
                     for k, path in enumerate(paths)]
            options = rng.sample(["--json", "--all"], rng.randrange(3))
            try:
                status, err = show(trace, options + files)
                assert status in (0, 1, 2), status
                assert bool(err) == (status == 2), err
                assert status != 2 or bad in err, err
            except BaseException:
                with open(bad, "rb") as file:
                    print(f"mutation {i} of {paths[victim]}, {options}:",
                          file.read())
                raise
            statuses[status] += 1
    print("exit statuses:", dict(statuses))
    assert min(statuses[1], statuses[2]) > int(times) // 4


if __name__ == "__main__":
    main(*sys.argv[1:])
