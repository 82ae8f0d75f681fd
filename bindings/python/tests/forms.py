# SPDX-License-Identifier: BSD-3-Clause
"""Every operation in each of its forms, compared with results of loops; and errors."""

import array
import gc
import itertools
import os
import sys
import threading
import warnings

import numpy
import rcx

FORMS = ("blocking", "nonblocking", "persistent")


def perform(world, form, name, *arguments, times=1, **named):
    """Run an operation in one form; a persistent one `times` times."""
    if form == "blocking":
        return getattr(world, name)(*arguments, **named)
    request = getattr(getattr(world, form), name)(*arguments, **named)
    for _ in range(times if form == "persistent" else 0):
        request.start()
        request.wait()
    request.wait()
    result = request.received() if name == "recv" else None
    assert request.test() and request.method
    request.free()
    return result


def mine(rank, count):
    """Return the operand of a rank: all elements of all ranks are different."""
    return array.array("q", (1000 * rank + i for i in range(count)))


def equal(found, expected):
    """Assert that two sequences are equal."""
    found, expected = list(found), list(expected)
    assert found == expected, f"{found} instead of {expected}"


def raises(kind, call, *arguments, **named):
    """Assert that the call raises an exception of this kind, and return it."""
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{call} did not raise {kind}")


def reductions(world, form):
    """Reductions."""
    p, me, n = world.size, world.rank, 5
    sums = [sum(mine(r, n)[i] for r in range(p)) for i in range(n)]
    out = array.array("q", [0] * n)
    perform(world, form, "allreduce", mine(me, n), out)
    equal(out, sums)
    perform(world, form, "allreduce", mine(me, n), out, rcx.MAX, times=2)
    equal(out, mine(p - 1, n))
    inout = mine(me, n)
    perform(world, form, "allreduce", inout)
    equal(inout, sums)
    for root in (0, p - 1):
        out = array.array("q", [-1] * n)
        perform(world, form, "reduce", mine(me, n), out, root=root)
        equal(out, sums if me == root else [-1] * n)
    perform(world, form, "scan", mine(me, n), out)
    equal(out, [sum(mine(r, n)[i] for r in range(me + 1)) for i in range(n)])
    out = array.array("q", [-1] * n)
    perform(world, form, "exscan", mine(me, n), out)
    equal(out, [sum(mine(r, n)[i] for r in range(me)) if me else -1 for i in range(n)])
    many = [mine(me, 3), mine(me, 0), mine(me, 2)]
    outs = [array.array("q", [0] * len(part)) for part in many]
    perform(world, form, "allreduce_many", many, outs)
    equal(outs[0], sums[:3])
    equal(outs[2], [sum(mine(r, 2)[i] for r in range(p)) for i in range(2)])
    perform(world, form, "allreduce_many", many)
    equal(many[0], sums[:3])
    counts = list(range(p))
    total = sum(counts)
    all_sums = [sum(mine(r, total)[i] for r in range(p)) for i in range(total)]
    out = array.array("q", [0] * me)
    perform(world, form, "reduce_scatter", mine(me, total), out, counts)
    equal(out, all_sums[sum(counts[:me]):][:me])
    out = array.array("q", [0] * 2)
    perform(world, form, "reduce_scatter_block", mine(me, 2 * p), out)
    equal(out, [sum(mine(r, 2 * p)[2 * me + i] for r in range(p)) for i in range(2)])


