"""C++ functions' names as people say them: short but true, from the demangled name of the symbol.

Left out are parameters, return types, template arguments (but one short one), anonymous namespaces and what the
compiler added. A trampoline, whose own name says nothing, is told by the function that it is made for. The grammar is
that of GNU's demangler, for the Itanium C++ ABI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

PAIRS = {"<": ">", "(": ")", "{": "}", "[": "]"}
SHORT = 14  # characters of template arguments that are still worth their room
ANONYMOUS = "(anonymous namespace)"
_NOTHING, _SPACE, _PARAMETERS = "\x00", "\x01", "\x02"  # marks inside a name while it is taken apart

# Templates that stand for another function: what they are called, and the text after which that function's name is.
TRAMPOLINES = (
    ("c10::function_ref<", ">::callback_fn<", ""),
    ("c10::impl::wrap_kernel_functor_unboxed_<", ", &", "wrap_kernel_functor_unboxed_"),
    ("c10::impl::make_boxed_from_unboxed_functor<", ", &", "make_boxed_from_unboxed_functor"),
    ("std::_Function_handler<", "), ", "std::function"),
)
# Templates that are told with their first argument, since that alone says whose code runs in them.
TOLD_BY_ARGUMENT = frozenset({"VectorizedLoop2d", "loop_2d_from_1d", "cpu_kernel", "cpu_kernel_vec", "DispatchStub"})
_OPERATOR = re.compile(r"\boperator(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|<=?|>=?|&&|\|\||, ?|[-+*/%^&|~!=]=?|\+\+|--)")
_LAMBDA = re.compile(r"\{(lambda|unnamed type)(\(.*\))?#(\w+)\}$")
_PARAMETER_LIST = re.compile(r"\([\w:, ]{1,16}\)")  # of a lambda, worth showing: it tells the type that was dispatched to
_STUB = re.compile(r"\bDispatchStub<.*, ([\w:]+?)(?:_DECLARE_DISPATCH_type)?>::(?:operator\(\)|call)")
_CHAIN = re.compile(r"(?:\{lambda#\w+\}::)+\{lambda(\([^{}]*\))?#\w+\}")
_QUALIFIERS = re.compile(_PARAMETERS + r"(?:\s*(?:const|volatile|noexcept|&&?)(?!\w))*")
_SUFFIX = re.compile(r"\s*[\[(](?:clone\s*)?\.[^\])]*[\])]|\s*\[abi:\w+\]|\.(?:cold|isra|constprop|part|lto_priv)[.\w]*$")


@lru_cache(maxsize=65536)
def plain(symbol: str) -> str:
    """The qualified name without parameters, templates, return type and anonymous namespaces: what rules match."""
    return _qualified(symbol, lambda _base, _arguments: "")


@lru_cache(maxsize=65536)
def display(symbol: str) -> str:
    """The name to show for a demangled symbol; a C function's name is shown as it is."""
    if symbol.startswith("_Z"):
        return _spelled(symbol)
    name = _through(symbol) or _qualified(symbol, _argument)
    name = re.sub(r"(\{lambda[^{}]*\})::operator\(\)", r"\1", name)
    return _CHAIN.sub(_chained, name)


def _chained(lambdas: re.Match[str]) -> str:
    """Lambdas inside of each other as one: "{lambda(float, float)#1.7.1}"."""
    numbers = ".".join(re.findall(r"#(\w+)", lambdas[0]))
    return f"{{lambda{lambdas[1] or ''}#{numbers}}}"


def _spelled(mangled: str) -> str:
    """What can be said of a name that the demangler does not know: the identifiers that are spelled out in it."""
    names: list[str] = []
    at = 2
    while at < len(mangled):
        length = re.match(r"\d+", mangled[at:])
        if length is None:
            at += 1
            continue
        start = at + length.end()
        word = mangled[start : start + int(length[0])]
        at = start + len(word)
        if word not in names and not word.startswith("_GLOBAL__N"):
            names.append(word)
    telling = [word for word in names if word.endswith(("kernel", "_impl", "_stub", "_fn"))] or names[-1:]
    return "…" + "<".join(telling) + ">" * (len(telling) - 1) if names else "(a name that is not known)"


def _through(symbol: str) -> str | None:
    """A trampoline's name: that of the function it is made for; None for any other function."""
    stub = _STUB.search(symbol)
    if stub is not None:
        return stub[1]
    for begins, after, called in TRAMPOLINES:
        start = symbol.find(begins)
        if start < 0 or "(" in symbol[:start] or "::_M_manager(" in symbol:
            continue
        at = symbol.find(after, start)
        if at < 0:
            return None
        target = display(_first(symbol[at + len(after) :].lstrip("(")))
        if not target or target.startswith("("):
            return None
        return f"{called}<{target}>" if called else target
    return None


