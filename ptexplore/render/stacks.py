"""Exports weighted frames to the formats of profile viewers: collapsed stacks, speedscope, Chrome's trace events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from ptexplore import __version__
from ptexplore.safe_text import clean
from ptexplore.view.trace.stacks import StackFrame, StackNode, Stacks, merged

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
WRITER = f"ptexplore {__version__}"


def exported(stacks: Stacks, form: str) -> str:
    """Returns the text of a file in the format `form`, one of FORMATS."""
    return FORMATS[form](stacks)


def collapsed(stacks: Stacks) -> str:
    """Returns a line for each stack: its frames, outermost first, joined by `;`, then a space and its weight."""
    lines = []
    for stack, weight in (pair for node in merged(stacks.threads) for pair in _stacks(node)):
        named = ";".join(clean(_title(frame)).replace(";", ",") or "?" for frame in stack)
        lines.append(f"{named} {weight}\n")
    return "".join(lines)


def speedscope(stacks: Stacks) -> str:
    """Returns a document in speedscope's own format: a sampled profile per thread, a weighted sample per stack."""
    frames: dict[StackFrame, int] = {}
    profiles: list[dict[str, object]] = []
    for thread in merged(stacks.threads):
        samples, weights = [], []
        for stack, weight in _stacks(thread):
            samples.append([frames.setdefault(frame, len(frames)) for frame in stack])
            weights.append(weight)
        total = sum(weights)
        unit = stacks.unit if stacks.unit == "nanoseconds" else "none"
        profile = {"type": "sampled", "name": thread.frame.name, "unit": unit, "startValue": 0, "endValue": total}
        profiles.append({**profile, "samples": samples, "weights": weights})
    document = {
        "$schema": SCHEMA,
        "name": f"{stacks.name} ({stacks.notes[0]})",
        "exporter": WRITER,
        "activeProfileIndex": 0,
        "shared": {"frames": [_speedscope_frame(frame) for frame in frames]},
        "profiles": profiles,
    }
    return json.dumps(document, separators=(",", ":"))


def _speedscope_frame(frame: StackFrame) -> dict[str, str | int]:
    record: dict[str, str | int] = {"name": frame.name}
    record |= {"file": frame.file} if frame.file is not None else {}
    return record | ({"line": frame.line} if frame.file is not None and frame.line is not None else {})


def chrome(stacks: Stacks) -> str:
    """Returns Chrome's trace events, which Perfetto reads: a complete event per frame, inside the event around it.

    Each event begins where the one before it ends. An instruction is shown as a nanosecond.
    """
    events: list[dict[str, object]] = [_metadata("process_name", 0, f"{stacks.name}: {stacks.notes[0]}")]
    for number, thread in enumerate(stacks.threads):
        events.append(_metadata("thread_name", number, "main" if not number else thread.frame.name))
        events += _events(thread, number)
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"writer": WRITER, "unit": stacks.unit, "notes": " | ".join(stacks.notes)},
        "traceEvents": events,
    }
    return json.dumps(document, separators=(",", ":"))


def _metadata(name: str, thread: int, text: str) -> dict[str, object]:
    return {"ph": "M", "name": name, "pid": 0, "tid": thread, "args": {"name": text}}


def _events(root: StackNode, thread: int) -> Iterator[dict[str, object]]:
    totals: dict[int, int] = {}
    for node in reversed(list(root.walk())):  # the inner nodes first
        totals[id(node)] = node.own + sum(totals[id(child)] for child in node.children)
    pending = [(root, 0)]
    while pending:
        node, begin = pending.pop()
        args: dict[str, object] = {"calls": node.calls, "self": node.own, **node.weights}
        if node.frame.file is not None:
            args["source"] = _place(node.frame)
        event = {"ph": "X", "name": node.frame.name, "cat": node.frame.kind, "pid": 0, "tid": thread}
        yield {**event, "ts": begin / 1000, "dur": totals[id(node)] / 1000, "args": args}
        inside = []
        for child in node.children:
            inside.append((child, begin))
            begin += totals[id(child)]
        pending += reversed(inside)


def _stacks(root: StackNode) -> Iterator[tuple[tuple[StackFrame, ...], int]]:
    """Yields every stack with a weight of its own, outermost frame first."""
    pending: list[tuple[StackNode, tuple[StackFrame, ...]]] = [(root, ())]
    while pending:
        node, around = pending.pop()
        stack = (*around, node.frame)
        if node.own:
            yield stack, node.own
        pending += [(child, stack) for child in reversed(node.children)]


def _title(frame: StackFrame) -> str:
    return f"{frame.name} ({_place(frame)})" if frame.file is not None else frame.name


def _place(frame: StackFrame) -> str:
    return f"{frame.file}:{frame.line}" if frame.line is not None else str(frame.file)


FORMATS: Mapping[str, Callable[[Stacks], str]] = {"collapsed": collapsed, "speedscope": speedscope, "chrome": chrome}
