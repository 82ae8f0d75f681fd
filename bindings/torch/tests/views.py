# SPDX-License-Identifier: BSD-3-Clause
"""Conjugate, negative, transposed, strided and inference tensors, as operands and as
results of every function: their memory does not hold the elements in order. Also hooks
that wait, or throw, and interrupted waits: views.py [views] [hooks] [interrupted]

Expected values are computed from clones of all ranks' operands.
"""

import sys
import threading
import time

import rcx_torch  # noqa: F401
import torch
import torch.distributed as dist

ROWS = 6  # divisible by the number of ranks


def conjugate(t):
    return t.conj() if t.is_complex() else torch.imag(torch.complex(t, -t).conj())


def transposed(t):
    return t.t().contiguous().t()


def every_other(t):
    wide = torch.zeros(2 * t.shape[0], t.shape[1], dtype=t.dtype)
    view = wide[::2]
    view.copy_(t)
    return view


def inferred(t):
    with torch.inference_mode():
        return (t + 0).t().contiguous().t()


VIEWS = {"plain": lambda t: t.clone(), "conjugate": conjugate, "transposed": transposed,
         "every other row": every_other, "inference": inferred}


def operand(rank, kind):
    numbers = torch.arange(1.0, 1 + 2 * ROWS) + 100 * rank
    t = torch.complex(numbers, -numbers) if kind.is_complex else numbers
    return t.reshape(ROWS, 2).to(kind)


def resolved(t):
    return t.clone().resolve_conj().resolve_neg()


def attempt(call):
    """Return False if torch itself refuses conjugates in this function, in view_as_real()."""
    try:
        call()
    except RuntimeError as error:
        assert "view_as_real" in str(error), error
        return False
    return True


def check(name, got, expected):
    if not torch.equal(got.clone().resolve_conj().resolve_neg(), expected):
        raise AssertionError(f"{name}: {got} is not {expected}")


def reductions(view, kind, me, n):
    operands = [resolved(view(operand(r, kind))) for r in range(n)]
    total = sum(operands)
    block = ROWS // n

    mine = view(operand(me, kind))
    if attempt(lambda: dist.all_reduce(mine)):
        check("all_reduce", mine, total)
    mine = view(operand(me, kind))
    if attempt(lambda: dist.reduce(mine, n - 1)):
        check("reduce", mine, total if me == n - 1 else operands[me])
    parts = [view(p) for p in operand(me, kind).chunk(n)]
    out = view(torch.zeros(block, 2, dtype=kind))
    if attempt(lambda: dist.reduce_scatter(out, parts)):
        check("reduce_scatter", out,
              sum(resolved(view(operand(r, kind).chunk(n)[me])) for r in range(n)))
    out = view(torch.zeros(block, 2, dtype=kind))
    if attempt(lambda: dist.reduce_scatter_tensor(out, view(operand(me, kind)))):
        check("reduce_scatter_tensor", out, total.chunk(n)[me])


def movements(view, kind, me, n):
    operands = [resolved(view(operand(r, kind))) for r in range(2 * n)]
    mine = view(operand(me, kind))

    def place(rows=ROWS):
        return view(torch.zeros(rows, 2, dtype=kind))

    out = view(operand(me, kind))
    if attempt(lambda: dist.broadcast(out, n - 1)):
        check("broadcast", out, operands[n - 1])
    outs = [place() for _ in range(n)]
    if attempt(lambda: dist.all_gather(outs, mine)):
        for r in range(n):
            check("all_gather", outs[r], operands[r])
    out = place(n * ROWS)
    if attempt(lambda: dist.all_gather_into_tensor(out, mine)):
        check("all_gather_into_tensor", out, torch.cat(operands[:n]))
    outs = [place() for _ in range(n)]
    if attempt(lambda: dist.gather(mine, outs if me == 0 else None, 0)):
        for r in range(n if me == 0 else 0):
            check("gather", outs[r], operands[r])
    out = place()
    if attempt(lambda: dist.scatter(out, [view(operand(r, kind)) for r in range(n)]
                                    if me == 0 else None, 0)):
        check("scatter", out, operands[me])
    outs = [place() for _ in range(n)]
    if attempt(lambda: dist.all_to_all(outs, [view(operand(me + r, kind)) for r in range(n)])):
        for r in range(n):
            check("all_to_all", outs[r], operands[r + me])
    out = place()
    if attempt(lambda: dist.all_to_all_single(out, mine)):
        check("all_to_all_single", out, torch.cat([o.chunk(n)[me] for o in operands[:n]]))
    out = place()
    requests = []
    if attempt(lambda: requests.append(dist.isend(mine, (me + 1) % n))):
        dist.recv(out, (me - 1) % n)
        requests[0].wait()
        check("recv", out, operands[(me - 1) % n])