def movements(world, form):
    """Data movement."""
    p, me, n = world.size, world.rank, 3
    root = p - 1
    buffer = mine(me, n)
    perform(world, form, "bcast", buffer, root)
    equal(buffer, mine(root, n))
    perform(world, form, "bcast", bytes(mine(me, n)) if me == root else bytearray(8 * n), root)
    blocks = list(itertools.chain.from_iterable(mine(r, n) for r in range(p)))
    out = array.array("q", [-1] * (n * p))
    perform(world, form, "gather", mine(me, n), out, root)
    equal(out, blocks if me == root else [-1] * (n * p))
    place = array.array("q", [0] * (n * p))
    place[n * me:n * me + n] = mine(me, n)
    perform(world, form, "gather", place if me == root else mine(me, n), root=root)
    equal(place, blocks if me == root else place)
    place = array.array("q", [0] * (n * p))
    place[n * me:n * me + n] = mine(me, n)
    perform(world, form, "allgather", place)
    equal(place, blocks)
    perform(world, form, "allgather", mine(me, n), place)
    equal(place, blocks)
    counts = [r + 1 for r in range(p)]
    displs = [sum(counts[r + 1:]) for r in range(p)]  # blocks in reverse order of ranks
    reverse = list(itertools.chain.from_iterable(mine(r, r + 1) for r in reversed(range(p))))
    out = array.array("q", [-1] * sum(counts))
    perform(world, form, "gatherv", mine(me, me + 1), out, counts, displs, root)
    equal(out, reverse if me == root else [-1] * sum(counts))
    perform(world, form, "allgatherv", mine(me, me + 1), out, counts, displs)
    equal(out, reverse)
    out = array.array("q", [-1] * n)
    perform(world, form, "scatter", mine(root, n * p) if me == root else None, out, root)
    equal(out, mine(root, n * p)[n * me:n * me + n])
    if me == root:
        perform(world, form, "scatter", mine(root, n * p), root=root)
    else:
        perform(world, form, "scatter", None, out, root)
        equal(out, mine(root, n * p)[n * me:n * me + n])
    out = array.array("q", [-1] * (me + 1))
    perform(world, form, "scatterv", mine(root, sum(counts)) if me == root else None, out,
            counts, displs, root)
    equal(out, mine(root, sum(counts))[displs[me]:displs[me] + me + 1])
    out = array.array("q", [-1] * (n * p))
    perform(world, form, "alltoall", mine(me, n * p), out)
    equal(out, itertools.chain.from_iterable(
        mine(r, n * p)[n * me:n * me + n] for r in range(p)))
    there = mine(me, n * p)
    perform(world, form, "alltoall", there)
    equal(there, out)
    # rank s sends s + r + 1 elements to rank r
    lengths = [me + r + 1 for r in range(p)]
    out = array.array("q", [-1] * sum(lengths))
    perform(world, form, "alltoallv", mine(me, sum(lengths)), lengths, out, lengths)
    equal(out, itertools.chain.from_iterable(
        mine(r, 1000)[sum(r + i + 1 for i in range(me)):][:r + me + 1] for r in range(p)))
    # equal blocks, which are received in the reverse order of ranks
    displs = [n * (p - 1 - r) for r in range(p)]
    out = array.array("q", [-1] * (n * p))
    perform(world, form, "alltoallv", mine(me, n * p), [n] * p, out, recvdispls=displs)
    equal(out, itertools.chain.from_iterable(
        mine(r, n * p)[n * me:n * me + n] for r in reversed(range(p))))
    there = mine(me, n * p)
    perform(world, form, "alltoallv", there, [n] * p, recvdispls=displs)
    equal(there, itertools.chain.from_iterable(
        mine(r, n * p)[displs[me]:displs[me] + n] for r in reversed(range(p))))
    # a ring: the block for the right neighbour, then the one for the left
    left, right = (me - 1) % p, (me + 1) % p
    out = array.array("q", [-1] * (2 * n + 1))
    perform(world, form, "neighbor_alltoallv", mine(me, 2 * n + 1), [right, left], [n, n + 1], out,
            [left, right], [n, n + 1])
    equal(out, [*mine(left, n), *mine(right, 2 * n + 1)[n:]])
    perform(world, form, "barrier")


def messages(world, form):
    """Messages to the next rank, received from any source or from the rank before."""
    p, me = world.size, world.rank
    out = array.array("q", [-1] * 4)
    sent = world.nonblocking.send(mine(me, 3), (me + 1) % p, tag=7)
    got = perform(world, form, "recv", out, rcx.ANY_SOURCE, 7)
    sent.wait()
    before = (me - 1) % p
    equal(out, [*mine(before, 3), -1])
    assert got == rcx.Received(before, 7, 3), got
    got = world.nonblocking.recv(out, before, 8)
    perform(world, form, "send", mine(me, 4), (me + 1) % p, 8)
    assert rcx.wait_any([None, got]) == 1 and rcx.wait_any([None, got]) is None
    equal(out, mine(before, 4))


