"""Reason as the dispatcher does: from key sets and thread-local state to the kernel of each key on the way.

Source of the rule: aten/src/ATen/core/dispatch/DispatchKeyExtractor.h (arguments | include) - exclude, masked by
fallthroughs; OperatorEntry.cpp for the table; the kernels' own text for what they redispatch with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from msgspec import structs

from ptexplore.facts.key_sets import EMPTY, LAYERS
from ptexplore.facts.redispatch import CUSTOM_AUTOGRAD, CUSTOM_OP, CUSTOM_WRITES, MANUAL
from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.operators import Registration, TableEntry
from ptexplore.model.reasons import (
    ArgumentSets,
    BodyComputesTyped,
    ComputedFromOptions,
    EntryOfTable,
    ForEach,
    HighestKey,
    HighestLeft,
    InAnotherThread,
    KernelsNotKnown,
    KeyNotKnown,
    MayBeCopy,
    MayBeOwnCall,
    MayBeTangent,
    MayBeWrapped,
    NotRecorded,
    OverloadNotKnown,
    RanInside,
    Reason,
    RegisteredByPython,
    ThreadLocalSets,
)
from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import Dispatch, Hop, OperatorRef, Status, TransformLayer
from ptexplore.resolve.claims import NOT_YET, Claim, Context, rewrite
from ptexplore.resolve.dispatch.kernel_bodies import is_from_python, is_nameless, is_of_others, registration_of
from ptexplore.resolve.dispatch.kernel_hops import kernel_claim
from ptexplore.resolve.dispatch.operator_calls import overloads_of
from ptexplore.resolve.dispatch.redispatch import (
    Onward,
    calls_unguarded,
    computes_tangent,
    guard_of_writes,
    onward,
    saves_results,
)
from ptexplore.resolve.dispatch.starting_sets import (
    Arguments,
    CalledInOrder,
    KnownTensors,
    LocalState,
    beside_names,
    changed_by_hand,
    changed_by_others,
    first_state,
    guard_of,
    inside_caller,
    inside_kernel,
    lifted,
    state_at,
)
from ptexplore.resolve.keyset import union
from ptexplore.resolve.places.precision import of_yours

REDISPATCH = ("torch/_ops.py", "redispatch")  # file and name of OpOverload's method by which Python redispatches
# Included where a tensor may be a wrapper: below a transform of torch.func, or in the older vmap that
# torch.autograd.functional has for vectorize=True (torch/_vmap_internals.py): its wrappers have Batched, and no CPU.
MAPPED = (LAYERS[0], "VmapMode")
STEPS = 16  # no real call passes more keys than there are functionalities on the way
KernelPlace = tuple[int, bool]  # the number of a step, and whether what is placed there ran after the next step


@dataclass(frozen=True, slots=True)
class TableLookup:
    """One lookup in the dispatch table: the set asked with, the key found, the kernel and where that sends the call."""

    set: int
    key: str
    entry: TableEntry
    registration: Registration | None
    onward: Onward | None


def reason(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Put the key chain and its kernels under every operator call."""
    tensors, state = KnownTensors.of(context), first_state(context)
    elsewhere = replace(state, observed=False, certain=False, known=False, why=InAnotherThread(), transforms=())
    return unrolled(
        each(
            _descend(context, tensors, claim, elsewhere if claim.hop.thread else state, by_python=not claim.hop.thread)
            for claim in claims
        )
    )


def _descend(
    context: Context, tensors: KnownTensors, claim: Claim, state: LocalState, *, by_python: bool = False
) -> Unrolling[Claim]:
    """The claim with the keys of every operator call in it; `by_python` if Python, or a generated binding, makes it."""
    state = state_at(context, claim, state)
    if claim.hop.kind in ("binding", "python"):
        return (yield from _below_python(context, tensors, claim, state))
    if claim.hop.kind == "op" and claim.hop.op is not None:
        return (yield from _below_operator(context, tensors, claim, state, by_python=by_python))
    if claim.hop.kind == "op":
        state = _inside_any(context, tensors, claim, state)
    elif claim.hop.kind == "node":
        state = beside_names(context, state)
    children = yield each(_descend(context, tensors, child, state) for child in claim.children)
    return replace(claim, children=children)


