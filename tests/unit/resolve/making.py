"""What the tests of resolve/ are written with: a session from events, a catalogue from rows, claims, one pass run.

Everything is stated by hand. The bits of the dispatch keys are those that torch 2.13's binary gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from ptexplore.cpp.conditions import Conditions
from ptexplore.model.observed import UNSEEN, SavedObservation, UserCall
from ptexplore.model.observed import Event as RecordedEvent
from ptexplore.model.operators import (
    Binding,
    Derivative,
    DispatchKey,
    Operator,
    PythonKernel,
    Registration,
    TableEntry,
)
from ptexplore.model.options import TraceOptions
from ptexplore.model.places import Checkout, SourceRef
from ptexplore.model.trace import Captured, Dispatch, Hop, OperatorRef, ResultInfo, Session, TorchInfo
from ptexplore.resolve.claims import NOT_YET, Claim, Context
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.relation import Word
from ptexplore.resolve.places.sources import Source, source
from ptexplore.resolve.places.stubs import Stubs
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store
from ptexplore.store.catalogue.writer import CatalogueWriter
from tests.unit.conftest import Mini, line_of

# --- key sets ---

BACKEND = {"CPU": 0, "CUDA": 1, "HIP": 2, "XLA": 3, "Meta": 15}
FUNCTIONALITY = {  # the bit of each, as torch 2.13's own keys have it
    "Dense": 16, "Quantized": 20, "MkldnnCPU": 22, "Sparse": 23, "SparseCsr": 24, "NestedTensor": 25,
    "BackendSelect": 26, "Python": 28, "FuncTorchDynamicLayerBackMode": 29, "Functionalize": 30, "Conjugate": 31,
    "Negative": 32, "ZeroTensor": 33, "ADInplaceOrView": 34, "AutogradOther": 35, "AutogradFunctionality": 36,
    "AutogradNestedTensor": 37, "Tracer": 38, "AutocastCPU": 39, "AutocastCUDA": 47, "FuncTorchBatched": 49,
    "VmapMode": 53, "FuncTorchDynamicLayerFrontMode": 57,
}  # fmt: skip
PER_BACKEND = {
    "Dense": "", "Quantized": "Quantized", "Sparse": "Sparse", "SparseCsr": "SparseCsr",
    "NestedTensor": "NestedTensor", "AutogradFunctionality": "Autograd",
}  # fmt: skip
UNPARSED = ("AutogradHIP", "QuantizedXLA", "QuantizedMeta")  # torch's own parser does not know these
PYTHON_DISPATCHER = 1 << 61  # DispatchKeySet(FULL_AFTER, …) always holds it


def _keys() -> Iterator[DispatchKey]:
    for name, bit in FUNCTIONALITY.items():
        after = (1 << bit) - 1 | PYTHON_DISPATCHER  # every lower functionality, and every backend
        yield DispatchKey(name, 1 << bit, after)
        if name in PER_BACKEND:
            for backend, position in BACKEND.items():
                key = PER_BACKEND[name] + backend
                if key not in UNPARSED:
                    yield DispatchKey(key, 1 << bit | 1 << position, after)


KEYS = KeySets({key.name: key for key in _keys()}, 16)
CPU_TENSOR = ("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")  # what TensorImpl's constructor gives
DEFAULT_INCLUDE = ("BackendSelect", "ADInplaceOrView")  # c10's thread-local include set, as a process starts


def bits(*names: str) -> int:
    """The raw set of these keys."""
    return KEYS.raw(names)


# --- events and sessions ---


@dataclass(frozen=True)
class Event:
    """One event of a recorder, with those inside it."""

    data: Mapping[str, Any]
    inside: tuple[Event, ...] = ()


def event(kind: str, *inside: Event, **data: Any) -> Event:
    """An event of a type: "op", "node", "engine", "user", "frame", "builtin", "call"."""
    return Event({"type": kind, **data}, inside)


def op(name: str, *inside: Event, **data: Any) -> Event:
    """An operator call as the profiler records it: "aten::blend", without overload unless `overload` is given."""
    return event("op", *inside, name=name, **{"inputs": [], "sequence": -1, **data})


def frame(function: str, *inside: Event, file: str, line: int, **data: Any) -> Event:
    return event("frame", *inside, function=function, file=file, line=line, **data)


def builtin(table: str, method: str, *inside: Event, **data: Any) -> Event:
    read = {"tls_include": bits(*DEFAULT_INCLUDE), "tls_exclude": 0}
    return event("builtin", *inside, table=table, method=method, **{"name": f"torch.{method}", **read, **data})


def tensor(impl: int, **more: Any) -> dict[str, Any]:
    """A tensor as the profiler records an operator's input."""
    return {"impl": impl, "device": "cpu", "layout": "torch.strided", "dtype": "torch.float32", "sizes": [3], **more}


