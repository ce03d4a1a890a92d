"""Errors as pytest, rich, logging and torch's ranks really print them; those of mail and docker as pasted."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ptexplore.resolve.pasted import lines_of, of_ranks, plain
from ptexplore.resolve.pasted_errors import errors_in

RAISING = """\
def outer():
    inner()

def inner():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")
"""
ERROR = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
BARE = f"""Traceback (most recent call last):
  File "/x/train.py", line 12, in <module>
    main()
{ERROR}"""


@pytest.fixture
def raising(tmp_path: Path) -> Path:
    file = tmp_path / "raising.py"
    file.write_text(RAISING, encoding="utf-8")
    return file


def raised_from(file: Path) -> None:
    names: dict[str, object] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    names["outer"]()  # type: ignore[operator]


def frames(text: str, file: Path) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f'  File "{file}"')]


def test_what_python_prints_is_left_as_it_is() -> None:
    assert plain(BARE) == BARE


def test_of_pytests_output(raising: Path) -> None:
    test = raising.with_name("test_it.py")
    test.write_text("from raising import outer\n\ndef test_it():\n    outer()\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(test.parent), str(test)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=test.parent, check=False).stdout
    assert f"E       {ERROR}" in told
    assert ERROR in plain(told).splitlines()
    assert '  File "raising.py", line 5' in plain(told).splitlines()


def test_of_richs_boxes(raising: Path) -> None:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=200, force_terminal=True)
    try:
        raised_from(raising)
    except RuntimeError:
        console.print_exception()
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert "│" in told
    assert frames(plain(told), raising)[-1] == f'  File "{raising}", line 5, in inner'
    assert ERROR in plain(told).splitlines()


def test_of_a_log(raising: Path) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("train.loop")
    logger.addHandler(handler)
    try:
        raised_from(raising)
    except RuntimeError as error:
        logger.error("%s: %s", type(error).__name__, error)
    finally:
        logger.removeHandler(handler)
    assert not stream.getvalue().startswith("Runtime")
    assert plain(stream.getvalue()).strip() == ERROR


def test_of_what_a_rank_of_torch_prints(raising: Path) -> None:
    script = raising.with_name("train.py")
    script.write_text(
        "import torch.distributed as dist\n"
        f"dist.init_process_group('gloo', init_method='file://{raising.parent}/store', rank=0, world_size=1)\n"
        "from raising import outer\nouter()\n",
        encoding="utf-8",
    )
    told = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False).stderr
    assert f"[rank0]: {ERROR}" in told
    (rank,) = of_ranks(told)
    assert rank.ranks == ("0",)
    assert frames(rank.text, raising)[-1] == f'  File "{raising}", line 5, in inner'
    assert rank.text.splitlines()[-1] == ERROR


@pytest.mark.parametrize(
    "before",
    [
        "[default3]:", "[rank12]: ", "(RayTrainWorker pid=71, ip=10.0.0.1) ", "(pid=71) ", "trainer-1  | ",
        "2026-01-02T03:04:05.678Z ", "2026-01-02 03:04:05,678 ERROR ", "[2026-01-02 03:04:05] ", "\x1b[31m",
        "2: ", "worker-1: ", "[1,3]<stderr>:", "ERROR:root:", "ERROR 01-02 03:04:05 core.py:586] ",
        "(EngineCore_0 pid=71) ERROR 01-02 03:04:05 [core.py:586] ", "[default0]:[rank3]: ",
        "[rank1]:E1118 11:34:26.548000 1260768 site-packages/torch/_guards.py:300] [0/0] ",
        "[2026-01-02 03:04:05,678] [ERROR] [launch.py:321:sigkill_handler] ",
        "2026-01-02 03:04:05.678 | ERROR    | __main__:main:12 - ",
    ],
)  # fmt: skip
def test_what_stands_before_each_line_is_removed(before: str) -> None:
    assert plain(textwrap.indent(BARE, before, lambda _line: True)) == BARE


def test_of_a_quoted_mail_and_of_ipython() -> None:
    for before in ("> ", ">", "> > "):
        assert plain(textwrap.indent(BARE, before, lambda _line: True)) == BARE
    cells = "Cell In[3], line 1\n----> 1 f(x)\n\nFile ~/net.py:12, in Net.forward(self, x)\n     11     y = x\n"
    assert plain(cells).splitlines()[0] == '  File "In[3]", line 1'
    assert plain(cells).splitlines()[3] == '  File "~/net.py", line 12, in Net.forward'


def test_a_text_is_read_without_the_marks_of_a_web_page() -> None:
    assert plain(f"```\n{BARE}\n```").strip() == BARE
    assert plain(f"`{BARE}`") == BARE
    assert plain(BARE.replace("\n", "\\n").replace('"', '\\"')) == BARE
    assert (
        plain("RuntimeError: when calling `cublasCreate(handle)``")
        == "RuntimeError: when calling `cublasCreate(handle)`"
    )


def test_a_logged_line_keeps_what_the_logger_said() -> None:
    text = (
        "[rank0]:[E624 09:29:06.968 ProcessGroupNCCL.cpp:616] [PG ID 0 PG GUID 0(default_pg) Rank 0] Watchdog caught it"
    )
    (line,) = lines_of(text)
    assert line.text == "Watchdog caught it"
    assert line.logged is not None
    assert (line.logged.level, line.logged.place) == ("E", "ProcessGroupNCCL.cpp:616")
    assert [each.logged is None for each in lines_of(BARE)] == [True] * 4


def test_a_table_in_a_message_is_no_prefix() -> None:
    table = f"{ERROR}\nname  | size\nx     | 3"
    assert plain(table) == table


def test_ranks_that_end_alike_are_together() -> None:
    other = BARE.replace(ERROR, "ValueError: no data for rank 7")
    lines = [(rank, line) for rank, text in enumerate((BARE, other, BARE)) for line in text.splitlines()]
    mixed = "\n".join(f"[rank{rank}]: {line}" for rank, line in sorted(lines, key=lambda pair: pair[1]))
    assert [some.ranks for some in of_ranks(mixed)] == [("0", "2"), ("1",)]
    assert of_ranks(BARE) == []


def test_what_ranks_log_beside_a_traceback_does_not_hide_it() -> None:
    warning = "[rank0]:[W1130 03:04:05.6 ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was not called"
    for text in (f"{warning}\n{BARE}", f"{BARE}\n{warning}", f"{BARE}\n[0]: 1.5\n[1]: 2.5"):
        assert of_ranks(text) == []
        assert BARE in plain(text)
    agent = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \ntrain.py FAILED"
    other = "\n".join(f"[rank1]: {line}" for line in BARE.splitlines())
    assert [(some.ranks, some.text.splitlines()[-1]) for some in of_ranks(f"{warning}\n{other}\n{agent}")] == [
        (("1",), ERROR),
        (("0",), plain(warning)),
    ]


def test_a_long_line_costs_nothing() -> None:
    lines = ("[rank0]:", "> ", "a", "E  ", "| ", "│ ", "│  ❱ 1 │ ", "`", " ", "1: ", "a: ")
    for text in (line * 100_000 for line in lines):
        assert isinstance(plain(text), str)
        assert isinstance(errors_in(lines_of(text)), tuple)


@pytest.mark.parametrize(
    "pasted",
    [
        f"I get this when I train. How do I solve it?\n\n`{ERROR}`",
        f"I got this error: **{ERROR}** ",
        f"I get an error: `{ERROR}`\nI load the weights that you have. How to solve it?",
        f"The key error seems to be `{ERROR}`. It also works without a `block_mask`.",
        f'location: "models/layer.py", line 438,error: mask[b] = 1 {ERROR}',
        f"jacrev(func)(x)\n# {ERROR}",
        f"{BARE[: -len(ERROR)]} {ERROR}",
    ],
)
def test_an_error_inside_of_a_line_is_the_error_alone(pasted: str) -> None:
    (error,) = [error for error in errors_in(lines_of(pasted)) if error.exception]
    assert error.first_line == ERROR


def test_a_traceback_as_a_text_of_python_is_read() -> None:
    escaped = repr(f"Caught RuntimeError in DataLoader worker process 0.\nOriginal {BARE}\n")
    pasted = f"wandb: ERROR Run a1 errored: RuntimeError({escaped})\nwandb: more\nwandb: and more"
    error = errors_in(lines_of(pasted))[-1]
    assert error.first_line == ERROR
    assert [frame.file for frame in error.frames] == ["/x/train.py"]


def test_an_error_of_pytest_is_as_far_in_as_the_code() -> None:
    """The line of code above it may be inside of many blocks."""
    assert plain(f"{'E':<28}{ERROR}") == ERROR


def test_sizes_of_a_web_page_are_written_as_torch_does() -> None:
    assert (
        plain("shapes cannot be multiplied (2×1568 and 1050×10)") == "shapes cannot be multiplied (2x1568 and 1050x10)"
    )


def test_an_error_of_cpp_has_no_frames_in_its_message() -> None:
    frames = "frame #0: c10::Error::Error(c10::SourceLocation) + 0x6a (0x7f29 in /x/libc10.so)\nframe #1: main + 0x63"
    says = f"the file is cut. (f at /x.cc:3)\n{frames}"
    mac = f"libc++abi.dylib: terminating with uncaught exception of type c10::Error: {says}"
    gnu = f"terminate called after throwing an instance of 'c10::Error'\n  what():  {says}"
    for pasted in (mac, gnu):
        (error,) = errors_in(lines_of(pasted))
        assert (error.exception, error.message) == ("c10::Error", "the file is cut. (f at /x.cc:3)")
