"""Regenerate ATen's C++ with the target's own torchgen, with the flags of cmake/Codegen.cmake."""

import importlib
import sys
from pathlib import Path

import torchgen_child as child


def generate(arguments, report):
    """Write build/aten/src/ATen and the AOTInductor shims below `arguments.out`."""
    out, packaged = Path(arguments.out), Path(arguments.packaged)
    gen = importlib.import_module("torchgen.gen")
    child.assert_origin(arguments.torchgen)
    child.pose_as("torchgen/gen.py")
    child.watch_files(report)
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
    if "headeronly-install-dir" in Path(gen.__file__).read_text(encoding="utf-8"):  # since 2.10
        sys.argv += ["--headeronly-install-dir", str(out / "build/torch/headeronly/core")]
    sys.argv += [f"--{flag}" for flag in arguments.flag]
    gen.main()


if __name__ == "__main__":
    child.run(generate)
