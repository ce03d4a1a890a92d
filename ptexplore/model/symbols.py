"""The records of a source index: symbols, references, macro dialect with its table of kinds, and files."""

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
    """A definition or declaration. A tuple, as Ref is, because there are very many.

    `qualified` omits what C++ looks through: anonymous and inline namespaces, CPU_CAPABILITY
    ("at::native::add_kernel"). `scope` keeps them, as the name in the binary does
    ("at::native::CPU_CAPABILITY::(anonymous namespace)").

    `line` (from 1) is the line of the name in its declarator. `begin` is the first line of the whole symbol (template
    head, return type), `end_line` the line of the closing brace or semicolon.

    `signature` is the parameter list as written, on one line, with what follows it ("(const Tensor& self) const").
    `parameters` has only the types, without names and defaults, with normalised spaces; it is None if the symbol has no
    usable parameter list. A type that an `#if` inside the list may remove begins with "#if ".

    `guards` are the `#if` conditions around the symbol, outermost first, without comments ("defined(USE_CUDA)",
    "!(AT_MKL_ENABLED())" for the `#else`). The include guard of a header is not one of them.

    `macro` is the macro that made the symbol (TORCH_IMPL_FUNC, IMPLEMENT_VML_KERNEL). Then `line` is the line of the
    macro argument that names the symbol, or of the invocation.
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
    static: bool = False  # internal linkage: `static` at namespace scope, or in an anonymous namespace
    extractor: Extractor = "tree-sitter"
    virtual: bool = False  # the declaration says `virtual`; an overriding function need not say it


class Ref(NamedTuple):
    """A use of a name. A tuple, because a tree has hundreds of thousands of them.

    `text` is the use as written, without spaces ("at::native::resize_output", "self.sizes"). `name` is its last part.
    `target` is the qualified name that it resolves to, if a semantic extractor knows it; with parameter types if the
    extractor knows the overload: "at::add(const Tensor &, int)".
    """

    path: str
    line: int
    name: str
    text: str
    kind: RefKind
    target: str | None = None
    extractor: Extractor = "tree-sitter"


class Dialect(NamedTuple):
    """One row of PyTorch's macro dialect. `line` is the first line of the macro or call, `end_line` the last.

    ================  =======================  ====================  ==================================================
    kind              name                     context               target
    ================  =======================  ====================  ==================================================
    library           namespace ("aten", "_")  key or None           None; the block is line..end_line
    def               "aten::add.Tensor"       None                  kernel as a bare name, if given
    impl              "aten::add.Tensor"       key ("CPU")           kernel as a bare name ("at::native::add")
    stub-declare      stub ("add_stub")        function type         None
    stub-define       stub                     None                  None
    stub-register     stub                     arch or device, see   kernel as a bare name, None for nullptr
                                               the macro ("CUDA")
    structured-impl   "add_out"                None                  "at::native::structured_add_out::impl"
    structured-meta   "add_Tensor"             None                  "at::meta::structured_add_Tensor::meta"
    method            Python name              table's variable      C function
    pybind            Python name              receiver as written   C++ function, if it is a plain name
    flag              "caffe2_x"               C++ type              None
    list              macro's name             None                  None; a list macro (AT_FORALL_…)
    yaml-function     "aten::add.Tensor"       None                  None; native_functions.yaml's entry
    yaml-dispatch     "aten::add.Tensor"       key                   kernel's name as written
    yaml-derivative   "aten::add.Tensor"       None                  None; derivatives.yaml's entry
    ================  =======================  ====================  ==================================================

    `block` is the line of the TORCH_LIBRARY(_IMPL) macro around a def or impl; the binary records this line.
    `macro` is the macro as written ("TORCH_LIBRARY_IMPL", "REGISTER_ARCH_DISPATCH", "REGISTER_C10D_OP"). `text` is
    its content on one line, at most 300 characters (the schema, the kernel expression).
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
    """How ptexplore treats the dialect rows of one kind.

    `group` is the heading for them in `refs`. `anchor` says how the anchor of a note names such a row: by its "name",
    as a "block" ("TORCH_LIBRARY_IMPL(aten, CPU)"), or as a YAML "entry". It is None if an anchor cannot name the row,
    because the row is inside another one, or because the macro makes a symbol that the anchor names instead.

    `like` is the kind that replaces this kind when an anchor is compared with its baseline. `atlas` says what an atlas
    keeps: the "row", the row "untyped" (its context is a C++ type, which is source text), or nothing, because every
    wheel has the file. `tag` is the kind in a tags file; None if the tag of the symbol is enough.

    `operator`: the row shows that an operator exists, so `find` and `show` list it. `cpp_name`: the name is a C++ name,
    so a qualified C++ name can mean it.
    """

    group: Literal["registrations", "stubs", "bindings", "macros", "YAML"]
    anchor: Literal["name", "block", "entry"] | None = "name"
    like: DialectKind | None = None
    atlas: Literal["row", "untyped"] | None = "row"
    tag: Literal["function", "prototype", "variable", "operator"] | None = None
    operator: bool = False
    cpp_name: bool = False


# An index and an atlas store a kind as its position in this table, so add a new kind at the end.
# index/dialect/cpp.py, FAMILIES: the readers of the macros.
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
RefLines = dict[RefKey, list[int]]  # the references of one file, grouped by everything except their lines


def ref_lines(refs: Iterable[Ref]) -> RefLines:
    """Returns the references of one file, grouped by everything except their lines."""
    by_key: RefLines = {}
    for ref in refs:
        by_key.setdefault(ref[2:], []).append(ref.line)
    return by_key


@dataclass(frozen=True, slots=True)
class FileRecords:
    """Everything extracted from one file. `problems` lists what the reader could not follow, to be counted."""

    path: str
    language: Language
    symbols: tuple[Symbol, ...] = ()
    refs: RefLines = field(default_factory=dict)
    dialect: tuple[Dialect, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file in the index: content hash (hex), size in bytes, number of lines, and the extractor."""

    path: str
    language: Language
    layer: str
    sha: str
    size: int
    lines: int
    extractor: Extractor = "tree-sitter"
