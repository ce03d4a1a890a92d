"""The key sets of an operator's arguments: read before the user's call where the same tensor comes again, else derived.

Source of the rule for a fresh tensor: TensorImpl's constructor in c10/core/TensorImpl.cpp, which adds
ADInplaceOrView, the backend's autograd key and its autocast key to the backend's own key. Source of the rule for a
conjugate view: _conj in aten/src/ATen/native/UnaryOps.cpp, whose result is an alias with the Conjugate key turned over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
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
    """Key sets by argument name, whether every one was read from the very tensor, and the observations of that."""

    sets: Mapping[str, int]
    observed: bool
    why: tuple[str, ...]
    evidence: tuple[int, ...] = ()

    @property
    def raw(self) -> int:
        union = 0
        for bits in self.sets.values():
            union |= bits
        return union


@dataclass(frozen=True)
class KnownTensors:
    """Key sets that the dispatch pass read, by TensorImpl address, and its inputs by operator position.

    An address counts from the call that recorded it: before, another tensor may have lain there; after, the
    recorder keeps the tensor alive.
    """

    keys: KeySets
    by_impl: Mapping[int, tuple[int, int, int]]  # address -> raw key set, first position it counts for, observation
    inputs: Mapping[int, list[Any]]  # position -> recorded inputs, of the pass whose addresses by_impl has
    position: Mapping[int, int]  # the base tree's event -> its operator's position in the sequence
    conjugate: Set[tuple[int, int]] = frozenset()  # (position, address): that operator is the first to get a conj view

    @classmethod
    def of(cls, context: Context) -> KnownTensors:
        """Read the dispatch pass; where it ran other operators than the base tree, nothing is known."""
        base = context.observations("frames", "event") or context.observations("ops", "event")
        ours = [o.data for o in base if o.data["type"] in ("op", "node")]
        events = [o.data for o in context.observations("dispatch", "event")]
        theirs = [e for e in events if e["type"] in ("op", "node")]
        position = {data["event"]: number for number, data in enumerate(ours)}
        if [e["name"] for e in ours] != [e["name"] for e in theirs]:
            return cls(context.keys, {}, {}, position)
        starts = _starts(events)
        by_impl: dict[int, tuple[int, int, int]] = {}
        for observation in context.observations("dispatch", "call"):
            start = starts.get(observation.data["call"], len(theirs))
            for argument in observation.data["arguments"]:
                if argument["impl"] is not None:
                    by_impl.setdefault(argument["impl"], (argument["raw"], start, observation.id))
        inputs = {number: e.get("inputs") or [] for number, e in enumerate(theirs)}
        bit = context.keys.raw(("Conjugate",))
        conjugate = {impl for impl, (raw, _, _) in by_impl.items() if raw & bit}
        return cls(context.keys, by_impl, inputs, position, _conjugate(theirs, conjugate))

    def arguments(self, claim: Claim) -> Arguments:
        """The sets of one operator call's tensor arguments, by schema name."""
        position = self.position.get(claim.event.get("event", -1), -1)
        inputs = self.inputs.get(position, claim.event.get("inputs") or [])
        names = [a.name for a in schema_arguments(str(claim.hop.detail.get("schema", "")))]
        sets: dict[str, int] = {}
        assumed: list[str] = []
        evidence: list[int] = []
        for name, meta in _tensors(names, inputs):
            known, since, seen = self.by_impl.get(meta.get("impl", 0), (None, 0, 0))
            if known is None or since > position:
                assumed.append(name)
                known = self.fresh(meta)
                if (position, meta.get("impl")) in self.conjugate:
                    known |= self.keys.raw(("Conjugate",))
            else:
                evidence.append(seen)
            sets[name] = sets.get(name, 0) | known
        why: tuple[str, ...] = ()
        if assumed:
            kinds = "the tensor was made during the call; a tensor of its device and layout carries these keys"
            why = (f"{', '.join(dict.fromkeys(assumed))}: {kinds}",)
        return Arguments(sets, not assumed, why, tuple(dict.fromkeys(evidence)))

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


def _starts(events: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Per call of the user's the position of the first operator that ran in it or after it began."""
    starts, position = {}, 0
    for event in events:
        if event["type"] == "call":
            starts[event["call"]] = position
        elif event["type"] in ("op", "node"):
            position += 1
    return starts


def _conjugate(events: Sequence[Mapping[str, Any]], read: Set[int]) -> frozenset[tuple[int, int]]:
    """Where a tensor that nothing has met before comes right after aten::_conj, of the size and type which that got.

    Only there: later another tensor may lie at its address. `read` are those whose key sets say that they are conjugate
    views, of which aten::_conj makes plain ones.
    """
    met, before, found = set[int](), dict[Any, int](), set[tuple[int, int]]()
    for position, event in enumerate(events):
        given = [meta for _, meta in _tensors([], event.get("inputs") or [])]
        last = before.get(event["parent"], -1)
        if last >= 0 and events[last]["name"] == "aten::_conj":
            turned = [meta for _, meta in _tensors([], events[last].get("inputs") or [])]
            plain = [meta for meta in turned if meta["impl"] not in read and (last, meta["impl"]) not in found]
            alike = [(meta["dtype"], meta["sizes"]) for meta in plain]
            new = [meta for meta in given if meta["impl"] not in met and (meta["dtype"], meta["sizes"]) in alike]
            found |= {(position, meta["impl"]) for meta in new}
        before[event["parent"]] = position
        met |= {meta["impl"] for meta in given}
    return frozenset(found)


def _tensors(names: list[str], inputs: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, value in enumerate(inputs):
        name = names[index] if index < len(names) else str(index)
        if isinstance(value, dict):
            yield name, value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield name, item
