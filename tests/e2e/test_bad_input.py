"""Whatever a user may type or feed in: the three-part message, the right exit code, a clean stdout.

What is only typed or raised is asked of the command in this process. What prints, kills, hangs or takes memory gets the
real program; tests/capture has more of it.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness import CONTROL, THOROUGH, Cli, InProcess, Result

pytestmark = pytest.mark.e2e

USAGE, FAILED = 2, 1


def trace(command: Cli | InProcess, *arguments: str) -> Result:
    """A trace; with the native pass, which has tests of bad input of its own, only where there is time for all."""
    return command("trace", *arguments, "--json", *([] if THOROUGH else ["--no-native"]))


# --- what is typed ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "torch.add(a,",
        "a +",
        "1 1",
        "",
        "   ",
        "a b",
        "def",
        "a = 1",
        "import os",
        "a; b",
        "a\nb",
        "(" * 500,
        "\x00",
        "é è",
        "yield",
    ],
    ids=repr,
)
def test_what_is_no_single_expression(command: InProcess, expression: str) -> None:
    if "\x00" in expression:
        pytest.skip("no command line can hold it")
    trace(command, expression).three_parts(USAGE)


@pytest.mark.parametrize(
    "expression, closest",
    [
        ("troch.add(a, b)", "torch"),
        ("torch.ad(a, b)", "add"),
        ("F.con2d(a, b)", "conv2d"),
        ("a.veiw(-1)", "view"),
        ("nn.Linaer(3, 3)(a)", "Linear"),
        ("undefined_name + a", "undefined_name"),
    ],
)
def test_a_name_that_is_not_there_gets_the_closest(command: InProcess, expression: str, closest: str) -> None:
    result = trace(command, expression).three_parts(USAGE, FAILED)
    assert closest in result.err


def test_a_call_of_an_unknown_letter_is_no_tensor(command: InProcess) -> None:
    trace(command, "f(a)").three_parts(USAGE, FAILED)


@pytest.mark.parametrize(
    "arguments",
    [
        ("a + 1", "--var", "x"),
        ("a + 1", "--var", "=1"),
        ("a + 1", "--var", "x=torch.randn(3"),
        ("a + 1", "--var", "1x=3"),
        ("a + 1", "--var", "class=3"),
        ("a + 1", "--var", "x=y=3"),
        ("a + 1", "--setup", "def f(:"),
        ("a + 1", "--with", "torch.inference_mode("),
        ("--script", "no/such/file.py"),
        ("--script", "/"),
        ("a + 1", "--script", "both.py"),
        ("a + 1", "--load", "both.json"),
        ("a + 1", "--timeout", "0"),
        ("a + 1", "--timeout", "-1"),
        ("a + 1", "--timeout", "nan"),
        ("a + 1", "--native-budget", "5"),
        ("--script", __file__, "--native-budget", "-1"),
        ("--script", __file__, "--native-budget", "nan"),
        ("--script", __file__, "--native-budget", "5 s"),
        ("--script", __file__, "--vary"),
        ("a + 1", "--depth", "-1"),
    ],
    ids=lambda given: " ".join(given).replace(__file__, "FILE"),
)
def test_an_option_that_does_not_parse(command: InProcess, arguments: tuple[str, ...]) -> None:
    trace(command, *arguments).three_parts(USAGE, FAILED)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("a + 1", "--var", "x=1 / 0"), "ZeroDivisionError"),
        (("a + 1", "--setup", "raise ValueError('mine')"), "mine"),
        (("a + 1", "--with", "1"), "context"),
        (("torch.profiler.profile(acc_events=True).__enter__()",), "uses torch's profiler itself"),
        (("a.nope",), "nope"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_code_that_raises_before_the_expression(command: InProcess, arguments: tuple[str, ...], says: str) -> None:
    result = trace(command, *arguments).three_parts(FAILED, USAGE)
    assert says in result.err


def ending(result: Result) -> dict[str, Any]:
    """What was raised: a Trace, and the exit code of a failure."""
    assert (result.code, result.err) == (FAILED, ""), result
    raised: dict[str, Any] = json.loads(result.out)["ending"]
    return raised


@pytest.mark.parametrize(
    "arguments, exception",
    [
        (("torch.add(a, torch.randn(2))",), "RuntimeError"),
        (("1 / 0",), "ZeroDivisionError"),
        (("torch.mm(a, 3)",), "TypeError"),
        (("(_ for _ in ()).throw(KeyboardInterrupt)",), "KeyboardInterrupt"),
        (("exit(3)", "--setup", "from sys import exit"), "SystemExit"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_code_that_raises(command: InProcess, arguments: tuple[str, ...], exception: str) -> None:
    assert ending(trace(command, *arguments))["exception"] == exception


def test_a_message_with_control_characters_is_cleaned(command: InProcess) -> None:
    setup = r"def g(): raise ValueError('\x1b]0;owned\x07\x1b[2J[red]bold[/red]\u202e')"
    result = command("trace", "g()", "--setup", setup, "--no-native")
    assert result.code == FAILED
    assert "[red]bold[/red]" in result.out
    assert not CONTROL.search(result.out)
    assert "\u202e" not in result.out


@pytest.mark.parametrize(
    "expression", ["1 + 1", "a.shape", "a.tolist()", "None", "'text'", "lambda: 1", "torch", "(a, [b])"]
)
def test_a_result_that_is_no_tensor_is_said(command: InProcess, expression: str) -> None:
    result = trace(command, expression)
    assert result.code == 0, result
    assert result.data["result"]


@pytest.mark.parametrize("expression", ["a.tolist()", "a.shape", "(a > 0)", "torch.ones(2, dtype=torch.int64)", "None"])
def test_backward_of_what_has_none(command: InProcess, expression: str) -> None:
    trace(command, expression, "--backward").three_parts(FAILED, USAGE)


def test_a_result_whose_repr_raises_or_is_huge(command: InProcess) -> None:
    setup = (
        "class Odd:\n    def __repr__(self): raise ValueError('no')\n"
        "class Big:\n    def __repr__(self): return 'x' * 10**8"
    )
    for name in ("Odd", "Big"):
        result = trace(command, f"{name}()", "--setup", setup)
        assert result.code == 0, result
        assert len(result.out) < 10**6


# --- what it does while it runs -----------------------------------------------------------------


PRINTS = (
    "print('\\x1b]0;owned\\x07' * 9) or os.system('echo noise; echo noise >&2')",
    "print('x' * 3_000_000)",
    "os.close(1)",
)


@pytest.mark.parametrize("prints", PRINTS if THOROUGH else [" or ".join(PRINTS)])
def test_what_the_expression_prints_stays_out_of_stdout(cli: Cli, prints: str) -> None:
    result = trace(cli, f"{prints} or torch.add(a, b)", "--setup", "import os, sys")
    assert result.code == 0, result
    ops = {hop["op"] for hop in result.hops}
    assert "aten::add.Tensor" in ops


def test_input_is_not_taken_from_the_terminal(cli: Cli) -> None:
    assert ending(trace(cli, "input()"))["exception"] == "EOFError"


@pytest.mark.parametrize(
    "expression",
    [
        "loop()",
        "thread()",
        "sum(range(10**12))",
    ],
)
def test_what_never_ends_is_stopped(command: InProcess, expression: str) -> None:
    setup = (
        "import signal, threading, time\n"
        "def loop():\n"
        "    for n in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM): signal.signal(n, signal.SIG_IGN)\n"
        "    while True: pass\n"
        "def thread():\n"
        "    threading.Thread(target=lambda: time.sleep(1000)).start()\n"
        "    time.sleep(1000)\n"
    )
    result = trace(command, expression, "--setup", setup, "--timeout", "1").three_parts(FAILED)
    assert "within 1 s" in result.err
    assert "--timeout" in result.err


def test_a_setup_that_never_ends_is_stopped(command: InProcess) -> None:
    trace(command, "a + 1", "--setup", "while True: pass", "--timeout", "1").three_parts(FAILED)


def test_nothing_it_started_is_left_running(cli: Cli) -> None:
    mark = f"{os.getpid()}{time.monotonic_ns() % 10**6}"
    setup = f"import subprocess, time\ndef g():\n    subprocess.Popen(['sleep', '{mark}'])\n    time.sleep(1000)"
    trace(cli, "g()", "--setup", setup, "--timeout", "1").three_parts(FAILED)
    time.sleep(0.3)
    assert not running(mark)


def running(mark: str) -> list[str]:
    """Processes that have `mark` among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if mark.encode() in arguments:
            found.append(entry.name)
    return found


