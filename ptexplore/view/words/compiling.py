"""The words of the page about torch.compile: outcomes of functions, failed guards, guards by kind, phases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ptexplore.model.compiled import CheckedProperty, FailedCheck, FunctionOutcome, MetFunction

# In the counts of the first line.
COUNTED: Mapping[FunctionOutcome, str] = {
    "whole": "compiled whole",
    "broken": "broken by graph breaks",
    "skipped": "left to Python",
    "failed": "failed to compile",
    "empty": "without an operator to compile",
    "unknown": "not finished",
}
_DIFFERENT: Mapping[CheckedProperty, str] = {
    "size": "size of {subject} in dimension {index} was {old}, now {new}",
    "stride": "stride of {subject} in dimension {index} was {old}, now {new}",
    "rank": "{subject} had {old} dimensions, now {new}",
    "dtype": "dtype of {subject} was {old}, now {new}",
    "requires_grad": "requires_grad of {subject} was {old}, now {new}",
    "device": "device index of {subject} was {old}, now {new}",
    "keys": "dispatch keys of {subject} were {old}, now {new}",
    "value": "{subject} was {old}, now {new}",
    "class": "class of {subject} was {old}, now {new}",
    "object": "{subject} is another object, now {new}",
    "falsy": "{subject} was false, empty, zero or None, now it is not",
    "length": "{subject} was {old}, now {new}",
    "state": "global state changed: {subject}",
    "other": "this guard did not hold: {text}",
}
# Without the new value, or without both: torch does not say it, and it could not be read.
_UNKNOWN_NOW: Mapping[CheckedProperty, str] = {
    "value": "{subject} was {old}, now it is not (its value is unknown)",
    "class": "class of {subject} was {old}, now another one",
    "object": "{subject} is another object than before",
    "length": "{subject} was {old}, now it is not",
}
# What a guard checks, by torch's name of its kind.
KINDS: Mapping[str, str] = {
    "TENSOR_MATCH": "tensor",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "dynamic mark",
    "NO_HASATTR": "missing attribute",
    "TYPE_MATCH": "class",
    "ID_MATCH": "object",
    "EQUALS_MATCH": "value",
    "LAMBDA_GUARD": "condition",
    "DICT_VERSION": "dictionary",
    "DICT_CONTAINS": "key of a dictionary",
    "LENGTH_CHECK": "length",
    "DICT_LENGTH": "length of a dictionary",
    "TUPLE_ITERATOR_LEN": "length of an iterator",
    "GLOBAL_STATE": "global state",
    "DEFAULT_DEVICE": "default device",
    "TORCH_FUNCTION_MODE_STACK": "active modes",
    "NO_TENSOR_ALIASING": "different tensors",
    "OBJECT_ALIASING": "same object twice",
    "STORAGE_OVERLAPPING": "shared memory",
    "WEAKREF_ALIVE": "object that lives",
    "DATA_PTR_MATCH": "address of data",
    "NOT_NONE": "not None",
    "NONE_MATCH": "None",
    "TRUE_MATCH": "True",
    "FALSE_MATCH": "False",
    "FLOAT_IS_NAN": "nan",
    "COMPLEX_IS_NAN": "complex nan",
    "RANGE_ITERATOR_MATCH": "iterator of a range",
    "SET_CONTAINS": "element of a set",
    "DISPATCH_KEY_SET_MATCH": "key set",
    "DUAL_LEVEL_MATCH": "level of forward-mode AD",
    "DYNAMIC_INDICES": "dimensions that are marked dynamic",
    "MAPPING_KEYS_MATCH": "keys of a mapping",
    "SYMBOLIC_SHAPE_GUARD": "condition on sizes",
    "FAKE_SCRIPT_TYPE_MATCH": "class of a TorchScript object",
}


# What the longest phases of the compiler do, by torch's name.
PHASES: Mapping[str, str] = {
    "entire_frame_compile": "Dynamo, around one function",
    "bytecode_tracing": "Dynamo reads your Python",
    "build_guards": "Dynamo makes the guards",
    "gc": "Python looks for garbage, after a compilation",
    "backend_compile": "around the backend",
    "create_aot_dispatcher_function": "AOTAutograd traces the graph",
    "aot_collect_metadata": "AOTAutograd looks for views, and for inputs that change",
    "aot_trace_joint_graph": "AOTAutograd traces forward and backward together",
    "min_cut_rematerialization_partition": "parts forward and backward, and chooses the kept values",
    "inductor_import": "imports Inductor",
    "inductor_codecache_torch_key": "hashes torch's own files, for the key of the cache",
    "compile_fx_inner": "Inductor, around one graph",
    "fx_codegen_and_compile": "Inductor, around one graph",
    "_recursive_pre_grad_passes": "Inductor rewrites the graph that Dynamo made",
    "_recursive_joint_graph_passes": "Inductor rewrites forward and backward together",
    "_recursive_post_grad_passes": "Inductor rewrites forward, or backward",
    "additional_fake_tensor_prop": "Inductor runs the graph again with fake tensors",
    "GraphLowering.run": "Inductor lowers the operators",
    "Scheduler.__init__": "Inductor plans which operators a kernel has",
    "Scheduler.fused_nodes": "Inductor plans which operators a kernel has",
    "Scheduler.codegen": "Inductor writes the code of the kernels",
    "GraphLowering.codegen": "Inductor writes the code around the kernels",
    "PythonWrapperCodegen.generate": "Inductor writes the code around the kernels",
    "PyCodeCache.load_by_key_path": "imports the generated module",
    "compile_file": "the C++ compiler",
    "async_compile.precompile": "compiles kernels for the GPU",
    "async_compile.wait": "waits for kernels that other processes compile",
    "CachingAutotuner.benchmark_all_configs": "measures the configurations of a kernel",
}
_ATTEMPT = re.compile(r"compile_attempt_(?P<number>\d+)")


def phase_words(name: str) -> str:
    """Returns the meaning of a phase of the compiler, by torch's name of it; empty if it is not known."""
    attempt = _ATTEMPT.fullmatch(name)
    return f"Dynamo's try {int(attempt['number']) + 1} of a function" if attempt else PHASES.get(name, "")


