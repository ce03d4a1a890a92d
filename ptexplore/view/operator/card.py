"""An operator's card: everything the catalogue knows of one overload, in the order a reader asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.cpp.matching import Wanted
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.operators import Binding, Derivative, Operator, PythonKernel
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.resolve.dispatch.kernel_bodies import caller, kernel_body, registration_of
from ptexplore.resolve.keyset import backend_of
from ptexplore.resolve.places.declared import find as find_declaration
from ptexplore.resolve.places.declared import parameters
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime, unknown
from ptexplore.resolve.places.stubs import Called, Stub, Stubs
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark

# Keys a reader meets on a stock CPU or CUDA machine come first; the others follow in priority order.
_NAMED = 4  # keys of a row that are named
COMMON = ("AutogradCPU", "CPU", "AutogradCUDA", "CUDA", "Meta", "SparseCPU", "QuantizedCPU", "MkldnnCPU")


@dataclass(frozen=True, slots=True)
class KeyRow:
    """What one or several dispatch keys run: the kernel, the table's reason, where it is registered and defined."""

    keys: tuple[str, ...]
    reason: str
    kernel: str
    body: SourceRef
    registration: SourceRef
    targets: tuple[CalledFunction, ...] = ()
    entry: SourceRef | None = None  # the op's own m.impl, where that is hand-written
    stubs: tuple[Stubbed, ...] = ()  # called by a hand-written kernel itself

    @property
    def is_common(self) -> bool:
        """Whether one of its keys is one that most readers ask about."""
        return any(key in COMMON for key in self.keys)

    @property
    def shown_keys(self) -> tuple[str, ...]:
        """The keys to name where there is no room for many."""
        few = tuple(key for key in self.keys if key in COMMON) or self.keys[:2]
        return self.keys if len(self.keys) <= _NAMED else few


