"""Run one pass: bind names, evaluate the expression under one recorder, and say what was seen as plain data."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

from . import autograd, clock, dispatch, events, frames, isolate, last_words, unpatched
from . import torch_api as api
from .catalogue import beneath, place_of, qualname_of
from .expression import (
    EXPRESSION,
    Namespace,
    Refused,
    check_attributes,
    check_script,
    code_of,
    parse,
    read,
    script_file,
    text_of,
)
from .observations import answered, seen
from .profiler_load import ProfilerLoad
from .raising import Raised
from .reasons import Said, reason
from .throws import ThrowLog
from .values import describe, type_name

if TYPE_CHECKING:
    from .messages import (
        ChangedTableData,
        EventData,
        GivenKernelData,
        GraphNodeData,
        RecorderName,
        ResultInfoData,
        RunRequestData,
        RunToldData,
        UncountedSavedData,
    )

    Told = Callable[[ResultInfoData, dict[RecorderName, list[EventData]]], RunToldData]

# How an evaluation is repeated in one process: on what --setup made, put back where it was changed; or with --setup run
# again, where it does nothing to the process; or not at all, since neither can be done.
AGAIN: Final = "again"
ANEW: Final = "anew"
FIRST: Final = "first"
# The passes: torch's profiler alone, with Python's frames, with the expression's calls; all in one; the first again.
OPS: Final = "ops"
FRAMES: Final = "frames"
DISPATCH: Final = "dispatch"
TOGETHER: Final = "once"
OPS_AGAIN: Final = "again"
# For which recorders a pass speaks.
SPEAKS_FOR: Mapping[str, tuple[RecorderName, ...]] = {
    OPS: (OPS,),
    FRAMES: (FRAMES,),
    DISPATCH: (DISPATCH,),
    TOGETHER: (OPS, FRAMES, DISPATCH),
    OPS_AGAIN: (OPS_AGAIN,),
}
# Runs before the one that is seen: one, or two where the second run calls other operators than the first, or the first
# imports modules. Then a third may go another way still.
WARM_UPS = 1, 2
MARKERS_OF = {FRAMES: events.OF_FRAMES, DISPATCH: events.OF_CALLS}  # what only this recorder tells among its events


@dataclass
class Pass:
    """One pass as it runs. `recorder` is one of the passes above, or another recorder's name."""

    recorder: str
    request: RunRequestData
    names: Namespace
    evaluate: Callable[[], Any]
    calls: dispatch.CallRecorder | None = None
    held: dispatch.Held | None = None
    cuts: list[tuple[RecorderName, Said]] = field(default_factory=list)  # what is not told, each with whose it is
    graph: list[GraphNodeData] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)  # the tensors that backward is run from
    device: str | None = None  # on which launches are recorded
    began: str | None = None  # the device that the evaluation was the first to use: its launches are not told
    saved: autograd.KeptBytes = field(default_factory=autograd.KeptBytes)  # what is kept for backward, where it is told
    imported: int = 0  # modules that the evaluation imported
    raised: Raised | None = None  # what ended the evaluation
    load: ProfilerLoad | None = None  # what is recorded, at most
    is_full: bool = False  # no more operators are recorded
    stage: str = "expression"  # what runs, or ran last: as `Raised` has it
    throws: ThrowLog | None = field(default_factory=ThrowLog.where_possible)  # the errors that C++ makes

    @property
    def recorders(self) -> tuple[RecorderName, ...]:
        """The recorders that this pass speaks for: a single run for all three. None of them if it is no pass."""
        return SPEAKS_FOR.get(self.recorder, ())

    def cut(self, told: Said, *recorders: RecorderName) -> None:
        """Say what is not told, of all recorders of this pass, or of these."""
        self.cuts += ((name, told) for name in self.recorders if not recorders or name in recorders)

    def attempt(self, where: str, function: Callable[..., Any], *given: Any) -> Any:
        """Call a function of the user's: its result, or None where it raises, which is kept in `raised`.

        A script that exits with 0 has ended well. What the function forked, and comes to its end, ends here.
        """
        self.stage = where
        value = self.guarded(where, function, *given)
        isolate.end_if_forked()
        return value

    def guarded(self, where: str, function: Callable[..., Any], *given: Any) -> Any:
        """The inner part of `attempt`, and no more than it needs: what is stepped is stepped with it."""
        try:
            return function(*given)
        except (dispatch.Broken, Raised, Refused):
            raise
        except BaseException as error:
            isolate.end_if_forked(error)
            ended_well = where == "script" and isinstance(error, SystemExit) and error.code in (None, 0)
            self.raised = None if ended_well else Raised(where, error)
            return None


