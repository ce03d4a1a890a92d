"""One training step of LeNet on random digits: convolutions, pooling, three linear layers, SGD."""

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    """Two convolutions with pooling, then a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.pool = nn.AvgPool2d(2)
        self.classifier = nn.Sequential(
            nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(torch.tanh(self.conv1(x)))
        x = self.pool(torch.tanh(self.conv2(x)))
        return self.classifier(x.flatten(1))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = LeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = torch.randn(16, 1, 28, 28), torch.randint(10, (16,))
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
