"""The autograd graph behind a value, as it was read: nodes, edges, saved tensors, leaves.

`probe/autograd_graph.py` reads it without running backward. The `--json` of `ptexplore graph` has these records.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.trace import BoundName, DerivativeRef, ResultInfo, TorchInfo

Count: TypeAlias = Annotated[int, Meta(ge=0)]
# Who also holds a storage. leaf: a tensor that accumulates a gradient. name: a name of yours. result: the value itself.
Holder = Literal["leaf", "name", "result"]
# What a node keeps. tensor: a tensor. packed: what a hook made of it. freed: backward freed it. unread: torch raised.
Kept = Literal["tensor", "packed", "freed", "unread"]
# Why a further run of the code does not tell about this graph. failed: the further run failed. differs: its graph was
# another one. own: a graph of your own process, made without anomaly mode.
NoLines = Literal["failed", "differs", "own"]
# The kinds of hooks. gradient: Tensor.register_hook. accumulated: Tensor.register_post_accumulate_grad_hook.
HookKind = Literal["gradient", "accumulated"]


class GradientEdge(Struct, frozen=True, omit_defaults=True):
    """An edge from a node to the next one. A node has one edge for each differentiated input of its operator."""

    node: Count | None  # the number of the next node; null: this input needs no gradient, or `unread`
    input: Count = 0  # the input of the next node that gets the gradient: the number of a forward output

    unread: bool = False  # the next node is one of those that were not read


class KeptStorage(Struct, frozen=True):
    """Memory that the graph keeps alive until backward."""

    bytes: Count  # the size of the whole storage; a saved view keeps all of it
    holders: tuple[tuple[Holder, str], ...] = ()  # who holds it besides the graph, and by which name


class KeptValue(Struct, frozen=True, omit_defaults=True):
    """One tensor that a node saved for backward."""

    name: str  # the name in the formula: `self`, `other`, `result`, `mat1`
    kept: Kept = "tensor"  # the state of the saved tensor
    type: str = ""  # the name of its class, or of the packed object's class

    sizes: tuple[int, ...] | None = None  # its sizes; null if it has no single shape
    dtype: str = ""  # `float32`
    device: str = ""  # `cpu`

    storages: tuple[Count, ...] = ()  # numbers of the storages; several for a sparse tensor, none for a number
    version: int | None = None  # how often it was written to until now

    saved_version: int | None = None  # how often it had been written to when it was saved; null if unknown

    is_number: bool = False  # a Python number that torch wrapped in a tensor; hooks on saved tensors do not see it
    hook: str = ""  # for a packed value: the function that unpacks it


class NodeMadeAt(Struct, frozen=True, omit_defaults=True):
    """The Python code that ran when a node was made."""

    file: str  # `<expression>` for the expression itself
    line: Count  # from 1
    column: Count | None = None  # the first column of the part that ran; Python counts columns in bytes
    end_column: Count | None = None  # the column after it

    function: str = ""  # the function around it
    text: str = ""  # the part, or the whole line if the columns are unknown
    module: str = ""  # the name of the innermost nn.Module that ran: `m.layers.0`
    module_type: str = ""  # the name of its class


class GradientHook(Struct, frozen=True):
    """A hook that your code registered."""

    kind: HookKind  # when it is called
    function: str  # its name


class GraphLeaf(Struct, frozen=True, omit_defaults=True):
    """A tensor that accumulates its gradient in `.grad`."""

    names: tuple[str, ...] = ()  # the names that hold it: `x`, `m.0.weight`
    sizes: tuple[int, ...] | None = None  # its sizes; null if it has no single shape
    dtype: str = ""  # `float32`
    device: str = ""  # `cpu`
    has_grad: bool = False  # whether `.grad` is set already
    hooks: tuple[GradientHook, ...] = ()  # the hooks on it


class AutogradNode(Struct, frozen=True, omit_defaults=True):
    """A node of the graph."""

    name: str  # the name of its class: `MulBackward0`
    edges: tuple[GradientEdge, ...] = ()
    sequence: int | None = None  # the sequence number of the call that recorded it
    saved: tuple[KeptValue, ...] = ()

    silent: bool = False  # torch does not report what it saved
    leaf: GraphLeaf | None = None  # for AccumulateGrad: the tensor
    python: tuple[str, int] | None = None  # for a torch.autograd.Function: file and first line of its `backward`

    made: NodeMadeAt | None = None  # the code that made it, if a second run saw the same graph


class GraphResult(Struct, frozen=True, omit_defaults=True):
    """A tensor of the result."""

    description: str  # `Tensor[3, 3] float32 cpu requires_grad`
    node: Count | None = None  # the number of its node; null if it needs no gradient
    output: Count = 0  # which output of the node's operator it is

    needs_grad: bool = False  # whether it requires grad
    leaf: bool = False  # whether it is a leaf
    hooks: tuple[GradientHook, ...] = ()  # the hooks on it
    retains_grad: bool = False  # whether backward keeps its gradient in `.grad`


class NamedTensor(Struct, frozen=True, omit_defaults=True):
    """A tensor that a name of yours holds: a bound name, or a parameter or buffer of a bound module."""

    name: str  # `x`, `m.0.weight`
    description: str  # `Tensor[3, 3] float32 cpu requires_grad`
    is_leaf: bool = True  # whether no node made it
    needs_grad: bool = False  # whether it requires grad
    differentiable: bool = True  # whether its dtype can have a gradient: a floating-point or complex one

    inference: bool = False  # whether it was made in inference mode
    retains_grad: bool = False  # whether backward keeps its gradient in `.grad`
    has_grad: bool = False  # whether `.grad` is set already

    made_by: str = ""  # for a tensor that is no leaf: the name of its node
    node: Count | None = None  # the number of its node in the graph: AccumulateGrad for a leaf; null: not in the graph

    detached: NodeMadeAt | None = None  # if not reached: a call of detach() on it, or on a value that depends on it


class AutogradGraph(Struct, frozen=True):
    """The graph behind a value. Node 0 and the following ones are in the order in which backward may run them."""

    results: tuple[GraphResult, ...]
    nodes: tuple[AutogradNode, ...]
    storages: tuple[KeptStorage, ...]
    tensors: tuple[NamedTensor, ...] = ()
    reads_saved: bool = True  # whether this torch can say what a node saved without running hooks
    cut: bool = False  # whether there are more nodes than were read
    more_names: bool = False  # whether there are more named tensors than were read


class GraphLines(Struct, frozen=True):
    """The code that made each node, from a second run of the same code. `shape` tells if its graph is the same."""

    shape: str  # a digest of names and edges
    made: tuple[NodeMadeAt | None, ...]
    detached: tuple[tuple[str, NodeMadeAt], ...] = ()  # leaves that are not reached: a call of detach() behind them


class GradientSeen(Struct, frozen=True, omit_defaults=True):
    """A gradient that a node received or sent."""

    sizes: tuple[int, ...] | None  # null if it has no single shape
    dtype: str  # `float32`
    layout: str = "strided"  # `strided`, `sparse_coo`, …


class NodeRun(Struct, frozen=True):
    """A node that backward ran."""

    node: Count  # the number of the node
    thread: Count  # 0 is the thread that called backward
    took: Count  # nanoseconds between a hook before the node and a hook after it.

    received: tuple[GradientSeen | None, ...]  # by output of its operator; null: undefined, which counts as zeros
    sent: tuple[GradientSeen | None, ...]  # by edge; null: undefined, or not needed. () for AccumulateGrad


class GraphRun(Struct, frozen=True):
    """One backward over the graph, from a gradient of ones. `shape` tells if the graph is the same one."""

    shape: str
    ran: tuple[NodeRun, ...]  # in the order in which the nodes began
    had_grad: tuple[Count, ...] = ()  # the nodes of leaves whose `.grad` was set before

    unfinished: tuple[Count, ...] = ()  # nodes that began and did not end, since backward raised
    error: str = ""  # the class of the error that ended backward
    message: str = ""  # its message


# Who holds memory. name: a name of yours, or the result. saved: only nodes of the graph. graph: nodes of another graph,
# which a live tensor leads to. python: another Python object. cycle: a loop of objects. The next
# collection frees them. node-cycle: a node holds the object, and the graph of the object has this node.
MemoryOwner = Literal[
    "parameter", "buffer", "gradient", "optimizer", "name", "saved", "graph", "python", "cycle", "node-cycle"
]


class OwnedMemory(Struct, frozen=True):
    """A storage that is alive, with the first of its owners in the order of `MemoryOwner`."""

    owner: MemoryOwner  # the kind of owner
    name: str  # `m.0.weight`; for `python` the references to it; for `graph` the tensor. Empty: the result, or unknown
    bytes: Count  # the size of the whole storage
    node: Count | None = None  # for `saved`: the node that saved it first


# Who held bytes at the peak. temporary: they were freed before owners were read again.
# native: no tensor in Python and no node had them when owners were read. So C++ holds them.
# end: owners were not read after the peak.
PeakOwner = Literal[
    "parameter", "buffer", "gradient", "optimizer", "name", "saved", "graph", "python", "cycle", "node-cycle",
    "temporary", "native", "end",
]  # fmt: skip


class PeakPart(Struct, frozen=True, omit_defaults=True):
    """Bytes that were alive at the peak, or that only C++ held at the end, with one owner."""

    owner: PeakOwner  # the kind of owner
    name: str  # as in OwnedMemory; for a graph the class of the node, for `temporary` and `native` what allocated it

    bytes: Count  # their sum
    count: Count  # the number of allocations

    made: NodeMadeAt | None = None  # the code that made the node; for `temporary` and `native`: that allocated it


class MemoryMoment(Struct, frozen=True, omit_defaults=True):
    """The moment of the peak."""

    step: Count  # 0 before the first backward was called, then the number of calls of backward so far
    operators: tuple[str, ...] = ()  # the operators and nodes that ran, outermost first
    made: NodeMadeAt | None = None  # your line that ran; null if unknown


class MemoryPeak(Struct, frozen=True):
    """The most bytes that the allocator of the CPU had given at a time."""

    bytes: Count  # the sum
    moment: MemoryMoment  # when it was
    parts: tuple[PeakPart, ...]  # its owners, the largest first


class ChainLink(Struct, frozen=True):
    """One object of a chain of references."""

    type: str  # the name of its class
    text: str  # how the object before it refers to it: `.history`, `[3]`; for the first one the name of the root


class LeftMemory(Struct, frozen=True, omit_defaults=True):
    """Storages that steps left behind, and that one kind of reference keeps."""

    owner: MemoryOwner  # the kind of owner
    name: str  # what leads to one of them: `history[0]`; empty if unknown
    bytes: Count  # their sum

    steps: tuple[Count, ...]  # for each storage: the number of its step
    chain: tuple[ChainLink, ...] = ()  # from a root to the tensor or node; () if unknown
    has_root: bool = True  # whether the chain begins at a variable

    node: str = ""  # the node that keeps it, if only a graph does
    made: NodeMadeAt | None = None  # the code that made this node, or that allocated the memory

    sizes: tuple[int, ...] | None = None  # the sizes of one of the tensors; null if unknown
    dtype: str = ""  # its dtype


class MemoryWatch(Struct, frozen=True, omit_defaults=True):
    """Memory over the steps of a program, as a run under torch's profiler saw it.

    A step of a script begins each time that the first of its calls of backward is repeated.
    """

    peak: MemoryPeak  # the most memory at one time
    alive: Count  # bytes that the allocator had given at the end of the watch
    native: tuple[PeakPart, ...] = ()  # bytes at the end that only C++ held

    elsewhere: Count = 0  # bytes of live tensors at the end, in memory that the allocator did not give
    steps: Count = 0  # the calls of backward that ended
    ended: bool = False  # whether the code ended by itself, before all steps

    left: tuple[LeftMemory, ...] | None = None  # what steps left behind, if it was asked for
    few: bool = False  # there were too few steps to say that


class ReadGraph(Struct, frozen=True):
    """A graph with the digest of its names and edges."""

    shape: str
    graph: AutogradGraph


class GraphSession(Struct, frozen=True):
    """One capture of a graph: the value that you asked about, and the graph behind it."""

    expression: str  # as you typed it; without an expression the file of the script
    torch: TorchInfo  # the torch that ran
    bound: tuple[BoundName, ...]  # the value of each name
    result: ResultInfo  # the value
    graph: AutogradGraph
    no_lines: NoLines | None = None  # why the code that made the nodes is not known; null if it is

    ran: GraphRun | None = None  # the backward, if it was asked for
    no_run: NoLines | None = None  # why that run is unknown although it was asked for

    owners: tuple[OwnedMemory, ...] | None = None  # the memory of all live tensors, if it was asked for

    watched: MemoryWatch | None = None  # memory over time, if it was asked for
    no_watch: bool = False  # the run that watches memory gave no answer

    printed: str = ""  # what the expression printed
    script: str | None = None  # the script whose first backward was waited for


class NodeSource(Struct, frozen=True):
    """The source of a node."""

    apply: SourceRef  # the function that backward calls
    derivative: DerivativeRef | None = None  # its entry in derivatives.yaml, if exactly one makes nodes of its class

    inputs: tuple[str, ...] = ()  # by edge: the input of the operator that gets the gradient; () if unknown
    made: SourceRef | None = None  # the line that made the node; null if unknown, or in the expression itself


class LocatedGraph(Struct, frozen=True):
    """A graph with the source of each node, in the same order."""

    session: GraphSession
    sources: tuple[NodeSource, ...]
    trees: tuple[TreeInfo, ...]


GRAPH_FORMAT = 1  # the format of saved graphs; within a format keys are only added


class SavedGraph(Struct, frozen=True):
    """A graph in a file."""

    graph: LocatedGraph  # the graph with places
    kind: Literal["graph"] = "graph"  # what the file has
    format: int = GRAPH_FORMAT
