"""Labs, cards and traces on the screens, with the real torch: a lab that passes, one that hangs, an operator's card."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptexplore.annotations.trust import trust
from ptexplore.tui.library import Library
from ptexplore.tui.messages import OpenOperator, OpenTour
from ptexplore.tui.screens.card import CardScreen
from ptexplore.tui.screens.trace import TraceScreen
from tests.unit.tui import conftest as screens
from tests.unit.tui.conftest import KERNEL
from tests.unit.tui.test_guided import noted, notes, with_notes
from tests.unit.tui.test_reading import screen, until

small, library, drive = screens.small, screens.library, screens.drive  # fixtures of the screens' own tests

LABS = f"""---
id: running
title: Labs of every sort
baseline: v2.99.0
---

## Labs {{#labs}}

```anchor
path: {KERNEL}
symbol: at::native::blend_kernel
```

Before [bold]them[/bold] \x1b[31m.

```lab
id: adds
run: torch.add(a, b)
expect:
  trace: ["op aten::add.Tensor"]
```

```lab
id: hangs
run: __import__("time").sleep(600)
expect:
  value: '1'
```
"""


@pytest.fixture
def running(library: Library, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Notes with labs, trusted; a cache of their own."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(own_cache))
    folder = tmp_path / "labs"
    folder.mkdir()
    (folder / "running.md").write_text(LABS)
    library.workspace.notes = (str(folder),)
    return with_notes(library, folder)


def started_with(cache: Path) -> list[str]:
    """Every process of this machine that has this cache."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            known = f"PTEXPLORE_CACHE={cache}".encode() in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if known and int(folder.name) != os.getpid():
            found.append((folder / "cmdline").read_text())
    return found


@pytest.mark.e2e
def test_labs_run_in_place_and_one_that_hangs_is_ended(running, drive, own_cache):
    async def reading(app, pilot):
        def said() -> str:
            return " ".join(screen(app).split())

        app.post_message(OpenTour("running"))
        await noted(app, pilot, "lab adds", "Before [bold]them[/bold]")
        await until(pilot, lambda: app.reader.place is not None)
        await pilot.press("L", "enter", "enter")  # which lab; no prediction
        await until(pilot, lambda: "its file is not trusted: ptexplore notes trust" in notes(app), 60)
        trust(running.notes.tours.values())
        await pilot.press("L", "enter", *"key Nothing", "enter")
        await until(pilot, lambda: "you key Nothing" in notes(app), 60)
        assert "steps op aten::add.Tensor" in notes(app), notes(app)
        await until(pilot, lambda: "lab adds: passed; T shows the trace" in said(), 60)
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, TraceScreen) and "aten::add.Tensor" in said())
        await pilot.press("escape", "L", "j", "enter", "enter")
        await until(pilot, lambda: any("main.py" in one for one in started_with(own_cache)), 60)
        await pilot.press("j")
        assert app.reader.place.line == 5, "the source is read on meanwhile"
        await pilot.press("escape")
        await until(pilot, lambda: app.jobs.running is None and not started_with(own_cache), 20)
        await until(pilot, lambda: "lab hangs: stopped" in said())

    drive("", reading)


@pytest.mark.e2e
def test_the_card_of_an_operator_and_a_trace_of_an_expression(running, drive):
    async def reading(app, pilot):
        app.post_message(OpenOperator("aten::add.Tensor"))
        await until(pilot, lambda: isinstance(app.screen, CardScreen) and "derivative" in screen(app), 30)
        shown = screen(app)
        assert "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" in shown
        assert "registered at build/aten/src/ATen/RegisterCPU" in shown
        await pilot.press("enter")
        await until(pilot, lambda: "its text is not here" in screen(app))
        await pilot.press("escape", "escape", "x", *"troch.add(a, b)", "enter")
        await until(pilot, lambda: any("name 'troch' is not defined" in one.message for one in app._notifications), 60)

    drive("", reading, size=(140, 60))
