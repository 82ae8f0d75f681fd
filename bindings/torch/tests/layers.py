# SPDX-License-Identifier: BSD-3-Clause
"""Features of PyTorch that use torch.distributed, over RCX. Most are new in PyTorch 2."""

import tempfile

import rcx_torch  # noqa: F401
import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer


def small_net():
    """Return a network with the same parameters on all ranks."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))


def step(net, optimizer, data):
    """Do one step of gradient descent."""
    optimizer.zero_grad()
    net(data).square().mean().backward()
    optimizer.step()


def optimizer_in_parts(me, p):
    """ZeroRedundancyOptimizer: the state is sharded. The parameters are those of one process."""
    net, alone = small_net(), small_net()
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.1)
    same = torch.optim.Adam(alone.parameters(), lr=0.1)
    for _ in range(3):
        step(net, optimizer, torch.ones(4, 8))
        step(alone, same, torch.ones(4, 8))
    for found, expected in zip(net.parameters(), alone.parameters()):
        assert torch.equal(found, expected)


def several_as_one(me, p):
    """Test the coalescing manager with each kind of call."""
    sums = [torch.full((3,), float(me + i)) for i in range(4)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for t in sums:
            dist.all_reduce(t)
    manager.wait()
    gathered = [torch.empty(p) for _ in range(3)]
    with dist._coalescing_manager():
        for i, t in enumerate(gathered):
            dist.all_gather_into_tensor(t, torch.full((1,), 10.0 * me + i))
    scattered = [torch.empty(2) for _ in range(3)]
    with dist._coalescing_manager():
        for i, t in enumerate(scattered):
            dist.reduce_scatter_tensor(t, torch.arange(2.0 * p) + i)
    there, back = torch.full((5,), 1.0 * me), torch.empty(5)
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.isend(there, (me + 1) % p)
        dist.irecv(back, (me - 1) % p)
    manager.wait()
    assert back.tolist() == [(me - 1) % p] * 5
    back = torch.empty(5)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, there, (me + 1) % p),
                                        dist.P2POp(dist.irecv, back, (me - 1) % p)]):
        work.wait()
    assert back.tolist() == [(me - 1) % p] * 5
    with dist._coalescing_manager(device=torch.device("cpu")):
        for t in sums:
            dist.all_reduce(t, op=dist.ReduceOp.MAX)
    for i, t in enumerate(sums):
        assert t.tolist() == [sum(range(p)) + p * i] * 3
    for i, t in enumerate(gathered):
        assert t.tolist() == [10.0 * r + i for r in range(p)]
    for i, t in enumerate(scattered):
        assert t.tolist() == [p * (2 * me + i), p * (2 * me + 1 + i)]


def functional(me, p):
    """Functional collectives, which return new tensors; also compiled."""
    import torch.distributed._functional_collectives as make
    world = dist.group.WORLD
    found = [make.all_reduce(torch.tensor([1.0 * me]), "sum", world),
             make.all_gather_tensor(torch.tensor([1.0 * me]), 0, world),
             make.reduce_scatter_tensor(torch.ones(p), "sum", 0, world),
             make.all_to_all_single(torch.arange(1.0 * p), None, None, world),
             make.broadcast(torch.tensor([1.0 * me]), p - 1, world)]
    for t, expected in zip(found, ([sum(range(p))], range(p), [p], [me] * p, [p - 1])):
        assert t.tolist() == list(expected), t
    compiled = torch.compile(lambda t: make.wait_tensor(make.all_reduce(t, "sum", world)) + 1,
                             backend="aot_eager")
    assert compiled(torch.ones(2)).tolist() == [p + 1] * 2


def meshes(me, p):
    """Tensors that are distributed over ranks (DTensor)."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (p,))
    a, b = torch.arange(6.0 * p).reshape(6, p), torch.arange(2.0 * p).reshape(p, 2)
    spread = distribute_tensor(a, mesh, [Shard(1)])
    assert torch.equal((spread @ distribute_tensor(b, mesh, [Shard(0)])).full_tensor(), a @ b)
    assert torch.equal(spread.redistribute(placements=[Shard(0)]).full_tensor(), a)


def parameters_in_parts(me, p):
    """FullyShardedDataParallel trains the same parameters as one process."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    data = torch.arange(32.0 * p).sin().reshape(4 * p, 8)
    alone = small_net()
    net = FullyShardedDataParallel(small_net(), device_id=torch.device("cpu"))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    same = torch.optim.SGD(alone.parameters(), lr=0.1)
    for _ in range(3):
        step(net, optimizer, data[4 * me:4 * me + 4])
        step(alone, same, data)
    with FullyShardedDataParallel.summon_full_params(net):
        for found, expected in zip(net.parameters(), alone.parameters()):
            torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def checkpoints(me, p):
    """All ranks write and read a checkpoint."""
    import torch.distributed.checkpoint as checkpoint
    state = {"weights": torch.zeros(9)}
    with tempfile.TemporaryDirectory() as own:
        folder = [own]
        dist.broadcast_object_list(folder)
        checkpoint.save({"weights": torch.arange(9.0)}, checkpoint_id=folder[0])
        checkpoint.load(state, checkpoint_id=folder[0])
        dist.barrier()
    assert torch.equal(state["weights"], torch.arange(9.0))


def main():
    """Run all tests; each rank prints their number."""
    dist.init_process_group("rcx", init_method="rcx://")
    me, p = dist.get_rank(), dist.get_world_size()
    layers = [optimizer_in_parts]
    if torch.__version__ >= "2.6":
        layers += [several_as_one, functional, meshes, parameters_in_parts, checkpoints]
    for layer in layers:
        layer(me, p)
    dist.destroy_process_group()
    print(len(layers), "layers")


main()
