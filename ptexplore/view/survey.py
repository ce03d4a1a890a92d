"""A survey of many operators: the facts of each, the folder they are saved in, and the report on all of them."""

from __future__ import annotations

import gzip
import json
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args

from ptexplore.capture.session import refused
from ptexplore.capture.survey import PLAIN, Surveyed
from ptexplore.errors import PtexploreError
from ptexplore.model.places import Precision
from ptexplore.model.trace import Hop, Trail, walk
from ptexplore.view.documents import FORMAT
from ptexplore.view.trace.native import condense, shown_name
from ptexplore.view.trace.saved import trail_from_json, trail_to_json
from ptexplore.writing import write_whole

WHOLE = "whole"  # every instruction of the expression was stepped
CALL = "call"  # one operator call of it was
DERIVED = "derived"  # traced, without the native pass
FAILED = "failed"
NO_SAMPLE = "no sample"
STATES = (WHOLE, CALL, DERIVED, FAILED, NO_SAMPLE)
NATIVE = (WHOLE, CALL)

EQUAL, DIFFERS, EXEMPT, UNCOMPARED = "equal", "differs", "exempt", "not compared"
RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"
PLACED = ("registered", "located")

# Frames that a precision is asked of: those whose source is PyTorch's. Python frames are the interpreter's.
KINDS = ("op", "binding", "kernel", "impl", "stub", "native", "node")

UNINITIALISED = "it returns memory as it finds it"
EXEMPTED: Mapping[str, str] = {
    **dict.fromkeys(("empty", "empty_like", "empty_permuted", "empty_strided"), UNINITIALISED),
    **dict.fromkeys(("new_empty", "new_empty_strided"), UNINITIALISED),
}


@dataclass(frozen=True, slots=True)
class SurveyRow:
    """One operator's facts.

    `keys` are the dispatch keys observed, in order; `leaf` the function of at::native with the most instructions of its
    own below a kernel; `frames` counts the frames that the readable tree keeps by precision; `unplaced` names those
    that are neither registered nor located, as (function, precision, reason). `prediction` is wrong where a finding
    says so, right where kernels were seen to run and none says so.
    """

    op: str
    state: str
    why: str = ""
    expression: str = ""
    sample: int | None = None
    dtype: str = ""
    stepped: str = ""  # which operator call, where not the whole
    keys: tuple[str, ...] = ()
    leaf: str = ""
    frames: Mapping[str, int] = field(default_factory=dict)
    unplaced: tuple[tuple[str, str, str], ...] = ()
    prediction: str = UNKNOWN
    differences: tuple[str, ...] = ()
    result: str = UNCOMPARED
    changed: tuple[str, ...] = ()  # passes whose result was another
    cuts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    instructions: int = 0
    seconds: float = 0.0

    @property
    def title(self) -> str:
        """The expression and where its sample is from."""
        return f"{self.expression}  (OpInfo {self.op}, sample {self.sample})" if self.expression else self.op


def row_of(run: Surveyed, trail: Trail | None) -> SurveyRow:
    """The facts of one run; `trail` is what its session resolves to, None where there is no session."""
    base: dict[str, Any] = {
        "op": run.op,
        "why": run.why or "",
        "expression": run.expression or "",
        "sample": run.sample,
        "dtype": run.dtype or "",
        "seconds": round(run.seconds, 2),
    }
    if trail is None or run.session is None:
        return SurveyRow(state=FAILED if run.has_sample else NO_SAMPLE, **base)
    parts = [o.data for o in run.session.observations if o.kind == "calls"]
    called = [f"{part['op']}#{part['number']}" for part in parts if part["part"] == "operator"]
    base["why"] = trail.captured.reason or ""
    result, changed = _compared(run)
    hops = list(walk(trail.hops))
    kept = [hop for hop in walk(condense(trail.hops)[0]) if hop.kind in KINDS and hop.status == "observed"]
    differences = tuple(f.text for f in trail.findings if f.kind == "prediction-differs")
    return SurveyRow(
        state=DERIVED if not trail.captured.native else CALL if called else WHOLE,
        stepped=", ".join(called),
        keys=tuple(dict.fromkeys(hop.key for hop in hops if hop.kind == "key" and hop.key and _seen(hop))),
        leaf=_leaf(trail.hops),
        frames=dict(Counter(hop.source.precision for hop in kept).most_common()),
        unplaced=tuple(dict.fromkeys(_unplaced(hop) for hop in kept if hop.source.precision not in PLACED)),
        prediction=WRONG if differences else RIGHT if any(_met(hop) for hop in hops) else UNKNOWN,
        differences=differences,
        result=result,
        changed=changed,
        cuts=tuple(str(part["cut"]) for part in parts if part["cut"]),
        findings=tuple(f"{f.kind}: {f.text}" for f in trail.findings if f.kind not in ("prediction-differs", "cut")),
        instructions=sum(int(part["instructions"]) for part in parts),
        **base,
    )


