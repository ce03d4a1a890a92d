"""`ptexplore survey`: operators are traced and compared, what is done is kept, a crash costs one operator alone."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness import CONTROL, TARGET, THOROUGH, Cli

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        TARGET is None and importlib.util.find_spec("expecttest") is None, reason="needs the package expecttest"
    ),
]

THREE = "^(add|view|nn.functional.softsign)$"
ALL = "^(abs|neg|exp|sin|add|view|nn.functional.softsign)$"

# Loaded by every Python below this folder on PYTHONPATH: changes what OpInfo says of some operators.
CUSTOMIZE = """
import importlib.abc, importlib.util, os, signal, sys, time

class Changing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "torch.testing._internal.common_methods_invocations":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def changed(module):
            execute(module)
            for op in module.op_db:
                if op.full_name in CHANGES:
                    op.op = CHANGES[op.full_name]

        spec.loader.exec_module = changed
        return spec

def crash(*_):
    os.kill(os.getpid(), signal.SIGSEGV)

def hang(*_):
    time.sleep(1000)

def kill_the_probe(*_):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)

def other_each_time(value, *_):
    import secrets, torch
    return torch.add(value, secrets.randbits(20))

def other_random_numbers(value, *_):
    import secrets, torch
    torch.rand(secrets.randbits(20))
    return torch.tan(value)

