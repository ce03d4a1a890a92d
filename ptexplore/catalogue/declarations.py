"""Where the wheel's headers declare a function whose definition is hand-written C++ and so not in the wheel."""

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

# c10/macros/Export.h: attributes, which those headers use alone
_EXPORTS = MacroTable({name: (Define(name, None, "", 0),) for name in ("TORCH_API", "C10_API", "TORCH_PYTHON_API")})


@dataclass(frozen=True, slots=True)
class HeaderDeclaration:
    """One declaration: the header, the line of the name, the last line, and the layer that holds the header."""

    path: str
    line: int
    end_line: int
    layer: Layer


def find(tree: SourceTree, symbol: str, caller: tuple[str, int] | None = None) -> tuple[str, list[HeaderDeclaration]]:
    """The qualified name that `symbol` means, and its declarations in headers of `tree`.

    `caller` is path and line of the generated wrapper that calls it, which has the same parameters: of several
    overloads the one with exactly those is meant (a SymInt that the wrapper makes an int counts as one).
    A name without scope is looked for among the functions that derivative formulas call:
    torch::autograd::generated::details.
    """
    qualified = symbol if "::" in symbol else f"{FORMULA_SCOPE}::{symbol}"
    places = [place for path in candidates(tree, qualified) for place in declared(tree, path, qualified)]
    if len(places) > 1 and caller is not None:
        wanted = _concrete(tree, *caller)
        same = [place for place in places if _concrete(tree, place.path, place.line) == wanted]
        places = same if wanted is not None and len(same) == 1 else places
    return qualified, places


def candidates(tree: SourceTree, qualified: str) -> Iterator[str]:
    """The headers that could declare `qualified`, most likely first."""
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
    """The ATen/ops headers that torchgen's own model says declare `qualified` or the class it is a member of."""
    listed = tree.aid("headers.tsv") or ""
    for name in (qualified, qualified.rpartition("::")[0]):
        at = listed.find(f"\n{name}\t")
        if at >= 0:
            start = at + len(name) + 2
            return listed[start : listed.find("\n", start)].split(",")
    return []


def declared(tree: SourceTree, path: str, qualified: str) -> Iterator[HeaderDeclaration]:
    """Each declaration of `qualified` in the header `path`: the line is that of the name."""
    header = tree.read(path)
    if header is None:
        return
    for function in _functions(path, header.text):
        if function.qualified == qualified:
            yield HeaderDeclaration(path, function.line, function.end_line, header.layer)


def parameters(tree: SourceTree, path: str, line: int) -> tuple[str, ...] | None:
    """The parameter types of the function whose name is on `line`, without names and defaults; None where unclear."""
    text = Text(path, "\n".join(tree.lines(path)[line - 1 : line + 30]))
    opening = text.bare.find("(")
    closing = text.brackets.closing(opening) if opening >= 0 else -1
    return parameter_types(text.code[opening : closing + 1]) if closing >= 0 else None


def _concrete(tree: SourceTree, path: str, line: int) -> tuple[str, ...] | None:
    """As `parameters`, a symbolic integer counted as a plain one."""
    types = parameters(tree, path, line)
    return None if types is None else concrete_types(types)


@lru_cache(maxsize=256)
def _functions(path: str, text: str) -> tuple[Symbol, ...]:
    """The functions that a header declares or defines."""
    from ptexplore.index.cpp.extract import extract

    return tuple(symbol for symbol in extract(path, text, _EXPORTS)[0] if symbol.kind == "function")
