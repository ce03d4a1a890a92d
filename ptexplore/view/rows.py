"""A Trail as rows to read: which hops are shown, what each one's lines say, what was left out and how to see it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ptexplore.model import Hop, Trail, TreeInfo
from ptexplore.view.lines import Line, found, impl_lines, lines_of, places, reasoning, short


@dataclass(frozen=True, slots=True)
class Row:
    """One shown hop: title, what it is, how it is known, its lines; `times` equal rows are shown as one."""

    hop: int
    title: str
    kind: str
    status: str
    lines: tuple[Line, ...] = ()
    children: tuple[Row, ...] = ()
    times: int = 1
    hidden: int = 0


LONG = 200  # characters of a command that are worth repeating


@dataclass(frozen=True, slots=True)
class Options:
    """What the reader asked for: every hop, at most so deep, only hops whose name or path holds a text."""

    full: bool = False
    depth: int | None = None
    only: str | None = None
    command: tuple[str, ...] = ("ptexplore", "trace")  # what was typed, for the next commands to type


@dataclass(frozen=True, slots=True)
class TrailView:
    """Everything a renderer needs of one trace."""

    title: str
    facts: tuple[str, ...]
    rows: tuple[Row, ...]
    findings: tuple[str, ...]
    hidden: int
    next_steps: tuple[str, ...] = field(default=())


def view(trail: Trail, options: Options) -> TrailView:
    """Choose and word the rows of a trail."""
    kept, hidden = _prune(trail.hops, options, _Place())
    rows = _join(kept)
    if options.only:
        rows = _only(rows, options.only.lower())
    if options.depth is not None:
        rows = tuple(_cut(r, options.depth) for r in rows)
    return TrailView(
        title=trail.expression,
        facts=_facts(trail),
        rows=rows,
        findings=tuple(f"{f.kind}: {f.text}" for f in trail.findings),
        hidden=hidden,
        next_steps=_next_steps(trail, options),
    )


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
    return hop.kind in ("op", "node", "native") or any(_operators_below(c) for c in hop.children)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a hop stands: inside some operator's call or not."""

    inside: bool = False

    def below(self, hop: Hop) -> _Place:
        """The place of a hop's children."""
        return _Place(inside=True) if hop.kind == "op" else self


def _prune(hops: Iterable[Hop], options: Options, place: _Place) -> tuple[list[Row], int]:
    """Rows of the hops worth a reader's time; Python helpers that ran no operator are counted, not shown."""
    rows: list[Row] = []
    hidden = 0
    for hop in hops:
        if not options.full and hop.kind in ("python", "binding") and not _operators_below(hop) and not _by_user(hop):
            hidden += 1 + _count(hop.children)
            continue
        if not options.full and hop.kind == "key" and len(hop.children) == 1 and hop.children[0].kind == "kernel":
            row, below = _merged(hop, hop.children[0], options, place)
        elif not options.full and hop.kind == "op" and place.inside:
            row, below = _brief(hop, options, place.below(hop))
        else:
            children, below = _prune(hop.children, options, place.below(hop))
            lines = lines_of(hop, full=options.full)
            row = Row(hop.id, _title(hop), hop.kind, hop.status, lines, _join(children))
        hidden += below
        rows.append(row)
    return rows, hidden


def _by_user(hop: Hop) -> bool:
    return hop.detail.get("source") is not None


def _count(hops: Iterable[Hop]) -> int:
    return sum(1 + _count(h.children) for h in hops)


def _merged(key: Hop, kernel: Hop, options: Options, place: _Place) -> tuple[Row, int]:
    """A key and its kernel on one row: the key is why, the kernel is what."""
    children, hidden = _prune(kernel.children, options, place)
    lines = (*reasoning(key), *places(kernel))
    title = f"{key.name} → {short(kernel.name)}"
    return Row(key.id, title, "kernel", key.status, lines, _join(children)), hidden


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
    return Row(hop.id, hop.name, hop.kind, hop.status, tuple(lines), _join(children)), hidden


def _title(hop: Hop) -> str:
    python = hop.detail.get("python")
    if hop.kind == "binding" and python:
        return f"{python} → {short(hop.name)}"
    if hop.kind == "python":
        return f"{hop.name}()" if hop.name.isidentifier() else hop.name
    return short(hop.name)


def _join(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Runs of equal rows become one row with a count."""
    out: list[Row] = []
    for row in rows:
        if out and _same(out[-1], row):
            out[-1] = replace(out[-1], times=out[-1].times + 1)
        else:
            out.append(row)
    return tuple(out)


def _same(one: Row, other: Row) -> bool:
    def shape(row: Row) -> Row:
        return replace(row, hop=0, times=1, children=tuple(shape(c) for c in row.children))

    return (one.title, one.kind, one.status) == (other.title, other.kind, other.status) and shape(one) == shape(other)


def _only(rows: Iterable[Row], wanted: str) -> tuple[Row, ...]:
    """Rows whose title or place holds the text, with the rows that lead to them."""
    out = []
    for row in rows:
        children = _only(row.children, wanted)
        places = " ".join(line.ref.path or "" for line in row.lines if line.ref)
        if wanted in row.title.lower() or wanted in places.lower():
            out.append(row)
        elif children:
            out.append(replace(row, children=children, lines=()))
    return tuple(out)


def _cut(row: Row, depth: int) -> Row:
    if depth <= 1:
        return replace(row, children=(), hidden=row.hidden + _rows(row.children))
    return replace(row, children=tuple(_cut(c, depth - 1) for c in row.children))


def _rows(rows: Iterable[Row]) -> int:
    return sum(1 + _rows(r.children) for r in rows)


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
