"""What leads a reader: home, a tour to its end, search, cards of places, labs that pass, hang, are not trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from textual.content import Content
from textual.geometry import Region
from textual.widgets import Static
from textual.widgets._footer import FooterKey

from ptexplore.annotations.folders import parse
from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import load
from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import PtexploreError
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.options import TraceOptions
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.reasons import Said
from ptexplore.model.trace import BoundName, Captured, Finding, Hop, ResultInfo, Session, TorchInfo, Trace
from ptexplore.saved.trace import trace_from_json
from ptexplore.source.fetch.releases import releases
from ptexplore.tui.app import Browser, Start
from ptexplore.tui.asking import Ask, ChoiceScreen, ConsentScreen, Links
from ptexplore.tui.jobs import Job
from ptexplore.tui.library import Library
from ptexplore.tui.messages import OpenTour, OpenTrace, TraceSuggested
from ptexplore.tui.places import load_recent
from ptexplore.tui.screens.building import Building
from ptexplore.tui.screens.home import Home
from ptexplore.tui.screens.palette import Palette
from ptexplore.tui.screens.trace import TraceScreen
from ptexplore.tui.touring import TourContents
from ptexplore.workspace.typed import typed
from tests import pictures
from tests.harness import REPOSITORY
from tests.unit.test_safe_text import NASTY, of_program, spoilt, unsafe
from tests.unit.tui.conftest import KERNEL, NOTE
from tests.unit.tui.test_reading import MIX, screen, until


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's own folder."""
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def toured(library: Library, data: Path) -> Library:
    """The screens' library, with the small tour."""
    return with_notes(library, REPOSITORY / "tests/data/tours")


def notes(app) -> str:
    """What stands in the notes pane, its words on one line."""
    region = app.reader.notes.region
    strips = app.screen._compositor.render_strips()[region.y : region.bottom]
    lines = ("".join(part.text for part in strip)[region.x : region.right] for strip in strips)
    return " ".join(" ".join(lines).replace("█", " ").split())


async def noted(app, pilot, *wanted: str) -> None:
    """Wait until all of it stands in the notes pane: prose is laid out after what stands around it."""
    await until(pilot, lambda: all(one in notes(app) for one in wanted))


def with_notes(library: Library, folder: Path) -> Library:
    return pictures.with_notes(library, load(layers([str(folder)], shipped=False)))


def test_home_leads_into_a_tour_that_is_walked_to_its_end(toured, drive, data):
    async def reading(app, pilot):
        await until(pilot, lambda: "the learning path and the tours" in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Home))
        shown = screen(app)
        for part in ("Learning path  0/2", "Basic use  0/1", "○ Mixing  ← next", "0/4  How things are blended",
                     "mini 2.99.0  checkout:", "a different version from the installed torch"):  # fmt: skip
            assert part in shown, part
        await pilot.press("tab", "enter")
        await until(pilot, lambda: app.touring.walk is not None and app.reader.place is not None)
        assert app.reader.place.path.endswith("native_functions.yaml")
        await noted(app, pilot, "a token (stop 2) comes later", "not pinned")
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: app.reader.place.path == MIX)
        here = app.reader.place
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "stop 3 is lost: the file below is not its source" in screen(app))
        await noted(app, pilot, "3/4 Nowhere to be found", "Prose that is read all the same.")
        assert app.reader.place == here, "no other source is shown for it"
        await pilot.press("greater_than_sign")
        lines = [n for n, line in enumerate(app.reader.source.file.raw, 1) if "int choose(" in line]
        assert len(lines) == 2
        await noted(app, pilot, "4/4 Two of one name", *(f"may be {MIX}:{line}" for line in lines))
        await pilot.press("less_than_sign", "greater_than_sign")
        await until(pilot, lambda: "▸·  4 Two of one name" in screen(app))
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "that was the last stop" in screen(app))
        assert app.touring.walk is None
        assert not app.reader.stops.display, "the files are there again"

    drive("", reading, size=(170, 45))
    kept = json.loads((data / "progress.json").read_text())
    assert kept["visited"] == [f"blending#{name}" for name in ("both", "entry", "gone", "token")]
    assert (kept["done"], kept["last"]) == ([], {}), "going on is not reading, and the end is not gone on from"


