"""The words of the page of rungs: what each rung is, why one is missing, what tracing changed."""

from __future__ import annotations

from collections.abc import Mapping

from ptexplore.model.rungs import FailureKind, NoteKind, RungName, UncheckedKind

ABOUT: Mapping[RungName, str] = {
    "python": "your Python: calls of torch functions",
    "fx": "torch.fx, symbolic trace",
    "jit-trace": "TorchScript, traced",
    "jit-script": "TorchScript, compiled from source",
    "aten": "ATen, as dispatched below autograd",
    "export": "torch.export's program",
    "functional": "functional ATen",
    "core": "Core ATen",
    "prims": "Prims",
    "aot-forward": "AOTAutograd, forward",
    "aot-backward": "AOTAutograd, backward",
    "inductor": "Inductor, kernels",
}
FAILURES: Mapping[FailureKind, str] = {
    "raised": "not made",
    "late": "not made, it took longer than {seconds} s",
    "died": "not made, its process ended with {signal}",
    "needs": "not made, it needs {needs}",
    "nothing": "no graph, nothing requires grad",
    "lacks": "not made by this torch",
}
FLAGS: Mapping[FailureKind, str] = {"late": "--timeout", "nothing": "--grad"}  # the option that would help
NOTES: Mapping[NoteKind, str] = {
    "traced-value": "tracing made a constant of a value",
    "control-flow": "keeps a branch or loop",
    "direct": "made from your module, not from the exported program: no links",
}
UNCHECKED: Mapping[UncheckedKind, str] = {
    "random": "it draws other random numbers than eager mode",
    "copies": "the inputs cannot be copied, so the result was not compared",
    "raised": "the graph was made, but running it raised an error",
    "structure": "the result has another structure than in eager mode",
    "asked": "the result was not compared",
}
CHANGES: Mapping[str, str] = {
    "same": "same",
    "replaced": "replaced",
    "decomposed": "decomposed",
    "removed": "removed",
    "added": "added",
}
NOT_CORE: Mapping[str, str] = {
    "custom": "a custom operator",
    "writes": "it writes to an input",
    "untagged": "torch does not tag it as core",
}
