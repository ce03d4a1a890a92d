"""Every private PyTorch API that the recorders use, each behind a name of ours.

If a version of torch lacks an API, the function says so by its return value, as its docstring explains. It never
guesses. Checked against torch 2.6.0 and 2.13.0.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import hashlib
import importlib
import inspect
import logging
import operator
import os
import re
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

COPY_SLICES = "CopySlices"  # the end of the name of the node around the node of a write through a view
MARK = "ptexplore:"  # how the names of the recorders' own events begin in the profiler's tree

# Extension modules whose builtins come from generated python_*_functions.cpp (tools/autograd/gen_python_functions.py).
TABLES = {
    "torch._C._nn": "nn",
    "torch._C._linalg": "linalg",
    "torch._C._fft": "fft",
    "torch._C._special": "special",
    "torch._C._sparse": "sparse",
    "torch._C._nested": "nested",
}

TENSOR_BASE = torch._C.TensorBase
SIZE = torch.Size
COMPOSITE = "CompositeExplicitAutograd"  # the alias under which torch.library.custom_op registers for every backend
_SYMBOLIC = (getattr(torch, name, None) for name in ("SymInt", "SymFloat", "SymBool"))  # torch 2.1 has the last one
NUMBERS = (int, float, complex, *filter(None, _SYMBOLIC))

MODULE_CALL = torch.nn.Module._wrapped_call_impl.__code__  # the code of Module.__call__
# The functions that run backward, each with its parameter for the tensors that backward starts at.
BACKWARD = {torch.autograd.backward.__code__: "tensors", torch.autograd.grad.__code__: "outputs"}

if TYPE_CHECKING:
    from .messages import TensorLayerData, TransformData

TORCH_DIR = os.path.dirname(os.path.abspath(str(torch.__file__)))  # the folder of the imported torch package


def operator_names() -> list[str]:
    """Return the names of all registered operator overloads."""
    return sorted(torch._C._dispatch_get_all_op_names())


def dump(op: str) -> str:
    """Return all registrations of an operator, as OperatorEntry::dumpState prints them."""
    return str(torch._C._dispatch_dump(op))


def dump_table(op: str) -> str:
    """Return the operator's effective dispatch table, as OperatorEntry::dumpComputedTable prints it."""
    return str(torch._C._dispatch_dump_table(op))


def digest(dumped: str, table: str) -> str:
    """Return a hash of an operator's registrations and table that does not depend on where torch is installed."""
    text = f"{dumped}\n{table}".replace(TORCH_DIR, "")
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def schema_and_tags(op: str) -> tuple[str | None, list[str]]:
    """Return the operator's schema text and tags; (None, []) if it was registered without a schema."""
    name, _, overload = op.partition(".")
    try:
        schema = torch._C._get_schema(name, overload)
    except RuntimeError:
        return None, []
    try:
        tags = [str(tag).rpartition(".")[2] for tag in torch._C._get_operation_overload(name, overload)[2]]
    except (RuntimeError, TypeError, IndexError):
        tags = []
    return str(schema), sorted(tags)


def makes_a_tensor(method: str) -> bool:
    """Return whether a method of Tensor is an operator that never returns its tensor or a view of it.

    The alias annotations of its schemas say this. But a composite operator may return its input whatever its
    annotations say (type_as does), so for a composite operator the answer is False. It is also False for a method that
    is no operator of the dispatcher.
    """
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{method}")
    of_tensors = [s for s in schemas if s.arguments and str(s.arguments[0].type) == "Tensor"]
    return bool(of_tensors) and all(s.arguments[0].alias_info is None and not _may_be_composite(s) for s in of_tensors)


def _may_be_composite(schema: Any) -> bool:
    """Return whether the operator of a schema has a composite kernel, or is unknown to the dispatcher."""
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    try:
        composite = torch._C.DispatchKey.CompositeImplicitAutograd
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, composite))
    except RuntimeError:
        return True


def keys() -> dict[str, tuple[int, int]]:
    """Return each dispatch key's name, with its raw bits and the bits of the full set after it.

    The names that this torch's parser knows come first. A functionality bit may have none of these names. Such a bit
    gets the name that torch prints for the set of that bit only (AutocastXLA, Fake). Per-backend keys that the parser
    does not know are left out.
    """
    names = [line.partition(":")[0] for line in dump_table("aten::matmul").splitlines() if ": " in line]
    names += [name for name in dir(torch._C.DispatchKey) if not name.startswith("_")]
    known = {name: _key_bits(name) for name in dict.fromkeys(names)}
    bits = {name: of_key for name, of_key in known.items() if of_key is not None}
    named = functools.reduce(operator.or_, (raw for raw, _after in bits.values()), 0)
    for bit in range(backend_count(), 64):
        if not named >> bit & 1:
            bits |= _printed_key(bit)
    return bits


def _key_bits(name: str) -> tuple[int, int] | None:
    """Return a key's raw bits and the bits of the full set after it; None for a name that is no runtime key."""
    try:
        key = torch._C._dispatch_key_parse(name)
        raw = torch._C.DispatchKeySet(key).raw_repr()
        after = torch._C._dispatch_keyset_full_after(key).raw_repr() if raw else 0
    except (RuntimeError, AttributeError):
        return None
    return int(raw), int(after)


def _printed_key(bit: int) -> dict[str, tuple[int, int]]:
    """Return the key of a functionality bit, under the name that torch prints; {} if no key has this bit."""
    key = torch._C.DispatchKey(bit - backend_count() + 1)  # the enum begins with Undefined
    raw, names = _bits_and_names(torch._C.DispatchKeySet(key))
    if raw != 1 << bit or len(names) != 1:
        return {}
    return {names[0]: (raw, int(torch._C._dispatch_keyset_full_after(key).raw_repr()))}


def backend_count() -> int:
    """Return how many low bits of a DispatchKeySet are backend bits."""
    return int(torch._C._dispatch_num_backends())


def key_set(tensor: Any) -> tuple[int, list[str]]:
    """Return a tensor's dispatch key set: raw, and the names as torch prints them, lowest priority first."""
    return _bits_and_names(torch._C._dispatch_keys(tensor))


def raw_key_set(tensor: Any) -> int:
    """Return a tensor's dispatch key set as a number."""
    return int(torch._C._dispatch_keys(tensor).raw_repr())


def key_sets(tensors: Iterable[Any]) -> dict[int, int]:
    """Return the key sets of tensors by the address of their TensorImpl, which the profiler records as impl_ptr."""
    with without_overrides():
        return {int(tensor._cdata): raw_key_set(tensor) for tensor in tensors}


def tensors_have_names() -> bool:
    """Return whether any tensor that is now a Python object has names for its dimensions; False in newer torches."""
    key = getattr(torch._C.DispatchKey, "Named", None)
    if key is None:
        return False
    with without_overrides():
        tensors = (value for value in gc.get_objects() if issubclass(type(value), TENSOR_BASE))
        return any(torch._C._dispatch_keys(tensor).has(key) for tensor in tensors)


def bare_library(namespace: str) -> Any:
    """Return a C++ library for kernels of this namespace; `torch.library.Library` refuses a second kernel for a key."""
    return torch._C._dispatch_library("IMPL", namespace, "", "ptexplore", 0)


@contextmanager
def excluding(keys: Iterable[str], *, instead_of: Iterable[str]) -> Iterator[None]:
    """Exclude these keys from this thread's calls, and the keys of `instead_of` only if they are among them."""
    exclude = torch._C._dispatch_tls_set_dispatch_key_excluded
    is_excluded = torch._C._dispatch_tls_is_dispatch_key_excluded
    wanted = dict.fromkeys(instead_of, False) | dict.fromkeys(keys, True)
    named = {name: getattr(torch._C.DispatchKey, name) for name in wanted}
    before = {name: is_excluded(key) for name, key in named.items()}
    # Excluding one backend's autograd excludes every backend's: to restore in the opposite order is enough.
    for name in sorted(wanted, key=lambda name: wanted[name]):
        exclude(named[name], wanted[name])
    try:
        yield
    finally:
        for name in wanted:
            exclude(named[name], before[name])


def local_sets() -> tuple[tuple[int, list[str]], tuple[int, list[str]]]:
    """Return this thread's include and exclude sets, each raw and by name."""
    sets = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    return _bits_and_names(sets[0]), _bits_and_names(sets[1])


@functools.cache
def python_key() -> int:
    """Return the bit of the key that sends operators to `__torch_dispatch__`."""
    return int(torch._C.DispatchKeySet(torch._C.DispatchKey.Python).raw_repr())


def local_bits() -> tuple[int, int]:
    """Return this thread's include and exclude sets, raw."""
    include, exclude = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    return int(include.raw_repr()), int(exclude.raw_repr())


def local_words() -> memoryview | None:
    """Return sixteen bytes of memory that change whenever this thread's include or exclude set changes.

    Call this in the thread whose sets are needed. Returns None if torch's library does not export them, or has
    something else under that name.
    """
    return _local_words() if _are_local_sets() else None


def _local_words() -> memoryview:
    library = ctypes.CDLL(os.path.join(TORCH_DIR, "lib", "libc10.so"))
    # A PODLocalDispatchKeySet (c10/core/impl/LocalDispatchKeySet.h). The lookup gives the one of this thread.
    words = (ctypes.c_uint64 * 2).in_dll(library, "_ZN3c104impl26raw_local_dispatch_key_setE")
    return memoryview(words).cast("B").cast("Q")


@functools.cache
def _are_local_sets() -> bool:
    """Return whether the words are this thread's sets: they must change exactly as the sets change."""
    try:
        words = _local_words()
    except (OSError, ValueError):
        return False
    before, sets_before = tuple(words), local_bits()
    with torch._C._AutoDispatchBelowAutograd():
        inside, sets_inside = tuple(words), local_bits()
    changed = tuple(a ^ b for a, b in zip(before, inside, strict=True))
    expected = tuple(a ^ b for a, b in zip(sets_before, sets_inside, strict=True))
    return changed == expected and any(expected) and tuple(words) == before


@functools.cache
def transform_keys() -> int:
    """Return the bits of two keys. While a function transform is on, a local set has at least one of them."""
    names = ("FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode")
    keys = (getattr(torch._C.DispatchKey, name) for name in names)
    return functools.reduce(operator.or_, (int(torch._C.DispatchKeySet(key).raw_repr()) for key in keys), 0)


def _bits_and_names(keys: Any) -> tuple[int, list[str]]:
    inside = repr(keys).partition("(")[2].rpartition(")")[0]
    return int(keys.raw_repr()), [name for name in inside.split(", ") if name]


_EVAL_FRAME: Any = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
# Sets the callback with which torch.compile handles each new Python frame of this thread, and returns the earlier one:
# None while nothing compiles. This is not a function of ours, which would itself be a frame. `get_eval_frame_callback`
# of 2.6 loses a reference.
set_frame_compiler: Callable[[Any], Any] = getattr(_EVAL_FRAME, "set_eval_frame", lambda _: None)


def compile_never(code: CodeType) -> None:
    """Have torch.compile run a function unchanged; it may still compile the functions that this one calls."""
    if hasattr(_EVAL_FRAME, "skip_code"):
        _EVAL_FRAME.skip_code(code)
    elif hasattr(_EVAL_FRAME, "set_code_exec_strategy"):
        skip, default = _EVAL_FRAME._FrameAction.SKIP, _EVAL_FRAME._FrameAction.DEFAULT
        _EVAL_FRAME.set_code_exec_strategy(code, _EVAL_FRAME._FrameExecStrategy(skip, default))


