"""Say which overload each operator event is, and where its entry point stands."""

from __future__ import annotations

from ptexplore.model.operators import Operator
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import OperatorRef
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.dispatch.overloads import by_calls
from ptexplore.resolve.dispatch.schema import fits
from ptexplore.resolve.observed import table_of
from ptexplore.resolve.places.precision import in_runtime, unknown


def name(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Name each operator in full ("aten::add.Tensor"); an overload that cannot be told stays unnamed."""

    def change(claim: Claim) -> Claim:
        if claim.hop.kind != "op":
            return claim
        base, overload = claim.hop.name, claim.event.overload if claim.event is not None else None
        if overload is not None:
            full = f"{base}.{overload}" if overload else base
            return known(context, claim, full, "the profiler recorded the overload")
        overloads, matching = overloads_of(context, claim)
        if len(matching) == 1:
            others = len(overloads) - 1
            reason = f"the one overload of {base} that takes these inputs" + (
                f" ({others} others do not)" if others else ""
            )
            return known(context, claim, matching[0].name, reason)
        told = by_calls(context, claim, matching) if context.lookup.sources else matching
        if len(told) == 1:
            others_named = ", ".join(o.name for o in matching if o != told[0])
            reason = f"{others_named} would have called other operators than ran inside, by the text of its kernel"
            return known(context, claim, told[0].name, reason)
        candidates = tuple(_entry(context, o) for o in matching or overloads)
        names = ", ".join(o.name for o in matching or overloads)
        which = f"several take these inputs: {names}" if names else "none of that name is known"
        reason = f"this torch's profiler does not record overloads, and {which}"
        ref = SourceRef(
            None, None, None, "ambiguous" if candidates else "unknown", reason=reason, candidates=candidates
        )
        return claim.but(source=ref)

    return rewrite(claims, change)


def overloads_of(context: Context, claim: Claim) -> tuple[list[Operator], list[Operator]]:
    """All overloads of an operator event's name, and those that take its inputs."""
    namespace, _, base = claim.hop.name.partition("::")
    found = [one for one in context.store.operators_named(base) if one.namespace == namespace]
    found += [one for one in _added(context) if (one.namespace, one.base) == (namespace, base)]
    return found, [one for one in found if fits(one.schema, claim.event.inputs if claim.event is not None else ())]


def _added(context: Context) -> list[Operator]:
    """The operators that the traced code registered itself, of those that it called."""
    changed = (table_of(one) for one in context.session.observations if one.kind == "table")
    return [Operator(one.op, one.schema, (), ()) for one in changed if context.store.operator(one.op) is None]


def known(context: Context, claim: Claim, full: str, reason: str) -> Claim:
    """An operator's claim with its full name, its entry point and what the catalogue has of it; `reason` tells why."""
    operator = context.store.operator(full)
    if operator is None:
        ref = unknown(f"{full} was registered after the catalogue was built (by the traced code)")
        return claim.but(name=full, op=full, source=ref, why=(reason,))
    source, reference = _entry(context, operator), _reference(context, operator)
    return claim.but(name=full, op=full, source=source, operator=reference, why=(reason,))


def _entry(context: Context, operator: Operator) -> SourceRef:
    """`at::_ops::X::call`, which C++ and the Python binding call; boxed callers go past it."""
    if operator.call_path is None or operator.call_line is None:
        return unknown("no at::_ops entry point: the operator is not in native_functions.yaml")
    return in_runtime(context.tree, operator.call_path, operator.call_line)


def _reference(context: Context, operator: Operator) -> OperatorRef:
    return OperatorRef(
        schema=operator.schema,
        yaml=in_runtime(context.tree, operator.yaml_path, operator.yaml_line, operator.yaml_end)
        if operator.yaml_path
        else None,
        entry=f"at::_ops::{operator.cpp_name}::call" if operator.cpp_name else None,
    )
