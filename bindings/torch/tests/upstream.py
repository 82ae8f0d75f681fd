# SPDX-License-Identifier: BSD-3-Clause
"""Run PyTorch's own tests of torch.distributed, from python3-torch, over RCX.

    WORLD_SIZE=3 TAKEN_FOR=gloo python3 upstream.py [-v] [T.test_all_reduce_sum ...]

The tests select backends by name, not by capability. So RCX passes for Gloo, or for MPI
in tests of all_to_all, which of PyTorch's CPU backends only MPI has.
"""

import os
import sys
import tempfile
import types
import unittest

folder = os.environ.get("TEMP_DIR")
if not folder:  # spawned processes inherit the variable
    temporary = tempfile.TemporaryDirectory()
    os.environ["TEMP_DIR"] = folder = temporary.name
    os.mkdir(os.path.join(folder, "barrier"))
    os.mkdir(os.path.join(folder, "test_dir"))
os.environ["BACKEND"] = "rcx"
os.environ.setdefault("WORLD_SIZE", "3")

# Debian has no package of expecttest; the tests use only these names
expecttest = types.ModuleType("expecttest")
expecttest.TestCase, expecttest.ACCEPT = unittest.TestCase, False
sys.modules["expecttest"] = expecttest

# pylint: disable=wrong-import-position
import rcx_torch  # noqa: F401
import torch
from torch.testing._internal.common_distributed import DistTestCases
from torch.testing._internal.common_utils import run_tests

for feature in ("ddp", "subgroup", "plugin"):  # read when the tests are imported
    DistTestCases.backend_feature[feature].add("rcx")


taken_for = os.environ.setdefault("TAKEN_FOR", "gloo")


class Name(str):
    """A backend's name that also equals the name in TAKEN_FOR."""

    def __eq__(self, other):
        return other in (str(self), taken_for)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(taken_for)

    def __str__(self):
        return "rcx"


decode = os.environ.decodevalue
os.environ.decodevalue = lambda value: (Name("rcx") if decode(value) == "rcx"
                                        else decode(value))
from torch.testing._internal.distributed.distributed_test import (DistributedTest,
                                                                  TestDistBackend)
os.environ.decodevalue = decode


if torch.__version__ < "2":
    # this feature cannot be imported in Debian's PyTorch 1.13 with Python 3.11
    from torch.nn.parallel import _replicated_tensor_ddp_utils
    _replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda value: None


class T(TestDistBackend, DistributedTest._DistTestBase):
    """All tests of PyTorch."""

    def setUp(self):
        super().setUp()
        self._spawn_processes()


for name in dir(T):
    if name.startswith("test_monitored_barrier"):
        setattr(T, name, unittest.skip("PyTorch has it for Gloo alone")(getattr(T, name)))


if __name__ == "__main__":
    run_tests()