def transforms() -> list[TransformData]:
    """Return the function transforms (torch.func) of this thread, outermost first: `level` and `kind` ("Vmap").

    Returns [] if none is on, and if a torch does not say.
    """
    try:
        stack = torch._C._functorch.get_interpreter_stack()
    except AttributeError:
        return []
    return [{"level": int(layer.level()), "kind": str(layer.key().name)} for layer in stack or ()]


def forward_level() -> int | None:
    """Return the current level of forward-mode differentiation (torch.autograd.forward_ad); None outside all levels."""
    level = getattr(torch.autograd.forward_ad, "_current_level", -1)
    return int(level) if level >= 0 else None


def layers(tensor: Any) -> list[TensorLayerData]:
    """Return a tensor and the tensors it wraps for a transform, outermost first: address, key set, level and `dim`.

    The level is None for a tensor that is no wrapper. `dim` is the batch dimension that vmap hides, None if it hides
    none.
    """
    functorch = torch._C._functorch
    data: list[TensorLayerData] = []
    with without_overrides():
        while True:
            wrapper = functorch.is_functorch_wrapped_tensor(tensor)
            dim = functorch.maybe_get_bdim(tensor) if wrapper else -1
            data.append(
                {
                    "impl": int(tensor._cdata),
                    "raw": raw_key_set(tensor),
                    "level": int(functorch.maybe_get_level(tensor)) if wrapper else None,
                    "dim": int(dim) if dim >= 0 else None,
                }
            )
            if not wrapper:
                return data
            tensor = functorch.get_unwrapped(tensor)


@contextmanager
def without_vmap_fallback() -> Iterator[None]:
    """Make operators without a batching rule raise under vmap in this block. By default they run once per element."""
    functorch = torch._C._functorch
    before = functorch._is_vmap_fallback_enabled()
    functorch._set_vmap_fallback_enabled(False)
    try:
        yield
    finally:
        functorch._set_vmap_fallback_enabled(before)


def record_no_source_locations() -> None:
    """Stop torch.jit.trace from recording lines of Python in this process, which takes most of its time.

    Uses the library's own setter (setRecordSourceLocation of torch/csrc/jit/frontend/tracer.h). The new callback takes
    a pointer, and does nothing.
    """
    library = ctypes.CDLL(os.path.join(TORCH_DIR, "lib", "libtorch_cpu.so"))
    nothing = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p)
    library._ZN5torch3jit6tracer23setRecordSourceLocationEPFvPNS0_4NodeEE(nothing)


def address(tensor: Any) -> int:
    """Return the address of the TensorImpl, which the profiler records as impl_ptr."""
    with without_overrides():
        return int(tensor._cdata)


def version(tensor: Any) -> int | None:
    """Return how many in-place writes a tensor and its views have seen; None if it does not count (inference mode)."""
    try:
        return int(TENSOR_BASE._version.__get__(tensor))
    except RuntimeError:
        return None


def memory(tensor: Any) -> int | None:
    """Return the address where a tensor's bytes begin, which its views share; None for a tensor without a storage."""
    try:
        return int(TENSOR_BASE.untyped_storage(tensor).data_ptr())
    except (RuntimeError, NotImplementedError):
        return None


def kind_and_sizes(tensor: Any) -> str:
    """Return a tensor as autograd's errors name it: "torch.FloatTensor [3, 3]".

    The type is left out if torch has none, as for a compressed sparse tensor.
    """
    try:
        kind = TENSOR_BASE.type(tensor)
    except RuntimeError:  # a compressed sparse tensor
        kind = ""
    return f"{kind} {list(tensor.shape)}"


FAST_RANGE = torch._C._profiler._RecordFunctionFast  # a C++ range marked for the profiler
RANGE = torch.autograd.profiler.record_function  # a Python range


def marker(name: str) -> AbstractContextManager[Any]:
    """Return an event of ours for the profiler's tree; it calls no operator."""
    return FAST_RANGE(f"{MARK}{name}")  # type: ignore[no-any-return]


def profiler(*, shapes: bool = True, device: str | None = None, memory: bool = False) -> Any:
    """Return `torch.autograd.profiler.profile`: with inputs if `shapes`, and overloads and other threads if possible.

    If `memory`, what allocators give to this thread and take back is recorded, too, and no other thread.

    `device`: a device from `launching_device`, whose work is also recorded. This is not torch.profiler, whose first use
    imports hundreds of modules and registers kernels.
    """
    _profiler_ran[:] = [True]
    # A profiler of all threads records no memory.
    config = torch._C._profiler._ExperimentalConfig(verbose=False, **({} if memory else _abilities()))
    return torch.autograd.profiler.profile(
        use_kineto=True, use_device=device, record_shapes=shapes, profile_memory=memory, experimental_config=config
    )


def record_operators(*, on: bool) -> None:
    """Set whether operators that this thread calls from here on are recorded. Running operators end as usual."""
    torch._C._autograd._enable_record_function(on)


# Functions that compile: Dynamo's for one frame, and Inductor's for a graph of backward, which the first backward may
# call. 2.6 has no function of its own for the second.
_COMPILERS = (("torch._dynamo.convert_frame", "_compile"), ("torch._inductor.compile_fx", "compile_fx_backward"))


def compile_unrecorded() -> None:
    """Record no operators while torch.compile compiles. Call this again after an import: it changes loaded modules."""
    for module, name in _COMPILERS:
        loaded = sys.modules.get(module)
        original = getattr(loaded, name, None)
        if original is not None and not hasattr(original, _ORIGINAL):
            wrapped = _unrecorded(original)
            setattr(wrapped, _ORIGINAL, original)
            setattr(loaded, name, wrapped)


def _unrecorded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        record_operators(on=False)
        try:
            return function(*given, **named)
        finally:
            record_operators(on=True)

    return call


DEVICES = ("cuda", "xpu")  # devices that launch work, which a profiler of this torch may record


def device_in_use() -> str | None:
    """Return the device of `DEVICES` that this process has begun to use, if any.

    Asking torch whether a device exists would begin its use.
    """
    return next((name for name in DEVICES if getattr(getattr(torch, name, None), "is_initialized", bool)()), None)


def idle_devices() -> list[str]:
    """Return the devices of `DEVICES` that this process has not begun to use: nothing ran there."""
    modules = {name: getattr(torch, name, None) for name in DEVICES}
    return [name for name, module in modules.items() if not getattr(module, "is_initialized", bool)()]


def begin_device(text: str, wanted: str | None = None) -> None:
    """Begin to use `wanted`, or a device that the user's text names, if it is available. Only for a process of ours."""
    for name in DEVICES:
        module = getattr(torch, name, None)
        if (name == wanted or re.search(rf"\b{name}\b", text)) and module is not None and module.is_available():
            module.init()


def launching_device() -> str | None:
    """Return the device in use, if this torch's profiler records its launches; None otherwise."""
    name, supported = device_in_use(), {activity.name for activity in torch.autograd._supported_activities()}
    return name if name is not None and name.upper() in supported else None


class ForwardThreads:
    """Knows which thread recorded the node of a tree event. Only the flat list of a finished profile says that.

    The list has a field for it (`fwd_thread_id`), and the tree has none. The list is read at the first question.
    """

    def __init__(self, profile: Any) -> None:
        self._profile: Any = profile

    @functools.cached_property
    def _nodes(self) -> dict[tuple[int, str], tuple[int, int]]:
        """Return by begin and name: the thread that ran the node, and the thread that recorded it."""
        recorded = self._profile.kineto_results.events() if self._profile is not None else ()
        ran = ((event, event.fwd_thread_id()) for event in recorded)
        return {(event.start_ns(), event.name()): (event.start_thread_id(), thread) for event, thread in ran if thread}

    def of(self, node: Any) -> int:
        """Return the number of the thread that recorded the node; 0 if it is unknown."""
        return self._nodes.get((node.start_time_ns, node.name), (0, 0))[1]

    def pairs(self) -> frozenset[tuple[int, int]]:
        """Return all pairs of threads in which the first ran nodes that the second recorded."""
        return frozenset(self._nodes.values())


# The Python functions that begin each first use of a device, also from C++: torch/csrc/utils/device_lazy_init.cpp.
BEGIN_DEVICES = frozenset(getattr(torch, name)._lazy_init.__code__ for name in DEVICES if hasattr(torch, name))


class DeviceWork:
    """Knows which events of a finished profile are work of a device; false for a profile without a device.

    In the tree, these events lie among the functions of the device's runtime. No field distinguishes them, only their
    names do. For a new name, the flat list of the profile's events is read, which takes long.
    """

    _names: ClassVar[dict[str, bool]] = {}  # by name: whether an event is a device's work

    def __init__(self, profile: Any) -> None:
        self._profile: Any = profile if profile is not None and profile.use_device is not None else None

    def __bool__(self) -> bool:
        return self._profile is not None

    def has(self, name: str) -> bool:
        """Return whether events of this name are a device's work. Not for events of operators."""
        if name not in self._names:
            for event in self._profile.kineto_results.events():
                is_work = event.device_type() != _HOST and not getattr(event, "is_user_annotation", bool)()
                self._names[event.name()] = is_work or self._names.get(event.name(), False)
        return self._names.setdefault(name, False)


NO_WORK = DeviceWork(None)
_HOST = torch._C._autograd.DeviceType.CPU


def launched(event: Any, work: DeviceWork) -> list[tuple[str, str | None, int]]:
    """Return the work that a tree event (no operator) launched on a device: name, launching function, nanoseconds.

    A function of the device's runtime has its work inside it (`cudaLaunchKernel` one kernel, `cudaGraphLaunch` many).
    If a library launched work in a way that the profiler does not see, this work has no function around it.
    """
    if not work or type(event.extra_fields) is not KINETO_FIELDS:
        return []
    name = event.name
    children = event.children
    if not children:
        return [(name, None, event.duration_time_ns)] if work.has(name) else []
    inside = ((child.name, child.duration_time_ns) for child in children)
    return [(launch, name, took) for launch, took in inside if work.has(launch)]


def in_order(events: list[Any], work: DeviceWork) -> list[Any]:
    """Return the events inside an event by begin time. The tree has the functions of a device's runtime first."""
    return sorted(events, key=lambda event: event.start_time_ns) if work and len(events) > 1 else events


# The Python functions around the capture of a CUDA graph, or None if this torch lacks them.
_GRAPHS: Any = getattr(getattr(torch.cuda, "graphs", None), "CUDAGraph", None)
CAPTURE_BEGINS, CAPTURE_ENDS = (
    getattr(getattr(_GRAPHS, name, None), "__code__", None) for name in ("capture_begin", "capture_end")
)
ABOUT_DEVICES = BEGIN_DEVICES | {CAPTURE_BEGINS, CAPTURE_ENDS} - {None}


def is_capturing() -> bool:
    """Return whether the current stream is being captured into a CUDA graph.

    Then anything that waits for the device breaks the capture, even on another stream. The end of a profiler does so.
    """
    return device_in_use() == "cuda" and bool(torch._C._cuda_isCurrentStreamCapturing())


KINETO_FIELDS = torch._C._profiler._ExtraFields_Kineto  # fields of an event of a device's runtime, or of its work


