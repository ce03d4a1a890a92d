"""The generated C++ is made once, whole, and never left half-made; the generators are replaced by quick ones here."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.model.places import Runtime
from ptexplore.source.progress import Progress
from ptexplore.source.runtime import generated
from ptexplore.source.runtime.generated import Folders, GeneratorError, run_generators
from ptexplore.source.tree import runtime_tree
from ptexplore.workspace.opening import why_built

RUNTIME = Runtime("python", "3.11", "/none/torch", "2.99", "abc", "wheel", "/none", "/none", (), "key", "inputs")
FILE = "build/aten/src/ATen/RegisterCPU_0.cpp"
OTHER = "build/aten/src/ATen/RegisterCPU_1.cpp"


class Generators:
    """Stands in for the two generator children."""

    def __init__(self) -> None:
        self.runs = 0
        self.failure: Exception | None = None
        self.seconds = 0.0
        self.why = ""

    @contextlib.contextmanager
    def __call__(self, runtime: Runtime, out: Path, progress: Progress, why: str) -> Iterator[Iterator[Folders]]:
        self.runs += 1
        self.why = why
        (out / FILE).parent.mkdir(parents=True)
        (out / FILE).write_text("half")
        (out / OTHER).write_text("other\n")
        yield self.ended(out)

    def ended(self, out: Path) -> Iterator[Folders]:
        time.sleep(self.seconds)
        if self.failure is not None:
            raise self.failure
        (out / FILE).write_text("whole text\n")
        yield ("build/aten/src/ATen",)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def generators(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Generators:
    fake = Generators()
    monkeypatch.setattr("ptexplore.source.runtime.generated.run_generators", fake)
    return fake


def left(cache: Path) -> list[str]:
    return sorted(file.name for file in (cache / "generated").iterdir())


def test_made_once_and_kept(generators: Generators, cache: Path) -> None:
    assert generated.find(RUNTIME) is None
    folder = generated.ensure(RUNTIME)
    assert folder == generated.ensure(RUNTIME) == generated.find(RUNTIME) == cache / "generated/inputs"
    assert generators.runs == 1
    assert (folder / FILE).read_text() == "whole text\n"
    assert left(cache) == ["inputs", "inputs.lock"]
    manifest = json.loads((folder / generated.MANIFEST).read_text())
    assert manifest["files"] == {
        FILE: [11, generated.hashed((folder / FILE).read_bytes())],
        OTHER: [6, generated.hashed((folder / OTHER).read_bytes())],
    }
    assert manifest["git_version"] == "abc"


def test_a_part_is_read_before_all_is_in_its_place(generators: Generators, cache: Path) -> None:
    with generated.making(RUNTIME) as making:
        assert next(making.parts) == ("build/aten/src/ATen",)
        assert (making.folder / FILE).read_text() == "whole text\n"
        assert generated.find(RUNTIME) is None
    assert generated.find(RUNTIME) == cache / "generated/inputs"
    with generated.making(RUNTIME) as again:
        assert again.is_whole
        assert again.folder == generated.find(RUNTIME)
        assert list(again.parts) == [("",)]
    assert generators.runs == 1


def test_what_nobody_waits_for_is_made_as_well(generators: Generators, cache: Path) -> None:
    with generated.making(RUNTIME):
        pass
    assert (cache / "generated/inputs" / FILE).read_text() == "whole text\n"


def test_nothing_is_kept_of_a_block_that_fails(generators: Generators, cache: Path) -> None:
    with pytest.raises(KeyboardInterrupt), generated.making(RUNTIME) as making:
        next(making.parts)
        raise KeyboardInterrupt
    assert left(cache) == ["inputs.lock"]


def test_finding_writes_nothing(cache: Path) -> None:
    assert generated.find(RUNTIME) is None
    assert not cache.exists()


def _rows(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a manifest says."""
    manifest = json.loads((folder / generated.MANIFEST).read_text())
    change(manifest)
    (folder / generated.MANIFEST).write_text(json.dumps(manifest))


