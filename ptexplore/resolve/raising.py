"""Concludes which claims an error left: the innermost one, where the tree ends, and the C++ stack inside it.

An error leaves a function, a call or a claim if it propagates out of it. Source: c10/util/Exception.h keeps the
throwing line in each error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from ptexplore.cpp.library_names import TORCHS
from ptexplore.cpp.symbol_names import parse
from ptexplore.facts.cpp_frames import BOXED, HANDS_OVER, LEADS_ON, LOOKUP, PY_NODE, RUNS_NODE, UNPACK
from ptexplore.model.nesting import Unrolling, each, folded, outermost, unrolled
from ptexplore.model.observed import (
    CppFunction,
    LeftFrame,
    RaisedError,
    SteppedCalls,
    ThrownError,
    records,
)
from ptexplore.model.place_reasons import OtherLibrary
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import (
    AfterError,
    FunctorNames,
    KeyNotKnown,
    LeftByException,
    MadeError,
    OnStack,
    Reason,
)
from ptexplore.model.trace import (
    Hop,
    HopError,
    NativeCall,
    walk,
)
from ptexplore.resolve.claims import Claim, Context, replaced
from ptexplore.resolve.dispatch.operator_calls import overloads_of
from ptexplore.resolve.native.call_tree import Function, landmark
from ptexplore.resolve.native.linkage import UNLINKED, Linkage
from ptexplore.resolve.native.sites import Sites
from ptexplore.resolve.places.precision import of_yours, unknown

BOXED_NAME = re.compile(rf"\b(?:{'|'.join(BOXED)})\b")
ENTRY = re.compile(r"at::_ops::\w+::(?:call|redispatch)")
KEPT = 16_000  # every recorder keeps this many characters of a message (probe/raising.py)
RUN_BY_ENGINE = ("engine", "node")  # types of the events that the engine runs


# By the event number of a call: how many of its keys were reached, and the functions that ran in the last key's kernel.
Plan = Mapping[int, tuple[int, frozenset[str] | None]]


def is_on_stack(context: Context, claims: Sequence[Claim]) -> bool:
    """Whether the C++ stack contained the entry point of one of these operator calls when the error was thrown."""
    raised = records(context.session.observations, "raised", RaisedError)
    thrown = thrown_of(context, raised[0]) if raised else None
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
    for outer, function in pairwise((None, *reversed(of_last_call(stack)))):
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


def of_last_call(stack: Sequence[CppFunction]) -> Sequence[CppFunction]:
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


def last_left(
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


def is_bare(claims: Sequence[Claim], step: Claim) -> bool:
    """Whether a claim is only inside C and C++ functions that Python called, for example those of an extension."""
    return all(claim.hop.kind in ("native", "closed") for claim in _path_to(claims, step))


def operators_left(claims: Sequence[Claim], step: Claim | None) -> list[Claim]:
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
    thrown = thrown_of(context, raised[0]) if raised else None
    if raised and thrown is None and context.session.options.once:
        certain = _certain(claims)
        return unrolled(each(_cut(claim, certain) for claim in claims))
    if thrown is None:
        return _without_caught(context, claims, last_left(context, claims, raised[0], None) if raised else None)
    step = innermost(claims, thrown.stack, raised[0].frames, partial(_entries, context))
    claims = _without_caught(context, claims, step)
    step = innermost(claims, thrown.stack, raised[0].frames, partial(_entries, context))
    left = operators_left(claims, step)
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
    around = operators_left(claims, last)
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
        caught = HopError(error.words, made_at(context, error.file, error.line)) if error is not None else HopError()
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
    step = last_left(context, claims, raised[0], thrown_of(context, raised[0])) if raised else None
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
    the stepped run recorded all functions, nothing is added.
    """
    raised = records(context.session.observations, "raised", RaisedError)
    thrown = thrown_of(context, raised[0]) if raised else None
    if thrown is None or any(seen.kind == "calls" for seen in context.session.observations):
        return claims
    find = partial(innermost, stack=thrown.stack, frames=raised[0].frames, entries=partial(_entries, context))
    step = find(claims)
    left = operators_left(claims, step)
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
        return of_last_call(stack)[::-1] if any(function.entered for function in stack) else ()
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


def made_at(context: Context, file: str, line: int) -> SourceRef:
    """Returns the C++ line that created an error; `file` is the name as it was compiled."""
    from ptexplore.resolve.error_message import thrown_at  # see `is_pythons`

    source = thrown_at(context.lookup, context.session.torch.version, file, line)
    return source if source.path is not None else of_yours(file, line)  # from an extension


def thrown_of(context: Context, raised: RaisedError) -> ThrownError | None:
    """Returns where C++ threw the error, if the run that looks for this threw the same error.

    Only the beginning of a long message is kept. An error that Python raised itself is a different one, although it may
    contain the message of an earlier C++ error.
    """
    if is_pythons(raised):
        return None
    errors = records(context.session.observations, "thrown", ThrownError)
    return next((thrown for thrown in errors if is_same(thrown.message, raised.message)), None)


def is_pythons(raised: RaisedError) -> bool:
    """Whether Python raised the error first. An error passed on from another process or thread does not count."""
    from ptexplore.resolve.error_message import handed_on  # with all causes of errors: only what raised needs it

    return raised.by_raise and handed_on(raised.message) is None


def is_same(thrown: str, raised: str) -> bool:
    """Whether two messages belong to one error. TorchScript's message may be followed by the message thrown inside.

    Source: InterpreterStateImpl::handleError of torch/csrc/jit/runtime/interpreter.cpp.
    """
    behind = thrown[len(raised) :].strip() if thrown.startswith(raised) else ""
    return thrown[:KEPT] == raised[:KEPT] or (behind != "" and raised.rstrip().endswith(behind))
