"""Exports a trace to the files of other profilers and their viewers, by the name of the format."""

from __future__ import annotations

from difflib import get_close_matches

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.trace import Session, Trace
from ptexplore.render import stacks
from ptexplore.render.line_profiler import line_stats
from ptexplore.view.trace.function_lines import function_lines
from ptexplore.view.trace.stacks import stacks_of

LINE_PROFILER = "line_profiler"
FORMATS = (*stacks.FORMATS, LINE_PROFILER)


def exported(trace: Trace, session: Session | None, form: str) -> str | bytes:
    """Returns the content of a file in the format `form`.

    Raises PtexploreError (usage) if there is no such format, or if the trace has no such data.
    """
    if known_format(form) == LINE_PROFILER:
        return line_stats(function_lines(trace))
    return stacks.exported(stacks_of(trace, session), form)


def known_format(form: str) -> str:
    """Returns the name of a format. Raises PtexploreError (usage) if there is no such format."""
    if form not in FORMATS:
        near = (get_close_matches(form, FORMATS, 1) or ["speedscope"])[0]
        why = f"the formats are {', '.join(FORMATS)}"
        raise PtexploreError(f"--export {form} is not a format", why, f"--export {near} FILE", USAGE)
    return form
