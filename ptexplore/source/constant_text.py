"""The constant texts in an installed torch, without an index: strings of its libraries, and its Python and headers."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from ptexplore.errors import BROKEN
from ptexplore.model.places import Runtime
from ptexplore.source import canonical
from ptexplore.source.tree import folders

_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little endian
_HEADER = struct.Struct("<40xQ10xHHH")  # e_shoff, e_shentsize, e_shnum, e_shstrndx
_SECTION = struct.Struct("<II16xQQ")  # sh_name, sh_type, sh_offset, sh_size
_HEADER_SIZE = 64
_SECTIONS = 1000  # more than any library has
_LARGEST = 1 << 28  # bytes of constants in one library
_CONSTANTS = b".rodata"
# Texts that are no messages: one header for each operator, headers of other projects, hipify's table of names.
_WITHOUT_MESSAGES = frozenset({"ops", "pybind11", "test", "hipify", "__pycache__"})


def libraries(runtime: Runtime) -> list[Path]:
    """Returns the shared libraries of torch. Libraries of other projects in the same folder are left out."""
    return sorted(file for name in ("libtorch*.so", "libc10*.so") for file in Path(runtime.torch_dir, "lib").glob(name))


def constants(library: Path) -> bytes:
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


def texts(runtime: Runtime) -> Iterator[tuple[str, bytes]]:
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
