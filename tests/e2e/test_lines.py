"""The lines of a script with their costs: shown after a run, from a saved trace without the script, and of a block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness import InProcess, torch_version
from tests.unit.render.test_stacks import read_stats

pytestmark = pytest.mark.e2e
SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        x = x + self.first(x).relu()
        return x + self.second(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for x in DataLoader(torch.randn(40, 64), batch_size=10):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    total += loss.item()
"""


def lines_of(command: InProcess, *arguments: str) -> dict[int, dict[str, Any]]:
    """The rows of lines, by number."""
    shown = command("trace", *arguments, "--view", "lines", "--json")
    assert shown.code == 0, shown.err
    page = json.loads(shown.out)["view"]
    rows: dict[int, dict[str, Any]] = {}
    for row in page["table"]:
        is_own = any(detail["code"] == "on-no-line" for detail in row["details"])
        if row["place"] is not None and not row["heading"] and not is_own:
            rows[row["place"]["line"]] = {
                "text": row["name"][7:],
                "what": row["what"],
                **dict(zip(page["columns"], row["cells"], strict=True)),
            }
    return rows


def test_each_line_of_a_script_has_what_it_called(command: InProcess, tmp_path: Path) -> None:
    script, saved = tmp_path / "train.py", tmp_path / "train.trace"
    script.write_text(SCRIPT, encoding="utf-8")
    rows = lines_of(command, "--script", str(script), "--native-budget", "0", "--save", str(saved))
    text = SCRIPT.splitlines()
    assert all(row["text"] == text[line - 1] for line, row in rows.items())
    counts = {line: (row["calls"], row["ops"]) for line, row in rows.items()}
    # Line 12: the module, relu and `+`, in four batches. A linear module calls one operator.
    assert counts[12] == ("12", "12")
    assert counts[13] == ("8", "8")
    assert counts[21] == ("12", "28")
    assert counts[22][0] == "4"
    assert counts[24] == ("4", "4")
    assert rows[24]["what"] == "reads: item ×4"
    assert {19, 20, 23} <= rows.keys()
    assert rows[12]["backward"]
    assert rows[21]["backward"]
    assert not rows[22]["backward"], "its own time has the nodes"
    if not torch_version().startswith("2.6"):
        assert rows[12]["saved"]
    script.unlink()
    assert lines_of(command, "--load", str(saved)) == rows, "the text is in the trace"
    assert lines_of(command, "--load", str(saved), "--only", "Net.forward").keys() == {12, 13}
    missing = command("trace", "--load", str(saved), "--view", "lines", "--only", "elsewhere")
    assert missing.code == 2
    assert "train.py" in missing.err
    stats = tmp_path / "train.lprof"
    shown = command("trace", "--load", str(saved), "--export", "line_profiler", str(stats))
    assert shown.code == 0, shown.err
    hits = {line: hit for lines in read_stats(stats.read_bytes()).timings.values() for line, hit, _ in lines}
    assert {line: hits[line] for line in (12, 13, 21, 24)} == {12: 12, 13: 8, 21: 12, 24: 4}


def test_a_file_that_changed_since_it_was_read_has_no_text(command: InProcess, tmp_path: Path) -> None:
    script, used = tmp_path / "main.py", tmp_path / "used.py"
    used.write_text("import torch\ndef work(x):\n    return torch.relu(x)\n", encoding="utf-8")
    change = f"open({str(used)!r}, 'w').write('# another line\\nimport torch\\n')"
    script.write_text(f"import torch, used\n{change}\nused.work(torch.ones(2))\n", encoding="utf-8")
    shown = command("trace", "--script", str(script), "--native-budget", "0", "--view", "lines")
    assert "in work" in shown.out
    assert "another line" not in shown.out
    remarks = [line for line in shown.out.splitlines() if line[:1].strip()]  # rows are indented
    assert any("used.py" in line for line in remarks), shown.out
    assert "used.work(torch.ones(2))" in shown.out


BLOCK = """\
import ptexplore
import torch

def run(x):
    with ptexplore.record() as recording:
        y = torch.relu(x)
        z = y @ x
        (z + y).sum()
    after = x.exp()
    return recording
"""


def test_the_lines_of_a_recorded_block(tmp_path: Path) -> None:
    import torch

    (tmp_path / "of_a_block.py").write_text(BLOCK, encoding="utf-8")
    variables: dict[str, Any] = {}
    exec(compile(BLOCK, str(tmp_path / "of_a_block.py"), "exec", dont_inherit=True), variables)
    text = variables["run"](torch.randn(4, 4)).trace.text(view="lines")
    for line in ("y = torch.relu(x)", "z = y @ x", "(z + y).sum()"):
        assert line in text
    assert "x.exp()" not in text
