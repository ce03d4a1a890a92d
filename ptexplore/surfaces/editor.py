"""Answers the questions of an editor about source, over lookup/ and the workspace, without a protocol.

Places that are known only by a name are left out: an editor shows no word about their certainty. Where lines are left
out, a remark counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ptexplore.annotations.about import holds
from ptexplore.errors import PtexploreError
from ptexplore.lookup.calls import CALLING, CallNode
from ptexplore.lookup.find import find
from ptexplore.lookup.gathering import FindQuery
from ptexplore.lookup.link_targets import is_own
from ptexplore.lookup.overrides import OverrideReader
from ptexplore.lookup.refs import VALUES, RefsView, refs
from ptexplore.lookup.symbol_facts import facts_without_uses
from ptexplore.lookup.trees import Candidate, IndexedTree, Spot, spot, symbol_candidate
from ptexplore.model.remarks import TypesNotIndexed, ValuesNotIndexed
from ptexplore.source.canonical import language_of
from ptexplore.surfaces.editor_files import EditorFile, EditorFiles
from ptexplore.surfaces.editor_names import CHOICES, EditorNames, Named
from ptexplore.surfaces.editor_places import AskedPlace, Located
from ptexplore.view.card import kernels_of
from ptexplore.view.line import Line
from ptexplore.view.search.symbol_lines import head_lines, is_structured, operator_lines
from ptexplore.view.words.editor import editor_remark
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark
    from ptexplore.model.places import SourceRef
    from ptexplore.model.symbols import Dialect, Symbol
    from ptexplore.view.card import ShownKernel

_USES = 2_000  # uses of one sort
_CALLS = 60  # functions on each side of a call
_HITS = 60  # answers of a search
_KERNELS = 12  # kernels that a hover names
_STUB_MACROS = ("DEFINE_DISPATCH", "DECLARE_DISPATCH")
_REGISTERING = ("registrations", "stubs", "bindings", "YAML")  # sorts of uses that name an operator in full


class HoverText(Struct, frozen=True):
    """What a hover shows: the code of the thing, lines about it, and its comment."""

    language: str
    code: str
    lines: tuple[str, ...]
    comment: str = ""


class OutlineEntry(Struct, frozen=True):
    """A thing of a file, with those inside it. `kind` is the kind of its symbol or of its row."""

    name: str
    kind: str
    detail: str
    place: Located
    inside: list[OutlineEntry]


class SymbolHit(Struct, frozen=True):
    """An answer of a search."""

    name: str
    kind: str
    container: str
    place: Located


class CallItem(Struct, frozen=True):
    """A function in a call hierarchy. `tree`, `path`, `line` and `name` identify its symbol.

    `call` is a place of its call. `is_choice`: the name at the call may mean another function.
    """

    name: str
    kind: str
    detail: str
    place: Located
    tree: str
    path: str
    line: int
    call: Located | None = None
    is_choice: bool = False


class StopLens(Struct, frozen=True):
    """A stop of a tour, or a note, about a line."""

    place: Located
    stop: str
    title: str


class EditorAnswers:
    """The answers. Use it in one thread. `remark` shows what an answer leaves out."""

    def __init__(self, files: EditorFiles, remark: Callable[[str], object]) -> None:
        self.files = files
        self.names = EditorNames(files)
        self._remark = remark

    def prepare(self) -> None:
        """Reads what the first question would wait for."""
        for indexed in self.files.trees:
            self.names.order(indexed.tree.info.name)
        if self.files.trees and self.files.catalogue is not None:
            _ = self.files.marks
            _ = self.files.workspace.lookup

    def open_file(self, file: str) -> None:
        """Reads a file for later questions."""
        opened = self.files.file(file)
        if opened is not None:
            opened.source.parse()
            self.names.order(opened.tree).calls.names.uses(opened.path)

    # --- definitions ---

    def definitions(self, asked: AskedPlace) -> list[Located]:
        """Returns where the name at a place is defined: one place, or a few to choose from."""
        named = self.names.named(asked)
        return _unique(self._candidate(each, named[0]) for each in named[1].candidates) if named is not None else []

    def declarations(self, asked: AskedPlace) -> list[Located]:
        """Returns where the name at a place is declared; its definitions if it is declared nowhere else."""
        named = self.names.named(asked)
        if named is None:
            return []
        declared = [
            each
            for symbol in _symbols(named[1])
            for each in self._same(named[0], symbol, "declaration")
            if each.symbol is not None and each.symbol.parameters == symbol.parameters
        ]
        return _unique(self._candidate(each, named[0]) for each in declared or named[1].candidates)

    def implementations(self, asked: AskedPlace) -> list[Located]:
        """Returns the kernels of the operator at a place, or the functions that override the member function there."""
        named = self.names.named(asked)
        if named is None:
            return []
        kernels = [kernel for name in _operators(named[1]) for kernel in self._kernels(name)]
        if kernels:
            return _unique(self._ref(kernel.ref, kernel.name) for kernel in kernels)
        return _unique([*self._overriders(*named), *self._of_stubs(*named)])

    def _kernels(self, name: str) -> tuple[ShownKernel, ...]:
        """Returns what the common dispatch keys of an operator run. Empty without a catalogue."""
        if self.files.catalogue is None or self.files.catalogue.store.operator(name) is None:
            return ()
        return kernels_of(self.files.workspace.operator(name), full=False)

    def _overriders(self, tree: str, named: Named) -> Iterator[Located | None]:
        order = self.names.order(tree)
        reader = OverrideReader(order.calls.uses)
        for symbol in _symbols(named):
            for each in reader.overriding(symbol.qualified) if symbol.kind == "function" else ():
                if each.sure:
                    place = each.place
                    yield self.files.located(
                        spot(order.trees[place.tree], place.path, place.definition.line), symbol.name
                    )

    def _of_stubs(self, tree: str, named: Named) -> Iterator[Located | None]:
        """Yields the kernels that are registered for a dispatch stub."""
        for symbol in _symbols(named):
            if symbol.macro not in _STUB_MACROS:
                continue
            for indexed in self.names.order(tree).trees:
                for row in indexed.store.dialect(symbol.name, ["stub-register"]):
                    last = (row.target or "").rpartition("::")[2]
                    own = [each for each in indexed.store.symbols_named(last) if each.path == row.path] if last else []
                    for each in own:
                        lines = (each.line, each.begin, each.end_line)
                        yield self.files.place(indexed, each.path, lines, each.name)

    def _same(self, tree: str, symbol: Symbol, role: str) -> list[Candidate]:
        """Returns the definitions or the declarations with the name of a symbol, in the tree that is asked about."""
        order = self.names.order(tree)
        store = order.trees[0].store
        named = store.definitions(symbol.qualified) if role == "definition" else store.declarations(symbol.qualified)
        return [symbol_candidate(order.trees, [(0, each)]) for each in named]

    def _candidate(self, candidate: Candidate, tree: str) -> Located | None:
        """Returns the place of a candidate: in the tree that is asked about, if that tree has it."""
        spots = (candidate.spot, *candidate.also)
        at = next((each for each in spots if each.tree.name == tree), candidate.spot)
        indexed, symbol = self.files.tree(at.tree.name), candidate.symbol
        if indexed is None or at.ref.path is None:
            return None
        if symbol is not None and at is candidate.spot:
            return self.files.place(indexed, symbol.path, (symbol.line, symbol.begin, symbol.end_line), symbol.name)
        name = symbol.name if symbol is not None else candidate.name.removeprefix("aten::")
        if candidate.first is not None:
            first = candidate.first
            return self.files.place(indexed, at.ref.path, (first, first, candidate.last or first), name)
        return self.files.located(at, name)

    def _ref(self, ref: SourceRef, name: str) -> Located | None:
        """Returns the place of a kernel. None if it is not known, or if there are several."""
        indexed = self.files.tree(ref.tree)
        if indexed is None or ref.path is None or not ref.line:
            return None
        return self.files.located(Spot(ref, indexed.tree.info), name.rpartition(" ")[2].rpartition("::")[2])

    # --- uses ---

    def references(self, asked: AskedPlace, *, declaration: bool) -> list[Located]:
        """Returns the lines that can only use the thing at a place. With `declaration`, also where it is.

        Of an operator, these are the lines that name it in full: registrations, entries in YAML.
        """
        named = self.names.named(asked)
        if named is None:
            return []
        tree, meant = named
        places: list[Located | None] = []
        for symbol in {each.qualified: each for each in _symbols(meant)}.values():
            own = is_own(symbol.path, static=symbol.static)
            view = self._uses(tree, symbol.qualified, symbol.path if own else "")
            is_sole = symbol.kind in VALUES and self._is_sole(tree, symbol)
            sure = [group for group in view.groups if group.certain or is_sole] if view is not None else []
            if declaration:
                alike = [*self._same(tree, symbol, "definition"), *self._same(tree, symbol, "declaration")]
                places += [
                    self._candidate(each, tree) for each in alike if not own or each.spot.ref.path == symbol.path
                ]
            places += [self.files.located(use.spot, symbol.name) for group in sure for use in group.uses]
            left = view.lines + view.overridden - sum(group.total for group in sure) if view is not None else 0
            for remark in view.remarks if view is not None else ():
                if isinstance(remark, TypesNotIndexed | ValuesNotIndexed):
                    self._remark(f"{symbol.qualified}: {remark_in_words(remark)}")
            if left and not is_structured(symbol):
                self._remark(editor_remark("more lines", symbol.qualified, left))
        for name in _operators(meant) if not _symbols(meant) else ():
            view = self._uses(tree, name, "")
            naming = [group for group in view.groups if group.name in _REGISTERING] if view is not None else []
            short = name.removeprefix("aten::")
            places += [self.files.located(use.spot, short) for group in naming for use in group.uses]
        return _unique(places)

    def _is_sole(self, tree: str, symbol: Symbol) -> bool:
        """Whether nothing else has the last part of a symbol's name."""
        return self.names.order(tree).calls.uses.bearers(symbol.name).are_all({symbol.qualified})

    def _uses(self, tree: str, name: str, only: str) -> RefsView | None:
        order = self.names.order(tree)
        try:
            return refs(order.trees, name, _USES, reader=order.calls.uses, only=only)
        except PtexploreError:  # nothing uses the name
            return None

    # --- facts ---

    def hover(self, asked: AskedPlace) -> HoverText | None:
        """Returns the facts about the thing at a place. None for an unknown thing."""
        named = self.names.named(asked)
        if named is None:
            return None
        tree, meant = named
        text = self._about(tree, meant)
        at = self.files.at(asked)
        marks = [mark for mark in self._marks(at[0]) if holds(mark, at[0].path, at[1])] if at is not None else []
        reads = tuple(f"to read: {mark.title} ({mark.command})" for mark in marks[:3])
        return replace(text, lines=(*text.lines, *reads)) if text is not None else None

    def _about(self, tree: str, meant: Named) -> HoverText | None:
        symbols, candidates = _symbols(meant), meant.candidates
        remark = remark_in_words(meant.remark) if meant.own is None else ""
        names = {symbol.qualified for symbol in symbols}
        if not candidates:
            return None
        if candidates[0].kind == "operator":
            operators = [each for each in candidates if each.kind == "operator"]
            return self._about_operators(operators, _operators(meant)[0])
        if len(names) == 1 and len(symbols) == len(candidates):
            return self._about_symbol(tree, candidates[0], remark, len(candidates))
        if len(candidates) == 1:
            only = candidates[0]
            place = _spelled(only.spot.ref) if only.first is None else f"{only.spot.ref.path}:{only.first}"
            return HoverText("text", only.name, tuple(filter(None, (only.kind, place, remark))))
        choices = tuple(f"{each.kind} {each.name}  {_spelled(each.spot.ref)}" for each in candidates)
        return HoverText("text", meant.name, (editor_remark("choice", len(candidates)), *choices))

    def _about_symbol(self, tree: str, candidate: Candidate, remark: str, count: int) -> HoverText:
        order = self.names.order(tree)
        at = next((each for each in (candidate.spot, *candidate.also) if each.tree.name == tree), candidate.spot)
        number = next(n for n, indexed in enumerate(order.trees) if indexed.tree.info.name == at.tree.name)
        symbol = candidate.symbol
        assert symbol is not None
        if at is not candidate.spot:  # the same thing in the tree that is asked about
            store = order.trees[number].store
            named = [*store.definitions(symbol.qualified), *store.declarations(symbol.qualified)]
            symbol = next((each for each in named if (each.path, each.line) == (at.ref.path, at.ref.line)), symbol)
        facts = facts_without_uses(order.trees, self.files.catalogue, self.files.marks, number, symbol)
        heads = [line for line in head_lines(facts) if line.style in ("dim", "place")]
        served = [f"serves {_plain(line)}" for line in operator_lines(facts)]
        several = editor_remark("several", count) if count > 1 else ""
        lines = (*map(_plain, heads), *served, remark, several)
        language = "python" if language_of(symbol.path) == "python" else "cpp"
        return HoverText(language, f"{symbol.qualified}{symbol.signature}", tuple(filter(None, lines)), facts.comment)

    def _about_operators(self, operators: list[Candidate], chosen: str) -> HoverText:
        schemas = [each.detail if each.detail.startswith("aten::") else f"aten::{each.detail}" for each in operators]
        places = [_spelled(each.spot.ref) for each in operators]
        kernels = self._kernels(chosen)
        of = [f"kernels of {chosen}:"] if kernels else []
        for kernel in kernels[:_KERNELS]:
            keys = f"{', '.join(kernel.keys)}: " if kernel.keys else "calls "
            of.append(f"{keys}{kernel.name}  {_spelled(kernel.ref)}")
        if len(kernels) > _KERNELS:
            of.append(f"and {len(kernels) - _KERNELS} more")
        return HoverText("text", "\n".join(schemas), (*places, *of))

    # --- stops ---

    def stops(self, file: str) -> list[StopLens]:
        """Returns the stops of tours, and the notes, about lines of a file."""
        opened = self.files.file(file)
        if opened is None:
            return []
        marks = self._marks(opened)
        placed = [(mark, self.files.place(opened.indexed, mark.path, (mark.line,) * 3, mark.name)) for mark in marks]
        return [StopLens(place, mark.stop, f"{mark.tour}: {mark.title}") for mark, place in placed if place is not None]

    def _marks(self, opened: EditorFile) -> list[Mark]:
        marks = self.files.marks.get(opened.tree, ())
        return [mark for mark in marks if mark.placed and mark.path == opened.path]

    # --- symbols ---

    def outline(self, file: str) -> list[OutlineEntry]:
        """Returns the things of a file: symbols, registrations, entries of YAML. Outer things contain inner ones."""
        opened = self.files.file(file)
        if opened is None:
            return []
        entries = [self._entry(opened, symbol) for symbol in opened.source.outline]
        named = {(symbol.line, symbol.name) for symbol in opened.source.outline}
        rows = opened.indexed.store.dialect_in(opened.path)
        entries += [self._row(opened, row) for row in rows if (row.line, row.name) not in named]
        return _nested([entry for entry in entries if entry is not None])

    def _entry(self, opened: EditorFile, symbol: Symbol) -> OutlineEntry | None:
        lines = (symbol.line, symbol.begin, symbol.end_line)
        place = self.files.place(opened.indexed, opened.path, lines, symbol.name) if symbol.name else None
        declared = "declaration " if symbol.role == "declaration" else ""
        detail = f"{declared}{symbol.signature}"
        return OutlineEntry(symbol.name, symbol.kind, detail, place, []) if place is not None else None

    def _row(self, opened: EditorFile, row: Dialect) -> OutlineEntry | None:
        if row.kind == "yaml-dispatch":
            return None  # the entry has it
        place = self.files.place(opened.indexed, opened.path, (row.line, row.line, row.end_line), row.name)
        detail = " ".join(filter(None, (row.macro, row.context)))
        return OutlineEntry(row.name, row.kind, detail, place, []) if place is not None else None

    def search(self, query: str) -> list[SymbolHit]:
        """Returns the symbols and operators that fit a query, best first."""
        if not query.strip() or not self.files.trees:
            return []
        try:
            view = find(self.files.trees, self.files.catalogue, query, FindQuery(_HITS))
        except PtexploreError:  # the query is too long
            return []
        hits = [hit for group in view.groups if group.sort in ("symbol", "operator") for hit in group.hits]
        best = [hit for hit in view.best if hit.symbol is not None or hit.kind == "operator"]
        shown = []
        for hit in dict.fromkeys([*best, *hits]):
            place = self._candidate(hit, hit.spot.tree.name)
            if place is not None:
                last = hit.symbol.name if hit.symbol is not None else hit.name
                container = hit.name.removesuffix(last).rstrip(":.")
                shown.append(SymbolHit(last, hit.kind, container, place))
        return shown

    # --- calls ---

    def functions(self, asked: AskedPlace) -> list[CallItem]:
        """Returns the functions that the name at a place means."""
        named = self.names.named(asked)
        if named is None:
            return []
        order = self.names.order(named[0])
        items = []
        for candidate in named[1].candidates[:CHOICES]:
            symbol = candidate.symbol
            if symbol is not None and symbol.kind in CALLING and candidate.tree >= 0:
                items.append(self._item(order.trees[candidate.tree], symbol))
        return [item for item in items if item is not None]

    def _item(self, indexed: IndexedTree, symbol: Symbol) -> CallItem | None:
        lines = (symbol.line, symbol.begin, symbol.end_line)
        place = self.files.place(indexed, symbol.path, lines, symbol.name)
        if place is None:
            return None
        tree = indexed.tree.info.name
        return CallItem(symbol.qualified, symbol.kind, symbol.path, place, tree, symbol.path, symbol.line)

    def _symbol(self, item: CallItem) -> tuple[int, Symbol] | None:
        order = self.names.order(item.tree)
        if order.trees[0].tree.info.name != item.tree:
            return None  # the tree is no longer in use
        outline = order.trees[0].store.outline(item.path)
        return next(((0, s) for s in outline if (s.line, s.qualified) == (item.line, item.name)), None)

    def callers(self, item: CallItem) -> list[CallItem]:
        """Returns the functions that call a function, each with a place of the call."""
        symbol = self._symbol(item)
        if symbol is None:
            return []
        nodes, more = self.names.order(item.tree).calls.callers_of(symbol[1], _CALLS)
        if more:
            self._remark(editor_remark("more calls", item.name, more))
        return [each for node in nodes if (each := self._call(node, node.symbol, symbol[1].name)) is not None]

    def callees(self, item: CallItem) -> list[CallItem]:
        """Returns the functions that a function calls, each with a place of the call."""
        symbol = self._symbol(item)
        if symbol is None:
            return []
        nodes, _more = self.names.order(item.tree).calls.callees_of(symbol[1], symbol[0], _CALLS)
        sure = [node for node in nodes if not node.is_choice]
        return [
            each for node in sure if (each := self._call(node, node.symbol, node.name.rpartition("::")[2])) is not None
        ]

    def _call(self, node: CallNode, symbol: Symbol | None, called: str) -> CallItem | None:
        """Returns the function at the other end of a call. A call outside of functions belongs to its file."""
        call = self.files.located(node.call, called)
        at = node.places[0] if node.places else node.call
        indexed = self.files.tree(at.tree.name)
        if indexed is None or call is None:
            return None
        if symbol is None:
            path = node.call.ref.path or ""
            return CallItem(node.name, "file", path, call, at.tree.name, path, 0, call, node.is_choice)
        own = self._item(indexed, symbol)
        return replace(own, call=call, is_choice=node.is_choice) if own is not None else None


