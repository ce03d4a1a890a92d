"""A Trail as rows to read: which hops are shown, what each one's lines say, what was left out and how to see it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ptexplore.model import Hop, Session, Trail, TreeInfo
from ptexplore.view import native
from ptexplore.view.lines import Line, found, impl_lines, lines_of, places, reasoning, short
from ptexplore.view.row import Row, cut, joined, only, shown_frames

LONG = 200  # characters of a command that are worth repeating


@dataclass(frozen=True, slots=True)
class Options:
    """What the reader asked for: every hop, at most so deep, only hops whose name or path holds a text.

    `native` opens the hops whose name holds it: everything below them, and what leads to them.
    """

    full: bool = False
    depth: int | None = None
    only: str | None = None
    native: str | None = None
    command: tuple[str, ...] = ("ptexplore", "trace")  # what was typed, for the next commands to type


@dataclass(frozen=True, slots=True)
class TrailView:
    """Everything a renderer needs of one trace. `counted` tells whether rows have instructions."""

    title: str
    facts: tuple[str, ...]
    rows: tuple[Row, ...]
    findings: tuple[str, ...]
    left_out: tuple[str, ...]
    counted: bool = False
    next_steps: tuple[str, ...] = field(default=())


def view(trail: Trail, options: Options, session: Session | None = None) -> TrailView:
    """Choose and word the rows of a trail; `session`, where it is at hand, tells how the native frames were recorded.

    Raises PtexploreError (usage) where no hop is what `options.native` asks for.
    """
    frames = native.frames(trail.hops)
    place = _Place(counted=frames > 0)
    hops = trail.hops
    if options.native:
        hops, whole = native.opened(trail, options.native)
        place = replace(place, whole=whole)
    elif frames and not options.full:
        hops, hidden = native.condense(hops)
        place = replace(place, hidden=hidden)
    kept, helpers = _prune(hops, options, place)
    rows = joined(kept, full=options.full)
    if options.only:
        rows = only(rows, options.only.lower())
    if options.depth is not None:
        rows = tuple(cut(r, options.depth) for r in rows)
    if frames and not options.full and len(_skewed(trail)) == 1:
        rows = tuple(row.brief() for row in rows)
    return TrailView(
        title=trail.expression,
        facts=(*_facts(trail), *native.facts(trail, session)),
        rows=rows,
        findings=tuple(f"{f.kind}: {f.text}" for f in trail.findings),
        left_out=_left_out(helpers, frames - shown_frames(rows), frames),
        counted=frames > 0,
        next_steps=_next_steps(trail, options),
    )


def _skewed(trail: Trail) -> list[TreeInfo]:
    """The trees of another version. Where it is one, the facts say which, and no row needs to."""
    return [tree for tree in trail.trees if tree.relation == "version-skew"]


def _left_out(helpers: int, hidden: int, frames: int) -> tuple[str, ...]:
    """What the tree does not show, in words, and how to see it."""
    out = []
    if hidden > 0:
        how = "--full shows all, --native NAME opens those whose name holds NAME"
        out.append(f"{hidden:,} of {frames:,} native frames are not shown (+n: so many inside a row): {how}")
    if helpers:
        out.append(f"{helpers} Python helper calls that ran no operator are not shown")
    return tuple(out)


def _facts(trail: Trail) -> tuple[str, ...]:
    torch = trail.torch
    facts = [f"torch {torch.get('version')} (git {str(torch.get('git_version'))[:8]}, {torch.get('build', 'wheel')})"]
    facts += [tree_fact(tree, str(torch.get("version"))) for tree in trail.trees if tree.relation != "runtime"]
    by_description: dict[str, list[str]] = {}
    for name, description in trail.bound.items():
        by_description.setdefault(description, []).append(name)
    facts += [f"{', '.join(names)}: {description}" for description, names in by_description.items()]
    if trail.result.get("description"):
        facts.append(f"result: {trail.result['description']}")
    return tuple(facts)


def _operators_below(hop: Hop) -> bool:
    return hop.kind in ("op", "node") or any(_operators_below(c) for c in hop.children)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a hop stands: inside which operator's call, and what is known of the whole tree.

    `counted`: it is a tree of frames. `whole`: the hops that are shown with all below them. `hidden`: how many frames
    below a hop are not shown.
    """

    inside: str | None = None
    counted: bool = False
    whole: frozenset[int] = frozenset()
    hidden: Mapping[int, int] = field(default_factory=dict)

    def below(self, hop: Hop) -> _Place:
        """The place of a hop's children."""
        return replace(self, inside=self.inside or hop.name) if hop.kind in ("op", "node") else self


