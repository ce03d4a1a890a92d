"""One C++ file into symbols and references: prepared, parsed, read, with what macros make of their invocations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from itertools import accumulate

from ptexplore.index.cpp.cuts import Cuts, between
from ptexplore.index.cpp.expand import Expander
from ptexplore.index.cpp.grammar import rewrite
from ptexplore.index.cpp.invocations import Invocations, Made
from ptexplore.index.cpp.local import Body, add_local, reader_of, with_classes
from ptexplore.index.cpp.macros import MacroTable
from ptexplore.index.cpp.plain import scan
from ptexplore.index.cpp.plain_reader import PlainReader
from ptexplore.index.cpp.prepare import Prepared, blank, prepare
from ptexplore.index.cpp.references import references
from ptexplore.index.cpp.scopes import CodeRanges
from ptexplore.index.cpp.syntax import Frame, captures, join
from ptexplore.index.cpp.text import Text
from ptexplore.index.cpp.tree import Reader
from ptexplore.symbols import Ref, Symbol

_NAME_ARGUMENT = re.compile(r"(?:^|,)\s*(?:\w+\s*::\s*)*([A-Za-z_]\w+)\s*(?=,|$)")


def extract(
    path: str, raw: str, macros: MacroTable, text: Text | None = None
) -> tuple[list[Symbol], list[Ref], list[str]]:
    """Symbols, references and problems of one file; `text` is the file's own Text where the caller has it."""
    text = text or Text(path, raw)
    prepared = prepare(text, macros)
    expander = Expander(prepared.definition, prepared.known)
    reader: Reader | None = None
    problems: list[str] = []
    for number, view in enumerate(prepared.views):
        expander.counter = 0
        invocations = Invocations(prepared, view, expander)
        made = invocations.replace()
        one, failed = _read(prepared, view, invocations.code, made)
        if reader is None:
            reader = one
            problems += ["the parser met what it does not understand"] * failed
        else:
            _add_hidden(reader, one, prepared, number)
    assert reader is not None  # there is always a first view
    refs = references(prepared, reader)
    return reader.symbols + _macro_symbols(prepared), refs, problems


def _read(prepared: Prepared, view: bytearray, code: CodeRanges, made: list[Made]) -> tuple[Reader, bool]:
    """The symbols of one view, and whether the parser stumbled.

    Bodies are cut out of what is parsed: nothing in one can then hide what follows it, and it takes less
    time. Those that hold a class of their own are parsed as well, for that class's members.
    """
    text = prepared.text
    whole = view.decode("ascii")
    local = with_classes(whole, code) if code.balanced else []
    reader, failed = _without_bodies(text, view, code, made, local)
    named = _add_made(prepared, reader, made)
    add_local(text, reader, whole, [(body, _named(reader.framed[body[0]][-1], named)) for body in local])
    return reader, failed


def _named(frame: Frame, named: dict[int, Symbol]) -> Frame:
    """The scope of a body, with the name of the function that a macro makes; what is around it where that is open."""
    symbol = named.get(frame.placeholder)
    if symbol is None:
        return frame
    return frame._replace(qualified=symbol.qualified, scope=join(symbol.scope, symbol.name))


def _without_bodies(
    text: Text, view: bytearray, code: CodeRanges, made: list[Made], local: list[Body]
) -> tuple[Reader, bool]:
    """A reader of a view with its bodies taken out; its offsets are those of the view.

    It knows the frames where `made` begin and those in the bodies `local`.
    """
    bodies = code.bodies if code.balanced else []
    cuts = Cuts(bodies)
    short = cuts.left(view.decode("ascii"))
    marks = {at: cuts.shorter(at) for at in [*(one.begin for one in made), *(start for start, _ in local)]}
    placeholders = frozenset(one.head for one in made if one.head is not None)
    failed = False
    if code.balanced:
        plain = reader_of(PlainReader, text, short, cuts.whole, text.bare)
        plain.placeholders = placeholders
        reader = _plainly(plain, sorted(set(marks.values())))
        if reader is not None:
            reader.framed = {begin: reader.framed[mark] for begin, mark in marks.items()}
            return reader, False
        failed = True
    if not (failed and bodies):
        found, failed = captures(short.encode("ascii"))
    if failed and bodies:  # how the parser gets past an error depends on distances: keep them
        empty = bytearray(view)
        for start, end in bodies:
            blank(empty, start, end)
        cuts, short = Cuts([]), empty.decode("ascii")
        found, failed = captures(bytes(empty))
        marks = {at: at for at in marks}
    reader = reader_of(Reader, text, short, cuts.whole, text.bare)
    reader.placeholders = placeholders
    reader.read(found, marks=tuple(sorted(set(marks.values()))))
    reader.framed = {begin: reader.framed[mark] for begin, mark in marks.items()}
    return reader, failed


