"""Where a native function's source stands: its one definition by name and types, a lambda's in the one around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ptexplore.cpp.matching import CODE, Wanted, fits, qualifiers, takes
from ptexplore.cpp.symbol_names import Name, NamePart
from ptexplore.cpp.text import Text
from ptexplore.model.operators import Operator
from ptexplore.model.places import SourceRef
from ptexplore.model.symbols import Symbol
from ptexplore.resolve.native import lambdas
from ptexplore.resolve.native.call_tree import Function, NativeFrame
from ptexplore.resolve.places.lookup import NOT_IN_WHEEL, Lookup
from ptexplore.resolve.places.precision import in_runtime, several, unknown
from ptexplore.resolve.places.sources import Source

MADE = re.compile(r"__tls_init|TLS |_GLOBAL__|guard variable |vtable |__clang_call_terminate")
STANDARD = re.compile(r"(?:std|__gnu_cxx|__cxxabiv1)::|operator (?:new|delete)")
# Libraries that a wheel links into torch's own: their functions' names, where PyTorch's source defines none such.
THIRD_PARTIES = (
    ("MKL", re.compile(r"mkl_|MKL|Dfti|vm[sdczl][A-Z]|VML|v[sdcz][A-Z]")),
    # As Fortran names its functions; without the last underscore only what follows the naming scheme of LAPACK.
    ("BLAS or LAPACK", re.compile(
        r"[sdczi][a-z0-9]{3,6}_$|cblas_|LAPACKE_|"
        r"(?i:[sdcz](?:ge|po|sy|he|tr|gb|sb|hb|tb|gt|pt|st|pb|pp|sp|hp|tp|or|un|la)[a-z]{2,3}$)")),
    ("oneDNN", re.compile(r"dnnl(?:::|_)|ideep::|mkldnn_")),
    ("Sleef", re.compile(r"Sleef_|_ZGV[a-zA-Z]\w+_Sleef_")),
    ("pybind11", re.compile(r"pybind11(?:::|_)")),
    ("another library linked into torch", re.compile(
        r"(?:google|fmt|onnx|gloo|fbgemm|asmjit|qnnpack|xnnpack|tensorpipe|kineto|libkineto)(?:::|_)|"
        r"(?:cpuinfo|pytorch_q|xnn|nnp|pthreadpool)_")),
)  # fmt: skip
BINDINGS = "torch::autograd"  # the namespace of the generated functions behind Python's names
_DEVICE = (".cu", ".cuh")  # of the libraries for devices; those whose source is looked for have none of it
_HEAD = 24  # lines that a parameter list may take
_MOST = 12  # lambdas of one function that are worth listing


@dataclass(frozen=True)
class Sites:
    """Sources of the functions of one trace; each is looked up once."""

    lookup: Lookup
    _known: dict[tuple[str, str, str | None], SourceRef] = field(default_factory=dict, repr=False)
    _paths: dict[NativeFrame, str | None] = field(default_factory=dict, repr=False)

    def of(self, frame: NativeFrame) -> SourceRef:
        """The source of a frame's function. Callers come before what they call: one's file tells namesakes apart."""
        function, above = frame.function, frame.parent
        near = self._paths.get(above) if above is not None and _is_internal(function) else None
        found = self.function(function, near)
        if found.precision == "ambiguous" and above is not None and not above.function.closed:
            found = self._beside(found, above.function.name)
        self._paths[frame] = found.path
        return found

    def _beside(self, found: SourceRef, caller: Name) -> SourceRef:
        """Of generated namesakes the one whose file alone names the template that was made for it, and called it."""
        name = caller.parts[-1].name if caller.is_template else None
        if name is None or any(one.layer != "generated" for one in found.candidates):
            return found
        texts = {one.path: self.lookup.tree.read(str(one.path)) for one in found.candidates}
        holding = [one for one in found.candidates if (text := texts[one.path]) and name in text.text]
        return holding[0] if len(holding) == 1 else found

    def function(self, function: Function, near: str | None = None) -> SourceRef:
        """The source of a function; `near` is the file of what called it."""
        asked = (function.library, function.mangled, near)
        if asked not in self._known:
            self._known[asked] = self._closed(function) or self._named(function.name, function.mangled, near)
        return self._known[asked]

    def named(self, name: Name) -> SourceRef:
        """The source of a function that another's name tells of."""
        asked = ("", name.text, None)
        if asked not in self._known:
            self._known[asked] = self._named(name, "", None)
        return self._known[asked]

    def called(self, name: Name) -> SourceRef:
        """The source of a class's call operator; of a lambda the lambda's own."""
        if name.parts[-1].name.startswith("{"):
            return self.named(name)
        return self.named(Name(f"{name.text}::operator()", (*name.parts, NamePart("operator()"))))

    def _closed(self, function: Function) -> SourceRef | None:
        """Why there is no source to look for; None where there may be one."""
        if function.closed:
            return unknown(f"the source of {function.library or 'this code'} is not PyTorch's")
        if not function.mangled:
            return unknown(f"{function.library} does not name the function")
        if MADE.match(function.demangled):
            return unknown("made by the compiler: no source has it")
        if STANDARD.match(function.name.qualified):
            return unknown("the C++ standard library's")
        return None

    def _named(self, name: Name, mangled: str, near: str | None) -> SourceRef:
        if any(part.name.startswith("{") for part in name.parts):
            return self._lambda(name, near)
        found = self._definition(name, mangled, near)
        if found is not None:
            return found
        library = third_party(name)
        if library is not None:
            return unknown(f"of {library}, linked into torch: not in PyTorch's own source")
        return unknown(self._nothing(name, mangled))

    def _nothing(self, name: Name, mangled: str) -> str:
        """Why nothing was found, in the words of the first source beyond the runtime tree."""
        for source in self.lookup.sources:
            if _candidates(source, name, mangled, None):
                return f"{source.tree.info.name} defines {name.plain} with other parameters only"
            return source.nothing(source.find(name.plain, Wanted()), name.plain)
        return NOT_IN_WHEEL

    def _definition(self, name: Name, mangled: str, near: str | None) -> SourceRef | None:
        """The definition whose types are the function's; else, in the first source with any, as many parameters."""
        generated = self.lookup.store.definitions(name.plain) or self._bound(name)
        if len(generated) == 1:
            return in_runtime(self.lookup.tree, *generated[0])
        fallback: SourceRef | None = None
        for source in self._sources():
            candidates = _candidates(source, name, mangled, near)
            ranked = [(_fits(source, name, one), one) for one in candidates]
            exact = [one for rank, one in ranked if rank == 2]
            if exact:
                return _refs(source, exact, name)
            close = [one for rank, one in ranked if rank == 1]
            if not close and not source.related:
                close = [one for one in candidates if fits(name, one, kin=False)]
            fallback = fallback or (_refs(source, close, name) if close else None)
        if fallback is None and generated:
            places = [in_runtime(self.lookup.tree, *one) for one in generated]
            return several(places, f"{name.qualified} has {len(places)} definitions in generated files")
        return fallback

    def _bound(self, name: Name) -> list[tuple[str, int, int | None]]:
        """The generated functions behind Python's names, which have as many parameters."""
        scope, _, last = name.plain.rpartition("::")
        rows = self.lookup.store.bindings_of(last) if scope == BINDINGS else []
        places = dict.fromkeys((row.path, row.line, row.end_line) for row in rows)
        given = len(name.parameters or ())
        heads = {at: "".join(self.lookup.tree.lines(at[0])[at[1] - 1 : at[1] + 2]).partition(")")[0] for at in places}
        return [at for at, head in heads.items() if head.count(",") + 1 == given]

    def _sources(self) -> Iterator[Source]:
        if self.lookup.installed is not None:
            yield self.lookup.installed
        yield from self.lookup.sources

    def _lambda(self, name: Name, near: str | None) -> SourceRef:
        """A lambda has no name of its own: its line is known where only one in the function around it can be meant."""
        outer, way = lambdas.around(name)
        if outer is None:
            return unknown("a lambda outside of any function: nothing tells which")
        around = self._definition(outer, "", near)
        if around is None or around.path is None or around.line is None:
            return unknown(f"a lambda inside {outer.qualified}, whose definition is not known")
        what = f"a lambda inside {outer.qualified} ({around.path}:{around.line})"
        text = Text(around.path, "\n".join(self.lookup.lines(around))).bare
        found = lambdas.find(text, way) if way else lambdas.LambdaOffsets((), False)
        lines = sorted({around.line + text.count("\n", 0, at) for at in found.offsets})
        places = [replace(around, line=line, end_line=None, url=_line_url(around, line)) for line in lines[:_MOST]]
        if found.sure:
            return replace(places[0], reason=what)
        if len(places) > 1:
            return several(places, f"{what}: {len(lines)} there could be it, and the name does not tell which")
        why = "the one written there need not be it" if places else "no text here shows it"
        return unknown(f"{what}: {why}", around.path, around.line)

    def entry(self, operator: Operator, kind: str) -> SourceRef | None:
        """The at::_ops entry point of an operator: "entry" is its call, else its redispatch."""
        line = operator.call_line if kind == "entry" else operator.redispatch_line
        if operator.call_path is None or line is None:
            return None
        return in_runtime(self.lookup.tree, operator.call_path, line)


