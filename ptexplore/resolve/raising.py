"""Concludes where an error was thrown, the innermost hop that it left, and why the dispatcher found no kernel.

An error leaves a function, a call or a claim if it propagates out of it. Sources: c10/util/Exception.h keeps the
throwing line in each error. OperatorEntry::reportError of aten/src/ATen/core/dispatch/OperatorEntry.cpp writes the
message of a missing kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from ptexplore.cpp.library_names import TORCHS
from ptexplore.cpp.symbol_names import parse
from ptexplore.facts import layouts
from ptexplore.facts.cpp_frames import BOXED, HANDS_OVER, LEADS_ON, LOOKUP, PY_NODE, RUNS_NODE, UNPACK
from ptexplore.model.nesting import Unrolling, each, folded, outermost, unrolled
from ptexplore.model.observed import (
    CppFunction,
    ErrorBefore,
    FreedNode,
    LeftFrame,
    PythonPlace,
    RaisedError,
    SavedTensorWrites,
    SteppedCalls,
    ThrownError,
    UserCall,
    records,
)
from ptexplore.model.place_reasons import NoLineOfYours, OtherLibrary, ThrowNotAsked, ThrowRunCut, ThrowUnseen
from ptexplore.model.places import EXPRESSION, SourceRef
from ptexplore.model.reasons import (
    AfterError,
    ByCalling,
    ByThrowing,
    FunctorNames,
    InAnotherProcess,
    KeptByTorch,
    KeyNotKnown,
    LeftByException,
    ListUntold,
    MadeError,
    NoLineKept,
    NoSecondRun,
    NotedWhenMade,
    OneInMemory,
    OnStack,
    RaisedByPython,
    ReadAtEnd,
    Reason,
    RunRaisedOther,
    TensorUntold,
    ToldByRun,
    WatchedRaising,
    WatchedThrowing,
)
from ptexplore.model.recorders import THROWN
from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import (
    Cause,
    ComparedValue,
    EarlierError,
    Ending,
    HandedError,
    Hop,
    HopError,
    InPlaceWriter,
    LeftFunction,
    MissingKernel,
    ModifiedTensor,
    NativeCall,
    TensorSaver,
    UntoldArgument,
    walk,
)
from ptexplore.resolve.causes import cause_of, cause_of_getter, cause_of_unused
from ptexplore.resolve.claims import Claim, Context, replaced
from ptexplore.resolve.copies import not_joined, tensors_in, wanted_sizes
from ptexplore.resolve.dispatch import schema
from ptexplore.resolve.dispatch.operator_calls import overloads_of
from ptexplore.resolve.error_message import (
    NO_KERNEL,
    condition_at,
    handed_on,
    missing_kernel,
    modified_tensor,
    raised_by,
    thrown_at,
    with_writes,
)
from ptexplore.resolve.freed import READ, cause_of_freed, freed_graph, is_read
from ptexplore.resolve.merge import innermost_left
from ptexplore.resolve.mismatch import Given, compared
from ptexplore.resolve.native.call_tree import Function, landmark
from ptexplore.resolve.native.linkage import UNLINKED, Linkage
from ptexplore.resolve.native.sites import Sites
from ptexplore.resolve.places.precision import in_runtime, of_yours, outside, unknown
from ptexplore.resolve.python_places import is_torchs_or_yours
from ptexplore.source.canonical import InstalledFolders, installed_path

BOXED_NAME = re.compile(rf"\b(?:{'|'.join(BOXED)})\b")
ENTRY = re.compile(r"at::_ops::\w+::(?:call|redispatch)")
OF_LAYOUTS = ("Sparse", "Mkldnn")  # prefixes of keys that depend only on the layout
NESTED = "NestedTensor"  # part of the keys of nested tensors
KEPT = 16_000  # every recorder keeps this many characters of a message (probe/raising.py)
RUN_BY_ENGINE = ("engine", "node")  # types of the events that the engine runs


# By the event number of a call: how many of its keys were reached, and the functions that ran in the last key's kernel.
Plan = Mapping[int, tuple[int, frozenset[str] | None]]


def conclude(context: Context, claims: tuple[Claim, ...], numbered: dict[int, int]) -> Ending | None:
    """Returns the error that the expression raised, or None. `numbered` has the hops' numbers, by claim."""
    seen = records(context.session.observations, "raised", RaisedError)
    if not seen:
        return None
    raised = seen[0]
    left = innermost_left(context.session.observations)
    thrown = _thrown(context, raised)
    call = context.calls[left] if left is not None and left < len(context.calls) else None
    step = _left_last(context, claims, raised, thrown)
    if call is not None and call.syntax == "call" and (step is None or _is_bare(claims, step)):
        step = next((claim for claim in walk(claims) if claim.call is call and claim.hop.kind == "python"), step)
    modified = modified_tensor(context.lookup, raised.message)
    operator = next(reversed(_operators_left(claims, step)), None)
    python = tuple(_left(context, frame) for frame in reversed(raised.frames) if _is_shown(context, frame))
    source = _raised_at(context, thrown) if thrown is not None else _raised_in_python(context, raised, python)
    tensors = list(tensors_in(operator)) if operator is not None else []
    missing = _missing(context, raised.message, claims, operator, call)
    freed = next(iter(records(context.session.observations, "freed", FreedNode)), None)
    by_you = is_read(raised, _of_last_call(thrown.stack) if thrown is not None else ())
    graph = freed_graph(freed, raised, partial(_placed, context)) if freed is not None and not by_you else None
    cause = READ if by_you else cause_of_freed(graph) if graph is not None else _cause(raised)
    return Ending(
        stage=raised.stage,
        exception=raised.exception,
        message=raised.message,
        source=source,
        function=thrown.function if thrown is not None else "",
        raising=_how(thrown) if thrown is not None else None,
        hop=numbered.get(step.identity) if step is not None else None,
        call=raised.part or (call.source if call is not None else None),
        given=_given(tensors, _levels(context, operator) if operator is not None else {}),
        untold=_list_unrecorded(operator, tensors) if operator is not None else (),
        python=python,
        further=raised.further,
        by=raised.by,
        stack=tuple(function.name for function in (thrown or raised).stack if function.name),
        missing=missing,
        modified=_modified(context, modified) if modified is not None else None,
        why=(_why(context, raised, thrown),),
        close=raised.close,
        check=condition_at(context.lookup, source),
        compared=_compared(raised.message, tensors, operator) if operator is not None else (),
        cause=cause if missing is None else None,
        handed=_handed(context, raised.message),
        module=raised.module,
        freed=graph,
        before=tuple(_before(context, error) for error in raised.before),
        over=raised.over,
        in_memory=_in_memory(cause, tensors, operator, call) if operator is not None else None,
    )


