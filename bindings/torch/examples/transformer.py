# SPDX-License-Identifier: BSD-3-Clause
"""Transformer blocks that are divided among ranks, as engines for inference do: each rank has
some heads of the attention and some columns of the feed-forward layer, so that a block needs
two reductions of one vector a token. Weights are random, and the same on every number of ranks.

    rcxrun -n 2 python3 transformer.py
    rcxrun -n 2 python3 transformer.py gloo

The first prints how much the output of a divided block differs from that of an undivided one,
and the tokens per second of several blocks. With gloo, Gloo's tokens per second follow,
measured in turns. Computations are in float32; reductions are of bfloat16, accumulated in
float. Gloo of PyTorch 1.13 sums no bfloat16, so it reduces float32.
"""

import statistics
import sys
import time

import rcx_torch
import torch
import torch.distributed as dist

WIDTH, HEADS, BLOCKS, TOKENS, ROUNDS = 512, 8, 4, 32, 5
HEAD = WIDTH // HEADS


def weights_of(number):
    """Return the weights of an undivided block."""
    random = torch.Generator().manual_seed(number)
    shapes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH),
              "up": (4 * WIDTH, WIDTH), "down": (WIDTH, 4 * WIDTH)}
    return {name: torch.randn(*shape, generator=random) * shape[1] ** -0.5
            for name, shape in shapes.items()}


class Block:
    """The part of a block that belongs to one rank. reduce(x) returns the sum of x over ranks."""

    def __init__(self, number, rank, size, reduce):
        self.w = {name: w.chunk(size, 1 if name in ("o", "down") else 0)[rank].contiguous()
                  for name, w in weights_of(number).items()}
        self.heads, self.reduce = HEADS // size, reduce
        self.forget()

    def forget(self):
        """Begin a new text."""
        self.keys = self.values = torch.empty(self.heads, 0, HEAD)

    def attention(self, x):
        """Let the last token look at all tokens, by the heads of this rank."""
        q, k, v = ((self.w[name] @ x).view(self.heads, 1, HEAD) for name in "qkv")
        self.keys, self.values = torch.cat((self.keys, k), 1), torch.cat((self.values, v), 1)
        seen = torch.softmax(q @ self.keys.transpose(1, 2) * HEAD ** -0.5, 2) @ self.values
        return self.w["o"] @ seen.reshape(-1)

    def __call__(self, x):
        x = x + self.reduce(self.attention(normal(x)))
        return x + self.reduce(self.w["down"] @ torch.relu(self.w["up"] @ normal(x)))


def normal(x):
    """Return x at a mean square of 1."""
    return x * torch.rsqrt(x.square().mean() + 1e-6)


def text_of(blocks):
    """Return the outputs for each token of a text. The output is the next token's input."""
    x, outputs = torch.randn(WIDTH, generator=torch.Generator().manual_seed(7)), []
    for block in blocks:
        block.forget()
    for _ in range(TOKENS):
        for block in blocks:
            x = block(x)
        outputs.append(x)
    return torch.stack(outputs)


def reduce_by_rcx(x):
    """Return the sum over all ranks of x, which is sent as bfloat16."""
    return rcx_torch.all_reduce_(x.bfloat16(), accumulate="float").float()


def seconds_of(blocks):
    """Return the time of a text on the slowest rank."""
    begin = time.perf_counter()
    text_of(blocks)
    taken = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
    return rcx_torch.all_reduce_(taken, "max").item()


def main():
    """Compare one block with an undivided one, and print the speed of several."""
    comm = rcx_torch.init()
    rank, size = comm.rank, comm.size
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    reduces = {"rcx": reduce_by_rcx}
    if "gloo" in sys.argv:
        dist.init_process_group("rcx", init_method="rcx://")
        group = dist.new_group(backend="gloo")
        reduces["gloo"] = lambda x: (dist.all_reduce(x, group=group), x)[1]

    whole, parts = (Block(0, 0, 1, lambda x: x), Block(0, rank, size, reduce_by_rcx))
    one, many = text_of([whole])[0], text_of([parts])[0]
    error = ((many - one).abs().max() / one.abs().max()).item()
    # 9 bits of each part, and of the sum, in two reductions
    assert error < 2 ** -7, error
    if rank == 0:
        print(f"{size} ranks: equal to one within {error:.1e} of the largest element")

    ways = {name: [Block(number, rank, size, reduce) for number in range(BLOCKS)]
            for name, reduce in reduces.items()}
    taken = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, blocks in ways.items():
            taken[name].append(seconds_of(blocks))
    for name, seconds in taken.items():
        if rank == 0:
            print(f"{name}: {TOKENS / statistics.median(seconds):.0f} tokens per second")


main()
