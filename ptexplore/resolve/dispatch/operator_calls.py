"""Determines the overload of each operator event, and the place of its entry point.

If neither the profiler nor the inputs show the overload, the text of the kernels may. The body of a composite kernel
names the operators that it calls. The operators that the profiler saw inside the call rule out some overloads. Only
text of the running version counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ptexplore.cpp.text import Text
from ptexplore.facts.cpp_frames import DISPATCHER
from ptexplore.facts.key_sets import LAYERS
from ptexplore.model.nesting import Unrolling, each, outermost, unrolled
from ptexplore.model.observed import ChangedTable, records
from ptexplore.model.operators import Operator
from ptexplore.model.place_reasons import (
    BoxedByInterpreter,
    NoOpsFunction,
    NoOverloadKnown,
    NoOverloadTakes,
    OverloadName,
    OverloadsFit,
    OverloadsTake,
    RegisteredLater,
)
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import (
    BoxedByTorchOps,
    BoxedStack,
    FitsStack,
    OnlyOverload,
    OverloadRecorded,
    Reason,
    TakesInputs,
    TakesNames,
    WouldCallOthers,
)
from ptexplore.model.trace import OperatorRef
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.dispatch.kernel_bodies import caller, registration_of
from ptexplore.resolve.dispatch.kernel_hops import device_of
from ptexplore.resolve.dispatch.schema import arguments, fits, own_inputs
from ptexplore.resolve.places.precision import in_runtime, unknown

BOXED_CALL = "c10::Dispatcher::callBoxed"
MATH = "math kernel"  # the dispatch table's word for a composite kernel
NAMES = ("Dimname", "str[")  # lists of names, in native_functions.yaml and in the dispatcher's schemas
_CALLED = re.compile(r"\b(\w+)\s*\(")
_QUALIFIED = re.compile(r"\bat::(\w+?)(?:_symint)?\s*\(")
_BRANCH = re.compile(r"\b(?:if|for|while|switch|catch)\b|\?")


def name(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Give each operator its full name ("aten::add.Tensor"). An overload that is not known stays unnamed."""
    return unrolled(each(_named_below(context, claim, _Around()) for claim in claims))


@dataclass(frozen=True, slots=True)
class _Around:
    """The surroundings of a claim: the operator call, the calling Python frame or TorchScript function, transforms."""

    operator: Claim | None = None
    frame: Claim | None = None
    layered: bool = False  # whether a layer of a transform is on
    scripted: bool = False  # whether TorchScript's interpreter calls it


def _named_below(context: Context, claim: Claim, around: _Around) -> Unrolling[Claim]:
    """Returns the claim with all operators in it named, callers first.

    Callers come first because the fallback of a layer calls the operator that it was called for.
    """
    if claim.hop.kind == "op":
        claim = _named(context, claim, around)
        claim = _interpreted(claim) if around.scripted else claim
    include = claim.call.tls_include.raw if claim.call is not None else claim.event.tls_include
    layered = around.layered if include is None else bool(include & context.keys.functionality(LAYERS[0]))
    is_operator = claim.hop.kind == "op"
    inside = _Around(
        claim if is_operator else around.operator,
        None if is_operator or claim.hop.kind == "binding" else claim if claim.hop.kind == "python" else around.frame,
        layered,
        claim.event.type == "script",
    )
    children = yield each(_named_below(context, child, inside) for child in claim.children)
    return replace(claim, children=children)


