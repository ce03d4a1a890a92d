"""The generated C++ of one runtime: regenerated on first need from torchgen's packaged inputs, then kept.

Built aside by two children in parallel, renamed into place with a manifest, behind a file lock. The flags
are those of cmake/Codegen.cmake and tools/setup_helpers/generate_code.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ptexplore import locations
from ptexplore.errors import FAILED, MISSING, PtexploreError
from ptexplore.model import Runtime
from ptexplore.source import build_folder
from ptexplore.source.progress import Progress, Silent

FORMAT = 1
AIDS = "ptexplore"  # folder beside the generated files: torchgen's model, which header declares what, the manifest
MANIFEST = f"{AIDS}/manifest.json"
MODEL = "model.json"
_WHAT = "the generated C++ cannot be made"
_WAIT = 600.0  # seconds a second process waits for the first; a build takes about ten


def ensure(runtime: Runtime, progress: Progress | None = None) -> Path:
    """The folder that holds the generated C++ of `runtime` under canonical paths, made now if it is not there.

    A source build gives its own build folder's files. Raises PtexploreError when they cannot be made or found.
    """
    if runtime.build == "source":
        return build_folder.find(runtime)
    target = locations.generated_dir(runtime.inputs_key)
    if is_complete(target):
        return target
    watcher = progress or Silent()
    with _errors(target), _locked(target, watcher):
        if not is_complete(target):
            _build(runtime, target, watcher)
    return target


def find(runtime: Runtime) -> Path | None:
    """The folder of the generated C++ where it is there already; None otherwise. Writes nothing."""
    if runtime.build == "source":
        return build_folder.look(runtime)
    target = locations.generated_dir(runtime.inputs_key)
    return target if is_complete(target) else None


def is_there(runtime: Runtime) -> bool:
    """Whether `ensure` would have nothing to do."""
    return find(runtime) is not None


def is_complete(target: Path) -> bool:
    """Whether `target` holds every file its manifest lists, each of the size listed there."""
    try:
        manifest = json.loads((target / MANIFEST).read_text(encoding="utf-8"))
        files = manifest["files"]
        return (
            manifest["format"] == FORMAT
            and bool(files)
            and all((target / name).stat().st_size == size for name, size in files.items())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _build(runtime: Runtime, target: Path, progress: Progress) -> None:
    import shutil
    import tempfile

    from ptexplore.source.generators import run_generators

    for left_over in target.parent.glob(f".{target.name}.*"):
        if left_over.is_dir():  # of a builder that was killed: we hold the lock, so nobody works there
            shutil.rmtree(left_over, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        run_generators(runtime, aside, progress)
        files = {
            file.relative_to(aside).as_posix(): file.stat().st_size
            for file in sorted(aside.rglob("*"))
            if file.is_file()
        }
        manifest = {
            "format": FORMAT,
            "version": runtime.version,
            "git_version": runtime.git_version,
            "inputs_key": runtime.inputs_key,
            "files": files,
        }
        (aside / AIDS).mkdir(exist_ok=True)
        (aside / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        aside.chmod(0o755)  # mkdtemp's own 0o700 would keep others out of a shared cache
        if target.exists():
            damaged = aside.with_name(aside.name + ".damaged")
            target.rename(damaged)
            aside.rename(target)
            shutil.rmtree(damaged, ignore_errors=True)
        else:
            aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def _locked(target: Path, progress: Progress) -> Iterator[None]:
    import filelock

    target.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(locations.lock_file(target))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        progress.step("waiting for another ptexplore to finish regenerating")
        try:
            lock.acquire(timeout=_WAIT)
        except filelock.Timeout as error:
            raise PtexploreError(
                _WHAT,
                f"another process has held {locations.lock_file(target)} for ten minutes",
                "end that process, then run this again",
                FAILED,
            ) from error
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _errors(target: Path) -> Iterator[None]:
    """Turn what can go wrong while building into the three-part error."""
    from ptexplore.source.generators import GeneratorError

    elsewhere = "make room there, or set PTEXPLORE_CACHE to a folder you can write"
    try:
        yield
    except GeneratorError as error:
        raise PtexploreError(
            _WHAT,
            str(error),
            f'reinstall torch: {sys.executable} -m pip install --force-reinstall "torch>=2.6"',
            FAILED,
        ) from error
    except OSError as error:
        where = error.filename or str(target)
        raise PtexploreError(_WHAT, f"{os.fsdecode(where)}: {error.strerror or error}", elsewhere, MISSING) from error
