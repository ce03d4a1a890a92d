"""The walk that docs/architecture.md describes is the one that a trace takes."""

from __future__ import annotations

import re
import sys
from types import FrameType

import pytest

from tests.harness import REPOSITORY, InProcess

pytestmark = pytest.mark.e2e

PACKAGE = f"{REPOSITORY / 'ptexplore'}/"


def test_every_function_of_the_walk_is_called_in_that_order(command: InProcess) -> None:
    text = (REPOSITORY / "docs/architecture.md").read_text(encoding="utf-8")
    walk = text.partition("## One trace")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d+\. .*?(?=^\d+\. |^   - |\Z)", walk, re.M | re.S)  # what a probe does, it does elsewhere
    named = [name for step in steps for name in re.findall(r"`([\w/]+\.py)::(?:\w+\.)?([a-z_]+)`", step)]
    called: dict[tuple[str, str], None] = {}

    def hear(frame: FrameType, event: str, _argument: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE):
            called.setdefault((file.removeprefix(PACKAGE), frame.f_code.co_name))

    sys.setprofile(hear)
    try:
        results = [command("trace", "torch.add(a, b)", "--view", shown) for shown in ("path", "tree")]
    finally:
        sys.setprofile(None)
    assert [result.code for result in results] == [0, 0], results
    left_out = {("render/terminal/console.py", "picture")}  # with --svg alone
    missing = [name for name in named if name not in called and name not in left_out]
    assert not missing, missing
    first = [steps_of[0] for steps_of in (re.findall(r"`([\w/]+\.py)::(?:\w+\.)?([a-z_]+)`", s) for s in steps)]
    order = list(called)
    assert [order.index(name) for name in first] == sorted(order.index(name) for name in first), first