def _named(context: Context, claim: Claim, around: _Around) -> Claim:
    base, overload = claim.hop.name, claim.event.overload
    by_python = around.frame is not None and _is_ops_call(around.frame)
    if overload is not None:
        full = f"{base}.{overload}" if overload else base
        return _called(context, known(context, claim, full, OverloadRecorded()), by_python)
    overloads, matching = overloads_of(context, claim)
    boxed = _called_boxed(claim, around, overloads, matching)
    if boxed is not None and not matching:
        of_stack = known(context, claim, boxed.name, FitsStack(base))
        return _called(context, of_stack, by_python)
    if len(overloads) == 1:  # then inputs that were not recorded do not matter
        return _called(context, known(context, claim, overloads[0].name, OnlyOverload(base)), by_python)
    matching = [*matching, boxed] if boxed is not None else matching
    if len(matching) == 1:
        reason = TakesInputs(base, len(overloads) - 1)
        return _called(context, known(context, claim, matching[0].name, reason), by_python)
    nameless = _nameless(context, claim, around, matching)
    if len(nameless) == 1 and boxed is None:
        named = TakesNames(tuple(o.name for o in matching if o != nameless[0]))
        return _called(context, known(context, claim, nameless[0].name, named), by_python)
    is_whole = context.may_be_left is None or all(inner.event is not context.may_be_left for inner in claim.walk())
    is_comparable = context.lookup.sources and boxed is None and is_whole  # a failed call has fewer calls than its text
    fitting = by_calls(context, claim, matching) if is_comparable else matching
    if len(fitting) == 1:
        others = WouldCallOthers(tuple(o.name for o in matching if o != fitting[0]))
        return _called(context, known(context, claim, fitting[0].name, others), by_python)
    possible = matching or overloads
    names = tuple(OverloadName(o.name, o is boxed) for o in possible)
    which: Reason
    if matching:
        which = OverloadsFit(names) if boxed is not None else OverloadsTake(names)
    else:
        which = NoOverloadTakes(names) if names else NoOverloadKnown()
    ref = SourceRef(
        None,
        None,
        None,
        "ambiguous" if possible else "unknown",
        reason=which,
        candidates=tuple(_entry(context, o) for o in possible),
    )
    return claim.but(replace(claim.hop, source=ref))


def overloads_of(context: Context, claim: Claim) -> tuple[list[Operator], list[Operator]]:
    """Returns all overloads with the name of an operator event, and those that accept its inputs."""
    namespace, _, base = claim.hop.name.partition("::")
    operators = [*context.store.operators_named(base), *_added(context)]
    overloads = [o for o in operators if (o.namespace, o.base) == (namespace, base)]
    return overloads, [o for o in overloads if fits(o.schema, claim.event.inputs)]


def _nameless(context: Context, claim: Claim, around: _Around, matching: Sequence[Operator]) -> Sequence[Operator]:
    """Returns the overloads that take no dimension names, if no tensor has names.

    A call with names for a tensor without any raises before it calls anything. An empty list of names is possible
    without such a tensor, and the profiler records it like any empty list. Only torch.ops and TorchScript can pass one;
    then the overload with names calls the operator again, with positions.
    """
    left = [o for o in matching if not _takes_names(o)]
    inside = [called for called in _operators(claim) if called.event.name == claim.event.name]
    anew = any(fits(o.schema, called.event.inputs) for o in left for called in inside)
    asked = around.scripted or (around.frame is not None and _is_ops_call(around.frame))
    refused = claim.event is context.may_be_left
    return matching if context.may_have_names or anew or asked or refused else left


def _takes_names(operator: Operator) -> bool:
    """Whether an overload takes dimension names: a list, or a single name as in aten::squeeze.dimname."""
    return "dimname" in operator.name.lower() or any(a.type.startswith(NAMES) for a in arguments(operator.schema))


def _called_boxed(
    claim: Claim, around: _Around, overloads: Sequence[Operator], matching: Sequence[Operator]
) -> Operator | None:
    """Returns the overload of the event if it may have been called boxed, or None.

    For a boxed call the profiler records the whole stack, and the inputs of the call are its last values. The fallback
    of a layer calls the operator that it was called for (any operator, if that is not known), with the unwrapped inputs
    after its own inputs. Elsewhere, an event can only be boxed if no overload accepts its inputs.
    """
    own = [o for o in overloads if len(claim.event.inputs) > len(arguments(o.schema))]
    own = [o for o in own if fits(o.schema, own_inputs(o.schema, claim.event.inputs))]
    outer = around.operator
    if around.layered and outer is not None and outer.event.name == claim.event.name:
        own = [o for o in own if outer.hop.op in (None, o.name)]
        return own[0] if len(own) == 1 else None
    return own[0] if len(own) == 1 and not matching else None


def _is_ops_call(frame: Claim) -> bool:
    """Whether a Python frame calls an operator of `torch.ops`, which uses the interpreter's boxed operator.

    Source: createOperatorFromC10 of torch/csrc/jit/runtime/register_c10_ops.cpp.
    """
    return frame.event.function == "__call__" and (frame.event.file or "").endswith("torch/_ops.py")


def _called(context: Context, claim: Claim, by_python: bool) -> Claim:
    """Returns an operator's claim, with the boxed entry point if the call is known to be boxed."""
    operator = claim.hop.operator
    if operator is None:
        return claim
    count = len(arguments(operator.schema))
    why: Reason
    if len(claim.event.inputs) > count:
        why = BoxedStack(len(claim.event.inputs), count)
    elif by_python:
        why = BoxedByTorchOps()
    else:
        return claim
    lines = enumerate(context.tree.lines(DISPATCHER), 1)
    line = next((number for number, text in lines if f" {BOXED_CALL.removeprefix('c10::')}(" in text), None)
    source = in_runtime(context.tree, DISPATCHER, line)
    return claim.but(replace(claim.hop, source=source, operator=replace(operator, entry=BOXED_CALL)), why)


