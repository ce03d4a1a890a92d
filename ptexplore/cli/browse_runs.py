"""What `browse` hands to its screens: what is opened when it is first needed, and work in processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ptexplore.annotations.records import Lab, Stop, Tour
    from ptexplore.cli.ready import Indexed
    from ptexplore.model import Trail
    from ptexplore.tui.library import Job, Runs
    from ptexplore.view.card import Card
    from ptexplore.view.labs import LabResult
    from ptexplore.view.noted import Noted
    from ptexplore.view.operators import Catalogue
    from ptexplore.view.trees import IndexedTree


def catalogue(trees: Sequence[IndexedTree], python: str | None) -> Catalogue | None:
    """The operators that the installed torch registered, where its catalogue is made already; torch does not start."""
    from ptexplore.cli.ready import runtime_of
    from ptexplore.locations import catalogue_file
    from ptexplore.source import generated
    from ptexplore.source.tree import runtime_tree
    from ptexplore.store.store import Stale, Store
    from ptexplore.view.operators import Catalogue

    number = next((n for n, one in enumerate(trees) if one.checkout is None), -1)
    try:
        runtime = runtime_of(python)
        store = Store.open(catalogue_file(runtime.key))
    except (PtexploreError, FileNotFoundError, Stale):
        return None
    return Catalogue(store, runtime_tree(runtime, generated.find(runtime)), number)


def marks(trees: Sequence[IndexedTree], folders: Sequence[str]) -> Noted:
    """Where the stops are on PyTorch's trees. Raises PtexploreError where a folder of notes cannot be read."""
    from ptexplore.annotations.load import layers
    from ptexplore.cli.noted import marks_on

    given = [(one.tree, one.store) for one in trees if one.checkout is None or one.checkout.project == "pytorch"]
    return marks_on(layers(folders), given)


def runs(options: argparse.Namespace) -> Runs:
    """What takes long, for this torch and these notes."""
    from ptexplore.cli.browse_child import run_child, run_lab, run_trace
    from ptexplore.cli.ready import indexes
    from ptexplore.render.pager import open_in_editor
    from ptexplore.tui.library import Runs

    where = ["--python", options.python] if options.python else []
    notes = [part for folder in options.notes for part in ("--notes", folder)]

    def trace(expression: str, job: Job) -> Trail:
        return run_trace([expression, *where], job)

    def lab(tour: Tour, stop: Stop, one: Lab, job: Job) -> tuple[LabResult, Trail | None]:
        return run_lab([tour.name_of(stop), one.id, *notes, *where], job)

    def index(job: Job) -> Sequence[Indexed]:
        run_child(["index", *where], job)
        return indexes(options.python, options.tree)

    def card(name: str) -> Card:
        from dataclasses import replace

        from ptexplore.cli.looking import look
        from ptexplore.cli.noted import on_lookup
        from ptexplore.cli.ready import ready
        from ptexplore.view.card import card
        from ptexplore.view.noted import on_card

        lookup = look(ready(options.python))
        found = card(lookup, name)
        return replace(found, notes=on_card(found, on_lookup(lookup)))

    return Runs(trace, lab, index, card, open_in_editor)
