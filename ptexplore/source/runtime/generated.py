"""The generated C++ of one torch: made from torchgen's packaged inputs, or found where torch was built."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ptexplore import locations, processes
from ptexplore.errors import BROKEN, FAILED, MISSING, PtexploreError, cache_errors
from ptexplore.model.places import Runtime
from ptexplore.source.progress import Progress, Silent
from ptexplore.writing import kept_bytes, locked

_SIGN = "build/aten/src/ATen/RegisterSchema.cpp"


def build_folder_of(torch_dir: str) -> Path | None:
    """Returns the root of the source tree that torch was built in, if its build folder has the generated C++, or None.

    An editable install (`python setup.py develop`, `pip install -e .`) has torch/ inside the tree, so the tree is the
    folder above it. The wheel of a release has no build folder beside it.
    """
    root = Path(torch_dir).resolve().parent
    if (root / _SIGN).is_file() and (root / "torch/csrc/autograd/generated").is_dir():
        return root
    return None


def expected_build_folder(runtime: Runtime) -> Path:
    """Returns the result of `build_folder_of`. Raises PtexploreError(MISSING), which says where it looked."""
    folder = build_folder_of(runtime.torch_dir)
    if folder is not None:
        return folder
    root = Path(runtime.torch_dir).resolve().parent
    raise PtexploreError(
        "the generated C++ of this torch is missing",
        f"its torchgen has no packaged inputs, as in a source build, and {root / _SIGN} does not exist",
        "build that checkout again (python setup.py develop), or use a torch from a wheel",
        MISSING,
    )


_CHILD = Path(__file__).resolve().parent.parent.parent / "probe" / "torchgen_child.py"
_TIMEOUT = 300.0  # seconds; a run takes about seven
_USUAL_FILES = 110  # files that both children write together; only the progress bar depends on it


FIRST_RUN = "first run only"
WAS_DAMAGED = "the old files are damaged, or another ptexplore made them"

Callback = Callable[[str], None]
Folders = tuple[str, ...]  # canonical paths


class GeneratorError(Exception):
    """A generator failed; the message says which and why. `late`: its time ran out, which is not a fault of torch."""

    def __init__(self, why: str, *, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


@contextlib.contextmanager
def run_generators(
    runtime: Runtime, out: Path, progress: Progress, why: str = FIRST_RUN
) -> Iterator[Iterator[Folders]]:
    """Writes the generated C++ of `runtime` and torchgen's model below `out`, while the block runs.

    If torch runs from the tree that it was built in, which has this C++, only the model is written. `why` is shown
    beside the progress. The block gets an iterator: it yields the folders of each generator when that has ended, and
    must be read to its end. Raises GeneratorError, and OSError if `out` cannot be written.
    """
    runs: list[tuple[_Run, Folders]]
    if runtime.build == "source":
        runs = [(_Run("model", "model", []), ())]
        step, usual = f"reading the operators' YAML ({why})", 1
    else:
        runs = [
            (_Run("autograd", "autograd", []), ("torch/csrc/autograd/generated",)),
            (_Run("ATen", "aten", _flags(runtime)), ("build/aten/src/ATen",)),
        ]
        step, usual = f"regenerating the generated C++ ({why})", _USUAL_FILES
    done: list[str] = []

    def wrote(file: str) -> None:
        done.append(file)
        progress.step(step, min(len(done) / usual, 0.99))

    progress.step(step, 0.0)
    threads = [threading.Thread(target=run.work, args=(runtime, out, wrote), daemon=True) for run, _ in runs]

    def ended() -> Iterator[Folders]:
        for thread, (run, folders) in zip(threads, runs, strict=True):
            thread.join()
            if run.failure is not None:
                raise run.failure
            yield folders

    try:
        for thread in threads:
            thread.start()
        yield ended()
    finally:
        for run, _ in runs:
            run.stop()


def _flags(runtime: Runtime) -> list[str]:
    """Returns the flags that cmake/Codegen.cmake adds for this build."""
    flags = [("hip", "rocm"), ("xpu", "xpu")]
    chosen = [flag for accelerator, flag in flags if accelerator in runtime.accelerators]
    return [*chosen, "mps"] if sys.platform == "darwin" else chosen


class _Run:
    """One generator process, its progress and its outcome."""

    def __init__(self, name: str, work: str, flags: list[str]) -> None:
        self.name = name
        self.arguments = ["--work", work, *(part for flag in flags for part in ("--flag", flag))]
        self.failure: Exception | None = None
        self._child: processes.Child | None = None

    def work(self, runtime: Runtime, out: Path, wrote: Callback) -> None:
        """Runs the process to its end. The outcome is in `failure`."""
        import tempfile

        with tempfile.TemporaryFile() as errors:
            try:
                where = ["--torchgen", str(runtime.torchgen_dir), "--packaged", str(runtime.packaged_dir)]
                arguments = [*self.arguments, *where, "--out", str(out)]
                self._child = processes.start(sys.executable, _CHILD, arguments, stderr=errors)
                finished = self._listen(self._child, wrote)
                if not finished:
                    errors.seek(0)
                    tail = errors.read()[-400:].decode(errors="replace").strip().rsplit("\n", 1)[-1]
                    raise GeneratorError(f"the {self.name} generator ended too soon: {tail or 'it was killed'}")
            except (OSError, GeneratorError) as error:
                self.failure = error
            except processes.ChannelTimeout:
                why = f"the {self.name} generator did not end within {_TIMEOUT:.0f} s"
                self.failure = GeneratorError(why, late=True)
            except processes.ChannelError as error:
                self.failure = GeneratorError(f"the {self.name} generator sent invalid data: {error}")
            finally:
                self.stop()

    def _listen(self, child: processes.Child, wrote: Callback) -> bool:
        finished = False
        for message in child.messages(_TIMEOUT):
            if "file" in message:
                wrote(str(message["file"]))
            elif "errno" in message:
                raise OSError(message["errno"], message["strerror"], message["filename"])
            elif "error" in message:
                raise GeneratorError(f"the {self.name} generator failed: {message['error']}")
            finished = finished or bool(message.get("finished"))
        return finished

    def stop(self) -> None:
        """Stops the process if it still runs."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()


