"""Decides which definition a symbol of the binary means: by `#if`s, linkage, file and parameter types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.cpp.conditions import Conditions
from ptexplore.cpp.names import without_angles
from ptexplore.cpp.symbol_names import Name, split
from ptexplore.cpp.types import CONDITIONAL, concrete_types, plain_type, plain_types
from ptexplore.model.symbols import Symbol

CODE = ("function", "class", "struct", "variable", "member")
# Types with the same name wherever they are written: no template has a parameter of such a name. (In 2.6.0 there is one
# exception: Scalar in c10/cuda/CUDAAlgorithm.h, which only device code calls.)
_CERTAIN = {
    "bool", "char", "double", "float", "int", "long", "unsigned long", "unsigned int", "Tensor", "TensorBase", "Scalar",
    "vector<Tensor>", "vector<long>", "vector<vector<long>>", "vector<reference_wrapper<Tensor const>>",
    "ArrayRef<long>", "ArrayRef<Tensor>", "ArrayRef<SymInt>", "SymInt",
}  # fmt: skip
_INSIDE = re.compile(r"\(([*&]+)\)")
_VALUE = re.compile(r"^const |[&*]+$")
_HOLDER = re.compile(r"(?:unique_ptr|shared_ptr|weak_ptr|intrusive_ptr|vector|optional|tuple|function)<")
_LAST_ARGUMENTS = re.compile(r"^[^<]*<([^<>]*)>[^<]*$")
_TEMPLATE = re.compile(r"(?:const )?(\w+)<")
_NO_TYPE = re.compile(r"\b(?:noexcept(?:\([^()]*\))?|override|final|volatile)(?!\w)|->.*$")
_QUALIFIERS = re.compile(r"\)\s*((?:const)?\s*&{0,2})\s*$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Further facts about a symbol: its parameter types, and the file that names it and may contain it."""

    parameters: tuple[str, ...] | None = None
    near: str | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """The remaining definitions, and how many an `#if` or the build's choice of files ruled out."""

    left: tuple[Symbol, ...]
    ruled_out: int = 0


def match(symbols: Sequence[Symbol], wanted: Wanted, conditions: Conditions) -> Matched:
    """Returns the definitions of one qualified name that can be meant. An unknown fact rules nothing out."""
    visible = [symbol for symbol in definitions(symbols) if not symbol.static or wanted.near == symbol.path]
    left = [symbol for symbol in visible if conditions.holds(symbol.guards, symbol.path) is not False]
    ruled_out = len(visible) - len(left)
    if wanted.near is not None:
        left = [symbol for symbol in left if symbol.path == wanted.near] or left
    if wanted.parameters is not None and len(left) > 1:
        types = concrete_types(wanted.parameters)
        left = [
            symbol for symbol in left if symbol.parameters is not None and concrete_types(symbol.parameters) == types
        ] or left
    return Matched(tuple({(symbol.path, symbol.line): symbol for symbol in left}.values()), ruled_out)


