"""libclang's half of the index: what it resolves in a small tree, what is kept of name-matched references."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.index.semantic import clang as libclang
from ptexplore.index.semantic.arguments import Headers, arguments
from ptexplore.index.semantic.clang import parsed
from ptexplore.index.semantic.pool import Limits, run
from ptexplore.index.semantic.references import FileUses, ResolvedUse, Work, references, work
from ptexplore.index.semantic.refine import Resolved, choose, merge
from ptexplore.model.symbols import IndexedFile, Ref

SHAPE_H = """#pragma once
namespace shapes {
struct Shape {
  virtual ~Shape() = default;
  virtual double area() const;
};
inline namespace CPU_CAPABILITY {
struct Square : Shape {
  double area() const override;
};
}
template <typename T> T twice(T value) { return value + value; }
int scale(int by);
double scale(double by);
int scale(char* by) = delete;
}
"""
SHAPE_CPP = """#include "c10/core/shape.h"
#define MAKE(name) int name(int by) { return by; }
namespace shapes {
double Shape::area() const { return 0; }
namespace {
double helper(const Shape& shape) { return shape.area(); }
}
double Square::area() const {
  return helper(*this) + scale(2.0) + twice<int>(3);
}
MAKE(scale)
#ifdef NOT_HERE
int hidden() { return scale(1); }
#endif
template <typename T> auto pick(T value) { return value.grow() + scale(value); }
auto pointer = &helper;
}
"""
PATH, HEADER = "c10/core/shape.cpp", "c10/core/shape.h"
Definitions = Callable[..., list[Any]]


@pytest.fixture
def definitions(monkeypatch: pytest.MonkeyPatch) -> Definitions:
    """The definitions that scripts/accuracy counts."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "scripts"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found: Definitions = importlib.import_module("lib.clang_definitions").definitions
    return found


@pytest.fixture
def headers(tmp_path: Path) -> Headers:
    folder = tmp_path / "tree/c10/core"
    folder.mkdir(parents=True)
    (folder / "shape.h").write_text(SHAPE_H, encoding="utf-8")
    (folder / "shape.cpp").write_text(SHAPE_CPP, encoding="utf-8")
    return Headers(str(tmp_path / "tree"), None, None, None)


@pytest.fixture
def uses(headers: Headers) -> dict[str, FileUses]:
    clang = libclang.load()
    with parsed(clang, headers.root, f"{headers.root}/{PATH}", arguments(headers, PATH)) as unit:
        assert unit.diagnostics() == []
        return references(unit, lambda _: True)


def test_calls_resolve_to_the_overload_and_the_class_they_mean(uses: dict[str, FileUses]) -> None:
    found = uses[PATH].uses
    assert ResolvedUse(6, "area", "call", "shapes::Shape::area()") in found  # a virtual call, of the static type
    assert (
        ResolvedUse(9, "helper", "call", "shapes::helper(const Shape &)") in found
    )  # the anonymous namespace is looked through
    assert ResolvedUse(9, "scale", "call", "shapes::scale(double)") in found  # of two overloads
    assert ResolvedUse(9, "twice", "call", "shapes::twice(int)") in found  # an instance of the template
    assert ResolvedUse(16, "helper", "address", "shapes::helper(const Shape &)") in found
    assert ResolvedUse(11, "MAKE", "macro", "MAKE") in found
    assert ResolvedUse(1, "shape.h", "include", HEADER) in found


def test_overrides_and_bases_are_the_headers_own(uses: dict[str, FileUses]) -> None:
    found = uses[HEADER].uses
    assert ResolvedUse(9, "area", "override", "shapes::Shape::area()") in found
    assert ResolvedUse(8, "Shape", "inherit", "shapes::Shape") in found
    assert not [use for use in uses[PATH].uses if use.kind == "inherit"]


def test_what_depends_on_a_template_stays_open(uses: dict[str, FileUses]) -> None:
    assert 15 in uses[PATH].open_lines
    assert ResolvedUse(15, "scale", "call", "shapes::scale") in uses[PATH].uses  # every overload has this one name


def test_definitions_are_found_with_line_and_name(headers: Headers, definitions: Definitions) -> None:
    with parsed(libclang.load(), headers.root, f"{headers.root}/{PATH}", arguments(headers, PATH)) as unit:
        seen = definitions(unit, lambda _: True)
        found = {(one.path, one.qualified, one.line) for one in seen if one.kind == "function" and not one.bodiless}
        without = {(one.path, one.qualified, one.line) for one in seen if one.bodiless}
        assert unit.skipped()[PATH] == [(12, 14)]
    assert found == {
        (HEADER, "shapes::twice", 12),
        (PATH, "shapes::Shape::area", 4),
        (PATH, "shapes::helper", 6),
        (PATH, "shapes::Square::area", 8),
        (PATH, "shapes::scale", 11),
        (PATH, "shapes::pick", 15),
    }
    assert without == {(HEADER, "shapes::Shape::~Shape", 4), (HEADER, "shapes::scale", 15)}


