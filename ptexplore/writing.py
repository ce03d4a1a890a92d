"""Writes files whole or not at all: the user's files, and our own, which only one process at a time changes.

It also opens both for reading: a FIFO must not make anybody wait, and a device has no end.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

_ATTEMPTS = 100  # names tried for a temporary file
_PATIENCE = 20.0  # seconds that a change of a small file waits for another process
_IN_PLACE = ("/dev/", "/proc/")  # regular files below these are somebody's open descriptors: `--save /dev/stdout`


def open_users_file(file: str | Path) -> IO[bytes]:
    """Open a file that the user named, for reading. A link is followed.

    Raises OSError (also for a FIFO, a device or a folder) and ValueError.
    """
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(mode := os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    what = "a FIFO" if stat.S_ISFIFO(mode) else "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "a socket"
    raise OSError(errno.EINVAL, f"it is {what}, not a file", str(file))


def open_below(root: str | Path, path: str) -> IO[bytes]:
    """Open the regular file at a relative path below `root` for reading. No part of the path may be a link.

    Raises OSError (also for a link, a FIFO or a device) and ValueError.
    """
    *parts, name = path.split("/")
    with folder_below(Path(root), parts) as folder:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def write_users_file(file: Path, content: str | bytes) -> None:
    """Write a file that the user named. This is the only function that does so.

    A regular file is replaced by a complete file with the same mode and owner. A new name gets a complete file. A
    symbolic link is followed, and stays. A device, a FIFO and an open descriptor (`/dev/stdout`) are written to
    directly. Text is written as UTF-8. When this function returns, the file is on the disk.

    Raises OSError and UnicodeError. Then the old content stays, and nothing half-written is left. There is one
    exception: if no other file can replace it (its folder cannot be written, or the owner cannot be kept), the file is
    written in place.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        state = os.stat(file)
    except FileNotFoundError:
        state = None
    if state is None or (stat.S_ISREG(state.st_mode) and not os.path.abspath(file).startswith(_IN_PLACE)):
        _replace(os.path.realpath(file), state, data)
    else:
        _write_in_place(file, data)


def write_where_named(file: Path, content: str | bytes) -> None:
    """Write a file whose name the user did not type. It is like `write_users_file`, but links are not followed.

    Raises OSError, also if a link, a FIFO or a device has that name: somebody else may have put it there, to choose
    which file is overwritten.
    """
    state = _regular(file)
    _replace(os.path.abspath(file), state, content.encode() if isinstance(content, str) else content)


def _regular(file: Path) -> os.stat_result | None:
    """Returns the state of a regular file, without following a link; None if nothing is there. Else raises OSError."""
    try:
        state = os.lstat(file)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(state.st_mode):
        what = (
            "it is a link, which may lead to any place" if stat.S_ISLNK(state.st_mode) else "it is not a regular file"
        )
        raise OSError(errno.EINVAL, what, str(file))
    return state


def _replace(target: str, state: os.stat_result | None, data: bytes) -> None:
    """Put a complete file at `target`, which is not a link. `state` is the state of the file that is there, or None."""
    if state is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    folder, name = os.path.split(target)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        aside = None
        try:
            aside, handle = _open_aside(at, 0o666 if state is None else 0o600)
            with os.fdopen(handle, "wb") as out:
                if state is not None:
                    _keep_owner(handle, state)
                out.write(data)
                out.flush()
                os.fsync(handle)
            os.rename(aside, name, src_dir_fd=at, dst_dir_fd=at)
            aside = None
        except PermissionError:
            if state is None:
                raise
            _write_in_place(target, data, os.O_NOFOLLOW)
        finally:
            if aside is not None:
                with contextlib.suppress(OSError):
                    os.unlink(aside, dir_fd=at)
        with contextlib.suppress(OSError):  # not every file system can do this
            os.fsync(at)
    finally:
        os.close(at)


def _open_aside(folder: int | None, mode: int, where: str = "") -> tuple[str, int]:
    """Make a new file in an open folder, or in the folder `where`. Returns its name and a descriptor.

    Nobody can guess the name. It is short, so that it fits wherever the name of the file fits.
    """
    for _attempt in range(_ATTEMPTS):
        from secrets import token_hex  # it loads many modules, and most commands write nothing

        name = os.path.join(where, f".ptx-{token_hex(4)}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(FileExistsError):
            return name, os.open(name, flags, mode, dir_fd=folder)
    raise FileExistsError(errno.EEXIST, "no name is free for a temporary file", where)


def _keep_owner(handle: int, state: os.stat_result) -> None:
    """Give a file the owner and mode of another. Raises PermissionError if this user may not."""
    made = os.fstat(handle)
    if (made.st_uid, made.st_gid) != (state.st_uid, state.st_gid):
        os.fchown(handle, state.st_uid, state.st_gid)
    os.fchmod(handle, stat.S_IMODE(state.st_mode) & 0o777)  # as a write does: without set-user-id


def _write_in_place(file: str | Path, data: bytes, further: int = 0) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC | further)  # for a directory this raises EISDIR
    with os.fdopen(handle, "wb") as out:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        out.write(data)
        out.flush()
        if regular:
            os.ftruncate(handle, len(data))
            os.fsync(handle)


