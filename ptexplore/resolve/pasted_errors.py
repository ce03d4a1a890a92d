"""The errors in a pasted text: of each its class, its message and its traceback; and which of them to explain.

A text may have several: an error in the handler of another error, or the error of a worker inside of another error.
Beside them are errors that a destructor ignored, warnings, lines of a log, and the word of a launcher that a process
failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from typing import Literal

from ptexplore.resolve.pasted import Logged, PastedLine

# How an error is joined to the error before it: raised `from` that error, or raised in its handler. Or it is written in
# the message of that error, with a traceback (`inner`: a worker's error) or without one (`nested`).
Link = Literal["", "cause", "handling", "inner", "nested"]

# A line that names an error: by the end of its class, or by the names that torch.compile's errors have without it.
_ERROR = re.compile(
    r"(?P<exception>(?:[\w.]{1,200}\.)?(?:\w{0,80}(?:Error|Exception|Warning)"
    r"|Unsupported|BackendCompilerFailed|GuardOnDataDependentSymNode|TritonMissing|InvalidCxxCompiler)):(?: |$)"
)
_RAISED_CLASS = re.compile(
    r"(?P<exception>(?:[A-Z]|\w{1,100}\.)[\w.]{0,200})(?:: |:?$)"
)  # behind the frames of a traceback.
# A launcher says only that a process failed, whose own error is before it.
_LAUNCHERS = re.compile(r"(?:[\w.]{1,200}\.)?(?:ChildFailedError|CalledProcessError)$")
_WARNING = re.compile(r"(?:^|\.)\w{0,80}Warning$")
_HEADER = re.compile(r"\bTraceback \(most recent call (?P<which>last|first)\)")
_STACK = re.compile(r"^(?:Current thread|Thread|Stack)\b.{0,100}\(most recent call (?P<which>last|first)\):")
_HANDLING = "During handling of the above exception, another exception occurred:"
_CAUSED = "The above exception was the direct cause of the following exception:"
_INNER = "Original Traceback ("  # ExceptionWrapper in torch/_utils.py
_OF_RANK = re.compile(r"Traceback \(most recent call last\): \(RANK \d{1,6}\)")  # of torch.distributed.checkpoint
_IGNORED = re.compile(r"^(?:Exception ignored (?:in|on)|Error in atexit\._run_exitfuncs)\b")
_THROWN = re.compile(r"^terminate called after throwing an instance of '(?P<exception>[^'\n]{1,300})'")  # libstdc++
_THROWN_ON_MAC = re.compile(  # libc++
    r"^libc\+\+abi(?:\.dylib)?: terminating (?:with|due to) uncaught exception of type (?P<exception>[\w:]{1,200}?): "
    r"(?P<what>.+)$"
)
_THROWN_BY_SEVERAL = re.compile(r"[\w:]{0,200}?::[A-Z]\w{0,60}?(?:Error|Exception)(?=terminate|\W|$)")
_WHAT = re.compile(r"^ *what\(\): +(?P<what>.*)$")
STACK_OF_CPP = "Exception raised from "  # c10::Error::compute_what (c10/util/Exception.cpp)
_STACK_OF_OLD = re.compile(r"\nframe #0: ")  # the same before 1.5
_FRAME = re.compile(r'^ *File "(?P<file>.+)", line (?P<line>[0-9]{1,9})(?:,? in (?P<function>.+))?$')
# A frame of TorchScript's tracer, as torch.onnx prints it (torch/csrc/jit/python/python_tracer.cpp): innermost first.
_OF_TRACER = re.compile(
    r"^ *(?:\(node defined in )?(?P<file>\S[^\n()\"]{0,300}\.py)\((?P<line>[0-9]{1,9})\): (?P<function>[\w.<>]{1,200})$"
)
_HERE = re.compile(r"^[\s~]*<--- HERE")  # below the part of a line that TorchScript's compiler means
_AT_ARROW = re.compile(r"^-{1,20}> ?(?P<line>[0-9]{1,9}) {1,200}(?P<text>\S.*)$")
_MARKED = re.compile(r"^> {3,60}(?P<text>\S.*)$")
_CODE = re.compile(r"^ {4,40}(?P<text>\S.*)$")
_MARKS = re.compile(r"^[\s~^]+$")  # what Python writes below the part of a line that raised
# Lines of other programs behind a message: progress bars, boxes, trackers, prompts of a shell.
_OTHERS = re.compile(
    r"^ {0,4}\d{1,3}%\||^[╭╰│|+]|^wandb: |^\S{0,80}[$#] |^[\w.-]{1,40}@[\w.-]{1,60}:|^Process finished with exit code"
    r"|^-{20,}$|^={40,}$|^_{40,}$|^ *Set TORCHDYNAMO_VERBOSE=|^You can suppress this exception"
)
_IMPORT = re.compile(r"^(?:from|import)\b|\bimport")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SHOWN = 160  # characters of a frame's line.


@dataclass(frozen=True, slots=True)
class TracebackFrame:
    """A Python function in a traceback: its file, the line that was running, and the text of the line."""

    file: str
    line: int
    function: str = ""
    text: str = ""
    of_graph: bool = False  # it is where a node of TorchScript's graph was written; Python was not in it.


@dataclass(frozen=True, slots=True)
class PastedError:
    """An error in a pasted text. `exception` and `message` are empty for a traceback whose end is missing."""

    exception: str
    message: str
    frames: tuple[TracebackFrame, ...] = ()  # outermost first.
    link: Link = ""  # to the error before it.
    is_ignored: bool = False  # a destructor or an exit handler raised it, and Python went on.
    is_current: bool = False  # faulthandler names its thread as the one with the fault.
    logged: Logged | None = None

    @property
    def is_warning(self) -> bool:
        """Whether it is a warning."""
        is_logged = self.logged is not None and self.logged.level == "W" and not self.exception
        return is_logged or _WARNING.search(self.exception) is not None

    @property
    def first_line(self) -> str:
        """Its class and the first line of its message that has words."""
        lines = (" ".join(line.split()) for line in self.message.split("\n") if _WORD.search(line))
        return ": ".join(part for part in (self.exception, next(lines, "")) if part)


@dataclass(slots=True)
class _Open:
    """An error whose message is being read."""

    exception: str
    lines: list[str]
    frames: list[TracebackFrame]
    link: Link
    is_ignored: bool
    is_current: bool
    logged: Logged | None
    outer: _Open | None = None  # the error whose message it is in

    def add(self, text: str) -> None:
        """Add a line to its message."""
        self.lines.append(text)
        if self.outer is not None:
            self.outer.add(text)

    def say_here(self) -> None:
        """Take the line before as the text of the last frame: TorchScript's compiler marks a part of it."""
        if self.frames and self.frames[-1].of_graph:
            self.frames[-1] = replace(self.frames[-1], text=self.lines[-1].strip()[:_SHOWN])

    def closed(self) -> PastedError:
        message = _STACK_OF_OLD.split("\n".join(self.lines).partition(STACK_OF_CPP)[0])[0].strip()
        return PastedError(
            self.exception, message, tuple(self.frames), self.link, self.is_ignored, self.is_current, self.logged
        )


