"""The constant texts in an installed torch, without an index: strings of its libraries, and its Python and headers.

They are kept in the cache, because reading them takes seconds.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from msgspec import MsgspecError, Struct, msgpack

from ptexplore.errors import BROKEN
from ptexplore.locations import cache_root, constants_file
from ptexplore.model.places import Runtime
from ptexplore.source import canonical
from ptexplore.source.tree import folders
from ptexplore.writing import keep_whole, kept_bytes

_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little endian
_HEADER = struct.Struct("<40xQ10xHHH")  # e_shoff, e_shentsize, e_shnum, e_shstrndx
_SECTION = struct.Struct("<II16xQQ")  # sh_name, sh_type, sh_offset, sh_size
_HEADER_SIZE = 64
_SECTIONS = 1000  # more than any library has
_LARGEST = 1 << 28  # bytes of constants in one library
_CONSTANTS = b".rodata"
_LONGEST, _SHORTEST = 4000, 8  # characters of a text in a library.
_FORMAT = 1
_CONTROL = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\xff]"
)  # in a piece of constant data that is no text.
_TRIPLE = re.compile(rb'"""|\'\'\'')
# Texts that are no messages: one header for each operator, headers of other projects, hipify's table of names.
_WITHOUT_MESSAGES = frozenset({"ops", "pybind11", "test", "hipify", "__pycache__"})


class ConstantTexts(Struct, frozen=True):
    """The constant texts of an installed torch."""

    format: int
    libraries: dict[str, bytes]  # by name: texts of more than one word, with a NUL before and behind each.
    paths: list[str]  # canonical paths of Python files and headers.
    starts: list[int]  # where the lines of each path begin in `lines`.
    lines: bytes  # the lines that have a constant text.

    def paths_with(self, text: bytes) -> list[str]:
        """Returns the files with a line that has a text."""
        paths: dict[str, None] = {}
        at = self.lines.find(text)
        while at >= 0:
            number = bisect_right(self.starts, at) - 1
            paths[self.paths[number]] = None
            end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.lines)
            at = self.lines.find(text, end)
        return list(paths)


def constant_texts(runtime: Runtime) -> ConstantTexts:
    """Returns the constant texts of an installed torch, from the cache if it has them.

    A torch that was built from source may be built again under the same key: its texts are read each time.
    """
    if runtime.build == "source":
        return _read(runtime)
    file = constants_file(runtime.key)
    kept = kept_bytes(file)
    if kept is not None:
        with contextlib.suppress(MsgspecError):
            texts = msgpack.decode(kept, type=ConstantTexts)
            if texts.format == _FORMAT and len(texts.paths) == len(texts.starts):
                return texts
    texts = _read(runtime)
    with contextlib.suppress(OSError):  # without a cache, they are read each time
        keep_whole(file, msgpack.encode(texts), root=cache_root())
    return texts


def _read(runtime: Runtime) -> ConstantTexts:
    paths, starts, pieces, size = [], [], [], 0
    for path, data in _files(runtime):
        lines = b"\n".join(_lines_with_text(data) if path.endswith(".py") else _lines_with_quotes(data))
        if lines:
            paths.append(path)
            starts.append(size)
            pieces.append(lines)
            size += len(lines)
    of_libraries = {library.name: _messages(_constants(library)) for library in _libraries(runtime)}
    return ConstantTexts(_FORMAT, of_libraries, paths, starts, b"".join(pieces))


def _messages(constants: bytes) -> bytes:
    """Returns the texts of more than one word, with a NUL before and behind each."""
    texts = (text for text in constants.split(b"\0") if _SHORTEST <= len(text) <= _LONGEST and b" " in text)
    return b"\0".join((b"", *(text for text in texts if not _CONTROL.search(text)), b""))


def _lines_with_quotes(data: bytes) -> Iterator[bytes]:
    return (b"\n" + line for line in data.split(b"\n") if b'"' in line and not line.lstrip().startswith(b"#"))


def _lines_with_text(data: bytes) -> Iterator[bytes]:
    """Yields the lines of a Python file that have a constant text, without docstrings."""
    inside: bytes | None = None  # the quotes that end a text of several lines
    is_docstring, before = False, b":"  # a docstring is behind the ":" of its function, or at the beginning
    for line in data.split(b"\n"):
        bare = line.strip()
        if inside is not None:
            if not is_docstring:
                yield b"\n" + line
            if line.count(inside) % 2:
                inside = None
        elif b'"' in line or b"'" in line:
            opened = _TRIPLE.search(line)
            is_docstring = before.endswith(b":") and opened is not None and bare.lstrip(b"rRuU")[:3] == opened[0]
            if opened is not None and line.count(opened[0]) % 2:
                inside = opened[0]
            if not is_docstring and not bare.startswith(b"#"):
                yield b"\n" + line
        before = bare or before


def _libraries(runtime: Runtime) -> list[Path]:
    """Returns the shared libraries of torch. Libraries of other projects in the same folder are left out."""
    return sorted(file for name in ("libtorch*.so", "libc10*.so") for file in Path(runtime.torch_dir, "lib").glob(name))


def _constants(library: Path) -> bytes:
    """Returns the constant data of a library (ELF's .rodata): its texts, each with a NUL behind it.

    Empty for a file in another format.
    """
    try:
        with library.open("rb") as file:
            head = file.read(_HEADER_SIZE)
            if len(head) < _HEADER_SIZE or not head.startswith(_ELF64):
                return b""
            table, size, count, of_names = _HEADER.unpack_from(head)
            if size < _SECTION.size or not of_names < count <= _SECTIONS:
                return b""
            file.seek(table)
            rows = file.read(size * count)
            if len(rows) < size * count:
                return b""
            sections = [_SECTION.unpack_from(rows, size * number) for number in range(count)]
            file.seek(sections[of_names][2])
            names = file.read(min(sections[of_names][3], _LARGEST))
            for name, _kind, offset, length in sections:
                if names[name : name + len(_CONSTANTS) + 1] == _CONSTANTS + b"\0":
                    file.seek(offset)
                    return file.read(min(length, _LARGEST))
    except OSError as error:
        if error.errno in BROKEN:
            raise
    return b""


def _files(runtime: Runtime) -> Iterator[tuple[str, bytes]]:
    """Yields canonical path and content of each Python file and header that may have the words of a message."""
    where = folders(runtime)
    include = f"{where.torch}/include"
    for top in (where.torch, where.functorch):
        for folder, inner, names in os.walk(top) if top else ():
            if folder == include:
                inner[:] = [name for name in inner if name in ("ATen", "c10", "torch")]
            inner[:] = [name for name in inner if name not in _WITHOUT_MESSAGES]
            if folder == f"{where.torch}/testing":
                inner[:] = []  # PyTorch's own tests repeat messages, to compare with them
            is_header = f"{folder}/".startswith(f"{include}/")
            for name in names:
                if not name.endswith(".h" if is_header else ".py"):
                    continue
                try:
                    data = Path(folder, name).read_bytes()
                except OSError as error:
                    if error.errno in BROKEN:
                        raise
                    continue
                head = data[:1200].decode("utf-8", "replace") if is_header else ""
                path = canonical.installed_path(f"{folder}/{name}", where, head)
                if path is not None and not path.startswith("build/"):
                    yield path, data
