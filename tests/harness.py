"""What end-to-end tests share: the real command in a process of its own, and the text that a source reference names."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from ptexplore.render.html import output

if TYPE_CHECKING:
    import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = os.environ.get("PTEXPLORE_TEST_PYTHON")  # the Python whose torch is looked at; None: our own
# Every variant of what costs much and differs little: where one's own machine has the time, as for the matched pair.
# Registrations of a release's wheel in generated files: facts, counted by hand once in the binary's own dump.
GENERATED = {"2.6.0+cu124": 17_563, "2.13.0+cpu": 15_958, "2.13.0+cu130": 17_678, "2.14.1+cu130": 17_711}
THOROUGH = os.environ.get("PTEXPLORE_TEST_THOROUGH", "1" if TARGET else "") not in ("", "0")
# The commands that are asked about the torch under test.
WITH_PYTHON = (
    "trace", "tensor", "graph", "compile", "lower", "op", "show", "find", "explain-error", "exercise", "doctor",
    "survey",
)  # fmt: skip
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
KNOWN = ("registered", "located")
HEAVY = {
    "torch",
    "git",
    "tree_sitter",
    "clang",
    "numpy",
    "textual",
    "msgspec",
    "ptexplore.capture",
    "ptexplore.index.build",
    "ptexplore.index.cpp",
    "ptexplore.index.workers",
    "ptexplore.model.trace",
    "ptexplore.resolve.claims",
    "ptexplore.model.observed",
    "ptexplore.source.fetch.fetch",
    "ptexplore.source.fetch.git",
}  # what a look-up in an index must not import
DROPPED = ("PTEXPLORE_", "PYTHON", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM", "TORCH")  # of the caller's variables
STATUSES = {"observed", "derived", "predicted", "inlined", "cut"}
PRECISIONS = {"registered", "located", "consistent", "version-skew", "ambiguous", "unknown"}


@dataclass(frozen=True)
class Result:
    """How one run of the command ended."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float
    cpu: float = 0.0  # seconds of processor: what a busy machine does not stretch

    def __str__(self) -> str:
        return f"{self.arguments} -> {self.code}\n--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}"

    @property
    def data(self) -> Any:
        assert self.code == 0, self
        return json.loads(self.out)

    @property
    def hops(self) -> list[dict[str, Any]]:
        """Every hop, parent before child, each with its `children` as well."""
        return nested(self.data["hops"])

    @property
    def tree(self) -> list[dict[str, Any]]:
        """The outermost hops."""
        return [hop for hop in self.hops if hop["parent"] is None]

    def three_parts(self, *codes: int) -> Result:
        """Check that this is an error as every error should be: what, why, try; one of `codes`; stdout untouched."""
        assert self.code in codes, self
        found = re.search(r"^error: \S.*\n(?:.*\n)*?why: +\S.*\n(?:.*\n)*?try: +\S.*\n?", self.err, re.MULTILINE)
        assert found, self
        assert "Traceback (most recent call last)" not in self.err, self
        assert not CONTROL.search(self.err), self
        assert self.out == "", self
        return self


def script_library(name: str) -> Any:
    """A module of scripts/lib, for tests that share it."""
    folder = str(REPOSITORY / "scripts")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(f"lib.{name}")
    finally:
        sys.path.remove(folder)


def as_in_the_repository(file: Path) -> str:
    """The text of an installed file: from 2.9 on an `#if` that setup.py adds stands above a header's first line."""
    text = file.read_text(encoding="utf-8", errors="replace")
    first, _, after = text.partition("\n")
    return after if first.startswith("#if !defined(TORCH_STABLE_ONLY)") else text


