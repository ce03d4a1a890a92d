"""Permalinks: the page at which everybody reads a line of PyTorch as it is here, or why there is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from ptexplore.source.fetch.releases import releases

if TYPE_CHECKING:
    from ptexplore.model.places import Checkout
    from ptexplore.source.tree import SourceTree

SITE = "https://github.com/pytorch/pytorch/blob"  # for people: nothing here ever opens it
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
# Installed with torch, and made when it was built: in no repository.
_MADE = ("torch/version.py", "torch/return_types.pyi", "torch/_VF.pyi", "torch/_C/")


def permalink(revision: str, path: str, line: int | None = None) -> str:
    """The address of a file, or of a line of it, at a commit or tag of PyTorch's repository."""
    return page_on(f"{SITE}/{quote(revision, safe='')}", path, line)


def page_on(site: str, path: str, line: int | None = None) -> str:
    """The same on any site: `site` is the address before a path."""
    return f"{site}/{quote(path)}" + (f"#L{line}" if line else "")


def public_commit(checkout: Checkout) -> str | None:
    """The commit of PyTorch's repository that the checkout's files are those of, None where that is not certain."""
    certain = checkout.project == "pytorch" and not checkout.modified
    return origin_commit(checkout) if certain else None


def origin_commit(checkout: Checkout) -> str | None:
    """The commit that the text is, or was before it was modified; None where that is not known."""
    if checkout.commit is not None:
        return checkout.commit
    return next((release.commit for release in releases() if release.version == checkout.release), None)


def permalink_of(tree: SourceTree, checkout: Checkout | None, path: str, line: int) -> tuple[str | None, str]:
    """The address of a line of a tree, and what must be said of it; None and why, where there is none.

    Where only the version is known it is that of the version's tag. `checkout` is None for the installed torch.
    """
    text = tree.read(path)
    if text is None:
        return None, f"there is no text of {path} here"
    if text.layer == "generated" or path.startswith(_MADE) or "/generated/" in path:
        return None, "this file is generated: it is in no repository, so there is no permalink"
    revision, remark = _revision(tree, checkout)
    return (permalink(revision, path, line) if revision is not None else None), remark


def _revision(tree: SourceTree, checkout: Checkout | None) -> tuple[str | None, str]:
    """The commit or tag whose text this tree's is, or may be; and what must be said of that."""
    info = tree.info
    if checkout is None:
        known = len(info.commit or "") == 40
        return (info.commit, "") if known else tagged(info.version, "the installed torch")
    if checkout.project != "pytorch":
        return None, f"{info.label} is not PyTorch's own source: no permalink of it is known"
    if checkout.modified:
        return None, f"{info.label} was modified: no public text is known to be the same"
    revision = public_commit(checkout) or (f"v{checkout.release}" if checkout.release else None)
    return (revision, "") if revision is not None else tagged(checkout.version or "", info.label)


def tagged(version: str, what: str) -> tuple[str | None, str]:
    """The tag that a version is called by. Only a name: what is here may be other text."""
    release = _RELEASE.match(version)
    if release is None:
        return None, f"it is not known which commit {what} is of"
    tag = f"v{release[0]}"
    return tag, f"that is the tag {tag}: {what} only says that it is {version}, so the line may be another one there"
