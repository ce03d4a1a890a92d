"""Records of the kernels that operators have for a dispatch key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ptexplore.model.places import SourceRef, TreeInfo

# The kernel of an operator for a key:
# - own: registered for the key.
# - alias: registered for a group of keys (Autograd, NestedTensor).
# - yaml: named in native_functions.yaml, but not in this build.
# - explicit, implicit: the composite kernel of CompositeExplicitAutograd or CompositeImplicitAutograd.
# - fallback: the boxed fallback of the key.
# - fallthrough: nothing runs at this key.
# - none: a call raises.
Has = Literal["own", "alias", "yaml", "explicit", "implicit", "fallback", "fallthrough", "none"]
STATES: tuple[Has, ...] = get_args(Has)
Side = Literal["has", "missing"]


@dataclass(frozen=True, slots=True)
class OperatorAtKey:
    """One operator and its kernel for the key.

    `kernel` is the kernel's name, if it is known; `place` is the kernel, the fallback or the YAML entry. `elsewhere`
    are common keys for which the operator has a kernel of its own, in this build or in YAML.
    """

    name: str
    has: Has
    kernel: str = ""
    place: SourceRef | None = None
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyCoverage:
    """The kernels of all operators for one key. `rows` are the operators of one side; `total` counts them all."""

    key: str
    side: Side
    counts: Mapping[Has, int]
    rows: tuple[OperatorAtKey, ...]
    total: int
    trees: tuple[TreeInfo, ...] = ()

    @property
    def operators(self) -> int:
        """The number of operators of this torch."""
        return sum(self.counts.values())

    @property
    def fallbacks(self) -> tuple[SourceRef, ...]:
        """The places of the boxed fallbacks that rows have."""
        places = [row.place for row in self.rows if row.has == "fallback" and row.place is not None]
        return tuple(dict.fromkeys(places))

    @property
    def left_out(self) -> int:
        """The number of operators beyond the limit."""
        return self.total - len(self.rows)
