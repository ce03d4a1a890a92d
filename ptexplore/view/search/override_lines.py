"""Lines about overriding: the functions that a function overrides, and the classes that override it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ptexplore.lookup.link_targets import DefinitionsByName
from ptexplore.lookup.overrides import OVERRIDING, OverriddenFunction, OverrideReader
from ptexplore.lookup.refs import OverriddenAt
from ptexplore.lookup.trees import IndexedTree, Spot
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.model.symbols import Symbol

_NAMED = 6  # classes that are named


def overridden_lines(overridden: OverriddenAt) -> Iterator[tuple[str, Spot | None]]:
    """Yields the functions that a function overrides, each with its place."""
    for name, spot, sure in overridden.functions:
        yield f"{'overrides' if sure else 'may override'} {name}", spot
    if not overridden.functions:
        yield "overrides a function of an unknown base class", None


def override_facts(trees: Sequence[IndexedTree], symbol: Symbol) -> Iterator[str]:
    """Yields facts about a member function that a declaration calls virtual, or that overrides another function."""
    if symbol.kind != "function" or "::" not in symbol.qualified:
        return
    stores = [indexed.store for indexed in trees]
    places = [each for store in stores for each in (*store.declarations(symbol.qualified), symbol)]
    if not any(place.virtual or place.signature.endswith(OVERRIDING) for place in places):
        return
    reader = OverrideReader(UseReader(DefinitionsByName(stores)))
    overridden = reader.overridden(symbol.qualified)
    for each in overridden.functions:
        at = f"{each.place.path}:{each.place.definition.line}"
        yield f"{'overrides' if each.sure else 'may override'} {each.name} ({at})"
    if overridden.says and not overridden.functions:
        yield "overrides a function of an unknown base class"
    overriding = reader.overriding(symbol.qualified)
    for sure, word in ((True, "overridden"), (False, "may be overridden")):
        classes = _classes([each for each in overriding if each.sure is sure])
        if classes:
            more = f" and {len(classes) - _NAMED} more" if len(classes) > _NAMED else ""
            command = f"ptexplore refs {shlex.quote(symbol.qualified)} --kind overrides"
            yield f"{word} in {', '.join(classes[:_NAMED])}{more} ({command})"


def _classes(functions: Sequence[OverriddenFunction]) -> list[str]:
    return list(dict.fromkeys(each.name.rpartition("::")[0] for each in functions))
