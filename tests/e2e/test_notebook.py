"""Notebooks: the magics in a kernel of their own, the three notebooks that are shipped, and the HTML of results."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import ptexplore
from tests.harness import REPOSITORY, TARGET, Cli

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(TARGET is not None, reason="the kernel runs in the Python that runs the tests"),
]
NOTEBOOKS = REPOSITORY / "notebooks"
TAGS = {"div", "details", "summary", "b", "span", "pre"}
STYLES = {  # what the sanitizers of JupyterLab and nbviewer leave, and nothing that chooses a page's colours
    "margin", "margin-left", "opacity", "font-size", "line-height", "font-family", "overflow-x", "color", "font-weight",
    "font-style", "text-decoration", "text-decoration-color",
}  # fmt: skip
BEGIN = "%load_ext ptexplore\nimport torch, ptexplore"
VARIABLES = """
import functools
x = torch.arange(6.0).reshape(2, 3)
same = x.t()
w = torch.ones(3, requires_grad=True)
y = w * 2
f = lambda t: t.t().contiguous()
class Mine(torch.nn.Module):
    def forward(self, t): return t.t().contiguous()
mine = Mine()
layer = torch.nn.Linear(3, 3)
hooked = torch.nn.Linear(3, 3)
_ = hooked.register_forward_hook(lambda *_: None)
"""


class Cells:
    """The cells of one kernel, each run when it is asked for."""

    def __init__(self, cli: Cli, cwd: Path) -> None:
        environment = cli.environment()
        metadata = {"kernelspec": {"name": "python3", "display_name": "", "language": "python"}}
        self._notebook: Any = nbformat.v4.new_notebook(metadata=metadata)  # type: ignore[no-untyped-call]
        self._client = nbclient.NotebookClient(
            self._notebook, timeout=200, allow_errors=True, resources={"metadata": {"path": str(cwd)}}
        )
        self._environment = environment

    def __enter__(self) -> Cells:
        self._client.create_kernel_manager()
        self._client.start_new_kernel(env=self._environment)
        self._client.start_new_kernel_client()
        return self

    def __exit__(self, *_: object) -> None:
        self._client._cleanup_kernel()

    def __call__(self, source: str) -> list[Any]:
        cell = nbformat.v4.new_code_cell(source)  # type: ignore[no-untyped-call]
        self._notebook.cells.append(cell)
        return list(self._client.execute_cell(cell, len(self._notebook.cells) - 1).outputs)

    def printed(self, source: str) -> str:
        """What a cell prints and shows as text."""
        return text_of(self(source))


def text_of(outputs: list[Any]) -> str:
    shown = []
    for output in outputs:
        if output.output_type == "error":
            shown.append(f"{output.ename}: {output.evalue}")
        else:
            shown.append(output.text if output.output_type == "stream" else output.data["text/plain"])
    return "\n".join(shown)


@pytest.fixture(scope="module")
def cells(warm_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    folder = tmp_path_factory.mktemp("notebook")
    with Cells(Cli(warm_cache, folder), folder) as cells:
        assert cells(BEGIN + VARIABLES) == []
        yield cells


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("x.t().contiguous()", "ran in a process of its own, on copies of x"),
        ("torch.add(a, b)", "ran in a process of its own"),
        ("layer(x).sum()", "ran in a process of its own, on copies of layer, x"),
        ("f(x)", "ran in the kernel, recorded: f is defined in this notebook, or holds something that is"),
        ("mine(x)", "ran in the kernel, recorded: mine is defined in this notebook, or holds something that is"),
        ("y.sum()", "ran in the kernel, recorded: y is a result with an autograd graph"),
        ("hooked(x)", "ran in the kernel, recorded: hooked cannot be copied"),
        ("--kernel x.sum()", "ran in the kernel, recorded"),
        ("[*{x}][0] * len('{x} $x')", "ran in a process of its own, on copies of x"),
    ],
)
def test_where_a_line_runs(cells: Cells, line: str, where: str) -> None:
    outputs = cells(f"%ptexplore --no-native {line}")
    assert outputs[0].data["text/plain"] == where, text_of(outputs)
    assert set(outputs[1].data) == {"text/plain", "text/html"}
    assert line.removeprefix("--kernel ") in outputs[1].data["text/plain"]


def test_copies_are_the_values_and_nothing_of_the_notebook_changes(cells: Cells) -> None:
    traced = cells.printed("%ptexplore --no-native x.add_(1).add_(same.t())")
    assert "on copies of x, same" in traced
    assert cells.printed("print(x.tolist())") == "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]\n"
    assert "gives Tensor[2, 3] float32 cpu requires_grad" in cells.printed("%ptexplore --grad --no-native x.mul(2)")
    assert cells.printed("x.requires_grad") == "False"
    shared = cells.printed("%ptexplore --no-native 1 / (x.data_ptr() == same.data_ptr())")
    assert "ZeroDivisionError" not in shared  # copies share memory, as the originals do.
    assert "MulBackward0" in cells.printed("%ptexplore --no-native --backward (w * 2).sum()")
    assert cells.printed("w.grad") == ""


def test_a_cell_is_recorded_where_it_is(cells: Cells) -> None:
    outputs = cells("%%ptexplore\nz = f(x)\nz.sum().item()")
    shown = [output.data["text/plain"] for output in outputs if output.output_type == "display_data"]
    assert shown[:2] == ["15.0", "ran in the kernel, recorded"]
    assert "contiguous" in shown[2] or "<lambda>" in shown[2]
    assert cells.printed("z.shape") == "torch.Size([3, 2])"
    failed = cells("%%ptexplore\nx.view(5)")
    assert failed[-1].ename == "RuntimeError"
    assert "infer_size_impl" in failed[1].data["text/plain"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%ptexplore", "there is no expression"),
        ("%ptexplore x +", "this is not one expression"),
        ("%ptexplore --bad x", "unrecognized arguments: --bad"),
        ("%ptexplore --timeout soon x", "invalid float value"),
        ("%ptexplore --grad f(x)", "--grad and --backward would change your variables"),
        ("%%ptexplore x\n1", "%%ptexplore takes no expression"),
    ],
)
def test_what_cannot_be_traced(cells: Cells, line: str, message: str) -> None:
    (output,) = cells(line)
    assert output.output_type == "stream", output
    assert "UsageError" in output.text
    assert message in output.text
    assert "Traceback" not in output.text


def test_operators_are_completed(cells: Cells) -> None:
    """As a kernel asks for completions."""
    shown = cells.printed(
        "from IPython.core.completer import provisionalcompleter\n"
        "code = 'ptexplore.op(\"add.Te'\n"
        "with provisionalcompleter():\n"
        "    made = [code[:each.start] + each.text for each in get_ipython().Completer.completions(code, len(code))]\n"
        "print(made)"
    )
    assert "'ptexplore.op(\"add.Tensor'" in shown


CHECKED = {
    "dispatcher": (
        "records AddBackward0", "1\n", "AutogradCPU", "SparseCPU", "on copies of eye, dense",
        "aten::mm  AutogradCPU → CPU", "structured_mm_out_cpu::impl",
    ),
    "autograd": ("ExpBackward0", "36 B", "72\n", "aten::exp", "AccumulateGrad", "detached", "no gradient from here: b"),
    "storage": (
        "2,3", "dimensions 0 and 1 cannot be joined: stride 1 is not 3 × 4", "96 B", "flat is defined in this notebook",
        "(1, 4) → (3, 1)",
    ),
}  # fmt: skip


def test_every_shipped_notebook_is_checked() -> None:
    assert {file.stem for file in NOTEBOOKS.glob("*.ipynb")} == set(CHECKED)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_a_shipped_notebook(cli: Cli, tmp_path: Path, name: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)  # type: ignore[no-untyped-call]
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    shown = []
    with Cells(cli, tmp_path) as run:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                outputs = run(cell.source)
                assert all(output.output_type != "error" for output in outputs), text_of(outputs)
                shown.append(text_of(outputs))
    printed = "\n".join(shown)
    for text in CHECKED[name]:
        assert text in printed, text


class Outline(HTMLParser):
    """Every tag with its attributes. Raises AssertionError if tags are not nested."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def outline(html: str) -> Outline:
    parsed = Outline()
    parsed.feed(html)
    parsed.close()
    assert not parsed.open
    return parsed


