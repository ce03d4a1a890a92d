"""Reads the texts of torch.compile's log: the reason of a break, a guard, the reasons of a recompilation."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ptexplore.facts import compiler_texts as words
from ptexplore.model.compiled import BreakReason, CheckedProperty, FailedCheck
from ptexplore.model.compiler_log import CodeLine, DynamicChange

_FRAME = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>.+?)\s*$')
_NUMBER = re.compile(r"gb(\d+)")
_URL = re.compile(r"https?://\S+")
# "code  # FILE:LINE in FUNCTION", with what follows. A guard without a line of the user has no code, and in some
# versions a line of torch in brackets: "(_inductor/codegen/cpp.py:2273 in need_use_acc_helper)".
_MADE_BY = re.compile(
    r"^(?:(?P<code>.*?)  # )?\(?(?P<file>[^#]*?):(?P<line>\d+) in (?P<function>[^\s)]+)\)?(?P<after>.*)$", re.DOTALL
)
# Bounds of a size have a line for each bound: the lower one first.
_SECOND = re.compile(
    r"\) and (?P<code>.*?)  # (?P<file>[^#]*?):(?P<line>\d+) in (?P<function>\S+)(?P<after>.*)$", re.DOTALL
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")
_HINT = re.compile(r"\(HINT: (?P<hint>.*)\)\s*$", re.DOTALL)
_VERSION = re.compile(r"^(?P<version>!?\d+(?:/\d+)+(?:_\d+)?): ", re.DOTALL)
_LEAF = re.compile(r"^[| ]*\+- (?P<kind>[A-Z][A-Z0-9_]+)(?:: (?P<guard>.*))?$")
_VALUE = re.compile(r"^(?P<subject>.+?) (?:==|is) (?P<old>.+)$", re.DOTALL)
_CLASS = re.compile(r"^___check_type_id\((?P<subject>.+?), \d+\)(?:, type=<class '(?P<old>[^']+)'>)?")
_OBJECT = re.compile(r"^___check_obj_id\((?P<subject>.+?), \d+\)(?:, type=<class '(?P<old>[^']+)'>)?")
_TENSOR = re.compile(r"^tensor '(?P<subject>.*?)' ")
_BOUNDS = re.compile(r"^(?:(?P<least>-?\d+) <= )?(?P<subject>[^<>=]+?)(?: <= (?P<most>-?\d+))?$")
_SIZE = re.compile(r"^(?P<subject>.+)\.(?:size\(\)|shape)\[(?P<index>\d+)\]$")
_NOT = re.compile(r"^not (?P<subject>[\w.\[\]'\"]+)$")
_CHECKED_SIZES = re.compile(r"^check_tensor\((?P<subject>.+?), .*\bsize=\[(?P<sizes>[^\]]*)\]")
_GUARDED = re.compile(r"^(?:not )?(?:check_tensor|___check_\w+|hasattr)\((?P<subject>.+?), ")


@dataclass(frozen=True, slots=True)
class BreakText:
    """A text about a break, as far as it can be read."""

    reason: BreakReason
    at: tuple[str, int] | None  # file and line
    stack: tuple[CodeLine, ...]
    gave_up: CodeLine | None


@dataclass(frozen=True, slots=True)
class GuardText:
    """One guard of a tree of guards."""

    kind: str
    text: str
    at: CodeLine | None
    is_first_use: bool


def read_break(text: str) -> BreakText | None:
    """Reads the text about a break. None for a text without the known words."""
    own, _, internal = text.partition(f"\n{words.INTERNAL_STACK}")
    lines = own.split("\n")
    at: tuple[str, int] | None = None
    if lines[0].startswith(words.BREAK.words):
        file, _, line = lines[0].removeprefix(words.BREAK.words).rpartition(":")
        at = (file, int(line)) if line.isdecimal() else None
    elif not lines[0].startswith(words.SKIP.words):
        return None
    before, _, after = own.partition(words.STACK.words)
    reason = read_reason(before.partition("\n")[2])
    stack = tuple(stack_in(after if after else before))
    frames = list(stack_in(internal))
    giving_up = [frame for frame in frames if not frame.file.endswith(os.path.join("_dynamo", "exc.py"))]
    return BreakText(reason, at, stack, giving_up[-1] if giving_up else None)


def read_reason(text: str) -> BreakReason:
    """Reads the reason of a break: its kind, and, if the version writes them, explanation, hints and number."""
    parts: dict[str, list[str]] = {"kind": []}
    hints: list[list[str]] = []
    current = parts["kind"]
    link = ""
    text = _ADDRESS.sub("", text)  # each run has another address
    operator = ""
    text = text.partition(f"\n{words.ERROR_STACK.words}\n")[0]
    for line in text.partition(words.FROM_USER_CODE.words)[0].split("\n"):
        if line.startswith(words.EXPLANATION.words):
            current = parts["explanation"] = [line.removeprefix(words.EXPLANATION.words)]
        elif line.startswith(words.HINT.words):
            current = [line.removeprefix(words.HINT.words)]
            hints.append(current)
        elif line.startswith(words.OPERATOR.words):
            operator = line.removeprefix(words.OPERATOR.words).strip()
        elif line.startswith(words.CONTEXT.words):
            current = parts["context"] = [line.removeprefix(words.CONTEXT.words)]
        elif line.startswith(words.LINK.words):
            match = _URL.search(line)
            link = match[0] if match is not None else ""
            current = []
        else:
            current.append(line)
    # A list in the message of another error: its first line is the kind.
    begin = next((n for n, line in enumerate(parts["kind"]) if n and line.startswith("  - ")), None)
    if begin is not None and "explanation" not in parts:
        parts["explanation"] = [line.removeprefix("  - ") for line in parts["kind"][begin:]]
        del parts["kind"][begin:]
    situation, kind = _kind(parts["kind"])
    number = _NUMBER.search(link)
    return BreakReason(
        kind=kind,
        explanation=_first_paragraph(parts.get("explanation", [])),
        hints=tuple(hint for hint in map(_joined, hints) if hint and not _is_report(hint)),
        situation=situation,
        context=_joined(parts.get("context", ())),
        number=f"GB{number[1]}" if number is not None else "",
        link=link,
        operator=operator,
    )


def _kind(lines: list[str]) -> tuple[str, str]:
    """Returns what Dynamo tried, if the text says so, and the kind of break, which is the last paragraph."""
    text = "\n".join(lines).strip()
    for mark in (words.REASON.words, words.OLD_REASON.words):
        text = text.removeprefix(mark)
    situation, _, kind = text.rpartition("\n\n")
    return _joined(situation.split("\n")), _joined(kind.split("\n"))


def _first_paragraph(lines: list[str]) -> str:
    text = "\n".join(line.strip() for line in lines).strip()
    return _joined(text.partition("\n\n")[0].split("\n"))


def _is_report(hint: str) -> bool:
    """Whether a hint only asks for a report to PyTorch."""
    return hint.startswith(tuple(mark.words for mark in words.REPORTS))


def _joined(lines: Iterable[str]) -> str:
    return " ".join(filter(None, (line.strip() for line in lines)))


def stack_in(text: str) -> Iterator[CodeLine]:
    """Yields the frames of a traceback in a text, outermost first, each with the text of its line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        frame = _FRAME.match(line)
        if frame is not None:
            following = lines[number + 1] if number + 1 < len(lines) else ""
            code = "" if _FRAME.match(following) else following.strip()
            yield CodeLine(frame["file"], int(frame["line"]), frame["function"], code)


