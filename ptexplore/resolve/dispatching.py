"""Reason as the dispatcher does: from key sets and thread-local state to the kernel of each key on the way.

Source of the rule: aten/src/ATen/core/dispatch/DispatchKeyExtractor.h (arguments | include) - exclude, masked by
fallthroughs; OperatorEntry.cpp for the table; the kernels' own text for what they redispatch with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ptexplore.model import Hop, Registration, Status, TableEntry
from ptexplore.resolve.arguments import Arguments, KnownTensors
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.kernels import kernel_claim, registration_of
from ptexplore.resolve.local import LocalState, first_state, inside_caller, inside_kernel, state_at
from ptexplore.resolve.operators import overloads_of
from ptexplore.resolve.redispatch import Onward, onward

STEPS = 16  # no real call passes more keys than there are functionalities on the way


@dataclass(frozen=True, slots=True)
class Step:
    """One lookup in the dispatch table: the set asked with, the key found, the kernel and where that sends the call."""

    set: int
    key: str
    entry: TableEntry
    registration: Registration | None
    onward: Onward | None


def reason(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Put the key chain and its kernels under every operator call."""
    tensors = KnownTensors.of(context)
    state = first_state(context)
    return tuple(_descend(context, tensors, c, state) for c in claims)


def _descend(context: Context, tensors: KnownTensors, claim: Claim, state: LocalState) -> Claim:
    state = state_at(claim, state)
    if claim.hop.kind in ("binding", "python"):
        children = (_descend(context, tensors, c, inside_caller(context, claim, c, state)) for c in claim.children)
        return replace(claim, children=tuple(children))
    if claim.hop.kind != "op" or claim.hop.op is None:
        state = _inside_any(context, tensors, claim, state) if claim.hop.kind == "op" else state
        return replace(claim, children=tuple(_descend(context, tensors, c, state) for c in claim.children))
    arguments = tensors.arguments(claim)
    start, masked = _masked(context, claim.hop.op, (arguments.raw | state.include) & ~state.exclude)
    steps = list(_walk(context, claim, start)) if state.known else []
    innermost = steps[-1].key if steps else None
    below = inside_kernel(context, state, [s.onward.guard if s.onward else None for s in steps[:-1]], innermost)
    inner = tuple(_descend(context, tensors, c, below) for c in claim.children)
    if not steps:
        return replace(claim, children=inner)
    return replace(claim, children=(_chain(context, Call(claim, arguments, state, masked, steps), inner),))


def _inside_any(context: Context, tensors: KnownTensors, claim: Claim, state: LocalState) -> LocalState:
    """The sets inside an operator of which no overload is known: as the kernels of all that it may be leave them."""
    state = replace(state, observed=False, certain=False, why="inside an operator whose overload is not known")
    keys = (tensors.arguments(claim).raw | state.include) & ~state.exclude
    found = set()
    for one in overloads_of(context, claim)[1]:
        may_be = claim.but(op=one.name, detail={"schema": one.schema})
        steps = list(_walk(context, may_be, _masked(context, one.name, keys)[0]))
        found.add(inside_kernel(context, state, [step.onward.guard if step.onward else None for step in steps[:-1]]))
    return found.pop() if len(found) == 1 else replace(state, known=not found)


def _masked(context: Context, op: str, keys: int) -> tuple[int, tuple[str, ...]]:
    """The set without the keys whose table entry is a fallthrough, and those keys.

    DispatchKeyExtractor masks them out once, when it makes the set: a redispatch never meets them.
    """
    masked = []
    for name in context.keys.names(keys):
        entry = context.effective(op, name)
        if entry is not None and entry.fallthrough:
            masked.append(name)
            keys = context.keys.without(keys, name)
    return keys, tuple(masked)


