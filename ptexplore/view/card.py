"""An operator's card: what the catalogue knows of one overload, as lines, and the notes about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ptexplore.annotations.about import MarksByTree, about_operator, holds
from ptexplore.annotations.marks import Mark
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.lookup.query_length import check_length
from ptexplore.model.operators import Binding, Derivative, Operator, PythonKernel, dispatcher_name
from ptexplore.model.places import SourceRef, TreeInfo, place_reasons
from ptexplore.resolve.dispatch.kernel_bodies import caller, kernel_body, registration_of
from ptexplore.resolve.keyset import backend_of
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime, unknown
from ptexplore.resolve.places.stubs import Called, Stub, Stubs
from ptexplore.source.python_docs import DocLine
from ptexplore.source.python_names import PythonLookup, is_python_name
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store
from ptexplore.view.line import Line
from ptexplore.view.yaml_kernels import not_in_this_build

if TYPE_CHECKING:
    from ptexplore.model.ladder import CoreAnswer, OperatorLadder

_NAMED = 4  # keys of a row that are named
# Rows with keys of a stock CPU or CUDA machine come first, in this order.
COMMON = ("AutogradCPU", "CPU", "AutogradCUDA", "CUDA", "Meta", "SparseCPU", "QuantizedCPU", "MkldnnCPU")
_COMMON = frozenset(COMMON)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """The kernel of one or several dispatch keys, the table's reason, and where it is registered and defined."""

    keys: tuple[str, ...]
    reason: str
    kernel: str
    body: SourceRef
    registration: SourceRef
    targets: tuple[CalledFunction, ...] = ()
    entry: SourceRef | None = None  # the operator's own m.impl, if it is hand-written
    stubs: tuple[Stubbed, ...] = ()  # called by a hand-written kernel itself

    @property
    def is_common(self) -> bool:
        """Whether one of its keys is common."""
        return not _COMMON.isdisjoint(self.keys)

    @property
    def full_reason(self) -> str:
        """The table's reason. The default kernel's reason is explained: these keys have no kernel in this torch."""
        return (
            f"{self.reason}: this build of torch has no kernel of its own for these keys"
            if self.is_default
            else self.reason
        )

    @property
    def is_default(self) -> bool:
        """Whether these keys have no kernel of their own. The reason is the dispatcher's own word in its dump."""
        return self.reason == "default backend kernel"

    @property
    def is_plain(self) -> bool:
        """Whether these keys have a kernel that was registered for them. The reason is the dispatcher's own word."""
        return self.reason == "kernel"

    @property
    def shown_keys(self) -> tuple[str, ...]:
        """The keys to name if there is little room."""
        few = tuple(key for key in self.keys if key in COMMON) or self.keys[:2]
        return self.keys if len(self.keys) <= _NAMED else few