def run(recorder: str, request: RunRequestData, known: dict[str, str]) -> RunToldData:
    """One pass in this process.

    Returns a digest of the operators in order, how many modules the first call imported, whether it raised and whether
    this is the second call, bound names, the result's description and the observations. Raises Refused or Raised.
    """
    running = prepared(recorder, request, _warmed_up(recorder, request) if is_repeated(request) else None)
    if running.calls is not None:
        running.held = dispatch.Held()
    return _observe(running, partial(_message, running, known))


def _message(
    running: Pass, known: dict[str, str], result: ResultInfoData, trees: dict[RecorderName, list[EventData]]
) -> RunToldData:
    """What a pass saw, as `run` returns it."""
    request = running.request
    # The calls come first: events refer to them.
    told = [seen(DISPATCH, "call", call) for call in (running.calls.calls if running.calls is not None else ())]
    if running.held is not None:
        told.append(seen(DISPATCH, "held", {"tensors": running.held.told}))
    told += [seen(name, "event", event) for name, tree in trees.items() for event in tree]
    told += [seen(OPS, "graph", node) for node in running.graph]
    told += [seen(OPS, "kept", {"sequence": n, "bytes": size}) for n, size in running.saved.told.items()]
    saved = running.saved
    if saved.packed or saved.unread or saved.silent:
        uncounted: UncountedSavedData = {"packed": saved.packed, "unread": saved.unread, "silent": saved.silent}
        told.append(seen(OPS, "uncounted", uncounted))
    mine = running.recorders[0]
    if running.device is not None:
        told.append(seen(mine, "launches", {"device": running.device}))
    if OPS in running.recorders:
        told.append(seen(OPS, "idle", {"devices": api.idle_devices()}))
    if running.began is not None:
        running.cut(events.NOT_LOOKED_AT, mine)
    told += [seen(name, "cut", {"told": lost}) for name, lost in running.cuts]
    if running.raised is not None:
        left, part = (running.calls.left, running.calls.part) if running.calls is not None else ((), "")
        told.append(seen(mine, "raised", running.raised.told(left, part)))
    sequence, called = _sequence(next(iter(trees.values())))
    if OPS in running.recorders and known:
        told += [seen(OPS, "table", table) for table in changed_tables(called, known)]
    return {
        "sequence": sequence,
        "imported": int(request.get("imported", 0)) or running.imported,
        "raised": _which(running.raised.error) if running.raised is not None else "",
        "began": running.began,
        "warm": is_repeated(request),
        "put_back": list(running.names.put_back),
        "anew": request.get("repeat") == ANEW,
        "bound": running.names.bound,
        "result": result,
        "observations": told,
    }


_ADDRESS = re.compile(r"0x[0-9a-f]+")


def _which(error: BaseException) -> str:
    """What tells an error from another one that a further run raises: its class, and a digest of what it says.

    Where an object lies in memory, which its text may have in it, tells nothing.
    """
    text = _ADDRESS.sub("", text_of(error)).encode("utf-8", "surrogateescape")
    return f"{type(error).__name__}:{hashlib.sha256(text).hexdigest()[:16]}"


def is_repeated(request: RunRequestData) -> bool:
    """Whether what is shown is a later run than the first in its process."""
    return request.get("repeat") in (AGAIN, ANEW)


def alone(request: RunRequestData) -> RunToldData:
    """Evaluate without any recorder, to see whether the process comes to its end so."""
    _warmed_up("", {**request, "warm_ups": 1})
    return {"observations": []}


def steps_first(request: RunRequestData) -> bool:
    """Whether the very first run in its process is stepped: where that is asked for, or no other can be."""
    return bool(request.get("first")) or request.get("repeat") == FIRST