def test_a_stop_is_read_by_a_right_answer_and_the_list_on_the_left_shows_it(toured, drive, data):
    def read() -> list[str]:
        return json.loads((data / "progress.json").read_text())["done"]

    async def reading(app, pilot):
        app.post_message(OpenTour("blending", "entry"))
        await until(pilot, lambda: "▸·  1 The entry" in screen(app) and "1 of 4 seen, 0 done" in screen(app))
        await noted(app, pilot, "What is mixed first?")
        await pilot.press("a", "enter")
        await until(pilot, lambda: app.screen is app.reader)
        assert read() == [], "no answer is none"
        await pilot.press("a", *"yaml", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
        await pilot.press("enter")  # it was right
        await until(pilot, lambda: "▸✓  1 The entry" in screen(app))
        await noted(app, pilot, "you answered yaml")
        assert read() == ["blending#entry"]
        app.reader.stops.focus()
        await pilot.press("down", "enter")
        await until(pilot, lambda: "▸·  2 One token" in screen(app))
        await pilot.press("e")
        await until(pilot, lambda: app.reader.files.display and app.reader.files.has_focus)
        assert read() == ["blending#entry"]
        await pilot.press("e")
        await until(pilot, lambda: app.reader.stops.display and not app.reader.files.display)

    drive("", reading, size=(170, 45))


def test_without_a_checkout_fetching_is_offered_and_what_came_is_read_where_the_reader_is(toured, drive, monkeypatch):
    (one,) = toured.trees
    whole = replace(toured)
    toured.trees = [IndexedTree(replace(one.tree, info=replace(one.tree.info, relation="runtime")), one.store, None)]
    asked = []
    monkeypatch.setattr(toured, "fetch", lambda job: asked.append(job.title) or whole)

    async def reading(app, pilot):
        offer = "no hand-written C++ is here: F fetches it"
        await until(pilot, lambda: offer in screen(app))
        await pilot.press("H")
        await until(pilot, lambda: isinstance(app.screen, Home) and offer in screen(app))
        app.post_message(OpenTour("blending", "token"))
        await until(pilot, lambda: app.reader.place.path == MIX)
        await pilot.press("F", "down", "enter")
        assert not asked, "not now"
        before = app.reader
        await pilot.press("F", "enter")
        await until(pilot, lambda: app.reader is not before and app.reader.place is not None)
        await until(pilot, lambda: app.reader.place.path == MIX)
        await noted(app, pilot, "2/4 One token of many")
        assert asked == ["fetch"]
        assert not app.library.lacks
        await pilot.press("F")
        assert app.screen is app.reader

    drive("", reading, size=(170, 45))


def test_what_a_stop_points_to_opens_and_on_a_narrow_screen_its_contents_lie_over_it(toured, drive, data):
    async def reading(app, pilot):
        app.post_message(OpenTour("blending", "entry"))
        await until(pilot, lambda: app.reader.place.path.endswith(".yaml") and app.reader.notes.query(Links))
        links = app.reader.notes.query_one(Links)
        links.focus()
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.reader.place.path == MIX)
        assert app.reader.source.file.line(app.reader.place.line).startswith("int use(")
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, TourContents) and "·  1  The entry" in screen(app))
        await pilot.press("escape")
        links.focus()
        await pilot.press("up", "up", "enter")
        await until(pilot, lambda: app.touring.walk.number == 2)

    drive("", reading, size=(100, 40))


def test_the_lab_is_in_sight_when_it_asks(toured, drive, data):
    async def reading(app, pilot):
        app.post_message(OpenTour("blending", "entry"))
        await noted(app, pilot, "1/4 The entry")
        assert "lab not-three" not in notes(app)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        await noted(app, pilot, "lab not-three")

    drive("", reading, size=(120, 20))