def call(number: int, arguments: Mapping[int, Sequence[str]] | None = None, **data: Any) -> dict[str, Any]:
    """The user's call of that number: `arguments` are the keys of each tensor by its TensorImpl's address."""
    given = [{"name": "self", "impl": at, "raw": bits(*names)} for at, names in (arguments or {}).items()]
    return {
        "call": number,
        "source": "torch.blend(a, b)",
        "syntax": "call",
        "callable": {},
        "arguments": given,
        **state(),
        **data,
    }


def state(include: Sequence[str] = DEFAULT_INCLUDE, exclude: Sequence[str] = ()) -> dict[str, Any]:
    """The thread-local sets as the dispatch pass reads them."""
    return {"tls_include": {"raw": bits(*include)}, "tls_exclude": {"raw": bits(*exclude)}}


def session(
    ops: Sequence[Event] = (),
    *,
    frames: Sequence[Event] = (),
    dispatch: Sequence[Event] = (),
    calls: Sequence[Mapping[str, Any]] = (),
    graph: Sequence[Mapping[str, Any]] = (),
    native: Sequence[Mapping[str, Any]] = (),
    more: Sequence[tuple[str, str, Mapping[str, Any]]] = (),
    torch_dir: str = "/site/torch",
) -> Session:
    """A session of these events; observations are numbered from 1, in the order of the arguments."""
    made = [(recorder, "event", data) for recorder, events in (("ops", ops), ("frames", frames), ("dispatch", dispatch))
            for data in _flat(events)]  # fmt: skip
    made += [("dispatch", "call", dict(data)) for data in calls]
    made += [("ops", "graph", dict(data)) for data in graph]
    made += [("native", "calls", dict(data)) for data in native]
    made += [(recorder, kind, dict(data)) for recorder, kind, data in more]
    observations = tuple(SavedObservation(number, *one).as_seen() for number, one in enumerate(made, 1))
    return Session(
        "torch.blend(a, b)", TorchInfo(torch_dir=torch_dir), (), TraceOptions(), Captured(), ResultInfo(), observations
    )


