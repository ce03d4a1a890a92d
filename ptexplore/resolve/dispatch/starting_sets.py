"""The key sets at the start of a call: those of its arguments, and the thread-local include and exclude sets.

Arguments: a set is read before your call if the same tensor appears again; otherwise it is derived. The rule for a
fresh tensor is in TensorImpl's constructor in c10/core/TensorImpl.cpp: it adds ADInplaceOrView, the backend's autograd
key and its autocast key to the backend's own key.

A derived set may be incomplete. Sources for these doubts: _conj and _neg_view of aten/src/ATen/native/UnaryOps.cpp flip
the key of an alias, which views of the result keep; ZeroTensorFallback.cpp for the tensors of _efficientzerotensor;
c10/core/InferenceMode.h and the same constructor for tensors made in inference mode; UndefinedTensorImpl of c10/core
for what a kernel passes on instead of a missing optional tensor; MultiDispatchKeySet of
aten/src/ATen/core/dispatch/DispatchKeyExtractor.h for the key of a Generator.

Thread-local sets: they are read at calls from Python, then changed by guards. Sources:
aten/src/ATen/core/LegacyTypeDispatch.h for the guards; the generated bindings and
torch/csrc/autograd/generated/variable_factories.h for factories, which hold a guard around the operator call;
torch/csrc/utils/tensor_new.cpp for tensors from Python values (internal_new_from_data: to(), then lift_fresh());
torch/csrc/autograd/python_variable_indexing.cpp for a number that is assigned (valueToTensor: lift_fresh()).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, zip_longest

from ptexplore.facts.key_sets import (
    ASSIGNED,
    AUTOCAST,
    AUTOGRAD,
    BELOW,
    DISPATCHING,
    EAGER,
    EMPTY,
    FACTORIES,
    FROM_VALUES,
    GUARDS,
    HAND_WRITTEN,
    LAYERS,
    LIFTED,
    MAKERS,
    NAMED,
    PARAMETER,
    PLAIN,
    PUT_AWAY,
    PUTS_AWAY,
    PYTHON,
    SUBCLASS,
    SUBCLASS_MAKERS,
    TO_TENSOR,
    TRACED,
    TRACER,
    UNTRACED,
    VALUES,
)
from ptexplore.model.observed import Event, operators
from ptexplore.model.program import LocalSets
from ptexplore.model.reasons import (
    ArgumentSets,
    AroundFrame,
    AsItsBaseMay,
    AsPythonLeftThem,
    ChangedByHandWritten,
    DefaultsAssumed,
    FramesEnd,
    FreshTensor,
    InExtension,
    InFactory,
    InHandWrittenBinding,
    InMaker,
    InMakerAtLift,
    InMakerOfPlain,
    KeptByVjp,
    LeftByGuards,
    MakingSubclass,
    MayBeGenerator,
    MayBeOfDispatchingClass,
    MayBeWrapped,
    MayCarry,
    MayHoldGuard,
    MayHoldNoNamesGuard,
    NamesAreInherited,
    NamesMayBeOff,
    NotInInferenceMode,
    NotRead,
    NotReadTensor,
    ReadByName,
    Reason,
    SetByTransform,
    SetsDiffer,
    TensorsNotListed,
    Together,
    UndefinedTensor,
    WhileTracing,
    within,
)
from ptexplore.model.recorders import DISPATCH
from ptexplore.model.tensors import RecordedInput, RecordedTensor, TensorLayer, Transform
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.dispatch import schema
from ptexplore.resolve.keyset import BACKENDS, KeySets, intersection, union

LAYOUTS = {"strided": "", "sparse_coo": "Sparse", "jagged": "NestedTensor"}
COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
_MAKERS = {row.operator: row.key for row in MAKERS}
_CHANGING = frozenset(row.key for row in HAND_WRITTEN)
_SUBCLASSES = frozenset(row.method for row in SUBCLASS_MAKERS if not row.dispatches)
_WRAPPERS = frozenset(row.method for row in SUBCLASS_MAKERS if row.dispatches)


@dataclass(frozen=True, slots=True)
class Arguments:
    """Key sets by argument name, whether each set was read from the tensor, and the observations behind them.

    `assumed` are the arguments that were not read: their sets follow from device and layout, as for a new tensor.
    `doubt` has further bits that some of them may have; it is not known whether they do. `doubtful` has the reason, by
    argument. `unread` are the arguments without a known set, `unrecorded` those that the profiler does not record.
    `layers` has, by argument, what was read about a tensor and the tensors that it wraps.
    """

    sets: Mapping[str, int]
    observed: bool
    why: tuple[Reason, ...]
    evidence: tuple[int, ...] = ()
    doubt: int = 0
    assumed: tuple[str, ...] = ()
    doubtful: Mapping[str, Reason] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()
    layers: Mapping[str, tuple[TensorLayer, ...]] = field(default_factory=dict)

    @property
    def raw(self) -> int:
        """The union of the sets."""
        return union(self.sets.values())


@dataclass(frozen=True, slots=True)
class Layered:
    """A reading of a tensor: the operator position at that moment, the observation, and the tensors that it wraps."""

    since: int
    observation: int
    layers: tuple[TensorLayer, ...]


@dataclass(frozen=True, slots=True)
class Owner:
    """The tensor whose method Python called: its address, and its key set as read before the call."""

    impl: int
    raw: int
    observation: int


@dataclass(frozen=True, slots=True)
class ReadSet:
    """The key set of a tensor as a recorder read it, the observation, and the tensors that it wraps."""

    raw: int
    observation: int
    layers: tuple[TensorLayer, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """Further bits that an argument may have, and why it is not known whether it does."""

    keys: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The operators around an event. Their arguments stay alive meanwhile."""

    since: int  # the position of the outermost operator
    held: frozenset[int]  # addresses of the tensors given to them, and to functions inside them


