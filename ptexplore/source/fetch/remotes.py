"""Fetches source from a remote repository: checks of address and ref, the fetch, and explanations of git's errors."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import socket
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies_environment

from ptexplore import locations
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.model.places import Checkout, Runtime
from ptexplore.source.fetch import checkouts, install, releases
from ptexplore.source.fetch.archive import BYTES
from ptexplore.source.fetch.git import STALL, Git, GitFailed, TreeTooLarge, import_gitpython
from ptexplore.source.fetch.install import BUSY, FetchOutcome, Request
from ptexplore.source.fetch.project_file import Project, is_ref
from ptexplore.source.progress import Watcher

PYTORCH = "https://github.com/pytorch/pytorch.git"
INSTEAD = "PTEXPLORE_REMOTE"  # names a mirror, which is the default remote
_PORTS = {"https": 443, "http": 80, "git": 9418}
_PROTOCOLS = {"https": ("https",), "http": ("http", "https"), "git": ("git",), "ssh": ("ssh",), "file": ("file",)}
_SCP = re.compile(r"(?:[A-Za-z0-9_][\w.+-]*@)?[A-Za-z0-9_][\w.-]*:(?!:)(?!//)[^-].*")
_CONNECT = 10.0  # seconds
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST = 256 * 1024**2  # bytes of a file; PyTorch's have a few megabytes
_BATCH = 3000  # blobs in a request: the most that an interruption can lose
# The files are the blobs, byte for byte.
_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding -diff -merge\n"
# The folders in a checkout of PyTorch: indexed source, and targets of annotations. Files at the top come along.
FOLDERS = (
    "aten",
    "c10",
    "caffe2/core",
    "caffe2/perfkernels",
    "caffe2/serialize",
    "caffe2/utils",
    "cmake",
    "functorch",
    "tools",
    "torch",
    "torchgen",
)


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote repository: its URL, the transports that git may use, and the URL to show and record."""

    url: str
    protocols: tuple[str, ...]
    shown: str  # the URL without a password
    secret: str = ""


def looks_remote(source: str) -> bool:
    """Whether `source` is written as a remote, not as a file or folder of this machine."""
    return "://" in source or "::" in source or (_SCP.fullmatch(source) is not None and not os.path.exists(source))


def parse_remote(url: str) -> Remote:
    """Checks a remote's URL. Raises PtexploreError(USAGE) for options, external transports and odd characters."""
    if url.startswith("-"):
        raise _refused(url, "it begins with a dash, like an option")
    if re.search(r"[\x00-\x20\x7f]", url):
        raise _refused(url, "it has a space or a control character")
    if re.match(r"[A-Za-z0-9+.-]*::", url):
        scheme = url.partition("::")[0]
        raise _refused(url, f"{scheme}:: is an external transport: the URL decides which program runs")
    if "://" not in url:
        if _SCP.fullmatch(url) is None:
            raise _refused(url, "it is neither a URL nor a file or folder here")
        return Remote(url, _PROTOCOLS["ssh"], url)
    try:
        parts = urlsplit(url)
        host, password = parts.hostname or "", parts.password or ""
        _ = parts.port
    except ValueError as error:
        raise _refused(url, str(error)) from error
    if parts.scheme not in _PROTOCOLS:
        raise _refused(url, f"{parts.scheme} is not one of {', '.join(_PROTOCOLS)}")
    if (parts.scheme != "file" and not host) or host.startswith("-") or parts.netloc.startswith("-"):
        raise _refused(url, "it names no host" if not host else "its host begins with a dash, like an option")
    if parts.scheme == "file" and (host or not parts.path.startswith("/")):
        raise _refused(url, "a file:// URL has the form file:///absolute/path")
    shown = urlunsplit(parts._replace(netloc=parts.netloc.rsplit("@", 1)[-1])) if password else url
    return Remote(url, _PROTOCOLS[parts.scheme], shown, password)