def nested(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a Trace's table, each with a list of its `children`."""
    by_id: dict[int, dict[str, Any]] = {}
    for row in rows:
        row["children"] = []
        if row["parent"] is not None:
            by_id[row["parent"]]["children"].append(row)
        by_id[row["id"]] = row
    return rows


def with_target(arguments: tuple[str, ...], target: str | None) -> tuple[str, ...]:
    """Arguments that ask the torch under test, if the command takes one. A saved run takes none."""
    is_saved = arguments[:1] in (("compile",), ("lower",), ("graph",)) and not {"--load", "--last"}.isdisjoint(
        arguments
    )
    asks = bool(target and arguments) and arguments[0] in WITH_PYTHON and not is_saved
    return (*arguments, "--python", str(target)) if asks else arguments


def with_tree(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of a command; of a trace that names no view, with the tree: what most tests read."""
    other = ("--view", "-v", "--plain", "--json", "--explain", "--open", "--full", "--depth", "--only")
    is_trace = arguments[:1] == ("trace",) and not {argument.partition("=")[0] for argument in arguments} & set(other)
    return (*arguments, "--view", "tree") if is_trace else arguments


@dataclass(frozen=True)
class Cli:
    """The command with one cache folder, started as a user would: by module name, from a folder of its own."""

    cache: Path
    cwd: Path
    python: str = sys.executable

    def __call__(
        self,
        *arguments: str,
        env: dict[str, str] | None = None,
        timeout: float = 240,
        target: str | None = TARGET,
        cwd: Path | None = None,
    ) -> Result:
        arguments = with_target(arguments, target)
        arguments = with_tree(arguments)
        started, used = time.monotonic(), _cpu()
        done = subprocess.run(
            [self.python, "-m", "ptexplore", *arguments],
            env=self.environment() | (env or {}),
            cwd=cwd or self.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        return Result(arguments, done.returncode, out, err, time.monotonic() - started, _cpu() - used)

    def imported(self, *arguments: str) -> set[str]:
        """The modules that the command imports, packages too, by their whole names."""
        command = [self.python, "-X", "importtime", "-m", "ptexplore", *arguments]
        done = subprocess.run(command, env=self.environment(), cwd=self.cwd, capture_output=True, text=True, check=True)
        rows = [line.split("|") for line in done.stderr.splitlines() if line.startswith("import time:")]
        found = {row[-1].strip() for row in rows}
        assert "ptexplore" in found
        return found

    def environment(self) -> dict[str, str]:
        """The caller's, less what would change what the command prints or reads."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
        kept |= {"PTEXPLORE_CACHE": str(self.cache), "PTEXPLORE_CONFIG": str(self.cache / "config"), "COLUMNS": "100"}
        kept |= {"PTEXPLORE_DATA": str(self.cache / "data")}
        if not installed():
            kept["PYTHONPATH"] = str(REPOSITORY)
        return kept

    def text_of(self, path: str) -> str:
        """The text of a canonical path in the runtime tree, found by a way of our own: not by the code under test."""
        for found in (self.cache / "generated").glob(f"*/{path}"):
            return found.read_text(encoding="utf-8", errors="replace")
        site = torch_folder().parent
        table = {
            "aten/src/ATen/native/": "torchgen/packaged/ATen/native/",
            "tools/autograd/": "torchgen/packaged/autograd/",
            "aten/src/ATen/": "torch/include/ATen/",
            "build/aten/src/ATen/": "torch/include/ATen/",
            "": "",
        }
        for prefix, folder in table.items():
            if path.startswith(prefix) and (site / folder / path[len(prefix) :]).is_file():
                return as_in_the_repository(site / folder / path[len(prefix) :])
        for folder in ("torch/include", "torch/include/torch/csrc/api/include"):
            if (site / folder / path).is_file():
                return as_in_the_repository(site / folder / path)
        raise AssertionError(f"{path} is neither in the generated layer nor in the wheel")

    def line_of(self, ref: dict[str, Any]) -> str:
        """The line that a source reference names: in the runtime tree, or in the 2.6.0 source tree."""
        return self.text_of_place(ref).splitlines()[ref["line"] - 1]

    def text_of_place(self, ref: dict[str, Any]) -> str:
        """The text of the file that a source reference names, in the tree that it names."""
        if ref.get("tree", "runtime") == "runtime":
            return self.text_of(ref["path"])
        return (Path(os.environ["PTEXPLORE_TEST_SOURCE"]) / ref["path"]).read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class InProcess:
    """The command in this process, its probe a fork of one that has imported torch: for what needs no start."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, env: dict[str, str] | None = None, target: str | None = TARGET) -> Result:
        import pytest

        from ptexplore.cli.app import main

        arguments = with_target(arguments, target)
        arguments = with_tree(arguments)
        self.capture.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = main(list(arguments))
        out, err = self.capture.readouterr()
        return Result(arguments, code, out, err, 0.0)


@dataclass(frozen=True)
class Here(Cli):
    """The command with one cache folder, in this process; from another folder it has one of its own."""

    here: InProcess | None = None

    def __call__(
        self,
        *arguments: str,
        env: dict[str, str] | None = None,
        timeout: float = 240,
        target: str | None = TARGET,
        cwd: Path | None = None,
    ) -> Result:
        if self.here is None or cwd is not None:
            return super().__call__(*arguments, env=env, timeout=timeout, target=target, cwd=cwd)
        return self.here(*arguments, env=env, target=target)


def made_once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A file of that name that `make` writes, once for all workers of this run. Tests only read it."""
    base = folders.getbasetemp()
    file = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / name
    with FileLock(f"{file}.lock"):
        if not file.exists():
            aside = file.with_name(f"{name}.part")
            make(aside)
            aside.rename(file)
    return file


def result_once(folders: pytest.TempPathFactory, run: Callable[..., Result], *arguments: str, of: str = "") -> Result:
    """What `run(*arguments)` gives, run once for all workers; `of` tells apart what is run with the same arguments."""
    name = hashlib.sha256(json.dumps([of, *arguments]).encode()).hexdigest()[:20]

    def make(file: Path) -> None:
        file.write_text(json.dumps(dataclasses.asdict(run(*arguments))), encoding="utf-8")

    saved = json.loads(made_once(folders, f"result-{name}.json", make).read_text(encoding="utf-8"))
    return Result(**{**saved, "arguments": tuple(saved["arguments"])})


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


@functools.cache
def installed() -> bool:
    """Whether this Python finds ptexplore without our help."""
    try:
        importlib.metadata.distribution("ptexplore")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@functools.cache
def torch_folder() -> Path:
    """Where the torch under test lies, asked of its own Python."""
    code = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    done = subprocess.run([TARGET or sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


@functools.cache
def torch_version() -> str:
    """`torch.__version__` of the torch under test, without importing it."""
    text = (torch_folder() / "version.py").read_text(encoding="utf-8")
    found = re.search(r"^__version__ = '([^']+)'", text, re.MULTILINE)
    assert found
    return found.group(1)


def hashes(root: Path) -> dict[str, str]:
    """The sha256 of every file below a folder, by its path there."""
    return {
        file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }


def codes(reasons: object) -> set[str]:
    """The codes of reasons, as a Trace's JSON has them, and of all that they follow from."""
    if isinstance(reasons, list):
        return set().union(*map(codes, reasons))
    if not isinstance(reasons, dict):
        return set()
    return {str(reasons["code"])}.union(*map(codes, reasons.values()))


def copied_site(site: Path, copy: Path) -> None:
    """A copy of a site that counts as written where it is, for the data folder of this process's environment."""
    shutil.copytree(site, copy)
    output._Remembered.of(copy).also(hashlib.sha256((copy / output.MANIFEST).read_bytes()).hexdigest())
