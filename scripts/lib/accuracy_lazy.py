"""What torchgen's lazy backend writes when PyTorch is built: its input is in the source tree, not in the wheel.

So ptexplore's generated layer has none of it. It is made here, by the wheel's own torchgen from the tree's YAML, as
tools/setup_helpers/generate_code.py does, to verify which names of the binary come from it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from lib.accuracy_names import plain

from ptexplore.cpp.macros import collect
from ptexplore.index.cpp.extract import extract
from ptexplore.model.places import Runtime

_GENERATE = """
import sys
packages, aten, tree, out = sys.argv[1:]
sys.path.insert(0, packages)
from torchgen.dest.lazy_ir import GenTSLazyIR
from torchgen.gen_lazy_tensor import run_gen_lazy_tensor
run_gen_lazy_tensor(
    aten_path=aten, source_yaml=f"{tree}/aten/src/ATen/native/ts_native_functions.yaml", backend_name="TorchScript",
    output_dir=out, dry_run=False, impl_path=f"{tree}/torch/csrc/lazy/ts_backend/ts_native_functions.cpp",
    node_base="TsNode", node_base_hdr="torch/csrc/lazy/ts_backend/ts_node.h", build_in_tree=True,
    shape_inference_hdr=f"{tree}/torch/csrc/lazy/core/shape_inference.h", lazy_ir_generator=GenTSLazyIR,
    per_operator_headers=True, gen_forced_fallback_code=True,
)
"""


def names(runtime: Runtime, tree: str) -> tuple[set[str], set[str]]:
    """Qualified names, as compared, of that layer's functions and of its classes; empty where it cannot be made."""
    if runtime.torchgen_dir is None or runtime.packaged_dir is None:
        return set(), set()
    with tempfile.TemporaryDirectory() as out:
        where = [str(Path(runtime.torchgen_dir).parent), f"{runtime.packaged_dir}/ATen", tree, out]
        made = subprocess.run(
            (sys.executable, "-I", "-B", "-c", _GENERATE, *where), cwd="/", capture_output=True, text=True, check=False
        )
        if made.returncode:
            print(f"  the lazy layer cannot be made: {made.stderr.strip()[-300:]}", file=sys.stderr)
            return set(), set()
        texts = [(file.name, file.read_text(encoding="utf-8")) for file in sorted(Path(out).rglob("*.*"))]
    macros = collect(texts)
    found = [one for path, text in texts for one in extract(path, text, macros)[0]]
    functions = {plain(one.qualified) for one in found if one.kind == "function"}
    return functions, {plain(one.qualified) for one in found if one.kind in ("class", "struct")}
