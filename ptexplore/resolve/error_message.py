"""What the text of an error says without a trace: a missing kernel, a modified saved tensor, the place of the throw.

Source of the messages: OperatorEntry::reportError (aten/src/ATen/core/dispatch/OperatorEntry.cpp),
SavedVariable::unpack (torch/csrc/autograd/saved_variable.cpp), c10::Error::compute_what (c10/util/Exception.cpp).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from ptexplore.cpp.text import Text
from ptexplore.facts.messages import FAILED_CHECK, INTERPRETERS
from ptexplore.model.codes import Reason
from ptexplore.model.observed import LeftFrame, UserCall, WrittenTensor
from ptexplore.model.operators import TableEntry
from ptexplore.model.place_reasons import (
    AsTracebackHas,
    ErrorNamesFile,
    HasOtherWords,
    NoTextOf,
    RecordUnconfirmed,
    ThrowsNothing,
)
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Cause, EarlierError, HandedError, MissingKernel, ModifiedTensor, RaisingCheck
from ptexplore.resolve.causes import cause_of
from ptexplore.resolve.dispatch.kernel_bodies import registration_of
from ptexplore.resolve.keyset import backend_of
from ptexplore.resolve.message_words import MessageWords
from ptexplore.resolve.pasted import Logged, joined, lines_of, of_ranks
from ptexplore.resolve.pasted_errors import (
    STACK_OF_CPP,
    PastedError,
    TracebackFrame,
    errors_in,
    joined_to,
    main_error,
    nested_in,
)
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import outside, recorded, unknown
from ptexplore.source.canonical import recorded_path
from ptexplore.source.tree import SourceTree

NO_KERNEL = re.compile(r"Could not run '(\w+::[\w.]+)' with arguments from the '(\w+)' backend")
# Statements that throw: torch's macros in c10/util/Exception.h and torch/csrc/Exceptions.h, and the keyword of C++.
# AT_DISPATCH_ in ATen/Dispatch.h throws for a dtype that it does not list.
_THROWS = re.compile(
    r"\bthrow\b|\b(?:TORCH|AT|C10D?|CAFFE|THP\w*)_\w*(?:CHECK|ASSERT|ERROR|ENFORCE|THROW)\w*|\bERROR\b|\b_?AT_DISPATCH_\w+"
)
_CHECK = re.compile(r"\b((?:TORCH|AT|C10|CAFFE)_\w*(?:CHECK|ASSERT|ENFORCE)\w*)\s*\(")  # the first argument is checked
_MACRO = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]*(?=\s*\()")
STATEMENT = 30  # a statement may begin this many lines above the line in a record
# By key without its backend: how to convert such a tensor into one for which most operators have kernels.
CONVERSIONS = {
    "Sparse": "to_dense()",
    "SparseCsr": "to_dense()",
    "Mkldnn": "to_dense()",
    "Quantized": "dequantize()",
    "NestedTensor": "to_padded_tensor(0.0)",
}
_MODIFIED = re.compile(
    r"has been modified by an inplace operation: \[([^\]]{0,1000}\]?)\](?:, which is output ([0-9]{1,9}) of (\w+),)? "
    r"is at version ([0-9]{1,9}); expected version ([0-9]{1,9})"
)
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_CONVERSION = re.compile(r"%[-+ #0-9.*hlzjt]*[A-Za-z]|\{\}|\\.")  # conversions of printf and fmt, and escapes
WORDS = 12  # characters: a text of this length is hardly in a message by chance
_CUT = re.compile(r"Could not run '(?:(?!' backend)[^\n]){0,200}\Z")
NAMED = 4  # limit on operators, and on C++ lines, per text
_SHOWN = 160  # limit on the characters of a line
_REGISTERED = "registered at "  # precedes the kernels that OperatorEntry.cpp lists
_OPERATOR = re.compile(r"\b([a-z_][a-z0-9_]*)(?:::|\.)(\w+(?:\.\w+)?)\b")
_CPP_LINE = re.compile(r"([\w./\\-]{1,300}\.(?:cpp|cc|cu|cuh|hpp|h|mm))\"?:([0-9]{1,9})\b")
_INSTALLED = re.compile(r"/(?:site|dist)-packages/torch/(.+)")
# Files of packages and of the standard library, which has another folder on Windows; and code without a file.
PACKAGES = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python[23]|^<"
    r"|[/\\]bin[/\\][\w.-]*(?<!\.py)$"  # scripts that pip makes: they start yours
    r"|[/\\]Scripts[/\\][\w.-]+(?:-script\.pyw?|\.exe[/\\]__main__\.py)$|\.pyx$"  # the same on Windows, and Cython's
    r"|[/\\][Ll]ib[/\\](?:multiprocessing|concurrent|asyncio|importlib|unittest)[/\\]"
    r"|[/\\][Ll]ib[/\\](?:pickle|threading|runpy|queue|contextlib|copy|functools|subprocess|socket|abc)\.py$"
    r"|^(?:pickle|threading|runpy|queue|contextlib|functools|subprocess|socket)\.py$"  # of a Python in an archive
)
_TYPED = re.compile(r"<(?:stdin|console|python-input-\d{1,6})>$")  # Python's prompt
_RAISED = re.compile(r"Exception raised from (.{1,300}?) at (\S{1,300}?):([0-9]{1,9}) \(most recent call first\)")


# An error inside the text of another error: from a worker (ExceptionWrapper in torch/_utils.py), from TorchScript's
# interpreter (handleError in jit/runtime/interpreter.cpp), from its compiler (ErrorReport), and from Dynamo
# (torch/_dynamo/exc.py). A text may have any length, and may be crafted to make matching slow. So no pattern is tried
# to the end of the text from more than one position.
_HANDED = re.compile(
    r"Caught (\w{1,300}) in (.{1,300}?)\.\nOriginal Traceback \(most recent call last\):\n(.*)", re.DOTALL
)
_BEFORE_INTERPRETED = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript"
_INTERPRETED = re.compile(r"[^\n]+\n(Traceback of TorchScript.*\n)(\w+): (.*)", re.DOTALL)
_HERE = "<--- HERE"  # the end of a text that _COMPILED matches
_COMPILED = re.compile(r"(.*?):?\n( *File \"[^\n]+\", line \d+\n)", re.DOTALL)
_TRACED = re.compile(r"(.*?)(?<!\n)\n+from user code:\n(.*?)(?:\n\n|\Z)", re.DOTALL)
_LEFT = re.compile(r'^ *File "(.+)", line ([0-9]{1,9})(?:,? in (.+))?$', re.MULTILINE)
_WITHOUT_FRAMES = ("torch._dynamo.", "torch._inductor.", "torch.fx.", "torch._functorch.")
_PYTHONS_OWN = frozenset(
    (
        "ModuleNotFoundError", "ImportError", "AttributeError", "KeyError", "NameError", "UnboundLocalError",
        "SyntaxError", "IndentationError", "ZeroDivisionError", "RecursionError", "FileNotFoundError",
        "PermissionError", "UnicodeDecodeError", "OSError", "EOFError", "MemoryError", "StopIteration",
    )
)  # fmt: skip
_FAILED_AT = " INTERNAL ASSERT FAILED at "  # TORCH_INTERNAL_ASSERT (c10/util/Exception.h)
_SHORT = 30  # characters: a first paragraph that is shorter does not say everything.
TRACED, INTERPRETER, SCRIPTED = "torch.compile's tracing", "TorchScript's interpreter", "TorchScript's compiler"


@dataclass(frozen=True, slots=True)
class CppLine:
    """A C++ line that a text names."""

    source: SourceRef  # the place of the line
    name: str = ""  # the place as the text writes it
    text: str = ""  # the line in the tree of `source`; empty if no tree has it


@dataclass(frozen=True, slots=True)
class PastedFrame:
    """A Python function in a pasted traceback."""

    name: str  # the function's name
    source: SourceRef  # the line that was running
    text: str = ""  # the text of the line in the traceback


@dataclass(frozen=True, slots=True)
class RankErrors:
    """The error that ends the output of some ranks: its class, and the first line of its message."""

    ranks: tuple[str, ...]  # their numbers
    error: str  # empty if the output names none


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """The text of an error, and what it says. `is_known`: this torch has the operator in the text."""

    text: str
    exception: str = ""  # the class of the error that ended the program; empty if the text names none.
    says: str = ""  # the message of that error; the whole text if it names none.
    before: EarlierError | None = None  # the error that led to it, if `cause` is about that error.
    missing: MissingKernel | None = None
    is_known: bool = True
    modified: ModifiedTensor | None = None
    function: str = ""
    source: SourceRef | None = None
    cause: Cause | None = None  # for a missing kernel, only if it says more than the dispatch table.
    yours: PastedFrame | None = None  # the innermost function of its traceback that does not belong to a package.
    is_cut: bool = False  # it ends inside the words with operator and dispatch key.
    operators: tuple[str, ...] = ()  # operators of this torch in the message, without the one of a missing kernel.
    lines: tuple[CppLine, ...] = ()  # C++ lines, without the throwing line and registrations.
    innermost: PastedFrame | None = None  # the innermost function of its traceback, if it is not yours.
    ranks: tuple[RankErrors, ...] = ()  # if ranks wrote the text: the errors of all; `text` is from the first ones
    words: MessageWords | None = None  # where its constant words are, if that was looked for.
    check: RaisingCheck | None = None  # for a message without a cause: the check in torch's source that raises it.


def read_message(lookup: Lookup, version: str, text: str) -> ErrorMessage:
    """Returns what a text with an error message says: a whole traceback, or only the message."""
    ranks = of_ranks(text)
    lines = ranks[0].lines if ranks else lines_of(text)
    text, errors = joined(lines), errors_in(lines)
    main = _main(errors, text)
    led, nested = joined_to(errors, main), nested_in(errors, main)
    cause, of = _cause(main, nested, led, text)
    words = "\n".join(error.message for error in (main, *led))
    named, raised = NO_KERNEL.search(words), _RAISED.search(text)
    frames = next((error.frames for error in (main, *led) if error.frames), ())
    return ErrorMessage(
        text,
        exception=main.exception,
        says=main.message,
        before=_before(main, of) if of in led else None,
        missing=missing_kernel(lookup, named[1], named[2]) if named is not None else None,
        is_known=named is None or lookup.store.operator(named[1]) is not None,
        modified=modified_tensor(lookup, words),
        function=raised[1] if raised is not None else "",
        source=thrown_at(lookup, version, raised[2], int(raised[3]), words) if raised is not None else None,
        cause=cause,
        yours=_innermost_of_yours(lookup, (main, *led)),
        is_cut=named is None and is_cut_off(text),
        operators=_operators_in(lookup, words) if named is None else (),
        lines=_lines_in(lookup, version, text, raised.span() if raised is not None else None, main.logged),
        innermost=_innermost_of_packages(lookup, frames),
        ranks=tuple(RankErrors(some.ranks, _line_of(errors_in(some.lines))) for some in ranks),
    )


def _main(errors: Sequence[PastedError], text: str) -> PastedError:
    """Returns the error that ended the program; of a text that names none, the whole text as its message.

    A traceback without an error, at the end of the text or of the thread with a fault, belongs to that message.
    """
    main = main_error(errors, lambda error: cause_of(error.message) is not None)
    if main is not None and main.frames:
        return main
    cut = [error for error in errors if error.frames and not error.exception and not error.is_ignored]
    frames = next((error.frames for error in cut if error.is_current), cut[0].frames if cut else ())
    if main is None:
        return PastedError("", text.partition(STACK_OF_CPP)[0].strip(), frames)
    return replace(main, frames=frames) if errors[-1] in cut and not main.link else main


def _cause(
    main: PastedError, nested: Sequence[PastedError], led: Sequence[PastedError], text: str
) -> tuple[Cause | None, PastedError]:
    """Returns the cause of an error, or else of an error that led to it; and the error that has this cause.

    An error that was raised `from` another one often says less than the other one, and less than one in its message. An
    error that only Python's interpreter writes (a missing key) says less than any error of torch that led to it.
    """
    order = [*led[:1], *nested, main, *led[1:]] if main.link == "cause" else [*nested, main, *led]
    causes = ((cause_of(error.message, error.exception, around=text), error) for error in order)
    known = [(cause, error) for cause, error in causes if cause is not None]
    says_more = (each for each in known if each[0].code not in INTERPRETERS and each[0].code != FAILED_CHECK)
    return next(says_more, known[0] if known else (None, main))


def _before(main: PastedError, error: PastedError) -> EarlierError | None:
    """Returns an error that led to the main one, as a record; None for the error of a worker's wrapper."""
    if main.link == "inner":
        return None
    message = error.first_line.removeprefix(error.exception).removeprefix(": ")
    return EarlierError(error.exception, message, is_cause=main.link != "handling")


