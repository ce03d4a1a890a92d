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
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "convert to a dtype that the kernel takes (x.long(), if it is for integers), or use another operator",
    ),
    "no-code-for-complex": Explained(
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "compute with real numbers (x.real, x.imag, x.abs(), torch.view_as_real(x)), or use another operator",
    ),
    "no-code-for-integers": Explained(
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "convert to a dtype that the kernel takes (x.float()), or use another operator",
    ),
    "no-code": Explained(
        "the named kernel has no code for this dtype: it is not in the list of dtypes that the kernel is compiled"
        " for (AT_DISPATCH_…)",
        "convert to a dtype that the kernel takes, or use another operator",
    ),
    "unused-in-graph": Explained(
        "no path through the graph leads from the outputs to this tensor: they were computed without it, or from"
        " another tensor with the same values",
        "",
        (
            (
                "it was made from the tensor that the outputs come from: a view (each x[0] is a new one), a copy",
                "compute the outputs from exactly this tensor, or ask for the gradient of the other one",
            ),
            (
                "detach(), .data, no_grad() or a new nn.Parameter is between it and the outputs",
                (
                    "ask for the gradient of the tensor that the outputs were computed from, or record the path"
                    " between them"
                ),
            ),
            (
                "the outputs do not depend on it",
                "allow_unused=True gives None for it instead of this error",
            ),
        ),
    ),
    "input-without-grad": Explained(
        "you asked for the gradient of a tensor that does not require grad: nothing was recorded for it",
        "call x.requires_grad_() before the outputs are computed from it, or leave it out of the inputs",
    ),
    "leaf-written": Explained(
        "the tensor that is written to is a leaf that requires grad: no operator recorded it. Its gradient would"
        " belong to a value that no longer exists",
        "write to a copy (x.clone()), or inside torch.no_grad(), where the write is not recorded",
    ),
    "view-of-leaf-written": Explained(
        "the tensor that is written to shares its memory with a leaf that requires grad",
        "write to a view of a copy (x.clone()[0]), or inside torch.no_grad()",
    ),
    "freed": Explained(
        "saved tensors were needed that an earlier backward had freed, usually because a second backward reached"
        " the same node. The message does not say why the graph still led there; ptexplore trace --script FILE"
        " does",
        "",
        (
            (
                "a tensor is kept from one round to the next (a hidden state, a list, a sum of losses)",
                "detach it between the rounds: h = h.detach()",
            ),
            (
                "a tensor with a graph is made once and used in each round (in __init__, before the loop)",
                "make a new one in each forward, or detach it",
            ),
            (
                "two losses use one result, as in a GAN",
                (
                    "detach the result for the loss that should not train the part that made it; otherwise pass"
                    " retain_graph=True to each backward except the last"
                ),
            ),
            (
                "two losses come from one forward, or one loss is used twice",
                "call backward once on their sum, or pass retain_graph=True to each backward except the last",
            ),
            (
                "the line that raised reads them itself (grad_fn.saved_tensors, grad_fn._saved_…)",
                "read them before that backward, or keep them with retain_graph=True",
            ),
        ),
    ),
    "no-formula": Explained(
        "derivatives.yaml has no formula for this input of the operator; it has an entry that raises instead",
        "compute it with other operators, or write a torch.autograd.Function with its own backward",
    ),
    "no-derivative": Explained(
        "the derivative of the operator is not defined: it recorded a node that raises",
        "compute it with other operators, or write a torch.autograd.Function with its own backward",
    ),
    "nothing-recorded": Explained(
        "no operator recorded the tensor: no input required grad, recording was off (no_grad, detach), or an earlier"
        " operator has no derivative (argmax, a comparison, operators with integer results)",
        "print requires_grad of each value on the way: an input needs requires_grad=True; if an operator loses it,"
        " use another operator",
    ),
    "backward-from-many": Explained(
        "backward from a tensor that does not have exactly one element needs a gradient to begin with",
        ".sum().backward(), or backward(torch.ones_like(x))",
    ),
    "saved-then-written": Explained(
        "a node saved this tensor for its formula, and the tensor was written to afterwards: the saved version is"
        " older than its present version",
        "write to a copy, or before the operator that saves it; torch.autograd.set_detect_anomaly(True) names the"
        " call of that operator",
    ),
    "inference-tensor": Explained(
        "a tensor made in inference mode has no version counter and no autograd keys",
        "make a normal tensor from it: x.clone() outside of inference mode",
    ),
    "vmap-needs-value": Explained(
        "vmap runs the operator once for all examples: it cannot give a number or a shape that depends on the"
        " values of one example",
        "compute it without that value (torch.where, a mask), or loop over the batch yourself",
    ),
    "no-batching-rule": Explained(
        "the operator has no batching rule, and vmap cannot loop over the batch instead",
        "torch.library.register_vmap adds a rule to a custom operator; otherwise loop over the batch yourself",
    ),
    "no-storage": Explained(
        "the code asked a tensor without memory (fake, meta or a wrapper) for its bytes",
    ),
    "meta-without-values": Explained(
        "a meta tensor has a shape but no values",
        "make the tensors on a real device: module.to_empty(device=…), and then fill in their values",
    ),
    "fake-without-values": Explained(
        "a fake tensor has no values, and the result of this operator depends on them: it needs a real tensor",
        "run it outside of FakeTensorMode, or without asking for the value",
    ),
    "fake-beside-real": Explained(
        "a fake tensor met a real one, and an operator takes only one of the two kinds",
        "make all of them inside the same FakeTensorMode, or use FakeTensorMode(allow_non_fake_inputs=True)",
    ),
    "out-not-differentiable": Explained(
        "autograd records no call with out=: a write into a given tensor has no derivative",
        "call it without out=, or inside torch.no_grad()",
    ),
    "built-without-cuda": Explained(
        "torch was built without CUDA, so it has no kernels for it",
        "use tensors on the CPU, or a CUDA build",
    ),
    "no-driver": Explained(
        "torch was built with CUDA; this machine has no NVIDIA driver, or a driver that is older than that CUDA",
        "use tensors on the CPU, a newer driver, or a torch built with an older CUDA (nvidia-smi names the newest"
        " CUDA that the driver runs)",
    ),
    "cuda-not-loaded": Explained(
        "the CUDA part of torch is not loaded: torch was built without it, or a C++ program does not link it",
        "use tensors on the CPU, or a CUDA build",
    ),
    "broadcast": Explained(
        "shapes are broadcast from the right: two sizes in the same position must be equal, or one of them must be 1",
        "print both shapes; unsqueeze inserts a size of 1, and transpose and reshape move sizes into the same position",
    ),
    "output-too-small": Explained(
        "the tensor that is written to keeps its shape, but the operands would broadcast to the other shape",
        "use the operator that makes a new result (add instead of add_), or call expand() and clone() first",
    ),
    "expanded": Explained(
        "expand repeats only dimensions of size 1, and matches shapes from the right; an assignment to x[…]"
        " expands the value in the same way",
        "print both shapes: each size that is not 1 must stay the same",
    ),
    "matrix-by-vector": Explained(
        "a matrix with n columns multiplies a vector of n elements",
        "print both shapes; for an nn.Linear without a batch, the vector is its input",
    ),
    "result-not-cast": Explained(
        "an in-place operator, or one with out=, does not convert its result from floating point to integers, from"
        " complex to real, or from numbers to bool; copy_ does",
        "convert the tensor that is written to first, or use the operator that makes a new result",
    ),
    "index-out-of-bounds": Explained(
        "a dimension of n elements has the indices 0 to n - 1; brackets also take -n to -1, which count from its end",
        "print min() and max() of the indices, and the shape; if tensors are the indices, the given number counts"
        " these tensors, a mask once for each of its dimensions",
    ),
    "inferred-size": Explained(
        "view and reshape keep the number of elements, and compute the size for -1 from the other sizes: the"
        " number of elements is not a multiple of their product",
        "use other sizes beside the -1, whose product divides the number of elements; x.flatten(1) keeps the batch"
        " and joins the rest",
    ),
    "size-of-view": Explained(
        "view and reshape keep the number of elements: the product of the requested sizes must equal it",
        "use -1 for one size, which is then computed; x.flatten(1) keeps the batch and joins the rest",
    ),
    "dimension-out-of-range": Explained(
        "a tensor of n dimensions has the dimensions 0 to n - 1, or -n to -1 from the right; operators that add a"
        " dimension (unsqueeze, stack) count the dimensions of the result",
        "print the shape of the tensor",
    ),
    "matrix-shapes": Explained(
        "mat1 must have as many columns as mat2 has rows. In an nn.Linear, mat1 is the input, and the rows of mat2"
        " are its in_features",
        "make in_features as large as the last dimension of the input, or flatten the input in another way",
    ),
    "transposed-channels": Explained(
        "the first size of the weight is the number of channels that a transposed convolution takes: its in_channels",
        "give the convolution as many in_channels as the input has, or an input with its channels in dimension 1"
        " (permute)",
    ),
    "channels": Explained(
        "the second size of the weight is the number of channels that one group takes: in_channels / groups of the"
        " convolution",
        "give the convolution as many in_channels as the input has, or an input with its channels in dimension 1"
        " (permute)",
    ),
    "indices-dtype": Explained(
        "an embedding looks up rows by number, so indices must be integers",
        "call .long() on the indices",
    ),
    "index-out-of-range": Explained(
        "an index is negative, or not smaller than the size of the dimension that it indexes (num_embeddings of an"
        " nn.Embedding)",
        "print min() and max() of the indices; an nn.Embedding needs num_embeddings of at least the largest index + 1",
    ),
    "target-out-of-bounds": Explained(
        "a target is a class number from 0 to C - 1, where C is the size of the input's class dimension. That is"
        " the dimension after the batch, or the first one if there is no batch",
        "use labels that begin at 0, or as many outputs of the last layer as there are classes",
    ),
    "target-dtype": Explained(
        "a target of class numbers must be int64 or uint8; a target of probabilities must have the shape of the input",
        "call .long() on the target",
    ),
    "long-expected": Explained(
        "a tensor must be int64 here: because it holds class numbers (a target), or because the"
        " tensor beside it is int64",
        "call .long() on that tensor, or convert the other one to its dtype; a target of probabilities has the"
        " shape of the input",
    ),
    "batch-sizes": Explained(
        "input and target must have the same first dimension, with one row for each sample",
        "look for an earlier view or flatten that moves samples into other dimensions: x.flatten(1) keeps the"
        " first dimension",
    ),
    "dtypes-differ": Explained(
        "the tensors have different dtypes, and this operator converts none; by default, numpy makes float64 and"
        " modules are float32",
        "call .float() on the data, or use one dtype for both: x.to(module.weight.dtype)",
    ),
    "scalar-types-differ": Explained(
        "a tensor has another dtype than this operator takes: the dtype of the tensor beside it, or the only dtype"
        " that it knows. By default, numpy makes float64 and modules are float32",
        "call .float() on the data, or use one dtype for both: x.to(module.weight.dtype)",
    ),
    "numpy-given": Explained(
        "the function takes tensors",
        "torch.from_numpy(x).float(), or torch.tensor(x)",
    ),
    "batch-norm-of-one": Explained(
        "in training, batch norm computes mean and variance of each channel over the batch. The variance of one"
        " value is 0, and the result would be the same for every value",
        "leave out a last batch of one sample (DataLoader(drop_last=True)), or call model.eval() if you do not train",
    ),
    "stacked-shapes": Explained(
        "stack takes tensors of one shape. In a DataLoader's default_collate they are the samples of one batch",
        "cut or pad the samples to one shape, or pass your own collate_fn (torch.nn.utils.rnn.pad_sequence)",
    ),
    "devices-differ": Explained(
        "an operator takes tensors of one device; a tensor of another device is allowed only if it is on the CPU"
        " and has no dimensions",
        "call model.to(device), and x = x.to(device) in each step: to() of a tensor returns another tensor",
    ),
    "device-assert": Explained(
        "a kernel on the GPU failed a check, for example of an index. The error may come later than the failure,"
        " in a call of another line",
        "set CUDA_LAUNCH_BLOCKING=1: each call then waits for its kernel, so the error names the right line; the"
        " same code on the CPU may say more",
    ),
    "cuda-memory": Explained(
        "torch could not get the requested memory: the GPU does not have enough free memory, or a limit that you"
        " set was reached (set_per_process_memory_fraction)",
        "use a smaller batch, torch.no_grad() where you do not train, and loss.item() where you add up losses,"
        " since a loss keeps its graph",
    ),
    "state-dict": Explained(
        "names or shapes of the tensors in the checkpoint differ from those in this module",
        "use the module as it was when it was saved; DataParallel puts the prefix `module.` before each name."
        " strict=False ignores names, but not shapes",
    ),
    "mean-of-integers": Explained(
        "a mean of integers or bools would not be an integer or a bool",
        "x.float().mean()",
    ),
    "grad-of-integers": Explained(
        "integer and bool tensors have no gradient",
        "dtype=torch.float32",
    ),
    "not-one-number": Explained(
        "only a tensor of one element can become a number",
        "use .tolist() for all numbers, or take one of them: .mean(), x[0]",
    ),
    "truth-of-many": Explained(
        "`if`, `and`, `not` and `==` of lists ask a tensor for one truth value",
        "use .any() or .all(), and & for `and`; for a loss, call nn.MSELoss()(x, y): the class itself takes options",
    ),
    "no-parameters": Explained(
        "the optimizer got no parameters. The list is empty, or the module has none or keeps them in a plain list or"
        " dict, or parameters() was read before, which works only once",
        "use nn.ModuleList, nn.ModuleDict or nn.ParameterList instead of list and dict",
    ),
    "recomputed-otherwise": Explained(
        "a checkpointed function runs again in backward. There the function saved tensors of another shape, dtype or"
        " device: it depends on something that has changed",
        'make the function do the same each time; checkpoint(…, determinism_check="none") only silences this check',
    ),
    "saved-another-number": Explained(
        "a checkpointed function runs again in backward. There the checkpoint got another number of saved tensors."
        " The function depends on something that has changed since, or other hooks on saved tensors took them (for"
        " example a context of context_fn)",
        "make the function do the same each time, with the same hooks around it",
    ),
    "static-graph": Explained(
        "DistributedDataParallel(static_graph=True) expects each step to use the same parameters, and some got no"
        " gradient in the last step",
        "set static_graph=False, or use the same parameters in the loss of each step",
    ),
    "unused-with-search": Explained(
        "some parameters got no gradient in the last step, although DistributedDataParallel looked for parameters"
        " that forward() does not use (find_unused_parameters=True)",
        "use every output of forward() in the loss",
    ),
    "unused-parameters": Explained(
        "some parameters got no gradient in the last step, and DistributedDataParallel waits for all of them",
        "set find_unused_parameters=True, or use every parameter in the loss",
    ),
    "killed": Explained(
        "a signal killed the process: it came while C or C++ was running, and no exception says why",
        "ptexplore trace --script FILE keeps the calls up to that point, and names the functions in which the"
        " signal came",
    ),
    "signal-to-itself": Explained(
        "it was in a call that sends signals: the process sent this signal to itself",
    ),
    "sigkill": Explained(
        "the system kills a process in this way when memory runs out, or a person did it; the last function that"
        " ran is not known",
    ),
    "pre-hook-without-dict": Explained(
        "the tensor should pass its hooks to autograd, but has no dict of hooks: C++ read a null pointer",
        "register the hook before an in-place write to the tensor, or to the tensor that it is a view of",
    ),
    "unused-beside": Explained(
        "{input} is a result of {node}, made beside the outputs: both come from one leaf, and the outputs do not"
        " come from it (each x[0] is a new tensor)",
        "compute the outputs from exactly this tensor, or ask for the gradient of the leaf and take this part of it."
        " allow_unused=True gives None for it instead of this error",
    ),
    "unused-detached": Explained(
        "{input} shares the memory of a leaf that the outputs come from, but is another tensor (.detach(), .data,"
        " a new nn.Parameter of it): the graph contains tensors, not memory",
        "ask for the gradient of the tensor that the outputs were computed from; allow_unused=True gives None for"
        " it instead of this error",
    ),
    "unused-elsewhere": Explained(
        "no path through the graph leads from the outputs to {input}: they come from {leaves}",
        "compute the outputs from it, with no detach() and no no_grad() in between; allow_unused=True gives None"
        " for it instead of this error",
    ),
    "freed-state": Explained(
        "a result of an earlier round went into this round, together with the graph of that round; the backward of"
        " that round had freed this graph",
        "detach {names} between the rounds (.detach()), after the backward. retain_graph=True is not a fix: each"
        " backward would go through all earlier rounds",
    ),
    "freed-once": Explained(
        "a result that was made once went into each round: an earlier backward freed the graph behind it",
        "make {names} again in each round, where the forward uses it; or detach it (.detach()), if no gradient"
        " should go through it. retain_graph=True in each backward except the last is right only if no weight is"
        " written to in between",
    ),
    "freed-uses": Explained(
        "two losses lead through one result, and each has its own backward: an earlier one freed the graph behind"
        " the result",
        "detach {names} (.detach()) for the loss that should not train the part that made it. If both losses"
        " should train it, pass retain_graph=True to each backward except the last, or call backward once on the"
        " sum. No weight may be written to (opt.step()) before the last backward through it",
    ),
    "freed-losses": Explained(
        "a second loss of the same forward: the backward of the first loss had freed the part of the graph that"
        " both share",
        "call backward once on the sum of the losses, or pass retain_graph=True to each backward except the last;"
        " call opt.step() after the last",
    ),
    "freed-same": Explained(
        "backward ran again from the same tensor, and the forward had not run again",
        "run the forward again before each backward; or pass retain_graph=True to each backward except the last,"
        " if the gradients should add up",
    ),
    "freed-read": Explained(
        "saved tensors of a node were read after a backward had freed them; no backward came to that node again",
        "read them before that backward, or keep them with retain_graph=True",
    ),
    "getter-raised": Explained(
        "{owner} has {name}: its getter raised an AttributeError. Python drops that error and calls __getattr__,"
        " which raised this one",
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
