"""Regenerate autograd's C++ and Python bindings with the target's own torchgen, then write down torchgen's model.

One process does both: the model needs what the generators have parsed, and torchgen caches that.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from . import model, tools


def generate(arguments: argparse.Namespace, report: tools.Report) -> None:
    """Write torch/csrc/autograd/generated, and the model in ptexplore/, below `arguments.out`."""
    out, packaged = Path(arguments.out), Path(arguments.packaged)
    generated = out / "torch/csrc/autograd/generated"
    generated.mkdir(parents=True, exist_ok=True)
    gen_autograd = importlib.import_module("torchgen.packaged.autograd.gen_autograd")
    selector = importlib.import_module("torchgen.selective_build.selector").SelectiveBuilder.get_nop_selector()
    tools.assert_origin(arguments.torchgen)
    tools.pose_as("tools/setup_helpers/generate_code.py")
    tools.watch_files(report)
    native = packaged / "ATen" / "native"
    inputs = (
        str(native / "native_functions.yaml"),
        str(native / "tags.yaml"),
        str(generated),
        str(packaged / "autograd"),
    )
    gen_autograd.gen_autograd_python(*inputs)
    gen_autograd.gen_autograd(*inputs, selector)
    aids = out / "ptexplore"
    aids.mkdir(exist_ok=True)
    model.write(packaged, aids)
    report({"file": "model.json"})
