"""Expanding one macro invocation the way the preprocessor does: arguments, #, ##, nested macros, none twice.

Only declarations are wanted: bodies are emptied before they are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from functools import lru_cache

from ptexplore.index.cpp.macros import Define
from ptexplore.index.cpp.scopes import without_bodies

_TOKEN = re.compile(
    r'[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|##|\.\.\.|::|->|&&|\|\||\s+|.',
    re.DOTALL,
)
_LIMIT = 200_000  # tokens: twice what PyTorch's longest list takes, the names that torchgen interns
_NONE: frozenset[str] = frozenset()
_COUNTING = frozenset(("__COUNTER__", "__LINE__"))

Token = tuple[str, frozenset[str]]  # a token and the macros whose expansion it came from: those are not expanded again
Lookup = Callable[[str, int], "Define | None"]  # a name, and the offset of the invocation


class TooLongError(Exception):
    """The expansion grows beyond what is worth reading."""


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """The preprocessor's tokens of a text; a run of blanks is one blank."""
    return tuple(" " if token.isspace() else token for token in _TOKEN.findall(text))


def names_any(known: Iterable[Set[str]], words: Collection[str]) -> bool:
    """Whether one of `words` stands in one of the sets."""
    return any(not names.isdisjoint(words) for names in known)


class Expander:
    """Expands with the macros that `lookup` gives for the names in `known`; `__COUNTER__` counts on over one file."""

    def __init__(self, lookup: Lookup, known: Sequence[Set[str]]) -> None:
        self.lookup, self.known = lookup, known
        self._any = (*known, _COUNTING)
        self.counter = 0
        self.line = self.at = 0
        self._made = 0

    def invocation(self, define: Define, arguments: str, line: int, at: int) -> str:
        """`define` applied to the text between its brackets, at a line and offset; raises TooLongError."""
        self.line, self.at, self._made = line, at, 0
        given = self._arguments([(token, _NONE) for token in tokens(without_bodies(arguments))])
        replaced = self._substitute(define, given, frozenset((define.name,)))
        return "".join(token for token, _ in self._expand(replaced))

    def _expand(self, given: Sequence[Token]) -> list[Token]:
        """All macros in `given` replaced, and what they give scanned again with what follows."""
        if not names_any(self._any, {token for token, _ in given}):
            return list(given)
        todo = list(reversed(given))
        done: list[Token] = []
        while todo:
            token, hidden = todo.pop()
            first = token[0]
            if not (first.isalpha() or first == "_"):
                done.append((token, hidden))
                continue
            replaced = None if token in hidden else self._replace(token, hidden, todo)
            if replaced is None:
                done.append((token, hidden))
                continue
            self._made += len(replaced)
            if self._made > _LIMIT:
                raise TooLongError
            todo.extend(reversed(replaced))
        return done

    def _replace(self, name: str, hidden: frozenset[str], todo: list[Token]) -> list[Token] | None:
        """What stands for the macro `name`, its arguments taken off `todo`; None where it is no macro here."""
        if name == "__COUNTER__":
            self.counter += 1
            return [(str(self.counter - 1), hidden)]
        if name == "__LINE__":
            return [(str(self.line), hidden)]
        define = self.lookup(name, self.at) if any(name in names for names in self.known) else None
        if define is None:
            return None
        if define.parameters is None:
            return self._substitute(define, [], hidden | {name})
        taken = _bracketed(todo)
        if taken is None:
            return None
        return self._substitute(define, self._arguments(taken), hidden | {name})

    @staticmethod
    def _arguments(given: Sequence[Token]) -> list[list[Token]]:
        """Split at the commas outside round brackets, blanks at the ends taken off."""
        found: list[list[Token]] = [[]]
        depth = 0
        for token in given:
            depth += (token[0] == "(") - (token[0] == ")")
            if token[0] == "," and depth == 0:
                found.append([])
            else:
                found[-1].append(token)
        return [_stripped(one) for one in found]

    def _substitute(self, define: Define, given: list[list[Token]], hidden: frozenset[str]) -> list[Token]:
        bound = _bind(define, given)
        body = tokens(without_bodies(define.body))
        made: list[Token] = []
        paste = False
        expanded: dict[str, list[Token]] = {}
        for at, token in enumerate(body):
            raw = bound.get(token)
            if raw is None and not paste and token != "##" and token != " " and token != "#":
                made.append((token, hidden))
                continue
            if token == "##":
                while made and made[-1][0] == " ":
                    made.pop()
                paste = True
                continue
            if token == " " and (paste or (made and made[-1] == ("#", _NONE) and define.parameters)):
                continue
            if raw is None:
                piece = [(token, hidden if token != "#" or not define.parameters else _NONE)]
            elif made and made[-1] == ("#", _NONE):
                made.pop()
                piece = [
                    ('"' + "".join(text for text, _ in raw).replace("\\", "\\\\").replace('"', '\\"') + '"', _NONE)
                ]
            elif paste or _pastes_next(body, at):
                piece = raw
            else:
                if token not in expanded:
                    expanded[token] = self._expand(raw)
                piece = expanded[token]
            if paste and not piece and made and made[-1][0] == ",":  # ", ##__VA_ARGS__" without arguments
                made.pop()
            if paste and made and piece and made[-1][0] != ",":
                made[-1] = (made[-1][0] + piece[0][0], hidden)
                piece = piece[1:]
            paste = False
            made.extend(piece)
        return made


def _pastes_next(body: Sequence[str], at: int) -> bool:
    for token in body[at + 1 : at + 3]:
        if token != " ":
            return token == "##"
    return False


def _bind(define: Define, given: list[list[Token]]) -> dict[str, list[Token]]:
    """Each parameter's argument; what is over goes to __VA_ARGS__ (or the named variadic), with its commas."""
    bound: dict[str, list[Token]] = {}
    for at, parameter in enumerate(define.parameters or ()):
        if parameter.endswith("..."):
            bound[parameter[:-3].strip() or "__VA_ARGS__"] = _joined(given[at:])
            break
        bound[parameter] = given[at] if at < len(given) else []
    return bound


def _joined(parts: Iterable[list[Token]]) -> list[Token]:
    found: list[Token] = []
    for part in parts:
        found += [(",", _NONE), (" ", _NONE)] if found else []
        found += part
    return found


def _bracketed(todo: list[Token]) -> list[Token] | None:
    """Take a bracketed argument list off the end of a reversed token list; None (nothing taken) where none follows."""
    at = len(todo) - 1
    while at >= 0 and todo[at][0] == " ":
        at -= 1
    if at < 0 or todo[at][0] != "(":
        return None
    depth, end = 0, at
    while end >= 0:
        depth += (todo[end][0] == "(") - (todo[end][0] == ")")
        if depth == 0:
            break
        end -= 1
    else:
        return None
    inside = todo[end + 1 : at]
    del todo[end:]
    return inside[::-1]


def _stripped(given: list[Token]) -> list[Token]:
    start, end = 0, len(given)
    while start < end and given[start][0] == " ":
        start += 1
    while end > start and given[end - 1][0] == " ":
        end -= 1
    return given[start:end]
