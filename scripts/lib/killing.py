"""Commands that write, killed at random moments: what is left must be as good as what a run left alone leaves."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import searched_source, small_source
from tests.harness import REPOSITORY, TARGET, Cli
from tests.upstream import make_upstream, write_tree

MARK = "PTEXPLORE_KILLED_RUN"  # in the environment of all that a run starts
SITE = "given/site"  # packages that a command finds before all others
GRACE = 2.0  # seconds that what a killed command started may live on, less those in which it waits for a processor
PATIENCE = 20.0  # seconds more, to tell what is slow on a busy machine from what never ends
ASIDE_NAMES = (".lock", "-journal", "-wal", "-shm")  # of no meaning once nobody holds them


Prints = tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """A command that writes, over what `prepare` lays into a folder with `cache`, `cwd` and `given`."""

    arguments: Callable[[Path], tuple[str, ...]]
    prepare: Callable[[Path, Callable[..., None]], None]  # the folder; runs ptexplore there
    whole: tuple[str, ...] = ()  # files that are the old or the new one at any moment
    answers: bool = False  # its output is the answer, not a report of what it did
    stays: bool = False  # what it starts from is too large to copy, and it changes nothing of it but what it adds


@dataclass
class Tally:
    """What came of the kills of one command."""

    seconds: float = 0.0  # of processor that a run takes which is left alone
    kills: int = 0  # which met a running command
    late: int = 0  # it had ended before
    runs: int = 0  # runs after them that were left to end
    compared: int = 0  # files that are the same in two runs left alone, byte for byte or row for row
    uncompared: list[str] = field(default_factory=list)  # files that differ between such runs
    orphans: int = 0
    left_behind: set[str] = field(default_factory=set)  # files that a run left alone does not leave
    faults: list[str] = field(default_factory=list)


# --- what is run ---------------------------------------------------------------------------------


def _mini(folder: Path, run: Callable[..., None]) -> None:
    small_source.write(folder / "given/mini", copies=6)
    run("fetch", "--from", str(folder / "given/mini"))


def _searched(folder: Path, run: Callable[..., None]) -> None:
    searched_source.write(folder / "given/mini")
    run("fetch", "--from", str(folder / "given/mini"))
    run("index", "--checkout", "mini")


NOTE = """---
id: mine
title: Mine
baseline: v2.99.0
---

What it is.

## Here {#here}

```anchor
path: aten/src/ATen/native/Mix.cpp
symbol: at::native::Mixer
```
"""


def _noted(folder: Path, run: Callable[..., None]) -> None:
    _searched(folder, run)
    (folder / "cwd/notes").mkdir()
    (folder / "cwd/notes/mine.md").write_text(NOTE, encoding="utf-8")
    run("notes", "pin", "mine", "--notes", "notes", "--yes")
    lock = folder / "cwd/notes/anchors.lock"
    (folder / "cwd/notes/mine.md").write_text(NOTE + NOTE.partition("What it is.\n")[2].replace("here", "there"))
    assert lock.is_file()


def _big_tree(folder: Path) -> Path:
    tree, drawn = write_tree(folder / "given/tree"), random.Random(0)
    for number in range(200):
        (tree / f"c10/{number}.h").write_bytes(drawn.randbytes(20_000))
    return tree


def _archive(folder: Path, run: Callable[..., None]) -> None:
    del run
    with tarfile.open(folder / "given/x.tar.gz", "w:gz") as packed:
        packed.add(_big_tree(folder), "tree")


def _remote(folder: Path, run: Callable[..., None]) -> None:
    del run
    make_upstream(_big_tree(folder), "v2.99.0")


def _warm(folder: Path, run: Callable[..., None]) -> None:
    del folder
    run("op", "add.Tensor", "--json", *_python())


# The few that torchgen needs to make every file: views with their copies, and what these are made of.
OPERATORS = re.compile(
    r"(?:add|sub|mul|view|sum|empty|zeros_like|ones_like|empty_like|fill|zero|copy|clone|to|contiguous|expand|resize"
    r"|as_strided|empty_strided|relu|mm|addmm|t|transpose|detach|alias)(?:_copy)?_?(?:\.\w+)?"
)


def _small_torch(folder: Path, run: Callable[..., None]) -> None:
    """The torch under test beside a torchgen whose YAML has few operators: the same files in a third of the time."""
    from ptexplore.source.runtime.describe import find_runtime

    del run
    runtime, site = find_runtime(TARGET), folder / SITE
    site.mkdir()
    for package in ("torch", "functorch"):
        (site / package).symlink_to(Path(runtime.torch_dir).parent / package)
    packaged = Path(shutil.copytree(str(runtime.torchgen_dir), site / "torchgen")) / "packaged"
    functions = _cut(packaged / "ATen/native/native_functions.yaml", "func", OPERATORS.fullmatch)
    _cut(packaged / "autograd/derivatives.yaml", "name", functions.__contains__)
    _cut(packaged / "autograd/deprecated.yaml", "name", OPERATORS.fullmatch)
    time.sleep(2.5)  # files that have just been written are not taken for settled, and their hashes are not kept


def _cut(file: Path, begin: str, wanted: Callable[[str], object]) -> set[str]:
    """Leave some entries of one of torchgen's YAML files: those whose name is wanted. Gives their names."""
    head, *entries = re.split(rf"^(?=- {begin}:)", file.read_text(), flags=re.MULTILINE)
    named = [(entry[len(f"- {begin}:") :].strip(" \"'").partition("(")[0], entry) for entry in entries]
    kept = [(name, entry) for name, entry in named if wanted(name)]
    assert kept, file
    file.write_text(head + "".join(entry for _, entry in kept))
    return {name for name, _ in kept}


