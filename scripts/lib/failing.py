"""Commands whose n-th call of the system fails: each ends in words or well, and the next run is as if nothing was.

This is run in a process of its own, with `failing_calls.c` loaded before everything: `scripts/failing-calls`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lib.killing import NOTE, Prints, _mini, _noted, _prints, _searched

REPOSITORY = Path(__file__).resolve().parents[2]
SAVED = REPOSITORY / "tests/data/saved/format1-softmax-backward.json.gz"
FAULT = "ptexplore itself failed"
NO_MEMORY = "no memory"
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR, NO_MEMORY: 0}
# Python begins these anew after a signal; not so opendir. SQLite alone calls fdatasync, and does not.
RETRIED = {"open", "openat", "read", "write", "pread", "pwrite", "fsync", "ftruncate"}
SECONDS = 120.0  # that a run may take


@dataclass(frozen=True)
class Asked:
    """A command over what `prepare` lays into a folder with `cache`, `cwd` and `given`."""

    prepare: Callable[[Path, Callable[..., None]], None]
    arguments: tuple[str, ...]
    reports: bool = False  # what it prints tells what it did: it differs where a part was done before


@dataclass
class Tally:
    """What came of the failing calls of one command."""

    calls: int = 0  # of the system, in a run where none fails
    places: int = 0  # in the code, from which they are made
    swept: int = 0  # of these, those whose turn came
    tried: int = 0  # runs in which one failed: of a full disk the calls that take room
    well: int = 0  # of these, ended well
    explained: int = 0  # ended in an error of three parts
    faults: list[str] = field(default_factory=list)


def _loaded(folder: Path, run: Callable[..., None]) -> None:
    del run
    shutil.copy(SAVED, folder / "given/x.json.gz")
    (folder / "cwd/kept.json").write_text("old")
    (folder / "cwd/kept.svg").write_text("old")


def _trusting(folder: Path, run: Callable[..., None]) -> None:
    _searched(folder, run)
    lab = "\n```lab\nid: one\nrun: |-\n  1 + 1\nexpect:\n  value: '2'\n```\n"
    (folder / "cwd/notes").mkdir()
    (folder / "cwd/notes/mine.md").write_text(NOTE + lab, encoding="utf-8")


def _illustrated(folder: Path, run: Callable[..., None]) -> None:
    """Notes of the project's own, with a picture and a page of a folder, over a tree without its long lines."""
    from tests import searched_source

    (searched_source.write(folder / "given/mini") / "torch/csrc/oneline.cpp").unlink()
    run("fetch", "--from", str(folder / "given/mini"))
    run("index", "--checkout", "mini")
    (folder / "cwd/ptexplore.toml").write_text('notes = ["notes"]\n')
    for name in ("tours", "folders"):
        (folder / "cwd/notes" / name).mkdir(parents=True)
    tour = NOTE.replace("baseline:", "level: basic\nsummary: Mine\nconcepts: []\nbaseline:")
    (folder / "cwd/notes/tours/mine.md").write_text(f"{tour}\nHere it is.\n\n![what it is](it.svg)\n")
    (folder / "cwd/notes/tours/it.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>')
    page = "---\nfolder: torch\ntitle: Torch\nsummary: Mine\nbaseline: v2.99.0\n---\n\nWhat it is for.\n"
    (folder / "cwd/notes/folders/torch.md").write_text(page)


def _only_mini(folder: Path, run: Callable[..., None]) -> None:
    del run
    from tests import small_source

    small_source.write(folder / "given/mini")


def _small_archive(folder: Path, run: Callable[..., None]) -> None:
    del run
    import tarfile

    from tests.upstream import write_tree

    with tarfile.open(folder / "given/x.tar.gz", "w:gz") as packed:
        packed.add(write_tree(folder / "given/tree"), "tree")


COMMANDS = {
    "fetch a folder": Asked(_only_mini, ("fetch", "--from", "{given}/mini"), reports=True),
    "fetch an archive": Asked(_small_archive, ("fetch", "--from", "{given}/x.tar.gz"), reports=True),
    "fetch --list": Asked(_mini, ("fetch", "--list", "--json")),
    "fetch --use": Asked(_mini, ("fetch", "--use", "mini")),
    "fetch --remove": Asked(_mini, ("fetch", "--remove", "mini"), reports=True),
    "index": Asked(_mini, ("index", "--checkout", "mini"), reports=True),
    "index --export": Asked(
        _searched, ("index", "--checkout", "mini", "--export", "ctags", "tags", "--force"), reports=True
    ),
    "find": Asked(_illustrated, ("find", "--tree", "mini", "mix", "--json")),
    "refs": Asked(_searched, ("refs", "--tree", "mini", "mix", "--json")),
    "show": Asked(_illustrated, ("show", "--tree", "mini", "at::native::Mixer")),
    "html": Asked(
        _illustrated,
        ("html", "--tree", "mini", "out", "--scope", "all", "--jobs", "1"),
        reports=True,
    ),
    "notes check": Asked(_noted, ("notes", "check", "mine", "--notes", "notes", "--json")),
    "notes pin": Asked(_noted, ("notes", "pin", "mine", "--notes", "notes", "--yes"), reports=True),
    "notes trust": Asked(_trusting, ("notes", "trust", "notes/mine.md"), reports=True),
    "trace --load --save --svg": Asked(
        _loaded, ("trace", "--load", "{given}/x.json.gz", "--save", "kept.json", "--svg", "kept.svg"), reports=True
    ),
    "trace --load --json": Asked(_loaded, ("trace", "--load", "{given}/x.json.gz", "--json")),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call of the system: its name, whether it takes room on a disk, and the lines of Python that led to it."""

    name: str
    takes_room: bool
    place: int  # a hash of these lines


@dataclass(frozen=True)
class Ended:
    """How a run in a fork ended."""

    code: int  # negative: the signal that ended it
    out: str
    err: str
    calls: int
    call: str  # the name of the call that failed, if one did

    @property
    def flaw(self) -> str | None:
        """Why this is no way to end; None where it is one."""
        if self.code < 0:
            return f"ended by signal {-self.code}: {self.err[-300:]}"
        if FAULT in self.err or "Traceback" in self.err:
            return self.err[-600:]
        if self.code not in (0, 1, 2, 3):
            return f"exit code {self.code}: {self.err[-300:]}"
        listed = "it cannot be read: " in self.out  # as one of the problems that `notes check` is asked for
        if self.code and not listed and not re.search(r"^error: \S.*\n(?:.*\n)*?why: +\S", self.err, re.MULTILINE):
            return f"exit code {self.code} without words: {self.err[-300:]}"
        return None


@contextlib.contextmanager
def _listening(library: ctypes.CDLL, file: Path | None) -> Iterator[None]:
    """Write into a file from which lines of Python each call comes that is counted meanwhile, a call a line."""
    if file is None:
        yield
        return
    heard: list[str] = []

    def hear(number: int, name: bytes, takes_room: int) -> None:
        del number
        frame, lines = sys._getframe(1), []
        while frame is not None:
            lines.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        heard.append(f"{name.decode()} {takes_room} {hash(tuple(lines))}")

    listener = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.c_char_p, ctypes.c_int)(hear)
    library.failing_tell(listener)
    try:
        yield
    finally:
        library.failing_tell(None)
        file.write_text("\n".join(heard))


class Failing:
    """One command in a folder of its own."""

    def __init__(self, asked: Asked, folder: Path) -> None:
        self._asked, self._folder, self._start = asked, folder / "run", folder / "start"
        self._expected: dict[str, Prints] = {}  # what a run leaves in which nothing fails
        self._same: dict[str, int | None] = {}  # in which of its prints two such runs agree about a file
        self._library = ctypes.CDLL(None)
        self._library.failing_call.restype = ctypes.c_char_p
        self._calls: list[Call] = []  # of a run in which nothing fails
        for part in ("cache", "cwd", "given"):
            (self._folder / part).mkdir(parents=True)
        self._arguments = tuple(word.replace("{given}", f"{self._folder}/given") for word in asked.arguments)
        os.environ |= {"PTEXPLORE_CACHE": f"{self._folder}/cache", "PTEXPLORE_DATA": f"{self._folder}/data"}
        asked.prepare(self._folder, self._prepare)
        shutil.copytree(self._folder, self._start, symlinks=True)

    def _prepare(self, *arguments: str) -> None:
        ended = self._run(arguments)
        assert ended.code == 0, ended

    def _reset(self) -> None:
        os.chdir("/")
        shutil.rmtree(self._folder)
        shutil.copytree(self._start, self._folder, symlinks=True)

    def _left(self) -> dict[str, Prints]:
        """But for what is worked out of notes: it is named after the index's time of change."""
        found = (
            file
            for file in self._folder.rglob("*")
            if file.is_file() and not file.name.endswith(".lock") and file.parent != self._folder / "cache/notes"
        )
        return {file.relative_to(self._folder).as_posix(): _prints(file) for file in found}

    def _run(self, arguments: tuple[str, ...], nth: int = -1, error: str = "EIO") -> Ended:
        """In a fork, so that nothing of it stays: not a cache, not a lock, not a crash."""
        files = [self._folder.parent / name for name in ("out", "err", "calls", "modules", "places")]
        child = os.fork()
        if not child:
            code = 70
            try:
                code = self._in_child(arguments, nth, error, files)
            finally:
                os._exit(code)
        end = time.monotonic() + SECONDS
        while True:
            number, status = os.waitpid(child, os.WNOHANG)
            if number:
                break
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.002)
        out, err, calls = (file.read_text(errors="replace") if file.exists() else "" for file in files[:3])
        count, _, call = calls.partition(" ")
        return Ended(os.waitstatus_to_exitcode(status), out, err, int(count or 0), call)

    def _in_child(self, arguments: tuple[str, ...], nth: int, error: str, files: list[Path]) -> int:
        os.chdir(self._folder / "cwd")
        for descriptor, file in zip((1, 2), files, strict=False):
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(handle, descriptor)
            os.close(handle)
        from ptexplore.annotations import layers
        from ptexplore.cli.app import main

        # The shipped notes lie elsewhere, and none of their calls fails: without them a site takes a third of the time.
        layers.shipped_folder = lambda: None

        with self._armed(nth, error) as count, _listening(self._library, files[4] if nth < 0 else None):
            code = main(arguments)
            with contextlib.suppress(OSError):
                sys.stdout.flush()
        files[2].write_text(" ".join(map(str, count())))
        files[3].write_text("\n".join(sys.modules))
        return code

    @contextlib.contextmanager
    def _armed(self, nth: int, error: str) -> Iterator[Callable[[], tuple[int, str]]]:
        result: list[tuple[int, str]] = []
        if error == NO_MEMORY:
            import _testcapi

            if nth >= 0:
                _testcapi.set_nomemory(nth, nth + 1)
            try:
                yield lambda: (0, NO_MEMORY)
            finally:
                _testcapi.remove_mem_hooks()
            return
        self._library.failing_arm(os.fsencode(self._folder), ctypes.c_long(nth), ERRORS[error])
        try:
            yield lambda: result[0]
        finally:
            count = self._library.failing_disarm()
            fired = self._library.failing_fired()
            result.append((count, self._library.failing_call().decode() if fired else ""))

    def leave_alone(self) -> int:
        """Two runs in which nothing fails; how many calls one makes."""
        found: list[dict[str, Prints]] = []
        for _ in range(2):
            self._reset()
            self._alone = self._run(self._arguments)
            if self._alone.code or self._alone.flaw:
                raise AssertionError(self._alone)
            found.append(self._left())
        self._expected = found[0]
        for name in set(found[0]) & set(found[1]):
            # The loosest: what is read by the run after that gets other numbers in an index than what was read at once.
            last = len(found[0][name]) - 1
            self._same[name] = last if found[0][name][-1] == found[1][name][-1] else None
        for module in (self._folder.parent / "modules").read_text().split():  # else each fork imports them again
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        self._reset()
        self._alone = self._run(self._arguments)
        rows = (line.split() for line in (self._folder.parent / "places").read_text().splitlines())
        self._calls = [Call(name, room == "1", int(place)) for name, room, place in rows]
        return self._alone.calls

    def _moments(self, error: str, each: int, drawn: random.Random) -> list[int]:
        """Of each place in the code that makes calls the first, the last, and others by chance: so many in all."""
        places: dict[tuple[str, int], list[int]] = {}
        for number, call in enumerate(self._calls):
            if call.takes_room or error != "ENOSPC":
                places.setdefault((call.name, call.place), []).append(number)
        moments = []
        for numbers in places.values():
            ends = [numbers[0], numbers[-1]][: min(each, len(numbers))]
            between = numbers[1:-1]
            moments += [*ends, *drawn.sample(between, min(max(each - 2, 0), len(between)))]
        drawn.shuffle(moments)  # in no order: an end may cut it
        return moments

    def run(
        self, error: str, most: int, drawn: random.Random, tally: Tally, end: float = float("inf"), each: int = 0
    ) -> None:
        """Fail each call in turn, or `most` of them by chance; none after `end`, by the monotonic clock.

        `each`: so many calls of each place in the code, and not each call.
        """
        if error == NO_MEMORY:  # most of a command's allocations come early, as it starts
            moments = [int(10 ** drawn.uniform(2, 6)) for _ in range(most)]
        else:
            tally.calls = self._alone.calls
            tally.places = len({(call.name, call.place) for call in self._calls})
            some = self._moments(error, each, drawn) if each else drawn.sample(range(tally.calls), tally.calls)
            moments = some[:most]  # in no order: `end` may cut it
        for nth in moments:
            if time.monotonic() > end:
                break
            self._reset()
            tally.swept += 1
            ended = self._run(self._arguments, nth, error)
            if not ended.call and error != NO_MEMORY and ended.code >= 0:
                continue  # of a full disk the calls that take no room
            tally.tried += 1
            tally.well += ended.code == 0
            tally.explained += ended.code > 0
            when = f"{error} in {ended.call or 'some call'}"
            flaw = self._flaw(ended, error)
            if flaw is not None:
                tally.faults.append(f"{when}: {flaw}")
            tally.faults += [f"after {when}: {flaw}" for flaw in self._flaws_after()]

    def _flaw(self, ended: Ended, error: str) -> str | None:
        """What is wrong with a run in which a call failed."""
        if error == NO_MEMORY and "SystemError" in ended.err and ended.code == 1:
            return None  # a library in C lost its own exception; it is told in three parts all the same
        if ended.flaw is None and error == "EINTR" and ended.code and ended.call in RETRIED:
            return f"a signal is no failure: {ended.err[-300:]}"
        unsaid = ended.err == self._alone.err  # notes that cannot be read are left out, and that is told
        if (
            ended.flaw is None
            and not ended.code
            and not self._asked.reports
            and unsaid
            and ended.out != self._alone.out
        ):
            return f"another answer: {ended.out[:300]!r}, {ended.err[-300:]!r}"
        return ended.flaw

    def _flaws_after(self) -> list[str]:
        """What is wrong with the run after that."""
        after, flaws = self._run(self._arguments), []
        if self._arguments[:2] == ("fetch", "--remove") and "there is no checkout" in after.err:
            return []  # it was removed before the call that failed
        if after.code or after.flaw or (not self._asked.reports and after.out != self._alone.out):
            flaws.append(f"{after.code} {after.err[-400:]}")
        now = self._left()
        flaws += [f"{re.sub('[0-9a-f]{8}', 'N', name)} is left" for name in set(now) - set(self._expected)]
        for name, way in self._same.items():
            if name not in now:
                flaws.append(f"{name} is not there")
            elif way is not None and now[name][way] != self._expected[name][way]:
                flaws.append(f"{name} differs")
        return flaws
