"""What a name in native_functions.yaml or derivatives.yaml means: an entry, a kernel, a function of a formula.

The rules come from aten/src/ATen/native/README.md and from the top of derivatives.yaml. Formulas are compiled inside
torch::autograd::generated, with `using namespace details` (tools/autograd/templates/Functions.cpp).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ptexplore.index.dialect.yaml import without_comment
from ptexplore.lazy import remembered
from ptexplore.lookup.link_targets import is_own
from ptexplore.lookup.targets import candidates
from ptexplore.lookup.trees import Candidate, IndexedTree, spot
from ptexplore.model.symbols import Dialect

FUNCTIONS, DERIVATIVES = "native_functions.yaml", "derivatives.yaml"
_FUNCTIONS_PATH = f"aten/src/ATen/native/{FUNCTIONS}"
_NATIVE, _UFUNC, _DETAILS = "at::native", "at::native::ufunc", "torch::autograd::generated::details"
_WORD = re.compile(r"(?:\w+::)*[A-Za-z_][\w.]*")
_HEAD = re.compile(r"- (?:func|name):\s*(?P<name>[\w:.]+)")
_FIELD = re.compile(r"\s+(?P<field>[A-Za-z_][\w, ]*?)\s*:\s*")
_TENSOR_ARGUMENT = re.compile(r"\bTensor(?:\([^)]*\))?\??\s+(\w+)")
_RECEIVER = re.compile(r"(?P<object>\w+)\.$")
_UFUNC_KEYS = frozenset({"Generic", "ScalarOnly", "CUDAFunctor", "CUDAFunctorOnOther", "CUDAFunctorOnSelf"})
_RESULTS = frozenset({"grad", "result"})  # tensors that every formula may name, if the operator has one result


class YamlNames:
    """The names in the two files of some trees. Each file's entries are read once."""

    def __init__(self, trees: Sequence[IndexedTree]) -> None:
        self._trees = trees

    def is_read(self, path: str) -> bool:
        """Whether names in the file of this path have a meaning here."""
        return path.endswith((f"/{FUNCTIONS}", f"/{DERIVATIVES}"))

    def entry(self, tree: int, path: str, line: int) -> Dialect | None:
        """Returns the entry around a line of a file, or None."""
        rows = (row for row in self._entries(tree, path) if row.line <= line <= row.end_line)
        return next(rows, None)

    def operator(self, tree: int, name: str) -> Candidate | None:
        """Returns an operator by its full name, at its entry in native_functions.yaml of a tree."""
        row = next((row for row in self._entries(tree, _FUNCTIONS_PATH) if row.name == name), None)
        return self._candidate(tree, row) if row is not None else None

    def meant(self, tree: int, path: str, line: int, column: int) -> tuple[str, list[Candidate]]:
        """Returns the name at a place, and the things that it means; ("", []) if there is no name."""
        text = self._trees[tree].tree.line(path, line) or ""
        code = without_comment(text)
        word = next((w for w in _WORD.finditer(code) if w.start() <= column <= w.end()), None)
        entry = self.entry(tree, path, line)
        if word is None or entry is None:
            return "", []
        name = word[0].rstrip(".")
        head = _HEAD.match(code)
        if line == entry.line and head is not None:
            is_own = head.start("name") <= word.start() < head.end("name")
            own = self.operator(tree, entry.name) if is_own else None
            return (name, [own]) if own is not None else ("", [])
        if path.endswith(DERIVATIVES):
            return self._in_formula(tree, entry, code, column)
        field = _FIELD.match(code)
        if field is None or word.start() < field.end():
            return "", []
        return name, list(self._in_function(tree, entry, field["field"], name))

    def _in_function(self, tree: int, entry: Dialect, field: str, name: str) -> Iterator[Candidate]:
        """Yields the meanings of a value in an entry of native_functions.yaml."""
        if field == "structured_delegate":
            delegate = self.operator(tree, f"aten::{name}")
            if delegate is not None:
                yield delegate
        elif field == "structured_inherits":
            yield from self._named(tree, f"at::{name}", ("class", "struct"))
        elif field in _UFUNC_KEYS:
            yield from self._named(tree, f"{_UFUNC}::{name}", ("function",))
        elif name in self._kernels(tree, entry):
            yield from self._kernel(tree, name)

    def _kernels(self, tree: int, entry: Dialect) -> set[str | None]:
        rows = self._trees[tree].store.dialect(entry.name, ["yaml-dispatch"])
        return {row.target for row in rows if row.path == entry.path}

    def _kernel(self, tree: int, name: str) -> Iterator[Candidate]:
        """Yields the function of a kernel's name, or the `impl` of the structured kernel with that name."""
        qualified = name if "::" in name else f"{_NATIVE}::{name}"
        scope, _, last = qualified.rpartition("::")
        functions = list(self._named(tree, qualified, ("function",)))
        yield from functions or self._named(tree, f"{scope}::structured_{last}::impl", ("function",))

    def _in_formula(self, tree: int, entry: Dialect, code: str, column: int) -> tuple[str, list[Candidate]]:
        """Returns the function that a call in a formula means. Other names are arguments, which have no definition."""
        call = next((c for c in _CALL.finditer(code) if c.start("name") <= column <= c.end("name")), None)
        if call is None:
            return "", []
        name, before = call["name"], code[: call.start("name")]
        if before.endswith("."):
            receiver = _RECEIVER.search(before)
            tensors = {*_TENSOR_ARGUMENT.findall(entry.text), *_RESULTS}
            if receiver is None or receiver["object"] not in tensors:
                return "", []  # a scalar, a list, or the result of a call
            methods = [each for cls in _TENSORS for each in self._named(tree, f"{cls}::{name}", ("function",))]
            return name, self._family(tree, name, "method") or methods
        manual = list(self._named(tree, f"{_DETAILS}::{name}", ("function",)))
        operator = self._family(tree, name.removeprefix("at::"), "function")
        return name, manual or operator or list(
            self._named(tree, name if "::" in name else f"at::{name}", ("function",))
        )

    def _named(self, tree: int, qualified: str, kinds: tuple[str, ...]) -> Iterator[Candidate]:
        """Yields the C++ things with exactly this name: definitions if there are any, in this tree if it has some.

        A static function of another file is left out.
        """
        named = [c for c in candidates(self._trees, None, qualified) if c.kind in kinds and c.name == qualified]
        named = [c for c in named if c.symbol is not None and not is_own(c.symbol.path, static=c.symbol.static)]
        defined = [each for each in named if not each.declared] or named
        own = [each for each in defined if each.tree == tree or any(s.tree.name == self._name(tree) for s in each.also)]
        yield from own or defined

    def _name(self, tree: int) -> str:
        return self._trees[tree].tree.info.name

    def _family(self, tree: int, base: str, variant: str) -> list[Candidate]:
        """Returns the overloads of an operator that exist in C++ as a function, or as a method of a tensor.

        An overload that writes to its arguments has another name there: at::add_out.
        """
        rows = [row for row in self._by_base(tree).get(base, ()) if "!" not in row.text or base.endswith("_")]
        lines = self._trees[tree].tree.lines(_FUNCTIONS_PATH)
        return [self._candidate(tree, row) for row in rows if variant in _variants(lines[row.line - 1 : row.end_line])]

    @remembered
    def _by_base(self, tree: int) -> dict[str, list[Dialect]]:
        by_base = defaultdict[str, list[Dialect]](list)
        for row in self._entries(tree, _FUNCTIONS_PATH):
            by_base[row.name.rpartition("::")[2].partition(".")[0]].append(row)
        return by_base

    @remembered
    def _entries(self, tree: int, path: str) -> list[Dialect]:
        rows = self._trees[tree].store.dialect_in(path)
        return [row for row in rows if row.kind in ("yaml-function", "yaml-derivative")]

    def _candidate(self, tree: int, row: Dialect) -> Candidate:
        place = spot(self._trees[tree], row.path, row.line, row.end_line)
        return Candidate("operator", row.name, row.text, place, tree)


_TENSORS = ("at::Tensor", "at::TensorBase")
_CALL = re.compile(r"(?<![\w:])(?P<name>(?:\w+::)*[A-Za-z_]\w*)(?:<[\w:, ]*>)?\s*\(")


def _variants(lines: Sequence[str]) -> frozenset[str]:
    """Returns the variants of an entry: "function", "method". Without a `variants` line it is a function."""
    for line in lines:
        field, colon, value = line.strip().partition(":")
        if colon and field == "variants":
            return frozenset(part.strip() for part in without_comment(value).split(","))
    return frozenset({"function"})
