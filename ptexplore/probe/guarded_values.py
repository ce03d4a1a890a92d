"""The present values of the expressions that guards check, read without running code of the user.

Only names, attributes that are in an object's own dictionary, and items of plain containers are followed. A property,
`__getattr__` or `__getitem__` of a class is never called: such an expression has no value here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from . import torch_api as api

SHOWN: Final = (int, float, complex, bool, str, bytes, type(None))  # types whose values are shown
CONTAINERS: Final = (dict, list, tuple)
LONGEST = 80  # characters of a value.
MOST_ITEMS = 20  # of a container that is shown.
# What a guard checks: the class of an expression, the identity of an object, the length of a container, a value.
SUBJECTS = (
    re.compile(r"^-?\d+ <= (?P<subject>[^<>=]+?)(?: <= -?\d+)?$"),
    re.compile(r"^(?:not )?___check_\w+\((?P<subject>.+?), "),
    re.compile(r"^(?P<subject>len\(.+?\)) [=!<>]="),
    re.compile(r"^(?P<subject>.+?) (?:==|!=|is not|is|<=|>=|<|>) "),
)
_OF_FUNCTION = frozenset(("__closure__", "__defaults__", "__kwdefaults__", "__code__"))


class _NoValueError(Exception):
    """An expression that cannot be followed without running code of the user."""


def values_in(reasons: Iterable[object], local: Mapping[str, Any], of_module: Mapping[str, Any]) -> dict[str, str]:
    """Return the value of each expression that failed guards are about, by the expression as the guard writes it.

    `reasons` are the texts of failed guards ("2/0: n == 1  # ..."). `local` and `of_module` are the names of the
    function that is compiled again.
    """
    values: dict[str, str] = {}
    for reason in reasons:
        guard = str(reason).partition("\n")[0].partition(": ")[2].partition("  # ")[0].strip()
        subject = next((match["subject"] for pattern in SUBJECTS if (match := pattern.match(guard))), None)
        if subject is not None:
            try:
                values[subject] = _shown(_read(ast.parse(subject.strip(), mode="eval").body, local, of_module))
            except (_NoValueError, SyntaxError, ValueError, RecursionError):
                continue
    return values


def _shown(value: Any) -> str:
    """Return a number, a text or a few of them as Python writes them, and the class of any other value."""
    text = repr(value) if type(value) in SHOWN else _plain_items(value)
    if text is not None:
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    kind = type(value)
    return f"<class '{kind.__module__}.{kind.__qualname__}'>" if kind.__module__ != "builtins" else str(kind)


def _plain_items(value: Any) -> str | None:
    """Return a container of a few numbers and texts as Python writes it; None for any other value."""
    kind = type(value)
    if kind not in (*CONTAINERS, set, frozenset) or len(value) > MOST_ITEMS:
        return None
    items = [*value, *value.values()] if kind is dict else value
    if any(type(item) not in SHOWN for item in items):
        return None
    if kind in (set, frozenset) and value:  # in one order, whatever the hashes are
        inner = ", ".join(sorted(map(repr, value)))
        return f"{{{inner}}}" if kind is set else f"frozenset({{{inner}}})"
    return repr(value)


def _read(node: ast.expr, local: Mapping[str, Any], of_module: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        if node.id in local:
            return local[node.id]
        raise _NoValueError
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1 and not node.keywords:
            of = _read(node.args[0], local, of_module)
            if type(of) in CONTAINERS:
                return len(of)
        raise _NoValueError
    if isinstance(node, ast.Attribute):
        return _attribute(_read(node.value, local, of_module), node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _item(node, node.slice.value, local, of_module)
    raise _NoValueError


def _item(node: ast.Subscript, key: Any, local: Mapping[str, Any], of_module: Mapping[str, Any]) -> Any:
    if isinstance(node.value, ast.Call):
        return _size(node.value, key, local, of_module)
    if isinstance(node.value, ast.Name) and node.value.id in ("L", "G") and node.value.id not in local:
        names = local if node.value.id == "L" else of_module
        if type(key) is not str or key not in names:
            raise _NoValueError
        return names[key]
    of = _read(node.value, local, of_module)
    if type(of) in CONTAINERS and type(key) in (int, str):
        try:
            return of[key]
        except (KeyError, IndexError, TypeError) as error:
            raise _NoValueError from error
    raise _NoValueError


def _size(call: ast.Call, index: Any, local: Mapping[str, Any], of_module: Mapping[str, Any]) -> int:
    """Return a size or stride of a tensor: `x.size()[0]`."""
    if isinstance(call.func, ast.Attribute) and not call.args and not call.keywords and type(index) is int:
        layout = api.layout_of(_read(call.func.value, local, of_module))
        numbers = (layout or {}).get(call.func.attr, ())
        if 0 <= index < len(numbers):
            return numbers[index]
    raise _NoValueError


def _attribute(of: Any, name: str) -> Any:
    """Return an attribute from the object's own dictionary, without calling a descriptor."""
    if type(of) is FunctionType and name in _OF_FUNCTION:
        return getattr(of, name)
    if type(of) is MethodType and name in ("__self__", "__func__"):
        return getattr(of, name)
    if type(of) is CellType and name == "cell_contents":
        return of.cell_contents
    try:
        own = of.__dict__ if type(of) is ModuleType else object.__getattribute__(of, "__dict__")
    except AttributeError as error:
        raise _NoValueError from error
    if type(own) is dict:
        if name in own:
            return own[name]
        for part in ("_parameters", "_buffers", "_modules"):  # of an nn.Module
            held = own.get(part)
            if type(held) is dict and name in held:
                return held[name]
    for kind in type(of).__mro__:
        if name in vars(kind):
            value = vars(kind)[name]
            if type(value) in SHOWN or type(value) in CONTAINERS:
                return value
            break
    raise _NoValueError