@dataclass(frozen=True, slots=True)
class Stubbed:
    """A dispatch stub that a body calls, and the kernels that the device of the row's first key gets."""

    called: Called
    stub: Stub


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """A function that a generated wrapper calls: its definition, its declaration, the stubs its body calls."""

    name: str
    source: SourceRef
    declaration: SourceRef | None = None
    stubs: tuple[Stubbed, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """One overload. `asked` is how the user named it; `siblings` are the other overloads of that name."""

    operator: Operator
    asked: str
    yaml: SourceRef
    entry: SourceRef
    keys: tuple[KeyRow, ...]
    fallthrough: tuple[str, ...]
    derivative: Derivative | None
    formulas: SourceRef | None  # the derivative's entry; each formula has a line of its own in it
    node: SourceRef | None
    bindings: tuple[tuple[str, Binding, SourceRef], ...]
    python: tuple[tuple[PythonKernel, SourceRef], ...]
    siblings: tuple[str, ...]
    trees: tuple[TreeInfo, ...] = ()
    notes: tuple[Mark, ...] = ()  # stops about its entry, or about what its keys run

    @property
    def common(self) -> tuple[KeyRow, ...]:
        """The rows of common keys; all of them if there are none."""
        return tuple(row for row in self.keys if row.is_common) or self.keys


def find_operator(store: Store, asked: str) -> tuple[Operator, list[str]]:
    """The overload that a user's name means, and its siblings.

    Accepts `add`, `add.Tensor`, `aten::add.Tensor`, `torch.add`, `Tensor.add_`, `F.conv2d` and its full name.
    Raises PtexploreError (usage) with the closest names where there is none.
    """
    asked = _plain(asked)
    exact = store.operator(asked) or store.operator(f"aten::{asked}")
    names = [exact.name] if exact else _named(store, asked)
    if not names:
        close = store.suggest(asked, 5)
        hint = f"ptexplore op {close[0]}" if close else "ptexplore op add"
        why = f"the closest are {', '.join(close)}" if close else "no operator has a name like it"
        raise PtexploreError(f"there is no operator {asked}", why, hint, USAGE)
    chosen = exact or store.operator(_preferred(names))
    assert chosen is not None
    family = [o.name for o in store.operators_named(chosen.base) if o.namespace == chosen.namespace]
    return chosen, sorted({*family, *names} - {chosen.name})


def _plain(asked: str) -> str:
    """`torch.ops.aten.add.Tensor` and `aten.add.default` as the dispatcher writes them."""
    name = asked.removeprefix("torch.ops.")
    if name != asked and "." in name:
        name = name.replace(".", "::", 1)
    return name.removesuffix(".default") if "::" in name else name


def _named(store: Store, asked: str) -> list[str]:
    operators = [o.name for o in store.operators_named(asked.rsplit("::", maxsplit=1)[-1])]
    if "::" in asked:
        operators = [o for o in operators if o.startswith(asked.split("::", maxsplit=1)[0] + "::")]
    if operators and "." not in asked:
        aten = [o for o in operators if o.startswith("aten::")]
        return aten or operators
    for full in _python_spellings(asked):
        name = store.python_name(full)
        if name is not None and name.table and name.method:
            row = store.binding(name.table, name.method)
            if row is not None and row.ops:
                return list(row.ops)
            return [o.name for o in store.operators_named(name.method)]
        if name is not None:
            return [o.name for o in store.operators_named(asked.rsplit(".", 1)[-1])]
    return []


def _python_spellings(asked: str) -> list[str]:
    spellings = [asked, f"torch.{asked}"]
    if asked.startswith("F."):
        spellings.append(f"torch.nn.functional.{asked[2:]}")
    if asked.startswith("nn."):
        spellings.append(f"torch.{asked}")
    return spellings


def _preferred(names: Iterable[str]) -> str:
    """Of a family the overload most people mean: the functional one on tensors."""

    def rank(name: str) -> tuple[bool, bool, bool, str]:
        overload = name.partition(".")[2]
        return ("out" in overload, overload not in ("Tensor", "", "default"), overload != "Tensor", name)

    return min(names, key=rank)


def card(lookup: Lookup, asked: str, stubs: Stubs | None = None) -> Card:
    """Gather the card of the operator that `asked` names. `stubs` of the same lookup may serve many cards."""
    store, tree = lookup.store, lookup.tree
    operator, siblings = find_operator(store, asked)
    derivative = store.derivative(operator.name)
    node = None
    if derivative is not None and derivative.apply_path:
        node = in_runtime(tree, derivative.apply_path, derivative.apply_line, derivative.apply_end)
    keys, fallthrough = _keys(lookup, operator, stubs or Stubs(lookup))
    return Card(
        operator=operator,
        asked=asked,
        yaml=_yaml(tree, operator),
        entry=in_runtime(tree, operator.call_path, operator.call_line)
        if operator.call_path
        else unknown("no at::_ops entry point"),
        keys=keys,
        fallthrough=fallthrough,
        derivative=derivative,
        formulas=in_runtime(tree, derivative.path, derivative.line, derivative.end_line) if derivative else None,
        node=node,
        bindings=tuple(_bindings(store, tree, operator)),
        python=tuple(
            (k, in_runtime(tree, k.path, k.line, k.end_line) if k.path else unknown("no file"))
            for k in store.python_kernels(operator.name)
        ),
        siblings=tuple(siblings),
        trees=lookup.infos,
    )


def _yaml(tree: SourceTree, operator: Operator) -> SourceRef:
    if operator.yaml_path and operator.yaml_line:
        return in_runtime(tree, operator.yaml_path, operator.yaml_line, operator.yaml_end)
    reason = "torchgen made this overload itself" if operator.autogen else "not from native_functions.yaml"
    return unknown(reason)


def _keys(lookup: Lookup, operator: Operator, stubs: Stubs) -> tuple[tuple[KeyRow, ...], tuple[str, ...]]:
    """Keys grouped by what they run; keys that only fall through are named apart."""
    rows: list[KeyRow] = []
    fallthrough: list[str] = []
    for entry in lookup.store.table(operator.name):
        if entry.fallthrough:
            fallthrough += entry.keys
            continue
        key = entry.keys[0]
        registration = registration_of(lookup.store, operator.name, key, entry)
        body = kernel_body(lookup, registration, entry, key)
        device = _device(entry.keys)
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
    return tuple(sorted(rows, key=_rank)), tuple(fallthrough)


def _device(keys: Iterable[str]) -> str | None:
    """The backend of the keys a reader meets first."""
    first = next((k for k in COMMON if k in keys), None)
    return backend_of(first or next(iter(keys)))


def _target(
    lookup: Lookup, stubs: Stubs, symbol: str, call: tuple[str, int] | None, device: str | None
) -> CalledFunction:
    declared = find_declaration(lookup.tree, symbol, call)
    types = parameters(lookup.tree, declared, call) if lookup.sources else None
    source = lookup.function(symbol, Wanted(types))
    return CalledFunction(symbol, source, declared, _stubs(stubs, source, device))


def _stubs(stubs: Stubs, body: SourceRef, device: str | None) -> tuple[Stubbed, ...]:
    found = ((called, stubs.stub(called.stub, device)) for called in (stubs.called(body) if device else ()) if device)
    return tuple(Stubbed(called, stub) for called, stub in found if stub is not None)


def _rank(row: KeyRow) -> int:
    return min((COMMON.index(k) for k in row.keys if k in COMMON), default=len(COMMON))


def _bindings(store: Store, tree: SourceTree, operator: Operator) -> Iterable[tuple[str, Binding, SourceRef]]:
    for row in store.bindings_for(operator.name):
        names = store.python_names_for(row.table, row.name)
        shown = ", ".join(n.name for n in names[:3]) or f"{row.table}.{row.name}"
        yield shown, row, in_runtime(tree, row.path, row.line, row.end_line)
