"""Extracts symbols and references of one C++ file, including the declarations that macro invocations make."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from ptexplore.cpp.brackets import CodeRanges, without_spans
from ptexplore.cpp.expand import Expander
from ptexplore.cpp.macros import MacroTable
from ptexplore.cpp.text import Text
from ptexplore.index.cpp.invocations import Invocations, Made
from ptexplore.index.cpp.prepare import Prepared, blank, prepare, rewrite
from ptexplore.index.cpp.references import references
from ptexplore.index.cpp.tree import Match, OpenScope, Reader, join, matches
from ptexplore.model.symbols import RefLines, Symbol


def extract(
    path: str, raw: str, macros: MacroTable, text: Text | None = None
) -> tuple[list[Symbol], RefLines, list[str]]:
    """Returns symbols, references and problems of one file. `text` is the Text of the file, if the caller has one."""
    text = text or Text(path, raw)
    prepared = prepare(text, macros)
    expander = Expander(prepared.definition, prepared.macros.known, declarations=True)
    reader: Reader | None = None
    problems: list[str] = []
    for number, view in enumerate(prepared.views):
        expander.counter = 0
        invocations = Invocations(prepared, view, expander)
        made = invocations.replace()
        view_reader, failed = _read(prepared, view, invocations.code, made)
        if reader is None:
            reader = view_reader
            problems += ["the parser did not understand some of it"] * failed
        else:
            _add_hidden(reader, view_reader, prepared, number)
    assert reader is not None  # there is always a first view
    refs = references(prepared, reader)
    return reader.symbols + _macro_symbols(prepared), refs, problems


def _read(prepared: Prepared, view: bytearray, code: CodeRanges, made: list[Made]) -> tuple[Reader, bool]:
    """Returns a reader with the symbols of one view, and whether the parser found errors.

    Function bodies are cut out before parsing: so a body cannot hide the code after it, and parsing is faster. Bodies
    that contain a class are parsed separately, for the members of the class.
    """
    text = prepared.text
    decoded = view.decode("ascii")
    local = with_classes(decoded, code) if code.balanced else []
    reader, failed = _without_bodies(text, view, code, made, local)
    named = _add_made(prepared, reader, made)
    add_local(text, reader, decoded, [(body, _named(reader.framed[body[0]][-1], named)) for body in local])
    return reader, failed


def _named(frame: OpenScope, named: dict[int, Symbol]) -> OpenScope:
    """Returns the scope of a body.

    If a macro makes the function, the scope has the function's name, else it is unchanged.
    """
    symbol = named.get(frame.placeholder)
    if symbol is None:
        return frame
    return frame._replace(qualified=symbol.qualified, scope=join(symbol.scope, symbol.name))


def _without_bodies(
    text: Text, view: bytearray, code: CodeRanges, made: list[Made], local: list[Body]
) -> tuple[Reader, bool]:
    """Returns a reader of a view without the `bodies`, and whether parsing failed. Offsets refer to the view.

    The reader knows the scopes at the beginnings of `made` and of the bodies in `local`.
    """
    bodies = code.bodies if code.balanced else []
    whole = view.decode("ascii")
    spans = _with_blanks(whole, bodies)
    cuts = Cuts(spans)
    short = without_spans(whole, spans)
    in_text, failed = matches(short.encode("ascii"))
    # error recovery of the parser depends on distances, so blank the bodies instead of removing them
    if failed and spans:
        empty = bytearray(view)
        for start, end in bodies:
            blank(empty, start, end)
        cuts, short = Cuts([]), empty.decode("ascii")
        in_text, failed = matches(bytes(empty))
    marks = {
        at: cuts.shorter(at) for at in [*(invocation.begin for invocation in made), *(start for start, _ in local)]
    }
    reader = Reader(text.path, short, text.line, text.guards, text.bare, cuts.in_file)
    reader.placeholders = frozenset(invocation.head for invocation in made if invocation.head is not None)
    reader.read(in_text, marks=tuple(sorted(set(marks.values()))))
    reader.framed = {begin: reader.framed[mark] for begin, mark in marks.items()}
    return reader, failed


_LONG_BLANK = " " * 12


def _with_blanks(view: str, bodies: Sequence[Body]) -> list[tuple[int, int]]:
    """Returns the spans to remove: the bodies, and the long blanks between them that comments left.

    The last character of a blank stays. These blanks are half of the text that the parser would read.
    """
    spans: list[tuple[int, int]] = []
    at = 0
    for start, end in (*bodies, (len(view), len(view))):
        while (blanks := view.find(_LONG_BLANK, at, start)) >= 0:
            at = _BLANKS.match(view, blanks, start).end()  # type: ignore[union-attr]
            spans.append((blanks, at - 1))
        spans.append((start, end))
        at = end
    return spans[:-1]


def _add_made(prepared: Prepared, reader: Reader, made: list[Made]) -> dict[int, Symbol]:
    """Adds the declarations that the invocations make, and removes the placeholders from the symbols.

    Returns a dict: offset of a placeholder -> the function that certainly has the body behind the placeholder.
    """
    heads = {offset: at for at, offset in enumerate(reader.offsets)}
    dropped: set[int] = set()
    named: dict[int, Symbol] = {}
    for invocation, (symbols, function) in zip(made, declared(prepared, made, reader.framed), strict=True):
        at = heads.get(invocation.head) if invocation.head is not None else None
        if at is not None:
            dropped.add(at)
            _extend_last(symbols, reader.symbols[at])
        if invocation.head is not None and function is not None:
            named[invocation.head] = function
        reader.symbols += symbols
        reader.offsets += [invocation.use.start] * len(symbols)
    if dropped:
        reader.symbols = [symbol for at, symbol in enumerate(reader.symbols) if at not in dropped]
        reader.offsets = [offset for at, offset in enumerate(reader.offsets) if at not in dropped]
    return named


def _extend_last(symbols: list[Symbol], seen: Symbol) -> None:
    """Gives the last function of an expansion the extent of the placeholder `seen`, if that is a function."""
    if seen.kind != "function":
        return
    for at in range(len(symbols) - 1, -1, -1):
        if symbols[at].kind == "function":
            symbols[at] = symbols[at]._replace(end_line=seen.end_line, begin=min(seen.begin, symbols[at].line))
            break


def _add_hidden(reader: Reader, other: Reader, prepared: Prepared, number: int) -> None:
    """Adds the symbols that only this view shows: their names are in spans that are blank in the first view."""
    first = prepared.hidden[0]
    shown = set(prepared.hidden[number])
    spans = sorted(span for span in first if span not in shown)
    starts = [start for start, _ in spans]
    ends = [0, *accumulate((end for _, end in spans), max)]  # the greatest end of the spans up to each one
    known = set(zip(reader.offsets, (symbol.qualified for symbol in reader.symbols), strict=True))
    for offset, symbol in zip(other.offsets, other.symbols, strict=True):
        if offset < ends[bisect_right(starts, offset)] and (offset, symbol.qualified) not in known:
            reader.symbols.append(symbol)
            reader.offsets.append(offset)


def _macro_symbols(prepared: Prepared) -> list[Symbol]:
    """Returns a symbol for every #define of the file."""
    text = prepared.text
    ends = [directive.end for directive in text.directives]
    symbols = []
    for define in chain.from_iterable(prepared.macros.own.values()):
        name, line, end_line = define.name, text.line(define.offset), text.line(ends[bisect_right(ends, define.offset)])
        signature = "" if define.parameters is None else f"({', '.join(define.parameters)})"
        symbols.append(
            Symbol(text.path, name, name, "macro", line, end_line, line, signature=signature, guards=text.guards(line))
        )
    return symbols


