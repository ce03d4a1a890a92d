"""Places anchors on a tree: exact, moved, changed, ambiguous, lost. It never guesses: a wrong place is worse than none.

An anchor names a symbol. The candidates are all definitions in the index that it may mean. If there is exactly one, the
hash of its tokens is compared with the hash in anchors.lock, which was made on the anchor's baseline. So a changed text
is noticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from ptexplore.annotations.lock import LockEntry
from ptexplore.annotations.records import Anchor, Problem, Stop, Tour
from ptexplore.cpp.types import unqualified_types
from ptexplore.lazy import remembered
from ptexplore.model.symbols import DIALECT_KINDS, Dialect, Symbol
from ptexplore.source.canonical import is_made, language_of

if TYPE_CHECKING:
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.model.places import TreeInfo
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index.reader import IndexStore

Outcome = Literal["exact", "moved", "changed", "ambiguous", "lost", "unpinned", "absent"]
OUTCOMES: tuple[Outcome, ...] = ("exact", "moved", "changed", "ambiguous", "lost")
BESIDE: tuple[Outcome, ...] = ("unpinned", "absent")  # placed, but never compared; this tree cannot have the file
PLACED: tuple[Outcome, ...] = ("exact", "moved", "changed", "unpinned")
_SHOWN = 5  # places that a reason names

# --- tokens and their hash: to detect changed text ---

_CPP = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))
    |R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
    |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'
    |[^\W\d]\w*|\d(?:'?[\w.])*|.""",
    re.DOTALL | re.VERBOSE,
)
_PYTHON = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?:[rRbBuUfF]{0,2})(?:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |[^\W\d]\w*|\d[\w.]*|.""",
    re.DOTALL | re.VERBOSE,
)
_YAML = re.compile(r"(?P<skip>\s+|(?:(?<=\s)|\A)\#[^\n]*)|[^\W\d]\w*|\d[\w.]*|.", re.DOTALL)
_BY_LANGUAGE = {"cpp": _CPP, "python": _PYTHON, "yaml": _YAML}
_DIGITS = 20  # hexadecimal digits of the hash: enough to distinguish texts, and the text cannot be computed from it


class Token(NamedTuple):
    """One token and its line, 1-based in the file."""

    text: str
    line: int


def read_tokens(lines: Sequence[str], first: int, last: int, language: str) -> list[Token]:
    """Returns the tokens of lines `first` to `last` (1-based, inclusive), without comments and white space."""
    text = "\n".join(lines[first - 1 : last])
    tokens, line, at = [], first, 0
    for match in _BY_LANGUAGE.get(language, _CPP).finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match["skip"] is None:
            tokens.append(Token(match[0], line))
    return tokens


def digest(texts: Iterable[str]) -> str:
    """Returns the hash of these texts in this order."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def fingerprint(tokens: Iterable[Token]) -> str:
    """Returns the hash of a piece of source."""
    return digest(token.text for token in tokens)


def _places(tokens: Sequence[Token], hash_: str, size: int) -> list[tuple[int, int]]:
    """Returns first and last line of every run of `size` tokens that fills its lines and has that hash."""
    places = []
    for start, token in enumerate(tokens[: max(len(tokens) - size + 1, 0)]):
        if start and tokens[start - 1].line == token.line:
            continue
        run = tokens[start : start + size]
        after = tokens[start + size].line if start + size < len(tokens) else 0
        if after != run[-1].line and fingerprint(run) == hash_:
            places.append((run[0].line, run[-1].line))
    return places


# --- candidates: the definitions in an index that an anchor may mean ---

_BLOCK = re.compile(r"[A-Z][A-Z0-9_]+\(.*\)?")
_BLOCKS = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.anchor == "block")
_ENTRIES = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.anchor == "entry")
_NAMED = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.anchor == "name")
_CLASSES = ("class", "struct", "union")


@dataclass(frozen=True, slots=True)
class AnchorCandidate:
    """One definition with the anchor's name: its place (`begin` <= `line` <= `end`) and kind.

    `local`: invisible in other files.
    """

    path: str
    name: str
    kind: str
    line: int
    begin: int
    end: int
    overload: str = ""
    declared: bool = False
    local: bool = False