def _line_of(errors: Sequence[PastedError]) -> str:
    main = main_error(errors)
    return main.first_line if main is not None else ""


def first_paragraph(message: str) -> str:
    """Returns the first paragraph of a message, with the second one if the first one is short."""
    first, _, rest = message.partition("\n\n")
    second = rest.strip().partition("\n\n")[0]
    return first if len(first) >= _SHORT or not second else f"{first}\n{second}"


def names_its_line(message: ErrorMessage) -> bool:
    """Whether the message names the line of the check that failed. Every such message has the other words."""
    return bool(message.lines) and _FAILED_AT in message.says


def has_words(text: str) -> bool:
    """Whether a text has any word."""
    return re.search(r"[^\W\d_]{2,}", text) is not None


def is_raised_elsewhere(message: ErrorMessage, exception: str) -> bool:
    """Whether only the innermost function of the traceback may be the Python function of torch that raised an error.

    Python's own errors may come from any line. torch.compile removes its functions from the tracebacks of its errors.
    """
    if exception.startswith(_WITHOUT_FRAMES):
        return False
    return exception in _PYTHONS_OWN or message.innermost is not None or message.yours is not None


def is_cut_off(text: str) -> bool:
    """Whether a text ends inside the words for a missing kernel. Only the end of the text is searched."""
    return _CUT.search(text.rstrip()[-300:]) is not None


