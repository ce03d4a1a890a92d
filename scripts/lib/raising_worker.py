"""The half of scripts/raising that runs in the Python that has torch: OpInfo's samples, written to or wrong ones.

Its answer is JSON lines on stdout. For writes each operator is one forked child, and each case a line; a wrong sample
is the messages of a trace, between a line that names it and one that ends it.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

MODIFIED = re.compile(r"inplace operation: \[([^\]]*\]?)\].* is at version (\d+); expected version (\d+)", re.DOTALL)
# What is written, and the operator that does it by the text of derivatives.yaml and python_variable_indexing.cpp.
WRITES = (
    ("{0}.mul_(2)", "aten::mul_.Tensor"),
    ("{0} += 1", "aten::add_.Tensor"),
    ("{0}.view(-1)[:1].zero_()", "aten::zero_"),
    ("torch.neg_({0})", "aten::neg_"),
    ("{0}.detach().sub_(1)", "aten::sub_.Tensor"),
    ("{0}[..., :1].fill_(3)", "aten::fill_.Scalar"),
    ("{0}.unsqueeze(0).copy_({0}.clone())", "aten::copy_"),
    ("{0}.clamp_(0, 1)", "aten::clamp_"),
)
DECOYS = ("pass", "z.add_(1)", "z[..., :1].zero_(); z += 1")
LINE = 5  # of the write, in CODE
CODE = """\
def f():
    {inputs}
    z = torch.ones(2, 2)
    out = call({names})
    {write}
    {decoy}
    whole = sum(o.sum() for o in outputs(out))
    (whole.real if whole.is_complex() else whole).backward()
"""


def load_probe(file: str) -> None:
    """Make the recorders importable."""
    spec = importlib.util.spec_from_file_location("probe_main", file)
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load_siblings()


def outputs(value: Any) -> list[Any]:
    """The tensors of a result of which backward can run."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad else []
    return [o for item in value for o in outputs(item)] if isinstance(value, (list, tuple)) else []


def mutations(op: Any, seed: int) -> Iterator[dict[str, Any]]:
    """Writes planted into one operator's sample: of those that torch refuses, what the run of its own says."""
    import torch
    from _ptexplore_probe import writes  # type: ignore[import-not-found]

    torch.manual_seed(seed)
    sample = next(iter(op.sample_inputs("cpu", torch.float64, requires_grad=True)), None)
    if sample is None:
        return
    flat = [sample.input, *sample.args]
    given = [n for n, value in enumerate(flat) if isinstance(value, torch.Tensor) and value.is_floating_point()]
    names = [f"v{n}" for n in range(len(flat))]
    targets = [*(f"v{n}" for n in given), "out"]
    for number, (target, (write, operator)) in enumerate(itertools.product(targets, WRITES)):
        values = {f"g{n}": value for n, value in enumerate(flat)}
        inputs = "; ".join(f"v{n} = g{n}.clone()" if n in given else f"v{n} = g{n}" for n in range(len(flat)))
        call: Callable[..., Any] = lambda *a: op.op(*a, **sample.kwargs)  # noqa: E731
        text = write.format(target)
        code = CODE.format(inputs=inputs, names=", ".join(names), write=text, decoy=DECOYS[number % len(DECOYS)])
        scope: dict[str, Any] = {"torch": torch, "outputs": outputs, "call": call, **values}
        try:
            exec(compile(code, "<plain>", "exec"), scope)
            scope["f"]()
        except Exception as error:  # noqa: BLE001 -- whatever a sample raises
            match = MODIFIED.search(str(error))
            if match is None:
                continue
        else:
            continue
        request = {"expression": "f()", "setup": [code], "variables": [], "contexts": [], "grad": False,
                   "backward": False, "script": None, "seed": seed,
                   "sample": lambda v=values, c=call: ("f()", {"outputs": outputs, "call": c, **v})}  # fmt: skip
        try:
            seen = [o["data"] for o in writes.run(request)["observations"]]
        except Exception as error:  # noqa: BLE001 -- the pass is what is tested
            seen, why = [], repr(error)
        else:
            why = ""
        sizes, *counts = match[1].partition(" [")[2], int(match[2]), int(match[3])
        fitting = [
            s for s in seen if [s["version"], s["expected"]] == counts and s["tensor"].partition(" [")[2] == sizes
        ]
        writers = [(w["at"]["line"], tuple(w["operators"])) for w in fitting[-1]["writes"]] if fitting else []
        yield {"op": op.full_name, "write": text, "code": code, "named": writers, "found": bool(fitting), "why": why,
               "right": bool(writers) and all(w == (LINE, (operator,)) for w in writers)}  # fmt: skip


def forked(work: Callable[[], Iterator[dict[str, Any]]], name: str) -> None:
    """Do it in a child and print what it tells; a child that dies is told of."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        try:
            for row in work():
                print(json.dumps(row), flush=True)
        except BaseException as error:  # noqa: BLE001 -- the child ends here
            print(json.dumps({"op": name, "failed": repr(error)[:300]}), flush=True)
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    if os.WIFSIGNALED(status):
        print(json.dumps({"op": name, "failed": f"killed by signal {os.WTERMSIG(status)}"}), flush=True)


def wrong_samples(op: Any, seed: int) -> None:
    """Trace each wrong sample of an operator: the messages of its passes, and of the run that tells who threw."""
    import torch
    from _ptexplore_probe import trace
    from _ptexplore_probe.isolate import Channel  # type: ignore[import-not-found]

    torch.manual_seed(seed)
    channel = Channel(sys.stdout.fileno())
    for number, wrong in enumerate(op.error_inputs("cpu")):
        sample = wrong.sample_input
        values = {f"v{n}": value for n, value in enumerate((sample.input, *sample.args))}
        named = {f"k_{name}": value for name, value in sample.kwargs.items()}
        given = [*values, *(f"{name.removeprefix('k_')}={name}" for name in named)]
        expression = f"call({', '.join(given)})"
        bound = {"call": op.op, **values, **named}
        request = {"expression": expression, "setup": [], "variables": [], "contexts": [], "grad": False,
                   "backward": False, "script": None, "seed": seed, "once": False, "native": False, "timeout": 60,
                   "first": False, "sample": lambda e=expression, b=bound: (e, b)}  # fmt: skip
        kind = getattr(wrong.error_type, "__name__", str(wrong.error_type))
        channel.send({"type": "case", "op": op.full_name, "number": number, "expression": expression,
                      "exception": kind, "pattern": wrong.error_regex})  # fmt: skip
        trace.run_passes(request, {}, channel)
        channel.send({"type": "again"})
        trace.run_again_for_stack(request, channel)
        channel.send({"type": "done"})


def main() -> None:
    """`probe` is the file of the probe, `what` is writes or wrong, `only` a regular expression of operators."""
    probe, what, only = sys.argv[1:4]
    load_probe(probe)
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    for op in op_db:
        if not re.search(only, op.full_name):
            continue
        if what == "writes":
            if op.supports_autograd and torch.float64 in op.supported_backward_dtypes("cpu"):
                forked(lambda op=op: mutations(op, 0), op.full_name)
        elif op.error_inputs_func is not None:
            wrong_samples(op, 0)


if __name__ == "__main__":
    main()