BACKWARD = "backward, by compiled autograd"
BACKWARD_AGAIN = (
    "torch's log does not say why backward was captured again; TORCH_LOGS=compiled_autograd_verbose prints it"
)
_GLOBAL = re.compile(r"""\bG\[['"](?P<name>\w+)['"]\]""")
_ON_STACK = re.compile(r"___stack(?P<number>\d+)")


def subject_words(subject: str) -> str:
    """Returns a guarded value in words: Dynamo's own names are explained."""
    subject = _GLOBAL.sub(lambda match: f"global {match['name']}", subject)
    return _ON_STACK.sub(lambda match: f"value {int(match['number']) + 1} kept across the break", subject)


def operator_rule(operator: str) -> str:
    """Returns the words for a break inside a function that an operator such as `checkpoint` calls."""
    return f"inside of {operator}: a graph has this whole call, or nothing of it"


def limit_words(function: MetFunction) -> str:
    """Returns the words for a function at the limit of recompilations."""
    then = ""
    if function.eager is not None:
        then = f"; Python ran {amount(function.eager, 'call')} from then on"
    return f"the limit of recompilations is reached: Dynamo does not compile it again{then}"


def counted_outcomes(functions: Iterable[MetFunction]) -> str:
    """Returns how many functions had each outcome: "2 compiled whole, 1 left to Python"."""
    counts: dict[FunctionOutcome, int] = dict.fromkeys(COUNTED, 0)
    for function in functions:
        counts[function.outcome] += 1
    return ", ".join(f"{count} {COUNTED[outcome]}" for outcome, count in counts.items() if count)


def outcome_words(function: MetFunction) -> str:
    """Returns what became of one function."""
    if function.outcome == "broken":
        return (
            f"broken, {amount(function.parts, 'part')} compiled"
            if function.parts
            else "broken, no part has an operator"
        )
    return {
        "whole": "compiled whole",
        "skipped": "left to Python",
        "failed": "failed to compile: raised an error",
        "empty": "nothing to compile",
        "unknown": "its compilation did not end",
    }[function.outcome]


def amount(count: int, noun: str) -> str:
    """Returns a number with its noun: "1 graph", "2 graphs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def check_words(check: FailedCheck) -> str:
    """Returns what differed, so that a guard failed."""
    subject = ", ".join(check.subject.split()) if check.checks == "state" else subject_words(check.subject)
    if check.checks == "bounds":
        return _bounds_words(check, subject)
    if check.new_class:
        was = f"was {check.old}, now it is an object" if check.old else "is another object"
        return f"{subject} {was}, of class {check.new_class}"
    template = _DIFFERENT[check.checks]
    if not check.new and "{new}" in template:
        template = _UNKNOWN_NOW.get(check.checks, _DIFFERENT["other"])
    return template.format(subject=subject, index=check.index, old=check.old, new=check.new, text=check.text)


def _bounds_words(check: FailedCheck, subject: str) -> str:
    what = f"size of {subject} in dimension {check.index}" if check.index is not None else subject
    if check.least and check.most:
        fits = f"{check.least} to {check.most}"
    else:
        fits = f"{check.least} or more" if check.least else f"{check.most} or less"
    now = f"now it is {check.new}" if check.new else "now it is not (its value is unknown)"
    return f"{what} was compiled for {fits}, {now}"


def break_title(kind: str, number: str) -> str:
    """Returns the kind of a graph break with the number that torch gives this kind."""
    return f"{kind}  (torch's number: {number})" if number else kind
