"""Chooses the specialisation of a class template for some template arguments, by the patterns in the source.

The rules are in the C++ standard, at partial specialisations ([temp.spec.partial.match] and [.order]): among the
patterns that the arguments fit, choose the one that all others accept, too. Computed patterns (`std::enable_if_t<…>`,
`decltype(…)`) are not evaluated: then nothing is decided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ptexplore.cpp.symbol_names import split
from ptexplore.cpp.types import ALIASES

_HEAD = re.compile(r"\btemplate\s*<")
_SPACES = re.compile(r"\s*([<>(),&*])\s*")
_QUALIFIER = re.compile(r"(?:\b\w+|\(anonymous namespace\))?::(?=\w)")
_KEYWORD = re.compile(r"\b(?:typename|class|struct|enum)\s+")
_LEADING_CONST = re.compile(r"^const (.*?)([&*]*)$")
_SUFFIX = re.compile(r"^(.*?)(\s*(?:const\b|&&?|\*))$")
_WORD = re.compile(r"\w+")
_VALUED = re.compile(r"\(((?:\w+::)*\w+)\)(-?\d+)")  # as the demangler writes an enumerator
_ENUMERATOR = re.compile(r"(\w+)\s*(?:=\s*(.+))?", re.DOTALL)
# Parts of a pattern that are computed: a type or a value.
_COMPUTED = re.compile(
    r"\b(?:enable_if\w*|conditional\w*|void_t|decltype|sizeof|is_\w+|\w+_v)\b|::type\b|[!+|?]|&&.*&&"
)


@dataclass(frozen=True, slots=True)
class Specialisation:
    """The head of a class template: its own parameters, and its pattern of arguments.

    The pattern of the primary is None.
    """

    parameters: frozenset[str]
    pattern: tuple[str, ...] | None


@dataclass(slots=True)
class Deduction:
    """The types deduced for the parameters of a pattern. `sure` is False if something was computed."""

    parameters: frozenset[str]
    bound: dict[str, str] = field(default_factory=dict)
    sure: bool = True


def read_head(text: str, name: str) -> Specialisation | None:
    """Reads the head of a specialisation: `text` begins at `template` and ends before the body or the parameters.

    `name` is the name of the class; the pattern is in the angle brackets behind it. Returns None if the form is
    unknown.
    """
    parameters: set[str] = set()
    at = 0
    while match := _HEAD.search(text, at):
        listed, at = _angles(text, match.end() - 1)
        if at < 0:
            return None
        for parameter in split(listed):
            words = _WORD.findall(parameter.partition("=")[0])
            if words:
                parameters.add(words[-1])
    named = re.compile(rf"\b{re.escape(name)}\b\s*").search(text, at)
    if named is None:
        return None
    if text[named.end() : named.end() + 1] != "<":
        return Specialisation(frozenset(parameters), None)
    listed, end = _angles(text, named.end())
    return Specialisation(frozenset(parameters), tuple(split(listed))) if end >= 0 else None


def chosen(heads: Sequence[Specialisation | None], arguments: Sequence[str]) -> list[int]:
    """Returns the positions of the specialisations that these arguments may choose: a single one if that is certain."""
    verdicts = [fits(head, arguments) for head in heads]
    left = [n for n, verdict in enumerate(verdicts) if verdict is not False]
    sure = [n for n in left if verdicts[n]]
    if len(left) != len(sure):
        return left  # an undecided one may be more special than all others
    best = [n for n in sure if all(n == other or _narrower(heads[n], heads[other]) for other in sure)]
    return best if len(best) == 1 else left


def valued(argument: str) -> tuple[str, int] | None:
    """Returns enumeration and value of an argument that the demangler writes with these.

    None for any other argument.
    """
    match = _VALUED.fullmatch(argument.strip())
    return (match[1], int(match[2])) if match is not None else None


def enumerators(text: str) -> dict[int, str]:
    """Returns the name of each value of an enumeration, whose text has no comments. Empty if a value is computed."""
    names: dict[int, str] = {}
    following = 0
    for item in split(text.partition("{")[2].partition("}")[0].strip().removesuffix(",")):
        match = _ENUMERATOR.fullmatch(item.strip())
        if match is None or (match[2] and not match[2].strip().isdecimal()):
            return {}
        following = int(match[2]) if match[2] else following
        names[following] = "" if following in names else match[1]
        following += 1
    return {value: name for value, name in names.items() if name}


def fits(head: Specialisation | None, arguments: Sequence[str]) -> bool | None:
    """Whether arguments fit a pattern. None if that is undecided."""
    if head is None:
        return None
    if head.pattern is None:
        return True
    deduction = Deduction(head.parameters)
    fitting = _list(head.pattern, arguments, deduction, defaults=True)
    return fitting if deduction.sure or not fitting else None


def _narrower(head: Specialisation | None, other: Specialisation | None) -> bool:
    """Whether all arguments that fit `head` fit `other` too, and not the reverse."""
    if head is None or other is None or head.pattern is None:
        return False
    if other.pattern is None:
        return True
    return fits(other, head.pattern) is True and fits(head, other.pattern) is False


def _list(patterns: Sequence[str], arguments: Sequence[str], deduction: Deduction, *, defaults: bool) -> bool:
    """Whether a list of arguments fits a list of patterns. A pack, which comes last, takes the remaining arguments.

    With `defaults`, a pattern may omit its last arguments, which have defaults. Then the fit is not sure.
    """
    for position, pattern in enumerate(patterns):
        text = _plain(pattern)
        if text.endswith("...") and text[:-3].strip() in deduction.parameters:
            return position == len(patterns) - 1
        if position >= len(arguments) or not _deduced(text, _plain(arguments[position]), deduction):
            return False
    if defaults and len(patterns) < len(arguments):
        deduction.sure = False
        return True
    return len(patterns) == len(arguments)


def _deduced(pattern: str, argument: str, deduction: Deduction) -> bool:
    if argument.endswith("..."):
        return False
    if pattern in deduction.parameters:
        return deduction.bound.setdefault(pattern, argument) == argument
    if pattern == argument and not _COMPUTED.search(pattern):
        return True
    if _COMPUTED.search(pattern) or (valued(argument) is not None and _WORD.fullmatch(pattern)):
        deduction.sure = False  # a computed type or value, or an enumerator whose name is unknown
        return True
    mine, theirs = _function(pattern), _function(argument)
    if mine is not None or theirs is not None:
        return mine is not None and theirs is not None and _both(mine, theirs, deduction, defaults=False)
    behind, given = _SUFFIX.match(pattern), _SUFFIX.match(argument)
    if behind is not None or given is not None:
        if behind is None or given is None or behind[2].strip() != given[2].strip():
            return False
        return _deduced(behind[1].strip(), given[1].strip(), deduction)
    mine, theirs = _template(pattern), _template(argument)
    return mine is not None and theirs is not None and _both(mine, theirs, deduction, defaults=True)


def _both(mine: tuple[str, list[str]], theirs: tuple[str, list[str]], deduction: Deduction, *, defaults: bool) -> bool:
    return _deduced(mine[0], theirs[0], deduction) and _list(mine[1], theirs[1], deduction, defaults=defaults)


def _function(text: str) -> tuple[str, list[str]] | None:
    """Splits a function type into result and parameters: `int (long, bool)`."""
    if not text.endswith(")"):
        return None
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            result, listed = text[:at].strip(), split(text[at + 1 : -1])
            return (result, [] if listed == ["void"] else listed) if result else None
    return None


def _template(text: str) -> tuple[str, list[str]] | None:
    """Splits a template into name and arguments: `vector<int>`."""
    at = text.find("<")
    return (text[:at], split(text[at + 1 : -1])) if at > 0 and text.endswith(">") else None


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Returns the same spelling for source and demangler: no namespaces, aliases resolved, `const` behind the type."""
    if _COMPUTED.search(text):
        return text.strip()
    text = _QUALIFIER.sub("", _KEYWORD.sub("", " ".join(text.split())))
    text = re.sub(r"\w+", lambda word: ALIASES.get(word[0], word[0]), text)
    text = _SPACES.sub(r"\1", text)
    leading = _LEADING_CONST.match(text)
    return f"{leading[1]} const{leading[2]}" if leading is not None else text


def _angles(text: str, opening: int) -> tuple[str, int]:
    """Returns the text inside the angle brackets at `opening`, and the offset behind them: -1 if they do not close."""
    depth = parentheses = 0
    for at in range(opening, len(text)):
        sign = text[at]
        parentheses += (sign == "(") - (sign == ")")
        if parentheses == 0 and sign in "<>" and text[at - 1] != "-":
            depth += 1 if sign == "<" else -1
            if depth == 0:
                return text[opening + 1 : at], at + 1
    return "", -1