@dataclass(frozen=True)
class KnownTensors:
    """Key sets that the dispatch pass read, by TensorImpl address, and its inputs by operator position.

    An address is valid from the call that recorded it: before, it may have belonged to another tensor; from then on,
    the recorder keeps the tensor alive.
    """

    keys: KeySets
    by_impl: Mapping[int, tuple[int, int, int]]  # address -> raw key set, first position where it is valid, observation
    inputs: Sequence[Sequence[RecordedInput]]  # by position, of the pass that by_impl's addresses are from
    position: Mapping[int, int]  # the base tree's event -> its operator's position in the sequence
    made: Mapping[str, int]  # by key that views inherit: from this position on, an unread tensor may have it
    layered: Mapping[int, Sequence[Layered]]  # of the base tree, by address, in order
    inside: Mapping[int, Surroundings]  # for events of the base tree inside operators
    generators: bool = False  # whether an operator may have been given a Generator
    inference: int | None = None  # from this position on, a tensor may have been made in inference mode
    owners: Mapping[int, Sequence[Owner]] = field(default_factory=dict)  # by event of the base tree, innermost first
    held_around: Mapping[int, frozenset[int]] = field(default_factory=dict)  # by event: tensors of the events around it
    nothing_read: bool = False  # whether no tensor was read
    kept: frozenset[int] = frozenset()  # the positions of operators that run over a graph kept by torch.func.vjp
    mapped: bool = False  # whether a vmap was on anywhere: tensors in such a graph may also be batched

    @classmethod
    def of(cls, context: Context) -> KnownTensors:
        """Returns the tensors that the dispatch pass read. None are known if it ran other operators than the base."""
        position = {event.event: number for number, event in enumerate(operators(context.base))}
        by_impl: dict[int, tuple[int, int, int]] = {}
        dispatched = context.dispatched or ()
        starts = _starts(context.events(DISPATCH))
        for held in context.held if context.dispatched is not None else ():
            by_impl |= {tensor.impl: (tensor.raw, 0, held.observation) for tensor in held.tensors}
        for call in context.calls if context.dispatched is not None else ():
            start = starts.get(call.call, len(dispatched))
            for argument in call.arguments:
                if argument.impl is not None:
                    by_impl.setdefault(argument.impl, (argument.raw, start, call.observation))
        inputs = [event.inputs for event in dispatched]
        made, layered = _made(context), _layered(context.base)
        inside = _inside(context.base) if layered else {}
        generators, program = context.may_give_generators, context.session.program
        inference, owners = _inference_since(context), _owners(context.base)
        kept = frozenset(position[event] for event in _over_kept_graph(context.base) if event in position)
        nothing = program is not None
        mapped = any(transform.kind == "Vmap" for event in context.base for transform in event.transforms)
        return cls(
            context.keys, by_impl, inputs, position, made, layered, inside, generators, inference, owners,
            _held_around(context.base), nothing, kept, mapped,
        )  # fmt: skip

    def arguments(
        self, claim: Claim, *, transformed: bool = False, inference: bool = False, by_python: bool = True
    ) -> Arguments:
        """Returns the sets of the tensor arguments of one operator call, by their names in the schema.

        A tensor that was not read counts as a tensor without a wrapper. If a function transform is on (`transformed`),
        it may be a wrapper, and its set is not known. In `inference` mode, or if some tensor was made in that mode, a
        tensor may lack the autograd keys. A missing optional tensor is None if Python makes the call (`by_python`); a
        kernel may pass on an undefined tensor instead.
        """
        position = self.position.get(claim.event.event, -1)
        named, inputs, base = self._inputs(claim, position)
        names = [argument.name for argument in named]
        sets: dict[str, int] = {}
        assumed: list[str] = []
        unread: list[str] = []
        layers: dict[str, tuple[TensorLayer, ...]] = {}
        evidence: list[int] = []
        read = _read_of_calls(names, claim)
        doubt = union(union(raws) & ~intersection(raws) for raws in read.values())
        doubtful: dict[str, Reason] = {name: SetsDiffer() for name, raws in read.items() if len(raws) > 1}
        inference = inference or (self.inference is not None and self.inference <= position)
        for (name, tensor), (_name, of_base) in zip_longest(
            _tensors(names, inputs), _tensors(names, base), fillvalue=("", RecordedTensor())
        ):
            tells = self._read(tensor.impl, of_base, claim.event.event, position)
            if tells is not None and tells.layers:
                layers[name] = tells.layers
            if name in read:
                tells = ReadSet(intersection(read[name]), claim.event.observation)
            if tells is not None:
                known = tells.raw
                evidence.append(tells.observation)
            elif transformed:
                unread.append(name)
                continue
            else:
                assumed.append(name)
                known, may_carry, reason = self._assumed(tensor, position, inference)
                doubt |= may_carry
                doubtful |= {name: reason} if reason is not None else {}
            sets[name] = sets.get(name, 0) | known
        unrecorded = self._doubt_unrecorded(named, inputs, position, by_python=by_python)
        if transformed:
            unread += [name for name, why in unrecorded.items() if why.reason == TensorsNotListed()]
            unrecorded = {name: why for name, why in unrecorded.items() if why.reason != TensorsNotListed()}
        doubt |= union(why.keys for why in unrecorded.values())
        doubtful |= {name: why.reason for name, why in unrecorded.items()}
        certain = [name for name in dict.fromkeys(assumed) if name not in doubtful]
        because: tuple[tuple[Iterable[str], Reason], ...] = (
            (certain, NotReadTensor() if self.nothing_read else FreshTensor()),
            (read, ReadByName()),
            (dict.fromkeys(unread), NotRead(MayBeWrapped())),
        )
        why = tuple(ArgumentSets(tuple(of), reason) for of, reason in because if of)
        return Arguments(
            sets,
            not assumed,
            why,
            tuple(dict.fromkeys(evidence)),
            doubt,
            assumed=tuple(certain),
            doubtful=doubtful,
            unread=tuple(dict.fromkeys(unread)),
            unrecorded=schema.unrecorded(named, inputs),
            layers=layers,
        )

    def _doubt_unrecorded(
        self,
        named: Sequence[schema.Argument],
        inputs: Sequence[RecordedInput],
        position: int,
        *,
        by_python: bool,
    ) -> dict[str, Doubt]:
        """Returns the arguments that the profiler does not record, with the keys that they may have."""
        unrecorded = (
            {} if by_python else dict.fromkeys(schema.missing(named, inputs), Doubt(self._undefined, UndefinedTensor()))
        )
        for name in schema.optional_lists(named, inputs):
            plain = self.fresh(_of_device(inputs)) | self._doubt(RecordedTensor(), position) & self._python
            unrecorded[name] = Doubt(self._undefined | plain, TensorsNotListed())
        for name in schema.generators(named, inputs) if self.generators else ():
            unrecorded[name] = Doubt(self.keys.raw(("CPU",)), MayBeGenerator())
        return unrecorded

    def _read(self, impl: int, of_base: RecordedTensor, event: int, position: int) -> ReadSet | None:
        """Returns the set of a tensor in a call, if a recorder read it. The latest reading in the base tree counts.

        `impl` is its address in the pass whose addresses `by_impl` has. A tensor whose class dispatches in Python often
        lives only shortly, and a plain tensor may follow at its address. So a reading of such a tensor counts only if
        something keeps the tensor alive.
        """
        owner = next((owner for owner in self.owners.get(event, ()) if owner.impl == of_base.impl), None)
        last = self._last_reading(of_base.impl, event, position)
        is_latest = last is not None and (owner is None or last.observation >= owner.observation)
        raw, since, seen = self.by_impl.get(impl, (None, 0, 0))
        raw = raw if since <= position else None
        if last is not None and is_latest and self._may_be(last.layers[0].raw, of_base):
            read = last.layers[0].raw
            if read == raw or not read & self._python or of_base.impl in self.held_around.get(event, ()):
                return ReadSet(read, last.observation, last.layers)
        if raw is not None:
            return ReadSet(raw, seen)
        return ReadSet(owner.raw, owner.observation) if owner is not None else None

    def _last_reading(self, impl: int, event: int, position: int) -> Layered | None:
        """Returns the last reading at an address before an operator.

        An earlier reading may be of another tensor at the same address. So a reading counts only if no outer operator
        began after it, or if the outer operator took the tensor as an argument: an operator can free one tensor and
        make another one at its address.
        """
        readings = self.layered.get(impl, ())
        before = bisect_right(readings, position, key=lambda reading: reading.since)
        last = readings[before - 1] if before else None
        around = self.inside.get(event)
        if last is None or around is None or last.since >= around.since or impl in around.held:
            return last
        return None

    def _may_be(self, raw: int, tensor: RecordedTensor) -> bool:
        """Whether a set that was read at an address can belong to the present tensor there, by its device's key.

        A tensor that was read and that nothing kept alive may be gone, with another tensor at its address.
        """
        backend = self.keys.keys.get(BACKENDS.get(tensor.device.split(":")[0], ""))
        low = (1 << self.keys.backends) - 1
        return backend is None or not raw & low or bool(raw & low & backend.raw)

    def _inputs(
        self, claim: Claim, position: int
    ) -> tuple[tuple[schema.Argument, ...], Sequence[RecordedInput], Sequence[RecordedInput]]:
        """Returns the arguments in an operator call's schema, and its inputs in the dispatch pass and the base."""
        base: Sequence[RecordedInput] = claim.event.inputs
        inputs = self.inputs[position] if 0 <= position < len(self.inputs) else base
        if claim.hop.operator is None:
            return (), inputs, base
        text = claim.hop.operator.schema
        return schema.arguments(text), schema.own_inputs(text, inputs), schema.own_inputs(text, base)

    @cached_property
    def _autograd(self) -> int:
        """The bits that a tensor made in inference mode does not have."""
        return union(self.keys.functionality(name) for name in (*AUTOGRAD, "ADInplaceOrView"))

    def _assumed(self, tensor: RecordedTensor, position: int, inference: bool) -> tuple[int, int, Reason | None]:
        """Returns for a tensor that was not read: the certain bits, the possible bits, and the reason for these."""
        known, doubt = self.fresh(tensor), self._doubt(tensor, position)
        of: Reason = MayBeOfDispatchingClass() if doubt & self._python else AsItsBaseMay()
        of = KeptByVjp() if doubt & self._wrapper else of
        of = NamesAreInherited() if doubt == self.keys.functionality(NAMED) else of
        why = MayCarry(tuple(self.keys.names(doubt)), of) if doubt else None
        left = known & ~self._autograd
        if not inference or left == known:
            return known, doubt, why
        lacking = [key for key in self.keys.names(known) if key not in self.keys.names(left)]
        return left, doubt | known, _together(why, NotInInferenceMode(tuple(lacking)))

    @cached_property
    def _python(self) -> int:
        """The bits of a tensor whose class dispatches in Python."""
        return self.keys.raw(PYTHON)

    @cached_property
    def _wrapper(self) -> int:
        """The bits of a tensor that torch.func.grad or vjp wraps; if a vmap was on, also those of its wrapper."""
        wrappers = ("FuncTorchGradWrapper", *(("FuncTorchBatched",) if self.mapped else ()))
        return union(map(self.keys.functionality, wrappers))

    @cached_property
    def _undefined(self) -> int:
        """The bits of an undefined tensor: its constructor adds the keys without a backend."""
        return self.keys.raw(("AutogradOther", "ADInplaceOrView"))

    def _doubt(self, tensor: RecordedTensor, position: int) -> int:
        """Returns the keys that a tensor may have from the tensor that it is a view of."""
        is_complex = tensor.dtype.removeprefix("torch.").startswith("complex")
        doubt = self.keys.raw(
            key for key, since in self.made.items() if since < position and (is_complex or key != "Conjugate")
        )
        return doubt | self._wrapper if position in self.kept else doubt

    def fresh(self, tensor: RecordedTensor) -> int:
        """Returns the keys that TensorImpl gives to a tensor of this device, layout and dtype."""
        backend = BACKENDS.get(tensor.device.split(":")[0], "")
        layout = tensor.layout.removeprefix("torch.")
        prefix = "SparseCsr" if layout in COMPRESSED else LAYOUTS.get(layout, "")
        if tensor.dtype.removeprefix("torch.").startswith(("qint", "quint")):
            prefix = "Quantized"
        if layout == "_mkldnn":
            return self.keys.raw((f"Mkldnn{backend}", "ADInplaceOrView", "AutogradOther"))
        return self.keys.raw((f"{prefix}{backend}", "ADInplaceOrView", f"Autograd{backend}", f"Autocast{backend}"))


