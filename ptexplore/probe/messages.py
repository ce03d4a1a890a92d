"""What the probe says, as types: made by scripts/probe-messages, not by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, overload

from .reasons import Said


class RecordedTensorParts(TypedDict, total=False):
    """What may be left out of RecordedTensorData."""

    impl: int
    device: str
    layout: str
    dtype: str
    sizes: Sequence[int]
    strides: Sequence[int] | None
    memory: int


class RecordedTensorData(RecordedTensorParts):
    """A tensor input of an operator, as the profiler records it."""


class TransformData(TypedDict):
    """An active function transform of torch.func."""

    level: int
    kind: str


class HeldTensorParts(TypedDict, total=False):
    """What may be left out of HeldTensorData."""

    keys: Sequence[str]


class HeldTensorData(HeldTensorParts):
    """A tensor that was a Python object when the expression began, or when Python called one of its methods."""

    impl: int
    raw: int


class TensorLayerParts(TypedDict, total=False):
    """What may be left out of TensorLayerData."""

    level: int | None
    dim: int | None


class TensorLayerData(TensorLayerParts):
    """A tensor, or a wrapper that a transform put around it."""

    impl: int
    raw: int


class ModuleCalledParts(TypedDict, total=False):
    """What may be left out of ModuleCalledData."""

    name: str | None
    root: int
    bound: str | None


class ModuleCalledData(ModuleCalledParts):
    """The nn.Module that a frame of Module.__call__ calls."""

    type: str


class CaughtErrorData(TypedDict):
    """A C++ error inside an operator that did not end the run."""

    words: str
    file: str
    line: int


class EventParts(TypedDict, total=False):
    """What may be left out of EventData."""

    name: str | None
    overload: str | None
    inputs: Sequence[
        RecordedTensorData
        | Sequence[RecordedTensorData | Sequence[Any] | bool | int | float | str | None]
        | bool
        | int
        | float
        | str
        | None
    ]
    read: Sequence[Sequence[int]]
    sequence: int | None
    through: str | None
    took: int | None
    file: str | None
    line: int | None
    function: str | None
    caller_line: int | None
    resumed: bool
    variables: Mapping[str, str]
    guards: bool
    table: str | None
    method: str | None
    qualname: str | None
    tls_include: int | None
    tls_exclude: int | None
    transforms: Sequence[TransformData]
    self: HeldTensorData | None
    tensors: Sequence[Sequence[TensorLayerData]]
    module: ModuleCalledData | None
    by_c: bool
    raised: bool
    error: CaughtErrorData | None
    left: bool
    is_getter: bool
    at: Sequence[tuple[int, int, int]]
    call: int | None
    weights: Mapping[str, int] | None
    time: int


class EventData(EventParts):
    """One event in the tree of a recorder."""

    event: int
    parent: int | None
    type: str
    thread: int
    phase: Literal["forward", "backward"]


class CallTargetParts(TypedDict, total=False):
    """What may be left out of CallTargetData."""

    kind: str
    qualname: str | None
    table: str | None
    method: str | None
    file: str | None
    line: int | None
    through: str | None


class CallTargetData(CallTargetParts):
    """What a call of the expression calls: a Python function, a builtin, or a slot of a type."""


class CallArgumentParts(TypedDict, total=False):
    """What may be left out of CallArgumentData."""

    raw: int
    impl: int | None
    memory: int | None
    requires_grad: bool
    keys: Sequence[str]
    description: str


class CallArgumentData(CallArgumentParts):
    """A tensor among the arguments of a call."""

    name: str


class KeySetBitsParts(TypedDict, total=False):
    """What may be left out of KeySetBitsData."""

    keys: Sequence[str]


class KeySetBitsData(KeySetBitsParts):
    """A dispatch key set that was read."""

    raw: int


class WrittenTensorData(TypedDict):
    """A tensor that was written to in place during a call, directly or through a view."""

    tensor: str
    memory: int | None
    before: int
    after: int


class UserCallParts(TypedDict, total=False):
    """What may be left out of UserCallData."""

    written: Sequence[WrittenTensorData]
    forward_level: int | None
    line: int | None
    col: int | None
    end_col: int | None
    integers: Sequence[int]


class UserCallData(UserCallParts):
    """One call, operator, subscript or attribute access in the expression."""

    call: int
    source: str
    syntax: str
    callable: CallTargetData
    arguments: Sequence[CallArgumentData]
    tls_include: KeySetBitsData
    tls_exclude: KeySetBitsData


class HeldTensorsData(TypedDict):
    """All tensors that were Python objects when the expression began: parameters, globals, closures."""

    tensors: Sequence[HeldTensorData]


class GraphNodeParts(TypedDict, total=False):
    """What may be left out of GraphNodeData."""

    sequence: int | None
    needed: Sequence[bool]


class GraphNodeData(GraphNodeParts):
    """A node of the autograd graph behind the result, or behind what backward ran from: its sum, its real part."""

    id: int
    name: str
    next: Sequence[int]


class KeptForBackwardData(TypedDict):
    """The bytes that the result's graph keeps for backward because of one call."""

    sequence: int
    bytes: int


class UncountedSavedParts(TypedDict, total=False):
    """What may be left out of UncountedSavedData."""

    packed: int
    unread: int
    silent: int


class UncountedSavedData(UncountedSavedParts):
    """How many saved tensors are not included in any sum of bytes kept for backward."""


class OperatorTimesParts(TypedDict, total=False):
    """What may be left out of OperatorTimesData."""

    runs: int
    threads: int


class OperatorTimesData(OperatorTimesParts):
    """The operators and nodes of further, warm runs under the profiler, in order, with their times."""

    names: Sequence[str]
    times: Sequence[int]


class GivenKernelData(TypedDict):
    """A Python function that was given to `torch.library.custom_op` for an operator."""

    key: str
    function: str
    file: str
    line: int


class ChangedTableParts(TypedDict, total=False):
    """What may be left out of ChangedTableData."""

    schema: str | None
    kernels: Sequence[GivenKernelData]


class ChangedTableData(ChangedTableParts):
    """The dispatch table of an operator whose registrations differ from the catalogue."""

    op: str
    dump: str
    table: str


