"""The page of a folder."""

from __future__ import annotations

from msgspec import Struct, field

from ptexplore.view.documents.parts import FORMAT, Reference, TreeEntry, reference_if, tree_entry
from ptexplore.view.notes.folder import FolderView, StartRow


class FolderStart(Struct, frozen=True):
    """A file to start reading with."""

    path: str  # the file
    symbol: str | None  # a name in it
    why: str  # why you should read the file
    source: Reference | None  # the place; null if the tree does not have it


class FolderInside(Struct, frozen=True):
    """A subfolder."""

    path: str  # the canonical path
    files: int  # how many files the tree has below it; 0 if it is not part of this tree
    text: str | None  # a description
    rare: bool  # whether few readers need it


class FolderFile(Struct, frozen=True):
    """A file in the folder."""

    path: str  # the canonical path
    lines: int  # how many lines it has
    layer: str  # what gives its text, as in a [Reference](#reference)


class FolderTour(Struct, frozen=True):
    """A tour that passes through the folder."""

    tour: str  # its name
    stops: int  # how many of its stops are in the folder
    total: int = field(name="of")  # how many stops the tour has
    first: str  # the first of its stops in the folder


class FolderDocument(Struct, frozen=True):
    """`show DIR --json`."""

    format: int  # 1
    folder: str  # the canonical path; empty for the whole tree
    tree: TreeEntry  # the tree that has the folder
    title: str  # its heading
    summary: str | None  # the purpose of the folder; null without a page, like the next keys
    intro: str | None  # more about the purpose, in Markdown
    in_a_build: str | None  # what a build makes of the folder
    trace: str | None  # an expression whose trace passes through it
    facts: tuple[str, ...]  # remarks about the page
    newer: str | None  # how the folder of this tree's version differs from the page
    total: int  # how many files the folder has, subfolders included
    start: tuple[FolderStart, ...]  # where to start reading
    folders: tuple[FolderInside, ...]  # the folders inside
    files: tuple[FolderFile, ...]  # the files in the folder
    tours: tuple[FolderTour, ...]  # the tours that pass through the folder


def folder_document(view: FolderView) -> FolderDocument:
    """Returns the document of a folder's page."""
    page = view.page
    return FolderDocument(
        format=FORMAT,
        folder=view.folder,
        tree=tree_entry(view.spot.tree),
        title=view.title,
        summary=page.summary if page is not None else None,
        intro=page.intro if page is not None else None,
        in_a_build=page.build or None if page is not None else None,
        trace=page.expression or None if page is not None else None,
        facts=view.facts,
        newer=view.newer or None,
        total=view.total,
        start=tuple(map(_folder_start, view.start)),
        folders=tuple(FolderInside(row.path, row.files, row.text or None, row.rare) for row in view.folders),
        files=tuple(FolderFile(file.path, file.lines, file.layer) for file in view.files),
        tours=tuple(FolderTour(row.tour.id, row.stops, len(row.tour.stops), row.first) for row in view.tours),
    )


def _folder_start(row: StartRow) -> FolderStart:
    entry = row.entry
    source = reference_if(row.spot.ref if row.spot is not None else None)
    return FolderStart(entry.path, entry.symbol or None, entry.why, source)
