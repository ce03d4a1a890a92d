"""Bind the names of an expression: torch's own modules, the user's variables, seeded tensors for one-letter names."""

from __future__ import annotations

import ast
import builtins
import difflib
import math
import random
import re
import symtable
from typing import Any

import torch

SEED_NAME = re.compile(r"[A-Za-z]\d*\Z")
SIZE = (3, 3)


class Refused(Exception):
    """What the user wrote cannot be run; `kind` says how, `where` is (line, column) in it, `close` are near names."""

    def __init__(
        self, kind: str, message: str, where: tuple[int, int] | None = None, close: list[str] | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.where = where
        self.close = close or []


def parse(expression: str, what: str) -> ast.Expression:
    """The expression's tree. Raises Refused for what is no single expression."""
    if not expression.strip():
        raise Refused("empty", f"{what} is empty")
    source = expression.strip()
    try:
        return ast.parse(source, filename=f"<{what}>", mode="eval")
    except SyntaxError as error:
        try:
            statements = ast.parse(source).body
        except (SyntaxError, ValueError):
            where = (error.lineno or 1, error.offset or 1)
            raise Refused("syntax", f"{error.msg}", where=where) from None
        number = len(statements)
        noun = f"{number} statements" if number > 1 else "a statement"
        raise Refused("statements", f"{what} is {noun}, not one expression") from None
    except (ValueError, MemoryError, RecursionError) as error:  # NUL bytes, absurd nesting
        raise Refused("syntax", str(error) or "too deeply nested") from None


def free_names(expression: str) -> list[str]:
    """Names that the expression reads and does not bind itself, in order of appearance."""
    table = symtable.symtable(expression.strip(), "<expression>", "eval")
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned()}
    found: set[str] = set()

    def collect(scope: symtable.SymbolTable) -> None:
        for symbol in scope.get_symbols():
            if symbol.is_global() or (scope is table and symbol.is_referenced()):
                found.add(symbol.get_name())
        for child in scope.get_children():
            collect(child)

    collect(table)
    names = [n for n in ast.walk(ast.parse(expression.strip(), mode="eval")) if isinstance(n, ast.Name)]
    names.sort(key=lambda n: (n.lineno, n.col_offset))
    return [name for name in dict.fromkeys(n.id for n in names) if name in found - bound]


