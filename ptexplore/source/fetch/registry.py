"""What lies in the folder of checkouts: one folder a checkout, visible only when whole; records, and the lock.

checkouts/NAME/checkout.json   the record; its being there is what makes the checkout be there
checkouts/NAME/tree/           the source, for git and archives; a folder used in place stays where it is
checkouts/.use                 the name that `fetch --use` chose
checkouts/.fetching-*          half-made ones, which nothing here ever reads
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ptexplore import locations
from ptexplore.errors import PtexploreError
from ptexplore.model.places import Checkout
from ptexplore.writing import write_whole

FORMAT = 1
RECORD = "checkout.json"
TREE = "tree"
ASIDE = ".fetching-"
_LOCK = ".lock"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_WAIT = 3600.0  # seconds; fetching over a slow line takes long, and the waiting can be interrupted


def names() -> list[str]:
    """The names of everything that could be a checkout; the half-made are not among them."""
    try:
        return sorted(entry.name for entry in os.scandir(locations.checkouts_dir()) if is_name(entry.name))
    except OSError:
        return []


def is_name(name: str) -> bool:
    """Whether `name` can name a checkout: letters, digits and `._+-`, no leading dot or dash."""
    return _NAME.fullmatch(name) is not None


def is_in_place(checkout: Checkout) -> bool:
    """Whether its source is a folder of the user's own, which is never written to."""
    return checkout.root != str(locations.checkouts_dir() / checkout.name / TREE)


def register(folder: Path, checkout: Checkout, details: dict[str, Any]) -> Checkout:
    """Make `folder` (an aside one that holds TREE, or nothing) the checkout, by rename; an older one gives way.

    Call it inside `locked`. The record is in the folder before it gets its name, so that what is visible is whole.
    """
    target = locations.checkouts_dir() / checkout.name
    write_record(folder, checkout, details)
    folder.chmod(0o755)
    if target.exists():
        old = target.with_name(f"{ASIDE}old-{checkout.name}")
        shutil.rmtree(old, ignore_errors=True)
        forget_index(checkout.name)
        target.rename(old)
        folder.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        folder.rename(target)
    return read(checkout.name) or checkout


def write_record(folder: Path, checkout: Checkout, details: dict[str, Any]) -> None:
    """Write the record of `checkout` into `folder`; `details` are the fetch's own, not part of the model."""
    record = {"format": FORMAT, "checkout": dataclasses.asdict(checkout), "details": details}
    write_whole(folder / RECORD, json.dumps(record, indent=1) + "\n")


def details(name: str) -> dict[str, Any]:
    """What `register` was given beside the checkout; empty where unknown."""
    found = (_raw(name) or {}).get("details")
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def locked(waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Keep two writers of the registry apart; `waiting()` is called once where another is at work."""
    import filelock

    folder = locations.checkouts_dir()
    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        if waiting is not None:
            waiting()
        try:
            lock.acquire(timeout=_WAIT)
        except filelock.Timeout as error:
            why = f"another process has held {folder / _LOCK} for an hour"
            raise PtexploreError("the checkouts are being changed", why, "end that process, then try again") from error
    try:
        yield
    finally:
        lock.release()


def _raw(name: str) -> dict[str, Any] | None:
    try:
        data = json.loads((locations.checkouts_dir() / name / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and data.get("format") == FORMAT else None


def read(name: str) -> Checkout | None:
    """The checkout of that name; None where there is none or its record is damaged."""
    data = (_raw(name) or {}).get("checkout")
    try:
        found = Checkout(**data) if isinstance(data, dict) else None
    except TypeError:
        return None
    if found is None or not all(isinstance(value, (str, bool, type(None))) for value in dataclasses.astuple(found)):
        return None
    # The record's own words for these would be wrong in a cache that was moved or copied.
    tree = locations.checkouts_dir() / name / TREE
    return dataclasses.replace(found, name=name, root=str(tree) if tree.is_dir() else found.root)


def when(checkout: Checkout) -> float:
    """When it was fetched, in seconds since the epoch; 0 where unknown."""
    found = details(checkout.name).get("fetched")
    return float(found) if isinstance(found, (int, float)) else 0.0


def forget_index(name: str) -> None:
    """Delete the index of the checkout `name`, which was made from text that is no longer there."""
    file = locations.index_file(f"checkout-{name}")
    for left in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm", "-journal"))):
        left.unlink(missing_ok=True)
