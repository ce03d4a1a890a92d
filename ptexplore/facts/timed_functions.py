"""Python functions of PyTorch that have a row of their own in a recorded program.

All other functions of PyTorch are folded into the row that called them. The recorder has the same table
(`TIMED` and `COMPILERS` of `probe/labels.py`), since it imports nothing of ptexplore.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ptexplore.facts.source import FactSource


class TimedFunctions(NamedTuple):
    """Functions of one file or folder inside `torch/`, and the kind of part that a call of them is."""

    part: Literal["optimizer", "data", "backward", "compiling"]
    path: str  # a folder ends with `/`
    names: tuple[str, ...]
    file: str  # a file that has them


TIMED = (
    TimedFunctions("optimizer", "optim/", ("step", "zero_grad", "__init__"), "optim/optimizer.py"),
    TimedFunctions("optimizer", "amp/grad_scaler.py", ("scale", "unscale_", "step", "update"), "amp/grad_scaler.py"),
    TimedFunctions(
        "optimizer", "nn/utils/clip_grad.py", ("clip_grad_norm_", "clip_grad_value_"), "nn/utils/clip_grad.py"
    ),
    TimedFunctions("optimizer", "nn/modules/module.py", ("zero_grad",), "nn/modules/module.py"),
    TimedFunctions("data", "utils/data/", ("__next__",), "utils/data/dataloader.py"),
    TimedFunctions("backward", "_tensor.py", ("backward",), "_tensor.py"),
    TimedFunctions("backward", "autograd/__init__.py", ("backward", "grad"), "autograd/__init__.py"),
    TimedFunctions("compiling", "_dynamo/convert_frame.py", ("_compile",), "_dynamo/convert_frame.py"),
    TimedFunctions("compiling", "_inductor/compile_fx.py", ("bw_compiler",), "_inductor/compile_fx.py"),
)


def timed(file: str, name: str) -> TimedFunctions | None:
    """Returns the row for a function, given its file and its qualified name; None if it has no row of its own."""
    own = name.rpartition(".")[2]
    inside = f"/{file}".rpartition("/torch/")[2]
    return next((row for row in TIMED if own in row.names and _has(row, inside)), None)


def _has(row: TimedFunctions, file: str) -> bool:
    return file.startswith(row.path) if row.path.endswith("/") else file == row.path


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    for row in TIMED:
        for name in row.names:
            yield f"timed function {name}", FactSource(f"torch/{row.file}", f"def {name}(")
