"""Run one pass: bind the names, evaluate the expression under one recorder, return the observations as plain data."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    is_program,
    parse,
    read,
    script_file,
    text_of,
)
from .observations import answered, seen
from .profiler_load import ProfilerLoad
from .raising import Raised
from .reasons import Said, reason
from .taken import threading
from .throws import ThrowLog
from .values import describe, type_name

if TYPE_CHECKING:
    from .messages import (
        ChangedTableData,
        EventData,
        GivenKernelData,
        GraphNodeData,
        ResultInfoData,
        RunRequestData,
        RunToldData,
        UncountedSavedData,
    )

    MakeMessage = Callable[[ResultInfoData, dict[str, list[EventData]]], RunToldData]

# How the evaluation is repeated in one process. AGAIN: with the objects that --setup made, put back where they changed.
# ANEW: --setup runs again, since it changes nothing else in the process. FIRST: not at all, since neither is possible.
AGAIN: Final = "again"
ANEW: Final = "anew"
FIRST: Final = "first"
# The passes: torch's profiler only; with Python's frames; with the calls of the expression; all in one; the first
# again.
OPS: Final = "ops"
FRAMES: Final = "frames"
DISPATCH: Final = "dispatch"
TOGETHER: Final = "once"
OPS_AGAIN: Final = "again"
# The recorders whose observations a pass gives.
SPEAKS_FOR: Mapping[str, tuple[str, ...]] = {
    OPS: (OPS,),
    FRAMES: (FRAMES,),
    DISPATCH: (DISPATCH,),
    TOGETHER: (OPS, FRAMES, DISPATCH),
    OPS_AGAIN: (OPS_AGAIN,),
}
# Runs before the recorded run. There are two if the second run calls other operators than the first, or if the first
# run imports modules. A third run may still take another way.
WARM_UPS = 1, 2
MARKERS_OF = {FRAMES: events.OF_FRAMES, DISPATCH: events.OF_CALLS}  # markers that belong to this recorder only


@dataclass
class Pass:
    """One pass as it runs. `recorder` is one of the passes above, or the name of another recorder."""

    recorder: str
    request: RunRequestData
    names: Namespace
    evaluate: Callable[[], Any]
    calls: dispatch.CallRecorder | None = None
    held: dispatch.Held | None = None
    cuts: list[tuple[str, Said]] = field(default_factory=list)  # reasons why data is missing, by recorder
    graph: list[GraphNodeData] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)  # the tensors that backward starts from
    device: str | None = None  # the device whose launches are recorded
    began: str | None = None  # the device that the evaluation was the first to use: its launches are not shown
    saved: autograd.KeptBytes = field(default_factory=autograd.KeptBytes)  # bytes kept for backward, if read
    imported: int = 0  # how many modules the evaluation imported
    raised: Raised | None = None  # the error that ended the evaluation
    load: ProfilerLoad | None = None  # an upper bound for what the profiler holds
    is_full: bool = False  # whether the pass stopped recording operators
    stage: str = "expression"  # the part that runs, or that ran last, as in `Raised`
    throws: ThrowLog | None = field(default_factory=ThrowLog.where_possible)  # the errors that C++ makes

    @property
    def recorders(self) -> tuple[str, ...]:
        """Return the recorders that this pass gives observations for: all three if it is the single run.

        The tuple is empty if `recorder` names no pass.
        """
        return SPEAKS_FOR.get(self.recorder, ())

    def cut(self, why: Said, *recorders: str) -> None:
        """Note why something is missing: for all recorders of this pass, or only for the given ones."""
        self.cuts += ((name, why) for name in self.recorders if not recorders or name in recorders)

    def attempt(self, where: str, function: Callable[..., Any], *given: Any) -> Any:
        """Call a function of the user and return its result. Returns None if it raises; the error goes to `raised`.

        A script that exits with 0 has ended well. If the function forked this process, a fork that comes to this point
        ends here.
        """
        self.stage = where
        value = self.guarded(where, function, *given)
        isolate.end_if_forked()
        return value

    def guarded(self, where: str, function: Callable[..., Any], *given: Any) -> Any:
        """Do the inner part of `attempt`. It does only what it must, because the stepper steps through it too."""
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
    """Run one pass in this process.

    Returns a digest of the operators in order, how many modules the first call imported, whether it raised, whether
    this is the second call, the bound names, the description of the result and the observations. Raises Refused or
    Raised.
    """
    running = prepared(recorder, request, _warmed_up(recorder, request) if is_repeated(request) else None)
    if running.calls is not None:
        running.held = dispatch.Held()
    return _observe(running, partial(_message, running, known))


def _message(
    running: Pass, known: dict[str, str], result: ResultInfoData, trees: dict[str, list[EventData]]
) -> RunToldData:
    """Return what a pass saw, in the form that `run` returns."""
    request = running.request
    # The calls come first: events refer to them.
    observations = [seen(DISPATCH, "call", call) for call in (running.calls.calls if running.calls is not None else ())]
    if running.held is not None:
        observations.append(seen(DISPATCH, "held", {"tensors": running.held.data}))
    observations += [seen(name, "event", event) for name, tree in trees.items() for event in tree]
    observations += [seen(OPS, "graph", node) for node in running.graph]
    observations += [seen(OPS, "kept", {"sequence": n, "bytes": size}) for n, size in running.saved.by_sequence.items()]
    saved = running.saved
    if saved.packed or saved.unread or saved.silent:
        uncounted: UncountedSavedData = {"packed": saved.packed, "unread": saved.unread, "silent": saved.silent}
        observations.append(seen(OPS, "uncounted", uncounted))
    mine = running.recorders[0]
    if running.device is not None:
        observations.append(seen(mine, "launches", {"device": running.device}))
    if OPS in running.recorders:
        observations.append(seen(OPS, "idle", {"devices": api.idle_devices()}))
    if running.began is not None:
        running.cut(events.NOT_LOOKED_AT, mine)
    observations += [seen(name, "cut", {"told": lost}) for name, lost in running.cuts]
    if running.raised is not None:
        left, part = (running.calls.left, running.calls.part) if running.calls is not None else ((), "")
        observations.append(seen(mine, "raised", running.raised.data(left, part)))
    sequence, called = _sequence(next(iter(trees.values())))
    if OPS in running.recorders and known:
        observations += [seen(OPS, "table", table) for table in changed_tables(called, known)]
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
        "observations": observations,
    }


_ADDRESS = re.compile(r"0x[0-9a-f]+")


def _which(error: BaseException) -> str:
    """Return a name that distinguishes an error from the error of another run: its class, and a digest of its text.

    Addresses of objects in the text differ between runs, so they are removed.
    """
    text = _ADDRESS.sub("", text_of(error)).encode("utf-8", "surrogateescape")
    return f"{type(error).__name__}:{hashlib.sha256(text).hexdigest()[:16]}"


def is_repeated(request: RunRequestData) -> bool:
    """Return whether the shown run is a later run than the first in its process."""
    return request.get("repeat") in (AGAIN, ANEW)


def alone(request: RunRequestData) -> RunToldData:
    """Evaluate without any recorder, to see whether the process then comes to its end."""
    _warmed_up("", {**request, "warm_ups": 1})
    return {"observations": []}


def steps_first(request: RunRequestData) -> bool:
    """Return whether the very first run in its process is stepped: it is asked for, or no other run is possible."""
    return bool(request.get("first")) or request.get("repeat") == FIRST


def _warmed_up(recorder: str, request: RunRequestData) -> Pass:
    """Evaluate as often as the request says before the recorded run, and return the last of these passes.

    The first run fills caches. The second run may be the first that finds these caches full, takes another way, and so
    fills other caches. A run before may raise, like the recorded run. All runs use the same code object, as in a
    program that repeats the expression. So anything that is cached by code object (the guards of Dynamo) is found
    again.
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
    """Return the pass with its names and its function that evaluates the script or the (maybe instrumented) expression.

    `before` is the previous evaluation in this process, if there is one. Then --setup does not run again, unless the
    request says that it must (`ANEW`). Raises Refused for text that is no Python, and for names that cannot be bound.
    Raises Unrepeatable if the names cannot be put back for a further run, for example because `before` used up the
    objects of --setup.
    """
    tree = read(request)
    names = _names(request, tree, before)
    script, module = request.get("script"), request.get("module")
    if tree is None and script is not None:
        # If the bytes of the script were shown, exactly these bytes run: the file is not read again after this.
        code = check_script(script, request.get("script_sha256"))
        return Pass(recorder, request, names, lambda: _script(script, code, request["arguments"]))
    if tree is None and module is not None:
        return Pass(recorder, request, names, lambda: _module(module, request["arguments"]))
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
    """Return the code of the expression, the same object each time; if `instrumented`, also the parts that report.

    An expression that nests too deeply is not instrumented: it gets None instead of the parts.
    """
    tree = parse(expression, EXPRESSION)
    if instrumented:
        with suppress(RecursionError, MemoryError):
            changed, sites = dispatch.rewrite(tree, expression.strip())
            return compile(changed, frames.EXPRESSION, "eval"), sites
        tree = parse(expression, EXPRESSION)
    return compile(tree, frames.EXPRESSION, "eval"), None


