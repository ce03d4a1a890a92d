"""Resolves public Python names as `import` and attribute look-up would, but only from the files.

`torch.nn.Conv2d` is the class in torch/nn/modules/conv.py, since torch/nn/__init__.py imports it from there. Nothing is
imported and no code runs. Names that only running code binds (a loop over `dir(torch._C)`, a module's `__getattr__`)
have no definition here. Source of the rules: the Python language reference, "The import system" and "Execution model".
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ptexplore.errors import NOT_PYTHON
from ptexplore.source.tree import SourceTree

# Common short forms of these modules. Any other name is also looked up in torch ("optim.SGD", "Tensor.backward").
_SHORT = {"nn": "torch.nn", "F": "torch.nn.functional"}
# Bases from outside PyTorch that add no method a reader would look for.
_BARE = frozenset({"object", "Generic", "Protocol", "ABC", "Enum", "NamedTuple", "TypedDict"})

Step = tuple[str, int]  # a file and a line
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class PythonDefinition:
    """A definition of a Python name: `name` is the dotted name in its own file, `line` the line of that name.

    `through` are the imports and assignments that lead to it, starting in the module of the name asked for.
    """

    kind: Literal["module", "class", "function", "variable"]
    name: str
    path: str
    line: int
    through: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a definition: the module, and the statements of its scope; for a class also its own statement."""

    definition: PythonDefinition
    module: str
    scope: ast.ClassDef | None = None


def is_python_name(name: str) -> bool:
    """Whether a name has the form of Python's dotted names: not C++, not a path, not an operator with its namespace."""
    return "." in name and all(part.isidentifier() for part in name.split("."))


