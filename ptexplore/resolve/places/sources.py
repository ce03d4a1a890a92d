"""The trees beyond the runtime's, asked in order: checkouts with their index, then weaker sources of the same form.

A source needs no text: one that knows only names and lines (an atlas) answers the same questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from ptexplore.cpp.conditions import Conditions
from ptexplore.cpp.matching import Matched, Wanted, match
from ptexplore.model.places import Checkout, Layer, Runtime, SourceRef, TreeInfo
from ptexplore.model.symbols import Dialect, Symbol
from ptexplore.resolve.places.precision import Evidence, decide, in_runtime, several
from ptexplore.resolve.places.relation import Decision, Word, is_runtimes
from ptexplore.source.permalink import permalink, public_commit
from ptexplore.source.tree import SourceTree

if TYPE_CHECKING:
    from ptexplore.source.atlas import Atlas

_STRUCTURED = re.compile(r"at::(?:native|meta)::structured_(\w+)::(impl|meta)")


class SymbolLookup(Protocol):
    """What a source is asked: an index of text, or anything that answers like one."""

    def definitions(self, qualified: str) -> list[Symbol]: ...

    def symbols_ending(self, suffix: str) -> list[Symbol]: ...

    def outline(self, path: str) -> list[Symbol]: ...

    def dialect(self, name: str, kinds: Sequence[str] | None = None) -> list[Dialect]: ...

    def dialect_in(self, path: str, line: int | None = None) -> list[Dialect]: ...


@dataclass(frozen=True)
class Source:
    """One tree beyond the runtime's: what names it knows, how it relates to the running torch, and why."""

    tree: SourceTree
    names: SymbolLookup
    decision: Decision
    conditions: Conditions
    runtime: Runtime
    checkout: Checkout | None = None  # None: a source without text
    commit: str | None = None  # of PyTorch's repository, where the text is certainly that
    layer: Layer = "checkout"
    _outlines: dict[str, list[Symbol]] = field(default_factory=dict, repr=False)
    _rows: dict[str, list[Dialect]] = field(default_factory=dict, repr=False)

    @property
    def related(self) -> bool:
        """Whether its text can bear out what the running binary's records say."""
        return self.decision.word != "version-skew"

    def ref(
        self, path: str, line: int, end_line: int | None = None, *, confirmed: bool = False, reason: str | None = None
    ) -> SourceRef:
        """A place in this tree; `confirmed`: the binary's own record names this line and this text bears it out."""
        if self.tree.info.relation == "runtime":
            return in_runtime(self.tree, path, line, end_line)
        relation: str = self.decision.word
        if relation == "version-skew" and self.checkout is not None and is_runtimes(path, self.checkout, self.runtime):
            return SourceRef(path, line, "wheel", decide(Evidence()), end_line, reason=reason)
        precision = decide(Evidence(relation=relation, recorded=confirmed, confirmed=confirmed))
        if precision == "version-skew":
            reason = f"{self.tree.info.name} is {self.tree.info.version}, torch here {self.runtime.version}" + (
                f"; {reason}" if reason else ""
            )
        url = permalink(self.commit, path, line) if self.commit else None
        return SourceRef(path, line, self.layer, precision, end_line, self.tree.info.name, url, reason)

    def find(self, symbol: str, wanted: Wanted) -> Matched:
        """The definitions of a qualified name here; structured kernels by the macro that defines them."""
        found = match(self.names.definitions(symbol), wanted, self.conditions)
        named = _STRUCTURED.fullmatch(symbol) if not found.left and not found.ruled_out else None
        if named is None:
            return found
        rows = self.names.dialect(named[1], [f"structured-{named[2]}"])
        made = [self.symbol_at(row) for row in rows if row.target == symbol]
        return match(made, wanted, self.conditions)

    def symbol_at(self, row: Dialect) -> Symbol:
        """The function that a row's macro defines, with its extent where the index has it."""
        for one in self.outline(row.path):
            if one.line == row.line and one.kind == "function" and one.role == "definition":
                return one
        name = row.target or row.name
        return Symbol(row.path, name.rsplit("::", 1)[-1], name, "function", row.line, row.end_line, row.line,
                      guards=row.guards, macro=row.macro)  # fmt: skip

    def outline(self, path: str) -> list[Symbol]:
        """Every symbol of one file, asked for once."""
        if path not in self._outlines:
            self._outlines[path] = self.names.outline(path)
        return self._outlines[path]

    def rows_of(self, path: str) -> list[Dialect]:
        """Every dialect row of one file, asked for once."""
        if path not in self._rows:
            self._rows[path] = self.names.dialect_in(path)
        return self._rows[path]

    def meanings(self, name: str, path: str, line: int) -> list[str]:
        """The qualified names that `name`, written at a place, can mean: those of the innermost namespace first."""
        inside = [s for s in self.outline(path) if s.kind == "namespace" and s.begin <= line <= s.end_line]
        scope = max(inside, key=lambda s: len(s.qualified)).qualified.split("::") if inside else []
        return ["::".join([*scope[:depth], name]) for depth in range(len(scope), -1, -1)]

    def scoped(self, name: str, path: str, line: int) -> Matched:
        """The function that `name`, written at a place, means: looked for from the innermost namespace outwards."""
        wanted = Wanted(near=path)
        for meaning in self.meanings(name, path, line):
            found = self.find(meaning, wanted)
            if found.left or found.ruled_out:
                return found
        ending = [s for s in self.names.symbols_ending(name) if s.role == "definition"]
        return match(ending, wanted, self.conditions)

    def refs(self, found: Matched, name: str) -> SourceRef | None:
        """The definitions found, as one reference: several are ambiguous, and all are listed."""
        places = [self.ref(one.path, one.line, one.end_line) for one in found.left]
        reason = f"{name} has {len(places)} definitions that can be meant: overloads, or arms of #ifs not decided here"
        return several(places, reason) if places else None

    def nothing(self, found: Matched, name: str) -> str:
        """Why nothing was found here."""
        if found.ruled_out:
            return f"{self.tree.info.name} defines {name} only where this build leaves it out"
        return f"no definition of {name} was found in {self.tree.info.name}"


def atlas_source(atlas: Atlas, conditions: Conditions, runtime: Runtime) -> Source:
    """The shipped atlas as a source: names, paths and lines of one release, without text."""
    fits = atlas.commit == runtime.git_version
    word: Word = "matches" if fits else "version-skew"
    decision = Decision(
        word, f"the atlas is of {atlas.commit[:8]} ({atlas.release}), torch of {runtime.git_version[:8]}"
    )
    info = TreeInfo("atlas", atlas.release, ("atlas",), atlas.commit, word)
    return Source(SourceTree(info, ()), atlas, decision, conditions, runtime, None, atlas.commit, "atlas")


def installed_source(tree: SourceTree, names: SymbolLookup, conditions: Conditions, runtime: Runtime) -> Source:
    """The runtime tree's own text as a source: the installed headers and the regenerated C++."""
    return Source(tree, names, Decision("matches", "it is the installed torch's own"), conditions, runtime)


def source(
    checkout: Checkout,
    tree: SourceTree,
    names: SymbolLookup,
    decision: Decision,
    conditions: Conditions,
    runtime: Runtime,
) -> Source:
    """A fetched checkout as a source; its tree says how it relates."""
    commit = public_commit(checkout)
    related = replace(tree, info=replace(tree.info, relation=decision.word, commit=commit or tree.info.commit))
    return Source(related, names, decision, conditions, runtime, checkout, commit)
