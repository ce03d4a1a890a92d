"""The readable tree of native frames: applies the rules to a trace's hops, and counts the frames left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import trace_remarks as says
from ptexplore.model.details import AsksWorkspace, Detail, InLibrary, LibraryReports, OneOfAlike
from ptexplore.model.observed import Observation, SteppedCalls, UnreadableLibraries, records
from ptexplore.model.place_reasons import NotLookedUp
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import LibraryTold, MarksRange
from ptexplore.model.trace import Captured, Hop, LibraryEntry, Session, Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.native_names import display, kernel_name
from ptexplore.view.trace.native_rules import ACTIONS, FOLDED, Action, Rule, rule_for, rule_for_operator
from ptexplore.view.words.reasons import sentence

CONVERTS_FRAMES = "torch/_dynamo/convert_frame.py"  # the functions with which Dynamo compiles a frame
COMPILING = "compiling"  # the name of its row
_MARKS_RANGE = MarksRange()
QUERY = "only asks for a workspace's size"  # LAPACK's call with a size of -1, before the call that computes
GEMM = ("transa", "transb", "m", "n", "k")
NAMED = 3  # names from --setup that are listed
NEAR = 3  # similar names that are suggested if the name is unknown
_NAMES = re.compile(r" {2,}| → ")  # separates the names in a row that joins several hops: a key and its kernel
_TIMES = re.compile(r"(?: ×[\d,]+| and \d+ more)$")  # at the end of a row that joins several calls
_EXPRESSION = re.compile(r"[^\w.<>]|<(?!\w+>)")  # characters that no qualified Python name has
_ROOT = Hop(0, "native", "", "observed", SourceRef(None, None, None, "unknown", reason=NotLookedUp()))


def governed(hop: Hop) -> bool:
    """Whether the rules apply to a hop: a C++ frame that ran, and no operator, kernel, node or Python function."""
    return hop.kind in ("native", "closed") and hop.status == "observed"


def rule_of(hop: Hop) -> Rule | None:
    """Returns the rule that applies to a hop, or None."""
    if governed(hop):
        if hop.native is not None and hop.native.folded:
            return FOLDED
        return rule_for(hop.name, hop.native.library if hop.native is not None else "")
    return rule_for_operator(hop.op or "") if hop.kind == "op" and hop.instructions is not None else None


def action(hop: Hop) -> Action:
    """Returns what happens to a hop: what its rule says.

    Without a rule, a library function is folded and others are shown.
    """
    rule = rule_of(hop)
    if rule is not None:
        return "show" if rule.action == "close" and _calls_more(hop) else rule.action
    return "fold" if hop.kind == "closed" else "show"


def _calls_more(hop: Hop) -> bool:
    """Whether a Python function ran in a hop, or an operator that no rule closes.

    Examples: with deterministic algorithms, aten::empty fills its memory; a tensor subclass may run any code.
    """
    inside = (part for part in walk(hop.children) if part.kind in ("op", "python"))
    return any(part.kind == "python" or rule_for_operator(part.op or "") is None for part in inside)


def in_the_tree(trace: Trace, hop: Hop) -> str:
    """Returns how the readable tree treats a hop, and why; "" if no rule applies."""
    if not governed(hop) and rule_of(hop) is None:
        return ""
    inside = _folded_by(trace, hop)
    if inside is not None:
        return f"left out: it is inside [{inside.id}] {shown_name(inside)}, with the rule: {_reasoned(inside)}"
    return _reasoned(hop)


def _reasoned(hop: Hop) -> str:
    rule = rule_of(hop)
    return f"{ACTIONS[action(hop)]} ({rule.why if rule is not None else 'no rule fits it'})"


def _folded_by(trace: Trace, hop: Hop) -> Hop | None:
    """Returns the innermost caller that leaves out its inside, and this hop with it, or None."""
    callers = {id(child): caller for caller in walk(trace.hops) for child in caller.children}
    strict: Hop | None = None
    is_chain = governed(hop) and action(hop) != "keep"
    caller = callers.get(id(hop))
    while caller is not None:
        if action(caller) == "close":
            return caller
        is_chain = is_chain and governed(caller)
        if is_chain and strict is None and action(caller) in ("fold", "keep", "hide"):
            strict = caller
        caller = callers.get(id(caller))
    return strict


@dataclass(slots=True)
class _Node:
    """A hop while the rules are applied.

    `strict`: inside of a folded or hidden frame, where only landmarks are kept.
    """

    hop: Hop
    caller: _Node | None
    strict: bool
    action: Action = "show"
    shown: list[Hop] = field(default_factory=list)  # shown hops among its callees, last first
    hidden: int = 0  # hidden frames below that no shown hop below has counted

    def leave(self, hidden: dict[int, int]) -> None:
        """Adds this hop to the caller's shown hops, or its shown callees instead. Call this for all callees first."""
        assert self.caller is not None
        inside_folded = self.strict and self.action != "keep"
        left_out = governed(self.hop) and (inside_folded or self.action in ("hoist", "hide"))
        if left_out or (self.action == "through" and self.shown):
            self.caller.shown += self.shown
            self.caller.hidden += self.hidden + (self.hop.instructions is not None)
        else:
            self.caller.shown.append(replace(self.hop, children=tuple(reversed(self.shown))))
            hidden[self.hop.id] = self.hidden


