"""Saved runs of `ptexplore compile`."""

from __future__ import annotations

from ptexplore.saved.compiled import WRITE_ONE, compile_from_json, compile_to_json
from ptexplore.workspace.saved_runs import SavedRuns

COMPILES = SavedRuns("compile", "ptexplore compile --script train.py", WRITE_ONE, compile_to_json, compile_from_json)
