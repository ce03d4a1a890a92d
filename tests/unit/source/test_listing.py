"""Which files are there to index, of a checkout, an extension and an installed torch."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from ptexplore.annotations.folders import load_folders
from ptexplore.annotations.kept import _stamps
from ptexplore.annotations.layers import Layer
from ptexplore.annotations.load import load
from ptexplore.errors import PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.render.html.output import Aside, Output, _Remembered
from ptexplore.source.listing import SUFFIXES, files_of
from ptexplore.source.runtime.describe import find_runtime
from ptexplore.source.tree import checkout_tree, runtime_tree
from tests.upstream import FILES, write_tree


def checkout(root: Path, project: str = "pytorch") -> Checkout:
    return Checkout("x", "folder", str(root), str(root), project)


def test_a_checkouts_own_folders(tmp_path: Path) -> None:
    write_tree(tmp_path)
    wanted = {"aten/src/ATen/native/native_functions.yaml", "aten/src/ATen/native/Blend.cpp", "c10/core/Blend.h"}
    wanted |= {"caffe2/core/old.h", "caffe2/other/unwanted.h", "torch/csrc/autograd/blend.cpp", "torch/nn/blend.py"}
    listed = files_of(checkout(tmp_path))
    assert {found.path for found in listed} == wanted
    assert {found.layer for found in listed} == {"checkout"}
    for found in listed:
        assert Path(found.file).read_bytes().decode() == FILES[found.path]


@pytest.mark.parametrize(
    "path",
    [
        "build/aten/src/ATen/RegisterCPU.cpp",
        "torch/include/c10/x.h",
        "torch/csrc/autograd/generated/python_functions.cpp",
        "torch/version.py",
        ".git/x.py",
        "aten/.hidden/x.cpp",
        "aten/__pycache__/x.py",
        "third_party/x/x.cpp",
        "aten/x.txt",
        "aten/x.cpp~",
    ],
)
def test_what_is_no_source_of_a_checkout(tmp_path: Path, path: str) -> None:
    write_tree(tmp_path, {path: "x\n", "aten/good.cpp": "int good;\n"})
    assert [found.path for found in files_of(checkout(tmp_path))] == ["aten/good.cpp"]


@pytest.mark.parametrize("suffix", sorted(SUFFIXES))
def test_kinds_of_files(tmp_path: Path, suffix: str) -> None:
    write_tree(tmp_path, {f"aten/x{suffix}": "x\n"})
    assert [found.path for found in files_of(checkout(tmp_path))] == [f"aten/x{suffix}"]


def test_an_extension_is_listed_whole(tmp_path: Path) -> None:
    files = ("kernel.cu", "a/b/c.py", "venv/pyvenv.cfg", "venv/lib/site.py", "test/t.py")
    write_tree(tmp_path, dict.fromkeys(files, "x\n"))
    found = [listed.path for listed in files_of(checkout(tmp_path, "my_backend"))]
    assert found == ["a/b/c.py", "kernel.cu", "test/t.py"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = write_tree(tmp_path / "outside", {"secret.h": "secret\n", "deep/secret.cpp": "secret\n"})
    root = write_tree(tmp_path / "tree")
    (root / "aten/link.h").symlink_to(outside / "secret.h")
    (root / "aten/folder").symlink_to(outside)
    (root / "c10/round").symlink_to("..")
    (root / "functorch").symlink_to(outside)
    paths = [listed.path for listed in files_of(checkout(root))]
    assert not [path for path in paths if "secret" in path or "link" in path or "round" in path]
    tree = checkout_tree(checkout(root))
    for path in ("aten/link.h", "aten/folder/secret.h", "functorch/secret.h"):
        assert tree.read(path) is None
    assert tree.line("c10/core/Blend.h", 3) == "int blend();"


def test_an_installed_torch(tmp_path: Path) -> None:
    runtime = find_runtime()
    generated = write_tree(
        tmp_path,
        {
            "build/aten/src/ATen/RegisterCPU_0.cpp": "x\n",
            "torch/csrc/autograd/generated/VariableType_0.cpp": "x\n",
            "ptexplore/model.py": "x\n",
        },
    )
    listed = {found.path: found for found in files_of(runtime, generated)}
    assert {path for path, found in listed.items() if found.layer == "generated"} == {
        "build/aten/src/ATen/RegisterCPU_0.cpp",
        "torch/csrc/autograd/generated/VariableType_0.cpp",
    }
    expected = {
        "aten/src/ATen/native/native_functions.yaml",
        "tools/autograd/derivatives.yaml",
        "torch/nn/functional.py",
        "c10/core/TensorImpl.h",
        "build/aten/src/ATen/ops/add.h",
        "aten/src/ATen/Dispatch.h",
    }
    tree = runtime_tree(runtime, generated)
    for path in expected:
        assert listed[path].layer == "wheel"
        assert tree.file_of(path) == listed[path].file, "the tree gives the same file under that path"
    assert not [path for path in listed if path.startswith(("torch/include/", "torchgen/packaged/"))]


@pytest.mark.parametrize("number", [errno.EIO, errno.EINTR, errno.ESTALE])
def test_a_folder_that_a_bad_disk_keeps_back_is_not_an_empty_one(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files to index, of notes, of folders' pages; and a site's list of pages, without which stale pages stay.

    Whether the disk fails, a signal comes in between, or a server knows the folder no more.
    """
    write_tree(tmp_path / "tree")
    (tmp_path / "notes").mkdir()
    (tmp_path / "site").mkdir()
    site_list = '{"format": 1, "pages": {"a.html": ["", 1, ""]}}'
    (tmp_path / "site/ptexplore-site.json").write_text(site_list)
    _Remembered.of(tmp_path / "site").also(hashlib.sha256(site_list.encode()).hexdigest())
    layers = [Layer(tmp_path / "notes", "notes")]
    assert list(Output(tmp_path / "site").before) == ["a.html"]
    assert not load(layers).problems
    tree = checkout_tree(checkout(tmp_path / "tree"))
    assert tree.folders_in("")

    def refuse(path: object, *_given: object, **_named: object) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(OSError, match=os.strerror(number)):
        files_of(checkout(tmp_path / "tree"))
    with pytest.raises(OSError, match=os.strerror(number)):
        tree.folders_in("")
    with pytest.raises(OSError, match=os.strerror(number)):
        _stamps(tmp_path / "notes")
    said = [str(problem) for problem in (*load(layers).problems, *load_folders(layers).problems)]
    assert len(said) == 4, "notes, notes/tours, notes/notes, notes/folders"
    assert all(os.strerror(number) in problem for problem in said)
    with pytest.raises(OSError, match=os.strerror(number)):
        Aside(tmp_path / "site", "").open()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PtexploreError, match="the site cannot be written"):
        Output(tmp_path / "site")
