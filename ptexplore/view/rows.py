"""A Trail as rows to read: which hops are shown, what each one's lines say, what was left out and how to see it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from ptexplore.model import Hop, SourceRef, Trail

Style = Literal["place", "reason", "note", "warning"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line under a row's title; `ref` where it is a place in source, `label` before it."""

    style: Style
    text: str = ""
    ref: SourceRef | None = None


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
            lines = _lines(hop, full=options.full)
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
    lines = (*_reasoning(key), *_places(kernel))
    title = f"{key.name} → {_short(kernel.name)}"
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
            shown = kernel.source if kernel.source.line else kernel.registration or kernel.source
            lines.append(Line("place", f"{child.name}{status}", shown))
            pending = [*kernel.children, *others, *pending]
        elif child.kind == "impl" and child.source.line is None and child.declaration is None:
            lines.append(Line("note", f"→ {_short(child.name)}"))
        elif child.kind == "impl":
            lines.append(_impl_line(child, f"→ {_short(child.name)}"))
        elif child.kind == "node" and child.detail.get("recorded"):
            lines.append(Line("place", f"records {child.name}", child.source))
        else:
            rest.append(child)
    children, hidden = _prune(rest, options, place)
    return Row(hop.id, hop.name, hop.kind, hop.status, tuple(lines), _join(children)), hidden


def _impl_line(hop: Hop, label: str = "") -> Line:
    """A hand-written function's place: its body where a tree has it, else its declaration, said to be that."""
    if hop.source.line is None and hop.declaration is not None:
        return Line("place", f"{label} declared at".strip(), hop.declaration)
    return Line("place", label, hop.source)


def _title(hop: Hop) -> str:
    python = hop.detail.get("python")
    if hop.kind == "binding" and python:
        return f"{python} → {_short(hop.name)}"
    if hop.kind == "python":
        return f"{hop.name}()" if hop.name.isidentifier() else hop.name
    return _short(hop.name)


def _short(name: str) -> str:
    return name.removeprefix("torch::autograd::generated::details::").removeprefix("torch::autograd::generated::")


def _lines(hop: Hop, *, full: bool) -> tuple[Line, ...]:
    lines: list[Line] = []
    if hop.kind == "key":
        lines += _reasoning(hop)
    lines += _places(hop)
    if full:
        told = {line.text for line in lines}
        lines += [Line("note", w) for w in hop.why if w not in told]
    return tuple(lines)


def _reasoning(hop: Hop) -> list[Line]:
    """Why this key: the sets by argument at a call's first key, what was passed over, what the table says."""
    dispatch = hop.dispatch or {}
    lines = []
    arguments = dispatch.get("arguments")
    if arguments is not None:
        by_set: dict[str, list[str]] = {}
        for name, keys in arguments.items():
            by_set.setdefault(keys, []).append(name)
        lines += [Line("reason", f"{', '.join(names)}: {{{keys}}}") for keys, names in by_set.items()]
        local = [f"include {{{dispatch['tls_include']}}}"] if dispatch.get("tls_include") else []
        if dispatch.get("tls_exclude"):
            local.append(f"exclude {{{_fold(dispatch['tls_exclude'])}}}")
        if local:
            lines.append(Line("reason", "thread-local " + ", ".join(local)))
    if dispatch.get("redispatch"):
        lines.append(Line("reason", dispatch["redispatch"]))
    skipped = dispatch.get("skipped") or []
    masked = f"; {', '.join(skipped)} only fall{'' if len(skipped) > 1 else 's'} through" if skipped else ""
    lines.append(Line("reason", f"highest of {{{dispatch.get('set', '')}}}: {dispatch.get('entry', '')}{masked}"))
    return lines


def _fold(keys: str) -> str:
    """The sixteen autocast keys that are always excluded say no more than one."""
    names = keys.split(", ")
    autocast = [n for n in names if n.startswith("Autocast")]
    others = [n for n in names if not n.startswith("Autocast")]
    return ", ".join([f"Autocast* ({len(autocast)})", *others]) if len(autocast) > 2 else keys


def _places(hop: Hop) -> list[Line]:
    """Where a hop is: the YAML entry and entry point of an operator, body and registration of a kernel, formulas."""
    if hop.kind == "impl":
        return [_impl_line(hop)]
    lines = [Line("place", "", hop.source)]
    yaml = hop.detail.get("yaml")
    if yaml:
        entry = Line("place", "", SourceRef(yaml["path"], yaml["line"], "wheel", "located"))
        lines = [entry, *lines] if hop.source.line or hop.source.candidates else [entry]
    if hop.registration is not None and hop.registration.line:
        lines = [*(lines if hop.source.line else []), Line("place", "", hop.registration)]
    if hop.declaration is not None and hop.source.line is None:
        lines = [Line("place", "declared at", hop.declaration)]
    if hop.derivative is not None and hop.source.path != hop.derivative["path"]:
        lines += [
            Line(
                "place", f"formula for {f['inputs']}", SourceRef(hop.derivative["path"], f["line"], "wheel", "located")
            )
            for f in hop.derivative.get("formulas", [])
            if f.get("mode") != "forward"
        ]
    return lines


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
    operator = _first_operator(trail.hops)
    if operator is not None:
        steps.append(f"ptexplore op {shlex.quote(operator.op or '')}")
        key = next((c for c in operator.children if c.kind == "key"), operator)
        steps.append(f"{shlex.join(options.command)} --explain {key.id}")
    if not options.full:
        steps.append(f"{shlex.join(options.command)} --full")
    return tuple(steps)


def _first_operator(hops: Iterable[Hop]) -> Hop | None:
    for hop in hops:
        if hop.kind == "op" and hop.op:
            return hop
        found = _first_operator(hop.children)
        if found is not None:
            return found
    return None
