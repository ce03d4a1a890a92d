"""The types of what the probe says are those of the records."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from ptexplore.capture.probing import TraceRequest
from ptexplore.model.messages import RunRequest
from ptexplore.model.observed import Recorded
from ptexplore.model.reasons import AnyReason

ROOT = Path(__file__).parents[3]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from lib import probe_messages

    return probe_messages


def test_the_module_is_up_to_date(made: Any) -> None:
    text = (ROOT / "ptexplore" / "probe" / "messages.py").read_text(encoding="utf-8")
    assert made.module(ROOT) == text, "run scripts/probe-messages"


class Given(Struct, frozen=True):
    """A name that was given."""

    name: str


class Sampled(Recorded, frozen=True):
    """What a recorder of this test saw."""

    given: Given | None  # what it was given
    told: AnyReason  # why
    sizes: tuple[tuple[int, ...], ...] = ()  # the sizes
    owner: str = field(default="", name="self")  # whose it is


TYPES = '''\
class SampledParts(TypedDict, total=False):
    """What may be left out of SampledData."""

    sizes: Sequence[Sequence[int]]
    self: str


class SampledData(SampledParts):
    """What a recorder of this test saw."""

    given: GivenData | None
    told: Said
'''


def test_a_record_as_the_probe_writes_it(made: Any) -> None:
    """A field with a default may be left out, and the observation's own id is beside its data."""
    assert made._typed_dictionary(Sampled) == TYPES


def test_a_run_is_asked_for_by_all_that_a_trace_is_asked_for(made: Any) -> None:
    assert {known.name for known in fields(TraceRequest)} <= set(made._keys(RunRequest))


WRONG = """
from ptexplore.probe.observations import seen
seen("ops", "kept", {"sequence": 1, "bytes": 2})
seen("ops", "kept", {"sequence": 1})
seen("ops", "kept", {"sequence": "1", "bytes": 2})
seen("ops", "calls", {"part": "forward"})
"""


def test_what_no_record_has_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG)
    words = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-incremental", str(file)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert {int(line) for line in re.findall(r"^.*wrong\.py:(\d+): error", done.stdout, re.MULTILINE)} == {4, 5, 6}
