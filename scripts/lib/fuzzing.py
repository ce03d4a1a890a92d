"""Random documents and command lines for ptexplore: each case is answered, refused in three parts, or a fault."""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import json
import os
import random
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ptexplore.errors import PtexploreError

REPOSITORY = Path(__file__).resolve().parents[2]
SAVED = REPOSITORY / "tests" / "data" / "saved"
TOURS = REPOSITORY / "annotations" / "tours"
NASTY = (
    "", "\x1b]0;x\x07", "\x9b31m", "\u202e", "\u2028", "\ud800", "\0", "..", "/", "~", "-", "--", "%00", "a" * 5_000,
    "9" * 23, "9" * 5_000, "²", "\n", "\t", "{{", "<script>", "*", "[", "(" * 2_000, "#1", ":1", "::",
    "a:b:c", "😀", "'",
    '"', "\\", "_Z9",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, 2**64, 10**19, 1e308, -0.0, [], {}, [[]], {"a": 1}, *NASTY,
)  # fmt: skip


@dataclass
class Tally:
    """How the cases of one surface ended."""

    answered: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.answered + self.refused + len(self.faults)


Case = Callable[[random.Random, Path], None]  # asks one thing; what it raises but PtexploreError is a fault


def run(case: Case, drawn: random.Random, folder: Path, tally: Tally) -> None:
    """One case, and what became of it."""
    try:
        case(drawn, folder)
        tally.answered += 1
    except PtexploreError as error:
        if error.message and isinstance(error.exit_code, int):
            tally.refused += 1
        else:
            tally.faults.append(f"an error without words: {error!r}")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        import traceback

        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        tally.faults.append(f"{type(error).__name__} at {where}: {str(error)[:120]}")


def mutated_bytes(drawn: random.Random, data: bytes) -> bytes:
    """The bytes with some of them changed, cut out, doubled or replaced by others that mean something."""
    for _ in range(drawn.choice((1, 1, 2, 5, 20))):
        at, end = sorted(drawn.randrange(len(data) + 1) for _ in range(2))
        way = drawn.randrange(5)
        if way == 0:
            data = data[:at] + bytes([drawn.randrange(256)]) + data[at + 1 :]
        elif way == 1:
            data = data[:at] + data[min(end, at + 40) :]
        elif way == 2:
            data = data[:at] + data[at : min(end, at + 200)] * 2 + data[at:]
        elif way == 3:
            data = data[:at] + str(drawn.choice(NASTY)).encode("utf-8", "surrogatepass") + data[at:]
        elif drawn.random() < 0.2:
            data = data[:at]
    return data


def mutated_document(drawn: random.Random, document: Any) -> Any:
    """Plain data with one to three of its values, or keys, replaced."""
    for _ in range(drawn.choice((1, 1, 2, 3))):
        inner, before, key = document, None, None
        while isinstance(inner, (dict, list)) and inner and drawn.random() < 0.9:
            before, key = inner, drawn.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            inner = before[key]
        if before is None:
            continue
        way = drawn.randrange(4)
        if way == 0 and isinstance(before, dict):
            before[str(drawn.choice(NASTY))] = before.pop(key)
        elif way == 1 and isinstance(inner, str):
            before[key] = inner + str(drawn.choice(NASTY))
        elif way == 2 and isinstance(before, list):
            before.insert(drawn.randrange(len(before) + 1), copy.deepcopy(inner))
        else:
            before[key] = copy.deepcopy(drawn.choice(VALUES))
    return document


NUMBERS: tuple[Any, ...] = (0, 1, -1, 2, 2**31, 2**63, 10**19)


