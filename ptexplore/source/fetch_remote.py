"""Source from a remote repository: which ref to ask for, and the checkout that comes of it."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from ptexplore import locations
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model import Checkout, Runtime
from ptexplore.source import git_fetch, placing, registry, releases
from ptexplore.source.git import Watcher
from ptexplore.source.placing import Outcome, Request
from ptexplore.source.project import Project
from ptexplore.source.remote import SHA, Remote, check_reachable, check_ref

# What a checkout of PyTorch holds: what is indexed, and what annotations point at. Top-level files come along.
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


def fetch(remote: Remote, request: Request, runtime: Runtime | None, pin: Project | None, watcher: Watcher) -> Outcome:
    """Fetch from `remote` into an aside folder that a second try finds again, and register it."""
    own = request.project == "pytorch"
    wanted, notes = _wanted(request, runtime, pin) if own else ([check_ref(request.ref or "HEAD")], [])
    there = placing.existing(lambda found: _is_asked(found, remote, wanted[0], request))
    if there is not None and placing.is_whole(there):
        return Outcome(there, new=False, notes=tuple(notes))
    check_reachable(remote)
    key = hashlib.sha256("\0".join((remote.shown, wanted[0], request.project)).encode()).hexdigest()[:16]
    folder = locations.checkouts_dir() / f"{placing.GIT}{key}"
    fetched, ref = _first(folder, remote, wanted, FOLDERS if own else (), watcher)
    checkout = Checkout(
        name=_name(remote, ref, fetched, request),
        kind="git",
        root=str(folder / registry.TREE),
        origin=remote.shown,
        project=request.project,
        ref=ref,
        commit=fetched.commit,
    )
    checkout = placing.described(checkout, verified=True)
    (folder / git_fetch.BUSY).unlink(missing_ok=True)
    notes += _notes(checkout, remote, wanted[0])
    return Outcome(placing.placed(folder, checkout), new=True, notes=tuple(notes))


def _first(
    folder: Path, remote: Remote, wanted: list[str], folders: tuple[str, ...], watcher: Watcher
) -> tuple[git_fetch.Fetched, str]:
    """What the first of the refs `wanted` gives that the remote has; where nothing came, nothing is kept."""
    tree = folder / registry.TREE
    for number, ref in enumerate(wanted, 1):
        try:
            return git_fetch.fetch(tree, remote, ref, folders, watcher), ref
        except PtexploreError as error:
            if error.exit_code != MISSING or number == len(wanted):
                if not (tree / ".git" / "shallow").is_file():
                    shutil.rmtree(folder, ignore_errors=True)
                raise
    raise AssertionError("there is always a ref to ask for")


def _wanted(request: Request, runtime: Runtime | None, pin: Project | None) -> tuple[list[str], list[str]]:
    """The refs to try, likeliest first, and what to say of why these."""
    if request.ref is not None:
        notes = [f"{pin.file} pins {pin.pin}"] if pin is not None and pin.pin != request.ref else []
        return [check_ref(request.ref)], notes
    if pin is not None and pin.ref is not None:
        return [check_ref(pin.ref)], [f"{pin.file} pins {pin.ref}: that is fetched"]
    if pin is not None and pin.archive_sha256 is not None:
        known = releases.by_archive(pin.archive_sha256)
        file = next((name for name, sha in known.archives if sha == pin.archive_sha256), "FILE") if known else "FILE"
        why = f"{pin.file} pins {pin.pin}, and an archive comes from a file"
        raise PtexploreError("the pinned archive must be given", why, f"ptexplore fetch --from {file}", MISSING)
    if runtime is None:
        why = "there is no installed torch to take it from"
        raise PtexploreError("no ref to fetch", why, "ptexplore fetch --ref v2.6.0", USAGE)
    release = re.match(r"\d+\.\d+\.\d+(?=$|\+)", runtime.version)
    wanted = [runtime.git_version] if SHA.fullmatch(runtime.git_version) else []
    wanted += [f"v{release[0]}"] if release else []
    if not wanted:
        why = f"torch {runtime.version} names neither its commit nor a release"
        raise PtexploreError("no ref to fetch", why, "ptexplore fetch --ref TAG or --ref COMMIT", USAGE)
    return wanted, []


def _is_asked(found: Checkout, remote: Remote, ref: str, request: Request) -> bool:
    """Whether `found` is what `ref` names for certain: a commit, or a release's tag whose commit is known."""
    release = releases.by_tag(ref)
    commit = ref if SHA.fullmatch(ref) else release.commit if release else None
    same = found.origin == remote.shown and found.project == request.project and found.kind == "git"
    return same and commit is not None and found.commit == commit


def _name(remote: Remote, ref: str, fetched: git_fetch.Fetched, request: Request) -> str:
    """A release's tag, the tag asked for, the beginning of the commit, or the branch with it."""

    def is_it(found: Checkout) -> bool:
        return found.origin == remote.shown and found.commit == fetched.commit and found.project == request.project

    if request.project != "pytorch":
        placing.check_free(request)
        return request.project
    release = releases.by_commit(fetched.commit)
    short = fetched.commit[:12]
    # A release's own tag is the name of that release alone: a mirror may have put it elsewhere.
    is_plain = fetched.kind == "tag" and releases.by_tag(ref) is None
    plain = ref if is_plain else short if fetched.kind == "commit" else f"{ref}-{short}"
    return placing.free_name(release.tag if release else plain, is_it)


def _notes(checkout: Checkout, remote: Remote, first: str) -> list[str]:
    """What is not as its name says: another commit under a release's tag, a tag in place of the installed commit."""
    release = releases.by_tag(checkout.ref)
    short = (checkout.commit or "")[:12]
    notes = []
    if checkout.ref != first and checkout.commit != first:
        notes.append(
            f"{remote.shown} does not have commit {first[:12]}, which the installed torch was built from; "
            f"its tag {checkout.ref} came instead, commit {short}: a version skew"
        )
    if release is not None and checkout.commit != release.commit:
        notes.append(
            f"tag {checkout.ref} there is commit {short}, PyTorch's own is {release.commit[:12]}: "
            f"so this is not known to be release {release.version}"
        )
    return notes
