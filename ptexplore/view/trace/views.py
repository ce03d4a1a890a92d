"""Chooses the view of a trace: the one that was asked for, else the one that suits the trace.

A view is imported only to be shown. A program's first screen does not need the modules that word C++ frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.nesting import without
from ptexplore.model.trace import Hop, Session, Trace, walk
from ptexplore.model.traced import TracedName
from ptexplore.saved.document import to_json
from ptexplore.view.trace.page import VIEW_NAMES, Options, SavedView, TraceView, ViewName, leveled

FEW = 20  # operator calls from the user's own code: with more of them, the path could show only some
_OF_THE_TREE = "--full, --depth, --only and --open"


def view(trace: Trace, options: Options, session: Session | None = None) -> TraceView:
    """Returns the rows of a trace. `session`, if given, says how the native frames were recorded.

    Raises PtexploreError (usage) if no hop matches `options.opened`, if options do not go together, or if the trace
    lacks the data of the view.
    """
    shown = LAYOUTS[trace.traced.name][suited(trace, options)](trace, options, session)
    return shown if shown is not None else _tree(trace, options, session)


def suited(trace: Trace, options: Options) -> ViewName:
    """Returns the name of the view: the one that was asked for, else the one that suits the trace and `options.opened`.

    Raises PtexploreError (usage) if the trace has no such view, or if the view does not take these options.
    """
    return CHOICES[trace.traced.name](trace, options)


def available(trace: Trace) -> tuple[ViewName, ...]:
    """Returns the views that a trace has."""
    return tuple(LAYOUTS[trace.traced.name])


def _choice_of_expression(trace: Trace, options: Options) -> ViewName:
    """Chooses the view of an expression.

    By default it is the path, as long as the path can show what ran and in which order. `--open` with a module opens in
    the path or in `modules`, with any other name in the tree.
    """
    from ptexplore.view.trace.native import modules_called

    is_opened = options.opened is not None and bool(modules_called(trace, options.opened))
    if options.view == "lines":
        why = "an expression is one line; lines have costs in a trace of a script or of record()"
        raise PtexploreError("an expression has no view lines", why, "--script FILE --view lines", USAGE)
    name = options.view or _first_of_expression(trace, options, is_opened=is_opened)
    if name != "tree" and options.of_the_tree and not (name in ("path", "modules") and is_opened):
        why = f"{_OF_THE_TREE} choose rows of the call tree; --view {name} has other rows"
        raise PtexploreError(f"--view {name} takes no such option", why, "--view tree", USAGE)
    return name


def _first_of_expression(trace: Trace, options: Options, *, is_opened: bool) -> ViewName:
    if options.of_the_tree:
        return "path" if is_opened and not options.full else "tree"
    from ptexplore.view.trace.native import is_compiling
    from ptexplore.view.trace.path import outermost_operators

    # Everything that torch.compile does to compile a function has one row.
    shown = tuple(without(trace.hops, is_compiling))
    modules = sum(hop.module is not None for hop in shown)
    kept = {hop.id for hop in shown}
    operators = sum(hop.id in kept for hop in outermost_operators(trace.hops))
    return "modules" if modules > 1 or operators > FEW else "path"


def _choice_of_program(_trace: Trace, options: Options) -> ViewName:
    """Chooses the view of a program. With `--open`, parts of the program come first, then operators."""
    if options.view == "lines" and options.opened is not None:
        why = "--open chooses a part or an operator; the lines of a file or function are chosen by --only"
        raise PtexploreError("--view lines takes no --open", why, f"--view lines --only {options.opened}", USAGE)
    if options.view == "path":
        why = "a program takes many paths through the dispatcher, one for each operator"
        raise PtexploreError("a program has no single path", why, "--view operators, then --open NAME", USAGE)
    is_tree = options.full or options.depth is not None or options.only is not None
    return options.view or ("tree" if is_tree else "modules")


def _path(trace: Trace, options: Options, session: Session | None) -> TraceView:
    from ptexplore.view.trace.path import path_view

    return path_view(trace, options, session)


def _expression_modules(trace: Trace, options: Options, session: Session | None) -> TraceView | None:
    from ptexplore.view.trace.expression_modules import expression_modules

    return expression_modules(trace, options, session)


def _program_modules(trace: Trace, options: Options, session: Session | None) -> TraceView | None:
    from ptexplore.view.trace.program_modules import program_modules

    return program_modules(trace, options, session)


def _expression_operators(trace: Trace, options: Options, session: Session | None) -> TraceView:
    from ptexplore.view.trace.expression_operators import expression_operators

    return expression_operators(trace, options, session)


def _program_operators(trace: Trace, options: Options, session: Session | None) -> TraceView:
    from ptexplore.view.trace.program_operators import program_operators

    return program_operators(trace, options, session)


def _expression_copies(trace: Trace, options: Options, session: Session | None) -> TraceView:
    from ptexplore.view.trace.copies import expression_copies

    return expression_copies(trace, options, session)


def _program_copies(trace: Trace, options: Options, session: Session | None) -> TraceView:
    from ptexplore.view.trace.copies import program_copies

    return program_copies(trace, options, session)


def _program_lines(trace: Trace, options: Options, session: Session | None) -> TraceView:
    from ptexplore.view.trace.program_lines import program_lines

    return program_lines(trace, options, session)


def _tree(trace: Trace, options: Options, session: Session | None) -> TraceView:
    from ptexplore.view.trace.rows import tree_view

    return tree_view(trace, options, session)


# The functions that make each view. A function returns None if it has nothing with the name to open, unless the view
# was asked for by name.
_Layout = Callable[[Trace, Options, Session | None], TraceView | None]
_OF_PROGRAM: Mapping[ViewName, _Layout] = {
    "modules": _program_modules,
    "operators": _program_operators,
    "copies": _program_copies,
    "lines": _program_lines,
    "tree": _tree,
}
LAYOUTS: Mapping[TracedName, Mapping[ViewName, _Layout]] = {
    "expression": {
        "path": _path,
        "modules": _expression_modules,
        "operators": _expression_operators,
        "copies": _expression_copies,
        "tree": _tree,
    },
    "script": _OF_PROGRAM,
    "block": _OF_PROGRAM,
}
CHOICES: Mapping[TracedName, Callable[[Trace, Options], ViewName]] = {
    "expression": _choice_of_expression,
    "script": _choice_of_program,
    "block": _choice_of_program,
}


def view_to_json(page: TraceView) -> str:
    """Returns a view as JSON text: its rows, and the text above and below them."""
    return to_json(SavedView(view=leveled(page)))


def stepped_by(trace: Trace, number: int | None) -> str | None:
    """Returns the argument of `--native-op` for an operator call: the hop itself, or the call around it; else None."""
    from ptexplore.view.trace.native import operator_name
    from ptexplore.view.trace.screen import call_numbers

    around: dict[int, Hop] = {child.id: hop for hop in walk(trace.hops) for child in hop.children}
    hop = next((hop for hop in walk(trace.hops) if hop.id == number), None)
    while hop is not None and hop.kind != "op":
        hop = around.get(hop.id)
    return f"{operator_name(hop)}#{call_numbers(trace)[hop.id]}" if hop is not None else None


def to_step(trace: Trace, opened: str) -> str | None:
    """Returns the argument of `--native-op` that steps the costliest operator call inside what `opened` names.

    Returns None if a call inside was stepped already, if stepping is not possible, or if no operator runs inside.
    Raises PtexploreError (usage) if nothing has that name.
    """
    if not trace.traced.each_call or trace.ending is not None or not trace.captured.native:
        return None
    from ptexplore.view.trace import native
    from ptexplore.view.trace.path import outermost_operators
    from ptexplore.view.trace.screen import call_numbers

    _, numbers = native.opened(trace, opened)
    inside = [hop for hop in walk(trace.hops) if hop.id in numbers]
    calls = list(outermost_operators(inside))
    if not calls or any(hop.instructions is not None for hop in walk(inside)):
        return None
    costliest = max(calls, key=lambda hop: hop.time or 0)
    return f"{native.operator_name(costliest)}#{call_numbers(trace)[costliest.id]}"


def named(text: str | None) -> ViewName | None:
    """Returns the view with that name; None for no name. Raises PtexploreError (usage) for an unknown name."""
    if text is None:
        return None
    name = next((name for name in VIEW_NAMES if name == text), None)
    if name is None:
        from difflib import get_close_matches

        near = (get_close_matches(text, VIEW_NAMES, 1) or [VIEW_NAMES[0]])[0]
        why = f"the views are {', '.join(VIEW_NAMES)}"
        raise PtexploreError(f"there is no view {text}", why, f"--view {near}", USAGE)
    return name
