"""How far the results of a rung are from eager's: absolute, relative, in units in the last place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from . import rung_api

if TYPE_CHECKING:
    from .messages import RungDifferenceData

Named = tuple[str, Any]  # a part of a result, and its value
_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # by the bytes of an element


def results(value: Any) -> list[Named]:
    """Return the tensors and numbers of a result, each with a name."""
    leaves = rung_api.tree_leaves(value)
    return [(f"result {number}" if len(leaves) > 1 else "result", leaf) for number, leaf in enumerate(leaves)]


def state(module: nn.Module, given: Sequence[Any], names: Sequence[str]) -> list[Named]:
    """Return the inputs and the buffers of a module, as a run left them."""
    return [*inputs(given, names), *((f"buffer {name}", buffer) for name, buffer in module.named_buffers())]


def inputs(given: Sequence[Any], names: Sequence[str]) -> list[Named]:
    """Return the tensors among the inputs, as a run left them."""
    return [
        (f"input {name}", leaf)
        for name, value in zip(names, given, strict=True)
        for leaf in rung_api.tree_leaves(value)
        if isinstance(leaf, torch.Tensor)
    ]


def snapshot(parts: Sequence[Named]) -> list[Named]:
    """Return copies that later runs do not change."""
    return [(name, value.detach().clone() if isinstance(value, torch.Tensor) else value) for name, value in parts]


@dataclass(frozen=True)
class _Gap:
    """The difference of two values."""

    absolute: float = 0.0
    relative: float = 0.0
    ulps: float | None = 0.0
    is_equal: bool = True
    is_close: bool = True
    problem: str = ""


def difference(made: Sequence[Named], eager: Sequence[Named]) -> RungDifferenceData:
    """Return the largest difference of the parts of two results, which have the same order."""
    if len(made) != len(eager):
        return _data([("result", _problem(f"{len(made)} results, {len(eager)} in eager mode"))])
    return _data([(name, _of_part(value, eager[number][1])) for number, (name, value) in enumerate(made)])


def _data(gaps: Sequence[tuple[str, _Gap]]) -> RungDifferenceData:
    if not gaps:
        gaps = [("", _Gap())]
    # A part that cannot be subtracted counts more than any number, and a part out of tolerance more than a close one.
    part, worst = max(gaps, key=lambda named: (bool(named[1].problem), not named[1].is_close, named[1].absolute))
    ulps = [gap.ulps for _, gap in gaps if gap.ulps is not None]
    return {
        "absolute": _finite(worst.absolute),
        "relative": _finite(max(gap.relative for _, gap in gaps)),
        "ulps": max(ulps) if len(ulps) == len(gaps) else None,
        "is_equal": all(gap.is_equal for _, gap in gaps),
        "is_close": all(gap.is_close for _, gap in gaps),
        "part": part if not worst.is_equal else "",
        "problem": worst.problem,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _problem(text: str) -> _Gap:
    return _Gap(math.inf, math.inf, None, is_equal=False, is_close=False, problem=text)


def _of_part(value: Any, expected: Any) -> _Gap:
    """Return the difference of two tensors or two plain values."""
    if not isinstance(value, torch.Tensor) or not isinstance(expected, torch.Tensor):
        if isinstance(value, (int, float, complex)) and isinstance(expected, (int, float, complex)):
            return _of_part(torch.tensor(value), torch.tensor(expected))
        if type(value) is type(expected) and (value is expected or _is_same(value, expected)):
            return _Gap()
        return _problem(f"{type(value).__name__}, {type(expected).__name__} in eager mode")
    if value.shape != expected.shape:
        return _problem(f"sizes {list(value.shape)}, {list(expected.shape)} in eager mode")
    if value.dtype != expected.dtype:
        return _problem(f"{_name(value)}, {_name(expected)} in eager mode")
    return _of_tensors(value.detach(), expected.detach())


def _is_same(value: Any, expected: Any) -> bool:
    try:
        return bool(value == expected)
    except Exception:  # a class of the user
        return False


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _of_tensors(value: torch.Tensor, expected: torch.Tensor) -> _Gap:
    if value.layout != torch.strided or expected.layout != torch.strided:
        value, expected = value.to_dense(), expected.to_dense()
    if value.is_quantized:
        value, expected = value.dequantize(), expected.dequantize()
    value, expected = value.cpu().resolve_conj().resolve_neg(), expected.cpu().resolve_conj().resolve_neg()
    if not value.numel():
        return _Gap()
    wide = torch.complex128 if value.is_complex() else torch.float64
    first, second = value.to(wide), expected.to(wide)
    same = (first == second) | (first.isnan() & second.isnan())
    gap = torch.where(same, torch.zeros((), dtype=torch.float64), (first - second).abs().to(torch.float64))
    gap = torch.where(gap.isnan(), torch.full((), math.inf, dtype=torch.float64), gap)
    size = second.abs().to(torch.float64)
    share = torch.where(gap > 0, gap / size, torch.zeros((), dtype=torch.float64))
    return _Gap(
        float(gap.max()),
        float(torch.where(share.isnan(), torch.full((), math.inf, dtype=torch.float64), share).max()),
        _ulps(value, expected),
        is_equal=bool(same.all()),
        is_close=_is_close(value, expected),
    )


def _is_close(value: torch.Tensor, expected: torch.Tensor) -> bool:
    try:
        torch.testing.assert_close(value, expected, equal_nan=True)
    except AssertionError:
        return False
    return True


def _ulps(value: torch.Tensor, expected: torch.Tensor) -> float | None:
    """Return the largest distance of two tensors in units in the last place; None for numbers that have none."""
    if value.is_complex():
        value, expected = torch.view_as_real(value), torch.view_as_real(expected)
    if not value.is_floating_point() or value.element_size() not in _BITS:
        return None
    ordered = [_ordered(tensor.contiguous()) for tensor in (value, expected)]
    is_known = ~(value.isnan() | expected.isnan())
    # Differences of 64-bit integers do not fit into 64 bits; as doubles, large ones lose digits that nobody reads.
    far = (ordered[0].to(torch.float64) - ordered[1].to(torch.float64)).abs()
    near = (ordered[0] - ordered[1]).abs().to(torch.float64)
    distance = torch.where(far < 1 << 52, near, far)
    return float(torch.where(is_known, distance, torch.zeros((), dtype=torch.float64)).max())


def _ordered(tensor: torch.Tensor) -> torch.Tensor:
    """Return the integers that count the floating-point numbers in order: neighbours differ by 1, and -0 equals 0."""
    bits = tensor.view(_BITS[tensor.element_size()]).to(torch.int64)
    least = -(1 << (8 * tensor.element_size() - 1))
    return torch.where(bits < 0, least - bits, bits)


def parameter_gradients(result: Any, module: nn.Module, given: Sequence[Any], names: Sequence[str]) -> list[Named]:
    """Return the gradients of the sum of all results by parameters and inputs."""
    outputs = [leaf for leaf in rung_api.tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs:
        return []
    known = list(_leaves(module, given, names))
    total = sum((output.sum().abs() if output.is_complex() else output.sum()) for output in outputs)
    gradients = torch.autograd.grad(total, [leaf for _, leaf in known], allow_unused=True)
    return [(name, gradient) for (name, _), gradient in zip(known, gradients, strict=True)]


def _leaves(module: nn.Module, given: Sequence[Any], names: Sequence[str]) -> Iterator[Named]:
    """Yield the tensors that gradients are computed for."""
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            yield f"gradient of {name}", parameter
    for name, tensor in inputs(given, names):
        if tensor.requires_grad:
            yield f"gradient of {name.removeprefix('input ')}", tensor
