"""`ptexplore trace EXPR`: run an expression in a probe and show what ran, with the source line of each step."""

from __future__ import annotations

import argparse
import json
import keyword
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.writing import write_whole

if TYPE_CHECKING:
    from ptexplore.capture.request import TraceRequest
    from ptexplore.model import Session, SourceRef, Trail
    from ptexplore.render.console import Locate

SAVES = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'
DAY = 86400  # seconds
SAVED_LIMIT = 512 * 1024 * 1024  # bytes of a saved trace; refused above, before it is read

EXAMPLES = """\
examples:
  ptexplore trace "torch.add(a, b)"
  ptexplore trace "F.conv2d(x, w)" --var x="torch.randn(1, 3, 8, 8)" --var w="torch.randn(4, 3, 3, 3)"
  ptexplore trace "torch.stack([a, b]).sum()" --backward
  ptexplore trace "m(x)" --setup "m = nn.LSTM(3, 4)" --var x="torch.randn(5, 1, 3)" --depth 4

names: torch, F, nn, math and np are there; other names of one letter (or a letter and digits) that are used as
values become seeded 3 x 3 float tensors; anything else must come from --var or --setup
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "trace",
        help="what runs when I write this, and where is it?",
        description="Run a PyTorch expression; show the binding, operators, dispatch keys and kernels it went through.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("expression", nargs="?", metavar="EXPR", help="one Python expression")
    given = parser.add_argument_group("what is run")
    given.add_argument("--var", action="append", default=[], metavar="NAME=EXPR", help="bind a name")
    given.add_argument("--setup", action="append", default=[], metavar="CODE", help="statements to run first")
    given.add_argument("--with", action="append", default=[], metavar="CONTEXT", dest="contexts",
                       help='a context manager to run it in, as "torch.inference_mode()"')  # fmt: skip
    given.add_argument("--script", metavar="FILE", help="trace a script instead of an expression")
    given.add_argument("--grad", action="store_true", help="tensors that are bound require grad")
    given.add_argument("--backward", action="store_true", help="run backward too (a non-scalar result is summed)")
    given.add_argument("--once", action="store_true", help="run once only: for code with side effects")
    native = given.add_mutually_exclusive_group()
    native.add_argument("--no-native", action="store_true", help="don't step through its machine code")
    native.add_argument("--native-op", metavar="NAME[#N]", help="step this operator call of it alone: add.Tensor#2")
    given.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="seconds that each run of it may take (60)"
    )
    given.add_argument("--python", metavar="PATH", help="trace the torch of another Python")
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--full", action="store_true", help="every hop, with the reasons for each")
    shown.add_argument("--native", metavar="NAME", help="open what ran whose name holds NAME, with all it called")
    shown.add_argument("--depth", type=int, metavar="N", help="at most N levels")
    shown.add_argument("--only", metavar="TEXT", help="only hops whose name or path holds TEXT")
    shown.add_argument("--explain", type=int, metavar="HOP", help="what one hop is concluded from")
    shown.add_argument("--json", action="store_true", help="the Trail as JSON (format 1, docs/json.md)")
    shown.add_argument("--save", metavar="FILE", help="keep the trace")
    shown.add_argument("--svg", metavar="FILE", help="keep what is shown as an SVG picture")
    shown.add_argument("--load", metavar="FILE", help="show a saved trace; torch is not needed")
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= DAY:
        raise PtexploreError(f"--timeout {text} is no time", f"seconds above 0, up to {DAY}", "--timeout 60", USAGE)
    return value


def run(options: argparse.Namespace) -> int:
    """Capture or load a trace and show it, explain one hop of it, or print it as JSON."""
    _check(options)
    trail, session, locate = (*load(options.load), _nowhere) if options.load else _capture(options)
    if options.save:
        _save(Path(options.save), trail, session)
    if options.explain is not None:
        return _explain(trail, session, options.explain, locate, as_json=options.json)
    if options.json:
        from ptexplore.view.document import trail_to_document

        json.dump(trail_to_document(trail), sys.stdout)
        print()
        return 0
    _show(trail, session, options, locate)
    return 0


def _check(options: argparse.Namespace) -> None:
    given = [name for name in ("expression", "script", "load") if getattr(options, name) is not None]
    if len(given) != 1:
        message = "one of EXPR, --script FILE and --load FILE is needed" + (", not several" if given else "")
        why = "a trace is of one thing: " + (", ".join(given) + " were given" if given else "nothing was given")
        raise PtexploreError(message, why, 'ptexplore trace "torch.add(a, b)"', USAGE)
    if options.depth is not None and options.depth < 1:
        why = f"{options.depth} levels would show nothing"
        raise PtexploreError("--depth must be 1 or more", why, "--depth 3", USAGE)
    for place in (options.save, options.svg):
        if place and Path(place).is_dir():
            hint = f"a name inside it: {place}/trace"
            raise PtexploreError(f"{place} is a folder", "one file is written", hint, USAGE)


def _request(options: argparse.Namespace) -> TraceRequest:
    from ptexplore.capture.request import TraceRequest

    variables = []
    for text in options.var:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier() or keyword.iskeyword(name):
            why = "before the first = must stand a name that Python allows"
            raise PtexploreError(f"--var {text!r} is not NAME=EXPR", why, '--var a="torch.randn(3, 4)"', USAGE)
        variables.append((name, value))
    return TraceRequest(
        expression=options.expression,
        script=options.script,
        variables=tuple(variables),
        setup=tuple(options.setup),
        contexts=tuple(options.contexts),
        grad=options.grad or options.backward,
        backward=options.backward,
        once=options.once,
        timeout=options.timeout,
        cwd=os.getcwd(),
        native=not options.no_native,
        native_op=options.native_op,
    )


def _capture(options: argparse.Namespace) -> tuple[Trail, Session, Locate]:
    request = _request(options)
    from ptexplore.capture.trace import capture
    from ptexplore.cli.looking import look
    from ptexplore.cli.noted import on_lookup
    from ptexplore.cli.ready import ready
    from ptexplore.resolve.trail import resolve
    from ptexplore.view.noted import with_notes

    here = ready(options.python)
    lookup = look(here)
    session = capture(request, here.runtime, here.store.digests())
    return with_notes(resolve(session, lookup), on_lookup(lookup)), session, lookup.place_of


def load(name: str) -> tuple[Trail, Session | None]:
    """A saved trace. Raises PtexploreError (USAGE) where the file is none."""
    from ptexplore.view.saved import trail_from_document

    path = Path(name)
    try:
        if path.stat().st_size > SAVED_LIMIT:
            why = f"it is over {SAVED_LIMIT} bytes"
            raise PtexploreError(f"{name} is too large for a saved trace", why, SAVES, USAGE)
        data = json.loads(_unpacked(path.read_bytes()))
    except OSError as error:
        why = error.strerror or "the system refused it"
        raise PtexploreError(f"{name} cannot be read", why, SAVES, USAGE) from error
    except (ValueError, RecursionError) as error:
        raise PtexploreError(f"{name} is no saved trace", f"not whole JSON: {error}", SAVES, USAGE) from error
    return trail_from_document(data, name)


def _unpacked(data: bytes) -> bytes:
    """A saved trace's text, packed or not: `survey` packs its traces."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    import zlib

    try:
        return zlib.decompressobj(31).decompress(data, SAVED_LIMIT)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def _nowhere(ref: SourceRef) -> tuple[str, int] | None:
    """A loaded trace has no tree beside it to link into."""
    del ref
    return None


