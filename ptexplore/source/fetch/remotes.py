"""What may be asked of whom: remotes by scheme, refs, and whether a host answers at all."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.source.fetch.project_file import is_ref
from ptexplore.source.fetch.releases import releases

PYTORCH = "https://github.com/pytorch/pytorch.git"
_PORTS = {"https": 443, "http": 80, "git": 9418}
_PROTOCOLS = {"https": ("https",), "http": ("http", "https"), "git": ("git",), "ssh": ("ssh",), "file": ("file",)}
_SCP = re.compile(r"(?:[A-Za-z0-9_][\w.+-]*@)?[A-Za-z0-9_][\w.-]*:(?!:)(?!//)[^-].*")
_CONNECT = 10.0  # seconds
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote repository: its URL, the transports git may use for it, and what is shown and recorded of it."""

    url: str
    protocols: tuple[str, ...]
    shown: str  # the URL without a password
    secret: str = ""


def looks_remote(source: str) -> bool:
    """Whether `source` is written as a remote, not as a file or folder of this machine."""
    return "://" in source or "::" in source or (_SCP.fullmatch(source) is not None and not os.path.exists(source))


def parse_remote(url: str) -> Remote:
    """Check a remote's URL. Raises PtexploreError(USAGE) for options, external transports and odd characters."""
    if url.startswith("-"):
        raise _refused(url, "it begins with a dash, as an option does")
    if re.search(r"[\x00-\x20\x7f]", url):
        raise _refused(url, "it holds a space or a control character")
    if re.match(r"[A-Za-z0-9+.-]*::", url):
        scheme = url.partition("::")[0]
        raise _refused(url, f"{scheme}:: is an external transport, which runs a program of the URL's choice")
    if "://" not in url:
        if _SCP.fullmatch(url) is None:
            raise _refused(url, "it is no URL, and no file or folder here either")
        return Remote(url, _PROTOCOLS["ssh"], url)
    try:
        parts = urlsplit(url)
        host, password = parts.hostname or "", parts.password or ""
        _ = parts.port
    except ValueError as error:
        raise _refused(url, str(error)) from error
    if parts.scheme not in _PROTOCOLS:
        raise _refused(url, f"{parts.scheme} is none of {', '.join(_PROTOCOLS)}")
    if (parts.scheme != "file" and not host) or host.startswith("-") or parts.netloc.startswith("-"):
        raise _refused(url, "it names no host" if not host else "its host begins with a dash, as an option does")
    if parts.scheme == "file" and (host or not parts.path.startswith("/")):
        raise _refused(url, "a file:// URL is file:///absolute/path")
    shown = urlunsplit(parts._replace(netloc=parts.netloc.rsplit("@", 1)[-1])) if password else url
    return Remote(url, _PROTOCOLS[parts.scheme], shown, password)


def check_ref(ref: str) -> str:
    """`ref` as a remote may be asked for it; the beginning of a known release's commit is completed.

    Raises PtexploreError(USAGE).
    """
    known = next((release.commit for release in releases() if len(ref) >= 7 and release.commit.startswith(ref)), None)
    if known is not None:
        return known
    if ref.startswith("-"):
        why = "it begins with a dash, as an option does"
    elif re.fullmatch(r"[0-9a-f]{7,39}", ref):
        why = "a commit cannot be asked for by the beginning of its id"
    elif not is_ref(ref):
        why = "no tag, branch or commit can be called that"
    else:
        return ref
    hint = "ptexplore fetch --ref v2.6.0, or the whole commit id of 40 digits"
    raise PtexploreError(f"cannot fetch the ref {ref!r}", why, hint, USAGE)


def check_reachable(remote: Remote) -> None:
    """Raise PtexploreError(FAILED) soon where the host does not answer; git alone would try for minutes.

    Not asked where a proxy stands between, nor of ssh, whose configuration may say where a host really is.
    """
    parts = urlsplit(remote.url) if "://" in remote.url else None
    if parts is None or parts.scheme not in _PORTS or parts.hostname is None or _proxied(parts.scheme):
        return
    try:
        socket.create_connection((parts.hostname, parts.port or _PORTS[parts.scheme]), _CONNECT).close()
    except OSError as error:
        why = f"{parts.hostname} does not answer: {error.strerror or str(error) or 'nothing came'}"
        raise unreachable(remote, why) from error


def unreachable(remote: Remote, why: str) -> PtexploreError:
    """The error for a remote that cannot be reached."""
    hint = (
        "connect to the network and run this again (what has come is kept), or give the source itself: "
        "ptexplore fetch --from FOLDER, --from ARCHIVE.tar.gz or --from URL of a mirror"
    )
    return PtexploreError(f"{remote.shown} cannot be reached", why, hint, FAILED)


def _proxied(scheme: str) -> bool:
    names = (f"{scheme}_proxy", "all_proxy")
    return any(os.environ.get(name) or os.environ.get(name.upper()) for name in names)


def _refused(url: str, why: str) -> PtexploreError:
    return PtexploreError(f"{url!r} is no remote to fetch from", why, f"ptexplore fetch --from {PYTORCH}", USAGE)
