"""C++ functions' names as people say them: short but true, from the demangled name of the symbol.

Left out are parameters, return types, template arguments (but one short one), anonymous namespaces and what the
compiler added. A trampoline, whose own name says nothing, is told with the function that it is made for.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ptexplore.cpp.symbol_names import ANONYMOUS, Name, NamePart, parse, split, without_suffix
from ptexplore.model.trace import is_move
from ptexplore.resolve.native.call_tree import landmark

SHORT = 14  # characters of template arguments that are worth their room
TOLD_BY_ARGUMENT = frozenset({"VectorizedLoop2d", "loop_2d_from_1d", "cpu_kernel", "cpu_kernel_vec"})
"""Templates that are told with their first argument, since that alone says whose code runs in them."""

KERNEL = 32  # characters of a kernel's template arguments; a name without any may have twice as many
_SPACES = re.compile(r"(?:\b\w+::|\(anonymous namespace\)::)+")
_LENGTH = re.compile(r"[1-9][0-9]{0,8}")  # of a name that is spelled out
_TYPES = r"\([\w:, ]{1,16}\)"  # of a lambda's parameters: they tell the type that was dispatched to
_TYPED_LAMBDA = re.compile(rf"\{{lambda({_TYPES})#\w+\}}$")
_CHAIN = re.compile(r"(?:\{lambda#\w+\}::)+\{lambda(\([^{}]*\))?#\w+\}")


@lru_cache(maxsize=65536)
def plain(symbol: str) -> str:
    """The qualified name without parameters, templates, return type and anonymous namespaces: what rules match."""
    return parse(symbol).qualified


@lru_cache(maxsize=65536)
def display(symbol: str) -> str:
    """The name to show for a demangled symbol; a C function's name is shown as it is."""
    if symbol.startswith("_Z"):
        return _spelled(symbol)
    name = parse(without_suffix(symbol))
    shown = _trampoline(name) or _joined(name)
    return _CHAIN.sub(_chained, shown) or symbol


@lru_cache(maxsize=65536)
def kernel_name(symbol: str) -> str:
    """The name to show for a device's kernel, or for a copy: what it computes often stands in its template's arguments.

    They are told without namespaces, as many as there is room for.
    """
    name = parse(symbol)
    if not name.parts or is_move(symbol):
        return symbol
    shown, arguments = name.parts[-1].name, name.parts[-1].arguments
    if arguments is None:
        plain_name = display(symbol)
        return plain_name if len(plain_name) <= 2 * KERNEL else f"{plain_name[: 2 * KERNEL]}…"
    told: list[str] = []
    for argument in split(_SPACES.sub("", arguments)):
        outer, opened, _ = argument.partition("<")
        fitting = (text for text in (argument, f"{outer}<…>" if opened else "") if text)
        room = KERNEL - len(", ".join(told))
        told.append(next((text for text in fitting if len(text) <= room), "…"))
        if told[-1] == "…":
            break
    return f"{shown}<{', '.join(told)}>"


def _joined(name: Name) -> str:
    """The parts of a name, each with what is worth showing of its template arguments."""
    out: list[str] = []
    for part in name.parts:
        if part.name == "operator()" and out and out[-1].startswith("{lambda"):
            types = f"({part.parameters})" if part.parameters and part is name.parts[-1] else ""
            out[-1] = out[-1].replace("{lambda", f"{{lambda{types}") if re.fullmatch(_TYPES, types) else out[-1]
        elif part.name != ANONYMOUS:
            out.append(part.name + _template(part, out))
    typed_here = _TYPED_LAMBDA.search(name.text)
    if typed_here and out and out[-1].startswith("{lambda#"):
        out[-1] = out[-1].replace("{lambda", f"{{lambda{typed_here[1]}")
    return "::".join(out)


def _template(part: NamePart, around: list[str]) -> str:
    """What is shown of a template's arguments."""
    if part.arguments is None:
        return ""
    if part.name in TOLD_BY_ARGUMENT:
        return f"<{_relative(display(split(part.arguments)[0]), around)}>"
    told = part.arguments.strip()
    return f"<{told}>" if len(told) <= SHORT and not set(told) & set("<({&") else ""


def _relative(name: str, around: list[str]) -> str:
    """A template argument's name without the namespaces that the template's own name has said."""
    if "<" in name.partition("{")[0]:
        return name
    parts = name.split("::")
    while len(parts) > 1 and parts[0] in around:
        parts.pop(0)
    return "::".join(parts)


def _trampoline(name: Name) -> str | None:
    """A trampoline's name with that of the function it is made for; None for any other function."""
    part = landmark(name)
    if part.kernel is not None and part.kind in ("boundary", "carrier"):
        owner = "callback_fn" if part.kind == "carrier" else name.parts[-2].name
        return f"{owner}<{display(part.kernel.text)}>"
    owners = [part.name for part in name.parts[-2:]]
    arguments = split(name.parts[-2].arguments or "") if len(owners) == 2 else []
    if owners in (["DispatchStub", "operator()"], ["DispatchStub", "call"]) and len(arguments) == 2:
        return display(arguments[1]).removesuffix("_DECLARE_DISPATCH_type")
    if owners == ["_Function_handler", "_M_invoke"] and len(arguments) == 2:
        return f"std::function<{display(arguments[1])}>"
    return None


def _chained(lambdas: re.Match[str]) -> str:
    """Lambdas inside of each other as one: "{lambda(float, float)#1.7.1}"."""
    numbers = ".".join(re.findall(r"#(\w+)", lambdas[0]))
    return f"{{lambda{lambdas[1] or ''}#{numbers}}}"


def _spelled(mangled: str) -> str:
    """What can be said of a name that the demangler does not know: the identifiers that are spelled out in it."""
    names: list[str] = []
    at = 2
    while at < len(mangled):
        length = _LENGTH.match(mangled, at)
        if length is None:
            at += 1
            continue
        start = length.end()
        word = mangled[start : start + int(length[0])]
        at = start + len(word)
        if word.isidentifier() and word not in names and not word.startswith("_GLOBAL__N"):
            names.append(word)
    telling = [word for word in names if word.endswith(("kernel", "_impl", "_stub", "_fn"))] or names[-1:]
    return "…" + "<".join(telling) + ">" * (len(telling) - 1) if telling else "a function whose name is not known"