def test_search_opens_what_is_chosen_and_the_place_is_remembered(toured, drive, data):
    async def reading(app, pilot):
        await pilot.press("escape", "ctrl+p", *"bl_k")
        await until(pilot, lambda: "at::native::blend_kernel(" in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.reader.place is not None and app.reader.place.path == KERNEL)
        await until(pilot, lambda: bool(load_recent()))  # a place is kept where the reader stays for a while
        await pilot.press("ctrl+p", *"/Mix")
        await until(pilot, lambda: f"{MIX}" in screen(app))
        await until(pilot, lambda: "symbols @  operators %" in screen(app))
        await pilot.press("tab")  # the next sort of the same words: notes
        assert app.screen.query_one("Input").value == "?Mix"
        app.screen.query_one("Input").value = "=native/cpu"
        await until(pilot, lambda: "aten/src/ATen/native/cpu" in screen(app))
        app.screen.query_one("Input").value = '"turn(int'
        await until(pilot, lambda: "virtual int turn(int a)" in screen(app))
        app.screen.query_one("Input").value = "Mix.cpp:11"
        await until(pilot, lambda: f"{MIX}:11" in screen(app))
        app.screen.query_one("Input").value = "no_such_thing_at_all"
        await until(pilot, lambda: "nothing found" in screen(app))
        assert isinstance(app.screen, Palette)
        app.screen.query_one("Input").value = "native/cpu"  # type: ignore[attr-defined]
        await until(pilot, lambda: "folder  aten/src/ATen/native/cpu" in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.reader.place is not None and app.reader.place.path == "aten/src/ATen/native/cpu")

    drive("", reading)
    assert [(one.path, one.line, one.symbol) for one in load_recent()] == [(KERNEL, 4, "at::native::blend_kernel")]


def test_in_a_narrow_list_the_line_and_how_sure_it_is_stay(toured, drive, data):
    async def reading(app, pilot):
        await pilot.press("ctrl+p", *"bl_k")
        await until(pilot, lambda: "cpu/BlendKernel.cpp:4  mini 2.99.0 version-skew" in screen(app))
        assert "aten/src" not in screen(app).split("blend_kernel(")[1].split("version-skew")[0]

    drive("", reading, size=(80, 24))


def test_a_damaged_list_of_places_is_none_and_is_kept_aside(data):
    from ptexplore.tui.places import Recent, keep_recent

    data.mkdir()
    for text in ("{", '{"format": 9}', '{"format": 1, "places": [{"tree": 1}, 7, {"path": "x"}]}', "[" * 9999):
        (data / "recent.json").write_text(text)
        assert load_recent() == []
    keep_recent(Recent("mini", "a.cpp", 3))
    keep_recent(Recent("mini", "a.cpp", 9))
    assert load_recent() == [Recent("mini", "a.cpp", 9)]
    assert (data / "recent.json.damaged").read_text() == "[" * 9999


# --- traces ---


def ref(line: int | None, tree: str = "mini", **more: object) -> SourceRef:
    return SourceRef(
        KERNEL if line else None, line, "checkout", more.pop("precision", "version-skew"), tree=tree, **more
    )


def trace(commit: str | None = None) -> Trace:
    """A Trace of the small tree's own names."""
    mini = TreeInfo("mini", "2.99.0", ("checkout",), commit, "version-skew")
    kernel = Hop(3, "kernel", "at::native::blend_kernel", "observed", ref(4), key="CPU")
    cut = Hop(
        4,
        "impl",
        "at::native::[bold]hidden\x1b[31m",
        "cut",
        ref(None, precision="unknown", reason=Said("no such name")),
    )
    several = ref(None, precision="ambiguous", reason=Said("2 candidates"), candidates=(ref(4), ref(5)))
    other = Hop(5, "impl", "at::native::choose", "derived", several)
    op = Hop(2, "op", "aten::blend", "observed", ref(1, tree="gone"), op="aten::blend", children=(kernel, cut, other))
    return Trace("torch.blend(a)", (BoundName("a", "Tensor[3] float32 cpu"),), TorchInfo("2.99.0"), (mini,), Captured(),
                 ResultInfo(), (Finding("cut", Said("something was cut")),), (op,))  # fmt: skip


