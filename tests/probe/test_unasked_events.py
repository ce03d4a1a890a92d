"""The profile function returns at once for code that nobody asks about, and loses nothing by that."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import weakref
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

torch = pytest.importorskip("torch")


def recorder() -> Any:
    return importlib.import_module("ptexplore.probe.recording").Recorder()


def made(text: str, file: str) -> CodeType:
    return compile(text, file, "exec")


def test_equal_functions_of_two_files_are_two_rows(tmp_path: Path) -> None:
    """Code objects are equal if their text and lines are: Python does not compare the names of their files."""
    scopes: list[dict[str, Any]] = [{"torch": torch}, {"torch": torch}]
    for scope, name in zip(scopes, ("first.py", "second.py"), strict=True):
        exec(made("def forward(x):\n    return torch.neg(x)\n", str(tmp_path / name)), scope)
    assert scopes[0]["forward"].__code__ == scopes[1]["forward"].__code__, "else this tests nothing"
    seen = recorder()
    seen.start()
    try:
        for scope in scopes:
            scope["forward"](torch.ones(2))
    finally:
        seen.stop()
    paths = [path for path in seen.data()["paths"] if path["name"] == "forward"]
    assert [(Path(path["file"]).name, path["calls"]) for path in paths] == [("first.py", 1), ("second.py", 1)]


def test_code_that_a_program_makes_again_and_again_is_kept_once() -> None:
    """And its function is one row."""
    seen = recorder()
    seen.start()
    try:
        for _ in range(50):
            scope: dict[str, Any] = {"torch": torch}
            exec(made("def f(x):\n    return torch.neg(x)\nf(torch.ones(2))\n", "made.py"), scope)
    finally:
        seen.stop()
    (path,) = [path for path in seen.data()["paths"] if path["name"] == "f"]
    assert path["calls"] == 50
    assert sum(code.co_filename == "made.py" and code.co_name == "f" for code in _codes(seen)) == 1


def _codes(seen: Any) -> list[CodeType]:
    """The code objects that the labels keep."""
    return [code for code, _ in seen.calls._labels._by_equal]


def test_a_class_that_the_program_made_is_not_kept_by_a_call_of_its_class_method() -> None:
    seen = recorder()
    seen.start()
    try:

        class Own(dict[str, int]):
            pass

        Own.fromkeys("ab")
        kept = weakref.ref(Own)
        del Own
        gc.collect()
        assert kept() is None
    finally:
        seen.stop()


def test_operators_in_a_builtin_that_calls_python_are_recorded() -> None:
    """`map` and `sorted` call functions of Python and builtins of torch, and nobody asks about them."""
    x = torch.ones(2)

    def key(number: int) -> int:
        torch.neg(x)
        return number

    seen = recorder()
    seen.start()
    try:
        for _ in range(20):
            sorted([1, 2], key=key)
            list(map(torch.abs, [x]))
    finally:
        seen.stop()
    data = seen.data()
    names = {kind["name"]: number for number, kind in enumerate(data["kinds"])}
    calls = dict.fromkeys(names, 0)
    for row in data["calls"]:
        kind = data["routes"][row["route"]]["kind"]
        calls[next(name for name, number in names.items() if number == kind)] += row["calls"]
    assert (calls["aten::neg"], calls["aten::abs"]) == (40, 20)


def test_a_program_that_takes_the_profile_function_away_is_noticed_after_many_unasked_events() -> None:
    seen = recorder()
    seen.start()
    try:
        for _ in range(3000):
            len(os.sep)
        sys.setprofile(None)
        for _ in range(10):
            len(os.sep)
    finally:
        seen.stop()
    assert seen.calls.given_up
    assert 6000 < seen.calls.calls < 6100  # a call and a return of each len
