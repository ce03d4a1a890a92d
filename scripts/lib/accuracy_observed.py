"""Strides, copies and choices in traces, compared with what the same torch answers when it is asked directly.

The questions go to a plain process of that torch: `Tensor.stride()`, `is_contiguous()`, whether a result shares the
argument's memory, and the functions that choose, called directly.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lib.accuracy_report import Figure, Report, machine

import ptexplore
from ptexplore import __version__
from ptexplore.model import details as says
from ptexplore.model.trace import Hop
from ptexplore.source.progress import Progress
from ptexplore.view.trace.choices import choices

# Layouts of which each has sizes of its own: so a recorded call has exactly one layout.
LAYOUTS = {
    "rows": "torch.randn(3, 4)",
    "columns": "torch.randn(5, 6).t()",
    "every_other": "torch.arange(49.0).reshape(7, 7)[::2]",
    "stepped": "torch.randn(6, 9)[:, ::3]",
    "expanded": "torch.randn(8, 1).expand(8, 5)",
    "one_row": "torch.randn(1, 11)[:, ::2]",
    "channels": "torch.randn(2, 3, 4, 6).to(memory_format=torch.channels_last)",
    "permuted": "torch.randn(2, 5, 7).permute(2, 0, 1)",
    "window": "torch.randn(12).unfold(0, 5, 2)",
    "diagonal": "torch.randn(10, 10).diagonal()",
    "half": "torch.randn(9, 2).half().t()",
    "offset": "torch.randn(13, 3)[2:, 1:]",
    "complex": "torch.randn(4, 9, dtype=torch.complex64).t()",
    "three": "torch.randn(3, 8, 2).transpose(1, 2)",
}
CALLS = {
    "clone": "{name}.clone()",
    "contiguous": "{name}.contiguous()",
    "reshape": "{name}.reshape(-1)",
}
ATTENTION = {
    "small": ("torch.ones(1, 2, 3, 4)", "q, q, q"),
    "dropout": ("torch.ones(1, 2, 3, 4)", "q, q, q, dropout_p=0.5"),
    "last stride": ("torch.ones(1, 2, 4, 3).mT", "q, q, q"),
}
CONVOLUTIONS = {
    "one image": ("torch.ones(1, 3, 16, 16)", "torch.ones(8, 3, 3, 3)"),
    "a batch": ("torch.ones(2, 3, 16, 16)", "torch.ones(8, 3, 3, 3)"),
    "float64": ("torch.ones(2, 3, 8, 8).double()", "torch.ones(8, 3, 3, 3).double()"),
}
_ASKED = f"""
import json, torch
from torch.nn.attention import SDPBackend
layouts, calls, answers = {LAYOUTS!r}, {CALLS!r}, {{}}
for name, text in layouts.items():
    x = eval(text)
    for call, form in calls.items():
        y = eval(form.format(name="x"))
        shared = y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        # reshape copies into a contiguous tensor of the same sizes, and makes a view of that.
        written = x.clone(memory_format=torch.contiguous_format) if call == "reshape" else y
        answers[f"{{call}} {{name}}"] = [list(x.shape), list(x.stride()), x.is_contiguous(), list(written.stride()),
                                         shared, y.numel() * y.element_size()]
for name, (tensor, given) in {ATTENTION!r}.items():
    q = eval(tensor)
    answers[f"attention {{name}}"] = SDPBackend(eval(f"torch._fused_sdp_choice({{given}})")).name
for name, (image, weight) in {CONVOLUTIONS!r}.items():
    lists = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    answers[f"convolution {{name}}"] = torch._C._select_conv_backend(eval(image), eval(weight), None, *lists).name