def _read_of_program(base: Sequence[Event]) -> frozenset[int]:
    """Returns all key sets that were read before calls of a program."""
    return frozenset(raw for event in base for raws in event.read for raw in raws)


def _read_of_calls(names: Sequence[str], claim: Claim) -> dict[str, tuple[int, ...]]:
    """Returns the key sets that were read before calls of a program, by argument name in the schema."""
    text = claim.hop.operator.schema if claim.hop.operator is not None else ""
    return {name: raws for name, raws in zip(names, schema.own_inputs(text, claim.event.read), strict=False) if raws}


def _layered(base: Sequence[Event]) -> dict[int, list[Layered]]:
    """Returns the readings while a transform was on or Python dispatched, by address, with their operator positions."""
    layered: dict[int, list[Layered]] = {}
    position = 0
    for event in base:
        for layers in event.tensors:
            for number, layer in enumerate(layers):
                readings = layered.setdefault(layer.impl, [])
                if not readings or readings[-1].layers != layers[number:]:
                    readings.append(Layered(position, event.observation, layers[number:]))
        position += event.is_operator
    return layered


def _inside(base: Sequence[Event]) -> dict[int, Surroundings]:
    """Returns the operators around each event inside an operator, with the tensors that they were given."""
    inside: dict[int, Surroundings] = {}
    begun: dict[int, Surroundings] = {}  # by event: the surroundings of what it calls
    position = 0
    for event in base:
        around = begun.get(event.parent) if event.parent is not None else None
        if around is not None:
            inside[event.event] = begun[event.event] = around
        given = {tensor.impl for _, tensor in _tensors((), event.inputs)} if event.type == "op" else set()
        given |= {layer.impl for layers in event.tensors for layer in layers} if around is not None else set()
        if event.type == "op" or (around is not None and given):
            since, held = (around.since, around.held) if around is not None else (position, frozenset[int]())
            begun[event.event] = Surroundings(since, held | given)
        position += event.is_operator
    return inside