def mutated_alike(drawn: random.Random, document: Any) -> Any:
    """Plain data with one to three of its values replaced by others of the same type, so that more of it is read."""
    for _ in range(drawn.choice((1, 1, 2, 3))):
        inner, before, key = document, None, None
        while isinstance(inner, (dict, list)) and inner and (before is None or drawn.random() < 0.9):
            before, key = inner, drawn.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
            inner = before[key]
        if before is None:
            continue
        if isinstance(inner, bool) or inner is None or isinstance(inner, dict):
            before[key] = not inner if isinstance(inner, bool) else copy.deepcopy(inner)
        elif isinstance(inner, list):
            before[key] = drawn.choice(([], inner * 2, inner[:1], inner[::-1], inner * 50))
        elif isinstance(inner, str):
            before[key] = drawn.choice((inner + str(drawn.choice(NASTY)), str(drawn.choice(NASTY)), "/x", "torch/x"))
        else:
            before[key] = drawn.choice(NUMBERS if isinstance(inner, int) else (-1.0, 0.0, 1e308, 1e-320))
    return document


# --- the surfaces ---

_SMALL = "format1-softmax-backward.json.gz"
_TEXTS: dict[str, bytes] = {}


def _text(name: str, make: Callable[[], bytes]) -> bytes:
    if name not in _TEXTS:
        _TEXTS[name] = make()
    return _TEXTS[name]


def _format_1() -> bytes:
    """A saved trace of format 1 with its first hops alone: what is read often must be small."""
    document = json.loads(gzip.decompress((SAVED / _SMALL).read_bytes()))
    document["session"] = None
    return json.dumps(document).encode()


def _format_2() -> bytes:
    from ptexplore.saved.trace import trace_from_json
    from ptexplore.view.words.saved import trace_to_json

    return trace_to_json(trace_from_json(_text("1", _format_1), "x")[0]).encode()


def _program() -> bytes:
    """A recorded program with few of its routes' hops, and few of its imports: what is read often must be small."""
    document = json.loads(gzip.decompress((SAVED / "format2-program.json.gz").read_bytes()))
    document["hops"] = document["hops"][:40]
    document["generators"] = {}
    kept = {row["id"] for row in document["hops"]}
    for route in document["program"]["routes"]:
        route["hops"] = [number for number in route.get("hops", ()) if number in kept]
    return json.dumps(document).encode()


def _mutated(drawn: random.Random, data: bytes) -> bytes:
    """A document with its values changed, or its bytes, packed or not."""
    if drawn.random() < 0.7:
        data = json.dumps(mutated_document(drawn, json.loads(data))).encode("utf-8", "surrogatepass")
    else:
        data = mutated_bytes(drawn, data)
    return gzip.compress(data, 1) if drawn.random() < 0.1 else data


def _shown(data: bytes, *views: str | None) -> None:
    """Read a saved trace and draw each of these views as a terminal, an SVG and a page have it."""
    from ptexplore.render.terminal.console import make_console, picture
    from ptexplore.render.terminal.trace import print_trace
    from ptexplore.saved.trace import trace_from_json
    from ptexplore.view.trace.page import Options
    from ptexplore.view.trace.views import named, view, view_to_json
    from ptexplore.view.words.saved import trace_to_json

    trace, session = trace_from_json(data, "x.json")
    drawn = trace_to_json(trace, session)
    for name in views:
        options = Options(full=True) if name == "full" else Options(opened="add") if name == "open" else None
        page = view(trace, options or Options(view=named(name), verbose=name == "operators"), session)
        console = make_console()
        console.file = io.StringIO()
        print_trace(console, page, lambda _: None, plain=name == "modules" and len(data) % 2 == 1)
        drawn += console.file.getvalue() + view_to_json(page)
        if len(data) % 3 == 0:  # it takes as long as all else
            drawn += picture(lambda other, page=page: print_trace(other, page, lambda _: None), trace.expression)
    _check_safe(drawn)


def _check_safe(drawn: str) -> None:
    from ptexplore.safe_text import UNSAFE

    leaked = set(map(ord, drawn)) & UNSAFE
    if leaked:
        raise AssertionError(f"came out: {sorted(leaked)}")


def load(drawn: random.Random, folder: Path) -> None:
    """A saved trace of either format: its values or its bytes changed, packed or not."""
    del folder
    data = _text("1", _format_1) if drawn.random() < 0.4 else _text("2", _format_2)
    _shown(_mutated(drawn, data), drawn.choice((None, None, "tree", "operators", "full", "open")))


