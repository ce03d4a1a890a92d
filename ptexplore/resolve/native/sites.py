"""The source of native functions: the only definition by name and types; for a lambda, its place in a function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ptexplore.cpp.matching import Wanted, definitions, fits, qualifiers, takes
from ptexplore.cpp.names import without_angles
from ptexplore.cpp.symbol_names import Name, NamePart, parse, split
from ptexplore.cpp.text import Text
from ptexplore.cpp.types import plain_type, plain_types
from ptexplore.lazy import remembered
from ptexplore.model.codes import Reason, within
from ptexplore.model.operators import Operator
from ptexplore.model.place_reasons import (
    CalledByLibrary,
    DefinedAlike,
    DefinedElsewhere,
    DefinedInGenerated,
    DefinedWithAsMany,
    DefinedWithOtherTypes,
    ImplicitMember,
    Joined,
    LambdaInside,
    LambdaNotShown,
    LambdaOfUnknown,
    LambdaOutside,
    LambdaUnread,
    MadeByCompiler,
    MadeForVariable,
    MadeWhileRunning,
    MayBeAnother,
    NotDemangled,
    NotIndexed,
    NotNamed,
    NotPyTorchs,
    NotShown,
    OfLibrary,
    OnlyLambdaOutside,
    OtherParameters,
    SetsUpVariables,
    SeveralLambdas,
    SeveralLambdasOutside,
    SharedCode,
    StandardLibrary,
    StandardLibraryFor,
)
from ptexplore.model.places import SourceRef
from ptexplore.model.symbols import Symbol
from ptexplore.resolve.native import lambdas
from ptexplore.resolve.native.call_tree import Function, NativeFrame
from ptexplore.resolve.native.linkage import HEADER, UNLINKED, Linkage, compiled_from, narrowed
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime, of_yours, several, unknown
from ptexplore.resolve.places.sources import Source

MADE = re.compile(r"__tls_init|TLS |_GLOBAL__|guard variable |vtable |__clang_call_terminate")
STANDARD = re.compile(r"(?:std|__gnu_cxx|__cxxabiv1)::|operator (?:new|delete)")
_STANDARD_MANGLED = re.compile(r"_ZT?N?K?St|_ZNK?9__gnu_cxx")  # abbreviations of the Itanium ABI
# Names of functions in libraries that a wheel links into torch. They apply if PyTorch's source has no such definition.
THIRD_PARTIES = (
    ("MKL", re.compile(r"(?:__)?mkl_|MKL|Dfti|vm[sdczl][A-Z]|VML|v[sdcz][A-Z]|vsl[A-Z]|v[sdi]Rng")),
    # Fortran names; without the last underscore only names that follow the scheme of LAPACK.
    ("BLAS or LAPACK", re.compile(
        r"[sdczi][a-z0-9]{3,6}_$|cblas_|LAPACKE_|"
        r"(?i:[sdcz](?:ge|po|sy|he|tr|gb|sb|hb|tb|gt|pt|st|pb|pp|sp|hp|tp|or|un|la)[a-z]{2,3}$)")),
    ("oneDNN", re.compile(r"dnnl(?:::|_)|ideep::|mkldnn_|Xbyak::")),
    ("Sleef", re.compile(r"Sleef_|_ZGV[a-zA-Z]\w+_Sleef_")),
    ("pybind11", re.compile(r"pybind11(?:::|_)")),
    ("another library", re.compile(
        r"(?:google|fmt|onnx|gloo|fbgemm|asmjit|qnnpack|xnnpack|tensorpipe|kineto|libkineto)(?:::|_)|"
        r"(?:cpuinfo|pytorch_q|xnn|nnp|pthreadpool)_")),
)  # fmt: skip
BINDINGS = "torch::autograd"  # the namespace of the generated functions behind Python names
_OF_VARIABLE = re.compile(r"TLS (?:init|wrapper) function for (.+)")
_SPREAD = re.compile(r"__tls_init|\{lambda")  # these have no definition of their own: the caller's file is a clue
_MKL_UNIT = re.compile(r"mkl_\w+\.c|_vml_\w+\.c")
_Defined = type[DefinedAlike] | type[DefinedWithAsMany] | type[DefinedWithOtherTypes]
MADE_WHILE_RUNNING = "anonymous memory"  # capture/native's library name for code outside of libraries
_USED_MACRO = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*\(")
_HEAD = 24  # limit on the lines of a parameter list
_MOST = 12  # limit on the listed lambdas of a function


@dataclass(frozen=True)
class Sites:
    """Sources of the functions of one trace. Each function is looked up once."""

    lookup: Lookup
    _paths: dict[NativeFrame, str | None] = field(default_factory=dict, repr=False)
    _inside: dict[NativeFrame, str | None] = field(default_factory=dict, repr=False)  # whose code it is, or called it

    def of(self, frame: NativeFrame) -> SourceRef:
        """Returns the source of a frame's function. Ask for callers first: the caller's file tells namesakes apart."""
        function, caller = frame.function, frame.parent
        linkage = _linkage(function)
        by_caller = linkage.is_internal(function.name) or _SPREAD.search(function.demangled)
        near = self._paths.get(caller) if caller is not None and by_caller else None
        source = self.function(function, near, frame.jumper)
        if source.precision == "ambiguous" and caller is not None and not caller.function.closed:
            source = self._beside(source, caller.function.name)
        library = self.library(frame)
        if source.path is None and library is not None and third_party(function.name, function.unit) is None:
            source = unknown(CalledByLibrary(library))
        if isinstance(source.reason, StandardLibrary):
            return self._instantiated(frame, source)
        self._paths[frame] = source.path
        return source

    def _beside(self, namesakes: SourceRef, caller: Name) -> SourceRef:
        """Returns the only one of several generated namesakes whose file names the caller, which must be a template."""
        candidates = namesakes.candidates
        if not caller.is_template or any(candidate.layer != "generated" for candidate in candidates):
            return namesakes
        texts = [self.lookup.tree.read(str(candidate.path)) for candidate in candidates]
        name = caller.parts[-1].name
        naming = [c for c, text in zip(candidates, texts, strict=True) if text is not None and name in text.text]
        return naming[0] if len(naming) == 1 else namesakes

    def library(self, frame: NativeFrame) -> str | None:
        """Returns the library, linked into torch, to which a frame's function belongs, or None. Ask for callers first.

        The name or file shows the library. A C function that the library's code calls also belongs to it: such a
        library calls no function of PyTorch, since PyTorch's functions are C++.
        """
        function, around = frame.function, self._inside.get(frame.parent) if frame.parent is not None else None
        library = None if function.closed else third_party(function.name, function.unit)
        if library is None and not function.closed and function.mangled and not function.mangled.startswith("_Z"):
            library = around
        self._inside[frame] = around if function.closed else library
        return library

    def _instantiated(self, frame: NativeFrame, source: SourceRef) -> SourceRef:
        """Returns a standard library function that was compiled into a torch library: its user, and where that is.

        The dynamic linker uses one copy for all libraries, so the copy need not be in the caller's library.
        """
        caller = frame.parent
        while caller is not None and (caller.function.closed or _is_standard(caller.function)):
            caller = caller.parent
        if caller is None:
            return source
        self._paths[frame] = self._paths.get(caller)  # its callees often belong to its caller
        around = self.function(caller.function)
        at = f"{around.path}:{around.line}" if around.path is not None and around.line is not None else ""
        return replace(source, reason=StandardLibraryFor(caller.function.shown, frame.function.library, at))

    @remembered
    def function(self, function: Function, near: str | None = None, jumper: str | None = None) -> SourceRef:
        """Returns the source of a function. `near` is the caller's file; `jumper` is passed to `alike`."""
        if MADE.match(function.demangled) and function.mangled and not function.closed:
            return self._compilers_own(function, near)
        if alike := self.alike(function, jumper):
            return self._alike(function, alike, near)
        if function.written is not None:
            return of_yours(*function.written)
        why = _why_none(function)
        return unknown(why) if why else self.named(function.name, _linkage(function), near)

    @remembered
    def alike(self, function: Function, jumper: str | None = None) -> tuple[str, ...]:
        """Returns the names of other functions with the same code; none for a library that is not torch's.

        `jumper`: the function that jumped to this one in the call in question.
        """
        if function.closed:
            return ()
        folded = (name for name in function.jumpers if self._may_be_folded(name, function, without_text=name == jumper))
        return (*function.alike, *folded)

    def _may_be_folded(self, jumper: str, function: Function, *, without_text: bool) -> bool:
        """Whether a function whose whole code is a jump may have the same code as its target.

        GCC only folds functions with the same number of arguments, and then the text of one does not call the other.
        Without a text, the answer is `without_text` if the argument types are equal and both may be from one file.
        """
        name, into = parse(jumper), function.name
        is_alike = bool(into.parts) and len(name.parameters or ()) == len(into.parameters or ())
        if not is_alike or name.qualified == into.qualified or MADE.match(jumper) or "{" in name.qualified:
            return False
        written = "\n".join(self.lookup.lines(self.named(name)))
        if not written:
            return without_text and bool(function.unit) and name.parameters == into.parameters
        body = Text("", written).code.partition("{")[2]
        return re.search(rf"(?<![\w~]){re.escape(into.parts[-1].name)}(?!\w)", body) is None

    def _alike(self, function: Function, alike: tuple[str, ...], near: str | None) -> SourceRef:
        """Returns a function whose code is shared with others. Any of them may have been called."""
        names = (function.name, *map(parse, alike))
        refs = [self.named(name, UNLINKED, near) for name in names[:_MOST]]
        places = dict.fromkeys(replace(ref, reason=None) for ref in refs if ref.path is not None)
        reason = SharedCode(len(names))
        if not places:
            return unknown(reason)
        return SourceRef(None, None, None, "ambiguous", reason=reason, candidates=tuple(places))

    @remembered
    def named(self, name: Name, linkage: Linkage = UNLINKED, near: str | None = None) -> SourceRef:
        """Returns the source of a function with this name.

        Leave `linkage` out if the function is only known from another function's name.
        """
        if any(part.name.startswith("{") for part in name.parts):
            return self._lambda(name, linkage, near)
        definition, library = self._definition(name, linkage, near), third_party(name, linkage.unit)
        if definition is None and library is not None:
            return unknown(OfLibrary(library))
        return definition or self._compilers(name) or unknown(self._nothing(name, linkage))

    def _compilers_own(self, function: Function, near: str | None) -> SourceRef:
        """Returns a function that the compiler adds, as unknown. For a variable, it has the variable's definition."""
        variable = _OF_VARIABLE.match(function.demangled)
        if variable is not None:
            of_variable = MadeForVariable(variable[1])
            place = self._variable(parse(variable[1]))
            if place is None:
                return unknown(of_variable)
            return replace(place, precision="unknown", reason=of_variable)
        if function.demangled != "__tls_init" or not function.unit:
            return unknown(MadeByCompiler())
        reason = SetsUpVariables(function.unit)
        if near is None or near.endswith(HEADER) or not compiled_from(near, function.unit):
            return unknown(reason)
        source = next((source for source in self.lookup.sources if source.tree.exists(near)), None)
        lines = list(lambdas.thread_locals(source.text(near).bare)) if source is not None else []
        if source is None or len(lines) != 1:
            return unknown(reason)
        reason = SetsUpVariables(function.unit, f"{near}:{lines[0]}")
        return replace(source.ref(near, lines[0]), precision="unknown", reason=reason)

    def _variable(self, name: Name) -> SourceRef | None:
        """Returns the only definition of a variable; None if there is none, or several."""
        for source in self.lookup.sources:
            known = {(s.path, s.line) for s in source.definitions(name.plain) if s.kind in ("variable", "member")}
            if len(known) == 1:
                return source.ref(*known.pop())
        return None

    def called(self, name: Name) -> SourceRef:
        """Returns the source of a class's call operator; for a lambda, the source of the lambda."""
        if name.parts[-1].name.startswith("{"):
            return self.named(name)
        return self.named(Name(f"{name.text}::operator()", (*name.parts, NamePart("operator()"))))

    def _nothing(self, name: Name, linkage: Linkage) -> Reason:
        """Returns why no definition was found, according to the first source after the runtime tree."""
        if not self.lookup.sources:
            return self.lookup.no_text
        source = self.lookup.sources[0]
        unit = linkage.own_unit(name)
        if unit and not _candidates(source, name, linkage, None) and source.definitions(_as_written(name)):
            return DefinedElsewhere(unit, source.tree.info.label)
        if _candidates(source, name, linkage, None):
            return OtherParameters(name.plain, source.tree.info.label)
        nothing = source.nothing(source.find(name.plain, Wanted()), name.plain)
        is_said = self.lookup.is_indexed or NotIndexed() in within(nothing)
        return nothing if is_said else Joined((nothing, NotIndexed()))

    def _compilers(self, name: Name) -> SourceRef | None:
        """Returns a special member that its class does not declare, as unknown: the compiler makes it.

        Returns None for other functions, and if the class is not known or declares the member.
        """
        member = special_member(name)
        for source in (*self.lookup.installed, *self.lookup.sources) if member is not None else ():
            classes = [s for s in source.definitions(name.plain.rpartition("::")[0]) if s.kind in ("class", "struct")]
            classes = [s for s in classes if source.conditions.holds(s.guards, s.path) is not False]
            if len(classes) != 1:
                continue
            path, line = classes[0].path, classes[0].line
            declared = [symbol for symbol in source.outline(path) if symbol.qualified == name.plain]
            if any(member == _member(symbol.name, symbol.parameters or ()) for symbol in declared):
                return None
            ref = source.ref(path, line)
            why = ImplicitMember(f"{path}:{line}", source.tree.info.label)
            return replace(ref, precision="unknown", reason=Joined((ref.reason, why)) if ref.reason else why)
        return None

    def _definition(self, name: Name, linkage: Linkage, near: str | None) -> SourceRef | None:
        """Returns the definition with the function's types; else a definition with as many parameters.

        The latter comes from the first source that has any.
        """
        unit = linkage.own_unit(name)
        generated = self.lookup.store.definitions(name.plain) or self._bound(name)
        if unit:
            generated = [row for row in generated if compiled_from(row[0], unit)]
        compiled = linkage.of_library([path for path, _, _ in generated])
        generated = [row for row in generated if row[0] in compiled]
        if len(generated) == 1:
            return in_runtime(self.lookup.tree, *generated[0])
        fallback: SourceRef | None = None
        for source in (*self.lookup.installed, *self.lookup.sources):
            candidates = _candidates(source, name, linkage, near)
            ranks = [_fits(source, name, candidate) for candidate in candidates]
            if 2 in ranks:
                return _refs(
                    source, [c for c, rank in zip(candidates, ranks, strict=True) if rank == 2], name, DefinedAlike
                )
            close: list[Symbol] = [c for c, rank in zip(candidates, ranks, strict=True) if rank == 1]
            how: _Defined = DefinedWithAsMany
            if not close and not source.related:
                close = [candidate for candidate in candidates if fits(name, candidate, kin=False)]
                how = DefinedWithOtherTypes
            fallback = fallback or (_refs(source, close, name, how) if close else None)
        if fallback is None and generated:
            places = [in_runtime(self.lookup.tree, *row) for row in generated]
            return several(places, lambda count: DefinedInGenerated(name.qualified, count))
        return fallback

    def _bound(self, name: Name) -> list[tuple[str, int, int | None]]:
        """Returns the generated functions behind Python names that have as many parameters."""
        scope, _, last = name.plain.rpartition("::")
        rows = self.lookup.store.bindings_of(last) if scope == BINDINGS else []
        places = dict.fromkeys((row.path, row.line, row.end_line) for row in rows)
        heads = [
            "".join(self.lookup.tree.lines(path)[line - 1 : line + 2]).partition(")")[0] for path, line, _ in places
        ]
        counts = [head.count(",") + 1 for head in heads]
        return [at for at, count in zip(places, counts, strict=True) if count == len(name.parameters or ())]

    def _lambda(self, name: Name, linkage: Linkage, near: str | None) -> SourceRef:
        """Returns the line of a lambda if only one lambda of its function can be meant. A lambda has no name."""
        outer, way = lambdas.around(name)
        if outer is None:
            return self._outside(name, way, linkage.unit, near)
        around = self._definition(outer, Linkage(unit=linkage.unit), near)
        if around is None or around.path is None or around.line is None:
            return unknown(LambdaOfUnknown(outer.qualified))
        at = f"{around.path}:{around.line}"
        skew = around.reason if around.precision == "version-skew" else None

        def explain(because: Reason | None = None, *, is_read: bool = True) -> Reason:
            kind = LambdaInside(outer.qualified, at, because) if is_read else LambdaUnread(outer.qualified, at)
            return Joined((skew, kind)) if skew is not None else kind

        text = Text(around.path, "\n".join(self.lookup.lines(around))).bare
        written = lambdas.find(text, way or ())
        lines = sorted({around.line + text.count("\n", 0, at) for at in written.offsets})
        page = around.url.partition("#")[0] if around.url else None
        shown = [(line, f"{page}#L{line}" if page else None) for line in lines[:_MOST]]
        places = [replace(around, line=line, end_line=None, url=url) for line, url in shown]
        if written.sure:
            return replace(places[0], reason=explain())
        if len(places) > 1:
            return several(places, lambda _: explain(SeveralLambdas(len(lines))))
        if not text and around.precision == "version-skew":  # only the function around it is known, by name
            return replace(around, end_line=None, reason=explain(is_read=False))
        reason = explain(MayBeAnother() if places else NotShown(), is_read=bool(places or text))
        return replace(around, precision="unknown", end_line=None, url=None, reason=reason)

    def _outside(self, name: Name, way: list[tuple[int, int]] | None, unit: str, near: str | None) -> SourceRef:
        """Returns a lambda outside of functions, from the text of its file.

        The file must be the caller's file and the lambda's own unit.
        """
        source = next((source for source in self.lookup.sources if near is not None and source.tree.exists(near)), None)
        if source is None or near is None or not unit or near.endswith(HEADER) or not compiled_from(near, unit):
            return unknown(LambdaOutside(unit))
        first = next(index for index, part in enumerate(name.parts) if part.name.startswith("{"))
        variable = name.parts[first - 1].name if first else None
        functions = [
            (s.begin, s.end_line) for s in source.outline(near) if s.kind == "function" and s.role == "definition"
        ]
        parameters = way[0][0] if way else None
        written = lambdas.outside(source.text(near).bare, functions, variable, parameters)
        lines = written.offsets
        if len(lines) == 1 and written.sure:
            return source.ref(near, lines[0], reason=OnlyLambdaOutside())
        places = [source.ref(near, line) for line in lines[:_MOST]]
        if len(places) > 1:
            return several(places, lambda _: SeveralLambdasOutside(near, len(lines)))
        return unknown(LambdaNotShown(near), near)

    def entry(self, operator: Operator, kind: str) -> SourceRef | None:
        """Returns the at::_ops entry point of an operator: for "entry" its call, else its redispatch."""
        line = operator.call_line if kind == "entry" else operator.redispatch_line
        if operator.call_path is None or line is None:
            return None
        return in_runtime(self.lookup.tree, operator.call_path, line)


