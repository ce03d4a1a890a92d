"""`ptexplore tour`: list the tours, read one in the terminal, show the path of concepts."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.annotations.progress import ReadingProgress, load_progress, remember
from ptexplore.cli.completion import complete_stop, complete_tour
from ptexplore.cli.options import (
    AsJson,
    Notes,
    Python,
    Tree,
    fetch_if_none,
    open_console,
    open_workspace,
    print_json,
    warn,
)
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.safe_text import clean_lines
from ptexplore.view.notes.labs import lab_question
from ptexplore.view.notes.tour import (
    Excerpt,
    Guide,
    StopView,
    TourWalk,
    find_stop,
    find_tour,
    in_order,
    listing,
    no_tours,
    path_view,
    stop_left_at,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.annotations.records import Lab, Problem, Tour
    from ptexplore.workspace.workspace import Workspace

EPILOG = """\
while walking: Enter or n next, b back, l run the stop's labs (l 2: the second), a answer its question, d mark it as
               read, o open the source in $EDITOR, c contents, g STOP go to a stop, q quit; Ctrl-D and Ctrl-C leave, too
"""
_WORDS = {"": "next", "n": "next", "b": "back", "p": "back", "q": "quit", "o": "open", "l": "lab", "c": "contents",
          "g": "go", "?": "help", "h": "help", "exit": "quit", "previous": "back", "labs": "lab", "a": "answer",
          "d": "mark", "read": "mark"}  # fmt: skip
_HELP = (
    "Enter or n  the next stop (or the rest of this one)",
    "b           the previous stop",
    "l, l 2      predict the results of this stop's labs, and run them; l 2: only the second",
    "a           answer the question of this stop",
    "d           mark this stop as read, or as not read",
    "o           open the source in $VISUAL or $EDITOR, at the line",
    "c           contents",
    "g STOP      go to a stop: its number or id; you may also type only the number",
    "q           quit; next time you continue here",
)
ROOM = 24  # lines of source below the prose, if no terminal says how many fit
_LEAST = 12
_AROUND = 14  # lines of a stop around its prose: its place, its links, the prompt


def tour(
    name: Annotated[
        str | None,
        Argument(metavar="[TOUR]", help="the tour's id, or TOUR#STOP", autocompletion=complete_tour),
    ] = None,
    stop: Annotated[
        str | None, Argument(metavar="[STOP]", help="a stop's id or number", autocompletion=complete_stop)
    ] = None,
    everything: Annotated[bool, Option("--all", help="print the whole tour, or one stop, without prompts")] = False,
    path: Annotated[bool, Option("--path", help="show the concepts in four stages, and your progress")] = False,
    fetch: Annotated[
        bool, Option("--fetch", help="first download the source of the installed torch, if there is none")
    ] = False,
    as_json: AsJson = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """List the tours, or follow one from STOP, or from the stop at which you left it."""
    if path and name:
        hint = "ptexplore tour --path"
        raise PtexploreError("--path shows all tours, so it takes no name", f"{name} was given with it", hint, USAGE)
    with open_workspace(python, tree, notes) as workspace:
        if fetch:
            fetch_if_none(workspace)
        if path:
            return _path(workspace.library, as_json=as_json)
        if name is None:
            return _list(workspace.library, as_json=as_json)
        tour_id, _, stop_id = name.partition("#")
        chosen = find_tour(workspace.library, tour_id)
        asked = stop or stop_id
        number = find_stop(chosen, asked) if asked else None
        numbers = [number] if number is not None else list(range(1, len(chosen.stops) + 1))
        # Indexing takes a minute or two, so the introduction comes first.
        is_begun = number is None and not as_json and not workspace.trees_at_hand()[0]
        if is_begun:
            _print_intro(chosen)
        guide = workspace.guide()
        if not fetch:
            _tell_what_is_missing(guide, chosen)
        if as_json:
            from ptexplore.view.documents.notes import tour_document

            print_json(tour_document(guide, chosen, numbers, load_progress(), ROOM))
        elif everything or not (sys.stdin.isatty() and sys.stdout.isatty()):
            _print(guide, chosen, numbers, whole=number is None, intro=number is None and not is_begun)
        else:
            TerminalWalk(chosen, guide, workspace).walk(number, intro=number is None and not is_begun)
    return 0


def _tell_what_is_missing(guide: Guide, tour: Tour) -> None:
    """If no source of PyTorch is here, says how many stops of the tour lack source, and how to get it."""
    missing = guide.without_source(tour)
    if missing:
        total = len(tour.stops)
        warn(f"{missing} of {total} stops have no source here: ptexplore tour {tour.id} --fetch downloads it")


def _list(library: NoteLibrary, *, as_json: bool) -> int:
    progress = load_progress()
    rows = listing(library, progress)
    if as_json:
        from ptexplore.view.documents.notes import tour_list_document

        print_json(tour_list_document(rows))
        return 0
    if not rows:
        raise no_tours(library)
    from ptexplore.render.terminal.tour_list import print_tours

    print_tours(open_console(), rows)
    _troubles(library.problems, progress)
    return 0


def _path(library: NoteLibrary, *, as_json: bool) -> int:
    from ptexplore.annotations.concepts import load_path

    progress = load_progress()
    path = load_path(library)
    view = path_view(library, path, progress)
    if as_json:
        from ptexplore.view.documents.notes import path_document

        print_json(path_document(view))
        return 0
    from ptexplore.render.terminal.tour_list import print_path

    print_path(open_console(), view)
    _troubles(path.problems, progress)
    return 0


def _troubles(problems: Sequence[Problem], progress: ReadingProgress) -> None:
    from ptexplore.render.terminal.tour_list import print_problems

    print_problems(open_console(stderr=True), problems)
    if progress.trouble:
        warn(f"your progress cannot be read: {progress.trouble}")


def _print_intro(tour: Tour) -> None:
    from ptexplore.render.terminal.console import captured
    from ptexplore.render.terminal.tour import print_intro

    sys.stdout.write("\n".join([*captured(print_intro, open_console(), tour), "", ""]))
    sys.stdout.flush()


def _print(guide: Guide, tour: Tour, numbers: Sequence[int], *, whole: bool, intro: bool) -> None:
    """Prints these stops of a tour, then the results of their labs. With `intro`, the introduction comes first."""
    from ptexplore.render.terminal.console import captured
    from ptexplore.render.terminal.tour import print_answers, print_stop

    console = open_console()
    views = []
    if intro:
        _print_intro(tour)
    for number in numbers:
        view = guide.stop(tour, number)
        views.append(view)
        lines = captured(print_stop, console, view, _fitting(console, guide, view))
        sys.stdout.write("\n".join([*lines, *([""] if whole else []), ""]))
    answers = captured(print_answers, console, views)
    if answers:
        sys.stdout.write("\n".join([*([] if whole else [""]), *answers, ""]))


def _fitting(console: Console, guide: Guide, view: StopView) -> Excerpt | None:
    """Returns as much source as fits: beside the prose a full screen, below it half a screen."""
    from ptexplore.render.terminal.tour import is_wide, prose_height, source_height

    if not console.is_terminal:
        return guide.excerpt(view, ROOM)
    rows = shutil.get_terminal_size().lines
    room = max(prose_height(console, view), rows - _AROUND) if is_wide(console) else rows // 2
    room = max(room, _LEAST)
    lines = room
    for _try in range(3):  # folded lines take more of the screen
        excerpt = guide.excerpt(view, lines)
        high = source_height(console, excerpt)
        if high <= room or lines == _LEAST:
            break
        lines = max(_LEAST, lines * room // high)
    return excerpt


class TerminalWalk:
    """Shows the stops of a tour, and runs the command typed below each."""

    def __init__(self, tour: Tour, guide: Guide, workspace: Workspace) -> None:
        self._walk = TourWalk(tour, 1, remember, lambda why: self._tell(f"your progress cannot be saved: {why}"))
        self._guide = guide
        self._workspace = workspace
        self._console = open_console()
        self._rest: list[str] = []  # lines of the stop that did not fit the screen

    def walk(self, number: int | None, *, intro: bool) -> None:
        """Reads from a stop on, by default from the stop where the reader left the tour. `intro`: show it first."""
        self._walk.number = number or self._left()
        try:
            self._show(intro=self._walk.number == 1 and intro)
            while self._step():
                pass
        except (EOFError, KeyboardInterrupt):
            print()

    def _left(self) -> int:
        """Returns the stop where the reader left the tour, and says so."""
        progress = load_progress()
        if progress.trouble:
            self._tell(f"your progress cannot be read: {progress.trouble}")
        number = stop_left_at(self._walk.tour, progress)
        if number > 1:
            self._tell(f"you continue at stop {number}; g 1 goes to the first")
        return number

    def _step(self) -> bool:
        """Asks for one command and runs it. False means to leave."""
        typed = input(self._prompt()).strip()
        word, _, rest = typed.partition(" ")
        command = _WORDS.get(word.lower(), word.lower())
        if word.isdigit() and not rest:
            command, rest = "go", word
        if command == "next":
            return self._next()
        if command == "quit":
            return False
        commands = {"back": self._back, "open": self._open, "lab": self._labs, "contents": self._contents,
                    "go": self._go, "help": self._help, "answer": self._answer, "mark": self._mark}  # fmt: skip
        if command not in commands:
            self._tell(
                f"{typed} is not a command: n next, b back, l lab, a answer, d read, o open, c contents, g STOP, "
                "q quit, ? help"
            )
            return True
        try:
            commands[command](rest.strip())
        except PtexploreError as error:
            self._tell(error.one_line)
        return True

    def _prompt(self) -> str:
        if self._rest:
            return f"-- {len(self._rest)} more lines: Enter; b back, c contents, q quit > "
        stop = self._walk.stop
        forward = "finish" if self._walk.is_last else "next"
        some = f", l lab{'s' if len(stop.labs) > 1 else ''}" if stop.labs else ""
        back = ", b back" if self._walk.number > 1 else ""
        answer = ", a answer" if self._view().concepts else ""
        return f"Enter {forward}{back}{some}{answer}, d read, c contents, q quit, ? help > "

    def _view(self) -> StopView:
        return self._guide.stop(self._walk.tour, self._walk.number)

    # --- commands ---

    def _next(self) -> bool:
        if self._rest:
            self._page()
            return True
        if not self._walk.forward():
            self._finish()
            return False
        self._show()
        return True

    def _back(self, _rest: str) -> None:
        if self._walk.back():
            self._show()
        else:
            self._tell("this is the first stop")

    def _go(self, rest: str) -> None:
        tour = self._walk.tour
        if rest:
            self._walk.number = find_stop(tour, rest.removeprefix(f"{tour.id}#"))
        self._show()

    def _open(self, _rest: str) -> None:
        from ptexplore.render.terminal.pager import open_in_editor

        view = self._view()
        if view.file is None or view.file_line is None:
            self._tell(f"no file to open: {'; '.join(view.facts) or view.outcome}")
            return
        open_in_editor(view.file, view.file_line)

    def _contents(self, _rest: str) -> None:
        from ptexplore.render.terminal.tour_list import print_contents

        print_contents(self._console, self._walk.tour, load_progress(), self._walk.number)

    def _help(self, _rest: str) -> None:
        self._say(_HELP)

    def _mark(self, _rest: str) -> None:
        name = self._walk.tour.name_of(self._walk.stop)
        read = load_progress().state(name) != "read"
        self._walk.mark(read=read)
        self._tell(f"{name}: {'read' if read else 'not read'}")

    def _answer(self, _rest: str) -> None:
        """Asks each question of the stop. The reader answers in free words, and only the reader judges the answer."""
        stop, concepts = self._walk.stop, self._view().concepts
        if not concepts:
            self._tell("this stop has no question: d marks it as read")
        for concept in concepts:
            self._tell(concept.question)
            if self._walk.answered(stop, input("your answer > ")):
                self._tell("the stop is marked as read; its text says whether your answer is right")

    def _labs(self, rest: str) -> None:
        labs = self._walk.stop.labs
        if not labs:
            self._tell("this stop has no lab")
        elif rest and not (rest.isdecimal() and len(rest) < 6 and 1 <= int(rest) <= len(labs)):
            self._tell(f"this stop has {len(labs)} lab{'s' if len(labs) > 1 else ''}: l 1")
        else:
            for lab in [labs[int(rest) - 1]] if rest else labs:
                if not self._lab(lab):
                    return

    def _lab(self, lab: Lab) -> bool:
        """Runs one lab and prints the result. False if the reader stopped it."""
        from ptexplore.render.terminal.tour import print_lab
        from ptexplore.workspace.consent import allowed_labs

        tour, stop = self._walk.tour, self._walk.stop
        if not allowed_labs()(tour):  # reported before the installed torch is opened
            file = shlex.quote(tour.where.file)
            self._tell(f"lab {lab.id}: untrusted: its file is not trusted: ptexplore notes trust {file}")
            return True
        try:
            prediction = input(f"{lab.id}: {lab_question(lab)} (Enter: no guess) > ")
            self._tell(f"running {lab.id} …")
            result, _trace = self._workspace.run_lab(tour, stop, lab)
        except KeyboardInterrupt:
            self._tell("\nstopped")
            return False
        print_lab(self._console, lab, result, prediction)
        self._walk.ran(stop, lab, result, prediction)
        return True

    # --- showing ---

    def _show(self, *, intro: bool = False) -> None:
        from ptexplore.render.terminal.console import captured
        from ptexplore.render.terminal.tour import print_intro, print_stop

        view = self._view()
        excerpt = _fitting(self._console, self._guide, view)
        rule = "─" * min(self._console.width, 40)
        head = [*captured(print_intro, self._console, self._walk.tour), "", rule] if intro else [rule]
        self._rest = [*head, *captured(print_stop, self._console, view, excerpt), ""]
        self._walk.shown()
        self._page()

    def _page(self) -> None:
        """Prints as much of the stop as fits the screen above the prompt."""
        room = max(shutil.get_terminal_size().lines - 2, 5)
        if len(self._rest) - room <= 2:
            room = len(self._rest)  # a prompt for two lines is worse than two lines scrolled away
        self._say(self._rest[:room])
        self._rest = self._rest[room:]

    def _finish(self) -> None:
        progress, tour = load_progress(), self._walk.tour
        total, visited = len(tour.stops), progress.visited_of(tour)
        self._tell(f"that was the last stop: {progress.of(tour)} of {total} read, {visited} visited")
        others = [t for t in in_order(self._guide.library) if t.kind == "tour" and progress.of(t) < len(t.stops)]
        left = next((t for t in others if t.id != tour.id), None)
        self._tell(f"next: ptexplore tour {left.id}" if left is not None else "next: ptexplore tour --path")

    def _say(self, lines: Sequence[str]) -> None:
        sys.stdout.write("\n".join([*lines, ""]))
        sys.stdout.flush()

    def _tell(self, text: str) -> None:
        self._say([clean_lines(text)])