def check_ref(ref: str) -> str:
    """Returns `ref` in a form that a remote accepts. The beginning of a known release's commit is completed.

    Raises PtexploreError(USAGE).
    """
    if len(ref) >= 7:
        commits = (release.commit for release in releases.releases())
        ref = next((commit for commit in commits if commit.startswith(ref)), ref)
    if ref.startswith("-"):
        why = "it begins with a dash, like an option"
    elif re.fullmatch(r"[0-9a-f]{7,39}", ref):
        why = "a commit cannot be fetched by the beginning of its id"
    elif not is_ref(ref):
        why = "no tag, branch or commit can have this name"
    else:
        return ref
    hint = "ptexplore fetch --ref v2.6.0, or the whole commit id of 40 digits"
    raise PtexploreError(f"cannot fetch the ref {ref!r}", why, hint, USAGE)


def check_reachable(remote: Remote) -> None:
    """Raises PtexploreError(FAILED) soon if the host does not answer; git itself would try for minutes.

    Behind a proxy, nothing is checked. Nor is ssh, whose configuration may name another host.
    """
    parts = urlsplit(remote.url) if "://" in remote.url else None
    if parts is None or parts.scheme not in _PORTS or parts.hostname is None:
        return
    if {parts.scheme, "all"} & getproxies_environment().keys():
        return
    try:
        socket.create_connection((parts.hostname, parts.port or _PORTS[parts.scheme]), _CONNECT).close()
    except OSError as error:
        why = f"{parts.hostname} does not answer: {error.strerror or str(error) or 'no reply'}"
        raise unreachable(remote, why, asked=False) from error


_RESUMES = " (the data received so far is kept)"


def unreachable(remote: Remote, why: str, *, asked: bool) -> PtexploreError:
    """Returns the error for a remote that cannot be reached. `asked`: git asked it, and keeps the data it received."""
    hint = (
        f"connect to the network and run this again{_RESUMES if asked else ''}, or give the source: "
        "ptexplore fetch --from FOLDER, --from ARCHIVE.tar.gz or --from URL of a mirror"
    )
    return PtexploreError(f"{remote.shown} cannot be reached", why, hint, FAILED)


def _refused(url: str, why: str) -> PtexploreError:
    return PtexploreError(f"{url!r} is not a remote to fetch from", why, f"ptexplore fetch --from {PYTORCH}", USAGE)


_NO_REF = re.compile(
    r"couldn't find remote ref|not our ref|unadvertised object|no such remote ref|not a valid ref", re.I
)
_NO_REPOSITORY = re.compile(
    r"repository .*not found|does not appear to be a git repository|not a git repository|No such file or directory|"
    r"could not read Username|Authentication failed|Permission denied \(|terminal prompts disabled|dubious ownership",
    re.I,
)
_NO_NETWORK = re.compile(
    r"could not resolve|could not connect|failed to connect|connection (refused|timed out|reset)|unreachable|"
    r"unable to access|early EOF|hung up|timed out|operation too slow|RPC failed|SSL|unexpected disconnect",
    re.I,
)
_NO_ROOM = re.compile(r"no space left|quota exceeded|file too large|write error|signal 25|file write error", re.I)


def explain(error: GitFailed, remote: Remote, ref: str, folder: Path) -> PtexploreError:
    """Returns the error for the user. git's own words are the reason, without a password."""
    lines = [line for line in error.lines if line and not re.match(r"(remote: )?[\w ]+:\s+\d+%", line)]
    reasons = [re.sub(r"^(fatal|error): ", "", line) for line in lines if re.match(r"(fatal|error|ssh|kex\w*):", line)]
    reasons = reasons or lines[-2:]
    has_no_room = any(map(_NO_ROOM.search, reasons)) or error.status == -25
    if len(reasons) > 4:  # one for each file that cannot be written; the last one has the reason
        reasons[2:-1] = [f"and {len(reasons) - 3:,} more"]
    words = "; ".join(reasons)
    if remote.secret:
        words = words.replace(remote.secret, "…")
    if isinstance(error, TreeTooLarge):
        hint = f"check the address; PyTorch's own is {PYTORCH}"
        return PtexploreError(f"{ref} of {remote.shown} was not fetched", words, hint, FAILED)
    if error.status is None:
        return unreachable(remote, f"git received nothing for {STALL:.0f} seconds", asked=True)
    if has_no_room:
        hint = f"free space there, or set PTEXPLORE_CACHE to a folder with more space{_RESUMES}"
        return PtexploreError(f"no space for the source in {folder}", words or "a file grew too large", hint, FAILED)
    if _NO_REF.search(words):
        hint = "ptexplore fetch --ref v2.6.0 (PyTorch's tags begin with a v; a commit is given with all 40 digits)"
        return PtexploreError(f"{remote.shown} has no {ref}", words, hint, MISSING)
    if _NO_REPOSITORY.search(words):
        hint = f"check the address; PyTorch's own is {PYTORCH}"
        return PtexploreError(f"{remote.shown} is not a repository that can be read", words, hint, FAILED)
    if _NO_NETWORK.search(words):
        return unreachable(remote, words, asked=True)
    hint = f"run the same command again{_RESUMES}, or give an archive with --from FILE"
    return PtexploreError(
        f"{ref} of {remote.shown} could not be fetched", words or f"git ended with {error.status}", hint
    )


