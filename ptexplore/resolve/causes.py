"""The causes of torch's common errors, as codes. `view/words/causes.py` has the words.

`facts/messages.py` has the patterns that recognise a message.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ptexplore.facts.messages import MEMORY, MEMORY_NUMBERS, MESSAGES
from ptexplore.model.observed import FailedGetter, UnusedInput
from ptexplore.model.trace import Cause

MEMORY_FULL, MEMORY_SPLIT = "cuda-memory-full", "cuda-memory-split"  # the causes with numbers
MEMORY_GIVEN = ("asked", "total", "free", "allocated", "unallocated")
# A message may have any length, and may be crafted: hundreds of patterns may begin at every letter of a long word, and
# each may read the word to its end. So a word and a text are cut in their middle before a pattern sees them.
LONGEST_WORD = 400  # characters without a blank; a path or the name of a template is shorter.
LONGEST_TEXT = 64 * 1024  # characters: the list of an operator's kernels has a quarter of that.
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def cause_of_unused(seen: UnusedInput) -> Cause:
    """Returns why a tensor is not in the graph of the outputs."""
    given: dict[str, str | tuple[str, ...]] = {
        "tensor": seen.tensor, "input": f"{seen.index} of {seen.count}" if seen.count > 1 else "", "node": seen.node,
        "leaves": seen.leaves, "further": str(seen.further or ""),
    }  # fmt: skip
    return Cause(code=f"unused-{seen.situation}", arguments=given)


def cause_of_getter(seen: FailedGetter) -> Cause:
    """Returns why an attribute that the class has was not found."""
    given = {"owner": seen.owner, "name": seen.name, "function": seen.function}
    return Cause(code="getter-raised", arguments=given)


def cause_of(message: str, exception: str = "", around: str = "") -> Cause | None:
    """Returns the cause of an error from its class and message, or None if no rule matches.

    `around` is the text with the message in it: a kernel on the GPU writes a line of its own, before the error.
    """
    text, around = bounded(f"{exception}: {message}"), bounded(around)
    for rule in MESSAGES:
        match = rule.pattern.search(text) or (rule.pattern.search(around) if rule.anywhere and around else None)
        if match is not None:
            given = {name: value for name, value in match.groupdict().items() if value is not None}
            return (
                _of_memory(text) or Cause(code=rule.cause)
                if rule.cause == MEMORY
                else Cause(code=rule.cause, arguments=given)
            )
    return None


@lru_cache(maxsize=2)  # all errors of one text are in the same text
def bounded(text: str) -> str:
    """Returns a text that no pattern reads for long: long words, and a long text, are cut in their middle."""
    return _cut(_LONG_WORD.sub(lambda word: _cut(word[0], LONGEST_WORD), text), LONGEST_TEXT)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2) :]}"


def _of_memory(text: str) -> Cause | None:
    """Returns what the numbers in CUDA's message about memory mean; None if the text does not have all of them."""
    match = next(filter(None, (pattern.search(text) for pattern in MEMORY_NUMBERS)), None)
    if match is None:
        return None
    given = match.groupdict()
    if "reserved" in given:  # with the memory of tensors; a later release leaves that out
        unallocated = _bytes(given["reserved"]) - _bytes(given["allocated"])
        given["unallocated"] = f"{unallocated / 2**30:.2f} GiB"
    else:
        unallocated = _bytes(given["unallocated"])
    is_split = unallocated >= _bytes(given["asked"])
    code = MEMORY_SPLIT if is_split else MEMORY_FULL
    return Cause(code=code, arguments={name: given[name] for name in MEMORY_GIVEN})


def _bytes(size: str) -> float:
    number, unit = size.split()
    return float(number) * _UNITS[unit]
