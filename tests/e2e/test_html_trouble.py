"""`ptexplore html` where writing goes wrong: a full disk, links, two builds at once, a killed one."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from ptexplore.lookup import trees
from ptexplore.render.html.output import ASIDE, Output, open_output
from tests.conftest import in_process
from tests.harness import copied_site, hashes

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="session")
def fresh(mini, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fresh") / "out"
    assert mini("html", str(out), "--scope", "all", "--jobs", "2").code == 0
    return out


def _start(mini, out: Path, *arguments: str, **more) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ptexplore", "html", "--tree", mini.root.name, str(out), *arguments]
    return subprocess.Popen(
        command, env=mini.cli.environment(), cwd=mini.cli.cwd, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more,
    )  # fmt: skip


def _said(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    return out + err


def test_a_full_disk_is_told_of_and_what_is_written_is_kept(mini_here, fresh: Path, tmp_path: Path) -> None:
    """A file system of our own where this user may mount one, else a limit of the size of any file."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    small = None if mounted else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    try:
        process = _start(mini_here, disk / "out", "--scope", "all", "--jobs", "1", preexec_fn=small)
        said = _said(process)
        whole = hashes(fresh)
        own = (ASIDE, "ptexplore-site.json")
        pages = {url: sha for url, sha in hashes(disk / "out").items() if not url.startswith(own)}
    finally:
        if mounted:
            subprocess.run(["umount", disk], check=True)
    assert process.returncode == 1
    assert "free space, then run it again: the pages written so far are kept" in said
    assert all(whole[url] == sha for url, sha in pages.items()), "no page is half written"
    if mounted:
        assert "No space left on device" in said
        assert pages
    again = mini_here("html", str(disk / "out"), "--scope", "all", "--jobs", "1")
    assert again.code == 0, again
    assert hashes(disk / "out") == whole


def test_a_killed_build_leaves_nothing_that_the_next_one_does_not_know(mini_here, fresh: Path, tmp_path: Path) -> None:
    for arguments, jobs in ((("--scope", "all"), "2"), (("--scope", "tours"), "1")):
        out = tmp_path / f"killed{jobs}"
        process = _start(mini_here, out, "--scope", "all", "--jobs", jobs)
        deadline = time.monotonic() + 60
        while not (out / "src").exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert (out / ASIDE).is_dir()
        assert (out / "src").exists()
        again = mini_here("html", str(out), *arguments, "--jobs", "1")
        assert again.code == 0, again
        assert not (out / ASIDE).exists()
        if arguments[1] == "all":
            assert hashes(out) == hashes(fresh)
        else:
            other = tmp_path / "other"
            assert mini_here("html", str(other), *arguments, "--jobs", "1").code == 0
            assert hashes(out) == hashes(other), "pages of the killed build's scope are gone"


@pytest.mark.parametrize("trouble", ["edited", "unreadable"])
def test_a_page_that_was_not_made_of_the_indexed_text_is_made_again(
    mini, fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], trouble: str
) -> None:
    """A file is edited, or its disk fails, after the index was read and before its page is made."""
    file = mini.root / "aten/src/ATen/native/Mix.cpp"
    before, state = file.read_bytes(), file.stat()
    out, command = tmp_path / "out", in_process(mini.cli, monkeypatch, capsys)
    arguments = ("html", "--tree", mini.root.name, str(out), "--scope", "all", "--jobs", "1")
    begin, opened = Output.begin, trees.open_below  # type: ignore[attr-defined]

    def meet(output: Output) -> None:
        begin(output)
        if trouble == "edited":
            file.write_bytes(b"\n" + before)
        else:
            monkeypatch.setattr(trees, "open_below", fail)

    def fail(root: str, path: str) -> IO[bytes]:
        if Path(root, path) == file:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return opened(root, path)

    try:
        monkeypatch.setattr(Output, "begin", meet)
        met = command(*arguments)
    finally:
        monkeypatch.setattr(Output, "begin", begin)
        monkeypatch.setattr(trees, "open_below", opened)
        file.write_bytes(before)
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    if trouble == "edited":
        assert met.code == 0, met
        assert "changed after it was indexed" in (out / "src/aten/src/ATen/native/Mix.cpp.html").read_text("utf-8")
    else:
        assert met.code == 1
        assert "Input/output error" in met.err
    again = command(*arguments)
    assert again.code == 0, again
    assert hashes(out) == hashes(fresh)


def test_two_builds_do_not_write_into_one_folder(mini_here, fresh: Path) -> None:
    before = hashes(fresh)
    with open_output(fresh, (), force=False):
        second = mini_here("html", str(fresh), "--scope", "all", "--jobs", "1")
    assert second.code == 1
    assert "another ptexplore html is writing there" in second.err
    assert hashes(fresh) == before


def test_a_folder_of_yours_is_refused_before_an_expression_runs(mini_here, tmp_path: Path) -> None:
    folder, ran = tmp_path / "folder", tmp_path / "ran"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine", encoding="utf-8")
    refused = mini_here("html", str(folder), "--tensor", f"open({str(ran)!r}, 'w') and torch.ones(2)")
    assert refused.code == 2, refused
    assert not ran.exists()


def test_a_folder_that_became_a_link_is_not_written_through(mini_here, fresh: Path, tmp_path: Path) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    copied_site(fresh, out)
    (out / "src").rename(elsewhere)
    (out / "src").symlink_to(elsewhere)
    before = hashes(elsewhere)
    for arguments in ((), ("--title", "Other")):  # with nothing to write, and with every page
        result = mini_here("html", str(out), "--scope", "all", "--jobs", "1", *arguments)
        assert result.code == 2
        assert "src is a link, and ptexplore writes a site only into its own folder" in result.err
    assert hashes(elsewhere) == before


def test_out_may_be_a_link_to_a_folder_but_not_into_the_checkout(mini_here, fresh: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(fresh)
    result = mini_here("html", str(link), "--scope", "all", "--jobs", "1")
    assert result.code == 0, result
    assert "0 files written" in result.out
    inside = tmp_path / "inside"
    inside.symlink_to(mini_here.root / "aten")
    refused = mini_here("html", str(inside), "--force")
    assert refused.code == 2
    assert "source is read from" in refused.err
