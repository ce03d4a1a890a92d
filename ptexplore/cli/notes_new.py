"""`ptexplore notes new SYMBOL|FILE:LINE`: begin a note in the reader's editor, its anchor filled in."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_tree, tree_of
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.annotations.records import Anchor
    from ptexplore.cli.ready import Indexed
    from ptexplore.view.targets import Candidate


def register(actions: Any) -> None:
    """Add the action to the parser."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "new",
        help="begin a note on a symbol or a line",
        description="Write a file with the anchor filled in, and open it in $VISUAL or $EDITOR.",
    )
    parser.add_argument("target", metavar="SYMBOL|FILE:LINE")
    parser.add_argument("--notes", metavar="DIR", help="the folder it goes into (ptexplore.toml's first, else ./notes)")
    parser.add_argument("--id", metavar="ID", help="the note's id and file name (made of the symbol's name)")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print it, and write nothing")
    add_tree(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the note and open it; the file stays where the editor cannot be started."""
    from ptexplore.view.new_note import note_text

    target = options.target.strip()
    if not target:
        hint = "ptexplore notes new at::native::add_kernel"
        raise PtexploreError("there is nothing to write about", "the target is empty", hint, USAGE)
    here = tree_of(options)
    anchor, title = _anchor(here, target)
    name = options.id or _id(anchor.symbol)
    text = note_text(anchor, name, title, here.tree.info.version)
    if options.only_print:
        print(text, end="")
        return 0
    file = _folder(options) / f"{name}.md"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise PtexploreError(f"{file} is there already", "a note is never written over", "--id NAME", USAGE) from None
    except OSError as error:
        raise PtexploreError(f"{file} cannot be written", error.strerror or "", "--notes DIR", FAILED) from error
    print(file)
    return _edit(file, text)


def _edit(file: Path, text: str) -> int:
    import os

    from ptexplore.render.pager import open_in_editor

    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        print("no editor is chosen (EDITOR=vim …): the note waits there")
        return 0
    open_in_editor(str(file), text.count("\n"))
    return 0


def _folder(options: argparse.Namespace) -> Path:
    from ptexplore.annotations.load import OWN
    from ptexplore.source.project import find_project

    if options.notes:
        return Path(options.notes)
    project = find_project(Path.cwd())
    return project.notes[0] if project is not None and project.notes else Path(OWN)


def _id(symbol: str) -> str:
    """The symbol's own words, as an id: `Engine::evaluate_function` is engine-evaluate-function."""
    words = re.findall(r"[A-Za-z0-9]+", "-".join(re.split(r"::|\.", symbol)[-2:]))
    return "-".join(words).lower()[:64].strip("-") or "note"


def _anchor(here: Indexed, target: str) -> tuple[Anchor, str]:
    """The anchor of the one thing that the target names. Raises PtexploreError (USAGE) where there is not one."""
    from ptexplore.view.new_note import anchor_at, anchor_of, anchor_of_row
    from ptexplore.view.targets import candidates
    from ptexplore.view.trees import label

    found = candidates([here], None, target)
    if not found:
        rows = [row for row in here.store.dialect(_operator(target), ("yaml-function",)) if row.path.endswith(".yaml")]
        if len(rows) == 1:
            return anchor_of_row(rows[0]), rows[0].name
    if not found:
        why = f"searched: {label(here.tree.info)}"
        raise PtexploreError(f"there is nothing named {target}", why, "ptexplore find NAME", USAGE)
    if len(found) > 1:
        raise _several(target, found)
    one = found[0]
    if one.kind == "file":
        if one.first is None:
            raise PtexploreError(f"{one.name} is a whole file", "a note is about a place", f"{one.name}:LINE", USAGE)
        return anchor_at(here.tree, here.store, one.name, one.first)
    if one.symbol is None:
        rows = here.store.dialect(one.name, ("yaml-function",))
        if len(rows) == 1:
            return anchor_of_row(rows[0]), rows[0].name
        why = f"{len(rows)} entries of that name are in its YAML"
        raise PtexploreError(f"{one.name} has no one place in this source", why, "ptexplore show NAME", USAGE)
    return anchor_of(here.tree, here.store, one.symbol), one.symbol.qualified


def _operator(target: str) -> str:
    return target if "::" in target else f"aten::{target}"


def _several(target: str, found: list[Candidate]) -> PtexploreError:
    some = "; ".join(f"{one.name} at {one.spot.ref.path}:{one.spot.ref.line}" for one in found[:5])
    first = found[0].spot.ref
    hint = f"ptexplore notes new {first.path}:{first.line}"
    return PtexploreError(f"{target} names {len(found)} things", some, hint, USAGE)