def _python() -> tuple[str, ...]:
    return ("--python", TARGET) if TARGET else ()


def _asked(*arguments: str) -> Callable[[Path], tuple[str, ...]]:
    return lambda folder: tuple(word.replace("{given}", f"{folder}/given") for word in arguments)


WORKS: dict[str, Work] = {
    "first trace": Work(
        _asked("trace", "torch.add(a, b)", "--no-native", "--json", *_python()), _small_torch, answers=True
    ),
    "trace, stepped": Work(_asked("trace", "torch.add(a, b)", "--save", "kept.json", *_python()), _warm, stays=True),
    "index": Work(_asked("index", "--checkout", "mini"), _mini),
    "fetch, archive": Work(_asked("fetch", "--from", "{given}/x.tar.gz"), _archive),
    "fetch, git": Work(_asked("fetch", "--from", "file://{given}/tree", "--ref", "v2.99.0"), _remote),
    "html": Work(_asked("html", "--tree", "mini", "out", "--scope", "all", "--jobs", "2"), _searched),
    "notes pin": Work(
        _asked("notes", "pin", "mine", "--notes", "notes", "--yes"), _noted, whole=("cwd/notes/anchors.lock",)
    ),
    **{
        name: Work(
            _asked("survey", "--alone", "--only", "^(add|view)$", "--jobs", jobs, "--out", "out", *_python()),
            _warm, stays=True,
        )
        for name, jobs in (("survey", "2"), ("survey, one worker", "1"))
    },
}  # fmt: skip


# --- running it ----------------------------------------------------------------------------------


