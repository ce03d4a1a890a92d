"""Bind the names of an expression: torch's own modules, the user's variables, seeded tensors for one-letter names."""

from __future__ import annotations

import ast
import builtins
import difflib
import math
import random
import re
from types import ModuleType
from typing import Any

import torch

from .autograd import tensors
from .syntax import Refused, attribute_chains, called_names, changed_in_place, free_names, own_names, parse
from .values import describe, fingerprint

SEED_NAME = re.compile(r"[A-Za-z]\d*\Z")
SIZE = (3, 3)
OURS = "__ptexplore__"  # the namespace's own name
CLOSE = (3, 0.6)  # how many near names are told, and how near they are
A_CLONE = " (a clone, so no leaf: in-place on a leaf that requires grad is an error)"


class Namespace:
    """The names an expression sees, and how each came to be (`bound`)."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.values: dict[str, Any] = {
            "__builtins__": builtins,
            "__name__": OURS,
            "torch": torch,
            "F": torch.nn.functional,
            "nn": torch.nn,
            "math": math,
        }
        self.bound: list[dict[str, Any]] = []

    def fill(self, tree: ast.Expression | None) -> None:
        """Seed, run --setup, make seeded tensors, evaluate --var. Raises Refused for names it cannot bind."""
        variables = [(name, parse(text, f"--var {name}"), text) for name, text in self.request["variables"]]
        self._seed()
        self._sample()
        before = dict(self.values)
        for number, code in enumerate(self.request["setup"]):
            self._setup(number, code)
        needs = [(free_names(text), called_names(parsed)) for _, parsed, text in variables]
        if tree is not None:
            needs.append((free_names(self.request["expression"]), called_names(tree)))
        given = {name for name, _, _ in variables}
        for name in dict.fromkeys(name for names, _ in needs for name in names):
            if name not in given and before.get(name, self) is not self.values.get(name, self):
                self._tell(name, "--setup")
        for names, called in needs:
            self._seeded(names, called, given)
        for name, parsed, _ in variables:
            self._variable(name, parsed)
        if self.request["grad"] and tree is not None:
            self._require_grad(changed_in_place(tree, lambda name: _is_module(self.values.get(name))))

    def _seed(self) -> None:
        """One seed for every source of random numbers; numpy only where it is named: it costs a tenth of a second."""
        seed = int(self.request.get("seed", 0))
        random.seed(seed)
        torch.manual_seed(seed)
        texts = [self.request.get("expression") or "", *self.request["setup"]]
        texts += [text for _, text in self.request["variables"]]
        if self.request.get("script") or any(re.search(r"\b(np|numpy)\b", text) for text in texts):
            try:
                import numpy
            except ImportError:
                return
            numpy.random.seed(seed)
            self.values["np"] = numpy

    def _sample(self) -> None:
        """Bind what a survey's sample gives: fresh values each time."""
        sample = self.request.get("sample")
        for name, value in sample().items() if sample is not None else ():
            self.values[name] = value
            self._tell(name, "OpInfo")

    def digest(self, result: Any) -> str | None:
        """A digest of a result; of a survey's sample also what became of its inputs, and their gradients."""
        if self.request.get("sample") is None:
            return fingerprint(result)
        given = [self.values[entry["name"]] for entry in self.bound]
        gradients = [tensor.grad for tensor in tensors(given) if tensor.is_leaf]
        return fingerprint([result, given, gradients])

    def _setup(self, number: int, code: str) -> None:
        what = f"--setup {number + 1}"
        try:
            exec(compile(code, f"<{what}>", "exec"), self.values)
        except SyntaxError as error:
            where = (error.lineno or 1, error.offset or 1) if error.filename == f"<{what}>" else None
            raise Refused("setup", f"--setup does not parse: {error.msg}", where=where, source=code) from error
        except BaseException as error:
            raise Refused("setup", f"--setup raised {type(error).__name__}: {text_of(error)}") from error

    def _seeded(self, names: list[str], called: set[str], given: set[str]) -> None:
        for name in names:
            if name in self.values or name in given or hasattr(builtins, name):
                continue
            if not SEED_NAME.match(name):
                raise Refused("name", f"name {name!r} is not defined", close=self._near(name, given))
            if name in called:
                raise Refused("name", f"name {name!r} is called, so it can be no seeded tensor")
            self.values[name] = torch.randn(*SIZE)
            self._tell(name, "seeded")

    def _near(self, name: str, given: set[str]) -> list[str]:
        """Names near an unknown one: those in sight, and torch's functions by their full names."""
        found = difflib.get_close_matches(name, [*self.values, *dir(builtins), *given], *CLOSE)
        for prefix, module in (("torch", torch), ("F", torch.nn.functional), ("nn", torch.nn)):
            public = [n for n in dir(module) if not n.startswith("_")]
            found += [f"{prefix}.{n}" for n in difflib.get_close_matches(name, public, 1, 0.8)]
        return found[:4]

    def _variable(self, name: str, parsed: ast.Expression) -> None:
        try:
            self.values[name] = eval(compile(parsed, f"<--var {name}>", "eval"), self.values)
        except BaseException as error:
            raise Refused("variable", f"--var {name} raised {type(error).__name__}: {text_of(error)}") from error
        self._tell(name, "--var")

    def _tell(self, name: str, how: str) -> None:
        self.bound.append({"name": name, "description": describe(self.values[name]), "how": how})

    def _require_grad(self, in_place: set[str]) -> None:
        """Make bound floating-point tensors require grad; non-leaves where the expression works in place."""
        for entry in self.bound:
            name = entry["name"]
            value: Any = self.values.get(name)
            if entry["how"] == "--setup" or not issubclass(type(value), torch.Tensor):
                continue
            if not (value.is_floating_point() or value.is_complex()):
                continue
            value = value if value.requires_grad else value.detach().requires_grad_()
            entry["description"] = describe(value)
            if name in in_place and value.is_leaf:
                value = value.clone()
                entry["description"] += A_CLONE
            self.values[name] = value


def check_attributes(tree: ast.AST, values: dict[str, Any]) -> None:
    """Refuse a misspelt name of a module (`torch.ad`) before anything runs, with the closest real ones."""
    own = own_names(tree)
    for first, *rest in attribute_chains(tree):
        value: Any = values.get(first)
        prefix = first
        for part in rest:
            if first in own or not _is_module(value):
                break
            try:
                inner = getattr(value, part)
            except AttributeError:
                close = [f"{prefix}.{n}" for n in difflib.get_close_matches(part, dir(value), *CLOSE)]
                raise Refused("attribute", f"{prefix} has no {part!r}", close=close) from None
            except Exception:
                break  # a module that is imported on first use, and fails to be: running the expression says so
            value, prefix = inner, f"{prefix}.{part}"


def _is_module(value: Any) -> bool:
    return issubclass(type(value), ModuleType)  # not isinstance: that asks the value's own __class__


def text_of(error: BaseException) -> str:
    """What an error says; its class may be the user's own, and say nothing."""
    try:
        return str(error)
    except Exception:
        return "(its message cannot be read)"
