# SPDX-License-Identifier: BSD-3-Clause
"""Every function of torch.distributed over RCX, compared with results computed here."""

import gc
import os
import sys
import threading
from datetime import timedelta

import rcx_torch  # noqa: F401
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import AllreduceCoalescedOptions

TYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
         torch.bfloat16, torch.float32, torch.float64)


def mine(rank, *shape, dtype=torch.float64):
    """Return the operand of a rank: small integers, different on each rank."""
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count) % 5 + rank + 1).reshape(shape).to(dtype)


def same(found, expected, what=""):
    """Assert that two tensors are equal."""
    assert torch.equal(found, expected), f"{what}: {found} instead of {expected}"


def raises(text, call, *arguments, **named):
    """Assert that the call raises an error that contains text."""
    try:
        call(*arguments, **named)
    except (RuntimeError, ValueError) as error:
        assert text in str(error), error
        return
    raise AssertionError(f"{call} did not raise")


def reductions(me, p):
    """Reductions with all ops and types, also on tensors that are not contiguous."""
    for dtype in TYPES:
        x = mine(me, 3, 5, dtype=dtype)
        dist.all_reduce(x)
        same(x, sum(mine(r, 3, 5, dtype=dtype) for r in range(p)), dtype)
    stack = torch.stack([mine(r, 7) for r in range(p)])
    ints = stack.long()
    for op, expected in ((dist.ReduceOp.SUM, stack.sum(0)), (dist.ReduceOp.AVG, stack.mean(0)),
                         (dist.ReduceOp.PRODUCT, stack.prod(0)),
                         (dist.ReduceOp.MIN, stack.min(0)[0]),
                         (dist.ReduceOp.MAX, stack.max(0)[0])):
        x = mine(me, 7)
        dist.all_reduce(x, op)
        torch.testing.assert_close(x, expected)
        x = mine(me, 7)
        dist.reduce(x, p - 1, op)
        torch.testing.assert_close(x, expected if me == p - 1 else mine(me, 7))
    for op, combine in ((dist.ReduceOp.BAND, torch.bitwise_and),
                        (dist.ReduceOp.BOR, torch.bitwise_or),
                        (dist.ReduceOp.BXOR, torch.bitwise_xor)):
        x, expected = ints[me].clone(), ints[0]
        for row in ints[1:]:
            expected = combine(expected, row)
        dist.all_reduce(x, op)
        same(x, expected, op)
    for op, expected in ((dist.ReduceOp.SUM, [True, True, False]),
                         (dist.ReduceOp.MAX, [True, True, False]),
                         (dist.ReduceOp.PRODUCT, [p == 1, True, False]),
                         (dist.ReduceOp.MIN, [p == 1, True, False])):
        x = torch.tensor([me == 0, True, False])
        dist.all_reduce(x, op)
        same(x, torch.tensor(expected), op)
    x = mine(me, 4).to(torch.complex128) * 1j
    dist.all_reduce(x)
    same(x, sum(mine(r, 4).to(torch.complex128) * 1j for r in range(p)))
    wide = torch.zeros(6, 4, dtype=torch.float64)
    wide[:, 1:3] = mine(me, 6, 2)
    dist.all_reduce(wide[:, 1:3])
    same(wide[:, 1:3], sum(mine(r, 6, 2) for r in range(p)))
    same(wide[:, 3], torch.zeros(6, dtype=torch.float64))
    dist.all_reduce(torch.zeros(0))
    rows = [me, p - 1][:1 + me % 2]  # the last rank, if odd, has the same row twice
    sparse = torch.sparse_coo_tensor([rows], mine(me, len(rows), 2), (p, 2))
    expected = sum(torch.sparse_coo_tensor([[r, p - 1][:1 + r % 2]],
                                           mine(r, 1 + r % 2, 2), (p, 2)).to_dense()
                   for r in range(p))
    dist.all_reduce(sparse)
    same(sparse.to_dense(), expected, "sparse")
    group = dist.distributed_c10d._get_default_group()
    parts = [mine(me, 3), mine(me, 0), mine(me, 2, 2).t()]
    options = AllreduceCoalescedOptions()
    group.allreduce_coalesced(parts, options).wait()
    same(parts[0], sum(mine(r, 3) for r in range(p)))
    same(parts[2], sum(mine(r, 2, 2).t() for r in range(p)))
    out = torch.zeros(2, dtype=torch.float64)
    dist.reduce_scatter(out, [mine(me + 10 * r, 2) for r in range(p)])
    same(out, sum(mine(r + 10 * me, 2) for r in range(p)))
    dist.reduce_scatter_tensor(out, torch.cat([mine(me + 10 * r, 2) for r in range(p)]))
    same(out, sum(mine(r + 10 * me, 2) for r in range(p)))


