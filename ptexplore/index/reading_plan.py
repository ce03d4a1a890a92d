"""Plans which files of a tree to read for its index: the files that are new or changed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from ptexplore.source.listing import Listed
from ptexplore.store.index.reader import IndexStore, Known, StaleIndex


@dataclass(frozen=True, slots=True)
class IndexInput:
    """What to index: the name of the tree, its identity among sources of that name, and its files.

    `headers` are files outside the tree whose macros it uses: for an extension, PyTorch's headers. `read_ahead` is the
    path of rows that were read before. Sources of one `family` have most files in common: a first index begins as a
    copy of a relative's index.
    """

    tree: str
    identity: str
    files: Sequence[Listed]
    headers: Sequence[Listed] = ()
    read_ahead: Path | None = None
    family: str = ""


def is_fresh(source: IndexInput, target: Path) -> bool:
    """Whether the index at `target` is up to date with `source`: nothing to read, nothing removed."""
    store = usable_index(target)
    if store is None or store.meta("source") != source.identity:
        return False
    plan = what_to_read(source.files, store.known())
    return not plan.removed and same_unread(store, plan)


@dataclass(frozen=True)
class ReadingPlan:
    """The files to read, as fields of a Task without its id; the files to remove; how many of `read` surely changed."""

    read: list[tuple[str, str, str, int, str | None]]
    removed: list[str]
    sure: int


def what_to_read(files: Sequence[Listed], known: dict[str, Known], forced: Set[str] = frozenset()) -> ReadingPlan:
    """Returns the plan for `files`, given the files that the index knows. Paths in `forced` are always read."""
    read: list[tuple[str, str, str, int, str | None]] = []
    sure = 0
    for path, where, layer, state in files:
        have = known.get(path)
        try:
            stamp, size = state or _state(where)
        except OSError:
            read.append((path, where, layer, 0, None))  # the reader reports why
            continue
        if have is None or path in forced or have.layer != layer:
            sure += 1
            read.append((path, where, layer, size, None))
        elif (have.stamp, have.size) != (stamp, size):
            sure += have.size != size
            read.append((path, where, layer, size, have.sha))
    return ReadingPlan(read, sorted(known.keys() - {listed.path for listed in files}), sure)


def _state(file: str) -> tuple[int, int]:
    status = os.stat(file, follow_symlinks=False)
    return status.st_mtime_ns, status.st_size


def unread_files(store: IndexStore) -> list[tuple[str, str]]:
    """Returns path and reason of every file that could not be read last time."""
    return [(path, why) for path, why in json.loads(store.meta("unread") or "[]")]


def same_unread(store: IndexStore, plan: ReadingPlan) -> bool:
    """Whether every file in the plan could not be read last time and still cannot, for the same reason."""
    before = dict(unread_files(store))
    if before.keys() != {task[0] for task in plan.read}:
        return False
    if not before:  # nearly always: do not import the readers when there is nothing to read
        return True
    from ptexplore.cpp.macros import MacroTable
    from ptexplore.index.workers import Task, Unread, read_rows

    now = (read_rows(Task(0, *task), MacroTable({})) for task in plan.read)
    return all(isinstance(result, Unread) and before[result.path] == result.why for result in now)


def usable_index(target: Path) -> IndexStore | None:
    """Returns the index at `target`, or None if it is missing, damaged or of another format."""
    try:
        return IndexStore.open(target)
    except (FileNotFoundError, StaleIndex):
        return None


def copy_of_relative(source: IndexInput, target: Path) -> IndexStore | None:
    """Returns a copy at `target` of the index of another source of the same family. None if there is none.

    It is of use for a second environment with the same torch. Raises OSError if the copy cannot be written.
    """
    for path in sorted(target.parent.glob("*.sqlite")) if source.family else ():
        store = usable_index(path)
        if store is None:
            continue
        with contextlib.closing(store), contextlib.suppress(StaleIndex):
            if store.meta("family") == source.family:
                store.copy_to(target)
                return usable_index(target)
    return None
