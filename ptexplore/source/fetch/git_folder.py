"""The state of a git folder: its commit, and whether its files match the commit. Runs nothing of the folder.

`git status` would run filters and the file system monitor that the folder's configuration names. A library that parses
the configuration would read every included file. So git only lists the commit, and the files are hashed here, by the
rule of git-hash-object.

Before git runs, the folder's own files are checked: git would wait for a FIFO, and a device would fill its memory. The
folders of objects, and the files that these name elsewhere, are checked as well. For all else, `Git` limits time and
memory.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ptexplore.errors import BROKEN
from ptexplore.source.fetch.archive import DEEPEST, LONGEST_PATH, MEMBERS
from ptexplore.source.fetch.git import Git, GitFailed, TreeTooLarge
from ptexplore.source.listing import SUFFIXES, first_bytes, is_at

_FILES = {b"100644", b"100755", b"100664"}
_LINK = b"120000"
_SOON = 30.0  # seconds for a quick answer: which commit is checked out
_LOOKED_AT = 200_000  # entries of a repository's folder, without its objects
# chained folders of objects, and nested includes; git has the same limit
_ALTERNATES = 5
_LARGEST_NAMING = 1 << 20  # bytes of a configuration, and of a list of folders of objects
_INCLUDED = re.compile(rb"path\s*=([^\n]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GitState:
    """The commit of a folder. `modified`: its source differs from the commit, or cannot be compared with it."""

    commit: str
    modified: bool


def look(root: Path, present: set[str], tops: tuple[str, ...] = ()) -> GitState | None:
    """Returns the state of the git folder `root`, or None if it is not one. `present` are the files that are read.

    A file that the commit lacks is a difference, unless git ignores it, as it ignores the output of a build. A missing
    file is a difference if it is below the folders `tops` (anywhere if `tops` is empty), unless a sparse checkout omits
    it.
    """
    commands = Git(root, git_dir=root / ".git")
    try:
        for folder in _folders(root / ".git"):
            _check(folder)
        commit = commands.line("rev-parse", "--verify", "HEAD^{commit}", seconds=_SOON)
        if len(commit) == 64:
            # the names of its objects are SHA-256, but files are hashed with SHA-1 here
            return GitState(commit, modified=True)
        return GitState(commit, _differs(commands, commit, present, tops))
    except TreeTooLarge:
        return GitState(commit, modified=True)  # too large to compare
    except GitFailed:
        return None


def _check(dot: str) -> None:
    """Raises GitFailed if git would wait for a file in its own folder, or would read one without end."""
    pending, met = [dot], 0
    looked: set[tuple[int, int]] = set()
    while pending:
        folder = pending.pop()
        for entry in _entries(folder):
            met += 1
            if met > _LOOKED_AT:
                raise GitFailed([f"{dot} has more than {_LOOKED_AT:,} files beside its objects"], None)
            state = _state(entry.path)
            if state is None:
                continue
            _refuse_special(entry.path, state)
            if entry.name == "objects" and folder == dot:
                _check_objects(entry.path)
            elif stat.S_ISDIR(state.st_mode) and (state.st_dev, state.st_ino) not in looked:
                looked.add((state.st_dev, state.st_ino))
                pending.append(entry.path)
    for name in ("config", "config.worktree"):
        _check_included(os.path.join(dot, name))


def _refuse_special(path: str, state: os.stat_result | None) -> None:
    if state is not None and not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        raise GitFailed([f"{path} is neither a file nor a folder"], None)


def _check_objects(objects: str, deeper: int = _ALTERNATES) -> None:
    """Raises GitFailed if an object is not a regular file, here or in a folder of objects that is named here.

    There may be hundreds of thousands. The listing of a folder is enough for each, except for links.
    """
    pending, looked = [objects], set[tuple[int, int]]()
    while pending:
        for entry in _entries(pending.pop()):
            if entry.is_file(follow_symlinks=False):
                continue
            state = _state(entry.path)
            _refuse_special(entry.path, state)
            if state is not None and stat.S_ISDIR(state.st_mode) and (state.st_dev, state.st_ino) not in looked:
                looked.add((state.st_dev, state.st_ino))
                pending.append(entry.path)
    for line in _naming(f"{objects}/info/alternates").splitlines():
        if line.startswith(b'"'):
            raise GitFailed([f"{objects} names a folder of objects in a form that ptexplore does not follow"], None)
        named = os.path.join(objects, os.fsdecode(line))
        if line.strip() and not line.startswith(b"#") and _state(named) is not None:
            if deeper == 0:
                raise GitFailed([f"{objects} names a chain of folders of objects that is too long"], None)
            _check_objects(named, deeper - 1)


def _check_included(config: str, deeper: int = _ALTERNATES) -> None:
    """Raises GitFailed if a configuration includes something that is no regular file, or uses an unusual notation."""
    text = _naming(config)
    if b"[include" not in text.lower():
        return
    for match in _INCLUDED.finditer(text):
        value = match[1].strip()
        if value[:1] == value[-1:] == b'"':
            value = value[1:-1]
        if set(value) & set(b'\\";#') or deeper == 0:
            raise GitFailed([f"{config} includes other files in a form that ptexplore does not follow"], None)
        named = os.path.join(os.path.dirname(config), os.path.expanduser(os.fsdecode(value)))
        _refuse_special(named, _state(named))
        _check_included(named, deeper - 1)


def _folders(dot: Path) -> list[str]:
    """Returns the folder of a repository (`.git`, or the folder that it names), and the common folder of work trees."""
    state = _state(str(dot))
    folder = dot
    if state is not None and stat.S_ISREG(state.st_mode):
        named = first_bytes(dot)
        folder = dot.parent / _one_line(dot, named.removeprefix(b"gitdir: "))
        state = _state(str(folder)) if named.startswith(b"gitdir: ") else None
    if state is None or not stat.S_ISDIR(state.st_mode):
        raise GitFailed([f"{dot} is not a repository"], None)
    common = _one_line(folder / "commondir", first_bytes(folder / "commondir"))
    return [str(folder), *([os.path.join(folder, common)] if common else [])]


def _one_line(file: Path, text: bytes) -> str:
    """Returns the path in a file, as git reads it: without line ends, but with blanks.

    Raises GitFailed for a path with blanks at its ends: nobody means that, and it could be read in two ways.
    """
    named = text.rstrip(b"\r\n")
    if named != named.strip():
        raise GitFailed([f"{file} names a folder with blanks at its ends"], None)
    return os.fsdecode(named)


def _naming(file: str) -> bytes:
    """Returns the content of a file that names others. Raises GitFailed if it is longer than people write."""
    text = first_bytes(file, _LARGEST_NAMING)
    if len(text) == _LARGEST_NAMING:
        raise GitFailed([f"{file} is longer than {_LARGEST_NAMING:,} bytes"], None)
    return text


def _state(path: str) -> os.stat_result | None:
    """Returns the state of the target of a path, or None if there is none."""
    try:
        return os.stat(path)
    except OSError as error:
        if error.errno in BROKEN:
            raise
    except ValueError:  # a NUL
        pass
    return None


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if error.errno in BROKEN:
            raise
        raise GitFailed([f"{folder}: {error.strerror}"], None) from error


def _differs(commands: Git, commit: str, present: set[str], tops: tuple[str, ...]) -> bool:
    held = {path: blob for path, blob, kind in tree_of(commands.folder, commit) if kind == "file"}
    if not all(is_blob(commands.folder / path, held[path]) for path in present & held.keys()):
        return True
    if _adds(commands, present - held.keys()):
        return True
    read = {path for path in held if not tops or path.partition("/")[0] in tops}
    gone = {path for path in read if os.path.splitext(path)[1] in SUFFIXES} - present
    missing = {path for path in gone if not is_at(commands.folder / path)}
    if missing:
        rows = commands.read("ls-files", "-z", "-t").split(b"\0")  # S: omitted on purpose, by a sparse checkout
        missing -= {os.fsdecode(row[2:]) for row in rows if row.startswith(b"S ")}
    return bool(missing)


def _adds(commands: Git, extra: set[str]) -> bool:
    """Whether files that the commit lacks are a difference.

    They are not if git ignores them or they are in a repository.

    git reads the `.gitignore` of each folder that it walks through, so it is asked only about these files.
    """
    parents = {str(folder) for path in extra for folder in PurePosixPath(path).parents}
    inner = {folder for folder in parents if folder != "." and is_at(commands.folder / folder / ".git")}
    own = {path for path in extra if not any(str(folder) in inner for folder in PurePosixPath(path).parents)}
    if not own:
        return False
    for folder in parents:
        state = _state(str(commands.folder / folder / ".gitignore"))
        if state is not None and not stat.S_ISREG(state.st_mode):
            return True  # unknown which files are ignored
    asked = {b"./" + os.fsencode(path) for path in own}  # the prefix prevents pathspec magic
    try:
        listed = commands.read("check-ignore", "--no-index", "-z", "--stdin", given=b"\0".join(sorted(asked)))
    except GitFailed as error:
        if error.status != 1:  # 1 means that none is ignored
            raise
        listed = b""
    return not asked <= set(listed.split(b"\0"))


def tree_of(folder: Path, commit: str) -> Iterator[tuple[str, str, str]]:
    """Yields path, blob and kind ("file", "link", "other") of everything in `commit` of the git folder.

    Raises GitFailed; TreeTooLarge if there is more than an archive may have.
    """
    # -t lists folders too, so that endlessly nested folders are noticed
    listing = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit]
    for count, row in enumerate(Git(folder, git_dir=folder / ".git").records(listing, LONGEST_PATH + 100), 1):
        facts, _, path = row.partition(b"\t")
        mode, of, name = facts.split(b" ", 2)
        if count > MEMBERS:
            raise TreeTooLarge(f"lists more than {MEMBERS:,} files and folders")
        if path.count(b"/") > DEEPEST:
            raise TreeTooLarge(f"has folders more than {DEEPEST} deep")
        if of != b"tree":
            kind = "file" if mode in _FILES else "link" if mode == _LINK else "other"
            yield os.fsdecode(path), name.decode("ascii"), kind


def is_blob(file: Path, blob: str) -> bool:
    """Whether `file` is a regular file whose content has the id `blob`. CRLF may replace LF: the lines are the same."""
    try:
        if file.is_symlink() or not file.is_file():
            return False
        raw = file.read_bytes()
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return False
    return _id(raw) == blob or (b"\r\n" in raw and _id(raw.replace(b"\r\n", b"\n")) == blob)


def _id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