def _operators_in(lookup: Lookup, text: str) -> tuple[str, ...]:
    """Returns the operators of this torch that a text names, in the notation of C++ or Python, each once."""
    written = (f"{name[1]}::{name[2]}" for name in _OPERATOR.finditer(text))
    known = (name if lookup.store.operator(name) else name.removesuffix(".default") for name in written)
    return tuple(name for name in dict.fromkeys(known) if lookup.store.operator(name) is not None)[:NAMED]


def _lines_in(
    lookup: Lookup, version: str, text: str, thrown: tuple[int, int] | None, logged: Logged | None
) -> tuple[CppLine, ...]:
    """Returns the C++ lines that a text names ("FILE:LINE"), each once, without the line of the throw.

    The dispatcher also lists the registrations of kernels for other keys. Those lines are left out. `logged` is the
    call that logged the message.
    """
    places = [*_CPP_LINE.finditer(logged.place if logged is not None else "")]
    places += [
        place
        for place in _CPP_LINE.finditer(text)
        if (thrown is None or not thrown[0] <= place.start() < thrown[1])
        and not text.endswith(_REGISTERED, 0, place.start())
    ]
    some = list(dict.fromkeys((place[1], int(place[2])) for place in places))[:NAMED]
    return tuple(_named_line(lookup, version, file, line, text) for file, line in some)


