"""Who wrote in place to a tensor that a node of the graph had saved: found in a run of its own.

A hook on saved tensors is called when a node saves a tensor, and again when the node needs it. Between the two, a trace
function runs after each instruction of your Python that can run other code. It reads how often each saved tensor has
been written to. If a count has changed, the instruction before has written. Torch's own Python is not traced, so your
line `opt.step()` is named.

The hooks turn off torch's own check (torch/csrc/autograd/saved_variable.cpp), so this run does the check itself. Torch
does not allow such hooks inside functorch's transforms. So this run is never the run that is shown.
"""

from __future__ import annotations

import dis
import linecache
import os
import sys
import sysconfig
import weakref
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

from . import autograd, passes
from . import torch_api as api
from .observations import seen
from .reasons import reason
from .stepper import Unavailable
from .whose import GIVEN, OURS

if TYPE_CHECKING:
    from .messages import PythonPlaceData, RunRequestData, RunToldData, SavedTensorWritesData, TensorWriteData

RECORDER: Final = "writes"
REASON = b"has been modified by an inplace operation"
MOST_SAVED = 20_000  # saved tensors that are watched at the same time
MOST_LOOKS = 300_000  # instructions of your Python that are followed by a marker
LOOKED = "looked"  # the marker's name: no count of a saved tensor has changed since the one before it
TEXT_LIMIT = 2000  # characters kept of one place's text
RUNNING = (
    "CALL", "PRECALL", "BINARY_", "INPLACE_", "UNARY_", "COMPARE_", "CONTAINS_", "STORE_SUBSCR", "DELETE_SUBSCR",
    "STORE_ATTR", "DELETE_ATTR", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER", "FOR_ITER", "GET_ITER", "SEND", "YIELD",
    "WITH", "BEFORE_WITH", "TO_BOOL", "POP_JUMP", "JUMP_IF", "IMPORT", "FORMAT", "UNPACK", "LIST_EXTEND", "PRINT",
)  # fmt: skip
STORING = ("STORE_", "DELETE_")  # their columns leave out the stored value


class Modified(RuntimeError):
    """The error that this run raises in place of torch's error. An `except` for torch's error also catches this one."""


@dataclass(frozen=True)
class Instruction:
    """An instruction of your Python, by its code and offset."""

    code: CodeType
    offset: int
    line: int


@dataclass(frozen=True)
class Write:
    """A write: the instruction, the counts before and after, and the number of the marker that follows it.

    `is_parted`: whether a marker precedes the instruction, which separates its operators from earlier ones.
    """

    at: Instruction | None
    before: int
    after: int
    mark: int
    is_parted: bool


@dataclass(eq=False)
class SavedTensor:
    """A tensor that a node saved, its count of writes at that time, and the later writes to it."""

    number: int
    tensor: Any
    expected: int
    at: Instruction | None
    seen: int
    writes: list[Write] = field(default_factory=list)


@dataclass(frozen=True)
class LateRequest:
    """A node's request for a saved tensor that had been written to before."""

    saved: SavedTensor
    version: int
    node: str | None
    memory: int | None