def _prune(hops: Iterable[Hop], options: Options, place: _Place) -> tuple[list[Row], int]:
    """Rows of the hops worth a reader's time; Python helpers that ran no operator are counted, not shown."""
    rows: list[Row] = []
    hidden = 0
    for hop in hops:
        wanted = replace(options, full=True) if hop.id in place.whole else options
        if not wanted.full and not wanted.native and _is_helper(hop):
            hidden += 1 + _count(hop.children)
            continue
        row, below = _row(hop, wanted, place)
        hidden += below
        rows.append(row)
    return rows, hidden


def _row(hop: Hop, options: Options, place: _Place) -> tuple[Row, int]:
    """The row of one hop, with those of its children."""
    if not options.full:
        if hop.kind == "key" and len(hop.children) == 1 and hop.children[0].kind == "kernel":
            return _merged(hop, hop.children[0], options, place)
        boundary = _boundary(hop) if place.counted else None
        if boundary is not None and (place.inside or hop.kind == "native"):
            return _crossed(hop, *boundary, options, place)
        if hop.kind == "op" and place.inside and not place.counted:
            return _brief(hop, options, place.below(hop))
    children, below = _prune(hop.children, options, place.below(hop))
    lines = () if options.native and not options.full else tuple(lines_of(hop, full=options.full))
    inside = place.hidden.get(hop.id, 0)
    return _of(hop, _title(hop), lines, joined(children, full=options.full), inside), below


def _of(hop: Hop, title: str, lines: Iterable[Line], children: tuple[Row, ...], inside: int) -> Row:
    row = Row(hop.id, title, hop.kind, hop.status, tuple(lines), children, instructions=hop.instructions)
    return row if children else replace(row, inside=inside)


def _boundary(hop: Hop) -> tuple[Hop, Hop] | None:
    """The key and the kernel behind an operator's entry that leads to one kernel alone; None where it does not."""
    key = hop.children[0] if len(hop.children) == 1 else None
    kernel = key.children[0] if key is not None and key.kind == "key" and len(key.children) == 1 else None
    return (key, kernel) if key is not None and kernel is not None and kernel.kind == "kernel" else None


def _crossed(hop: Hop, key: Hop, kernel: Hop, options: Options, place: _Place) -> tuple[Row, int]:
    """A dispatch boundary inside of an operator as one row: the entry, the key that was chosen, the kernel."""
    children, hidden = _prune(kernel.children, options, place)
    lines = places(kernel) if kernel.instructions is not None or found(kernel.source) else places(hop)
    if key.op is not None and key.op == place.inside:
        lines = [*reasoning(key), *lines]
    title = f"{_title(hop)} → {key.name} → {short(kernel.name)}"
    row = _of(hop, title, lines, joined(children, full=False), place.hidden.get(kernel.id, 0))
    return replace(row, status=_weakest(hop, key, kernel), frames=1 + (kernel.instructions is not None)), hidden


def _weakest(*hops: Hop) -> str:
    """The status of several hops that are told as one."""
    return next((hop.status for hop in hops if hop.status != "observed"), "observed")


def _is_helper(hop: Hop) -> bool:
    """Whether it is a Python function, or the C function behind one, that torch itself called for no operator."""
    return hop.kind in ("python", "binding") and not _operators_below(hop) and not _by_user(hop)


def _by_user(hop: Hop) -> bool:
    return hop.detail.get("source") is not None


def _count(hops: Iterable[Hop]) -> int:
    return sum(hop.kind in ("python", "binding") for hop in native.walk(hops))


