"""Dispatch stubs and structured kernels: DECLARE/DEFINE/REGISTER_DISPATCH and TORCH_(META|IMPL)_FUNC.

The macros are defined in aten/src/ATen/native/DispatchStub.h and aten/src/ATen/TensorMeta.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.index.dialect.piece import Piece
from ptexplore.model.symbols import Dialect, DialectKind

_STUB = re.compile(r"\b(DECLARE|DEFINE|(?:ALSO_)?REGISTER(?:_\w+?)??)_DISPATCH\s*\(")
_STRUCTURED = re.compile(r"\bTORCH_(?:(IMPL)|(?:PRECOMPUTE_)?META)_FUNC(2)?\s*\(")
_NAME = re.compile(r"(?:\w+::)*\w+")


def stubs(piece: Piece) -> Iterator[Dialect]:
    """Yields a row for every stub that a piece declares, defines or registers a kernel with.

    The device of REGISTER_DISPATCH depends on the compiler that reads the file. Here the suffix of the file decides:
    CUDA, MPS, else CPU (every CPU capability that is built).
    """
    yield from filter(None, (_stub(piece, *call) for call in piece.calls(_STUB, word="_DISPATCH")))


def _stub(piece: Piece, match: re.Match[str], closing: int) -> Dialect | None:
    word = match[1]
    macro = piece.macro or f"{word}_DISPATCH"
    span = (match.start(), closing)
    written = piece.written(match.end(), closing)
    arguments = piece.arguments(match.end(), closing)
    if word == "DECLARE":  # a function type may contain commas; the last argument is the stub
        *signature, stub = arguments
        return piece.row("stub-declare", span, stub, written, context=", ".join(signature), macro=macro)
    if not _NAME.fullmatch(arguments[0]):
        return None
    # REGISTER_DISPATCH(cpublas::gemm_stub, …): the stub is declared as gemm_stub
    stub = arguments[0].rpartition("::")[2]
    if word == "DEFINE":
        return piece.row("stub-define", span, stub, written, macro=macro)
    kernel = ", ".join(arguments[1:])
    device = _device(word, piece.text.path)
    if word == "REGISTER_ARCH":
        device, kernel = arguments[1] if len(arguments) > 1 else None, ", ".join(arguments[2:])
    target = piece.kernel(kernel, match.start())
    return piece.row("stub-register", span, stub, kernel, context=device, target=target, macro=macro)


def _device(word: str, path: str) -> str | None:
    """Returns the device or capability of a REGISTER macro: "CUDA", "AVX2", …"""
    if word == "REGISTER":
        return "CUDA" if path.endswith((".cu", ".cuh")) else "MPS" if path.endswith(".mm") else "CPU"
    if word.startswith("ALSO_") or word in ("REGISTER_NO_CPU", "REGISTER_ALL_CPU"):
        return "CPU"
    return word.removeprefix("REGISTER_")


def structured(piece: Piece) -> Iterator[Dialect]:
    """Yields a row for the meta or impl function of every structured kernel that a piece defines."""
    for match, closing in piece.calls(_STRUCTURED, word="_FUNC"):
        arguments = piece.arguments(match.end(), closing)
        name = "_".join(arguments)
        if not name.isidentifier():
            continue
        macro = piece.macro or match[0].rstrip("( \t\n")
        written = piece.written(match.start(), closing + 1)
        span = (match.start(), closing)
        kind: DialectKind = "structured-impl" if match[1] else "structured-meta"
        function = f"at::native::structured_{name}::impl" if match[1] else f"at::meta::structured_{name}::meta"
        yield piece.row(kind, span, name, written, target=function, macro=macro)
