"""The generated C++ of one runtime: made anew from torchgen's packaged inputs, or a source build's own build folder."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from ptexplore import locations, processes
from ptexplore.errors import FAILED, MISSING, PtexploreError, cache_errors
from ptexplore.model.places import Runtime
from ptexplore.source.progress import Progress, Silent
from ptexplore.writing import locked

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


Callback = Callable[[str], None]
Folders = tuple[str, ...]  # canonical paths


class GeneratorError(Exception):
    """A generator failed; the message says which and why."""


@contextlib.contextmanager
def run_generators(runtime: Runtime, out: Path, progress: Progress) -> Iterator[Iterator[Folders]]:
    """Write the generated C++ of `runtime` and torchgen's model below `out`, while the block runs.

    The value gives the folders of each generator when it has ended; it has to be asked to its end. Raises
    GeneratorError, and OSError when `out` cannot be written.
    """
    done: list[str] = []

    def wrote(file: str) -> None:
        done.append(file)
        progress.step("regenerating the generated C++ (first run only)", min(len(done) / _USUAL_FILES, 0.99))

    def ended() -> Iterator[Folders]:
        autograd.finish(wrote)
        yield ("torch/csrc/autograd/generated",)
        aten.finish(wrote)
        yield ("build/aten/src/ATen",)

    progress.step("regenerating the generated C++ (first run only)", 0.0)
    flags = [part for flag in _flags(runtime) for part in ("--flag", flag)]
    with (
        _started("autograd", ["--work", "autograd"], runtime, out) as autograd,
        _started("ATen", ["--work", "aten", *flags], runtime, out) as aten,
    ):
        yield ended()


def _flags(runtime: Runtime) -> list[str]:
    """What cmake/Codegen.cmake adds for this build."""
    flags = [("hip", "rocm"), ("xpu", "xpu")]
    chosen = [flag for accelerator, flag in flags if accelerator in runtime.accelerators]
    return [*chosen, "mps"] if sys.platform == "darwin" else chosen


@contextlib.contextmanager
def _started(name: str, work: list[str], runtime: Runtime, out: Path) -> Iterator[_Generator]:
    """A generator child that runs beside us until the block ends."""
    import tempfile

    where = ["--torchgen", str(runtime.torchgen_dir), "--packaged", str(runtime.packaged_dir), "--out", str(out)]
    with tempfile.TemporaryFile() as errors:
        child = processes.start(sys.executable, _CHILD, [*work, *where], stderr=errors)
        try:
            yield _Generator(name, child, errors)
        finally:
            child.stop()


@dataclass(frozen=True)
class _Generator:
    """A generator child. What it says of its files fits into its pipe: it need not be heard while it works."""

    name: str
    child: processes.Child
    errors: IO[bytes]

    def finish(self, wrote: Callback) -> None:
        """Hear the child to its end. Raises GeneratorError, and OSError when the child could not write."""
        try:
            finished = self._listen(wrote)
        except processes.ChannelTimeout as error:
            raise GeneratorError(f"the {self.name} generator did not end within {_TIMEOUT:.0f} s") from error
        except processes.ChannelError as error:
            raise GeneratorError(f"the {self.name} generator broke its channel: {error}") from error
        if not finished:
            self.errors.seek(0)
            tail = self.errors.read()[-400:].decode(errors="replace").strip().rsplit("\n", 1)[-1]
            raise GeneratorError(f"the {self.name} generator ended early: {tail or 'it was killed'}")

    def _listen(self, wrote: Callback) -> bool:
        finished = False
        for message in self.child.messages(_TIMEOUT):
            if "file" in message:
                wrote(str(message["file"]))
            elif "errno" in message:
                raise OSError(message["errno"], message["strerror"], message["filename"])
            elif "error" in message:
                raise GeneratorError(f"the {self.name} generator failed: {message['error']}")
            finished = finished or bool(message.get("finished"))
        return finished


FORMAT = 1
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
    with _errors(target), _locked(target, watcher):
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


@contextlib.contextmanager
def _building(runtime: Runtime, target: Path, progress: Progress) -> Iterator[Making]:
    import shutil
    import tempfile

    for left_over in target.parent.glob(f".{target.name}.*"):
        if left_over.is_dir():  # of a builder that was killed: we hold the lock, so nobody works there
            shutil.rmtree(left_over, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        with run_generators(runtime, aside, progress) as parts:
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
        file.relative_to(aside).as_posix(): file.stat().st_size for file in sorted(aside.rglob("*")) if file.is_file()
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


def _locked(target: Path, progress: Progress) -> AbstractContextManager[bool]:
    lock = locations.lock_file(target)
    waiting = partial(progress.step, "waiting for another ptexplore to finish regenerating")
    why = f"another process has held {lock} for ten minutes"
    return locked(lock, _WAIT, waiting, PtexploreError(_WHAT, why, "end that process, then run this again", FAILED))


@contextlib.contextmanager
def _errors(target: Path) -> Iterator[None]:
    """Turn what can go wrong while building into the three-part error."""
    try:
        with cache_errors(_WHAT, target):
            yield
    except GeneratorError as error:
        raise PtexploreError(
            _WHAT,
            str(error),
            f'reinstall torch: {sys.executable} -m pip install --force-reinstall "torch>=2.6"',
            FAILED,
        ) from error
