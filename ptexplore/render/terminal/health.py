"""Print doctor's report in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ptexplore.safe_text import clean
from ptexplore.view.health import CheckoutHealth, Health

ORIGINS = {
    "generated": "in generated C++, against the regenerated text",
    "handwritten": "in hand-written C++, against a checkout of this version",
    "python": "in Python, against the wheel's own files",
    "nofile": "that name no file",
}


def print_health(console: Console, report: Health, *, unconfirmed: bool) -> None:
    """The runtime, its tree, the truth check and the caches, then what to do."""
    runtime = report.runtime
    console.print(Text.assemble(("torch ", "bold"), f"{runtime.version} ({runtime.build}, git {runtime.git_version})"))
    console.print(Text(f"  Python {runtime.python_version}  {clean(runtime.python)}", style="dim", overflow="fold"))
    console.print(Text(f"  {clean(runtime.torch_dir)}", style="dim", overflow="fold"))
    for tree in report.trees:
        console.print(Text.assemble(("tree ", "bold"), f"{tree.name}: {tree.version}, layers {', '.join(tree.layers)}"))
        for one in report.checkouts:
            if one.tree is tree:
                _checkout(console, one)
    console.print(Text.assemble(("registrations ", "bold"), f"of {report.operators:,} operators, confirmed:"))
    for origin, count in report.registrations.items():
        style = "green" if count.confirmed == count.total else "yellow"
        figure = f"{count.confirmed:,} of {count.total:,}"
        console.print(Text.assemble(("  ", ""), (f"{figure:>18}", style), f"  {ORIGINS.get(origin, origin)}"))
    figure = f"{report.in_cpp.confirmed:,} of {report.in_cpp.total:,}"
    console.print(Text.assemble("  ", f"{figure:>18}", "  in C++ together"))
    if unconfirmed:
        for reason, number in report.reasons:
            console.print(Text(f"  {number:>6}  {clean(reason)}", style="dim"))
        for record in report.unconfirmed:
            where = f"{record.path}:{record.macro_line}" if record.path else "no file"
            console.print(Text(f"  {record.op} {record.key or 'schema'}  {clean(where)}", overflow="fold"))
    console.print(Text("cache", style="bold"))
    for cache in report.caches:
        size = f"{cache.size / 1e6:,.1f} MB  " if cache.size else ""
        console.print(Text(f"  {cache.name}: {size}{clean(cache.path)}", style="dim", overflow="fold"))
    for line in report.advice:
        console.print(Text(f"! {clean(line)}", style="yellow"))
    if report.sound:
        console.print(Text.assemble(("next: ", "dim"), ('ptexplore trace "torch.add(a, b)"', "cyan")))


def _checkout(console: Console, one: CheckoutHealth) -> None:
    """How a checkout relates, why, and the figures behind it."""
    relation = one.relation
    style = "green" if relation.decision.word == "matches" else "yellow"
    console.print(Text.assemble("  ", (relation.decision.word, style), f": {clean(relation.decision.why)}"))
    files = f"{relation.same:,} of {relation.same + len(relation.different):,} files that the wheel also has are equal"
    console.print(Text(f"  {files}", style="dim"))
