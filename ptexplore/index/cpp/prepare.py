"""Prepares a C++ text for the parser without changing its length.

Directives and attributes are blanked, and constructs that the grammar lacks are rewritten. If arms of `#if` exclude
each other, each gets a parse of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ptexplore.cpp.macros import Define, FileMacros, MacroTable, attributes
from ptexplore.cpp.text import Text, Words

_RAW_STRING = re.compile(r'R"([^"]*)"')
BRACKETED = frozenset(
    ("__attribute__", "__declspec", "__launch_bounds__", "_Pragma", "__pragma", "alignas", "API_AVAILABLE", "__align__")
)
_NOTHING = Define("", None, "", 0)
_NOTHING_WITH_BRACKETS = Define("", ("...",), "", 0)
_NEXT = re.compile(r"\s*")


class MacroUse(NamedTuple):
    """A place that names a macro: the offsets of the name, and of the text inside the brackets if there are some."""

    name: str
    start: int
    end: int
    arguments: tuple[int, int] | None = None


@dataclass
class Prepared:
    """The input for the parser.

    `views` are the texts to parse (ASCII, each as long as the file); the first has all arms that can be parsed
    together. `hidden` are the spans that are blank in each view. `uses` are the macro names in the text, in order.
    """

    text: Text
    macros: FileMacros
    views: list[bytearray] = field(default_factory=list)
    hidden: list[list[Span]] = field(default_factory=list)
    uses: list[MacroUse] = field(default_factory=list)
    attributes: frozenset[str] = frozenset()

    def definition(self, name: str, at: int) -> Define | None:
        """Returns the definition to expand a name with: an empty one for an attribute, else the likeliest."""
        if name in self.attributes:
            return _NOTHING_WITH_BRACKETS if name in BRACKETED else _NOTHING
        return self.macros.definition(name, at)


def blank(buffer: bytearray, start: int, end: int) -> None:
    """Overwrites a span with spaces, line ends included: lines are counted in the original text."""
    buffer[start:end] = b" " * (end - start)


def prepare(text: Text, table: MacroTable) -> Prepared:
    """Prepares a text: does everything that needs no syntax tree."""
    made = Prepared(text, FileMacros(text, table))
    bare = text.bare
    buffer = bytearray(rewrite(text.path, bare, text.words).encode("ascii", "replace"))
    for directive in text.directives:
        blank(buffer, directive.start, directive.end)
    _plain_strings(bare, buffer)
    made.attributes = attributes(made.macros.own, table.attributes) if made.macros.own else table.attributes
    _blank_attributes(made, buffer)
    made.hidden = hidden_spans(text)
    for hidden in made.hidden:
        view = bytearray(buffer) if len(made.hidden) > 1 else buffer
        for start, end in hidden:
            blank(view, start, end)
        made.views.append(view)
    return made


def _occurrences(text: str, names: set[str]) -> Iterator[tuple[int, str]]:
    """Yields offset and name of each whole-word occurrence.

    Searching name by name is faster than one regular expression.
    """
    for name in names:
        at = text.find(name)
        length = len(name)
        while at >= 0:
            before, after = text[at - 1 : at], text[at + length : at + length + 1]
            if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
                yield at, name
            at = text.find(name, at + length)


def _plain_strings(bare: str, buffer: bytearray) -> None:
    """Replaces each raw string, whose content is blank already, by an empty string, since it may span lines."""
    if 'R"' not in bare:
        return
    for match in _RAW_STRING.finditer(bare):
        start, end = match.span()
        buffer[start : start + 3] = b' ""'
        blank(buffer, start + 3, end)


def _blank_attributes(made: Prepared, buffer: bytearray) -> None:
    """Blanks attribute macros with their brackets, and collects all uses of macros in `made.uses`."""
    words = made.text.words
    if words is None:
        words = Words.of(bytes(buffer))
    names = {name.decode() for name in words.all & made.macros.table.encoded} | {
        name for name in made.macros.own if name.encode("ascii", "replace") in words.all
    }
    if not names:
        return
    plain = buffer.decode("ascii")
    for start, name in sorted(_occurrences(plain, names)):
        end = start + len(name)
        after = plain[end : end + 1]
        opening = _NEXT.match(plain, end).end() if after.isspace() else end  # type: ignore[union-attr]
        brackets = None
        if plain[opening : opening + 1] == "(":
            closing = made.text.brackets.closing(opening)
            brackets = None if closing < 0 else (opening + 1, closing)
        if name in made.attributes:
            takes = name in BRACKETED or any(
                define.parameters is not None for define in made.macros.definitions(name, start)
            )
            blank(buffer, start, brackets[1] + 1 if takes and brackets else end)
        made.uses.append(MacroUse(name, start, end, brackets))


Span = tuple[int, int]
_MOST = 3  # greatest number of parses of one file


_Arms = list[tuple[str, int, int]]  # the arms of one `#if`: condition, start, end


def hidden_spans(text: Text) -> list[list[Span]]:
    """Returns the spans to blank in each parse that the file needs. Complete arms stay in every parse.

    `#if 0` is blanked everywhere. An arm that leaves a bracket open, or ends inside a declaration, excludes its
    alternatives. Within one parse, arms with equal conditions are chosen alike.
    """
    groups = _groups(text)
    never = [arm[1:] for arms in groups for arm in arms if arm[0] in ("0", "false", "!(1)")]
    excluding = [arms for arms in groups if not all(_is_whole(text.bare[start:end]) for _, start, end in arms)]
    wanted = max(map(len, excluding), default=1)
    return [never + _chosen(excluding, parse) for parse in range(min(wanted, _MOST))]


def _chosen(groups: list[_Arms], parse: int) -> list[Span]:
    """Returns the arms to hide in one parse."""
    truth: dict[str, bool] = {}
    hidden: list[Span] = []
    for arms in groups:
        condition, positive = _normal(arms[0][0])
        known = truth.get(condition)
        if len(arms) == 1:
            if known is not None and known != positive:
                hidden.append(arms[0][1:])
            continue
        keep = min(parse, len(arms) - 1)
        if known is not None:
            keep = 0 if known == positive else max(keep, 1)
        else:
            truth[condition] = (keep == 0) == positive
        hidden += [arm[1:] for at, arm in enumerate(arms) if at != keep]
    return hidden


def _groups(text: Text) -> list[_Arms]:
    """Returns every `#if` with its arms, in order."""
    groups: list[_Arms] = []
    stack: list[_Arms] = []
    for directive in text.directives:
        word = directive.word
        if word in ("if", "ifdef", "ifndef"):
            stack.append([(directive.condition, directive.end, len(text.bare))])
            groups.append(stack[-1])
        elif word in ("elif", "else", "endif") and stack:
            arms = stack[-1]
            arms[-1] = (*arms[-1][:2], directive.start)
            if word == "endif":
                stack.pop()
            else:
                arms.append((directive.condition if word == "elif" else "", directive.end, len(text.bare)))
    return groups


def _is_whole(arm: str) -> bool:
    """Whether an arm closes every bracket that it opens, and ends where a declaration or statement may end."""
    if "{" in arm or "}" in arm:
        opening, closing = arm.find("{"), arm.find("}")
        if arm.count("{") != arm.count("}") or closing < opening:
            return False
    if arm.count("(") != arm.count(")"):
        return False
    last = _last_line(arm)
    return not last or last[-1] in ";},:"


def _last_line(arm: str) -> str:
    """Returns the last line that is neither empty, nor a directive, nor continued."""
    for line in reversed(arm.splitlines()):
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and not stripped.endswith("\\"):
            return stripped
    return ""


def _normal(condition: str) -> tuple[str, bool]:
    """Returns a condition without its negation, and whether it had none."""
    plain = condition.replace(" ", "")
    positive = True
    while plain.startswith("!"):
        plain, positive = plain[1:], not positive
        if plain.startswith("(") and plain.endswith(")"):
            plain = plain[1:-1]
    return plain, positive


Rewrite = Callable[["re.Match[str]"], str]


def _blanked(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _empty_body(match: re.Match[str]) -> str:
    """`= default;` becomes a body: after some return types, the grammar reads it as an expression."""
    return "{" + " " * (len(match[0]) - 2) + "}"


def _zero(match: re.Match[str]) -> str:
    """`= {…}` as a default argument becomes `= 0`."""
    return match[1] + "0" + " " * (len(match[2]) - 1)


def _after_at(match: re.Match[str]) -> str:
    return " " + match[0][1:]


def _word(match: re.Match[str]) -> str:
    """A call of an operator by name: `->operator!=(` becomes `->operatorxx(`."""
    if match.string[match.start() - 1 : match.start()] not in (".", ">"):
        return match[0]
    return re.sub(r"[^\w\n]", "x", match[0])


def _default_of_pointer(match: re.Match[str]) -> str:
    """Blanks the default of an unnamed pointer parameter: `typename X::type* = nullptr>`."""
    before = match.string[max(0, match.start() - 40) : match.start()].rstrip()
    return " " * len(match[0]) if before.endswith("*") else match[0]


def _disambiguator(match: re.Match[str]) -> str:
    """Blanks the word in `x.template f<T>()`: the grammar does not need it."""
    before = match.string[max(0, match.start() - 20) : match.start()].rstrip()
    return " " * len(match[0]) if before.endswith((".", "->", "::")) else match[0]


def _swapped(match: re.Match[str]) -> str:
    return match[2] + match[1]


def _struct(match: re.Match[str]) -> str:
    return "struct".ljust(len(match[0]))


def _inside(match: re.Match[str]) -> str:
    """`PyAPI_FUNC(void)` becomes its type."""
    return match[1].ljust(len(match[0]))


def _pointer(match: re.Match[str]) -> str:
    """A typedef of a block becomes one of a function pointer."""
    return f"{match[1]}(*"


def _some_type(match: re.Match[str]) -> str:
    """Replaces a trailing `-> decltype(…)`, whose expression the grammar may not know."""
    return "-> T".ljust(len(match[0]))


_NESTED = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"

# A word without which the rewrite is skipped, the pattern, the rewrite.
_EVERYWHERE: tuple[tuple[str, re.Pattern[str], Rewrite], ...] = (
    ("delete", re.compile(r"=\s*delete\s*;"), _empty_body),
    ("default", re.compile(r"=\s*default\s*;"), _empty_body),
    ("{", re.compile(r"(=\s*)(\{[^{};]*\})(?=\s*[,)])"), _zero),
    ("typename", re.compile(r"typename(?=\s+(?:::)?\w+\s*(?:<|::))"), _blanked),
    ("template", re.compile(r"template(?=\s+\w+\s*<)"), _disambiguator),
    ("[[", re.compile(r"\[\[[\w:, ]*(?:\([^()\[\]]*\))?\s*\]\]"), _blanked),
    ("friend", re.compile(r"(inline\s+|constexpr\s+|virtual\s+)(friend\s+)"), _swapped),
    ("decltype", re.compile(rf"->\s*decltype\s*{_NESTED}(?=\s*\{{)"), _some_type),
    ("nullptr", re.compile(r"=\s*nullptr(?=\s*[>,)])"), _default_of_pointer),
    ("template", re.compile(r"extern\s+template\s[^;{}=]*;"), _blanked),
    ("template", re.compile(r"template\s+(?:class|struct|[\w:]+)\b(?!\s*\()[^;{}=]*;"), _blanked),
    ("<<<", re.compile(r"<<<.*?>>>", re.DOTALL), _blanked),
    ("operator", re.compile(r"operator\s*(?:[^\w\s(]+|\(\s*\))(?=\s*\()"), _word),
    ("unsigned", re.compile(r"unsigned(?<!\wunsigned)\s*:\s*\d+\s*;"), _blanked),  # a bit field without a name
    # Macros of headers outside the PyTorch tree.
    ("FLATBUFFERS_MANUALLY_ALIGNED_STRUCT", re.compile(r"FLATBUFFERS_MANUALLY_ALIGNED_STRUCT\(\w+\)"), _struct),
    ("CALLBACK", re.compile(r"(?<=\w )CALLBACK(?= \w+\()"), _blanked),
    ("PyAPI_FUNC", re.compile(r"PyAPI_FUNC\(([\w *]+)\)"), _inside),
    *(
        (f"PYBIND11_{word}", re.compile(rf"PYBIND11_{word}\s*{_NESTED}"), _blanked)
        for word in ("MAKE_OPAQUE", "DECLARE_HOLDER_TYPE", "TYPE_CASTER")
    ),
    ("$", re.compile(r"\$\{\w*\}"), _blanked),
)
_OBJECTIVE = (
    ("@", re.compile(r"@(?:autoreleasepool|synchronized\s*\([^()]*\)|try|finally)\b"), _blanked),
    ("@", re.compile(r"@(?:interface|implementation|protocol)\b.*?@end", re.DOTALL), _blanked),
    ("(^", re.compile(r"(typedef\s[^;{}()]*)\(\^(?=\w+\))"), _pointer),
    ("@", re.compile(r"@(?:class|import|compatibility_alias)\b[^;\n]*;"), _blanked),
    ("@", re.compile(r'@["(\[{]'), _after_at),
    ("^", re.compile(r"\^(?=\s*[({])"), _blanked),
)
_METAL = (
    ("", re.compile(r"\b(?:kernel|device|constant|threadgroup|thread)\b(?!\s*[;,)=(.])"), _blanked),
    ("[[", re.compile(r"\[\[[^\[\]]*\]\]"), _blanked),
)


def rewrite(path: str, text: str, words: Words | None = None) -> str:
    """Rewrites constructs that the grammar lacks in `text`, whose comments and literals are blank.

    The length stays the same.

    With the `words` of the file, a rule whose word is absent is skipped without a search.
    """
    rules = _EVERYWHERE
    if path.endswith((".mm", ".m")) or ("@" in text and ("@interface" in text or "@protocol" in text)):
        rules += _OBJECTIVE
    elif path.endswith(".metal"):
        rules += _METAL
    for word, pattern, made in rules:
        if word in text if words is None or not word.isidentifier() else word.encode() in words.all:
            text = pattern.sub(made, text)
    return text
