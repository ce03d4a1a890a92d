"""The catalogue of the installed torch, as the real command builds it: every line looked at again by other means.

The checks here know nothing of the scanner: they look at the text of the line itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.catalogue.declarations import find
from ptexplore.locations import catalogue_file
from ptexplore.model.operators import Registration
from ptexplore.model.places import Runtime
from ptexplore.source.runtime.describe import find_runtime
from ptexplore.source.runtime.generated import ensure
from ptexplore.source.tree import SourceTree, runtime_tree
from ptexplore.store.catalogue.reader import Store
from tests.harness import GENERATED, TARGET

pytestmark = pytest.mark.e2e

SMALLEST_PYTHON_SHARE = 0.7  # of records made from Python whose callable is known


@pytest.fixture(scope="session")
def built(warm_cache: Path) -> Iterator[tuple[Runtime, SourceTree, Store]]:
    """What the real command built on its first use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PTEXPLORE_CACHE", str(warm_cache))
        runtime = find_runtime(TARGET)
        store = Store.open(catalogue_file(runtime.key))
        yield runtime, runtime_tree(runtime, ensure(runtime)), store
    store.close()


@pytest.fixture(scope="session")
def tree(built: tuple[Runtime, SourceTree, Store]) -> SourceTree:
    return built[1]


@pytest.fixture(scope="session")
def store(built: tuple[Runtime, SourceTree, Store]) -> Store:
    return built[2]


@pytest.fixture(scope="session")
def records(store: Store) -> list[Registration]:
    return [one for name in store.all_names() for one in store.registrations(name)]


def line(tree: SourceTree, path: str | None, number: int | None) -> str:
    assert path is not None
    assert number is not None
    found = tree.line(path, number)
    assert found is not None, f"{path}:{number}"
    return found


def test_every_record_in_generated_files_is_confirmed(
    built: tuple[Runtime, SourceTree, Store], records: list[Registration]
) -> None:
    runtime, _, store = built
    generated = store.counts()["generated"]
    assert generated.confirmed == generated.total > 10_000
    assert store.unconfirmed(5, "generated") == []
    expected = GENERATED.get(runtime.version)
    if expected is not None:
        assert generated.total == expected
    assert sum(count.total for count in store.counts().values()) == len(records)


def test_every_macro_and_every_entry_is_on_its_line(tree: SourceTree, records: list[Registration]) -> None:
    for one in records:
        if one.origin != "generated":
            continue
        key = f"{one.key}, " if one.key else ""
        assert re.fullmatch(rf"TORCH_LIBRARY(_IMPL)?\(aten, {key}m\) \{{", line(tree, one.path, one.macro_line)), one
        short = re.escape(one.op.split("::")[1])
        assert re.match(rf'\s*m\.(impl|def)\("(aten::)?{short}["(]', line(tree, one.path, one.op_line)), one
        assert one.macro_line is not None
        assert one.op_line is not None
        between = tree.lines(str(one.path))[one.macro_line : one.op_line - 1]
        assert not any(text.startswith("}") for text in between), one


def test_every_body_begins_with_its_name_and_ends_with_its_brace(tree: SourceTree, records: list[Registration]) -> None:
    bodies = 0
    for one in records:
        if one.origin != "generated" or one.body_line is None:
            continue
        bodies += 1
        name = str(one.wrapper).rsplit("::", 1)[-1]
        head = line(tree, one.body_path, one.body_line)
        assert re.search(rf"[\s&>*]{re.escape(name)}\(", head), one
        assert head.endswith("{"), one
        brace = head[: len(head) - len(head.lstrip())] + "}"
        lines = tree.lines(str(one.body_path))
        end = next(number for number in range(one.body_line, len(lines)) if lines[number].rstrip() == brace) + 1
        assert one.body_end == end, one
    assert bodies > 0.9 * sum(one.origin == "generated" and one.key is not None for one in records)


def test_every_target_is_called_by_its_body_and_declared(tree: SourceTree, records: list[Registration]) -> None:
    symbols = set()
    located = 0
    for one in records:
        if one.target_kind in (None, "none"):
            continue
        body = "\n".join(tree.lines(str(one.body_path))[(one.body_line or 1) - 1 : one.body_end])
        if one.target_kind == "native":
            assert f"{one.target}(" in body, one
        if one.target_meta:
            assert "op.meta(" in body, one
        if one.redispatch:
            assert one.redispatch in body, one
        symbols |= {symbol for symbol in (one.target, one.target_meta) if symbol}
        if one.target:
            located += len(find(tree, one.target, (str(one.body_path), one.body_line or 0))[1]) == 1
    assert located > 0.98 * sum(one.target is not None for one in records)
    assert len(symbols) > 2_500
    for symbol in symbols:
        _, places = find(tree, symbol)
        assert places, symbol
        for one_place in places:
            last = re.escape(symbol.rsplit("::", 1)[-1])
            assert re.search(rf"\b{last}\(", line(tree, one_place.path, one_place.line)), symbol


