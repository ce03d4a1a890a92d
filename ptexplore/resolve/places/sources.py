"""The trees besides the runtime tree, in search order: checkouts with their index, then sources without text.

A source with only names and lines (an atlas) answers the same questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ptexplore.cpp.conditions import Conditions
from ptexplore.cpp.matching import Matched, Wanted, match
from ptexplore.cpp.text import Text
from ptexplore.lazy import remembered
from ptexplore.model.places import Checkout, Layer, Runtime, SourceRef, TreeInfo, place_reasons
from ptexplore.model.symbols import Dialect, Symbol
from ptexplore.resolve.places.precision import decide, in_runtime, several, unknown
from ptexplore.resolve.places.relation import Word, is_runtimes
from ptexplore.source.canonical import is_template
from ptexplore.source.permalink import permalink, public_commit
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason
    from ptexplore.source.atlas import Atlas

_STRUCTURED = re.compile(r"at::(?:native|meta)::structured_(\w+)::(impl|meta)")


class SymbolLookup(Protocol):
    """The interface of a source: an index of text, or an equivalent."""

    def definitions(self, qualified: str) -> list[Symbol]:
        """Returns the definitions of a qualified name."""

    def symbols_ending(self, suffix: str) -> list[Symbol]:
        """Returns the symbols whose qualified name ends with these parts."""

    def outline(self, path: str) -> list[Symbol]:
        """Returns all symbols of a file."""

    def dialect(self, name: str, kinds: Sequence[str] | None = None) -> list[Dialect]:
        """Returns the dialect rows of a name that have these kinds."""

    def dialect_in(self, path: str, line: int | None = None) -> list[Dialect]:
        """Returns the dialect rows of a file."""


@dataclass(frozen=True)
class GeneratedNames:
    """The catalogue's knowledge of generated C++ with the interface of an index. It finds only full names."""

    store: Store

    def definitions(self, qualified: str) -> list[Symbol]:
        """Returns the definitions of a qualified name."""
        return self.store.symbols(qualified)

    def symbols_ending(self, suffix: str) -> list[Symbol]:
        """Returns nothing, since only full names are known."""
        del suffix
        return []

    def outline(self, path: str) -> list[Symbol]:
        """Returns nothing, since whole files are not known."""
        del path
        return []

    def dialect(self, name: str, kinds: Sequence[str] | None = None) -> list[Dialect]:
        """Returns nothing: these rows are in other tables of the catalogue."""
        del name, kinds
        return []

    def dialect_in(self, path: str, line: int | None = None) -> list[Dialect]:
        """Returns nothing, as `dialect`."""
        del path, line
        return []


