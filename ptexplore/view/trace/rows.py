"""A Trail as rows to read: which hops are shown, what each one's lines say, what was left out and how to see it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

from ptexplore.annotations.blocks import STOP
from ptexplore.model.places import TreeInfo
from ptexplore.model.trace import Hop, Session, Trail, walk
from ptexplore.view.trace import native
from ptexplore.view.trace.pruning import RowContext, prune
from ptexplore.view.trace.row import TraceRow, cut, joined, only, shown_frames

TO_READ = 3  # stops that a trace suggests
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
    rows: tuple[TraceRow, ...]
    findings: tuple[str, ...]
    left_out: tuple[str, ...]
    counted: bool = False
    next_steps: tuple[str, ...] = field(default=())
    read: tuple[str, ...] = field(default=())  # commands that show the stops about these hops


def view(trail: Trail, options: Options, session: Session | None = None) -> TrailView:
    """Choose and word the rows of a trail; `session`, where it is at hand, tells how the native frames were recorded.

    Raises PtexploreError (usage) where no hop is what `options.native` asks for.
    """
    frames = native.frames(trail.hops)
    place, hops = RowContext(), trail.hops
    if options.native:
        hops, whole = native.opened(trail, options.native)
        place = RowContext(whole=whole)
    elif frames and not options.full:
        hops, hidden = native.condense(hops)
        place = RowContext(hidden=hidden)
    kept, helpers = prune(hops, place, full=options.full)
    rows = joined(kept, full=options.full)
    if options.only:
        rows = only(rows, options.only.lower())
    if options.depth is not None:
        rows = tuple(cut(r, options.depth) for r in rows)
    if frames and not options.full:
        rows = tuple(row.brief(skew=len(_skewed(trail)) == 1) for row in rows)
    return TrailView(
        title=trail.expression,
        facts=(*_facts(trail), *native.facts(trail, session)),
        rows=rows,
        findings=tuple(f"{f.kind}: {f.text}" for f in trail.findings),
        left_out=_left_out(helpers, frames - shown_frames(rows), frames),
        counted=frames > 0,
        next_steps=_next_steps(trail, options),
        read=tuple(f"ptexplore tour {name.replace('#', ' ')}" for name in stops_to_read(trail)[:TO_READ]),
    )


def _skewed(trail: Trail) -> list[TreeInfo]:
    """The trees of another version. Where it is one, the facts say which, and no row needs to."""
    return [tree for tree in trail.trees if tree.relation == "version-skew"]


def _left_out(helpers: int, hidden: int, frames: int) -> tuple[str, ...]:
    """What the tree does not show, in words, and how to see it."""
    out = []
    if hidden > 0:
        how = "--full shows all, --native NAME opens what holds NAME"
        out.append(f"{hidden:,} of {frames:,} native frames are not shown (+n: inside a row): {how}")
    if helpers:
        out.append(f"{helpers} Python helper calls that ran no operator are not shown")
    return tuple(out)


def _facts(trail: Trail) -> tuple[str, ...]:
    torch = trail.torch
    facts = [f"torch {torch.version} (git {torch.git_version[:8]}, {torch.build})"]
    facts += [tree_fact(tree, torch.version) for tree in trail.trees if tree.relation != "runtime"]
    by_description: dict[str, list[str]] = {}
    for bound in trail.bound:
        by_description.setdefault(bound.description, []).append(bound.name)
    facts += [f"{', '.join(names)}: {description}" for description, names in by_description.items()]
    if trail.result.description:
        facts.append(f"result: {trail.result.description}")
    return tuple(facts)


def _next_steps(trail: Trail, options: Options) -> tuple[str, ...]:
    """The next commands worth typing, with this trace's own names in them."""
    steps: list[str] = []
    again = shlex.join(options.command)
    if "\n" in again or len(again) > LONG:
        again = "the same command with"
    operator = _first_operator(trail.hops)
    if operator is not None:
        if operator.operator is not None:  # the catalogue has it
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


def stops_to_read(trail: Trail) -> list[str]:
    """Every stop that a hop of the trail names, in reading order, once."""
    found = dict.fromkeys(name for hop in walk(trail.hops) for name in hop.notes)
    return [name for name in found if STOP.fullmatch(name)]  # a saved trace is data nobody vouches for
