"""Which files `ptexplore index --semantic` reads: translation units and headers, from what the user named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.index.semantic.arguments import HEADERS, SOURCES
from ptexplore.model.symbols import IndexedFile
from ptexplore.source.canonical import is_test_file

CORE = ("c10/core", "aten/src/ATen/core", "torch/csrc/autograd")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Canonical paths: units to parse, headers to read along with them, and what libclang cannot read here."""

    units: tuple[str, ...]
    headers: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def all(self) -> frozenset[str]:
        return frozenset((*self.units, *self.headers))


def choose(files: Iterable[IndexedFile], root: str, named: Sequence[str]) -> Chosen:
    """The files below what is `named`: "core", canonical paths, or files and folders inside the checkout at `root`.

    Of "core" (and of nothing named) tests are left out: they need headers that no wheel has. Raises
    PtexploreError(USAGE) where a name holds no C++.
    """
    known = sorted(one.path for one in files if one.language == "cpp")
    found: set[str] = set()
    for name in named or ("core",):
        if name == "core":
            found |= {path for path in known if _below(path, CORE) and not is_test_file(path)}
            continue
        here = {path for path in known if _below(path, (_canonical(name, root),))}
        if not here:
            why = "no C or C++ file of the checkout is, or lies below, that path"
            raise PtexploreError(f"{name} has nothing to parse", why, "ptexplore index --semantic core", USAGE)
        found |= here
    by_kind: dict[str, list[str]] = {"units": [], "headers": [], "others": []}
    for path in sorted(found):
        suffix = PurePosixPath(path).suffix
        by_kind["units" if suffix in SOURCES else "headers" if suffix in HEADERS else "others"].append(path)
    return Chosen(tuple(by_kind["units"]), tuple(by_kind["headers"]), tuple(by_kind["others"]))


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") or not one for one in folders)


def _canonical(name: str, root: str) -> str:
    real, top = os.path.realpath(name), os.path.realpath(root)
    if real == top or real.startswith(f"{top}/"):
        return "" if real == top else Path(real).relative_to(top).as_posix()
    return os.path.normpath(name)
