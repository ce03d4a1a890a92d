"""What stands above a search's results of one sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.lookup.find import HitGroup
    from ptexplore.lookup.ranking import HitSort

HEADINGS: dict[HitSort, str] = {
    "best": "best",
    "symbol": "symbols",
    "atlas": "symbols whose text is not here (ptexplore fetch)",
    "operator": "operators",
    "folder": "folders",
    "file": "files",
    "note": "notes",
    "text": "text",
}
FURTHER = "further {}"  # of what is not among the best, which stand above


def heading(group: HitGroup, *, further: bool = False) -> str:
    """The heading of results; `further` where the best of all sorts stand above them. Lines of text are never best."""
    told = HEADINGS[group.sort]
    return FURTHER.format(told) if further and group.sort != "text" else told
