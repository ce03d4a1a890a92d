"""The line of documentation that an operator's Python name has, read from text that looks as PyTorch's does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.source.python_docs import LONGEST, doc_lines, first_words
from ptexplore.source.tree import SourceTree
from tests.unit.conftest import Mini, lay_out

DOCS = '''import torch
from torch._C import _add_docstr as add_docstr

raise RuntimeError("nothing here is run")

add_docstr(
    torch.blend,
    r"""
blend(input, other, *, out=None) -> Tensor

Blends :attr:`input` with :attr:`other`. See :func:`~torch.mirror` for ``more``.

Args:
    {input}
""".format(**common),
)

add_docstr(torch.twice, r"""
twice(input)
""" + r"""

Doubles {input} of :math:`\\text{GELU}(x)`.
""")

add_docstr(torch.bare, r"""bare(input) -> Tensor""")
mixed = _add_docstr(_linalg.linalg_mix, f"""
linalg_mix(A)

Mixes a matrix.
""")
add_docstr_all("blend_", r"""In-place version of :meth:`~Tensor.blend`""")
'''
FUNCTIONS = '''def embed(input):
    r"""Looks things up.

    More of it.
    """


def blend(input):
    """Another one."""
'''


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    mini: Mini = lay_out(tmp_path)
    for name, text in (("_torch_docs.py", DOCS), ("nn/functional.py", FUNCTIONS), ("functional.py", "def broken(:\n")):
        file = mini.site / "torch" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return mini.tree


def test_each_name_has_its_first_sentences_and_where_they_stand(tree: SourceTree) -> None:
    lines = doc_lines(tree)
    assert {name: line.text for name, line in lines.items()} == {
        "blend": "Blends input with other. See torch.mirror for more.",
        "linalg_mix": "Mixes a matrix.",
        "blend_": "In-place version of Tensor.blend",
        "embed": "Looks things up.",
    }
    for name in ("blend", "linalg_mix", "embed"):
        text = (DOCS if lines[name].path == "torch/_torch_docs.py" else FUNCTIONS).splitlines()[lines[name].line - 1]
        assert "add_docstr(" in text or text.startswith(f"def {name}"), name
    assert lines["embed"].of == "torch.nn.functional.embed"
    assert lines["blend"].of == "", "what is attached to the operator itself comes before a function that has its name"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("f(x) -> Tensor\n\nIt does. And more!", "It does. And more!"),
        ("f(x) -> Tensor\n\n.. note:: no\n\nIt does.", "It does."),
        ("f(x) -> Tensor\n\nArgs:\n  x: one", ""),
        ("f(x)\n\nApplies :math:`\\text{GELU}(x)`.", "Applies GELU(x)."),
        ("f(x)\n\n" + "word " * 100, "word " * ((LONGEST - 1) // 5)),
    ],
)
def test_first_words(text: str, expected: str) -> None:
    assert first_words(text).rstrip("…").strip() == expected.strip()
