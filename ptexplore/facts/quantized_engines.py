"""The functions that compute a quantized operator with each library.

A quantized operator calls its packed weights. Which library packed them decides what computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptexplore.facts.source import FactSource

_CPU = "aten/src/ATen/native/quantized/cpu"


class Engine(NamedTuple):
    """A class of packed weights: the operator that it computes ("linear"), the names of its library, its functions.

    `function` computes; `dynamic` computes when the input is quantized in the call.
    """

    operator: str
    libraries: tuple[str, ...]
    function: str  # the qualified name
    source: FactSource
    dynamic: str
    of_dynamic: FactSource


def _engine(operator: str, libraries: tuple[str, ...], weights: str) -> Engine:
    return Engine(
        operator,
        libraries,
        f"{weights}::apply_impl",
        FactSource(f"{_CPU}/q{operator}.cpp", weights),
        f"{weights}::apply_dynamic{'_impl' if operator == 'linear' else ''}",
        FactSource(f"{_CPU}/q{operator}_dynamic.cpp", weights),
    )


_ONEDNN = ("onednn", "mkldnn")
ENGINES = (
    _engine("linear", ("fbgemm",), "PackedLinearWeight"),
    _engine("linear", ("qnnpack",), "PackedLinearWeightsQnnp"),
    _engine("linear", _ONEDNN, "PackedLinearWeightsOnednn"),
    _engine("conv", ("fbgemm",), "PackedConvWeight"),
    _engine("conv", ("qnnpack",), "PackedConvWeightsQnnp"),
    _engine("conv", _ONEDNN, "PackedConvWeightsOnednn"),
)


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    for row in ENGINES:
        yield f"computes: {row.function}", row.source
        yield f"computes: {row.dynamic}", row.of_dynamic
