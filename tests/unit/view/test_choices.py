"""What is said about choices: from the values that choosers and their checks returned, and from nothing else."""

from __future__ import annotations

import pytest

from ptexplore.facts.choosers import BY_FUNCTION, CHOOSERS, answer
from ptexplore.model.place_reasons import NotLookedUp
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Hop, NativeCall, PythonCall
from ptexplore.view.trace.choices import choices
from ptexplore.view.words.details import described

NOWHERE = SourceRef(None, None, None, "unknown", reason=NotLookedUp())
SDP, CONVOLUTION = "sdp::select_sdp_backend_cpp", "at::native::_select_conv_backend"
ENABLED = "at::Context::userEnabledMkldnn"


def call(number: int, name: str, returned: bool | int | None = None, *inside: Hop) -> Hop:
    native = NativeCall(f"{name}()", returned=returned)
    return Hop(number, "native", name, "observed", NOWHERE, native=native, children=inside, instructions=1)


def said(*hops: Hop, has_row: bool = True) -> dict[int, str]:
    return {number: described(told) for number, told in choices(hops, lambda _: has_row).items()}


@pytest.mark.words
def test_attention_names_the_first_check_that_refused_the_faster_code() -> None:
    asked = (
        call(2, "sdp::check_runtime_disabled_flash", True),
        call(3, "sdp::check_for_dropout", True),
        call(4, "sdp::check_attn_mask_shape", False),
    )
    told = said(call(1, SDP, 0, *asked))
    means = "the mask requires grad, or has another shape"
    assert told == {1: f"chooses math; not flash_attention: check_attn_mask_shape() false, {means}"}


@pytest.mark.words
def test_attention_that_is_fused_was_refused_nothing() -> None:
    assert said(call(1, SDP, 1, call(2, "sdp::check_for_dropout", True))) == {1: "chooses flash_attention"}


@pytest.mark.words
def test_checks_without_an_answer_say_nothing() -> None:
    assert said(call(1, SDP, 0, call(2, "sdp::check_for_dropout"))) == {1: "chooses math"}
    assert said(call(1, SDP, None)) == {1: "chooses the code that computes; no answer seen"}
    assert said(call(9, "f", None, call(1, "at::native::use_mkldnn_matmul"))) == {}


@pytest.mark.words
def test_a_convolution_says_what_it_chose_and_what_refused() -> None:
    params = "at::native::ConvParams::"
    asked = (call(2, f"{params}use_cudnn", False), call(3, f"{params}use_mkldnn", False, call(4, ENABLED, True)))
    assert said(call(1, CONVOLUTION, 13, *asked)) == {
        1: "chooses Slow2d; not oneDNN: use_mkldnn() false, by dtype, groups, sizes and threads; use_cudnn() false"
    }
    off = call(3, f"{params}use_mkldnn", False, call(4, ENABLED, False))
    assert said(call(1, CONVOLUTION, 13, off)) == {
        1: "chooses Slow2d; not oneDNN: userEnabledMkldnn() false, torch.backends.mkldnn is disabled"
    }
    taken = call(3, f"{params}use_mkldnn", True, call(4, ENABLED, True))
    assert said(call(1, CONVOLUTION, 8, taken)) == {1: "chooses Mkldnn"}


@pytest.mark.words
def test_a_product_says_on_the_row_that_asks_whether_onednn_takes_it() -> None:
    check = "at::native::use_mkldnn_matmul"
    assert said(call(1, "at::native::addmm_impl_cpu_", None, call(2, check, True))) == {
        1: "oneDNN: use_mkldnn_matmul() true"
    }
    refused = call(2, check, False, call(3, ENABLED, True))
    assert said(call(1, "at::native::addmm_impl_cpu_", None, refused)) == {
        1: "not oneDNN: use_mkldnn_matmul() false, by dtype, size, processor and float32 precision"
    }
    off = call(2, check, False, call(3, ENABLED, False))
    assert said(call(1, "at::native::addmm_impl_cpu_", None, off)) == {
        1: "not oneDNN: use_mkldnn_matmul() false, torch.backends.mkldnn is disabled"
    }


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "no fast set-up"), (1, "fast set-up: contiguous"), (3, "fast set-up: non_overlapping_dense")],
)
@pytest.mark.words
def test_an_iterator_says_which_fast_set_up_it_took(value: int, words: str) -> None:
    kind = call(3, "at::TensorIteratorBase::compute_fast_setup_type", value)
    fast = call(2, "at::TensorIteratorBase::fast_set_up", value > 0, kind)
    assert said(call(1, "at::TensorIteratorBase::build", None, fast)) == {1: words}


