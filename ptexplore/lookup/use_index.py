"""Gathers the uses in the files of a site, file by file, and gives them by name, as `refs` finds them.

view/site/uses.py describes the entry of a name. Uses are found by name; the spelling of a use says whether it can mean
a certain definition. Calls, bases and overrides follow the rule for links (lookup/link_targets.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import NamedTuple, TypeVar

from ptexplore.lazy import lazy, remembered
from ptexplore.lookup.calls import MOST, rank
from ptexplore.lookup.link_targets import (
    CLASSES,
    PYTHON,
    DefinitionsByName,
    LinkTarget,
    Meaning,
    by_qualified,
    count_definitions,
    is_own,
    scopes_by_line,
)
from ptexplore.lookup.overrides import OverrideReader
from ptexplore.lookup.refs import VALUES, asked_exactly, fits, spelling
from ptexplore.lookup.use_meaning import FileReader, Reading, UseReader, may_mean, without_constructor
from ptexplore.model.symbols import DIALECT_KINDS, Dialect
from ptexplore.safe_text import clean
from ptexplore.source.canonical import is_made
from ptexplore.store.index.site import SiteDefinition, SiteUse

LISTED = 300  # lines that are listed for one name
TEXT = 140  # characters of a line that are shown
_LETTERS = {"call": "c", "address": "a", "override": "o", "inherit": "i", "macro": "m", "yaml": "y", "import": "p"}
REGISTRATION = "r"
_ORDER = {letter: number for number, letter in enumerate("racoimyp")}  # the first that a line has counts
_CALLER = frozenset({"function", "macro"})

At = tuple[str, int]  # the path and line of a definition


class LineOfUse(NamedTuple):
    """A line that uses a name. `kind` is a letter (view/site/uses.py), `inside` the function around the line, or ""."""

    line: int
    kind: str
    spelling: int  # number of the name's spelling
    inside: str
    text: str


class CalledPlace(NamedTuple):
    """A definition that is called, or inherited from. If it is one of several `choices`, it has only a name."""

    name: str
    at: At | None
    line: int  # the line of the call in the caller's file
    choices: int = 1
    sure: bool = True


class CallingPlace(NamedTuple):
    """A function that calls: its definition, and the line of its call. `at` has line 0 for a file's own calls."""

    name: str
    at: At
    line: int
    sure: bool


class Way(NamedTuple):
    """How a use is written: its spelling, the target that a semantic reader found, and the reading of its line."""

    spelling: str
    target: str | None
    reading: Reading
    is_row: bool = False  # a row of the dialect


@dataclass(slots=True)
class UsesOfFile:
    """The uses in one file: by name, with kind, spelling and lines; the calls by caller; the bases by class.

    `lines` has, for each line with a use, the function around it and its text; None for a file whose text is not shown.
    """

    path: str
    with_text: bool = True
    uses: list[tuple[str, str, Way, list[int]]] = field(default_factory=list)
    lines: dict[int, tuple[str, str]] | None = None
    calls: list[tuple[CallingPlace, CalledPlace, tuple[At, ...]]] = field(default_factory=list)
    bases: list[tuple[str, At, CalledPlace, tuple[At, ...]]] = field(default_factory=list)