class Killing:
    """One command in a folder of its own, always the same one, so that what it writes of its place is the same too."""

    def __init__(self, work: Work, folder: Path) -> None:
        self._work, self._folder, self._start = work, folder / "run", folder / "start"
        self._number = 0
        for part in ("cache", "cwd", "given"):
            (self._folder / part).mkdir(parents=True)
        work.prepare(self._folder, self._whole_run)
        if not work.stays:
            shutil.copytree(self._folder, self._start, symlinks=True)
        self._arguments = work.arguments(self._folder)
        self._outputs: list[str] = []
        self._alone: dict[str, Prints] = {}  # the files that a run left alone leaves
        self._same: dict[str, int | None] = {}  # in which of its prints two such runs agree about a file
        self._known: dict[str, set[str]] = {}  # what is whole at any moment: all that it may be

    def _whole_run(self, *arguments: str, meter: Tally | None = None) -> str:
        """Run it to its end. Raises AssertionError where that is not a good one."""
        process = self._begin(arguments)
        with _metered(process.pid, meter):
            return _good(process)

    def _begin(self, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
        self._number += 1
        cli = Cli(self._folder / "cache", self._folder / "cwd")
        first = {"PTEXPLORE_DATA": f"{self._folder}/data", "PYTHONPATH": f"{self._folder / SITE}:{REPOSITORY}"}
        first["PYTHONHASHSEED"] = "0"  # torchgen writes some names in the order of a set
        return subprocess.Popen(
            [sys.executable, "-m", "ptexplore", *arguments], cwd=cli.cwd, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env=cli.environment() | {MARK: self._mark(), **first},
        )  # fmt: skip

    def _mark(self) -> str:
        return f"{os.getpid()}-{id(self)}-{self._number}"

    def _reset(self) -> None:
        """As it was before the first run."""
        if self._work.stays:
            for found in (self._folder / "cwd").iterdir():
                shutil.rmtree(found) if found.is_dir() else found.unlink()
            return
        for part in (
            "cache",
            "cwd",
            "data",
        ):  # not `given`, which a command reads: with new times it would be read anew
            shutil.rmtree(self._folder / part, ignore_errors=True)
            if (self._start / part).exists():
                shutil.copytree(self._start / part, self._folder / part, symlinks=True)

    def _left(self) -> dict[str, Path]:
        """The files that a run leaves; where it changes nothing of the cache, those of its folder."""
        roots = ("cwd",) if self._work.stays else ("cache", "cwd", "data")
        found = (file for root in roots for file in (self._folder / root).rglob("*") if file.is_file())
        return {
            file.relative_to(self._folder).as_posix(): file
            for file in found
            if not file.name.endswith(ASIDE_NAMES) and ".git" not in file.parts
        }

    def leave_alone(self, tally: Tally) -> None:
        """Two runs that nobody kills: how long they take, and what of what they leave is the same."""
        found: list[dict[str, Prints]] = []
        for _ in range(2):
            self._reset()
            for name in self._work.whole:
                self._known.setdefault(name, set()).add(_prints(self._folder / name)[0])
            self._outputs.append(self._whole_run(*self._arguments, meter=tally))
            found.append({name: _prints(file) for name, file in self._left().items()})
            for name in self._work.whole:
                self._known[name].add(_prints(self._folder / name)[0])
        self._alone = found[0]
        for name in set(found[0]) & set(found[1]):
            both = zip(found[0][name], found[1][name], strict=False)
            self._same[name] = next((number for number, (one, other) in enumerate(both) if one == other), None)
        tally.compared = sum(way is not None for way in self._same.values())
        tally.uncompared = sorted(name for name in self._alone if self._same.get(name) is None)

    def kill(self, chain: int, drawn: random.Random, tally: Tally) -> None:
        """Kill it so many times on top of one another; then let one run end. One that ends before its kill is that."""
        self._reset()
        ended = None
        for _ in range(chain):
            ended = self._kill_once(drawn.uniform(0.0, tally.seconds), drawn, tally)
            for name, known in self._known.items():
                if _prints(self._folder / name)[0] not in known:
                    tally.faults.append(f"{name} is neither the old nor the new one")
            if ended is not None:
                break
        self._compare(tally, ended)

    def _kill_once(self, after: float, chance: random.Random, tally: Tally) -> subprocess.Popen[bytes] | None:
        """Kill it after so many seconds of processor: by the clock, a busy machine would always be met at its start.

        Returns the process where it had ended before.
        """
        process = self._begin(self._arguments)
        while process.poll() is None and (left := after - spent(process.pid)) > 0.0:
            with contextlib.suppress(subprocess.TimeoutExpired):  # on all processors it takes at least so long
                process.wait(max(chance.uniform(0.0, 0.1), left / (os.cpu_count() or 1)))
        if process.poll() is not None:
            tally.late += 1
            return process
        tally.kills += 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):  # a child may hold the other end: it is not waited for
            if stream is not None:
                stream.close()
        began, waited, most = time.monotonic(), {}, 0.0
        while (alive := marked(self._mark())) and time.monotonic() < began + GRACE + most:
            for number, _ in alive:  # what is given no turn to end on a busy machine is not what lives on
                now = waiting(number)
                most = max(most, now - waited.setdefault(number, now))
            time.sleep(0.05)
        if alive:
            tally.orphans += len(alive)
            last, began = alive[0][1][-80:], time.monotonic()
            while (alive := marked(self._mark())) and time.monotonic() < began + PATIENCE:
                time.sleep(0.05)
            ended = f"ended {GRACE + time.monotonic() - began:.1f} s after the kill" if not alive else "lives on"
            tally.faults.append(f"{ended}: {last}, load {os.getloadavg()[0]:.0f}")
            for number, _ in alive:
                with contextlib.suppress(OSError):
                    os.kill(number, signal.SIGKILL)
        return None

    def _compare(self, tally: Tally, ended: subprocess.Popen[bytes] | None) -> None:
        try:
            output = self._whole_run(*self._arguments) if ended is None else _good(ended)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            tally.faults.append(str(error)[:600])
            return
        tally.runs += 1
        left = self._left()
        tally.left_behind |= set(left) - set(self._alone)
        if self._work.answers and self._outputs[0] == self._outputs[1] != output:
            tally.faults.append(f"another answer: {output[:200]}")
        for name, way in self._same.items():
            if name not in left:
                tally.faults.append(f"{name} is not there")
            elif way is not None and _prints(left[name])[way] != self._alone[name][way]:
                tally.faults.append(f"{name} differs")


