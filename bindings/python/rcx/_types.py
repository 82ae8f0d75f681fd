# SPDX-License-Identifier: BSD-3-Clause
"""Predefined ops, and datatypes of elements."""

from __future__ import annotations

import enum
import re
import sys
from typing import Any

from ._library import ffi, lib


class Op(enum.IntEnum):
    """Predefined ops. `Context.op()` creates user-defined ones."""

    MAX = 257
    MIN = 258
    SUM = 259
    PROD = 260
    LAND = 261
    BAND = 262
    LOR = 263
    BOR = 264
    LXOR = 265
    BXOR = 266
    MAXLOC = 267
    MINLOC = 268
    REPLACE = 269
    NO_OP = 270
    AVG = 271
    SUM_EXACT = 272
    AVG_EXACT = 273
    SUM_FLOAT = 274
    AVG_FLOAT = 275


class Datatype(enum.IntEnum):
    """Datatypes of elements. By default, the format of a buffer determines the datatype.
    Pass `datatype=` if Python has no format for it (BFLOAT16, EXACT_...), or if the buffer is
    one of bytes."""

    INT8 = 1
    UINT8 = 2
    INT16 = 3
    UINT16 = 4
    INT32 = 5
    UINT32 = 6
    INT64 = 7
    UINT64 = 8
    FLOAT16 = 9
    BFLOAT16 = 10
    FLOAT32 = 11
    FLOAT64 = 12
    LONG_DOUBLE = 13
    COMPLEX_FLOAT = 14
    COMPLEX_DOUBLE = 15
    COMPLEX_LONG_DOUBLE = 16
    BOOL = 17
    BYTE = 18
    FLOAT_INT = 19
    DOUBLE_INT = 20
    LONG_INT = 21
    TWO_INT = 22
    SHORT_INT = 23
    LONG_DOUBLE_INT = 24
    EXACT_FLOAT32 = 35
    EXACT_FLOAT64 = 36


class UserType:
    """A datatype of opaque elements of `size` bytes, for user-defined ops. Created by
    `Context.type()`."""

    def __init__(self, number: int, size: int):
        self.number = number
        self.size = size

    def __int__(self) -> int:
        return self.number


AnyType = Datatype | UserType

_kinds = {
    **dict.fromkeys("bhilqn", "i"),
    **dict.fromkeys("BHILQN", "u"),
    **dict.fromkeys("efdg", "f"),
    "Zf": "c", "Zd": "c", "Zg": "c", "?": "?", "c": "b", "s": "b",
}
_LONG_DOUBLE = ffi.sizeof("long double")
_types = {
    ("i", 1): Datatype.INT8, ("u", 1): Datatype.UINT8,
    ("i", 2): Datatype.INT16, ("u", 2): Datatype.UINT16,
    ("i", 4): Datatype.INT32, ("u", 4): Datatype.UINT32,
    ("i", 8): Datatype.INT64, ("u", 8): Datatype.UINT64,
    ("f", 2): Datatype.FLOAT16, ("f", 4): Datatype.FLOAT32, ("f", 8): Datatype.FLOAT64,
    ("f", _LONG_DOUBLE): Datatype.LONG_DOUBLE,
    ("c", 8): Datatype.COMPLEX_FLOAT, ("c", 16): Datatype.COMPLEX_DOUBLE,
    ("c", 2 * _LONG_DOUBLE): Datatype.COMPLEX_LONG_DOUBLE,
    ("?", 1): Datatype.BOOL, ("b", 1): Datatype.BYTE,
}
# formats of struct { value; int index; }, in C's layout (NumPy: align=True), without names
_pairs = {
    "fi": (Datatype.FLOAT_INT, "float"), "di": (Datatype.DOUBLE_INT, "double"),
    "li": (Datatype.LONG_INT, "long"), "ii": (Datatype.TWO_INT, "int"),
    "hi": (Datatype.SHORT_INT, "short"), "gi": (Datatype.LONG_DOUBLE_INT, "long double"),
}
_sizes: dict[Datatype, int] = {
    **{datatype: size for (_, size), datatype in _types.items()},
    **{datatype: 2 * max(ffi.sizeof(value), 4) for datatype, value in _pairs.values()},
    Datatype.BFLOAT16: 2, Datatype.EXACT_FLOAT32: 48, Datatype.EXACT_FLOAT64: 536,
}


def size_of(datatype: AnyType) -> int:
    """Return the number of bytes of an element."""
    return datatype.size if isinstance(datatype, UserType) else _sizes[datatype]


def datatype_of(view: memoryview) -> Datatype:
    """Return the datatype of a buffer's elements. Raises TypeError if there is none.

    >>> import array
    >>> datatype_of(memoryview(array.array("d")))
    <Datatype.FLOAT64: 12>
    """
    code = view.format
    native = "<" if sys.byteorder == "little" else ">"
    if code.startswith("T{"):
        fields = re.sub(r":[^:]*:|[T{}x@]|" + native, "", code)
        datatype, _ = _pairs.get(fields, (None, None))
        if datatype and _sizes[datatype] == view.itemsize:
            return datatype
    else:
        found = _types.get((_kinds.get(code.lstrip("@=" + native), ""), view.itemsize))
        if found:
            return found
    raise TypeError(f"RCX has no datatype for the format '{code}' of {view.itemsize} bytes;"
                    " pass one as datatype=")


def op_supported(op: Any, datatype: Any) -> bool:
    """Return whether the predefined op is defined on datatype.

    >>> op_supported(Op.BAND, Datatype.INT32), op_supported(Op.BAND, Datatype.FLOAT32)
    (True, False)
    """
    return bool(lib.rcx_op_supported(int(op), int(datatype)))
