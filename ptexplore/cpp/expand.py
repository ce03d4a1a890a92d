"""The macro expander: expands C++ text like the preprocessor, by [cpp.replace] of the standard and as GCC does.

Arguments are expanded first; `#` and `##` take them as written. The result is scanned again together with the text
behind it, and no name is expanded within its own expansion. GNU's `, ##__VA_ARGS__` drops its comma if no argument is
given. An invocation with too few or too many arguments, which a compiler rejects, stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Literal, NamedTuple

from ptexplore.cpp.brackets import without_bodies
from ptexplore.cpp.macros import Define
from ptexplore.cpp.text import LITERAL, RAW_LITERAL

_OTHER = (
    r"|[A-Za-z_]\w*|\s+|[(){}\[\],;]|\.?\d(?:[eEpP][+-]|'\w|[\w.])*|::|##|\.\.\.|->\*?|\.\*|<=>|(?:<<|>>)=?|\+\+|--|&&"
    r"|\|\||[-+*/%&|^!=<>]=|."
)
_TOKEN = re.compile(LITERAL + _OTHER, re.DOTALL)
_TOKEN_OR_RAW = re.compile(f"{RAW_LITERAL}|{LITERAL}{_OTHER}", re.DOTALL)
_MOST = 200_000  # greatest number of tokens from one invocation, all levels counted
_MOST_IN_FILE = 2_000_000  # greatest number of tokens from all invocations of one file
_SIGNS = frozenset("(){}[],;~? ")  # never part of a longer token
_BUILT_IN = frozenset(("__COUNTER__", "__LINE__"))
_NONE: frozenset[str] = frozenset()

Hidden = frozenset[str]
# a token, and the macros whose expansion it came from: it is not expanded as one of these again
Token = tuple[str, Hidden]
Lookup = Callable[[str, int], "Define | None"]  # returns the definition of a name at an offset of the file
Arguments = dict[str, "list[Token]"]  # by parameter


class TooLongError(Exception):
    """The expansion is too long to be useful."""


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Splits a text without comments into preprocessor tokens. A run of blanks is one blank."""
    matched = [match[0] for match in _TOKEN_OR_RAW.finditer(text)] if 'R"' in text else _TOKEN.findall(text)
    return tuple(" " if token.isspace() else token for token in matched)


def names_any(known: Iterable[Set[str]], words: Collection[str]) -> bool:
    """Whether one of `words` is in one of the sets."""
    return any(not names.isdisjoint(words) for names in known)