def _plainly(plain: PlainReader, marks: list[int]) -> Reader | None:
    """A reader of a text with its plain statements read by themselves; None where the parser stumbles over the rest."""
    scanned = scan(plain.text)
    if scanned.all is not None:
        plain.read_all(scanned.all, plain.set_apart(scanned.statements, marks))
        return plain
    cuts = Cuts(scanned.cuts)
    left = cuts.left(plain.text)
    found, failed = captures(left.encode("ascii"))
    if failed:
        return None
    inner, outer, shown = cuts.whole, plain.whole, plain.shown
    reader = Reader(plain.path, left, plain.line, plain.guards)
    reader.shown = lambda start, end: shown(inner(start), inner(end - 1) + 1)
    reader.whole = lambda offset: outer(inner(offset))
    reader.placeholders = plain.placeholders
    plain.symbols, plain.offsets = reader.symbols, reader.offsets
    shorter = {mark: cuts.shorter(mark) for mark in plain.set_apart(scanned.statements, marks)}
    others = [(cuts.shorter(one.start), partial(plain.add, one)) for one in scanned.statements]
    reader.read(found, marks=tuple(sorted(set(shorter.values()))), others=others)
    reader.framed = {mark: reader.framed[at] for mark, at in shorter.items()} | plain.framed
    return reader


def _add_made(prepared: Prepared, reader: Reader, made: list[Made]) -> dict[int, Symbol]:
    """What the invocations make, in place of what stood for them in the parsed text.

    Comes back with the functions that certainly have the bodies of what stood there, by the offset of its name.
    """
    heads = {offset: at for at, offset in enumerate(reader.offsets)}
    dropped: set[int] = set()
    named: dict[int, Symbol] = {}
    for one in made:
        at = heads.get(one.head) if one.head is not None else None
        symbols, last = _expanded(prepared, one, reader.framed[one.begin])
        if at is not None:
            dropped.add(at)
            symbols = _with_extent(symbols, reader.symbols[at])
        if one.head is not None and last is not None:
            named[one.head] = last
        reader.symbols += symbols
        reader.offsets += [one.use.start] * len(symbols)
    if dropped:
        reader.symbols = [symbol for at, symbol in enumerate(reader.symbols) if at not in dropped]
        reader.offsets = [offset for at, offset in enumerate(reader.offsets) if at not in dropped]
    return named


def _with_extent(symbols: list[Symbol], seen: Symbol) -> list[Symbol]:
    """The last function of a head's expansion gets the extent that the parsed text gives it, where that is one's."""
    if seen.kind != "function":
        return symbols
    for at in range(len(symbols) - 1, -1, -1):
        if symbols[at].kind == "function":
            symbols[at] = symbols[at]._replace(end_line=seen.end_line, begin=min(seen.begin, symbols[at].line))
            break
    return symbols


