"""Reading with keys: the file, the definition, its uses, back; what is said when there is nothing."""

from __future__ import annotations

import gc
import os
import re
import threading
import time
from pathlib import Path

import pytest
from textual import events
from textual.widget import Widget
from textual.widgets._footer import FooterKey

from ptexplore.lookup.calls import CallReader
from ptexplore.model.remarks import LocalName, LocalOfClass
from ptexplore.tui import facts
from ptexplore.tui.asking import ChoiceScreen
from ptexplore.tui.facts import FactsReader
from ptexplore.tui.open_file import OpenFile
from ptexplore.tui.places import Place
from ptexplore.tui.screens.keys import Keys
from ptexplore.tui.widgets.folding import Folding
from ptexplore.tui.widgets.source import SourceView
from ptexplore.tui.widgets.uses import Uses
from ptexplore.view.words.remarks import remark_in_words
from tests import small_source
from tests.hanging import ends
from tests.unit.tui.conftest import KERNEL

HEADER = "aten/src/ATen/native/Blend.h"
MIX = "aten/src/ATen/native/Mix.cpp"


def screen(app) -> str:
    """What stands on the screen, as text."""
    return "\n".join("".join(part.text for part in strip) for strip in app.screen._compositor.render_strips())


def words(app) -> str:
    """The same with one blank between words, whatever lines they stand on."""
    return " ".join(screen(app).split())


async def until(pilot, ready, seconds=10):
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, screen(pilot.app)
        await pilot.pause(0.02)


def test_definition_uses_and_back(drive):
    async def reading(app, pilot):
        reader = app.reader
        assert reader.place.path == "aten/src/ATen/native/Blend.cpp"
        await until(pilot, lambda: "mini 2.99.0 · checkout · the installed torch is 2.13.0" in screen(app))
        start = reader.place
        await pilot.press("r")
        uses = reader.query_one(Uses)
        await until(pilot, lambda: uses.option_count > 2)
        assert "at::native::BlendIterator::numel: used on " in str(uses.border_title)
        await pilot.press("escape", "colon", "9", "enter")
        await pilot.pause()
        assert reader.place.line == 9
        await until(pilot, lambda: "Blend.cpp  ›  at::native::operator==" in screen(app).split("\n")[0])
        await pilot.press("l", "l", "l", "l", "enter")
        await pilot.pause()
        there = reader.place
        assert (there.path, reader.source.file.name(there.line, there.column)) == (HEADER, "BlendIterator")
        for key, line in (("ctrl+o", 9), ("ctrl+o", start.line), ("alt+right", 9), ("backspace", start.line)):
            await pilot.press(key)
            await pilot.pause()
            assert reader.place.line == line

    drive("at::native::BlendIterator::numel", reading)


def test_what_bears_one_name_is_chosen_by_the_reader(drive):
    async def reading(app, pilot):
        assert isinstance(app.screen, ChoiceScreen)
        shown = screen(app)
        assert "mix means" in shown
        assert f"{MIX}:" in shown
        assert "other::mix" in shown
        await pilot.press("escape")
        assert app.reader.place is None
        assert app.screen is app.reader

    drive("mix", reading)


def test_notes_marks_and_finding(drive):
    async def reading(app, pilot):
        reader = app.reader
        await until(pilot, lambda: "●" in screen(app))
        before = reader.place
        await pilot.press("n")
        assert reader.place.line == 4
        await pilot.press("ctrl+o")
        await until(pilot, lambda: reader.place == before)
        await pilot.press("n")
        assert reader.place.line == 4
        await until(pilot, lambda: "● 4 " in screen(app).replace("●  4", "● 4"))
        await until(pilot, lambda: "A kernel" in screen(app))
        await pilot.press("slash", *"blend_", "enter")
        await pilot.pause()
        await until(pilot, lambda: "'blend_': 3 in this file" in screen(app))
        seen = [reader.place.line]
        for _ in range(3):
            await pilot.press("full_stop")
            seen.append(reader.place.line)
        assert seen[0] == seen[3]
        assert len(set(seen)) == 3 or seen[1] != seen[0]

    drive(KERNEL, reading)