def _symbols(named: Named) -> list[Symbol]:
    """Returns the symbols that a name means."""
    return [each.symbol for each in named.candidates if each.symbol is not None]


def _operators(named: Named) -> list[str]:
    """Returns the operator that a name means; of several overloads the first one that writes to no argument."""
    operators = [each for each in named.candidates if each.kind == "operator"]
    plain = [each for each in operators if "!" not in each.detail]
    return [each.name for each in (plain or operators)[:1]]


def _unique(places: Iterable[Located | None]) -> list[Located]:
    return list(dict.fromkeys(place for place in places if place is not None))


def _spelled(ref: SourceRef) -> str:
    """Returns a place with its precision: "aten/src/ATen/native/Resize.cpp:78  version-skew"."""
    return f"{ref.path}:{ref.line}  {ref.precision}" if ref.line else _plain(Line("place", "", ref))


def _plain(line: Line) -> str:
    return "".join(span.text for span in line.spans)


def _nested(entries: Iterable[OutlineEntry]) -> list[OutlineEntry]:
    """Returns the outermost entries; each has those inside its lines."""
    top: list[OutlineEntry] = []
    around: list[OutlineEntry] = []
    for entry in sorted(entries, key=lambda entry: (entry.place.first, -entry.place.last)):
        while around and around[-1].place.last < entry.place.last:
            around.pop()
        while around and around[-1].place.last < entry.place.first:
            around.pop()
        (around[-1].inside if around else top).append(entry)
        if entry.place.last > entry.place.first:
            around.append(entry)
    return top
