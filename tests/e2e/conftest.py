"""Fixtures of the end-to-end tests alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests import first_runs, searched_source
from tests.conftest import here, in_process
from tests.harness import Cli, Here, InProcess, Result

BACKWARD = ("(a * b).sum()", "--backward")


def save_whole(command: InProcess, arguments: tuple[str, ...], out: Path) -> None:
    """Save a trace that is stepped whole, backward too where it is asked for; skip where nothing can be stepped."""
    for _ in range(4):  # on a busy machine it may look too long to be stepped whole
        result = command("trace", *arguments, "--json", "--save", str(out))
        if not result.data["captured"].get("native"):
            pytest.skip(f"no native pass here: {result.data['captured'].get('reason')}")
        if any(hop["name"].endswith("Engine::execute") for hop in result.hops) == ("--backward" in arguments):
            return


@dataclass(frozen=True)
class Searching:
    """The command with the small tree of tests/searched_source.py indexed; only that tree is searched."""

    cli: Cli
    root: Path
    here: InProcess | None = None  # asks without a process of its own

    def __call__(self, command: str, *arguments: str, **more: Any) -> Result:
        return (self.here or self.cli)(command, "--tree", self.root.name, *arguments, **more)

    def lines(self, path: str) -> list[str]:
        return (self.root / path).read_text(encoding="utf-8", errors="replace").split("\n")

    def line_of(self, source: dict[str, Any]) -> str:
        return self.lines(source["path"])[source["line"] - 1]


@pytest.fixture(scope="session")
def make_searching(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Searching]:
    """Make such a tree with a cache of its own, for a test that changes it."""

    def make() -> Searching:
        base = tmp_path_factory.mktemp("searching")
        root = searched_source.write(base / "mini")
        (base / "cwd").mkdir()
        cli = Cli(base / "cache", base / "cwd")
        assert cli("fetch", "--from", str(root)).code == 0
        built = cli("index", "--checkout", "mini")
        assert built.code == 0, built
        return Searching(cli, root)

    return make


@pytest.fixture(scope="session")
def mini(make_searching: Callable[[], Searching]) -> Searching:
    """The tree, indexed once. Tests only read it."""
    return make_searching()


@pytest.fixture
def mini_here(mini: Searching, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Searching:
    """The same, asked without a process of its own."""
    return replace(mini, here=in_process(mini.cli, monkeypatch, capsys))


@pytest.fixture
def fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The command with an empty cache, in a folder of its own, without a process of its own."""
    (tmp_path / "cwd").mkdir()
    return here(Cli(tmp_path / "cache", tmp_path / "cwd"), monkeypatch, capsys)


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder as a PyTorch checkout would be to Python, whose packages tell when they are imported."""
    folder = tmp_path / "hostile"
    first_runs.hostile(folder)
    return folder
