"""Colours source text for a terminal, line by line; plain if it is too big or colours are off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptexplore.safe_text import clean
from ptexplore.view.tokens import Kind, Span, Stretch, Tokens

BIGGEST = 1_000_000  # characters; longer text is shown plain
TAB = 8  # columns
# Only standard colours, so that they fit light and dark terminals: the terminal's own theme defines them.
_CODES: dict[Kind, str] = {
    "comment": "90", "string": "32", "number": "36", "keyword": "34;1", "type": "36", "function": "1", "preproc": "35",
    "decorator": "35", "tag": "34;1", "member": "34",
}  # fmt: skip


def shown_lines(source: Stretch, *, colour: bool) -> list[tuple[str, str]]:
    """Returns the lines of a stretch of source, each plain and as shown, without tabs and control characters."""
    before, lines, after = (
        [clean(line.expandtabs(TAB)) for line in part] for part in (source.before, source.lines, source.after)
    )
    return list(zip(lines, highlighted(lines, source.language, before, after) if colour else lines, strict=True))


def highlighted(
    lines: Sequence[str], language: str, before: Sequence[str] = (), after: Sequence[str] = ()
) -> Iterator[str]:
    """Yields `lines` with colour codes; each line is complete in itself.

    `before` and `after` are parsed too, but not returned. The lines contain no control characters, and the only codes
    are SGR codes.
    """
    if sum(map(len, lines)) > BIGGEST:
        yield from lines
        return
    tokens = Tokens("\n".join([*before, *lines, *after]), language)
    spans = tokens.spans(len(before) + 1, len(before) + len(lines))
    for line, line_spans in zip(lines, spans, strict=True):
        yield _coloured(line, line_spans)


def _coloured(line: str, spans: Sequence[Span]) -> str:
    parts, done = [], 0
    for begin, end, kind in spans:
        parts += [line[done:begin], f"\x1b[{_CODES[kind]}m{line[begin:end]}\x1b[0m"]
        done = end
    return "".join([*parts, line[done:]])
