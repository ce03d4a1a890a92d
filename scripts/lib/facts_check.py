"""Every fact about PyTorch, looked up: in the text of a checkout, or in what an installed torch has of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ptexplore.facts.source import FactSource

_JOINED = re.compile(r"""(["'])\s*\\?\n\s*[a-zA-Z]{0,2}\1""")  # two texts, one behind the other, are one
_VERSION = re.compile(r"""__version__ = ['"](\d+\.\d+\.\d+)""")


@dataclass
class Report:
    """What was found of the facts of a release."""

    release: str
    found: int = 0
    left_out: int = 0  # of another release, or in a file that an installed torch has nothing of
    missing: list[str] = field(default_factory=list)


def every_fact() -> Iterator[tuple[str, FactSource]]:
    """Each place where a fact stands, with the fact's name."""
    from ptexplore.facts import (
        choosers,
        compiler_texts,
        complaints,
        cpp_frames,
        key_sets,
        layouts,
        quantized_engines,
        redispatch,
        timed_functions,
        type_slots,
        value_reads,
    )
    from ptexplore.facts.compared import COMPARED, DTYPES_IN
    from ptexplore.facts.kernels_of_keys import KERNELS_OF_KEYS
    from ptexplore.facts.messages import MESSAGES

    yield from ((f"kernel of {row.key or row.entry}", row.source) for row in KERNELS_OF_KEYS)
    tables = (
        key_sets, redispatch, cpp_frames, layouts, choosers, compiler_texts, value_reads, timed_functions, complaints,
        quantized_engines, type_slots,
    )  # fmt: skip
    for table in tables:
        yield from table.facts()
    yield from (("scalar types", source) for source in DTYPES_IN)
    for number, compared in enumerate(COMPARED):
        yield f"compared {number} ({compared.reader})", compared.source
    for message in MESSAGES:
        yield from ((f"message {message.cause}", source) for source in message.sources)


def checked(tree: Path) -> Report:
    """Look each fact up. Raises FileNotFoundError where the folder is neither a checkout nor an installed torch."""
    version = tree / "version.txt"
    if version.is_file():
        report = Report(version.read_text(encoding="utf-8").strip().partition("a")[0])
        find = _in_checkout
    else:
        match = _VERSION.search((tree / "version.py").read_text(encoding="utf-8"))
        report = Report(match[1] if match is not None else "0.0")
        find = _in_installed
    for name, source in every_fact():
        has = find(tree, source) if source.holds_for(report.release) else None
        if has is None:
            report.left_out += 1
        elif has:
            report.found += 1
        else:
            report.missing.append(f"{name}: {source.file} does not have {source.words!r}")
    return report


def _in_checkout(tree: Path, source: FactSource) -> bool | None:
    path = tree / source.file
    return path.is_file() and source.words in _text(path)


def _in_installed(torch: Path, source: FactSource) -> bool | None:
    """Whether an installed torch has the words; None of what only other builds have: with CUDA, with Metal.

    The texts of kernels on the GPU are in compressed code.
    """
    parts = Path(source.file).parts
    is_python = parts[0] == "torch" and source.file.endswith(".py")
    kept = torch.joinpath(*parts[1:]) if is_python else torch / "include" / source.file
    if parts[:3] == ("aten", "src", "ATen"):
        kept = torch / "include" / "ATen" / Path(*parts[3:])
    if kept.is_file() and source.words in _text(kept):
        return True
    if is_python:
        return False
    is_cudas = any(part.casefold() in ("cuda", "cudnn") for part in parts) or "NCCL" in parts[-1]
    is_apples = "mps" in parts
    if is_cudas and not (torch / "lib" / "libtorch_cuda.so").is_file():
        return None
    has = any(source.words.strip().encode() in data for data in _libraries(torch))
    return None if not has and (is_apples or source.system or source.file.endswith(".cu")) else has


@cache
def _text(path: Path) -> str:
    """A file's text with its literals as the compiler joins them, and one blank for each gap."""
    text = _JOINED.sub("", path.read_text(encoding="utf-8", errors="replace"))
    return re.sub(r"\s+", " ", text)


@cache
def _libraries(torch: Path) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted((torch / "lib").glob("lib*.so")))
