"""Twelve small programs, each of another kind, for the benchmark of recording: `kinds_of_programs.py NAME`.

Their data is random, and each takes a few seconds.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def small_operators() -> None:
    """A loop of small operators."""
    x = torch.ones(4)
    for _ in range(10_000):
        x = (x + 1).clamp(max=3).neg().abs()


def reinforcement() -> None:
    """A policy that acts in an environment written in Python."""
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), 1e-2)
    for _ in range(8):
        state, logs, rewards = [random.uniform(-1, 1) for _ in range(4)], [], []
        for _ in range(60):
            logits = policy(torch.tensor(state))
            action = torch.distributions.Categorical(logits=logits)
            chosen = action.sample()
            logs.append(action.log_prob(chosen))
            state, reward = _environment(state, chosen.item())
            rewards.append(reward)
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(logs) * (returns - returns.mean())).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _environment(state: list[float], action: float) -> tuple[list[float], float]:
    push = 1.0 if action else -1.0
    for _ in range(50):
        state = [max(min(value + 0.001 * (push - value), 2.0), -2.0) for value in state]
    return state, 1.0 - abs(state[0])


def lstm_cells() -> None:
    """A loop over the steps of a sequence, with cells of an LSTM."""
    first, second, head = nn.LSTMCell(1, 51), nn.LSTMCell(51, 51), nn.Linear(51, 1)
    parameters = [p for module in (first, second, head) for p in module.parameters()]
    optimizer = torch.optim.SGD(parameters, 0.01)
    data = torch.randn(8, 100)
    for _ in range(4):
        state = [torch.zeros(8, 51) for _ in range(4)]
        outputs = []
        for step in data.split(1, dim=1):
            state[0], state[1] = first(step, (state[0], state[1]))
            state[2], state[3] = second(state[0], (state[2], state[3]))
            outputs.append(head(state[2]))
        optimizer.zero_grad()
        nn.functional.mse_loss(torch.cat(outputs, dim=1), data).backward()
        optimizer.step()


class Pictures(Dataset[Any]):
    """Pictures that Python decodes pixel by pixel, as slow as some transforms are."""

    def __len__(self) -> int:
        return 160

    def __getitem__(self, number: int) -> Any:
        rows = [[(number * 31 + row * column) % 255 for column in range(32)] for row in range(32)]
        turned = [list(reversed(row)) for row in rows]
        return torch.tensor([[min(max(pixel / 255, 0.0), 1.0) for pixel in row] for row in turned])


def loading() -> None:
    """Training that waits for its data."""
    model = nn.Linear(1024, 10)
    for batch in DataLoader(Pictures(), batch_size=16):
        model(batch.flatten(1)).sum().backward()


def transformer() -> None:
    """Layers of a transformer, as the libraries of language models call them."""
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(4, 64, 128)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def gan() -> None:
    """Two networks that train against each other."""
    maker = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh())
    judge = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 1))
    optimizers = [torch.optim.Adam(each.parameters(), 2e-4) for each in (maker, judge)]
    loss, ones, zeros = nn.BCEWithLogitsLoss(), torch.ones(32, 1), torch.zeros(32, 1)
    for _ in range(60):
        made = maker(torch.randn(32, 16))
        optimizers[1].zero_grad()
        (loss(judge(torch.randn(32, 64)), ones) + loss(judge(made.detach()), zeros)).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        loss(judge(made), ones).backward()
        optimizers[0].step()


def sparse() -> None:
    """A graph's convolutions with a sparse matrix."""
    places = torch.randint(0, 500, (2, 4000))
    graph = torch.sparse_coo_tensor(places, torch.rand(4000), (500, 500)).coalesce()
    first, second = nn.Parameter(torch.randn(64, 32)), nn.Parameter(torch.randn(32, 8))
    features = torch.rand(500, 64)
    for _ in range(60):
        hidden = nn.functional.relu(torch.sparse.mm(graph, features @ first))
        torch.sparse.mm(graph, hidden @ second).logsumexp(1).sum().backward()


def python_operator() -> None:
    """An operator written in Python that stays at work while it calls others."""
    library = torch.library.Library("bench_kinds", "DEF")
    library.define("repeat(Tensor x, int times) -> Tensor")

    def repeat(x: torch.Tensor, times: int) -> torch.Tensor:
        for _ in range(times):
            x = x + 1
        return x

    library.impl("repeat", repeat, "CPU")
    torch.ops.bench_kinds.repeat(torch.zeros(3), 20_000)


def rnn_text() -> None:
    """A network that predicts the next letter of a text."""
    letters = nn.Embedding(64, 32)
    network, head = nn.GRU(32, 64, 2, batch_first=True), nn.Linear(64, 64)
    parameters = [p for module in (letters, network, head) for p in module.parameters()]
    text = torch.randint(0, 64, (2000,))
    for start in range(0, 1600, 40):
        part = torch.stack([text[start + n : start + n + 41] for n in range(16)])
        output, _ = network(letters(part[:, :-1]))
        nn.functional.cross_entropy(head(output).flatten(0, 1), part[:, 1:].flatten()).backward()
        with torch.no_grad():
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.sub_(0.1 * parameter.grad)
                    parameter.grad = None


class Residual(nn.Module):
    """Two convolutions with a way around them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.relu(x + self.second(self.first(x)))


def vision() -> None:
    """A residual network for pictures."""
    blocks = [Residual(32) for _ in range(6)]
    model = nn.Sequential(nn.Conv2d(3, 32, 3), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 3, 32, 32)), torch.randint(0, 10, (8,))).backward()
        optimizer.step()


def deep_recursion() -> None:
    """A network over trees: a function that calls itself."""
    combine = nn.Linear(32, 16)

    def encode(depth: int) -> torch.Tensor:
        if depth == 0:
            return torch.randn(1, 16)
        return torch.tanh(combine(torch.cat([encode(depth - 1), encode(max(depth - 2, 0))], dim=1)))

    for _ in range(3):
        encode(11).sum().backward()

    def chain(x: torch.Tensor, left: int) -> torch.Tensor:
        return chain(x + 1, left - 1) if left else x

    chain(torch.zeros(2), 400)


def own_threads() -> None:
    """Threads of the program's own, each with a model."""

    def work() -> None:
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        for _ in range(150):
            model(torch.randn(16, 64)).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


PROGRAMS: tuple[Callable[[], None], ...] = (
    small_operators, reinforcement, lstm_cells, loading, transformer, gan, sparse, python_operator, rnn_text, vision,
    deep_recursion, own_threads,
)  # fmt: skip

if __name__ == "__main__":
    torch.set_num_threads(1)  # threads that wait for each other measure what else the machine does
    torch.manual_seed(0)
    random.seed(0)
    {function.__name__: function for function in PROGRAMS}[sys.argv[1]]()
