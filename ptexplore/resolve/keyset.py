"""DispatchKeySet arithmetic on raw 64-bit sets, with the running torch's own bit layout.

Source of the knowledge: c10/core/DispatchKeySet.h. The low bits are backend bits, the bits above them
functionality bits; a per-backend functionality (Dense, AutogradFunctionality, …) makes one runtime key
per backend bit. Nothing about the layout is fixed here: it is read off the raw value of every key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_, or_

from ptexplore.model.operators import DispatchKey

BACKENDS = {
    "cpu": "CPU", "cuda": "CUDA", "hip": "HIP", "xla": "XLA", "mps": "MPS", "xpu": "XPU", "hpu": "HPU",
    "meta": "Meta", "mtia": "MTIA", "privateuseone": "PrivateUse1", "lazy": "Lazy", "ipu": "IPU", "ve": "VE",
}  # fmt: skip


@dataclass(frozen=True)
class KeySets:
    """The key layout of one runtime. `keys` maps each runtime key's name to its raw bits and the set after it."""

    keys: Mapping[str, DispatchKey]
    backends: int  # how many low bits are backend bits
    _single: dict[int, str] = field(init=False, default_factory=dict)
    _pairs: dict[tuple[int, int], str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for name, key in self.keys.items():
            backend = key.raw & self._backend_mask
            functionality = key.raw & ~self._backend_mask
            if functionality.bit_count() != 1:
                continue
            if backend:
                self._pairs[functionality, backend] = name
            else:
                self._single.setdefault(functionality, name)
        self._complete()

    def _complete(self) -> None:
        """Name the pairs that torch's own parser does not know (AutogradHIP, …): prefix + backend, as in the enum."""
        dense = self.functionality("CPU")  # the dense keys' names are the backends' own
        backends = {backend: name for (bit, backend), name in self._pairs.items() if bit == dense}
        for (functionality, backend), name in list(self._pairs.items()):
            if backend in backends and name.endswith(backends[backend]):
                prefix = name.removesuffix(backends[backend])
                for bit, other in backends.items():
                    self._pairs.setdefault((functionality, bit), prefix + other)

    @cached_property
    def _per_backend(self) -> frozenset[int]:
        return frozenset(functionality for functionality, _ in self._pairs)

    @property
    def _backend_mask(self) -> int:
        return (1 << self.backends) - 1

    def functionality(self, name: str) -> int:
        """The functionality bit of a runtime key, without its backend bit; 0 for an unknown key."""
        return self.keys[name].raw & ~self._backend_mask if name in self.keys else 0

    def raw(self, names: Iterable[str]) -> int:
        """The union of the named keys' bits."""
        return union(self.keys[name].raw for name in names if name in self.keys)

    def names(self, raw: int) -> list[str]:
        """Every runtime key in the set, highest priority first; "bit 62" for a bit that is no key's of this torch.

        Like C++'s iterator, a per-backend functionality bit pairs with each backend bit that is set.
        """
        names: list[str] = []
        backends = [1 << bit for bit in reversed(range(self.backends)) if raw >> bit & 1]
        for functionality in self._functionalities(raw):
            if functionality in self._per_backend:
                names += [self._pairs[functionality, b] for b in backends if (functionality, b) in self._pairs]
            else:
                names.append(self._name(functionality))
        return names

    def _name(self, functionality: int) -> str:
        """A functionality's name, without a backend; its number where it has none."""
        return self._single.get(functionality) or f"bit {functionality.bit_length() - 1}"

    def _functionalities(self, raw: int) -> list[int]:
        """The functionality bits of a set, highest first."""
        return [1 << bit for bit in reversed(range(self.backends, 64)) if raw >> bit & 1]

    def highest(self, raw: int) -> str | None:
        """`DispatchKeySet::highestPriorityTypeId`: the key the table is asked for; None for "Undefined"."""
        functionality = raw & ~self._backend_mask
        if not functionality:
            return None
        top = 1 << (functionality.bit_length() - 1)
        backend = raw & self._backend_mask
        if backend and top in self._per_backend:
            return self._pairs.get((top, 1 << (backend.bit_length() - 1)))
        return self._name(top)

    def without(self, raw: int, name: str) -> int:
        """The set without that key's functionality; backend bits stay, as other functionalities need them."""
        return raw & ~self.functionality(name)

    def difference(self, raw: int, other: int) -> int:
        """The set without another's functionalities, as C++'s `operator-` of sets has it: backend bits stay."""
        return raw & (self._backend_mask | ~other)

    def after(self, name: str) -> int:
        """`DispatchKeySet(FULL_AFTER, key)`."""
        return self.keys[name].after if name in self.keys else 0

    def show(self, raw: int) -> str:
        """The set as a reader sees it: key names, highest priority first."""
        return ", ".join(self.names(raw))

    def show_local(self, raw: int) -> str:
        """A thread-local set: with the functionalities (AutogradFunctionality) that hold for any backend."""
        if raw & self._backend_mask:
            return self.show(raw)
        return ", ".join(map(self._name, self._functionalities(raw)))


def union(sets: Iterable[int]) -> int:
    """The union of raw sets."""
    return reduce(or_, sets, 0)


def intersection(sets: Sequence[int]) -> int:
    """What raw sets have in common; there must be one at least."""
    return reduce(and_, sets)


def backend_of(key: str) -> str | None:
    """The backend that a runtime key's name ends with: "CPU" for "AutogradCPU"; None for a key of no backend."""
    return max((backend for backend in BACKENDS.values() if key.endswith(backend)), key=len, default=None)
