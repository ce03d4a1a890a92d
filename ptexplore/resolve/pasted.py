"""Reads text as users paste it: removes what other programs put around an error, and separates the output of ranks.

The tables name the program of each form. A traceback as Python writes it stays the same.
`resolve/pasted_errors.py` finds the errors in these lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ptexplore.safe_text import without_colours

_RANK = re.compile(r"^\[(?:rank(?P<rank>\d{1,6})\]: ?|default(?P<local>\d{1,6})\]:)")
_NAMED = re.compile(r"\w(?:Error|Exception)\b")  # in a line that names an error
# The error of a process without a rank. torchrun raises ChildFailedError after its ranks
# (torch/distributed/elastic/multiprocessing/errors/__init__.py): it says only that one of them failed.
_ALONE = re.compile(r"^(?:[\w.]{1,200}\.)?(?!ChildFailedError)\w{1,80}(?:Error|Exception): ")
_LEVELS = r"ERROR|CRITICAL|FATAL|WARNING|WARN|INFO|DEBUG"
# Before a line, by the program that writes it. The order matters; each may come several times. `level` and `place` are
# what a logger says of the line.
_BEFORE = (
    _RANK,  # torch.distributed's excepthook: "[rank0]: "; torchrun: "[default0]:"
    re.compile(r"^\([\w:.= -]{0,80}\bpid=\d{1,9}[^)\n]{0,60}\) "),  # Ray: "(RayTrainWorker pid=7, ip=10.0.0.1) "
    re.compile(r"^\[\d{1,6},\d{1,6}\]<std(?:err|out)>:"),  # mpirun --tag-output
    re.compile(  # c10/util/Logging.cpp: "[E624 09:29:06.96 ProcessGroupNCCL.cpp:616] [PG ID 0 Rank 0] "
        r"^\[(?P<level>[IWEF])(?:\d{3,4} \d\d:\d\d:\d\d\.\d{1,9})? (?P<place>[\w./-]{1,200}\.\w{1,4}:\d{1,6})\] "
        r"(?:\[(?:c10d|[^\]\n]{0,120}\bRank \d{1,6})\] )*"
    ),
    re.compile(  # torch/_logging/_internal.py: "E1118 11:34:26.548000 1260768 torch/_guards.py:300] [0/0] "
        r"^(?P<level>[VIWECF])\d{4} \d\d:\d\d:\d\d\.\d{1,9} (?:\d{1,9} )?(?P<place>[^\s\]]{1,300}:\d{1,6})\](?: |$)"
        r"(?:\[(?:-|!?\d{1,6}/\d{1,6}[\d_/-]{0,20})\](?: |$)){0,3}"
    ),
    re.compile(  # its form before 2.2: "[2023-10-01 12:00:00,000] [0/0] torch._dynamo.convert_frame: [ERROR] "
        r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:\[\d{1,6}/\d{1,6}[\d_]{0,9}\] )?[\w.]{1,120}:"
        rf" \[(?P<level>{_LEVELS})\] ?"
    ),
    re.compile(  # DeepSpeed: "[2024-01-01 12:00:00,123] [ERROR] [launch.py:321:sigkill_handler] "
        rf"^\[\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d,\d{{3}}\] \[(?P<level>{_LEVELS})\] \[(?P<place>[\w.-]{{1,80}}:\d{{1,6}})"
        r":[^\]\n]{0,80}\] ?"
    ),
    re.compile(  # loguru: "2026-01-02 03:04:05.678 | ERROR    | __main__:main:12 - "
        r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? \| "
        rf"(?P<level>{_LEVELS}) {{0,5}}\| [\w.<>]{{1,80}}:[\w<>]{{1,80}}:\d{{1,6}} - "
    ),
    re.compile(  # logging, kubectl: "2026-01-02 03:04:05,678 ERROR train: "; the class of an error is no logger's name
        r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?:: | - |:| {1,3}(?=\[)| )"
        rf"(?:\[?(?P<level>{_LEVELS})\]?(?:: | - |:| )"
        r"(?:(?![\w.]{0,60}(?:Error|Exception|Warning): )[\w.-]{1,60}(?:: | - ))?)?(?=\s*\S)"
    ),
    re.compile(  # vLLM: "ERROR 01-02 03:04:05 worker.py:229] "
        rf"^(?P<level>{_LEVELS}) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{{1,9}})? "
        r"\[?(?P<place>[\w./-]{1,120}:\d{1,6})\] ?"
    ),
    re.compile(rf"^(?P<level>{_LEVELS}):[\w.]{{1,80}}:"),  # logging.basicConfig: "ERROR:root:"
    re.compile(r"^(?P<level>ERROR|CRITICAL|FATAL): (?=\S)"),
    re.compile(r"^E(?: {2,120}|$)"),  # pytest: "E       RuntimeError: …", as far in as the line of code above it
    re.compile(r"^> ?(?=(?:> ?)*(?:Traceback \(|  +File \"|[\w.]{1,80}(?:Error|Exception)\b))"),  # a quoted mail
)
# Before each line of a text: only if a traceback begins so, because a table or a number in a message looks the same.
_EACH_LINE = tuple(
    (re.compile(before), re.compile(rf"{before}Traceback \(", re.MULTILINE))
    for before in (
        r"^[\w./-]{1,60} {1,20}\| ",  # docker compose: "trainer-1  | "
        r"^ {0,4}\d{1,5}: ",  # srun --label: "3: "
        r"^(?!\w{0,40}(?:Error|Exception): )[\w.-]{1,60}: ",  # pdsh, which DeepSpeed uses: "worker-1: "
    )
)
_QUOTED = re.compile(r"^((?:> ?)+)Traceback \(", re.MULTILINE)  # a quoted mail
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
        r"^(?P<file>\S{1,500}\.py):(?P<line>\d{1,9}): ?(?:in (?P<function>[\w.<>]{1,200}))?"
        r"(?:[\w.]{0,80}(?:Error|Exception))?$"
    ),  # pytest
)
_ROUNDS = 4  # programs that write before each other's lines.
_BOX = re.compile(r"^│ {0,8}(?P<arrow>❱ *)?(?P<rest>.*?) *│ *$")  # a line in rich's box
_GUIDES = re.compile(r"^(?P<number>\d{1,6}) *│(?P<code>.*)$")  # its number and its text, with guides for indents

# A frame of IPython before its release 8: the number of the line is only behind the arrow.
_OLD_FRAME = re.compile(
    r"^(?:(?:<ipython-input-|Input In \[)(?P<cell>\d{1,6})(?:[\w-]{0,40}>|\],)|(?P<file>\S{1,300}\.pyc?)) in"
    r" (?P<function><cell line: \d{1,6}>|[\w.<>]{1,200})"
    r"(?:\([^\n]{0,500}\))?\n(?P<before>(?: {0,8}\d{1,6}[ \n][^\n]{0,400}\n?){0,12}?)(?=-{1,8}> ?(?P<line>\d{1,9}) )",
    re.MULTILINE,
)
# VS Code names the class in a line of its own, in the language of the editor.
_EDITORS = re.compile(
    r"^[^\W\d_][^:：\n\"]{1,60}[:：] ?(?P<exception>[\w.]{1,200}(?:Error|Exception))(?: {1,20}\([^\n]{0,200}\))?\n"
    r"(?=\S)(?!Traceback|  File)",
    re.MULTILINE,
)
# A link of Markdown, which Colab and VS Code put around each file and number of a traceback.
_LINK = re.compile(r"\[(?P<text>[^\[\]\n]{1,400})\]\((?:https?|file|vscode[\w-]{0,40}):[^()\s]{1,1000}\)")
# ComfyUI's report of an error: its class, its message and its frames under headings.
_REPORT = re.compile(
    r"^-? ?\**Exception Type:?\**:? *(?P<exception>[\w.]{1,200})\n+-? ?\**Exception Message:?\**:? *(?P<message>[^\n]*"
    r"(?:\n(?!#)[^\n]*){0,60}?)\n{1,3}#{1,4} Stack Trace *\n",
    re.MULTILINE,
)
# A block of lines that pytest marks: they are as far in as the line of code above them.
_MARKED_BY_PYTEST = re.compile(r"^E( {2,60})\S[^\n]*(?:\n(?:E(?: [^\n]*)?$))+", re.MULTILINE)
_TIMES = re.compile(r"(?<=\d)×(?=\d)")  # a web page writes "2×3" for "2x3"
# A line that names an error, and a class of error inside of a line: behind a sentence, as code or in bold.
_BEGINS = re.compile(
    r"^(?:[\w.]{1,200}\.)?(?:\w{0,80}(?:Error|Exception)|Unsupported|BackendCompilerFailed)\b|^Traceback \("
)
_INSIDE = re.compile(
    r"^(?P<before>[^\n]{0,400}?[\s`*#\"'(>])(?P<error>(?:[\w.]{1,120}\.)?[A-Z]\w{0,60}(?:Error|Exception): \S[^\n]*)$",
    re.MULTILINE,
)
_INDENTED = re.compile(r"^ {1,3}(?=(?:[\w.]{1,200}\.)?[A-Z]\w{0,60}(?:Error|Exception): )")  # code has four blanks
_ESCAPED_END = re.compile(r"\\n['\"]\)[`'\"]*$", re.MULTILINE)
_ESCAPED = re.compile(r"\\n(?= *File \\?\"|\w|\s)")  # a traceback inside a JSON text
_FENCE = re.compile(r"^(?:`{3,}\w{0,10}|╰─{10,}╯)$")
_WIDEST = 4000  # characters of a line in a box.


@dataclass(frozen=True, slots=True)
class Logged:
    """What a logger wrote before a line: "E", "W" or "I", the place of the call, and all of it."""

    level: str
    place: str
    before: str


@dataclass(frozen=True, slots=True)
class PastedLine:
    """A line as Python or torch wrote it. `logged` is None if no logger named its level."""

    text: str
    logged: Logged | None = None


@dataclass(frozen=True, slots=True)
class RankText:
    """The lines of some ranks that end with the same error. `lines` are from the first of them."""

    ranks: tuple[str, ...]
    lines: tuple[PastedLine, ...]

    @property
    def text(self) -> str:
        """The lines as one text."""
        return joined(self.lines)


def joined(lines: Iterable[PastedLine]) -> str:
    """Returns lines as one text."""
    return "\n".join(line.text for line in lines)


def plain(text: str) -> str:
    """Returns a pasted text with each line as Python wrote it."""
    return joined(lines_of(text))


def lines_of(text: str) -> tuple[PastedLine, ...]:
    """Returns the lines of a pasted text, each as Python wrote it. An error inside of a line begins a line."""
    text = _LINK.sub(r"\g<text>", _TIMES.sub("x", without_colours(text)))
    text = _REPORT.sub(r"\g<exception>: \g<message>\n", text)
    text = _MARKED_BY_PYTEST.sub(lambda block: re.sub(f"^E(?:{block[1]})?", "", block[0], flags=re.MULTILINE), text)
    is_short = text.count("\n") < 2
    text = "\n".join(_unescaped(line, is_short=is_short) for line in text.split("\n"))
    lines = _as_written(text)
    if any(_BEGINS.match(line.text) for line in lines):
        return lines
    return _as_written(_INSIDE.sub(_on_its_line, text))


def _on_its_line(inside: re.Match[str]) -> str:
    """Returns a line in which an error is, as two lines: what stands before, and the error without its marks."""
    before, error = inside["before"], inside["error"]
    mark = before[-1]
    if mark not in "`*":
        return f"{before}\n{error}"
    closed = error.rstrip(" *`") if error.rstrip().endswith(mark) else error.partition(mark)[0]
    return f"{before}\n{closed}\n"


def _unescaped(line: str, *, is_short: bool) -> str:
    """Returns a line with a traceback inside a text of JSON or Python, as several lines."""
    if line.count("\\n") > 2 and (is_short or "Traceback (" in line):
        return _ESCAPED.sub("\n", _ESCAPED_END.sub("", line)).replace('\\"', '"')
    return line


def _as_written(text: str) -> tuple[PastedLine, ...]:
    quoted = _QUOTED.search(text)
    each = re.compile(f"^{re.escape(quoted[1])}|^{re.escape(quoted[1].rstrip())}$") if quoted is not None else None
    each = each or next((prefix for prefix, begins in _EACH_LINE if begins.search(text)), None)
    lines = [_line(each.sub("", line, count=1) if each is not None else line) for line in text.split("\n")]
    whole = _EDITORS.sub(r"\n\g<exception>: ", _OLD_FRAME.sub(_as_python, joined(lines)))  # as many lines as before
    texts = _without_quotes(whole.split("\n"))
    return tuple(PastedLine(text, line.logged) for text, line in zip(texts, lines, strict=True))


def _as_python(frame: re.Match[str]) -> str:
    """Returns a frame of IPython as Python writes it."""
    file = frame["file"] or f"In[{frame['cell']}]"
    return f'  File "{file}", line {frame["line"]}, in {frame["function"]}\n{frame["before"]}'


def _without_quotes(lines: list[str]) -> list[str]:
    """Returns lines without the backticks that mark a text as code on the web."""
    lines = ["" if _FENCE.match(line) else line for line in lines]
    written = [number for number, line in enumerate(lines) if line.strip()]
    if not written:
        return lines
    first, last = written[0], written[-1]
    if lines[first].startswith("`") and (lines[first].count("`") % 2 or lines[last].endswith("`")):
        lines[first] = lines[first][1:]
    if lines[last].endswith("`") and lines[last].count("`") % 2:
        lines[last] = lines[last][:-1]
    return lines


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
    return [RankText(tuple(ranks), lines_of("\n".join(lines[ranks[0]]))) for _end_of, ranks in ordered]


def _end(lines: Iterable[str]) -> str:
    """Returns the last line that names an error, without numbers: ranks differ in devices and processes."""
    named = [line for line in lines if _NAMED.search(line)]
    return re.sub(r"\d+", "0", plain(named[-1])) if named else ""


def _line(line: str) -> PastedLine:
    begin, level, place = line, "", ""
    for _round in range(_ROUNDS):
        length = len(line)
        for before in _BEFORE:
            while (match := before.match(line)) is not None and match.end():
                given = match.groupdict()
                level, place = given.get("level") or level, given.get("place") or place
                line = line[match.end() :]
        if len(line) == length:
            break
    logged = Logged(_level(level), place, begin[: len(begin) - len(line)]) if level else None
    for frame in _FRAMES:
        match = frame.match(line)
        if match is not None:
            function = (match["function"] or "").strip()
            text = f'  File "{match["file"]}", line {match["line"]}{f", in {function}" if function else ""}'
            return PastedLine(text, logged)
    return PastedLine(_INDENTED.sub("", _from_box(line)), logged)


def _level(level: str) -> str:
    """Returns the level of a logged line: "E" for an error, "W" for a warning, "I" for less."""
    return "E" if level[0] in "EFC" else "W" if level[0] == "W" else "I"


def _from_box(line: str) -> str:
    """Returns a line in rich's box without the box, and a line of source as IPython writes it."""
    box = _BOX.match(line) if len(line) < _WIDEST else None
    if box is None:
        return line
    guides = _GUIDES.match(box["rest"])
    if guides is None:
        return f"    {box['rest']}".rstrip()
    code = guides["code"].replace("│", " ").strip()
    return f"----> {guides['number']} {code}" if box["arrow"] else f"     {guides['number']} {code}"
