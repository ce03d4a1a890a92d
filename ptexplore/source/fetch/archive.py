"""Unpacks an archive that may come from anyone (tar.xz, tar.gz or zip) into a folder of ptexplore, or not at all.

Before a member is written, it is checked by the rules here and, if this Python has it, by tarfile's `data` filter.
An archive is refused if a name or link leads out of the folder, if a member is a device, or if it unpacks to too much.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ptexplore.errors import FAILED, USAGE, PtexploreError

MEMBERS = 400_000
BYTES = 6 * 1024**3  # bytes unpacked; a release with every third-party module has about 1 GB
RATIO = 100  # unpacked to packed, from FREE bytes on; source text packs to a tenth at most
FREE = 128 * 1024**2
_CHUNK = 1 << 20
LONGEST = 255  # bytes of a name
LONGEST_PATH = 1000  # bytes of a path, and of the target of a link
_SHOWN = 60  # characters of a name in an error
# bytes that describe one member, or all members: a path has LONGEST_PATH bytes, its target as many
_LONGEST_HEADER = 16 * 1024
_XZ_MEMORY = 512 * 1024**2  # bytes of memory for unpacking; `xz -9` needs 65 MiB
_HEADING = 4 * 1024**2  # bytes that are read for one header, read-ahead included
_DESCRIBING = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK
)  # fmt: skip
DEEPEST = 100  # nested folders; PyTorch has about fifteen
_KINDS = {b"\xfd7zXZ\x00": "tar.xz", b"\x1f\x8b": "tar.gz", b"PK\x03\x04": "zip", b"PK\x05\x06": "zip"}


_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    NotImplementedError,
    UnicodeError,
)


# Further errors that Python's readers raise for a nonsensical header, since they do not check it.
_NONSENSE = (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError, struct.error)


class RefusedArchive(Exception):
    """A member or the whole archive is not unpacked; the message says why."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry. `kind` is "file", "folder" or "link"; `target` is the target of a link, as written."""

    name: str
    kind: str
    target: str = ""
    executable: bool = False


def sha256_of(stream: IO[bytes], report: Callable[[float], None]) -> str:
    """Returns the sha256 of an open file, in hex. `report` is called with the share that is done."""
    size = os.fstat(stream.fileno()).st_size
    hasher, done = hashlib.sha256(), 0
    while block := stream.read(_CHUNK):
        hasher.update(block)
        done += len(block)
        report(done / max(size, 1))
    stream.seek(0)
    return hasher.hexdigest()


def unpack(stream: IO[bytes], name: str, folder: Path, report: Callable[[float], None] = lambda _: None) -> Path:
    """Unpacks the open archive into `folder`, which must be empty and belong to ptexplore. Returns the top folder.

    The top folder is `folder`, or the only folder in it, as in most archives; no link leads out of it. `name` is the
    archive's name in errors. Raises PtexploreError if the archive is damaged, refused or not an archive; OSError if the
    folder cannot be written. After an error, the caller must delete the content of `folder`.
    """
    size = os.fstat(stream.fileno()).st_size
    head = stream.read(6)
    stream.seek(0)
    kind = next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)
    if kind is None:
        why = "it is empty" if not head else "it does not begin like a tar.xz, tar.gz or zip file"
        raise PtexploreError(f"{name} is not an archive", why, "ptexplore fetch --from ARCHIVE.tar.gz", USAGE)
    with _explained(name):
        if kind == "zip":
            return _top(folder, _write_all(_zip_members(stream, size, report), folder))
        with contextlib.nullcontext(_Xz(stream)) if kind == "tar.xz" else gzip.open(stream) as opened:
            limited = _Limited(opened, size, lambda: report(stream.tell() / max(size, 1)))
            with _readable():  # this reads the first header
                reader = tarfile.open(  # noqa: SIM115
                    fileobj=io.BufferedReader(limited, _CHUNK), mode="r|", tarinfo=_ShortHeader
                )
            with reader as tar:
                return _top(folder, _write_all(_tar_members(tar, folder, limited), folder))


def _top(folder: Path, links: list[Member]) -> Path:
    """Returns the folder that contains everything in an archive.

    Raises RefusedArchive if one of `links` leads out of it.
    """
    first, *others = folder.iterdir() if any(folder.iterdir()) else (folder,)
    if others or first.is_symlink() or not first.is_dir():
        return folder
    for link in links:
        _check_link(link, within=1)
    return first


