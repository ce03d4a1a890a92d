"""A survey of many operators: the facts of each one, the folder that keeps them, and the report on all."""

from __future__ import annotations

import gzip
import json
import os
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field, structs, to_builtins

from ptexplore.capture.survey import PLAIN, WAYS, Surveyed, SurveyedFacts, Way, run_of_facts
from ptexplore.errors import BROKEN, PtexploreError, cache_errors
from ptexplore.model.observed import SteppedCalls, records
from ptexplore.model.places import Precision
from ptexplore.model.reasons import RefusedInside
from ptexplore.model.trace import Hop, Trace, walk
from ptexplore.safe_text import clean_json
from ptexplore.saved.document import from_document, refused
from ptexplore.saved.trace import trace_from_json
from ptexplore.view.trace.native import condense, shown_name
from ptexplore.view.why_there import why_there
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.saved import trace_to_json
from ptexplore.writing import forget_below, keep_whole, open_users_file

FACTS_FORMAT = 1  # of a survey's files; within a format, keys are only added
# How an operator was traced. "whole": every instruction of the expression was stepped. "call": the instructions of one
# operator call were stepped. "derived": nothing was stepped.
SurveyState = Literal["whole", "call", "derived", "failed", "no sample"]
NATIVE: tuple[SurveyState, ...] = ("whole", "call")
Comparison = Literal["equal", "differs", "exempt", "not compared"]
Prediction = Literal["right", "wrong", "unknown"]
PLACED = ("registered", "located")

# The kinds of frames whose precision is counted: their source is PyTorch's. Python frames belong to the interpreter.
KINDS = ("op", "binding", "kernel", "impl", "stub", "native", "node")

EXEMPTED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")


class SurveyRow(Struct, frozen=True):
    """The facts of one operator."""

    op: str  # its name in OpInfo
    state: SurveyState  # stepped whole, stepped in one call, or not stepped (`derived`)
    way: Way | None = None  # the transform around the sample; null for a plain sample
    why: str = ""  # the reason if it was not traced, or not stepped
    sort: str = ""  # if torch refuses the sample inside a transform: the kind of reason, without details
    particulars: str = ""  # the details of that reason
    expression: str = ""  # the traced expression
    sample: int | None = None  # the number of OpInfo's sample
    dtype: str = ""  # the dtype of its tensors
    stepped: str = ""  # the stepped operator call, if not the whole expression
    keys: tuple[str, ...] = ()  # the dispatch keys that were seen, in order
    leaf: str = ""  # the at::native function below a kernel with the most instructions of its own
    frames: Mapping[Precision, int] = field(default_factory=dict)  # how many frames have each precision
    unplaced: tuple[tuple[str, str, str], ...] = ()  # functions neither registered nor located: name, precision, reason
    prediction: Prediction = "unknown"  # wrong: a finding says so; right: kernels ran and no finding says otherwise
    differences: tuple[str, ...] = ()  # wrong predictions
    result: Comparison = "not compared"  # compared with the untraced result
    changed: tuple[str, ...] = ()  # passes with another result
    cuts: tuple[str, ...] = ()  # parts that were not stepped
    findings: tuple[str, ...] = ()  # other findings
    instructions: int = 0  # how many were stepped
    seconds: float = 0.0  # how long it took
    steps: int = 0  # how many dispatch keys were seen, repeats included
    foretold: int = 0  # how many of these keys were predicted
    inside: tuple[SurveyRow, ...] = ()  # the same sample inside transforms

    def within(self, way: Way) -> SurveyRow | None:
        """Returns the facts of the sample inside a transform; None if it was not put there."""
        return next((row for row in self.inside if row.way == way), None)

    @property
    def title(self) -> str:
        """The expression, and where its sample is from."""
        return f"{self.expression}  (OpInfo {self.op}, sample {self.sample})" if self.expression else self.op


