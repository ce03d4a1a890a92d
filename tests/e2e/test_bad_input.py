"""Whatever a user may type or feed in: the three-part message, the right exit code, a clean stdout."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import REPOSITORY, TARGET, Cli, Result

pytestmark = pytest.mark.e2e

USAGE, FAILED, MISSING = 2, 1, 3
REFUSED = (FAILED, USAGE, MISSING)  # of a saved session that cannot be read


def trace(cli: Cli, *arguments: str, **options: Any) -> Result:
    return cli("trace", *arguments, "--json", **options)


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
def test_what_is_no_single_expression(cli: Cli, expression: str) -> None:
    if "\x00" in expression:
        pytest.skip("no command line can hold it")
    trace(cli, expression).three_parts(USAGE)


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
def test_a_name_that_is_not_there_gets_the_closest(cli: Cli, expression: str, closest: str) -> None:
    result = trace(cli, expression).three_parts(USAGE, FAILED)
    assert closest in result.err


def test_a_call_of_an_unknown_letter_is_no_tensor(cli: Cli) -> None:
    trace(cli, "f(a)").three_parts(USAGE, FAILED)


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
        ("a + 1", "--depth", "-1"),
    ],
    ids=" ".join,
)
def test_an_option_that_does_not_parse(cli: Cli, arguments: tuple[str, ...]) -> None:
    trace(cli, *arguments).three_parts(USAGE, FAILED)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("torch.add(a, torch.randn(2))",), "size"),
        (("1 / 0",), "ZeroDivisionError"),
        (("torch.mm(a, 3)",), "TypeError"),
        (("a + 1", "--var", "x=1 / 0"), "ZeroDivisionError"),
        (("a + 1", "--setup", "raise ValueError('mine')"), "mine"),
        (("a + 1", "--with", "1"), "context"),
        (("a.nope",), "nope"),
        (("(_ for _ in ()).throw(KeyboardInterrupt)",), "KeyboardInterrupt"),
        (("exit(3)", "--setup", "from sys import exit"), "SystemExit"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_code_that_raises(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    result = trace(cli, *arguments).three_parts(FAILED, USAGE)
    assert says in result.err


def test_a_message_with_control_characters_is_cleaned(cli: Cli) -> None:
    setup = r"def f(): raise ValueError('\x1b]0;owned\x07\x1b[2J[red]bold[/red]')"
    result = trace(cli, "g()", "--setup", setup.replace("f()", "g()")).three_parts(FAILED)
    assert "[red]bold[/red]" in result.err


@pytest.mark.parametrize(
    "expression", ["1 + 1", "a.shape", "a.tolist()", "None", "'text'", "lambda: 1", "torch", "(a, [b])"]
)
def test_a_result_that_is_no_tensor_is_said(cli: Cli, expression: str) -> None:
    result = trace(cli, expression)
    assert result.code == 0, result
    assert result.data["result"]


@pytest.mark.parametrize("expression", ["a.tolist()", "a.shape", "(a > 0)", "torch.ones(2, dtype=torch.int64)", "None"])
def test_backward_of_what_has_none(cli: Cli, expression: str) -> None:
    trace(cli, expression, "--backward").three_parts(FAILED, USAGE)


def test_a_result_whose_repr_raises_or_is_huge(cli: Cli) -> None:
    setup = (
        "class Odd:\n    def __repr__(self): raise ValueError('no')\n"
        "class Big:\n    def __repr__(self): return 'x' * 10**8"
    )
    for name in ("Odd", "Big"):
        result = trace(cli, f"{name}()", "--setup", setup)
        assert result.code == 0, result
        assert len(result.out) < 10**6


# --- what it does while it runs -----------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "print('noise') or torch.add(a, b)",
        "os.write(1, b'noise') and torch.add(a, b)",
        "os.system('echo noise') or torch.add(a, b)",
        "print('\\x1b]0;owned\\x07' * 9) or torch.add(a, b)",
        "print('x' * 3_000_000) or torch.add(a, b)",
        "sys.stderr.write('noise\\n') and torch.add(a, b)",
        "sys.stdout.close() or torch.add(a, b)",
        "os.close(1) or torch.add(a, b)",
    ],
)
def test_what_the_expression_prints_stays_out_of_stdout(cli: Cli, expression: str) -> None:
    result = trace(cli, expression, "--setup", "import os, sys")
    assert result.code == 0, result
    ops = {hop["op"] for hop in result.hops}
    assert "aten::add.Tensor" in ops


def test_input_is_not_taken_from_the_terminal(cli: Cli) -> None:
    trace(cli, "input()").three_parts(FAILED)


@pytest.mark.parametrize(
    "expression",
    [
        "time.sleep(1000)",
        "[0 for _ in iter(int, 1)]",
        "loop()",
        "thread()",
        "int('9' * 10) and sum(range(10**12))",
    ],
)
def test_what_never_ends_is_stopped(cli: Cli, expression: str) -> None:
    setup = (
        "import signal, threading, time\n"
        "def loop():\n"
        "    for n in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM): signal.signal(n, signal.SIG_IGN)\n"
        "    while True: pass\n"
        "def thread():\n"
        "    threading.Thread(target=lambda: time.sleep(1000)).start()\n"
        "    time.sleep(1000)\n"
    )
    started = time.monotonic()
    result = trace(cli, expression, "--setup", setup, "--timeout", "3").three_parts(FAILED)
    assert time.monotonic() - started < 20
    assert "3" in result.err
    assert "--timeout" in result.err


def test_a_setup_that_never_ends_is_stopped(cli: Cli) -> None:
    trace(cli, "a + 1", "--setup", "while True: pass", "--timeout", "3").three_parts(FAILED)


def test_nothing_it_started_is_left_running(cli: Cli) -> None:
    mark = f"{os.getpid()}{time.monotonic_ns() % 10**6}"
    setup = f"import subprocess, time\ndef g():\n    subprocess.Popen(['sleep', '{mark}'])\n    time.sleep(1000)"
    trace(cli, "g()", "--setup", setup, "--timeout", "3").three_parts(FAILED)
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
        "os._exit(0)",
        "os._exit(7)",
        "os.abort()",
        "os.kill(os.getpid(), 9)",
        "os.kill(os.getppid(), 9)",
        "os.killpg(0, 9)",
        "os.closerange(3, 1000)",
    ],
)
def test_what_kills_the_process(cli: Cli, expression: str) -> None:
    result = trace(cli, expression, "--setup", "import ctypes, os")
    if result.code == 0 and "closerange" in expression:
        return  # the channel survived, as it may
    result.three_parts(FAILED)
    after = trace(cli, "torch.add(a, b)")
    assert after.code == 0, after


@pytest.mark.parametrize("expression", ["torch.empty(2**50)", "torch.ones(2**46)", "bytearray(2**46)", "[0] * 2**46"])
def test_more_memory_than_there_is(cli: Cli, expression: str) -> None:
    trace(cli, expression).three_parts(FAILED)


def test_memory_that_grows_is_stopped(cli: Cli) -> None:
    """Memory that is really touched, far more than the machine has; a limit must come before the kernel's killer."""
    if os.environ.get("PTEXPLORE_TEST_MEMORY") != "1":
        pytest.skip("set PTEXPLORE_TEST_MEMORY=1 on a machine of your own: without a limit it takes all memory")
    trace(cli, "[torch.ones(2**28) for _ in range(2**20)]").three_parts(FAILED)


