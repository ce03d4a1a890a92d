"""Every file has one name, whether it comes from the wheel, from a binary's record or from a build folder."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from ptexplore.source.canonical import (
    CORE,
    FOREIGN,
    OTHER,
    TEST,
    InstalledFolders,
    area,
    folders_around,
    header_path,
    installed_candidates,
    installed_path,
    recorded_path,
    unwrap,
    yaml_of,
)

SITE = "/env/lib/python3.11/site-packages"
FOLDERS = InstalledFolders(f"{SITE}/torch", f"{SITE}/torchgen", f"{SITE}/torchgen/packaged", f"{SITE}/functorch")


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("torch/include/c10/core/DispatchKey.h", "c10/core/DispatchKey.h"),
        ("torch/include/ATen/TensorIterator.h", "aten/src/ATen/TensorIterator.h"),
        ("torch/include/ATen/core/dispatch/Dispatcher.h", "aten/src/ATen/core/dispatch/Dispatcher.h"),
        ("torch/include/ATen/ops/add_native.h", "build/aten/src/ATen/ops/add_native.h"),
        ("torch/include/ATen/core/TensorBody.h", "build/aten/src/ATen/core/TensorBody.h"),
        ("torch/include/ATen/CPUFunctions_inl.h", "build/aten/src/ATen/CPUFunctions_inl.h"),
        ("torch/include/ATen/TensorFunctions.h", "aten/src/ATen/TensorFunctions.h"),
        ("torch/include/ATen/Config.h", "build/aten/src/ATen/Config.h"),
        ("torch/include/torch/csrc/autograd/generated/Functions.h", "torch/csrc/autograd/generated/Functions.h"),
        ("torch/include/torch/csrc/api/include/torch/nn.h", "torch/csrc/api/include/torch/nn.h"),
        ("torch/include/torch/library.h", "torch/library.h"),
        ("torch/include/pybind11/pybind11.h", None),
        ("torch/include/dnnl.h", None),
        ("torch/nn/functional.py", "torch/nn/functional.py"),
        ("torchgen/gen.py", "torchgen/gen.py"),
        ("torchgen/packaged/ATen/native/native_functions.yaml", "aten/src/ATen/native/native_functions.yaml"),
        ("torchgen/packaged/autograd/derivatives.yaml", "tools/autograd/derivatives.yaml"),
        ("functorch/__init__.py", "functorch/__init__.py"),
        ("numpy/__init__.py", None),
        ("torchvision/ops.py", None),
    ],
)
def test_installed(file: str, path: str | None) -> None:
    assert installed_path(f"{SITE}/{file}", FOLDERS) == path
    if path is not None:
        assert f"{SITE}/{file}" in installed_candidates(path, FOLDERS)


def test_a_header_that_says_so_is_generated() -> None:
    head = "#pragma once\n// Automatically generated header file for the C10 library.\n"
    assert header_path("c10/macros/cmake_macros.h", head) == "build/c10/macros/cmake_macros.h"
    assert header_path("c10/macros/cmake_macros.h", "#pragma once\n") == "c10/macros/cmake_macros.h"


@pytest.mark.parametrize(
    ("recorded", "path"),
    [
        ("/__w/pytorch/pytorch/build/aten/src/ATen/RegisterCPU_0.cpp", "build/aten/src/ATen/RegisterCPU_0.cpp"),
        ("/pytorch/torch/csrc/autograd/generated/V_0.cpp", "torch/csrc/autograd/generated/V_0.cpp"),
        ("/pytorch/aten/src/ATen/native/x.cpp", "aten/src/ATen/native/x.cpp"),
        ("/users/c10/torch/csrc-work/pytorch/aten/src/ATen/x.cpp", "aten/src/ATen/x.cpp"),
        ("../aten/src/ATen/native/x.cpp", "aten/src/ATen/native/x.cpp"),
        ("../torch/csrc/autograd/x.cpp", "torch/csrc/autograd/x.cpp"),
        ("aten/src/ATen/RegisterCPU_0.cpp", "build/aten/src/ATen/RegisterCPU_0.cpp"),
        ("/src/pytorch/out-debug/aten/src/ATen/RegisterCPU.cpp", "build/aten/src/ATen/RegisterCPU.cpp"),
        ("/x/y/../pytorch/c10/core/impl.cpp", "c10/core/impl.cpp"),
        (f"{SITE}/torch/_meta_registrations.py", "torch/_meta_registrations.py"),
        ("/dev/null", None),
        ("/users/me/my_extension.cpp", None),
        ("/users/me/my_ops.py", None),
    ],
)
def test_recorded(recorded: str, path: str | None) -> None:
    assert recorded_path(recorded, FOLDERS) == path


def test_the_guard_around_installed_headers_is_undone() -> None:
    inside = "#pragma once\nint f();\n"
    guard = "!defined(TORCH_STABLE_ONLY) && !defined(TORCH_TARGET_VERSION)"
    wrapped = f'#if {guard}\n{inside}\n#else\n#error "This file should not be included."\n#endif  // {guard}\n'
    assert unwrap(wrapped) == (inside, 1)
    assert unwrap(inside) == (inside, 0)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("c10/core/TensorImpl.h", CORE),
        ("torch/csrc/Module.cpp", CORE),
        ("torch/nn/modules/conv.py", CORE),
        ("torch/_prims/__init__.py", OTHER),
        ("build/aten/src/ATen/RegisterCPU_0.cpp", OTHER),
        ("torch/_C/__init__.pyi", OTHER),
        ("c10/util/flat_hash_map.h", FOREIGN),
        ("torch/_vendor/packaging/version.py", FOREIGN),
        ("torch/testing/_internal/triton_utils.py", TEST),
        ("aten/src/ATen/test/basic.cpp", TEST),
        ("c10/test/core/DispatchKeySet_test.cpp", TEST),
    ],
)
def test_how_near_a_file_is_to_what_readers_mean(path: str, expected: int) -> None:
    assert area(path) == expected


def test_the_folders_around_files() -> None:
    assert folders_around(["a/b/c.h", "a/d.h", "e.h"]) == {"a/b", "a"}


def test_what_generated_files_are_made_from_is_what_their_generators_read() -> None:
    """Those of the installed torch: a generator that handles a DifferentiabilityInfo has it from derivatives.yaml."""
    spec = find_spec("torchgen")
    if spec is None or spec.origin is None:
        pytest.skip("needs torch")
    asked = set()
    for generator in sorted((Path(spec.origin).parent / "packaged/autograd").glob("gen_*.py")):
        text = generator.read_text(encoding="utf-8")
        read = ("native_functions.yaml", *["derivatives.yaml"] * ("DifferentiabilityInfo" in text))
        if "gen_autograd.py" in generator.name:
            continue
        names = re.findall(r'^\s+"(\w+\.(?:cpp|h))",$', text, re.MULTILINE)
        for name in names:
            assert yaml_of(f"torch/csrc/autograd/generated/{name}") == read, (generator.name, name)
        asked.update(names)
    assert {"VariableType.cpp", "TraceType.cpp", "python_torch_functions.cpp", "python_functions.cpp"} <= asked
    assert yaml_of("build/aten/src/ATen/RegisterCPU_0.cpp") == ("native_functions.yaml",)
    assert yaml_of("build/torch/headeronly/core/enum_tag.h") == (), "it is made from tags.yaml"