def condense(hops: Iterable[Hop]) -> tuple[tuple[Hop, ...], dict[int, int]]:
    """Returns the hops without frames that the rules leave out, and, by hop id, how many were left out directly below.

    Not recursive, since stacks can be deep.
    """
    root = _Node(_ROOT, None, strict=False)
    order: list[_Node] = []
    pending = [_Node(hop, root, strict=False) for hop in reversed(tuple(hops))]
    while pending:
        node = pending.pop()
        node.action = "hoist" if _is_range(node) else action(node.hop)
        order.append(node)
        if node.action == "close":
            node.hidden = frames(node.hop.children)
            continue
        strict = governed(node.hop) and (node.strict or node.action in ("fold", "keep", "hide"))
        pending += [_Node(child, node, strict) for child in reversed(node.hop.children)]
    hidden: dict[int, int] = {}
    for node in reversed(order):
        node.leave(hidden)
    return tuple(reversed(root.shown)), hidden


def _is_range(node: _Node) -> bool:
    """Whether a hop is a profiler range of a kernel whose frames are known anyway."""
    if node.hop.instructions is not None or not governed(node.hop):
        return False
    caller = node.caller
    while caller is not None and caller.hop.instructions is None:
        caller = caller.caller
    return caller is not None


def is_compiling(hop: Hop) -> bool:
    """Whether a hop is Dynamo's Python function that the frame evaluator calls to compile a frame."""
    return hop.kind == "python" and hop.source.path == CONVERTS_FRAMES


def opened(trace: Trace, wanted: str) -> tuple[tuple[Hop, ...], frozenset[int]]:
    """Returns the hops whose name contains `wanted`, complete, inside the landmarks that lead to them; and their ids.

    A name may be written as a row of any view shows it. "add.Tensor#2" is the operator's second call; `--native-op`
    counts in the same way, in the order of entry. Raises PtexploreError (usage) if no name matches, or if there are
    fewer calls.
    """
    call = _numbered(trace, wanted)
    modules = modules_called(trace, wanted) if call is None else frozenset()
    root = _Node(_ROOT, None, strict=False)
    order, pending = list[_Node](), [_Node(hop, root, strict=False) for hop in reversed(trace.hops)]
    matching: set[int] = set()
    while pending:
        node = pending.pop()
        order.append(node)
        by_name = call is None and not modules
        is_named = by_name and (_holds(node.hop, wanted) or (wanted == COMPILING and is_compiling(node.hop)))
        if node.hop.id == call or node.hop.id in modules or is_named:
            matching.add(node.hop.id)
        else:
            pending += [_Node(child, node, strict=False) for child in reversed(node.hop.children)]
    if not matching:
        raise _not_there(trace, wanted)
    for node in reversed(order):
        assert node.caller is not None
        if node.hop.id in matching:
            node.caller.shown.append(node.hop)
        elif node.shown and governed(node.hop) and action(node.hop) not in ("show", "fold", "keep"):
            node.caller.shown += node.shown
        elif node.shown:
            node.caller.shown.append(replace(node.hop, children=tuple(reversed(node.shown))))
    return tuple(reversed(root.shown)), frozenset(matching)


