# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own tests of torch.distributed, as python3-torch has them, over RCX.

    WORLD_SIZE=3 python3 upstream.py [-v] [T.test_all_reduce_sum ...]
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
from torch.nn.parallel import _replicated_tensor_ddp_utils
from torch.testing._internal.common_distributed import DistTestCases
from torch.testing._internal.common_utils import run_tests

for feature in ("ddp", "subgroup", "plugin"):  # read when the tests are imported
    DistTestCases.backend_feature[feature].add("rcx")


class AsGloo(str):
    """A name that is also gloo's: tests ask for names, of what a backend can do."""

    def __eq__(self, other):
        return str(self) == other or other == "gloo"

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash("gloo")

    def __str__(self):
        return "rcx"


decode = os.environ.decodevalue
os.environ.decodevalue = lambda value: (AsGloo("rcx") if decode(value) == "rcx"
                                        else decode(value))
from torch.testing._internal.distributed.distributed_test import (DistributedTest,
                                                                  TestDistBackend)
os.environ.decodevalue = decode


# Debian's PyTorch cannot import what this is for with its Python 3.11
_replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda value: None


class T(TestDistBackend, DistributedTest._DistTestBase):
    """All of them."""

    def setUp(self):
        super().setUp()
        self._spawn_processes()


if __name__ == "__main__":
    run_tests()