def _owners(base: Sequence[Event]) -> dict[int, tuple[Owner, ...]]:
    """Returns the tensors whose methods are running at each event, innermost first. A call keeps its tensor alive."""
    owners: dict[int, tuple[Owner, ...]] = {}
    for event in base:
        around = owners.get(event.parent, ()) if event.parent is not None else ()
        read = event.owner
        mine = (Owner(read.impl, read.raw, event.observation),) if read is not None else ()
        owners[event.event] = (*mine, *around)
    return owners


def _held_around(base: Sequence[Event]) -> dict[int, frozenset[int]]:
    """Returns the addresses of the tensors read at the events around each event. A call keeps them until it ends."""
    held: dict[int, frozenset[int]] = {}
    for event in base:
        around = held.get(event.parent) if event.parent is not None else None
        read = frozenset(layer.impl for layers in event.tensors for layer in layers)
        if around is not None or read:
            held[event.event] = (around | read if read else around) if around is not None else read
    return held


def _inference_since(context: Context) -> int | None:
    """Returns the position of the first operator that may be given a tensor made in inference mode, or None.

    Only such a tensor lacks ADInplaceOrView, and only in that mode does the thread-local include set lack it.
    """
    bit = context.keys.functionality("ADInplaceOrView")
    read = [argument.raw for call in context.calls for argument in call.arguments]
    read += [tensor.raw for held in context.held for tensor in held.tensors]
    read += [call.tls_include.raw for call in context.calls]
    read += [sets.include for sets in _sets(context)]  # the order of a program's calls is not recorded here
    if any(not raw & bit for raw in (*read, *_read_of_program(context.base))):
        return -1
    position = 0
    for event in context.base:
        if event.tls_include is not None and not event.tls_include & bit:
            return position
        position += event.is_operator
    return None


