"""Whatever stdout is, and whoever ends the command: no traceback, the right exit code, nothing left running."""

from __future__ import annotations

import errno
import http.client
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ptexplore.cli import app, streams
from ptexplore.errors import PtexploreError, cache_errors
from ptexplore.render.html import serve
from tests.harness import Cli, InProcess

pytestmark = pytest.mark.e2e
SAVED = str(Path(__file__).parents[1] / "data" / "saved" / "format1-add-native.json.gz")
LOAD = ("trace", "--load", SAVED)


def run(cli: Cli, *arguments: str, limits: Callable[[], None] | None = None, **given: Any) -> tuple[int, str]:
    """Exit code and stderr of a command that was started in an odd way."""
    given.setdefault("stdout", subprocess.DEVNULL)
    given["env"] = cli.environment() | given.get("env", {})
    done = subprocess.run(
        [cli.python, "-m", "ptexplore", *arguments], cwd=cli.cwd, stderr=subprocess.PIPE, check=False, timeout=240,
        preexec_fn=limits, **given,
    )  # fmt: skip
    return done.returncode, done.stderr.decode()


@pytest.fixture
def bare(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "cache", tmp_path)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk"])
def test_what_an_encoding_lacks_is_drawn_in_ascii(bare: Cli, encoding: str) -> None:
    done = subprocess.run(
        [bare.python, "-m", "ptexplore", *LOAD, "--full"], env=bare.environment() | {"PYTHONIOENCODING": encoding},
        cwd=bare.cwd, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding)
    assert "aten::add.Tensor" in text
    assert "\\u25" not in text


