"""The address at which everybody sees a line as it is here; none where no public text is known to be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from ptexplore.source.atlas import SITE
from ptexplore.view.trees import label

if TYPE_CHECKING:
    from ptexplore.view.trees import IndexedTree

# Installed with torch, and made when it was built: in no repository.
_MADE = ("torch/version.py", "torch/return_types.pyi", "torch/_VF.pyi", "torch/_C/")


def permalink(indexed: IndexedTree, path: str, line: int) -> tuple[str | None, str]:
    """The address of a line, else None and why there is none."""
    found = indexed.tree.read(path)
    if found is None:
        return None, f"there is no text of {path} here"
    if found.layer == "generated" or path.startswith(_MADE) or "/generated/" in path:
        return None, "this file is generated: it is in no repository, so there is no permalink"
    at, why = _at(indexed)
    return (f"{SITE}/{at}/{quote(path)}#L{line}", "") if at is not None else (None, why)


def _at(indexed: IndexedTree) -> tuple[str | None, str]:
    """The commit or tag whose text this tree's is."""
    info, checkout = indexed.tree.info, indexed.checkout
    if checkout is None:
        known = len(info.commit or "") == 40
        return (info.commit, "") if known else (None, "the installed torch does not say which commit it is of")
    if checkout.project != "pytorch":
        return None, f"{label(info)} is not PyTorch's own source: no permalink of it is known"
    if checkout.modified:
        return None, f"{label(info)} was modified: no public text is known to be the same"
    if checkout.commit:
        return checkout.commit, ""
    if checkout.release:
        return f"v{checkout.release}", ""
    return None, f"it is not known which commit {label(info)} is of"