def third_party(name: Name) -> str | None:
    """The library beside PyTorch's own that a function's name says it is of; None where it says none."""
    return next((library for library, names in THIRD_PARTIES if names.match(name.plain)), None)


def _candidates(source: Source, name: Name, mangled: str, near: str | None) -> Sequence[Symbol]:
    """The definitions of that name which this build compiles and whose linkage is the function's."""
    found = source.names.definitions(name.plain) or list(source.find(name.plain, Wanted()).left)
    here = list({(one.path, one.line): one for one in found if one.role == "definition" and one.kind in CODE}.values())
    here = [one for one in here if source.conditions.holds(one.guards, one.path) is not False]
    here = [one for one in here if not one.path.endswith(_DEVICE)] or here
    if not name.is_anonymous and not _marked(name, mangled):
        here = [one for one in here if not one.static or _may_be_static(name, mangled, one)]
    elif near is not None:
        here = [one for one in here if one.path == near] or here
    if name.parts and name.parts[-1].arguments is not None:
        here = [one for one in here if one.template] or here
    return here


def _fits(source: Source, name: Name, symbol: Symbol) -> int:
    """As `fits`; a parameter list with `#if`s in it has as many parameters as the build gave it."""
    found = fits(name, symbol)
    if found == 0:
        head = source.tree.lines(symbol.path)[symbol.line - 1 : symbol.line + _HEAD]
        found = int(any(line.startswith("#if") for line in head[: _opening(head)]))
    return found