def write_new_file(file: Path, text: str) -> None:
    """Write a file that the user named and that must not exist yet. Raises FileExistsError and other OSErrors."""
    with open(file, "x", encoding="utf-8") as out:
        try:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                file.unlink()
            raise


@contextlib.contextmanager
def folder_below(root: Path, parts: Iterable[str], *, make: bool = False) -> Iterator[int]:
    """Yields a descriptor of a folder below `root`. `parts` are the names on the way; none of them may be a link.

    With `make`, missing folders are made. Raises OSError. Work through the descriptor stays in this very folder, even
    if another one takes its place meanwhile.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    folder = os.open(root, flags)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def write_whole(
    file: Path, content: str | bytes, aside: Path | None = None, mode: int = 0o666, root: Path | None = None
) -> None:
    """Write a file of ours in the folder `aside`, or beside `file`, then rename it to `file`.

    A reader sees either the old or the new file. Text is written as UTF-8. If `root` is given, no link among the
    folders below it is followed. Raises OSError and UnicodeError; then the old content stays, and nothing half-written
    is left.
    """
    data = content.encode() if isinstance(content, str) else content
    written: str | None = None
    try:
        written, handle = _open_aside(None, mode, str(aside or file.parent))
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        if root is None:
            os.replace(written, file)
        else:
            with folder_below(root, file.parent.relative_to(root).parts) as folder:
                os.replace(written, file.name, dst_dir_fd=folder)
        written = None
    finally:
        if written is not None:
            with contextlib.suppress(OSError):
                os.unlink(written)


def keep_whole(file: Path, content: str | bytes, mode: int = 0o666, root: Path | None = None) -> None:
    """Write a file like `write_whole`, and make its folder if it is missing. No link below `root` is followed."""
    if root is None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, content, mode=mode)
        return
    root.mkdir(parents=True, exist_ok=True)
    with folder_below(root, file.parent.relative_to(root).parts, make=True):
        write_whole(file, content, aside=root, mode=mode, root=root)


def forget_below(root: Path, file: Path) -> None:
    """Delete a file of ours, if it exists. No link among the folders below `root` is followed. Raises OSError."""
    with contextlib.suppress(FileNotFoundError), folder_below(root, file.parent.relative_to(root).parts) as folder:
        os.unlink(file.name, dir_fd=folder)


def kept_bytes(
    file: Path, most: int = 1 << 30, check: Callable[[os.stat_result], object] = lambda _state: None
) -> bytes | None:
    """Returns the content of a file of ours, at most one byte more than `most`; None if there is no such file.

    A device has the content b"".

    `check` gets the state of the opened file before it is read, and may raise OSError.

    Raises OSError if the file exists but cannot be read. A caller that took this for a missing file would silently
    answer something else, or overwrite the file.
    """
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not make us wait
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb") as kept:
        state = os.fstat(handle)
        check(state)
        return b"" if stat.S_ISCHR(state.st_mode) or stat.S_ISBLK(state.st_mode) else kept.read(most + 1)


@contextlib.contextmanager
def changing(file: Path) -> Iterator[None]:
    """Change a small file of ours. In this block, no other process changes it through this function.

    Read the file inside the block, and write it with `keep_whole`. Raises OSError.
    """
    refusal = TimeoutError(errno.ETIMEDOUT, "another ptexplore is still changing it", str(file))
    with locked(file.with_name(f"{file.name}.lock"), _PATIENCE, lambda: None, refusal):
        yield


def empty_beside(file: Path) -> Path:
    """Make a new, empty file in the folder of `file`, and the folder if it is missing. Raises OSError."""
    import tempfile

    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    os.close(handle)
    return Path(name)


def put_in_place(aside: Path, file: Path) -> None:
    """Put `aside`, a complete file, on the disk, then rename it to `file`."""
    with aside.open("rb") as written:
        os.fsync(written.fileno())
    aside.chmod(0o644)
    aside.replace(file)


@contextlib.contextmanager
def locked(lock: Path, seconds: float, waiting: Callable[[], None], refusal: Exception) -> Iterator[bool]:
    """Keep two writers apart with the file `lock`. Yields whether another process had the lock.

    `waiting()` is called once if another process has it. Raises `refusal` if that lasts longer than `seconds`. Raises
    OSError if a link has that name: opening it could make or empty another file.
    """
    import filelock

    lock.parent.mkdir(parents=True, exist_ok=True)
    _regular(lock)
    file_lock = filelock.FileLock(lock)
    waited = False
    try:
        file_lock.acquire(timeout=0)
    except filelock.Timeout:
        waited = True
        waiting()
        try:
            file_lock.acquire(timeout=seconds)
        except filelock.Timeout as error:
            raise refusal from error
    try:
        yield waited
    finally:
        file_lock.release()
