"""The operators that a Python name of torch calls: from `F.linear` in a text to aten::linear.

The imports of the text say what the first part of a name is; the installed torch's method tables say which operators a
function of C++ calls. Nothing is imported and no code runs.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ptexplore.errors import NOT_PYTHON
from ptexplore.lookup.operators import Catalogue, operator_spot
from ptexplore.lookup.trees import Candidate
from ptexplore.lookup.yaml_names import YamlNames

DEFINED = "defined in the text"
_OPS = "torch.ops."
_ROOT = "torch"
_TEXTS = 16  # texts whose imports are kept


def full_name(text: str, name: str, path: str = "") -> str | None:
    """Returns the full name that a dotted name in a Python text stands for; None if it does not begin with torch.

    `path` is the file's canonical path, for relative imports. A first part that the text also binds in another way is
    not known, nor is any in a text that is not Python.
    """
    first, dot, rest = name.partition(".")
    bound = _bound(text, path).get(first, frozenset())
    full = f"{next(iter(bound))}{dot}{rest}" if len(bound) == 1 else ""
    return full if full.split(".", 1)[0] == _ROOT else None


def is_own_definition(text: str, name: str, path: str) -> bool:
    """Whether a plain name can only mean a function or class of the text itself: nothing else binds it there."""
    return _bound(text, path).get(name) == frozenset({DEFINED})


@lru_cache(maxsize=_TEXTS)
def _bound(text: str, path: str) -> Mapping[str, frozenset[str]]:
    """Returns all names that a text binds anywhere, with the full names that its imports give them.

    A name of a function or class of the text has DEFINED among them, a name that is bound in another way "".
    """
    try:
        module = ast.parse(text)
    except NOT_PYTHON:
        return {}
    bound = defaultdict[str, set[str]](set)
    package = path.split("/")[:-1]
    for node in ast.walk(module):
        for name, full in _bindings(node, package):
            bound[name].add(full)
    return {name: frozenset(full) for name, full in bound.items()}


def _bindings(node: ast.AST, package: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the names that one node binds, each with the full name that an import gives it, or ""."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.split(".", 1)[0]
            yield (alias.asname, alias.name) if alias.asname else (top, top)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else ()
        module = ".".join([*above, node.module] if node.module else above)
        yield from ((alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id, ""
    elif isinstance(node, ast.arg):
        yield node.arg, ""
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, DEFINED


class PythonOperators:
    """The operators behind Python names. `catalogue` is the installed torch's; without one there are none."""

    def __init__(self, catalogue: Catalogue | None, yaml: YamlNames) -> None:
        self._catalogue = catalogue
        self._yaml = yaml

    def meant(self, full: str) -> list[Candidate]:
        """Returns the operators that a full name ("torch.add") calls, at their YAML entries of the first tree.

        An operator without an entry in this tree is at its place in the installed torch. Empty for a name that is not
        bound to C++, and for one whose operators are not known.
        """
        if self._catalogue is None:
            return []
        return [each for op in self._names(full) if (each := self._candidate(self._catalogue, op)) is not None]

    def _names(self, full: str) -> Sequence[str]:
        assert self._catalogue is not None
        store = self._catalogue.store
        if full.startswith(_OPS):
            namespace, _, rest = full.removeprefix(_OPS).partition(".")
            base, _, overload = rest.partition(".")
            named = f"{namespace}::{base}{f'.{overload}' if overload not in ('', 'default') else ''}"
            if overload:
                return [named] if store.operator(named) is not None else []
            return [o.name for o in store.operators_named(base) if o.namespace == namespace]
        python = store.python_name(full)
        if python is None or not (python.table and python.method):
            return []
        row = store.binding(python.table, python.method)
        return row.ops if row is not None else []

    def _candidate(self, catalogue: Catalogue, name: str) -> Candidate | None:
        operator = catalogue.store.operator(name)
        entry = self._yaml.operator(0, name)
        if operator is None or entry is not None:
            return entry
        return Candidate("operator", name, operator.schema, operator_spot(catalogue, operator), catalogue.number)