def _holds(hop: Hop, wanted: str) -> bool:
    """Whether a name of a hop contains a text.

    A row that joins several hops has several names (a key and its kernel). They must match the hop and hops inside it,
    but not hops inside the operators that it calls.
    """
    first, *further = _NAMES.split(_TIMES.sub("", wanted))
    if _has(hop, wanted) or not further:
        return _has(hop, first)
    pending = [(hop, (first, *further))]
    while pending:
        step, names = pending.pop()
        while names and _has(step, names[0]):
            names = names[1:]
        if not names:
            return True
        if len(names) <= len(further):
            pending += [(child, names) for child in reversed(step.children) if child.kind != "op"]
    return False


def _has(hop: Hop, wanted: str) -> bool:
    return any(wanted.lower() in name.lower() for name in names_of(hop))


def modules_called(trace: Trace, wanted: str) -> frozenset[int]:
    """Returns the ids of calls of modules with exactly that name, or whose qualified names end with it.

    `wanted` may also be the text of a module's row, with type and forward after the name.
    """
    wanted = name_in_row(wanted)
    named = {hop.id: hop.module for hop in walk(trace.hops) if hop.module is not None}
    exact = frozenset(number for number, module in named.items() if wanted in (module.name, module.bound))
    ends = (number for number, module in named.items() if (module.name or "").endswith(f".{wanted}"))
    return exact or frozenset(ends)


def name_in_row(wanted: str) -> str:
    """Returns the name at the start of a row."""
    return _NAMES.split(_TIMES.sub("", wanted))[0]


def operator_name(hop: Hop) -> str:
    """Returns an operator's name as `--open` and `--native-op` accept it: with its overload, without `aten::`."""
    return (hop.op or hop.name).removeprefix("aten::")


def _numbered(trace: Trace, wanted: str) -> int | None:
    """Returns the id of the hop that "add.Tensor#2" means, or None if the text names no call of an operator."""
    name, mark, number = wanted.rpartition("#")
    if not mark or not (number.isascii() and number.isdigit()):
        return None
    calls = [hop for hop in walk(trace.hops) if hop.kind == "op" and _is_operator(hop, name)]
    if not calls:
        return None
    count = 0
    for hop in calls:
        count += hop.calls
        if count >= int(number) > 0:
            return hop.id
    why = f"this trace has {count} call{'s' * (count != 1)} of it, numbered from 1"
    raise PtexploreError(f"there is no call {number} of {name}", why, f"--open {name}#{count}", USAGE)


def _is_operator(hop: Hop, name: str) -> bool:
    """Whether a hop calls the operator of that name, with or without namespace and overload."""
    full = operator_name(hop)
    return name.removeprefix("aten::") in (full, full.partition(".")[0])


def names_of(hop: Hop) -> tuple[str, ...]:
    """Returns every name of a hop: the names in the rows of all views, and the full names."""
    names = [hop.name, hop.op, called_in_python(hop)]
    if hop.kind == "python":
        names.append(as_called(hop.name))
    if hop.module is not None:
        names += [f"{hop.module.type}.forward()", hop.module.name, hop.module.bound]
    if hop.native is not None and hop.native.symbol:
        names.append(shown_name(hop))
    if hop.operator is not None:
        names.append(hop.operator.entry)
    if hop.library is not None:
        names.append(library_call(hop))
    if hop.kind == "launch":
        names += [kernel_name(hop.name), hop.launch.through if hop.launch is not None else None]
    return tuple(dict.fromkeys(name for name in names if name))


def _not_there(trace: Trace, wanted: str) -> PtexploreError:
    names = {name for hop in walk(trace.hops) for name in names_of(hop)}
    close = near(name_in_row(wanted), names)
    reason = trace.captured.reason if not frames(trace.hops) else None
    why = f"this trace has {len(names)} function names"
    if reason is not None:
        why = f"no C++ function was recorded: {sentence(reason)}"
    hint = (
        f"nearest: {', '.join(close)}"
        if close
        else "--view tree --full lists everything that ran; --open takes each of these names"
    )
    return PtexploreError(f"no function with {wanted} in its name ran", why, hint, USAGE)


