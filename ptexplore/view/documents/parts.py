"""Records that documents share: trees, references, stops; and the format number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ptexplore.model.places import Layer, Precision, Runtime, SourceRef, TreeInfo
from ptexplore.view.why_there import why_there

if TYPE_CHECKING:
    from ptexplore.annotations.marks import Mark

FORMAT = 1  # within a format, keys are only added


class TreeEntry(Struct, frozen=True, omit_defaults=True):
    """A tree: the installed torch's own text, or a checkout."""

    name: str  # `runtime`, or the checkout's name
    version: str  # of PyTorch, as the tree says
    layers: tuple[Layer, ...]  # what gives its text
    relation: Literal["runtime", "matches", "consistent", "version-skew"]  # the relation to the torch that runs
    commit: str | None = None  # the commit; left out if unknown


class Reference(Struct, frozen=True, omit_defaults=True):
    """A place in source."""

    tree: str  # the tree's name, as in `trees`
    path: str | None  # the canonical path; null if unknown
    line: int | None  # the first line, from 1; null if unknown
    end_line: int | None  # the last line
    layer: Layer | None  # what gives the file's text
    precision: Precision  # how the line is known ([precision.md](precision.md))
    url: str | None  # a permalink, if the text is certainly the text of a commit
    candidates: tuple[Reference, ...]  # for `ambiguous`
    reason: str | None = None  # why the place is not better known, in words; left out if there is nothing to say


class FileLine(Struct, frozen=True):
    """A line of a file."""

    path: str  # the canonical path
    line: int  # from 1


class StopMark(Struct, frozen=True):
    """A stop of a tour, or a note."""

    stop: str  # `dispatcher#redispatch`
    title: str  # its heading
    outcome: str  # what happened to the anchor
    path: str | None  # the file that it is about; null if its anchor has no place
    line: int | None  # the first line
    end_line: int | None  # the last line


class TorchBuild(Struct, frozen=True):
    """The installed torch."""

    version: str  # `2.13.0+cpu`
    git_version: str  # the commit that it was built from
    build: str  # `wheel` or `source`


def tree_entry(tree: TreeInfo) -> TreeEntry:
    """Returns a tree's name, version, layers, and its relation to the running torch."""
    return TreeEntry(tree.name, tree.version, tree.layers, tree.relation, tree.commit or None)


def reference(ref: SourceRef) -> Reference:
    """Returns a reference with every field that a reader may rely on."""
    return Reference(
        tree=ref.tree,
        path=ref.path,
        line=ref.line,
        end_line=ref.end_line,
        layer=ref.layer,
        precision=ref.precision,
        url=ref.url,
        candidates=tuple(map(reference, ref.candidates)),
        reason=why_there(ref.reason) if ref.reason is not None else None,
    )


def reference_if(ref: SourceRef | None) -> Reference | None:
    """Returns the reference of a place, or None if there is no place."""
    return reference(ref) if ref is not None else None


def stop_mark(mark: Mark) -> StopMark:
    """Returns a stop of a tour or note, with its place if it has one here."""
    return StopMark(mark.stop, mark.title, mark.outcome, mark.path or None, mark.line or None, mark.end_line or None)


def torch_build(runtime: Runtime) -> TorchBuild:
    """Returns the version, commit and build of the installed torch."""
    return TorchBuild(runtime.version, runtime.git_version, runtime.build)
