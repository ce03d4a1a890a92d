"""Tell overloads apart by what their kernels' text calls, where neither the profiler nor the inputs tell.

A composite kernel's body names the operators it calls; those that the profiler saw inside the call say which overload
it cannot have been. Only text of the running version counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptexplore.cpp.text import Text
from ptexplore.model.operators import Operator
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.dispatch.below import device_of
from ptexplore.resolve.dispatch.kernel_bodies import caller, registration_of

MATH = "math kernel"  # the table's word for a composite kernel
_CALLED = re.compile(r"\b(\w+)\s*\(")
_QUALIFIED = re.compile(r"\bat::(\w+?)(?:_symint)?\s*\(")
_BRANCH = re.compile(r"\b(?:if|for|while|switch|catch)\b|\?")


def by_calls(context: Context, claim: Claim, candidates: Sequence[Operator]) -> list[Operator]:
    """The one candidate whose kernel's text fits what ran inside `claim`; all of them where that tells nothing.

    A kernel that calls an operator on the only way through it, which did not run, is ruled out. Where all candidates
    are composite, the one that names an operator that ran is meant.
    """
    inside = {name.partition("::")[2] for name in _operators(claim)}
    bodies = {one.name: _composite_body(context, one) for one in candidates}
    left = [one for one in candidates if _missing(context, bodies[one.name], inside) is None]
    if len(left) > 1 and inside and None not in bodies.values():
        left = [one for one in left if (body := bodies[one.name]) and inside & _named(body)]
    return left if len(left) == 1 else list(candidates)


def _operators(claim: Claim) -> Iterator[str]:
    """The operators called directly inside a claim, by the name the profiler recorded."""
    for child in claim.children:
        if child.hop.kind == "op":
            yield (child.event.name if child.event is not None else None) or child.hop.name
        else:
            yield from _operators(child)


def _named(body: str) -> set[str]:
    """What a body calls, by the names that operators have."""
    return {name.removesuffix("_symint") for name in _CALLED.findall(body)}


def _missing(context: Context, body: str | None, inside: set[str]) -> str | None:
    """An operator that a kernel's text calls on the only way through it, and that did not run."""
    if body is None or _BRANCH.search(body):
        return None
    called = [name for name in _QUALIFIED.findall(body) if context.store.operators_named(name)]
    return next((name for name in called if name not in inside), None)


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
