"""Reads one file of notes: its bytes, front matter, introduction, stops.

An error is reported by line; the rest loads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ptexplore.annotations import blocks
from ptexplore.annotations.blocks import Field, read_fields
from ptexplore.annotations.markdown import HeadedSection, line_of, sections, tokens, troubles
from ptexplore.annotations.names import ID
from ptexplore.annotations.records import LEVELS, Anchor, Lab, Level, Problem, Stop, StopPart, Tour, Unreadable, Where
from ptexplore.safe_text import clean_document, unsafe_in

if TYPE_CHECKING:
    from markdown_it.token import Token


LARGEST = 256 * 1024  # bytes; the longest real tour has a sixth of it
# bytes of all notes of one folder, or of all its pages; ptexplore's own have half a megabyte
LARGEST_FOLDER = 8 * 1024**2
_FRONT = re.compile(rb"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_DECLARED = re.compile(rb"^encoding:[ \t]*[\"']?([A-Za-z0-9_-]*)[\"']?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_NAMES = {"utf8": "utf-8", "gb18030": "gb18030"}
_MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x84\x31\x95\x33", "GB18030"))
Kind = Literal["tour", "note"]
_MOST_STOPS = 300
_MOST_CODES = 20  # greatest number of reported lines with control characters
# characters without an empty line: Markdown's inline rules take time in the square of a paragraph's length
_LONGEST = 8_000
_BASELINE = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+")
_KEYS: dict[Kind, tuple[str, ...]] = {
    "tour": ("id", "title", "level", "summary", "baseline", "prerequisites", "concepts", "encoding"),
    "note": ("id", "title", "baseline", "encoding"),
}
_NEEDED: dict[Kind, tuple[str, ...]] = {
    "tour": ("id", "title", "level", "summary", "baseline"),
    "note": ("id", "title", "baseline"),
}


def decode(data: bytes) -> str:
    """Decodes the text, with LF as the only line end. Raises Unreadable, which names the byte."""
    if len(data) > LARGEST:
        raise Unreadable(1, f"the file has {len(data):,} bytes, but the limit is {LARGEST:,}")
    declared, skipped = _declared(data), 0
    if data.startswith(b"\xef\xbb\xbf"):
        if declared not in (None, "utf-8"):
            raise Unreadable(1, f"it begins with the byte order mark of UTF-8 (byte 0), but declares {declared}")
        data, declared, skipped = data[3:], "utf-8", 3
    for mark, name in _MARKS:
        if data.startswith(mark) and not (name == "GB18030" and declared == "gb18030"):
            raise Unreadable(1, f"it begins with the byte order mark of {name} (byte 0): write it in UTF-8")
    encoding = declared or "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "; if the file is in GB18030, its front matter must say `encoding: gb18030`" if declared is None else ""
        place = f"byte {error.start + skipped} (0x{data[error.start]:02x}) is not {encoding.upper()}"
        raise Unreadable(line, f"{place}{hint}") from None
    if encoding == "gb18030":
        text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _declared(data: bytes) -> str | None:
    """Returns the encoding that the front matter declares. Raises Unreadable if it is not an allowed one."""
    front = _FRONT.match(data.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\x84\x31\x95\x33"))
    match = _DECLARED.search(front[1]) if front else None
    if front is None or match is None:
        return None
    name = match[1].decode()
    known = _NAMES.get(name.lower().replace("-", "").replace("_", ""))
    if known is None:
        line = front[1].count(b"\n", 0, match.start()) + 2
        raise Unreadable(line, f"the encoding {name!r} is not supported: use utf-8 or gb18030")
    return known


def without_controls(text: str) -> tuple[str, list[tuple[int, str]]]:
    """Replaces control characters and direction overrides. Returns the text, and the changed lines.

    Each changed line has the code of its first control character. These characters would control a terminal,
    or make a line look like another one.
    """
    codes = [(number, code) for number, line in enumerate(text.split("\n"), 1) if (code := unsafe_in(line))]
    return clean_document(text), codes[:_MOST_CODES]


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a file: its name as shown, its folder, whether it came with ptexplore."""

    shown: str
    folder: str = ""
    shipped: bool = False


