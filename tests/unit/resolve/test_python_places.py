"""The line of a Python frame, and the C function behind a Python name with the table row that binds it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.operators import Binding
from ptexplore.model.place_reasons import OfBuiltinClass, OfPackage
from ptexplore.model.reasons import Reason
from ptexplore.model.trace import PythonCall
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.python_places import bindings, frames
from tests.unit.conftest import AUTOGRAD
from tests.unit.resolve.making import Rows, Small, call, claim, place, session, user_call

REFS, FUNCTIONAL = "torch/_refs.py", "torch/nn/functional.py"
METHODS = f"{AUTOGRAD}/python_variable_methods.cpp"
MANUAL = "torch/csrc/autograd/FunctionsManual.cpp"


def framed(small: Small, path: str, line: int, function: str, **event: Any) -> Claim:
    """A frame as Python reports it: the file, the code object's first line, the function's name."""
    site = str(small.mini.site)
    file = path if path.startswith("/") else f"{site}/{path}"
    one = claim("python", function, event={"file": file, "line": line, "function": function, **event})
    (found,) = frames(small.context(session(torch_dir=f"{site}/torch")), (one,))
    return found


@pytest.mark.parametrize(
    "path, first, function, text",
    [
        (REFS, '@registers("blend")', "blend_meta", "def blend_meta("),  # two decorators, one on three lines
        (FUNCTIONAL, "@functools.wraps", "folded", "def folded("),
        (FUNCTIONAL, "async def awaited(", "awaited", "async def awaited("),
        (REFS, "def registers(", "registers", "def registers("),
        (REFS, "halve = lambda", "<lambda>", "halve = lambda"),  # no def: the first line is all there is
        (REFS, '@registers("blend")', "blend", '@registers("blend")'),  # `def blend_meta` is another function
    ],
)
def test_a_frame_is_at_its_def(small: Small, path: str, first: str, function: str, text: str) -> None:
    hop = framed(small, path, small.line(path, first), function).hop
    assert place(hop.source) == (path, small.line(path, text), "located")
    assert hop.source.layer == "wheel"


def test_a_frame_of_your_own_file_is_where_python_says(small: Small) -> None:
    hop = framed(small, "/elsewhere/mine.py", 3, "f").hop
    assert place(hop.source) == ("/elsewhere/mine.py", 3, "located")
    assert hop.source.layer is None


def test_where_the_frame_was_called_from(small: Small) -> None:
    line = small.line(REFS, "def registers(")
    assert framed(small, REFS, line, "registers", caller_line=41).hop.python == PythonCall(41)
    assert framed(small, REFS, line, "registers").hop.python is None


# --- bindings ---


def bound(small: Small, table: str | None, method: str, *sources: Any, rows: Rows | None = None, **more: Any) -> Claim:
    """A builtin's claim after the pass."""
    one = replace(claim("binding", f"torch.{method}", event={"table": table, "method": method}), **more)
    (found,) = bindings(small.context(None, rows, *sources), (one,))
    return found


def table_row(small: Small, table: str, name: str, function: str) -> Binding:
    """The generated row of the small tree that binds `name`."""
    line = small.line(METHODS, f"{function}(PyObject*")
    return Binding(table, name, function, METHODS, line, line + 4, small.line(METHODS, f'{{"{name}"'))


def test_the_function_that_the_table_names(small: Small) -> None:
    rows = Rows(bindings=[table_row(small, "Tensor", "blend", "THPVariable_blend")])
    hop = bound(small, "Tensor", "blend", rows=rows).hop
    assert hop.name == "torch::autograd::THPVariable_blend"
    assert place(hop.source) == (METHODS, small.line(METHODS, "THPVariable_blend(PyObject*"), "located")
    entry = small.line(METHODS, '{"blend"')
    assert hop.why == (reasons.RowOfTable("Tensor", "blend", f"{METHODS}:{entry}", "THPVariable_blend"),)
    assert hop.binding is not None
    assert hop.binding.python == "torch.blend", "the name that Python has for it"
    assert hop.binding.table_row is not None
    assert place(hop.binding.table_row) == (METHODS, entry, "located")


