"""The bare name of the function that an expression registers: casts, wrappers, template arguments and `&` taken off."""

from __future__ import annotations

import re

from ptexplore.index.dialect.expand import Lookup, TooLong, expand

_NAME = re.compile(r"(?:::)?\s*~?[A-Za-z_]\w*")
_CAST = re.compile(r"(?:std::)?(?:static_cast|reinterpret_cast|const_cast|c10::guts::\w+_cast)\s*(?=<)")
_WRAPPER = re.compile(
    r"(?:(?:::)?(?:\w+::)*)(TORCH_FN|TORCH_BOXED_FN|TORCH_FN_TYPE|dispatch|makeUnboxedOnly|makeFromUnboxedFunction"
    r"|makeFromUnboxedLambda|makeUnboxedRuntimeFunction|castPyCFunctionWithKeywords|castPyCFunctionFast|CppFunction"
    r"|move|overload_cast|wrap_pybind_function|wrap_pybind_function_no_gil)\s*(?:<[^()]*>\s*)?(?=\()"
)
_BOXED = re.compile(r"(?:(?:::)?(?:\w+::)*)(?:makeFromBoxedFunction|makeFromBoxedFunctor)\s*(?=<)")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}\s*\(|[A-Z][A-Z0-9_]{2,}$")
_OPEN = {"(": ")", "<": ">", "{": "}", "[": "]"}
_LONGEST = 2000  # characters; what is longer is a lambda with its body
_NOTHING = ("", "nullptr", "NULL", "0")


def kernel_name(expression: str, lookup: Lookup | None = None) -> str | None:
    """The function's name as written, without template arguments; None for a lambda, a null pointer, a factory."""
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
    if (name is None or _MACRO.fullmatch(name)) and lookup is not None and _MACRO.match(said):
        try:
            code = expand(said, lookup)
        except (TooLong, RecursionError):
            return None
        return kernel_name(code) if code != said else name
    return name


def _inner(said: str) -> str | None:
    """What is left when the outermost layer comes off; None where there is no such layer."""
    if said.startswith("("):
        closing = matching(said, 0)
        if closing < 0:
            return None
        return said[1:closing] if closing == len(said) - 1 else said[closing + 1 :]  # parentheses, or a C cast
    cast = _CAST.match(said)
    if cast is not None:
        angle = matching(said, cast.end())
        opening = said.find("(", angle) if angle >= 0 else -1
        return said[opening + 1 : matching(said, opening)] if opening >= 0 else None
    wrapper = _WRAPPER.match(said)
    if wrapper is not None:
        closing = matching(said, wrapper.end())
        if closing < 0:
            return None
        arguments = _arguments(said[wrapper.end() + 1 : closing])
        return arguments[1] if wrapper[1] == "dispatch" and len(arguments) > 1 else arguments[0]
    boxed = _BOXED.match(said)
    if boxed is not None:
        closing = matching(said, boxed.end())
        return _arguments(said[boxed.end() + 1 : closing])[0] if closing >= 0 else None
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
            at = matching(said, at) + 1
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


def matching(said: str, opening: int) -> int:
    """The offset of the bracket that closes the one at `opening`, angle brackets counted; -1 where none does."""
    stack: list[str] = []
    at = opening
    while at < len(said):
        sign = said[at]
        if sign == '"':
            at = said.find('"', at + 1)
            if at < 0:
                return -1
        elif sign in "({[" or (sign == "<" and (not stack or stack[-1] in (">", ")"))):
            stack.append(_OPEN[sign])
        elif sign == ">" and said[at - 1] == "-":
            pass
        elif sign in ")}]>":
            while stack and stack[-1] == ">" and sign != ">":  # a `<` that was a comparison
                stack.pop()
            if stack and stack[-1] == sign:
                stack.pop()
            elif sign != ">":
                return -1
            if not stack:
                return at
        at += 1
    return -1


def _arguments(said: str) -> list[str]:
    """Cut at commas outside all brackets, angle brackets counted."""
    found, begin, at = [], 0, 0
    while at < len(said):
        sign = said[at]
        if sign in "({[<":
            closing = matching(said, at)
            at = closing if closing > at else at
        elif sign == ",":
            found.append(said[begin:at].strip())
            begin = at + 1
        at += 1
    return [*found, said[begin:].strip()]
