"""The rows of a site's search in shards: what is typed leads to every one of them, however many bear its name."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ptexplore.view.site.shards import SearchRow, Shards, best_first, docs_file, table
from tests.harness import REPOSITORY


def test_of_a_name_that_thousands_bear_its_class_leads_to_one(tmp_path: Path) -> None:
    """The site's own script is asked: at::_ops has thousands of `call`, and c10::Dispatcher has one."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    rows = [SearchRow("call", "f", "src/a.h.html", str(n), f"at::_ops::operator_{n}", "00m") for n in range(6000)]
    rows.append(SearchRow("call", "f", "src/b.h.html", "666", "c10::Dispatcher", "00m", place=(1,)))
    rows.append(SearchRow("b.h", "p", "src/b.h.html"))
    shards = Shards(best_first(rows), 0)
    (tmp_path / "search").mkdir()
    texts = {"table": table([shards.table], 1), "docs": docs_file({}), "topics-0": "ptx.topics([])\n"}
    for name, text in (texts | {str(n): text for n, text in shards.files.items()}).items():
        (tmp_path / "search" / f"{name}.js").write_text(text)
    assert any("c10::Dispatcher" not in text and '"more"' in text for text in shards.files.values()), "it is beyond"
    assets = REPOSITORY / "ptexplore/render/html/assets"
    queries = ["c10::Dispatcher::call", "Dispatcher::call", "operator_5999::call", "b.h:7"]
    done = subprocess.run(
        [node, str(REPOSITORY / "tests/searching.js"), str(assets), str(tmp_path)],
        input=json.dumps(queries), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    answers = json.loads(done.stdout)
    assert [answer["at"][0] for answer in answers[::3]] == ["src/b.h.html#L666", "src/b.h.html#L7"]
    first = [answer["results"][0] for answer in answers]
    assert first[:2] == ["function c10::Dispatcher::call"] * 2
    assert first[2:] == ["function at::_ops::operator_5999::call", "file b.h"]