def test_the_notes_come_when_they_are_read_and_nothing_waits_for_them(drive, library):
    may, read = threading.Event(), library.workspace.marks

    def slow(trees):
        assert may.wait(60)
        return read(trees)

    library.workspace.marks = slow

    async def reading(app, pilot):
        try:
            await until(pilot, lambda: "the notes are being read …" in screen(app))
            assert "blend_kernel" in screen(app)
            await pilot.press("n")
            await until(pilot, lambda: "the notes are still being read" in screen(app))
            assert "No note on this line" not in screen(app)
            assert "●" not in screen(app)
        finally:
            may.set()
        await until(pilot, lambda: "●" in screen(app) and "It blends." in screen(app))
        assert "are being read" not in screen(app)

    drive(KERNEL + ":4", reading)


def pane(app) -> str:
    """What is known of the symbol under the cursor, as text."""
    options = (app.reader.symbol.get_option_at_index(n) for n in range(app.reader.symbol.option_count))
    return "\n".join(str(option.prompt) for option in options)


@pytest.mark.words
def test_beside_the_source_stands_what_is_known_of_the_symbol_under_the_cursor(drive):
    async def reading(app, pilot):
        reader, symbol = app.reader, app.reader.symbol
        await until(pilot, lambda: "called by" in pane(app))
        assert pane(app).startswith("at::native::mix\n(int a)\nfunction")
        assert "used " in pane(app)
        assert pane(app).index("the name mean") > pane(app).index("called by")
        symbol.focus()
        lines = [str(symbol.get_option_at_index(n).prompt) for n in range(symbol.option_count)]
        symbol.highlighted = next(n for n, text in enumerate(lines) if "Mixer::turn" in text)
        await pilot.press("enter")
        await until(pilot, lambda: "{ return mix(a); }" in reader.source.file.line(reader.place.line))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: reader.place.line == 11)
        line = next(n for n, text in enumerate(reader.source.file.raw, 1) if text.startswith("int use(Mixer& m)"))
        for number in range(reader.place.line, line):  # what is passed is not looked up
            reader.source.move(number)
        reader.source.move(line, 8)
        await until(pilot, lambda: pane(app).startswith("at::native::Mixer\nstruct"))
        await pilot.press("home")
        await until(pilot, lambda: "\ncalls" in pane(app) and pane(app).startswith("at::native::use"))

    drive(f"{MIX}:11", reading, size=(160, 48))


def test_beside_new_source_nothing_stands_of_what_was_read_before(drive, monkeypatch):
    """However long it takes to find out what is known of it."""
    ask, slow = FactsReader.ask, threading.Event()
    monkeypatch.setattr(FactsReader, "ask", lambda *question: None if slow.is_set() else ask(*question))

    async def reading(app, pilot):
        reader = app.reader
        await until(pilot, lambda: "called by" in pane(app))
        await pilot.press("J")
        await until(pilot, lambda: reader.symbol.scroll_offset.y == 3)
        slow.set()
        reader.go(Place("mini", KERNEL, 4))
        assert pane(app) == "being read …"
        await pilot.pause()
        assert "blend_kernel" in screen(app).split("\n")[0]
        slow.clear()
        await pilot.press("ctrl+o")
        await until(pilot, lambda: pane(app).startswith("at::native::mix\n(int a)"))
        assert reader.symbol.scroll_offset.y == 0, "its name is in sight"
        slow.set()
        line = next(n for n, text in enumerate(reader.source.file.raw, 1) if "int use(Mixer& m)" in text)
        reader.source.move(line, 8)
        await until(pilot, lambda: pane(app).startswith("Mixer\nbeing read"))

    drive(f"{MIX}:11", reading, size=(160, 18))


def test_keys_that_are_gone_from_the_foot_of_the_screen_are_kept_by_nothing(drive):
    async def reading(app, pilot):
        for number in range(12):
            await app.reader.open(Place("mini", KERNEL if number % 2 else MIX, 4))
            app.reader.refresh_bindings()
            await pilot.pause()
        await until(pilot, lambda: len(app.screen.query(FooterKey)) > 5)
        shown = len(app.screen.query(FooterKey))
        gc.collect()
        kept = [key for key in gc.get_objects() if isinstance(key, FooterKey)]
        assert len(kept) < 4 * shown

    drive(f"{MIX}:11", reading)