class SteppedResultParts(TypedDict, total=False):
    """What may be left out of SteppedResultData."""

    equal: bool | None


class SteppedResultData(SteppedResultParts):
    """Whether the stepped run gave the same result."""


class LibraryCallParts(TypedDict, total=False):
    """What may be left out of LibraryCallData."""

    implementation: str | None
    query: bool
    took: int | None


class LibraryCallData(LibraryCallParts):
    """A call that a library linked into torch reports in its verbose output."""

    library: str
    phase: Literal["forward", "backward"]
    what: str
    problem: str


class LibraryCallsParts(TypedDict, total=False):
    """What may be left out of LibraryCallsData."""

    cut: bool
    event: int | None


class LibraryCallsData(LibraryCallsParts):
    """The calls that oneDNN and MKL report, in order. An extra run, or a fork at a program's call, collects them."""

    calls: Sequence[LibraryCallData]


class LaunchesToldData(TypedDict):
    """The events include launches on this device."""

    device: str


class IdleDevicesData(TypedDict):
    """Devices that were never used. A tensor that is said to be there (a FakeTensor) has no memory there."""

    devices: Sequence[str]


class LeftFrameParts(TypedDict, total=False):
    """What may be left out of LeftFrameData."""

    line: int | None
    raises: bool


class LeftFrameData(LeftFrameParts):
    """A Python function that an error propagated out of."""

    file: str
    first: int
    function: str


class CppFunctionParts(TypedDict, total=False):
    """What may be left out of CppFunctionData."""

    unit: str
    entered: bool
    shared: Sequence[str]
    jumpers: Sequence[str]


class CppFunctionData(CppFunctionParts):
    """A C++ function that an error propagated out of."""

    library: str
    name: str


class UnusedInputParts(TypedDict, total=False):
    """What may be left out of UnusedInputData."""

    node: str
    leaves: Sequence[str]
    further: int


class UnusedInputData(UnusedInputParts):
    """An input of torch.autograd.grad that the outputs were not computed from."""

    index: int
    count: int
    tensor: str
    situation: Literal["beside", "detached", "elsewhere"]


class ErrorBeforeParts(TypedDict, total=False):
    """What may be left out of ErrorBeforeData."""

    is_cause: bool
    frame: LeftFrameData | None


class ErrorBeforeData(ErrorBeforeParts):
    """An error that led to another one."""

    exception: str
    message: str


class FailedGetterParts(TypedDict, total=False):
    """What may be left out of FailedGetterData."""

    function: str


class FailedGetterData(FailedGetterParts):
    """An attribute whose getter raised. Python then asked the class's `__getattr__`, which does not have it."""

    owner: str
    name: str


class SentErrorParts(TypedDict, total=False):
    """What may be left out of SentErrorData."""

    frames: Sequence[LeftFrameData]
    further: int
    calls: Sequence[int]
    part: str
    close: Sequence[str]
    module: str
    by_raise: bool
    by: Literal["error", "signal", "exit", "timeout"]
    stack: Sequence[CppFunctionData]
    unused: UnusedInputData | None
    before: Sequence[ErrorBeforeData]
    getter: FailedGetterData | None
    over: Said | None
    cpp: Sequence[tuple[str, int]]


class SentErrorData(SentErrorParts):
    """What ended a run. If a signal ended it, `cpp` has the C++ functions as places, innermost first."""

    stage: str
    exception: str
    message: str


class RaiserNotedParts(TypedDict, total=False):
    """What may be left out of RaiserNotedData."""

    type: str
    thrown: Sequence[tuple[str, int]]


class RaiserNotedData(RaiserNotedParts):
    """What raised an error for which torch keeps no line: a C function, and the places on the C++ stack."""

    by: str
    places: Sequence[tuple[str, int]]


class SentThrowParts(TypedDict, total=False):
    """What may be left out of SentThrowData."""

    raised: RaiserNotedData | None
    elsewhere: bool


class SentThrowData(SentThrowParts):
    """The text of an error, with the C++ stack if torch writes it there. The parent makes `thrown` from it."""

    text: str


class PythonPlaceParts(TypedDict, total=False):
    """What may be left out of PythonPlaceData."""

    text: str
    exact: bool


class PythonPlaceData(PythonPlaceParts):
    """A place in Python source."""

    file: str
    line: int
    first: int
    function: str


class TensorWriteParts(TypedDict, total=False):
    """What may be left out of TensorWriteData."""

    operators: Sequence[str]


class TensorWriteData(TensorWriteParts):
    """An in-place write to a saved tensor."""

    at: PythonPlaceData | None
    before: int
    after: int


class SavedTensorWritesParts(TypedDict, total=False):
    """What may be left out of SavedTensorWritesData."""

    writes: Sequence[TensorWriteData]
    watched: bool
    certain: bool


class SavedTensorWritesData(SavedTensorWritesParts):
    """A tensor that was written to after a node of the graph had saved it."""

    tensor: str
    expected: int
    version: int
    node: str | None
    saved: PythonPlaceData | None


class GraphCallData(TypedDict):
    """A call that recorded a node of the graph."""

    at: PythonPlaceData | None
    operator: str


class FreedNodeParts(TypedDict, total=False):
    """What may be left out of FreedNodeData."""

    uses: Sequence[GraphCallData]
    kept: Sequence[GraphCallData]
    again: bool | None
    older: bool
    same_start: bool
    names: Sequence[str]
    exact: bool


class FreedNodeData(FreedNodeParts):
    """A node that an earlier backward had freed when the engine reached it again."""

    node: str
    operator: str
    recorded: PythonPlaceData | None
    recorded_after: int | None
    freed: PythonPlaceData | None
    freed_by: int | None
    backwards: int | None


class RemarkData(TypedDict):
    """A remark of a recorder about its observations: a cut, a difference."""

    told: Said


class PythonCodeData(TypedDict):
    """The code object of a Python function that ran."""

    file: str
    line: int
    name: str
    qualname: str


class PythonLogData(TypedDict):
    """The rows of a stepper log that are calls of Python, and by address the functions that they called."""

    hook: int
    mark: int
    codes: Mapping[int, PythonCodeData]
    builtins: Mapping[int, tuple[str, int]]
    lost: bool


class BeyondData(TypedDict):
    """A limit that was exceeded during stepping."""

    count: int
    singly: bool


