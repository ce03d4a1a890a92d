"""What can be wrong with what is fetched: archives that attack, hostile git folders, odd refs and remotes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.archives import EVIL, member, tar_of
from tests.harness import Cli
from tests.http_remote import served
from tests.upstream import FILES, git, make_upstream, snapshot, write_tree

pytestmark = pytest.mark.e2e

FAILED, USAGE, MISSING = 1, 2, 3
NO_PROXY = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"), "")


@pytest.fixture
def around(fetching: Cli, tmp_path: Path) -> Callable[[], None]:
    """Checks that nothing but the cache changed, and that nothing of a fetch is left in it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("precious", encoding="utf-8")
    places = [tmp_path / "outside", fetching.cwd]
    before = snapshot(*places)

    def check() -> None:
        assert snapshot(*places) == before
        assert {entry.name for entry in tmp_path.iterdir()} <= {"cwd", "cache", "outside", "given"}
        left = [path for path in (fetching.cache / "checkouts").glob("*") if path.is_dir()]
        assert left == [], "nothing half-made stays"

    return check


# --- archives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["dots", "absolute", "link-out", "device", "bomb-gz", "zip-dots", "cut", "no-pytorch"])
def test_an_archive_that_is_refused(fetching: Cli, around: Callable[[], None], tmp_path: Path, case: str) -> None:
    name, make, says = EVIL[case]
    (tmp_path / "given").mkdir()
    file = tmp_path / "given" / name
    file.write_bytes(make())
    result = fetching("fetch", "--from", str(file)).three_parts(FAILED, USAGE)
    assert says in result.err, result
    assert not Path("/tmp/absolute").exists()
    around()


def test_links_inside_an_archive_stay_and_are_not_followed_out(fetching: Cli, tmp_path: Path) -> None:
    inside = member("small/c10/alias.h", tarfile.SYMTYPE, "core/Blend.h")
    file = tmp_path / "x.tar.gz"
    file.write_bytes(tar_of("gz", inside))
    assert fetching("fetch", "--from", str(file)).code == 0
    (row,) = fetching("fetch", "--list", "--json").data["checkouts"]
    assert (Path(row["root"]) / "c10/alias.h").is_symlink()


# --- folders ------------------------------------------------------------------------------------


def test_folders_that_are_none(fetching: Cli, around: Callable[[], None], tmp_path: Path) -> None:
    given = tmp_path / "given"
    write_tree(given / "pytorch-x")
    (given / "empty").mkdir()
    (given / "pipe").mkdir()
    os.mkfifo(given / "pipe" / "fifo")
    inside = fetching("fetch", "--from", str(given)).three_parts(USAGE)
    assert f"--from {given / 'pytorch-x'}" in inside.err, "the folder inside is named"
    fetching("fetch", "--from", str(given / "empty")).three_parts(USAGE)
    fetching("fetch", "--name", "x", "--from", str(given / "empty")).three_parts(USAGE)
    fetching("fetch", "--from", str(given / "nothing")).three_parts(MISSING)
    fetching("fetch", "--from", str(given / "pipe" / "fifo"), timeout=20).three_parts(FAILED, USAGE)
    fetching("fetch", "--from", str(given / "pytorch-x"), "--ref", "v1").three_parts(USAGE)
    around()