def _seen(hop: Hop) -> bool:
    return hop.status == "observed"


def _met(hop: Hop) -> bool:
    """Whether a key's kernel that was predicted or derived was then seen to run."""
    return hop.kind in ("key", "kernel") and _seen(hop)


def _compared(run: Surveyed) -> tuple[str, tuple[str, ...]]:
    """How the traced results compare with the untraced one, and the passes whose result was another."""
    plain = run.digests.get(PLAIN)
    changed = tuple(recorder for recorder, digest in run.digests.items() if digest != plain)
    if run.op.partition(".")[0] in EXEMPTED:
        return EXEMPT, changed
    if plain is None or len(run.digests) < 2:
        return UNCOMPARED, ()
    return (DIFFERS if changed else EQUAL), changed


def _leaf(hops: Iterable[Hop]) -> str:
    """The function of at::native below a kernel with the most instructions of its own; "" where none was seen."""
    best, most = "", 0
    pending = [(hop, False) for hop in hops]
    while pending:
        hop, below = pending.pop()
        own = hop.native.own if hop.native is not None else 0
        if below and own > most and hop.name.startswith("at::native::"):
            best, most = shown_name(hop), own
        pending += [(child, below or hop.kind == "kernel") for child in hop.children]
    return best


def _unplaced(hop: Hop) -> tuple[str, str, str]:
    return shown_name(hop), hop.source.precision, hop.source.reason or ""


def row_to_document(row: SurveyRow) -> dict[str, Any]:
    """A row as plain JSON data."""
    return {"format": FORMAT, **asdict(row)}


_TEXTS = ("op", "state", "why", "expression", "dtype", "stepped", "leaf", "prediction", "result")
_LISTS = ("keys", "differences", "changed", "cuts", "findings")


