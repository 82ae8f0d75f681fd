# SPDX-License-Identifier: BSD-3-Clause
"""User-defined ops, written in Python."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ._library import check, ffi, lib, made
from ._types import AnyType, Datatype, size_of

Combine = Callable[[memoryview, memoryview, memoryview], None]

_formats: dict[AnyType, str] = {
    Datatype.INT8: "b", Datatype.UINT8: "B", Datatype.INT16: "h", Datatype.UINT16: "H",
    Datatype.INT32: "i", Datatype.UINT32: "I", Datatype.INT64: "q", Datatype.UINT64: "Q",
    Datatype.FLOAT32: "f", Datatype.FLOAT64: "d", Datatype.BOOL: "?",
}


class UserOp:
    """A user-defined op, created by `Context.op()`. It is freed when there is no reference to
    it any more. Operations in progress hold a reference."""

    number = 0

    def __init__(self, context: Any, combine: Combine, flags: int):
        self._context = context
        self._combiner = _Combiner(context, combine)
        self._arg = ffi.new_handle(self._combiner)
        self.number = made("rcx_op_t", lib.rcx_op_create, context.handle, _call, flags,
                           self._arg)

    def __int__(self) -> int:
        return self.number

    def free(self) -> None:
        """Free the op. Operations in progress continue with it. A context that is closed has
        freed its ops."""
        number, self.number = self.number, 0
        if number and not self._context.is_closed:
            check(lib.rcx_op_free(self._context.handle, ffi.new("rcx_op_t *", number)))

    def __del__(self) -> None:
        if self.number:
            self._context.leave_op(self.number, self._arg)

    def take_error(self) -> BaseException | None:
        """Return the last exception of combine, or None, and clear it."""
        error, self._combiner.error = self._combiner.error, None
        return error


class _Combiner:
    """The object that RCX calls back. It does not refer to the UserOp, which could otherwise
    not be collected."""

    def __init__(self, context: Any, combine: Combine):
        self._context = weakref.proxy(context)
        self._combine = combine
        self.error: BaseException | None = None

    def call(self, places: tuple[Any, Any, Any], count: int, number: int) -> int:
        """Call combine on count elements. Returns 0, or 1 if it raised an exception."""
        datatype = self._context.type_of(number)
        code: Any = _formats.get(datatype)
        nbytes = count * size_of(datatype)
        views = (memoryview(ffi.buffer(place, nbytes)) for place in places)
        try:
            self._combine(*(view.cast("B").cast(code) if code else view for view in views))
            return 0
        except BaseException as error:
            self.error = error
            return 1


@ffi.callback("rcx_op_fn_t", error=1)  # type: ignore[misc]
def _call(dst: Any, left: Any, right: Any, count: int, number: int, arg: Any) -> int:
    op: _Combiner = ffi.from_handle(arg)
    return op.call((dst, left, right), count, number)
