"""The work of `ptexplore index`: updating indexes, refining them with libclang, exporting them for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ptexplore.errors import MISSING, PtexploreError
from ptexplore.model.places import Checkout, Runtime
from ptexplore.source.progress import Progress
from ptexplore.source.runtime import generated
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore
from ptexplore.view.index_summary import IndexSummary, WrittenTags, summary
from ptexplore.workspace.opening import index_of, opened, refresh

if TYPE_CHECKING:
    from ptexplore.index.semantic.refine import Refined

ExportFormat = Literal["ctags", "scip"]


@dataclass(frozen=True)
class IndexRequest:
    """The request for an index run: `checkout` names one; None stands for all sources in use.

    `jobs` is the number of reading processes.

    `semantic` are the paths whose uses libclang then resolves. `export` is the format and the file to export to;
    `force` may replace another file of that format.
    """

    checkout: str | None = None
    jobs: int | None = None
    semantic: Sequence[str] | None = None
    export: tuple[ExportFormat, Path] | None = None
    force: bool = False


@dataclass(frozen=True)
class IndexRun:
    """The result of a run: a summary of each index, the result of libclang, the exported tags.

    `note` is a remark about the headers that libclang used.
    """

    summaries: tuple[IndexSummary, ...]
    refined: Refined | None = None
    note: str = ""
    tags: WrittenTags | None = None


def run_index(
    request: IndexRequest, runtime: Runtime | None, sources: Sequence[Checkout | Runtime], progress: Progress
) -> IndexRun:
    """Indexes each source, then refines and exports the checkout if requested. Raises PtexploreError."""
    summaries = []
    for source in sources:
        built = refresh(source, runtime, progress, request.jobs)
        name = f"torch {source.version}" if isinstance(source, Runtime) else source.name
        summaries.append(summary(name, built, IndexStore.open(index_of(source))))
    checkout = next((source for source in sources if isinstance(source, Checkout)), None)
    refined, note, tags = None, "", None
    if request.semantic is not None:
        refined, note = _refine(request, runtime, checkout, progress)
    if request.export is not None:
        tags = _export(*request.export, checkout, progress, force=request.force)
    return IndexRun(tuple(summaries), refined, note, tags)


def _refine(
    request: IndexRequest, runtime: Runtime | None, checkout: Checkout | None, progress: Progress
) -> tuple[Refined, str]:
    """Refines the checkout's fresh index. Returns the result, and a note on the headers that were used."""
    from ptexplore.index.build import available
    from ptexplore.index.semantic.arguments import headers
    from ptexplore.index.semantic.refine import refine
    from ptexplore.resolve.places.relation import known

    if checkout is None:
        why = "libclang parses the files of a checkout, and nothing was fetched"
        raise PtexploreError("there is no checkout to parse", why, "ptexplore fetch", MISSING)
    if runtime is None:
        why = "generated and third-party headers come from an installed torch"
        raise PtexploreError("there is no torch to take headers from", why, "ptexplore index --python PATH", MISSING)
    note = ""
    with closing(opened(checkout)) as index:
        word = known(checkout, runtime, index)
    if checkout.project == "pytorch" and word != "matches":
        version = checkout.release or checkout.version or "an unknown version"
        note = (
            f"the headers are from torch {runtime.version}, the checkout is {version}: expect errors where they differ"
        )
    folder = generated.ensure(runtime, progress)
    places = headers(checkout.root, str(folder), runtime.torch_dir, runtime.python)
    return refine(index_of(checkout), places, request.semantic or (), request.jobs or available(), progress), note


def _export(
    kind: ExportFormat, file: Path, checkout: Checkout | None, progress: Progress, *, force: bool
) -> WrittenTags:
    from ptexplore.index.export import write_tags
    from ptexplore.index.scip import write_scip

    if checkout is None:
        why = "an export names the files of a checkout, and nothing was fetched"
        raise PtexploreError("there is no checkout to export", why, "ptexplore fetch", MISSING)
    target = file.absolute()
    progress.step("writing tags" if kind == "ctags" else "writing SCIP")
    store, root = IndexStore.open(index_of(checkout)), Path(checkout.root)
    try:
        if kind == "ctags":
            count = write_tags(store, root, target, force=force)
        else:
            count = write_scip(store, checkout_tree(checkout), root, target, force=force)
    except OSError as error:
        why = f"{error.filename or target}: {error.strerror or error}"
        raise PtexploreError("the export cannot be written", why, "choose another FILE") from error
    return WrittenTags(checkout.name, str(target), count, "tags" if kind == "ctags" else "symbols")
