"""Saved sessions are data from others: truncated, hostile, newer ones are refused, and nothing in them runs."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptexplore.capture.allowed import AllowedRun
from ptexplore.workspace.consent import NotYours
from tests.harness import THOROUGH, Cli, InProcess, Result

pytestmark = pytest.mark.e2e

USAGE, FAILED, MISSING = 2, 1, 3
REFUSED = (FAILED, USAGE, MISSING)  # of a saved session that cannot be read


def trace(command: InProcess, *arguments: str, **options: Any) -> Result:
    return command("trace", *arguments, "--json", **options)


@pytest.fixture(scope="session")
def saved(warm_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("saved")
    file = folder / "session.json"
    result = Cli(warm_cache, folder)("trace", "torch.add(a, b)", "--grad", "--no-native", "--save", str(file))
    assert result.code == 0, result
    return file.read_text(encoding="utf-8")


def load(command: InProcess, text: str | bytes) -> Result:
    file = Path("session.json")
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return command("trace", "--load", str(file), "--json", target=None)


def test_a_session_that_is_not_there(cli: Cli) -> None:
    cli("trace", "--load", "nowhere.json", "--json", target=None).three_parts(*REFUSED)
    cli("trace", "--load", str(cli.cwd), "--json", target=None).three_parts(*REFUSED)


@pytest.mark.parametrize("part", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_session(command: InProcess, saved: str, part: float) -> None:
    cut = int(len(saved) * part) if isinstance(part, float) else part
    load(command, saved[:cut]).three_parts(*REFUSED)


def test_a_session_of_a_newer_format(command: InProcess, saved: str) -> None:
    result = load(command, json.dumps(json.loads(saved) | {"format": 99})).three_parts(MISSING)
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
def test_a_file_that_is_no_session(command: InProcess, text: bytes) -> None:
    load(command, text).three_parts(*REFUSED)


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

    spoil("trace", lambda d: d)
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


FORMS = ("--json", "--full", "--explain=1")


@pytest.mark.parametrize("form", FORMS)
def test_a_session_with_something_wrong_in_it(cli: Cli, saved: str, form: str) -> None:
    """It is refused in three parts or shown as far as it goes: never a traceback. One process for all, for speed."""
    labels, files = [], []
    broken = list(broken_sessions(saved).items())
    for number, (label, session) in enumerate(broken if THOROUGH else broken[FORMS.index(form) :: len(FORMS)]):
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


def test_nothing_in_a_session_is_run(command: InProcess, saved: str) -> None:
    mark = Path("ran").absolute()
    session = json.loads(saved) | {"expression": f"open({str(mark)!r}, 'w')"}
    load(command, json.dumps(session))
    assert not mark.exists()


def test_a_place_that_cannot_be_saved_to(command: InProcess) -> None:
    trace(command, "a + b", "--save", str(Path.cwd() / "no" / "such" / "folder.json")).three_parts(FAILED, USAGE)
    trace(command, "a + b", "--save", str(Path.cwd())).three_parts(FAILED, USAGE)


def test_a_saved_trace_runs_after_a_yes_to_all_of_it(command: InProcess, saved: str, tmp_path: Path) -> None:
    """Its setup may be anybody's. To look at it runs nothing; to run it again is asked about, by its very content."""
    planted = json.loads(saved)
    mark = tmp_path / "ran"
    planted["session"]["options"]["setup"] = [f"open({str(mark)!r}, 'w').close()"]
    Path("planted.json").write_text(json.dumps(planted))
    for view in ("path", "modules", "operators", "tree"):
        assert command("trace", "--load", "planted.json", "--view", view, target=None).code == 0
    refused = command("trace", "--load", "planted.json", "--rerun", "--no-native").three_parts(USAGE)
    assert f"open({str(mark)!r}, 'w').close()" in refused.err, "all of it is shown"
    assert "torch.add(a, b)" in refused.err
    sha = refused.err.rsplit("--trust ", 1)[1].split()[0]
    wrong = command("trace", "--load", "planted.json", "--rerun", "--trust", "0" * 64).three_parts(USAGE)
    assert "not the hash" in wrong.err
    for option in (("--setup", "x = 1"), ("--var", "a=1"), ("--with", "torch.no_grad()"), ("--grad",), ("--once",)):
        command("trace", "--load", "planted.json", "--rerun", *option).three_parts(USAGE)
    assert not mark.exists()
    ran = command("trace", "--load", "planted.json", "--rerun", "--no-native", "--json", "--trust", sha)
    assert ran.code == 0, ran
    assert mark.exists()
    assert json.loads(ran.out)["expression"] == "torch.add(a, b)"
    mark.unlink()
    assert command("trace", "--load", "planted.json", "--rerun", "--no-native").code == 0, "the yes is remembered"
    assert mark.exists()
    mark.unlink()
    planted["session"]["options"]["setup"][0] += " "
    Path("planted.json").write_text(json.dumps(planted))
    command("trace", "--load", "planted.json", "--rerun", "--no-native").three_parts(USAGE)
    assert not mark.exists()


def test_only_the_bytes_of_a_script_that_were_shown_run(
    command: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be written anew between the question and the run, which may be long."""
    script, mark = tmp_path / "train.py", tmp_path / "ran"
    text = f"\ufeffimport sys\nopen({str(mark)!r}, 'a').write(f'{{__name__}} {{__file__}} {{sys.argv}}')\n"
    script.write_text(text, encoding="utf-8")
    assert command("trace", "--script", str(script), "--save", "script.json").code == 0
    typed = mark.read_text()
    again = ("trace", "--load", "script.json", "--rerun")
    sha = command(*again).three_parts(USAGE).err.rsplit("--trust ", 1)[1].split()[0]
    mark.unlink()
    ran = command(*again, "--trust", sha)
    assert (ran.code, mark.read_text()) == (0, typed), "as Python runs a script that is typed"
    mark.unlink()

    def rewritten(found: NotYours) -> AllowedRun:
        script.write_text(text + "pass\n", encoding="utf-8")
        return allowed(found)

    allowed = NotYours.allowed
    monkeypatch.setattr(NotYours, "allowed", rewritten)
    refused = command(*again)
    assert refused.code != 0
    assert "changed" in refused.err, refused
    assert not mark.exists()
