"""What a command is started in: a folder that was deleted, a terminal that says that it has no size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptexplore.cli.app import main
from ptexplore.errors import USAGE, cache_errors
from ptexplore.render.terminal.console import PIPE_WIDTH, make_console


@pytest.mark.parametrize("arguments", [["op", "add"], ["trace", "a + b"]])
def test_a_folder_that_was_deleted_is_named(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("PWD", str(gone))
    gone.rmdir()
    assert main(arguments) == USAGE
    told = capsys.readouterr().err
    assert "the current folder does not exist" in told
    assert str(gone) in told
    os.chdir(tmp_path)


def test_a_folder_that_was_deleted_is_named_where_the_cache_has_no_index_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that is started to make the index asks for the current folder, too."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    def index(arguments: list[str]) -> int:
        with cache_errors("the index cannot be written", tmp_path / "index.sqlite"):
            return len(os.getcwd())

    monkeypatch.setattr("ptexplore.cli.app._run", index)
    assert main(["notes", "check"]) == USAGE
    assert "the current folder does not exist" in capsys.readouterr().err
    os.chdir(tmp_path)


@pytest.mark.parametrize("columns", ["0", "abc", "-1", "1"])
def test_columns_that_no_terminal_has_are_as_none(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", "0")
    assert make_console().width == PIPE_WIDTH
    monkeypatch.setenv("COLUMNS", "77")
    assert make_console().width == 77
