"""What becomes of an operator on each rung, concluded from a few operators and tables that are written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from ptexplore.model import ladder as says
from ptexplore.model.decompositions import (
    DECOMPOSITIONS_FORMAT,
    DecompositionFunction,
    Decompositions,
    LaterOperator,
    Lowering,
)
from ptexplore.model.ladder import CoreReason, RungState
from ptexplore.model.operators import Operator, PythonKernel, Registration
from ptexplore.model.places import place_reasons
from ptexplore.resolve.ladder import (
    _at_export,
    _at_inductor,
    _Facts,
    core_answer,
    core_answers,
    lowering_of,
    mutated,
    operator_list,
)
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.store.catalogue.reader import Store
from ptexplore.store.catalogue.writer import CatalogueWriter
from ptexplore.view.ladder import list_title, listed_text
from ptexplore.view.words.ladder import LISTED_UNKNOWN
from tests.unit.conftest import Mini

COMPOSITE = "CompositeImplicitAutograd"
OPERATORS = (
    Operator("aten::abs", "", (), ("core",), core=True),
    Operator("aten::add_.Tensor", "", ("self: (a!)", "-> (a!)"), ()),
    Operator("aten::view", "", ("self: (a)", "-> (a)"), ("core",), core=True),
    Operator("aten::linear", "", (), ()),
    Operator("aten::square_", "", ("self: (a!)", "-> (a!)"), ()),
    Operator("aten::matmul", "", (), ()),
    Operator("aten::whole", "", (), ()),
    Operator("aten::addcdiv", "", (), ()),
    Operator("aten::add.Scalar", "", (), ("core",), core=True),
    Operator("aten::hardshrink", "", (), ()),
    Operator("aten::fft", "", (), ()),
    Operator("aten::flip", "", (), ()),
    Operator("aten::select_scatter", "", (), ("core",), core=True),
    Operator("aten::sym_size.int", "aten::sym_size.int(Tensor self, int dim) -> SymInt", (), ("core",), core=True),
    Operator("prims::add", "", (), ()),
    Operator("quantized::add", "", (), ()),
)
KERNELS = (
    PythonKernel("aten::matmul", "kernel", "torch._decomp.matmul", "torch/_decomp.py", 5, 9, COMPOSITE),
    PythonKernel("aten::hardshrink", "kernel", "torch._refs.hardshrink", "torch/_refs.py", 7, 9, "Autograd"),
    PythonKernel("aten::flip", "decomposition", "torch._refs.flip", "torch/_refs.py", 9, 11),
)
FUNCTIONS = tuple(
    DecompositionFunction(f"torch._refs.{name}", "torch/_refs.py", line, line + 1, declines)
    for name, line, declines in (("addcdiv", 1, False), ("add", 2, True), ("flip", 9, False), ("lower", 4, False))
)
TABLES = Decompositions(
    format=DECOMPOSITIONS_FORMAT,
    functions=FUNCTIONS,
    tables={
        "registered": {"aten::addcdiv": 0, "aten::flip": 2},
        "export": {
            "aten::addcdiv": 0,
            "aten::linear": None,
            "aten::matmul": None,
            "aten::select_scatter": 2,
            "aten::sym_size.int": None,
        },
        "inductor": {"aten::addcdiv": 0, "aten::add.Scalar": 1, "aten::linear": None, "aten::flip": 2},
    },
    users={},
    lowerings={"aten::abs": Lowering(3), "aten::fft": Lowering(None), "aten::view": Lowering(3, True)},
    refs={},
    composite=frozenset({"aten::linear", "aten::square_", "aten::matmul", "aten::whole", "aten::sym_size.int"}),
    kept=frozenset({"aten::sym_size.int", "aten::linear", "aten::matmul", "aten::whole"}),
    later=(),
    unknown={},
)


def composite(op: str) -> Registration:
    return Registration(op, COMPOSITE, True, False, False, "nofile", None, None, None, False, place_reasons.NotInYaml())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "catalogue.sqlite"
    with CatalogueWriter(path) as writer:
        writer.operators((operator, "") for operator in OPERATORS)
        writer.registrations([composite("aten::linear"), composite("aten::square_"), composite("aten::whole")])
        writer.python_kernels(KERNELS)
    opened = Store.open(path)
    yield opened
    opened.close()


CORE: dict[str, tuple[bool | None, CoreReason]] = {
    "aten::abs": (True, says.HasCoreTag()),
    "aten::view": (True, says.HasCoreTag()),
    "aten::sym_size.int": (True, says.HasCoreTag()),
    "aten::add_.Tensor": (False, says.Mutates(arguments=("self",))),
    "aten::linear": (False, says.IsComposite(function="")),
    "aten::square_": (False, says.IsComposite(function="")),
    "aten::matmul": (False, says.IsComposite(function="torch._decomp.matmul")),
    "aten::whole": (False, says.IsKeptComposite()),
    "aten::addcdiv": (False, says.InDefaultTable(function="torch._refs.addcdiv")),
    "aten::hardshrink": (False, says.DecomposedInTracing(function="torch._refs.hardshrink")),
    "aten::fft": (False, says.HasNoDecomposition()),
    "aten::flip": (False, says.HasNoDecomposition(registered="torch._refs.flip")),
    "aten::select_scatter": (True, says.CoreYetReplaced(function="torch._refs.flip")),
    "prims::add": (False, says.IsPrim(namespace="prims")),
    "quantized::add": (False, says.IsCustom(namespace="quantized")),
    "mylib::op": (False, says.IsCustom(namespace="mylib")),  # registered by a program, so that the catalogue lacks it
    "higher_order::cond": (False, says.IsHigherOrder()),
    "aten::nothing": (None, says.IsNoOperator()),
    "getitem": (None, says.IsNoOperator()),
}


@pytest.mark.parametrize("name", CORE)
def test_an_operator_is_core_aten_or_is_not_for_one_reason(store: Store, name: str) -> None:
    answer = core_answer(store, name, TABLES)
    assert (answer.is_core, answer.reason) == CORE[name]


def test_answers_keep_the_order_and_take_a_graphs_names(store: Store) -> None:
    answers = core_answers(store, ["aten.add_.Tensor", "aten.abs.default", "aten::abs"], TABLES)
    assert [(answer.name, answer.is_core) for answer in answers] == [
        ("aten::add_.Tensor", False),
        ("aten::abs", True),
        ("aten::abs", True),
    ]


def test_without_tables_the_answer_is_what_the_catalogue_knows(store: Store) -> None:
    reasons = {name: core_answer(store, name, None).reason for name in ("aten::addcdiv", "aten::linear", "aten::flip")}
    assert reasons["aten::addcdiv"] == reasons["aten::flip"] == says.HasNoTag()
    assert reasons["aten::linear"] == says.IsComposite(function="")
    assert core_answer(store, "aten::select_scatter", None).reason == says.HasCoreTag()


EXPORT: dict[str, RungState] = {
    "aten::abs": says.IsKept(),
    "aten::view": says.IsKept(),  # a view is no mutation
    "aten::add_.Tensor": says.MadeFunctional(),
    "aten::linear": says.DecomposedBefore(),
    "aten::square_": says.DecomposedBefore(),  # export cannot keep a composite that writes
    "aten::matmul": says.DecomposedBefore(),
    "aten::whole": says.IsKeptWhole(),
    "aten::addcdiv": says.ReplacedByPython(function="torch._refs.addcdiv"),
    "aten::hardshrink": says.TracedInPython(function="torch._refs.hardshrink"),
    "aten::flip": says.IsKept(),
    "aten::sym_size.int": says.AnswersShape(),  # torch itself puts it in graphs with symbols
}
INDUCTOR: dict[str, RungState] = {
    "aten::add.Scalar": says.ReplacedByPython(function="torch._refs.add", declines=True),
    "aten::matmul": says.TracedInPython(function="torch._decomp.matmul"),
    "aten::whole": says.DecomposedBefore(),  # only export keeps it
    "aten::flip": says.ReplacedByPython(function="torch._refs.flip"),
    "aten::add_.Tensor": says.MadeFunctional(),
}


def facts(store: Store, name: str, tables: Decompositions = TABLES) -> _Facts:
    operator = store.operator(name)
    assert operator is not None
    return _Facts(store, operator, tables)


@pytest.mark.parametrize("name", EXPORT)
def test_run_decompositions(store: Store, name: str) -> None:
    assert _at_export(facts(store, name)) == EXPORT[name]


@pytest.mark.parametrize("name", INDUCTOR)
def test_inductor_before_its_lowerings(store: Store, name: str) -> None:
    assert _at_inductor(facts(store, name)) == INDUCTOR[name]


def test_lowerings() -> None:
    assert lowering_of(TABLES, "aten::abs") == says.IsLowered(function="torch._refs.lower")
    assert lowering_of(TABLES, "aten::view") == says.IsLowered(function="torch._refs.lower", falls_back=True)
    assert lowering_of(TABLES, "aten::fft") == says.IsCalledWhole()
    assert lowering_of(TABLES, "aten::linear") == says.IsNotLowered()


def test_what_a_torch_cannot_say_is_not_known(store: Store) -> None:
    error = "ImportError: no Inductor"
    tables = structs.replace(TABLES, tables={}, unknown={"export": error, "inductor": error, "lowerings": error})
    assert _at_export(facts(store, "aten::abs", tables)) == says.IsUnknown(part="export", error=error)
    assert _at_inductor(facts(store, "aten::abs", tables)) == says.IsUnknown(part="inductor", error=error)
    assert lowering_of(tables, "aten::abs") == says.IsUnknown(part="lowerings", error=error)
    assert core_answer(store, "aten::abs", tables).reason == says.HasCoreTag()
    assert core_answer(store, "aten::fft", tables).reason == says.HasNoTag()


def test_a_list_counts_what_inductor_lowers(store: Store, mini: Mini) -> None:
    lookup = Lookup(mini.tree, store, (), ())
    listed = operator_list(lookup, "core", TABLES, 2)
    assert [row.name for row in listed.rows] == ["aten::abs", "aten::add.Scalar"]
    assert (listed.total, listed.lowered) == (5, 3)  # nothing lowers select_scatter and sym_size
    without = structs.replace(TABLES, lowerings={}, unknown={"lowerings": "ImportError"})
    listed = operator_list(lookup, "core", without, None)
    assert listed.lowered is None, "no count of what is not known"
    assert listed_text(listed.rows[0]) == LISTED_UNKNOWN
    assert len(list_title(listed)) == 1


def test_prims_that_only_inductor_registers_are_listed(store: Store, mini: Mini) -> None:
    tables = structs.replace(TABLES, later=(LaterOperator("prims::of_inductor"), LaterOperator("quantized::later")))
    rows = operator_list(Lookup(mini.tree, store, (), ()), "prims", tables, None).rows
    assert [(row.name, row.later) for row in rows] == [("prims::add", False), ("prims::of_inductor", True)]


def test_only_arguments_are_written_to() -> None:
    marks = ("self: (a)", "out: (b!)", "-> (b!)")
    assert mutated(replace(OPERATORS[0], aliases=marks)) == ("out",)