def test_what_was_read_of_calls_is_forgotten_once_it_is_a_lot(drive, monkeypatch):
    made = []
    monkeypatch.setattr(facts, "_READ", 1)
    monkeypatch.setattr(facts, "CallReader", lambda trees: made.append(CallReader(trees)) or made[-1])

    async def reading(app, pilot):
        for line, column in ((11, 4), (12, 9), (30, 30)):
            app.reader.source.move(line, column)
            await until(pilot, lambda: "being read" not in pane(app) and "called by" in pane(app))
        await until(pilot, lambda: len(made) > 1)

    drive(f"{MIX}:11", reading, size=(160, 48))


def test_long_lines_go_on_below_where_the_reader_wants_it(drive):
    async def reading(app, pilot):
        source = app.reader.source
        line = next(n for n, text in enumerate(source.file.raw, 1) if "return at::native::mix(a)" in text)
        source.move(line, len(source.file.raw[line - 1]) - 4)
        await until(pilot, lambda: source.scroll_offset.x > 0)
        await pilot.press("w")
        await until(pilot, lambda: source.scroll_offset.x == 0 and "other::mix(a); }" in words(app))
        assert words(app).count("int turn(int a) override {") == 1
        row = next(y for y, text in enumerate(screen(app).split("\n")) if "other::mix(a); }" in text)
        column = screen(app).split("\n")[row].index("mix(a); }")
        await pilot.click(offset=(column, row))
        assert (source.line, source.file.name(source.line, source.column)) == (line, "other::mix")
        await pilot.press("j")
        assert source.line == line + 1
        await pilot.press("w")
        await until(pilot, lambda: "other::mix(a); }" not in words(app))

    drive(f"{MIX}:1", reading, size=(60, 30))


@pytest.mark.parametrize("room", [1, 2, 3, 7, 20, None])
def test_every_column_of_every_line_has_its_row(room):
    lines = ["", "a", "ab cd ef gh ij kl", "x" * 61, "one  two   three    four", " " * 30]
    folding = Folding(lines, room)
    seen = []
    for row in range(folding.rows):
        line, part = folding.at(row)
        begin, end = folding.span(line, part)
        assert folding.first(line) + part == row
        assert room is None or end - begin <= room
        assert all(folding.part(line, column) == part for column in range(begin, end))
        seen.append((line, lines[line - 1][begin:end]))
    whole = ["".join(text for number, text in seen if number == line) for line in range(1, len(lines) + 1)]
    assert whole == lines
    assert sum(map(folding.count, range(1, len(lines) + 1))) == folding.rows
    assert folding.at(folding.rows)[0] == len(lines) + 1


def test_hostile_text_and_long_lines_are_only_text(drive):
    async def reading(app, pilot):
        shown = screen(app)
        assert "[bold]markup[/bold]" in shown
        assert not set("\x1b\x9b\u202e\x07") & set(shown)
        app.reader.go(type(app.reader.place)("mini", "torch/csrc/oneline.cpp", 1))
        await pilot.press("end")
        await until(pilot, lambda: "0};" in screen(app))

    with ends(30):
        drive("torch/csrc/hostile.cpp", reading, size=(200, 30))


def test_a_tall_file_draws_only_what_is_visible(drive, monkeypatch):
    drawn = []
    original = SourceView.render_line
    monkeypatch.setattr(SourceView, "render_line", lambda self, y: drawn.append(y) or original(self, y))

    async def reading(app, pilot):
        app.reader.go(type(app.reader.place)("mini", "torch/csrc/tall.cpp", 5000))
        await until(pilot, lambda: app.reader.source.file.parsed)
        await pilot.press("G")
        await pilot.pause()
        assert app.reader.place.line == 10_000
        await until(pilot, lambda: "line_9999" in screen(app))

    drive(KERNEL, reading)
    assert len(drawn) < 1000


