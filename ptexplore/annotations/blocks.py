"""The blocks of YAML in notes: their fields with lines, and the anchors and labs made of them.

Aliases, tags, repeated keys and deep nesting are refused.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, get_args

from ptexplore.annotations.names import ID, STOP
from ptexplore.annotations.records import Anchor, Lab, See, Unreadable, Where
from ptexplore.errors import NOT_PYTHON
from ptexplore.model.hop_kinds import HopKind
from ptexplore.safe_text import unsafe_in
from ptexplore.source.tree import is_plain

_TOKEN = re.compile(r"([^\W\d]\w*)(?:#([1-9][0-9]{0,2}))?")
_OPERATOR = re.compile(r"op:\w+(?:::\w+)*(?:\.\w+)*")
_ANCHOR = ("path", "symbol", "signature", "in", "token", "lines", "see")
_LAB = ("id", "run", "grad", "backward", "var", "setup", "with", "expect", "ask", "choices", "given", "why")
_EXPECT = ("trace", "value")
_KINDS: tuple[HopKind, ...] = get_args(HopKind)
_LARGEST = 16 * 1024  # characters of one block
_ODD = re.compile("[\t\r\x85\u2028\u2029\ufeff]")  # libyaml reads these otherwise than the loader in Python
LARGEST_TOGETHER = 512 * 1024  # characters of all blocks together; those shipped with ptexplore have 43,000
_DEEPEST = 6
_LONGEST = 2000  # characters of one value
_MOST = 200  # entries of one list or mapping
_MOST_CHOICES = 6


_room: ContextVar[list[int] | None] = ContextVar("_room", default=None)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Limits all YAML read in this block, or in a decorated function, to LARGEST_TOGETHER characters together.

    Reading a megabyte takes 13 s.
    """
    before = _room.set([LARGEST_TOGETHER])
    try:
        yield
    finally:
        _room.reset(before)


@dataclass(frozen=True, slots=True)
class Field:
    """One node: its line in the file, and its source text if it is a single value.

    Every method raises Unreadable if the node has another form.
    """

    line: int
    node: Any  # yaml.Node; its `id` is "scalar", "sequence" or "mapping"
    first: int  # the first line of the block
    source: str

    def text(self) -> str:
        """Returns one line of text, as written: `1.0` stays "1.0"."""
        value = self._scalar("text").strip()
        if "\n" in value:
            raise Unreadable(self.line, "it must be one line")
        return self._short(value)

    def code(self) -> str:
        """Returns text that may have several lines."""
        return self._short(self._scalar("code").strip("\n"))

    def raw(self) -> str:
        """Returns the value as written in the file, with brackets. A quoted value or a block is without its quotes."""
        if self.node.id == "scalar" and self.node.style:  # "" or None for a plain scalar
            return self._short(str(self.node.value).strip())
        return self._short(self.source[self.node.start_mark.index : self.node.end_mark.index].strip())

    def _scalar(self, wanted: str) -> str:
        if self.node.id != "scalar" or not self.node.value.strip():
            raise Unreadable(self.line, f"{wanted} is expected here")
        return str(self.node.value)

    def _short(self, value: str) -> str:
        if code := unsafe_in(value):  # escapes of YAML can make characters that are not in the file
            raise Unreadable(self.line, f"it has {code}, which cannot be shown")
        if len(value) > _LONGEST:
            raise Unreadable(self.line, f"it has {len(value)} characters, but the limit is {_LONGEST}")
        return value

    def flag(self) -> bool:
        """Returns the value of `true` or `false`."""
        if self.node.value not in ("true", "false"):
            raise Unreadable(self.line, "true or false is expected here")
        return bool(self.node.value == "true")

    def whole_number(self) -> int:
        """Returns a whole number of at most six digits."""
        if self.node.id != "scalar" or not re.fullmatch(r"-?[0-9]{1,6}", self.node.value):
            raise Unreadable(self.line, "a whole number is expected here")
        return int(self.node.value)

    def items(self) -> list[Field]:
        """Returns the entries of a list."""
        if self.node.id != "sequence":
            raise Unreadable(self.line, "a list is expected here")
        return [self._child(node, self.first + node.start_mark.line) for node in self.node.value]

    def texts(self) -> tuple[str, ...]:
        """Returns the entries of a list of one-line texts."""
        return tuple(item.text() for item in self.items())

    def fields(self, known: Collection[str] = ()) -> dict[str, Field]:
        """Returns the entries of a mapping. With `known`, other keys are refused; a repeated key always is."""
        if self.node.id != "mapping":
            raise Unreadable(self.line, "keys with values are expected here")
        fields: dict[str, Field] = {}
        for key, value in self.node.value:
            line = self.first + key.start_mark.line
            name = key.value if key.id == "scalar" else None
            if name is None or (known and name not in known):
                keys = f"; the keys are {', '.join(known)}" if known else ""
                raise Unreadable(line, f"{str(name)[:60]!r} is not a key{keys}")
            if name in fields:
                raise Unreadable(line, f"the key {name!r} appears twice")
            fields[name] = self._child(value, line)
        return fields

    def _child(self, node: Any, line: int) -> Field:
        return Field(line, node, self.first, self.source)