def _before(context: Context, error: ErrorBefore) -> EarlierError:
    frame = error.frame if error.frame is not None and _is_shown(context, error.frame) else None
    left = _left(context, frame) if frame is not None else None
    return EarlierError(error.exception, error.message, error.is_cause, left)


def _cause(raised: RaisedError) -> Cause | None:
    """Returns the meaning of a common message. For a signal, the function in which it came replaces the message."""
    if raised.unused is not None:
        return cause_of_unused(raised.unused)
    if raised.getter is not None:
        return cause_of_getter(raised.getter)
    words = raised.stack[0].name if raised.by == "signal" and raised.stack else raised.message
    return cause_of(words, raised.exception)


def _handed(context: Context, message: str) -> HandedError | None:
    """Returns an error that another process or thread raised first, with the Python functions that it left there."""
    parsed = handed_on(message)
    if parsed is None:
        return None
    handed, frames = parsed
    python = tuple(_left(context, frame) for frame in reversed(frames))
    return replace(handed, python=python)


def is_on_stack(context: Context, claims: Sequence[Claim]) -> bool:
    """Whether the C++ stack contained the entry point of one of these operator calls when the error was thrown."""
    raised = records(context.session.observations, "raised", RaisedError)
    thrown = _thrown(context, raised[0]) if raised else None
    calls = [claim for claim in walk(claims) if claim.hop.kind == "op"]
    return thrown is not None and any(_is_of(seen.name, call) for seen in thrown.stack for call in calls)


def _entries(context: Context, call: Claim) -> frozenset[str]:
    """Returns the possible entry points of an operator call whose overload is not known."""
    known, fitting = overloads_of(context, call)
    return frozenset(f"at::_ops::{operator.cpp_name}::call" for operator in fitting or known if operator.cpp_name)


def innermost(
    claims: Sequence[Claim],
    stack: Sequence[CppFunction],
    frames: Sequence[LeftFrame],
    entries: Callable[[Claim], frozenset[str]] | None = None,
) -> Claim | None:
    """Returns the innermost claim that the error left, or None. `entries` is passed to `_is_of`.

    The search goes from outside in: first the Python functions, then the C++ functions that the last Python function
    called; the innermost of these threw. Each function is matched to a claim inside the claim found so far: to one that
    a recorder saw the error leave, else to the last one. The last call need not be the failing call, since a `finally`
    or the end of a `with` may run afterwards. A function without a claim is skipped.
    """
    left: Claim | None = None
    for frame in frames:
        left = _last(left, claims, partial(_is_frame, frame))
    for outer, function in pairwise((None, *reversed(_of_last_call(stack)))):
        if function is None or not function.name:
            continue
        is_of = _is_called_boxed if _is_boxed_call(function.name) else partial(_is_of, entries=entries)
        named = _last(left, claims, partial(is_of, function.name))
        is_node = named is left and outer is not None and outer.name.startswith(RUNS_NODE.begins)
        left = _last(left, claims, _is_running) if is_node else named
    # Functions known from a kernel's text contain no operator claims, although they run operators: search them last.
    for function in reversed(stack):
        inside = (left,) if left is not None and left.hop.kind in ("kernel", "impl", "node") else ()
        left = _last(None, inside, partial(_is_target, function.name)) or left
    # If the C++ stack is incomplete: the last builtin that Python called there and that an exception left.
    if (left is None or left.hop.kind == "python") and frames and not frames[-1].raises:
        left = _last(left, claims, lambda claim: claim.event.type == "builtin" and claim.event.left)
    return left


def _last(around: Claim | None, claims: Sequence[Claim], wanted: Callable[[Claim], bool]) -> Claim | None:
    """Returns the last wanted claim inside `around`, or in all claims without it. Returns `around` if there is none.

    Several functions may have the same name and line, as lambdas do, and a function may call itself. So a match must
    not be inside another Python function.
    """
    held = list(_without_python(around.children if around is not None else claims, wanted))
    seen = [claim for claim in held if claim.event.left]
    return (seen or held)[-1] if held else around


def _without_python(claims: Sequence[Claim], wanted: Callable[[Claim], bool]) -> Iterator[Claim]:
    """Yields the outermost wanted claims in order, without those inside a Python function.

    A call from a Python function is not a call of the claim around that function.
    """
    pending = list(reversed(claims))
    while pending:
        claim = pending.pop()
        if wanted(claim):
            yield claim
        elif claim.event.type != "frame":
            pending += reversed(claim.children)