class SentStepsParts(TypedDict, total=False):
    """What may be left out of SentStepsData."""

    beyond: BeyondData | None
    op: str | None
    number: int | None
    of: int | None
    warm_ups: int | None
    threads: int
    at: Literal["builtin", "op", "node"] | None
    row: int | None
    route: int | None
    libraries: Sequence[LibraryCallData]
    event: int | None


class SentStepsData(SentStepsParts):
    """One stepped part: the rows of the stepper's log, packed. The parent makes `calls` from it."""

    what: Literal["forward", "backward", "operator"]
    rows: str
    instructions: int
    cut: Said | None
    seconds: float
    python: PythonLogData | None
    unprofiled: Said | None


class SentMapData(TypedDict):
    """The executable part of the process's memory map, which is needed to interpret addresses."""

    text: str


class RunRequestParts(TypedDict, total=False):
    """What may be left out of RunRequestData."""

    work: Literal[
        "trace", "survey", "stack", "compile", "lower", "tensors", "graph", "judge", "catalogue", "decompositions"
    ]
    torch_dir: str
    digests: Mapping[str, str]
    cwd: str
    expression: str | None
    script_sha256: str | None
    wraps: bool
    rungs: Sequence[
        Literal[
            "python",
            "fx",
            "jit-trace",
            "jit-script",
            "aten",
            "export",
            "functional",
            "core",
            "prims",
            "aot-forward",
            "aot-backward",
            "inductor",
        ]
    ]
    checks: bool
    dynamic: bool
    only: str | None
    until: int
    repeat: Literal["again", "anew", "first"]
    warm_ups: int
    imported: int
    raises: bool
    begin: str | None
    keeps: bool
    called: int
    operators: int
    after: str | None
    owners: bool
    leak: bool
    steps: int | None
    against: str | None
    sample: Any
    whole: tuple[int, int]
    calls: int
    unlocated: bool
    passes_on: bool
    stdin: int
    live: int
    judge: str | None
    function: str
    seed: int
    choosers: Sequence[tuple[str, str, Sequence[str]]]
    variables: Sequence[tuple[str, str]]
    setup: Sequence[str]
    contexts: Sequence[str]
    script: str | None
    module: str | None
    arguments: Sequence[str]
    grad: bool
    backward: bool
    once: bool
    timeout: float
    native: bool
    native_op: str | None
    native_most: int
    first: bool
    twice: bool
    again: bool
    vary: bool


class RunRequestData(RunRequestParts):
    """The request for a run, with all fields of `TraceOptions`."""


class ProbeReadyData(TypedDict):
    """torch is imported. `varies`: what the system and Python draw at random in this process."""

    type: Literal["ready"]
    varies: Sequence[str]


class NoTorchData(TypedDict):
    """torch cannot be imported, with the reason."""

    type: Literal["no-torch"]
    message: str


class WrongTorchData(TypedDict):
    """A different torch was imported than the wanted one, with its folder."""

    type: Literal["wrong-torch"]
    folder: str


class ProbeBrokenParts(TypedDict, total=False):
    """What may be left out of ProbeBrokenData."""

    recorder: str


class ProbeBrokenData(ProbeBrokenParts):
    """ptexplore's own code failed."""

    type: Literal["broken"]
    message: str


class ProbeEndsData(TypedDict):
    """The last message; `left`: whether a process that the traced code started still runs."""

    type: Literal["end"]
    left: bool


class RunBeginsData(TypedDict):
    """A run begins. `second`: it only tests whether the expression can run once more."""

    recorder: str
    type: Literal["begin", "second"]


class RunPrintedData(TypedDict):
    """What the traced code printed in a run."""

    recorder: str
    type: Literal["output"]
    text: str
    cut: bool


class FirstIsShownData(TypedDict):
    """The first call of an expression is shown: its imported modules, and why no later call is shown."""

    type: Literal["first"]
    imported: int
    whys: Sequence[Said]


class BoundNameParts(TypedDict, total=False):
    """What may be left out of BoundNameData."""

    how: str


class BoundNameData(BoundNameParts):
    """A name of the expression and the value that was bound to it."""

    name: str
    description: str


class ResultInfoParts(TypedDict, total=False):
    """What may be left out of ResultInfoData."""

    type: str
    description: str
    backward: Said | None
    fingerprint: str | None


class ResultInfoData(ResultInfoParts):
    """The value that the expression returned."""


class EffectsParts(TypedDict, total=False):
    """What may be left out of EffectsData."""

    random: Mapping[str, str]
    raised: str | None
    uncompared: Said
    names: Sequence[str]
    order: str
    main: int
    apart: bool


class EffectsData(EffectsParts):
    """The effects of a script's run, to compare with those of another run."""


class SourceRefParts(TypedDict, total=False):
    """What may be left out of SourceRefData."""

    end_line: int | None
    tree: str
    url: str | None
    reason: Said | None
    candidates: Sequence[SourceRefData]
    outside: str


class SourceRefData(SourceRefParts):
    """A place in source with its precision. `line` starts at 1; it is None if unknown."""

    path: str | None
    line: int | None
    layer: Literal["checkout", "generated", "wheel", "atlas"] | None
    precision: Literal["registered", "located", "consistent", "version-skew", "ambiguous", "unknown"]


class CallPathParts(TypedDict, total=False):
    """What may be left out of CallPathData."""

    inside: int
    recording: int
    error: int
    parent: int | None
    line: int | None
    file: str | None
    package: bool
    first: int | None
    source: SourceRefData | None
    type: str | None
    table: str | None
    method: str | None
    at_least: bool
    compiled: bool


class CallPathData(CallPathParts):
    """One path of Python calls: the call at its end, and how often it was made from the path before it."""

    kind: Literal["program", "thread", "imports", "user", "library", "torch", "module", "builtin"]
    name: str
    calls: int
    time: int


class LocalSetsParts(TypedDict, total=False):
    """What may be left out of LocalSetsData."""

    transforms: Sequence[TransformData]


class LocalSetsData(LocalSetsParts):
    """A pair of thread-local dispatch key sets at calls, as it was read there."""

    include: int
    exclude: int


