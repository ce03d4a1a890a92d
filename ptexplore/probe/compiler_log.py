"""Reads torch's structured log of the compiler while a program runs, and keeps the parts that are shown.

The log is a logger of torch ("torch.__trace"). A record has a dictionary of metadata and a text. Names of records
differ between versions: a record that this version does not write is missing in the result.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import torch_api as api
from .eager_calls import EagerCallCounter
from .guarded_values import values_in

if TYPE_CHECKING:
    from .messages import (
        CodeLineData,
        CompileEndData,
        CompilePhaseData,
        CompilerLogData,
        CompilerTextData,
        CompileStartData,
        DynamicChangeData,
        FusionRefusalData,
        GuardLineData,
    )

RECOMPILED = "recompile_reasons"
GUARDS = "dynamo_cpp_guards_str"
BREAK = "dynamo_graph_break_reason"
GRAPH_CODE = "inductor_output_code"
KERNEL_OPERATORS = "inductor_provenance_tracking_node_mappings"
LOWERED = "inductor_post_grad_graph"
# Texts that are kept: records of their own, and artifacts.
TEXTS = frozenset((
    GUARDS, "dynamo_output_graph", BREAK, RECOMPILED, GRAPH_CODE, KERNEL_OPERATORS, "aot_forward_graph",
    "aot_backward_graph", LOWERED, "inductor_provenance_tracking_kernel_stack_traces",
))  # fmt: skip
METRICS = ("compilation_metrics", "bwd_compilation_metrics")
MOST_TEXT = 64 << 20  # characters of all texts together
LONGEST = 4 << 20  # characters of one text
MOST_PHASES = 100_000
MOST_REFUSALS = 20_000
LONGEST_REASON = 400  # characters
_BEGINS, _ENDS, _INSTANT = "B", "E", "i"  # the kinds of events of the Chrome trace format


class LogReader:
    """Takes the records of the log as they come, and gives the whole log at the end."""

    def __init__(self) -> None:
        self._starts: list[CompileStartData] = []
        self._ends: list[CompileEndData] = []
        self._texts: list[CompilerTextData] = []
        self._phases: list[CompilePhaseData] = []
        self._changes: list[DynamicChangeData] = []
        self._open: dict[int, list[tuple[str, float]]] = {}  # by thread: the phases that have begun
        self._runs: dict[str, int] = {}
        self._eager = EagerCallCounter()
        self._refusals: dict[tuple[object, ...], FusionRefusalData] = {}
        self._begun: set[str | None] = set()  # compilations that have begun
        self._broken: set[str] = set()  # compilations that have met a break
        self._counts = False  # whether the runs of graphs are counted
        self._kept = 0  # characters of texts
        self._lost = 0
        self._is_there: Callable[[], bool] = lambda: True  # whether the program has left our handler in its place
        self._is_removed = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read the records that come in this block."""
        with api.compiler_records(self._take) as self._is_there:
            try:
                yield
            finally:
                self._is_removed = not self._is_there()
                self._eager.finish()
                api.hear_no_refused_fusions()
                api.count_no_graph_runs()

    def data(self) -> CompilerLogData:
        """Return the log so far."""
        return {
            "starts": list(self._starts),
            "ends": list(self._ends),
            "texts": list(self._texts),
            "phases": list(self._phases),
            "changes": list(self._changes),
            "runs": [{"compilation": key, "runs": runs} for key, runs in list(self._runs.items())]
            if self._counts
            else None,
            "refusals": list(self._refusals.values()),
            "eager": [{"compilation": key, "calls": calls} for key, calls in self._eager.data()],
            "lost": self._lost,
            "is_removed": self._is_removed,
        }

    def _take(self, metadata: Any, payload: Any) -> None:
        try:
            self._read(metadata, payload)
        except Exception:  # a record of a form that no known version writes
            self._lost += 1

    def _read(self, metadata: Mapping[str, Any], payload: Any) -> None:
        name = str(next(iter(metadata), ""))
        about: Any = metadata.get(name)
        if name == "artifact":
            name = str(about["name"])
        key = _compilation(metadata)
        attempt = int(metadata.get("attempt") or 0)
        if name == "dynamo_start" and key is not None:
            self._start(key, attempt, about)
        elif name in METRICS:
            is_refused = about.get("fail_type") is not None and key not in self._begun
            end = _end(key, about, is_backward=name != METRICS[0] and not is_refused)
            end["texts"] = len(self._texts)
            if "fail_type" in end:
                end["is_raised"] = api.raises_failure(sys._getframe(1), str(end["fail_type"]))
            self._ends.append(end)
            if not end.get("is_backward"):
                self._watch(end["compilation"], end)
        elif name == "chromium_event":
            self._event(key, json.loads(payload))
        elif name in TEXTS:
            if name == LOWERED:  # the scheduler is imported by now, and works after this record
                api.hear_refused_fusions(self._refuse)
            text = payload if isinstance(payload, str) else json.dumps(payload, default=str)
            self._text(name, key, attempt, text, about)

    def _watch(self, key: str, end: CompileEndData) -> None:
        """Count the calls of a function from now on, if Dynamo leaves it to Python."""
        is_given_up = "fail_type" in end or (key in self._broken and end.get("is_compiled") is False)
        code = api.code_to_compile(sys._getframe(1)) if is_given_up and not end.get("is_raised") else None
        if code is not None:
            self._eager.watch(code, key)
        self._eager.ends(key)

    def _start(self, key: str, attempt: int, about: Mapping[str, Any]) -> None:
        self._eager.begins(key)
        self._begun.add(key)
        if not self._counts:  # Dynamo is imported by now
            self._counts = api.count_graph_runs(self._runs)
        stack = list(_lines(about.get("stack") or ()))
        code = api.code_to_compile(sys._getframe(1))
        started: CompileStartData = {"compilation": key, "attempt": attempt, "stack": stack}
        if code is not None and stack and code.co_name == stack[-1]["function"]:
            started["qualname"] = getattr(code, "co_qualname", "")
            started["wraps"] = api.wrapped_in(code, sys._getframe(1))
        self._starts.append(started)

    def _refuse(self, compilation: str | None, first: Sequence[str], second: Sequence[str], reason: str) -> None:
        if len(self._refusals) < MOST_REFUSALS:
            refusal: FusionRefusalData = {
                "compilation": compilation, "first": list(first), "second": list(second),
                "reason": reason[:LONGEST_REASON], "texts": len(self._texts),
            }  # fmt: skip
            self._refusals[compilation, len(self._texts), tuple(first), tuple(second)] = refusal

    def _text(self, name: str, key: str | None, attempt: int, text: str, about: Any) -> None:
        if len(text) > LONGEST or self._kept + len(text) > MOST_TEXT:
            self._lost += 1
            return
        self._kept += len(text)
        kept: CompilerTextData = {"name": name, "compilation": key, "attempt": attempt, "text": text}
        if name == GRAPH_CODE and isinstance(about, Mapping):
            kept["file"] = str(about.get("filename") or "")
        if name == RECOMPILED:
            kept["values"] = _values(text, sys._getframe(1))
        elif name == GUARDS:
            kept["made"] = list(_makers(sys._getframe(1)))
        elif name == KERNEL_OPERATORS:
            kept["operators"] = api.kernel_operators()
        elif name == BREAK and key is not None:
            self._broken.add(key)
        self._texts.append(kept)

    def _event(self, key: str | None, event: Mapping[str, Any]) -> None:
        kind, name = event.get("ph"), str(event.get("name"))
        about = event.get("args") or {}
        if kind == _INSTANT:
            if name == "automatic_dynamic":
                self._changes.append({
                    "compilation": str(about.get("compile_id") or key),
                    "name": str(about.get("name")),
                    "reason": str(about.get("reason")),
                    "before": str(about.get("cached")),
                    "after": str(about.get("new")),
                })  # fmt: skip
            return
        begun = self._open.setdefault(threading.get_ident(), [])
        at = float(event.get("ts") or 0.0)
        if kind == _BEGINS:
            begun.append((name, at))
        elif kind == _ENDS and any(other == name for other, _ in begun):
            while begun[-1][0] != name:  # a phase that an error left without an end
                begun.pop()
            _, begin = begun.pop()
            if len(self._phases) < MOST_PHASES:
                seconds = (at - begin) / 1e6
                given = about.get("compile_id")
                compilation = key if given in (None, "None") else str(given)
                phase: CompilePhaseData = {
                    "name": name, "compilation": compilation, "begin": begin, "seconds": seconds, "depth": len(begun),
                }  # fmt: skip
                self._phases.append(phase)
            else:
                self._lost += 1


