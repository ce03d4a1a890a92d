"""What names in native_functions.yaml, in derivatives.yaml and in Python texts mean."""

from __future__ import annotations

import pytest

from ptexplore.lookup.python_operators import full_name, is_own_definition
from ptexplore.lookup.yaml_names import YamlNames
from tests import small_source

FUNCTIONS, DERIVATIVES = "aten/src/ATen/native/native_functions.yaml", "tools/autograd/derivatives.yaml"
FILES = {
    "version.txt": "2.99.0a0\n",
    "aten/src/ATen/Marks.h": "#define TORCH_IMPL_FUNC(name) void structured_##name::impl\n",
    FUNCTIONS: """- func: blend(Tensor self, Scalar alpha) -> Tensor
  variants: function, method
  structured_delegate: blend.out
  dispatch:
    SparseCPU: blend_sparse  # blend_sparse
- func: blend.out(Tensor self, Scalar alpha, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: BlendBase
  dispatch:
    CPU: blend_out_cpu
- func: shade(Tensor self) -> Tensor
""",
    DERIVATIVES: """- name: blend(Tensor self, Scalar alpha) -> Tensor
  self: mixed(grad.blend(alpha), alpha.blend(grad), shade(grad)) + self.numel() + blend(grad, alpha)
""",
    "torch/csrc/autograd/FunctionsManual.cpp": """namespace torch::autograd::generated::details {
static int mixed(int a) { return a; }
int mixed(int a, int b) { return a; }
}
""",
    "aten/src/ATen/native/Blend.cpp": """namespace at {
class TensorBase {
 public:
  int numel() const { return 1; }
};
struct BlendBase {};
namespace native {
Tensor blend_sparse(const Tensor& self) { return self; }
TORCH_IMPL_FUNC(blend_out_cpu)(const Tensor& self, const Tensor& out) {
  mix(self);
}
}
}
""",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> YamlNames:
    root = small_source.write(tmp_path_factory.mktemp("yaml") / "tree", FILES)
    return YamlNames([small_source.indexed(root)])


def meant(names: YamlNames, path: str, line: int, word: str, nth: int = 0) -> list[tuple[str, str, int | None]]:
    text = FILES[path].split("\n")[line - 1]
    at = -1
    for _time in range(nth + 1):
        at = text.index(word, at + 1)
    _name, candidates = names.meant(0, path, line, at)
    return [(each.name, each.spot.ref.path or "", each.spot.ref.line) for each in candidates]


def test_names_of_native_functions(names: YamlNames) -> None:
    cpp = "aten/src/ATen/native/Blend.cpp"
    assert meant(names, FUNCTIONS, 1, "blend") == [("aten::blend", FUNCTIONS, 1)]
    assert meant(names, FUNCTIONS, 1, "Tensor") == []
    assert meant(names, FUNCTIONS, 3, "blend.out") == [("aten::blend.out", FUNCTIONS, 6)]
    assert meant(names, FUNCTIONS, 5, "blend_sparse") == [("at::native::blend_sparse", cpp, 8)]
    assert meant(names, FUNCTIONS, 5, "blend_sparse", 1) == [], "a comment"
    assert meant(names, FUNCTIONS, 5, "SparseCPU") == []
    assert meant(names, FUNCTIONS, 8, "BlendBase") == [("at::BlendBase", cpp, 6)]
    assert meant(names, FUNCTIONS, 10, "blend_out_cpu") == [("at::native::structured_blend_out_cpu::impl", cpp, 9)]


def test_names_of_formulas(names: YamlNames) -> None:
    assert meant(names, DERIVATIVES, 1, "blend") == [("aten::blend", FUNCTIONS, 1)]
    manual = "torch/csrc/autograd/FunctionsManual.cpp"
    expected = [("torch::autograd::generated::details::mixed", manual, 3)]
    assert meant(names, DERIVATIVES, 2, "mixed") == expected, "the static one is seen by its own file"
    assert meant(names, DERIVATIVES, 2, "blend(alpha)") == [("aten::blend", FUNCTIONS, 1)], "a method of a tensor"
    assert meant(names, DERIVATIVES, 2, "blend(grad)") == [], "alpha is a Scalar"
    assert meant(names, DERIVATIVES, 2, "shade") == [("aten::shade", FUNCTIONS, 11)]
    assert meant(names, DERIVATIVES, 2, "numel") == [("at::TensorBase::numel", "aten/src/ATen/native/Blend.cpp", 4)]
    assert meant(names, DERIVATIVES, 2, "blend(grad, alpha)") == [("aten::blend", FUNCTIONS, 1)], "no out= overload"
    assert meant(names, DERIVATIVES, 2, "grad") == []


PYTHON = """import torch
import torch.nn.functional as F
from torch import nn as layers, add
from torch.nn import (
    functional as G,
)
import numpy as np

def f(torch_like, add=None):
    shadowed = np
    return F.linear(shadowed)

class Own: ...
"""


@pytest.mark.parametrize(
    "name, full",
    [
        ("torch.add", "torch.add"),
        ("F.linear", "torch.nn.functional.linear"),
        ("G.linear", "torch.nn.functional.linear"),
        ("layers.Linear", "torch.nn.Linear"),
        ("add", None),  # a parameter has the name, too
        ("np.add", None),
        ("shadowed.add", None),
        ("x.add", None),
    ],
)
def test_imports_give_names(name: str, full: str | None) -> None:
    assert full_name(PYTHON, name) == full


def test_relative_imports_and_own_definitions() -> None:
    text = "from .. import functional as F\nfrom .module import Module\nfrom . import init\n"
    path = "torch/nn/modules/linear.py"
    names = ("F.relu", "Module", "init.zeros_")
    full = ["torch.nn.functional.relu", "torch.nn.modules.module.Module", "torch.nn.modules.init.zeros_"]
    assert [full_name(text, name, path) for name in names] == full
    assert is_own_definition(PYTHON, "Own", "a.py")
    assert not is_own_definition(PYTHON, "add", "a.py")
    assert full_name("torch.add(", "torch.add") is None, "not Python"
