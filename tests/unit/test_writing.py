"""Files of a user and of ours: what is there is kept, whatever it is and whatever fails."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptexplore import writing
from ptexplore.annotations import progress, trust
from ptexplore.annotations.progress import ReadingStep
from ptexplore.locations import trust_file
from ptexplore.tui.places import Recent, keep_recent, load_recent
from tests.faults import ERRORS, failing

ROOT = os.geteuid() == 0


def test_a_new_file_is_whole_and_as_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        writing.write_users_file(tmp_path / "new", "é")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == "é".encode()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["new"]


def test_a_device_in_place_of_a_file_of_ours_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").symlink_to("/dev/zero")
    assert writing.kept_bytes(tmp_path / "kept") == b""


def test_mode_and_owner_stay(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("old")
    file.chmod(0o600)
    if ROOT:
        os.chown(file, 12345, 23456)
    writing.write_users_file(file, "new")
    state = file.stat()
    assert (file.read_text(), stat.S_IMODE(state.st_mode)) == ("new", 0o600)
    if ROOT:
        assert (state.st_uid, state.st_gid) == (12345, 23456)


def test_set_user_id_does_not_stay(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_text("old")
    file.chmod(0o4755)
    writing.write_users_file(file, "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/target").write_text("old")
    (tmp_path / "second").symlink_to("folder/target")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    writing.write_users_file(tmp_path / "first", "new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "folder/target").read_text() == "new"
    assert os.listdir(tmp_path / "folder") == ["target"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("later")
    writing.write_users_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later").read_text() == "new"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        writing.write_users_file(tmp_path / "a", "new")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert (tmp_path / "a").is_symlink()


def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    writing.write_users_file(fifo, "through")
    reader.join(20)
    assert read == [b"through"]
    assert stat.S_ISFIFO(fifo.lstat().st_mode)


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    writing.write_users_file(tmp_path / "null", "gone")
    writing.write_users_file(Path("/dev/null"), "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert (tmp_path / "null").is_symlink()
    with pytest.raises(OSError, match="No space"):
        writing.write_users_file(Path("/dev/full"), "x" * 10)


def test_an_open_descriptor_is_written_to(tmp_path: Path) -> None:
    """`--save /dev/fd/5 5> file`: the file that is open, not a new one of its name."""
    with (tmp_path / "out").open("w+") as out:
        writing.write_users_file(Path(f"/dev/fd/{out.fileno()}"), "here")
        assert os.fstat(out.fileno()).st_nlink == 1
        assert out.read() == "here"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        writing.write_users_file(tmp_path, "new")


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)
    for text in ("first", "second"):
        writing.write_users_file(file, text)
        writing.write_whole(file, text)
        assert file.read_text() == text


@pytest.mark.skipif(ROOT, reason="root may write anything")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("old")
    (tmp_path / "kept").chmod(0o444)
    with pytest.raises(PermissionError):
        writing.write_users_file(tmp_path / "kept", "new")
    assert (tmp_path / "kept").read_text() == "old"


def test_a_file_whose_owner_cannot_be_kept_is_written_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "theirs"
    file.write_text("something longer")
    before = file.stat()

    def refuse(*_given: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "fchmod", refuse)
    writing.write_users_file(file, "new")
    assert file.read_text() == "new"
    assert file.stat().st_ino == before.st_ino
    assert os.listdir(tmp_path) == ["theirs"]


def test_nobody_can_lay_a_link_where_it_will_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a name that was guessed is passed over, not followed."""
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / ".ptx-aaaaaaaa").symlink_to("victim")
    names = iter(["aaaaaaaa", "bbbbbbbb", "aaaaaaaa", "bbbbbbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda _length: next(names))
    writing.write_users_file(tmp_path / "mine", "new")
    writing.write_whole(tmp_path / "ours", "new")
    assert (tmp_path / "victim").read_text() == "theirs"
    assert (tmp_path / "mine").read_text() == (tmp_path / "ours").read_text() == "new"


WRITERS: dict[str, Callable[[Path, str], None]] = {
    "a user's file": writing.write_users_file,
    "a file of ours": writing.write_whole,
    "a file in a folder of ours": writing.keep_whole,
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__ + str(error.args[0]))
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("old", ["old", None])
def test_what_fails_leaves_what_was_there(tmp_path: Path, name: str, error: BaseException, old: str | None) -> None:
    """The n-th call of the system fails, for every n: the file is the old or the new one, with nothing beside it."""
    file = tmp_path / "file"
    fired = 0
    for nth in range(100):
        file.unlink(missing_ok=True)
        if old is not None:
            file.write_text(old)
        with failing(writing, nth, error) as fault, contextlib.suppress(type(error)):
            WRITERS[name](file, "new")
        if not fault.fired:
            break
        fired += 1
        content = file.read_text() if file.exists() else None
        assert content in (old, "new"), (nth, fault.call)
        assert set(os.listdir(tmp_path)) <= {"file"}, (nth, fault.call)
    assert fired >= 3
    assert file.read_text() == "new"


def _trust(number: int) -> None:
    tour: Any = type("Tour", (), {"sha": f"{number:064}", "where": type("Where", (), {"file": f"{number}.md"})})
    trust.trust([tour])
    if number % 2:
        trust.forget_files([tour.sha])


def _remember(number: int) -> None:
    progress.remember(ReadingStep(read=f"tour#stop{number}", visited=f"tour#stop{number}"))


def in_parallel(work: Callable[[int], None], count: int) -> None:
    """Do it in that many processes at a time, all of which begin together."""
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(count)

    def begin(number: int) -> None:
        ready.wait()
        work(number)

    processes = [context.Process(target=begin, args=(number,)) for number in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * count


def test_no_trust_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sixteen at once every one is kept, and none that was revoked at the same time comes back."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path))
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path))
    in_parallel(_trust, 16)
    assert set(trust.trusted().values()) == {f"{number}.md" for number in range(0, 16, 2)}
    assert json.loads(trust_file().read_bytes())["format"] == 1


def test_no_reading_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path))
    in_parallel(_remember, 16)
    assert progress.load_progress().done == {f"tour#stop{number}" for number in range(16)}


