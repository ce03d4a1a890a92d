"""Each code that the probe writes is one of the model's, with arguments that it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from ptexplore.model.codes import every
from ptexplore.model.place_reasons import KINDS
from ptexplore.model.reasons import Reason
from ptexplore.view.words import places
from ptexplore.view.words.reasons import ENGLISH

PROBE = Path(__file__).resolve().parents[3] / "ptexplore" / "probe"
CODES = {str(kind.__struct_config__.tag): kind for kind in every(Reason) if kind not in KINDS}


def calls() -> Iterator[tuple[str, ast.Call]]:
    for file in sorted(PROBE.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reason":
                yield file.name, node


def codes(argument: ast.expr) -> list[str]:
    """The codes that an argument can be: a text, or one of two."""
    if isinstance(argument, ast.IfExp):
        return codes(argument.body) + codes(argument.orelse)
    return [argument.value] if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else []


SAID = [(file, node, code) for file, node in calls() for code in codes(node.args[0])]


@pytest.mark.parametrize(("file", "node", "code"), SAID, ids=[f"{file}:{node.lineno}" for file, node, _ in SAID])
def test_what_the_probe_says_is_a_code_with_its_arguments(file: str, node: ast.Call, code: str) -> None:
    kind = CODES[code]
    known: dict[str, FieldInfo] = {field.name: field for field in fields(kind) if field.name != "text"}
    given = {keyword.arg for keyword in node.keywords}
    if None in given:  # by a mapping: its own test says what is in it
        return
    assert given <= set(known), file
    assert {name for name, field in known.items() if field.default is NODEFAULT} <= given, file


def test_codes_that_are_looked_up_are_the_models() -> None:
    """What is said by a table: of torch's states that a setup changes, of what backward began at."""
    tables = {"process_state.py": "COUNTED", "autograd.py": "_BEGUN"}
    for file, name in tables.items():
        tree = ast.parse((PROBE / file).read_text())
        values = [
            node.value
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and name in ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        ]
        (table,) = (value for value in values if isinstance(value, ast.Dict))
        said = [*table.keys, *table.values] if name == "COUNTED" else table.values
        found = [item.value for item in said if isinstance(item, ast.Constant)]
        assert len(found) >= 4
        assert set(found) <= set(CODES), file


def test_every_code_has_words() -> None:
    assert ENGLISH.keys() | places.ENGLISH.keys() == set(CODES.values())