def _of_last_call(stack: Sequence[CppFunction]) -> Sequence[CppFunction]:
    """Returns the C++ functions of a stack, innermost first, without those outside the innermost Python function."""
    inner = next((n + 1 for n, function in enumerate(stack) if function.entered), len(stack))
    return stack[:inner]


def _is_frame(frame: LeftFrame, claim: Claim) -> bool:
    """Whether a claim is a call of this Python function."""
    event = claim.event
    return (event.file, event.line, event.function) == (frame.file, frame.first, frame.function)


def _is_of(name: str, claim: Claim, entries: Callable[[Claim], frozenset[str]] | None = None) -> bool:
    """Whether a claim is a call of the C++ function with this demangled name.

    `entries` returns the entry points of an operator call whose overload is not known.
    """
    hop = claim.hop
    if hop.native is not None and hop.native.symbol:
        return hop.native.symbol == name
    entry = ENTRY.match(name)
    if hop.kind == "op" and hop.op is None:
        return entry is not None and entries is not None and entry[0] in entries(claim)
    if hop.kind == "op":
        return entry is not None and hop.operator is not None and hop.operator.entry == entry[0]
    # The node of a torch.autograd.Function has an unqualified name.
    if hop.kind == "node" and name.startswith(PY_NODE.begins):
        return hop.name.count("::") == 1
    return hop.kind in ("binding", "kernel", "node") and hop.name in _functions_in(name)


def _is_called_boxed(name: str, claim: Claim) -> bool:
    """Whether this function may have called the claim's operator boxed. A boxed call does not name its operator."""
    native = claim.hop.native
    return claim.hop.kind == "op" and (native is None or native.symbol in ("", name))


def _is_running(claim: Claim) -> bool:
    """Whether a claim is a node that ran. The function may have the name of the base class that defines it."""
    return claim.hop.kind == "node" and claim.event.type == "node"


def _is_target(name: str, claim: Claim) -> bool:
    """Whether a claim is a function that a kernel's text calls and that has this demangled name."""
    return claim.hop.kind == "impl" and claim.hop.name in _functions_in(name)


def _functions_in(name: str) -> tuple[str, ...]:
    """Returns the functions of a C++ stack frame: its own function, and the kernel in the function's type.

    A kernel may be inlined into the functor that calls it, and then has no frame.
    """
    read = parse(name)
    kernel = landmark(read).kernel
    return (read.plain, kernel.plain) if kernel is not None else (read.plain,)


def _left_last(
    context: Context, claims: Sequence[Claim], raised: RaisedError, thrown: ThrownError | None
) -> Claim | None:
    """Returns the innermost claim that the error left, or None if it is not known."""
    step = innermost(claims, thrown.stack if thrown else (), raised.frames, partial(_entries, context))
    return step if thrown is not None or step is None or _is_known(raised.frames[-1], step) else None


def _is_known(frame: LeftFrame, step: Claim) -> bool:
    """Whether a claim is the innermost one that an error without a C++ stack left.

    According to the traceback, the error left `frame`, the innermost Python function. If this function has no claim,
    its callees are not known. A builtin that the error left there may contain an operator or a node that it left
    before.
    """
    is_builtin = step.event.type == "builtin" and step.event.left
    return _is_frame(frame, step) or (is_builtin and all(child.event.type == "frame" for child in step.children))


def _is_bare(claims: Sequence[Claim], step: Claim) -> bool:
    """Whether a claim is only inside C and C++ functions that Python called, for example those of an extension."""
    return all(claim.hop.kind in ("native", "closed") for claim in _path_to(claims, step))


def _operators_left(claims: Sequence[Claim], step: Claim | None) -> list[Claim]:
    """Returns the operator calls around a claim, or the claim itself, outermost first."""
    return [claim for claim in _path_to(claims, step) if claim.hop.kind == "op"] if step is not None else []


def _path_to(claims: Sequence[Claim], step: Claim) -> list[Claim]:
    """Returns the claims around a claim, outermost first, and the claim itself; [] if it is in none of them."""
    callers = {child.identity: claim for claim in walk(claims) for child in claim.children}
    path = [step]
    while path[-1].identity in callers:
        path.append(callers[path[-1].identity])
    return path[::-1] if any(claim is path[-1] for claim in claims) else []


# --- claims that were not reached ---


