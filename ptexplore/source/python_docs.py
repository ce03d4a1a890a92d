"""What the installed torch's Python documentation says of an operator, in a line: read from its files as text.

PyTorch attaches docstrings to what C++ defines by calls of `add_docstr` (torch/_torch_docs.py and the files beside it).
Nothing is imported: the calls are looked for in the syntax tree. The text stays PyTorch's; who shows it says where it
is from.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.source.tree import SourceTree

# Where such calls stand; what an earlier file says of a name counts.
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
    """The beginning of one docstring, without markup, and where it stands.

    `of` is the Python function that it is about, if that only has the operator's name: "torch.nn.functional.embedding".
    """

    text: str
    path: str
    line: int
    of: str = ""


def doc_lines(tree: SourceTree) -> dict[str, DocLine]:
    """The lines of a torch's tree by the name that an operator has in its namespace ("add", "linalg_norm", "add_")."""
    lines: dict[str, DocLine] = {}
    for path in FILES:
        file = tree.read(path)
        if file is None:
            continue
        try:
            module = ast.parse(file.text)
        except (SyntaxError, ValueError):
            continue
        package = path.removesuffix(".py").replace("/", ".")
        for name, text, line, is_function in _docstrings(module):
            shown = first_words(text)
            if shown:
                lines.setdefault(name, DocLine(shown, path, line, f"{package}.{name}" if is_function else ""))
    return lines


def _docstrings(module: ast.Module) -> Iterator[tuple[str, str, int, bool]]:
    """Every docstring at a module's top: the last part of what it documents, the text, the line, whether of a function.

    Those that add_docstr attaches, and those of functions.
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
    """The text that an expression begins with: a literal, one that is formatted, one that others are added to.

    What a format puts in is not known: the text has an ellipsis there.
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
    """The first sentence or two of a docstring without its signature; "" where it has none."""
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
