"""Stable keys of hops: by these keys, two traces of the same code can be aligned.

The id of a hop is its number in one trace, and changes with every hop that comes before it. A stable key is made from
three things: the hop's identity (its kind, operator, dispatch key, and the function by the name in the binary), the key
of the hop around it, and the number of equal hops that the same caller called before. So a key identifies one path of
callers, and what runs elsewhere does not change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.model.trace import Hop, HopFacts

SIZE = 8  # bytes: of 37 million traces with a million hops each, one has two hops with the same key by chance


def hop_keys(hops: Iterable[Hop]) -> Mapping[int, str]:
    """Returns the key of every hop in these trees by the hop's id: 16 hexadecimal digits."""
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
    """Returns the identity of a hop, without what only this trace knows: places, figures, precision."""
    name = hop.name
    if hop.kind == "native" and hop.native is not None and hop.native.mangled:
        # Overloads have the same shown name. Functions in anonymous namespaces of several files have the same mangled
        # name, too.
        name = f"{hop.native.mangled}\0{hop.native.unit}"
    return "\0".join((hop.phase, hop.kind, name, hop.op or "", hop.key or ""))
