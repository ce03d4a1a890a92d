"""`refs`: finds every use of a name, grouped by sort of use, and separates resolved uses from name matches."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from itertools import chain, islice
from typing import NamedTuple

from ptexplore.cpp.names import name_parts
from ptexplore.cpp.symbol_names import pasted
from ptexplore.errors import FAILED, PtexploreError
from ptexplore.lazy import lazy
from ptexplore.lookup.link_targets import DefinitionsByName
from ptexplore.lookup.overrides import OverrideReader
from ptexplore.lookup.query_length import check_length
from ptexplore.lookup.text_lines import shortened
from ptexplore.lookup.trees import (
    IndexedTree,
    Spot,
    changed,
    merged,
    nearest_names,
    one_tree_a_file,
    public_symbols,
    spot,
    symbol_spot,
    symbols_called,
)
from ptexplore.lookup.use_meaning import FileReader, UseReader, may_mean, without_constructor
from ptexplore.model.places import TreeInfo
from ptexplore.model.remarks import (
    AnswerRemark,
    CopiesNotSearched,
    FilesChanged,
    FoundByName,
    MeanOther,
    TypesNotIndexed,
    ValuesNotIndexed,
)
from ptexplore.model.symbols import DIALECT_KINDS, Dialect, Ref, Symbol
from ptexplore.source.canonical import is_test_file
from ptexplore.store.index.site import SiteUse

# If a line has several uses, it counts as the first of these sorts that it has.
_ORDER = ("registrations", "stubs", "bindings", "addresses", "calls", "overrides", "inherits", "macros", "YAML",
          "imports", "types", "tests")  # fmt: skip
GROUPS = ("calls", "addresses", "overrides", "inherits", "types", "registrations", "stubs", "bindings", "YAML",
          "imports", "macros", "tests")  # fmt: skip
LONGEST = 60  # characters of the context of a registration row that are kept
VALUES = frozenset({"member", "variable", "enumerator"})  # things that are read and written; the index has no such uses
_NOBODYS = ("default",)  # a last part that does not say which other thing was meant
_OF_REF = {"call": "calls", "address": "addresses", "override": "overrides", "inherit": "inherits", "type": "types",
           "include": "imports", "import": "imports", "macro": "macros", "yaml": "YAML"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NameUse:
    """One use of a name.

    `how` is "resolved" if a semantic reader resolved the use, "name-matched" if only the name matches, or the macro of
    a row. `text` is the line, `inside` the function around it. `detail` is the registered name and key of a row
    ("aten::add, CPU"), or the overload of a resolved use ("add(const Tensor &, int)"). `certain` says that the use can
    mean nothing else.
    """

    spot: Spot
    text: str
    inside: str | None
    how: str
    written: str
    detail: str = ""
    certain: bool = False


@dataclass(frozen=True, slots=True)
class UseGroup:
    """The lines of one sort, ordered by path. `total` counts all of them; `uses` has those within the limit.

    If `certain`, the lines can mean only the name asked for; else they may mean another thing of that name.
    `overriding` counts those that are no uses: functions of other classes that override the function.
    """

    name: str
    uses: tuple[NameUse, ...]
    total: int
    certain: bool = False
    overriding: int = 0


@dataclass(frozen=True, slots=True)
class OverriddenAt:
    """The functions that a function overrides, nearest base first, each with its place and whether it is sure.

    `all_known` is False if not all bases of its class are known: then there may be more functions.
    """

    name: str
    functions: tuple[tuple[str, Spot, bool], ...]
    all_known: bool


@dataclass(frozen=True, slots=True)
class RefsView:
    """Everything that a renderer needs to show the uses of one name.

    `defined` has name, kind and place of each thing with that name. `groups` have the lines that use it, and the
    functions that override it.

    `lines` counts the lines that use the name, each once; the site and the screens show the same number. `certain`
    counts those that can mean nothing else; it is None if you asked for a bare name that several things have.
    `overridden` counts functions of classes below that override the function: they are in the groups but are no uses.
    For `may_override` of them not all bases are known.

    `otherwise` counts the lines with the name that mean something else and are left out. `unknown`
    counts the lines that are left out without another meaning: nothing else with that name is indexed. The first
    remark says so.
    `definitions` counts the definitions with that exact name; a use does not say which of them it means. `overrides`
    has the functions that the member functions among them override.
    """

    asked: str
    defined: tuple[tuple[str, str, Spot], ...]
    more: int  # how many things with the name are not in `defined`
    groups: tuple[UseGroup, ...]
    remarks: tuple[AnswerRemark, ...]
    trees: tuple[TreeInfo, ...]
    lines: int = 0
    certain: int | None = None
    otherwise: int = 0
    definitions: int = 1
    overridden: int = 0
    may_override: int = 0
    unknown: int = 0
    overrides: tuple[OverriddenAt, ...] = ()


@dataclass(slots=True)
class _LeftOut:
    """Lines with the name that mean something else, and the meanings that some of the lines give."""

    lines: set[tuple[str, int]] = field(default_factory=set)
    own: set[tuple[str, int]] = field(default_factory=set)  # where the function itself says `override`
    meanings: Counter[str] = field(default_factory=Counter)

    def take(self, path: str, line: int, meaning: str = "") -> None:
        self.lines.add((path, line))
        if meaning:
            self.meanings[meaning] += 1


class _Raw(NamedTuple):
    """One use as the index has it, before its line is read. There may be tens of thousands."""

    indexed: IndexedTree
    group: str
    path: str
    line: int
    how: str
    written: str
    detail: str = ""
    ref: Ref | None = None
    row_name: str = ""  # set if the row has the name itself, and does not register the function of that name
    certain: bool = False
    overriding: bool = False  # a function of another class that may override the function asked for


def refs(
    trees: Sequence[IndexedTree],
    name: str,
    limit: int | None,
    kind: str | None = None,
    reader: UseReader | None = None,
    only: str = "",
) -> RefsView:
    """Find the uses of `name`, a symbol (qualified or not) or an operator; at most `limit` in each group.

    `only` is the file that the definition is visible in, if it is visible in no other. You can keep a `reader` for the
    same trees and pass it again. Raises PtexploreError if nothing uses the name and nothing has it.
    """
    check_length(name)
    asked = asked_for(trees, name)
    raw: dict[tuple[str, str, int, str], _Raw] = {}
    left_out = _LeftOut()
    copies: dict[str, None] = {}  # trees with the name in files that an earlier tree has, too
    certainty = _Certainty(trees, asked, reader, left_out)
    for indexed, earlier in one_tree_a_file(trees):
        known_before = cache(partial(_known, earlier))
        for use in _uses(indexed, asked, left_out, known_before, certainty):
            known = known_before(use.path)
            if only and use.path != only:
                left_out.lines |= set() if known else {(use.path, use.line)}
            elif known:
                copies[indexed.tree.info.label] = None
            elif kind is None or use.group == kind:
                # a resolved use names its overload: two overloads on one line are two uses
                written = f"{use.written} {use.detail}" if use.how == "resolved" else use.written
                raw.setdefault((use.path, use.group, use.line, written), use)
    if not raw and not asked.symbols and not left_out.lines:
        raise nothing_refers(trees, name)
    if kind in (None, "overrides") and not only:
        for use in certainty.silent_overrides():
            raw.setdefault((use.path, use.group, use.line, use.written), use)
    lines = certainty.lines(list(raw.values()))
    left_out.lines.difference_update((use.path, use.line) for use in lines)
    left_out.lines -= left_out.own
    uses = [use for use in lines if not use.overriding]
    certain = sum(use.certain for use in uses)
    groups = [
        _use_group(group, [use for use in lines if (use.group, use.certain) == (group, sure)], limit, certain=sure)
        for sure in (True, False)
        for group in GROUPS
    ]
    shown = [use for group in groups for use in group.uses]
    definitions = certainty.definitions(only) if lines else 1
    left = 0 if kind is not None else len(left_out.lines)  # a line of a sort that you did not ask for may mean the name
    otherwise, unknown = (0, left) if left and not only and certainty.is_sole else (left, 0)
    remarks = [
        *_remarks(asked, shown, (otherwise, unknown), left_out.meanings, copies, definitions),
        *_changed_files(trees, shown),
    ]
    defined, more = _defined(trees, asked, limit)
    infos = tuple(indexed.tree.info for indexed in trees)
    return RefsView(
        name, defined, more, tuple(g for g in groups if g.total), tuple(remarks), infos, len(uses),
        certain if certainty.separates or certainty.of_value else None, otherwise, definitions, len(lines) - len(uses),
        sum(use.overriding and not use.certain for use in lines), unknown, tuple(certainty.overridden()),
    )  # fmt: skip


class _Certainty:
    """A filter between uses that can only mean the name asked for, and uses that may mean another thing."""

    def __init__(
        self, trees: Sequence[IndexedTree], asked: Asked, reader: UseReader | None, left_out: _LeftOut
    ) -> None:
        self._trees = trees
        self._asked = asked
        self._given_reader = reader
        self._left_out = left_out
        self._meant = frozenset(without_constructor(symbol.qualified) for _number, symbol in asked.symbols)
        kinds = {symbol.kind for _number, symbol in asked.symbols}
        is_identified = bool(asked.qualified) or len(self._meant) == 1
        self.of_value = is_identified and bool(kinds) and kinds <= VALUES  # only the name speaks for a use of it
        self.separates = is_identified and not self.of_value

    @lazy
    def _reader(self) -> UseReader:
        return self._given_reader or UseReader(DefinitionsByName([indexed.store for indexed in self._trees]))

    @lazy
    def _overriding(self) -> OverrideReader:
        return OverrideReader(self._reader)

    def silent_overrides(self) -> Iterator[_Raw]:
        """Yields the functions of classes below that override it without saying `override`.

        The index has no uses for these functions.
        """
        for name in self._functions():
            for path, tree, definition in self._overriding.silent(name):
                group = "tests" if is_test_file(path) else "overrides"
                qualified = definition.qualified
                yield _Raw(self._trees[tree], group, path, definition.line, "name-matched", qualified, certain=True,
                           overriding=True)  # fmt: skip

    def overridden(self) -> Iterator[OverriddenAt]:
        """Yields the functions that each member function asked for overrides, unless there are none."""
        for name in self._functions():
            overridden = self._overriding.overridden(name)
            if not (overridden.functions or overridden.says):
                continue
            functions = [
                (each.name, spot(self._trees[each.place.tree], each.place.path, each.place.definition.line), each.sure)
                for each in overridden.functions
            ]
            yield OverriddenAt(name, tuple(functions), overridden.is_whole)

    def _functions(self) -> list[str]:
        """Returns the qualified names of the C++ member functions asked for; none if uses are not separated."""
        if not self.separates or not self._asked.member:
            return []
        symbols = [symbol for _number, symbol in self._asked.symbols if symbol.kind == "function"]
        return list(dict.fromkeys(symbol.qualified for symbol in symbols if "::" in symbol.qualified))

    def definitions(self, only: str) -> int:
        """Count the definitions with the name asked for. `only` is the file that sees it, if no other file does."""
        names = {symbol.qualified for _number, symbol in self._asked.symbols}
        return sum(self._reader.definitions(last, names, only) for last in self._asked.lasts) if names else 0

    @lazy
    def is_sole(self) -> bool:
        """Whether nothing else in these trees has the name asked for."""
        return bool(self._meant) and all(self._reader.bearers(last).are_all(self._meant) for last in self._asked.lasts)

    def is_own(self, overriding: str) -> bool:
        """Whether a function that says `override` is itself the function asked for."""
        return self.separates and overriding in self._meant

    def overrides(self, overriding: str) -> bool | None:
        """Whether a member function that says `override` overrides the function asked for.

        The bases of its class decide. Returns None if a base is unknown.
        """
        meant = {"::".join(container) for container in self._asked.cpp}
        return self._overriding.overrides(overriding, meant) if meant else None

    def lines(self, uses: Sequence[_Raw]) -> list[_Raw]:
        """Keep each line once, as a certain use if it has one. Uses that must mean something else are dropped."""
        by_line: defaultdict[tuple[str, int], list[_Raw]] = defaultdict(list)
        if not self.separates:
            for use in uses:
                certain = self.of_value and use.how == "resolved"
                by_line[use.path, use.line].append(use._replace(certain=certain))
            return [min(some, key=_certain_first) for some in by_line.values()]
        by_path: defaultdict[str, list[_Raw]] = defaultdict(list)
        for use in uses:
            by_path[use.path].append(use)
        for path, some in by_path.items():
            file: FileReader | None = None
            for use in some:
                if use.ref is None or use.how == "resolved" or not self._meant:
                    by_line[path, use.line].append(use._replace(certain=self._is_certain(use)))
                    continue
                if file is None:
                    text = use.indexed.tree.glance(path)
                    file = self._reader.of_file(path, text.text if text is not None else None)
                ref = use.ref
                reading = file.read(SiteUse(ref.name, ref.kind, ref.text, ref.target, [use.line]), use.line)
                bearers = None if path.endswith((".py", ".pyi")) else self._reader.bearers(ref.name)
                if ref.kind == "override":
                    by_line[path, use.line].append(use._replace(certain=self.overrides(ref.text) is True))
                elif self._is_operator(ref) or self._is_whole(ref):
                    by_line[path, use.line].append(use._replace(certain=True))
                elif may_mean(bearers, self._meant, reading):
                    by_line[path, use.line].append(use._replace(certain=reading.sole is not None))
                else:  # another name, or a number of arguments that the function does not take
                    self._left_out.take(path, use.line, reading.sole or "")
        return [min(some, key=_certain_first) for some in by_line.values()]

    def _is_certain(self, use: _Raw) -> bool:
        """Whether a use without a reading is certain: a row, a resolved use, or a silent override."""
        if use.overriding:
            return use.certain
        if use.how == "resolved":
            return True
        if use.ref is not None:
            return self._is_operator(use.ref)
        if use.row_name and self._asked.operators:
            return True
        written = use.row_name or use.written
        return self._reader.sole_row(written, written.rpartition("::")[2]) in self._meant

    def _is_operator(self, ref: Ref) -> bool:
        written = tuple(ref.text.split("."))
        return any(written[-len(spelling) :] == spelling for spelling in self._asked.operators)

    def _is_whole(self, ref: Ref) -> bool:
        """Whether a Python use writes one of the names asked for in full, from the package on."""
        parts = tuple(ref.text.split("."))
        return len(parts) > 2 and ref.path.endswith((".py", ".pyi")) and parts[:-1] in self._asked.python


def _certain_first(use: _Raw) -> tuple[bool, int, bool, bool]:
    return not use.certain, _ORDER.index(use.group), use.how != "resolved", not use.detail


def _known(trees: Sequence[IndexedTree], path: str) -> bool:
    return any(indexed.store.file(path) is not None for indexed in trees)


def nothing_refers(trees: Sequence[IndexedTree], name: str) -> PtexploreError:
    """Returns the error for a name that nothing refers to: the trees that were searched, and the closest names."""
    close = nearest_names(trees, name)
    searched = ", ".join(indexed.tree.info.label for indexed in trees) or "nothing, because there is no tree"
    why = f"searched: {searched}" + (f"; the closest names are {', '.join(close)}" if close else "")
    hint = f"ptexplore refs {shlex.quote(close[0])}" if close else f"ptexplore find --text {shlex.quote(name)}"
    return PtexploreError(f"nothing refers to {name}, and nothing has this name", why, hint, FAILED)


def _uses(
    indexed: IndexedTree,
    asked: Asked,
    left_out: _LeftOut,
    known_before: Callable[[str], bool],
    certainty: _Certainty,
) -> Iterator[_Raw]:
    """Yields the uses of the name in one tree's index, without those whose qualifier means something else.

    A function that says `override` is no use of itself.
    """
    for row in _rows(indexed, asked):
        named = row.name in asked.row_names and (asked.row_kinds is None or row.kind in asked.row_kinds)
        if row.target is not None and not named and not fits(asked, row.path, row.target):
            if not known_before(row.path):
                left_out.take(row.path, row.line, row.target)
        else:
            yield _raw_row(indexed, row, row.name if named else "")
    for last in asked.lasts:
        for ref in indexed.store.refs(last):
            if ref.kind == "override" and ref.target is None and certainty.is_own(ref.text):
                if not known_before(ref.path):
                    left_out.own.add((ref.path, ref.line))
            elif fits(asked, ref.path, ref.text, ref.target):
                yield _raw_ref(indexed, ref)
            elif _may_override(asked, ref, certainty.overrides):
                yield _raw_ref(indexed, ref)._replace(overriding=True)
            elif asked.tellable and last not in _NOBODYS and not known_before(ref.path):
                left_out.take(ref.path, ref.line, split_target(ref.target)[0] if ref.target else ref.text)


def _may_override(asked: Asked, ref: Ref, overrides: Callable[[str], bool | None]) -> bool:
    """Whether a member function of another class may override the function asked for."""
    own = asked.member and ref.kind == "override" and ref.target is None
    return own and overrides(ref.text) is not False


def _raw_ref(indexed: IndexedTree, ref: Ref) -> _Raw:
    group = "tests" if is_test_file(ref.path) else _OF_REF.get(ref.kind, "calls")
    how = "resolved" if ref.extractor == "libclang" and ref.target else "name-matched"
    parameters = split_target(ref.target)[1] if how == "resolved" and ref.target else ""
    return _Raw(indexed, group, ref.path, ref.line, how, ref.text, parameters and f"{ref.name}{parameters}", ref)


def _rows(indexed: IndexedTree, asked: Asked) -> Iterator[Dialect]:
    """Yields the rows with that name (a stub, an operator), and the rows that register the function of that name."""
    rows = chain.from_iterable(indexed.store.dialect(name, asked.row_kinds) for name in asked.row_names)
    targeting = chain.from_iterable(map(indexed.store.dialect_targeting, asked.lasts))
    yield from dict.fromkeys(chain(rows, targeting))


def _raw_row(indexed: IndexedTree, row: Dialect, row_name: str) -> _Raw:
    group = DIALECT_KINDS[row.kind].group
    context = " ".join((row.context or "").split())
    context = context if len(context) <= LONGEST else f"{context[:LONGEST]}…"
    detail = f"{row.name}, {context}" if context else row.name
    return _Raw(indexed, "tests" if is_test_file(row.path) else group, row.path, row.line, row.macro or row.kind,
                row.target or row.name, detail, row_name=row_name)  # fmt: skip


def _use_group(name: str, raw: Sequence[_Raw], limit: int | None, *, certain: bool) -> UseGroup:
    """Group lines in the order of their places. The text of a line is read only if the line is shown."""
    ordered = sorted(raw, key=lambda use: (use.path, use.line))
    overriding = sum(use.overriding for use in raw)
    return UseGroup(name, tuple(map(_use, islice(ordered, limit))), len(raw), certain, overriding)


def _use(raw: _Raw) -> NameUse:
    indexed = raw.indexed
    line = indexed.tree.line(raw.path, raw.line)
    inside = indexed.store.enclosing(raw.path, raw.line)
    # The function that the macro on the line makes is not around the line.
    own = inside is None or inside.kind == "namespace" or (inside.macro is not None and inside.line == raw.line)
    name = None if own or inside is None else inside.qualified
    text = shortened(line, raw.written.rsplit("::", 1)[-1]) if line is not None else ""
    return NameUse(spot(indexed, raw.path, raw.line), text, name, raw.how, raw.written, raw.detail, raw.certain)


def _defined(
    trees: Sequence[IndexedTree], asked: Asked, limit: int | None
) -> tuple[tuple[tuple[str, str, Spot], ...], int]:
    """Returns the definitions with the name, else its declarations, and how many are beyond the limit."""
    definitions = [(n, s) for n, s in asked.symbols if s.role == "definition"]
    together = merged(trees, definitions or asked.symbols)
    shown = []
    for places in together[:limit]:
        number, symbol = min(places, key=lambda place: place[0])
        kind = f"{symbol.kind}, #if {' and '.join(symbol.guards)}" if symbol.guards else symbol.kind
        shown.append((f"{symbol.qualified}{symbol.signature}", kind, symbol_spot(trees[number], symbol)))
    return tuple(shown), len(together) - len(shown)


def _remarks(
    asked: Asked,
    shown: Iterable[NameUse],
    left: tuple[int, int],  # lines that mean something else, and lines whose meaning is not known
    meanings: Counter[str],
    copies: Iterable[str],
    definitions: int,
) -> Iterator[AnswerRemark]:
    if any(left):
        yield MeanOther(*left, tuple(meanings.most_common(4)), len(meanings))
    if any(use.how == "name-matched" for use in shown):
        yield FoundByName(definitions)
    kinds = {s.kind for _number, s in asked.symbols}
    if kinds & {"class", "struct", "union", "enum", "typedef"}:
        yield TypesNotIndexed(asked.lasts[0])
    elif kinds and kinds <= VALUES:
        yield ValuesNotIndexed(asked.lasts[0])
    for name in copies:
        yield CopiesNotSearched(name.split(" ")[0], name)


def _changed_files(trees: Sequence[IndexedTree], shown: Sequence[NameUse]) -> Iterator[AnswerRemark]:
    by_name = {indexed.tree.info.name: indexed for indexed in trees}
    files = {(use.spot.tree.name, use.spot.ref.path) for use in shown}
    stale = [path for tree, path in files if path is not None and changed(by_name[tree], path)]
    if stale:
        yield FilesChanged(len(stale), tuple(sorted(stale)[:3]))


Scope = tuple[str, ...]

_NAMED_IN_CPP = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.cpp_name)
_CLASSES = ("class", "struct", "union", "enum")


@dataclass(frozen=True, slots=True)
class Asked:
    """A name whose uses are wanted.

    `lasts` are the last parts under which its uses are indexed. `cpp` and `python` are the containers that it may be
    in, each as a tuple of parts. `operators` are its spellings as an operator in Python ("aten", "add", "Tensor"). If
    all three are empty, the name was not qualified, and every use of the name counts. `member` is False if every C++
    symbol of the name is in a namespace: then `x.f()` cannot mean it.

    `row_names` are its names in rows of the dialect, and `row_kinds` the kinds of these rows (None: any kind). A row
    for "add" is an operator or a method, but not at::native::add. A row of C++ is not torch._C.TensorBase.add.
    """

    name: str
    lasts: tuple[str, ...]
    symbols: tuple[tuple[int, Symbol], ...] = ()
    cpp: tuple[Scope, ...] = ()
    python: tuple[Scope, ...] = ()
    operators: tuple[Scope, ...] = ()
    member: bool = True
    row_names: tuple[str, ...] = ()
    row_kinds: tuple[str, ...] | None = None

    @property
    def tellable(self) -> bool:
        """Whether left-out uses are worth a remark. The name of an overload ("Tensor") by itself says nothing."""
        return not self.operators or len(self.operators[0]) < 3

    @property
    def qualified(self) -> bool:
        """Whether the qualifier of a use can contradict the name."""
        return bool(self.cpp or self.python or self.operators)


def asked_for(trees: Sequence[IndexedTree], name: str) -> Asked:
    """Look up `name` in the trees: its symbols with their trees' numbers, their containers, and its rows."""
    plain = pasted(name).removeprefix("::")
    parts = _parts(plain)
    if len(parts) < 2:
        return Asked(name, (plain,), _symbols(trees, plain, exact=False), row_names=(plain, f"aten::{plain}"))
    exact = _symbols(trees, plain, exact=True)
    public = () if exact else tuple((number, symbol) for number, symbol, _way in public_symbols(trees, plain))
    symbols = exact or public or _symbols(trees, plain, exact=False)
    full_name = plain if "::" in plain else f"aten::{plain}"
    operator = full_name if any(indexed.store.dialect(full_name) for indexed in trees) else None
    spelled = tuple(operator.replace("::", ".").split(".")) if operator else ()
    operators = ((spelled, (*spelled, "default")) if len(spelled) == 2 else (spelled,)) if operator else ()
    known = {_parts(symbol.qualified)[:-1] for _number, symbol in symbols}
    if public:
        known.add(parts[:-1])  # most people write nn.Conv2d, not torch.nn.modules.conv.Conv2d
    containers = tuple(sorted(known)) or (() if operator else (parts[:-1],))
    in_cpp = "::" in plain
    lasts = [parts[-1]] if containers else []
    return Asked(
        name=name,
        lasts=tuple(dict.fromkeys((*lasts, *(spelling[-1] for spelling in operators)))),
        symbols=symbols,
        cpp=containers if in_cpp else (),
        python=() if in_cpp else containers,
        operators=operators,
        member=_may_be_member(trees, symbols, containers),
        row_names=(operator, plain) if operator else (plain, parts[-1]),
        row_kinds=None if operator else _NAMED_IN_CPP if in_cpp else (),
    )


