"""Tensors in memory against torch itself: cells, views, copies and writes, over random layouts and special tensors."""

from __future__ import annotations

import importlib
import itertools
import random
import re
from typing import Any

import pytest

from ptexplore.facts import layouts
from ptexplore.model import tensor_facts as is_so
from ptexplore.model.codes import convert
from ptexplore.model.tensor_facts import TensorFact
from ptexplore.model.tensor_layouts import MemoryBlock, PlacedTensor, SeenTensors, TensorLayouts
from ptexplore.resolve.tensor_layouts import conclude
from ptexplore.view.tensor.strip import StripRow, strip
from tests.probe.test_layouts import random_tensors, shapes_of

torch = pytest.importorskip("torch")
probe = importlib.import_module("ptexplore.probe.tensor_layouts")


def seen(**named: Any) -> SeenTensors:
    found = [tensor for name, value in named.items() for tensor in probe.tensors_named(name, value)]
    return convert(probe.seen_tensors(found), SeenTensors)


def concluded(*shapes: tuple[int, ...], **named: Any) -> TensorLayouts:
    return conclude(seen(**named), shapes)


def facts_of(tensors: TensorLayouts, name: str) -> tuple[TensorFact, ...]:
    return next(tensor.facts for tensor in tensors.tensors if tensor.seen.name == name)


def placed(tensors: TensorLayouts, name: str) -> tuple[MemoryBlock, PlacedTensor]:
    number = next(n for n, tensor in enumerate(tensors.tensors) if tensor.seen.name == name)
    return next((block, p) for block in tensors.blocks for p in block.tensors if p.tensor == number)


def random_views(count: int, seed: int) -> list[tuple[Any, Any]]:
    """A base of different numbers, and a view of it that a few operators made; flip copies."""
    choose = random.Random(seed)
    made = []
    for _ in range(count):
        sizes = [choose.randrange(1, 5) for _ in range(choose.randrange(1, 4))]
        base = torch.arange(choose.randrange(3) + torch.Size(sizes).numel()).to(torch.complex64)
        view = base[base.numel() - torch.Size(sizes).numel() :].view(sizes)
        for _ in range(choose.randrange(4)):
            view = _next_view(view, choose)
        made.append((base, view))
    return made


def _next_view(view: Any, choose: random.Random) -> Any:
    """A view of a view; flip makes a copy."""
    anywhere = (view.conj, lambda: view.expand(choose.randrange(1, 3), *view.shape))
    if not view.dim():
        return choose.choice(anywhere)()
    dimension = choose.randrange(view.dim())
    size = view.size(dimension)
    strides = [choose.randrange(3) for _ in range(2)]
    ways = (
        *anywhere,
        lambda: view.flip(dimension),
        lambda: view.unfold(dimension, choose.randrange(1, size + 1), choose.randrange(1, 3)),
        lambda: view.permute(choose.sample(range(view.dim()), view.dim())),
        lambda: view.select(dimension, choose.randrange(size)),
        lambda: view.narrow(dimension, 0, max(size - 1, 1)),
        lambda: view[(slice(None),) * dimension + (slice(None, None, 2),)],
        lambda: view.as_strided([2, 2], strides, 0) if sum(strides) < view.untyped_storage().nbytes() // 8 else view,
    )
    return choose.choice(ways)()