def exchanges(world):
    """Send and receive at once, probes, a cancelled receive, and tests of all requests."""
    p, me = world.size, world.rank
    out, there, before = array.array("q", [-1] * 4), (me + 1) % p, (me - 1) % p
    got = world.sendrecv(mine(me, 3), there, out, tag=3)
    equal(out, [*mine(before, 3), -1])
    assert got == rcx.Received(before, 3, 3), got
    assert world.iprobe(tag=4) is None
    receive = world.nonblocking.recv(out, before, 5)
    assert not rcx.test_all([receive])
    receive.cancel()
    try:
        receive.wait()
        raise AssertionError("a cancelled receive is complete")
    except rcx.Error as error:
        assert error.status == rcx.Status.CANCELED, error
    world.barrier()  # no message has been sent before
    sent = world.nonblocking.send(mine(me, 4), there, 4)
    while not (found := world.iprobe(before, 4)):
        pass
    assert found.source == before and found.count == 4 * out.itemsize, found
    world.recv(out, before, 4)
    equal(out, mine(before, 4))
    while not rcx.test_all([sent]):
        pass
    world.barrier()


def types(world):
    """Datatypes of buffers."""
    p = world.size
    for code in "bhilqBHILQefdg":
        x = numpy.full(3, 2, dtype=code)
        world.allreduce(x)
        equal(x, [2 * p] * 3)
    for code in "FDG":
        x = numpy.full(2, 1 + 2j, dtype=code)
        world.allreduce(x)
        equal(x, [p * (1 + 2j)] * 2)
    x = numpy.array([world.rank == 0, True])
    world.allreduce(x, op=rcx.LAND)
    equal(x, [p == 1, True])
    for value in "fdlhig":
        x = numpy.zeros(2, numpy.dtype([("value", value), ("index", "i")], align=True))
        x["value"], x["index"] = 5, world.rank
        world.allreduce(x, op=rcx.MAXLOC)
        assert list(x["index"]) == [0, 0] and list(x["value"]) == [5, 5], x
    x = numpy.full(2, 0x3F80, numpy.uint16)  # 1.0
    world.allreduce(x, op=rcx.MAX, datatype=rcx.Datatype.BFLOAT16)
    equal(x, [0x3F80] * 2)
    matrix = numpy.ones((3, 4))
    world.allreduce(matrix)
    assert (matrix == p).all()
    world.allreduce(numpy.zeros(0), numpy.zeros(0))


def wrong(context, world):
    """Invalid calls raise exceptions before anything is sent."""
    x = numpy.zeros(6)
    raises(TypeError, world.allreduce, bytes(8))
    raises(TypeError, world.allreduce, [1, 2])
    raises(TypeError, world.allreduce, x.astype(">f8"))
    raises(TypeError, world.allreduce, x, numpy.zeros(6, "f"))
    raises(TypeError, world.allreduce, numpy.zeros(2, "U3"))
    raises(ValueError, world.allreduce, x[::2])
    raises(ValueError, world.allreduce, numpy.ones((2, 3)).T)
    raises(ValueError, world.allreduce, x, numpy.zeros(5))
    raises(ValueError, world.allgatherv, x, x.copy(), [7] * world.size)
    raises(ValueError, world.gatherv, x, x.copy(), [1] * (world.size + 1))
    raises((ValueError, OverflowError), world.gatherv, x, x.copy(), [-1] * world.size)
    error = raises(rcx.UnsupportedError, world.allreduce, x, op=rcx.BAND)
    assert error.status == rcx.Status.UNSUPPORTED and "band" in str(error), error
    error = raises(rcx.ArgumentError, world.bcast, x, root=world.size)
    assert f"root={world.size}" in str(error), error
    assert isinstance(error, ValueError)
    raises(rcx.Error, context.fileno)
    request = world.nonblocking.allreduce(x)
    request.wait()
    request.free()
    raises(ValueError, request.wait)