async def as_tree(app, pilot) -> None:
    """Wait for a Trace, and show all that it has."""
    await until(pilot, lambda: isinstance(app.screen, TraceScreen) and "blend_kernel" in screen(app))
    while app.screen.tree_of_hops.shown != "tree":
        await pilot.press("v")
    await until(pilot, lambda: app.screen.tree_of_hops.page.view == "tree" and "blend_kernel" in screen(app))


def test_a_trace_begins_with_its_path_and_the_source_follows_the_cursor(library, drive, data):
    async def reading(app, pilot):
        session = Session("torch.blend(a)", TorchInfo("2.99.0"), (), TraceOptions(), Captured(), ResultInfo(), ())
        ran = typed(TraceRequest(expression="torch.blend(a)"))
        app.post_message(OpenTrace(trace(), session, ran))
        await until(pilot, lambda: isinstance(app.screen, TraceScreen) and "blend_kernel" in screen(app))
        assert app.screen.tree_of_hops.page.view == "path"
        assert not app.screen.query_one("#beside").display
        await pilot.press("j", "j", "j")
        await until(pilot, lambda: app.screen.query_one("#beside").display and "void blend_kernel" in screen(app))
        assert app.screen.source.line == 4
        for view in ("modules", "operators", "copies", "tree", "path"):
            await pilot.press("v")
            await until(pilot, lambda view=view: app.screen.tree_of_hops.page.view == view)
        stepped = []
        library.trace = lambda run, job: stepped.append(run.request) or (trace("f00d"), None, None)
        app.screen.go_to(3)
        await pilot.press("y")
        await until(pilot, lambda: any("v2.99.0" in told.message for told in app._notifications) or
                    "permalink" in screen(app) or "not PyTorch" in screen(app))  # fmt: skip
        await pilot.press("N")
        await until(
            pilot, lambda: [(run.expression, run.native_op) for run in stepped] == [("torch.blend(a)", "blend#1")]
        )
        await until(pilot, lambda: app.screen.trace.trees[0].commit == "f00d", 20)
        await pilot.press("N")
        await until(pilot, lambda: "--native-op" in screen(app) or "put the cursor" in screen(app))

    drive("", reading, size=(150, 40))


def test_no_text_steers_the_screen_whoever_forgot_to_clean_it(drive):
    """What each line of every screen goes through, with a widget that cleans nothing."""

    async def reading(app, pilot):
        lines = [f"before {NASTY} after", "&#x202e; stays as written"]
        await app.screen.mount(Static(Content("\n".join(lines)), id="planted"))
        await until(pilot, lambda: "before" in screen(app))
        strips = app.screen.query_one("#planted").render_lines(Region(0, 0, 100, 2))
        drawn = "".join(segment.text for strip in strips for segment in strip)
        assert "after" in drawn
        assert "&#x202e; stays" in drawn
        assert not unsafe(drawn)

    drive("", reading)


def test_a_loaded_trace_never_runs_by_a_key(library, drive):
    """Its setup could be anybody's: N says which command shows all of it, and asks."""
    ran = []
    library.trace = lambda run, job: ran.append(run)
    library.run_command = lambda words, job: ran.append(words)
    options = TraceOptions(setup=("import os; os.system('id > /tmp/PWNED')",))

    async def reading(app, pilot):
        session = Session("torch.blend(a)", TorchInfo("2.99.0"), (), options, Captured(), ResultInfo(), ())
        app.post_message(OpenTrace(trace(), session))
        await as_tree(app, pilot)
        app.screen.go_to(3)
        for key in ("N", "enter", "f", "v", "L", "x", "escape", "T"):
            await pilot.press(key)
        app.screen.go_to(3)
        await pilot.press("N")
        await until(pilot, lambda: "--rerun" in screen(app))
        await pilot.pause(0.2)

    drive("", reading, size=(150, 40))
    assert ran == []


