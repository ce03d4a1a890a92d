"""Tell overloads apart by what their kernels' text calls, where neither the profiler nor the inputs tell.

A composite kernel's body names the operators it calls; those that the profiler saw inside the call say which overload
it cannot have been. Only text of the running version counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptexplore.index.cpp.text import Text
from ptexplore.model import Operator
from ptexplore.resolve.below import device_of
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.kernels import caller, registration_of

MATH = "math kernel"  # the table's word for a composite kernel
_CALLED = re.compile(r"\b(\w+)\s*\(")
_QUALIFIED = re.compile(r"\bat::(\w+?)(?:_symint)?\s*\(")
_BRANCH = re.compile(r"\b(?:if|for|while|switch|catch)\b|\?")


def by_calls(context: Context, claim: Claim, candidates: Sequence[Operator]) -> list[Operator]:
    """The one candidate whose kernel's text fits what ran inside `claim`; all of them where that tells nothing.

    Where operators ran inside, its composite kernel names one of them and every other candidate's, composite too, names
    none; where none ran, every other candidate's kernel would have called one on any way through it.
    """
    inside = {name.partition("::")[2] for name in _operators(claim)}
    bodies = {one.name: _composite_body(context, one) for one in candidates}
    if inside:
        fitting = [one for one in candidates if (body := bodies[one.name]) and inside & _named(body)]
        sure = None not in bodies.values()
    else:
        fitting = [one for one in candidates if not _must_call(context, bodies[one.name])]
        sure = True
    return fitting if sure and len(fitting) == 1 else list(candidates)


def _named(body: str) -> set[str]:
    """What a body calls, by the names that operators have."""
    return {name.removesuffix("_symint") for name in _CALLED.findall(body)}


def _must_call(context: Context, body: str | None) -> bool:
    """Whether a kernel's text calls an operator on the only way through it."""
    if body is None or _BRANCH.search(body):
        return False
    return any(context.store.operators_named(name) for name in _QUALIFIED.findall(body))


def _operators(claim: Claim) -> Iterator[str]:
    """The operators called directly inside a claim, by the name the profiler recorded."""
    for child in claim.children:
        if child.hop.kind == "op":
            yield str(child.event.get("name", child.hop.name))
        else:
            yield from _operators(child)


def _composite_body(context: Context, operator: Operator) -> str | None:
    """The text of a composite operator's kernel, where the traced device gets it and a tree of this version has it."""
    device = device_of(context, None)
    entry = context.effective(operator.name, device) if device is not None else None
    if device is None or entry is None or MATH not in entry.reason:
        return None
    record = registration_of(context.store, operator.name, device, entry)
    if record is None or record.target is None:
        return None
    source = context.definition(record.target, caller(record))
    if source.precision != "located" or source.end_line is None:
        return None
    text = Text(str(source.path), "\n".join(context.lookup.lines(source))).bare
    opening = text.find("{")
    return text[opening:] if opening >= 0 else None