class Cuts:
    """Converts offsets between a text and the text without `spans`. The spans are sorted and do not overlap.

    A character at a cut counts as behind the cut, not before it.
    """

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._ends = [end for _, end in spans]
        self._at: list[int] = []  # the offset of each cut in the shortened text
        self._gone = [0]  # the number of characters removed before each cut, and in all
        for start, end in spans:
            self._at.append(start - self._gone[-1])
            self._gone.append(self._gone[-1] + end - start)
        at, gone = self._at, self._gone
        # The offset in the whole text of a character in the short one. A closure is fast: every symbol calls it often.
        self.in_file: Callable[[int], int] = lambda offset: offset + gone[bisect_right(at, offset)]

    def shorter(self, offset: int) -> int:
        """Returns the offset in the shortened text. For a character inside a cut, returns the offset of the cut."""
        cut = bisect_right(self._ends, offset)
        left = offset - self._gone[cut]
        return min(left, self._at[cut]) if cut < len(self._at) else left


_BLANKS = re.compile(r"\s*")
_NAME_ARGUMENT = re.compile(r"(?:^|,)\s*(?:\w+\s*::\s*)*([A-Za-z_]\w+)\s*(?=,|$)")


def declared(
    prepared: Prepared, made: Sequence[Made], framed: dict[int, tuple[OpenScope, ...]]
) -> list[tuple[list[Symbol], Symbol | None]]:
    """Returns the declarations that each invocation makes.

    `framed` holds the scopes around each invocation, by the offset where its statement begins. For each invocation, the
    result has its symbols, and its last function if all expansions agree on it.
    """
    pieces = [_Piece(invocation, text, framed[invocation.begin]) for invocation in made for text in invocation.texts]
    readers = iter(_readers(prepared, pieces))
    return [_placed(prepared, invocation, [next(readers) for _ in invocation.texts]) for invocation in made]