def program(drawn: random.Random, folder: Path) -> None:
    """The saved trace of a program: a view of it, or the stacks that profilers' viewers read, or by the API."""
    from ptexplore.render.stacks import FORMATS, exported
    from ptexplore.saved.trace import trace_from_json
    from ptexplore.view.trace.stacks import stacks_of

    data = _mutated(drawn, _text("program", _program))
    way = drawn.randrange(6)
    if way < 4:
        _shown(data, drawn.choice((None, "modules", "operators", "tree", "full")))
    elif way == 4:
        trace, session = trace_from_json(data, "x.json")
        _check_safe(exported(stacks_of(trace, session), drawn.choice(sorted(FORMATS))))
    else:
        from ptexplore.api.questions import load as load_by_api

        (folder / "x.trace").write_bytes(data)
        trace = load_by_api(folder / "x.trace")
        _check_safe(trace.text() + trace.to_json())


def _compile_run() -> bytes:
    """A run of `compile` with a break, two kernels, a recompilation and a graph."""
    from ptexplore.model import compiled as made
    from ptexplore.model.compiler_log import CodeLine, CompilerLog
    from ptexplore.model.options import TraceOptions
    from ptexplore.model.trace import TorchInfo
    from ptexplore.saved.compiled import compile_to_json

    at = CodeLine("/a/train.py", 12, "forward", "if y.sum() > 0:")
    broken = made.GraphBreak(at, made.BreakReason("branch", "on a value", ("hint",), number="GB1"), (at,), at)
    function = made.MetFunction("Net.forward", "/a/train.py", 10, "broken", parts=1, graphs=1, runs=3, breaks=(broken,))
    check = made.FailedCheck("0/0", "L['n'] == 1", "value", "n", old="1", new="2", at=at)
    kernels = tuple(
        made.GeneratedKernel(
            f"k{n}", "0/0", ("mul",), (at,), file=f"/tmp/i/{n}.py", not_fused=(made.NotFused("k0", "x"),)
        )
        for n in range(2)
    )
    value = made.ValueForBackward("mul", "f32[3]", 12, "aten.mul.Tensor", at)
    graph = made.CompiledGraph(
        "0/0", "Net.forward", text="mul = y * 2", code="k0 = x(\'\'\'\nvoid f();\n\'\'\')", file="/tmp/i/0.py",
        has_partition=True, kept=(value,), again=(value,),
    )  # fmt: skip
    run = made.CompileRun(
        expression="f(a)", torch=TorchInfo("2.13.0", torch_dir="/t/torch"), options=TraceOptions(script="train.py"),
        wraps=False, bound=(), log=CompilerLog(), cwd="/a",
    )  # fmt: skip
    again = made.Recompilation("0/1", "Net.forward", "/a/train.py", 10, (check,))
    guards = made.LineGuards(at, (("TENSOR_MATCH", 3),), ("text",))
    phases = (made.PhaseTime("compile_file", 1.0, 2, 0.5),)
    report = made.CompileReport(
        run, (function,), (again,), (guards,), kernels, (graph,), phases, seconds=1.0, graphs=1, guard_count=3
    )
    return compile_to_json(report).encode()


