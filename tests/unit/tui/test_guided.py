"""What leads a reader: home, a tour to its end, search, cards of places, labs that pass, hang, are not trusted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.annotations.load import layers, load
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.trace import BoundName, Captured, Finding, Hop, ResultInfo, TorchInfo, Trail
from ptexplore.source.fetch.releases import releases
from ptexplore.tui.app import Browser, Start
from ptexplore.tui.library import Library
from ptexplore.tui.messages import OpenTrail
from ptexplore.tui.places import load_recent
from ptexplore.tui.screens.home import Home
from ptexplore.tui.screens.palette import Palette
from ptexplore.tui.screens.trail import TrailScreen
from ptexplore.tui.touring import TourContents
from ptexplore.view.trees import IndexedTree
from tests import pictures
from tests.harness import REPOSITORY
from tests.unit.tui.conftest import KERNEL
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
                     "mini 2.99.0  checkout:", "another version than the installed torch"):  # fmt: skip
            assert part in shown, part
        await pilot.press("tab", "enter")
        await until(pilot, lambda: app.touring.walk is not None and app.reader.place is not None)
        assert app.reader.place.path.endswith("native_functions.yaml")
        await noted(app, pilot, "a token (stop 2) comes later", "not pinned")
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: app.reader.place.path == MIX)
        here = app.reader.place
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "stop 3 is lost: what is open below is not its source" in screen(app))
        await noted(app, pilot, "3/4 Nowhere to be found", "Prose that is read all the same.")
        assert app.reader.place == here, "no other source is shown for it"
        await pilot.press("greater_than_sign")
        lines = [n for n, line in enumerate(app.reader.source.file.raw, 1) if "int choose(" in line]
        assert len(lines) == 2
        await noted(app, pilot, "4/4 Two of one name", *(f"may be {MIX}:{line}" for line in lines))
        await pilot.press("less_than_sign", "greater_than_sign", "c")
        await until(pilot, lambda: isinstance(app.screen, TourContents))
        await until(pilot, lambda: "✓  1  The entry" in screen(app))
        await pilot.press("escape", "greater_than_sign")
        await until(pilot, lambda: "that was the last stop" in screen(app))
        assert app.touring.walk is None

    drive("", reading, size=(170, 45))
    kept = json.loads((data / "progress.json").read_text())
    assert kept["done"] == [f"blending#{name}" for name in ("both", "entry", "gone", "token")]


def test_search_opens_what_is_chosen_and_the_place_is_remembered(toured, drive, data):
    async def reading(app, pilot):
        await pilot.press("escape", "ctrl+p", *"bl_k")
        await until(pilot, lambda: "at::native::blend_kernel(" in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.reader.place is not None and app.reader.place.path == KERNEL)
        await pilot.press("ctrl+p", *"/Mix")
        await until(pilot, lambda: f"{MIX}" in screen(app))
        await until(pilot, lambda: "symbols @  operators %" in screen(app))
        await pilot.press("tab")  # the next sort of the same words: notes
        assert app.screen.query_one("Input").value == "?Mix"
        app.screen.query_one("Input").value = "=native/cpu"
        await until(pilot, lambda: "aten/src/ATen/native/cpu" in screen(app))
        app.screen.query_one("Input").value = '"turn(int'
        await until(pilot, lambda: "virtual int turn(int a)" in screen(app))
        app.screen.query_one("Input").value = "no_such_thing_at_all"
        await until(pilot, lambda: "nothing fits" in screen(app))
        assert isinstance(app.screen, Palette)
        app.screen.query_one("Input").value = "native/cpu"
        await until(pilot, lambda: "best" in screen(app) or "native/cpu  folder" in screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.reader.place is not None and app.reader.place.path == "aten/src/ATen/native/cpu")
        await until(pilot, lambda: bool(load_recent()))

    drive("", reading)
    assert [(one.path, one.line, one.symbol) for one in load_recent()] == [(KERNEL, 4, "at::native::blend_kernel")]


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


# --- trails ---


def ref(line: int | None, tree: str = "mini", **more: object) -> SourceRef:
    return SourceRef(
        KERNEL if line else None, line, "checkout", more.pop("precision", "version-skew"), tree=tree, **more
    )


def trail(commit: str | None = None) -> Trail:
    """A Trail of the small tree's own names."""
    mini = TreeInfo("mini", "2.99.0", ("checkout",), commit, "version-skew")
    kernel = Hop(3, "kernel", "at::native::blend_kernel", "observed", ref(4), key="CPU")
    cut = Hop(
        4, "impl", "at::native::[bold]hidden\x1b[31m", "cut", ref(None, precision="unknown", reason="no such name")
    )
    other = Hop(5, "impl", "at::native::choose", "derived", ref(None, precision="ambiguous", reason="2 candidates",
                candidates=(ref(4), ref(5))))  # fmt: skip
    op = Hop(2, "op", "aten::blend", "observed", ref(1, tree="gone"), op="aten::blend", children=(kernel, cut, other))
    return Trail("torch.blend(a)", (BoundName("a", "Tensor[3] float32 cpu"),), TorchInfo("2.99.0"), (mini,), Captured(),
                 ResultInfo(), (Finding("cut", "something was cut"),), (op,))  # fmt: skip


