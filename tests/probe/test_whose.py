"""Whose a file is: asked in hooks, in which a signal's handler may raise, and builtins may be replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptexplore.probe import whose


class Alarm(Exception):
    """What the program's own handler of a signal raises."""


def test_a_library_and_a_file_of_yours(tmp_path: Path) -> None:
    assert whose.is_library(json.__file__)
    assert whose.is_library(pytest.__file__)
    assert not whose.is_library(str(tmp_path / "mine.py"))


@pytest.mark.parametrize("error", [Alarm, KeyboardInterrupt, RuntimeError])
def test_what_a_handler_raises_meanwhile_is_the_programs(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def realpath(_file: str) -> str:
        raise error

    monkeypatch.setattr(whose.os.path, "realpath", realpath)  # type: ignore[attr-defined]
    with pytest.raises(error):
        whose.real("mine.py")


def test_replaced_builtins_and_odd_names_have_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert whose.real("a\0b") == "a\0b"
    with monkeypatch.context() as replaced:
        replaced.setattr("builtins.isinstance", None)
        file = whose.real("/some/mine.py")
    assert file == "/some/mine.py"