def row_of(run: Surveyed, trace: Trace | None) -> SurveyRow:
    """Returns the facts of one run. `trace` is the trace resolved from its session; None if there is no session."""
    base: dict[str, Any] = {
        "op": run.op,
        "way": run.way,
        **_why(run),
        "expression": run.expression or "",
        "sample": run.sample,
        "dtype": run.dtype or "",
        "seconds": round(run.seconds, 2),
    }
    if trace is None or run.session is None:
        return SurveyRow(state="failed" if run.has_sample else "no sample", **base)
    parts = records(run.session.observations, "calls", SteppedCalls)
    called = [f"{part.op}#{part.number}" for part in parts if part.part == "operator"]
    base["why"] = sentence(trace.captured.reason) if trace.captured.reason is not None else ""
    result, changed = _compared(run)
    seen = [hop for hop in walk(trace.hops) if hop.status == "observed"]
    reached = any(hop.kind in ("key", "kernel") for hop in seen)
    dispatches = [hop.dispatch for hop in seen if hop.kind == "key" and hop.dispatch is not None]
    kept = [hop for hop in walk(condense(trace.hops)[0]) if hop.kind in KINDS and hop.status == "observed"]
    differences = tuple(sentence(f.told) for f in trace.findings if f.kind == "prediction-differs")
    return SurveyRow(
        state="derived" if not trace.captured.native else "call" if called else "whole",
        stepped=", ".join(called),
        keys=tuple(dict.fromkeys(hop.key for hop in seen if hop.kind == "key" and hop.key)),
        leaf=_leaf(trace.hops),
        frames=dict(Counter(hop.source.precision for hop in kept).most_common()),
        unplaced=tuple(
            dict.fromkeys(
                (shown_name(hop), hop.source.precision, why_there(hop.source.reason))
                for hop in kept
                if hop.source.precision not in PLACED
            )
        ),
        prediction="wrong" if differences else "right" if reached else "unknown",
        differences=differences,
        result=result,
        changed=changed,
        cuts=tuple(sentence(part.cut) for part in parts if part.cut is not None),
        findings=tuple(
            f"{f.kind}: {sentence(f.told)}" for f in trace.findings if f.kind not in ("prediction-differs", "cut")
        ),
        instructions=sum(part.instructions for part in parts),
        steps=len(dispatches),
        foretold=sum(step.redispatch is not None or step.tls_include is not None for step in dispatches),
        **base,
    )


@dataclass(frozen=True, slots=True)
class Concluded:
    """A run and the trace resolved from its session. `why` says why a session has no trace."""

    run: Surveyed
    trace: Trace | None
    why: str = ""

    @property
    def row(self) -> SurveyRow:
        """The facts of the run."""
        row = row_of(self.run, self.trace)
        return structs.replace(row, why=self.why) if self.why else row


def _why(run: Surveyed) -> dict[str, str]:
    """Returns why a sample was not traced, in words. An older survey has a sentence, without a kind of reason."""
    if run.why is None:
        return {"why": "", "sort": ""}
    sort, particulars = (run.why.sort, run.why.particulars) if isinstance(run.why, RefusedInside) else (run.why, "")
    return {"why": sentence(run.why), "sort": sentence(sort), "particulars": particulars}


def _compared(run: Surveyed) -> tuple[Comparison, tuple[str, ...]]:
    """Returns how the traced results compare with the untraced one, and the passes with another result."""
    plain = run.digests.get(PLAIN)
    changed = tuple(recorder for recorder, digest in run.digests.items() if digest != plain)
    if run.op.partition(".")[0] in EXEMPTED:
        return "exempt", changed
    if plain is None or len(run.digests) < 2:
        return "not compared", ()
    return ("differs" if changed else "equal"), changed


def _leaf(hops: Iterable[Hop]) -> str:
    """Returns the at::native function below a kernel with the most instructions of its own; "" if none was seen."""
    best, most = "", 0
    pending = [(hop, False) for hop in hops]
    while pending:
        hop, in_kernel = pending.pop()
        own = hop.native.own if hop.native is not None else 0
        if in_kernel and own > most and hop.name.startswith("at::native::"):
            best, most = shown_name(hop), own
        pending += [(child, in_kernel or hop.kind == "kernel") for child in hop.children]
    return best


class OperatorFacts(SurveyRow, frozen=True, tag_field="format", tag=FACTS_FORMAT):
    """The facts of one operator, as they are saved and printed."""


def operator_facts(row: SurveyRow) -> OperatorFacts:
    """Adds the number of the format to a row."""
    return OperatorFacts(**structs.asdict(row))


