"""The key sets of an operator's arguments: read before the user's call where the same tensor comes again, else derived.

Source of the rule for a fresh tensor: TensorImpl's constructor in c10/core/TensorImpl.cpp, which adds
ADInplaceOrView, the backend's autograd key and its autocast key to the backend's own key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.schema import arguments as schema_arguments

BACKENDS = {
    "cpu": "CPU", "cuda": "CUDA", "hip": "HIP", "xla": "XLA", "mps": "MPS", "xpu": "XPU", "hpu": "HPU",
    "meta": "Meta", "mtia": "MTIA", "privateuseone": "PrivateUse1", "lazy": "Lazy", "ipu": "IPU", "ve": "VE",
}  # fmt: skip
LAYOUTS = {"strided": "", "sparse_coo": "Sparse", "jagged": "NestedTensor"}
COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


@dataclass(frozen=True, slots=True)
class Arguments:
    """Key sets by argument name, their union, and whether every one of them was read from the very tensor."""

    sets: Mapping[str, int]
    observed: bool
    why: tuple[str, ...]

    @property
    def raw(self) -> int:
        union = 0
        for bits in self.sets.values():
            union |= bits
        return union


@dataclass(frozen=True)
class KnownTensors:
    """Key sets that the dispatch pass read, by TensorImpl address, and its inputs by operator position."""

    keys: KeySets
    by_impl: Mapping[int, int] = field(default_factory=dict)
    inputs: Mapping[int, list[Any]] = field(default_factory=dict)
    position: Mapping[int, int] = field(default_factory=dict)  # base tree's event -> position in the sequence
    inference: bool = False

    @classmethod
    def of(cls, context: Context) -> KnownTensors:
        by_impl = {}
        for observation in context.observations("dispatch", "call"):
            for argument in observation.data["arguments"]:
                if argument.get("impl") and argument.get("raw") is not None:
                    by_impl[argument["impl"]] = argument["raw"]
        base = context.observations("frames", "event") or context.observations("ops", "event")
        position, inputs = {}, {}
        ours = [o for o in base if o.data["type"] in ("op", "node")]
        theirs = [o for o in context.observations("dispatch", "event") if o.data["type"] in ("op", "node")]
        same = [o.data["name"] for o in ours] == [o.data["name"] for o in theirs]
        for number, observation in enumerate(ours):
            position[observation.data["event"]] = number
            if same:
                inputs[number] = theirs[number].data.get("inputs") or []
        return cls(context.keys, by_impl, inputs, position)

    def arguments(self, claim: Claim) -> Arguments:
        """The sets of one operator call's tensor arguments, by schema name."""
        own = claim.event.get("inputs") or []
        seen = self.inputs.get(self.position.get(claim.event.get("event", -1), -1), own)
        names = [a.name for a in schema_arguments(str(claim.hop.detail.get("schema", "")))]
        sets: dict[str, int] = {}
        assumed: list[str] = []
        for name, meta in _tensors(names, seen or own):
            known = self.by_impl.get(meta.get("impl", 0))
            if known is None:
                assumed.append(name)
                known = self.fresh(meta)
            sets[name] = sets.get(name, 0) | known
        why: tuple[str, ...] = ()
        if assumed:
            kinds = "the tensor was made during the call; a tensor of its device and layout carries these keys"
            why = (f"{', '.join(dict.fromkeys(assumed))}: {kinds}",)
        return Arguments(sets, not assumed, why)

    def fresh(self, meta: Mapping[str, Any]) -> int:
        """The keys that TensorImpl gives a tensor of this device, layout and dtype."""
        backend = BACKENDS.get(str(meta.get("device", "cpu")).split(":")[0], "")
        layout = str(meta.get("layout", "strided")).removeprefix("torch.")
        prefix = "SparseCsr" if layout in COMPRESSED else LAYOUTS.get(layout, "")
        if str(meta.get("dtype", "")).removeprefix("torch.").startswith(("qint", "quint")):
            prefix = "Quantized"
        if layout == "_mkldnn":
            return self.keys.raw((f"Mkldnn{backend}", "ADInplaceOrView", "AutogradCPU"))
        names = [f"{prefix}{backend}", "ADInplaceOrView", f"Autograd{backend}", f"Autocast{backend}"]
        return self.keys.raw(names)


def _tensors(names: list[str], inputs: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, value in enumerate(inputs):
        name = names[index] if index < len(names) else str(index)
        if isinstance(value, dict):
            yield name, value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield name, item