@contextmanager
def no_other_profiler(refuse: Callable[[], None]) -> Iterator[None]:
    """Inside this block, starting a profiler of torch calls `refuse`. torch.profiler starts by the same method."""
    profile: Any = torch.autograd.profiler.profile
    prepare = profile._prepare_trace
    profile._prepare_trace = lambda _: refuse()
    try:
        yield
    finally:
        profile._prepare_trace = prepare


SILENT = 7  # above every level of libkineto's messages


@contextmanager
def quiet_profiler() -> Iterator[None]:
    """Keep the profiler from writing to standard error, which it does at each start and end.

    This sets a variable of libkineto's logger; a torch that does not export it goes on writing. The very first start
    sets the variable again from the environment, so an environment variable is set for that start. Warnings of torch's
    own log are off as well: without memory a profiler does not begin, and its end would cause a warning.
    """
    level, logged = _message_level(), _log_level()
    before = level.value if level is not None else SILENT
    logged_before = logged.value if logged is not None else _ERRORS
    if level is not None:
        level.value = SILENT
    if logged is not None and logged_before < _ERRORS:
        logged.value = _ERRORS
    is_first = not _was_quiet and _LOG_LEVEL not in os.environ
    if is_first:
        os.environ[_LOG_LEVEL] = str(SILENT)
    try:
        yield
        _was_quiet[:] = [True]
    finally:
        if is_first:
            os.environ.pop(_LOG_LEVEL, None)
        if logged is not None and logged.value == _ERRORS:
            logged.value = logged_before
        if level is not None and level.value == SILENT:
            level.value = _FIRST_LEVEL if is_first else before


_ERRORS = 2  # a level of c10's log: messages below it are not written (c10/util/Logging.cpp)
_FIRST_LEVEL = 4  # the level that the very first start sets if the environment has none
_LOG_LEVEL = "KINETO_LOG_LEVEL"
_was_quiet: list[bool] = []  # not empty after the very first start


def forget_profiler() -> None:
    """In a fork of the program: put off Python's flag of a profiler, which the recorder began before the fork.

    The fork has no profiler (_is_profiler_enabled in torch/autograd/profiler.py is a copy of the parent's flag).
    """
    torch.autograd.profiler._is_profiler_enabled = False


def end_without_profiler() -> None:
    """In a fork: let it end without C++ destructors, if torch's profiler ran before the fork.

    libkineto then has a thread that does not exist in the fork. Its destructor waits for that thread: std::thread::join
    aborts.
    """
    if not _profiler_ran:
        return
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.PyDLL(None)
        library.on_exit(library._exit, None)  # the function registered last is called first
        library["__cxa_atexit"](library.fflush, None, None)


_profiler_ran: list[bool] = []  # not empty after a recorder has begun torch's profiler


@functools.cache
def _message_level() -> ctypes.c_int | None:
    try:
        library = ctypes.CDLL(os.path.join(TORCH_DIR, "lib", "libtorch_cpu.so"))
        return ctypes.c_int.in_dll(library, "_ZN9libkineto6Logger14severityLevel_E")
    except (OSError, ValueError):
        return None


@functools.cache
def _log_level() -> ctypes.c_int | None:
    try:
        library = ctypes.CDLL(os.path.join(TORCH_DIR, "lib", "libc10.so"))
        return ctypes.c_int.in_dll(library, "FLAGS_caffe2_log_level")
    except (OSError, ValueError):
        return None


@functools.cache
def _abilities() -> dict[str, bool]:
    """Return the options of newer profilers that this torch's profiler knows."""
    known = {}
    for name in ("capture_overload_names", "profile_all_threads"):
        try:
            torch._C._profiler._ExperimentalConfig(**{name: True})
        except TypeError:
            continue
        known[name] = True
    return known


def has_modes() -> bool:
    """Return whether a Python mode is on: it handles every operator, ours included."""
    return bool(torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack())


def modes_entered() -> int:
    """Return how many Python modes are on."""
    return int(torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack())


def levels_entered() -> int:
    """Return how many transforms (torch.func) and levels of forward-mode differentiation are entered."""
    return len(transforms()) + (forward_level() or 0) + (forward_level() is not None)


def global_hooks() -> int:
    """Return how many hooks for all modules, and for all optimizers, are registered."""
    modules = (sys.modules.get(name) for name in ("torch.nn.modules.module", "torch.optim.optimizer"))
    held = (item for module in modules if module is not None for item in vars(module).items())
    return sum(len(v) for name, v in held if name.startswith("_global_") and type(v) in (dict, OrderedDict))


def saved_hooks_set() -> int:
    """Return 1 if a pair of hooks on saved tensors is set, otherwise 0; also 0 if this torch does not say."""
    top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    return int(top is not None and top(True) is not None)


def registered() -> int:
    """Return a number that changes with the dispatcher's registrations: operators, and kernels written in Python."""
    return len(operator_names()) + len(getattr(torch.library, "_impls", ()))


# --- settings that code changes and may leave changed, for the whole process or for this thread ---

Setting = tuple[Callable[[], tuple[Any, ...]], Callable[[tuple[Any, ...]], None]]


def settings() -> dict[str, Setting]:
    """Return the settings of torch's functions by description: how each is read, and how a read value is set again.

    Only settings that this torch can both read and set.
    """
    known: dict[str, Setting] = {
        "modes of the dispatcher": (_dispatch_modes, _set_dispatch_modes),
        "modes of functions": (_function_modes, _set_function_modes),
        "the hooks of all modules or optimizers": (_held_global_hooks, _set_global_hooks),
        "autocast": (_autocast, _set_autocast),
    }
    for what, read, write in (*_set_by_functions(), *_set_by_bindings()):
        if read is not None and write is not None:
            known[what] = _read_alone(read), _write_spread(write)
    return known


def _set_by_functions() -> Iterator[tuple[str, Any, Any]]:
    """Yield the settings of public functions."""
    yield "grad mode", torch.is_grad_enabled, torch._C._set_grad_enabled  # torch.set_grad_enabled is a class
    yield "the default dtype", torch.get_default_dtype, torch.set_default_dtype
    yield "how many threads operators use", torch.get_num_threads, torch.set_num_threads
    yield "whether torch warns each time", torch.is_warn_always_enabled, torch.set_warn_always
    anomaly = torch.is_anomaly_enabled, torch.is_anomaly_check_nan_enabled
    yield "anomaly detection", lambda: tuple(ask() for ask in anomaly), torch.set_anomaly_enabled
    deterministic = torch.are_deterministic_algorithms_enabled, torch.is_deterministic_algorithms_warn_only_enabled
    yield "deterministic algorithms", lambda: tuple(ask() for ask in deterministic), _set_deterministic


# The bindings of torch._C that read and set, by the description of the setting.
_BINDINGS = {
    "grad mode of forward-mode differentiation": ("_is_fwd_grad_enabled", "_set_fwd_grad_enabled"),
    "whether backward uses threads": ("_is_multithreading_enabled", "_set_multithreading_enabled"),
    "whether autograd replays views": ("_is_view_replay_enabled", "_set_view_replay_enabled"),
    "how memory that is not filled is": (
        "_get_deterministic_fill_uninitialized_memory",
        "_set_deterministic_fill_uninitialized_memory",
    ),
    "whether sparse tensors are checked": ("_check_sparse_tensor_invariants", "_set_check_sparse_tensor_invariants"),
    "oneDNN": ("_get_mkldnn_enabled", "_set_mkldnn_enabled"),
    "whether oneDNN is deterministic": ("_get_mkldnn_deterministic", "_set_mkldnn_deterministic"),
    "NNPACK": ("_get_nnpack_enabled", "_set_nnpack_enabled"),
    "cuDNN": ("_get_cudnn_enabled", "_set_cudnn_enabled"),
    "whether cuDNN tries algorithms": ("_get_cudnn_benchmark", "_set_cudnn_benchmark"),
    "whether cuDNN is deterministic": ("_get_cudnn_deterministic", "_set_cudnn_deterministic"),
    "scaled_dot_product_attention's flash kernel": ("_get_flash_sdp_enabled", "_set_sdp_use_flash"),
    "scaled_dot_product_attention's kernel of little memory": (
        "_get_mem_efficient_sdp_enabled",
        "_set_sdp_use_mem_efficient",
    ),
    "scaled_dot_product_attention's kernel of operators": ("_get_math_sdp_enabled", "_set_sdp_use_math"),
    "scaled_dot_product_attention's kernel of cuDNN": ("_get_cudnn_sdp_enabled", "_set_sdp_use_cudnn"),
    "whether constants stay on the CPU": ("_only_lift_cpu_tensors", "_set_only_lift_cpu_tensors"),
    "the engine of quantized operators": ("_get_qengine", "_set_qengine"),
}


def _set_by_bindings() -> Iterator[tuple[str, Any, Any]]:
    for what, (read, write) in _BINDINGS.items():
        yield what, getattr(torch._C, read, None), getattr(torch._C, write, None)


def _read_alone(read: Callable[[], Any]) -> Callable[[], tuple[Any, ...]]:
    def alone() -> tuple[Any, ...]:
        value = read()
        return value if type(value) is tuple else (value,)

    return alone


def _write_spread(write: Callable[..., Any]) -> Callable[[tuple[Any, ...]], None]:
    def spread(values: tuple[Any, ...]) -> None:
        write(*values)

    return spread


def _set_deterministic(mode: bool, warn_only: bool) -> None:
    torch.use_deterministic_algorithms(mode, warn_only=warn_only)


_DISPATCH_FLAGS = "_is_in_"  # how torch/utils/_python_dispatch.py names its variables about entered modes


def _dispatch_modes() -> tuple[Any, ...]:
    """Return the modes of the dispatcher, the outermost first, after Python's own variables about them."""
    kept = vars(sys.modules["torch.utils._python_dispatch"])
    names = [name for name in sorted(kept) if name.startswith(_DISPATCH_FLAGS) and type(kept[name]) is bool]
    flags = [part for name in names for part in (name, kept[name])]
    modes = tuple(torch._C._get_dispatch_stack_at(n) for n in range(torch._C._len_torch_dispatch_stack()))
    return (len(flags), *flags, *modes)


def _set_dispatch_modes(held: tuple[Any, ...]) -> None:
    flags, modes = held[1 : held[0] + 1], held[held[0] + 1 :]
    while torch._C._len_torch_dispatch_stack():
        torch._C._pop_torch_dispatch_stack(None)  # the innermost one
    for mode in modes:
        torch._C._push_on_torch_dispatch_stack(mode)
    kept = vars(sys.modules["torch.utils._python_dispatch"])
    kept.update(zip(flags[::2], flags[1::2], strict=True))
    tell = kept.get("set_is_in_mode_without_ignore_compile_internals")  # Dynamo's guards also keep it in C++
    if tell is not None:
        tell(kept["_is_in_any_mode_without_ignore_compile_internals"])


def _function_modes() -> tuple[Any, ...]:
    """Return the modes of functions, outermost first, after the device that torch.set_default_device set."""
    device = getattr(sys.modules.get("torch.utils._device"), "CURRENT_DEVICE", None)  # torch loads it on first use
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    modes = tuple(torch._C._get_function_stack_at(n) for n in range(torch._C._len_torch_function_stack()))
    return (device, context, *modes)


