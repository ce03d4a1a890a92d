"""The frames of one stepped part: their operators and source places, their nesting, and hops made from them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

from ptexplore.cpp.symbol_names import ANONYMOUS, parse, pointed
from ptexplore.facts.choosers import is_enum
from ptexplore.facts.type_slots import SLOTS
from ptexplore.lazy import remembered
from ptexplore.model.observed import Phase
from ptexplore.model.operators import Operator
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import CalledAsDispatcher, CompiledIn
from ptexplore.model.trace import BindingRef, Hop, NativeCall
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.native.call_tree import NativeFrame, SteppedPart, kernel_below
from ptexplore.resolve.native.chain import CALLS
from ptexplore.resolve.native.sites import Sites
from ptexplore.resolve.python_places import function_place, is_torchs_or_yours

STUB_CALL = "at::native::DispatchStubImpl::get_call_ptr"  # the first function in every call of a dispatch stub
WRAPPER = "::TypeError_to_NotImplemented_"
BINDINGS, TENSOR = "torch::autograd::THPVariable_", "torch.Tensor."
OF_PYTHON_2 = frozenset(("__div__", "__idiv__", "__long__", "__nonzero__"))
UNNAMED = "?"  # a call of an operator or node that the frame does not name
# Node classes whose apply is inherited by classes with other names (torch/csrc/autograd/python_function.h,
# custom_function.h, functions/basic_ops.h). All other torch nodes have the name of the class in their apply.
BASES = ("PyNode", "CppNode", "Error")
TORCHS = "libtorch"  # prefix of the libraries with torch's own nodes
BETTER = ("unknown", "ambiguous", "version-skew", "consistent", "located", "registered")


@dataclass(frozen=True)
class Seen:
    """The frames of one stepped part, and the facts about each frame."""

    context: Context
    sites: Sites
    part: SteppedPart
    phase: Phase

    # --- operators ---

    def operator_named(self, name: str) -> str | None:
        """Returns the operator for a C++ name: "aten::add.Tensor" for "add_Tensor".

        A qualified name is the name of a kernel. It needs to belong to only one operator.
        """
        if "::" in name:
            return self._operator_with(name)
        operator = self._operator(name)
        return operator.name if operator is not None else None

    def operator_of(self, frame: NativeFrame) -> str | None:
        """Returns the operator of an at::_ops entry point, or of a boxed call through its kernel; else None."""
        seen = frame.function.landmark
        if seen.kind == "boxed-call":
            kernel = kernel_below(frame)
            return self.operator_named(kernel) if kernel is not None else None
        return self.operator_named(seen.name) if seen.kind == "entry" else None

    @remembered
    def _operator_with(self, kernel: str) -> str | None:
        """Returns the operator with this generated kernel. A generated kernel is written for one operator."""
        operators = self.context.store.operators_with(kernel)
        return operators[0] if len(operators) == 1 else None

    @remembered
    def _operator(self, cpp_name: str) -> Operator | None:
        bases = [cpp_name, *(cpp_name[:at] for at, char in enumerate(cpp_name) if char == "_" and at)]
        bases += [f"{base}_" for base in bases]
        named = (operator for base in dict.fromkeys(bases) for operator in self.context.store.operators_named(base))
        return next((operator for operator in named if operator.cpp_name == cpp_name), None)

    # --- sources ---

    @cached_property
    def sources(self) -> list[SourceRef]:
        """The source of each frame's function. Callers come first, because their files tell namesakes apart."""
        return [self._source(frame) for frame in self.part.frames]

    def _source(self, frame: NativeFrame) -> SourceRef:
        code = frame.function.code
        if code is not None:
            return function_place(self.context, code.file, code.line, code.name)
        if frame.function.inlined:
            return self.sites.named(frame.function.name)
        seen, source = frame.function.landmark, self.sites.of(frame)
        operator = self._operator(seen.name) if seen.kind in ("entry", "redispatch") else None
        return self.sites.entry(operator, seen.kind) or source if operator is not None else source

    # --- nesting ---

    @cached_property
    def _owners(self) -> list[int]:
        """By frame: the number of the operator call or node around it; -1 if there is none."""
        owners: list[int] = []
        for frame in self.part.frames:
            caller = frame.parent
            owners.append(-1 if caller is None else caller.number if _owns(caller) else owners[caller.number])
        return owners

    @cached_property
    def _by_name(self) -> dict[str, list[NativeFrame]]:
        named: dict[str, list[NativeFrame]] = {}
        for frame in self.part.frames:
            if not frame.function.closed:
                named.setdefault(frame.function.name.plain, []).append(frame)
        return named

    def inside(self, region: NativeFrame, name: str, taken: Set[NativeFrame]) -> NativeFrame | None:
        """Returns the first frame with this name inside `region`, or None.

        Frames inside an inner operator and frames in `taken` are skipped.
        """
        owner = region.number if _owns(region) else self._owners[region.number]
        for frame in self._by_name.get(name, []):
            mine = self._owners[frame.number] == owner and frame.number != region.number
            if mine and region.holds(frame) and frame not in taken:
                return frame
        return None

    @cached_property
    def _nameless(self) -> list[int]:
        """The numbers of frames that may belong to torch and have no name, in order."""
        functions = ((frame.number, frame.function) for frame in self.part.frames)
        return [number for number, f in functions if not (f.closed or f.mangled or f.inlined)]

    def is_whole(self, region: NativeFrame) -> bool:
        """Whether all calls inside a frame were recorded, and all frames that may belong to torch have a name."""
        if self.part.calls.cut:
            return False
        return bisect_right(self._nameless, region.number) == bisect_right(self._nameless, region.last)

    def stubs_called(self, region: NativeFrame) -> frozenset[str] | None:
        """Returns the dispatch stubs called inside `region`, without those of operators inside it.

        Returns None if one of them is not known. A call of a stub always has a frame: `DispatchStub::operator()` calls
        a function of another file to get the kernel, with the stub as `this` (aten/src/ATen/native/DispatchStub.h).
        """
        owner = region.number if _owns(region) else self._owners[region.number]
        asked = [f for f in self._by_name.get(STUB_CALL, ()) if region.holds(f) and self._owners[f.number] == owner]
        names = [frame.stub for frame in asked]
        return frozenset(parse(name).plain for name in names) if all(names) else None

    @cached_property
    def python(self) -> set[NativeFrame]:
        """The Python functions of torch, and yours, that called something outside of libraries without source."""
        calling: set[NativeFrame] = set()
        for frame in reversed(self.part.frames):
            if frame.parent is not None and (frame in calling or not frame.function.closed):
                calling.add(frame.parent)
        codes = ((frame, frame.function.code) for frame in calling)
        with_code = ((frame, code) for frame, code in codes if code is not None)
        return {frame for frame, code in with_code if is_torchs_or_yours(self.context, code.file, code.line)}

    # --- hops ---

    def evidence(self, claim: Claim) -> tuple[int, ...]:
        """Returns the claim's evidence, extended by the stepped part."""
        return tuple(dict.fromkeys((*claim.hop.evidence, self.part.calls.observation)))

    def observed(self, claim: Claim, frame: NativeFrame) -> Claim:
        """Returns the claim with the facts from its frame.

        The source becomes that of the function that ran, if this source is known at least as well.
        """
        hop, source = claim.hop, self.sources[frame.number]
        if hop.operator is not None and frame.function.landmark.kind == "boxed-call":
            hop = replace(hop, source=source, operator=replace(hop.operator, entry=frame.function.shown))
        if hop.operator is not None and hop.operator.entry is None and frame.function.landmark.kind == "entry":
            hop = replace(hop, operator=replace(hop.operator, entry=frame.function.name.qualified))
        is_it = hop.kind != "op" or frame.function.landmark.kind == "entry"  # else it is Dispatcher::callBoxed
        is_better = is_it and BETTER.index(source.precision) >= max(1, BETTER.index(hop.source.precision))
        changed = replace(
            hop,
            status="observed",
            source=source if is_better else hop.source,
            native=self._native_call(frame) if not frame.function.inlined else None,
            instructions=frame.instructions if not frame.function.inlined else None,
            evidence=self.evidence(claim),
            why=(*hop.why, CalledAsDispatcher()) if frame.function.inlined else hop.why,
        )
        return replace(claim, hop=changed)

    def entered(self, claim: Claim) -> Claim:
        """Returns the claim of a Python function that also ran in the stepped run."""
        return replace(claim, hop=replace(claim.hop, evidence=self.evidence(claim)))

    def plain(self, frame: NativeFrame, children: tuple[Claim, ...]) -> Claim:
        """Returns the hop for a frame about which nothing else is known."""
        function, source = frame.function, self.sources[frame.number]
        if function.code is not None:
            evidence = (self.part.calls.observation,)
            hop = Hop(0, "python", function.code.name, "observed", source, phase=self.phase, evidence=evidence)
            return Claim(hop, children=children)
        if function.inlined:
            hop = Hop(0, "native", function.shown, "inlined", source, phase=self.phase, why=(CalledAsDispatcher(),))
            return Claim(replace(hop, evidence=(self.part.calls.observation,)), children=children)
        library = self.sites.library(frame) if source.path is None else None
        hop = Hop(
            id=0,
            kind="closed" if function.closed or library is not None else "native",
            name=function.shown,
            status="observed",
            source=source,
            phase=self.phase,
            binding=self._builtin(frame),
            native=replace(self._native_call(frame), third_party=library),
            evidence=(self.part.calls.observation,),
            instructions=frame.instructions,
        )
        return Claim(hop, children=children)

    def _native_call(self, frame: NativeFrame) -> NativeCall:
        function = frame.function
        alike = self.sites.alike(function, frame.jumper)
        returned = frame.returned if frame.returned is None or is_enum(function.name.plain) else bool(frame.returned)
        return NativeCall(
            function.demangled,
            function.mangled,
            function.library,
            frame.own,
            frame.tail,
            returned=returned if not alike else None,  # else another function may have returned it
            unit=function.unit if ANONYMOUS in function.demangled else "",  # else the file may be wrong
            alike=alike,
            folded=frame.jumper in alike and frame.jumper in function.jumpers,
        )

    def _builtin(self, frame: NativeFrame) -> BindingRef | None:
        """Returns the Python name of a C function whose call the profile function did not see; else None.

        This is so for operator syntax. One function may be behind two slots (`__mul__` and `__rmul__`), and it is not
        known which slot was called.
        """
        name = frame.function.name.parts[-1].name if frame.function.name.parts else ""
        if frame.parent is None or not frame.function.name.qualified.startswith(BINDINGS):
            return None
        rows = self.context.store.bindings_of(name)
        if self.wrapped(frame.parent) == name:
            slots = dict.fromkeys(row.name for row in rows if row.table == "Tensor" and row.name.startswith("__"))
            names = sorted(slots.keys() - OF_PYTHON_2, key=len)
        elif frame.parent.function.is_interpreter:
            path = self.sources[frame.number].path
            named = [row.name for row in rows if row.table == "Tensor" and row.path == path] if path else []
            names = [slot for slot, function in SLOTS.items() if function == name] or [
                public.name.removeprefix(TENSOR)
                for method in named
                for public in self.context.store.python_names_for("Tensor", method)
                if public.name == f"{TENSOR}{method}"
            ]
        else:
            return None
        return BindingRef(f"{TENSOR}{' or '.join(names)}") if names else None

    def wrapped(self, frame: NativeFrame) -> str | None:
        """Returns the binding, without its namespace, in the type of a wrapper; None for other frames.

        Comparisons of tensors go through TypeError_to_NotImplemented_ (tools/autograd/gen_python_functions.py).
        """
        name = frame.function.name
        function = pointed(name.parts[-1].arguments or "") if name.parts and name.plain.endswith(WRAPPER) else None
        return function.parts[-1].name if function is not None and function.parts else None

    def carried(self, frame: NativeFrame) -> Claim | None:
        """Returns the function that the callback of a function_ref runs: the call operator of the class in its type.

        Returns None for other frames, and if the function has a frame of its own.
        """
        kernel = frame.function.landmark.kernel if frame.function.landmark.kind == "carrier" else None
        name = f"{kernel.qualified}::operator()" if kernel is not None else ""
        if kernel is None or any(child.function.name.qualified == name for child in frame.children):
            return None
        hop = Hop(
            id=0,
            kind="native",
            name=name,
            status="inlined",
            source=self.sites.called(kernel),
            phase=self.phase,
            native=NativeCall(f"{kernel.text}::operator()"),
            evidence=(self.part.calls.observation,),
            why=(CompiledIn(frame.function.shown),),
        )
        return Claim(hop)


def applied(frame: NativeFrame) -> str | None:
    """Returns the class of a node from the frame of its apply; None for other frames.

    Returns UNNAMED if the apply may belong to a base class.
    """
    seen = frame.function.landmark
    if seen.kind != "node" or (frame.parent is not None and frame.parent.function.landmark == seen):
        return None  # an overload that calls the other overload: the node runs once
    return seen.name if seen.name not in BASES and frame.function.library.startswith(TORCHS) else UNNAMED


def class_of_node(claim: Claim) -> str:
    """Returns the class of a node, without its namespace."""
    return claim.hop.name.removesuffix("::apply").rpartition("::")[2]


def _owns(frame: NativeFrame) -> bool:
    return frame.function.landmark.kind in (*CALLS, "node")
