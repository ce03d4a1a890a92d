"""`ptexplore op --has KEY` and `--missing KEY`: beside what torch itself says about every operator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.model.coverage import KeyCoverage
from ptexplore.view.coverage import OF_SIDE
from ptexplore.workspace.workspace import Workspace
from tests.harness import InProcess

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif("PTEXPLORE_TEST_PYTHON" in os.environ, reason="looks at the torch that runs the tests"),
]
KEYS = ("CPU", "MPS", "PrivateUse1", "SparseCPU", "Meta", "XLA", "AutogradCPU")


@pytest.fixture(scope="module")
def workspace(warm_cache: Path) -> Iterator[Workspace]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PTEXPLORE_CACHE", str(warm_cache))
        with Workspace() as opened:
            yield opened


def by_state(*sides: KeyCoverage) -> dict[str, str]:
    return {row.name: row.has for side in sides for row in side.rows}


@pytest.mark.parametrize("key", KEYS)
def test_torch_says_the_same_of_every_operator(workspace: Workspace, key: str) -> None:
    """Own kernels are those that torch has registered for the key; operators without one can't be called with it."""
    import torch

    states = by_state(workspace.coverage(key, "has"), workspace.coverage(key, "missing"))
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    computed = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    # Only aten's: another test of this process may have imported a module that registers kernels of other namespaces.
    known = (name for name in workspace.lookup.store.all_names() if name.startswith("aten::"))
    names = [name for name in known if torch._C._dispatch_has_kernel(name)]
    assert len(names) > 2500
    own = {name for name in names if has_kernel(name, key)}
    # torch counts a kernel that falls through, and leaves none of the rest out
    assert {name for name in names if states.get(name) == "own"} <= own
    assert own <= {name for name in names if states.get(name) in ("own", "fallthrough")}
    assert {name for name in names if states.get(name) == "none"} == {
        name for name in names if not computed(name, key) and states.get(name) != "yaml"
    }


def test_the_sides_and_the_composites_are_all_operators(workspace: Workspace) -> None:
    has, missing = (workspace.coverage("MPS", side) for side in ("has", "missing"))
    assert has.counts == missing.counts
    assert has.operators == len(workspace.lookup.store.all_names())
    assert has.total + missing.total + sum(has.counts[kind] for kind in ("explicit", "implicit")) == has.operators
    assert {row.has for row in has.rows} <= OF_SIDE["has"]


def test_what_a_backend_lacks(command: InProcess) -> None:
    data = command("op", "--missing", "privateuse1", "--limit", "3", "--json").data
    assert (data["key"], data["side"], len(data["rows"])) == ("PrivateUse1", "missing", 3)
    assert data["rows"][0]["has"] == "none"
    assert "CPU" in data["rows"][0]["elsewhere"]
    shown = command("op", "--missing", "Meta", "--limit", "2").out
    assert "boxed fallback: aten/src/ATen/core/MetaFallbackKernel.cpp:" in shown
    assert "ptexplore op --missing Meta --limit 0" in shown


def test_a_kernel_that_only_yaml_names_is_said_to_be_that(command: InProcess) -> None:
    rows = {row["name"]: row for row in command("op", "--has", "MPS", "--limit", "0", "--json").data["rows"]}
    assert (rows["aten::_fused_adam_"]["has"], rows["aten::_fused_adam_"]["kernel"]) == (
        "yaml",
        "_fused_adam_kernel_mps_",
    )
    (line,) = (line for line in command("op", "_fused_adam_").out.splitlines() if line.startswith("in YAML, not"))
    assert "MPS" in line.partition(": ")[2].split(", ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--missing", "MSP"), "the closest are MPS"),
        (("--has", "Sparse"), "SparseCPU"),
        (("--has", "CompositeImplicitAutograd"), "has no dispatch table of its own"),
        (("--has", ""), "there is no dispatch key"),
        ((), "nothing was asked for"),
        (("add", "--has", "CPU"), "2 questions"),
    ],
)
def test_bad_input(command: InProcess, arguments: tuple[str, ...], told: str) -> None:
    assert told in command("op", *arguments).three_parts(2).err
