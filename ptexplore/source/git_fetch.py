"""One commit from a remote: shallow, first without blobs, then the blobs of the wanted folders alone, then written out.

Each finished part stays in the repository, so that a second try goes on. The blobs are asked for in our own batches (as
git's lazy fetching would, but with progress); writing them out may use no transport at all, which proves that all came.
"""

from __future__ import annotations

import fcntl
import functools
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ptexplore.errors import FAILED, PtexploreError
from ptexplore.source import git_trouble
from ptexplore.source.git import Git, GitFailed, Watcher
from ptexplore.source.git_folder import differing, tree_of
from ptexplore.source.remote import SHA, Remote

BUSY = "busy"  # the file in the folder above whose lock says that git is at work there
_BATCH = 3000  # blobs a request: what an interruption loses at most
_ATTRIBUTES = (
    "* -text -eol -ident -filter -working-tree-encoding -diff -merge\n"  # the files are the blobs, byte for byte
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came: the commit that was asked for (a tag is followed to its commit) and what kind of ref named it."""

    commit: str
    kind: str  # "commit", "tag", "branch"


def fetch(folder: Path, remote: Remote, ref: str, folders: tuple[str, ...], watcher: Watcher) -> Fetched:
    """Bring `ref` of `remote` into `folder`, which may hold what an earlier try brought; `folders` () are all of them.

    Files beside the folders' own parents come along, as in git's cone mode. Raises PtexploreError.
    """
    with _held(folder, watcher) as hold:
        git = Git(folder, remote.protocols, hold=hold, url=remote.url)
        try:
            _prepare(git, folders)
            fetched = _commit(git, remote, ref, folders, watcher)
            _blobs(git, fetched.commit, folders, watcher)
            _write(Git(folder, hold=hold), fetched.commit, watcher)
            Git(folder).read("config", "remote.origin.url", remote.shown)
            _verify(Git(folder), fetched.commit, folders, watcher)
        except GitFailed as error:
            raise git_trouble.explain(error, remote, ref, folder) from error
    return fetched


def _prepare(git: Git, folders: tuple[str, ...]) -> None:
    """A repository of our own; what a killed git left half-written goes."""
    dot = git.folder / ".git"
    if not (dot / "HEAD").is_file():
        shutil.rmtree(git.folder, ignore_errors=True)
        git.folder.mkdir(parents=True)
        git.read("init", "--quiet", "--template=", "--initial-branch=none")
    for left in (*dot.rglob("*.lock"), *dot.glob("objects/pack/tmp_*"), *dot.glob("objects/*/tmp_obj_*")):
        left.unlink(missing_ok=True)
    (dot / "info").mkdir(exist_ok=True)
    (dot / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    settings = {"remote.origin.promisor": "true", "remote.origin.partialclonefilter": "blob:none"}
    settings |= {"core.symlinks": "true"}
    for name, value in settings.items():
        git.read("config", name, value)
    if folders:
        git.read("sparse-checkout", "set", "--cone", *folders)


def _commit(git: Git, remote: Remote, ref: str, folders: tuple[str, ...], watcher: Watcher) -> Fetched:
    what = "its newest commit" if ref == "HEAD" else ref[:12] if SHA.fullmatch(ref) else ref
    name = f"asking {_host(remote)} for {what}"
    watcher.step(name)
    options = ["--progress", "--no-tags", "--depth=1", "--no-recurse-submodules", "--no-auto-maintenance"]
    filters = ["--filter=blob:none"] if folders else []
    is_sha = SHA.fullmatch(ref) is not None
    with _reporting(name, watcher) as report:
        if not (is_sha and _has(git, ref)):
            git.watch(["fetch", *options, *filters, "origin", ref], report)
    commit = git.line("rev-parse", "--verify", f"{ref if is_sha else 'FETCH_HEAD'}^{{commit}}")
    if is_sha and commit != ref:
        hint = "give the id of a commit, not of a tag object"
        raise PtexploreError(f"{remote.shown} gave another commit", f"asked for {ref}, got {commit}", hint, FAILED)
    head = "" if is_sha else (git.folder / ".git/FETCH_HEAD").read_text(encoding="utf-8", errors="replace")
    return Fetched(commit, "commit" if is_sha else "tag" if "\ttag '" in head else "branch")


def _has(git: Git, commit: str) -> bool:
    """Whether an earlier try brought this commit, with all its trees."""
    try:
        Git(git.folder).read("ls-tree", "-r", "--name-only", commit)
    except GitFailed:
        return False
    return (git.folder / ".git" / "shallow").is_file()


def _blobs(git: Git, commit: str, folders: tuple[str, ...], watcher: Watcher) -> None:
    """Ask for the blobs that are wanted and not there yet, some thousand at a time."""
    wanted = {
        blob for path, blob, kind in tree_of(Git(git.folder), commit) if kind != "other" and is_wanted(path, folders)
    }
    listed = (
        Git(git.folder).read("rev-list", "--objects", "--missing=print", "--no-object-names", commit).decode().split()
    )
    missing = sorted(wanted & {line[1:] for line in listed if line.startswith("?")})
    name = "receiving files"
    base = ["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--progress", "--no-tags", "--no-write-fetch-head"]
    options = ["--no-recurse-submodules", "--no-auto-maintenance", "--filter=blob:none", "--stdin", "origin"]
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        share = len(wanted) - len(missing) + start, len(batch), len(wanted)
        with _reporting(name, watcher, share) as report:
            git.watch([*base, *options], report, "".join(f"{blob}\n" for blob in batch).encode())
    watcher.step(name, 1.0)


def is_wanted(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a sparse checkout of `folders` has `path`: below one, or directly in a folder above one (cone mode)."""
    below, above = _cone(folders)
    return not folders or path.startswith(below) or path.rpartition("/")[0] in above


@functools.cache
def _cone(folders: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    above = {folder.rsplit("/", depth)[0] for folder in folders for depth in range(1, folder.count("/") + 1)}
    return tuple(f"{folder}/" for folder in folders), frozenset({"", *above})


def _write(git: Git, commit: str, watcher: Watcher) -> None:
    with _reporting("writing files", watcher) as report:
        git.watch(["checkout", "--progress", "--force", "--detach", "--no-recurse-submodules", commit], report)


def _verify(git: Git, commit: str, folders: tuple[str, ...], watcher: Watcher) -> None:
    """What lies there is that commit: HEAD says so, and every file hashes to the blob that the commit names."""
    watcher.step("checking every file")
    head = git.line("rev-parse", "--verify", "HEAD^{commit}")
    files = [path for path, _, kind in tree_of(git, commit) if kind == "file" and is_wanted(path, folders)]
    wrong = next(differing(git, commit, files), None)
    if head != commit or wrong is not None:
        why = f"HEAD is {head}, not {commit}" if head != commit else f"{wrong} is not what commit {commit[:12]} holds"
        raise PtexploreError("what was fetched is not what was asked for", why, "run the same command again", FAILED)
    watcher.step("checking every file", 1.0)


@contextmanager
def _reporting(
    name: str, watcher: Watcher, share: tuple[int, int, int] | None = None
) -> Iterator[Callable[[str], None]]:
    """A line handler that turns git's progress into steps; `share` is (done before, this part, all)."""
    from git.util import RemoteProgress

    def tell(count: float, most: float, detail: str) -> None:
        before, part, whole = share or (0, 1, 1)
        watcher.step(name, (before + part * count / max(most, 1)) / max(whole, 1))
        watcher.detail(detail)

    class _Report(RemoteProgress):
        def update(self, op_code: int, cur_count: object, max_count: object = None, message: str = "") -> None:
            if not isinstance(cur_count, float) or not isinstance(max_count, float):
                return
            if op_code & self.RECEIVING:
                tell(cur_count, max_count, message.rpartition("| ")[2])  # the speed; the amount is this batch's alone
            elif op_code & (self.COUNTING | self.COMPRESSING):
                watcher.detail(f"packing {100 * cur_count / max(max_count, 1):.0f}%")

        def line_dropped(self, line: str) -> None:
            written = re.match(r"Updating files:\s+\d+% \((\d+)/(\d+)\)", line)  # newer than GitPython's list
            if written is not None:
                tell(float(written[1]), float(written[2]), "")

    watcher.step(name)
    yield _Report().new_message_handler()


@contextmanager
def _held(folder: Path, watcher: Watcher) -> Iterator[int]:
    """A lock that git's own processes hold as well: one that outlived a killed ptexplore is waited for."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / BUSY).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            watcher.step("waiting for the git of an earlier try to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _host(remote: Remote) -> str:
    match = re.match(r"(?:\w+://)?(?:[^@/]*@)?([^/:]+)", remote.url)
    return "the repository" if remote.protocols == ("file",) or match is None else match[1]
