"""The tables of messages: each row has an error that torch raises here, or a line as another machine prints it.

No row may recognise the error of another row.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ptexplore.facts.messages import INTERPRETERS, MESSAGES
from ptexplore.facts.messages_of_kinds import OF_KINDS
from ptexplore.facts.messages_of_python import OF_PYTHON
from ptexplore.resolve.causes import MEMORY_FULL, MEMORY_SPLIT, cause_of
from ptexplore.view.words.causes import ENGLISH, explained
from tests.unit.resolve.test_causes import RAISING

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
ones, zeros, tensor = torch.ones, torch.zeros, torch.tensor


def leaf() -> Any:
    return ones(3, requires_grad=True)


class OneGradient(torch.autograd.Function):  # type: ignore[misc, name-defined]
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return (gradient,)


class Old(torch.autograd.Function):  # type: ignore[misc, name-defined]
    def forward(self, x: Any) -> Any:
        return x


class Early(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        self.weight = nn.Parameter(ones(2))


class Parted(nn.Module):  # type: ignore[misc, name-defined]
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


def packed(lengths: Any) -> Any:
    return nn.utils.rnn.pack_padded_sequence(ones(3, 2, 1), lengths)


def assigned(module: Any, name: str, value: Any) -> None:
    setattr(module, name, value)


def set_at(x: Any, index: Any, value: Any) -> None:
    x[index] = value


def with_grad(x: Any, gradient: Any) -> None:
    x.grad = gradient


def unscaled_twice() -> None:
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD([leaf()], 0.1)
    scaler.scale(leaf().sum())
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def no_inf_checks() -> None:
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD([leaf()], 0.1)
    scaler.scale(leaf().sum())
    scaler.step(optimizer)


def scaled_and_updated() -> None:
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(leaf().sum())
    scaler.update()


def unassigned() -> Any:
    for value in ():
        given = value
    return given


def endless() -> Any:
    return endless()


def with_condition(x: list[int]) -> list[int]:
    return [number for number in x if number > 0]


def half_gradients() -> None:
    weight = ones(2, dtype=torch.half, requires_grad=True)
    weight.grad = ones(2, dtype=torch.half)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(leaf().sum())
    scaler.unscale_(torch.optim.SGD([weight], 0.1))


def of_another_optimizer() -> None:
    state = torch.optim.SGD([leaf()], 0.1).state_dict()
    torch.optim.SGD([leaf(), leaf()], 0.1).load_state_dict(state)


def autocast_bce() -> None:
    with torch.autocast("cuda" if torch.cuda.is_available() else "cpu"):
        torch.autocast_increment_nesting()
        F.binary_cross_entropy(ones(2), ones(2))


def checkpointed(**options: Any) -> Any:
    from torch.utils.checkpoint import checkpoint

    plain: Any = getattr(checkpoint, "__wrapped__", checkpoint)
    return plain(lambda x: x * 2, **options)


def from_reentrant() -> None:
    from torch.utils.checkpoint import checkpoint

    plain: Any = getattr(checkpoint, "__wrapped__", checkpoint)
    x = leaf()
    torch.autograd.grad(plain(lambda x: x * 2, x, use_reentrant=True).sum(), x)


def from_no_grad() -> None:
    from torch.utils.checkpoint import checkpoint

    plain: Any = getattr(checkpoint, "__wrapped__", checkpoint)
    plain(lambda x: x * 2, ones(2), use_reentrant=True)


def warned(function: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function()


def scheduled_first() -> None:
    optimizer = torch.optim.SGD([leaf()], 0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    warned(scheduler.step)


def module(path: str) -> Any:
    return import_module(path)


def loaded(content: bytes, folder: str = "/tmp") -> None:
    file = Path(folder) / f"of-test-{os.getpid()}"
    file.write_bytes(content)
    try:
        torch.load(file, weights_only=False)
    finally:
        file.unlink()


def saved_and_loaded(content: Any) -> None:
    file = io.BytesIO()
    torch.save(content, file)
    file.seek(0)
    torch.load(file, weights_only=True)


def grouped_twice() -> None:
    from torch.distributed import HashStore, destroy_process_group, init_process_group

    try:
        for _ in range(2):
            init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    finally:
        destroy_process_group()


def frozen_in_parallel() -> None:
    from torch.distributed import HashStore, destroy_process_group, init_process_group

    init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        nn.parallel.DistributedDataParallel(nn.ReLU())
    finally:
        destroy_process_group()


def without_rank() -> None:
    from torch.distributed import init_process_group

    init_process_group("gloo")


def collated(batch: list[Any]) -> Any:
    return module("torch.utils.data").default_collate(batch)


def from_array(make: Callable[[Any], Any]) -> Any:
    return make(pytest.importorskip("numpy"))


def tracing_branch() -> None:
    module("torch.fx").symbolic_trace(Parted())


def leaf_written() -> None:
    weight = leaf()
    loss = (weight * weight).sum()
    with torch.no_grad():
        weight.add_(1)
    loss.backward()


def without_a_deterministic_kernel() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        ones(3).put_(tensor([0]), ones(1))
    finally:
        torch.use_deterministic_algorithms(False)


def loader(**options: Any) -> Any:
    return torch.utils.data.DataLoader([1, 2], **options)


def of_any_number(x: Any, *others: Any) -> Any:
    return x


def traced_with_grad() -> None:
    weight = leaf()
    torch.jit.trace(lambda x: x * weight, ones(3))


def traced_with_a_length() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", torch.jit.TracerWarning)
        torch.jit.trace(lambda x: x * len(x), ones(2))


def parallel_of_two_devices() -> None:
    from torch.distributed import HashStore, destroy_process_group, init_process_group

    init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta")))
    finally:
        destroy_process_group()


class Same(torch.autograd.Function):  # type: ignore[misc, name-defined]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


class WithPlainObject(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.plain = object()

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        return x if self.plain is None else x + 1


def view_of_function() -> None:
    Same.apply(leaf() * 2).add_(1)


def plus_one(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return x + 1


def with_wrong_arguments(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return torch.cat(x, "a", "b")


def istft_with_gaps() -> Any:
    window = torch.hann_window(8)
    spectrum = torch.stft(ones(64), 8, 8, window=window, return_complex=True)
    return torch.istft(spectrum, 8, 8, window=window)


def resumed(last_epoch: int) -> Any:
    return torch.optim.lr_scheduler.StepLR(torch.optim.SGD([leaf()], 0.1), 1, last_epoch=last_epoch)


def never_scaled() -> None:
    torch.amp.GradScaler("cpu").unscale_(torch.optim.SGD([leaf()], 0.1))


def child_failed(code: int) -> Exception:
    errors = module("torch.distributed.elastic.multiprocessing.errors")
    failed: Exception = errors.ChildFailedError("train.py", {0: errors.ProcessFailure(0, 71, code, "<N/A>")})
    return failed


def raised(error: Exception) -> None:
    raise error


class NotIndexed:
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: object) -> object:
        raise KeyError(index)


class SavesNumber(torch.autograd.Function):  # type: ignore[misc, name-defined]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(3)
        return x


class NoBackward(torch.autograd.Function):  # type: ignore[misc, name-defined]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


class GivesNumber(NoBackward):
    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return 1.0


class WrongValue(NoBackward):
    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 5


class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
    def __iter__(self) -> Any:
        return iter([])


class Chosen(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.ReLU()])

    def forward(self, x: torch.Tensor, which: int) -> torch.Tensor:  # type: ignore[name-defined]
        return self.layers[which](x)  # type: ignore[no-any-return]


def retyped(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    if bool(x.sum() > 0):  # noqa: SIM108 - TorchScript names the branches
        y = 1
    else:
        y = x
    return y


def with_try(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    try:
        return x
    except ValueError:
        return x


def of_unknown(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return vars(x)


def of_no_attribute(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return x.nothing_of_that_name()


def of_two_results(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return x, x


OUTSIDE = {"bias": 1}


def of_global(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return x + OUTSIDE["bias"]


class Refusing:
    @classmethod
    def __torch_function__(cls, *_arguments: Any) -> Any:
        return NotImplemented


class WithoutAttribute(nn.Module):  # type: ignore[misc, name-defined]
    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        return x + self.nothing


class OfPlainList(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.ReLU()]

    def forward(self, x: Any) -> Any:
        return self.layers[0](x)


class WithoutBatches(torch.autograd.Function):  # type: ignore[misc, name-defined]
    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass


def itself(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return x


def custom(function: Callable[[Any], Any]) -> Any:
    return torch.library.custom_op(f"of_messages::{function.__name__}", mutates_args=())(function)


def of_fake(function: Callable[[Any], Any]) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return function(ones(2))


def plain_copy(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return x.clone()


def uncapturable_cond() -> Any:
    lines: list[str] = []

    def changing(x: Any) -> Any:
        lines.append("x")
        return x.neg() if len(lines) > 1 else x.item()

    return torch.compile(lambda x: torch.cond(x.sum() > 0, changing, lambda x: x.neg(), (x,)), backend="eager")(ones(3))


def signed_activations() -> Any:
    weight = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(ones(2, 2), 0.1, 0, torch.qint8), None)
    return torch.ops.quantized.linear(torch.quantize_per_tensor(ones(2, 2), 0.1, 0, torch.qint8), weight, 1.0, 0)


def unsigned_weights() -> Any:
    quantization = torch.ao.quantization
    model = nn.Sequential(nn.Linear(2, 2)).eval()
    observer = quantization.default_observer
    model.qconfig = quantization.QConfig(activation=observer, weight=observer)
    return quantization.convert(quantization.prepare(model))


def exported() -> Any:
    return torch.export.export(nn.Linear(2, 2), (ones(2, 2),))


def by_wrong_name() -> Any:
    return torch.export.export(nn.Linear(2, 2), (ones(2, 2),), dynamic_shapes={"x": {0: torch.export.Dim("batch")}})


def csr(*sizes: int) -> Any:
    return ones(*sizes).to_sparse_csr()


def twice_defined() -> None:
    first, second = (torch.library.Library("twice_defined_here", "FRAGMENT") for _ in range(2))
    first.define("same(Tensor x) -> Tensor")
    second.define("same(Tensor x) -> Tensor")


def jagged() -> Any:
    return torch.nested.nested_tensor([ones(2, 3), ones(4, 3)], layout=torch.jagged)


def unlike_nested() -> Any:
    return jagged() + jagged()


def grad_in_hooks() -> None:
    with torch.autograd.graph.save_on_cpu():
        torch.func.grad(lambda x: x.sum())(ones(2))


def stepped_too_often() -> None:
    optimizer = torch.optim.SGD([leaf()], 0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
    for _ in range(4):
        optimizer.step()
        scheduler.step()


def sparse_gradient(optimizer: Any) -> None:
    embedding = nn.Embedding(3, 2, sparse=True)
    embedding(tensor([0])).sum().backward()
    optimizer(embedding.parameters()).step()


def dense_gradient() -> None:
    weight = leaf()
    weight.sum().backward()
    torch.optim.SparseAdam([weight]).step()


def call(value: Any) -> Any:
    return value()


def backward_of(value: Any) -> Any:
    return value.backward()


def first_of(value: Any) -> Any:
    return value[0]


def three_of(values: Any) -> Any:
    first, second, third = values
    return first, second, third


def saved_file() -> io.BytesIO:
    file = io.BytesIO()
    torch.save(ones(2), file)
    file.seek(0)
    return file


BCE = F.binary_cross_entropy
RAISED: dict[str, Callable[[], Any]] = {
    "index-dtype": lambda: ones(3)[ones(2)],
    "too-many-indices": lambda: ones(3)[0, 0],
    "mask-shape": lambda: ones(3)[ones(2).bool()],
    "indices-not-broadcast": lambda: ones(3, 3)[tensor([0, 1]), tensor([0, 1, 2])],
    "value-not-broadcast": lambda: set_at(ones(3), tensor([0, 1]), ones(3)),
    "number-indexed": lambda: tensor(1.0)[0],
    "index-not-int64": lambda: ones(2, 2).gather(0, ones(1, 1)),
    "gather-sizes": lambda: ones(2, 2).gather(0, zeros(1, 3).long()),
    "permute-dimensions": lambda: ones(2, 2).permute(0),
    "expand-fewer": lambda: ones(2, 2).expand(2),
    "repeat-fewer": lambda: ones(2, 2).repeat(2),
    "split-sum": lambda: ones(5).split([2, 2]),
    "two-inferred": lambda: ones(6).view(-1, -1),
    "empty-inferred": lambda: ones(0, 2).view(-1, 0),
    "slice-too-long": lambda: ones(3).narrow(0, 2, 2),
    "selected-out-of-range": lambda: ones(3).select(0, 5),
    "k-too-large": lambda: ones(3).topk(4),
    "nothing-to-join": lambda: torch.stack([]),
    "joined-dimensions": lambda: torch.cat([ones(2, 2), ones(2)]),
    "t-of-many": lambda: ones(2, 2, 2).t(),
    "not-a-matrix": lambda: ones(2).mm(ones(2, 2)),
    "not-a-batch-of-matrices": lambda: ones(2, 2).bmm(ones(2, 2)),
    "not-vectors": lambda: ones(2, 2).dot(ones(2)),
    "negative-size": lambda: ones(-1),
    "outside-of-storage": lambda: ones(2).as_strided((5,), (1,)),
    "padding-too-large": lambda: F.pad(ones(1, 1, 2), (3, 3), mode="reflect"),
    "sizes-of-interpolation": lambda: F.interpolate(ones(1, 1, 2), size=0),
    "iterated-number": lambda: list(tensor(1.0)),
    "argument-class": lambda: nn.Linear(2, 2)((ones(2), ones(2))),
    "wrong-arguments": lambda: torch.max(ones(2), "a", 3),
    "list-of-others": lambda: torch.cat([1, 2]),
    "ragged": lambda: tensor([[1, 2], [3]]),
    "of-strings": lambda: tensor(["a"]),
    "array-of-objects": lambda: from_array(lambda numpy: torch.from_numpy(numpy.array([None]))),
    "numpy-strides": lambda: from_array(lambda numpy: torch.from_numpy(numpy.ones(3)[::-1])),
    "not-an-array": lambda: torch.from_numpy([1, 2]),
    "bools-subtracted": lambda: ones(2).bool() - ones(2).bool(),
    "bools-negated": lambda: -ones(2).bool(),
    "number-overflows": lambda: ones(2).half().masked_fill(ones(2).bool(), -1e9),
    "put-dtypes": lambda: set_at(ones(3), tensor([0]), ones(1).double()),
    "scatter-dtypes": lambda: ones(2, 2).scatter(0, zeros(1, 1).long(), ones(1, 1).double()),
    "index-add-dtypes": lambda: ones(3).index_add(0, tensor([0]), ones(1).double()),
    "lerp-dtypes": lambda: ones(2).lerp(ones(2).double(), 0.5),
    "several-as-number": lambda: tensor([ones(2)]),
    "rnn-input-size": lambda: nn.RNN(3, 2)(ones(1, 4)),
    "hidden-size": lambda: nn.RNN(3, 2)(ones(1, 1, 3), ones(2, 1, 2)),
    "lengths-on-cpu": lambda: packed(ones(2, device="meta").long()),
    "lengths-sorted": lambda: packed(tensor([1, 2])),
    "heads-divide": lambda: nn.MultiheadAttention(5, 2),
    "embedding-dimension": lambda: nn.MultiheadAttention(4, 2)(*[ones(1, 1, 6)] * 3),
    "normalized-shape": lambda: nn.LayerNorm(3)(ones(2, 4)),
    "groups-divide": lambda: F.group_norm(ones(1, 3, 2), 2),
    "features-of-norm": lambda: nn.BatchNorm1d(3)(ones(2, 4)),
    "dimensions-of-norm": lambda: nn.BatchNorm2d(3)(ones(2, 3)),
    "probabilities-of-bce": lambda: BCE(ones(2) * 2, ones(2)),
    "target-size": lambda: F.binary_cross_entropy_with_logits(ones(2, 1), ones(2)),
    "several-targets": lambda: F.nll_loss(ones(2, 3), zeros(2, 1).long()),
    "one-hot-dtype": lambda: F.one_hot(ones(2)),
    "one-hot-classes": lambda: F.one_hot(tensor([5]), 3),
    "parameter-expected": lambda: assigned(nn.Linear(2, 2), "weight", ones(2, 2)),
    "module-not-begun": Early,
    "no-forward": lambda: nn.ModuleList()(ones(2)),
    "module-attribute": lambda: nn.Linear(2, 2).nothing,
    "grad-output-shape": lambda: leaf().exp().backward(ones(2)),
    "number-of-gradients": lambda: OneGradient.apply(leaf(), leaf()).sum().backward(),
    "old-function": lambda: Old()(ones(2)),
    "hook-without-grad": lambda: ones(2).register_hook(print),
    "grad-of-result": lambda: warned(lambda: (leaf() * 2).grad),
    "assigned-grad": lambda: with_grad(leaf(), ones(3).double()),
    "optimizes-result": lambda: torch.optim.SGD([leaf() * 2], 0.1),
    "parameter-twice": lambda: torch.optim.SGD([{"params": [x := leaf()]}, {"params": [x]}], 0.1),
    "optimizer-state": of_another_optimizer,
    "no-inf-checks": no_inf_checks,
    "unscaled-twice": unscaled_twice,
    "half-gradients": half_gradients,
    "scheduler-first": scheduled_first,
    "reentrant-without-grad": lambda: warned(from_no_grad),
    "reentrant-inputs": from_reentrant,
    "invalid-distribution": lambda: torch.distributions.Normal(tensor(float("nan")), 1.0),
    "svd-not-converged": lambda: torch.linalg.svd(tensor([[float("nan")] * 2] * 2)),
    "device-name": lambda: torch.device("gpu"),
    "cpu-memory": lambda: torch.empty(1 << 60, dtype=torch.uint8),
    "size-overflows": lambda: torch.empty(1 << 62, 1 << 62),
    "collate-class": lambda: collated([None]),
    "collate-lengths": lambda: collated([[1, 2], [1]]),
    "no-samples": lambda: torch.utils.data.DataLoader([], shuffle=True),
    "weights-only-class": lambda: saved_and_loaded(Parted()),
    "zip-broken": lambda: loaded(b"PK\x03\x04" + bytes(100)),
    "file-broken": lambda: loaded(b"version https://git-lfs"),
    "no-rank-given": without_rank,
    "group-twice": grouped_twice,
    "nothing-parallel": frozen_in_parallel,
    "vmap-random": lambda: torch.vmap(lambda x: x + torch.rand(2))(ones(3, 2)),
    "vmap-sizes": lambda: torch.vmap(torch.add)(ones(2), ones(3)),
    "grad-of-many": lambda: torch.func.grad(torch.exp)(ones(2)),
    "requires-grad-in-transform": lambda: torch.func.grad(lambda x: x.requires_grad_().sum())(ones(2)),
    "traced-branch": tracing_branch,
    "stft-complex": lambda: torch.stft(ones(8), 4),
    "saved-leaf-written": leaf_written,
    "nested-sizes": lambda: torch.nested.nested_tensor([ones(2), ones(3)]).stride(),
    "not-square": lambda: torch.linalg.inv(ones(2, 3)),
    "output-padding": lambda: F.conv_transpose2d(ones(1, 1, 3, 3), ones(1, 1, 2, 2), stride=2, output_padding=2),
    "no-offsets": lambda: F.embedding_bag(tensor([0, 1]), ones(3, 2)),
    "mapped-result": lambda: torch.vmap(lambda x: 1.0)(ones(3)),
    "sparse-size": lambda: torch.sparse_coo_tensor(tensor([[0, 5]]), ones(2), (2,), check_invariants=True),
    "quantized-dtype": lambda: torch.quantize_per_tensor(ones(2).long(), 1.0, 0, torch.quint8),
    "quantized-operator": lambda: torch.ops.quantized.add(ones(2), ones(2), 1.0, 0),
    "quantized-tensor": lambda: torch.quantize_per_tensor(ones(2), 1.0, 0, torch.quint8).exp(),
    "backward-from-complex": lambda: ones(2, dtype=torch.complex64, requires_grad=True).sum().backward(),
    "not-deterministic": without_a_deterministic_kernel,
    "sampler-and-shuffle": lambda: loader(sampler=[0], shuffle=True),
    "prefetch-without-workers": lambda: loader(prefetch_factor=2),
    "state-dict-class": lambda: nn.Linear(2, 2).load_state_dict("model.pt"),
    "script-arguments": lambda: torch.jit.script(of_any_number),
    "traced-with-grad": traced_with_grad,
    "operator-missing": lambda: torch._C._dispatch_has_kernel_for_dispatch_key("ours::none", "CPU"),
    "parallel-devices": parallel_of_two_devices,
    "torch-lacks": lambda: torch.nothing,
    "none-attribute": lambda: leaf().grad.shape,
    "one-spatial-value": lambda: nn.InstanceNorm1d(3)(ones(1, 3, 1)),
    "target-shape": lambda: F.cross_entropy(ones(2, 3, 4), zeros(2, 5).long()),
    "class-weights": lambda: F.cross_entropy(ones(2, 3), zeros(2).long(), weight=ones(2)),
    "mask-of-attention": lambda: nn.MultiheadAttention(4, 2)(*[ones(3, 1, 4)] * 3, attn_mask=ones(2, 2)),
    "transformer-sizes": lambda: nn.Transformer(4, 2, 1, 1)(ones(2, 1, 4), ones(2, 2, 4)),
    "rnn-dimensions": lambda: nn.RNN(3, 2)(ones(1, 1, 1, 3)),
    "empty-sequence": lambda: packed(tensor([1, 0])),
    "padding-index": lambda: nn.Embedding(3, 2, padding_idx=5),
    "empty-reduction": lambda: ones(0).max(),
    "quantile-too-large": lambda: ones(1).expand(17_000_000).quantile(0.5),
    "no-storage-of": lambda: ones(2, 2).to_sparse().untyped_storage(),
    "data-of-another-class": lambda: assigned(ones(2, 2), "data", ones(2, 2).to_sparse()),
    "view-of-function": view_of_function,
    "ctc-lengths": lambda: F.ctc_loss(ones(2, 1, 3), zeros(1, 1).long(), tensor([5]), tensor([1])),
    "script-class": lambda: torch.jit.script(plus_one)(3),
    "script-call": lambda: torch.jit.script(with_wrong_arguments),
    "script-attribute": lambda: torch.jit.script(WithPlainObject()),
    "trace-fixes-value": traced_with_a_length,
    "view-of-dtype": lambda: ones(4, 2).t().view(torch.float64),
    "no-dtype-for": lambda: tensor([None]),
    "weight-dimensions": lambda: F.conv2d(ones(1, 1, 3, 3), ones(3)),
    "attention-dtypes": lambda: F.scaled_dot_product_attention(ones(1, 2, 4).half(), ones(1, 2, 4), ones(1, 2, 4)),
    "norm-dtypes": lambda: F.layer_norm(ones(2, 4).bfloat16(), (4,), ones(4).half(), ones(4).half()),
    "quantile-dtype": lambda: ones(3).half().quantile(0.5),
    "size-called": lambda: ones(3).shape(),
    "complex-pairs": lambda: torch.view_as_complex(ones(3, 3)),
    "pooled-input": lambda: F.max_pool2d(ones(2, 2), 2),
    "grid-batch": lambda: F.grid_sample(ones(4, 3, 8, 8), ones(1, 8, 8, 2), align_corners=True),
    "pixel-shuffle": lambda: F.pixel_shuffle(ones(1, 3, 2, 2), 2),
    "fold-channels": lambda: F.fold(ones(1, 10, 4), (4, 4), (3, 3)),
    "distance-columns": lambda: torch.cdist(ones(2, 3), ones(2, 4)),
    "clamp-without-bounds": lambda: torch.clamp(ones(2)),
    "mask-dtype": lambda: ones(2).masked_fill_(ones(2).int(), 0),
    "module-name": lambda: nn.Module().add_module("a.b", nn.ReLU()),
    "module-name-taken": lambda: nn.Module().add_module("forward", nn.ReLU()),
    "resize-with-grad": lambda: (leaf() * 1).resize_(4),
    "uncoalesced": lambda: torch.sparse_coo_tensor(zeros(1, 2).long(), ones(2), (2,)).indices(),
    "padding-dimensions": lambda: F.pad(ones(3, 3), (1, 1, 1, 1), mode="reflect"),
    "unfold-size": lambda: ones(2, 3, 5).unfold(2, 7, 1),
    "not-close": lambda: torch.testing.assert_close(ones(2), zeros(2)),
    "contained-class": lambda: "a" in ones(2),
    "window-gaps": istft_with_gaps,
    "resumed-without-rate": lambda: resumed(5),
    "never-scaled": never_scaled,
    "sampler-rank": lambda: torch.utils.data.DistributedSampler([1], num_replicas=2, rank=2),
    "child-signal": lambda: raised(child_failed(-9)),
    "child-failed": lambda: raised(child_failed(1)),
    "no-inf-checks-before-update": scaled_and_updated,
    "script-arguments-count": lambda: torch.jit.script(plus_one)(ones(1), 2, 3),
    "batch-mode-input": lambda: F.pad(ones(1, 1, 0), (2, 2), mode="reflect"),
    "same-padding-stride": lambda: nn.Conv2d(1, 1, 3, stride=2, padding="same"),
    "pooled-empty": lambda: F.adaptive_avg_pool2d(ones(1, 1, 0, 4), 2),
    "integer-power": lambda: tensor([2]) ** -1,
    "grad-without-inputs": lambda: torch.autograd.grad(leaf().sum(), []),
    "vmap-of-plain-value": lambda: torch.vmap(lambda x, y: x * y)(ones(2), 3),
    "comprehension-conditions": lambda: torch.jit.script(with_condition),
    "copied-parameter": lambda: nn.Linear(2, 2, device="meta").load_state_dict({"weight": [1], "bias": ones(2)}),
    "split-by-list": lambda: F.embedding_bag(tensor([0, 1]), ones(3, 2), tensor([1])),
    "bag-index": lambda: F.embedding_bag(tensor([5]), ones(3, 2), tensor([0])),
    "alpha-of-integers": lambda: torch.add(tensor([1]), tensor([1]), alpha=0.5),
    "selected-from-number": lambda: tensor(3).select(0, 0),
    "loader-without-batches": lambda: torch.utils.data.DataLoader([1], batch_size=None, drop_last=True),
    "learning-rate-tensor": lambda: torch.optim.Adam([leaf()], lr=tensor(0.1), foreach=True),
    "lbfgs-groups": lambda: torch.optim.LBFGS([{"params": [leaf()]}, {"params": [leaf()]}]),
    "number-of-object": lambda: float(None),
    "math-domain": lambda: import_module("math").sqrt(-1.0),
    "divided-by-zero": lambda: 1 // len([]),
    "name-undefined": lambda: eval("undefined_name"),
    "name-unassigned": unassigned,
    "key-missing": lambda: {}["no such key"],
    "recursion": endless,
    "unhashable": lambda: {[]: 1},
    "index-of-list": lambda: [1].__getitem__("a"),
    "text-as-number": lambda: float("a"),
    "compared-classes": lambda: sorted(["a", 1]),  # type: ignore[list-item, type-var]
    "cell-input-size": lambda: nn.LSTMCell(3, 4)(ones(2, 5)),
    "cell-batch": lambda: nn.GRUCell(3, 4)(ones(2, 3), ones(3, 4)),
    "contracted-sizes": lambda: torch.tensordot(ones(2, 3), ones(2, 3), dims=1),
    "einsum-equation": lambda: torch.einsum("ij,jk->ik", ones(2, 3)),
    "norm-without-statistics": lambda: F.batch_norm(ones(2, 3), None, None, training=False),
    "pooled-volume": lambda: F.avg_pool3d(ones(1, 1, 2, 2, 2), 5),
    "kth-out-of-range": lambda: ones(3).kthvalue(5),
    "quantile-of-nothing": lambda: ones(0).quantile(0.5),
    "reduce-name": lambda: ones(2).scatter_reduce(0, zeros(2).long(), ones(2), "avg"),
    "fft-of-nothing": lambda: torch.fft.fft(ones(0)),
    "rnn-weight-dtype": lambda: nn.LSTM(3, 4)(ones(5, 2, 3).double()),
    "rnn-without-steps": lambda: nn.RNN(3, 4)(ones(0, 2, 3)),
    "inner-sizes": lambda: torch.inner(ones(2, 3), ones(2, 4)),
    "weight-by-groups": lambda: F.conv2d(ones(1, 4, 4, 4), ones(4, 2, 1, 1), groups=3),
    "group-norm-channels": lambda: nn.GroupNorm(2, 4)(ones(1, 6, 2)),
    "padding-mask-shape": lambda: nn.MultiheadAttention(4, 2)(
        ones(2, 3, 4), ones(2, 3, 4), ones(2, 3, 4), key_padding_mask=ones(2, 2).bool()
    ),
    "dims-in-order": lambda: ones(2, 3).flatten(1, 0),
    "indices-for-source": lambda: ones(3).index_add(0, tensor([0, 1]), ones(3)),
    "cross-of-three": lambda: torch.linalg.cross(ones(2, 4), ones(2, 4)),
    "grid-last-size": lambda: F.grid_sample(ones(1, 1, 2, 2), ones(1, 2, 2, 3), align_corners=False),
    "affine-theta": lambda: F.affine_grid(ones(1, 2, 2), (1, 1, 2, 2), align_corners=False),
    "unpool-indices": lambda: F.max_unpool2d(ones(1, 1, 2, 2), zeros(1, 1, 3, 3).long(), 2),
    "fold-blocks": lambda: F.fold(ones(1, 4, 5), (4, 4), 2),
    "prelu-weight": lambda: F.prelu(ones(1, 3), ones(2)),
    "istft-of-real": lambda: torch.istft(ones(3, 3), 8, window=ones(8)),
    "optimizer-of-tensor": lambda: torch.optim.SGD(ones(2), 0.1),
    "scheduler-of-what": lambda: torch.optim.lr_scheduler.StepLR(1, 2),
    "buffer-name": lambda: nn.Module().register_buffer("a.b", ones(2)),
    "log-prob-of-number": lambda: torch.distributions.Normal(0.0, 1.0).log_prob(1),
    "event-size": lambda: torch.distributions.Normal(zeros(3), ones(3)).log_prob(ones(2)),
    "storage-of-dtype": lambda: ones(3).set_(ones(2).double()),
    "unique-of-nothing": lambda: ones(0, 3).unique(dim=1),
    "searched-shape": lambda: torch.searchsorted(ones(2, 3), ones(3, 3)),
    "matrix-only": lambda: ones(3).tril(),
    "shifts-for-dims": lambda: ones(2, 2).roll((1, 2), 0),
    "backend-unknown": lambda: torch.compile(lambda x: x, backend="no_such_backend")(ones(2)),
    "script-file": lambda: torch.jit.load("/no/such/file.pt"),
    "matrix-rows": lambda: torch.linalg.lstsq(ones(2, 3), ones(4, 1)),
    "forward-gradient-size": lambda: torch.func.jvp(torch.sin, (ones(2),), (ones(3),)),
    "gather-dimensions": lambda: ones(2, 2).gather(0, zeros(1).long()),
    "unflatten-sizes": lambda: ones(2, 7).unflatten(1, (2, 3)),
    "number-joined": lambda: torch.cat([tensor(1.0), tensor(2.0)]),
    "batch-counts": lambda: torch.addbmm(ones(2, 2), ones(3, 2, 2), ones(4, 2, 2)),
    "vector-sizes": lambda: ones(5).dot(ones(4)),
    "addmv-dimensions": lambda: ones(2, 2, 2).mv(ones(2)),
    "einsum-subscripts": lambda: torch.einsum("ij->i", ones(2, 2, 2)),
    "linalg-dtype": lambda: torch.linalg.slogdet(ones(2, 2).half()),
    "sampled-too-many": lambda: torch.multinomial(ones(2), 3),
    "nothing-to-sample": lambda: torch.multinomial(zeros(2), 1, replacement=True),
    "probabilities-dimensions": lambda: torch.multinomial(ones(1, 2, 2), 1),
    "negative-deviation": lambda: torch.normal(0.0, -1.0, (2,)),
    "empty-range": lambda: torch.randint(0, 0, (2,)),
    "step-sign": lambda: torch.arange(5, 1, 1),
    "truth-of-none": lambda: bool(ones(0)),
    "dtype-of-numpy": lambda: ones(2).bfloat16().numpy(),
    "byte-order": lambda: from_array(lambda numpy: torch.from_numpy(numpy.ones(2, ">f4"))),
    "shape-of-object": lambda: tensor(NotIndexed()),
    "integer-overflows": lambda: tensor(2**70),
    "step-of-slice": lambda: ones(4)[::-1],
    "assigned-class": lambda: set_at(ones(3), 0, "a"),
    "index-class": lambda: ones(3)[1.5],
    "padding-pairs": lambda: F.pad(ones(3), (1, 1, 1, 1)),
    "double-registration": twice_defined,
    "detached-view": (leaf() * 1)[:2].detach_,
    "function-saved-class": lambda: SavesNumber.apply(leaf()),
    "function-no-backward": lambda: NoBackward.apply(leaf()).sum().backward(),
    "function-gave-class": lambda: GivesNumber.apply(leaf()).sum().backward(),
    "gradient-not-numeric": lambda: torch.autograd.gradcheck(
        WrongValue.apply, ones(2, dtype=torch.double, requires_grad=True)
    ),
    "compressed-layout": lambda: ones(2, 2).to_sparse_csc().crow_indices(),
    "sparse-dimensions": lambda: torch.sparse_coo_tensor(zeros(2, 1).long(), ones(1), (3,)),
    "sparse-indices-shape": lambda: torch.sparse_coo_tensor(zeros(2).long(), ones(2)),
    "sparse-reshape": lambda: ones(2, 2).to_sparse().reshape(4),
    "sparse-added-to": lambda: ones(2).to_sparse() + ones(2),
    "sparse-strides": lambda: ones(2, 2).to_sparse_csr().stride(),
    "nested-pointwise": unlike_nested,
    "nested-view": lambda: jagged().view(-1),
    "fused-in-training": lambda: module("torch.nn.utils.fusion").fuse_conv_bn_eval(
        nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)
    ),
    "transforms-and-hooks": grad_in_hooks,
    "causal-without-mask": lambda: nn.MultiheadAttention(4, 2)(*[ones(3, 1, 4)] * 3, is_causal=True),
    "causal-and-mask": lambda: F.scaled_dot_product_attention(
        *[ones(1, 2, 4)] * 3, attn_mask=ones(2, 2), is_causal=True
    ),
    "attention-mask-dtype": lambda: F.scaled_dot_product_attention(*[ones(1, 2, 4)] * 3, attn_mask=ones(2, 2).long()),
    "probabilities-expected": lambda: F.cross_entropy(ones(2, 3), ones(2, 3).long()),
    "ctc-batch": lambda: F.ctc_loss(ones(2, 3, 3), zeros(3, 1).long(), (2, 2, 2), (1, 1)),
    "ctc-blank": lambda: F.ctc_loss(ones(2, 1, 3), zeros(1, 1).long(), (2,), (1,), blank=5),
    "interpolated-dimensions": lambda: F.interpolate(ones(4, 4), size=2, mode="bilinear"),
    "interpolated-size": lambda: F.interpolate(ones(1, 1, 4), size=(2, 2)),
    "interpolated-twice": lambda: F.interpolate(ones(1, 1, 4), size=2, scale_factor=2),
    "channels-by-groups": lambda: nn.Conv2d(3, 4, 1, groups=2),
    "embedding-weight": lambda: F.embedding(tensor([0]), ones(0)),
    "rendezvous-scheme": lambda: module("torch.distributed").init_process_group(
        "gloo", init_method="ours://x", rank=0, world_size=1
    ),
    "lazy-parameters": lambda: nn.LazyLinear(2).weight.shape,
    "optimizer-class": lambda: torch.optim.SGD(["a"], 0.1),
    "scheduler-over": stepped_too_often,
    "scheduler-steps": lambda: torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD([leaf()], 0.1), 0.1, total_steps=0),
    "sparse-gradients": lambda: sparse_gradient(torch.optim.Adam),
    "dense-gradients": dense_gradient,
    "optimizer-value": lambda: torch.optim.Adam([leaf()], lr=-1.0),
    "nesterov": lambda: torch.optim.SGD([leaf()], 0.1, nesterov=True),
    "storage-tag": lambda: torch.load(saved_file(), map_location="ours"),
    "folder-missing": lambda: torch.save({}, "/nowhere/x.pt"),
    "checkpoint-key": lambda: {}["state_dict"],
    "state-dict-as-module": lambda: nn.Linear(1, 1).state_dict().eval(),
    "iterable-options": lambda: torch.utils.data.DataLoader(Stream(), shuffle=True),
    "split-lengths": lambda: torch.utils.data.random_split([1, 2, 3], [1, 1]),
    "tensors-of-dataset": lambda: torch.utils.data.TensorDataset(ones(2), ones(3)),
    "dataset-without-item": lambda: torch.utils.data.Dataset()[0],
    "no-length": lambda: len(iter([])),
    "argument-missing": nn.Linear(1, 1),
    "arguments-too-many": lambda: nn.Identity.forward(*[ones(1)] * 3),
    "argument-unexpected": lambda: nn.Linear(1, 1, biass=True),
    "value-called": lambda: call(5),
    "value-indexed": lambda: first_of(5),
    "value-iterated": lambda: next(5),
    "unpacked-number": lambda: three_of((1, 2)),
    "module-gone": lambda: module("torch._six"),
    "script-types": lambda: torch.jit.script(retyped),
    "script-statement": lambda: torch.jit.script(with_try),
    "script-python-value": lambda: torch.jit.script(of_unknown),
    "script-module-index": lambda: torch.jit.script(Chosen()),
    "script-no-attribute": lambda: torch.jit.script(of_no_attribute),
    "pooling-padding": lambda: F.max_pool2d(ones(1, 1, 4, 4), 2, padding=2),
    "window-settings": lambda: F.conv2d(ones(1, 1, 4, 4), ones(1, 1, 2, 2), padding=-1),
    "bias-of-convolution": lambda: F.conv2d(ones(1, 1, 4, 4), ones(2, 1, 2, 2), bias=ones(3)),
    "equation-shapes": lambda: torch.linalg.solve(ones(2, 2), ones(3, 2)),
    "floating-only": lambda: ones(2).long().std(),
    "number-has-no-dimension": lambda: tensor(1.0).unbind(0),
    "stft-length": lambda: torch.stft(ones(8), 64, center=False, return_complex=True),
    "halved-odd": lambda: F.glu(ones(3)),
    "dimension-twice": lambda: ones(2, 2).permute(0, 0),
    "random-bounds": lambda: torch.empty(2, dtype=torch.uint8).random_(0, 1000),
    "argument-kind": lambda: torch.randn(2.5),
    "operands": lambda: ones(2) + None,
    "numpy-lacks": lambda: from_array(lambda numpy: numpy.float_of_old),
    "index-of-module": lambda: nn.Sequential(nn.ReLU())[3],
    "attention-dimensions": lambda: nn.MultiheadAttention(4, 2)(ones(3, 1, 4), ones(3, 4), ones(3, 4)),
    "key-and-value": lambda: nn.MultiheadAttention(4, 2)(ones(3, 1, 4), ones(3, 1, 4), ones(2, 1, 4)),
    "dropout-probability": lambda: nn.Dropout(50),
    "initialised-vector": lambda: nn.init.xavier_uniform_(ones(2)),
    "shared-with-grad": lambda: module("torch.multiprocessing.reductions").reduce_tensor(leaf() * 2),
    "mode-and-options": lambda: torch.compile(plus_one, mode="default", options={"trace.enabled": False}),
    "tensor-arguments-of-export": lambda: torch.export.export(nn.ReLU(), ones(2)),
    "dynamic-shapes-structure": lambda: torch.export.export(nn.ReLU(), (ones(2),), dynamic_shapes=({}, None)),
    "folder-given": lambda: raised(IsADirectoryError(21, "Is a directory", "ckpt")),
    "backward-of-object": lambda: backward_of(1.0),
    "loss-object": lambda: backward_of(nn.MSELoss()),
    "fft-dtype": lambda: torch.fft.fft(ones(4).half()),
    "bernoulli-probability": lambda: torch.bernoulli(ones(2), 2.0),
    "zero-point": lambda: torch.fake_quantize_per_tensor_affine(ones(2), 1.0, 300, 0, 255),
    "optimizer-state-key": lambda: {}["param_groups"],
    "dimensions-at-least": lambda: tensor(1.0).chunk(2),
    "list-index": lambda: first_of([]),
    "file-not-found": lambda: Path("/nowhere/x").read_text(),
    "device-placeholder": module("torch._utils")._dummy_type("Stream"),
    "subclasses-refuse": lambda: F.relu(Refusing()),
    "operator-argument": lambda: torch.ops.aten.leaky_relu.default(ones(2), ones(2)),
    "optimizer-parameter": lambda: {}[nn.Parameter(ones(1))],
    "sparse-contiguous": lambda: torch.cat([csr(3, 3), csr(3, 3)]),
    "sparse-view": lambda: csr(3, 3) @ ones(2, 3, 3),
    "coo-expected": lambda: csr(3, 3).coalesce(),
    "sparse-negative-index": lambda: torch.sparse_coo_tensor(tensor([[-1], [0]]), ones(1)),
    "csr-result": lambda: ones(3, 3).to_sparse() * csr(3, 3),
    "csr-of-two": lambda: ones(2, 2, 2).to_sparse(3).to_sparse_csr(),
    "blocks-divide": lambda: csr(3, 3).to_sparse_bsr((2, 2)),
    "sparse-to-numpy": lambda: ones(2, 2).to_sparse().numpy(),
    "sparse-sizes": lambda: torch.sparse.mm(ones(3, 3).to_sparse(), ones(4, 4)),
    "nested-dimension": lambda: torch.cat([jagged(), jagged()]),
    "channels-last-rank": lambda: ones(2, 2).to(memory_format=torch.channels_last),
    "quantized-no-empty": lambda: torch.quantize_per_tensor(ones(2), 0.1, 0, torch.qint8) + 1,
    "quantized-activation-dtype": signed_activations,
    "weight-observer-dtype": unsigned_weights,
    "quantized-engine-name": lambda: assigned(torch.backends.quantized, "engine", "nothing"),
    "fx-iterated": lambda: torch.fx.symbolic_trace(lambda x: torch.relu(*x)),
    "fx-as-number": lambda: torch.fx.symbolic_trace(lambda x: range(x.shape[0])),
    "fx-module-not-inside": lambda: torch.fx.symbolic_trace(OfPlainList()),
    "script-module-attribute": lambda: torch.jit.script(WithoutAttribute()),
    "script-type-unknown": lambda: torch.jit.CompilationUnit("def f(x: Nothing):\n  return x\n"),
    "script-return-type": lambda: torch.jit.script(of_two_results),
    "script-global": lambda: torch.jit.script(of_global),
    "script-argument-missing": lambda: call(torch.jit.script(nn.Linear(2, 2))),
    "operator-aliases": lambda: custom(itself)(ones(2)),
    "fake-missing": lambda: of_fake(custom(plain_copy)),
    "operator-annotation": lambda: custom(lambda x: x),
    "vmap-of-function": lambda: torch.vmap(WithoutBatches.apply)(ones(3)),
    "vmap-mask": lambda: torch.vmap(lambda x: x[x > 0])(ones(3, 3)),
    "vmap-dims-structure": lambda: torch.vmap(torch.add, in_dims=(0,))(ones(3), ones(3)),
    "vmap-dim-range": lambda: torch.vmap(torch.sin, in_dims=3)(ones(3)),
    "transform-of-value": lambda: torch.func.jacrev(lambda x: x)(3),
    "grad-of-tuple": lambda: torch.func.grad(lambda x: (x.sum(), 1))(ones(2)),
    "dual-of-integers": lambda: torch.func.jacfwd(lambda x: x)(tensor([1])),
    "higher-order-captured": uncapturable_cond,
    "dynamic-shape-names": by_wrong_name,
    "export-of-function": lambda: torch.export.export(lambda x: x, (ones(2),)),
    "exported-called": lambda: exported()(ones(2, 2)),
    "parametrized-pickled": lambda: torch.save(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), io.BytesIO()),
}


# The words of messages that need another machine or a long run, as the rows of the tables find them in the source.
PRINTED = {
    "no-numpy": "RuntimeError: Numpy is not available",
    "layout-pointwise": "RuntimeError: unsupported tensor layout: Sparse",
    "nested-operator": 'File "torch/nested/_internal/nested_tensor.py", line 288, in __torch_dispatch__\n'
    "    raise NotImplementedError(func)\nNotImplementedError: aten.avg_pool2d.default",
    "nested-arguments": "ValueError: NestedTensor cat_default(tensors: any, dim: any): expected at least 2 arguments"
    " and at most 2 arguments, but got: 1 arguments",
    "submodule-missing": "ModuleNotFoundError: No module named 'torchvision.models.utils'",
    "archive-of-save": "RuntimeError: PytorchStreamReader failed locating file constants.pkl: file not found",
    "no-pinned-memory": "RuntimeError: Need to provide pin_memory allocator to use pin memory.",
    "function-not-static": "TypeError: unbound method backward() must be called with MyReLU instance as first argument",
    "undefined-tensor": "RuntimeError: strides() called on an undefined Tensor",
    "triton-compilation": "triton.compiler.errors.CompilationError: at 11:25:\ndef triton_(seed0, in_ptr1):",
    "collective-tensor": "RuntimeError: ProcessGroupGloo::scatter: invalid tensor size at index 1 (expected (2), got"
    " (3))",
    "mps-product-size": "RuntimeError: Tiling of batch matmul for larger than 2**32 entries only available from MacOS15"
    " onwards",
    "script-nonexistent": "RuntimeError: Tried to access nonexistent attribute or method 'crow_indices' of type"
    " 'Tensor'.:",
    "worker-exit-code": "RuntimeError: DataLoader worker (pid 41) exited unexpectedly with exit code 1. Details are"
    " lost due to multiprocessing.",
    "torch-builds-mixed": "ImportError: /x/torch/lib/libtorch_python.so: undefined symbol: _ZN3c105ErrorC1Ev",
    "torch-libraries-mixed": "ImportError: /x/torch/lib/libtorch_cuda.so: undefined symbol: cudaLaunchKernelExC,"
    " version libcudart.so.11.0",
    "torch-libraries-missing": "ValueError: libcublas.so.*[0-9] not found in the system path ['']",
    "torch-stack-executable": "ImportError: libtorch_cpu.so: cannot enable executable stack as shared object requires:"
    " Invalid argument",
    "bare-check": 'File "/x/torch/nested/_internal/ops.py", line 1050, in _torch_check\n    torch._check(n <= most)\n'
    '  File "/x/torch/__init__.py", line 1652, in _check\n    _check_with(RuntimeError, cond, message)\n'
    '  File "/x/torch/__init__.py", line 1634, in _check_with\n    raise error_type(message_evaluated)\n'
    "RuntimeError: Expected cond to be True, but got False.",
    "metadata-of-data": "RuntimeError: set_storage is not allowed on a Tensor created from .data or .detach().",
    "device-not-linked": "RuntimeError: PyTorch is not linked with support for xpu devices",
    "python-library-of-another": "ImportError: /x/libtorch_python.so: undefined symbol: PyThread_tss_alloc",
    "storage-size-unknown": "RuntimeError: storage has wrong size: expected 0 got 64",
    "zip-in-old-torch": "RuntimeError: x.pth is a zip archive (did you mean to use torch.jit.load()?)",
    "archive-without-version": 'RuntimeError: Expected hasRecord("version") to be true, but got false',
    "window-device": "RuntimeError: stft input and window must be on the same device but got self on cuda:0 and window"
    " on cpu",
    "storage-device": 'RuntimeError: Attempted to set the storage of a tensor on device "cuda:0" to a storage on'
    ' different device "cpu".',
    "linalg-in-threads": "RuntimeError: lazy wrapper should be called at most once",
    "nvrtc-architecture": "RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)",
    "event-device": "RuntimeError: Event device type CUDA does not match blocking stream's device type CPU.",
    "shared-device": "RuntimeError: _share_filename_: only available on CPU",
    "gathered-size": "RuntimeError: output tensor size must be equal to world_size times input tensor size",
    "key-without-backend": "RuntimeError: Unrecognized tensor type ID: AutogradCUDA",
    "file-mapping": "RuntimeError: Couldn't open shared file mapping: <torch_13684_4>, error code: <1455>",
    "pin-thread-ended": "RuntimeError: Pin memory thread exited unexpectedly",
    "rendezvous-closed": "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
    "fork-with-autograd": "RuntimeError: Unable to handle autograd's threading in combination with fork-based"
    " multiprocessing.",
    "unsafe-to-autocast": "RuntimeError: torch.nn.BCELoss are unsafe to autocast.",
    "generator-device": "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
    "script-builtin": "RuntimeError: \nUnknown builtin op: torchvision::nms.",
    "not-contiguous": "RuntimeError: grad_input must be contiguous",
    "index-of-numpy": "IndexError: index 9 is out of bounds for axis 0 with size 9",
    "stepped-twice": "RuntimeError: step() has already been called since the last update().",
    "capturable": "AssertionError: If capturable=True, params and state_steps must be CUDA tensors.",
    "file-inside-archive": "_pickle.UnpicklingError: A load persistent id instruction was encountered,\nbut no"
    " persistent_load function was specified.",
    "compile-unsupported": "torch._dynamo.exc.Unsupported: hasattr: TensorVariable()",
    "onnx-shape": "SymbolicValueError: Unsupported: ONNX export of operator Unfold, input size not accessible.",
    "traced-constant": "RuntimeError: output 1 ( 1\n) of traced region did not have observable data dependence with"
    " trace inputs",
    "pickle-broken": "_pickle.UnpicklingError: pickle data was truncated",
    "not-picklable": "_pickle.PicklingError: Can't pickle <function <lambda> at 0x7>: attribute lookup failed",
    "torch-not-imported": "ImportError: ./x.so: undefined symbol: THPVariableClass",
    "device-ordinal": "RuntimeError: CUDA error: invalid device ordinal",
    "index-device": "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cuda)",
    "argument-device": "RuntimeError: Tensor for argument input is on cpu but expected on mps",
    "parallel-device": "RuntimeError: module must have its parameters and buffers on device cuda:0",
    "assert-index": "/x/IndexKernel.cu:92: operator(): block: [0,0,0], thread: [0,0,0] Assertion"
    ' `-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed.',
    "assert-class": "/x/Loss.cu:250: nll_loss: block: [0,0,0] Assertion `t >= 0 && t < n_classes` failed.",
    "assert-probability": "/x/Loss.cu:94: block: [0,0,0] Assertion `input_val >= zero && input_val <= one` failed.",
    "assert-multinomial": "/x/M.cu:60: block: [0,0,0] Assertion `!(val < zero)` failed.",
    "cuda-misaligned": "RuntimeError: CUDA error: misaligned address",
    "cuda-launch-failure": "RuntimeError: CUDA error: unspecified launch failure",
    "cuda-launch-size": "RuntimeError: CUDA error: invalid configuration argument",
    "cuda-busy": "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    "cuda-set-up": "RuntimeError: CUDA driver initialization failed",
    "driver-too-old": "RuntimeError: The NVIDIA driver on your system is too old (found version 10010).",
    "gpu-not-in-build": "X with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
    "stream-capturing": "RuntimeError: CUDA error: operation not permitted when stream is capturing",
    "cudnn-algorithm": "RuntimeError: GET was unable to find an engine to execute this computation",
    "cudnn-version": "RuntimeError: cuDNN version incompatibility: ",
    "cudnn-rnn-eval": "RuntimeError: cudnn RNN backward can only be called in training mode",
    "cublas-status": "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm()`",
    "flash-needs-ampere": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "mps-memory": "RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB)",
    "mps-float64": "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework",
    "mps-missing": "NotImplementedError: The operator 'aten::x' is not currently implemented for the MPS device.",
    "mps-placeholder": "RuntimeError: Placeholder storage has not been allocated on MPS device!",
    "worker-exited": "RuntimeError: DataLoader worker (pid(s) 1, 2) exited unexpectedly",
    "worker-segfault": "RuntimeError: DataLoader worker (pid 1) is killed by signal: Segmentation fault.",
    "open-files": "RuntimeError: received 0 items of ancdata",
    "loader-timed-out": "RuntimeError: DataLoader timed out after 5 seconds",
    "shared-memory": "RuntimeError: unable to mmap 128 bytes from file </x>: Cannot allocate memory (12)",
    "start-of-process": "RuntimeError: \n        An attempt has been made to start a new process before the\n       "
    " current process has finished its bootstrapping phase.",
    "nccl-timeout": "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)",
    "nccl-duplicate": "DistBackendError: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
    "nccl-failed": "DistBackendError: NCCL error in: /x/NCCLUtils.hpp:1, unhandled system error",
    "address-in-use": "RuntimeError: The server socket has failed to listen on any local network address.",
    "store-timeout": "RuntimeError: The client socket has timed out after 60000ms while trying to connect",
    "no-nccl": "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
    "backend-of-device": "RuntimeError: No backend type associated with device type cpu",
    "collectives-differ": "RuntimeError: Detected mismatch between collectives on ranks.",
    "compile-branch": "torch._dynamo.exc.Unsupported: Data-dependent branching",
    "compile-guard": "GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)",
    "export-constraints": "UserError: Constraints violated (L['x'].size()[0])!",
    "compile-backend": "BackendCompilerFailed: backend='inductor' raised:\nX: y",
    "no-triton": "TritonMissing: Cannot find a working triton installation.",
    "no-compiler": "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx",
    "cudagraph-overwritten": "RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by"
    " a subsequent run.",
    "compile-double-backward": "RuntimeError: torch.compile with aot_autograd does not currently support double"
    " backward",
    "compile-python": "RuntimeError: torch.compile is not supported on Python 3.15+",
    "traced-output": "RuntimeError: Tracer cannot infer type of X",
    "onnx-operator": "UnsupportedOperatorError: Exporting the operator 'aten::x' to ONNX opset version 9 is not"
    " supported.",
    "onnx-export-step": "TorchExportError: Failed to export the model with torch.export.",
    "cuda-versions": "RuntimeError: \nThe detected CUDA version (12.1) mismatches the version that was used to"
    " compile\nPyTorch (11.8).",
    "no-cuda-home": "OSError: CUDA_HOME environment variable is not set. ",
    "no-ninja": "RuntimeError: Ninja is required to load C++ extensions",
    "extension-not-built": "RuntimeError: Error building extension 'x'",
    "undefined-symbol": "ImportError: /x.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
    "library-missing": "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
    "quantized-engine": "RuntimeError: Didn't find engine for operation quantized::linear_prepack NoQEngine",
    "vision-without-cuda": "RuntimeError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend",
    "cublas-handle": "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "cudnn-not-supported": "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed"
    " in a non-contiguous input.",
    "storage-released": "RuntimeError: setStorage: sizes [4, 64], strides [64, 1], storage offset 0, and itemsize 4"
    " requiring a storage size of 1024 are out of bounds for storage of size 0",
    "recomputed-empty": "CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have"
    " different metadata than during the forward pass.\ntensor at position 2:\nsaved metadata: {'shape':"
    " torch.Size([1, 8]), 'dtype': torch.bfloat16}\nrecomputed metadata: {'shape': torch.Size([0]), 'dtype':"
    " torch.bfloat16}",
    "unpacked-twice": "CheckpointError: torch.utils.checkpoint: Unpack is being triggered for a tensor that was already"
    " unpacked once.",
    "matrix-shapes": "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
    "nccl-aborted": "DistBackendError: NCCL communicator was aborted on rank 1.",
    "clients-missing": "DistStoreError: Timed out after 1801 seconds waiting for clients. 1/2 clients joined.",
    "no-master": "DistNetworkError: The client socket has failed to connect to any network address of (node0, 29500).",
    "store-barrier": "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: x",
    "nccl-id": "DistBackendError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d"
    " key-value store by key '0', but store->get('0') got error: Connection reset by peer",
    "disk-full": "RuntimeError: [enforce fail at inline_container.cc:595] . unexpected pos 448 vs 376",
    "vision-not-loaded": "RuntimeError: operator torchvision::nms does not exist",
    "cuda-versions-mixed": "ImportError: /x/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version"
    " libnvJitLink.so.12",
    "mkl-version": "ImportError: /x/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
    "cuda-forward": "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was"
    " attempted on non supported HW",
    "cuda-fabric": "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
    "triton-resources": "BackendCompilerFailed: backend='inductor' raised:\nOutOfResources: out of resource: shared"
    " memory, Required: 147456, Hardware limit: 101376.",
    "tensors-and-dtensors": "RuntimeError: aten.mm.default: got mixed torch.Tensor and DTensor, need to convert all",
    "flattened-dtypes": "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32",
    "flattened-flags": "ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`",
    "cuda-ecc": "AcceleratorError: CUDA error: uncorrectable ECC error encountered",
    "cuda-launch-timeout": "RuntimeError: CUDA error: the launch timed out and was terminated",
    "cuda-resources": "RuntimeError: CUDA error: too many resources requested for launch",
    "windows-library": 'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\x\\c10.dll"'
    " or one of its dependencies.",
    "paging-file": "OSError: [WinError 1455] The paging file is too small for this operation to complete.",
    "cufft-failed": "RuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR",
    "cusolver-failed": "RuntimeError: cusolver error: CUSOLVER_STATUS_EXECUTION_FAILED, when calling `x`",
    "pinned-memory": "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    "exported-shape": "AssertionError: Guard failed: x.size()[0] == 2",
    "cublas-workspace": "RuntimeError: Deterministic behavior was enabled with either"
    " `torch.use_deterministic_algorithms(True)`, but this operation is not deterministic because it uses CuBLAS. Set"
    " CUBLAS_WORKSPACE_CONFIG=:4096:8",
    "no-onnxscript": "ModuleNotFoundError: No module named 'onnxscript'",
    "recompiled-often": "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True.",
    "torch-not-installed": "ModuleNotFoundError: No module named 'torch'",
    "models-differ": "RuntimeError: DDP expects same model across all ranks, but Rank 0 has 10 params, while rank 1 has"
    " inconsistent 0 params.",
    "child-exit-code": "ProcessExitedException: process 1 terminated with exit code 1",
    "start-method-twice": "RuntimeError: context has already been set",
    "cuda-function-missing": "RuntimeError: CUDA error: invalid device function",
    "cuda-argument": "RuntimeError: CUDA error: invalid argument",
    "nvml-missing": "RuntimeError: NVML_SUCCESS == DriverAPI::get()->nvmlInit_v2_() INTERNAL ASSERT FAILED at"
    ' "../c10/cuda/CUDACachingAllocator.cpp":963, please report a bug to PyTorch.',
    "hip-no-code": '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"',
    "mps-pooling": "RuntimeError: Adaptive pool MPS: input sizes must be divisible by output sizes.",
    "mps-buffer": "RuntimeError: Invalid buffer size: 32.00 GB",
    "file-too-new": "RuntimeError: Attempted to read a PyTorch file with version 10, but the maximum supported version"
    " for reading is 6.",
    "storage-size": "RuntimeError: storage has wrong byte size: expected 1024 got 4096",
    "class-not-found": "AttributeError: Can't get attribute 'Net' on <module '__main__' from 'eval.py'>",
    "trace-differs": "torch.jit._trace.TracingCheckError: Tracing failed sanity checks!\nERROR: Graphs differed across"
    " invocations!",
    "inductor-cpp": "torch._inductor.exc.InductorError: CppCompileError: C++ compile error",
    "compile-fake-call": "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors:"
    " call_function x",
    "traced-by-fx": "RuntimeError: Detected that you are using FX to symbolically trace a dynamo-optimized function.",
    "data-not-allocated": "RuntimeError: The tensor has a non-zero number of elements, but its data is not allocated"
    " yet.",
    "no-forward-mode": "NotImplementedError: Trying to use forward AD with x that does not support it because",
    "internal-assert": 'RuntimeError: x INTERNAL ASSERT FAILED at "/pytorch/x.cpp":12, please report a bug to PyTorch.',
    "bad-alloc": "MemoryError: std::bad_alloc",
    "dynamo-internal": "torch._dynamo.exc.InternalTorchDynamoError: AttributeError: 'NoneType' object has no"
    " attribute 'x'",
    "peer-closed": "RuntimeError: [/x/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.1]:3423",
    "saved-on-gpu": "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available()",
    "current-device": "RuntimeError: Input, output and indices must be on the current device",
    "fft-half-size": "RuntimeError: cuFFT only supports dimensions whose sizes are powers of two when"
    " computing in half precision, but got a signal size of[100]",
    "sparse-rebuilt": "NotImplementedError: rebuilding sparse tensor for layout torch.sparse_csr",
    "no-fuser": "AssertionError: did not find fuser method for: (<class 'torch.nn.modules.conv.Conv2d'>,)",
    "target-pixels": "RuntimeError: input and target batch or spatial sizes don't match: target [4, 256,"
    " 256], input [4, 2, 128, 128]",
    "fsdp-state": "ValueError: expected to be in states [<TrainingState.FORWARD_BACKWARD: 2>] but current"
    " state is TrainingState.IDLE",
    "fsdp-group-dtypes": "AssertionError: FSDP expects uniform original parameter dtype but got"
    " {torch.bfloat16, torch.float32}",
    "no-visible-gpu": "RuntimeError: No CUDA GPUs are available",
    "agent-stopped": "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1234 got signal: 15",
    "nccl-tensors": "ValueError: Tensors must be CUDA and dense",
    "checkpoint-lacks": "RuntimeError: Missing key in checkpoint state_dict: model.fc.weight.",
    "mesh-too-large": "RuntimeError: Mesh should not be bigger than default world size 1, but found 2 ranks!",
    "no-sharding-rule": "NotImplementedError: Operator aten.sort.stable does not have a sharding strategy registered.",
    "fused-parameters": "RuntimeError: `fused=True` requires all the params to be floating point Tensors"
    " of supported devices: ['mps', 'cuda', 'xpu', 'hpu', 'cpu'].",
    "autocast-device": "RuntimeError: User specified an unsupported autocast device_type 'ours'",
    "pickle-protocol": "_pickle.UnpicklingError: Unsupported operand 149",
    "hub-hash": 'RuntimeError: invalid hash value (expected "9d0a", got "e3b0")',
    "hub-callable": "RuntimeError: Cannot find callable resnet51 in hubconf",
    "hub-branch": "ValueError: Cannot find main in https://github.com/x/y. If it's a commit from a forked"
    " repo, please call hub.load() with forked repo directly.",
    "github-limit": "urllib.error.HTTPError: HTTP Error 403: rate limit exceeded",
    "certificate": "urllib.error.URLError: <urlopen error [SSL: CERTIFICATE_VERIFY_FAILED] certificate"
    " verify failed: unable to get local issuer certificate (_ssl.c:1129)>",
    "image-class": "TypeError: pic should be PIL Image or ndarray. Got <class 'torch.Tensor'>",
    "image-array": "KeyError: ((1, 1, 3), '<f4')",
    "export-assigned": "ValueError: The tensor attribute self.cache was assigned during export. Such"
    " attributes must be registered as buffers using the `register_buffer` API",
    "capture-random": "RuntimeError: Offset increment outside graph capture encountered unexpectedly.",
    "donated-buffers": "RuntimeError: This backward function was compiled with non-empty donated buffers"
    " which requires create_graph=False and retain_graph=False.",
    "subclass-guessed": "RuntimeError: \nDuring the backward, we encountered a tensor subclass where we"
    " guessed its\nmetadata incorrectly.",
    "triton-gpu-too-old": "torch._inductor.exc.GPUTooOldForTriton: Found Quadro K2000 which is too old to"
    " be supported by the triton GPU compiler, which is used as the backend.",
    "inductor-failed": "torch._inductor.exc.LoweringException: NotImplementedError: View\n  target: aten.view.default",
    "onnx-namespace": "torch.onnx.errors.UnsupportedOperatorError: ONNX export failed on an operator with"
    " unrecognized namespace torchvision::deform_conv2d.",
    "onnx-function-missing": "torch.onnx._internal.exporter._errors.DispatchError: No ONNX function found"
    " for <OpOverload(op='aten.x', overload='default')>. Failure message: x",
    "onnx-too-large": "RuntimeError: The serialized model is larger than the 2GiB limit imposed by the"
    " protobuf library.",
    "onnxruntime-shape": "onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: [ONNXRuntimeError]"
    " : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x for the following"
    " indices",
    "mps-empty": "RuntimeError: Placeholder tensor is empty!",
    "compiler-version": "RuntimeError: The current installed version of g++ (13.2.0) is greater than the"
    " maximum required version by CUDA 11.8. Please make sure to use an adequate"
    " version of g++ (>=6.0.0, <12.0).",
    "nvcc-architecture": "nvcc fatal   : Unsupported gpu architecture 'compute_89'",
    "torch-headers-missing": "fatal error: torch/extension.h: No such file or directory",
    "extension-for-old-torch": "fatal error: THC/THC.h: No such file or directory",
    "cuda-headers-missing": "fatal error: cusparse.h: No such file or directory",
    "python-headers-missing": "fatal error: Python.h: No such file or directory",
    "windows-extension": "ImportError: DLL load failed while importing _C: The specified procedure could not be found.",
    "extension-not-imported": "NameError: name '_C' is not defined",
    "library-too-old": "ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.29' not"
    " found (required by x.so)",
    "openmp-twice": "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.",
    "mkl-threads": "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with"
    " libgomp.so.1 library.",
    "mkl-parts-differ": "INTEL MKL ERROR: /x/libmkl_avx2.so.1: undefined symbol: mkl_sparse_optimize_bsr_trsm_i8.",
    "numpy-scalar": "TypeError: only length-1 arrays can be converted to Python scalars",
    "numpy-ragged": "ValueError: setting an array element with a sequence. The requested array has an"
    " inhomogeneous shape after 1 dimensions.",
    "numpy-two": "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.1 as it may crash.",
    "old-dtypes": "RuntimeError: Expected object of scalar type Float but got scalar type Double for"
    " argument #2 'mat2'",
    "old-devices": "RuntimeError: Expected object of device type cuda but got device type cpu for argument #1 'self'",
    "sync-norm-device": "ValueError: SyncBatchNorm expected input tensor to be on GPU or XPU",
    "hub-dependencies": "RuntimeError: Missing dependencies: timm",
    "hub-offline": "RuntimeError: It looks like there is no internet connection and the repo could not be"
    " found in the cache (/x)",
    "checkpoint-without-need": "RuntimeError: none of output has requires_grad=True, this checkpoint() is"
    " not necessary",
    "block-mask-size": "ValueError: block_mask was created for block_mask.shape=(1, 1, 128, 128) but got"
    " q_len=64 and kv_len=64.",
    "no-libuv": "torch.distributed.DistStoreError: use_libuv was requested but PyTorch was build without libuv support",
    "barrier-not-reached": "RuntimeError: Rank 1 successfully reached monitoredBarrier, but received"
    " errors while waiting for send/recv from rank 0.",
    "nccl-watchdog": "[Rank 0] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making"
    " progress in monitoring enqueued collectives.",
    "gloo-address": "RuntimeError: [enforce fail at"
    " /pytorch/third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to"
    " find address for: eth9",
    "lightning-unused": "RuntimeError: It looks like your LightningModule has parameters that were not"
    " used in producing the loss returned by training_step.",
    "cuda-unknown": "RuntimeError: CUDA error: unknown error",
    "cuda-handle": "RuntimeError: CUDA error: invalid resource handle",
    "cuda-peer": "RuntimeError: CUDA error: peer access is not supported between these two devices",
    "cuda-unsupported": "RuntimeError: CUDA error: operation not supported",
    "cuda-instruction": "RuntimeError: CUDA error: an illegal instruction was encountered",
    "allocator-option": "RuntimeError: Unrecognized CachingAllocator option: expandable_segment",
    "onednn-primitive": "RuntimeError: could not create a primitive descriptor for a matmul primitive",
    "cudnn-library": "Could not load library libcudnn_cnn_infer.so.8. Error: x: cannot open"
    " shared object file: No such file or directory",
    "driver-library-missing": "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
    "system-library-missing": "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
    "gpu-not-usable": "RuntimeError: Torch is not able to use GPU; add --skip-torch-cuda-test to"
    " COMMANDLINE_ARGS variable to disable this check",
    "attention-bias": "RuntimeError: attn_bias: wrong shape (batch dimension)",
    "attention-alignment": (
        "RuntimeError: attn_bias is not correctly aligned (strideM). attn_bias.stride(2) = 37, "
        "and should be a multiple of 8."
    ),
    "mps-old-system": "RuntimeError: The MPS backend is supported on MacOS 13.0+.",
    "aoti-argument": (
        "RuntimeError: Expected extern kernel torchao::quantize_affine_float8 to have serialized "
        "argument type as_scalar_type for argument 2 but got as_int"
    ),
    "script-object": "RuntimeError: Could not get name of python class object",
    "triton-compiler": (
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/t/main.c', '-O3']' "
        "returned non-zero exit status 1."
    ),
    "kernel-image-invalid": "RuntimeError: Triton Error [CUDA]: device kernel image is invalid",
    "ptxas-failed": (
        "RuntimeError: Internal Triton PTX codegen error: ptxas fatal   : Value 'sm_120' is not "
        "defined for option 'gpu-name'"
    ),
    "ddp-devices": (
        "ValueError: DistributedDataParallel device_ids and output_device arguments only work "
        "with single-device/multiple-device GPU modules or CPU modules, but got device_ids [0]"
    ),
    "flash-dtype": "RuntimeError: FlashAttention only support fp16 and bf16 data type",
    "gpu-without-bfloat16": (
        "RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to float16."
    ),
    "optimizer-steps-on-gpu": "AssertionError: If capturable=False, state_steps should not be CUDA tensors",
    "vision-operators": (
        "RuntimeError: Couldn't load custom C++ ops. This can happen if your PyTorch and "
        "torchvision versions are incompatible"
    ),
    "traced-type": (
        "RuntimeError: Type 'Tuple[Tensor, str]' cannot be traced. Only Tensors and (possibly "
        "nested) Lists, Dicts, and Tuples of Tensors can be traced"
    ),
    "onnx-package": "torch.onnx.errors.OnnxExporterError: Module onnx is not installed!",
    "step-in-graph": (
        "RuntimeError: Attempting CUDA graph capture of step() for an instance of Adam but "
        "param_groups' capturable is False."
    ),
    "sequence-of-plateau": (
        "ValueError: SequentialLR does not support `ReduceLROnPlateau` scheduler as it requires "
        "additional kwargs to be specified when calling `step`, but got one at index 0 in the "
        "given schedulers sequence."
    ),
    "int-max": (
        "RuntimeError: nonzero is not supported for tensors with more than INT_MAX elements, See "
        "https://github.com/pytorch/pytorch/issues/51871"
    ),
    "daemon-children": "AssertionError: daemonic processes are not allowed to have children",
    "numpy-api-version": "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf",
    "hip-memory": "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
    "old-size-for-view": (
        "RuntimeError: invalid argument 2: size '[1 x 10]' is invalid for input with 20 elements "
        "at /x/TH/THStorage.cpp:84"
    ),
    "old-no-gpu": "RuntimeError: CUDA error: no CUDA-capable device is detected",
    "mask-of-transformers": (
        "ValueError: Attention mask should be of size (1, 1, 10, 10), but is torch.Size([1, 1, 10, 11])"
    ),
    "needs-a-cuda-device": "ValueError: Expected a cuda device, but got: cpu",
    "archive-of-script": (
        "c10::Error: istream reader failed: reading file. (validate at /x/caffe2/serialize/istream_adapter.cc:32)"
    ),
    "no-tensor-arguments": (
        "RuntimeError: There were no tensor arguments to this function (e.g., you passed an "
        "empty list of Tensors), but no fallback function is registered for schema aten::_cat."
    ),
    "symbolic-sizes-in-cpp": "RuntimeError: Cannot call numel() on tensor with symbolic sizes/strides",
    "triton-cpu-tensor": "ValueError: Pointer argument (at 2) cannot be accessed from Triton (cpu tensor?)",
    "hip-access": (
        "Memory access fault by GPU node-1 (Agent handle: 0x55eb9b596570) on address "
        "0x7f66960b2000. Reason: Page not present or supervisor privilege."
    ),
    "complex-number-given": (
        "RuntimeError: value cannot be converted to type float without overflow: (-9.99425e-08,-1.86689e-11)"
    ),
    "cudnn-attention": (
        "RuntimeError: Expected mha_graph->execute(handle, variant_pack, "
        "workspace_ptr.get()).is_good() to be true, but got false."
    ),
    "numpy-broadcast": "ValueError: operands could not be broadcast together with shapes (3,) (4,)",
    "no-permission": "PermissionError: [Errno 13] Permission denied: '/data/a'",
    "host-memory": (
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 GiB for an array with shape (10, 10)"
    ),
    "text-decoded": "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 0: invalid start byte",
    "name-not-importable": "ImportError: cannot import name 'AdamW' from 'transformers' (/x/transformers/__init__.py)",
    "connection-refused": "ConnectionRefusedError: [Errno 111] Connection refused",
    "image-not-read": "PIL.UnidentifiedImageError: cannot identify image file '/data/a.jpg'",
    "image-empty": (
        "cv2.error: OpenCV(4.5.5) /x/resize.cpp:4052: error: (-215:Assertion failed) "
        "!ssize.empty() in function 'resize'"
    ),
    "symbol-missing": (
        "ImportError: /x/torch/lib/libATen.so.1: undefined symbol: THNN_CudaClassNLLCriterion_updateOutput"
    ),
    "lightning-scheduler": (
        'ValueError: The provided lr scheduler "<torch.optim.lr_scheduler.StepLR object at 0x7f5c0c38e6d0>" is invalid'
    ),
    "old-type-missing": "RuntimeError: _th_gt is not implemented for type torch.sparse.FloatTensor",
    "no-wheel": "ERROR: No matching distribution found for torch==1.7.1",
    "no-compiler-of-windows": "error: Microsoft Visual C++ 14.0 or greater is required. Get it with"
    ' "Microsoft C++ Build Tools"',
    "compiler-failed": "error: command '/usr/bin/gcc' failed with exit code 1",
    "compiler-killed": "fatal error: Killed signal terminated program cc1plus",
    "vision-module-gone": "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'",
    "module-missing": "ModuleNotFoundError: No module named 'models'",
    "script-interpreter": "RuntimeError: The following operation failed in the TorchScript interpreter.",
    "mps-no-operator-for-conv": "RuntimeError: Conv3D is not supported on MPS",
    "pipe-broken": "BrokenPipeError: [Errno 32] Broken pipe",
    "shape-of-inductor-dir": "PermissionError: [Errno 13] Permission denied: '/tmp/torchinductor_root/a'",
    "inference-untracked": "RuntimeError: Inference tensors do not track version counter.",
    "distribution-values": "ValueError: The parameter probs has invalid values",
    "quantized-prepack": "NotImplementedError: Could not run 'quantized::conv2d_prepack' with arguments"
    " from the 'CPU' backend.",
    "quantized-dynamic": "NotImplementedError: Could not run 'quantized::linear_dynamic' with arguments"
    " from the 'CUDA' backend.",
    "collective-argument": "TypeError: Invalid function argument. Expected parameter `tensor_list` of type"
    " torch.Tensor to be of type List[torch.Tensor].",
    "pybind-arguments": "TypeError: f(): incompatible function arguments. The following argument types are supported:",
    "replica-failed": "RuntimeError: Caught RuntimeError in replica 0 on device 0.",
    "child-of-elastic": "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9)"
    " local_rank: 3 (pid: 407727) of binary: /x/python",
    "child-of-elastic-failed": "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1)"
    " local_rank: 0 (pid: 17966) of binary: /usr/bin/python",
    "elastic-signal": "WARNING:torch.distributed.elastic.agent.server.api:Received 1 death signal,"
    " shutting down workers",
    "launched-script": "subprocess.CalledProcessError: Command '['/usr/bin/python', '-u', 'train.py',"
    " '--local_rank=1']' returned non-zero exit status 1.",
    "cuda-tensor-expected": "RuntimeError: weights must be a CUDA tensor",
    "compile-internal": "AssertionError: expected size 3==3, stride 4==1 at dim=0",
    "mac-symbol": "ImportError: dlopen(/x/_C.so, 10): Symbol not found: _PySlice_AdjustIndices",
    "symbol-of-another": "OSError: /x/libcublas.so.11: symbol cublasLtGetStatusString version"
    " libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference",
    "windows-module": "OSError: [WinError 126] The specified module could not be found",
    "mps-dtype": "TypeError: Trying to convert ComplexFloat to the MPS backend but it does not have"
    " support for that dtype.",
    "edge-dialect": "torch._export.verifier.SpecViolationError: Operator torch._ops.aten._fft_r2c.default"
    " is not Aten Canonical.",
    "uncaught-in-cpp": "terminate called after throwing an instance of 'c10::Error'",
    "assert-in-graph": "RuntimeError: assertion error",
    "check-without-message": "RuntimeError: Expected attn_mask->sizes()[0] == batch_size to be true, but"
    " got false.  (Could this error message be improved?)",
    "not-the-same": "RuntimeError: input and indices must have the same batch size",
    "dimensions-expected": "RuntimeError: input must be 4-D, but got 3",
    "only-supported": "RuntimeError: floor only supports real tensors, but got a complex one",
    "not-supported": "RuntimeError: Trace of a strange layout is not implemented for this layout",
    "value-range": "ValueError: num_heads must be greater than 0, got 0",
}
# Causes that are of one kind: the first one in the tables is the narrower one.
WITHIN = {
    "no-code-for-floating": {"no-code"},
    "no-code-for-complex": {"no-code"},
    "no-code-for-integers": {"no-code"},
    "inferred-size": {"size-of-view"},
    "transposed-channels": {"channels"},
    "no-formula": {"no-derivative"},
    "unused-with-search": {"unused-parameters"},
    "static-graph": {"unused-parameters"},
    "vmap-needs-value": {"no-batching-rule"},
    "vmap-writes-unbatched": {"no-batching-rule"},
    "cublas-memory": {"cublas-status"},
    "not-one-number": {"several-as-number"},
    "weights-only-class": {"weights-only"},
    "compile-branch": {"compile-unsupported"},
    "triton-resources": {"compile-backend"},
    "nvml-missing": {"internal-assert"},
    "dynamo-internal": {"module-attribute"},
    "nccl-id": {"peer-closed"},
    "script-call": {"script-class"},
    "weights-only": {"pickle-protocol"},
    "backward-of-object": {"module-attribute"},
    "loss-object": {"module-attribute"},
    "cuda-function-missing": {"hip-no-code"},
    "kernel-image-invalid": {"cuda-function-missing"},
    "complex-number-given": {"number-overflows"},
    "torch-builds-mixed": {"undefined-symbol"},
    "operator-argument": {"script-class"},
}


KINDS = {row.cause for row in (*OF_PYTHON, *OF_KINDS)}  # for what no other row recognises


def text_of(function: Callable[[], Any]) -> str:
    with pytest.raises(BaseException) as caught:
        function()
    return f"{type(caught.value).__name__}: {caught.value}"


def causes_in(text: str) -> list[str]:
    exception, _, message = text.partition(": ")
    return [row.cause for row in MESSAGES if row.pattern.search(f"{exception}: {message}")]


@pytest.mark.parametrize("cause", RAISED)
def test_torch_raises_what_the_row_recognises(cause: str) -> None:
    text = text_of(RAISED[cause])
    found = causes_in(text)
    assert found[:1] == [cause], text
    assert set(found[1:]) <= WITHIN.get(cause, set()) | KINDS, text


@pytest.mark.parametrize("cause", PRINTED)
def test_a_printed_line_is_of_one_row(cause: str) -> None:
    found = causes_in(PRINTED[cause])
    assert found[:1] == [cause]
    assert set(found[1:]) <= WITHIN.get(cause, set()) | KINDS


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("RuntimeError: index 15 is out of bounds for dim with size 2", "index-out-of-bounds"),
        ("IndexError: too many indices for array: array is 1-dimensional, but 2 were indexed", "too-many-indices"),
        ("RuntimeError: Caught RuntimeError in replica 0 on device 0", "replica-failed"),
    ],
)
def test_a_row_recognises_the_words_of_older_releases_and_of_numpy(text: str, cause: str) -> None:
    assert causes_in(text)[:1] == [cause]


@pytest.mark.parametrize("name", [name for name in RAISING if not name.endswith("again")])  # these run only once
def test_no_row_recognises_the_error_of_another(name: str) -> None:
    first, *others = causes_in(text_of(RAISING[name][0]))
    assert set(others) <= WITHIN.get(first, set()) | KINDS


def test_what_the_interpreter_writes_has_no_place_in_torch() -> None:
    rows = {row.cause: row for row in MESSAGES}
    assert all(not rows[cause].sources for cause in INTERPRETERS)


def test_every_cause_has_its_words_and_its_values() -> None:
    for row in MESSAGES:
        told = ENGLISH[row.cause]
        assert told.why
        assert "{" not in "".join(text for text in (told.why, told.remedy) if not row.pattern.groupindex)
    assert len({row.cause for row in MESSAGES}) == len(MESSAGES)


@pytest.mark.words
def test_values_of_a_message_are_in_its_cause() -> None:
    cause = cause_of("expected 4D input (got 2D input)", "ValueError")
    assert cause is not None
    assert cause.arguments == {"size": "4D", "given": "2"}
    assert "an input of 4D, and got 2 dimensions" in explained(cause).why


@pytest.mark.words
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (
            (
                "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.78 GiB of which"
                " 1.20 GiB is free. Process 5 has 14.00 GiB memory in use. Of the allocated memory 13.10 GiB is"
                " allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated."
            ),
            MEMORY_FULL,
            "tensors of this process take 13.10 GiB, and torch keeps 500.00 MiB beside them",
        ),
        (
            (
                "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 15.78 GiB of which"
                " 0 bytes is free. Of the allocated memory 10.10 GiB is allocated by PyTorch, with 1.00 GiB allocated"
                " in private pools (e.g., CUDA Graphs), and 4.00 GiB is reserved by PyTorch but unallocated."
            ),
            MEMORY_SPLIT,
            "keeps 4.00 GiB for reuse",
        ),
        (
            (
                "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 6.37 GiB already"
                " allocated; 17.44 MiB free; 6.65 GiB reserved in total by PyTorch)"
            ),
            MEMORY_SPLIT,
            "keeps 0.28 GiB for reuse",
        ),
        ("CUDA out of memory.", "cuda-memory", "a limit that you set"),
    ],
)
def test_numbers_of_memory_are_explained(text: str, code: str, said: str) -> None:
    cause = cause_of(text, "OutOfMemoryError")
    assert cause is not None
    assert cause.code == code
    assert said in explained(cause).why


def test_a_kernels_own_line_says_more_than_the_error_after_it() -> None:
    error = "CUDA error: device-side assert triggered"
    text = f"{PRINTED['assert-class']}\nTraceback …\nRuntimeError: {error}"
    more, less = cause_of(error, "RuntimeError", around=text), cause_of(error, "RuntimeError")
    assert more is not None
    assert less is not None
    assert (more.code, less.code) == ("assert-class", "device-assert")
