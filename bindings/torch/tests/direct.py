# SPDX-License-Identifier: BSD-3-Clause
"""rcx_torch.all_reduce_(): direct.py [sums] [arguments] [comms] [killed|interrupted] | store FILE

Expected sums are computed with NumPy.
"""

import os
import signal
import sys
import threading
import time
from datetime import timedelta

import numpy as np
import rcx_torch
import torch
import torch.distributed as dist

all_reduce_ = rcx_torch.all_reduce_


def expect(condition, what):
    """End this rank if a condition does not hold."""
    if not condition:
        sys.exit(f"rank {rcx_torch.init().rank}: {what}")


def raises(error, words, *arguments, **named):
    """Expect an exception whose text contains words."""
    try:
        all_reduce_(*arguments, **named)
    except error as raised:
        expect(words in str(raised), f"{raised}: does not contain {words!r}")
        return
    expect(False, f"no exception: {words}")


def operands(count, size):
    """Return a row of numbers for each rank, which float16 and bfloat16 hold."""
    random = np.random.default_rng(count)
    return random.integers(-128, 129, (size, count)).astype(np.float32) * np.float32(2) ** \
        random.integers(-3, 4, (size, count)).astype(np.float32)


def tree(rows):
    """Return the sum of rows in float32 by the tree of RCX_ORDER=canonical."""
    if len(rows) == 1:
        return rows[0]
    split = 1
    while 2 * split < len(rows):
        split *= 2
    return tree(rows[:split]) + tree(rows[split:])


def sums(comm):
    """All types, lengths and ops."""
    for count in (0, 1, 7, 1000, 40000):
        rows = operands(count, comm.size)
        mine = torch.from_numpy(rows[comm.rank].copy())
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            # no float rounds these sums
            right = torch.from_numpy(tree(rows))
            for accumulate in (None, "float"):
                if accumulate and dtype == torch.float64:
                    continue
                x = mine.to(dtype, copy=True)
                version = x._version  # pylint: disable=protected-access
                expect(all_reduce_(x, "sum", accumulate) is x, "the result is the tensor")
                expect(x._version > version, "versions count")  # pylint: disable=protected-access
                if accumulate or dtype in (torch.float32, torch.float64):
                    expect(torch.equal(x, right.to(dtype)), f"sums of {count} {dtype}")
                x = mine.to(dtype, copy=True)
                all_reduce_(x, op="avg", accumulate=accumulate)
                if accumulate:
                    mean = (right / comm.size).to(dtype)
                    expect(torch.equal(x, mean), f"averages of {count} {dtype}")
            x = all_reduce_(mine.to(dtype, copy=True), "max")
            expect(torch.equal(x, torch.from_numpy(rows.max(0)).to(dtype)), "maximum")
    usual = np.random.default_rng(1).standard_normal((comm.size, 5000)).astype(np.float32)
    halves = torch.from_numpy(usual).bfloat16()
    right = torch.from_numpy(tree(halves.float().numpy()))
    x = all_reduce_(halves[comm.rank].clone(), accumulate="float")
    expect(torch.equal(x, right.bfloat16()), "rounded sums, to the bit")
    expect(all_reduce_(torch.tensor(comm.rank)).item() == sum(range(comm.size)), "an integer")


def arguments(comm):
    """Tensors that are not contiguous, and what is refused."""
    wide = torch.zeros(6, 10)
    part = wide[:, 2:7:2].t()
    part.fill_(comm.rank + 1)
    all_reduce_(part)
    total = comm.size * (comm.size + 1) // 2
    expect(torch.equal(part, torch.full((3, 6), float(total))), "a view with strides")
    expect(wide.sum().item() == 18 * total, "what is beside it stays")
    x = rcx_torch.empty((64, 64), torch.bfloat16).fill_(1)
    expect(torch.equal(all_reduce_(x), torch.full((64, 64), comm.size).bfloat16()), "own memory")
    del x
    grad = torch.zeros(3, requires_grad=True)
    raises(RuntimeError, "requires grad", grad)
    with torch.no_grad():
        all_reduce_(grad)
    with torch.inference_mode():
        all_reduce_(torch.ones(3))
    raises(RuntimeError, "on meta: needs one on the CPU", torch.zeros(3, device="meta"))
    raises(RuntimeError, "not supported on tensors of type", torch.zeros(3).to(torch.complex32))
    raises(RuntimeError, "layout Sparse", torch.eye(3).to_sparse())
    raises(RuntimeError, "resolve_conj()", torch.zeros(3, dtype=torch.complex64).conj())
    raises(RuntimeError, "op=\"median\": valid are sum", torch.zeros(3), "median")
    raises(RuntimeError, "accumulate=\"double\"", torch.zeros(3), accumulate="double")
    raises(RuntimeError, "is for sums", torch.zeros(3), "max", "float")
    raises(RuntimeError, "is for sums", torch.zeros(3, dtype=torch.int32), accumulate="float")
    raises(RuntimeError, "is not defined on", torch.zeros(3, dtype=torch.int32), "avg")
    raises(TypeError, "needs a tensor")
    raises(TypeError, "needs a tensor", [1, 2])
    raises(TypeError, "'group' is unknown", torch.zeros(3), group=None)
    raises(TypeError, "'op' is given twice", torch.zeros(3), "sum", op="sum")
    raises(TypeError, "comm is a Comm", torch.zeros(3), comm=3)


def comms(comm):
    """Parts of the processes, beside torch.distributed."""
    dist.init_process_group("rcx", init_method="rcx://")
    half = comm.split(comm.rank % 2)
    expect(half.size == (comm.size + 1 - comm.rank % 2) // 2 and half.rank == comm.rank // 2,
           "ranks of a part")
    expect(comm.split(-1) is None, "no part")
    x = all_reduce_(torch.tensor([comm.rank]), comm=half)
    expect(x.item() == sum(range(comm.rank % 2, comm.size, 2)), "a sum of a part")
    y = torch.tensor([comm.rank])
    dist.all_reduce(y)
    expect(y.item() == sum(range(comm.size)), "a sum of torch.distributed")
    dist.destroy_process_group()
    del half
    rcx_torch.finalize()
    expect(rcx_torch.init().size == comm.size, "another context")


def killed(comm):
    """A rank is killed while others wait."""
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            all_reduce_(torch.zeros(3000))
    except RuntimeError as error:
        expect("rank 1" in str(error), str(error))
        print("it was rank 1")


def interrupted(comm):
    """Ctrl-C ends a wait, in which other threads run; then all calls fail."""
    ticks = []
    if comm.rank == 0:
        def interrupt():
            for _ in range(20):
                time.sleep(0.01)
                ticks.append(1)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            all_reduce_(torch.zeros(3))
        except KeyboardInterrupt:
            expect(len(ticks) == 20, "a thread runs while another one waits")
            print("interrupted")
        raises(RuntimeError, "rcx: ", torch.zeros(3))
    else:
        time.sleep(0.5)
        raises(RuntimeError, "rcx: ", torch.zeros(3))


def main(names):
    """Run these tests, one after the other."""
    torch.set_num_threads(1)
    if names[0] == "store":
        # rank and size of a launcher's job take the place of torchrun's
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        store = dist.FileStore(sys.argv[2], size)
        comm = rcx_torch.init(store, rank, size, timedelta(seconds=60))
        x = all_reduce_(torch.tensor([rank]))
        expect(x.item() == sum(range(size)) and comm.size == size, "a sum over a store")
        print("store done")
        return
    for name in names:
        globals()[name](rcx_torch.init())
        print(f"{name} done")


main(sys.argv[1:])
