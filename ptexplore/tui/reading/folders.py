"""The folders and files of the trees as rows to show: one level is read when its folder is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptexplore.view.trees import IndexedTree

AREAS = {
    "aten": "aten/src/ATen",
    "c10": "c10",
    "csrc": "torch/csrc",
    "torch": "torch",
}  # what `browse` knows by a short name


@dataclass(frozen=True, slots=True)
class FileRow:
    """One visible row. `path` is "" for a whole tree; `layer` is a file's, or what all files of a folder share."""

    depth: int
    name: str
    tree: str
    path: str
    folder: bool
    open: bool
    layer: str = ""


@dataclass
class _Folder:
    """What one folder holds: folders by name, files with their layers, and the layers of everything below."""

    folders: dict[str, _Folder] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    layers: set[str] = field(default_factory=set)

    def add(self, path: str, layer: str) -> None:
        """Put a file in its place."""
        *above, name = path.split("/")
        here = self
        here.layers.add(layer)
        for part in above:
            here = here.folders.setdefault(part, _Folder())
            here.layers.add(layer)
        here.files[name] = layer


class OpenFolders:
    """Which folders of which trees are open, and the rows that follow from that."""

    def __init__(self, trees: Sequence[IndexedTree]) -> None:
        self._trees = {one.tree.info.name: one for one in trees}
        self._read: dict[str, _Folder] = {}
        self._open: set[tuple[str, str]] = set()

    def read(self, tree: str) -> None:
        """Read which files a tree has: 50 ms for ten thousand, so not before it is opened."""
        if tree not in self._read:
            top = _Folder()
            for file in self._trees[tree].store.files():
                top.add(file.path, file.layer)
            self._read[tree] = top

    def is_read(self, tree: str) -> bool:
        """Whether opening something in that tree takes no time."""
        return tree in self._read

    def toggle(self, tree: str, path: str) -> None:
        """Open a folder, or close it."""
        if (tree, path) in self._open:
            self._open.discard((tree, path))
        else:
            self.open(tree, path)

    def open(self, tree: str, path: str) -> None:
        """Open a folder and those around it; one that holds nothing but a folder opens that, too."""
        self.read(tree)
        parts = path.split("/") if path else []
        for end in range(len(parts) + 1):
            self._open.add((tree, "/".join(parts[:end])))

    def close(self, tree: str, path: str) -> None:
        """Close a folder; what is open inside it stays so."""
        self._open.discard((tree, path))

    def is_open(self, tree: str, path: str) -> bool:
        """Whether what a folder holds is among the rows."""
        return (tree, path) in self._open

    def holds(self, tree: str, path: str) -> bool:
        """Whether a tree has that folder."""
        here: _Folder | None = self._read.get(tree)
        for part in path.split("/"):
            here = here.folders.get(part) if here is not None else None
        return here is not None

    def rows(self) -> list[FileRow]:
        """Every visible row."""
        found = []
        for name, indexed in self._trees.items():
            info = indexed.tree.info
            is_open = self.is_open(name, "")
            found.append(FileRow(0, info.label, name, "", folder=True, open=is_open, layer="+".join(info.layers)))
            if is_open:
                found += self._below(name, "", self._read[name], 1)
        return found

    def _below(self, tree: str, path: str, folder: _Folder, depth: int) -> Iterator[FileRow]:
        for first in sorted(folder.folders, key=str.lower):
            name, inner = first, folder.folders[first]
            while len(inner.folders) == 1 and not inner.files:  # a chain of folders with nothing else is one row
                ((only, inner),) = inner.folders.items()
                name = f"{name}/{only}"
            full = f"{path}/{name}" if path else name
            is_open = self.is_open(tree, full)
            layer = next(iter(inner.layers)) if len(inner.layers) == 1 else ""
            yield FileRow(depth, name, tree, full, folder=True, open=is_open, layer=layer)
            if is_open:
                yield from self._below(tree, full, inner, depth + 1)
        for name in sorted(folder.files, key=str.lower):
            full = f"{path}/{name}" if path else name
            yield FileRow(depth, name, tree, full, folder=False, open=False, layer=folder.files[name])
