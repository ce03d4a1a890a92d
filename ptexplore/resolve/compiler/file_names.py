"""Whole names of files: torch leaves out the part of a path that it shares with torch's own folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from ptexplore.model.compiler_log import CodeLine, CompilerLog
from ptexplore.resolve.compiler.texts import stack_in

_IN_GRAPH = re.compile(r"^\s*# File: (?P<file>.+?):\d+ in ", re.MULTILINE)
_PROBE = str(Path(__file__).resolve().parent.parent.parent / "probe") + os.sep
_GRAPHS, _BREAKS = "dynamo_output_graph", "dynamo_graph_break_reason"


@dataclass(frozen=True, slots=True)
class FileNames:
    """The files that a log names in full, by the short name that torch writes in other places."""

    torch_dir: str
    whole: dict[str, str | None]  # None: two files have this short name

    def line(self, line: CodeLine) -> CodeLine:
        """Returns a line with the whole name of its file, if the log has it exactly once."""
        whole = self.whole.get(line.file)
        return structs.replace(line, file=whole) if whole is not None else line

    def is_torchs(self, line: CodeLine) -> bool:
        """Whether a line is in torch's own code."""
        if os.path.isabs(line.file):
            return line.file.startswith(self.torch_dir + os.sep)
        return line.file not in self.whole and Path(self.torch_dir, line.file).is_file()


def of_program(stack: Sequence[CodeLine]) -> tuple[CodeLine, ...]:
    """Returns the frames of the program, without the frames of our probe and of `runpy`, which run it."""
    begin = max((number for number, line in enumerate(stack, 1) if line.file.startswith(_PROBE)), default=0)
    return tuple(line for line in stack[begin:] if not line.file.strip("<>").startswith("frozen "))


def file_names(log: CompilerLog, torch_dir: str) -> FileNames:
    """Returns the whole names of the files in a log."""
    whole: dict[str, str | None] = {}
    for file in dict.fromkeys(_files(log)):
        short = _shortened(file, torch_dir)
        if short != file:
            whole[short] = file if whole.get(short, file) == file else None
    return FileNames(torch_dir, whole)


def _files(log: CompilerLog) -> Iterator[str]:
    for start in log.starts:
        yield from (line.file for line in start.stack)
    yield from (end.file for end in log.ends if end.file is not None)
    yield from (end.fail_file for end in log.ends if end.fail_file is not None)
    for text in log.texts:
        if text.name == _GRAPHS:
            yield from (match["file"] for match in _IN_GRAPH.finditer(text.text))
        elif text.name == _BREAKS:
            yield from (line.file for line in stack_in(text.text))


def _shortened(file: str, base: str) -> str:
    """Returns a file's name without the folders that it shares with torch's folder, as torch writes it."""
    try:
        shared = os.path.commonpath([file, base])
    except ValueError:  # one of them is relative
        return file
    return file[len(shared) + 1 :]
