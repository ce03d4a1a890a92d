"""What one operator of a survey came to: a flat row of facts from its run and its Trail, and rows as data and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from ptexplore.capture.survey import PLAIN, Surveyed
from ptexplore.model.places import Precision
from ptexplore.model.trace import Hop, Trail, walk
from ptexplore.view.documents import FORMAT
from ptexplore.view.trace.native import condense, name

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
            best, most = name(hop), own
        pending += [(child, below or hop.kind == "kernel") for child in hop.children]
    return best


def _unplaced(hop: Hop) -> tuple[str, str, str]:
    return name(hop), hop.source.precision, hop.source.reason or ""


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