def third_party(name: Name, unit: str = "") -> str | None:
    """Returns the library, linked into torch, to which a function belongs by its name or file; else None."""
    if _MKL_UNIT.fullmatch(unit):
        return "MKL"
    return next((library for library, names in THIRD_PARTIES if names.match(name.plain)), None)


def _why_none(function: Function) -> Reason | None:
    """Returns why a function has no source to look for; None if it may have one."""
    if function.closed and function.library == MADE_WHILE_RUNNING:
        return MadeWhileRunning()
    if function.closed:
        return NotPyTorchs(function.library)
    if not function.mangled:
        return NotNamed(function.library)
    if _is_standard(function):
        return StandardLibrary()
    is_mangled = function.demangled.startswith("_Z") and third_party(function.name) is None
    return NotDemangled() if is_mangled else None


Member = tuple[str, tuple[str, ...]]  # a special member's name, and its parameter types without template arguments


def special_member(name: Name) -> Member | None:
    """Returns the special member that a name denotes; None for other functions.

    A special member is one that a compiler makes if the class has none.
    """
    if len(name.parts) < 2 or name.parameters is None:
        return None
    owner, last = name.parts[-2].name, name.parts[-1].name
    member = _member(last, name.parameters)
    copied = member[1] in ((f"const {owner}&",), (f"{owner}&&",))
    if last == f"~{owner}" or (last == owner and (copied or not member[1])) or (last == "operator=" and copied):
        return member
    return None