def _merged(key: Hop, kernel: Hop, options: Options, place: _Place) -> tuple[Row, int]:
    """A key and its kernel on one row: the key is why, the kernel is what."""
    children, hidden = _prune(kernel.children, options, place)
    lines = (*reasoning(key), *places(kernel))
    title = f"{key.name} → {short(kernel.name)}"
    row = _of(kernel, title, lines, joined(children, full=False), place.hidden.get(kernel.id, 0))
    return replace(row, hop=key.id, status=_weakest(key, kernel)), hidden


def _brief(hop: Hop, options: Options, place: _Place) -> tuple[Row, int]:
    """An operator that ran inside another: one line a key, with the body that ran, then what it called in turn."""
    lines: list[Line] = [] if hop.source.precision == "located" else [Line("place", "", hop.source)]
    rest: list[Hop] = []
    pending = list(hop.children)
    while pending:
        child = pending.pop(0)
        if child.kind == "key" and child.children:
            kernel, *others = child.children
            status = "" if child.status == "derived" else f" {child.status}"
            shown = kernel.source if found(kernel.source) else kernel.registration or kernel.source
            lines.append(Line("place", f"{child.name}{status}", shown))
            pending = [*kernel.children, *others, *pending]
        elif child.kind == "impl" and not found(child.source) and child.declaration is None:
            lines.append(Line("note", f"→ {short(child.name)}"))
        elif child.kind == "impl":
            lines += impl_lines(child, f"→ {short(child.name)}")
            pending = [*child.children, *pending]
        elif child.kind in ("stub", "native") and child.status == "predicted":
            lines.append(Line("place", f"→ {child.name.rsplit('::', 1)[-1]} {child.status}", child.source))
            pending = [*child.children, *pending]
        elif child.kind == "node" and child.detail.get("recorded"):
            lines.append(Line("place", f"records {child.name}", child.source))
        else:
            rest.append(child)
    children, hidden = _prune(rest, options, place)
    return Row(hop.id, hop.name, hop.kind, hop.status, tuple(lines), joined(children, full=False)), hidden


def _title(hop: Hop) -> str:
    python = hop.detail.get("python")
    if hop.kind == "binding" and python:
        return f"{python} → {short(hop.name)}"
    if hop.kind == "python":
        return f"{hop.name}()" if hop.name.isidentifier() else hop.name
    return native.name(hop) if hop.kind in ("native", "closed") else short(hop.name)


def _next_steps(trail: Trail, options: Options) -> tuple[str, ...]:
    """The next commands worth typing, with this trace's own names in them."""
    steps: list[str] = []
    again = shlex.join(options.command)
    if "\n" in again or len(again) > LONG:
        again = "the same command with"
    operator = _first_operator(trail.hops)
    if operator is not None:
        if operator.detail.get("schema"):  # the catalogue has it
            steps.append(f"ptexplore op {shlex.quote(operator.op or '')}")
        key = next((c for c in operator.children if c.kind == "key"), operator)
        steps.append(f"{again} --explain {key.id}")
    if not options.full:
        steps.append(f"{again} --full")
    return tuple(steps)


def tree_fact(tree: TreeInfo, version: str) -> str:
    """One tree beyond the runtime's in words: what it is, and how it relates to the torch that ran."""
    commit = f", git {tree.commit[:8]}" if tree.commit else ""
    meaning = {
        "matches": "it is the source of the torch that ran",
        "consistent": "nobody knows it, but it agrees with the torch that ran wherever both have a file",
        "version-skew": f"it is not the source of torch {version}: its lines are found by name",
    }
    if tree.layers == ("atlas",):
        what = "names and lines alone, shipped with ptexplore"
        return f"atlas ({tree.version}{commit}): {tree.relation}, {what}; ptexplore fetch brings the text"
    return f"source {tree.name} ({tree.version}{commit}): {tree.relation}, {meaning.get(tree.relation, '')}"


def _first_operator(hops: Iterable[Hop]) -> Hop | None:
    for hop in hops:
        if hop.kind == "op" and hop.op:
            return hop
        found = _first_operator(hop.children)
        if found is not None:
            return found
    return None
