"""Prints the report of `doctor` in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded, print_next, styled
from ptexplore.view.words.places import place_sentence

if TYPE_CHECKING:
    from ptexplore.model.operators import Count
    from ptexplore.view.health import CheckoutHealth, Health

ORIGINS = {
    "generated": "in generated C++, compared with the regenerated text",
    "built": "in generated C++, compared with the text in the build folder",
    "handwritten": "in hand-written C++, compared with a checkout of this version",
    "python": "in Python, compared with the files of the wheel",
    "nofile": "without a file",
}
_NOT_COMPARED = "in hand-written C++: not compared, because there is no checkout of this version (ptexplore fetch)"


def print_health(console: Console, report: Health, *, unconfirmed: bool) -> None:
    """Print the installed torch, its trees, the confirmed registrations and the caches, then the advice."""
    runtime = report.runtime
    console.print(styled(("torch ", "bold"), (f"{runtime.version} ({runtime.build}, git {runtime.git_version})", "")))
    console.print(styled((f"  Python {runtime.python_version}  {runtime.python}", "dim")))
    console.print(styled((f"  {runtime.torch_dir}", "dim")))
    if report.built_in is not None:
        console.print(styled((f"  built in {report.built_in}: generated C++ from its build folder", "dim")))
    for tree in report.trees:
        console.print(styled(("tree ", "bold"), (f"{tree.name}: {tree.version}, layers {', '.join(tree.layers)}", "")))
        for checkout in report.checkouts:
            if checkout.tree is tree:
                _checkout(console, checkout)
    console.print(Text.assemble(("registrations ", "bold"), f"of {report.operators:,} operators, confirmed:"))
    _registrations(console, report)
    if unconfirmed:
        for reason, number in report.reasons:
            console.print(styled((f"  {number:>6}  {reason}", "dim")))
        for record in report.unconfirmed:
            where = f"{record.path}:{record.macro_line}" if record.path else "no file"
            console.print(styled((f"  {record.op} {record.key or 'schema'}  {where}", "")))
    console.print(Text("cache", style="bold"))
    for cache in report.caches:
        size = f" {cache.size / 1e6:,.1f} MB" if cache.size else ""
        _with_path(console, f"  {cache.name}:{size}", str(cache.path))
    for line in report.advice:
        console.print(styled((f"! {line}", "yellow")))
    if report.sound:
        print_next(console, 'ptexplore trace "torch.add(a, b)"')


def _with_path(console: Console, text: str, path: str) -> None:
    """Print a text and a path. A path that does not fit has a line of its own, unbroken, so that you can copy it."""
    fits = len(text) + 2 + len(path) <= console.width
    for line in (f"{text}  {path}",) if fits else (text, f"    {path}"):
        console.print(styled((line, "dim")), soft_wrap=True)


def _registrations(console: Console, report: Health) -> None:
    """Print how many registrations were confirmed, by the kind of file that they are in."""
    for origin, count in report.registrations.items():
        if origin == "handwritten" and not report.compared and not count.confirmed:
            folded(console, Text(f"  {f'{count.total:,}':>18}  {_NOT_COMPARED}"), "", " " * 22)
            continue
        style = "green" if count.confirmed == count.total else "yellow"
        compared = "built" if origin == "generated" and report.built_in is not None else origin
        console.print(Text.assemble((_figure(count), style), f"  {ORIGINS.get(compared, compared)}"))
    if report.compared or "handwritten" not in report.registrations:
        console.print(Text(f"{_figure(report.in_cpp)}  in C++ together"))


def _figure(count: Count) -> str:
    return f"  {f'{count.confirmed:,} of {count.total:,}':>18}"


def _checkout(console: Console, checkout: CheckoutHealth) -> None:
    """Print how a checkout relates to the installed torch, why, and the figures behind it."""
    relation = checkout.relation
    style = "green" if relation.word == "matches" else "yellow"
    console.print(styled(("  ", ""), (relation.word, style), (f": {place_sentence(relation.why)}", "")))
    files = (
        f"{relation.same:,} of {relation.same + len(relation.different):,} files that are also in the wheel are equal"
    )
    console.print(Text(f"  {files}", style="dim"))
