"""Addresses of a process become functions: its memory map, the ELF files in it, and demangled names."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ptexplore.capture.native.elf import Elf, NotElf


@dataclass(frozen=True, slots=True)
class Place:
    """A function as the process has it: the library's file name, the address it starts at, its mangled name."""

    library: str
    kind: Literal["function", "plt", "unknown", "none"]
    start: int
    mangled: str

    @property
    def is_cold(self) -> bool:
        """Whether it is the unlikely part that the compiler moved away from a function: no function of its own."""
        return ".cold" in self.mangled


@dataclass(frozen=True, slots=True)
class Region:
    """An executable part of the process's memory."""

    low: int
    high: int
    offset: int
    path: str


def regions(maps: str) -> list[Region]:
    """The executable regions that the text of /proc/PID/maps lists."""
    found = []
    for line in maps.splitlines():
        fields = line.split(None, 5)
        if len(fields) >= 5 and "x" in fields[1]:
            low, _, high = fields[0].partition("-")
            path = fields[5] if len(fields) > 5 else ""
            found.append(Region(int(low, 16), int(high, 16), int(fields[2], 16), path))
    return sorted(found, key=lambda region: region.low)


class Symbols:
    """The functions of one process, looked up by address; every answer is kept."""

    def __init__(self, maps: str, cache: Path | None = None) -> None:
        self._regions = regions(maps)
        self._lows = [region.low for region in self._regions]
        self._cache = cache
        self._elfs: dict[str, Elf | None] = {}
        self._known: dict[int, Place] = {}
        self.unreadable: dict[str, str] = {}  # library -> why its symbols are not known

    def at(self, address: int) -> Place:
        """The function at an address of the process."""
        place = self._known.get(address)
        if place is None:
            place = self._known[address] = self._at(address)
        return place

    def _at(self, address: int) -> Place:
        index = bisect_right(self._lows, address) - 1
        if index < 0 or address >= self._regions[index].high:
            return Place("", "none", address, "")
        region = self._regions[index]
        library = os.path.basename(region.path) or "anonymous memory"
        elf = self._elf(region.path)
        if elf is None:
            return Place(library, "none", region.low, "")
        virtual = elf.address_of(address - region.low + region.offset)
        found = elf.at(virtual)
        return Place(library, found.kind, address - (virtual - found.start), found.name)

    def _elf(self, path: str) -> Elf | None:
        if path not in self._elfs:
            self._elfs[path] = self._open(path)
        return self._elfs[path]

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


class Demangler:
    """C++ names as people write them, by libstdc++'s own `__cxa_demangle` (the Itanium C++ ABI)."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    @cached_property
    def _library(self) -> Any:
        name = ctypes.util.find_library("stdc++") or "libstdc++.so.6"
        try:
            library = ctypes.CDLL(name)
        except OSError:
            return None
        # by subscript: a name with two underscores would be mangled by the class around it
        demangle, free = library["__cxa_demangle"], library["free"]
        demangle.restype = ctypes.c_void_p
        demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        free.argtypes = [ctypes.c_void_p]
        return demangle, free

    def demangle(self, mangled: str) -> str:
        """The demangled name with its parameters; a suffix that the compiler gave ("[clone .cold]") is left out."""
        if mangled not in self._known:
            self._known[mangled] = self._demangle(mangled)
        return self._known[mangled]

    def _demangle(self, mangled: str) -> str:
        base = mangled.partition(".")[0]
        if not base.startswith("_Z") or self._library is None:
            return mangled
        status = ctypes.c_int()
        demangle, free = self._library
        pointer = demangle(base.encode(), None, None, ctypes.byref(status))
        if not pointer:
            return mangled
        text = ctypes.string_at(pointer).decode("utf-8", "replace")
        free(pointer)
        return text

    def all(self, mangled: Iterable[str]) -> dict[str, str]:
        """The demangled form of each."""
        return {one: self.demangle(one) for one in mangled}