def _lower_run() -> bytes:
    """A run of `lower` with three rungs, two of them linked, and one that was not made."""
    from ptexplore.model import rungs as made
    from ptexplore.model.compiler_log import CodeLine
    from ptexplore.model.options import TraceOptions
    from ptexplore.model.trace import TorchInfo
    from ptexplore.resolve.lowering import conclude_rungs
    from ptexplore.saved.lowered import lower_to_json

    at = CodeLine("/a/net.py", 3, "forward", "return x @ w")
    link = made.RungLink("export", "linear")
    made_of = made.RungOperator("addmm", "aten.addmm.default", ("x",), "float32[2]", at, (link,), is_core=True)
    rungs = (
        made.Rung("fx", 1, (made.RungOperator("matmul", "torch.matmul", at=at),), notes=(made.RungNote("direct"),)),
        made.Rung("export", 1, (made.RungOperator("linear", "aten.linear.default", at=at),), seconds=0.1),
        made.Rung(
            "core", 1, (made_of,), links_to="export", difference=made.RungDifference(1e-7, 1e-7, 1.0), compared=1,
            first=made.OperatorDifference(made.RungLink("core", "addmm"), link, made.RungDifference(1e-7, 1e-7)),
        ),
        made.Rung("prims", failure=made.RungFailure("raised", "RuntimeError", "no", at, at)),
    )  # fmt: skip
    run = made.LowerRun(
        expression="net(x)", torch=TorchInfo("2.13.0"), options=TraceOptions(), bound=(),
        ladder=made.LadderRungs(made.LoweredSubject("Net"), rungs), cwd="/a",
    )  # fmt: skip
    return lower_to_json(conclude_rungs(run)).encode()


def _graph_run() -> bytes:
    """A run of `graph` with four nodes, a saved tensor, a name and a line."""
    from ptexplore.model import autograd_graph as made
    from ptexplore.model.place_reasons import NotLookedUp
    from ptexplore.model.places import SourceRef
    from ptexplore.model.trace import ResultInfo, TorchInfo
    from ptexplore.saved.graphs import graph_to_json

    kept = made.KeptValue("self", sizes=(3,), dtype="float32", device="cpu", storages=(0,))
    at = made.NodeMadeAt("train.py", 3, 1, 5, "f", "a * b")
    nodes = (
        made.AutogradNode("AddBackward0", (made.GradientEdge(1), made.GradientEdge(2)), made=at),
        made.AutogradNode("MulBackward0", (made.GradientEdge(2), made.GradientEdge(None)), 4, (kept,)),
        made.AutogradNode("torch::autograd::AccumulateGrad", leaf=made.GraphLeaf(("a",), (3,), "float32", "cpu")),
    )
    graph = made.AutogradGraph(
        (made.GraphResult("Tensor[3]", 0, needs_grad=True),), nodes, (made.KeptStorage(12, (("leaf", "a"),)),),
        (made.NamedTensor("a", "Tensor[3]", needs_grad=True, node=2),),
    )  # fmt: skip
    session = made.GraphSession("f(a)", TorchInfo("2.13.0"), (), ResultInfo("Tensor", ""), graph)
    nowhere = SourceRef(path=None, line=None, layer=None, precision="unknown", reason=NotLookedUp())
    sources = tuple(made.NodeSource(nowhere, inputs=("self", "other") if node.edges else ()) for node in nodes)
    return graph_to_json(made.LocatedGraph(session, sources, ())).encode()


def _changed_run(drawn: random.Random, data: bytes) -> bytes:
    if drawn.random() < 0.2:
        return _mutated(drawn, data)
    document = json.loads(data)
    for name in document.keys() - {"kind", "format"}:  # with another kind or format, nothing else is read
        mutated_alike(drawn, document[name])
    return json.dumps(document).encode("utf-8", "surrogatepass")


def _drawn_page(page: Any) -> str:
    from ptexplore.render.terminal.compiling import print_compile
    from ptexplore.render.terminal.console import inline_html, plain_text

    def draw(console: Any) -> None:
        print_compile(console, page, links=False)

    return plain_text(draw, 100) + inline_html(draw, 100)


def _site_page(kind: Any, report: Any, folder: Path) -> None:
    from ptexplore.render.html.output import Output
    from ptexplore.view.site.site import Settings, Site

    out = Output(folder / "site")
    out.begin()
    kind(Site(Settings("Runs", "core"), [], {}, {}, {}, traces=True), out, [("x", report)]).write()
    out.finish()
    for page in (folder / "site").rglob("x.html"):
        _check_safe(page.read_text(encoding="utf-8"))


