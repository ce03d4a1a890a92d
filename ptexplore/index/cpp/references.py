"""The references in one C++ file: calls, addresses, bases, overrides, includes and uses of macros."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ptexplore.index.cpp.names import name_parts, split, without_angles
from ptexplore.symbols import Ref

if TYPE_CHECKING:
    from tree_sitter import Node

    from ptexplore.index.cpp.prepare import Prepared
    from ptexplore.index.cpp.tree import Reader

# Read backwards from the name of a member: "." or "->", then names with more of these between them.
_RECEIVER = re.compile(r"(?:\s*(?:\.|>-|::)\s*\w*[A-Za-z_])+|\s*(?:\.|>-)")
_NAMED = re.compile(r"(?:::)?(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_INCLUDE = re.compile(r'\s*([<"])([^>"\n]+)[>"]')
_LONGEST = 120


@lru_cache(maxsize=65536)
def _called(written: str) -> tuple[str, str]:
    """(name, text without spaces) of a called function as written."""
    text = "".join((without_angles(written) if "<" in written and "operator" not in written else written).split())
    return name_parts(text)[-1], text


def references(prepared: Prepared, view: bytearray, found: dict[str, list[Node]], reader: Reader) -> list[Ref]:
    """All of one file, in no order."""
    path, line = prepared.text.path, prepared.text.line
    text = view.decode("ascii")
    macros = {use.start for use in prepared.uses}
    refs: list[Ref] = []
    for node in found.get("call", ()):
        start = node.start_byte
        if start in macros:
            continue
        name, written = _called(text[start : node.end_byte])
        refs.append(Ref(path, line(start), name, written[-_LONGEST:], "call"))
    for node in found.get("member_call", ()):
        start = node.start_byte
        name = _called(text[start : node.end_byte])[0]
        receiver = _RECEIVER.match(text[max(0, start - 80) : start][::-1])
        before = "".join(receiver[0].split())[::-1] if receiver else ""
        refs.append(Ref(path, line(start), name, before + name, "call"))
    refs += [Ref(path, line(use.start), use.name, use.name, "macro") for use in prepared.uses]
    refs += _inherits(path, text, found, line)
    refs += [
        Ref(path, symbol.line, symbol.name, symbol.qualified, "override")
        for symbol in reader.symbols
        if symbol.signature.endswith(("override", "final"))
    ]
    refs += _addresses(prepared, found, reader, text)
    refs += _includes(prepared)
    return refs


def _inherits(path, text, found, line):  # type: ignore[no-untyped-def]
    refs = []
    for node in found.get("bases", ()):
        start = node.start_byte
        at = text.find(":", start) + 1
        for base in split(text[at : node.end_byte]):
            written = " ".join(
                word for word in base.split() if word not in ("public", "private", "protected", "virtual")
            )
            name, short = _called(written)
            refs.append(Ref(path, line(at + len(base) - len(base.lstrip())), name, short, "inherit"))
            at += len(base) + 1
    return refs


def _addresses(prepared: Prepared, found: dict[str, list[Node]], reader: Reader, text: str) -> list[Ref]:
    """Functions named without being called: arguments with a scope, and `&f` or macro arguments that this file defines."""
    path, line = prepared.text.path, prepared.text.line
    functions = {symbol.name for symbol in reader.symbols if symbol.kind == "function"}
    named = [(node.start_byte, text[node.start_byte : node.end_byte]) for node in found.get("address", ())]
    for use in prepared.uses:
        if use.arguments and use.name not in prepared.attributes:
            named += [(one.start(), one[0]) for one in _NAMED.finditer(prepared.text.bare, *use.arguments)]
    refs = []
    for start, written in dict(named).items():
        name, short = _called(written)
        if name in functions or ("::" in short and name[:1].islower() and not (name[0] == "k" and name[1:2].isupper())):
            refs.append(Ref(path, line(start), name, short, "address"))
    return refs


def _includes(prepared: Prepared) -> list[Ref]:
    text = prepared.text
    refs = []
    for directive in text.directives:
        if directive.word == "include":
            named = _INCLUDE.match(text.raw, directive.end - len(directive.rest))
            if named:
                refs.append(
                    Ref(text.path, text.line(directive.start), named[2].rpartition("/")[2], named[2], "include")
                )
    return refs