class Expander:
    """Expands the macros of one file. `__COUNTER__` continues from one invocation to the next.

    `lookup` returns the definition of a name. `known`, if given, contains every name that `lookup` knows, which saves
    calls. With `declarations`, bodies in braces are emptied before expansion, since only declarations are needed.
    """

    def __init__(self, lookup: Lookup, known: Sequence[Set[str]] | None = None, *, declarations: bool = False) -> None:
        self.lookup, self.known, self.declarations = lookup, known, declarations
        self.counter = 0
        self._line = self._at = self._made = self._made_in_file = 0
        self._needed: Callable[[Define], bool] | None = None

    def invocation(self, define: Define, arguments: str, line: int, at: int) -> str | None:
        """Applies `define` to the text between its brackets, at a line and offset of the file.

        Returns None if it does not take so many arguments. Raises TooLongError, and RecursionError if macros nest too
        deep.
        """
        self._begin(line, at, None)
        macro = _read(define, self.declarations)
        bound = macro.bind(self._tokens(arguments))
        if bound is None:
            return None
        return _joined(self._expand(self._substitute(macro.parts, bound, frozenset((define.name,)))))

    def text(self, code: str, line: int, at: int, needed: Callable[[Define], bool] | None = None) -> str:
        """Expands the macros in `code`, which is at a line and offset of the file. Only those that `needed` accepts.

        Raises the same errors as `invocation`.
        """
        self._begin(line, at, needed)
        return _joined(self._expand(self._tokens(code)))

    def _begin(self, line: int, at: int, needed: Callable[[Define], bool] | None) -> None:
        self._line, self._at, self._needed, self._made = line, at, needed, 0

    def _tokens(self, code: str) -> list[Token]:
        return [(token, _NONE) for token in tokens(without_bodies(code) if self.declarations else code)]

    def _expand(self, given: Sequence[Token]) -> list[Token]:
        """Replaces all macros in `given`, and scans the result again with the tokens behind it."""
        names = self._names_in(given)
        if not names:
            return list(given)
        pending = list(reversed(given))
        done: list[Token] = []
        while pending:
            taken = pending.pop()
            token, hidden = taken
            replaced = self._replace(token, hidden, pending) if token in names and token not in hidden else None
            if replaced is None:
                done.append(taken)
                continue
            self._made += len(replaced) + 1
            self._made_in_file += len(replaced) + 1
            if self._made > _MOST or self._made_in_file > _MOST_IN_FILE:
                raise TooLongError
            more = self._names_in(replaced)
            if more:
                names |= more
                pending.extend(reversed(replaced))
            else:
                done += replaced
        return done

    def _names_in(self, given: Iterable[Token]) -> set[str]:
        """Returns the tokens that may be names of macros."""
        words = {token for token, _ in given}
        if self.known is None:
            return {word for word in words if word[0].isalpha() or word[0] == "_"}
        macros = words & _BUILT_IN
        for names in self.known:
            macros |= words & names
        return macros

    def _replace(self, name: str, hidden: Hidden, pending: list[Token]) -> list[Token] | None:
        """Returns the replacement of the macro `name`, and takes its arguments off `pending`.

        None if it is not a macro here.
        """
        if name in _BUILT_IN:
            return [(self._built_in(name), hidden)]
        define = self.lookup(name, self._at)
        if define is None or (self._needed is not None and not self._needed(define)):
            return None
        macro = _read(define, self.declarations)
        if define.parameters is None:
            return self._substitute(macro.parts, {}, hidden | {name})
        brackets = _brackets(pending)
        if brackets is None:
            return None
        opening, closing = brackets
        bound = macro.bind(pending[closing + 1 : opening][::-1])
        if bound is None:
            return None
        hidden = (hidden & pending[closing][1]) | {name}
        del pending[closing:]
        return self._substitute(macro.parts, bound, hidden)

    def _built_in(self, name: str) -> str:
        if name == "__LINE__":
            return str(self._line)
        self.counter += 1
        return str(self.counter - 1)

    def _substitute(self, parts: Iterable[BodyPart], given: Arguments, hidden: Hidden) -> list[Token]:
        """Returns a macro's body with arguments in place of parameters."""
        expanded: Arguments = {}
        made = self._put_in(parts, given, expanded, hidden)
        return [token for token in made if token[0]] if ("", hidden) in made else made

    def _put_in(self, parts: Iterable[BodyPart], given: Arguments, expanded: Arguments, hidden: Hidden) -> list[Token]:
        """Does the work of `_substitute`.

        An empty operand of `##` is an empty token (the placemarker of the standard).
        """
        made: list[Token] = []
        for part in parts:
            piece: list[Token]
            if part.kind == "text":
                piece = [(token, hidden) for token in part.tokens]
            elif part.kind == "argument":
                if part.name not in expanded:
                    expanded[part.name] = self._expand(given.get(part.name, ()))
                piece = _hiding(expanded[part.name], hidden)
            elif part.kind == "written":
                piece = _hiding(given.get(part.name, ()), hidden) or [("", hidden)]
            elif part.kind == "string":
                piece = [(_string(given.get(part.name, ())), hidden)]
            elif part.kind == "rest":
                if part.name not in given:
                    made.pop()
                piece = _hiding(given.get(part.name, ()), hidden)
            else:
                piece = self._optional(part, given, expanded, hidden)
            if part.joins:
                _paste(made, piece, hidden)
            else:
                made += piece
        return made

    def _optional(self, part: BodyPart, given: Arguments, expanded: Arguments, hidden: Hidden) -> list[Token]:
        """Returns the expansion of `__VA_OPT__(…)`: nothing if the variadic arguments expand to nothing."""
        wanted = any(token != " " for token, _ in self._expand(given.get(part.name, ())))
        piece = self._put_in(part.parts, given, expanded, hidden) if wanted else []
        return [(_string(piece), hidden)] if part.kind == "optional-string" else piece or [("", hidden)]


