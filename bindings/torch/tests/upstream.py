# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own tests of torch.distributed, as python3-torch has them, over RCX.

    WORLD_SIZE=3 TAKEN_FOR=gloo python3 upstream.py [-v] [T.test_all_reduce_sum ...]

Tests ask for backends by name where they mean what one can do: RCX is taken for Gloo, or
for MPI, which alone has all_to_all.
"""

import os
import sys
import tempfile
import types
import unittest

folder = os.environ.get("TEMP_DIR")
if not folder:  # processes that tests spawn have it from the first
    temporary = tempfile.TemporaryDirectory()
    os.environ["TEMP_DIR"] = folder = temporary.name
    os.mkdir(os.path.join(folder, "barrier"))
    os.mkdir(os.path.join(folder, "test_dir"))
os.environ["BACKEND"] = "rcx"
os.environ.setdefault("WORLD_SIZE", "3")

# not in Debian; of it the tests need this
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
    """A name that is also another's."""

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
    # Debian's cannot import what this is for with its Python 3.11
    from torch.nn.parallel import _replicated_tensor_ddp_utils
    _replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda value: None


class T(TestDistBackend, DistributedTest._DistTestBase):
    """All of them."""

    def setUp(self):
        super().setUp()
        self._spawn_processes()


for name in dir(T):
    if name.startswith("test_monitored_barrier"):
        setattr(T, name, unittest.skip("PyTorch has it for Gloo alone")(getattr(T, name)))


if __name__ == "__main__":
    run_tests()
