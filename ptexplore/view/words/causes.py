"""Causes in words: why an error is raised, and how to fix it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ptexplore.model.trace import Cause, CauseCase


class Explained(NamedTuple):
    """The reason and the remedy; or several cases, each with its sign and its remedy."""

    why: str
    remedy: str = ""
    cases: tuple[tuple[str, str], ...] = ()


ENGLISH: dict[str, Explained] = {
    "no-code-for-floating": Explained(
        "the kernel that is named has no code for this dtype: the list of dtypes that it is compiled for"
        " (AT_DISPATCH_…) does not have it",
        "convert to a dtype that it takes (x.long(), if it is for integers), or another operator",
    ),
    "no-code-for-complex": Explained(
        "the kernel that is named has no code for this dtype: the list of dtypes that it is compiled for"
        " (AT_DISPATCH_…) does not have it",
        "compute with real numbers (x.real, x.imag, x.abs(), torch.view_as_real(x)), or another operator",
    ),
    "no-code-for-integers": Explained(
        "the kernel that is named has no code for this dtype: the list of dtypes that it is compiled for"
        " (AT_DISPATCH_…) does not have it",
        "convert to a dtype that it takes (x.float()), or another operator",
    ),
    "no-code": Explained(
        "the kernel that is named has no code for this dtype: the list of dtypes that it is compiled for"
        " (AT_DISPATCH_…) does not have it",
        "convert to a dtype that it takes, or another operator",
    ),
    "unused-in-graph": Explained(
        "no way through the graph leads from the outputs to this tensor: they were computed without it, or from"
        " another tensor of the same values",
        "",
        (
            (
                "it was made of the tensor that the outputs come from: a view (each x[0] is a new one), a copy",
                "compute the outputs from that very tensor, or ask for the other one's gradient",
            ),
            (
                "detach(), .data, no_grad() or a new nn.Parameter is between it and the outputs",
                "ask for the gradient of the tensor that the outputs were computed from, or record the way",
            ),
            ("the outputs do not depend on it", "allow_unused=True gives None for it in place of this error"),
        ),
    ),
    "input-without-grad": Explained(
        "a gradient is asked for of a tensor that does not require grad: nothing was recorded of it",
        "x.requires_grad_() before the outputs are computed from it, or leave it out of the inputs",
    ),
    "leaf-written": Explained(
        "the tensor written to is a leaf: no operator recorded it, and it requires grad. Its gradient would be"
        " that of a value that is gone",
        "write to a copy (x.clone()), or inside torch.no_grad(), where it is not recorded",
    ),
    "view-of-leaf-written": Explained(
        "the tensor written to shares its memory with a leaf that requires grad",
        "write to a view of a copy (x.clone()[0]), or inside torch.no_grad()",
    ),
    "freed": Explained(
        "saved tensors were asked for that an earlier backward had freed, as a rule by a backward that came"
        " there again. The message does not say why the graph still led there; ptexplore trace --script FILE"
        " does",
        "",
        (
            (
                "a tensor is kept from one round to the next (a hidden state, a list, a sum of losses)",
                "detach it between the rounds: h = h.detach()",
            ),
            (
                "a tensor with a graph is made once and used in each round (in __init__, before the loop)",
                "make it in each forward, or detach it",
            ),
            (
                "two losses use one result, as in a GAN",
                (
                    "detach it for the loss that is not to train what made it; else retain_graph=True in each"
                    " backward but the last"
                ),
            ),
            (
                "two losses of one forward, or one loss twice",
                "one backward of their sum, or retain_graph=True in each backward but the last",
            ),
            (
                "the line that raised reads them itself (grad_fn.saved_tensors, grad_fn._saved_…)",
                "read them before that backward, or keep them through it: retain_graph=True",
            ),
        ),
    ),
    "no-formula": Explained(
        "derivatives.yaml has no formula for this input of the operator: in its place stands one that raises",
        "compute it of other operators, or write a torch.autograd.Function with a backward of its own",
    ),
    "no-derivative": Explained(
        "nothing tells the operator's derivative: it recorded a node that raises",
        "compute it of other operators, or write a torch.autograd.Function with a backward of its own",
    ),
    "nothing-recorded": Explained(
        "no operator recorded the tensor: no input required grad, recording was off (no_grad, detach), or an"
        " operator before it has no derivative (argmax, a comparison, whatever gives integers)",
        "print requires_grad of each value on the way: an input needs requires_grad=True; where it is lost,"
        " another operator",
    ),
    "backward-from-many": Explained(
        "backward from a tensor that has not just one element needs to be told the gradient to begin with",
        ".sum().backward(), or backward(torch.ones_like(x))",
    ),
    "saved-then-written": Explained(
        "a node saved this tensor for its formula, and it was written to afterwards: the saved version is older"
        " than the tensor's",
        "write to a copy, or before the operator that saves it; torch.autograd.set_detect_anomaly(True) names"
        " that operator's call",
    ),
    "inference-tensor": Explained(
        "a tensor made in inference mode has no version counter and no autograd keys",
        "make a normal tensor of it: x.clone() outside of inference mode",
    ),
    "vmap-needs-value": Explained(
        "vmap runs the operator once for all examples: a number or a shape that depends on one example's values"
        " cannot be had there",
        "compute it without that value (torch.where, a mask), or loop over the batch yourself",
    ),
    "no-batching-rule": Explained(
        "the operator has no batching rule, and vmap's loop over the batch cannot stand in for it",
        "torch.library.register_vmap adds a rule to a custom operator; else loop over the batch yourself",
    ),
    "no-storage": Explained("a tensor without memory (fake, meta or a wrapper) was asked for its bytes"),
    "meta-without-values": Explained(
        "a meta tensor has a shape and no values",
        "make the tensors on a real device: module.to_empty(device=…) and then their values",
    ),
    "fake-without-values": Explained(
        "a fake tensor has no values, and this operator's result depends on them: it must be a real one",
        "outside of FakeTensorMode, or without asking for the value",
    ),
    "fake-beside-real": Explained(
        "a fake tensor met a real one, and one operator takes only one kind",
        "make all of them inside the same FakeTensorMode, or FakeTensorMode(allow_non_fake_inputs=True)",
    ),
    "out-not-differentiable": Explained(
        "autograd records no call with out=: there is no derivative of writing into a tensor that was given",
        "call it without out=, or inside torch.no_grad()",
    ),
    "built-without-cuda": Explained(
        "torch was built without CUDA: it has no kernels for it", "tensors on the CPU, or a CUDA build"
    ),
    "no-driver": Explained(
        "torch was built with CUDA; this machine has no NVIDIA driver, or one that is older than that CUDA",
        "tensors on the CPU; a newer driver, or a torch built with an older CUDA (nvidia-smi names the newest"
        " that the driver runs)",
    ),
    "cuda-not-loaded": Explained(
        "the part of torch that knows CUDA is not loaded: torch was built without it, or a program of C++ does"
        " not link it",
        "tensors on the CPU, or a CUDA build",
    ),
    "broadcast": Explained(
        "shapes are broadcast from the right: of two sizes under one another one must be 1, or both equal",
        "print both shapes; unsqueeze puts a 1 in, transpose and reshape move sizes under one another",
    ),
    "output-too-small": Explained(
        "what is written to keeps its shape, and with the operands together it would be broadcast to the other one",
        "the operator that makes a new result (add in place of add_), or expand() and clone() before it",
    ),
    "expanded": Explained(
        "expand repeats dimensions of size 1 alone, and shapes are laid on one another from the right; what is"
        " assigned by brackets is expanded so",
        "print both shapes: each size that is not 1 stays as it is",
    ),
    "matrix-by-vector": Explained(
        "a matrix of n columns multiplies a vector of n elements",
        "print both shapes; of an nn.Linear without a batch the vector is what comes in",
    ),
    "result-not-cast": Explained(
        "an operator in place, or with out=, does not turn its result from floating point into integers, from"
        " complex into real, or from numbers into bool; copy_ does",
        "convert what is written to before, or use the operator that makes a new result",
    ),
    "index-out-of-bounds": Explained(
        "a dimension of n elements has the indices 0 to n - 1; brackets take -n to -1 too, from its end",
        "print the indices' min() and max(), and the shape; where tensors index, the number given counts these,"
        " a mask once for each of its dimensions",
    ),
    "inferred-size": Explained(
        "view and reshape keep the number of elements, and -1 is counted from the other sizes: the number of"
        " elements is no multiple of what these multiply to",
        "other sizes beside the -1, whose product divides the number of elements; x.flatten(1) keeps the batch"
        " and joins the rest",
    ),
    "size-of-view": Explained(
        "view and reshape keep the number of elements: the sizes asked for must multiply to it",
        "-1 for one size, which is then counted; x.flatten(1) keeps the batch and joins the rest",
    ),
    "dimension-out-of-range": Explained(
        "a tensor of n dimensions has the dimensions 0 to n - 1, or -n to -1 from the right; what puts a new"
        " one in (unsqueeze, stack) counts those of its result",
        "print the tensor's shape",
    ),
    "matrix-shapes": Explained(
        "the columns of mat1 must be as many as the rows of mat2; of an nn.Linear mat1 is what comes in, and"
        " the rows of mat2 are its in_features",
        "in_features as large as the last dimension of what comes in, or what comes in flattened in another way",
    ),
    "transposed-channels": Explained(
        "the weight's first size is the number of channels that a transposed convolution takes: its in_channels",
        "in_channels as many as the input has, or an input with its channels in dimension 1 (permute)",
    ),
    "channels": Explained(
        "the weight's second size is the number of channels that one group takes: a convolution's in_channels / groups",
        "in_channels as many as the input has, or an input with its channels in dimension 1 (permute)",
    ),
    "indices-dtype": Explained(
        "an embedding looks rows up by number, so indices must be integers", ".long() on the indices"
    ),
    "index-out-of-range": Explained(
        "an index is negative, or not below the size of the dimension that it goes into: of an nn.Embedding its"
        " num_embeddings",
        "print the indices' min() and max(); of an nn.Embedding num_embeddings of at least the largest index + 1",
    ),
    "target-out-of-bounds": Explained(
        "a target is the number of a class: from 0 to C - 1, where C is the size of the input's dimension of"
        " classes: the one behind the batch, which is the first where there is no batch",
        "labels that begin at 0, or as many outputs of the last layer as there are classes",
    ),
    "target-dtype": Explained(
        "a target of class numbers must be int64 or uint8; of probabilities it must have the input's own shape",
        ".long() on the target",
    ),
    "long-expected": Explained(
        "a tensor must be int64 here: as it numbers something (a target of classes), or as the one beside it is",
        ".long() on that tensor, or the other one in its dtype; a target of probabilities has the input's shape",
    ),
    "batch-sizes": Explained(
        "input and target must have the same first dimension, one row a sample",
        "look for a view or flatten before it that moves samples into other dimensions: x.flatten(1) keeps the first",
    ),
    "dtypes-differ": Explained(
        "the tensors have different dtypes, and this operator converts none; numpy makes float64 and modules"
        " are float32, if nobody says otherwise",
        ".float() on the data, or both in one dtype: x.to(module.weight.dtype)",
    ),
    "scalar-types-differ": Explained(
        "a tensor has another dtype than this operator takes: that of the tensor beside it, or the one that it"
        " knows; numpy makes float64 and modules are float32, if nobody says otherwise",
        ".float() on the data, or both in one dtype: x.to(module.weight.dtype)",
    ),
    "numpy-given": Explained("the function takes tensors", "torch.from_numpy(x).float(), or torch.tensor(x)"),
    "batch-norm-of-one": Explained(
        "batch norm takes mean and variance of each channel over the batch while it trains: the variance of one"
        " value is 0, and the result would be the same for every value",
        "a last batch of one sample left out (DataLoader(drop_last=True)), or model.eval() where you do not train",
    ),
    "stacked-shapes": Explained(
        "stack takes tensors of one shape. In a DataLoader's default_collate they are the samples of one batch",
        "samples cut or padded to one shape, or a collate_fn of your own (torch.nn.utils.rnn.pad_sequence)",
    ),
    "devices-differ": Explained(
        "an operator takes tensors of one device; beside another one only a CPU tensor without dimensions",
        "model.to(device) and, in each step, x = x.to(device): a tensor's to() gives another tensor",
    ),
    "device-assert": Explained(
        "a kernel on the GPU failed a check of its own, such as that of an index. It may be told later than it"
        " happened: by a call of another line",
        "CUDA_LAUNCH_BLOCKING=1 has each call wait for its kernel, so that the right line is told; the same on"
        " the CPU may say more",
    ),
    "cuda-memory": Explained(
        "torch could not get as much memory as was asked for: the GPU has not as much free, or a limit that you"
        " set (set_per_process_memory_fraction) is reached",
        "a smaller batch; torch.no_grad() where you do not train; loss.item() where you add up losses, since a"
        " loss keeps its graph",
    ),
    "state-dict": Explained(
        "names or shapes of the checkpoint's tensors are not those of this module's",
        "the module as it was when it was saved; a prefix `module.` is what DataParallel puts before each name."
        " strict=False passes over names, not over shapes",
    ),
    "mean-of-integers": Explained("a mean of integers or truth values would be none", "x.float().mean()"),
    "grad-of-integers": Explained("there is no gradient of integers and truth values", "dtype=torch.float32"),
    "not-one-number": Explained(
        "only a tensor of one element is a number", ".tolist() for all of them, or one number of them: .mean(), x[0]"
    ),
    "truth-of-many": Explained(
        "`if`, `and`, `not` and `==` of lists ask a tensor for one truth value",
        ".any() or .all(), and & for `and`; where a loss is meant, nn.MSELoss()(x, y): the class takes options",
    ),
    "no-parameters": Explained(
        "what was given holds no parameters: an empty list, those of a module that has none or has them in a"
        " plain list or dict, or parameters() that were gone through before, which is possible once",
        "nn.ModuleList, nn.ModuleDict or nn.ParameterList in place of list and dict",
    ),
    "recomputed-otherwise": Explained(
        "a checkpointed function runs again in backward. It saved tensors of another shape, dtype or device"
        " then: it depends on something that has changed since",
        'a function that does the same each time; checkpoint(…, determinism_check="none") only silences this check',
    ),
    "saved-another-number": Explained(
        "a checkpointed function runs again in backward. The checkpoint was given another number of saved"
        " tensors then: the function depends on something that has changed since, or other hooks of saved"
        " tensors took them (a context of context_fn, say)",
        "a function that does the same each time, and the same hooks around it",
    ),
    "static-graph": Explained(
        "DistributedDataParallel(static_graph=True) expects each step to use the same parameters, and some got"
        " no gradient in the last one",
        "static_graph=False, or the same parameters in each step's loss",
    ),
    "unused-with-search": Explained(
        "some parameters got no gradient in the last step, though those that forward() does not use were looked"
        " for (find_unused_parameters=True)",
        "every output of forward() in the loss",
    ),
    "unused-parameters": Explained(
        "some parameters got no gradient in the last step, and DistributedDataParallel waits for all",
        "find_unused_parameters=True, or every parameter in the loss",
    ),
    "killed": Explained(
        "a signal killed the process: it came in C or C++, and no exception says why",
        "ptexplore trace --script FILE keeps what ran until then, and names the functions that the signal came in",
    ),
    "signal-to-itself": Explained("it was in a call that sends signals: the process sent itself this one"),
    "sigkill": Explained(
        "the system kills a process so when memory runs out, or somebody did; what ran last is not known"
    ),
    "pre-hook-without-dict": Explained(
        "the tensor was to hand its hooks to autograd, and holds no dict of hooks: C++ read a null pointer",
        "register the hook before the tensor, or what it is a view of, is written to in place",
    ),
    "unused-beside": Explained(
        "{input} is a result of {node}, made beside the outputs: both come from one leaf, and the outputs do"
        " not come from it (each x[0] is a new tensor)",
        "compute the outputs from that very tensor, or ask for the leaf's gradient and take the part of it;"
        " allow_unused=True gives None for it in place of this error",
    ),
    "unused-detached": Explained(
        "{input} has the memory of a leaf that the outputs come from, and is another tensor (.detach(), .data,"
        " a new nn.Parameter of it): the graph has tensors, not memory",
        "ask for the gradient of the tensor that the outputs were computed from; allow_unused=True gives None"
        " for it in place of this error",
    ),
    "unused-elsewhere": Explained(
        "no way through the graph leads from the outputs to {input}: they come from {leaves}",
        "compute the outputs from it, with no detach() and no no_grad() on the way; allow_unused=True gives"
        " None for it in place of this error",
    ),
    "freed-state": Explained(
        "a result of an earlier round went into this round, with the graph of that round behind it, which the"
        " backward of that round had freed",
        "detach {names} between the rounds (.detach()), after the backward. retain_graph=True is no mend: each"
        " backward would go through all rounds before it",
    ),
    "freed-once": Explained(
        "a result that was made once went into each round: an earlier backward freed the graph behind it",
        "make {names} anew in each round, where the forward uses it; or detach it (.detach()), if no gradient"
        " is to go through it. retain_graph=True in each backward but the last is right only if no weight is"
        " written to in between",
    ),
    "freed-uses": Explained(
        "two losses lead through one result, each with a backward of its own: an earlier one freed the graph behind it",
        "detach {names} (.detach()) for the loss that is not to train what made it. Where both are:"
        " retain_graph=True in each backward but the last, or one backward of the sum; no weight may be written"
        " to (opt.step()) before the last backward through it",
    ),
    "freed-losses": Explained(
        "a second loss of the same forward: the backward of the first one had freed the part that both have in common",
        "one backward of the sum of the losses, or retain_graph=True in each backward but the last; opt.step()"
        " after the last",
    ),
    "freed-same": Explained(
        "backward ran again from what it had run from before, and the forward had not run again",
        "run the forward again before each backward; or retain_graph=True in each but the last, if the"
        " gradients are to add up",
    ),
    "freed-read": Explained(
        "saved tensors of a node were read after a backward had freed them; no backward came to that node again",
        "read them before that backward, or keep them through it: retain_graph=True",
    ),
    "getter-raised": Explained(
        "{owner} has {name}: its getter raised an AttributeError. Python drops that one and asks __getattr__,"
        " whose error this is",
        "{owner}.{name}.{function}(self) shows the getter's own error",
    ),
}


def explained(cause: Cause) -> Explained:
    """Returns a cause in words. A saved trace without a code for the cause keeps the words that it has."""
    known = ENGLISH.get(cause.code)
    if known is None:
        return Explained(cause.why, cause.remedy, tuple((case.sign, case.remedy) for case in cause.cases))
    given = _spoken(cause.arguments)
    is_nameless = given.get("function") == ""  # a getter: it hides its own error
    return known._replace(why=known.why.format_map(given), remedy="" if is_nameless else known.remedy.format_map(given))


class _Given(dict[str, object]):
    """The arguments of a cause. An argument that a file lacks becomes an empty text."""

    def __missing__(self, name: str) -> str:
        return ""


def _spoken(arguments: Mapping[str, str | tuple[str, ...]]) -> _Given:
    """Returns the arguments of a cause in the form that its sentences use."""
    given = _Given(arguments)
    if "names" in given:
        given["names"] = " and ".join(arguments["names"]) or "that result"
    if "tensor" in given:
        which = f"input {given['input']}" if given["input"] else "the input"
        given["input"] = f"{which} ({given['tensor']})"
    leaves, further = arguments.get("leaves", ()), str(arguments.get("further", ""))
    if isinstance(leaves, tuple):
        count = len(leaves) + (int(further) if further.isdecimal() else 0)
        more = f" and {further} more" if further else ""
        several = f"{count} leaves: {', '.join(leaves)}{more}"
        given["leaves"] = several if len(leaves) > 1 else f"one leaf, {leaves[0]}" if leaves else "no leaf"
    return given


def worded_cause(cause: Cause) -> Cause:
    """Returns a cause with its words, for readers of JSON."""
    told = explained(cause)
    return replace(cause, why=told.why, remedy=told.remedy, cases=tuple(CauseCase(*case) for case in told.cases))