def read_guards(text: str) -> Iterator[GuardText]:
    """Yields the guards of a tree of guards, as torch prints it."""
    for line in text.split("\n"):
        leaf = _LEAF.match(line)
        if leaf is not None:
            guard, at, after = _made_by(leaf["guard"] or "")
            yield GuardText(leaf["kind"], guard, at, words.FIRST_USE.words in after)


def _made_by(text: str) -> tuple[str, CodeLine | None, str]:
    """Divides the text of a guard: the guard, the line that made it, and what follows."""
    guard, _, comment = text.partition("  # ")
    made = _MADE_BY.match(comment)
    if made is None:
        return guard.strip(), None, comment
    line = CodeLine(made["file"], int(made["line"]), made["function"], (made["code"] or "").strip())
    return guard.strip(), line, made["after"]


def read_recompile(text: str, values: Mapping[str, str]) -> Iterator[FailedCheck]:
    """Yields the guard that failed of each version that was tried. `values` are the values at that time."""
    reasons = json.loads(text) if text.startswith(("[", '"')) else text
    for reason in reasons if isinstance(reasons, list) else [reasons]:
        yield _failed_check(str(reason), values)


def _failed_check(reason: str, values: Mapping[str, str]) -> FailedCheck:
    own, _, stack = _ADDRESS.sub("", reason).partition(f"\n{words.RECOMPILE_STACK.words}")
    version = _VERSION.match(own)
    told = own[version.end() :] if version is not None else own
    guard, at, after = _made_by(told)
    hint = _HINT.search(after or told)
    guard = _HINT.sub("", guard).strip()
    frames = tuple(stack_in(stack))
    if at is None and frames:
        at = frames[-1]
    bounds = _bounds(guard, values)
    if bounds is not None:
        second = _SECOND.search(after)
        is_above = bounds.most and bounds.new.isdecimal() and int(bounds.new) > int(bounds.most)
        if second is not None and is_above:  # the line of the upper bound
            at = CodeLine(second["file"], int(second["line"]), second["function"], second["code"].strip())
            after = second["after"]
        first_use = words.FIRST_USE.words in (after[: second.start()] if second is not None and not is_above else after)
        number = version["version"] if version is not None else ""
        return replace(bounds, version=number, text=guard, at=at, is_first_use=first_use, stack=frames)
    checks, subject, index, old, new = _what_failed(guard, values)
    subject = without_scope(subject)
    is_of_class = checks in ("object", "value") and new.startswith("<class ")
    return FailedCheck(
        version=version["version"] if version is not None else "",
        text=guard,
        checks=checks,
        subject=subject,
        index=index,
        old=old,
        new="" if is_of_class else new,
        new_class=_class_name(new) if is_of_class else "",
        at=at,
        is_first_use=words.FIRST_USE.words in after,
        hint=_remedy(hint["hint"]) if hint is not None else "",
        stack=frames,
    )


