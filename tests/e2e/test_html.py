"""`ptexplore html`: what is written, what is kept, what is refused; on the small tree and a real torch's operators."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ptexplore.render.html.output import _Remembered
from tests.harness import REPOSITORY, Cli, InProcess, copied_site, hashes
from tests.html_outline import outline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.e2e

NOTE = """---
id: mine
title: Mine & "ours"
baseline: v2.6.0
---

What it is.

## Here & "there" {{#here}}

```anchor
path: {path}
symbol: {symbol}
see:
  - src:{path}::at::native::mix
  - src:{yaml}::blend
  - src:{yaml}::gone
```

A word in code, `<script>alert(1)</script>`, and [a link](https://example.org/?a=1&b="2").

## Hostile {{#hostile}}

```anchor
path: {path}
symbol: {symbol}
```

<script>alert(1)</script> [x](javascript:alert(1)) ![p](x.svg) <img src=x onerror=alert(1)>
"""
PATH = "aten/src/ATen/native/Mix.cpp"
YAML = "aten/src/ATen/native/native_functions.yaml"
PAGES = Path(__file__).resolve().parents[1] / "data" / "pages"


@pytest.fixture(scope="session")
def noted(mini, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("html") / "notes"
    folder.mkdir()
    path, symbol = PATH, "at::native::Mixer"
    (folder / "mine.md").write_text(NOTE.format(path=path, symbol=symbol, yaml=YAML), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def site(mini, noted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "out"
    result = mini("html", str(out), "--notes", str(noted), "--jobs", "1", "--check", "--scope", "all")
    assert result.code == 0, result
    return out


def test_a_site_has_its_pages_and_every_link_leads_somewhere(site: Path) -> None:
    assert {"index.html", "about.html", "tours/index.html", ".nojekyll", "ptexplore-site.json"} <= set(hashes(site))
    assert (site / "tours/mine/here.html").is_file()
    native = (site / "src/aten/src/ATen/native/index.html").read_text(encoding="utf-8")
    assert '<a href="native_functions.yaml.html"><code>native_functions.yaml</code></a> declares' in native
    assert not (site / ".ptexplore-aside").exists()


def test_a_notes_markup_is_text_and_nothing_runs(site: Path) -> None:
    page = (site / "tours/mine/here.html").read_text(encoding="utf-8")
    assert "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>" in page
    assert "<h1>Here &amp; &#34;there&#34;</h1>" in page
    assert "default-src 'none'" in page
    every = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.html"))
    active = r"""<script(?![^>]* src=)|javascript:|<img(?! src="[\w./-]*[.](?:svg|png)")|<[^>]* (?:on\w+|style)="""
    assert not re.search(active, every)
    assert not (site / "tours/mine/hostile.html").exists()


def test_what_to_see_is_linked_by_name_and_an_entry_of_yaml_by_its_line(site: Path) -> None:
    page = (site / "tours/mine/here.html").read_text(encoding="utf-8")
    found = re.findall(
        rf'href="../../src/(?:{PATH}|{YAML})[.]html(#?[^"]*)"',
        page.partition('class="see"')[2].partition("</section>")[0],
    )
    assert found == ["#s=at::native::mix", "#L1", ""]  # the last is no entry: to the file


def test_a_name_is_linked_where_one_definition_is_meant_and_is_a_choice_where_several_are(site: Path) -> None:
    page = (site / f"src/{PATH}.html").read_text(encoding="utf-8")
    line = next(one for one in page.split("<li") if "other::" in one and "through" in one)
    assert "other::<a href=#L33>mix</a>(a)" in line  # the one in this file that is so qualified
    turned = next(one for one in page.split("<li") if ">use<" in one)
    assert ">turn</a>" in turned
    assert "class=q" in turned  # a member: nobody knows the object's type


def test_the_same_bytes_for_any_number_of_processes(mini, noted: Path, site: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert mini("html", str(other), "--notes", str(noted), "--jobs", "3", "--scope", "all").code == 0
    assert hashes(other) == hashes(site)


def test_a_page_that_was_damaged_or_is_stale_does_not_stay(mini_here, noted: Path, site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copied_site(site, copy)
    page = next(one for one in copy.rglob("*.html") if "/src/" in one.as_posix() and one.name != "index.html")
    half = page.read_text(encoding="utf-8")[:400]  # its beginning says whose page it is
    page.write_text(half, encoding="utf-8")
    site_list = copy / "ptexplore-site.json"
    pages = json.loads(site_list.read_text(encoding="utf-8"))
    pages["pages"]["tours/gone.html"] = ["", 4, hashlib.sha256(half.encode()).hexdigest()]
    site_list.write_text(json.dumps(pages), encoding="utf-8")
    (copy / "tours/gone.html").write_text(half, encoding="utf-8")
    refused = mini_here("html", str(copy), "--notes", str(noted), "--scope", "all", "--jobs", "1")
    assert (refused.code, "not known to be yours" in refused.err) == (2, True), "the list is not as it was written"
    _Remembered.of(copy).also(hashlib.sha256(site_list.read_bytes()).hexdigest())
    result = mini_here("html", str(copy), "--notes", str(noted), "--scope", "all", "--jobs", "1")
    assert result.code == 0, result
    assert "1 files written" in result.out, "what has the bytes it had is not written"
    assert "1 removed" in result.out
    assert "x the source text" in result.out
    assert hashes(copy) == hashes(site)


def test_a_broken_link_is_found(site: Path, tmp_path: Path) -> None:
    from ptexplore.render.html.check import broken

    copy = tmp_path / "copy"
    shutil.copytree(site, copy)
    (copy / "about.html").unlink()
    count, found = broken(copy)
    assert count > 10
    assert any("about.html" in one and "this file does not exist" in one for one in found)


def test_what_is_not_ours_is_refused(mini_here, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("mine", encoding="utf-8")
    result = mini_here("html", str(out))
    assert result.code == 2
    assert "thesis.tex" in result.err
    inside = mini_here("html", str(mini_here.root / "site"))
    assert inside.code == 2
    assert "source is read from" in inside.err
    assert not (mini_here.root / "site").exists()


def test_a_lost_stop_is_shown_as_lost_and_strict_fails(mini_here, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    path = PATH
    (notes / "mine.md").write_text(NOTE.format(path=path, symbol="nobody_wrote_this", yaml=YAML), encoding="utf-8")
    out = tmp_path / "out"
    result = mini_here("html", str(out), "--notes", str(notes), "--strict", "--jobs", "1")
    assert result.code == 3
    assert "have no place in this source" in result.err
    assert "has no place in this source" in (out / "tours/mine/here.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("url", [f"src/{PATH}.html", "tours/mine/here.html"])
def test_a_page_is_what_it_was_when_somebody_last_read_it(site: Path, url: str) -> None:
    """PTEXPLORE_RENEW=1 pytest tests/e2e/test_html.py writes the pages of tests/data/pages anew: then read the diff."""
    known = PAGES / f"{Path(url).name.removesuffix('.html')}.txt"
    found = outline((site / url).read_text(encoding="utf-8"))
    if os.environ.get("PTEXPLORE_RENEW"):
        known.write_text(found, encoding="utf-8")
    assert found == known.read_text(encoding="utf-8")


@pytest.fixture
def cards(warm_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two operators' cards of the torch under test, written as a site writes them."""

    from ptexplore.render.html import lists
    from ptexplore.render.html.cards import Cards
    from ptexplore.render.html.output import Output, in_processes
    from ptexplore.render.html.pages import write_assets
    from ptexplore.source.progress import Silent
    from ptexplore.source.python_docs import doc_lines
    from ptexplore.view.site.site import Settings, Site, operator_url
    from ptexplore.workspace.workspace import Workspace

    monkeypatch.setenv("PTEXPLORE_CACHE", str(warm_cache))
    names = ("aten::add.Tensor", "aten::add.Scalar", "aten::linalg_det", "aten::_linalg_det", "aten::__and__.Tensor")
    operators = {name: operator_url(name) for name in names}
    site = Site(Settings("Cards", "core"), [], {}, {}, operators)
    out = Output(tmp_path / "site")
    out.begin()
    observed = {"aten::add.Tensor": [("a + b", "traces/sum.html", 2)]}
    docs = doc_lines(Workspace().torch.tree)
    work = Cards(site, out, lambda: Workspace().lookup, "", {}, observed, docs).work()
    assert sorted(work.tasks) == sorted(names)
    in_processes([work], "", Silent(), 1)
    lists.operators(site, out, docs, runtime=True)
    write_assets(out)
    out.finish()
    return out.root


def barriers(page: Page) -> list[str]:
    """What axe-core finds serious on a page; nothing where it is not here."""
    axe = REPOSITORY / ".venv-browser" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        return []
    page.evaluate(axe.read_text(encoding="utf-8"))
    violations = page.evaluate("axe.run({ resultTypes: ['violations'], preload: false })")["violations"]
    return [one["id"] for one in violations if one["impact"] in ("serious", "critical")]


def test_an_operators_card_is_read_in_a_browser(cards: Path, chromium: Browser) -> None:
    """A real torch's: its parts are there, it leads on to others, and nothing stands in anybody's way."""
    trouble: list[str] = []
    page = chromium.new_page()
    page.on("console", lambda message: trouble.append(message.text))
    page.on("requestfailed", lambda request: trouble.append(request.url))
    page.goto((cards / "ops/aten/add.Tensor.html").as_uri())
    assert page.inner_text("h1") == "aten::add.Tensor"
    assert page.inner_text("pre.schema").startswith("aten::add.Tensor(Tensor self, Tensor other")
    assert "structured_delegate: aten::add.out" in page.inner_text("main")
    keys = page.locator("table.card tbody tr").all_inner_texts()
    assert any(one.startswith("CPU") and "wrapper_CPU_add_Tensor" in one and "registered" in one for one in keys)
    assert "ran it 2 times" in page.inner_text("main")
    assert page.inner_text("p.lead").startswith("Adds"), "what Python's documentation says comes first"
    assert "ptexplore trace 'torch.add(a, b)'" in page.inner_text("main")
    parts = page.locator("h1, p.lead, table.card th[scope=col]:first-child, h2").all_inner_texts()
    assert parts.index("dispatch key") < parts.index("derivative") < parts.index("See it run")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert barriers(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("main a:text-is('add.Scalar')")
    page.wait_for_url("**/ops/aten/add.Scalar.html")
    page.close()
    assert trouble == []


def lists_of(folder: Path, names: Sequence[str]) -> Path:
    """The lists of a site that has these operators, without their cards."""
    from ptexplore.render.html import lists
    from ptexplore.render.html.output import Output
    from ptexplore.render.html.pages import write_assets
    from ptexplore.view.site.site import Settings, Site, operator_url

    out = Output(folder)
    out.begin()
    operators = {name: operator_url(name) for name in names}
    lists.operators(Site(Settings("Names", "core"), [], {}, {}, operators), out, {}, runtime=True)
    write_assets(out)
    out.finish()
    return folder


def test_the_list_of_operators_begins_with_aten(tmp_path: Path) -> None:
    site = lists_of(
        tmp_path / "site", ("_first::a", "_first::b", "_first::c", "aten::add.Scalar", "aten::add.Tensor", "b::c")
    )
    page = (site / "ops/index.html").read_text(encoding="utf-8")
    assert page.index("<dt>add</dt>") < page.index(">_first::</a>") < page.index(">b::</a>")
    assert "2 operators of 1 name in <code>aten::</code>. " in page
    assert "1 operator of 1 name in <code>b::</code>. " in (site / "ops/b.html").read_text(encoding="utf-8")


def test_a_count_above_a_thousand_is_written_with_a_comma(tmp_path: Path, chromium: Browser) -> None:
    site = lists_of(tmp_path / "site", [f"aten::name_{n}" for n in range(1200)] + ["b::c"])
    page = chromium.new_page()
    page.goto((site / "ops/index.html").as_uri())
    assert "1,200 operators of 1,200 names" in page.inner_text("main")
    page.fill("#filter", "name_7")
    page.wait_for_function("() => document.querySelector('#left').textContent")
    assert page.inner_text("#left") == "111 of 1,200 names"
    page.close()


def test_the_operators_of_a_namespace_are_filtered_and_what_is_internal_comes_last(
    cards: Path, chromium: Browser
) -> None:
    page = chromium.new_page()
    page.goto((cards / "ops/index.html").as_uri())
    assert barriers(page) == []
    listed = "dl.ops > div:not([hidden]) dt"
    assert page.locator(listed).all_inner_texts() == ["add", "linalg_det", "__and__", "_linalg_det"], (
        "what is internal last"
    )
    page.fill("#filter", "det")
    page.wait_for_function("() => document.querySelectorAll('dl.ops > div[hidden]').length === 2")
    assert page.inner_text("#left") == "2 of 4 names"
    page.click("button[data-group=internal]")
    assert page.locator(listed).all_inner_texts() == ["_linalg_det"]
    page.click("button[data-group=internal]")
    page.fill("#filter", "scaled by")  # no name holds it: a line of documentation does
    page.wait_for_function("() => document.querySelectorAll('dl.ops > div:not([hidden])').length === 1")
    page.close()


@pytest.mark.slow
def test_every_link_of_a_bare_installs_site_leads_somewhere_and_what_is_missing_is_told(cli: Cli) -> None:
    """With the installed torch alone: the stops about hand-written C++ have no place."""
    made = cli("html", "out", "--check")
    assert made.code == 0, made
    lost = sum(
        'class="stop lost"' in page.read_text(encoding="utf-8") for page in (cli.cwd / "out/tours").glob("*/*.html")
    )
    stops = len(list((cli.cwd / "out/tours").glob("*/*.html")))
    assert lost > 5
    assert (
        f"! {lost} of {stops} stops are about hand-written C++, which is not here: ptexplore html out --fetch"
        in made.out
    )
    home = (cli.cwd / "out/index.html").read_text(encoding="utf-8")
    assert home.count('<a id="begin"') == 1
    assert 'href="src/torch/csrc/autograd/index.html"' in home, "the map leads to folders"


def test_a_row_of_a_trace_has_one_share(command: InProcess, tmp_path: Path) -> None:
    """What the table says of a row, the tree below it says too: both are parts of all that was stepped."""
    from ptexplore.render.html.trace_steps import StepPages
    from ptexplore.render.html.traces import first_rows, tree
    from ptexplore.view.site.site import Settings, Site
    from ptexplore.view.trace.page import Options
    from ptexplore.view.trace.views import view
    from ptexplore.workspace.saved_traces import load_trace

    saved = tmp_path / "sum.trace"
    made = command("trace", "torch.add(a, b)", "--save", str(saved))
    assert made.code == 0, made
    trace, session = load_trace(str(saved))
    if session is None or not trace.captured.native:
        pytest.skip("no native pass here")
    site = Site(Settings("Traces", "core"), [], {}, {}, {})
    steps = StepPages(["steps/sum/1.html"], 1, {})
    first = first_rows(site, trace, view(trace, Options(), session), "traces/sum.html").replace("<wbr>", "")
    whole = tree(site, trace, session, view(trace, Options(view="tree"), session), "traces/sum.html", steps)
    of_table = re.search(r"<span>(\d+%)</span></span></span>(?:(?!<li).)*?aten::add\.Tensor", first, re.DOTALL)
    row = r"<span>(\d+%)</span><span>[\d,]+</span></span>(?:(?!<li).)*?aten::add\.Tensor"
    of_tree = re.search(row, whole, re.DOTALL)
    assert of_table is not None
    assert of_tree is not None
    assert of_table[1] == of_tree[1], (first, whole)