class _Xz:
    """Reads an open .xz file in bounded pieces and with bounded memory, which lzma.open does not limit."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._unpacking = self._begun()

    @staticmethod
    def _begun() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    def read(self, most: int) -> bytes:
        """Returns at most `most` bytes, none at the end. Raises RefusedArchive, lzma.LZMAError and EOFError."""
        while True:
            given = self._unpacking.unused_data or b""
            if self._unpacking.eof:
                given = given.lstrip(b"\0") or self._stream.read(_CHUNK).lstrip(b"\0")  # streams may be padded
                if not given:
                    return b""
                self._unpacking = self._begun()
            elif self._unpacking.needs_input:
                given = self._stream.read(_CHUNK)
                if not given:
                    raise EOFError("it is cut off")
            try:
                block = self._unpacking.decompress(given, most)
            except lzma.LZMAError as error:
                if "emory" in str(error):
                    why = f"it takes more than {_XZ_MEMORY // 1024**2} MiB of memory to unpack"
                    raise RefusedArchive(why) from error
                raise
            if block:
                return block


class _ShortHeader(tarfile.TarInfo):
    """A tar header that is refused before tarfile reads the announced data: that could take minutes, or never end."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> Any:
        """Makes a header from its block. Raises RefusedArchive."""
        info = super().frombuf(buf, encoding, errors)
        if info.type in _DESCRIBING and info.size > _LONGEST_HEADER:
            raise RefusedArchive(f"a header in it has {info.size:,} bytes, and {_LONGEST_HEADER:,} is the limit")
        if info.type == tarfile.GNUTYPE_SPARSE:
            raise RefusedArchive(f"its member {_shown(info.name)} is a sparse file, which ptexplore does not unpack")
        return info


class _Limited(io.RawIOBase):
    """The unpacked content, up to the limits.

    It reads no further than the reader asks, so that a bomb costs nothing.
    """

    def __init__(self, inner: Any, packed: int, report: Callable[[], None]) -> None:
        self._inner = inner
        self._packed = packed
        self._report = report
        self._done = 0
        self.room: int | None = _HEADING  # bytes that may still be read for a header; None for a file's content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._inner.read(min(len(buffer), _CHUNK))
        buffer[: len(block)] = block
        self._done += len(block)
        if self.room is not None:
            self.room -= len(block)
            if self.room < 0:
                raise RefusedArchive(f"a header in it is longer than {_HEADING // 1024**2} MiB")
        _check_size(self._done, self._packed)
        self._report()
        return len(block)


def _check_size(unpacked: int, packed: int) -> None:
    if unpacked > BYTES:
        raise RefusedArchive(f"it unpacks to more than {BYTES // 1024**3} GiB")
    if unpacked > FREE and unpacked > RATIO * packed:
        raise RefusedArchive(f"it unpacks to more than {RATIO} times its size, like a zip bomb")


def _tar_members(tar: tarfile.TarFile, folder: Path, limited: _Limited) -> Iterator[tuple[Member, IO[bytes] | None]]:
    data_filter = getattr(tarfile, "data_filter", None)  # missing in the first releases of 3.10
    while True:
        limited.room = _HEADING  # the member before has been written, so nothing of it is left to read
        info = _next(tar)
        limited.room = None
        if info is None:
            return
        member = _tar_member(info)
        check(member)
        if data_filter is not None:
            data_filter(info, str(folder))
        yield member, tar.extractfile(info) if member.kind == "file" else None


def _next(tar: tarfile.TarFile) -> tarfile.TarInfo | None:
    """Returns the next member, or None after the last one. Raises RefusedArchive for a nonsensical header."""
    with _readable():
        return tar.next()


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except _DAMAGED:
        raise
    except _NONSENSE as error:
        why = f"{type(error).__name__}: {str(error)[:_SHOWN]}".rstrip(": ")
        raise RefusedArchive(f"a header in it is invalid ({why})") from error


def _shown(name: str) -> str:
    """Returns a name from an archive, cut for an error message: its length was chosen by somebody else."""
    return repr(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}…"


def _tar_member(info: tarfile.TarInfo) -> Member:
    if info.isdir():
        return Member(info.name, "folder")
    if info.issym():
        return Member(info.name, "link", info.linkname)
    if info.isreg() and not info.issparse():  # a sparse file unpacks to any size from nothing
        return Member(info.name, "file", executable=bool(info.mode & 0o100))
    kind = "a hard link" if info.islnk() else "a device" if info.isdev() else "neither a file, a folder nor a link"
    raise RefusedArchive(f"its member {_shown(info.name)} is {kind}")


def _zip_members(
    stream: IO[bytes], size: int, report: Callable[[float], None]
) -> Iterator[tuple[Member, IO[bytes] | None]]:
    with _readable():
        opened = zipfile.ZipFile(stream)
    with opened as archive:
        infos = archive.infolist()
        _check_size(sum(info.file_size for info in infos), size)
        for number, info in enumerate(infos):
            report(number / len(infos))
            if info.flag_bits & 1:
                raise RefusedArchive(f"its member {_shown(info.filename)} is encrypted")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                # zipfile unpacks a piece of bzip2, LZMA or Zstandard as a whole, whatever its size.
                raise RefusedArchive(f"its member {_shown(info.filename)} is neither stored nor deflated")
            mode = stat.S_IFMT(info.external_attr >> 16)
            if mode not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                raise RefusedArchive(f"its member {_shown(info.filename)} is a device")
            kind = "folder" if info.is_dir() else "link" if mode == stat.S_IFLNK else "file"
            with _readable():
                opening = archive.open(info)
            with opening as content:
                target = os.fsdecode(content.read(4096)) if kind == "link" else ""
                check(member := Member(info.filename, kind, target, bool(info.external_attr >> 16 & 0o100)))
                yield member, content


