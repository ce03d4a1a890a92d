"""Finds the functions that override a virtual function, and those that it overrides.

The knowledge comes from `virtual`, `override`, the parameters, and the bases of classes. A function that says
`override` overrides a function of a base: the compiler checks that. A function that does not say so overrides a virtual
function of a base with the same parameters. If something is not certain (a base is a parameter of the template, or
parameters are written differently), the function is a candidate.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from ptexplore.cpp.brackets import closing_of
from ptexplore.cpp.types import parameter_types
from ptexplore.lazy import remembered
from ptexplore.lookup.link_targets import PYTHON, LinkTarget
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.store.index.site import SiteDefinition

OVERRIDING = ("override", "final")  # an overriding function has one of these after its parameters
_OUTER = re.compile(r"\b\w+::")
_CONST = re.compile(r"\bconst\b")

# How alike two parameter lists are: the same types, the same apart from namespaces, or only as many; "" if none of
# these.
Likeness = Literal["same", "nearly", "number", ""]


class OverriddenFunction(NamedTuple):
    """A function that overrides another, or is overridden, and its declaration. If not `sure`, it is a candidate."""

    name: str
    place: LinkTarget
    sure: bool


class Overridden(NamedTuple):
    """The functions that a function overrides, nearest base first.

    `is_whole` says that all bases are known. `says` is True if the function itself says `override`.
    """

    functions: tuple[OverriddenFunction, ...]
    is_whole: bool
    says: bool


_NOTHING = Overridden((), is_whole=True, says=False)


class OverrideReader:
    """A reader of the overrides among C++ member functions. It keeps its results; use it in one thread."""

    def __init__(self, reader: UseReader) -> None:
        self._reader = reader

    @remembered
    def _members(self, name: str) -> Mapping[str, Sequence[LinkTarget]]:
        """Returns the member functions of that name, by their class."""
        by_class: defaultdict[str, list[LinkTarget]] = defaultdict(list)
        for place in self._reader.names.places(name):
            if place.definition.kind == "function" and not place.path.endswith(PYTHON):
                by_class[place.definition.container[:-2]].append(place)
        return {owner: places for owner, places in by_class.items() if self._reader.names.is_class(owner)}

    def _own(self, qualified: str) -> Sequence[LinkTarget]:
        owner, _, name = qualified.rpartition("::")
        return self._members(name).get(owner, ()) if owner and not name.startswith("~") else ()

    @remembered
    def overridden(self, qualified: str) -> Overridden:
        """Returns the functions that a member function overrides: functions of its name in the bases of its class."""
        own = self._own(qualified)
        if not own:
            return _NOTHING
        owner, _, name = qualified.rpartition("::")
        says = _says(own)
        bases, is_whole = self._reader.above(owner)
        likely: list[tuple[OverriddenFunction, Likeness]] = []
        for base in bases:
            theirs = self._members(name).get(base, ())
            like = _likeness(own, theirs)
            if theirs and like and (like != "number" or says) and self.is_virtual(f"{base}::{name}"):
                place = next((each for each in theirs if each.definition.virtual), theirs[0])
                likely.append((OverriddenFunction(f"{base}::{name}", place, like == "same"), like))
        if says and is_whole and len(likely) == 1:  # it overrides a function of a base, and there is only one
            likely = [(likely[0][0]._replace(sure=True), "same")]
        same = [each for each, like in likely if like == "same"]
        functions = same or [each for each, _like in likely]
        is_whole = is_whole and bool(functions)
        return Overridden(tuple(functions), is_whole, says) if functions or says else _NOTHING

    @remembered
    def is_virtual(self, qualified: str) -> bool:
        """Whether a member function, or a function above it that it overrides, says `virtual` or `override`."""
        own = self._own(qualified)
        owner, _, name = qualified.rpartition("::")
        above = (self._members(name).get(base, ()) for base in self._reader.above(owner)[0])
        return _is_said(own) or any(_is_said(theirs) and _likeness(own, theirs) == "same" for theirs in above)

    def overrides(self, qualified: str, classes: Collection[str]) -> bool | None:
        """Whether a member function that says `override` overrides the function of its name in one of these classes.

        Returns None if not all bases of its class are known.
        """
        owner, _, name = qualified.rpartition("::")
        if self._reader.above(owner)[0] and self._reader.derives(owner, classes) is False:
            return False  # whatever the parameters are: most functions of a name are of other classes
        members = self._members(name)
        own = members.get(owner, ())
        fitting = [each for each in classes if each not in members or not own or _likeness(own, members[each])]
        derives = self._reader.derives(owner, fitting) if fitting else False
        # It says that it overrides a function, so its class has a base. If none is known, a macro may have made the
        # class.
        return None if derives is False and fitting and not self._reader.above(owner)[0] else derives

    def overriding(self, qualified: str) -> tuple[OverriddenFunction, ...]:
        """Returns the functions of other classes that override a member function, or may.

        Those that are sure come first. There is one for each class. Its place is where it says `override`.
        """
        owner, _, name = qualified.rpartition("::")
        if not self._own(qualified):
            return ()
        functions: list[OverriddenFunction] = [
            OverriddenFunction(place.definition.qualified, place, sure=True) for place in self.silent(qualified)
        ]
        for derived, theirs in self._members(name).items():
            saying = next((place for place in theirs if _says((place,))), None)
            if saying is None or derived == owner:
                continue
            overrides = self.overrides(f"{derived}::{name}", (owner,))
            if overrides is not False:
                functions.append(OverriddenFunction(f"{derived}::{name}", saying, overrides is True))
        return tuple(sorted(functions, key=lambda each: (not each.sure, each.name)))

    @remembered
    def silent(self, qualified: str) -> tuple[LinkTarget, ...]:
        """Returns the functions of classes below that certainly override a virtual function without saying `override`.

        Empty if the function itself does not say that it is virtual.
        """
        own = self._own(qualified)
        if not _is_said(own):
            return ()
        owner, _, name = qualified.rpartition("::")
        return tuple(
            min(theirs, key=lambda place: (not place.definition.declared, place.path, place.definition.line))
            for derived, theirs in self._members(name).items()
            if derived != owner
            and not _says(theirs)
            and _likeness(own, theirs) == "same"
            and self._reader.derives(derived, (owner,))
        )


def _is_said(places: Sequence[LinkTarget]) -> bool:
    """Whether one of a function's places says `virtual`, or that it overrides a function."""
    return any(place.definition.virtual for place in places) or _says(places)


