"""A few of the kills and failing calls that scripts/kills and scripts/failing-calls make many of."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness import REPOSITORY, script_library


@pytest.fixture(scope="module")
def killing() -> Any:
    return script_library("killing")


def test_a_killed_command_leaves_what_the_next_one_makes_good(killing: Any, tmp_path: Path) -> None:
    tally = killing.Tally()
    killed = killing.Killing(killing.WORKS["index"], tmp_path)
    killed.leave_alone(tally)
    killed.kill(3, random.Random(5), tally)
    assert not tally.faults
    assert tally.runs == 1
    assert tally.kills == 3 or tally.late == 1, "a run that ended before its kill is the one that is compared"
    assert tally.compared >= 3


def test_what_differs_or_lives_on_is_told(killing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not the same afterwards, one that is neither old nor new, and a process whose parent is gone."""
    tally = killing.Tally()
    work = killing.Work(lambda _: ("fetch", "--use", "mini"), killing._mini, whole=("cache/checkouts/.use",))
    killed = killing.Killing(work, tmp_path)
    killed.leave_alone(tally)
    assert "cache/checkouts/.use" in killed._alone
    killed._alone["cache/checkouts/.use"] = ("0", "0")
    killed._known["cache/checkouts/.use"] = {"0"}
    killed.kill(1, random.Random(1), tally)
    assert sorted(set(tally.faults)) == [
        "cache/checkouts/.use differs", "cache/checkouts/.use is neither the old nor the new one",
    ]  # fmt: skip
    shell = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!"], env=os.environ | {killing.MARK: "m"}, stdout=-1)
    child = int(shell.stdout.readline())  # type: ignore[union-attr]
    shell.wait()
    assert [number for number, _ in killing.marked("m")] == [child]
    assert killing.waiting(os.getpid()) > 0.0
    assert killing.spent(os.getpid()) >= time.process_time() - 0.1 > 0.0
    os.kill(child, 9)
    shell.stdout.close()  # type: ignore[union-attr]
    del monkeypatch


def test_a_process_is_seen_while_it_takes_another_program(killing: Any, tmp_path: Path) -> None:
    script = tmp_path / "again.sh"
    script.write_text(f"exec sh {script}\n")
    with subprocess.Popen(["sh", script], env={killing.MARK: "again", "PATH": os.environ["PATH"]}) as process:
        seen = sum([number for number, _ in killing.marked("again")] == [process.pid] for _ in range(200))
        process.kill()
    assert seen == 200, "between two programs its environment is empty for a moment"


def test_calls_of_the_system_that_fail() -> None:
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("needs a C compiler")
    script = [sys.executable, str(REPOSITORY / "scripts/failing-calls"), "--only", "fetch --use", "--error", "EIO"]
    done = subprocess.run([*script, "--most", "8"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    error, calls, places, swept, failed = done.stdout.split()[-8:-3]
    assert (error, swept, failed) == ("EIO", "8", "8")
    assert int(calls) > int(places) > 8
