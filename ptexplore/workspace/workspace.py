"""The workspace: the questions of all front ends, over one installed torch and the source in use.

A workspace opens a cache when a question first needs it, and builds what is missing. A workspace prints nothing: the
front end passes functions that show progress and notices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from types import FrameType, TracebackType
from typing import TYPE_CHECKING
from weakref import WeakSet

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.lazy import lazy_in_threads
from ptexplore.locations import survey_dir
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
    from ptexplore.annotations.exercises import Exercises
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
    from ptexplore.lookup.operators import Catalogue
    from ptexplore.lookup.refs import RefsView
    from ptexplore.lookup.trees import IndexedTree, Spot
    from ptexplore.model.autograd_graph import LocatedGraph
    from ptexplore.model.compiled import CompileReport
    from ptexplore.model.coverage import KeyCoverage, Side
    from ptexplore.model.decompositions import Decompositions
    from ptexplore.model.ladder import CoreAnswer, OperatorList, OperatorSet
    from ptexplore.model.rungs import LowerReport
    from ptexplore.model.tensor_layouts import TensorLayouts
    from ptexplore.model.trace import Session, Trace
    from ptexplore.resolve.error_message import ErrorMessage
    from ptexplore.resolve.places.lookup import Lookup
    from ptexplore.source.fetch.install import FetchOutcome, Request
    from ptexplore.view.card import Card
    from ptexplore.view.health import Health
    from ptexplore.view.new_note import NewNote
    from ptexplore.view.notes.check import CheckView
    from ptexplore.view.notes.codetour import Exported
    from ptexplore.view.notes.folder import FolderView, ShippedPage
    from ptexplore.view.notes.labs import EditedRun, LabResult
    from ptexplore.view.notes.tour import Guide
    from ptexplore.view.search.show import ShowView
    from ptexplore.view.survey import Folder, Report
    from ptexplore.workspace.anchor_pins import PinPlan
    from ptexplore.workspace.index_runs import IndexRequest, IndexRun
    from ptexplore.workspace.site_contents import OtherRecordings, SiteContents
    from ptexplore.workspace.survey import Counting, SurveyRequest


def _ignore(event: object) -> None:
    del event


@dataclass(frozen=True)
class DrawnTensors:
    """Tensors in memory, the same after further statements, those to compare, and the text that all of them printed."""

    layouts: TensorLayouts
    after: TensorLayouts | None
    against: TensorLayouts | None
    printed: str


class Workspace:
    """One installed torch and the source in use. A context manager that closes what it opened.

    `python` is the Python whose torch is examined (None: this one). `tree` limits searches to one tree (the name of a
    checkout, or "runtime"; None: all in use). `notes` are folders of notes that are read over the shipped ones. `watch`
    shows progress under a title. `notice` shows something that is not an error.

    Several threads may use one workspace. Threads share each open catalogue and index. The workspace closes one that is
    no longer used. Raises PtexploreError if the cache belongs to somebody else.
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
        self._kept_back: set[UnreadNotes] = set()  # unreadable files of notes; each is reported once
        self._no_runtime: PtexploreError | None = None
        self.guard = RLock()  # guards everything that is opened once
        # a set of weak references: an unused one has closed itself
        self._opened: WeakSet[IndexStore | Store] = WeakSet()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes every catalogue and index that was opened. Earlier answers stay valid; ask no more questions."""
        with self.guard:
            while self._opened:
                self._opened.pop().close()

    def apart(self) -> Workspace:
        """Returns a workspace of the same torch and source with its own connections, for a thread or process."""
        return Workspace(self.python, self.tree, notes=self.notes)

    # --- torch and source ---

    @lazy_in_threads
    def runtime(self) -> Runtime:
        """The installed torch, described once: this reads every file that its generated C++ depends on.

        If torch runs from the source tree that it was built in, this tree becomes a checkout that is used in place.
        Raises PtexploreError if `python` is not a Python or has no torch.
        """
        if self._no_runtime is not None:
            raise self._no_runtime
        try:
            runtime = describe.find_runtime(self.python)
        except PtexploreError as error:
            self._no_runtime = error
            raise
        if runtime.build == "source":
            self._adopt(runtime)
        return runtime

    def _adopt(self, runtime: Runtime) -> None:
        """Registers the tree that `runtime` was built in, once, and says so. Without it, only lines are less exact."""
        from ptexplore.source.fetch.fetch import adopt

        try:
            checkout = adopt(runtime)
        except PtexploreError as error:
            self.notice(f"the source of this torch is not read: {error.message} ({error.why})")
            return
        if checkout is not None:
            self.notice(f"torch was built in {checkout.root}: this source is read, as the checkout {checkout.name}")

    @property
    def runtime_if_any(self) -> Runtime | None:
        """The installed torch. None if this Python has none. Raises PtexploreError if `python` was named."""
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
        """Returns the installed torch, if there is one, and the checkouts to examine, the one in use first.

        Raises PtexploreError if `python` was named and has no torch, or if a source is `needed` and there is none.
        """
        runtime = self.runtime_if_any
        chosen = checkouts.current(runtime)
        in_use = [*([chosen] if chosen is not None else []), *checkouts.extensions()]
        if needed and runtime is None and not in_use:
            return self.runtime, []  # raises an error that names the missing part
        return runtime, in_use

    def choice(self) -> CheckoutChoice:
        """Returns which checkout of PyTorch is in use, and why. It works without any torch, too."""
        try:
            runtime = self.runtime
        except PtexploreError:
            return checkouts.choose(None)
        return checkouts.choose(runtime)

    # --- trees with their indexes ---

    @lazy_in_threads
    def trees(self) -> list[IndexedTree]:
        """The trees to search, the one in use first: the checkout, the sources of extensions, the installed text.

        A tree without an index gets one, with progress, and damaged generated files are made again. An existing index
        is used as it is (`ptexplore index` refreshes it). Raises PtexploreError if there is nothing to search, if no
        tree is called `tree`, or if an index cannot be built.
        """
        return self.open_trees(self.tree)

    def open_trees(self, only: str | None = None) -> list[IndexedTree]:
        """Returns the same trees as `trees`, opened again. `only` names one of them."""
        runtime, named = self._named()
        if only is not None and only not in named:
            why = f"the trees in use are {', '.join(named)}"
            raise PtexploreError(f"no tree in use is called {only}", why, "ptexplore fetch --list", USAGE)
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
        """Returns the trees that have an index already, and the names of the others. Nothing is built.

        Raises the errors of `trees`.
        """
        runtime, named = self._named()
        missing = [name for name in named if self.tree in (None, name) and not is_at_hand(named[name])]
        if not missing:
            return self.trees, []
        wanted = [source for name, source in named.items() if self.tree in (None, name) and name not in missing]
        return self._keep([open_tree(source, runtime) for source in wanted]), missing

    @property
    def main_tree(self) -> IndexedTree:
        """The tree that anchors are placed on: `tree`, else the checkout in use, else the installed torch's own text.

        A tree without an index gets one. A folder used in place is read again if it changed. Raises the errors of
        `trees`.
        """
        runtime, chosen = self._main()
        if chosen is not None and is_in_place(chosen):
            fresh_index(chosen, runtime, self.watch).close()
        return self.open_trees(self.tree or (chosen.name if chosen is not None else "runtime"))[0]

    def _main(self) -> tuple[Runtime | None, Checkout | None]:
        """Returns the installed torch, and the checkout that is the main tree; None if that is the installed text."""
        runtime, in_use = self.sources()
        chosen = next((c for c in in_use if c.name == (self.tree or c.name) and c.project == "pytorch"), None)
        return runtime, chosen

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
        """The operators that the installed torch registered. None if it is not among the trees that are searched."""
        from ptexplore.lookup.operators import Catalogue

        number = next((number for number, indexed in enumerate(self.trees) if indexed.checkout is None), None)
        return Catalogue(self.torch.catalogue, self.torch.tree, number) if number is not None else None

    def catalogue_at_hand(self, trees: Sequence[IndexedTree]) -> Catalogue | None:
        """Returns the operators that the installed torch registered, if its catalogue exists already.

        torch is not started.
        """
        from ptexplore.lookup.operators import Catalogue

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
        if folder is None:  # it existed when the catalogue was made
            with self.watch(DAMAGED) as progress:
                folder = generated.ensure(runtime, progress)
        return Catalogue(catalogue, runtime_tree(runtime, folder), number)

    def locate(self, spot: Spot) -> tuple[str, int] | None:
        """Returns the file and line on this machine of a search result. None if its text is not here."""
        tree = next((indexed.tree for indexed in self.trees if indexed.tree.info.name == spot.tree.name), None)
        return tree.place_of(spot.ref.path, spot.ref.line or 1) if tree is not None and spot.ref.path else None

    # --- traces and operators ---

    @lazy_in_threads
    def lookup(self) -> Lookup:
        """Everything that can find a place, for traces and cards. Raises PtexploreError."""
        lookup = open_lookup(self.torch, self.watch)
        sources = (*lookup.sources, *lookup.installed)
        self._opened.update(source.names for source in sources if isinstance(source.names, IndexStore))
        return lookup

    def place_of(self, ref: SourceRef) -> tuple[str, int] | None:
        """Returns file and line on this machine for a place in a trace or on a card."""
        return self.lookup.place_of(ref)

    def trace(self, run: AllowedRun) -> tuple[Trace, Session]:
        """Runs an allowed expression or script in a probe. Returns the trace, with notes, and the probe's observations.

        Raises PtexploreError if it cannot be run, raises, dies or takes too long.
        """
        from ptexplore.capture.trace import capture, check
        from ptexplore.resolve.trace import resolve
        from ptexplore.view.notes.notes_about import with_notes
        from ptexplore.view.words.errors import in_words

        with in_words():
            check(run.request)  # before a run is spent on it
        lookup = self.lookup
        with in_words():
            session = capture(run, self.torch.runtime, self.torch.catalogue.digests(), raising=True)
        return with_notes(resolve(session, lookup), self._marks_on_lookup()), session

    def tensors(self, run: AllowedRun, shapes: Sequence[tuple[int, ...]] = ()) -> DrawnTensors:
        """Runs allowed statements in a probe. Returns the tensors in memory, and the printed text.

        `shapes` are sizes for which `view` and `reshape` are answered. Raises PtexploreError if the statements cannot
        be run, raise, or give no tensor.
        """
        from ptexplore.capture.tensor_layouts import see_tensors
        from ptexplore.resolve.tensor_layouts import conclude
        from ptexplore.view.words.errors import in_words

        with in_words():
            seen = see_tensors(run, self.runtime)
        after, against = (
            conclude(other, shapes) if other is not None else None for other in (seen.after, seen.against)
        )
        return DrawnTensors(conclude(seen.seen, shapes), after, against, seen.printed)

    def graph(self, run: AllowedRun) -> LocatedGraph:
        """Runs an allowed expression in a probe. Returns the autograd graph behind its value, with places.

        Raises PtexploreError if it cannot be run, raises, dies or takes too long, or if its value has no tensor.
        """
        from ptexplore.capture.graph import capture_graph
        from ptexplore.resolve.graph import located
        from ptexplore.view.words.errors import in_words

        lookup = self.lookup
        with in_words():
            session = capture_graph(run, self.torch.runtime)
        return located(session, lookup)

    def graph_of(self, value: object, caller: FrameType) -> LocatedGraph:
        """Returns the autograd graph behind a value of this process. The variables of `caller` name its leaves.

        Raises PtexploreError if the value has no tensor, or if another torch runs than the one of this workspace.
        """
        from ptexplore.capture.own_process import graph_session
        from ptexplore.resolve.graph import located
        from ptexplore.view.words.errors import in_words

        with in_words():
            session = graph_session(value, caller, self.torch.runtime)
        return located(session, self.lookup)

    def compile(self, run: AllowedRun) -> CompileReport:
        """Runs an allowed expression or script once, and returns what torch.compile did.

        Raises PtexploreError if it cannot be run, dies, or takes too long without an answer.
        """
        from ptexplore.capture.compiling import compile_run
        from ptexplore.resolve.compiler.conclude import report
        from ptexplore.view.words.errors import in_words

        with in_words():
            ran = compile_run(run, self.runtime)
        return report(ran)

    def lower(self, run: AllowedRun) -> LowerReport:
        """Makes the graphs of an allowed expression on each requested rung, and compares each with eager mode.

        Raises PtexploreError if the code cannot be run, raises, dies, or takes too long without an answer.
        """
        from ptexplore.capture.lowering import lower_run
        from ptexplore.resolve.lowering import conclude_rungs
        from ptexplore.view.words.errors import in_words

        with in_words():
            ran = lower_run(run, self.runtime)
        return conclude_rungs(ran)

    def resolve_block(self, recorded: RecordedBlock) -> tuple[Trace, Session]:
        """Returns the trace of a block of the user's own process, with notes, and the recorder's observations.

        Raises PtexploreError if another torch ran than the one of this workspace.
        """
        from ptexplore.capture.own_process import session_of
        from ptexplore.resolve.trace import resolve
        from ptexplore.view.notes.notes_about import with_notes
        from ptexplore.view.words.errors import in_words

        with in_words():
            session = session_of(recorded, self.torch.runtime, self.torch.catalogue.digests())
        return with_notes(resolve(session, self.lookup), self._marks_on_lookup()), session

    def explain_error(self, text: str) -> ErrorMessage:
        """Explains the text of an error: a whole traceback, or only the message. torch is not imported.

        Raises PtexploreError if the text has no words.
        """
        from ptexplore.facts.messages import INTERPRETERS
        from ptexplore.resolve.error_message import (
            first_paragraph,
            has_words,
            is_raised_elsewhere,
            names_its_line,
            read_message,
        )
        from ptexplore.resolve.message_words import find_words
        from ptexplore.resolve.raising_check import raising_check

        if not has_words(text):
            hint = "paste the error's message, or the whole traceback"
            raise PtexploreError("there is no message to explain", "the text has no words", hint)
        message = read_message(self.lookup, self.runtime.version, text)
        if names_its_line(message) or (message.cause is not None and message.cause.code in INTERPRETERS):
            return message
        inner = message.innermost if message.innermost is not None and message.innermost.source.path else None
        raised_in = inner.source.path if inner is not None else None
        is_pythons = is_raised_elsewhere(message, message.exception)
        own_words = first_paragraph(message.says)
        words = find_words(self.lookup, self.runtime, own_words, raised_in, is_pythons=is_pythons)
        is_open = words is not None and message.cause is None and message.missing is None and message.modified is None
        check = None
        if is_open and words is not None:
            check = raising_check(self.lookup, words, own_words, inner.name if inner is not None else "")
        return replace(message, words=words, check=check)

    def operator(self, name: str, *, ladder: bool = False) -> Card:
        """Returns the card of an operator, with the notes on it. Raises PtexploreError if no operator has this name.

        `ladder`: also what decomposes the operator on each rung. For that, the first use imports Inductor in a probe.
        """
        from ptexplore.view.card import card, on_card

        bare = card(self.lookup, name)
        whole = replace(bare, notes=on_card(bare, self._marks_on_lookup()))
        if not ladder:
            return whole
        from ptexplore.resolve.ladder import ladder as ladder_of

        rungs = ladder_of(self.lookup, whole.operator, self.decompositions)
        return replace(whole, core=rungs.core, ladder=rungs)

    @lazy_in_threads
    def decompositions(self) -> Decompositions:
        """The decomposition tables and Inductor's lowerings of the installed torch. Raises PtexploreError."""
        from ptexplore.workspace.decompositions import open_decompositions

        return open_decompositions(self.torch, self.watch)

    def core_aten(self, names: Sequence[str]) -> tuple[CoreAnswer, ...]:
        """Returns for each operator whether it is Core ATen, and why, in the order of `names`.

        A name has its overload, as in a graph: "aten::add.Tensor" or "aten.add.Tensor". Raises PtexploreError
        if this torch cannot be asked.
        """
        from ptexplore.resolve.ladder import core_answers

        return core_answers(self.torch.catalogue, names, self.decompositions)

    def operator_list(self, of: OperatorSet, limit: int | None = None) -> OperatorList:
        """Returns the operators that are Core ATen, or the prims, with what Inductor does with each; at most `limit`.

        Raises PtexploreError if this torch cannot be asked.
        """
        from ptexplore.resolve.ladder import operator_list

        return operator_list(self.lookup, of, self.decompositions, limit)

    def coverage(self, key: str, side: Side, limit: int | None = None) -> KeyCoverage:
        """Returns the operators that have a kernel for a dispatch key, or those without one; at most `limit`.

        Raises PtexploreError if `key` is no dispatch key.
        """
        from ptexplore.view.coverage import key_coverage

        return key_coverage(self.lookup, key, side, limit)

    # --- searches ---

    def find(
        self, query: str, *, kind: str | None = None, limit: int = 20, text: bool = False, declarations: bool = False
    ) -> FindView:
        """Returns what a query may mean: symbols, operators, folders, files, notes, lines; at most `limit` of each.

        `kind` is a group ("symbol", "operator", …) or a kind of symbol ("class", …). `text` also searches for lines
        that contain the query; `declarations` also lists declarations of defined names. Raises PtexploreError if
        nothing matches.
        """
        from ptexplore.lookup.find import find, nothing_fits
        from ptexplore.lookup.gathering import FindQuery

        notes = self.searched_notes(self.trees) if kind in (None, "note", "folder") else None
        view = find(self.trees, self.catalogue, query, FindQuery(limit, kind, text, declarations), notes)
        if not view.groups:
            raise nothing_fits(self.trees, query, kind)
        return view

    def refs(self, symbol: str, *, kind: str | None = None, limit: int | None = None) -> RefsView:
        """Returns the uses of a name, grouped by kind; at most `limit` of each group, or only the group `kind`.

        Raises PtexploreError if nothing has this name.
        """
        from ptexplore.lookup.refs import refs

        return refs(self.trees, symbol, limit, kind)

    def callers(self, symbol: str, *, depth: int = 3, limit: int | None = None) -> CallersView:
        """Returns the callers of the functions with a name, their callers, and so on, `depth` levels up.

        `limit` is the greatest number of callers of each function; without it, there are as many as fit a screen, the
        near ones first. Raises PtexploreError if no function has this name.
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
        """Returns the source of a symbol, an operator, a file or a line; or the choices, if the target is ambiguous.

        `everything` shows all that the target names, `kind` only one kind. `kernels` adds an operator's kernels
        (`every_key`: for all dispatch keys), `notes` the notes on the lines. Raises PtexploreError if the target names
        nothing.
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
        """Adds to the view the kernels of each operator in it that the installed torch has."""
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
        """The pages about folders. Raises PtexploreError if a folder of notes does not exist."""
        from ptexplore.annotations.folders import load_folders

        return load_folders(self._note_folders())

    def unindexed_page(self, target: str) -> ShippedPage | None:
        """Returns the shipped page of a folder while a tree has no index; None if all have one, or no such page.

        Raises the errors of `trees`, and PtexploreError if a folder of notes cannot be read.
        """
        from ptexplore.view.notes.folder import page_of_folder

        _trees, missing = self.trees_at_hand()
        return page_of_folder(target, self.folder_pages) if missing else None

    def folder(self, target: str) -> FolderView | None:
        """Returns the page of a folder: one of the short names (aten, c10, csrc, torch), a path, or "." for the root.

        None if the target is not a folder of the trees in use. Raises PtexploreError if no tree has the folder of a
        short name.
        """
        from ptexplore.view.notes.folder import find_folder, folder_view

        place = find_folder(self.trees, target)
        return folder_view(*place, self.folder_pages, self.library) if place is not None else None

    @lazy_in_threads
    def library(self) -> NoteLibrary:
        """Every tour and note. Raises PtexploreError if a folder of notes does not exist."""
        from ptexplore.annotations.load import load

        return load(self._note_folders())

    @lazy_in_threads
    def exercises(self) -> Exercises:
        """Every exercise. Raises PtexploreError if a folder of notes does not exist."""
        from ptexplore.annotations.exercises import load_exercises

        return load_exercises(self._note_folders())

    def _note_folders(self) -> tuple[Layer, ...]:
        from ptexplore.annotations.layers import layers

        return layers(self.notes)

    def marks(self, trees: Sequence[IndexedTree]) -> MarksByTree:
        """Returns the places of stops on PyTorch's trees. An extension's tree has none, since notes are about PyTorch.

        Raises PtexploreError if a folder of notes cannot be read.
        """
        from ptexplore.lookup.trees import project

        return self._placed((indexed.tree, indexed.store) for indexed in trees if project(indexed) == "pytorch")

    @lazy_in_threads
    def topics(self) -> list[Topic]:
        """All topics of notes: tours, stops, concepts, folders. Raises the errors of `library`."""
        from ptexplore.annotations.topics import kept_topics

        return kept_topics(self._note_folders(), self._notes_kept_back)

    def searched_notes(self, trees: Sequence[IndexedTree]) -> SearchedNotes:
        """Returns the notes for a search of these trees. If they cannot be read: nothing, and a notice."""
        from ptexplore.lookup.gathering import SearchedNotes

        try:
            return SearchedNotes(self.marks(trees), self.topics)
        except PtexploreError as error:
            self.notice(f"notes are not shown: {error.message} ({error.why})")
            return SearchedNotes()

    def _placed(self, trees: Iterable[tuple[SourceTree, IndexStore]]) -> MarksByTree:
        from ptexplore.annotations.marks import kept_marks

        folders, kept_back = self._note_folders(), self._notes_kept_back
        return {
            tree.info.name: kept_marks(folders, lambda: self.library, tree, index, kept_back) for tree, index in trees
        }  # fmt: skip

    def _notes_kept_back(self, problem: UnreadNotes) -> None:
        if problem not in self._kept_back:
            self._kept_back.add(problem)
            self.notice(f"notes are not complete: {problem.where.file}: {problem.text}")

    def _marks_on_trees(self, trees: Sequence[IndexedTree]) -> MarksByTree:
        return self._marks_if_readable(lambda: self.marks(trees))

    def _marks_on_lookup(self) -> MarksByTree:
        """Returns the marks on the trees of the lookup, including the installed torch's own text if it is indexed."""
        sources = [source for source in self.lookup.sources if source.checkout and source.checkout.project == "pytorch"]
        sources += self.lookup.installed
        trees = [(source.tree, source.names) for source in sources if isinstance(source.names, IndexStore)]
        return self._marks_if_readable(lambda: self._placed(trees))

    def _marks_if_readable(self, read: Callable[[], MarksByTree]) -> MarksByTree:
        """Returns marks. An error in a project's notes becomes a notice, and the answer is shown without them."""
        try:
            return read()
        except PtexploreError as error:
            self.notice(f"notes are not shown: {error.message} ({error.why})")
            return {}

    def guide(self) -> Guide:
        """Returns the stops of all tours on the tree in use, and on the installed torch's text if it is indexed."""
        from ptexplore.view.notes.tour import Guide

        trees = [self.main_tree]
        runtime = self.sources(needed=False)[0]
        if self.tree is None and trees[0].checkout is not None and runtime is not None:
            trees += self.open_trees("runtime") if open_index(runtime) is not None else []
        return Guide(self.library, trees, runtime.version if runtime is not None else None)

    def guide_at_hand(self) -> Guide:
        """Returns the stops of all tours like `guide`; on no tree if the tree in use has no index. Nothing is built.

        Raises PtexploreError if no tree is called `tree`.
        """
        from ptexplore.view.notes.tour import Guide

        runtime, named = self._named()
        chosen = self._main()[1]
        main = chosen or runtime
        is_unknown = self.tree is not None and self.tree not in named
        if is_unknown or (main is not None and is_at_hand(main)):
            return self.guide()
        return Guide(self.library, (), runtime.version if runtime is not None else None)

    def check_notes(
        self,
        only: Sequence[str] = (),
        *,
        run_labs: bool = False,
        timeout: float = 60.0,
        ran: Callable[[LabResult], None] = _ignore,
    ) -> CheckView:
        """Returns the place of every anchor on the tree in use, and the result of every lab if `run_labs` is set.

        Then the model solution of every exercise runs, too, unless `only` is given. `only` names tours or stops,
        `timeout` is in seconds for each run of a lab, `ran` is called for each result. Raises PtexploreError if there
        is no such tour or stop.
        """
        from ptexplore.annotations.anchors import Resolver, broken_links, resolve_all
        from ptexplore.annotations.concepts import load_path
        from ptexplore.view.notes.check import Checked, CheckView
        from ptexplore.view.notes.folder import check_pages

        library = self.library
        for name in only:
            if name not in library.tours and library.stop(name) is None:
                why = f"the tours are {', '.join(sorted(library.tours))}" if library.tours else "there are no tours"
                raise PtexploreError(f"there is no tour or stop {name}", why, "ptexplore notes check", USAGE)
        indexed = self.main_tree
        resolver = Resolver(indexed.tree, indexed.store)
        placed = resolve_all(library, resolver, list(only) or None)
        pages = self.folder_pages
        checked = check_pages(indexed, pages) if not only else None
        of_folders = (*pages.problems, *checked.problems) if checked is not None else ()
        exercises = self.exercises if not only else None
        of_exercises = exercises.problems if exercises is not None else ()
        of_notes = (*library.problems, *broken_links(placed, resolver), *load_path(library).problems)
        problems = (*of_notes, *of_exercises, *of_folders)
        anchors = tuple(Checked(*row) for row in placed)
        labs = []
        with_labs = [(anchor.tour, anchor.stop) for anchor in anchors if run_labs and anchor.stop.labs]
        for result in self.run_labs(with_labs, timeout) if with_labs else ():
            ran(result)
            labs.append(result)
        if run_labs and exercises is not None and exercises.by_id:
            from ptexplore.workspace.exercise_runs import checked_models

            for result in checked_models(exercises.by_id.values(), self.torch):
                ran(result)
                labs.append(result)
        folders = tuple(layer.shown for layer in library.layers)
        return CheckView(indexed.tree.info, anchors, problems, tuple(labs) if run_labs else None, folders, checked)

    def run_labs(self, stops: Sequence[tuple[Tour, Stop]], timeout: float = 60.0) -> Iterator[LabResult]:
        """Runs the labs of these stops, if their file is shipped or trusted. Yields the results in order."""
        from ptexplore.workspace.lab_runs import run_labs

        return run_labs(stops, self.torch, lambda: self.lookup, timeout)

    def run_lab(self, tour: Tour, stop: Stop, lab: Lab) -> tuple[LabResult, Trace | None]:
        """Runs one lab. Returns the result, and the Trace if there is one."""
        from ptexplore.workspace.lab_runs import run_lab

        return run_lab(tour, stop, lab, lambda: (self.torch, self.lookup))

    def run_edited_lab(self, tour: Tour, lab: Lab, expression: str) -> EditedRun:
        """Runs a lab with another expression. Returns its value, or steps of its trace."""
        from ptexplore.workspace.lab_runs import run_edited

        return run_edited(tour, lab, expression, lambda: (self.torch, self.lookup))

    def plan_pins(self, only: Sequence[str] = ()) -> PinPlan:
        """Computes how the locks of the notes would change on the tree in use. `only` names tours or stops.

        Writes nothing.
        """
        from ptexplore.workspace.anchor_pins import plan_pins

        return plan_pins(self.library, self.main_tree, only)

    def new_note(self, target: str, note_id: str | None = None) -> NewNote:
        """Returns the text of a note on the target.

        Raises PtexploreError (USAGE) unless the target is exactly one thing.
        """
        from ptexplore.view.new_note import new_note

        return new_note(self.main_tree, target, note_id)

    def codetour_files(self, only: Sequence[str] = ()) -> list[Exported]:
        """Returns the tours as files for VS Code's CodeTour, made from the checkout's text. `only` names tours.

        Raises PtexploreError if a tour does not exist, if there are none, or if there is no checkout.
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
            why = "the export needs the text of a checkout, and only the installed torch's own text is in use"
            raise PtexploreError("there is no checkout to export for", why, "ptexplore fetch", MISSING)
        return codetour_files(library, indexed, tours)

    # --- long operations ---

    def index(self, request: IndexRequest) -> IndexRun:
        """Updates indexes, and refines and exports them if requested. Raises PtexploreError."""
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
        """Fetches a source tree.

        Without source and ref, it is the source of the installed torch, or the one that the project pins.

        Raises the errors of `source.fetch.fetch.fetch`, and PtexploreError if the torch is needed and missing.
        """
        from ptexplore.source.fetch.fetch import fetch

        project = find_project(Path.cwd())
        of_torch = request.source is None and request.ref is None and (project is None or project.pin is None)
        return fetch(request, self.runtime if of_torch else self.runtime_if_any, project, watcher)

    def survey(self, request: SurveyRequest, counting: Counting) -> Report:
        """Traces the samples of requested operators that are not saved yet, then reports on everything saved.

        `counting` shows how many of how many are done. Raises PtexploreError.
        """
        from ptexplore.workspace.survey import run_survey

        trees = self.lookup.infos  # so indexes are built now, once
        run_survey(request, self._survey_folder(request), self.python, self.runtime, trees, counting, self.notice)
        return self.survey_report(request)

    def survey_report(self, request: SurveyRequest) -> Report:
        """Returns the report on the saved results. Nothing runs. Raises PtexploreError(MISSING) if nothing is saved."""
        from ptexplore.workspace.survey import survey_report

        return survey_report(request, self._survey_folder(request))

    def _survey_folder(self, request: SurveyRequest) -> Folder:
        """Returns the folder of a survey. A named folder needs no torch."""
        from ptexplore.view.survey import Folder

        return Folder(request.out or survey_dir(self.runtime.key, request.phase))

    def health(self) -> Health:
        """Returns the state of the installed torch, trees and caches: present parts, relations, missing parts."""
        from ptexplore.view.health import health

        torch = self.torch
        note, compared = compared_checkouts(torch, self.watch)
        return health(torch.runtime, torch.tree, torch.catalogue, compared, note)

    def site_contents(self, traces: Sequence[str] = (), others: OtherRecordings | None = None) -> SiteContents:
        """Returns the contents of a site. `traces` are files of saved traces. Raises PtexploreError."""
        from ptexplore.lookup.link_targets import DefinitionsByName
        from ptexplore.lookup.use_meaning import UseReader
        from ptexplore.source.python_docs import doc_lines
        from ptexplore.workspace.site_contents import NOTHING, SiteContents, load_compiles, load_lowers, load_traces

        runtime = self.sources()[0]
        alone = self.tree not in (None, "runtime")
        # Before the trees: the relation of a checkout to the installed torch follows from its catalogue.
        torch = self.torch if runtime is not None and not alone else None
        trees = [self.main_tree]
        if trees[0].checkout is not None and torch is not None:
            trees += self.open_trees("runtime")
        library, marks_by_tree = self.library, self.marks(trees)
        reader = UseReader(DefinitionsByName([indexed.store for indexed in trees]))
        saved, docs = load_traces(traces), doc_lines(torch.tree) if torch is not None else {}
        others = others if others is not None else NOTHING
        return SiteContents(
            trees, torch, library, self.folder_pages, marks_by_tree, saved, reader, docs,
            load_compiles(others.compiles), others.graphs, load_lowers(others.lowers), others.tensors,
        )  # fmt: skip
