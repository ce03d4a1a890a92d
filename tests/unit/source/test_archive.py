"""Unpacking writes what an archive holds into one folder, or refuses it whole."""

from __future__ import annotations

import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from ptexplore.cli.app import report
from ptexplore.errors import PtexploreError
from ptexplore.source.fetch import archive
from tests.archives import EVIL, member, tar_of, zip_of
from tests.upstream import FILES, snapshot

UNPACKED = {name: case for name, case in EVIL.items() if name != "no-pytorch"}


def unpack(tmp_path: Path, name: str, raw: bytes) -> Path:
    folder = tmp_path / "around" / "folder"
    folder.mkdir(parents=True)
    (tmp_path / name).write_bytes(raw)
    with (tmp_path / name).open("rb") as stream:
        archive.unpack(stream, name, folder)
    return folder


@pytest.mark.parametrize("case", UNPACKED)
def test_refused(tmp_path: Path, case: str) -> None:
    name, make, says = UNPACKED[case]
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("precious", encoding="utf-8")
    before = snapshot(tmp_path / "outside")
    with pytest.raises(PtexploreError) as refused:
        unpack(tmp_path, name, make())
    assert says in f"{refused.value.message} {refused.value.why}", refused.value.why
    assert refused.value.hint
    assert snapshot(tmp_path / "outside") == before
    assert [entry.name for entry in (tmp_path / "around").iterdir()] == ["folder"]
    assert not Path("/tmp/absolute").exists()


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar.xz", "x.zip"])
def test_unpacked(tmp_path: Path, name: str) -> None:
    folder = unpack(tmp_path, name, zip_of("y") if name == "x.zip" else tar_of(name[-2:]))
    for path, text in FILES.items():
        assert (folder / "small" / path).read_bytes().decode() == text


def test_folders_that_are_no_members_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBERS", 100)
    deep = [member(f"small/{number}/" + "d/" * 30 + "f") for number in range(5)]
    with pytest.raises(PtexploreError) as refused:
        unpack(tmp_path, "x.tar.gz", tar_of("gz", *deep))
    assert "more than 100 members and folders" in refused.value.why
    assert len([*tmp_path.rglob("*/")]) < 130


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_is_neither_stored_nor_deflated_is_refused(tmp_path: Path, method: int) -> None:
    """What zipfile unpacks without a limit: 2 kB of bzip2 took 4 GB of memory."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as made:
        made.writestr("small/c10/z.cpp", bytes(10_000), method)
    with pytest.raises(PtexploreError, match=r"not unpacked") as refused:
        unpack(tmp_path, "x.zip", raw.getvalue())
    assert "neither stored nor deflated" in refused.value.why


def test_an_xz_that_asks_for_memory_is_refused(tmp_path: Path) -> None:
    """Its header says that 4 GiB of what was unpacked are kept."""
    raw = bytearray(tar_of("xz"))
    size = (raw[12] + 1) * 4  # of the block's header: size, flags, filter, length, size of the dictionary, blanks, CRC
    assert raw[14:16] == b"\x21\x01"
    raw[16] = 40
    raw[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(raw[12 : 12 + size - 4]))
    with pytest.raises(PtexploreError, match=r"not unpacked") as refused:
        unpack(tmp_path, "x.tar.xz", bytes(raw))
    assert "memory" in refused.value.why


def test_an_xz_of_several_streams_is_whole(tmp_path: Path) -> None:
    plain = lzma.decompress(tar_of("xz"))
    half = len(plain) // 2
    padded = lzma.compress(plain[:half]) + bytes(8) + lzma.compress(plain[half:]) + bytes(4)
    folder = unpack(tmp_path, "x.tar.xz", padded)
    for path, text in FILES.items():
        assert (folder / "small" / path).read_bytes().decode() == text


@pytest.mark.parametrize(
    ("name", "target"), [("small/up", ".."), ("small/c10/up", "../.."), ("small/x", "../y"), ("small/./x", "../y")]
)
def test_a_link_leads_nowhere_out_of_the_folder_that_all_lies_in(tmp_path: Path, name: str, target: str) -> None:
    """That folder becomes the tree, and what lay beside it in the archive was not unpacked."""
    link = member(name, tarfile.SYMTYPE, target)
    with pytest.raises(PtexploreError, match=r"not unpacked") as refused:
        unpack(tmp_path, "x.tar.gz", tar_of("gz", link))
    assert "leads out" in refused.value.why
    beside = tar_of("gz", link, member("other", tarfile.REGTYPE))
    (tmp_path / "two").mkdir()
    assert unpack(tmp_path / "two", "x.tar.gz", beside).joinpath(name).is_symlink(), "two folders become the tree"


@pytest.mark.parametrize("limit", ["MEMBERS", "BYTES"])
def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(archive, limit, 5)
    with pytest.raises(PtexploreError):
        unpack(tmp_path, "x.tar.gz", tar_of("gz"))


def test_the_share_that_is_told_rises_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(tar_of("gz"))
    (tmp_path / "folder").mkdir()
    told: list[float] = []
    with (tmp_path / "x.tar.gz").open("rb") as stream:
        assert len(archive.sha256_of(stream, told.append)) == 64
        assert told[-1] == 1.0
        told.clear()
        archive.unpack(stream, "x.tar.gz", tmp_path / "folder", told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def pax_tar(**headers: str) -> bytes:
    """A tar whose only member has these extended headers."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("small/x")
        info.pax_headers = {name.replace("_", "."): value for name, value in headers.items()}
        info.size = 4
        tar.addfile(info, io.BytesIO(b"evil"))
    return raw.getvalue()