def row_from_document(data: Any) -> SurveyRow | None:
    """Reads a saved row, which may contain anything. Returns None if it is not a valid row."""
    try:
        row = from_document(data, SurveyRow, "a survey's row")
    except PtexploreError:
        return None
    return row if row.op and data.get("format") == FACTS_FORMAT else None


MOST_OPERATORS = 10_000  # OpInfo has some 700


@dataclass(frozen=True, slots=True)
class About:
    """The subject of a survey: the runtime, forward only or backward too, the trees used to resolve, and all operators.

    `wall` is the total time of all runs of the survey, in seconds; `jobs` is the number of workers in the last one.
    """

    torch: str
    git_version: str
    python: str
    phase: str
    operators: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    wall: float = 0.0
    jobs: int = 0
    matched: bool = False  # whether one of the trees is the source of exactly this torch


class Folder:
    """A survey on disk. An operator is done if its facts file exists: that file is written last, and as a whole."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def about(self) -> About | None:
        """Returns the subject of this folder's survey; None if the folder is empty or has no survey of this format."""
        try:
            about = from_document(_json(self.root / "survey.json"), About, "survey.json")
        except PtexploreError:
            return None
        operators = tuple(dict.fromkeys(about.operators))  # a report has a row for each
        return replace(about, operators=operators) if len(operators) <= MOST_OPERATORS else None

    def tell(self, about: About) -> None:
        """Writes the subject of the survey. Raises PtexploreError if it cannot be written."""
        file = self.root / "survey.json"
        with cache_errors("the survey cannot be kept", file):
            keep_whole(file, json.dumps({"format": FACTS_FORMAT, **asdict(about)}).encode())

    def rows(self) -> dict[str, SurveyRow]:
        """Returns the facts of all operators that are done, by name. Damaged files count as not done."""
        facts = self.root / "facts"
        try:
            names = os.listdir(facts)  # glob finds nothing in a folder that a bad disk cannot read
        except FileNotFoundError:
            return {}
        rows = (row_from_document(_json(facts / name).get("row")) for name in names if name.endswith(".json"))
        return {row.op: row for row in rows if row is not None}

    def save(self, alone: Concluded, inside: Sequence[Concluded] = ()) -> SurveyRow:
        """Saves the traces and facts of one operator: its sample alone, and inside transforms."""
        rows = [concluded.row for concluded in (alone, *inside)]
        for concluded, row in zip((alone, *inside), rows, strict=True):
            if concluded.trace is not None:
                text = trace_to_json(replace(concluded.trace, expression=row.title), concluded.run.session)
                keep_whole(self.trace(row.op, row.way), gzip.compress(text.encode(), 3), root=self.root)
        row = structs.replace(rows[0], inside=tuple(rows[1:]))
        run = replace(alone.run.facts, inside=tuple(concluded.run.facts for concluded in inside))
        facts = json.dumps({"row": to_builtins(operator_facts(row)), "run": to_builtins(run)}).encode()
        keep_whole(self._facts(row.op), facts, root=self.root)
        return row

    def load(self, op: str) -> Surveyed:
        """Loads an operator's runs with their saved sessions. Raises PtexploreError if they cannot be read."""
        facts = self._facts(op)
        try:
            run = run_of_facts(from_document(_with_codes(_json(facts).get("run")), SurveyedFacts, facts.name))
        except PtexploreError as error:
            message = f"the saved facts about {op} cannot be read"
            raise PtexploreError(message, str(facts), "ptexplore survey --again") from error
        for each in (run, *run.inside):
            file = self.trace(op, each.way)
            if file.exists():
                session = trace_from_json(_bytes(file), file.name)[1]
                if session is None:
                    raise refused(file.name, "it has no session")
                # Paths in a saved session begin below site-packages.
                each.session = replace(session, torch=replace(session.torch, torch_dir="torch"))
        return run

    def forget(self, op: str) -> None:
        """Deletes the facts and traces of one operator."""
        for file in (self._facts(op), self.trace(op), *(self.trace(op, way) for way in WAYS)):
            forget_below(self.root, file)

    def trace(self, op: str, way: Way | None = None) -> Path:
        """Returns the file of an operator's whole trace, as `ptexplore trace --load` reads it."""
        return self.root / "traces" / f"{_name(op)}{f'@{way}' if way else ''}.json.gz"

    def _facts(self, op: str) -> Path:
        return self.root / "facts" / f"{_name(op)}.json"


