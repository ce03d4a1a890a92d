"""The catalogue message of a real torch: every operator with its texts, keys with bits, names, Python kernels."""

from __future__ import annotations

import hashlib
import os
import re

import pytest

from ptexplore.capture.runtime import dump
from ptexplore.model.dispatcher import DispatcherDump
from ptexplore.model.places import Runtime
from ptexplore.source.runtime.describe import find_runtime

pytest.importorskip("torch")


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    return find_runtime(os.environ.get("PTEXPLORE_TEST_PYTHON") or None)


@pytest.fixture(scope="session")
def message(runtime: Runtime) -> DispatcherDump:
    return dump(runtime)


def test_it_is_the_torch_that_was_asked_for(message: DispatcherDump, runtime: Runtime) -> None:
    assert message.torch.git_version == runtime.git_version
    assert os.path.realpath(message.torch.torch_dir) == os.path.realpath(runtime.torch_dir)


def test_operators_come_with_whole_texts(message: DispatcherDump) -> None:
    operators = {o.name: o for o in message.operators}
    assert len(operators) > 3000
    add = operators["aten::add.Tensor"]
    assert add.dump.startswith("name: aten::add.Tensor\nschema: aten::add.Tensor(")
    assert re.search(r"^CPU: registered at .*RegisterCPU", add.dump, re.MULTILINE)
    assert re.search(r"^CPU: registered at .*\[kernel\]", add.table, re.MULTILINE)
    assert "Tensor self" in add.schema
    assert "pointwise" in add.tags
    folder = message.torch.torch_dir
    text = f"{add.dump}\n{add.table}".replace(folder, "")
    assert add.digest == hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def test_keys_have_their_bits(message: DispatcherDump) -> None:
    keys = {k.name: k for k in message.keys}
    backends = (1 << message.num_backends) - 1
    assert keys["CPU"].raw & backends == 1
    assert keys["AutogradCPU"].raw & backends == 1
    assert keys["CPU"].raw & ~backends < keys["AutogradCPU"].raw & ~backends
    assert keys["AutogradCPU"].after & keys["CPU"].raw & ~backends
    assert not keys["CPU"].after & keys["AutogradCPU"].raw & ~backends


@pytest.mark.parametrize(
    ("name", "kind", "table", "method"),
    [
        ("torch.add", "builtin", "torch", "add"),
        ("torch.Tensor.add_", "builtin", "Tensor", "add_"),
        ("torch.nn.functional.conv2d", "builtin", "torch", "conv2d"),
        ("torch.nn.functional.linear", "builtin", "nn", "linear"),
        ("torch.linalg.det", "builtin", "linalg", "linalg_det"),
        ("torch.fft.fft", "builtin", "fft", "fft_fft"),
        ("torch.special.erf", "builtin", "special", "special_erf"),
        ("torch.Tensor.__getitem__", "slot", "Tensor", "__getitem__"),
        ("torch.Tensor.T", "attribute", "Tensor", "T"),
        ("torch.nn.functional.layer_norm", "python", None, None),
        ("torch.einsum", "python", None, None),
        ("torch.Tensor.backward", "python", None, None),
    ],
)
def test_names(message: DispatcherDump, name: str, kind: str, table: str | None, method: str | None) -> None:
    found = next(n for n in message.python_names if n.name == name)
    assert (found.kind, found.table, found.method) == (kind, table, method)
    if kind == "python":
        assert def_line(found.file, found.line, name)


def def_line(file: str, line: int, name: str) -> bool:
    with open(file, encoding="utf-8") as text:
        wanted = rf"\s*def {re.escape(name.rpartition('.')[2])}\b"
        return re.match(wanted, text.read().splitlines()[line - 1]) is not None


def test_python_kernels_have_a_place(message: DispatcherDump) -> None:
    kernels = message.python_kernels
    assert {k.role for k in kernels} == {"decomposition", "meta", "kernel", "custom"}
    assert sum(k.file is not None for k in kernels) > 0.95 * len(kernels)
    decomposed = [k for k in kernels if k.op == "aten::silu" and k.role == "decomposition"]
    assert decomposed[0].function == "torch._decomp.decompositions.silu"
    assert def_line(decomposed[0].file, decomposed[0].line, "silu")


def test_most_python_records_have_a_callable(message: DispatcherDump) -> None:
    known = {(k.op, k.key) for k in message.python_kernels}
    records = [
        (o.name, found[1])
        for o in message.operators
        for found in re.finditer(
            r"^(\w+)(?: \(inactive\))?: registered at (?:.*\.py|/dev/null):\d+", o.dump, re.MULTILINE
        )
        if found[1] != "debug"
    ]
    assert len(records) > 1000
    assert sum(record in known for record in records) > 0.85 * len(records)