def _over_kept_graph(base: Sequence[Event]) -> set[int]:
    """Returns the events inside the function with which torch.func differentiates.

    vjp calls it after its level has ended: the thread-local sets are plain then, but the tensors of the graph are
    wrapped.
    """
    inside: set[int] = set()
    for event in base:
        is_it = event.function == "_autograd_grad" and (event.file or "").endswith(EAGER.file)
        if is_it or event.parent in inside:
            inside.add(event.event)
    return inside


def _sets(context: Context) -> tuple[LocalSets, ...]:
    """Returns the thread-local sets of a recorded program."""
    return context.session.program.sets if context.session.program is not None else ()


def _starts(events: Sequence[Event]) -> dict[int | None, int]:
    """Returns for each of your calls the position of the first operator after its beginning."""
    starts: dict[int | None, int] = {}
    position = 0
    for event in events:
        if event.type == "call":
            starts[event.call] = position
        position += event.is_operator
    return starts


def _made(context: Context) -> dict[str, int]:
    """Returns by key the position of the first operator that makes a tensor with it; -1 if your tensors have it."""
    names = [event.name for event in operators(context.base)]
    first = {key: names.index(maker) for maker, key in _MAKERS.items() if maker in names}
    for call in context.calls:
        for argument in call.arguments:
            if argument.impl is not None:
                first |= {key: -1 for key in _MAKERS.values() if argument.raw & context.keys.functionality(key)}
    for raw in {tensor.raw for held in context.held for tensor in held.tensors}:
        first |= {key: -1 for key in _MAKERS.values() if raw & context.keys.functionality(key)}
    for raw in _read_of_program(context.base):
        first |= {key: -1 for key in _MAKERS.values() if raw & context.keys.functionality(key)}
    program = context.session.program
    if program is not None:  # the order of its calls is not recorded here
        first = dict.fromkeys(first, -1)
        first |= {"Conjugate": -1} if program.is_block else {}  # a complex tensor may be a view from before the block
        first |= {"ZeroTensor": -1} if program.forward_level is not None else {}
    first |= {NAMED: -1} if context.may_have_names else {}
    dispatched = _dispatched_in_python(context)
    return first | dict.fromkeys(PYTHON, dispatched) if dispatched is not None else first


