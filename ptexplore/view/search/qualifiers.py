"""Which written names can mean what was asked for: a qualifier that contradicts it rules a use out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.model.symbols import DIALECT_KINDS

if TYPE_CHECKING:
    from ptexplore.model.symbols import Symbol
    from ptexplore.view.trees import IndexedTree

Scope = tuple[str, ...]

_NAMED_IN_CPP = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.cpp_name)
_CLASSES = ("class", "struct", "union", "enum")
_ARGUMENTS = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Asked:
    """A name whose uses are wanted.

    `lasts` are the last parts under which uses of it are indexed. `cpp` and `python` are the containers it may be in,
    each as its parts, `operators` its spellings as an operator in Python ("aten", "add", "Tensor"); with none of the
    three it was not qualified, and every use of the name counts. `member` is False where every C++ symbol of it is
    known to stand in a namespace, so that `x.f()` cannot mean it. `row_names` are the names under which the dialect
    has it, in rows of `row_kinds` (None: of any kind): a row for "add" is an operator, or a method, but not
    at::native::add.
    """

    name: str
    lasts: tuple[str, ...]
    symbols: tuple[tuple[int, Symbol], ...] = ()
    cpp: tuple[Scope, ...] = ()
    python: tuple[Scope, ...] = ()
    operators: tuple[Scope, ...] = ()
    member: bool = True
    row_names: tuple[str, ...] = ()
    row_kinds: tuple[str, ...] | None = None

    @property
    def tellable(self) -> bool:
        """Whether what is left out is worth a word: an overload's name ("Tensor") alone says nothing."""
        return not self.operators or len(self.operators[0]) < 3

    @property
    def qualified(self) -> bool:
        """Whether what a use is written with can contradict it."""
        return bool(self.cpp or self.python or self.operators)


def asked_for(trees: Sequence[IndexedTree], name: str) -> Asked:
    """What `name` stands for in these trees: every symbol of it with its tree's number, its containers, its rows."""
    plain = name.removeprefix("::").strip()
    parts = _parts(plain)
    if len(parts) < 2:
        found = _symbols(trees, plain, exact=False)
        return Asked(name, (plain,), tuple(found), row_names=(plain, f"aten::{plain}"))
    found = _symbols(trees, plain, exact=True) or _symbols(trees, plain, exact=False)
    operator = _operator(trees, plain)
    spelled = tuple(operator.replace("::", ".").split(".")) if operator else ()
    operators = ((spelled, (*spelled, "default")) if len(spelled) == 2 else (spelled,)) if operator else ()
    known = {tuple(_parts(one.qualified)[:-1]) for _number, one in found}
    containers = tuple(sorted(known)) or (() if operator else (tuple(parts[:-1]),))
    in_cpp = "::" in plain
    lasts = [parts[-1]] if containers else []
    return Asked(
        name=name,
        lasts=tuple(dict.fromkeys((*lasts, *(one[-1] for one in operators)))),
        symbols=tuple(found),
        cpp=containers if in_cpp else (),
        python=() if in_cpp else containers,
        operators=operators,
        member=_may_be_member(trees, found, containers),
        row_names=(operator, plain) if operator else (plain, parts[-1]),
        row_kinds=None if operator else _NAMED_IN_CPP,
    )


def _symbols(trees: Sequence[IndexedTree], name: str, *, exact: bool) -> list[tuple[int, Symbol]]:
    found: list[tuple[int, Symbol]] = []
    for number, indexed in enumerate(trees):
        store = indexed.store
        here = [*store.definitions(name), *store.declarations(name)] if exact else store.symbols_ending(name)
        found += [(number, one) for one in here if one.kind != "namespace"]
    return found


def _operator(trees: Sequence[IndexedTree], name: str) -> str | None:
    """The operator of that name ("add.Tensor", "aten::add.Tensor"), where a row of some tree has it."""
    full = name if "::" in name else f"aten::{name}"
    return full if any(indexed.store.dialect(full) for indexed in trees) else None


def _may_be_member(
    trees: Sequence[IndexedTree], found: Sequence[tuple[int, Symbol]], containers: Sequence[Scope]
) -> bool:
    """Whether the name may be reached through an object; unknown counts as yes."""
    if not found:
        return True
    for container in filter(None, containers):
        name = "::".join(container)
        kinds = {kind for one in trees for kind in one.store.kinds_of(name)}
        if not kinds or kinds & set(_CLASSES):
            return True
    return False


def _parts(name: str) -> list[str]:
    """The parts of a qualified name without template arguments; a Python name is parted at its dots."""
    bare = name
    if "operator" not in bare:
        while (shorter := _ARGUMENTS.sub("", bare)) != bare:
            bare = shorter
    return bare.split("::") if "::" in bare else bare.split(".") if "operator" not in bare else [bare]


def split_target(target: str) -> tuple[str, str]:
    """The qualified name that a `Ref.target` holds, and its parameter list, "" where the overload is not known."""
    at = target.find("(", target.find("operator()") + len("operator()") if "operator()" in target else 0)
    return (target[:at], target[at:]) if at >= 0 else (target, "")


def fits(asked: Asked, path: str, text: str, target: str | None = None) -> bool:
    """Whether a use written as `text` in the file `path` can mean what was asked.

    `target` is what a semantic reader resolved it to, which then decides.
    """
    if not asked.qualified:
        return True
    if target is not None:
        return tuple(_parts(split_target(target)[0])[:-1]) in (*asked.cpp, *asked.python)
    written = tuple(text.split("."))
    if any(written[-len(one) :] == one for one in asked.operators):
        return True
    if path.endswith((".py", ".pyi")):
        return any(_python_agrees(written[:-1], container) for container in asked.python)
    return bool(asked.cpp) and _cpp_fits(asked, text)


def _cpp_fits(asked: Asked, text: str) -> bool:
    through_object = ("." in text or "->" in text) and "operator" not in text
    if through_object:
        return asked.member
    written = tuple(part for part in _parts(text)[:-1] if part)
    return not written or any(_agree(written, container) for container in asked.cpp)


def _agree(written: Scope, container: Scope) -> bool:
    """Whether one is the end of the other: names are looked up from the inside, so the outer parts may be missing."""
    shorter = min(len(written), len(container))
    return bool(shorter) and written[-shorter:] == container[-shorter:]


def _python_agrees(written: Scope, container: Scope) -> bool:
    """As in C++, but one word alone may be any alias or object; the package's own name is neither."""
    if len(written) == 1:
        return written != container[:1] or len(container) == 1
    return not written or _agree(written, container)