def _good(process: subprocess.Popen[bytes]) -> str:
    """What a run prints, when it has ended. Raises AssertionError where that is no good end."""
    out, err = process.communicate(timeout=600)
    if process.returncode or b"Traceback" in err:
        raise AssertionError(f"{process.args!r:.300} -> {process.returncode}: {err.decode(errors='replace')[-400:]}")
    return out.decode()


def _prints(file: Path) -> Prints:
    """What to compare a file by, the strictest first: its bytes; a database's rows; a document less its numbers.

    A saved trace by what is PyTorch's in it: two runs may be equal in the rest by chance.
    """
    if not file.is_file():
        return ("",)
    data = file.read_bytes()
    prints = [data]
    if file.name.endswith((".json", ".json.gz")):
        text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        prints = _torchs_own(text) or [data, re.sub(rb"[0-9]+", b"0", text)]
    if file.parent.name == "runtimes":  # what torch's files hold; their times change with whoever links to them
        prints = [repr(json.loads(data)["hashes"]).encode()]
    elif file.suffix == ".read-ahead":
        prints.append(repr(_rows_ahead(file)).encode())
    elif data.startswith(b"SQLite format 3\0") and file.parent.name == "index":
        # Files and symbols are numbered as workers come to them: two runs may be equal by chance, byte for byte.
        prints = [repr(sorted(small_source.rows(file).items())).encode()]
    elif data.startswith(b"SQLite format 3\0"):
        connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        try:
            prints.append("\n".join(sorted(connection.iterdump())).encode())
        finally:
            connection.close()
    return tuple(hashlib.sha256(what).hexdigest() for what in prints)


def _torchs_own(text: bytes) -> list[bytes]:
    """Of a saved trace the result and all hops but those inside of closed libraries: of Python's and C's some differ.

    What is left are bindings, operators, dispatch keys, kernels and PyTorch's own functions, each with its place.
    """
    document = json.loads(text) if b'"hops"' in text else None
    if not isinstance(document, dict) or "hops" not in document:
        return []
    hops = [
        [hop[name] for name in ("kind", "name", "status", "phase", "thread", "op", "key", "source", "dispatch")]
        for hop in document["hops"]
        if hop["kind"] != "closed"
    ]
    return [json.dumps([document["expression"], document["result"], hops]).encode()]


def _rows_ahead(file: Path) -> list[Any]:
    """What was read ahead of each file, less the number that the file got as a worker came to it, and times."""
    from ptexplore.store.index.read_ahead import kept, unpacked
    from ptexplore.store.index.rows import span

    ahead = kept(file)
    if ahead is None:
        return []
    contents: list[Any] = [ahead.macros, ahead.next_file]
    for packed in sorted(ahead.files, key=lambda packed: packed.path):
        rows = unpacked(packed, 0)
        first = span(rows.file[0])[0]
        tables = [[(row[0] - first, *row[1:]) for row in table] for table in (rows.symbols, rows.refs, rows.dialect)]
        contents.append(
            (packed.path, packed.sha, rows.file[1:], tables, sorted(rows.texts.items()), sorted(rows.words.split()))
        )
    return contents


@contextlib.contextmanager
def _metered(number: int, tally: Tally | None) -> Iterator[None]:
    """Meanwhile look at how many seconds of processor it has spent, as a kill's moment is looked for.

    What a worker's own children spent is gone when that worker is ended: the system's sum has more.
    """
    ended = threading.Event()

    def look() -> None:
        while tally is not None and not ended.wait(0.1):
            tally.seconds = max(tally.seconds, spent(number))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def spent(number: int) -> float:
    """Seconds of processor of a process, of its descendants, and of those that were waited for."""
    used, children = {number: 0.0}, defaultdict(list)
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            stat = file.read_text().rpartition(")")[2].split()
            used[int(file.parent.name)] = sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")
            children[int(stat[1])].append(int(file.parent.name))
    total, family = 0.0, [number]
    while family:
        total += used[family[-1]]
        family += children[family.pop()]
    return total


def waiting(number: int) -> float:
    """Seconds that a process was ready to run and had no processor: of its threads the longest."""
    with contextlib.suppress(OSError):
        tasks = [file.read_text().split() for file in Path(f"/proc/{number}/task").glob("*/schedstat")]
        return max((int(task[1]) / 1e9 for task in tasks), default=0.0)
    return 0.0


def marked(mark: str) -> list[tuple[int, str]]:
    """Number and command line of every process that this run started, whatever became of its parents."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in _environment(entry).split(b"\0"):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
    return found


def _environment(entry: Path) -> bytes:
    """What a process began with; OSError where it has ended, or is the kernel's own."""
    for _ in range(20):
        if text := (entry / "environ").read_bytes():
            return text
        os.readlink(entry / "exe")
        time.sleep(0.002)  # while execve puts a new program in its place, a process shows none
    return b""
