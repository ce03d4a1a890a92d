"""Lists the files of a source to index: canonical path, file and layer. Symbolic links are never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ptexplore.errors import BROKEN
from ptexplore.model.places import Checkout, Layer, Runtime
from ptexplore.source import canonical
from ptexplore.source.runtime.generated import AIDS
from ptexplore.source.runtime.generated import find as find_generated
from ptexplore.source.tree import LARGEST, NOT_SOURCE, folders

CPP = frozenset(  # with CUDA, Objective-C++ and Metal
    {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".hh", ".inl", ".inc", ".cu", ".cuh", ".m", ".mm", ".metal"}
)
PYTHON = frozenset({".py", ".pyi"})
YAML = frozenset({".yaml", ".yml"})
SUFFIXES = CPP | PYTHON | YAML
ROOTS = ("aten", "c10", "torch", "torchgen", "tools", "caffe2", "functorch")  # the folders of PyTorch's repository

_GENERATED = ("build/aten/src/ATen", "torch/csrc/autograd/generated")
_NO_SOURCE = frozenset(
    {"__pycache__", "node_modules"}
)  # in an extension, NOT_SOURCE also excludes the output of its build


class Listed(NamedTuple):
    """One file to index: its canonical path, its place on disk, and its layer.

    `state` is its time of change in nanoseconds and its size in bytes, as they were when it was listed.
    """

    path: str
    file: str
    layer: Layer
    state: tuple[int, int] | None = None


def files_of(source: Checkout | Runtime, generated: Path | None = None) -> list[Listed]:
    """Returns the files to index of a checkout, or of an installed torch with its generated C++, by canonical path.

    `generated` is the result of `generated.ensure`; by default, the generated C++ that exists already is used.
    """
    if isinstance(source, Runtime):
        return runtime_files(source, generated)
    return checkout_files(source)


def checkout_files(checkout: Checkout) -> list[Listed]:
    """Returns C, C++, CUDA, Objective-C++, Metal, Python and YAML files, for PyTorch only those below ROOTS."""
    root = os.path.realpath(checkout.root)
    roots = [f"{root}/{name}" for name in ROOTS] if checkout.project == "pytorch" else [root]
    listed = (
        Listed(shown(path), file, "checkout", state)
        for top in roots
        for file, state in _walk(top)
        if _is_plain(path := file[len(root) + 1 :]) and not path.startswith(NOT_SOURCE)
    )
    return sorted(listed)


def shown(path: str) -> str:
    """Returns a path that can be stored and printed: U+FFFD replaces each byte that is not UTF-8."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def is_unicode(file: str) -> bool:
    """Whether the name of a file is UTF-8. Names that are stored and printed must be."""
    return file.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in file)


def _is_plain(path: str) -> bool:
    """Does the test of `tree.is_plain` for a path from a folder listing, whose parts are never empty nor only dots."""
    return "\\" not in path and "\n" not in path


def runtime_files(runtime: Runtime, generated: Path | None = None) -> list[Listed]:
    """Returns the generated C++, PyTorch's own installed headers, its Python, and the YAML that torchgen ships."""
    return layered(generated_files(generated or find_generated(runtime)), installed_files(runtime))


def layered(*layers: Iterable[Listed]) -> list[Listed]:
    """Merges layers by path. As in the runtime tree, the first layer that has a path counts."""
    by_path: dict[str, Listed] = {}
    for layer in layers:
        for listed in layer:
            by_path.setdefault(listed.path, listed)
    return sorted(by_path.values())


def generated_files(root: Path | None) -> list[Listed]:
    """Returns the generated C++ below `root`. Empty if `root` is None."""
    if root is None:
        return []
    real = os.path.realpath(root)
    return [
        Listed(file[len(real) + 1 :], file, "generated", state)
        for top in _GENERATED
        for file, state in _walk(f"{real}/{top}", skip=frozenset({AIDS}))
    ]


def installed_files(runtime: Runtime) -> list[Listed]:
    """Returns PyTorch's own installed headers, its Python, and the YAML that torchgen ships."""
    return list(_wheel_files(folders(runtime)))


def _wheel_files(where: canonical.InstalledFolders) -> Iterator[Listed]:
    include, inside = f"{where.torch}/include/", len(where.torch) + 1
    normal = os.path.normpath(where.torch) == where.torch
    for folder in (where.torch, where.torchgen, where.functorch):
        for file, state in _walk(folder) if folder else ():
            in_packaged = where.packaged is not None and file.startswith(where.packaged + "/")
            if in_packaged and os.path.splitext(file)[1] in CPP:
                continue  # templates: the generated layer has their results
            path: str | None
            if normal and folder == where.torch and not file.startswith(include):
                path = f"torch/{file[inside:]}"  # the same result as `installed_path`, but faster
            else:
                path = canonical.installed_path(file, where, _head(file, where))
            if path is not None and _is_plain(path):
                yield Listed(shown(path), file, "wheel", state)


def _head(file: str, where: canonical.InstalledFolders) -> str:
    """Returns the beginning of an installed header, if its name does not say whether it is generated. Else ""."""
    include = f"{where.torch}/include/"
    if not file.startswith(include):
        return ""
    header = file[len(include) :]
    if canonical.is_generated(header) or canonical.header_path(header) is None:
        return ""
    try:
        with open(file, "rb") as handle:
            return handle.read(1200).decode("utf-8", errors="replace")
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return ""


def is_at(path: str | Path) -> bool:
    """Whether anything exists at a path. A link is not followed.

    Raises OSError for a bad disk, since the answer is unknown then.
    """
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return False
    return True


def first_bytes(file: str | Path, most: int = 4096) -> bytes:
    """Returns the beginning of a file. Empty if it cannot be read, or is a FIFO or a device."""
    try:
        # non-blocking: opening a FIFO would wait for its other end
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            return stream.read(most) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return b""
    except ValueError:
        return b""


def _walk(top: str, skip: frozenset[str] = frozenset()) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields every regular file below `top` (not a link) with a suffix to index, and its state (see Listed).

    Unreadable folders are left out. Raises OSError for a bad disk, since then the content is unknown.
    """
    waiting = [top] if not os.path.islink(top) else []
    skipped = _NO_SOURCE | skip
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError as error:
            if error.errno in BROKEN:
                raise
            continue
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            continue  # a virtual environment inside an extension's folder
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name not in skipped:
                        waiting.append(entry.path)
                elif (state := _state(entry)) is not None:
                    yield entry.path, state
            except OSError as error:
                if error.errno in BROKEN:
                    raise
                continue


def _state(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """Returns the state of a file to index, or None if it is not to be indexed."""
    name = entry.name  # cut here, since os.path.splitext takes four times as long
    if name[name.rfind(".") :] not in SUFFIXES or not name[: name.rfind(".")].strip("."):
        return None
    if not entry.is_file(follow_symlinks=False):
        return None
    status = entry.stat(follow_symlinks=False)
    return (status.st_mtime_ns, status.st_size) if status.st_size <= LARGEST else None