class BodyPart(NamedTuple):
    """A part of a macro's body: plain tokens, or a parameter, or `__VA_OPT__`.

    An "argument" is inserted expanded, beside `##` it is inserted as "written", behind `#` as a "string". "rest" is the
    parameter behind GNU's `, ##`. `joins`: there is a `##` before the part.
    """

    kind: Literal["text", "argument", "written", "string", "rest", "optional", "optional-string"]
    name: str = ""
    tokens: tuple[str, ...] = ()
    parts: tuple[BodyPart, ...] = ()
    joins: bool = False


class Macro(NamedTuple):
    """A definition, parsed: its named parameters, the name of the variadic one, and the parts of its body."""

    named: tuple[str, ...]
    variadic: str | None
    parts: tuple[BodyPart, ...]

    def bind(self, given: Sequence[Token]) -> Arguments | None:
        """Returns the argument of each parameter, from the tokens between the brackets.

        None if there are too few or too many.

        If the variadic parameter gets nothing, it is left out. An empty argument behind a comma counts as something,
        unless the variadic parameter is the only one.
        """
        most = len(self.named) + (self.variadic is not None)
        arguments = _arguments(given, most if self.variadic is not None else 0)
        empty = arguments == [[]]
        if len(arguments) > most and not (empty and most == 0):
            return None
        if len(arguments) < len(self.named):
            return None
        bound = dict(zip(self.named, arguments, strict=False))
        if self.variadic is not None and len(arguments) == most and not (empty and most == 1):
            bound[self.variadic] = arguments[-1]
        return bound


@lru_cache(maxsize=1 << 14)
def _read(define: Define, declarations: bool) -> Macro:
    """Parses a definition."""
    named, variadic = define.parameters or (), None
    if named and named[-1].endswith("..."):
        variadic = named[-1][:-3].strip() or "__VA_ARGS__"
        named = named[:-1]
    body = tokens(without_bodies(define.body) if declarations else define.body)
    parameters = None if define.parameters is None else frozenset((*named, *([variadic] if variadic else ())))
    return Macro(named, variadic, _parts(body, parameters, variadic))


def _parts(body: Sequence[str], parameters: Set[str] | None, variadic: str | None) -> tuple[BodyPart, ...]:
    """Returns the parts of a body. `parameters` is None for an object-like macro, in which `#` has no meaning."""
    parts: list[BodyPart] = []
    joins = False
    at = 0
    while at < len(body):
        token = body[at]
        at += 1
        if token == "##" and parts:
            while parts[-1].tokens == (" ",):
                parts.pop()
            if parts[-1].kind == "argument":
                parts[-1] = parts[-1]._replace(kind="written")
            joins = True
            continue
        if token == " " and joins:
            continue
        behind = _next(body, at)
        part = BodyPart("text", tokens=(token,))
        if parameters is None:
            pass
        elif token == "#" and behind < len(body) and body[behind] in parameters:
            part, at = BodyPart("string", body[behind]), behind + 1
        elif token in parameters:
            part = BodyPart("written" if joins else "argument", token)
            if joins and token == variadic and parts[-1].tokens == (",",):
                part, joins = BodyPart("rest", token), False
        elif variadic is not None and (
            token == "__VA_OPT__" or (token == "#" and body[behind:][:1] == ("__VA_OPT__",))
        ):
            opening = _next(body, at if token == "__VA_OPT__" else behind + 1)
            closing = _closing(body, opening)
            if closing >= 0:
                inner = _parts(_inside(body, opening, closing), parameters, variadic)
                part = BodyPart("optional" if token == "__VA_OPT__" else "optional-string", variadic, parts=inner)
                at = closing + 1
        parts.append(part._replace(joins=joins))
        joins = False
    return tuple(_merged(parts))


