"""Concludes the state of an operator on each rung, and whether the operator is Core ATen.

The order of the reasons is the order of torch. The composite kernel, in C++ or in Python, runs above autograd.
Functionalization runs before a table of decompositions is read. Inductor lowers the remaining operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptexplore.model import ladder as says
from ptexplore.model.decompositions import TABLES, DecompositionFunction, DecompositionPart, Decompositions, TableName
from ptexplore.model.ladder import (
    CoreAnswer,
    CoreReason,
    LadderRung,
    LadderTable,
    ListedOperator,
    OperatorLadder,
    OperatorList,
    OperatorSet,
    RungState,
)
from ptexplore.model.operators import Operator, PythonKernel, TableEntry, dispatcher_name
from ptexplore.model.places import SourceRef, place_reasons
from ptexplore.resolve.dispatch.kernel_bodies import caller, kernel_body, registration_of
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime, unknown
from ptexplore.store.catalogue.reader import Store

COMPOSITE, AUTOGRAD, META = "CompositeImplicitAutograd", "Autograd", "Meta"
PRIMS = ("prims", "rngprims", "inductor_prims", "debugprims")  # namespaces of prims
_HIGHER_ORDER = "higher_order"
# The dispatcher's own words, OperatorEntry::computeDispatchTableEntryWithDebug.
_OF_COMPOSITE, _OF_VMAP, _OWN = "math kernel", "batched kernel", "kernel"
_VMAP = "FuncTorchBatched"
# Common keys: another kernel for such a key is named.
_NAMED_KEYS = ("CPU", "CUDA", "MPS", "XPU", "NestedTensorCPU", "NestedTensorCUDA", "SparseCPU", "MkldnnCPU", "Meta")


# --- Core ATen ---


def core_answers(store: Store, names: Sequence[str], tables: Decompositions | None) -> tuple[CoreAnswer, ...]:
    """Returns for each operator whether it is Core ATen, and why, in the order of `names`.

    A name has its overload: "aten::add.Tensor", or "aten.add.Tensor". Without `tables` the answer is the tag.
    """
    return tuple(core_answer(store, name, tables) for name in map(dispatcher_name, names))


def core_answer(store: Store, name: str, tables: Decompositions | None) -> CoreAnswer:
    """Returns whether the operator with this full name is Core ATen, and why."""
    namespace = name.partition("::")[0]
    operator = store.operator(name)
    if operator is not None and operator.core:
        return CoreAnswer(name, True, _with_tag(store, operator, tables))
    if namespace == _HIGHER_ORDER:
        return CoreAnswer(name, False, says.IsHigherOrder())
    if "::" not in name or (operator is None and namespace == "aten"):
        return CoreAnswer(name, None, says.IsNoOperator())
    if namespace in PRIMS:
        return CoreAnswer(name, False, says.IsPrim(namespace=namespace))
    if namespace != "aten" or operator is None:
        return CoreAnswer(name, False, says.IsCustom(namespace=namespace))
    return CoreAnswer(name, False, _without_tag(store, operator, tables))


def _with_tag(store: Store, operator: Operator, tables: Decompositions | None) -> CoreReason:
    if tables is None or "export" in tables.unknown or "kept" in tables.unknown:
        return says.HasCoreTag()
    state = _at_export(_Facts(store, operator, tables))
    if isinstance(state, says.ReplacedByPython | says.TracedInPython):
        return says.CoreYetReplaced(function=state.function)
    if isinstance(state, says.DecomposedBefore):
        return says.CoreYetReplaced(function="")
    return says.HasCoreTag()


def _without_tag(store: Store, operator: Operator, tables: Decompositions | None) -> CoreReason:
    written = mutated(operator)
    facts = _Facts(store, operator, tables)
    if facts.is_composite and (tables is None or not _keeps(tables, operator.name)):
        by_dispatcher = facts.python_kernel
        return says.IsComposite(function=by_dispatcher.function if by_dispatcher is not None else "")
    if written:
        return says.Mutates(arguments=written)
    if tables is None:
        return says.HasNoTag()
    if facts.is_composite:
        return says.IsKeptComposite()
    if facts.python_kernel is not None:
        return says.DecomposedInTracing(function=facts.python_kernel.function)
    entry = tables.entry("export", operator.name)
    if entry is not None:
        return says.InDefaultTable(function=entry.name, declines=entry.declines)
    if "export" in tables.unknown:
        return says.HasNoTag()
    registered = tables.entry("registered", operator.name)
    return says.HasNoDecomposition(registered=registered.name if registered is not None else "")


def mutated(operator: Operator) -> tuple[str, ...]:
    """Returns the arguments that an operator writes to, by its schema."""
    marks = (mark.partition(": ") for mark in operator.aliases)
    return tuple(name for name, _, mark in marks if "!" in mark and not name.startswith("->"))


def _keeps(tables: Decompositions, op: str) -> bool:
    """Whether run_decompositions() keeps an operator with a composite kernel."""
    return "export" not in tables.unknown and op in tables.kept and op not in tables.tables["export"]


# --- the rungs ---


class _Facts:
    """The facts about one operator, for all rungs."""

    def __init__(self, store: Store, operator: Operator, tables: Decompositions | None) -> None:
        self.operator = operator
        self.name = operator.name
        self.tables = tables
        self._kernels = [k for k in store.python_kernels(operator.name) if k.role == "kernel"]
        self.is_composite = operator.name in tables.composite if tables is not None else self._has_composite(store)

    def _has_composite(self, store: Store) -> bool:
        """Whether the operator has a composite kernel, by the catalogue."""
        registered = any(r.key == COMPOSITE and not r.inactive for r in store.registrations(self.name))
        return registered or self._of_key(COMPOSITE) is not None

    @property
    def answers_shape(self) -> bool:
        """Whether the result is only a symbolic size, by the schema: sym_size, sym_stride, sym_numel."""
        result = self.operator.schema.rpartition(" -> ")[2]
        return self.is_composite and "Sym" in result and "Tensor" not in result

    def _of_key(self, key: str) -> PythonKernel | None:
        return next((kernel for kernel in self._kernels if kernel.key == key), None)

    @property
    def python_kernel(self) -> PythonKernel | None:
        """The function that Python's dispatcher runs in place of autograd's kernel or the composite kernel."""
        return self._of_key(COMPOSITE) or self._of_key(AUTOGRAD)


def ladder(lookup: Lookup, operator: Operator, tables: Decompositions) -> OperatorLadder:
    """Returns the state of an operator on each rung, with the places of functions and kernels."""
    return OperatorLadder(
        core=core_answer(lookup.store, operator.name, tables),
        rungs=tuple(_Climb(lookup, operator, tables).rungs()),
        tables=tuple(_tables(lookup, operator.name, tables)),
        unknown=tuple(tables.unknown.items()),
    )


def _tables(lookup: Lookup, op: str, tables: Decompositions) -> Iterator[LadderTable]:
    """Yields the tables of this torch, with what each has for an operator."""
    for name in TABLES:
        if name in tables.tables:
            entry = tables.entry(name, op)
            function = entry.name if entry is not None else ""
            yield _table(lookup, name, tables, len(tables.tables[name]), function, has=op in tables.tables[name])
    if "lowerings" not in tables.unknown:
        lowering = tables.lowerings.get(op)
        number = lowering.function if lowering is not None else None
        function = tables.functions[number].name if number is not None else ""
        yield _table(lookup, "lowerings", tables, len(tables.lowerings), function, has=lowering is not None)
    if "refs" not in tables.unknown:
        named = {name: tables.refs[name] for name in _python_names(lookup.store, op) if name in tables.refs}
        function = ", ".join(dict.fromkeys(tables.functions[number].name for number in named.values()))
        yield _table(lookup, "refs", tables, len(tables.refs), function, has=bool(named))


def _python_names(store: Store, op: str) -> Iterator[str]:
    """Yields the public Python names of the builtins that call an operator."""
    for binding in store.bindings_for(op):
        yield from (name.name for name in store.python_names_for(binding.table, binding.name))


def _table(
    lookup: Lookup, name: DecompositionPart, tables: Decompositions, operators: int, function: str, *, has: bool
) -> LadderTable:
    user = tables.user(name)
    place = function_place(lookup, user) if user is not None else None
    return LadderTable(name, operators, function, has, user.name if user is not None else "", place)


class _Climb:
    """Makes the rungs of one operator."""

    def __init__(self, lookup: Lookup, operator: Operator, tables: Decompositions) -> None:
        self.lookup = lookup
        self.operator = operator
        self.tables = tables
        self.facts = _Facts(lookup.store, operator, tables)
        self.entries = lookup.store.table(operator.name)

    def rungs(self) -> Iterator[LadderRung]:
        composite = next((entry for entry in self.entries if entry.reason == _OF_COMPOSITE), None)
        eager = self._eager(composite)
        yield eager
        yield from self._vmap(eager)
        yield from self._forward_ad()
        yield self._replaced("export", _at_export(self.facts))
        yield self._prims()
        yield from self._refs()
        inductor = _at_inductor(self.facts)
        yield self._replaced("inductor", inductor)
        if reaches_lowering(inductor) or getattr(inductor, "declines", False):
            lowering = lowering_of(self.tables, self.operator.name)
            yield LadderRung("lowering", lowering, self._place(self._lowering()), reaches_lowering(inductor))
        yield from self._meta()

    def _eager(self, composite: TableEntry | None) -> LadderRung:
        if composite is None:
            return LadderRung("eager", says.RunsKernel())
        own = {key for entry in self.entries if entry.reason == _OWN and not entry.fallthrough for key in entry.keys}
        keys = tuple(key for key in _NAMED_KEYS if key in own)
        kernel, place = self._body(composite, composite.keys[0])
        return LadderRung("eager", says.ReplacedByComposite(kernel=kernel, keys=keys), place)

    def _vmap(self, eager: LadderRung) -> Iterator[LadderRung]:
        """Yields the rung if vmap decomposes the operator. Batching rules are no decompositions.

        The function has the signature of the operator. So it is the overload that the composite kernel calls, if the
        names are equal.
        """
        entry = next((entry for entry in self.entries if _VMAP in entry.keys), None)
        if entry is not None and entry.reason == _OF_VMAP:
            kernel, place = self._body(entry, _VMAP)
            is_same = isinstance(eager.state, says.ReplacedByComposite) and eager.state.kernel == kernel
            yield LadderRung("vmap", says.ReplacedByComposite(kernel=kernel), eager.place if is_same else place)

    def _forward_ad(self) -> Iterator[LadderRung]:
        """Yields the rung if forward-mode AD runs a decomposition, because the operator has no formula."""
        function = self.tables.entry("forward-ad", self.operator.name)
        if function is not None:
            state = says.ReplacedByPython(function=function.name, declines=function.declines)
            yield LadderRung("forward-ad", state, self._place(function))

    def _prims(self) -> LadderRung:
        name = self.operator.name
        if name.partition("::")[0] in PRIMS:
            return LadderRung("prims", says.IsKept())
        if "registered" in self.tables.unknown:
            return LadderRung("prims", _not_known(self.tables, "registered"))
        function = self.tables.entry("registered", name)
        if function is not None:
            state = says.ReplacedByPython(function=function.name, declines=function.declines)
            return LadderRung("prims", state, self._place(function))
        return LadderRung("prims", says.DecomposedBefore() if self.facts.is_composite else says.IsKept())

    def _refs(self) -> Iterator[LadderRung]:
        """Yields a rung for each function that runs for a Python name, and not for the operator."""
        tables = self.tables
        by_function: dict[int, list[str]] = {}
        for name in _python_names(self.lookup.store, self.operator.name):
            if name in tables.refs:
                by_function.setdefault(tables.refs[name], []).append(name)
        registered = tables.entry("registered", self.operator.name)
        for number, names in by_function.items():
            function = tables.functions[number]
            if registered is None or registered.name != function.name:
                state = says.ReplacedByRef(function=function.name, names=tuple(dict.fromkeys(names)))
                yield LadderRung("refs", state, self._place(function))

    def _meta(self) -> Iterator[LadderRung]:
        entry = next((entry for entry in self.entries if META in entry.keys and not entry.fallthrough), None)
        if entry is not None and entry.reason != _OF_COMPOSITE:
            kernel, place = self._body(entry, META)
            function = next((k for k in self.lookup.store.python_kernels(self.operator.name) if k.key == META), None)
            state: RungState = says.RunsKernel()
            if function is not None and function.function == kernel:
                state = says.ReplacedByPython(function=kernel)
            yield LadderRung("meta", state, place)

    def _replaced(self, rung: TableName, state: RungState) -> LadderRung:
        assert rung in ("export", "inductor")
        if isinstance(state, says.TracedInPython):
            kernel = self.facts.python_kernel
            place = self._kernel_place(kernel) if kernel is not None else None
            return LadderRung(rung, state, place)
        if isinstance(state, says.ReplacedByPython):
            return LadderRung(rung, state, self._place(self.tables.entry(rung, self.operator.name)))
        return LadderRung(rung, state)

    def _body(self, entry: TableEntry, key: str) -> tuple[str, SourceRef]:
        """Returns the hand-written function behind an entry of the dispatch table, else the generated wrapper."""
        registration = registration_of(self.lookup.store, self.operator.name, key, entry)
        if registration is not None and registration.target and registration.target_kind == "native":
            return registration.target, self.lookup.definition(registration.target, caller(registration))
        body = kernel_body(self.lookup, registration, entry, key)
        return body.name, body.source

    def _lowering(self) -> DecompositionFunction | None:
        lowering = self.tables.lowerings.get(self.operator.name)
        if lowering is None or lowering.function is None:
            return None
        return self.tables.functions[lowering.function]

    def _place(self, function: DecompositionFunction | None) -> SourceRef | None:
        return function_place(self.lookup, function) if function is not None else None

    def _kernel_place(self, kernel: PythonKernel) -> SourceRef:
        if kernel.path is None:
            return unknown(place_reasons.NoFileOfKernel())
        return in_runtime(self.lookup.tree, kernel.path, kernel.line, kernel.end_line)


def function_place(lookup: Lookup, function: DecompositionFunction) -> SourceRef:
    """Returns the place of a function that a table has."""
    if function.path is None:
        return unknown(place_reasons.NoFileOfKernel())
    return in_runtime(lookup.tree, function.path, function.line, function.end_line)


def _at_export(facts: _Facts) -> RungState:
    """Returns what run_decompositions() does with its default table."""
    tables, name = facts.tables, facts.name
    assert tables is not None
    if "export" in tables.unknown or "kept" in tables.unknown:
        return _not_known(tables, "export" if "export" in tables.unknown else "kept")
    entry = tables.entry("export", name)
    if facts.answers_shape:
        return says.AnswersShape()
    if facts.is_composite:
        if name not in tables.kept:
            return _in_tracing(facts)
        if name not in tables.tables["export"]:
            return says.IsKeptWhole()
        return _by_python(entry) if entry is not None else says.DecomposedBefore()
    return _at_table(facts, entry)


def _at_inductor(facts: _Facts) -> RungState:
    """Returns the decomposition of an operator before Inductor's lowerings."""
    tables = facts.tables
    assert tables is not None
    if "inductor" in tables.unknown:
        return _not_known(tables, "inductor")
    if facts.answers_shape:
        return says.AnswersShape()
    if facts.is_composite:
        return _in_tracing(facts)
    return _at_table(facts, tables.entry("inductor", facts.name))