@pytest.mark.parametrize("agrees", [True, False])
def test_the_expression_of_a_page_runs_after_all_of_it_was_seen(library, drive, tmp_path, monkeypatch, agrees):
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path / "config"))
    text = '---\nfolder: aten\ntitle: "t"\nsummary: "s"\nbaseline: v2.6.0\ntry: torch.add(a, b)\n---\nWhat it is.\n'
    page, _ = parse(text.encode(), "notes/folders/map.md")
    ran = []
    library.trace = lambda run, job: ran.append(run.request.expression) or (trace(), None, run)

    async def reading(app, pilot):
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        app.post_message(TraceSuggested(replace(page, expression="torch.add(a, b)" + " + a" * 200)))
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("y")
        await pilot.pause(0.2)
        assert isinstance(app.screen, ConsentScreen), "the end was not on the screen yet"
        monkeypatch.setattr("ptexplore.tui.asking.SETTLED", 1000.0)
        await pilot.press(*["space"] * 30, "y")
        await until(pilot, lambda: "too soon" in screen(app))
        assert isinstance(app.screen, ConsentScreen), "pasted keys answer nothing"
        monkeypatch.setattr("ptexplore.tui.asking.SETTLED", 0.0)
        await pilot.press("y" if agrees else "enter")
        await until(pilot, lambda: not isinstance(app.screen, ConsentScreen))
        await pilot.pause(0.3)
        if agrees:  # the same content: no second question
            await until(pilot, lambda: len(ran) == 1)
            app.post_message(TraceSuggested(page))
            await until(pilot, lambda: len(ran) == 2)

    drive("", reading, size=(60, 12))
    assert len(ran) == (2 if agrees else 0)


def test_a_key_that_was_typed_before_the_question_is_no_answer(library, drive, tmp_path, monkeypatch):
    """Short code is on the screen at once: what was typed ahead arrives in the moment in which it comes."""
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setattr("ptexplore.tui.asking.SETTLED", 1000.0)  # however slow this machine is
    text = '---\nfolder: aten\ntitle: "t"\nsummary: "s"\nbaseline: v2.6.0\ntry: torch.add(a, b)\n---\nWhat it is.\n'
    page, _ = parse(text.encode(), "notes/folders/map.md")
    ran = []
    library.trace = lambda run, job: ran.append(run) or (trace(), None, run)

    async def reading(app, pilot):
        app.post_message(TraceSuggested(page))
        await pilot.press(*"yyyy")
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("y")
        await until(pilot, lambda: "torch.add(a, b)" in screen(app))
        assert isinstance(app.screen, ConsentScreen)
        await pilot.press("n")
        await pilot.pause(0.3)

    drive("", reading)
    assert ran == []


def test_the_page_of_a_folder_begins_with_its_first_line_even_if_the_first_link_is_below_the_screen(library, tmp_path):
    (tmp_path / "notes" / "folders").mkdir(parents=True)
    text = "\n\n".join(f"Paragraph {number} says what the folder is for." for number in range(30))
    head = "---\nfolder: aten/src/ATen/native\ntitle: t\nsummary: s\nbaseline: v2.6.0\n---\n"
    page = f"{head}The very first line.\n\n{text}\n\n## Start here\n\n1. `Blend.cpp`: it blends.\n"
    (tmp_path / "notes" / "folders" / "native.md").write_text(page)
    with_notes(library, tmp_path / "notes")

    app = Browser(library, lambda _: Start("folder", "aten/src/ATen/native", tree="mini"))

    async def main():
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "Paragraph 1" in screen(app))
            await pilot.resize_terminal(84, 24)  # the page is laid out anew, also when the notes are read
            await pilot.pause(0.3)
            assert "The very first line." in screen(app)
            await pilot.press("down")
            await until(pilot, lambda: "it blends" in screen(app))

    pictures.played(main())


