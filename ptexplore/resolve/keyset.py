"""Arithmetic on DispatchKeySets as raw 64-bit integers, with the bit layout of the running torch.

Source: c10/core/DispatchKeySet.h. The low bits are backend bits; the bits above them are functionality bits. A
functionality that exists per backend (Dense, AutogradFunctionality, …) makes one runtime key per backend bit. No layout
is fixed here: the code derives it from the raw value of every key.
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
    """The key layout of one torch. `keys` has the raw bits of each runtime key, and the set of the keys after it."""

    keys: Mapping[str, DispatchKey]
    backends: int  # the number of backend bits, which are the lowest bits
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
        """Name the keys that torch's own parser does not know (AutogradHIP, …): prefix and backend, as in the enum."""
        dense = self.functionality("CPU")  # a dense key has the name of its backend
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
        """Returns the functionality bit of a runtime key, without its backend bit; 0 for an unknown key."""
        return self.keys[name].raw & ~self._backend_mask if name in self.keys else 0

    def raw(self, names: Iterable[str]) -> int:
        """Returns the union of the bits of the named keys."""
        return union(self.keys[name].raw for name in names if name in self.keys)

    def names(self, raw: int) -> list[str]:
        """Returns all runtime keys in the set, highest priority first. A bit without a key in this torch is "bit 62".

        As in the C++ iterator, a per-backend functionality bit is combined with each backend bit in the set.
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
        """Returns the name of a functionality without a backend, or its bit number if it has no name."""
        return self._single.get(functionality) or f"bit {functionality.bit_length() - 1}"

    def _functionalities(self, raw: int) -> list[int]:
        """Returns the functionality bits of a set, highest first."""
        return [1 << bit for bit in reversed(range(self.backends, 64)) if raw >> bit & 1]

    def highest(self, raw: int) -> str | None:
        """Returns the key that the dispatcher looks up, as `DispatchKeySet::highestPriorityTypeId`.

        None stands for "Undefined".
        """
        functionality = raw & ~self._backend_mask
        if not functionality:
            return None
        top = 1 << (functionality.bit_length() - 1)
        backend = raw & self._backend_mask
        if backend and top in self._per_backend:
            return self._pairs.get((top, 1 << (backend.bit_length() - 1)))
        return self._name(top)

    def without(self, raw: int, name: str) -> int:
        """Returns the set without the key's functionality. Backend bits stay, since other functionalities need them."""
        return raw & ~self.functionality(name)

    def difference(self, raw: int, other: int) -> int:
        """Returns the set without the functionalities of another set. Backend bits stay, as in C++'s `operator-`."""
        return raw & (self._backend_mask | ~other)

    def after(self, name: str) -> int:
        """Returns the set `DispatchKeySet(FULL_AFTER, key)`."""
        return self.keys[name].after if name in self.keys else 0

    def show(self, raw: int) -> str:
        """Returns the set for display: key names, highest priority first."""
        return ", ".join(self.names(raw))

    def show_local(self, raw: int) -> str:
        """Returns a thread-local set for display.

        Such a set can have functionalities for all backends (AutogradFunctionality), without any backend bit.
        """
        if raw & self._backend_mask:
            return self.show(raw)
        return ", ".join(map(self._name, self._functionalities(raw)))


def union(sets: Iterable[int]) -> int:
    """Returns the union of raw sets."""
    return reduce(or_, sets, 0)


def intersection(sets: Sequence[int]) -> int:
    """Returns the intersection of raw sets. Needs at least one set."""
    return reduce(and_, sets)


def backend_of(key: str) -> str | None:
    """Returns the backend at the end of a runtime key's name: "CPU" for "AutogradCPU"; None if there is none."""
    return max((backend for backend in BACKENDS.values() if key.endswith(backend)), key=len, default=None)
