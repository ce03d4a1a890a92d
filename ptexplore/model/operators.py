"""What the dispatcher and PyTorch's YAML say of operators: records, tables, registrations, derivatives, bindings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ptexplore.model.places import SourceRef

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason

RecordOrigin = Literal["generated", "handwritten", "python", "nofile"]
# Why no body of a kernel is known: hand-written C++ makes the kernel, or is it, or its name has not exactly one body.
NoBody = Literal["factory", "handwritten", "not-one"]


@dataclass(frozen=True, slots=True)
class DumpRecord:
    """One line of `torch._C._dispatch_dump(op)`, parsed.

    `key` is None for the schema's own record (its `debug:` line). `file` is as the binary says it.
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
    """What the dispatch table of one operator holds for a group of runtime keys, and why.

    `reason` is the dispatcher's own word: "kernel", "default backend kernel", "math kernel",
    "autograd kernel", "backend fallback", "missing", …
    """

    keys: tuple[str, ...]
    reason: str
    fallthrough: bool
    path: str | None  # canonical
    line: int | None
    raw: str


@dataclass(frozen=True, slots=True)
class Registration:
    """One record of one operator, verified against the regenerated text where it points there."""

    op: str
    key: str | None
    alias: bool
    inactive: bool
    fallthrough: bool
    origin: RecordOrigin
    path: str | None  # canonical path of the record's file
    macro_line: int | None  # line of the TORCH_LIBRARY(_IMPL) macro, as the binary says
    op_line: int | None  # line of the op's own m.impl / m.def inside that block
    confirmed: bool  # the tree's text holds that macro, for that key, with that op, at that line
    why_not: Reason | None  # why it is not confirmed
    signature: str | None = None
    callee: str | None = None  # what m.impl registers, as written: a wrapper, a fallback factory, …
    wrapper: str | None = None  # qualified name of the function whose body runs
    body_path: str | None = None
    body_line: int | None = None  # line of the name in its declarator
    body_end: int | None = None
    redispatch: str | None = None  # key set expression the body redispatches with, as written
    guard: str | None = None  # TLS guard the body holds meanwhile
    target: str | None = None  # hand-written function or structured class the body calls
    target_kind: Literal["native", "structured", "meta", "formula", "none"] | None = None
    target_meta: str | None = None  # structured_X::meta's qualified name
    body_why: NoBody | None = None  # why no body is known, where none is


@dataclass(frozen=True, slots=True)
class KernelRef:
    """How a kernel was registered."""

    registered_op_line: int | None = None  # the line of the operator's own `m.impl`
    registers: str | None = None  # what is registered, as written
    op_entry: SourceRef | None = None  # the `m.impl` of hand-written C++


@dataclass(frozen=True, slots=True)
class Formula:
    """One derivative formula: the inputs it is for, the formula's own line, and the functions it calls."""

    inputs: str
    line: int
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Derivative:
    """An operator's entry in derivatives.yaml and the autograd node generated from it."""

    op: str
    path: str
    line: int
    end_line: int
    source_op: str  # the entry's own operator; differs for in-place and out variants that share it
    formulas: tuple[Formula, ...]
    node: str | None
    apply_path: str | None
    apply_line: int | None
    apply_end: int | None
    matched: str  # how torchgen's matcher came to it: "exact", "inplace from functional", …
    dispatch: str = "Default"  # the entry's own sub-entry: "Default", "AutogradCUDA", "AutogradNestedTensor"


@dataclass(frozen=True, slots=True)
class Binding:
    """One Python name bound to a C function: a row of a PyMethodDef table."""

    table: str  # "torch", "Tensor", "nn", "linalg", "fft", "special", "sparse", "nested"
    name: str  # the method's name in that table
    c_function: str
    path: str
    line: int  # of the function's name in its definition
    end_line: int | None
    entry_line: int  # of the PyMethodDef row
    ops: tuple[str, ...] = ()  # operators its body calls


@dataclass(frozen=True, slots=True)
class PythonName:
    """A public Python name and what it is: "builtin" (table and method) or "python" (file and line)."""

    name: str
    kind: Literal["builtin", "python", "slot", "attribute", "other"]
    table: str | None = None
    method: str | None = None
    path: str | None = None
    line: int | None = None


KernelRole: TypeAlias = Literal["decomposition", "meta", "kernel", "custom"]


@dataclass(frozen=True, slots=True)
class PythonKernel:
    """A Python callable that decomposes, is the meta function of, or implements an operator under a key."""

    op: str
    role: KernelRole
    function: str
    path: str | None  # canonical
    line: int | None
    end_line: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator overload as the runtime registered it."""

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
    """A dispatch key's name, its bits in a DispatchKeySet and the set of keys after it (both raw 64-bit)."""

    name: str
    raw: int
    after: int


@dataclass(frozen=True, slots=True)
class Count:
    confirmed: int
    total: int


def dispatcher_name(asked: str) -> str:
    """`torch.ops.aten.add.Tensor`, `aten.add.Tensor` and `relu.default` as the dispatcher writes them."""
    name = asked.removeprefix("torch.ops.")
    if name != asked or name.startswith("aten."):
        name = name.replace(".", "::", 1)
    return name.removesuffix(".default")
