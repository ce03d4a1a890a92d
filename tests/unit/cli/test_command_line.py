"""The command line as typer builds it: documented whole, several values for an option, numbers, words of bash's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperOption

from ptexplore.cli import completion
from ptexplore.cli.app import COMMANDS, main, make_app

DOCS = Path(__file__).parents[3] / "docs" / "commands.md"


def commands() -> dict[str, Any]:
    """Every command by what is typed, actions of `notes` too."""
    whole: Any = typer.main.get_command(make_app())
    found = {name: command for name, command in whole.commands.items() if name != "notes"}
    return found | {f"notes {name}": action for name, action in whole.commands["notes"].commands.items()}


def module_of(name: str) -> str:
    return f"ptexplore.cli.{name.replace('-', '_')}"


def section(name: str) -> str:
    found = re.search(rf"^##+ `ptexplore {name}[ `].*?(?=^##|\Z)", DOCS.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None, f"docs/commands.md has no section on {name}"
    return found[0]


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_documented(name: str) -> None:
    text = section(name)
    options = [p for p in commands()[name].params if isinstance(p, TyperOption)]
    documented = set(re.findall(r"^\| `(?:-\w, )?(--?\w[\w-]*)", text, re.M))
    assert documented == {option.opts[-1] for option in options}
    assert all(option.help for option in options)


def test_the_document_has_the_help_of_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS.parents[1] / "scripts"))
    from lib import command_docs

    text = DOCS.read_text(encoding="utf-8")
    assert command_docs.with_tables(text) == text, "run scripts/command-docs"


def test_a_table_of_options_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS.parents[1] / "scripts"))
    from lib import command_docs

    text = "## `ptexplore doctor`\n\nText.\n\n| option | what it does |\n| --- | --- |\n| `--old` | gone |\n\nMore.\n"
    made = command_docs.with_tables(text)
    assert "| `--python PATH` | use the torch of another Python environment |\n" in made
    assert "--old" not in made
    assert made.startswith("## `ptexplore doctor`\n\nText.")
    assert made.endswith("\nMore.\n")


@pytest.mark.parametrize("name", sorted(commands()))
def test_the_help_of_every_command_names_all_that_is_documented(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([*name.split(), "--help"]) == 0
    told = capsys.readouterr().out
    for option in re.findall(r"^\| `(?:-\w, )?(--?\w[\w-]*)", section(name), re.M):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", told), option


def test_the_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    documented = set(re.findall(r"^##+ `ptexplore ([\w-]+)", DOCS.read_text(encoding="utf-8"), re.M))
    assert documented == set(COMMANDS)
    assert all(re.search(rf"^ +{name} ", told, re.M) for name in documented)


def test_every_command_is_listed_in_order() -> None:
    whole: Any = typer.main.get_command(make_app())
    assert whole.list_commands(None) == list(COMMANDS)
    assert all(command.short_help for command in whole.commands.values())


@pytest.mark.parametrize(
    "name, typed, expected",
    [
        ("html", ["out", "--trace", "a", "b", "--force"], {"trace": ["a", "b"], "force": True, "out": "out"}),
        ("html", ["out", "--trace", "a", "--trace", "b"], {"trace": ["a", "b"]}),
        ("html", ["--serve", "--check", "out"], {"serve": "", "check": True, "out": "out"}),
        ("html", ["out", "--serve", "9000"], {"serve": "9000"}),
        ("html", ["out"], {"serve": None, "trace": None, "scope": "tours"}),
        ("index", ["--semantic"], {"semantic": [""]}),
        ("index", ["--semantic", "c10", "aten", "--jobs", "2"], {"semantic": ["c10", "aten"], "jobs": 2}),
        ("index", ["--export", "ctags", "tags"], {"export": ("ctags", "tags")}),
        ("find", ["a", "--limit", "3", "b"], {"query": ["a", "b"], "limit": 3}),
        ("find", ["--", "--limit"], {"query": ["--limit"], "limit": None}),
        ("notes check", ["--timeout", "1.5"], {"timeout": 1.5, "only": None}),
    ],
)
def test_what_a_command_line_means(name: str, typed: list[str], expected: dict[str, Any]) -> None:
    command = commands()[name]
    context = command.make_context(name, list(typed))
    values = {key: list(value) if isinstance(value, list | tuple) and key != "export" else value
              for key, value in context.params.items()}  # fmt: skip
    assert {key: values[key] or None if values[key] == [] else values[key] for key in expected} == expected


@pytest.mark.parametrize(
    "typed, error, hint",
    [
        (["fnid"], "fnid is not a command", "did you mean ptexplore find?"),
        (["notes", "chek"], "no such command 'chek'", "ptexplore notes --help"),
        (["find", "--limt", "3", "x"], "no such option: --limt", "did you mean --limit?"),
        (["find", "--limit", "x", "y"], "'x' is not a whole number", "ptexplore find --help"),
        (["find", "--limit", "-1", "y"], "-1 is not 0 or more", "ptexplore find --help"),
        (["html", "out", "--scope", "most"], "'most' is not one of tours, core, all", "ptexplore html --help"),
        (["html", "out", "--trace"], "requires an argument", "ptexplore html --help"),
        (["notes", "check", "--timeout", "soon"], "'soon' is not a number", "ptexplore notes check --help"),
        (["op"], "nothing was asked for", "ptexplore op add, or ptexplore op --missing MPS"),
        (["op", "add", "mul"], "unexpected extra argument", "ptexplore op --help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_has_three_parts(
    capsys: pytest.CaptureFixture[str], typed: list[str], error: str, hint: str
) -> None:
    assert main(typed) == 2
    out, err = capsys.readouterr()
    parts = dict(re.findall(r"^(error|why|try): +(.*)$", err, re.M))
    assert out == ""
    assert error in parts["error"]
    assert hint in parts["try"]
    assert parts["why"]


@pytest.mark.parametrize(
    "words, current, joined",
    [
        (["ptexplore", "show", "at", "::", "native", "::", "us"], 6, ["ptexplore", "show", "at::native::us"]),
        (["ptexplore", "show", "at", "::"], 3, ["ptexplore", "show", "at::"]),
        (["ptexplore", "show", "at", "::", "x", "--full"], 2, ["ptexplore", "show", "at"]),
        (["ptexplore", "show", "--tree", "=", "mi"], 4, ["ptexplore", "show", "--tree=mi"]),
        (["ptexplore", "show", "'at::us"], 2, ["ptexplore", "show", "'at::us"]),
        (["ptexplore", ""], 1, ["ptexplore", ""]),
    ],
)
def test_words_that_bash_parted(
    monkeypatch: pytest.MonkeyPatch, words: list[str], current: int, joined: list[str]
) -> None:
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(current))
    assert completion.join_words() == joined[-1]
    assert os.environ["COMP_WORDS"].split("\n") == joined
    assert os.environ["COMP_CWORD"] == str(len(joined) - 1)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["op", "--help"], ["notes", "check", "--help"]])
def test_of_the_commands_that_are_not_asked_for_only_the_names_are_needed(arguments: list[str]) -> None:
    code = f"import sys; from ptexplore.cli.app import main; assert main({arguments}) == 0; print('', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {name for name in COMMANDS if module_of(name) in loaded} == set(arguments) & set(COMMANDS)
    assert "ptexplore.workspace" not in loaded


def asked_by_zsh(line: str) -> subprocess.CompletedProcess[str]:
    """What completion answers to zsh at the end of a line, and after it the modules that were loaded."""
    code = "import sys; from ptexplore.cli.app import main; main([]); print('', *sys.modules)"
    env = os.environ | {completion.VARIABLE: "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)


@pytest.mark.parametrize(
    "line, named", [("ptexplore ", set()), ("ptexplore sh", set()), ("ptexplore show --tr", {"show"})]
)
def test_completion_loads_the_command_that_it_is_asked_about(line: str, named: set[str]) -> None:
    loaded = set(asked_by_zsh(line).stdout.splitlines()[-1].split())
    assert {name for name in COMMANDS if module_of(name) in loaded} == named


def test_zsh_shows_the_apostrophes_of_descriptions() -> None:
    script = asked_by_zsh("ptexplore fet").stdout.splitlines()[0]
    shown = subprocess.run(
        ["sh", "-c", f'_arguments() {{ echo "$1"; }}; {script}'], capture_output=True, text=True, check=True
    )
    assert "download PyTorch's source" in shown.stdout, shown