@pytest.mark.parametrize(
    "expression",
    [
        "ctypes.string_at(0)",
        "os.kill(os.getppid(), 9)",
        *(["os._exit(7)", "os.abort()", "os.kill(os.getpid(), 9)", "os.killpg(0, 9)"] if THOROUGH else []),
    ],
)
def test_what_kills_the_process(command: InProcess, expression: str) -> None:
    """What it did until then is shown where it had a last word; else three parts."""
    result = trace(command, expression, "--setup", "import ctypes, os")
    if expression in ("ctypes.string_at(0)", "os.abort()", "os._exit(7)", "os.kill(os.getpid(), 9)"):
        assert result.code == FAILED, result
        assert any(word in result.out for word in ("SIGSEGV", "SIGABRT", "SIGKILL", "status 7", "os._exit")), result
    else:
        result.three_parts(FAILED)
    after = trace(command, "torch.add(a, b)")
    assert after.code == 0, after


@pytest.mark.parametrize("expression", ["torch.empty(2**50)", "torch.ones(2**46)", "bytearray(2**46)", "[0] * 2**46"])
def test_more_memory_than_there_is(command: InProcess, expression: str) -> None:
    trace(command, expression).three_parts(FAILED)


def test_memory_that_grows_is_stopped(cli: Cli) -> None:
    """Memory that is really touched, far more than the machine has; a limit must come before the kernel's killer."""
    if os.environ.get("PTEXPLORE_TEST_MEMORY") != "1":
        pytest.skip("set PTEXPLORE_TEST_MEMORY=1 on a machine of your own: without a limit it takes all memory")
    trace(cli, "[torch.ones(2**28) for _ in range(2**20)]").three_parts(FAILED)


