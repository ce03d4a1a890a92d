"""The key sets of an operator's arguments: read before the user's call where the same tensor comes again, else derived.

Source of the rule for a fresh tensor: TensorImpl's constructor in c10/core/TensorImpl.cpp, which adds
ADInplaceOrView, the backend's autograd key and its autocast key to the backend's own key. Source of what is doubted:
_conj and _neg_view of aten/src/ATen/native/UnaryOps.cpp turn a key of an alias over, which views of that keep;
ZeroTensorFallback.cpp for the tensors of _efficientzerotensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.dispatch.schema import arguments as schema_arguments
from ptexplore.resolve.keyset import BACKENDS, KeySets
from ptexplore.resolve.observed import Event, RecordedInput, RecordedTensor

LAYOUTS = {"strided": "", "sparse_coo": "Sparse", "jagged": "NestedTensor"}
COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
MAKERS = {"aten::_conj": "Conjugate", "aten::_neg_view": "Negative", "aten::_efficientzerotensor": "ZeroTensor"}


@dataclass(frozen=True, slots=True)
class Arguments:
    """Key sets by argument name, whether every one was read from the very tensor, and the observations of that.

    `doubt` are the bits that some argument may carry besides, and nothing tells.
    """

    sets: Mapping[str, int]
    observed: bool
    why: tuple[str, ...]
    evidence: tuple[int, ...] = ()
    doubt: int = 0

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
    inputs: Mapping[
        int, Sequence[RecordedInput]
    ]  # position -> recorded inputs, of the pass whose addresses by_impl has
    position: Mapping[int, int]  # the base tree's event -> its operator's position in the sequence
    made: Mapping[str, int]  # a key that views keep -> from which position on a tensor nobody read may carry it

    @classmethod
    def of(cls, context: Context) -> KnownTensors:
        """Read the dispatch pass; where it ran other operators than the base tree, nothing is known."""
        ours = [event for event in context.base if event.is_operator]
        theirs = [event for event in context.events("dispatch") if event.is_operator]
        position = {event.event: number for number, event in enumerate(ours)}
        names = [event.name for event in ours]
        made = _made(context, names)
        if names != [event.name for event in theirs]:
            return cls(context.keys, {}, {}, position, made)
        starts = _starts(context.events("dispatch"))
        by_impl: dict[int, tuple[int, int, int]] = {}
        for call in context.calls:
            start = starts.get(call.call, len(theirs))
            for argument in call.arguments:
                if argument.impl is not None:
                    by_impl.setdefault(argument.impl, (argument.raw, start, call.observation))
        inputs = {number: event.inputs for number, event in enumerate(theirs)}
        return cls(context.keys, by_impl, inputs, position, made)

    def arguments(self, claim: Claim) -> Arguments:
        """The sets of one operator call's tensor arguments, by schema name."""
        event = claim.event or Event()
        position = self.position.get(event.event, -1)
        inputs = self.inputs.get(position, event.inputs)
        names = [a.name for a in schema_arguments(claim.hop.operator.schema if claim.hop.operator is not None else "")]
        sets: dict[str, int] = {}
        assumed: list[str] = []
        evidence: list[int] = []
        doubt = 0
        for name, tensor in _tensors(names, inputs):
            known, since, seen = self.by_impl.get(tensor.impl, (None, 0, 0))
            if known is None or since > position:
                assumed.append(name)
                known = self.fresh(tensor)
                doubt |= self._doubt(tensor, position)
            else:
                evidence.append(seen)
            sets[name] = sets.get(name, 0) | known
        why: tuple[str, ...] = ()
        if assumed:
            kinds = "the tensor was made during the call; a tensor of its device and layout carries these keys"
            why = (f"{', '.join(dict.fromkeys(assumed))}: {kinds}",)
        return Arguments(sets, not assumed, why, tuple(dict.fromkeys(evidence)), doubt)

    def _doubt(self, tensor: RecordedTensor, position: int) -> int:
        """The keys that a tensor which nobody read may have from one that it is a view of."""
        names = [key for key, since in self.made.items() if since < position]
        if not tensor.dtype.removeprefix("torch.").startswith("complex"):
            names = [key for key in names if key != "Conjugate"]
        return self.keys.raw(names)

    def fresh(self, tensor: RecordedTensor) -> int:
        """The keys that TensorImpl gives a tensor of this device, layout and dtype."""
        backend = BACKENDS.get(tensor.device.split(":")[0], "")
        layout = tensor.layout.removeprefix("torch.")
        prefix = "SparseCsr" if layout in COMPRESSED else LAYOUTS.get(layout, "")
        if tensor.dtype.removeprefix("torch.").startswith(("qint", "quint")):
            prefix = "Quantized"
        if layout == "_mkldnn":
            return self.keys.raw((f"Mkldnn{backend}", "ADInplaceOrView", "AutogradCPU"))
        names = [f"{prefix}{backend}", "ADInplaceOrView", f"Autograd{backend}", f"Autocast{backend}"]
        return self.keys.raw(names)


def _starts(events: Sequence[Event]) -> dict[int | None, int]:
    """Per call of the user's the position of the first operator that ran in it or after it began."""
    starts: dict[int | None, int] = {}
    position = 0
    for event in events:
        if event.type == "call":
            starts[event.call] = position
        elif event.is_operator:
            position += 1
    return starts


def _made(context: Context, ops: Sequence[str | None]) -> dict[str, int]:
    """By key of such views where the first operator is that makes one; -1 where a tensor of the user's has it."""
    first = {key: ops.index(maker) for maker, key in MAKERS.items() if maker in ops}
    for call in context.calls:
        for argument in call.arguments:
            raw = argument.raw if argument.impl is not None else 0
            first |= {key: -1 for key in MAKERS.values() if raw & context.keys.functionality(key)}
    return first


def _tensors(names: Sequence[str], inputs: Sequence[RecordedInput]) -> Iterator[tuple[str, RecordedTensor]]:
    for index, value in enumerate(inputs):
        name = names[index] if index < len(names) else str(index)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, RecordedTensor):
                yield name, item