def _merged(parts: Iterable[BodyPart]) -> Iterator[BodyPart]:
    """Joins neighbouring plain tokens to one part."""
    last: BodyPart | None = None
    for part in parts:
        if last is not None and last.kind == part.kind == "text" and not part.joins:
            last = last._replace(tokens=last.tokens + part.tokens)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _next(body: Sequence[str], at: int) -> int:
    """Returns the position of the next token that is not blank."""
    return at + 1 if body[at : at + 1] == (" ",) else at


def _closing(body: Sequence[str], opening: int) -> int:
    """Returns the position of the bracket that closes the one at `opening`. -1 if either is missing."""
    depth = 0
    for at in range(opening, len(body)):
        depth += (body[at] == "(") - (body[at] == ")")
        if depth == 0:
            return at if at > opening else -1
    return -1


def _inside(body: Sequence[str], opening: int, closing: int) -> Sequence[str]:
    """Returns the tokens between two brackets, without the blanks at both ends."""
    start = _next(body, opening + 1)
    return body[start : closing - (closing > start and body[closing - 1] == " ")]


def _brackets(pending: Sequence[Token]) -> tuple[int, int] | None:
    """Returns the positions of the brackets at the end of a reversed list. None if no bracket comes next."""
    opening = len(pending) - 1
    while opening >= 0 and pending[opening][0] == " ":
        opening -= 1
    if opening < 0 or pending[opening][0] != "(":
        return None
    depth = 0
    for at in range(opening, -1, -1):
        token = pending[at][0]
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return opening, at
    return None


def _arguments(given: Sequence[Token], most: int) -> list[list[Token]]:
    """Splits tokens at commas outside round brackets. The last of `most` arguments gets the rest."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for token in given:
        text = token[0]
        if text == "," and depth == 0 and len(arguments) != most:
            arguments.append([])
            continue
        depth += (text == "(") - (text == ")")
        arguments[-1].append(token)
    return [_trimmed(argument) for argument in arguments]


def _trimmed(given: list[Token]) -> list[Token]:
    """Removes the blanks at both ends."""
    start, end = 0, len(given)
    while start < end and given[start][0] == " ":
        start += 1
    while end > start and given[end - 1][0] == " ":
        end -= 1
    return given[start:end]


def _hiding(piece: Sequence[Token], hidden: Hidden) -> list[Token]:
    """Returns the tokens of an argument, marked as part of the expansion of the macro that took it."""
    return [(token, hidden if before <= hidden else before | hidden) for token, before in piece]


def _paste(made: list[Token], piece: list[Token], hidden: Hidden) -> None:
    """Appends `piece` to `made` and joins its first token to the last one. If the two make no token, they stay two."""
    left = made[-1][0] if made else ""
    right = piece[0][0] if piece else ""
    if left and right and _is_token(left + right):
        made[-1:] = [(left + right, hidden), *piece[1:]]
    elif left:
        made += piece if right else piece[1:]
    else:
        made[-1:] = piece


def _is_token(text: str) -> bool:
    return text.isidentifier() or _TOKEN.fullmatch(text) is not None


def _string(argument: Iterable[Token]) -> str:
    """Returns a string literal with the spelling of the argument."""
    spelled = (
        token.replace("\\", "\\\\").replace('"', '\\"') if token[-1:] in ("'", '"') else token for token, _ in argument
    )
    return f'"{"".join(spelled)}"'


def _joined(expanded: Iterable[Token]) -> str:
    """Returns the text of tokens, with a space between two that would be read as one."""
    texts: list[str] = []
    last = ""
    for token, _ in expanded:
        if token in _SIGNS:
            last = ""
        else:
            if last and _fuse(last, token):
                texts.append(" ")
            last = token
        texts.append(token)
    return "".join(texts)


@lru_cache(maxsize=1 << 14)
def _fuse(left: str, right: str) -> bool:
    """Whether two tokens side by side are read as another one. `>>` may close two template argument lists."""
    match = _TOKEN.match(left + right)
    longer = match is None or match.end() != len(left)
    return (longer and left + right != ">>") or (left == "/" and right[0] in "/*")