def _name(op: str) -> str:
    return urllib.parse.quote(op, safe="")


def _bytes(file: Path) -> bytes:
    """Returns the contents of a regular file. Raises OSError, also for a FIFO: someone else may own the folder."""
    with open_users_file(file) as stream:
        return stream.read()


def _with_codes(run: Any) -> Any:
    """Returns the facts of a run; a sentence of an older survey, which had no codes, as the code for a sentence."""
    if not isinstance(run, dict):
        return run
    coded = dict(run)
    if isinstance(run.get("why"), str):
        coded["why"] = {"code": "said", "sentence": run["why"]}
    if isinstance(run.get("inside"), list):
        coded["inside"] = [*map(_with_codes, run["inside"])]
    return coded


def _json(file: Path) -> dict[str, Any]:
    """Returns the object in a file; empty if the file is missing or damaged.

    Raises OSError if a bad disk cannot read it. Otherwise, the file would count as missing, and its operator would be
    surveyed and written again.
    """
    try:
        data = json.loads(clean_json(_bytes(file)))
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return {}
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


SHOWN = 3  # operators named for each function that is neither registered nor located


@dataclass(frozen=True, slots=True)
class Share:
    """A count, its total, and the share that is required, if any."""

    name: str
    count: int
    total: int
    asked: float | None = None

    @property
    def percent(self) -> str:
        """The percentage with one decimal, cut and not rounded: 99.96% is not 100.0%."""
        if not self.total:
            return "-"
        return f"{int(1000 * self.count / self.total) / 10:.1f}%"


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Operators or functions that differ from the others, each with the reason."""

    title: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A survey as every renderer shows it."""

    title: str
    about: Mapping[str, str]
    shares: tuple[Share, ...]
    exceptions: tuple[Exceptions, ...]
    rows: tuple[SurveyRow, ...]
    missing: tuple[str, ...]  # operators that were not surveyed yet


def report_of(about: About, operators: Sequence[str], rows: Mapping[str, SurveyRow]) -> Report:
    """Returns the report on `operators`. `rows` are the rows of surveyed operators, by name."""
    surveyed = tuple(rows[op] for op in operators if op in rows)
    return Report(
        title=f"{len(surveyed)} of PyTorch's operator samples, traced",
        about=_about(about, rows),
        shares=tuple(_shares(surveyed, matched=about.matched)),
        exceptions=tuple(Exceptions(title, entries) for title, why in _exceptions(surveyed) if (entries := tuple(why))),
        rows=surveyed,
        missing=tuple(op for op in operators if op not in rows),
    )


def _about(about: About, rows: Mapping[str, SurveyRow]) -> dict[str, str]:
    """Returns what a report says about the survey as a whole."""
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


def _shares(rows: Sequence[SurveyRow], *, matched: bool) -> Iterator[Share]:
    ran = [row for row in rows if row.state != "no sample"]
    native = [row for row in ran if row.state in NATIVE]
    frames = Counter[str]()
    for row in rows:
        frames.update(row.frames)
    yield Share("operators with a sample for the CPU", len(ran), len(rows))
    yield Share("traced natively, of those", len(native), len(ran), 0.99)
    yield Share("the whole expression stepped, of those", sum(row.state == "whole" for row in ran), len(native))
    equal = sum(row.result == "equal" for row in ran)
    compared = sum(row.state != "failed" and row.result != "exempt" for row in ran)
    yield Share("results equal to the untraced one, of those not exempt", equal, compared, 1.0)
    right = sum(row.prediction == "right" for row in native)
    yield Share("predictions right, of those traced natively", right, len(native))
    for way in WAYS:
        yield from _shares_inside(way, [inside for row in rows if (inside := row.within(way)) is not None])
    placed = sum(frames[name] for name in PLACED)
    asked = 0.95 if matched else None  # without the source of exactly this release, no line can be known
    yield Share("frames registered or located, of those kept", placed, frames.total(), asked)
    for name, count in frames.most_common():
        yield Share(f"frames: {name}", count, frames.total())


