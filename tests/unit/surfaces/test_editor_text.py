"""Which lines of an edited text still are the lines on disk, and columns in an editor's units."""

from __future__ import annotations

import random

import pytest

from ptexplore.surfaces.editor_text import Encoding, EqualLines, column, editor_lines, units

DISK = [f"line {number}" if number % 7 else "}" for number in range(200)]


def test_a_line_that_was_not_changed_has_its_place() -> None:
    edited = [*DISK[:10], "new", *DISK[10:100], *DISK[103:150], "changed", *DISK[151:]]
    equal = EqualLines(edited, DISK)
    assert [equal.on_disk(line) for line in (0, 9, 10, 11, 100, 101, 148, 149)] == [0, 9, None, 10, 99, 103, None, 151]
    assert equal.in_editor(102) is None
    assert equal.in_editor(150) is None
    assert not equal.is_whole
    assert EqualLines(DISK, DISK).is_whole


def test_no_line_is_paired_with_another_text() -> None:
    rng = random.Random(3)
    for _round in range(200):
        edited = list(DISK)
        for _edit in range(rng.randrange(1, 8)):
            at = rng.randrange(len(edited))
            edited[at : at + rng.randrange(3)] = [rng.choice(["}", "line 3", "other"])] * rng.randrange(3)
        equal = EqualLines(edited, DISK)
        pairs = [(line, disk) for line in range(len(edited)) if (disk := equal.on_disk(line)) is not None]
        assert all(edited[line] == DISK[disk] for line, disk in pairs)
        assert [disk for _line, disk in pairs] == sorted({disk for _line, disk in pairs})
        assert all(equal.in_editor(disk) == line for line, disk in pairs)


def test_a_few_equal_lines_between_two_changes_are_not_taken_for_the_same() -> None:
    edited = [*DISK[:20], "new", "}", "new", *DISK[60:]]
    assert EqualLines(edited, DISK).on_disk(21) is None


def test_lines_end_as_the_protocol_says() -> None:
    assert editor_lines("a\r\nb\rc\nd\x0ce\u2028f") == ["a", "b", "c", "d\x0ce\u2028f"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_in_units(encoding: Encoding) -> None:
    text = 'f("ü😀", add)'
    sizes: dict[Encoding, str] = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
    unit = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    for at in range(len(text) + 1):
        size = len(text[:at].encode(sizes[encoding])) // unit
        assert units(text[:at], encoding) == size
        assert column(text, size, encoding) == at
    assert column(text, 10_000, encoding) == len(text)
    if encoding == "utf-16":
        assert text[column(text, units('f("ü', encoding) + 1, encoding)] == "😀", "the middle of a pair"
