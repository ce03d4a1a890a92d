"""What the symbol of a function says about the place of its definition, in addition to the name.

Sources: the ELF specification (STT_FILE, STB_GLOBAL) and the Itanium C++ ABI, 5.1.5 (names with internal linkage, vague
linkage). A linker writes the local symbols of an object after the object's STT_FILE row, which names the source file.
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
# Libraries for a device are compiled from files for nvcc, or from files whose folder or name names the device.
_OF_DEVICE = re.compile(r"lib(?:torch|c10)_(?:cuda|hip|xpu)")
_FOR_DEVICE = re.compile(r"\.cuh?$|/(?:cuda|cudnn|hip|miopen|xpu)/|(?:CUDA|Cuda|cuda|HIP|XPU|Cudnn|NCCL)[^/]*$")
_FOR_HOST = re.compile(r"/cpu/|CPU[^/]*$|RegisterComposite[^/]*$")
# A file below native/cpu is compiled once per capability, from a copy with the capability in its name
# (cmake/Codegen.cmake).
_COPY = re.compile(rf"\.(?:{'|'.join(CAPABILITIES)})\.cpp$")
_HEAD = 24  # limit on the lines in the head of a class or member


@dataclass(frozen=True, slots=True)
class Linkage:
    """A function's symbol: mangled name, source file of a local symbol, whether it is global, and the library.

    All fields are empty if the function is only known from another function's name.
    """

    mangled: str = ""
    unit: str = ""
    is_global: bool = False
    library: str = ""

    def is_internal(self, name: Name) -> bool:
        """Whether the name itself shows internal linkage: the function was never visible outside its object."""
        return name.is_anonymous or marked(name, self.mangled)

    def of_library(self, paths: Sequence[str]) -> list[str]:
        """Returns the files that the library can be compiled from, judged by their names.

        A library for a device is compiled from files of the device, and from some with neutral names, but not from
        files for the processor. Other libraries contain nothing that nvcc compiles.
        """
        if _OF_DEVICE.match(self.library):
            own = [path for path in paths if _FOR_DEVICE.search(path) or path.endswith(HEADER)]
            return own or [path for path in paths if not _FOR_HOST.search(path)]
        return [path for path in paths if not path.endswith((".cu", ".cuh"))] or list(paths)

    def own_unit(self, name: Name) -> str:
        """Returns the source file of a function with internal linkage; "" for others, or if not known.

        A symbol that only a version script or a visibility made local is after a wrong STT_FILE row. Its name is not
        internal.
        """
        return self.unit if self.is_internal(name) else ""


UNLINKED = Linkage()


def marked(name: Name, mangled: str) -> bool:
    """Whether a mangled name shows that the function is static: an L before its last part."""
    last = name.parts[-1].name if name.parts else ""
    return f"L{len(last)}{last}" in mangled


def compiled_from(path: str, unit: str) -> bool:
    """Whether a definition in `path` can be in an object compiled from `unit`: the same file, or a header."""
    return path.endswith(HEADER) or PurePosixPath(path).name == _COPY.sub("", unit)


def narrowed(source: Source, name: Name, linkage: Linkage, symbols: list[Symbol]) -> list[Symbol]:
    """Returns the definitions of a name that can have this symbol.

    A function with internal linkage is defined in its unit or in a header. A global symbol is not an inline function,
    and definitions in headers are inline. A name without template arguments is not from a template. The arguments of a
    class template select one of its specialisations.
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
    """Returns a template argument as written in source. An enumerator has a name there, and a value in the symbol."""
    value = valued(argument)
    enums = [s for s in source.definitions(value[0]) if s.kind == "enum"] if value is not None else []
    if value is None or len(enums) != 1:
        return argument
    lines = source.tree.lines(enums[0].path)[enums[0].begin - 1 : enums[0].end_line]
    name = enumerators(Text(enums[0].path, "\n".join(lines)).code).get(value[1])
    return f"{value[0]}::{name}" if name is not None else argument


def _members_of(heads: Sequence[Specialisation | None], left: list[int]) -> list[int]:
    """Returns the indices of all members of the chosen specialisation. They are overloads of each other."""
    return [n for n, head in enumerate(heads) if head == heads[left[0]]] if len(left) == 1 else left


def _specialisation(source: Source, symbol: Symbol, owner: str) -> Specialisation | None:
    """Returns the head of the class in which a member is defined, or of the class in the member's declarator."""
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
