"""Modules whose rungs are known by hand."""

import os
import signal

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    """A module that writes to a value of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.gelu(self.linear(x))  # line gelu
        y.add_(1)  # line add
        return self.norm(y)  # line norm


class Branches(nn.Module):
    """A module whose branch depends on a value."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:  # line branch
            return x.sin()
        return x.cos()


class Pairs(nn.Module):
    """A module that takes and gives containers, and has no parameters."""

    def forward(self, pair: tuple[torch.Tensor, torch.Tensor], named: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        a, b = pair
        return {"sum": a + b, "product": a * named["scale"]}


class WritesInput(nn.Module):
    """A module that writes to its input, and to a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        x.mul_(2)
        return x + self.count


class Hangs(nn.Module):
    """A module that does not end while it is exported."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while torch.compiler.is_exporting():
            pass
        return x.exp()


class Dies(nn.Module):
    """A module that ends the process while it is exported."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting():
            os.kill(os.getpid(), signal.SIGSEGV)
        return x.exp()


@torch.library.custom_op("lowered::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    """An operator that nobody can decompose."""
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("lowered::bare", mutates_args=())
def bare(x: torch.Tensor) -> torch.Tensor:
    """An operator without an implementation for fake tensors."""
    return x * 2


class Custom(nn.Module):
    """A module that calls a custom operator, and draws random numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(twice(x), 0.5, training=True)


class Bare(nn.Module):
    """A module that calls an operator without an implementation for fake tensors."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return bare(x)  # line bare


class Tagged(torch.Tensor):
    """A subclass of a tensor."""