def read_fields(
    source: str, first: int, known: Collection[str], needed: Collection[str], block: int = 0
) -> dict[str, Field]:
    """Returns the fields of the block whose YAML begins at line `first`.

    The block itself begins at line `block`, if given.

    Raises Unreadable if it is not YAML, uses refused features, or lacks one of the `needed` fields.
    """
    fields = _read(source, first).fields(known)
    for name in needed:
        if name not in fields:
            raise Unreadable(block or first, f"the key {name!r} is missing")
    return fields


def _read(source: str, first: int) -> Field:
    import yaml

    if len(source) > _LARGEST:
        raise Unreadable(first, f"the block has {len(source):,} characters, but the limit is {_LARGEST:,}")
    if (room := _room.get()) is not None:
        room[0] -= len(source)
        if room[0] < 0:
            raise Unreadable(first, f"this block and those before it have more than {LARGEST_TOGETHER:,} characters")
    try:
        try:
            quick = yaml.SafeLoader if _ODD.search(source) else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            node = _composed(source, first, quick)
        except yaml.YAMLError:
            node = _composed(source, first, yaml.SafeLoader)  # its messages say more
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first + (mark.line if mark else 0)
        raise Unreadable(line, f"this is not YAML: {error.problem or error.context}") from None
    except Unreadable:
        raise
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Unreadable(first, f"this is not YAML: {(str(error) or 'it nests too deep').splitlines()[0]}") from None
    if node is None:
        raise Unreadable(first, "the block is empty")
    return Field(first, node, first, source)


def _composed(source: str, first: int, loader: Any) -> Any:
    """Returns the nodes of a block. libyaml's loader takes a tenth of the time of the loader in Python."""
    import yaml

    _refuse_sharing(source, first, loader)
    return yaml.compose(source, Loader=loader)


def _refuse_sharing(source: str, first: int, loader: Any) -> None:
    """Refuses aliases, tags and deep nesting, before anything is composed.

    Aliases can make a few lines mean gigabytes, and tags make objects; notes need neither.
    """
    import yaml

    depth = 0
    events: Iterable[Any] = yaml.parse(source, Loader=loader)
    for number, event in enumerate(events):
        line = first + event.start_mark.line
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Unreadable(
                line, "YAML anchors (&) and aliases (*) are not allowed; quote a text that begins with one"
            )
        if getattr(event, "tag", None) is not None:
            raise Unreadable(line, "YAML tags (!) are not allowed; quote a text that begins with one")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or number > 10 * _MOST:
            raise Unreadable(line, "it nests too deep or has too many values")


def anchor(source: str, first: int, file: str) -> Anchor:
    """Returns the anchor of a block whose YAML begins at line `first` of `file`. Raises Unreadable."""
    fields = read_fields(source, first, _ANCHOR, ("path", "symbol"))
    path = fields["path"].text()
    if not is_plain(path):
        raise Unreadable(fields["path"].line, f"{path!r} is not a path inside the tree")
    token, occurrence = _token(fields["token"]) if "token" in fields else (None, 1)
    if token is not None and "lines" in fields:
        raise Unreadable(fields["lines"].line, "an anchor has either `token` or `lines`")
    return Anchor(
        where=Where(file, first),
        path=path,
        symbol=_symbol(fields["symbol"]),
        signature=_signature(fields["signature"]) if "signature" in fields else None,
        inside=_symbol(fields["in"]) if "in" in fields else None,
        token=token,
        occurrence=occurrence,
        lines=_lines(fields["lines"]) if "lines" in fields else None,
        see=see(fields["see"], file) if "see" in fields else (),
    )


def see(given: Field, file: str) -> tuple[See, ...]:
    """Returns the places that a list names. Raises Unreadable."""
    return tuple(_see(field, file) for field in given.items())


def _symbol(field: Field) -> str:
    name = field.text().removeprefix("::")
    if not name:
        raise Unreadable(field.line, "the symbol has no name")
    return name


def _signature(field: Field) -> str:
    text = field.text()
    if not (text.startswith("(") and ")" in text):
        raise Unreadable(field.line, "a signature lists parameter types in brackets: (const Tensor&, int64_t)")
    return text


def _token(field: Field) -> tuple[str, int]:
    match = _TOKEN.fullmatch(field.text())
    if match is None:
        raise Unreadable(field.line, "a token is one identifier; `name#2` is its second occurrence")
    return match[1], int(match[2] or 1)