def test_each_index_leads_to_the_cell_that_torch_reads() -> None:
    """`storage()[offset + sum(i * stride)]` is the element, and its cell has the label of the index."""
    checked = 0
    for base, view in random_views(3000, 5):
        tensors = concluded(base=base, view=view)
        block, tensor = placed(tensors, "view")
        begin = view.untyped_storage().data_ptr()
        values = torch.tensor([], dtype=view.dtype).set_(view.untyped_storage())
        for index in itertools.product(*map(range, view.shape)):
            cell = tensor.cell_of(index)
            assert begin + cell * block.cell == view[index].data_ptr()
            read = values[cell * block.cell // view.element_size()]
            assert (read.conj() if view.is_conj() else read) == view[index]
            canonical = tuple(i if stride else 0 for i, stride in zip(index, view.stride(), strict=True))
            assert canonical in tensor.indices_at(cell, 1000)
            checked += 1
        every = {tensor.cell_of(index) for index in itertools.product(*map(range, view.shape))}
        assert every == {cell for cell in range(block.cells) if tensor.indices_at(cell, 1)}
    assert checked > 10_000


def test_the_labels_of_a_strip_are_the_indices_of_the_cells() -> None:
    compared = 0
    for base, view in random_views(500, 6):
        tensors = concluded(base=base, view=view)
        block, tensor = placed(tensors, "view")
        picture = strip([("view", tensor)], block.cells, 100)
        for row in picture.rows:
            for number in range(row.count if isinstance(row, StripRow) else 0):
                assert isinstance(row, StripRow)
                labels = [label for _, line in row.lines if (label := line[number]) not in ("", "·", "─")]
                found = tensor.indices_at(row.first + number, 1000)
                if labels and labels[0].startswith("×"):
                    assert int(labels[0][1:]) == len(found)
                    continue
                shown = [re.sub(r"\*", "0", label).replace("()", "") for label in labels]
                assert sorted(shown) == sorted(",".join(map(str, index)) for index in found)
                compared += len(shown)
    assert compared > 2000


def test_a_view_has_the_strides_that_torch_gives_it() -> None:
    choose, refused = random.Random(7), 0
    for tensor in random_tensors(6000, 7):
        wanted = tuple(shapes_of(tensor.numel(), choose))
        found = layouts.viewed(tensor.shape, tensor.stride(), wanted)
        try:
            view = tensor.view(wanted)
        except RuntimeError:
            assert isinstance(found, layouts.Unjoined), (tensor.shape, tensor.stride(), wanted)
            refused += 1
        else:
            assert found == view.stride(), (tensor.shape, tensor.stride(), wanted)
    assert refused > 300


def test_a_call_copies_if_it_is_said_to_copy() -> None:
    """Against data_ptr before and after, and the strides of the copy."""
    choose, copied = random.Random(8), 0
    for tensor in random_tensors(3000, 8):
        shape = tuple(shapes_of(tensor.numel(), choose))
        answers = {a.method: a.facts[0] for shapes in ((shape,), ()) for a in concluded(*shapes, x=tensor).answers}
        for call, fact in answers.items():
            if "contiguous" in call or "reshape" in call:
                result = eval(f"x.{call}", {"x": tensor})
                assert isinstance(fact, is_so.WouldCopy)
                assert result.data_ptr() != tensor.data_ptr() or not tensor.numel()
                assert fact.strides == result.stride(), (tensor.shape, tensor.stride(), call)
                assert fact.bytes == result.numel() * result.element_size()
                copied += 1
        if not any("reshape" in call for call in answers):
            assert tensor.reshape(shape).data_ptr() == tensor.data_ptr()
        assert ("contiguous()" in answers) == (not tensor.is_contiguous())
    assert copied > 1000


def test_a_write_changes_what_it_is_said_to_change() -> None:
    changed = 0
    for base, view in random_views(600, 9):
        tensors = concluded(base=base, view=view)
        answer = next(
            (a for a in tensors.answers if not a.method and tensors.tensors[a.tensor].seen.name == "view"), None
        )
        if answer is None:
            assert view.untyped_storage()._cdata != base.untyped_storage()._cdata or view.shape == base.shape
            continue
        before = base.clone()
        if isinstance(answer.facts[0], is_so.WriteRefused):
            with pytest.raises(RuntimeError, match="single memory location"):
                view.add_(1)
            continue
        view.add_(1)
        indices = [list(index) for index in (base != before).nonzero().tolist()]
        (fact,) = answer.facts
        if isinstance(fact, is_so.WritesAll):
            assert len(indices) == base.numel()
        else:
            assert isinstance(fact, is_so.WritesSome)
            assert (fact.count, fact.elements) == (len(indices), base.numel())
            assert list(fact.indices) == [str(index).replace(" ", "") for index in indices[: len(fact.indices)]]
        changed += 1
    assert changed > 200


# --- special tensors ---


def test_a_contiguous_tensor_says_so_and_another_names_the_dimension() -> None:
    x = torch.arange(12).view(3, 4)
    tensors = concluded(x=x, t=x.t())
    assert facts_of(tensors, "x") == (is_so.IsContiguous(),)
    assert facts_of(tensors, "t") == (
        is_so.SharesStorage(other="x"),
        is_so.NotContiguous(format="contiguous", dimension=1, stride=4, expected=1),
    )


def test_channels_last() -> None:
    x = torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert facts_of(concluded(x=x), "x") == (
        is_so.NotContiguous(format="contiguous", dimension=3, stride=3, expected=1),
        is_so.HasFormat(format="channels_last"),
    )


def test_two_storages_over_the_same_bytes_are_one_memory() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(6, dtype="int64")
    a, b = torch.from_numpy(array), torch.from_numpy(array[2:])
    tensors = concluded(a=a, b=b)
    assert len(tensors.blocks) == 1
    assert placed(tensors, "b")[1].start == 2
    assert is_so.SharesMemory(other="a") in facts_of(tensors, "b")
    assert is_so.WritesAll(others=("b",)) in tensors.answers[0].facts


def test_dtypes_of_other_sizes_over_one_storage() -> None:
    x = torch.zeros(2, dtype=torch.complex64)
    tensors = concluded(x=x, r=torch.view_as_real(x), half=torch.view_as_real(x).view(torch.int16))
    block, tensor = placed(tensors, "x")
    assert (block.cell, block.cells, tensor.span, tensor.strides) == (2, 8, 4, (4,))


def test_a_copy_on_write_storage_stays_shared() -> None:
    x = torch.ones(3)
    y = x._lazy_clone()
    tensors = concluded(x=x, y=y)
    assert torch._C._is_cow_tensor(x)
    assert torch._C._is_cow_tensor(y)
    assert is_so.SharesUntilWritten(other="x") in facts_of(tensors, "y")
    assert tensors.answers == (), "a write makes a copy first"


def test_meta_and_fake_tensors_have_no_bytes() -> None:
    from torch._subclasses import FakeTensorMode

    x = torch.empty(3, 4, device="meta")
    tensors = concluded(x=x, t=x.t())
    assert is_so.NoMemory() in facts_of(tensors, "x")
    assert not tensors.blocks[0].has_memory
    with FakeTensorMode():
        fake = torch.empty(2, 3)
    assert is_so.FakeDevice(device="cpu") in facts_of(concluded(f=fake), "f")


def test_a_huge_tensor_is_only_described() -> None:
    x = torch.empty(10**9, device="meta")
    tensors = concluded(x=x, v=x[::2], w=x[5:])
    assert tensors.blocks[0].cells == 10**9
    assert is_so.MayWrite(other="w") in tensors.answers[-2].facts


def test_sparse_tensors_consist_of_others() -> None:
    for layout, names in (
        (torch.sparse_coo, ("._indices()", "._values()")),
        (torch.sparse_csr, (".crow_indices()", ".col_indices()", ".values()")),
    ):
        tensors = concluded(s=torch.eye(3).to_sparse(layout=layout))
        assert [tensor.seen.name for tensor in tensors.tensors] == ["s", *(f"s{name}" for name in names)]
        assert facts_of(tensors, "s") == (
            is_so.OtherLayout(layout=str(layout).removeprefix("torch."), parts=len(names)),
        )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nested_tensors_lie_in_one_storage() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    tensors = concluded(n=nested)
    assert facts_of(tensors, "n")[0] == is_so.OfNestedTensors(parts=2)
    assert placed(tensors, "n[1]")[1].start == 6
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    parts = [tensor.seen.name for tensor in concluded(j=jagged).tensors]
    assert parts[:3] == ["j", "j._values", "j._offsets"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantized_and_negative_and_conjugate() -> None:
    q = torch.quantize_per_tensor(torch.ones(2), 0.5, 3, torch.quint8)
    assert is_so.QuantizedBy(quantizer="per_tensor_affine, scale 0.5, zero point 3") in facts_of(concluded(q=q), "q")
    c = torch.ones(2, dtype=torch.complex64).conj()
    tensors = concluded(c=c, i=c.imag)
    assert is_so.ConjugateBit() in facts_of(tensors, "c")
    assert is_so.NegativeBit() in facts_of(tensors, "i")


def test_a_freed_storage_is_said_to_be_too_small() -> None:
    x = torch.ones(3)
    x.untyped_storage().resize_(0)
    assert is_so.PastStorage(needed=12, bytes=0) in facts_of(concluded(x=x), "x")
    assert concluded(x=x).blocks == ()


def test_one_tensor_with_two_names_is_drawn_once() -> None:
    x = torch.ones(3)
    tensors = concluded(x=x, y=x)
    assert facts_of(tensors, "y") == (is_so.SameTensor(other="x"),)
    assert len(tensors.blocks[0].tensors) == 1


def test_a_leaf_that_requires_grad_refuses_writes() -> None:
    x = torch.ones(4, requires_grad=True)
    answer = concluded(x=x, v=x.detach()[1:]).answers[0]
    assert (answer.method, answer.facts[0]) == ("", is_so.GradRefusesWrites(objection="leaf"))
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)


class Passes(torch.autograd.Function):
    """Returns a view of its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view(-1)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0].view(4, 3)


def viewed(base: Any, mode: Any, view: str) -> Any:
    with mode():
        made = eval(view, {"x": base, "Passes": Passes})
    return made[0] if isinstance(made, (tuple, list)) else made


@pytest.mark.filterwarnings("ignore")
def test_autograd_objects_to_a_write_if_it_is_said_to_object() -> None:
    """Against the error of add_, for each way to make a tensor, each view of it, and each mode around the view."""
    bases = {
        "leaf": lambda: torch.ones(4, 3, requires_grad=True),
        "no leaf": lambda: torch.ones(4, 3, requires_grad=True) * 2,
        "no grad": lambda: torch.ones(4, 3),
        "detached": lambda: torch.ones(4, 3, requires_grad=True).detach(),
        "view that became a leaf": lambda: torch.ones(2, 4, 3)[0].requires_grad_(requires_grad=True),
        "made in inference mode": lambda: viewed(torch.ones(4, 3), torch.inference_mode, "x + 1"),
    }
    views = ("x", "x.t()", "x[1:]", "x.chunk(2)", "x.unbind()", "x.view(-1)", "x.detach()", "x.data", "x.split(2)",
             "x * 2", "Passes.apply(x)", "x.t()[1:]", "x.chunk(2)[0].t()")  # fmt: skip
    words = {"leaf": "a leaf Variable", "view-of-leaf": "a view of a leaf", "no-grad-view": "no_grad mode",
             "inference-view": "inference mode", "one-of-several": "multiple views", "inference": "InferenceMode",
             "custom-view": "custom Function"}  # fmt: skip
    compared: set[str | None] = set()
    for name, make in bases.items():
        for view in views:
            for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
                tensor = viewed(make(), mode, view)
                objection = seen(x=tensor).tensors[0].objection
                try:
                    tensor.add_(1)
                    error = ""
                except RuntimeError as raised:
                    error = str(raised)
                assert (objection is None) == (not error), (name, view, mode, objection, error)
                assert objection is None or words[objection] in error, (name, view, mode, objection, error)
                compared.add(objection)
    assert compared >= {*words, None} - {"inference-view", "custom-view"}


def test_reading_changes_nothing() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    before = (x._version, y._version, y.grad_fn, torch.get_rng_state().tolist())
    seen(x=x, y=y, v=y[1:])
    assert (x._version, y._version, y.grad_fn, torch.get_rng_state().tolist()) == before