def test_at_80_columns_files_and_notes_come_and_go(drive):
    async def reading(app, pilot):
        reader = app.reader
        await until(pilot, lambda: "blend_kernel" in screen(app))
        assert not reader.files.display
        await pilot.press("e")
        await until(pilot, lambda: "▾ mini 2.99.0" in screen(app))
        await until(pilot, lambda: "BlendKernel.cpp" in screen(app))
        await pilot.press("k", "k", "j", "enter")
        await pilot.pause()
        await pilot.press("g", "j", "v")
        await until(pilot, lambda: reader.place.path == "aten/src/ATen" and not reader.files.display)
        await pilot.press("backspace")
        await until(pilot, lambda: reader.place.path == KERNEL)
        assert not reader.files.display
        await pilot.press("i")
        await pilot.pause()
        side = reader.query_one("#side")
        assert side.display
        await until(pilot, lambda: side.region.width == 80 and side.region.y > reader.source.region.y)  # under it
        await pilot.resize_terminal(20, 10)
        await pilot.pause()
        await until(pilot, lambda: "20 columns: widen" in screen(app))
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert reader.files.display
        await pilot.press("question_mark")
        assert isinstance(app.screen, Keys)
        await pilot.press("escape", "t")
        assert not app.current_theme.dark

    drive(KERNEL, reading, size=(80, 24))


def test_the_tree_opens_folders_and_shows_files(drive):
    async def reading(app, pilot):
        await until(pilot, lambda: "▸ torch" in screen(app))
        await pilot.press("e")  # the map has the keys first
        await pilot.press("G", "enter")
        await pilot.pause()
        await until(pilot, lambda: "▾ torch" in screen(app))
        await pilot.press("G", "l")
        await pilot.pause()
        await pilot.press("G", "enter")
        await pilot.pause()
        assert app.reader.place.path == "torch/nn/blend.py"

    drive("", reading)


def test_a_file_that_vanished_and_one_that_changed(drive, library, tmp_path):
    root = Path(library.trees[0].checkout.root)
    gone, changed = root / "torch/csrc/comment.cpp", root / "torch/csrc/long.cpp"
    texts = gone.read_text(), changed.read_text()

    async def reading(app, pilot):
        place = type(app.reader.place)
        app.reader.go(place("mini", "torch/csrc/comment.cpp", 3))
        await pilot.pause()
        await until(pilot, lambda: "but its text is not there" in screen(app))
        await pilot.press("j", "enter", "n", "o", "y")  # nothing to do, and nothing breaks
        app.reader.go(place("mini", "torch/csrc/long.cpp", 3))
        await pilot.pause()
        await until(pilot, lambda: "this file changed after it was indexed" in screen(app))
        await pilot.press("y")
        await pilot.pause()
        await until(pilot, lambda: app.clipboard.endswith("/blob/v2.99.0/torch/csrc/long.cpp#L3"))
        (told,) = app._notifications
        assert "mini 2.99.0 only says that it is 2.99.0" in told.message, "a tag is a guess, and said to be one"

    try:
        gone.unlink()
        changed.write_text("// another\n" + texts[1])
        drive(KERNEL, reading)
    finally:
        gone.write_text(texts[0])
        changed.write_text(texts[1])


def test_the_editor_gets_the_line(drive, tmp_path, monkeypatch):
    from tests.terminal import editor

    monkeypatch.setenv("EDITOR", editor(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)

    async def reading(app, pilot):
        app.reader.library.edit(*app.reader._where())

    drive(f"{KERNEL}:4", reading)
    assert (tmp_path / "opened").read_text().endswith(f"{os.sep}BlendKernel.cpp")


@pytest.mark.parametrize("keys", [("j", "k", "h", "l", "w", "b", "G", "g", "g", "0", "$", "]", "[", "ctrl+d", "ctrl+u",
                                   "pagedown", "pageup", "space", "g", "x", "full_stop", "comma", "p", "N", "H", "L",
                                   "tab", "tab", "j", "k", "escape", "e", "e", "i", "i")])  # fmt: skip
@pytest.mark.parametrize("path", ["torch/csrc/empty.cpp", "torch/csrc/latin.cpp", "torch/nn/blend.py"])
def test_no_key_breaks_any_file(drive, keys, path):
    async def reading(app, pilot):
        await pilot.press(*keys)
        assert app.reader.place.path == path

    app = drive(path, reading)
    assert app.crash is None


def test_a_definition_opens_at_its_name_and_a_keyword_is_no_name(drive, small):
    lines = (small / "mini" / KERNEL).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "blend_kernel(" in text)

    async def reading(app, pilot):
        await until(pilot, lambda: app.reader.place is not None)
        place = app.reader.place
        assert lines[place.line - 1][place.column :].startswith("blend_kernel"), place
        assert place.line == line
        app.reader.source.move(line, 0)  # on `static`, `void`, …: what is defined there is meant
        await until(pilot, lambda: bool(app.reader.source.file.spans(line)))
        assert app.reader.source._meant() == "at::native::blend_kernel"

    drive("at::native::blend_kernel", reading)