def row_from_document(data: Any) -> SurveyRow | None:
    """Read a row back: data nobody vouches for; None for what is no row of ours."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return None
    known = {one.name: data[one.name] for one in fields(SurveyRow) if one.name in data}
    frames, unplaced = known.get("frames", {}), known.get("unplaced", [])
    sound = (
        all(isinstance(known.get(part, ""), str) for part in _TEXTS)
        and all(_are_texts(known.get(part, [])) for part in _LISTS)
        and isinstance(frames, dict)
        and all(word in get_args(Precision) and isinstance(count, int) for word, count in frames.items())
        and isinstance(unplaced, list)
        and all(_are_texts(one) and len(one) == 3 for one in unplaced)
        and known.get("state") in STATES
        and all(isinstance(known.get(part, 0), (int, float)) for part in ("instructions", "seconds"))
        and isinstance(known.get("sample"), (int, type(None)))
    )
    if not sound or not known.get("op"):
        return None
    lists = {part: tuple(known[part]) for part in _LISTS if part in known}
    return SurveyRow(**known | lists | {"unplaced": tuple(map(tuple, unplaced))})


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


@dataclass(frozen=True, slots=True)
class About:
    """What was surveyed: the runtime, forward alone or backward too, the trees resolved with, all operators there are.

    `wall` is how many seconds surveying took, all sittings together; `jobs` the workers of the last.
    """

    torch: str
    git_version: str
    python: str
    phase: str
    operators: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    wall: float = 0.0
    jobs: int = 0


class Folder:
    """A survey on disk. A facts file is written last, and whole: what has one is done."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def about(self) -> About | None:
        """What this folder is about; None where it is empty or not ours."""
        data = _json(self.root / "survey.json")
        kinds: dict[str, Any] = dict.fromkeys(("torch", "git_version", "python", "phase"), str)
        kinds |= {"operators": list, "trees": list, "wall": (int, float), "jobs": int}
        if data is None or not all(isinstance(data.get(name), kind) for name, kind in kinds.items()):
            return None
        known: dict[str, Any] = {
            name: tuple(map(str, data[name])) if kind is list else data[name] for name, kind in kinds.items()
        }
        return About(**known)

    def tell(self, about: About) -> None:
        """Write what this folder is about."""
        _write(self.root / "survey.json", json.dumps({"format": FORMAT, **asdict(about)}).encode())

    def rows(self) -> dict[str, SurveyRow]:
        """The facts of every operator that is done, by name; damaged files count as not done."""
        found = (row_from_document((_json(file) or {}).get("row")) for file in (self.root / "facts").glob("*.json"))
        return {row.op: row for row in found if row is not None}

    def save(self, run: Surveyed, trail: Trail | None, why: str = "") -> SurveyRow:
        """Keep one operator's trace and facts; `why` says why there is no trail to a session."""
        row = row_of(run, trail)
        row = replace(row, why=why) if why else row
        if trail is not None:
            text = trail_to_json(replace(trail, expression=row.title), run.session)
            _write(self.trace(run.op), gzip.compress(text.encode(), 3))
        told = {one.name: getattr(run, one.name) for one in fields(run) if one.name != "session"}
        _write(self._facts(run.op), json.dumps({"row": row_to_document(row), "run": told}).encode())
        return row

    def load(self, op: str) -> Surveyed:
        """One operator's run with its session as it was saved. Raises PtexploreError where it cannot be read."""
        told = (_json(self._facts(op)) or {}).get("run")
        try:
            run = Surveyed(**told) if isinstance(told, dict) else None
        except TypeError:
            run = None
        if run is None or not isinstance(run.digests, dict):
            raise PtexploreError(
                f"what was saved of {op} cannot be read", str(self._facts(op)), "ptexplore survey --again"
            )
        file = self.trace(op)
        if file.exists():
            session = trail_from_json(file.read_bytes(), file.name)[1]
            if session is None:
                raise refused(file.name, "it has no session")
            # Paths in a saved session begin below site-packages.
            run.session = replace(session, torch=replace(session.torch, torch_dir="torch"))
        return run

    def forget(self, op: str) -> None:
        """Take one operator's facts and trace away."""
        for file in (self._facts(op), self.trace(op)):
            file.unlink(missing_ok=True)

    def trace(self, op: str) -> Path:
        """The file of an operator's whole trace, as `ptexplore trace --load` reads it."""
        return self.root / "traces" / f"{_name(op)}.json.gz"

    def _facts(self, op: str) -> Path:
        return self.root / "facts" / f"{_name(op)}.json"


def _name(op: str) -> str:
    return urllib.parse.quote(op, safe="")


def _json(file: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, data)


def told(about: About, rows: Mapping[str, SurveyRow]) -> dict[str, str]:
    """What a report says of the survey as a whole."""
    seconds = sorted(row.seconds for row in rows.values())
    time = f"{about.wall / 60:.1f} minutes with {about.jobs} workers"
    if seconds:
        time += f"; half of the operators within {seconds[len(seconds) // 2]:.1f} s"
    return {
        "torch": f"{about.torch} ({about.git_version[:12]}), Python {about.python}",
        "run": about.phase,
        "resolved with": ", ".join(about.trees),
        "time": time,
    }