@dataclass
class _Reading:
    """One file while it is read."""

    shown: str
    lines: list[str]
    problems: list[Problem] = field(default_factory=list)

    def problem(self, line: int, text: str) -> None:
        """Adds a problem at a line (1-based)."""
        self.problems.append(Problem(Where(self.shown, line), text))

    def source(self, first: int, last: int) -> str:
        """Returns lines `first` to `last` (1-based, inclusive)."""
        return "\n".join(self.lines[first - 1 : last])


def parse(data: bytes, kind: Kind, origin: Origin) -> tuple[Tour | None, list[Problem]]:
    """Returns the tour or note in `data` and all its problems. It is None if its front matter cannot be used."""
    try:
        text, controls = without_controls(decode(data))
    except Unreadable as error:
        return None, [Problem(Where(origin.shown, error.line), str(error))]
    reading = _Reading(origin.shown, text.split("\n"))
    for line, code in controls:
        reading.problem(line, f"the control character {code} is left out")
    try:
        end, front = _front(reading, kind)
        level = _level(front["level"]) if "level" in front else None
        name, title, baseline = (front[key].text() for key in ("id", "title", "baseline"))
        summary = front["summary"].text() if "summary" in front else ""
        prerequisites, concepts = (_ids(front[key]) if key in front else () for key in ("prerequisites", "concepts"))
    except Unreadable as error:
        reading.problem(error.line, str(error))
        return None, reading.problems
    intro, stops = _body(reading, end)
    sha = _hash(data, reading.problems)
    tour = Tour(
        Where(origin.shown, 1), kind, name, title, baseline, intro, stops, origin.folder,
        sha, level, summary, prerequisites, concepts, origin.shipped,
    )  # fmt: skip
    return tour, reading.problems


def _hash(data: bytes, problems: Sequence[Problem]) -> str:
    """Returns the hash of the content that you may trust: the bytes, and what could not be read here.

    Unreadable parts were not shown to you. A later Python may read a lab whose syntax is too new here; for that Python,
    the content has another hash.
    """
    made = hashlib.sha256(data)
    for problem in problems:
        made.update(f"\0{problem.where.line} {problem.text}".encode("utf-8", "surrogatepass"))
    return made.hexdigest()


# --- front matter ---


def is_note(data: bytes) -> bool:
    """Whether a file begins with front matter, as all notes do."""
    return data.removeprefix(b"\xef\xbb\xbf")[:4] in (b"---\n", b"---\r")


def front_matter(lines: Sequence[str], known: Sequence[str], needed: Sequence[str]) -> tuple[int, dict[str, Field]]:
    """Returns the line that ends the front matter, and its fields, which include `baseline`. Raises Unreadable."""
    ends = (number for number, line in enumerate(lines[1:], 2) if line.rstrip() == "---")
    end = next(ends, None) if lines[0].rstrip() == "---" else None
    if end is None:
        raise Unreadable(1, "the file must begin with front matter: ---, keys, ---")
    fields = read_fields("\n".join(lines[1 : end - 1]), 2, known, needed, block=1)
    if not _BASELINE.fullmatch(fields["baseline"].text()):
        raise Unreadable(
            fields["baseline"].line, "the baseline must be the release that the text was written on, for example v2.6.0"
        )
    return end, fields


def _front(reading: _Reading, kind: Kind) -> tuple[int, dict[str, Field]]:
    """Returns the line that ends the front matter, and its fields. Raises Unreadable."""
    end, fields = front_matter(reading.lines, _KEYS[kind], _NEEDED[kind])
    if not ID.fullmatch(fields["id"].text()):
        raise Unreadable(fields["id"].line, "an id has lower-case letters, digits and hyphens")
    return end, fields


def _level(given: Field) -> Level:
    value = given.text()
    for level in LEVELS:
        if value == level:
            return level
    raise Unreadable(given.line, f"{value!r} is not a level; the levels are {', '.join(LEVELS)}")


def _ids(given: Field) -> tuple[str, ...]:
    names = given.texts()
    for name in names:
        if not ID.fullmatch(name):
            raise Unreadable(given.line, f"{name!r} is not an id")
    return names


# --- the body ---


