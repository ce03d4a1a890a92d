"""The commands of `scripts/same`, and how what they print is compared: whole, but for its clocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FUNCTION = """\
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
"""
MODE = """\
from torch.utils._python_dispatch import TorchDispatchMode
class Seen(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
"""
SUBCLASS = """\
class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})
t = torch.ones(3, 3).as_subclass(Tagged)
"""
HOOK = "m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())\nm.register_forward_hook(lambda *_: None)"
SMALL = ("--var", "x=torch.randn(1, 3, 8, 8)", "--var", "w=torch.randn(4, 3, 3, 3)")
WIDE = ("--var", "x=torch.randn(2, 16, 32, 32)", "--var", "w=torch.randn(32, 16, 7, 7)")

COMMANDS: dict[str, tuple[str, ...]] = {
    "add": ("torch.add(a, b)",),
    "add-grad": ("torch.add(a, b)", "--grad"),
    "slice-matmul": ("a[1:] @ b",),
    "mul-sum-backward": ("(a * b).sum()", "--backward"),
    "layer-norm-backward": ("F.layer_norm(a, (3,))", "--backward"),
    "batch-norm": ("nn.BatchNorm2d(3)(x)", "--var", "x=torch.randn(2, 3, 4, 4)", "--grad"),
    "conv2d": ("F.conv2d(x, w)", *SMALL),
    "conv2d-backward": ("F.conv2d(x, w)", *SMALL, "--backward"),
    "conv2d-dilation": ("F.conv2d(x, w, dilation=2)", *WIDE),
    "max-pool": ("F.max_pool2d(x, 2)", "--var", "x=torch.randn(1, 3, 8, 8)"),
    "svd": ("torch.linalg.svd(a)",),
    "inverse": ("torch.linalg.inv(a)",),
    "vmap": ("torch.vmap(torch.sin)(a)",),
    "jacobian": ("torch.func.jacrev(torch.sin)(a)",),
    "grad-of": ("torch.func.grad(lambda x: x.sin().sum())(a)",),
    "lstm": ("m(x)[0]", "--setup", "m = nn.LSTM(3, 4)", "--var", "x=torch.randn(5, 1, 3)"),
    "lstm-made": ("nn.LSTM(3, 4)(x)[0]", "--var", "x=torch.randn(5, 1, 3)"),
    "linear-backward": ("m(a).relu().sum()", "--setup", "m = nn.Linear(3, 3)", "--backward"),
    "attention": ("F.scaled_dot_product_attention(q, q, q)", "--var", "q=torch.randn(1, 2, 8, 16)"),
    "multihead": ("m(x, x, x)[0]", "--setup", "m = nn.MultiheadAttention(8, 2)", "--var", "x=torch.randn(4, 1, 8)"),
    "embedding": ("F.embedding(i, a)", "--var", "i=torch.tensor([0, 2, 1])"),
    "embedding-backward": ("F.embedding(i, a).sum()", "--var", "i=torch.tensor([0, 2, 1])", "--backward"),
    "sort": ("torch.sort(a)",),
    "unique": ("torch.unique(i)", "--var", "i=torch.tensor([3, 1, 3, 2])"),
    "index": ("a[i]", "--var", "i=torch.tensor([0, 2])"),
    "index-put": ("a.index_put((i,), b)", "--var", "i=torch.tensor([0, 1, 2])"),
    "mask": ("a[a > 0]",),
    "einsum": ("torch.einsum('ij,jk->ik', a, b)",),
    "cross-entropy": ("F.cross_entropy(a, i)", "--var", "i=torch.tensor([0, 2, 1])", "--backward"),
    "softmax": ("F.softmax(a, -1)",),
    "dropout": ("F.dropout(a)",),
    "cat-stack": ("torch.stack([torch.cat([a, b]), torch.cat([b, a])])",),
    "fft": ("torch.fft.fft(a)",),
    "complex": ("torch.view_as_real(torch.complex(a, b) * 1j)",),
    "sparse": ("a.to_sparse() @ b",),
    "function": ("Twice.apply(a)", "--setup", FUNCTION, "--backward"),
    "mode": ("torch.add(a, b)", "--setup", MODE, "--with", "Seen()"),
    "subclass": ("t + 1", "--setup", SUBCLASS),
    "hook": ("m(a)", "--setup", HOOK, "--grad"),
    "inference": ("torch.relu(a)", "--with", "torch.inference_mode()"),
    "checkpoint": ("torch.utils.checkpoint.checkpoint(torch.sin, a, use_reentrant=False)", "--backward"),
    "error": ("a @ torch.ones(4, 5)",),
    "big-matmul": ("x @ x", "--var", "x=torch.randn(256, 256)"),
    "first": ("torch.mul(a, b)", "--first"),
}


def without_clocks(value: Any) -> Any:
    """A document without what clocks tell: `time` of a hop, and findings and texts have none."""
    if isinstance(value, dict):
        return {name: without_clocks(inner) for name, inner in value.items() if name not in CLOCKS}
    return [without_clocks(inner) for inner in value] if isinstance(value, list) else value


CLOCKS = frozenset({"time", "took"})


def differences(
    first: Any, other: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    """Each value in which two documents differ, with where it is."""
    if isinstance(first, dict) and isinstance(other, dict):
        for name in first.keys() | other.keys():
            yield from differences(first.get(name), other.get(name), (*path, name))
    elif isinstance(first, list) and isinstance(other, list):
        if len(first) != len(other):
            yield (*path, "length"), len(first), len(other)
        for number, (left, right) in enumerate(zip(first, other, strict=False)):
            yield from differences(left, right, (*path, number))
    elif first != other:
        yield path, first, other
