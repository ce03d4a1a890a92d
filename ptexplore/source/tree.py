"""A tree of source files under canonical paths, read from layers: a checkout, or the installed torch.

The installed torch has a tree of two layers, the runtime tree: its generated C++ over the files of the wheel.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ptexplore.errors import BROKEN
from ptexplore.lazy import remembered
from ptexplore.model.places import Checkout, FileText, Layer, Runtime, TreeInfo
from ptexplore.source import canonical
from ptexplore.source.runtime.generated import Hashes, aids_of
from ptexplore.source.runtime.generated import find as find_generated
from ptexplore.writing import folder_below, open_below

LARGEST = 64 * 1024 * 1024  # bytes; the largest real file has about 8 MB
# Output of a build inside a checkout: copies, and generated text of the last build, not the source itself.
BUILT = ("build/", "torch/include/", "torch/bin/", "torch/share/", "torch/csrc/autograd/generated/", "torch/version.py")
NOT_SOURCE = (".git/", *BUILT)  # of a checkout
Relation = Literal["matches", "consistent", "version-skew"]


def is_plain(path: str) -> bool:
    """Whether `path` is a relative path in its simplest form: no '..', no '.', no empty part, no backslash or NUL."""
    return bool(path) and not any(part in {"", ".", ".."} for part in path.split("/")) and not set("\\\0\n") & set(path)


def leads_into_git(path: str) -> bool:
    """Whether a path leads into a git repository's own folder, whose configuration may contain passwords."""
    return ".git" in path.casefold().split("/")


def _anything(_file: str, _data: bytes) -> None:
    """The check of a layer whose content is not known in advance: it accepts everything."""


@dataclass(frozen=True, slots=True)
class LayerFiles:
    """One layer: a function from a canonical path to files to try, and the folders that no path may leave."""

    layer: Layer
    candidates: Callable[[str], list[str]]
    roots: tuple[str, ...]
    check: Callable[[str, bytes], None] = _anything  # raises if a file is not as it should be