def _named_line(lookup: Lookup, version: str, file: str, line: int, message: str) -> CppLine:
    """Returns a line that a text names, with its source text if a tree of this version has the line."""
    source = thrown_at(lookup, version, file, line, message)
    is_another = source.reason == RecordUnconfirmed(HasOtherWords())
    tree = _holding(lookup, source.path) if source.path is not None and not is_another else None
    text = tree.line(source.path, line) if tree is not None and source.path is not None else None
    return CppLine(source, f"{file}:{line}", " ".join((text or "").split())[:_SHOWN])


def _holding(lookup: Lookup, path: str) -> SourceTree | None:
    """Returns the tree whose text of a file is the text of the running torch, or None."""
    trees = [lookup.tree, *(source.tree for source in lookup.sources if source.related)]
    return next((tree for tree in trees if tree.exists(path)), None)


def _innermost_of_packages(lookup: Lookup, frames: Sequence[TracebackFrame]) -> PastedFrame | None:
    """Returns the innermost function of a traceback, if it is not yours."""
    if not frames:
        return None
    left = next((frame for frame in reversed(frames) if not frame.of_graph), frames[-1])
    path = _torchs_path(lookup, left.file)
    if path is None and not PACKAGES.search(left.file):
        return None
    source = unknown(AsTracebackHas(), path, left.line) if path is not None else outside(left.file, left.line)
    return PastedFrame(left.function, source, left.text)


