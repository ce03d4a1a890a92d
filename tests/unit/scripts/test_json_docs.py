"""docs/json.md says what the records say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal

import pytest
from msgspec import Struct

from ptexplore.view import documents

ROOT = Path(__file__).parents[3]


@pytest.fixture
def json_docs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from lib import json_docs

    return json_docs


@dataclass(frozen=True)
class Inner:
    """A thing inside."""

    way: Literal["up", "down"]  # where it goes


@dataclass(frozen=True)
class Base:
    """The base."""

    number: int  # how many
    texts: tuple[str, ...] = ()  # all of them


@dataclass(frozen=True)
class Outer(Base):
    """A thing.

    More of it.
    """

    inner: Inner | None = None  # another
    pairs: tuple[tuple[str, int], ...] = ()  # of two
    by_name: Mapping[str, bool] | None = None  # each


TABLES = """\
### Outer

A thing.

| key | value | what |
| --- | --- | --- |
| `number` | number | how many |
| `texts` | list of text | all of them |
| `inner` | [Inner](#inner) or null | another |
| `pairs` | list of list of 2: text, number | of two |
| `by_name` | object of true or false or null | each |

### Inner

A thing inside.

| key | value | what |
| --- | --- | --- |
| `way` | `up`, `down` | where it goes |
"""


def test_a_table_for_each_record(json_docs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json_docs.tables(Outer) == TABLES


@dataclass(frozen=True)
class Silent:
    """Says nothing of its field."""

    field: int


def test_a_field_that_nothing_is_said_of(json_docs) -> None:
    with pytest.raises(ValueError, match="Silent: no comment says what field means"):
        json_docs.tables(Silent)


@pytest.mark.words
def test_the_document_is_up_to_date(json_docs) -> None:
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    assert json_docs.with_tables(text) == text, "run scripts/json-docs"


class Tagged(Struct, frozen=True, tag_field="format", tag=1):
    """A thing with its format."""

    name: str  # what it is called


def test_a_tag_is_a_key(json_docs) -> None:
    assert json_docs.tables(Tagged).splitlines()[-2:] == [
        "| `format` | number | 1 |",
        "| `name` | text | what it is called |",
    ]


def test_each_document_of_a_command_is_described(json_docs) -> None:
    modules = [import_module(f"{documents.__name__}.{found.name}") for found in iter_modules(documents.__path__)]
    made = {kind for module in modules for name, kind in vars(module).items() if name.endswith("Document")}
    assert made == {kind for top in json_docs.documents().values() for kind in top}


def test_a_document_without_marks(json_docs) -> None:
    with pytest.raises(ValueError, match="lacks"):
        json_docs.with_tables("# JSON")