def file_uses(
    reader: UseReader, path: str, read: Callable[[], str | None], wanted: frozenset[str], *, on_site: bool
) -> UsesOfFile:
    """Gather the uses in one file of the names in `wanted`. A file that is not `on_site` gives only its line numbers.

    `read` returns the text, or None if the file differs from the one that was indexed. The text of a file that is not
    `on_site` and uses none of these names is not read: half of all files.
    """
    names = reader.names
    uses = [use for use in names.uses(path, None if on_site else wanted) if use.kind in _LETTERS]
    if not uses and not on_site:
        return UsesOfFile(path)
    text = read()
    gathered = UsesOfFile(path, with_text=text is not None)
    file = reader.of_file(path, text)
    shown = text is not None and on_site
    local = file.local_names() if shown else frozenset()  # all at once: the calls need them, too
    soles: dict[At, str] = {}  # by name and line of a call: the only thing that it can mean
    for use in uses:
        if use.name not in wanted:
            continue
        for way, numbers in _ways(file, path, use):
            gathered.uses.append((use.name, _LETTERS[use.kind], way, numbers))
            if use.kind == "call" and way.reading.sole is not None:
                soles.update(((use.name, line), way.reading.sole) for line in numbers)
    if text is None or not shown:
        return gathered
    lines = text.split("\n")
    symbols = names.defined(path)
    around = _around(symbols, _CALLER, len(lines) + 2)
    used = {line for _name, _letter, _way, numbers in gathered.uses for line in numbers}
    gathered.lines = {line: (_qualified(around, line), _shown(lines, line)) for line in sorted(used)}
    _add_calls(gathered, reader, uses, local, symbols, around, soles)
    _add_bases(gathered, names, uses, symbols, len(lines) + 2)
    return gathered


def _ways(file: FileReader, path: str, use: SiteUse) -> Iterable[tuple[Way, list[int]]]:
    """Group the lines of a use by the reading of each line."""
    spelled = spelling(use.name, use.text, python=path.endswith(PYTHON))
    return [(Way(spelled, use.target, reading), lines) for reading, lines in file.read_lines(use).items()]


def _around(symbols: Sequence[SiteDefinition], kinds: frozenset[str], lines: int) -> list[SiteDefinition | None]:
    """Returns the innermost definition of these kinds around each line."""
    around: list[SiteDefinition | None] = [None] * lines
    wanted = [symbol for symbol in symbols if symbol.kind in kinds and not symbol.declared]
    for symbol in sorted(wanted, key=lambda symbol: (symbol.begin, -symbol.end_line)):
        end = min(symbol.end_line + 1, lines)
        around[symbol.begin : end] = [symbol] * max(0, end - symbol.begin)
    return around


def _qualified(around: Sequence[SiteDefinition | None], line: int) -> str:
    symbol = around[line] if line < len(around) else None
    return symbol.qualified if symbol is not None else ""


def _shown(lines: Sequence[str], line: int) -> str:
    return _shortened(lines[line - 1]) if 0 < line <= len(lines) else ""


def _shortened(line: str) -> str:
    text = clean(line).strip()
    return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"


def _add_calls(
    gathered: UsesOfFile, reader: UseReader, uses: Sequence[SiteUse], local: Collection[str],
    symbols: Sequence[SiteDefinition], around: Sequence[SiteDefinition | None], soles: Mapping[At, str],
) -> None:  # fmt: skip
    """Add the first call of each definition in each function.

    If the link is not sure, the only possible meaning (`soles`, by name and line) decides. This finds members of bases.
    """
    path, names = gathered.path, reader.names
    scopes = [] if path.endswith(PYTHON) else scopes_by_line(symbols, len(around))
    seen: set[tuple[int, tuple[At, ...]]] = set()
    for use in uses:
        if use.kind != "call":
            continue
        hidden = use.text == use.name and use.name in local
        known: dict[str, tuple[Meaning, tuple[At, ...]] | None] = {}
        for line in use.lines:
            scope = scopes[line] if line < len(scopes) else ""
            if scope not in known:
                meaning = names.meant(use, path, scope)
                known[scope] = (meaning, _places(meaning)) if meaning is not None else None
            meant_there = known[scope]
            sole = soles.get((use.name, line))
            if sole is not None and (meant_there is None or not meant_there[0].sure):
                only = reader.meaning(use.name, sole)
                meant_there = (only, _places(only)) if only is not None else meant_there
            if meant_there is None:
                continue
            meant, places = meant_there
            caller = around[line] if line < len(around) else None
            at = (path, caller.line if caller is not None else 0)
            if (at[1], places) not in seen:
                seen.add((at[1], places))
                sure = meant.sure and not hidden
                name = caller.qualified if caller is not None else ""
                gathered.calls.append(
                    (CallingPlace(name, at, line, sure), _called(use, meant, line, sure=sure), places)
                )


