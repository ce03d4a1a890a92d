"""Find one installed torch and describe it, without importing it."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from ptexplore import processes
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model import Runtime

OLDEST = (2, 6)
CATALOGUE_FORMAT = 1  # of the catalogue's tables and of what fills them; a change makes every catalogue anew
RECIPE = 1  # of how generators are run and what they leave behind

_PROBE = Path(__file__).resolve().parent.parent / "probe" / "describe.py"
_INSTALL = 'pip install "torch>=2.6"'


def find_runtime(python: str | None = None) -> Runtime:
    """Describe the torch of `python` (a path or a command's name), of our own interpreter when None.

    Raises PtexploreError: exit code USAGE when `python` is no Python, MISSING when it has no torch, or one that is
    too old or incomplete. torch is not imported; its version is read from torch/version.py.
    """
    if python is None or _same_python(python):
        with _current_folder_off_path():
            torch_dir, torchgen_dir = _find("torch"), _find("torchgen")
        return describe(sys.executable, platform.python_version(), torch_dir, torchgen_dir)
    executable = _resolve(python)
    message = _ask(executable)
    return describe(
        executable, str(message.get("python_version")), message.get("torch_dir"), message.get("torchgen_dir")
    )


def describe(python: str, python_version: str, torch_dir: str | None, torchgen_dir: str | None) -> Runtime:
    """The Runtime of a torch in `torch_dir`. Raises PtexploreError(MISSING) as `find_runtime` does."""
    if torch_dir is None:
        raise PtexploreError(
            "there is no torch", f"{python} has no package of that name", f"{python} -m {_INSTALL}", MISSING
        )
    facts = _version_facts(Path(torch_dir), python)
    version = facts["__version__"] or ""
    if _release(version) < OLDEST:
        raise PtexploreError(
            f"torch {version} is too old",
            "ptexplore reads torch 2.6 and later: older ones do not ship the inputs of their generated C++",
            f"{python} -m {_INSTALL}",
            MISSING,
        )
    beside = Path(torch_dir).parent / "torchgen"
    torchgen = str(beside) if beside.is_dir() else torchgen_dir
    packaged = Path(torchgen) / "packaged" if torchgen else None
    has_inputs = packaged is not None and (packaged / "ATen" / "native" / "native_functions.yaml").is_file()
    git_version = facts["git_version"] or "unknown"
    inputs_key = _hash(
        f"recipe {RECIPE}", git_version, sys.platform, *_accelerators(facts), *_inputs(torchgen if has_inputs else None)
    )
    return Runtime(
        python=python,
        python_version=python_version,
        torch_dir=torch_dir,
        version=version,
        git_version=git_version,
        build="wheel" if has_inputs else "source",
        torchgen_dir=torchgen,
        packaged_dir=str(packaged) if has_inputs else None,
        accelerators=_accelerators(facts),
        key=_hash(f"catalogue {CATALOGUE_FORMAT}", version, inputs_key, torch_dir, *_installation(Path(torch_dir))),
        inputs_key=inputs_key,
    )


def _release(version: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _accelerators(facts: dict[str, str | None]) -> tuple[str, ...]:
    return tuple(name for name in ("cuda", "hip", "xpu") if facts.get(name))


def _version_facts(torch_dir: Path, python: str) -> dict[str, str | None]:
    """The string constants of torch/version.py, which setup.py writes; nothing of it is executed."""
    file = torch_dir / "version.py"
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise PtexploreError(
            "this torch cannot be identified",
            f"{file}: {_words(error)}; a folder named torch that is not PyTorch?",
            f"{python} -m {_INSTALL}",
            MISSING,
        ) from error
    facts: dict[str, str | None] = {"__version__": None, "git_version": None}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            facts[target.id] = value.value
    if not facts["__version__"]:
        raise PtexploreError(
            "this torch cannot be identified", f"{file} names no version", f"{python} -m {_INSTALL}", MISSING
        )
    return facts


def _inputs(torchgen: str | None) -> Iterator[str]:
    """Name and content of everything that decides what the generators write."""
    if torchgen is None:
        return
    for file in sorted(Path(torchgen).rglob("*")):
        if file.suffix in {".py", ".yaml", ".cpp", ".h", ".cu", ".ini", ".fbs"} and file.is_file():
            yield file.relative_to(torchgen).as_posix()
            yield hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()


def _installation(torch_dir: Path) -> Iterator[str]:
    """What tells one installation from another: pip's own file list, and the libraries' size and time."""
    for record in sorted(torch_dir.parent.glob("torch-*.dist-info/RECORD")):
        yield hashlib.sha1(record.read_bytes(), usedforsecurity=False).hexdigest()
    for pattern in ("_C*.so", "_C*.pyd", "lib/libtorch_cpu.*", "lib/libtorch_python.*", "lib/torch_cpu.dll"):
        for file in sorted(torch_dir.glob(pattern)):
            stat = file.stat()
            yield f"{file.name} {stat.st_size} {stat.st_mtime_ns}"


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _find(name: str) -> str | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return os.path.abspath(next(iter(spec.submodule_search_locations)))


@contextlib.contextmanager
def _current_folder_off_path() -> Iterator[None]:
    """A `torch/` where the user happens to stand (a PyTorch checkout!) must not be taken for the installed one."""
    here = os.getcwd()
    saved = sys.path[:]
    sys.path[:] = [
        entry
        for entry in saved
        if entry and (os.path.abspath(entry) != here or os.path.basename(here) in {"site-packages", "dist-packages"})
    ]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = saved


def _same_python(python: str) -> bool:
    return os.path.abspath(python) == os.path.abspath(sys.executable)


def _resolve(python: str) -> str:
    """The absolute path of `python`; symbolic links stay, since a virtual environment is one."""
    found = shutil.which(python) if os.sep not in python else python
    path = os.path.abspath(os.path.expanduser(found or python))
    if not os.path.exists(path):
        raise _no_python(python, "there is no such file")
    if os.path.isdir(path):
        inside = os.path.join(path, "bin", "python")
        raise _no_python(python, "it is a folder", f"--python {inside}" if os.path.exists(inside) else "")
    if not os.access(path, os.X_OK):
        raise _no_python(python, "it cannot be executed")
    return path


def _ask(executable: str) -> dict[str, str | None]:
    try:
        child = processes.start(executable, _PROBE)
    except OSError as error:
        raise _no_python(executable, _words(error)) from error
    try:
        messages = list(child.messages(timeout=30))
    except (processes.ChannelError, processes.ChannelTimeout) as error:
        raise _no_python(executable, "it did not answer as Python does") from error
    finally:
        child.stop()
    if len(messages) != 1 or "torch_dir" not in messages[0]:
        raise _no_python(executable, "it did not answer as Python does")
    return messages[0]


def _no_python(python: str, why: str, hint: str = "") -> PtexploreError:
    return PtexploreError(f"{python} is no Python", why, hint or "--python /path/to/env/bin/python", USAGE)


def _words(error: BaseException) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