def _below_python(context: Context, tensors: KnownTensors, claim: Claim, state: LocalState) -> Unrolling[Claim]:
    """A Python frame, or a binding, with the keys of what it calls; `state`: the sets where it begins."""
    children = []
    order = CalledInOrder.by(claim)
    for child in claim.children:
        before = state_at(context, child, state) if claim.hop.kind == "python" else state
        called, around = child, inside_caller(context, claim, child, state, order)
        if lifted(claim, child, order):  # C++ between Python and the call changed what Python read
            unread = structs.replace(child.event, tls_include=None, tls_exclude=None)
            called, around = replace(child, event=unread), inside_caller(context, claim, child, before, order)
        direct = claim.hop.kind == "python" or claim.hop.source.layer == "generated"
        children.append((yield _descend(context, tensors, called, around, by_python=direct)))
        state = before  # what the frame did before it read them holds for its next call as well
    return replace(claim, children=tuple(children))


def _below_operator(
    context: Context, tensors: KnownTensors, claim: Claim, state: LocalState, *, by_python: bool
) -> Unrolling[Claim]:
    """An operator call with its key chain, and each thing that it called under the kernel that called it."""
    call = _call(context, tensors, claim, state, by_python=by_python)
    passing = _frame_inside(claim, *REDISPATCH) if len(call.steps) > 1 else None  # it sends the call to the next key
    if passing is not None:
        return replace(claim, children=((yield _through_python(context, tensors, call, claim.children, passing)),))
    innermost = _inside_steps(context, call.state, call.steps, call.steps[-1].key if call.steps else None)
    if not call.steps and innermost.known:  # any of its kernels may hold a guard
        why = KernelsNotKnown(claim.hop.op or "")
        innermost = replace(innermost, observed=False, certain=False, known=False, why=why)
    inner: dict[KernelPlace, list[Claim]] = {}
    for child in claim.children:
        place, around = _caller(context, call, child, innermost)
        last = inner.get((len(call.steps) - 1, False), ())
        if child.hop.kind == "python" and any(earlier.hop.kind == "op" for earlier in last):
            place = (place[0], place[0] < len(call.steps) - 1)  # the kernel below had run by then
        inner.setdefault(place, []).append((yield _descend(context, tensors, child, around)))
    if not call.steps:
        return replace(claim, children=tuple(inner.get((0, False), ()))).but(claim.hop, *call.unsaid)
    return replace(claim, children=(_chain(context, call, inner),))


def _frame_inside(call: Claim, file: str, function: str) -> Claim | None:
    """A function's Python frame in a kernel of an operator call, one that Python runs; None where there is none."""
    pending = list(call.children[::-1])
    while pending:
        claim = pending.pop()
        event = claim.event
        if event.type == "frame" and event.function == function and (event.file or "").endswith(file):
            return claim
        pending += reversed(claim.children) if claim.hop.kind not in ("op", "node") else ()
    return None


def _through_python(
    context: Context,
    tensors: KnownTensors,
    call: OperatorCall,
    children: Sequence[Claim],
    passing: Claim,
    number: int = 0,
) -> Unrolling[Claim]:
    """The key of this number, with the kernel that Python runs; the next key is in the frame that sends the call on.

    `children` are what the kernel called, `passing` is that frame, in one of them.
    """
    outer = _inside_steps(context, call.state, call.steps[: number + 1], call.steps[number].key)
    gap = Claim(Hop(0, "key", "", "observed", NOT_YET))
    first = tuple(takewhile(lambda child: child.event.is_getter, passing.children))  # it reads the operator's handle
    sending = replace(passing, children=(*first, gap))
    emptied = tuple(_swapped(child, passing, sending) for child in children)
    held = yield each(_descend(context, tensors, child, outer) for child in emptied)
    again = _frame_inside(passing, *REDISPATCH) if number + 2 < len(call.steps) else None
    if again is not None:
        further = yield _through_python(context, tensors, call, passing.children[len(first) :], again, number + 1)
    else:
        inner = _inside_steps(context, call.state, call.steps, call.steps[-1].key)
        called = yield each(_descend(context, tensors, child, inner) for child in passing.children[len(first) :])
        further = _chain(context, call, {(len(call.steps) - 1, False): called}, number + 1)
    outermost = _chain(context, replace(call, steps=call.steps[: number + 1]), {(number, False): held}, number)
    return rewrite((outermost,), lambda claim: further if claim.hop is gap.hop else claim)[0]


