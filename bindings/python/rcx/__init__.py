# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations for Python programs that are not MPI programs.

    import numpy, rcx

    with rcx.Context(timeout=60) as context:
        total = numpy.ones(1000)
        context.world.allreduce(total)

    $ rcxrun -n 4 python3 program.py

The package covers all of RCX: collectives and messages (`Operations`) in three forms,
communicators (`Comm`), requests (`Request`), user-defined ops (`Context.op()`). `spawn()`
starts the ranks of a job on this machine, and the module `rcx.dask` makes ranks of Dask's
workers. Errors are raised as `Error` or a subclass. RCX's warnings go to the logger "rcx" of
Python's logging.
"""

from ._comm import ANY_SOURCE, TAG_MAX, Comm, Comparison, Creation, Failure, Started
from ._context import Bootstrap, Context, Order, Threads, get_id
from ._library import (ArgumentError, DeadlineError, Error, ExcludedError, MemoryFullError,
                       MismatchError, PeerError, Status, UnsupportedError, ffi, lib)
from ._operations import Operations
from ._ops import UserOp
from ._requests import Received, Request, test_all, test_any, wait_all, wait_any
from ._spawn import ProcessError, Processes, spawn
from ._types import Datatype, Op, UserType, op_supported

MAX, MIN, SUM, PROD = Op.MAX, Op.MIN, Op.SUM, Op.PROD
LAND, LOR, LXOR = Op.LAND, Op.LOR, Op.LXOR
BAND, BOR, BXOR = Op.BAND, Op.BOR, Op.BXOR
MAXLOC, MINLOC, REPLACE, NO_OP, AVG = Op.MAXLOC, Op.MINLOC, Op.REPLACE, Op.NO_OP, Op.AVG
SUM_EXACT, AVG_EXACT = Op.SUM_EXACT, Op.AVG_EXACT
SUM_FLOAT, AVG_FLOAT = Op.SUM_FLOAT, Op.AVG_FLOAT

__version__: str = ffi.string(lib.rcx_version()).decode()

for _error in (Error, ArgumentError, DeadlineError, ExcludedError, MemoryFullError,
               MismatchError, PeerError, ProcessError, UnsupportedError):
    _error.__module__ = "rcx"  # the public name, which tracebacks show

__all__ = [
    "ANY_SOURCE", "AVG", "AVG_EXACT", "AVG_FLOAT", "ArgumentError", "BAND", "BOR", "BXOR",
    "Bootstrap", "Comm", "Comparison", "Context", "Creation", "Datatype", "DeadlineError", "Error",
    "ExcludedError", "Failure", "LAND", "LOR", "LXOR", "MAX", "MAXLOC", "MIN", "MINLOC", "MemoryFullError", "MismatchError",
    "NO_OP", "Op", "Operations", "Order", "PROD", "PeerError", "ProcessError", "Processes",
    "REPLACE", "Received", "Request", "SUM", "SUM_EXACT", "SUM_FLOAT", "Started", "Status", "TAG_MAX",
    "Threads", "UnsupportedError", "UserOp", "UserType", "get_id", "op_supported", "spawn",
    "test_all", "test_any", "wait_all", "wait_any",
]
