"""Records about operators, from the dispatcher and PyTorch's YAML: tables, registrations, derivatives, bindings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ptexplore.model.places import SourceRef

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason

RecordOrigin = Literal["generated", "handwritten", "python", "nofile"]
# Why the body of a kernel is not known. factory: hand-written C++ creates the kernel. handwritten: the kernel is
# hand-written C++. not-one: its name has no body, or several.
NoBody = Literal["factory", "handwritten", "not-one"]


@dataclass(frozen=True, slots=True)
class DumpRecord:
    """One parsed line of `torch._C._dispatch_dump(op)`.

    `key` is None for the record of the schema (the `debug:` line). `file` is the path that the binary has.
    """

    op: str
    key: str | None
    alias: bool
    inactive: bool
    fallthrough: bool
    file: str | None
    line: int | None
    signature: str | None
    raw: str


@dataclass(frozen=True, slots=True)
class TableEntry:
    """What an operator's dispatch table contains for a group of runtime keys, and why.

    `reason` is the dispatcher's own word: "kernel", "default backend kernel", "math kernel", "autograd kernel",
    "backend fallback", "missing", …
    """

    keys: tuple[str, ...]
    reason: str
    fallthrough: bool
    path: str | None  # canonical
    line: int | None
    raw: str


@dataclass(frozen=True, slots=True)
class Registration:
    """One registration of an operator, checked against the regenerated text if it points there."""

    op: str
    key: str | None
    alias: bool
    inactive: bool
    fallthrough: bool
    origin: RecordOrigin
    path: str | None  # canonical path of the file in the record
    macro_line: int | None  # line of the TORCH_LIBRARY(_IMPL) macro, from the binary
    op_line: int | None  # line of the operator's m.impl / m.def inside that block
    confirmed: bool  # the tree's text has that macro, for that key, with that operator, at that line
    why_not: Reason | None  # why it is not confirmed
    signature: str | None = None
    callee: str | None = None  # what m.impl registers, as written: a wrapper, a fallback factory, …
    wrapper: str | None = None  # qualified name of the function whose body runs
    body_path: str | None = None
    body_line: int | None = None  # line of the name in its declarator
    body_end: int | None = None
    redispatch: str | None = None  # key set expression that the body redispatches with, as written
    guard: str | None = None  # TLS guard that the body holds meanwhile
    target: str | None = None  # hand-written function or structured class that the body calls
    target_kind: Literal["native", "structured", "meta", "formula", "none"] | None = None
    target_meta: str | None = None  # qualified name of structured_X::meta
    body_why: NoBody | None = None  # why the body is not known, if it is not


@dataclass(frozen=True, slots=True)
class KernelRef:
    """How a kernel was registered."""

    registered_op_line: int | None = None  # the line of the operator's `m.impl`
    registers: str | None = None  # the expression that is registered, as written
    op_entry: SourceRef | None = None  # the `m.impl` in hand-written C++


@dataclass(frozen=True, slots=True)
class Formula:
    """A derivative formula: the inputs it is for, its line, and the functions that it calls."""

    inputs: str
    line: int
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Derivative:
    """An operator's entry in derivatives.yaml, and the autograd node that is generated from it."""

    op: str
    path: str
    line: int
    end_line: int
    source_op: str  # the operator of the entry; in-place and out variants share an entry of another operator
    formulas: tuple[Formula, ...]
    node: str | None
    apply_path: str | None
    apply_line: int | None
    apply_end: int | None
    matched: str  # how torchgen matched the entry: "exact", "inplace from functional", …
    dispatch: str = "Default"  # the sub-entry: "Default", "AutogradCUDA", "AutogradNestedTensor"


@dataclass(frozen=True, slots=True)
class Binding:
    """A Python name that is bound to a C function: a row of a PyMethodDef table."""

    table: str  # "torch", "Tensor", "nn", "linalg", "fft", "special", "sparse", "nested"
    name: str  # the method's name in that table
    c_function: str
    path: str
    line: int  # line of the function's name in its definition
    end_line: int | None
    entry_line: int  # line of the PyMethodDef row
    ops: tuple[str, ...] = ()  # operators that its body calls


@dataclass(frozen=True, slots=True)
class PythonName:
    """A public Python name and its kind: for "builtin" with table and method, for "python" with file and line."""

    name: str
    kind: Literal["builtin", "python", "slot", "attribute", "other"]
    table: str | None = None
    method: str | None = None
    path: str | None = None
    line: int | None = None


KernelRole: TypeAlias = Literal["decomposition", "meta", "kernel", "custom"]


@dataclass(frozen=True, slots=True)
class PythonKernel:
    """A Python function that decomposes an operator, is its meta function, or implements it for a key."""

    op: str
    role: KernelRole
    function: str
    path: str | None  # canonical
    line: int | None
    end_line: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload of an operator, as the running torch registered it."""

    name: str  # "aten::add.Tensor"
    schema: str
    aliases: tuple[str, ...]  # alias annotations per argument: "self: (a!)"
    tags: tuple[str, ...]
    variants: tuple[str, ...] = ()
    structured: str | None = None  # "structured", or the overload it delegates to
    autogen: bool = False  # torchgen made this overload; it has no YAML entry of its own
    yaml_path: str | None = None
    yaml_line: int | None = None
    yaml_end: int | None = None
    cpp_name: str | None = None  # "add_Tensor": at::_ops::add_Tensor
    call_path: str | None = None
    call_line: int | None = None
    redispatch_line: int | None = None
    core: bool = False

    @property
    def namespace(self) -> str:
        return self.name.split("::", 1)[0]

    @property
    def base(self) -> str:
        return self.name.split("::", 1)[1].split(".", 1)[0]

    @property
    def overload(self) -> str:
        return self.name.partition(".")[2]


@dataclass(frozen=True, slots=True)
class DispatchKey:
    """A dispatch key: its name, its bits in a DispatchKeySet, and the set of the keys after it (both raw 64-bit)."""

    name: str
    raw: int
    after: int


@dataclass(frozen=True, slots=True)
class Count:
    confirmed: int
    total: int


def dispatcher_name(asked: str) -> str:
    """Returns a name in the form that the dispatcher uses: `aten::add.Tensor` for `torch.ops.aten.add.Tensor`.

    Also accepts `aten.add.Tensor` and `relu.default`.
    """
    name = asked.removeprefix("torch.ops.")
    if name != asked or name.startswith("aten."):
        name = name.replace(".", "::", 1)
    return name.removesuffix(".default")