def compile_run(drawn: random.Random, folder: Path) -> None:
    """A saved run of `compile`: its page, something of it opened, its JSON, its page of a site."""
    from ptexplore.render.html.compiles import Compiles
    from ptexplore.saved.compiled import compile_from_json, compile_to_json
    from ptexplore.view.compile_opened import opened_page
    from ptexplore.view.compile_page import compile_page
    from ptexplore.view.documents.compiling import compile_document

    report = compile_from_json(_changed_run(drawn, _text("compile", _compile_run)), "x")
    _check_safe(_drawn_page(compile_page(report)) + compile_to_json(report) + _json_of(compile_document(report)))
    if drawn.random() < 0.3:
        _site_page(Compiles, report, folder)
    _check_safe(_drawn_page(opened_page(report, drawn.choice(("[1]", "0/0", "k0", "Net", "")))))


def lower_run(drawn: random.Random, folder: Path) -> None:
    """A saved run of `lower`: its page, two rungs, an operator that is followed, its JSON, its page of a site."""
    from ptexplore.render.html.lowers import Lowers
    from ptexplore.view.documents.lowering import lower_document
    from ptexplore.view.lower_opened import followed_page, rungs_page
    from ptexplore.view.lower_page import lower_page
    from ptexplore.workspace.saved_lowers import LOWERS

    (folder / "x.lower").write_bytes(_changed_run(drawn, _text("lower", _lower_run)))
    report = LOWERS.load(str(folder / "x.lower"))
    _check_safe(_drawn_page(lower_page(report)) + _json_of(lower_document(report)))
    if drawn.random() < 0.3:
        _site_page(Lowers, report, folder)
    way = drawn.randrange(3)
    _check_safe(
        _drawn_page(followed_page(report, "linear") if not way else rungs_page(report, ("export", "core")[:way]))
    )


def graph_run(drawn: random.Random, folder: Path) -> None:
    """A saved run of `graph`: its page, whole or of a name, and its JSON."""
    from ptexplore.render.terminal.console import inline_html, plain_text
    from ptexplore.render.terminal.graph import print_graph
    from ptexplore.saved.graphs import graph_from_json
    from ptexplore.view.documents.graph import graph_document
    from ptexplore.view.graph.page import GraphOptions, check_names, graph_view

    del folder
    located = graph_from_json(_changed_run(drawn, _text("graph", _graph_run)), "x")
    why = drawn.choice(((), ("a",)))
    check_names(located, why)
    view = graph_view(located, GraphOptions(None, None, drawn.random() < 0.5, why, False, False, False))

    def draw(console: Any) -> None:
        print_graph(console, view, lambda _: None)

    _check_safe(plain_text(draw, 100) + inline_html(draw, 100) + _json_of(graph_document(located, why)))


def _json_of(document: Any) -> str:
    from msgspec import to_builtins

    return json.dumps(to_builtins(document))


def _events() -> bytes:
    """A trace as torch.profiler writes one: the program's own operators once more, each with what it called."""
    document = json.loads(_text("program", _program))["program"]
    events: list[dict[str, Any]] = []

    def add(kind: int, begin: float, time: float) -> None:
        name, inside = document["kinds"][kind]["name"], document["kinds"][kind].get("inside", ())
        event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": begin, "dur": time}
        events.append(event | {"args": {"Sequence number": len(events)}})
        for number, (called, _) in enumerate(inside):
            if called >= 0:
                add(called, begin + (number + 0.1) * time / len(inside), 0.8 * time / len(inside))

    for number, call in enumerate(document["calls"]):
        add(document["routes"][call["route"]]["kind"], 1000.0 * number, 900.0)
    return json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "x"}).encode()


def chrome_times(drawn: random.Random, folder: Path) -> None:
    """A trace that torch.profiler wrote, laid over a program."""
    from ptexplore.capture.chrome_trace import read_chrome_trace
    from ptexplore.resolve.times import with_times
    from ptexplore.saved.trace import trace_from_json

    (folder / "times.json").write_bytes(_mutated(drawn, _text("events", _events)))
    trace, _ = trace_from_json(_text("program", _program), "x")
    if trace.program is not None:
        with_times(trace.program, read_chrome_trace(str(folder / "times.json")))