def _in_tracing(facts: _Facts) -> RungState:
    """Returns the decomposition of a composite operator while torch traces."""
    kernel = facts.python_kernel
    if kernel is not None:
        return says.TracedInPython(function=kernel.function)
    return says.DecomposedBefore()


def _at_table(facts: _Facts, entry: DecompositionFunction | None) -> RungState:
    if facts.python_kernel is not None:
        return says.TracedInPython(function=facts.python_kernel.function)
    if mutated(facts.operator):
        return says.MadeFunctional()
    return _by_python(entry) if entry is not None else says.IsKept()


def _by_python(entry: DecompositionFunction) -> RungState:
    return says.ReplacedByPython(function=entry.name, declines=entry.declines)


def _not_known(tables: Decompositions, part: DecompositionPart) -> RungState:
    return says.IsUnknown(part=part, error=tables.unknown[part])


def lowering_of(tables: Decompositions, op: str) -> RungState:
    """Returns what Inductor does with an operator that reaches its lowerings."""
    if "lowerings" in tables.unknown:
        return _not_known(tables, "lowerings")
    lowering = tables.lowerings.get(op)
    if lowering is None:
        return says.IsNotLowered()
    if lowering.function is None:
        return says.IsCalledWhole()
    return says.IsLowered(function=tables.functions[lowering.function].name, falls_back=lowering.falls_back)


