"""House rules that import-linter cannot see: probe/ apart, a module's first line, types' names, no machine's path."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ptexplore.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "ptexplore"
MODULES = sorted(PACKAGE.rglob("*.py"))
PROBES = sorted((PACKAGE / "probe").rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


class Facts(NamedTuple):
    """What is asked of a module's text."""

    docstring: str | None
    imports: set[str]  # top-level names of every module that it imports, wherever in it
    types: list[str]  # public ones
    names: set[str]  # that it binds or defines


@functools.cache
def facts(path: Path) -> Facts:
    """Read a module once, for all that is asked of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    read = Facts(ast.get_docstring(tree), set(), types, set())
    for node in ast.walk(tree):
        read.imports.update(imported(node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            read.names.add(node.id)
        elif isinstance(node, ast.arg):
            read.names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            read.names.add(node.name)
    return read


def imported(node: ast.AST) -> set[str]:
    """The top-level names of what a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    if not isinstance(node, ast.ImportFrom):
        return set()
    if node.level == 1 and node.module:
        return {node.module.split(".")[0]}
    if node.level == 1:
        return {alias.name for alias in node.names}
    return {"ptexplore" if node.level else (node.module or "").split(".")[0]}


@pytest.mark.parametrize("path", PROBES, ids=lambda p: p.name)
def test_probe_imports_the_standard_library_and_torch_alone(path: Path) -> None:
    siblings = {other.stem for other in PROBES} | {other.parent.name for other in PROBES}
    # yaml: only for the generators, which run under our own interpreter.
    allowed = set(sys.stdlib_module_names) | siblings | {"torch", "__future__", "_ptexplore_probe"}
    if path.name == "torchgen_child.py":
        allowed |= {"torchgen", "yaml"}
    if path.name == "judges.py":
        allowed.add("torchgen")  # it comes with torch; only the judges of its own exercises import it
    if path.name == "expression.py":
        allowed.add("numpy")  # where the user has it, `np` is one of the names that are there
    assert not facts(path).imports - allowed


def test_nothing_imports_probe() -> None:
    names = {path.stem for path in PROBES}
    for path in MODULES:
        if path in PROBES:
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) ptexplore\.probe", text, re.MULTILINE), path
        assert not re.search(r"^\s*from ptexplore import .*\bprobe\b", text, re.MULTILINE), path
        assert not (facts(path).imports & (names - set(sys.stdlib_module_names))), path


def test_only_probe_names_private_torch() -> None:
    """A private API is *called* in probe/ alone; others may name it in text they show."""
    for path in MODULES:
        if path not in PROBES:
            assert "torch" not in facts(path).imports, path


def test_a_module_names_its_subject() -> None:
    assert [name_of(path) for path in MODULES if not facts(path).docstring] == [], (
        "its first line says what it is about"
    )


def tracked() -> list[Path]:
    """Every file of the repository, as git knows them."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_a_public_type_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for name in facts(path).types:
            places.setdefault(name, []).append(name_of(path))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_file_names_a_machine() -> None:
    """No path of a developer's machine, no host of a package mirror: what is committed works anywhere."""
    words = [
        "/work" + "/main",
        "/work" + "/shared",
        "/tmp" + "/lab",
        "/home" + "/",
        "/root" + "/",
        "deb.debian" + ".org",
    ]
    hosts = ["pypi" + ".org", "files.pythonhosted" + ".org", "download.pytorch" + ".org"]
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="replace")
        for word in [*words, *hosts]:
            assert word not in text, f"{path.relative_to(ROOT)} names {word}"


TRACES = {"ptexplore.model.trace", "ptexplore.resolve.claims", "ptexplore.model.observed", "ptexplore.capture"}
READERS = {"ptexplore.index.cpp", "ptexplore.index.build", "ptexplore.index.workers", "tree_sitter", "clang"}
FETCHING = {"ptexplore.source.fetch.fetch", "ptexplore.source.fetch.remotes", "ptexplore.source.fetch.archive", "git"}
NOTES = {"ptexplore.annotations.anchors", "markdown_it", "yaml"}
ALWAYS = TRACES | READERS | FETCHING | NOTES | {"torch", "numpy", "msgspec", "textual", "jinja2", "pydantic"}
COMMAND_MODULES = {f"ptexplore.cli.{name.replace('-', '_')}" for name in COMMANDS}