FORMAT = 2
# folder beside the generated files: torchgen's model, a list of which header declares what, the manifest
AIDS = "ptexplore"
MANIFEST = f"{AIDS}/manifest.json"
MODEL = "model.json"
_WHAT = "the generated C++ cannot be made"
_WAIT = 600.0  # seconds that a second process waits for the first; a build takes about ten


@dataclass(frozen=True)
class Making:
    """Generated C++ that exists or is being made: `folder` has it for now, under canonical paths.

    `parts` yields the folders in it as soon as each is complete. If nothing is made, all is complete at once.
    """

    folder: Path
    parts: Iterator[Folders]
    is_whole: bool = False


def ensure(runtime: Runtime, progress: Progress | None = None) -> Path:
    """Returns the folder with the generated C++ of `runtime` under canonical paths. Makes it if it is missing.

    For a source build, it is the root of its checkout. Raises PtexploreError if the C++ cannot be made or found.
    """
    with making(runtime, progress):
        pass
    return expected_build_folder(runtime) if runtime.build == "source" else locations.generated_dir(runtime.inputs_key)


@contextlib.contextmanager
def making(runtime: Runtime, progress: Progress | None = None) -> Iterator[Making]:
    """Does the work of `ensure`, for a block that reads each part when it is complete.

    When the block ends, all files are in their place. If the block fails, nothing is kept.
    """
    target = locations.generated_dir(runtime.inputs_key)
    if runtime.build == "source":
        folder = expected_build_folder(runtime)
        if runtime.packaged_dir is not None and not is_complete(target):
            with _errors(runtime, target), _locked(target, progress or Silent()):
                if not is_complete(target):
                    with _building(runtime, target, progress or Silent()):
                        pass
        yield _whole(folder)
        return
    if is_complete(target):
        yield _whole(target)
        return
    watcher = progress or Silent()
    with _errors(runtime, target), _locked(target, watcher):
        if is_complete(target):
            yield _whole(target)
        else:
            with _building(runtime, target, watcher) as made:
                yield made


def _whole(folder: Path) -> Making:
    return Making(folder, iter([("",)]), is_whole=True)


def find(runtime: Runtime) -> Path | None:
    """Returns the folder of the generated C++ if it exists, with torchgen's model, else None. Writes nothing."""
    target = locations.generated_dir(runtime.inputs_key)
    if runtime.build == "source":
        has_model = runtime.packaged_dir is None or is_complete(target)
        return build_folder_of(runtime.torch_dir) if has_model else None
    return target if is_complete(target) else None


def aids_of(runtime: Runtime, folder: Path) -> Path:
    """Returns the folder with torchgen's model. `folder` is the folder of the generated C++."""
    return (locations.generated_dir(runtime.inputs_key) if runtime.build == "source" else folder) / AIDS