SHOWN = 3  # operators named for each function that is neither registered nor located


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, and the share that is asked for, None where none is."""

    name: str
    count: int
    total: int
    asked: float | None = None

    @property
    def percent(self) -> str:
        """One decimal, cut and not rounded: 99.96% is not 100.0%."""
        if not self.total:
            return "-"
        return f"{int(1000 * self.count / self.total) / 10:.1f}%"


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Operators, or functions, that are not as the others, each with why."""

    title: str
    found: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A survey as every renderer shows it."""

    title: str
    about: Mapping[str, str]
    shares: tuple[Share, ...]
    exceptions: tuple[Exceptions, ...]
    rows: tuple[SurveyRow, ...]
    missing: tuple[str, ...]  # operators that were not surveyed yet


def report_of(
    about: Mapping[str, str], operators: Sequence[str], rows: Mapping[str, SurveyRow], trees: Sequence[str] = ()
) -> Report:
    """The report on `operators`; `rows` are those that were surveyed, by name, `trees` what they were resolved with."""
    found = tuple(rows[op] for op in operators if op in rows)
    return Report(
        title=f"{len(found)} of PyTorch's own operator samples, traced",
        about=about,
        shares=tuple(_shares(found, matched=any(tree.endswith("(matches)") for tree in trees))),
        exceptions=tuple(one for one in _exceptions(found) if one.found),
        rows=found,
        missing=tuple(op for op in operators if op not in rows),
    )


def _shares(rows: Sequence[SurveyRow], *, matched: bool) -> Iterator[Share]:
    ran = [row for row in rows if row.state != NO_SAMPLE]
    native = [row for row in ran if row.state in NATIVE]
    frames = sum((Counter(row.frames) for row in rows), Counter[str]())
    yield Share("operators with a sample for the CPU", len(ran), len(rows))
    yield Share("traced natively, of those", len(native), len(ran), 0.99)
    yield Share("the whole expression stepped, of those", sum(row.state == WHOLE for row in ran), len(native))
    equal = sum(row.result == EQUAL for row in ran)
    compared = sum(row.state != FAILED and row.result != EXEMPT for row in ran)
    yield Share("results equal to the untraced one, of those not exempt", equal, compared, 1.0)
    right = sum(row.prediction == RIGHT for row in native)
    yield Share("predictions right, of those traced natively", right, len(native))
    placed = sum(frames[name] for name in PLACED)
    asked = 0.95 if matched else None  # without the source of the very release there is no line to know
    yield Share("frames registered or located, of those kept", placed, frames.total(), asked)
    for name, count in frames.most_common():
        yield Share(f"frames: {name}", count, frames.total())


def _exceptions(rows: Sequence[SurveyRow]) -> Iterator[Exceptions]:
    def listed(title: str, found: Iterable[tuple[str, str]]) -> Exceptions:
        return Exceptions(title, tuple(found))

    yield listed("No sample for the CPU", ((row.op, row.why) for row in rows if row.state == NO_SAMPLE))
    yield listed("Not traced", ((row.op, row.why) for row in rows if row.state == FAILED))
    yield listed("Traced without the native pass", ((row.op, row.why) for row in rows if row.state == DERIVED))
    yield listed(
        "One operator call stepped, not the whole expression",
        ((row.op, row.stepped) for row in rows if row.state == CALL),
    )
    yield listed("Cut", ((row.op, "; ".join(row.cuts)) for row in rows if row.cuts))
    yield listed("Another result when traced", ((row.op, _changed(row)) for row in rows if row.result == DIFFERS))
    yield listed(
        "Result not compared",
        (
            (row.op, "it has no plain bytes")
            for row in rows
            if row.result == UNCOMPARED and row.state in (*NATIVE, DERIVED)
        ),
    )
    yield listed(
        "Exempt from comparison",
        ((row.op, EXEMPTED[row.op.partition(".")[0]]) for row in rows if row.result == EXEMPT),
    )
    yield listed("Predicted otherwise", ((row.op, "; ".join(row.differences)) for row in rows if row.differences))
    yield listed("Other findings", ((row.op, "; ".join(row.findings)) for row in rows if row.findings))
    yield listed("Functions neither registered nor located", _unplaced_functions(rows))


def _changed(row: SurveyRow) -> str:
    return f"in the {' and '.join(row.changed)} pass{'es' if len(row.changed) > 1 else ''}"


def _unplaced_functions(rows: Iterable[SurveyRow]) -> Iterator[tuple[str, str]]:
    """The functions without a line that is known, those that most operators meet first."""
    found: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        for one in row.unplaced:
            found[one].append(row.op)
    for (name, precision, reason), ops in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        more = f" and {len(ops) - SHOWN} more" if len(ops) > SHOWN else ""
        yield name, f"{precision}{f' ({reason})' if reason else ''}: {', '.join(ops[:SHOWN])}{more}"


def report_to_document(report: Report) -> dict[str, Any]:
    """The report as plain JSON data."""
    return {
        "format": 1,
        "about": dict(report.about),
        "shares": [{"name": s.name, "count": s.count, "total": s.total, "asked": s.asked} for s in report.shares],
        "exceptions": [
            {"title": one.title, "found": [{"name": name, "why": why} for name, why in one.found]}
            for one in report.exceptions
        ],
        "missing": list(report.missing),
        "operators": [row_to_document(row) for row in report.rows],
    }
