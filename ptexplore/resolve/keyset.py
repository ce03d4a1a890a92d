"""DispatchKeySet arithmetic on raw 64-bit sets, with the running torch's own bit layout.

Source of the knowledge: c10/core/DispatchKeySet.h. The low bits are backend bits, the bits above them
functionality bits; a per-backend functionality (Dense, AutogradFunctionality, …) makes one runtime key
per backend bit. Nothing about the layout is fixed here: it is read off the raw value of every key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ptexplore.model.operators import DispatchKey

MASK = (1 << 64) - 1
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
        backends = {raw & self._backend_mask: name for name, raw in self._dense()}
        for (functionality, backend), name in list(self._pairs.items()):
            if backend in backends and name.endswith(backends[backend]):
                prefix = name.removesuffix(backends[backend])
                for bit, other in backends.items():
                    self._pairs.setdefault((functionality, bit), prefix + other)

    @cached_property
    def _per_backend(self) -> frozenset[int]:
        return frozenset(functionality for functionality, _ in self._pairs)

    def _dense(self) -> list[tuple[str, int]]:
        """The dense backend keys, whose names are the backends' own."""
        dense = self.functionality("CPU")
        return [(name, dense | backend) for (bit, backend), name in self._pairs.items() if bit == dense]

    @property
    def _backend_mask(self) -> int:
        return (1 << self.backends) - 1

    def functionality(self, name: str) -> int:
        """The functionality bit of a runtime key, without its backend bit; 0 for an unknown key."""
        key = self.keys.get(name)
        return key.raw & ~self._backend_mask if key else 0

    def raw(self, names: Iterable[str]) -> int:
        """The union of the named keys' bits."""
        total = 0
        for name in names:
            if name in self.keys:
                total |= self.keys[name].raw
        return total

    def names(self, raw: int) -> list[str]:
        """Every runtime key in the set, highest priority first.

        Like C++'s iterator, a per-backend functionality bit pairs with each backend bit that is set.
        """
        found: list[str] = []
        backends = [1 << bit for bit in reversed(range(self.backends)) if raw >> bit & 1]
        for bit in reversed(range(self.backends, 64)):
            functionality = 1 << bit
            if not raw & functionality:
                continue
            paired = [self._pairs[functionality, b] for b in backends if (functionality, b) in self._pairs]
            if paired:
                found += paired
            elif functionality in self._single and not self._is_per_backend(functionality):
                found.append(self._single[functionality])
        return found

    def _is_per_backend(self, functionality: int) -> bool:
        return functionality in self._per_backend

    def highest(self, raw: int) -> str | None:
        """`DispatchKeySet::highestPriorityTypeId`: the key the table is asked for; None for "Undefined"."""
        functionality = raw & ~self._backend_mask
        if not functionality:
            return None
        top = 1 << (functionality.bit_length() - 1)
        backend = raw & self._backend_mask
        if backend and self._is_per_backend(top):
            return self._pairs.get((top, 1 << (backend.bit_length() - 1)))
        return self._single.get(top)

    def without(self, raw: int, name: str) -> int:
        """The set without that key's functionality; backend bits stay, as other functionalities need them."""
        return raw & ~self.functionality(name) & MASK

    def after(self, name: str) -> int:
        """`DispatchKeySet(FULL_AFTER, key)`."""
        key = self.keys.get(name)
        return key.after if key else 0

    def show(self, raw: int) -> str:
        """The set as a reader sees it: key names, highest priority first."""
        return ", ".join(self.names(raw))

    def show_local(self, raw: int) -> str:
        """A thread-local set: with the functionalities (AutogradFunctionality) that hold for any backend."""
        names = self.names(raw)
        if not raw & self._backend_mask:
            bits = [1 << bit for bit in reversed(range(self.backends, 64)) if raw >> bit & 1]
            names = [self._single[b] for b in bits if b in self._single]
        return ", ".join(names)


def backend_of(key: str) -> str | None:
    """The backend that a runtime key's name ends with: "CPU" for "AutogradCPU"; None for a key of no backend."""
    return max((backend for backend in BACKENDS.values() if key.endswith(backend)), key=len, default=None)