@dataclass(frozen=True)
class Source:
    """A tree with its names: a checkout, an atlas, or the text of the runtime tree once that is indexed."""

    tree: SourceTree
    names: SymbolLookup
    conditions: Conditions
    runtime: Runtime
    checkout: Checkout | None = None  # None: a source without text
    commit: str | None = None  # in PyTorch's repository, if the text certainly has it
    layer: Layer = "checkout"

    @property
    def related(self) -> bool:
        """Whether its text can confirm the records of the running binary."""
        return self.tree.info.relation != "version-skew"

    def ref(
        self,
        path: str,
        line: int,
        end_line: int | None = None,
        *,
        confirmed: bool = False,
        reason: Reason | None = None,
    ) -> SourceRef:
        """Returns a place in this tree.

        `confirmed`: a record of the binary names this line, and this text confirms it.
        """
        relation = self.tree.info.relation
        if relation == "runtime":
            return in_runtime(self.tree, path, line, end_line)
        if relation == "version-skew" and self.checkout is not None and is_runtimes(path, self.checkout, self.runtime):
            return SourceRef(path, line, "wheel", decide(), end_line, reason=reason)
        precision = decide(relation, recorded=confirmed, confirmed=confirmed)
        if precision == "version-skew":
            skew = place_reasons.OtherVersion(self.tree.info.name, self.tree.info.version, self.runtime.version)
            reason = place_reasons.Joined((skew, reason)) if reason is not None else skew
        url = permalink(self.commit, path, line) if self.commit else None
        return SourceRef(path, line, self.layer, precision, end_line, self.tree.info.name, url, reason)

    def definitions(self, qualified: str) -> list[Symbol]:
        """Returns the definitions of a qualified name in compiled files, without templates of torchgen."""
        return [symbol for symbol in self.names.definitions(qualified) if not is_template(symbol.path)]

    def find(self, symbol: str, wanted: Wanted) -> Matched:
        """Returns the definitions of a qualified name. A structured kernel is found by the macro that defines it."""
        matched = match(self.definitions(symbol), wanted, self.conditions)
        named = _STRUCTURED.fullmatch(symbol) if not matched.left and not matched.ruled_out else None
        if named is None:
            return matched
        rows = self.names.dialect(named[1], [f"structured-{named[2]}"])
        return match([self._symbol_at(row) for row in rows if row.target == symbol], wanted, self.conditions)

    def _symbol_at(self, row: Dialect) -> Symbol:
        """Returns the function that a row's macro defines, with its extent if the index has it."""
        for symbol in self.outline(row.path):
            if symbol.line == row.line and symbol.kind == "function" and symbol.role == "definition":
                return symbol
        name = row.target or row.name
        return Symbol(row.path, name.rsplit("::", 1)[-1], name, "function", row.line, row.end_line, row.line,
                      guards=row.guards, macro=row.macro)  # fmt: skip

    @remembered
    def outline(self, path: str) -> list[Symbol]:
        """Returns all symbols of a file."""
        return self.names.outline(path)

    @remembered
    def rows_of(self, path: str) -> list[Dialect]:
        """Returns all dialect rows of a file."""
        return self.names.dialect_in(path)

    @remembered
    def stub_rows(self, name: str) -> list[Dialect]:
        """Returns the declarations and definitions of a dispatch stub."""
        return self.names.dialect(name, ("stub-declare", "stub-define"))

    @remembered
    def text(self, path: str) -> Text:
        """Returns the text of a file; empty if there is none."""
        return Text(path, "\n".join(self.tree.lines(path)))

    def meanings(self, name: str, path: str, line: int) -> list[str]:
        """Returns the qualified names that `name` can mean at a place, those of the innermost namespace first."""
        inside = [s for s in self.outline(path) if s.kind == "namespace" and s.begin <= line <= s.end_line]
        scope = max(inside, key=lambda s: len(s.qualified)).qualified.split("::") if inside else []
        return ["::".join([*scope[:depth], name]) for depth in range(len(scope), -1, -1)]

    @remembered
    def qualified(self, row: Dialect) -> str:
        """Returns the qualified name of a stub's row: the written name in the namespace around it."""
        text = "\n".join(self.tree.lines(row.path)[row.line - 1 : row.end_line])
        written = re.search(rf"\b((?:\w+::)*){re.escape(row.name)}\b", text)
        return self.meanings(written[0] if written else row.name, row.path, row.line)[0]

    def scoped(self, name: str, path: str, line: int) -> Matched:
        """Returns the function that `name` means at a place. The search goes from the innermost namespace outwards."""
        wanted = Wanted(near=path)
        for meaning in self.meanings(name, path, line):
            matched = self.find(meaning, wanted)
            if matched.left or matched.ruled_out:
                return matched
        ending = [symbol for symbol in self.names.symbols_ending(name) if not is_template(symbol.path)]
        return match(ending, wanted, self.conditions)

    def refs(self, matched: Matched, name: str) -> SourceRef:
        """Returns one reference for the matched definitions. Several definitions are ambiguous, and all are listed."""
        if not matched.left:
            return unknown(self.nothing(matched, name))
        places = [self.ref(symbol.path, symbol.line, symbol.end_line) for symbol in matched.left]
        return several(places, lambda count: place_reasons.MayMean(name, count))

    def nothing(self, matched: Matched, name: str) -> Reason:
        """Returns the reason why no definition of a name matched."""
        if matched.ruled_out:
            return place_reasons.LeftOut(name, self.tree.info.label)
        templates = [symbol.path for symbol in self.names.definitions(name) if is_template(symbol.path)]
        if templates:
            in_template = place_reasons.OnlyInTemplate(name, self.tree.info.label, templates[0])
            return place_reasons.Joined((in_template, place_reasons.NotIndexed()))
        return place_reasons.NoDefinition(name, self.tree.info.label)


def atlas_source(atlas: Atlas, conditions: Conditions, runtime: Runtime) -> Source:
    """Returns the shipped atlas as a source: names, paths and lines of one release, without text."""
    relation: Word = "matches" if atlas.commit == runtime.git_version else "version-skew"
    info = TreeInfo("atlas", atlas.release, ("atlas",), atlas.commit, relation)
    return Source(SourceTree(info, ()), atlas, conditions, runtime, None, atlas.commit, "atlas")


def source(
    checkout: Checkout,
    tree: SourceTree,
    names: SymbolLookup,
    relation: Word,
    conditions: Conditions,
    runtime: Runtime,
) -> Source:
    """Returns a fetched checkout as a source, with its relation to the running torch."""
    commit = public_commit(checkout)
    related = replace(tree, info=replace(tree.info, relation=relation, commit=commit or tree.info.commit))
    return Source(related, names, conditions, runtime, checkout, commit)
