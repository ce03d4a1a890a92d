"""Finds declarations in the wheel's headers, for functions whose definitions are hand-written C++ outside the wheel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ptexplore.cpp.macros import Define, MacroTable
from ptexplore.cpp.text import Text
from ptexplore.cpp.types import concrete_types, parameter_types
from ptexplore.model.places import Layer
from ptexplore.model.symbols import Symbol
from ptexplore.source.tree import SourceTree

_MANUAL = "torch/csrc/autograd/FunctionsManual.h"
FORMULA_SCOPE = "torch::autograd::generated::details"
_INDEXING = "torch/csrc/autograd/python_variable_indexing.h"
_FALLBACK = "torch/csrc/autograd/autograd_not_implemented_fallback.h"
_ACCUMULATE = "torch/csrc/autograd/functions/accumulate_grad.h"

# c10/macros/Export.h: attributes, the only macros that matter in these headers
_EXPORTS = MacroTable({name: (Define(name, None, "", 0),) for name in ("TORCH_API", "C10_API", "TORCH_PYTHON_API")})


@dataclass(frozen=True, slots=True)
class HeaderDeclaration:
    """One declaration: the header, the line of the name, the last line, and the layer of the header."""

    path: str
    line: int
    end_line: int
    layer: Layer


def find(tree: SourceTree, symbol: str, caller: tuple[str, int] | None = None) -> tuple[str, list[HeaderDeclaration]]:
    """Returns the qualified name that `symbol` means, and its declarations in headers of `tree`.

    `caller` is path and line of the generated wrapper that calls it and has the same parameters. It selects the
    overload with exactly those parameters (a SymInt that the wrapper converts to an int counts as an int). A name
    without scope is looked up among the functions that derivative formulas call: torch::autograd::generated::details.
    """
    qualified = symbol if "::" in symbol else f"{FORMULA_SCOPE}::{symbol}"
    places = [place for path in candidates(tree, qualified) for place in declared(tree, path, qualified)]
    if len(places) > 1 and caller is not None:
        wanted = _concrete(tree, *caller)
        same = [place for place in places if _concrete(tree, place.path, place.line) == wanted]
        places = same if wanted is not None and len(same) == 1 else places
    return qualified, places


def candidates(tree: SourceTree, qualified: str) -> Iterator[str]:
    """Yields the headers that could declare `qualified`, likeliest first."""
    if qualified.startswith(f"{FORMULA_SCOPE}::"):
        yield _MANUAL
    elif qualified.startswith("torch::autograd::THPVariable_"):
        yield _INDEXING
    elif qualified.endswith("autogradNotImplementedFallback"):
        yield _FALLBACK
    elif "AccumulateGrad" in qualified:
        yield _ACCUMULATE
    elif qualified.startswith(("at::native::", "at::meta::")):
        yield from _operator_headers(tree, qualified)


def _operator_headers(tree: SourceTree, qualified: str) -> list[str]:
    """Returns the ATen/ops headers that declare `qualified` or its class, according to torchgen's model."""
    listed = tree.aid("headers.tsv") or ""
    for name in (qualified, qualified.rpartition("::")[0]):
        at = listed.find(f"\n{name}\t")
        if at >= 0:
            start = at + len(name) + 2
            return listed[start : listed.find("\n", start)].split(",")
    return []


def declared(tree: SourceTree, path: str, qualified: str) -> Iterator[HeaderDeclaration]:
    """Yields each declaration of `qualified` in the header `path`. Its line is the line of the name."""
    header = tree.read(path)
    if header is None:
        return
    for function in _functions(path, header.text):
        if function.qualified == qualified:
            yield HeaderDeclaration(path, function.line, function.end_line, header.layer)


def parameters(tree: SourceTree, path: str, line: int) -> tuple[str, ...] | None:
    """Returns the parameter types of the function whose name is on `line`, without names and defaults.

    None if unclear.
    """
    text = Text(path, "\n".join(tree.lines(path)[line - 1 : line + 30]))
    opening = text.bare.find("(")
    closing = text.brackets.closing(opening) if opening >= 0 else -1
    return parameter_types(text.code[opening : closing + 1]) if closing >= 0 else None


def _concrete(tree: SourceTree, path: str, line: int) -> tuple[str, ...] | None:
    """Returns the result of `parameters`, with symbolic integers as plain ones."""
    types = parameters(tree, path, line)
    return None if types is None else concrete_types(types)


@lru_cache(maxsize=256)
def _functions(path: str, text: str) -> tuple[Symbol, ...]:
    """Returns the functions that a header declares or defines."""
    from ptexplore.index.cpp.extract import extract

    return tuple(symbol for symbol in extract(path, text, _EXPORTS)[0] if symbol.kind == "function")
