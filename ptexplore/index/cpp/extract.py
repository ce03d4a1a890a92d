"""One C++ file into symbols and references: prepared, parsed, read, with what macros make of their invocations."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from ptexplore.cpp.expand import Expander
from ptexplore.cpp.macros import MacroTable
from ptexplore.cpp.scopes import CodeRanges
from ptexplore.cpp.text import Text
from ptexplore.index.cpp.cuts import Cuts
from ptexplore.index.cpp.expansions import declared
from ptexplore.index.cpp.invocations import Invocations, Made
from ptexplore.index.cpp.local import Body, add_local, reader_of, with_classes
from ptexplore.index.cpp.prepare import Prepared, blank, prepare
from ptexplore.index.cpp.references import references
from ptexplore.index.cpp.syntax import OpenScope, join, matches
from ptexplore.index.cpp.tree import Reader
from ptexplore.model.symbols import Ref, Symbol


def extract(
    path: str, raw: str, macros: MacroTable, text: Text | None = None
) -> tuple[list[Symbol], list[Ref], list[str]]:
    """Symbols, references and problems of one file; `text` is the file's own Text where the caller has it."""
    text = text or Text(path, raw)
    prepared = prepare(text, macros)
    expander = Expander(prepared.definition, prepared.macros.known, declarations=True)
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


def _named(frame: OpenScope, named: dict[int, Symbol]) -> OpenScope:
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
    found, failed = matches(short.encode("ascii"))
    if failed and bodies:  # how the parser gets past an error depends on distances: keep them
        empty = bytearray(view)
        for start, end in bodies:
            blank(empty, start, end)
        cuts, short = Cuts([]), empty.decode("ascii")
        found, failed = matches(bytes(empty))
    marks = {at: cuts.shorter(at) for at in [*(one.begin for one in made), *(start for start, _ in local)]}
    reader = reader_of(text, short, cuts.whole, text.bare)
    reader.placeholders = frozenset(one.head for one in made if one.head is not None)
    reader.read(found, marks=tuple(sorted(set(marks.values()))))
    reader.framed = {begin: reader.framed[mark] for begin, mark in marks.items()}
    return reader, failed


def _add_made(prepared: Prepared, reader: Reader, made: list[Made]) -> dict[int, Symbol]:
    """What the invocations make, in place of what stood for them in the parsed text.

    Comes back with the functions that certainly have the bodies of what stood there, by the offset of its name.
    """
    heads = {offset: at for at, offset in enumerate(reader.offsets)}
    dropped: set[int] = set()
    named: dict[int, Symbol] = {}
    for one, (symbols, function) in zip(made, declared(prepared, made, reader.framed), strict=True):
        at = heads.get(one.head) if one.head is not None else None
        if at is not None:
            dropped.add(at)
            _extend_last(symbols, reader.symbols[at])
        if one.head is not None and function is not None:
            named[one.head] = function
        reader.symbols += symbols
        reader.offsets += [one.use.start] * len(symbols)
    if dropped:
        reader.symbols = [symbol for at, symbol in enumerate(reader.symbols) if at not in dropped]
        reader.offsets = [offset for at, offset in enumerate(reader.offsets) if at not in dropped]
    return named


def _extend_last(symbols: list[Symbol], seen: Symbol) -> None:
    """Give the last function of a head's expansion the extent that the parsed text gives it, where that is one's."""
    if seen.kind != "function":
        return
    for at in range(len(symbols) - 1, -1, -1):
        if symbols[at].kind == "function":
            symbols[at] = symbols[at]._replace(end_line=seen.end_line, begin=min(seen.begin, symbols[at].line))
            break


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
    for defined in prepared.macros.own.values():
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
