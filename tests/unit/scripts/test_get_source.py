"""scripts/get-source: which of a machine's apt entries it takes, and what it does when it cannot."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "get-source"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("get_source", str(SCRIPT))
    spec = importlib.util.spec_from_loader("get_source", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules["get_source"] = module
    dont, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = dont
    return module


DEB822 = """\
Types: deb
# an older line
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----
"""

ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb cdrom:[Debian]/ bookworm main
deb http://security.example/debian-security bookworm-security main
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] https://mirror.example/debian bookworm main  # ours
deb https://other.example/tool stable main
"""


def derive(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, text: str) -> str:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(script, "apt_folder", lambda key, kind, default: parts if kind == "d" else tmp_path / "none")
    return str(script.sources_for(script.RELEASES["2.6.0"]))


def test_deb822(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = derive(script, monkeypatch, tmp_path, "debian.sources", DEB822)
    assert made.startswith("Types: deb-src\nSuites: trixie\nComponents: main\nUris: http://mirror.example/debian\n")
    assert "security" not in made
    assert "\n -----BEGIN PGP" in made, "an embedded key comes along"


def test_one_line(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = derive(script, monkeypatch, tmp_path, "debian.list", ONE_LINE)
    assert "Uris: https://mirror.example/debian\n" in made
    assert "Signed-By: /usr/share/keyrings/x.gpg\n" in made


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sources", DEB822.replace("Types: deb deb-src", "Types: deb\nEnabled: no")),
        ("a.list", "deb https://ubuntu.example/ubuntu noble main\n"),
        ("a.list", "nonsense\ndeb\n"),
        ("a.sources", ""),
    ],
)
def test_no_debian_is_said(
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
) -> None:
    with pytest.raises(SystemExit) as stopped:
        derive(script, monkeypatch, tmp_path, name, text)
    assert stopped.value.code == 3
    err = capsys.readouterr().err
    assert [line.split(":")[0] for line in err.splitlines()] == ["error", "why", "try"]


def run(tmp_path: Path, path: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PTEXPLORE_CACHE": str(tmp_path / "cache"), "PATH": str(path)}
    return subprocess.run([sys.executable, SCRIPT], env=environment, capture_output=True, text=True, check=False)


def test_without_apt(tmp_path: Path) -> None:
    done = run(tmp_path, tmp_path)
    assert done.returncode == 3
    assert "error: " in done.stderr
    assert "try: " in done.stderr


def fake_apt(tmp_path: Path, body: str) -> Path:
    """A folder with an apt-get that does `body`, and an apt-config that knows one Debian entry."""
    folder, parts = tmp_path / "bin", tmp_path / "parts"
    folder.mkdir()
    parts.mkdir()
    (parts / "debian.sources").write_text(DEB822, encoding="utf-8")
    for name, text in {"apt-get": body, "apt-config": f"echo \"X='{parts}/'\""}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("echo offline >&2; exit 100", "exit code 100"),
        ('printf other > "pytorch_2.6.0+dfsg.orig.tar.xz"', "sha256"),
        ("exit 0", "no such file"),
    ],
)
def test_what_goes_wrong_leaves_nothing(tmp_path: Path, body: str, says: str) -> None:
    done = run(tmp_path, fake_apt(tmp_path, body))
    assert done.returncode == 3, done
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    left = [path.name for path in (tmp_path / "cache" / "source").iterdir()]
    assert left == ["pytorch-v2.6.0.lock"], "no half of a tree, no scratch folder"


def test_a_cache_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("", encoding="utf-8")
    done = run(tmp_path, fake_apt(tmp_path, "exit 0"))
    assert done.returncode == 3
    assert "PTEXPLORE_CACHE" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_tree_is_the_release(source_tree: Path) -> None:
    assert (source_tree / "version.txt").read_text(encoding="utf-8").startswith("2.6.0")
    assert (source_tree / "aten/src/ATen/native/native_functions.yaml").is_file()
