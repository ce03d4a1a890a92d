"""The concept list: stages, questions, stops; what is wrong is told by line and the rest is there."""

from __future__ import annotations

import pytest

from ptexplore.annotations.concepts import STAGES, load_path, parse
from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import load

GOOD = """# Path

## Principles {#principles}

Words on the stage.

### One {#one}

Is it so,
and why?

```concept
stops: ["t#a", "t#b"]
lab: "t#a/l"
```
"""


def test_a_concept_has_its_stage_question_stops_and_lab() -> None:
    (one,), problems = parse(GOOD, "c.md")
    assert not problems
    assert (one.id, one.title, one.stage, one.question) == ("one", "One", "principles", "Is it so, and why?")
    assert (one.stops, one.lab, one.where.line) == (("t#a", "t#b"), "t#a/l", 7)


@pytest.mark.parametrize(
    "change, line, said",
    [
        (("{#principles}", "{#middle}"), 3, "'middle' is not a stage"),
        (("### One {#one}", "### One"), 7, "ends in an id"),
        (("stops:", "stop:"), 13, "'stop' is not a key"),
        (('"t#b"', '"tb"'), 13, "'tb' is not a stop"),
        (('"t#a/l"', '"t#a"'), 14, "is not a lab"),
        (("Is it so,\nand why?\n", ""), 7, "has no question"),
        (('stops: ["t#a", "t#b"]\n', ""), 13, "the key 'stops' is missing"),
        (("Words on", "<b>Words</b> on"), 5, "raw HTML"),
        (('["t#a", "t#b"]', "&a [*a]"), 13, "YAML anchors"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_the_rest_is_there(change: tuple[str, str], line: int, said: str) -> None:
    more = GOOD.replace("{#one}", "{#two}").split("# Path\n")[1]
    found, problems = parse(GOOD.replace(*change) + more, "c.md")
    assert "two" in {one.id for one in found}
    assert any(problem.where.line == line and said in problem.text for problem in problems), problems


def test_an_id_is_given_once() -> None:
    found, problems = parse(GOOD + GOOD.split("# Path\n")[1], "c.md")
    assert len(found) == 1
    assert "the concept in line 7 already has the id" in problems[0].text


def test_the_shipped_path_is_whole() -> None:
    library = load(layers((), shipped=True))
    path = load_path(library)
    assert not path.problems
    for stage in STAGES:
        assert len(path.of(stage)) >= 5
    for one in path.concepts.values():
        # Stops about a device have no lab: it would not run on most machines.
        has_labs = any(stop.labs for _, stop in map(library.stop, one.stops))  # type: ignore[misc]
        assert one.lab or not has_labs, f"{one.id} has no lab"
        assert one.question.endswith("?"), one.id
