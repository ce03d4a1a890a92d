"""The operators of one namespace as a list: the most common first, then by letter, internal ones last."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ptexplore.model.operators import Operator
from ptexplore.source.python_docs import DocLine

# The operators that most programs use, behind everyday calls and layers. Chosen by hand, not counted.
_OFTEN = """add sub mul div matmul mm bmm addmm linear convolution relu gelu sigmoid softmax log_softmax sum mean max
    argmax exp log sqrt pow where cat stack view reshape transpose permute expand squeeze unsqueeze select slice index
    index_select gather copy_ clone to contiguous empty zeros ones arange randn embedding layer_norm native_batch_norm
    dropout max_pool2d scaled_dot_product_attention nll_loss sort topk item detach"""
POPULAR = tuple(_OFTEN.split())
GROUPS = {
    "linalg": "linear algebra", "fft": "Fourier transforms", "special": "special functions", "inplace": "in place",
    "backward": "backward", "foreach": "over lists of tensors", "internal": "internal",
}  # fmt: skip
_TENSOR = re.compile(r"\bTensor\b(?:\([a-z!]+\))?\s+\w+")


class OperatorFamily(NamedTuple):
    """The overloads of one name, each with the URL of its card; the name's groups and line of documentation."""

    base: str
    overloads: list[tuple[str, str]]
    groups: tuple[str, ...]
    doc: DocLine | None


class OperatorSection(NamedTuple):
    """The operators under one heading. `anchor` is the target of the letters at the top."""

    title: str
    anchor: str
    families: list[OperatorFamily]


def families(names: Iterable[tuple[str, str]], docs: Mapping[str, DocLine]) -> list[OperatorFamily]:
    """Groups overloads by their name. `names` are pairs: a name without namespace, and a URL."""
    overloads: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for rest, url in names:
        overloads[rest.partition(".")[0]].append((rest, url))
    return [
        OperatorFamily(base, sorted(of_base), groups_of(base), docs.get(base))
        for base, of_base in sorted(overloads.items())
    ]


def groups_of(base: str) -> tuple[str, ...]:
    """Returns the groups of GROUPS that a name belongs to."""
    plain = base.lstrip("_")
    groups = [prefix for prefix in ("linalg", "fft", "special") if plain.startswith(f"{prefix}_")]
    groups += ["inplace"] if base.endswith("_") and not base.endswith("__") else []
    groups += ["backward"] if "backward" in base else []
    groups += ["foreach"] if plain.startswith(("foreach_", "amp_foreach_", "fused_")) else []
    groups += ["internal"] if base.startswith("_") else []
    return tuple(groups)


def sections(listed: list[OperatorFamily]) -> tuple[list[OperatorFamily], list[OperatorSection]]:
    """Returns the most common operators, and all operators by letter. Names with an underscore in front come last."""
    by_base = {family.base: family for family in listed}
    popular = [by_base[base] for base in POPULAR if base in by_base] if len(listed) > len(POPULAR) else []
    by_letter: defaultdict[str, list[OperatorFamily]] = defaultdict(list)
    for family in listed:
        by_letter[family.base[:1].upper() if family.base[:1].isalpha() else "_"].append(family)
    titles = {letter: letter for letter in by_letter} | {"_": "Internal: names that begin with an underscore"}
    order = sorted(by_letter, key=lambda letter: (letter == "_", letter))
    return popular, [OperatorSection(titles[letter], f"letter-{letter}", by_letter[letter]) for letter in order]


def trace_to_type(operator: Operator, names: Iterable[str]) -> str:
    """Returns a command that traces a call of an operator by a Python name; "" if the call needs more than tensors."""
    public = [name for name in names if not name.startswith("torch._C") and "__" not in name]
    called = next(iter(sorted(public, key=lambda name: name.startswith("torch.Tensor."))), "")
    schema = operator.schema
    arguments = schema[schema.find("(") + 1 : schema.rfind(")")].partition("*")[0] if "(" in schema else ""
    needed = [part.strip() for part in arguments.split(",") if part.strip() and "=" not in part]
    if not called or not 1 <= len(needed) <= 3 or not all(_TENSOR.fullmatch(part) for part in needed):
        return ""
    letters = "abc"[: len(needed)]
    if called.startswith("torch.Tensor."):
        expression = f"{letters[0]}.{called.removeprefix('torch.Tensor.')}({', '.join(letters[1:])})"
    else:
        expression = f"{called}({', '.join(letters)})"
    return shlex.join(["ptexplore", "trace", expression])
