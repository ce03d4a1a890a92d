"""Short names of C++ functions, made from the demangled symbol.

A short name has no parameters, no return type, no anonymous namespaces and nothing that the compiler added. Template
arguments are left out, except a single short one. A trampoline's own name says little, so it is shown with the function
that it calls.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ptexplore.cpp.symbol_names import ANONYMOUS, Name, NamePart, parse, split, without_suffix
from ptexplore.model.trace import is_move

SHORT = 14  # characters; longer template arguments are left out
NAMED_BY_ARGUMENT = frozenset({"VectorizedLoop2d", "loop_2d_from_1d", "cpu_kernel", "cpu_kernel_vec"})
"""Templates that are shown with their first argument, since only that argument says whose code runs in them."""

KERNEL = 32  # characters of a kernel's template arguments; a name without arguments may have twice as many
_SPACES = re.compile(r"(?:\b\w+::|\(anonymous namespace\)::)+")
_LENGTH = re.compile(r"[1-9][0-9]{0,8}")  # the length of an identifier in a mangled name
_TYPES = r"\([\w:, ]{1,16}\)"  # parameter types of a lambda: they show the dispatched dtype
_TYPED_LAMBDA = re.compile(rf"\{{lambda({_TYPES})#\w+\}}$")
_CHAIN = re.compile(r"(?:\{lambda#\w+\}::)+\{lambda(\([^{}]*\))?#\w+\}")


@lru_cache(maxsize=65536)
def plain(symbol: str) -> str:
    """Returns the qualified name that rules match: no parameters, templates, return type or anonymous namespaces."""
    return parse(symbol).qualified


@lru_cache(maxsize=65536)
def display(symbol: str) -> str:
    """Returns the name to show for a demangled symbol. A C function's name stays as it is."""
    if symbol.startswith("_Z"):
        return _spelled(symbol)
    name = parse(without_suffix(symbol))
    shown = _trampoline(name) or _joined(name)
    return _CHAIN.sub(_chained, shown) or symbol


@lru_cache(maxsize=65536)
def kernel_name(symbol: str) -> str:
    """Returns the name to show for a device's kernel or copy.

    Template arguments often say what the kernel computes. They are shown without namespaces, as many as fit.
    """
    name = parse(symbol)
    if not name.parts or is_move(symbol):
        return symbol
    shown, arguments = name.parts[-1].name, name.parts[-1].arguments
    if arguments is None:
        plain_name = display(symbol)
        return plain_name if len(plain_name) <= 2 * KERNEL else f"{plain_name[: 2 * KERNEL]}…"
    fitted: list[str] = []
    for argument in split(_SPACES.sub("", arguments)):
        outer, opened, _ = argument.partition("<")
        fitting = (text for text in (argument, f"{outer}<…>" if opened else "") if text)
        room = KERNEL - len(", ".join(fitted))
        fitted.append(next((text for text in fitting if len(text) <= room), "…"))
        if fitted[-1] == "…":
            break
    return f"{shown}<{', '.join(fitted)}>"


def _joined(name: Name) -> str:
    """Joins the parts of a name, each with the template arguments to show."""
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
    """Returns the template arguments to show for one part of a name."""
    if part.arguments is None:
        return ""
    if part.name in NAMED_BY_ARGUMENT:
        return f"<{_relative(display(split(part.arguments)[0]), around)}>"
    arguments = part.arguments.strip()
    return f"<{arguments}>" if len(arguments) <= SHORT and not set(arguments) & set("<({&") else ""


def _relative(name: str, around: list[str]) -> str:
    """Removes from a template argument's name the namespaces that the template's own name already has."""
    if "<" in name.partition("{")[0]:
        return name
    parts = name.split("::")
    while len(parts) > 1 and parts[0] in around:
        parts.pop(0)
    return "::".join(parts)


def _trampoline(name: Name) -> str | None:
    """Returns a trampoline's name with the function that it calls, or None for any other function."""
    from ptexplore.resolve.native.call_tree import landmark  # its patterns take 4 ms to compile

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
    """Joins nested lambdas into one: "{lambda(float, float)#1.7.1}"."""
    numbers = ".".join(re.findall(r"#(\w+)", lambdas[0]))
    return f"{{lambda{lambdas[1] or ''}#{numbers}}}"


def _spelled(mangled: str) -> str:
    """Returns what can be read from a name that the demangler does not know: the identifiers inside it."""
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
