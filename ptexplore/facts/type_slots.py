"""The C functions behind the special methods of torch.Tensor that its type has in slots, and in no table of methods."""

from __future__ import annotations

from collections.abc import Iterator

from ptexplore.facts.source import FactSource

_VARIABLE = "torch/csrc/autograd/python_variable.cpp"
SLOTS = {"__getitem__": "THPVariable_getitem", "__setitem__": "THPVariable_setitem", "__len__": "THPVariable_length"}


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    for method, function in SLOTS.items():
        yield f"slot of {method}", FactSource(_VARIABLE, function)