class OperatorKindParts(TypedDict, total=False):
    """What may be left out of OperatorKindData."""

    through: str | None
    overload: str | None
    counted: bool
    inputs: Sequence[
        RecordedTensorData
        | Sequence[RecordedTensorData | Sequence[Any] | bool | int | float | str | None]
        | bool
        | int
        | float
        | str
        | None
    ]
    inside: Sequence[tuple[int, int | None]]
    sizes: Sequence[Sequence[Sequence[int]]]


class OperatorKindData(OperatorKindParts):
    """An operator, or a node of backward, with the calls inside it. All calls of a kind differ only in sizes."""

    type: Literal["op", "node", "engine", "user", "script", "launch"]
    name: str


class OperatorRouteParts(TypedDict, total=False):
    """What may be left out of OperatorRouteData."""

    table: str | None
    method: str | None
    guards: bool
    recorded: int | None
    offset: int | None
    observation: int | None
    hops: Sequence[int]
    read: Sequence[Sequence[Sequence[int]]]
    represented: int | None
    unstepped: Said | None


class OperatorRouteData(OperatorRouteParts):
    """One way to an operator: its kind, the builtin that Python called, and the thread-local sets."""

    kind: int
    sets: int


class CopiedTensorParts(TypedDict, total=False):
    """What may be left out of CopiedTensorData."""

    inside: Sequence[str]
    argument: int | None
    is_view: bool
    format: int | None


class CopiedTensorData(CopiedTensorParts):
    """Copies of tensors' data that calls made, all with the same sizes and strides."""

    source: RecordedTensorData
    result: RecordedTensorData
    calls: int


class OperatorCallsParts(TypedDict, total=False):
    """What may be left out of OperatorCallsData."""

    python: int
    recorded: int | None
    line: int | None
    device: Sequence[int]
    copies: Sequence[CopiedTensorData]
    weights: Mapping[str, int] | None


class OperatorCallsData(OperatorCallsParts):
    """The calls of one route with the same sizes from one path."""

    path: int
    route: int
    shape: int
    calls: int
    time: int


class TimesElsewhereParts(TypedDict, total=False):
    """What may be left out of TimesElsewhereData."""

    names: Sequence[tuple[str, int]]
    unlike: int
    device_events: int


class TimesElsewhereData(TimesElsewhereParts):
    """The origin of a program's times if torch.profiler measured them in another run of it."""

    file: str
    matched: int
    unmatched: int


class StepBudgetParts(TypedDict, total=False):
    """What may be left out of StepBudgetData."""

    most: int
    stepped: int
    forks: int
    reason: Said | None


class StepBudgetData(StepBudgetParts):
    """How much of a program was stepped. One call of each kind is stepped, when the kind comes again."""


class SourceTextData(TypedDict):
    """The text of lines in one of your files: lines that made calls, and the first lines of functions."""

    file: str
    lines: Sequence[tuple[int, str]]


class ProgramParts(TypedDict, total=False):
    """What may be left out of ProgramData."""

    processor: int
    threads: int
    folding: int
    profiling: int
    backwards: int
    saved_backwards: int
    saved_elsewhere: int
    saved_packed: int
    saved_unread: int
    saved_silent: int
    saved_slices: int
    is_block: bool
    named: bool
    forward_level: int | None
    failed: int | None
    cuts: Sequence[Said]
    elsewhere: TimesElsewhereData | None
    stepping: StepBudgetData | None
    last: Sequence[OperatorKindData]
    sources: Sequence[SourceTextData]


class ProgramData(ProgramParts):
    """What a program ran, recorded in one run; equal calls are folded."""

    paths: Sequence[CallPathData]
    sets: Sequence[LocalSetsData]
    kinds: Sequence[OperatorKindData]
    routes: Sequence[OperatorRouteData]
    calls: Sequence[OperatorCallsData]
    order: str
    ordered: int
    wall: int
    overhead: int


class SeenTensorParts(TypedDict, total=False):
    """What may be left out of SeenTensorData."""

    quantizer: str | None
    objection: (
        Literal["leaf", "view-of-leaf", "no-grad-view", "inference-view", "one-of-several", "custom-view", "inference"]
        | None
    )
    part_of: int | None


class SeenTensorData(SeenTensorParts):
    """A tensor, as torch reports it. A value is null if the tensor does not have it."""

    name: str
    kind: str
    impl: int
    dtype: str
    device: str
    layout: str
    element: int
    sizes: Sequence[int] | None
    strides: Sequence[int] | None
    offset: int | None
    storage: int | None
    formats: Sequence[str]
    is_conj: bool
    is_neg: bool
    is_nested: bool
    requires_grad: bool
    is_leaf: bool


class SeenStorageParts(TypedDict, total=False):
    """What may be left out of SeenStorageData."""

    is_cow: bool


class SeenStorageData(SeenStorageParts):
    """A storage, as torch reports it."""

    bytes: int
    device: str
    address: int


class SeenTensorsParts(TypedDict, total=False):
    """What may be left out of SeenTensorsData."""

    further: int


class SeenTensorsData(SeenTensorsParts):
    """The tensors of an expression with their storages, in the order of the expression."""

    torch: str
    tensors: Sequence[SeenTensorData]
    storages: Sequence[SeenStorageData]


class GradientHookData(TypedDict):
    """A hook that your code registered."""

    kind: Literal["gradient", "accumulated"]
    function: str


class GraphResultParts(TypedDict, total=False):
    """What may be left out of GraphResultData."""

    node: int | None
    output: int
    needs_grad: bool
    leaf: bool
    hooks: Sequence[GradientHookData]
    retains_grad: bool


class GraphResultData(GraphResultParts):
    """A tensor of the result."""

    description: str


class GradientEdgeParts(TypedDict, total=False):
    """What may be left out of GradientEdgeData."""

    input: int
    unread: bool


class GradientEdgeData(GradientEdgeParts):
    """An edge from a node to the next one. A node has one edge for each differentiated input of its operator."""

    node: int | None


class KeptValueParts(TypedDict, total=False):
    """What may be left out of KeptValueData."""

    kept: Literal["tensor", "packed", "freed", "unread"]
    type: str
    sizes: Sequence[int] | None
    dtype: str
    device: str
    storages: Sequence[int]
    version: int | None
    saved_version: int | None
    is_number: bool
    hook: str