CHANGES = {
    "abs": crash, "neg": hang, "exp": kill_the_probe, "sin": other_each_time, "tan": other_random_numbers
}
sys.meta_path.insert(0, Changing())
"""


@pytest.fixture
def survey_cli(warm_cache: Path, tmp_path: Path) -> Cli:
    return Cli(warm_cache, tmp_path)


@pytest.fixture
def changed(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "customize"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CUSTOMIZE, encoding="utf-8")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join([*paths, str(Path(__file__).resolve().parent.parent.parent)])}


def facts(folder: Path) -> dict[str, float]:
    return {file.stem: file.stat().st_mtime for file in (folder / "facts").glob("*.json")}


def stopped(survey_cli: Cli, out: Path, env: dict[str, str]) -> None:
    """A survey of add, and of neg, which hangs: stopped once add is done."""
    target = ("--python", TARGET) if TARGET else ()
    command = [
        sys.executable,
        "-m",
        "ptexplore",
        "survey",
        "--alone",
        "--only",
        "^(add|neg)$",
        "--jobs",
        "2" if THOROUGH else "1",  # each imports all samples
        "--out",
        str(out),
    ]
    survey = subprocess.Popen(
        [*command, *target],
        env=survey_cli.environment() | env,
        cwd=survey_cli.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 90
        while not (out / "facts" / "add.json").exists():
            assert survey.poll() is None, survey.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        os.killpg(survey.pid, signal.SIGINT)  # as a terminal does: to all of the foreground
        printed, said = survey.communicate(timeout=30)
    finally:
        survey.kill()
    assert survey.returncode == 130, said
    assert "1 of 2 operators are done and saved" in said, said
    assert "Traceback" not in said, said
    assert printed == ""
    assert not running(str(survey_cli.cwd)), "no worker and no probe is left"


def check_failures(found: dict[str, Any]) -> None:
    """An operator that crashes, hangs, ends the probe or changes costs itself alone."""
    rows = {row["op"]: row for row in found["operators"]}
    assert set(rows) == {"abs", "neg", "exp", "sin", "add", "view", "nn.functional.softsign"}, found
    assert rows["abs"]["state"] == rows["neg"]["state"] == rows["exp"]["state"] == "failed", rows
    assert "SIGSEGV" in rows["abs"]["why"], rows["abs"]
    assert "within 5 s" in rows["neg"]["why"], rows["neg"]
    assert "died" in rows["exp"]["why"], rows["exp"]
    assert rows["sin"]["result"] == "differs", rows["sin"]
    assert rows["sin"]["changed"], rows["sin"]
    titles = {one["title"]: [name["name"] for name in one["found"]] for one in found["exceptions"]}
    assert titles["Not traced"] == ["abs", "exp", "neg"], titles
    assert titles["Another result when traced"] == ["sin"], titles


@pytest.mark.slow
def test_what_is_done_when_it_is_stopped_is_kept_and_of_the_rest_each_costs_itself_alone(
    survey_cli: Cli, tmp_path: Path, changed: dict[str, str]
) -> None:
    out = tmp_path / "out"
    stopped(survey_cli, out, changed)
    report = survey_cli("survey", "--report", "--only", "^(add|neg)$", "--json", "--out", str(out), target=None)
    assert report.data["missing"] == ["neg"]

    kept = ("--out", str(out))
    before = facts(out)
    assert set(before) == {"add"}
    arguments = ("survey", "--alone", "--only", ALL, "--jobs", "1", "--timeout", "5", "--json", *kept)
    check_failures(survey_cli(*arguments, env=changed).data)
    again = survey_cli("survey", "--report", "--only", THREE, "--json", *kept, target=None)
    assert {row["op"] for row in again.data["operators"]} == {"add", "view", "nn.functional.softsign"}, again
    after = facts(out)
    assert {op: after[op] for op in before} == before, "what was done is not done again"
    for row in again.data["operators"]:
        assert row["result"] == "equal", row
        assert row["expression"].startswith(("torch.add(a, b", "torch.nn.functional.softsign(a", "f(a")), row
        if row["state"] != "derived":
            assert row["state"] == "whole", row
            assert row["instructions"] > 2_000, row
    assert again.data["missing"] == []

    # The report needs no torch and no run; the trace is one that `trace` shows.
    report = survey_cli("survey", "--report", "--markdown", *kept, target=None)
    assert report.code == 0, report
    for text in ("| `add` | ", "| `nn.functional.softsign` | ", "Not surveyed: ", "acos"):
        assert text in report.out, report
    shown = survey_cli("trace", "--load", str(out / "traces" / "add.json.gz"), target=None)
    assert shown.code == 0, shown
    assert "OpInfo add, sample " in shown.out, shown
    assert "aten::add.Tensor" in shown.out, shown

    with gzip.open(out / "traces" / "add.json.gz") as file:
        assert json.load(file)["session"]["options"]["native"] is True
    resolved = survey_cli("survey", "--resolve", "--only", "^(add|nn)", "--json", *kept)
    known = {row["op"]: row for row in again.data["operators"]}
    found = {row["op"]: row for row in resolved.data["operators"]}
    assert found == {op: known[op] for op in found}, "saved traces lead to what was concluded when they were made"
    assert len(found) == 2, resolved
    assert facts(out)["add"] != after["add"]


# Of each sort of sample: Python around operators, an attribute, one that calls backward, one that vmap refuses.
WRAPPED = "^(nn.functional.softsign|mH|max_pool2d_with_indices_backward|item)$" if THOROUGH else "^(mH|item)$"


def check_inside(rows: list[dict[str, Any]]) -> None:
    """What was predicted of the samples put into something is what ran, and what did not run says why."""
    inside = [row for operator in rows for row in operator["inside"]]
    assert {row["way"] for row in inside} == {"vmap", "jit.trace", "Function"}
    assert not [(row["op"], row["way"], row["differences"]) for row in inside if row["differences"]]
    assert not [(row["op"], row["way"], row["why"]) for row in inside if row["state"] == "failed"]
    assert not [(row["op"], row["way"], row["changed"]) for row in inside if row["result"] == "differs"]
    assert all(row["why"] for row in inside if row["state"] == "no sample")
    for way in ("vmap", "jit.trace", "Function"):
        assert sum(row["foretold"] for row in inside if row["way"] == way) > 0


@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
@pytest.mark.slow
def test_each_sample_is_put_into_vmap_jit_trace_and_a_function(survey_cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = survey_cli("survey", "--only", WRAPPED, "--jobs", "2", "--json", "--out", str(out))
    check_inside(made.data["operators"])
    why = {
        (row["op"], row["way"]): row["why"]
        for operator in made.data["operators"]
        for row in operator["inside"]
        if row["state"] == "no sample"
    }
    assert why["item", "vmap"].startswith("its shape or its path depends on the data")
    assert why["item", "jit.trace"] == "its result is not a tensor"
    assert ("item", "Function") not in why
    shown = survey_cli("trace", "--load", str(out / "traces" / "mH@jit.trace.json.gz"), target=None)
    assert "torch.jit.trace(lambda a: " in shown.out, shown


@pytest.mark.slow
@pytest.mark.skipif(not THOROUGH, reason="scripts/test --matched runs it, or PTEXPLORE_TEST_THOROUGH=1")
def test_no_operators_prediction_is_contradicted(survey_cli: Cli, tmp_path: Path) -> None:
    """Of operators from all over the list; of every one, which takes an hour, with PTEXPLORE_TEST_SURVEY=1."""
    whole = bool(os.environ.get("PTEXPLORE_TEST_SURVEY"))
    some = () if whole else ("--limit", "8")
    made = survey_cli("survey", *some, "--jobs", "2", "--json", "--out", str(tmp_path / "out"), timeout=7200)
    check_inside(made.data["operators"])
    assert not whole or made.data["missing"] == []


def running(word: str) -> list[str]:
    """Command lines and environments of processes that have a word in them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if word.encode() in entry.read_bytes() and entry.parent.name != str(os.getpid()):
                found.append((entry.parent / "cmdline").read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return [line for line in found if "ptexplore" in line or "multiprocessing" in line]


def test_without_its_packages_it_says_which(survey_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "expecttest.py").write_text("raise ModuleNotFoundError('none', name='expecttest')", encoding="utf-8")
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).resolve().parent.parent.parent)])}
    found = survey_cli("survey", "--limit", "1", "--jobs", "1", "--out", str(tmp_path / "out"), env=env)
    found.three_parts(3)
    assert "pip install expecttest numpy" in found.err, found