@pytest.mark.parametrize(
    "headers",
    [
        {"GNU_sparse_major": "1", "GNU_sparse_minor": "0"},
        {"GNU_sparse_major": "1", "GNU_sparse_minor": "0", "GNU_sparse_realsize": "x"},
        {"GNU_sparse_size": "-1", "GNU_sparse_map": "a,b"},
        {"GNU_sparse_map": "1"},
        {"GNU_sparse_size": "9" * 5000},
        {"size": "-1"},
        {"size": "nan"},
        {"mtime": "9" * 400},
        {"mtime": "inf"},
        {"path": "\x00"},
    ],
)  # fmt: skip
def test_a_header_that_makes_no_sense_is_refused_in_words(tmp_path: Path, headers: dict[str, str]) -> None:
    """Or read: what Python's own reader raises of it is never a fault of ptexplore's."""
    said: list[PtexploreError] = []
    try:
        unpack(tmp_path, "x.tar.gz", pax_tar(**headers))
    except PtexploreError as refused:
        said.append(refused)
    assert all(refused.hint and len(refused.why) < 300 for refused in said)


def test_what_an_archive_says_is_short_in_an_error(tmp_path: Path) -> None:
    long = "a/" * 45 + "x" * 200
    cases = {
        "target.zip": zip_of("small/link", b"y/" * 4000, stat.S_IFLNK | 0o777),
        "out.zip": zip_of("small/link", b"../" * 300, stat.S_IFLNK | 0o777),
        "name.zip": zip_of("../" * 9000 + "x"),
        "whole.zip": zip_of("/".join(["n" * 200] * 60)),
        "hard.tar.gz": tar_of("gz", member(long, tarfile.LNKTYPE, "z" * 9000)),
        "target.tar.gz": tar_of("gz", member("small/link", tarfile.SYMTYPE, "z/" * 4500)),
    }
    for number, (name, data) in enumerate(cases.items()):
        (tmp_path / str(number)).mkdir()
        with pytest.raises(PtexploreError) as refused:
            unpack(tmp_path / str(number), name, data)
        assert len(refused.value.why) < 300, name
        assert "PTEXPLORE_CACHE" not in refused.value.hint


def test_an_error_of_any_length_is_short_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    report(PtexploreError("begin" + "x" * 100_000 + "end", "y" * 100_000, "ptexplore trace " + "a + " * 400 + "a"))
    error, why, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: begin")
    assert error.endswith("end")
    assert len(error) < 2100
    assert len(why) < 2100
    assert hint.endswith("a + " * 400 + "a"), "a command is of use only whole"


def tar_with_header(kind: bytes, body: bytes) -> bytes:
    """A tar of a header of this kind that holds `body`, and of an honest member."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        info = tarfile.TarInfo("header")
        info.type, info.size = kind, len(body)
        tar.addfile(info, io.BytesIO(body))
        tar.addfile(tarfile.TarInfo("small/x"))
    return raw.getvalue()


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, b"K"]
)
def test_a_header_is_refused_by_its_length_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    """Digits without end: tarfile looks through them in the square of their number, and hears no signal meanwhile."""
    with pytest.raises(PtexploreError) as refused:
        unpack(tmp_path, "x.tar.gz", tar_with_header(kind, b"1" * 300_000))
    assert refused.value.why == "a header in it has 300,000 bytes, and 16,384 is the limit"


def test_a_header_that_goes_on_into_a_members_content_is_refused(tmp_path: Path) -> None:
    """A list of holes (pax, format 1.0) stands where the content is, and may be of any length."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("small/x")
        info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1"}
        body = b"40000000\n" + b"0\n" * 5_000_000
        info.size = len(body)
        tar.addfile(info, io.BytesIO(body))
    with pytest.raises(PtexploreError) as refused:
        unpack(tmp_path, "x.tar.gz", raw.getvalue())
    assert refused.value.why == "a header in it is longer than 4 MiB"


def test_a_long_file_is_no_long_header(tmp_path: Path) -> None:
    raw = io.BytesIO()
    content = bytes(range(256)) * 40_000  # 10 MB
    with tarfile.open(fileobj=raw, mode="w:gz", format=tarfile.GNU_FORMAT) as tar:
        for name in ("small/a", f"small/{'b' * 200}"):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    folder = unpack(tmp_path, "x.tar.gz", raw.getvalue())
    assert all(file.read_bytes() == content for file in (folder / "small").iterdir())
    assert len(list((folder / "small").iterdir())) == 2
