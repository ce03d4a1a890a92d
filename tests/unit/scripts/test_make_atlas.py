"""scripts/make-atlas: what is not known to be the pinned release gives no atlas."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "make-atlas"
FILES = {
    "version.txt": "2.6.0\n",
    "aten/src/ATen/native/native_functions.yaml": "- func: f(Tensor self) -> Tensor\n",
    "aten/src/ATen/a.cpp": "int f() {\n  return 1;\n}\n",
    "c10/core/c.h": "int c();\n",
    "torch/csrc/t.cpp": "int t() {\n  return 1;\n}\n",
    "torch/__init__.py": "",
}


def make(tree: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--tree", str(tree), "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", ["folder", "archive", "nothing"])
def test_what_is_not_known_to_be_the_release_is_refused(tmp_path: Path, kind: str) -> None:
    tree = tmp_path / ("pytorch-v2.6.0" if kind != "archive" else "pytorch-v2.6.0.tar.gz")
    if kind == "archive":
        with tarfile.open(tree, "w:gz") as tar:
            for path, text in FILES.items():
                member = tarfile.TarInfo(f"pytorch-v2.6.0/{path}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    elif kind == "folder":
        for path, text in FILES.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text, encoding="utf-8")
    out = tmp_path / "atlas.bin"
    done = make(tree, out)
    assert done.returncode == 3, done
    assert done.stderr.startswith("error: ")
    assert "\nwhy:" in done.stderr
    assert "\ntry:" in done.stderr
    assert "Traceback" not in done.stderr
    if kind != "nothing":
        assert "is not the source of PyTorch 2.6.0" in done.stderr
    assert not out.exists()
