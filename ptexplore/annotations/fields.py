"""A block of YAML as fields with their lines: no aliases, no tags, no key twice, nothing that nests far."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LARGEST = 16 * 1024  # characters of one block
_DEEPEST = 6
_LONGEST = 2000  # characters of one value
_MOST = 200  # entries of one list or mapping


class Wrong(ValueError):
    """A field that cannot be used; `line` is its own in the file."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True, slots=True)
class Field:
    """One node: its line in the file, and the text it was written as where it is a single value."""

    line: int
    node: Any  # yaml.Node
    first: int  # line of the block's first line
    source: str

    def text(self) -> str:
        """One line of text, as written: `1.0` stays "1.0". Raises Wrong for anything else."""
        import yaml

        if not isinstance(self.node, yaml.ScalarNode) or not self.node.value.strip():
            raise Wrong(self.line, "a text must stand here")
        value = str(self.node.value).strip()
        if "\n" in value:
            raise Wrong(self.line, "it must be one line")
        return self._short(value)

    def code(self) -> str:
        """Text that may have several lines."""
        import yaml

        if not isinstance(self.node, yaml.ScalarNode) or not self.node.value.strip():
            raise Wrong(self.line, "a piece of code must stand here")
        return self._short(str(self.node.value).strip("\n"))

    def _short(self, value: str) -> str:
        if len(value) > _LONGEST:
            raise Wrong(self.line, f"it has {len(value)} characters, and {_LONGEST} is the limit")
        return value

    def raw(self) -> str:
        """The value as written in the file, brackets and all; what is quoted or a block without its quotes."""
        import yaml

        if isinstance(self.node, yaml.ScalarNode) and self.node.style is not None:
            return self._short(str(self.node.value).strip())
        return self._short(self.source[self.node.start_mark.index : self.node.end_mark.index].strip())

    def flag(self) -> bool:
        """`true` or `false`."""
        value = getattr(self.node, "value", None)
        if value not in ("true", "false"):
            raise Wrong(self.line, "true or false must stand here")
        return bool(value == "true")

    def whole(self) -> int:
        """A whole number."""
        value = getattr(self.node, "value", None)
        if not isinstance(value, str) or not re.fullmatch(r"-?[0-9]{1,6}", value):
            raise Wrong(self.line, "a whole number must stand here")
        return int(value)

    def items(self) -> list[Field]:
        """The entries of a list."""
        import yaml

        if not isinstance(self.node, yaml.SequenceNode):
            raise Wrong(self.line, "a list must stand here")
        return [self._below(node) for node in self.node.value]

    def texts(self) -> tuple[str, ...]:
        """The entries of a list of one-line texts."""
        return tuple(item.text() for item in self.items())

    def fields(self, known: Mapping[str, object] | None = None) -> dict[str, Field]:
        """The entries of a mapping; only of `known` keys where given. Raises Wrong for an unknown or repeated key."""
        import yaml

        if not isinstance(self.node, yaml.MappingNode):
            raise Wrong(self.line, "keys with values must stand here")
        found: dict[str, Field] = {}
        for key, value in self.node.value:
            line = self.first + key.start_mark.line
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if not isinstance(name, str) or (known is not None and name not in known):
                keys = f"; there are {', '.join(known)}" if known else ""
                raise Wrong(line, f"there is no key {str(name)[:60]!r}{keys}")
            if name in found:
                raise Wrong(line, f"the key {name!r} is here twice")
            found[name] = self._below(value, line)
        return found

    def _below(self, node: Any, line: int | None = None) -> Field:
        return Field(line or self.first + node.start_mark.line, node, self.first, self.source)


def read(source: str, first: int) -> Field:
    """The block that begins at line `first`. Raises Wrong where it is no YAML, or YAML that is not read here."""
    import yaml

    if len(source) > LARGEST:
        raise Wrong(first, f"the block has {len(source):,} characters, and {LARGEST:,} is the limit")
    try:
        loader = yaml.SafeLoader(source)
        try:
            _refuse_sharing(yaml.parse(source, Loader=yaml.SafeLoader), first)
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first + (mark.line if mark else 0)
        raise Wrong(line, f"this is no YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, Wrong):
            raise
        raise Wrong(first, f"this is no YAML: {str(error).splitlines()[0] if str(error) else 'it nests'}") from None
    if node is None:
        raise Wrong(first, "the block is empty")
    return Field(first, node, first, source)


def _refuse_sharing(events: Any, first: int) -> None:
    """Aliases can make a few lines mean gigabytes, and tags make objects: neither has a use here."""
    import yaml

    depth = 0
    for number, event in enumerate(events):
        line = first + event.start_mark.line
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Wrong(line, "YAML anchors (&) and aliases (*) are not read; quote the text where it begins with one")
        if getattr(event, "tag", None) is not None:
            raise Wrong(line, "YAML tags (!) are not read; quote the text where it begins with one")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or number > 10 * _MOST:
            raise Wrong(line, "it nests further, or holds more, than any note needs")


def required(fields: Mapping[str, Field], names: tuple[str, ...], line: int) -> None:
    """Raises Wrong where one of `names` is missing."""
    for name in names:
        if name not in fields:
            raise Wrong(line, f"the key {name!r} is missing")


Reader = Callable[[Field], Any]