def _compilation(metadata: Mapping[str, Any]) -> str | None:
    """Return the id of the compilation that a record is about, as torch writes it; None for no compilation."""
    frame, again, autograd = (metadata.get(name) for name in ("frame_id", "frame_compile_id", "compiled_autograd_id"))
    parts = ([f"!{autograd}"] if autograd is not None else []) + ([f"{frame}/{again}"] if frame is not None else [])
    return "/".join(parts) or None


def _lines(stack: Any) -> Iterator[CodeLineData]:
    """Yield the lines of a stack, whose file names torch writes as numbers."""
    files = api.interned_strings()
    for frame in stack:
        file = frame.get("filename")
        line: CodeLineData = {
            "file": files.get(file, "?") if isinstance(file, int) else str(file),
            "line": int(frame.get("line") or 0),
            "function": str(frame.get("name")),
        }
        if frame.get("loc"):
            line["text"] = str(frame["loc"])
        yield line


def _makers(frame: FrameType) -> Iterator[GuardLineData]:
    """Yield the user's line behind each guard: the text names a line of torch, or no line in older versions."""
    for subject, stack in api.guard_stacks(frame):
        innermost = stack[-1]
        yours = next((call for call in reversed(stack) if not api.is_torchs_file(call.filename)), None)
        if yours is not None:
            at: CodeLineData = {"file": yours.filename, "line": yours.lineno or 0, "function": yours.name}
            if yours.line:
                at["text"] = yours.line
            yield {"subject": subject, "line": innermost.lineno or 0, "at": at}


