"""Who uses what on a site: the same uses as `refs` finds, what each is told with, and the shards that hold them."""

from __future__ import annotations

import json
from functools import partial

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.lookup.link_targets import DefinitionsByName
from ptexplore.lookup.refs import asked_for, refs
from ptexplore.lookup.trees import IndexedTree
from ptexplore.lookup.use_index import LISTED, DefinitionRow, NameEntry, SiteUses, file_uses
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.model.remarks import MeanOther
from ptexplore.model.symbols import DIALECT_KINDS
from ptexplore.view.site.site import source_url
from ptexplore.view.site.uses import ShardOfUses, shard_of
from tests import searched_source, small_source

MIX = "aten/src/ATen/native/Mix.cpp"
MORE = "aten/src/ATen/native/More.cpp"
TEXT = """namespace at::native {
struct Fastest : FastMixer { int turn(int a) override { return 3; } };
struct Own : elsewhere::Mixer { int turn(int a) { return 4; } };
struct Quiet : FastMixer { int turn(int a) { return 5; } };
int far(int a) { return mix(a) + other::mix(a) + at::native::mix(a); }
int farther(int a) { return far(a); }
struct Held { explicit Held(int held) : held_(held) {} int held_; };
struct Keeper { explicit Keeper(int held) : held_(held) {} int held_; };
struct Deeper : FastMixer {
  int deep(int a) { return turn(a); }
};
void bind(py::module m) { py::class_<Own>(m, "Own").def("mix", &Own::mix); }
""" + "".join(f"int many_{n}(int a) {{ return farther(a); }}\n" for n in range(LISTED + 20)) + "}\n"  # fmt: skip


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("uses")
    root = searched_source.write(folder / "mini")
    (root / MORE).write_text(TEXT, encoding="utf-8")
    return small_source.indexed(folder / "mini")


@pytest.fixture(scope="module")
def uses(indexed: IndexedTree) -> SiteUses:
    names = DefinitionsByName([indexed.store])
    names.preload()
    pages = {path: source_url(path) for path in names.owner if "/test/" not in path}
    wanted = frozenset(symbol.name for path in pages for symbol in names.defined(path))
    reader = UseReader(names)
    every = SiteUses(reader, pages)
    for path in sorted(names.owner):
        every.take(file_uses(reader, path, partial(text_of, indexed, path), wanted, on_site=path in pages))
    rows = indexed.store.every_dialect(tuple(DIALECT_KINDS))
    every.take_rows(rows, {(row.path, row.line): indexed.tree.line(row.path, row.line) or "" for row in rows})
    return every


def text_of(indexed: IndexedTree, path: str) -> str | None:
    file = indexed.tree.read(path)
    return file.text if file is not None else None


def test_the_text_of_a_file_without_a_use_is_not_read(indexed: IndexedTree) -> None:
    reader = UseReader(DefinitionsByName([indexed.store]))
    read: list[str] = []

    def text(path: str) -> str | None:
        read.append(path)
        return text_of(indexed, path)

    for on_site in (False, True):
        file_uses(reader, MORE, partial(text, MORE), frozenset({"no_such_name"}), on_site=on_site)
    assert read == [MORE]  # a page shows what the file itself calls


def lines_of(entry: NameEntry, row: DefinitionRow) -> set[tuple[str, int]]:
    fits = [] if row.fitting is None else row.fitting
    return {
        (path, use.line) for path, lines in entry.files for use in lines if row.fitting is None or use.spelling in fits
    }


def row_of(uses: SiteUses, qualified: str, path: str = "") -> tuple[NameEntry, DefinitionRow]:
    entry = uses.entry(qualified.rsplit("::", 1)[-1])
    return entry, next(row for row in entry.definitions if row.qualified == qualified and path in row.at[0])


