"""`ptexplore index --semantic [PATH…]`: resolve references of the checkout in use with libclang."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptexplore.errors import MISSING, PtexploreError

if TYPE_CHECKING:
    import argparse

    from ptexplore.index.semantic.refine import Refined
    from ptexplore.model import Checkout, Runtime
    from ptexplore.source.progress import Progress


def refine(
    options: argparse.Namespace, runtime: Runtime | None, chosen: list[Checkout | Runtime], progress: Progress
) -> tuple[Refined, str]:
    """Refine the checkout's fresh index; the result, and what the user should know of the headers that were used.

    Raises PtexploreError where there is no checkout, libclang is missing, or a name is wrong.
    """
    from ptexplore.cli.ready import index_of
    from ptexplore.index.relation import known
    from ptexplore.index.semantic.arguments import headers
    from ptexplore.index.semantic.refine import refine as refine_index
    from ptexplore.index.sources import available
    from ptexplore.model import Checkout
    from ptexplore.source import generated

    checkout = next((one for one in chosen if isinstance(one, Checkout)), None)
    if checkout is None:
        why = "libclang parses a checkout's own files, and nothing was fetched"
        raise PtexploreError("there is no checkout to refine", why, "ptexplore fetch", MISSING)
    if runtime is None:
        why = "generated and third-party headers are those of an installed torch"
        raise PtexploreError("there is no torch to take headers from", why, "ptexplore index --python PATH", MISSING)
    decision = known(checkout, runtime)
    note = ""
    if checkout.project == "pytorch" and (decision is None or decision.word != "matches"):
        version = checkout.release or checkout.version or "an unknown version"
        note = f"headers are of torch {runtime.version}, the checkout is {version}: expect errors where they differ"
    folder = generated.ensure(runtime, progress)
    where = headers(checkout.root, str(folder), runtime.torch_dir, runtime.python)
    done = refine_index(index_of(checkout), where, options.semantic, options.jobs or available(), progress)
    return done, note


def document(done: Refined, note: str) -> dict[str, Any]:
    """The same as JSON data."""
    return {
        "files": done.files,
        "references": {"resolved": done.resolved, "by_name": done.kept, "before": done.before},
        "units": [
            {
                "path": one.path,
                "errors": one.errors,
                "warnings": one.warnings,
                "failed": one.failed,
                "messages": [
                    {"severity": said.severity, "path": said.path, "line": said.line, "text": said.text}
                    for said in one.messages
                ],
            }
            for one in done.units
        ],
        "not_read": list(done.not_read),
        "changed": done.changed,
        "note": note,
        "seconds": round(done.seconds, 3),
    }