def _set_function_modes(held: tuple[Any, ...]) -> None:
    device, context, *modes = held
    while torch._C._len_torch_function_stack():
        torch._C._pop_torch_function_stack()
    for mode in modes:
        torch._C._push_on_torch_function_stack(mode)
    if "torch.utils._device" in sys.modules:
        sys.modules["torch.utils._device"].CURRENT_DEVICE = device  # type: ignore[attr-defined]
    torch._GLOBAL_DEVICE_CONTEXT.device_context = context


def _global_hook_tables() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each table of hooks for all modules or all optimizers: the module's variables, and the table's name."""
    for module_name in ("torch.nn.modules.module", "torch.optim.optimizer"):
        names = vars(sys.modules[module_name]) if module_name in sys.modules else {}
        yield from ((names, name) for name in sorted(names) if name.startswith("_global_"))


def _held_global_hooks() -> tuple[Any, ...]:
    held: list[Any] = []
    for names, name in _global_hook_tables():
        value = names[name]
        if type(value) in (dict, OrderedDict):
            held += (names["__name__"], name, len(value), *(part for item in value.items() for part in item))
        elif value is None or type(value) is bool:
            held += (names["__name__"], name, None, value)
    return tuple(held)


def _set_global_hooks(held: tuple[Any, ...]) -> None:
    given = iter(held)
    for module_name, name, count in zip(given, given, given, strict=False):
        names = vars(sys.modules[module_name])
        if count is None:
            names[name] = next(given)
            continue
        items = [(next(given), next(given)) for _ in range(count)]
        names[name].clear()
        names[name].update(items)


def _autocast_devices() -> list[str]:
    return [device for device in ("cpu", "cuda", "xpu", "mps", "hpu", "mtia") if _has_autocast(device)]


def _has_autocast(device: str) -> bool:
    try:
        return bool(torch.amp.is_autocast_available(device))
    except RuntimeError:
        return False


def _autocast() -> tuple[Any, ...]:
    """Return how often autocast is entered, whether it caches, and for each device whether it is on, with its dtype.

    The function that returns the number of entries also adds one entry, which is removed again.
    """
    torch.autocast_increment_nesting()
    of_devices = (
        part
        for device in _autocast_devices()
        for part in (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
    )
    return torch.autocast_decrement_nesting(), torch.is_autocast_cache_enabled(), *of_devices


def _set_autocast(held: tuple[Any, ...]) -> None:
    entered, keeps, *of_devices = held
    torch.clear_autocast_cache()  # tensors that were cast since
    while torch.autocast_increment_nesting() <= entered:
        pass
    while torch.autocast_decrement_nesting() > entered:
        pass
    torch.set_autocast_cache_enabled(keeps)
    for device, is_on, dtype in zip(of_devices[::3], of_devices[1::3], of_devices[2::3], strict=True):
        torch.set_autocast_enabled(device, is_on)
        torch.set_autocast_dtype(device, dtype)


def inference_entered() -> int:
    """Return whether inference mode is on."""
    return int(torch.is_inference_mode_enabled())


def functions_disabled() -> int:
    """Return a number for how far `__torch_function__` is switched off; 0 if a torch does not say."""
    whole = getattr(torch._C, "_is_torch_function_all_disabled", None)
    return 2 * int(whole is not None and whole()) + int(not torch._C._is_torch_function_enabled())


def is_profiling() -> bool:
    """Return whether a profiler of torch is on in this process.

    C++ knows of a profiler that records this thread. Python's own flag knows of each profiler that Python began,
    whether or not it records all threads.
    """
    began = getattr(torch.autograd.profiler, "_is_profiler_enabled", False)
    return bool(began or torch._C._autograd._profiler_enabled())


def records_overloads() -> bool:
    """Return whether this torch's profiler records overload names."""
    return "capture_overload_names" in _abilities()


def records_all_threads() -> bool:
    """Return whether this torch's profiler also records threads that did not start it."""
    return "profile_all_threads" in _abilities()


def settle_after_fork() -> None:
    """Do in a fork the extra work of the first call after a fork or a profiler. This work is not part of the call.

    Autograd's engine is made anew (PythonEngine::get_python_engine in torch/csrc/autograd/python_engine.cpp). An
    operator checks whether a profiler listens (LocalCallbackManager in aten/src/ATen/record_function.cpp), so this
    calls one. It calls no `__torch_function__`, but would call a Python mode.
    """
    torch.autograd.Variable._execution_engine.is_checkpoint_valid()
    with torch._C.DisableTorchFunction():
        torch._C._VariableFunctions.empty(0)


def event_roots(profile: Any) -> list[Any]:
    """Return the top events of a finished profile's event tree."""
    return list(profile.kineto_results.experimental_event_tree())


@dataclass(frozen=True)
class Allocation:
    """Bytes that the allocator of the CPU gave at an address (`bytes` > 0), or took back."""

    at: int
    address: int
    bytes: int


def allocation_of(event: Any) -> Allocation | None:
    """Return what an allocator did in a tree event; None for any other event, and for a device other than the CPU."""
    fields = event.extra_fields
    size = getattr(fields, "alloc_size", None)
    if size is None or fields.device.type != "cpu":
        return None
    return Allocation(event.start_time_ns, int(fields.ptr), int(size))


def operator_writing_to(event: Any, memory: int) -> str | None:
    """Return the operator of a tree event, if by its schema it writes to a tensor of this memory; otherwise None.

    Memory 0 stands for all tensors without memory: tensors without elements, and compressed sparse tensors. The name
    has its overload if the profiler records overloads; otherwise every overload is checked.
    """
    fields = operator_fields(event)
    if fields is None or "::" not in event.name:
        return None
    overload = getattr(event, "overload_name", None) if records_overloads() else None
    for schema in torch._C._jit_get_schemas_for_operator(event.name):
        if overload is not None and schema.overload_name != overload:
            continue
        for argument, value in zip(schema.arguments, fields.inputs, strict=False):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            given = value if isinstance(value, (list, tuple)) else (value,)
            if any(is_tensor_metadata(item) and (item.storage_data_ptr or 0) == memory for item in given):
                return f"{event.name}.{overload}" if overload else str(event.name)
    return None


@functools.cache
def _written_arguments(name: str, overload: str | None) -> tuple[int, ...]:
    """Return the numbers of the arguments that an operator writes to by its schema; without overload, by any schema."""
    schemas = torch._C._jit_get_schemas_for_operator(name) if "::" in name else ()
    asked = [schema for schema in schemas if overload is None or schema.overload_name == overload]
    arguments = ((number, info.alias_info) for schema in asked for number, info in enumerate(schema.arguments))
    return tuple(sorted({number for number, alias in arguments if alias is not None and alias.is_write}))


def writes(name: str, overload: str | None) -> bool:
    """Return whether an operator writes to any of its arguments, by its schema."""
    return bool(_written_arguments(name, overload))


def written_memories(event: Any, overload: str | None) -> tuple[int, ...]:
    """Return the memories of the tensors that the operator of a tree event writes to by its schema; () for most."""
    written = _written_arguments(event.name, overload)
    if not written:
        return ()
    fields = operator_fields(event)
    values = [fields.inputs[number] for number in written if number < len(fields.inputs)] if fields is not None else []
    given = (item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,)))
    return tuple(item.storage_data_ptr for item in given if is_tensor_metadata(item) and item.storage_data_ptr)


@dataclass(frozen=True)
class RefusedTensor:
    """A saved tensor that its node no longer returns: its kind, its memory, and the node that saved it."""

    node: str
    sequence: int
    memory: int
    tensor: str
    expected: int
    version: int


def can_read_refused() -> bool:
    """Return whether this torch returns a saved tensor without a check: 2.13 does, 2.6 does not."""
    return hasattr(torch._C._autograd.SavedTensor, "data")


def refused_tensor(
    starts: list[Any], text: str, versions: tuple[int, int], limit: int = 50_000
) -> RefusedTensor | None:
    """Return the saved tensor of a graph that is refused with this text and these versions: when saved, and now.

    If several nodes hold the same memory, returns the tensor of the node that the engine ran first: the node that was
    recorded last. Returns None if the nodes hold several memories. Tensors with hooks of their own are left out.
    """
    refused: list[RefusedTensor] = []
    with without_overrides():
        for node in nodes_of(starts, limit):
            for tensor in _refused_by(node, text):
                kind, place = kind_and_sizes(tensor), memory(tensor)
                if place and kind.partition(" [")[2] in text:
                    number = sequence_number(node)
                    refused.append(RefusedTensor(str(node.name()), number, place, kind, *versions))
    if len({tensor.memory for tensor in refused}) != 1:
        return None
    return max(refused, key=lambda tensor: tensor.sequence)


def _refused_by(node: Any, text: str) -> Iterator[Any]:
    """Yield the tensors of those saved attributes of a node that raise this text."""
    for name in dir(type(node)):
        raw = name.removeprefix("_raw") if name.startswith("_raw_saved_") else None
        checked = "saved_tensors" if raw == "_saved_tensors" else raw
        if checked is None:
            continue
        held = getattr(node, name, None)
        held = held if isinstance(held, (list, tuple)) else (held,)
        if any(getattr(saved, "unpack_hook", None) is not None for saved in held):
            continue
        try:
            getattr(node, checked)
        except RuntimeError as error:
            if str(error) == text:
                yield from (saved.data for saved in held if isinstance(getattr(saved, "data", None), torch.Tensor))


def tensors_in(given: Any) -> list[Any]:
    """Return the tensors in the argument of backward: one, or several."""
    return [
        item for item in (given if isinstance(given, (list, tuple)) else (given,)) if isinstance(item, torch.Tensor)
    ]


def grad_fn(tensor: Any) -> Any:
    """Return the node whose result a tensor is; None for a leaf."""
    return TENSOR_BASE.grad_fn.__get__(tensor)


def node_of(tensor: Any) -> Any:
    """Return the same as `grad_fn`; None also for a view whose node can no longer be made anew."""
    try:
        return grad_fn(tensor)
    except RuntimeError:
        return None


def made_by(tensor: Any) -> Any:
    """Return the node that made a tensor; None for a leaf, and if no gradient is needed."""
    is_made = TENSOR_BASE.requires_grad.__get__(tensor) and not TENSOR_BASE.is_leaf.__get__(tensor)
    return node_of(tensor) if is_made else None


def is_node(item: Any) -> bool:
    """Return whether an object is a node of an autograd graph: of C++, or of a torch.autograd.Function."""
    kind = type(item)
    return "next_functions" in defined_by(kind) or issubclass(kind, torch._C._FunctionBase)


def gradient(tensor: Any) -> Any:
    """Return a tensor's `.grad`; None for a node's result without a kept gradient, because reading it warns."""
    is_asked = TENSOR_BASE.is_leaf.__get__(tensor) or TENSOR_BASE.retains_grad.__get__(tensor)
    return TENSOR_BASE.grad.__get__(tensor) if is_asked else None


HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")  # where a tensor keeps the hooks that Python registered


def hooks_of(tensor: Any) -> list[dict[Any, Any] | None]:
    """Return the tables of a tensor's hooks: on its gradient, and those that run after the gradient is accumulated."""
    return [getattr(TENSOR_BASE, name).__get__(tensor) for name in HOOKS]


def set_hooks(tensor: Any, kind: int, hooks: dict[Any, Any] | None) -> None:
    """Give a tensor another table of hooks, or none: `kind` is the table's place in `hooks_of`."""
    getattr(TENSOR_BASE, HOOKS[kind]).__set__(tensor, hooks)


