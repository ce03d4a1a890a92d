"""Saved runs of `ptexplore graph`."""

from __future__ import annotations

from ptexplore.saved.graphs import WRITE_ONE, graph_from_json, graph_to_json
from ptexplore.workspace.saved_runs import SavedRuns

GRAPHS = SavedRuns("graph", 'ptexplore graph "a.exp().sum()"', WRITE_ONE, graph_to_json, graph_from_json)
