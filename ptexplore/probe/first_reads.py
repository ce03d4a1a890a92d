"""The key sets of tensors that a builtin may be given, read before its first call from a place."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from . import torch_api as api
from .paths import Path
from .values import attributes, module_tensors, modules_in, names_of, tensors_among

HELD = 1024  # tensors whose key sets are read before one call


def read_tensors(path: Path, sets: int, frame: FrameType, builtin: Any) -> list[Any] | None:
    """Read the key sets of the tensors that a first call from a path can be given; the tensors.

    A profile function is not told the arguments of a builtin: they are its owner, and what its caller's names hold,
    and what the object of a method holds. A module's parameters are its own; backward goes through those of all
    modules that your functions hold.
    """
    if not path.label.name:
        return None  # torch's own helpers
    values = [getattr(builtin, "__self__", None), *_named_in(frame)]
    if path.label.is_backward:
        outer: FrameType | None = frame.f_back
        while outer is not None:
            values += _named_in(outer)
            outer = outer.f_back
        values += [module for value in values for module in modules_in(value)]
    values += [tensor for value in values for tensor in module_tensors(value)]
    held = tensors_among(values, HELD)
    if held:
        path.read = path.read or {}
        path.read[sets] = api.key_sets(held)
    return held


def _named_in(frame: FrameType) -> Iterator[Any]:
    """What the names of a function hold: its own, those of modules that it uses, those of a method's object."""
    own, shared = names_of(frame), frame.f_globals
    yield from own.values()
    if own is not shared:
        yield from (shared[name] for name in frame.f_code.co_names if name in shared)
    yield from attributes(own.get("self")).values()