@dataclass(slots=True)
class _Reader:
    """Reads lines in their order."""

    errors: list[_Open] = field(default_factory=list)
    open: _Open | None = None  # the error whose message goes on
    frames: list[TracebackFrame] = field(default_factory=list)  # of a traceback whose error was not read yet
    texts: list[str] = field(default_factory=list)  # the lines below the last one of them
    has_header: bool = False
    innermost_first: bool | None = None  # if the header says so
    link: Link = ""
    is_ignored: bool = False
    is_current: bool = False
    thrown: str = ""  # the C++ class whose what() follows
    marked: str = ""  # the line that pytest marks; its place comes some lines later

    def take(self, line: PastedLine) -> None:
        """Read one line."""
        text = line.text
        if self.begins_section(text):
            return
        marked = _MARKED.match(text)
        self.marked = marked["text"] if marked is not None else self.marked
        tracers = _OF_TRACER.match(text)
        frame, named = _FRAME.match(text), _ERROR.match(text) or (self.frames and _RAISED_CLASS.match(text)) or None
        if frame is not None:
            self.with_text()
            function = (frame["function"] or "").strip()
            self.frames.append(
                TracebackFrame(frame["file"], int(frame["line"]), function, "" if function else self.marked[:_SHOWN])
            )
            self.marked = ""
        elif tracers is not None:
            self.with_text()
            self.frames.append(
                TracebackFrame(tracers["file"], int(tracers["line"]), tracers["function"], of_graph=True)
            )
            self.innermost_first = True
        elif self.frames and (not text[:1].strip() or _AT_ARROW.match(text)):
            self.texts.append(text)
        elif named is not None:
            outer = self.open if self.goes_on(line) and not self.frames and not self.link else None
            if outer is not None and outer.exception:
                outer.add(text)
            else:
                outer = None
            self.begin(named["exception"], text[named.end() :], line.logged, outer)
        elif (what := _WHAT.match(text) or _THROWN_ON_MAC.match(text)) is not None:
            self.begin(what.groupdict().get("exception") or self.thrown, what["what"], line.logged)
            self.thrown = ""
        elif not self.goes_on(line):
            self.finish_traceback()
            self.open = None
            if line.logged is not None and line.logged.level in "EW" and _WORD.search(text):
                self.begin("", text, line.logged)
        elif self.open is not None:
            self.give_frames_to_open()
            if _HERE.match(text):
                self.open.say_here()
            self.open.add(text)

    def begins_section(self, text: str) -> bool:
        """Begin a traceback, or what stands before one. False if the line does neither."""
        header, thrown = _HEADER.search(text) or _STACK.match(text), _THROWN.match(text)
        is_joint, is_ignored = _HANDLING in text or _CAUSED in text, _IGNORED.match(text) is not None
        if header is None and thrown is None and not is_joint and not is_ignored:
            return False
        self.finish_traceback()
        if header is not None:
            self.has_header, self.innermost_first = True, header["which"] == "first"
            self.is_current = text.startswith("Current thread")
            is_inner = text.startswith(_INNER) or _OF_RANK.match(text) is not None
            self.link = "inner" if is_inner and self.open is not None else self.link
        elif thrown is not None:
            self.thrown = _thrown_class(text, thrown["exception"])
        else:
            self.link = "handling" if _HANDLING in text else "cause" if is_joint else ""
            self.is_ignored = is_ignored
        self.open = None
        return True

    def goes_on(self, line: PastedLine) -> bool:
        """Whether a line may belong to the open message, or to a traceback that is being read."""
        logged, own = line.logged, self.open.logged if self.open is not None else None
        if self.open is None or self.frames:
            return logged is None or bool(self.frames)
        if logged is None:
            is_others = _OTHERS.match(line.text) is not None and not _LAUNCHERS.search(self.open.exception)
            return not is_others and (own is None or not line.text[:1].strip())
        return own is not None and logged.before == own.before

    def begin(self, exception: str, message: str, logged: Logged | None, outer: _Open | None = None) -> None:
        """Begin an error. The frames before it are its own. `outer` is the error whose message it is in."""
        link: Link = "nested" if outer is not None else self.link
        frames = self.ordered()
        self.open = _Open(exception, [message], frames, link, self.is_ignored, self.is_current, logged, outer)
        self.errors.append(self.open)
        self.forget()

    def forget(self) -> None:
        self.frames, self.texts, self.has_header, self.innermost_first = [], [], False, None
        self.link, self.is_ignored, self.is_current = "", False, False

    def finish_traceback(self) -> None:
        """End a traceback that no error follows: frames without a header belong to the message before them."""
        if not self.frames:
            return
        if self.open is not None and not self.has_header:
            self.give_frames_to_open()
            return
        self.errors.append(_Open("", [], self.ordered(), self.link, self.is_ignored, self.is_current, None))
        self.forget()

    def give_frames_to_open(self) -> None:
        """Add frames without a header to the error whose message they are in: they are further inside."""
        if self.frames and self.open is not None:
            # TorchScript's compiler names no function of its lines.
            self.open.frames += [
                replace(frame, of_graph=frame.of_graph or not frame.function) for frame in self.ordered()
            ]
            self.open.add("")  # the message goes on behind them in a new paragraph
            self.frames = []

    def with_text(self) -> None:
        """Add the text of its line to the last frame."""
        if self.frames:
            last, is_here = self.frames[-1], any(map(_HERE.match, self.texts))
            text = _text_of(last, self.texts)
            self.frames[-1] = replace(last, text=text, of_graph=last.of_graph or (is_here and not last.function))
        self.texts = []

    def ordered(self) -> list[TracebackFrame]:
        """Returns the frames, outermost first."""
        self.with_text()
        is_reversed = self.innermost_first
        if is_reversed is None or (not self.has_header and not is_reversed):
            is_reversed = _is_innermost_first(self.frames)
        return self.frames[::-1] if is_reversed else self.frames

    def end(self) -> tuple[PastedError, ...]:
        """Returns the errors."""
        self.finish_traceback()
        return tuple(error.closed() for error in self.errors)


