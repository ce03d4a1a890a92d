"""The check in torch's source that raises a message, if the text of the source shows it.

It answers for messages without a cause of their own: the condition around `raise`, of `assert`, of `torch._check`, or
of a check in C++. The condition is what the source says, in its own names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from ptexplore.errors import NOT_PYTHON
from ptexplore.model.trace import RaisingCheck
from ptexplore.resolve.error_message import condition
from ptexplore.resolve.message_words import MessageWords, WordsPlace, constant_parts, is_special
from ptexplore.resolve.places.lookup import Lookup

_LONGEST = 160  # characters of a condition; a longer one explains nothing.
_PARTS = 0.8  # of a statement's constant texts must be in the message.
_SHARE = 0.3  # of the message must be constant texts of the statement.
_FEWEST = 3  # characters of a constant part that counts.
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_GUARDS = 2  # more conditions than that are no explanation.


def raising_check(lookup: Lookup, words: MessageWords, message: str, raised_in: str = "") -> RaisingCheck | None:
    """Returns the check that raises a message. None if no place has one, or if the places have several.

    None also if a library has the words too: its check is not known without the C++ source. `raised_in` is the
    innermost Python function of torch in the traceback: a statement of another Python function did not raise.
    """
    if not words.places or words.further or words.libraries:
        return None
    possible = [place for place in words.places if _may_raise(place, raised_in)]
    usual = [place for place in possible if not is_special(place.source.path or "")] or possible
    if not usual:
        return None
    checks = [_check_at(lookup, place, words.words, " ".join(message.split())) for place in usual]
    first = checks[0]
    if first is None or len(checks) == 1:
        return first
    alike = all(
        check is not None and (check.condition, check.holds) == (first.condition, first.holds) for check in checks
    )
    return RaisingCheck("", first.condition, first.holds) if alike else None


def _may_raise(place: WordsPlace, raised_in: str) -> bool:
    """Whether the statement at a place may have raised the error, by the innermost Python function."""
    if not raised_in or raised_in.startswith("_check") or not (place.source.path or "").endswith(".py"):
        return True
    return place.function.removesuffix("()").rpartition(".")[2] == raised_in.rpartition(".")[2]


def _check_at(lookup: Lookup, place: WordsPlace, words: str, message: str) -> RaisingCheck | None:
    lines = _lines(lookup, place.source.path)
    if lines is None or place.source.line is None:
        return None
    if not (place.source.path or "").endswith(".py"):
        text = condition(lines, place.source.line) if len(words) >= len(message) * _SHARE else ""
        return _made(place.function, text, holds=False)
    try:
        module = ast.parse("\n".join(lines))
    except NOT_PYTHON:
        return None
    guards = next(_guards_at(module.body, place.source.line, (), message), None)
    return _of_guards(place.function, guards) if guards else None


def _lines(lookup: Lookup, path: str | None) -> Sequence[str] | None:
    """Returns the lines of a file, of the torch or of the first checkout that has it, as its words were found."""
    trees = (lookup.tree, *(source.tree for source in lookup.sources))
    return next((tree.lines(path) for tree in trees if tree.exists(path)), None) if path is not None else None


_Guard = tuple[ast.expr, bool]  # a condition, and whether it holds where the error is raised.


def _of_guards(function: str, guards: Sequence[_Guard]) -> RaisingCheck | None:
    """Returns the check that consists of some conditions. A single one is written as it is in the source."""
    if len(guards) > _GUARDS:
        return None
    if len(guards) == 1:
        test, holds = guards[0]
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        return _made(function, ast.unparse(test), holds=holds)
    tests = [test if holds else _negated(test) for test, holds in guards]
    return _made(function, ast.unparse(ast.BoolOp(ast.And(), tests)), holds=True)


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _OPPOSITE:
        return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


def _made(function: str, text: str, *, holds: bool) -> RaisingCheck | None:
    return RaisingCheck(function, text, holds) if text and len(text) <= _LONGEST else None


def _guards_at(
    body: Sequence[ast.stmt], line: int, guards: Sequence[_Guard], message: str
) -> Iterator[Sequence[_Guard]]:
    """Yields the conditions of the statement that raises at a line: of the innermost `if`, and what left before."""
    for number, statement in enumerate(body):
        if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            continue
        before = _passed(body[:number])
        if isinstance(statement, ast.If):
            chain = [*guards] if _is_chained(guards, statement) else []
            yield from _guards_at(statement.body, line, [(statement.test, True)], message)
            otherwise: list[_Guard] = [*chain, (statement.test, False)]
            yield from _guards_at(statement.orelse, line, otherwise, message)
        elif isinstance(statement, ast.Assert):
            yield from [[(statement.test, False)]] if _is_text_of(statement, message) else []
        elif isinstance(statement, ast.With | ast.AsyncWith | ast.Try):
            if before is not None:
                yield from _guards_at(statement.body, line, [*guards, *before], message)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While):
            yield from _guards_at(statement.body, line, (), message)
        elif (test := _checked(statement)) is not None:
            yield from [[(test, False)]] if _is_text_of(statement, message) else []
        elif _raises(statement, body[number + 1 :]) and before is not None and _is_text_of(statement, message):
            yield [*guards, *before]


def _is_chained(guards: Sequence[_Guard], statement: ast.If) -> bool:
    """Whether an `if` is the only statement of an `else`: an `elif`. Then the conditions before it do not hold."""
    return bool(guards) and not guards[-1][1] and statement.lineno >= guards[-1][0].lineno


def _passed(statements: Iterable[ast.stmt]) -> list[_Guard] | None:
    """Returns the conditions that did not hold: an `if` before, in the same block, would have left it.

    None if an earlier statement may have left the block in another way.
    """
    passed: list[_Guard] = []
    for statement in statements:
        if isinstance(statement, ast.If):
            leaves = bool(statement.body) and isinstance(statement.body[-1], _ENDS)
            if leaves and not statement.orelse:
                passed.append((statement.test, False))
            elif any(isinstance(inner, ast.Return | ast.Continue | ast.Break) for inner in ast.walk(statement)):
                return None
        elif any(isinstance(inner, ast.Return | ast.Continue | ast.Break) for inner in ast.walk(statement)):
            return None
    return passed


def _checked(statement: ast.stmt) -> ast.expr | None:
    """Returns the condition of `torch._check(condition, …)`; None for another statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) < 2:
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return call.args[0] if name in ("_check", "_check_with", "_check_type", "_check_value", "check") else None


def _raises(statement: ast.stmt, rest: Sequence[ast.stmt]) -> bool:
    """Whether a statement raises, or assigns the message that the next statement raises."""
    if isinstance(statement, ast.Raise):
        return True
    if not isinstance(statement, ast.Assign) or not rest or not isinstance(rest[0], ast.Raise):
        return False
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(rest[0]))


def _is_text_of(statement: ast.stmt, message: str) -> bool:
    """Whether the constant texts of a statement make the message, so that no other statement is meant."""
    parts = [part for part in _constants(statement) if len(part) >= _FEWEST]
    inside = sum(len(part) for part in parts if part in message)
    return bool(parts) and inside >= _PARTS * sum(map(len, parts)) and inside >= _SHARE * len(message)


def _constants(statement: ast.stmt) -> Iterator[str]:
    """Yields the constant parts of a statement's texts, without the values between them."""
    nodes = [statement.msg] if isinstance(statement, ast.Assert) and statement.msg is not None else [statement]
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                yield from constant_parts(inner.value)
