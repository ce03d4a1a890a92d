"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from ptexplore.capture import probing
from ptexplore.model.places import Runtime
from ptexplore.source.runtime.describe import find_runtime
from tests import first_runs
from tests.harness import DROPPED, TARGET, THOROUGH, Cli, Here, InProcess, torch_version
from tests.warm_probe import WarmProbe, warm_probe

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A CI step in the background starts us with SIGINT ignored, and what we start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONG_TESTS = Path(__file__).with_name("long_tests.txt")
gc.set_threshold(100_000)  # as the command itself does: looking for what nobody holds took a sixth of the time


def pytest_collection_finish() -> None:
    """What was collected stays: it need not be looked through with what a test makes."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The slow ones first: none of them is left over when all other workers have nothing more to do.

    Tests that take long are left out, unless they are asked for: by a file, by `-k`, or as part of a thorough run.
    """
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if THOROUGH or config.option.keyword or any(".py" in argument for argument in config.args):
        return
    lines = [line for line in LONG_TESTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    functions, stay = {line.partition("[")[0] for line in lines}, set(lines)
    left_out = [
        i for i in items if i.nodeid.partition("[")[0] in functions and not (i.nodeid in stay and "[" in i.nodeid)
    ]
    config.hook.pytest_deselected(items=left_out)
    numbers = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in numbers]


@pytest.fixture(autouse=True)
def _no_hook_left_behind() -> Iterator[None]:
    """Nothing of ours may leave a profiler, a tracer or a monitoring tool in the process."""
    before = (sys.getprofile(), threading.getprofile(), sys.gettrace())
    yield
    assert (sys.getprofile(), threading.getprofile(), sys.gettrace()) == before