def movements(me, p):
    """Data movement between single tensors and lists of tensors."""
    root = p - 1
    for dtype in (*TYPES, torch.bool):
        x = mine(me, 4, dtype=dtype)
        dist.broadcast(x, root)
        same(x, mine(root, 4, dtype=dtype))
    x = mine(me, 3, 3).t()
    dist.broadcast(x, root)
    same(x, mine(root, 3, 3).t())
    parts = [torch.zeros(2, 3, dtype=torch.float64).t() for _ in range(p)]
    dist.all_gather(parts, mine(me, 3, 2))
    for r in range(p):
        same(parts[r], mine(r, 3, 2))
    whole = torch.zeros(p * 3, dtype=torch.float64)
    dist.all_gather_into_tensor(whole, mine(me, 3))
    same(whole, torch.cat([mine(r, 3) for r in range(p)]))
    whole[3 * me:3 * me + 3] = mine(me + 1, 3)
    dist.all_gather_into_tensor(whole, whole[3 * me:3 * me + 3])
    same(whole, torch.cat([mine(r + 1, 3) for r in range(p)]))
    group = dist.distributed_c10d._get_default_group()
    lists = [[torch.zeros(2), torch.zeros(3)] for _ in range(p)]
    group.allgather_coalesced(lists, [torch.full((2,), float(me)), torch.full((3,), -1.0 * me)]
                              ).wait()
    for r in range(p):
        same(lists[r][0], torch.full((2,), float(r)))
        same(lists[r][1], torch.full((3,), -1.0 * r))
    parts = [torch.zeros(2, dtype=torch.float64) for _ in range(p)]
    dist.gather(mine(me, 2), parts if me == root else None, root)
    if me == root:
        for r in range(p):
            same(parts[r], mine(r, 2))
    x = torch.zeros(2, dtype=torch.float64)
    dist.scatter(x, [mine(r + 3, 2) for r in range(p)] if me == root else None, root)
    same(x, mine(me + 3, 2))
    out = torch.zeros(2 * p, 2, dtype=torch.float64)
    dist.all_to_all_single(out, torch.cat([mine(me + 10 * r, 2, 2) for r in range(p)]))
    same(out, torch.cat([mine(r + 10 * me, 2, 2) for r in range(p)]))
    lengths = [me + r for r in range(p)]  # symmetric: as many from s to r as from r to s
    out = torch.zeros(sum(lengths), dtype=torch.float64)
    dist.all_to_all_single(out, torch.cat([mine(me + 10 * r, me + r) for r in range(p)]),
                           lengths, lengths)
    same(out, torch.cat([mine(r + 10 * me, r + me) for r in range(p)]))
    outs = [torch.zeros(me + r, dtype=torch.float64) for r in range(p)]
    dist.all_to_all(outs, [mine(me + 10 * r, me + r) for r in range(p)])
    for r in range(p):
        same(outs[r], mine(r + 10 * me, r + me))
    objects = [None] * p
    dist.all_gather_object(objects, {"rank": me, "text": "x" * me})
    assert [o["rank"] for o in objects] == list(range(p))
    word = [f"from {me}"]
    dist.broadcast_object_list(word, src=p - 1)
    assert word == [f"from {p - 1}"]
    dist.barrier()


