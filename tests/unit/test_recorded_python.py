"""How much slower Python runs while it is recorded, against this Python itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ptexplore.facts.recorded_python import slower_python

SCRIPT = Path(__file__).parents[2] / "scripts" / "recorded-python"


@pytest.mark.parametrize(("version", "times"), [("3.10.13", 1.25), ("3.11.0rc1", 3.1), ("3.12.1", None), ("", None)])
def test_a_version_has_the_row_of_its_release(version: str, times: float | None) -> None:
    row = slower_python(version)
    assert (row.times if row is not None else None) == times


def test_this_python_is_as_slow_as_its_row_says() -> None:
    """The loops run plain and recorded in turns, so other programs slow both."""
    written = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True).stdout
    measured = sorted(float(times) for times in re.findall(r"(\d+\.\d+) x", written))
    row = slower_python(sys.version.split()[0])
    assert len(measured) == 6
    if row is None:
        assert measured[2] < 1.2
    else:
        assert 1.05 < measured[2] < row.times * 1.3
