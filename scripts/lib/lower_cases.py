"""Modules with inputs, whose rungs `scripts/accuracy --only lower` looks at: OpInfo's samples, modules, examples.

It needs torch, and nothing of ptexplore.
"""

# mypy: disable-error-code="misc"
# torch is read without types.
from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OPERATORS = (
    "add", "div", "pow", "exp", "rsqrt", "sigmoid", "erf", "clamp", "where", "sum", "mean", "var", "amax", "cumsum",
    "logsumexp", "softmax", "log_softmax", "mm", "bmm", "addmm", "einsum", "cat", "stack", "split", "transpose",
    "reshape", "expand", "flip", "roll", "gather", "scatter_add", "index_select", "masked_fill", "tril", "sort",
    "nn.functional.gelu", "nn.functional.silu", "nn.functional.layer_norm", "nn.functional.group_norm",
    "nn.functional.linear", "nn.functional.conv2d", "nn.functional.max_pool2d", "nn.functional.embedding",
    "nn.functional.cross_entropy",
)  # fmt: skip


class Call(nn.Module):
    """One call of an operator."""

    def __init__(self, function: Callable[..., Any], named: dict[str, Any]) -> None:
        super().__init__()
        self.function, self.named = function, named

    def forward(self, *given: Any) -> Any:
        return self.function(*given, **self.named)


class Mlp(nn.Module):
    """Two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


class Attends(nn.Module):
    """Attention by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = (q @ k.transpose(-2, -1)) / 8**0.5
        return self.out(scores.softmax(-1) @ v)


class Sdpa(nn.Module):
    """Attention as one operator."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class WritesOwn(nn.Module):
    """Writes to a tensor of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0] = 1.0
        y.mul_(2).add_(x)
        return y.relu_()


class WritesView(nn.Module):
    """Writes through a view."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        y[:, 1:].sin_()
        return y.t().contiguous().view(-1)


class Counts(nn.Module):
    """Writes to a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x * self.count


class WritesInput(nn.Module):
    """Writes to its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x.exp()


class Masks(nn.Module):
    """A mask, a softmax, a running sum."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(4, 4).tril() == 0
        return x.masked_fill(mask, float("-inf")).log_softmax(-1).exp().cumsum(0)


class Statistics(nn.Module):
    """Means and deviations."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) / (x.std(0, unbiased=False) + 1e-5) + x.var(1, keepdim=True)


class Dictionary(nn.Module):
    """Takes and gives containers."""

    def forward(
        self, pair: tuple[torch.Tensor, torch.Tensor], named: dict[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        a, b = pair
        return {"sum": a + b, "product": a * named["scale"]}


class Embeds(nn.Module):
    """An embedding with a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.norm = nn.Embedding(10, 6), nn.LayerNorm(6)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.norm(self.table(ids)).mean(1)


def _modules() -> dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]]:
    x = torch.randn
    return {
        "mlp": lambda: (Mlp(), (x(3, 6),)),
        "attends": lambda: (Attends(), (x(2, 5, 8),)),
        "sdpa": lambda: (Sdpa(), (x(1, 2, 4, 8), x(1, 2, 4, 8), x(1, 2, 4, 8))),
        "writes own": lambda: (WritesOwn(), (x(4, 4),)),
        "writes view": lambda: (WritesView(), (x(4, 4),)),
        "counts": lambda: (Counts(), (x(4),)),
        "writes input": lambda: (WritesInput(), (x(4),)),
        "masks": lambda: (Masks(), (x(4, 4),)),
        "statistics": lambda: (Statistics(), (x(4, 4),)),
        "dictionary": lambda: (Dictionary(), ((x(3), x(3)), {"scale": x(3)})),
        "embeds": lambda: (Embeds(), (torch.randint(10, (2, 4)),)),
        "batch norm": lambda: (nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), (x(2, 2, 6, 6),)),
        "batch norm, eval": lambda: (nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)).eval(), (x(2, 2, 6, 6),)),
        "group norm": lambda: (nn.Sequential(nn.GroupNorm(2, 4), nn.SiLU()), (x(2, 4, 3, 3),)),
        "pooling": lambda: (nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (x(1, 2, 8, 8),)),
        "gru cell": lambda: (nn.GRUCell(4, 5), (x(2, 4), x(2, 5))),
        "encoder layer": lambda: (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (x(1, 4, 8),)),
        "interpolates": lambda: (nn.Upsample(scale_factor=2, mode="bilinear"), (x(1, 2, 3, 3),)),
        "loss": lambda: (nn.CrossEntropyLoss(), (x(4, 5), torch.tensor([0, 1, 2, 4]))),
        "bilinear": lambda: (nn.Bilinear(3, 4, 5), (x(2, 3), x(2, 4))),
    }


def _example(file: str, name: str, *given: Any) -> Callable[[], tuple[nn.Module, tuple[Any, ...]]]:
    def made() -> tuple[nn.Module, tuple[Any, ...]]:
        spec = importlib.util.spec_from_file_location(f"example_{file}", EXAMPLES / f"{file}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, name)(), given

    return made


def _operator(name: str) -> Callable[[], tuple[nn.Module, tuple[Any, ...]]]:
    def made() -> tuple[nn.Module, tuple[Any, ...]]:
        from torch.testing._internal.common_methods_invocations import op_db

        operator = min((info for info in op_db if info.name == name), key=lambda info: info.variant_test_name)
        dtype = torch.float32 if torch.float32 in operator.supported_dtypes("cpu") else torch.int64
        samples = list(operator.sample_inputs("cpu", dtype, requires_grad=False))
        sample = next((sample for sample in samples if _is_plain(sample)), samples[0])
        return Call(operator.op, dict(sample.kwargs)), (sample.input, *sample.args)

    return made


def _is_plain(sample: Any) -> bool:
    """Whether a sample has elements: many of OpInfo's first samples have none."""
    return isinstance(sample.input, torch.Tensor) and sample.input.numel() > 1


_BLOCKS = {
    "examples/lenet": _example("lenet", "LeNet", torch.ones(2, 1, 28, 28)),
    "examples/gpt": _example("gpt", "Block", torch.ones(1, 4, 256)),
    "examples/unet": _example("unet", "UNet", torch.ones(1, 1, 16, 16)),
}
MODULES = tuple(_modules()) + tuple(_BLOCKS)
CASES = (*OPERATORS, *MODULES)


def made(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    """Returns the module and the inputs of a case, each time the same."""
    torch.manual_seed(0)
    if name in _BLOCKS:
        module, given = _BLOCKS[name]()
        given = tuple(torch.rand_like(one) if one.is_floating_point() else one for one in given)
        return module, given
    known = _modules()
    return known[name]() if name in known else _operator(name)()
