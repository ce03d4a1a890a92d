"""`ptexplore tour`: list the tours, read one in the terminal, show the path of concepts."""

from __future__ import annotations

import ast
import shlex
import shutil
import sys
from datetime import date
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.annotations.progress import (
    GradedAnswer,
    ReadingProgress,
    ReadingStep,
    graded,
    load_progress,
    remember,
)
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
from ptexplore.errors import NOT_PYTHON, USAGE, PtexploreError
from ptexplore.safe_text import clean_lines
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

    from ptexplore.annotations.concepts import Concept
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.annotations.records import Lab, Problem, Tour
    from ptexplore.cli.background import BackgroundIndex
    from ptexplore.workspace.workspace import Workspace

EPILOG = """\
while walking: Enter or n next, b back, l predict and run the stop's labs (l 2: the second), e edit the last lab and run
               it again, a answer the stop's question, o open the source in $EDITOR, c contents, g STOP go to a stop,
               q quit; Ctrl-D and Ctrl-C leave, too
"""
_WORDS = {"": "next", "n": "next", "b": "back", "p": "back", "q": "quit", "o": "open", "l": "lab", "c": "contents",
          "g": "go", "?": "help", "h": "help", "exit": "quit", "previous": "back", "labs": "lab", "a": "answer",
          "e": "edit"}  # fmt: skip