class KeptValueData(KeptValueParts):
    """One tensor that a node saved for backward."""

    name: str


class GraphLeafParts(TypedDict, total=False):
    """What may be left out of GraphLeafData."""

    names: Sequence[str]
    sizes: Sequence[int] | None
    dtype: str
    device: str
    has_grad: bool
    hooks: Sequence[GradientHookData]


class GraphLeafData(GraphLeafParts):
    """A tensor that accumulates its gradient in `.grad`."""


class NodeMadeAtParts(TypedDict, total=False):
    """What may be left out of NodeMadeAtData."""

    column: int | None
    end_column: int | None
    function: str
    text: str
    module: str
    module_type: str


class NodeMadeAtData(NodeMadeAtParts):
    """The Python code that ran when a node was made."""

    file: str
    line: int


class AutogradNodeParts(TypedDict, total=False):
    """What may be left out of AutogradNodeData."""

    edges: Sequence[GradientEdgeData]
    sequence: int | None
    saved: Sequence[KeptValueData]
    silent: bool
    leaf: GraphLeafData | None
    python: tuple[str, int] | None
    made: NodeMadeAtData | None


class AutogradNodeData(AutogradNodeParts):
    """A node of the graph."""

    name: str


class KeptStorageParts(TypedDict, total=False):
    """What may be left out of KeptStorageData."""

    holders: Sequence[tuple[Literal["leaf", "name", "result"], str]]


class KeptStorageData(KeptStorageParts):
    """Memory that the graph keeps alive until backward."""

    bytes: int


class NamedTensorParts(TypedDict, total=False):
    """What may be left out of NamedTensorData."""

    is_leaf: bool
    needs_grad: bool
    differentiable: bool
    inference: bool
    retains_grad: bool
    has_grad: bool
    made_by: str
    node: int | None
    detached: NodeMadeAtData | None


class NamedTensorData(NamedTensorParts):
    """A tensor that a name of yours holds: a bound name, or a parameter or buffer of a bound module."""

    name: str
    description: str


class AutogradGraphParts(TypedDict, total=False):
    """What may be left out of AutogradGraphData."""

    tensors: Sequence[NamedTensorData]
    reads_saved: bool
    cut: bool
    more_names: bool


class AutogradGraphData(AutogradGraphParts):
    """The graph behind a value. Node 0 and the following ones are in the order in which backward may run them."""

    results: Sequence[GraphResultData]
    nodes: Sequence[AutogradNodeData]
    storages: Sequence[KeptStorageData]


class ReadGraphData(TypedDict):
    """A graph with the digest of its names and edges."""

    shape: str
    graph: AutogradGraphData


class GraphLinesParts(TypedDict, total=False):
    """What may be left out of GraphLinesData."""

    detached: Sequence[tuple[str, NodeMadeAtData]]


class GraphLinesData(GraphLinesParts):
    """The code that made each node, from a second run of the same code. `shape` tells if its graph is the same."""

    shape: str
    made: Sequence[NodeMadeAtData | None]


class GradientSeenParts(TypedDict, total=False):
    """What may be left out of GradientSeenData."""

    layout: str


class GradientSeenData(GradientSeenParts):
    """A gradient that a node received or sent."""

    sizes: Sequence[int] | None
    dtype: str


class NodeRunData(TypedDict):
    """A node that backward ran."""

    node: int
    thread: int
    took: int
    received: Sequence[GradientSeenData | None]
    sent: Sequence[GradientSeenData | None]


class GraphRunParts(TypedDict, total=False):
    """What may be left out of GraphRunData."""

    had_grad: Sequence[int]
    unfinished: Sequence[int]
    error: str
    message: str


class GraphRunData(GraphRunParts):
    """One backward over the graph, from a gradient of ones. `shape` tells if the graph is the same one."""

    shape: str
    ran: Sequence[NodeRunData]


class OwnedMemoryParts(TypedDict, total=False):
    """What may be left out of OwnedMemoryData."""

    node: int | None


class OwnedMemoryData(OwnedMemoryParts):
    """A storage that is alive, with the first of its owners in the order of `MemoryOwner`."""

    owner: Literal[
        "parameter", "buffer", "gradient", "optimizer", "name", "saved", "graph", "python", "cycle", "node-cycle"
    ]
    name: str
    bytes: int


class MemoryMomentParts(TypedDict, total=False):
    """What may be left out of MemoryMomentData."""

    operators: Sequence[str]
    made: NodeMadeAtData | None


class MemoryMomentData(MemoryMomentParts):
    """The moment of the peak."""

    step: int


class PeakPartParts(TypedDict, total=False):
    """What may be left out of PeakPartData."""

    made: NodeMadeAtData | None


class PeakPartData(PeakPartParts):
    """Bytes that were alive at the peak, or that only C++ held at the end, with one owner."""

    owner: Literal[
        "parameter",
        "buffer",
        "gradient",
        "optimizer",
        "name",
        "saved",
        "graph",
        "python",
        "cycle",
        "node-cycle",
        "temporary",
        "native",
        "end",
    ]
    name: str
    bytes: int
    count: int


class MemoryPeakData(TypedDict):
    """The most bytes that the allocator of the CPU had given at a time."""

    bytes: int
    moment: MemoryMomentData
    parts: Sequence[PeakPartData]


class ChainLinkData(TypedDict):
    """One object of a chain of references."""

    type: str
    text: str


class LeftMemoryParts(TypedDict, total=False):
    """What may be left out of LeftMemoryData."""

    chain: Sequence[ChainLinkData]
    has_root: bool
    node: str
    made: NodeMadeAtData | None
    sizes: Sequence[int] | None
    dtype: str


class LeftMemoryData(LeftMemoryParts):
    """Storages that steps left behind, and that one kind of reference keeps."""

    owner: Literal[
        "parameter", "buffer", "gradient", "optimizer", "name", "saved", "graph", "python", "cycle", "node-cycle"
    ]
    name: str
    bytes: int
    steps: Sequence[int]


class MemoryWatchParts(TypedDict, total=False):
    """What may be left out of MemoryWatchData."""

    native: Sequence[PeakPartData]
    elsewhere: int
    steps: int
    ended: bool
    left: Sequence[LeftMemoryData] | None
    few: bool


