"""Reads text as users paste it: removes what other programs put around an error, and separates the output of ranks.

The tables name the program of each form. A traceback as Python writes it stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Colours of a terminal; safe_text writes U+FFFD for the first character.
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]|\ufffd\[[0-9;]{1,20}m")
_RANK = re.compile(r"^\[(?:rank(?P<rank>\d{1,6})\]: ?|default(?P<local>\d{1,6})\]:)")
_NAMED = re.compile(r"\w(?:Error|Exception)\b")  # in a line that names an error
# The error of a process without a rank. torchrun raises ChildFailedError after its ranks
# (torch/distributed/elastic/multiprocessing/errors/__init__.py): it says only that one of them failed.
_ALONE = re.compile(r"^(?:[\w.]{1,200}\.)?(?!ChildFailedError)\w{1,80}(?:Error|Exception): ")
# Before a line, by the program that writes it. The order matters; each may come several times.
_BEFORE = (
    _RANK,  # torch.distributed's excepthook: "[rank0]: "; torchrun: "[default0]:"
    re.compile(r"^\([\w:. -]{0,80}\bpid=\d{1,9}[^)\n]{0,60}\) "),  # Ray: "(RayTrainWorker pid=7, ip=10.0.0.1) "
    re.compile(  # logging, kubectl: "2026-01-02 03:04:05,678 ERROR train: "; the class of an error is no logger's name
        r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?:: | - |:| )"
        r"(?:\[?(?:ERROR|CRITICAL|FATAL|WARNING|INFO|DEBUG)\]?(?:: | - |:| )"
        r"(?:(?![\w.]{0,60}(?:Error|Exception|Warning): )[\w.-]{1,60}(?:: | - ))?)?(?=\s*\S)"
    ),
    re.compile(  # vLLM: "ERROR 01-02 03:04:05 worker.py:229] "
        r"^(?:ERROR|CRITICAL|WARNING|INFO) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})? \[?[\w./-]{1,120}:\d{1,6}\] "
    ),
    re.compile(r"^E {2,8}"),  # pytest: "E       RuntimeError: …"
    re.compile(r"^> ?(?=(?:> ?)*(?:Traceback \(|  +File \"|[\w.]{1,80}(?:Error|Exception)\b))"),  # a quoted mail
)
# docker compose: "trainer-1  | ". Only if a traceback begins so, because a table in a message looks the same.
_COMPOSED = re.compile(r"^[\w./-]{1,60} {1,20}\| ")
_IS_COMPOSED = re.compile(rf"{_COMPOSED.pattern}Traceback \(", re.MULTILINE)
# Frames in other forms than Python's, rewritten as Python writes them.
_FRAMES = (
    re.compile(r"^File (?P<file>[^\"\n]{1,500}):(?P<line>\d{1,9}), in (?P<function>[^\n(]{1,300})"),  # IPython
    re.compile(r"^(?:Cell )?(?P<file>In ?\[\d{1,6}\]),? line (?P<line>\d{1,9})(?P<function>)\b"),  # a cell of IPython
    re.compile(
        r"^[│|] *(?P<file>\S[^\n│|]{0,500}\.py):(?P<line>\d{1,9}) in (?P<function>[^\s│|]{1,300}) *[│|]? *$"
    ),  # rich
    re.compile(
        r"^[│|] *in <(?P<file>cell line: \d{1,6})>:(?P<line>\d{1,9})(?P<function>) *[│|]? *$"
    ),  # rich, in a notebook
    re.compile(
        r"^(?P<file>\S{1,500}\.py):(?P<line>\d{1,9}): ?(?P<function>)(?:[\w.]{0,80}(?:Error|Exception))?$"
    ),  # pytest
)


# A frame of IPython before its release 8: the number of the line is only behind the arrow.
_OLD_FRAME = re.compile(
    r"^(?:<ipython-input-(?P<cell>\d{1,6})[\w-]{0,40}>|(?P<file>\S{1,300}\.py)) in (?P<function>[\w.<>]{1,200})"
    r"(?:\([^\n]{0,500}\))?\n(?P<before>(?: {0,8}\d{1,6}[ \n][^\n]{0,400}\n?){0,12}?)(?=-{1,8}> ?(?P<line>\d{1,9}) )",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class RankText:
    """The lines of some ranks that end with the same error. `text` is from the first of them."""

    ranks: tuple[str, ...]
    text: str


def without_colours(text: str) -> str:
    """Returns a text without the escapes that colour it in a terminal."""
    return _COLOURS.sub("", text)


def plain(text: str) -> str:
    """Returns a pasted text with each line as Python wrote it."""
    text = without_colours(text)
    before = (_COMPOSED, *_BEFORE) if _IS_COMPOSED.search(text) else _BEFORE
    return _OLD_FRAME.sub(_as_python, "\n".join(_line(line, before) for line in text.split("\n")))


def _as_python(frame: re.Match[str]) -> str:
    """Returns a frame of IPython as Python writes it."""
    file = frame["file"] or f"In[{frame['cell']}]"
    return f'  File "{file}", line {frame["line"]}, in {frame["function"]}\n{frame["before"]}'


def of_ranks(text: str) -> list[RankText]:
    """Returns the output of each rank, equal ends together; ranks that name an error come first.

    Empty if no rank names an error, or if a line without a rank does: torch's log has ranks too, beside any traceback.
    """
    lines: dict[str, list[str]] = {}
    for line in without_colours(text).split("\n"):
        match = _RANK.match(line)
        if match is not None:
            lines.setdefault(match["rank"] or match["local"], []).append(line)
        elif _ALONE.match(line):
            return []
    ends: dict[str, list[str]] = {}
    for rank, own in lines.items():
        ends.setdefault(_end(own), []).append(rank)
    if not any(ends):
        return []
    ordered = sorted(ends.items(), key=lambda pair: not pair[0])
    return [RankText(tuple(ranks), plain("\n".join(lines[ranks[0]]))) for _end_of, ranks in ordered]


def _end(lines: Iterable[str]) -> str:
    """Returns the last line that names an error, without numbers: ranks differ in devices and processes."""
    named = [line for line in lines if _NAMED.search(line)]
    return re.sub(r"\d+", "0", plain(named[-1])) if named else ""


def _line(line: str, prefixes: Iterable[re.Pattern[str]]) -> str:
    for before in prefixes:
        while (match := before.match(line)) is not None and match.end():
            line = line[match.end() :]
    for frame in _FRAMES:
        match = frame.match(line)
        if match is not None:
            function = match["function"].strip()
            return f'  File "{match["file"]}", line {match["line"]}{f", in {function}" if function else ""}'
    return line
