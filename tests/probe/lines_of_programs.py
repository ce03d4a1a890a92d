"""Programs whose lines are compared: loops, comprehensions, lambdas, decorators, generators, checkpoint, hooks.

`test_lines.py` runs each of them under the recorder, and again under Python's own trace function.
"""

from __future__ import annotations

import collections
import functools
import itertools
import json
import logging
import operator
import queue
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

RESULTS: list[float] = []


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        x = x + self.first(self.norm(x)).relu()[:, :8]
        x = x + self.second(torch.cat([x, x], 1))
        return x * 0.5


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        zeros = torch.zeros_like(x)
        return grad * 2 + zeros


def scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(x: Any) -> Any:
        x = x / 2
        return function(x)

    return inner


@scaled
def decorated(x: Any) -> Any:
    y = torch.tanh(x)
    return y - x


@torch.no_grad()
def without_gradients(x: Any) -> Any:
    return (x @ x.t()).sum()


def batches(count: int) -> Iterator[Any]:
    for number in range(count):
        x = torch.ones(2, 8) + number
        yield x


def a_loop() -> None:
    x, weight = torch.randn(2, 8), torch.randn(8, 8, requires_grad=True)
    state = torch.zeros(2, 8)
    for step in range(4):
        state = torch.tanh(x @ weight + state @ weight)
        if step % 2:
            state = state * 0.9
            continue
        state = state + 0.1
    loss = (state - x).pow(2).mean()
    loss.backward()


def comprehensions() -> None:
    xs = [torch.randn(3) for _ in range(3)]
    ys = [x * 2 for x in xs]
    zs = {n: torch.relu(y) for n, y in enumerate(ys)}
    total = sum(z.sum() for z in zs.values())
    first = [
        x.exp()
        for x in xs
    ]  # fmt: skip
    RESULTS.append(float(total) + len(first))


def lambdas() -> None:
    double = lambda x: x + x  # noqa: E731
    shifted = lambda x: torch.roll(x, 1)  # noqa: E731
    x = double(torch.ones(3))
    x = shifted(double(x))
    RESULTS.append(x.sum().item())


def decorators() -> None:
    x = torch.randn(3, 3)
    y = decorated(x)
    z = without_gradients(y)
    RESULTS.append(z.item())


def a_generator() -> None:
    total = torch.zeros(2, 8)
    for x in batches(3):
        total = total + x
        total.mul_(0.5)
    for x, y in zip(batches(2), batches(2), strict=True):
        total -= x * y


def a_checkpoint() -> None:
    block = Block()
    x = torch.randn(2, 8, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)
    loss = y.sum()
    loss.backward()


def a_sequence() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), Block(), nn.Linear(8, 1))
    x = torch.randn(4, 8)
    out = net(x)
    loss = nn.functional.mse_loss(out, torch.ones(4, 1))
    loss.backward()


def a_function_with_its_own_backward() -> None:
    x = torch.randn(3, requires_grad=True)
    y = Double.apply(x)
    z = Double.apply(y) + y
    z.sum().backward()


def hooks() -> None:
    net = nn.Linear(8, 8)

    def after(_module: Any, _given: Any, out: Any) -> Any:
        return out * 2

    def on_gradient(grad: Any) -> Any:
        return grad.clamp(-1, 1) + 0

    net.register_forward_hook(after)
    x = torch.randn(2, 8, requires_grad=True)
    y = net(x)
    y.register_hook(on_gradient)
    y.sum().backward()


def an_optimizer() -> None:
    net = Block()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(torch.ones(2, 8)).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if loss < 0:
            break


def branches() -> None:
    x = torch.arange(6.0).view(2, 3)
    x[0, 1:] = 5
    x[1] += 1
    y = x[:, None] if x.dim() == 2 else -x
    while (x > 0).any():
        x = x - 3
    try:
        y @ x
    except RuntimeError:
        y = -y.abs()
    z = ~(y > 0) & (y < 0)
    with torch.no_grad():
        w = y.T + z.T if y.dim() == 2 else y.mT
    RESULTS.append(
        (w * 2)
        .sum()
        .item()
    )  # fmt: skip


def through_a_package() -> None:
    xs = list(itertools.accumulate([torch.ones(2)] * 3, torch.add))
    y = functools.reduce(lambda a, b: a * b, xs)
    biggest = max(xs, key=lambda x: float(x.sum()))
    RESULTS.extend((y.sum().item(), biggest.sum().item()))


def _begun(name: str) -> Any:
    range_ = torch._C._profiler._RecordFunctionFast(name)
    range_.__enter__()
    return range_


def a_range_that_ends_later() -> None:
    """torch.compile has such ranges: the function that begins one has returned when it ends."""
    range_ = _begun("mine")
    x = torch.ones(300, 300)
    for _ in range(20):
        x = x @ x.clone() / 300
    range_.__exit__(None, None, None)
    RESULTS.append(x.sum().item())


def operators_only(rounds: int = 3_000) -> None:
    """Nothing is called for a long time, and what is called afterwards is not known yet when this is folded."""
    x = torch.full((4, 4), 0.5)
    for _ in range(rounds):
        y = x @ x + x
        x = y * 0.25
    later = torch.clamp
    RESULTS.append(float(later(x, min=0.0).sum()))


def beside_other_python() -> None:
    """Functions of Python's own library have no paths. Some of them call operators, by calls and by syntax."""
    waiting: queue.Queue[Any] = queue.Queue()
    for number in range(6):
        t = torch.full((3, 3), float(number))
        waiting.put(t @ t + number)
        text = json.dumps({"number": number})
        if number % 2:
            t = t * len(text) - 1
        u = collections.UserList([t[0, 0]]) == collections.UserList([t[1, 1] * 2])
        t += 1 if u else 2
    while not waiting.empty():
        t = waiting.get() * 3 - t
    mean = statistics.fmean([t[0, 0], t[1, 1]])
    both = functools.reduce(operator.mul, [t, t]) / 2
    RESULTS.append(mean + both.sum().item())


def a_loop_that_logs() -> None:
    """Between a log line and the next call of torch runs no operator by syntax, so all lines are known."""
    log = logging.getLogger(__name__)
    w = torch.ones(4, requires_grad=True)
    for number in range(20):
        x = torch.full((4,), float(number))
        loss = ((w * x - 1) ** 2).mean()
        (grad,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w -= 0.1 * grad
        log.debug("step %d", number)
    RESULTS.append(loss.item())


PROGRAMS = (
    a_loop, comprehensions, lambdas, decorators, a_generator, a_checkpoint, a_sequence,
    a_function_with_its_own_backward, hooks, an_optimizer, branches, through_a_package, a_range_that_ends_later,
    operators_only, beside_other_python, a_loop_that_logs,
)  # fmt: skip
