"""Where caches, databases and sessions live on this user's machine; nothing is created here."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import platformdirs


def cache_root() -> Path:
    """The cache folder: PTEXPLORE_CACHE where set, else the platform's own."""
    override = os.environ.get("PTEXPLORE_CACHE")
    return _absolute(override) if override else Path(platformdirs.user_cache_dir("ptexplore"))


def data_root() -> Path:
    """The folder of what cannot be made again: PTEXPLORE_DATA where set, else the platform's own."""
    override = os.environ.get("PTEXPLORE_DATA")
    return _absolute(override) if override else Path(platformdirs.user_data_dir("ptexplore"))


def config_root() -> Path:
    """The folder of what you decided: PTEXPLORE_CONFIG where set, else the platform's own.

    It is not in the cache, which may be shared, or unpacked from somebody else's archive.
    """
    override = os.environ.get("PTEXPLORE_CONFIG")
    return _absolute(override) if override else Path(platformdirs.user_config_dir("ptexplore"))


@cache
def _absolute(folder: str) -> Path:
    """The folder, from where this process stood when it first read the name.

    A process that starts another one in a folder of its own would name another place otherwise: generated C++ once
    went into the package like that. Where the current folder is gone, the name leads nowhere, as it did.
    """
    try:
        return Path(os.path.abspath(folder))
    except OSError:
        return Path(folder)


def progress_file() -> Path:
    """Which stops of which tours this reader has read."""
    return data_root() / "progress.json"


def recent_file() -> Path:
    """Where this reader was last, in `browse`."""
    return data_root() / "recent.json"


def marks_file(key: str) -> Path:
    """Where the stops of a set of notes are on one tree, so that no search has to place them again."""
    return cache_root() / "notes" / f"{key}.json"


def generated_dir(inputs_key: str) -> Path:
    """The generated C++ of one set of packaged inputs (`Runtime.inputs_key`)."""
    return cache_root() / "generated" / inputs_key


def catalogue_file(runtime_key: str) -> Path:
    """The SQLite catalogue of one runtime (`Runtime.key`)."""
    return cache_root() / "catalogue" / f"{runtime_key}.sqlite"


def checkouts_dir() -> Path:
    """The folder of everything `fetch` brought: one folder a name."""
    return cache_root() / "checkouts"


def index_file(tree: str) -> Path:
    """The SQLite index of one tree: "checkout-NAME", or "runtime-KEY" for an installed torch."""
    return cache_root() / "index" / f"{tree}.sqlite"


def read_ahead_file(tree: str) -> Path:
    """The rows of a tree's generated files that were read before its index is built; named as the index is."""
    return cache_root() / "index" / f"{tree}.read-ahead"


def symbols_dir() -> Path:
    """The function tables of the libraries that were stepped through, a file a build id."""
    return cache_root() / "symbols"


def kept_traces_dir() -> Path:
    """The newest traces, for `ptexplore trace --last`."""
    return cache_root() / "traces"


def site_file(root: str) -> Path:
    """What is remembered of the site that was written into the folder of this real path.

    It decides which files there may be deleted, so it is in no cache, which somebody may have given you.
    """
    return data_root() / "sites" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def lock_file(target: Path) -> Path:
    """The lock that keeps two builders of `target` apart."""
    return target.with_name(target.name + ".lock")


def trust_file() -> Path:
    """The hashes of what others wrote that the user allowed to run."""
    return config_root() / "trusted.json"


def survey_dir(runtime_key: str, phase: str) -> Path:
    """The saved survey of one runtime (`Runtime.key`), "forward" or "forward and backward"."""
    return cache_root() / "survey" / f"{runtime_key}-{phase.replace(' ', '-')}"
