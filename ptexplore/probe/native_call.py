"""Find the entry points in machine code of the operator calls that --native-op names: at::_ops::NAME::call.

Every operator overload of torch has one (torchgen writes them), through which C++ and the Python bindings call it;
what is called boxed (torch.ops, TorchScript) does not come through.
"""

from __future__ import annotations

import ctypes
import difflib
import mmap
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import torch_api as api
from .syntax import Refused

LIBRARY = "libtorch_cpu.so"
ENTRY = b"_ZN2at4_ops%d%s4callE"  # the Itanium ABI's name of at::_ops::X::call, without its parameters
MOST = 64  # operators among which the first one called is looked for
Called = Sequence[tuple[str, str | None]]  # names and overloads, as the profiler records them


@dataclass(frozen=True)
class Entry:
    """One overload ("add.Tensor") and the address and mangled name of its entry point."""

    op: str
    symbol: str
    address: int


def parsed(wanted: str) -> tuple[str, int]:
    """Operator and number of `NAME[#N]`. Raises Refused for a number that is none."""
    name, mark, number = wanted.partition("#")
    if mark and not (number.isascii() and number.isdigit() and int(number)):
        raise Refused("native", f"--native-op {wanted}: after # comes which call of it, from 1")
    return name.strip().removeprefix("aten::"), int(number or 1)


def entries(names: Iterable[str]) -> list[Entry]:
    """The entry points of operators: of every overload where a name has none. In the names' order."""
    registered: dict[str, list[str]] = {}
    for full in api.operator_names():
        if full.startswith("aten::"):
            op = full.removeprefix("aten::")
            registered.setdefault(op.partition(".")[0], []).append(op)
    wanted: dict[str, None] = {}
    for name in names:
        base = name.partition(".")[0]
        wanted |= dict.fromkeys(op for op in registered.get(base, ()) if name in (op, base))
    return list(_located(wanted))


def of_name(name: str) -> list[Entry]:
    """The entry points of the operator that a user named. Raises Refused where there is none."""
    found = entries([name])
    if found:
        return found
    known = {full.removeprefix("aten::") for full in api.operator_names() if full.startswith("aten::")}
    if name in known or name in {op.partition(".")[0] for op in known}:
        raise Refused("native", f"--native-op {name}: torch's library has no entry point of its own for it")
    close = difflib.get_close_matches(name, known | {op.partition(".")[0] for op in known}, 3, 0.7)
    near = f"; there is {' and '.join(close)}" if close else ""
    raise Refused("native", f"--native-op {name}: torch has no operator of that name{near}", close=close)


def of_called(called: Called) -> list[Entry]:
    """The entry points of what was called, the first of them first; every overload where the profiler tells none."""
    names = dict.fromkeys(
        f"{name}.{overload}" if overload else name for name, overload in called if name.startswith("aten::")
    )
    return entries(name.removeprefix("aten::") for name in list(names)[:MOST])


def times_called(op: str, called: Called) -> int | None:
    """How often the profiler saw an overload called; None where it does not tell overloads."""
    base, _, overload = op.partition(".")
    same = [given for name, given in called if name == f"aten::{base}"]
    return None if None in same else sum(given == overload for given in same)


def _located(ops: Iterable[str]) -> Iterable[Entry]:
    path = os.path.join(api.torch_dir(), "lib", LIBRARY)
    library = ctypes.CDLL(path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        start, end = _names(data)
        for op in ops:
            name = op.replace(".", "_").encode()
            found = data.find(b"\0" + ENTRY % (len(name), name), start, end) + 1
            if found:
                symbol = data[found : data.find(b"\0", found)].decode()
                yield Entry(op, symbol, ctypes.cast(library[symbol], ctypes.c_void_p).value or 0)


def _names(data: mmap.mmap) -> tuple[int, int]:
    """Where in an ELF file the names of its dynamic symbols lie: the string table that is loaded."""
    (sections,) = struct.unpack_from("<Q", data, 0x28)  # e_shoff
    size, count = struct.unpack_from("<2H", data, 0x3A)  # e_shentsize, e_shnum
    for number in range(count):
        kind, flags, _, offset, length = struct.unpack_from("<I4Q", data, sections + number * size + 4)
        if kind == 3 and flags & 2:  # SHT_STRTAB, SHF_ALLOC
            return offset, offset + length
    return 0, len(data)
