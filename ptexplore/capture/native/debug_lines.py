"""The line table of a library compiled with -g: file and line where each function begins.

Format: DWARF 2 to 5, section 6.2 (.debug_line), as GCC and Clang write it for x86-64.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Section = Callable[[str], bytes]  # returns the bytes of a section by its name, b"" if it does not exist
_STRING, _LINE_STRP, _STRP = 0x08, 0x1F, 0x0E  # DW_FORM_string, _line_strp, _strp
_UDATA, _DATA16, _BLOCK = 0x0F, 0x1E, 0x09
_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, _DATA16: 16}  # DW_FORM_data1, 2, 4, 8, 16
_PATH, _DIRECTORY = 1, 2  # DW_LNCT_path, DW_LNCT_directory_index
_COPY, _ADVANCE, _ADVANCE_LINE, _SET_FILE, _NEGATE, _CONST_ADD, _FIXED_ADVANCE = 1, 2, 3, 4, 6, 8, 9  # DW_LNS_…
_END, _SET_ADDRESS = 1, 2  # DW_LNE_…
_LONG = 0xFFFFFFFF  # first four bytes of a length in the 64-bit format


class UnreadableTable(Exception):
    """The table has an unknown form."""


@dataclass(slots=True)
class _Bytes:
    data: bytes
    at: int = 0

    def number(self, size: int, *, signed: bool = False) -> int:
        self.at += size
        if self.at > len(self.data):
            raise UnreadableTable
        return int.from_bytes(self.data[self.at - size : self.at], "little", signed=signed)

    def leb(self, *, signed: bool = False) -> int:
        """Reads a number in groups of seven bits (LEB128)."""
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise UnreadableTable
        start, self.at = self.at, end + 1
        return self.data[start:end].decode("utf-8", "replace")


@dataclass(slots=True)
class _Unit:
    """The head of one unit's program."""

    version: int
    least: int  # bytes of the shortest instruction
    statements: bool  # initial value: whether a row begins a statement
    base: int
    span: int  # the number of line steps of a special opcode
    lengths: list[int]  # the number of operands of each standard opcode
    folders: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def begins(section: Section) -> dict[int, tuple[str, int]]:
    """Returns a dict: address -> file and line of the code that begins there. {} if the library has no readable table.

    Several rows can have the same address. Behind the row of a function's first instruction are rows of code that was
    inlined there. Before it can be a row of the preceding function that has no instruction left; such a row begins no
    statement. So the first row that begins a statement counts, else the first row.
    """
    data = _Bytes(section(".debug_line"))
    rows: dict[int, tuple[str, int]] = {}
    others: dict[int, tuple[str, int]] = {}
    try:
        while data.at < len(data.data):
            length = data.number(4)
            if length == _LONG:
                raise UnreadableTable
            end = data.at + length
            unit, first = _head(data, section)
            data.at = first
            for address, file, line, is_statement in _rows(data, unit, end):
                name = unit.files[file] if file < len(unit.files) else ""
                if name and line:
                    (rows if is_statement else others).setdefault(address, (name, line))
            data.at = end
    except (UnreadableTable, IndexError):
        return {}
    return others | rows


def _head(data: _Bytes, section: Section) -> tuple[_Unit, int]:
    version = data.number(2)
    if not 2 <= version <= 5:
        raise UnreadableTable
    if version == 5:
        data.number(2)  # the sizes of an address and of a segment selector
    length = data.number(4)
    first = data.at + length
    least = data.number(1)
    if version >= 4:
        data.number(1)  # operations in one instruction: 1 except on VLIW machines
    statements = bool(data.number(1))
    base, span, count = data.number(1, signed=True), data.number(1), data.number(1)
    unit = _Unit(version, least, statements, base, span, [0, *(data.number(1) for _ in range(count - 1))])
    if version == 5:
        unit.folders = [path for path, _ in _entries(data, section)]
        unit.files = [_joined(unit, path, folder) for path, folder in _entries(data, section)]
    else:
        unit.folders = ["", *iter(data.text, "")]
        unit.files = [""]
        for name in iter(data.text, ""):
            folder, _, _ = data.leb(), data.leb(), data.leb()
            unit.files.append(_joined(unit, name, folder))
    return unit, first


def _joined(unit: _Unit, name: str, folder: int) -> str:
    """Returns a file's path. A relative folder is in the folder of the compilation, which is the first folder."""
    first = unit.folders[0] if unit.folders else ""
    return posixpath.normpath(posixpath.join(first, unit.folders[folder] if folder < len(unit.folders) else "", name))


def _entries(data: _Bytes, section: Section) -> Iterator[tuple[str, int]]:
    """Yields the entries of a table of folders or files in DWARF 5: a path, and the number of its folder."""
    forms = [(data.leb(), data.leb()) for _ in range(data.number(1))]
    for _ in range(data.leb()):
        values = {content: _value(data, form, section) for content, form in forms}
        path, folder = values.get(_PATH), values.get(_DIRECTORY, 0)
        yield path if isinstance(path, str) else "", folder if isinstance(folder, int) else 0


def _value(data: _Bytes, form: int, section: Section) -> str | int:
    if form == _STRING:
        return data.text()
    if form in (_LINE_STRP, _STRP):
        return _Bytes(section(".debug_line_str" if form == _LINE_STRP else ".debug_str"), data.number(4)).text()
    if form == _UDATA:
        return data.leb()
    if form == _BLOCK:
        return data.number(data.leb())
    if form not in _SIZES:
        raise UnreadableTable
    return data.number(_SIZES[form])


def _rows(data: _Bytes, unit: _Unit, end: int) -> Iterator[tuple[int, int, int, bool]]:
    """Runs a unit's program. Yields for each row: address, number of the file, line, whether it begins a statement."""
    address, file, line, is_statement = 0, 1, 1, unit.statements
    while data.at < end:
        code = data.number(1)
        if code >= len(unit.lengths):  # a special opcode advances address and line
            step, lines = divmod(code - len(unit.lengths), unit.span)
            address, line = address + step * unit.least, line + unit.base + lines
            yield address, file, line, is_statement
        elif code == 0:
            address, is_end = _extended(data, address)
            file, line, is_statement = (1, 1, unit.statements) if is_end else (file, line, is_statement)
        elif code == _COPY:
            yield address, file, line, is_statement
        elif code == _ADVANCE:
            address += data.leb() * unit.least
        elif code == _ADVANCE_LINE:
            line += data.leb(signed=True)
        elif code == _SET_FILE:
            file = data.leb()
        elif code == _NEGATE:
            is_statement = not is_statement
        elif code == _CONST_ADD:
            address += (255 - len(unit.lengths)) // unit.span * unit.least
        elif code == _FIXED_ADVANCE:
            address += data.number(2)
        else:
            _passed(data, unit.lengths[code])


def _extended(data: _Bytes, address: int) -> tuple[int, bool]:
    """Returns the address after an extended opcode, and whether a sequence ends with it."""
    length = data.leb()
    after = data.at + length
    code = data.number(1)
    if code == _SET_ADDRESS:
        address = data.number(length - 1)
    data.at = after
    return (0, True) if code == _END else (address, False)


def _passed(data: _Bytes, count: int) -> None:
    """Skips the operands of an opcode that changes no address, file or line."""
    for _ in range(count):
        data.leb()
