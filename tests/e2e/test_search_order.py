"""What readers of PyTorch type: what they want is among the first three, in the terminal, on the screens, on the site.

The queries with their answers are data, written and checked by hand in the source: tests/data/search_queries.tsv, and
plain questions in tests/data/plain_questions.tsv, whose answers are among the first five.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from ptexplore.annotations.concepts import load_path
from ptexplore.errors import PtexploreError
from ptexplore.lookup.find import SORTS, hits
from ptexplore.lookup.trees import Candidate
from ptexplore.render.html.output import in_processes, open_output
from ptexplore.render.html.search_shards import Search
from ptexplore.render.html.tours import Tours
from ptexplore.render.html.traces import Traces
from ptexplore.view.notes.tour import Guide
from ptexplore.view.site.site import in_scope, source_url
from ptexplore.workspace.site_contents import plan_site, site_settings
from ptexplore.workspace.workspace import Workspace
from tests.harness import REPOSITORY, THOROUGH

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif("PTEXPLORE_TEST_PYTHON" in os.environ, reason="looks at the torch that runs the tests"),
]
DATA = REPOSITORY / "tests" / "data" / "search_queries.tsv"
QUESTIONS = REPOSITORY / "tests" / "data" / "plain_questions.tsv"
ENOUGH = 0.95
FIRST = 3
FIRST_OF_QUESTIONS = 5
# A site reads only the names that begin with a word of the query: it answered 81 of the 122 questions.
ENOUGH_ON_SITE = 0.6
# Folders whose files the site of this test has, beside those of `--scope core`: where the answers are.
_ALSO = """
c10/cuda/ torch/nn/ torch/optim/ torch/utils/data/ torch/_subclasses/ torch/autograd/ torchgen/ torch/csrc/inductor/
torch/csrc/api/include/torch/
"""
ALSO = tuple(_ALSO.split())


class Wanted(NamedTuple):
    """A query with its answers, as "kind name"."""

    sort: str
    query: str
    answers: frozenset[str]


def read() -> list[Wanted]:
    lines = [line.split("\t") for line in DATA.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [Wanted(sort, query, frozenset(answers.split(" | "))) for sort, query, answers in lines]


def questions() -> list[Wanted]:
    lines = [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return [Wanted("question", query, frozenset(answers.split(" | "))) for query, answers in lines]


def places(found: Sequence[Candidate]) -> list[set[str]]:
    """Each result as the data has it: by name, and by the files that it is in."""
    return [
        {name, *(f"in {spot.ref.path}" for spot in (hit.spot, *hit.also) if hit.kind != "operator")}
        for name, hit in zip(names(found), found, strict=True)
    ]


def missed_questions(ask: Callable[[str], list[set[str]]], asked: Sequence[Wanted]) -> list[tuple[str, list[set[str]]]]:
    firsts = [(one, ask(one.query)[:FIRST_OF_QUESTIONS]) for one in asked]
    return [(one.query, first) for one, first in firsts if not any(one.answers & answer for answer in first)]


def found_by(workspace: Workspace, query: str) -> list[set[str]]:
    try:
        return places(workspace.find(query).best)
    except PtexploreError:
        return []


@pytest.fixture(scope="module")
def workspace(sourced_cache: Path) -> Iterator[Workspace]:
    """The 2.6.0 source beside the installed torch, asked without a process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PTEXPLORE_CACHE", str(sourced_cache))
        with Workspace() as opened:
            yield opened


@pytest.fixture(scope="module")
def asked(workspace: Workspace) -> Callable[[str], list[str]]:
    """What `find` says first to a query, asked once for all tests."""

    @functools.cache
    def ask(query: str) -> list[str]:
        try:
            view = workspace.find(query)
        except PtexploreError:
            return []
        assert view.best[0] in [hit for group in view.groups for hit in group.hits]
        return names(view.best)

    return ask


def names(found: Sequence[Candidate]) -> list[str]:
    """Results as the data has them."""
    kinds = {"struct": "class", "union": "class", "note": "stop"}
    return [f"{kinds.get(hit.kind, hit.kind)} {hit.name}" for hit in found]


def missed(ask: Callable[[str], list[str]]) -> list[tuple[str, list[str]]]:
    return [(one.query, first) for one in read() if not one.answers & set(first := ask(one.query)[:FIRST])]


def test_the_data_is_true(workspace: Workspace) -> None:
    """Every answer is there: a symbol of the indexes, a file, a folder, an operator, a tour, a stop, a concept."""
    path = load_path(workspace.library)
    catalogue = workspace.catalogue
    assert catalogue is not None
    for kind, _, name in {answer.partition(" ") for one in read() for answer in one.answers}:
        if kind in ("stop", "tour", "concept"):
            known = {"stop": workspace.library.stop, "tour": workspace.library.tours.get, "concept": path.concepts.get}
            assert known[kind](name) is not None, name  # type: ignore[operator]
        elif kind == "operator":
            assert catalogue.store.operator(name) is not None, name
        else:
            stores = [indexed.store for indexed in workspace.trees]
            look = {"file": lambda store: store.file(name), "folder": lambda store: store.has_folder(name)}  # noqa: B023
            assert any(look.get(kind, lambda store: store.definitions(name))(store) for store in stores), name  # noqa: B023


def test_what_a_reader_wants_is_among_the_first_three(asked: Callable[[str], list[str]]) -> None:
    wrong = missed(asked)
    assert len(wrong) <= (1 - ENOUGH) * len(read()), wrong


def test_plain_questions_find_their_place(workspace: Workspace) -> None:
    wrong = missed_questions(lambda query: found_by(workspace, query), questions())
    assert len(wrong) <= (1 - ENOUGH) * len(questions()), wrong


