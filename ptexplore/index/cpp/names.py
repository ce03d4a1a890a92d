"""Names, parameter lists and types as text: without template arguments, parameter names and defaults, evenly spaced."""

from __future__ import annotations

import re
from functools import lru_cache

from ptexplore.index.cpp.text import words

_SPACES = re.compile(r"\s+")
_OPERATOR = re.compile(r"(?:^|(?<=[\s:]))operator\b")
_BEFORE_WORD = re.compile(r"([>&*])(?=[A-Za-z_])")
_TIGHT = re.compile(r"\s*(::|[<>(),\[\]]|&&|[&*]|\.\.\.)\s*")
_INNER_NAME = re.compile(r"\(\s*((?:[\w:]+::)?[*&^]+)\s*(?:const\s*)?[A-Za-z_]\w*\s*((?:\[[^\]]*\])?)\s*\)")
_WORD_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
BUILTIN = words(
    """void bool char short int long float double signed unsigned wchar_t char16_t char32_t char8_t auto const volatile
    struct class enum union typename mutable register constexpr __int128"""
)
_QUALIFIERS = words("const volatile struct class enum union typename register mutable")
CAST = r"(?:static|const|reinterpret|dynamic)_cast\b"  # begins an argument, never a parameter
OPEN, CLOSE = "([{<", ")]}>"


@lru_cache(maxsize=65536)
def name_parts(text: str) -> tuple[str, ...]:
    """The components of a written name without template arguments: "A<T>::operator ()" -> ("A", "operator()").

    A leading "::" gives an empty first component.
    """
    text = text.strip()
    match = _OPERATOR.search(text)
    tail: tuple[str, ...] = ()
    if match:
        tail = (_operator(text[match.end() :]),)
        text = text[: match.start()]
    if "<" in text:
        text = without_angles(text)
    parts = "".join(text.replace("template ", " ").split()).split("::")
    if tail and parts[-1] == "":
        parts.pop()
    return (*parts, *tail)


def _operator(rest: str) -> str:
    rest = _SPACES.sub(" ", rest).strip()
    if not rest[:1].isalpha() and rest[:1] not in "_:":
        symbol = re.match(r'\(\s*\)|\[\s*\]|""\s*\w+|[^\w\s<(]+|<=>|<<=?|<=?|,', rest)
        return "operator" + (symbol[0] if symbol else rest).replace(" ", "")
    return "operator " + _TIGHT.sub(r"\1", rest)


def without_angles(text: str) -> str:
    """Everything between balanced < and > taken out."""
    kept: list[str] = []
    depth = 0
    for at, char in enumerate(text):
        if char == "<":
            depth += 1
        elif char == ">" and depth and text[at - 1] != "-":
            depth -= 1
        elif not depth:
            kept.append(char)
    return "".join(kept)


@lru_cache(maxsize=65536)
def one_line(text: str) -> str:
    """Blanks of any kind become one space; none just inside brackets or before a comma."""
    text = " ".join(text.split())
    return text.replace("( ", "(").replace(" )", ")").replace(" ,", ",")


@lru_cache(maxsize=65536)
def parameter_types(listed: str) -> tuple[str, ...]:
    """The types of a parameter list given with its brackets; () for (void)."""
    inside = one_line(listed)[1:-1].strip()
    if not inside or inside == "void":
        return ()
    return tuple(_type(one) for one in split(inside))


def split(listed: str) -> list[str]:
    """A list taken apart at its outermost commas."""
    if "," not in listed:
        return [listed]
    found: list[str] = []
    depth = start = 0
    for at, char in enumerate(listed):
        if char in OPEN:
            depth += 1
        elif char in CLOSE and not (char == ">" and listed[at - 1 : at] in ("-", "=")):
            depth -= 1
        elif char == "," and depth <= 0:
            found.append(listed[start:at])
            start = at + 1
    found.append(listed[start:])
    return found


@lru_cache(maxsize=65536)
def _type(parameter: str) -> str:
    """The type of one parameter: default and name taken off."""
    text = _without_default(parameter).strip()
    array = ""
    while text.endswith("]") and "[" in text:
        text, _, size = text.rpartition("[")
        array, text = f"[{''.join(size.split())}" + array, text.rstrip()
    inner = _INNER_NAME.search(text) if "(" in text else None
    if inner:
        text = f"{text[: inner.start()]}({inner[1]}{inner[2]}){text[inner.end() :]}"
    else:
        rest = text.rstrip(_WORD_LETTERS)
        name = text[len(rest) :]
        if name and rest and name not in BUILTIN and not name[0].isdigit() and not _only_qualifiers(rest.rstrip()):
            text = rest
    return normal_type(text) + array


def _only_qualifiers(text: str) -> bool:
    return text.endswith("::") or all(
        word in _QUALIFIERS and word not in ("unsigned", "signed", "long") for word in text.split()
    )


def _without_default(parameter: str) -> str:
    if "=" not in parameter:
        return parameter
    depth = 0
    for at, char in enumerate(parameter):
        if char in OPEN:
            depth += 1
        elif char in CLOSE:
            depth -= 1
        elif char == "=" and depth <= 0:
            return parameter[:at]
    return parameter


@lru_cache(maxsize=65536)
def normal_type(text: str) -> str:
    """A type's text with spaces where words need them and after commas only."""
    text = _TIGHT.sub(r"\1", " ".join(text.split()))
    text = _BEFORE_WORD.sub(r"\1 ", text)
    return text.replace(",", ", ")