def _body(reading: _Reading, end: int) -> tuple[str, tuple[Stop, ...]]:
    """Returns the introduction and every usable stop."""
    document = _tokens(reading, end)
    bad = dict(reversed(list(troubles(document))))  # the first problem of each line
    for line in sorted(bad):
        reading.problem(line, bad[line])
    last = len(reading.lines)
    parts = sections(document, ("h2",), last)
    first = parts[0].first if parts else last + 1
    intro = "" if any(line < first for line in bad) else reading.source(end + 1, first - 1).strip()
    if not parts:
        reading.problem(end, "there are no stops: a stop is a ## heading with an id: ## Title {#id}")
    stops: dict[str, Stop] = {}
    for section in parts[:_MOST_STOPS]:
        stop = _stop(reading, section)
        if stop is None or any(section.first <= line <= section.last for line in bad):
            continue
        if stop.id in stops:
            reading.problem(
                stop.where.line, f"the stop in line {stops[stop.id].where.line} already has the id {stop.id!r}"
            )
        else:
            stops[stop.id] = stop
    if len(parts) > _MOST_STOPS:
        reading.problem(parts[_MOST_STOPS].first, f"a file has at most {_MOST_STOPS} stops")
    return intro, tuple(stops.values())


def _tokens(reading: _Reading, end: int) -> list[Token]:
    length = 0
    for number, line in enumerate(reading.lines[end:], end + 1):
        length = length + len(line) + 1 if line.strip(" \t") else 0  # no other blank character counts
        if length > _LONGEST:
            reading.problem(number, f"there are more than {_LONGEST:,} characters without an empty line")
            return []
    try:
        return tokens("\n" * end + reading.source(end + 1, len(reading.lines)))
    except (RecursionError, ValueError) as error:
        reading.problem(end, f"the Markdown cannot be read: {str(error)[:80]}")
        return []


def _stop(reading: _Reading, section: HeadedSection) -> Stop | None:
    if not ID.fullmatch(section.id):
        reading.problem(
            section.first, "the heading of a stop must end with an id in lower-case letters: ## Title {#an-id}"
        )
        return None
    anchor: Anchor | None = None
    held: list[tuple[int, int, Lab | None]] = []
    is_reported = False
    for token, kind in _fences(reading, section):
        first, last = line_of(token), token.map[1] if token.map else section.last
        lab = None
        try:
            if kind == "lab":
                lab = blocks.lab(token.content, first + 1, reading.shown)
            elif anchor is not None:
                raise Unreadable(first, "a stop has only one anchor; put further places under its `see`")
            else:
                anchor = blocks.anchor(token.content, first + 1, reading.shown)
        except Unreadable as error:
            reading.problem(error.line, str(error))
            is_reported = is_reported or kind == "anchor"
        held.append((first, last, lab))
    if anchor is None:
        if not is_reported:
            reading.problem(section.first, f"the stop {section.id!r} has no anchor block")
        return None
    parts = tuple(_parts(reading, section, held))
    stop = Stop(Where(reading.shown, section.first), section.id, section.title, anchor, parts, section.last)
    for number, lab in enumerate(stop.labs):
        if lab.id in {other.id for other in stop.labs[:number]}:
            reading.problem(lab.where.line, f"the stop has two labs with the id {lab.id!r}")
    return stop


def _fences(reading: _Reading, section: HeadedSection) -> Iterator[tuple[Token, str]]:
    """Yields the anchor and lab blocks of a stop."""
    for token in section.tokens:
        kind = token.info.strip()
        if token.type != "fence" or kind not in ("anchor", "lab"):
            continue
        if token.level:
            reading.problem(line_of(token), f"the {kind} block must begin at the margin, not in a list or quote")
        else:
            yield token, kind


def _parts(
    reading: _Reading, section: HeadedSection, held: Sequence[tuple[int, int, Lab | None]]
) -> Iterator[StopPart]:
    """Yields prose and labs in order, without the anchor and unusable labs."""
    at = section.body
    for first, end, lab in [*held, (section.last + 1, section.last + 1, None)]:
        prose = reading.source(at, first - 1)
        if prose.strip():
            blank = len(prose) - len(prose.lstrip("\n"))
            yield StopPart(at + blank, prose.strip("\n"))
        if lab is not None:
            yield StopPart(first, lab=lab)
        at = end + 1
