"""The first sentence of an operator's Python documentation, read from the files of the installed torch.

PyTorch attaches docstrings to C++ definitions by calling `add_docstr` (torch/_torch_docs.py and neighbouring files).
Nothing is imported: the calls are found in the syntax tree. The text belongs to PyTorch, so a place that shows it also
names its origin.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.errors import NOT_PYTHON
from ptexplore.source.tree import SourceTree

# The files with such calls. For each name, the first file counts.
FILES = (
    "torch/_torch_docs.py", "torch/linalg/__init__.py", "torch/special/__init__.py", "torch/fft/__init__.py",
    "torch/_tensor_docs.py", "torch/functional.py", "torch/nn/functional.py",
)  # fmt: skip
LONGEST = 240  # characters
_SIGNATURE = re.compile(r"[\w.]+\(")
_ROLE = re.compile(r":\w+:`~?([^`<]*?)(?:\s*<[^`>]*>)?`")
_TEX = re.compile(r"\\(?:text|mathrm|mathbb|mathbf|operatorname)\{([^}]*)\}")
_FIELD = re.compile(r"(?<!\{)\{\w+\}(?!\})")
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z(])")


@dataclass(frozen=True, slots=True)
class DocLine:
    """The beginning of one docstring, without markup, and its place.

    `of` is the Python function that it describes, if that function only shares the operator's name:
    "torch.nn.functional.embedding".
    """

    text: str
    path: str
    line: int
    of: str = ""


def doc_lines(tree: SourceTree) -> dict[str, DocLine]:
    """Returns the lines of a torch's tree by the operator's name in its namespace ("add", "linalg_norm", "add_")."""
    lines: dict[str, DocLine] = {}
    for path in FILES:
        file = tree.read(path)
        if file is None:
            continue
        try:
            module = ast.parse(file.text)
        except NOT_PYTHON:
            continue
        package = path.removesuffix(".py").replace("/", ".")
        for name, text, line, is_function in _docstrings(module):
            shown = first_words(text)
            if shown:
                lines.setdefault(name, DocLine(shown, path, line, f"{package}.{name}" if is_function else ""))
    return lines


def _docstrings(module: ast.Module) -> Iterator[tuple[str, str, int, bool]]:
    """Yields the docstrings at the top of a module: last part of the name, text, line, whether it is of a function.

    These are docstrings of functions, and docstrings attached by add_docstr.
    """
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef):
            docstring = ast.get_docstring(statement)
            if docstring is not None and not statement.name.startswith("_"):
                yield statement.name, docstring, statement.lineno, True
            continue
        call = getattr(statement, "value", None)
        if not isinstance(call, ast.Call) or len(call.args) < 2:
            continue
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        about, text = call.args[0], _text(call.args[1])
        if "add_docstr" not in function or text is None:
            continue
        if isinstance(about, ast.Attribute):
            yield about.attr, text, call.lineno, False
        elif isinstance(about, ast.Constant) and isinstance(about.value, str):  # add_docstr_all("add_", …)
            yield about.value, text, call.lineno, False


def _text(node: ast.expr) -> str | None:
    """Returns the text at the beginning of an expression: a literal, also one that is formatted or added to.

    The values that a format inserts are unknown: the text has an ellipsis there.
    """
    formatted = False
    while True:
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, str):
                return None
            return _FIELD.sub("…", node.value).replace("{{", "{").replace("}}", "}") if formatted else node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node, formatted = node.func.value, True
        elif isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node, ast.JoinedStr) and node.values:
            node = node.values[0]
        else:
            return None


def first_words(docstring: str) -> str:
    """Returns the first sentence or two of a docstring, without its signature. "" if there is none."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", docstring.strip())]
    while paragraphs and (_SIGNATURE.match(paragraphs[0]) or paragraphs[0].startswith(("..", "Args:", "Keyword"))):
        paragraphs.pop(0)
    if not paragraphs:
        return ""
    text = (
        _ROLE.sub(r"\1", _TEX.sub(r"\1", paragraphs[0]))
        .replace("``", "")
        .replace("`", "")
        .replace("**", "")
        .replace("\\", "")
    )
    shown = ""
    for sentence in _SENTENCE.split(text):
        if shown and len(shown) + len(sentence) > LONGEST:
            break
        shown = f"{shown} {sentence}".strip()
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1].rsplit(' ', 1)[0]}…"
