"""Functions that are compiled again, each for one planted reason. A comment names the line that makes the guard."""

import torch
from torch import nn

GLOBAL = 1


@torch.compile(backend="eager", dynamic=False)
def size(x):
    return x * 2  # made size


@torch.compile(backend="eager")
def dtype(x):
    return x * 2  # made dtype


@torch.compile(backend="eager")
def gradient(x):
    return x * 2  # made gradient


@torch.compile(backend="eager", dynamic=False)
def integer(x, n):
    return x * n  # made integer


@torch.compile(backend="eager")
def text(x, mode):
    if mode == "sin":  # made text
        return x.sin()
    return x.cos()


@torch.compile(backend="eager")
def boolean(x, flag):
    if flag:  # made boolean
        return x.sin()
    return x.cos()


@torch.compile(backend="eager")
def of_global(x):
    return x * GLOBAL  # made of_global


def closing(n):
    def inner(x):
        return x * n  # made closing

    return inner


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = "one"

    def forward(self, x):
        if self.scale == "one":  # made attribute
            return x + 1
        return x + 2


@torch.compile(backend="eager")
def grad_mode(x):
    return x * 2


@torch.compile(backend="eager")
def rank(x):
    return x * 2  # made rank


@torch.compile(backend="eager")
def kind(x, n):
    return x * n  # made kind


@torch.compile(backend="eager")
def length(x, items):
    for item in items:  # made length
        x = x + item
    return x


@torch.compile(backend="eager")
def grows(x):
    return x.sum() * 2  # made grows


def main():
    global GLOBAL
    x = torch.ones(3, 3)
    size(torch.ones(2))
    size(torch.ones(4))
    dtype(x)
    dtype(x.double())
    gradient(x)
    gradient(torch.ones(3, 3, requires_grad=True))
    integer(x, 5)
    integer(x, 7)
    text(x, "sin")
    text(x, "cos")
    boolean(x, True)
    boolean(x, False)
    of_global(x)
    GLOBAL = 2
    of_global(x)
    compiled = torch.compile(closing(3), backend="eager", dynamic=False)
    compiled(x)
    closed = closing(4)
    compiled._torchdynamo_orig_callable.__closure__[0].cell_contents = closed.__closure__[0].cell_contents
    compiled(x)
    scaled = Scaled()
    net = torch.compile(scaled, backend="eager")
    net(x)
    scaled.scale = "two"
    net(x)
    grad_mode(x)
    with torch.no_grad():
        grad_mode(x)
    rank(torch.ones(3))
    rank(torch.ones(3, 3))
    kind(x, 2)
    kind(x, 2.5)
    length(x, [1])
    length(x, [1, 2])
    grows(torch.ones(2))
    grows(torch.ones(3))
    grows(torch.ones(4))


main()
