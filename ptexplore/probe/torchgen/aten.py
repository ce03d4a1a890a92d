"""Regenerate ATen's C++ with the target's own torchgen, with the flags of cmake/Codegen.cmake."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from . import tools


def generate(arguments: argparse.Namespace, report: tools.Report) -> None:
    """Write build/aten/src/ATen and the AOTInductor shims below `arguments.out`."""
    out, packaged = Path(arguments.out), Path(arguments.packaged)
    gen = importlib.import_module("torchgen.gen")
    tools.assert_origin(arguments.torchgen)
    tools.pose_as("torchgen/gen.py")
    tools.watch_files(report)
    sys.argv = [
        "gen.py",
        "--source-path",
        str(packaged / "ATen"),
        "--install_dir",
        str(out / "build/aten/src/ATen"),
        "--per-operator-headers",  # without it the line numbers are not those of the wheel
        "--aoti_install_dir",
        str(out / "torch/csrc/inductor/aoti_torch/generated"),
        "--generate",
        "sources",
    ]
    known = Path(str(gen.__file__)).read_text(encoding="utf-8")  # its options differ from release to release
    if '"--headeronly-install-dir"' in known:
        sys.argv += ["--headeronly-install-dir", str(out / "build/torch/headeronly/core")]
    sys.argv += [f"--{flag}" for flag in arguments.flag if f'"--{flag}"' in known]
    gen.main()
