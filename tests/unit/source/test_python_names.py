"""Public Python names on a small tree: each expected place is where Python's own import system would find it."""

from __future__ import annotations

import pytest

from ptexplore.model.places import Checkout
from ptexplore.source.python_names import PythonLookup, is_python_name
from ptexplore.source.tree import checkout_tree

FILES = {
    "torch/__init__.py": """\
        from typing import TYPE_CHECKING
        from torch import amp as amp
        from .serialization import load, save as keep
        from torch._C import *
        if TYPE_CHECKING:
            from .nowhere import hidden
        else:
            from ._tensor import Tensor
        try:
            from .quick import solve
        except ImportError:
            def solve(): ...
        def compile(model): ...
        def compile(model, mode=None): ...
        for name in dir(amp):
            globals()[name] = getattr(amp, name)
        """,
    "torch/amp/__init__.py": "from .mode import autocast\n__all__ = ['autocast']\n",
    "torch/amp/mode.py": "class autocast:\n    def __enter__(self): ...\n",
    "torch/serialization.py": "def load(f): ...\n\ndef save(f): ...\n",
    "torch/quick.py": "def solve(): ...\n",
    "torch/_tensor.py": """\
        import torch
        class Tensor(torch._C.TensorBase):
            def backward(self): ...
            @property
            def grad(self): ...
            @grad.setter
            def grad(self, value): ...
            __call__ = backward
        """,
    "torch/_C/__init__.pyi": """\
        from typing import overload
        from torch.types import Storage
        from torch.types import Number as Number
        class TensorBase:
            def add(self, other): ...
            @overload
            def sum(self): ...
            @overload
            def sum(self, dim): ...
        def _private(): ...
        """,
    "torch/types.py": "class Storage: ...\nclass Number: ...\n",
    "torch/nn/__init__.py": "from torch.nn.modules import *\nfrom . import functional\n",
    "torch/nn/functional.py": "import torch\nconv = _doc(torch.conv)\nrelu = conv\n",
    "torch/nn/modules/__init__.py": "from .conv import Conv2d\nfrom .module import Module\n__all__ = ['Conv2d']\n",
    "torch/nn/modules/module.py": "class Module:\n    def train(self): ...\n    def forward(self): ...\n",
    "torch/nn/modules/conv.py": """\
        from .module import Module
        from elsewhere import Mixin
        class _Conv(Module):
            def forward(self): ...
        class Conv2d(_Conv): ...
        class Mixed(Mixin, Module): ...
        class Left(Module):
            def train(self): ...
        class Both(_Conv, Left): ...
        for name in ("eval",):
            setattr(Left, name, None)
        """,
    "torch/broken.py": "def (\n",
    "torch/circles.py": """\
        from elsewhere import Own
        class Own(Own):
            same = same
        class There(Back): ...
        class Back(There): ...
        def plain(): ...
        """,
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> PythonLookup:
    import textwrap

    root = tmp_path_factory.mktemp("names")
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(textwrap.dedent(text), encoding="utf-8")
    return PythonLookup(checkout_tree(Checkout("tree", "git", str(root), "a test")))


@pytest.mark.parametrize(
    ("asked", "kind", "place"),
    [
        ("torch.load", "function", "torch/serialization.py:1"),
        ("torch.keep", "function", "torch/serialization.py:3"),
        ("torch.compile", "function", "torch/__init__.py:14"),  # the later one
        ("torch.amp", "module", "torch/amp/__init__.py:1"),  # torch asks itself for it
        ("torch.amp.autocast.__enter__", "function", "torch/amp/mode.py:2"),
        ("torch.Tensor", "class", "torch/_tensor.py:2"),
        ("torch.Tensor.backward", "function", "torch/_tensor.py:3"),
        ("Tensor.backward", "function", "torch/_tensor.py:3"),
        ("torch.Tensor.__call__", "function", "torch/_tensor.py:3"),
        ("torch.Tensor.grad", "function", "torch/_tensor.py:5"),  # the getter
        ("torch.Tensor.add", "function", "torch/_C/__init__.pyi:5"),
        ("torch.TensorBase.add", "function", "torch/_C/__init__.pyi:5"),
        ("torch.Number", "class", "torch/types.py:2"),
        ("torch.nn.Conv2d", "class", "torch/nn/modules/conv.py:5"),
        ("nn.Conv2d.forward", "function", "torch/nn/modules/conv.py:4"),
        ("nn.Conv2d.train", "function", "torch/nn/modules/module.py:2"),
        ("torch.nn.modules.conv.Both.train", "function", "torch/nn/modules/conv.py:8"),  # before what both are made of
        ("F.conv", "variable", "torch/nn/functional.py:2"),
        ("F.relu", "variable", "torch/nn/functional.py:2"),
    ],
)
def test_where_it_leads(names: PythonLookup, asked: str, kind: str, place: str) -> None:
    found = [(definition.kind, f"{definition.path}:{definition.line}") for definition in names.definitions(asked)]
    assert found == [(kind, place)]


@pytest.mark.parametrize(
    "asked",
    [
        "torch.hidden",  # only type checkers import it
        "torch.Storage",  # a stub's own import
        "torch._private",  # not brought by a star
        "torch.nn.Module",  # not in __all__
        "torch.nn.modules.conv.Mixed.train",  # a base that is not there comes first
        "torch.nn.modules.conv.Left.eval",  # put there by setattr
        "torch.circles.Own.train", "torch.circles.Own.same", "torch.circles.There.train",  # in a circle
        "torch.broken.anything", "torch.nothing", "nowhere.load", "torch.load.x", "torch..load", "a b.c",
    ],
)  # fmt: skip
def test_what_the_files_do_not_say(names: PythonLookup, asked: str) -> None:
    assert names.definitions(asked) == []


def test_after_a_circle_other_names_are_found(names: PythonLookup) -> None:
    assert names.definitions("torch.circles.There.train") == []
    assert [definition.line for definition in names.definitions("torch.circles.plain")] == [6]
    assert [definition.line for definition in names.definitions("torch.circles.Own")] == [2]


def test_where_two_arms_bind_it_both_count(names: PythonLookup) -> None:
    found = {f"{definition.path}:{definition.line}" for definition in names.definitions("torch.solve")}
    assert found == {"torch/quick.py:1", "torch/__init__.py:12"}


def test_overloads_of_a_stub_all_count(names: PythonLookup) -> None:
    assert [definition.line for definition in names.definitions("torch.Tensor.sum")] == [9, 7]


def test_the_lines_that_hand_it_on(names: PythonLookup) -> None:
    (found,) = names.definitions("torch.nn.Conv2d")
    assert found.name == "torch.nn.modules.conv.Conv2d"
    assert found.through == (("torch/nn/__init__.py", 1), ("torch/nn/modules/__init__.py", 1))


def test_what_is_written_as_a_python_name() -> None:
    assert is_python_name("torch.nn.Conv2d")
    assert not any(map(is_python_name, ("torch", "aten::add.Tensor", "a.b::c", "BinaryOps.cpp:3", "torch/a.py", ".x")))