@dataclass(frozen=True, slots=True)
class Fetched:
    """The fetched commit (a tag is followed to its commit), and the kind of ref that named it."""

    commit: str
    kind: str  # "commit", "tag" or "branch"


def fetch_ref(folder: Path, remote: Remote, ref: str, folders: tuple[str, ...], watcher: Watcher) -> Fetched:
    """Fetches `ref` of `remote` into `folder`, which may contain the result of an earlier try.

    `folders` are the folders to fetch; () means all. Files directly in their parents come along, as in git's cone mode.
    Raises PtexploreError.
    """
    with _held(folder, watcher) as hold:
        git = Git(folder, remote.protocols, hold=hold, url=remote.url)
        try:
            _prepare(git, folders)
            fetched = _commit(git, remote, ref, folders, watcher)
            _blobs(git, fetched.commit, folders, watcher)
            checkout = ["checkout", "--progress", "--force", "--detach", "--no-recurse-submodules", fetched.commit]
            Git(folder, hold=hold).watch(checkout, _reporter("writing files", watcher))
            Git(folder).read("config", "remote.origin.url", remote.shown)
            _verify(Git(folder), fetched.commit, folders, watcher)
        except GitFailed as error:
            raise explain(error, remote, ref, folder) from error
    return fetched


# kept from an earlier try: the objects, and the mark that there is no history
_KEPT = frozenset({"objects", "shallow"})