def _symbols(trees: Sequence[IndexedTree], name: str, *, exact: bool) -> tuple[tuple[int, Symbol], ...]:
    pairs = symbols_called(trees, name, exact=exact)
    return tuple((number, symbol) for number, symbol in pairs if symbol.kind != "namespace")


def _may_be_member(
    trees: Sequence[IndexedTree], symbols: Sequence[tuple[int, Symbol]], containers: Sequence[Scope]
) -> bool:
    """Whether the name may be reached through an object. If that is not known, the answer is yes."""
    if not symbols:
        return True
    for container in filter(None, containers):
        name = "::".join(container)
        kinds = {kind for indexed in trees for kind in indexed.store.kinds_of(name)}
        if not kinds or kinds & set(_CLASSES):
            return True
    return False


@lru_cache(maxsize=65536)
def _parts(name: str) -> Scope:
    """Split a qualified name into its parts, without template arguments; a Python name at its dots."""
    parts = name_parts(name)
    return parts if len(parts) > 1 or "operator" in name else tuple(name.split("."))


def split_target(target: str) -> tuple[str, str]:
    """Split a `Ref.target` into the qualified name and the parameter list ("" if the overload is not known)."""
    at = target.find("(", target.find("operator()") + len("operator()") if "operator()" in target else 0)
    return (target[:at], target[at:]) if at >= 0 else (target, "")