@pytest.mark.parametrize(
    "qualified",
    [
        "at::native::mix",
        "other::mix",
        "at::native::Mixer::turn",
        "at::native::FastMixer::turn",
        "at::native::far",
        "other::through",
        "at::native::Mixer",
    ],
)
def test_the_uses_are_those_that_refs_finds(uses: SiteUses, indexed: IndexedTree, qualified: str) -> None:
    entry, row = row_of(uses, qualified)
    told = {
        (use.spot.ref.path, use.spot.ref.line)
        for group in refs([indexed], qualified, None).groups
        for use in group.uses
        if "/test/" not in (use.spot.ref.path or "") and (group.name != "overrides" or use.written == qualified)
    }
    assert lines_of(entry, row) == told
    assert told or qualified == "other::through"


def test_for_a_member_its_name_alone_speaks(uses: SiteUses, indexed: IndexedTree) -> None:
    """What initialises the member of another class looks the same: none of them is certain, and that is said."""
    _entry, row = row_of(uses, "at::native::Held::held_")
    view = refs([indexed], "at::native::Held::held_", None)
    assert (row.used, row.sure, row.certain) == (view.lines, view.certain, []) == (2, 0, [])
    assert [group.certain for group in view.groups] == [False]


def test_a_binding_of_another_class_is_no_use(uses: SiteUses, indexed: IndexedTree) -> None:
    bound = [row for row in indexed.store.dialect("mix") if row.kind == "pybind"]
    assert [(row.path, row.target) for row in bound] == [(MORE, "Own::mix")]
    view = refs([indexed], "at::native::mix", None)
    assert "bindings" not in {group.name for group in view.groups}
    left_out = [remark.spellings for remark in view.remarks if isinstance(remark, MeanOther)]
    assert any(text == "Own::mix" for spellings in left_out for text, _ in spellings), "it is said to be left out"
    _entry, row = row_of(uses, "at::native::mix")
    assert row.is_own, "it is static"
    assert row.used == refs([indexed], "at::native::mix", None, only=MIX).lines < view.lines


def test_a_row_of_a_macro_of_cpp_is_no_use_of_a_python_name(indexed: IndexedTree) -> None:
    rows = [row for row in indexed.store.every_dialect(("structured-impl", "stub-define")) if "::" not in row.name]
    assert rows
    for row in rows:
        asked = asked_for([indexed], f"torch._C.TensorBase.{row.name}")
        assert not any(indexed.store.dialect(name, asked.row_kinds) for name in asked.row_names), row.name


def test_each_line_is_told_with_its_text_and_the_function_around_it(uses: SiteUses, indexed: IndexedTree) -> None:
    entry, _row = row_of(uses, "other::mix")
    for path, lines in entry.files:
        for use in lines:
            assert use.text == (indexed.tree.line(path, use.line) or "").strip()
    inside = {(path, use.line): use.inside for path, lines in entry.files for use in lines}
    assert inside[MORE, 5] == "at::native::far"


def test_calls_go_both_ways_and_a_choice_is_one(uses: SiteUses) -> None:
    _entry, row = row_of(uses, "at::native::far")
    assert [caller.name for caller in row.callers] == ["at::native::farther"]
    assert {(called.name, called.sure) for called in row.callees} == {("other::mix", True), ("at::native::mix", True)}
    _entry, row = row_of(uses, "at::native::use")
    choice = next(called for called in row.callees if called.name == "mix")
    assert (choice.at, choice.choices, choice.sure) == (None, 2, False), (
        "the template beside it is seen in its own file"
    )
    _entry, row = row_of(uses, "at::native::farther")
    assert len(row.callers) + row.more_callers == LISTED + 20


def test_who_calls_a_member_of_a_base_is_a_caller(uses: SiteUses) -> None:
    """As on the screen: no link leads from there, and the call can mean nothing else."""
    _entry, row = row_of(uses, "at::native::FastMixer::turn")
    assert [(caller.name, caller.sure) for caller in row.callers] == [("at::native::Deeper::deep", True)]