def _opening(lines: Sequence[str]) -> int:
    """The line at which a function's body opens."""
    return next((number for number, line in enumerate(lines) if "{" in line), len(lines))


def _is_internal(function: Function) -> bool:
    return function.name.is_anonymous or _marked(function.name, function.mangled)


def _marked(name: Name, mangled: str) -> bool:
    """Whether a mangled name says that the function is static: an L before its last part."""
    last = name.parts[-1].name if name.parts else ""
    return f"L{len(last)}{last}" in mangled


def _may_be_static(name: Name, mangled: str, symbol: Symbol) -> bool:
    """Whether a static function may have a name that does not say so: a C function's, a template's."""
    if not mangled.startswith("_Z"):
        return not mangled or symbol.path.endswith(".c")
    return bool(name.parts) and name.parts[-1].arguments is not None and symbol.template


def _refs(source: Source, found: Sequence[Symbol], name: Name) -> SourceRef:
    mine = qualifiers(name.text)
    found = [one for one in found if takes(name, one)] or found
    alike = [one for one in found if qualifiers(one.signature) == mine] if len(found) > 1 else found
    places = [source.ref(one.path, one.line, one.end_line) for one in alike or found]
    return several(places, f"{name.qualified} has {len(places)} definitions that its name and types fit")


def _line_url(ref: SourceRef, line: int) -> str | None:
    return f"{ref.url.partition('#')[0]}#L{line}" if ref.url else None