def test_what_a_macro_makes_is_meant_by_the_word_that_it_is_made_of(library, tmp_path):
    path = "aten/src/ATen/native/Made.cpp"
    made = """#define TORCH_IMPL_FUNC(name) void structured_##name::impl
#define DEFINE_DISPATCH(name) struct name name
namespace at::native {
struct structured_blend_out { void impl(int a); };
TORCH_IMPL_FUNC(blend_out)(int a) {}
DEFINE_DISPATCH(blend_stub);
}
"""
    file = OpenFile(library, small_source.indexed(small_source.write(tmp_path / "made", {path: made})), path)
    assert file.landing(5) == len("TORCH_IMPL_FUNC("), "and not at the macro's own name"
    assert file.meant(5, file.landing(5)) == "at::native::structured_blend_out::impl"
    assert file.meant(5, 0) == "TORCH_IMPL_FUNC"
    assert file.meant(6, file.landing(6)) == "at::native::blend_stub"


def test_a_namespace_in_front_of_a_name_means_the_name(drive):
    async def reading(app, pilot):
        file = app.reader.source.file
        line = next(n for n, text in enumerate(file.raw, 1) if "at::native::mix(a) + other::mix(a)" in text)
        text = file.raw[line - 1]
        for piece, name in (("at::native", "at::native::mix"), ("native::mix", "at::native::mix"),
                            ("other::", "other::mix"), ("int turn", "int")):  # fmt: skip
            assert file.name(line, text.index(piece)) == name

    drive(f"{MIX}:1", reading)


def test_a_local_name_is_not_taken_for_what_is_called_so_elsewhere(drive):
    def at(lines, piece, name):
        line = next(number for number, text in enumerate(lines, 1) if piece in text)
        return line, lines[line - 1].rindex(name)

    async def reading(app, pilot):
        source = app.reader.source
        lines = source.file.raw
        line, column = at(lines, "int through(int a)", "a)")
        source.move(line, column)
        source.action_definition()
        await until(pilot, lambda: remark_in_words(LocalName("a", line)) in screen(app))
        assert app.reader.place.line == line, "nothing was opened"
        await pilot.press("escape")
        line, column = at(lines, "int use(Mixer& m)", "turn(1)")
        source.move(line, column)
        source.action_definition()
        await until(pilot, lambda: remark_in_words(LocalOfClass("m", "Mixer", line)) in screen(app))
        assert app.reader.place.line != line, "the class's own function was opened"
        await pilot.press("ctrl+o")
        line, column = at(lines, "return a + b", "b")
        source.move(line, column)
        declared = remark_in_words(LocalName("b", line - 1))
        await pilot.press("enter")
        await until(pilot, lambda: app.reader.place.line == line - 1 and declared in screen(app))
        assert source.file.name(line - 1, source.column) == "b"
        await pilot.press("ctrl+o")
        assert (source.line, source.column) == (line, column)
        line, column = at(lines, "int through(int a)", "a)")
        source.move(line, column)
        await pilot.press("enter")
        await until(pilot, lambda: source.column < column)
        await pilot.press("ctrl+o")
        assert (source.line, source.column) == (line, column), "declared in the same line"
        source.show(source.file, 30)
        assert source.scroll_offset.y <= 29

    drive(MIX, reading)