def test_autograd_kernels_redispatch_below_themselves(records: list[Registration]) -> None:
    autograd = [one for one in records if one.path and "VariableType_" in one.path and one.body_line]
    assert len(autograd) > 1_500
    assert {one.redispatch for one in autograd} == {"ks & c10::after_autograd_keyset"}
    assert {one.guard for one in autograd} == {"at::AutoDispatchBelowAutograd", "at::AutoDispatchBelowADInplaceOrView"}


def test_operators_have_their_yaml_and_entry_points(tree: SourceTree, store: Store) -> None:
    in_yaml = 0
    for name in store.all_names():
        one = store.operator(name)
        assert one is not None
        if one.yaml_line is None:
            continue
        text = line(tree, one.yaml_path, one.yaml_line)
        short = name.split("::")[1]
        if one.autogen:
            entry = "\n".join(tree.lines(str(one.yaml_path))[one.yaml_line - 1 : one.yaml_end])
            assert text.startswith("- func: "), one
            assert "autogen:" in entry or "functional" in entry or "_copy" in short or "view" in entry, one
        else:
            in_yaml += 1
            assert text.startswith(f"- func: {short}("), one
        assert f"{one.cpp_name}::call(" in line(tree, one.call_path, one.call_line), one
        assert f"{one.cpp_name}::redispatch(" in line(tree, one.call_path, one.redispatch_line), one
    assert in_yaml > 2_500


def test_derivatives_have_their_lines_and_nodes(tree: SourceTree, store: Store) -> None:
    found = [one for name in store.all_names() for one in store.derivatives(name)]
    assert len({one.op for one in found}) >= 1_295
    for one in found:
        entry = re.sub(" +", " ", line(tree, one.path, one.line))
        assert entry.startswith(f"- name: {one.source_op.split('::')[1]}("), one
        for formula in one.formulas:
            assert line(tree, one.path, formula.line).strip().startswith(f"{formula.inputs}:"), one
            assert one.line < formula.line <= one.end_line, one
        if one.node:
            assert line(tree, one.apply_path, one.apply_line).startswith(f"variable_list {one.node}::apply("), one
            assert one in store.derivative_of_node(one.node)


def test_bindings_name_the_function_that_is_there(tree: SourceTree, store: Store) -> None:
    named = store.rows("SELECT tab, name FROM binding ORDER BY id")
    assert {table for table, _ in named} == {"torch", "Tensor", "nn", "linalg", "fft", "special", "sparse", "nested"}
    for table, name in named:
        row = store.binding(table, name)
        assert (row.table, row.name) == (table, name)
        head = line(tree, row.path, row.line)
        assert re.match(rf"\s*static PyObject ?\* ?{row.c_function}\(", head), row
        assert not head.endswith(";"), row
        assert line(tree, row.path, row.entry_line).strip().startswith(f'{{"{row.name}", '), row
        assert row.c_function in line(tree, row.path, row.entry_line), row


def test_python_kernels_are_confirmed_by_their_def(tree: SourceTree, store: Store, records: list[Registration]) -> None:
    python = store.counts()["python"]
    assert python.confirmed > SMALLEST_PYTHON_SHARE * python.total
    for one in records:
        if one.origin == "python" and one.confirmed:
            text = line(tree, one.body_path, one.body_line)
            name = str(one.wrapper).rsplit(".", 1)[-1]
            assert re.match(rf"\s*(async )?def {re.escape(name)}\b", text) or "lambda" in text, one


def test_what_the_wheel_ships_too_is_regenerated_line_by_line(
    tree: SourceTree, built: tuple[Runtime, SourceTree, Store]
) -> None:
    """Five headers lie in the wheel as PyTorch's own build wrote them: the proof that ours are the same text."""
    include = Path(built[0].torch_dir) / "include/torch/csrc/autograd/generated"
    from ptexplore.source.canonical import unwrap

    compared = 0
    for name in ("Functions.h", "VariableType.h", "ViewFuncs.h", "python_functions.h", "variable_factories.h"):
        ours = tree.read(f"torch/csrc/autograd/generated/{name}")
        assert ours is not None
        assert ours.layer == "generated"
        theirs = unwrap((include / name).read_text(encoding="utf-8"))[0]
        mine = [text for text in ours.text.rstrip().split("\n") if "@generated" not in text]
        assert mine == [text for text in theirs.rstrip().split("\n") if "@generated" not in text], name
        compared += len(mine)
    assert compared > 10_000


def test_the_catalogue_is_small(store: Store) -> None:
    assert store.path.stat().st_size < 25_000_000


def test_the_dispatch_table_of_an_operator(store: Store) -> None:
    (entry,) = [entry for entry in store.table("aten::add.Tensor") if "CPU" in entry.keys]
    assert entry.reason == "kernel"
    (record,) = [one for one in store.registrations("aten::add.Tensor") if one.key == "CPU"]
    assert (record.path, record.macro_line) == (entry.path, entry.line)
    keys = [key for one in store.table("aten::add.Tensor") for key in one.keys]
    assert len(keys) == len(set(keys)) > 90