class MemoryWatchData(MemoryWatchParts):
    """Memory over the steps of a program, as a run under torch's profiler saw it."""

    peak: MemoryPeakData
    alive: int


class CodeLineParts(TypedDict, total=False):
    """What may be left out of CodeLineData."""

    text: str


class CodeLineData(CodeLineParts):
    """A line of Python in a stack: file, line, function, and the text of the line if it is known."""

    file: str
    line: int
    function: str


class CompileStartParts(TypedDict, total=False):
    """What may be left out of CompileStartData."""

    qualname: str
    wraps: str


class CompileStartData(CompileStartParts):
    """Dynamo began to compile the code of a function. An attempt that breaks is followed by the next attempt."""

    compilation: str
    attempt: int
    stack: Sequence[CodeLineData]


class CompileEndParts(TypedDict, total=False):
    """What may be left out of CompileEndData."""

    function: str | None
    file: str | None
    line: int | None
    guards: int | None
    shape_guards: int | None
    operators: int | None
    is_compiled: bool | None
    fail_type: str | None
    fail_reason: str | None
    is_raised: bool | None
    fail_file: str | None
    fail_line: int | None
    restarts: Sequence[str]
    seconds: float | None
    guard_latency: float | None
    is_backward: bool
    texts: int


class CompileEndData(CompileEndParts):
    """The figures that torch records when a compilation ends."""

    compilation: str


class GuardLineData(TypedDict):
    """The user's line behind a guard."""

    subject: str
    line: int
    at: CodeLineData


class CompilerTextParts(TypedDict, total=False):
    """What may be left out of CompilerTextData."""

    file: str
    values: Mapping[str, str]
    made: Sequence[GuardLineData]
    operators: Mapping[str, Sequence[str]]


class CompilerTextData(CompilerTextParts):
    """A text of the log: guards, the reason of a break, the reasons of a recompilation, a graph, generated code."""

    name: str
    compilation: str | None
    attempt: int
    text: str


class CompilePhaseData(TypedDict):
    """A phase of the compiler: torch's name for it, and how long it took."""

    name: str
    compilation: str | None
    begin: float
    seconds: float
    depth: int


class DynamicChangeData(TypedDict):
    """A value that became dynamic because it changed."""

    compilation: str
    name: str
    reason: str
    before: str
    after: str


class GraphRunsData(TypedDict):
    """How often the compiled graph of a compilation ran."""

    compilation: str
    runs: int


class EagerCallsData(TypedDict):
    """How often Python ran a function that Dynamo had given up, from that time on."""

    compilation: str
    calls: int | None


class FusionRefusalParts(TypedDict, total=False):
    """What may be left out of FusionRefusalData."""

    texts: int


class FusionRefusalData(FusionRefusalParts):
    """Inductor's scheduler did not fuse two groups of nodes, and said why."""

    compilation: str | None
    first: Sequence[str]
    second: Sequence[str]
    reason: str


class CompilerLogParts(TypedDict, total=False):
    """What may be left out of CompilerLogData."""

    starts: Sequence[CompileStartData]
    ends: Sequence[CompileEndData]
    texts: Sequence[CompilerTextData]
    phases: Sequence[CompilePhaseData]
    changes: Sequence[DynamicChangeData]
    runs: Sequence[GraphRunsData] | None
    eager: Sequence[EagerCallsData]
    refusals: Sequence[FusionRefusalData]
    lost: int
    is_removed: bool


class CompilerLogData(CompilerLogParts):
    """The records that torch.compile wrote in one run."""


class LoweredSubjectParts(TypedDict, total=False):
    """What may be left out of LoweredSubjectData."""

    inputs: Sequence[BoundNameData]
    parameters: int
    is_training: bool


class LoweredSubjectData(LoweredSubjectParts):
    """The module or the expression."""

    text: str


class RungLinkData(TypedDict):
    """An operator of another rung."""

    rung: Literal[
        "python",
        "fx",
        "jit-trace",
        "jit-script",
        "aten",
        "export",
        "functional",
        "core",
        "prims",
        "aot-forward",
        "aot-backward",
        "inductor",
    ]
    name: str


class RungOperatorParts(TypedDict, total=False):
    """What may be left out of RungOperatorData."""

    inputs: Sequence[str]
    type: str
    at: CodeLineData | None
    sources: Sequence[RungLinkData]
    module: str
    is_core: bool | None
    is_custom: bool
    writes: bool
    is_random: bool


class RungOperatorData(RungOperatorParts):
    """One call in the graph of a rung."""

    name: str
    operator: str


class RungDifferenceParts(TypedDict, total=False):
    """What may be left out of RungDifferenceData."""

    ulps: float | None
    is_equal: bool
    is_close: bool
    part: str
    problem: str


class RungDifferenceData(RungDifferenceParts):
    """How far a result is from eager's."""

    absolute: float | None
    relative: float | None


class OperatorDifferenceData(TypedDict):
    """The first operator whose value differs from eager mode."""

    operator: RungLinkData
    source: RungLinkData
    difference: RungDifferenceData


class RungNoteParts(TypedDict, total=False):
    """What may be left out of RungNoteData."""

    text: str
    at: CodeLineData | None


class RungNoteData(RungNoteParts):
    """A remark about a rung."""

    kind: Literal["traced-value", "control-flow", "direct"]


class RungFailureParts(TypedDict, total=False):
    """What may be left out of RungFailureData."""

    exception: str
    message: str
    at: CodeLineData | None
    by: CodeLineData | None
    needs: (
        Literal[
            "python",
            "fx",
            "jit-trace",
            "jit-script",
            "aten",
            "export",
            "functional",
            "core",
            "prims",
            "aot-forward",
            "aot-backward",
            "inductor",
        ]
        | None
    )
    signal: str


class RungFailureData(RungFailureParts):
    """Why there is no graph of a rung."""

    kind: Literal["raised", "late", "died", "needs", "nothing", "lacks"]


