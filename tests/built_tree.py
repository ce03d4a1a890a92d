"""A source tree of PyTorch as `python setup.py develop` leaves it, laid out of a release's wheel and source.

Nothing is compiled: the libraries are the wheel's. Files are linked, and only read.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ptexplore.source.canonical import header_path
from ptexplore.source.listing import ROOTS

_MIRRORED = {  # by setup.py, in each build
    "ATen/native/native_functions.yaml": "aten/src/ATen/native/native_functions.yaml",
    "ATen/native/tags.yaml": "aten/src/ATen/native/tags.yaml",
    "ATen/templates": "aten/src/ATen/templates",
    "autograd": "tools/autograd",
}


def lay_out(root: Path, source: Path, packages: Path, generated: Path) -> None:
    """Make the tree at `root`. `packages` is the site-packages of the release, `generated` its generated C++."""
    for name in (*ROOTS, "version.txt", "setup.py"):
        _link(source / name, root / name)
    for new, old in _MIRRORED.items():
        _link(source / old, root / "torchgen/packaged" / new)
    for folder in ("build", "torch/csrc/autograd/generated"):
        _link(generated / folder, root / folder)
    wheel = packages / "torch"
    for file in _files(wheel):
        inside = file.relative_to(wheel)
        if not (root / "torch" / inside).exists():
            _link(file, root / "torch" / inside)
    for header in _files(wheel / "include"):  # a build writes these into its folder, and installs them from there
        name = header.relative_to(wheel / "include").as_posix()
        head = header.read_text(encoding="utf-8", errors="replace")[:600]
        path = header_path(name, head)
        if path is not None and path.startswith("build/") and not (root / path).exists():
            _link(header, root / path)
    commands = [
        {"directory": f"{root}/build", "command": f"c++ -c {file}", "file": str(file), "output": f"{file.stem}.cpp.o"}
        for file in sorted((root / "aten/src/ATen/native").glob("*.cpp"))
    ]
    (root / "build/compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
    for name in ("nvidia", "cusparselt"):  # the wheel's libraries look for CUDA's there
        if (packages / name).is_dir():
            (root / name).symlink_to(packages / name)


def install(environment: Path, root: Path, python: str, packages: Path) -> str:
    """Make an environment with an editable install of the tree. Other packages come from `packages`."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "torch.egg-link").write_text(f"{root}\n.", encoding="utf-8")
    (site / "easy-install.pth").write_text(f"{root}\n", encoding="utf-8")
    (site / "others.pth").write_text(f"{packages}\n", encoding="utf-8")  # is read after it
    return str(environment / "bin" / "python")


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(parent, name) for name in names)


def _link(old: Path, new: Path) -> None:
    """Link a file, or each file of a folder; copy it if the disk is another one."""
    for file in _files(old) if old.is_dir() else (old,):
        target = new / file.relative_to(old) if old.is_dir() else new
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, target)
        except FileExistsError:
            pass
        except OSError:
            shutil.copy2(file, target)