def test_types_enumerators_and_values_are_found_outside_of_functions(
    headers: Headers, definitions: Definitions
) -> None:
    text = """namespace a {
struct Outer { int one; static int shared; enum class Kind { A }; enum { Open }; union { int seen; }; class Later; };
int Outer::shared = 1;
enum Plain { B };
typedef struct { int index; } Old;
using Name = Outer;
extern int elsewhere;
int here = 0;
inline int f() { struct Local { int x; }; enum { Hidden }; int y = 0; return y; }
}
"""
    Path(headers.root, PATH).write_text(text, encoding="utf-8")
    with parsed(libclang.load(), headers.root, f"{headers.root}/{PATH}", arguments(headers, PATH)) as unit:
        seen = [one for one in definitions(unit, lambda _: True) if one.kind != "function"]
    found = {(one.kind, one.qualified, one.line) for one in seen if "(" not in one.qualified}
    assert found == {
        ("type", "a::Outer", 2), ("value", "a::Outer::one", 2), ("value", "a::Outer::shared", 2),
        ("type", "a::Outer::Kind", 2), ("enumerator", "a::Outer::Kind::A", 2), ("enumerator", "a::Outer::Open", 2),
        ("value", "a::Outer::shared", 3), ("type", "a::Plain", 4), ("enumerator", "a::B", 4), ("type", "a::Old", 5),
        ("value", "a::Old::index", 5), ("type", "a::Name", 6), ("value", "a::here", 8),
    }  # fmt: skip


def test_errors_are_counted_and_named(headers: Headers) -> None:
    Path(headers.root, PATH).write_text(
        '#include "gone.h"\nint broken( {\nint after() { return 1; }\n', encoding="utf-8"
    )
    found = work(Work(headers, PATH, frozenset({PATH})))
    assert found.errors >= 2
    assert PATH in found.erring
    assert (found.messages[0].path, found.messages[0].line) == (PATH, 1)
    assert "gone.h" in found.messages[0].text


# --- merging ---


def by_name(line: int, name: str, kind: str = "call") -> Ref:
    return Ref(PATH, line, name, f"x.{name}", kind)  # type: ignore[arg-type]


def merged(before: list[Ref], uses: FileUses, *, erring: bool = False, raw: str = SHAPE_CPP) -> list[Ref]:
    resolved = Resolved()
    resolved.add(uses, [(12, 14)], erring=erring)
    return merge(PATH, raw, before, resolved)


def test_a_resolved_use_takes_the_place_of_the_name_matched_one_and_keeps_its_text() -> None:
    found = merged([by_name(9, "scale")], FileUses({ResolvedUse(9, "scale", "call", "shapes::scale")}))
    assert found == [Ref(PATH, 9, "scale", "x.scale", "call", "shapes::scale", "libclang")]


def test_what_libclang_looked_at_and_did_not_find_goes() -> None:
    assert merged([by_name(9, "scale")], FileUses()) == []


def test_what_libclang_could_not_judge_stays_by_name() -> None:
    skipped, macro, dependent = by_name(13, "scale"), by_name(2, "name"), by_name(15, "grow")
    include = by_name(1, "shape.h", "include")
    found = merged([skipped, macro, dependent, include], FileUses(open_lines={15}))
    assert found == [include, macro, skipped, dependent]


def test_in_a_file_with_errors_all_that_is_not_resolved_stays() -> None:
    uses = FileUses({ResolvedUse(9, "scale", "call", "shapes::scale")})
    found = merged([by_name(9, "scale"), by_name(9, "helper")], uses, erring=True)
    assert [(one.name, one.extractor) for one in found] == [("helper", "tree-sitter"), ("scale", "libclang")]


def test_what_a_macro_uses_unseen_is_not_a_use_on_its_line() -> None:
    uses = FileUses(
        {ResolvedUse(11, "deep", "call", "shapes::deep"), ResolvedUse(9, "operator+", "call", "shapes::operator+")}
    )
    assert [one.name for one in merged([], uses)] == ["operator+"]


def test_lines_that_only_some_units_skip_are_judged() -> None:
    resolved = Resolved()
    resolved.add(FileUses(), [(12, 14)], erring=False)
    resolved.add(FileUses(), [], erring=False)
    assert merge(PATH, SHAPE_CPP, [by_name(13, "scale")], resolved) == []


# --- what is read, and what happens when it goes wrong ---


def indexed(*paths: str) -> list[IndexedFile]:
    return [IndexedFile(path, "cpp", "checkout", "0", 1, 1) for path in paths]


def test_core_is_three_folders_without_their_tests(tmp_path: Path) -> None:
    files = indexed("c10/core/A.cpp", "c10/core/A.h", "c10/core/test/A_test.cpp", "c10/cuda/B.cpp", "c10/core/x.cu")
    chosen = choose(files, str(tmp_path), ["core"])
    assert (chosen.units, chosen.headers, chosen.others) == (("c10/core/A.cpp",), ("c10/core/A.h",), ("c10/core/x.cu",))
    assert choose(files, str(tmp_path), []) == chosen


