"""Sixty questions that a trace answers: on its first screen, or by the one option that this screen names."""

from __future__ import annotations

import re
import shlex
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.harness import REPOSITORY, TARGET, InProcess

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("warm")]
FIRST = "first"
ROWS = 62  # of a first screen, whatever was traced
COLUMNS = 100


class Question(NamedTuple):
    """One row of the table."""

    trace: str
    text: str
    where: str
    shows: str


def questions() -> list[Question]:
    lines = (REPOSITORY / "tests/data/questions.tsv").read_text(encoding="utf-8").splitlines()
    return [Question(*line.split("\t")) for line in lines if not line.startswith("#")]


BY_TRACE = {trace: list(asked) for trace, asked in groupby(questions(), key=lambda question: question.trace)}


def test_there_are_sixty() -> None:
    assert len({(question.trace, question.text) for question in questions()}) >= 60


@pytest.mark.words
@pytest.mark.skipif(TARGET is not None, reason="the answers are about the torch of the Python that runs them")
@pytest.mark.parametrize("trace", BY_TRACE)
def test_the_first_screen_answers_or_names_what_does(
    trace: str, command: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = "x.trace"
    done = command("trace", *shlex.split(trace), "--save", file)
    assert Path(file).is_file(), done

    def shown(*options: str, columns: int = COLUMNS) -> str:
        told = command("trace", "--load", file, *options, env={"COLUMNS": str(columns)}, target=None)
        assert told.out, told
        return told.out

    first = shown("--view", "path")
    lines = first.splitlines()
    assert len(lines) <= (20 if trace == '"torch.add(a, b)"' else ROWS), first
    assert max(map(len, lines)) <= COLUMNS, first
    for columns in (80, 120, 200) if trace == '"torch.add(a, b)"' else ():
        assert len(shown("--view", "path", columns=columns).splitlines()) <= 20
    unanswered = []
    for question in BY_TRACE[trace]:
        where = question.where
        assert where == FIRST or re.search(rf"ptexplore trace .*{re.escape(where)}", re.sub(r"\\\n\s*", "", first)), (
            where
        )
        told = first if where == FIRST else shown(*shlex.split(where))
        if not re.search(question.shows, told):
            unanswered.append((question, told))
    assert not unanswered, "\n".join(f"{question}\n{told}" for question, told in unanswered)