def test_plain_questions_find_their_place_without_a_checkout(warm_cache: Path) -> None:
    """The atlas names what is hand-written C++; files and folders of it are no results."""
    wanted = {
        "softmax kernel cpu": "aten/src/ATen/native/cpu/SoftMaxKernel.cpp",
        "layernorm kernel for cpu": "aten/src/ATen/native/cpu/layer_norm_kernel.cpp",
        "convolution backend selection": "aten/src/ATen/native/Convolution.cpp",
        "how does no_grad work": "torch/autograd/grad_mode.py",
        "gradient clipping by norm": "torch/nn/utils/clip_grad.py",
        "cosine similarity implementation": "aten/src/ATen/native/Distance.cpp",
        "expandable segments": "c10/cuda/CUDACachingAllocator.cpp",
        "where is Tensor.__getitem__ implemented": "torch/csrc/autograd/python_variable_indexing.cpp",
        "quantized linear fbgemm": "aten/src/ATen/native/quantized/cpu/qlinear.cpp",
        "dynamic quantized linear qnnpack": "aten/src/ATen/native/quantized/cpu/qlinear_dynamic.cpp",
        "storage cuda method": "torch/storage.py",
        "optimizer step method": "torch/optim/optimizer.py",
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PTEXPLORE_CACHE", str(warm_cache))
        with Workspace() as opened:
            for query, path in wanted.items():
                first = found_by(opened, query)[:FIRST_OF_QUESTIONS]
                assert any(f"in {path}" in answer for answer in first), (query, first)


def test_the_palette_answers_alike(workspace: Workspace, asked: Callable[[str], list[str]]) -> None:
    trees, notes = workspace.trees, workspace.searched_notes(workspace.trees)

    def ask(query: str) -> list[str]:
        view = hits(trees, workspace.catalogue, notes, query, SORTS[0])
        assert view is not None
        return names(view.best)

    if THOROUGH:
        wrong = missed(ask)
        assert len(wrong) <= (1 - ENOUGH) * len(read()), wrong
    for one in read()[::8]:
        assert ask(one.query)[:FIRST] == asked(one.query)[:FIRST], one.query


class Silent:
    def step(self, *told: object) -> None:
        """Nobody waits."""


@pytest.fixture(scope="module")
def site(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The search of a site: its shards alone, over the folders in which the answers are."""
    contents = workspace.site_contents()
    plan = plan_site(contents, site_settings("core", None, None, None))
    wanted = {path for path in contents.reader.names.owner if in_scope(path, "core") or path.startswith(ALSO)}
    wanted |= {path for path in contents.reader.names.owner if path.startswith("torch/") and path.count("/") == 1}
    plan.sources = {path: source_url(path) for path in sorted(wanted | set(plan.sources))}
    plan.owner = {path: contents.reader.names.owner[path][0] for path in plan.sources}
    folder = tmp_path_factory.mktemp("search") / "site"
    with open_output(folder, [], force=False) as out:
        out.begin()
        guide = Guide(contents.library, contents.trees, None)
        tours = Tours(plan, out, guide, load_path(contents.library), contents.reader, contents.folder_pages)
        trees = [tree.store for tree in contents.trees]
        search = Search(plan, out, contents.reader.names, contents.folder_pages, lambda: trees, "")
        in_processes([search.source_work()], "", Silent(), 1)
        search.write(tours, Traces(plan, out, [], {}))
        out.finish()
    return folder


@pytest.fixture(scope="module")
def given(site: Path) -> dict[str, tuple[list[str], list[str]]]:
    """What the site's own scripts answer to every query: the names, and their addresses."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    assets = REPOSITORY / "ptexplore" / "render" / "html" / "assets"
    queries = [one.query for one in (*read(), *questions())]
    command = [node, str(REPOSITORY / "tests" / "searching.js"), str(assets), str(site)]
    done = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, check=True, timeout=120)
    rows = json.loads(done.stdout)
    return {query: (row["results"], row["at"]) for query, row in zip(queries, rows, strict=True)}


@pytest.fixture(scope="module")
def answers(given: dict[str, tuple[list[str], list[str]]]) -> dict[str, list[str]]:
    return {query: results for query, (results, _at) in given.items()}


def test_the_site_answers_alike(answers: dict[str, list[str]]) -> None:
    wrong = missed(lambda query: answers[query])
    assert len(wrong) <= (1 - ENOUGH) * len(read()), wrong


def test_the_site_answers_plain_questions(given: dict[str, tuple[list[str], list[str]]], site: Path) -> None:
    """Those whose places are on this site."""
    paths = {str(page.relative_to(site / "src")).removesuffix(".html") for page in (site / "src").rglob("*.html")}

    def ask(query: str) -> list[set[str]]:
        results, at = given[query]
        files = [address.partition("#")[0].removeprefix("src/").removesuffix(".html") for address in at]
        return [{result, f"in {file}"} for result, file in zip(results, files, strict=True)]

    there = [
        one for one in questions() if not paths or any(answer.partition(" ")[2] in paths for answer in one.answers)
    ]
    wrong = missed_questions(ask, there)
    assert len(wrong) <= (1 - ENOUGH_ON_SITE) * len(there), wrong


def test_a_dotted_name_of_python_begins_with_no_name_of_c(
    asked: Callable[[str], list[str]], answers: dict[str, list[str]]
) -> None:
    for one in read():
        if one.sort == "python":
            for first in (asked(one.query)[0], answers[one.query][0]):
                assert "::" not in first, (one.query, first)
