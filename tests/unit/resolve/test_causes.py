"""Causes of errors: each is held against the error that torch really raises here, never against words of ours."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any, get_args

import pytest

from ptexplore.facts.messages import MESSAGES
from ptexplore.model.codes import convert
from ptexplore.model.observed import UnusedInput
from ptexplore.model.trace import Cause, Situation
from ptexplore.resolve.causes import MEMORY_FULL, MEMORY_SPLIT, cause_of, cause_of_unused
from ptexplore.resolve.error_message import handed_on, is_cut_off
from ptexplore.view.words.causes import ENGLISH, explained
from tests.hanging import ends

torch = pytest.importorskip("torch")
Raised = import_module("ptexplore.probe.raising").Raised
nn = torch.nn
ones = torch.ones


def twice() -> None:
    loss = ones(2, requires_grad=True).exp().sum()
    loss.backward()
    loss.backward()


class Changing:
    """A function whose second run does something else, as a checkpointed one must not."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self.functions = [first, second]

    def __call__(self, x: Any) -> Any:
        return self.functions.pop(0)(x)

    def checkpointed(self, *, stop: bool = True) -> None:
        from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

        plain: Any = getattr(checkpoint, "__wrapped__", checkpoint)  # the other one imports torch's compiler
        with set_checkpoint_early_stop(stop):
            plain(self, ones(2, requires_grad=True), use_reentrant=False).sum().backward()