def _lines(field: Field) -> tuple[int, int]:
    numbers = [number.whole_number() for number in field.items()]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise Unreadable(field.line, "lines are [first, last], counted from the symbol's own line, which is 0")
    return numbers[0], numbers[1]


def _see(field: Field, file: str) -> See:
    text, where = field.text(), Where(file, field.line)
    if STOP.fullmatch(text):
        return See(where, "stop", text)
    if _OPERATOR.fullmatch(text):
        return See(where, "op", text)
    path, _, symbol = text.removeprefix("src:").partition("::")
    if text.startswith("src:") and symbol and is_plain(path):
        return See(where, "src", text, path, symbol)
    raise Unreadable(
        field.line, f"an entry of `see` is tour#stop, op:add.Tensor or src:path::symbol, not {text[:60]!r}"
    )


def lab(source: str, first: int, file: str) -> Lab:
    """Returns the lab of a block whose YAML begins at line `first` of `file`. Raises Unreadable."""
    fields = read_fields(source, first, _LAB, ("id", "run", "expect"))
    name = fields["id"].text()
    if not ID.fullmatch(name):
        raise Unreadable(fields["id"].line, f"{name!r} is not an id: an id has lower-case letters, digits and hyphens")
    expect = fields["expect"].fields(_EXPECT)
    if not expect:
        raise Unreadable(fields["expect"].line, "a lab must expect a `trace` or a `value`")
    made = Lab(
        where=Where(file, first),
        id=name,
        run=_python(fields["run"], "eval"),
        grad="grad" in fields and fields["grad"].flag(),
        backward="backward" in fields and fields["backward"].flag(),
        variables=_variables(fields["var"]) if "var" in fields else (),
        setup=tuple(_python(field, "exec") for field in fields["setup"].items()) if "setup" in fields else (),
        contexts=tuple(_python(field, "eval") for field in fields["with"].items()) if "with" in fields else (),
        trace=_trace(expect["trace"]) if "trace" in expect else (),
        value=_value(expect["value"]) if "value" in expect else None,
        ask=fields["ask"].text() if "ask" in fields else "",
        given=fields["given"].whole_number() if "given" in fields else 1,
        why=fields["why"].text() if "why" in fields else "",
    )
    return replace(made, choices=_choices(fields["choices"], made)) if "choices" in fields else made


def _choices(field: Field, lab: Lab) -> tuple[str, ...]:
    """Returns the answers that a reader chooses from. Raises Unreadable if the right one is not among them, once."""
    items = field.items()
    if lab.value is None:
        steps = _trace(field)
        if not 0 < lab.given < len(lab.trace):
            raise Unreadable(field.line, "`given` must leave a step of the trace to predict")
        right, choices = steps.count(lab.trace[lab.given]), tuple(f"{kind} {name}" for kind, name in steps)
    else:
        choices = tuple(map(_value, items))
        right = sum(ast.literal_eval(choice) == ast.literal_eval(lab.value) for choice in choices)
    if not 2 <= len(choices) <= _MOST_CHOICES or right != 1:
        raise Unreadable(field.line, f"2 to {_MOST_CHOICES} choices are expected here, one of them the right answer")
    return choices


def _python(field: Field, mode: str) -> str:
    """Returns code that Python's own parser accepts. It is not run."""
    code = field.code()
    try:
        ast.parse(code.strip() if mode == "eval" else code, mode=mode)
    except NOT_PYTHON as error:
        kind = "expression" if mode == "eval" else "statement"
        raise Unreadable(field.line, f"this is not a Python {kind}: {getattr(error, 'msg', error)}") from None
    return code


def _variables(field: Field) -> tuple[tuple[str, str], ...]:
    variables = field.fields()
    for name, value in variables.items():
        if not name.isidentifier():
            raise Unreadable(value.line, f"{name!r} cannot be the name of a variable")
    return tuple((name, _python(value, "eval")) for name, value in variables.items())


def _trace(field: Field) -> tuple[tuple[str, str], ...]:
    hops = []
    for item in field.items():
        kind, _, name = item.text().partition(" ")
        if kind not in _KINDS or not name.strip():
            kinds = ", ".join(_KINDS)
            raise Unreadable(
                item.line, f"a hop is a kind and a name, for example `op aten::add.Tensor`; the kinds are {kinds}"
            )
        hops.append((kind, name.strip()))
    if not hops:
        raise Unreadable(field.line, "a trace needs at least one hop")
    return tuple(hops)


def _value(field: Field) -> str:
    text = field.raw()
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        hint = "a text needs two pairs of quotes: value: \"'text'\""
        raise Unreadable(field.line, f"the value must be a Python literal, not {text[:60]!r} ({hint})") from None
    return text