def _member(name: str, parameters: Sequence[str]) -> Member:
    return name, tuple(without_angles(plain) for plain in plain_types(parameters))


def _is_standard(function: Function) -> bool:
    return bool(STANDARD.match(function.name.qualified) or _STANDARD_MANGLED.match(function.demangled))


def _linkage(function: Function) -> Linkage:
    return Linkage(function.mangled, function.unit, function.is_global, function.library)


def _candidates(source: Source, name: Name, linkage: Linkage, near: str | None) -> Sequence[Symbol]:
    """Returns the definitions of a name that this build compiles and that fit the function's linkage."""
    written = _as_written(name)
    symbols = source.definitions(written) or source.find(written, Wanted()).left
    left = [s for s in definitions(symbols) if source.conditions.holds(s.guards, s.path) is not False]
    compiled = linkage.of_library([s.path for s in left])
    left = [s for s in left if s.path in compiled]
    if not linkage.is_internal(name):
        left = [s for s in left if not s.static or _may_be_static(name, linkage.mangled, s)]
    left = narrowed(source, name, linkage, left)
    if near is not None and linkage.is_internal(name):
        left = [s for s in left if s.path == near] or left
    if name.parts and name.parts[-1].arguments is not None:
        left = [s for s in left if s.template] or left
    elif linkage.mangled.startswith("_Z") and not name.is_template:
        left = [s for s in left if not s.template]
    return left


