"""Where each page of a site is: safe names made of canonical paths and operators, and the ways from one to another."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_UNSAFE = re.compile(rb"[^A-Za-z0-9._+-]|^\.|\.$")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
_LONGEST = 120  # characters of one name: with its suffixes it must fit every file system


def safe(name: str) -> str:
    """A file's name that every file system and URL takes as it is: other bytes of its UTF-8 as ~XX."""
    made = _UNSAFE.sub(lambda match: b"~%02X" % match[0][0], name.encode("utf-8", "surrogateescape")).decode("ascii")
    if made.partition(".")[0].lower() in _RESERVED:
        made = f"~{ord(made[0]):02X}{made[1:]}"
    if len(made) > _LONGEST:
        made = f"{made[: _LONGEST - 9]}~{_short(name, 8)}"
    return made


def safe_path(path: str) -> str:
    """The same for every part of a path."""
    return "/".join(map(safe, path.split("/")))


def folder_url(folder: str) -> str:
    """The page of a folder of source; of all of them for ""."""
    return f"src/{safe_path(folder)}/index.html" if folder else "src/index.html"


def _short(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def apart(names: Iterable[str]) -> dict[str, str]:
    """Each path's safe one; of those that differ in case alone all but the first get the beginning of a hash."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        made = safe_path(name)
        if made.lower() in taken:
            made = f"{made}~{_short(name, 6)}"
        taken.add(made.lower())
        found[name] = made
    return found


def up(url: str) -> str:
    """The way from a page to the site's root ("../../")."""
    return "../" * url.count("/")


def between(here: str, there: str) -> str:
    """The shortest way from the page `here` to `there`, both from the root."""
    ours, theirs = here.split("/")[:-1], there.split("/")
    same = 0
    while same < min(len(ours), len(theirs) - 1) and ours[same] == theirs[same]:
        same += 1
    return "../" * (len(ours) - same) + "/".join(theirs[same:])


def operator_names(name: str) -> tuple[str, str]:
    """An operator's namespace and the rest: "aten::add.Tensor" -> "aten", "add.Tensor"."""
    namespace, _, rest = name.partition("::")
    return (namespace, rest) if rest else ("", name)
