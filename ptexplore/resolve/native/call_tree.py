"""The calls of one stepped part as a tree, and the role of each function in the dispatcher.

The role of a function, and the register that holds the DispatchKeySet, follow from the function's name. Sources of the
names: aten/src/ATen/core/boxing/ and aten/src/ATen/core/dispatch/ of PyTorch. Sources for the registers: the System V
x86-64 calling convention and the Itanium C++ ABI (a value that cannot be copied bit by bit is returned through a hidden
first argument).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ptexplore.cpp.library_names import INTERPRETER, TORCHS
from ptexplore.cpp.symbol_names import Name, arguments_of, parse, pointed, split
from ptexplore.model.observed import PythonCode, SteppedCalls
from ptexplore.model.trace import walk


@dataclass(frozen=True, eq=False)
class Function:
    """A function that ran: the file name of its library, its names, and its code object if it is a Python function."""

    library: str
    mangled: str
    demangled: str
    closed: bool  # it is inside a library without source: neither PyTorch's nor an extension's
    unit: str = ""  # for a local symbol: its source file without folders, if known
    is_global: bool = False  # its symbol is global: the function is neither inline nor from a template
    code: PythonCode | None = None
    inlined: bool = False  # it has no frame: its typical callees were seen in its caller
    shared: tuple[str, ...] = ()  # further names at its address, demangled
    jumpers: tuple[str, ...] = ()  # functions whose whole code is a jump to it, demangled
    written: tuple[str, int] | None = None  # in an extension compiled with -g: file and first line

    @cached_property
    def name(self) -> Name:
        """The demangled name, parsed."""
        return parse(self.demangled)

    @cached_property
    def alike(self) -> tuple[str, ...]:
        """The names of other functions at its address: identical code, of which compiler or linker kept one copy.

        The two names of a constructor or destructor do not count, because they name the same function.
        """
        return tuple(name for name in self.shared if parse(name).qualified != self.name.qualified)

    @cached_property
    def landmark(self) -> Landmark:
        """The role of the function in the dispatcher."""
        if self.inlined:
            return Landmark("boxed-call")
        return landmark(self.name) if self.code is None else Landmark("other")

    @cached_property
    def is_interpreter(self) -> bool:
        """Whether it belongs to CPython or to one of CPython's extension modules."""
        return self.closed and (self.library.startswith(INTERPRETER) or ".cpython-" in self.library)

    @property
    def shown(self) -> str:
        """The name for display."""
        return self.name.qualified or f"a function of {self.library or 'no library'}"


@dataclass(slots=True, eq=False)
class NativeFrame:
    """One call. `number` counts calls in order of entry; the calls inside it have the next numbers, up to `last`.

    `builtin` is the name by which Python called a C function. `stub` is the symbol of the dispatch stub that was
    called.
    """

    number: int
    function: Function
    begin: int
    end: int
    tail: bool
    registers: tuple[int, ...] | None
    parent: NativeFrame | None
    builtin: str = ""
    stub: str = ""
    returned: int | None = None
    last: int = 0
    children: list[NativeFrame] = field(default_factory=list)

    @property
    def instructions(self) -> int:
        """Instructions from entry to exit."""
        return self.end - self.begin

    @property
    def jumper(self) -> str | None:
        """The name of the function that jumped here instead of calling."""
        return self.parent.function.demangled if self.tail and self.parent is not None else None

    @property
    def own(self) -> int:
        """Instructions outside of its calls. Instructions that run a Python function belong to the interpreter."""
        return self.instructions - sum(call.instructions for call in self._native_calls())

    def _native_calls(self) -> Iterator[NativeFrame]:
        """Yields the machine calls in it, including those of the Python functions that it ran."""
        pending = list(self.children)
        while pending:
            frame = pending.pop()
            if frame.function.code is not None:
                pending += frame.children
            else:
                yield frame

    def holds(self, other: NativeFrame) -> bool:
        """Whether `other` is this call, or ran inside it."""
        return self.number <= other.number <= self.last

    def descendants(self) -> Iterator[NativeFrame]:
        """Yields every call inside this one, callers first."""
        return walk(self.children)


@dataclass(frozen=True, eq=False)
class SteppedPart:
    """One stepped part of a run: a phase, or one operator call. `frames` are its calls in order of entry."""

    calls: SteppedCalls
    frames: list[NativeFrame]


