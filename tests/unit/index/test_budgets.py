"""Files over budget are problems that are said; all others are read."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
import time
from pathlib import Path

import pytest

from ptexplore.cpp.macros import MacroTable, collect
from ptexplore.index import budgets, workers
from ptexplore.index.workers import Task, Wave, Whole, read_all, read_whole, worth_starting
from tests import dying

N = 100_000
DEEP = {
    "open braces": "{" * N,
    "open parentheses": "int f" + "(" * N,
    "closed brackets": "int a" + "[" * N + "]" * N + ";",
    "namespaces": "namespace a {\n" * N + "}" * N,
    "classes": "struct a {\n" * N + "};" * N,
    "invocations": "#define F(...) __VA_ARGS__\n" + "F(\n" * N,
    "closing": "}" * N,
}


@pytest.mark.parametrize("name", DEEP)
def test_what_nests_too_deep_is_not_parsed_but_its_words_are_known(tmp_path: Path, name: str) -> None:
    file = tmp_path / "deep.cpp"
    file.write_text(DEEP[name], encoding="utf-8")
    read = read_whole(Task(1, "c10/deep.cpp", str(file), "checkout", file.stat().st_size, None), MacroTable({}))
    assert isinstance(read, Whole)
    (problem,) = read.records.problems
    assert problem.endswith("not parsed")
    assert not read.records.symbols


def test_what_is_long_and_even_is_parsed() -> None:
    assert not budgets.too_deep(b"void f() { g(a[1]); }\n" * 50_000)
    assert not budgets.too_deep(b"#if A\nint f() {\n#else\nint g() {\n#endif\n}\n" * 1_000)


def test_a_file_that_takes_too_long_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped, whatever the reader is at."""
    monkeypatch.setattr(budgets, "_SECONDS", 0.05)
    monkeypatch.setattr(budgets, "_SECONDS_A_MEGABYTE", 0.0)
    file = tmp_path / "slow.cpp"
    file.write_text("int f(int a) { return g(a) + 1; }\n" * 40_000, encoding="utf-8")
    before = signal.getsignal(signal.SIGVTALRM)
    read = read_whole(Task(1, "c10/slow.cpp", str(file), "checkout", 1, None), MacroTable({}))
    assert isinstance(read, Whole)
    assert "seconds of processor" in read.records.problems[0]
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_a_header_that_is_larger_than_any_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "large.h"
    file.write_text("#define A 1\n" + "// a line\n" * 500_000, encoding="utf-8")
    assert not collect([("c10/large.h", file.read_text())]).by_name
    read = read_whole(Task(1, "c10/large.h", str(file), "checkout", file.stat().st_size, None), MacroTable({}))
    assert isinstance(read, Whole)
    assert "its macros are unknown in other files" in read.records.problems[0]


def test_no_memory_is_a_files_problem_where_the_limit_is_for_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a worker. Elsewhere it ends the command: kept as the file's problem, the file would stay without its names."""

    def greedy(*_given: object) -> None:
        raise MemoryError

    (tmp_path / "x.py").write_text("def f(): ...\n")
    task = Task(1, "torch/x.py", str(tmp_path / "x.py"), "checkout", 13, None)
    monkeypatch.setattr("ptexplore.index.python.extract", greedy)
    with pytest.raises(MemoryError):
        read_whole(task, MacroTable({}))
    with (tmp_path / "at").open("w") as at:
        monkeypatch.setattr(workers, "_at", at.fileno())
        monkeypatch.setattr(workers, "budget", lambda *_given, **_named: contextlib.nullcontext())
        read = read_whole(task, MacroTable({}))
    assert isinstance(read, Whole)
    assert read.records.problems == ("the reader failed: MemoryError: ",)


def test_a_thread_has_no_budget_and_reads(tmp_path: Path) -> None:
    read: list[object] = []

    def work() -> None:
        with budgets.budget(1):
            read.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert read == [1]


def test_time_goes_on_where_an_exception_of_the_budget_is_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "_SECONDS", 0.05)
    end = time.process_time() + 20
    with pytest.raises(budgets.OverBudget), budgets.budget(0):
        try:
            while time.process_time() < end:
                pass
        except budgets.OverBudget:
            pass
        while time.process_time() < end:
            pass


def test_a_file_that_a_worker_dies_of_is_named_and_all_others_are_read(capfd: pytest.CaptureFixture[str]) -> None:
    paths = [f"c10/{number}.cpp" for number in range(40)] + ["c10/SIGKILL.cpp", "c10/SIGPROF.cpp", "c10/SIGABRT.cpp"]
    waves = [Wave([Task(0, path, "", "checkout", 30_000, None) for path in paths[start::2]], MacroTable({})) for start in (0, 1)]  # fmt: skip  # noqa: E501
    made = list(read_all(waves, 2, dying.read, lambda task, why: f"{task.path}: {why}"))
    died = sorted(row for row in made if ":" in row)
    assert [row.partition(":")[0] for row in died] == ["c10/SIGABRT.cpp", "c10/SIGKILL.cpp", "c10/SIGPROF.cpp"]
    assert sorted(row for row in made if ":" not in row) == sorted(paths[:40])
    assert "leaked" not in capfd.readouterr().err


def test_whoever_is_interrupted_does_not_wait_for_a_file_that_is_being_read() -> None:
    """One worker reads a file without end: the reading is over when its reader is, not when that file is."""
    paths = ["c10/forever.cpp", *(f"c10/{number}.cpp" for number in range(20))]
    wave = Wave([Task(0, path, "", "checkout", 400_000, None) for path in paths], MacroTable({}))
    reading = read_all([wave], 2, dying.read)
    next(reading)
    with pytest.raises(KeyboardInterrupt):
        reading.throw(KeyboardInterrupt())
    left = multiprocessing.active_children()
    for worker in left:  # Python would wait for them at its end
        worker.kill()
    assert not left


def test_a_large_file_is_read_where_it_can_be_stopped() -> None:
    assert worth_starting([Task(0, "c10/small.cpp", "", "checkout", 1_000, None)], 2) == 1
    assert worth_starting([Task(0, "c10/large.cpp", "", "checkout", 900_000, None)], 2) == 2


def spend(seconds: float) -> None:
    budgets.limit_processor(seconds)
    while True:
        pass


def test_a_process_over_its_processor_time_ends_by_a_signal_of_its_own() -> None:
    process = multiprocessing.get_context("spawn").Process(target=spend, args=(0.1,))
    process.start()
    process.join(300)
    assert process.exitcode == -signal.SIGPROF
