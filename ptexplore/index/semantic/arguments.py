"""What libclang is told for one file of a checkout: language, include folders in order, a Linux wheel's definitions."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCES = frozenset({".cpp", ".cc", ".cxx", ".c"})  # CUDA, Objective-C++ and Metal need headers that are not here
HEADERS = frozenset({".h", ".hpp", ".hh", ".inl"})

# Of cmake/Dependencies.cmake and caffe2/CMakeLists.txt, as a release's Linux build has them. What would need headers
# that a wheel does not hold (fbgemm, onnx, numpy, CUDA) is left undefined. A CPU kernel is read once, as DEFAULT.
_DEFINES = ("AT_PER_OPERATOR_HEADERS", "CPU_CAPABILITY=DEFAULT", "CPU_CAPABILITY_DEFAULT", "HAVE_MMAP=1",
            "HAVE_SHM_OPEN=1", "HAVE_SHM_UNLINK=1", "USE_C10D_GLOO", "USE_DISTRIBUTED", "USE_PTHREADPOOL", "USE_RPC",
            "USE_TENSORPIPE", "_GNU_SOURCE")  # fmt: skip
_CHECKOUT = ("", "aten/src", "torch/csrc/api/include")
_INCLUDE_OF = "import sysconfig; print(sysconfig.get_paths()['include'])"


@dataclass(frozen=True, slots=True)
class Headers:
    """Where headers come from, in this order: the checkout, what torchgen made, the installed torch (its own and third
    parties'), Python.
    """

    root: str
    generated: str | None
    wheel: str | None
    python: str | None


def headers(root: str, generated: str | None, torch_dir: str | None, python: str) -> Headers:
    """The folders to use; `python` has the torch in `torch_dir`, `generated` is its generated C++. None: not there."""
    wheel = Path(torch_dir) / "include" if torch_dir else None
    return Headers(root, generated, str(wheel) if wheel and wheel.is_dir() else None, _python_include(python))


def _python_include(python: str) -> str | None:
    try:
        asked = subprocess.run(
            [python, "-I", "-c", _INCLUDE_OF], capture_output=True, text=True, timeout=30, check=True, cwd="/"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    folder = asked.stdout.strip()
    return folder if folder and Path(folder, "Python.h").is_file() else None


def arguments(where: Headers, path: str) -> list[str]:
    """The arguments for the file of canonical `path`."""
    folders = [str(Path(where.root, folder)) for folder in _CHECKOUT]
    if where.generated is not None:
        folders += [f"{where.generated}/build/aten/src", where.generated]
    if where.wheel is not None:
        folders += [where.wheel, f"{where.wheel}/torch/csrc/api/include"]
    if where.python is not None:
        folders.append(where.python)
    language = ["-x", "c"] if path.endswith(".c") else ["-x", "c++", "-std=c++17"]
    every = ["-ferror-limit=0", "-Wno-pragma-once-outside-header"]  # the latter: a header parsed by itself is no fault
    return [*language, *every, *(f"-D{value}" for value in _DEFINES), *(f"-I{value}" for value in folders)]