class RungParts(TypedDict, total=False):
    """What may be left out of RungData."""

    count: int
    operators: Sequence[RungOperatorData]
    links_to: (
        Literal[
            "python",
            "fx",
            "jit-trace",
            "jit-script",
            "aten",
            "export",
            "functional",
            "core",
            "prims",
            "aot-forward",
            "aot-backward",
            "inductor",
        ]
        | None
    )
    seconds: float | None
    difference: RungDifferenceData | None
    unchecked: Literal["random", "copies", "raised", "structure", "asked"] | None
    first: OperatorDifferenceData | None
    first_local: OperatorDifferenceData | None
    compared: int
    notes: Sequence[RungNoteData]
    failure: RungFailureData | None


class RungData(RungParts):
    """One graph."""

    name: Literal[
        "python",
        "fx",
        "jit-trace",
        "jit-script",
        "aten",
        "export",
        "functional",
        "core",
        "prims",
        "aot-forward",
        "aot-backward",
        "inductor",
    ]


class LadderRungsParts(TypedDict, total=False):
    """What may be left out of LadderRungsData."""

    printed: str
    compiler: CompilerLogData | None


class LadderRungsData(LadderRungsParts):
    """All rungs of one run, as the probe sends them."""

    subject: LoweredSubjectData
    rungs: Sequence[RungData]


class SentObservationData(TypedDict):
    """An observation as it is sent. `data` has the fields of its kind's record, or of the kind's type in `SENT`."""

    recorder: str
    kind: str
    data: dict[str, Any]


class RunToldParts(TypedDict, total=False):
    """What may be left out of RunToldData."""

    sequence: str
    imported: int
    raised: str | bool
    began: str | None
    warm: bool
    put_back: Sequence[str]
    anew: bool
    bound: Sequence[BoundNameData]
    result: ResultInfoData
    late: bool
    operators: int
    left: EffectsData
    second: EffectsData
    program: ProgramData
    tensors: SeenTensorsData
    after: SeenTensorsData
    against: SeenTensorsData
    graph: ReadGraphData
    lines: GraphLinesData
    ran: GraphRunData
    owners: Sequence[OwnedMemoryData]
    watched: MemoryWatchData
    compiler: CompilerLogData
    ladder: LadderRungsData


class RunToldData(RunToldParts):
    """What a run saw, without the recorder's name. The function of a recorder returns it."""

    observations: list[SentObservationData]


class RunAnsweredParts(TypedDict, total=False):
    """What may be left out of RunAnsweredData."""

    sequence: str
    imported: int
    raised: str | bool
    began: str | None
    warm: bool
    put_back: Sequence[str]
    anew: bool
    bound: Sequence[BoundNameData]
    result: ResultInfoData
    late: bool
    operators: int
    left: EffectsData
    second: EffectsData
    program: ProgramData
    tensors: SeenTensorsData
    after: SeenTensorsData
    against: SeenTensorsData
    graph: ReadGraphData
    lines: GraphLinesData
    ran: GraphRunData
    owners: Sequence[OwnedMemoryData]
    watched: MemoryWatchData
    compiler: CompilerLogData
    ladder: LadderRungsData


class RunAnsweredData(RunAnsweredParts):
    """A run has ended, with what it saw."""

    recorder: str
    observations: list[SentObservationData]
    type: Literal["pass"]


class RunRefusedData(TypedDict):
    """The code cannot be run: the reason, similar names, and the place in the text."""

    recorder: str
    type: Literal["refused"]
    kind: str
    told: Said
    close: Sequence[str]
    where: tuple[int, int] | None
    source: str | None


class RunRaisedParts(TypedDict, total=False):
    """What may be left out of RunRaisedData."""

    by: Literal["error", "signal", "exit", "timeout"]
    close: Sequence[str]
    frames: Sequence[LeftFrameData]
    further: int
    calls: Sequence[int]
    part: str
    module: str
    by_raise: bool
    stack: Sequence[CppFunctionData]
    unused: UnusedInputData | None
    before: Sequence[ErrorBeforeData]
    getter: FailedGetterData | None
    over: Said | None
    cpp: Sequence[tuple[str, int]]


class RunRaisedData(RunRaisedParts):
    """Your code raised, and nothing else is known about the run. The parent makes a `RaisedError` from it."""

    recorder: str
    type: Literal["raised"]
    stage: str
    exception: str
    message: str


class RunUnavailableData(TypedDict):
    """A run cannot be made here."""

    recorder: str
    type: Literal["unavailable"]
    told: Said


class RunDiedParts(TypedDict, total=False):
    """What may be left out of RunDiedData."""

    alone: str


class RunDiedData(RunDiedParts):
    """The process of a run ended without a message."""

    recorder: str
    type: Literal["died"]
    signal: str | None
    exit: int | None


class RunLateData(TypedDict):
    """The time for all runs was over, and this run was ended."""

    recorder: str
    type: Literal["late"]


class ImportedTorchParts(TypedDict, total=False):
    """What may be left out of ImportedTorchData."""

    git_version: str | None
    torch_dir: str


class ImportedTorchData(ImportedTorchParts):
    """The torch that was imported."""

    version: str


class DispatchKeyData(TypedDict):
    """A dispatch key: its name, its bits in a DispatchKeySet, and the set of the keys after it (both raw 64-bit)."""

    name: str
    raw: int
    after: int


class PackedOperatorData(TypedDict):
    """A `DumpedOperator` as it is sent: the lines of its texts are numbers of the message's `lines`."""

    name: str
    schema: str | None
    tags: Sequence[str]
    dump: Sequence[int]
    table: Sequence[int]
    digest: str


class DumpedNameParts(TypedDict, total=False):
    """What may be left out of DumpedNameData."""

    table: str | None
    method: str | None
    file: str | None
    line: int | None


class DumpedNameData(DumpedNameParts):
    """A public Python name of torch."""

    name: str
    kind: str


class DumpedKernelParts(TypedDict, total=False):
    """What may be left out of DumpedKernelData."""

    key: str | None
    file: str | None
    line: int | None
    end_line: int | None


class DumpedKernelData(DumpedKernelParts):
    """A kernel, meta function or decomposition that is written in Python."""

    op: str
    role: Literal["decomposition", "meta", "kernel", "custom"]
    function: str


