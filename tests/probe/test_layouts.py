"""The rules of sizes and strides, against torch itself, over random layouts."""

from __future__ import annotations

import importlib
import itertools
import random
from typing import Any

import pytest

from ptexplore.facts import layouts

torch = pytest.importorskip("torch")
api = importlib.import_module("ptexplore.probe.torch_api")
events = importlib.import_module("ptexplore.probe.events")

FORMS = {
    "contiguous_format": torch.contiguous_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}
SIZES = (0, 1, 1, 2, 3, 4)


def random_tensors(count: int, seed: int) -> list[Any]:
    """Tensors of up to five dimensions: permuted, sliced, expanded, with strides of their own."""
    choose = random.Random(seed)
    made = []
    for _ in range(count):
        tensor = torch.empty([choose.choice(SIZES) for _ in range(choose.randrange(6))])
        for _ in range(choose.randrange(4)):
            how = choose.randrange(4)
            if how == 0 and tensor.dim():
                tensor = tensor.permute(choose.sample(range(tensor.dim()), tensor.dim()))
            elif how == 1 and tensor.dim():
                tensor = tensor[(slice(None),) * choose.randrange(tensor.dim()) + (slice(None, None, 2),)]
            elif how == 2:
                tensor = tensor.expand([choose.choice((2, size)) if size == 1 else size for size in tensor.shape])
            elif tensor.dim():
                dimension = choose.randrange(tensor.dim())
                strides = [7 if d == dimension else stride for d, stride in enumerate(tensor.stride())]
                tensor = torch.empty(20_000).as_strided(tensor.shape, strides)
        made.append(tensor)
    return made


def shapes_of(elements: int, choose: random.Random) -> list[int]:
    """Sizes with this number of elements, in any form."""
    sizes, left = [], elements
    while left > 1:
        size = choose.choice([n for n in range(2, left + 1) if left % n == 0])
        sizes.append(size)
        left //= size
    for _ in range(choose.randrange(3)):
        sizes.insert(choose.randrange(len(sizes) + 1), 1)
    return sizes if elements else [0, *sizes]


@pytest.mark.parametrize("form", FORMS)
def test_contiguous_is_what_torch_says(form: str) -> None:
    tensors = [tensor for tensor in random_tensors(3000, 1) if form == "contiguous_format" or tensor.dim() in (4, 5)]
    if form != "contiguous_format":
        rank = 4 if form == "channels_last" else 5
        every = [
            torch.empty(shape).to(memory_format=FORMS[form]) for shape in itertools.product((1, 2, 3), repeat=rank)
        ]
        tensors = [tensor for tensor in tensors if tensor.dim() == rank] + every
    assert len(tensors) > 200
    for tensor in tensors:
        told = layouts.is_contiguous(tensor.shape, tensor.stride(), form)
        assert told == tensor.is_contiguous(memory_format=FORMS[form]), (tensor.shape, tensor.stride())


def test_dense_is_what_torch_says() -> None:
    for tensor in random_tensors(3000, 2):
        told = layouts.is_dense(tensor.shape, tensor.stride())
        assert told == torch.ops.aten.is_non_overlapping_and_dense(tensor), (tensor.shape, tensor.stride())


def test_a_view_is_refused_for_the_named_dimensions() -> None:
    """torch refuses the same views; joined to one size, the two named dimensions alone are refused, too."""
    choose, refused = random.Random(3), 0
    for tensor in random_tensors(4000, 3):
        wanted = shapes_of(tensor.numel(), choose)
        pair = layouts.refusing(tensor.shape, tensor.stride(), wanted)
        try:
            tensor.view(wanted)
        except RuntimeError:
            assert pair is not None, (tensor.shape, tensor.stride(), wanted)
            refused += 1
            assert (tensor.stride(pair.first), tensor.stride(pair.second)) == (pair.stride, pair.inner)
            assert pair.size == tensor.size(pair.second)
            only = tensor[tuple(slice(None) if d in pair[:2] else 0 for d in range(tensor.dim()))]
            with pytest.raises(RuntimeError, match="compatible"):
                only.view(-1)
        else:
            assert pair is None, (tensor.shape, tensor.stride(), wanted)
    assert refused > 200


def test_sizes_that_do_not_fit_are_not_refused_for_strides() -> None:
    assert layouts.refusing((4, 3), (1, 4), (5, 2)) is None
    assert layouts.refusing((4, 3), (1, 4), (-1, 5)) is None
    assert layouts.refusing((4, 3), (1, 4), (-1,)) == (0, 1, 1, 3, 4)


def test_dimensions_that_share_memory() -> None:
    assert layouts.shared((3, 4), (1, 0)) == (1,)
    assert layouts.shared((1, 4), (0, 1)) == ()


@pytest.mark.parametrize("dtype", [v for v in vars(torch).values() if isinstance(v, torch.dtype)])
def test_the_bytes_of_an_element(dtype: Any) -> None:
    name = str(dtype).removeprefix("torch.")
    told = layouts.size_of(name)
    assert told in (None, dtype.itemsize), name
    assert told is not None or name.startswith(("quint", "bits", "int", "uint", "float4")), name


@pytest.mark.parametrize("form", FORMS)
def test_the_number_of_a_memory_format_is_what_the_profiler_records(form: str) -> None:
    tensor = torch.empty((1, 2, 3, 4, 5)[: 5 if form == "channels_last_3d" else 4])
    dense = tensor.permute(*reversed(range(tensor.dim())))
    with api.profiler() as profile:
        dense.contiguous(memory_format=FORMS[form])
    tree, _ = events.collect(profile, {})
    (called,) = [event for event in tree if event.get("name") == "aten::contiguous"]
    assert called["inputs"][1] == layouts.FORMATS.index(form)


def test_the_recorded_strides_are_the_tensors() -> None:
    given = [tensor for tensor in random_tensors(200, 4) if tensor.dim()]
    with api.profiler() as profile:
        for tensor in given:
            tensor.sum()
    tree, _ = events.collect(profile, {})
    told = [event["inputs"][0] for event in tree if event.get("name") == "aten::sum" and event["parent"] is None]
    assert [(tuple(one["sizes"]), tuple(one["strides"])) for one in told] == [
        (tuple(tensor.shape), tensor.stride()) for tensor in given
    ]
    assert [one["memory"] for one in told] == [tensor.untyped_storage().data_ptr() for tensor in given]
