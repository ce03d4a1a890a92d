"""Names as written in source: split into parts, without template arguments, evenly spaced."""

from __future__ import annotations

import re
from functools import lru_cache

_SPACES = re.compile(r"\s+")
_OPERATOR = re.compile(r"(?:^|(?<=[\s:]))operator\b")
TIGHT = re.compile(r"\s*(::|[<>(),\[\]]|&&|[&*]|\.\.\.)\s*")
CAST = r"(?:static|const|reinterpret|dynamic)_cast\b"  # begins an argument, never a parameter


@lru_cache(maxsize=65536)
def name_parts(text: str) -> tuple[str, ...]:
    """Splits a written name into parts without template arguments: "A<T>::operator ()" -> ("A", "operator()").

    A leading "::" gives an empty first part.
    """
    text = text.strip()
    match = _OPERATOR.search(text) if "operator" in text else None
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
    return "operator " + TIGHT.sub(r"\1", rest)


def without_angles(text: str) -> str:
    """Removes all text between balanced < and >."""
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
    """Replaces blanks of any kind by one space, and removes spaces just inside brackets and before commas."""
    text = " ".join(text.split())
    return text.replace("( ", "(").replace(" )", ")").replace(" ,", ",")
