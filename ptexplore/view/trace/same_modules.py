"""Passes over the same modules: a training function and an evaluating one call the same network.

Names and classes are compared, not objects: a recorded program does not say which object was called.
"""

from __future__ import annotations

from ptexplore.model.nesting import folded
from ptexplore.model.run import Part
from ptexplore.view.trace.alike import Shapes

FEWEST = 3  # modules inside a module whose rows are worth leaving out


def same_modules(root: Part) -> dict[int, str]:
    """Returns the modules whose inner modules also ran in another function, where they took longer.

    By `id` of the part: the name of that function.
    """
    functions = _functions(root)
    groups = [held for held in _groups(root).values() if len(held) > 1]
    same: dict[int, str] = {}
    inside: set[int] = set()  # parts inside modules whose rows are elsewhere
    for held in sorted(groups, key=lambda held: -sum(1 for _ in held[0].walk())):
        passes = [part for part in held if id(part) not in inside]
        longest = max(passes, key=lambda part: part.cost, default=None)
        for part in passes:
            function = functions[id(longest)]
            if part is not longest and function and function != functions[id(part)]:
                same[id(part)] = function
                inside |= {id(inner) for inner in part.walk()}
    return same


def _functions(root: Part) -> dict[int, str]:
    """Returns the name of the function around each module, by `id` of the part; "" if there is none."""
    functions: dict[int, str] = {}
    pending = [(root, "")]
    while pending:
        part, function = pending.pop()
        functions[id(part)] = function
        around = part.name if part.kind in ("user", "library") else function
        pending += [(inner, around) for inner in part.parts]
    return functions


def _groups(root: Part) -> dict[int, list[Part]]:
    """Returns the modules with several modules inside, by the names and classes of these."""
    shapes, groups = Shapes(), dict[int, list[Part]]()

    def shape(part: Part, inside: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        """Returns the number of the part's shape, and how many modules it has, itself counted."""
        modules = sum(count for _, count in inside) + (part.kind == "module")
        names = part.names or (part.name,)
        number = shapes.number(part.kind, names, part.type, tuple(number for number, _ in inside))
        if part.kind == "module" and modules > FEWEST:
            groups.setdefault(number, []).append(part)
        return number, modules

    folded([root], shape)
    return groups