def test_a_trail_opens_the_source_of_its_rows_and_says_why_not(library, drive, data):
    async def reading(app, pilot):
        app.post_message(OpenTrail(trail()))
        await until(pilot, lambda: isinstance(app.screen, TrailScreen) and "blend_kernel" in screen(app))
        shown = screen(app)
        for part in ("torch.blend(a)", "! cut: something was cut", "cut  [4]  unknown (no such name)", "[bold]hidden",
                     f"can be {KERNEL}:5", "derived"):  # fmt: skip
            assert part in shown, part
        assert "\x1b" not in shown
        await pilot.press("j", "enter")
        await until(pilot, lambda: "is in gone, which is not at hand" in screen(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.reader.place is not None)
        assert (app.reader.place.path, app.reader.place.line) == (KERNEL, 4)
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, TrailScreen))
        assert app.screen.tree_of_hops.cursor_node.data.row.hop == 3, "where it was left"
        app.post_message(OpenTrail(trail("f00d")))  # the same tree at another commit: its lines are not ours
        await until(pilot, lambda: app.screen.trail.trees[0].commit == "f00d")
        await until(pilot, lambda: "blend_kernel" in screen(app))
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: "line 4 is another one there" in screen(app))

    drive("", reading)


def test_a_release_without_a_commit_of_its_own_is_the_tree_that_its_trail_names(library, drive):
    """A Trail names the commit of the release; what was fetched as an archive knows only which release it is."""
    release, (one,) = releases()[0], library.trees
    tree = replace(one.tree, info=replace(one.tree.info, version=release.version))
    checkout = replace(one.checkout, kind="archive", release=release.version)
    library.trees = [IndexedTree(tree, one.store, checkout)]

    async def reading(app, pilot):
        for commit, opens in (("f00d", False), (release.commit, True)):
            known = (replace(tree.info, commit=commit),)
            app.post_message(OpenTrail(replace(trail(), trees=known)))
            await until(pilot, lambda known=known: isinstance(app.screen, TrailScreen)
                        and app.screen.trail.trees == known)  # fmt: skip
            await until(pilot, lambda: "blend_kernel" in screen(app))
            await pilot.press("j", "j", "enter")
            if opens:
                await until(pilot, lambda: app.reader.place is not None)
            else:
                await until(pilot, lambda: f"{release.version} (f00d), and" in screen(app))
        assert (app.reader.place.path, app.reader.place.line) == (KERNEL, 4)

    drive("", reading)


def test_without_a_catalogue_a_card_says_so(library, drive, monkeypatch, data):
    from ptexplore.errors import PtexploreError
    from ptexplore.tui.messages import OpenOperator

    def card(name: str, job: object) -> None:
        raise PtexploreError(f"there is no operator {name}", "the closest are aten::mix")

    async def reading(app, pilot):
        app.post_message(OpenOperator("aten::blend"))
        await until(pilot, lambda: "there is no operator aten::blend: the closest are aten::mix" in screen(app))

    monkeypatch.setattr(library, "card", card)
    drive("", reading)


def test_what_is_indexed_on_the_screen_is_found_there(library: Library) -> None:
    trees = library.trees
    empty = replace(library, trees=[])
    empty.build_indexes = lambda _job: trees
    app = Browser(empty, lambda _: Start(), missing=("runtime",))

    async def reading() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press("ctrl+p", *"bl_k")
            await until(pilot, lambda: "no source is indexed" in screen(app))
            await pilot.press("escape", "enter")
            await until(pilot, lambda: app.screen is app.reader or isinstance(app.screen, Home))
            await pilot.press("ctrl+p", *"bl_k")
            await until(pilot, lambda: "blend_kernel" in screen(app))

    pictures.played(reading())