def _add_bases(
    gathered: UsesOfFile,
    names: DefinitionsByName,
    uses: Sequence[SiteUse],
    symbols: Sequence[SiteDefinition],
    lines: int,
) -> None:
    """Add the bases of each class."""
    inherits = [use for use in uses if use.kind == "inherit"]
    if not inherits:
        return
    classes = _around(symbols, CLASSES, lines)
    for use in inherits:
        for line in use.lines:
            symbol = classes[line] if line < len(classes) else None
            if symbol is None:
                continue
            scope = symbol.container.rstrip(":.")
            meant = names.meant(use, gathered.path, scope)
            at = (gathered.path, symbol.line)
            if meant is None:
                gathered.bases.append((symbol.qualified, at, CalledPlace(use.text, None, line, 0, sure=False), ()))
            else:
                called = _called(use, meant, line, sure=meant.sure)
                gathered.bases.append((symbol.qualified, at, called, _places(meant)))


def _places(meant: Meaning) -> tuple[At, ...]:
    return tuple((place.path, place.definition.line) for place in meant.places)


def _called(use: SiteUse, meant: Meaning, line: int, *, sure: bool) -> CalledPlace:
    if sure and len(meant.places) == 1:
        only = meant.places[0]
        return CalledPlace(only.definition.qualified, (only.path, only.definition.line), line)
    only_one = _places(meant)[0] if len(meant.places) == 1 else None
    return CalledPlace(use.text, only_one, line, len(meant.places), sure=False)


