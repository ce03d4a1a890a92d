"""Figure 3: the binary's non-template function names under at::, c10::, torch:: against index and generated C++.

The names are those of .symtab (FUNC symbols with a body), demangled by the C++ runtime's own __cxa_demangle.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lib.accuracy_names import last, plain
from lib.accuracy_peer import Tags
from lib.accuracy_report import Figure, share

from ptexplore.store.index.reader import IndexStore

LIBRARIES = ("libtorch_cpu.so", "libtorch_python.so", "libc10.so")
_OURS = re.compile(rb"_ZNK?[RO]?(?:2at|3c10|5torch)")
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMTAB, _FUNC, _IFUNC = 2, 2, 10
_OPERATOR = re.compile(r"operator(?:\(\)|<<=?|<=>?|<|>>=?|>=|->\*?|>)")
_ABI = re.compile(r"\[abi:\w+\]")


def mangled(library: Path) -> Iterator[bytes]:
    """The mangled names of every function with a body in .symtab; raises ValueError where the file has none."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{library} is no 64-bit little-endian ELF file")
        offset, count = struct.unpack_from("<Q", data, 0x28)[0], struct.unpack_from("<H", data, 0x3C)[0]
        sections = [_SECTION.unpack_from(data, offset + 64 * n) for n in range(count)]
        tables = [one for one in sections if one[1] == _SYMTAB]
        if not tables:
            raise ValueError(f"{library} has no .symtab")
        for table in tables:
            strings = sections[table[6]]
            names = data[strings[4] : strings[4] + strings[5]]
            symbols = data[table[4] : table[4] + table[5] // 24 * 24]
            for name, info, _, section, _, _ in _SYMBOL.iter_unpack(symbols):
                if info & 15 in (_FUNC, _IFUNC) and section:
                    yield names[name : names.index(b"\0", name)]


class Demangler:
    """__cxa_demangle of the installed C++ runtime."""

    def __init__(self) -> None:
        self._demangle = ctypes.CDLL("libstdc++.so.6")[
            "__cxa_demangle"
        ]  # by name: an attribute would be mangled by Python
        self._demangle.restype = ctypes.c_void_p
        self._demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        self._free = ctypes.CDLL(None).free
        self._free.argtypes = [ctypes.c_void_p]

    def __call__(self, name: bytes) -> str | None:
        found = self._demangle(name, None, None, None)
        if not found:
            return None
        text = ctypes.string_at(found).decode()
        self._free(found)
        return text


@dataclass
class Names:
    """Distinct qualified names to look for, and what was left out of the count, by reason."""

    wanted: set[str] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)


def names_of(libraries: Iterable[Path]) -> Names:
    """The names under at::, c10::, torch:: in the libraries."""
    found, demangle = Names(), Demangler()
    seen: set[bytes] = set()
    for library in libraries:
        seen.update(name.partition(b".")[0] for name in mangled(library) if _OURS.match(name))
    for one in seen:
        text = demangle(one)
        if text is None:
            found.left_out["cannot be demangled"] += 1
            continue
        name, why = qualified_name(text)
        if why:
            found.left_out[why] += 1
        else:
            found.wanted.add(plain(name))
    return found


def qualified_name(demangled: str) -> tuple[str, str]:
    """("at::native::add_kernel", "") of a demangled function, or ("", why it does not count)."""
    text = _ABI.sub("", demangled).replace("(anonymous namespace)", "\1")
    sign = _OPERATOR.search(text)
    guarded = text if sign is None else text[: sign.start()] + "operator\2" + text[sign.end() :]
    head = guarded.partition("(")[0]
    if "{lambda" in text or "'lambda" in text:
        return "", "a lambda, which has no name"
    if "<" in head:
        return "", "a template's instance"
    if " " in head.replace("operator ", "operator") or head == "decltype":
        return "", "a template's instance"  # only those are demangled with their return type
    name = head.replace("\1", "(anonymous namespace)")
    return (name if sign is None else name.replace("operator\2", sign[0])), ""


