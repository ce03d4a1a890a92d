"""Which written names can mean the symbol asked for: a qualifier that contradicts it rules a reference out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.symbols import Symbol
    from ptexplore.view.trees import IndexedTree

_OPERATOR = re.compile(r"^[A-Za-z_]\w*::[A-Za-z_]\w*(\.\w+)?$")
_CLASSES = ("class", "struct", "union", "enum")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_RECEIVER = re.compile(r"^(.*?)(?:\.|->)\*?([^.>]*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A name whose uses are wanted. `scopes` are the containers it may be in, each as its parts; empty where it was
    not qualified. `member` is False where every symbol of it is known to stand in a namespace, so that `x.f()` cannot
    mean it. `row_names` are the names under which the dialect has it.
    """

    name: str
    last: str
    scopes: tuple[tuple[str, ...], ...]
    member: bool
    row_names: tuple[str, ...]
    symbols: tuple[tuple[int, Symbol], ...]


def asked_for(trees: Sequence[IndexedTree], name: str) -> Asked:
    """What `name` stands for in these trees: every symbol of it with its tree's number, its scopes, its rows."""
    plain = name.removeprefix("::").strip()
    parts = _parts(plain)
    last = parts[-1] if parts else plain
    found: list[tuple[int, Symbol]] = []
    for number, indexed in enumerate(trees):
        exact = [*indexed.store.definitions(plain), *indexed.store.declarations(plain)] if len(parts) > 1 else []
        found += [(number, one) for one in exact or indexed.store.symbols_ending(plain)]
    found = [(number, one) for one_number, one in found for number in (one_number,) if one.kind != "namespace"]
    scopes: tuple[tuple[str, ...], ...] = ()
    if len(parts) > 1:
        known = {tuple(_parts(one.qualified)[:-1]) for _number, one in found}
        scopes = tuple(sorted(known)) or (tuple(parts[:-1]),)
    rows = [plain, last]
    if _OPERATOR.match(plain):
        rows = [plain]
    elif "::" not in plain:
        rows.append(f"aten::{plain}")
    return Asked(name, last, scopes, _may_be_member(trees, found, scopes), tuple(dict.fromkeys(rows)), tuple(found))


def _may_be_member(
    trees: Sequence[IndexedTree], found: Sequence[tuple[int, Symbol]], scopes: Sequence[tuple[str, ...]]
) -> bool:
    """Whether the name may be reached through an object; unknown counts as yes."""
    if not found or not scopes:
        return True
    for scope in scopes:
        if not scope:
            continue
        container = "::".join(scope)
        kinds = {s.kind for t in trees for s in (*t.store.definitions(container), *t.store.declarations(container))}
        if not kinds or kinds & set(_CLASSES):
            return True
    return False


def _parts(name: str) -> list[str]:
    """The parts of a qualified name without template arguments; a Python name is parted at its dots."""
    bare = name
    if "operator" not in bare:
        while (shorter := _ARGUMENTS.sub("", bare)) != bare:
            bare = shorter
    return bare.split("::") if "::" in bare else bare.split(".")


def fits(asked: Asked, text: str, target: str | None = None) -> bool:
    """Whether a use written as `text` can mean what was asked; `target` is what a semantic reader resolved it to."""
    if not asked.scopes:
        return True
    if target is not None:
        return tuple(_parts(target)[:-1]) in asked.scopes
    if "::" not in text or "." in text or "->" in text:
        through = _RECEIVER.match(text)
        if through is not None and "operator" not in text:
            return asked.member
    written = tuple(part for part in _parts(text)[:-1] if part)
    return not written or any(_agree(written, scope) for scope in asked.scopes)


def _agree(written: tuple[str, ...], scope: tuple[str, ...]) -> bool:
    """Whether one is the end of the other: names are looked up from the inside, so the outer parts may be missing."""
    shorter = min(len(written), len(scope))
    return bool(shorter) and written[-shorter:] == scope[-shorter:]