def tour(drawn: random.Random, folder: Path) -> None:
    """A tour or a note, read as a folder of notes is, and its prose as a page and a terminal have it."""
    from ptexplore.annotations.format import Origin, parse
    from ptexplore.render.html.prose import html_of

    del folder
    files = sorted(TOURS.glob("*.md"))
    data = files[drawn.randrange(len(files))].read_bytes()
    start = drawn.randrange(max(len(data) - 4_000, 1))
    data = data[:600] + data[start : start + 3_000]
    data = mutated_bytes(drawn, data)
    parsed, problems = parse(data, drawn.choice(("tour", "note")), Origin("x.md"))
    for stop in parsed.stops if parsed is not None else ():
        for part in stop.parts:
            text = getattr(part, "text", part)
            if isinstance(text, str):
                html_of(text, lambda _: None, lambda _: None)
    if parsed is None and not problems:
        raise AssertionError("refused without a word")


def project(drawn: random.Random, folder: Path) -> None:
    """A ptexplore.toml."""
    from ptexplore.source.fetch.project_file import find_project

    text = b'ref = "v2.6.0"\nnotes = ["notes", "a/b"]\n[site]\ntitle = "T"\nurl = "https://example.org/"\n'
    (folder / "project").mkdir(exist_ok=True)  # apart: every command reads the one of its own folder
    (folder / "project/ptexplore.toml").write_bytes(mutated_bytes(drawn, text))
    find_project(folder / "project")


def lock(drawn: random.Random, folder: Path) -> None:
    """The lock of a folder of notes."""
    from ptexplore.annotations.lock import read_lock

    entry = {"stop": "a#b", "path": "c10/x.h", "line": 3, "sha": "0" * 64}
    text = (
        json.dumps({"format": 1}) + "\n" + "\n".join(json.dumps(mutated_document(drawn, dict(entry))) for _ in range(3))
    )
    (folder / "anchors.lock").write_bytes(mutated_bytes(drawn, text.encode("utf-8", "surrogatepass")))
    read_lock(folder / "anchors.lock", "notes")


_TYPES = (
    tarfile.REGTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
)  # fmt: skip


def archive(drawn: random.Random, folder: Path) -> None:
    """A tar or zip archive: odd names, links, devices, depth; then its bytes changed. Nothing leaves its folder."""
    from ptexplore.source.fetch.archive import unpack

    names = [
        "a/b.h", "c10/x.h", "../out", "/abs", "a/../../out", "a" * 300, "d/" * drawn.choice((3, 90, 2_000)) + "f",
        ".git/config", "a\nb", "\x1b[31m", "-rf", "A/b.h", "e\u0301.h", "\u00e9.h", "con", "a//b", "./a", "", "x/.git",
        "link/f",
    ]  # fmt: skip
    buffer = io.BytesIO()
    chosen = drawn.choices(names, k=drawn.randrange(1, 6))
    with contextlib.suppress(ValueError, UnicodeError):
        if drawn.random() < 0.3:
            with zipfile.ZipFile(buffer, "w") as packed:
                for name in chosen:
                    packed.writestr(name or "x", b"int a;\n")
        else:
            with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
                for name in chosen:
                    info = tarfile.TarInfo(name or "x")
                    info.type = drawn.choice(_TYPES)
                    info.linkname = drawn.choice(("a/b.h", "../../out", "/etc/passwd", "link", ""))
                    info.mode = drawn.choice((0o644, 0o4755, 0o777, 0))
                    data = b"int a;\n" if info.isreg() else b""
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
    data = buffer.getvalue()
    if drawn.random() < 0.5 and data:
        data = mutated_bytes(drawn, data)
    inside = folder / f"in{drawn.randrange(1 << 30)}"
    inside.mkdir()
    file = folder / "archive"
    file.write_bytes(data)
    before = set(os.listdir(folder))
    try:
        with file.open("rb") as stream:
            unpack(stream, "archive", inside)
    finally:
        outside = set(os.listdir(folder)) - before
        import shutil

        shutil.rmtree(inside, ignore_errors=True)
        if outside:
            raise AssertionError(f"written outside: {outside}")


