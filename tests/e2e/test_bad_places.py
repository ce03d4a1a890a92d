"""Hostile folders, Pythons that are none, torch missing: the three-part message and nothing imported from there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import small_source
from tests.harness import REPOSITORY, Cli, Here, InProcess

pytestmark = pytest.mark.e2e

USAGE, MISSING = 2, 3


def test_packages_of_the_current_folder_are_not_imported(cli: Cli, hostile_folder: Path) -> None:
    command = Path(sys.executable).with_name("ptexplore")
    trace = ("trace", "torch.add(a, b)", "--no-native", "--json")
    for arguments in (trace, ("op", "add.Tensor", "--json"), ("doctor", "--json")):
        result = cli(*arguments, cwd=hostile_folder)
        assert result.code == 0, result
        assert "9.9.9" not in result.out
        if command.exists() and arguments == trace:  # by module name Python looks into the folder first, so never there
            done = subprocess.run(
                [command, *arguments], cwd=hostile_folder, env=cli.environment(), capture_output=True, check=False
            )
            assert done.returncode == 0, done
    assert not (hostile_folder / "imported").exists()


def test_a_folder_that_is_gone(cli: Cli, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && exec {cli.python} -m ptexplore trace 'torch.add(a, b)' --json"
    done = subprocess.run(["sh", "-c", command], env=cli.environment(), capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 2
    assert f"{gone} was deleted" in done.stderr


# --- which Python -------------------------------------------------------------------------------


def scripts_that_are_no_python(folder: Path) -> dict[str, Path]:
    made = {
        "text": "hello\n",
        "silent": "#!/bin/sh\nexit 0\n",
        "failing": "#!/bin/sh\necho broken >&2\nexit 5\n",
        "chatty": "#!/bin/sh\necho '{\"version\": 3}'\n",
    }
    found = {"missing": folder / "no-such-python", "folder": folder, "ls": Path("/bin/ls")}
    for name, text in made.items():
        found[name] = folder / name
        found[name].write_text(text, encoding="utf-8")
        if name != "text":
            found[name].chmod(0o755)
    return found


@pytest.mark.parametrize("name", ["missing", "folder", "ls", "text", "silent", "failing", "chatty"])
def test_a_python_that_is_none(command: InProcess, tmp_path: Path, name: str) -> None:
    path = scripts_that_are_no_python(tmp_path)[name]
    for arguments in (("trace", "a + b", "--json"), ("op", "add", "--json")):
        result = command(*arguments, "--python", str(path), target=None).three_parts(MISSING, USAGE)
        assert str(path) in result.err.replace("\n", "").replace("       ", ""), result


def test_a_python_without_torch(command: InProcess, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", empty], check=True)
    for arguments in (("trace", "a + b", "--json"), ("op", "add", "--json")):
        result = command(*arguments, "--python", str(empty / "bin/python"), target=None).three_parts(MISSING)
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
        "typer",
        "annotated_doc",
        "shellingham",
        "msgspec",
    ):
        spec = __import__("importlib.util").util.find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            source = origin.parent if origin.name == "__init__.py" else origin
            (site / source.name).symlink_to(source)
    session = tmp_path / "session.json"
    assert cli("trace", "a + b", "--no-native", "--save", str(session)).code == 0
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


def test_workers_import_nothing_of_the_current_folder(
    fetching: Here, hostile_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index's workers are new Pythons, which have the current folder first on their path for a moment."""
    marker = tmp_path / "marker"
    for name in ("pickle", "struct", "socket", "tempfile", "queue", "json", "random", "sitecustomize", "usercustomize"):
        text = f"open({str(marker)!r}, 'a').write('{name}\\n')\nraise RuntimeError('{name} of this folder')\n"
        (hostile_folder / f"{name}.py").write_text(text, encoding="utf-8")
    root = small_source.write(tmp_path / "mini", copies=3)
    (root / "c10/large.h").write_text("int a;\n" * 60_000, encoding="utf-8")  # what is read in another process
    assert fetching("fetch", "--from", str(root)).code == 0
    monkeypatch.chdir(hostile_folder)
    result = fetching("index", "--checkout", "mini", "--jobs", "2", "--json")
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert result.data["indexes"][0]["read"] == 11
    started = subprocess.run([sys.executable, "-c", "import pickle"], cwd=hostile_folder, check=False, stderr=-3)
    assert started.returncode, "the folder is as hostile as this test says"
    assert marker.exists()