class SiteUses:
    """All uses in the files of a site, by name. `pages` has the URL of each file by its path."""

    def __init__(self, reader: UseReader, pages: Mapping[str, str]) -> None:
        self._reader = reader
        self._names = reader.names
        self._overriding = OverrideReader(reader)
        self._pages = pages
        self._uses: defaultdict[str, list[tuple[str, str, Way, list[int]]]] = defaultdict(list)
        self._elsewhere: defaultdict[str, list[tuple[str, str, Way, list[int]]]] = defaultdict(list)
        self._lines: dict[str, dict[int, tuple[str, str]]] = {}  # by path and line: function around it, text
        self._rows: dict[tuple[str, int, Way], tuple[str, str]] = {}  # a row's name and context; its line's text
        self._callers: defaultdict[At, list[CallingPlace]] = defaultdict(list)
        self._callees: defaultdict[At, list[CalledPlace]] = defaultdict(list)
        self._bases: defaultdict[At, list[CalledPlace]] = defaultdict(list)
        self._derived: defaultdict[At, list[CallingPlace]] = defaultdict(list)

    def take(self, file: UsesOfFile) -> None:
        """Add the uses of one file."""
        uses = self._elsewhere if file.lines is None else self._uses
        for name, letter, way, numbers in file.uses:
            uses[name].append((file.path, letter, way, numbers))
        if file.lines is not None:
            self._lines[file.path] = file.lines
        for caller, called, places in file.calls:
            self._callees[caller.at].append(called)
            for place in places:
                self._callers[place].append(caller)
        for name, at, called, places in file.bases:
            self._bases[at].append(called)
            for place in places:
                self._derived[place].append(CallingPlace(name, at, called.line, called.sure))

    def take_rows(self, rows: Iterable[Dialect], lines: Mapping[At, str]) -> None:
        """Add rows that register a function, or that have a C++ name.

        `lines` has the text of each line on a page of the site.
        """
        for row in rows:
            text = lines.get((row.path, row.line))
            named = [row.target] if row.target else []
            named += [row.name] if DIALECT_KINDS[row.kind].cpp_name else []
            detail = ", ".join(filter(None, (row.name, " ".join((row.context or "").split())[:TEXT])))
            for name in named:
                last = name.replace(".", "::").rsplit("::", 1)[-1]
                way = Way(name, None, Reading(self._reader.sole_row(name, last)), is_row=True)
                if text is None:
                    self._elsewhere[last].append((row.path, REGISTRATION, way, [row.line]))
                    continue
                self._uses[last].append((row.path, REGISTRATION, way, [row.line]))
                self._rows.setdefault((row.path, row.line, way), (detail, _shortened(text)))

    def names(self) -> list[str]:
        """Returns the names that get an entry: they are used, or a definition with that name calls or inherits."""
        calling = {
            symbol.name
            for path in self._pages
            for symbol in self._names.defined(path)
            if (path, symbol.line) in self._callees or (path, symbol.line) in self._bases
        }
        return sorted(calling.union(self._uses))

    def entry(self, name: str) -> NameEntry:
        """Returns the facts that the site shows about one name."""
        definitions = [place for place in self._names.places(name) if place.path in self._pages]
        definitions.sort(key=lambda place: (place.definition.declared, is_made(place.path), place.tree))
        defined = {place.definition.qualified for place in definitions if not place.definition.declared}
        definitions = [
            place for place in definitions if not (place.definition.declared and place.definition.qualified in defined)
        ]
        spellings = _Spellings(name, self._reader, self._overriding)
        counts = _Counts()
        by_file: defaultdict[str, dict[tuple[int, int], str]] = defaultdict(dict)
        for path, letter, way, numbers in self._uses.get(name, ()):
            number = spellings.number(way, python=path.endswith(PYTHON), overriding=letter == "o")
            counts.take(number, path, numbers)
            kinds = by_file[path]
            for line in numbers:
                known = kinds.setdefault((line, number), letter)
                if known != letter and _ORDER[letter] < _ORDER[known]:
                    kinds[line, number] = letter
        others: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for path, letter, way, numbers in self._elsewhere.get(name, ()):
            number = spellings.number(way, python=path.endswith(PYTHON), overriding=letter == "o")
            counts.take(number, path, numbers)
            others[path].update([(line, number) for line in numbers])
        counts.close()
        near = definitions[0].path if definitions else ""
        listed, more = _listed(by_file, near)
        files = [
            (path, [self._line(path, key, by_file[path][key], spellings.way(key[1])) for key in keys])
            for path, keys in listed
        ]
        outside = _listed(others, near)
        same = _Same(self._names.places(name))
        rows = [self._row(place.path, place.definition, spellings, counts, same) for place in definitions]
        return NameEntry(name, files, more, counts.all, rows, list(spellings.resolved), *outside)

    def _line(self, path: str, key: tuple[int, int], kind: str, way: Way) -> LineOfUse:
        line, number = key
        inside, text = self._rows[path, line, way] if way.is_row else self._lines[path][line]
        return LineOfUse(line, kind, number, inside, text)

    def _row(
        self, path: str, definition: SiteDefinition, spellings: _Spellings, counts: _Counts, same: _Same
    ) -> DefinitionRow:
        at = (path, definition.line)
        container = definition.container.rstrip(":.")
        member = self._names.is_class(container) if container else True
        callers, callees = self._callers.get(at, []), self._callees.get(at, [])
        ranks = {caller_path: rank(caller_path, path) for caller_path in {caller.at[0] for caller in callers}}
        ranked = nsmallest(MOST, callers, key=lambda caller: (ranks[caller.at[0]], caller.line))
        ordered = nsmallest(MOST, callees, key=lambda called: (not called.sure, called.line))
        python = path.endswith(PYTHON)
        fitting, certain = spellings.fitting(definition, python=python, member=member)
        only = path if is_own(path, static=definition.static) else ""
        used = counts.of(fitting, only)
        overriders, maybe = ([], []) if python or not member or fitting is None else spellings.overriders(definition)
        overridden = counts.of([*(fitting or ()), *overriders, *maybe], only) - used if overriders or maybe else 0
        may_override = overridden + used - counts.of([*(fitting or ()), *overriders], only) if maybe else 0
        silent = () if python or not member or only else self._overriding.silent(definition.qualified)
        unsaid = len({(place.path, place.definition.line) for place in silent})
        own = spellings.own(definition)
        own_lines = counts.of([*(fitting or ()), *own], only) - used if own else 0
        return DefinitionRow(
            definition.qualified, definition.kind, at, definition.declared,
            fitting, used, certain, counts.of(certain, only) if certain is not None else None,
            ranked, len(callers) - len(ranked), ordered, len(callees) - len(ordered),
            bool(only), same.count(definition.qualified, only),
            self._bases.get(at, []), self._derived.get(at, []),
            *self._overrides(definition, spellings.overriding, silent),
            overridden + unsaid, may_override,
            not only and self._reader.bearers(definition.name).are_all((without_constructor(definition.qualified),)),
            own_lines - unsaid,
        )  # fmt: skip

    def _overrides(
        self, definition: SiteDefinition, saying: set[str], silent: Sequence[LinkTarget]
    ) -> tuple[list[CallingPlace], list[CallingPlace]]:
        """Returns the functions that override a member function in classes below, and those that it overrides."""
        unsaid = [
            CallingPlace(
                place.definition.qualified, (place.path, place.definition.line), place.definition.line, sure=True
            )
            for place in silent
        ]
        if not saying or not definition.container:
            return unsaid, []
        qualified = definition.container[:-2]
        overriding = [each for each in self._same_in(definition, self._classes_below(qualified)) if each.name in saying]
        overridden = self._same_in(definition, self._classes_above(qualified)) if definition.qualified in saying else []
        return [*overriding, *unsaid], overridden

    def _class(self, qualified: str) -> list[At]:
        return [
            (place.path, place.definition.line)
            for place in self._names.places(qualified.rpartition("::")[2])
            if place.definition.qualified == qualified and place.definition.kind in CLASSES
        ]

    @remembered
    def _classes_below(self, qualified: str) -> set[str]:
        """Returns the qualified names of all classes that certainly inherit from this one, at any depth."""
        names: set[str] = set()
        pending = self._class(qualified)
        while pending:
            for derived in self._derived.get(pending.pop(), ()):
                if derived.sure and derived.name not in names:
                    names.add(derived.name)
                    pending.append(derived.at)
        return names

    @remembered
    def _classes_above(self, qualified: str) -> set[str]:
        """Returns the qualified names of all classes that this one certainly inherits from, at any depth."""
        names: set[str] = set()
        pending = self._class(qualified)
        while pending:
            for base in self._bases.get(pending.pop(), ()):
                if base.sure and base.at is not None and base.name not in names:
                    names.add(base.name)
                    pending.append(base.at)
        return names

    def _same_in(self, definition: SiteDefinition, classes: set[str]) -> list[CallingPlace]:
        """Returns the functions with the name of a definition in these classes."""
        by_class = self._members(definition.name) if classes else {}
        return [
            CallingPlace(
                place.definition.qualified, (place.path, place.definition.line), place.definition.line, sure=True
            )
            for name in sorted(classes.intersection(by_class))
            for place in by_class[name]
        ]

    @remembered
    def _members(self, name: str) -> dict[str, list[LinkTarget]]:
        """Returns the functions with that name, by their container."""
        by_class: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for place in self._names.places(name):
            if place.definition.kind == "function":
                by_class[place.definition.container[:-2]].append(place)
        return dict(by_class)


