"""The only way from a file to the probe: code of others runs only after you saw all of it and allowed it.

Saved traces, labs of tours, model solutions of exercises, and expressions of folders' pages or of files in an editor
pass through here, and through nothing else. `capture` takes an `AllowedRun`, and only this
module makes one for content read from a file. Permission is stored with the hash of the content (annotations/trust.py):
changed content needs a new permission. Content shipped with ptexplore needs none.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import os
import shlex
import stat
import tokenize
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from ptexplore.annotations.trust import may_run, remember, trusted
from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.options import TraceOptions
from ptexplore.safe_text import revealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ptexplore.annotations.exercises import Exercise
    from ptexplore.annotations.folders import FolderPage
    from ptexplore.annotations.records import Lab, Tour
    from ptexplore.model.trace import Session

_LARGEST = 4 * 1024 * 1024  # bytes of a script that can be shown whole
_AS_SHOWN = ("utf-8", "utf-8-sig", "ascii")  # encodings of a script in which Python reads the text that is shown


@dataclass(frozen=True, slots=True)
class NotYours:
    """Code that would run although you did not type it. `content` is the hash that permission is stored with.

    `origin` names it in words; `hint` is the command that asks for permission. `code` has all code that would run, as
    named parts.
    """

    request: TraceRequest
    origin: str
    file: str  # the file that contains it
    content: str  # a sha256
    code: tuple[tuple[str, str], ...]
    hint: str
    shipped: bool = False

    @property
    def is_allowed(self) -> bool:
        """Whether it came with ptexplore, or you allowed this very content. Raises PtexploreError."""
        return self.shipped or self.content in _trusted()

    def lines(self) -> Iterator[str]:
        """Yields all code that would run, in ASCII, each part below its name. Nothing is cut, and nothing can hide.

        Each line of code has a number before it. The rest of a line that the screen folds has none, so it does not look
        like a line of its own.
        """
        for name, code in self.code:
            yield f"{name}:"
            yield from (f"{number:>4} | {line}" for number, line in enumerate(revealed(code), 1))

    def allowed(self) -> AllowedRun:
        """Returns the run if it is allowed. Raises PtexploreError if nobody allowed it."""
        if not self.is_allowed:
            why = f"somebody else may have written this code, and you have not allowed it (sha256 {self.content})"
            raise PtexploreError(f"{self.origin} was not run", why, self.hint, USAGE)
        return AllowedRun(self.request)

    def allow(self) -> AllowedRun:
        """Stores the permission that you gave after seeing `lines`, and returns the run. Raises PtexploreError."""
        try:
            remember(self.content, self.origin)
        except OSError as error:
            raise cannot_keep(error) from error
        return self.allowed()

    def is_named(self, digits: str) -> bool:
        """Whether this is the full hash of the content: it is easy to make two contents whose hashes begin alike."""
        return self.content == digits.lower()


def cannot_keep(error: OSError) -> PtexploreError:
    """Returns the error for a permission that cannot be stored."""
    why = f"{error.strerror or error}: {error.filename}" if error.filename else f"{error.strerror or error}"
    return PtexploreError(
        "your permission cannot be saved", why, "set PTEXPLORE_CONFIG to a folder of your own", MISSING
    )


def _trusted() -> dict[str, str]:
    try:
        return trusted()
    except OSError as error:
        raise cannot_keep(error) from error


# --- a saved trace ---


def of_trace(session: Session | None, file: str, asked: TraceRequest, hint: str) -> NotYours:
    """Returns the code that would run if a saved trace ran again.

    `asked` has options of your command: a call to step, a time limit.

    Raises PtexploreError (usage) if the file does not say what ran, or if its script cannot be shown.
    """
    module = session.options.module if session is not None else None
    if session is None or module is not None or (session.program is not None and session.options.script is None):
        why = "the file has no code" if session is None else "it was recorded inside a program, by record()"
        if module is not None:
            why = f"the code of the module {module[:200]} cannot be shown before it is imported"
        raise PtexploreError(f"{file} cannot be run again", why, "trace the program itself", USAGE)
    options = session.options
    for name, _value in options.variables:
        if not name.isidentifier():
            raise PtexploreError(
                f"{file} cannot be run again",
                f"the saved variable {name[:40]!r} is not a Python name",
                "trace the expression again",
                USAGE,
            )
    request = TraceRequest(
        **{option.name: getattr(options, option.name) for option in fields(TraceOptions)},
        expression=session.expression if options.script is None else None,
        cwd=asked.cwd,
    )
    request = replace(
        request, timeout=asked.timeout, native_most=asked.native_most, native=asked.native,
        native_op=asked.native_op or options.native_op,
    )  # fmt: skip
    script = b""
    if request.script is not None:
        path, script = _script(request.script, file)
        request = replace(request, script=path, script_sha256=hashlib.sha256(script).hexdigest())
    code = tuple(_parts(replace(request, native_op=options.native_op), script.decode("utf-8-sig")))
    return NotYours(request, f"the saved trace {file}", file, _hash(code), code, hint)


# Options of a request that its other parts show, or that come from your own command, never from a file.
_TOLD_ELSEWHERE = ("script", "variables", "setup", "contexts", "backward", "timeout", "native", "native_most")


def _parts(request: TraceRequest, script: str = "") -> Iterator[tuple[str, str]]:
    """Yields all code of a request in the order in which it runs, and its options. `script` is the script's text."""
    if request.script is not None:
        yield f"the script {json.dumps(request.script)}", script
    for number, code in enumerate(request.setup, 1):
        yield f"--setup {number}", code
    for name, value in request.variables:
        yield f"--var {json.dumps(name)}", value
    for context in request.contexts:
        yield "--with", context
    if request.expression is not None:
        yield "the expression", request.expression
    if request.backward:
        yield "then", "backward, from its result"
    given = ((option, getattr(request, option.name)) for option in fields(TraceOptions))
    how = [f"{o.name} = {value!r}" for o, value in given if o.name not in _TOLD_ELSEWHERE and value != o.default]
    if how:
        yield "run with", "\n".join(how)


