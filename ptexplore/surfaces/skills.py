"""The pages for coding agents that are shipped: one SKILL.md for each job."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ptexplore.annotations.layers import shipped_folder
from ptexplore.errors import MISSING, PtexploreError
from ptexplore.writing import keep_whole, open_below

FILE = "SKILL.md"


@dataclass(frozen=True, slots=True)
class Skill:
    """One page. `description` is what an agent reads to decide whether to open it."""

    name: str
    description: str
    text: str


def skills() -> list[Skill]:
    """Returns the shipped pages by name. Raises PtexploreError (MISSING) if this installation has none."""
    folder = shipped_folder("skills")
    if folder is None:
        why = "the folder is missing in this installation"
        raise PtexploreError("there are no skills", why, "pip install --force-reinstall ptexplore", MISSING)
    return [_read(file) for file in sorted(folder.glob(f"*/{FILE}"))]


def _read(file: Path) -> Skill:
    import yaml

    text = file.read_text(encoding="utf-8")
    fields = next(yaml.safe_load_all(text))  # the front matter is the first document; Markdown follows
    return Skill(fields["name"], fields["description"], text)


def install(folder: Path, *, root: Path, force: bool = False) -> Iterator[tuple[Skill, bool]]:
    """Copies each page to `folder`/NAME/SKILL.md. Yields it, and whether anything was written.

    `root` is the folder that the user named, or a folder above it. No link below it is followed, since somebody else
    may have made it. Raises PtexploreError for such a link, and if writing fails. Without `force`, it also raises
    PtexploreError if a page there has other text.
    """
    pages = skills()
    files = [folder / page.name / FILE for page in pages]
    present = [_present(root, file, page.text) for page, file in zip(pages, files, strict=True)]
    other = [file for file, is_same in zip(files, present, strict=True) if is_same is False]
    if other and not force:
        raise PtexploreError("a skill is there already", f"{other[0]} has other text", "--force replaces it")
    for page, file, is_same in zip(pages, files, present, strict=True):
        if not is_same:
            try:
                keep_whole(file, page.text, root=root)
            except OSError as error:
                raise _cannot(file, error) from error
        yield page, not is_same


def _present(root: Path, file: Path, text: str) -> bool | None:
    """Returns whether a file has a text; None if there is no file. Raises PtexploreError."""
    data = text.encode()
    try:
        with open_below(root, file.relative_to(root).as_posix()) as opened:
            return opened.read(len(data) + 1) == data
    except (FileNotFoundError, NotADirectoryError) as error:
        if root.exists() and not root.is_dir():
            raise _cannot(file, error) from error
        return None
    except OSError as error:
        raise _cannot(file, error) from error


def _cannot(file: Path, error: OSError) -> PtexploreError:
    is_link = error.errno in (errno.ELOOP, errno.ENOTDIR)
    why = "a part of its path is a link or no folder" if is_link else error.strerror or "the system refused it"
    hint = "name another folder: ptexplore skills install DIR"
    return PtexploreError(f"{file} cannot be written", why, hint)