def refused(me, n):
    """An expanded tensor, whose elements share memory, is refused as a result, but is a valid
    operand."""
    shared = torch.zeros(1).expand(4)
    for call in (lambda: dist.all_reduce(shared), lambda: dist.broadcast(shared, 1 - min(me, 1)),
                 lambda: dist.all_gather([shared] * n, torch.ones(4))):
        try:
            call()
        except RuntimeError as error:
            assert "share memory" in str(error), error
        else:
            raise AssertionError("no error")
    outs = [torch.zeros(4) for _ in range(n)]
    dist.all_gather(outs, torch.full((1,), float(me)).expand(4))
    for r in range(n):
        check("expanded operand", outs[r], torch.full((4,), float(r)))


def hooks(me, n):
    """Hooks may call collectives and wait, also nested. An exception is set in the future."""
    def again(depth):
        def hook(future):
            x = future.value()[0]
            if depth == 0:
                return x
            work = dist.all_reduce(x, async_op=True)
            return work.get_future().then(again(depth - 1)).wait()
        return hook

    future = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(again(3))
    check("nested hooks", future.wait(), torch.full((2,), float(n ** 4)))

    def waits(future):
        y = torch.ones(1)
        dist.all_reduce(y)
        return y
    check("a blocking call in a hook",
          dist.barrier(async_op=True).get_future().then(waits).wait(), torch.full((1,), float(n)))

    def throws(future):
        raise ValueError("thrown by a hook")
    chained = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(throws)
    try:
        chained.wait()
    except Exception as error:  # torch determines the type
        assert "thrown by a hook" in str(error), error
    else:
        raise AssertionError("no error")
    x = torch.ones(1)
    dist.all_reduce(x)
    check("a call after that", x, torch.full((1,), float(n)))


def interrupted(me, n):
    """Ctrl-C ends wait() with KeyboardInterrupt."""
    import os
    import signal
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.time()
    work = dist.irecv(torch.zeros(1), (me + 1) % n)
    try:
        work.wait()
    except KeyboardInterrupt:
        assert time.time() - begin < 30
    else:
        raise AssertionError("no exception")
    time.sleep(2)  # until all ranks were interrupted
    dist.send(torch.zeros(1), (me - 1) % n)
    work.wait()


def views(me, n):
    """Every function, on every kind of view."""
    for name, view in VIEWS.items():
        for kind in (torch.complex64, torch.float32):
            try:
                movements(view, kind, me, n)
                reductions(view, kind, me, n)
            except Exception as error:
                raise AssertionError(f"{name}, {kind}") from error
    refused(me, n)


def main():
    """Run the tests that are named."""
    dist.init_process_group("rcx", init_method="rcx://")
    for name in sys.argv[1:]:
        {"views": views, "hooks": hooks, "interrupted": interrupted}[name](
            dist.get_rank(), dist.get_world_size())
        dist.barrier()
        print(f"{name} done", flush=True)
    dist.destroy_process_group()


main()
