"""The half of `scripts/raising kernels` that runs in the Python that has torch: operators that a key lacks, called.

Every operator whose table has nothing for a backend's key is called with tensors of that key: once for each argument
with that one alone, then with all of them; an operator with a `device` is asked for one of each backend. What raises
for that key is traced. Its answer is JSON lines on stdout: a line on each operator, and the messages of each trace.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import signal
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MESSAGE = re.compile(
    r"Could not run '([\w:.]+)' with arguments from the '(\w+)' backend\..*?these backends: \[(.*?)\]", re.DOTALL
)
DEVICES = {"XLA": "xla", "MPS": "mps", "IPU": "ipu", "HPU": "hpu", "VE": "ve", "MTIA": "mtia", "Vulkan": "vulkan",
           "PrivateUse1": "privateuseone"}  # fmt: skip
SIMPLE = {"int": 1, "number": 1, "Scalar": 1, "SymInt": 1, "float": 1.0, "bool": False, "str": "mean", "complex": 1j}
LISTS = {"List[int]": 1, "List[SymInt]": 1, "List[bool]": True, "List[float]": 1.0, "List[number]": 1.0}
NESTED = "AutogradNestedTensor"  # a nested tensor's highest key, which has no kernel for operators that know none
DEVICE = "device"  # among the wanted keys: those of DEVICES
LIMIT = 300  # seconds that the calls and traces of one operator may take


def makers() -> dict[str, Callable[[], Any]]:
    """A tensor of each key that a tensor on the CPU can have."""
    import torch

    def ones(device: str = "cpu") -> Any:
        return torch.ones(2, 2, device=device)

    nested = torch.nested.nested_tensor
    made: dict[str, Callable[[], Any]] = {
        "CPU": ones,
        "Meta": lambda: ones("meta"),
        "SparseCPU": lambda: ones().to_sparse(),
        "SparseCsrCPU": lambda: ones().to_sparse_csr(),
        "SparseMeta": lambda: torch.sparse_coo_tensor(size=(2, 2), device="meta"),
        "SparseCsrMeta": lambda: ones().to_sparse_csr().to("meta"),
        "QuantizedCPU": lambda: torch.quantize_per_tensor(ones(), 0.1, 0, torch.quint8),
        "QuantizedMeta": lambda: torch.empty_quantized(
            (2, 2), torch.quantize_per_tensor(ones(), 0.1, 0, torch.quint8), device="meta"
        ),
        "MkldnnCPU": lambda: ones().to_mkldnn(),
        "NestedTensorCPU": lambda: nested([ones()]),
        "NestedTensorMeta": lambda: nested([ones()]).to("meta"),
    }
    usable = {}
    for key, make in made.items():
        try:
            if keys_of(make()).has(torch._C._parse_dispatch_key(key)):
                usable[key] = make
        except Exception as error:  # noqa: BLE001 -- this torch makes none
            print(json.dumps({"type": "no tensor", "key": key, "why": str(error)[:100]}), flush=True)
    return usable


def keys_of(tensor: Any) -> Any:
    """A tensor's dispatch keys."""
    import torch

    return torch._C._dispatch_keys(tensor)


@dataclass
class Trial:
    """One call of an operator for a key: the values of its arguments, by the schema's names."""

    key: str
    values: dict[str, Any]
    positional: int
    error: str = ""

    @property
    def names(self) -> dict[str, str]:
        """By argument, the name of its value in the expression."""
        return {name: f"v{number}" for number, name in enumerate(self.values)}

    @property
    def expression(self) -> str:
        """The call as it is traced."""
        named = enumerate(self.names.items())
        return f"call({', '.join(v if n < self.positional else f'{name}={v}' for n, (name, v) in named)})"

    def call(self, function: Callable[..., Any]) -> Any:
        """Call it."""
        given = list(self.values.items())
        return function(*(v for _, v in given[: self.positional]), **dict(given[self.positional :]))


def value(argument: Any, tensor: Callable[[], Any]) -> Any:
    """A value of an argument's type. Raises KeyError for a type that none is known of."""
    import torch

    kind = str(argument.type)
    if kind == "Tensor":
        return tensor()
    if kind.startswith("Optional["):
        inner = kind.removeprefix("Optional[").removesuffix("]")
        return tensor() if inner == "Tensor" else None
    if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        return [tensor(), tensor()]
    if kind in LISTS:
        return [LISTS[kind]] * (argument.N or 2)
    if kind == "List[List[Tensor]]":
        return [[tensor()], [tensor()]]
    if kind == "Device":
        return torch.device("cpu")
    return SIMPLE[kind]


def trials(call: Any, key: str, make: Callable[[], Any], plain: Callable[[], Any]) -> Iterator[Trial]:
    """The calls for one key: with one argument's tensors of it, each in turn, then with all of them."""
    needed = [a for a in call._schema.arguments if not a.has_default_value()]
    tensors = [a.name for a in needed if "Tensor" in str(a.type)]
    ways = [{name} for name in tensors] if key != "CPU" else []
    for chosen in [*ways, set(tensors)] if tensors else []:
        values = {a.name: value(a, make if a.name in chosen else plain) for a in needed}
        yield Trial(key, values, sum(not a.kwarg_only for a in needed))


def device_trials(call: Any, plain: Callable[[], Any]) -> Iterator[Trial]:
    """The calls that ask for a tensor on a device of each backend."""
    import torch

    arguments = call._schema.arguments
    if "device" not in [a.name for a in arguments]:
        return
    needed = [a for a in arguments if not a.has_default_value() and a.name != "device"]
    for key, device in DEVICES.items():
        values = {a.name: value(a, plain) for a in needed}
        yield Trial(key, {**values, "device": torch.device(device)}, sum(not a.kwarg_only for a in needed))


