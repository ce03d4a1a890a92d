"""What is given to --load and --times is a file: of anything else the reason is said at once."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptexplore.capture.chrome_trace import read_chrome_trace
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.workspace.saved_traces import load_trace


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """End a test that waits, with a traceback."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("read", [load_trace, read_chrome_trace], ids=["load", "times"])
@pytest.mark.parametrize(
    ("name", "why"),
    [("fifo", "it is a FIFO, not a file"), ("link to a fifo", "it is a FIFO, not a file"),
     ("/dev/zero", "it is a device, not a file"), ("/dev/null", "it is a device, not a file"),
     ("folder", "Is a directory"), ("socket", "No such device or address"), ("none", "No such file or directory"),
     ("a\0b", "embedded null byte")],
)  # fmt: skip
def test_what_is_no_file(
    tmp_path: Path, name: str, why: str, read: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link to a fifo").symlink_to("fifo")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        monkeypatch.chdir(tmp_path)
        bound.bind("socket")
        with pytest.raises(PtexploreError) as refused:
            read(name)
    assert refused.value.exit_code == USAGE
    assert why in refused.value.why or (name == "a\0b" and refused.value.why)
    assert refused.value.hint


def test_a_packed_file_of_times_is_closed(tmp_path: Path) -> None:
    import gzip

    file = tmp_path / "times.json.gz"
    file.write_bytes(gzip.compress(b'{"traceEvents": []}'))
    with pytest.raises(PtexploreError):
        read_chrome_trace(str(file))
    # Only this file's: those that other tests left are closed whenever Python collects them.
    assert str(file) not in open_files()
    with file.open("rb"):
        assert str(file) in open_files()


def open_files() -> list[str]:
    """What this process's descriptors lead to."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return found
