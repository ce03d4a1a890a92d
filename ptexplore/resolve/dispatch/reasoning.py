"""Follows the dispatcher's rules: from key sets and thread-local state to each key of a call and its kernel.

Sources: aten/src/ATen/core/dispatch/DispatchKeyExtractor.h for the rule (arguments | include) - exclude, masked by
fallthroughs; OperatorEntry.cpp for the table; the text of the kernels for their redispatches.
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
from ptexplore.resolve.dispatch.kernel_bodies import is_from_python, is_of_others, registration_of
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

REDISPATCH = ("torch/_ops.py", "redispatch")  # the method of OpOverload with which Python redispatches
# If one of these is included, a tensor may be a wrapper: below a transform of torch.func, or in the older vmap of
# torch.autograd.functional for vectorize=True (torch/_vmap_internals.py). Its wrappers have Batched, but not CPU.
MAPPED = (LAYERS[0], "VmapMode")
STEPS = 16  # limit: no real call passes more keys than there are functionalities
KernelPlace = tuple[int, bool]  # the number of a step, and whether the call came after the next step


@dataclass(frozen=True, slots=True)
class TableLookup:
    """One lookup in the dispatch table: the key set, the key found, the kernel, and how it passes the call on."""

    set: int
    key: str
    entry: TableEntry
    registration: Registration | None
    onward: Onward | None


def reason(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add the keys and kernels below every operator call."""
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
    """Returns the claim with the keys of all operator calls in it.

    `by_python`: Python makes the call, or a generated binding.
    """
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
    """Returns a Python frame or a binding with the keys of its calls. `state`: the sets where it begins."""
    children = []
    order = CalledInOrder.by(claim)
    for child in claim.children:
        before = state_at(context, child, state) if claim.hop.kind == "python" else state
        called, around = child, inside_caller(context, claim, child, state, order)
        if lifted(claim, child, order):  # C++ between Python and the call changed the sets
            unread = structs.replace(child.event, tls_include=None, tls_exclude=None)
            called, around = replace(child, event=unread), inside_caller(context, claim, child, before, order)
        direct = claim.hop.kind == "python" or claim.hop.source.layer == "generated"
        children.append((yield _descend(context, tensors, called, around, by_python=direct)))
        state = before  # earlier changes by the frame also apply to its next call
    return replace(claim, children=tuple(children))


def _below_operator(
    context: Context, tensors: KnownTensors, claim: Claim, state: LocalState, *, by_python: bool
) -> Unrolling[Claim]:
    """Returns an operator call with its keys; each inner call is below the kernel that made it."""
    call = _call(context, tensors, claim, state, by_python=by_python)
    passing = _frame_inside(claim, *REDISPATCH) if len(call.steps) > 1 else None  # it passes the call to the next key
    if passing is not None:
        return replace(claim, children=((yield _through_python(context, tensors, call, claim.children, passing)),))
    innermost = _inside_steps(context, call.state, call.steps, call.steps[-1].key if call.steps else None)
    if not call.steps and innermost.known:  # each of its kernels may hold a guard
        why = KernelsNotKnown(claim.hop.op or "")
        innermost = replace(innermost, observed=False, certain=False, known=False, why=why)
    inner: dict[KernelPlace, list[Claim]] = {}
    for child in claim.children:
        place, around = _caller(context, call, child, innermost)
        last = inner.get((len(call.steps) - 1, False), ())
        if child.hop.kind == "python" and any(earlier.hop.kind == "op" for earlier in last):
            place = (place[0], place[0] < len(call.steps) - 1)  # the kernel below had run before this
        inner.setdefault(place, []).append((yield _descend(context, tensors, child, around)))
    if not call.steps:
        return replace(claim, children=tuple(inner.get((0, False), ()))).but(claim.hop, *call.unsaid)
    return replace(claim, children=(_chain(context, call, inner),))


def _frame_inside(call: Claim, file: str, function: str) -> Claim | None:
    """Returns the Python frame of a function in a Python kernel of an operator call, or None."""
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
    """Returns the key with this number and its Python kernel. The next key is inside the frame that passes the call on.

    `children` are the calls of the kernel; `passing` is that frame, inside one of them.
    """
    outer = _inside_steps(context, call.state, call.steps[: number + 1], call.steps[number].key)
    gap = Claim(Hop(0, "key", "", "observed", NOT_YET))
    first = tuple(takewhile(lambda child: child.event.is_getter, passing.children))  # these read the operator's handle
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
    """Returns the claim with `old` replaced by `new`."""
    return rewrite((claim,), lambda part: new if part.hop is old.hop else part)[0]


