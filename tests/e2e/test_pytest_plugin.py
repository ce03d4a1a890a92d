"""The pytest plugin in pytest processes of its own: what a failing test shows, and that other tests are left alone."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import subprocess
from pathlib import Path

import pytest

import ptexplore
from tests.harness import TARGET, Cli

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(TARGET is not None, reason="pytest runs in the Python that has the plugin"),
]
PLUGIN = "ptexplore.surfaces.pytest_plugin"
ASSERTIONS = """
import torch

class Doubled(torch.nn.Module):
    def forward(self, x):
        return x.t().contiguous().mul(2)

def test_all(trace):
    made = trace("torch.mm(a, b)", grad=True)
    assert trace.ran("at::native::structured_mm_out_cpu::impl")
    assert not trace.ran("aten::add")
    assert trace.dispatches("aten::mm", via=["AutogradCPU", "CPU"])
    assert trace.copies == 0
    assert trace.syncs == 0
    assert 1_000 < trace.instructions < 1_000_000
    assert trace.saved_bytes == 0
    assert made.expression == "torch.mm(a, b)"

def test_ran(trace):
    trace(lambda: torch.ones(2).mul(2))
    assert trace.ran("aten::add")

def test_not_ran(trace):
    trace(lambda: torch.ones(2).mul(2))
    assert not trace.ran("aten::mul")

def test_dispatches(trace):
    a = torch.ones(2, 2, requires_grad=True)
    trace(lambda: torch.mm(a, a))
    assert trace.dispatches("aten::mm", via=["CPU"])

def test_copies(trace):
    module = Doubled()
    with trace.record():
        module(torch.ones(2, 3))
    assert trace.copies == 0

def test_syncs(trace):
    with trace.record():
        if torch.ones(2).sum() > 3:
            pass
    assert trace.syncs < 1

def test_instructions(trace):
    trace("torch.add(a, b)")
    assert trace.instructions < 12

def test_saved_bytes(trace):
    trace(lambda: torch.ones(2, requires_grad=True).exp().sum().backward())
    assert trace.saved_bytes == 0

def test_graph_breaks(trace):
    trace("f(a)", setup=["f = torch.compile(lambda x: x if x.sum() > 0 else -x, backend='eager')"], native=False)
    assert trace.graph_breaks == 0

def test_unknown(trace):
    with trace.record():
        torch.ones(2)
    assert trace.instructions < 12

def test_nothing(trace):
    assert trace.copies == 0