@pytest.fixture(autouse=True)
def _no_trust_of_yours(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads what you trust, or adds to it."""
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path_factory.getbasetemp() / "config"))
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path_factory.getbasetemp() / "data"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, best without its windows: one a process, which is all that playwright bears."""
    program = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    if program is None:
        pytest.skip("needs chromium: apt-get install chromium-headless-shell")
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[test]'")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def source_tree() -> Path:
    """The 2.6.0 source tree that scripts/get-source fetched."""
    folder = os.environ.get("PTEXPLORE_TEST_SOURCE")
    if not folder:
        pytest.skip("needs PTEXPLORE_TEST_SOURCE (scripts/test sets it; scripts/get-source prints the folder)")
    return Path(folder)


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with everything built by `tests.first_runs`, once for all workers. Tests only read it.

    PTEXPLORE_TEST_CACHE names one to keep between runs, for when one works on a test.
    """
    kept = os.environ.get("PTEXPLORE_TEST_CACHE")
    base = tmp_path_factory.getbasetemp()
    shared = Path(kept) if kept else (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "shared-cache"
    done = made_by(shared)
    with FileLock(str(shared) + ".lock"):
        if not done.exists():
            shutil.rmtree(shared, ignore_errors=True)
            with pytest.MonkeyPatch.context() as patch:
                first_runs.make(shared, tmp_path_factory.mktemp("first") / "cwd", patch).save(done)
        elif kept:
            result = Cli(shared, base)("op", "add.Tensor", "--json")
            assert result.code == 0, result
    return shared


def made_by(cache: Path) -> Path:
    """What came of the runs that made the warm cache: `tests.first_runs.FirstRuns`."""
    return cache.with_name(cache.name + ".first-runs")


ARCHIVE = "pytorch_2.6.0+dfsg.orig.tar.xz"  # as scripts/get-source leaves it beside the unpacked tree


@pytest.fixture(scope="session")
def sourced_cache(warm_cache: Path, source_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warm cache with the 2.6.0 source fetched and indexed, once for all workers. Tests only read it.

    From its archive where the torch under test is 2.6.0, so that it is known to match; else the folder in place.
    """
    shared = warm_cache.with_name(warm_cache.name + "-sourced")
    done = shared.with_name(shared.name + ".built")
    archive = source_tree.parent / ARCHIVE
    matched = torch_version().startswith("2.6.0") and archive.is_file()
    with FileLock(str(shared) + ".lock"):
        if not done.exists():
            shutil.rmtree(shared, ignore_errors=True)
            shutil.copytree(warm_cache, shared)
            cli = Cli(shared, warm_cache.parent)
            fetched = cli("fetch", "--from", str(archive if matched else source_tree))
            assert fetched.code == 0, fetched
            result = cli("op", "add.Tensor", "--json")
            assert result.code == 0, result
            done.write_text(f"{result.seconds:.1f}", encoding="utf-8")
    return shared


@pytest.fixture
def sourced(sourced_cache: Path, tmp_path: Path) -> Cli:
    """The command with the 2.6.0 source beside the torch under test."""
    folder = tmp_path / "cwd"
    folder.mkdir(exist_ok=True)
    return Cli(sourced_cache, folder)


@pytest.fixture
def cli(warm_cache: Path, tmp_path: Path) -> Cli:
    """The command, warm, started from an empty folder."""
    folder = tmp_path / "cwd"
    folder.mkdir(exist_ok=True)
    return Cli(warm_cache, folder)


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    """The torch under test."""
    return find_runtime(TARGET)


@pytest.fixture(scope="session")
def forking(runtime: Runtime) -> Iterator[WarmProbe]:
    """A probe that has imported the torch under test, and forks."""
    with warm_probe(runtime.python) as probe:
        yield probe


@pytest.fixture(scope="session")
def forking_compiler(runtime: Runtime) -> Iterator[WarmProbe]:
    """The same, which has imported torch's compiler too."""
    with warm_probe(runtime.python, "torch._dynamo") as probe:
        yield probe


@pytest.fixture
def warm(forking: WarmProbe, runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """The torch under test; captures of it run in forks of a probe that has imported it."""
    monkeypatch.setattr(probing, "_start", forking.start)
    return runtime


@pytest.fixture
def command(
    warm: Runtime, warm_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> InProcess:
    """The command without a process of its own, warm, in an empty folder."""
    del warm
    folder = tmp_path / "cwd"
    folder.mkdir(exist_ok=True)
    return in_process(Cli(warm_cache, folder), monkeypatch, capsys)


def in_process(cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    """The command without a process of its own: with the cache, folder and environment that one would have."""
    for name in [name for name in os.environ if name.startswith(DROPPED)]:
        if not name.startswith("PTEXPLORE_TEST_"):  # these are for the tests, and mean nothing to the command
            monkeypatch.delenv(name)
    monkeypatch.setenv("PTEXPLORE_CACHE", str(cli.cache))
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(cli.cwd.parent / "config"))
    monkeypatch.setenv("PTEXPLORE_DATA", str(cli.cache / "data"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(cli.cwd)
    return InProcess(capsys)


def here(cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The same, for a test that also asks where the cache and the folder are."""
    return Here(cli.cache, cli.cwd, cli.python, in_process(cli, monkeypatch, capsys))


@pytest.fixture
def compiler_command(command: InProcess, forking_compiler: WarmProbe, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """The same for what imports torch's compiler (transforms, subclasses, custom operators): each pass would anew.

    The thorough run lets it.
    """
    if not THOROUGH:
        monkeypatch.setattr(probing, "_start", forking_compiler.start)
    return command


@pytest.fixture
def sourced_command(command: InProcess, sourced_cache: Path, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """The same with the 2.6.0 source beside the torch under test."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(sourced_cache))
    return command


@pytest.fixture
def own_cache(warm_cache: Path, tmp_path: Path) -> Path:
    """A copy of the warm cache that a test may damage."""
    copy = tmp_path / "cache"
    shutil.copytree(warm_cache, copy)
    return copy


@pytest.fixture
def fresh_cache(tmp_path: Path) -> Path:
    """A cache folder that is not there yet."""
    return tmp_path / "fresh"
