# SPDX-License-Identifier: BSD-3-Clause
"""Test the examples in docstrings, or (document.py RCX_H) compare the package with rcx.h."""

import doctest
import importlib.util
import pkgutil
import re
import sys

import rcx


def examples():
    """Run the examples of all modules."""
    names = [module.name for module in pkgutil.iter_modules(rcx.__path__)]
    if not importlib.util.find_spec("distributed"):
        names.remove("dask")
    results = [doctest.testmod(importlib.import_module(f"rcx.{name}")) for name in names]
    failed, tried = (sum(numbers) for numbers in zip(*results))
    print(f"{tried} examples, {failed} failed")


def header(path):
    """Print names whose numbers differ from rcx.h, and operations that are missing."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    numbers = dict(re.findall(r"\bRCX_(\w+) = (-?\d+)\b", text))
    numbers |= {name: number for name, number in re.findall(
        r"#define RCX_(\w+) \(?(-?\d\w*)\)?$", text, re.MULTILINE)}
    wrong = []
    for kind, prefix in ((rcx.Op, ""), (rcx.Datatype, ""), (rcx.Status, "ERR_"),
                         (rcx.Order, "ORDER_"), (rcx.Threads, "THREAD_")):
        for name, member in kind.__members__.items():
            c_name = {"TWO_INT": "2INT", "OK": "OK", "IN_PROGRESS": "IN_PROGRESS"}.get(
                name, prefix + name)
            if int(numbers.get(c_name, "-99"), 0) != member:
                wrong.append(f"{kind.__name__}.{name}")
    for name in ("ANY_SOURCE", "TAG_MAX"):
        if int(numbers[name], 0) != getattr(rcx, name):
            wrong.append(name)
    form = r"RCX_API rcx_status_t rcx_(\w+)\((?=[^;]*rcx_comm_t \*comm\);)"
    operations = {name for name in re.findall(form, text)
                  if re.search(rf"\brcx_i{name}\(", text)} | {"recv"}
    wrong += sorted(name for name in operations if not hasattr(rcx.Comm, name))
    assert len(operations) == 20, operations
    print(", ".join(wrong) or "as rcx.h")


header(sys.argv[1]) if sys.argv[1:] else examples()