def test_what_is_not_listed_is_counted(uses: SiteUses) -> None:
    entry, _row = row_of(uses, "at::native::farther")
    assert sum(len(lines) for _path, lines in entry.files) == LISTED
    assert entry.more == (20, 0)


def test_a_file_that_is_not_on_the_site_is_counted_alone(uses: SiteUses) -> None:
    entry, row = row_of(uses, "at::native::mix")
    assert row.used == sum(path == MIX for path, _line in lines_of(entry, row)), "static: its own file alone"
    assert [path for path, _lines in entry.outside] == ["aten/src/ATen/test/mix_test.cpp"]
    assert all("/test/" not in path for path, _lines in entry.files)


def test_every_definition_is_used_as_often_as_refs_and_the_screens_pane_say(
    uses: SiteUses, indexed: IndexedTree
) -> None:
    """The same number of lines, and the same of them certain, though a part of the lines is not on the site."""
    entries = [uses.entry(name) for name in uses.names()]
    rows = [(entry.used, row) for entry in entries for row in entry.definitions if row.qualified != entry.name]
    told = overridden = untold = 0
    for every, row in rows:
        try:
            view = refs([indexed], row.qualified, 1, only=row.at[0] if row.is_own else "")
        except PtexploreError:  # nothing refers to it
            assert (row.used, row.sure) == (0, 0), row.qualified
            continue
        assert (row.used, row.sure) == (view.lines, view.certain), row.qualified
        assert not view.lines or row.same == view.definitions, row.qualified
        assert sum(group.total for group in view.groups) == view.lines + view.overridden, "every line is in one group"
        assert (row.overridden, row.may_override) == (view.overridden, view.may_override), row.qualified
        rest = every - row.used - row.overridden - row.aside
        assert (view.otherwise, view.unknown) == ((0, rest) if row.is_sole else (rest, 0)), (
            "what is not counted is the rest"
        )
        told += bool(view.certain)
        overridden += row.overridden
        untold += bool(view.unknown)
    assert len(rows) > 40
    assert told > 5
    assert overridden > 2
    assert untold


def test_classes_and_what_overrides_what(uses: SiteUses) -> None:
    _entry, mixer = row_of(uses, "at::native::Mixer")
    assert [(each.name, each.sure) for each in mixer.derived] == [("at::native::FastMixer", True)]
    _entry, fast = row_of(uses, "at::native::FastMixer")
    assert [base.name for base in fast.bases] == ["at::native::Mixer"]
    _entry, turn = row_of(uses, "at::native::Mixer::turn")
    named = {"at::native::FastMixer::turn", "at::native::Fastest::turn", "at::native::Quiet::turn"}
    assert {each.name for each in turn.overridden_by} == named, "the last one does not say so"
    _entry, own = row_of(uses, "at::native::Own::turn")
    assert own.overrides == [], "its base is another class that only has the name"
    _entry, fastest = row_of(uses, "at::native::Fastest::turn")
    assert {each.name for each in fastest.overrides} == {"at::native::FastMixer::turn", "at::native::Mixer::turn"}


def test_a_shard_names_files_and_texts_by_number(uses: SiteUses) -> None:
    shard = ShardOfUses({path: source_url(path) for path in (MIX, MORE)} | {"odd path.cpp": "src/other.html"})
    shard.add(uses.entry("far"))
    document = json.loads(shard.json())
    files, more, used, rows, resolved, outside, outside_more = document["n"]["far"]
    assert [document["f"][file] for file, _lines in files] == [MORE]
    assert (more, used, resolved, outside, outside_more) == ([0, 0], 1, [], [], [0, 0])
    assert document["s"][rows[0][0]] == "at::native::far"


def test_the_shard_of_a_name_is_what_a_hash_of_its_letters_says() -> None:
    assert shard_of("a", 1000) == 97
    assert shard_of("ab", 1000) == (97 * 31 + 98) % 1000
    assert 0 <= shard_of("x" * 500, 7) < 7
