"""What may be asked of a remote, and what is refused before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.source.fetch.git import GitFailed
from ptexplore.source.fetch.remotes import check_ref, explain, looks_remote, parse_remote


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c 'touch x' %S",
        "ext::sh",
        "fd::17/foo",
        "::x",
        "--upload-pack=x",
        "-oProxyCommand=x:y",
        "ftp://example.invalid/x",
        "https:///x",
        "https://-oProxyCommand=x/y",
        "ssh://-oProxyCommand=x/y",
        "file://elsewhere/x",
        "file:x://y",
        "https://example.invalid:port/x",
        "https://example.invalid/a b",
        "https://example.invalid/\x1b[31m",
        "https://[::1/x",
        "host:-x",
        "",
    ],
)
def test_remotes_that_are_refused(url: str) -> None:
    with pytest.raises(PtexploreError) as refused:
        parse_remote(url)
    assert refused.value.exit_code == USAGE


@pytest.mark.parametrize(
    ("url", "protocols"),
    [
        ("https://example.invalid/x.git", ("https",)),
        ("http://example.invalid:80/x.git", ("http", "https")),
        ("ssh://git@example.invalid:2222/x.git", ("ssh",)),
        ("git@example.invalid:x/y.git", ("ssh",)),
        ("git://example.invalid/x", ("git",)),
        ("file:///srv/x", ("file",)),
    ],
)
def test_remotes(url: str, protocols: tuple[str, ...]) -> None:
    assert looks_remote(url)
    assert parse_remote(url).protocols == protocols
    assert parse_remote(url).shown == url


def test_a_password_is_not_shown() -> None:
    remote = parse_remote("https://me:s3cret@example.invalid/x.git")
    assert "s3cret" in remote.url
    assert remote.shown == "https://example.invalid/x.git"


@pytest.mark.parametrize("source", ["/abs/folder", "folder", "./x.tar.gz", "x.zip"])
def test_files_and_folders_are_no_remotes(source: str) -> None:
    assert not looks_remote(source)


@pytest.mark.parametrize(
    "ref",
    ["-x", "--upload-pack=x", "a..b", "a b", "", "x^{commit}", "x~1", "a:b", "/x", "x/", "x.lock", "@{1}", "\x1b[31m",
     "abcdef1", "a//b", ".x", "x/.y", "*", "x" * 300],
)  # fmt: skip
def test_refs_that_are_refused(ref: str) -> None:
    with pytest.raises(PtexploreError) as refused:
        check_ref(ref)
    assert refused.value.exit_code == USAGE


def test_refs() -> None:
    for ref in ("v2.6.0", "main", "release/2.6", "HEAD", "0123456789" * 4, "viable/strict", "v2.13.0-rc1"):
        assert check_ref(ref) == ref
    commit = "2236df1770800ffea5697b11b0bb0d910b2e59e1"
    assert check_ref(commit[:10]) == commit, "the beginning of a release's commit is known"


def test_of_many_reasons_the_first_and_the_last_are_told() -> None:
    """A full disk gives one for each file; which of them says that it is full does not matter."""
    files = [f"error: unable to write file c10/{number}.h" for number in range(200)]
    for said in ([*files, "fatal: write error. Out of diskspace"], ["error: write error", *files]):
        told = explain(GitFailed(said, 128), parse_remote("file:///srv/x"), "v2.6.0", Path("/cache"))
        assert told.message == "no space for the source in /cache"
        first, second, more, last = told.why.split("; ")
        assert [f"error: {first}", f"error: {second}"] == said[:2]
        assert (more, last) == ("and 198 more", said[-1].partition(": ")[2])