def _dispatched_in_python(context: Context) -> int | None:
    """Returns the position before the first operator that may get a tensor whose class dispatches in Python.

    Such a tensor was made by your class or was read. If Python first dispatches inside an operator, this operator was
    given one. Returns None if Python never dispatches, and no tensor was made that needs it.
    """
    python = context.keys.functionality(PYTHON[0])
    program = context.session.program
    paths = program.paths if program is not None else ()
    if any(path.name.endswith("__torch_dispatch__") for path in paths):
        return -1
    if any(sets.include & python for sets in _sets(context)):
        return -1
    position, made = 0, None  # made: the position of a subclass that may dispatch
    within: dict[int, tuple[int | None, Event]] = {}  # by event: the outermost operator's position
    for event in context.base:
        outermost, caller = within.get(event.parent, (None, None)) if event.parent is not None else (None, None)
        made = position if made is None and _makes_subclass(event, caller) else made
        if event.function == "__torch_dispatch__" or event.name in DISPATCHING or (event.tls_include or 0) & python:
            return min(position if place is None else place for place in (outermost, made)) - 1
        read = [layer.raw for layers in event.tensors for layer in layers]
        read += [event.owner.raw] if event.owner is not None else []
        is_wrapper = event.type == "builtin" and event.method in _WRAPPERS
        if is_wrapper or any(raw & python for raw in read):
            return (position if made is None else made) - 1
        if outermost is None and event.is_operator:
            outermost = position
        within[event.event] = outermost, event
        position += event.is_operator
    return None


def _makes_subclass(event: Event, caller: Event | None) -> bool:
    """Whether a builtin makes a tensor of a given class that may dispatch in Python. nn.Parameter does not."""
    is_parameter = caller is not None and (caller.file or "").endswith(PARAMETER.file)
    return event.type == "builtin" and event.method in _SUBCLASSES and not is_parameter


def _tensors(names: Sequence[str], inputs: Sequence[RecordedInput]) -> Iterator[tuple[str, RecordedTensor]]:
    for index, value in enumerate(inputs):
        name = names[index] if index < len(names) else str(index)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, RecordedTensor):
                yield name, item


def _of_device(inputs: Sequence[RecordedInput]) -> RecordedTensor:
    """Returns a strided tensor on the device of the first tensor in these inputs."""
    device = next((value.device for value in inputs if isinstance(value, RecordedTensor)), RecordedTensor().device)
    return RecordedTensor(device=device)


# --- the thread-local sets ---


# In a binding: the comment with the operator of a branch, and the call of a factory.
_BRANCH = re.compile(r"// (aten::[\w.]+)\(|\breturn torch::(\w+)\(")


@dataclass(frozen=True, slots=True)
class LocalState:
    """Thread-local include and exclude sets (raw), whether they were read or follow from guards, and the reason.

    `certain` is False if code without known text may have changed them. `known` is False if two states are possible:
    then nothing can be said about calls made with them. `transforms` are the active function transforms.
    """

    include: int
    exclude: int
    observed: bool
    why: Reason | None = None
    evidence: tuple[int, ...] = ()
    certain: bool = True
    known: bool = True
    transforms: tuple[Transform, ...] = ()


def first_state(context: Context) -> LocalState:
    """Returns the sets before any part of the expression ran.

    Source of torch's defaults: default_included_set and default_excluded_set (all autocast keys) of
    c10/core/DispatchKeySet.h. Every thread starts with them.
    """
    if context.calls:
        first = context.calls[0]
        return LocalState(first.tls_include.raw, first.tls_exclude.raw, True, None, (first.observation,))
    include = context.keys.raw(("BackendSelect", "ADInplaceOrView"))
    exclude = context.keys.raw(name for name in context.keys.keys if name.startswith("Autocast"))
    return LocalState(include, exclude, False, DefaultsAssumed(), certain=False)


def state_at(context: Context, claim: Claim, state: LocalState) -> LocalState:
    """Returns the sets at a claim: as read there, else `state`, the sets around it.

    After the last recorded Python frame they are not known, because Python may have changed them unseen.
    """
    call, event = claim.call, claim.event
    if call is None and context.frames_end is not None and event.event > context.frames_end:
        return _not_known(state, FramesEnd())
    if call is not None:
        return LocalState(call.tls_include.raw, call.tls_exclude.raw, True, None, (call.observation,))
    if event.tls_include is not None and event.tls_exclude is not None:
        read = LocalState(event.tls_include, event.tls_exclude, True, None, claim.hop.evidence)
        read = replace(read, transforms=event.transforms)
        if event.type == "builtin":
            return read
        if event.type == "op" and event.guards:
            return _not_known(read, MayHoldGuard())
        return replace(read, observed=False, certain=False, why=AsPythonLeftThem())
    return state


def _not_known(state: LocalState, why: Reason) -> LocalState:
    return replace(state, observed=False, certain=False, known=False, why=why, transforms=())