def in_file(store: IndexStore, anchor: Anchor, outline: Sequence[Symbol], known: str | None) -> list[AnchorCandidate]:
    """Returns the candidates in the anchor's own file. `known` is its qualified name on the baseline.

    With `known`, only symbols that still have this name; else symbols with the anchor's name, or whose name ends with
    it.
    """
    block = _squeezed(anchor.symbol)
    if _BLOCK.fullmatch(block):
        rows = [row for row in store.dialect_in(anchor.path) if row.kind in _BLOCKS and _is_block(row, block)]
        return [_of_row(row, _squeezed(row.text)) for row in rows]
    if _is_yaml(anchor):
        names = (anchor.symbol, f"aten::{anchor.symbol}")
        rows = [row for row in store.dialect_in(anchor.path) if row.kind in _ENTRIES and row.name in names]
        return [_of_row(row, row.name) for row in rows]
    symbols = [symbol for symbol in outline if symbol.qualified == (known or anchor.symbol)]
    if not symbols and known is None:
        symbols = [symbol for symbol in outline if symbol.qualified.endswith(_endings(anchor.symbol))]
    if anchor.inside is not None:
        ending = _endings(anchor.inside)
        around = [other for other in outline if other.qualified == anchor.inside or other.qualified.endswith(ending)]
        symbols = [symbol for symbol in symbols if _is_inside(symbol, around)]
    if symbols:
        return _best(symbols, anchor.signature)
    rows = [row for row in store.dialect_in(anchor.path) if row.kind in _NAMED]
    return [_of_row(row, row.name) for row in rows if anchor.symbol in (row.name, row.name.rpartition("::")[2])]


def _elsewhere(store: IndexStore, anchor: Anchor, qualified: str) -> list[AnchorCandidate]:
    """Returns the definitions of exactly this qualified name in other files. Stubs (.pyi) only repeat the .py files."""
    if _BLOCK.fullmatch(_squeezed(anchor.symbol)):
        return []
    if _is_yaml(anchor):
        name = qualified if "::" in qualified else f"aten::{qualified}"
        file = anchor.path.rpartition("/")[2]
        return [_of_row(row, row.name) for row in store.dialect(name, _ENTRIES) if row.path.endswith(file)]
    symbols = store.definitions(qualified)
    others = [symbol for symbol in symbols if symbol.path != anchor.path and not symbol.path.endswith(".pyi")]
    return _best(others, anchor.signature)


def _best(symbols: Iterable[Symbol], signature: str | None) -> list[AnchorCandidate]:
    """Selects: symbols with the signature, definitions before declarations, a class before its constructors."""
    left = [_of_symbol(symbol) for symbol in symbols]
    if signature is not None:
        wanted = unqualified_types(signature)
        left = [candidate for candidate in left if candidate.overload == wanted]
    left = [candidate for candidate in left if not candidate.declared] or left
    left = [candidate for candidate in left if candidate.kind != "namespace"] or left
    classes = [candidate.name for candidate in left if candidate.kind in _CLASSES]
    constructors = {f"{name}::{name.rpartition('::')[2]}" for name in classes}
    return [candidate for candidate in left if candidate.name not in constructors]


def _is_yaml(anchor: Anchor) -> bool:
    return anchor.path.endswith((".yaml", ".yml"))


def _endings(name: str) -> tuple[str, str]:
    """Returns the endings of qualified names whose last part is `name`, in C++ and in Python."""
    return f"::{name}", f".{name}"


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _is_block(row: Dialect, wanted: str) -> bool:
    """Whether a block is the wanted one: `TORCH_LIBRARY_IMPL(aten, CPU)` means `TORCH_LIBRARY_IMPL(aten, CPU, m)`."""
    given = _squeezed(row.text)
    return given == wanted or given.startswith(f"{wanted.removesuffix(')')},")


def _is_inside(symbol: Symbol, around: Sequence[Symbol]) -> bool:
    """Whether a symbol is a member of one of these, or lies within its lines."""
    for other in around:
        holds = other.begin <= symbol.begin and symbol.end_line <= other.end_line
        if other is not symbol and (
            holds or symbol.qualified.startswith((f"{other.qualified}::", f"{other.qualified}."))
        ):
            return True
    return False


def _of_symbol(symbol: Symbol) -> AnchorCandidate:
    overload = unqualified_types(f"({','.join(symbol.parameters)})") if symbol.parameters is not None else ""
    return AnchorCandidate(
        symbol.path, symbol.qualified, symbol.kind, symbol.line, symbol.begin, symbol.end_line, overload,
        symbol.role == "declaration", symbol.static,
    )  # fmt: skip


