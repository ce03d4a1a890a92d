"""A Mermaid flowchart as lines that a terminal can show: who leads to whom, by the words in the boxes."""

from __future__ import annotations

import re

_NODE = r'(?P<{0}>\w+)(?:\["(?P<{0}_text>[^"\]]*)"\])?'
_EDGE = re.compile(
    rf'\s*{_NODE.format("source")}\s*(?:-->|--\s*"(?P<label>[^"]*)"\s*-->)\s*{_NODE.format("target")}\s*'
)
_HEAD = re.compile(r"\s*(flowchart|graph)\s+(TD|TB|LR|RL|BT)\s*")


def arrows(picture: str) -> list[str] | None:
    """Each box with its arrows under it, in the order written; None for any other picture, to be shown as it is."""
    head, *rest = picture.strip().split("\n")
    if not rest or not _HEAD.fullmatch(head):
        return None
    found = [_EDGE.fullmatch(line) for line in rest]
    edges = [edge for edge in found if edge is not None]
    if len(edges) != len(found):
        return None
    words = {edge[end]: edge[f"{end}_text"] for edge in edges for end in ("source", "target") if edge[f"{end}_text"]}
    lines: list[str] = []
    before = None
    for edge in edges:
        source, target = (words.get(edge[end], edge[end]) for end in ("source", "target"))
        if edge["source"] != before:
            lines.append(source)
        before = edge["source"]
        lines.append(f"  -- {edge['label']} --> {target}" if edge["label"] else f"  --> {target}")
    return lines
