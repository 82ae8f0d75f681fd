# SPDX-License-Identifier: BSD-3-Clause
"""Train on workers that may be killed, and that are replaced, while the others go on.

    python3 elastic_train.py 4 30 60

starts four workers, and kills one (kill -9) in the middle of step 30, and another in step 60.
A worker can also be killed by hand. The others go on at once with the same model. A new worker
enters 20 steps later. Each global batch is split among the workers that there are, so the loss
at the end is the one without failures, up to rounding:

    python3 elastic_train.py 1
"""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import rcx_torch
import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

SAMPLES, BATCH, STEPS, WAIT = 960, 96, 100, 20
LIMIT, ENTER_LIMIT = timedelta(seconds=60), timedelta(seconds=10)
# Debian's PyTorch 2 has no libuv.
STORE = {} if torch.__version__ < "2.1" else {"use_libuv": False}


class Training:
    """The state that all workers share, and the steps that change it."""

    def __init__(self):
        torch.manual_seed(1)
        self.x = torch.linspace(-3, 3, SAMPLES, dtype=torch.float64).unsqueeze(1)
        self.y = torch.sin(2 * self.x)
        self.order = torch.randperm(SAMPLES)
        self.net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(),
                                       torch.nn.Linear(32, 1)).double()
        self.weights = parameters_to_vector(self.net.parameters()).detach()
        self.velocity = torch.zeros_like(self.weights)
        # steps done, new workers invited, and the step that invites the next ones
        self.counts = torch.tensor([0, 0, -1])

    def loss(self, samples):
        """Return the sum of the squared errors over these samples."""
        return (self.net(self.x[samples]) - self.y[samples]).square().sum()

    def step(self, is_killed):
        """A step on a global batch, of which each worker has a part. is_killed: whether this
        worker is killed in this step."""
        step, rank, size = self.counts[0].item(), dist.get_rank(), dist.get_world_size()
        batch = self.order[torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES]
        gradient = parameters_to_vector(torch.autograd.grad(self.loss(batch[rank::size]),
                                                            list(self.net.parameters())))
        if is_killed(step):
            os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(gradient)
        self.velocity = 0.9 * self.velocity + gradient / BATCH
        self.weights = self.weights - 0.05 * self.velocity
        vector_to_parameters(self.weights, self.net.parameters())
        self.counts[0] += 1

    def synchronize(self):
        """Take over the state of the worker that has done most steps: some may have completed
        the step in which another worker died, and new ones have done none."""
        steps = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
        dist.all_gather(steps, self.counts[:1])
        source = torch.cat(steps).argmax().item()
        for part in (self.counts, self.weights, self.velocity):
            dist.broadcast(part, source)
        vector_to_parameters(self.weights, self.net.parameters())

    def recover(self):
        """Go on with the workers that live. Another one may die meanwhile."""
        while True:
            try:
                rcx_torch.shrink()
                self.synchronize()
                break
            except rcx_torch.ExcludedError:
                raise  # the others go on without this one
            except RuntimeError:
                pass
        self.counts[2] = self.counts[0] + WAIT

    def take_in(self, store, workers):
        """Take in new workers until there are as many as in the beginning. Rank 0 tells them
        their ranks."""
        rank, size, first = dist.get_rank(), dist.get_world_size(), self.counts[1].item()
        end = first + workers - size
        self.counts[1:] = torch.tensor([end, -1])
        store.wait([f"ready {i}" for i in range(first, end)], LIMIT)
        for i in range(first, end) if rank == 0 else ():
            store.set(f"invitation {i}", f"{end} {size + i - first}")
        rcx_torch.reconfigure(dist.PrefixStore(f"world {end}", store), rank, workers,
                              timeout=ENTER_LIMIT)
        self.synchronize()


def tell(*words):
    """Print on rank 0."""
    if dist.get_rank() == 0:
        print(*words, flush=True)


def enter(store, workers):
    """Enter the world. Returns False if the training is over. A new worker waits for an
    invitation."""
    number = int(os.environ["ELASTIC_NUMBER"])
    if number < workers:
        rcx_torch.reconfigure(dist.PrefixStore("world 0", store), number, workers, timeout=LIMIT)
        return True
    while True:
        i = store.add("new workers", 1) - 1
        store.set(f"ready {i}", "")
        store.wait([f"invitation {i}"], timedelta(hours=1))
        invitation = store.get(f"invitation {i}").split()
        if not invitation:
            return False
        world, rank = (int(word) for word in invitation)
        try:
            rcx_torch.reconfigure(dist.PrefixStore(f"world {world}", store), rank, workers,
                                  timeout=ENTER_LIMIT)
            return True
        except RuntimeError:
            pass  # another worker was killed meanwhile, so there is no such world


def work(store, workers, kills):
    """A worker."""
    def is_killed(step):
        return (step in kills and dist.get_rank() == step % dist.get_world_size()
                and store.add(f"killed in {step}", 1) == 1)

    training = Training()
    if not enter(store, workers):
        return
    training.synchronize()
    last = time.monotonic()
    while training.counts[0] < STEPS:
        step = training.counts[0].item()
        try:
            if training.counts[2] == step:
                training.take_in(store, workers)
                tell(f"step {step}: {workers} workers, with new ones")
            training.step(is_killed)
        except RuntimeError:
            training.recover()
            tell(f"step {training.counts[0]}: {dist.get_world_size()} workers go on,"
                 f" {time.monotonic() - last:.3f} s after the last step")
        last = time.monotonic()
    weights = [torch.zeros_like(training.weights) for _ in range(dist.get_world_size())]
    dist.all_gather(weights, training.weights)
    sets = len({tuple(each.tolist()) for each in weights})
    loss = training.loss(training.order).item() / SAMPLES
    tell(f"{STEPS} steps, {len(weights)} workers, {sets} set of parameters, loss {loss:.12f}")
    for i in range(workers if dist.get_rank() == 0 else 0):
        store.set(f"invitation {training.counts[1] + i}", "")
    dist.destroy_process_group()


def agent(workers):
    """Start the workers, and a new one for each that is killed. Return the exit status."""
    store = dist.TCPStore("localhost", 0, None, True, LIMIT, wait_for_workers=False, **STORE)
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "ELASTIC_STORE": str(store.port)}
    running, started, missing = {}, 0, workers
    while missing or running:
        for _ in range(missing):
            worker = subprocess.Popen([sys.executable, *sys.argv],
                                      env={**environment, "ELASTIC_NUMBER": str(started)})
            running[worker.pid] = worker
            started += 1
        pid, status = os.wait()
        del running[pid]
        missing = int(os.WIFSIGNALED(status))
        if os.WIFEXITED(status) and status != 0:
            for other in running.values():
                other.terminate()
            return 1
    return 0


def main(workers, *kills):
    """The program is both: the agent, and each worker that it starts."""
    if "ELASTIC_STORE" not in os.environ:
        sys.exit(agent(workers))
    torch.set_num_threads(1)
    store = dist.TCPStore("localhost", int(os.environ["ELASTIC_STORE"]), None, False, LIMIT,
                          **STORE)
    work(store, workers, kills)


main(*(int(argument) for argument in sys.argv[1:]))
