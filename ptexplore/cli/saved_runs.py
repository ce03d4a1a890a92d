"""What `compile`, `lower` and `graph` have in common: the options of a run that can be saved and shown again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from typer import Option

from ptexplore.cli.asked import RUN
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from rich.console import Console

    from ptexplore.workspace.saved_runs import SavedRuns

Report = TypeVar("Report")
SHOWN = "What is shown"
PythonOfRun: TypeAlias = Annotated[
    str | None, Option(metavar="PATH", help="use the torch of another Python environment", rich_help_panel=RUN)
]
AsJson: TypeAlias = Annotated[bool, Option("--json", help="as JSON (format 1)", rich_help_panel=SHOWN)]
Save: TypeAlias = Annotated[str | None, Option(metavar="FILE", help="save the run in a file", rich_help_panel=SHOWN)]
Svg: TypeAlias = Annotated[
    str | None, Option(metavar="FILE", help="save the page as an SVG picture", rich_help_panel=SHOWN)
]
Load: TypeAlias = Annotated[
    str | None, Option(metavar="FILE", help="show a saved run; torch is not needed", rich_help_panel=SHOWN)
]
Last: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="[N]",
        help="show the last run again without running it; N: the N-th last of at most 20",
        rich_help_panel=SHOWN,
    ),
]

_WITH_VALUE = {"--script": "--script FILE", "-m": "-m MODULE", "--load": "--load FILE"}


def only_source(sources: Mapping[str, object], example: str) -> str:
    """Returns the only one of these words of the command line that was given.

    Raises PtexploreError (USAGE) if several were given, or none.
    """
    named = [name for name, value in sources.items() if value is not None]
    if len(named) == 1:
        return named[0]
    *first, last = (_WITH_VALUE.get(name, name) for name in sources)
    why = f"{', '.join(named)} were given" if named else "nothing was given"
    raise PtexploreError(f"give one of {', '.join(first)} and {last}", why, example, USAGE)


def check_no_folders(*files: str | None) -> None:
    """Raises PtexploreError (USAGE) if a file to be written is a folder."""
    for written in filter(None, files):
        if Path(written).is_dir():
            hint = f"name a file inside it: {written}/run"
            raise PtexploreError(f"{written} is a folder", "ptexplore writes one file", hint, USAGE)


def refuse_options_of_run(source: str, command: str) -> None:
    """Raises PtexploreError (USAGE): a saved run takes no options of a run."""
    why = "a saved run keeps the code and the options that it was made with"
    raise PtexploreError(f"{source} goes with no option of a run", why, f"ptexplore {command} --help", USAGE)


def read_run(runs: SavedRuns[Report], load: str | None, last: str | None) -> Report:
    """Returns the run in the file of --load, or the one that --last means.

    Raises PtexploreError: (usage) if the file is no run, or --last no number; (missing) if so many are not kept.
    """
    return runs.load(load if load is not None else runs.last(number_of_last(last, runs.command)))


def number_of_last(last: str | None, command: str) -> int:
    """Returns the number given to --last of a command. Raises PtexploreError (USAGE) for anything else."""
    last = last or "1"
    if not (last.isascii() and last.isdecimal() and int(last[:9]) > 0):
        why = f"the number counts back from the last {'trace' if command == 'trace' else 'run'}: 1 is the last"
        hint = f"ptexplore {command} --last 2"
        raise PtexploreError(f"--last {last[:80]} is not a number of 1 or more", why, hint, USAGE)
    return int(last[:9])


@dataclass(frozen=True)
class WrittenRun:
    """The options that say how a run is shown, and where it is written."""

    save: str | None
    svg: str | None
    as_json: bool

    @property
    def is_saved(self) -> bool:
        """Whether the run can be loaded again from the file of --save: not from a device or a FIFO."""
        return self.save is not None and (Path(self.save).is_file() or not Path(self.save).exists())

    def write_picture(self, draw: Callable[[Console], None], title: str) -> None:
        """Writes the picture of a page, if one was asked for."""
        if self.svg is not None:
            from ptexplore.render.terminal.console import picture
            from ptexplore.workspace.saved_traces import write_file

            write_file(Path(self.svg), picture(draw, title))


def print_what_it_printed(printed: str) -> None:
    """Prints to stderr what the code of a run printed."""
    if printed:
        from ptexplore.cli.options import open_console
        from ptexplore.render.terminal.trace import print_printed

        print_printed(open_console(stderr=True), "expression", printed)
