"""The pytest plugin: the option `--ptexplore`, and the fixture `trace`.

pytest imports this module in every run of an environment that has ptexplore. It imports nothing else of ptexplore, and
adds no hook to a run, until the option is given or a test uses the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ptexplore.surfaces.pytest_fixture import TraceFixture, Workspaces

REPORTS = "ptexplore-reports"  # the name of the part with hooks, in pytest's list of plugins.


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("ptexplore")
    group.addoption(
        "--ptexplore",
        action="store_true",
        help="trace each failing test that raised inside torch, in a second call of its function, and show the trace",
    )
    group.addoption("--ptexplore-save", metavar="DIR", help="the same, and keep the traces in this folder")


def pytest_configure(config: pytest.Config) -> None:
    """Adds the hooks of the option."""
    folder = config.getoption("ptexplore_save")
    if folder:
        # Workers of pytest-xdist get the options of this process, and may run in other folders.
        config.option.ptexplore_save = str(config.invocation_params.dir / folder)
    if folder or config.getoption("ptexplore"):
        _add_reports(config, traces_failures=True)


def _add_reports(config: pytest.Config, *, traces_failures: bool = False) -> None:
    if not config.pluginmanager.has_plugin(REPORTS):
        from ptexplore.surfaces.pytest_reports import Reports

        config.pluginmanager.register(Reports(config, traces_failures=traces_failures), REPORTS)


@pytest.fixture(scope="session")
def _ptexplore_workspaces() -> Iterator[Workspaces]:
    """One workspace for all tests of a process, opened by the first question."""
    from ptexplore.surfaces.pytest_fixture import Workspaces

    with Workspaces() as workspaces:
        yield workspaces


@pytest.fixture
def trace(request: pytest.FixtureRequest, _ptexplore_workspaces: Workspaces) -> TraceFixture:
    """Traces code of a test; its numbers (`copies`, `syncs`, `instructions`, …) can be asserted."""
    from ptexplore.surfaces.pytest_fixture import TraceFixture

    _add_reports(request.config)
    fixture = TraceFixture(_ptexplore_workspaces, os.getcwd())
    request.node.stash[_key()] = fixture
    return fixture


def _key() -> pytest.StashKey[TraceFixture]:
    from ptexplore.surfaces.pytest_fixture import FIXTURE

    return FIXTURE