def error_of(trial: Trial, call: Callable[..., Any]) -> str:
    """What a call raises, in words; empty where it raises nothing."""
    try:
        trial.call(call)
    except Exception as error:  # noqa: BLE001 -- whatever an operator raises
        trial.error = f"{error}".partition("\nException raised from ")[0]
        return f"{type(error).__name__}: {trial.error}"
    return ""


def lacks(op: str, key: str) -> bool:
    """Whether the dispatcher's own table has nothing for this key."""
    import torch

    return not torch._C._dispatch_has_computed_kernel_for_dispatch_key(op, key)


def try_operator(op: str, made: dict[str, Callable[[], Any]], wanted: list[str], share: int, channel: Any) -> None:
    """Every wanted key that an operator lacks: what its calls raise, and the Trace of one that raises for that key."""
    import torch

    namespace, _, rest = op.partition("::")
    base, _, overload = rest.partition(".")
    lacking = [key for key in wanted if key in made and lacks(op, key)]
    try:
        call = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
    except AttributeError as error:
        channel.send({"type": "operator", "op": op, "keys": dict.fromkeys(lacking, f"not callable: {error}")})
        return
    keys: dict[str, str] = {}
    chosen: dict[str, Trial] = {}
    for key in lacking:
        try:
            tried = list(trials(call, key, made[key], made["CPU"]))
        except KeyError as error:
            keys[key] = f"no value of type {error}"
            continue
        keys[key] = "no tensor among its needed arguments" if not tried else ""
        for trial in tried:
            words = error_of(trial, call)
            read = MESSAGE.search(trial.error)
            if read is not None and read[2] in (key, NESTED):
                trial.key = read[2]
                chosen[key], keys[key] = trial, "no kernel"
                break
            keys[key] = words.partition("\n")[0][:160] or "runs"
    try:
        for trial in device_trials(call, made["CPU"]) if DEVICE in wanted else ():
            error_of(trial, call)
            read = MESSAGE.search(trial.error)
            if read is not None and read[2] == trial.key:
                chosen[trial.key], keys[trial.key] = trial, "no kernel"
    except (KeyError, RuntimeError):
        pass
    channel.send({"type": "operator", "op": op, "keys": keys})
    for trial in chosen.values():
        case(op, trial, channel)
        if zlib.crc32(f"{op} {trial.key}".encode()) % share == 0:
            trace(call, trial, channel)
        channel.send({"type": "done"})


def case(op: str, trial: Trial, channel: Any) -> None:
    """What torch itself tells of a call that raised: its message, and which arguments have the key."""
    import torch

    wanted = torch._C._parse_dispatch_key(trial.key)
    guilty = [name for name, given in trial.values.items() if brings(given, wanted)]
    channel.send({"type": "case", "op": op, "key": trial.key, "expression": trial.expression, "message": trial.error,
                  "arguments": list(trial.values), "guilty": guilty or ["device"]})  # fmt: skip


def trace(call: Any, trial: Trial, channel: Any) -> None:
    """The messages of a call's trace, and of the run that tells who threw."""
    from _ptexplore_probe import trace as tracing  # type: ignore[import-not-found]

    bound = {"call": call, **{trial.names[name]: given for name, given in trial.values.items()}}
    request = {"expression": trial.expression, "setup": [], "variables": [], "contexts": [], "grad": False,
               "backward": False, "script": None, "seed": 0, "once": True, "native": False, "timeout": 60,
               "first": False, "sample": lambda: (trial.expression, bound)}  # fmt: skip
    channel.send({"type": "trace"})
    tracing.run_passes(request, {}, channel)
    channel.send({"type": "again"})
    tracing.run_again_for_stack(request, channel)


def brings(given: Any, key: Any) -> bool:
    """Whether an argument's tensors have a dispatch key."""
    import torch

    if isinstance(given, list):
        return any(brings(item, key) for item in given)
    return isinstance(given, torch.Tensor) and bool(keys_of(given).has(key))


def main() -> None:
    """`probe` is the file of the probe, `only` a regular expression of operators; one call of `share` is traced."""
    from raising_worker import load_probe  # beside this file

    probe, only, share = sys.argv[1], sys.argv[2], int(sys.argv[3])
    load_probe(probe)
    import torch
    from _ptexplore_probe.isolate import Channel  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    channel, made = Channel(sys.stdout.fileno()), makers()
    names = sorted(set(torch._C._dispatch_get_all_op_names()))
    names = [op for op in names if re.search(only, op) and torch._C._dispatch_has_kernel(op)]
    at, keys = 0, [*made, DEVICE]
    while at < len(names):
        stopped = forked(names[at:], made, keys, share, channel)
        if stopped is None:
            return
        at += stopped  # a call killed the process: each key of this operator by itself
        for key in keys:
            if forked(names[at : at + 1], made, [key], share, channel) is not None:
                channel.send({"type": "operator", "op": names[at], "keys": {key: "the call kills its process"}})
        at += 1


def forked(
    names: list[str], made: dict[str, Callable[[], Any]], wanted: list[str], share: int, channel: Any
) -> int | None:
    """Try operators in a child: the number of the one at which it was killed; None where it came to the end."""
    reached = mmap.mmap(-1, 8)
    process = os.fork()
    if process == 0:
        for number, op in enumerate(names):
            reached[:8] = number.to_bytes(8, "little")
            signal.alarm(LIMIT)
            try:
                try_operator(op, made, wanted, share, channel)
            except BaseException as error:  # noqa: BLE001 -- the child ends here
                channel.send({"type": "operator", "op": op, "keys": dict.fromkeys(wanted, f"our own fault: {error!r}")})
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(process, 0)[1])
    return int.from_bytes(reached[:8], "little") if killed else None


if __name__ == "__main__":
    main()