def _save(path: Path, trail: Trail, session: Session | None) -> None:
    from ptexplore.view.document import trail_to_document

    _write(path, json.dumps(trail_to_document(trail, session)))


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        why = error.strerror or "the system refused it"
        raise PtexploreError(f"{path} cannot be written", why, "a file in a folder that you may write to") from error


def _show(trail: Trail, session: Session | None, options: argparse.Namespace, locate: Locate) -> None:
    from ptexplore.render.console import make_console, print_output, print_trail
    from ptexplore.view.rows import Options, view

    if session is not None:
        print_output(make_console(stderr=True), session)
    wanted = Options(options.full, options.depth, options.only, options.native, _command(options))
    page = view(trail, wanted, session)
    print_trail(make_console(), page, locate)
    if options.svg:
        from ptexplore.render.picture import picture

        # Without links: those lead into this machine's folders, and a picture travels.
        svg = picture(lambda console: print_trail(console, page, _nowhere), trail.expression)
        _write(Path(options.svg), svg)


def _command(options: argparse.Namespace) -> tuple[str, ...]:
    """The command that shows this trace again, without what only changes how it is shown."""
    if options.load:
        return ("ptexplore", "trace", "--load", options.load)
    command = ["ptexplore", "trace"]
    command += [options.expression] if options.expression is not None else ["--script", options.script]
    for flag, values in (("--var", options.var), ("--setup", options.setup), ("--with", options.contexts)):
        command += [part for value in values for part in (flag, value)]
    command += [f"--{flag}" for flag in ("grad", "backward", "once") if getattr(options, flag)]
    return (*command, *(("--python", options.python) if options.python else ()))


def _explain(trail: Trail, session: Session | None, hop: int, locate: Locate, *, as_json: bool) -> int:
    from ptexplore.render.console import make_console, print_explanation
    from ptexplore.view.explain import explain

    explanation = explain(trail, session, hop)
    if as_json:
        json.dump(explanation.document, sys.stdout)
        print()
    else:
        print_explanation(make_console(), explanation, locate)
    return 0
