"""One training step of an LSTM language model: one operator for the whole recurrence, gradients clipped."""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, TOKENS, BATCH = 100, 32, 12, 4


class Language(nn.Module):
    """Embedding, two layers of LSTM, a decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)
        self.decoder = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.embedding(ids))
        return self.decoder(states)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Language()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    ids = torch.randint(VOCABULARY, (BATCH, TOKENS + 1))
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    print(f"loss {loss.item():.3f}")
