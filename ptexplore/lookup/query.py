"""A query, read: a name with what stands before it, words of notes, an operator on a backend.

`render/html/assets/ranking.js` reads queries in the same way in a browser; tests/unit/lookup/test_ranking.py holds the
two together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptexplore.annotations.plain_words import STOP_WORDS, plain_words, stem
from ptexplore.source.python_names import is_python_name
from ptexplore.store.index.search import lowered

# "add cpu" asks where an operator is for a backend: its card says so, and after it comes what is named as its kernel.
# The table is written into a site's search as well (view/site/shards.py), whose script reads queries by it.
QUERY_WORDS = {
    "stops": " ".join(sorted(STOP_WORDS)),  # that say nothing in a query
    "backends": "cpu cuda mps xpu meta autograd sparse quantized mkldnn nested",
    "of_kernels": "kernel impl out structured ufunc",  # of a kernel's name, beside the operator's and the backend's
    "for_kernels": "kernel kernels implementation impl",  # of a query that asks for a kernel
    # How kernels of an operator for a backend are called, or begin.
    "kernel_names": "{operator}_kernel {operator}_out_{backend} {operator}_{backend} structured_{operator}_{backend}",
}
BACKENDS, OF_KERNELS, _FOR_KERNELS = (
    frozenset(QUERY_WORDS[name].split()) for name in ("backends", "of_kernels", "for_kernels")
)
_KERNEL_NAMES = QUERY_WORDS["kernel_names"].split()

# torch.add, F.conv2d, x.view and Tensor.add_ are how Python writes an operator.
_CALL = re.compile(r"(?:torch|tensor|[a-z]|nn|functional|aten)(?:\.\w+)*\.(\w+)", re.IGNORECASE)
_QUESTION = re.compile(r"[a-z0-9 ',?-]+")
_TAIL = re.compile(r"(?<!operator)\(.*$|\?+$")  # a call's arguments, a question's mark
SPACES = re.compile(r"\s+|::|/")
_LINE = re.compile(r"(?<=\w):(?P<line>[1-9]\d{0,6})(?:-\d+)?$")  # of a file: "Dispatcher.h:120"
_FILE = re.compile(r"\w\.(?:cpp|h|hpp|cu|cuh|cc|c|py|pyi|yaml|md|mm|metal|inl|in|txt|cmake)$")


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query as a search understands it.

    `name` is the text without brackets, `spellings` are the names that it may be. `last` is the name looked for,
    `outer` what has to stand before it, `joined` all of it in one, where it is several words. `words` are the stems of
    its words, less those that say nothing (`dropped`). `plain` says that it may be words of a note, `question` that
    it is hardly a name. `call` is the operator that Python writes so. `line` stood behind a file, 0 where none did.
    `operator` and `backend` are those of "add cpu", and of "cpu softmax kernel"; `kernel`: its kernel was named.
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
        """Whether it is a name of C++ with what it is in, as it is written there."""
        return "::" in self.name and bool(self.outer) and not self.joined


def read_query(typed: str) -> ReadQuery:
    """What was typed, understood: a name with what stands before it, or words."""
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


def _on_backend(pieces: Sequence[str]) -> tuple[str, str, bool]:
    """The operator and the backend that words name, and whether they name its kernel; "" twice where they do not.

    The backend is the last word, or any if the kernel is named: "sparse tensor" is no operator on a backend.
    """
    rest = [piece for piece in pieces if piece not in _FOR_KERNELS]
    backends = [piece for piece in rest if piece in BACKENDS]
    kernel = len(rest) < len(pieces)
    if len(rest) != 2 or len(backends) != 1 or not (kernel or rest[-1] == backends[0]):
        return "", "", False
    return next(piece for piece in rest if piece != backends[0]), backends[0], kernel
