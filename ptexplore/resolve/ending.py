"""Concludes the end of a run that raised: the error, the code that raised it, its causes, the missing kernel.

Sources: OperatorEntry::reportError of aten/src/ATen/core/dispatch/OperatorEntry.cpp writes the message of a missing
kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ptexplore.cpp.library_names import TORCHS
from ptexplore.cpp.symbol_names import parse
from ptexplore.facts import layouts
from ptexplore.model.observed import (
    ErrorBefore,
    FreedNode,
    LeftFrame,
    PythonPlace,
    RaisedError,
    SavedTensorWrites,
    ThrownError,
    UserCall,
    records,
)
from ptexplore.model.place_reasons import NoLineOfYours, OtherLibrary, ThrowNotAsked, ThrowRunCut, ThrowUnseen
from ptexplore.model.places import EXPRESSION, SourceRef
from ptexplore.model.reasons import (
    ByCalling,
    ByThrowing,
    InAnotherProcess,
    KeptByTorch,
    ListUntold,
    NoLineKept,
    NoSecondRun,
    NotedWhenMade,
    OneInMemory,
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
    InPlaceWriter,
    LeftFunction,
    MissingKernel,
    ModifiedTensor,
    TensorSaver,
    UntoldArgument,
    walk,
)
from ptexplore.resolve.causes import cause_of, cause_of_getter, cause_of_unused
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.copies import not_joined, tensors_in, wanted_sizes
from ptexplore.resolve.dispatch import schema
from ptexplore.resolve.error_message import (
    NO_KERNEL,
    condition_at,
    handed_on,
    missing_kernel,
    modified_tensor,
    raised_by,
    with_writes,
)
from ptexplore.resolve.freed import READ, cause_of_freed, freed_graph, is_read
from ptexplore.resolve.merge import innermost_left
from ptexplore.resolve.mismatch import Given, compared
from ptexplore.resolve.native.linkage import Linkage
from ptexplore.resolve.native.sites import Sites
from ptexplore.resolve.places.precision import in_runtime, outside, unknown
from ptexplore.resolve.python_places import is_torchs_or_yours
from ptexplore.resolve.raising import is_bare, is_pythons, last_left, made_at, of_last_call, operators_left, thrown_of
from ptexplore.source.canonical import InstalledFolders, installed_path

OF_LAYOUTS = ("Sparse", "Mkldnn")  # prefixes of keys that depend only on the layout
NESTED = "NestedTensor"  # part of the keys of nested tensors


def conclude(context: Context, raised: RaisedError, claims: tuple[Claim, ...], numbered: dict[int, int]) -> Ending:
    """Returns the end of a run that raised. `numbered` has the hops' numbers, by claim."""
    left = innermost_left(context.session.observations)
    thrown = thrown_of(context, raised)
    call = context.calls[left] if left is not None and left < len(context.calls) else None
    step = last_left(context, claims, raised, thrown)
    if call is not None and call.syntax == "call" and (step is None or is_bare(claims, step)):
        step = next((claim for claim in walk(claims) if claim.call is call and claim.hop.kind == "python"), step)
    modified = modified_tensor(context.lookup, raised.message)
    operator = next(reversed(operators_left(claims, step)), None)
    python = tuple(_left(context, frame) for frame in reversed(raised.frames) if _is_shown(context, frame))
    source = _raised_at(context, thrown) if thrown is not None else _raised_in_python(context, raised, python)
    tensors = list(tensors_in(context, operator)) if operator is not None else []
    missing = _missing(context, raised.message, claims, operator, call)
    freed = next(iter(records(context.session.observations, "freed", FreedNode)), None)
    by_you = is_read(raised, of_last_call(thrown.stack) if thrown is not None else ())
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
        return made_at(context, thrown.file, thrown.line)
    raiser = thrown.raiser
    if raiser is None or not raiser.library.startswith(TORCHS):
        return unknown(OtherLibrary(raiser.library if raiser is not None else ""))
    definition = Sites(context.lookup).named(parse(raiser.name), Linkage("", raiser.unit, False, raiser.library))
    return raised_by(context.lookup, definition, thrown.by, thrown.message) or definition


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
    if is_pythons(raised):
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