@pytest.mark.parametrize(
    "text, says",
    [
        ("def f(:\n", "parse"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("import nowhere_at_all\n", "nowhere_at_all"),
        ("\0", ""),
    ],
)
def test_a_script_that_is_wrong(cli: Cli, text: str, says: str) -> None:
    script = cli.cwd / "wrong.py"
    script.write_text(text, encoding="utf-8")
    assert says in trace(cli, "--script", str(script)).three_parts(USAGE, FAILED).err


def test_recursion_without_end(cli: Cli) -> None:
    trace(cli, "g(1)", "--setup", "def g(n): return g(n + 1)").three_parts(FAILED)


def test_deep_and_wide_expressions(cli: Cli) -> None:
    assert trace(cli, "a" + " + a" * 150).code == 0
    trace(cli, "not " * 30_000 + "a").three_parts(USAGE, FAILED)


def test_code_that_meddles_with_hooks(cli: Cli) -> None:
    setup = (
        "import sys, threading\n"
        "def g(x):\n"
        "    sys.setprofile(None); threading.setprofile(None); sys.settrace(None)\n"
        "    return x + 1"
    )
    result = trace(cli, "g(a)", "--setup", setup)
    assert result.code == 0, result
    assert "aten::add.Tensor" in {hop["op"] for hop in result.hops}


# --- where it runs ------------------------------------------------------------------------------


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder as a PyTorch checkout would be to Python, whose packages tell when they are imported."""
    folder = tmp_path / "hostile"
    for name in ("torch", "torchgen", "yaml", "numpy", "ptexplore_user"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(
            f"open({str(folder / 'imported')!r}, 'a').write('{name}\\n')\nraise RuntimeError('{name} of this folder')",
            encoding="utf-8",
        )
    (folder / "torch" / "version.py").write_text("__version__ = '9.9.9'\ngit_version = 'x'\n", encoding="utf-8")
    return folder


def test_packages_of_the_current_folder_are_not_imported(cli: Cli, hostile_folder: Path) -> None:
    command = Path(sys.executable).with_name("ptexplore")
    for arguments in (("trace", "torch.add(a, b)", "--json"), ("op", "add.Tensor", "--json"), ("doctor", "--json")):
        result = cli(*arguments, cwd=hostile_folder)
        assert result.code == 0, result
        assert "9.9.9" not in result.out
        if command.exists():
            done = subprocess.run(
                [command, *arguments], cwd=hostile_folder, env=cli.environment(), capture_output=True, check=False
            )
            assert done.returncode == 0, done
    assert not (hostile_folder / "imported").exists()


@pytest.mark.slow
def test_the_first_run_does_not_import_them_either(cli: Cli, fresh_cache: Path, hostile_folder: Path) -> None:
    result = Cli(fresh_cache, hostile_folder)("op", "add.Tensor", "--json")
    assert result.code == 0, result
    assert not (hostile_folder / "imported").exists()


def test_a_folder_that_is_gone(cli: Cli, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && exec {cli.python} -m ptexplore trace 'torch.add(a, b)' --json"
    done = subprocess.run(["sh", "-c", command], env=cli.environment(), capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 3)


# --- which Python -------------------------------------------------------------------------------


def scripts_that_are_no_python(folder: Path) -> dict[str, Path]:
    made = {
        "text": "hello\n",
        "silent": "#!/bin/sh\nexit 0\n",
        "failing": "#!/bin/sh\necho broken >&2\nexit 5\n",
        "chatty": "#!/bin/sh\necho '{\"version\": 3}'\n",
        "endless-output": "#!/bin/sh\nexec yes\n",
    }
    found = {"missing": folder / "no-such-python", "folder": folder, "ls": Path("/bin/ls")}
    for name, text in made.items():
        found[name] = folder / name
        found[name].write_text(text, encoding="utf-8")
        if name != "text":
            found[name].chmod(0o755)
    return found


@pytest.mark.parametrize("name", ["missing", "folder", "ls", "text", "silent", "failing", "chatty", "endless-output"])
def test_a_python_that_is_none(cli: Cli, tmp_path: Path, name: str) -> None:
    path = scripts_that_are_no_python(tmp_path)[name]
    commands = (("trace", "a + b", "--json"), ("op", "add", "--json"))
    for arguments in commands if name != "endless-output" else commands[1:]:  # that one takes its time limit
        result = cli(*arguments, "--python", str(path), target=None, timeout=60).three_parts(MISSING, USAGE)
        assert str(path) in result.err.replace("\n", "").replace("       ", ""), result


def test_a_python_without_torch(cli: Cli, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", empty], check=True)
    for arguments in (("trace", "a + b", "--json"), ("op", "add", "--json")):
        result = cli(*arguments, "--python", str(empty / "bin/python"), target=None).three_parts(MISSING)
        assert "torch" in result.err
        assert "pip install" in result.err


def test_no_torch_where_ptexplore_itself_is(cli: Cli, tmp_path: Path) -> None:
    """Our own Python has everything but torch: every command says so, and --help and --load still work."""
    empty, site = tmp_path / "empty", tmp_path / "site"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", empty], check=True)
    site.mkdir()
    (site / "ptexplore").symlink_to(REPOSITORY / "ptexplore")
    for name in (
        "rich",
        "pygments",
        "markdown_it",
        "mdurl",
        "platformdirs",
        "filelock",
        "yaml",
        "_yaml",
        "typing_extensions",
    ):
        spec = __import__("importlib.util").util.find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            source = origin.parent if origin.name == "__init__.py" else origin
            (site / source.name).symlink_to(source)
    session = tmp_path / "session.json"
    assert cli("trace", "a + b", "--save", str(session)).code == 0
    bare = Cli(cli.cache, cli.cwd, str(empty / "bin/python"))
    env = {"PYTHONPATH": str(site)}
    assert bare("--help", env=env, target=None).code == 0
    for arguments in (("trace", "a + b", "--json"), ("op", "add", "--json")):
        result = bare(*arguments, env=env, target=None).three_parts(MISSING)
        assert "torch" in result.err
    doctor = bare("doctor", env=env, target=None)
    assert doctor.code in (0, MISSING), doctor
    assert "Traceback" not in doctor.err
    assert "torch" in doctor.out + doctor.err
    loaded = bare("trace", "--load", str(session), "--json", env=env, target=None)
    assert "Traceback" not in loaded.err
    assert loaded.code in (0, MISSING), loaded


def test_a_python_given_by_name_or_relative_path(cli: Cli) -> None:
    target = Path(TARGET or sys.executable)
    (cli.cwd / "env").symlink_to(target.parent.parent)
    result = cli("op", "add.Tensor", "--json", "--python", f"env/bin/{target.name}", target=None)
    assert result.code == 0, result


# --- saved sessions -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(warm_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("saved")
    file = folder / "session.json"
    result = Cli(warm_cache, folder)("trace", "torch.add(a, b)", "--grad", "--save", str(file))
    assert result.code == 0, result
    return file.read_text(encoding="utf-8")


def load(cli: Cli, text: str | bytes) -> Result:
    file = cli.cwd / "session.json"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return cli("trace", "--load", str(file), "--json", target=None, timeout=60)


def test_a_session_that_is_not_there(cli: Cli) -> None:
    cli("trace", "--load", "nowhere.json", "--json", target=None).three_parts(*REFUSED)
    cli("trace", "--load", str(cli.cwd), "--json", target=None).three_parts(*REFUSED)


@pytest.mark.parametrize("part", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_session(cli: Cli, saved: str, part: float) -> None:
    cut = int(len(saved) * part) if isinstance(part, float) else part
    load(cli, saved[:cut]).three_parts(*REFUSED)


def test_a_session_of_a_newer_format(cli: Cli, saved: str) -> None:
    result = load(cli, json.dumps(json.loads(saved) | {"format": 99})).three_parts(MISSING)
    assert "99" in result.err


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"3",
        b'"text"',
        b"{}",
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"NaN",
        b'{"format": 1}',
        b"9" * 10_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_file_that_is_no_session(cli: Cli, text: bytes) -> None:
    load(cli, text).three_parts(*REFUSED)


WRONG: tuple[Any, ...] = (None, 3, -1, 10**30, 1.5, "text", [], {}, [[]], {"x": {}}, True)


def broken_sessions(saved: str) -> dict[str, dict[str, Any]]:
    """A good saved trace with one thing wrong in each, at every key of it, of a hop, of each kind of observation."""
    good = json.loads(saved)
    made: dict[str, dict[str, Any]] = {}

    def spoil(label: str, reach: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        for name, value in reach(good).items():
            changes = [wrong for wrong in WRONG if type(wrong) is not type(value)]
            for wrong in random.Random(name).sample(changes, 3):
                copy = json.loads(saved)
                reach(copy)[name] = wrong
                made[f"{label}.{name}={wrong!r}"] = copy
            copy = json.loads(saved)
            del reach(copy)[name]
            made[f"{label} without {name}"] = copy

    spoil("trail", lambda d: d)
    spoil("hop", lambda d: d["hops"][0])
    spoil("source", lambda d: d["hops"][0]["source"])
    spoil("session", lambda d: d["session"])
    kinds = {(o["recorder"], o["kind"]): i for i, o in enumerate(good["session"]["observations"])}
    for (recorder, kind), index in kinds.items():
        spoil(f"{recorder}.{kind}", lambda d, index=index: d["session"]["observations"][index])
        spoil(f"{recorder}.{kind}.data", lambda d, index=index: d["session"]["observations"][index]["data"])
    return made


MANY = """
import contextlib, io, json, sys, traceback
from ptexplore.cli.app import main

for name in sys.argv[2:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(["trace", "--load", name, sys.argv[1]])
        except BaseException:
            code = traceback.format_exc()
    print(json.dumps([code, err.getvalue()]))
"""


@pytest.mark.parametrize("form", ["--json", "--full", "--explain=1"])
def test_a_session_with_something_wrong_in_it(cli: Cli, saved: str, form: str) -> None:
    """It is refused in three parts or shown as far as it goes: never a traceback. One process for all, for speed."""
    labels, files = [], []
    for number, (label, session) in enumerate(broken_sessions(saved).items()):
        file = cli.cwd / f"{number}.json"
        file.write_text(json.dumps(session), encoding="utf-8")
        labels.append(label)
        files.append(str(file))
    done = subprocess.run(
        [cli.python, "-c", MANY, form, *files], env=cli.environment(), cwd=cli.cwd, capture_output=True, check=False
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(labels), done.stderr.decode()[-3000:]
    wrong = {}
    for label, (code, errors) in zip(labels, outcomes, strict=True):
        parts = [line.split(":")[0] for line in errors.splitlines() if line.startswith(("error:", "why:", "try:"))]
        if code not in (0, *REFUSED) or (code and parts != ["error", "why", "try"]):
            wrong[label] = f"{code} {errors}"
    assert not wrong, f"{len(wrong)} of {len(labels)}: {list(wrong)}\n{next(iter(wrong.values()))}"


def test_a_session_with_a_hostile_text(cli: Cli, saved: str) -> None:
    """Nothing from a session reaches the terminal as control characters or markup."""
    hostile = "\\u001b]0;owned\\u0007\\u001b[2J[red]x[/red]"
    session = saved.replace("torch.add(a, b)", hostile).replace("aten::add", "aten::add" + hostile)
    file = cli.cwd / "session.json"
    file.write_text(session, encoding="utf-8")
    result = cli("trace", "--load", str(file), target=None, env={"FORCE_COLOR": "1"})
    assert "\x1b]0;" not in result.out + result.err
    assert "\x07" not in result.out + result.err
    assert "\x1b[2J" not in result.out + result.err
    assert "Traceback" not in result.err


def test_a_session_cannot_name_files_outside_the_tree(cli: Cli, saved: str) -> None:
    secret = cli.cwd / "secret.py"
    secret.write_text("THE SECRET = 1\n" * 5, encoding="utf-8")
    session = json.loads(saved)
    for observation in session["session"]["observations"]:
        if "file" in observation["data"]:
            observation["data"]["file"] = str(secret)
    file = cli.cwd / "session.json"
    file.write_text(json.dumps(session), encoding="utf-8")
    result = cli("trace", "--load", str(file), "--full", target=None)
    assert "THE SECRET" not in result.out + result.err


def test_nothing_in_a_session_is_run(cli: Cli, saved: str) -> None:
    mark = cli.cwd / "ran"
    session = json.loads(saved) | {"expression": f"open({str(mark)!r}, 'w')"}
    load(cli, json.dumps(session))
    assert not mark.exists()


def test_a_place_that_cannot_be_saved_to(cli: Cli) -> None:
    trace(cli, "a + b", "--save", str(cli.cwd / "no" / "such" / "folder.json")).three_parts(FAILED, USAGE)
    trace(cli, "a + b", "--save", str(cli.cwd)).three_parts(FAILED, USAGE)
