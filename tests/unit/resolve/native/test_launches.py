"""Of which devices nobody told what was launched there: those that were used, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.model.trace import ResultInfo
from ptexplore.resolve.native import launches
from tests.unit.resolve.making import Small, session


@pytest.mark.parametrize(
    ("kind", "data", "is_said"),
    [
        (None, {}, True),  # a trace of an older version
        ("launches", {"device": "cuda"}, False),
        ("idle", {"devices": ["cuda", "xpu"]}, False),
        ("idle", {"devices": ["xpu"]}, True),
    ],
    ids=["nothing told", "told", "never used", "another never used"],
)
def test_a_device_that_was_never_used_launched_nothing(
    small: Small, kind: str | None, data: dict[str, object], is_said: bool
) -> None:
    made = session(more=[("ops", kind, data)] if kind is not None else [])
    context = small.context(replace(made, result=ResultInfo("FakeTensor", "FakeTensor[2] float32 cuda:0")))
    launches.place(context, ())
    assert [finding.kind for finding, _ in context.findings] == ["launches"] * is_said