class CatalogueToldData(TypedDict):
    """What this torch reports about itself. All texts have 40 MB; sending each line once halves that."""

    type: Literal["catalogue"]
    torch: ImportedTorchData
    keys: Sequence[DispatchKeyData]
    num_backends: int
    operators: Sequence[PackedOperatorData]
    lines: Sequence[str]
    python_names: Sequence[DumpedNameData]
    python_kernels: Sequence[DumpedKernelData]


class DumpedFunctionParts(TypedDict, total=False):
    """What may be left out of DumpedFunctionData."""

    file: str | None
    line: int | None
    end_line: int | None
    declines: bool


class DumpedFunctionData(DumpedFunctionParts):
    """A Python function, as Python reports it."""

    name: str


class LoweringParts(TypedDict, total=False):
    """What may be left out of LoweringData."""

    falls_back: bool


class LoweringData(LoweringParts):
    """How Inductor treats an operator."""

    function: int | None


class LaterOperatorParts(TypedDict, total=False):
    """What may be left out of LaterOperatorData."""

    tags: Sequence[str]


class LaterOperatorData(LaterOperatorParts):
    """An operator that `import torch` does not register, but the imports of torch.export and Inductor do."""

    name: str


class DecompositionsToldData(TypedDict):
    """The decompositions of this torch: the fields of `DumpedDecompositions`."""

    type: Literal["decompositions"]
    torch: ImportedTorchData
    functions: Sequence[DumpedFunctionData]
    tables: Mapping[str, Mapping[str, int | None]]
    users: Mapping[str, int]
    lowerings: Mapping[str, LoweringData]
    refs: Mapping[str, int]
    composite: Sequence[str]
    kept: Sequence[str]
    later: Sequence[LaterOperatorData]
    unknown: Mapping[str, str]


class JudgedCaseData(TypedDict):
    """A case that a solution got wrong, each part as JSON. `result` is "" if it gave no result."""

    number: int
    case: str
    wanted: str
    result: str


class JudgedData(TypedDict):
    """The result of a solution on all cases, with the first wrong case."""

    type: Literal["judged"]
    torch: str
    cases: int
    right: int
    first: JudgedCaseData | None
    raised: str
    died: str
    printed: str
    rules_of: str


class FileGeneratedData(TypedDict):
    """A generated file was written, with its name."""

    file: str


class GeneratorStoppedData(TypedDict):
    """The system refused something that the generator needs."""

    errno: int | None
    strerror: str
    filename: str | None


class GeneratorFailedData(TypedDict):
    """The generator failed."""

    error: str
    trace: str


class GeneratorEndsData(TypedDict):
    """All files are written."""

    finished: bool


class ModelOperatorData(TypedDict):
    """An operator of native_functions.yaml, or an operator that torchgen makes from one."""

    name: str
    schema: str
    root: str
    line: int
    variants: Sequence[str]
    structured: bool
    delegate: str | None
    generated: bool
    tags: Sequence[str]
    cpp_name: str
    kernels: Mapping[str, tuple[str, str, bool]]


class MatchedEntryData(TypedDict):
    """The entry of derivatives.yaml that gives the derivative of an operator, for one dispatch key."""

    dispatch: str
    source_op: str
    source_schema: str
    node: str | None
    matched: str


class FormulaParts(TypedDict, total=False):
    """What may be left out of FormulaData."""

    calls: Sequence[str]


class FormulaData(FormulaParts):
    """A derivative formula: the inputs it is for, its line, and the functions that it calls."""

    inputs: str
    line: int
    text: str


class YamlEntryData(TypedDict):
    """An entry of derivatives.yaml."""

    line: int
    end: int
    dispatch: Mapping[str, Sequence[FormulaData]]


class TorchgenModelParts(TypedDict, total=False):
    """What may be left out of TorchgenModelData."""

    format: int
    operators: Sequence[ModelOperatorData]
    structured: Mapping[str, str]
    derivatives: Mapping[str, Sequence[MatchedEntryData]]
    entries: Mapping[str, YamlEntryData]


class TorchgenModelData(TorchgenModelParts):
    """The whole model; empty if there is none (a source build)."""


class NoSamplesData(TypedDict):
    """PyTorch's operator samples cannot be imported, with the missing module."""

    type: Literal["no-samples"]
    module: str | None
    message: str


class SampleInsideData(TypedDict):
    """A sample that is put into another construct, and the construct."""

    way: str
    sample: int
    dtype: str


class SurveyAskedData(TypedDict):
    """The request to the probe of a survey: an operator's smallest sample, or a sample inside another construct."""

    op: str
    inside: SampleInsideData | None


class SurveyOperatorsData(TypedDict):
    """The names of all operators that have samples."""

    type: Literal["operators"]
    names: Sequence[str]


class SurveyDoneData(TypedDict):
    """The last message about an operator's sample."""

    type: Literal["done"]
    op: str


class SampleToldParts(TypedDict, total=False):
    """What may be left out of SampleToldData."""

    setup: Sequence[str]
    grad: bool


class SampleToldData(SampleToldParts):
    """A sample was evaluated without a trace: its description and its result."""

    type: Literal["plain"]
    sample: int
    dtype: str
    expression: str
    result: str
    fingerprint: str | None


class NoSampleData(TypedDict):
    """An operator has no sample that can be evaluated, with the reason."""

    type: Literal["no-sample"]
    told: Said


@overload
def seen(recorder: str, kind: Literal["event"], data: EventData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["call"], data: UserCallData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["held"], data: HeldTensorsData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["graph"], data: GraphNodeData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["kept"], data: KeptForBackwardData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["uncounted"], data: UncountedSavedData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["times"], data: OperatorTimesData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["table"], data: ChangedTableData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["result"], data: SteppedResultData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["libraries"], data: LibraryCallsData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["launches"], data: LaunchesToldData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["idle"], data: IdleDevicesData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["raised"], data: SentErrorData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["thrown"], data: SentThrowData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["saved"], data: SavedTensorWritesData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["freed"], data: FreedNodeData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["steps"], data: SentStepsData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: Literal["maps"], data: SentMapData) -> SentObservationData: ...


@overload
def seen(recorder: str, kind: str, data: RemarkData) -> SentObservationData: ...


def seen(recorder: str, kind: str, data: Any) -> SentObservationData:
    """An observation of one kind, as a message has it."""
    return {"recorder": recorder, "kind": kind, "data": data}
