"""Rows of files that were read before the index of their tree is built: kept beside the index for its builder.

A second environment with the same generated files takes the catalogue's facts from there, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ptexplore.store.index.rows import FORMAT, RECIPE, Rows
from ptexplore.writing import keep_whole, kept_bytes


class PackedFile(NamedTuple):
    """The rows of one file and the catalogue's facts from it, packed, and the hash of the file's content."""

    path: str
    sha: str
    rows: bytes
    facts: bytes


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """The packed files, the macros that they were read with, and a key that identifies the headers of the macros."""

    headers: str
    macros: str
    files: list[PackedFile]
    next_file: int  # the first file id that no row uses
    made_by: tuple[int, int] = (FORMAT, RECIPE)


def packed(rows: Rows, facts: bytes) -> PackedFile:
    """Packs the rows of one file as bytes: they go from a worker to the disk without another conversion."""
    import msgspec

    return PackedFile(str(rows.file[1]), str(rows.file[5]), msgspec.msgpack.encode(rows), facts)


def unpacked(file: PackedFile, stamp: int | None = None) -> Rows:
    """Unpacks the rows of a file. `stamp`, if given, replaces the file's time of change."""
    import msgspec

    rows = msgspec.msgpack.decode(file.rows, type=Rows)
    if stamp is not None:
        rows.file = (*rows.file[:7], stamp, *rows.file[8:])
    return rows


def keep(path: Path, ahead: ReadAhead) -> None:
    """Writes `ahead` to `path`. Raises OSError."""
    import msgspec

    keep_whole(path, msgspec.msgpack.encode(ahead))


def kept(path: Path) -> ReadAhead | None:
    """Reads the rows kept at `path`.

    None if there are none, or if they are damaged or of another version of ptexplore.
    """
    import msgspec

    try:
        ahead = msgspec.msgpack.decode(kept_bytes(path) or b"", type=ReadAhead)
    except (OSError, msgspec.DecodeError):
        return None
    return ahead if ahead.made_by == (FORMAT, RECIPE) else None