def errors_in(lines: Iterable[PastedLine]) -> tuple[PastedError, ...]:
    """Returns the errors in a pasted text, in their order, with warnings and lines of logs that are errors."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    return reader.end()


def _text_of(frame: TracebackFrame, texts: Sequence[str]) -> str:
    """Returns the source text of a frame's line from the lines below it, as Python or IPython prints it."""
    marks = next((number for number, text in enumerate(texts) if _HERE.match(text)), 0)
    if marks:
        return texts[marks - 1].strip()[:_SHOWN]
    arrow = next((match for match in map(_AT_ARROW.match, texts) if match and int(match["line"]) == frame.line), None)
    printed = _CODE.match(texts[0]) if texts and not _MARKS.match(texts[0]) else None
    text = arrow["text"] if arrow is not None else printed["text"] if printed is not None else frame.text
    return text.strip()[:_SHOWN]


def _thrown_class(line: str, exception: str) -> str:
    """Returns the C++ class that a line names. Several ranks write into one line, and begin in the middle of it."""
    if line.count("terminate called") < 2:
        return exception
    named = _THROWN_BY_SEVERAL.search(line)
    return named[0] if named is not None else ""


def _is_innermost_first(frames: Sequence[TracebackFrame]) -> bool:
    """Whether frames without a header begin with the innermost one, as VS Code and Sentry print them.

    A frame that calls the function of its neighbour is outside of it; the code of a file is outside of its functions.
    """
    inward = sum(_calls(outer, inner) for outer, inner in pairwise(frames))
    outward = sum(_calls(outer, inner) for inner, outer in pairwise(frames))
    if inward != outward:
        return outward > inward
    names = [frame.function for frame in frames]
    is_import = bool(frames) and _IMPORT.search(frames[-1].text) is not None
    return len(names) > 1 and names[-1] == "<module>" and "<module>" not in names[:-1] and not is_import