def reaches_lowering(inductor: RungState) -> bool:
    """Whether an operator with this state before Inductor's lowerings always reaches them."""
    return isinstance(inductor, says.IsKept | says.IsKeptWhole | says.AnswersShape | says.IsUnknown)


# --- lists ---


def operator_list(lookup: Lookup, of: OperatorSet, tables: Decompositions, limit: int | None) -> OperatorList:
    """Returns the operators with the tag `core`, or the prims, sorted by name; at most `limit`."""
    rows = []
    for operator in lookup.store.operators():
        namespace = operator.name.partition("::")[0]
        if operator.core if of == "core" else namespace in PRIMS:
            rows.append(_listed(lookup, operator, tables))
    known = {row.name for row in rows}
    for later in tables.later:
        namespace = later.name.partition("::")[0]
        if later.name not in known and ("core" in later.tags if of == "core" else namespace in PRIMS):
            rows.append(_listed(lookup, Operator(later.name, "", (), later.tags), tables, later=True))
    rows.sort(key=lambda row: row.name)
    outcomes = [_outcome(row) for row in rows]
    is_known = not any(isinstance(outcome, says.IsUnknown) for outcome in outcomes)
    lowered = sum(not isinstance(outcome, says.IsCalledWhole | says.IsNotLowered) for outcome in outcomes)
    return OperatorList(
        of, tuple(rows[:limit]), len(rows), lowered if is_known else None, tuple(tables.unknown.items())
    )


def _outcome(row: ListedOperator) -> RungState:
    kept = says.IsKept | says.IsKeptWhole | says.AnswersShape
    return row.lowering if isinstance(row.inductor, kept) else row.inductor


def _listed(lookup: Lookup, operator: Operator, tables: Decompositions, *, later: bool = False) -> ListedOperator:
    facts = _Facts(lookup.store, operator, tables)
    inductor = _at_inductor(facts)
    lowering = tables.lowerings.get(operator.name)
    function = tables.entry("inductor", operator.name) if isinstance(inductor, says.ReplacedByPython) else None
    if function is None and reaches_lowering(inductor) and lowering is not None and lowering.function is not None:
        function = tables.functions[lowering.function]
    place = function_place(lookup, function) if function is not None else None
    state = lowering_of(tables, operator.name)
    return ListedOperator(operator.name, _at_export(facts), inductor, state, place, later)
