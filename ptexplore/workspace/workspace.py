"""The workspace: what every front end asks, over one installed torch and the source in use.

A workspace opens a cache when a question first needs it, and builds what is missing. It prints nothing: who makes one
hands in what shows progress and what tells the user of something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING
from weakref import WeakSet

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.lazy import lazy_in_threads
from ptexplore.locations import survey_dir
from ptexplore.lookup.operators import Catalogue
from ptexplore.lookup.trees import IndexedTree, Spot, project
from ptexplore.model.places import Checkout, Runtime, SourceRef
from ptexplore.source.fetch import checkouts
from ptexplore.source.fetch.checkouts import CheckoutChoice, is_in_place
from ptexplore.source.fetch.project_file import find_project
from ptexplore.source.progress import Watcher
from ptexplore.source.runtime import describe, generated
from ptexplore.source.tree import SourceTree, runtime_tree
from ptexplore.store.catalogue.reader import Store
from ptexplore.store.index.reader import IndexStore
from ptexplore.workspace.opening import (
    DAMAGED,
    InstalledTorch,
    Watch,
    check_cache,
    compared_checkouts,
    fresh_index,
    is_at_hand,
    open_catalogue,
    open_index,
    open_installed,
    open_lookup,
    open_tree,
    refresh,
    unwatched,
)

if TYPE_CHECKING:
    from ptexplore.annotations.about import MarksByTree
    from ptexplore.annotations.folders import FolderPages
    from ptexplore.annotations.layers import Layer
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.annotations.records import Lab, Stop, Tour, UnreadNotes
    from ptexplore.annotations.topics import Topic
    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.capture.own_process import RecordedBlock
    from ptexplore.lookup.callers import CallersView
    from ptexplore.lookup.find import FindView
    from ptexplore.lookup.gathering import SearchedNotes
    from ptexplore.lookup.refs import RefsView
    from ptexplore.model.trace import Session, Trail
    from ptexplore.resolve.error_message import ErrorMessage
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.source.fetch.install import FetchOutcome, Request
    from ptexplore.view.card import Card
    from ptexplore.view.health import Health
    from ptexplore.view.new_note import NewNote
    from ptexplore.view.notes.check import CheckView
    from ptexplore.view.notes.codetour import Exported
    from ptexplore.view.notes.folder import FolderView
    from ptexplore.view.notes.labs import LabResult
    from ptexplore.view.notes.tour import Guide
    from ptexplore.view.search.show import ShowView
    from ptexplore.view.survey import Folder, Report
    from ptexplore.workspace.anchor_pins import PinPlan
    from ptexplore.workspace.index_runs import IndexRequest, IndexRun
    from ptexplore.workspace.site_contents import SiteContents
    from ptexplore.workspace.survey import Counting, SurveyRequest


def _ignore(event: object) -> None:
    del event


class Workspace:
    """One installed torch and the source in use; a context manager that closes what it opened.

    `python` is a Python whose torch is looked at (None: our own), `tree` the one tree to look into (a checkout's name,
    or "runtime"; None: all in use), `notes` folders of notes over the shipped ones. `watch` shows progress under a
    title, `notice` tells the user of something that is not an error. Several threads may ask one workspace. It
    opens a catalogue or an index for all of them, and closes one that nobody holds any longer. Raises PtexploreError
    if the cache belongs to somebody else.
    """

    def __init__(
        self,
        python: str | None = None,
        tree: str | None = None,
        *,
        notes: Sequence[str] = (),
        watch: Watch = unwatched,
        notice: Callable[[str], None] = _ignore,
    ) -> None:
        check_cache()
        self.python = python
        self.tree = tree
        self.notes = tuple(notes)
        self.watch = watch
        self.notice = notice
        self._kept_back: set[UnreadNotes] = set()  # files of notes, of which each is told once
        self._no_runtime: PtexploreError | None = None
        self.guard = RLock()  # of what is opened once
        self._opened: WeakSet[IndexStore | Store] = WeakSet()  # what nobody holds any longer has closed itself

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every catalogue and index that was opened. What was answered stays good; ask nothing more."""
        with self.guard:
            while self._opened:
                self._opened.pop().close()

    def apart(self) -> Workspace:
        """A workspace of the same torch and source with connections of its own: for a thread or another process."""
        return Workspace(self.python, self.tree, notes=self.notes)

    # --- what is there ---

    @lazy_in_threads
    def runtime(self) -> Runtime:
        """The installed torch, described once: that reads every file that its generated C++ depends on.

        Raises PtexploreError if `python` is no Python or has no torch.
        """
        if self._no_runtime is not None:
            raise self._no_runtime
        try:
            return describe.find_runtime(self.python)
        except PtexploreError as error:
            self._no_runtime = error
            raise

    @property
    def runtime_if_any(self) -> Runtime | None:
        """The installed torch; None if our own Python has none. Raises PtexploreError if `python` was named."""
        try:
            return self.runtime
        except PtexploreError:
            if self.python is not None:
                raise
            return None

    @lazy_in_threads
    def torch(self) -> InstalledTorch:
        """The installed torch with its tree and catalogue, built now if they are missing. Raises PtexploreError."""
        torch = open_installed(self.runtime, self.watch)
        self._opened.add(torch.catalogue)
        return torch

    def sources(self, *, needed: bool = True) -> tuple[Runtime | None, list[Checkout]]:
        """The installed torch, if there is one, and the checkouts to look into, the one in use first.

        Raises PtexploreError if `python` was named and has no torch, or if something is `needed` and nothing is there.
        """
        runtime = self.runtime_if_any
        chosen = checkouts.current(runtime)
        in_use = [*([chosen] if chosen is not None else []), *checkouts.extensions()]
        if needed and runtime is None and not in_use:
            return self.runtime, []  # raises: it says what is missing
        return runtime, in_use

    def choice(self) -> CheckoutChoice:
        """Which of PyTorch's checkouts is in use, and why; that can be told without any torch, too."""
        try:
            runtime = self.runtime
        except PtexploreError:
            return checkouts.choose(None)
        return checkouts.choose(runtime)

    # --- trees with their indexes ---

    @lazy_in_threads
    def trees(self) -> list[IndexedTree]:
        """The trees to search, the one in use first: the checkout, extensions' own sources, the installed text.

        What has no index yet gets one, with progress, and damaged generated files are made anew; an index that is
        there is read as it is (`ptexplore index` refreshes). Raises PtexploreError if there is nothing to search,
        nothing is called `tree`, or an index cannot be built.
        """
        return self.open_trees(self.tree)

    def open_trees(self, only: str | None = None) -> list[IndexedTree]:
        """As `trees`, opened once more; `only` names one of them."""
        runtime, named = self._named()
        if only is not None and only not in named:
            why = f"searched are {', '.join(named)}"
            raise PtexploreError(f"there is no tree {only} in use", why, "ptexplore fetch --list", USAGE)
        wanted = [source for name, source in named.items() if only in (None, name)]
        missing = [source for source in wanted if not is_at_hand(source)]
        if missing:
            is_damaged = all(open_index(source) is not None for source in missing)
            why = DAMAGED if is_damaged else "first use of this source: indexing it"
            with self.watch(why) as progress:
                for source in missing:
                    refresh(source, runtime, progress)
        return self._keep([open_tree(source, runtime) for source in wanted])

    def trees_at_hand(self) -> tuple[list[IndexedTree], list[str]]:
        """The trees that have an index already, and the names of those that have none; nothing is built.

        Raises PtexploreError as `trees` does.
        """
        runtime, named = self._named()
        missing = [name for name in named if self.tree in (None, name) and not is_at_hand(named[name])]
        if not missing:
            return self.trees, []
        wanted = [source for name, source in named.items() if self.tree in (None, name) and name not in missing]
        return self._keep([open_tree(source, runtime) for source in wanted]), missing

    @property
    def main_tree(self) -> IndexedTree:
        """The tree that anchors are placed on: the checkout in use, else the installed torch's own text, or `tree`.

        What has no index gets one; a folder used in place is read again if it changed. Raises as `trees` does.
        """
        runtime, in_use = self.sources()
        chosen = next((c for c in in_use if c.name == (self.tree or c.name) and c.project == "pytorch"), None)
        if chosen is not None and is_in_place(chosen):
            fresh_index(chosen, runtime, self.watch).close()
        return self.open_trees(self.tree or (chosen.name if chosen is not None else "runtime"))[0]

    def _named(self) -> tuple[Runtime | None, dict[str, Checkout | Runtime]]:
        runtime, in_use = self.sources()
        named: dict[str, Checkout | Runtime] = {checkout.name: checkout for checkout in in_use}
        return runtime, named | ({"runtime": runtime} if runtime is not None else {})

    def _keep(self, trees: list[IndexedTree]) -> list[IndexedTree]:
        with self.guard:
            self._opened.update(indexed.store for indexed in trees)
        return trees

    @property
    def catalogue(self) -> Catalogue | None:
        """The operators that the installed torch registered; None if that is not among the trees searched."""
        number = next((number for number, indexed in enumerate(self.trees) if indexed.checkout is None), None)
        return Catalogue(self.torch.catalogue, self.torch.tree, number) if number is not None else None

    def catalogue_at_hand(self, trees: Sequence[IndexedTree]) -> Catalogue | None:
        """The operators that the installed torch registered, if its catalogue is made already; torch does not start."""
        try:
            runtime = self.runtime
        except PtexploreError:
            return None
        catalogue = open_catalogue(runtime)
        if catalogue is None:
            return None
        with self.guard:
            self._opened.add(catalogue)
        number = next((number for number, indexed in enumerate(trees) if indexed.checkout is None), -1)
        folder = generated.find(runtime)
        if folder is None:  # it was there when the catalogue was made
            with self.watch(DAMAGED) as progress:
                folder = generated.ensure(runtime, progress)
        return Catalogue(catalogue, runtime_tree(runtime, folder), number)

    def locate(self, spot: Spot) -> tuple[str, int] | None:
        """The file and line on this machine of what a search found; None if its text is not here."""
        tree = next((indexed.tree for indexed in self.trees if indexed.tree.info.name == spot.tree.name), None)
        return tree.place_of(spot.ref.path, spot.ref.line or 1) if tree is not None and spot.ref.path else None

    # --- traces and operators ---

    @lazy_in_threads
    def lookup(self) -> Lookup:
        """Everything that can say where something stands, for Trails and cards. Raises PtexploreError."""
        lookup = open_lookup(self.torch, self.watch)
        sources = (*lookup.sources, *lookup.installed)
        self._opened.update(source.names for source in sources if isinstance(source.names, IndexStore))
        return lookup

    def place_of(self, ref: SourceRef) -> tuple[str, int] | None:
        """The file on this machine that a place in a Trail or on a card is in, and the line there."""
        return self.lookup.place_of(ref)

    def trace(self, run: AllowedRun) -> tuple[Trail, Session]:
        """Run an expression or a script that may run in a probe: what ran, with notes on it, and what the probe saw.

        Raises PtexploreError if it cannot be run, raises, dies or takes too long.
        """
        from ptexplore.capture.trace import capture, check
        from ptexplore.resolve.trail import resolve
        from ptexplore.view.notes.notes_about import with_notes
        from ptexplore.view.words.errors import in_words

        with in_words():
            check(run.request)  # before a first run is spent on it
        lookup = self.lookup
        with in_words():
            session = capture(run, self.torch.runtime, self.torch.catalogue.digests(), raising=True)
        return with_notes(resolve(session, lookup), self._marks_on_lookup()), session

    def resolve_block(self, recorded: RecordedBlock) -> tuple[Trail, Session]:
        """What ran in a block of the user's own process, with the notes on it, and what the recorder saw.

        Raises PtexploreError if another torch ran than the one looked at here.
        """
        from ptexplore.capture.own_process import session_of
        from ptexplore.resolve.trail import resolve
        from ptexplore.view.notes.notes_about import with_notes
        from ptexplore.view.words.errors import in_words

        with in_words():
            session = session_of(recorded, self.torch.runtime, self.torch.catalogue.digests())
        return with_notes(resolve(session, self.lookup), self._marks_on_lookup()), session

    def explain_error(self, text: str) -> ErrorMessage:
        """What the text of an error tells: all of a traceback, or the message alone; torch is not imported.

        Raises PtexploreError if it tells nothing that is known.
        """
        from ptexplore.resolve.error_message import LOOKED_FOR, read_message
        from ptexplore.view.error import error_lines

        message = read_message(self.lookup, self.runtime.version, text)
        if not error_lines(message):
            why = f"none of the forms fits that are looked for: {', '.join(LOOKED_FOR)}"
            hint = "trace the expression itself: ptexplore trace tells where it is thrown"
            if message.is_cut:
                why, hint = "it is cut within the operator that has no kernel and its dispatch key", "paste all of it"
            raise PtexploreError("no explanation of this message is written down here", why, hint)
        return message

    def operator(self, name: str) -> Card:
        """The card of an operator, with the notes on it. Raises PtexploreError if nothing is called that."""
        from ptexplore.view.card import card, on_card

        bare = card(self.lookup, name)
        return replace(bare, notes=on_card(bare, self._marks_on_lookup()))

    # --- searches ---

    def find(
        self, query: str, *, kind: str | None = None, limit: int = 20, text: bool = False, declarations: bool = False
    ) -> FindView:
        """What a query may mean: symbols, operators, folders, files, notes, lines; at most `limit` of each.

        `kind` is a group ("symbol", "operator", …) or a kind of symbol ("class", …). `text` also looks for lines that
        hold the query, `declarations` also for declarations of what is defined. Raises PtexploreError if nothing fits.
        """
        from ptexplore.lookup.find import find, nothing_fits
        from ptexplore.lookup.gathering import FindQuery

        notes = self.searched_notes(self.trees) if kind in (None, "note", "folder") else None
        view = find(self.trees, self.catalogue, query, FindQuery(limit, kind, text, declarations), notes)
        if not view.groups:
            raise nothing_fits(self.trees, query, kind)
        return view

    def refs(self, symbol: str, *, kind: str | None = None, limit: int | None = None) -> RefsView:
        """Who uses a name, grouped by how; at most `limit` of each group, or only the group `kind`.

        Raises PtexploreError if nothing is called that.
        """
        from ptexplore.lookup.refs import refs

        return refs(self.trees, symbol, limit, kind)

    def callers(self, symbol: str, *, depth: int = 3, limit: int | None = None) -> CallersView:
        """Who calls the functions of a name, who calls those, and so on, `depth` levels up.

        At most `limit` callers of each function; without it as many as fit a screen, the near ones first.
        Raises PtexploreError if no function is called that.
        """
        from ptexplore.lookup.callers import callers

        return callers(self.trees, symbol, depth, limit)

    def show(
        self,
        target: str,
        *,
        kind: str | None = None,
        everything: bool = False,
        kernels: bool = True,
        every_key: bool = False,
        notes: bool = True,
    ) -> ShowView:
        """The source of a symbol, an operator, a file or a line, or what the target may name.

        `everything` shows all that the target names, `kind` only one kind of thing. `kernels` adds an operator's
        kernels (`every_key`: under all dispatch keys), `notes` the notes on the lines.
        Raises PtexploreError if the target names nothing.
        """
        from ptexplore.view.search.show import show, with_marks

        view = show(self.trees, self.catalogue, target, everything=everything, kind=kind)
        if kernels:
            view = self._with_kernels(view, every_key=every_key)
        if notes:
            shown = {page.spot.tree.name for page in view.pages}
            view = with_marks(view, self._marks_on_trees([t for t in self.trees if t.tree.info.name in shown]))
        return view

    def _with_kernels(self, view: ShowView, *, every_key: bool) -> ShowView:
        """The view with the kernels of each operator in it that the installed torch has."""
        if self.catalogue is None or not any(page.candidate.kind == "operator" for page in view.pages):
            return view
        from ptexplore.view.card import card, kernels_of

        pages = [
            replace(page, kernels=kernels_of(card(self.lookup, page.candidate.name), full=every_key))
            if page.candidate.kind == "operator" and self.torch.catalogue.operator(page.candidate.name) is not None
            else page
            for page in view.pages
        ]
        return replace(view, pages=tuple(pages))

    # --- notes and tours ---

    @lazy_in_threads
    def folder_pages(self) -> FolderPages:
        """What was written about folders. Raises PtexploreError if a folder of notes is not there."""
        from ptexplore.annotations.folders import load_folders

        return load_folders(self._note_folders())

    def folder(self, target: str) -> FolderView | None:
        """The page of a folder: one of the short names (aten, c10, csrc, torch), a path, or "." for all of a tree.

        None if the target is no folder of the trees in use. Raises PtexploreError if no tree has what a short name
        stands for.
        """
        from ptexplore.view.notes.folder import find_folder, folder_view

        place = find_folder(self.trees, target)
        return folder_view(*place, self.folder_pages, self.library) if place is not None else None

    @lazy_in_threads
    def library(self) -> NoteLibrary:
        """Every tour and note. Raises PtexploreError if a folder of notes is not there."""
        from ptexplore.annotations.load import load

        return load(self._note_folders())

    def _note_folders(self) -> tuple[Layer, ...]:
        from ptexplore.annotations.layers import layers

        return layers(self.notes)

    def marks(self, trees: Sequence[IndexedTree]) -> MarksByTree:
        """Where the stops are on PyTorch's trees; an extension's own tree has none, since notes are about PyTorch.

        Raises PtexploreError if a folder of notes cannot be read.
        """
        return self._placed((indexed.tree, indexed.store) for indexed in trees if project(indexed) == "pytorch")

    @lazy_in_threads
    def topics(self) -> list[Topic]:
        """All that was written about: tours, stops, concepts, folders. Raises as `library` does."""
        from ptexplore.annotations.topics import kept_topics

        return kept_topics(self._note_folders(), self._notes_kept_back)

    def searched_notes(self, trees: Sequence[IndexedTree]) -> SearchedNotes:
        """What people wrote, for a search of these trees; nothing, with a notice, where it cannot be read."""
        from ptexplore.lookup.gathering import SearchedNotes

        try:
            return SearchedNotes(self.marks(trees), self.topics)
        except PtexploreError as error:
            self.notice(f"notes are not shown: {error.message} ({error.why})")
            return SearchedNotes()

    def _placed(self, trees: Iterable[tuple[SourceTree, IndexStore]]) -> MarksByTree:
        from ptexplore.annotations.marks import kept_marks

        folders, told = self._note_folders(), self._notes_kept_back
        return {
            tree.info.name: kept_marks(folders, lambda: self.library, tree, index, told) for tree, index in trees
        }  # fmt: skip

    def _notes_kept_back(self, problem: UnreadNotes) -> None:
        if problem not in self._kept_back:
            self._kept_back.add(problem)
            self.notice(f"notes are not complete: {problem.where.file}: {problem.text}")

    def _marks_on_trees(self, trees: Sequence[IndexedTree]) -> MarksByTree:
        return self._marks_if_readable(lambda: self.marks(trees))

    def _marks_on_lookup(self) -> MarksByTree:
        """The same for what a trace or a card looks into; the installed torch's own text if it is indexed."""
        sources = [source for source in self.lookup.sources if source.checkout and source.checkout.project == "pytorch"]
        sources += self.lookup.installed
        trees = [(source.tree, source.names) for source in sources if isinstance(source.names, IndexStore)]
        return self._marks_if_readable(lambda: self._placed(trees))

    def _marks_if_readable(self, read: Callable[[], MarksByTree]) -> MarksByTree:
        """What is wrong with a project's notes is a notice: the answer is shown without them."""
        try:
            return read()
        except PtexploreError as error:
            self.notice(f"notes are not shown: {error.message} ({error.why})")
            return {}

    def guide(self) -> Guide:
        """The stops of all tours on the tree in use, and after it the installed torch's own text, if it is indexed."""
        from ptexplore.view.notes.tour import Guide

        trees = [self.main_tree]
        runtime = self.sources(needed=False)[0]
        if self.tree is None and trees[0].checkout is not None and runtime is not None:
            trees += self.open_trees("runtime") if open_index(runtime) is not None else []
        return Guide(self.library, trees, runtime.version if runtime is not None else None)

    def check_notes(
        self,
        only: Sequence[str] = (),
        *,
        run_labs: bool = False,
        timeout: float = 60.0,
        ran: Callable[[LabResult], None] = _ignore,
    ) -> CheckView:
        """Where every anchor is on the tree in use, and how every lab ended, if they are to run.

        `only` names tours or stops, `timeout` is in seconds for each run of a lab, `ran` hears of each lab as it ends.
        Raises PtexploreError if a name is none.
        """
        from ptexplore.annotations.anchors import Resolver, broken_links, resolve_all
        from ptexplore.annotations.concepts import load_path
        from ptexplore.view.notes.check import Checked, CheckView
        from ptexplore.view.notes.folder import check_pages

        library = self.library
        for name in only:
            if name not in library.tours and library.stop(name) is None:
                why = f"there are {', '.join(sorted(library.tours)) or 'none'}"
                raise PtexploreError(f"there is no tour or stop {name}", why, "ptexplore notes check", USAGE)
        indexed = self.main_tree
        resolver = Resolver(indexed.tree, indexed.store)
        placed = resolve_all(library, resolver, list(only) or None)
        pages = self.folder_pages
        checked = check_pages(indexed, pages) if not only else None
        of_folders = (*pages.problems, *checked.problems) if checked is not None else ()
        problems = (*library.problems, *broken_links(placed, resolver), *load_path(library).problems, *of_folders)
        anchors = tuple(Checked(*row) for row in placed)
        labs = []
        with_labs = [(anchor.tour, anchor.stop) for anchor in anchors if run_labs and anchor.stop.labs]
        for result in self.run_labs(with_labs, timeout) if with_labs else ():
            ran(result)
            labs.append(result)
        folders = tuple(layer.shown for layer in library.layers)
        return CheckView(indexed.tree.info, anchors, problems, tuple(labs) if run_labs else None, folders, checked)

    def run_labs(self, stops: Sequence[tuple[Tour, Stop]], timeout: float = 60.0) -> Iterator[LabResult]:
        """Run the labs of these stops, those alone whose file is shipped or trusted; how each ended, in order."""
        from ptexplore.workspace.lab_runs import run_labs

        return run_labs(stops, self.torch, lambda: self.lookup, timeout)

    def run_lab(self, tour: Tour, stop: Stop, lab: Lab) -> tuple[LabResult, Trail | None]:
        """Run one lab; how it ended, and the Trail of its run, if it came to that."""
        from ptexplore.workspace.lab_runs import run_lab

        return run_lab(tour, stop, lab, lambda: (self.torch, self.lookup))

    def plan_pins(self, only: Sequence[str] = ()) -> PinPlan:
        """How the locks of the notes would change on the tree in use; `only` names tours or stops. Writes nothing."""
        from ptexplore.workspace.anchor_pins import plan_pins

        return plan_pins(self.library, self.main_tree, only)

    def new_note(self, target: str, note_id: str | None = None) -> NewNote:
        """The text of a note on the one thing that the target names. Raises PtexploreError (USAGE) if it is not one."""
        from ptexplore.view.new_note import new_note

        return new_note(self.main_tree, target, note_id)

    def codetour_files(self, only: Sequence[str] = ()) -> list[Exported]:
        """The tours as files of VS Code's CodeTour, made of the checkout's text; `only` names tours.

        Raises PtexploreError if there is no such tour, none at all, or no checkout.
        """
        from ptexplore.view.notes.codetour import codetour_files
        from ptexplore.view.notes.tour import find_tour, in_order, no_tours

        library = self.library
        tours = [find_tour(library, name) for name in only]
        tours = tours or [tour for tour in in_order(library) if tour.kind == "tour" and tour.stops]
        if not tours:
            raise no_tours(library)
        indexed = self.main_tree
        if indexed.checkout is None:
            why = "patterns and lines are made of a checkout's text, and only the installed torch's own is in use"
            raise PtexploreError("there is no checkout to export for", why, "ptexplore fetch", MISSING)
        return codetour_files(library, indexed, tours)

    # --- what takes long ---

    def index(self, request: IndexRequest) -> IndexRun:
        """Bring indexes up to date; refine and export them if that is asked for. Raises PtexploreError."""
        from ptexplore.workspace.index_runs import run_index

        runtime, sources = self._to_index(request.checkout)
        with self.watch("indexing") as progress:
            return run_index(request, runtime, sources, progress)

    def _to_index(self, name: str | None) -> tuple[Runtime | None, list[Checkout | Runtime]]:
        runtime, in_use = self.sources(needed=name is None)
        if name is None:
            return runtime, [*in_use, *([runtime] if runtime is not None else [])]
        checkout = checkouts.load(name)
        if not checkouts.is_there(checkout):
            hint = f"ptexplore fetch --remove {checkout.name}"
            raise PtexploreError(f"the checkout {checkout.name} is gone", f"no folder {checkout.root}", hint, MISSING)
        return runtime, [checkout]

    def fetch(self, request: Request, watcher: Watcher) -> FetchOutcome:
        """Bring a source tree; without a source and a ref that of the installed torch, or what the project pins.

        Raises PtexploreError as `source.fetch.fetch.fetch` does, and if the torch is needed and not there.
        """
        from ptexplore.source.fetch.fetch import fetch

        project = find_project(Path.cwd())
        of_torch = request.source is None and request.ref is None and (project is None or project.pin is None)
        return fetch(request, self.runtime if of_torch else self.runtime_if_any, project, watcher)

    def survey(self, request: SurveyRequest, counting: Counting) -> Report:
        """Trace the samples of operators that are asked for and not saved yet, then report on what is saved.

        `counting` shows how many of how many are done. Raises PtexploreError.
        """
        from ptexplore.workspace.survey import run_survey

        trees = self.lookup.infos  # indexes are made now, and once
        run_survey(request, self._survey_folder(request), self.python, self.runtime, trees, counting, self.notice)
        return self.survey_report(request)

    def survey_report(self, request: SurveyRequest) -> Report:
        """The report on what is saved; nothing runs. Raises PtexploreError(MISSING) if nothing is saved."""
        from ptexplore.workspace.survey import survey_report

        return survey_report(request, self._survey_folder(request))

    def _survey_folder(self, request: SurveyRequest) -> Folder:
        """The folder that a survey is saved in; one that is named needs no torch."""
        from ptexplore.view.survey import Folder

        return Folder(request.out or survey_dir(self.runtime.key, request.phase))

    def health(self) -> Health:
        """The installed torch, trees and caches: what is there, how it relates, what is missing."""
        from ptexplore.view.health import health

        torch = self.torch
        note, compared = compared_checkouts(torch, self.watch)
        return health(torch.runtime, torch.tree, torch.catalogue, compared, note)

    def site_contents(self, traces: Sequence[str] = ()) -> SiteContents:
        """What a site is made of; `traces` are files of saved traces. Raises PtexploreError."""
        from ptexplore.lookup.link_targets import DefinitionsByName
        from ptexplore.lookup.use_meaning import UseReader
        from ptexplore.source.python_docs import doc_lines
        from ptexplore.workspace.site_contents import SiteContents, load_traces

        runtime = self.sources()[0]
        alone = self.tree not in (None, "runtime")
        # Before the trees: how a checkout relates to the installed torch follows from its catalogue.
        torch = self.torch if runtime is not None and not alone else None
        trees = [self.main_tree]
        if trees[0].checkout is not None and torch is not None:
            trees += self.open_trees("runtime")
        library, marks_by_tree = self.library, self.marks(trees)
        reader = UseReader(DefinitionsByName([indexed.store for indexed in trees]))
        saved, docs = load_traces(traces), doc_lines(torch.tree) if torch is not None else {}
        return SiteContents(trees, torch, library, self.folder_pages, marks_by_tree, saved, reader, docs)