def _of_row(row: Dialect, name: str) -> AnchorCandidate:
    return AnchorCandidate(row.path, name, row.kind, row.line, row.line, row.end_line)


# --- the token or lines inside a candidate ---


@dataclass(frozen=True, slots=True)
class NarrowTarget:
    """First and last line of the target. `why` is set if it is the whole symbol because nothing better is certain."""

    first: int
    last: int
    why: str = ""


def _target(
    anchor: Anchor, candidate: AnchorCandidate, tokens: Sequence[Token], entry: LockEntry | None
) -> NarrowTarget | None:
    """Returns the target of the anchor inside `candidate`, whose tokens these are. None if it never was there.

    In a symbol with the text of the baseline, places count as written. In a changed symbol, they count only if the
    tokens on those lines are the same and occur once there, or if the anchor's token occurred once and still does.
    """
    if anchor.token is None and anchor.lines is None:
        return NarrowTarget(candidate.line, candidate.end)
    written = _as_written(anchor, candidate, tokens)
    if entry is None or not entry.at:
        return written
    if fingerprint(tokens) == entry.hash:
        if anchor.token is not None or not entry.near:
            return written
        if written is not None and fingerprint(_on_lines(tokens, written)) == entry.near:
            return written
    matches = _places(tokens, entry.near, entry.size) if entry.near else []
    if len(matches) == 1:
        return NarrowTarget(*matches[0])
    lines = _occurrences(tokens, anchor.token)
    if anchor.token is None:
        why = "these lines have changed"
    elif entry.count == len(lines) == 1:
        return NarrowTarget(lines[0], lines[0])
    elif lines:
        why = f"{anchor.token} is there {len(lines)} times, and it is unknown which one the note means"
    else:
        why = f"{anchor.token} is no longer there"
    return NarrowTarget(candidate.line, candidate.end, f"{why}: the whole symbol is shown")


def _as_written(anchor: Anchor, candidate: AnchorCandidate, tokens: Sequence[Token]) -> NarrowTarget | None:
    if anchor.lines is not None:
        first, last = candidate.line + anchor.lines[0], candidate.line + anchor.lines[1]
        return NarrowTarget(first, last) if candidate.begin <= first and last <= candidate.end else None
    lines = _occurrences(tokens, anchor.token)
    if len(lines) < anchor.occurrence:
        return None
    line = lines[anchor.occurrence - 1]
    return NarrowTarget(line, line)


def _occurrences(tokens: Iterable[Token], identifier: str | None) -> list[int]:
    """Returns the lines on which an identifier occurs, once for each occurrence."""
    return [token.line for token in tokens if token.text == identifier]


def _on_lines(tokens: Iterable[Token], target: NarrowTarget) -> list[Token]:
    return [token for token in tokens if target.first <= token.line <= target.last]


# --- anchors on a tree ---