def _first(arguments: str) -> str:
    """The first of several template arguments."""
    depth = 0
    for index, letter in _brackets(arguments):
        if letter in PAIRS:
            depth += 1
        elif depth == 0 and letter in ">),":
            return arguments[:index].rstrip()
        elif letter in ">)}]":
            depth -= 1
    return arguments


def _brackets(text: str) -> Iterator[tuple[int, str]]:
    """Each character that opens, closes or separates, but for those that are part of an operator's name or an arrow."""
    skip = [(one.start(), one.end()) for one in _OPERATOR.finditer(text)]
    inside = []
    at = 0
    for index, letter in enumerate(text):
        while at < len(skip) and skip[at][1] <= index:
            at += 1
        if at < len(skip) and skip[at][0] <= index:
            continue
        if letter == ">" and ((index and text[index - 1] == "-") or (inside and inside[-1] != "<")):
            continue  # an arrow, or a comparison in an expression
        if letter == "<" and (text[index + 1 : index + 2] in "(=" or text[index - 1 : index] == ")") and "(" in inside:
            continue
        if letter in PAIRS:
            inside.append(letter)
        elif inside and letter == PAIRS[inside[-1]]:
            inside.pop()
        elif letter not in ",>)" or (inside and letter != ","):
            continue
        yield index, letter


def _argument(base: str, arguments: str) -> str:
    """What is shown of a template's arguments."""
    if base.rsplit("::", 1)[-1] in TOLD_BY_ARGUMENT:
        return f"<{_relative(display(_first(arguments)), base)}>"
    told = arguments.strip()
    return f"<{told}>" if len(told) <= SHORT and not set(told) & set("<({") else ""


def _relative(name: str, base: str) -> str:
    """A template argument's name without the namespaces that the template's own name has said."""
    if "<" in name.partition("{")[0]:
        return name
    parts, around = name.split("::"), base.split("::")[:-1]
    while len(parts) > 1 and parts[0] in around:
        parts.pop(0)
    return "::".join(parts)


def _qualified(symbol: str, template: Callable[[str, str], str]) -> str:
    """The name alone; `template` says what stands for the arguments of the template named so far."""
    symbol = _SUFFIX.sub("", symbol)
    out: list[str] = []
    for outside, group in _groups(symbol):
        out.append(outside)
        if group == ANONYMOUS:
            out.append(_NOTHING)
        elif group.startswith("<"):
            out.append(template("".join(out), group[1:-1]).replace(" ", _SPACE))
        elif group.startswith("{"):
            out.append(_braces(group))
        elif group.startswith("("):
            out.append(_PARAMETERS)
    text = "".join(out).replace(f"{_NOTHING}::", "").replace(_NOTHING, "")
    return _last(text) or symbol


def _braces(group: str) -> str:
    """A lambda or an unnamed type, with a short parameter list alone."""
    known = _LAMBDA.match(group)
    if known is None:
        return "{…}"
    told = known[2] if known[2] and _PARAMETER_LIST.fullmatch(known[2]) else ""
    return f"{{{known[1]}{told}#{known[3]}}}".replace(" ", _SPACE)


def _last(text: str) -> str:
    """The function's name out of a declaration whose parameter lists are marks: no return type, no qualifiers."""
    text = _QUALIFIERS.sub("", text).strip()
    at = re.search(r"(?:^|::|\s)operator ", text)
    head, tail = (text[: at.end()], text[at.end() :]) if at else (text, "")
    if at:
        before = head[: head.rfind("operator ")].rsplit(" ", 1)[-1]
        return (before + "operator " + tail).replace(_SPACE, " ")
    return text.rsplit(" ", 1)[-1].replace(_SPACE, " ")


def _groups(symbol: str) -> Iterator[tuple[str, str]]:
    """The text outside of any bracket, each part with the bracketed group that follows it ("" at the end)."""
    depth, start, before = 0, 0, 0
    for index, letter in _brackets(symbol):
        if letter in PAIRS:
            if depth == 0:
                start = index
            depth += 1
        elif letter != "," and depth:
            depth -= 1
            if depth == 0:
                yield symbol[before:start], symbol[start : index + 1]
                before = index + 1
    yield symbol[before:], ""
