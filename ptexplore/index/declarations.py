"""Where the wheel's headers declare a function whose definition is hand-written C++ and so not in the wheel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ptexplore.index.scan import ScannedFile
from ptexplore.model import Layer
from ptexplore.source.tree import SourceTree

_MANUAL = "torch/csrc/autograd/FunctionsManual.h"
_DETAILS = "torch::autograd::generated::details"
_INDEXING = "torch/csrc/autograd/python_variable_indexing.h"
_FALLBACK = "torch/csrc/autograd/autograd_not_implemented_fallback.h"
_ACCUMULATE = "torch/csrc/autograd/functions/accumulate_grad.h"

# torchgen/dest/register_dispatch_key.py: a wrapper takes symbolic integers and converts them for a plain kernel
_PLAIN = (
    ("c10::SymIntArrayRef", "at::IntArrayRef"),
    ("at::OptionalSymIntArrayRef", "at::OptionalIntArrayRef"),
    ("c10::SymInt", "int64_t"),
)


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration: the header, the line of the name, the last line, and the layer that holds the header."""

    path: str
    line: int
    end_line: int
    layer: Layer


def find(tree: SourceTree, symbol: str, caller: tuple[str, int] | None = None) -> tuple[str, list[Declared]]:
    """The qualified name that `symbol` means, and its declarations in headers of `tree`.

    `caller` is path and line of the generated wrapper that calls it, which has the same parameters: of several
    overloads the one with exactly those is meant (a SymInt that the wrapper makes an int counts as one).
    A name without scope is looked for among the functions that derivative formulas call:
    torch::autograd::generated::details.
    """
    qualified = symbol if "::" in symbol else f"{_DETAILS}::{symbol}"
    places = [place for path in candidates(tree, qualified) for place in declared(tree, path, qualified)]
    if len(places) > 1 and caller is not None:
        wanted = parameters(tree, *caller)
        same = [place for place in places if parameters(tree, place.path, place.line) == wanted]
        places = same if wanted is not None and len(same) == 1 else places
    return qualified, places


def candidates(tree: SourceTree, qualified: str) -> Iterator[str]:
    """The headers that could declare `qualified`, most likely first."""
    if qualified.startswith(f"{_DETAILS}::"):
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


def declared(tree: SourceTree, path: str, qualified: str) -> Iterator[Declared]:
    """Each declaration of `qualified` in the header `path`: the line is that of the name."""
    found = tree.read(path)
    if found is None:
        return
    for one in _scanned(path, found.text).by_name.get(qualified.rsplit("::", 1)[-1], []):
        if one.kind in ("declaration", "function") and one.qualified == qualified:
            yield Declared(path, one.line, one.end, found.layer)


def parameters(tree: SourceTree, path: str, line: int) -> tuple[str, ...] | None:
    """The parameter types of the function whose name is on `line`, without names and defaults; None where unclear."""
    text = "\n".join(tree.lines(path)[line - 1 : line + 30])
    start = text.find("(")
    if start < 0:
        return None
    found, depth, begin = [], 0, start + 1
    for position in range(start, len(text)):
        character = text[position]
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(character, 0)
        if (character == "," and depth == 1) or depth == 0:
            found.append(text[begin:position])
            begin = position + 1
        if depth == 0:
            return tuple(_type(one) for one in found if one.strip())
    return None


def _type(parameter: str) -> str:
    """One parameter's type: its default and name dropped, symbolic integers as the plain ones."""
    bare = re.sub(r"\s*\w+\s*$", "", parameter.split("=", 1)[0])
    for symbolic, plain in _PLAIN:
        bare = bare.replace(symbolic, plain)
    return " ".join(bare.split())


@lru_cache(maxsize=256)
def _scanned(path: str, text: str) -> ScannedFile:
    return ScannedFile(path, text, declarations=True)