def _flat(events: Sequence[Event]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    numbers = count(100)

    def add(one: Event, parent: int | None) -> None:
        number = next(numbers)
        rows.append({"event": number, "parent": parent, "thread": 0, "phase": "forward", **one.data})
        for child in one.inside:
            add(child, number)

    for one in events:
        add(one, None)
    return rows


def number_of(session: Session, recorder: str, kind: str, nth: int = 1) -> int:
    """The id of the nth observation of a recorder and kind."""
    return [one.id for one in session.observations if (one.recorder, one.kind) == (recorder, kind)][nth - 1]


# --- the catalogue ---


@dataclass(frozen=True)
class Rows:
    """A catalogue's rows."""

    operators: Sequence[Operator] = ()
    registrations: Sequence[Registration] = ()
    tables: Mapping[str, Sequence[TableEntry]] = field(default_factory=dict)
    derivatives: Sequence[Derivative] = ()
    nodes: Sequence[tuple[str, str, int, int]] = ()
    bindings: Sequence[Binding] = ()
    definitions: Sequence[tuple[str, str, int, int]] = ()
    python_kernels: Sequence[PythonKernel] = ()


def operator(schema: str, **more: Any) -> Operator:
    """The operator of a whole schema, "aten::blend.Pair(Tensor self) -> Tensor"."""
    return Operator(schema.partition("(")[0], schema, (), (), **more)


def entry(*keys: str, at: tuple[str, int] | None = None, reason: str = "kernel", fallthrough: bool = False,
          raw: str = "") -> TableEntry:  # fmt: skip
    """What a dispatch table holds for these keys: the registration at a file and line, and the dispatcher's word."""
    path, line = at or (None, None)
    said = raw or (f"registered at {path}:{line}" if path else "")
    return TableEntry(keys, reason, fallthrough, path, line, said)


def registration(op: str, key: str | None, at: tuple[str, int] | None = None, **more: Any) -> Registration:
    """A record of an operator, confirmed by the generated text unless `more` says otherwise."""
    path, line = at or (None, None)
    given = {"alias": False, "inactive": False, "fallthrough": False, "origin": "generated", "op_line": None,
             "confirmed": True, "why_not": None}  # fmt: skip
    return Registration(op=op, key=key, path=path, macro_line=line, **{**given, **more})


def write(rows: Rows, path: Path) -> Store:
    """A catalogue of these rows, opened."""
    named = {one.name for one in rows.operators}
    others = dict.fromkeys([*(one.op for one in rows.registrations), *rows.tables])
    operators = [*rows.operators, *(operator(f"{name}() -> ()") for name in others if name not in named)]
    with CatalogueWriter(path) as writer:
        writer.operators((one, "") for one in operators)
        writer.registrations(rows.registrations)
        writer.tables(rows.tables.items())
        writer.derivatives(rows.derivatives)
        writer.nodes(rows.nodes)
        writer.bindings(rows.bindings)
        writer.definitions((name, "function", *place) for name, *place in rows.definitions)
        writer.python_kernels(rows.python_kernels)
        writer.keys(KEYS.keys.values())
        writer.meta({"num_backends": str(KEYS.backends)})
    return Store.open(path)


# --- the small tree, and what a pass may look at ---

BUILD = Conditions({"MINI_ON": "1"}, frozenset({"MINI_OFF"}))


@dataclass(frozen=True)
class Small:
    """minitorch with a checkout of its hand-written C++, and a folder for catalogues."""

    mini: Mini
    checkout: Checkout
    texts: SourceTree  # the checkout's tree
    names: Any  # its index
    folder: Path
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def tree(self) -> SourceTree:
        """The runtime tree."""
        return self.mini.tree

    def line(self, path: str, text: str, nth: int = 1) -> int:
        """The 1-based line of the nth line that holds `text`: of the runtime tree where that has the file."""
        return line_of(self.tree if self.tree.exists(path) else self.texts, path, text, nth)

    def store(self, rows: Rows | None = None) -> Store:
        return write(rows or Rows(), self.folder / f"{next(self._numbers)}.sqlite")

    def source(self, word: Word = "matches", **more: Any) -> Source:
        """The checkout, related to the running torch as `word` says."""
        made = source(self.checkout, self.texts, self.names, word, BUILD, self.mini.runtime)
        return replace(made, **more)

    def lookup(self, rows: Rows | None = None, *sources: Source) -> Lookup:
        return Lookup(self.tree, self.store(rows), sources)

    def context(self, seen: Session | None = None, rows: Rows | None = None, *sources: Source, **more: Any) -> Context:
        """What every pass may look at."""
        lookup = self.lookup(rows, *sources)
        return Context(seen or session(), lookup.store, self.tree, KEYS, lookup, Stubs(lookup), **more)


# --- claims ---


def claim(kind: str, name: str, *children: Claim, event: Mapping[str, Any] | None = None, **hop: Any) -> Claim:
    """A claim as passes hand it on; its hop was observed and is not placed unless `hop` says otherwise."""
    given = {"id": 0, "status": "observed", "source": NOT_YET, **hop}
    seen = recorded(event) if event is not None else UNSEEN
    return Claim(Hop(kind=kind, name=name, **given), seen, None, children)  # type: ignore[arg-type]


def recorded(data: Mapping[str, Any]) -> RecordedEvent:
    """An event's data as resolve has it."""
    given = {"event": 10**6, "parent": None, "type": "callable", "thread": 0, "phase": "forward", **data}
    event = SavedObservation(0, "ops", "event", given).as_seen().data
    assert isinstance(event, RecordedEvent)
    return event


def user_call(observation: int, data: Mapping[str, Any]) -> UserCall:
    """A call's data as resolve has it."""
    call = SavedObservation(observation, "dispatch", "call", dict(data)).as_seen().data
    assert isinstance(call, UserCall)
    return call


def walk(claims: Iterable[Claim]) -> list[Claim]:
    """Every claim, callers first."""
    return [one for top in claims for one in top.walk()]


def shape(claims: Iterable[Claim]) -> str:
    """Names with what is inside in brackets: "f(aten::blend(CPU))"."""
    return " ".join(c.hop.name + (f"({shape(c.children)})" if c.children else "") for c in claims)


def only(claims: Iterable[Claim], kind: str, name: str = "") -> Claim:
    """The one claim of that kind, and of that name where one is given."""
    found = [one for one in walk(claims) if one.hop.kind == kind and name in ("", one.hop.name)]
    assert len(found) == 1, shape(claims)
    return found[0]


def place(ref: SourceRef) -> tuple[str | None, int | None, str]:
    """Where a reference points, and how precisely."""
    return ref.path, ref.line, ref.precision


def with_schema(one: Claim, schema: str) -> Claim:
    """An operator's claim as the pass that names operators leaves it."""
    name = schema.partition("(")[0]
    return one.but(replace(one.hop, op=name, name=name, operator=OperatorRef(schema)))


def key_facts(one: Claim) -> Dispatch:
    """What a key's hop says of its sets: set, raw, skipped, arguments, tls_include, …"""
    assert one.hop.dispatch is not None
    return one.hop.dispatch


def formulas_of(one: Claim) -> list[tuple[str, int, str]]:
    """The formulas that a node's hop gives: their inputs, their own lines, which way they differentiate."""
    given = one.hop.derivative.formulas if one.hop.derivative is not None else ()
    return [(formula.inputs, formula.line, formula.mode) for formula in given]


def native_facts(one: Claim) -> tuple[str, str, int]:
    """What a hop says of the frame that it is: the function's demangled name, its library, instructions of its own."""
    assert one.hop.native is not None
    return one.hop.native.symbol, one.hop.native.library, one.hop.native.own
