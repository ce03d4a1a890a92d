"""`ptexplore skills`: the shipped pages for coding agents: list them, or copy them where an agent reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ptexplore.errors import USAGE, PtexploreError

FOLDER = ".claude/skills"


def skills(
    action: Annotated[str | None, Argument(metavar="[install]", help="copy the pages; else they are listed")] = None,
    folder: Annotated[
        str, Argument(metavar="[DIR]", help=f"the folder in which the agent looks for skills (default {FOLDER})")
    ] = FOLDER,
    force: Annotated[bool, Option("--force", help="replace pages that you or another release wrote")] = False,
) -> int:
    """List the skills for coding agents, or copy them: one page for each job, with the commands to use."""
    from ptexplore.surfaces.skills import install
    from ptexplore.surfaces.skills import skills as shipped

    if action is None:
        for page in shipped():
            print(f"{page.name}\n    {page.description}")
        return 0
    if action != "install":
        why = "the only action is install"
        raise PtexploreError(f"{action} is no action", why, "ptexplore skills install", USAGE)
    named = Path(folder)
    root = Path() if folder == FOLDER else named  # somebody else may have made the current folder
    for page, is_new in install(named, root=root, force=force):
        print(f"{'written' if is_new else 'as it was'}  {Path(folder) / page.name / 'SKILL.md'}")
    return 0