def is_complete(target: Path) -> bool:
    """Whether `target` contains exactly the files that its manifest lists, each with the listed size.

    A file that is not in the manifest shows that rows of the manifest are missing. If the file is missing as well, the
    manifest's hash of its rows shows it; manifests from before 0.1.0 have no such hash.
    """
    try:
        manifest = json.loads(kept_bytes(target / MANIFEST) or b"")
        files = manifest["files"]
        return (
            manifest["format"] == FORMAT
            and bool(files)
            and manifest.get("hash", _hash_of(files)) == _hash_of(files)
            and all((target / name).stat().st_size == size for name, (size, _sha) in files.items())
            and _files_in(target) == {MANIFEST, *files}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _files_in(target: Path) -> set[str]:
    """Returns the files below a folder, by their path from there."""
    return {
        os.path.relpath(os.path.join(folder, name), target) for folder, _, names in os.walk(target) for name in names
    }


def _hash_of(files: dict[str, Any]) -> str:
    """Returns a hash of the rows of a manifest."""
    return hashed(json.dumps(files, sort_keys=True).encode())


def hashed(data: bytes) -> str:
    """Returns a hash of the content of a generated file."""
    return hashlib.sha256(data).hexdigest()


class Hashes:
    """The expected hash of each generated file in a folder. A source build has no such list, and no check."""

    def __init__(self, target: Path) -> None:
        self._target = target

    @functools.cached_property
    def _known(self) -> dict[str, Any]:
        try:
            return dict(json.loads(kept_bytes(self._target / MANIFEST) or b"")["files"])
        except OSError as error:
            if error.errno in BROKEN:
                raise
            return {}
        except (ValueError, KeyError, TypeError):
            return {}

    def check(self, file: str, data: bytes) -> None:
        """Raises PtexploreError (MISSING) if a file was changed. The manifest is deleted, so that all is made again."""
        known = self._known.get(os.path.relpath(file, self._target))
        if known is None or known[1] == hashed(data):
            return
        with contextlib.suppress(OSError):
            (self._target / MANIFEST).unlink()
        why = f"{file} was changed after ptexplore wrote it"
        raise PtexploreError("a generated file is damaged", why, "run this again: ptexplore makes it again", MISSING)


@contextlib.contextmanager
def _building(runtime: Runtime, target: Path, progress: Progress) -> Iterator[Making]:
    import shutil
    import tempfile

    for left_over in target.parent.glob(f".{target.name}.*"):
        if left_over.is_dir():  # left by a builder that was killed: this process has the lock, so nobody works there
            shutil.rmtree(left_over, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        why = WAS_DAMAGED if target.exists() else FIRST_RUN
        with run_generators(runtime, aside, progress, why) as parts:
            yield Making(aside, parts)
            for _ in parts:
                pass  # the block may not have waited for all of them
        _put_in_place(runtime, aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _put_in_place(runtime: Runtime, aside: Path, target: Path) -> None:
    """Makes the complete content of `aside` the generated C++ of `runtime`."""
    import shutil

    files = {
        file.relative_to(aside).as_posix(): [file.stat().st_size, hashed(file.read_bytes())]
        for file in sorted(aside.rglob("*"))
        if file.is_file()
    }
    manifest = {
        "format": FORMAT,
        "version": runtime.version,
        "git_version": runtime.git_version,
        "inputs_key": runtime.inputs_key,
        "hash": _hash_of(files),
        "files": files,
    }
    (aside / AIDS).mkdir(exist_ok=True)
    (aside / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    aside.chmod(0o755)  # mkdtemp's own 0o700 would lock others out of a shared cache
    if target.exists():
        damaged = aside.with_name(aside.name + ".damaged")
        target.rename(damaged)
        aside.rename(target)
        shutil.rmtree(damaged, ignore_errors=True)
    else:
        aside.rename(target)


def _locked(target: Path, progress: Progress) -> AbstractContextManager[bool]:
    lock = locations.lock_file(target)
    waiting = partial(progress.step, "waiting for another ptexplore to finish regenerating")
    why = f"another process has held {lock} for ten minutes"
    return locked(lock, _WAIT, waiting, PtexploreError(_WHAT, why, "end that process, then run this again", FAILED))


@contextlib.contextmanager
def _errors(runtime: Runtime, target: Path) -> Iterator[None]:
    """Converts errors while building to the three-part error."""
    try:
        with cache_errors(_WHAT, target):
            yield
    except GeneratorError as error:
        release = runtime.version.partition("+")[0]
        command = [runtime.python, "-m", "pip", "install", "--force-reinstall", f"torch=={release}"]
        anew = f"reinstall torch: {shlex.join(command)}"
        hint = "run this again when the machine is less busy" if error.late else anew
        raise PtexploreError(_WHAT, str(error), hint, FAILED) from error