def _calls(outer: TracebackFrame, inner: TracebackFrame) -> bool:
    """Whether the text of a frame's line has a call of the other frame's function."""
    name = inner.function.rpartition(".")[2]
    return bool(name) and re.search(rf"\b{re.escape(name)}\(", outer.text) is not None


def main_error(
    errors: Sequence[PastedError], is_known: Callable[[PastedError], bool] = lambda _error: False
) -> PastedError | None:
    """Returns the error that ended the program; None if the text names none.

    This is the last one that has a class, else one that a logger wrote: the first one with a known cause. Warnings,
    errors that Python ignored and the word of a launcher count only if there is nothing better.
    """
    named = [error for error in errors if error.exception and not error.is_warning and error.link != "nested"]
    raised = [error for error in named if not error.is_ignored and not _LAUNCHERS.search(error.exception)]
    launched = [error for error in named if not error.is_ignored]
    logged = [error for error in errors if error.logged is not None and not error.exception and not error.is_warning]
    explained = [error for error in logged if is_known(error)]
    warned = [error for error in errors if error.is_warning]
    for some, which in ((raised, -1), (explained, 0), (launched, -1), (logged, 0), (named, -1), (warned, -1)):
        if some:
            return some[which]
    return None


def nested_in(errors: Sequence[PastedError], error: PastedError) -> tuple[PastedError, ...]:
    """Returns the errors that are written in the message of an error, the innermost first."""
    number = next((number for number, other in enumerate(errors) if other is error), len(errors))
    return tuple(takewhile(lambda other: other.link == "nested", errors[number + 1 :]))[::-1]


def joined_to(errors: Sequence[PastedError], error: PastedError) -> tuple[PastedError, ...]:
    """Returns the errors that led to an error, the nearest first: those before it that it is joined to."""
    number = next((number for number, other in enumerate(errors) if other is error), 0)
    led: list[PastedError] = []
    while number and errors[number].link:
        number -= 1
        led.append(errors[number])
    return tuple(led)
