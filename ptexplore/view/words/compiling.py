"""The words of the page about torch.compile: outcomes of functions, failed guards, guards by kind, phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ptexplore.model.compiled import CheckedProperty, FailedCheck, FunctionOutcome, MetFunction

# In the counts of the first line.
COUNTED: Mapping[FunctionOutcome, str] = {
    "whole": "compiled whole",
    "broken": "broken by graph breaks",
    "skipped": "left to Python",
    "failed": "failed to compile",
    "empty": "without an operator to compile",
    "unknown": "not finished",
}
_DIFFERENT: Mapping[CheckedProperty, str] = {
    "size": "size of {subject} in dimension {index} was {old}, now {new}",
    "stride": "stride of {subject} in dimension {index} was {old}, now {new}",
    "rank": "{subject} had {old} dimensions, now {new}",
    "dtype": "dtype of {subject} was {old}, now {new}",
    "requires_grad": "requires_grad of {subject} was {old}, now {new}",
    "device": "device index of {subject} was {old}, now {new}",
    "keys": "dispatch keys of {subject} were {old}, now {new}",
    "value": "{subject} was {old}, now {new}",
    "class": "class of {subject} was {old}, now {new}",
    "object": "{subject} is another object, now {new}",
    "length": "{subject} was {old}, now {new}",
    "state": "global state changed: {subject}",
    "other": "this guard did not hold: {text}",
}
# Without the new value, or without both: torch does not say it, and it could not be read.
_UNKNOWN_NOW: Mapping[CheckedProperty, str] = {
    "value": "{subject} was {old}, now it is not (its value is unknown)",
    "class": "class of {subject} was {old}, now another one",
    "object": "{subject} is another object than before",
    "length": "{subject} was {old}, now it is not",
}
# What a guard checks, by torch's name of its kind.
KINDS: Mapping[str, str] = {
    "TENSOR_MATCH": "tensor",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "mark of a dynamic dimension",
    "NO_HASATTR": "missing attribute",
    "TYPE_MATCH": "class",
    "ID_MATCH": "object",
    "EQUALS_MATCH": "value",
    "LAMBDA_GUARD": "condition",
    "DICT_VERSION": "dictionary",
    "DICT_CONTAINS": "key of a dictionary",
    "LENGTH_CHECK": "length",
    "DICT_LENGTH": "length of a dictionary",
    "TUPLE_ITERATOR_LEN": "length of an iterator",
    "GLOBAL_STATE": "global state",
    "DEFAULT_DEVICE": "default device",
    "TORCH_FUNCTION_MODE_STACK": "active modes",
    "NO_TENSOR_ALIASING": "different tensors",
    "OBJECT_ALIASING": "same object twice",
    "STORAGE_OVERLAPPING": "shared memory",
    "WEAKREF_ALIVE": "object that lives",
    "DATA_PTR_MATCH": "address of data",
    "NOT_NONE": "not None",
}


def counted_outcomes(functions: Iterable[MetFunction]) -> str:
    """Returns how many functions had each outcome: "2 compiled whole, 1 left to Python"."""
    counts: dict[FunctionOutcome, int] = dict.fromkeys(COUNTED, 0)
    for function in functions:
        counts[function.outcome] += 1
    return ", ".join(f"{count} {COUNTED[outcome]}" for outcome, count in counts.items() if count)


def outcome_words(function: MetFunction) -> str:
    """Returns what became of one function."""
    if function.outcome == "broken":
        return (
            f"broken, {amount(function.parts, 'part')} compiled"
            if function.parts
            else "broken, no part has an operator"
        )
    return {
        "whole": "compiled whole",
        "skipped": "left to Python",
        "failed": "failed to compile: raised an error",
        "empty": "nothing to compile",
        "unknown": "its compilation did not end",
    }[function.outcome]


def amount(count: int, noun: str) -> str:
    """Returns a number with its noun: "1 graph", "2 graphs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def check_words(check: FailedCheck) -> str:
    """Returns what differed, so that a guard failed."""
    template = _DIFFERENT[check.checks]
    if not check.new and "{new}" in template:
        template = _UNKNOWN_NOW.get(check.checks, _DIFFERENT["other"])
    return template.format(subject=check.subject, index=check.index, old=check.old, new=check.new, text=check.text)
