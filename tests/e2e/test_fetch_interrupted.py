"""Fetching that is stopped half-way, twice at once, or out of room: nothing half-made is used, the next try goes on."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness import Cli
from tests.upstream import FILES, make_upstream, snapshot, write_tree

pytestmark = pytest.mark.e2e

FAILED = 1
BIG = {f"torch/big/{number}.h": 1 << 20 for number in range(10)}


@pytest.fixture(scope="session")
def big_upstream(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A remote whose files take a second to come: random bytes, which nothing packs."""
    folder = write_tree(tmp_path_factory.mktemp("big"))
    source = random.Random(0)
    for name, size in BIG.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(source.randbytes(size))
    make_upstream(folder, "v2.99.0")
    return f"file://{folder}"


def start(cli: Cli, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ptexplore", "fetch", *arguments],
        env=cli.environment(),
        cwd=cli.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    """Until the command says `word` on stderr."""
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return
    raise AssertionError(f"it ended before it said {word!r}")


def rows(cli: Cli) -> list[dict]:
    return cli("fetch", "--list", "--json").data["checkouts"]


def check_whole(cli: Cli) -> None:
    (row,) = rows(cli)
    for name, size in BIG.items():
        assert (Path(row["root"]) / name).stat().st_size == size
    assert not list((cli.cache / "checkouts").glob(".fetching-*"))


def processes_below(folder: Path) -> list[str]:
    """Command lines of processes that work in `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd").startswith(str(folder)):
                found.append((entry / "cmdline").read_text(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("moment", ["receiving", "writing"])
def test_stopped_half_way(fetching: Cli, big_upstream: str, stop: signal.Signals, moment: str) -> None:
    arguments = ("--from", big_upstream, "--ref", "v2.99.0")
    process = start(fetching, *arguments)
    wait_for(process, moment)
    time.sleep(0.05 if moment == "receiving" else 0)
    process.send_signal(stop)
    _, err = process.communicate(timeout=30)
    assert process.returncode != 0
    assert rows(fetching) == [], "what is half there is not there"
    if stop == signal.SIGINT:
        assert "Traceback" not in err
        assert processes_below(fetching.cache) == [], "git ends with us"
    result = fetching("fetch", *arguments)
    assert result.code == 0, result
    check_whole(fetching)


def test_a_second_try_does_not_ask_for_what_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remote goes away between two batches and comes back."""
    from ptexplore.errors import PtexploreError
    from ptexplore.source.fetch import remotes

    folder = write_tree(tmp_path / "upstream")
    make_upstream(folder, "v2.99.0")
    remote = remotes.parse_remote(f"file://{folder}")
    steps: list[tuple[str, float | None]] = []

    class Watcher:
        leave_at: float | None = 0.5

        def step(self, name: str, done: float | None = None) -> None:
            steps.append((name, done))
            if self.leave_at is not None and name == "receiving files" and (done or 0) >= self.leave_at:
                folder.rename(tmp_path / "gone")
                self.leave_at = None

        def detail(self, text: str) -> None:
            pass

    monkeypatch.setattr(remotes, "_BATCH", 1)
    watcher = Watcher()
    with pytest.raises(PtexploreError):
        remotes.fetch_ref(tmp_path / "aside/tree", remote, "v2.99.0", ("c10", "torch"), watcher)
    assert not (tmp_path / "aside/tree/version.txt").exists()
    (tmp_path / "gone").rename(folder)
    steps.clear()
    remotes.fetch_ref(tmp_path / "aside/tree", remote, "v2.99.0", ("c10", "torch"), watcher)
    shares = [done for name, done in steps if name == "receiving files" and done is not None]
    assert shares == sorted(shares)
    assert shares[0] > 0.5, "it goes on where it was"
    assert (tmp_path / "aside/tree/c10/core/Blend.h").read_bytes().decode() == FILES["c10/core/Blend.h"]


def test_two_at_once(fetching: Cli, big_upstream: str) -> None:
    both = [start(fetching, "--from", big_upstream, "--ref", "v2.99.0") for _ in range(2)]
    ended = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert "waiting for another ptexplore" in "".join(err for _, err in ended)
    check_whole(fetching)


def test_an_archive_stopped_half_way(fetching: Cli, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    text = random.Random(0).randbytes(20_000_000)
    for number in range(2000):  # long enough that whoever looks cannot come too late
        (tree / f"c10/{number}.h").write_bytes(text[number * 10_000 : (number + 1) * 10_000])
    archive = tmp_path / "x.tar.gz"
    subprocess.run(["tar", "--use-compress-program=gzip -1", "-cf", archive, "-C", tmp_path, "tree"], check=True)
    for stop in (signal.SIGINT, signal.SIGKILL):
        process = start(fetching, "--from", str(archive))
        wait_for(process, "unpacking")
        process.send_signal(stop)
        process.communicate(timeout=30)
        assert process.returncode != 0
        assert rows(fetching) == []
    assert fetching("fetch", "--from", str(archive)).code == 0
    assert not list((fetching.cache / "checkouts").glob(".fetching-*"))
    assert len(list((Path(rows(fetching)[0]["root"]) / "c10").glob("*.h"))) == 2000


# --- no room ------------------------------------------------------------------------------------


def limited(cli: Cli, size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run with a limit on the size of any file, which ends writing as a full disk does."""
    return subprocess.run(
        [sys.executable, "-m", "ptexplore", "fetch", *arguments],
        env=cli.environment(),
        cwd=cli.cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


def test_no_room_for_what_git_brings(fetching: Cli, big_upstream: str) -> None:
    done = limited(fetching, 4 << 20, "--from", big_upstream, "--ref", "v2.99.0")
    assert done.returncode == FAILED, done
    assert "no space" in done.stderr
    assert "PTEXPLORE_CACHE" in done.stderr
    assert "Traceback" not in done.stderr
    assert rows(fetching) == []
    assert fetching("fetch", "--from", big_upstream, "--ref", "v2.99.0").code == 0
    check_whole(fetching)


def test_no_room_for_an_archive(fetching: Cli, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    (tree / "c10/big.h").write_bytes(random.Random(0).randbytes(4 << 20))
    subprocess.run(["tar", "-czf", tmp_path / "x.tar.gz", "-C", tmp_path, "tree"], check=True)
    done = limited(fetching, 1 << 20, "--from", str(tmp_path / "x.tar.gz"))
    assert done.returncode == FAILED, done
    assert "no space" in done.stderr
    assert "Traceback" not in done.stderr
    assert rows(fetching) == []
    assert not list((fetching.cache / "checkouts").glob(".fetching-*"))


def test_a_full_disk(fetching: Cli, big_upstream: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small disk here")
    try:
        cli = Cli(disk / "cache", fetching.cwd)
        result = cli("fetch", "--from", big_upstream, "--ref", "v2.99.0").three_parts(FAILED)
        assert "no space" in result.err
        assert rows(cli) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_cache_that_cannot_be_written(fetching: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    tree = write_tree(tmp_path / "mine")
    cli = Cli(tmp_path / "file" / "cache", fetching.cwd)
    result = cli("fetch", "--from", str(tree)).three_parts(1, 3)
    assert "PTEXPLORE_CACHE" in result.err
    assert rows(cli) == []


def test_nothing_outside_the_cache_is_written(fetching: Cli, tmp_path: Path) -> None:
    cli = Cli(fetching.cache, fetching.cwd)  # a process of its own: Python looks for its folder of temporary files once
    home = tmp_path / "home"
    home.mkdir()
    folder = write_tree(tmp_path / "upstream")
    make_upstream(folder, "v2.99.0")
    subprocess.run(["tar", "-czf", tmp_path / "x.tar.gz", "-C", tmp_path, "upstream/c10", "upstream/aten"], check=True)
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    places = [home, folder, fetching.cwd, tmp_path / "tmp"]
    before = snapshot(*places)
    for arguments in (
        ("--from", f"file://{folder}", "--ref", "v2.99.0"),
        ("--from", str(folder)),
        ("--from", str(tmp_path / "x.tar.gz")),
        ("--list",),
        ("--use", "v2.99.0"),
        ("--remove", "v2.99.0"),
        ("--remove", "upstream"),
    ):
        result = cli("fetch", *arguments, env=environment)
        assert result.code == 0, result
    after = snapshot(*places)
    assert [name for name in after if after[name] != before.get(name) and name != str(tmp_path / "tmp")] == []
    assert before.keys() == after.keys()
