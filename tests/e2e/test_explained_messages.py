"""Usual messages, raised by torch or as people paste them: what is said of them is in them, and nothing is denied."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.harness import TARGET, InProcess, torch_folder

pytestmark = pytest.mark.e2e

ones, leaf = torch.ones, lambda: torch.ones(3, requires_grad=True)


def split_in_place() -> None:
    first, _ = leaf().clone().expand(2, 3).unbind(0)
    first.add_(1)


def no_grad_view() -> None:
    x = leaf().clone()
    with torch.no_grad():
        view = x[:2]
    view.mul_(2)


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.new_ones(7)


def nan_found() -> None:
    with torch.autograd.detect_anomaly(check_nan=True):
        x = torch.zeros(1, requires_grad=True)
        (x.sqrt() * 0).sum().backward()


RAISING: dict[str, Callable[[], object]] = {
    "a view of other strides": lambda: ones(2, 3).t().view(6),
    "sizes to join": lambda: torch.cat([ones(2, 3), ones(2, 4)]),
    "one memory many times": lambda: ones(1).expand(3).add_(1),
    "a dtype that a kernel lacks": lambda: torch.cumsum(ones(2), 0, out=ones(2, dtype=torch.bool)),
    "a dtype of linalg": lambda: torch.linalg.inv(ones(2, 2, dtype=torch.int32)),
    "halves": lambda: torch.linalg.inv(ones(2, 2).half()),
    "integers in addmm": lambda: torch.addmm(ones(2, 2).bool(), ones(2, 2).bool(), ones(2, 2).bool()),
    "a result of unbind in place": split_in_place,
    "a view made in no_grad": no_grad_view,
    "a gradient of another size": lambda: WrongGradient.apply(leaf()).sum().backward(),
    "a gradient that is nan": nan_found,
    "in place in vmap": lambda: torch.vmap(lambda x, y: x.add_(y), in_dims=(None, 0))(ones(3), ones(2, 3)),
    "a function of another form": lambda: torch.func.vmap(WrongGradient.apply)(ones(3)),
    "numpy of what requires grad": lambda: leaf().numpy(),
    "a storage that does not grow": lambda: torch.from_numpy(ones(2).numpy()).resize_(100),
    "no kernel": lambda: ones(2).to_sparse().cumsum(0),
    "sizes of mm": lambda: ones(2, 3) @ ones(2, 3),
    "a broadcast": lambda: ones(2) + ones(3),
    "a leaf in place": lambda: leaf().add_(1),
    "an index": lambda: ones(3)[5],
    "an embedding": lambda: functional.embedding(torch.tensor([9]), ones(2, 2)),
    "a class": lambda: functional.nll_loss(ones(2, 3), torch.tensor([5, 5])),
    "a dimension": lambda: ones(3).sum(4),
    "elements": lambda: ones(5).view(2, 3),
    "an item": lambda: ones(3).item(),
    "no graph": lambda: ones(2).sum().backward(),
    "a scalar": lambda: leaf().exp().backward(),
    "two devices": lambda: ones(2) + ones(2, device="meta"),
    "a meta tensor's values": lambda: ones(2, device="meta").cpu(),
    "convolution": lambda: functional.conv2d(ones(1, 2, 3, 3), ones(1, 3, 1, 1)),
    "batch norm": lambda: nn.BatchNorm1d(3)(ones(1, 3)),
    "stack": lambda: torch.stack([ones(2), ones(3)]),
    "names of a checkpoint": lambda: nn.Linear(2, 2).load_state_dict({}),
    "an empty optimizer": lambda: torch.optim.SGD([], 0.1),
    "an attribute": lambda: ones(2).nothing,
    "an argument": lambda: torch.add(ones(2)),
    "einsum": lambda: torch.einsum("ij,jk->ik", ones(2, 3), ones(2, 3)),
    "gather": lambda: ones(2, 2).gather(0, torch.tensor([[5]])),
    "cholesky": lambda: torch.linalg.cholesky(-torch.eye(2)),
    "multinomial": lambda: torch.multinomial(torch.tensor([-1.0]), 1),
    "a module's shapes": lambda: nn.Linear(3, 2)(ones(2, 4)),
    "a sparse median": lambda: ones(2, 2).to_sparse().median(),
    "an operator that is not there": lambda: torch.ops.aten.nothing(ones(2)),
    "weights only": lambda: torch.load(Path(__file__)),
}
PASTED = {
    "integers": "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Int'",
    "NCCL": "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, unhandled cuda"
    " error",
    "jagged": """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    y = pool(x)
  File "lib/python3/site-packages/torch/nested/_internal/nested_tensor.py", line 368, in __torch_dispatch__
    raise NotImplementedError(func)
