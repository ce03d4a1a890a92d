"""Facts from the generated files: registrations, entry points, nodes, and the Python names of PyMethodDef tables.

A file is read by the extractors of the index. The tables are written by tools/autograd/gen_python_functions.py into
tools/autograd/templates/python_*.cpp.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from ptexplore.catalogue.bodies import BodyFacts, read_body
from ptexplore.model.operators import Binding
from ptexplore.model.symbols import Dialect, Symbol

# Version of the facts. Raise it if a file that did not change gives other facts than before.
RECIPE = 1
# at::Tensor in a header of the wheel, its methods in a file that the wheel lacks, and the members of nodes.
MEMBERS = (
    "build/aten/src/ATen/core/TensorBody.h",
    "build/aten/src/ATen/core/TensorMethods.cpp",
    "torch/csrc/autograd/generated/Functions.h",
)
Place = tuple[str, str, str, int, int]  # symbol, kind, path, first line, last line

_KERNELS = ("Register", "VariableType", "TraceType", "ADInplaceOrViewType")
_HELPED = ("at", "at::functionalization", "torch::autograd::VariableType", "torch::TraceType",
           "torch::ADInplaceOrView")  # fmt: skip
# the name that torchgen/gen.py (ComputeOperators) gives to the function that looks an operator up
_HANDLE = "_typed_handle"
_BASE = re.compile(r"\bpublic\s+(at::(?:native|meta)::structured_\w+)")
_ENTRY_POINTS = "at::_ops::"
# The function that each macro of ATen/TensorMeta.h defines.
_STRUCTURED = {"TORCH_IMPL_FUNC": "impl"} | dict.fromkeys(
    ("TORCH_META_FUNC", "TORCH_META_FUNC2", "TORCH_PRECOMPUTE_META_FUNC", "TORCH_PRECOMPUTE_META_FUNC2"), "meta"
)


@dataclass(frozen=True, slots=True)
class RegisteredFunction:
    """The function that one m.impl registers, and facts from its body.

    `name` is None for a kernel made by a hand-written factory. `count` is the number of definitions of the function in
    the file, or None for a hand-written function that is registered directly. `base` is the base class of the
    structured kernel in the body.
    """

    name: str | None
    count: int | None = None
    line: int | None = None
    end_line: int | None = None
    body: BodyFacts | None = None
    base: str | None = None


@dataclass
class Facts:
    """Facts from generated files. `blocks` has the rows of library blocks and of the registrations in them, by path."""

    blocks: dict[str, list[Dialect]] = field(default_factory=dict)
    functions: dict[str, dict[int, RegisteredFunction]] = field(default_factory=dict)  # by path and line of the m.impl
    entry_points: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    nodes: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    definitions: list[Place] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)

    def add(self, other: Facts) -> None:
        """Adds the facts of another file."""
        self.blocks.update(other.blocks)
        self.functions.update(other.functions)
        for name, places in other.entry_points.items():
            self.entry_points.setdefault(name, {}).update(places)
        self.nodes.update(other.nodes)
        self.bindings += other.bindings
        self.definitions += other.definitions
        self.symbols += other.symbols


def facts_of(file: GeneratedFile) -> Facts:
    """Returns the facts of one generated file."""
    facts = Facts()
    facts.blocks[file.path] = [row for row in file.dialect if row.kind in ("library", "def", "impl")]
    facts.functions[file.path] = dict(registered_functions(file))
    name = os.path.basename(file.path)
    if name.startswith("Operators_"):
        for cpp_name, method, line in entry_points(file):
            facts.entry_points.setdefault(cpp_name, {})[method] = (file.path, line)
    elif name == "Functions.cpp":
        facts.nodes.update({node: (file.path, line, end) for node, line, end in applies(file)})
    elif name.startswith("python_"):
        facts.bindings += bindings_of(file)
    elif name.startswith(("Ufunc", "CompositeViewCopy")):
        facts.definitions += definitions(file)
    registered = {function.name for function in facts.functions[file.path].values()}
    facts.symbols += unregistered(file, registered)
    return facts


def registered_functions(file: GeneratedFile) -> Iterator[tuple[int, RegisteredFunction]]:
    """Yields the line of every m.impl and what it registers.

    A function that is registered several times is read once.
    """
    known: dict[tuple[str, str], RegisteredFunction] = {}
    for row in file.dialect:
        if row.kind != "impl" or row.block is None:
            continue
        scope = file.namespace_at(row.block)
        key = (scope, row.text)
        if key not in known:
            known[key] = _registered(file, row, scope)
        yield row.line, known[key]


def _registered(file: GeneratedFile, row: Dialect, scope: str) -> RegisteredFunction:
    if row.target is None or not row.text.startswith("TORCH_FN"):
        return RegisteredFunction(row.target)
    definitions = file.function(row.target, scope)
    if len(definitions) != 1:
        return RegisteredFunction(row.target, len(definitions))
    function = definitions[0]
    body = read_body(file.body(function))
    base = _base(file, body.structured, function) if body.structured is not None else None
    return RegisteredFunction(function.qualified, 1, function.line, function.end_line, body, base)


def _base(file: GeneratedFile, name: str, function: Symbol) -> str | None:
    """Returns the base class of the class `name`, which is used in a function."""
    classes = file.classes(name, function.qualified.rpartition("::")[0])
    match = _BASE.search(file.head(classes[0])) if len(classes) == 1 else None
    return match[1] if match else None


def entry_points(file: GeneratedFile) -> Iterator[tuple[str, str, int]]:
    """Yields (cpp name, "call" or "redispatch", line) of each at::_ops entry point of an Operators_*.cpp."""
    for function in file.functions:
        scope, _, method = function.qualified.rpartition("::")
        if method in ("call", "redispatch") and scope.startswith(_ENTRY_POINTS):
            yield scope.removeprefix(_ENTRY_POINTS), method, function.line


def applies(file: GeneratedFile) -> Iterator[tuple[str, int, int]]:
    """Yields (node, first line, last line) of each `X::apply` of Functions.cpp that is defined once."""
    nodes = []
    for function in file.functions_named("apply"):
        namespace = file.namespace_at(function.line)
        written = function.qualified.removeprefix(f"{namespace}::" if namespace else "")
        if "::" in written:
            nodes.append((written.rpartition("::")[0], function))
    count = Counter(node for node, _ in nodes)
    return ((node, function.line, function.end_line) for node, function in nodes if count[node] == 1)


def definitions(file: GeneratedFile) -> Iterator[Place]:
    """Yields every function, structured implementation and stub that a file defines.

    Records elsewhere may name these.
    """
    for definition in file.functions:
        kind = "function" if definition.macro is None else _STRUCTURED.get(definition.macro)
        if kind is not None:
            yield definition.qualified, kind, file.path, definition.line, definition.end_line
    for row in file.dialect:
        if row.kind == "stub-define":
            yield f"at::native::{row.name}", "stub", file.path, row.line, row.end_line


def unregistered(file: GeneratedFile, registered: Collection[str | None]) -> Iterator[Symbol]:
    """Yields the functions that no record names: functions in the text of a template, and members of classes.

    In files of kernels, these are the functions of structured kernels for outputs, and the helpers beside the
    `registered` kernels. In files of entry points, they are the functions that look an operator up on its first call.
    The other functions of these files are kernels, their direct forms (`at::cpu::…`), or functions behind Python's
    names, and records lead to all of these.
    """
    name = os.path.basename(file.path)
    for function in file.functions:
        if name.startswith(_KERNELS):
            helper = function.qualified not in registered and function.macro is None
            helper = helper and file.namespace_at(function.line) in _HELPED
            wanted = helper or "::structured_" in function.qualified
        elif name.startswith("Operators_"):
            wanted = function.name.endswith(_HANDLE)
        elif name.startswith("python_"):
            wanted = not function.name.startswith("THPVariable_")
        else:
            wanted = file.path in MEMBERS
        if wanted:
            yield function


_line = attrgetter("line")
_CLASSES = ("class", "struct")


class GeneratedFile:
    """The results of `index.cpp` and `index.dialect` for one file, by name and by line."""

    def __init__(self, path: str, text: str, symbols: Sequence[Symbol], dialect: Sequence[Dialect]) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.dialect = dialect
        self.functions = [symbol for symbol in symbols if symbol.kind == "function" and symbol.role == "definition"]
        self._symbols = symbols

    @cached_property
    def _by_name(self) -> dict[str, list[Symbol]]:
        """The functions and classes that the file defines, by the last part of their name."""
        by_name: dict[str, list[Symbol]] = defaultdict(list)
        for symbol in self._symbols:
            if symbol.role == "definition" and (symbol.kind == "function" or symbol.kind in _CLASSES):
                by_name[symbol.name].append(symbol)
        return by_name

    @cached_property
    def _namespaces(self) -> list[Symbol]:
        """Every namespace. If several begin on one line, the first one in the text is last."""
        last_first = [symbol for symbol in reversed(self._symbols) if symbol.kind == "namespace"]
        return sorted(last_first, key=_line)

    def functions_named(self, name: str) -> list[Symbol]:
        """Returns every function of that name, whatever its scope."""
        return [symbol for symbol in self._by_name.get(name, ()) if symbol.kind == "function"]

    def namespace_at(self, line: int) -> str:
        """Returns the namespaces around a line. Anonymous ones are omitted, as in PyTorch's own messages."""
        for at in range(bisect_right(self._namespaces, line, key=_line) - 1, -1, -1):
            if line <= self._namespaces[at].end_line:
                return self._namespaces[at].qualified
        return ""

    def function(self, name: str, scope: str) -> list[Symbol]:
        """Returns the functions that `name` can mean in a scope."""
        return self._meant(name, scope, ("function",))

    def classes(self, name: str, scope: str) -> list[Symbol]:
        """Returns the classes that `name` can mean in a scope."""
        return self._meant(name, scope, _CLASSES)

    def _meant(self, name: str, scope: str, kinds: tuple[str, ...]) -> list[Symbol]:
        """Looks a name up as the compiler does: returns the definitions of the innermost scope that has any."""
        named = [symbol for symbol in self._by_name.get(name.rsplit("::", 1)[-1], ()) if symbol.kind in kinds]
        around = scope.split("::") if scope else []
        for depth in range(len(around), -1, -1):
            wanted = "::".join([*around[:depth], name])
            meant = [symbol for symbol in named if symbol.qualified == wanted]
            if meant:
                return meant
        return []

    def head(self, symbol: Symbol) -> str:
        """Returns the text of a definition from its beginning to its opening brace."""
        return self._text(symbol.begin, symbol).partition("{")[0]

    def body(self, symbol: Symbol) -> str:
        """Returns the text of a definition between its braces."""
        return self._text(symbol.line, symbol).partition("{")[2].rpartition("}")[0]

    def _text(self, first: int, symbol: Symbol) -> str:
        return "\n".join(self.lines[first - 1 : symbol.end_line])