def set_gradient(tensor: Any, gradient: Any) -> None:
    """Set a tensor's `.grad`."""
    TENSOR_BASE.grad.__set__(tensor, gradient)


def set_version(tensor: Any, version: int | None) -> None:
    """Set the number of writes that a tensor has seen. Does nothing if this torch cannot set it."""
    change = getattr(torch._C._autograd, "_unsafe_set_version_counter", None)
    if change is None or version is None:
        return
    try:
        change((tensor,), (version,))
    except TypeError:  # an older torch takes one tensor
        change(tensor, version)


def _is_plain(tensor: Any) -> bool:
    """Return whether a tensor's class handles no operators in Python, so that the tensor can be examined."""
    return type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__


def plain_memory(tensor: Any) -> tuple[int, int] | None:
    """Return address and size of a tensor's whole storage; (0, 0) for a tensor that has none of its own.

    Returns None if the storage is not plain memory of this process: on another device, or in a layout with several
    storages.
    """
    if not _is_plain(tensor):
        return 0, 0
    try:
        device, storage = TENSOR_BASE.device.__get__(tensor).type, TENSOR_BASE.untyped_storage(tensor)
        if device != "cpu":
            return (0, 0) if device == "meta" else None
        return int(storage.data_ptr()), int(storage.nbytes())
    except (RuntimeError, NotImplementedError):
        return None


def placement(tensor: Any) -> tuple[Any, ...]:
    """Return where a tensor's elements are: memory, offset, sizes, strides, dtype and device, as far as it has them."""
    if not _is_plain(tensor):
        return ()
    parts: list[Any] = [TENSOR_BASE.dtype.__get__(tensor), TENSOR_BASE.device.__get__(tensor), memory(tensor)]
    for ask in (TENSOR_BASE.size, TENSOR_BASE.stride, TENSOR_BASE.storage_offset):
        try:
            parts.append(ask(tensor))
        except (RuntimeError, NotImplementedError):  # a nested or a sparse one
            parts.append(None)
    return tuple(parts)


def generator_state(generator: torch.Generator) -> tuple[Callable[[], bytes], Callable[[Any], Any]]:
    """Return two functions: one reads the state of a random generator, the other sets it back to its present state."""
    state = generator.get_state()
    return lambda: bytes(generator.get_state().tolist()), lambda _: generator.set_state(state)


def random_generators() -> list[torch.Generator]:
    """Return the generators that torch itself draws from: the CPU's, and those of a device in use."""
    name = device_in_use()
    module = getattr(torch, name, None) if name is not None else None
    return [torch.default_generator, *getattr(module, "default_generators", ())]


def running_node() -> str | None:
    """Return the name of the node that autograd's engine runs now in this thread; None if it runs none."""
    node = torch._C._current_autograd_node()
    return str(node.name()) if node is not None else None


def saved_tensors_hooks(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> AbstractContextManager[None]:
    """Return torch's own hooks on the tensors that nodes save. Torch refuses them inside functorch's transforms."""
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)  # type: ignore[no-any-return]


def operator_fields(event: Any) -> Any | None:
    """Return a tree event's operator fields (inputs, scope, sequence_number); None for an event of another kind."""
    fields = event.extra_fields
    return fields if isinstance(fields, OPERATOR_FIELDS) else None


TENSOR_METADATA = torch._C._profiler._TensorMetadata  # the profiler's record of a tensor input
OPERATOR_FIELDS = torch._C._profiler._ExtraFields_TorchOp  # the fields of an operator's event, beside name and times


def is_tensor_metadata(value: Any) -> bool:
    """Return whether the profiler recorded this input as a tensor."""
    return isinstance(value, TENSOR_METADATA)


# Read as Python itself does: a metaclass of the user may raise when an attribute is read.
_MODULE_OF, _QUALNAME_OF, _MRO_OF, _DICT_OF = (
    type.__dict__[name].__get__ for name in ("__module__", "__qualname__", "__mro__", "__dict__")
)


def module_name_of(kind: type) -> str:
    """Return `kind.__module__`, whatever the metaclass does."""
    return str(_MODULE_OF(kind))


def qualname_of(kind: type) -> str:
    """Return `kind.__qualname__`, whatever the metaclass does."""
    return str(_QUALNAME_OF(kind))


def bases_of(kind: type) -> tuple[type, ...]:
    """Return `kind.__mro__`, whatever the metaclass does."""
    bases: tuple[type, ...] = _MRO_OF(kind)
    return bases


def defined_by(kind: type) -> Mapping[str, Any]:
    """Return `vars(kind)`, whatever the metaclass does."""
    variables: Mapping[str, Any] = _DICT_OF(kind)
    return variables


def class_name(kind: type) -> str:
    """Return a class as users write it, by its own names: torch.Size, list.

    Classes of pybind11 may have the module in their own name already, such as the class of torch.jit.ScriptFunction.
    """
    module, name = module_name_of(kind), qualname_of(kind)
    return name if module == "builtins" or name.startswith(f"{module}.") else f"{module}.{name}"


def identify(builtin: Any) -> tuple[str, str] | None:
    """Return the table and method of a builtin: ("torch", "add"), ("torch._C._FunctionBase", "apply").

    If an object of torch inherits the method from a class outside torch, the table is that class: ("object",
    "__reduce_ex__"). Returns None for a builtin outside torch.
    """
    owner: Any = getattr(builtin, "__self__", None)
    name = getattr(builtin, "__name__", None)
    if not isinstance(name, str):
        return None
    if str(getattr(builtin, "__qualname__", "")).startswith("_VariableFunctionsClass."):
        return "torch", name  # static methods: they have no __self__
    if owner is None and any(builtin is static for static in _statics()):
        return "Tensor", name
    kind = type(owner)
    if kind is FAST_RANGE:
        return None  # a marker of our own
    if kind.__name__ == "module":
        module = str(owner.__name__)
        return (TABLES.get(module, module), name) if module.split(".", 1)[0] == "torch" else None
    base = defining_class(builtin)
    if base is not None and issubclass(base, TENSOR_BASE):
        return "Tensor", name
    if base is not None and (is_torchs(base) or is_torchs(kind) or issubclass(kind, TENSOR_BASE)):
        return class_name(base), name
    return ("torch._C", name) if _traces(builtin, name) else None


@functools.cache
def _statics() -> tuple[Any, ...]:
    """Return the static methods of torch.Tensor's base: builtins that do not say where they are defined."""
    return tuple(value.__func__ for value in vars(TENSOR_BASE).values() if isinstance(value, staticmethod))


def defining_class(builtin: Any) -> type | None:
    """Return the class that defines a builtin method, whatever it was looked up on; None if no class has it.

    A bound method names only the object that it is bound to, and its `__qualname__` is made from that object.
    """
    if hasattr(builtin, "__objclass__"):
        written_in: type = builtin.__objclass__
        return written_in
    owner, name = builtin.__self__, builtin.__name__
    kind = type(owner)
    bases: tuple[type, ...] = (*(type.mro(owner) if issubclass(kind, type) else ()), *kind.__mro__)
    for base in bases:
        value = vars(base).get(name)
        if isinstance(value, types.MethodDescriptorType):
            value = value.__get__(owner, kind)
        elif isinstance(value, types.ClassMethodDescriptorType):
            value = value.__get__(None, owner)
        elif isinstance(value, staticmethod):
            value = value.__func__
        if isinstance(value, types.BuiltinFunctionType) and value == builtin:
            return base
    return None


def is_torchs(kind: type) -> bool:
    """Return whether a class belongs to the torch package, by its own `__module__`."""
    return str(getattr(kind, "__module__", "")).split(".", 1)[0] == "torch"


def _traces(builtin: Any, name: str) -> bool:
    """Return whether it is a pybind11 function of torch._C, or of a class in it, that calls the function it traces."""
    return "_from_trace" in name and getattr(builtin, "__module__", None) == "torch._C"


def is_function_record(kind: type) -> bool:
    """Return whether a builtin's `__self__` of this class is the record of one function that pybind11 made."""
    return kind.__name__ == "PyCapsule" or kind.__name__.startswith("pybind11_detail_function_record")


def may_guard(code: CodeType) -> bool:
    """Return whether a function names a context manager of torch._C that may change the thread-local sets.

    Python enters and leaves a context manager written in C without a call of the profile function.
    """
    return not _guards().isdisjoint(code.co_names)


@functools.cache
def _guards() -> frozenset[str]:
    """Return the names of the classes of torch._C that `with` can enter, except those that change no set."""
    kinds = ((name, kind) for name, kind in vars(torch._C).items() if isinstance(kind, type))
    others = ("Stream", "device", "TorchFunction")
    return frozenset(n for n, kind in kinds if hasattr(kind, "__enter__") and not any(part in n for part in others))


def is_internal(table: str) -> bool:
    """Return whether a table is not one of the bindings' tables: torch._C itself, the profiler's, an engine's."""
    return table not in ("torch", "Tensor", *TABLES.values())


def public_name(table: str, method: str) -> str:
    """Return a builtin as a user writes it: torch.add, torch.Tensor.add_, torch._C._nn.linear.

    If that name leads to a Python function around the builtin, as for torch.split, returns the name that leads to the
    builtin.
    """
    if table == "torch":
        functions = torch._C._VariableFunctions
        own = getattr(torch, method, None) is getattr(functions, method, functions)
        return f"torch.{method}" if own else f"torch._C._VariableFunctions.{method}"
    if table == "Tensor":
        own = method in vars(TENSOR_BASE) and method not in vars(torch.Tensor)
        return f"torch.Tensor.{method}" if own else f"torch._C.TensorBase.{method}"
    return f"torch._C._{table}.{method}" if table in TABLES.values() else f"{table}.{method}"


def without_overrides() -> AbstractContextManager[Any]:
    """Return a block in which a tensor is examined without any `__torch_function__`, of its class or of a mode.

    Examining must not run the user's code, and a mode may give another answer.
    """
    return torch._C.DisableTorchFunction()  # type: ignore[no-any-return]


def sequence_number(node: Any) -> int:
    """Return the sequence number of an autograd node; -1 if it has no usable one (AccumulateGrad's is the largest)."""
    number = int(node._sequence_nr())
    return number if 0 <= number < 1 << 62 else -1


def nodes_of(starts: Iterable[Any], limit: int) -> Iterator[Any]:
    """Yield the nodes of an autograd graph, each once, at most `limit`."""
    known, pending = set[Any](), list(starts)
    while pending and len(known) < limit:
        node = pending.pop()
        if node is not None and node not in known:
            known.add(node)
            pending += [following for following, _ in node.next_functions]
            yield node


_GRAD = torch.autograd.grad.__code__