def _visit(number: int) -> None:
    keep_recent(Recent("runtime", f"c10/{number}.h", 1))


KEPT: dict[str, tuple[Callable[[int], None], Callable[[], int]]] = {  # adds something; how much there is
    "trust": (lambda number: _trust(2 * number), lambda: len(trust.trusted())),
    "progress": (_remember, lambda: len(progress.load_progress().done)),
    "recent places": (_visit, lambda: len(load_recent())),
}


@pytest.mark.parametrize("error", ERRORS[:4], ids=lambda error: type(error).__name__ + str(error.args[0]))
@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_read_is_not_taken_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    """The n-th call fails while something is added: what was there is there, and nothing was put away as damaged."""
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path))
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path))
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path))
    add, count = KEPT[name]
    add(0)
    add(1)
    for nth in range(100):
        with failing(writing, nth, error) as fault, contextlib.suppress(type(error)):
            add(2)
        assert count() >= 2, (nth, fault.call)
        assert not list(tmp_path.rglob("*.damaged")), (nth, fault.call)
        if not fault.fired:
            break
    assert nth >= 4
    assert count() == 3


def test_a_checkouts_record_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptexplore.source.fetch import checkouts

    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path))
    monkeypatch.setenv("PTEXPLORE_CONFIG", str(tmp_path))
    (tmp_path / "checkouts/mine").mkdir(parents=True)
    assert checkouts.checkouts() == []
    (tmp_path / "checkouts/mine/checkout.json").mkdir()  # a folder where the record belongs: it cannot be read
    with pytest.raises(OSError, match="directory"):
        checkouts.checkouts()
    (tmp_path / "checkouts/.use").mkdir()
    with pytest.raises(OSError, match="directory"):
        checkouts.choose()


# --- a file whose name the user did not type ---


@pytest.mark.parametrize("what", ["a link", "a link to nothing", "a FIFO", "a folder"])
def test_what_was_put_in_the_way_leads_nowhere(tmp_path: Path, what: str) -> None:
    file, victim = tmp_path / "named by us", tmp_path / "victim"
    if what == "a link":
        victim.write_text("mine")
    if what.startswith("a link"):
        file.symlink_to(victim)
    elif what == "a FIFO":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(OSError, match=r"it is a link|it is not a regular file"):
        writing.write_where_named(file, "other")
    assert not victim.exists() or victim.read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == sorted(["named by us", *(["victim"] if what == "a link" else [])])


def test_a_regular_file_of_that_name_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "named by us"
    writing.write_where_named(file, "é")
    file.chmod(0o640)
    writing.write_where_named(file, "other")
    assert file.read_text() == "other"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["named by us"]
