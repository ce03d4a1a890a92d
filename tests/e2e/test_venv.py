"""scripts/lib/venv.sh: an environment is made once, again when it must be, and never over a user's files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def shell(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-euc", f". {SCRIPTS}/lib/venv.sh\n{code}"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_made_once_and_remade_when_it_must_be_and_after_an_install_that_failed(tmp_path: Path) -> None:
    # `pip` is there in any environment, so nothing is fetched.
    make = "ensure_venv env 14 one pip"
    first = shell(tmp_path, make)
    assert first.returncode == 0, first
    assert "making" in first.stderr
    again = shell(tmp_path, make)
    assert (again.returncode, again.stderr) == (0, "")
    failed = shell(tmp_path, "ensure_venv env 14 two --no-index no-such-package-at-all")
    assert failed.returncode == 3
    assert "error: pip could not install" in failed.stderr
    assert not (tmp_path / "env/.ptexplore-stamp").exists()
    other = shell(tmp_path, "ensure_venv env 14 two pip")
    assert (other.returncode, "installing" in other.stderr, "making" in other.stderr) == (0, True, False)
    assert shell(tmp_path, f"usable {tmp_path}/env 14").returncode == 0
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.move(tmp_path / "env", moved / "env")  # its scripts name the old place: it is made anew
    assert shell(moved, f"usable {moved}/env 14").returncode != 0


def test_a_folder_of_the_user_stays(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env/mine").write_text("mine", encoding="utf-8")
    done = shell(tmp_path, "ensure_venv env 14 one pip")
    assert done.returncode == 3
    assert "try:" in done.stderr
    assert (tmp_path / "env/mine").read_text(encoding="utf-8") == "mine"


def test_no_python_is_said(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "cat", "rm", "grep", "dirname", "mkdir"):
        found = shutil.which(tool)
        assert found
        (tools / tool).symlink_to(found)
    done = shell(tmp_path, "ensure_venv env 14 one pip", PATH=str(tools))
    assert done.returncode == 3
    assert "error: no Python" in done.stderr


def test_the_stamp_follows_what_it_is_made_from(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1", encoding="utf-8")
    before = shell(tmp_path, "stamp_of test a").stdout
    assert before == shell(tmp_path, "stamp_of test a").stdout
    assert before != shell(tmp_path, "stamp_of run a").stdout
    (tmp_path / "a").write_text("2", encoding="utf-8")
    assert before != shell(tmp_path, "stamp_of test a").stdout
