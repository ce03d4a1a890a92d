"""Says which objects only a reference cycle keeps alive, without collecting them.

Python's collector has this rule (deduce_unreachable in its C code). Some objects have more references than the
other objects account for: they are held from outside. Everything that they reach is alive. The rest is garbage.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from itertools import chain
from typing import Any


def garbage(objects: list[Any]) -> set[int]:
    """Return the addresses of the objects that the next full collection would free.

    `objects` are all objects that the collector tracks (`gc.get_objects()`), in a list that nothing else holds.
    """
    plain: list[Any] = []
    objects.append(plain)
    numbers = list(map(id, objects))
    # The standard library's C does the work here: there are some 200,000 objects with a million references.
    references = dict(zip(numbers, map(sys.getrefcount, objects), strict=True))
    ours = references.pop(id(plain)) - 1  # references from this function to each object
    objects.pop()
    inside = Counter(map(id, chain.from_iterable(map(gc.get_referents, objects))))
    current = [item for item in objects if references[id(item)] - inside[id(item)] > ours]
    reached = set(map(id, current))
    while current:
        held = list(chain.from_iterable(map(gc.get_referents, current)))
        following = dict(zip(map(id, held), held, strict=True))
        new = (following.keys() & references.keys()) - reached
        reached |= new
        current = [following[number] for number in new]
    return set(references) - reached