"""
ROWS = {
    "test_ran": "aten::add did not run; similar names that ran: ",
    "test_not_ran": "aten::mul ran:",
    "test_dispatches": "  aten::mm  AutogradCPU → CPU",
    "test_copies": "24 B  aten::contiguous  copies: strides (1, 3) → (2, 1)",
    "test_syncs": "aten::is_nonzero  in test_syncs test_assertions.py:",
    "test_instructions": "torch.add(a, b)   a, b: random Tensor[3, 3]",
    "test_saved_bytes": "  8 B  aten::exp  test_assertions.py:",
    "test_graph_breaks": "Data-dependent branching",
    "test_unknown": "why: it ran once, in your own process: nothing was stepped",
    "test_nothing": "try: trace(",
}
RAISING = '''
import multiprocessing, os, subprocess, sys, unittest, warnings
import pytest, torch

CALLS = []

@pytest.mark.parametrize("n", [2, 3])
def test_product(n):
    print("printed", n)
    warnings.warn(f"warned {n}")
    CALLS.append(n)
    torch.ones(2, n) @ torch.ones(2, 4)

class TestView(unittest.TestCase):
    def setUp(self):
        self.x = torch.ones(4)

    def test_view(self):
        self.x.view(3)

def test_once():
    """Raises in its first call only."""
    first = "test_once" not in CALLS
    CALLS.append("test_once")
    torch.ones(4).view(3 if first else 2)

def test_own_error():
    [][1]

def test_raise():
    CALLS.append("test_raise")
    raise RuntimeError("mine")

def test_compared():
    torch.testing.assert_close(torch.ones(2), torch.zeros(2))

def test_recorded(trace):
    with trace.record():
        torch.ones(2).view(3)

@pytest.mark.xfail(strict=True)
def test_expected():
    CALLS.append("test_expected")
    torch.ones(2).view(3)

def test_skipped():
    pytest.skip("not here")

def child(size, results):
    results.put(torch.ones(size).sum().item())

def test_a_process_of_its_own():
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=child, args=(3, results))
    process.start()
    assert results.get(timeout=60) == 3
    process.join()

def test_a_command():
    done = subprocess.run([sys.executable, "-c", "import torch; torch.ones(2).view(3)"], capture_output=True, text=True)
    assert "shape '[3]' is invalid" in done.stderr
    torch.ones(2).view(5)

@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="the calls of one process")
def test_how_often():
    assert [CALLS.count(name) for name in (2, 3, "test_once", "test_raise", "test_expected")] == [1, 2, 2, 1, 1]
'''
TRACED = ("test_product[3]", "TestView.test_view", "test_recorded", "test_a_command")


def printed_by(cli: Cli, folder: Path, *options: str) -> str:
    """What pytest prints for the tests in a folder, without times."""
    plugins = {entry.value for entry in importlib.metadata.entry_points(group="pytest11")}
    loaded = () if PLUGIN in plugins else ("-p", PLUGIN)
    # pytest-asyncio, which the tests of the editor need, warns on each start.
    alone = ("-p", "no:cacheprovider", "-p", "no:asyncio")
    command = [cli.python, "-m", "pytest", *alone, "--color=no", *loaded, *options]
    environment = cli.environment() | {"COLUMNS": "160", "TMPDIR": str(folder)}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert not done.stderr, done.stderr
    return re.sub(r"=* (.*) in \d[\d.]*s(?: \([\d:]+\))? =*$", r"= \1 =", done.stdout, flags=re.MULTILINE)


def sections(printed: str) -> dict[str, str]:
    """The report of each failing test, by its name."""
    _, _, failures = printed.partition("= FAILURES =")
    parts = re.split(r"^_+ (\S+) _+$", failures.partition("short test summary")[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_assertion_fails_with_its_rows(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "test_assertions.py").write_text(ASSERTIONS, encoding="utf-8")
    reports = sections(printed_by(cli, tmp_path))
    assert set(reports) - {"test_instructions"} == set(ROWS) - {"test_instructions"}
    for name, row in ROWS.items():
        report = reports[name]
        if name == "test_instructions" and "nothing was stepped" in report:
            continue  # this machine cannot step.
        assert row in report.partition("- ptexplore -")[2], report
        assert "/ptexplore/" not in report.partition("- ptexplore -")[0], report


@pytest.fixture(scope="module")
def raising(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raising")
    (folder / "test_raising.py").write_text(RAISING, encoding="utf-8")
    return folder


def test_a_failing_test_has_its_trace(cli: Cli, raising: Path) -> None:
    printed = printed_by(cli, raising, "--ptexplore")
    reports = sections(printed)
    files = {
        name: re.findall(r"^open it: ptexplore trace --load (\S+)$", text, re.MULTILINE)
        for name, text in reports.items()
    }
    assert {name for name, file in files.items() if file} == set(TRACED)
    assert "the product of the requested sizes must equal it" in reports["TestView.test_view"]
    assert "mat1 has 3 columns and mat2 has 2 rows" in reports["test_product[3]"]
    assert "a second call of the test, recorded:" in reports["test_product[3]"]
    assert "a second call" not in reports["test_recorded"]
    assert "a second call of the test did not raise this error" in reports["test_once"]
    for name in ("test_own_error", "test_raise", "test_compared"):
        assert "- ptexplore -" not in reports[name], reports[name]
    assert printed.count("\nprinted 3\n") == 1  # the output of the second call is not there.
    assert printed.count("UserWarning: warned 3") == 1
    assert "8 failed, 3 passed, 1 skipped, 1 xfailed" in printed
    trace = ptexplore.load(files["TestView.test_view"][0])
    assert trace.ending is not None
    assert trace.ending.message == "shape '[3]' is invalid for input of size 4"


def test_with_workers(cli: Cli, raising: Path) -> None:
    """The same with pytest-xdist, and the files in a folder for CI. A link there is replaced, not followed."""
    (mine := raising / "mine.txt").write_text("mine", encoding="utf-8")
    digest = hashlib.sha256(b"test_raising.py::test_recorded").hexdigest()[:8]
    (raising / "kept").mkdir()
    (planted := raising / "kept" / f"test_raising.py-test_recorded-{digest}.trace").symlink_to(mine)
    printed = printed_by(cli, raising, "--ptexplore-save", "kept", "-n", "2")
    assert mine.read_text(encoding="utf-8") == "mine"
    assert not planted.is_symlink()
    assert {name for name, text in sections(printed).items() if "open it: " in text} == set(TRACED)
    assert f"ptexplore: 4 traces in {raising / 'kept'}" in printed
    assert sorted(file.name.rpartition("-")[0] for file in (raising / "kept").iterdir()) == [
        "test_raising.py-TestView-test_view", "test_raising.py-test_a_command",
        "test_raising.py-test_product-3", "test_raising.py-test_recorded",
    ]  # fmt: skip


def test_passing_tests_are_left_alone(cli: Cli, tmp_path: Path) -> None:
    """A suite of others, and one that uses torch: the same output with the option and without it."""
    (tmp_path / "test_torch.py").write_text(
        "import sys, pytest, torch\n"
        "@pytest.mark.parametrize('n', range(5))\n"
        "def test_sum(n): assert torch.ones(n).sum() == n\n"
        "def test_raises():\n"
        "    with pytest.raises(RuntimeError): torch.ones(2).view(3)\n"
        "def test_profiled():\n"
        "    with torch.profiler.profile() as profile: torch.ones(2) + 1\n"
        "    assert any(event.name == 'aten::add' for event in profile.events())\n"
        "def test_nothing_of_ours():\n"
        "    assert sys.getprofile() is None and 'ptexplore.api.questions' not in sys.modules\n",
        encoding="utf-8",
    )
    others = ("--pyargs", "networkx.utils.tests", str(tmp_path / "test_torch.py"), "-v")
    plain, traced = (printed_by(cli, tmp_path, *others, *options) for options in ((), ("--ptexplore",)))
    assert plain == traced
    assert re.search(r"\d+ passed", plain)
    assert "failed" not in plain


def test_the_plugin_costs_nothing(cli: Cli, tmp_path: Path) -> None:
    """Without the option, three small modules are imported; for `--version` none."""
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure(config):\n"
        "    names = sorted(name for name in sys.modules if name.split('.')[0] in ('ptexplore', 'torch', 'msgspec'))\n"
        "    print('imported', names, config.pluginmanager.has_plugin('ptexplore-reports'))\n",
        encoding="utf-8",
    )
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    printed = printed_by(cli, tmp_path, "-s")
    assert f"imported {['ptexplore', 'ptexplore.surfaces', PLUGIN]} False" in printed
    version = [cli.python, "-X", "importtime", "-m", "pytest", "-p", "no:asyncio", "--version"]
    done = subprocess.run(version, cwd=tmp_path, env=cli.environment(), capture_output=True, text=True, check=True)
    assert "import time:" in done.stderr
    assert not re.search(r"\| +(torch|msgspec|numpy|ptexplore\.(?!surfaces))", done.stderr)
