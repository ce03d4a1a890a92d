"""Who wrote in place to a tensor that a node of the graph had saved: by a run of its own.

A hook on saved tensors is told of each when a node saves it, and again when the node asks for it. In between a trace
function reads, after each instruction of your Python that can run other code, how often the saved tensors have been
written to: the instruction before is what wrote. Torch's own Python is not traced, so `opt.step()` is named as yours.

The hooks take torch's own check away (torch/csrc/autograd/saved_variable.cpp), so that this run makes it anew, and they
are not allowed inside functorch's transforms: so it is never the run that is shown.
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
MOST_SAVED = 20_000  # saved tensors that are watched at one time
MOST_LOOKS = 300_000  # instructions of your Python behind which a marker is put
LOOKED = "looked"  # its name: no saved tensor's count has changed since the one before it
TEXT_LIMIT = 2000  # characters kept of one place's text
RUNNING = (
    "CALL", "PRECALL", "BINARY_", "INPLACE_", "UNARY_", "COMPARE_", "CONTAINS_", "STORE_SUBSCR", "DELETE_SUBSCR",
    "STORE_ATTR", "DELETE_ATTR", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER", "FOR_ITER", "GET_ITER", "SEND", "YIELD",
    "WITH", "BEFORE_WITH", "TO_BOOL", "POP_JUMP", "JUMP_IF", "IMPORT", "FORMAT", "UNPACK", "LIST_EXTEND", "PRINT",
)  # fmt: skip
STORING = ("STORE_", "DELETE_")  # whose own columns leave out what is stored


class Modified(RuntimeError):
    """What this run raises in the place of torch's error; what catches torch's catches it too."""


@dataclass(frozen=True)
class Instruction:
    """An instruction of your Python, by its code and offset."""

    code: CodeType
    offset: int
    line: int


@dataclass(frozen=True)
class Write:
    """A write: the instruction, the counts before and after, and the number of the marker that follows it.

    `is_parted`: whether a marker stands before the instruction, so that its operators are told from those before it.
    """

    at: Instruction | None
    before: int
    after: int
    mark: int
    is_parted: bool


@dataclass(eq=False)
class SavedTensor:
    """A tensor that a node saved, what it counted then, and what became of it."""

    number: int
    tensor: Any
    expected: int
    at: Instruction | None
    seen: int
    writes: list[Write] = field(default_factory=list)


@dataclass(frozen=True)
class LateRequest:
    """A saved tensor that a node asked for after it had been written to."""

    saved: SavedTensor
    version: int
    node: str | None
    memory: int | None


class WriteRecorder:
    """The hooks and the trace function; `late` is what they saw, in order. A context manager."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.late: list[LateRequest] = []
        self.cut = False
        self._texts = texts
        self._live: weakref.WeakSet[SavedTensor] = weakref.WeakSet()
        self._count = self._marks = self._looks = 0
        self._at: Instruction | None = None  # what ran last
        self._busy = False  # our own code runs, whose generated methods are in no file of ours
        self._running: dict[CodeType, dict[int, bool]] = {}
        self._wanted: dict[str, bool] = {}
        library = sysconfig.get_paths()
        self._standard = library["stdlib"] + os.sep
        self._packages = tuple({library["purelib"] + os.sep, library["platlib"] + os.sep})
        self._torch = api.TORCH_DIR + os.sep

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Watch; what traced before is put back."""
        before = sys.gettrace()
        # Python 3.12 tells a function's instructions from the next sys.settrace on that follows such a wish.
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
        """What runs in a block is ours, and is not traced."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def _yours(self, frame: FrameType | None) -> Instruction | None:
        """The instruction of yours that runs now, in this frame or around it."""
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
        """The trace function of a new frame: it is followed where it is yours."""
        del argument
        if event != "call" or self._busy or not self._is_wanted(frame.f_code.co_filename):
            return None
        self._look_behind()
        self._at = Instruction(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame.f_trace = self._happened  # first: Python 3.13 asks for it where instructions are wished for
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._happened

    def _happened(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The trace function inside of a frame of yours: the instruction before this one has ended."""
        del argument
        if self._at is None or self._runs(self._at):
            self._look_behind()
        self._at = self._yours(frame.f_back if event == "return" else frame)
        return self._happened

    def _runs(self, at: Instruction) -> bool:
        """Whether an instruction can run other code."""
        running = self._running.get(at.code)
        if running is None:
            running = {i.offset: i.opname.startswith(RUNNING) for i in dis.get_instructions(at.code)}
            self._running[at.code] = running
        return at.offset < 0 or running[_beginning(running, at.offset)]

    def _look_behind(self) -> None:
        """Look behind an instruction of yours, and put a marker there: what writes from here on is the next one's."""
        self._look()
        if self._live and self._looks < MOST_LOOKS:
            self._looks += 1
            with api.marker(LOOKED):
                pass

    def _look(self) -> None:
        """Read the counts of all saved tensors; what changed was written by the last instruction."""
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

    # --- what is told ---

    def told(self, profile: Any) -> list[SavedTensorWritesData]:
        """The observations' data: each saved tensor that a node asked for too late."""
        events = list(_flattened(profile)) if self.late else []
        return [self._told(asked, events) for asked in self.late]

    def _told(self, asked: LateRequest, events: list[tuple[Any, int]]) -> SavedTensorWritesData:
        saved = asked.saved
        writes: list[TensorWriteData] = []
        boundary = f"saved:{saved.number}"
        for write in saved.writes:
            mark = f"wrote:{write.mark}"
            written = _writing(events, boundary, mark, asked.memory or 0)
            # Tensors without memory are not told apart: where one operator wrote to one of them, it was this one.
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
        """What is written there: the instruction's own columns where Python keeps them, else the line."""
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
    """Where the instruction begins that an offset is in: while it calls, a frame may be at what it keeps behind it."""
    while offset > 0 and offset not in offsets:
        offset -= 2
    return offset


def _flattened(profile: Any) -> Iterator[tuple[Any, int]]:
    """The profiler's events in the order in which they began, each with its depth."""
    pending = [(event, 0) for event in sorted(api.event_roots(profile), key=lambda event: event.start_time_ns)[::-1]]
    while pending:
        event, depth = pending.pop()
        yield event, depth
        pending += [(child, depth + 1) for child in reversed(event.children)]


def _writing(events: list[tuple[Any, int]], begin: str, end: str, memory: int) -> list[str]:
    """The outermost operators that write to this memory by their schema, of the last instruction before `end`.

    What wrote to it before that, and behind `begin`, changed no count: it wrote through a tensor that counts apart
    (`.data`).
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
    """The pass in this process: an observation "saved" for each saved tensor that was asked for too late.

    Raises Unavailable where too many are saved, Refused or Raised as every pass does.
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
    return {"observations": [seen(RECORDER, "saved", data) for data in recorder.told(profile)]}