class PythonLookup:
    """Resolves the Python names of one tree. Each file is parsed once."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._bodies: dict[str, list[ast.stmt]] = {}
        self._exports: dict[str, set[str] | None] = {}
        self._patches: dict[str, set[str]] = {}
        self._known: dict[tuple[str, str], list[_Place]] = {}

    def definitions(self, name: str) -> list[PythonDefinition]:
        """Returns the definitions that a dotted name can mean: several if arms of an `if` or `try` bind it differently.

        Empty if the files do not define it.
        """
        first, dot, rest = name.partition(".")
        spellings = [_SHORT[first] + dot + rest] if first in _SHORT else [name, f"torch.{name}"]
        for spelling in spellings:
            parts = spelling.split(".")
            if all(part.isidentifier() for part in parts) and self._path(parts[0]) is not None:
                places = self._places(parts)
                if places:
                    return list({(d.path, d.line): d for d in (place.definition for place in places)}.values())
        return []

    def _places(self, parts: Sequence[str]) -> list[_Place]:
        """Resolves the parts of a name. Returns [] if names refer to each other in a circle:

        "class A(A)", "x = x" in a class.
        """
        try:
            places = self._attributes(parts, 1)
            # A name that a package binds may hide its module, but the module is imported nevertheless.
            for end in range(len(parts) - 1, 1, -1):
                places = places or self._attributes(parts, end)
        except RecursionError:
            self._known.clear()  # names that were being resolved are unknown
            return []
        return places

    def _attributes(self, parts: Sequence[str], end: int) -> list[_Place]:
        """Resolves the attributes behind the first `end` parts, if these parts are a module."""
        module = ".".join(parts[:end])
        places = [self._module(module)] if self._path(module) is not None else []
        for part in parts[end:]:
            places = [member for place in places for member in self._member(place, part)]
        return places

    # --- modules ---

    def _path(self, module: str) -> str | None:
        """Returns the file of a module: its source, else its stub."""
        base = module.replace(".", "/")
        files = (f"{base}/__init__.py", f"{base}.py", f"{base}/__init__.pyi", f"{base}.pyi")
        return next((path for path in files if self._tree.exists(path)), None)

    def _module(self, module: str) -> _Place:
        return _Place(PythonDefinition("module", module, self._path(module) or "", 1), module)

    def _body(self, module: str) -> list[ast.stmt]:
        """Returns the statements of a module. Empty if it has no file, or the file is not Python."""
        if module not in self._bodies:
            path = self._path(module)
            text = self._tree.read(path) if path is not None else None
            try:
                self._bodies[module] = ast.parse(text.text).body if text is not None else []
            except NOT_PYTHON:
                self._bodies[module] = []
        return self._bodies[module]

    def _imported_from(self, module: str, statement: ast.ImportFrom) -> str:
        """Returns the absolute name of the module in a `from` statement."""
        if not statement.level:
            return statement.module or ""
        path = self._path(module) or ""
        package = module.split(".") if path.rsplit("/", 1)[-1].startswith("__init__.") else module.split(".")[:-1]
        above = package[: len(package) - statement.level + 1]
        return ".".join([*above, statement.module] if statement.module else above)

    def _exported(self, module: str, name: str) -> bool:
        """Whether `from module import *` binds the name: by `__all__`, else every name without an underscore.

        A name that a stub imports does not count as its own (PEP 484, "Stub files").
        """
        if module not in self._exports:
            self._exports[module] = _listed(self._body(module))
        listed = self._exports[module]
        if listed is not None:
            return name in listed
        stub = (self._path(module) or "").endswith(".pyi")
        return not name.startswith("_") and not (stub and name in _imported_names(self._body(module)))

    def _patched(self, module: str) -> set[str]:
        """Returns the classes of a module that get attributes by `setattr`."""
        if module not in self._patches:
            calls = (node for statement in self._body(module) for node in ast.walk(statement))
            self._patches[module] = {
                node.args[0].id
                for node in calls
                if isinstance(node, ast.Call) and _last_name(node.func) == "setattr"
                and node.args and isinstance(node.args[0], ast.Name)
            }  # fmt: skip
        return self._patches[module]

    # --- look-up ---

    def _member(self, place: _Place, name: str) -> list[_Place]:
        """Resolves an attribute of a module or class."""
        if place.definition.kind == "module":
            return self._in_module(place.module, name)
        if place.scope is None:
            return []
        for owner in self._resolution_order(place):
            if owner is None or owner.scope is None:
                return []  # it may be in a base outside these files
            bound = _bound(owner.scope.body, name, None)
            if bound:
                return self._meant(bound, name, owner)
            if owner.scope.name in self._patched(owner.module):
                return []  # running code may have added it
        return []

    def _in_module(self, module: str, name: str) -> list[_Place]:
        """Resolves a name at the top of a module: a binding in its text, else the submodule of that name.

        The module may ask for this name while it is being resolved: "from torch import amp" in torch/__init__.py.
        """
        key = (module, name)
        if key not in self._known:
            submodule = f"{module}.{name}"
            inside = [self._module(submodule)] if self._path(submodule) is not None else []
            self._known[key] = inside
            bound = _bound(self._body(module), name, _Stars(self, module))
            self._known[key] = self._meant(bound, name, self._module(module)) or inside
        return self._known[key]

    def _resolution_order(self, place: _Place) -> Iterator[_Place | None]:
        """Returns the class and its bases in Python's resolution order. A base outside these files is None.

        The order is depth first, keeping the last of several occurrences. This equals C3's order if C3 has one and no
        base is missing (PEP 253, "MRO").
        """
        order: list[_Place | None] = []
        self._collect_bases(place, order)
        seen: set[object] = set()
        kept: list[_Place | None] = []
        for owner in reversed(order):
            key = owner.scope if owner is not None else None
            if key is None or key not in seen:
                seen.add(key)
                kept.append(owner)
        return reversed(kept)

    def _collect_bases(self, place: _Place, order: list[_Place | None]) -> None:
        order.append(place)
        if place.scope is None:
            return
        for base in place.scope.bases:
            expression = base.value if isinstance(base, ast.Subscript) else base
            classes = [base for base in self._expression(expression, place.module) if base.scope]
            if len(classes) == 1:
                self._collect_bases(classes[0], order)
            elif _last_name(expression) not in _BARE:
                order.append(None)

    def _expression(self, expression: ast.expr, module: str) -> list[_Place]:
        """Resolves a name or an attribute chain at the top of a module."""
        if isinstance(expression, ast.Name):
            return self._in_module(module, expression.id)
        if isinstance(expression, ast.Attribute):
            owners = self._expression(expression.value, module)
            return [member for owner in owners for member in self._member(owner, expression.attr)]
        return []

    def _meant(self, bound: Iterable[ast.stmt], name: str, owner: _Place) -> list[_Place]:
        """Returns the places that statements bind to a name in a module or class."""
        places: list[_Place] = []
        for statement in bound:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                handed_on = self._imported(statement, name, owner.module)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                handed_on = self._assigned(statement.value, owner)
            else:
                handed_on = []
            if handed_on:
                step = (owner.definition.path, statement.lineno)
                places += [_through(place, step) for place in handed_on]
            elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
                places.append(_defined(statement, name, owner))
        return places

    def _assigned(self, value: ast.expr, owner: _Place) -> list[_Place]:
        """Resolves the right side of an assignment. In a class, names bound in its body come first."""
        if owner.scope is not None and isinstance(value, ast.Name):
            bound = _bound(owner.scope.body, value.id, None)
            if bound:
                return self._meant(bound, value.id, owner)
        return self._expression(value, owner.module)

    def _imported(self, statement: ast.Import | ast.ImportFrom, name: str, module: str) -> list[_Place]:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                target = alias.name if alias.asname else alias.name.partition(".")[0]
                if (alias.asname or target) == name and self._path(target) is not None:
                    return [self._module(target)]
            return []
        source = self._imported_from(module, statement)
        wanted = next((a.name for a in statement.names if (a.asname or a.name) == name), name)
        return self._in_module(source, wanted) if self._path(source) is not None else []


@dataclass(frozen=True)
class _Stars:
    """Answers whether a `from … import *` of a module binds a name."""

    names: PythonLookup
    module: str

    def bind(self, statement: ast.ImportFrom, name: str) -> bool:
        source = self.names._imported_from(self.module, statement)
        if self.names._path(source) is None or not self.names._exported(source, name):
            return False
        return bool(self.names._in_module(source, name))


def _bound(body: Sequence[ast.stmt], name: str, stars: _Stars | None) -> list[ast.stmt]:
    """Returns the statements that may have bound the name after the body ran: the last one, or one for each arm."""
    return _binding(body, name, stars)[0]


def _binding(body: Sequence[ast.stmt], name: str, stars: _Stars | None) -> tuple[list[ast.stmt], bool]:
    """Returns the same statements, and whether one of them certainly bound the name."""
    binders: list[ast.stmt] = []
    for statement in reversed(body):
        if isinstance(statement, ast.If):
            arms = _arms(statement)
            of_arms = [_binding(arm, name, stars) for arm in arms]
        elif isinstance(statement, ast.Try):
            main = [*statement.body, *statement.orelse, *statement.finalbody]
            of_arms = [_binding(main, name, stars)]
            of_arms += [_binding(handler.body, name, stars) for handler in statement.handlers if not _raises(handler)]
        elif isinstance(statement, ast.With):
            of_arms = [_binding(statement.body, name, stars)]
        elif isinstance(statement, ast.Delete):
            if any(isinstance(target, ast.Name) and target.id == name for target in statement.targets):
                return binders, True
            continue
        else:
            if _binds(statement, name, stars) and not _adds_to(statement, name):
                binders.append(statement)
                if not _is_overload(statement):
                    return binders, True
            continue
        for of_arm, _certain in of_arms:
            binders += of_arm
        if of_arms and all(certain for _binders, certain in of_arms):
            return binders, True
    return binders, False


def _arms(statement: ast.If) -> list[list[ast.stmt]]:
    """Returns the arms of an `if` that can run: `TYPE_CHECKING` is always false."""
    test = ast.unparse(statement.test)
    if test in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        return [statement.orelse]
    if test in ("not TYPE_CHECKING", "not typing.TYPE_CHECKING"):
        return [statement.body]
    return [statement.body, statement.orelse]


def _raises(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)


def _binds(statement: ast.stmt, name: str, stars: _Stars | None) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return statement.name == name
    if isinstance(statement, ast.ImportFrom):
        if any(alias.name == "*" for alias in statement.names):
            return stars is not None and stars.bind(statement, name)
        return any((alias.asname or alias.name) == name for alias in statement.names)
    if isinstance(statement, ast.Import):
        return any((alias.asname or alias.name.partition(".")[0]) == name for alias in statement.names)
    if isinstance(statement, ast.Assign):
        return any(name in _targets(target) for target in statement.targets)
    if isinstance(statement, ast.AnnAssign):
        return name in _targets(statement.target)
    return False


def _targets(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from _targets(item)


def _is_overload(statement: ast.stmt) -> bool:
    """Whether it is one of several signatures in a stub, which all count."""
    return isinstance(statement, Function) and any(_last_name(d) == "overload" for d in statement.decorator_list)


def _adds_to(statement: ast.stmt, name: str) -> bool:
    """Whether a function is decorated with `@name.setter` or the like: an earlier statement defines the property."""
    return isinstance(statement, Function) and any(
        isinstance(decorator, ast.Attribute) and isinstance(decorator.value, ast.Name) and decorator.value.id == name
        for decorator in statement.decorator_list
    )


def _last_name(expression: ast.expr) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _listed(body: Sequence[ast.stmt]) -> set[str] | None:
    """Returns the names of a module's `__all__`. None if it has none, or not as a literal."""
    names: set[str] = set()
    written = False
    for statement in body:
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            continue
        if not isinstance(statement.value, (ast.List, ast.Tuple)):
            return None
        written = True
        names |= {str(item.value) for item in statement.value.elts if isinstance(item, ast.Constant)}
    return names if written else None


def _imported_names(body: Iterable[ast.stmt]) -> set[str]:
    """Returns the names that the top of a stub imports without exporting them as "X as X"."""
    imports = [statement for statement in body if isinstance(statement, (ast.Import, ast.ImportFrom))]
    return {alias.name for statement in imports for alias in statement.names if alias.asname is None}


def _through(place: _Place, step: Step) -> _Place:
    definition = replace(place.definition, through=(step, *place.definition.through))
    return replace(place, definition=definition)


def _defined(statement: ast.stmt, name: str, owner: _Place) -> _Place:
    """Returns the definition that a statement of a module or class makes."""
    qualified, path = f"{owner.definition.name}.{name}", owner.definition.path
    if isinstance(statement, ast.ClassDef):
        return _Place(PythonDefinition("class", qualified, path, statement.lineno), owner.module, statement)
    kind: Literal["function", "variable"] = "function" if isinstance(statement, Function) else "variable"
    return _Place(PythonDefinition(kind, qualified, path, statement.lineno), owner.module)
