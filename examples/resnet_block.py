"""One training step of a residual block: batch norm in training, a sum that backward splits."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Two convolutions with batch norm, and a shortcut around them."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=2, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride=2, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


if __name__ == "__main__":
    torch.manual_seed(0)
    block = Block(16, 32)
    optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
    out = block(torch.randn(8, 16, 16, 16))
    out.square().mean().backward()
    optimizer.step()
    print(tuple(out.shape))
