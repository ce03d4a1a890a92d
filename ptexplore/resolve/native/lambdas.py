"""Finds the lambda in a function's text that a demangled name means. A lambda has no name, so only one may fit.

The text is read as a tree of written lambdas and of macro uses that make lambdas. Each AT_DISPATCH macro (except
AT_DISPATCH_CASE and similar macros, its arguments) makes exactly one lambda, without parameters, and puts its arguments
into it once per type. Nothing is known about other macros, so lambdas inside or beside them are not certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ptexplore.cpp.branches import DIRECTIVE
from ptexplore.cpp.symbol_names import Name, split
from ptexplore.cpp.text import blank

# A capture list at a place where no index can be, before parameters or a body.
_LAMBDA = re.compile(r"(?<![\w)\]\[])\s*(\[[^\[\]]*\]\s*)(?=[({])")
_QUIET = (  # macros that make no lambda: checks, and macros inside a dispatch
    r"TORCH_(?:INTERNAL_)?(?:CHECK|ASSERT|WARN)|C10_(?:UN)?LIKELY|_?AT_DISPATCH_CASE|AT_(?:WRAP|EXPAND|MKL_ENABLED)\b"
)
_MACRO = re.compile(rf"\b(?!{_QUIET})[A-Z_][A-Z0-9]*_[A-Z0-9_]+\s*(?=\()")
_DISPATCH = re.compile(r"_?AT_DISPATCH_")
_BETWEEN = re.compile(r"operator\(\)|_FUN|operator ")  # names of the parts of a lambda


@dataclass(eq=False)
class Maker:
    """A written lambda, a dispatch macro, or another macro that may make lambdas. `parameters`: None if not known."""

    kind: str
    start: int
    end: int
    parameters: int | None = None
    inside: list[Maker] = field(default_factory=list)


@dataclass(frozen=True)
class LambdaOffsets:
    """The offsets in the text that a name may mean, and whether it can be nothing else."""

    offsets: tuple[int, ...]
    sure: bool


def around(name: Name) -> tuple[Name | None, list[tuple[int, int]] | None]:
    """Returns the function around a lambda, and the way from the function to the lambda.

    The way has the number of parameters and the number of each lambda, from outside in. The function is None if there
    is none. The way is None if it contains anything but lambdas.
    """
    first = next(index for index, part in enumerate(name.parts) if part.name.startswith("{"))
    is_function = first > 0 and name.parts[first - 1].parameters is not None
    outer = Name(name.text, name.parts[:first]) if is_function else None
    way: list[tuple[int, int]] = []
    for part in name.parts[first:]:
        numbered = re.fullmatch(r"\{lambda#(\d+)\}", part.name)
        if numbered is not None and part.signature is not None:
            parameters = [parameter for parameter in split(part.signature) if parameter != "void"]
            way.append((len(parameters), int(numbered[1])))
        elif not _BETWEEN.match(part.name):
            return outer, None
    return outer, way


def find(text: str, way: Sequence[tuple[int, int]]) -> LambdaOffsets:
    """Returns the offsets of the lambda at the end of a way. `text`: a function with blanked comments and literals."""
    level, sure, repeated = makers(text), "#define" not in text, False
    for depth, (parameters, number) in enumerate(way):
        sure = sure and not any(maker.kind == "macro" for maker in level)
        written = list(_flat(level))
        fitting = [maker for maker in written if maker.parameters in (None, parameters)]
        if len(fitting) == 1 and not repeated:  # compilers count the lambdas of one signature, or all (GCC before 14)
            sure = sure and number in (1, written.index(fitting[0]) + 1)
        if depth == len(way) - 1:
            return LambdaOffsets(tuple(sorted({maker.start for maker in fitting})), sure and len(fitting) == 1)
        repeated = any(maker.kind == "dispatch" for maker in fitting)
        level = [inner for maker in fitting for inner in maker.inside]
    return LambdaOffsets((), False)


_TLS = re.compile(r"\bC10_DEFINE_TLS_static\s*\(")  # c10/util/ThreadLocal.h: one lambda, without parameters
_THREAD_LOCAL = re.compile(r"^(?:static |inline |extern )*thread_local\b", re.MULTILINE)


def thread_locals(bare: str) -> Iterator[int]:
    """Yields the lines of thread-local variables at the first column of a file, which are those of its namespaces."""
    for match in _THREAD_LOCAL.finditer(bare):
        if "extern" not in match[0]:
            yield bare.count("\n", 0, match.start()) + 1


def outside(
    bare: str, functions: Sequence[tuple[int, int]], variable: str | None, parameters: int | None
) -> LambdaOffsets:
    """Returns the lines of a file where a lambda outside of functions may be, and whether it can be nothing else.

    `functions` are the first and last lines of the functions. `variable` is the name before the lambda's name: the
    variable that the lambda initialises, or a namespace.
    """
    code = DIRECTIVE.sub(lambda directive: blank(directive[0]), bare)
    ends = _ends(code)

    def line(offset: int) -> int:
        return code.count("\n", 0, offset) + 1

    def is_outside(offset: int) -> bool:
        return not any(first <= line(offset) <= last for first, last in functions)

    made = [m.start() for m in _TLS.finditer(code) if is_outside(m.start())]
    if variable is not None:
        named = re.compile(rf"\b{re.escape(variable)}\s*\)")
        of_variable = [at for at in made if named.search(code, at, ends.get(code.find("(", at), at) + 1)]
        if len(of_variable) == 1:
            return LambdaOffsets((line(of_variable[0]),), True)
    written = [m for m in _written(code, ends) if is_outside(m.start)]
    fitting = [m.start for m in written if m.parameters is None or parameters in (None, m.parameters)]
    fitting += made if parameters in (None, 0) else []
    others = [m for m in _used(code, ends) if is_outside(m.start) and not _TLS.match(code, m.start)]
    return LambdaOffsets(tuple(sorted(map(line, fitting))), not others)


def _flat(level: Sequence[Maker]) -> Iterator[Maker]:
    """Yields the certain makers of lambdas, on this level or inside a macro that may make none."""
    pending = list(reversed(level))
    while pending:
        maker = pending.pop()
        if maker.kind == "macro":
            pending += reversed(maker.inside)
        else:
            yield maker


def makers(text: str) -> list[Maker]:
    """Returns the outermost makers of lambdas in a function's text, each with the makers inside it."""
    code = DIRECTIVE.sub(lambda directive: blank(directive[0]), text)
    ends = _ends(code)
    roots: list[Maker] = []
    stack: list[Maker] = []
    for maker in sorted((*_written(code, ends), *_used(code, ends)), key=lambda maker: (maker.start, -maker.end)):
        while stack and stack[-1].end <= maker.start:
            stack.pop()
        (stack[-1].inside if stack else roots).append(maker)
        stack.append(maker)
    return roots


