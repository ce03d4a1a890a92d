"""Reads the body of a generated kernel: the key set of its redispatch, the guard it holds, and the functions it calls.

The bodies are written by torchgen/dest/register_dispatch_key.py, torchgen/gen_functionalization_type.py and
tools/autograd/gen_{variable,trace,inplace_or_view}_type.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptexplore.cpp.brackets import Brackets

_EVENT = re.compile(
    r"(?P<open>\{)|(?P<close>\})|(?P<comment>//[^\n]*)"
    r"|(?P<guard>(?:at|c10)::(?:\w+::)*(?:AutoDispatch\w+|\w*DispatchKeyGuard|\w*DispatchMode)\b)\s+\w+\s*"
    r"(?P<argument>\([^;{}]*\))?;"
    r"|(?P<tracing>jit::tracer::setTracingState\(nullptr\))"
    r"|at::redispatch::\w+\((?P<old>)|at::_ops::\w+::(?:redispatch\((?P<new>)|call\((?P<call>))"
)
# Only literals: a search for these is many times faster than one for _EVENT.
_EVENT_BEGINS = re.compile(r"\{|\}|//|at::|c10::|jit::tracer::set")
_DISPATCHES = re.compile(r"redispatch|AutoDispatch|DispatchKeyGuard")
_NATIVE = re.compile(r"\b(at::native::(?:\w+::)*\w+)\s*\(")
_STRUCTURED = re.compile(r"^\s*(structured_\w+) op(?:\(|;)", re.MULTILINE)
# Functionalize first runs the operator on meta tensors, under this guard
_META_ONLY = "ExcludeDispatchKeyGuard"


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """Facts from one body. A field is None unless the body determines it in exactly one way."""

    redispatch: str | None
    guard: str | None
    natives: tuple[str, ...]
    structured: str | None
    calls_meta: bool
    calls_impl: bool


def read_body(text: str) -> BodyFacts:
    """Reads the text between a function's braces."""
    structured = set(_STRUCTURED.findall(text)) if "structured_" in text else set()
    natives = tuple(dict.fromkeys(_NATIVE.findall(text))) if "at::native::" in text else ()
    key_sets, under_redispatch, under_call = _dispatching(text) if _DISPATCHES.search(text) else ([], [], [])
    return BodyFacts(
        redispatch=_only(key_sets),
        guard=_only(under_redispatch) if key_sets else _only(under_call),
        natives=natives,
        structured=structured.pop() if len(structured) == 1 else None,
        calls_meta="op.meta(" in text,
        calls_impl="op.impl(" in text,
    )


def _dispatching(text: str) -> tuple[list[str], list[str | None], list[str | None]]:
    """Returns the key sets of redispatches, the guards held at each redispatch, and those held at each plain call."""
    key_sets: list[str] = []
    under_redispatch: list[str | None] = []
    under_call: list[str | None] = []
    scopes: list[list[str]] = [[]]
    for match in _events(text):
        if match["open"]:
            scopes.append([])
        elif match["close"]:
            if len(scopes) > 1:
                scopes.pop()
        elif match["guard"]:
            scopes[-1].append(match["guard"] + (match["argument"] or ""))
        elif match["tracing"]:
            scopes[0].append(match["tracing"])  # not a guard: it holds beyond the `if` around it
        elif match["old"] is not None or match["new"] is not None:
            key_sets.append(first_argument(text, match.end()))
            under_redispatch.append(_held(scopes))
        elif match["call"] is not None:
            held = _held(scopes)
            if held is not None and _META_ONLY not in held:
                under_call.append(held)
    return key_sets, under_redispatch, under_call


def _events(text: str) -> Iterator[re.Match[str]]:
    """Yields the same matches as `_EVENT.finditer`."""
    end = 0
    for begin in _EVENT_BEGINS.finditer(text):
        match = _EVENT.match(text, begin.start()) if begin.start() >= end else None
        if match is not None:
            end = match.end()
            yield match


def first_argument(text: str, start: int) -> str:
    """Returns the first argument of the call whose parenthesis is just before `start`, with white space folded."""
    brackets = Brackets(text)
    begin, end = brackets.arguments(start, brackets.closing(start - 1), 2)[0]
    return " ".join(text[begin:end].split())


def _held(scopes: list[list[str]]) -> str | None:
    return ", ".join(guard for scope in scopes for guard in scope) or None


def _only(values: list[str] | list[str | None]) -> str | None:
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None