def _remedy(hint: str) -> str:
    """Returns what the hint of a guard says to do. It may begin with the variable and the class, which are known."""
    parts = hint.split(", ")
    while parts and parts[0].startswith((words.CLASS_HINT.words, words.CLOSURE_HINT.words)):
        del parts[0]
    return ", ".join(parts)


def _bounds(guard: str, values: Mapping[str, str]) -> FailedCheck | None:
    """Returns the check of a guard that holds between bounds; None for another guard."""
    match = _BOUNDS.match(guard)
    if match is None or (match["least"] is None and match["most"] is None):
        return None
    subject = match["subject"].strip()
    size = _SIZE.match(subject)
    return FailedCheck(
        version="",
        text=guard,
        checks="bounds",
        subject=without_scope(size["subject"] if size is not None else subject),
        index=int(size["index"]) if size is not None else None,
        new=values.get(subject, ""),
        least=match["least"] or "",
        most=match["most"] or "",
    )


def is_constant(change: DynamicChange, guards: Iterable[GuardText]) -> bool:
    """Whether the guards of a compilation still check one value, or sizes without a symbol, after a change.

    torch notes that a value changes, and may then keep it as a constant: an integer of a module, or a size that the
    code compares with a number.
    """
    name = without_scope(change.name)
    for guard in guards:
        if guard.kind == "EQUALS_MATCH" and guarded(guard.text) == name:
            return True
        sizes = _CHECKED_SIZES.match(guard.text)
        if sizes is not None and without_scope(sizes["subject"]) == name and change.reason == words.SIZE_CHANGE.words:
            return "None" not in sizes["sizes"]
    return False


def guarded(text: str) -> str:
    """Returns the value that a guard is about, without its scope; "" if its text does not say it."""
    match = _GUARDED.match(text) or _VALUE.match(text)
    return without_scope(match["subject"]) if match is not None else ""


def _what_failed(guard: str, values: Mapping[str, str]) -> tuple[CheckedProperty, str, int | None, str, str]:
    """Returns what a failed guard checks, the expression, its dimension, the value before, and the value now."""
    tensor = _TENSOR.match(guard)
    if tensor is not None:
        for row in words.TENSOR_CHECKS:
            match = row.pattern.search(guard)
            if match is not None:
                groups = match.groupdict()
                old, new = groups["old"].rstrip(".,"), str(groups.get("new") or "").rstrip(".,")
                if row.checks == "requires_grad":  # the guard names one of two values
                    old, new = ("True", "False") if old == "1" else ("False", "True")
                index = int(groups["index"]) if "index" in groups else None
                return row.checks, tensor["subject"], index, old, new
        return "other", tensor["subject"], None, "", ""
    if guard.startswith(words.GLOBAL_STATE.words):
        return "state", guard.removeprefix(words.GLOBAL_STATE.words).strip(), None, "", ""
    for checks, pattern in (("class", _CLASS), ("object", _OBJECT)):
        match = pattern.match(guard)
        if match is not None:
            subject = match["subject"]
            return checks, subject, None, match["old"] or "", _now(values, subject, is_class=checks == "class")  # type: ignore[return-value]
    match = _NOT.match(guard)
    if match is not None:
        return "falsy", match["subject"], None, "", ""
    match = _VALUE.match(guard)
    if match is not None and " and " not in guard and " or " not in guard:
        subject = match["subject"]
        is_length = subject.startswith("len(")
        return "length" if is_length else "value", subject, None, match["old"].strip(), _now(values, subject)
    return "other", "", None, "", ""


_LOCAL = re.compile(r"""L\[\s*['"](?P<name>.*?)['"]\s*\]""")


def without_scope(expression: str) -> str:
    """Returns an expression as torch writes it in reasons of a recompilation: `x` for `L['x']`."""
    return _LOCAL.sub(r"\g<name>", expression)


_CLASS_WORDS = re.compile(r"^<class '(?P<name>[^']+)'>$")


def _now(values: Mapping[str, str], subject: str, *, is_class: bool = False) -> str:
    """Returns the value of an expression when its guard failed; "" if the probe could not read it."""
    value = values.get(subject, "")
    return _class_name(value) if is_class else value


def _class_name(value: str) -> str:
    """Returns the class of a value, which is a literal or "<class 'NAME'>"; "" for an unknown value."""
    named = _CLASS_WORDS.match(value)
    if named is not None:
        return named["name"]
    try:
        return type(ast.literal_eval(value)).__name__
    except (ValueError, SyntaxError):  # a long text, which is cut
        return ""