@pytest.mark.parametrize("arguments", [LOAD, (*LOAD, "--json"), ("--help",)], ids=["text", "json", "help"])
def test_a_full_and_a_closed_stdout(bare: Cli, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        code, err = run(bare, *arguments, stdout=full)
    assert (code, err.count("error:"), "Traceback" in err) == (1, 1, False), err
    assert "the output cannot be written" in err
    code, err = run(bare, *arguments, limits=partial(os.close, 1), stdout=None)
    assert (code, err) == (0, "")
    # What the command writes does not take the closed descriptor's place.
    assert run(bare, *LOAD, "--save", "kept.json", limits=partial(os.close, 1), stdout=None) == (0, "")
    assert (bare.cwd / "kept.json").read_text(encoding="utf-8").startswith("{")


def test_a_closed_stderr_is_no_traceback(bare: Cli) -> None:
    done = subprocess.run(
        [bare.python, "-m", "ptexplore", "nonsense"], env=bare.environment(), cwd=bare.cwd, stdout=subprocess.PIPE,
        preexec_fn=partial(os.close, 2), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")


LIMITS = {
    "memory": (resource.RLIMIT_AS, 350 << 20, "there is not enough memory"),
    "file size": (resource.RLIMIT_FSIZE, 0, "cannot be written"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_that_is_reached_is_named(bare: Cli, name: str) -> None:
    kind, most, told = LIMITS[name]
    code, err = run(bare, *LOAD, "--save", "kept.json", limits=lambda: resource.setrlimit(kind, (most, most)))
    if code == 0:  # this machine's Python takes less
        pytest.skip("it needs less memory here")
    assert (code, "Traceback" in err) == (1, False), err
    assert told in err
    assert "PTEXPLORE_CACHE" not in err


def test_halves_of_characters_in_names(command: InProcess) -> None:
    for arguments in (
        ("op", "\ud800"),
        ("op", "add\udcff"),
        ("show", "\udc80"),
        ("find", "\ud800"),
        ("refs", "\udfff"),
    ):
        result = command(*arguments)
        assert result.code in (0, 1, 2, 3), result
        assert "ptexplore itself failed" not in result.err, result


def test_windows_itself_is_refused_in_three_parts(command: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    result = command("doctor")
    monkeypatch.undo()
    assert (result.code, result.out) == (3, "")
    assert [line.partition(":")[0] for line in result.err.splitlines()] == ["error", "why", "try"]
    assert "WSL" in result.err


def test_a_limit_of_many_digits(command: InProcess) -> None:
    result = command("find", "TensorIteratorBase", "--limit", "9" * 23)
    assert (result.code, "error:" in result.err) == (0, False), result


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_command_and_what_it_started(cli: Cli, tmp_path: Path, name: str) -> None:
    """While its expression sleeps: the exit code is a shell's, and no process of its session lives two seconds on."""
    started = tmp_path / "started"
    code = f"import pathlib, os, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(300)"
    process = subprocess.Popen(
        [cli.python, "-m", "ptexplore", "trace", "a + 1", "--setup", code, "--no-native", "--once"],
        env=cli.environment(), cwd=cli.cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    end = time.monotonic() + 200
    while not (started.exists() and started.read_text()):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.1)
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + getattr(signal, name), err
    assert b"Traceback" not in err
    assert gone(int(started.read_text()))


def gone(process: int) -> bool:
    """Whether a process ends within some seconds."""
    for _ in range(100):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False


SLEEPS = "import time, os; print(os.getpid(), flush=True); time.sleep(300)"
STARTS = """
import json, subprocess, sys, threading, time
from pathlib import Path
from ptexplore import processes

def start():
    child = processes.start(sys.executable, Path({probe!r}), stdin=subprocess.PIPE, stdout=None)
    child.process.stdin.write(json.dumps({request!r}).encode() + b"\\n")
    child.process.stdin.flush()
    time.sleep(300)

{start}
"""


@pytest.mark.parametrize(
    ("start", "torch"),
    [
        pytest.param("start()", SLEEPS, id="while it imports torch"),
        pytest.param(
            "threading.Thread(target=start).start()",
            f"def __getattr__(name):\n    {SLEEPS}",
            id="while it reads the dispatcher, started by a thread",
        ),
    ],
)
def test_a_child_ends_with_a_parent_that_is_killed(tmp_path: Path, start: str, torch: str) -> None:
    """At once, before it has anything to write: the system ends it."""
    probe = Path(streams.__file__).parents[1] / "probe" / "main.py"
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(torch)
    request = {"work": "catalogue", "torch_dir": str(tmp_path / "torch")}
    code = STARTS.format(probe=str(probe), request=request, start=start)
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    assert gone(child)


@pytest.fixture
def site(tmp_path: Path) -> Any:
    (tmp_path / "index.html").write_text("here")
    server = serve._Server(0, partial(serve._Files, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def get(server: Any, path: str, host: str | None, **headers: str) -> int:
    connection = http.client.HTTPConnection(serve.HOST, server.server_port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    if host is not None:
        connection.putheader("Host", host)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"  # browsers look at it
    status = answer.status
    connection.close()
    return status


def test_the_server_answers_its_own_hosts_alone_and_nothing_stops_it(
    site: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    port = site.server_port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", "localhost", "127.0.0.1"):
        assert get(site, "/index.html", host) == 200
    for wrong in ("evil.example", "evil.example:80", "", "localhost.evil", f"localhost:{port}:1", None):
        assert get(site, "/index.html", wrong) == 403, wrong
    for path in ("/%00", "/a%00b", "/..%2f..%2fetc/passwd", "/%ff", "/index.html%00.js"):
        assert get(site, path, "localhost") == 404, path
    assert "Traceback" not in capfd.readouterr().err


def test_a_page_of_another_site_loads_nothing_of_a_served_one(site: Any, tmp_path: Path) -> None:
    (tmp_path / "search").mkdir()
    (tmp_path / "search/0.js").write_text("ptx.rows()")
    host = f"127.0.0.1:{site.server_port}"

    def asked(who: str, mode: str, what: str) -> int:
        return get(site, "/search/0.js", host, Sec_Fetch_Site=who, Sec_Fetch_Mode=mode, Sec_Fetch_Dest=what)

    assert get(site, "/search/0.js", host) == 200, "what is no browser"
    assert asked("same-origin", "no-cors", "script") == 200
    assert asked("none", "navigate", "document") == 200
    assert asked("cross-site", "navigate", "document") == 200, "a link that its reader follows"
    for who in ("cross-site", "same-site"):  # same-site: another port of this machine
        assert asked(who, "no-cors", "script") == 403
        assert asked(who, "cors", "empty") == 403
        assert asked(who, "navigate", "iframe") == 403


def test_what_is_served_is_a_file_of_the_folder(site: Any, tmp_path: Path) -> None:
    """Not one that a folder's page leads to, and no FIFO: 40 of those would take all 32 connections."""
    (tmp_path.parent / "outside.txt").write_text("outside")
    for number, page in enumerate(("index.html", "index.htm")):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}" / page).symlink_to(tmp_path.parent / "outside.txt")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/index.htm").write_text("own")
    (tmp_path / "link.html").symlink_to("index.html")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("a token")
    (tmp_path / "about.html").symlink_to(".git/config")
    for path in ("/.git/config", "/.GIT/config", "/about.html", "/%2egit/config"):
        assert get(site, path, "localhost") == 404, path
    for path in ("/d0/", "/d1/", "/d0/index.html", "/d1/index.htm", "/zero", *["/fifo"] * 40):
        assert get(site, path, "localhost") == 404, path
    for path in ("/own/", "/link.html", "/index.html"):
        assert get(site, path, "localhost") == 200, path


def test_idle_connections_hold_few_threads_and_others_wait_their_turn(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve._Files, "timeout", 0.2)
    before = threading.active_count()
    idle = [socket.create_connection((serve.HOST, site.server_port)) for _ in range(40)]
    time.sleep(0.3)
    assert threading.active_count() - before <= serve.CONNECTIONS
    assert get(site, "/index.html", "localhost") == 200
    for connection in idle:
        connection.close()


def test_slow_connections_keep_nobody_waiting_for_ever(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve._Files, "timeout", 0.5)
    slow = [socket.create_connection((serve.HOST, site.server_port)) for _ in range(34)]
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.1):
            for connection in slow:
                with suppress(OSError):
                    connection.send(b"G")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        assert get(site, "/index.html", "localhost") == 200
    finally:
        stop.set()
        thread.join()
        for connection in slow:
            connection.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EAGAIN, errno.EFBIG])
def test_a_limit_that_is_met_while_the_cache_is_written_is_not_told_as_a_full_disk(tmp_path: Path, number: int) -> None:
    with pytest.raises(OSError, match=os.strerror(number)) as raised, cache_errors("it cannot be kept", tmp_path):
        raise OSError(number, os.strerror(number), str(tmp_path))
    told = app._explain_error(raised.value)
    assert "ulimit" in told.hint
    assert "room" not in told.hint
    with pytest.raises(PtexploreError, match="it cannot be kept"), cache_errors("it cannot be kept", tmp_path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path))


@pytest.mark.parametrize("number", [errno.EIO, errno.EINTR, errno.ESTALE])
def test_a_bad_disk_is_not_told_as_a_full_one(tmp_path: Path, number: int) -> None:
    told = app._explain_error(OSError(number, os.strerror(number), str(tmp_path)))
    assert told.why == f"{os.strerror(number)} ({tmp_path})"
    assert told.hint.startswith("run this again")


def test_a_thread_that_the_system_does_not_start_is_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `ulimit -u`: of the pool's own complaint about its thread too."""

    def refuse(*_given: object) -> None:
        raise RuntimeError("can't start new thread")  # as CPython says it

    starts = "_start_joinable_thread" if sys.version_info >= (3, 13) else "_start_new_thread"
    monkeypatch.setattr(threading, starts, refuse)
    pool = ThreadPoolExecutor(1)
    with pytest.raises(RuntimeError) as raised:
        pool.submit(print)
    monkeypatch.undo()
    assert "ulimit -u" in app._explain_error(raised.value).hint
    joined = RuntimeError("cannot join thread before it is started")
    joined.__context__ = raised.value
    assert "ulimit -u" in app._explain_error(joined).hint
    assert app._explain_error(RuntimeError("another")).message == app.FAULT
    for lock in ("can't allocate read lock", "can't allocate lock"):  # as CPython says it of no memory
        assert app._explain_error(RuntimeError(lock)).message == app.NO_MEMORY
