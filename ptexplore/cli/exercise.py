"""`ptexplore exercise`: list the exercises, open one, and judge a solution against the real PyTorch."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.annotations.progress import ReadingStep, load_progress, remember
from ptexplore.cli.completion import complete_exercise
from ptexplore.cli.options import AsJson, Notes, Python, open_console, open_workspace, print_json, warn
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ptexplore.annotations.exercises import Exercise
    from ptexplore.model.judged import JudgedSolution
    from ptexplore.view.line import Span
    from ptexplore.workspace.workspace import Workspace

EPILOG = """\
examples:
  ptexplore exercise                           # all exercises
  ptexplore exercise view                      # the text of one; the file to complete is written here
  ptexplore exercise view exercise_view.py     # judge your solution
  ptexplore exercise view exercise_view.py --watch

Your file runs without torch, in a process of its own, with at most 1 GiB and 20 s.
"""
_LARGEST = 256 * 1024  # bytes of a solution
_PAUSE = 0.5  # seconds between two looks at a watched file


def exercise(
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="the exercise", autocompletion=complete_exercise)
    ] = None,
    file: Annotated[str | None, Argument(metavar="[FILE]", help="the file with your solution")] = None,
    watch: Annotated[bool, Option("--watch", help="judge FILE again whenever it changes")] = False,
    hint: Annotated[int | None, Option("--hint", metavar="N", help="show hint N")] = None,
    solution: Annotated[
        bool, Option("--solution", help="show the model solution, after you built the exercise")
    ] = False,
    as_json: AsJson = False,
    notes: Notes = None,
    python: Python = None,
) -> int:
    """List the exercises, open one, or judge a solution against the real PyTorch."""
    if watch and file is None:
        raise PtexploreError("--watch needs a file", "no FILE is given", "ptexplore exercise NAME FILE --watch", USAGE)
    with open_workspace(python, None, notes) as workspace:
        known = workspace.exercises.by_id
        for problem in workspace.exercises.problems[:3]:
            warn(f"{problem.where}: {problem.text}")
        if name is None:
            return _list(known, as_json=as_json)
        chosen = _find(known, name)
        if hint is not None or solution:
            _help(chosen, hint)
            return 0
        if file is None:
            return _open(chosen, as_json=as_json)
        return _judge(workspace, chosen, Path(file), watch=watch, as_json=as_json)


def _find(known: Mapping[str, Exercise], name: str) -> Exercise:
    import difflib

    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 1, 0.4)
    why = f"the exercises are {', '.join(known)}" if known else "there are no exercises"
    raise PtexploreError(f"no exercise is called {name}", why, f"ptexplore exercise {' '.join(close)}".rstrip(), USAGE)


def _list(known: Mapping[str, Exercise], *, as_json: bool) -> int:
    from ptexplore.view.notes.exercises import list_lines

    progress = load_progress()
    if as_json:
        from ptexplore.view.documents.exercises import exercise_list_document

        print_json(exercise_list_document(known, progress))
        return 0
    _print(list_lines(known, progress))
    following = next((name for name in known if name not in progress.built), None)
    if following is not None:
        from ptexplore.render.terminal.console import print_next

        print_next(open_console(), f"ptexplore exercise {following}", "\n")
    return 0


def _open(chosen: Exercise, *, as_json: bool) -> int:
    """Shows the text of an exercise, and writes its file into the current folder if there is none."""
    from ptexplore.view.notes.exercises import file_of

    file = file_of(chosen)
    if as_json:
        from ptexplore.view.documents.exercises import exercise_document

        print_json(exercise_document(chosen, load_progress(), file))
        return 0
    from rich.text import Text

    from ptexplore.render.terminal.console import folded, print_next
    from ptexplore.render.terminal.tour import print_prose

    console = open_console()
    folded(console, Text(chosen.title, style="bold cyan"), "", "  ")
    console.print()
    print_prose(console, chosen.text)
    if not os.path.lexists(file):
        from ptexplore.writing import write_new_file

        write_new_file(Path(file), chosen.start)
        console.print(Text(f"\n{file} is written: complete it", style="bold"))
    else:
        console.print(Text(f"\n{file} is here already", style="dim"))
    hints = len(chosen.hints)
    print_next(console, f"ptexplore exercise {chosen.id} {shlex.quote(str(file))}", "\n")
    console.print(Text(f"      {hints} hints, one at a time: ptexplore exercise {chosen.id} --hint 1", style="dim"))
    return 0


def _help(chosen: Exercise, hint: int | None) -> None:
    """Shows one hint, or the model solution to a reader who built the exercise."""
    from ptexplore.safe_text import clean_lines

    total = len(chosen.hints)
    if hint is not None:
        if not 1 <= hint <= total:
            why = f"the exercise {chosen.id} has {total} hints"
            raise PtexploreError(f"there is no hint {hint}", why, f"ptexplore exercise {chosen.id} --hint 1", USAGE)
        print(clean_lines(f"{hint}/{total}  {chosen.hints[hint - 1]}"))
        return
    if chosen.id not in load_progress().built:
        why = "the model solution is shown after yours has passed"
        raise PtexploreError(f"{chosen.id} is not built yet", why, f"ptexplore exercise {chosen.id} --hint 1", USAGE)
    print(clean_lines(chosen.solution), end="")


def _judge(workspace: Workspace, chosen: Exercise, file: Path, *, watch: bool, as_json: bool) -> int:
    """Judges a file, again and again with `watch`. You named the file in this command, so no question is asked."""
    from ptexplore.workspace.exercise_runs import judged, solution_request
    from ptexplore.workspace.typed import typed

    status = FAILED
    last = None
    while True:
        text, stamp = _read(file, chosen)
        if stamp != last:
            last = stamp
            result = judged(typed(solution_request(chosen, text)), workspace.torch)
            status = _tell(chosen, result, as_json=as_json)
            if not watch:
                return status
            sys.stdout.flush()
        try:
            time.sleep(_PAUSE)
        except KeyboardInterrupt:
            return status


def _tell(chosen: Exercise, result: JudgedSolution, *, as_json: bool) -> int:
    from ptexplore.view.notes.exercises import result_lines

    if as_json:
        from ptexplore.view.documents.exercises import judged_document

        print_json(judged_document(chosen, result))
    else:
        _print(result_lines(chosen, result))
    if not result.passed:
        return FAILED
    try:
        remember(ReadingStep(built=chosen.id))
    except OSError as error:
        warn(f"your progress cannot be saved: {error.filename}: {error.strerror or error}")
    if not as_json:
        print(f"built; the model solution: ptexplore exercise {chosen.id} --solution")
    return 0


def _read(file: Path, chosen: Exercise) -> tuple[str, tuple[int, int]]:
    """Returns the text of a solution, and what tells its versions apart. Raises PtexploreError."""
    hint = f"ptexplore exercise {chosen.id}"
    try:
        state = file.stat()
        if not file.is_file() or state.st_size > _LARGEST:
            raise PtexploreError(
                f"{file} is no solution", f"a regular file up to {_LARGEST:,} bytes is needed", hint, USAGE
            )
        return file.read_text(encoding="utf-8"), (state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise PtexploreError(f"{file} cannot be read", error.strerror or str(error), hint, USAGE) from error
    except UnicodeDecodeError as error:
        raise PtexploreError(
            f"{file} cannot be read", "it is not UTF-8", f"iconv -t UTF-8 {shlex.quote(str(file))}", USAGE
        ) from error


def _print(lines: Iterable[tuple[Span, ...]]) -> None:
    from ptexplore.render.terminal.console import drawn

    console = open_console()
    for spans in lines:
        console.print(drawn(spans), soft_wrap=True)