def test_a_function_and_a_method_of_one_name_are_two(small: Small) -> None:
    """torch.blend and Tensor.blend: each has a row in its own table."""
    rows = Rows(bindings=[table_row(small, "Tensor", "blend", "THPVariable_blend")])
    assert bound(small, "torch", "blend", rows=rows).hop.source.precision == "unknown"


def test_two_rows_of_one_name_are_none(small: Small) -> None:
    row = table_row(small, "Tensor", "blend", "THPVariable_blend")
    hop = bound(small, "Tensor", "blend", rows=Rows(bindings=[row, replace(row, entry_line=3)])).hop
    assert hop.source.precision == "unknown"


def test_a_slot_of_a_tensor_is_the_function_of_the_mapping_protocol(small: Small) -> None:
    """THPVariable_as_mapping of torch/csrc/autograd/python_variable.cpp."""
    assert bound(small, "Tensor", "__getitem__").hop.name == "torch::autograd::THPVariable_getitem"
    assert bound(small, "Tensor", "__len__").hop.name == "torch::autograd::THPVariable_length"
    assert bound(small, "nn", "__getitem__").hop.name == "torch.__getitem__", "of Tensor alone"


def test_a_row_of_a_hand_written_table(small: Small) -> None:
    hop = bound(small, "torch", "hand", small.source()).hop
    assert hop.name == "THPVariable_hand"
    assert place(hop.source) == (MANUAL, small.line(MANUAL, "THPVariable_hand(PyObject*"), "located")
    row = small.line(MANUAL, '"hand", THPVariable_hand')
    assert hop.why == (reasons.TableNames(f"{MANUAL}:{row}", "THPVariable_hand"),)


def test_a_table_that_is_not_that_types_names_nothing(small: Small) -> None:
    """`elsewhere` has a row of that name too: it is no table of torch's or Tensor's."""
    assert bound(small, "Tensor", "hand", small.source()).hop.source.precision == "unknown"
    assert bound(small, "torch", "hand").hop.source.precision == "unknown", "and the wheel has no text of it"


@pytest.mark.parametrize(
    "table, whose",
    [
        ("object", OfBuiltinClass("object")),
        ("_pickle.Pickler", OfBuiltinClass("_pickle.Pickler")),
        ("numpy.ndarray", OfPackage("numpy.ndarray", "numpy")),
        ("torch._C.Generator", None),
        ("nn", None),
    ],
)
def test_a_builtin_that_is_not_torchs_says_whose_it_is(small: Small, table: str, whose: Reason | None) -> None:
    assert bound(small, table, "absent").hop.source.reason == (whose or small.context(None).lookup.no_text)


@pytest.mark.parametrize(
    "source, assigned",
    [
        ("F.blend(a, b)", True),
        ("torch.nn.functional.blend(a, b)", True),
        ("torch.blend(a, b)", False),  # called by another name
        ("F.mirror(a)", False),  # assigned twice: which one counts is not told
        ("F.absent(a)", False),
        ("F.blend(a, b).clamp()", False),  # what it calls is clamp
        ("F.blend(a, b) + a", False),
        ("F.blend(a, b", False),  # cut
    ],
)
def test_where_functional_assigns_the_builtin(small: Small, source: str, assigned: bool) -> None:
    method = source.removesuffix("()").rpartition(".")[2].partition("(")[0]
    row = replace(table_row(small, "Tensor", "blend", "THPVariable_blend"), name=method, table="nn")
    hop = bound(
        small,
        "nn",
        method,
        rows=Rows(bindings=[row]),
        call=user_call(1, call(1, source=source)),
    ).hop
    line = small.line(FUNCTIONAL, "blend = ")
    assert hop.binding is not None
    assert (hop.binding.python == f"torch.nn.functional.{method}") is assigned
    where = place(hop.binding.assigned) if hop.binding.assigned is not None else None
    assert where == ((FUNCTIONAL, line, "located") if assigned else None)
