"""Expressions that print, kill, hang, fork or take all memory: an answer, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ptexplore.capture.probing import TraceRequest
from ptexplore.capture.trace import capture
from ptexplore.errors import FAILED, MISSING, PtexploreError
from ptexplore.model.places import Runtime
from ptexplore.model.trace import Session
from ptexplore.view.words.errors import in_words
from ptexplore.workspace.typed import typed

pytest.importorskip("torch")
MODULES = ("import os, sys, time, subprocess, threading, ctypes, multiprocessing",)


def trace(runtime: Runtime, expression: str, **options: Any) -> Session:
    given = {"cwd": "/", "setup": MODULES, **options}
    with in_words():
        return capture(typed(TraceRequest(expression=expression, **given)), runtime)


def failure(runtime: Runtime, expression: str, **options: Any) -> PtexploreError:
    with pytest.raises(PtexploreError) as caught:
        trace(runtime, expression, **options)
    assert caught.value.message
    assert caught.value.why
    assert caught.value.hint
    return caught.value


def output(session: Session) -> dict[str, Any]:
    return next((o.as_saved().data for o in session.observations if o.kind == "output"), {"text": "", "cut": False})


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("print('noise') or torch.add(a, b)", "noise\n"),
        ("os.write(1, b'noise') and torch.add(a, b)", "noise"),
        ("os.system('echo noise') or torch.add(a, b)", "noise\n"),
        ("sys.stderr.write('ERROR: mine\\n') and torch.add(a, b)", "ERROR: mine\n"),
        ("sys.stdout.close() or torch.add(a, b)", ""),
        ("os.close(1) or torch.add(a, b)", ""),
        ("sys.__stdout__.write('held back') and torch.add(a, b)", "held back"),
    ],
)
def test_what_is_printed_is_kept(warm: Runtime, expression: str, text: str) -> None:
    session = trace(warm, expression)
    assert output(session)["text"] == text
    assert [o for o in session.observations if o.as_saved().data.get("name") == "aten::add"]


def test_what_is_printed_goes_nowhere(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    expression = "os.system('echo one; echo two >&2') or print('three') or sys.stderr.write('four') and a"
    assert output(trace(runtime, expression))["text"] == "one\ntwo\nthree\nfour"
    assert capfd.readouterr() == ("", "")


def test_much_output_is_cut(warm: Runtime) -> None:
    found = output(trace(warm, "print('x' * 3_000_000) or torch.add(a, b)"))
    assert found["cut"]
    assert 60_000 < len(found["text"]) <= 64 * 1024


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("ctypes.string_at(0)", "SIGSEGV in the ops run"),
        ("os.abort()", "SIGABRT"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        ("os._exit(0)", "status 0"),
        ("os._exit(7)", "status 7"),
    ],
)
def test_what_kills_its_process(warm: Runtime, expression: str, why: str) -> None:
    error = failure(warm, expression)
    assert error.exit_code == FAILED
    assert why in error.why


def test_descriptors_that_are_closed_keep_nobody_from_answering(warm: Runtime) -> None:
    session = trace(warm, "os.closerange(3, 1000) or torch.add(a, b)")
    assert [o for o in session.observations if o.as_saved().data.get("name") == "aten::add"]


@pytest.mark.parametrize("expression", ["os.kill(os.getppid(), 9)", "os.killpg(0, 9)"])
def test_what_kills_the_probe(runtime: Runtime, expression: str) -> None:
    error = failure(runtime, expression)
    assert error.exit_code == FAILED
    assert "SIGKILL" in error.why


def test_death_in_a_later_pass_names_it(warm: Runtime, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    expression = f"os.abort() if os.path.exists({str(mark)!r}) else open({str(mark)!r}, 'w') and torch.add(a, b)"
    assert "SIGABRT in the frames run" in failure(warm, expression).why


@pytest.mark.parametrize(
    "expression",
    ["torch.empty(2**50)", "torch.ones(2**46)", "bytearray(2**46)", "[0] * 2**46", "bytearray(64 << 30)"],
)
def test_more_memory_than_there_is(warm: Runtime, expression: str) -> None:
    error = failure(warm, expression)
    assert error.exit_code == FAILED
    assert "more memory than there is" in error.message


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("time.sleep(1000)", "in the ops run, at line 1 of expression"),
        ("[0 for _ in iter(int, 1)]", "in the ops run, at line 1 of expression"),
        ("os.kill(os.getpid(), 19)", "in the ops run, at line 1 of expression"),
        ("os.killpg(0, 19)", "in the ops run, at line 1 of expression"),
    ],
)
def test_what_never_ends(warm: Runtime, expression: str, why: str) -> None:
    error = failure(warm, expression, timeout=1.0)
    assert "did not end within 1 s" in error.message
    assert why in error.why
    assert "--timeout" in error.hint


PROBE = "int(open(f'/proc/{os.getppid()}/stat').read().rpartition(') ')[2].split()[1])"  # the parent of its parent


@pytest.mark.parametrize("stopped", ["os.getppid()", PROBE])
def test_the_time_is_that_of_the_whole_command_even_if_what_waits_is_stopped(runtime: Runtime, stopped: str) -> None:
    """What was seen by then is kept."""
    session = trace(runtime, f"[torch.add(a, b), os.kill({stopped}, 19)]", timeout=2.0)
    assert [o for o in session.observations if o.as_saved().data.get("name") == "aten::add"]


def test_a_timeout_takes_along_what_was_started(runtime: Runtime) -> None:
    mark = f"{os.getpid()}{time.monotonic_ns() % 10**6}"
    failure(runtime, f"subprocess.run(['sleep', '{mark}'])", timeout=1.0)
    assert not running(mark)


def test_what_outlives_the_expression_holds_nobody_up(warm: Runtime) -> None:
    mark = f"{os.getpid()}{time.monotonic_ns() % 10**6}"
    fork = f"os.fork() or os.execlp('sleep', 'sleep', '{mark}')"
    trace(warm, f"{fork} and torch.add(a, b)")
    trace(warm, f"subprocess.Popen(['sleep', '{mark}'], close_fds=False) and torch.add(a, b)")
    assert not running(mark)


def running(mark: str) -> list[str]:
    """Processes that have `mark` among their arguments; a moment is given to those just killed."""
    found: list[str] = []
    for _ in range(20):
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    found.append(entry.name)
        if not found:
            break
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_ptexplore_itself_goes_away_nothing_runs_on(
    runtime: Runtime, number: signal.Signals, tmp_path: Path
) -> None:
    mark = f"{os.getpid()}{time.monotonic_ns() % 10**6}"
    begun = tmp_path / "begun"
    expression = f"open({str(begun)!r}, 'w') and subprocess.run(['sleep', '{mark}'])"
    code = (
        "from ptexplore.capture.probing import TraceRequest\n"
        "from ptexplore.workspace.typed import typed\n"
        "from ptexplore.capture.trace import capture\n"
        "from ptexplore.source.runtime.describe import find_runtime\n"
        f"request = TraceRequest(expression={expression!r}, setup={MODULES!r}, cwd='/')\n"
        f"capture(typed(request), find_runtime({runtime.python!r}))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    parent.send_signal(number)
    parent.wait(timeout=20)
    assert not running(mark)


def test_stdin_is_empty(warm: Runtime) -> None:
    assert "EOFError" in failure(warm, "input()").message


def test_recursion_without_end(warm: Runtime) -> None:
    error = failure(warm, "g(1)", setup=("def g(n): return g(n + 1)",))
    assert "RecursionError" in error.message


@pytest.mark.parametrize("text", ["KeyboardInterrupt", "SystemExit", "GeneratorExit"])
def test_an_exception_that_is_no_exception(warm: Runtime, text: str) -> None:
    assert text in failure(warm, f"(_ for _ in ()).throw({text})").message
    assert text in failure(warm, "a", setup=(f"raise {text}",)).message
    assert text in failure(warm, "a", variables=(("x", f"(_ for _ in ()).throw({text})"),)).message


def test_classes_that_cannot_be_asked_anything(warm: Runtime) -> None:
    setup = (
        "class Odd(Exception):\n"
        "    def __repr__(self): raise ValueError('no')\n"
        "    __str__ = __dir__ = __len__ = __iter__ = __eq__ = __hash__ = __bool__ = __repr__\n"
        "    def __getattr__(self, name): raise RuntimeError(name)\n"
        "class Meta(type):\n"
        "    def __repr__(cls): raise ValueError('no')\n"
        "class Odder(metaclass=Meta): __class__ = property(lambda self: 1 / 0)\n"
        "class List(list):\n"
        "    def __iter__(self): raise ValueError('no')\n"
        "class Call:\n"
        "    def __getattr__(self, name): raise RuntimeError(name)\n"
        "    def __call__(self, *a): return torch.add(*a)\n"
        "def fail(): raise Odd()"
    )
    assert trace(warm, "Call()(a, b)", setup=(setup,)).result.type == "torch.Tensor"
    assert trace(warm, "Odd()", setup=(setup,)).result.description == "Odd"
    assert "Odder" in trace(warm, "Odder()", setup=(setup,)).result.description
    trace(warm, "List([a])", setup=(setup,))
    assert "Odd" in failure(warm, "fail()", setup=(setup,)).message


def test_a_neighbour_folder_that_is_gone(warm: Runtime, tmp_path: Path) -> None:
    assert trace(warm, "torch.add(a, b)", cwd=str(tmp_path / "gone")).result.type == "torch.Tensor"


def test_torch_of_another_place_is_refused(runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('not the real one')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert failure(runtime, "a").exit_code == MISSING
    (tmp_path / "torch" / "__init__.py").write_text("class version: git_version = ''\n__version__ = '9'")
    error = failure(runtime, "a")
    assert error.exit_code == MISSING
    assert str(tmp_path) in error.why
