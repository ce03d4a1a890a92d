"""One step of a GAN: two models, two optimizers, a generator that is detached for the discriminator's turn."""

import torch
import torch.nn.functional as F
from torch import nn

NOISE, WIDTH, BATCH = 8, 32, 16


def discriminate(model: nn.Module, samples: torch.Tensor, real: float) -> torch.Tensor:
    """The loss of telling whether samples are real."""
    return F.binary_cross_entropy_with_logits(model(samples), torch.full((BATCH, 1), real))


if __name__ == "__main__":
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(NOISE, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2))
    discriminator = nn.Sequential(nn.Linear(2, WIDTH), nn.LeakyReLU(0.2), nn.Linear(WIDTH, 1))
    of_generator = torch.optim.Adam(generator.parameters())
    of_discriminator = torch.optim.Adam(discriminator.parameters())
    fake = generator(torch.randn(BATCH, NOISE))
    loss = discriminate(discriminator, torch.randn(BATCH, 2), 1.0) + discriminate(discriminator, fake.detach(), 0.0)
    loss.backward()
    of_discriminator.step()
    of_generator.zero_grad()
    fooled = discriminate(discriminator, fake, 1.0)
    fooled.backward()
    of_generator.step()
    print(f"discriminator {loss.item():.3f}, generator {fooled.item():.3f}")
