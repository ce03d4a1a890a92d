"""Claims: hops under construction, with the events that they come from. Passes turn claims into better claims."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from operator import is_

from ptexplore.lazy import remembered
from ptexplore.model.nesting import Unrolling, each, folded, unrolled
from ptexplore.model.observed import (
    UNSEEN,
    ChangedTable,
    Event,
    GivenKernel,
    GraphNode,
    HeldTensors,
    RaisedError,
    UserCall,
    operators,
    records,
)
from ptexplore.model.operators import TableEntry
from ptexplore.model.place_reasons import NotLookedUp
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import Reason
from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import Finding, Hop, Session, walk
from ptexplore.resolve.keyset import BACKENDS, KeySets
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.stubs import Stubs
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store

NOT_YET = SourceRef(path=None, line=None, layer=None, precision="unknown", reason=NotLookedUp())


_IDENTITIES = count(1)


@dataclass(frozen=True)
class Claim:
    """A hop without its children, the event that it comes from, and your call that led to it.

    `identity` is a number that no other claim has. It stays the same when a pass replaces the claim by a better one
    (`replace`), so a claim can be referred to before it is finished. `is_unnamed`: it is a kernel whose name no table
    has; only the functions that ran can show it.
    """

    hop: Hop
    event: Event = UNSEEN
    call: UserCall | None = None
    children: tuple[Claim, ...] = ()
    by_callback: bool = False  # its caller is a Python function that C++ called, and that has no row
    is_unnamed: bool = False
    identity: int = field(default_factory=_IDENTITIES.__next__, compare=False, repr=False)

    def but(self, hop: Hop, *why: Reason) -> Claim:
        """Returns the claim with another hop and with additional reasons."""
        return replace(self, hop=replace(hop, why=hop.why + why))

    def walk(self) -> Iterator[Claim]:
        """Yields the claim and all claims inside it, outermost first."""
        return walk((self,))


# The torch modules that make a torch.Generator (in 2.13.0: those whose text calls it).
MAKES_GENERATORS = (
    "/torch/utils/data/", "/torch/distributed/", "/torch/quasirandom.py", "/torch/_lobpcg.py",
    "/torch/autograd/gradcheck.py", "/torch/_dynamo/debug_utils.py",
)  # fmt: skip
# Operators that name the dimensions of a tensor, with the smallest number of inputs for which they do. Every factory
# uses aten::empty.names, which has one input more than the other aten::empty with sizes (native_functions.yaml).
NAMING = {
    "aten::empty": 7, "aten::rename": 0, "aten::rename_": 0, "aten::refine_names": 0, "aten::align_to": 0,
    "aten::align_as": 0, "aten::align_tensors": 0,
}  # fmt: skip
_LAYOUT = "sparse|mkldnn|jagged|nested"
_OTHER_MODULE = re.compile(r"\b(?:import|from)\s+(?!torch\b)\w")  # any other import, which may make one


@dataclass(frozen=True)
class Context:
    """Everything that a pass may read. With `tell`, a pass adds a finding.

    Answers that thousands of hops need are computed once.
    """

    session: Session
    store: Store
    tree: SourceTree
    keys: KeySets
    lookup: Lookup
    stubs: Stubs
    findings: list[tuple[Finding, int | None]] = field(default_factory=list)  # each with the identity of its claim
    changed: Mapping[str, list[TableEntry]] = field(default_factory=dict)  # dispatch tables changed by the traced code

    def tell(self, kind: str, reason: Reason, about: Claim | None = None) -> None:
        """Add a finding, optionally about a claim. The claim's hop gets its number after all passes."""
        self.findings.append((Finding(kind, reason), about.identity if about is not None else None))

    def as_in_table(self, entry: TableEntry) -> str:
        """Returns the text of a dispatch table entry without the folder of this machine that contains torch."""
        folder = os.path.dirname(self.session.torch.torch_dir.rstrip("/"))
        text = entry.raw.strip()
        return text.replace(f"{folder}/", "") if folder else text

    @remembered
    def events(self, recorder: str) -> tuple[Event, ...]:
        """Returns the events in the tree of one recorder, in the order in which they were made."""
        seen = (observation for observation in self.session.observations if observation.recorder == recorder)
        return tuple(records(seen, "event", Event))

    @property
    def base(self) -> tuple[Event, ...]:
        """The events from which the tree of claims is built: the frames pass if there is one, else the ops pass."""
        return self.events("frames") or self.events("ops")

    @cached_property
    def python_functions(self) -> frozenset[tuple[str | None, int | None]]:
        """The recorded Python functions, torch's and yours, each as file and first line."""
        return frozenset((event.file, event.line) for event in self.base if event.type == "frame")

    @cached_property
    def frames_end(self) -> int | None:
        """The number of the event after which Python frames were not recorded; None if all were recorded."""
        return next((event.event for event in self.base if event.type == "cut"), None)

    @cached_property
    def dispatched(self) -> list[Event] | None:
        """The operators of the dispatch pass, in order; None if they differ from the operators of the base."""
        dispatched = operators(self.events("dispatch"))
        same = [event.name for event in dispatched] == [event.name for event in operators(self.base)]
        return dispatched if same else None

    @cached_property
    def calls(self) -> tuple[UserCall, ...]:
        """The calls of the expression, in order."""
        return tuple(records(self.session.observations, "call", UserCall))

    @cached_property
    def recorded(self) -> frozenset[int]:
        """The sequence numbers of the calls that recorded a node in the graph of the result."""
        graph = records(self.session.observations, "graph", GraphNode)
        return frozenset(node.sequence for node in graph if node.sequence is not None)

    @cached_property
    def forward_mode(self) -> bool:
        """Whether a tensor may have a forward gradient, which is only possible inside forward_ad.dual_level."""
        program = self.session.program
        began = program.forward_level if program is not None else None
        return any(level is not None for level in (began, *(call.forward_level for call in self.calls))) or any(
            event.name == "aten::_make_dual" for event in self.base
        )

    @cached_property
    def may_give_generators(self) -> bool:
        """Whether Python may have passed a torch.Generator to an operator. The profiler does not record this.

        torch's own Python code creates a generator only in a few modules. The code of other packages is not visible
        here.
        """
        texts = self._texts
        if self.session.program is not None or any("enerator" in text or _OTHER_MODULE.search(text) for text in texts):
            return True
        return any(part in (event.file or "") for event in self.base for part in MAKES_GENERATORS)

    @property
    def _texts(self) -> tuple[str, ...]:
        """All the code that you typed: the expression, setup, contexts and variables."""
        options = self.session.options
        return (self.session.expression, *options.setup, *options.contexts, *(text for _, text in options.variables))

    @cached_property
    def may_have_names(self) -> bool:
        """Whether a tensor may have named dimensions.

        True if a tensor with names was read, if an operator that gives names was recorded, or if the typed code
        contains "names": some ways need no operator (`tensor.names = …`, `torch.tensor(…, names=…)`).
        """
        bit, program = self.keys.functionality("Named"), self.session.program
        if not bit:
            return False
        if program is not None and (program.is_block or program.named):
            return True
        read = [argument.raw for call in self.calls for argument in call.arguments]
        read += [tensor.raw for held in self.held for tensor in held.tensors]
        if any(raw & bit for raw in read) or any("names" in text for text in self._texts):
            return True
        return any(event.name in NAMING and len(event.inputs) >= NAMING[event.name] for event in self.base)

    @cached_property
    def may_be_left(self) -> Event | None:
        """The last operator call of the base if the run raised, else None. It may have failed before calling anything.

        The arguments of this call may be invalid: for example, dimension names that no tensor has are refused in this
        way.
        """
        if not records(self.session.observations, "raised", RaisedError):
            return None
        return next((event for event in reversed(self.base) if event.type == "op"), None)

    @cached_property
    def held(self) -> tuple[HeldTensors, ...]:
        """The tensors that existed before the expression, as far as they were read."""
        return tuple(records(self.session.observations, "held", HeldTensors))

    @remembered
    def given(self, op: str) -> tuple[GivenKernel, ...]:
        """Returns the Python functions that torch.library.custom_op was given for an operator."""
        tables = records(self.session.observations, "table", ChangedTable) if op in self.changed else []
        return next((table.kernels for table in tables if table.op == op), ())

    def effective(self, op: str, key: str) -> TableEntry | None:
        """Returns the table's entry for a key. A table that the traced process changed replaces the catalogue's."""
        return self._table(op).get(key)

    def table(self, op: str) -> list[TableEntry]:
        """Returns an operator's dispatch table in the traced process."""
        return self.changed[op] if op in self.changed else self.store.table(op)

    @remembered
    def _table(self, op: str) -> dict[str, TableEntry]:
        return {name: entry for entry in self.table(op) for name in entry.keys}

    @cached_property
    def devices(self) -> frozenset[str]:
        """The device types of all recorded tensors, of the bound names, and of the result."""
        descriptions = " ".join([self.session.result.description, *(name.description for name in self.session.bound)])
        named = {device for device in BACKENDS if re.search(rf"\b{device}\b", descriptions)}
        return frozenset(tensor.device.split(":")[0] for tensor in self._tensors) | named

    @cached_property
    def are_quantized(self) -> bool:
        """Whether a recorded tensor is quantized."""
        return any(tensor.dtype.removeprefix("torch.").startswith(("qint", "quint")) for tensor in self._tensors)

    @cached_property
    def layouts(self) -> frozenset[str]:
        """The layouts of all recorded tensors, for example "strided"."""
        return frozenset(tensor.layout.removeprefix("torch.") for tensor in self._tensors)

    @cached_property
    def may_make_elsewhere(self) -> bool:
        """Whether some tensor may not be a strided CPU tensor.

        True if a recorded tensor is not, or if the typed code names another device or layout: a tensor that is created
        and dropped again is an input of no operator, so no record shows it.
        """
        if self.devices - {"cpu"} or self.layouts - {"strided"} or self.are_quantized:
            return True
        devices = "|".join(BACKENDS.keys() - {"cpu"})
        return any(re.search(rf"\b(?:{devices})\b|{_LAYOUT}", text) for text in self._texts)

    @cached_property
    def _tensors(self) -> list[RecordedTensor]:
        """All tensor inputs of operators, as they were recorded."""
        given = [value for event in (*self.events("ops"), *self.events("frames")) for value in event.inputs]
        values = [item for value in given for item in (value if isinstance(value, tuple) else (value,))]
        return [value for value in values if isinstance(value, RecordedTensor)]


