"""The known facts about PyTorch's releases: tag, commit, and the sha256 of archives. The data is in releases.json.

A commit is the torch.version.git_version of the release's wheel. A hash was computed from the archive.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

_TABLE = Path(__file__).with_name("releases.json")


@dataclass(frozen=True, slots=True)
class Release:
    """One release. `archives` are pairs of file name and sha256 of archives that contain exactly its source."""

    version: str
    tag: str
    commit: str
    archives: tuple[tuple[str, str], ...] = ()


@functools.cache
def releases() -> tuple[Release, ...]:
    """Returns every release in the shipped table."""
    rows = json.loads(_TABLE.read_text(encoding="utf-8"))["releases"]
    return tuple(
        Release(
            row["version"],
            row["tag"],
            row["commit"],
            tuple((archive["name"], archive["sha256"]) for archive in row["archives"]),
        )
        for row in rows
    )


def by_commit(commit: str | None) -> Release | None:
    """Returns the release with this commit, or None."""
    return next((release for release in releases() if release.commit == commit), None)


def by_tag(tag: str | None) -> Release | None:
    """Returns the release with this tag, for example "v2.6.0", or None."""
    return next((release for release in releases() if release.tag == tag), None)


def by_archive(sha256: str | None) -> Release | None:
    """Returns the release in an archive with this hash, or None."""
    return next((release for release in releases() if any(sha == sha256 for _, sha in release.archives)), None)