def given_to_grad(frame: FrameType) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return the outputs and inputs of a call of torch.autograd.grad, as it gives them to the engine; otherwise None.

    Its local variables hold them as tuples from a certain point on: `inputs_tuple` in 2.13, `inputs` in 2.6.
    """
    if frame.f_code is not _GRAD:
        return None
    outputs, inputs = (frame.f_locals.get(name) for name in ("outputs", "inputs"))
    inputs = frame.f_locals.get("inputs_tuple", inputs)
    return (outputs, inputs) if type(outputs) is tuple and type(inputs) is tuple else None


def node_names(starts: list[Any], limit: int = 50_000) -> dict[str, int]:
    """Return how many nodes of each name a graph has. At most `limit` nodes are read."""
    names: dict[str, int] = {}
    for node in nodes_of(starts, limit):
        names[node.name()] = names.get(node.name(), 0) + 1
    return names


def module_names(root: Any) -> dict[int, tuple[Any, str]]:
    """Return every module inside a module with its qualified name (the first, if it has several), by address."""
    return {id(module): (module, name) for name, module in root.named_modules()}


def tells_saved_unread() -> bool:
    """Return whether a node's saved tensors can be read without unpacking, which may run a hook of the user.

    torch 2.6 cannot do this, 2.10 can.
    """
    return hasattr(torch._C._autograd.SavedTensor, "data")


@dataclass
class SavedStorages:
    """What the nodes of a graph saved (`storages`): sequence number of the call, address of a storage, its bytes.

    `packed`: tensors that a hook packed (for example a checkpoint); nothing is known about them. `unread`: tensors
    whose memory has no readable address (MKLDNN tensors, wrappers). `slices`: how many CopySlices nodes there are; each
    is around a node whose saved tensors cannot be read. `silent`: nodes of a class without Python attributes
    (torch._foreach_*), whose saved tensors cannot be read either.
    """

    storages: list[tuple[int, int, int]] = field(default_factory=list)
    packed: int = 0
    unread: int = 0
    slices: int = 0
    silent: int = 0

    def uncounted(self) -> dict[str, int]:
        """Return how many things were left out because their bytes are unknown, by reason."""
        return {name: getattr(self, name) for name in ("packed", "unread", "slices", "silent")}


def saved_storages(starts: list[Any], limit: int = 50_000) -> SavedStorages:
    """Return what the nodes of a graph saved for backward. At most `limit` nodes are read.

    Nothing is checked or unpacked: `_raw_saved_*` has the tensor as `data`. A torch without that (2.6) would have to
    unpack, which runs hooks, and with a checkpoint its whole recomputation. So for that torch the result is empty. The
    memory of leaves is left out, and so are views of leaves: parameters exist anyway.
    """
    saved = SavedStorages()
    if not tells_saved_unread():
        return saved
    of_leaves: set[int] = set()
    with without_overrides():
        for node in nodes_of(starts, limit):
            leaf = leaf_of(node)
            of_leaves.update(address for address, _ in (_storages(leaf) or () if leaf is not None else ()))
            number = sequence_number(node)
            is_slices = node.name().endswith(COPY_SLICES)
            saved.slices += is_slices
            saved.silent += number >= 0 and not is_slices and is_silent(node)
            for slot in saved_slots(node) if number >= 0 else ():
                if not isinstance(slot.value, torch.Tensor):
                    saved.packed += slot.value is not None
                    continue
                storages = _storages(slot.value)
                saved.unread += storages is None
                saved.storages += [(number, address, size) for address, size in storages or ()]
    saved.storages = [storage for storage in saved.storages if storage[1] not in of_leaves]
    return saved


# By sparse layout: the methods that return the tensors of which a sparse tensor consists.
_ROWS, _COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
_PARTS = {
    torch.sparse_coo: ("_indices", "_values"), torch.sparse_csr: _ROWS, torch.sparse_bsr: _ROWS,
    torch.sparse_csc: _COLUMNS, torch.sparse_bsc: _COLUMNS,
}  # fmt: skip


def _storages(tensor: torch.Tensor) -> list[tuple[int, int]] | None:
    """Return the address and the bytes of each storage of a tensor; None if they cannot be read."""
    parts = _PARTS.get(TENSOR_BASE.layout.__get__(tensor))
    if parts is not None and type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return None  # reading the parts of a wrapper would run operators on what it wraps
    try:
        with _unobserved() if parts is not None else nullcontext():  # a dense tensor's storage needs no operator
            held = [tensor] if parts is None else [getattr(tensor, name)() for name in parts]
            storages = [TENSOR_BASE.untyped_storage(part) for part in held]
            return [(int(storage._cdata), int(storage.nbytes())) for storage in storages]
    except (RuntimeError, NotImplementedError):
        return None


@dataclass(frozen=True)
class StorageFacts:
    """A storage: the address of its StorageImpl and of its first byte (0 without memory), its bytes and its device.

    `is_cow`: it shares its bytes with other storages until the first write (copy on write).
    """

    impl: int
    address: int
    bytes: int
    device: str
    is_cow: bool


def storage_of(tensor: Any) -> StorageFacts | None:
    """Return a tensor's storage; None for a tensor that has none of its own.

    The address is read as constant: a copy-on-write storage stays shared.
    """
    try:
        storage = TENSOR_BASE.untyped_storage(tensor)
        device = str(storage.device)
        address = 0 if device == "meta" else int(torch._C._data_address(tensor))
        is_cow = bool(torch._C._is_cow_tensor(tensor))
        return StorageFacts(int(storage._cdata), address, int(storage.nbytes()), device, is_cow)
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def parts_of(tensor: Any) -> list[tuple[str, Any]]:
    """Return the tensors that a tensor consists of, each after the text that leads to it: `.values()`, `[0]`.

    Returns [] for a dense tensor, and if the parts cannot be read. For a sparse tensor, these are indices and values;
    for a nested one, its tensors; for a subclass that says what it wraps, the wrapped tensors.
    """
    try:
        if TENSOR_BASE.layout.__get__(tensor) in _PARTS and type(tensor) in (torch.Tensor, torch.nn.Parameter):
            with _unobserved():
                return [(f".{name}()", getattr(tensor, name)()) for name in _PARTS[tensor.layout]]
        if _is_plain(tensor):
            if not TENSOR_BASE.is_nested.__get__(tensor):
                return []
            with _unobserved():
                return [(f"[{number}]", part) for number, part in enumerate(TENSOR_BASE.unbind(tensor))]
        names = tensor.__tensor_flatten__()[0] if hasattr(tensor, "__tensor_flatten__") else ()
        return [(f".{name}", getattr(tensor, name)) for name in names]
    except Exception:  # a class of the user may raise anything
        return []


WriteObjection = Literal[
    "leaf", "view-of-leaf", "no-grad-view", "inference-view", "one-of-several", "custom-view", "inference"
]
# By how a view was made: why autograd refuses to write to it, if it requires grad.
_REFUSED_VIEWS: Mapping[str, WriteObjection] = {
    "NO_GRAD_MODE": "no-grad-view",
    "INFERENCE_MODE": "inference-view",
    "MULTI_OUTPUT_NODE": "one-of-several",
    "IN_CUSTOM_FUNCTION": "custom-view",
}


def objection_to_writes(tensor: Any) -> WriteObjection | None:
    """Return why autograd refuses to write to a tensor in place, as its check_inplace decides; None: it does not."""
    if TENSOR_BASE.is_inference(tensor) and version(tensor) is None:  # a detached one counts its writes
        return "inference"
    if not TENSOR_BASE.requires_grad.__get__(tensor):
        return None
    base = TENSOR_BASE._base.__get__(tensor)
    if base is not None:
        made = getattr(torch._C._autograd, "_get_creation_meta", None)
        refused = _REFUSED_VIEWS.get(made(tensor).name) if made is not None else None
        if refused is not None or TENSOR_BASE.is_leaf.__get__(base):
            return refused or "view-of-leaf"
    return "leaf" if TENSOR_BASE.is_leaf.__get__(tensor) else None


def quantizer_of(tensor: Any) -> str | None:
    """Return how a quantized tensor's integers become numbers, in a few words; None for any other tensor."""
    try:
        if not TENSOR_BASE.is_quantized.__get__(tensor):
            return None
        scheme = str(TENSOR_BASE.qscheme(tensor)).removeprefix("torch.")
        if scheme == "per_tensor_affine":
            scale, zero = TENSOR_BASE.q_scale(tensor), TENSOR_BASE.q_zero_point(tensor)
            return f"{scheme}, scale {scale:g}, zero point {zero}"
        return f"{scheme}, dimension {TENSOR_BASE.q_per_channel_axis(tensor)}"
    except (RuntimeError, NotImplementedError):
        return None


@contextmanager
def _unobserved() -> Iterator[None]:
    """Inside this block, no profiler, no autograd and no Python mode sees the operators called.

    Python cannot read whether a profiler may see operators. So after the block it may, as it may by default.
    """
    torch._C._autograd._enable_record_function(False)
    try:
        with torch._C._DisableTorchDispatch(), torch._C._AutoDispatchBelowAutograd():
            yield
    finally:
        torch._C._autograd._enable_record_function(True)


@functools.cache
def _saved_names(kind: type) -> tuple[str, ...]:
    """Return the attributes of a node's class that hold the saved tensors, as they were packed."""
    return tuple(name for name in dir(kind) if name.startswith("_raw_saved_"))


_SAVED = "_raw_saved_"  # how the attributes of a node begin that hold what it saved
_OF_FUNCTION = "saved_tensors"  # the attribute of a torch.autograd.Function that unpacks what it saved
_OTHER_VERSION = re.compile(r"is at version \d+; expected version (\d+)")


@dataclass(frozen=True)
class SavedSlot:
    """One tensor that a node saved. `value` is the tensor, or the object to which a hook packed it.

    `kept` is "tensor", "packed", "freed" (backward released it) or "unread" (torch raised). `unpacks` is the hook that
    would unpack the value.
    """

    name: str
    kept: Literal["tensor", "packed", "freed", "unread"]
    value: Any = None
    unpacks: Any = None


def saved_slots(node: Any) -> Iterator[SavedSlot]:
    """Yield what a node saved, without running a hook. Needs `tells_saved_unread`. Empty slots are left out.

    A list of tensors gives a slot for each, called `tensors[0]`, `tensors[1]`.
    """
    kind: Any = type(node)
    for attribute in _saved_names(kind):
        name = attribute.removeprefix(_SAVED)
        try:
            held = getattr(node, attribute)
        except RuntimeError as error:
            yield SavedSlot(name, "freed" if _FREED in str(error) else "unread")
            continue
        several = isinstance(held, (list, tuple))
        for number, saved in enumerate(held if several else (held,)):
            yield from _slot_of(node, f"{name}[{number}]" if several else name, saved)


_FREED = "after they have already been freed"  # in the message of ERR_BACKWARD_TWICE, torch/csrc/autograd/variable.h


def _slot_of(node: Any, name: str, saved: Any) -> Iterator[SavedSlot]:
    try:
        value, unpacks = getattr(saved, "data", None), getattr(saved, "unpack_hook", None)
    except RuntimeError as error:
        yield SavedSlot(name, "freed" if _FREED in str(error) else "unread")
        return
    if unpacks is not None or (value is not None and not isinstance(value, TENSOR_BASE)):
        yield SavedSlot(name, "packed", value, unpacks)
    elif value is not None:
        yield SavedSlot(name, "tensor", value)
    elif _is_freed(node, name.partition("[")[0]):
        yield SavedSlot(name, "freed")


def _is_freed(node: Any, name: str) -> bool:
    """Return whether backward freed a slot without a value; a slot that never had one is empty."""
    try:
        getattr(node, f"_saved_{name}", None)
    except RuntimeError as error:
        return _FREED in str(error)
    return False


