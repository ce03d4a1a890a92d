"""Describes an installed torch without importing it. A hash of the inputs of its generated C++ names its caches."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import site
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ptexplore.errors import MISSING, NOT_PYTHON, USAGE, PtexploreError
from ptexplore.locations import cache_root
from ptexplore.model.places import Runtime
from ptexplore.source.runtime.generated import build_folder_of
from ptexplore.writing import kept_bytes, write_whole

# seconds; a file that changed more recently could change again with the same time
_SETTLED = 2.0
OLDEST = (2, 6)
RECIPE = 1  # version of how generators are run and what they write

_INPUTS = frozenset({".py", ".yaml", ".cpp", ".h", ".cu", ".ini", ".fbs"})
_PROBE = Path(__file__).resolve().parent.parent.parent / "probe" / "describe.py"
INSTALL = 'pip install "torch>=2.6"'


def hashes(files: Sequence[str], kept: Path) -> list[str]:
    """Returns the sha1 of each file. If all sizes, times and inodes are as before, the hashes come from `kept`.

    One of the times is that of the inode's last change, which programs cannot set back. Raises OSError if a file cannot
    be read. If `kept` cannot be written, nothing is stored.
    """
    now = time.time()
    states = [os.stat(file) for file in files]
    lines = [
        f"{file}\0{state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"
        for file, state in zip(files, states, strict=True)
    ]
    stamp = hashlib.sha256(os.fsencode("\n".join(lines))).hexdigest()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(kept_bytes(kept) or b"")
        if known["stamp"] == stamp:
            return [str(sha1) for sha1 in known["hashes"]]
    hashed = [hashlib.sha1(Path(file).read_bytes(), usedforsecurity=False).hexdigest() for file in files]
    if all(state.st_ctime < now - _SETTLED for state in states):
        with contextlib.suppress(OSError):
            kept.parent.mkdir(exist_ok=True)  # do not create the cache only for this
            write_whole(kept, json.dumps({"stamp": stamp, "hashes": hashed}))
    return hashed


def find_runtime(python: str | None = None) -> Runtime:
    """Describes the torch of `python` (a path or the name of a command); of this interpreter if None.

    Raises PtexploreError: exit code USAGE if `python` is not a Python; MISSING if it has no torch, or one that is too
    old or incomplete. torch is not imported; its version is read from torch/version.py.
    """
    if python is None or os.path.abspath(python) == os.path.abspath(sys.executable):
        with _current_folder_off_path():
            torch_dir, torchgen_dir = _find("torch"), _find("torchgen")
        return describe(sys.executable, sys.version.split()[0], torch_dir, torchgen_dir)
    executable = _resolve(python)
    facts = _ask(executable)
    return describe(executable, str(facts.get("python_version")), facts.get("torch_dir"), facts.get("torchgen_dir"))


def describe(python: str, python_version: str, torch_dir: str | None, torchgen_dir: str | None) -> Runtime:
    """Returns the Runtime of a torch in `torch_dir`. Raises PtexploreError(MISSING) like `find_runtime`."""
    if torch_dir is None:
        raise _no_torch("torch is not installed", f"{python} has no package of that name", python)
    facts = _version_facts(Path(torch_dir), python)
    version = facts["__version__"] or ""
    if release_of(version) < OLDEST:
        why = "ptexplore needs torch 2.6 or later: older versions do not ship the inputs of their generated C++"
        raise _no_torch(f"torch {version} is too old", why, python)
    beside = Path(torch_dir).parent / "torchgen"
    torchgen = str(beside) if beside.is_dir() else torchgen_dir
    packaged = Path(torchgen) / "packaged" if torchgen else None
    has_inputs = packaged is not None and (packaged / "ATen" / "native" / "native_functions.yaml").is_file()
    git_version = facts["git_version"] or "unknown"
    inputs, installation = _contents(torchgen if has_inputs else None, Path(torch_dir))
    built = build_folder_of(torch_dir) is not None
    parts = (f"recipe {RECIPE}", git_version, sys.platform, *_accelerators(facts), *inputs)
    inputs_key = _hash(*parts, "built here") if built else _hash(*parts)
    return Runtime(
        python=python,
        python_version=python_version,
        torch_dir=torch_dir,
        version=version,
        git_version=git_version,
        build="source" if built or not has_inputs else "wheel",
        torchgen_dir=torchgen,
        packaged_dir=str(packaged) if has_inputs else None,
        accelerators=_accelerators(facts),
        key=_hash(version, inputs_key, torch_dir, *installation),
        inputs_key=inputs_key,
    )


def release_of(version: str) -> tuple[int, int]:
    """Returns the major and minor number of a version, or (0, 0) if it has none."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _accelerators(facts: dict[str, str | None]) -> tuple[str, ...]:
    return tuple(name for name in ("cuda", "hip", "xpu") if facts.get(name))


