"""What became of each operator between two rungs, from records."""

from __future__ import annotations

from ptexplore.model.options import TraceOptions
from ptexplore.model.rungs import (
    LadderRungs,
    LoweredSubject,
    LowerRun,
    Rung,
    RungFailure,
    RungLink,
    RungName,
    RungOperator,
)
from ptexplore.model.trace import TorchInfo
from ptexplore.resolve.lowering import conclude_rungs, step_between


def made(name: RungName, *operators: tuple[str, str, tuple[str, ...]], above: RungName | None = None) -> Rung:
    """A rung with operators: name, what is called, and the names of those above that it was made from."""
    records = tuple(
        RungOperator(own, called, sources=tuple(RungLink(above, source) for source in sources) if above else ())
        for own, called, sources in operators
    )
    return Rung(name, len(records), records, links_to=above)


EXPORT = made(
    "export", ("a", "aten.linear", ()), ("b", "aten.relu", ()), ("c", "aten.add_", ()), ("d", "aten.clone", ())
)
FUNCTIONAL = made(
    "functional",
    ("a", "aten.linear", ("a",)), ("b", "aten.relu", ("b",)), ("c", "aten.add", ("c",)), ("e", "aten.copy", ()),
    above="export",
)  # fmt: skip
CORE = made(
    "core",
    ("p", "aten.permute", ("a",)), ("m", "aten.addmm", ("a",)), ("b", "aten.relu", ("b",)), ("c", "aten.add", ("c",)),
    above="functional",
)  # fmt: skip


def run_of(*rungs: Rung) -> LowerRun:
    """A run with these rungs."""
    return LowerRun(
        expression="f(x)", torch=TorchInfo("2.13.0"), options=TraceOptions(), bound=(),
        ladder=LadderRungs(LoweredSubject(""), rungs),
    )  # fmt: skip


def test_what_became_of_each_operator() -> None:
    report = conclude_rungs(run_of(EXPORT, FUNCTIONAL, CORE))
    first, second = report.steps
    assert [operator.outcome for operator in first.operators] == ["same", "same", "replaced", "removed"]
    assert (first.added, first.changed) == (("e",), 3)
    assert [operator.outcome for operator in second.operators] == ["decomposed", "same", "same", "removed"]
    assert second.operators[0].into == ("p", "m")


def test_a_step_over_several_rungs_follows_all_links() -> None:
    step = step_between((EXPORT, FUNCTIONAL, CORE), "export", "core")
    assert step is not None
    assert {operator.name: operator.into for operator in step.operators} == {
        "a": ("p", "m"), "b": ("b",), "c": ("c",), "d": (),
    }  # fmt: skip
    assert step.operators[2].outcome == "replaced"


def test_equal_names_are_no_link() -> None:
    """Rungs whose operators torch does not link have no step, whatever the operators are called."""
    aten = made("aten", ("a", "aten.linear", ()), ("b", "aten.relu", ()))
    assert step_between((aten, EXPORT), "aten", "export") is None
    assert conclude_rungs(run_of(aten, EXPORT)).steps == ()


def test_links_in_a_circle_end() -> None:
    """A saved file may say anything."""
    first = made("export", ("a", "aten.relu", ("b",)), above="functional")
    second = made("functional", ("b", "aten.relu", ("a",)), above="export")
    assert step_between((first, second), "core", "functional") is None
    assert step_between((first, second), "aten", "functional") is None


def test_a_rung_that_was_not_made_has_no_step() -> None:
    failed = Rung("functional", failure=RungFailure("raised"), links_to="export")
    assert conclude_rungs(run_of(EXPORT, failed)).steps == ()
    assert step_between((EXPORT, failed), "export", "functional") is None
