"""The packed file of an atlas: sorted keys to JSON values in small compressed blocks; one look-up reads one block.

    magic (8 bytes) | format (1 byte) | length of the head (4 bytes, big endian) | head | blobs

The head and every blob are JSON, compressed by zlib (whose checksum finds damage). The head holds
`meta` (facts about the whole), `tables` (a blob: what sections refer to by number), and for each section the
first key and the extent of every block; a block is `{key: value}` with its keys in order. Packing the
same input gives the same bytes.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAGIC = b"PTXATLAS"
FORMAT = 1
BLOCK = 24 * 1024  # characters of JSON in one block: about 0.3 ms to read
HEAD = len(MAGIC) + 5


class Damaged(Exception):
    """The bytes are not a packed atlas of this format, or are damaged; the message says which."""


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _squeeze(value: str) -> bytes:
    return zlib.compress(value.encode("ascii"), 9)


def _blocks(entries: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(first key, JSON) of each block."""
    first, parts, size = "", list[str](), 0
    for key in sorted(entries):
        part = f"{_dump(key)}:{_dump(entries[key])}"
        if parts and size + len(part) > BLOCK:
            yield first, "{" + ",".join(parts) + "}"
            parts, size = [], 0
        first = key if not parts else first
        parts.append(part)
        size += len(part)
    if parts:
        yield first, "{" + ",".join(parts) + "}"


def pack(meta: Mapping[str, Any], tables: Mapping[str, Any], sections: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The file's bytes. Values are plain JSON; `meta`, `tables` and `sections` keep the order given."""
    blobs = [_squeeze(_dump(tables))]
    at = len(blobs[0])
    head: dict[str, Any] = {"meta": meta, "tables": [0, at], "sections": {}}
    for name, entries in sections.items():
        keys, extents = [], []
        for first, text in _blocks(entries):
            blobs.append(_squeeze(text))
            keys.append(first)
            extents.append([at, len(blobs[-1])])
            at += len(blobs[-1])
        head["sections"][name] = {"keys": keys, "blocks": extents}
    packed = _squeeze(_dump(head))
    return b"".join([MAGIC, bytes([FORMAT]), len(packed).to_bytes(4, "big"), packed, *blobs])


@dataclass
class Section:
    """One sorted map of a packed file; blocks are read when a key in them is asked for, and kept."""

    file: PackedFile
    keys: list[str]  # of each block, the first
    extents: list[list[int]]
    _read: dict[int, dict[str, Any]] = field(default_factory=dict, repr=False)

    def _block(self, number: int) -> dict[str, Any]:
        if number not in self._read:
            self._read[number] = self.file.blob(self.extents[number])
        return self._read[number]

    def get(self, key: str) -> Any:
        """The value of `key`, None where there is none."""
        number = bisect_right(self.keys, key) - 1
        return self._block(number).get(key) if number >= 0 else None

    def starting(self, prefix: str) -> Iterator[str]:
        """Every key that begins with `prefix`, in order."""
        for number in range(max(bisect_right(self.keys, prefix) - 1, 0), len(self.keys)):
            keys = list(self._block(number))
            for key in keys[bisect_left(keys, prefix) :]:
                if not key.startswith(prefix):
                    return
                yield key


class PackedFile:
    """A packed file's bytes, opened for look-ups."""

    def __init__(self, data: bytes) -> None:
        """Read the head of `data`; raises Damaged."""
        if data[: len(MAGIC)] != MAGIC or len(data) < HEAD:
            raise Damaged("it does not begin as an atlas does")
        if data[len(MAGIC)] != FORMAT:
            raise Damaged(f"it has format {data[len(MAGIC)]}, this version reads {FORMAT}")
        self._data = data
        self._start = HEAD + int.from_bytes(data[len(MAGIC) + 1 : HEAD], "big")
        head = _expand(data[HEAD : self._start])
        try:
            self.meta: dict[str, Any] = head["meta"]
            self._tables: list[int] = head["tables"]
            self._sections = {n: Section(self, s["keys"], s["blocks"]) for n, s in head["sections"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise Damaged("its head lacks parts") from error

    def section(self, name: str) -> Section:
        """One of the sorted maps; raises Damaged where the file has none of that name."""
        if name not in self._sections:
            raise Damaged(f"it has no part {name!r}")
        return self._sections[name]

    def tables(self) -> dict[str, Any]:
        """The lists that rows refer to; raises Damaged."""
        return self.blob(self._tables)

    def blob(self, extent: list[int]) -> dict[str, Any]:
        """One compressed JSON object; raises Damaged."""
        start = self._start + extent[0]
        return _expand(self._data[start : start + extent[1]])


def _expand(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(zlib.decompress(data))
    except (zlib.error, ValueError) as error:
        raise Damaged(f"a part of it cannot be read ({error})") from error
    if not isinstance(value, dict):
        raise Damaged("a part of it is no table")
    return value
