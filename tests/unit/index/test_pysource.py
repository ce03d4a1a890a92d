"""Python source into symbols and references: the line of each name, extents, what operators a file uses."""

from __future__ import annotations

import ast
from pathlib import Path

from ptexplore.index.python import extract, module_name

TEXT = '''"""A module; aten.hidden is words only."""
import torch.nn as nn
import os, sys
from torch import (
    Tensor,
    overrides as o,
)
from . import sibling
from .deep.er import *

aten = torch.ops.aten
a, (b, c) = 1, (2, 3)
typed: int = 4
if a:
    inside_if = 1


@register_decomposition([aten.blend, aten.shade.out])
@outer.wraps
def blend(
    self: Tensor,
    *,
    alpha: float = 1,  # weight
) -> Tensor:
    local = 1
    return torch.ops.aten.blend.default(self) + make()(3).chained(local)


class Layer(nn.Module, metaclass=Meta):
    weight = 1

    @property
    def size(self):
        def helper():
            return aten.shade.out  # aten.not_this
        return helper()

    async def wait(self): await self.done.get()
'''


def test_symbols_stand_at_their_names() -> None:
    symbols, _, problems = extract("torch/mini/__init__.py", TEXT)
    assert problems == []
    lines = TEXT.splitlines()
    for one in symbols[1:]:
        assert one.name in lines[one.line - 1], one
        assert one.begin <= one.line <= one.end_line
    found = {one.qualified.removeprefix("torch.mini"): one for one in symbols}
    assert list(found) == [
        "", ".aten", ".a", ".b", ".c", ".typed", ".inside_if", ".blend", ".Layer", ".Layer.weight", ".Layer.size",
        ".Layer.size.helper", ".Layer.wait",
    ]  # fmt: skip
    assert (found[""].kind, found[""].name, found[""].scope) == ("namespace", "mini", "torch")
    assert found[".blend"].signature == "(self: Tensor, *, alpha: float = 1) -> Tensor"
    assert (found[".blend"].begin, found[".blend"].line, found[".blend"].end_line) == (18, 20, 26)
    assert found[".Layer.size.helper"].scope == "torch.mini.Layer.size.<locals>"
    assert {name: found[name].kind for name in (".typed", ".Layer.weight", ".Layer", ".Layer.wait")} == {
        ".typed": "variable", ".Layer.weight": "member", ".Layer": "class", ".Layer.wait": "function",
    }  # fmt: skip


def test_definitions_are_those_that_python_itself_finds() -> None:
    source = Path(ast.__file__).read_text(encoding="utf-8")
    symbols, _, _ = extract("ast.py", source)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    expected = sorted(
        (node.name, node.lineno, node.end_lineno) for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)
    )
    assert (
        sorted((one.name, one.line, one.end_line) for one in symbols if one.kind in ("function", "class")) == expected
    )


def test_references() -> None:
    _, refs, _ = extract("torch/mini.py", TEXT)
    found = {(one.line, one.kind, one.name, one.text) for one in refs}
    assert {
        (2, "import", "nn", "torch.nn"),
        (3, "import", "sys", "sys"),
        (5, "import", "Tensor", "torch.Tensor"),
        (6, "import", "overrides", "torch.overrides"),
        (8, "import", "sibling", ".sibling"),
        (9, "import", "er", ".deep.er"),
        (18, "call", "register_decomposition", "register_decomposition"),
        (18, "address", "blend", "aten.blend"),
        (18, "address", "shade", "aten.shade.out"),
        (19, "call", "wraps", "outer.wraps"),
        (26, "call", "default", "torch.ops.aten.blend.default"),
        (26, "call", "blend", "torch.ops.aten.blend.default"),
        (26, "call", "chained", ".chained"),
        (29, "inherit", "Module", "nn.Module"),
        (35, "address", "shade", "aten.shade.out"),
    } <= found
    names = {one.name for one in refs}
    assert not names & {"hidden", "not_this", "Meta"}
    assert [one.line for one in refs] == sorted(one.line for one in refs)


def test_broken_text_gives_what_is_sound() -> None:
    symbols, _, problems = extract("a.py", "def broken(:\n    pass\n\n\ndef sound():\n    pass\n")
    assert [one.line for one in symbols if one.name == "sound"] == [5]
    assert problems == ["line 1: not valid Python"]
    for text in ("", "\0", "\ud800 = 1", "(" * 3000, "x = 'é'\ndef f(): pass"):
        extract("a.py", text)
    assert next(one.line for one in extract("a.py", "x = 'é'\ndef f(): pass")[0] if one.name == "f") == 2


def test_module_names() -> None:
    assert module_name("torch/nn/functional.py") == "torch.nn.functional"
    assert module_name("torch/nn/__init__.pyi") == "torch.nn"
    assert module_name("setup.py") == "setup"