def _version_facts(torch_dir: Path, python: str) -> dict[str, str | None]:
    """Returns the string constants of torch/version.py, which setup.py writes. The file is not executed."""
    file = torch_dir / "version.py"
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, *NOT_PYTHON) as error:
        why = f"{file}: {_words(error)}; is it a folder named torch that is not PyTorch?"
        raise _no_torch("this torch cannot be identified", why, python) from error
    facts: dict[str, str | None] = {"__version__": None, "git_version": None}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            facts[target.id] = value.value
    if not facts["__version__"]:
        raise _no_torch("this torch cannot be identified", f"{file} has no version", python)
    return facts


def _contents(torchgen: str | None, torch_dir: Path) -> tuple[list[str], list[str]]:
    """Returns name and content of all inputs of the generators, and values that identify the installation.

    Those values are hashes of pip's file list, and the sizes and times of the libraries.
    """
    inputs = _inputs(torchgen) if torchgen is not None else []
    records = sorted(str(record) for record in torch_dir.parent.glob("torch-*.dist-info/RECORD"))
    kept = cache_root() / "runtimes" / f"{_hash(str(torch_dir), torchgen or '')}.json"
    contents = hashes([*(file for _, file in inputs), *records], kept)
    named = [part for (name, _), content in zip(inputs, contents, strict=False) for part in (name, content)]
    return named, [*contents[len(inputs) :], *_libraries(torch_dir)]


def _inputs(torchgen: str) -> list[tuple[str, str]]:
    """Returns every file of the generators and their inputs: its name below `torchgen`, and its path."""
    files = (os.path.join(folder, name) for folder, _, names in os.walk(torchgen) for name in names)
    inputs = (file for file in files if os.path.splitext(file)[1] in _INPUTS and os.path.isfile(file))
    named = ((os.path.relpath(file, torchgen).replace(os.sep, "/"), file) for file in inputs)
    return sorted(named, key=lambda pair: pair[0].split("/"))


def _libraries(torch_dir: Path) -> Iterator[str]:
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
    """Keeps the current folder off the path: a `torch/` in it, of a PyTorch checkout, is not the installed torch."""
    try:
        current = os.getcwd()
    except OSError:  # it was deleted
        current = ""
    saved = sys.path[:]
    stays = os.path.basename(current) in {"site-packages", "dist-packages"} or _is_installed_from(current)
    sys.path[:] = [entry for entry in saved if entry and (os.path.abspath(entry) != current or stays)]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = saved


def _is_installed_from(folder: str) -> bool:
    """Whether this Python has an editable install of `folder`: a .pth file in its site-packages names the folder."""
    for packages in (*site.getsitepackages(), site.getusersitepackages()):
        for file in Path(packages).glob("*.pth"):
            with contextlib.suppress(OSError, ValueError):
                if folder in (os.path.abspath(line.strip()) for line in file.read_text("utf-8").splitlines() if line):
                    return True
    return False


def _resolve(python: str) -> str:
    """Returns the absolute path of `python`. Symbolic links stay, since the Python of a virtual environment is one."""
    on_path = shutil.which(python) if os.sep not in python else python
    path = os.path.abspath(os.path.expanduser(on_path or python))
    if not os.path.exists(path):
        raise _no_python(python, "there is no such file")
    if os.path.isdir(path):
        inside = os.path.join(path, "bin", "python")
        raise _no_python(python, "it is a folder", f"--python {shlex.quote(inside)}" if os.path.exists(inside) else "")
    if not os.access(path, os.X_OK):
        raise _no_python(python, "it cannot be executed")
    return path


_PATIENCE = 30.0  # seconds; torch is not imported, but a disk may be slow


def _ask(executable: str) -> dict[str, str | None]:
    from ptexplore import processes

    try:
        child = processes.start(executable, _PROBE)
    except OSError as error:
        raise _no_python(executable, _words(error)) from error
    try:
        messages = list(child.messages(_PATIENCE))
    except processes.ChannelTimeout as error:
        raise _no_python(executable, f"it did not answer within {_PATIENCE:g} s") from error
    except processes.ChannelError as error:
        raise _no_python(executable, "it did not answer like Python") from error
    finally:
        child.stop()
    if len(messages) != 1 or "torch_dir" not in messages[0]:
        raise _no_python(executable, "it did not answer like Python")
    return messages[0]


def _no_torch(message: str, why: str, python: str) -> PtexploreError:
    return PtexploreError(message, why, f"{python} -m {INSTALL}", MISSING)


def _no_python(python: str, why: str, hint: str = "") -> PtexploreError:
    return PtexploreError(
        f"{python} is not a Python interpreter", why, hint or "--python /path/to/env/bin/python", USAGE
    )


def _words(error: BaseException) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
