"""The workspace of a command: its progress is shown on stderr, so that stdout stays clean."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.source.progress import Progress
    from ptexplore.workspace.workspace import Workspace


def open_workspace(python: str | None = None, tree: str | None = None, notes: Sequence[str] = ()) -> Workspace:
    """What a command asks: the options --python, --tree and --notes say of which torch, source and notes."""
    from ptexplore.workspace.workspace import Workspace

    return Workspace(python, tree, notes=notes, watch=_watch, notice=_notice)


def _watch(title: str) -> AbstractContextManager[Progress]:
    """A progress bar on stderr; only plain lines where stderr is no terminal."""
    from ptexplore.render.terminal.progress import progress_bar

    return progress_bar(title)


def _notice(text: str) -> None:
    from ptexplore.safe_text import clean

    print(clean(text), file=sys.stderr)
