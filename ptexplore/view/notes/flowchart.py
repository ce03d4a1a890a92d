"""A Mermaid flowchart as lines that a terminal can show: who leads to whom, by the words in the boxes."""

from __future__ import annotations

import re
from typing import NamedTuple

_NODE = r'(?P<{0}>\w+)(?:\["(?P<{0}_text>[^"\]]*)"\])?'
_EDGE = re.compile(
    rf'\s*{_NODE.format("source")}\s*(?:-->|--\s*"(?P<label>[^"]*)"\s*-->)\s*{_NODE.format("target")}\s*'
)
_HEAD = re.compile(r"\s*(flowchart|graph)\s+(TD|TB|LR|RL|BT)\s*")


class Edge(NamedTuple):
    """An arrow between two boxes: their names, the words in them, what stands beside the arrow."""

    source: str
    target: str
    source_text: str
    target_text: str
    label: str


def edges(picture: str) -> list[Edge] | None:
    """The arrows in the order written; None for any other picture, to be shown as it is."""
    head, *rest = picture.strip().split("\n")
    if not rest or not _HEAD.fullmatch(head):
        return None
    found = [_EDGE.fullmatch(line) for line in rest]
    whole = [edge for edge in found if edge is not None]
    if len(whole) != len(found):
        return None
    words = {edge[end]: edge[f"{end}_text"] for edge in whole for end in ("source", "target") if edge[f"{end}_text"]}
    return [
        Edge(a, b, words.get(a, a), words.get(b, b), label or "")
        for a, b, label in (edge.group("source", "target", "label") for edge in whole)
    ]


def arrows(picture: str) -> list[str] | None:
    """Each box with its arrows under it, in the order written; None for any other picture, to be shown as it is."""
    found = edges(picture)
    if found is None:
        return None
    lines: list[str] = []
    before = None
    for edge in found:
        if edge.source != before:
            lines.append(edge.source_text)
        before = edge.source
        lines.append(f"  -- {edge.label} --> {edge.target_text}" if edge.label else f"  --> {edge.target_text}")
    return lines
