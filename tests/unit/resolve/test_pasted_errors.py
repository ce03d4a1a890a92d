"""The errors of a pasted text: as Python and torch really print them, and which of them is the one to explain."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ptexplore.resolve.pasted import lines_of
from ptexplore.resolve.pasted_errors import PastedError, errors_in, joined_to, main_error

ERROR = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"


def printed(folder: Path, code: str, *options: str) -> str:
    """What Python prints if it runs a script with this code."""
    script = folder / "train.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, *options, str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder).stderr


def main_of(text: str) -> tuple[PastedError, tuple[PastedError, ...]]:
    errors = errors_in(lines_of(text))
    main = main_error(errors)
    assert main is not None
    return main, joined_to(errors, main)


RAISING = f"""
def raising():
    raise RuntimeError({ERROR.partition(": ")[2]!r})

"""


@pytest.mark.parametrize(
    ("code", "first_lines", "links"),
    [
        ("raising()", [ERROR], [""]),
        (
            "try:\n    raising()\nexcept RuntimeError:\n    raise KeyError('layer')",
            ["KeyError: 'layer'", ERROR],
            ["handling", ""],
        ),
        (
            "try:\n    raising()\nexcept RuntimeError as error:\n    raise ValueError('a wrapper') from error",
            ["ValueError: a wrapper", ERROR],
            ["cause", ""],
        ),
        ("import warnings\nwarnings.warn('before')\nraising()", [ERROR], [""]),
        (
            "class Loader:\n    def __del__(self):\n        raise AttributeError('workers')\nit = Loader()\nraising()",
            [ERROR],
            [""],
        ),
        ("import atexit\natexit.register(lambda: 1 / 0)\nraising()", [ERROR], [""]),
    ],
)
def test_of_what_python_prints(tmp_path: Path, code: str, first_lines: list[str], links: list[str]) -> None:
    text = printed(tmp_path, RAISING + code)
    main, led = main_of(text)
    assert [error.first_line for error in (main, *led)] == first_lines, text
    assert [error.link for error in (main, *led)] == links
    innermost = (main, *led)[-1].frames[-1]
    assert (innermost.function, innermost.line) == ("raising", 3)
    assert innermost.text.startswith("raise RuntimeError(")


def test_of_a_thread_with_a_fault(tmp_path: Path) -> None:
    code = (
        "import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
        "def crash():\n    ctypes.string_at(0)\n\ncrash()\n"
    )
    errors = errors_in(lines_of(printed(tmp_path, code, "-X", "faulthandler")))
    assert main_error(errors) is None
    (current,) = [error for error in errors if error.is_current]
    assert [frame.line for frame in current.frames if frame.file.endswith("train.py")] == [6, 4]


FRAMES = (
    '  File "/srv/me/net.py", line 246, in mask_prediction\n    rep = self.decoder(enc)',
    '  File "/srv/me/net.py", line 229, in forward\n    loss = self.mask_prediction(g, x)',
    '  File "/srv/me/main.py", line 146, in <module>\n    main(args)',
)


def order(*lines: str) -> list[int]:
    return [frame.line for frame in main_of("\n".join(lines))[0].frames]


def test_frames_may_begin_with_the_innermost() -> None:
    """VS Code, Sentry: neither the order nor its name is Python's."""
    words = ERROR.partition(": ")[2]
    outermost_first = [146, 229, 246]
    assert order(f"Exception has occurred: RuntimeError\n{words}", *FRAMES) == outermost_first
    assert order(f"发生异常: RuntimeError\n{words}", *FRAMES, ERROR) == outermost_first
    assert order("Traceback (most recent call first):", *FRAMES, ERROR) == outermost_first
    assert order("Traceback (most recent call last):", *FRAMES[::-1], ERROR) == outermost_first
    assert order(*FRAMES[::-1], ERROR) == outermost_first
    assert order(*(frame.partition("\n")[0] for frame in FRAMES), ERROR) == outermost_first
    assert order(*FRAMES[1::-1], ERROR) == [229, 246]
    an_import = '  File "/srv/me/ops.py", line 1, in <module>\n    from torch import nothing'
    assert order(FRAMES[0], an_import, "ImportError: x") == [246, 1]


