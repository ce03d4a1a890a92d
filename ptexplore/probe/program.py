"""Run a script once, under a recorder that folds what it calls as it goes."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from typing import Any

from . import native, passes
from . import torch_api as api
from .recording import Recorder

RECORDER = "program"


def run(request: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """Record the script: the message of this pass.

    It has what was recorded, the bound names, what the script raised and the tables of operators that changed. A
    script that is interrupted tells what it did until then. Raises Refused for names that cannot be bound.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running = passes.prepared(RECORDER, request)
    budget = float(request["native_budget"]) if request.get("native") and not request.get("native_op") else 0.0
    recorder = Recorder((request["script"],), budget, float(request["timeout"]))
    limit = sys.getrecursionlimit()
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        recorder.start()
        try:
            running.attempt("script", running.evaluate)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # from here on the answer is on its way
            recorder.stop()
    sys.setrecursionlimit(limit)
    told = recorder.told()
    seen = [(RECORDER, "raised", running.raised.told())] if running.raised is not None else []
    called = {kind["name"] for kind in told["kinds"] if kind["type"] == "op"}
    seen += [(native.RECORDER, kind, data) for kind, data in recorder.steps()]
    seen += [("ops", "table", table) for table in passes.changed_tables(called, known)] if known else []
    return {
        "sequence": recorder.digest,
        "imported": 0,
        "raised": running.raised is not None,
        "bound": running.names.bound,
        "result": {},
        "late": recorder.late,
        "program": told,
        "threads": api.records_all_threads(),
        "observations": [{"recorder": name, "kind": kind, "data": data} for name, kind, data in seen],
    }