@dataclass
class SourceTree:
    """Files by canonical path; the first layer that has a path counts. Never writes, never follows a link out."""

    info: TreeInfo
    layers: tuple[LayerFiles, ...]
    aids: Path | None = None  # the folder of data made together with the generated layer
    _texts: dict[str, FileText | None] = field(default_factory=dict, repr=False)
    _lines: dict[str, list[str]] = field(default_factory=dict, repr=False)

    def read(self, path: str) -> FileText | None:
        """Returns the text of canonical `path`, with the repository's line numbers, or None if no layer has it."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def glance(self, path: str) -> FileText | None:
        """Does the same as `read` without caching the text: for a search through thousands of files."""
        return self._texts[path] if path in self._texts else self._read(path)

    def exists(self, path: str) -> bool:
        """Whether some layer has `path`."""
        return self.read(path) is not None

    def lines(self, path: str) -> list[str]:
        """Returns the lines of `path` without line ends. Empty if there is no such file."""
        if path not in self._lines:
            file = self.read(path)
            self._lines[path] = file.text.split("\n") if file else []
        return self._lines[path]

    def line(self, path: str, line: int) -> str | None:
        """Returns line number `line` (1-based) of `path`, or None if there is no such line."""
        lines = self.lines(path)
        return lines[line - 1] if 0 < line <= len(lines) else None

    def file_of(self, path: str) -> str | None:
        """Returns the file that holds canonical `path`, or None if no layer has it."""
        file = self.read(path)
        return file.file if file else None

    def place_of(self, path: str, line: int) -> tuple[str, int] | None:
        """Returns the file that holds `path`, and the line in it: lines of an installed header may be shifted."""
        file = self.read(path)
        return (file.file, line + file.shift) if file else None

    def own_line(self, path: str, line: int) -> int:
        """Returns the line of `path`, given the line of the file that holds it: the reverse of `place_of`."""
        file = self.read(path)
        return max(1, line - file.shift) if file else line

    def in_installed_header(self, recorded: str, line: int) -> tuple[str, int] | None:
        """Returns canonical path and line of a line in an installed header, as the compiler of an extension records it.

        None if `recorded` is not the path of such a header, or if this tree has no such header.
        """
        header = canonical.installed_header(recorded)
        paths = canonical.header_paths(header) if header is not None else ()
        path = next((path for path in paths if self.exists(path)), None)
        return (path, self.own_line(path, line)) if path is not None else None

    def folders_in(self, path: str) -> list[str]:
        """Returns the folders directly in a folder ("" is the root), for a layer with the repository's folders.

        Links do not count. A checkout is such a layer; the installed torch has other folders, so it gives none. Raises
        OSError if a broken disk, or a limit, makes the answer unknown.
        """
        folders: set[str] = set()
        for layer in self.layers:
            if layer.layer != "checkout" or (path and not is_plain(path)):
                continue
            for root in layer.roots:
                try:
                    with (
                        folder_below(Path(root), path.split("/") if path else []) as folder,
                        os.scandir(folder) as entries,
                    ):
                        folders.update(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
                except OSError as error:
                    if error.errno in BROKEN:
                        raise
        inside = sorted(f"{path}/{name}" if path else name for name in folders)
        return [folder for folder in inside if not leads_into_git(folder)]

    @remembered
    def aid(self, name: str) -> str | None:
        """Returns the text of a file made together with the generated layer (see source/runtime/generated.py)."""
        if self.aids is None or not is_plain(name):
            return None
        return _read_inside(str(self.aids / name), (os.path.realpath(self.aids),))

    def forget(self) -> None:
        """Drops the texts read so far."""
        self._texts.clear()
        self._lines.clear()

    def _read(self, path: str) -> FileText | None:
        if not is_plain(path):
            return None
        for layer in self.layers:
            for file in layer.candidates(path):
                if layer.layer == "checkout":
                    text = _read_below(layer.roots[0], path)
                else:
                    text = _read_inside(file, layer.roots, layer.check)
                if text is None or not _serves(file, text, path):
                    continue
                text, shift = canonical.unwrap(text) if layer.layer == "wheel" else (text, 0)
                return FileText(path, layer.layer, file, text, shift)
        return None


def _serves(file: str, text: str, path: str) -> bool:
    """Whether `file` is `path`: the text of an installed header says whether it is `aten/…` or `build/aten/…`."""
    header = canonical.installed_header(file)
    return header is None or canonical.header_path(header, text[:600]) == path


def _read_inside(file: str, roots: tuple[str, ...], check: Callable[[str, bytes], None] = _anything) -> str | None:
    """Returns the text of `file` if it is a regular file whose real path is inside a root, else None.

    `check` gets the path and the content, and may raise.
    """
    try:
        real = os.path.realpath(file, strict=True)
        if not any(real.startswith(root + os.sep) for root in roots):
            return None
        status = os.stat(real)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return None
        with open(real, "rb") as handle:
            data = handle.read()
    except ValueError:
        return None
    except OSError as error:
        if error.errno in BROKEN:  # the file exists, and without it the answer would be another one
            raise
        return None
    check(real, data)
    return _decoded(data)


def _read_below(root: str, path: str) -> str | None:
    """Returns the text of the regular file at `path` below `root`, if no link is on the way. Else None.

    The author of a checkout chose its links, and its text may be published. A link may lead to one of the user's own
    files, even in the same folder.
    """
    try:
        with open_below(root, path) as handle:
            data = handle.read(LARGEST + 1)
    except ValueError:
        return None
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return None
    return _decoded(data) if len(data) <= LARGEST else None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def folders(runtime: Runtime) -> canonical.InstalledFolders:
    """Returns the folders of `runtime` for the functions of `canonical`."""
    functorch = Path(runtime.torch_dir).parent / "functorch"
    return canonical.InstalledFolders(
        runtime.torch_dir, runtime.torchgen_dir, runtime.packaged_dir, str(functorch) if functorch.is_dir() else None
    )


def runtime_tree(runtime: Runtime, generated: Path | None = None) -> SourceTree:
    """Returns the tree of the running version: its generated C++ over the wheel.

    `generated` is the result of `generated.ensure`; by default, the generated C++ that exists already is used.
    """
    where = folders(runtime)
    root = generated or find_generated(runtime)
    layers = []
    if root is not None:
        real = os.path.realpath(root)
        check = Hashes(Path(real)).check
        layers.append(LayerFiles("generated", lambda path: _generated_candidates(real, path), (real,), check))
    roots = [folder for folder in (where.torch, where.torchgen, where.packaged, where.functorch) if folder]
    real_roots = tuple(sorted({os.path.realpath(folder) for folder in roots}))
    layers.append(LayerFiles("wheel", lambda path: canonical.installed_candidates(path, where), real_roots))
    info = TreeInfo("runtime", runtime.version, tuple(layer.layer for layer in layers), runtime.git_version)
    return SourceTree(info, tuple(layers), aids_of(runtime, root) if root is not None else None)


def _generated_candidates(root: str, path: str) -> list[str]:
    """Returns only generated files: the root of a source build is a whole checkout."""
    is_ours = path.startswith("build/") or "/generated/" in path
    return [f"{root}/{path}"] if is_ours else []


def checkout_tree(checkout: Checkout, relation: Relation = "version-skew") -> SourceTree:
    """Returns the tree of `checkout`. No link is followed; the `.git` folder and the output of a build are not read.

    `relation` is its relation to the running torch. The default claims the least.
    """
    root = os.path.realpath(checkout.root)

    def candidates(path: str) -> list[str]:
        return [] if path.startswith(NOT_SOURCE) or leads_into_git(path) else [f"{root}/{path}"]

    layer = LayerFiles("checkout", candidates, (root,))
    version = checkout.release or checkout.version or "unknown"
    return SourceTree(TreeInfo(checkout.name, version, ("checkout",), checkout.commit, relation), (layer,))
