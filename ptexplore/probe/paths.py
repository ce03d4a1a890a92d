"""The paths of Python calls that a recorded program took, as a tree: functions, modules, builtins."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .cuts import CutList
from .generators import goes_on
from .reasons import reason

if TYPE_CHECKING:
    from .messages import CallPathData

PATHS = 20_000  # separate paths; a deeper call counts for the path that contains it
ROWS = 20_000  # further paths, only for what has a row of its own: these are the last to run out of room
DEPTH = 150  # depth of nested functions that have paths of their own
WORKERS = "torch's own threads"

PathKind: TypeAlias = Literal["program", "thread", "imports", "user", "library", "torch", "module", "builtin"]

# The error of the time of recording, as a share of it. It is chosen, not measured for each run: in three programs the
# time was at most a quarter away from the difference to runs without recording.
ERROR_SHARE = 0.35


class Path:
    """One path of Python calls: the function, module or builtin at its end, and how often it was taken."""

    __slots__ = (
        "calls", "calls_others", "children", "cold", "depth", "hot", "index", "inside", "label", "line", "marks",
        "others", "parent", "read", "recording", "seen", "site", "slots", "time",
    )  # fmt: skip

    def __init__(self, index: int, parent: Path | None, label: Label, line: int | None) -> None:
        self.index, self.parent, self.label, self.line = index, parent, label, line
        self.children: dict[Any, Path] = {}
        self.marks: dict[int, list[Any]] = {}  # markers that are not open, by thread-local sets
        self.slots: dict[int, list[Any]] = {}  # for a builtin: slots that are free for its next call
        # By thread-local sets: the key sets of tensors by address, as they were before the first call from here.
        self.read: dict[int, dict[int, int]] | None = None
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.calls = self.time = self.inside = self.seen = self.recording = 0
        self.site = (label.kind, label.file, label.first, label.type, label.table, label.method)  # in any module
        self.hot = label.has_row  # whether its time is needed
        self.hot = self.hot or (label.kind == "builtin" and label.name != "")  # it may call an operator any time
        self.cold = False
        # The offsets in its code at which it called functions of Python without paths, except comprehensions.
        # `calls_others`: it may have called such functions from anywhere.
        self.others: set[int] = set()
        self.calls_others = label.code is None

    def data(self, waiting: float, *, at_least: bool = False) -> CallPathData:
        """Return the path as plain data. `at_least`: further calls of it had no room for a path.

        `waiting` is a factor for the time of recording, which is processor time; the path's own time is not.
        """
        label = self.label
        data: CallPathData = {
            "kind": label.kind,
            "name": label.name,
            "parent": self.parent.index if self.parent is not None else None,
            "calls": self.calls,
            "time": self.time,
            "line": self.line,
        }
        if label.file is not None:
            data["file"], data["first"] = label.file, label.first
        if label.type is not None:
            data["type"] = label.type
        if label.package:
            data["package"] = True
        if label.compiled:
            data["compiled"] = True
        if label.method is not None:
            data["table"], data["method"] = label.table, label.method
        if self.recording:
            recording = int(waiting * self.recording)
            data["recording"], data["error"] = recording, round(ERROR_SHARE * recording)
        if self.inside:
            data["inside"] = self.inside
        if at_least:
            data["at_least"] = True
        return data


@dataclass(frozen=True, eq=False)
class Label:
    """The end of a path: a `user` function, one of a `library` or of `torch`, a `module`, a `builtin`, ….

    Each end has one Label object. Paths are looked up by label millions of times, so labels are compared by identity.
    A `user` function has its `code`. It may be in an installed package (`package`).
    """

    kind: PathKind
    name: str  # the qualified name of a function; the name of a module within the outermost module
    file: str | None = None
    first: int | None = None  # the line of its def
    type: str | None = None  # the class of a module
    table: str | None = None  # the table of a builtin
    method: str | None = None
    timed: bool = False  # a function of torch that has a row of its own.
    compiles: bool = False  # A compiler runs in it, and nothing inside is recorded.
    guards: bool = False  # whether it may change the thread-local sets unseen
    code: CodeType | None = None
    package: bool = False
    compiled: bool = False  # whether it is code that Dynamo made, which calls a compiled graph

    @property
    def called(self) -> tuple[str, str] | None:
        """Return table and name of the builtin at the end; None for helpers of torch, and for other paths."""
        return (self.table or "", self.method or "") if self.kind == "builtin" and self.name else None

    @property
    def is_backward(self) -> bool:
        """Return whether the builtin is the engine's `run_backward`, which torch.autograd calls."""
        return self.method == "run_backward"

    @property
    def has_row(self) -> bool:
        """Return whether it has a row on the screen: it is neither a builtin nor an untimed function of torch."""
        return self.timed or self.kind not in ("torch", "builtin")


class Paths:
    """All paths of one recording, by number. `root` is the path of the program."""

    __slots__ = ("_cuts", "_uncounted", "_workers", "by_number", "root")

    def __init__(self, cuts: CutList) -> None:
        self._cuts = cuts
        self.by_number: list[Path] = []
        self._uncounted: set[Label] = set()  # labels with calls that have no path
        self._workers = Label("thread", WORKERS)
        self.root = self._new(None, Label("program", "program"), None)

    def child(self, parent: Path, key: Any, label: Label, called_by: FrameType | None = None) -> Path:
        """Return the path that continues `parent`; `parent` itself if there are too many paths or too many levels."""
        path = parent.children.get(key)
        if path is None:
            most = PATHS + ROWS * label.has_row
            if len(self.by_number) >= most or parent.depth >= DEPTH:
                is_deep = parent.depth >= DEPTH
                too_many = reason("many-paths" if label.has_row else "many-paths-of-torch", most=most)
                self._cuts.add(reason("paths-too-deep", levels=DEPTH) if is_deep else too_many)
                return parent
            line = called_by.f_lineno if called_by is not None else None
            path = parent.children[key] = self._new(parent, label, line)
        return path

    def at_line(self, outer: Path, place: tuple[Label, int], frame: FrameType) -> Path:
        """Return the path of a builtin that a function of the user calls. All calls of one line share a path."""
        label = place[0]
        path = self.child(outer, (label, frame.f_lineno, "line"), label, frame)
        if path is not outer:
            outer.children[place] = path
        return path

    def count_without(self, outer: Path, label: Label, frame: FrameType | None = None) -> None:
        """Count a call that has no path of its own: add it to the path of the same function around it, if there is one.

        If there is none, all paths of this function are marked as having had more calls.
        """
        if frame is not None and goes_on(frame):
            return
        around: Path | None = outer if label.has_row else None
        while around is not None and around.label is not label:
            around = around.parent
        if around is not None:
            around.calls += 1
        else:
            self._uncounted.add(label)

    def workers(self) -> Path:
        """Return the path for threads without a Python function: the threads that torch computes with."""
        return self.child(self.root, self._workers, self._workers)

    def data(self, waiting: float) -> list[CallPathData]:
        """Return all paths as plain data. The time of recording is multiplied by `waiting`."""
        return [path.data(waiting, at_least=path.label in self._uncounted) for path in self.by_number]

    def _new(self, parent: Path | None, label: Label, line: int | None) -> Path:
        path = Path(len(self.by_number), parent, label, line)
        self.by_number.append(path)
        return path
