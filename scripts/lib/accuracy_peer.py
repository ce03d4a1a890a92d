"""Universal Ctags on the same files: its function definitions by file, with qualified names as it gives them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lib.accuracy_names import last, plain

_FORMAT = "--_xformat=%F\t%n\t%Z\t%N"
# Every suffix that the index reads as C++; Ctags would take some of them for others, or for nothing.
_SUFFIXES = "--langmap=C++:.c.cc.cpp.cxx.h.hpp.hh.inl.inc.cu.cuh.m.mm.metal"


@dataclass
class Tags:
    """Function definitions: (qualified name, line) by path, and all qualified and last names."""

    version: str
    by_path: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    qualified: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


def tags(files: Sequence[tuple[str, str]]) -> Tags | None:
    """Ctags' function definitions in `files`, (canonical path, file); None where Universal Ctags is not installed."""
    if shutil.which("ctags") is None:
        return None
    version = subprocess.run(("ctags", "--version"), capture_output=True, text=True, check=False).stdout
    if not version.startswith("Universal Ctags"):
        return None
    options = ("-x", _FORMAT, "--languages=C++", _SUFFIXES, "--kinds-C++=f", "--sort=no", "-L", "-", "-o", "-")
    said = subprocess.run(
        ("ctags", *options), input="\n".join(file for _, file in files), capture_output=True, text=True, check=True,
        errors="replace",
    )  # fmt: skip
    found = Tags(version.split(",", 1)[0])
    paths = {str(Path(file)): path for path, file in files}
    for line in said.stdout.splitlines():
        _take(found, paths, line.split("\t"))
    return found


def _take(found: Tags, paths: dict[str, str], parts: Sequence[str]) -> None:
    if len(parts) != 4 or parts[0] not in paths:
        return
    file, line, scope, name = parts
    qualified = plain(f"{scope}::{name}" if scope else name)
    found.by_path.setdefault(paths[file], set()).add((qualified, int(line)))
    found.qualified.add(qualified)
    found.names.add(last(qualified))


def cpp_only(files: Iterable[tuple[str, str]], suffixes: Iterable[str]) -> list[tuple[str, str]]:
    """The C++ among (path, file)."""
    wanted = tuple(suffixes)
    return [(path, file) for path, file in files if path.endswith(wanted)]