print(json.dumps(answers))
"""


class Call(NamedTuple):
    """A call on a layout as torch answers it: sizes and strides before, those written, and whether memory is shared."""

    sizes: list[int]
    strides: list[int]
    is_contiguous: bool
    result: list[int]
    shared: bool
    bytes: int


Part = tuple[list[Figure], list[tuple[str, list[str]]]]


def figures(python: str) -> Part:
    """Compares traces of one torch with its answers."""
    asked = subprocess.run((python, "-I", "-c", _ASKED), capture_output=True, text=True, check=True)
    answers: dict[str, Any] = json.loads(asked.stdout)
    strides, wrong_strides = _of_layouts(python, answers)
    chosen, wrong_choices = _of_choices(python, answers)
    return [*strides, chosen], [
        ("Strides and copies that a trace says otherwise", wrong_strides),
        ("Choices that a trace says otherwise", wrong_choices),
    ]


def observed_report(python: str | None, steps: Progress) -> Report:
    """Returns the figures of this part alone; the torch is that of this Python, if no other is named."""
    steps.step("tracing calls whose strides and choices torch answers itself")
    found, details = figures(python or sys.executable)
    facts = [("machine", machine()), ("ptexplore", __version__), ("torch of", python or sys.executable)]
    return Report(facts, found, details)


def _of_layouts(python: str, answers: Mapping[str, Any]) -> tuple[list[Figure], list[str]]:
    """The strides of each argument, and whether each call copied, in one trace of all calls."""
    calls = [(call, name) for call in CALLS for name in LAYOUTS]
    expression = ", ".join(CALLS[call].format(name=name) for call, name in calls)
    trace = ptexplore.trace(f"({expression})", python=python, variables=LAYOUTS, native=False, once=True)
    operators = [hop for hop in _outermost(trace.record.hops) if hop.kind == "op"]
    wrong: list[str] = []
    recorded = given = copied = 0
    for call, name in calls:
        answer = Call(*answers[f"{call} {name}"])
        found = [hop for hop in operators if _is_call(hop, call, answer.sizes)]
        if not found and call == "contiguous" and answer.is_contiguous:
            copied += 1  # Tensor.contiguous calls no operator for it, and the trace has none
            continue
        recorded += 1
        if len(found) != 1:
            wrong.append(f"{call} {name}: {len(found)} calls of these sizes")
            continue
        strides = list(found[0].tensors[0].strides or ())
        if strides == answer.strides:
            given += 1
        else:
            wrong.append(f"{call} {name}: strides {strides}, torch: {answer.strides}")
        if _copies_alike(found[0], answer):
            copied += 1
        else:
            wrong.append(f"{call} {name}: another copy")
    return [
        Figure("strides of arguments", given, recorded, 100.0, "operator calls on tensors of 14 layouts"),
        Figure(
            "copies", copied, len(calls), 100.0,
            "clone(), contiguous() and reshape(-1) of them: copied or not, from which strides to which, how many bytes",
        ),
    ], wrong  # fmt: skip


def _outermost(hops: tuple[Hop, ...]) -> Iterator[Hop]:
    """Yields the operator calls that the expression made itself."""
    for hop in hops:
        if hop.kind == "op":
            yield hop
        else:
            yield from _outermost(hop.children)


def _is_call(hop: Hop, call: str, sizes: list[int]) -> bool:
    is_called = hop.name.partition(".")[0] == f"aten::{call}"
    return is_called and bool(hop.tensors) and list(hop.tensors[0].sizes or ()) == sizes


def _copies_alike(hop: Hop, answer: Call) -> bool:
    """Whether the trace says of a call what torch answers: no copy, or the copy with its strides and bytes."""
    if hop.copy is None or answer.shared:
        return hop.copy is None and answer.shared
    before, after = hop.copy.source.strides, hop.copy.result.strides
    return (list(before or ()), list(after or ()), hop.copy.bytes) == (answer.strides, answer.result, answer.bytes)


def _of_choices(python: str, answers: Mapping[str, Any]) -> tuple[Figure, list[str]]:
    """The backends of attention and convolution, against the choosers called directly."""
    hit, wrong = 0, []
    traces = [
        (f"attention {name}", f"F.scaled_dot_product_attention({given})", {"q": tensor})
        for name, (tensor, given) in ATTENTION.items()
    ]
    traces += [
        (f"convolution {name}", "F.conv2d(x, w)", {"x": image, "w": weight})
        for name, (image, weight) in CONVOLUTIONS.items()
    ]
    for asked, expression, variables in traces:
        trace = ptexplore.trace(expression, python=python, variables=variables)
        hops = trace.record.hops
        found = choices(hops, lambda _hop: True).values()
        chosen = {detail.chosen.lower() for of in found for detail in of if isinstance(detail, says.Chooses)} - {""}
        if chosen == {answers[asked].lower()}:
            hit += 1
        else:
            wrong.append(f"{asked}: {sorted(chosen)}, torch: {answers[asked]}")
    means = "expressions: what torch._fused_sdp_choice and torch._C._select_conv_backend return for the same arguments"
    return Figure("choices of a backend", hit, len(traces), 100.0, means), wrong