def part(calls: SteppedCalls) -> SteppedPart:
    """Returns the tree of these calls."""
    tails, global_ones = frozenset(calls.tail), frozenset(calls.globals)
    functions = [
        Function(
            library,
            mangled,
            demangled,
            closed=kind == "python" or (library in calls.closed and not library.startswith(TORCHS)),
            unit=calls.units.get(str(number), ""),
            is_global=number in global_ones,
            shared=calls.shared.get(str(number), ()),
            jumpers=calls.jumpers.get(str(number), ()),
            code=calls.codes.get(str(number)),
            written=calls.written.get(str(number)),
        )
        for number, (library, kind, mangled, demangled) in enumerate(calls.functions)
    ]
    frames: list[NativeFrame] = []
    stack: list[NativeFrame] = []
    rows = zip(calls.function, calls.depth, calls.begin, calls.end, strict=True)
    for number, (function, depth, begin, end) in enumerate(rows):
        while len(stack) > depth:
            stack.pop()
        parent = stack[-1] if stack else None
        registers = calls.registers.get(str(number))
        builtin, stub = calls.builtins.get(str(number), ""), calls.stubs.get(str(number), "")
        tail = number in tails
        returned = calls.returned.get(str(number))
        frame = NativeFrame(number, functions[function], begin, end, tail, registers, parent, builtin, stub, returned)
        if parent is not None:
            parent.children.append(frame)
        frames.append(frame)
        stack.append(frame)
    return SteppedPart(calls, _with_inlined_calls(frames))


ASKS_FOR_CALLBACKS = "at::getStepCallbacksUnlessEmpty"
CALL_OF_OPERATOR, BOXED_CALL_OF_OPERATOR = "c10::Dispatcher::call", "c10::Dispatcher::callBoxed"


def _with_inlined_calls(frames: list[NativeFrame]) -> list[NativeFrame]:
    """Returns all frames in order of entry, numbered, with an additional frame for each inlined operator call.

    `Dispatcher::call` and `callBoxed` are inline: they ask for the callbacks of operator calls, and dispatch
    (aten/src/ATen/core/dispatch/Dispatcher.h). A kernel that redispatches does not ask.
    """
    for frame in frames:
        if frame.function.name.plain == ASKS_FOR_CALLBACKS and frame.parent is not None:
            _enclose(frame, frame.parent)
    numbered: list[NativeFrame] = []
    pending = [(frame, False) for frame in frames if frame.parent is None][::-1]
    while pending:
        frame, done = pending.pop()
        if done:
            frame.last = len(numbered) - 1
            continue
        frame.number = len(numbered)
        numbered.append(frame)
        pending.append((frame, True))
        pending += [(child, False) for child in frame.children[::-1]]
    return numbered


def _enclose(asking: NativeFrame, caller: NativeFrame) -> None:
    """Put a frame for the inlined operator call around `asking` and its dispatch, unless `caller` is that call."""
    first = caller.children.index(asking)
    marks = [(n, frame.function.landmark.kind) for n, frame in enumerate(caller.children) if n > first]
    last, kind = next(((n, kind) for n, kind in marks if kind not in ("other", "lookup")), (first, "other"))
    is_call = caller.function.landmark.kind in ("entry", "boxed-call") or caller.function.name.plain == CALL_OF_OPERATOR
    if kind != "boundary" or is_call:
        return
    inside = caller.children[first : last + 1]
    unboxed = inside[-1].function.demangled.startswith((_UNBOXED, _BOXING))
    name = CALL_OF_OPERATOR if unboxed else BOXED_CALL_OF_OPERATOR
    function = Function(caller.function.library, "", name, closed=False, inlined=True)
    call = NativeFrame(0, function, asking.begin, inside[-1].end, False, None, caller, children=inside)
    caller.children[first : last + 1] = [call]
    for frame in inside:
        frame.parent = call


Kind = Literal["entry", "redispatch", "boxed-call", "boundary", "lookup", "node", "carrier", "other"]

_ENTRY = re.compile(r"at::_ops::(\w+)::(call|redispatch)")
_NODE = re.compile(r"(?:\w+::)*(\w+)::apply")
_GRADIENTS = re.compile(r"std::vector<at::Tensor(?:, std::allocator<at::Tensor> ?)?> ?&&")
_UNBOXED = "c10::impl::wrap_kernel_functor_unboxed_"
_BOXING = "c10::impl::BoxedKernelWrapper"
_BOXED = "c10::impl::make_boxed_from_unboxed_functor"
_FALLBACKS = ("c10::BoxedKernel::make_boxed_function", "c10::KernelFunction::make_boxed_function")
_FUNCTOR = "c10::BoxedKernel::makeFromFunctor"
_IN_REGISTERS = re.compile(
    r".*[&*]|void|bool|(?:unsigned )?(?:char|short|int|long)|double|float|"
    r"(?:c10|at)::(?:ScalarType|QScheme|Device|Layout|MemoryFormat|DispatchKeySet)"
)
_IN_MEMORY = re.compile(
    r"at::Tensor|c10::Scalar|c10::SymInt|c10::IValue|std::vector<.*>|std::string|std::__cxx11::basic_string<.*>|"
    r"std::(?:tuple|optional)<.*\bat::Tensor\b.*>"
)