def _prepare(git: Git, folders: tuple[str, ...]) -> None:
    """Makes a new repository that keeps only the objects of an earlier try.

    The cache folder may belong to somebody else, and a configuration could name programs to run and a folder to write
    to.
    """
    folder, dot = git.folder, git.folder / ".git"
    if folder.is_symlink() or (os.path.lexists(folder) and not folder.is_dir()):
        folder.unlink()
    if folder.is_dir() and not _holds_files_alone(dot, _KEPT):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for left in (
        *(entry for entry in folder.iterdir() if entry != dot),
        *(entry for entry in (dot.iterdir() if dot.is_dir() else ()) if entry.name not in _KEPT),
        *(dot / "objects" / name for name in ("info",)),
        *dot.glob("objects/**/*.lock"), *dot.glob("objects/pack/tmp_*"), *dot.glob("objects/*/tmp_obj_*"),
    ):  # fmt: skip
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)
    git.read("init", "--quiet", "--template=", "--initial-branch=none")
    (dot / "info").mkdir(exist_ok=True)
    (dot / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    git.read("config", "remote.origin.promisor", "true")
    git.read("config", "remote.origin.partialclonefilter", "blob:none")
    git.read("config", "core.symlinks", "true")
    if folders:
        git.read("sparse-checkout", "set", "--cone", *folders)


def _holds_files_alone(dot: Path, names: Iterable[str]) -> bool:
    """Whether these names in a repository's folder contain only regular files and folders."""
    if dot.is_symlink() or not dot.is_dir():
        return False
    pending = [dot / name for name in names if os.path.lexists(dot / name)]
    while pending:
        entry = pending.pop()
        mode = entry.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return False
        pending += entry.iterdir() if stat.S_ISDIR(mode) else ()
    return True


def _commit(git: Git, remote: Remote, ref: str, folders: tuple[str, ...], watcher: Watcher) -> Fetched:
    is_sha = SHA.fullmatch(ref) is not None
    shown = "its newest commit" if ref == "HEAD" else ref[:12] if is_sha else ref
    report = _reporter(f"asking {_host(remote)} for {shown}", watcher)
    options = ["--progress", "--no-tags", "--depth=1", "--no-recurse-submodules", "--no-auto-maintenance"]
    filters = ["--filter=blob:none"] if folders else []
    if not (is_sha and _has(git, ref)):
        git.watch(["fetch", *options, *filters, "origin", ref], report)
    commit = git.line("rev-parse", "--verify", f"{ref if is_sha else 'FETCH_HEAD'}^{{commit}}")
    if is_sha and commit != ref:
        hint = "give the id of a commit, not of a tag object"
        raise PtexploreError(
            f"{remote.shown} gave another commit", f"the request was for {ref}, the answer is {commit}", hint, FAILED
        )
    head = "" if is_sha else (git.folder / ".git/FETCH_HEAD").read_text(encoding="utf-8", errors="replace")
    return Fetched(commit, "commit" if is_sha else "tag" if "\ttag '" in head else "branch")


def _has(git: Git, commit: str) -> bool:
    """Whether an earlier try fetched this commit, with all its trees."""
    from ptexplore.source.fetch.git_folder import tree_of

    try:
        for _entry in tree_of(git.folder, commit):
            pass
    except GitFailed:
        return False
    return (git.folder / ".git" / "shallow").is_file()


def _blobs(git: Git, commit: str, folders: tuple[str, ...], watcher: Watcher) -> None:
    """Fetches the blobs that are needed and missing, some thousands at a time."""
    from ptexplore.source.fetch.git_folder import tree_of

    tree = tree_of(git.folder, commit)
    files = Counter(blob for path, blob, kind in tree if kind != "other" and is_wanted(path, folders))
    wanted = set(files)
    objects = Git(git.folder).line("rev-list", "--objects", "--missing=print", "--no-object-names", commit).split()
    missing = sorted(wanted & {line[1:] for line in objects if line.startswith("?")})
    name = "receiving files"
    base = ["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--progress", "--no-tags", "--no-write-fetch-head"]
    options = ["--no-recurse-submodules", "--no-auto-maintenance", "--filter=blob:none", "--stdin", "origin"]
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        report = _reporter(name, watcher, (len(wanted) - len(missing) + start, len(batch), len(wanted)))
        git.watch([*base, *options], report, "".join(f"{blob}\n" for blob in batch).encode())
    _refuse_large(Git(git.folder), files)
    watcher.step(name, 1.0)


def _refuse_large(git: Git, files: Mapping[str, int]) -> None:
    """Raises TreeTooLarge if the files have more bytes than an archive may unpack to. `files`: id -> number of files.

    A blob may be packed to a thousandth of its size, and any number of files may have the same blob.
    """
    asked = "".join(f"{blob}\n" for blob in files).encode()
    rows = git.read("cat-file", "--batch-check=%(objectname) %(objectsize)", given=asked).decode("ascii").split("\n")
    pairs = (row.split(" ") for row in rows if row)
    sizes = {blob: int(size) for blob, size in pairs if size.isdigit()}  # missing blobs are noticed later
    if max(sizes.values(), default=0) > _LARGEST:
        raise TreeTooLarge(f"has a file of more than {_LARGEST // 1024**2} MiB")
    if sum(size * files[blob] for blob, size in sizes.items()) > BYTES:
        raise TreeTooLarge(f"has files of more than {BYTES // 1024**3} GiB")


def is_wanted(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a sparse checkout of `folders` has `path`: below one, or directly in a parent of one (cone mode)."""
    starts, parents = _cone(folders)
    return not folders or path.startswith(starts) or path.rpartition("/")[0] in parents


@functools.cache
def _cone(folders: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    parents = {folder.rsplit("/", depth)[0] for folder in folders for depth in range(1, folder.count("/") + 1)}
    return tuple(f"{folder}/" for folder in folders), frozenset({"", *parents})


def _verify(git: Git, commit: str, folders: tuple[str, ...], watcher: Watcher) -> None:
    """Checks the files against the commit: HEAD must name it, and every file must have the hash of its blob."""
    from ptexplore.source.fetch.git_folder import is_blob, tree_of

    watcher.step("checking every file")
    head = git.line("rev-parse", "--verify", "HEAD^{commit}")
    wrong = next(
        (
            path
            for path, blob, kind in tree_of(git.folder, commit)
            if kind == "file" and is_wanted(path, folders) and not is_blob(git.folder / path, blob)
        ),
        None,
    )
    if head != commit or wrong is not None:
        why = f"HEAD is {head}, not {commit}" if head != commit else f"{wrong} differs from commit {commit[:12]}"
        raise PtexploreError("the fetched files are not those of the commit", why, "run the same command again", FAILED)
    watcher.step("checking every file", 1.0)


def _reporter(name: str, watcher: Watcher, share: tuple[int, int, int] = (0, 1, 1)) -> Callable[[str], None]:
    """Returns a function for git's lines of progress, which reports steps. `share` is (done before, this part, all)."""
    import_gitpython()
    from git.util import RemoteProgress

    def tell(count: float, most: float, detail: str) -> None:
        before, part, total = share
        watcher.step(name, (before + part * count / max(most, 1)) / max(total, 1))
        watcher.detail(detail)

    class _Report(RemoteProgress):
        def update(self, op_code: int, cur_count: object, max_count: object = None, message: str = "") -> None:
            if not isinstance(cur_count, float) or not isinstance(max_count, float):
                return
            if op_code & self.RECEIVING:
                # the speed; the amount is only that of this batch
                tell(cur_count, max_count, message.rpartition("| ")[2])
            elif op_code & (self.COUNTING | self.COMPRESSING):
                watcher.detail(f"packing {100 * cur_count / max(max_count, 1):.0f}%")

        def line_dropped(self, line: str) -> None:
            written = re.match(r"Updating files:\s+\d+% \((\d+)/(\d+)\)", line)  # GitPython does not know this line yet
            if written is not None:
                tell(float(written[1]), float(written[2]), "")

    watcher.step(name)
    return _Report().new_message_handler()


@contextmanager
def _held(folder: Path, watcher: Watcher) -> Iterator[int]:
    """Holds a lock, which git's processes inherit: if one outlived a killed ptexplore, it is waited for."""
    if folder.parent.is_symlink():
        folder.parent.unlink()  # ptexplore makes no link there, and its target belongs to others
    folder.parent.mkdir(parents=True, exist_ok=True)
    busy = folder.parent / BUSY
    if os.path.lexists(busy) and not stat.S_ISREG(busy.lstat().st_mode):
        busy.unlink()
    with os.fdopen(os.open(busy, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            watcher.step("waiting for git of an earlier try to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        os.utime(file.fileno())  # the time for a second try begins now
        yield file.fileno()


def _host(remote: Remote) -> str:
    match = re.match(r"(?:\w+://)?(?:[^@/]*@)?([^/:]+)", remote.url)
    return "the repository" if remote.protocols == ("file",) or match is None else match[1]


def fetch(
    remote: Remote, request: Request, runtime: Runtime | None, pin: Project | None, watcher: Watcher
) -> FetchOutcome:
    """Fetches from `remote` into a folder that a second try finds again, and registers it."""
    own = request.project == "pytorch"
    wanted, notes = _wanted(request, runtime, pin) if own else ([check_ref(request.ref or "HEAD")], [])
    known = install.existing(lambda checkout: _is_asked(checkout, remote, wanted[0], request))
    if known is not None and install.is_whole(known):
        return FetchOutcome(known, new=False, notes=tuple(notes))
    check_reachable(remote)
    key = hashlib.sha256("\0".join((remote.shown, wanted[0], request.project)).encode()).hexdigest()[:16]
    folder = locations.checkouts_dir() / f"{install.GIT}{key}"
    fetched, ref = _first(folder, remote, wanted, FOLDERS if own else (), watcher)
    checkout = Checkout(
        name=_name(remote, ref, fetched, request),
        kind="git",
        root=str(folder / checkouts.TREE),
        origin=remote.shown,
        project=request.project,
        ref=ref,
        commit=fetched.commit,
    )
    checkout = install.described(checkout, verified=True)
    (folder / BUSY).unlink(missing_ok=True)
    notes += _notes(checkout, remote, wanted[0])
    return FetchOutcome(install.placed(folder, checkout), new=True, notes=tuple(notes))


def _first(
    folder: Path, remote: Remote, wanted: list[str], folders: tuple[str, ...], watcher: Watcher
) -> tuple[Fetched, str]:
    """Fetches the first of the refs `wanted` that the remote has. If nothing came, the folder is deleted."""
    tree = folder / checkouts.TREE
    for number, ref in enumerate(wanted, 1):
        try:
            return fetch_ref(tree, remote, ref, folders, watcher), ref
        except PtexploreError as error:
            if error.exit_code != MISSING or number == len(wanted):
                if not (tree / ".git" / "shallow").is_file():
                    shutil.rmtree(folder, ignore_errors=True)
                raise
    raise AssertionError("there is always a ref to ask for")


def _wanted(request: Request, runtime: Runtime | None, pin: Project | None) -> tuple[list[str], list[str]]:
    """Returns the refs to try, likeliest first, and notes on why these were chosen."""
    if request.ref is not None:
        notes = [f"{pin.file} pins {pin.pin}"] if pin is not None and pin.pin != request.ref else []
        return [check_ref(request.ref)], notes
    if pin is not None and pin.ref is not None:
        return [check_ref(pin.ref)], [f"{pin.file} pins {pin.ref}, which is fetched"]
    if pin is not None and pin.archive_sha256 is not None:
        archives = (archive for release in releases.releases() for archive in release.archives)
        file = next((name for name, sha in archives if sha == pin.archive_sha256), "FILE")
        why = f"{pin.file} pins {pin.pin}, and an archive is read from a file"
        raise PtexploreError("the pinned archive must be given", why, f"ptexplore fetch --from {file}", MISSING)
    if runtime is None:
        why = "without --ref, ptexplore fetches the commit of the installed torch, and none is installed"
        raise PtexploreError("no ref to fetch", why, "ptexplore fetch --ref v2.6.0", USAGE)
    release = re.match(r"\d+\.\d+\.\d+(?=$|\+)", runtime.version)
    wanted = [runtime.git_version] if SHA.fullmatch(runtime.git_version) else []
    wanted += [f"v{release[0]}"] if release else []
    if not wanted:
        why = f"torch {runtime.version} names neither its commit nor a release"
        raise PtexploreError("no ref to fetch", why, "ptexplore fetch --ref TAG or --ref COMMIT", USAGE)
    return wanted, []


def _is_asked(checkout: Checkout, remote: Remote, ref: str, request: Request) -> bool:
    """Whether `ref` certainly names `checkout`: by its commit, or by a release's tag whose commit is known."""
    release = releases.by_tag(ref)
    commit = ref if SHA.fullmatch(ref) else release.commit if release else None
    asked = (remote.shown, request.project, "git", commit)
    return commit is not None and (checkout.origin, checkout.project, checkout.kind, checkout.commit) == asked


def _name(remote: Remote, ref: str, fetched: Fetched, request: Request) -> str:
    """Returns a name: a release's tag, the tag asked for, the beginning of the commit, or the branch with it."""

    def is_it(checkout: Checkout) -> bool:
        asked = (remote.shown, fetched.commit, request.project)
        return (checkout.origin, checkout.commit, checkout.project) == asked

    release = releases.by_commit(fetched.commit)
    short = fetched.commit[:12]
    # The tag of a release names only that release: a mirror may have moved it.
    is_plain = fetched.kind == "tag" and releases.by_tag(ref) is None
    plain = ref if is_plain else short if fetched.kind == "commit" else f"{ref}-{short}"
    return install.name_for(request, release.tag if release else plain, is_it)


def _notes(checkout: Checkout, remote: Remote, first: str) -> list[str]:
    """Returns notes on differences from the name: another commit at a release's tag, or a tag instead of the commit."""
    release = releases.by_tag(checkout.ref)
    short = (checkout.commit or "")[:12]
    notes = []
    if checkout.ref != first and checkout.commit != first:
        notes.append(
            f"{remote.shown} does not have commit {first[:12]}, which the installed torch was built from; "
            f"its tag {checkout.ref} was fetched instead, commit {short}: a version skew"
        )
    if release is not None and checkout.commit != release.commit:
        notes.append(
            f"the remote's tag {checkout.ref} is commit {short}, but PyTorch's tag is {release.commit[:12]}: "
            f"so this may not be release {release.version}"
        )
    return notes
