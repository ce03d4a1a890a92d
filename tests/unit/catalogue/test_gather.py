"""Generated files are read as they come to be made, and come out as if all had been there."""

from __future__ import annotations

from collections.abc import Iterator

from ptexplore.catalogue.gather import gather
from ptexplore.source.progress import Silent
from ptexplore.source.runtime.generated import Folders, Making
from ptexplore.store.index.read_ahead import PackedFile, unpacked
from tests.unit.conftest import ATEN, AUTOGRAD, Mini, whole

EARLY = f"{AUTOGRAD}/VariableType_9.cpp"
USES = "namespace torch { MAKES_TWO(first, second) }\n"
DEFINES = "#define MAKES_TWO(a, b) int a() { return 1; } int b() { return 2; }\n"


def test_a_header_that_comes_later_has_its_say(mini: Mini) -> None:
    """The first part is read with the macros that are known by then; the second one brings another."""
    (mini.generated / EARLY).write_text(USES)
    aten, later = mini.generated / ATEN, mini.generated / "later"
    (aten / "Later.h").write_text(DEFINES)
    at_once = gather(mini.runtime, whole(mini), lambda: [EARLY], Silent())
    aten.rename(later)

    def parts() -> Iterator[Folders]:
        yield (AUTOGRAD,)
        later.rename(aten)
        yield (ATEN,)

    in_parts = gather(mini.runtime, Making(mini.generated, parts()), lambda: [EARLY], Silent())
    assert names(in_parts.rows.files, EARLY) == names(at_once.rows.files, EARLY) == ["first", "second"]
    assert in_parts.facts == at_once.facts
    assert (in_parts.rows.macros, in_parts.rows.headers) == (at_once.rows.macros, at_once.rows.headers)
    assert len({unpacked(file).file[0] for file in in_parts.rows.files}) == len(in_parts.rows.files)


def test_a_part_that_is_still_being_written_is_not_read(mini: Mini) -> None:
    seen: list[set[str]] = []

    def parts() -> Iterator[Folders]:
        yield (AUTOGRAD,)
        seen.append({path.name for path in (mini.generated / ATEN).iterdir()})
        (mini.generated / ATEN / "Operators_7.cpp").write_text("int late;\n")
        yield (ATEN,)

    gathered = gather(mini.runtime, Making(mini.generated, parts()), list, Silent())
    assert seen
    assert "Operators_7.cpp" not in seen[0]
    assert f"{ATEN}/Operators_7.cpp" in {file.path for file in gathered.rows.files}


def names(files: list[PackedFile], path: str) -> list[str]:
    (rows,) = [unpacked(file) for file in files if file.path == path]
    return sorted(str(symbol[1]) for symbol in rows.symbols if symbol[1] != "torch")