@pytest.mark.parametrize("size", [(80, 24), (60, 12), (80, 7), (120, 40)])
@pytest.mark.parametrize("length", [10, 250, 3000])
def test_a_name_of_any_length_leaves_the_code_on_the_screen(drive, size, length):
    """`y` is a yes only where the last line is on the screen: a long name, or a low screen, may not hide it."""
    answers = []

    async def reading(app, pilot):
        code = [f"line {number}" for number in range(30)] + ["the_last_line()"]
        app.push_screen(ConsentScreen("n/" * (length // 2), code), answers.append)
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen) and app.screen.query("#left"))
        app.screen.action_agree()
        assert not answers
        for _ in range(40):
            app.screen.action_further()
            await pilot.pause()
        app.screen._look()
        if app.screen._read_at is not None:
            await until(pilot, lambda: "the_last_line()" in screen(app))
        else:
            assert size[1] < 10
        app.screen.dismiss(False)
        await pilot.pause()

    drive("", reading, size=size)


def test_a_hostile_program_is_only_text_in_every_view(drive):
    """A recorded program with an escape, bidi and markup in every text, as if no reader had cleaned it."""
    recorded, _ = trace_from_json(json.dumps(of_program()).encode(), "x")
    hostile = spoilt(recorded, f"{NASTY}[bold]x[/bold]")
    seen = []

    async def reading(app, pilot):
        app.post_message(OpenTrace(hostile))
        await until(pilot, lambda: isinstance(app.screen, TraceScreen) and "[bold]x[/bold]" in screen(app))
        while (view := app.screen.tree_of_hops.page.view) not in seen:
            seen.append(view)
            await pilot.press("f", *"jjj")
            assert "[bold]x" in screen(app)
            assert not unsafe(screen(app)), view
            await pilot.press("v")
            await until(pilot, lambda view=view: app.screen.tree_of_hops.page.view != view)

    drive("", reading, size=(200, 40))
    assert seen[0] == "modules"
    assert len(seen) >= 3


def keys(app):
    """What the keys at the foot do."""
    return [key.description for key in app.screen.query(FooterKey)]


@pytest.mark.words
def test_a_trace_opens_the_source_of_its_rows_and_says_why_not(library, drive, data):
    async def reading(app, pilot):
        app.post_message(OpenTrace(trace()))
        await as_tree(app, pilot)
        shown = screen(app)
        for part in ("torch.blend(a)", "! cut: something was cut", "cut  [4]  unknown (no such name)", "[bold]hidden",
                     f"can be {KERNEL}:5", "derived"):  # fmt: skip
            assert part in shown, part
        assert "\x1b" not in shown
        await pilot.press("j", "enter")
        await until(pilot, lambda: "is in gone, which is not here" in screen(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.reader.place is not None)
        assert (app.reader.place.path, app.reader.place.line) == (KERNEL, 4)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, TraceScreen))
        await until(pilot, lambda: keys(app)[-1:] == ["Keys"] and "Scroll the stop" not in keys(app))
        await pilot.press("ctrl+o")  # the place before the Trace: the map, from which it was opened
        await until(pilot, lambda: app.screen is app.reader and app.reader.place.path == "")
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, TraceScreen))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.reader and app.reader.place.path == KERNEL)
        for key in ("T", "ctrl+o"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, TraceScreen))
            assert app.screen.tree_of_hops.cursor_node.data.row.hop == 3, "where it was left"
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.reader)
        await until(pilot, lambda: "hop 3" in screen(app) and "ran in torch.blend(a)" in screen(app))
        app.get_screen("last_trace").tree_of_hops.move_cursor_to_line(0)
        symbol = app.reader.symbol
        symbol.focus()
        symbol.highlighted = next(n for n, one in enumerate(symbol.options) if str(one.prompt).startswith("hop 3"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TraceScreen))
        await until(pilot, lambda: (at := app.screen.tree_of_hops.cursor_node.data) and at.row and at.row.hop == 3)
        app.post_message(OpenTrace(trace("f00d")))  # the same tree at another commit: its lines are not ours
        await until(pilot, lambda: app.screen.trace.trees[0].commit == "f00d")
        await as_tree(app, pilot)
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: "line 4 is a different line there" in screen(app))

    drive("", reading)


def test_of_a_path_that_is_too_long_the_end_is_shown(library, drive, data):
    async def reading(app, pilot):
        app.post_message(OpenTrace(trace()))
        await as_tree(app, pilot)
        row = next(text for text in screen(app).split("\n") if "blend_kernel " in text)
        assert re.search(r" …[\w/]+/BlendKernel\.cpp:4  version-skew", row), row

    drive("", reading, size=(100, 30))