def messages(me, p):
    """Messages to the next rank and from any rank, and batches of them."""
    there, before = (me + 1) % p, (me - 1) % p
    x = torch.zeros(4, dtype=torch.float64)
    if p == 1:  # torch.distributed refuses messages to the own rank
        return
    sent = dist.isend(mine(me, 4), there, tag=3)
    assert dist.recv(x, tag=3) == before
    sent.wait()
    same(x, mine(before, 4))
    wide = torch.zeros(4, 2, dtype=torch.float64)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine(me, 4), there),
                                    dist.P2POp(dist.irecv, wide[:, 1], before)])
    for work in works:
        work.wait()
    same(wide[:, 1], mine(before, 4))
    same(wide[:, 0], torch.zeros(4, dtype=torch.float64))


def futures(me, p):
    """Futures with chained hooks, and hooks that start operations."""
    x = torch.ones(1000)
    chained = dist.all_reduce(x, async_op=True).get_future().then(
        lambda f: f.value()[0] * 2)
    assert (chained.wait() == 2 * p).all()
    ended = threading.Event()

    def again(future):
        later = dist.all_reduce(future.value()[0], async_op=True).get_future()
        later.add_done_callback(lambda _: ended.set())

    dist.all_reduce(x, async_op=True).get_future().add_done_callback(again)
    assert ended.wait(30)
    same(x, torch.full((1000,), float(p ** 3)))
    work = dist.all_reduce(x, async_op=True)
    assert work.wait(timedelta(seconds=30))
    assert work.is_completed()
    same(work.result()[0], x)
    dist.all_reduce(torch.ones(100_000), async_op=True)  # no reference is kept
    gc.collect()


def groups(me, p):
    """Groups of some ranks, created and destroyed many times."""
    edge = sorted({0, p - 1})
    for i in range(30):
        group = dist.new_group(edge)
        if me in edge:
            x = torch.full((3,), float(me + i))
            dist.all_reduce(x, group=group)
            same(x, torch.full((3,), float(sum(r + i for r in edge))))
            dist.destroy_process_group(group)
    alone = [dist.new_group([r]) for r in range(p)]
    dist.barrier(group=alone[me])


def wrong(me, p):
    """Invalid calls raise errors on this rank, and later calls work."""
    raises("op", dist.all_reduce, torch.ones(2), dist.ReduceOp.BAND)
    if torch.__version__ < "2":  # PyTorch 2 checks this itself
        raises("reductions are not supported on", dist.all_reduce,
               torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8))
        raises("dense", dist.broadcast, torch.eye(2).to_sparse(), 0)
    group = dist.distributed_c10d._get_default_group()
    raises("one tensor", group.allreduce, [torch.ones(1), torch.ones(1)])
    raises("root 99", group.broadcast, torch.ones(1), 99)
    raises("outputs for", group.allgather, [[torch.ones(1)] * (p + 1)], [torch.ones(1)])
    raises("output has", dist.all_gather_into_tensor, torch.ones(p + 1), torch.ones(1))
    raises("split sizes", dist.all_to_all_single, torch.ones(p), torch.ones(p), [2] * p, [1] * p)
    if p > 1:
        raises("overlap", dist.all_gather, [torch.ones(2)] * p, torch.ones(2))
        raises("tag", dist.send, torch.ones(1), (me + 1) % p, tag=-5)
    dist.barrier()


def main(method, times):
    """Run all tests, the given number of times in one process."""
    for i in range(times):
        if method == "rcx":
            dist.init_process_group("rcx", init_method="rcx://")
        else:
            dist.init_process_group("rcx", init_method=f"{method}.{i}",
                                    rank=int(os.environ["PMIX_RANK"]),
                                    world_size=int(os.environ["HOST_SIZE"]),
                                    timeout=timedelta(seconds=60))
        me, p = dist.get_rank(), dist.get_world_size()
        for part in (reductions, movements, messages, futures, groups, wrong):
            part(me, p)
        dist.destroy_process_group()
        gc.collect()
    print("done", file=sys.stderr)


main(sys.argv[1], int(sys.argv[2]))