def _end(key: str | None, about: Mapping[str, Any], *, is_backward: bool) -> CompileEndData:
    """Return the figures of a compilation that are shown."""
    end: CompileEndData = {"compilation": key or str(about.get("compile_id")), "is_backward": is_backward}
    if about.get("co_name") is not None:
        end["function"], end["file"] = str(about["co_name"]), str(about.get("co_filename"))
        end["line"] = int(about.get("co_firstlineno") or 0)
    numbers = {"guards": "guard_count", "shape_guards": "shape_env_guard_count", "operators": "graph_op_count"}
    for field, name in numbers.items():
        if isinstance(about.get(name), int):
            end[field] = about[name]  # type: ignore[literal-required]
    if isinstance(about.get("has_guarded_code"), bool):
        end["is_compiled"] = about["has_guarded_code"]
    if about.get("fail_type") is not None:
        end["fail_type"], end["fail_reason"] = str(about["fail_type"]), str(about.get("fail_reason") or "")[:LONGEST]
    if about.get("fail_user_frame_filename"):
        end["fail_file"] = str(about["fail_user_frame_filename"])
        end["fail_line"] = int(about.get("fail_user_frame_lineno") or 0)
    restarts = about.get("restart_reasons")
    if restarts:
        end["restarts"] = sorted(map(str, restarts)) if not isinstance(restarts, str) else [restarts]
    seconds = about.get("entire_frame_compile_time_s")
    backward = about.get("backward_cumulative_compile_time_us")
    if isinstance(seconds, (int, float)):
        end["seconds"] = float(seconds)
    elif isinstance(backward, (int, float)):
        end["seconds"] = backward / 1e6
    if isinstance(about.get("guard_latency_us"), (int, float)):
        end["guard_latency"] = float(about["guard_latency_us"])
    return end


def _values(text: str, frame: FrameType | None) -> dict[str, str]:
    """Return the values that the guards in a recompilation's reasons are about, as they are now."""
    names = api.names_to_compile(frame)
    if names is None:
        return {}
    reasons = json.loads(text) if text.startswith(("[", '"')) else text
    return values_in(reasons if isinstance(reasons, list) else [str(reasons)], *names)
