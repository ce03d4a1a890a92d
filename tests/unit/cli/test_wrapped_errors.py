"""The three parts of an error, in a terminal: wrapped at words, and a command stays one line."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from ptexplore.cli.app import report
from ptexplore.errors import PtexploreError


def in_terminal(error: PtexploreError, columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    with os.fdopen(theirs, "w") as stream:
        os.system(f"stty cols {columns} rows 24 <{os.ttyname(stream.fileno())}")
        monkeypatch.setattr(sys, "stderr", stream)
        report(error)
        shown = os.read(ours, 65536).decode()
    os.close(ours)
    return shown.replace("\r\n", "\n").splitlines()


def test_an_error_is_wrapped_at_words(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "connect to the network and run this again, or give the source: ptexplore fetch --from FOLDER"
    lines = in_terminal(PtexploreError("it failed", words, words), 60, monkeypatch)
    assert lines[0] == "error: it failed"
    assert max(map(len, lines)) <= 60
    assert [line[:7] for line in lines] == ["error: ", "why:   ", " " * 7, "try:   ", " " * 7]
    assert " ".join(line[7:] for line in lines[1:3]) == words


def test_a_command_is_one_line_and_a_pipe_gets_lines_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = PtexploreError("it failed " * 12, "", "ptexplore trace " + "x" * 90)
    assert in_terminal(error, 60, monkeypatch)[-1] == "try:   ptexplore trace " + "x" * 90
    monkeypatch.undo()
    report(error)
    assert len(capsys.readouterr().err.splitlines()) == 2
