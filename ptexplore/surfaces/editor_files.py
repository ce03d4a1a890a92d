"""The files of the trees as an editor sees them: which are indexed, and where their lines are in the editor.

A file has places only if its bytes on disk are those that were indexed, and a line only if the editor has not changed
it. Elsewhere there is no answer.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.lookup.targets import file_on_disk
from ptexplore.lookup.trees import IndexedTree, Spot
from ptexplore.surfaces.editor_places import AskedPlace, Located
from ptexplore.surfaces.editor_text import Encoding, EqualLines, column, editor_lines, units
from ptexplore.view.source_file import SourceFile
from ptexplore.view.words.editor import editor_remark
from ptexplore.workspace.workspace import Workspace

if TYPE_CHECKING:
    from ptexplore.annotations.about import MarksByTree
    from ptexplore.lookup.operators import Catalogue

_RETRY = 5.0  # seconds after which missing indexes are looked for again

_FILES = 48  # files that are kept with their text
Buffers = Callable[[str], str | None]  # the text of an open file by its real path; None if it is not open
Stamp = tuple[int, int, int]


class EditorFile:
    """A file of a tree as it is on disk. `is_indexed`: these are the bytes that the index has read."""

    def __init__(self, indexed: IndexedTree, path: str, file: str) -> None:
        self.indexed = indexed
        self.path = path
        self.file = file
        data = Path(file).read_bytes()
        known = indexed.store.file(path)
        self.is_indexed = known is not None and hashlib.sha256(data).hexdigest() == known.sha
        self.lines = editor_lines(data.decode("utf-8", "replace"))
        self.source = SourceFile(indexed, path)
        self._equal: tuple[str, EqualLines] | None = None

    @property
    def tree(self) -> str:
        """The name of the tree."""
        return self.indexed.tree.info.name

    def text(self, own: int) -> str:
        """Returns a line of the tree's text; lines count from 1."""
        return self.source.raw[own - 1]

    def own_line(self, line: int, buffer: str | None) -> int | None:
        """Returns the line of the tree's text for a line in the editor, or None if they differ."""
        disk = self._equal_lines(buffer).on_disk(line) if buffer is not None else line
        own = self.indexed.tree.own_line(self.path, disk + 1) if disk is not None else 0
        return own if disk is not None and self._is_same(own, disk) else None

    def editor_line(self, own: int, buffer: str | None) -> int | None:
        """Returns the line in the editor for a line of the tree's text, or None if they differ."""
        place = self.indexed.tree.place_of(self.path, own)
        disk = place[1] - 1 if place is not None else -1
        if not self._is_same(own, disk):
            return None
        return self._equal_lines(buffer).in_editor(disk) if buffer is not None else disk

    def _is_same(self, own: int, disk: int) -> bool:
        raw = self.source.raw
        return 0 < own <= len(raw) and 0 <= disk < len(self.lines) and raw[own - 1] == self.lines[disk]

    def _equal_lines(self, buffer: str) -> EqualLines:
        if self._equal is None or self._equal[0] != buffer:
            self._equal = buffer, EqualLines(editor_lines(buffer), self.lines)
        return self._equal[1]