@pytest.mark.parametrize(
    "modules, without",
    [
        (("cli.app",), ALWAYS | COMMAND_MODULES | {"ptexplore.model", "ptexplore.workspace", "rich", "sqlite3"}),
        (("view.card", "workspace.opening", "render.terminal.card"), ALWAYS),
        (("lookup.find", "workspace.opening", "render.terminal.search"), ALWAYS),
        (("view.search.show", "workspace.opening", "render.terminal.show"), ALWAYS),
        (("lookup.refs", "workspace.opening", "render.terminal.search"), ALWAYS),
        (("source.fetch.install", "index.reading_plan"), ALWAYS),  # looked at each time, read anew seldom
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_answers_at_once_imports_nothing_it_seldom_needs(modules: tuple[str, ...], without: set[str]) -> None:
    names = ", ".join(f"ptexplore.{module}" for module in modules)
    code = f"import sys, {names}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not without & set(done.stdout.split())


def test_the_parser_is_made_when_a_declaration_is_looked_up_and_once() -> None:
    code = """
import sys
from ptexplore.catalogue.declarations import _functions
assert "tree_sitter" not in sys.modules and "ptexplore.index.cpp" not in sys.modules
[made] = _functions("a.h", "namespace at { TORCH_API int mix(int a); }")
assert made.qualified == "at::mix", made
from ptexplore.index.cpp.tree import parser
_functions("b.h", "int blend();")
_functions("b.h", "int blend();")
assert parser.cache_info().misses == 1 and _functions.cache_info().hits == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


# They say nothing of what they hold: `symbol`, `definition`, `candidate`, `registration`, `file` do.
_RIDDLES = frozenset(("one", "ones", "found", "here", "there", "said", "looking", "noted", "below", "got"))


def test_names_say_what_they_hold() -> None:
    riddles = {name_of(path): _RIDDLES & {name.strip("_") for name in facts(path).names} for path in MODULES}
    assert {path: names for path, names in riddles.items() if names} == {}


# Functions that call themselves over nested records, and why they can't go deep.
_SHALLOW = {
    "ptexplore/resolve/dispatch/reasoning.py::_chain": "a call passes at most STEPS keys",
    "ptexplore/view/trace/native_names.py::_joined": "over the template arguments of one name",
    "ptexplore/view/trace/native_names.py::_trampoline": "over the template arguments of one name",
    "ptexplore/resolve/order.py::_nested": "it orders one function, which holds no further one of its kind",
    "ptexplore/resolve/order.py::_ordered": "it orders one function, which holds no further one of its kind",
}
_DEEP_ROOMS = ("capture", "saved", "resolve", "view/trace", "view/notes/notes_about.py", "render", "tui")
_NESTING = frozenset(
    ("children", "inner", "parts", "inside", "calls")
)  # the fields that hold records of their own kind


class _Recursive(NamedTuple):
    """A function: those of its module that it names, whether it walks nested records, and whether it is unrolled."""

    names: set[str]
    walks: bool
    unrolled: bool


def _named(node: ast.expr) -> str | None:
    """The name of a function that is called, or handed to `map`; None of an expression that is none."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _functions_of(path: Path) -> dict[str, _Recursive]:
    """What is asked of each function of a module, those inside functions too."""
    read: dict[str, _Recursive] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef):
            continue
        names: set[str] = set()
        walks = False
        for part in ast.walk(node):
            walks = walks or (isinstance(part, ast.Attribute) and part.attr in _NESTING)
            if isinstance(part, ast.Call):
                names |= {called for called in map(_named, (part.func, *part.args)) if called is not None}
        returns = ast.unparse(node.returns) if node.returns is not None else ""
        read[node.name] = _Recursive(names, walks, returns.startswith(("Unrolling", "Pruned")))
    return read


def _reached(functions: dict[str, _Recursive], name: str) -> set[str]:
    """The functions of a module that one of them leads to."""
    reached: set[str] = set()
    pending = [name]
    while pending:
        inner = functions[pending.pop()].names & functions.keys()
        pending += inner - reached
        reached |= inner
    return reached


def test_nested_records_are_not_walked_by_recursion() -> None:
    """Code may call itself deeper than Python lets a function of ours: `model/nesting.py` has the ways to walk."""
    recursive = []
    for path in MODULES:
        if not path.relative_to(PACKAGE).as_posix().startswith(_DEEP_ROOMS):
            continue
        functions = _functions_of(path)
        for name, known in functions.items():
            if known.walks and not known.unrolled and name in _reached(functions, name):
                recursive.append(f"{name_of(path)}::{name}")
    assert set(recursive) == set(_SHALLOW)


def test_no_view_asks_how_what_was_traced_is_stored() -> None:
    """`model/traced.py` has what views must know of each kind of trace; `saved/` alone reads what is stored."""
    asks = re.compile(r"\bprogram is (not )?None\b")
    views = (path for path in MODULES if path.relative_to(PACKAGE).as_posix().startswith("view/"))
    found = {name_of(path) for path in views if asks.search(path.read_text(encoding="utf-8"))}
    assert found == set()


# --- the doors (docs/security.md): one place each, so that nobody has to remember ---


def calls_of(names: set[str]) -> dict[str, set[str]]:
    """The modules that call something of one of these names, by name."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            name = getattr(called, "id", "") or getattr(called, "attr", "")
            if name in names and path not in PROBES:
                found[name].add(name_of(path))
    return found


def test_what_was_read_from_a_file_reaches_the_probe_by_one_door() -> None:
    """Who makes a run that may run, who calls what is typed so, who starts a probe with code."""
    found = calls_of({"AllowedRun", "typed", "capture", "compile_run", "ask_of_program"})
    assert found["AllowedRun"] == {
        "ptexplore/capture/allowed.py", "ptexplore/workspace/consent.py", "ptexplore/workspace/typed.py",
    }  # fmt: skip
    callers = {path for path in found["typed"] if "view/" not in path}  # view/ has a function of that name of its own
    assert callers == {
        "ptexplore/api/questions.py", "ptexplore/cli/compile.py", "ptexplore/cli/exercise.py", "ptexplore/cli/graph.py",
        "ptexplore/cli/html.py", "ptexplore/cli/lower.py", "ptexplore/cli/tensor.py", "ptexplore/cli/trace.py",
        "ptexplore/tui/app.py",
        "ptexplore/workspace/example_trace.py",
    }  # fmt: skip
    assert {path for path in found["capture"] if "console" not in path} == {
        "ptexplore/workspace/lab_runs.py", "ptexplore/workspace/workspace.py",
    }  # fmt: skip
    assert found["compile_run"] == {"ptexplore/workspace/workspace.py"}
    assert found["ask_of_program"] == {"ptexplore/capture/compiling.py", "ptexplore/capture/trace.py"}
    imports = re.compile(r"probing import [^\n]*\b(ask|converse)\b")
    asked = {name_of(path) for path in MODULES if imports.search(path.read_text(encoding="utf-8"))}
    starting = ("decompositions", "graph", "judging", "runtime", "single_answer", "survey", "trace")
    assert asked <= {f"ptexplore/capture/{name}.py" for name in starting}


def test_a_saved_trace_is_given_to_the_command_by_nobody_but_the_library_of_allowed_runs() -> None:
    """`browse` starts `ptexplore trace` in a process of its own, which takes its words for typed ones."""
    text = (PACKAGE / "tui/library.py").read_text(encoding="utf-8")
    assert text.count('"trace", *') == 1
    assert "def trace(self, run: AllowedRun" in text
    started = re.compile(r"run_command\(\s*\[\s*\"trace\"")
    others = [name_of(path) for path in MODULES if started.search(path.read_text(encoding="utf-8"))]
    assert others == ["ptexplore/tui/library.py"]


def test_text_reaches_screens_and_pages_by_one_door_each() -> None:
    """Each console is gated, the one app has the filter, Markdown has one reader, a page one writer."""
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        made = len(re.findall(r"(?<![\w.])Console\(", text))
        assert made == len(re.findall(r"gated\(\s*Console\(", text)), path
        if path.name != "markdown.py":
            assert "import MarkdownIt" not in text, path
        assert not re.search(r"\(App\[|\(App\)", text) or name_of(path) == "ptexplore/tui/app.py", path
        if re.search(r"defusedxml|xml\.etree|minidom|expat", text):
            assert name_of(path) == "ptexplore/render/html/svg.py"
    assert "get_line_filters" in (PACKAGE / "tui/app.py").read_text(encoding="utf-8")
    pages = (PACKAGE / "render/html").rglob("*.py")
    written = {path.name for path in pages if "write_whole" in path.read_text(encoding="utf-8")}
    assert written == {"output.py"}, "every page is cleaned where it is written"


def test_locks_are_taken_in_one_place() -> None:
    """Which looks at what is there: a lock is emptied, and in a cache of somebody else's it may be a link."""
    takers = {name_of(module) for module in MODULES if "filelock" in facts(module).imports}
    assert takers == {"ptexplore/writing.py"}


def test_links_to_source_are_built_in_one_place() -> None:
    hosts = [path for path in MODULES if "https://github.com/pytorch" in path.read_text(encoding="utf-8")]
    assert PACKAGE / "source/permalink.py" in hosts
    built = {name_of(path) for path in MODULES if re.search(r"/blob/", path.read_text(encoding="utf-8"))}
    assert built <= {"ptexplore/source/permalink.py", "ptexplore/cli/html.py"}, built


def test_text_that_python_cannot_read_ends_nothing() -> None:
    """Python's parser raises four kinds of errors. A text of others must not reach it without all of them caught."""
    own = {PACKAGE / "surfaces/notebook.py"}  # it parses the cell that you run
    bare = []
    for path in set(MODULES) - set(PROBES) - own:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        caught = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.Try)
            and any(handler.type is not None and "NOT_PYTHON" in ast.unparse(handler.type) for handler in node.handlers)
            for statement in node.body
            for inner in ast.walk(statement)
        }
        calls = [
            node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "ast.parse"
        ]
        bare += [f"{name_of(path)}:{call.lineno}" for call in calls if id(call) not in caught]
    assert not bare
