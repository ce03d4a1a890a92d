"""One file's references: what libclang resolved, and of what was matched by name only what libclang could not judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ptexplore.cpp.text import Text
from ptexplore.index.semantic.references import FileUses, ResolvedUse
from ptexplore.model.symbols import Ref

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*", re.MULTILINE)
_OPERATOR = re.compile(r"operator\s*(?=\W)")
_JUDGED = frozenset(
    ("call", "address", "inherit", "override", "type")
)  # kinds that libclang resolves wherever it looks


@dataclass(slots=True)
class Resolved:
    """What all units together say of one file. `skipped` are the lines that no unit read, None before the first."""

    uses: set[ResolvedUse] = field(default_factory=set)
    open_lines: set[int] = field(default_factory=set)
    skipped: set[int] | None = None
    erring: bool = False

    def add(self, found: FileUses, skipped: Iterable[tuple[int, int]], *, erring: bool) -> None:
        """Take in what one more unit says."""
        self.uses |= found.uses
        self.open_lines |= found.open_lines
        lines = {line for first, last in skipped for line in range(first, last + 1)}
        self.skipped = lines if self.skipped is None else self.skipped & lines
        self.erring |= erring


def merge(path: str, raw: str, matched: Iterable[Ref], resolved: Resolved) -> list[Ref]:
    """The references of a file whose text is `raw`, by line.

    A name-matched one gives way to the resolved use of its name on its line. It stays where libclang could not judge:
    in lines that the preprocessor left out, in macro definitions, beside a call that depends on a template's
    parameters, and anywhere in a file with errors. What libclang judged and did not find to be a use goes.
    """
    text = Text(path, raw)
    before = list(matched)
    written = {(one.line, one.name): one.text for one in before}
    lines = text.code.split("\n")
    kept = [use for use in resolved.uses if _is_written(use, lines)]
    refs = [
        Ref(path, use.line, use.name, written.get((use.line, use.name), use.name), use.kind, use.target, "libclang")
        for use in kept
    ]
    done = {(use.line, use.name) for use in kept}
    unjudged = (resolved.skipped or set()) | resolved.open_lines | set(_in_macros(text))
    for one in before:
        if (one.line, one.name) in done:
            continue
        if resolved.erring or one.kind not in _JUDGED or one.line in unjudged:
            refs.append(one)
    return sorted(set(refs), key=lambda one: (one.line, one.name, one.kind, one.target or ""))


def _is_written(use: ResolvedUse, lines: list[str]) -> bool:
    """Whether the name stands on the line: not what a macro's body uses, nor what the language does unseen."""
    if use.kind == "include":
        return True
    if not 0 < use.line <= len(lines):
        return False
    line = lines[use.line - 1]
    sign = _OPERATOR.match(use.name)
    if sign:
        return use.name[sign.end() :].strip() in line
    return re.search(rf"(?<!\w){re.escape(use.name.lstrip('~'))}(?!\w)", line) is not None


def _in_macros(text: Text) -> Iterator[int]:
    """The lines of macro definitions."""
    for match in _DEFINE.finditer(text.code):
        yield from range(text.line(match.start()), text.line(match.end()) + 1)
