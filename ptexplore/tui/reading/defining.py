"""What the name under the cursor may be: every candidate that is not where the cursor is already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.store.index.reader import StaleIndex
from ptexplore.view.search.show import candidates

if TYPE_CHECKING:
    from ptexplore.tui.library import Library, Place
    from ptexplore.view.search.show import Candidate


def definitions(library: Library, name: str, place: Place) -> tuple[list[Candidate], str]:
    """Candidates, those of the same file and the same tree first; and what must be said of them.

    A name with what qualifies it is looked up as it is written, then by its last part: an alias is no namespace.
    """
    local = local_line(library, name, place)
    if local is not None:
        return [], f"{name} is a local name here, it seems: line {local} declares it"
    found: list[Candidate] = []
    last = name.rpartition("::")[2].rpartition(".")[2]
    told = ""
    for asked in dict.fromkeys((name, last) if "/" not in name else (name,)):
        try:
            found = candidates(library.trees, None, asked)
        except StaleIndex:  # not an answer: the index is damaged
            raise
        except PtexploreError:
            found = []
        if found:
            told = "" if asked == name else f"nothing is called {name}; these are called {asked}"
            break
    elsewhere = len(found)
    found = [one for one in found if _speaks(one.spot.ref.path or "") == _speaks(place.path)]
    if not found and elsewhere:
        return [], f"{last}: its definition is not known; what is called so is of another language (ctrl+p lists it)"
    if not found:
        return [], f"{name}: no definition in these trees (a local name, or what no header here says)"
    others = [one for one in found if not _is_here(one, place)]
    if not others:
        return [], f"this is where {last} is defined; r lists its uses"
    if name.startswith("std::") and told:
        return [], f"{name} is the C++ library's: it is not in these trees"
    if not told and len(others) == 1 and others[0].name != name:
        told = f"found by its name alone: {others[0].name}"
    others.sort(key=lambda one: (one.spot.ref.path != place.path, one.spot.tree.name != place.tree))
    return others, told


_DATA = (".yaml", ".yml")
_SOURCE, _PYTHON = "C++", "Python"
_NO_TYPE = ("return", "else", "case", "goto", "throw", "new", "delete", "co_return", "typename", "using", "in", "not")


def _speaks(path: str) -> str:
    """The language of a file: what is called so in another one is another thing."""
    return _PYTHON if path.endswith((".py", ".pyi")) else path.rpartition(".")[2] if path.endswith(_DATA) else _SOURCE


def local_line(library: Library, name: str, place: Place) -> int | None:
    """The line of the function around a place that seems to declare a plain name as a parameter or variable of C++.

    By the looks of it: a type before the name, and after it what ends a declarator. None where no line looks so.
    """
    indexed = library.tree(place.tree)
    if indexed is None or not name.isidentifier() or _speaks(place.path) != _SOURCE:
        return None
    around = indexed.store.enclosing(place.path, place.line)
    if around is None or around.kind != "function" or around.name == name:
        return None
    looks = re.compile(rf"(\w+)(?:<[^;]*>|\[\])?(?:\s*[&*]+\s*|\s+){re.escape(name)}\s*(?:[,;={{)]|:(?!:)|\[|$)")
    for number in range(around.begin, place.line + 1):
        text = (indexed.tree.line(place.path, number) or "").partition("//")[0]
        for match in looks.finditer(text):
            if match[1] not in _NO_TYPE and not match[1].isdigit():
                return number
    return None


def _is_here(one: Candidate, place: Place) -> bool:
    ref = one.spot.ref
    return (one.spot.tree.name, ref.path, ref.line) == (place.tree, place.path, place.line)