def _shares_inside(way: Way, rows: Sequence[SurveyRow]) -> Iterator[Share]:
    """Yields the shares for samples inside a transform."""
    if not rows:
        return
    ran = [row for row in rows if row.state != "no sample"]
    native = [row for row in ran if row.state in NATIVE]
    yield Share(f"{way}: samples that torch runs inside it", len(ran), len(rows))
    yield Share(f"{way}: traced natively, of those", len(native), len(ran))
    equal, compared = sum(row.result == "equal" for row in ran), sum(row.result != "exempt" for row in ran)
    yield Share(f"{way}: results equal to the untraced one, of those not exempt", equal, compared)
    right = sum(row.prediction == "right" for row in native)
    yield Share(f"{way}: predictions right, of those traced natively", right, len(native))
    steps = sum(row.steps for row in native)
    yield Share(f"{way}: dispatch keys predicted, of those seen", sum(row.foretold for row in native), steps)


def _exceptions(rows: Sequence[SurveyRow]) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
    """Yields each kind of exception by its title: operators or functions, each with the reason."""
    yield ("No sample for the CPU", ((row.op, row.why) for row in rows if row.state == "no sample"))
    yield ("Not traced", ((row.op, row.why) for row in rows if row.state == "failed"))
    yield ("Traced without stepping", ((row.op, row.why) for row in rows if row.state == "derived"))
    yield (
        "One operator call stepped, not the whole expression",
        ((row.op, row.stepped) for row in rows if row.state == "call"),
    )
    yield ("Cut", ((row.op, "; ".join(row.cuts)) for row in rows if row.cuts))
    yield ("Another result when traced", ((row.op, _changed(row)) for row in rows if row.result == "differs"))
    yield (
        "Result not compared",
        (
            (row.op, "its result has no plain bytes")
            for row in rows
            if row.result == "not compared" and row.state in (*NATIVE, "derived")
        ),
    )
    yield (
        "Exempt from comparison",
        ((row.op, "it returns uninitialised memory") for row in rows if row.result == "exempt"),
    )
    yield ("Predicted otherwise", ((row.op, "; ".join(row.differences)) for row in rows if row.differences))
    yield ("Other findings", ((row.op, "; ".join(row.findings)) for row in rows if row.findings))
    for way in WAYS:
        yield from _exceptions_inside(way, [inside for row in rows if (inside := row.within(way)) is not None])
    yield ("Functions neither registered nor located", _unplaced_functions(rows))


def _exceptions_inside(way: Way, rows: Sequence[SurveyRow]) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
    """Yields the exceptions for samples inside a transform.

    Samples that torch refuses are grouped by the kind of reason.
    """
    refused_rows = [row for row in rows if row.state == "no sample"]
    for sort, count in Counter(row.sort for row in refused_rows).most_common():
        del count
        entries = [(row.op, row.particulars) for row in refused_rows if row.sort == sort]
        yield f"{way}: not run, {sort}", entries
    yield f"{way}: not traced", [(row.op, row.why) for row in rows if row.state == "failed"]
    yield f"{way}: traced without stepping", [(row.op, row.why) for row in rows if row.state == "derived"]
    yield f"{way}: another result when traced", [(row.op, _changed(row)) for row in rows if row.result == "differs"]
    differing = [(row.op, "; ".join(row.differences)) for row in rows if row.differences]
    yield f"{way}: predicted otherwise", differing
    yield f"{way}: other findings", [(row.op, "; ".join(row.findings)) for row in rows if row.findings]


def _changed(row: SurveyRow) -> str:
    return f"in the {' and '.join(row.changed)} pass{'es' if len(row.changed) > 1 else ''}"


def _unplaced_functions(rows: Iterable[SurveyRow]) -> Iterator[tuple[str, str]]:
    """Yields the functions without a known line, those that most operators run first."""
    operators: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        for function in row.unplaced:
            operators[function].append(row.op)
    for (name, precision, reason), ops in sorted(operators.items(), key=lambda item: (-len(item[1]), item[0])):
        more = f" and {len(ops) - SHOWN} more" if len(ops) > SHOWN else ""
        yield name, f"{precision}{f' ({reason})' if reason else ''}: {', '.join(ops[:SHOWN])}{more}"


def outcome_inside(row: SurveyRow, way: Way) -> str:
    """Returns the outcome of a sample inside a transform in a word or two: the prediction, else why there is none."""
    inside = row.within(way)
    if inside is None:
        return ""
    return inside.sort if inside.state == "no sample" else inside.prediction if inside.state != "failed" else "failed"
