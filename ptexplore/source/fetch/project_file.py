"""The settings that a study group shares: ptexplore.toml, or [tool.ptexplore] in pyproject.toml, here or above."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ptexplore.errors import BROKEN, USAGE, PtexploreError
from ptexplore.safe_text import clean_document
from ptexplore.writing import open_users_file

FILE = "ptexplore.toml"
_LARGEST = 64 * 1024  # bytes; such a file has a few lines
_MOST_FOLDERS = 20  # folders of notes: every command reads each of them
_DOTS = 500  # dots in a line: in a key, the parser needs time and memory in the square of their number
_KEYS = ("archive-sha256", "editor", "notes", "ref", "site")
_SITE = ("title", "url")
# The address at which each editor opens a file at a line. The project's file may come from others, and every place in
# the output becomes such a link. So only these addresses are allowed: others can clone a repository or ask a server.
_OF_VSCODE = ("vscode", "vscode-insiders", "vscodium", "cursor", "windsurf")
_OF_JETBRAINS = ("idea", "pycharm", "clion")
EDITORS = (
    *(f"{scheme}://file{{path}}:{{line}}" for scheme in _OF_VSCODE),
    *(f"{scheme}://open?file={{path}}&line={{line}}" for scheme in _OF_JETBRAINS),
    "zed://file{path}:{line}",
    "subl://open?url=file://{path}&line={line}",
    "txmt://open?url=file://{path}&line={line}",
    "mvim://open?url=file://{path}&line={line}",
    "file://{path}",
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HINT = "docs/fetch.md describes this file"


@dataclass(frozen=True, slots=True)
class Project:
    """One project file. At most one of `ref` and `archive_sha256` is set; `notes` are absolute folders."""

    file: Path
    ref: str | None = None
    archive_sha256: str | None = None
    notes: tuple[Path, ...] = ()
    site: dict[str, str] = field(default_factory=dict)
    editor: str | None = None  # the address that opens {path} at {line} in an editor, for links in a terminal

    @property
    def pin(self) -> str | None:
        """The pin in words, for messages."""
        return self.ref or (f"the archive with sha256 {self.archive_sha256}" if self.archive_sha256 else None)


def find_project(start: Path) -> Project | None:
    """Returns the nearest project file in `start` or above it, or None.

    In one folder, ptexplore.toml comes before pyproject.toml, which counts only with a [tool.ptexplore] table. Raises
    PtexploreError(USAGE) with file and key if a key is unknown or of the wrong type.
    """
    for folder in (start.absolute(), *start.absolute().parents):
        own = _load(folder / FILE)
        if own is not None:
            return _project(folder / FILE, own, "")
        shared = folder / "pyproject.toml"
        tool = (_load(shared) or {}).get("tool")
        if isinstance(tool, dict) and "ptexplore" in tool:
            return _project(shared, tool["ptexplore"], "tool.ptexplore")
    return None


def is_ref(ref: str) -> bool:
    """Whether a remote can be asked for `ref`: a tag, branch or commit, never an option, range or path trick."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}", ref) is not None and not re.search(
        r"\.\.|//|/\.|\.lock(/|$)|[./]$", ref
    )


def _load(file: Path) -> dict[str, Any] | None:
    """Returns the parsed file, or None if it does not exist. A damaged pyproject.toml is ignored: it belongs to others.

    An error of a disk is not ignored, since the file may be the one that counts.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        if not file.is_file():
            return None
        with open_users_file(file) as stream:
            raw = stream.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} bytes")
        if any(line.count(b".") > _DOTS for line in raw.split(b"\n")):
            raise ValueError(f"a line of it has more than {_DOTS} dots")
        return dict(clean_document(tomllib.loads(raw.decode("utf-8"))))
    except (OSError, ValueError, RecursionError) as error:
        if file.name != FILE and not (isinstance(error, OSError) and error.errno in BROKEN):
            return None
        why = f"{file}: {error.strerror if isinstance(error, OSError) else error}"
        raise PtexploreError(f"{file.name} cannot be read", why, _HINT, USAGE) from error


def _project(file: Path, value: object, where: str) -> Project:
    table = _table(file, where, value, _KEYS)
    ref = _optional(file, _key(where, "ref"), table.get("ref"))
    sha = _optional(file, _key(where, "archive-sha256"), table.get("archive-sha256"))
    if ref is not None and not is_ref(ref):
        raise _wrong(file, _key(where, "ref"), f"{ref!r} is not a tag, branch or commit")
    if sha is not None and not _SHA256.fullmatch(sha.lower()):
        raise _wrong(file, _key(where, "archive-sha256"), "a sha256 has 64 hexadecimal digits")
    if ref is not None and sha is not None:
        raise _wrong(file, _key(where, "ref"), "the file has archive-sha256 too, and only one pin is allowed")
    editor = _optional(file, _key(where, "editor"), table.get("editor"))
    if editor is not None and editor not in EDITORS:
        known = ", ".join(EDITORS[:1] + EDITORS[len(_OF_VSCODE) : len(_OF_VSCODE) + 1])
        raise _wrong(
            file, _key(where, "editor"), f"{editor[:80]!r} is not the address of a known editor, for example {known}"
        )
    return Project(
        file=file,
        ref=ref,
        archive_sha256=sha.lower() if sha else None,
        notes=_notes(file, _key(where, "notes"), table.get("notes", [])),
        site=_site(file, _key(where, "site"), table.get("site", {})),
        editor=editor,
    )


def _notes(file: Path, key: str, value: object) -> tuple[Path, ...]:
    folders: dict[Path, Path] = {}  # each folder once, by its real path
    entries = _checked(file, key, value, list)
    if len(entries) > _MOST_FOLDERS:
        raise _wrong(file, key, f"it names {len(entries):,} folders, but the limit is {_MOST_FOLDERS}")
    for entry in entries:
        name = _checked(file, key, entry, str)
        # The file may come from others: it must not make ptexplore read folders elsewhere.
        inside = not name.startswith(("/", "~")) and ".." not in name.split("/") and "\0" not in name
        if not name or not inside or not _is_below(file.parent / name, file.parent):
            raise _wrong(file, key, f"{name!r} is not a folder beside or below the file")
        folders.setdefault((file.parent / name).resolve(), file.parent / name)
    return tuple(folders.values())


def _is_below(path: Path, folder: Path) -> bool:
    """Whether a path is below a folder after links are followed. A circle of links is not."""
    try:
        with suppress(FileNotFoundError):
            path.stat()  # Python 3.13 resolves a circle without an error
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def _site(file: Path, key: str, value: object) -> dict[str, str]:
    table = _table(file, key, value, _SITE)
    return {name: _checked(file, f"{key}.{name}", entry, str) for name, entry in table.items()}


def _table(file: Path, where: str, value: object, known: Sequence[str]) -> dict[str, Any]:
    table: dict[str, Any] = _checked(file, where or "the file", value, dict)
    for key in table:
        if key not in known:
            raise _wrong(file, _key(where, key), f"no such key; there are {', '.join(known)}")
    return table


def _optional(file: Path, key: str, value: object) -> str | None:
    return None if value is None else str(_checked(file, key, value, str))


def _checked(file: Path, key: str, value: object, kind: type) -> Any:
    if not isinstance(value, kind):
        names: dict[type, str] = {str: "a string", list: "a list", dict: "a table"}
        raise _wrong(file, key, f"it must be {names[kind]}")
    return value


def _key(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _wrong(file: Path, key: str, why: str) -> PtexploreError:
    return PtexploreError(f"{file.name}: {key} cannot be used", f"{file}: {key}: {why}", _HINT, USAGE)