def saved_version(node: Any, slot: SavedSlot) -> int | None:
    """Return the version that a tensor had when a node saved it; None if that is unknown.

    The tensor is unpacked once, with the check that backward makes: SavedVariable::unpack of
    torch/csrc/autograd/saved_variable.cpp names both versions if they differ. Tensors that a hook packed and tensors of
    other classes are left out, because to unpack them may run code of the user.
    """
    if slot.kept != "tensor" or type(slot.value) not in (torch.Tensor, torch.nn.Parameter):
        return None
    name, is_item, _ = slot.name.partition("[")
    attribute = f"_saved_{name}"
    try:
        getattr(node, attribute if hasattr(type(node), attribute) else _OF_FUNCTION)
    except RuntimeError as error:
        told = _OTHER_VERSION.search(str(error))
        return int(told[1]) if told is not None and not is_item else None
    except AttributeError:
        return None
    return version(slot.value)


def storages_of(tensor: Any) -> list[tuple[int, int]] | None:
    """Return the address and the bytes of each storage of a tensor; None if they cannot be read."""
    return _storages(tensor)


def memory_of(tensor: Any, *, weakly_held: bool = False) -> list[StorageFacts]:
    """Return the storages of a tensor, or of the parts of a sparse tensor; [] if they cannot be read.

    A storage that is `weakly_held` never lends its address to a later one: its memory is freed as usual, but the
    StorageImpl stays. Only for a process of ours.
    """
    facts = []
    parts = _PARTS.get(TENSOR_BASE.layout.__get__(tensor))
    if parts is not None and type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return []
    with suppress(RuntimeError, NotImplementedError), _unobserved() if parts is not None else nullcontext():
        for part in [tensor] if parts is None else [getattr(tensor, name)() for name in parts]:
            storage = storage_of(part)
            if storage is not None:
                facts.append(storage)
                if weakly_held:
                    TENSOR_BASE.untyped_storage(part)._weak_ref()
    return facts


def import_for_optimizers() -> None:
    """Import what the first optimizer of a process imports: Dynamo, in newer versions, with 100,000 objects."""
    with suppress(Exception):
        importlib.import_module("torch._dynamo")


def is_silent(node: Any) -> bool:
    """Return whether nobody can read what a node saved: a node of C++ without a class of its own in Python.

    Nodes that are defined by hand in C++ have the class CppFunction (python_cpp_function.cpp). CopySlices has a class,
    but the node inside it, which saved the tensors, cannot be reached.
    """
    return type(node).__name__ == "CppFunction" or str(node.name()).endswith(COPY_SLICES)


def leaf_of(node: Any) -> Any:
    """Return the tensor that a node accumulates a gradient for; None for any other node."""
    return getattr(node, "variable", None)


def accumulator_of(leaf: Any) -> Any:
    """Return the node that accumulates the gradient of a leaf. A leaf without one gets one, as at its first use."""
    return torch.autograd.graph.get_gradient_edge(leaf).node


def function_of(node: Any) -> Any:
    """Return the torch.autograd.Function that a node belongs to; None for a node of C++."""
    return getattr(type(node), "_forward_cls", None)


_SMALL = {"f": torch.float16, "i": torch.int8, "c": torch.complex64}


def is_wrapped_number(tensor: Any) -> bool:
    """Return whether a tensor is a Python number that torch wrapped: every other tensor decides the dtype of a result.

    (TensorImpl::is_wrapped_number of c10/core/TensorImpl.h; at::result_type of aten/src/ATen/native/TypeProperties.cpp)
    """
    if type(tensor) is not torch.Tensor or tensor.dim() or tensor.device.type == "meta":
        return False
    dtype = tensor.dtype
    kind = "c" if dtype.is_complex else "f" if dtype.is_floating_point else "i"
    if dtype in (torch.bool, _SMALL[kind]):
        return False
    with _unobserved(), suppress(RuntimeError):
        return bool(torch.result_type(tensor, torch.empty((), dtype=_SMALL[kind])) != dtype)
    return False


@contextmanager
def noting_nodes(note: Callable[[FrameType | None], object]) -> Iterator[None]:
    """Inside this block, each new node keeps what `note` returns for the Python frame that runs: see `note_of`.

    Anomaly mode gives each new node the value of torch.fx.traceback.format_stack (PyAnomalyMetadata::store_stack of
    torch/csrc/autograd/python_anomaly_mode.cpp). The block replaces that function.
    """
    from torch.fx import traceback

    before = traceback.format_stack
    traceback.format_stack = lambda: [note(sys._getframe(1))]
    try:
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            yield
    finally:
        traceback.format_stack = before


def note_of(node: Any) -> Any:
    """Return what anomaly mode stored for a node: inside `noting_nodes` what `note` returned, else a traceback.

    None if that mode was off when the node was made.
    """
    held = node.metadata.get("traceback_")
    if not isinstance(held, list) or not held:
        return None
    return "".join(held) if all(type(line) is str for line in held) else held[0]


def decomposition_tables() -> dict[Literal["decomposition", "meta"], dict[Any, Any]]:
    """Return tables of Python implementations by operator, by their role; importing torch._decomp fills them.

    Returns {} if that import needs a package that is not installed.
    """
    try:
        from torch._decomp import global_decomposition_table as tables
    except Exception:
        return {}
    return {"decomposition": tables["post_autograd"], "meta": tables["meta"]}


def _registered_decompositions() -> Mapping[Any, Any]:
    from torch._decomp import decomposition_table

    return dict(decomposition_table)


def _export_decompositions() -> Mapping[Any, Any]:
    from torch.export import default_decompositions

    return dict(default_decompositions().items())


def _inductor_decompositions() -> Mapping[Any, Any]:
    from torch._inductor.decomposition import select_decomp_table

    return dict(select_decomp_table())


def _forward_ad_decompositions() -> Mapping[Any, Any]:
    """Return the functions that forward-mode AD runs in place of operators without a formula.

    The module keeps no list of these operators. On import, it registers each operator with TorchScript: this is seen.
    """
    import torch.jit

    seen: list[Any] = []
    register = torch.jit._register_decomposition
    if "torch._decomp.decompositions_for_jvp" in sys.modules:
        raise RuntimeError("torch._decomp.decompositions_for_jvp was imported before")

    def note(op: Any, graph: Any) -> Any:
        seen.append(op)
        return register(op, graph)

    torch.jit._register_decomposition = note
    try:
        from torch._decomp import decomposition_table, decompositions_for_jvp
    finally:
        torch.jit._register_decomposition = register
    tables = (decompositions_for_jvp.decomposition_table_for_jvp, decomposition_table)
    return {op: next(table[op] for table in tables if op in table) for op in seen}


# How each decomposition table is read, by the name that ptexplore gives it. Each function raises if torch lacks it.
DECOMPOSITIONS: Mapping[str, Callable[[], Mapping[Any, Any]]] = {
    "registered": _registered_decompositions,
    "export": _export_decompositions,
    "inductor": _inductor_decompositions,
    "forward-ad": _forward_ad_decompositions,
}


def lowerings() -> Mapping[Any, Any]:
    """Return Inductor's lowerings, by operator; importing them registers all. Raises if torch has none."""
    from torch._inductor.lowering import lowerings as by_operator

    return dict(by_operator)


def kind_of_lowering(op: Any, lowering: Any) -> tuple[bool, bool]:
    """Return whether a lowering only calls the operator's kernel, and whether it may do so for some calls.

    A lowering that may says so by a name in its code: `fallback_handler`, or `fallback_cumsum`.
    """
    from torch._inductor.lowering import fallbacks

    is_fallback = bool(getattr(lowering, "_is_fallback_handler", False))
    return is_fallback, not is_fallback and (op in fallbacks or _names_fallback(inspect.unwrap(lowering)))


def _names_fallback(function: Any) -> bool:
    """Return whether the code of a function has a name with "fallback" in it. A closure's variable is not None."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    held = [name for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True) if cell.cell_contents]
    return any("fallback" in name for name in (*code.co_names, *held))


def refs() -> Mapping[Any, Any]:
    """Return the map of TorchRefsMode, from functions of torch to functions of torch._refs. Raises if it is gone."""
    from torch._prims.context import torch_to_refs_map

    return dict(torch_to_refs_map())


def is_composite(op: str) -> bool:
    """Return whether an operator has a kernel for CompositeImplicitAutograd, in C++ or in Python's dispatcher."""
    return bool(overload_of(op)._can_decompose())


def overload_of(op: str) -> Any:
    """Return the overload with this name: `torch.ops.aten.add.Tensor` for "aten::add.Tensor"."""
    namespace, _, rest = op.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def composites_export_keeps() -> list[Any]:
    """Return the operators with a composite kernel that torch.export can keep whole. Raises if torch cannot say."""
    from torch._export.utils import _collect_all_valid_cia_ops

    return list(_collect_all_valid_cia_ops())


def calls_composite_kernel(entry: Any) -> bool:
    """Return whether an entry of a decomposition table is the one that calls the C++ composite kernel."""
    function = getattr(entry, "func", None)
    return getattr(function, "__name__", "") == "_special_op_to_decompose_cia"


def users_of_decompositions() -> dict[str, Any]:
    """Return the functions of torch that read the tables, the lowerings and the map to torch._refs.

    A function that this torch lacks is left out.
    """
    names = {
        "registered": ("torch._decomp", "get_decompositions"),
        "export": ("torch.export.exported_program", "ExportedProgram.run_decompositions"),
        "inductor": ("torch._inductor.decomposition", "select_decomp_table"),
        "forward-ad": ("torch._decomp.decompositions_for_jvp", "_register_jit_decomposition_for_jvp"),
        "lowerings": ("torch._inductor.graph", "GraphLowering.call_function"),
        "refs": ("torch._prims.context", "TorchRefsMode.__torch_function__"),
    }
    users = {}
    for part, (module, name) in names.items():
        with suppress(Exception):
            users[part] = operator.attrgetter(name)(importlib.import_module(module))
    return users


def python_kernels() -> list[tuple[str, str, Callable[..., Any]]]:
    """Return the kernels registered from Python: operator, dispatch key, callable (`OpOverload.py_kernels`)."""
    kernels = []
    for namespace in dir(torch.ops):
        packets = getattr(torch.ops, namespace, None)
        for packet in list(vars(packets).values()) if hasattr(packets, "__dict__") else []:
            for op in list(vars(packet).values()) if hasattr(packet, "__dict__") else []:
                for key, kernel in (getattr(op, "py_kernels", None) or {}).items():
                    kernels.append((op.name(), getattr(key, "name", str(key)), kernel))
    return kernels


def custom_kernels() -> list[tuple[str, str, Callable[..., Any]]]:
    """Return the functions given to `torch.library.custom_op`: operator, dispatch key, callable. [] if none is kept."""
    definitions = getattr(getattr(torch._library, "custom_ops", None), "OPDEFS", {})
    kernels = []
    for op, definition in dict(definitions).items():
        given = dict(getattr(definition, "_backend_fns", None) or {None: getattr(definition, "_init_fn", None)})
        functions = {device.upper() if device else COMPOSITE: _given(f) for device, f in given.items()}
        functions |= {"Meta": getattr(definition, "_abstract_fn", None)}
        functions |= {"Autograd": getattr(definition, "_backward_fn", None)}
        kernels += [(op, key, function) for key, function in functions.items()]
    return [(op, key, function) for op, key, function in kernels if callable(function)]


def _given(function: Any) -> Any:
    """Return the function given to `CustomOpDef.register_kernel`, which keeps a closure around it."""
    if not inspect.isfunction(function) or function.__module__ != "torch._library.custom_ops":
        return function
    return inspect.getclosurevars(inspect.unwrap(function)).nonlocals.get("fn", function)


