"""What git said when it failed, as the three-part message: what failed, why, what to type next."""

from __future__ import annotations

import re
from pathlib import Path

from ptexplore.errors import FAILED, MISSING, PtexploreError
from ptexplore.source.git import STALL, GitFailed
from ptexplore.source.remote import PYTORCH, Remote, unreachable

_NO_REF = re.compile(
    r"couldn't find remote ref|not our ref|unadvertised object|no such remote ref|not a valid ref", re.I
)
_NO_REPOSITORY = re.compile(
    r"repository .*not found|does not appear to be a git repository|not a git repository|No such file or directory|"
    r"could not read Username|Authentication failed|Permission denied \(|terminal prompts disabled|dubious ownership",
    re.I,
)
_NO_NETWORK = re.compile(
    r"could not resolve|could not connect|failed to connect|connection (refused|timed out|reset)|unreachable|"
    r"unable to access|early EOF|hung up|timed out|operation too slow|RPC failed|SSL|unexpected disconnect",
    re.I,
)
_NO_ROOM = re.compile(r"no space left|quota exceeded|file too large|write error|signal 25|file write error", re.I)


def explain(error: GitFailed, remote: Remote, ref: str, folder: Path) -> PtexploreError:
    """The error for the user. git's own words are the reason, without a password that they may hold."""
    lines = [line for line in error.lines if line and not re.match(r"(remote: )?[\w ]+:\s+\d+%", line)]
    words = "; ".join(_own(line) for line in lines if re.match(r"(fatal|error|ssh|kex\w*):", line))
    words = words or "; ".join(lines[-2:])
    if remote.secret:
        words = words.replace(remote.secret, "…")
    if error.status is None:
        return unreachable(remote, f"git heard nothing for {STALL:.0f} seconds")
    if _NO_ROOM.search(words) or error.status == -25:
        hint = "make room there, or set PTEXPLORE_CACHE to a folder that has some; what has come so far is kept"
        return PtexploreError(f"no room for the source in {folder}", words or "a file grew too large", hint, FAILED)
    if _NO_REF.search(words):
        hint = "ptexplore fetch --ref v2.6.0 (PyTorch's tags begin with a v; a commit is given with all 40 digits)"
        return PtexploreError(f"{remote.shown} has no {ref}", words, hint, MISSING)
    if _NO_REPOSITORY.search(words):
        hint = f"check the address; PyTorch's own is {PYTORCH}"
        return PtexploreError(f"{remote.shown} is no repository that can be read", words, hint, FAILED)
    if _NO_NETWORK.search(words):
        return unreachable(remote, words)
    hint = "run the same command again: what has come so far is kept; or give an archive with --from FILE"
    return PtexploreError(
        f"{ref} of {remote.shown} could not be fetched", words or f"git ended with {error.status}", hint
    )


def _own(line: str) -> str:
    return re.sub(r"^(fatal|error): ", "", line)
