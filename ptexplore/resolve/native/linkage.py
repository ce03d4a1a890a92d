"""What the binary's symbol of a function says of where it is defined, beside its name.

Sources: the ELF specification (STT_FILE, STB_GLOBAL) and the Itanium C++ ABI, 5.1.5 (names with internal linkage, vague
linkage). A linker writes the local symbols of an object below that object's STT_FILE row, which names the source file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ptexplore.cpp.specialisations import Specialisation, chosen, enumerators, read_head, valued
from ptexplore.cpp.symbol_names import CAPABILITIES, Name, split
from ptexplore.cpp.text import Text
from ptexplore.model.symbols import Symbol
from ptexplore.resolve.places.sources import Source

HEADER = (".h", ".hpp", ".hh", ".cuh", ".inl", ".inc")
# Libraries for a device are compiled from files that nvcc compiles, or that say so by their folder or name.
_OF_DEVICE = re.compile(r"lib(?:torch|c10)_(?:cuda|hip|xpu)")
_FOR_DEVICE = re.compile(r"\.cuh?$|/(?:cuda|cudnn|hip|miopen|xpu)/|(?:CUDA|Cuda|cuda|HIP|XPU|Cudnn|NCCL)[^/]*$")
_FOR_HOST = re.compile(r"/cpu/|CPU[^/]*$|RegisterComposite[^/]*$")
# A file below native/cpu is compiled once for each capability, from a copy that is named so (cmake/Codegen.cmake).
_COPY = re.compile(rf"\.(?:{'|'.join(CAPABILITIES)})\.cpp$")
_HEAD = 24  # lines that the head of a class or of a member may take


@dataclass(frozen=True, slots=True)
class Linkage:
    """Of a function's symbol: the mangled name, the file a local one was compiled from, whether it is a global one.

    And the library that holds it. Everything is empty where only another function's name tells of the function.
    """

    mangled: str = ""
    unit: str = ""
    is_global: bool = False
    library: str = ""

    def is_internal(self, name: Name) -> bool:
        """Whether the name itself says that the function was never visible outside of its object."""
        return name.is_anonymous or marked(name, self.mangled)

    def of_library(self, paths: Sequence[str]) -> list[str]:
        """Those of some files that the library can be compiled from, as far as names tell.

        A library for a device is compiled from the device's own files, and some whose names do not tell; from none that
        is named for the processor. Any other one holds nothing that nvcc compiles.
        """
        if _OF_DEVICE.match(self.library):
            own = [path for path in paths if _FOR_DEVICE.search(path) or path.endswith(HEADER)]
            return own or [path for path in paths if not _FOR_HOST.search(path)]
        return [path for path in paths if not path.endswith((".cu", ".cuh"))] or list(paths)

    def own_unit(self, name: Name) -> str:
        """The file that a function with internal linkage was compiled from; "" for any other, or if not known.

        What only a version script or a visibility made local stands below a wrong row: its name is not internal.
        """
        return self.unit if self.is_internal(name) else ""


UNLINKED = Linkage()


def marked(name: Name, mangled: str) -> bool:
    """Whether a mangled name says that the function is static: an L before its last part."""
    last = name.parts[-1].name if name.parts else ""
    return f"L{len(last)}{last}" in mangled


def compiled_from(path: str, unit: str) -> bool:
    """Whether a definition in `path` can be in an object that was compiled from `unit`: its own, or a header's."""
    return path.endswith(HEADER) or PurePosixPath(path).name == _COPY.sub("", unit)


def narrowed(source: Source, name: Name, linkage: Linkage, symbols: list[Symbol]) -> list[Symbol]:
    """The definitions of one name that can have this symbol.

    A function with internal linkage is defined in its unit or in a header. A global symbol is that of no inline
    function, and what a header defines is inline. What is no template was made of none. The arguments of a class
    template choose one of its specialisations.
    """
    unit = linkage.own_unit(name)
    if unit:
        symbols = [symbol for symbol in symbols if compiled_from(symbol.path, unit)]
    if linkage.is_global:
        symbols = [symbol for symbol in symbols if not symbol.path.endswith(HEADER)] or symbols
    if name.parts and not name.is_template:
        symbols = [symbol for symbol in symbols if not symbol.template] or symbols
    owner = name.parts[-2] if len(name.parts) > 1 else None
    if owner is not None and owner.arguments is not None and len(symbols) > 1:
        heads = [_specialisation(source, symbol, owner.name) for symbol in symbols]
        arguments = [_enumerator(source, argument) for argument in split(owner.arguments)]
        symbols = [symbols[n] for n in _members_of(heads, chosen(heads, arguments))] or symbols
    return symbols


def _enumerator(source: Source, argument: str) -> str:
    """A template's argument as the source writes it: an enumerator by its name, of which a symbol has the value."""
    value = valued(argument)
    enums = [s for s in source.definitions(value[0]) if s.kind == "enum"] if value is not None else []
    if value is None or len(enums) != 1:
        return argument
    lines = source.tree.lines(enums[0].path)[enums[0].begin - 1 : enums[0].end_line]
    name = enumerators(Text(enums[0].path, "\n".join(lines)).code).get(value[1])
    return f"{value[0]}::{name}" if name is not None else argument


def _members_of(heads: Sequence[Specialisation | None], left: list[int]) -> list[int]:
    """With a specialisation that was chosen all members of that one: overloads of each other."""
    return [n for n, head in enumerate(heads) if head == heads[left[0]]] if len(left) == 1 else left


def _specialisation(source: Source, symbol: Symbol, owner: str) -> Specialisation | None:
    """The head of the class, or of the class in the member's own declarator, that a member is defined for."""
    classes = [
        outer
        for outer in source.outline(symbol.path)
        if outer.name == owner
        and outer.kind in ("class", "struct")
        and outer.role == "definition"
        and outer.begin <= symbol.begin
        and symbol.end_line <= outer.end_line
    ]
    begin = max((outer.begin for outer in classes), default=symbol.begin)
    lines = source.tree.lines(symbol.path)[begin - 1 : begin - 1 + _HEAD]
    text = Text(symbol.path, "\n".join(lines)).code
    return read_head(text.partition("{")[0], owner) if lines else None