_ERRORS = (
    "Could not run 'aten::add.Tensor' with arguments from the 'SparseCPU' backend. This could be because x",
    (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor [3]], which is output 0 of ExpBackward0, is at version 2; expected version 1 instead."
    ),
    "Error: x\nException raised from mix at ../aten/src/ATen/native/Mix.cpp:12 (most recent call first):\nframe #0",
)


_LOOKUPS: list[Any] = []


def _lookup(folder: Path) -> Any:
    """A small catalogue with a kernel or two, and the text of the small tree."""
    if not _LOOKUPS:
        from ptexplore.model.places import Checkout
        from ptexplore.resolve.places.lookup import Lookup
        from ptexplore.source.tree import checkout_tree
        from tests import searched_source
        from tests.unit.resolve.making import Rows, entry, operator, write

        root = searched_source.write(folder / "explained")
        rows = Rows(
            operators=[operator("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")],
            tables={"aten::add.Tensor": [entry("CPU", "Meta"), entry("AutogradCPU", reason="autograd kernel")]},
        )
        tree = checkout_tree(Checkout("tree", "git", str(root), "a test"))
        _LOOKUPS.append(Lookup(tree, write(rows, folder / "explained.sqlite")))
    return _LOOKUPS[0]


def error_message(drawn: random.Random, folder: Path) -> None:
    """A message of torch's: what is told of it, and the first words of it."""
    from msgspec import to_builtins

    from ptexplore.render.terminal.console import make_console
    from ptexplore.render.terminal.error import print_error
    from ptexplore.resolve.error_message import read_message
    from ptexplore.view.documents.error import error_document
    from ptexplore.view.trace.ending import first_words

    text = mutated_bytes(drawn, drawn.choice(_ERRORS).encode()).decode("utf-8", "replace")
    message = read_message(_lookup(folder), "2.13.0", text)
    console = make_console()
    console.file = io.StringIO()
    print_error(console, message, lambda _: None)
    _check_safe(console.file.getvalue() + json.dumps(to_builtins(error_document(message))))
    first_words(text)


def source_file(drawn: random.Random, folder: Path) -> None:
    """A file of C++, Python or YAML, read into an index."""
    from ptexplore.cpp.macros import MacroTable, collect
    from ptexplore.index.workers import Task, Unread, read_rows

    samples = sorted((REPOSITORY / "tests" / "data" / "minitorch").rglob("*.*"))
    sample = samples[drawn.randrange(len(samples))]
    data = mutated_bytes(drawn, sample.read_bytes()[:6_000])
    file = folder / f"file{sample.suffix}"
    file.write_bytes(data)
    macros = collect([("c10/x.h", data.decode("utf-8", "replace"))]) if drawn.random() < 0.3 else MacroTable({})
    read = read_rows(Task(1, f"c10/file{sample.suffix}", str(file), "checkout", len(data), None), macros)
    if not isinstance(read, Unread) and "the reader failed" in str(read):
        raise AssertionError(str(read)[-300:])


_WORDS = (
    "trace", "op", "find", "show", "refs", "tour", "notes", "check", "trust", "html", "fetch", "index", "survey",
    "doctor", "explain-error", "--load", "--json", "--limit", "--explain", "--save", "--tree", "--view", "--depth",
    "--only", "--help", "--full", "--list", "--use", "--ref", "--from", "--jobs", "--python", "--notes", "add.Tensor",
    "a + 1", "1", "--", "-x",
)  # fmt: skip