def _without_a_file(folder: Path) -> None:
    """A file went, and the row that says there was one."""
    (folder / FILE).unlink()
    _rows(folder, lambda manifest: manifest["files"].pop(FILE))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a file is gone": lambda folder: (folder / FILE).unlink(),
    "a file is cut": lambda folder: (folder / FILE).write_text("who"),
    "a file is a folder": lambda folder: ((folder / FILE).unlink(), (folder / FILE).mkdir()),
    "a further file": lambda folder: (folder / "build/aten/src/ATen/More.cpp").write_text(""),
    "a further folder's file": lambda folder: ((folder / "more").mkdir(), (folder / "more/More.cpp").write_text("")),
    "the manifest is gone": lambda folder: (folder / generated.MANIFEST).unlink(),
    "the manifest is empty": lambda folder: (folder / generated.MANIFEST).write_text(""),
    "the manifest is cut": lambda folder: (folder / generated.MANIFEST).write_text('{"files": ['),
    "the manifest is no object": lambda folder: (folder / generated.MANIFEST).write_text("[]"),
    "the manifest is a number": lambda folder: (folder / generated.MANIFEST).write_text("7"),
    "the manifest is not UTF-8": lambda folder: (folder / generated.MANIFEST).write_bytes(b"\xff"),
    "another format": lambda folder: _rows(folder, lambda manifest: manifest.update(format=99)),
    "no format": lambda folder: _rows(folder, lambda manifest: manifest.pop("format")),
    "no files": lambda folder: _rows(folder, lambda manifest: manifest.pop("files")),
    "an empty list": lambda folder: _rows(folder, lambda manifest: manifest["files"].clear()),
    "a list in place of rows": lambda folder: _rows(folder, lambda manifest: manifest.update(files=[FILE])),
    "a row without a hash": lambda folder: _rows(folder, lambda manifest: manifest["files"].update({FILE: 11})),
    "a row is gone": lambda folder: _rows(folder, lambda manifest: manifest["files"].pop(FILE)),
    "a row and its file are gone": _without_a_file,
    "a row has another hash": lambda folder: _rows(folder, lambda manifest: manifest["files"].update({FILE: [11, ""]})),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_made_good(generators: Generators, damage: str) -> None:
    folder = generated.ensure(RUNTIME)
    assert generators.why == "first run only"
    DAMAGES[damage](folder)
    assert generated.find(RUNTIME) is None
    assert generated.ensure(RUNTIME) == folder == generated.find(RUNTIME)
    assert generators.runs == 2
    assert generators.why.startswith("the old files are damaged")
    assert (folder / FILE).read_text() == "whole text\n"
    assert sorted(file.name for file in (folder / FILE).parent.iterdir()) == ["RegisterCPU_0.cpp", "RegisterCPU_1.cpp"]


def test_a_manifest_without_its_own_hash_is_read(generators: Generators) -> None:
    """It was written by a ptexplore that kept none."""
    folder = generated.ensure(RUNTIME)
    _rows(folder, lambda manifest: manifest.pop("hash"))
    assert generated.find(RUNTIME) == folder
    _rows(folder, lambda manifest: manifest["files"].pop(FILE))
    assert generated.find(RUNTIME) is None


def test_a_file_of_the_same_size_with_other_text_is_never_shown(generators: Generators) -> None:
    folder = generated.ensure(RUNTIME)
    tree = runtime_tree(RUNTIME, folder)
    (folder / FILE).write_text("whole tent\n")
    assert generated.find(RUNTIME) == folder
    with pytest.raises(PtexploreError, match="damaged") as caught:
        tree.lines(FILE)
    assert caught.value.exit_code == MISSING
    assert generated.find(RUNTIME) is None, "it is made anew"
    assert runtime_tree(RUNTIME, generated.ensure(RUNTIME)).lines(FILE) == ["whole text", ""]
    assert generators.runs == 2


@pytest.mark.parametrize(
    ("failure", "why", "hint", "code"),
    [
        (GeneratorError("the ATen generator failed: boom"), "boom", f"{RUNTIME.python} -m pip install", 1),
        (GeneratorError("the ATen generator did not end", late=True), "did not end", "run this again when", 1),
        (OSError(28, "No space left on device", "/x/RegisterCPU_0.cpp"), "No space left", "", MISSING),
    ],
)
def test_a_failure_leaves_nothing_and_can_be_tried_again(
    generators: Generators, cache: Path, failure: Exception, why: str, hint: str, code: int
) -> None:
    generators.failure = failure
    with pytest.raises(PtexploreError) as caught:
        generated.ensure(RUNTIME)
    assert why in caught.value.why
    assert caught.value.exit_code == code
    assert caught.value.hint
    assert hint in caught.value.hint
    assert left(cache) == ["inputs.lock"]
    generators.failure = None
    assert generated.ensure(RUNTIME).is_dir()


