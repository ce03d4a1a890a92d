"""The generated C++ of one runtime: made anew from torchgen's packaged inputs, or a source build's own build folder."""

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


def build_folder_of(runtime: Runtime) -> Path | None:
    """The root of the checkout whose build folder holds the generated C++; None where there is none.

    A develop install has torch/ inside the checkout, so the checkout is the folder above it.
    """
    root = Path(runtime.torch_dir).resolve().parent
    if (root / _SIGN).is_file() and (root / "torch/csrc/autograd/generated").is_dir():
        return root
    return None


def expected_build_folder(runtime: Runtime) -> Path:
    """As `build_folder_of`. Raises PtexploreError(MISSING) that says where it looked."""
    folder = build_folder_of(runtime)
    if folder is not None:
        return folder
    root = Path(runtime.torch_dir).resolve().parent
    raise PtexploreError(
        "this torch's generated C++ is not there",
        f"its torchgen has no packaged inputs, as in a source build, and {root / _SIGN} does not exist",
        "build that checkout again (python setup.py develop), or use a torch from a wheel",
        MISSING,
    )


_CHILD = Path(__file__).resolve().parent.parent.parent / "probe" / "torchgen_child.py"
_TIMEOUT = 300.0  # seconds; a run takes about seven
_USUAL_FILES = 110  # files both children write together; only the progress bar depends on it


FIRST_RUN = "first run only"
WAS_DAMAGED = "what was there is damaged, or of another ptexplore"

Callback = Callable[[str], None]
Folders = tuple[str, ...]  # canonical paths