_HELP = (
    "Enter or n  the next stop (or the rest of this one)",
    "b           the previous stop",
    "l, l 2      predict the results of this stop's labs, and run them; l 2: only the second",
    "e           edit the expression of the last lab, and run it again",
    "a           answer the question of this stop, see a model answer, and grade yours",
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
    answers: Annotated[
        bool, Option("--answers", help="print the results of the labs and the model answers of the questions")
    ] = False,
    review: Annotated[bool, Option("--review", help="ask the questions again that you missed some days ago")] = False,
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
        if review:
            return _review(workspace)
        if path:
            return _path(workspace.library, as_json=as_json)
        if name is None:
            return _list(workspace.library, as_json=as_json)
        tour_id, _, stop_id = name.partition("#")
        chosen = find_tour(workspace.library, tour_id)
        asked = stop or stop_id
        number = find_stop(chosen, asked) if asked else None
        numbers = [number] if number is not None else list(range(1, len(chosen.stops) + 1))
        if not (as_json or answers or everything) and sys.stdin.isatty() and sys.stdout.isatty():
            _walk(workspace, chosen, number, has_fetched=fetch)
            return 0
        # For people, the text comes at once, with the trees that have an index. A document has the places of all its
        # stops, and --fetch asks for the source: both wait for the index.
        waits = as_json or fetch
        guide = workspace.guide() if waits else workspace.guide_at_hand()
        if not guide.trees:
            _tell_how_to_index()
        elif not fetch:
            _tell_what_is_missing(guide, chosen)
        if as_json:
            from ptexplore.view.documents.notes import tour_document

            print_json(tour_document(guide, chosen, numbers, load_progress(), ROOM))
        elif answers:
            _print_answers(guide, chosen, numbers)
        else:
            _print(guide, chosen, numbers, whole=number is None)
    return 0


def _walk(workspace: Workspace, tour: Tour, number: int | None, *, has_fetched: bool) -> None:
    """Lets the reader walk a tour at once: if the tree in use has no index, it is built meanwhile.

    With `has_fetched` nothing is said of missing source.
    """
    guide = workspace.guide_at_hand()
    index = None
    if not guide.trees:
        from ptexplore.cli.background import BackgroundIndex

        python = ("--python", workspace.python) if workspace.python is not None else ()
        index = BackgroundIndex(python)
    elif not has_fetched:
        _tell_what_is_missing(guide, tour)
    try:
        TerminalWalk(tour, guide, workspace, index).walk(number, intro=number is None)
    finally:
        if index is not None:
            index.stop()


def _tell_how_to_index() -> None:
    """Says that the stops are printed without their lines of source, and how to get these."""
    warn("the source is not indexed, so stops have no lines of source: ptexplore index adds them, in a minute or two")


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
    from ptexplore.annotations.concepts import load_path
    from ptexplore.render.terminal.tour_list import print_tours

    known = load_path(library).concepts
    due = sum(name in known for name in progress.due(date.today()))
    print_tours(open_console(), rows, due)
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


def _print(guide: Guide, tour: Tour, numbers: Sequence[int], *, whole: bool) -> None:
    """Prints these stops of a tour, without the results of their labs. `whole`: the introduction comes first."""
    from ptexplore.render.terminal.console import captured
    from ptexplore.render.terminal.tour import print_stop

    console = open_console()
    if whole:
        _print_intro(tour)
    for number in numbers:
        view = guide.stop(tour, number)
        lines = captured(print_stop, console, view, _fitting(console, guide, view))
        sys.stdout.write("\n".join([*lines, *([""] if whole else []), ""]))
    if any(tour.stops[number - 1].labs for number in numbers):
        stop = "" if whole else f" {tour.stops[numbers[0] - 1].id}"
        sys.stdout.write(
            "\n".join([*([] if whole else [""]), f"answers: ptexplore tour {tour.id}{stop} --answers", ""])
        )


def _print_answers(guide: Guide, tour: Tour, numbers: Sequence[int]) -> None:
    """Prints the results of these stops' labs, and the model answers of their questions."""
    from ptexplore.render.terminal.console import captured
    from ptexplore.render.terminal.tour import print_answers

    views = [guide.stop(tour, number) for number in numbers]
    sys.stdout.write("\n".join([*captured(print_answers, open_console(), views), ""]))


def _fitting(console: Console, guide: Guide, view: StopView) -> Excerpt | None:
    """Returns as much source as fits: beside the prose a full screen, below it half a screen."""
    from ptexplore.render.terminal.tour import is_beside, prose_height, source_height

    if not console.is_terminal:
        return guide.excerpt(view, ROOM)
    rows = shutil.get_terminal_size().lines
    room = max(prose_height(console, view), rows - _AROUND) if is_beside(console, view) else rows // 2
    room = max(room, _LEAST)
    lines = room
    for _try in range(3):  # folded lines take more of the screen
        excerpt = guide.excerpt(view, lines)
        high = source_height(console, view, excerpt)
        if high <= room or lines == _LEAST:
            break
        lines = max(_LEAST, lines * room // high)
    return excerpt


def ask_concept(console: Console, guide: Guide, concept: Concept) -> bool | None:
    """Asks a question, shows the model answer with its proof, and returns the reader's grade: right, missed or none."""
    from ptexplore.render.terminal.tour import print_model_answer

    print(clean_lines(concept.question))
    if not input("your answer > ").strip():
        return None
    if concept.answer:
        print_model_answer(console, concept, guide.proofs(concept))
    typed = input("was your answer right? y, n (Enter: no grade) > ").strip().lower()
    return {"y": True, "n": False}.get(typed[:1])


def edited_line(prompt: str, text: str) -> str:
    """Returns a line that the reader edited. Python's readline puts `text` there; without it the line is empty."""
    try:
        import readline
    except ImportError:
        print(clean_lines(text))
        return input(prompt)
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return input(prompt)
    finally:
        readline.set_startup_hook()


def _again(grade: GradedAnswer) -> str:
    """Returns when a question is asked again, to put behind the grade."""
    return f"; it is asked again from {grade.due} on" if grade.due else ""


def _review(workspace: Workspace) -> int:
    """Asks the questions again that the reader missed, if their day has come."""
    from ptexplore.annotations.concepts import load_path

    concepts = load_path(workspace.library).concepts
    due = [concepts[name] for name in load_progress().due(date.today()) if name in concepts]
    if not due:
        print("no question is due")
    elif not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("\n".join(clean_lines(concept.question) for concept in due))
    else:
        guide = workspace.guide_at_hand()
        try:
            for number, concept in enumerate(due, 1):
                print(f"{number}/{len(due)}")
                right = ask_concept(open_console(), guide, concept)
                if right is not None:
                    grade = graded(load_progress().answers.get(concept.id), date.today(), right=right)
                    remember(ReadingStep(answer=(concept.id, grade)))
                    print(f"{'right' if right else 'missed'}{_again(grade)}")
        except (EOFError, KeyboardInterrupt):
            print()
    return 0


class TerminalWalk:
    """Shows the stops of a tour, and runs the command typed below each."""

    def __init__(self, tour: Tour, guide: Guide, workspace: Workspace, index: BackgroundIndex | None = None) -> None:
        """`index` builds the index that `guide` lacks."""
        self._walk = TourWalk(tour, 1, remember, lambda why: self._tell(f"your progress cannot be saved: {why}"))
        self._guide = guide
        self._index = index
        self._first_shown = 1  # the number of the stop at which this walk begins
        self._workspace = workspace
        self._console = open_console()
        self._rest: list[str] = []  # lines of the stop that did not fit the screen
        self._last: Lab | None = None  # the lab that ran last
        self._edited: dict[str, str] = {}  # the expressions that the reader edited, by the lab's id

    def walk(self, number: int | None, *, intro: bool) -> None:
        """Reads from a stop on, by default from the stop where the reader left the tour. `intro`: show it first."""
        self._walk.number = self._first_shown = number or self._left()
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
                    "go": self._go, "help": self._help, "answer": self._answer, "edit": self._edit}  # fmt: skip
        if command not in commands:
            self._tell(
                f"{typed} is not a command: n next, b back, l lab, e edit, a answer, o open, c contents, g STOP, "
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
        return f"Enter {forward}{back}{some}{answer}, c contents, q quit, ? help > "

    def _view(self) -> StopView:
        return self._guide.stop(self._walk.tour, self._walk.number)

    def _look_at_index(self) -> None:
        """Says how far the index is; once it is built, the stops get their places."""
        if self._index is None:
            return
        if self._index.is_running:
            if self._walk.number == self._first_shown:
                self._tell("indexing the source, about a minute: stops have no lines of source until then")
            elif self._index.step:
                self._tell(f"indexing: {self._index.step}")
            return
        failure, self._index = self._index.failure, None
        if failure is not None:
            self._tell(f"the source cannot be indexed: {failure.one_line}")
            return
        self._guide = self._workspace.guide()
        self._tell("the source is indexed: stops have their lines from now on")
        _tell_what_is_missing(self._guide, self._walk.tour)

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

    def _answer(self, _rest: str) -> None:
        """Asks each question of the stop, shows the model answer, and lets the reader grade the own answer."""
        stop, concepts = self._walk.stop, self._view().concepts
        if not concepts:
            self._tell("this stop has no question")
        for concept in concepts:
            right = ask_concept(self._console, self._guide, concept)
            if right is not None:
                grade = self._walk.graded(stop, concept, load_progress().answers.get(concept.id), right=right)
                self._tell(f"{'right: the stop is done' if right else 'missed'}{_again(grade)}")

    def _edit(self, rest: str) -> None:
        """Lets the reader edit the expression of the last lab, or of the stop's only one, and runs it."""
        from ptexplore.render.terminal.tour import print_edited

        labs = self._walk.stop.labs
        lab = self._last if self._last in labs else labs[0] if labs else None
        if lab is None:
            self._tell("this stop has no lab")
            return
        if not self._may_run(lab):
            return
        try:
            typed = rest or edited_line(f"{lab.id} > ", self._edited.get(lab.id, " ".join(lab.run.split())))
            if not typed.strip():
                return
            self._edited[lab.id] = typed
            ast.parse(typed.strip(), mode="eval")
            self._tell("running …")
            print_edited(self._console, self._workspace.run_edited_lab(self._walk.tour, lab, typed.strip()))
        except NOT_PYTHON as error:
            self._tell(f"this is not a Python expression: {getattr(error, 'msg', error)}")
        except KeyboardInterrupt:
            self._tell("\nstopped")

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
        from ptexplore.render.terminal.tour import print_lab, print_question

        tour, stop = self._walk.tour, self._walk.stop
        if not self._may_run(lab):
            return True
        try:
            print_question(self._console, lab)
            prediction = input(f"{lab.id}: your prediction (Enter: none) > ")
            waits = " (it begins when torch's operators are read)" if self._index and self._index.is_running else ""
            self._tell(f"running {lab.id} …{waits}")
            result, _trace = self._workspace.run_lab(tour, stop, lab)
        except KeyboardInterrupt:
            self._tell("\nstopped")
            return False
        self._last = lab
        print_lab(self._console, lab, result, prediction)
        self._walk.ran(stop, lab, result, prediction)
        return True

    def _may_run(self, lab: Lab) -> bool:
        """Whether a lab may run; if not, says so. This is reported before the installed torch is opened."""
        from ptexplore.workspace.consent import allowed_labs

        tour = self._walk.tour
        if allowed_labs()(tour):
            return True
        file = shlex.quote(tour.where.file)
        self._tell(f"lab {lab.id}: untrusted: its file is not trusted: ptexplore notes trust {file}")
        return False

    # --- showing ---

    def _show(self, *, intro: bool = False) -> None:
        from ptexplore.render.terminal.console import captured
        from ptexplore.render.terminal.tour import print_intro, print_stop

        self._look_at_index()
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
        total, seen = len(tour.stops), progress.visited_of(tour)
        self._tell(f"that was the last stop: {seen} of {total} seen, {progress.of(tour)} done")
        others = [t for t in in_order(self._guide.library) if t.kind == "tour" and progress.of(t) < len(t.stops)]
        left = next((t for t in others if t.id != tour.id), None)
        self._tell(f"next: ptexplore tour {left.id}" if left is not None else "next: ptexplore tour --path")

    def _say(self, lines: Sequence[str]) -> None:
        sys.stdout.write("\n".join([*lines, ""]))
        sys.stdout.flush()

    def _tell(self, text: str) -> None:
        self._say([clean_lines(text)])
