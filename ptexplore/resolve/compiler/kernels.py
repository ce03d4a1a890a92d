"""The kernels that Inductor generated, with the operators that are fused in each and the lines that they compute."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ptexplore.model.compiled import GeneratedKernel
from ptexplore.model.compiler_log import CodeLine, CompilerLog
from ptexplore.resolve.compiler.texts import stack_in

MAPPINGS = "inductor_provenance_tracking_node_mappings"
STACKS = "inductor_provenance_tracking_kernel_stack_traces"
CODE = "inductor_output_code"
_KERNEL = re.compile(r"^(?P<name>.+?)(?::\d+)?$")  # "cpp_fused_add_0:2" is one call of the kernel


def kernels_in(log: CompilerLog) -> Iterator[GeneratedKernel]:
    """Yields the kernels of each generated file, in order. A version that writes no provenance gives none.

    The records of a graph follow each other: its code, the operators of its kernels, the lines of its kernels.
    """
    for number, code in enumerate(log.texts):
        if code.name != CODE:
            continue
        operators, stacks = _provenance(log, number)
        for call in _calls(code.text):
            yield GeneratedKernel(
                name=_KERNEL.sub(r"\g<name>", call),
                compilation=code.compilation or "",
                operators=tuple(map(str, operators.get(call) or ())),
                lines=tuple(_lines(stacks.get(call) or ())),
                is_backward=_is_backward(log, number),
                file=code.file,
            )


def _provenance(log: CompilerLog, number: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Returns the operators and the stacks of the kernels in the code that is the text `number`, by call."""
    operators: Mapping[str, Any] = {}
    code = log.texts[number]
    for text in log.texts[number + 1 :]:
        if text.compilation != code.compilation:
            continue
        if text.name == CODE:
            break
        if text.name == MAPPINGS:
            operators = _document(text.text).get("cppCodeToPost") or {}
        elif text.name == STACKS:
            return operators, _document(text.text)
    return operators, {}


def _is_backward(log: CompilerLog, number: int) -> bool:
    """Whether the text `number` is of a backward graph: the next end of its compilation says so."""
    key = log.texts[number].compilation
    ends = (end for end in log.ends if end.compilation == key and end.texts > number)
    following = min(ends, key=lambda end: end.texts, default=None)
    return following is not None and following.is_backward


def _document(text: str) -> Mapping[str, Any]:
    try:
        match = json.loads(text)
    except ValueError:
        return {}
    return match if isinstance(match, dict) else {}


_HANDLES = re.compile(r"\[Provenance debug handles\] (?P<calls>.+)$", re.MULTILINE)


def _calls(code: str) -> Iterator[str]:
    """Yields the calls of kernels in generated code, as Inductor marks them."""
    for match in _HANDLES.finditer(code):
        yield from (call.strip() for call in match["calls"].split(","))


def _lines(stacks: Any) -> Iterator[CodeLine]:
    """Yields the innermost line of each stack, once."""
    seen = set()
    for stack in stacks if isinstance(stacks, list) else ():
        frames = list(stack_in(str(stack)))
        if frames and frames[-1] not in seen:
            seen.add(frames[-1])
            yield frames[-1]
