"""One training step of a small U-Net: what the way down keeps is joined on the way up."""

import torch
import torch.nn.functional as F
from torch import nn


def pair(inside: int, outside: int) -> nn.Sequential:
    """Two convolutions, each with a ReLU."""
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(), nn.Conv2d(outside, outside, 3, padding=1), nn.ReLU()
    )


class UNet(nn.Module):
    """Three levels."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([pair(1, 8), pair(8, 16)])
        self.bottom = pair(16, 32)
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, stride=2), nn.ConvTranspose2d(16, 8, 2, stride=2)])
        self.join = nn.ModuleList([pair(32, 16), pair(16, 8)])
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for level in self.down:
            x = level(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([up(x), kept.pop()], dim=1))
        return self.head(x)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters())
    images, masks = torch.randn(2, 1, 32, 32), torch.rand(2, 1, 32, 32).round()
    loss = F.binary_cross_entropy_with_logits(model(images), masks)
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