class _Piece(NamedTuple):
    """One expansion of one invocation, and the scopes around it."""

    made: Made
    text: str
    frames: tuple[OpenScope, ...]

    @property
    def source(self) -> str:
        """The text to parse: members and enumerators are put into a class or an enumeration."""
        kind = self.frames[-1].kind
        return f"{kind} z{{{self.text}}};\n" if kind in ("class", "enum") else f"{self.text}\n"


def _readers(prepared: Prepared, pieces: Sequence[_Piece]) -> list[Reader]:
    """Returns a reader for each expansion.

    All expansions are parsed together. If that fails, each half is parsed separately, so that a bad expansion cannot
    hide others.
    """
    if not pieces:
        return []
    path = prepared.text.path
    sources = [piece.source for piece in pieces]
    written = "".join(sources)
    parsed = rewrite(path, written)
    in_text, failed = matches(parsed.encode("ascii", "replace"))
    if failed and len(pieces) > 1:
        half = len(pieces) // 2
        return _readers(prepared, pieces[:half]) + _readers(prepared, pieces[half:])
    starts = [0, *accumulate(map(len, sources))][:-1]
    return [
        _reader(prepared, piece, written, parsed, part, start)
        for piece, part, start in zip(pieces, _parted(in_text, starts), starts, strict=True)
    ]


def _parted(in_text: Sequence[Match], starts: Sequence[int]) -> list[list[Match]]:
    """Splits the matches of a text at the offsets `starts`."""
    parts: list[list[Match]] = [[] for _ in starts]
    for match in in_text:
        parts[bisect_right(starts, match.start) - 1].append(match)
    return parts


def _reader(
    prepared: Prepared, piece: _Piece, written: str, parsed: str, in_text: Sequence[Match], start: int
) -> Reader:
    """Returns a reader of one expansion, which begins at `start` of the parsed text."""
    line = prepared.text.line(piece.made.use.start)
    guards = prepared.text.guards(line)
    reader = Reader(prepared.text.path, parsed, lambda _: line, lambda _: guards, written)
    kind = piece.frames[-1].kind
    if kind in ("class", "enum"):  # skip the class or enumeration that `source` put around the text
        in_text = [match for match in in_text if match.start > start]
    reader.read(in_text, piece.frames)
    return reader