def _swapped(claim: Claim, old: Claim, new: Claim) -> Claim:
    """The claim with `new` in the place of `old`."""
    return rewrite((claim,), lambda part: new if part.hop is old.hop else part)[0]


def _call(context: Context, tensors: KnownTensors, claim: Claim, state: LocalState, *, by_python: bool) -> OperatorCall:
    """What an operator call's keys follow from, and its steps as far as they can be told."""
    op = claim.hop.op or ""
    arguments = _arguments(context, tensors, claim, state, by_python=by_python)
    keys = context.keys.difference(arguments.raw | state.include, state.exclude)
    start, masked = _masked(context, op, keys)
    if state.known and arguments.unrecorded:
        why = NotRecorded(arguments.unrecorded)
        state = replace(state, observed=False, certain=False, known=False, why=why)
    if not state.known:
        unknown_state = (KeyNotKnown(state.why),) if state.why is not None else ()
        return OperatorCall(claim, arguments, state, masked, [], unknown_state)
    if arguments.unread and not state.include & ~state.exclude & context.keys.functionality(LAYERS[0]):
        return OperatorCall(claim, arguments, state, masked, [], (KeyNotKnown(arguments.why[-1]),))
    doubt = _masked(context, op, keys | context.keys.difference(arguments.doubt, state.exclude))[0] & ~start
    steps = list(_walk(context, claim, start, doubt))
    return OperatorCall(claim, arguments, state, masked, steps, _unsaid(context, arguments, start, doubt, steps))


def _arguments(
    context: Context, tensors: KnownTensors, claim: Claim, state: LocalState, *, by_python: bool = True
) -> Arguments:
    """What is known of an operator call's tensors where these are the thread-local sets."""
    mapped = state.include & ~state.exclude & union(map(context.keys.functionality, MAPPED))
    transformed = bool(mapped or state.transforms)
    inference = not state.include & context.keys.functionality("ADInplaceOrView")
    return tensors.arguments(claim, transformed=transformed, inference=inference, by_python=by_python)


def _inside_steps(
    context: Context, state: LocalState, steps: Sequence[TableLookup], innermost: str | None = None
) -> LocalState:
    """The thread-local sets inside the kernels of these steps; `innermost` is the last one's key."""
    guards = [step.onward.guard if step.onward else guard_of(context, step.key) for step in steps]
    inside = inside_kernel(context, state, guards, innermost)
    if any(step.registration is None and is_of_others(step.entry) for step in steps):
        return changed_by_others(inside)
    if not steps or steps[-1].onward is not None:
        return inside
    # Of a program no tensor was read: none is said to have names, and what Named would decide is in doubt anyway.
    named = context.may_have_names and context.session.program is None
    return changed_by_hand(inside, steps[-1].key, named)


def _caller(
    context: Context, call: OperatorCall, child: Claim, innermost: LocalState
) -> tuple[KernelPlace, LocalState]:
    """The place of the kernel that called something, and the thread-local sets then.

    It is the last step, whose sets are `innermost`, unless an outer kernel may have called it.
    """
    for number, step in enumerate(call.steps[:-1]):
        caller = _saver(context, call, number, child, innermost)
        if caller is None and child.hop.kind == "native" and _by_hand(step):
            caller = (number, False), innermost  # a range that the kernel opens around its redispatch
        if caller is None and child.hop.kind == "op":
            caller = _unguarded_caller(context, step, number, child, innermost)
        if caller is not None:
            return caller
    return (max(0, len(call.steps) - 1), False), innermost


def _by_hand(step: TableLookup) -> bool:
    """Whether a step's kernel is one of VariableTypeManual.cpp."""
    return step.registration is not None and step.registration.path == MANUAL.file