class GeneratorError(Exception):
    """A generator failed; the message says which and why. `late`: it had no more time, which is no fault of torch's."""

    def __init__(self, why: str, *, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


@contextlib.contextmanager
def run_generators(
    runtime: Runtime, out: Path, progress: Progress, why: str = FIRST_RUN
) -> Iterator[Iterator[Folders]]:
    """Write the generated C++ of `runtime` and torchgen's model below `out`, while the block runs.

    `why` is said beside the progress. The value gives the folders of each generator when it has ended; it has to be
    asked to its end. Raises GeneratorError, and OSError when `out` cannot be written.
    """
    runs = [
        (_Run("autograd", "autograd", []), ("torch/csrc/autograd/generated",)),
        (_Run("ATen", "aten", _flags(runtime)), ("build/aten/src/ATen",)),
    ]
    done: list[str] = []
    step = f"regenerating the generated C++ ({why})"

    def wrote(file: str) -> None:
        done.append(file)
        progress.step(step, min(len(done) / _USUAL_FILES, 0.99))

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
    """What cmake/Codegen.cmake adds for this build."""
    flags = [("hip", "rocm"), ("xpu", "xpu")]
    chosen = [flag for accelerator, flag in flags if accelerator in runtime.accelerators]
    return [*chosen, "mps"] if sys.platform == "darwin" else chosen


class _Run:
    """One generator child, its progress and its outcome."""

    def __init__(self, name: str, work: str, flags: list[str]) -> None:
        self.name = name
        self.arguments = ["--work", work, *(part for flag in flags for part in ("--flag", flag))]
        self.failure: Exception | None = None
        self._child: processes.Child | None = None

    def work(self, runtime: Runtime, out: Path, wrote: Callback) -> None:
        """Run the child to its end; the outcome is in `failure`."""
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
                    raise GeneratorError(f"the {self.name} generator ended early: {tail or 'it was killed'}")
            except (OSError, GeneratorError) as error:
                self.failure = error
            except processes.ChannelTimeout:
                why = f"the {self.name} generator did not end within {_TIMEOUT:.0f} s"
                self.failure = GeneratorError(why, late=True)
            except processes.ChannelError as error:
                self.failure = GeneratorError(f"the {self.name} generator broke its channel: {error}")
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
        """End the child if it still runs."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()


FORMAT = 2
AIDS = "ptexplore"  # folder beside the generated files: torchgen's model, which header declares what, the manifest
MANIFEST = f"{AIDS}/manifest.json"
MODEL = "model.json"
_WHAT = "the generated C++ cannot be made"
_WAIT = 600.0  # seconds a second process waits for the first; a build takes about ten


@dataclass(frozen=True)
class Making:
    """Generated C++ that is there, or is being made: the folder that holds it for now, under canonical paths.

    `parts` gives the folders in it that are whole by then, each when it is; all is whole at once where none is made.
    """

    folder: Path
    parts: Iterator[Folders]
    is_whole: bool = False


def ensure(runtime: Runtime, progress: Progress | None = None) -> Path:
    """The folder that holds the generated C++ of `runtime` under canonical paths, made now if it is not there.

    A source build gives its own build folder's files. Raises PtexploreError when they cannot be made or found.
    """
    with making(runtime, progress):
        pass
    return expected_build_folder(runtime) if runtime.build == "source" else locations.generated_dir(runtime.inputs_key)


@contextlib.contextmanager
def making(runtime: Runtime, progress: Progress | None = None) -> Iterator[Making]:
    """As `ensure`, for a block that reads each part as soon as it is whole; all is in its place when the block ends.

    Nothing is kept where the block fails.
    """
    if runtime.build == "source":
        yield _whole(expected_build_folder(runtime))
        return
    target = locations.generated_dir(runtime.inputs_key)
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
    """The folder of the generated C++ where it is there already; None otherwise. Writes nothing."""
    if runtime.build == "source":
        return build_folder_of(runtime)
    target = locations.generated_dir(runtime.inputs_key)
    return target if is_complete(target) else None


def is_complete(target: Path) -> bool:
    """Whether `target` holds the files its manifest lists and no others, each of the size listed there.

    A file that the manifest does not list shows that rows of the manifest are gone. Rows that are gone with their files
    are known by the manifest's own hash of its rows, which those of before 0.1.0 lack.
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
    """The files below a folder, by their path from there."""
    return {
        os.path.relpath(os.path.join(folder, name), target) for folder, _, names in os.walk(target) for name in names
    }


def _hash_of(files: dict[str, Any]) -> str:
    """What tells these rows of a manifest from any others."""
    return hashed(json.dumps(files, sort_keys=True).encode())


def hashed(data: bytes) -> str:
    """What tells the content of a generated file from any other."""
    return hashlib.sha256(data).hexdigest()


class Hashes:
    """What each generated file of a folder must be; a source build's has no such list, and anything may be there."""

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
        """Raise PtexploreError (MISSING) where a file is not as it was made; its folder is made anew after that."""
        known = self._known.get(os.path.relpath(file, self._target))
        if known is None or known[1] == hashed(data):
            return
        with contextlib.suppress(OSError):
            (self._target / MANIFEST).unlink()
        why = f"{file} is not as ptexplore wrote it"
        raise PtexploreError("a generated file is damaged", why, "run this again: it is made anew", MISSING)


@contextlib.contextmanager
def _building(runtime: Runtime, target: Path, progress: Progress) -> Iterator[Making]:
    import shutil
    import tempfile

    for left_over in target.parent.glob(f".{target.name}.*"):
        if left_over.is_dir():  # of a builder that was killed: we hold the lock, so nobody works there
            shutil.rmtree(left_over, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        why = WAS_DAMAGED if target.exists() else FIRST_RUN
        with run_generators(runtime, aside, progress, why) as parts:
            yield Making(aside, parts)
            for _ in parts:
                pass  # the block need not have waited for all
        _put_in_place(runtime, aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _put_in_place(runtime: Runtime, aside: Path, target: Path) -> None:
    """Make what lies whole in `aside` the generated C++ of `runtime`."""
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
    aside.chmod(0o755)  # mkdtemp's own 0o700 would keep others out of a shared cache
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
    """Turn what can go wrong while building into the three-part error."""
    try:
        with cache_errors(_WHAT, target):
            yield
    except GeneratorError as error:
        release = runtime.version.partition("+")[0]
        command = [runtime.python, "-m", "pip", "install", "--force-reinstall", f"torch=={release}"]
        anew = f"reinstall torch: {shlex.join(command)}"
        hint = "run this again when the machine has less to do" if error.late else anew
        raise PtexploreError(_WHAT, str(error), hint, FAILED) from error