def _walk(context: Context, claim: Claim, start: int) -> Iterator[Step]:
    """Follow table and redispatch until a kernel ends the call or where it goes on is not known."""
    op = claim.hop.op or ""
    current = start
    for _ in range(STEPS):
        key = context.keys.highest(current) or "Undefined"
        entry = context.effective(op, key)
        if entry is None or entry.fallthrough:
            return
        registration = registration_of(context.store, op, key, entry)
        then = onward(registration, key, str(claim.hop.detail.get("schema", "")), entry)
        if then and not then.certain and any(c.hop.kind == "op" and c.hop.op == op for c in claim.children):
            then = None  # the same operator was called anew inside: this kernel did not redispatch
        yield Step(current, key, entry, registration, then)
        if then is None:
            return
        if then.computed:
            if context.devices - {"cpu"} or context.layouts - {"strided"} or "sparse" in op:
                return  # which device and layout the options name is not recorded
            current = context.keys.raw(("CPU",))
        elif then.after is not None:
            current &= context.keys.after(then.after)


@dataclass(frozen=True, slots=True)
class Call:
    """One operator call with all its reasoning starts from."""

    claim: Claim
    arguments: Arguments
    state: LocalState
    masked: tuple[str, ...]
    steps: list[Step]

    def status(self, number: int) -> Status:
        """Predicted as soon as one thing it follows from was not itself seen: an argument's set, a hidden kernel."""
        shown = all(s.onward is not None and s.onward.certain and not s.onward.computed for s in self.steps[:number])
        return "derived" if self.arguments.observed and self.state.certain and shown else "predicted"


def _chain(context: Context, call: Call, inner: tuple[Claim, ...]) -> Claim:
    """Nest the steps: each kernel holds the next key; the innermost holds the operators that ran inside."""
    below = inner
    last = len(call.steps) - 1
    for number in range(last, -1, -1):
        step = call.steps[number]
        kernel = kernel_claim(context, call.claim, step.registration, step.entry, step.key, call.status(number))
        if number == last > 0 and inner:
            placed = "the profiler saw these operators inside the call; that this kernel called them is derived"
            kernel = kernel.but(why=(placed,))
        kernel = replace(kernel, children=kernel.children + below)
        below = (_key(context, call, number, kernel),)
    return below[0]


def _key(context: Context, call: Call, number: int, kernel: Claim) -> Claim:
    """The hop that says why this key: the sets at a call's first key, the redispatch at each further one."""
    step = call.steps[number]
    dispatch: dict[str, Any] = {
        "set": context.keys.show(step.set),
        "raw": hex(step.set),
        "entry": step.entry.reason,
        "skipped": list(call.masked) if number == 0 else [],
    }
    first, why = _start(context, call, step.key) if number == 0 else _onward(call.steps[number - 1], step.key)
    hop = Hop(
        id=0,
        kind="key",
        name=step.key,
        status=call.status(number),
        source=context.lookup.entry(step.entry, step.key, step.registration),
        phase=call.claim.hop.phase,
        thread=call.claim.hop.thread,
        op=call.claim.hop.op,
        key=step.key,
        dispatch=dispatch | first,
        why=(*why, f"the table's entry for {step.key}: {step.entry.raw.strip()}"),
        evidence=tuple(dict.fromkeys(call.claim.hop.evidence + call.arguments.evidence + call.state.evidence)),
    )
    return Claim(hop=hop, children=(kernel,))


def _start(context: Context, call: Call, key: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    show = context.keys.show
    dispatch = {
        "arguments": {name: show(raw) for name, raw in call.arguments.sets.items()},
        "tls_include": context.keys.show_local(call.state.include),
        "tls_exclude": context.keys.show_local(call.state.exclude),
        "tls_observed": call.state.observed,
        "tls_why": call.state.why,
    }
    why = (*call.arguments.why, *((f"thread-local sets: {call.state.why}",) if call.state.why else ()))
    return dispatch, (*why, f"{key} is the highest key of (arguments | include) - exclude, less the fallthroughs")


def _onward(before: Step, key: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    text = before.onward.why if before.onward else ""
    return {"redispatch": text}, (text, f"{key} is the highest key left")
