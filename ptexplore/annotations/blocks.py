"""The two blocks of a stop, read from their YAML: the anchor that says what it is about, and the labs."""

from __future__ import annotations

import ast
import re

from ptexplore.annotations.fields import Field, Wrong, read, required
from ptexplore.annotations.records import Anchor, Lab, See, Where
from ptexplore.source.tree import is_plain

ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
STOP = re.compile(r"[a-z0-9][a-z0-9-]{0,63}#[a-z0-9][a-z0-9-]{0,63}")
_TOKEN = re.compile(r"([^\W\d]\w*)(?:#([1-9][0-9]{0,2}))?")
_ANCHOR = ("path", "symbol", "signature", "in", "token", "lines", "see")
_LAB = ("id", "run", "grad", "backward", "var", "setup", "with", "expect")
_EXPECT = ("trail", "value")
KINDS = ("python", "binding", "op", "key", "kernel", "impl", "stub", "native", "node", "closed")  # of a Trail's hops


def anchor(source: str, first: int, file: str) -> Anchor:
    """The anchor of a block whose YAML begins at line `first` of `file`. Raises Wrong."""
    fields = read(source, first).fields(dict.fromkeys(_ANCHOR))
    required(fields, ("path", "symbol"), first)
    path = fields["path"].text()
    if not is_plain(path):
        raise Wrong(fields["path"].line, f"{path!r} is no path inside the tree")
    token, occurrence = _token(fields["token"]) if "token" in fields else (None, 1)
    if token is not None and "lines" in fields:
        raise Wrong(fields["lines"].line, "an anchor has `token` or `lines`, not both")
    return Anchor(
        where=Where(file, first),
        path=path,
        symbol=_symbol(fields["symbol"]),
        signature=_signature(fields["signature"]) if "signature" in fields else None,
        inside=_symbol(fields["in"]) if "in" in fields else None,
        token=token,
        occurrence=occurrence,
        lines=_lines(fields["lines"]) if "lines" in fields else None,
        see=tuple(_see(one, file) for one in fields["see"].items()) if "see" in fields else (),
    )


def _symbol(field: Field) -> str:
    name = field.text().removeprefix("::")
    if not name:
        raise Wrong(field.line, "the symbol has no name")
    return name


def _signature(field: Field) -> str:
    text = field.text()
    if not (text.startswith("(") and ")" in text):
        raise Wrong(field.line, "a signature is parameter types in brackets: (const Tensor&, int64_t)")
    return text


def _token(field: Field) -> tuple[str, int]:
    match = _TOKEN.fullmatch(field.text())
    if match is None:
        raise Wrong(field.line, "a token is one identifier; `name#2` is its second occurrence")
    return match[1], int(match[2] or 1)


def _lines(field: Field) -> tuple[int, int]:
    numbers = [one.whole() for one in field.items()]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise Wrong(field.line, "lines are [first, last], counted from the symbol's own line, which is 0")
    return numbers[0], numbers[1]


def _see(field: Field, file: str) -> See:
    text, where = field.text(), Where(file, field.line)
    if STOP.fullmatch(text):
        return See(where, "stop", text)
    if text.startswith("op:") and text[3:].strip():
        return See(where, "op", text)
    path, _, symbol = text.removeprefix("src:").partition("::")
    if text.startswith("src:") and symbol and is_plain(path):
        return See(where, "src", text, path, symbol)
    raise Wrong(field.line, f"`see` holds tour#stop, op:add.Tensor and src:path::symbol, not {text[:60]!r}")


def lab(source: str, first: int, file: str) -> Lab:
    """The lab of a block whose YAML begins at line `first` of `file`. Raises Wrong."""
    fields = read(source, first).fields(dict.fromkeys(_LAB))
    required(fields, ("id", "run", "expect"), first)
    name = fields["id"].text()
    if not ID.fullmatch(name):
        raise Wrong(fields["id"].line, f"{name!r} is no id: lower-case letters, digits and hyphens")
    expect = fields["expect"].fields(dict.fromkeys(_EXPECT))
    if not expect:
        raise Wrong(fields["expect"].line, "a lab expects a `trail` or a `value`, else it shows nothing")
    return Lab(
        where=Where(file, first),
        id=name,
        run=_python(fields["run"], "eval"),
        grad="grad" in fields and fields["grad"].flag(),
        backward="backward" in fields and fields["backward"].flag(),
        variables=_variables(fields["var"]) if "var" in fields else (),
        setup=tuple(_python(one, "exec") for one in fields["setup"].items()) if "setup" in fields else (),
        contexts=tuple(_python(one, "eval") for one in fields["with"].items()) if "with" in fields else (),
        trail=_trail(expect["trail"]) if "trail" in expect else (),
        value=_value(expect["value"]) if "value" in expect else None,
    )


def _python(field: Field, mode: str) -> str:
    """Code that Python's own parser takes; it is not run."""
    code = field.code()
    try:
        ast.parse(code.strip() if mode == "eval" else code, mode=mode)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        what = "expression" if mode == "eval" else "statement"
        raise Wrong(field.line, f"this is no Python {what}: {getattr(error, 'msg', error)}") from None
    return code


def _variables(field: Field) -> tuple[tuple[str, str], ...]:
    found = []
    for name, value in field.fields().items():
        if not name.isidentifier():
            raise Wrong(value.line, f"{name!r} is no name of a variable")
        found.append((name, _python(value, "eval")))
    return tuple(found)


def _trail(field: Field) -> tuple[tuple[str, str], ...]:
    found = []
    for item in field.items():
        kind, _, name = item.text().partition(" ")
        if kind not in KINDS or not name.strip():
            raise Wrong(
                item.line, f"a hop is its kind and its name, as `op aten::add.Tensor`; kinds: {', '.join(KINDS)}"
            )
        found.append((kind, name.strip()))
    if not found:
        raise Wrong(field.line, "a trail of no hops shows nothing")
    return tuple(found)


def _value(field: Field) -> str:
    text = field.raw()
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        hint = "a text needs both quotes: value: \"'text'\""
        raise Wrong(field.line, f"the value must be a Python literal, not {text[:60]!r} ({hint})") from None
    return text
