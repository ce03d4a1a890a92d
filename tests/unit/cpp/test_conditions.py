"""`#if` conditions with three values: what the wheel tells decides, everything else stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.cpp.conditions import _TARGETS, Conditions, conditions
from ptexplore.source.runtime.describe import find_runtime
from ptexplore.source.tree import runtime_tree
from tests.faults import keeps_back
from tests.harness import TARGET

KNOWN = Conditions(
    {"ON": "1", "EMPTY": "", "VERSION": "0x030B07F0", "HAS_ON()": "1", "CHAIN": "ON", "LOOP": "LOOP"},
    frozenset({"OFF"}),
)


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("defined(ON)", True),
        ("defined ON", True),
        ("!defined(ON)", False),
        ("defined(EMPTY)", True),
        ("EMPTY", None),
        ("OFF", False),
        ("defined(OFF)", False),
        ("ELSE", None),
        ("defined(ELSE)", None),
        ("ELSE || ON", True),
        ("ON || ELSE", True),
        ("ELSE && OFF", False),
        ("ELSE && ON", None),
        ("!(HAS_ON())", False),
        ("HAS_OTHER()", None),
        ("defined(HAS_ON)", True),
        ("CHAIN", True),
        ("LOOP", None),
        ("VERSION >= 0x030B00A1", True),
        ("VERSION < 0x030B00A1 || OFF", False),
        ("(1 + 2) * 3 == 9", True),
        ("1 << 3 == 8", True),
        ("1 << 9999", None),
        ("-1 < 0 && !0", True),
        ("__has_include(<a/b.h>)", None),
        ("1'000 == 1000UL", True),
        ("", None),
        ("(", None),
        ("1 +", None),
        ("defined", None),
        ("a b", None),
        ("1 ? 2 : 3", None),
        ("(" * 3000, None),
    ],
)
def test_one_condition(condition: str, expected: bool | None) -> None:
    assert KNOWN.holds((condition,), "aten/src/ATen/native/x.cpp") is expected


def test_several_conditions_and_cuda_files() -> None:
    known = Conditions({}, frozenset({"OFF", "__CUDACC__"}))
    assert known.holds((), "x.cpp") is True
    assert known.holds(("ELSE", "OFF"), "x.cpp") is False
    assert known.holds(("ELSE", "!OFF"), "x.cpp") is None
    assert known.holds(("defined(__CUDACC__)",), "x.cpp") is False
    assert known.holds(("defined(__CUDACC__)",), "x.cu") is None


def test_the_installed_torch_tells() -> None:
    runtime = find_runtime(TARGET)
    known = conditions(runtime, runtime_tree(runtime))
    assert known.holds(("AT_BUILD_WITH_LAPACK()",), "x.cpp") is True
    assert known.holds(("IS_PYTHON_3_11_PLUS || PY_VERSION_HEX < 0x030B00C1",), "x.cpp") is True
    assert known.holds(("defined(_WIN32)",), "x.cpp") is False
    assert known.holds(("defined(NO_WHEEL_SAYS_ANYTHING_OF_THIS)",), "x.cpp") is None
    assert known.holds((), "aten/src/ATen/native/mps/operations/View.mm") is False
    assert known.holds((), "aten/src/ATen/native/cuda/Sort.cpp") is (
        "cuda" in runtime.accelerators or "hip" in runtime.accelerators
    )


def test_what_it_was_compiled_with_is_not_guessed_where_a_bad_disk_keeps_that_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime = find_runtime(TARGET)
    keeps_back(monkeypatch, Path(runtime.torch_dir) / _TARGETS)
    with pytest.raises(OSError, match="Input/output error"):
        conditions(runtime, runtime_tree(runtime))
