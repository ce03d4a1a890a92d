"""`ptexplore notes trust DIR|FILE`: allow the labs of these very files to run, after showing what they would run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.errors import FAILED, MISSING, PtexploreError

if TYPE_CHECKING:
    from ptexplore.annotations.records import Problem, Tour


def trust_notes(
    path: Annotated[str, Argument(metavar="DIR|FILE", help="a folder of notes, or one file")],
    revoke: Annotated[bool, Option("--revoke", help="trust them no longer")] = False,
) -> int:
    """Labs run code with your rights. Trust is in a file's content: a changed file is trusted anew."""
    from ptexplore.annotations.trust import forget, trust
    from ptexplore.render.terminal.notes import print_trusted

    tours, problems = _tours(Path(path), path)
    held = [tour for tour in tours if any(stop.labs for stop in tour.stops)]
    try:
        (forget if revoke else trust)(held)
    except OSError as error:
        why = f"{error.strerror or error}: {error.filename}"
        raise PtexploreError(
            "the cache cannot be written", why, "set PTEXPLORE_CACHE to another folder", MISSING
        ) from error
    print_trusted(held, problems, revoked=revoke)
    return FAILED if problems else 0


def _tours(path: Path, shown: str) -> tuple[list[Tour], list[Problem]]:
    from ptexplore.annotations.format import Origin, parse
    from ptexplore.annotations.load import Layer, load, read_bytes

    if path.is_dir():
        library = load([Layer(path, shown.rstrip("/") or "/")])
        return list(library.tours.values()), library.problems
    try:
        data = read_bytes(path)
    except OSError as error:
        why = error.strerror or str(error)
        raise PtexploreError(f"{shown} cannot be read", why, "ptexplore notes trust DIR", MISSING) from error
    # Which of the two it is shows in its front matter: a tour has a level.
    kinds = [parse(data, kind, Origin(shown)) for kind in ("tour", "note")]
    tour, problems = next((one for one in kinds if one[0] is not None), kinds["tours" not in path.parts])
    return ([tour] if tour is not None else []), problems
