"""How true the definitions of `ptexplore lsp` are: places in C++ against libclang, other places against the text.

libclang parses whole units with the headers of the source and of the installed torch. It says which declaration a name
refers to. A place whose declaration is outside the source (in the standard library, in generated headers of another
version) is left out. The other places (YAML, formulas, macros, generated C++, Python) were read by hand: `BY_HAND` has
a line to ask at, and the line that must come.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ptexplore.index.semantic.arguments import arguments, headers
from ptexplore.surfaces.editor import EditorAnswers
from ptexplore.surfaces.editor_files import EditorFiles
from ptexplore.surfaces.editor_places import AskedPlace, Located

if TYPE_CHECKING:
    from lib.accuracy_report import Report

    from ptexplore.lookup.trees import IndexedTree

SEED, EACH = 424242, 15  # places in each unit
UNITS = (
    "c10/core/TensorImpl.cpp", "c10/core/Device.cpp", "c10/util/Exception.cpp", "aten/src/ATen/core/Tensor.cpp",
    "aten/src/ATen/core/dispatch/Dispatcher.cpp", "aten/src/ATen/core/dispatch/OperatorEntry.cpp",
    "aten/src/ATen/TensorIterator.cpp", "aten/src/ATen/native/Resize.cpp", "torch/csrc/autograd/engine.cpp",
    "torch/csrc/autograd/saved_variable.cpp", "torch/csrc/autograd/graph_task.h",
    "torch/csrc/autograd/input_buffer.cpp", "c10/core/StorageImpl.cpp", "c10/core/SymInt.cpp",
    "aten/src/ATen/Context.cpp", "aten/src/ATen/native/TensorShape.cpp", "aten/src/ATen/native/ReduceOps.cpp",
    "aten/src/ATen/core/ivalue.cpp",
    "torch/csrc/autograd/variable.cpp", "torch/csrc/autograd/python_engine.cpp",
    "torch/csrc/autograd/FunctionsManual.cpp", "aten/src/ATen/FunctionalTensorWrapper.cpp",
    "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp", "torch/csrc/jit/ir/ir.cpp",
)  # fmt: skip
NATIVE = "aten/src/ATen/native"
YAML, DERIVATIVES = f"{NATIVE}/native_functions.yaml", "tools/autograd/derivatives.yaml"
MANUAL = "torch/csrc/autograd/FunctionsManual.cpp"


class Steps(Protocol):
    """Says each step."""

    def step(self, name: str) -> None: ...


@dataclass(frozen=True)
class Question:
    """A place: in `path`, the first line that contains `line`, at the first `word` in it after `behind`.

    `answers` are the path and a part of each line that is right. None at all: nothing may be answered.
    """

    path: str
    line: str
    word: str
    answers: tuple[tuple[str, str], ...]
    asks: str = "definitions"
    behind: str = ""


def _q(
    path: str, line: str, word: str, *answers: tuple[str, str], asks: str = "definitions", behind: str = ""
) -> Question:
    return Question(path, line, word, answers, asks, behind)


# Read by hand: PyTorch 2.6.0, and the generated C++ of torch 2.13.0. A line is quoted as far as needed.
_BINARY, _LINEAR = f"{NATIVE}/BinaryOps.cpp", f"{NATIVE}/LinearAlgebra.cpp"
_KERNELS, _RESIZE = f"{NATIVE}/cpu/BinaryOpsKernel.cpp", f"{NATIVE}/Resize.cpp"
_SPARSE = "build/aten/src/ATen/RegisterSparseCPU_0.cpp"
_VARIABLE, _NODES = (f"torch/csrc/autograd/generated/{name}" for name in ("VariableType_2.cpp", "Functions.cpp"))
_FUNCTIONAL = "torch/nn/functional.py"
BY_HAND = (
    _q(YAML, "SparseCPU, SparseCUDA, SparseMeta: add_sparse", "add_sparse",
       (f"{NATIVE}/sparse/SparseTensorMath.cpp", "Tensor add_sparse(")),
    _q(YAML, "MkldnnCPU: mkldnn_add", "mkldnn_add", (f"{NATIVE}/mkldnn/BinaryOps.cpp", "Tensor mkldnn_add("),
       (f"{NATIVE}/mkldnn/BinaryOps.cpp", "Tensor mkldnn_add(")),
    _q(YAML, "ZeroTensor: add_zerotensor", "add_zerotensor", (_BINARY, "Tensor add_zerotensor(")),
    _q(YAML, "structured_delegate: add.out", "add.out", (YAML, "- func: add.out(")),
    _q(YAML, "- func: mm.out(", "mm.out", (YAML, "- func: mm.out(")),
    _q(YAML, "CPU: mm_out_cpu", "mm_out_cpu", (_LINEAR, "TORCH_IMPL_FUNC(mm_out_cpu)")),
    _q(YAML, "structured_inherits: TensorIteratorBase", "TensorIteratorBase",
       ("aten/src/ATen/TensorIterator.h", "struct TORCH_API TensorIteratorBase : ")),
    _q(YAML, "    CPU: resize_", "resize_", (_RESIZE, "const Tensor& resize_(")),
    _q(YAML, "CompositeExplicitAutograd: detach", "detach", (f"{NATIVE}/TensorShape.cpp", "Tensor detach(")),
    _q(YAML, "CompositeImplicitAutograd: conv2d_symint", "conv2d_symint",
       (f"{NATIVE}/Convolution.cpp", "at::Tensor conv2d_symint(")),
    _q(YAML, "Generic: add (AllAndComplex", "add", (f"{NATIVE}/ufunc/add.h", "T add(T self"),
       (f"{NATIVE}/ufunc/add.h", "Vectorized<T> add(Vectorized<T> self")),
    _q(YAML, "device_check: NoCheck   # TensorIterator", "TensorIterator"),
    _q(YAML, "tags: [core, pointwise]", "pointwise"),
    _q(DERIVATIVES, "- name: add.Tensor(", "add.Tensor", (YAML, "- func: add.Tensor(")),
    _q(DERIVATIVES, "- name: mm(", "mm", (YAML, "- func: mm(")),
    _q(DERIVATIVES, "self: handle_r_to_c(self.scalar_type(), grad)", "handle_r_to_c",
       (MANUAL, "Tensor handle_r_to_c(ScalarType")),
    _q(DERIVATIVES, "maybe_multiply(grad, alpha.conj())", "maybe_multiply", (MANUAL, "Tensor maybe_multiply(")),
    _q(DERIVATIVES, "maybe_multiply(grad, alpha.conj())", "conj"),
    _q(DERIVATIVES, "self: gelu_backward(grad, self, approximate)", "gelu_backward", (YAML, "- func: gelu_backward(")),
    _q(DERIVATIVES, "self: grad.bmm(", "bmm", (YAML, "- func: bmm(")),
    _q(DERIVATIVES, "self: grad.neg()", "neg", (YAML, "- func: neg(")),
    _q(DERIVATIVES, "at::scalar_tensor(0., grad.options())", "scalar_tensor", (YAML, "- func: scalar_tensor(")),
    _q(DERIVATIVES, "mat1: mm_mat1_backward(", "mm_mat1_backward", (MANUAL, "Tensor mm_mat1_backward(")),
    _q(_BINARY, "TORCH_IMPL_FUNC(sub_out)", "sub_out", (_BINARY, "TORCH_IMPL_FUNC(sub_out)")),
    _q(_BINARY, "mul_stub(device_type(), *this)", "mul_stub", (_BINARY, "DEFINE_DISPATCH(mul_stub)")),
    _q(_BINARY, "DEFINE_DISPATCH(mul_stub)", "mul_stub", (_KERNELS, "void mul_kernel(TensorIteratorBase"),
       (f"{NATIVE}/cuda/BinaryMulKernel.cu", "void mul_kernel_cuda("), asks="implementations"),
    _q(_KERNELS, "REGISTER_DISPATCH(mul_stub, &mul_kernel)", "mul_kernel",
       (_KERNELS, "void mul_kernel(TensorIteratorBase"), behind="&"),
    _q(f"{NATIVE}/Resize.h", "TORCH_API bool resize_output(", "resize_output", (_RESIZE, "bool resize_output(")),
    _q(f"{NATIVE}/Activation.cpp", "TORCH_META_FUNC(gelu)", "gelu",
       (f"{NATIVE}/Activation.cpp", "TORCH_META_FUNC(gelu)")),
    _q(_SPARSE, "return at::native::add_sparse(self, other, alpha);", "add_sparse",
       (f"{NATIVE}/sparse/SparseTensorMath.cpp", "Tensor add_sparse(")),
    _q(_VARIABLE, "c10::make_intrusive<AddBackward0>()", "make_intrusive",
       ("c10/util/intrusive_ptr.h", "inline intrusive_ptr<TTarget, NullType> make_intrusive(")),
    _q(_NODES, "handle_r_to_c(other_scalar_type, maybe_multiply(grad, alpha.conj()))", "maybe_multiply",
       (MANUAL, "Tensor maybe_multiply(")),
    _q(_FUNCTIONAL, "result = torch.relu(input)", "relu", (YAML, "- func: relu("), behind="torch."),
    _q(_FUNCTIONAL, "torch.relu_,", "relu_", (YAML, "- func: relu_("), behind="torch."),
    _q(_FUNCTIONAL, "torch.conv1d,", "conv1d", (YAML, "- func: conv1d("), (YAML, "- func: conv1d.padding("),
       behind="torch."),
    _q("torch/nn/modules/linear.py", "return F.linear(input, self.weight, self.bias)", "linear",
       (YAML, "- func: linear("), (YAML, "- func: linear.out("), behind="F."),
    _q("torch/nn/modules/activation.py", "return F.relu(input, inplace=self.inplace)", "relu",
       (_FUNCTIONAL, "def relu("), behind="F."),
    _q("torch/optim/sgd.py", "class SGD(Optimizer)", "Optimizer", ("torch/optim/optimizer.py", "class Optimizer")),
    _q("c10/core/TensorImpl.h", "#include <c10/core/Storage.h>", "Storage", ("c10/core/Storage.h", "#pragma once")),
)  # fmt: skip


class Editor:
    """The server's answers, without a protocol."""

    def __init__(self, python: str | None) -> None:
        self.files = EditorFiles(python, lambda _file: None, lambda text: print(text, file=sys.stderr))
        self._answers = EditorAnswers(self.files, lambda _text: None)
        self._answers.prepare()

    def ask(self, question: str, file: str, line: int, character: int) -> list[Located]:
        """Returns the places that answer a question; lines and columns count from 0."""
        asked = AskedPlace(os.path.realpath(file), line, character)
        places: list[Located] = getattr(self._answers, question)(asked)
        return places

    def tree_of(self, file: str) -> IndexedTree | None:
        """Returns the tree that a file is in."""
        opened = self.files.file(file)
        return opened.indexed if opened is not None else None

    def file(self, path: str, near: IndexedTree | None = None) -> str:
        """Returns the file of a canonical path, in the tree `near` if it has the path."""
        trees = [near, *self.files.trees] if near is not None else self.files.trees
        found = next((file for tree in trees if (file := tree.tree.file_of(path))), None)
        if found is None:
            raise SystemExit(f"no tree has {path}")
        return os.path.realpath(found)