def _names(request: RunRequestData, tree: ast.Expression | None, before: Pass | None) -> Namespace:
    """Return the names that an evaluation sees."""
    if before is not None and request.get("repeat") != ANEW:
        before.names.renew(tree)
        return before.names
    names = Namespace(request)
    if before is not None:
        names.fill_again(tree, before.names)
    else:
        names.fill(tree, repeats=is_repeated(request), keeps=request.get("repeat") == AGAIN)
    return names


RUNNING = 5  # calls of Python and C functions with which `runpy` runs a script, and the call of the profile function


def _calls_around() -> int:
    """Return how many calls deeper a script runs here than under Python. The recursion limit is raised by this."""
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth + RUNNING


def _script(script: str, code: CodeType, arguments: Sequence[str]) -> None:
    """Run the code of a script as Python does: its folder first on sys.path, as __main__, with its arguments."""
    _begin_program([script, *arguments], os.path.dirname(os.path.realpath(script)))
    file = script_file(script)
    with runpy._TempModule("__main__") as main:  # as runpy.run_path does, which also changes sys.argv
        runpy._run_code(code, vars(main.module), None, "__main__", None, "", file)  # type: ignore[attr-defined]


def _module(module: str, arguments: Sequence[str]) -> None:
    """Run a module as `python -m` does: the current folder first on sys.path, as __main__, with its arguments.

    Raises ImportError for a module that is not there or cannot be run.
    """
    _begin_program(["-m", *arguments], os.getcwd())
    # `runpy.run_module` would give the module another `__main__` than the one in `sys.modules` after it.
    _, spec, code = runpy._get_module_details(module)  # type: ignore[attr-defined]
    sys.argv[0] = spec.origin
    with runpy._TempModule("__main__") as main:
        runpy._run_code(code, vars(main.module), None, "__main__", spec)  # type: ignore[attr-defined]