def _expanded(prepared: Prepared, made: Made, frames: tuple[Frame, ...]) -> tuple[list[Symbol], Symbol | None]:
    """What the expansions of one invocation declare, placed at the invocation; the last function where all agree."""
    text = prepared.text
    use = made.use
    line = text.line(use.start)
    last = text.line(use.arguments[1] if use.arguments else use.end)
    guards = text.guards(line)
    symbols: dict[tuple[object, ...], Symbol] = {}
    lasts: dict[str | None, Symbol | None] = {}
    for one in made.texts:
        reader = _reader_of_made(text.path, one, frames, lambda _: line, lambda _: guards)
        function = next((symbol for symbol in reversed(reader.symbols) if symbol.kind == "function"), None)
        lasts[function and function.qualified] = function
        for symbol in reader.symbols:
            key = (symbol.qualified, symbol.kind, symbol.parameters, symbol.role)
            if key not in symbols:
                named = _line_of(prepared, made, symbol.name, line)
                symbols[key] = symbol._replace(
                    macro=use.name, extractor="macro", line=named, begin=min(text.line(made.begin), named),
                    end_line=max(last, named),
                )  # fmt: skip
    return list(symbols.values()), next(iter(lasts.values())) if len(lasts) == 1 else None


def _reader_of_made(
    path: str,
    made: str,
    frames: tuple[Frame, ...],
    line: Callable[[int], int],
    guards: Callable[[int], tuple[str, ...]],
) -> Reader:
    """A reader of one expansion that stands in the scopes `frames`."""
    parsed = rewrite(path, made)
    scanned = scan(parsed, frames[-1].name if frames[-1].kind == "class" else None)
    if scanned.all is not None:
        plain = PlainReader(path, parsed, line, guards)
        plain.shown = between(made)
        plain.read_all(scanned.all, base=frames)
        return plain
    inner = frames[-1].kind in ("class", "enum")
    source = f"{frames[-1].kind} z{{{made}}};" if inner else made
    parsed = rewrite(path, source)
    reader = Reader(path, parsed, line, guards)
    reader.shown = between(source)
    found, _ = captures(parsed.encode("ascii", "replace"))
    if inner:  # the wrapping itself
        found[frames[-1].kind] = [node for node in found.get(frames[-1].kind, ()) if node.start_byte]
    reader.read(found, frames)
    return reader


def _line_of(prepared: Prepared, made: Made, name: str, line: int) -> int:
    """The line of the longest argument that the name is made with; the invocation's where none is.

    Only an argument that is a name itself counts, and where it stands in the made one as a whole: "add" in "add_stub",
    not the "at" of some lambda in "Generate".
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
    """Whether a name holds a word that is neither begun by a letter or digit before it nor goes on behind it."""
    at = name.find(word)
    while at >= 0:
        before, after = name[at - 1 : at] if at else "", name[at + len(word) : at + len(word) + 1]
        begins = not (before.isascii() and before.isalnum())
        if begins and not (after.isascii() and (after.islower() or after.isdigit())):
            return True
        at = name.find(word, at + 1)
    return False


def _add_hidden(reader: Reader, other: Reader, prepared: Prepared, number: int) -> None:
    """What only this view shows: the symbols named in spans that the first view had blanked."""
    first = prepared.hidden[0]
    shown = set(prepared.hidden[number])
    spans = sorted(span for span in first if span not in shown)
    starts = [start for start, _ in spans]
    ends = [0, *accumulate((end for _, end in spans), max)]  # how far the spans up to each one reach
    known = set(zip(reader.offsets, (symbol.qualified for symbol in reader.symbols), strict=True))
    for offset, symbol in zip(other.offsets, other.symbols, strict=True):
        if offset < ends[bisect_right(starts, offset)] and (offset, symbol.qualified) not in known:
            reader.symbols.append(symbol)
            reader.offsets.append(offset)


def _macro_symbols(prepared: Prepared) -> list[Symbol]:
    """Every #define of the file."""
    text = prepared.text
    found = []
    for defined in prepared.local.values():
        for one in defined:
            line = text.line(one.offset)
            directive = next((d for d in text.directives if d.start <= one.offset < d.end), None)
            end = text.line(directive.end) if directive else line
            signature = "" if one.parameters is None else f"({', '.join(one.parameters)})"
            found.append(
                Symbol(
                    text.path,
                    one.name,
                    one.name,
                    "macro",
                    line,
                    end,
                    line,
                    signature=signature,
                    guards=text.guards(line),
                )
            )
    return found
