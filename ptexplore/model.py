"""The frozen records that stages exchange; nothing here computes, reads files or imports anything of ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Layer = Literal["checkout", "generated", "wheel", "atlas"]
Precision = Literal["registered", "located", "consistent", "version-skew", "ambiguous", "unknown"]
Status = Literal["observed", "derived", "predicted", "inlined", "cut"]
HopKind = Literal["python", "binding", "op", "key", "kernel", "impl", "stub", "native", "node", "closed"]
RecordOrigin = Literal["generated", "handwritten", "python", "nofile"]

FORMAT = 1  # of Session and Trail JSON; within a format keys are only added


@dataclass(frozen=True, slots=True)
class Runtime:
    """One installed torch, described without importing it.

    `build` is "wheel" when torchgen ships its packaged inputs, "source" otherwise.
    `key` names everything cached for this runtime: a hash over version, git_version,
    the packaged inputs and the installation's own file list.
    """

    python: str
    python_version: str
    torch_dir: str
    version: str
    git_version: str
    build: Literal["wheel", "source"]
    torchgen_dir: str | None
    packaged_dir: str | None
    accelerators: tuple[str, ...]  # of "cuda", "hip", "xpu": what torch/version.py says it was built with
    key: str
    inputs_key: str  # hash of git_version and the packaged inputs alone: what the generated C++ depends on


@dataclass(frozen=True, slots=True)
class FileText:
    """One file of a tree: canonical path, the layer it came from, where it lies, and its text.

    `shift` is how many lines `file` has above the text's first: newer wheels wrap installed headers in
    an `#if`, and a line of ours is always that of the repository's own file.
    """

    path: str
    layer: Layer
    file: str
    text: str
    shift: int = 0


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """A tree as shown to the user: the runtime tree, or a checkout and how it relates to the running torch."""

    name: str
    version: str
    layers: tuple[Layer, ...]
    commit: str | None = None
    relation: Literal["runtime", "matches", "consistent", "version-skew"] = "runtime"


@dataclass(frozen=True, slots=True)
class Checkout:
    """One fetched source tree. `root` is the folder that canonical paths start at.

    `commit` is known for git alone; `sha256` is the archive's. `release` is the release ("2.6.0") whose source this is
    known to be: the commit is the release's and nothing is modified, or the archive's hash is in the shipped table.
    `version` is what the tree says of itself (version.txt). `project` is "pytorch", else the name of an extension's own
    source that lies beside PyTorch's.
    """

    name: str
    kind: Literal["git", "archive", "folder"]
    root: str
    origin: str  # what it was fetched from, as given
    project: str = "pytorch"
    ref: str | None = None
    commit: str | None = None
    modified: bool = False
    sha256: str | None = None
    release: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A place in source with its precision; `line` is 1-based, None where unknown.

    `reason` says why the precision is what it is (always set for "unknown" and "ambiguous").
    """

    path: str | None
    line: int | None
    layer: Layer | None
    precision: Precision
    end_line: int | None = None
    tree: str = "runtime"
    url: str | None = None
    reason: str | None = None
    candidates: tuple[SourceRef, ...] = ()


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
    why_not: str | None  # why it is not confirmed
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
    body_why: str | None = None  # why no body is known, where none is


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


@dataclass(frozen=True, slots=True)
class PythonKernel:
    """A Python callable that decomposes, is the meta function of, or implements an operator under a key."""

    op: str
    role: Literal["decomposition", "meta", "kernel", "custom"]
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


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str
    text: str
    hop: int | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What one recorder saw, as plain JSON data; `id` is unique in its session."""

    id: int
    recorder: str
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Session:
    """One capture: saved and reloaded as JSON, rendered anywhere, never executed."""

    expression: str
    torch: dict[str, Any]
    bound: tuple[dict[str, Any], ...]
    options: dict[str, Any]
    captured: dict[str, Any]
    result: dict[str, Any]
    observations: tuple[Observation, ...]
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a Trail; `evidence` lists ids of the observations it is concluded from."""

    id: int
    kind: HopKind
    name: str
    status: Status
    source: SourceRef
    phase: Literal["forward", "backward"] = "forward"
    thread: int = 0
    op: str | None = None
    key: str | None = None
    dispatch: dict[str, Any] | None = None
    registration: SourceRef | None = None
    declaration: SourceRef | None = None
    derivative: dict[str, Any] | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    why: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    calls: int = 1
    instructions: int | None = None
    children: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True)
class Trail:
    """What ran for one expression, as nested hops, with what is known and not known about each."""

    expression: str
    bound: dict[str, str]
    torch: dict[str, Any]
    trees: tuple[TreeInfo, ...]
    captured: dict[str, Any]
    result: dict[str, Any]
    findings: tuple[Finding, ...]
    hops: tuple[Hop, ...]
    format: int = FORMAT
