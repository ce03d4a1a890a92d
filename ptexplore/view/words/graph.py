"""The words for an autograd graph: what nodes keep for backward, and why a tensor gets no gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ptexplore.model.autograd_graph import (
    GradientHook,
    GraphResult,
    HookKind,
    KeptValue,
    NamedTensor,
    NoLines,
    PeakOwner,
)
from ptexplore.model.gradient_reasons import GradientReason

NODE, MADE, KEEPS, WHERE = "node", "made by", "keeps", "formula"  # the columns
KEPT = "kept"

# One saved tensor: "{name}" is its name in the formula, "{sizes}" are its sizes.
SAVED: Mapping[str, str] = {
    "alone": "{name} {sizes}",
    "held": "{name}: {holder}",
    "counted": "{name}: counted at {node}",
    "number": "{name}: a number",
    "packed": "{name}: packed, unpacked by {hook}",
    "packed-unknown": "{name}: packed by a hook",
    "freed": "{name}: freed",
    "unread": "{name}: not readable",
    "changed": "{saved}, written to since ({before} → {now} writes): backward will raise",
}
THE_RESULT = "the result"
SILENT = "its saved tensors are not readable"
LEAF = "leaf {sizes}"
HAS_GRAD = "has .grad"
HOOKS: Mapping[HookKind, str] = {
    "gradient": "hook {function}",
    "accumulated": "hook after accumulating {function}",
}
NO_EDGE = "no gradient for {inputs}"
INPUT = "input {number}"
AGAIN = "→ [{number}] {name}"
NEXT = "→ the next {name}"
ROUNDS = "{first} … {last}"
TIMES = "×{times}"
NUMBER = "[{number}] "
MODULE = "{module} ({type})"
MORE = "… {rows:,} more rows"

# Above the rows.
COUNTED = "{nodes}, {leaves}"
NODES, LEAVES = ("1 node", "{count:,} nodes"), ("1 leaf", "{count:,} leaves")
KEEPS_ALL = "keeps {bytes} until backward"
KEEPS_ALSO = "and shares {bytes} with {names}"
KEEPS_AT_LEAST = "keeps at least {bytes} until backward"
KEEPS_NOTHING = "keeps no memory of its own until backward"
KEEPS_UNKNOWN = "keeps memory that cannot be counted"
UNKNOWN_SAVED = "torch {version} cannot say what nodes keep without running hooks: it is unknown"
UNCOUNTED: Mapping[str, tuple[str, str]] = {
    "packed": ("1 tensor packed by a hook is not counted", "{count:,} tensors packed by hooks are not counted"),
    "unread": ("1 saved tensor is not readable", "{count:,} saved tensors are not readable"),
    "silent": ("1 node does not say what it keeps", "{count:,} nodes do not say what they keep"),
    "numbers": ("1 Python number is kept, too", "{count:,} Python numbers are kept, too"),
    "freed": (
        "1 saved tensor was freed by an earlier backward",
        "{count:,} saved tensors were freed by an earlier backward",
    ),
}
CUT = "only the first {count:,} nodes were read; there are more"
NO_LINES: Mapping[NoLines, str] = {
    "failed": "the lines that made the nodes are not known: the second run, which notes them, gave no answer",
    "differs": "the lines that made the nodes are not known: the second run, which notes them, made another graph",
    "own": (
        "the lines that made the nodes are not known: torch notes them only while "
        "torch.autograd.set_detect_anomaly(True) is on"
    ),
}
# Who holds the memory of live tensors.
ALIVE = "alive where the graph was read: {bytes} in {storages}; each counts once, for its first owner in this list"
STORAGES = ("1 storage", "{count:,} storages")
NOT_SEEN = "memory that only C++ holds is not seen, except what nodes of this graph keep"
OWNERS: Mapping[PeakOwner, str] = {
    "parameter": "parameters",
    "buffer": "buffers",
    "gradient": "gradients",
    "optimizer": "state of optimizers",
    "saved": "kept for backward, only by the graph",
    "name": "tensors with a name of yours",
    "graph": "kept for backward by the graphs of other tensors",
    "python": "held by other Python objects",
    "cycle": "only in reference cycles: the next garbage collection frees it",
    "node-cycle": "in a cycle through grad_fn: no garbage collection frees it",
    "native": "held by C++ alone: no tensor in Python has it",
    "temporary": "temporary: freed before owners were read again",
    "end": "owner not read: it was allocated after owners were read last",
}
NO_WATCH = "the peak and leaks are not known: the run that watches memory gave no answer"
PEAK = "the peak: {bytes} from the CPU's allocator, {moment}"
UNKNOWN_MOMENT = "at an unknown line"
IN_STEP = "after call {step} of backward began"
AT_LINE = "{place}  {code}"
IN_OPERATOR = "inside {operator}"
STEPS = ("1 call of backward", "{count:,} calls of backward")
UNTIL_STEP = "watched over {steps}, up to the next one; --steps watches more"
UNTIL_END = "watched to the end of the code, over {steps}"
PEAK_OWNERS = (
    "owners are read where backward begins and ends; memory of the peak has the owner that was read last or next"
)
ELSEWHERE = "{bytes} more are not from this allocator: NumPy, a file, another device, or from before the run"
FEW_STEPS = "too few steps to find a leak: the script made {steps}, and at least 4 are needed"
WATCHED = "watched over {steps}"
LEFT = "memory of finished steps that is still alive (the first two steps do not count: they set up lasting memory)"
NOTHING_LEFT = "no step left memory behind"
KEPT_BY, ALLOCATED_BY = "kept by", "allocated by"  # columns
FOR_EXAMPLE = "for example {sizes}"
LEFT_ONCE = "made in step {step} only"
LEFT_SINCE = "made in steps {first} to {last}: earlier ones are gone, so it may be a window that does not grow"
LEFT_EACH = "each step leaves as many"
LEFT_IN = "made in steps {steps}"
LEFT_BY_GRAPH = "{node} of the graph that backward starts at: it reaches back to earlier steps"
LEFT_BEHIND_GRAPH = "{name}: {node} of its graph"
LEFT_AS: Mapping[PeakOwner, str] = {
    "gradient": "{name}, a gradient",
    "optimizer": "{name}, state of an optimizer",
    "parameter": "{name}, a parameter",
    "buffer": "{name}, a buffer",
    "cycle": "reference cycles, until the next garbage collection",
    "node-cycle": "{name}: its own grad_fn holds it, and no garbage collection sees that",
}
NO_CHAIN = "no references to it were found from a variable: C++ or an object outside of the collector may hold it"
ROOT = "{name} ({type})"
NO_ROOT = "an object of class {type}, which no variable leads to"
ARROW = " → "
CHAIN = "references: {chain}"
NODE_MADE = "{node} made by {place}  {code}"
MEMORY_MADE = "allocated by {place}  {code}"
NATIVE_NOW = "at the end, C++ alone holds this: no tensor in Python has it, so its owner is not known"
MORE_OWNERS = "{count:,} more"
UNKNOWN_OWNER = "not known by what"
MADE_BY = "{made}  {node}"
BYTES, OWNER = "bytes", "held as"  # the columns
# What backward did. "{received}" and "{sent}" are gradients.
NO_RUN: Mapping[NoLines, str] = {
    "failed": "the order of backward is not known: the run with backward gave no answer",
    "differs": "the order of backward is not known: the run with backward made another graph",
    "own": "backward does not run in your own process",
}
RAN = (
    "backward ran {nodes} in this order, from a gradient of ones; times are between two hooks around each node, in a "
    "first run"
)
RUN_RAISED = "backward raised {error}{place}: {message}"
RAISED_IN = " in {nodes}"
NOT_RUN = "{nodes} did not run"
ORDER, THREAD, TIME, GRADIENTS = "order", "thread", "time", "gradients"  # the columns
RECEIVED_AND_SENT = "{received} → {sent}"
DID_NOT_END = "{received} → it did not end"
GRAD_SET, GRAD_ADDED = "{received} → .grad, which was None", "{received} added to .grad"
GRAD_STAYS = "no gradient came: .grad stays as it was"
UNDEFINED = "undefined"
NOTHING = "nothing"
SUM_OF = "{gradient}, the sum of {count}"
OUTPUT = "output {number} {gradient}"
FORMULA = "{inputs}: {text}"
NO_GRAPH = "there is no graph: {result} does not require grad"
NO_GRADIENT = "no gradient from here: {names}"
AND_MORE = "{names} and {count:,} more"

WHY: Mapping[GradientReason, str] = {
    "reached": "its gradient will be added to .grad; .grad is None until backward has run",
    "has-grad": "it is reached, and .grad is set already: backward adds to it",
    "retained": "it is no leaf ({made_by} made it), but retain_grad() was called: backward sets .grad",
    "no-leaf": "it is no leaf: {made_by} made it; backward sets .grad only of leaves, or after retain_grad()",
    "no-leaf-unreached": "it is no leaf ({made_by} made it), and the graph of {result} does not reach it",
    "dtype": "its dtype cannot have a gradient: only floating-point and complex tensors can",
    "inference": "it was made in inference mode: nothing is recorded for it",
    "no-grad": "requires_grad is False",
    "no-graph": "{result} does not require grad, so backward reaches nothing",
    "detached": (
        "it requires grad, but the graph of {result} does not reach it: {code} ({place}) detached a value that depends "
        "on it"
    ),
    "unreached": (
        "it requires grad, but the graph of {result} does not reach it. It is not used, or used only through a step "
        "that records nothing: detach(), .data, an integer, torch.no_grad()"
    ),
    "unknown": "not known: only a part of the graph was read, and that part does not reach it",
}
RESULT = "the result"
SKEWED = "~ a line of another version, found by name; `ptexplore fetch` gets your torch's source"
PRINTED = "the expression printed:"


def many(forms: tuple[str, str], count: int) -> str:
    """Returns a number with its noun."""
    return forms[0] if count == 1 else forms[1].format(count=count)


def listed(names: Sequence[str], most: int) -> str:
    """Returns names as a list; of many, only the first ones and the number of the others."""
    shown = ", ".join(names[:most])
    return AND_MORE.format(names=shown, count=len(names) - most) if len(names) > most else shown


def short_node(name: str) -> str:
    """Returns the name of a node without the namespace of autograd."""
    return name.removeprefix("torch::autograd::")


def sizes_text(sizes: Sequence[int] | None, dtype: str = "") -> str:
    """Returns sizes: `[3, 4]`, and the dtype unless it is float32."""
    shown = f"[{', '.join(map(str, sizes))}]" if sizes is not None else "[…]"
    return f"{dtype}{shown}" if dtype not in ("", "float32") else shown


def saved_text(value: KeptValue, holder: str, counted_at: str) -> str:
    """Returns what a node keeps. `holder` also holds the memory; `counted_at` is the node that counts it."""
    if value.kept == "packed":
        form = "packed" if value.hook else "packed-unknown"
        return SAVED[form].format(name=value.name, hook=value.hook)
    if value.kept != "tensor":
        return SAVED[value.kept].format(name=value.name)
    form = "number" if value.is_number else "held" if holder else "counted" if counted_at else "alone"
    sizes = sizes_text(value.sizes, value.dtype)
    text = SAVED[form].format(name=value.name, sizes=sizes, holder=holder, node=counted_at)
    if value.saved_version is None or value.saved_version == value.version:
        return text
    return SAVED["changed"].format(saved=text, before=value.saved_version, now=value.version)


def hook_text(hook: GradientHook) -> str:
    """Returns the words for a hook."""
    return HOOKS[hook.kind].format(function=hook.function)


def why_text(reason: GradientReason, tensor: NamedTensor, results: Sequence[GraphResult]) -> str:
    """Returns why a tensor gets a gradient, or none."""
    result = RESULT if len(results) == 1 else "any result"
    at = tensor.detached
    code = at.text if at is not None else ""
    place = f"{at.file.rpartition('/')[2]}:{at.line}" if at is not None else ""
    return WHY[reason].format(made_by=tensor.made_by, result=result, code=code, place=place)