@contextmanager
def library_output() -> Iterator[None]:
    """Inside this block, oneDNN and MKL print one line for each call to standard output, if they can."""
    with ExitStack() as stack:
        for library in (torch.backends.mkldnn, torch.backends.mkl):
            with suppress(AttributeError, AssertionError, RuntimeError):  # a build without that library
                stack.enter_context(library.verbose(library.VERBOSE_ON))
        yield


# --- the compiler ---

# Errors that end a compilation and do not reach the program, by class, in all versions.
_LEFT_TO_PYTHON = ("Unsupported", "UserError", "CacheLimitExceeded", "RecompileLimitExceeded", "SkipFrame")
_ORIGINAL = "_ptexplore_original"  # the attribute of our function that has torch's


class _RecordHandler(logging.Handler):
    """A handler for torch's structured log."""

    def __init__(self, take: Callable[[Any, Any], None]) -> None:
        super().__init__(logging.DEBUG)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        self._take(getattr(record, "metadata", None), getattr(record, "payload", None))


@contextmanager
def compiler_records(take: Callable[[Any, Any], None]) -> Iterator[Callable[[], bool]]:
    """Call `take` with the metadata and the payload of each record that the compiler logs in this block.

    `take` must not raise: it runs inside of the compiler. Other handlers of the same logger get the records as well.
    Yields a function that says whether the program has left the handler in its place.
    """
    log, handler = logging.getLogger("torch.__trace"), _RecordHandler(take)
    log.addHandler(handler)
    try:
        yield lambda: handler in log.handlers
    finally:
        log.removeHandler(handler)


def compiled(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return the function, compiled by torch.compile with its defaults."""
    made: Callable[[], Any] = torch.compile(function)
    return made


def interned_strings() -> dict[int, str]:
    """Return the texts that the structured log writes as numbers, by number."""
    module = sys.modules.get("torch._logging.structured")
    return {number: text for text, number in getattr(module, "INTERN_TABLE", {}).items()}


def code_to_compile(frame: FrameType | None) -> CodeType | None:
    """Return the code that Dynamo compiles, if `frame` is called by Dynamo; None if that cannot be seen."""
    while frame is not None:
        if frame.f_code.co_filename.endswith(os.path.join("_dynamo", "convert_frame.py")):
            code = frame.f_locals.get("code")
            if isinstance(code, CodeType):
                return code
        frame = frame.f_back
    return None


def raises_failure(frame: FrameType | None, error: str) -> bool | None:
    """Return whether an error of this class, which ended a compilation, reaches the program; None if unknown.

    `frame` is called by Dynamo while it ends the compilation. If the error does not reach the program, Python runs the
    function (`ConvertFrame.__call__` in torch/_dynamo/convert_frame.py).
    """
    while frame is not None:
        named = frame.f_locals if frame.f_code.co_name == "_compile" else {}
        if "one_graph" in named and frame.f_code.co_filename.endswith(os.path.join("_dynamo", "convert_frame.py")):
            if named["one_graph"] or getattr(named.get("convert_frame_box"), "error_on_graph_break", False):
                return True
            config = getattr(sys.modules.get("torch._dynamo"), "config", None)
            return error not in _LEFT_TO_PYTHON and not getattr(config, "suppress_errors", False)
        frame = frame.f_back
    return None


def wrapped_in(code: CodeType, frame: FrameType | None) -> str:
    """Return the name of the function or class that `code` only calls, if it is Dynamo's own wrapper; else "".

    Dynamo wraps what it would skip, such as a module of torch (`wrap_inline` in torch/_dynamo/external_utils.py).
    """
    if not code.co_filename.endswith(os.path.join("_dynamo", "external_utils.py")):
        return ""
    while frame is not None:
        compiled_frame = frame.f_locals.get("frame")
        held = getattr(compiled_frame, "f_locals", None)
        if getattr(compiled_frame, "f_code", None) is code and isinstance(held, dict) and "fn" in held:
            function = held["fn"]
            owner = getattr(function, "__self__", function)
            named = type(owner) if isinstance(owner, torch.nn.Module) else function
            return str(getattr(named, "__qualname__", ""))
        frame = frame.f_back
    return ""


def is_torchs_file(file: str) -> bool:
    """Return whether a file is of the torch package."""
    return file.startswith(os.path.dirname(torch.__file__) + os.sep)


def guard_stacks(frame: FrameType | None) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the subject of each guard that Dynamo is about to install, with the frames of its code that led to it.

    `frame` is called by Dynamo while it logs the guards (`CheckFunctionManager` in torch/_dynamo/guards.py).
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__init__" and code.co_filename.endswith(os.path.join("_dynamo", "guards.py")):
            named = frame.f_locals
            for guard in named.get("sorted_guards") or named.get("guards") or ():
                stack = getattr(guard, "user_stack", None)
                if stack:
                    yield str(guard.name() if callable(guard.name) else guard.name), stack
            return
        frame = frame.f_back


def layout_of(value: object) -> dict[str, tuple[int, ...]] | None:
    """Return the sizes and strides of a plain tensor, by the name of the method; None for any other value."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return None
    with torch._C.DisableTorchFunction():
        try:
            return {"size": tuple(map(int, value.size())), "stride": tuple(map(int, value.stride()))}  # type: ignore[attr-defined]
        except RuntimeError:  # a tensor without strides
            return None


def kernel_operators() -> dict[str, list[str]]:
    """Return the nodes of the graph in each call of a kernel that Inductor generated so far for this graph.

    The log leaves them out for graphs of backward.
    """
    module = sys.modules.get("torch._inductor.debug")
    held = getattr(module, "_inductor_triton_kernel_to_post_grad_node_info", None) or {}
    return {str(call): list(map(str, nodes)) for call, nodes in list(held.items())}


def other_threads_run_code() -> bool:
    """Return whether another thread runs code that is neither torch's nor of the standard library."""
    own, library = threading.get_ident(), os.path.dirname(os.__file__) + os.sep
    packages = os.path.join(library, "site-packages") + os.sep
    for thread, frame in sys._current_frames().items():
        step: FrameType | None = frame if thread != own else None
        while step is not None:
            file = step.f_code.co_filename
            of_library = file.startswith(("<frozen", library)) and not file.startswith(packages)
            if not (of_library or is_torchs_file(file)):
                return True
            step = step.f_back
    return False


def names_to_compile(frame: FrameType | None) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return the local and global names of the function that Dynamo compiles again, while it searches for the reason.

    Returns None if `frame` is not called by that search.
    """
    while frame is not None:
        if frame.f_code.co_name.startswith("get_and_maybe_log_recompilation_reason"):
            compiled_frame = frame.f_locals.get("frame")
            try:
                return compiled_frame.f_locals, compiled_frame.f_globals  # type: ignore[union-attr]
            except AttributeError:
                return None
        frame = frame.f_back
    return None


def count_graph_runs(counts: dict[str, int]) -> bool:
    """Count in `counts` how often each graph runs that Dynamo compiles from now on, by the id of its compilation.

    Returns whether this version can do that. Dynamo must be imported.
    """
    graph = getattr(sys.modules.get("torch._dynamo.output_graph"), "OutputGraph", None)
    context = getattr(sys.modules.get("torch._guards"), "CompileContext", None)
    original = getattr(graph, "call_user_compiler", None)
    if graph is None or context is None or original is None or hasattr(original, _ORIGINAL):
        return False

    @functools.wraps(original)
    def call_user_compiler(self: Any, *given: Any, **named: Any) -> Any:
        graph_function = original(self, *given, **named)
        if getattr(self, "package", None) is not None or getattr(self, "export", False):
            return graph_function  # it will be saved, and must be what the backend returned
        return _counted(graph_function, str(context.current_compile_id()), counts)

    setattr(call_user_compiler, _ORIGINAL, original)
    graph.call_user_compiler = call_user_compiler
    return True


class _NameOf(str):
    """The name of a group of nodes, with the group. WhyNoFuse has slots: no other attribute can keep the group."""

    __slots__ = ("group",)
    group: Any

    def __new__(cls, name: str, group: Any) -> _NameOf:
        made = super().__new__(cls, name)
        made.group = group
        return made


def hear_refused_fusions(take: Callable[[str | None, Sequence[str], Sequence[str], str], None]) -> bool:
    """Call `take` when Inductor's scheduler refuses to fuse two groups of nodes: compilation, both groups, reason.

    Returns whether this version can do that. The scheduler must be imported. `take` must not raise.
    """
    kind = getattr(sys.modules.get("torch._inductor.scheduler"), "WhyNoFuse", None)
    context = getattr(sys.modules.get("torch._guards"), "CompileContext", None)
    if kind is None or context is None or hasattr(kind.__init__, _ORIGINAL):
        return False
    original_init, original_call = kind.__init__, kind.__call__

    @functools.wraps(original_init)
    def init(self: Any, first: Any, second: Any) -> None:
        original_init(self, first, second)
        with suppress(Exception):  # 2.6 has no names: it keeps the groups themselves
            self.name1, self.name2 = _NameOf(self.name1, first), _NameOf(self.name2, second)

    @functools.wraps(original_call)
    def call(self: Any, reason: str, *given: Any) -> None:
        original_call(self, reason, *given)
        with suppress(Exception):  # a group of a form that no known version has
            groups = (self.node1, self.node2) if hasattr(self, "node1") else (self.name1.group, self.name2.group)
            first, second = map(_nodes_of, groups)
            take(str(context.current_compile_id()), first, second, reason % given)

    setattr(init, _ORIGINAL, original_init)
    setattr(call, _ORIGINAL, original_call)
    kind.__init__, kind.__call__ = init, call
    return True


def hear_no_refused_fusions() -> None:
    """Give Inductor's scheduler its own functions back."""
    kind = getattr(sys.modules.get("torch._inductor.scheduler"), "WhyNoFuse", None)
    for name in ("__init__", "__call__"):
        original = getattr(getattr(kind, name, None), _ORIGINAL, None)
        if original is not None:
            setattr(kind, name, original)


def _nodes_of(group: Any) -> list[str]:
    """Return the names of the graph's nodes that a group of Inductor's scheduler computes."""
    nodes = [part.node for part in group.get_nodes() if part.node is not None]
    return sorted({str(origin.name) for node in nodes for origin in node.get_origins()})


def count_no_graph_runs() -> None:
    """Give Dynamo its own function back. Graphs that are compiled already are still counted."""
    graph = getattr(sys.modules.get("torch._dynamo.output_graph"), "OutputGraph", None)
    original = getattr(getattr(graph, "call_user_compiler", None), _ORIGINAL, None)
    if graph is not None and original is not None:
        graph.call_user_compiler = original


def _counted(run: Callable[..., Any], key: str, counts: dict[str, int]) -> Callable[..., Any]:
    """Return a function that counts a call and makes it. Dynamo does not trace what it gets from a backend."""
    owner = run if isinstance(run, torch.nn.Module) else getattr(run, "__self__", None)
    compile_now = getattr(type(owner), "force_recompile", None)
    if compile_now is not None and (owner is run or getattr(run, "__name__", "") == "_lazy_forward"):
        compile_now(owner)  # Dynamo does this, too, for a graph whose code is made at its first call
        run = owner.forward if owner is not run else run  # type: ignore[union-attr]
    counts.setdefault(key, 0)

    def counted(*given: Any, **named: Any) -> Any:
        counts[key] += 1
        return run(*given, **named)

    return counted