def inside_kernel(
    context: Context, state: LocalState, guards: Sequence[str | None], innermost: str | None = None
) -> LocalState:
    """Returns the sets inside the innermost kernel of a call: the guards of the kernels around it exclude further keys.

    `innermost` is the dispatch key of this kernel.
    """
    if innermost in LAYERS:
        return _not_known(state, SetByTransform())
    bits = union(excluded(context.keys, guard) for guard in guards)
    include = state.include & ~union(cleared(context.keys, guard) for guard in guards)
    why = LeftByGuards() if state.known else state.why
    if bits or include != state.include:
        state = replace(state, include=include, exclude=state.exclude | bits, observed=False, why=why)
    return beside_names(context, state)


def beside_names(context: Context, state: LocalState) -> LocalState:
    """Returns the sets inside a kernel or node if tensors may have names: whether Named is excluded is not known.

    Kernels and every node of backward may hold a NoNamesGuard (aten/src/ATen/NamedTensorUtils.h, Node::operator() of
    torch/csrc/autograd/function.h). For tensors without names, Named decides no key.
    """
    has_reason = state.why is not None and MayHoldNoNamesGuard() in within(state.why)
    if not context.keys.functionality("Named") or not state.known or has_reason:
        return state
    return replace(state, observed=False, why=_together(state.why, MayHoldNoNamesGuard()))


def guard_of(context: Context, key: str) -> str | None:
    """Returns the guard that the hand-written kernels of a key hold, if a header in the wheel has their text."""
    if key.startswith("Autocast") and any(AUTOCAST.words in line for line in context.tree.lines(AUTOCAST.file)):
        return f"{AUTOCAST.words}{key})"
    return None


def changed_by_hand(state: LocalState, key: str, named: bool = False) -> LocalState:
    """Returns the sets inside a hand-written kernel of a key. They are not known if such kernels change them.

    If a tensor has names (`named`), many kernels hold a NoNamesGuard (aten/src/ATen/NamedTensorUtils.h).
    """
    if key not in _CHANGING and not named:
        return state
    why = ChangedByHandWritten(key) if key in _CHANGING else NamesMayBeOff(key)
    return replace(state, observed=False, certain=False, known=False, why=why)


def changed_by_others(state: LocalState) -> LocalState:
    """Returns the sets inside a kernel of an extension, whose C++ may hold any guard.

    Every factory of torch:: also holds one, for example torch::empty_like
    (torch/csrc/autograd/generated/variable_factories.h).
    """
    return _not_known(state, InExtension())


def cleared(keys: KeySets, guard: str | None) -> int:
    """Returns the bits that a kernel removes from the thread-local include set."""
    return union(keys.functionality(name) for row in GUARDS if guard and row.text in guard for name in row.clears)


def excluded(keys: KeySets, guard: str | None) -> int:
    """Returns the bits that a kernel's guard adds to the thread-local exclude set."""
    held = [row.excludes for row in GUARDS if guard and re.search(rf"\b{re.escape(row.text)}(?!\w)", guard)]
    if guard is not None and guard.startswith(AUTOCAST.words):
        held.append((guard.removeprefix(AUTOCAST.words).rstrip(")"),))
    return union(keys.functionality(name) for names in held for name in names)


@dataclass(frozen=True, slots=True)
class CalledInOrder:
    """The operators that a claim calls directly, in order. Computed once per caller, since a loop calls thousands."""

    numbers: Mapping[int, int]  # by identity of a call: its number
    pairs: Sequence[int]  # the numbers of calls that are followed by lift_fresh()
    empties: Sequence[int]  # the numbers of calls of empty()

    @staticmethod
    def by(caller: Claim) -> CalledInOrder:
        """Returns the operators that this claim calls."""
        called = [claim for claim in caller.children if claim.hop.kind == "op"]
        lifts = (to.hop.op in LIFTED[0] and lift.hop.op == LIFTED[1] for to, lift in pairwise(called))
        return CalledInOrder(
            {claim.identity: number for number, claim in enumerate(called)},
            [number for number, is_lifted in enumerate(lifts) if is_lifted],
            [number for number, claim in enumerate(called) if claim.hop.op == EMPTY],
        )

    def next_pair(self, number: int) -> int:
        """Returns the first pair after a call; -1 for none."""
        place = bisect_right(self.pairs, number)
        return self.pairs[place] if place < len(self.pairs) else -1

    def is_pair(self, number: int) -> bool:
        """Whether a call is the first of a pair."""
        return self.next_pair(number - 1) == number >= 0