def test_files_are_named_by_canonical_path_or_where_they_lie(tmp_path: Path) -> None:
    files = indexed("c10/core/A.cpp", "c10/cuda/B.cpp")
    assert choose(files, str(tmp_path), ["c10/cuda/"]).units == ("c10/cuda/B.cpp",)
    assert choose(files, str(tmp_path), [str(tmp_path / "c10/core/A.cpp")]).units == ("c10/core/A.cpp",)
    with pytest.raises(PtexploreError) as error:
        choose(files, str(tmp_path), ["c10/gone"])
    assert error.value.exit_code == USAGE


def misbehave(how: str) -> str:
    if how == "die":
        os.abort()
    if how == "hang":
        time.sleep(60)
    if how == "fail":
        raise ValueError("no good")
    return how


def test_a_unit_that_dies_or_hangs_costs_itself_alone() -> None:
    for limit in (3, 12, 48):  # seconds, in which a busy machine may not even start what is fine
        tasks = ["die", "hang", "fail", "fine"]
        outcomes = {one.task: (one.result, one.failed) for one in run(misbehave, tasks, 2, Limits(limit, 60))}
        assert outcomes["hang"] == (None, f"took longer than {limit} s")
        if not any("took longer" in (failed or "") for task, (_, failed) in outcomes.items() if task != "hang"):
            break
    assert outcomes["fine"] == ("fine", None)
    assert outcomes["fail"] == (None, "no good")
    assert "died" in (outcomes["die"][1] or "")


def costly(headers: Headers, texts: dict[str, str]) -> list[Work]:
    """Units of these texts, in the checkout's folder c10/core."""
    for name, text in texts.items():
        Path(headers.root, "c10/core", name).write_text(text, encoding="utf-8")
    paths = [f"c10/core/{name}" for name in texts]
    return [Work(headers, path, frozenset((*paths, PATH))) for path in paths]


def test_units_that_are_made_to_cost_end_and_the_others_are_read(headers: Headers) -> None:
    macros = [f"#define A{n} {','.join([f'A{n - 1}'] * 10)}" for n in range(1, 12)]
    texts = {
        "macros.cpp": "\n".join(("#define A0 f(f())", *macros, "int x = A11;")),
        "templates.cpp": """template <int N, int M> struct F {
  static constexpr int v = F<N - 1, M>::v + F<N - 1, M + 1>::v + F<N - 1, M - 1>::v;
};
template <int M> struct F<0, M> { static constexpr int v = 1; };
int x = F<900, 0>::v;
""",
    }
    tasks = [*costly(headers, texts), Work(headers, PATH, frozenset((PATH,)))]
    outcomes = {one.task.path: one for one in run(work, tasks, 2, Limits(seconds=600, processor=3))}
    for name in texts:
        assert outcomes[f"c10/core/{name}"].failed == "took more than 3 s of processor time"
    result = outcomes[PATH].result
    assert result is not None
    assert ResolvedUse(6, "area", "call", "shapes::Shape::area()") in result.uses[PATH].uses


def test_a_unit_that_needs_more_memory_than_it_may_take_is_said(headers: Headers) -> None:
    tasks = costly(headers, {"zero.cpp": '#include "/dev/zero"\n'})
    (outcome,) = run(work, tasks, 1, Limits(seconds=600, processor=300, memory=512 << 20))
    assert outcome.result is None
    assert "memory" in (outcome.failed or "")


def test_a_unit_that_waits_for_a_fifo_ends_by_the_clock(headers: Headers) -> None:
    os.mkfifo(Path(headers.root, "c10/core/waits.h"))
    (task,) = costly(headers, {"fifo.cpp": '#include "waits.h"\n'})
    (outcome,) = run(work, [task], 1, Limits(seconds=3, processor=60))
    assert outcome.failed == "took longer than 3 s"


def test_without_libclang_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clang", None)
    libclang.load.cache_clear()
    with pytest.raises(PtexploreError) as error:
        libclang.load()
    libclang.load.cache_clear()
    assert error.value.exit_code == MISSING
    assert error.value.hint == "pip install --force-reinstall 'libclang>=18.1,<19'"


def test_a_script_without_a_guard_is_not_run_by_its_workers(tmp_path: Path) -> None:
    """Whoever calls the API in a plain script would otherwise start that script again with every worker."""
    script = tmp_path / "plain.py"
    script.write_text(
        "from operator import neg\n"
        "from ptexplore.index.semantic.pool import Limits, run\n"
        "print('begun')\n"
        "print(sorted(outcome.result for outcome in run(neg, [1, 2], 2, Limits(60, 60))))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "begun\n[-2, -1]\n", done.stderr