def test_a_release_without_a_commit_of_its_own_is_the_tree_that_its_trace_names(library, drive):
    """A Trace names the commit of the release; what was fetched as an archive knows only which release it is."""
    release, (one,) = releases()[0], library.trees
    tree = replace(one.tree, info=replace(one.tree.info, version=release.version))
    checkout = replace(one.checkout, kind="archive", release=release.version)
    library.trees = [IndexedTree(tree, one.store, checkout)]

    async def reading(app, pilot):
        for commit, opens in (("f00d", False), (release.commit, True)):
            known = (replace(tree.info, commit=commit),)
            app.post_message(OpenTrace(replace(trace(), trees=known)))
            await until(pilot, lambda known=known: isinstance(app.screen, TraceScreen)
                        and app.screen.trace.trees == known)  # fmt: skip
            await as_tree(app, pilot)
            await pilot.press("j", "j", "enter")
            if opens:
                await until(pilot, lambda: app.reader.place is not None)
            else:
                await until(pilot, lambda: f"{release.version} (f00d), but" in screen(app))
        assert (app.reader.place.path, app.reader.place.line) == (KERNEL, 4)

    drive("", reading)


def test_without_a_catalogue_a_card_says_so(library, drive, monkeypatch, data):
    from ptexplore.errors import PtexploreError
    from ptexplore.tui.messages import OpenOperator, OpenPlace
    from ptexplore.tui.places import CARD, Place
    from ptexplore.tui.screens.card import CardScreen

    def card(name: str, job: object) -> None:
        raise PtexploreError(f"there is no operator {name}", "the closest are aten::mix")

    async def reading(app, pilot):
        app.post_message(OpenOperator("aten::blend"))
        await until(pilot, lambda: "there is no operator aten::blend: the closest are aten::mix" in screen(app))
        # A place that a card led to: going back leads to the card, then to where the reader was before.
        app.post_message(OpenPlace(Place("mini", KERNEL, 4), Place("", "aten::blend", CARD)))
        await until(pilot, lambda: app.screen is app.reader and app.reader.place.path == KERNEL)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, CardScreen))
        await pilot.press("escape", "ctrl+o")
        await until(pilot, lambda: app.screen is app.reader and app.reader.place.path == "")

    monkeypatch.setattr(library, "card", card)
    drive("", reading)


@pytest.mark.parametrize(
    ("target", "shown"), [(None, "PyTorch, from Python to the machine"), ("blending", "How things are blended")]
)
def test_a_page_is_read_while_the_index_is_built(toured: Library, target: str | None, shown: str) -> None:
    trees, built = toured.trees, Event()
    empty = replace(toured, trees=[])

    def build(job: Job) -> Sequence[IndexedTree]:
        job.step("runtime: reading 9 files: 45%")
        assert built.wait(60)
        return trees

    empty.build_indexes = build
    app = Browser(empty, lambda _: Start(), ("runtime",), target)

    async def reading() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "reading 9 files: 45%" in screen(app))
            assert shown in screen(app)
            await pilot.press("ctrl+p", "H", "x", "T")  # they need an index
            assert isinstance(app.screen, Building)
            built.set()
            await until(pilot, lambda: app.screen is app.reader)
            await pilot.press("ctrl+p", *"bl_k")
            await until(pilot, lambda: "blend_kernel" in screen(app))

    pictures.played(reading())


def test_indexing_that_failed_says_why_and_can_be_tried_again(library: Library) -> None:
    trees, tried = library.trees, list[int]()
    empty = replace(library, trees=[])

    def build(_job: Job) -> Sequence[IndexedTree]:
        tried.append(1)
        if len(tried) == 1:
            raise PtexploreError("the disk is full", "no room", "make room")
        return trees

    empty.build_indexes = build
    app = Browser(empty, lambda _: Start(), ("runtime",))

    async def reading() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "try: make room" in screen(app) and "Enter: index again" in screen(app))
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is app.reader)

    pictures.played(reading())


