"""The screens over the small tree, driven as a reader drives them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.lookup.targets import candidates
from ptexplore.model.places import Checkout
from ptexplore.source.listing import files_of
from ptexplore.tui.app import Browser, Start
from ptexplore.tui.library import Library
from tests import searched_source
from tests.pictures import library_over, played

KERNEL = "aten/src/ATen/native/cpu/BlendKernel.cpp"
NOTE = f"""---
id: blending
title: Blending
baseline: v2.99.0
---

## A kernel {{#kernel}}

```anchor
path: {KERNEL}
symbol: at::native::blend_kernel
```

It blends.
"""
Drive = Callable[..., Browser]


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small tree with its index beside it. Tests only read it."""
    folder = tmp_path_factory.mktemp("browsing")
    root = searched_source.write(folder / "mini")
    lines = "".join(f"int line_{n}(int a) {{ return a + {n}; }}\n" for n in range(10_000))
    (root / "torch/csrc/tall.cpp").write_text(lines)
    (folder / "notes").mkdir()
    (folder / "notes" / "blending.md").write_text(NOTE)
    checkout = Checkout("mini", "folder", str(root), str(root), version="2.99.0")
    build(IndexInput("mini", str(root), files_of(checkout)), folder / "mini.sqlite", jobs=1)
    return folder


@pytest.fixture
def library(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """What the screens read: the small tree, one note; what is kept of a reader goes into the test's own folder."""
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path / "data"))
    return library_over(small, small / "notes")


@pytest.fixture
def drive(library: Library) -> Drive:
    """Open a target at a size, and do what a reader does; the app afterwards."""

    def run(
        target: str, reading: Callable[[Browser, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (120, 40)
    ) -> Browser:
        found = candidates(library.trees, None, target) if target else []
        app = Browser(library, lambda _: Start("candidates", target, candidates=found) if target else Start())

        async def main() -> None:
            async with app.run_test(size=size) as pilot:
                await pilot.pause()
                await reading(app, pilot)

        played(main())
        return app

    return run