def _says(places: Sequence[LinkTarget]) -> bool:
    """Whether one of a function's places says that it overrides a function."""
    return any(place.definition.signature.endswith(OVERRIDING) for place in places)


_LIKENESS: tuple[Likeness, ...] = ("same", "nearly", "number")


def _likeness(own: Sequence[LinkTarget], theirs: Sequence[LinkTarget]) -> Likeness:
    """Returns the best likeness of any two of these."""
    alike = {like for mine in own for other in theirs for like in _alike(mine.definition, other.definition)}
    return next((like for like in _LIKENESS if like in alike), "")


def _alike(mine: SiteDefinition, other: SiteDefinition) -> Iterator[Likeness]:
    (types, const), (others, other_const) = _parameters(mine.signature), _parameters(other.signature)
    if types is None or others is None:
        yield "number"
    elif len(types) == len(others) and const == other_const:
        yield "number"
        if types == others:
            yield "same"
        elif [_OUTER.sub("", each) for each in types] == [_OUTER.sub("", each) for each in others]:
            yield "nearly"


@lru_cache(maxsize=65536)
def _parameters(signature: str) -> tuple[tuple[str, ...] | None, bool]:
    """Returns the types of a signature's parameters (None if unreadable), and whether the function is const."""
    close = closing_of(signature, 0) if signature.startswith("(") else -1
    if close < 0 or "#" in signature:
        return None, False
    return parameter_types(signature[: close + 1]), bool(_CONST.search(signature[close + 1 :].partition("->")[0]))
