"""Saved runs of `ptexplore graph`: a file that the user named, or the newest runs in the cache."""

from __future__ import annotations

from pathlib import Path

from ptexplore.errors import PtexploreError
from ptexplore.model.autograd_graph import LocatedGraph
from ptexplore.saved.graphs import WRITE_ONE, graph_from_json, graph_to_json
from ptexplore.workspace.kept_traces import keep_data, kept_file
from ptexplore.workspace.saved_compiles import packed_text
from ptexplore.workspace.saved_traces import read_saved, write_file

ENDING = ".graph.gz"
_EXAMPLE = 'ptexplore graph "a.exp().sum()"'


def load_graph(name: str) -> LocatedGraph:
    """Returns a saved graph. Raises PtexploreError (USAGE) if the file is not one."""
    return graph_from_json(read_saved(name, WRITE_ONE), name)


def save_graph(path: Path, located: LocatedGraph) -> None:
    """Writes a graph to a file. Raises PtexploreError if the file cannot be written."""
    write_file(path, _packed(located, str(path)))


def keep_graph(located: LocatedGraph) -> None:
    """Write a graph into the cache for `--last`, if that is possible."""
    try:
        data = _packed(located, "the graph")
    except PtexploreError:
        return
    keep_data(data, ENDING)


def last_graph(number: int = 1) -> Path:
    """Returns the file of the newest run, or of the `number`-th newest. Raises PtexploreError (missing) if none is."""
    return kept_file(number, ENDING, "graph", _EXAMPLE)


def _packed(located: LocatedGraph, name: str) -> bytes:
    return packed_text(graph_to_json(located), name, "ptexplore graph --json")
