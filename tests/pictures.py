"""Pictures of the screens of `browse`, on the small tree of our own: docs/ shows them, and a test compares them."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from textual.pilot import Pilot

from ptexplore.annotations.concepts import load_path
from ptexplore.annotations.folders import load_folders
from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import NoteLibrary as Notes
from ptexplore.annotations.load import load
from ptexplore.annotations.marks import marks
from ptexplore.annotations.topics import topics
from ptexplore.cli.background import run_child
from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.places import Checkout
from ptexplore.render.terminal.pager import open_in_editor
from ptexplore.source.listing import files_of
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore
from ptexplore.tui.app import Browser, Start
from ptexplore.tui.library import Library
from ptexplore.tui.messages import OpenTour
from ptexplore.tui.places import Place
from ptexplore.workspace.workspace import Workspace
from tests import searched_source

ROOT = Path(__file__).resolve().parent.parent
TOURS = ROOT / "tests/data/tours"
SIZE = (124, 34)
FONTS = "ui-monospace, DejaVu Sans Mono, Menlo, Consolas"
T = TypeVar("T")
Reading = Callable[[Browser, "Pilot[None]"], Awaitable[None]]
_TEXT = re.compile(r'<text class="[^"]*" x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]*)</text>')


class WithoutOperators(Library):
    """Else a search would have the real torch's operators collected, in a process of its own and the user's cache."""

    @property
    def lacks_operators(self) -> bool:
        return False


def small_library(folder: Path) -> Library:
    """The small tree with the small tour, indexed below `folder`."""
    root = searched_source.write(folder / "mini")
    checkout = Checkout("mini", "folder", str(root), str(root), version="2.99.0")
    build(IndexInput("mini", str(root), files_of(checkout)), folder / "mini.sqlite", jobs=1)
    return library_over(folder, TOURS)


def library_over(folder: Path, notes_dir: Path) -> Library:
    """What the screens read: the small tree that is indexed below `folder`, and the notes of a folder."""
    root = folder / "mini"
    checkout = Checkout("mini", "folder", str(root), str(root), version="2.99.0")
    trees = [IndexedTree(checkout_tree(checkout), IndexStore.open(folder / "mini.sqlite"), checkout)]
    notes = load(layers([str(notes_dir)], shipped=False))
    workspace = Workspace()
    workspace.catalogue_at_hand = lambda trees: None  # type: ignore[method-assign]
    return with_notes(WithoutOperators(workspace, trees, run_child, open_in_editor, "2.13.0"), notes)


def with_notes(library: Library, notes: Notes) -> Library:
    """The same with these notes alone, placed anew each time."""
    library.workspace.library = notes
    library.workspace.folder_pages = load_folders(notes.layers)
    library.workspace.topics = topics(notes, load_path(notes), library.workspace.folder_pages)
    library.workspace.marks = lambda trees: {  # type: ignore[method-assign]
        indexed.tree.info.name: marks(notes, indexed.tree, indexed.store) for indexed in trees
    }
    return library


def picture(library: Library, reading: Reading, start: Start | None = None) -> str:
    """The screen as an SVG once a reader did something."""
    app = Browser(library, lambda _: start or Start())

    async def main() -> str:
        async with app.run_test(size=SIZE) as pilot:
            # A busy machine has the parts of a screen later than the screen.
            await until(pilot, lambda: app.reader.is_mounted and len(app.reader.query("#notice, #crumb, #status")) == 3)
            await reading(app, pilot)
            svg, before = "", ["nothing yet"]
            while texts(svg) != before:  # a busy machine draws what is at the edge later
                before = texts(svg)
                await pilot.pause(0.4)
                svg = app.export_screenshot(title="ptexplore browse")
            return re.sub(
                r"Fira Code", FONTS, re.sub(r"@font-face\s*\{[^}]*\}\s*", "", svg)
            )  # nothing from the network

    return played(main())


def played(session: Coroutine[Any, Any, T]) -> T:
    """What a session of a reader returns, played in a thread of its own.

    Playwright, once a test of the same process started it, keeps an event loop running in the main thread, and a thread
    bears one. The main thread can give the session up: `tests.hanging.ends` around this call does.
    """
    outcome: Future[T] = Future()

    def play() -> None:
        try:
            outcome.set_result(asyncio.run(session))
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=play, daemon=True).start()
    return outcome.result()


async def until(pilot: Pilot[None], ready: Callable[[], Any], seconds: float = 30) -> None:
    """Wait; fails where it never comes."""
    for _ in range(int(seconds * 20)):
        if ready():
            return
        await pilot.pause(0.05)
    raise AssertionError("the screen never came to what was waited for")


# --- the screens ---


async def tour(app: Browser, pilot: Pilot[None]) -> None:
    """A stop of a tour, its source beside it."""
    app.post_message(OpenTour("blending", "token"))
    await until(pilot, lambda: app.reader.source.file is not None and app.reader.source.file.parsed)


async def symbol(app: Browser, pilot: Pilot[None]) -> None:
    """A file, and what is known of the name under the cursor."""
    app.reader.go(Place("mini", "aten/src/ATen/native/Mix.cpp", 11, 4))
    await until(pilot, lambda: "called by" in str([one.prompt for one in app.reader.symbol.options]))


async def search(app: Browser, pilot: Pilot[None]) -> None:
    """What is found of a word."""
    await pilot.press("escape", "ctrl+p", *"mix")
    await until(pilot, lambda: app.screen.query_one("#found").option_count > 5)  # type: ignore[attr-defined]


SMALL: dict[str, Reading] = {"browse-tour": tour, "browse-symbol": symbol, "browse-search": search}


def texts(svg: str) -> list[str]:
    """What can be read in a picture, row by row: fonts, colours and ids are nobody's concern here."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for x, y, text in _TEXT.findall(svg):
        rows.setdefault(float(y), []).append((float(x), html.unescape(text).replace("\xa0", " ")))
    joined = (" ".join(text.strip() for _x, text in sorted(row)) for _y, row in sorted(rows.items()))
    return [" ".join(row.split()) for row in joined if row.strip()]
