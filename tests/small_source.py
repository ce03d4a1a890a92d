"""A small source tree of our own in PyTorch's dialect, for tests of the index; an index as comparable rows."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.places import Checkout
from ptexplore.source.listing import files_of
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore

FILES = {
    "version.txt": "2.99.0a0\n",
    "c10/macros/Marks.h": """#pragma once
#define MINI_API __attribute__((visibility("default")))
#define MAKE_KERNEL(op) void op##_kernel(int a) { run(a); }
""",
    "aten/src/ATen/native/Blend.h": """#pragma once
namespace at::native {
struct MINI_API BlendIterator {
  int numel() const;
};
using blend_fn = void (*)(int);
DECLARE_DISPATCH(blend_fn, blend_stub)
}
""",
    "aten/src/ATen/native/Blend.cpp": """#include <ATen/native/Blend.h>
namespace at::native {
DEFINE_DISPATCH(blend_stub);
int BlendIterator::numel() const { return 3; }

TORCH_IMPL_FUNC(blend_out)(const Tensor& self, const Tensor& out) {
  blend_stub(self.numel());
}
static bool operator==(const BlendIterator& a, const BlendIterator& b) { return a.numel() == b.numel(); }
}
TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("blend", TORCH_FN(at::native::blend));
}
""",
    "aten/src/ATen/native/cpu/BlendKernel.cpp": """#include <ATen/native/Blend.h>
namespace at::native {
namespace {
void blend_kernel(int a) { compute(a); }
MAKE_KERNEL(shade)
}
REGISTER_DISPATCH(blend_stub, &blend_kernel);
}
""",
    "aten/src/ATen/native/native_functions.yaml": """- func: blend(Tensor self) -> Tensor
  dispatch:
    CPU: blend
""",
    "torch/csrc/blend.cpp": """namespace torch {
int blend_node(int grad) { return at::native::blend(grad); }
}
""",
    "torch/nn/blend.py": '''"""Blending."""
import torch
from torch import nn as layers

aten = torch.ops.aten


@register_decomposition(aten.blend)
def blend(
    a,
    b=1,
):
    return torch.ops.aten.blend.default(a) + layers.functional.relu(b)


class Blend(layers.Module):
    weight = 1

    def forward(self, x):
        def inner(y):
            return y

        return inner(x)
''',
}


def write(folder: Path, files: dict[str, str] | None = None, copies: int = 0) -> Path:
    """Write the tree below `folder`, and `copies` of one of its files that differ in their names."""
    texts = dict(FILES if files is None else files)
    kernel = FILES["aten/src/ATen/native/cpu/BlendKernel.cpp"]
    for number in range(copies):
        body = "".join(f"int part_{n}(int a) {{ return compute_{n}(a); }}\n" for n in range(250))
        text = kernel.replace("blend", f"blend{number}").replace("namespace {\n", f"namespace {{\n{body}", 1)
        texts[f"aten/src/ATen/native/cpu/copies/Blend{number}.cpp"] = text
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def rows(database: Path) -> dict[str, Any]:
    """All that an index says of each file, in a fixed order; how it came to say it leaves no trace here."""
    store = IndexStore.open(database)
    try:
        return {
            file.path: (
                astuple(file),
                [tuple(one) for one in store.outline(file.path)],
                [tuple(one) for one in store.refs_in(file.path)],
                [tuple(one) for one in store.dialect_in(file.path)],
                dict(store.problems()).get(file.path),
            )
            for file in store.files()
        } | {"counts": store.counts(), "names": store.names("", 10**6)}
    finally:
        store.close()


def indexed(root: Path) -> IndexedTree:
    """The tree in a folder as a checkout, indexed; the index lies beside the folder."""
    checkout = Checkout("mini", "folder", str(root), str(root), version="2.99.0", release="2.99.0")
    file = root.with_name(f"{root.name}.sqlite")
    build(IndexInput("mini", str(root), files_of(checkout)), file, jobs=1)
    return IndexedTree(checkout_tree(checkout), IndexStore.open(file), checkout)
