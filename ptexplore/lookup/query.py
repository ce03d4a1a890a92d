"""Reads a query: a name with its scope, words of notes, or an operator on a backend.

`render/html/assets/ranking.js` reads queries in the same way in a browser. tests/unit/lookup/test_ranking.py checks
that the two agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.annotations.plain_words import STOP_WORDS, plain_words, stem
from ptexplore.lookup.query_words import QUERY_WORDS, ROOTS
from ptexplore.source.python_names import is_python_name
from ptexplore.store.index.search import lowered, slips

_SHORTEST_ROOT = 4  # letters of a first part with a typing error
BACKENDS, OF_KERNELS, _FOR_KERNELS = (
    frozenset(QUERY_WORDS[name].split()) for name in ("backends", "of_kernels", "for_kernels")
)
_KERNEL_NAMES = QUERY_WORDS["kernel_names"].split()

# torch.add, F.conv2d, x.view and Tensor.add_: Python's spellings of an operator.
_CALL = re.compile(r"(?:torch|tensor|[a-z]|nn|functional|aten)(?:\.\w+)*\.(\w+)", re.IGNORECASE)
_QUESTION = re.compile(r"[a-z0-9 ',?-]+")
_TAIL = re.compile(r"(?<!operator)\(.*$|\?+$")  # the arguments of a call, or a question mark
SPACES = re.compile(r"\s+|::|/")
_LINE = re.compile(r"(?<=\w):(?P<line>[1-9]\d{0,6})(?:-\d+)?$")  # a line of a file: "Dispatcher.h:120"
_FILE = re.compile(r"\w\.(?:cpp|h|hpp|cu|cuh|cc|c|py|pyi|yaml|md|mm|metal|inl|in|txt|cmake)$")


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query as a search understands it.

    `name` is the text without brackets; `spellings` are the names that it may stand for. `last` is the name to look
    for, and `outer` are the parts that must come before it. If the text has several words, `joined` is all of them as
    one. `words` are the stems of the words, without those that say nothing (`dropped`).

    `plain` says that the text may be words of a note, `question` that it is hardly a name. `call` is the operator whose
    spelling in Python this is. `line` is the line that was typed after a file, or 0. `operator` and `backend` come from
    "add cpu" and from "cpu softmax kernel"; `kernel` says that the query asks for the kernel.
    """

    text: str
    name: str
    spellings: tuple[str, ...]
    outer: tuple[str, ...]
    last: str
    joined: str
    words: tuple[str, ...]
    dropped: tuple[str, ...]
    plain: bool
    question: bool
    dotted: bool
    path: bool
    call: str = ""
    line: int = 0
    operator: str = ""
    backend: str = ""
    kernel: bool = False

    @property
    def qualified(self) -> bool:
        """Whether it is a C++ name with its scope, separated by `::`."""
        return "::" in self.name and bool(self.outer) and not self.joined


def read_query(typed: str) -> ReadQuery:
    """Read the text that you typed: as a name with its scope, or as words."""
    text = " ".join(typed.split())
    placed = _LINE.search(text)
    if placed is not None and _FILE.search(text[: placed.start()]):
        text = text[: placed.start()]
    else:
        placed = None
    bare = _TAIL.sub("", text).strip() or text
    pieces = [piece for piece in SPACES.split(bare) if piece]
    dotted = is_python_name(bare) and not _FILE.search(bare)
    if dotted:
        pieces = bare.split(".")
    words = plain_words(text)
    several = len(text.split()) > 1
    kept = [word for word in words if word not in STOP_WORDS] if len(words) > 1 and "::" not in text else []
    dropped = tuple(word for word in words if word in STOP_WORDS) if kept else ()
    question = several and bool(dropped) and "::" not in text
    if question:
        pieces = kept
    plain = question or bool(_QUESTION.fullmatch(text)) or (several and _QUESTION.fullmatch(text.lower()) is not None)
    call = _CALL.fullmatch(bare) if dotted else None
    *outer, last = pieces or [""]
    joined = several and len(pieces) > 1
    spellings = ["::".join(pieces) if joined or "/" in bare else bare]
    spellings += ["_".join(pieces), "".join(pieces)] if joined else []
    spellings += [call[1]] if call is not None else []
    operator, backend, kernel = _on_backend([lowered(piece) for piece in pieces]) if joined else ("", "", False)
    if operator:
        spellings += [form.format(operator=operator, backend=backend) for form in _KERNEL_NAMES]
    return ReadQuery(
        text,
        bare,
        tuple(spellings) if not _FILE.search(bare) else (),
        tuple(lowered(piece) for piece in outer),
        last,
        lowered("".join(pieces)).replace("_", "") if joined else "",
        tuple(stem(word) for word in kept or words),
        dropped,
        plain,
        question,
        dotted,
        "/" in text,
        call[1] if call is not None else "",
        int(placed["line"]) if placed is not None else 0,
        operator,
        backend,
        kernel,
    )


def with_root_spelled(asked: ReadQuery) -> ReadQuery:
    """Returns the query without the typing error in the first part of a name: "troch.nn.Linear" is torch.nn.Linear."""
    first, dot, rest = asked.text.partition(".")
    if not asked.dotted or not dot or first.lower() in ROOTS or len(first) < _SHORTEST_ROOT:
        return asked
    near = sorted(root for root in ROOTS if slips(first.lower(), root, 1) == 1)
    return read_query(f"{near[0]}.{rest}") if near else asked


def _on_backend(pieces: Sequence[str]) -> tuple[str, str, bool]:
    """Returns the operator and the backend that the words name, or "" for both; and whether they ask for the kernel.

    The backend must be the last word, unless the kernel is asked for: "sparse tensor" is no operator on a backend.
    """
    rest = [piece for piece in pieces if piece not in _FOR_KERNELS]
    backends = [piece for piece in rest if piece in BACKENDS]
    kernel = len(rest) < len(pieces)
    if len(rest) != 2 or len(backends) != 1 or not (kernel or rest[-1] == backends[0]):
        return "", "", False
    return next(piece for piece in rest if piece != backends[0]), backends[0], kernel