def test_a_page_that_was_scrolled_stays_when_the_index_is_ready(toured: Library) -> None:
    trees, built = toured.trees, Event()
    empty = replace(toured, trees=[])

    def build(_job: Job) -> Sequence[IndexedTree]:
        assert built.wait(60)
        return trees

    empty.build_indexes = build
    app = Browser(empty, lambda _: Start(), ("runtime",), "blending")

    async def reading() -> None:
        async with app.run_test(size=(80, 12)) as pilot:
            await until(pilot, lambda: "How things are blended" in screen(app))
            assert "indexing the installed torch" in screen(app)
            await until(pilot, lambda: app.screen.query_one("VerticalScroll").max_scroll_y > 0)
            await pilot.press("pagedown")
            await until(pilot, lambda: app.screen.query_one("VerticalScroll").scroll_y > 0)
            before = app.screen.query_one("VerticalScroll").scroll_y
            built.set()
            await until(pilot, lambda: "the index is ready. Enter: go on" in screen(app))
            await pilot.press("escape")
            assert app.screen.query_one("VerticalScroll").scroll_y == before, "Esc loses no place"
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is app.reader)
            assert app.library.trees == trees

    pictures.played(reading())


def test_a_picture_wider_than_its_pane_is_shown_over_the_whole_screen(library, tmp_path, data):
    wide = " ".join(f"column{n:02}" for n in range(11))  # 98 columns
    folder = tmp_path / "pictured"
    folder.mkdir()
    (folder / "blending.md").write_text(f"{NOTE}\n```text\n┌──┐\n{wide}\n```\n", encoding="utf-8")
    pictured = with_notes(library, folder)

    def walk(size: tuple[int, int], reading) -> None:
        app = Browser(pictured, lambda _: Start("tour", "blending"))

        async def main() -> None:
            async with app.run_test(size=size) as pilot:
                await until(pilot, lambda: "┌──┐" in screen(app))
                await reading(app, pilot)

        pictures.played(main())

    async def cut(app, pilot) -> None:
        await until(pilot, lambda: "wider than this pane: P shows all of it" in screen(app))
        assert "column10" not in screen(app)
        await pilot.press("P")
        await until(pilot, lambda: "back to the stop" in screen(app))
        if app.size.width < 98:
            await pilot.press(*"lllll")
        await until(pilot, lambda: "column10" in screen(app))
        stop = app.touring.walk.number
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.reader)
        assert app.touring.walk.number == stop, "Esc closed the picture alone"

    async def whole(app, pilot) -> None:
        await until(pilot, lambda: wide in screen(app))
        await until(pilot, lambda: "P shows all of it" not in screen(app))
        await pilot.press("P")
        assert app.screen is app.reader

    walk((80, 24), cut)
    walk((160, 50), cut)
    walk((109, 40), whole)


def test_on_a_small_screen_the_text_of_a_stop_has_half_of_it_also_without_a_source(toured: Library) -> None:
    app = Browser(toured, lambda _: Start("tour", "blending"))

    async def reading() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            for number in range(1, 5):
                await until(pilot, lambda n=number: f"{n}/4 " in notes(app))
                await until(pilot, lambda: app.reader.notes.region.height >= 3 + 24 // 2)
                head = app.reader.notes._head.region
                lines = (4, 4, 3, 6)[number - 1]  # two are not pinned, and the last one names two places
                assert head.height <= lines, number
                await pilot.press("greater_than_sign")

    pictures.played(reading())


def test_leaving_a_tour_at_a_stop_without_a_source_leaves_nothing_of_it(toured: Library) -> None:
    tour = toured.notes.tours["blending"]
    (gone,) = (stop.id for stop in tour.stops if stop.title == "Nowhere to be found")
    app = Browser(toured, lambda _: Start("tour", "blending", stop=gone))

    async def reading() -> None:
        async with app.run_test(size=(160, 40)) as pilot:
            await until(pilot, lambda: "3/4 Nowhere to be found" in notes(app))
            assert screen(app).strip().startswith(tour.title), "no file is open"
            assert "stop 3 is lost" in screen(app)
            assert "the file below" not in screen(app)
            assert not app.reader.files.display
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.touring.walk is None)
            await until(pilot, lambda: "Nowhere" not in screen(app) and "is lost" not in screen(app))
            assert app.reader.files.display

    pictures.played(reading())
