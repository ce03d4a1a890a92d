"""What the documents say of the source: every file and name that they point to is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ptexplore.view.words.glossary import GLOSSARY

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("docs/architecture.md", "CONTRIBUTING.md")
NAMED = re.compile(r"`([\w/.-]+\.(?:py|scm|sql|json|html))(?:::([\w.]+))?`")
FOLDER = re.compile(r"`((?:[\w.]+/)+)`")


def place(path: str) -> Path:
    """A path from the repository's root, or from the package's."""
    return ROOT / path if (ROOT / path).exists() else ROOT / "ptexplore" / path


def defined(file: Path) -> set[str]:
    """The functions, classes, methods and variables that a module defines."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            names |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
            if isinstance(node, ast.ClassDef):
                names |= {f"{node.name}.{one.target.id}" for one in node.body
                          if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}  # fmt: skip
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_pointed_to_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    pointed = NAMED.findall(text)
    assert pointed
    for path, name in pointed:
        assert place(path).is_file(), f"{document} names {path}"
        assert not name or name in defined(place(path)), f"{document} names {path}::{name}"
    for folder in FOLDER.findall(text):
        assert place(folder).is_dir(), f"{document} names {folder}"


def test_the_glossary_is_the_one_of_the_site() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", text, re.MULTILINE)
    assert rows == list(GLOSSARY.items()), "change docs/glossary.md and view/words/glossary.py together"
