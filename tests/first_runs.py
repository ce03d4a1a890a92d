"""The first runs over a cache, as hard as they may come: what came of them, for a test to judge.

The first, over nothing, is killed soon. Where the catalogue belongs comes one that is damaged inside; then two start
at once. All in a folder that is to Python what a PyTorch checkout is. Making a catalogue is what takes longest: all
end-to-end tests read the one that is left.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ptexplore.locations import catalogue_file
from ptexplore.source.runtime.describe import find_runtime
from ptexplore.store.catalogue.writer import CatalogueWriter
from tests.harness import TARGET, Cli

if TYPE_CHECKING:
    import pytest

KILLED_AFTER = 2.0  # seconds: it has begun


@dataclass(frozen=True)
class FirstRuns:
    """How the two ended, what they printed, and what was there when both had."""

    codes: tuple[int, ...]
    outputs: tuple[str, ...]
    errors: tuple[str, ...]  # of the killed one too, which comes first
    files: tuple[str, ...]  # of the cache, by their paths there
    imported: bool  # whether a package of the folder was

    @classmethod
    def load(cls, file: Path) -> FirstRuns:
        """What `save` wrote."""
        fields = json.loads(file.read_text(encoding="utf-8"))
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")


def make(cache: Path, folder: Path, patch: pytest.MonkeyPatch) -> FirstRuns:
    """Run them over `cache`, which is not there yet, from `folder`, which is made."""
    hostile(folder)
    cli = Cli(cache, folder)
    killed = start(cli)
    time.sleep(KILLED_AFTER)
    killed.send_signal(signal.SIGKILL)
    errors = [killed.communicate(timeout=60)[1].decode()]
    patch.setenv("PTEXPLORE_CACHE", str(cache))
    database = catalogue_file(find_runtime(TARGET).key)
    database.parent.mkdir(parents=True, exist_ok=True)
    with CatalogueWriter(database):
        pass
    overwrite_pages(database)
    both = [start(cli), start(cli)]
    outputs = [process.communicate(timeout=240) for process in both]
    files = sorted(path.relative_to(cache).as_posix() for path in cache.rglob("*"))
    for half in (cache / "generated").glob(".*"):  # of the killed one: other tests look for generated files
        shutil.rmtree(half)
    return FirstRuns(
        tuple(process.returncode for process in both),
        tuple(out.decode() for out, _ in outputs),
        (*errors, *(error.decode() for _, error in outputs)),
        tuple(files),
        (folder / "imported").exists(),
    )


def start(cli: Cli) -> subprocess.Popen[bytes]:
    """A run that needs the catalogue, in a process group of its own."""
    target = ["--python", TARGET] if TARGET else []
    return subprocess.Popen(
        [cli.python, "-m", "ptexplore", "op", "add.Tensor", "--json", *target],
        env=cli.environment(),
        cwd=cli.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def overwrite_pages(database: Path) -> None:
    """Leave a database its head alone, so that the damage shows only when more of it is read."""
    size = database.stat().st_size
    assert size > 16384
    with database.open("r+b") as stream:
        stream.seek(8192)
        stream.write(b"\xa5" * (size - 8192))


def hostile(folder: Path) -> None:
    """A folder as a PyTorch checkout would be to Python, whose packages tell when they are imported."""
    for name in ("torch", "torchgen", "yaml", "numpy", "ptexplore_user"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(
            f"open({str(folder / 'imported')!r}, 'a').write('{name}\\n')\nraise RuntimeError('{name} of this folder')",
            encoding="utf-8",
        )
    (folder / "torch" / "version.py").write_text("__version__ = '9.9.9'\ngit_version = 'x'\n", encoding="utf-8")
