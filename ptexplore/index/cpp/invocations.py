"""Macro invocations among declarations: expanded, replaced in the parser's text by what stands for them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.cpp.brackets import CodeRanges
from ptexplore.cpp.expand import Expander, TooLongError, names_any, tokens
from ptexplore.cpp.macros import Define
from ptexplore.index.cpp.prepare import MacroUse, Prepared, blank

_ACCESS = re.compile(r"^\s*(?:(?:public|private|protected)\s*:\s*)+")
_LISTED = r"[\w\s:,*&.()\[\]=!|+-]*"
_TEMPLATE = re.compile(
    rf"^\s*(?:template\s*<{_LISTED}(?:<{_LISTED}(?:<{_LISTED}(?:<{_LISTED}>{_LISTED})*>{_LISTED})*>{_LISTED})*>\s*)+"
)
_FUNCTION_GOES_ON = re.compile(r"\s*(?:[({:]|->|const\b|noexcept\b|override\b|final\b|try\b)")
_TYPE_GOES_ON = re.compile(r"\s*(?:[A-Za-z_*&<~]|::)")
_GOES_ON_WITHOUT = re.compile(rb"\s\s*[A-Za-z_}]")
_MOST_ALTERNATIVES = 4
_A_LINE, _A_COUNTER = 7_000_000_000, 9_000_000_000  # numbers that stand in no text


@dataclass(frozen=True, slots=True)
class Made:
    """One invocation that makes declarations. `texts` are what it may expand to (one for each definition of the macro).

    `head` is the offset of a name that stands in its place, which is no name of the source. Where it is a function's
    head, the function at that offset in the parsed text is the last one of the expansion. `begin` is where the
    statement begins.
    """

    use: MacroUse
    texts: tuple[str, ...]
    begin: int
    head: int | None = None


class Invocations:
    """Finds and replaces the invocations of one view of a prepared text."""

    def __init__(self, prepared: Prepared, view: bytearray, expander: Expander) -> None:
        self.prepared, self.view, self.expander = prepared, view, expander
        self.made: list[Made] = []
        # Where the file defines or takes back a macro: an expansion on one side of it says nothing of the other.
        directives = prepared.text.directives
        self._redefined = [directive.start for directive in directives if directive.word in ("define", "undef")]
        # By macro, arguments and the definitions in force: the expansion, and how often it counts.
        self._known: dict[tuple[Define, str, int], tuple[str | None, int]] = {}
        self.code = CodeRanges(view.decode("ascii"))

    def replace(self) -> list[Made]:
        """Every invocation outside of code; the view is changed in place."""
        uses = [use for use in self.prepared.uses if use.name not in self.prepared.attributes]
        code = self.code
        for use in uses:
            if self.view[use.start : use.start + 1].isspace():
                continue
            if not code.holds(use.start):
                self._outside_code(use)
            elif code.enumerates(use.start):
                self._in_enum(use)
            else:
                self._in_code(use)
        return self.made

    def _before(self, start: int) -> str:
        """The sign before an offset, blanks apart (a directive is nothing else by now); a blank where none is."""
        near = 300
        while True:
            sign = self.view[max(0, start - near) : start].rstrip()[-1:]
            if sign or near >= start:
                return sign.decode("ascii") or " "
            near *= 8

    def _in_enum(self, use: MacroUse) -> None:
        """A list macro between enumerators."""
        definitions = self.prepared.macros.definitions(use.name, use.start)
        if use.arguments is None or self._before(use.start) not in ",{":
            return
        texts = self._expansions(use, definitions)
        if texts and texts[0].endswith(","):
            blank(self.view, use.start, use.arguments[1] + 1)
            self.made.append(Made(use, texts[:1], use.start))

    def _in_code(self, use: MacroUse) -> None:
        """A macro that stands for statements: end it with a semicolon where the text does not, or blank it."""
        view = self.view
        definitions = self.prepared.macros.definitions(use.name, use.start)
        if any(define.parameters is not None for define in definitions):
            if use.arguments is None or self._before(use.start) not in ";{}":
                return
            end = use.arguments[1] + 1
            if _GOES_ON_WITHOUT.match(view, end):
                view[end : end + 1] = b";"
        elif any(";" in define.body or "{" in define.body or "}" in define.body for define in definitions):
            blank(view, use.start, use.end)

    def _outside_code(self, use: MacroUse) -> None:
        definitions = self.prepared.macros.definitions(use.name, use.start)
        function_like = any(define.parameters is not None for define in definitions)
        if not definitions or (function_like and use.arguments is None):
            return
        if not function_like and not any(
            ";" in define.body or "{" in define.body or "}" in define.body for define in definitions
        ):
            return
        end = use.end if use.arguments is None or not function_like else use.arguments[1] + 1
        before = self._prefix(use.start)
        if before is None:
            return
        begin, prefix = before
        texts = self._expansions(use, definitions)
        if texts is None:
            return
        if not texts:
            blank(self.view, use.start, end)
            return
        self._replace(use, end, begin, prefix, texts)

    def _prefix(self, start: int) -> tuple[int, str] | None:
        """Where the statement around `start` begins and what of it stands before; None inside an initialiser."""
        view = self.view
        least = view.rfind(b";", 0, start) + 1
        least = max(least, view.rfind(b"}", least, start) + 1)
        at = max(least, view.rfind(b"{", least, start) + 1)
        prefix = view[at:start].decode("ascii")
        access = _ACCESS.match(prefix)
        if access:
            at, prefix = at + access.end(), prefix[access.end() :]
        if not prefix.strip():
            return start, ""
        shorter = _TEMPLATE.sub("", prefix)
        if re.search(r'[=(\[",:]\s*|\b(?:class|struct|union|enum|using|typedef|return)\b', shorter.replace("::", "")):
            return None
        return at + len(prefix) - len(prefix.lstrip()), prefix.strip()

    def _expansions(self, use: MacroUse, definitions: Sequence[Define]) -> tuple[str, ...] | None:
        """What a use may stand for; None where no definition takes its arguments: then it is no use of the macro."""
        arguments = "" if use.arguments is None else self.prepared.text.code_between(*use.arguments)
        texts: list[str] = []
        fits = False
        line = self.prepared.text.line(use.start)
        counter = self.expander.counter
        for define in definitions[:_MOST_ALTERNATIVES]:
            if texts and "{" not in define.body and not names_any(self.prepared.macros.known, tokens(define.body)):
                continue
            self.expander.counter = counter
            try:
                made = self._expanded(define, arguments, line, use.start)
            except (TooLongError, RecursionError):
                fits = True
                continue
            if made is None:
                continue
            fits = True
            made = made.strip()
            # A further definition (of another platform, say) counts where it may give other functions.
            if made and made not in texts and (not texts or "{" in made or not made.endswith(";")):
                texts.append(made)
        return tuple(texts) if fits else None

    def _expanded(self, define: Define, arguments: str, line: int, at: int) -> str | None:
        """One expansion, with the invocation's own `__LINE__` and `__COUNTER__`; None where the arguments do not fit.

        Generated files invoke one macro a thousand times alike: it is expanded once.
        """
        expander = self.expander
        key = (define, arguments, bisect_right(self._redefined, at))
        counter = expander.counter
        if key not in self._known:
            expander.counter = _A_COUNTER
            text = expander.invocation(define, arguments, _A_LINE, at)
            self._known[key] = (text, expander.counter - _A_COUNTER)
        text, counted = self._known[key]
        expander.counter = counter + counted
        if text is None:
            return None
        for number in range(counted):
            text = text.replace(str(_A_COUNTER + number), str(counter + number))
        return text.replace(str(_A_LINE), str(line))

    def _replace(self, use: MacroUse, end: int, begin: int, prefix: str, texts: tuple[str, ...]) -> None:
        view = self.view
        after = view[end : end + 200].decode("ascii")
        texts = tuple(sorted(texts, key=lambda text: not text.endswith((";", "}"))))
        is_complete = texts[0].endswith((";", "}"))
        head = None
        if not is_complete and _FUNCTION_GOES_ON.match(after):
            tail, defines = self._tail(end)
            bracketed = after.lstrip().startswith("(")
            name = ("" if prefix and not prefix.endswith(">") else "void ") + ("z" if bracketed else "z()")
            if len(name) > end - use.start:
                name = name[-1:] if bracketed else "z()"
            head = use.start + name.index("z")
            blank(view, use.start, end)
            view[use.start : use.start + len(name)] = name.encode()
            texts = tuple(f"{text} {tail} {'{}' if defines else ';'}" for text in texts)
        elif not is_complete and _TYPE_GOES_ON.match(after):
            view[use.start : end] = b"Z" * (end - use.start)
            return
        else:
            assigned = after.lstrip().startswith("=")
            blank(view, begin, end)
            view[end - 1 : end] = b";"  # so that the next statement begins here
            if assigned:
                view[end - 5 : end] = b"int z"
                head = end - 1
            texts = tuple(text + ";" for text in texts)
        self.made.append(Made(use, tuple(f"{prefix} {text}" for text in texts), begin, head))

    def _tail(self, end: int) -> tuple[str, bool]:
        """What follows a head up to its body or semicolon, and whether a body follows."""
        text = self.view
        at = end
        while at < len(text) and text[at : at + 1].isspace():
            at += 1
        if text[at : at + 1] == b"(":
            at = max(self.prepared.text.brackets.closing(at), at) + 1
        brace, semicolon = text.find(b"{", at), text.find(b";", at)
        brace, semicolon = (brace if brace >= 0 else len(text)), (semicolon if semicolon >= 0 else len(text))
        stop = min(brace, semicolon)
        tail = self.prepared.text.code_between(end, stop)
        return " ".join(tail.split()), brace < semicolon
