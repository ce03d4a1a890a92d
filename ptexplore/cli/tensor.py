"""`ptexplore tensor EXPR`: draw tensors in memory: which index is in which cell, what they share, what would copy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ptexplore.cli.asked import RUN, read, with_options_of
from ptexplore.cli.options import open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError

SHOWN = "What is shown"
EPILOG = """\
examples:
  ptexplore tensor "x = torch.arange(12).view(3, 4); v = x[1:, ::2]; t = x.t()"
  ptexplore tensor "x.transpose(0, 1)" --var x="torch.randn(2, 3, 4)" --reshape "6, 4"
  ptexplore tensor "x = torch.ones(2, 3).t()" --against "x.contiguous()"
  ptexplore tensor "x = torch.arange(6).view(2, 3)" --after "x.transpose_(0, 1)"

Several statements are separated by ; . Names that they assign and bare expressions are drawn if they are tensors.
No element is read: a tensor may have any size.
"""


@with_options_of("variables", "setup", "contexts", "timeout")
def tensor(
    expression: Annotated[str, Argument(metavar="EXPR", help="expressions and assignments that give tensors")],
    *,
    python: Annotated[
        str | None, Option(metavar="PATH", help="use the torch of another Python environment", rich_help_panel=RUN)
    ] = None,
    reshape: Annotated[
        list[str] | None,
        Option(
            metavar="SIZES",
            help='does view with these sizes work, and what would reshape copy? for example "3, -1"; can be repeated',
            rich_help_panel=SHOWN,
        ),
    ] = None,
    after: Annotated[
        str | None,
        Option(
            metavar="CODE",
            help='draw the tensors again after these statements, for example "x.transpose_(0, 1)"',
            rich_help_panel=SHOWN,
        ),
    ] = None,
    against: Annotated[
        str | None,
        Option(metavar="EXPR", help='draw other tensors beside, for example "x.contiguous()"', rich_help_panel=SHOWN),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)", rich_help_panel=SHOWN)] = False,
    svg: Annotated[
        str | None, Option(metavar="FILE", help="save the picture as an SVG file", rich_help_panel=SHOWN)
    ] = None,
    **asked: object,
) -> int:
    """Draw tensors in memory: each storage as cells, the tensors over it, and what a view or a write would do."""
    from ptexplore.capture.probing import asked_for
    from ptexplore.workspace.typed import typed

    if svg is not None and Path(svg).is_dir():
        raise PtexploreError(f"{svg} is a folder", "ptexplore writes one file", f"--svg {svg}/tensors.svg", USAGE)
    shapes = tuple(map(_sizes, reshape or ()))
    with open_workspace(python) as workspace:
        answer = workspace.tensors(
            typed(asked_for(expression, {**read(asked), "after": after, "against": against})), shapes
        )
    text = " ".join(expression.split())
    if answer.printed:
        from ptexplore.render.terminal.trace import print_printed

        print_printed(open_console(stderr=True), "statements", answer.printed)
    if as_json:
        from ptexplore.view.documents.tensor import tensor_document

        print_json(tensor_document(answer.layouts, text, answer.after, answer.against))
        return 0
    from ptexplore.render.terminal.tensor import print_tensors
    from ptexplore.view.tensor.page import AFTER, compared_page

    others = ((against or "", answer.against), (AFTER.format(after), answer.after))
    page = compared_page(answer.layouts, text, others)
    print_tensors(open_console(), page)
    if svg is not None:
        from ptexplore.render.terminal.console import picture
        from ptexplore.workspace.saved_traces import write_file

        write_file(Path(svg), picture(lambda console: print_tensors(console, page), text))
    return 0


def _sizes(text: str) -> tuple[int, ...]:
    """Returns the sizes of --reshape. Raises PtexploreError for a text that is not a list of sizes."""
    numbers = re.fullmatch(r"[(\[]?((?:\s*-?\d{1,18}\s*(?:,|(?=[)\]]|$)))*)\s*[)\]]?", text.strip())
    sizes = tuple(int(part) for part in numbers[1].split(",") if part.strip()) if numbers is not None else None
    if sizes is None or min(sizes, default=0) < -1 or sizes.count(-1) > 1:
        why = "sizes are integers of 0 or more; one of them may be -1"
        raise PtexploreError(f"--reshape {text[:80]!r} is not a list of sizes", why, '--reshape "3, -1"', USAGE)
    return sizes