class _Spellings:
    """The spellings of one name, by number. Those that can mean a definition are found by its container."""

    def __init__(self, name: str, reader: UseReader, overriding: OverrideReader) -> None:
        self._name = name
        self._overriding = overriding
        self._bearers = reader.bearers(name)
        self._ways: list[tuple[bool, Way]] = []
        self._numbers: dict[tuple[bool, Way, bool], int] = {}
        self._overriders: list[tuple[int, str]] = []  # each with the qualified name of the function
        # Spellings without a C++ container, by whether they are Python; then spellings that a semantic reader resolved.
        self._open: dict[bool, list[tuple[int, str]]] = {False: [], True: []}
        self._targeted: list[tuple[int, bool, str, str]] = []
        self._by_last: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self.overriding: set[str] = set()
        self.resolved: list[int] = []
        self._fitting: dict[tuple[str, bool, bool, bool], tuple[list[int] | None, list[int] | None]] = {}

    def number(self, way: Way, *, python: bool, overriding: bool) -> int:
        """Returns the number of a spelling. For a function that overrides, the spelling is its own qualified name."""
        spelled, target = way.spelling, way.target
        if overriding:
            self.overriding.add(spelled)
        key = (python, way, overriding)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._ways.append((python, way))
            if overriding and target is None:
                self._overriders.append((number, spelled))
            if target is not None:
                self.resolved.append(number)
            container = spelled[: -len(self._name) - 2] if spelled.endswith(f"::{self._name}") else ""
            if target is not None:
                self._targeted.append((number, python, spelled, target))
            elif python or not container:
                self._open[python].append((number, spelled))
            else:
                self._by_last[container.rpartition("::")[2]].append((number, spelled))
        return number

    def way(self, number: int) -> Way:
        """Returns the spelling with that number."""
        return self._ways[number][1]

    def own(self, definition: SiteDefinition) -> list[int]:
        """Returns the numbers of the spellings in which a definition itself says `override`. They are no uses of it."""
        return [number for number, spelled in self._overriders if spelled == definition.qualified]

    def overriders(self, definition: SiteDefinition) -> tuple[list[int], list[int]]:
        """Returns the numbers of the functions in other classes that override a member function or may."""
        own = (definition.container.rstrip(":"),)
        possible = [(number, self._overriding.overrides(other, own)) for number, other in self._overriders]
        return [number for number, sure in possible if sure], [number for number, sure in possible if sure is None]

    def fitting(
        self, definition: SiteDefinition, *, python: bool, member: bool
    ) -> tuple[list[int] | None, list[int] | None]:
        """Returns the spellings that can mean a definition, and those that can mean nothing else, as numbers.

        The first is None if every spelling can mean it; the second is None if that is not known. All spellings must
        have their numbers before.
        """
        key = (definition.qualified, python, member, definition.kind in VALUES)
        if key not in self._fitting:
            self._fitting[key] = self._fit(definition, python=python, member=member)
        return self._fitting[key]

    def _fit(
        self, definition: SiteDefinition, *, python: bool, member: bool
    ) -> tuple[list[int] | None, list[int] | None]:
        asked = asked_exactly(definition.qualified, definition.name, python=python, member=member)
        if not asked.qualified:
            if self._bearers.others(definition.qualified):
                return None, None
            numbers = list(range(len(self._ways)))
        else:
            numbers = [n for n, of_py, text, to in self._targeted if fits(asked, ".py" if of_py else "", text, to)]
            # A spelling in one language cannot mean a definition in the other, unless a semantic reader resolved it.
            numbers += [n for n, text in self._open[python] if fits(asked, ".py" if python else "", text)]
            last = definition.container.rstrip(":").rpartition("::")[2]
            numbers += [number for number, text in self._by_last.get(last, ()) if fits(asked, "", text)]
        meant = (without_constructor(definition.qualified),)
        kept = [number for number in sorted(set(numbers).difference(self.own(definition))) if self._may(number, meant)]
        sole = meant if definition.kind not in VALUES else ()  # for a value, only its name speaks
        ways = self._ways
        certain = [n for n in kept if ways[n][1].target is not None or ways[n][1].reading.sole in sole]
        return None if len(kept) == len(self._ways) else kept, certain

    def _may(self, number: int, meant: tuple[str]) -> bool:
        python, way = self._ways[number]
        return way.is_row or way.target is not None or may_mean(None if python else self._bearers, meant, way.reading)


