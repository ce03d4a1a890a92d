"""A torch that runs from the source tree that it was built in: the build folder and the source are found there."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.model.place_reasons import BuiltThere, ChangedSinceBuilt
from ptexplore.model.places import Checkout, Runtime
from ptexplore.resolve.places.relation import changed_since_built, known
from ptexplore.source.fetch import checkouts
from ptexplore.source.fetch.fetch import adopt
from ptexplore.source.runtime import describe as describing
from ptexplore.source.runtime import generated
from ptexplore.source.runtime.describe import describe
from ptexplore.store.index.reader import Known
from ptexplore.view.words.places import place_sentence
from tests.unit.source.test_runtime import install

KERNEL, HEADER, PYTHON = "aten/src/ATen/native/Blend.cpp", "c10/core/Blend.h", "torch/blend.py"
BUILT = 1_000_000_000 * 10**9  # when the library was linked, in nanoseconds


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The tree as a build leaves it."""
    root = tmp_path / "pytorch"
    install(root)
    for path in (KERNEL, HEADER, PYTHON, "build/aten/src/ATen/RegisterSchema.cpp", "torch/lib/libtorch_cpu.so"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("", encoding="utf-8")
        os.utime(root / path, ns=(BUILT, BUILT))
    (root / "torch/csrc/autograd/generated").mkdir(parents=True)
    return root


def look(root: Path) -> Runtime:
    return describe("/env/bin/python", "3.11.0", str(root / "torch"), None)


class Index:
    """The times of an index's files."""

    def __init__(self, **times: int) -> None:
        self.times = {KERNEL: BUILT, HEADER: BUILT, PYTHON: BUILT} | times

    def known(self) -> dict[str, Known]:
        return {path: Known("", 0, time, "checkout") for path, time in self.times.items()}


def test_a_build_folder_makes_it_a_source_build_although_torchgen_has_its_inputs(root: Path, tmp_path: Path) -> None:
    runtime = look(root)
    assert (runtime.build, runtime.packaged_dir) == ("source", str(root / "torchgen/packaged"))
    install(tmp_path / "wheel")
    assert look(tmp_path / "wheel").build == "wheel"
    assert look(tmp_path / "wheel").inputs_key != runtime.inputs_key, "its folder has torchgen's model only"


def test_its_generated_files_are_the_builds_own(root: Path) -> None:
    runtime = look(root)
    assert generated.build_folder_of(runtime.torch_dir) == root
    assert generated.find(runtime) is None, "torchgen's model is not made yet"
    assert generated.find(replace(runtime, packaged_dir=None)) == root
    assert generated.aids_of(runtime, root).is_relative_to(root.parent / "cache")


def test_its_source_becomes_a_checkout_in_place_that_is_in_use(root: Path, tmp_path: Path) -> None:
    runtime = look(root)
    assert checkouts.choose(runtime).checkout is None
    adopted = adopt(runtime)
    assert adopted is not None
    assert (adopted.name, adopted.root, checkouts.is_in_place(adopted)) == ("pytorch", str(root), True)
    assert adopt(runtime) is None, "it is known already"
    choice = checkouts.choose(runtime)
    assert (choice.checkout, choice.reason) == (checkouts.read("pytorch"), "built")
    install(tmp_path / "wheel")
    assert adopt(look(tmp_path / "wheel")) is None
    assert checkouts.choose(look(tmp_path / "wheel")).reason == "only"


def test_what_you_chose_or_pinned_comes_before_it(root: Path, tmp_path: Path) -> None:
    runtime = look(root)
    adopt(runtime)
    other = tmp_path / "other"
    for folder in ("aten/src/ATen", "c10"):
        (other / folder).mkdir(parents=True)
        (other / folder / "x.h").write_text("", encoding="utf-8")
    with checkouts.locked():
        (tmp_path / "aside").mkdir()
        checkouts.register(tmp_path / "aside", Checkout("other", "folder", str(other), str(other)), {})
    assert checkouts.choose(runtime).reason == "built"
    checkouts.use("other")
    assert checkouts.choose(runtime).reason == "used"


@pytest.mark.parametrize(
    "times, changed",
    [
        ({}, ()),
        ({PYTHON: BUILT + 1}, ()),  # it is the text that runs
        ({KERNEL: BUILT + 1}, (KERNEL,)),
        ({HEADER: BUILT + 1, KERNEL: BUILT - 1}, (HEADER,)),
    ],
)
def test_a_file_that_changed_after_the_build_decides(
    root: Path, times: dict[str, int], changed: tuple[str, ...]
) -> None:
    runtime = look(root)
    checkout = Checkout("pytorch", "folder", str(root), str(root))
    index = Index(**times)
    assert changed_since_built(checkout, runtime, index) == changed  # type: ignore[arg-type]
    assert known(checkout, runtime, index) == (None if changed else "matches")  # type: ignore[arg-type]
    elsewhere = replace(checkout, root=str(root.parent))
    assert changed_since_built(elsewhere, runtime, index) is None  # type: ignore[arg-type]


def test_the_time_of_a_file_that_the_index_cannot_know_is_read(root: Path) -> None:
    checkout = Checkout("pytorch", "folder", str(root), str(root))
    os.utime(root / KERNEL, ns=(BUILT + 5, BUILT + 5))
    index = Index(**{KERNEL: 0, "c10/gone.h": 0})
    assert changed_since_built(checkout, look(root), index) == (KERNEL,)  # type: ignore[arg-type]


def test_the_words() -> None:
    assert place_sentence(BuiltThere("pytorch", "2.6.0")) == (
        "torch 2.6.0 was built in pytorch, and no C++ file in it changed since"
    )
    assert place_sentence(ChangedSinceBuilt("pytorch", "2.6.0", 2, (KERNEL, HEADER))) == (
        f"torch 2.6.0 was built in pytorch, but 2 C++ files changed since: {KERNEL}, {HEADER}; build it again"
    )


def test_an_editable_install_of_the_current_folder_is_found(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder is else no place of an installed torch: it may be any checkout."""
    site = tmp_path / "lib/site-packages"
    site.mkdir(parents=True)
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", [str(root), str(site)])
    monkeypatch.setattr(describing.site, "getsitepackages", lambda: [str(site)])  # type: ignore[attr-defined]
    monkeypatch.setattr(describing.site, "getusersitepackages", lambda: str(tmp_path / "none"))  # type: ignore[attr-defined]

    def listed() -> bool:
        with describing._current_folder_off_path():
            return str(root) in sys.path

    assert not listed()
    (site / "easy-install.pth").write_text(f"import x\n{root}\n", encoding="utf-8")
    assert listed()