def _begin_program(words: list[str], folder: str) -> None:
    """Prepare the process for a program: its `sys.argv`, its folder, its limit of recursion."""
    sys.setrecursionlimit(sys.getrecursionlimit() + _calls_around())
    sys.argv = words
    sys.path.insert(0, folder)
    spawning = sys.modules.get("multiprocessing.process")  # torch loaded it while the working directory was ours
    if spawning is not None:
        spawning.ORIGINAL_DIR = os.getcwd()  # type: ignore[attr-defined]  # where a spawned process looks for it


def _observe(running: Pass, message: MakeMessage) -> RunToldData:
    """Evaluate under the profiler (and the frame hook), and return the message about it.

    `message` gets the described result and the tree of events of each recorder. If the process dies during the
    evaluation, it answers with the same message about the part that ran.
    """
    script, calls = running.request.get("script"), running.calls
    files = (script,) if script else ()
    is_hooked = FRAMES in running.recorders
    hook = (
        frames.recording(files, running.names.values, calls, running.request.get("choosers", ()))
        if is_hooked
        else nullcontext(None)
    )
    # A profiler that records sizes keeps tensors alive a little longer, and a gradient that something else holds is
    # copied. The pass of operators records no sizes. So this pass differs from the others if sizes change what runs.
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
                answered(running.recorder, message(*_collect(running, profile, watch, hooked, None, [])))
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
    return message(*_collect(running, profile, watch, hooked, result, starts))


