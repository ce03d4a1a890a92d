"""The keys that an operator call really used: the DispatchKeySet at each boundary, read from its register."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ptexplore.cpp.symbol_names import Name, arguments_of, parse
from ptexplore.model.trace import walk
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.native.call_tree import NativeFrame

CALLS = ("entry", "boxed-call")


@dataclass(slots=True, eq=False)
class ChainStep:
    """One dispatch inside an operator call: the frame of the boundary, its key set, and the kernel in its type.

    `kernel_frame` is the kernel's own frame, or None if the kernel was inlined into the boundary. `entry` is the
    operator's C++ name, if a redispatch named it. `children` are the dispatches that this kernel made.
    """

    frame: NativeFrame
    set: int
    key: str
    register: str
    kernel: Name | None
    entry: str | None
    kernel_frame: NativeFrame | None = None
    children: list[ChainStep] = field(default_factory=list)


def steps(call: NativeFrame, keys: KeySets) -> list[ChainStep]:
    """Returns the dispatches of one operator call, nested, without the dispatches of operators called inside."""
    outermost: list[ChainStep] = []
    pending: list[tuple[NativeFrame, ChainStep | None, str | None]] = [
        (frame, None, None) for frame in call.children[::-1]
    ]
    while pending:
        frame, around, entry = pending.pop()
        seen = frame.function.landmark
        if seen.kind in CALLS:
            continue
        if seen.kind == "redispatch":
            entry = seen.name
        if seen.kind == "boundary":
            around = _step(frame, around, entry, keys, outermost)
        pending += [(child, around, entry) for child in frame.children[::-1]]
    for step in walk(outermost):
        step.kernel_frame = _kernel_frame(step)
    return outermost


def _step(
    frame: NativeFrame, around: ChainStep | None, entry: str | None, keys: KeySets, outermost: list[ChainStep]
) -> ChainStep | None:
    """Returns the step that begins at a boundary.

    If the boundary has the same set as the step around it, returns that step.
    """
    given, register = _set(frame)
    kernel = frame.function.landmark.kernel
    if given is None or (around is not None and around.set == given):
        if around is not None:
            around.kernel = around.kernel or kernel
        return around
    step = ChainStep(frame, given, keys.highest(given) or "Undefined", register, kernel, entry)
    (outermost if around is None else around.children).append(step)
    return step


def _set(frame: NativeFrame) -> tuple[int | None, str]:
    """Returns the set that a boundary was given, and where it was read.

    If the boundary's register is not known, returns the set of the lookup just before it.
    """
    register = frame.function.landmark.register
    if register is not None and frame.registers is not None:
        return frame.registers[register], ("rdi", "rsi", "rdx")[register]
    siblings = frame.parent.children if frame.parent is not None else []
    lookups = [s for s in siblings if s.number < frame.number and s.function.landmark.kind == "lookup"]
    if lookups and lookups[-1].registers is not None:
        return lookups[-1].registers[1], "rsi of the table lookup before it"
    return None, ""


def _kernel_frame(step: ChainStep) -> NativeFrame | None:
    """Returns the frame of the step's kernel, found by name.

    A kernel that is only known at run time is the only call of its functor.
    """
    further = [child.frame for child in step.children]
    pending = step.frame.children[::-1]
    while pending and step.kernel is not None:
        frame = pending.pop()
        if frame.function.name.plain == step.kernel.plain:
            return frame
        if frame.function.landmark.kind not in CALLS and frame not in further:
            pending += frame.children[::-1]
    only = step.frame.children
    unboxed = "wrap_kernel_functor_unboxed_" in step.frame.function.demangled
    if step.kernel is None and unboxed and len(only) == 1 and not only[0].function.closed:
        return only[0]
    return None


# --- kernels that are only known at run time: no type names them ---

_FUNCTOR = "c10::impl::detail::WrapFunctionIntoRuntimeFunctor_"  # of aten/src/ATen/core/boxing/impl
_NO_KERNELS = ("c10::", "std::", "at::_ops::")  # parts of functors, and functions that call operators
# It calls the kernels that Python registered (torch/csrc/utils/python_dispatch.cpp).
_PYTHON_HOLDER = "PythonKernelHolder::operator()"


def given_lambda(step: ChainStep) -> Name | None:
    """Returns the lambda in a step's functor; None for a function pointer, or if no functor is named."""
    functor = arguments_of(step.frame.function.demangled, _FUNCTOR)
    name = parse(functor[0]) if functor and "{lambda" in functor[0] else None
    return name if name is not None and name.parts else None


def given_frame(step: ChainStep) -> NativeFrame | None:
    """Returns the frame of a kernel that its functor holds as a pointer or lambda, as for `m.impl("op", &f)`.

    The functor's type has the parameters. The kernel is the first function inside the boundary with exactly these
    parameters, apart from the functor's own parts.
    """
    functor = arguments_of(step.frame.function.demangled, _FUNCTOR)
    if len(functor) != 3:
        return None
    wanted = tuple(arguments_of(functor[2], "c10::guts::typelist::typelist"))
    names = (frame for frame in _inside(step) if not frame.function.name.qualified.startswith(_NO_KERNELS))
    return next((frame for frame in names if frame.function.name.parameters == wanted), None)


def python_frame(step: ChainStep) -> NativeFrame | None:
    """Returns the frame of a step's Python kernel: the first function that the kernel's holder runs."""
    held = None
    for frame in _inside(step):
        held = frame if held is None and frame.function.name.qualified.endswith(_PYTHON_HOLDER) else held
        if frame.function.code is not None:
            return frame if held is not None and held.holds(frame) else None
    return None


def _inside(step: ChainStep) -> Iterator[NativeFrame]:
    """Yields the frames in a step, callers first, without inner operators and without the steps that it goes on to."""
    further = [child.frame for child in step.children]
    pending = step.frame.children[::-1]
    while pending:
        frame = pending.pop()
        yield frame
        if frame.function.landmark.kind not in CALLS and frame not in further:
            pending += frame.children[::-1]