def _interpreted(claim: Claim) -> Claim:
    """Returns the claim of an operator that TorchScript's interpreter calls.

    The call is boxed, unless one of the interpreter's own operators makes it.
    """
    operator = claim.hop.operator
    if operator is None or operator.entry == BOXED_CALL:
        return claim
    why = BoxedByInterpreter()
    return claim.but(replace(claim.hop, source=unknown(why), operator=replace(operator, entry=None)), why)


def _added(context: Context) -> list[Operator]:
    """Returns the operators that the traced code both registered and called."""
    changed = records(context.session.observations, "table", ChangedTable)
    return [
        Operator(table.op, table.schema or "", (), ()) for table in changed if context.store.operator(table.op) is None
    ]


def known(context: Context, claim: Claim, full: str, reason: Reason) -> Claim:
    """Returns an operator's claim with its full name, its entry point and the facts in the catalogue.

    `reason` says how the full name is known.
    """
    operator = context.store.operator(full)
    if operator is None:
        source = unknown(RegisteredLater(full))
        added = next((OperatorRef(o.schema) for o in _added(context) if o.name == full and o.schema), None)
        return claim.but(replace(claim.hop, name=full, op=full, source=source, operator=added), reason)
    yaml = operator.yaml_path
    reference = OperatorRef(
        schema=operator.schema,
        yaml=in_runtime(context.tree, yaml, operator.yaml_line, operator.yaml_end) if yaml else None,
        entry=f"at::_ops::{operator.cpp_name}::call" if operator.cpp_name else None,
    )
    hop = replace(claim.hop, name=full, op=full, source=_entry(context, operator), operator=reference)
    return claim.but(hop, reason)


def _entry(context: Context, operator: Operator) -> SourceRef:
    """Returns the place of `at::_ops::X::call`, which C++ and Python bindings call. Boxed calls go past it."""
    if operator.call_path is None or operator.call_line is None:
        return unknown(NoOpsFunction())
    return in_runtime(context.tree, operator.call_path, operator.call_line)


# --- the overload, from the calls in kernels ---


def by_calls(context: Context, claim: Claim, candidates: Sequence[Operator]) -> list[Operator]:
    """Returns the only candidate whose kernel's text fits the operators inside `claim`; else all candidates.

    A candidate is ruled out if its kernel has no branches and calls an operator that did not run. If all candidates are
    composite, those whose text names no operator that ran are ruled out, too.
    """
    inside = {(called.event.name or called.hop.name).partition("::")[2] for called in _operators(claim)}
    bodies = {candidate.name: _composite_body(context, candidate) for candidate in candidates}
    left = [candidate for candidate in candidates if not _missing(context, bodies[candidate.name], inside)]
    if len(left) > 1 and inside and None not in bodies.values():
        left = [candidate for candidate in left if inside & _calls(bodies[candidate.name] or "")]
    return left if len(left) == 1 else list(candidates)


def _operators(claim: Claim) -> Iterator[Claim]:
    """Returns the operators that a claim calls directly."""
    return outermost(claim.children, lambda child: child.hop.kind == "op")


def _calls(body: str) -> set[str]:
    """Returns the names of the functions that a body calls, in the form of operator names."""
    return {name.removesuffix("_symint") for name in _CALLED.findall(body)}


def _missing(context: Context, body: str | None, inside: set[str]) -> bool:
    """Whether a kernel without branches calls an operator that did not run."""
    if body is None or _BRANCH.search(body):
        return False
    return any(name not in inside and context.store.operators_named(name) for name in _QUALIFIED.findall(body))


def _composite_body(context: Context, operator: Operator) -> str | None:
    """Returns the body of a composite operator's kernel, if the device uses it and a tree of this version has it."""
    device = device_of(context, None)
    entry = context.effective(operator.name, device) if device is not None else None
    if device is None or entry is None or MATH not in entry.reason:
        return None
    record = registration_of(context.store, operator.name, device, entry)
    if record is None or record.target is None:
        return None
    source = context.lookup.definition(record.target, caller(record))
    if source.precision != "located" or source.end_line is None:
        return None
    text = Text(str(source.path), "\n".join(context.lookup.lines(source))).bare
    return text[text.index("{") :] if "{" in text else None