Pass = Callable[[Context, tuple[Claim, ...]], tuple[Claim, ...]]


def rewrite(claims: tuple[Claim, ...], change: Callable[[Claim], Claim]) -> tuple[Claim, ...]:
    """Apply `change` to every claim, children first."""
    return folded(claims, lambda claim, children: change(replace(claim, children=children)))


def replaced(claims: tuple[Claim, ...], instead: Callable[[Claim], tuple[Claim, ...] | None]) -> tuple[Claim, ...]:
    """Returns the claims; where `instead` returns claims, these replace the claim. None keeps the claim.

    `instead` is asked for outer claims first, and not for claims inside a replaced one. A claim without any change
    inside is returned as the same object.
    """

    def kept(claim: Claim) -> Unrolling[tuple[Claim, ...]]:
        others = instead(claim)
        if others is not None:
            return others
        children = [inner for held in (yield each(map(kept, claim.children))) for inner in held]
        is_same = len(children) == len(claim.children) and all(map(is_, children, claim.children))
        return (claim if is_same else replace(claim, children=tuple(children)),)

    return tuple(claim for held in unrolled(each(map(kept, claims))) for claim in held)


def number(claims: tuple[Claim, ...], numbered: Mapping[int, int]) -> tuple[Hop, ...]:
    """Returns the finished hops, with their numbers (from `numbers`) as ids."""
    return folded(claims, lambda claim, inside: replace(claim.hop, id=numbered[claim.identity], children=inside))


def numbers(claims: tuple[Claim, ...]) -> dict[int, int]:
    """Returns the number of each hop by the claim's identity, from 1 in reading order.

    Hops of native frames come after all other hops, and code inside libraries without source comes last. So a number
    means the same hop in the next run, although Python's own calls differ from run to run.
    """
    ranked: tuple[list[Claim], ...] = ([], [], [])
    for claim in walk(claims):
        mere = claim.hop.kind == "native" and claim.hop.instructions is not None
        ranked[2 if claim.hop.kind == "closed" else int(mere)].append(claim)
    return {claim.identity: number for number, claim in enumerate(chain(*ranked), 1)}