def test_forward_has_a_key_of_its_own_and_a_jump_shows_what_follows(drive):
    async def reading(app, pilot):
        app.reader.go(type(app.reader.place)("mini", "torch/csrc/tall.cpp", 5000))
        await pilot.pause()
        assert 5 < 5000 - app.reader.source.scroll_offset.y < app.reader.source.size.height // 2
        await pilot.press("backspace", "f")
        assert app.reader.place.line == 5000

    drive(KERNEL, reading)


def test_the_mouse_opens_what_it_clicks(drive):
    async def reading(app, pilot):
        reader, source = app.reader, app.reader.source

        async def click(words: str, piece: str, times: int = 1) -> None:
            """Where `piece` stands, on the first line of the screen that has all `words`."""
            await until(pilot, lambda: any(words in line for line in screen(app).split("\n")))
            y, line = next((y, line) for y, line in enumerate(screen(app).split("\n")) if words in line)
            await pilot.click(offset=(line.index(piece, line.index(words)), y), times=times)

        await until(pilot, lambda: "▾ native" in screen(app))
        await click("    Blend.h ", "Blend.h")  # in the tree
        await until(pilot, lambda: reader.place.path == HEADER)
        await click("int numel() const;", "numel")
        assert source.file.name(reader.place.line, reader.place.column) == "numel"
        await click("r Uses", "Uses")  # in the footer
        await click("Blend.cpp:9 ", "Blend.cpp:")  # a use
        await until(pilot, lambda: (reader.place.path, reader.place.line) == (HEADER.replace(".h", ".cpp"), 9))
        await click("const BlendIterator& b)", "BlendIterator", times=2)  # its definition
        await until(pilot, lambda: (reader.place.path, reader.place.line) == (HEADER, 3))
        await click("^p Search", "Search")
        await pilot.press(*"blend_k")
        await click("at::native::blend_kernel(", "blend_kernel")  # a result
        await until(pilot, lambda: (reader.place.path, reader.place.line) == (KERNEL, 4))
        before = source.scroll_offset.y
        app.reader.go(type(reader.place)("mini", "torch/csrc/tall.cpp", 1))
        await pilot.pause()
        source.post_message(events.MouseScrollDown(source, 5, 5, 0, 1, 0, False, False, False))
        await until(pilot, lambda: source.scroll_offset.y > before)
        assert reader.place.line == 1, "the wheel leaves the cursor where it is"
        source.scroll_to(y=500, animate=False, immediate=True)
        await until(pilot, lambda: "line_500(" in screen(app).split("\n")[1])
        await click("line_500(", "line_500")
        assert (reader.place.line, source.scroll_offset.y) == (501, 500), "a second click meets the same text"

    drive(KERNEL, reading, size=(140, 40))


def test_what_is_typed_at_the_foot_can_be_read_and_the_position_follows_the_cursor(drive):
    async def reading(app, pilot):
        await pilot.press("colon", *"4")
        await until(
            pilot, lambda: [line.strip() for line in screen(app).split("\n")[-2:]] == ["4", "⏎ Continue esc Close"]
        )
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.reader and app.reader.place.line == 4)
        before = app.reader.place
        await pilot.press("h")
        after = app.reader.place
        assert (before.line, before.column) != (after.line, after.column)
        await until(pilot, lambda: f"{after.line}:{after.column + 1} of " in screen(app))

    drive(KERNEL, reading)


def test_styles_name_what_there_is():
    """A class that got another name takes its styles along."""
    classes, named = [Widget], {}
    for widget in classes:
        classes += [subclass for subclass in widget.__subclasses__() if subclass not in classes]
        if widget.__module__.startswith("ptexplore."):
            selectors = re.sub(r"\{[^}]*\}", " ", widget.__dict__.get("DEFAULT_CSS", ""))
            named[widget.__name__] = set(re.findall(r"(?<![\w.#-])[A-Z]\w+", selectors))
    assert len(named) > 10
    known = {widget.__name__ for widget in classes}
    assert {name: types - known for name, types in named.items() if types - known} == {}