def _line(file: str, part: str) -> int:
    lines = _lines(file, part)
    if not lines:
        raise SystemExit(f"{file} has no line with: {part}")
    return lines[0]


def by_hand(editor: Editor) -> list[tuple[str, str]]:
    """Returns the outcome of each question that was answered by hand, with what came instead if it is wrong."""
    outcomes = []
    for question in BY_HAND:
        file = editor.file(question.path)
        line = _line(file, question.line)
        text = Path(file).read_text(encoding="utf-8", errors="replace").split("\n")[line]
        column = text.index(question.word, text.index(question.behind) if question.behind else 0)
        places = {(place.file, place.line) for place in editor.ask(question.asks, file, line, column + 1)}
        right = set()
        near = editor.tree_of(file)
        for path, part in question.answers:
            target = editor.file(path, near)
            right |= {(target, number) for number in _lines(target, part)}
        is_right = places <= right and bool(places) == bool(right)
        outcomes.append(
            ("right" if is_right else "wrong", f"{question.path}:{line + 1} {question.word}: {sorted(places)}")
        )
    return outcomes


def _lines(file: str, part: str) -> list[int]:
    lines = Path(file).read_text(encoding="utf-8", errors="replace").split("\n")
    return [number for number, line in enumerate(lines) if part in line]


