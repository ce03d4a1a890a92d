"""Kernels that native_functions.yaml names for an operator, and that the running build did not register.

From the `dispatch` and `structured_delegate` lines of an entry (aten/src/ATen/native/README.md). A build leaves out
backends that it has no files for: MPS outside macOS, for example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ptexplore.model.operators import Operator
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store

_DISPATCH = re.compile(r"  dispatch:\s*(?:#.*)?")
_KERNEL = re.compile(r"    ([A-Z]\w*(?:, *[A-Z]\w*)*): *([\w:]+)")
_DELEGATE = re.compile(r"  structured_delegate: *([\w.]+)")
_UFUNC = ("CUDA", "CPU")  # UFUNC_DISPATCH_KEYS of torchgen/model.py
_COMPOSITE = "Composite"  # alias keys begin like this; their kernels are under other keys in the table
# A delegate's kernels for these layouts belong only to the delegate (torchgen.model.STRUCTURED_DISPATCH_KEYS has dense
# keys).
_LAYOUTS = ("Sparse", "Quantized", "Mkldnn", "Nested", "Zero", _COMPOSITE)


class YamlKernels:
    """The kernels that native_functions.yaml names for each operator, by dispatch key."""

    def __init__(self, store: Store, tree: SourceTree, operators: Iterable[Operator] = ()) -> None:
        """`operators` are all operators, if they were already read: one at a time is slow for thousands."""
        self._store = store
        self._tree = tree
        self._operators = {operator.name: operator for operator in operators}

    def of(self, name: str) -> dict[str, str]:
        """Returns the kernels that the entry of an operator names, by key. Empty without an entry."""
        operator = self._operator(name)
        if operator is None or operator.yaml_path is None or operator.yaml_line is None or operator.autogen:
            return {}
        lines = self._entry(operator)
        named = dict(_kernels(lines, operator))
        delegate = next((match[1] for line in lines if (match := _DELEGATE.match(line))), None)
        other = self._operator(f"{operator.namespace}::{delegate}") if delegate is not None else None
        if other is not None:
            kernels = _kernels(self._entry(other), other)
            named |= {key: kernel for key, kernel in kernels if not key.startswith(_LAYOUTS)}
        return named

    def _entry(self, operator: Operator) -> Sequence[str]:
        if operator.yaml_path is None or operator.yaml_line is None:
            return ()
        return self._tree.lines(operator.yaml_path)[operator.yaml_line - 1 : operator.yaml_end]

    def _operator(self, name: str) -> Operator | None:
        return self._operators.get(name) if self._operators else self._store.operator(name)


def not_in_this_build(store: Store, tree: SourceTree, operator: Operator) -> tuple[tuple[str, str], ...]:
    """Returns the dispatch keys that the YAML entry names and that have no kernel of their own here.

    Each key comes with the kernel that the entry names.
    """
    own = {key for entry in store.table(operator.name) if entry.reason == "kernel" for key in entry.keys}
    named = YamlKernels(store, tree).of(operator.name)
    return tuple((key, kernel) for key, kernel in named.items() if key not in own)


def _kernels(lines: Sequence[str], operator: Operator) -> Iterator[tuple[str, str]]:
    """Yields the kernels that an entry names. torchgen makes some itself from the inner loop of a ufunc."""
    yield from _dispatch(lines)
    if any(line.startswith("  ufunc_inner_loop:") for line in lines):
        yield from ((key, f"ufunc_{operator.base}_{key}") for key in _UFUNC)


def _dispatch(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the keys of an entry's `dispatch`, each with its kernel."""
    inside = False
    for line in lines:
        if inside and line.strip() and not line.lstrip().startswith("#"):
            kernel = _KERNEL.match(line)
            if kernel is None:
                return
            keys = (key.strip() for key in kernel[1].split(","))
            yield from ((key, kernel[2]) for key in keys if not key.startswith(_COMPOSITE))
        inside = inside or _DISPATCH.fullmatch(line.rstrip("\n")) is not None