def _saver(
    context: Context, call: OperatorCall, number: int, child: Claim, innermost: LocalState
) -> tuple[KernelPlace, LocalState] | None:
    """An autograd kernel that called something to save a tensor for backward; None where it did not.

    Python functions that a generated kernel runs are hooks on what it saves: those of SavedVariable, which is outside
    of the guard (torch/csrc/autograd/saved_variable.cpp); unless the kernel below is one of Python's, which they are
    then. A sparse tensor is copied for it, from empty ones (tensor_data() of one: SparseTensorImpl of aten/src/ATen).
    """
    step = call.steps[number]
    if not step.key.startswith("Autograd") or step.registration is None or step.registration.guard is None:
        return None
    last = call.steps[-1].registration
    if (child.hop.kind == "python" or child.by_callback) and last is not None and last.origin != "python":
        after = saves_results(context.tree, step.registration) is True
        return (number, after), _inside_steps(context, call.state, call.steps[:number], step.key)
    late = saves_results(context.tree, step.registration) if child.hop.op == EMPTY else None
    if late is None or not _is_sparse(call.claim) or call.claim.event.sequence not in context.recorded:
        return None
    calls = call.claim.children
    at = next(n for n, other in enumerate(calls) if other is child)
    if not all(other.hop.op == EMPTY for other in (calls[at:] if late else calls[:at])):
        return None
    return (number, late), replace(innermost, certain=False, known=False, why=MayBeCopy(step.key))


def _unguarded_caller(
    context: Context, step: TableLookup, number: int, child: Claim, innermost: LocalState
) -> tuple[KernelPlace, LocalState] | None:
    """An outer kernel whose own text calls the operator without its guard; None where that calls no such thing.

    It does so before the kernel below, or after it for a forward gradient. Either kernel may then have called it.
    """
    why: Reason
    if child.hop.op is not None and calls_unguarded(context.tree, step.registration, child.hop.op):
        why, tangent = MayBeOwnCall(step.key), False
    elif context.forward_mode and computes_tangent(context.tree, step.registration):
        why, tangent = MayBeTangent(step.key), True
    else:
        return None
    return (number, tangent), replace(innermost, certain=False, known=False, why=why)


def _is_sparse(call: Claim) -> bool:
    """Whether an operator may be given, or give, a sparse tensor."""
    tensors = (value for value in call.event.inputs if isinstance(value, RecordedTensor))
    return "sparse" in (call.hop.op or "") or any("sparse" in tensor.layout for tensor in tensors)


def _inside_any(context: Context, tensors: KnownTensors, claim: Claim, state: LocalState) -> LocalState:
    """The sets inside an operator whose overload is not known: known only if every possible overload gives the same."""
    state = replace(state, observed=False, certain=False, why=OverloadNotKnown())
    keys = context.keys.difference(_arguments(context, tensors, claim, state).raw | state.include, state.exclude)
    states = set()
    for overload in overloads_of(context, claim)[1]:
        may_be = claim.but(replace(claim.hop, op=overload.name, operator=OperatorRef(overload.schema)))
        steps = list(_walk(context, may_be, _masked(context, overload.name, keys)[0]))
        states.add(_inside_steps(context, state, steps, steps[-1].key if steps else None))
    return states.pop() if len(states) == 1 else replace(state, known=False)


def _masked(context: Context, op: str, keys: int) -> tuple[int, tuple[str, ...]]:
    """The set without the keys whose table entry is a fallthrough, and those keys.

    DispatchKeyExtractor masks them out once, when it makes the set: a redispatch never meets them.
    """
    entries = [(name, context.effective(op, name)) for name in context.keys.names(keys)]
    masked = tuple(name for name, entry in entries if entry is not None and entry.fallthrough)
    for name in masked:
        keys = context.keys.without(keys, name)
    return keys, masked