class _Counts:
    """The number of lines that use a name, by spelling."""

    def __init__(self) -> None:
        self._at: defaultdict[str, dict[int, frozenset[int]]] = defaultdict(dict)  # by path and line
        self._lines: Counter[int] = Counter()
        self._several: Counter[frozenset[int]] = Counter()  # lines with several spellings, by the set of spellings

    def take(self, number: int, path: str, lines: Sequence[int]) -> None:
        """Add the lines of one file with the spelling of this number."""
        alone = frozenset((number,))
        taken = self._at[path]
        for line in lines:
            before = taken.setdefault(line, alone)
            if before is not alone:
                taken[line] = before | alone

    def close(self) -> None:
        """Sum up, after all lines were added."""
        together: Counter[frozenset[int]] = Counter()
        for taken in self._at.values():
            together.update(taken.values())
        for numbers, lines in together.items():
            for number in numbers:
                self._lines[number] += lines
        self._several = Counter({numbers: lines for numbers, lines in together.items() if len(numbers) > 1})

    @remembered  # one file may define a name a thousand times, and use it as often
    def _in_file(self, path: str) -> Counter[frozenset[int]]:
        """Returns how many lines of a file have exactly each set of spellings."""
        return Counter(self._at[path].values()) if path in self._at else Counter()

    @lazy
    def all(self) -> int:
        """The number of lines with the name, in any spelling."""
        return sum(map(len, self._at.values()))

    def of(self, fitting: Sequence[int] | None, only: str = "") -> int:
        """Count the lines with one of these spellings (None: any spelling), in all files or in the file `only`."""
        if only:
            if fitting is None:
                return len(self._at.get(only, ()))
            ways = set(fitting)
            return sum(lines for numbers, lines in self._in_file(only).items() if not ways.isdisjoint(numbers))
        if fitting is None:
            return self.all
        ways = set(fitting)
        twice = sum(max(0, len(numbers & ways) - 1) * lines for numbers, lines in self._several.items())
        return sum(self._lines[number] for number in ways) - twice