@dataclass(frozen=True, slots=True)
class ResolvedAnchor:
    """The result for one anchor on one tree.

    `line` to `end_line` is the target: the token's line, the anchor's lines, or the symbol from its name's line on; 0
    if it is not placed. `symbol` to `symbol_end` is the symbol (`begin`: its first line). `why` is a remark for the
    reader. `candidates` are the places that an ambiguous anchor may mean. `was` is its place on the baseline, None if
    it was never pinned.
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
    """Places anchors on one tree, and caches the data of each file."""

    tree: SourceTree
    store: IndexStore

    def resolve(self, name: str, anchor: Anchor, entry: LockEntry | None = None) -> ResolvedAnchor:
        """Places the anchor of stop `name`, whose place on the baseline is `entry`."""
        if entry is not None and entry.asked != _asked(anchor):
            entry = None  # the anchor was rewritten after it was pinned
        candidates = self._choose_by_baseline(self._in_own_file(anchor, entry), entry) or self._moved(anchor, entry)
        if len(candidates) == 1:
            return self._placed(name, anchor, candidates[0], entry)
        if not candidates:
            return self._nowhere(name, anchor, entry)
        places = tuple((candidate.path, candidate.line) for candidate in candidates)
        shown = ", ".join(f"{path}:{line}" for path, line in places[:_SHOWN])
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        why = f"{anchor.symbol} has {len(places)} definitions: {shown}{more}"
        return ResolvedAnchor(name, anchor, "ambiguous", why=why, candidates=places, was=entry)

    def _in_own_file(self, anchor: Anchor, entry: LockEntry | None) -> list[AnchorCandidate]:
        outline = self._outline(anchor.path)
        if entry is None:
            return in_file(self.store, anchor, outline, None)
        # With another qualified name (a renamed namespace), a symbol is the same only if its text is the same.
        return _of_kind(in_file(self.store, anchor, outline, entry.symbol), entry) or self._of_text(
            in_file(self.store, anchor, outline, None), entry
        )

    def _of_text(self, candidates: list[AnchorCandidate], entry: LockEntry) -> list[AnchorCandidate]:
        """Returns the candidates with the text of the baseline."""
        return [candidate for candidate in candidates if fingerprint(self.tokens(candidate)) == entry.hash]

    def _choose_by_baseline(self, candidates: list[AnchorCandidate], entry: LockEntry | None) -> list[AnchorCandidate]:
        """Returns the only candidate with the text or the parameter types of the baseline.

        If there is none, returns all.
        """
        if entry is None or len(candidates) < 2:
            return candidates
        same = self._of_text(candidates, entry)
        if len(same) != 1 and entry.overload:
            same = [candidate for candidate in candidates if digest([candidate.overload]) == entry.overload]
        return same if len(same) == 1 else candidates

    def _moved(self, anchor: Anchor, entry: LockEntry | None) -> list[AnchorCandidate]:
        """Returns the definitions of its qualified name in other files."""
        candidates = _elsewhere(self.store, anchor, entry.symbol if entry else anchor.symbol)
        if entry is None:
            return candidates if self.holds(anchor.path) else []
        candidates = _of_kind(candidates, entry)
        if not self.holds(anchor.path) or any(candidate.local for candidate in candidates):
            # Local definitions of one name in several files are different symbols, unless the text is the same.
            return self._of_text(candidates, entry)
        return self._choose_by_baseline(candidates, entry)

    def holds(self, path: str) -> bool:
        """Whether this tree can have `path`: a checkout has no generated files, a wheel only installed ones."""
        if self.store.file(path) is not None:
            return True
        if "checkout" in self.tree.info.layers:
            return not is_made(path)
        return _folder_and_suffix(path) in self._folders_and_suffixes

    @cached_property
    def _folders_and_suffixes(self) -> set[tuple[str, str]]:
        return {_folder_and_suffix(file.path) for file in self.store.files()}

    def _placed(self, name: str, anchor: Anchor, candidate: AnchorCandidate, entry: LockEntry | None) -> ResolvedAnchor:
        tokens = self.tokens(candidate)
        target = _target(anchor, candidate, tokens, entry)
        if target is None:
            missing = f"no {anchor.token}" if anchor.token else "not these lines"
            why = f"{candidate.name} is at {candidate.path}:{candidate.line}, but has {missing}"
            return ResolvedAnchor(name, anchor, "lost", why=why, was=entry)
        outcome: Outcome = "unpinned"
        why = target.why
        if entry is not None:
            place = (candidate.path, candidate.line, target.first)
            still = place == (entry.path, entry.line, entry.at or entry.line)
            outcome = "changed" if fingerprint(tokens) != entry.hash else "exact" if still else "moved"
        elif candidate.path != anchor.path:
            why = f"the definition is not in {anchor.path}"
        return ResolvedAnchor(
            name, anchor, outcome, candidate.path, target.first, target.last, candidate.name, candidate.begin,
            candidate.line, candidate.end, why, (), entry,
        )  # fmt: skip

    def _nowhere(self, name: str, anchor: Anchor, entry: LockEntry | None) -> ResolvedAnchor:
        version = f"{self.tree.info.name} ({self.tree.info.version})"
        if not self.holds(anchor.path):
            return ResolvedAnchor(name, anchor, "absent", why=f"{version} has no files of this kind", was=entry)
        if self.store.file(anchor.path) is None:
            why = f"{version} has no {anchor.path}, and no other file defines {anchor.symbol}"
            return ResolvedAnchor(name, anchor, "lost", why=why, was=entry)
        signature = f" with {anchor.signature}" if anchor.signature else ""
        why = f"{anchor.path} has no {anchor.symbol}{signature}" + (f" in {anchor.inside}" if anchor.inside else "")
        last = anchor.symbol.replace(".", "::").rpartition("::")[2]
        near = [symbol for symbol in self._outline(anchor.path) if symbol.name == last][:_SHOWN]
        if near:
            why += "; it has " + ", ".join(f"{s.qualified}{s.signature} ({s.kind}, {s.line})" for s in near)
        return ResolvedAnchor(name, anchor, "lost", why=why, was=entry)

    @remembered
    def _outline(self, path: str) -> list[Symbol]:
        return self.store.outline(path)

    def tokens(self, candidate: AnchorCandidate) -> list[Token]:
        """Returns the tokens of a candidate's lines."""
        lines = self.tree.lines(candidate.path)
        return read_tokens(lines, candidate.begin, candidate.end, language_of(candidate.path))

    def pin(self, resolved: ResolvedAnchor, baseline: str) -> LockEntry:
        """Returns the lock entry for an anchor that is placed on the tree of its baseline."""
        anchor = resolved.anchor
        candidates = in_file(self.store, anchor, self._outline(anchor.path), resolved.name)
        symbol = next(c for c in candidates if (c.line, c.end) == (resolved.symbol, resolved.symbol_end))
        tokens = self.tokens(symbol)
        entry = LockEntry(
            resolved.stop, _asked(anchor), baseline, symbol.path, symbol.name, symbol.kind, symbol.line, symbol.end,
            fingerprint(tokens), digest([symbol.overload]) if symbol.overload else "",
        )  # fmt: skip
        if anchor.token is None and anchor.lines is None:
            return entry
        target = NarrowTarget(resolved.line, resolved.end_line)
        run = _on_lines(tokens, target)
        near = fingerprint(run)
        alone = len(_places(tokens, near, len(run))) == 1
        return replace(
            entry, at=target.first, at_end=target.last, near=near if alone else "", size=len(run),
            count=len(_occurrences(tokens, anchor.token)),
        )  # fmt: skip


