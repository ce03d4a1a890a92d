"""`ptexplore completion SHELL` prints a completion script; the hidden `__complete` answers it from the indexes."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SHELLS = ("bash", "zsh", "fish")
FILES = 10  # exit code: complete names of files, as the shell does
_MOST = 200  # candidates
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd]")
_NAMES = {"find": ("name", "op", "file"), "show": ("name", "op", "file"), "refs": ("name", "op"), "op": ("op",),
          "browse": ("name", "op", "file")}  # fmt: skip
_HINTS = """\
bash:  source <(ptexplore completion bash)          in ~/.bashrc
zsh:   source <(ptexplore completion zsh)           in ~/.zshrc, after compinit
fish:  ptexplore completion fish | source           in ~/.config/fish/config.fish
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help="a completion script for bash, zsh or fish",
        description="Print the script that completes commands, options, and names of symbols, operators and files.",
        epilog=_HINTS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    sys.stdout.write((Path(__file__).parent / "completions" / f"ptexplore.{options.shell}").read_text(encoding="utf-8"))
    return 0


def answer(arguments: Sequence[str]) -> int:
    """Print candidates for `lines WORD… CURRENT` or `bash WORDBREAKS LINE`; FILES where the shell knows better.

    Never says anything else and never fails: completion is asked at every key.
    """
    from ptexplore.cli.words import bash_candidate, split_line

    form, *rest = arguments or ("",)
    try:
        if form == "bash":
            breaks, line = rest
            words, current, quote = split_line(line)
            found = _candidates(words[1:], current)
            shown = [] if found is None else [bash_candidate(c, current, quote, breaks) for c, _help in found]
        else:
            *words, current = rest
            found = _candidates(words, current)
            shown = [] if found is None else [f"{c}\t{text}" if text else c for c, text in found]
    except Exception:  # noqa: BLE001
        return 1
    if found is None:
        return FILES
    sys.stdout.write("".join(f"{one}\n" for one in shown))
    return 0


def _candidates(words: Sequence[str], current: str) -> list[tuple[str, str]] | None:
    """What may stand where the cursor is, each with a word on it; None for a file of the shell's own."""
    from ptexplore.cli.app import make_parser

    commands = _commands(make_parser())
    name = next((word for word in words if not word.startswith("-")), None)
    if name is None:
        return [(c, text) for c, (_parser, text) in commands.items() if c.startswith(current)] + [
            (option, "") for option in ("--help", "--version") if current.startswith("-") and option.startswith(current)
        ]
    if name not in commands:
        return []
    parser = commands[name][0]
    after = list(words)[list(words).index(name) + 1 :]
    option = _option(parser, after[-1]) if after else None
    if option is not None and option.nargs != 0:
        return _values(name, option, current)
    if current.startswith("-") and "--" not in after:
        return _options(parser, current)
    if name == "tour":
        return list(_tours(after, current))
    if name == "completion":
        return [(shell, "") for shell in SHELLS if shell.startswith(current)]
    return list(_names(_NAMES.get(name, ()), current)) if current or name == "op" else []


def _commands(parser: argparse.ArgumentParser) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """Every command with its parser and its line of help."""
    for action in parser._actions:  # argparse has no public way to read a parser back
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return {name: (action.choices[name], text) for name, text in helps.items()}
    return {}


def _option(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    return next((action for action in parser._actions if word in action.option_strings), None)


def _options(parser: argparse.ArgumentParser, current: str) -> list[tuple[str, str]]:
    found = []
    for action in parser._actions:
        long = [one for one in action.option_strings if one.startswith(current if len(current) > 2 else "--")]
        if action.help != argparse.SUPPRESS:
            found += [(one, _one_line(action.help or "")) for one in long]
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("%%", "%")


def _values(command: str, option: argparse.Action, current: str) -> list[tuple[str, str]] | None:
    """Values of an option: its choices, kinds, trees; None for files."""
    known: Sequence[str] = ()
    if option.choices is not None:
        known = [str(one) for one in option.choices]
    elif option.dest == "kind":
        known = _kinds(command)
    elif option.dest in ("tree", "use", "remove"):
        from ptexplore.source.checkouts import checkouts

        known = [one.name for one in checkouts()] + (["runtime"] if option.dest == "tree" else [])
    elif option.metavar in ("PATH", "FILE", "DIR", "DIR|FILE|URL"):
        return None
    return [(one, "") for one in known if one.startswith(current)]


def _kinds(command: str) -> Sequence[str]:
    from typing import get_args

    from ptexplore.symbols import SymbolKind

    if command == "refs":
        from ptexplore.view.refs import GROUPS

        return GROUPS
    return ("symbol", "operator", "file", "note", "text", *get_args(SymbolKind))


def _tours(after: Sequence[str], current: str) -> Iterator[tuple[str, str]]:
    """Tours, and behind one its stops."""
    from ptexplore.cli.completing import tours

    for name, text in tours([word for word in after if not word.startswith("-")], current):
        yield name, _CONTROL.sub("", text)


def _names(sorts: Sequence[str], current: str) -> Iterator[tuple[str, str]]:
    """Names from what is indexed already, without control characters; nothing is ever built here."""
    from ptexplore.cli.completing import names

    seen: set[str] = set()
    for name, sort in names(sorts, current, _MOST):
        if name not in seen and not _CONTROL.search(name):
            seen.add(name)
            yield name, sort
        if len(seen) >= _MOST:
            return
