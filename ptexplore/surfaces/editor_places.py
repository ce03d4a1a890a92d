"""A place in a file, as an editor names it."""

from __future__ import annotations

from msgspec import Struct


class Located(Struct, frozen=True):
    """A place in a file on this machine, in an editor's terms: lines from 0, columns in the editor's units.

    `line` with `begin` and `end` is the name. `first` to `last` are the lines of the whole thing.
    """

    file: str
    line: int
    begin: int
    end: int
    first: int
    last: int


class AskedPlace(Struct, frozen=True):
    """A place that an editor asks about: the real path of a file, line and column as in `Located`."""

    file: str
    line: int
    character: int
