"""No text of PyTorch's is in this repository: three lines in a row that also stand in its tree would be."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHORTEST = 24  # characters; shorter lines are anybody's
IMPORTS = ("import ", "from ", "#include", "#pragma")
KINDS = {".cpp", ".h", ".hpp", ".cu", ".cuh", ".py", ".yaml", ".mm", ".c", ".cc"}


def triples(text: str) -> Iterator[tuple[str, str, str]]:
    """Each three long lines in a row; short ones and imports, which are nobody's, left out."""
    stripped = (raw.strip() for raw in text.splitlines())
    lines = [line for line in stripped if len(line) >= SHORTEST and not line.startswith(IMPORTS)]
    return zip(lines, lines[1:], lines[2:], strict=False)


@pytest.mark.slow
def test_no_text_of_pytorch(source_tree: Path) -> None:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    ours: dict[int, str] = {}
    for name in filter(None, done.stdout.decode().split("\0")):
        file = ROOT / name
        if file.is_file() and file.name != "LICENSE":
            for triple in triples(file.read_bytes().decode("utf-8", errors="replace")):
                ours[hash(triple)] = f"{name}: {triple[0]}"
    shared = {}
    for folder in ("aten", "c10", "torch", "torchgen", "tools"):
        for file in (source_tree / folder).rglob("*"):
            if file.suffix in KINDS and file.is_file():
                for triple in triples(file.read_bytes().decode("utf-8", errors="replace")):
                    if hash(triple) in ours:
                        shared[ours[hash(triple)]] = str(file.relative_to(source_tree))
    assert not shared
