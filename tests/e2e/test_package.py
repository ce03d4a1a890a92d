"""The wheel: everything a run needs is in it, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.harness import REPOSITORY

pytestmark = pytest.mark.e2e


def test_the_wheel_holds_what_a_run_needs(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    [wheel] = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, pattern in (("probe", "*.py"), ("store", "*.sql"), ("cli", "*.py"), ("data", "*.bin")):
        files = (REPOSITORY / "ptexplore" / folder).rglob(pattern)
        there = {file.relative_to(REPOSITORY).as_posix() for file in files}
        assert there, f"nothing in {folder}"
        assert there <= names, there - names
    notes = {p.relative_to(REPOSITORY) for p in (REPOSITORY / "annotations").rglob("*") if p.is_file()}
    assert notes
    assert {f"ptexplore/data/{name.as_posix()}" for name in notes} <= names
    assert "ptexplore/py.typed" in names
    assert not [n for n in names if n.startswith(("tests/", "scripts/")) or "__pycache__" in n]
    entry = next(n for n in names if n.endswith("entry_points.txt"))
    assert b"ptexplore = ptexplore.cli.app:entry" in zipfile.ZipFile(wheel).read(entry)
