"""What the stepper logged becomes observations that a session can keep: calls by function, without any address."""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ptexplore.capture.native.symbols import Demangler, Place, Symbols
from ptexplore.capture.native.tree import Call, build

OPEN = ("libtorch_cpu.", "libtorch_python.", "libc10.", "libtorch.")  # the libraries whose source PyTorch's is
KEY_SET = "c10::DispatchKeySet"
KEPT = ("op", "number", "of", "instructions", "seconds", "cut", "warm_ups", "threads", "projected")


def calls(observations: Sequence[Mapping[str, Any]], cache: Path) -> list[dict[str, Any]]:
    """The native pass's observations with its rows read: kinds "calls" (one a stepped part) and "unreadable".

    `observations` are the probe's: "steps" (rows of the log, packed) and "maps" (the process's memory map). `cache` is
    the folder where function tables are kept by build id.
    """
    maps = next((str(o["data"]["text"]) for o in observations if o["kind"] == "maps"), "")
    symbols, demangler = Symbols(maps, cache), Demangler()
    found = []
    for seen in observations:
        if seen["kind"] == "steps":
            data = _part(seen["data"], symbols, demangler)
            found.append({"recorder": "native", "kind": "calls", "data": data})
        elif seen["kind"] != "maps":
            found.append(dict(seen))
    if symbols.unreadable:
        found.append({"recorder": "native", "kind": "unreadable", "data": {"libraries": dict(symbols.unreadable)}})
    return found


def _part(data: Mapping[str, Any], symbols: Symbols, demangler: Demangler) -> dict[str, Any]:
    rows = zlib.decompress(base64.b64decode(data["rows"]))
    root = build(rows, int(data["instructions"]), symbols)
    listed = _Listed(demangler)
    for depth, call in _below(root):
        listed.add(depth, call)
    return {"part": data["what"], **{name: data.get(name) for name in KEPT}, **listed.document()}


def _below(root: Call) -> Iterator[tuple[int, Call]]:
    """Every call in the order of entry with its depth; not recursive, since stacks can be deep."""
    pending = [(0, call) for call in reversed(root.calls)]
    while pending:
        depth, call = pending.pop()
        yield depth, call
        pending += [(depth + 1, below) for below in reversed(call.calls)]


class _Listed:
    """The calls as parallel lists, each function named once."""

    def __init__(self, demangler: Demangler) -> None:
        self.demangler = demangler
        self.functions: list[tuple[str, str, str, str]] = []
        self.numbers: dict[Place, int] = {}
        self.function: list[int] = []
        self.depth: list[int] = []
        self.begin: list[int] = []
        self.end: list[int] = []
        self.tail: list[int] = []
        self.registers: dict[str, tuple[int, int, int]] = {}
        self.closed: Counter[str] = Counter()

    def add(self, depth: int, call: Call) -> None:
        """Take the next call in the order of entry."""
        number = self._number(call.place)
        if call.tail:
            self.tail.append(len(self.function))
        if KEY_SET in self.functions[number][3]:
            self.registers[str(len(self.function))] = call.arguments
        if not call.place.library.startswith(OPEN):
            self.closed[call.place.library or "no library"] += call.own
        self.function.append(number)
        self.depth.append(depth)
        self.begin.append(call.begin)
        self.end.append(call.end)

    def _number(self, place: Place) -> int:
        if place not in self.numbers:
            self.numbers[place] = len(self.functions)
            name = self.demangler.demangle(place.mangled) if place.mangled else ""
            self.functions.append((place.library, place.kind, place.mangled, name))
        return self.numbers[place]

    def document(self) -> dict[str, Any]:
        """The lists as plain data."""
        return {
            "functions": self.functions,
            "function": self.function,
            "depth": self.depth,
            "begin": self.begin,
            "end": self.end,
            "tail": self.tail,
            "registers": self.registers,
            "closed": dict(self.closed.most_common()),
        }
