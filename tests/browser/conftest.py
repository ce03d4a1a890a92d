"""A site of a small tree with hostile files, notes and a trace, built once; a Chromium, started once; readers in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from tests import searched_source
from tests.browser import hostile
from tests.harness import REPOSITORY, Cli

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TOURS = REPOSITORY / "tests" / "data" / "tours"
LINES = 2000


def write_tree(root: Path) -> Path:
    """The small tree, the hostile names, and a file of 2,000 lines that are like real ones."""
    searched_source.write(root)
    hostile.write_files(root)
    body = "".join(
        f"// what part {n} does with its argument\nint part_{n}(int a) {{\n  return mix(a + {n}) /* twice */;\n}}\n\n"
        for n in range(LINES // 5)
    )
    (root / "torch/csrc/thousands.cpp").write_text(body, encoding="utf-8")
    return root


@dataclass(frozen=True)
class Bare(Cli):
    """The command in a Python that has all but torch: a site of one small tree, made in seconds."""

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PYTHONPATH": f"{self.cache.parent / 'libraries'}{os.pathsep}{REPOSITORY}"}


def bare(base: Path) -> Bare:
    """Make such a Python below `base`, once."""
    python = base / "python" / "bin" / "python"
    if not python.exists():
        venv.create(base / "python", with_pip=False, symlinks=True)
        (base / "libraries").mkdir()
        for one in Path(sysconfig.get_path("purelib")).iterdir():
            if not one.name.startswith(("torch", "functorch")) and one.suffix != ".pth":
                (base / "libraries" / one.name).symlink_to(one)
        (base / "cwd").mkdir()
    return Bare(base / "cache", base / "cwd", str(python))


def build(base: Path) -> None:
    """Index the tree and write its site below `base`."""
    root = write_tree(base / "mini")
    shutil.copytree(TOURS, base / "notes")
    hostile.write_notes(base / "notes")
    (base / "hostile trace.json").write_text(hostile.trail(), encoding="utf-8")
    cli = bare(base)
    fetched = cli("fetch", "--from", str(root))
    assert fetched.code == 0, fetched
    made = cli("html", str(base / "site"), "--scope", "all", "--notes", str(base / "notes"), "--jobs", "1",
               "--trace", str(base / "hostile trace.json"), "--title", "A group's <b>site</b>", "--check")  # fmt: skip
    assert made.code == 0, made


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the site in `site/`, once for all workers. Tests only read it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "browser-site"
    with FileLock(f"{shared}.lock"):
        if not Path(f"{shared}.built").exists():
            shutil.rmtree(shared, ignore_errors=True)
            shared.mkdir()
            build(shared)
            Path(f"{shared}.built").touch()
    return shared


@pytest.fixture(scope="session")
def site(built: Path) -> Path:
    return built / "site"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs chromium: apt-get install chromium")
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[test]'")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served(built: Path) -> Iterator[str]:
    """The address at which `ptexplore html OUT --serve` shows the site."""
    cli = bare(built)
    command = [cli.python, "-u", "-m", "ptexplore", "html", str(built / "site"), "--scope", "all", "--notes",
               str(built / "notes"), "--jobs", "1", "--trace", str(built / "hostile trace.json"), "--title",
               "A group's <b>site</b>", "--serve", "0"]  # fmt: skip
    with subprocess.Popen(
        command, env=cli.environment(), cwd=cli.cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            found = re.search(r"http://\S+", line)
            if found:
                yield found[0].rstrip("/.,") + "/"
                break
        else:
            pytest.fail("".join(said))
        process.terminate()


# What moved after it was painted, what was asked for: collected from the first moment on.
WATCH = """
window.__shift = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.__shift += one.value;
}).observe({ type: 'layout-shift', buffered: true });
"""


@dataclass
class Reader:
    """A tab in which a site is read. `trouble` is whatever a page complained of, or asked for outside the site."""

    page: Page
    base: str
    trouble: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.add_init_script(WATCH)
        self.page.on("console", lambda m: self.trouble.append(f"{m.type}: {m.text}") if m.type != "log" else None)
        self.page.on("pageerror", lambda error: self.trouble.append(f"thrown: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", lambda r: self.trouble.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
        self.page.on("dialog", lambda dialog: (self.trouble.append("a dialog"), dialog.dismiss()))
        self.page.on("request", self._asked)

    def _failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # the reader went on before it was there
            self.trouble.append(f"failed: {request.url}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:application/json")):
            self.trouble.append(f"outside: {request.url}")

    def open(self, url: str) -> Page:
        self.page.goto(self.base + url)
        return self.page

    def until(self, condition: str, argument: Any = None) -> None:
        """Wait for what a reader would wait for; five seconds are too long for any."""
        self.page.wait_for_function(condition, arg=argument, timeout=5000)

    @property
    def at(self) -> str:
        """Where the reader is, from the site's root."""
        return str(self.page.url).removeprefix(self.base)

    def marked(self) -> list[str]:
        """The lines that a link marks."""
        return list(self.page.eval_on_selector_all(".on", "all => all.map((one) => one.textContent.trimEnd())"))

    def search(self, text: str) -> list[str]:
        """Type it into the search; what is shown then, a result a line."""
        if self.page.evaluate("document.activeElement.id") != "q":
            self.page.keyboard.press("/")
        self.page.keyboard.type(text)
        self.until("(text) => document.querySelector('#q').dataset.answered === text", text)
        return [one.strip() for one in self.page.locator("#results [role=option]").all_inner_texts()]


@pytest.fixture
def make_reader(chromium: Browser, site: Path) -> Iterator[Callable[..., Reader]]:
    """Open a tab in a profile of its own; what a page complained of fails the test."""
    made: list[Reader] = []

    def make(base: str | None = None, **options: Any) -> Reader:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        context.set_default_timeout(5000)
        reader = Reader(context.new_page(), base or f"{site.as_uri()}/")
        reader.watch()
        made.append(reader)
        return reader

    yield make
    for one in made:
        one.page.context.close()
    assert [one.trouble for one in made if one.trouble] == []


@pytest.fixture(params=["file", "http"])
def reader(request: pytest.FixtureRequest, make_reader: Callable[..., Reader]) -> Reader:
    """A reader of the site from its folder, and of the site as it is served."""
    return make_reader(request.getfixturevalue("served") if request.param == "http" else None)


@pytest.fixture
def file_reader(make_reader: Callable[..., Reader]) -> Reader:
    """A reader of the site from its folder."""
    return make_reader()
