"""The bare name of the function that an expression registers: casts, wrappers, template arguments and `&` taken off."""

from __future__ import annotations

import re
from collections.abc import Callable

from ptexplore.cpp.brackets import closing_of, split

_NAME = re.compile(r"(?:::)?\s*~?[A-Za-z_]\w*")
_CAST = re.compile(r"(?:std::)?(?:static_cast|reinterpret_cast|const_cast|c10::guts::\w+_cast)\s*(?=<)")
_WRAPPER = re.compile(
    r"(?:(?:::)?(?:\w+::)*)(TORCH_FN|TORCH_BOXED_FN|TORCH_FN_TYPE|dispatch|makeUnboxedOnly|makeFromUnboxedFunction"
    r"|makeFromUnboxedLambda|makeUnboxedRuntimeFunction|castPyCFunctionWithKeywords|castPyCFunctionFast|CppFunction"
    r"|move|overload_cast|wrap_pybind_function|wrap_pybind_function_no_gil)\s*(?:<[^()]*>\s*)?(?=\()"
)
_BOXED = re.compile(r"(?:(?:::)?(?:\w+::)*)(?:makeFromBoxedFunction|makeFromBoxedFunctor)\s*(?=<)")
# What most registrations hold, with nothing in it to take off or to expand.
_TORCH_FN = re.compile(
    r"TORCH_FN\((?!nullptr\b|.*\b(?:template|CPU_CAPABILITY)\b)((?:[A-Za-z_]\w*::)*[a-z_]\w*)\)", re.ASCII
)
_MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}\s*\(|[A-Z][A-Z0-9_]{2,}$")
_LONGEST = 2000  # characters; what is longer is a lambda with its body
_NOTHING = ("", "nullptr", "NULL", "0")


def kernel_name(expression: str, expand: Callable[[str], str | None] | None = None) -> str | None:
    """The function's name as written, without template arguments; None for a lambda, a null pointer, a factory.

    `expand` gives code with its macros expanded, None where it cannot.
    """
    wrapped = _TORCH_FN.fullmatch(expression)
    if wrapped is not None:
        return wrapped[1]
    said = " ".join(expression[:_LONGEST].split())
    for _ in range(12):  # each step takes one layer off
        said = said.strip().lstrip("&").strip()
        if said in _NOTHING or said.startswith("["):
            return None
        inner = _inner(said)
        if inner is None:
            break
        said = inner
    name = _plain(said)
    if (name is None or _MACRO.fullmatch(name)) and expand is not None and _MACRO.match(said):
        code = expand(said)
        return name if code == said else kernel_name(code) if code is not None else None
    return name


def _inner(said: str) -> str | None:
    """What is left when the outermost layer comes off; None where there is no such layer."""
    if said.startswith("("):
        closing = closing_of(said, 0)
        if closing < 0:
            return None
        return said[1:closing] if closing == len(said) - 1 else said[closing + 1 :]  # parentheses, or a C cast
    cast = _CAST.match(said)
    if cast is not None:
        angle = closing_of(said, cast.end())
        opening = said.find("(", angle) if angle >= 0 else -1
        return said[opening + 1 : closing_of(said, opening)] if opening >= 0 else None
    wrapper = _WRAPPER.match(said)
    if wrapper is not None:
        closing = closing_of(said, wrapper.end())
        if closing < 0:
            return None
        arguments = split(said[wrapper.end() + 1 : closing])
        return arguments[1] if wrapper[1] == "dispatch" and len(arguments) > 1 else arguments[0]
    boxed = _BOXED.match(said)
    if boxed is not None:
        closing = closing_of(said, boxed.end())
        return split(said[boxed.end() + 1 : closing])[0] if closing >= 0 else None
    return None


def _plain(said: str) -> str | None:
    """`a::b<c>::d` -> "a::b::d"; None where anything else is left over."""
    parts, at = [], 0
    if said.startswith("::"):
        at = 2
    while True:
        name = _NAME.match(said, at)
        if name is None:
            return None
        word = name[0].replace(" ", "")
        at = name.end()
        if word != "template":
            parts.append(word)
        while at < len(said) and said[at] == " ":
            at += 1
        if said[at : at + 1] == "<":
            at = closing_of(said, at) + 1
            if at == 0:
                return None
        rest = said[at:].lstrip()
        if not rest:
            break
        if word == "template":
            continue
        if not rest.startswith("::"):
            return None
        at = said.index("::", at) + 2
        while said[at : at + 1] == " ":
            at += 1
    kept = [part for part in parts if part != "CPU_CAPABILITY"]
    return "::".join(kept) or None