def command_line(drawn: random.Random, folder: Path) -> None:
    """A command line, in this process, on an empty cache and where no torch may be started."""
    from ptexplore.cli.app import FAULT, main

    words = [
        drawn.choice(_WORDS) if drawn.random() < 0.7 else str(drawn.choice(NASTY)).replace("\0", "") for _ in range(4)
    ]
    words = [drawn.choice(_WORDS[:15]), *words[: drawn.randrange(5)]]
    if {"fetch", "index", "survey", "html", "doctor"} & set(words[:1]) and "--help" not in words:
        words.insert(1, "--no-such-option")  # these would do real work; after a "--" it would be no option
    if words[0] in ("trace", "op", "find", "show", "refs", "explain-error", "tour"):
        words[1:1] = ["--python", str(folder / "no-python")]  # else they would make an index first
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    if code not in (0, 1, 2, 3) or FAULT in err.getvalue() or (code and "error:" not in err.getvalue()):
        raise AssertionError(f"{words[:3]} -> {code}: {err.getvalue()[:200]}")
    if code:
        raise PtexploreError("refused", exit_code=code)


_INDEXED: set[str] = set()
_QUERIES = (
    "mix", "Mixer", "at::native::mix", "aten::mix", "Mix.cpp", "Mix.cpp:12", "native/Mix", "Mixer::turn", "text:mix",
    "kernel mix", "torch.mix", "mix#3", "@mix", "?mix",
)  # fmt: skip
_TOUR = """---
id: mine
title: Mine
level: basic
summary: of mine
baseline: v2.99.0
---

What it is.

## Here {#here}

Words.

```anchor
path: aten/src/ATen/native/Mix.cpp
symbol: at::native::Mixer
see:
  - src:aten/src/ATen/native/Mix.cpp::at::native::mix
```

## There {#there}

```anchor
path: aten/src/ATen/native/Mix.cpp
pattern: mix
```
"""


def _asked(folder: Path, *words: str) -> None:
    """Ask the small tree in this process. Raises PtexploreError where it is refused, AssertionError for a fault."""
    from ptexplore.cli.app import FAULT, main

    if str(folder) not in _INDEXED:
        from tests import searched_source

        _INDEXED.add(str(folder))
        searched_source.write(folder / "mini")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main(["fetch", "--from", str(folder / "mini")]) == main(["index", "--checkout", "mini"]) == 0
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    if code not in (0, 1, 2, 3) or FAULT in err.getvalue() or (code and not (err.getvalue() or out.getvalue())):
        raise AssertionError(f"{words} -> {code}: {err.getvalue()[:300]}")
    _check_safe(out.getvalue() + err.getvalue())
    if code:
        raise PtexploreError("refused", err.getvalue(), exit_code=code)


def search(drawn: random.Random, folder: Path) -> None:
    """What is typed to find something: a name, a part of it, odd letters."""
    query = mutated_bytes(drawn, drawn.choice(_QUERIES).encode()).decode("utf-8", "replace").replace("\0", "")
    form = ("--json",) if drawn.random() < 0.5 else ()
    _asked(folder, drawn.choice(("find", "find", "show", "refs")), "--tree", "mini", *form, "--", query)


def walked_tour(drawn: random.Random, folder: Path) -> None:
    """A tour of somebody else over the small tree: read as a walk has it, and checked."""
    (folder / "own/tours").mkdir(parents=True, exist_ok=True)
    (folder / "own/tours/mine.md").write_bytes(mutated_bytes(drawn, _TOUR.encode()))
    given = ("--notes", str(folder / "own"))
    if drawn.random() < 0.5:
        _asked(folder, "tour", "mine", "--tree", "mini", *given, *drawn.choice(((), ("--json",))))
    else:
        _asked(folder, "notes", "check", "mine", *given, *drawn.choice(((), ("--json",))))


SURFACES: dict[str, tuple[Case, int]] = {  # each with its share of the cases
    "--load, both formats": (load, 6),
    "--load of a program, its exports": (program, 4),
    "--times of another run": (chrome_times, 3),
    "--load of `compile`": (compile_run, 2),
    "--load of `lower`": (lower_run, 2),
    "--load of `graph`": (graph_run, 2),
    "tours and notes": (tour, 4),
    "tours as they are walked": (walked_tour, 1),
    "search": (search, 2),
    "anchors.lock": (lock, 3),
    "ptexplore.toml": (project, 3),
    "archives": (archive, 3),
    "error messages": (error_message, 3),
    "source files": (source_file, 2),
    "command lines": (command_line, 1),
}
