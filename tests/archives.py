"""Archives that attack whoever unpacks them, made in memory: name of the file, its bytes, what the refusal says."""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable

from tests.upstream import FILES


def tar_of(kind: str = "gz", *extra: tarfile.TarInfo, content: bytes = b"evil") -> bytes:
    """A good small tree with these members after it."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode=f"w:{kind}") as tar:
        for name, text in FILES.items():
            info = tarfile.TarInfo(f"small/{name}")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
        for info in extra:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def zip_of(name: str, content: bytes = b"evil", mode: int = stat.S_IFREG | 0o644) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in FILES.items():
            archive.writestr(f"small/{path}", text)
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, content)
    return raw.getvalue()


def sparse_tar() -> bytes:
    """A member that is one hole of a terabyte, by the old GNU format: its own size is nothing."""
    info = member("small/hole", tarfile.GNUTYPE_SPARSE)
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[386:398] = b"%011o\0" % (1 << 30)  # where the only piece lies
    block[398:410] = b"%011o\0" % 0
    block[483:495] = b"%011o\0" % ((1 << 33) - 1)  # the real size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return gzip.compress(bytes(block) + b"\0" * 1024)


def evil_archives() -> dict[str, tuple[str, Callable[[], bytes], str]]:
    link, hard = tarfile.SYMTYPE, tarfile.LNKTYPE
    through = [member("small/dir", link, "aten"), member("small/dir/x.h")]
    return {
        "dots": ("x.tar.gz", lambda: tar_of("gz", member("small/../../../outside/precious")), "leads out"),
        "dots-xz": ("x.tar.xz", lambda: tar_of("xz", member("../outside/precious")), "leads out"),
        "absolute": ("x.tar.gz", lambda: tar_of("gz", member("/tmp/absolute")), "absolute"),
        "link-absolute": ("x.tar.gz", lambda: tar_of("gz", member("small/a", link, "/etc/passwd")), "leads out"),
        "link-out": ("x.tar.gz", lambda: tar_of("gz", member("small/a", link, "../../outside")), "leads out"),
        "link-late": ("x.tar.gz", lambda: tar_of("gz", member("small/a", link, "aten/src/../../..")), "leads out"),
        "link-through": ("x.tar.gz", lambda: tar_of("gz", *through), "goes through a link"),
        "hard-link": ("x.tar.gz", lambda: tar_of("gz", member("small/a", hard, "../outside/precious")), "hard link"),
        "device": ("x.tar.gz", lambda: tar_of("gz", member("small/a", tarfile.CHRTYPE)), "device"),
        "fifo": ("x.tar.gz", lambda: tar_of("gz", member("small/a", tarfile.FIFOTYPE)), "device"),
        "twice": ("x.tar.gz", lambda: tar_of("gz", member("small/version.txt")), "twice"),
        "below-a-file": ("x.tar.gz", lambda: tar_of("gz", member("small/version.txt/x")), "below a file"),
        "deep": ("x.tar.gz", lambda: tar_of("gz", member(f"small/{'d/' * 2000}x.h")), "2,002 folders deep"),
        "control": ("x.tar.gz", lambda: tar_of("gz", member("small/\x1b[31m/../../x")), "leads out"),
        "hole": ("x.tar.gz", sparse_tar, "a sparse file"),
        "bomb-gz": ("x.tar.gz", lambda: tar_of("gz", member("small/b"), content=bytes(160 << 20)), "bomb"),
        "zip-dots": ("x.zip", lambda: zip_of("../outside/precious"), "leads out"),
        "zip-backslash": ("x.zip", lambda: zip_of("..\\outside\\precious"), "leads out"),
        "zip-absolute": ("x.zip", lambda: zip_of("/tmp/absolute"), "absolute"),
        "zip-link": ("x.zip", lambda: zip_of("small/a", b"/etc/passwd", stat.S_IFLNK | 0o777), "leads out"),
        "zip-device": ("x.zip", lambda: zip_of("small/a", b"", stat.S_IFCHR | 0o644), "device"),
        "zip-bomb": ("x.zip", lambda: zip_of("small/b", bytes(160 << 20)), "bomb"),
        "cut": ("x.tar.gz", lambda: tar_of()[:-200], "damaged"),
        "cut-xz": ("x.tar.xz", lambda: tar_of("xz")[:-100], "damaged"),
        "flipped": ("x.tar.gz", lambda: tar_of()[:300] + b"\xff" * 20 + tar_of()[320:], "damaged"),
        "zip-cut": ("x.zip", lambda: zip_of("small/a")[:-60], "damaged"),
        "zip-flipped": ("x.zip", lambda: zip_of("s/a")[:80] + b"\xff" * 9 + zip_of("s/a")[89:], "damaged"),
        "no-tar": ("x.tar.gz", lambda: gzip.compress(b"some text, no tar" * 100), "damaged"),
        "no-tar-xz": ("x.tar.xz", lambda: lzma.compress(b"x" * 5000), "damaged"),
        "empty": ("x.tar.gz", lambda: b"", "empty"),
        "text": ("x.tar.gz", lambda: b"hello\n", "not an archive"),
        "no-pytorch": ("x.tar.gz", lambda: gzip.compress(lzma.decompress(NO_PYTORCH)), "not PyTorch's source"),
    }


def _no_pytorch() -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:xz") as tar:
        tar.addfile(tarfile.TarInfo("other/readme"), io.BytesIO())
    return raw.getvalue()


NO_PYTORCH = _no_pytorch()
EVIL = evil_archives()
