"""A key of each step that holds from one trace to the next, by which two traces of the same code are aligned.

The id of a step is its number in one trace, and moves with each step that comes before it. Its key is made of what the
step is (its kind, operator, dispatch key, and the function by the binary's own name), of the key of the step it is
inside of, and of how many steps like it were called before it by the same caller. So a key is that of one path of
callees, and what runs elsewhere does not change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.model.trace import Hop, HopFacts

SIZE = 8  # bytes: of 37 million traces with a million steps each, one has two steps with the same key by chance


def hop_keys(hops: Iterable[Hop]) -> Mapping[int, str]:
    """The key of every step of these trees, by its id: 16 letters and digits."""
    keys: dict[int, str] = {}
    pending = [("", tuple(hops))]
    while pending:  # not recursive, since stacks can be deep
        outer, beside = pending.pop()
        before: Counter[str] = Counter()
        for hop in beside:
            known = _what_it_is(hop)
            named = f"{outer}\0{known}\0{before[known]}"
            before[known] += 1
            keys[hop.id] = blake2b(named.encode("utf-8", "surrogatepass"), digest_size=SIZE).hexdigest()
            pending.append((keys[hop.id], hop.children))
    return keys


def _what_it_is(hop: HopFacts) -> str:
    """What a step is, less what only this trace knows: its places, its figures, how well it is known."""
    name = hop.name
    if hop.kind == "native" and hop.native is not None and hop.native.mangled:
        # Overloads share the name that is shown, and functions in anonymous namespaces of several files share both.
        name = f"{hop.native.mangled}\0{hop.native.unit}"
    return "\0".join((hop.phase, hop.kind, name, hop.op or "", hop.key or ""))
