"""The options of a trace: one table of them, which the command line, Python and the documents follow."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import ptexplore
from ptexplore.api.options import request_of
from ptexplore.capture.not_captured import RefusedOptions
from ptexplore.capture.probing import TraceRequest, check_options
from ptexplore.cli import asked as typed
from ptexplore.cli.trace import trace
from ptexplore.cli.typer_commands import AFTER
from ptexplore.errors import PtexploreError
from ptexplore.model.options import EXCLUDED, AskedOfTrace, TraceOptions, asked_options, given, refused
from ptexplore.model.trace import TracedProgram, of_program, program_in
from ptexplore.view.words.commands import with_options, words_of
from ptexplore.view.words.errors import in_words

COMMANDS = Path(__file__).parents[2] / "docs" / "commands.md"
PYTHON = [known.python or name for name, known in asked_options().items()]
NOTHING = dict.fromkeys(asked_options())


def test_python_takes_each_option_by_its_name() -> None:
    assert set(get_type_hints(AskedOfTrace)) == set(PYTHON)
    for function in (ptexplore.trace, ptexplore.Workspace.trace):
        assert [name for name in inspect.signature(function).parameters if name in PYTHON] == PYTHON


def test_the_command_line_takes_each_option() -> None:
    parameters = inspect.signature(trace).parameters
    with_flags = [name for name, known in asked_options().items() if known.flag != AFTER]
    assert [name for name in parameters if name in asked_options()] == with_flags


def test_the_documents_have_each_option() -> None:
    text = COMMANDS.read_text(encoding="utf-8")
    for known in asked_options().values():
        assert f"| `{known.flag} {known.metavar}".rstrip() + "` |" in text, known.flag


def test_what_nobody_asked_for_is_no_option() -> None:
    assert given(TraceOptions(native=True)) == frozenset()
    assert typed.read(NOTHING) == {}
    assert request_of("a", {}) == TraceRequest(expression="a", native=True, cwd=str(Path.cwd()))


def test_typed_texts_are_read() -> None:
    told = {"variables": ["a=1"], "timeout": "7", "native_most": "3M", "native": True, "setup": ["x = 1"], "once": True}
    assert typed.read(NOTHING | told) == {
        "variables": (("a", "1"),), "timeout": 7.0, "native_most": 3_000_000, "native": False, "setup": ("x = 1",),
        "once": True,
    }  # fmt: skip


@pytest.mark.words
@pytest.mark.parametrize("pair", EXCLUDED)
def test_options_that_do_not_go_together(pair: tuple[str, str, str]) -> None:
    one, other, why = pair
    refusal = refused({one, other}, is_script=other == "script")
    assert refusal is not None
    assert (refusal.first, refusal.second, refusal.why) == (one, other, why)
    assert refused({one}, is_script=False) is None
    names = asked_options()[one].flag, asked_options()[other].flag
    with pytest.raises(RefusedOptions) as raised, in_words():
        check_options({one, other}, is_script=other == "script")
    assert all(name in raised.value.message for name in names)
    assert (raised.value.why, raised.value.hint) == (why, "ptexplore trace --help")


@pytest.mark.words
def test_each_option_is_of_what_it_says() -> None:
    for name, known in asked_options().items():
        for is_script in (True, False):
            fits = known.only is None or (known.only[0] == "script") == is_script
            assert (refused({name}, is_script=is_script) is None) == fits, name
    with pytest.raises(PtexploreError, match=r"^native_budget is for a script"):
        request_of("a", {"native_budget": "3M"})
    with pytest.raises(PtexploreError, match=r"^native=False and native_op do not go together"):
        request_of("a", {"native": False, "native_op": "add"})


def test_words_ask_for_the_same_once_more() -> None:
    values = {"variables": (("x", "1"),), "setup": ("y = 2",), "native_op": "add#2", "grad": True, "backward": True}
    words = words_of("f(x)", TraceOptions(native=True, first=False, **values))
    assert words == ("f(x)", "--var", "x=1", "--setup", "y = 2", "--native-op", "add#2", "--backward")
    assert words_of("-a", TraceOptions(native=False)) == ("(-a)", "--no-native")
    assert words_of(None, TraceOptions(script="f.py", native=False, twice=True)) == ("--script", "f.py", "--twice")


def test_the_arguments_of_a_program_come_last() -> None:
    options = TraceOptions(module="pkg.train", arguments=("--epochs", "2"), native=True, twice=True)
    words = words_of(None, options)
    assert words == ("-m", "pkg.train", "--twice", "--", "--epochs", "2")
    assert with_options(words, ("--open", "x")) == ("-m", "pkg.train", "--twice", "--open", "x", "--", "--epochs", "2")
    assert with_options(("f.py",), ("-v",)) == ("f.py", "-v")


@pytest.mark.parametrize(
    ("options", "expression"),
    [
        ({"script": "a b.py"}, "--script a b.py"),
        ({"script": "t.py", "arguments": ("--name", "a b")}, "--script t.py -- --name 'a b'"),
        ({"module": "pkg.train", "arguments": ("x",)}, "-m pkg.train -- x"),
    ],
)
def test_a_trace_names_its_program(options: dict[str, Any], expression: str) -> None:
    assert of_program(TraceOptions(**options)) == expression
    assert program_in(expression) == TracedProgram(**options)
    assert program_in("torch.add(a, b)") is None