def _walk(context: Context, claim: Claim, start: int, doubt: int = 0) -> Iterator[TableLookup]:
    """Follow table and redispatch until a kernel ends the call or where it goes on is not known.

    `doubt` are keys that may also be in the set. The walk ends where they would decide the next key.
    """
    op = claim.hop.op or ""
    schema = claim.hop.operator.schema if claim.hop.operator is not None else ""
    current = start
    for _ in range(STEPS):
        key = context.keys.highest(current) or "Undefined"
        entry = context.effective(op, key)
        if entry is None or entry.fallthrough or _decides(context, doubt, current):
            return
        registration = registration_of(context.store, op, key, entry)
        kernel = CUSTOM_WRITES if key == "ADInplaceOrView" else CUSTOM_AUTOGRAD if key.startswith("Autograd") else None
        custom = registration is None and kernel is not None
        inside = _frame_inside(claim, kernel.file, kernel.function) if kernel is not None else None
        custom = custom and (CUSTOM_OP in entry.raw or inside is not None)
        then = onward(registration, entry, key, schema, by_custom_op=custom)
        if then is not None and custom and kernel is CUSTOM_WRITES:
            then = replace(then, guard=guard_of_writes(context.tree))
        if then and not then.certain and any(c.hop.kind == "op" and c.hop.op == op for c in claim.children):
            then = None  # the same operator was called anew inside: this kernel did not redispatch
        if then is not None and then.computed and context.session.program is None:
            then = replace(then, why=BodyComputesTyped())  # the text of a program is not looked at
        yield TableLookup(current, key, entry, registration, then)
        if then is None:
            return
        if then.computed:
            if context.may_make_elsewhere or "sparse" in op or "quantized" in op:
                return  # which device, layout and dtype the options name is not recorded
            current = context.keys.raw(("CPU",))
        elif then.after is not None:
            current &= context.keys.after(then.after)
            doubt &= context.keys.after(then.after)


def _decides(context: Context, doubt: int, keys: int) -> bool:
    """Whether the highest key changes if the doubtful keys are in the set too."""
    return context.keys.highest(keys | doubt) != context.keys.highest(keys)


def _unsaid(
    context: Context, arguments: Arguments, start: int, doubt: int, steps: list[TableLookup]
) -> tuple[Reason, ...]:
    """Why no key is named after these steps: an argument may carry another key. Empty if that is not the reason."""
    left = start
    if steps:
        last = steps[-1].onward
        if last is not None and last.computed:
            return (KeyNotKnown(ComputedFromOptions(), steps[-1].key),)
        if last is None or last.after is None:
            return ()
        mask = context.keys.after(last.after)
        left, doubt = steps[-1].set & mask, doubt & mask
    if not _decides(context, doubt, left):
        return ()
    return (KeyNotKnown(_for_each(_by_reason(arguments.doubtful)), steps[-1].key if steps else ""),)


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One operator call, what its reasoning starts from, and its steps; `unsaid` tells why the steps end early."""

    claim: Claim
    arguments: Arguments
    state: LocalState
    masked: tuple[str, ...]
    steps: list[TableLookup]
    unsaid: tuple[Reason, ...]

    def status(self, number: int) -> Status:
        """Derived if all it follows from was seen; predicted if an argument's set was assumed or a kernel hidden."""
        shown = all(s.onward is not None and s.onward.certain and not s.onward.computed for s in self.steps[:number])
        return "derived" if self.arguments.observed and self.state.certain and shown else "predicted"


def _chain(
    context: Context, call: OperatorCall, inner: Mapping[tuple[int, bool], Sequence[Claim]], number: int = 0
) -> Claim:
    """Nest the steps from this number on: a kernel holds what `inner` has of its number, around the next key."""
    step = call.steps[number]
    kernel = kernel_claim(context, call.claim, step.registration, step.entry, step.key, call.status(number))
    held = tuple(inner.get((number, False), ()))
    kernel = _of_python(kernel, step, held)
    if number < len(call.steps) - 1:
        further = _chain(context, call, inner, number + 1)
        if held and held[-1].hop.kind == "native" and _by_hand(step):  # the range lasts until the kernel returns
            held = (*held[:-1], replace(held[-1], children=(*held[-1].children, further)))
        else:
            held = (*held, further)
        held = (*held, *inner.get((number, True), ()))
    else:
        kernel = kernel.but(kernel.hop, *((RanInside(),) if number > 0 and held else ()), *call.unsaid)
    return _key(context, call, number, replace(kernel, children=kernel.children + held))


