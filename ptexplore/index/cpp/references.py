"""Finds the references in one C++ file: calls, addresses, bases, overrides, includes and uses of macros.

Calls are read from the text, backwards from every opening bracket: a name, the path to it, and the text before, which
separates a call from a declaration. Names are not resolved here; only libclang knows overloads.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from ptexplore.cpp.brackets import split
from ptexplore.cpp.names import name_parts, without_angles
from ptexplore.cpp.text import words
from ptexplore.model.symbols import Ref, RefLines, ref_lines

if TYPE_CHECKING:
    from ptexplore.index.cpp.prepare import Prepared
    from ptexplore.index.cpp.tree import Reader

# On the reversed text: "(", template arguments, the name, the names and operators before it, an operator behind
# something else than a name, the text before.
_CALL = re.compile(
    r"\(\s*(?:>(?:[^<>(){};|=?!&]|&(?!&)|>[^<>(){};|=?!]*<)*<\s*)?(\w*[A-Za-z_])((?:\s*(?:::|\.|>-)\s*\w*[A-Za-z_])*)"
    r"(?:\s*(\.|>-|::))?(?=\s*(\w+|[^\w\s]?)(.?))"
)
_NOT_CALLED = words(
    """if for while switch return sizeof catch decltype alignof noexcept static_assert alignas throw defined delete
    static_cast dynamic_cast reinterpret_cast const_cast typeid operator int float double bool void char long short
    unsigned signed auto and or not new else do case co_return co_await co_yield requires explicit __attribute__
    __declspec template typename using __has_include __has_attribute constexpr const override final"""
)
_NOT_CALLED_BACKWARDS = frozenset(word[::-1] for word in _NOT_CALLED)
_BEFORE_CALL = words("return else throw new case co_return co_await co_yield and or not in do delete typename template")
_TELLING = frozenset(">&*~#<")
_REACHED = re.compile(r"(?:\s*::\s*\w*[A-Za-z_])*")
_ADDRESS = re.compile(r"&\s*((?:::)?(?:\w+::)*[A-Za-z_]\w*)\s*[,)}]")
_QUALIFIED = re.compile(r"::\s*([a-z_]\w*)\s*[,)}]")
# A name by itself, neither called nor declared.
_NAMED = re.compile(
    r"(?<![\w:])(?:::)?(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*\b(?=\s*(?:<(?:[^<>(){};]|<[^<>(){};]*>)*>\s*)?(?:[,)};]|\Z))"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_INCLUDE = re.compile(r'\s*([<"])([^>"\n]+)[>"]')
_LONGEST = 120


def references(prepared: Prepared, reader: Reader) -> RefLines:
    """Returns all references of one file."""
    path, line = prepared.text.path, prepared.text.line
    refs = _calls(prepared, set(reader.offsets))
    others = [Ref(path, line(use.start), use.name, use.name, "macro") for use in prepared.uses]
    others += _inherits(reader)
    others += [
        Ref(path, symbol.line, symbol.name, symbol.qualified, "override")
        for symbol in reader.symbols
        if symbol.signature.endswith(("override", "final"))
    ]
    others += _addresses(prepared, reader)
    others += _includes(prepared)
    return refs | ref_lines(others)  # `others` has no references of the kind "call"


def _calls(prepared: Prepared, declared: set[int]) -> RefLines:
    line = prepared.text.line
    others = declared.union(use.start for use in prepared.uses)
    reversed_ = prepared.text.bare[::-1]
    length = len(reversed_)
    # the offsets of calls with the same spelling
    starts: defaultdict[tuple[str, str, str | None], list[int]] = defaultdict(list)
    for match in _CALL.finditer(reversed_):
        name_reversed, through, operator, before, further = match.groups()
        if name_reversed in _NOT_CALLED_BACKWARDS:
            continue
        start = length - match.end(1)
        if start in others:
            continue
        if before and not operator:
            declares = _word_declares(before)
            if _declares(before, further, reversed_, match.end(2)) if declares is None else declares:
                continue
        starts[name_reversed, through, operator].append(start)
    refs: RefLines = {}
    for written, offsets in starts.items():
        name, text = _written(*written)
        refs.setdefault((name, text, "call", None, "tree-sitter"), []).extend(map(line, offsets))
    return refs


@lru_cache(maxsize=65536)
def _word_declares(before: str) -> bool | None:
    """Whether the reversed text before a name makes it a declaration. None if more text is needed to decide."""
    word = before[::-1]
    if word.isidentifier():
        return word not in _BEFORE_CALL
    return None if word in _TELLING else False


def _declares(before: str, further: str, reversed_: str, at: int) -> bool:
    """Whether a character before a name makes it a declaration: `>`, `*` or `&` of a type, or `~` of a destructor."""
    if before == ">":
        return not further.isspace() or further == ""
    if before in "&*":  # "Foo& bar(" declares; "a & bar(" and "(&bar(" do not
        return reversed_[at : at + 1].isspace() and (further.isalnum() or further in "_>")
    return before in "~#" or (before == "<" and not reversed_[at : at + 1].isspace() and further.isalnum())


def _written(name: str, through: str, operator: str | None) -> tuple[str, str]:
    """Returns the name and the text without spaces of a call. The arguments are reversed."""
    text = "".join((name + through + (operator or "")).split())[::-1]
    return name[::-1], text[-_LONGEST:]


@lru_cache(maxsize=65536)
def _plain(written: str) -> tuple[str, str]:
    """Returns (last part, text without spaces and template arguments) of a name as written."""
    text = "".join((without_angles(written) if "<" in written else written).split())
    return name_parts(text)[-1], text


def _inherits(reader: Reader) -> list[Ref]:
    refs = []
    for start, clause in reader.inherited:
        at = start + clause.find(":") + 1
        for base in split(clause[clause.find(":") + 1 :]):
            words = [word for word in base.split() if word not in ("public", "private", "protected", "virtual")]
            name, short = _plain(" ".join(words))
            if name:
                line = reader.line(at + len(base) - len(base.lstrip()))
                refs.append(Ref(reader.path, line, name, short, "inherit"))
            at += len(base) + 1
    return refs


def _addresses(prepared: Prepared, reader: Reader) -> list[Ref]:
    """Finds functions that are named, not called:

    `&f`, `a::f`, and macro arguments that name a function of this file.
    """
    text = prepared.text
    bare = text.bare
    functions = {symbol.name for symbol in reader.symbols if symbol.kind == "function"}
    named = {match.start(1): match[1] for match in _ADDRESS.finditer(bare)}
    for match in _QUALIFIED.finditer(bare):
        name = match[1]
        reached = _REACHED.match(bare[max(0, match.start() - 100) : match.start(1)][::-1].lstrip())
        start = match.start(1) - (reached.end() if reached else 0)
        if bare[start - 1 : start] in ("(", ",", " ", "\n", "&", "{"):
            named[start] = bare[start : match.end(1)]
    for use in prepared.uses:
        given = use.arguments
        if given and use.name not in prepared.attributes and given[1] - given[0] < 2000:
            inside = bare[slice(*given)]
            if "::" in inside or not functions.isdisjoint(_WORD.findall(inside)):
                named.update({name.start(): name[0] for name in _NAMED.finditer(bare, *given)})
    refs = []
    for start, written in named.items():
        name, short = _plain(written)
        constant = name[0] == "k" and name[1:2].isupper()
        if name in functions or ("::" in short and (name[0].islower() or name[0] == "_") and not constant):
            refs.append(Ref(text.path, text.line(start), name, short, "address"))
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
