"""Which lambda of a function's text a demangled name means: it has no name, so it is told where only one can be.

What stands in the text is read as a tree: lambdas that are written, and uses of macros that make some. Each of the
AT_DISPATCH macros (but for AT_DISPATCH_CASE and its kin, its arguments) makes just one lambda, without parameters, and
puts what it is given into it, once for every type. Of any other macro nothing is known: what is in or beside it is not
sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ptexplore.cpp.symbol_names import Name, split

# A capture list where none can be an index, with what follows it: parameters or a body.
_LAMBDA = re.compile(r"(?<![\w)\]\[])\s*(\[[^\[\]]*\]\s*)(?=[({])")
_QUIET = (  # macros that make no lambda: checks, and what is written inside of a dispatch
    r"TORCH_(?:INTERNAL_)?(?:CHECK|ASSERT|WARN)|C10_(?:UN)?LIKELY|_?AT_DISPATCH_CASE|AT_(?:WRAP|EXPAND|MKL_ENABLED)\b"
)
_MACRO = re.compile(rf"\b(?!{_QUIET})[A-Z_][A-Z0-9]*_[A-Z0-9_]+\s*(?=\()")
_DISPATCH = re.compile(r"_?AT_DISPATCH_")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_BETWEEN = re.compile(r"operator\(\)|_FUN|operator ")  # what a lambda's own parts are called
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(eq=False)
class Maker:
    """What makes a lambda, or may: a lambda written, a dispatch, another macro. `parameters`: None where not known."""

    kind: str
    start: int
    end: int
    parameters: int | None = None
    inside: list[Maker] = field(default_factory=list)


@dataclass(frozen=True)
class LambdaOffsets:
    """Offsets in the text of what the name may mean, and whether it can be nothing else."""

    offsets: tuple[int, ...]
    sure: bool


def around(name: Name) -> tuple[Name | None, list[tuple[int, int]] | None]:
    """The function around a lambda, and how one gets to it: parameters and number of each lambda from outside in.

    None for the function where there is none; for the way where other things than lambdas stand on it.
    """
    first = next(index for index, part in enumerate(name.parts) if part.name.startswith("{"))
    outer = Name(name.text, name.parts[:first])
    way: list[tuple[int, int]] = []
    for part in name.parts[first:]:
        numbered = re.fullmatch(r"\{lambda#(\d+)\}", part.name)
        if numbered is not None and part.signature is not None:
            given = [one for one in split(part.signature) if one != "void"]
            way.append((len(given), int(numbered[1])))
        elif not _BETWEEN.match(part.name):
            return (outer if first and outer.parts[-1].parameters is not None else None), None
    return (outer if first and outer.parts[-1].parameters is not None else None), way


def find(text: str, way: Sequence[tuple[int, int]]) -> LambdaOffsets:
    """Where the lambda of that way may stand in a function's text, in which comments and literals are blank."""
    level, sure, repeated = makers(text), "#define" not in text, False
    for depth, (parameters, number) in enumerate(way):
        sure = sure and not any(one.kind == "macro" for one in level)
        written = list(_flat(level))
        here = [one for one in written if one.parameters in (None, parameters)]
        if len(here) == 1 and not repeated:  # compilers count those of one signature, or all (GCC before 14)
            sure = sure and number in (1, written.index(here[0]) + 1)
        if depth == len(way) - 1:
            return LambdaOffsets(tuple(sorted({one.start for one in here})), sure and len(here) == 1)
        repeated = any(one.kind == "dispatch" for one in here)
        level = [inner for one in here for inner in one.inside]
    return LambdaOffsets((), False)


def _flat(level: Sequence[Maker]) -> Iterator[Maker]:
    """What makes lambdas for sure, on this level or in a macro that may make none."""
    for one in level:
        if one.kind == "macro":
            yield from _flat(one.inside)
        else:
            yield one


def makers(text: str) -> list[Maker]:
    """The outermost of what makes lambdas in a function's text, each with what is inside of it."""
    code = _DIRECTIVE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    ends = _ends(code)
    found = [*_written(code, ends), *_used(code, ends)]
    roots: list[Maker] = []
    stack: list[Maker] = []
    for one in sorted(found, key=lambda maker: (maker.start, -maker.end)):
        while stack and stack[-1].end <= one.start:
            stack.pop()
        (stack[-1].inside if stack else roots).append(one)
        stack.append(one)
    return roots


def _written(code: str, ends: dict[int, int]) -> Iterator[Maker]:
    for found in _LAMBDA.finditer(code):
        at, parameters = found.end(), 0
        start = found.start(1)
        if code[at] == "(":
            if at not in ends:
                continue
            given = split(code[at + 1 : ends[at]])
            parameters = -1 if any("..." in one or one.isupper() for one in given) else len(given)
            at = code.find("{", ends[at])
        if at in ends:
            yield Maker("lambda", start, ends[at] + 1, None if parameters < 0 else parameters)


def _used(code: str, ends: dict[int, int]) -> Iterator[Maker]:
    for found in _MACRO.finditer(code):
        kind = "dispatch" if _DISPATCH.match(found[0]) else "macro"
        if found.end() in ends:
            yield Maker(kind, found.start(), ends[found.end()] + 1, 0)


def _ends(code: str) -> dict[int, int]:
    """Where each bracket closes."""
    stack: list[int] = []
    ends: dict[int, int] = {}
    for found in re.finditer(r"[\[\](){}]", code):
        if found[0] in _OPEN:
            stack.append(found.start())
        elif stack and code[stack[-1]] == _OPEN[_CLOSE.index(found[0])]:
            ends[stack.pop()] = found.start()
    return ends