@pytest.mark.parametrize(
    "arguments",
    [
        ("--only", "("),
        ("--only", "^no such operator$", "--report"),
        ("--limit", "0"),
        ("--jobs", "0"),
        ("--timeout", "0"),
        ("--json", "--markdown"),
        ("--report", "--again"),
    ],
)
def test_bad_arguments_end_in_three_parts(survey_cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found = survey_cli("survey", *arguments, "--out", str(tmp_path / "out"), target=None)
    found.three_parts(2, 3)


def test_a_damaged_facts_file_counts_as_not_done(survey_cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "facts").mkdir(parents=True)
    about = {"torch": "2", "git_version": "x", "python": "3", "phase": "forward", "operators": ["a\x1b[31m", "b", "c"]}
    (out / "survey.json").write_text(json.dumps(about | {"trees": [], "wall": 0, "jobs": 1}), encoding="utf-8")
    row = {"format": 1, "op": "a\x1b[31m", "state": "failed", "why": "\x1b]0;title\x07"}
    (out / "facts" / "a.json").write_text(json.dumps({"row": row}), encoding="utf-8")
    (out / "facts" / "b.json").write_text(json.dumps({"row": row | {"op": "b", "state": "fine"}}), encoding="utf-8")
    (out / "facts" / "c.json").write_text('{"row": {"format": 1, "op": "c"', encoding="utf-8")
    for form in ((), ("--markdown",)):
        report = survey_cli("survey", "--report", "--out", str(out), *form, target=None)
        assert report.code == 0, report
        assert not CONTROL.search(report.out + report.err), report
    report = survey_cli("survey", "--report", "--json", "--out", str(out), target=None)
    assert report.data["missing"] == ["b", "c"], report