def definitions(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Returns the symbols that define something in code, each once.

    A line with a macro may define several functions.
    """
    kept = {
        (symbol.path, symbol.line, symbol.parameters): symbol
        for symbol in symbols
        if symbol.role == "definition" and symbol.kind in CODE
    }
    return list(kept.values())


def fits(name: Name, symbol: Symbol, *, kin: bool = True) -> int:
    """Says how well a definition fits a demangled name: 2 the same types, 1 as many types, 0 another function.

    For a template, the demangled types differ from the written ones: then types with the same names count as the same.
    If the source is of another version (not `kin`), a function may have other types there.
    """
    given, written = name.parameters, symbol.parameters
    if given is None or written is None or any("..." in given_type for given_type in written):
        return 1
    mine, theirs = plain_types(given), plain_types(written)
    if any(parameter.startswith(CONDITIONAL) for parameter in written):
        return 2 if _chosen(mine, written, exactly=True) else int(_chosen(mine, written, exactly=False))
    if len(mine) != len(theirs):
        return 0
    if not name.is_template:
        return 2 if mine == theirs else 0 if kin and _differ(mine, theirs) else 1
    if kin and _differ(mine, theirs):
        return 0
    if any(
        _other_arguments(given_type, written, other)
        for given_type, written, other in zip(mine, _real(written), theirs, strict=True)
    ):
        return 0
    return 2 if [*map(without_angles, mine)] == [*map(without_angles, theirs)] else 1


def _chosen(mine: Sequence[str], written: Sequence[str], *, exactly: bool) -> bool:
    """Whether the types equal a list with `#if`s, in some build. Without `exactly`: whether they can be."""
    if not written:
        return not mine
    plain, conditional = plain_type(written[0].removeprefix(CONDITIONAL)), written[0].startswith(CONDITIONAL)
    alike = bool(mine) and (mine[0] == plain if exactly else not _differ(mine[:1], (plain,)))
    if alike and _chosen(mine[1:], written[1:], exactly=exactly):
        return True
    return conditional and _chosen(mine, written[1:], exactly=exactly)


def _differ(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether the types of a parameter certainly differ: no alias or template parameter can explain it."""
    pairs = [(_VALUE.sub("", plain), _VALUE.sub("", other)) for plain, other in zip(mine, theirs, strict=True)]
    if any(plain != other and plain in _CERTAIN and other in _CERTAIN for plain, other in pairs):
        return True
    return any(_indirect_otherwise(plain, other) for plain, other in zip(mine, theirs, strict=True))


def _indirect_otherwise(plain: str, other: str) -> bool:
    """Whether one type is a pointer or reference and the other certainly is not.

    With a `*`, every alias and template parameter is a pointer; with a `&`, it is a reference.
    """
    if "(" in other or "[" in other:
        return False
    inner = _INSIDE.search(plain)  # of a function, or an array: "int(&)(float)", "int(*)[3]"
    plain = inner[1] if inner is not None else plain
    if other.endswith("*"):
        return not plain.endswith("*")
    if other.endswith("&"):
        return not plain.endswith("&")
    return plain.endswith(("*", "&")) and (other == "nullptr_t" or bool(_HOLDER.match(other)))


def _real(written: Sequence[str]) -> list[str]:
    return [parameter for parameter in written if parameter.strip() not in ("", "void")]


def _other_arguments(mine: str, written: str, theirs: str) -> bool:
    """Whether a parameter is written with explicit template arguments ("C<c10::SymInt>") that the other type lacks."""
    asked, given = _LAST_ARGUMENTS.search(theirs), _LAST_ARGUMENTS.search(mine)
    if asked is None or given is None or "::" not in written.partition("<")[2]:
        return False
    first = asked[1].split(",")
    return given[1].split(",")[: len(first)] != first


def takes(name: Name, symbol: Symbol) -> bool:
    """Whether a template has parameters that can be the templates given as arguments of the name.

    `f<c10::ArrayRef>` was made of `f(Container<SymInt>)`, not of `f(Vec)`: a template is not a type.
    """
    given, written = name.parameters, symbol.parameters
    arguments = [plain_type(argument) for argument in split((name.parts[-1].arguments or "") if name.parts else "")]
    if given is None or written is None or not arguments:
        return True
    pairs = [
        (_TEMPLATE.match(plain_type(argument)), _TEMPLATE.match(plain_type(other)))
        for argument, other in zip(given, _real(written), strict=False)
    ]
    templates = {argument[1] for argument, _ in pairs if argument is not None} & set(arguments)
    taken = {
        argument[1]
        for argument, other in pairs
        if argument is not None and other is not None and argument[1] != other[1]
    }
    return templates <= taken


def qualifiers(text: str) -> str:
    """Returns the qualifiers behind a parameter list that are part of the function's type: "const", "&", "const &&"."""
    match = _QUALIFIERS.search(_NO_TYPE.sub("", text))
    return " ".join(match[1].split()) if match else ""
