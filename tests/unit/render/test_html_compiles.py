"""The page of a run of torch.compile: each place leads to its line; nothing of the machine is shown; all is text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.model.compiled import (
    BreakReason,
    CompiledGraph,
    CompileReport,
    CompileRun,
    GeneratedKernel,
    GraphBreak,
    LineGuards,
    MetFunction,
)
from ptexplore.model.compiler_log import CodeLine, CompilerLog
from ptexplore.model.options import TraceOptions
from ptexplore.model.trace import TorchInfo
from ptexplore.render.html.check import broken
from ptexplore.render.html.compiles import Compiles
from ptexplore.render.html.output import Output
from ptexplore.render.html.traces import Traces
from ptexplore.saved.compiled import compile_from_json, compile_to_json
from ptexplore.view.site.compiled import compiled_on_page
from ptexplore.view.site.site import Settings, Site

FILE, TORCH = "/opt/somebody/work/train.py", "/env/site-packages/torch"
BRANCH = CodeLine(FILE, 12, "forward", "if y.sum() > 0: # <b>")
CALL = CodeLine(FILE, 20, "main", "net(x)")
PRODUCT = CodeLine(FILE, 13, "forward", "y = y * 2")
GAVE_UP = CodeLine(f"{TORCH}/_dynamo/variables/builtin.py", 7, "call_function")
REASON = BreakReason("Data-dependent branching", "It branches on a value.", ("Use torch.cond.",), number="GB0170")
CODE = "cpp_fused_mul_0 = async_compile.cpp('''\nvoid kernel() { <script> }\n''')\nafter = 1\n"


@pytest.fixture
def report() -> CompileReport:
    function = MetFunction(
        "Net.forward", FILE, 10, "broken", parts=1, graphs=1, runs=3, operators=1,
        breaks=(GraphBreak(BRANCH, REASON, (CALL, BRANCH), GAVE_UP),),
    )  # fmt: skip
    run = CompileRun(
        expression="--script train.py", torch=TorchInfo("2.13.0", torch_dir=TORCH),
        options=TraceOptions(script="train.py"), wraps=False, bound=(), log=CompilerLog(), cwd="/opt/somebody/work",
    )  # fmt: skip
    kernel = GeneratedKernel("cpp_fused_mul_0", "0/0", ("mul",), (PRODUCT,), file="/tmp/torchinductor_me/c.py")
    graph = CompiledGraph(
        "0/0",
        "Net.forward",
        text=f"class GraphModule:\n    # File: {FILE}:13, beside /srv/other/lib.py:2\n    mul = y * 2",
        code=CODE,
        file=kernel.file,
    )
    made = CompileReport(
        run, (function,), (), (LineGuards(BRANCH, (("TENSOR_MATCH", 3),)), LineGuards(None, (("GRAD_MODE", 1),))),
        (kernel, replace(kernel, compilation="0/1")), (graph,), graphs=1,
    )  # fmt: skip
    return compile_from_json(compile_to_json(made).encode(), "run")


@pytest.fixture
def page(report: CompileReport, tmp_path: Path) -> str:
    site = Site(Settings("Runs", "core"), [], {}, {}, {}, traces=True)
    out = Output(tmp_path)
    out.begin()
    compiles = Compiles(site, out, [("train", report)])
    compiles.write()
    Traces(site, out, [], {}).write({"torch.compile": compiles.listed()})
    out.finish()
    assert '<a href="../compiles/train.html"><code>train.py</code></a>' in (tmp_path / "traces/index.html").read_text()
    lost = {link.partition(": ")[2] for link in broken(tmp_path)[1]}
    assert not {link for link in lost if "#" in link or "compiles" in link}, "a place leads to no line"
    return (tmp_path / "compiles/train.html").read_text(encoding="utf-8")


def test_a_place_leads_to_its_line_with_what_happened_there(report: CompileReport, page: str) -> None:
    shown = compiled_on_page(report)
    assert [(file.name, [line.line for line in file.lines]) for file in shown.files] == [("train.py", [10, 12, 13, 20])]
    assert '<a class="p" href="#f1-L12">train.py:12</a>' in page
    row = re.search(r'<tr id="f1-L12".*?</tr>', page, re.DOTALL)
    assert row is not None
    assert "if y.sum() &gt; 0: # &lt;b&gt;" in row[0]
    assert "a graph ends [1]; 3 guards" in row[0]
    assert "cpp_fused_mul_0 of 0/0, 0/1" in page
    assert page.count('class="gap"') == 2, "between lines that do not follow each other"


def test_rows_fold_and_code_is_text(page: str) -> None:
    assert page.count("<details") == page.count("</details>") >= 4
    assert "void kernel() { &lt;script&gt; }" in page
    assert "after = 1" not in page, "only the kernel"
    assert "mul = y * 2" in page


def test_nothing_of_the_machine_is_on_the_page(page: str) -> None:
    assert "torch/_dynamo/variables/builtin.py:7" in page
    assert "# File: train.py:13, beside lib.py:2" in page
    for private in ("/opt", "somebody", "/env", "/tmp", "/srv"):
        assert private not in page