def near(wanted: str, names: Iterable[str]) -> list[str]:
    """Returns the most similar names: first compared as a whole, then by their last parts."""
    whole = {name.lower(): name for name in sorted(names)}
    last = {re.split(r"::|\.", name.removesuffix("()"))[-1]: name for name in whole.values()}
    lowered = {part.lower(): part for part in last}
    close = [whole[name] for name in get_close_matches(wanted.lower(), whole, NEAR)]
    own_part = re.split(r"::|\.", wanted.removesuffix("()"))[-1].lower()
    close += [lowered[part] for part in get_close_matches(own_part, lowered, NEAR)]
    return list(dict.fromkeys(close))[:NEAR]


def is_trampoline(hop: Hop) -> bool:
    """Whether a frame only calls the function that its type names."""
    return governed(hop) and hop.name == "c10::function_ref::callback_fn"


def as_called(name: str) -> str:
    """Returns a Python function's name with brackets. An expression, shown if no function is known, stays as it is."""
    return name if _EXPRESSION.search(name) else f"{name}()"


def called_in_python(hop: Hop) -> str:
    """Returns the name that Python calls a hop by; a Python function gets brackets. Returns "" if no name is known."""
    if hop.kind == "python" and not is_range(hop):
        return as_called(hop.python.qualname if hop.python is not None and hop.python.qualname else hop.name)
    return hop.binding.python if hop.binding is not None else ""


def shown_name(hop: Hop) -> str:
    """Returns the name to show for a frame."""
    symbol = hop.native.symbol if hop.native is not None else ""
    shown = display(symbol) if symbol else hop.name
    if hop.native is not None and hop.native.alike:
        count = len(hop.native.alike)
        other = f"one of {count} others" if count > 1 else display(hop.native.alike[0])
        return f"{shown} or {other} with the same machine code"
    return shown.removesuffix("::operator()") if hop.status == "inlined" else shown


def facts(trace: Trace, session: Session | None) -> Iterator[TraceRemark]:
    """Yields what the stepped run did and how, which library code it only counted, and why nothing was stepped."""
    observations = session.observations if session else ()
    parts = records(observations, "calls", SteppedCalls)
    if parts:
        asked = session is not None and session.options.native_op is not None
        yield _stepped(parts, cold=trace.captured.cold, asked=asked)
    elif frames(trace.hops):
        yield says.FramesStepped(cold=trace.captured.cold)
    closed = Counter[str]()
    for hop in walk(trace.hops):
        if hop.kind == "closed" and hop.instructions is not None:
            closed[library_of(hop).partition(".so")[0]] += hop.native.own if hop.native is not None else 0
    if closed:
        ran = (says.LibraryRan(library=library, instructions=count) for library, count in closed.most_common())
        yield says.AlsoRan(libraries=tuple(ran))
    yield from _nameless(observations, parts)
    yield from _which_call(trace.captured)
    yield from begins_with(trace.captured)
    if not frames(trace.hops) and trace.captured.reason is not None:
        yield says.NoNativePass(why=trace.captured.reason)


def _nameless(observations: Iterable[Observation], parts: Sequence[SteppedCalls]) -> Iterator[TraceRemark]:
    """Yields torch's own libraries that ran and whose functions have no names, and why."""
    ran = {library for part in parts for library, *_ in part.functions if library not in part.closed}
    for unreadable in records(observations, "unreadable", UnreadableLibraries):
        for library, why in unreadable.libraries.items():
            if library in ran:
                yield says.LibraryNameless(library=library, why=why)


def library_of(hop: Hop) -> str:
    """Returns the library that a frame's code belongs to."""
    native = hop.native
    return (native.third_party or native.library if native is not None else "") or "unknown"


def library_call(hop: Hop) -> str:
    """Names a call into a linked library: the library's own name for it, else the function if it is certain."""
    if hop.library is not None:
        return f"{hop.library.library} {hop.library.what}"
    is_sure = hop.native is None or not hop.native.alike
    return shown_name(hop) if is_sure else f"a function of {library_of(hop)}"


def library_detail(hop: Hop) -> Detail:
    """Returns what a linked library reported about a call, else the library's name.

    If several functions share the code, says how many.
    """
    report = hop.library
    if report is not None and report.query:
        return AsksWorkspace(library=report.library)
    if report is not None:
        return LibraryReports(
            library=report.library, problem=problem(report), implementation=report.implementation or ""
        )
    alike = hop.native.alike if hop.native is not None else ()
    return OneOfAlike(count=len(alike) + 1) if alike else InLibrary(library=library_of(hop))