def _innermost_of_yours(lookup: Lookup, errors: Sequence[PastedError]) -> PastedFrame | None:
    """Returns the innermost function whose file belongs to no package: of the first error that has one.

    A torch that was built in its checkout is in no package folder: its files are recognised by the trees.
    """
    own = (left for error in errors for left in reversed(error.frames) if _is_own(left.file))
    yours = next((left for left in own if _torchs_path(lookup, left.file) is None), None)
    return PastedFrame(yours.function, outside(yours.file, yours.line), yours.text) if yours is not None else None


def _is_own(file: str) -> bool:
    """Whether a file may be yours: it belongs to no package, or it is what you typed at Python's prompt."""
    return not PACKAGES.search(file) or _TYPED.match(file) is not None


def _torchs_path(lookup: Lookup, file: str) -> str | None:
    """Returns the canonical path of a Python file in a traceback; None if it is not torch's."""
    plain_path = file.replace("\\", "/")
    installed = _INSTALLED.search(plain_path)
    _, folder, path = f"/{plain_path}".rpartition("/torch/")
    trees = (lookup.tree, *(source.tree for source in lookup.sources))
    if installed is not None:
        return f"torch/{installed[1]}"
    return f"torch/{path}" if folder and any(tree.exists(f"torch/{path}") for tree in trees) else None


def with_writes(modified: ModifiedTensor, calls: Iterable[UserCall]) -> ModifiedTensor:
    """Returns the tensor with the calls that wrote to it, from the version counts before and after each call.

    A tensor and its views share their memory and their count. A memory is a candidate if its writes lead from the saved
    version to the current version. If the tensor is the result of a node, some tensor on that memory must require grad.
    With several candidates, the right one is not known.
    """
    seen = list(calls)
    by_memory: dict[int | None, list[tuple[UserCall, WrittenTensor]]] = {}
    for call in seen:
        for written in call.written:
            if written.before < modified.version and written.after > modified.expected:
                by_memory.setdefault(written.memory, []).append((call, written))
    recorded_for = {argument.memory for call in seen for argument in call.arguments if argument.requires_grad}
    fitting = [
        writes
        for memory, writes in by_memory.items()
        if (modified.node is None or memory in recorded_for) and _lead(_innermost(writes), modified)
    ]
    sources = tuple(dict.fromkeys(call.source for writes in fitting for call, _ in _innermost(writes)))
    return replace(modified, writes=sources, certain=len(fitting) == 1 and not _counted_apart(fitting[0]))