def asked_exactly(qualified: str, name: str, *, python: bool, member: bool) -> Asked:
    """Returns the question for one definition.

    `name` is the last part of `qualified`. `member` says that it belongs to a class.
    """
    container = qualified[: len(qualified) - len(name)].rstrip(":.")
    if not container:
        return Asked(qualified, (name,))
    scope = _parts(container)
    return Asked(qualified, (name,), cpp=() if python else (scope,), python=(scope,) if python else (), member=member)


def spelling(name: str, text: str, *, python: bool) -> str:
    """Reduce the text of a use to the part that `fits` reads. All C++ uses through an object become one spelling."""
    if python or text == name:
        return text
    if ("." in text or "->" in text) and "operator" not in text:
        return f"_.{name}"
    return "::".join(part for part in _parts(text) if part)


def fits(asked: Asked, path: str, text: str, target: str | None = None) -> bool:
    """Whether a use written as `text` in the file `path` can mean the name asked for.

    `target` is the meaning that a semantic reader found. If there is one, only it decides.
    """
    if not asked.qualified:
        return True
    if target is not None:
        return _parts(split_target(target)[0])[:-1] in (*asked.cpp, *asked.python)
    if asked.operators or path.endswith((".py", ".pyi")):
        written = tuple(text.split("."))
        if any(written[-len(spelling) :] == spelling for spelling in asked.operators):
            return True
        if path.endswith((".py", ".pyi")):
            return any(_python_agrees(written[:-1], container) for container in asked.python)
    return bool(asked.cpp) and _cpp_fits(asked, text)


def _cpp_fits(asked: Asked, text: str) -> bool:
    if ("." in text or "->" in text) and "operator" not in text:  # through an object
        return asked.member
    written = tuple(part for part in _parts(text)[:-1] if part)
    return not written or any(_agree(written, container) for container in asked.cpp)


def _agree(written: Scope, container: Scope) -> bool:
    """Whether one is the end of the other. The outer parts may be missing, since lookup goes from the inside out."""
    shorter = min(len(written), len(container))
    return bool(shorter) and written[-shorter:] == container[-shorter:]


def _python_agrees(written: Scope, container: Scope) -> bool:
    """Like `_agree`. But a single word may be an alias or an object, unless it is the name of the package."""
    if len(written) == 1:
        return written != container[:1] or len(container) == 1
    return not written or _agree(written, container)
