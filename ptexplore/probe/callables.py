"""Say what a call, an operator or an attribute resolves to, as Python itself would resolve it.

Source of the rules: Objects/abstract.c (binary_op1) and Objects/object.c (do_richcompare) of CPython;
torch/csrc/autograd/python_variable.cpp for what torch.Tensor inherits.
"""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType
from typing import Any

from . import torch_api as api

BUILTINS = ("builtin_function_or_method", "method_descriptor")
FORMS = {"method_descriptor": "method", "wrapper_descriptor": "slot", "getset_descriptor": "attribute"}


def of_call(function: Any) -> dict[str, Any]:
    """What is called: a torch builtin by table and method, a Python function by its code's place, a class, …"""
    known = api.identify(function) if type(function).__name__ in BUILTINS else None
    if known is not None:
        table, method = known
        return {"kind": "builtin", "table": table, "method": method, "qualname": api.public_name(table, method)}
    named = attribute(function, "__qualname__")
    qualname = named if isinstance(named, str) else type(function).__qualname__
    if issubclass(type(function), type):
        return {"kind": "class", "qualname": qualname, **_place(vars(function).get("__init__"))}
    target = function
    if type(function) not in (FunctionType, MethodType):
        # The type's own __call__, as the interpreter takes it.
        target = getattr(type(function), "__call__", function)  # noqa: B004
    place = _place(target.__func__ if type(target) is MethodType else target)
    return {"kind": "python" if place else "other", "qualname": qualname, **place}


def of_operator(name: str, reflected: str, left: Any, right: Any) -> tuple[dict[str, Any] | None, Any, Any]:
    """What a binary operator or comparison calls first, with its `self` and `other`; None where no tensor is in it.

    The right operand goes first where its class is derived from the left's and overrides the reflected method.
    A left operand that is no tensor (a number) answers NotImplemented to a tensor, so the right one is called.
    """
    mine, theirs = type(left), type(right)
    if not issubclass(mine, api.TENSOR_BASE):
        return of_slot(reflected, right), right, left
    overrides = mine is not theirs and issubclass(theirs, mine) and _find(theirs, reflected) != _find(mine, reflected)
    if overrides:
        return of_slot(reflected, right), right, left
    return of_slot(name, left), left, right


def of_slot(name: str, operand: Any) -> dict[str, Any] | None:
    """What attribute or operator syntax finds on a tensor's type; None where the operand is no tensor or has none."""
    kind = type(operand)
    if not issubclass(kind, api.TENSOR_BASE):
        return None
    base, value = _find(kind, name)
    if base is None or base is object:
        return None
    owner = "torch.Tensor" if base is api.TENSOR_BASE or base.__module__ == "torch" else base.__qualname__
    target: dict[str, Any] = {"method": name, "qualname": f"{owner}.{name}"}
    place = _place(value.fget if isinstance(value, property) else value)
    if place:
        return {"kind": "attribute" if isinstance(value, property) else "python", **target, **place}
    form = FORMS.get(type(value).__name__, "attribute")
    return {"kind": form, "table": "Tensor" if base is api.TENSOR_BASE else None, **target}


def _find(kind: type, name: str) -> tuple[type | None, Any]:
    """The class in `kind`'s order of resolution that defines `name`, and what it defines."""
    for base in kind.__mro__:
        if name in vars(base):
            return base, vars(base)[name]
    return None, None


def attribute(value: Any, name: str, default: Any = None) -> Any:
    """An attribute of whatever the user calls; its class may answer a question with any error."""
    try:
        return getattr(value, name, default)
    except Exception:
        return default


def _place(function: Any) -> dict[str, Any]:
    """Where a Python function's own code begins, as its frame will say; {} for what has none."""
    code = attribute(function, "__code__")
    return {"file": code.co_filename, "line": code.co_firstlineno} if type(code) is CodeType else {}