def problem(entry: LibraryEntry | LibraryTold) -> str:
    """Returns the sizes that a library was given.

    MKL reports those of a matrix product in a fixed order, so each gets its name.
    """
    sizes = entry.problem.split(",")
    if entry.library != "MKL" or not entry.what.endswith("GEMM") or len(sizes) != len(GEMM):
        return entry.problem
    return " ".join(f"{name}={value}" for name, value in zip(GEMM, sizes, strict=True))


def is_range(hop: Hop) -> bool:
    """Whether a hop is a range that code marks for the profiler, rather than a function call."""
    return hop.native is None and _MARKS_RANGE in hop.why


def entered(hop: Hop) -> str:
    """Names the library that a frame enters, with what the library reported about this call."""
    entry = hop.library
    if entry is None:
        return library_of(hop)
    return f"{entry.library}: {entry.what} {QUERY}" if entry.query else reported(entry)


def reported(call: LibraryEntry | LibraryTold) -> str:
    """Returns what a library reported about a call: the function or primitive, the sizes and the implementation."""
    how = f" by {call.implementation}" if call.implementation else ""
    return f"{call.library}: {call.what} {problem(call)}{how}"


def _which_call(captured: Captured) -> Iterator[TraceRemark]:
    """Yields a remark on the run that is shown, if the first run imports modules or could not be repeated."""
    first = captured.first
    count = first.imported if first is not None else captured.warm
    shown = says.FirstShown(why=first.why) if first is not None else says.LaterShown()
    if count:
        modules = says.Modules(count=count) if count > 1 else says.OneModule()
        yield says.FirstRunImports(modules=modules, shown=shown)
    elif first is not None:
        yield says.OfTheRuns(shown=shown)


def begins_with(captured: Captured) -> Iterator[TraceRemark]:
    """Yields what the shown run started with, if an earlier run in its process had changed objects of --setup."""
    named, more = captured.put_back[:NAMED], len(captured.put_back) - NAMED
    if captured.anew:
        yield says.SetupRunsAnew()
    elif more > 0:
        yield says.RunsBeginWith(first=named, last=says.More(few=more))
    elif named:
        yield says.RunsBeginWith(first=named[:-1], last=named[-1])


def _stepped(parts: Sequence[SteppedCalls], *, cold: bool, asked: bool) -> TraceRemark:
    """Says how much was stepped. `asked`: the user asked for one call only."""
    if any(part.event is not None for part in parts):  # a program
        calls = says.OneCall() if len(parts) == 1 else says.CallsOfKinds(few=len(parts))
        return says.NativePassOfProgram(instructions=sum(part.instructions for part in parts), calls=calls)
    threads = parts[0].threads
    remarks = tuple(_part_stepped(part, first=not number, asked=asked) for number, part in enumerate(parts))
    if all(part.part == "operator" for part in parts) and len(parts) > 1:
        instructions = sum(part.instructions for part in parts)
        whole = says.PartStepped(instructions=instructions, first=True, what=says.OfCallsOfKinds(few=len(parts)))
        remarks = (whole,)
    if cold:
        return says.NativePassCold(parts=remarks, threads=threads)
    return says.NativePassWarm(parts=remarks, few=parts[0].warm_ups, threads=threads)


def _part_stepped(part: SteppedCalls, *, first: bool, asked: bool) -> says.PartStepped:
    phases = {"forward": says.ForwardStepped(), "backward": says.OfBackward()}
    alone = says.CallAlone(call=which_call(part), why=beyond(part) if not asked else None)
    return says.PartStepped(
        instructions=part.instructions,
        first=first,
        what=phases.get(part.part, says.OfOperator(op=part.op)),
        alone=alone if part.part == "operator" else None,
        cut=part.cut,
    )


def which_call(part: SteppedCalls) -> TraceRemark:
    """Says which call of its operator was stepped."""
    return says.CallNumber(ordinal=part.number) if part.number else says.OneCall()


def beyond(part: SteppedCalls) -> TraceRemark | None:
    """Returns the limit that the whole run exceeds, or None if one call was stepped for another reason."""
    return says.BeyondLimit(count=part.beyond.count, singly=part.beyond.singly) if part.beyond is not None else None


def frames(hops: Iterable[Hop]) -> int:
    """Returns how many frames were stepped, in these hops and below."""
    return sum(hop.instructions is not None for hop in walk(hops))