Write = tuple[UserCall, WrittenTensor]


def _innermost(writes: Sequence[Write]) -> list[Write]:
    """Returns the writes of calls that contain no other call that wrote to the same memory."""
    spans = [(written.before, written.after) for _, written in writes]
    return [
        write
        for write, span in zip(writes, spans, strict=True)
        if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans)
    ]


def _counted_apart(writes: Sequence[Write]) -> bool:
    """Whether two calls, neither inside the other, counted the same step of the version.

    This happens for a tensor and its `.data`, which share their memory but not their count.
    """
    inner = _innermost(writes)
    return any(
        (write.before, write.after) == (other.before, other.after)
        and call.source not in other_call.source
        and other_call.source not in call.source
        for (call, write), (other_call, other) in combinations(inner, 2)
    )


def _lead(writes: Sequence[Write], modified: ModifiedTensor) -> bool:
    """Whether the writes lead, without a gap, from the saved version to the current version."""
    spans = sorted({(written.before, written.after) for _, written in writes})
    follow = all(before[1] == after[0] for before, after in pairwise(spans))
    return follow and bool(spans) and spans[0][0] <= modified.expected and spans[-1][1] >= modified.version


def modified_tensor(lookup: Lookup, text: str) -> ModifiedTensor | None:
    """Returns the tensor that a message says was modified after a node had saved it; None for other messages."""
    match = _MODIFIED.search(text)
    if match is None:
        return None
    # The message may have a node's name without its suffix: Exp, ExpBackward0.
    named = [match[3], f"{match[3]}Backward0"] if match[3] else []
    makers = tuple(dict.fromkeys(d.source_op for node in named for d in lookup.store.derivative_of_node(node)))
    output = int(match[2]) if match[2] else None
    return ModifiedTensor(match[1], match[3], output, int(match[4]), int(match[5]), makers)


# --- what another process or thread raised ---


def handed_on(text: str) -> tuple[HandedError, tuple[LeftFrame, ...]] | None:
    """Returns an error that was first raised elsewhere, from a message, with its Python functions, outermost first."""
    worker = _HANDED.search(text)
    at, end = text.find(_BEFORE_INTERPRETED), text.rfind(_HERE)
    interpreted = _INTERPRETED.match(text, at) if at >= 0 else None
    # These patterns begin with any words. A search would try them again from each character of a text.
    compiled, traced = _COMPILED.match(text, 0, max(end, 0)), _TRACED.match(text)
    if worker is not None:
        raised = rf"^(?:[\w.]+\.)?{worker[1]}(?:: (.*))?\Z"
        words = re.search(raised, worker[3].rstrip("\n"), re.DOTALL | re.MULTILINE)
        message = (words[1] or "") if words is not None else ""
        return HandedError(worker[1], worker[2], message), _frames_in(worker[3])
    if interpreted is not None:
        handed = HandedError(interpreted[2], INTERPRETER, interpreted[3].strip())
        return handed, _frames_in(interpreted[1])
    if traced is not None:
        return HandedError("", TRACED, traced[1].strip()), _frames_in(traced[2])
    if compiled is not None:
        return HandedError("", SCRIPTED, compiled[1].strip()), _frames_in(text[compiled.start(2) : end])
    return None


def _frames_in(text: str) -> tuple[LeftFrame, ...]:
    """Returns the functions of the tracebacks in a text. TorchScript's compiler does not name functions."""
    return tuple(LeftFrame(left[1], 0, left[3] or "", int(left[2])) for left in _LEFT.finditer(text))


# --- who threw ---


