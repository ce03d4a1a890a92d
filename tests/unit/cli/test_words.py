"""Bash command lines taken apart, and candidates put back so that the shell reads the name and nothing else."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ptexplore.cli.words import bash_candidate, split_line

BREAKS = " \t\n\"'><=;|&(:"
NAMES = ["at::native::add", "operator()", "operator<<", "~Tensor", "$(touch pwned)", "`id`", "a b", "it's", 'say "x"',
         "operator!=", "back\\slash", "a;b&c|d", "*?[x]", "#x", "é", "x=y", "{a,b}"]  # fmt: skip


@pytest.mark.parametrize(
    "line, words, current, quote",
    [
        ("ptexplore ", ["ptexplore"], "", ""),
        ("ptexplore show at::na", ["ptexplore", "show"], "at::na", ""),
        ("ptexplore show 'at::na", ["ptexplore", "show"], "at::na", "'"),
        ('ptexplore show "at::na', ["ptexplore", "show"], "at::na", '"'),
        (r"ptexplore show operator\(\)", ["ptexplore", "show"], "operator()", ""),
        ("ptexplore show '' x", ["ptexplore", "show", ""], "x", ""),
        ("A=1 B='x y' ptexplore fi", ["ptexplore"], "fi", ""),
        ("ptexplore show $(x", ["ptexplore", "show"], "$(x", ""),
        ("ptexplore show 'a b' c\\", ["ptexplore", "show", "a b"], "c", ""),
    ],
)
def test_a_line_is_parted_as_the_shell_would(line: str, words: list[str], current: str, quote: str) -> None:
    assert split_line(line) == (words, current, quote)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_bash_reads_back_the_name(name: str, quote: str) -> None:
    shown = bash_candidate(name, "", quote, BREAKS)
    done = subprocess.run(
        ["bash", "-c", f"printf %s {quote}{shown}{quote}"], capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout == name
    assert not done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_what_was_completed_is_parted_into_the_name_again(name: str) -> None:
    words, current, _quote = split_line(f"ptexplore show {bash_candidate(name, '', '', BREAKS)}")
    assert (words, current) == (["ptexplore", "show"], name)
    assert shlex.split(bash_candidate(name, "", "", BREAKS)) == [name]


def test_what_stands_before_the_last_colon_stays() -> None:
    assert bash_candidate("at::native::add", "at::na", "", BREAKS) == "native::add"
    assert bash_candidate("at::native::add", "at::na", "", " \t\n") == "at::native::add"
    assert bash_candidate("at::native::add", "at::na", "'", BREAKS) == "at::native::add"
