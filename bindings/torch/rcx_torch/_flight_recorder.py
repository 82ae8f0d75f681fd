# SPDX-License-Identifier: BSD-3-Clause
"""Dumps of the flight recorder: the last operations of this process, as PyTorch's own flight
recorder writes them."""

from __future__ import annotations

from . import _C


def dump_flight_recorder(prefix: str = "") -> str:
    """Write the last operations of this process as the pickle that PyTorch's analyser reads, to
    prefix followed by the rank of the world, and return that path. Prefix empty: that of
    TORCH_FR_DUMP_TEMP_FILE. It does not communicate: also a rank that hangs elsewhere may call
    it, from any thread.

    Raises RuntimeError if there is no prefix, the file cannot be written, or the recorder is off
    (TORCH_FR_BUFFER_SIZE=0).
    """
    return _C.dump_flight_recorder(prefix)


def flight_recorder_json() -> str:
    """Return the same as JSON, as PyTorch's _dump_nccl_trace_json() does."""
    return _C.flight_recorder_json()
