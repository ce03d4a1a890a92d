"""Place anchors on a tree: exact, moved, changed, ambiguous, lost; never by guess: a wrong place is worse than none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ptexplore.annotations import candidates
from ptexplore.annotations.candidates import AnchorCandidate, NarrowTarget, occurrences, on_lines, target
from ptexplore.annotations.fingerprint import Token, digest, fingerprint, places, tokens
from ptexplore.annotations.lock import LockEntry
from ptexplore.annotations.records import Anchor, Problem
from ptexplore.model.symbols import DIALECT_KINDS

if TYPE_CHECKING:
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.annotations.records import Stop, Tour
    from ptexplore.model.places import TreeInfo
    from ptexplore.model.symbols import Symbol
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index.reader import IndexStore

Outcome = Literal["exact", "moved", "changed", "ambiguous", "lost", "unpinned", "absent"]
OUTCOMES: tuple[Outcome, ...] = ("exact", "moved", "changed", "ambiguous", "lost")
BESIDE: tuple[Outcome, ...] = ("unpinned", "absent")  # placed, but never compared; this tree cannot hold the file
PLACED: tuple[Outcome, ...] = ("exact", "moved", "changed", "unpinned")
_NAMED = 5  # of the places a reason names
_LIKE: dict[str, str] = {"struct": "class", "union": "class", "member": "variable"} | {
    kind: traits.like for kind, traits in DIALECT_KINDS.items() if traits.like
}


@dataclass(frozen=True, slots=True)
class ResolvedAnchor:
    """What became of one anchor on one tree.

    `line` to `end_line` is what the anchor means: its token's line, its lines, or the symbol from its name's line on;
    0 where it is not placed. `symbol` to `symbol_end` is the symbol (`begin`: its first line). `why` says what a reader
    must know. `candidates` are the places that an ambiguous one may mean. `was` is its place on the baseline, None
    where nobody pinned it.
    """

    stop: str
    anchor: Anchor
    outcome: Outcome
    path: str = ""
    line: int = 0
    end_line: int = 0
    name: str = ""
    begin: int = 0
    symbol: int = 0
    symbol_end: int = 0
    why: str = ""
    candidates: tuple[tuple[str, int], ...] = ()
    was: LockEntry | None = None

    @property
    def placed(self) -> bool:
        return self.outcome in PLACED


@dataclass
class Resolver:
    """Places anchors on one tree; remembers what it read of each file."""

    tree: SourceTree
    store: IndexStore
    _outlines: dict[str, list[Symbol]] = field(default_factory=dict)
    _kinds: set[tuple[str, str]] | None = None

    def resolve(self, name: str, anchor: Anchor, entry: LockEntry | None = None) -> ResolvedAnchor:
        """What became of the anchor of stop `name`, whose place on the baseline is `entry`."""
        if entry is not None and entry.asked != asked(anchor):
            entry = None  # the anchor was rewritten after it was pinned
        found = self._here(anchor, entry)
        if len(found) > 1:
            found = self._told_apart(found, entry)
        if not found:
            found = self._moved(anchor, entry)
        if len(found) == 1:
            return self._placed(name, anchor, found[0], entry)
        if not found:
            return self._nowhere(name, anchor, entry)
        named = ", ".join(f"{one.path}:{one.line}" for one in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        spots = tuple((one.path, one.line) for one in found)
        why = f"{anchor.symbol} is {len(found)} things: {named}{more}"
        return ResolvedAnchor(name, anchor, "ambiguous", why=why, candidates=spots, was=entry)

    def _here(self, anchor: Anchor, entry: LockEntry | None) -> list[AnchorCandidate]:
        outline = self._outline(anchor.path)
        found = candidates.in_file(self.store, anchor, outline, entry.symbol if entry else None)
        if entry is None:
            return found
        found = [one for one in found if _kind(one.kind) == _kind(entry.kind)]
        if found:
            return found
        # Under another qualified name (a namespace renamed) it is the same only where it is the same text.
        loose = candidates.in_file(self.store, anchor, outline, None)
        return [one for one in loose if self._print(one) == entry.hash]

    def _told_apart(self, found: list[AnchorCandidate], entry: LockEntry | None) -> list[AnchorCandidate]:
        """Of several the one that is the baseline's text, or has its parameter types; else all of them."""
        if entry is None:
            return found
        same = [one for one in found if self._print(one) == entry.hash]
        if len(same) != 1 and entry.overload:
            same = [one for one in found if digest([one.overload]) == entry.overload]
        return same if len(same) == 1 else found

    def _moved(self, anchor: Anchor, entry: LockEntry | None) -> list[AnchorCandidate]:
        """The definitions of its qualified name in other files."""
        found = candidates.elsewhere(self.store, anchor, entry.symbol if entry else anchor.symbol)
        if entry is None:
            return found if self.holds(anchor.path) else []
        found = [one for one in found if _kind(one.kind) == _kind(entry.kind)]
        if not self.holds(anchor.path) or any(one.local for one in found):
            # What other files define for themselves under one name are different things, unless the text is one.
            return [one for one in found if self._print(one) == entry.hash]
        return self._told_apart(found, entry) if len(found) > 1 else found

    def holds(self, path: str) -> bool:
        """Whether this tree holds files such as `path`: a checkout all but generated ones, a wheel what it installs."""
        if self.store.file(path) is not None:
            return True
        if "checkout" in self.tree.info.layers:
            return not path.startswith("build/") and "/generated/" not in path
        if self._kinds is None:
            self._kinds = {_folder_and_suffix(one.path) for one in self.store.files()}
        return _folder_and_suffix(path) in self._kinds

    def _placed(self, name: str, anchor: Anchor, one: AnchorCandidate, entry: LockEntry | None) -> ResolvedAnchor:
        found = self.tokens(one)
        where = target(anchor, one, found, entry)
        if where is None:
            what = f"no {anchor.token}" if anchor.token else "no such lines"
            why = f"{one.name} is at {one.path}:{one.line}, and has {what}"
            return ResolvedAnchor(name, anchor, "lost", why=why, was=entry)
        outcome: Outcome = "unpinned"
        why = where.why if one.path == anchor.path or entry is not None else f"it is not in {anchor.path}"
        if entry is not None:
            still = (one.path, one.line, where.first) == (entry.path, entry.line, entry.at or entry.line)
            outcome = "changed" if fingerprint(found) != entry.hash else "exact" if still else "moved"
        return ResolvedAnchor(
            name, anchor, outcome, one.path, where.first, where.last, one.name, one.begin, one.line, one.end,
            why, (), entry,
        )  # fmt: skip

    def _nowhere(self, name: str, anchor: Anchor, entry: LockEntry | None) -> ResolvedAnchor:
        version = f"{self.tree.info.name} ({self.tree.info.version})"
        if not self.holds(anchor.path):
            return ResolvedAnchor(name, anchor, "absent", why=f"{version} has no such files", was=entry)
        if self.store.file(anchor.path) is None:
            why = f"{version} has no {anchor.path}, and no other file that defines {anchor.symbol}"
            return ResolvedAnchor(name, anchor, "lost", why=why, was=entry)
        signature = f" with {anchor.signature}" if anchor.signature else ""
        why = f"{anchor.path} has no {anchor.symbol}{signature}" + (f" in {anchor.inside}" if anchor.inside else "")
        last = anchor.symbol.replace(".", "::").rpartition("::")[2]
        near = [one for one in self._outline(anchor.path) if one.name == last][:_NAMED]
        if near:
            why += f"; there is {', '.join(f'{one.qualified}{one.signature} ({one.kind}, {one.line})' for one in near)}"
        return ResolvedAnchor(name, anchor, "lost", why=why, was=entry)

    def _outline(self, path: str) -> list[Symbol]:
        if path not in self._outlines:
            self._outlines[path] = self.store.outline(path)
        return self._outlines[path]

    def _print(self, one: AnchorCandidate) -> str:
        return fingerprint(self.tokens(one))

    def tokens(self, one: AnchorCandidate) -> list[Token]:
        """The tokens of a candidate's lines."""
        known = self.store.file(one.path)
        return tokens(self.tree.lines(one.path), one.begin, one.end, known.language if known else "cpp")

    def pin(self, resolved: ResolvedAnchor, baseline: str) -> LockEntry:
        """The entry of an anchor that is placed on its baseline's tree."""
        anchor = resolved.anchor
        found = candidates.in_file(self.store, anchor, self._outline(anchor.path), resolved.name)
        one = next(each for each in found if (each.line, each.end) == (resolved.symbol, resolved.symbol_end))
        whole = self.tokens(one)
        entry = LockEntry(
            resolved.stop, asked(anchor), baseline, one.path, one.name, one.kind, one.line, one.end,
            fingerprint(whole), digest([one.overload]) if one.overload else "",
        )  # fmt: skip
        if anchor.token is None and anchor.lines is None:
            return entry
        where = NarrowTarget(resolved.line, resolved.end_line)
        run = on_lines(whole, where)
        near = fingerprint(run)
        alone = len(places(whole, near, len(run))) == 1
        return replace(
            entry, at=where.first, at_end=where.last, near=near if alone else "", size=len(run),
            count=len(occurrences(whole, anchor.token)),
        )  # fmt: skip