# --- against libclang ---


@dataclass(frozen=True)
class Truth:
    """A name in a unit, and what libclang says that it refers to: the declaration, and the definition if it saw one."""

    file: str
    line: int
    column: int
    name: str
    places: frozenset[tuple[str, int]]
    local: bool


def truths(editor: Editor, root: str) -> list[Truth]:
    """Returns random names of each unit that refer to something in the source."""
    from clang import cindex

    runtime = editor.files.workspace.runtime
    generated = editor.files.tree("runtime")
    folder = (
        next(layer.roots[0] for layer in generated.tree.layers if layer.layer == "generated") if generated else None
    )
    where = headers(root, folder, runtime.torch_dir, runtime.python)
    index = cindex.Index.create()
    chosen: list[Truth] = []
    for path in UNITS:
        unit = index.parse(f"{root}/{path}", args=arguments(where, path))
        names = list(_names(unit, f"{root}/{path}", root))
        chosen += random.Random(SEED).sample(names, min(EACH, len(names)))
    return chosen


def _names(unit: object, file: str, root: str):  # type: ignore[no-untyped-def]
    from clang import cindex

    for token in unit.get_tokens(extent=unit.cursor.extent):  # type: ignore[attr-defined]
        if token.kind != cindex.TokenKind.IDENTIFIER:
            continue
        at = token.location
        cursor = cindex.Cursor.from_location(unit, at)
        target = cursor.referenced if cursor is not None else None
        if (
            target is None
            or target.kind.name in _NO_DEFINITION
            or target.spelling.split("<")[0].lstrip("~") != token.spelling
        ):
            continue
        seen = [target, target.get_definition(), target.canonical]
        if target.kind.name == "CONSTRUCTOR":  # its class is right as well
            seen.append(target.semantic_parent)
        places = frozenset(
            (os.path.realpath(each.location.file.name), each.location.line - 1)
            for each in seen
            if each is not None and each.location.file is not None
        )
        if not places or not all(place.startswith(f"{root}/") for place, _line in places):
            continue
        parent = target.semantic_parent
        local = parent is not None and parent.kind.is_declaration() and parent.kind.name in _FUNCTIONS
        yield Truth(file, at.line - 1, at.column - 1, token.spelling, places, local)