def thrown_at(lookup: Lookup, version: str, file: str, line: int, message: str | None = None) -> SourceRef:
    """Returns the C++ line that an error names; confirmed if a tree of this version has a throwing statement there.

    With `message`, of a text that may come from another version, the statement must have words of it.
    """
    installed = lookup.tree.in_installed_header(file, line)  # from a compiled extension
    path, line = installed if installed is not None else (recorded_path(file), line)
    if path is None:
        return unknown(ErrorNamesFile(file), None, line)
    if lookup.tree.exists(path):
        why_not = _why_not(lookup.tree.lines(path), line, message)
        return recorded(lookup.tree, path, line, why_not is None, why_not)
    why: Reason = NoTextOf(version)
    for source in lookup.sources:
        if source.related and source.checkout is not None and source.tree.exists(path):
            why_not = _why_not(source.tree.lines(path), line, message)
            if why_not is None:
                return source.ref(path, line, confirmed=True)
            why = why_not
    return recorded(lookup.tree, path, line, False, why)


def _why_not(lines: Sequence[str], line: int, message: str | None) -> Reason | None:
    """Returns why the statement that contains a line did not throw a message; None if nothing speaks against it."""
    begin = _statement(lines, line)
    if begin is None:
        return ThrowsNothing()
    if message is None:
        return None
    text = " ".join("\n".join(lines[begin - 1 : begin + STATEMENT]).partition(");")[0].split())
    own, words = condition(lines, line), " ".join(message.split())
    parts = _constant_words(text)
    is_said = any(part in words for part in parts) or (bool(own) and own in words) or (not parts and not own)
    return None if is_said else HasOtherWords()


def raised_by(lookup: Lookup, definition: SourceRef, by: str, message: str) -> SourceRef | None:
    """Returns the line in a function's text that raised a message by calling `by`; None if the text does not show it.

    The call must contain constant words of the message. A single call without words also counts if the function
    contains words of the message.
    """
    if definition.path is None or definition.line is None:
        return None
    text = Text(definition.path, "\n".join(lookup.lines(definition)))
    calls = [call.start() for call in re.finditer(rf"\b{re.escape(by)}\b(?!\s+python_error\b)", text.bare)]
    words = {call: _constant_words(text.code[call : text.bare.find(";", call)]) for call in calls}
    held = [call for call in calls if any(part in message for part in words[call])]
    if len(calls) == 1 and not words[calls[0]] and any(part in message for part in _constant_words(text.code)):
        held = calls
    if len(held) != 1:
        return None
    line = definition.line + text.line(held[0]) - 1
    url = f"{definition.url.partition('#')[0]}#L{line}" if definition.url else None
    return replace(definition, line=line, end_line=None, url=url)


def _constant_words(code: str) -> list[str]:
    """Returns the constant parts of the string literals in C++ text that are long enough to identify a message."""
    literals = (literal[1] for literal in _LITERAL.finditer(code))
    return [part for literal in literals for part in _CONVERSION.split(literal) if len(part) >= WORDS]


def condition_at(lookup: Lookup, thrown: SourceRef) -> str:
    """Returns the condition of the check at a line that is confirmed to throw; empty without one."""
    if thrown.precision != "registered" or thrown.path is None or thrown.line is None:
        return ""
    tree = _holding(lookup, thrown.path)
    return condition(tree.lines(thrown.path), thrown.line) if tree is not None else ""


def condition(lines: Sequence[str], line: int) -> str:
    """Returns the condition of the check whose statement contains a line (from 1); empty if it only throws."""
    begin = _statement(lines, line)
    if begin is None:
        return ""
    text = Text("", "\n".join(lines[begin - 1 : begin + STATEMENT]))
    check = _CHECK.search(text.bare)
    closing = text.brackets.closing(check.end() - 1) if check is not None else -1
    if check is None or closing < 0 or text.line(check.start()) > 1:  # the check of a later statement
        return ""
    given = [text.raw[start:stop] for start, stop in text.brackets.arguments(check.end(), closing)]
    asked = given[1:2] if check[1].endswith("CHECK_WITH") else given[:1]
    written = " ".join(asked[0].split()) if asked else ""
    return "" if written in ("false", "0", "true") or written.startswith('"') else written