# Kinds that count as equal, since a symbol may have either on different trees.
_LIKE: dict[str, str] = {"struct": "class", "union": "class", "member": "variable"} | {
    kind: traits.like for kind, traits in DIALECT_KINDS.items() if traits.like
}


def _of_kind(candidates: list[AnchorCandidate], entry: LockEntry) -> list[AnchorCandidate]:
    """Returns the candidates of the same kind as the anchor's target on its baseline: a class, a function, …"""
    kind = _LIKE.get(entry.kind, entry.kind)
    return [candidate for candidate in candidates if _LIKE.get(candidate.kind, candidate.kind) == kind]


def _folder_and_suffix(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name.rpartition(".")[2]


def _asked(anchor: Anchor) -> str:
    """Returns a hash of the anchor as written: a lock entry for another anchor is not valid for this one."""
    parts = (anchor.path, anchor.symbol, anchor.signature, anchor.inside, anchor.token, anchor.occurrence, anchor.lines)
    return digest(map(str, parts))[:12]


def is_baseline(tree: TreeInfo, baseline: str) -> bool:
    """Whether a tree is the release that notes were written on: 2.6.0, 2.6.0a0+git… and 2.6.0+cpu are v2.6.0."""
    match = re.match(r"[0-9]+(\.[0-9]+)*", tree.version)
    return match is not None and f"v{match[0]}" == baseline


def resolve_all(
    library: NoteLibrary, resolver: Resolver, only: Iterable[str] | None = None
) -> list[tuple[Tour, Stop, ResolvedAnchor]]:
    """Returns every stop of the library (or of these tours and stops: `only`) with the result for its anchor."""
    wanted = None if only is None else set(only)
    rows = []
    for tour, stop in library.stops():
        name = tour.name_of(stop)
        if wanted is None or name in wanted or tour.id in wanted:
            rows.append((tour, stop, resolver.resolve(name, stop.anchor, library.entries.get(name))))
    return rows


def broken_links(stops: Iterable[tuple[Tour, Stop, ResolvedAnchor]], resolver: Resolver) -> Iterator[Problem]:
    """Yields `src:` links that lead nowhere on the very tree that they were written on. Several targets are allowed."""
    for tour, stop, _ in stops:
        for see in stop.anchor.see if is_baseline(resolver.tree.info, tour.baseline) else ():
            if see.kind == "src":
                resolved = resolver.resolve(see.text, Anchor(see.where, see.path, see.symbol))
                if resolved.outcome == "lost":
                    yield Problem(see.where, f"{see.text!r} has no target: {resolved.why}")


def count(resolved: Sequence[ResolvedAnchor]) -> dict[str, int]:
    """Counts the anchors by outcome. The main outcomes come first."""
    return {outcome: sum(anchor.outcome == outcome for anchor in resolved) for outcome in (*OUTCOMES, *BESIDE)}