def test_a_cache_that_cannot_be_written(generators: Generators, cache: Path) -> None:
    cache.write_text("a file is in the way")
    with pytest.raises(PtexploreError) as caught:
        generated.ensure(RUNTIME)
    assert caught.value.exit_code == MISSING
    assert "PTEXPLORE_CACHE" in caught.value.hint
    assert generators.runs == 0


def test_what_a_killed_builder_left_is_cleared(generators: Generators, cache: Path) -> None:
    half = cache / "generated/.inputs.abcdef"
    half.mkdir(parents=True)
    (half / "x").write_text("half")
    generated.ensure(RUNTIME)
    assert left(cache) == ["inputs", "inputs.lock"]


def test_a_second_process_waits_for_the_first(generators: Generators) -> None:
    generators.seconds = 0.5
    said: list[str] = []

    class Watcher:
        def step(self, name: str, done: float | None = None) -> None:
            said.append(name)

    first = threading.Thread(target=generated.ensure, args=(RUNTIME,))
    first.start()
    while not generators.runs:
        time.sleep(0.01)
    folder = generated.ensure(RUNTIME, Watcher())
    first.join()
    assert generators.runs == 1
    assert (folder / FILE).read_text() == "whole text\n"
    assert any("waiting" in line for line in said)


def test_another_process_that_never_ends(generators: Generators, monkeypatch: pytest.MonkeyPatch) -> None:
    generators.seconds = 1.0
    monkeypatch.setattr(generated, "_WAIT", 0.1)
    first = threading.Thread(target=generated.ensure, args=(RUNTIME,))
    first.start()
    while not generators.runs:
        time.sleep(0.01)
    with pytest.raises(PtexploreError, match="cannot be made") as caught:
        generated.ensure(RUNTIME)
    first.join()
    assert "another process" in caught.value.why


def test_a_torchgen_that_is_none(tmp_path: Path) -> None:
    class Nobody:
        def step(self, name: str, done: float | None = None) -> None:
            pass

    (tmp_path / "torchgen").mkdir()
    (tmp_path / "torchgen/__init__.py").write_text("")
    (tmp_path / "torchgen/gen.py").write_text("import os\nos._exit(7)\n")
    runtime = replace(
        RUNTIME, torchgen_dir=str(tmp_path / "torchgen"), packaged_dir=str(tmp_path / "torchgen/packaged")
    )
    (tmp_path / "out").mkdir()
    with pytest.raises(GeneratorError) as caught, run_generators(runtime, tmp_path / "out", Nobody()) as parts:
        list(parts)
    assert "generator" in str(caught.value)


def test_a_source_build_uses_its_own_build_folder(tmp_path: Path) -> None:
    runtime = replace(RUNTIME, build="source", torch_dir=str(tmp_path / "torch"), packaged_dir=None)
    with pytest.raises(PtexploreError) as caught:
        generated.ensure(runtime)
    assert caught.value.exit_code == MISSING
    assert "source build" in caught.value.why
    (tmp_path / "build/aten/src/ATen").mkdir(parents=True)
    (tmp_path / "build/aten/src/ATen/RegisterSchema.cpp").write_text("x")
    (tmp_path / "torch/csrc/autograd/generated").mkdir(parents=True)
    assert generated.ensure(runtime) == generated.find(runtime) == tmp_path


def test_why_it_is_made_is_said(generators: Generators, cache: Path) -> None:
    """The title of the progress: a first run only where it is one."""
    catalogue = cache / "catalogue.sqlite"
    assert why_built(RUNTIME, catalogue).startswith("first run with this torch: regenerating")
    folder = generated.ensure(RUNTIME)
    assert why_built(RUNTIME, catalogue) == "first run with this torch: reading its dispatcher"
    catalogue.write_bytes(b"")
    assert why_built(RUNTIME, catalogue).startswith(
        "the catalogue of this torch is damaged, or another ptexplore made it"
    )
    (folder / FILE).unlink()
    assert "is damaged" in why_built(RUNTIME, catalogue)
    assert "first run" not in why_built(RUNTIME, catalogue)
