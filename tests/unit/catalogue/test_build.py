"""The catalogue of minitorch: what is confirmed, where bodies are, and what is never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.model.operators import Count, Registration
from ptexplore.model.place_reasons import (
    BlockLacks,
    BlockNamesTwice,
    MacroForOthers,
    NoLibraryMade,
    NoMacro,
    NotRegenerated,
    RecordHandWritten,
)
from ptexplore.store.catalogue.reader import Store
from tests.unit.conftest import ATEN, AUTOGRAD, Mini, line_of, write_catalogue

CPU = f"{ATEN}/RegisterCPU_0.cpp"
VARIABLE = f"{AUTOGRAD}/VariableType_0.cpp"


@pytest.fixture
def store(mini: Mini, tmp_path: Path) -> Iterator[Store]:
    write_catalogue(mini, tmp_path / "catalogue.sqlite")
    opened = Store.open(tmp_path / "catalogue.sqlite")
    yield opened
    opened.close()


def record(store: Store, op: str, key: str | None) -> Registration:
    found = [one for one in store.registrations(op) if one.key == key]
    assert len(found) == 1
    return found[0]


def test_a_structured_kernel_has_its_own_lines_body_and_targets(store: Store, mini: Mini) -> None:
    one = record(store, "aten::blend.Pair", "CPU")
    assert (one.confirmed, one.why_not, one.origin) == (True, None, "generated")
    assert one.macro_line == line_of(mini.tree, CPU, "TORCH_LIBRARY_IMPL(aten, CPU, m)")
    assert one.op_line == line_of(mini.tree, CPU, 'm.impl("blend.Pair"')
    assert one.wrapper == "at::wrapper_CPU_blend_Pair"
    assert (one.body_path, one.body_line) == (CPU, line_of(mini.tree, CPU, "at::Tensor wrapper_CPU_blend_Pair("))
    assert mini.tree.line(CPU, one.body_end or 0) == "}"
    assert (one.target, one.target_kind) == ("at::native::structured_blend_cpu::impl", "structured")
    assert one.target_meta == "at::meta::structured_blend_Pair::meta"


def test_the_name_of_a_declarator_on_two_lines_has_the_second(store: Store, mini: Mini) -> None:
    one = record(store, "aten::mirror", "CPU")
    assert mini.tree.line(CPU, one.body_line or 0) == "wrapper_CPU__mirror(const at::Tensor & self) {"
    assert (one.target, one.target_kind) == ("at::native::mirror_dense", "native")


def test_of_two_functions_of_one_name_the_one_in_scope_is_meant(store: Store, mini: Mini) -> None:
    one = record(store, "aten::mirror", "CPU")
    other = line_of(mini.tree, CPU, "at::Tensor wrapper_CPU__mirror(")
    assert one.wrapper == "at::wrapper_CPU__mirror"
    assert one.body_line != other


def test_a_record_at_the_macro_of_another_key_is_not_confirmed(store: Store) -> None:
    one = record(store, "aten::mirror", "CUDA")
    assert not one.confirmed
    assert one.why_not == MacroForOthers(one.macro_line, ("CPU",), "CUDA")
    assert one.op_line is one.body_line is None


def test_two_arms_of_an_if_leave_the_body_unknown(store: Store) -> None:
    one = record(store, "aten::twice", "CPU")
    assert one.confirmed
    assert one.body_line is None
    assert one.body_why == "not-one"


def test_a_missing_body_is_said(store: Store) -> None:
    one = record(store, "aten::lost", "CPU")
    assert one.confirmed
    assert one.body_why == "not-one"


def test_an_operator_named_twice_in_its_block_is_not_confirmed(store: Store) -> None:
    one = record(store, "aten::named_twice", "CPU")
    assert not one.confirmed
    assert isinstance(one.why_not, BlockNamesTwice)
    assert (one.why_not.op, len(one.why_not.lines)) == ("aten::named_twice", 2)


def test_a_commented_registration_is_none(store: Store) -> None:
    for key in (None, "CPU"):
        one = record(store, "aten::ghost", key)
        assert not one.confirmed
        assert one.why_not == BlockLacks(one.macro_line, "aten::ghost")


def test_a_line_without_a_macro_is_not_confirmed(store: Store) -> None:
    one = record(store, "aten::late", "CPU")
    assert one.why_not == NoMacro(one.macro_line)


def test_a_file_that_was_not_regenerated_is_said(store: Store) -> None:
    one = record(store, "aten::lost", "Meta")
    assert one.why_not == NotRegenerated(str(one.path))


def test_autograd_redispatches_under_its_guard(store: Store, mini: Mini) -> None:
    one = record(store, "aten::blend.Pair", "Autograd")
    assert one.alias
    assert one.wrapper == "torch::autograd::VariableType::blend_Pair"
    assert one.redispatch == "ks & c10::after_autograd_keyset"
    assert one.guard == "at::AutoDispatchBelowADInplaceOrView"
    assert one.op_line == line_of(mini.tree, VARIABLE, 'm.impl("blend.Pair"')


def test_two_ways_to_redispatch_are_not_made_one(store: Store) -> None:
    one = record(store, "aten::mirror", "Autograd")
    assert one.redispatch is one.guard is None


def test_a_kernel_from_a_factory_has_no_body(store: Store) -> None:
    one = record(store, "aten::twice", "Autograd")
    assert one.confirmed
    assert one.callee == "torch::autograd::autogradNotImplementedFallback()"
    assert one.wrapper is None
    assert one.body_why == "factory"


def test_a_hand_written_function_registered_directly(store: Store) -> None:
    one = record(store, "aten::twice", "Functionalize")
    assert one.confirmed
    assert one.wrapper == "at::native::twice_plain"
    assert one.body_line is None


def test_hand_written_and_nameless_records_are_kept_unconfirmed(store: Store) -> None:
    sparse = record(store, "aten::blend.Pair", "SparseCPU")
    assert (sparse.origin, sparse.path) == ("handwritten", "aten/src/ATen/native/sparse/Blend.cpp")
    assert sparse.why_not == RecordHandWritten()
    assert record(store, "aten::twice", None).origin == "nofile"


def test_a_python_kernel_is_confirmed_by_its_def(store: Store, mini: Mini) -> None:
    one = record(store, "aten::blend.Pair", "Meta")
    assert (one.origin, one.confirmed) == ("python", True)
    assert one.body_line == line_of(mini.tree, "torch/_refs.py", "def blend_meta")
    kernel = store.python_kernels("aten::blend.Pair")[0]
    assert (kernel.line, kernel.path) == (one.body_line, "torch/_refs.py")


def test_a_python_record_whose_line_makes_no_library_is_not_confirmed(mini: Mini, tmp_path: Path) -> None:
    operator = mini.raw["operators"][0]
    library = line_of(mini.tree, "torch/_refs.py", "Library(")
    operator["dump"] = operator["dump"].replace(f"_refs.py:{library}", f"_refs.py:{library + 1}")
    write_catalogue(mini, tmp_path / "c.sqlite")
    one = record(Store.open(tmp_path / "c.sqlite"), "aten::blend.Pair", "Meta")
    assert not one.confirmed
    assert one.why_not == NoLibraryMade("torch/_refs.py", library + 1)


def test_counts(store: Store) -> None:
    counts = store.counts()
    assert counts["handwritten"] == Count(0, 1)
    assert counts["python"] == Count(1, 1)
    assert counts["nofile"] == Count(0, 1)
    assert counts["generated"] == Count(10, 16)
    assert dict(store.unconfirmed_reasons())[RecordHandWritten()] == 1
    assert {one.origin for one in store.unconfirmed(3)} == {"generated"}


def test_the_operator(store: Store, mini: Mini) -> None:
    one = store.operator("aten::blend.Pair")
    assert one is not None
    assert (one.yaml_line, one.yaml_end) == (2, 5)
    assert (one.structured, one.core, one.tags) == ("aten::blend.out", True, ("pointwise", "core"))
    assert one.call_line == line_of(mini.tree, f"{ATEN}/Operators_0.cpp", "blend_Pair::call(")
    assert one.redispatch_line == line_of(mini.tree, f"{ATEN}/Operators_0.cpp", "blend_Pair::redispatch(")
    assert store.operators_named("blend") == [one]


def test_the_derivative_and_its_node(store: Store, mini: Mini) -> None:
    one = store.derivative("aten::blend.Pair")
    assert one is not None
    assert [(f.inputs, f.line, f.calls) for f in one.formulas] == [("self", 3, ()), ("other", 4, ("undo_blend",))]
    functions = f"{AUTOGRAD}/Functions.cpp"
    assert (one.apply_path, one.apply_line) == (functions, line_of(mini.tree, functions, "BlendBackward0::apply("))
    assert store.derivative_of_node("BlendBackward0") == [one]


def test_function_and_method_are_two_bindings(store: Store, mini: Mini) -> None:
    function, method = store.binding("torch", "blend"), store.binding("Tensor", "blend")
    assert function is not None
    assert method is not None
    torch_file, tensor_file = f"{AUTOGRAD}/python_torch_functions_0.cpp", f"{AUTOGRAD}/python_variable_methods.cpp"
    assert (function.path, function.line) == (torch_file, line_of(mini.tree, torch_file, "THPVariable_blend(", 2))
    assert (method.path, method.line) == (tensor_file, line_of(mini.tree, tensor_file, "THPVariable_blend("))
    assert function.ops == method.ops == ("aten::blend.Pair",)
    operator = store.binding("Tensor", "__matmix__")
    assert operator is not None
    assert operator.c_function == "THPVariable_blend"
    assert {one.name for one in store.bindings_for("aten::blend.Pair")} == {"blend", "mix", "__matmix__"}


def test_a_binding_without_a_body_is_none(store: Store) -> None:
    assert store.binding("torch", "shadow") is None


def test_table_entries_share_keys(store: Store) -> None:
    entries = store.table("aten::blend.Pair")
    assert entries[0].keys == ("Undefined", "XLA")
    by_key = {key: entry for entry in entries for key in entry.keys}
    entry = by_key["Named"]
    assert (entry.fallthrough, entry.reason, entry.line) == (True, "backend fallback", 11)
    meta = by_key["Meta"]
    assert (meta.path, meta.line) == (None, None)
    assert "CUDA" not in by_key


def test_generated_definitions(store: Store) -> None:
    assert store.definition("at::native::structured_blend_cpu::impl") == (f"{ATEN}/UfuncCPU_add.cpp", 5, 7)
    assert store.definition("at::native::blend_stub") == (f"{ATEN}/UfuncCPU_add.cpp", 3, 3)
    assert store.definition("at::native::nothing") is None


def test_python_names(store: Store, mini: Mini) -> None:
    name = store.python_name("torch.refs.blend")
    assert name is not None
    assert name.line == line_of(mini.tree, "torch/_refs.py", "def blend_meta")
    assert [one.name for one in store.python_names_for("torch", "blend")] == ["torch.mix", "torch.blend"]
    outside = store.python_name("torch.outside")
    assert outside is not None
    assert (outside.path, outside.line) == (None, None)


def test_keys_keep_all_their_bits(store: Store) -> None:
    assert store.keys()["CPU"].after == 2**63 + 5


def test_a_line_of_an_unknown_form_stops_the_build(mini: Mini, tmp_path: Path) -> None:
    mini.raw["operators"][0]["dump"] += "\nnew thing entirely"
    with pytest.raises(PtexploreError, match="cannot be read"):
        write_catalogue(mini, tmp_path / "x.sqlite")
    assert not list(tmp_path.glob("*.sqlite*"))


def test_a_folder_that_cannot_be_written(mini: Mini, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PtexploreError) as caught:
        write_catalogue(mini, tmp_path / "file" / "x.sqlite")
    assert caught.value.exit_code == 3
    assert "PTEXPLORE_CACHE" in caught.value.hint


def test_a_folder_in_the_place_of_the_database(mini: Mini, tmp_path: Path) -> None:
    (tmp_path / "x.sqlite" / "inside").mkdir(parents=True)
    with pytest.raises(PtexploreError, match="cannot be written") as caught:
        write_catalogue(mini, tmp_path / "x.sqlite")
    assert caught.value.hint
    assert [file.name for file in tmp_path.glob("*.sqlite*")] == ["x.sqlite"]
    with pytest.raises(FileNotFoundError):
        Store.open(tmp_path / "x.sqlite")
