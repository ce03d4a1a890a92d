"""Operators and methods whose result depends on a tensor's values: Python waits for the values.

On a device, such a call waits until the device has computed them. On the CPU the values are there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptexplore.facts.source import FactSource

_YAML = "aten/src/ATen/native/native_functions.yaml"
# Operators that return a Python value, or a tensor whose size depends on values.
READS = tuple(f"aten::{name}" for name in ("item", "_local_scalar_dense", "is_nonzero", "equal", "nonzero"))
# Further operators whose result has a size that depends on values, and that call none of the operators above.
SIZED_BY_VALUES = tuple(
    f"aten::{name}"
    for name in (
        "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive",
        "bincount", "repeat_interleave.Tensor",
    )
)  # fmt: skip
LISTS = "tolist"  # this method of a tensor reads all values. On the CPU it calls no operator
_LISTS_IN = FactSource("torch/csrc/utils/tensor_list.h", "tensor_to_list")


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    for operator in READS:
        yield f"reads values {operator}", FactSource(_YAML, f"{operator.removeprefix('aten::')}(Tensor self")
    for operator in SIZED_BY_VALUES:
        first = "repeats" if operator.endswith(".Tensor") else "self"
        yield f"sized by values {operator}", FactSource(_YAML, f"{operator.removeprefix('aten::')}(Tensor {first}")
    yield f"reads values {LISTS}", _LISTS_IN


def waits(name: str, overload: str | None = None) -> bool:
    """Returns whether a call of an operator waits for values. `name` may have the overload at its end."""
    return name.partition(".")[0] in READS or not {name, f"{name}.{overload}", name.partition(".")[0]}.isdisjoint(
        SIZED_BY_VALUES
    )
