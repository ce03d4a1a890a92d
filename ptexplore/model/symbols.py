"""The frozen records of an index of source text: symbols, references, the dialect with its table of kinds, files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Language = Literal["cpp", "python", "yaml", "other"]
Role = Literal["definition", "declaration"]
Extractor = Literal["tree-sitter", "macro", "libclang", "yaml"]
SymbolKind = Literal[
    "function", "class", "struct", "union", "enum", "enumerator", "typedef", "macro", "namespace", "member", "variable",
    "concept",
]  # fmt: skip
RefKind = Literal["call", "address", "inherit", "override", "type", "include", "macro", "yaml", "import"]
DialectKind = Literal[
    "library", "def", "impl", "stub-declare", "stub-define", "stub-register", "structured-impl", "structured-meta",
    "method", "pybind", "flag", "list", "yaml-function", "yaml-dispatch", "yaml-derivative",
]  # fmt: skip


class Symbol(NamedTuple):
    """One definition or declaration; a tuple, as a Ref is.

    `qualified` leaves out what C++ looks through: anonymous and inline namespaces, CPU_CAPABILITY
    ("at::native::add_kernel"). `scope` keeps them, as the binary's own name does
    ("at::native::CPU_CAPABILITY::(anonymous namespace)"). `line` (1-based) is that of the name in its declarator,
    `begin` the first line of the whole (template head, return type), `end_line` that of the closing brace or semicolon.
    `signature` is the parameter list as written, on one line, with what follows it ("(const Tensor& self) const");
    `parameters` the types alone, without names and defaults, spaces normalised; None where it has none to speak of.
    One that an `#if` inside the list may leave out begins with "#if ".
    `guards` are the `#if` conditions around it, outermost first, without comments ("defined(USE_CUDA)",
    "!(AT_MKL_ENABLED())" for the `#else`); a header's own include guard is none. `macro` is the macro that made it
    (TORCH_IMPL_FUNC, IMPLEMENT_VML_KERNEL): then `line` is that of the invocation's argument that names it, or of the
    invocation.
    """

    path: str
    name: str  # the last part: "add_kernel", "operator==", "~Tensor"
    qualified: str
    kind: SymbolKind
    line: int
    end_line: int
    begin: int
    role: Role = "definition"
    scope: str = ""
    signature: str = ""
    parameters: tuple[str, ...] | None = None
    guards: tuple[str, ...] = ()
    macro: str | None = None
    template: bool = False
    static: bool = False  # internal linkage: `static` at namespace scope or an anonymous namespace around it
    extractor: Extractor = "tree-sitter"
    virtual: bool = False  # its own declaration says `virtual`; one that overrides need not


class Ref(NamedTuple):
    """Where a name is used; a tuple, since these are made by the hundred thousand.

    `text` is as written without spaces ("at::native::resize_output", "self.sizes"); `name` its last part; `target` the
    qualified name it resolves to, where a semantic extractor knows; with parameter types where that knows the overload:
    "at::add(const Tensor &, int)".
    """

    path: str
    line: int
    name: str
    text: str
    kind: RefKind
    target: str | None = None
    extractor: Extractor = "tree-sitter"


class Dialect(NamedTuple):
    """One row of PyTorch's own macro dialect. `line` is that of the row's own macro or call, `end_line` its last.

    ================  =======================  ====================  ==================================================
    kind              name                     context               target
    ================  =======================  ====================  ==================================================
    library           namespace ("aten", "_")  key or None           None; line..end_line is the block
    def               "aten::add.Tensor"       None                  kernel as a bare name, where given
    impl              "aten::add.Tensor"       key ("CPU")           kernel as a bare name ("at::native::add")
    stub-declare      stub ("add_stub")        function type         None
    stub-define       stub                     None                  None
    stub-register     stub                     arch or device, see   kernel as a bare name, None for nullptr
                                               the macro ("CUDA")
    structured-impl   "add_out"                None                  "at::native::structured_add_out::impl"
    structured-meta   "add_Tensor"             None                  "at::meta::structured_add_Tensor::meta"
    method            Python name              table's variable      C function
    pybind            Python name              receiver as written   C++ function, where it is a plain name
    flag              "caffe2_x"               C++ type              None
    list              macro's name             None                  None; a list macro (AT_FORALL_…)
    yaml-function     "aten::add.Tensor"       None                  None; native_functions.yaml's entry
    yaml-dispatch     "aten::add.Tensor"       key                   kernel's name as written
    yaml-derivative   "aten::add.Tensor"       None                  None; derivatives.yaml's entry
    ================  =======================  ====================  ==================================================

    `block` is the line of the TORCH_LIBRARY(_IMPL) macro around a def or impl: the one the binary records.
    `macro` is the macro as written ("TORCH_LIBRARY_IMPL", "REGISTER_ARCH_DISPATCH", "REGISTER_C10D_OP"); `text` what
    the source says of it on one line, at most 300 characters (the schema, the kernel expression).
    """

    path: str
    line: int
    end_line: int
    kind: DialectKind
    name: str
    context: str | None = None
    target: str | None = None
    block: int | None = None
    macro: str = ""
    text: str = ""
    guards: tuple[str, ...] = ()


class KindTraits(NamedTuple):
    """What ptexplore does with the dialect's rows of one kind.

    `group` is the heading of `refs` under which they stand. `anchor` is how a note's anchor names one: by its "name",
    as a "block" ("TORCH_LIBRARY_IMPL(aten, CPU)"), as a YAML "entry"; None where it cannot, since the row stands inside
    another or the macro makes a symbol, which is named instead. `like` is the kind that stands for this one when an
    anchor is compared with its baseline. `atlas` says what an atlas keeps: the "row", the row "untyped" (its context is
    a C++ type, which is source text), or nothing, since every wheel holds the file. `tag` is its kind in a tags file;
    None where the symbol's own tag says enough. `operator`: the row says that an operator exists, so `find` and `show`
    list it. `cpp_name`: its name is one of C++, which a qualified C++ name can mean.
    """

    group: Literal["registrations", "stubs", "bindings", "macros", "YAML"]
    anchor: Literal["name", "block", "entry"] | None = "name"
    like: DialectKind | None = None
    atlas: Literal["row", "untyped"] | None = "row"
    tag: Literal["function", "prototype", "variable", "operator"] | None = None
    operator: bool = False
    cpp_name: bool = False


# An index and an atlas store a kind as its place in this table: a new kind is added at the end. Who reads the rows of
# which macros: index/dialect/cpp.py, FAMILIES.
DIALECT_KINDS: dict[DialectKind, KindTraits] = {
    "library": KindTraits("registrations", anchor="block"),
    "def": KindTraits("registrations", operator=True),
    "impl": KindTraits("registrations"),
    "stub-declare": KindTraits("stubs", like="stub-define", atlas="untyped", tag="prototype", cpp_name=True),
    "stub-define": KindTraits("stubs", tag="variable", cpp_name=True),
    "stub-register": KindTraits("stubs", cpp_name=True),
    "structured-impl": KindTraits("registrations", anchor=None, tag="function", cpp_name=True),
    "structured-meta": KindTraits("registrations", anchor=None, tag="function", cpp_name=True),
    "method": KindTraits("bindings"),
    "pybind": KindTraits("bindings", anchor=None),
    "flag": KindTraits("registrations", atlas="untyped", cpp_name=True),
    "list": KindTraits("macros", atlas=None, cpp_name=True),
    "yaml-function": KindTraits("YAML", anchor="entry", atlas=None, tag="operator", operator=True),
    "yaml-dispatch": KindTraits("YAML", anchor=None, atlas=None),
    "yaml-derivative": KindTraits("YAML", anchor="entry", atlas=None),
}
OPERATOR_KINDS = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.operator)


RefKey = tuple[str, str, RefKind, str | None, Extractor]  # name, text, kind, target, extractor
RefLines = dict[RefKey, list[int]]  # the references of one file, by all but their lines


def ref_lines(refs: Iterable[Ref]) -> RefLines:
    """The references of one file, those that differ in their lines alone together."""
    by_key: RefLines = {}
    for ref in refs:
        by_key.setdefault(ref[2:], []).append(ref.line)
    return by_key


@dataclass(frozen=True, slots=True)
class FileRecords:
    """Everything one file gave. `problems` are what the reader could not follow, for counting."""

    path: str
    language: Language
    symbols: tuple[Symbol, ...] = ()
    refs: RefLines = field(default_factory=dict)
    dialect: tuple[Dialect, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as the index knows it: content hash (hex), size in bytes, lines, and who extracted it."""

    path: str
    language: Language
    layer: str
    sha: str
    size: int
    lines: int
    extractor: Extractor = "tree-sitter"
