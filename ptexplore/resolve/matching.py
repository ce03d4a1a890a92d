"""Which of the definitions of one name a symbol of the binary means: by `#if`s, linkage, file and parameter types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.index.conditions import Conditions
from ptexplore.symbols import Symbol

_QUALIFIER = re.compile(r"(?:\b\w+)?::(?=\w)")
_SIGNS = re.compile(r"\s*([&*<>,])\s*")
_WORDS = re.compile(r"\b(?:class|struct|typename|enum)\b")
# Aliases of c10/util/ArrayRef.h, ATen/core/ and ATen/SparseTensorUtils.h that declarations and definitions write either
# way. Torchgen's wrappers take symbolic integers where a kernel takes plain ones; a kernel of either kind has a name of
# its own, so that here both count as one.
_ALIASES = {
    "SymInt": "int64_t",
    "IntArrayRef": "ArrayRef<int64_t>",
    "SymIntArrayRef": "ArrayRef<int64_t>",
    "TensorList": "ArrayRef<Tensor>",
    "DimnameList": "ArrayRef<Dimname>",
    "OptionalIntArrayRef": "OptionalArrayRef<int64_t>",
    "OptionalSymIntArrayRef": "OptionalArrayRef<int64_t>",
    "SparseTensor": "Tensor",
    "SparseCsrTensor": "Tensor",
}
_ALIAS = re.compile(rf"\b(?:{'|'.join(_ALIASES)})\b")
CODE = ("function", "class", "struct", "variable", "member")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What else is known of a symbol: its parameter types, and the file that names it, whose own it may be."""

    parameters: tuple[str, ...] | None = None
    near: str | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """The definitions left, and how many an `#if` or the build's choice of files ruled out."""

    left: tuple[Symbol, ...]
    ruled_out: int = 0


def match(found: Sequence[Symbol], wanted: Wanted, conditions: Conditions) -> Matched:
    """Of all definitions of one qualified name those that can be meant. What is not known rules nothing out."""
    here = list({(one.path, one.line): one for one in found if one.role == "definition" and one.kind in CODE}.values())
    here = [one for one in here if not one.static or wanted.near == one.path]
    there = [one for one in here if conditions.holds(one.guards, one.path) is not False]
    ruled_out = len(here) - len(there)
    if wanted.near is not None:
        there = [one for one in there if one.path == wanted.near] or there
    if wanted.parameters is not None and len(there) > 1:
        types = plain_types(wanted.parameters)
        there = [one for one in there if one.parameters is not None and plain_types(one.parameters) == types] or there
    return Matched(tuple(there), ruled_out)


def plain_types(parameters: Sequence[str]) -> tuple[str, ...]:
    """Parameter types without namespaces and spaces, aliases replaced, so that two spellings of one type are equal."""
    return tuple(_plain(one) for one in parameters if one.strip() not in ("", "void"))


def _plain(parameter: str) -> str:
    text = _WORDS.sub("", parameter)
    while (shorter := _QUALIFIER.sub("", text)) != text:
        text = shorter
    text = _ALIAS.sub(lambda found: _ALIASES[found[0]], text)
    text = " ".join(_SIGNS.sub(r"\1", text).split())
    if not text.endswith(("&", "*")):
        text = text.removeprefix("const ")  # a const of a value is no part of the function's type
    return re.sub(r"^(.*\S) const(&|\*)$", r"const \1\2", text)