def _script(script: str, file: str) -> tuple[str, bytes]:
    """Returns the real path of a script, and its present bytes, which must be UTF-8. Raises PtexploreError.

    The files that a script imports are beside it, and are not shown. So the path is resolved first: no link and no ".."
    in it may decide where these files are.
    """
    try:
        path = os.path.realpath(script)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(0, "it is not a regular file")
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise OSError(0, f"it is larger than {_LARGEST} bytes")
        lines = data.replace(b"\r\n", b"\n").replace(
            b"\r", b"\n"
        )  # Python ends lines like this when it searches for an encoding
        encoding = codecs.lookup(tokenize.detect_encoding(io.BytesIO(lines).readline)[0]).name
        if encoding not in _AS_SHOWN:
            raise ValueError(
                f"it declares the encoding {encoding}; only a script in UTF-8 can be shown to you as it would run"
            )
        data.decode("utf-8-sig")
        return path, data
    except (OSError, ValueError, SyntaxError) as error:
        why = f"its script {script[:200]}: {getattr(error, 'strerror', None) or error}"
        raise PtexploreError(f"{file} cannot be run again", why, "ptexplore trace --script FILE", USAGE) from error


def _hash(code: tuple[tuple[str, str], ...]) -> str:
    return hashlib.sha256(json.dumps(["run", *code]).encode()).hexdigest()


# --- code in notes: trusted with its file, like labs ---


def of_page(page: FolderPage, request: TraceRequest) -> NotYours:
    """Returns the expression that a folder's page suggests."""
    return NotYours(
        replace(
            request, expression=page.expression, script=None, module=None, arguments=(), setup=(), variables=(),
            contexts=(),
        ),
        f"the page {page.where.file}", page.where.file, page.sha, (("the expression", page.expression),),
        f"ptexplore notes trust {shlex.quote(page.where.file)}", page.shipped,
    )  # fmt: skip


def of_lab(tour: Tour, lab: Lab, request: TraceRequest) -> NotYours:
    """Returns a lab. `request` has the code that runs for it, including the guard before it."""
    return NotYours(
        request, f"the lab {lab.id} of {tour.where.file}", tour.where.file, tour.sha, tuple(_of_lab(lab)),
        f"ptexplore notes trust {shlex.quote(tour.where.file)}", tour.shipped,
    )  # fmt: skip


def of_solution(exercise: Exercise, request: TraceRequest) -> NotYours:
    """Returns the model solution of an exercise. (A solution that you name in a command is yours.)"""
    return NotYours(
        request, f"the solution in {exercise.where.file}", exercise.where.file, exercise.sha,
        (("the solution", exercise.solution),), f"ptexplore notes trust {shlex.quote(exercise.where.file)}",
        exercise.shipped,
    )  # fmt: skip


def of_text(expression: str, file: str, request: TraceRequest) -> NotYours:
    """Returns an expression of a file that is open in an editor. Somebody else may have written the file."""
    request = replace(request, expression=expression, script=None, module=None, arguments=())
    code = tuple(_parts(request))
    hint = f"ptexplore trace {shlex.quote(expression)}"
    return NotYours(request, f"the file {file}", file, _hash(code), code, hint)


def allowed_labs() -> Callable[[Tour], bool]:
    """Returns a function that says whether the labs of a tour may run, by the present permissions.

    Raises PtexploreError.
    """
    known = _trusted()
    return lambda tour: may_run(tour, known)


def _of_lab(lab: Lab) -> Iterator[tuple[str, str]]:
    written = TraceRequest(
        expression=lab.run, variables=lab.variables, setup=lab.setup, contexts=lab.contexts, backward=lab.backward
    )
    yield from _parts(written)
    if lab.value is not None:
        yield "compared with", lab.value


def shown_name(name: str) -> str:
    """Returns a name in one line, escaped like code: nothing in it can look like more code."""
    return "\\n".join(revealed(name))


def code_in(tours: Iterable[Tour], pages: Iterable[FolderPage]) -> list[NotYours]:
    """Returns all code of these tours, notes and pages, as shown before you trust them."""
    nothing = TraceRequest()
    labs = (of_lab(tour, lab, nothing) for tour in tours for stop in tour.stops for lab in stop.labs)
    return [*labs, *(of_page(page, nothing) for page in pages if page.expression)]