@dataclass(frozen=True, slots=True)
class Landmark:
    """The role of a function in the dispatcher.

    `name` is the C++ name of an entry's operator ("add_Tensor"), or the class of a node. `kernel` is the function in
    the template arguments of a boundary. `register` is the argument register (0 rdi, 1 rsi, 2 rdx) with the
    DispatchKeySet; it is None if the set is in another register or not known. `operator` is the register with the
    operator's handle. A handle tells operators apart, but does not name them.
    """

    kind: Kind
    name: str = ""
    kernel: Name | None = None
    register: int | None = None
    operator: int | None = None


def landmark(name: Name) -> Landmark:
    """Returns the role of the function with this name."""
    qualified = name.qualified
    entry = _ENTRY.fullmatch(qualified)
    if entry is not None:
        return Landmark("entry" if entry[2] == "call" else "redispatch", entry[1])
    if qualified.startswith("c10::"):
        return _of_c10(qualified, name)
    node = _NODE.fullmatch(qualified) if qualified.endswith("::apply") and _takes_gradients(name) else None
    return Landmark("node", node[1]) if node is not None else Landmark("other")


def _takes_gradients(name: Name) -> bool:
    """Whether a function has the parameters of `Node::apply`, which all its overrides have.

    The declaration is `variable_list apply(variable_list&&)` in torch/csrc/autograd/function.h. Many classes have a
    different `apply`: torch::dynamo::LocalState applies itself to a set of dispatch keys.
    """
    given = name.parameters or ()
    return len(given) == 1 and _GRADIENTS.fullmatch(given[0]) is not None


def _of_c10(qualified: str, name: Name) -> Landmark:
    if qualified == "c10::impl::OperatorEntry::lookup":
        return Landmark("lookup", register=1)
    if qualified == BOXED_CALL_OF_OPERATOR:
        return Landmark("boxed-call")
    if qualified == "c10::function_ref::callback_fn":
        return Landmark("carrier", kernel=_called(name))
    if qualified == f"{_UNBOXED}::call":
        hidden = _hidden(arguments_of(name.text, _UNBOXED))
        return Landmark("boundary", kernel=_functor(name.text), register=None if hidden is None else 1 + hidden)
    return _boxed(qualified, name)


def _boxed(qualified: str, name: Name) -> Landmark:
    """Returns the role of functions that call boxed kernels."""
    if qualified == f"{_BOXING}::call":
        hidden = _hidden(arguments_of(name.text, _BOXING)[:1])
        register = 2 if hidden == 0 else None  # with a hidden argument, it is in the fourth register
        return Landmark("boundary", register=register, operator=None if hidden is None else 1 + hidden)
    if qualified == f"{_BOXED}::call":
        return Landmark("boundary", kernel=_functor(name.text), register=2, operator=1)
    if qualified in _FALLBACKS:
        return Landmark("boundary", kernel=pointed(name.parts[-1].arguments or ""), register=2, operator=1)
    if qualified.startswith(f"{_FUNCTOR}::{{lambda") and qualified.endswith("::_FUN"):
        return Landmark("boundary", register=2, operator=1)
    return Landmark("other")


def _functor(text: str) -> Name | None:
    """Returns the kernel in a functor's type: a function that was known at compile time."""
    arguments = arguments_of(text, "c10::CompileTimeFunctionPointer")
    return pointed(arguments[1]) if len(arguments) > 1 else None


def _called(name: Name) -> Name | None:
    """Returns the class whose call operator the callback of a function_ref runs."""
    given = split(name.parts[-1].arguments or "")
    inner = parse(given[0].rstrip("&* ").removesuffix(" const")) if len(given) == 1 else None
    return inner if inner is not None and inner.parts else None


def _hidden(arguments: list[str]) -> int | None:
    """Returns 1 if a function of the last type returns through a hidden first argument, 0 if not, None if not known."""
    returned = arguments[-1].partition(" (")[0].strip() if arguments else ""
    if _IN_REGISTERS.fullmatch(returned):
        return 0
    return 1 if _IN_MEMORY.fullmatch(returned) else None


def kernel_below(call: NativeFrame) -> str | None:
    """Returns the full name of the kernel at the first boundary below a call; after a boxed fallback, at the next one.

    Returns None if another operator call comes first.
    """
    for inner in call.descendants():
        seen = inner.function.landmark
        if seen.kind in ("entry", "boxed-call"):
            return None
        is_fallback = inner.function.name.qualified in _FALLBACKS
        if seen.kind == "boundary" and seen.kernel is not None and not is_fallback:
            return seen.kernel.plain
    return None