def _kind(kind: str) -> str:
    return _LIKE.get(kind, kind)


def _folder_and_suffix(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name.rpartition(".")[2]


def asked(anchor: Anchor) -> str:
    """A hash of what the anchor asks for: an entry that was made for something else says nothing of it."""
    parts = (anchor.path, anchor.symbol, anchor.signature, anchor.inside, anchor.token, anchor.occurrence, anchor.lines)
    return digest(map(str, parts))[:12]


def is_baseline(tree: TreeInfo, baseline: str) -> bool:
    """Whether a tree is the release that notes name as theirs: 2.6.0, 2.6.0a0+git… and 2.6.0+cpu are v2.6.0."""
    match = re.match(r"[0-9]+(\.[0-9]+)*", tree.version)
    return match is not None and f"v{match[0]}" == baseline


def resolve_all(
    library: NoteLibrary, resolver: Resolver, only: Iterable[str] | None = None
) -> list[tuple[Tour, Stop, ResolvedAnchor]]:
    """Every stop of the library (or of `only` these tours and stops) with what became of its anchor."""
    wanted = None if only is None else set(only)
    found = []
    for tour, stop in library.stops():
        name = tour.name_of(stop)
        if wanted is None or name in wanted or tour.id in wanted:
            found.append((tour, stop, resolver.resolve(name, stop.anchor, library.entries.get(name))))
    return found


def broken_links(found: Iterable[tuple[Tour, Stop, ResolvedAnchor]], resolver: Resolver) -> Iterator[Problem]:
    """The `src:` links that lead nowhere on the very tree that they were written on; to several places is no fault."""
    for tour, stop, _ in found:
        for see in stop.anchor.see if is_baseline(resolver.tree.info, tour.baseline) else ():
            if see.kind == "src":
                there = resolver.resolve(see.text, Anchor(see.where, see.path, see.symbol))
                if there.outcome == "lost":
                    yield Problem(see.where, f"{see.text!r} leads nowhere: {there.why}")


def count(found: Sequence[ResolvedAnchor]) -> dict[str, int]:
    """How many of each outcome, those of the issue first."""
    return {outcome: sum(one.outcome == outcome for one in found) for outcome in (*OUTCOMES, *BESIDE)}
