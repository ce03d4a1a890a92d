"""Rows of files that were read before the index of their tree is built: kept beside it, for whoever builds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ptexplore.store.index.rows import FORMAT, RECIPE, Rows
from ptexplore.writing import keep_whole, kept_bytes


class PackedFile(NamedTuple):
    """The rows of one file, packed, and the hash of the content that they were made from."""

    path: str
    sha: str
    rows: bytes


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """What was read, with the macros that it was read with and what tells those headers from others."""

    headers: str
    macros: str
    files: list[PackedFile]
    next_file: int  # the first file id that none of the rows has
    made_by: tuple[int, int] = (FORMAT, RECIPE)


def packed(rows: Rows) -> PackedFile:
    """The rows of one file as bytes: they cross from a worker, and to the disk, at no further cost."""
    import msgspec

    return PackedFile(str(rows.file[1]), str(rows.file[5]), msgspec.msgpack.encode(rows))


def unpacked(file: PackedFile, stamp: int | None = None) -> Rows:
    """The rows that were packed, of a file with another time of change where one is given."""
    import msgspec

    rows = msgspec.msgpack.decode(file.rows, type=Rows)
    if stamp is not None:
        rows.file = (*rows.file[:7], stamp, *rows.file[8:])
    return rows


def keep(path: Path, ahead: ReadAhead) -> None:
    """Write to `path`. Raises OSError."""
    import msgspec

    keep_whole(path, msgspec.msgpack.encode(ahead))


def kept(path: Path) -> ReadAhead | None:
    """What lies at `path`; None where nothing does, or where it is damaged or of another version of ptexplore."""
    import msgspec

    try:
        ahead = msgspec.msgpack.decode(kept_bytes(path) or b"", type=ReadAhead)
    except (OSError, msgspec.DecodeError):
        return None
    return ahead if ahead.made_by == (FORMAT, RECIPE) else None
