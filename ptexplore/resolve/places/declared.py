"""Where the wheel's headers declare a function, as a source reference with its precision."""

from __future__ import annotations

from ptexplore.catalogue import declarations
from ptexplore.model.places import SourceRef
from ptexplore.resolve.places.precision import in_runtime, several
from ptexplore.source.tree import SourceTree


def find(tree: SourceTree, symbol: str, caller: tuple[str, int] | None = None) -> SourceRef | None:
    """The declaration of `symbol` in `tree`, told from its overloads by the wrapper that calls it.

    "located" when one header declares it once; "ambiguous" with candidates for overloads; None where no header known
    to hold such names declares it.
    """
    qualified, found = declarations.find(tree, symbol, caller)
    if not found:
        return None
    places = [in_runtime(tree, one.path, one.line, one.end_line) for one in found]
    return several(places, f"{qualified} is declared {len(places)} times: overloads, or one per operator that uses it")


def parameters(tree: SourceTree, declared: SourceRef | None, caller: tuple[str, int] | None) -> tuple[str, ...] | None:
    """The parameter types of a function by its one declaration, else by the wrapper that calls it; None if neither."""
    if declared is not None and declared.path is not None and declared.line is not None:
        return declarations.parameters(tree, declared.path, declared.line)
    return declarations.parameters(tree, *caller) if caller is not None else None
