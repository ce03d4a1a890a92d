"""The constant texts of an installed torch: from its files and libraries, and again from the cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ptexplore.locations import constants_file
from ptexplore.model.places import Runtime
from ptexplore.source.constant_text import constant_texts

MODULE = '''\
"""A docstring of the module."""

def check(x):
    """A docstring
    of several lines."""
    # a "comment"
    if x:
        raise ValueError("the first message")
    raise RuntimeError(
        """
        a message
        of several lines"""
    )
'''


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    monkeypatch.setenv("PTEXPLORE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "site-packages" / "torch"
    (folder / "nn").mkdir(parents=True)
    (folder / "nn" / "check.py").write_text(MODULE, encoding="utf-8")
    return Runtime("python", "3.12.0", str(folder), "2.13.0", "0" * 40, "wheel", None, None, (), "key", "inputs")


def test_lines_with_texts_are_kept_without_docstrings(runtime: Runtime) -> None:
    texts = constant_texts(runtime)
    assert texts.paths_with(b"the first message") == ["torch/nn/check.py"]
    assert texts.paths_with(b"of several lines") == ["torch/nn/check.py"]
    for left_out in (b"A docstring", b"comment"):
        assert texts.paths_with(left_out) == []


def test_they_are_read_once(runtime: Runtime) -> None:
    first = constant_texts(runtime)
    file = Path(runtime.torch_dir, "nn", "check.py")
    file.unlink()
    assert constant_texts(runtime) == first
    assert constant_texts(replace(runtime, build="source")).paths == [], "a build may have changed"
    constants_file(runtime.key).write_bytes(b"\x00 damaged")
    assert constant_texts(runtime).paths == []
