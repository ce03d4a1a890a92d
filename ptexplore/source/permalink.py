"""Permalinks: the public page that shows a line of PyTorch as it is here, or the reason why there is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from ptexplore.source.fetch.releases import releases

if TYPE_CHECKING:
    from ptexplore.model.places import Checkout
    from ptexplore.source.tree import SourceTree

SITE = "https://github.com/pytorch/pytorch/blob"  # for people: ptexplore never opens it
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
# Installed with torch, but made by the build: in no repository.
_MADE = ("torch/version.py", "torch/return_types.pyi", "torch/_VF.pyi", "torch/_C/")


def permalink(revision: str, path: str, line: int | None = None) -> str:
    """Returns the address of a file, or of a line of it, at a commit or tag of PyTorch's repository."""
    return page_on(f"{SITE}/{quote(revision, safe='')}", path, line)


def page_on(site: str, path: str, line: int | None = None) -> str:
    """Returns such an address on any site: `site` is the address before the path."""
    return f"{site}/{quote(path)}" + (f"#L{line}" if line else "")


def public_commit(checkout: Checkout) -> str | None:
    """Returns the commit in PyTorch's repository that has the checkout's files. None if that is not certain."""
    certain = checkout.project == "pytorch" and not checkout.modified
    return origin_commit(checkout) if certain else None


def origin_commit(checkout: Checkout) -> str | None:
    """Returns the commit of the text, or of the text before it was modified. None if it is unknown."""
    if checkout.commit is not None:
        return checkout.commit
    return next((release.commit for release in releases() if release.version == checkout.release), None)


def permalink_of(tree: SourceTree, checkout: Checkout | None, path: str, line: int) -> tuple[str | None, str]:
    """Returns the address of a line of a tree and a remark on it; or None and the reason.

    If only the version is known, the address uses the version's tag. `checkout` is None for the installed torch.
    """
    text = tree.read(path)
    if text is None:
        return None, f"the text of {path} is not here"
    if text.layer == "generated" or path.startswith(_MADE) or "/generated/" in path:
        return None, "this file is generated and in no repository, so it has no permalink"
    revision, remark = _revision(tree, checkout)
    return (permalink(revision, path, line) if revision is not None else None), remark


def _revision(tree: SourceTree, checkout: Checkout | None) -> tuple[str | None, str]:
    """Returns the commit or tag that has the tree's text, or may have it, and a remark on that."""
    info = tree.info
    if checkout is None:
        known = len(info.commit or "") == 40
        return (info.commit, "") if known else tagged(info.version, "the installed torch")
    if checkout.project != "pytorch":
        return None, f"{info.label} is not PyTorch's own source, so no permalink is known"
    if checkout.modified:
        return None, f"{info.label} was modified, so no public text is known to match it"
    revision = public_commit(checkout) or (f"v{checkout.release}" if checkout.release else None)
    return (revision, "") if revision is not None else tagged(checkout.version or "", info.label)


def tagged(version: str, what: str) -> tuple[str | None, str]:
    """Returns the tag of a version, with a remark. The tag is only a name: the text here may differ."""
    release = _RELEASE.match(version)
    if release is None:
        return None, f"the commit of {what} is not known"
    tag = f"v{release[0]}"
    return tag, f"the link is to tag {tag}; {what} only says that it is {version}, so the line may differ there"
