"""Finds macro invocations among declarations, expands them, and replaces them by placeholders for the parser."""

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
_A_LINE, _A_COUNTER = 7_000_000_000, 9_000_000_000  # numbers that appear in no text


@dataclass(frozen=True, slots=True)
class Made:
    """One invocation that makes declarations.

    `texts` are its possible expansions, one for each definition of the macro.

    `head` is the offset of the placeholder: a name that replaces the invocation and is not in the source. If the
    invocation is the head of a function, the parsed function at that offset is the last function of the expansion.
    `begin` is the offset where the statement begins.
    """

    use: MacroUse
    texts: tuple[str, ...]
    begin: int
    head: int | None = None


class Invocations:
    """Finds and replaces the invocations in one view of a prepared text."""

    def __init__(self, prepared: Prepared, view: bytearray, expander: Expander) -> None:
        self.prepared, self.view, self.expander = prepared, view, expander
        self.made: list[Made] = []
        # Offsets where the file defines or undefines a macro. An expansion on one side of such an offset is not reused
        # on the other.
        directives = prepared.text.directives
        self._redefined = [directive.start for directive in directives if directive.word in ("define", "undef")]
        # A cache: macro, arguments and number of redefinitions before -> the expansion, and how often it uses
        # `__COUNTER__`.
        self._known: dict[tuple[Define, str, int], tuple[str | None, int]] = {}
        self.code = CodeRanges(view.decode("ascii"))

    def replace(self) -> list[Made]:
        """Replaces every invocation in the view. Returns the invocations that make declarations."""
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
        """Returns the last character before an offset that is not blank. Directives are blank by now.

        " " if there is none.
        """
        near = 300
        while True:
            sign = self.view[max(0, start - near) : start].rstrip()[-1:]
            if sign or near >= start:
                return sign.decode("ascii") or " "
            near *= 8

    def _in_enum(self, use: MacroUse) -> None:
        """Replaces a list macro between enumerators."""
        definitions = self.prepared.macros.definitions(use.name, use.start)
        if use.arguments is None or self._before(use.start) not in ",{":
            return
        texts = self._expansions(use, definitions)
        if texts and texts[0].endswith(","):
            blank(self.view, use.start, use.arguments[1] + 1)
            self.made.append(Made(use, texts[:1], use.start))

    def _in_code(self, use: MacroUse) -> None:
        """Handles a macro that expands to statements: adds a missing semicolon behind it, or blanks the macro."""
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
        """Returns the beginning of the statement around `start`, and its text before `start`.

        None inside an initialiser.
        """
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
        """Returns the possible expansions of a use. None if no definition takes its arguments: then it is not a use."""
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
            # A second definition, for example for another platform, counts if it may make other functions.
            if made and made not in texts and (not texts or "{" in made or not made.endswith(";")):
                texts.append(made)
        return tuple(texts) if fits else None

    def _expanded(self, define: Define, arguments: str, line: int, at: int) -> str | None:
        """Returns one expansion, with `__LINE__` and `__COUNTER__` of the invocation. None if the arguments do not fit.

        Generated files contain thousands of equal invocations of one macro: the macro is expanded once.
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
            view[end - 1 : end] = b";"  # ends the statement, so that the next one begins here
            if assigned:
                view[end - 5 : end] = b"int z"
                head = end - 1
            texts = tuple(text + ";" for text in texts)
        self.made.append(Made(use, tuple(f"{prefix} {text}" for text in texts), begin, head))

    def _tail(self, end: int) -> tuple[str, bool]:
        """Returns the text behind a function head, up to its body or semicolon, and whether a body follows."""
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