@pytest.mark.parametrize(
    "text, says",
    [
        ("def f(:\n", "parse"),
        ("\0", ""),
    ],
)
def test_a_script_that_is_wrong(command: InProcess, text: str, says: str) -> None:
    script = Path("wrong.py")
    script.write_text(text, encoding="utf-8")
    assert says in trace(command, "--script", str(script)).three_parts(USAGE, FAILED).err


@pytest.mark.parametrize(
    "text, exception", [("1 / 0\n", "ZeroDivisionError"), ("import nowhere\n", "ModuleNotFoundError")]
)
def test_a_script_that_raises(command: InProcess, text: str, exception: str) -> None:
    script = Path("wrong.py")
    script.write_text(text, encoding="utf-8")
    assert ending(trace(command, "--script", str(script)))["exception"] == exception


def test_recursion_without_end(command: InProcess) -> None:
    raised = ending(trace(command, "g(1)", "--setup", "def g(n): return g(n + 1)"))
    assert raised["exception"] == "RecursionError"
    assert {left["name"] for left in raised["python"]} == {"g"}


def test_deep_and_wide_expressions(command: InProcess) -> None:
    assert trace(command, "a" + " + a" * 150).code == 0
    trace(command, "not " * 30_000 + "a").three_parts(USAGE, FAILED)


def test_code_that_meddles_with_hooks(command: InProcess) -> None:
    setup = (
        "import sys, threading\n"
        "def g(x):\n"
        "    sys.setprofile(None); threading.setprofile(None); sys.settrace(None)\n"
        "    return x + 1"
    )
    result = trace(command, "g(a)", "--setup", setup)
    assert result.code == 0, result
    assert "aten::add.Tensor" in {hop["op"] for hop in result.hops}
