"""`man ptexplore`: made from the help texts, and read by man without a warning."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from ptexplore.cli.app import COMMANDS
from tests.harness import script_library

PAGE = Path(__file__).parents[3] / "docs" / "ptexplore.1"


@pytest.fixture(scope="module")
def library() -> ModuleType:
    module: ModuleType = script_library("man_page")
    return module


def test_the_page_says_what_the_help_says(library: ModuleType) -> None:
    assert PAGE.read_text(encoding="utf-8") == library.man_page(), "run scripts/man-page"


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
def test_man_reads_it() -> None:
    command = ["man", "--warnings", "-l", "-E", "UTF-8", str(PAGE)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "200"}
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    for name in COMMANDS:
        if name != "notes":
            assert f"PTEXPLORE {name.upper()}\n" in done.stdout
    assert "--export ctags|scip FILE" in done.stdout
