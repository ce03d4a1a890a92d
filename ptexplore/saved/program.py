"""Saving and reading a recorded program: without the folders of a machine, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from ptexplore.model.program import HOLE, CallPath, Program, short_names
from ptexplore.model.program_order import sizes_of

# calls in one call of each route; a trace that can be loaded has at most 300,000 hops
MOST_IN_ROUTES = 500_000


def portable_program(program: Program, folder: str) -> Program:
    """Returns the program without the folders of its machine. `folder` is the one that contains torch's package.

    If two files have the same name, their names begin with the folders that distinguish them.
    """
    files = dict.fromkeys(
        (*(path.file for path in program.paths if path.file), *(text.file for text in program.sources))
    )
    is_inside = {file: bool(folder) and file.startswith(f"{folder}/") for file in files}
    names = short_names(file for file in files if not is_inside[file])
    names |= {file: file.removeprefix(f"{folder}/") for file in files if is_inside[file]}
    paths = tuple(_portable_path(path, names) for path in program.paths)
    sources = tuple(structs.replace(text, file=names[text.file]) for text in program.sources)
    return structs.replace(program, paths=paths, sources=sources)


def _portable_path(path: CallPath, names: Mapping[str, str]) -> CallPath:
    if not path.file:
        return path
    file = names[path.file]
    ours = path.source is not None and path.source.path == path.file
    source = replace(path.source, path=file) if ours and path.source is not None else path.source
    return structs.replace(path, file=file, source=source)


def flaw_of(program: Program) -> str | None:
    """Returns the error in a program read from a file. None if every number in it is valid.

    A number must refer to an earlier entry, so that there are no circles. The calls that recorded a node are an
    exception.
    """
    if not program.paths or any(
        (path.parent is None) != (number == 0) or (path.parent or 0) > max(number - 1, 0)
        for number, path in enumerate(program.paths)
    ):
        return "its paths are not a tree"
    kinds, routes = len(program.kinds), len(program.routes)
    if any(inner != HOLE and not 0 <= inner < n for n, kind in enumerate(program.kinds) for inner, _ in kind.inside):
        return "a kind of its operators calls one that does not exist"
    if any(
        route.kind >= kinds
        or route.sets >= len(program.sets)
        or max(route.recorded or 0, route.represented or 0) >= routes
        for route in program.routes
    ):
        return "a route of its operators has no target"
    sizes = sizes_of(program)
    if sum(sizes[route.kind] for route in program.routes) > MOST_IN_ROUTES:
        return f"its routes hold more than {MOST_IN_ROUTES:,} calls"
    if any(
        call.path >= len(program.paths) or call.route >= routes or (call.recorded or 0) >= len(program.calls)
        for call in program.calls
    ):
        return "calls of its operators have no target"
    if (program.failed or 0) >= len(program.paths):
        return "the row that raised is on no path"
    return None
