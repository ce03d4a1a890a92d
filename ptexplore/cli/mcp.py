"""`ptexplore mcp`: a server that answers a coding agent over standard input and output."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from ptexplore.cli.options import Python
from ptexplore.errors import MISSING, USAGE, PtexploreError

MOST_SECONDS, MOST_MEMORY = 3600.0, 1024


def mcp(
    allow_run: Annotated[
        bool, Option("--allow-run", help="run the expressions and scripts that the agent gives; else it can only read")
    ] = False,
    timeout: Annotated[float, Option(metavar="SECONDS", help="with --allow-run: the time of one run")] = 60.0,
    memory: Annotated[
        int, Option(min=1, max=MOST_MEMORY, metavar="GIB", help="with --allow-run: the memory of a run's process")
    ] = 8,
    python: Python = None,
) -> int:
    """Serve a coding agent (Model Context Protocol). Your agent starts this command; it is not for typing.

    The agent can look up operators, names, source, errors and tours. With --allow-run it can also trace code.
    """
    from ptexplore.surfaces.isolated import RunLimits

    if not 0 < timeout <= MOST_SECONDS:
        why = f"{timeout:g} is not above 0 and up to {MOST_SECONDS:g}"
        raise PtexploreError("--timeout must be a number of seconds", why, "--timeout 60", USAGE)
    try:
        from ptexplore.surfaces.mcp import make_server
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "pydantic", "mcp.server"):
            raise
        why = "the package mcp, which speaks to agents, is not installed"
        raise PtexploreError("ptexplore mcp cannot start", why, 'pip install "ptexplore[mcp]"', MISSING) from error
    try:
        make_server(python, allow_run=allow_run, limits=RunLimits(timeout, memory << 30)).run("stdio")
    except Exception as error:
        if not _is_of_a_lost_client(error):
            raise
    return 0


def _is_of_a_lost_client(error: BaseException) -> bool:
    """Whether nothing but broken pipes is in an error, which may be a group of errors: the agent went away."""
    inner = getattr(error, "exceptions", None)
    return all(map(_is_of_a_lost_client, inner)) if inner else isinstance(error, (BrokenPipeError, ConnectionError))