def throws(lines: Sequence[str], line: int) -> bool:
    """Whether the statement that contains a line (from 1) throws."""
    return _statement(lines, line) is not None


def _statement(lines: Sequence[str], line: int) -> int | None:
    """Returns the line of the throwing word in the statement that contains a line; None if it does not throw.

    A compiler may give the call of a macro the line of the macro's first or last word. A macro that this file defines
    throws if its definition does.
    """
    if not 0 < line <= len(lines):
        return None
    for number in range(line, max(0, line - STATEMENT), -1):
        text = lines[number - 1].partition("//")[0]
        if number < line and text.rstrip().endswith((";", "{", "}")):
            return None  # another statement
        if _THROWS.search(text) or any(_defines_throw(lines, name) for name in _MACRO.findall(text)):
            return number
    return None


def _defines_throw(lines: Sequence[str], name: str) -> bool:
    """Whether the file defines a macro of this name whose text throws."""
    opening = re.compile(rf"\s*#\s*define\s+{name}\b")
    begin = next((number for number, text in enumerate(lines) if opening.match(text)), None)
    for text in lines[begin:] if begin is not None else ():
        if _THROWS.search(text.partition("//")[0]):
            return True
        if not text.rstrip().endswith("\\"):
            return False
    return False


# --- why there is no kernel ---


def missing_kernel(
    lookup: Lookup, op: str, key: str, arguments: tuple[str, ...] = (), table: Sequence[TableEntry] | None = None
) -> MissingKernel:
    """Returns why an operator has no kernel for a key, from its dispatch table.

    `table` is the table of the traced process. Without it, the catalogue's table is used.
    """
    entries = lookup.store.table(op) if table is None else table
    kernels = tuple(name for entry in entries for name in entry.keys)
    named = [(name, entry.reason) for entry in entries for name in entry.keys]
    own = tuple(name for name, reason in named if reason == "kernel" and _is_backends(name))
    # The dispatcher gives a default kernel only to the keys of backends (OperatorEntry.cpp), and to Undefined.
    default = tuple(name for name, reason in named if reason == "default backend kernel" and name != "Undefined")
    backend = backend_of(key) or ""
    conversion = CONVERSIONS.get(key.removesuffix(backend)) if backend in kernels else None
    registered = _as_example(op, lookup.store.registered_under(key))
    neighbour = next(iter(difflib.get_close_matches(op, registered, 1, 0.0)), None)
    record = _record(lookup, neighbour, key) if neighbour is not None else None
    return MissingKernel(op, key, arguments, kernels, own, default, neighbour, record, conversion)


def _as_example(op: str, registered: Sequence[str]) -> Sequence[str]:
    """Returns operators that can serve as an example of a kernel: of the same namespace, else of aten, else all."""
    space = f"{op.partition('::')[0]}::"
    by_space = ([name for name in registered if name.startswith(start)] for start in (space, "aten::"))
    return next(filter(None, by_space), registered)


def _record(lookup: Lookup, op: str, key: str) -> SourceRef | None:
    """Returns the place where an operator's kernel for a key is registered."""
    entry = next((entry for entry in lookup.store.table(op) if key in entry.keys), None)
    return lookup.entry(entry, key, registration_of(lookup.store, op, key, entry)) if entry is not None else None


def _is_backends(key: str) -> bool:
    """Whether a key belongs to the tensors of a backend with some layout: CPU, SparseCPU, QuantizedMeta."""
    backend = backend_of(key)
    return backend is not None and key.removesuffix(backend) in ("", *CONVERSIONS)
