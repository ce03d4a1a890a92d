"""The way back and the way into a tour: what stood on the screen stands there again, and the last line is never cut."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import pytest
from textual.events import Key
from textual.widgets import Input
from textual.widgets._footer import FooterKey

from ptexplore.errors import PtexploreError
from ptexplore.model.operators import Operator
from ptexplore.model.places import SourceRef
from ptexplore.tui.asking import Choices, ChoiceScreen
from ptexplore.tui.jobs import Job
from ptexplore.tui.library import Library
from ptexplore.tui.messages import OpenOperator, OpenPlace
from ptexplore.tui.places import CARD, FOLDER, History, Place, Recent, keep_recent
from ptexplore.tui.screens.card import CardScreen
from ptexplore.tui.screens.home import Home
from ptexplore.tui.screens.palette import COLLECTING, NOTHING, SEARCHING, Palette
from ptexplore.tui.widgets.source import A_WORD
from ptexplore.view.card import Card, KeyRow
from tests.unit.tui.conftest import KERNEL
from tests.unit.tui.test_reading import MIX, screen, until

TALL = "torch/csrc/tall.cpp"
KEYS = ("AutogradCPU", "CPU", "Meta")


def test_going_back_shows_the_lines_that_stood_there(drive):
    async def reading(app, pilot):
        reader, source = app.reader, app.reader.source
        reader.go(Place("mini", TALL, 5000))
        await pilot.pause()
        await pilot.press(*["down"] * 8)
        source.scroll_to(y=source.scroll_offset.y + 4, animate=False, immediate=True)
        await pilot.pause()
        before = (source.line, source.column, source.scroll_offset.y)
        reader.go(Place("mini", KERNEL, 4))
        await pilot.pause()
        await pilot.press("ctrl+o")
        assert (source.line, source.column, source.scroll_offset.y) == before
        reader.go(Place("mini", "aten/src/ATen/native", FOLDER))
        await pilot.press("down", "down")
        at = reader.folder.highlighted
        assert at
        reader.go(Place("mini", KERNEL, 4))
        await pilot.pause()
        await pilot.press("ctrl+o")
        assert reader.place == Place("mini", "aten/src/ATen/native", FOLDER)
        assert reader.folder.highlighted == at
        await pilot.press("a")
        await until(pilot, lambda: "are listed below; a hides" in screen(app))
        await pilot.press("a")
        await pilot.press("ctrl+o")
        assert (source.line, source.column, source.scroll_offset.y) == before

    drive(MIX, reading)


def test_of_one_place_the_last_look_is_kept():
    history = History()
    history.leave(Place("", "aten::add", CARD, top=3))
    history.leave(Place("", "aten::add", CARD, top=9, whole=True))
    back = history.back(Place("mini", MIX, 1))
    assert back is not None
    assert (back.top, back.whole) == (9, True)
    assert history.back(back) is None


def test_the_key_back_leaves_a_card_and_a_choice(drive, library, monkeypatch):
    def card(name: str, job: object) -> None:
        raise PtexploreError(f"there is no operator {name}", "")

    monkeypatch.setattr(library, "card", card)

    async def reading(app, pilot):
        app.reader.go(Place("mini", MIX, 7))
        await pilot.pause()
        app.post_message(OpenOperator("aten::blend"))
        await until(pilot, lambda: isinstance(app.screen, CardScreen))
        await pilot.press("ctrl+o")
        assert app.screen is app.reader
        assert app.reader.place.line == 7, "the card was opened here, and is left"
        app.post_message(OpenPlace(Place("mini", KERNEL, 4), Place("", "aten::blend", CARD, top=5)))
        await until(pilot, lambda: app.reader.place.path == KERNEL)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, CardScreen))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.screen is app.reader and app.reader.place.path == MIX)
        assert app.reader.place.line == 7, "the place before the card"
        app.navigator.open_definition("mix", Place("mini", KERNEL, 1))
        await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
        await pilot.press("ctrl+o")
        assert app.screen is app.reader

    drive(MIX, reading)


def test_a_word_of_a_comment_is_followed_only_where_it_is_written_as_a_name(drive):
    async def reading(app, pilot):
        source = app.reader.source
        line = next(n for n, text in enumerate(source.file.raw, 1) if "// two of one name" in text)
        await until(pilot, lambda: bool(source.file.spans(line)))
        source.move(line, source.file.raw[line - 1].index("one"))
        await pilot.press("enter")
        await until(pilot, lambda: A_WORD in screen(app))
        assert app.reader.place.line == line

    drive(MIX, reading)


def test_what_a_comment_names(drive):
    named = [
        ("// see TensorIterator and add", "TensorIterator", "TensorIterator"),
        ("// see at::native::mix here", "mix", "at::native::mix"),
        ("// calls mix(a) twice", "mix", "mix"),
        ("// the `mix` of both", "mix", "mix"),
        ("// of add_kernel", "add_kernel", "add_kernel"),
        ("// mix is good. Mix it", "good", None),
        ("// mix is good", "mix", None),
        ("// NB: This", "NB", None),
        ('call("mix it")', "mix", None),
        ('call("aten::mix")', "mix", "aten::mix"),
    ]

    async def reading(app, pilot):
        file = app.reader.source.file
        for text, word, name in named:
            file.raw[0] = text
            begin = text.index("//") if "//" in text else text.index('"')
            file.parse()
            file._spans[0] = [[(begin, len(text), "comment")], *([] for _ in range(63))]
            assert file.meant(1, text.index(word)) == name, text

    drive(MIX, reading)


def test_what_is_typed_before_the_search_is_there_is_not_lost_and_ctrl_u_clears_it(drive):
    async def reading(app, pilot):
        app.post_message(Key("ctrl+p", None))  # all at once, as a terminal hands them over that was slow
        for letter in "bl":
            app.post_message(Key(letter, letter))
        await until(pilot, lambda: isinstance(app.screen, Palette) and typed(app) == "bl")
        await pilot.press("_", "k")
        await until(pilot, lambda: "at::native::blend_kernel(" in screen(app))
        shown = screen(app).split("\n")
        assert not any("symbols" in line and "@" not in line for line in shown), "no heading without a result below it"
        assert any(line.strip("│ ").startswith("function  aten/") for line in shown), (
            "what it is, where nothing cuts it"
        )
        await pilot.press("ctrl+u")
        assert typed(app) == ""

    def typed(app) -> str:
        return "".join(line.value for line in app.screen.query(Input))

    drive(MIX, reading)


def test_letters_and_enter_typed_at_once_open_the_whole_name(drive):
    async def reading(app, pilot):
        app.action_palette()
        await until(pilot, lambda: isinstance(app.screen, Palette) and app.screen.query(Input))
        for letter in "BlendKernel.cpp":
            app.post_message(Key(letter, letter))
        app.post_message(Key("enter", "\r"))  # it reaches the screen before the input line has the letters
        await until(pilot, lambda: not isinstance(app.screen, Palette) and app.reader.place.path == KERNEL)

    drive(MIX, reading)


def test_enter_before_the_answer_opens_the_first_when_it_comes(drive):
    async def reading(app, pilot):
        app.action_palette()
        await until(pilot, lambda: isinstance(app.screen, Palette) and app.screen.query(Input))
        searcher, held = app.screen._searcher, []
        ask = searcher.ask
        searcher.ask = lambda query, sort, hear: ask(query, sort, lambda *answer: held.append((hear, answer)))
        try:
            await pilot.press(*"blend_kernel", "enter")
            await until(pilot, lambda: SEARCHING.split(";")[0] in screen(app))
            await until(pilot, lambda: held and held[-1][1][0] == searcher.last)
            assert isinstance(app.screen, Palette)
            hear, answer = held[-1]
            hear(*answer)
            await until(pilot, lambda: not isinstance(app.screen, Palette) and app.reader.place.path == KERNEL)
            # Letters of which the screen was told nothing yet when Enter comes: what was found before is not opened.
            app.reader.go(Place("mini", MIX, 7))
            app.action_palette()
            await until(pilot, lambda: isinstance(app.screen, Palette) and app.screen.query(Input))
            searcher.ask = ask
            await pilot.press(*"mix")
            await until(pilot, lambda: app.screen._hits)
            line = app.screen.query_one(Input)
            with line.prevent(Input.Changed):
                line.value = "blend_kernel"
            app.screen.action_open()
            await until(pilot, lambda: not isinstance(app.screen, Palette) and app.reader.place.path == KERNEL)
        finally:
            searcher.ask = ask

    drive(MIX, reading)


@pytest.mark.parametrize("size", [(160, 48), (100, 30), (80, 24), (60, 24)])
def test_one_key_walks_the_stop_about_a_line_and_no_key_at_the_foot_is_cut(drive, size):
    def foot(app) -> list[str]:
        keys = list(app.reader.query(FooterKey))
        assert all(key.region.right <= size[0] for key in keys), [key.region for key in keys]
        return [key.description for key in keys]

    async def reading(app, pilot):
        await until(pilot, lambda: app.library.marked and app.reader.notes.marks)
        await until(pilot, lambda: "Open the stop" in foot(app))
        assert foot(app)[-1] == "Keys"
        await pilot.press("S")
        await until(pilot, lambda: app.touring.walk is not None)
        await until(pilot, lambda: "Next stop" in foot(app) and "Open the stop" not in foot(app))
        assert foot(app)[-1] == "Keys"
        await until(pilot, lambda: app.reader.place.path == KERNEL)

    drive("at::native::blend_kernel", reading, size=size)


def test_going_back_and_escape_leave_a_tour_that_was_opened_on_a_line(drive):
    async def reading(app, pilot):
        await until(pilot, lambda: app.library.marked and app.reader.notes.marks)
        place = app.reader.place
        app.reader.action_notes()  # hidden by the reader: it is again behind the tour
        for leave in ("ctrl+o", "escape"):
            await pilot.press("S")
            await until(pilot, lambda: app.reader.notes.stop is not None and app.reader.place.path == KERNEL)
            await until(pilot, lambda: app.reader._side.display)
            await pilot.press(leave)
            await until(pilot, lambda: app.touring.walk is None and app.reader.notes.stop is None)
            assert app.reader.place == place, leave
            assert not app.reader._side.display, leave
            await until(pilot, lambda: app.reader.notes.marks)

    drive("at::native::blend_kernel", reading)


def test_going_back_from_what_was_opened_at_home_leads_home_and_then_on(drive):
    keep_recent(Recent("mini", KERNEL, 4))

    async def choose(app, pilot, row):
        await until(pilot, lambda: isinstance(app.screen, Home) and row in screen(app))
        places = app.screen.query_one("#places", Choices)
        prompts = [str(places.get_option_at_index(n).prompt) for n in range(places.option_count)]
        places.focus()
        places.highlighted = next(n for n, text in enumerate(prompts) if row in text)
        await pilot.press("enter")

    async def reading(app, pilot):
        await pilot.press("H")
        await choose(app, pilot, "BlendKernel.cpp")
        await until(pilot, lambda: app.reader.place.path == KERNEL)
        await pilot.press("ctrl+o")
        await choose(app, pilot, "Blending")
        await until(pilot, lambda: app.touring.walk is not None and app.reader.notes.stop is not None)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, Home) and app.touring.walk is None)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.screen is app.reader and app.reader.place.path == MIX)

    drive(MIX, reading)


def test_a_list_of_uses_says_how_to_open_one_and_takes_the_room_of_the_notes(drive):
    async def reading(app, pilot):
        reader = app.reader
        await pilot.press("i")
        await until(pilot, lambda: reader._side.display)
        await pilot.press("r")
        await until(pilot, lambda: reader.uses.has_focus and reader.uses.option_count > 2)
        assert not reader._side.display
        await until(pilot, lambda: {"Open", "Close"} <= {key.description for key in reader.query(FooterKey)})
        await pilot.press("down", "enter")
        await until(pilot, lambda: reader.source.has_focus)
        await until(pilot, lambda: "The list" in {key.description for key in reader.query(FooterKey)})
        await pilot.press("tab")
        await until(pilot, lambda: reader.uses.has_focus)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: not reader.uses.display)
        await until(pilot, lambda: "The list" not in {key.description for key in reader.query(FooterKey)})
        await pilot.press("r")
        await until(pilot, lambda: reader.uses.has_focus and reader.uses.option_count > 2)
        await pilot.press("escape")
        await until(pilot, lambda: reader._side.display and not reader.uses.display)

    drive("at::native::blend_kernel", reading, size=(80, 24))


def test_a_card_leads_from_dispatch_key_to_dispatch_key(drive, library, monkeypatch):
    def place(line: int) -> SourceRef:
        return SourceRef(MIX, line, "checkout", "located", tree="mini")

    operator = Operator("aten::mix", "mix(Tensor self) -> Tensor", (), ())
    rows = tuple(KeyRow((key,), "kernel", f"at::{key}", place(n), place(n + 1)) for n, key in enumerate(KEYS, 1))
    card = Card(operator, "mix", place(1), place(1), rows, (), None, None, None, (), (), ())
    monkeypatch.setattr(library, "card", lambda _name, _job: card)

    async def reading(app, pilot):
        app.post_message(OpenOperator("aten::mix"))
        await until(pilot, lambda: isinstance(app.screen, CardScreen) and "at::Meta" in screen(app))
        choices = app.screen.query_one(Choices)
        at = []
        for key in ("n", "n", "n", "n", "p"):
            await pilot.press(key)
            lines = app.screen._lines
            of = [line.text for line in lines[: choices.highlighted] if line.style == "strong"]
            at.append(of[-1])
        assert at == ["AutogradCPU", "CPU", "Meta", "Meta", "CPU"], "after the last key there is none"

    drive("", reading)


def test_a_search_has_the_operators_collected_where_nobody_did(drive, library, monkeypatch):
    """As after `ptexplore index`: the other sorts are found meanwhile, and the question is answered again."""
    go_on = Event()
    collected: list[Job] = []

    def collect(_library: Library, job: Job) -> None:
        go_on.wait(20)
        collected.append(job)

    monkeypatch.setattr(type(library), "lacks_operators", property(lambda _library: not collected))
    monkeypatch.setattr(Library, "collect_operators", collect)

    async def reading(app, pilot):
        await pilot.press("ctrl+p", *"blend_k")
        await until(pilot, lambda: "at::native::blend_kernel(" in screen(app) and COLLECTING in screen(app))
        line = app.screen.query_one(Input)
        with line.prevent(Input.Changed):
            line.value = "blend"
        app.screen.action_open()  # before the answer: which comes first is not known yet
        await until(pilot, lambda: "torch::blend_node(" in screen(app))
        assert isinstance(app.screen, Palette)
        listed = app.screen.query_one(Choices)
        assert str(listed.get_option_at_index(0).prompt) == COLLECTING, "above what is found, and no result"
        await pilot.press("down", "down")
        chosen = str(listed.highlighted_option.prompt)
        for letter, says in (("@", False), ("", True)):
            line.value = f"{letter}blend"
            await until(pilot, lambda says=says: (COLLECTING in screen(app)) == says)
        await pilot.press("down", "down")
        go_on.set()
        await until(pilot, lambda: collected and COLLECTING not in screen(app))
        assert str(listed.highlighted_option.prompt) == chosen, "the cursor stays at what the reader went to"
        line.value = "%no_such_operator"
        await until(pilot, lambda: NOTHING in screen(app))
        assert len(collected) == 1

    drive(MIX, reading)


def test_the_first_build_reads_the_generated_code_once_and_goes_on_without_a_torch_that_starts():
    """The catalogue first: it keeps what it read for the index. A torch that does not start leaves the source."""
    ran: list[str] = []
    job = Job("indexing", lambda _step: None)

    def build(refuses: bool) -> list[str]:
        def run(command, _job):
            ran.append(command[0])
            if command[0] == "op" and refuses:
                raise PtexploreError("the probe failed", "")
            return ""

        ran.clear()
        apart = SimpleNamespace(trees=["all"])
        workspace = SimpleNamespace(
            runtime_if_any=object(), catalogue_at_hand=lambda _trees: None, apart=lambda: apart, python=None
        )
        library = Library(workspace, [], run, lambda *_where: None)  # type: ignore[arg-type]
        assert library.build_indexes(job) == ["all"]
        return list(ran)

    assert build(refuses=False) == ["op", "index"]
    assert build(refuses=True) == ["op", "index"]
    job.stop()
    with pytest.raises(PtexploreError):
        build(refuses=True)


@pytest.mark.parametrize("size", [(160, 48), (80, 24)])
def test_a_file_that_is_opened_is_named_before_it_is_read_and_nothing_of_the_last_is_seen(drive, monkeypatch, size):
    painted: list[str] = []
    while_read: list[str] = []

    async def reading(app, pilot):
        reader = app.reader
        display, read = app._display, reader._file

        def paint(shown, renderable):
            painted.append(screen(app))
            display(shown, renderable)

        def slow(tree, path):
            while_read.append(painted[-1])
            return read(tree, path)

        await until(pilot, lambda: "blend_kernel" in screen(app))
        monkeypatch.setattr(app, "_display", paint)
        monkeypatch.setattr(reader, "_file", slow)
        await pilot.press("ctrl+p", *"tall.cpp", "enter")
        await until(pilot, lambda: "line_1(int a)" in screen(app))
        assert reader.place.path == TALL
        first, *below = while_read[0].split("\n")
        assert first.split() == ["opening", TALL, "…"]
        assert "blend_kernel" not in "".join(below)
        closed = next(n for n, frame in enumerate(painted) if while_read[0] in frame)
        assert not any("BlendKernel.cpp" in frame and "tall.cpp" not in frame for frame in painted[closed:])
        await pilot.press("r")  # the keys are the source's, at once
        await until(pilot, lambda: reader.uses.display)

    drive(KERNEL, reading, size=size)


def test_a_page_of_a_folder_is_turned_by_screens(drive):
    """Whatever is open on it: text without anything that opens may be as high as several screens."""

    async def reading(app, pilot):
        folder = app.reader.folder
        app.reader.go(Place("mini", "", FOLDER))
        await until(pilot, lambda: folder.max_scroll_y > 0)
        await pilot.press("home")
        height = folder.scrollable_content_region.height
        await pilot.press("pageup")
        assert folder.scroll_offset.y == 0
        await pilot.press("pagedown")
        assert folder.scroll_offset.y == min(height - 1, folder.max_scroll_y)
        assert folder.highlighted is None or not folder.get_option_at_index(folder.highlighted).disabled
        while folder.scroll_offset.y < folder.max_scroll_y:
            before = folder.scroll_offset.y
            await pilot.press("pagedown")
            assert folder.scroll_offset.y == min(before + height - 1, folder.max_scroll_y)
        await pilot.press("pageup")
        assert folder.scroll_offset.y == max(folder.max_scroll_y - height + 1, 0)
        await pilot.press("end", "g")
        assert folder.scroll_offset.y == 0, "with what stands above the first thing that opens"
        first = folder.highlighted
        await pilot.press("down", "end")
        folder.highlighted = first
        await pilot.pause()
        folder.scroll_to(y=1, animate=False, immediate=True)
        await pilot.press("up")
        assert (folder.scroll_offset.y, folder.highlighted) == (0, first)

    drive(MIX, reading, (80, 12))


def test_c_in_a_list_of_uses_shows_callers_of_callers(drive):
    async def reading(app, pilot):
        reader = app.reader
        await pilot.press("r")
        await until(pilot, lambda: reader.uses.has_focus and reader.uses.option_count > 2)
        await pilot.press("c")
        await until(pilot, lambda: "its callers, and their callers" in str(reader.uses.border_title))
        assert "numel" in str(reader.uses.get_option_at_index(0).prompt)
        await pilot.press("c")
        await until(pilot, lambda: "used on" in str(reader.uses.border_title))
        await pilot.press("c")
        await until(pilot, lambda: "its callers, and their callers" in str(reader.uses.border_title))
        await pilot.press("down", "enter")
        await until(pilot, lambda: reader.source.has_focus)
        assert "numel" in reader.source.file.line(reader.place.line)

    drive("at::native::BlendIterator::numel", reading)