def test_an_answer_without_a_row_around_it_is_left_out() -> None:
    assert said(call(1, "f", None, call(2, "at::native::use_mkldnn_matmul", False)), has_row=False) == {}


def python(number: int, name: str, variables: dict[str, str], *inside: Hop) -> Hop:
    told = PythonCall(1, name, variables=variables)
    return Hop(number, "python", name, "observed", NOWHERE, python=told, children=inside)


@pytest.mark.words
def test_a_module_says_why_it_took_no_fast_path() -> None:
    assert said(python(1, "forward", {"why_not_fast_path": "self.num_heads is not even"})) == {
        1: "no fast path: self.num_heads is not even"
    }
    assert said(python(1, "forward", {"why_not_fast_path": ""})) == {}


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"fused": "True", "foreach": "False"}, "fused by default"),
        ({"fused": "False", "foreach": "True"}, "foreach by default"),
        ({"fused": "False", "foreach": "False", "foreach_supported_devices": "cuda, xpu"},
         "one parameter at a time: not all are plain tensors on cuda, xpu"),
        ({"fused": "False", "foreach": "False", "differentiable": "True"}, "one parameter at a time: differentiable"),
    ],
)  # fmt: skip
@pytest.mark.words
def test_an_optimizer_says_how_it_updates_parameters(variables: dict[str, str], words: str) -> None:
    asked = python(2, "_default_to_fused_or_foreach", variables)
    assert said(python(1, "adam", {}, asked)) == {1: words}


def test_the_value_in_a_register_is_an_answer_only_if_the_function_can_return_it() -> None:
    upper = 0xABCD00
    assert answer("sdp::check_for_dropout", upper | 1) == 1
    assert answer("sdp::check_for_dropout", upper) == 0
    assert answer("sdp::check_for_dropout", 2) is None, "the lowest byte of a bool is 0 or 1"
    assert answer(SDP, 0xFFFFFFFF) == -1
    assert answer(SDP, 5) is None
    assert answer(CONVOLUTION, 0x7F0000000D) == 13
    assert answer("at::TensorIteratorBase::compute_fast_setup_type", upper | 3) == 3
    assert answer("at::native::add", 1) is None


def test_every_chooser_is_listed_once() -> None:
    assert len(BY_FUNCTION) == len(CHOOSERS)


@pytest.mark.words
def test_a_fast_path_is_said_only_where_nothing_else_decides() -> None:
    """make_offset2bag_out asks whether a sum has its fast path. A maximum has none, whatever the answer is."""
    check = "at::native::is_fast_path_index_select"
    assert said(call(1, "at::native::_embedding_bag_cpu_impl_out", None, call(2, check, True))) == {1: "fast path"}
    assert said(call(1, "at::native::make_offset2bag_out", None, call(2, check, True))) == {}


@pytest.mark.words
@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (True, "the index selects whole rows: can_use_expanded_index_path() true"),
        (False, "not the kernel for whole rows: can_use_expanded_index_path() false"),
    ],
)
def test_a_scatter_says_whether_its_index_selects_whole_rows(answered: bool, told: str) -> None:
    check = call(2, "at::native::can_use_expanded_index_path", answered)
    assert said(call(1, "at::native::structured_scatter_add::impl", None, check)) == {1: told}