@dataclass
class Known:
    """All function names with a definition in the source indexes, as compared; declared ones and classes too."""

    defined: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)

    def add(self, index: IndexStore) -> None:
        """Take in an index."""
        for file in index.files():
            if file.language != "cpp":
                continue
            for one in index.outline(file.path):
                if one.kind in ("class", "struct", "union"):
                    self.classes.add(plain(one.qualified))
                elif one.kind == "function":
                    (self.defined if one.role == "definition" else self.declared).add(plain(one.qualified))


_IMPLICIT = "special member that the compiler wrote: its class is indexed and does not declare it"
_LAZY = (
    "written by torchgen's lazy backend when PyTorch is built, from a YAML file that no wheel has "
    "(we generated these names to verify this)"
)


@dataclass(frozen=True)
class Lazy:
    """The lazy backend's layer: function names and classes."""

    functions: set[str]
    classes: set[str]


def why_not(name: str, known: Known, lazy: Lazy) -> str:
    """Why a name of the binary has no definition in the indexes, as far as the indexes can tell."""
    end = last(name)
    container = name[: -len(end)].removesuffix("::")
    own = last(container)
    special = end in (own, f"~{own}", "operator=")
    if name in lazy.functions or (special and container in lazy.classes):
        return _LAZY
    if special and name not in known.declared and container in known.classes:
        return _IMPLICIT
    if name in known.declared:
        return "declared, and its definition not found"
    if container in known.classes:
        return "member of an indexed class that does not have it"
    return "not found"


def figures(
    libraries: list[Path], known: Known, lazy: Lazy, tags: Tags | None
) -> tuple[list[Figure], list[tuple[str, list[str]]]]:
    """Names found, with and without what no source text holds."""
    names = names_of(libraries)
    missing = sorted(names.wanted - known.defined)
    reasons: dict[str, list[str]] = {}
    for name in missing:
        reasons.setdefault(why_not(name, known, lazy), []).append(name)
    unwritten = {why: len(reasons.get(why, ())) for why in (_IMPLICIT, _LAZY)}
    written = names.wanted - set(reasons.get(_IMPLICIT, ())) - set(reasons.get(_LAZY, ()))
    by_tags = tags.qualified if tags is not None else set()
    hit = len(names.wanted) - len(missing)
    what = f"distinct non-template function names under at::, c10::, torch:: in .symtab of {', '.join(LIBRARIES)}"
    less = f"less {unwritten[_IMPLICIT]:,} special members that the compiler wrote and {unwritten[_LAZY]:,} names of "
    main = Figure(
        "names of the binary", hit, len(written), 99.0,
        f"{what}, {less}torchgen's lazy layer, whose text is in neither tree (both verified)",
        (len(written & by_tags), len(written)) if tags else None,
    )  # fmt: skip
    native = {name for name in written if name.startswith("at::native::")}
    below = Figure(
        "names of the binary, at::native", len(native & known.defined), len(native), 99.0, "those under at::native::",
        (len(native & by_tags), len(native)) if tags else None,
    )  # fmt: skip
    details = [("Names of the binary that do not count", [f"{why}: {n:,}" for why, n in names.left_out.most_common()])]
    rows = []
    for why, found in sorted(reasons.items(), key=lambda item: -len(item[1])):
        rows.append(f"{why}: {len(found):,}, such as {', '.join(found[:: max(len(found) // 6, 1)][:6])}")
    with_lazy = len(written) + unwritten[_LAZY]
    strict = f"with the lazy layer counted too: {share(hit, with_lazy)}; with special members as well: "
    strict += share(hit, len(names.wanted))
    if tags:
        bare = sum(last(name) in tags.names for name in native)
        rows.append(f"Ctags, at::native, by bare name: {bare:,} of {len(native):,}")
    details.append(("Names of the binary without a definition in the index", [strict, *rows]))
    return [main, below], details
