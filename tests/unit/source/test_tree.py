"""A tree reads what lies in its layers and nothing else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ptexplore.model.places import Checkout, Runtime
from ptexplore.resolve.places.relation import is_runtimes
from ptexplore.source import tree as tree_module
from ptexplore.source.tree import SourceTree, checkout_tree, is_plain, runtime_tree
from tests.upstream import write_tree


def runtime(site: Path) -> Runtime:
    torch, gen = str(site / "torch"), str(site / "torchgen")
    return Runtime("python", "3.11", torch, "2.99", "0", "wheel", gen, f"{gen}/packaged", (), "k", "i")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    for name, text in {
        "torch/nn/functional.py": "one\ntwo\n",
        "torch/include/ATen/ops/add.h": "// generated\n",
        "torch/include/c10/core/A.h": "int a;\r\nint b;\r\n",
        "torchgen/packaged/ATen/native/native_functions.yaml": "- func: x\n",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, newline="")
    return site


@pytest.fixture
def generated(tmp_path: Path) -> Path:
    folder = tmp_path / "generated"
    (folder / "build/aten/src/ATen").mkdir(parents=True)
    (folder / "build/aten/src/ATen/RegisterCPU_0.cpp").write_text("generated\n")
    (folder / "ptexplore").mkdir()
    (folder / "ptexplore/model.json").write_text("{}")
    return folder


@pytest.fixture
def tree(site: Path, generated: Path) -> SourceTree:
    return runtime_tree(runtime(site), generated)


def test_layers(tree: SourceTree) -> None:
    python = tree.read("torch/nn/functional.py")
    assert python is not None
    assert (python.layer, python.text) == ("wheel", "one\ntwo\n")
    cpp = tree.read("build/aten/src/ATen/RegisterCPU_0.cpp")
    assert cpp is not None
    assert cpp.layer == "generated"
    assert tree.info.layers == ("generated", "wheel")
    assert tree.line("torch/nn/functional.py", 2) == "two"
    assert tree.line("torch/nn/functional.py", 99) is None
    assert tree.lines("c10/core/A.h") == ["int a;", "int b;", ""]
    assert tree.aid("model.json") == "{}"


def test_a_generated_header_has_only_its_build_path(tree: SourceTree) -> None:
    assert tree.exists("build/aten/src/ATen/ops/add.h")
    assert not tree.exists("aten/src/ATen/ops/add.h")
    assert not tree.exists("build/c10/core/A.h")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../x",
        "torch/../../x",
        "torch/./nn/functional.py",
        "torch//nn/functional.py",
        "torch\\x",
        "a\0b",
    ],
)
def test_odd_paths_are_refused(tree: SourceTree, path: str) -> None:
    assert not is_plain(path)
    assert tree.read(path) is None


@pytest.mark.parametrize("path", ["ptexplore/model.json", "torch", "torch/nn", "torch/missing.py", "site/x"])
def test_what_is_no_file_of_a_layer(tree: SourceTree, path: str) -> None:
    assert tree.read(path) is None
    assert tree.file_of(path) is None
    assert tree.place_of(path, 1) is None


def test_links_are_not_followed_out(site: Path, tree: SourceTree, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "x.py").write_text("secret")
    (site / "torch/link.py").symlink_to(secret / "x.py")
    (site / "torch/folder").symlink_to(secret)
    (site / "torch/inside.py").symlink_to("nn/functional.py")
    (site / "torch/loop.py").symlink_to("loop.py")
    assert tree.read("torch/link.py") is None
    assert tree.read("torch/folder/x.py") is None
    assert tree.read("torch/loop.py") is None
    assert tree.exists("torch/inside.py")


@pytest.mark.parametrize("to", [".git/config", "private.txt", "../outside.txt", "c10/b.cpp"])
def test_no_link_in_a_checkout_is_followed(tmp_path: Path, to: str) -> None:
    root = write_tree(tmp_path / "clone", {".git/config": "token", "private.txt": "token", "c10/b.cpp": "int b;\n"})
    (tmp_path / "outside.txt").write_text("token")
    (root / "LICENSE").symlink_to(to)
    (root / "c10/folder").symlink_to(root / ".git")
    (root / "c10/round").symlink_to("..")
    tree = checkout_tree(Checkout("clone", "folder", str(root), str(root)))
    assert tree.exists("c10/b.cpp")
    for path in ("LICENSE", "c10/folder/config", "c10/round/private.txt", ".git/config", ".GIT/config", "c10/.git/x"):
        assert tree.read(path) is None, path
    assert tree.folders_in("c10/round") == []
    assert tree.folders_in(".git") == []


def test_the_text_that_a_link_leads_to_is_not_compared(tmp_path: Path, site: Path) -> None:
    root = write_tree(tmp_path / "clone", {"real.py": "one\ntwo\n"})
    (root / "torch/nn").mkdir(parents=True, exist_ok=True)
    (root / "torch/nn/functional.py").symlink_to(root / "real.py")
    assert not is_runtimes("torch/nn/functional.py", Checkout("clone", "folder", str(root), str(root)), runtime(site))


def test_a_fifo_in_a_checkout_keeps_nobody_waiting(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "clone", {"c10/b.cpp": "int b;\n"})
    os.mkfifo(root / "LICENSE")
    assert checkout_tree(Checkout("clone", "folder", str(root), str(root))).read("LICENSE") is None


def test_a_site_behind_a_link_is_read(site: Path, generated: Path, tmp_path: Path) -> None:
    (tmp_path / "env").symlink_to(site)
    assert runtime_tree(runtime(tmp_path / "env"), generated).exists("torch/nn/functional.py")


def test_without_generated_files(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "empty"))
    tree = runtime_tree(runtime(site))
    assert tree.info.layers == ("wheel",)
    assert tree.aid("model.json") is None
    assert not (tmp_path / "empty").exists()


def test_a_file_that_a_bad_disk_keeps_back_is_not_a_file_that_is_not_there(
    tree: SourceTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(number: int) -> None:
        def refuse(*_given: object, **_named: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(tree_module, "open", refuse, raising=False)

    failing(errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        tree.read("torch/nn/functional.py")
    failing(errno.EACCES)
    assert tree.read("torch/nn/functional.py") is None