def called_names(tree: ast.AST) -> set[str]:
    """Names that are called: those can be no tensor."""
    return {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def mutates(tree: ast.AST) -> bool:
    """Whether the expression calls something in place, by PyTorch's naming convention (`add_`)."""
    names = [_name(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return any(name.endswith("_") and not name.endswith("__") for name in names)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def describe(value: Any) -> str:
    """A value in a few words; a tensor's shape, dtype, device and whether it requires grad."""
    if isinstance(value, torch.Tensor):
        sizes = ", ".join(str(s) for s in value.shape)
        layout = "" if value.layout == torch.strided else f" {str(value.layout).removeprefix('torch.')}"
        grad = " requires_grad" if value.requires_grad else ""
        kind = "Tensor" if type(value) is torch.Tensor else type(value).__name__
        return f"{kind}[{sizes}] {str(value.dtype).removeprefix('torch.')} {value.device}{layout}{grad}"
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(v, torch.Tensor) for v in value)
        and len(value) < 9
    ):
        return f"{type(value).__name__} of {', '.join(describe(v) for v in value)}"
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return repr(value)[:200]
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


class Namespace:
    """The names an expression sees, and how each came to be (`bound`)."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.values: dict[str, Any] = {
            "__builtins__": builtins,
            "__name__": "__ptexplore__",
            "torch": torch,
            "F": torch.nn.functional,
            "nn": torch.nn,
            "math": math,
        }
        self.bound: list[dict[str, Any]] = []

    def fill(self, tree: ast.Expression | None) -> None:
        """Seed, run --setup, make seeded tensors, evaluate --var. Raises Refused for names it cannot bind."""
        seed = int(self.request.get("seed", 0))
        random.seed(seed)
        torch.manual_seed(seed)
        variables = [(name, parse(text, f"--var {name}"), text.strip()) for name, text in self.request["variables"]]
        self._numpy(seed)
        for number, code in enumerate(self.request["setup"]):
            self._setup(number, code)
        given = {name for name, _, _ in variables}
        sources = [text for _, _, text in variables] + ([self.request["expression"]] if tree is not None else [])
        trees = [parsed for _, parsed, _ in variables] + ([tree] if tree is not None else [])
        for source, parsed in zip(sources, trees, strict=True):
            self._seeded(free_names(source), called_names(parsed), given)
        for name, parsed, _ in variables:
            try:
                self._bind(name, eval(compile(parsed, f"<--var {name}>", "eval"), self.values), "--var")
            except Exception as error:
                raise Refused("variable", f"--var {name} raised {type(error).__name__}: {error}") from error
        if self.request["grad"] and tree is not None:
            self._require_grad(tree)

    def _numpy(self, seed: int) -> None:
        """numpy only where it is named: importing it costs a tenth of a second."""
        texts = [
            self.request.get("expression") or "",
            *self.request["setup"],
            *(t for _, t in self.request["variables"]),
        ]
        if self.request.get("script") or any(re.search(r"\bnp\b", text) for text in texts):
            try:
                import numpy
            except ImportError:
                return
            numpy.random.seed(seed)
            self.values["np"] = numpy

    def _setup(self, number: int, code: str) -> None:
        before = dict(self.values)
        try:
            exec(compile(code, f"<--setup {number + 1}>", "exec"), self.values)
        except SyntaxError as error:
            raise Refused("setup", f"--setup does not parse: {error.msg} (line {error.lineno})") from error
        except Exception as error:
            raise Refused("setup", f"--setup raised {type(error).__name__}: {error}") from error
        for name, value in self.values.items():
            if name != "__builtins__" and before.get(name, self) is not value:
                self.bound.append({"name": name, "description": describe(value), "how": "--setup"})

    def _seeded(self, names: list[str], called: set[str], given: set[str]) -> None:
        for name in names:
            if name in self.values or name in given or hasattr(builtins, name):
                continue
            if SEED_NAME.match(name) and name not in called:
                self._bind(name, torch.randn(*SIZE), "seeded")
                continue
            what = "is called, so it can be no seeded tensor" if SEED_NAME.match(name) else "is not defined"
            known = [*self.values, *dir(builtins), *given]
            raise Refused("name", f"name {name!r} {what}", close=difflib.get_close_matches(name, known, 3, 0.6))

    def _bind(self, name: str, value: Any, how: str) -> None:
        self.values[name] = value
        self.bound.append({"name": name, "description": describe(value), "how": how})

    def _require_grad(self, tree: ast.AST) -> None:
        """Make bound floating-point tensors require grad; non-leaves where the expression works in place."""
        in_place = mutates(tree)
        for entry in self.bound:
            value = self.values.get(entry["name"])
            if entry["how"] == "--setup" or not isinstance(value, torch.Tensor):
                continue
            if not (value.is_floating_point() or value.is_complex()):
                continue
            value = value.detach().requires_grad_() if not value.requires_grad else value
            entry["description"] = describe(value)
            if in_place:
                value = value.clone()
                entry["description"] += " (a clone, so no leaf: in-place on a leaf that requires grad is an error)"
            self.values[entry["name"]] = value


def check_attributes(tree: ast.AST, values: dict[str, Any]) -> None:
    """Refuse a misspelt name of a module (`torch.ad`) before anything runs, with the closest real ones."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        chain = _chain(node)
        if chain is None or type(values.get(chain[0])).__name__ != "module":
            continue
        value: Any = values[chain[0]]
        for number, part in enumerate(chain[1:]):
            if type(value).__name__ != "module":
                break
            if not hasattr(value, part):
                prefix = ".".join(chain[: number + 1])
                close = [f"{prefix}.{n}" for n in difflib.get_close_matches(part, dir(value), 3, 0.6)]
                raise Refused("attribute", f"{prefix} has no {part!r}", close=close)
            value = getattr(value, part)


def _chain(node: ast.Attribute) -> list[str] | None:
    parts = [node.attr]
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    return [inner.id, *reversed(parts)] if isinstance(inner, ast.Name) else None