class WriteRecorder:
    """The hooks and the trace function; `late` has the late requests that they saw, in order."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.late: list[LateRequest] = []
        self.cut = False
        self._texts = texts
        self._live: weakref.WeakSet[SavedTensor] = weakref.WeakSet()
        self._count = self._marks = self._looks = 0
        self._at: Instruction | None = None  # the last instruction
        self._busy = False  # our own code runs; its generated methods are in no file of ours
        self._running: dict[CodeType, dict[int, bool]] = {}
        self._wanted: dict[str, bool] = {}
        library = sysconfig.get_paths()
        self._standard = library["stdlib"] + os.sep
        self._packages = tuple({library["purelib"] + os.sep, library["platlib"] + os.sep})
        self._torch = api.TORCH_DIR + os.sep

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Watch inside this block, and then put back the earlier trace function."""
        before = sys.gettrace()
        # In Python 3.12, f_trace_opcodes takes effect only at the next sys.settrace after it is set.
        sys._getframe().f_trace_opcodes = True
        with api.saved_tensors_hooks(self._save, self._ask):
            sys.settrace(self._entered)
            try:
                yield
            finally:
                sys.settrace(before)

    # --- the hooks ---

    def _save(self, tensor: Any) -> Any:
        with self._own():
            return self._packed(tensor)

    def _packed(self, tensor: Any) -> Any:
        with api.without_overrides():
            version = api.version(tensor)
        self._look()
        if version is None:
            return tensor
        if len(self._live) >= MOST_SAVED:
            self.cut = True
            return tensor
        self._count += 1
        saved = SavedTensor(self._count, tensor, version, self._yours(sys._getframe(2)), version)
        self._live.add(saved)
        with api.marker(f"saved:{saved.number}"):
            pass
        return saved

    def _ask(self, packed: Any) -> Any:
        if not isinstance(packed, SavedTensor):
            return packed
        with self._own(), api.without_overrides():
            self._look()
            version = api.version(packed.tensor)
            is_modified = version is not None and version != packed.expected
            if version is not None and is_modified:
                self.late.append(LateRequest(packed, version, api.running_node(), api.memory(packed.tensor)))
        if is_modified:
            raise Modified("a saved tensor has been modified by an inplace operation")
        return packed.tensor

    @contextmanager
    def _own(self) -> Iterator[None]:
        """Mark the code in this block as ptexplore's own, so that it is not traced."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def _yours(self, frame: FrameType | None) -> Instruction | None:
        """Return the instruction of yours that runs now, in this frame or around it."""
        while frame is not None and not self._is_wanted(frame.f_code.co_filename):
            frame = frame.f_back
        return Instruction(frame.f_code, frame.f_lasti, frame.f_lineno) if frame is not None else None

    # --- the trace function ---

    def _is_wanted(self, file: str) -> bool:
        wanted = self._wanted.get(file)
        if wanted is None:
            standard = file.startswith((self._standard, "<frozen")) and not file.startswith(self._packages)
            wanted = self._wanted[file] = not (standard or file.startswith((self._torch, OURS)))
        return wanted

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace a new frame, if it is yours."""
        del argument
        if event != "call" or self._busy or not self._is_wanted(frame.f_code.co_filename):
            return None
        self._look_behind()
        self._at = Instruction(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame.f_trace = self._happened  # first: setting f_trace_opcodes reads it in Python 3.13
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._happened

    def _happened(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Handle an event in a frame of yours: the instruction before this one has ended."""
        del argument
        if self._at is None or self._runs(self._at):
            self._look_behind()
        self._at = self._yours(frame.f_back if event == "return" else frame)
        return self._happened

    def _runs(self, at: Instruction) -> bool:
        """Return whether an instruction can run other code."""
        running = self._running.get(at.code)
        if running is None:
            running = {i.offset: i.opname.startswith(RUNNING) for i in dis.get_instructions(at.code)}
            self._running[at.code] = running
        return at.offset < 0 or running[_beginning(running, at.offset)]

    def _look_behind(self) -> None:
        """Read the counts after an instruction of yours, and add a marker: later writes are by the next instruction."""
        self._look()
        if self._live and self._looks < MOST_LOOKS:
            self._looks += 1
            with api.marker(LOOKED):
                pass

    def _look(self) -> None:
        """Read the counts of all saved tensors. If a count has changed, the last instruction wrote."""
        marked = False
        for saved in self._live:
            version = api.version(saved.tensor)
            if version is not None and version != saved.seen:
                self._marks += not marked
                marked = True
                is_parted = self._looks < MOST_LOOKS
                saved.writes.append(Write(self._at, saved.seen, version, self._marks, is_parted))
                saved.seen = version
        if marked:
            with api.marker(f"wrote:{self._marks}"):
                pass

    # --- the results ---

    def data(self, profile: Any) -> list[SavedTensorWritesData]:
        """Return the data of the observations: each saved tensor that a node requested too late."""
        events = list(_flattened(profile)) if self.late else []
        return [self._describe_writes(asked, events) for asked in self.late]

    def _describe_writes(self, asked: LateRequest, events: list[tuple[Any, int]]) -> SavedTensorWritesData:
        saved = asked.saved
        writes: list[TensorWriteData] = []
        boundary = f"saved:{saved.number}"
        for write in saved.writes:
            mark = f"wrote:{write.mark}"
            written = _writing(events, boundary, mark, asked.memory or 0)
            # Tensors without memory cannot be distinguished. So an operator is named only if no other one wrote to such
            # a tensor.
            operators = list(dict.fromkeys(written)) if asked.memory or len(written) == 1 else []
            operators = operators if write.is_parted else []
            at = self._place(write.at)
            writes.append({"at": at, "before": write.before, "after": write.after, "operators": operators})
            boundary = mark
        with api.without_overrides():
            tensor = api.kind_and_sizes(saved.tensor)
        return {
            "tensor": tensor,
            "expected": saved.expected,
            "version": asked.version,
            "node": asked.node,
            "saved": self._place(saved.at),
            "writes": writes,
        }

    def _place(self, at: Instruction | None) -> PythonPlaceData | None:
        if at is None:
            return None
        file = at.code.co_filename
        text = self._text(at)[:TEXT_LIMIT]
        return {
            "file": file,
            "line": at.line,
            "first": at.code.co_firstlineno,
            "function": at.code.co_name,
            "text": text,
        }

    def _text(self, at: Instruction) -> str:
        """Return the source text: the instruction's own columns if Python keeps them, otherwise the line."""
        given = self._texts.get(at.code.co_filename)
        lines = given.split("\n") if given is not None else linecache.getlines(at.code.co_filename)
        positions = list(at.code.co_positions()) if hasattr(at.code, "co_positions") else []
        number = at.offset // 2
        line, last, column, end = positions[number] if 0 <= number < len(positions) else (at.line, None, None, None)
        whole = lines[at.line - 1].strip() if 0 < at.line <= len(lines) else ""
        beginning = _beginning({i.offset for i in dis.get_instructions(at.code)}, at.offset)
        opname = dis.opname[at.code.co_code[beginning]] if 0 <= beginning < len(at.code.co_code) else ""
        if line is None or last is None or column is None or end is None or opname.startswith(STORING):
            return whole
        part = [text.rstrip("\n").encode() for text in lines[line - 1 : last]]
        if not part:
            return whole
        part[-1] = part[-1][:end]
        part[0] = part[0][column:]
        return " ".join(b"\n".join(part).decode("utf-8", "replace").split())


def _beginning(offsets: Container[int], offset: int) -> int:
    """Return where the instruction at an offset begins. During a call, a frame may be at the cache behind it."""
    while offset > 0 and offset not in offsets:
        offset -= 2
    return offset


def _flattened(profile: Any) -> Iterator[tuple[Any, int]]:
    """Yield the profiler's events in the order in which they began, each with its depth."""
    pending = [(event, 0) for event in sorted(api.event_roots(profile), key=lambda event: event.start_time_ns)[::-1]]
    while pending:
        event, depth = pending.pop()
        yield event, depth
        pending += [(child, depth + 1) for child in reversed(event.children)]


def _writing(events: list[tuple[Any, int]], begin: str, end: str, memory: int) -> list[str]:
    """Return the outermost operators of the last instruction before `end` that write to this memory by their schema.

    An earlier operator after `begin` that wrote to the memory changed no count: it wrote through a tensor with a count
    of its own (`.data`).
    """
    written: list[str] = []
    begun, within = False, -1
    for event, depth in events:
        name = event.name
        if name == api.MARK + end:
            break
        if name == api.MARK + begin:
            begun, within = True, -1
        elif begun:
            if 0 <= within < depth:
                continue
            within = -1
            if name == api.MARK + LOOKED:
                written.clear()
            operator = api.operator_writing_to(event, memory)
            if operator is not None:
                within = depth
                written.append(operator)
    return written


def run(request: RunRequestData) -> RunToldData:
    """Run the pass in this process: an observation "saved" for each saved tensor that was requested too late.

    Raises Unavailable if too many tensors are saved, Refused or Raised as every pass does.
    """
    running = passes.prepared(RECORDER, request)
    texts = {f"{GIVEN} {number}>": code for number, code in enumerate(request["setup"], 1)}
    texts["<expression>"] = (request.get("expression") or "").strip()
    recorder, profile = WriteRecorder(texts), api.profiler()
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        with profile, recorder.recording():
            passes.phases(running, autograd.run_backward, lambda _, function, *given: function(*given))
    if recorder.cut:
        raise Unavailable(reason("many-saved-tensors", most=MOST_SAVED))
    return {"observations": [seen(RECORDER, "saved", data) for data in recorder.data(profile)]}