def test_of_torchs_logs() -> None:
    """Of several lines of a log, those of level E are errors; each line of one call belongs together."""
    torch_logs = import_module("torch._logging._internal")
    record = logging.LogRecord("torch._dynamo", logging.ERROR, __file__, 9, f"failed\n{ERROR}\n  - and more", (), None)
    text = torch_logs.TorchLogsFormatter().format(record)
    assert text.count(ERROR) == 1
    main, _ = main_of(text)
    assert (main.exception, main.message.splitlines()) == ("RuntimeError", [ERROR.partition(": ")[2], "  - and more"])

    cpp = (
        "[W1130 03:04:05.6 socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500.",
        "[E1130 03:04:05.7 socket.cpp:500] [c10d] The server socket has failed to listen.",
        "[E1130 03:04:05.8 ProcessGroupNCCL.cpp:636] [Rank 0] The process goes down.",
    )
    main, _ = main_of("\n".join(cpp))
    assert main.first_line == "The server socket has failed to listen."
    assert main_of("\n".join((*cpp, ERROR)))[0].first_line == ERROR
    assert main_of("\n".join((ERROR, *cpp)))[0].message == ERROR.partition(": ")[2], (
        "a log behind a message is not part of it"
    )


def test_a_launchers_word_is_the_last_resort() -> None:
    errors = pytest.importorskip("torch.distributed.elastic.multiprocessing.errors")
    failure = errors.ProcessFailure(0, 71, -9, "<N/A>")
    error = errors.ChildFailedError("train.py", {0: failure})
    box = f"{type(error).__module__}.{type(error).__name__}: {error}"
    assert main_of(f"{ERROR}\n{box}")[0].first_line == ERROR
    main, _ = main_of(box)
    assert main.first_line.endswith("ChildFailedError: train.py FAILED")
    assert "exitcode  : -9" in main.message


def test_what_other_programs_print_behind_a_message_is_left_out() -> None:
    for other in (
        "  0%|          | 0/112620 [00:02<?, ?it/s]",
        "wandb: 1 error",
        "╭──── Traceback (most recent call last) ────╮",
    ):
        assert main_of(f"{ERROR}\n{other}")[0].message == ERROR.partition(": ")[2]


def test_a_line_of_torchscript_is_the_one_with_the_mark() -> None:
    """The line that the compiler names is not the first one that it prints, and Python was not in it."""
    torch = pytest.importorskip("torch")
    source = "def f(x):\n    a = x\n    b = a.nothing()\n    return b\n"
    with pytest.raises(RuntimeError) as caught:
        torch.jit.CompilationUnit(source)
    main, _ = main_of(
        'Traceback (most recent call last):\n  File "/srv/me.py", line 3, in <module>\n    script(f)\n'
        f"RuntimeError: {caught.value}"
    )
    assert [(frame.text, frame.of_graph) for frame in main.frames] == [("script(f)", False), ("b = a.nothing()", True)]
    assert main.frames[-1].line == 3