def hostile_git_folder(folder: Path, marker: Path) -> None:
    """A repository whose configuration, hooks and attributes each leave a mark when git runs them."""
    write_tree(folder)
    make_upstream(folder, "v2.99.0")
    evil = folder / ".git" / "evil.sh"
    evil.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marker}'\ncat\n", encoding="utf-8")
    evil.chmod(0o755)
    for hook in ("post-checkout", "pre-auto-gc", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (folder / ".git/hooks").mkdir(exist_ok=True)
        (folder / ".git/hooks" / hook).write_bytes(evil.read_bytes())
        (folder / ".git/hooks" / hook).chmod(0o755)
    settings = {
        "core.hooksPath": str(folder / ".git/hooks"),
        "core.fsmonitor": str(evil),
        "core.sshCommand": str(evil),
        "core.gitProxy": str(evil),
        "core.pager": str(evil),
        "core.editor": str(evil),
        "core.askPass": str(evil),
        "core.alternateRefsCommand": str(evil),
        "credential.helper": f"!{evil}",
        "diff.external": str(evil),
        "diff.evil.textconv": str(evil),
        "diff.evil.command": str(evil),
        "filter.evil.clean": str(evil),
        "filter.evil.smudge": str(evil),
        "filter.evil.process": str(evil),
        "filter.evil.required": "true",
        "merge.evil.driver": str(evil),
        "uploadpack.packObjectsHook": str(evil),
        "gpg.program": str(evil),
        "log.showSignature": "true",
        "alias.rev-parse": f"!{evil}",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{evil} %S",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": str(evil),
        "remote.origin.vcs": "ext",
        "submodule.recurse": "true",
        "trace2.normalTarget": str(marker),
    }
    config = folder / ".git" / "config"
    with config.open("a", encoding="utf-8") as out:
        for name, value in settings.items():
            section, _, key = name.rpartition(".")
            head, _, sub = section.partition(".")
            title = f'[{head} "{sub}"]' if sub else f"[{head}]"
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            out.write(f'{title}\n\t{key} = "{quoted}"\n')
    (folder / ".git/info/attributes").write_text("* filter=evil diff=evil merge=evil\n", encoding="utf-8")


def test_a_hostile_git_folder_used_in_place(fetching: Cli, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    folder = tmp_path / "hostile"
    hostile_git_folder(folder, marker)
    (folder / "c10/core/Blend.h").write_text("#pragma once\n\nint changed();\n", encoding="utf-8")
    blob = next((folder / ".git/objects").glob("??/" + "?" * 38))
    before = snapshot(folder)
    result = fetching("fetch", "--from", str(folder))
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert result.code == 0, result
    (row,) = fetching("fetch", "--list", "--json").data["checkouts"]
    assert row["modified"], "found without running anything of the folder's"
    assert snapshot(folder) == before
    blob.unlink()  # now git may want to fetch an object from that remote
    fetching("fetch", "--from", str(folder))
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    subprocess.run(["git", "status"], cwd=folder, capture_output=True, check=False)
    assert marker.exists(), "the folder is as hostile as this test says"


def test_a_hostile_repository_served(fetching: Cli, tmp_path: Path) -> None:
    """What a remote's own repository configures runs nothing either; the user's own configuration is not read."""
    marker, home = tmp_path / "marker", tmp_path / "home"
    hostile_git_folder(tmp_path / "hostile", marker)
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = "{tmp_path}/hostile/.git/hooks"\n\tfsmonitor = "{tmp_path}/hostile/.git/evil.sh"\n'
        f'[filter "evil"]\n\tsmudge = "{tmp_path}/hostile/.git/evil.sh"\n'
        '[url "ext::sh -c false %S"]\n\tinsteadOf = file://\n',
        encoding="utf-8",
    )
    evil = f"{tmp_path}/hostile/.git/evil.sh"
    environment = {"HOME": str(home), "GIT_SSH_COMMAND": evil, "GIT_EXTERNAL_DIFF": evil, "GIT_TRACE": str(marker)}
    environment |= {"GIT_DIR": "/nonexistent", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor"}
    environment |= {"GIT_CONFIG_VALUE_0": evil, "GIT_TEMPLATE_DIR": f"{tmp_path}/hostile/.git"}
    result = fetching("fetch", "--from", f"file://{tmp_path}/hostile", "--ref", "v2.99.0", env=environment)
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert result.code == 0, result
    (row,) = fetching("fetch", "--list", "--json").data["checkouts"]
    assert not (Path(row["root"]) / ".git/hooks").exists()


def test_links_in_a_remote_lead_nowhere(fetching: Cli, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "upstream")
    (folder / "c10/secret.h").symlink_to("/etc/passwd")
    (folder / "c10/up").symlink_to("../../../..")
    make_upstream(folder, "v2.99.0")
    result = fetching("fetch", "--from", f"file://{folder}", "--ref", "v2.99.0")
    assert result.code == 0, result
    (row,) = fetching("fetch", "--list", "--json").data["checkouts"]
    from ptexplore.model.places import Checkout
    from ptexplore.source.listing import files_of
    from ptexplore.source.tree import checkout_tree

    checkout = Checkout(row["name"], row["kind"], row["root"], row["origin"])
    tree = checkout_tree(checkout)
    assert tree.read("c10/secret.h") is None
    assert tree.read("c10/up/etc/passwd") is None
    assert tree.read(".git/config") is None
    assert not [listed for listed in files_of(checkout) if "secret" in listed.path or "/up" in listed.path]


def made_tree(folder: Path, rows: dict[str, str]) -> str:
    """A tree object with these files, whatever their names: what `git add` would refuse."""
    inner: dict[str, dict[str, str]] = {}
    lines = []
    for path, text in rows.items():
        name, slash, rest = path.partition("/")
        if slash:
            inner.setdefault(name, {})[rest] = text
        elif text.startswith("commit "):
            lines.append(f"160000 {text}\t{name}")
        else:
            file = folder / ".git/made"
            file.write_text(text, encoding="utf-8")
            lines.append(f"100644 blob {git(folder, 'hash-object', '-w', '--no-filters', str(file))}\t{name}")
    lines += [f"040000 tree {made_tree(folder, held)}\t{name}" for name, held in inner.items()]
    (folder / ".git/rows").write_bytes(b"\0".join(line.encode() for line in lines) + b"\0")
    shell = f"git mktree -z --missing < '{folder}/.git/rows'"
    done = subprocess.run(["sh", "-c", shell], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


# Names that git refuses to write on some system or other, names that differ by case or by Unicode's form alone,
# and a submodule that would be fetched by a command.
ODD_NAMES = {
    "dot-git": {".git/config": "[core]\n\tfsmonitor = touch MARKER\n"},
    "dot-git-inside": {"c10/.git/hooks/post-checkout": "#!/bin/sh\ntouch MARKER\n"},
    "case-of-git": {"c10/.GIT/config": "x"},
    "git-with-a-letter-that-is-not-seen": {"c10/.g\u200cit/config": "x"},
    "dots": {"c10/..": "x"},
    "case": {"c10/core/blend.h": "int other();\n", "C10/core/Blend.h": "int third();\n"},
    "unicode": {"c10/e\u0301.h": "int a();\n", "c10/\u00e9.h": "int b();\n"},
    "submodule": {
        "c10/sub": "commit 1234567890123456789012345678901234567890",
        ".gitmodules": '[submodule "x"]\n\tpath = c10/sub\n\turl = ext::touch MARKER\n\tupdate = !touch MARKER\n',
    },
    "option": {"--upload-pack=touch MARKER": "x", "c10/-rf": "x"},
}


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_tree_of_odd_names(fetching: Cli, tmp_path: Path, name: str) -> None:
    """It is refused in words, or it comes and is a tree like others: nothing runs, and no `.git` of it is written."""
    folder, marker = write_tree(tmp_path / "upstream"), tmp_path / "MARKER"
    make_upstream(folder)
    texts = {path: (folder / path).read_text() for path in ("c10/core/Blend.h", "version.txt", "torch/nn/blend.py")}
    texts |= {path: text.replace("MARKER", str(marker)) for path, text in ODD_NAMES[name].items()}
    commit = git(folder, "commit-tree", made_tree(folder, texts), "-m", "odd")
    git(folder, "tag", "v2.99.0", commit)
    result = fetching("fetch", "--from", f"file://{folder}", "--ref", "v2.99.0")
    assert not marker.exists()
    rows = fetching("fetch", "--list", "--json").data["checkouts"]
    if result.code:
        result.three_parts(FAILED, USAGE, MISSING)
        assert rows == []
        return
    (row,) = rows
    root = Path(row["root"])
    assert "touch" not in (root / ".git/config").read_text(encoding="utf-8")
    assert [path for path in root.rglob("*") if path.name.lower() == ".git"] == [root / ".git"]
    assert (root / "c10/core/Blend.h").read_text() == texts["c10/core/Blend.h"]


def test_a_git_folder_that_is_elsewhere_or_borrows_its_objects(fetching: Cli, tmp_path: Path) -> None:
    """`.git` a file that names a folder of somebody else, which is hostile, and objects that lie in another one."""
    marker, hostile, place = tmp_path / "marker", tmp_path / "hostile", write_tree(tmp_path / "place")
    hostile_git_folder(hostile, marker)
    (place / ".git").write_text(f"gitdir: {hostile}/.git\n", encoding="utf-8")
    borrowing = write_tree(tmp_path / "borrowing")
    make_upstream(borrowing)
    (borrowing / ".git/objects/info/alternates").write_text(f"{hostile}/.git/objects\n", encoding="utf-8")
    for blob in (borrowing / ".git/objects").glob("??/" + "?" * 38):
        blob.unlink()
    before = snapshot(hostile, place, borrowing)
    for folder in (place, borrowing):
        result = fetching("fetch", "--from", str(folder))
        assert result.code in (0, FAILED, USAGE, MISSING), result
        assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert snapshot(hostile, place, borrowing) == before


# --- refs and remotes ---------------------------------------------------------------------------


def test_what_is_not_asked_of_anyone(fetching: Cli, around: Callable[[], None]) -> None:
    for arguments in (
        ("--from", "ext::sh -c 'touch /tmp/x' %S"),
        ("--from=--upload-pack=touch x",),
        ("--from", "ssh://-oProxyCommand=x/y"),
        ("--ref=--upload-pack=touch x",),
        ("--ref", "\x1b[31mred"),
        ("--name", "x"),
        ("--name", "../x", "--from", "/tmp"),
        ("--name", "pytorch", "--from", "/tmp"),
        ("--list", "--remove", "x"),
        ("--use", "x", "--ref", "y"),
        ("--json",),
    ):
        fetching("fetch", *arguments, timeout=20).three_parts(USAGE)
    around()


def test_refs_and_remotes_that_are_not_there(fetching: Cli, around: Callable[[], None], tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "given" / "upstream")
    make_upstream(folder, "v2.99.0")
    url = f"file://{folder}"
    no_ref = fetching("fetch", "--from", url, "--ref", "v9.9.9").three_parts(MISSING)
    assert "v9.9.9" in no_ref.err
    fetching("fetch", "--from", url, "--ref", "0123456789" * 4).three_parts(MISSING)
    tag_of_a_tree = git(folder, "rev-parse", "HEAD^{tree}")
    fetching("fetch", "--from", url, "--ref", tag_of_a_tree).three_parts(FAILED, MISSING)
    fetching("fetch", "--from", f"{url}-gone", "--ref", "v2.99.0").three_parts(FAILED)
    around()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x.git", "https://nobody.invalid/x.git", "git://127.0.0.1:1/x"])
def test_no_network(fetching: Cli, around: Callable[[], None], url: str) -> None:
    result = fetching("fetch", "--from", url, "--ref", "v2.6.0", env=NO_PROXY, timeout=30).three_parts(FAILED)
    assert "--from" in result.err.partition("try:")[2], "what can be done without a network"
    around()


def test_a_password_is_neither_shown_nor_kept(fetching: Cli, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "upstream")
    commit = make_upstream(folder, "v2.99.0")
    with served(folder, "me", "s3cret") as port:
        urls = [f"http://{login}127.0.0.1:{port}/.git" for login in ("", "me:s3crets@", "me:s3cret@")]
        results = [fetching("fetch", "--from", url, "--ref", "v2.99.0", env=NO_PROXY) for url in urls]
        missing = fetching("fetch", "--from", urls[2], "--ref", "v9", env=NO_PROXY).three_parts(MISSING)
    assert [result.code for result in results] == [FAILED, FAILED, 0], results
    results[0].three_parts(FAILED)
    results[1].three_parts(FAILED)
    (row,) = fetching("fetch", "--list", "--json").data["checkouts"]
    assert (row["commit"], row["origin"]) == (commit, urls[0])
    for result in (*results, missing):
        assert "s3cret" not in result.err + result.out
    for file in fetching.cache.rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes(), file


def test_a_remote_that_is_no_pytorch(fetching: Cli, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "upstream", {"readme.md": "other\n", "src/x.cpp": "int x;\n"})
    make_upstream(folder, "v1")
    fetching("fetch", "--from", f"file://{folder}", "--ref", "v1").three_parts(USAGE)
    assert fetching("fetch", "--list", "--json").data["checkouts"] == []


def test_damaged_records_are_not_there(fetching: Cli, tmp_path: Path) -> None:
    assert fetching("fetch", "--from", str(write_tree(tmp_path / "mine"))).code == 0
    record = fetching.cache / "checkouts/mine/checkout.json"
    good = record.read_text(encoding="utf-8")
    for text in ("", "{}", "[]", good[:-30], good.replace('"root"', '"toor"'), good.replace('"mine"', "7"), "\xff"):
        record.write_text(text, encoding="latin-1")
        assert fetching("fetch", "--list", "--json").data["checkouts"] == []
    assert fetching("fetch", "--from", str(tmp_path / "mine")).code == 0
    assert len(fetching("fetch", "--list", "--json").data["checkouts"]) == 1


# --- a cache that somebody prepared ---


def half_made(fetching: Cli, url: str) -> Path:
    """Where `fetch` goes on with what an earlier try of this URL's tag left: anybody can work out its name."""
    key = hashlib.sha256("\0".join((url, "v2.99.0", "pytorch")).encode()).hexdigest()[:16]
    folder = fetching.cache / "checkouts" / f".fetching-git-{key}"
    (folder / "tree").mkdir(parents=True)
    (folder / "busy").touch()
    return folder


def test_a_planted_half_made_checkout_decides_nothing(fetching: Cli, tmp_path: Path) -> None:
    """Its configuration would run a program, write elsewhere and switch checks off; its links lead out."""
    upstream, marker, outside = tmp_path / "given" / "upstream", tmp_path / "marker", tmp_path / "outside"
    commit = make_upstream(write_tree(upstream), "v2.99.0")
    (outside / "c10/core").mkdir(parents=True)
    (outside / "precious").write_text("precious", encoding="utf-8")
    (outside / "c10/core/Blend.h").write_text("precious", encoding="utf-8")
    (outside / "tmp_pack_mine").write_text("precious", encoding="utf-8")
    (outside / "mine.lock").write_text("precious", encoding="utf-8")
    before = snapshot(outside)
    folder = half_made(fetching, f"file://{upstream}")
    tree = folder / "tree"
    git(tree, "init", "--quiet")
    for name, value in {
        "core.worktree": str(outside),
        "remote.origin.uploadpack": f"touch {marker}; git-upload-pack",
        "http.sslVerify": "false",
    }.items():
        git(tree, "config", name, value)
    (tree / "c10").symlink_to(outside / "c10")
    (tree / ".git/objects/pack").rmdir()
    (tree / ".git/objects/pack").symlink_to(outside)
    (tree / ".git/more").symlink_to(outside)
    (folder / "busy").unlink()
    (folder / "busy").symlink_to(outside / "precious")
    result = fetching("fetch", "--from", f"file://{upstream}", "--ref", "v2.99.0")
    assert result.code == 0, result
    assert not marker.exists()
    assert snapshot(outside) == before
    (row,) = fetching("fetch", "--list", "--json").data["checkouts"]
    root = Path(row["root"])
    assert (row["commit"], row["modified"]) == (commit, False)
    assert (root / "c10/core/Blend.h").read_text(encoding="utf-8") == FILES["c10/core/Blend.h"]
    assert git(root, "rev-parse", "HEAD") == commit
    assert str(marker) not in (root / ".git/config").read_text(encoding="utf-8")
    assert "sslVerify" not in (root / ".git/config").read_text(encoding="utf-8")


@pytest.mark.parametrize("which", ["the folder", "its tree", "what is made anew"])
def test_links_in_place_of_what_fetch_makes_lead_nowhere(fetching: Cli, tmp_path: Path, which: str) -> None:
    upstream, outside = tmp_path / "upstream", tmp_path / "outside"
    make_upstream(write_tree(upstream), "v2.99.0")
    (outside / ".git" / "objects").mkdir(parents=True)
    (outside / ".git" / "x.lock").write_text("precious", encoding="utf-8")
    (outside / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    before = snapshot(outside)
    folder = half_made(fetching, f"file://{upstream}")
    if which == "the folder":
        shutil.rmtree(folder)
        folder.symlink_to(outside)
    elif which == "its tree":
        (folder / "tree").rmdir()
        (folder / "tree").symlink_to(outside)
    else:
        (folder.parent / ".fetching-new").symlink_to(outside)
    result = fetching("fetch", "--from", f"file://{upstream}", "--ref", "v2.99.0")
    assert result.code == 0, result
    assert snapshot(outside) == before
    (row,) = fetching("fetch", "--list", "--json").data["checkouts"]
    assert (Path(row["root"]) / "c10/core/Blend.h").is_file()


def test_a_planted_lock_empties_no_other_file(fetching: Cli, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious", encoding="utf-8")
    (fetching.cache / "checkouts").mkdir(parents=True)
    (fetching.cache / "checkouts/.lock").symlink_to(precious)
    fetching("fetch", "--from", str(write_tree(tmp_path / "mine"))).three_parts(FAILED, MISSING)
    assert precious.read_text(encoding="utf-8") == "precious"