def groups(world):
    """Communicators of some ranks."""
    with world.dup() as copy:
        x = numpy.ones(1)
        copy.allreduce(x)
        equal(x, [world.size])
    raises(ValueError, copy.barrier)
    half = world.split(world.rank % 2, -world.rank)
    assert half.size == (world.size + 1 - world.rank % 2) // 2
    equal([half.rank], [(world.size - 1 - world.rank) // 2])
    assert world.split(None if world.rank else 0, 0) is None or world.rank == 0
    members = [rank for rank in reversed(range(world.size)) if rank % 2 == world.rank % 2]
    equal(half.translate(range(half.size), world), members)
    assert world.translate(range(world.size), half) == [
        members.index(rank) if rank in members else None for rank in range(world.size)]
    assert world.compare(world) == rcx.Comparison.IDENT
    with world.dup() as copy:
        assert world.compare(copy) == rcx.Comparison.CONGRUENT
    with world.split_node(-world.rank) as node:
        assert node.size == world.size and node.rank == world.size - 1 - world.rank
        assert world.compare(node) == (rcx.Comparison.SIMILAR if world.size > 1
                                       else rcx.Comparison.CONGRUENT)
    assert world.node_of(world.size - 1) == 0
    if world.rank in (0, world.size - 1):
        ranks = sorted({0, world.size - 1})
        edge = world.group(ranks, tag=3)
        x = numpy.ones(1)
        edge.allreduce(x)
        equal(x, [len(ranks)])


UNUSED = []


def creations(world):
    """Communicators that are made while the world is used."""
    copying, halving = world.idup(), world.isplit(world.rank % 2, -world.rank)
    none = world.isplit(None)
    everyone = world.igroup(range(world.size), tag=5)
    assert isinstance(raises(rcx.ArgumentError, world.isplit, -7), ValueError)
    world.idup()  # is dropped
    forgotten = world.idup()
    done = []
    copying.on_done(done.append)
    x = numpy.ones(1)
    world.allreduce(x)
    equal(x, [world.size])
    with copying.get() as copy, halving.get() as half, everyone.get() as other:
        assert done == [None]
        for comm in copy, other:
            assert world.compare(comm) == rcx.Comparison.CONGRUENT
        assert half.size == (world.size + 1 - world.rank % 2) // 2
        equal([half.rank], [(world.size - 1 - world.rank) // 2])
    assert none.get() is None and copying.get() is None
    forgotten.wait()
    forgotten.free()
    UNUSED.extend([forgotten, world.idup()])  # close() frees their communicators


def exact(world):
    """The first and the last rank's numbers cancel; others have 1."""
    p, me = world.size, world.rank
    x = array.array("d", [1e30 if me == 0 else -1e30 if me == p - 1 else 1] * 3)
    total = x[0] if p == 1 else p - 2
    out = array.array("d", [-1] * 3)
    world.allreduce(x, out, rcx.SUM_EXACT)
    equal(out, [total] * 3)
    world.allreduce(x, out, rcx.AVG_EXACT)
    equal(out, [total / p] * 3)
    # in float16 2048 + 1 is 2048
    x, out = numpy.full(3, 2048 if me == 0 else 1, "e"), numpy.zeros(3, "e")
    world.allreduce(x, out, rcx.SUM_FLOAT)
    equal(out, [numpy.float16(2048 + p - 1)] * 3)
    world.allreduce(x, out, rcx.AVG_FLOAT)
    equal(out, [numpy.float16(numpy.float32(2048 + p - 1) / numpy.float32(p))] * 3)


def ops(context, world):
    """User-defined ops, and their exceptions."""

    def last(dst, left, right):
        dst[:] = right

    x = array.array("d", [world.rank])
    world.allreduce(x, op=context.op(last))
    equal(x, [world.size - 1])
    triple = context.type(3)
    y = bytearray([world.rank] * 6)
    op = context.op(last, exact=True)
    world.allreduce(y, op=op, datatype=triple)
    equal(y, [world.size - 1] * 6)
    op.free()

    def broken(_dst, _left, _right):
        raise KeyError("of the op")

    error = raises(rcx.Error, context.reduce_local, x, array.array("d", [1]),
                   context.op(broken))
    assert error.status == rcx.Status.OP and isinstance(error.__cause__, KeyError)
    if world.size > 1:
        error = raises(rcx.Error, world.allreduce, x, op=context.op(broken))
        assert error.status == rcx.Status.OP, error


def requests(world):
    """Requests without references, callbacks, and shared memory."""
    x = numpy.ones(100_000)
    world.nonblocking.allreduce(x)
    gc.collect()
    world.barrier()
    told = []
    y = numpy.ones(1000)
    world.nonblocking.allreduce(y).on_done(told.append)
    while not told:
        world.context.progress()
    assert told == [None] and (y == world.size).all()
    pair = [world.nonblocking.allreduce(numpy.ones(1)), world.nonblocking.barrier()]
    rcx.wait_all(pair)
    assert rcx.test_any(pair) is None
    late = world.nonblocking.recv(y, world.rank, tag=99)
    assert late.wait(0.01) is False and late.test() is False
    world.send(y, world.rank, tag=99)
    assert late.wait(30) and late.received().count == 1000
    memory = world.alloc(8 * 4096)
    z = numpy.frombuffer(memory)
    z[:] = 1
    world.allreduce(z)
    assert (z == world.size).all()
    del z
    memory[:8] = world.rank.to_bytes(8, "little")
    places = world.peers(memory)
    world.barrier()
    assert places[world.rank] is not None and len(places) == world.size
    assert all(int.from_bytes(place[:8], "little") == r
               for r, place in enumerate(places) if place is not None)
    world.barrier()
    del places
    world.dealloc(memory)


def timeouts(world):
    """A deadline is more than 0, and nobody waits for a negative time."""
    late = world.nonblocking.recv(numpy.zeros(1), world.rank, tag=98)
    for seconds in (-1, -1e-12, float("nan")):
        for call in (world.set_timeout, lambda s: world.agree(1, timeout=s), late.wait,
                     lambda s: world.shrink(timeout=s), lambda s: rcx.Context(timeout=s)):
            assert "timeout=" in str(raises(ValueError, call, seconds))
    for call in (world.set_timeout, lambda s: world.agree(1, timeout=s),
                 lambda s: world.shrink(timeout=s), lambda s: rcx.Context(timeout=s)):
        assert "needs more than 0" in str(raises(ValueError, call, 0))
    assert late.wait(0) is False
    world.send(numpy.zeros(1), world.rank, tag=98)
    assert late.wait() and world.failure is None


def of_two_contexts(world):
    """Requests of two contexts are refused; those of one are complete in the end."""
    with rcx.Context(timeout=60) as other:
        pair = [comm.nonblocking.allreduce(numpy.ones(1)) for comm in (world, other.world)]
        for call in (rcx.test_all, rcx.test_any, rcx.wait_any):
            assert "of another context" in str(raises(rcx.ArgumentError, call, pair))
        rcx.wait_all(pair)
        assert all(rcx.test_all([request]) for request in pair) and rcx.test_all([])
        pair[0].free()
        raises(ValueError, rcx.wait_all, pair)


def threads(context, world):
    """Some threads, each with a communicator of its own, whose requests the context frees."""
    comms = [world.dup() for _ in range(4)]
    results = [numpy.ones(10) for _ in comms]

    def work(i):
        for _ in range(200):
            results[i][:] = 1
            comms[i].allreduce(results[i])
            comms[i].nonblocking.allreduce(numpy.ones(10)).wait()

    crew = [threading.Thread(target=work, args=(i,)) for i in range(len(comms))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    sys.setswitchinterval(interval)
    assert all((result == world.size).all() for result in results)


def forked(world):
    """A forked child cannot use the parent's communicators, and may exit."""
    with warnings.catch_warnings():
        # Python 3.12 and later warn, as PMIx's thread does not exist in the child
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            world.barrier()
        except rcx.Error as error:
            os._exit(0 if error.status == rcx.Status.FORKED else 2)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def main():
    """Run all tests in one context, then create 20 contexts."""
    with rcx.Context(timeout=60) as context:
        world = context.world
        for form in FORMS:
            reductions(world, form)
            movements(world, form)
            messages(world, form)
        exchanges(world)
        types(world)
        wrong(context, world)
        groups(world)
        creations(world)
        exact(world)
        ops(context, world)
        requests(world)
        timeouts(world)
        of_two_contexts(world)
        threads(context, world)
        forked(world)
        assert world.failure is None
    for _ in range(20):
        with rcx.Context() as context:
            x = numpy.ones(1)
            context.world.nonblocking.allreduce(x)
    print("done", file=sys.stderr)


main()