# The array of each generated table, and Python's name of the object that it fills.
TABLES = {
    "torch_functions_shard": "torch",
    "torch_functions": "torch",
    "variable_methods": "Tensor",
    "nn_functions": "nn",
    "linalg_functions": "linalg",
    "fft_functions": "fft",
    "special_functions": "special",
    "sparse_functions": "sparse",
    "nested_functions": "nested",
}

_FUNCTION = re.compile(r"(\w+)[>)\s]*,\s*METH_")  # inside casts and wrappers
_SCHEMA = re.compile(r"^\s*// (aten::[\w.]+)\(", re.MULTILINE)


def bindings_of(file: GeneratedFile) -> list[Binding]:
    """Returns the rows of every PyMethodDef table in `file` whose C function is defined exactly once there.

    `ops` of a binding are all operators that its body names, in one comment line for each signature. Deprecated
    signatures are marked `[deprecated]` and name no operator of their own.
    """
    rows = [row for row in file.dialect if row.kind == "method" and row.context in TABLES]
    return [binding for row in rows if (binding := _binding(file, row)) is not None]


def _binding(file: GeneratedFile, row: Dialect) -> Binding | None:
    function = _FUNCTION.search(row.text)
    bodies = file.functions_named(function[1]) if function else []
    if function is None or len(bodies) != 1:
        return None
    body = bodies[0]
    return Binding(
        table=TABLES[row.context or ""],
        name=row.name,
        c_function=function[1],
        path=file.path,
        line=body.line,
        end_line=body.end_line,
        entry_line=row.line,
        ops=tuple(dict.fromkeys(_SCHEMA.findall(file.body(body)))),
    )