def _as_written(name: Name) -> str:
    """Returns the name as the source has it: a conversion operator's type has no namespaces there."""
    scope, conversion, converted = name.plain.partition("::operator ")
    return f"{scope}{conversion}{plain_type(converted)}" if converted[:1].isalpha() else name.plain


def _fits(source: Source, name: Name, symbol: Symbol) -> int:
    """Returns the rank as `fits` does; a macro may hide the parameters."""
    rank = fits(name, symbol)
    if rank == 0 and any(_USED_MACRO.match(parameter) for parameter in symbol.parameters or ()):
        lines = source.tree.lines(symbol.path)[symbol.line - 1 : symbol.line + _HEAD]
        return _by_arguments(name, symbol, " ".join(lines).partition("{")[0])
    return rank


def _by_arguments(name: Name, symbol: Symbol, head: str) -> int:
    """Returns the rank if a macro hides the parameters: from the template arguments of a specialisation."""
    written = re.search(rf"\b{re.escape(symbol.name)}\s*<(.*?)>\s*\(", head)
    if written is None:
        return 1
    given = name.parts[-1].arguments if name.parts else None
    return 2 if plain_types(split(given or "")) == plain_types(split(written[1])) else 0


def _may_be_static(name: Name, mangled: str, symbol: Symbol) -> bool:
    """Whether a function may be static although its name does not show it: a C function, or a template."""
    if not mangled.startswith("_Z"):
        return not mangled or symbol.path.endswith(".c")
    return bool(name.parts) and name.parts[-1].arguments is not None and symbol.template


def _refs(source: Source, symbols: Sequence[Symbol], name: Name, how: _Defined) -> SourceRef:
    """Returns one reference for the definitions; `how` says how they fit the name."""
    mine = qualifiers(name.text)
    symbols = [symbol for symbol in symbols if takes(name, symbol)] or symbols
    alike = [symbol for symbol in symbols if len(symbols) == 1 or qualifiers(symbol.signature) == mine] or symbols
    extents = dict.fromkeys((symbol.path, symbol.line, symbol.end_line) for symbol in alike)
    places = [source.ref(*extent) for extent in extents]
    return several(places, lambda count: how(name.qualified, count))