def _call(context: Context, tensors: KnownTensors, claim: Claim, state: LocalState, *, by_python: bool) -> OperatorCall:
    """Returns the facts that determine the keys of an operator call, and its steps as far as they are known."""
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
    """Returns what is known about the tensors of an operator call with these thread-local sets."""
    mapped = state.include & ~state.exclude & union(map(context.keys.functionality, MAPPED))
    transformed = bool(mapped or state.transforms)
    inference = not state.include & context.keys.functionality("ADInplaceOrView")
    return tensors.arguments(claim, transformed=transformed, inference=inference, by_python=by_python)


def _inside_steps(
    context: Context, state: LocalState, steps: Sequence[TableLookup], innermost: str | None = None
) -> LocalState:
    """Returns the thread-local sets inside the kernels of these steps; `innermost` is the key of the last step."""
    guards = [step.onward.guard if step.onward else guard_of(context, step.key) for step in steps]
    inside = inside_kernel(context, state, guards, innermost)
    if any(step.registration is None and is_of_others(step.entry) for step in steps):
        return changed_by_others(inside)
    if not steps or steps[-1].onward is not None:
        return inside
    # In a program no tensor was read, so no tensor is known to have names. A key that Named decides is doubtful anyway.
    named = context.may_have_names and context.session.program is None
    return changed_by_hand(inside, steps[-1].key, named)


def _caller(
    context: Context, call: OperatorCall, child: Claim, innermost: LocalState
) -> tuple[KernelPlace, LocalState]:
    """Returns the place of the kernel that made a call, and the thread-local sets then.

    It is the last step, with the sets `innermost`, unless an outer kernel may have made the call.
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
    """Whether the kernel of a step is in VariableTypeManual.cpp."""
    return step.registration is not None and step.registration.path == MANUAL.file


def _saver(
    context: Context, call: OperatorCall, number: int, child: Claim, innermost: LocalState
) -> tuple[KernelPlace, LocalState] | None:
    """Returns the autograd kernel that made a call in order to save a tensor for backward, or None.

    Two kinds of calls are recognised. Python functions in a generated kernel are hooks on saved tensors, which
    SavedVariable runs outside of the guard (torch/csrc/autograd/saved_variable.cpp); if the kernel below is a Python
    kernel, they belong to that kernel instead. A sparse tensor is copied when it is saved, and the copy begins with
    empty tensors (tensor_data() in SparseTensorImpl of aten/src/ATen).
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
    """Returns an outer kernel whose text calls the operator without its guard, or None.

    It makes this call before the kernel below runs, or afterwards for a forward gradient. So either kernel may have
    made the observed call.
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
    """Whether an operator may have a sparse input or result."""
    tensors = (value for value in call.event.inputs if isinstance(value, RecordedTensor))
    return "sparse" in (call.hop.op or "") or any("sparse" in tensor.layout for tensor in tensors)


def _inside_any(context: Context, tensors: KnownTensors, claim: Claim, state: LocalState) -> LocalState:
    """Returns the sets inside an operator whose overload is not known.

    They are known only if all possible overloads give the same sets.
    """
    state = replace(state, observed=False, certain=False, why=OverloadNotKnown())
    keys = context.keys.difference(_arguments(context, tensors, claim, state).raw | state.include, state.exclude)
    states = set()
    for overload in overloads_of(context, claim)[1]:
        may_be = claim.but(replace(claim.hop, op=overload.name, operator=OperatorRef(overload.schema)))
        steps = list(_walk(context, may_be, _masked(context, overload.name, keys)[0]))
        states.add(_inside_steps(context, state, steps, steps[-1].key if steps else None))
    return states.pop() if len(states) == 1 else replace(state, known=False)


def _masked(context: Context, op: str, keys: int) -> tuple[int, tuple[str, ...]]:
    """Returns the set without the keys whose entry is a fallthrough, and these keys.

    DispatchKeyExtractor masks them once, when it computes the set, so a redispatch never meets them.
    """
    entries = [(name, context.effective(op, name)) for name in context.keys.names(keys)]
    masked = tuple(name for name, entry in entries if entry is not None and entry.fallthrough)
    for name in masked:
        keys = context.keys.without(keys, name)
    return keys, masked


def _walk(context: Context, claim: Claim, start: int, doubt: int = 0) -> Iterator[TableLookup]:
    """Yields the lookups of a call.

    Follows table and redispatches until a kernel ends the call, or until the next key is not known. `doubt` are keys
    that may also be in the set. The walk ends if they would decide the next key.
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
            then = None  # the same operator was called inside, so this kernel did not redispatch
        if then is not None and then.computed and context.session.program is None:
            then = replace(then, why=BodyComputesTyped())  # the text of a program is not read
        yield TableLookup(current, key, entry, registration, then)
        if then is None:
            return
        if then.computed:
            if context.may_make_elsewhere or "sparse" in op or "quantized" in op:
                return  # the options device, layout and dtype are not recorded
            current = context.keys.raw(("CPU",))
        elif then.after is not None:
            current &= context.keys.after(then.after)
            doubt &= context.keys.after(then.after)


