"""Evaluates the `#if`s around a definition for the build of this wheel: true, false, or unknown.

Known macros come from the wheel's configuration headers (ATen/Config.h, cmake_macros.h, …) and from the definitions
that its CMake targets export (share/cmake/Caffe2/Caffe2Targets.cmake). Others follow from the platform, the
accelerators in torch/version.py and the version of Python. Macros that the build passed by -D otherwise stay unknown.
"""

from __future__ import annotations

import operator
import platform
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ptexplore.cpp.brackets import closing_of
from ptexplore.cpp.macros import defines
from ptexplore.cpp.text import Text
from ptexplore.errors import BROKEN
from ptexplore.model.places import Runtime
from ptexplore.source.tree import SourceTree

HEADERS = (
    "build/aten/src/ATen/Config.h",
    "build/aten/src/ATen/cuda/CUDAConfig.h",
    "build/c10/macros/cmake_macros.h",
    "c10/macros/cmake_macros.h",
    "build/c10/cuda/impl/cuda_cmake_macros.h",
    "build/torch/headeronly/macros/cmake_macros.h",
    "torch/headeronly/macros/cmake_macros.h",
    "torch/csrc/utils/python_compat.h",
)
_TARGETS = "share/cmake/Caffe2/Caffe2Targets.cmake"
_COMPILED = re.compile(r'INTERFACE_COMPILE_DEFINITIONS "([\w;]+)"')
_UNDEFINED = re.compile(r"^/\* #undef (\w+) \*/", re.MULTILINE)

# Macros of systems, compilers and builds that no Linux wheel belongs to.
_ELSEWHERE = (
    "_WIN32", "WIN32", "_WIN64", "_MSC_VER", "_M_X64", "_M_ARM64", "__MINGW32__", "__CYGWIN__", "__APPLE__",
    "__MACH__", "TARGET_OS_IPHONE", "TARGET_OS_MAC", "__ANDROID__", "ANDROID", "C10_ANDROID", "C10_IOS",
    "C10_MOBILE", "FBCODE_CAFFE2", "OVRSOURCE", "DOXYGEN_SHOULD_SKIP_THIS", "USE_MPS", "__EMSCRIPTEN__",
    "__OBJC__", "__OPENCL_VERSION__", "PYPY_VERSION",
)  # fmt: skip
_MACHINES = {
    "x86_64": ("__x86_64__", "__amd64__", "__x86_64", "CPUINFO_ARCH_X86_64"),
    "aarch64": ("__aarch64__", "__ARM_NEON", "__ARM_NEON__", "CPUINFO_ARCH_ARM64"),
    "s390x": ("__s390x__",),
    "ppc64le": ("__powerpc__", "__powerpc64__"),
}
_OTHER_MACHINES = ("__i386__", "__i386", "__arm__", "__riscv", "CPUINFO_ARCH_X86", "CPUINFO_ARCH_ARM")
_CUDA = ("__CUDACC__", "__CUDA_ARCH__", "__NVCC__")
_HIP = ("__HIPCC__", "__HIP_DEVICE_COMPILE__", "USE_ROCM", "__HIP_PLATFORM_AMD__")
_SYCL = ("USE_XPU", "__SYCL_DEVICE_ONLY__", "SYCL_LANGUAGE_VERSION", "__SYCL_COMPILER_VERSION")
_CUDA_SOURCES = (".cu", ".cuh")


@dataclass(frozen=True)
class Conditions:
    """The known macros of one build: `defined` with their text, and `undefined` for certain."""

    defined: Mapping[str, str]
    undefined: frozenset[str]
    left_out: re.Pattern[str] | None = None  # files that this build does not compile
    _done: dict[tuple[str, bool], bool | None] = field(default_factory=dict, repr=False, compare=False)

    def holds(self, guards: Iterable[str], path: str) -> bool | None:
        """Whether all `guards` (see Symbol.guards) hold for the file `path` in this build. None if that is unknown.

        The answer is False if one guard is certainly false, or if the build does not compile the file.
        """
        if self.left_out is not None and self.left_out.match(path):
            return False
        host = not path.endswith(_CUDA_SOURCES)
        values = [self._condition(guard, host) for guard in guards]
        if False in values:
            return False
        return None if None in values else True

    def _condition(self, condition: str, host: bool) -> bool | None:
        asked = (condition, host)
        if asked not in self._done:
            value = evaluate(condition, lambda name: self._macro(name, host))
            self._done[asked] = None if value is None else bool(value)
        return self._done[asked]

    def _macro(self, name: str, host: bool) -> str | bool:
        """Returns the text of a macro. False if it is certainly undefined, True if nothing is known."""
        if not host and name in _CUDA:
            return True
        if name in self.defined:
            return self.defined[name]
        return name not in self.undefined