class OfOldForm(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """Its forward takes ctx, and its gradient has another size than its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.new_ones(7)


def leaf() -> Any:
    return ones(3, requires_grad=True)


def writes_what_it_reads() -> None:
    x = ones(4)
    torch.add(x[:3], 1, out=x[1:])


def no_grad_view() -> None:
    x = leaf().clone()
    with torch.no_grad():
        view = x[:2]
    view.mul_(2)


def nan_found() -> None:
    with torch.autograd.detect_anomaly(check_nan=True):
        (torch.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()


def attends_by_none() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        nn.functional.scaled_dot_product_attention(*[ones(1, 1, 2, 2)] * 3)


class Branches(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.one(x).sum(), self.other(x).sum()


def in_parallel(used: list[int], **options: Any) -> None:
    """Steps of DistributedDataParallel with gloo, alone; `used` says how many of the two outputs are in each loss."""
    from torch.distributed import HashStore, destroy_process_group, init_process_group
    from torch.nn.parallel import DistributedDataParallel

    init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        module = DistributedDataParallel(Branches(), **options)
        for count in used:
            sum(module(ones(1, 2))[:count]).backward()
    finally:
        destroy_process_group()


RAISING: dict[str, tuple[Callable[[], Any], str]] = {  # what raises, and a word of the remedy
    "columns and rows": (lambda: nn.Linear(4, 2)(ones(3, 5)), "in_features"),
    "channels": (lambda: nn.Conv2d(3, 6, 5)(ones(2, 1, 8, 8)), "in_channels"),
    "channels of a transposed one": (lambda: nn.ConvTranspose2d(3, 4, 3)(ones(1, 4, 5, 5)), "in_channels"),
    "two dtypes of which one is int64": (
        lambda: ones(2, 2, 2).long() @ ones(2, 2, 2),
        "convert the other one to its dtype",
    ),
    "indices of floats": (lambda: nn.Embedding(10, 3)(ones(2)), ".long()"),
    "an index too large": (lambda: nn.Embedding(10, 3)(torch.tensor([10])), "num_embeddings"),
    "a class too large": (lambda: nn.CrossEntropyLoss()(ones(2, 3), torch.tensor([0, 3])), "begin at 0"),
    "targets of floats": (lambda: nn.CrossEntropyLoss()(ones(4, 5), ones(4)), ".long()"),
    "batches of two sizes": (lambda: nn.CrossEntropyLoss()(ones(4, 5), torch.zeros(8).long()), "flatten(1)"),
    "dtypes": (lambda: nn.Linear(3, 2)(ones(4, 3).double()), ".float()"),
    "a dtype that an operator lacks": (
        lambda: torch.choose_qparams_optimized(ones(4).double(), 4, 1, 0.1, 8),
        ".float()",
    ),
    "floats where integers are meant": (lambda: ones(2).gcd(ones(2)), "x.long()"),
    "integers where floats are meant": (lambda: ones(2, 2).long().lerp(ones(2, 2).long(), 0.5), "x.float()"),
    "complex numbers": (lambda: torch.ones(2, dtype=torch.cfloat).erfinv(), "x.real"),
    "dtypes in a loss": (lambda: nn.BCELoss()(torch.rand(3), ones(3).double()), ".float()"),
    "numpy": (lambda: nn.Linear(3, 2)(ones(4, 3).numpy()), "from_numpy"),
    "one value a channel": (lambda: nn.BatchNorm1d(8)(ones(1, 8)), "drop_last"),
    "samples of two sizes": (lambda: torch.stack([ones(2), ones(3)]), "collate_fn"),
    "a checkpoint": (lambda: nn.Linear(3, 2).load_state_dict({"weight": ones(2, 4)}), "strict=False"),
    "a mean of integers": (lambda: torch.tensor([1, 2]).mean(), "x.float()"),
    "integers that require grad": (lambda: torch.tensor([1, 2], requires_grad=True), "float32"),
    "a number of several": (lambda: ones(3).item(), ".tolist()"),
    "truth of several": (lambda: bool(ones(3)), ".all()"),
    "no parameters": (lambda: torch.optim.SGD(nn.ReLU().parameters(), lr=0.1), "ModuleList"),
    "broadcasting": (lambda: ones(2) + ones(3), "unsqueeze"),
    "a shape written to": (lambda: ones(2).add_(ones(2, 2)), "expand()"),
    "an expanded size": (lambda: ones(2).expand(3), "cannot change a size"),
    "an assigned size": (lambda: ones(2, 3).__setitem__(0, ones(2)), "cannot change a size"),
    "a vector too long": (lambda: ones(2, 3).mv(ones(2)), "print both"),
    "floats written into integers": (lambda: ones(2).long().add_(0.5), "new result"),
    "an index out of bounds": (lambda: ones(3)[5], "min() and max()"),
    "an index in a tensor": (lambda: ones(3, 3)[:, torch.tensor([5])], "counts these"),
    "an index of scatter": (lambda: ones(3).scatter(0, torch.tensor([5]), 1.0), "min() and max()"),
    "elements": (lambda: ones(5).view(2, 3), "-1"),
    "dimensions": (lambda: ones(5).sum(dim=1), "shape"),
    "backward twice": (twice, "retain_graph"),
    "fewer saved again": (Changing(lambda x: x.exp().exp(), lambda x: x.exp()).checkpointed, "do the same"),
    "more saved again": (
        lambda: Changing(lambda x: x.exp(), lambda x: x.exp().exp()).checkpointed(stop=False),
        "do the same",
    ),
    "other shapes again": (Changing(lambda x: x[:1].exp(), lambda x: x.exp()).checkpointed, "determinism_check"),
    "unused parameters": (lambda: in_parallel([1, 1]), "find_unused_parameters=True"),
    "a graph not static": (lambda: in_parallel([2, 1, 1], static_graph=True), "static_graph=False"),
    "two devices": (lambda: ones(2) + ones(2, device="meta"), "model.to(device)"),
    "dtypes of a convolution": (lambda: nn.Conv2d(3, 4, 3)(ones(1, 3, 8, 8).double()), ".float()"),
    "no CUDA": (lambda: ones(2).cuda(), "tensors on the CPU"),
    "no generator of CUDA": (lambda: torch.Generator("cuda"), "tensors on the CPU"),
    "names of a checkpoint": (lambda: nn.Linear(3, 2).load_state_dict({"module.weight": ones(2, 3)}), "DataParallel"),
    "no graph": (lambda: ones(2).sum().backward(), "requires_grad=True"),
    "no graph of what has no derivative": (lambda: nn.Linear(2, 2)(ones(2)).argmax().backward(), "another operator"),
    "an input that was not used": (
        lambda: torch.autograd.grad(ones(2, requires_grad=True).sum(), ones(2, requires_grad=True)),
        "allow_unused=True",
    ),
    "an input without grad": (
        lambda: torch.autograd.grad(ones(2, requires_grad=True).sum(), ones(2)),
        "requires_grad_()",
    ),
    "a view of other strides": (lambda: ones(2, 3).t().view(6), "reshape"),
    "sizes to join": (lambda: torch.cat([ones(2, 3), ones(2, 4)]), "dim="),
    "one memory many times": (lambda: ones(1).expand(3).add_(1), "clone()"),
    "an input that is written": (writes_what_it_reads, "clone()"),
    "a result of unbind in place": (lambda: leaf().clone().expand(2, 3).unbind(0)[0].add_(1), "base[0]"),
    "a view made in no_grad": (no_grad_view, "inside one torch.no_grad()"),
    "a gradient of another size": (lambda: OfOldForm.apply(leaf()).sum().backward(), "broadcast"),
    "a gradient that is nan": (nan_found, "torch.where"),
    "a function of another form": (lambda: torch.func.vmap(OfOldForm.apply)(ones(3)), "setup_context"),
    "no file of weights": (lambda: torch.load(__file__), "add_safe_globals"),
    "a storage that does not grow": (lambda: torch.from_numpy(ones(2).numpy()).resize_(100), "collate_fn"),
    "numpy of what requires grad": (lambda: leaf().numpy(), "detach()"),
    "numpy of another device": (lambda: ones(2, device="meta").numpy(), "x.cpu()"),
    "no backend of attention": (attends_by_none, "SDPBackend.MATH"),
    "letters of einsum": (lambda: torch.einsum("ij,jk->ik", ones(2, 3), ones(2, 3)), "shapes"),
    "no root": (lambda: torch.linalg.cholesky(-torch.eye(2)), "cholesky_ex"),
    "no inverse": (lambda: torch.linalg.inv(torch.zeros(2, 2)), "pinv"),
    "no solution": (lambda: torch.linalg.solve(torch.zeros(2, 2), ones(2)), "lstsq"),
    "weights below 0": (lambda: torch.multinomial(torch.tensor([-1.0]), 1), "softmax"),
    "a copy of a result": (lambda: copy.deepcopy(leaf() * 2), "detach().clone()"),
    "a flag of a result": (lambda: (leaf() * 2).requires_grad_(False), "parameters"),
    "a kernel too large": (lambda: nn.Conv2d(1, 1, 3)(ones(1, 1, 2, 2)), "padding"),
    "a window too large": (lambda: nn.MaxPool2d(3)(ones(1, 1, 1, 1)), "AdaptiveAvgPool2d"),
    "dimensions of a convolution": (lambda: nn.Conv2d(1, 1, 3)(ones(2, 2)), "unsqueeze(0)"),
    "a product with a number": (lambda: torch.matmul(torch.tensor(1.0), ones(2)), "use *"),
    "batches of matrices": (lambda: torch.bmm(ones(2, 2, 3), ones(2, 2, 3)), "transpose(1, 2)"),
    "no group of processes": (torch.distributed.get_rank, "init_process_group"),
    "no derivative": (lambda: (ones(2, requires_grad=True) // 2).sum().backward(), "torch.autograd.Function"),
}


@pytest.mark.words
def test_a_dtype_that_a_kernel_has_no_code_for_is_not_advised() -> None:
    for case, unfit in (
        ("floats where integers are meant", "x.float()"),
        ("integers where floats are meant", "x.long()"),
    ):
        with pytest.raises(NotImplementedError) as caught:
            RAISING[case][0]()
        cause = cause_of(str(caught.value))
        assert cause is not None
        assert unfit not in explained(cause).remedy


def graph_of(case: str) -> tuple[Any, Any]:
    x, other = ones(3, requires_grad=True), ones(3, requires_grad=True)
    result = (x * 2).sum()
    inputs = {
        "a view": [x, x[0]],
        "a result": [(x * 2).sum()],
        "detached": [x, x.detach().requires_grad_()],
        "a parameter": [nn.Parameter(x)],
        "another leaf": [other],
        "a result of another leaf": [x, other * 2],
    }
    return result, inputs[case]


@pytest.mark.parametrize(
    "case, index, situation, node",
    [
        ("a view", 1, "beside", "SelectBackward0"),
        ("a result", 0, "beside", "SumBackward0"),
        ("detached", 1, "detached", ""),
        ("a parameter", 0, "detached", ""),
        ("another leaf", 0, "elsewhere", ""),
        ("a result of another leaf", 1, "elsewhere", "MulBackward0"),
    ],
)
@pytest.mark.words
def test_of_an_input_that_is_not_in_the_graph_it_is_known_what_it_is(
    case: str, index: int, situation: str, node: str
) -> None:
    outputs, inputs = graph_of(case)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph") as caught:
        torch.autograd.grad(outputs, inputs)
    seen = convert(Raised("expression", caught.value).data()["unused"], UnusedInput)
    assert (seen.index, seen.count, seen.situation, seen.node) == (index, len(inputs), situation, node)
    unused = torch.autograd.grad(*graph_of(case), allow_unused=True)
    assert [number for number, gradient in enumerate(unused) if gradient is None] == [index]
    cause = explained(cause_of_unused(seen))
    assert (f"input {index} of 2" if len(inputs) > 1 else "the input (") in cause.why
    assert "{" not in cause.why + cause.remedy
    assert cause.remedy.endswith("allow_unused=True gives None for it instead of this error")


def test_other_errors_are_of_no_input_that_is_not_in_the_graph() -> None:
    x = ones(3, requires_grad=True)
    for inputs in (ones(3), x):
        with pytest.raises(RuntimeError) as caught:
            torch.autograd.grad(x * 2, inputs)
        assert Raised("expression", caught.value).data()["unused"] is None


@pytest.mark.words
def test_a_checkpoint_that_other_hooks_leave_nothing_is_not_said_to_depend_on_a_change() -> None:
    """The function does the same each time: what it saves again goes to the hooks of `save_on_cpu`."""
    from torch.utils.checkpoint import checkpoint

    plain: Any = getattr(checkpoint, "__wrapped__", checkpoint)
    contexts = (nullcontext(), torch.autograd.graph.save_on_cpu())
    with pytest.raises(Exception) as caught:
        x = ones(2, requires_grad=True)
        plain(lambda x: x.exp(), x, use_reentrant=False, context_fn=lambda: contexts).sum().backward()
    cause = cause_of(str(caught.value), type(caught.value).__name__)
    assert cause is not None, caught.value
    assert "or other hooks on saved tensors" in explained(cause).why


@pytest.mark.parametrize("name", RAISING)
@pytest.mark.words
def test_the_error_that_torch_raises_has_a_cause(name: str) -> None:
    function, word = RAISING[name]
    with pytest.raises(Exception) as caught:
        function()
    cause = cause_of(str(caught.value), type(caught.value).__name__)
    assert cause is not None, caught.value
    told = explained(cause)
    assert word in " ".join((told.remedy, *(remedy for _, remedy in told.cases)))


@pytest.mark.parametrize("sizes", [(-1, 2), (2, -1), (4, -1, 5), (7,), (2, 2)])
@pytest.mark.words
def test_a_size_that_is_counted_is_advised_where_none_was_given(sizes: tuple[int, ...]) -> None:
    x = ones(3)
    with pytest.raises(RuntimeError) as caught:
        x.view(sizes)
    cause = cause_of(str(caught.value))
    assert cause is not None
    assert explained(cause).remedy.startswith("use -1 for one size") is (-1 not in sizes)
    if -1 not in sizes:
        assert x.view(-1, *sizes[2:]).numel() == 3
    else:
        product = -math.prod(sizes)
        assert x.numel() % product, "the others' product does not divide it"
        assert x.view([1 if size != -1 else -1 for size in sizes]).numel() == 3
    assert ones(3, 2, 2).flatten(1).shape == (3, 4)


@pytest.mark.words
def test_sizes_that_a_cause_names_are_those_of_the_modules() -> None:
    """What a cause says of the weight is true of the module that raises it."""

    def told(module: Any) -> str:
        with pytest.raises(RuntimeError) as caught:
            module(ones(1, 8, 5, 5))
        return explained(cause_of(str(caught.value)) or Cause()).why

    plain, transposed = nn.Conv2d(6, 4, 3, groups=2), nn.ConvTranspose2d(6, 4, 3, groups=2)
    assert plain.weight.shape[1] == 6 // 2
    assert "second size of the weight" in told(plain)
    assert transposed.weight.shape[0] == 6
    assert "first size of the weight" in told(transposed)
    one_tensor = cause_of("expected scalar type Float but found Double")
    assert one_tensor == Cause(code="scalar-types-differ"), "not that tensors differ: choose_qparams_optimized has one"
    assert cause_of("derivative for aten::floor_divide is not implemented") == Cause(code="no-derivative")


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same", "to(device)"),
        ("Input type (torch.FloatTensor) and bias type (torch.cuda.HalfTensor) should be the same", "to(device)"),
        ("Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same", ".float()"),
        ("Input type (torch.DoubleTensor) and weight type (torch.FloatTensor) should be the same", ".float()"),
        ("Input type (float) and bias type (float) should be the same", None),
        ('Error(s) in loading state_dict for Linear:\n\tWhile copying the parameter named "weight", …', "assign=True"),
    ],
)
@pytest.mark.words
def test_what_only_a_gpu_raises_says_devices_or_dtypes_by_its_own_words(message: str, word: str | None) -> None:
    cause = cause_of(message, "RuntimeError")
    assert (cause is None) if word is None else (cause is not None and word in explained(cause).remedy)


# What a CPU does not raise, as users paste it: from reports, cut to the words that torch or the driver writes.
PASTED = {
    "CUDA error: an illegal memory access was encountered": "compute-sanitizer",
    "CUDA error: no kernel image is available for execution on the device": "get_arch_list()",
    "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED": "CUDA_LAUNCH_BLOCKING",
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`": "empty_cache()",
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.": "map_location",
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, …": "spawn",
    "DataLoader worker (pid 41) is killed by signal: Bus error. It is possible that …": "--shm-size",
    "DataLoader worker (pid(s) 41, 42) exited unexpectedly": "num_workers=0",
    "DataLoader worker (pid 41) is killed by signal: Killed. ": "prefetch_factor",
    "Expected to mark a variable ready only once. This error is caused by …": "use_reentrant=False",
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists …": "new_zeros",
    "No available kernel. Aborting execution.": "can_use_flash_attention",
}


@pytest.mark.parametrize("message", PASTED)
@pytest.mark.words
def test_what_is_pasted_from_other_machines_has_a_cause(message: str) -> None:
    cause, word = cause_of(message, "RuntimeError"), PASTED[message]
    assert (cause is None) is (word is None)
    if cause is not None and word is not None:
        told = explained(cause)
        assert word in " ".join((told.remedy, *(remedy for _, remedy in told.cases)))


def test_each_cause_has_words_and_words_of_no_other() -> None:
    codes = {message.cause for message in MESSAGES} | {"getter-raised", "freed-read", MEMORY_FULL, MEMORY_SPLIT}
    codes |= {f"freed-{situation}" for situation in get_args(Situation) if situation != "unclear"}
    codes |= {f"unused-{situation}" for situation in ("beside", "detached", "elsewhere")}
    assert codes == set(ENGLISH)
    assert len({message.cause for message in MESSAGES}) == len(MESSAGES)


def test_a_cause_whose_arguments_a_file_lacks_has_words_still() -> None:
    for code in ENGLISH:
        for arguments in ({}, {"further": "x"}):
            assert "{" not in str(explained(Cause(code=code, arguments=arguments)))
    assert explained(Cause(code="of a later release", why="w", remedy="r")).why == "w"


def test_a_mean_of_floats_or_a_plain_error_has_none() -> None:
    assert cause_of("3", "KeyError") is None
    assert cause_of("", "RuntimeError") is None


def test_what_torch_hands_on_from_a_worker_is_read() -> None:
    wrapper = wrapper_of_torch()
    try:
        ones(2) + ones(3)
    except RuntimeError:
        wrapped = wrapper(where="in DataLoader worker process 0")
    with pytest.raises(RuntimeError) as caught:
        wrapped.reraise()
    told = handed_on(str(caught.value))
    assert told is not None
    assert told[0].message.startswith("The size of tensor a (2)")
    assert told[1][-1].function == "test_what_torch_hands_on_from_a_worker_is_read"


def wrapper_of_torch() -> Any:
    from torch._utils import ExceptionWrapper

    return ExceptionWrapper


@pytest.mark.parametrize("size", range(14, 60))
def test_a_message_that_is_cut_is_seen_to_be(size: int) -> None:
    whole = "Could not run 'aten::cumsum' with arguments from the 'SparseCPU' backend."
    assert is_cut_off(whole[:size]) is (size >= len("Could not run '"))
    assert is_cut_off(f"{whole[:size]}\n \n") is (size >= len("Could not run '"))
    assert not is_cut_off(whole)


def test_blanks_without_end_cost_nothing() -> None:
    with ends():
        assert not is_cut_off("Could not run '" * 13 + " " * 30_000_000 + "x")


@pytest.mark.parametrize("piece", ["x", "x.", "1", "Error", "\u00e9", "_", "lib.so", f"{'x' * 390} ", "aten::a "])
def test_no_crafted_message_is_read_for_long(piece: str) -> None:
    """Before they were bounded, 100,000 letters without a blank took more than 100 s."""
    text = piece * (1_000_000 // len(piece))
    with ends(20.0):
        assert cause_of(text, "RuntimeError", around=text) is None


def test_a_long_value_beside_a_message_does_not_hide_its_cause() -> None:
    value = "x" * 500_000
    cause = cause_of(f"{value} mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) {value}", "RuntimeError")
    assert cause == Cause(code="matrix-sizes", arguments={"given": "3", "size": "2"})