@pytest.mark.usefixtures("command")
def test_html_is_safe_and_self_contained() -> None:
    """Only text, folding and inline styles, also if the code has markup in it."""
    import torch

    weight = torch.ones(2, requires_grad=True)
    hostile = "'<script>alert(1)</script><img src=x onerror=alert(2)>' and torch.add(a, b)"
    with ptexplore.record() as recording:
        (weight * 2).sum().backward()
    results: list[Any] = [
        ptexplore.trace(hostile, native=False), ptexplore.trace("torch.ones(2, 3) @ torch.ones(2, 3)", native=False),
        recording, ptexplore.op("mm"), ptexplore.show("torch.nn.functional.relu", tree="runtime"),
        ptexplore.show("relu", tree="runtime"), ptexplore.tensor({"<b>&": weight}), ptexplore.graph(weight * 2),
    ]  # fmt: skip
    for result in results:
        bundle = result._repr_mimebundle_(include=None, exclude=None)
        assert set(bundle) == {"text/plain", "text/html"}
        assert "\x1b" not in bundle["text/plain"]
        parsed = outline(bundle["text/html"])
        assert {tag for tag, _ in parsed.tags} <= TAGS
        assert any(tag == "details" for tag, _ in parsed.tags)
        assert {name for _, attributes in parsed.tags for name in attributes} <= {"style", "open", "title"}
        styles = [attributes["style"] or "" for _, attributes in parsed.tags if "style" in attributes]
        rules = [rule.partition(":") for style in styles for rule in style.split(";") if rule.strip()]
        assert {name.strip() for name, _, _ in rules} <= STYLES
        for colour in {value.strip() for name, _, value in rules if name.strip() == "color"}:
            assert min(contrast(colour, "#ffffff"), contrast(colour, "#111111")) > 3.5, colour
    assert hostile in outline(results[0]._repr_mimebundle_()["text/html"]).text
    assert ptexplore.record()._repr_mimebundle_() == {"text/plain": "<Recording that has not begun>"}


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG defines it."""
    lights = sorted(map(_light, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