def conditions(runtime: Runtime, tree: SourceTree) -> Conditions:
    """Reads from the files of `runtime` how it was built. `tree` is its source tree."""
    defined, undefined = _platform(runtime)
    for name in _compiled_with(Path(runtime.torch_dir)):
        defined.setdefault(name, "1")
    for path in HEADERS:
        header = tree.read(path)
        if header is not None:
            _read(Text(path, header.text), defined, undefined)
    return Conditions(defined, frozenset(undefined - set(defined)), _left_out(runtime))


def _left_out(runtime: Runtime) -> re.Pattern[str] | None:
    """Returns a pattern for the files of accelerators that this build lacks.

    It follows the selection in aten/src/ATen/CMakeLists.txt.
    """
    if not sys.platform.startswith("linux"):
        return None
    has = runtime.accelerators
    folders = ["mps", "metal"]
    folders += [] if "cuda" in has or "hip" in has else ["cuda", "cudnn", "miopen", "hip"]
    folders += [] if "xpu" in has else ["xpu"]
    return re.compile(rf"(aten/src/ATen|c10)/(.*/)?({'|'.join(folders)})/.*\.(cpp|cc|cxx|cu|mm)$")


def _platform(runtime: Runtime) -> tuple[dict[str, str], set[str]]:
    """Returns the macros that compiler and system define, and those that are certainly undefined. Only for Linux."""
    defined = {"__cplusplus": "201703L"}
    version = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", runtime.python_version)
    if version:
        major, minor, micro = (int(part) for part in version.groups())
        defined["PY_VERSION_HEX"] = f"0x{major:02X}{minor:02X}{micro:02X}F0"
    if not sys.platform.startswith("linux"):
        return defined, set()
    defined |= dict.fromkeys(("__linux__", "__linux", "__unix__", "__ELF__"), "1")
    undefined = {*_ELSEWHERE, *_OTHER_MACHINES}
    machine = platform.machine()
    if machine in _MACHINES:
        defined |= dict.fromkeys(_MACHINES[machine], "1")
        undefined |= {macro for name, macros in _MACHINES.items() if name != machine for macro in macros}
    has = runtime.accelerators
    undefined |= set(_CUDA)  # for C++ that the host compiler reads
    undefined |= set(_HIP) if "hip" not in has else set()
    undefined |= set(_SYCL) if "xpu" not in has else set()
    undefined |= {"USE_CUDA", "CUDA_VERSION"} if "cuda" not in has and "hip" not in has else set()
    return defined, undefined


def _compiled_with(torch_dir: Path) -> list[str]:
    """Returns the definitions that the wheel's CMake targets pass on. The libraries were built with them, too."""
    try:
        text = (torch_dir / _TARGETS).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        if error.errno in BROKEN:  # without these names, other lines would be reported as compiled
            raise
        return []
    return [name for match in _COMPILED.finditer(text) for name in match[1].split(";") if name]


def _read(text: Text, defined: dict[str, str], undefined: set[str]) -> None:
    """Adds the object macros of a header whose `#if`s are certain. "NAME()" stands for a macro without arguments."""
    undefined_before = frozenset(undefined)
    undefined.update(_UNDEFINED.findall(text.raw))
    for define in defines(text):
        guards = text.guards(text.line(define.offset))
        if not define.parameters and Conditions(defined, undefined_before).holds(guards, text.path):
            defined.setdefault(define.name + ("" if define.parameters is None else "()"), define.body)


