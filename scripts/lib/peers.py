"""The tools that people index C++ with today, run on the same files: GNU Global, cscope, Universal Ctags."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lib.measure import Runner, Sample


@dataclass(frozen=True)
class Peer:
    """One tool. Each command is given the file of names and the folder for its database; None: it cannot do that."""

    name: str
    version: tuple[str, ...]
    build: Callable[[Path, Path], tuple[str, ...]]
    again: Callable[[Path, Path], tuple[str, ...]]  # after a change
    find: Callable[[Path, str], tuple[str, ...]] | None
    refs: Callable[[Path, str], tuple[str, ...]] | None


def _gtags(names: Path, database: Path) -> tuple[str, ...]:
    return ("gtags", "--file", str(names), str(database))


def _cscope(names: Path, database: Path) -> tuple[str, ...]:
    return ("cscope", "-b", "-k", "-q", "-i", str(names), "-f", str(database / "cscope.out"))


def _ctags(names: Path, database: Path) -> tuple[str, ...]:
    fields = ("--fields=+nKeS", "--kinds-C++=+p")  # line, kind, end, signature; declarations too
    return ("ctags", "--sort=yes", *fields, "-L", str(names), "-f", str(database / "tags"))


PEERS = (
    Peer(
        "gtags",
        ("gtags", "--version"),
        _gtags,
        lambda names, database: ("gtags", "--incremental", "--file", str(names), str(database)),
        lambda _, name: ("global", "-x", name),
        lambda _, name: ("global", "-xr", name),
    ),
    Peer(
        "cscope",
        ("cscope", "-V"),
        _cscope,
        _cscope,  # it looks for itself at what changed
        lambda database, name: ("cscope", "-d", "-f", str(database / "cscope.out"), "-L1", name),
        lambda database, name: ("cscope", "-d", "-f", str(database / "cscope.out"), "-L0", name),
    ),
    Peer(
        "ctags",
        ("ctags", "--version"),
        _ctags,
        _ctags,  # it has no other way
        lambda database, name: ("readtags", "-t", str(database / "tags"), name),
        None,
    ),
)


@dataclass(frozen=True)
class Installed:
    """A peer that is here, with a folder for its database; it runs where the files are."""

    peer: Peer
    database: Path
    names: Path
    runner: Runner

    @property
    def version(self) -> str:
        """The peer's name and version number."""
        output = self.runner.run(*self.peer.version).output.decode(errors="replace")
        number = re.search(r"\d+(?:\.\d+)+", output)
        return f"{self.peer.name} {number[0] if number else ''}".strip()

    @property
    def megabytes(self) -> float:
        """The size of its database."""
        return sum(file.stat().st_size for file in self.database.iterdir()) / 1e6

    def build(self, memory: bool = False) -> Sample:
        """From nothing."""
        for file in self.database.iterdir():
            file.unlink()
        return self.runner.run(*self.peer.build(self.names, self.database), memory=memory)

    def again(self) -> Sample:
        """With a database there."""
        return self.runner.run(*self.peer.again(self.names, self.database))

    def ask(self, what: str, name: str) -> Sample | None:
        """Look a name up ("find" or "refs"); None where it cannot, or for anything else."""
        command = {"find": self.peer.find, "refs": self.peer.refs}.get(what)
        return self.runner.run(*command(self.database, name), ends=(0, 1)) if command else None


def installed(root: Path, names: Path, folder: Path) -> list[Installed]:
    """The peers of this machine, to run on the files that `names` lists below `root`, databases below `folder`."""
    found = []
    for peer in PEERS:
        if shutil.which(peer.version[0]):
            database = folder / peer.name
            database.mkdir(parents=True)
            environment = {"GTAGSROOT": str(root), "GTAGSDBPATH": str(database)}
            found.append(Installed(peer, database, names, Runner(root, environment)))
    return found
