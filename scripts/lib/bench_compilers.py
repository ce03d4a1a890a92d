"""What `compile` and `lower` cost: beside the same program alone, and beside torch's own work for the same rungs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lib.measure import ROOT, Bench, Row, Sample, median

SETUP = "f = torch.compile(lambda x: (x.sin() + 1).sum(), backend='eager')"
CALLS = "f(torch.randn(3)), f(torch.randn(4))"
# The training step of examples/gpt.py, compiled. Neither run finds anything in a cache of torch's.
STEP = """
import sys
sys.path.append({examples!r})
import gpt
import torch
import torch._inductor.config as config
config.force_disable_caches = True
torch.manual_seed(0)
model = gpt.GPT()
adamw = torch.optim.AdamW(model.parameters(), lr=3e-4)
print(gpt.train(torch.compile(model), adamw))
"""
MODULE = "torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))"
# What torch itself does for the default rungs, one after the other in one process, and nothing else.
RUNGS = """
import torch
from torch.export import export
from torch.fx.experimental.proxy_tensor import make_fx
from torch._functorch.aot_autograd import aot_module, make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._prims.context import TorchRefsMode
m, x = {module}, torch.randn(2, 8)
torch.fx.symbolic_trace(m)
torch.jit.trace(m, x)
torch.jit.script(m)
make_fx(m)(x)
program = export(m, (x,))
program.run_decompositions({{}})
core = program.run_decompositions()
with torch.no_grad(), TorchRefsMode():
    make_fx(core.module())(x)
compiler = lambda graph, _: make_boxed_func(graph)
aot_module(m, compiler, compiler, partition_fn=min_cut_rematerialization_partition)(x).sum().backward()
"""


def compilers_rows(bench: Bench, folder: Path, runs: int, progress: Callable[[str], None]) -> list[Row]:
    """Every row about `compile` and `lower`."""
    bench.ptexplore("op", "add")  # the catalogue is there
    step = folder / "compiled_step.py"
    step.write_text(STEP.format(examples=str(ROOT / "examples")), encoding="utf-8")
    plain: dict[str, tuple[str, ...]] = {
        "eager": ("-c", f"import torch\n{SETUP}\n{CALLS}"),
        "step": (str(step),),
        "rungs": ("-c", RUNGS.format(module=MODULE)),
    }
    ours: dict[str, tuple[str, ...]] = {
        "eager": ("compile", CALLS, "--setup", SETUP),
        "step": ("compile", "--script", str(step), "--timeout", "3600"),
        "rungs": ("lower", "m(x)", "--setup", f"m = {MODULE}", "--var", "x=torch.randn(2, 8)", "--grad"),
    }
    alone: dict[str, list[Sample]] = {name: [] for name in plain}
    with_us: dict[str, list[Sample]] = {name: [] for name in plain}
    for number in range(runs):
        for name, command in plain.items():
            progress(f"{name} {number + 1} of {runs}")
            alone[name].append(bench.run_python(*command))
            with_us[name].append(bench.ptexplore(*ours[name]))
    took = {name: median(samples) for name, samples in alone.items()}
    screens = {name: len(samples[0].output.decode().splitlines()) for name, samples in with_us.items()}

    def row(what: str, name: str, factor: float, more: float) -> Row:
        note = f"{median(with_us[name]) / took[name]:.2f} x the same without ptexplore, {took[name]:.2f} s"
        return Row(what, median(with_us[name]), "s", round(factor * took[name] + more, 2), note)

    return [
        row("compile an expression, backend eager", "eager", 2, 0.5),
        row("compile a GPT step (inductor, no caches)", "step", 1.1, 0),
        Row("compile a GPT step: rows of the first screen", screens["step"], "rows", 60),
        row("lower a small module, the default rungs", "rungs", 1.15, 0.5),
    ]