class EditorFiles:
    """The files of the trees in use. Use it in one thread. `notice` shows why there is no answer, once for each reason.

    `buffers` gives the text of an open file. `encoding` is the editor's unit of columns.
    """

    def __init__(self, python: str | None, buffers: Buffers, notice: Callable[[str], object]) -> None:
        self._python = python
        self._notice = notice
        self._noticed: set[str] = set()
        self.buffers = buffers
        self.encoding: Encoding = "utf-16"
        self._open()

    def notice(self, text: str) -> None:
        """Shows a remark, if it was not shown before."""
        if text not in self._noticed:
            self._noticed.add(text)
            self._notice(text)

    def _open(self) -> None:
        self._opened_at = time.monotonic()
        self.workspace = Workspace(self._python, notice=self.notice)
        self._files: OrderedDict[str, tuple[Stamp, EditorFile | None]] = OrderedDict()
        self._indexes: dict[Path, Stamp | None] = {}
        for name in ("trees", "catalogue", "marks"):
            vars(self).pop(name, None)

    def close(self) -> None:
        """Closes every index."""
        self.workspace.close()

    @cached_property
    def trees(self) -> Sequence[IndexedTree]:
        """The trees that have an index. A missing index is not built: that takes long, and a command does it."""
        try:
            trees, missing = self.workspace.trees_at_hand()
        except PtexploreError as error:
            self.notice(error.one_line)
            return ()
        if missing:
            self.notice(editor_remark("no index", ", ".join(missing)))
        self._indexes = {indexed.store.path: _stamp(indexed.store.path) for indexed in trees}
        return trees

    @cached_property
    def catalogue(self) -> Catalogue | None:
        """The operators of the installed torch, if they were collected before."""
        return self.workspace.catalogue_at_hand(self.trees)

    @cached_property
    def marks(self) -> MarksByTree:
        """The stops of tours and the notes, at their places."""
        try:
            return self.workspace.marks(self.trees)
        except PtexploreError as error:
            self.notice(editor_remark("no notes", error.one_line))
            return {}

    def refresh(self) -> bool:
        """Opens everything anew if an index was replaced or is missing. Returns whether it did."""
        is_missing = not self.trees and time.monotonic() - self._opened_at > _RETRY
        is_stale = is_missing or any(_stamp(path) != stamp for path, stamp in self._indexes.items())
        if is_stale:
            self.workspace.close()
            self._open()
        return is_stale

    def forget(self) -> None:
        """Drops texts that can be read again."""
        for indexed in self.trees:
            indexed.tree.forget()

    def tree(self, name: str) -> IndexedTree | None:
        """Returns the tree with that name, or None."""
        return next((indexed for indexed in self.trees if indexed.tree.info.name == name), None)

    # --- files ---

    def file(self, file: str) -> EditorFile | None:
        """Returns the file of a tree at that place on disk, if its bytes are those that were indexed; else None."""
        stamp = _stamp(Path(file))
        if stamp is None:
            return None
        known = self._files.get(file)
        if known is None or known[0] != stamp:
            known = self._files[file] = stamp, self._read(file)
            while len(self._files) > _FILES:
                self._files.popitem(last=False)
        self._files.move_to_end(file)
        return known[1]

    def _read(self, file: str) -> EditorFile | None:
        for indexed in self.trees:
            indexed.tree.forget()  # a text that was read before may be older than the file
        place = file_on_disk(self.trees, file)
        if place is None:
            return None
        try:
            read = EditorFile(self.trees[place.tree], place.name, file)
        except OSError:  # it was removed meanwhile
            return None
        if not read.is_indexed:
            self.notice(editor_remark("changed", read.path))
            return None
        return read

    # --- places ---

    def at(self, asked: AskedPlace) -> tuple[EditorFile, int, int] | None:
        """Returns the file, line and column of a question in the tree's own text; None if there is no answer."""
        opened = self.file(asked.file)
        line = opened.own_line(asked.line, self.buffers(asked.file)) if opened is not None else None
        if opened is None or line is None:
            return None
        return opened, line, column(opened.text(line), asked.character, self.encoding)

    def located(self, at: Spot, name: str) -> Located | None:
        """Returns the place of a name on a line of a tree; None if the editor cannot show it."""
        ref, indexed = at.ref, self.tree(at.tree.name)
        if indexed is None or ref.path is None:
            return None
        return self.place(indexed, ref.path, (ref.line or 1, ref.line or 1, ref.end_line or ref.line or 1), name)

    def place(self, indexed: IndexedTree, path: str, lines: tuple[int, int, int], name: str) -> Located | None:
        """Returns a place in a file: `lines` are the line of the name, the first and the last of the whole thing."""
        file = indexed.tree.file_of(path)
        opened = self.file(os.path.realpath(file)) if file is not None else None
        if opened is None:
            return None
        buffer = self.buffers(opened.file)
        line, first, last = (opened.editor_line(each, buffer) for each in lines)
        if line is None:
            return None
        text = opened.text(lines[0])
        begin, end = (units(text[:at], self.encoding) for at in columns(text, name))
        first = line if first is None else min(first, line)
        return Located(opened.file, line, begin, end, first, line if last is None else max(last, line))


def _stamp(file: Path) -> Stamp | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def columns(text: str, name: str) -> tuple[int, int]:
    """Returns the columns of a name on a line, or of the whole code if the line has the name not exactly once.

    The index knows only lines, so it cannot tell two equal names on a line apart.
    """
    matches = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)) if name else []
    if len(matches) == 1:
        return matches[0].span()
    return len(text) - len(text.lstrip()), len(text.rstrip())