def _written(code: str, ends: Mapping[int, int]) -> Iterator[Maker]:
    for match in _LAMBDA.finditer(code):
        opening, parameters = match.end(), 0
        if code[match.end()] == "(":
            closing = ends.get(match.end(), len(code))
            listed = split(code[match.end() + 1 : closing])
            parameters = -1 if any("..." in text or text.isupper() for text in listed) else len(listed)
            opening = code.find("{", closing)
        if opening in ends:
            yield Maker("lambda", match.start(1), ends[opening] + 1, None if parameters < 0 else parameters)


def _used(code: str, ends: Mapping[int, int]) -> Iterator[Maker]:
    for match in _MACRO.finditer(code):
        if match.end() in ends:
            kind = "dispatch" if _DISPATCH.match(match[0]) else "macro"
            yield Maker(kind, match.start(), ends[match.end()] + 1, 0)


def _ends(code: str) -> dict[int, int]:
    """Returns where each bracket closes.

    Unlike `cpp.brackets.Brackets`, a wrong bracket is skipped: the text contains both arms of an `#if`, and both may
    close what was opened before.
    """
    stack: list[int] = []
    ends: dict[int, int] = {}
    for bracket in re.finditer(r"[\[\](){}]", code):
        if bracket[0] in "([{":
            stack.append(bracket.start())
        elif stack and code[stack[-1]] + bracket[0] in ("()", "[]", "{}"):
            ends[stack.pop()] = bracket.start()
    return ends