def check(member: Member) -> None:
    """Raises RefusedArchive if the member's name or link leaves the folder, or no file system would take the name."""
    parts = member.name.replace("\\", "/").split("/")
    if member.name.startswith(("/", "\\")) or parts[0].endswith(":"):
        raise RefusedArchive(f"its member {_shown(member.name)} has an absolute name")
    if ".." in parts:
        raise RefusedArchive(f"its member {_shown(member.name)} leads out of the folder that it is unpacked into")
    if len(parts) > DEEPEST:
        raise RefusedArchive(f"its member {_shown(member.name)} is {len(parts):,} folders deep")
    if any(len(os.fsencode(part)) > LONGEST for part in parts) or len(os.fsencode(member.name)) > LONGEST_PATH:
        raise RefusedArchive(f"its member {_shown(member.name)} has a name that no file system accepts")
    if "\0" in member.name:
        raise RefusedArchive(f"its member {_shown(member.name)} has a NUL in its name")
    if member.kind == "link":
        _check_link(member)


def _check_link(member: Member, within: int = 0) -> None:
    """Raises RefusedArchive if a link leads out of the first `within` folders of its name."""
    if len(os.fsencode(member.target)) > LONGEST_PATH:
        raise RefusedArchive(f"its member {_shown(member.name)} is a link whose target is too long")
    target = member.target.replace("\\", "/").split("/")
    depth = len([part for part in member.name.split("/") if part not in ("", ".")]) - 1 - within
    ups = len([part for part in target if part == ".."])
    # Only ".." at the beginning is allowed: behind a name that is itself a link, ".." would lead somewhere else.
    late = ".." in [part for part in target if part not in ("", ".")][ups:]
    if member.target.startswith(("/", "\\")) or ups > depth or late or not member.target or "\0" in member.target:
        raise RefusedArchive(
            f"its member {_shown(member.name)} is a link that leads out of the folder, to {_shown(member.target)}"
        )


def _write_all(members: Iterator[tuple[Member, IO[bytes] | None]], folder: Path) -> list[Member]:
    """Writes the members. Returns the links among them."""
    links: dict[str, Member] = {}
    # hashes of the names of folders made so far: a member may be below many folders that are not members
    folders: set[int] = set()
    for count, (member, content) in enumerate(members, 1):
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        folders.update(hash("/".join(parts[:depth])) for depth in range(1, len(parts)))
        if count + len(folders) > MEMBERS:
            raise RefusedArchive(f"it has more than {MEMBERS:,} members and folders")
        if not parts and member.kind != "folder":
            raise RefusedArchive(f"its member {_shown(member.name)} has no name")
        if not parts:
            continue
        if any("/".join(parts[:depth]) in links for depth in range(1, len(parts))):
            raise RefusedArchive(f"its member {_shown(member.name)} goes through a link")
        target = folder.joinpath(*parts)
        try:
            (target if member.kind == "folder" else target.parent).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise RefusedArchive(f"its member {_shown(member.name)} is below a file") from error
        if member.kind == "folder":
            continue
        if os.path.lexists(target):
            raise RefusedArchive(f"its member {_shown(member.name)} is in it twice")
        if member.kind == "link":
            links["/".join(parts)] = member
            target.symlink_to(member.target)
        elif content is not None:
            _write(content, target, 0o755 if member.executable else 0o644)
    return list(links.values())


def _write(content: IO[bytes], target: Path, mode: int) -> None:
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
        while block := content.read(_CHUNK):
            out.write(block)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except RefusedArchive as error:
        hint = "download the archive from PyTorch's releases, or unpack it yourself and give the folder"
        raise PtexploreError(f"{name} was not unpacked", str(error), hint, FAILED) from error
    except getattr(tarfile, "FilterError", RefusedArchive) as error:
        raise PtexploreError(f"{name} was not unpacked", str(error), "download it from PyTorch's releases") from error
    except _DAMAGED as error:
        why = f"{type(error).__name__}: {error}"
        raise PtexploreError(f"{name} is damaged", why, "download the archive again", FAILED) from error
    except OSError as error:
        if error.errno != errno.EINVAL or error.filename is not None:
            raise
        why = "it refers to a position outside of the file"  # a zip may have an offset before its beginning
        raise PtexploreError(f"{name} is damaged", why, "download the archive again", FAILED) from error
