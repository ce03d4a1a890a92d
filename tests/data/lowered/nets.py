"""Modules whose rungs are known by hand."""

import time

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


class Sleeps(nn.Module):
    """A module that torch.export cannot finish: it waits while it is exported."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting():
            time.sleep(100)
        return x.exp()


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
