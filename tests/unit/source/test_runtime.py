"""The installed torch is found without importing it, and what is wrong with one is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.places import Runtime
from ptexplore.source.runtime.describe import describe, find_runtime

ROOT = Path(__file__).resolve().parents[3]


def install(site: Path, version: str = "2.99.0", *, inputs: bool = True) -> Path:
    torch = site / "torch"
    torch.mkdir(parents=True)
    (torch / "__init__.py").write_text("raise SystemExit('imported')")
    (torch / "version.py").write_text(
        "from typing import Optional\n"
        f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n"
        "git_version = 'abc'\n"
    )
    (site / "torchgen").mkdir()
    (site / "torchgen/__init__.py").write_text("")
    if inputs:
        native = site / "torchgen/packaged/ATen/native"
        native.mkdir(parents=True)
        (native / "native_functions.yaml").write_text("- func: x\n")
    return torch


def look(site: Path) -> Runtime:
    return describe("/env/bin/python", "3.11.0", str(site / "torch"), None)


def test_a_wheel(tmp_path: Path) -> None:
    install(tmp_path)
    found = look(tmp_path)
    assert (found.version, found.git_version, found.build) == ("2.99.0", "abc", "wheel")
    assert found.accelerators == ("cuda",)
    assert found.packaged_dir == str(tmp_path / "torchgen/packaged")


def test_a_source_build_has_no_packaged_inputs(tmp_path: Path) -> None:
    install(tmp_path, inputs=False)
    found = look(tmp_path)
    assert (found.build, found.packaged_dir) == ("source", None)


def test_keys_change_with_what_they_stand_for(tmp_path: Path) -> None:
    install(tmp_path)
    first = look(tmp_path)
    assert look(tmp_path) == first
    (tmp_path / "torch-2.99.0.dist-info").mkdir()
    (tmp_path / "torch-2.99.0.dist-info/RECORD").write_text("torch/x.py,sha256=1,1\n")
    reinstalled = look(tmp_path)
    assert reinstalled.key != first.key
    assert reinstalled.inputs_key == first.inputs_key
    (tmp_path / "torchgen/packaged/ATen/native/native_functions.yaml").write_text("- func: y\n")
    edited = look(tmp_path)
    assert edited.inputs_key != first.inputs_key
    assert edited.key != reinstalled.key


@pytest.mark.parametrize("version", ["2.5.1+cu121", "1.13.1", "unreadable"])
def test_too_old(tmp_path: Path, version: str) -> None:
    install(tmp_path, version)
    with pytest.raises(PtexploreError) as caught:
        look(tmp_path)
    assert caught.value.exit_code == MISSING
    assert version in caught.value.message
    assert caught.value.hint.startswith("/env/bin/python -m pip install")


def test_no_torch() -> None:
    with pytest.raises(PtexploreError) as caught:
        describe("/env/bin/python", "3.11.0", None, None)
    assert caught.value.exit_code == MISSING
    assert caught.value.why
    assert caught.value.hint


@pytest.mark.parametrize("content", [None, "def broken(", "x = 1\n", "__version__ = f()\n"])
def test_a_folder_that_is_called_torch(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "torch").mkdir()
    if content is not None:
        (tmp_path / "torch/version.py").write_text(content)
    with pytest.raises(PtexploreError, match="cannot be identified"):
        look(tmp_path)


@pytest.mark.parametrize("kind", ["missing", "folder", "text", "another program", "a program that says nothing"])
def test_no_python(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "python"
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("hello")
    elif kind == "another program":
        path.write_text("\x7fELF nonsense")
        path.chmod(0o755)
    elif kind != "missing":
        path.write_text("#!/bin/sh\nexit 0\n")
        path.chmod(0o755)
    with pytest.raises(PtexploreError, match="is not a Python interpreter") as caught:
        find_runtime(str(path))
    assert caught.value.exit_code == USAGE
    assert caught.value.why
    assert "--python" in caught.value.hint


def test_a_program_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptexplore.source.runtime.describe._PATIENCE", 0.3)
    path, pid = tmp_path / "python", tmp_path / "pid"
    path.write_text(f"#!/bin/sh\necho $$ > {pid}\nexec yes\n")
    path.chmod(0o755)
    with pytest.raises(PtexploreError, match="is not a Python interpreter") as caught:
        find_runtime(str(path))
    assert "within 0.3 s" in caught.value.why
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_python_given_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(sys.executable)
    (tmp_path / "env").symlink_to(program.parent.parent)
    monkeypatch.chdir(tmp_path)
    found = find_runtime(f"env/bin/{program.name}")
    assert found.python == str(tmp_path / f"env/bin/{program.name}")


def test_a_folder_of_an_environment_names_its_python(tmp_path: Path) -> None:
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").write_text("")
    with pytest.raises(PtexploreError) as caught:
        find_runtime(str(tmp_path / "env"))
    assert caught.value.hint == f"--python {tmp_path / 'env/bin/python'}"


def test_another_python_without_torch(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    other.chmod(0o755)
    with pytest.raises(PtexploreError, match="torch is not installed") as caught:
        find_runtime(str(other))
    assert caught.value.exit_code == MISSING


def test_another_python_with_torch(tmp_path: Path) -> None:
    install(tmp_path / "site")
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexport PYTHONPATH={tmp_path / "site"}\nexec {sys.executable} -S "$@"\n')
    other.chmod(0o755)
    found = find_runtime(str(other))
    assert (found.python, found.torch_dir) == (str(other), str(tmp_path / "site/torch"))


@pytest.mark.parametrize("name", ["torch", "torchgen"])
def test_a_folder_where_the_user_stands_is_not_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported')")
    program = (
        f"import sys; sys.path.append({str(ROOT)!r})\n"
        "from ptexplore.source.runtime.describe import find_runtime\n"
        "found = find_runtime()\n"
        "print(found.torch_dir, found.torchgen_dir, 'torch' in sys.modules, '' in sys.path)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert str(tmp_path) not in done.stdout
    assert done.stdout.split()[-2:] == ["False", "True"]