def _decides(context: Context, doubt: int, keys: int) -> bool:
    """Whether the doubtful keys change the highest key of the set."""
    return context.keys.highest(keys | doubt) != context.keys.highest(keys)


def _unsaid(
    context: Context, arguments: Arguments, start: int, doubt: int, steps: list[TableLookup]
) -> tuple[Reason, ...]:
    """Returns why no key follows these steps: an argument may have another key. Empty if that is not the reason."""
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
    """An operator call, the facts that determine its keys, and its steps. `unsaid`: why the steps end early."""

    claim: Claim
    arguments: Arguments
    state: LocalState
    masked: tuple[str, ...]
    steps: list[TableLookup]
    unsaid: tuple[Reason, ...]

    def status(self, number: int) -> Status:
        """Returns "derived" if everything behind this step was seen.

        Returns "predicted" if the set of an argument was assumed, or a kernel's text is not available.
        """
        shown = all(s.onward is not None and s.onward.certain and not s.onward.computed for s in self.steps[:number])
        return "derived" if self.arguments.observed and self.state.certain and shown else "predicted"


def _chain(
    context: Context, call: OperatorCall, inner: Mapping[tuple[int, bool], Sequence[Claim]], number: int = 0
) -> Claim:
    """Returns the steps from this number on, nested. A kernel contains its calls from `inner`, around the next key."""
    step = call.steps[number]
    kernel = kernel_claim(context, call.claim, step.registration, step.entry, step.key, call.status(number))
    held = tuple(inner.get((number, False), ()))
    kernel = _of_python(kernel, step, held)
    if number < len(call.steps) - 1:
        further = _chain(context, call, inner, number + 1)
        if held and held[-1].hop.kind == "native" and _by_hand(step):  # the range ends when the kernel returns
            held = (*held[:-1], replace(held[-1], children=(*held[-1].children, further)))
        else:
            held = (*held, further)
        held = (*held, *inner.get((number, True), ()))
    else:
        kernel = kernel.but(kernel.hop, *((RanInside(),) if number > 0 and held else ()), *call.unsaid)
    return _key(context, call, number, replace(kernel, children=kernel.children + held))


def _of_python(kernel: Claim, step: TableLookup, held: Sequence[Claim]) -> Claim:
    """Returns a kernel that Python registered, named by its first Python function: the dispatcher calls this one.

    Source: PythonKernelHolder of torch/csrc/utils/python_dispatch.cpp. Everything before that function is C++.
    """
    if step.registration is not None or not kernel.is_unnamed or not is_from_python(step.entry):
        return kernel
    first = next((claim for claim in held if claim.event.type == "frame"), None)
    if first is None or first.event.file is None or first.event.line is None:
        return kernel
    name = first.event.qualname or first.event.function or kernel.hop.name
    is_torchs = first.hop.source.layer is not None
    source = first.hop.source if is_torchs else of_yours(first.event.file, first.event.line)
    hop = replace(kernel.hop, name=name, source=source, status="observed")
    return replace(kernel.but(hop, RegisteredByPython(name)), is_unnamed=False)


def _key(context: Context, call: OperatorCall, number: int, kernel: Claim) -> Claim:
    """Returns the hop of a key with its reason: the sets at the first key of a call, the redispatch at later keys."""
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
    """Returns why the sets of some arguments are not known: one reason for all, or a reason for each."""
    reasons = _by_reason({**arguments.doubtful, **dict.fromkeys(arguments.unread, MayBeWrapped())})
    return _for_each(reasons) if len(reasons) > 1 else next(iter(reasons), None)


def _by_reason(given: Mapping[str, Reason]) -> dict[Reason, list[str]]:
    """Returns the names of arguments by the reason why their sets are not known."""
    reasons: dict[Reason, list[str]] = {}
    for name, why in given.items():
        reasons.setdefault(why, []).append(name)
    return reasons


def _for_each(reasons: Mapping[Reason, Sequence[str]]) -> Reason:
    return ForEach(tuple(ArgumentSets(tuple(names), why) for why, names in reasons.items()))


def _start(context: Context, call: OperatorCall, dispatch: Dispatch) -> Dispatch:
    """Returns the first lookup of a call, with the sets that it starts from."""
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