# A thousand places open a namespace; an overloaded name in a template, or in code that does not compile here, has none.
_NO_DEFINITION = ("NAMESPACE", "NAMESPACE_ALIAS", "OVERLOADED_DECL_REF")
_FUNCTIONS = ("FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "FUNCTION_TEMPLATE", "LAMBDA_EXPR")


def judged(editor: Editor, truth: Truth) -> str:
    """Returns how an answer stands to libclang's: right, choice (the right place is among several), wrong, none."""
    defined = {(place.file, place.line) for place in editor.ask("definitions", truth.file, truth.line, truth.column)}
    if not defined:
        return "none"
    declared = {(place.file, place.line) for place in editor.ask("declarations", truth.file, truth.line, truth.column)}
    if not truth.places & (defined | declared):
        return "wrong"
    return "right" if len(defined) == 1 else "choice"


def editor_report(python: str | None, steps: Steps) -> Report:
    """Returns the figures."""
    from lib.accuracy_report import Figure, Report, machine

    from ptexplore import __version__

    editor = Editor(python)
    checkout = next((tree.checkout for tree in editor.files.trees if tree.checkout is not None), None)
    if checkout is None:
        raise SystemExit("there is no source: ptexplore fetch")
    root = os.path.realpath(checkout.root)
    steps.step("libclang: parsing units")
    places = truths(editor, root)
    report = Report([("machine", machine()), ("ptexplore", __version__), ("source", checkout.name)])
    for local, what in ((False, "names in C++"), (True, "local names in C++")):
        outcomes = [(judged(editor, truth), truth) for truth in places if truth.local is local]
        counts = Counter(outcome for outcome, _truth in outcomes)
        answered = len(outcomes) - counts["none"]
        least = 95.0
        report.figures.append(
            Figure(
                f"{what}: right, or among a few", answered - counts["wrong"], answered, least, "places with an answer"
            )
        )
        report.details.append(
            (
                f"{what}: {len(outcomes)} places",
                [f"{name}: {counts[name]}" for name in ("right", "choice", "wrong", "none")],
            )
        )
        wrong = [f"{t.file.removeprefix(root)[1:]}:{t.line + 1} {t.name}" for o, t in outcomes if o == "wrong"]
        if wrong:
            report.details.append((f"{what}: wrong", wrong))
    steps.step("places that were read by hand")
    outcomes_by_hand = by_hand(editor)
    right = sum(outcome == "right" for outcome, _text in outcomes_by_hand)
    means = "places in YAML, formulas, macros, generated C++ and Python, read by hand"
    report.figures.append(Figure("other places", right, len(outcomes_by_hand), 100.0, means))
    if right < len(outcomes_by_hand):
        report.details.append(
            ("other places: wrong", [text for outcome, text in outcomes_by_hand if outcome != "right"])
        )
    return report