def _warmed_up(recorder: str, request: RunRequestData) -> Pass:
    """Evaluate as often as the request says before the run that is seen: the last pass that did.

    A first run fills caches, and a second may be the first to take the way of those that find them filled, which fills
    others. It may raise, as the run that is seen does. It runs the same code object, as a program does that repeats it:
    what is kept for that (Dynamo's guards) is found again.
    """
    running = None
    for _ in range(request["warm_ups"]):
        running = prepared(recorder, request, running)
        with stage("context"), ExitStack() as stack:
            enter_contexts(stack, running)
            _evaluated(running)
    assert running is not None
    return running


def prepared(recorder: str, request: RunRequestData, before: Pass | None = None) -> Pass:
    """The pass with its names, and its way to evaluate: the script, or the expression, maybe recorded.

    `before` is what was evaluated before in this process, if anything was: --setup does not run again then, unless the
    request says that it must (`ANEW`).
    Raises Refused for what is no Python, and for names that cannot be bound; Unrepeatable where `before` used up what
    --setup had made.
    """
    tree = read(request)
    names = _names(request, tree, before)
    script = request.get("script")
    if tree is None and script is not None:
        # The very bytes that were shown run, where they were: they are not read again after this.
        code = check_script(script, request.get("script_sha256"))
        return Pass(recorder, request, names, lambda: _script(script, code))
    assert tree is not None
    check_attributes(tree, names.values)
    is_instrumented = recorder in (DISPATCH, TOGETHER)
    code, sites = _code(request.get("expression") or "", instrumented=is_instrumented)
    running = Pass(recorder, request, names, lambda: eval(code, names.values))
    if sites is not None:
        names.values[dispatch.HELPER] = running.calls = dispatch.CallRecorder(sites)
    elif is_instrumented:
        running.cut(reason("nests-too-deep"), DISPATCH)
    return running


@functools.cache
def _code(expression: str, *, instrumented: bool) -> tuple[CodeType, list[dispatch.CallSite] | None]:
    """The expression's code, the same object each time, and the parts that it tells of if it is `instrumented`.

    What nests too deeply for that is not.
    """
    tree = parse(expression, EXPRESSION)
    if instrumented:
        with suppress(RecursionError, MemoryError):
            changed, sites = dispatch.rewrite(tree, expression.strip())
            return compile(changed, frames.EXPRESSION, "eval"), sites
        tree = parse(expression, EXPRESSION)
    return compile(tree, frames.EXPRESSION, "eval"), None


def _names(request: RunRequestData, tree: ast.Expression | None, before: Pass | None) -> Namespace:
    """The names that an evaluation sees."""
    if before is not None and request.get("repeat") != ANEW:
        before.names.renew(tree)
        return before.names
    names = Namespace(request)
    if before is not None:
        names.fill_again(tree, before.names)
    else:
        names.fill(tree, repeats=is_repeated(request), keeps=request.get("repeat") == AGAIN)
    return names


RUNNING = 5  # calls of Python's and C's by which `runpy` runs a script, and the profile function's


def _calls_around() -> int:
    """How many calls deeper a script runs here than where Python itself runs it: it has that much less room."""
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth + RUNNING


def _script(script: str, code: CodeType) -> None:
    """Run a script, whose code is given, as Python would: its folder first on sys.path, __main__, no arguments."""
    sys.setrecursionlimit(sys.getrecursionlimit() + _calls_around())
    sys.argv = [script]
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    spawning = sys.modules.get("multiprocessing.process")  # torch has loaded it, in a folder of ours
    if spawning is not None:
        spawning.ORIGINAL_DIR = os.getcwd()  # type: ignore[attr-defined]  # from where a spawned process loads the script
    file = script_file(script)
    with runpy._TempModule("__main__") as main:  # as runpy.run_path, which changes sys.argv
        runpy._run_code(code, vars(main.module), None, "__main__", None, "", file)  # type: ignore[attr-defined]


