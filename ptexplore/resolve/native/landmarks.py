"""What a native function is on the way through the dispatcher, told from its name alone; which register holds the set.

Sources of the names: aten/src/ATen/core/boxing/ and aten/src/ATen/core/dispatch/ of PyTorch; of the registers: the
System V x86-64 calling convention and the Itanium C++ ABI (a value that cannot be copied bit by bit is returned through
a hidden first argument).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ptexplore.cpp.symbol_names import Name, arguments_of, pointed, split

Kind = Literal["entry", "redispatch", "boxed-call", "boundary", "lookup", "node", "carrier", "other"]

_ENTRY = re.compile(r"at::_ops::(\w+)::(call|redispatch)")
_NODE = re.compile(r"(?:\w+::)*(\w+)::apply")
_CALL_BOXED = "c10::Dispatcher::callBoxed"
_LOOKUP = "c10::impl::OperatorEntry::lookup"
_UNBOXED = "c10::impl::wrap_kernel_functor_unboxed_"
_BOXING = "c10::impl::BoxedKernelWrapper"
_BOXED = "c10::impl::make_boxed_from_unboxed_functor"
_FALLBACKS = ("c10::BoxedKernel::make_boxed_function", "c10::KernelFunction::make_boxed_function")
_FUNCTOR = "c10::BoxedKernel::makeFromFunctor"
_CALLBACK = "c10::function_ref::callback_fn"
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
    """One function's part in dispatching.

    `name` is the operator's C++ name of an entry ("add_Tensor"), or the node's class. `kernel` is the function that a
    boundary's template arguments name. `register` is the argument register (0 rdi, 1 rsi, 2 rdx) that holds the
    DispatchKeySet, None where that is not among the three or not known; `operator` the one that holds the operator's
    handle, which tells operators apart, not which one it is.
    """

    kind: Kind
    name: str = ""
    kernel: Name | None = None
    register: int | None = None
    operator: int | None = None


OTHER = Landmark("other")


def landmark(name: Name) -> Landmark:
    """What the function of this name is."""
    qualified = name.qualified
    entry = _ENTRY.fullmatch(qualified)
    if entry is not None:
        return Landmark("entry" if entry[2] == "call" else "redispatch", entry[1])
    if qualified.startswith("c10::"):
        return _of_c10(qualified, name)
    node = _NODE.fullmatch(qualified) if qualified.startswith("torch::") or "Node" in qualified else None
    return Landmark("node", node[1]) if node is not None else OTHER


def _of_c10(qualified: str, name: Name) -> Landmark:
    if qualified == _LOOKUP:
        return Landmark("lookup", register=1)
    if qualified == _CALL_BOXED:
        return Landmark("boxed-call")
    if qualified == _CALLBACK:
        return Landmark("carrier", kernel=_called(name))
    if qualified == f"{_UNBOXED}::call":
        hidden = _hidden(arguments_of(name.text, _UNBOXED))
        return Landmark("boundary", kernel=_functor(name.text), register=None if hidden is None else 1 + hidden)
    return _boxed(qualified, name)


def _boxed(qualified: str, name: Name) -> Landmark:
    """The boundaries of calls through boxed kernels."""
    if qualified == f"{_BOXING}::call":
        hidden = _hidden(arguments_of(name.text, _BOXING)[:1])
        register = 2 if hidden == 0 else None  # with a hidden argument it is the fourth
        return Landmark("boundary", register=register, operator=None if hidden is None else 1 + hidden)
    if qualified == f"{_BOXED}::call":
        return Landmark("boundary", kernel=_functor(name.text), register=2, operator=1)
    if qualified in _FALLBACKS:
        return Landmark("boundary", kernel=pointed(name.parts[-1].arguments or ""), register=2, operator=1)
    if qualified.startswith(f"{_FUNCTOR}::{{lambda") and qualified.endswith("::_FUN"):
        return Landmark("boundary", register=2, operator=1)
    return OTHER


def _functor(text: str) -> Name | None:
    """The kernel that a functor's type names: a function known when compiling."""
    arguments = arguments_of(text, "c10::CompileTimeFunctionPointer")
    return pointed(arguments[1]) if len(arguments) > 1 else None


def _called(name: Name) -> Name | None:
    """The class whose call operator a function_ref's callback runs."""
    from ptexplore.cpp.symbol_names import parse

    given = split(name.parts[-1].arguments or "")
    inner = parse(given[0].rstrip("&* ").removesuffix(" const")) if len(given) == 1 else None
    return inner if inner is not None and inner.parts else None


def _hidden(arguments: list[str]) -> int | None:
    """1 where a function of the type that comes last returns through a hidden first argument, 0 where not."""
    returned = arguments[-1].partition(" (")[0].strip() if arguments else ""
    if _IN_REGISTERS.fullmatch(returned):
        return 0
    return 1 if _IN_MEMORY.fullmatch(returned) else None
