"""A piece of C++ to read the dialect from: a file, or the expansion of one macro invocation with the lines of the file.

Also the readers that all families use: for string literals, and for the name of the function that is registered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ptexplore.cpp.brackets import closing_of, split
from ptexplore.cpp.expand import Expander, TooLongError
from ptexplore.cpp.macros import Define, FileMacros
from ptexplore.cpp.text import RAW_LITERAL, Text
from ptexplore.model.symbols import Dialect, DialectKind

LONGEST = 300  # greatest length of Dialect.text
LONGEST_ARGUMENT = 20_000  # greatest length of an argument that is read
_LONGEST_DIRECTIVE = 20_000
_STRING = re.compile(rf'{RAW_LITERAL}|"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
_PLAIN_STRING = re.compile(r"(?:\(\s*char\s*\*\s*\)\s*)?(?:u8|[uUL])?R?\"")
_DIRECTIVE_START = re.compile(r"[ \t]*#")


@dataclass(frozen=True)
class Piece:
    """`text` is the text of the file or of an expansion.

    For an expansion, `at` is the first and last line of the invocation.

    `macro` is the name of the invoked macro, as the file writes it. `expander` knows the definitions of macros. In an
    expansion, it uses the definitions in force at the `offset` of the invocation, and only if `needed` accepts them.
    `macros` are the macros of the file; an expansion has none.
    """

    text: Text
    expander: Expander
    at: tuple[int, int] | None = None
    macro: str | None = None
    guards: tuple[str, ...] = ()
    offset: int | None = None
    needed: Callable[[Define], bool] | None = None
    macros: FileMacros | None = None

    def arguments(self, start: int, stop: int, limit: int = 0) -> list[str]:
        """Returns the arguments between two offsets as written, each cut at LONGEST_ARGUMENT characters."""
        return [self.written(*span) for span in self.text.brackets.arguments(start, stop, limit)]

    def written(self, start: int, stop: int) -> str:
        """Returns the text between two offsets, comments blanked, cut at LONGEST_ARGUMENT characters."""
        return self.text.code[start : min(stop, start + LONGEST_ARGUMENT)]

    def lines(self, start: int, stop: int) -> tuple[int, int]:
        """Returns first and last line, in the file, of the text between two offsets."""
        return self.at or (self.text.line(start), self.text.line(stop))

    def row(self, kind: DialectKind, span: tuple[int, int], name: str, written: str, **more: object) -> Dialect:
        """Makes a row of this piece. `written` becomes its text."""
        line, end = self.lines(*span)
        guards = self.guards if self.at else self.text.guards(line)
        return Dialect(self.text.path, line, end, kind, name, text=one_line(written), guards=guards, **more)  # type: ignore[arg-type]

    def expanded(
        self, start: int, stop: int, macro: str, needed: Callable[[Define], bool] | None = None
    ) -> Piece | None:
        """Expands the invocation between two offsets. Returns None if nothing changes, or the expansion takes too long.

        With `needed`, only macros that it accepts are expanded.
        """
        source = self.text.code[start:stop]
        needed = needed or self.needed
        code = self.expand(source, start, needed)
        if code is None or code == source:
            return None
        at = self.lines(start, stop - 1)
        guards = self.guards if self.at else self.text.guards(at[0])
        offset = start if self.offset is None else self.offset
        text = Text(self.text.path, code)
        return Piece(text, self.expander, at, self.macro or macro, guards, offset, needed)

    def is_macro(self, name: str, offset: int) -> bool:
        """Whether a name at an offset is a macro to expand."""
        define = self.expander.lookup(name, offset if self.offset is None else self.offset)
        return define is not None and (self.needed is None or self.needed(define))

    def expand(self, code: str, offset: int, needed: Callable[[Define], bool] | None = None) -> str | None:
        """Expands the macros in code at an offset. Returns None if that would take too long."""
        line = self.lines(offset, offset)[0]
        try:
            return self.expander.text(code, line, offset if self.offset is None else self.offset, needed or self.needed)
        except (TooLongError, RecursionError):
            return None

    def kernel(self, expression: str, offset: int) -> str | None:
        """Returns the name of the function that an expression at an offset registers, as `kernel_name` does."""
        return kernel_name(expression, lambda code: self.expand(code, offset))

    def directive(self, offset: int) -> bool:
        """Whether the offset is inside a preprocessor directive, for example the body of a `#define`."""
        bare, floor = self.text.bare, max(0, offset - _LONGEST_DIRECTIVE)
        start = bare.rfind("\n", floor, offset) + 1
        while start > 1 and bare[start - 2] == "\\":
            start = bare.rfind("\n", floor, start - 1) + 1
        return (start > 0 or floor == 0) and _DIRECTIVE_START.match(bare, start, offset) is not None

    def calls(
        self, pattern: re.Pattern[str], start: int = 0, stop: int | None = None, word: str = ""
    ) -> Iterator[tuple[re.Match[str], int]]:
        """Yields matches of a pattern that ends with an opening parenthesis, and the offset of the closing one.

        Matches in directives are skipped. With `word`, the whole text is searched: the pattern then begins with an
        identifier that contains `word`.
        """
        bare = self.text.bare
        stop = len(bare) if stop is None else stop
        for match in _matches(pattern, word, bare) if word else pattern.finditer(bare, start, stop):
            if not self.directive(match.start()):
                closing = self.text.brackets.closing(match.end() - 1)
                if closing >= 0:
                    yield match, closing


def _matches(pattern: re.Pattern[str], word: str, text: str) -> Iterator[re.Match[str]]:
    """Yields the same matches as `finditer`.

    A search for a word is fast; a pattern that begins with no literal is slow.
    """
    at = text.find(word)
    while at >= 0:
        begin = at
        while begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
            begin -= 1
        match = pattern.match(text, begin)
        if match:
            yield match
        at = text.find(word, match.end() if match else at + len(word))


def one_line(text: str) -> str:
    """Replaces white space by single spaces. The result has at most LONGEST characters."""
    joined = " ".join(text[: 8 * LONGEST].split())
    return joined if len(joined) <= LONGEST else joined[: LONGEST - 1] + "…"


def plain_literal(code: str) -> str | None:
    """Returns the string that an expression consists of, or None. A cast to `char*` before it is allowed."""
    return literal(code) if _PLAIN_STRING.match(code) else None


def literal(code: str) -> str | None:
    """Joins all string literals of an expression, as the compiler joins neighbours. None if there is none."""
    strings = [match[2] if match[2] is not None else match[3] for match in _STRING.finditer(code)]
    return "".join(strings) if strings else None


_QUALIFIED = re.compile(r"(?:::)? *(~?[A-Za-z_]\w*(?: *:: *~?[A-Za-z_]\w*)*)")
_TEMPLATE_WORD = re.compile(r"\btemplate ")
_CAST = re.compile(r"(?:std::)?(?:static_cast|reinterpret_cast|const_cast|c10::guts::\w+_cast)\s*(?=<)")
_WRAPPER = re.compile(
    r"(?:(?:::)?(?:\w+::)*)(TORCH_FN|TORCH_BOXED_FN|TORCH_FN_TYPE|dispatch|makeUnboxedOnly|makeFromUnboxedFunction"
    r"|makeFromUnboxedLambda|makeUnboxedRuntimeFunction|castPyCFunctionWithKeywords|castPyCFunctionFast|CppFunction"
    r"|move|overload_cast|wrap_pybind_function|wrap_pybind_function_no_gil)\s*(?:<[^()]*>\s*)?(?=\()"
)
_BOXED = re.compile(r"(?:(?:::)?(?:\w+::)*)(?:makeFromBoxedFunction|makeFromBoxedFunctor)\s*(?=<)")
# The form of most registrations: there is nothing to remove or to expand.
_TORCH_FN = re.compile(
    r"TORCH_FN\((?!nullptr\b|.*\b(?:template|CPU_CAPABILITY)\b)((?:[A-Za-z_]\w*::)*[a-z_]\w*)\)", re.ASCII
)
_MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}\s*\(|[A-Z][A-Z0-9_]{2,}$")
_LONGEST = 2000  # characters; a longer expression is a lambda with its body
_NOTHING = ("", "nullptr", "NULL", "0")


def kernel_name(expression: str, expand: Callable[[str], str | None] | None = None) -> str | None:
    """Returns the name of a function as written, without template arguments.

    None for lambdas, null pointers, factories.

    `expand` expands the macros of a code, and returns None if it cannot.
    """
    wrapped = _TORCH_FN.fullmatch(expression)
    if wrapped is not None:
        return wrapped[1]
    inside = " ".join(expression[:_LONGEST].split())
    for _ in range(12):  # each step removes one layer
        inside = inside.strip().lstrip("&").strip()
        if inside in _NOTHING or inside.startswith("["):
            return None
        inner = _inner(inside)
        if inner is None:
            break
        inside = inner
    name = _plain(inside)
    if (name is None or _MACRO.fullmatch(name)) and expand is not None and _MACRO.match(inside):
        code = expand(inside)
        return name if code == inside else kernel_name(code) if code is not None else None
    return name


def _inner(expression: str) -> str | None:
    """Removes the outermost layer of an expression. Returns None if there is none."""
    if expression.startswith("("):
        closing = closing_of(expression, 0)
        if closing < 0:
            return None
        return (
            expression[1:closing] if closing == len(expression) - 1 else expression[closing + 1 :]
        )  # parentheses, or a C cast
    cast = _CAST.match(expression)
    if cast is not None:
        angle = closing_of(expression, cast.end())
        opening = expression.find("(", angle) if angle >= 0 else -1
        return expression[opening + 1 : closing_of(expression, opening)] if opening >= 0 else None
    wrapper = _WRAPPER.match(expression)
    if wrapper is not None:
        closing = closing_of(expression, wrapper.end())
        if closing < 0:
            return None
        arguments = split(expression[wrapper.end() + 1 : closing])
        return arguments[1] if wrapper[1] == "dispatch" and len(arguments) > 1 else arguments[0]
    boxed = _BOXED.match(expression)
    if boxed is not None:
        closing = closing_of(expression, boxed.end())
        return split(expression[boxed.end() + 1 : closing])[0] if closing >= 0 else None
    return None


def _plain(expression: str) -> str | None:
    """`a::b<c>::d` -> "a::b::d". Returns None if anything else remains."""
    while (opening := expression.find("<")) >= 0:
        closing = closing_of(expression, opening)
        if closing < 0:
            return None
        expression = expression[:opening] + expression[closing + 1 :]
    name = _QUALIFIED.fullmatch(_TEMPLATE_WORD.sub("", expression).strip())
    parts = [part.replace(" ", "") for part in name[1].split("::")] if name is not None else []
    return "::".join(part for part in parts if part != "CPU_CAPABILITY") or None