def _observe(running: Pass, message: Told) -> RunToldData:
    """Evaluate under the profiler (and the frame hook): the message of what was seen.

    `message` is given the result described, and each recorder's tree of events. What dies meanwhile answers the same,
    of what ran until then.
    """
    script, calls = running.request.get("script"), running.calls
    files = (script,) if script else ()
    is_hooked = FRAMES in running.recorders
    hook = frames.recording(files, running.names.values, calls) if is_hooked else nullcontext(None)
    # Telling sizes keeps what is told of alive a little longer, and a gradient that something else holds is copied: one
    # pass does without, so that passes differ where that changes what runs.
    with stage("context"), ExitStack() as stack:
        enter_contexts(stack, running)
        if not running.request.get("first"):
            api.begin_device(texts(running.request), running.request.get("begin"))
        profile = api.profiler(shapes=running.recorder not in (OPS, OPS_AGAIN), device=api.launching_device())
        watch = clock.ClockWatch().start()

        def dying(error: BaseException) -> bytes:
            unpatched.put_back()
            running.raised = Raised(running.stage, error)
            if hooked is not None:
                hooked.died()
            for opened in (calls, profile):
                if opened is not None:
                    opened.__exit__(None, None, None)
            return isolate.encoded(
                answered(running.recorder, message(*_told(running, profile, watch, hooked, None, [])))
            )

        noting = running.throws.noting() if running.throws is not None else nullcontext()
        with noting, profile, hook as hooked, calls or nullcontext():
            with api.marker(events.MAIN):
                pass
            running.load = ProfilerLoad(at_once=True)
            keeps = bool(running.request.get("keeps"))
            spoken = last_words.spoken(dying, partial(_goes_by, running), keeps=keeps)
            with api.no_other_profiler(_refuse_profiler), spoken:
                result, starts = _evaluated(running)
            unpatched.put_back()
    return message(*_told(running, profile, watch, hooked, result, starts))


def _goes_by(running: Pass) -> None:
    """Keep what was recorded where that is asked for, and look how much it is.

    Where too much of the time that there is would go by to read it, no more is recorded.
    """
    hook = sys.getprofile()
    sys.setprofile(None)
    try:
        last_words.keep(None)
    finally:
        sys.setprofile(hook)
    assert running.load is not None
    running.load.look()
    why = running.load.too_much(float(running.request["timeout"]), isolate.available_memory())
    if why is not None and not running.is_full:
        api.record_operators(on=False)
        running.is_full = True
        running.cut(reason("operators-cut", because=why))


def _told(
    running: Pass,
    profile: Any,
    watch: clock.ClockWatch,
    hooked: frames.FrameRecorder | None,
    result: Any,
    starts: list[autograd.BackwardStart],
) -> tuple[ResultInfoData, dict[RecorderName, list[EventData]]]:
    """What the evaluation gave, described, and each recorder's tree of events; nothing records any more."""
    calls = running.calls
    if watch.stop():
        running.cut(clock.CUT)
    running.device = api.launching_device()
    running.began = running.device if profile.use_device != running.device else None
    # Only now: asking a view for its grad_fn can itself call operators.
    described = autograd.told(starts)
    if running.raised is None:
        described["type"], described["description"] = type_name(result), describe(result)
    if running.request.get("sample") is not None:
        described["fingerprint"] = running.names.digest(result)
    if OPS in running.recorders:
        _read_graph(running, result)
    if hooked is not None and running.raised is not None:
        hooked.left_by(running.raised.error)
    marked = (hooked.marked if hooked is not None else {}) | (calls.marked() if calls is not None else {})
    ended = text_of(running.raised.error) if running.raised is not None else None
    tree, cut = events.collect(profile, marked, errors=running.throws.caught(ended) if running.throws else ())
    if cut:
        running.cut(reason("events-cut", most=events.LIMIT))
    for lost in hooked.cuts() if hooked is not None else ():
        running.cut(lost, FRAMES)
    if calls is not None and calls.cut:
        running.cut(reason("calls-cut", most=dispatch.CALLS), DISPATCH)
    # The same events for each recorder, with the markers it is about.
    return described, {name: list(_of(tree, name)) for name in running.recorders}


def _read_graph(running: Pass, result: Any) -> None:
    """Tell of the autograd graph of what the expression gave, and of what that keeps for backward."""
    running.graph, cut = autograd.graph(result, running.scalars)
    if not running.request["backward"]:
        running.saved = autograd.saved(result)
    if cut:
        running.cut(reason("nodes-cut", most=autograd.GRAPH_LIMIT), OPS)


def _refuse_profiler() -> None:
    raise Refused("profiler", reason("expression-profiles"))


