"""Turns addresses of a process into functions: its memory map, the symbols of its ELF files, demangled names.

Formats: the ELF-64 object file specification and the x86-64 psABI (.plt, .plt.sec, .rela.plt). Tables are mapped into
memory and sorted by numpy; half a million symbols take a twentieth of a second.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import io
import mmap
import os
import struct
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ptexplore.capture.native.debug_lines import begins
from ptexplore.cpp.symbol_names import without_suffix
from ptexplore.writing import keep_whole, open_users_file

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_RELOCATION = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_SYMTAB, _DYNSYM = 2, 11
_VARIABLE, _FILE = 1, 4  # STT_OBJECT, STT_FILE
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_GLOBAL, _WEAK = 1, 2  # STB_GLOBAL, STB_WEAK
_COLUMNS = 5  # columns of a cached table: start, size, name, unit, binding
_SHARED = 2  # columns of the table of further names: start, name
_MOST_NAMES = 100  # greatest number of names of one address that are reported
_LANDING = b"\xf3\x0f\x1e\xfa"  # endbr64: the first instruction of functions that may be jumped to (-fcf-protection)
# the first byte of a near jump, and the form of its distance
_JUMPS = {b"\xe9": struct.Struct("<i"), b"\xeb": struct.Struct("<b")}
COLD = ".cold"  # part of the name of the unlikely code that GCC separates from a function
# GCC jumps to this alias of a global function, since the global name may be defined elsewhere
_OWN_ALIAS = ".localalias"
_SIZES_OF_A_JUMP = [landing + 1 + far.size for landing in (0, len(_LANDING)) for far in _JUMPS.values()]  # in bytes
_COMPRESSED = 0x800  # SHF_COMPRESSED
_TORCHS = ("libtorch", "libc10", "libshm")  # prefixes of torch's own libraries
_SLOT = 16  # bytes of one slot of the table
_WORTH_KEEPING = 10_000  # functions; sorting fewer takes no time
_FIRST_SLOT = {".plt": 1, ".plt.sec": 0}  # the slot of the first relocation


class NotElf(Exception):
    """The file is not a 64-bit little-endian ELF file of a known form."""


@dataclass(frozen=True, slots=True)
class FunctionAddress:
    """The content of an address: the library's file name, the kind, the start address, the mangled name.

    The address of a `python` function is that of its code object; `profile` is the probe's profile function.

    `unit` is the source file, without folders, named by the STT_FILE row above a local symbol. It is "" if no such row
    can be trusted. `is_global`: its symbol is global, as for no inline function and no template.

    `others` are further names of the address: a linker may keep one copy of functions with the same code. `jumpers` are
    functions whose whole code is a jump to this one, and that may be of the same file. A compiler makes such a jump for
    a function that only calls this one, and for a function with the same code (GCC's -fipa-icf).

    `file` and `line` are where it begins, in an extension compiled with -g; "" and 0 if that is unknown.
    """

    library: str
    kind: Literal["function", "plt", "unknown", "none", "python", "profile"]
    start: int
    mangled: str
    unit: str = ""
    is_global: bool = False
    others: tuple[str, ...] = ()
    jumpers: tuple[str, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def is_cold(self) -> bool:
        """Whether it is the unlikely part that the compiler moved out of a function: not a function of its own."""
        return COLD in self.mangled


class Section(NamedTuple):
    """A row of the section table. The name comes first."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


class Elf:
    """The functions of one file by address. Raises NotElf, OSError."""

    def __init__(self, path: str, cache: Path | None = None) -> None:
        self.library = os.path.basename(path)
        with open(path, "rb") as file:
            try:
                self._bytes = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            except ValueError as error:
                raise NotElf("the file is empty") from error
        if self._bytes[:6] != b"\x7fELF\x02\x01":
            raise NotElf("no 64-bit little-endian ELF file")
        try:
            self._loads = self._segments()
            self.sections = self._section_table()
            self.build_id = self._build_id()
            self.stripped = all(section.type != _SYMTAB for section in self.sections)
            self._strings, functions, self._shared = self._functions(cache)
            self._starts, self._sizes, self._names, self._units, self._binds = functions
            self._variables: dict[int, str] = {}  # a cache: names of variables by address
            self._slots = [section for section in self.sections if section.name.startswith(".plt")]
            self._imports = self._imported()
        except (struct.error, ValueError, IndexError, OverflowError) as error:
            raise NotElf(str(error)) from error

    def address_of(self, offset: int) -> int:
        """Returns the virtual address of an offset in the file, according to its load segments."""
        for start, address, size in self._loads:
            if start <= offset < start + size + mmap.PAGESIZE:
                return address + offset - start
        return offset

    def at(self, address: int) -> FunctionAddress:
        """Returns the content of a virtual address of the file."""
        for table in self._slots:
            if table.address <= address < table.address + table.size:
                number = (address - table.address) // _SLOT
                name = self._import(table.name, number)
                return FunctionAddress(self.library, "plt", table.address + number * _SLOT, name)
        wanted = self._starts.dtype.type(address)  # numpy would convert the whole table for a search with another type
        index = int(self._starts.searchsorted(wanted, side="right")) - 1
        start, size = (int(self._starts[index]), int(self._sizes[index])) if index >= 0 else (0, -1)
        if index < 0 or (size and address >= start + size):
            return FunctionAddress(self.library, "unknown", address, "")
        name = self._text(self._strings, int(self._names[index]))
        file = int(self._units[index])
        unit = self._text(self._strings, file) if file else ""
        is_global = int(self._binds[index]) == _GLOBAL
        others = self._others(start)
        is_fixed = not is_global or any(other.endswith(_OWN_ALIAS) for other in others)
        jumpers = self._jumping(start, file) if is_fixed else ()
        # For a part that GCC separated, the table has the beginning of the part, not of the function.
        written, line = ("", 0) if COLD in name else self._begins.get(start, ("", 0))
        return FunctionAddress(self.library, "function", start, name, unit, is_global, others, jumpers, written, line)

    @cached_property
    def _begins(self) -> dict[int, tuple[str, int]]:
        """A dict: the address where a function begins -> file and line.

        Only for an extension of torch compiled with -g.
        """
        return begins(self._section) if self.is_extension and self._section(".debug_line") else {}

    @cached_property
    def is_extension(self) -> bool:
        """Whether it is an extension of torch: linked to c10, but not part of torch."""
        return not self.library.startswith(_TORCHS) and b"\0libc10.so" in self._section(".dynstr")

    def _section(self, name: str) -> bytes:
        """Returns the bytes of a section as in the file. b"" if it does not exist or is compressed."""
        section = next((section for section in self.sections if section.name == name), None)
        if section is None or section.flags & _COMPRESSED:
            return b""
        return self._bytes[section.offset : section.offset + section.size]

    def _others(self, start: int) -> tuple[str, ...]:
        """Returns the further names of an address. If there are very many, only the first ones."""
        starts, names = self._shared
        wanted = starts.dtype.type(start)
        first, last = (int(starts.searchsorted(wanted, side=side)) for side in ("left", "right"))
        return tuple(self._text(self._strings, int(name)) for name in names[first : min(last, first + _MOST_NAMES)])

    def _jumping(self, start: int, unit: int) -> tuple[str, ...]:
        """Returns the names of functions that only jump to an address, except those known to be of another unit."""
        indexes = [n for n in self._jumps.get(start, ()) if not unit or int(self._units[n]) in (0, unit)]
        return tuple(self._text(self._strings, int(self._names[n])) for n in indexes[:_MOST_NAMES])

    @cached_property
    def _jumps(self) -> dict[int, list[int]]:
        """By address, the functions that only jump there, as indexes.

        The jump is one of the two near ones of the processor's manual (E9, EB). A jump through a slot of the linkage
        table is a call of something that another object may define: the compiler folds none of these.
        """
        jumps: dict[int, list[int]] = {}
        for index in np.flatnonzero(np.isin(self._sizes, np.array(_SIZES_OF_A_JUMP, np.uint64))).tolist():
            start, size = int(self._starts[index]), int(self._sizes[index])
            code = self._code(start, size)
            landing = len(_LANDING) if code.startswith(_LANDING) else 0
            far = _JUMPS.get(code[landing : landing + 1])
            if far is not None and size == landing + 1 + far.size:
                jumps.setdefault(start + size + far.unpack_from(code, landing + 1)[0], []).append(index)
        return jumps

    def _code(self, address: int, size: int) -> bytes:
        """Returns the bytes at a virtual address. b"" if the file has none."""
        for offset, start, length in self._loads:
            if start <= address and address + size <= start + length:
                return self._bytes[address - start + offset : address - start + offset + size]
        return b""

    def variable_at(self, address: int) -> str:
        """Returns the mangled name of the variable that starts at a virtual address. "" if none has a symbol."""
        table = self._table(_SYMTAB) or self._table(_DYNSYM)
        if table is None:
            return ""
        if address not in self._variables:  # each search reads half a million symbols, and stubs are called often
            rows, strings = table
            is_it = (rows["value"] == np.uint64(address)) & (rows["info"] & 15 == _VARIABLE) & (rows["section"] != 0)
            names = {self._text(strings, int(name)) for name in rows[is_it]["name"]}
            self._variables[address] = names.pop() if len(names) == 1 else ""
        return self._variables[address]

    def _import(self, table: str, slot: int) -> str:
        """Returns the name that a slot jumps to. Slot k belongs to relocation k of .rela.plt. "" if there is none.

        With .plt.sec (-z ibtplt), the slots of .plt.sec are called; it has no special first slot.
        """
        strings, names = self._imports
        number = slot - _FIRST_SLOT[table] if table in _FIRST_SLOT else -1
        return self._text(strings, int(names[number])) if 0 <= number < len(names) else ""

    def _text(self, table: int, offset: int) -> str:
        start = table + offset
        return self._bytes[start : self._bytes.find(b"\0", start)].decode("utf-8", "replace")

    def _segments(self) -> list[tuple[int, int, int]]:
        """Returns (offset, address, size in the file) of every loaded segment."""
        (table,) = struct.unpack_from("<Q", self._bytes, 0x20)
        (count,) = struct.unpack_from("<H", self._bytes, 0x38)
        rows = [struct.unpack_from("<IIQQQQ", self._bytes, table + 56 * index) for index in range(count)]
        return [(offset, address, size) for kind, _, offset, address, _, size in rows if kind == 1]

    def _section_table(self) -> list[Section]:
        (table,) = struct.unpack_from("<Q", self._bytes, 0x28)
        count, names = struct.unpack_from("<HH", self._bytes, 0x3C)
        raw = [struct.unpack_from("<IIQQQQI", self._bytes, table + 64 * index) for index in range(count)]
        strings = raw[names][4] if raw else 0
        return [Section(self._text(strings, name), *row) for name, *row in raw]

    def _build_id(self) -> str | None:
        note = next((section for section in self.sections if section.name == ".note.gnu.build-id"), None)
        if note is None:
            return None
        name, size = struct.unpack_from("<II", self._bytes, note.offset)
        start = note.offset + 12 + -(-name // 4) * 4
        return self._bytes[start : start + size].hex()

    def _table(self, kind: int) -> tuple[Any, int] | None:
        """Returns the rows of the first symbol table of a kind, and the offset of their names."""
        section = next((section for section in self.sections if section.type == kind), None)
        return (self._rows(_SYMBOL, section), self.sections[section.link].offset) if section is not None else None

    def _rows(self, form: np.dtype[Any], section: Section) -> Any:
        return np.frombuffer(self._bytes, form, section.size // form.itemsize, section.offset)

    def _functions(self, cache: Path | None) -> tuple[int, Any, Any]:
        """Returns the offset of the names; (start, size, name, unit, binding) of every function, one for each address.

        Among several names of one address, the global one is kept, then the weak one, then the larger one. The third
        result has the others: (start, name).
        """
        table = self._table(_SYMTAB) or self._table(_DYNSYM)
        if table is None:
            return 0, np.zeros((_COLUMNS, 0), np.uint64), np.zeros((_SHARED, 0), np.uint64)
        rows, strings = table
        file = cache / f"{self.build_id}.npy" if cache is not None and self.build_id is not None else None
        beside = file.with_suffix(".shared.npy") if file is not None else None
        kept, shared = (_kept(file, _COLUMNS), _kept(beside, _SHARED)) if file and beside else (None, None)
        if kept is not None and shared is not None:
            return strings, kept, shared
        is_code = np.isin(rows["info"] & 15, _FUNCTIONS) & (rows["section"] != 0) & (rows["value"] != 0)
        units = _units(rows)[is_code]
        rows = rows[is_code]
        binding = rows["info"] >> 4
        rank = np.where(binding == _GLOBAL, 0, np.where(binding == _WEAK, 1, 2))
        order = np.lexsort((-rows["size"].astype(np.int64), rank, rows["value"]))
        rows, units, binding = rows[order], units[order], binding[order]
        starts, first = np.unique(rows["value"], return_index=True)
        columns = (rows["size"], rows["name"], units, binding)
        functions = np.stack([starts, *(column[first].astype(np.uint64) for column in columns)])
        others = np.ones(len(rows), bool)
        others[first] = False
        shared = np.stack([rows["value"][others], rows["name"][others].astype(np.uint64)])
        if file is not None and beside is not None and len(starts) >= _WORTH_KEEPING:
            with contextlib.suppress(OSError):  # without a writable cache it is only slower
                for kept_as, columns_kept in ((beside, shared), (file, functions)):
                    text = io.BytesIO()
                    np.save(text, columns_kept, allow_pickle=False)
                    keep_whole(kept_as, text.getvalue())
        return strings, functions, shared

    def _imported(self) -> tuple[int, Any]:
        """Returns the offset of the names, and for each relocation of .rela.plt the offset of the name it jumps to."""
        relocations = next((section for section in self.sections if section.name == ".rela.plt"), None)
        dynamic = self._table(_DYNSYM)
        if relocations is None or dynamic is None:
            return 0, np.zeros(0, np.uint32)
        rows, strings = dynamic
        return strings, rows["name"][self._rows(_RELOCATION, relocations)["info"] >> np.uint64(32)]


def _units(rows: Any) -> Any:
    """Returns for each symbol the offset of the name of its source file, or 0 if that is unknown.

    A linker writes an object's local symbols below the object's STT_FILE row. Symbols that a version script or a
    visibility made local come after all of them: below a row without a name (bfd), or below the last row (gold). Such a
    symbol is hidden, internal or was global. So a caller must also know from the name that the symbol never was global.
    """
    is_file = rows["info"] & 15 == _FILE
    last = np.maximum.accumulate(np.where(is_file, np.arange(len(rows)), 0)) if len(rows) else np.zeros(0, np.int64)
    is_own = (rows["info"] >> 4 == 0) & (rows["other"] & 3 == 0)
    return np.where(is_own & is_file[last], rows["name"][last], 0) if len(rows) else last


def _kept(file: Path, columns: int) -> Any | None:
    """Returns a sorted table from an earlier run, mapped into memory. None if there is none, or if it is not usable."""
    try:
        open_users_file(file).close()  # numpy would wait for a FIFO
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return rows if rows.ndim == 2 and len(rows) == columns and rows.dtype == np.uint64 else None


@dataclass(frozen=True, slots=True)
class Region:
    """An executable region of the process's memory."""

    low: int
    high: int
    offset: int
    path: str


def regions(maps: str) -> list[Region]:
    """Returns the executable regions in the text of /proc/PID/maps."""
    executable = []
    for line in maps.splitlines():
        fields = line.split(None, 5)
        if len(fields) >= 5 and "x" in fields[1]:
            low, high = (int(end, 16) for end in fields[0].split("-"))
            executable.append(Region(low, high, int(fields[2], 16), "".join(fields[5:])))
    return sorted(executable, key=lambda region: region.low)


class Symbols:
    """The functions of one process, looked up by address. Every answer is cached."""

    def __init__(self, maps: str, cache: Path | None = None) -> None:
        self._regions = regions(maps)
        self._cache = cache
        self._elfs: dict[str, Elf | None] = {}
        self._known: dict[int, FunctionAddress] = {}
        self.unreadable: dict[str, str] = {}  # library -> why its symbols are unknown

    @property
    def clock(self) -> tuple[int, int]:
        """Begin and end of the code by the Linux kernel that reads the clock (vdso). Both are 0 if there is none."""
        return next(((region.low, region.high) for region in self._regions if region.path == "[vdso]"), (0, 0))

    def at(self, address: int) -> FunctionAddress:
        """Returns the function at an address of the process."""
        if address not in self._known:
            self._known[address] = self._at(address)
        return self._known[address]

    def variable_at(self, address: int, code: int) -> str:
        """Returns the mangled name of the variable at an address of the library that has this code.

        "" if it is unknown.
        """
        index = bisect_right(self._regions, code, key=attrgetter("low")) - 1
        region = self._regions[index] if index >= 0 and code < self._regions[index].high else None
        elf = self._elfs.get(region.path) if region is not None else None
        if region is None or elf is None:
            return ""
        moved = code - elf.address_of(code - region.low + region.offset)
        return elf.variable_at(address - moved) if address >= moved else ""

    def _at(self, address: int) -> FunctionAddress:
        index = bisect_right(self._regions, address, key=attrgetter("low")) - 1
        if index < 0 or address >= self._regions[index].high:
            return FunctionAddress("", "none", address, "")
        region = self._regions[index]
        if region.path not in self._elfs:
            self._elfs[region.path] = self._open(region.path)
        elf = self._elfs[region.path]
        if elf is None:
            return FunctionAddress(os.path.basename(region.path) or "anonymous memory", "none", region.low, "")
        virtual = elf.address_of(address - region.low + region.offset)
        function = elf.at(virtual)
        return replace(function, start=address - (virtual - function.start))

    def _open(self, path: str) -> Elf | None:
        if not path.startswith("/"):
            return None
        try:
            elf = Elf(path, self._cache)
        except (OSError, NotElf) as error:
            self.unreadable[os.path.basename(path)] = str(error)
            return None
        if elf.stripped:
            self.unreadable[os.path.basename(path)] = "it is stripped: only what it exports has a name"
        return elf


@cache
def _demangler() -> Any:
    """Returns `__cxa_demangle` of libstdc++ (the Itanium C++ ABI) and `free`. None on a system without that library."""
    try:
        library = ctypes.CDLL(ctypes.util.find_library("stdc++") or "libstdc++.so.6")
    except OSError:
        return None
    library.__cxa_demangle.restype = ctypes.c_void_p
    library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    library.free.argtypes = [ctypes.c_void_p]
    return library.__cxa_demangle, library.free


@cache
def demangle(mangled: str) -> str:
    """Returns a readable C++ name with its parameters, but without the compiler's suffix ("[clone .cold]")."""
    if not mangled.startswith("_Z") or _demangler() is None:
        return without_suffix(mangled)
    demangled, free = _demangler()
    pointer = demangled(mangled.partition(".")[0].encode(), None, None, ctypes.byref(ctypes.c_int()))
    if not pointer:
        return mangled
    text = ctypes.string_at(pointer).decode("utf-8", "replace")
    free(pointer)
    return text