def test_a_missing_entry_of_a_checkpoint_is_raised_by_your_line(tmp_path: Path) -> None:
    """The error of a rank stands in the message of the error that all ranks raise."""
    torch = pytest.importorskip("torch")
    checkpoint = import_module("torch.distributed.checkpoint")
    code = (
        "import sys, torch\nimport torch.distributed.checkpoint as saved\n"
        "saved.load({'b': torch.ones(1)}, checkpoint_id=sys.argv[1])\n"
    )
    folder = tmp_path / "saved"
    checkpoint.save({"a": torch.ones(1)}, checkpoint_id=str(folder))
    script = tmp_path / "train.py"
    script.write_text(code, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    main, led = main_of(run.stderr)
    assert main.first_line == "RuntimeError: Missing key in checkpoint state_dict: b."
    assert main.link == "inner"
    assert (led[0].frames[0].file, led[0].frames[0].line) == (str(script), 3)


def test_a_stack_of_the_tracer_begins_with_the_innermost_function() -> None:
    (error,) = errors_in(
        lines_of(
            "Unsupported: ONNX export of operator Unfold, input size not accessible.\n"
            "    (node defined in d:\\net\\carafe.py(34): forward\n"
            "C:\\env\\site-packages\\torch\\nn\\modules\\module.py(1488): _slow_forward\n"
            "d:\\net\\tasks.py(159): _predict_once\n"
        )
    )
    assert [(frame.file[-9:], frame.line) for frame in error.frames][-1] == ("carafe.py", 34)
    assert all(frame.of_graph for frame in error.frames)


def test_a_report_of_comfyui_is_read() -> None:
    main, _ = main_of(
        "# ComfyUI Error Report\n- **Node Type:** KSampler\n- **Exception Type:** RuntimeError\n"
        "- **Exception Message:** Tensor for argument input is on cpu\nbut expected on mps\n\n## Stack Trace\n```\n"
        '  File "/srv/execution.py", line 323, in execute\n    run(model)\n\n'
        '  File "/srv/layers.py", line 88, in forward\n    y = self.to_k(x)\n        ^^^^^^^^^^^^\n```\n'
    )
    assert main.first_line == "RuntimeError: Tensor for argument input is on cpu"
    assert main.message.strip().endswith("but expected on mps")
    assert [(frame.function, frame.text) for frame in main.frames] == [
        ("execute", "run(model)"), ("forward", "y = self.to_k(x)"),
    ]  # fmt: skip


def test_what_pytest_prints_of_a_workers_error_is_read(tmp_path: Path) -> None:
    """pytest marks each line of a message; a traceback is in this one. It names no function beside its places."""
    pytest.importorskip("torch")
    (tmp_path / "test_words.py").write_text(
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "WORDS = [torch.ones(1), torch.ones(2)]\n"
        "def test_epoch():\n    for batch in DataLoader(WORDS, batch_size=2, num_workers=1):\n        print(batch)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "test_words.py"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    main, led = main_of(run.stdout)
    assert main.first_line.startswith("RuntimeError: stack expects each tensor to be equal size")
    yours = [frame for error in (main, *led) for frame in error.frames if frame.file == "test_words.py"]
    assert (yours[0].line, yours[0].text) == (5, "for batch in DataLoader(WORDS, batch_size=2, num_workers=1):")


def test_a_class_that_several_ranks_write_over_is_read() -> None:
    line = "terminate called after throwing an instance of 'c10::DistBackendErrorterminate called after throwing an"
    main, _ = main_of(f"{line} instance of ''\n  what():  [Rank 3] Watchdog caught collective operation timeout")
    assert main.exception == "c10::DistBackendError"


@pytest.mark.parametrize("link", ["https://localhost:8080/#", "vscode-notebook-cell:/x.ipynb#W0sZmlsZQ%3D%3D?line=1"])
def test_links_of_a_notebook_are_no_part_of_a_traceback(link: str) -> None:
    main, _ = main_of(
        f"RuntimeError    Traceback (most recent call last)\n[<ipython-input-8-7e>]({link}) in <cell line: 2>()\n"
        f"      1 x\n----> [2]({link}) f(y)\n\n"
        f"[/usr/lib/python3/dist-packages/torch/nn/modules/linear.py]({link}) in forward(self, input)\n"
        f"    113     def forward(self, input: Tensor) -> Tensor:\n--> 114         return F.linear(input)\n\n{ERROR}"
    )
    assert [(frame.file[-9:], frame.line, frame.text) for frame in main.frames] == [
        ("In[8]", 2, "f(y)"),
        ("linear.py", 114, "return F.linear(input)"),
    ]


def test_a_cell_of_ipython_8_0_has_its_line() -> None:
    main, _ = main_of(
        "RuntimeError        Traceback (most recent call last)\nInput In [18], in <cell line: 2>()\n      1 x = 1\n"
        "----> 2 train(x)\n\nInput In [13], in train(x)\n      4 y = x\n----> 5 step(y)\n\n" + ERROR
    )
    assert [(frame.file, frame.line, frame.text) for frame in main.frames] == [
        ("In[18]", 2, "train(x)"), ("In[13]", 5, "step(y)"),
    ]  # fmt: skip


def test_a_word_before_a_traceback_is_no_prefix_of_its_lines() -> None:
    main, _ = main_of(
        f'Error: Traceback (most recent call last):\n  File "/x/a.py", line 5, in <module>\n    f()\n{ERROR}'
    )
    assert main.first_line == ERROR
    assert main.frames[0].text == "f()"