def texts(request: RunRequestData) -> str:
    """All that was typed for an expression."""
    return "\n".join((request.get("expression") or "", *request.get("setup", ()), *request.get("contexts", ())))


def _evaluated(running: Pass) -> tuple[Any, list[autograd.BackwardStart]]:
    """The result, and what backward was run from where it was asked for."""
    before = len(sys.modules)

    def backward(starts: list[autograd.BackwardStart]) -> None:
        if OPS in running.recorders:  # backward frees what was saved
            running.saved = autograd.saved([start.tensor for start in starts])
        autograd.backward(starts, running.scalars)

    try:
        return phases(running, backward, lambda _, function, *given: function(*given))
    finally:
        running.imported = max(len(sys.modules) - before, 0)


def phases(
    running: Pass, backward: Callable[..., None], perform: Callable[..., Any]
) -> tuple[Any, list[autograd.BackwardStart]]:
    """What the evaluation gave, and what `backward` was run from; [] where none is asked for.

    Each is called by `perform`, which gets the phase, the function and its arguments. What raises ends it: see
    `running.raised`.
    """
    where = "script" if running.request.get("script") else "expression"
    running.stage = where
    result = perform("forward", running.guarded, where, running.evaluate)
    isolate.end_if_forked()
    if running.raised is not None or not running.request["backward"]:
        return result, []
    starts = autograd.roots(result)
    running.stage = "backward"
    perform("backward", running.guarded, "backward", backward, starts)
    isolate.end_if_forked()
    return result, starts


def _of(tree: list[EventData], recorder: str) -> Iterator[EventData]:
    """The events that concern one recorder; others' markers are taken out and their children hoisted."""
    foreign = set(events.MARKERS) - set(MARKERS_OF.get(recorder, ()))
    parents = {e["event"]: e["parent"] for e in tree if e["type"] in foreign}
    for event in tree:
        if event["type"] in foreign:
            continue
        parent = event["parent"]
        while parent in parents:
            parent = parents[parent]
        yield event if parent == event["parent"] else {**event, "parent": parent}


def enter_contexts(stack: ExitStack, running: Pass) -> None:
    """Enter what --with names, on `stack`. Raises Refused for what is no context manager."""
    for text in running.request["contexts"]:
        given = reason("given-context", expression=text)
        code = code_of(text, given, "<--with>")
        try:
            stack.enter_context(eval(code, running.names.values))
        except BaseException as error:
            told = reason("no-context-manager", given=given, exception=type(error).__name__, message=text_of(error))
            raise Refused("context", told) from error


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Tell whatever the user's code raises by where it did."""
    try:
        yield
    except (dispatch.Broken, Raised, Refused):
        raise
    except BaseException as error:
        raise Raised(name, error) from error


def _sequence(tree: list[EventData]) -> tuple[str, set[str]]:
    """A digest of the operators and nodes that ran, in order: equal where two passes saw the same. The operators."""
    names = [event["name"] or "" for event in tree if event["type"] in ("op", "node")]
    digest = hashlib.sha1("\n".join(names).encode(), usedforsecurity=False).hexdigest()
    return digest, {event["name"] or "" for event in tree if event["type"] == "op"}


def changed_tables(called: set[str], known: dict[str, str]) -> Iterator[ChangedTableData]:
    """Registrations of operators that were called and are not as the catalogue knows them."""
    custom: list[tuple[str, str, Callable[..., Any]]] | None = None
    for op in api.operator_names():
        if op.partition(".")[0] in called:
            dumped, table = api.dump(op), api.dump_table(op)
            if known.get(op) != api.digest(dumped, table):
                custom = api.custom_kernels() if custom is None else custom
                kernels = [_python_kernel(key, function) for name, key, function in custom if name == op]
                yield {
                    "op": op,
                    "schema": api.schema_and_tags(op)[0],
                    "dump": dumped,
                    "table": table,
                    "kernels": [k for k in kernels if k is not None],
                }


def _python_kernel(key: str, function: Callable[..., Any]) -> GivenKernelData | None:
    """A function of Python that was registered under a dispatch key; None if it has no code."""
    place = place_of(function)
    name = qualname_of(beneath(function))
    return {"key": key, "function": name, "file": place[0], "line": place[1]} if place is not None else None