def inside_caller(
    context: Context, binding: Claim, operator: Claim, state: LocalState, called: CalledInOrder | None = None
) -> LocalState:
    """Returns the sets when a binding or a Python frame calls an operator.

    Factories hold a guard. What a hand-written body changes, or a frame between two readings, is not known.
    """
    maker = lifted(binding, operator, called)
    if maker is not None:
        is_written = binding.hop.kind != "python" and binding.hop.source.layer != "generated"
        inside = _inside_written(context, binding, state) if is_written else state
        guards = excluded(context.keys, BELOW) | union(map(context.keys.functionality, maker.excludes))
        why: Reason | None = maker.reason(maker.function, maker.file, BELOW, maker.excludes)
        why = _together(why, inside.why) if inside.include != state.include else why
        return replace(inside, exclude=inside.exclude | guards, observed=False, why=why, certain=False)
    if binding.hop.kind == "python" and binding.event.guards and operator.hop.kind == "op":
        return _not_known(state, MayHoldGuard())
    if binding.hop.kind == "python":
        why = AroundFrame() if state.observed else state.why
        return replace(state, observed=False, why=why, certain=False) if operator.hop.kind == "op" else state
    if binding.hop.source.layer != "generated":
        return _inside_written(context, binding, state)
    factory = _factory(context, binding, operator)
    if factory is None:
        return state
    why = InFactory(factory, FACTORIES, BELOW)
    return replace(state, exclude=state.exclude | excluded(context.keys, BELOW), observed=False, why=why)


def _inside_written(context: Context, binding: Claim, state: LocalState) -> LocalState:
    """Returns the sets inside a hand-written binding, as far as its changes are known."""
    if binding.event.table == "torch._C" and TRACED.words in (binding.event.method or ""):
        tracing = WhileTracing(binding.event.qualname or "", TRACER.file)
        include = state.include | context.keys.functionality("Tracer")
        return replace(state, include=include, observed=False, why=tracing, certain=False)
    if (binding.event.table, binding.event.method) == SUBCLASS:
        away = union(context.keys.functionality(name) for name in PUT_AWAY)
        why = MakingSubclass(PUTS_AWAY.file, PUT_AWAY)
        return replace(state, include=state.include & ~away, observed=False, why=why, certain=False)
    return replace(state, observed=False, why=InHandWrittenBinding(), certain=False)


def _together(first: Reason | None, second: Reason | None) -> Reason | None:
    """Returns two reasons as one."""
    reasons = tuple(reason for reason in (first, second) if reason is not None)
    return Together(reasons) if len(reasons) > 1 else next(iter(reasons), None)


@dataclass(frozen=True, slots=True)
class TensorMaker:
    """A C++ function that makes a tensor from Python values, and the keys that it excludes beside its guard."""

    function: str
    file: str
    excludes: tuple[str, ...]
    reason: type[InMaker] = InMaker


def lifted(caller: Claim, operator: Claim, called: CalledInOrder | None = None) -> TensorMaker | None:
    """Returns the function that makes a tensor from Python values, if it calls this operator; else None."""
    called = called if called is not None else CalledInOrder.by(caller)
    at = called.numbers.get(operator.identity, -1)
    if called.is_pair(at):
        return TensorMaker(FROM_VALUES, VALUES.file, PLAIN, InMakerOfPlain)
    before = called.next_pair(at)  # between empty() and to(), it reads the tensors among the values
    place = bisect_right(called.empties, before)
    since = called.empties[place - 1] if place else before
    if since <= at < before and not 0 <= called.next_pair(since - 2) <= at - 1:
        return TensorMaker(FROM_VALUES, VALUES.file, (*PLAIN, *UNTRACED), InMakerOfPlain)
    if called.is_pair(at - 1):
        return TensorMaker(FROM_VALUES, VALUES.file, UNTRACED, InMakerAtLift)
    # A slot has no builtin event. A tensor from a NumPy array is lifted by a builtin of its own, which holds no guard.
    slot = caller.event.type == "frame" and not (caller.event.file or "").endswith("torch/_ops.py")
    assigned = slot or caller.event.method == "__setitem__"
    is_assigned = operator.hop.op == LIFTED[1] and assigned
    return TensorMaker(TO_TENSOR, ASSIGNED.file, UNTRACED) if is_assigned else None


def _factory(context: Context, binding: Claim, operator: Claim) -> str | None:
    """Returns the torch:: factory through which the binding calls this operator, if the factory holds the guard."""
    source = binding.hop.source
    if operator.hop.op is None or source.path is None or source.line is None or operator.hop.op.endswith("out"):
        return None
    base = operator.hop.op.partition("::")[2].partition(".")[0]
    body = "\n".join(context.tree.lines(source.path)[source.line - 1 : source.end_line])
    branches, named = _BRANCH.findall(body), ""
    overloaded = any(op == operator.hop.op for op, _ in branches)  # else the binding does not name the overload
    for op, name in branches:
        named = op or named
        if overloaded and named != operator.hop.op:
            continue
        if name.removesuffix("_symint") == base and _guarded(context, name):
            return str(name)
    return None


def _guarded(context: Context, factory: str) -> bool:
    head = re.compile(rf"inline.*\b{factory}\(")
    lines = context.tree.lines(FACTORIES)
    return next((BELOW in following for line, following in pairwise(lines) if head.match(line)), False)
