"""minitorch laid out as an installation, and what the probe and torchgen would say about it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ptexplore.catalogue.build import DispatcherRecords, build_catalogue
from ptexplore.catalogue.gather import gather
from ptexplore.model.codes import convert
from ptexplore.model.dispatcher import DispatcherDump
from ptexplore.model.places import Runtime
from ptexplore.source.progress import Silent
from ptexplore.source.runtime.generated import Making
from ptexplore.source.tree import SourceTree, runtime_tree

DATA = Path(__file__).resolve().parent.parent / "data" / "minitorch"
ATEN = "build/aten/src/ATen"
AUTOGRAD = "torch/csrc/autograd/generated"

BLEND = 'blend.Pair(Tensor self, Tensor other, str how="a;b)") -> Tensor'


@dataclass(frozen=True)
class Mini:
    """One laid-out minitorch."""

    runtime: Runtime
    tree: SourceTree
    generated: Path
    site: Path
    raw: dict[str, Any]


def whole(mini: Mini) -> Making:
    """Its generated C++, where nothing has to be made."""
    return Making(mini.generated, iter([("",)]), is_whole=True)


def write_catalogue(mini: Mini, path: Path) -> None:
    """Its catalogue, as the first run with a torch writes it."""
    dispatcher = DispatcherRecords(mini.runtime, convert(mini.raw, DispatcherDump))
    gathered = gather(mini.runtime, whole(mini), lambda: dispatcher.generated, Silent())
    build_catalogue(mini.runtime, mini.tree, dispatcher, gathered.facts, path)


def line_of(tree: SourceTree, path: str, text: str, nth: int = 1) -> int:
    """The 1-based line of the nth line of `path` that holds `text`."""
    found = [number for number, line in enumerate(tree.lines(path), 1) if text in line]
    return found[nth - 1]


@pytest.fixture
def mini(tmp_path: Path) -> Mini:
    return lay_out(tmp_path)


def lay_out(folder: Path) -> Mini:
    """minitorch as an installation below `folder`."""
    generated, site = folder / "generated", folder / "site"
    for file in (DATA / "generated").iterdir():
        folder = ATEN if file.name.startswith(("Register", "Operators", "Ufunc")) else AUTOGRAD
        _copy(file, generated / folder / file.name)
    _copy(DATA / "include/blend_native.h", site / "torch/include/ATen/ops/blend_native.h")
    _copy(DATA / "include/FunctionsManual.h", site / "torch/include/torch/csrc/autograd/FunctionsManual.h")
    _copy(DATA / "include/TensorMeta.h", site / "torch/include/ATen/TensorMeta.h")
    _copy(DATA / "packaged/_refs.py", site / "torch/_refs.py")
    _copy(DATA / "packaged/native_functions.yaml", site / "torchgen/packaged/ATen/native/native_functions.yaml")
    _copy(DATA / "packaged/derivatives.yaml", site / "torchgen/packaged/autograd/derivatives.yaml")
    aids = generated / "ptexplore"
    aids.mkdir()
    (aids / "model.json").write_text(json.dumps(model()), encoding="utf-8")
    listing = {
        "at::native::structured_blend_cpu": f"{ATEN}/ops/blend_native.h",
        "at::native::blend_sparse": f"{ATEN}/ops/blend_native.h",
        "at::native::blend_many": f"{ATEN}/ops/blend_native.h",
    }
    rows = "".join(f"\n{symbol}\t{paths}" for symbol, paths in sorted(listing.items()))
    (aids / "headers.tsv").write_text(rows + "\n", encoding="utf-8")
    runtime = Runtime(
        python="/usr/bin/python3",
        python_version="3.11.0",
        torch_dir=str(site / "torch"),
        version="2.99.0",
        git_version="0" * 40,
        build="wheel",
        torchgen_dir=str(site / "torchgen"),
        packaged_dir=str(site / "torchgen/packaged"),
        accelerators=(),
        key="k",
        inputs_key="i",
    )
    tree = runtime_tree(runtime, generated)
    return Mini(runtime, tree, generated, site, message(tree, site))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def model() -> dict[str, Any]:
    common = {"variants": ["function", "method"], "generated": False, "tags": ["core"]}
    return {
        "format": 1,
        "operators": [
            {
                **common,
                "name": "aten::blend.Pair",
                "schema": BLEND,
                "root": "blend",
                "line": 2,
                "structured": False,
                "delegate": "aten::blend.out",
                "cpp_name": "blend_Pair",
                "kernels": {"SparseCPU": ["at::native", "blend_sparse", False]},
            },
            {
                **common,
                "name": "aten::mirror",
                "schema": "mirror(Tensor(a) self) -> Tensor(a)",
                "root": "mirror",
                "line": 8,
                "structured": False,
                "delegate": None,
                "cpp_name": "mirror",
                "kernels": {"CPU": ["at::native", "mirror_dense", False]},
            },
        ],
        "structured": {"aten::blend.Pair": "at::meta::structured_blend_Pair"},
        "derivatives": {
            "aten::blend.Pair": [
                {
                    "dispatch": "Default",
                    "source_op": "aten::blend.Pair",
                    "source_schema": BLEND,
                    "node": "BlendBackward0",
                    "matched": "exact",
                }
            ]
        },
        "entries": {
            BLEND: {
                "line": 2,
                "end": 4,
                "dispatch": {
                    "Default": [
                        {"inputs": "self", "line": 3, "text": "grad", "calls": []},
                        {"inputs": "other", "line": 4, "text": "undo_blend(grad)", "calls": ["undo_blend"]},
                    ]
                },
            }
        },
    }


def message(tree: SourceTree, site: Path) -> dict[str, Any]:
    """The probe's catalogue message, its lines taken from the files, as a binary built from them would record them."""
    schema = line_of(tree, f"{ATEN}/RegisterSchema.cpp", "TORCH_LIBRARY(")
    cpu = f"{ATEN}/RegisterCPU_0.cpp"
    first, second, third = (line_of(tree, cpu, "TORCH_LIBRARY_IMPL(", nth) for nth in (1, 2, 3))
    autograd = line_of(tree, f"{AUTOGRAD}/VariableType_0.cpp", "TORCH_LIBRARY_IMPL(")
    functionalize = line_of(tree, f"{ATEN}/RegisterFunctionalization_0.cpp", "TORCH_LIBRARY_IMPL(")
    at = "registered at /__w/pytorch/pytorch"
    debug = f"debug: {at}/{ATEN}/RegisterSchema.cpp:{schema}"
    variable = f"{at}/{AUTOGRAD}/VariableType_0.cpp:{autograd}"
    refs = site / "torch/_refs.py"
    library = line_of(tree, "torch/_refs.py", "Library(")
    dumps = {
        "aten::blend.Pair": [
            debug,
            f"CPU: {at}/{cpu}:{first} :: (Tensor _0, Tensor _1) -> Tensor _0 [ boxed unboxed ]",
            f"Autograd[alias]: {variable} :: (Tensor _0, Tensor _1) -> Tensor _0 [ boxed unboxed ]",
            f"Meta: registered at {refs}:{library} :: (none) [ boxed ]",
            f"SparseCPU: {at}/aten/src/ATen/native/sparse/Blend.cpp:9 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
        ],
        "aten::mirror": [
            debug,
            f"CPU: {at}/{cpu}:{second} :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
            f"CUDA: {at}/{cpu}:{second} :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
            f"Autograd[alias]: {variable} :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
        ],
        "aten::twice": [
            "debug: registered by RegisterOperators",
            f"CPU: {at}/{cpu}:{third} :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]",
            f"Autograd[alias]: {variable} :: (Tensor _0) -> Tensor _0 [ boxed ]",
            f"Functionalize: {at}/{ATEN}/RegisterFunctionalization_0.cpp:{functionalize} :: (none) [ boxed ]",
        ],
        "aten::lost": [
            f"CPU: {at}/{cpu}:{third} :: (none) [ boxed ]",
            f"Meta: {at}/{ATEN}/RegisterNowhere_0.cpp:3 :: (none) [ boxed ]",
        ],
        "aten::named_twice": [f"CPU: {at}/{cpu}:{third} :: (none) [ boxed ]"],
        "aten::ghost": [debug, f"CPU: {at}/{cpu}:{first} :: (none) [ boxed ]"],
        "aten::late": [f"CPU: {at}/{cpu}:{first + 1} :: (none) [ boxed ]"],
    }
    table = "\n".join(
        [
            f"Undefined: {at}/{cpu}:{first} [default backend kernel]",
            f"CPU: {at}/{cpu}:{first} [kernel]",
            f"XLA: {at}/{cpu}:{first} [default backend kernel]",
            "Named: fallthrough registered at /pytorch/aten/src/ATen/core/NamedRegistrations.cpp:11 [backend fallback]",
            f"AutogradCPU: {variable} [autograd kernel]",
            "Meta: registered at /dev/null:241 [kernel]",
        ]
    )
    operators = [
        {
            "name": name,
            "dump": "\n".join([f"name: {name}", "schema: x", *lines]),
            "table": table if name == "aten::blend.Pair" else "",
            "schema": f"aten::{BLEND}" if name == "aten::blend.Pair" else "",
            "tags": ["pointwise"],
            "digest": "d",
        }
        for name, lines in dumps.items()
    ]
    first_decorator = line_of(tree, "torch/_refs.py", '@registers("blend")')
    kernel = {"op": "aten::blend.Pair", "function": "torch._refs.blend_meta", "file": str(refs), "end_line": 19}
    return {
        "torch": {"version": "2.99.0"},
        "keys": [{"name": "CPU", "raw": 65537, "after": 2**63 + 5}],
        "num_backends": 16,
        "operators": operators,
        "python_names": [
            {"name": "torch.blend", "kind": "builtin", "table": "torch", "method": "blend"},
            {"name": "torch.mix", "kind": "builtin", "table": "torch", "method": "blend"},
            {"name": "torch.refs.blend", "kind": "python", "file": str(refs), "line": first_decorator},
            {"name": "torch.outside", "kind": "python", "file": "/elsewhere/mine.py", "line": 3},
        ],
        "python_kernels": [{**kernel, "role": "meta", "key": "Meta", "line": first_decorator}],
    }
