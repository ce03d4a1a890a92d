"""The small tree as the checkout in use, a cache of its own, and no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.source.fetch.install import Request
from ptexplore.source.progress import Silent
from ptexplore.workspace.workspace import Workspace
from tests import small_source

MIX = """namespace at::native {
int mix(int a) { return a; }
int stir(int a) { return mix(a) + mix(2); }
}
"""
MIX_PATH = "aten/src/ATen/native/Mix.cpp"


class Quiet(Silent):
    """Watches a fetch and shows nothing."""

    def detail(self, text: str) -> None:
        del text


class Told:
    """What a workspace showed and told: titles of progress, notices."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.notices: list[str] = []

    @contextmanager
    def watch(self, title: str) -> Iterator[Silent]:
        self.titles.append(title)
        yield Silent()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, a cache of the test's own, and a Python that has no torch."""

    def no_torch(python: str | None = None) -> None:
        looked_for.append(python)
        raise PtexploreError("there is no torch", "this test has none", "", MISSING)

    looked_for: list[str | None] = []
    monkeypatch.setattr("ptexplore.source.runtime.describe.find_runtime", no_torch)
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small source tree, the checkout in use; it has no index yet."""
    root = tmp_path / "mini"
    small_source.write(root, small_source.FILES | {MIX_PATH: MIX})
    Workspace().fetch(Request(str(root)), Quiet())
    return root


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def open_one(told: Told) -> Iterator[Callable[..., Workspace]]:
    """Open a workspace that is watched, closed when the test ends."""
    opened: list[Workspace] = []

    def make(*arguments: str | None, **options: object) -> Workspace:
        opened.append(Workspace(*arguments, watch=told.watch, notice=told.notices.append, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for workspace in opened:
        workspace.close()
