"""Reading a site in a real browser, from its folder and over http: search, definitions, tours, traces, links."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tests.browser.conftest import PHONE, Reader, bare

MIX = "src/aten/src/ATen/native/Mix.cpp.html"
ENTRY = "tours/blending/entry.html"
MADE = "src/torch/csrc/made.cpp.html"
BIG = "src/torch/csrc/thousands.cpp.html"


def test_search_and_open_a_result(reader: Reader) -> None:
    page = reader.open("index.html")
    assert any("Mixer" in one for one in reader.search("mi"))
    page.keyboard.type("xer")
    reader.until("() => document.querySelector('#q').dataset.answered === 'mixer'")
    names = page.locator("#found b").all_inner_texts()
    assert names[0] == "Mixer"
    assert names.index("Mixer") < names.index("FastMixer"), "what begins so comes before what holds it"
    assert page.get_attribute("#q", "aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#q", "aria-activedescendant") == "found-0"
    assert page.get_attribute("#found-0", "aria-selected") == "true"
    page.keyboard.press("Enter")
    page.wait_for_url("**/Mix.cpp.html#*")
    reader.until("() => document.querySelector('.on')")
    assert reader.marked() == ["struct Mixer {"]


def test_search_finds_parts_files_and_stops(file_reader: Reader) -> None:
    page = file_reader.open("index.html")
    assert any("BlendIterator" in one for one in file_reader.search("iterat"))
    page.fill("#q", "")
    assert any("Mix.cpp" in one for one in file_reader.search("mix.c"))
    page.fill("#q", "")
    every = file_reader.search("blend")
    page.click("#results button:has-text('files')")
    file_reader.until("(n) => document.querySelectorAll('#found li').length < n", len(every))
    assert set(page.locator("#found .kind").all_inner_texts()) == {"file"}
    assert "found" in page.inner_text("#results [role=status]") or "first" in page.inner_text("#results [role=status]")
    page.keyboard.press("Escape")
    assert not page.is_visible("#results")
    page.fill("#q", "")
    assert file_reader.search("zzzz") == []
    assert page.inner_text("#results [role=status]") == "nothing found"


def test_a_question_leads_to_what_people_wrote(file_reader: Reader) -> None:
    page = file_reader.open("index.html")
    first = file_reader.search("how are the things blended")[0]
    assert first.startswith("tour")
    assert "How things are blended" in first
    assert "left out in notes: how, are, the" in page.inner_text("#results [role=status]")
    page.fill("#q", "")
    assert file_reader.search("native/cpu")[0].startswith("folder")


def test_what_is_written_in_python_finds_what_it_calls(file_reader: Reader) -> None:
    page = file_reader.open("index.html")
    for text in ("torch.mix", "x.mix(", "F.mix"):
        page.fill("#q", "")
        assert file_reader.search(text)[0].split()[1] == "mix"
    page.fill("#q", "")
    assert "BlendIterator" in file_reader.search("blend iterator")[0]
    page.fill("#q", "")
    assert any(one.startswith("heading") and "A heading below" in one for one in file_reader.search("heading"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tours/blending/entry.html#part-a-heading-below")


def test_follow_a_definition(reader: Reader) -> None:
    page = reader.open(MIX)
    link = page.locator("#code a[href='#L21']").first
    link.hover()
    page.wait_for_selector("#card:not([hidden])")
    assert "Mixer" in page.inner_text("#card")
    page.keyboard.press("Escape")
    assert not page.is_visible("#card")
    link.click()
    reader.until("() => document.querySelector('.on')")
    assert reader.marked() == ["struct Mixer {"]


def test_what_nobody_uses_is_said_to_be_unused(reader: Reader) -> None:
    page = reader.open(MIX)
    asked = page.locator("#code a[href^='#u']").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    told = set()
    for number, line in enumerate(asked):
        page.evaluate("(to) => { location.hash = to; }", line)
        reader.until(f"() => location.hash === '{line}' && document.querySelector('#uses .told')")
        told.add(page.inner_text("#uses .told"))
        if number > 40:
            break
    assert "no use of this name is indexed" in told
    assert not reader.trouble


def test_a_definitions_own_name_leads_to_its_uses(reader: Reader, built: Path) -> None:
    page = reader.open(MIX)
    page.locator("#code li").nth(22).locator("a", has_text="turn").first.click()
    page.wait_for_selector("#uses details li")
    assert reader.at == f"{MIX}#u23"
    told = page.inner_text("#uses")
    assert page.inner_text("#uses h2") == "Uses of at::native::Mixer::turn"
    # in the words of `ptexplore refs`, the same number, and of the same lines
    said = bare(built)("refs", "at::native::Mixer::turn", "--tree", "mini", "--limit", "0", "--full").out
    assert next(line for line in said.splitlines() if line.startswith("uses are found by name")) in " ".join(
        told.split()
    )
    assert next(line for line in said.splitlines() if line.startswith("used on ")) in told
    listed = page.locator("#uses li a").evaluate_all(
        "all => all.map((a) => a.getAttribute('href').replace(/^(?:[.][.][/])*src[/]|[.]html/g, ''))"
    )
    uses = "\n\n".join(part for part in said.split("\n\n") if not part.startswith("overrides"))  # those are no uses
    assert uses != said
    lines = {f"{path}:{line}" for path, line in re.findall(r"^ +(\S+):(\d+)  name-matched", uses, re.MULTILINE)}
    assert ("mean something else" in said) is ("mean something else" in told)
    assert {one.replace("#L", ":") for one in listed} == lines
    page.keyboard.press("Escape")
    assert not page.is_visible("#uses")
    assert reader.at == f"{MIX}#L23"
    # the list stays while its links are followed, and goes with the place where it was asked for
    page.locator("#code li").nth(22).locator("a", has_text="turn").first.click()
    page.wait_for_selector("#uses details li")
    page.locator("#uses li a[href*='Mix.cpp.html#L']").first.click()
    reader.until("() => location.hash.startsWith('#L')")
    assert page.is_visible("#uses")
    for _back in range(2):
        page.go_back()
    reader.until("() => location.hash === '#L23' && document.querySelector('#uses').hidden")


def test_calls_are_drawn_classes_and_overrides_listed(file_reader: Reader) -> None:
    page = file_reader.open(f"{MIX}#u34")
    page.wait_for_selector("#uses .tabs")
    page.click("#uses button:text-is('Calls')")
    page.wait_for_selector("#uses svg")
    assert "other::through" in page.locator("#uses svg").text_content()
    assert page.locator("#uses svg a[href*='Mix.cpp.html#L33']").count() == 1
    page.click("#uses summary:has-text('as text')")
    assert "other::mix" in page.inner_text("#uses details")
    assert "and others: " in page.inner_text("#uses details"), "hundreds of functions call it"
    assert "more functions call it than are drawn" in page.inner_text("#uses figcaption")
    file_reader.open(f"{MIX}#u33")
    page.click("#uses button:has-text('with the name mix')")
    assert page.inner_text("#uses h2") == "Lines with the name mix", "these are not all uses of other::mix"
    assert "may mean other::mix" in page.inner_text("#uses .told")
    page.click("#uses button:text-is('only uses of other::mix')")
    assert page.inner_text("#uses h2") == "Uses of other::mix"
    file_reader.open(f"{MIX}#u21")
    page.wait_for_selector("#uses button:text-is('Classes')")
    page.click("#uses button:text-is('Classes')")
    page.wait_for_selector("#uses h3")
    assert "at::native::FastMixer" in page.inner_text("#uses")
    file_reader.open(f"{MIX}#u23")
    page.wait_for_selector("#uses button:text-is('Overrides')")
    page.click("#uses button:text-is('Overrides')")
    page.click("#uses a:has-text('FastMixer::turn')")
    page.wait_for_url(f"**/{MIX}#L28")


NAMED_IN_SIGHT = """() => {
  const line = +document.querySelector("#inside a")?.getAttribute("href").slice(2);
  const bar = document.querySelector(".crumb").getBoundingClientRect().bottom;
  const top = line && document.querySelectorAll("#code li")[line - 1].getBoundingClientRect().top;
  return top >= bar - 10 && top < innerHeight / 2;
}"""


def test_where_one_is_stands_above_and_beside_the_source(file_reader: Reader) -> None:
    page = file_reader.open(BIG)
    file_reader.until("() => document.querySelectorAll('.outline li').length > 100")
    tops = page.evaluate("[...document.querySelectorAll('#code ol.c')].map((list) => list.getBoundingClientRect().top)")
    assert len(tops) == 20
    lists = {round(after - before, 1) for before, after in pairwise(tops)}
    assert lists == {page.evaluate("100 * document.querySelector('#code li').getBoundingClientRect().height")}, (
        "what is not laid out is as high as what is: notes stand beside their lines"
    )
    page.evaluate("scrollTo(0, 9000)")
    for _line in range(5):  # where a function only ends at the top, the next one is named
        page.evaluate("scrollBy(0, 20)")
        page.wait_for_timeout(200)
        file_reader.until(NAMED_IN_SIGHT)
    assert re.search(r"part_\d+", page.inner_text("#inside"))
    assert page.locator(".crumb").bounding_box()["y"] < 60
    assert "thousands.cpp" in page.inner_text(".crumb")
    assert page.locator(".outline [aria-current]").inner_text() in page.inner_text("#inside")


def test_an_outline_has_names_with_the_scope_that_tells_them_apart_and_a_phone_opens_it_from_the_menu(
    make_reader: Callable[..., Reader],
) -> None:
    reader = make_reader(**PHONE)
    page = reader.open(MIX)
    reader.until("() => document.querySelectorAll('.outline ol li').length > 5")
    assert not page.is_visible(".outline")
    page.tap("#menu")
    page.tap("text=Outline of this file")
    shown = [one.strip() for one in page.locator(".outline ol li").all_inner_texts()]
    assert shown[:4] == ["native::mix", "native::mix", "choose", "choose"], "parameters are in the titles"
    titles = page.locator(".outline ol a").evaluate_all("all => all.slice(0, 2).map((one) => one.title)")
    assert [title.partition("(")[2] for title in titles] == ["T a, T b)", "int a)"]
    assert {"Mixer", "turn", "use", "other::mix", "through"} <= set(shown)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert not page.is_visible("body > header nav")
    page.tap(".outline li:has-text('through') a")
    assert reader.at == f"{MIX}#L34"
    assert not page.is_visible(".outline")
    page.tap("#menu")
    page.tap("text=Outline of this file")
    page.keyboard.press("Escape")
    assert not page.is_visible(".outline")
    page.set_viewport_size({"width": 1400, "height": 900})
    assert page.is_visible(".outline")
    assert not page.is_visible(".outline .shut")


NAME_AT = r"""([line, name]) => {
  const li = document.querySelectorAll('#code li')[line - 1];
  li.scrollIntoView({ block: "center" });
  const walker = document.createTreeWalker(li, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const at = text.data.search(new RegExp(`\\b${name}\\b`));
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + name.length);
    const box = range.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  }
}"""


def test_a_click_on_a_name_that_is_no_link_tells_what_is_called_so(file_reader: Reader) -> None:
    page = file_reader.open(MIX)
    page.wait_for_function("document.querySelectorAll('.outline ol li').length")

    def click(line: int, name: str) -> None:
        page.mouse.click(*page.evaluate(NAME_AT, [line, name]))

    click(30, "Mixer")  # a parameter's type
    page.wait_for_selector("#card:not([hidden])")
    shown = page.inner_text("#card")
    assert "matched only by name" in shown
    assert "at::native::Mixer" in shown
    page.keyboard.press("Enter")
    file_reader.until("() => location.hash === '#L21'")
    page.evaluate("document.querySelectorAll('#code li')[27].textContent = '  Mixer held;'")
    page.evaluate("document.querySelectorAll('#code li')[28].textContent = '  held.spin();'")
    click(29, "spin")
    page.wait_for_selector("#card:has-text('held seems to be declared on line 28')")
    page.keyboard.press("Escape")
    click(29, "held")
    page.wait_for_selector("#card a:has-text('line 28')")
    page.keyboard.press("Escape")
    click(9, "return")
    page.wait_for_timeout(400)
    assert page.is_hidden("#card"), "a word of the language"
    click(12, "a")
    page.wait_for_selector("#card:has-text('nothing in this file is known as a')")
    page.click("#card button")
    assert page.input_value("#q") == "a"
    page.keyboard.press("Escape")
    page.mouse.dblclick(*page.evaluate(NAME_AT, [30, "Mixer"]))
    page.wait_for_timeout(400)
    assert page.is_hidden("#card"), "two clicks select a word"
    assert page.evaluate("getSelection().toString()").strip() == "Mixer"


def test_a_name_of_several_things_is_a_choice(file_reader: Reader) -> None:
    page = file_reader.open("src/torch/csrc/thousands.cpp.html")
    page.locator("#code a.q", has_text="mix").first.click()
    page.wait_for_selector("#card:not([hidden])")
    assert file_reader.at.endswith("thousands.cpp.html"), "nothing is chosen for the reader"
    assert page.locator("#card a").count() > 1
    assert page.evaluate("document.activeElement.closest('#card') !== null")
    page.keyboard.press("Enter")
    page.wait_for_url("**/Mix.cpp.html#L*")


def test_lines_ranges_and_symbols_have_links(reader: Reader) -> None:
    page = reader.open(MIX)
    lines = page.locator("#code ol.c > li")
    for number, shift in ((5, False), (8, True)):
        box = lines.nth(number - 1).bounding_box()
        assert box is not None
        if shift:
            page.keyboard.down("Shift")
        page.mouse.click(box["x"] - 12, box["y"] + box["height"] / 2)
        page.keyboard.up("Shift")
        reader.until("() => document.querySelector('.on')")
    reader.until("() => location.hash === '#L5-L8'")
    reader.until("() => document.querySelectorAll('.on').length === 4")
    reader.open(f"{MIX}#s=at::native::Mixer::turn")
    page.reload()
    reader.until("() => document.querySelector('.on')")
    assert "virtual int turn" in reader.marked()[0]
    # the symbol is in another file now: links by symbol outlive that
    reader.open(f"{MIX}#s=at::native::BlendIterator")
    page.wait_for_url("**/Blend.h.html#L*")


def test_a_packed_page_is_read_as_any_other(file_reader: Reader, site: Path) -> None:
    text = (site / MADE).read_text(encoding="utf-8")
    assert "made_3" not in text
    assert "<noscript>" in text
    page = file_reader.open(f"{MADE}#L1511-L1512")
    file_reader.until("() => document.querySelectorAll('.on').length === 2")
    assert file_reader.marked()[0] == "int made_377(int a) {"
    assert page.evaluate("scrollY") > 1000
    page.locator(".on a:not([href^='#u'])", has_text="made_0").hover()
    page.wait_for_selector("#card:not([hidden])")
    assert "made_0" in page.inner_text("#card")
    assert page.locator("ol.d li").count() > 0
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    file_reader.until("() => document.querySelector('.on').textContent.includes('made_378(')")
    file_reader.open(f"{MADE}#s=made_7")
    page.reload()
    file_reader.until("() => document.querySelector('.on')?.textContent.includes('made_7(')")
    file_reader.open("index.html")
    assert "made_499" in file_reader.search("made_499")[0]
    page.keyboard.press("Enter")
    page.wait_for_url("**/made.cpp.html#L*")
    file_reader.until("() => document.querySelector('.on')?.textContent.includes('made_499(')")
    assert page.evaluate("[window.__ran ?? 0, document.querySelectorAll('#code img, #code script').length]") == [0, 0]


# Which line is the first one in the middle of the screen that calls mix().
IN_SIGHT = """() => {
  const links = [...document.querySelectorAll("#code a")].filter((a) => a.textContent === "mix");
  const li = links.find((a) => a.getBoundingClientRect().top > 300).closest("li");
  return [...document.querySelectorAll("#code li")].indexOf(li);
}"""


def test_the_page_stays_where_it_is_while_you_search_and_is_there_again_after_a_link(file_reader: Reader) -> None:
    page = file_reader.open(f"{BIG}#L1001")
    file_reader.until("() => document.querySelector('.on') && scrollY > 1000")
    start = page.evaluate("scrollY")
    page.mouse.wheel(0, 437)
    file_reader.until("(y) => Math.abs(scrollY - y) < 1", start + 437)
    before = page.evaluate("scrollY")
    file_reader.search("mix")
    assert page.evaluate("scrollY") == before, "each letter brings its field into sight, which is in sight"
    page.keyboard.press("Escape")
    line = page.evaluate(IN_SIGHT)
    top = "(n) => document.querySelectorAll('#code li')[n]?.getBoundingClientRect().top"
    at = page.evaluate(top, line)
    page.locator("#code li").nth(line).locator("a", has_text="mix").click()  # a choice: the card has it
    page.locator("#card a[href*='Mix.cpp']").first.click()
    page.wait_for_url("**/Mix.cpp.html#*")
    page.go_back()
    page.wait_for_url("**/thousands.cpp.html#*")
    file_reader.until(f"([n, at]) => Math.abs(({top})(n) - at) < 3", [line, at])


def test_a_browser_that_cannot_unpack_says_so(make_reader: Callable[..., Reader]) -> None:
    reader = make_reader()
    reader.page.add_init_script("delete window.DecompressionStream")
    page = reader.open(MADE)
    reader.until("() => document.querySelector('#code .warning')?.textContent.includes('cannot unpack')")
    reader = make_reader(java_script_enabled=False)
    page = reader.open(MADE)
    assert "packed" in page.inner_text("#code")


def test_keys_go_through_symbols(file_reader: Reader) -> None:
    page = file_reader.open("src/torch/csrc/thousands.cpp.html")
    for expected in ("part_0(", "part_1("):
        page.keyboard.press("j")
        file_reader.until("(name) => document.querySelector('.on')?.textContent.includes(name)", expected)
    page.keyboard.press("k")
    file_reader.until("() => document.querySelector('.on').textContent.includes('part_0(')")
    page.keyboard.press("c")
    file_reader.until("() => document.querySelector('.teller').textContent")
    page.keyboard.press("?")
    assert page.is_visible("dialog#keys")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog#keys")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/index.html")


def test_notes_stand_beside_the_lines(file_reader: Reader) -> None:
    page = file_reader.open(MIX)
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.className") == "note"
    page.locator(".note h2 a").first.click()
    page.wait_for_url("**/tours/**")


def test_names_beside_a_stop_lead_where_they_do_in_their_file(file_reader: Reader) -> None:
    page = file_reader.open("tours/blending/token.html")
    straight = page.locator(".excerpt ol.c a[href*='#L33']").first
    straight.hover()
    page.wait_for_selector("#card:not([hidden])")
    assert "other::mix" in page.inner_text("#card")
    page.keyboard.press("Escape")
    page.locator(".excerpt ol.c a.q", has_text="mix").first.click()
    page.wait_for_selector("#card:not([hidden])")
    assert file_reader.at.endswith("token.html"), "a choice is the reader's"
    assert page.locator("#card a").count() >= 1
    page.keyboard.press("Escape")
    straight.click()
    page.wait_for_url("**/Mix.cpp.html#L33")
    file_reader.until("() => document.querySelector('.on')?.textContent.startsWith('int mix(int a) { return a; }')")


def test_a_flowchart_is_drawn_and_told_in_words(file_reader: Reader) -> None:
    page = file_reader.open(ENTRY)
    assert page.locator("figure.flow svg text").all_text_contents() == ["entry", "kernel"]
    page.click("figure.flow summary")
    assert page.inner_text("figure.flow pre") == "1. entry --> 2\n2. kernel"


def test_on_paper_what_is_folded_stands_open(file_reader: Reader) -> None:
    page = file_reader.open(ENTRY)
    folded = page.locator("figure.flow details pre").first
    assert not folded.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert folded.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not folded.is_visible()
    page.emulate_media(media="print")
    assert not page.is_visible("body > header")


def test_walk_a_tour_and_keep_where_one_is(reader: Reader, tmp_path: Path) -> None:
    page = reader.open(ENTRY)
    page.keyboard.press("j")
    page.wait_for_url("**/token.html")
    page.keyboard.press("j")
    page.wait_for_url("**/gone.html")
    assert page.locator(".lost").count() > 0, "a stop that is placed nowhere says so"
    page.keyboard.press("k")
    page.wait_for_url("**/token.html")
    page.keyboard.press("d")
    reader.open("tours/blending.html")
    page.reload()
    for mark, stops in (("done", {"blending#token"}), ("seen", {"blending#entry", "blending#gone"})):
        marked = page.locator(f"main a.{mark}[data-stop]").evaluate_all("all => all.map((one) => one.dataset.stop)")
        assert set(marked) == stops, "going on from a stop visits it, and does not read it"
    page = reader.open("index.html")
    assert page.inner_text("#begin") == "Continue: How things are blended, stop 3"
    assert str(page.get_attribute("#begin", "href")).endswith("tours/blending/gone.html")
    page = reader.open("tours/index.html")
    assert "1 of 4 read, 3 visited" in page.inner_text("main")
    parts = page.locator("[data-bar*='blending#'] i").evaluate_all("all => all.map((one) => one.className)")
    assert parts == ["seen", "done", "seen", ""], "a stop has a part of the bar"
    with page.expect_download() as download:
        page.click("#export")
    kept = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert kept == {
        "format": 1,
        "done": ["blending#token"],
        "visited": ["blending#entry", "blending#gone", "blending#token"],
        "labs": [],
        "last": {"blending": "token"},
    }
    other = tmp_path / "progress.json"
    other.write_text(json.dumps(kept | {"done": ["blending#both", "<img src=x>", 3]}), encoding="utf-8")
    page.set_input_files("#imported", other)
    reader.until("() => document.querySelector('main').innerText.includes('2 of 4 read, 4 visited')")
    other.write_text("[", encoding="utf-8")
    page.set_input_files("#imported", other)
    reader.until("() => document.querySelector('.teller').textContent.includes('is not a progress file')")


def test_a_stop_is_read_by_a_prediction_or_an_answer(reader: Reader) -> None:
    page = reader.open(ENTRY)
    pressed = "() => document.querySelector('#done').getAttribute('aria-pressed') === 'true'"
    assert page.get_attribute("#done", "aria-pressed") == "false"
    lab = page.locator(".lab").first
    assert not lab.locator("details").evaluate("one => one.open")
    lab.locator("button").click()
    assert page.get_attribute("#done", "aria-pressed") == "false", "nothing typed is no prediction"
    lab.locator("input").fill("3 <b>")
    lab.locator("button").click()
    reader.until(pressed)
    assert lab.locator("details").evaluate("one => one.open")
    assert lab.locator(".told").inner_text() == "You predicted: 3 <b>"
    page = reader.open("tours/blending/gone.html")
    question = page.locator(".question")
    assert "Who turns what?" in question.inner_text()
    question.locator("input").fill("the mixer")
    question.locator("input").press("Enter")
    reader.until(pressed)


def test_a_browser_that_keeps_nothing(make_reader: Callable[..., Reader]) -> None:
    reader = make_reader()
    reader.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    page = reader.open(ENTRY)
    page.keyboard.press("t")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.keyboard.press("j")
    page.wait_for_url("**/token.html")
    page = reader.open("index.html")
    assert page.is_visible(".blocked"), "it is said that nothing is kept"


def test_open_a_trace(reader: Reader, site: Path) -> None:
    (trace,) = (one for one in (site / "traces").glob("*trace.html"))
    page = reader.open(f"traces/{trace.name}")
    page.click("#fold")
    inner = page.locator(".trace [data-hop='3']")
    assert not inner.is_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.keyboard.press("o")
    page.keyboard.press("o")
    assert inner.is_visible()
    page.locator(".trace [data-hop='2'] a[href*='Mix.cpp']").first.click()
    page.wait_for_url("**/Mix.cpp.html#L31")
    assert len(reader.marked()) == 1


def test_the_theme_is_switched_and_kept(reader: Reader) -> None:
    page = reader.open("index.html")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    reader.until("(before) => getComputedStyle(document.body).backgroundColor !== before", light)
    dark = page.evaluate(colour)
    reader.open(MIX)
    assert page.evaluate(colour) == dark
    page.emulate_media(color_scheme="dark")
    page.keyboard.press("t")
    page.keyboard.press("t")
    assert page.get_attribute("html", "data-theme") is None, "as the system has it: nothing is kept"
