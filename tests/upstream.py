"""A remote for tests of fetching: a git repository on this machine that serves filtered and single-commit fetches."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# Our own text, laid out as PyTorch's repository is.
FILES = {
    "version.txt": "2.99.0a0\n",
    "README.md": "# a small tree\n",
    ".gitattributes": "*.h filter=evil text eol=crlf\n*.py ident working-tree-encoding=UTF-16\n",
    "aten/src/ATen/native/native_functions.yaml": "- func: blend(Tensor self) -> Tensor\n",
    "aten/src/ATen/native/Blend.cpp": "namespace at::native {\nint blend() { return 1; }\n}\n",
    "c10/core/Blend.h": "#pragma once\n\nint blend();\n",
    "caffe2/core/old.h": "int old();\n",
    "caffe2/other/unwanted.h": "int unwanted();\n",
    "caffe2/CMakeLists.txt": "project(small)\n",
    "torch/csrc/autograd/blend.cpp": "int node() { return 2; }\n",
    "torch/nn/blend.py": "def blend():  # $Id$\n    return 3\n",
    "test/cpp/unwanted.cpp": "int main() { return 0; }\n",
}
IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in {"NAME": "tests", "EMAIL": "tests@example.invalid", "DATE": "2024-01-01T00:00:00Z"}.items()
}


def git(folder: Path, *arguments: str) -> str:
    """Run git as a test's own tool, with nobody's configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *arguments],
        cwd=folder,
        env=kept | quiet | IDENTITY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    return done.stdout.strip()


def write_tree(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Write `files` (the small tree where None) below `folder`."""
    for name, text in (FILES if files is None else files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


def make_upstream(folder: Path, *tags: str) -> str:
    """Make a repository of what lies in `folder`, with these tags, as servers are set up; its commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".git/info/attributes").write_text("* -filter -text -ident -working-tree-encoding\n", encoding="utf-8")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message=all of it")
    for tag in tags:
        git(folder, "tag", tag)
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    return git(folder, "rev-parse", "HEAD")


def copy_of_source(tree: Path, folder: Path, *parts: str) -> Path:
    """Copy these parts of the real 2.6.0 tree."""
    for part in parts:
        if (tree / part).is_dir():
            shutil.copytree(tree / part, folder / part, symlinks=True)
        else:
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree / part, folder / part, follow_symlinks=False)
    return folder


def snapshot(*folders: Path) -> dict[str, tuple[str, int, int, bytes]]:
    """Every entry below `folders`: type, size, time of change, content; to show that nothing was touched."""
    found = {}
    for folder in folders:
        for path in [folder, *sorted(folder.rglob("*"))]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (oct(status.st_mode), status.st_size, status.st_mtime_ns, content)
    return found
