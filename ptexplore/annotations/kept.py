"""A cache of data computed from folders of notes. It is valid while no file in them changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ptexplore import __version__
from ptexplore.annotations.records import UnreadNotes
from ptexplore.errors import BROKEN
from ptexplore.locations import marks_file
from ptexplore.safe_text import clean_json
from ptexplore.writing import keep_whole, kept_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from ptexplore.annotations.layers import Layer
    from ptexplore.annotations.records import Problem

_KEPT = 50  # files; older ones are deleted
_OURS = re.compile(r"(?:[a-z]+-)*[0-9a-f]{32}\.json")
_T = TypeVar("_T")


def notes_key(layers: Sequence[Layer], *further: str) -> str:
    """Returns a hash of the names, sizes and times of change of the notes' files, and of `further`."""
    digest = hashlib.sha256(" ".join((__version__, *further)).encode())
    for layer in layers:
        digest.update(f"\0{layer.root}\0{layer.shown}\0{layer.quiet}".encode())
        for folder in (layer.root, *(layer.root / name for name in ("tours", "notes", "folders"))):
            digest.update("".join(sorted(_stamps(folder))).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _stamps(folder: Path) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            files = [entry for entry in entries if entry.name.endswith((".md", ".MD", ".lock"))]
            return [stamp(file.path, file.stat(follow_symlinks=False)) for file in files]
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return []


def stamp(file: str | Path, state: os.stat_result) -> str:
    """Returns a text with name, size and time of change of a file."""
    return f"\0{file} {state.st_size} {state.st_mtime_ns}"


def kept(name: str, key: str, made: Callable[[dict[str, Any]], _T]) -> list[_T] | None:
    """Returns the cached records of this name. None if there are none, or if they cannot be used."""
    try:
        return [made(row) for row in json.loads(clean_json(kept_bytes(marks_file(name)) or b""))[key]]
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


Tell = Callable[[UnreadNotes], None]  # reports a file that the system could not read


def keep(name: str, key: str, rows: Sequence[dict[str, Any]], problems: Iterable[Problem], tell: Tell) -> None:
    """Caches records, and deletes the oldest files. If the cache cannot be written, nothing is cached.

    Nothing is cached either if the system could not read a file of notes, which is reported. The next run may read it,
    and its name, size and time of change would be the same.
    """
    missing = [problem for problem in problems if isinstance(problem, UnreadNotes)]
    for problem in missing:
        tell(problem)
    if missing:
        return
    file = marks_file(name)
    with contextlib.suppress(OSError, UnicodeError):
        keep_whole(file, json.dumps({key: rows}, ensure_ascii=False))
        if file.parent.is_symlink():
            return  # a folder elsewhere may contain files of others
        ours = [other for other in file.parent.iterdir() if _OURS.fullmatch(other.name)]
        by_age = sorted(ours, key=lambda other: other.lstat().st_mtime_ns)
        for old in by_age[:-_KEPT]:
            old.unlink(missing_ok=True)