NotImplementedError: aten.avg_pool2d.default""",
    "an assertion": "RuntimeError: self_type == other INTERNAL ASSERT FAILED at"
    ' "/pytorch/aten/src/ATen/native/TensorShape.cpp":4321, please report a bug to PyTorch.',
    "cuDNN": "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    "cuBLAS": "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "memory": "RuntimeError: CUDA error: an illegal memory access was encountered",
    "an image": "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "a fork": "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must"
    " use the 'spawn' start method",
    "a worker": "RuntimeError: DataLoader worker (pid 1) is killed by signal: Bus error.",
    "ready twice": "RuntimeError: Expected to mark a variable ready only once.",
    "from VS Code": """发生异常: RuntimeError
mat1 and mat2 shapes cannot be multiplied (2708x7 and 256x256)
  File "/srv/me/model.py", line 246, in mask_prediction
    rep = self.encoder_to_decoder(enc_rep)
  File "/srv/me/model.py", line 229, in forward
    loss = self.mask_prediction(g, x)
  File "/srv/me/main.py", line 146, in <module>
    main(args)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (2708x7 and 256x256)""",
    "a log of NCCL": """\
[rank0]:[E624 09:29:06.968 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout
2025-06-24 17:29:06  [rank0]:[E624 09:29:06.969 ProcessGroupNCCL.cpp:1785] [PG ID 0 Rank 0] Exception detected by it
[rank0]:[E624 09:29:21.005 ProcessGroupNCCL.cpp:636] [Rank 0] To avoid data inconsistency, we are taking it down.""",
    "a worker and what Python ignored": """Traceback (most recent call last):
  File "/x/site-packages/torch/utils/data/_utils/signal_handling.py", line 66, in handler
    _error_if_any_worker_fails()
RuntimeError: DataLoader worker (pid 5) is killed by signal: Bus error. It is possible that it is out of memory.
Exception ignored in atexit callback: <function _MultiProcessingDataLoaderIter._clean_up_worker at 0x7f>
Traceback (most recent call last):
  File "/x/site-packages/torch/utils/data/dataloader.py", line 1475, in _clean_up_worker
    w.join(timeout=5)
  File "/usr/lib/python3.10/multiprocessing/process.py", line 149, in join
    res = self._popen.wait(timeout)""",
    "an error behind another": """Traceback (most recent call last):
  File "/x/site-packages/torch/serialization.py", line 853, in _save
    zip_file.write_record(name, storage, num_bytes)
RuntimeError: [enforce fail at inline_container.cc:764] . PytorchStreamWriter failed writing file data/94: it failed

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/train.py", line 77, in <module>
    torch.save(model.state_dict(), "last.pt")
KeyError: 'a name of ours'""",
    "an archive": "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
    "another argument's device": "RuntimeError: Expected all tensors to be on the same device, but found at least two"
    " devices, cpu and cuda:0! (when checking argument for argument index in method wrapper_CUDA__index_select)",
    "quantized": "NotImplementedError: Could not run 'quantized::conv2d.new' with arguments from the 'CPU' backend."
    " This could be because the operator doesn't exist for this backend",
    "a relative path": """Traceback (most recent call last):
  File "", line 32, in <module>
    torch.jit.script(model)
  File "torch/jit/_recursive.py", line 397, in create_methods_and_properties_from_stubs
    concrete_type._create_methods_and_properties(defs)
RuntimeError: the words of it""",
    "a Python in an archive": """  File "D:\\x\\Lib\\site-packages\\triton\\runtime\\build.py", line 70, in _build
    ret = subprocess.check_call(cc_cmd)
  File "subprocess.py", line 413, in check_call
RuntimeError: the words of it""",
    "another function of torch": """Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "/x/site-packages/torch/optim/lr_scheduler.py", line 853, in _of_another_release
    raise ValueError(
ValueError: the words of it""",
    "no kernel of attention": "RuntimeError: No available kernel. Aborting execution.",
}
TOLD_OF = re.compile(r"FAILED at|\.(?:cpp|cu|h)\b")


def text_of(name: str) -> str:
    if name in PASTED:
        return PASTED[name]
    try:
        RAISING[name]()
    except Exception:
        return traceback.format_exc()
    raise AssertionError(f"{name} raises nothing")


@pytest.mark.parametrize("name", [*RAISING, *PASTED])
def test_what_is_said_is_in_the_message(command: InProcess, tmp_path: Path, name: str) -> None:
    file, text = tmp_path / "pasted.txt", text_of(name)
    file.write_text(text, encoding="utf-8")
    result = command("explain-error", str(file), "--json")
    assert result.code == 0, result
    told = json.loads(result.out)
    for line in told["lines"]:
        path = line["source"]["path"] or line["name"].rpartition(":")[0]
        number = line["source"]["line"]
        assert re.search(rf'{re.escape(path.rpartition("/")[2])}"?:{number}\b', text), line
        assert f"registered at {path}" not in text, "that is where a kernel of another key comes from"
    for operator in told["operators"]:
        space, _, rest = operator.partition("::")
        assert f"{space}::{rest}" in text or f"{space}.{rest}" in text, operator
    if told["innermost"] is not None:
        raised = text.partition("Exception ignored")[0]
        left = re.findall(r'File "(.+)", line (\d+), in (.+)', raised)[-1]
        place = told["innermost"]["source"]
        assert left[0].endswith(place["path"] or place["outside"])
        assert (int(left[1]), left[2]) == (told["innermost"]["source"]["line"], told["innermost"]["name"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("integers", "the named kernel has no code for this dtype", marks=pytest.mark.words),
        pytest.param("integers in addmm", "the named kernel has no code for this dtype", marks=pytest.mark.words),
        ("NCCL", "names torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691"),
        ("an assertion", "names aten/src/ATen/native/TensorShape.cpp:4321"),
        ("jagged", "operators aten::avg_pool2d"),
        ("jagged", "__torch_dispatch__() torch/nested/_internal/nested_tensor.py:368"),
        ("jagged", "your line <module>: y = pool(x) train.py:3"),
        ("another function of torch", "your line <module> <stdin>:1"),
        ("from VS Code", "your line mask_prediction(): rep = self.encoder_to_decoder(enc_rep) /srv/me/model.py:246"),
        ("a log of NCCL", "names ProcessGroupNCCL.cpp:616"),
        ("a worker and what Python ignored", "torch/utils/data/_utils/signal_handling.py:66"),
        ("an error behind another", "handling RuntimeError: [enforce fail at inline_container.cc:764]"),
        ("an error behind another", 'your line <module>: torch.save(model.state_dict(), "last.pt") /srv/train.py:77'),
        pytest.param("quantized", "a tensor of floats", marks=pytest.mark.words),
    ],
)
def test_what_a_message_has_is_told(command: InProcess, tmp_path: Path, name: str, said: str) -> None:
    file = tmp_path / "pasted.txt"
    file.write_text(text_of(name), encoding="utf-8")
    assert said in " ".join(command("explain-error", str(file)).out.split())


def test_the_place_of_a_messages_words(command: InProcess, tmp_path: Path) -> None:
    """Of Python, the place is the line that raised; of C++, a library has the words (read here as plain bytes)."""
    file = tmp_path / "pasted.txt"
    try:
        nn.RNN(3, 2)(ones(1, 4))
    except RuntimeError as error:
        raised = traceback.extract_tb(error.__traceback__)[-1]
        file.write_text(traceback.format_exc(), encoding="utf-8")
    (place,) = json.loads(command("explain-error", str(file), "--json").out)["words"]["places"]
    assert place["function"] == f"RNNBase.{raised.name}"
    assert raised.filename.endswith(place["source"]["path"])
    begin, end = raised.lineno or 0, raised.end_lineno or 0  # type: ignore[attr-defined]
    if TARGET is None:  # this process raised it, with its own torch
        assert begin <= place["source"]["line"] <= end

    file.write_text(text_of("a view of other strides"), encoding="utf-8")
    told = json.loads(command("explain-error", str(file), "--json").out)["words"]
    assert told["libraries"][:1] == ["libtorch_cpu.so"]
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    assert b"\0" + told["words"].encode() + b"\0" in library.read_bytes()
    assert not any(place["source"]["path"].endswith(".py") for place in told["places"]), "no frame of torch raised it"


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("from VS Code", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2708x7 and 256x256)"),
        ("a log of NCCL", "Watchdog caught collective operation timeout"),
        ("an error behind another", "KeyError: 'a name of ours'"),
    ],
)
def test_the_heading_is_the_error_alone(command: InProcess, tmp_path: Path, name: str, heading: str) -> None:
    file = tmp_path / "pasted.txt"
    file.write_text(PASTED[name], encoding="utf-8")
    assert command("explain-error", str(file)).out.splitlines()[0] == heading


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("an archive", "caffe2/serialize/inline_container.cc"),
        ("another argument's device", "aten/src/ATen/core/adaption.cpp"),
        ("a view of other strides", "aten/src/ATen/native/TensorShape.cpp"),
        ("ready twice", "torch/csrc/distributed/c10d/reducer.cpp"),
    ],
)
def test_the_statement_of_cpp_has_the_words(
    sourced_command: InProcess, source_tree: Path, tmp_path: Path, name: str, path: str
) -> None:
    """The answer comes before the places, each precision is said once, and each place has the words that are shown."""
    file = tmp_path / "pasted.txt"
    file.write_text(text_of(name), encoding="utf-8")
    told = json.loads(sourced_command("explain-error", str(file), "--json").out)["words"]
    assert told["places"][0]["source"]["path"] == path
    for place in told["places"]:
        lines = (source_tree / place["source"]["path"]).read_text(encoding="utf-8").split("\n")
        near = " ".join(lines[max(0, place["source"]["line"] - 12) : place["source"]["line"] + 12])
        literals = " ".join("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', near)).split())
        assert told["words"] in literals
    lines = sourced_command("explain-error", str(file)).out.splitlines()
    labels = [line[2:15].strip() for line in lines[1:]]
    assert labels.index("why") < labels.index("written in")
    assert sum("version-skew" in line for line in lines) <= 1


def test_a_line_of_another_release_is_not_confirmed(command: InProcess, tmp_path: Path) -> None:
    """A header of this torch throws at that line, but another message: the text is from an older release."""
    file, header = tmp_path / "pasted.txt", torch_folder() / "include" / "c10" / "core" / "TensorImpl.h"
    lines = header.read_text(encoding="utf-8").split("\n")
    line = next(number for number, text in enumerate(lines, 1) if "required rank 4 tensor to use channels_last" in text)
    line -= lines[0].startswith("#if !defined(TORCH_STABLE_ONLY)")  # which the wheel puts before the file
    for message, precision in (
        ("required rank 4 tensor to use channels_last format", "registered"),
        ("status != 0", "unknown"),
    ):
        file.write_text(
            f'RuntimeError: {message} INTERNAL ASSERT FAILED at "../c10/core/TensorImpl.h":{line}, please report a bug',
            encoding="utf-8",
        )
        (told,) = json.loads(command("explain-error", str(file), "--json").out)["lines"]
        assert (told["source"]["line"], told["source"]["precision"]) == (line, precision)
        assert bool(told["text"]) is (precision == "registered")


def test_your_line_and_torchs_have_their_text(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "pasted.txt"
    file.write_text(PASTED["jagged"], encoding="utf-8")
    told = " ".join(command("explain-error", str(file)).out.split())
    assert "<module>: y = pool(x) train.py:3" in told
    assert "nested_tensor.py:368 (as the text says): raise NotImplementedError(func)" in told


def test_what_is_not_known_is_said_and_nothing_else(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "pasted.txt"
    file.write_text("ZebraError: the stripes are not known", encoding="utf-8")
    result = command("explain-error", str(file))
    assert (result.code, result.out.split()[-3:]) == (0, ["why", "not", "known"])


@pytest.mark.parametrize("name", ["a relative path", "a Python in an archive"])
def test_no_line_of_a_library_is_yours(command: InProcess, tmp_path: Path, name: str) -> None:
    file = tmp_path / "pasted.txt"
    file.write_text(PASTED[name], encoding="utf-8")
    told = json.loads(command("explain-error", str(file), "--json").out)
    assert told["yours"] is None
    assert told["innermost"] is not None


def test_a_long_message_is_cut_in_its_middle(command: InProcess, tmp_path: Path) -> None:
    """The class that the file has stands at the end of torch's message."""
    script = tmp_path / "load.py"
    script.write_text(
        "import io, torch\nclass Scaler: pass\nfile = io.BytesIO()\ntorch.save(Scaler(), file)\nfile.seek(0)\n"
        "torch.load(file)\n",
        encoding="utf-8",
    )
    shown = command("trace", "--script", str(script)).out
    told = " ".join(shown.split())
    assert "Weights only load failed." in told
    assert "GLOBAL __main__.Scaler was not an allowed global" in told
    assert "[1m" not in told
    assert "--explain error" in told
