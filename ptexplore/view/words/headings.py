"""The headings above the results of a search."""

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
FURTHER = "further {}"  # for results after the best ones, which come first


def heading(group: HitGroup, *, further: bool = False) -> str:
    """Returns the heading of results.

    `further`: the best results of all sorts are above; lines of text are never among them.
    """
    words = HEADINGS[group.sort]
    return FURTHER.format(words) if further and group.sort != "text" else words
