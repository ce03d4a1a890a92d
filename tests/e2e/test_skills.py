"""The pages for coding agents: their commands run, and they are copied where an agent finds them."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.harness import Cli, InProcess

pytestmark = pytest.mark.e2e

SKILLS = Path(__file__).parents[2] / "skills"
PAGES = sorted(SKILLS.glob("*/SKILL.md"))
# Words that stand for something of the reader's.
OPEN = re.compile(r"\b(?:NAME|FILE|PLACE|FUNCTION|KEY|PATH|ARGS|CODE|train\.py)\b")
COMMANDS = sorted(
    {
        command
        for page in PAGES
        for command in re.findall(r"`(ptexplore [^`]+)`", page.read_text(encoding="utf-8"))
        if not OPEN.search(command) and "--last" not in command
    }
)


def test_each_job_has_a_page() -> None:
    assert len(PAGES) == 7
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        front = next(yaml.safe_load_all(text))  # as agents read it
        assert front["name"] == page.parent.name
        assert "torch" in front["description"].lower()
        for part in ("## Steps", "## Read the answer", "## Not known"):
            assert part in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(cli: Cli, command: str) -> None:
    (cli.cwd / "f.py").write_text("")
    result = cli(*shlex.split(command)[1:])
    # An expression that raises is traced, too.
    assert result.code in (0, 1 if "@" in command else 0), result.err
    assert result.out


def test_pages_are_copied(command: InProcess, tmp_path: Path) -> None:
    listed = command("skills").out
    assert all(page.parent.name in listed for page in PAGES)
    folder = tmp_path / "skills"
    assert command("skills", "install", str(folder)).out.count("written") == len(PAGES)
    assert all((folder / page.parent.name / "SKILL.md").read_bytes() == page.read_bytes() for page in PAGES)
    assert "written" not in command("skills", "install", str(folder)).out
    changed = folder / PAGES[0].parent.name / "SKILL.md"
    changed.write_text("mine")
    command("skills", "install", str(folder)).three_parts(1)
    assert changed.read_text() == "mine"
    command("skills", "install", str(folder), "--force")
    assert changed.read_bytes() == PAGES[0].read_bytes()
    command("skills", "remove").three_parts(2)


@pytest.mark.parametrize("planted", ["link to a device", "FIFO", "link to a file", "link to a folder", "link above"])
def test_no_planted_file_is_read_and_no_link_is_followed(
    command: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    here = tmp_path / "here"
    page = here / ".claude/skills" / PAGES[0].parent.name / "SKILL.md"
    page.parent.mkdir(parents=True)
    monkeypatch.chdir(here)
    if planted == "FIFO":
        os.mkfifo(page)
    elif planted == "link to a folder":
        page.parent.rmdir()
        page.parent.symlink_to(outside)
    elif planted == "link above":
        page.parent.rmdir()
        page.parent.parent.rmdir()
        page.parent.parent.symlink_to(outside)
    else:
        page.symlink_to("/dev/zero" if planted == "link to a device" else outside / "mine")
    for force in ((), ("--force",)):
        command("skills", "install", *force).three_parts(1)
    assert [file.name for file in outside.iterdir()] == ["mine"]
    assert (outside / "mine").read_text() == "mine"