def _of_python(kernel: Claim, step: TableLookup, held: Sequence[Claim]) -> Claim:
    """A kernel that Python registered, by the function that ran first in it: the dispatcher calls that one.

    Source: PythonKernelHolder of torch/csrc/utils/python_dispatch.cpp. What it calls on its way there is C++.
    """
    if step.registration is not None or not is_nameless(kernel.hop.name) or not is_from_python(step.entry):
        return kernel
    first = next((claim for claim in held if claim.event.type == "frame"), None)
    if first is None or first.event.file is None or first.event.line is None:
        return kernel
    name = first.event.qualname or first.event.function or kernel.hop.name
    is_torchs = first.hop.source.layer is not None
    source = first.hop.source if is_torchs else of_yours(first.event.file, first.event.line)
    return kernel.but(replace(kernel.hop, name=name, source=source, status="observed"), RegisteredByPython(name))


def _key(context: Context, call: OperatorCall, number: int, kernel: Claim) -> Claim:
    """The hop that says why this key: the sets at a call's first key, the redispatch at each further one."""
    step = call.steps[number]
    dispatch = Dispatch(context.keys.show(step.set), hex(step.set), step.entry.reason, ())
    why: tuple[Reason, ...]
    if number == 0:
        dispatch = _start(context, call, dispatch)
        tls = (ThreadLocalSets(call.state.why),) if call.state.why is not None else ()
        why = (*call.arguments.why, *tls, HighestKey(step.key))
    else:
        before = call.steps[number - 1].onward
        dispatch = replace(dispatch, redispatch=before.why if before else None)
        why = (*((before.why,) if before else ()), HighestLeft(step.key))
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
        dispatch=dispatch,
        why=(*why, EntryOfTable(step.key, context.as_in_table(step.entry))),
        evidence=tuple(dict.fromkeys(call.claim.hop.evidence + call.arguments.evidence + call.state.evidence)),
    )
    return Claim(hop=hop, children=(kernel,))


def why_unread(arguments: Arguments) -> Reason | None:
    """Why the sets of some arguments are not known: one reason for all, or whose each one is."""
    reasons = _by_reason({**arguments.doubtful, **dict.fromkeys(arguments.unread, MayBeWrapped())})
    return _for_each(reasons) if len(reasons) > 1 else next(iter(reasons), None)


def _by_reason(given: Mapping[str, Reason]) -> dict[Reason, list[str]]:
    """The names of arguments by the reason why their sets are not known."""
    reasons: dict[Reason, list[str]] = {}
    for name, why in given.items():
        reasons.setdefault(why, []).append(name)
    return reasons


def _for_each(reasons: Mapping[Reason, Sequence[str]]) -> Reason:
    return ForEach(tuple(ArgumentSets(tuple(names), why) for why, names in reasons.items()))


def _start(context: Context, call: OperatorCall, dispatch: Dispatch) -> Dispatch:
    """A call's first lookup, with the sets that it begins from."""
    return replace(
        dispatch,
        skipped=call.masked,
        arguments={
            name: context.keys.show(raw)
            for name, raw in call.arguments.sets.items()
            if name not in call.arguments.doubtful
        },
        unread=(*call.arguments.unread, *call.arguments.doubtful),
        unread_why=why_unread(call.arguments),
        assumed=call.arguments.assumed,
        wrapped={
            name: tuple(context.keys.show(layer.raw) for layer in layers[1:])
            for name, layers in call.arguments.layers.items()
            if len(layers) > 1
        }
        or None,
        transforms=tuple(
            TransformLayer(
                transform.level,
                transform.kind,
                {
                    name: layer.dim
                    for name, layers in call.arguments.layers.items()
                    for layer in layers
                    if layer.level == transform.level and layer.dim is not None
                },
            )
            for transform in call.state.transforms
        ),
        tls_include=context.keys.show_local(call.state.include),
        tls_exclude=context.keys.show_local(call.state.exclude),
        tls_observed=call.state.observed,
        tls_why=call.state.why,
    )