@dataclass(frozen=True, slots=True)
class Stubbed:
    """A dispatch stub that a body calls, and its kernels for the device of the row's first key."""

    called: Called
    stub: Stub


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """A function that a generated wrapper calls: its definition, its declaration, and the stubs that its body calls."""

    name: str
    source: SourceRef
    declaration: SourceRef | None = None
    stubs: tuple[Stubbed, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """One overload. `asked` is the name that the user typed; `siblings` are the other overloads of that name."""

    operator: Operator
    asked: str
    yaml: SourceRef
    entry: SourceRef
    keys: tuple[KeyRow, ...]
    fallthrough: tuple[str, ...]
    derivative: Derivative | None
    formulas: SourceRef | None  # the derivative's entry; each formula has its own line in it
    node: SourceRef | None
    bindings: tuple[tuple[str, Binding, SourceRef], ...]
    python: tuple[tuple[PythonKernel, SourceRef], ...]
    siblings: tuple[str, ...]
    trees: tuple[TreeInfo, ...] = ()
    notes: tuple[Mark, ...] = ()  # stops about its entry, or about code that its keys run
    doc: DocLine | None = None  # the sentence from Python's documentation, if that was looked up
    doc_place: SourceRef | None = None
    not_built: tuple[tuple[str, str], ...] = ()  # (key, kernel) that YAML names, without a kernel in this build
    core: CoreAnswer | None = None  # whether it is Core ATen
    ladder: OperatorLadder | None = None  # what decomposes it on each rung, if that was asked for

    @property
    def common(self) -> tuple[KeyRow, ...]:
        """The rows of common keys; all rows if there are none."""
        return tuple(row for row in self.keys if row.is_common) or self.keys

    @property
    def others(self) -> tuple[KeyRow, ...]:
        """The rows that `common` leaves out."""
        others = tuple(row for row in self.keys if not row.is_common)
        return others if len(others) < len(self.keys) else ()


def find_operator(store: Store, tree: SourceTree, asked: str) -> tuple[Operator, list[str]]:
    """Returns the overload that a user's name means, and its siblings. `tree` is the installed torch's.

    Accepts `add`, `add.Tensor`, `aten::add.Tensor`, `torch.add`, `Tensor.add_`, `F.conv2d` and its full name. Raises
    PtexploreError (usage) with the closest names if there is no such operator.
    """
    asked = dispatcher_name(asked)
    exact = store.operator(asked) or store.operator(f"aten::{asked}")
    names = [exact.name] if exact else _names_of_family(store, asked)
    if not names:
        defined = PythonLookup(tree).definitions(asked) if is_python_name(asked) else []
        if defined:
            place = "; ".join(f"{d.kind} {d.name}, {d.path}:{d.line}" for d in defined)
            hint = f"ptexplore show {shlex.quote(asked)}"
            raise PtexploreError(f"{asked} is not an operator", f"in Python it is the {place}", hint, USAGE)
        close = store.suggest(asked, 5)
        hint = f"ptexplore op {shlex.quote(close[0])}" if close else "ptexplore op add"
        why = f"the closest are {', '.join(close)}" if close else "no operator has a similar name"
        raise PtexploreError(f"there is no operator {asked}", why, hint, USAGE)
    chosen = exact or store.operator(_preferred(names))
    assert chosen is not None
    family = [o.name for o in store.operators_named(chosen.base) if o.namespace == chosen.namespace]
    return chosen, sorted({*family, *names} - {chosen.name})


def _names_of_family(store: Store, asked: str) -> list[str]:
    operators = [o.name for o in store.operators_named(asked.rsplit("::", maxsplit=1)[-1])]
    if "::" in asked:
        operators = [o for o in operators if o.startswith(asked.split("::", maxsplit=1)[0] + "::")]
    if operators and "." not in asked:
        return [o for o in operators if o.startswith("aten::")] or operators
    spellings = (asked, f"torch.{asked}", f"torch.nn.functional.{asked.removeprefix('F.')}")
    name = next(filter(None, map(store.python_name, spellings if asked.startswith("F.") else spellings[:2])), None)
    if name is None:
        return []
    if not (name.table and name.method):
        return [o.name for o in store.operators_named(asked.rsplit(".", 1)[-1])]
    row = store.binding(name.table, name.method)
    return list(row.ops) if row is not None and row.ops else [o.name for o in store.operators_named(name.method)]


def _preferred(names: Iterable[str]) -> str:
    """Returns the overload that most people mean: the functional one on tensors."""

    def rank(name: str) -> tuple[bool, bool, bool, str]:
        overload = name.partition(".")[2]
        return ("out" in overload, overload not in ("Tensor", "", "default"), overload != "Tensor", name)

    return min(names, key=rank)


def card(lookup: Lookup, asked: str, stubs: Stubs | None = None) -> Card:
    """Collects the card of the operator that `asked` names. `stubs` of the same lookup can be reused for many cards."""
    check_length(asked)
    # Loads msgspec. A command that only imports this module should not wait for it.
    from ptexplore.resolve.ladder import core_answer

    store, tree = lookup.store, lookup.tree
    operator, siblings = find_operator(store, tree, asked)
    derivative = store.derivative(operator.name)
    keys, fallthrough = _key_rows(lookup, operator, stubs or Stubs(lookup))
    return Card(
        operator=operator,
        asked=asked,
        yaml=_yaml_entry(tree, operator),
        entry=in_runtime(tree, operator.call_path, operator.call_line)
        if operator.call_path
        else unknown(place_reasons.NoEntryFunction()),
        keys=keys,
        fallthrough=fallthrough,
        derivative=derivative,
        formulas=in_runtime(tree, derivative.path, derivative.line, derivative.end_line) if derivative else None,
        node=in_runtime(tree, derivative.apply_path, derivative.apply_line, derivative.apply_end)
        if derivative and derivative.apply_path
        else None,
        bindings=tuple(_bindings(store, tree, operator)),
        python=tuple(
            (k, in_runtime(tree, k.path, k.line, k.end_line) if k.path else unknown(place_reasons.NoFileOfKernel()))
            for k in store.python_kernels(operator.name)
        ),
        siblings=tuple(siblings),
        trees=lookup.infos,
        not_built=not_in_this_build(store, tree, operator),
        core=core_answer(store, operator.name, None),
    )


def _yaml_entry(tree: SourceTree, operator: Operator) -> SourceRef:
    if operator.yaml_path and operator.yaml_line:
        return in_runtime(tree, operator.yaml_path, operator.yaml_line, operator.yaml_end)
    return unknown(place_reasons.MadeByTorchgen() if operator.autogen else place_reasons.NotInYaml())


def _key_rows(lookup: Lookup, operator: Operator, stubs: Stubs) -> tuple[tuple[KeyRow, ...], tuple[str, ...]]:
    """Groups keys by what they run. Returns the rows, and the keys that only fall through."""
    rows: list[KeyRow] = []
    fallthrough: list[str] = []
    for entry in lookup.store.table(operator.name):
        if entry.fallthrough:
            fallthrough += entry.keys
            continue
        key = entry.keys[0]
        registration = registration_of(lookup.store, operator.name, key, entry)
        body = kernel_body(lookup, registration, entry, key)
        # the device of the most common key
        device = backend_of(next((common for common in COMMON if common in entry.keys), key))
        symbols = (registration.target_meta, registration.target) if registration else ()
        targets = [_target(lookup, stubs, s, caller(registration), device) for s in symbols if s and registration]
        rows.append(
            KeyRow(
                entry.keys,
                entry.reason,
                body.name,
                body.source,
                lookup.entry(entry, key, registration),
                tuple(targets),
                body.registered.op_entry if body.registered is not None else None,
                _stubs(stubs, body.source, device) if body.handwritten else (),
            )
        )
    rows.sort(key=lambda row: min((COMMON.index(key) for key in row.keys if key in COMMON), default=len(COMMON)))
    return tuple(rows), tuple(fallthrough)


def _target(
    lookup: Lookup, stubs: Stubs, symbol: str, call: tuple[str, int] | None, device: str | None
) -> CalledFunction:
    source = lookup.definition(symbol, call)
    return CalledFunction(symbol, source, lookup.declaration(symbol, call), _stubs(stubs, source, device))


def _stubs(stubs: Stubs, body: SourceRef, device: str | None) -> tuple[Stubbed, ...]:
    if not device:
        return ()
    calls = [(called, stubs.stub(called.stub, device)) for called in stubs.called(body)]
    return tuple(Stubbed(called, stub) for called, stub in calls if stub is not None)


def _bindings(store: Store, tree: SourceTree, operator: Operator) -> Iterable[tuple[str, Binding, SourceRef]]:
    for row in store.bindings_for(operator.name):
        names = store.python_names_for(row.table, row.name)
        shown = ", ".join(n.name for n in names[:3]) or f"{row.table}.{row.name}"
        yield shown, row, in_runtime(tree, row.path, row.line, row.end_line)


def documented(card: Card, docs: Mapping[str, DocLine], tree: SourceTree) -> Card:
    """Adds the sentence from Python's documentation to a card. `docs` and `tree` are the installed torch's."""
    doc = docs.get(card.operator.base) if card.operator.namespace == "aten" else None
    return replace(card, doc=doc, doc_place=in_runtime(tree, doc.path, doc.line)) if doc is not None else card


LAST_STEP = "← the last step, which does the work"  # for a kernel behind a stub
ONLY_IN_YAML = "in YAML, not in this build"


def card_lines(card: Card, *, full: bool, listed: bool = True) -> Iterator[Line]:
    """Yields schema, YAML entry, kernels by key, derivative, bindings and Python implementations.

    With `listed`, also one line for each other overload and each note.
    """
    operator = card.operator
    yield Line("name", operator.name)
    if card.doc is not None and card.doc_place is not None:
        yield Line("text", card.doc.text, indent=2)
        of = f" of {card.doc.of}" if card.doc.of else ""
        yield _place_line(card.doc_place, f"Python's documentation{of}")
    yield Line("text", operator.schema, indent=2)
    facts = [operator.structured or "", *operator.variants, *operator.tags]
    if any(facts):
        yield Line("dim", ", ".join(filter(None, facts)), indent=2)
    if operator.aliases:
        yield Line("dim", f"aliases: {', '.join(operator.aliases)}", indent=2)
    if card.core is not None:
        yield Line("dim", core_line(card.core), indent=2)
    yield _place_line(card.yaml, "entry in YAML")
    yield _place_line(card.entry, "at::_ops call")
    yield from _kernel_lines(card, full=full)
    yield from _derivative_lines(card)
    yield from _python_lines(card)
    if listed and card.siblings:
        yield Line("heading", "other overloads")
        yield from (Line("text", name, indent=2, operator=name) for name in card.siblings)
    if listed and card.notes:
        yield Line("heading", "to read")
        yield from (Line("text", mark.title, indent=2, after=mark.stop, stop=mark.stop) for mark in card.notes)


def core_line(core: CoreAnswer) -> str:
    """Returns the line of a card that says whether the operator is Core ATen."""
    from ptexplore.view.words.ladder import core_in_words

    return f"Core ATen: {core_in_words(core)}"


def _place_line(ref: SourceRef, label: str = "", indent: int = 2, after: str = "") -> Line:
    return Line("place", label, ref, indent=indent, after=after)


def _python_lines(card: Card) -> Iterator[Line]:
    if card.bindings:
        yield Line("heading", "Python bindings")
    for names, row, ref in card.bindings:
        yield Line("text", f"{names} → torch::autograd::{row.c_function}", indent=2)
        yield _place_line(ref, indent=4)
    if card.python:
        yield Line("heading", "in Python")
    for kernel, ref in card.python:
        key = f" for {kernel.key}" if kernel.key else ""
        yield Line("text", f"{kernel.role}{key}: {kernel.function}", indent=2)
        yield _place_line(ref, indent=4)


def _kernel_lines(card: Card, *, full: bool) -> Iterator[Line]:
    yield Line("heading", "what each dispatch key runs")
    shown = card.keys if full else card.common
    for row in shown:
        yield from _key_lines(row, full=full)
    if card.fallthrough:
        names = ", ".join(card.fallthrough) if full else f"{len(card.fallthrough)} keys"
        yield Line("dim", f"fall through: {names}", indent=2)
    if card.not_built:
        named = ", ".join(f"{key} ({kernel})" for key, kernel in card.not_built)
        yield Line("dim", f"{ONLY_IN_YAML}: {named}", indent=2)
    left = len(card.keys) - len(shown)
    if left:
        yield Line("dim", f"{left} more kernels for other keys: not shown", indent=2)


def _key_lines(row: KeyRow, *, full: bool) -> Iterator[Line]:
    keys = row.keys if full else row.shown_keys
    more = len(row.keys) - len(keys)
    names = ", ".join([*keys, f"+{more} more"] if more else keys)
    yield Line("strong", names, indent=2, after=row.full_reason)
    yield Line("text", row.kernel, indent=4)
    if row.body.line:
        yield _place_line(row.body, indent=4)
    yield _place_line(row.registration, "registered at", 4)
    if row.entry is not None:
        yield _place_line(row.entry, "its own entry at", 4)
    yield from _stub_lines(row.stubs, 4)
    for target in row.targets:
        yield Line("text", f"calls {target.name}", indent=4)
        if target.source.line or target.source.candidates or target.declaration is None:
            yield _place_line(target.source, indent=6)
        else:
            yield _place_line(target.declaration, "declared at", 6)
        yield from _stub_lines(target.stubs, 6)


def _stub_lines(stubs: tuple[Stubbed, ...], indent: int) -> Iterator[Line]:
    for stub in (stubbed.stub for stubbed in stubs):
        yield _place_line(stub.source, f"stub {stub.name.rsplit('::', 1)[-1]}", indent)
        for kernel in stub.kernels:
            yield _place_line(kernel.source, f"kernel {kernel.name.rsplit('::', 1)[-1]}", indent + 2, LAST_STEP)


def _derivative_lines(card: Card) -> Iterator[Line]:
    derivative, entry = card.derivative, card.formulas
    yield Line("heading", "derivative")
    if derivative is None or entry is None:
        yield Line("dim", "no own entry in derivatives.yaml", indent=2)
        return
    matched = f"(entry of {derivative.source_op}; {derivative.matched})" if derivative.matched != "exact" else ""
    yield _place_line(entry, after=matched)
    for formula in derivative.formulas:
        yield Line("text", f"{formula.inputs}: {formula.text}", indent=2)
        yield _place_line(replace(entry, line=formula.line), indent=4)
    if card.node is not None:
        yield Line("text", f"node: torch::autograd::generated::{derivative.node}", indent=2)
        yield _place_line(card.node, "apply", 4)


@dataclass(frozen=True, slots=True)
class ShownKernel:
    """What dispatch keys of an operator run: a body, or a function that the body calls (`depth` 1)."""

    keys: tuple[str, ...]
    name: str
    ref: SourceRef
    depth: int = 0


def kernels_of(card: Card, *, full: bool) -> tuple[ShownKernel, ...]:
    """Returns what the common keys run (with `full`, all keys): the kernel, then the functions that it calls."""
    rows = card.keys if full else card.common
    return tuple(kernel for row in rows for kernel in _row_kernels(row, full=full))


def _row_kernels(row: KeyRow, *, full: bool) -> Iterator[ShownKernel]:
    keys = row.keys if full else tuple(key for key in row.keys if key in COMMON) or row.keys[:2]
    yield ShownKernel(keys, row.kernel, row.body)
    yield from _stub_kernels(row.stubs, 1)
    for target in row.targets:
        yield ShownKernel((), target.name, target.source, 1)
        yield from _stub_kernels(target.stubs, 2)


def _stub_kernels(stubs: Sequence[Stubbed], depth: int) -> Iterator[ShownKernel]:
    for stubbed in stubs:
        for kernel in stubbed.stub.kernels:
            yield ShownKernel((), f"{stubbed.called.stub} → {kernel.name}", kernel.source, depth)


def on_card(card: Card, marks_by_tree: MarksByTree) -> tuple[Mark, ...]:
    """Returns the stops about an operator: first about its entry, then about code that its common keys run.

    Fallbacks of other keys are left out: all operators share them, so these stops would be on every card.
    """
    marks = [mark for marks in marks_by_tree.values() for mark in marks if about_operator(mark, card.operator.name)]
    marks += [
        mark for ref in places_run(card) for mark in marks_by_tree.get(ref.tree, ()) if holds(mark, ref.path, ref.line)
    ]
    return tuple({mark.stop: mark for mark in reversed(marks)}.values())[::-1]


def places_run(card: Card) -> list[SourceRef]:
    """Returns the places that an operator's common keys run, and the places of its backward node and its entry."""
    refs = [ref for row in card.keys if row.is_common for ref in _row_refs(row)]
    return [*refs, *(ref for ref in (card.node, card.entry) if ref is not None)]


def places_of_key(card: Card, key: str) -> list[SourceRef]:
    """Returns the places that a call runs if this is its highest key: the key's kernel and what the kernel calls."""
    return [ref for row in card.keys if key in row.keys for ref in _row_refs(row)]


def _row_refs(row: KeyRow) -> Iterator[SourceRef]:
    """Yields the places of everything that a key runs."""
    yield row.body
    for target in row.targets:
        yield target.source
        yield from _stub_refs(target.stubs)
    yield from _stub_refs(row.stubs)


def _stub_refs(stubs: Iterable[Stubbed]) -> Iterator[SourceRef]:
    for stubbed in stubs:
        yield stubbed.stub.source
        yield from (kernel.source for kernel in stubbed.stub.kernels)
