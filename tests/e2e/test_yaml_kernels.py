"""The kernels that native_functions.yaml names and this build lacks: of every operator, beside torchgen and torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.view.yaml_kernels import not_in_this_build
from ptexplore.workspace.workspace import Workspace
from tests.harness import InProcess

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif("PTEXPLORE_TEST_PYTHON" in os.environ, reason="looks at the torch that runs the tests"),
]


@pytest.fixture(scope="module")
def workspace(warm_cache: Path) -> Iterator[Workspace]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PTEXPLORE_CACHE", str(warm_cache))
        with Workspace() as opened:
            yield opened


def by_torch() -> dict[str, set[str]]:
    """By operator the backends that torchgen reads in the YAML file and whose kernel torch says it has not."""
    import torch
    import torchgen
    from torchgen.gen import parse_native_yaml

    folder = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    lacking: dict[str, set[str]] = {}
    for function in parsed.native_functions:
        name, delegate = f"aten::{function.func.name}", function.structured_delegate
        registered = torch._C._dispatch_dump(name)
        lacking[name] = set()
        for key, index in parsed.backend_indices.items():
            kernel = index.index.get(function.func.name)
            by_delegate = index.index.get(delegate) if delegate is not None else None
            named = kernel is not None or (by_delegate is not None and by_delegate.structured)
            if "generated" in function.tags or not named or str(key).startswith("Composite"):
                continue
            if f"\n{key}: registered" not in registered:
                lacking[name].add(str(key))
    return lacking


def test_of_every_operator_torchgen_and_torch_say_the_same(workspace: Workspace) -> None:
    store, tree = workspace.lookup.store, workspace.lookup.tree
    lacking = by_torch()
    operators = [operator for name in lacking if (operator := store.operator(name)) is not None]
    assert len(operators) == len(lacking)
    told = {operator.name: {key for key, _ in not_in_this_build(store, tree, operator)} for operator in operators}
    differing = {name: (keys, lacking[name]) for name, keys in told.items() if keys != lacking[name]}
    assert differing == {}
    assert sum(map(bool, told.values())) > 900  # 981 where CUDA is compiled in


def test_the_card_says_so(command: InProcess) -> None:
    shown = " ".join(command("op", "_fused_adam_", "--full").out.split())
    assert "MPS (_fused_adam_kernel_mps_)" in shown.partition("in YAML, not in this build: ")[2]
    assert "CPU (" not in shown