def _placed(prepared: Prepared, made: Made, readers: Sequence[Reader]) -> tuple[list[Symbol], Symbol | None]:
    """Returns the declarations of one invocation, as described at `declared`, at the lines of the invocation."""
    text = prepared.text
    use = made.use
    line = text.line(use.start)
    last = text.line(use.arguments[1] if use.arguments else use.end)
    symbols: dict[tuple[object, ...], Symbol] = {}
    functions: dict[str | None, Symbol | None] = {}
    for reader in readers:
        function = next((symbol for symbol in reversed(reader.symbols) if symbol.kind == "function"), None)
        functions[function and function.qualified] = function
        for symbol in reader.symbols:
            key = (symbol.qualified, symbol.kind, symbol.parameters, symbol.role)
            if key not in symbols:
                named = _line_of(prepared, made, symbol.name, line)
                symbols[key] = symbol._replace(
                    macro=use.name, extractor="macro", line=named, begin=min(text.line(made.begin), named),
                    end_line=max(last, named),
                )  # fmt: skip
    return list(symbols.values()), next(iter(functions.values())) if len(functions) == 1 else None


def _line_of(prepared: Prepared, made: Made, name: str, line: int) -> int:
    """Returns the line of the longest argument that is part of the name, or the line of the invocation.

    An argument counts only if it is a name and a whole word of the made name: "add" in "add_stub", but not the "at" of
    a lambda in "Generate".
    """
    arguments = made.use.arguments
    if arguments is None or "\n" not in prepared.text.raw[slice(*arguments)]:
        return line
    best: tuple[int, int] | None = None
    for match in _NAME_ARGUMENT.finditer(prepared.text.bare[slice(*arguments)]):
        word = match[1]
        longer = best is None or len(word) > best[0]
        if longer and word in name and _stands_in(word, name):
            best = (len(word), arguments[0] + match.start(1))
    return prepared.text.line(best[1]) if best else line


def _stands_in(word: str, name: str) -> bool:
    """Whether `word` is a part of `name`, with no letter or digit before it, and no small letter or digit behind it."""
    at = name.find(word)
    while at >= 0:
        before, after = name[at - 1 : at] if at else "", name[at + len(word) : at + len(word) + 1]
        begins = not (before.isascii() and before.isalnum())
        if begins and not (after.isascii() and (after.islower() or after.isdigit())):
            return True
        at = name.find(word, at + 1)
    return False


_LOCAL_CLASSES = tuple(
    re.compile(word + r"\s*(?:\s[A-Za-z_]\w*\s*(?:final\s*)?(?::[^;{}()]*)?)?\{[^}]") for word in ("struct", "class")
)

Body = tuple[int, int]  # begin and end, without the braces


def with_classes(view: str, code: CodeRanges) -> list[Body]:
    """Returns the bodies that contain a class."""
    offsets = [match.start() for word in _LOCAL_CLASSES for match in word.finditer(view)]
    if not any(map(code.holds, offsets)):
        return []
    return [(start, end) for start, end in code.bodies if any(start <= at < end for at in offsets)]


def add_local(text: Text, reader: Reader, view: str, bodies: Iterable[tuple[Body, OpenScope]]) -> None:
    """Adds the member functions and bases of classes inside function bodies.

    Each body is parsed separately, so that a parse error in one cannot spoil the scopes of another.
    """
    for (start, end), frame in bodies:
        around = [(0, start - 1), (end + 1, len(view))]
        cuts = Cuts(around)
        short = without_spans(view, around)
        local = Reader(text.path, short, text.line, text.guards, view, cuts.in_file)
        local.read(matches(short.encode("ascii"))[0], (frame._replace(kind="code"),))
        for symbol, offset in zip(local.symbols, local.offsets, strict=True):
            if symbol.kind == "function":
                reader.symbols.append(symbol)
                reader.offsets.append(offset)
        reader.inherited += local.inherited
