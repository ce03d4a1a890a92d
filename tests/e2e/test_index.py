"""`ptexplore index` as a user has it: what is new is read, what changed replaces its own, editors jump by its tags."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import small_source
from tests.harness import Cli, Here

pytestmark = pytest.mark.e2e

FAILED, USAGE, MISSING = 1, 2, 3
BLEND = "aten/src/ATen/native/Blend.cpp"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return small_source.write(tmp_path / "mini")


@pytest.fixture
def indexing(fetching: Here, root: Path) -> Here:
    """The command with a cache of its own that knows the small tree, used in place."""
    assert fetching("fetch", "--from", str(root)).code == 0
    return fetching


def index(cli: Cli, *more: str) -> dict:
    return cli("index", "--checkout", "mini", "--json", *more).data["indexes"][0]


def database(cli: Cli) -> Path:
    return cli.cache / "index" / "checkout-mini.sqlite"


def test_the_summary_counts_what_the_source_holds(indexing: Cli) -> None:
    summary = index(indexing)
    assert (summary["read"], summary["unchanged"], summary["removed"]) == (7, 0, 0)
    assert summary["dialect"]["structured-impl"] == 1
    assert summary["dialect"]["stub-register"] == 1
    assert summary["dialect"]["yaml-function"] == 1
    assert summary["symbols"]["function"] >= 8
    assert summary["database_bytes"] == database(indexing).stat().st_size
    shown = indexing("index", "--checkout", "mini")
    assert shown.code == 0, shown
    assert "unchanged 7" in shown.out
    assert f"function {summary['symbols']['function']}" in shown.out


def test_nothing_changed_reads_nothing(indexing: Cli, root: Path) -> None:
    for file in root.rglob("*.*"):
        os.utime(file, (1.6e9, 1.6e9))  # old enough to be believed
    index(indexing)
    before = database(indexing).stat()
    again = index(indexing)
    assert (again["read"], again["unchanged"], again["removed"]) == (0, 7, 0)
    assert database(indexing).stat().st_mtime_ns == before.st_mtime_ns


def test_a_refreshed_index_is_that_of_a_cold_build(indexing: Cli, root: Path) -> None:
    index(indexing)
    file = root / BLEND
    file.write_text("\n\n" + file.read_text(encoding="utf-8") + "int added(int a) { return a; }\n", encoding="utf-8")
    (root / "torch/csrc/blend.cpp").unlink()
    (root / "torch/csrc/fresh.cpp").write_text("int fresh() { return 1; }\n", encoding="utf-8")
    os.utime(root / "torch/nn/blend.py")  # as it was but for its time
    changed = index(indexing)
    assert (changed["read"], changed["unchanged"], changed["removed"]) == (2, 5, 1)
    refreshed = small_source.rows(database(indexing))
    database(indexing).unlink()
    index(indexing)
    assert small_source.rows(database(indexing)) == refreshed
    assert any(symbol[1] == "added" for symbol in refreshed[BLEND][1])


def test_a_changed_macro_reads_its_users_again(indexing: Cli, root: Path) -> None:
    index(indexing)
    assert "shade_kernel" in small_source.rows(database(indexing))["names"]
    macros = root / "c10/macros/Marks.h"
    macros.write_text(macros.read_text(encoding="utf-8").replace("op##_kernel", "op##_shader"), encoding="utf-8")
    changed = index(indexing)
    assert changed["read"] == 2, "the header and the one file that uses the macro"
    names = small_source.rows(database(indexing))["names"]
    assert "shade_shader" in names
    assert "shade_kernel" not in names


def test_an_edit_of_equal_size_and_time_just_after_indexing_is_seen(indexing: Cli, root: Path) -> None:
    file = root / "torch/csrc/blend.cpp"
    index(indexing)
    status = file.stat()
    file.write_text(file.read_text(encoding="utf-8").replace("blend_node", "blend_none"), encoding="utf-8")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert index(indexing)["read"] == 1
    assert "blend_none" in small_source.rows(database(indexing))["names"]


# --- tags ---------------------------------------------------------------------------------------


@pytest.fixture
def tags(indexing: Cli, root: Path) -> Path:
    result = indexing("index", "--checkout", "mini", "--export", "ctags", str(root / "tags"))
    assert result.code == 0, result
    return root / "tags"


def where(root: Path, path: str, text: str) -> int:
    """The line of `path` that holds `text`."""
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.skipif(shutil.which("readtags") is None, reason="needs readtags (universal-ctags)")
def test_readtags_finds_what_macros_made(tags: Path, root: Path) -> None:
    def look(name: str) -> str:
        command = ["readtags", "-e", "-n", "-t", str(tags), "-", name]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    kernel = "aten/src/ATen/native/cpu/BlendKernel.cpp"
    for name, path, text in (
        ("blend_kernel", kernel, "void blend_kernel"),
        ("shade_kernel", kernel, "MAKE_KERNEL(shade)"),
        ("blend_stub", BLEND, "DEFINE_DISPATCH"),
        ("blend_out", BLEND, "TORCH_IMPL_FUNC"),
        ("operator==", BLEND, "operator=="),
        ("Blend", "torch/nn/blend.py", "class Blend"),
        ("blend", "torch/nn/blend.py", "def blend"),
    ):
        found = [line.split("\t") for line in look(name).splitlines()]
        line = where(root, path, text)
        assert any(row[1] == path and f"line:{line}" in row for row in found), (name, found)
    kernels = look("blend_kernel")
    assert "kind:function" in kernels
    assert "signature:(int a)" in kernels
    assert "namespace:at::native" in kernels
    head = subprocess.run(["readtags", "-t", str(tags), "-D"], capture_output=True, text=True, check=True).stdout
    assert "!_TAG_FILE_FORMAT\t2\t" in head
    assert "!_TAG_FILE_SORTED\t1\t" in head


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
@pytest.mark.parametrize("name", ["shade_kernel", "blend_out", "operator=="])
def test_vim_jumps(tags: Path, root: Path, tmp_path: Path, name: str) -> None:
    answer = tmp_path / "answer"
    say = f"call writefile([expand('%'), line('.')], '{answer}')"
    command = ["vim", "-N", "-u", "NONE", "-i", "NONE", "-es", f"+tag {name}", f"+{say}", "+qa!"]
    subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
    path, line = answer.read_text(encoding="utf-8").split()
    needle = {"shade_kernel": "MAKE_KERNEL(shade)", "blend_out": "TORCH_IMPL_FUNC", "operator==": "operator=="}[name]
    assert int(line) == where(root, path, needle)


def test_tags_elsewhere_name_files_in_full(indexing: Cli, root: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.tags"
    assert indexing("index", "--checkout", "mini", "--export", "ctags", str(target)).code == 0
    row = next(line for line in target.read_text(encoding="utf-8").splitlines() if line.startswith("blend_kernel\t"))
    assert Path(row.split("\t")[1]) == root / "aten/src/ATen/native/cpu/BlendKernel.cpp"


def test_only_another_tags_file_is_written_over_and_only_when_told(indexing: Cli, tags: Path, root: Path) -> None:
    export = ("index", "--checkout", "mini", "--export", "ctags")
    before = tags.read_bytes()
    tags.write_bytes(before + b"zzz\tx\t1\n")
    assert "--force" in indexing(*export, str(tags)).three_parts(USAGE).err
    assert indexing(*export, str(tags), "--force").code == 0
    assert tags.read_bytes() == before
    source = root / BLEND
    text = source.read_bytes()
    for more in ((), ("--force",)):
        indexing(*export, str(source), *more).three_parts(USAGE)
        indexing(*export, str(root), *more).three_parts(USAGE)
    indexing(*export, str(root / "nowhere" / "tags")).three_parts(USAGE)
    indexing("index", "--checkout", "mini", "--export", "etags", str(root / "TAGS")).three_parts(USAGE)
    assert source.read_bytes() == text
    assert sorted(path.name for path in root.iterdir()) == ["aten", "c10", "tags", "torch", "version.txt"]
