"""One hop explained: its claim, the evidence for it, and the observations that it was concluded from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from msgspec import structs

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.hop_keys import hop_keys
from ptexplore.model.observed import SavedObservation
from ptexplore.model.place_reasons import OutsideTorch
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import Reason
from ptexplore.model.recorders import NATIVE
from ptexplore.model.trace import (
    TRACE_FORMAT,
    Ending,
    Hop,
    HopRow,
    LeftFunction,
    Session,
    Trace,
    walk,
)
from ptexplore.saved.document import to_json
from ptexplore.view.trace import native
from ptexplore.view.trace.ending import compared_value, message_of, named
from ptexplore.view.words.ending import ending_in_words
from ptexplore.view.words.legend import PRECISION_MEANS, STATUS_MEANS
from ptexplore.view.words.reasons import given_in_words, how_in_words, sentence
from ptexplore.view.words.saved import ending_of, row_of

RECORDS = ("dispatch", "operator", "binding", "python", "module", "kernel", "stub", "stub_kernel", "node", "native",
           "library", "launch", "caught", "copy")  # fields of a hop # fmt: skip
UNREADABLE = ("mangled",)  # fields that only JSON shows: `symbol` says the same
MOST = 20  # a longer table of an observation is shown by its length


@dataclass(frozen=True, slots=True)
class ExplainedHop:
    """One hop as `--explain HOP --json` prints it."""

    format: int = field(default=TRACE_FORMAT, kw_only=True)
    hop: HopRow
    children: tuple[int, ...]
    observations: tuple[SavedObservation, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hop's claim in words. `places` are pairs of a label and a reference; `recorded` are the observations.

    `observations` are the same records for people to read: long tables are replaced by their length.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, SourceRef], ...]
    why: tuple[str, ...]
    observations: tuple[SavedObservation, ...]
    recorded: tuple[SavedObservation, ...]
    hop: Hop | None
    parent: int | None
    stable_key: str = ""
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class ExplainedEnding:
    """How the expression ended, as `--explain error --json` prints it."""

    format: int = field(default=TRACE_FORMAT, kw_only=True)
    ending: Ending
    observations: tuple[SavedObservation, ...]


ERROR = "error"  # the argument of `--explain` for the error
RAISED = ("raised", "thrown", "saved")  # kinds of observations that an ending is concluded from


def explain_error(trace: Trace, session: Session | None) -> Explanation:
    """Explains what the expression raised. Raises PtexploreError (usage) if it raised nothing."""
    ending = trace.ending
    if ending is None:
        raise PtexploreError("there is no error to explain", "the expression raised nothing", "--explain HOP", USAGE)
    evidence = tuple(o.as_saved() for o in session.observations if o.kind in RAISED) if session else ()
    remaining = replace(ending, why=(), message="", stack=(), over=None, how=how_in_words(ending))
    facts = [("raised in", ending.stage), *_known(remaining)]
    left_out = ("stage", "source", "python", "message", "exception", "given", "untold", "compared", "raising")
    facts = [(name, value) for name, value in facts if name not in left_out]
    facts += [("given", f"{name}: {what}") for name, what in given_in_words(ending)]
    facts += [("compared", ending_in_words(compared_value(value))) for value in ending.compared]
    facts += [("C++ stack", name) for name in ending.stack]
    places = [("thrown at", ending.source), *((f"in {named(left)}", _with_line(left)) for left in ending.python)]
    name, words = "--timeout" if ending.by == "timeout" else ending.exception, message_of(ending)
    title = f"{name}: {words}" if words else name
    why = tuple(map(sentence, ending.why))
    return Explanation(title, tuple(facts), tuple(places), why, evidence, evidence, None, None, ending=ending)


def _with_line(left: LeftFunction) -> SourceRef:
    """Returns the place where an error propagated out of a function.

    For a file in no tree, the reason includes the line.
    """
    at = left.source
    is_outside = at.path is None and at.line is not None and isinstance(at.reason, OutsideTorch)
    return replace(at, reason=OutsideTorch(f"{at.outside}:{at.line}")) if is_outside else at


def explain(trace: Trace, session: Session | None, number: int) -> Explanation:
    """Explains hop `number`. Raises PtexploreError (usage) if the trace has no such hop."""
    hops = {hop.id: hop for hop in walk(trace.hops)}
    hop = hops.get(number)
    if hop is None:
        last = max(hops, default=0)
        raise PtexploreError(f"there is no hop {number}", f"hops are numbered 1 to {last}", "--full shows all", USAGE)
    evidence = tuple(o.as_saved() for o in session.observations if o.id in hop.evidence) if session else ()
    facts = [
        ("kind", hop.kind),
        ("status", f"{hop.status}: {STATUS_MEANS[hop.status]}"),
        ("precision", f"{hop.source.precision}: {PRECISION_MEANS[hop.source.precision]}"),
    ]
    if hop.op:
        facts.append(("operator", hop.op))
    facts += _frame(trace, hop)
    for record in RECORDS:
        facts += _known(getattr(hop, record))
    facts += [("tensor", _words(tensor)) for tensor in hop.tensors]
    if hop.dispatch is not None and hop.dispatch.unread:
        facts = [_less(name, value, hop.dispatch.unread) for name, value in facts]
    places = [("source", hop.source)]
    places += [("registered at", hop.registration)] if hop.registration else []
    places += [("declared at", hop.declaration)] if hop.declaration else []
    places += [(f"not called here: {call.stub}, at", call.called_at) for call in hop.not_taken]
    places += [("candidate", c) for c in hop.source.candidates]
    parent = next((caller.id for caller in hops.values() if any(child is hop for child in caller.children)), None)
    shown = tuple(map(_shortened, evidence))
    return Explanation(
        f"[{hop.id}] {hop.name}",
        tuple(facts),
        tuple(places),
        tuple(map(sentence, hop.why)),
        shown,
        evidence,
        hop,
        parent,
        hop_keys(trace.hops)[number],
    )


def hop_named(trace: Trace, name: str) -> int:
    """Returns the number of the hop with this name, as `--open` reads names: the costliest one, else the first.

    Raises PtexploreError (usage) if nothing has the name.
    """
    _, numbers = native.opened(trace, name)
    named = [hop for hop in walk(trace.hops) if hop.id in numbers]
    return max(named, key=lambda hop: (hop.instructions or 0, hop.time or 0)).id


def _less(name: str, value: str, unread: tuple[str, ...]) -> tuple[str, str]:
    """Returns the fact. If it is a key set without the keys of unread arguments, the value says so."""
    return (name, f"{value}, and the keys of {', '.join(unread)}") if name in ("set", "raw") else (name, value)


def explanation_to_json(explanation: Explanation) -> str:
    """Returns JSON text: the hop as a saved trace has it, the ids of its children, and its observations."""
    hop = explanation.hop
    if hop is None:
        assert explanation.ending is not None
        return to_json(ExplainedEnding(ending_of(explanation.ending), explanation.recorded))
    row = row_of(hop, explanation.parent, explanation.stable_key)
    return to_json(ExplainedHop(row, tuple(child.id for child in hop.children), explanation.recorded))


def _shortened(observation: SavedObservation) -> SavedObservation:
    """Shortens an observation for people to read: long tables become their length, a tensor its dtype and sizes."""
    if observation.kind == "event":
        data = {name: _readable(value) for name, value in observation.data.items() if value not in (None, [], "", ())}
        return structs.replace(observation, data=data)
    data = {
        name: f"{len(value):,} entries" if isinstance(value, (list, tuple, dict)) and len(value) > MOST else value
        for name, value in observation.data.items()
    }
    return structs.replace(observation, data=data) if observation.recorder == NATIVE else observation


def _readable(value: Any) -> Any:
    """Returns a value of an event: a tensor as "float32[3, 3] cpu", without the address that it had."""
    if isinstance(value, (list, tuple)):
        return [_readable(part) for part in value]
    if isinstance(value, dict) and {"dtype", "sizes", "device"} <= value.keys():
        layout = value.get("layout")
        return f"{value['dtype']}{list(value['sizes'])} {value['device']}{f' {layout}' if layout != 'strided' else ''}"
    return value


def _frame(trace: Trace, hop: Hop) -> list[tuple[str, str]]:
    """Returns a native frame's instruction count, and how the readable tree treats the frame and why."""
    if hop.instructions is None:
        return []
    of_own = f", {hop.native.own:,} of its own" if hop.native is not None else ""
    facts = [("instructions", f"{hop.instructions:,} from entry to exit{of_own}")]
    words = native.in_the_tree(trace, hop)
    return [*facts, ("in the tree", words)] if words else facts


def _known(record: Any) -> list[tuple[str, str]]:
    """Returns the fields of a record with their values, except fields that have their default value."""
    if record is None:
        return []
    values = ((known, getattr(record, known.name)) for known in fields(record))
    told = ((known.name, value) for known, value in values if value != known.default and known.name not in UNREADABLE)
    return [(name.replace("_", " "), _words(value)) for name, value in told]


def _words(value: Any) -> str:
    if is_dataclass(value):
        return "; ".join(text if name == "source" else f"{name}: {text}" for name, text in _known(value))
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {_words(v)}" for k, v in value.items())
    if isinstance(value, tuple):
        return ", ".join(_words(v) for v in value) or "none"
    if isinstance(value, Reason):
        return sentence(value)
    return str(value)