def _goes_by(running: Pass) -> None:
    """Keep the recording so far, if that is asked for, and estimate its size.

    Stop recording operators if reading them would take too much of the time limit.
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


def _collect(
    running: Pass,
    profile: Any,
    watch: clock.ClockWatch,
    hooked: frames.FrameRecorder | None,
    result: Any,
    starts: list[autograd.BackwardStart],
) -> tuple[ResultInfoData, dict[str, list[EventData]]]:
    """Return the described result and the tree of events of each recorder. Nothing is recorded at this point."""
    calls = running.calls
    if watch.stop():
        running.cut(clock.CUT)
    running.device = api.launching_device()
    running.began = running.device if profile.use_device != running.device else None
    # This comes after the profile: asking a view for its grad_fn can call operators.
    described = autograd.starts_data(starts)
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
    # Each recorder gets the same events, with only its own markers.
    return described, {name: list(_of(tree, name)) for name in running.recorders}


def _read_graph(running: Pass, result: Any) -> None:
    """Read the autograd graph of the result, and the bytes that the graph keeps for backward."""
    running.graph, cut = autograd.graph(result, running.scalars)
    if not running.request["backward"]:
        running.saved = autograd.saved(result)
    if cut:
        running.cut(reason("nodes-cut", most=autograd.GRAPH_LIMIT), OPS)


def _refuse_profiler() -> None:
    raise Refused("profiler", reason("expression-profiles"))


def texts(request: RunRequestData) -> str:
    """Return all text that the user typed for an expression."""
    return "\n".join((request.get("expression") or "", *request.get("setup", ()), *request.get("contexts", ())))


def _evaluated(running: Pass) -> tuple[Any, list[autograd.BackwardStart]]:
    """Return the result, and the tensors that backward started from, if backward was asked for."""
    before = len(sys.modules)

    def backward(starts: list[autograd.BackwardStart]) -> None:
        if OPS in running.recorders:  # backward frees the saved tensors
            running.saved = autograd.saved([start.tensor for start in starts])
        autograd.backward(starts, running.scalars)

    try:
        return phases(running, backward, lambda _, function, *given: function(*given))
    finally:
        running.imported = max(len(sys.modules) - before, 0)


def phases(
    running: Pass, backward: Callable[..., None], perform: Callable[..., Any]
) -> tuple[Any, list[autograd.BackwardStart]]:
    """Run the forward and the backward phase. Return the result and the start of backward ([] without backward).

    `perform` calls each phase: it gets the name of the phase, the function and its arguments. A phase that raises ends
    the evaluation; the error is in `running.raised`.
    """
    where = "script" if is_program(running.request) else "expression"
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


def wait_for_threads(running: Pass) -> None:
    """Wait for threads that the script left running, as Python does at its end, unless the script was interrupted."""
    raised = running.raised
    if raised is None or not isinstance(raised.error, KeyboardInterrupt):
        running.attempt("script", threading._shutdown)  # type: ignore[attr-defined]  # Python calls it at its end
        running.raised = raised or running.raised


def _of(tree: list[EventData], recorder: str) -> Iterator[EventData]:
    """Yield the events of one recorder. Markers of other recorders are removed, and their children move up."""
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
    """Enter each context manager of --with on `stack`. Raises Refused for an object that is no context manager."""
    enter_contexts_of(stack, running.request["contexts"], running.names.values)


def enter_contexts_of(stack: ExitStack, contexts: Iterable[str], values: dict[str, Any]) -> None:
    """Enter context managers, given as text, with the names in `values`. Raises Refused as `enter_contexts` does."""
    for text in contexts:
        given = reason("given-context", expression=text)
        code = code_of(text, given, "<--with>")
        try:
            stack.enter_context(eval(code, values))
        except BaseException as error:
            refusal = reason("no-context-manager", given=given, exception=type(error).__name__, message=text_of(error))
            raise Refused("context", refusal) from error


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Raise an error of the user's code again as `Raised`, with the name of the stage."""
    try:
        yield
    except (dispatch.Broken, Raised, Refused):
        raise
    except BaseException as error:
        raise Raised(name, error) from error


def _sequence(tree: list[EventData]) -> tuple[str, set[str]]:
    """Return a digest of the operators and nodes in order, and the set of operators. Equal digests mean equal runs."""
    names = [event["name"] or "" for event in tree if event["type"] in ("op", "node")]
    digest = hashlib.sha1("\n".join(names).encode(), usedforsecurity=False).hexdigest()
    return digest, {event["name"] or "" for event in tree if event["type"] == "op"}


def changed_tables(called: set[str], known: dict[str, str]) -> Iterator[ChangedTableData]:
    """Yield the registrations of the called operators that differ from the catalogue."""
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
    """Describe a Python function that was registered under a dispatch key; None if it has no code."""
    place = place_of(function)
    name = qualname_of(beneath(function))
    return {"key": key, "function": name, "file": place[0], "line": place[1]} if place is not None else None