# returns the text of a macro; False: certainly undefined; True: nothing is known
Macro = Callable[[str], "str | bool"]

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9A-Fa-f']+|\d[\d']*)[uUlLzZ]*|([A-Za-z_]\w*)|(&&|\|\||[=!<>]=|<<|>>|[-+*/%<>!~()&|^?:,]))"
)
_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": operator.lshift, ">>": operator.rshift},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul},
)  # fmt: skip
DEEPEST = 12  # levels of macros that expand to macros; PyTorch has less than half as many
LONGEST = 4000  # greatest length of a condition, in characters


class _NotKnown(Exception):
    """The text is not an expression that this module understands."""


def evaluate(condition: str, macro: Macro, depth: int = 0) -> int | None:
    """Returns the value of `condition`. None if it depends on an unknown macro, or cannot be parsed."""
    if depth > DEEPEST or len(condition) > LONGEST:
        return None
    try:
        reader = _Reader(condition, macro, depth)
        value = reader.either()
        return value if reader.at_end() else None
    except (_NotKnown, RecursionError):
        return None


class _Reader:
    """Reads an expression from left to right. Every method returns the value of the part that it read."""

    def __init__(self, text: str, macro: Macro, depth: int) -> None:
        self.text, self.macro, self.depth, self.position = text, macro, depth, 0

    def at_end(self) -> bool:
        return not self.text[self.position :].strip()

    def either(self) -> int | None:
        """Reads alternatives: if one is true, the value is true, even if others are unknown."""
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = 1 if value or other else None if value is None or other is None else 0
        return value

    def _both(self) -> int | None:
        value = self._level(0)
        while self._take("&&"):
            other = self._level(0)
            one_false = value == 0 or other == 0
            value = 0 if one_false else None if value is None or other is None else 1
        return value

    def _level(self, number: int) -> int | None:
        if number == len(_LEVELS):
            return self._unary()
        value = self._level(number + 1)
        while (sign := self._sign(_LEVELS[number])) is not None:
            other = self._level(number + 1)
            known = value is not None and other is not None and abs(other) < 1 << 64
            if known and sign in ("<<", ">>") and not 0 <= (other or 0) < 64:
                known = False
            value = int(_LEVELS[number][sign](value or 0, other or 0)) if known else None
        return value

    def _unary(self) -> int | None:
        if self._take("!"):
            value = self._unary()
            return None if value is None else int(not value)
        if self._take("-"):
            value = self._unary()
            return None if value is None else -value
        if self._take("+"):
            return self._unary()
        if self._take("("):
            value = self.either()
            if not self._take(")"):
                raise _NotKnown
            return value
        return self._primary()

    def _primary(self) -> int | None:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match[3]:
            raise _NotKnown
        self.position = match.end()
        if match[1]:
            return int(match[1].replace("'", ""), 16 if match[1][:2] in ("0x", "0X") else 10)
        if match[2] == "defined":
            return self._defined()
        if match[2] in ("true", "false"):
            return int(match[2] == "true")
        return self._name(match[2])

    def _defined(self) -> int | None:
        bracket = self._take("(")
        match = _TOKEN.match(self.text, self.position)
        if match is None or not match[2]:
            raise _NotKnown
        self.position = match.end()
        if bracket and not self._take(")"):
            raise _NotKnown
        text = self.macro(match[2])
        if text is True and isinstance(self.macro(f"{match[2]}()"), str):
            return 1
        return None if text is True else int(text is not False)

    def _name(self, name: str) -> int | None:
        """Returns the value of a macro. A macro that is certainly undefined is 0."""
        if self.text[self.position :].lstrip().startswith("("):
            name = f"{name}()" if self._arguments() == "" else ""
        text: str | bool = self.macro(name) if name else True
        if text is True:
            return None
        return 0 if text is False else evaluate(text, self.macro, self.depth + 1) if text else None

    def _arguments(self) -> str:
        """Skips the brackets of a call. Returns the text between them."""
        opening = self.text.index("(", self.position)
        closing = closing_of(self.text, opening)
        if closing < 0:
            raise _NotKnown
        self.position = closing + 1
        return self.text[opening + 1 : closing].strip()

    def _sign(self, signs: dict[str, Callable[[int, int], int]]) -> str | None:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match[3] not in signs:
            return None
        self.position = match.end()
        return match[3]

    def _take(self, sign: str) -> bool:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match[3] != sign:
            return False
        self.position = match.end()
        return True
