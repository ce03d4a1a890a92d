"""The pages for coding agents that are shipped: one SKILL.md for each job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ptexplore.annotations.layers import shipped_folder
from ptexplore.errors import MISSING, PtexploreError
from ptexplore.writing import write_where_named

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


def install(folder: Path, *, force: bool = False) -> Iterator[tuple[Skill, bool]]:
    """Copies each page to `folder`/NAME/SKILL.md. Yields it, and whether anything was written.

    Raises PtexploreError if a page there has other text, unless `force` is set. Raises OSError if writing fails.
    """
    pages = skills()
    files = [folder / page.name / FILE for page in pages]
    if not force:
        for page, file in zip(pages, files, strict=True):
            if file.exists() and file.read_bytes() != page.text.encode():
                why = f"{file} has other text"
                raise PtexploreError("a skill is there already", why, "--force replaces it")
    for page, file in zip(pages, files, strict=True):
        is_new = not file.exists() or file.read_bytes() != page.text.encode()
        if is_new:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_where_named(file, page.text)
        yield page, is_new