class _Same:
    """The number of definitions of one name with the same qualified name, on the site or not."""

    def __init__(self, places: Sequence[LinkTarget]) -> None:
        self._by_name = by_qualified(places) if len(places) > 1 else {}

    @remembered  # one file may define a name a thousand times
    def count(self, qualified: str, only: str) -> int:
        """Returns the count for a qualified name. `only` is the file that sees it, if no other file does."""
        return count_definitions(self._by_name.get(qualified, ()), only) or 1


class DefinitionRow(NamedTuple):
    """The facts about a definition of a name.

    `fitting` are the numbers of the spellings that can mean it (None: all). `certain` are those that can mean nothing
    else (None: not known). `used` and `sure` count the lines of both as `refs` does, on the site or not.
    """

    qualified: str
    kind: str
    at: At
    declared: bool
    fitting: list[int] | None
    used: int
    certain: list[int] | None
    sure: int | None
    callers: list[CallingPlace]
    more_callers: int
    callees: list[CalledPlace]
    more_callees: int
    is_own: bool  # only its own file sees it
    same: int  # number of definitions with the same qualified name
    bases: list[CalledPlace]
    derived: list[CallingPlace]
    overridden_by: list[CallingPlace]
    overrides: list[CallingPlace]
    overridden: int  # lines of functions that override it or may; they are no uses, and mean nothing else
    may_override: int  # the part of these that only may: not all bases of their classes are known
    is_sole: bool  # nothing else has the name
    aside: int  # lines that are no uses and mean nothing else: where it says `override` itself, less silent overrides


class NameEntry(NamedTuple):
    """The facts about one name: its uses by file, the best files first.

    `more` counts the lines and files that are left out. `used` counts the lines with the name, on the site or not.
    """

    name: str
    files: list[tuple[str, list[LineOfUse]]]
    more: tuple[int, int]
    used: int
    definitions: list[DefinitionRow]
    resolved: list[int]  # the spellings that a semantic reader resolved
    outside: list[tuple[str, list[tuple[int, int]]]]  # lines of files off the site, each with its spelling
    outside_more: tuple[int, int]  # lines and files of `outside` that are left out


Line = TypeVar("Line", bound=tuple[int, int])


def _listed(by_file: Mapping[str, Collection[Line]], near: str) -> tuple[list[tuple[str, list[Line]]], tuple[int, int]]:
    """Returns the files and lines that are listed, up to the limit; and how many lines and files are left out."""
    files: list[tuple[str, list[Line]]] = []
    room = LISTED
    lines_left = files_left = 0
    for path in sorted(by_file, key=lambda path: rank(path, near)):
        lines = by_file[path]
        if room:
            files.append((path, sorted(lines)[:room]))
        lines_left += max(0, len(lines) - room)
        files_left += not room
        room = max(0, room - len(lines))
    return files, (lines_left, files_left)