def cut(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Remove the claims that follow from tables and text, and that did not run because of the error.

    For each operator call that the error left, these keys and kernels were reached: one more key for each
    at::_ops::NAME::redispatch on the C++ stack, and every kernel on the stack. (A redispatch may be inlined into its
    kernel.) Of the functions in the text of the last kernel, those on the stack ran, and the meta function before them.

    If a call goes on boxed, nothing is removed unless the last kernel is on the stack. If no run recorded the stack
    (--once), the last calls are certain only up to their first key. The same applies in a builtin that an exception
    left which was caught.
    """
    raised = records(context.session.observations, "raised", RaisedError)
    thrown = _thrown(context, raised[0]) if raised else None
    if raised and thrown is None and context.session.options.once:
        certain = _certain(claims)
        return unrolled(each(_cut(claim, certain) for claim in claims))
    if thrown is None:
        return _without_caught(context, claims, _left_last(context, claims, raised[0], None) if raised else None)
    step = innermost(claims, thrown.stack, raised[0].frames, partial(_entries, context))
    claims = _without_caught(context, claims, step)
    step = innermost(claims, thrown.stack, raised[0].frames, partial(_entries, context))
    left = _operators_left(claims, step)
    if step is not None and step.hop.kind == "node" and any(f.name.startswith(UNPACK.begins) for f in thrown.stack):
        claims = _before_formulas(claims, step)
    plan: dict[int, tuple[int, frozenset[str] | None]] = {}
    for claim, entry, held in _segments(left, thrown):
        names = [function.name for function in held]
        kernels = [inner.hop.name for inner in _chain(claim) if inner.hop.kind == "kernel"]
        plain = frozenset(function for name in names for function in _functions_in(name))
        entered = 1 + sum(name.startswith(f"{entry.partition('::call')[0]}::redispatch(") for name in names)
        entered -= any(name.startswith(LOOKUP.begins) for name in names)
        if any(BOXED_NAME.search(name) for name in names) and not (kernels and kernels[-1] in plain):
            continue
        come_to = [number for number, kernel in enumerate(kernels, 1) if kernel in plain]
        plan[claim.event.event] = max(entered, *come_to, 0), plain if claim is left[-1] else None
    return unrolled(each(_cut(claim, plan) for claim in claims))


def _certain(claims: Sequence[Claim]) -> Plan:
    """Returns the certain part of the last operator call and of the calls around it: up to their first key.

    If the engine went on to another node after a call, the whole call is certain, because after an error the engine
    runs no further node (Engine::thread_main of torch/csrc/autograd/engine.cpp). An exception may have left the calls
    around that node.
    """
    begun = (claim for claim in walk(claims) if claim.hop.kind == "op" or claim.event.type in RUN_BY_ENGINE)
    last = next(reversed(list(begun)), None)
    around = _operators_left(claims, last)
    return {claim.event.event: (1, frozenset[str]() if claim is last else None) for claim in around}


def _without_caught(context: Context, claims: tuple[Claim, ...], step: Claim | None) -> tuple[Claim, ...]:
    """Returns the claims; those with a caught error keep only what is certain. `step`: left by the last error.

    Such a claim is a builtin that an exception left, or an operator that created an error. A stepped run shows what
    ran, so nothing is removed then.
    """
    is_stepped = any(c.part != "operator" for c in records(context.session.observations, "calls", SteppedCalls))
    last = _around(claims, step)
    failing = (claim for claim in walk(claims) if claim.event.raised or claim.event.error is not None)
    left = [claim for claim in failing if claim.identity not in last]
    if not left:
        return claims
    plan = {number: kept for claim in left for number, kept in _certain((claim,)).items()}
    failed = {claim.identity for claim in left}

    def kept(claim: Claim, children: tuple[Claim, ...]) -> Claim:
        made = replace(claim, children=children)
        if claim.identity not in failed:
            return made
        error = claim.event.error
        caught = HopError(error.words, _made_at(context, error.file, error.line)) if error is not None else HopError()
        why = () if is_stepped else (LeftByException() if claim.event.raised else MadeError(),)
        return made.but(replace(made.hop, caught=caught), *why)

    claims = folded(claims, kept)
    return claims if is_stepped else unrolled(each(_cut(claim, plan) for claim in claims))


def _around(claims: Sequence[Claim], step: Claim | None) -> frozenset[int]:
    """Returns the identities of a claim and of the claims around it; empty without a claim."""
    return frozenset(claim.identity for claim in _path_to(claims, step)) if step is not None else frozenset()


def handed_over(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Mark the stepped bindings that passed an error to Python, except those that the last error left.

    If these are not known, no binding is marked.
    """
    raised = records(context.session.observations, "raised", RaisedError)
    step = _left_last(context, claims, raised[0], _thrown(context, raised[0])) if raised else None
    if raised and step is None:
        return claims
    last = _around(claims, step)

    def marked(claim: Claim, children: tuple[Claim, ...]) -> Claim:
        symbols = (child.hop.native.symbol for child in children if child.hop.native is not None)
        is_binding = claim.hop.kind == "binding" or claim.hop.binding is not None
        if is_binding and claim.identity not in last and any(s.startswith(HANDS_OVER.begins) for s in symbols):
            return replace(claim, hop=replace(claim.hop, caught=claim.hop.caught or HopError()), children=children)
        return replace(claim, children=children)

    return folded(claims, marked)


def _segments(left: Sequence[Claim], thrown: ThrownError) -> Iterator[tuple[Claim, str, Sequence[CppFunction]]]:
    """Yields each operator call that the error left, its entry point, and the C++ functions inside it.

    These are the functions up to the entry point of the next operator call.
    """
    stack = thrown.stack[::-1]
    starts: list[tuple[Claim, str, int]] = []
    for claim in left:
        entry = claim.hop.operator.entry if claim.hop.operator is not None else None
        begin = starts[-1][2] + 1 if starts else 0
        named = (n for n in range(begin, len(stack)) if entry and stack[n].name.startswith(f"{entry}("))
        boxed = (n for n in range(begin, len(stack)) if claim is left[-1] and _is_boxed_call(stack[n].name))
        start = next(named, next(boxed, None))
        if start is not None:
            starts.append((claim, str(entry), start))
    ends = [*(start for _, _, start in starts[1:]), len(stack)]
    for (claim, entry, start), end in zip(starts, ends, strict=False):  # without any start there is one end too many
        yield claim, entry, stack[start + 1 : end]


def _is_boxed_call(name: str) -> bool:
    return landmark(parse(name)).kind == "boxed-call"


def _chain(call: Claim) -> Iterator[Claim]:
    """Yields the keys and kernels of an operator call, outermost first."""
    step = next((child for child in call.children if child.hop.kind == "key"), None)
    while step is not None:
        yield step
        kinds = ("kernel",) if step.hop.kind == "key" else ("key",)
        step = next((child for child in step.children if child.hop.kind in kinds), None)


# --- functions that only the C++ stack shows ---


def reach(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add the functions of the C++ stack to the innermost operator call that was left, below its known claims.

    The stack shows kernels that are not known otherwise, for example if the key of an operator call is not known. If
    the native pass recorded all functions, nothing is added.
    """
    raised = records(context.session.observations, "raised", RaisedError)
    thrown = _thrown(context, raised[0]) if raised else None
    if thrown is None or any(seen.kind == "calls" for seen in context.session.observations):
        return claims
    find = partial(innermost, stack=thrown.stack, frames=raised[0].frames, entries=partial(_entries, context))
    step = find(claims)
    left = _operators_left(claims, step)
    segment = next((held for claim, _, held in _segments(left, thrown) if claim is left[-1]), ())
    if left and segment:
        inside, rest = _below_known(left[-1], segment)
        claims = _with_stack(context, claims, inside, rest, thrown)
    elif step is not None:
        claims = _with_stack(context, claims, step, _inside(step, thrown.stack, raised[0].frames), thrown)
    return _seen_on_stack(claims, thrown, find(claims))


def _below_known(call: Claim, segment: Sequence[CppFunction]) -> tuple[Claim, Sequence[CppFunction]]:
    """Returns the innermost claim of an operator call on the C++ stack, and the part of the stack inside it."""
    inside, rest = call, segment
    for number, function in enumerate(segment):
        for kind in (_is_of, _is_target):
            inner = _last(None, inside.children, partial(kind, function.name)) if function.name else None
            # A kernel may be on the stack twice: in the type of the functor that calls it, and as a function.
            inner = inside if inner is None and inside.hop.kind == "kernel" and kind(function.name, inside) else inner
            if inner is not None:
                inside, rest = inner, segment[number + 1 :]
    return inside, rest


def _inside(step: Claim, stack: Sequence[CppFunction], frames: Sequence[LeftFrame]) -> Sequence[CppFunction]:
    """Returns the C++ stack inside the innermost claim that the error left, outermost first.

    If this claim is the innermost Python function, returns the stack of its last call.
    """
    inner: int | None = None
    if step.hop.kind in ("node", "binding"):
        inner = next((n for n, function in enumerate(stack) if function.name and _is_of(function.name, step)), None)
    elif frames and _is_frame(frames[-1], step):
        return _of_last_call(stack)[::-1] if any(function.entered for function in stack) else ()
    return stack[:inner][::-1] if inner is not None else ()


def _with_stack(
    context: Context, claims: tuple[Claim, ...], inside: Claim, functions: Sequence[CppFunction], thrown: ThrownError
) -> tuple[Claim, ...]:
    """Returns the claims; `inside` gets the functions of the C++ stack, outermost first, after its children."""
    sites = Sites(context.lookup)
    made: tuple[Claim, ...] = ()
    for function in reversed(functions):
        seen = _on_stack(function, thrown.observation, inside, sites)
        if seen is not None and not (made and made[0].hop.name == seen.hop.name and seen.hop.why != made[0].hop.why):
            made = (replace(seen, children=made),)
    return _with(claims, inside, unrolled(_holding(inside, made))) if made else claims


def _holding(inside: Claim, made: tuple[Claim, ...], after: str = "") -> Unrolling[Claim]:
    """Returns a claim with the functions of the C++ stack inside; none of its later keys is known to be on the stack.

    Code in an operator call runs in its first kernel, which may have no frame. Then the next key of this kernel is not
    known: it may have been reached by the functions on the stack, or not at all. `after`: the key before it.
    """
    key = next((number for number, child in enumerate(inside.children) if child.hop.kind == "key"), None)
    if key is None:
        return replace(inside, children=(*inside.children, *made))
    chosen, rest = inside.children[key], inside.children[key + 1 :]
    if inside.hop.kind == "kernel" or not chosen.children:
        behind = replace(inside, children=(*inside.children[:key], *_seen(chosen), *rest, *made))
        return behind.but(behind.hop, KeyNotKnown(AfterError(), after))
    kernel = yield _holding(chosen.children[0], made, chosen.hop.key or "")
    chosen = replace(chosen, children=(kernel, *chosen.children[1:]))
    return replace(inside, children=(*inside.children[:key], chosen, *rest))


def _seen_on_stack(claims: tuple[Claim, ...], thrown: ThrownError, step: Claim | None) -> tuple[Claim, ...]:
    """Returns the claims; those that lead to `step` become observed if the C++ stack contains their functions."""
    names = frozenset(name for function in thrown.stack if function.name for name in _functions_in(function.name))

    leading = {claim.identity for claim in _path_to(claims, step)} if step is not None else set()

    def seen(claim: Claim, around: Claim | None = None) -> Unrolling[Claim]:
        # A function known from a kernel's text is beside the operators that it calls, and does not contain them yet.
        is_called = around is not None and around.hop.kind == "kernel" and claim.hop.kind == "impl"
        if not is_called and claim.identity not in leading:
            return claim
        around = claim
        claim = replace(claim, children=(yield each(seen(child, around) for child in claim.children)))
        hop = claim.hop
        if hop.kind not in ("kernel", "impl") or hop.status == "observed" or hop.name not in names:
            return claim
        return claim.but(replace(hop, status="observed", evidence=(*hop.evidence, thrown.observation)), OnStack())

    return unrolled(each(map(seen, claims))) if step is not None else claims


def _on_stack(function: CppFunction, observation: int, inside: Claim, sites: Sites) -> Claim | None:
    """Returns the claim for a function on the C++ stack; None for functions that only lead from operator to kernel."""
    read = parse(function.name)
    seen = landmark(read)
    if not read.plain or (seen.kind != "other" and seen.kernel is None) or read.plain.startswith(LEADS_ON):
        return None
    is_torchs = function.library.startswith(TORCHS)
    # The error's text has only the name, no symbol.
    called = Function(
        function.library,
        "",
        function.name,
        closed=not is_torchs,
        unit=function.unit,
        shared=function.shared,
        jumpers=function.jumpers,
    )
    alike = sites.alike(called)
    kernel = seen.kernel if not alike else None  # with several functions, the kernel is not known
    named = kernel or read
    linkage = UNLINKED if kernel else Linkage("", function.unit, False, function.library)
    if not is_torchs:
        source = unknown(OtherLibrary(function.library))
    else:
        source = sites.function(called) if alike else sites.named(named, linkage)
    hop = Hop(0, "native", named.qualified, "observed", source, inside.hop.phase, inside.hop.thread)
    native = NativeCall(function.name, library=function.library, alike=alike)
    why: tuple[Reason, ...] = (OnStack(), FunctorNames()) if kernel else (OnStack(),)
    return Claim(replace(hop, native=native, why=why, evidence=(observation,)))


def _with(claims: tuple[Claim, ...], old: Claim, new: Claim) -> tuple[Claim, ...]:
    """Returns the claims with one claim replaced by another."""
    return replaced(claims, lambda claim: (new,) if claim is old else None)


def _before_formulas(claims: tuple[Claim, ...], node: Claim) -> tuple[Claim, ...]:
    """Returns the claims for a node that raised while it unpacked its saved tensors.

    A node unpacks its saved tensors before any of its formulas, so none of these ran.
    """
    unpredicted = tuple(child for child in node.children if child.hop.status != "predicted")
    return _with(claims, node, replace(node, children=unpredicted))


def _cut(claim: Claim, plan: Plan) -> Unrolling[Claim]:
    children = claim.children
    if claim.hop.kind == "op" and claim.event.event in plan:
        steps, names = plan[claim.event.event]
        children = yield _entered(children, steps, names)
        if names is not None and not names:
            children = _open_ended(claim, children)
    return replace(claim, children=(yield each(_cut(child, plan) for child in children)))


def _open_ended(call: Claim, children: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Returns the children of an operator call. If a key was removed, the kernel before it says that one may follow."""
    known, kept = list(_chain(call)), list(_chain(replace(call, children=children)))
    if not kept or len(kept) == len(known):
        return children
    key = next(claim.hop.key for claim in reversed(kept) if claim.hop.kind == "key")
    why = KeyNotKnown(AfterError(), key or "")

    def marked(claim: Claim, inside: tuple[Claim, ...]) -> Claim:
        made = replace(claim, children=inside)
        return made.but(made.hop, why) if claim is kept[-1] else made

    return folded(children, marked)


def _entered(held: Sequence[Claim], steps: int, names: frozenset[str] | None) -> Unrolling[tuple[Claim, ...]]:
    """Returns the claims of an operator or a kernel that were reached, if `steps` further keys were reached.

    `names` are the functions on the C++ stack inside the innermost operator that the error left; None for the operators
    around it.
    """
    last = steps == 0 and names is not None
    entered: list[Claim] = []
    for place, claim in enumerate(held):
        if claim.hop.kind == "key":
            if steps:
                inside = yield _entered(claim.children[0].children, steps - 1, names)
                entered.append(
                    replace(claim, children=(replace(claim.children[0], children=inside), *claim.children[1:]))
                )
            else:
                entered += _seen(claim)
        elif not last or claim.hop.kind not in ("impl", "stub") or claim.hop.status == "observed":
            entered.append(claim)
        elif names is not None and any(called.hop.name in names for called in held[place:]):
            inside = (yield _entered(claim.children, 0, names)) if claim.hop.name in names else ()
            entered.append(replace(claim, children=inside))
    return tuple(entered)


def _seen(claim: Claim) -> Iterator[Claim]:
    """Returns the claims inside a claim that a recorder saw."""
    return outermost(claim.children, lambda child: child.hop.kind in ("op", "python", "node", "binding"))


def _given(
    tensors: Sequence[tuple[str, RecordedTensor]], levels: Mapping[int, tuple[str, ...]]
) -> tuple[tuple[str, str], ...]:
    """Returns each recorded argument with its description: "float32[3, 3] cpu".

    `levels` has the levels of the transforms that wrapped a tensor, by the address of its TensorImpl.
    """
    descriptions: dict[str, list[str]] = {}
    for name, tensor in tensors:
        descriptions.setdefault(name.partition("[")[0], []).append(_described(tensor, levels))
    return tuple((name, "; ".join(words)) for name, words in descriptions.items())


def _levels(context: Context, operator: Claim) -> Mapping[int, tuple[str, ...]]:
    """Returns the levels of the transforms around each tensor that Python held before an operator call."""
    before = (event for event in context.base if event.tensors and event.event <= operator.event.event)
    last = max(before, key=lambda event: event.event, default=None)
    if last is None:
        return {}
    kinds = {transform.level: transform.kind.lower() for transform in last.transforms}
    return {
        layers[0].impl: tuple(
            f"{kinds.get(layer.level, '')} level {layer.level}".strip() for layer in layers if layer.level is not None
        )
        for layers in last.tensors
        if layers
    }


# Causes that lie in the strides of an argument.
_VIEW_OF_STRIDES, _ONE_LOCATION = "view-of-strides", "one-location-written"


def _in_memory(
    cause: Cause | None, tensors: Sequence[tuple[str, RecordedTensor]], operator: Claim, call: UserCall | None
) -> Reason | None:
    """Returns which dimensions of an argument are the cause of an error; None if its strides are not."""
    code = cause.code if cause is not None else ""
    given = dict(tensors)
    if code == _VIEW_OF_STRIDES:
        viewed = given.get("self")
        if viewed is None or viewed.strides is None:
            return None
        return not_joined(viewed.sizes, viewed.strides, wanted_sizes(call, operator))
    for name in _written(operator) if code == _ONE_LOCATION else ():
        tensor = given.get(name)
        shared = layouts.shared(tensor.sizes, tensor.strides) if tensor is not None and tensor.strides else ()
        if tensor is not None and shared:
            return OneInMemory(name, shared[0], tensor.sizes[shared[0]])
    return None


def _compared(message: str, given: Given, operator: Claim) -> tuple[ComparedValue, ...]:
    return compared(message, given, _written(operator), indexed=bool(_optional_lists(operator)))


def _written(operator: Claim) -> tuple[str, ...]:
    """Returns the arguments that an operator writes to, by its schema."""
    return schema.written(operator.hop.operator.schema) if operator.hop.operator is not None else ()


def _described(tensor: RecordedTensor, levels: Mapping[int, tuple[str, ...]]) -> str:
    """Describes a tensor: "float32[2, 3] cpu strides (1, 2)". The strides of a contiguous tensor are left out."""
    layout = "" if tensor.layout == "strided" else f" {tensor.layout}"
    is_plain = tensor.strides is None or layouts.is_contiguous(tensor.sizes, tensor.strides)
    strides = "" if is_plain else f" strides {tensor.strides}"
    around = levels.get(tensor.impl, ())
    level = f" in {', '.join(around)}" if around else ""
    return f"{tensor.dtype}{list(tensor.sizes)} {tensor.device}{layout}{strides}{level}"


# --- the place of the throw ---


def _raised_at(context: Context, thrown: ThrownError) -> SourceRef:
    """Returns the C++ line that threw. If the error has no line, the line or function that contains its message."""
    if thrown.line is not None:
        return _made_at(context, thrown.file, thrown.line)
    raiser = thrown.raiser
    if raiser is None or not raiser.library.startswith(TORCHS):
        return unknown(OtherLibrary(raiser.library if raiser is not None else ""))
    definition = Sites(context.lookup).named(parse(raiser.name), Linkage("", raiser.unit, False, raiser.library))
    return raised_by(context.lookup, definition, thrown.by, thrown.message) or definition


def _made_at(context: Context, file: str, line: int) -> SourceRef:
    """Returns the C++ line that created an error; `file` is the name as it was compiled."""
    source = thrown_at(context.lookup, context.session.torch.version, file, line)
    return source if source.path is not None else of_yours(file, line)  # from an extension


def _raised_in_python(context: Context, raised: RaisedError, python: Sequence[LeftFunction]) -> SourceRef:
    """Returns the Python line that was running in the innermost function that the error left."""
    if raised.frames and raised.frames[-1].file != EXPRESSION and _is_shown(context, raised.frames[-1]):
        return python[0].source
    if raised.frames and not raised.frames[-1].file.startswith("<"):
        return outside(raised.frames[-1].file, raised.frames[-1].line)
    if context.session.options.once:
        return unknown(ThrowNotAsked())
    if any(seen.kind == "stopped" and seen.recorder == THROWN for seen in context.session.observations):
        return unknown(ThrowRunCut())
    return unknown(ThrowUnseen())


def _is_shown(context: Context, frame: LeftFrame) -> bool:
    program = context.session.program
    yours = {path.file for path in program.paths if path.kind == "user"} if program is not None else set()
    if frame.file == EXPRESSION:
        return frame.function != "<module>"  # a lambda or a comprehension in the expression
    is_known = is_torchs_or_yours(context, frame.file, frame.first)
    return is_known or frame.file in (context.session.options.script, *yours)


def _left(context: Context, frame: LeftFrame) -> LeftFunction:
    path = installed_path(frame.file, InstalledFolders(context.session.torch.torch_dir))
    if path is None:
        return LeftFunction(frame.function, outside(frame.file, frame.line))
    return LeftFunction(frame.function, in_runtime(context.tree, path, frame.line))


def _thrown(context: Context, raised: RaisedError) -> ThrownError | None:
    """Returns where C++ threw the error, if the run that looks for this threw the same error.

    Only the beginning of a long message is kept. An error that Python raised itself is a different one, although it may
    contain the message of an earlier C++ error.
    """
    if _is_pythons(raised):
        return None
    errors = records(context.session.observations, "thrown", ThrownError)
    return next((thrown for thrown in errors if _is_same(thrown.message, raised.message)), None)


def _is_pythons(raised: RaisedError) -> bool:
    """Whether Python raised the error first. An error passed on from another process or thread does not count."""
    return raised.by_raise and handed_on(raised.message) is None


def _is_same(thrown: str, raised: str) -> bool:
    """Whether two messages belong to one error. TorchScript's message may be followed by the message thrown inside.

    Source: InterpreterStateImpl::handleError of torch/csrc/jit/runtime/interpreter.cpp.
    """
    behind = thrown[len(raised) :].strip() if thrown.startswith(raised) else ""
    return thrown[:KEPT] == raised[:KEPT] or (behind != "" and raised.rstrip().endswith(behind))


def _why(context: Context, raised: RaisedError, thrown: ThrownError | None) -> Reason:
    """Returns the reason for the place."""
    if raised.by != "error":
        return ReadAtEnd()
    if thrown is not None and thrown.by:
        function = thrown.function
        return WatchedThrowing(function, thrown.type) if thrown.type else WatchedRaising(function, thrown.by)
    if thrown is not None:
        how = NotedWhenMade() if context.session.program is not None else ToldByRun()
        return KeptByTorch(how, InAnotherProcess() if thrown.elsewhere else None)
    if _is_pythons(raised):
        return RaisedByPython()
    if records(context.session.observations, "thrown", ThrownError):
        return RunRaisedOther()
    return NoSecondRun() if context.session.options.once else NoLineKept()


def _how(thrown: ThrownError) -> Reason | None:
    """Returns how a function raised an error for which torch keeps no line; None for other errors."""
    return ByThrowing(thrown.type) if thrown.type else ByCalling(thrown.by) if thrown.by else None


# --- who wrote to a saved tensor ---


def _modified(context: Context, modified: ModifiedTensor) -> ModifiedTensor:
    """Returns the tensor with its saver and its writers: from the run that watched it, else from the calls."""
    seen = [
        saved
        for saved in records(context.session.observations, "saved", SavedTensorWrites)
        if (saved.expected, saved.version) == (modified.expected, modified.version)
        and _sizes(saved.tensor) == _sizes(modified.tensor)
    ]
    if not seen:
        return with_writes(modified, context.calls)
    saved = seen[-1]  # earlier errors were caught
    writers = tuple(
        InPlaceWriter(
            write.at.text if write.at is not None else "",
            write.at.function if write.at is not None else "",
            _placed(context, write.at),
            write.before,
            write.after,
            write.operators,
            write.at is None or write.at.exact,
        )
        for write in saved.writes
    )
    node, at = saved.node, saved.saved
    makers = dict.fromkeys(d.source_op for d in context.store.derivative_of_node(node)) if node is not None else ()
    where = (at.text, at.function, _placed(context, at), at.exact) if at is not None else ()
    texts = tuple(dict.fromkeys(writer.text for writer in writers if writer.text))
    known = replace(modified, writes=texts, certain=saved.certain, writers=writers, watched=saved.watched)
    return replace(known, saver=TensorSaver(node, tuple(makers), *where))


def _sizes(tensor: str) -> str:
    """Returns the sizes in a tensor's short description. The type's name may differ between C++ and Python."""
    return tensor.partition(" [")[2]


def _placed(context: Context, at: PythonPlace | None) -> SourceRef:
    """Returns the line of a place in Python."""
    if at is None:
        return unknown(NoLineOfYours())
    return _left(context, LeftFrame(at.file, at.first, at.function, at.line)).source


# --- why there is no kernel ---


def _missing(
    context: Context, message: str, claims: Sequence[Claim], operator: Claim | None, call: UserCall | None
) -> MissingKernel | None:
    named = NO_KERNEL.match(message)
    if named is None:
        return None
    op, key = named[1], named[2]
    calls = [claim for claim in walk(claims) if claim.hop.kind == "op" and claim.hop.op == op]
    asked = operator if operator is not None and operator.hop.op == op else calls[-1] if calls else None
    return missing_kernel(context.lookup, op, key, tuple(_bringing(context, key, asked, call)), context.table(op))


def _bringing(context: Context, key: str, asked: Claim | None, call: UserCall | None) -> Iterator[str]:
    """Yields the arguments whose key sets contain the key: of the operator call, else of your own call."""
    chosen = next((claim.hop.dispatch for claim in asked.walk() if claim.hop.kind == "key"), None) if asked else None
    read = chosen.arguments if chosen is not None and chosen.arguments is not None else {}
    brought = [name for name, keys in read.items() if key in keys.split(", ")]
    if brought:
        yield from brought
        return
    held = [a.name.partition("[")[0] for a in call.arguments if key in context.keys.names(a.raw)] if call else []
    own, skipped = tuple(dict.fromkeys(held)), _skipped(asked) if asked is not None else ()
    if NESTED in key and skipped and len(own) in (0, len(skipped)):
        yield from skipped  # the profiler skips the nested tensors of an operator
    elif own or asked is None:
        yield from (f"{f'argument {int(name) + 1}' if name.isdigit() else name} of your call" for name in own)
    else:
        yield from _options(asked, read, key)


def _options(operator: Claim, read: Mapping[str, str], key: str) -> Iterator[str]:
    """Yields the options from which an operator takes a key that none of its tensors has.

    The operator's kernel for BackendSelect reads these options.
    """
    wanted = schema.arguments(operator.hop.operator.schema) if operator.hop.operator is not None else ()
    is_read = all(argument.name in read for argument in wanted if "Tensor" in argument.type)
    if is_read and "device" in [argument.name for argument in wanted]:
        yield from ("layout", "device") if key.startswith(OF_LAYOUTS) else ("device",)


def _list_unrecorded(operator: Claim, tensors: Sequence[tuple[str, RecordedTensor]]) -> tuple[UntoldArgument, ...]:
    """Returns the tensors, and lists of tensors, of an operator call that the profiler does not record, with reasons.

    `tensors` are those that it records.
    """
    because: dict[str, Reason] = dict.fromkeys(_skipped(operator), TensorUntold())
    because |= dict.fromkeys(_optional_lists(operator), ListUntold())
    recorded = {name.partition("[")[0] for name, _ in tensors}
    return tuple(UntoldArgument(name, why) for name, why in because.items() if name not in recorded)


def _optional_lists(operator: Claim) -> tuple[str, ...]:
    """Returns the arguments of an operator call that are lists of optional tensors: the indices of index."""
    if operator.hop.operator is None:
        return ()
    text = operator.hop.operator.schema
    return schema.optional_lists(schema.arguments(text), schema.own_inputs(text, operator.event.inputs))


def _skipped(operator: Claim) -> tuple[str, ...]:
    """Returns the tensor arguments of an operator call that the profiler does not record."""
    if operator.hop.operator is None:
        return ()
    text = operator.hop.operator.schema
    return schema.unrecorded(schema.arguments(text), schema.own_inputs(text, operator.event.inputs))
