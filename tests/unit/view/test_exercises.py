"""How a wrong case of an exercise is shown."""

from __future__ import annotations

import base64

from ptexplore.annotations.exercises import parse
from ptexplore.model.judged import JudgedSolution, WrongCase
from ptexplore.view.notes.exercises import result_lines
from tests.harness import REPOSITORY


def test_a_long_argument_is_cut_and_a_result_is_not() -> None:
    exercise = parse((REPOSITORY / "annotations/exercises/saved-file.md").read_bytes(), "saved-file")
    file = base64.b64encode(bytes(3000)).decode()
    wrong = WrongCase(0, {"file": file, "short": [1, 2]}, {"storages": [4] * 500}, {"storages": []}, gave=True)
    judged = JudgedSolution("2.6.0", 300, 7, wrong, "", "", "")
    lines = ["".join(span.text for span in spans) for spans in result_lines(exercise, judged)]
    assert any('"AAAA' in line and line.endswith("… (4,002 characters; --json has all)") for line in lines)
    assert max(len(line) for line in lines if "AAAA" in line) < 400
    assert any("[1, 2]" in line for line in lines)
    assert any(line.count("4, ") == 499 for line in lines)
