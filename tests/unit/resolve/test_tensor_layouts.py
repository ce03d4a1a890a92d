"""Tensors in memory, from records by hand: blocks, sharing, and how many cells a search may look at."""

from __future__ import annotations

from ptexplore.model import tensor_facts as is_so
from ptexplore.model.tensor_layouts import PlacedTensor, SeenStorage, SeenTensor, SeenTensors
from ptexplore.resolve.tensor_layouts import conclude, overlaps
from ptexplore.view.tensor.page import called
from ptexplore.view.tensor.strip import short_names


def tensor(name: str, impl: int, storage: int | None, sizes: tuple[int, ...], strides: tuple[int, ...]) -> SeenTensor:
    return SeenTensor(
        name=name, kind="Tensor", impl=impl, dtype="float32", device="cpu", layout="strided", element=4, sizes=sizes,
        strides=strides, offset=0, storage=storage, formats=(), is_conj=False, is_neg=False, is_nested=False,
        requires_grad=False, is_leaf=True,
    )  # fmt: skip


def test_storages_that_touch_no_common_byte_are_apart() -> None:
    storages = (SeenStorage(16, "cpu", 1000), SeenStorage(16, "cpu", 1016), SeenStorage(8, "cpu", 1008))
    tensors = tuple(tensor(name, n, n, (2,), (1,)) for n, name in enumerate("abc"))
    blocks = conclude(SeenTensors("2", tensors, storages)).blocks
    assert [block.storages for block in blocks] == [(0, 2), (1,)]
    assert [placed.start for placed in blocks[0].tensors] == [0, 2]


def test_the_same_address_on_another_device_is_other_memory() -> None:
    storages = (SeenStorage(8, "cuda:0", 1000), SeenStorage(8, "cuda:1", 1000))
    tensors = tuple(tensor(name, n, n, (2,), (1,)) for n, name in enumerate("ab"))
    assert len(conclude(SeenTensors("2", tensors, storages)).blocks) == 2


def test_a_tensor_without_storage_has_no_cells() -> None:
    assert conclude(SeenTensors("2", (tensor("a", 0, None, (2,), (1,)),), ())).blocks == ()


def test_sizes_that_do_not_fit_the_number_of_elements() -> None:
    seen = SeenTensors("2", (tensor("a", 0, 0, (2,), (1,)),), (SeenStorage(8, "cpu", 1000),))
    (answer,) = conclude(seen, [(3,)]).answers
    assert (answer.method, answer.facts) == ("view(3)", (is_so.OtherElementCount(elements=2),))


def test_the_text_of_a_call() -> None:
    assert called("x[1:]", "view(2)") == "x[1:].view(2)"
    assert called("a + b", "view(2)") == "(a + b).view(2)"
    assert called("x[1:…2]", "view(2)") == "x[1:…2].view(2)"


def test_overlapping_windows_are_seen_and_interleaved_rows_are_not() -> None:
    assert overlaps(PlacedTensor(0, (3, 3), (1, 1), 0))
    assert not overlaps(PlacedTensor(0, (2, 2), (2, 3), 0))
    assert not overlaps(PlacedTensor(0, (3, 4), (1, 3), 0))


def test_a_search_without_a_result_ends_at_once() -> None:
    even = PlacedTensor(0, (50,) * 9, (2,) * 9, 0)
    assert even.indices_at(301, 10) == []
    assert len(even.indices_at(300, 10)) == 10


def test_short_names_stay_different() -> None:
    names = ["x", "torch.eye(3).to_sparse_csr()", "a.nested(1)._min_seqlen_tensor", "a.nested(1)._max_seqlen_tensor"]
    short = short_names(names, 60)
    assert short["x"] == "x"
    assert short["torch.eye(3).to_sparse_csr()"] == "torch.e…e_csr()"
    assert len(set(short.values())) == len(names)
    assert max(map(len, short.values())) <= 15
    equal = [f"f(a_{number})._long_name_of_all" for number in range(3)]
    assert len(set(short_names(equal, 40).values())) == 3
