"""The questions of the public API: as functions, which open a workspace each, and as methods of a `Workspace`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ptexplore.api.options import LIMITS, check_names, names, request_of, signed
from ptexplore.api.recording import PublicRecording
from ptexplore.api.tensor import PublicTensors, named_objects
from ptexplore.api.trace import PublicTrace
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType, TracebackType

    from typing_extensions import Unpack

    from ptexplore.api.compiled import PublicCompiled
    from ptexplore.api.graph import PublicGraph
    from ptexplore.api.tensor import AskedOfTensors
    from ptexplore.lookup.callers import CallersView
    from ptexplore.lookup.find import FindView
    from ptexplore.lookup.refs import RefsView
    from ptexplore.model.ladder import CoreAnswer
    from ptexplore.model.options import AskedOfTrace
    from ptexplore.model.rungs import LowerReport
    from ptexplore.resolve.error_message import ErrorMessage
    from ptexplore.view.card import Card
    from ptexplore.view.search.show import ShowView


LOWERS = 'lower("torch.relu(a @ b)", rungs=["core", "prims"])'
COMPILES = 'compile("f(a)", setup=["f = torch.compile(torch.sin)"])'
DRAWS = 'tensor("x = torch.arange(12).view(3, 4); x.t()")'


class PublicWorkspace:  # `ptexplore.Workspace`; inside the package, `Workspace` is the class that this one wraps
    """One installed torch and the source in use, opened once for several questions. Use it in a `with`.

    `python` is the Python whose torch is examined (None: your own). `tree` limits answers to one source tree: the name
    of a checkout, or "runtime" for the installed torch. `notes` are folders of notes that replace or extend the shipped
    notes. `inner` is the workspace that does the work; it can also index, fetch, survey and check notes.

    >>> import ptexplore
    >>> with ptexplore.Workspace() as workspace:
    ...     card = workspace.op("add.Tensor")
    >>> card.operator.name
    'aten::add.Tensor'
    """

    def __init__(self, python: str | None = None, tree: str | None = None, *, notes: Sequence[str] = ()) -> None:
        self.inner = Workspace(python, tree, notes=notes)

    def __enter__(self) -> PublicWorkspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.inner.close()

    @signed
    def trace(
        self, expression: str | Callable[[], object] | None = None, **options: Unpack[AskedOfTrace]
    ) -> PublicTrace:
        """Does the same as `ptexplore.trace`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace() as workspace:
        ...     workspace.trace("torch.relu(a)", native=False).hops[0].name
        'torch::autograd::THPVariable_relu'
        """
        from ptexplore.view.words.actions import in_python
        from ptexplore.view.words.errors import in_words
        from ptexplore.workspace.typed import typed

        check_names(options)
        if callable(expression):
            _check_alone(options)
            return self.record().call(expression)
        _check_text("expression", expression)
        given = (expression, options.get("script"), options.get("module"))
        if len(given) - given.count(None) != 1:
            why = "a trace is of one thing"
            message = "give an expression, a script or a module"
            raise PtexploreError(message, why, 'trace("torch.add(a, b)")', USAGE)
        for name, value in (options.get("variables") or {}).items():
            _check_text(f"the variable {name}", value)
        request = request_of(expression, options)
        with in_words(in_python):
            return PublicTrace(*self.inner.trace(typed(request)))

    def tensor(
        self, text: str, *, reshape: Sequence[Sequence[int]] = (), **options: Unpack[AskedOfTensors]
    ) -> PublicTensors:
        """Does the same as `ptexplore.tensor` for a text, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace() as workspace:
        ...     workspace.tensor("torch.arange(3)[1:]").tensors[0].seen.offset
        1
        """
        from ptexplore.view.words.actions import in_python
        from ptexplore.view.words.errors import in_words
        from ptexplore.workspace.typed import typed

        _check_text("the text", text)
        request = request_of(text, cast("AskedOfTrace", options))
        with in_words(in_python):
            drawn = self.inner.tensors(typed(request), tuple(tuple(sizes) for sizes in reshape))
        return PublicTensors(drawn.layouts, " ".join(text.split()))

    def graph(
        self,
        value: object = None,
        *,
        script: str | os.PathLike[str] | None = None,
        variables: Mapping[str, str] | None = None,
        setup: Sequence[str] = (),
        contexts: Sequence[str] = (),
        timeout: float = 60.0,
        run: bool = False,
    ) -> PublicGraph:
        """Does the same as `ptexplore.graph`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace() as workspace:
        ...     workspace.graph("a.exp()").nodes[0].name
        'ExpBackward0'
        """
        return self._graph(value, sys._getframe(1), script, variables or {}, setup, contexts, timeout, run=run)

    def _graph(
        self,
        value: object,
        caller: FrameType,
        script: str | os.PathLike[str] | None,
        variables: Mapping[str, str],
        setup: Sequence[str],
        contexts: Sequence[str],
        timeout: float,
        *,
        run: bool,
    ) -> PublicGraph:
        """Returns the graph behind a text, or behind a value of `caller`, whose variables name the leaves."""
        from ptexplore.api.graph import PublicGraph
        from ptexplore.capture.probing import asked_for
        from ptexplore.view.words.actions import in_python
        from ptexplore.view.words.errors import in_words
        from ptexplore.workspace.typed import typed

        with in_words(in_python):
            if script is None and not isinstance(value, str):
                return PublicGraph(self.inner.graph_of(value, caller))
            for name, text in variables.items():
                _check_text(f"the variable {name}", text)
            options = {
                "script": os.fspath(script) if script is not None else None,
                "variables": tuple(variables.items()),
                "setup": tuple(setup),
                "contexts": tuple(contexts),
                "timeout": timeout,
                "grad": script is None,
                "backward": run,
                "native": False,
            }
            expression = _check_text("the value", value) or None
            return PublicGraph(self.inner.graph(typed(asked_for(expression, options))))

    def compile(
        self,
        expression: str | None = None,
        *,
        script: str | os.PathLike[str] | None = None,
        arguments: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        setup: Sequence[str] = (),
        contexts: Sequence[str] = (),
        grad: bool = False,
        backward: bool = False,
        timeout: float = 300.0,
        whole: bool = False,
    ) -> PublicCompiled:
        """Does the same as `ptexplore.compile`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace() as workspace:
        ...     run = workspace.compile("f(a)", setup=["f = torch.compile(lambda x: x.sin(), backend='eager')"])
        >>> run.functions[0].outcome
        'whole'
        """
        from ptexplore.api.compiled import PublicCompiled
        from ptexplore.capture.probing import asked_for
        from ptexplore.view.words.actions import in_python
        from ptexplore.view.words.errors import in_words
        from ptexplore.workspace.typed import typed

        text = _check_text("the expression", expression) or None
        if (text is None) == (script is None):
            raise PtexploreError("give an expression or a script", "a run is of one thing", COMPILES, USAGE)
        if whole and script is not None:
            why = "`whole` wraps an expression; a script calls torch.compile itself"
            raise PtexploreError("`whole` is for an expression", why, COMPILES, USAGE)
        for name, value in (variables or {}).items():
            _check_text(f"the variable {name}", value)
        options = {
            "script": os.fspath(script) if script is not None else None,
            "arguments": tuple(arguments),
            "variables": tuple((variables or {}).items()),
            "setup": tuple(setup),
            "contexts": tuple(contexts),
            "grad": grad,
            "backward": backward,
            "timeout": timeout,
            "native": False,
        }
        with in_words(in_python):
            return PublicCompiled(self.inner.compile(typed(replace(asked_for(text, options), wraps=whole))))

    def record(self, *, native_budget: int | str = 0) -> PublicRecording:
        """Does the same as `ptexplore.record`. The trace is resolved with this workspace.

        The workspace must still be open when you ask for `trace`.

        >>> import ptexplore, torch
        >>> with ptexplore.Workspace() as workspace:
        ...     with workspace.record() as recording:
        ...         y = torch.ones(2) + 1
        ...     recording.trace.hops[-1].op
        'aten::add.Tensor'
        """
        return PublicRecording(self.inner, native_budget)

    def lower(
        self,
        expression: str,
        *,
        variables: Mapping[str, str] | None = None,
        setup: Sequence[str] = (),
        contexts: Sequence[str] = (),
        grad: bool = False,
        timeout: float = 60.0,
        rungs: Sequence[str] = (),
        check: bool = False,
        dynamic: bool = False,
    ) -> LowerReport:
        """Does the same as `ptexplore.lower`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace() as workspace:
        ...     report = workspace.lower("torch.relu(a @ b)", rungs=["core"])
        >>> [operator.operator for operator in report.rungs[-1].operators]
        ['aten.mm.default', 'aten.relu.default']
        """
        from ptexplore.model.rungs import RUNGS, SLOW
        from ptexplore.view.words.actions import in_python
        from ptexplore.view.words.errors import in_words
        from ptexplore.workspace.typed import typed

        _check_text("the expression", expression)
        unknown = [name for name in rungs if name not in RUNGS]
        if unknown:
            message = f"there is no rung {unknown[0]!r}"
            raise PtexploreError(message, f"the rungs are {', '.join(RUNGS)}", LOWERS, USAGE)
        given: AskedOfTrace = {
            "variables": variables, "setup": setup, "contexts": contexts, "grad": grad, "timeout": timeout,
        }  # fmt: skip
        made = tuple(name for name in RUNGS if (name in rungs if rungs else name not in SLOW))
        request = replace(request_of(expression, given), rungs=made, checks=check, dynamic=dynamic, native=False)
        with in_words(in_python):
            return self.inner.lower(typed(request))

    def op(self, name: str, *, ladder: bool = False) -> Card:
        """Does the same as `ptexplore.op`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace() as workspace:
        ...     workspace.op("mm").operator.name
        'aten::mm'
        """
        from ptexplore.api.displayed import with_display

        return with_display(self.inner.operator(_check_text("the operator", name), ladder=ladder))

    def core_aten(self, names: Sequence[str]) -> tuple[CoreAnswer, ...]:
        """Returns for each operator whether it is Core ATen, and why. The names are written as in a graph.

        >>> import ptexplore
        >>> with ptexplore.Workspace() as workspace:
        ...     [answer.is_core for answer in workspace.core_aten(["aten.mm.default", "aten.linear.default"])]
        [True, False]
        """
        return self.inner.core_aten([_check_text("the operator", name) for name in names])

    def explain_error(self, text: str) -> ErrorMessage:
        """Does the same as `ptexplore.explain_error`, in this workspace.

        >>> import ptexplore
        >>> text = "Could not run 'aten::cumsum' with arguments from the 'SparseCPU' backend."
        >>> with ptexplore.Workspace() as workspace:
        ...     workspace.explain_error(text).missing.conversion
        'to_dense()'
        """
        return self.inner.explain_error(_check_text("text", text))

    def find(
        self, query: str, *, kind: str | None = None, limit: int = 20, text: bool = False, declarations: bool = False
    ) -> FindView:
        """Does the same as `ptexplore.find`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace(tree="runtime") as workspace:
        ...     workspace.find("TensorIterator", kind="class", limit=1).groups[0].sort
        'symbol'
        """
        _check_text("the query", query)
        return self.inner.find(query, kind=kind, limit=limit, text=text, declarations=declarations)

    def show(
        self, target: str, *, kind: str | None = None, everything: bool = False, every_key: bool = False
    ) -> ShowView:
        """Does the same as `ptexplore.show`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace(tree="runtime") as workspace:
        ...     workspace.show("torch.nn.modules.linear.Linear").pages[0].spot.ref.path
        'torch/nn/modules/linear.py'
        """
        _check_text("the target", target)
        from ptexplore.api.displayed import pages_with_display

        return pages_with_display(self.inner.show(target, kind=kind, everything=everything, every_key=every_key))

    def callers(self, symbol: str, *, depth: int = 3, limit: int | None = None) -> CallersView:
        """Does the same as `ptexplore.callers`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace(tree="runtime") as workspace:
        ...     workspace.callers("torch.nn.functional.relu", depth=1, limit=1).depth
        1
        """
        return self.inner.callers(_check_text("the symbol", symbol), depth=depth, limit=limit)

    def refs(self, symbol: str, *, kind: str | None = None, limit: int | None = None) -> RefsView:
        """Does the same as `ptexplore.refs`, in this workspace.

        >>> import ptexplore
        >>> with ptexplore.Workspace(tree="runtime") as workspace:
        ...     workspace.refs("TensorIteratorBase", limit=1).asked
        'TensorIteratorBase'
        """
        return self.inner.refs(_check_text("the symbol", symbol), kind=kind, limit=limit)


@signed
def trace(
    expression: str | Callable[[], object] | None = None, *, python: str | None = None, **options: Unpack[AskedOfTrace]
) -> PublicTrace:
    """Traces an expression, a script or a function of yours: returns the trace, with the place of each step.

    An expression or a script runs in a process of its own. A function without arguments runs once in your own process,
    as under `ptexplore.record`: it can use your variables, nothing is stepped, and the options below do not apply.

    Names of one letter, or of a letter and digits (`a`, `x1`), become seeded 3 x 3 tensors. `variables` binds other
    names, each to the text of an expression.
    `setup` holds statements that run first. `contexts` holds context managers that the expression runs in. `grad` makes
    bound tensors require grad, and `backward` runs backward too.

    `native` steps through the machine code. `native_op` steps only one operator call. `first` steps the very first call
    instead of a call after a warm-up. In a script, one call of each kind that is called more than once is
    stepped, with `native_budget` instructions for all of them together.

    An expression runs the same way each time, to the instruction; `vary` leaves addresses and Python's hashes random.
    `twice` runs a script once more without a recorder, and a finding says whether both runs did the same. `again` is
    for a script that fails because a saved tensor was modified: the script runs a second time, to find the code that
    wrote to the tensor.

    `timeout` is the limit in seconds for all runs together. `python` is another Python, whose torch is traced.

    If the code raises, or a signal ends its process, you still get a Trace, with an `ending`. Raises PtexploreError if
    the code cannot be run, or if nothing of it could be recorded.

    >>> import ptexplore
    >>> trace = ptexplore.trace("torch.add(a, b)", grad=True, native=False)
    >>> sorted({hop.key for hop in trace.find("add") if hop.key})
    ['AutogradCPU', 'CPU']
    >>> import torch
    >>> ptexplore.trace(lambda: torch.ones(2) + 1).hops[-1].op
    'aten::add.Tensor'
    """
    with PublicWorkspace(python) as workspace:
        return workspace.trace(expression, **options)


def lower(
    expression: str,
    *,
    variables: Mapping[str, str] | None = None,
    setup: Sequence[str] = (),
    contexts: Sequence[str] = (),
    grad: bool = False,
    timeout: float = 60.0,
    rungs: Sequence[str] = (),
    check: bool = False,
    dynamic: bool = False,
    python: str | None = None,
) -> LowerReport:
    """Makes the graph of an expression, or of one call of a module, on each rung, and compares it with eager mode.

    The expression runs in processes of its own. `variables`, `setup`, `contexts` and `grad` are as in
    `ptexplore.trace`. `timeout` is the limit in seconds for each rung. `rungs` names the rungs (none: all but
    inductor): "python", "fx", "jit-trace", "jit-script", "aten", "export", "functional", "core", "prims",
    "aot-forward", "aot-backward", "inductor". A rung that another one is made from is made, too.

    `check` also finds the first operator whose value differs from eager mode. `dynamic` lets torch.export decide which
    sizes are symbolic. `python` is another Python, whose torch is used.

    Raises PtexploreError if the expression cannot be run or raises. A rung that cannot be made says so in `failure`.

    >>> import ptexplore
    >>> report = ptexplore.lower("torch.relu(a @ b)", rungs=["prims"])
    >>> [(step.after, step.changed) for step in report.steps]
    [('functional', 0), ('core', 1), ('prims', 1)]
    """
    with PublicWorkspace(python) as workspace:
        return workspace.lower(
            expression, variables=variables, setup=setup, contexts=contexts, grad=grad, timeout=timeout, rungs=rungs,
            check=check, dynamic=dynamic,
        )  # fmt: skip


def tensor(
    *given: object,
    reshape: Sequence[Sequence[int]] = (),
    python: str | None = None,
    **options: Unpack[AskedOfTensors],
) -> PublicTensors:
    """Draws tensors in memory: which index is in which cell of which storage, what they share, what would be copied.

    `given` is one text, or tensors of your own process. A text (statements, separated by `;`) runs in a process of its
    own: the names that it assigns and its bare expressions are drawn. `variables`, `setup`, `contexts` and `timeout`
    are as in `ptexplore.trace`. `python` is another Python, whose torch runs the text.

    Tensors of your own get the names of your variables. A dict gives them other names. Lists and tuples of tensors are
    also possible. Nothing is changed, and no element is read.

    `reshape` has sizes: for each tensor, the answer says whether `view` with these sizes works, and what `reshape`
    copies.

    Raises PtexploreError if the text cannot be run or raises, or if there is no tensor.

    >>> import ptexplore, torch
    >>> tensors = ptexplore.tensor("x = torch.arange(12).view(3, 4); x.t()", reshape=[(12,)])
    >>> [answer.facts[0] for answer in tensors.answers if answer.method == "view(12)"][0]
    ViewPossible(strides=(1,))
    >>> x = torch.ones(2, 3)
    >>> [tensor.seen.name for tensor in ptexplore.tensor(x, x[0]).tensors]
    ['x', 'tensor_1']
    """
    from ptexplore.capture.tensor_layouts import see_own_tensors
    from ptexplore.resolve.tensor_layouts import conclude
    from ptexplore.view.words.actions import in_python
    from ptexplore.view.words.errors import in_words

    texts = [item for item in given if isinstance(item, str)]
    if len(given) == len(texts) == 1:
        with PublicWorkspace(python) as workspace:
            return workspace.tensor(texts[0], reshape=reshape, **options)
    if texts or not given:
        raise PtexploreError("give one text, or tensors of your own", "a text runs by itself", DRAWS, USAGE)
    if options or python is not None:
        why = "they are in this process already, so nothing is run"
        raise PtexploreError("tensors of your own are drawn without options of a run", why, DRAWS, USAGE)
    named = named_objects(given, sys._getframe(1))
    with in_words(in_python):
        seen = see_own_tensors(named)
    return PublicTensors(conclude(seen, tuple(tuple(sizes) for sizes in reshape)), ", ".join(named))


def graph(
    value: object = None,
    *,
    script: str | os.PathLike[str] | None = None,
    variables: Mapping[str, str] | None = None,
    setup: Sequence[str] = (),
    contexts: Sequence[str] = (),
    timeout: float = 60.0,
    run: bool = False,
    python: str | None = None,
) -> PublicGraph:
    """Returns the autograd graph behind a value: nodes, edges, leaves, and what each node keeps until backward.

    `value` is the text of an expression, which runs in a process of its own, or a tensor of yours (or a list, tuple or
    dictionary of tensors). Of a tensor of yours, your variables name the leaves, and nothing is run or changed; the
    options below apply to a text only. With `script`, the script runs up to its first backward, and the text is
    evaluated there; without a text, the value is the one that backward is called for. With `run`, backward runs in one
    more process.

    Names of a text are bound as in `ptexplore.trace`, and require grad. Raises PtexploreError if the expression cannot
    be run, or if the value has no tensor.

    >>> import ptexplore
    >>> ptexplore.graph("(a * b).sum()").nodes[1].name
    'MulBackward0'
    >>> import torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> ptexplore.graph((w * 2).sum()).nodes[2].leaf.names
    ('w',)
    """
    with PublicWorkspace(python) as workspace:
        return workspace._graph(value, sys._getframe(1), script, variables or {}, setup, contexts, timeout, run=run)


def compile(  # noqa: A001  (as in torch)
    expression: str | None = None,
    *,
    script: str | os.PathLike[str] | None = None,
    arguments: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    setup: Sequence[str] = (),
    contexts: Sequence[str] = (),
    grad: bool = False,
    backward: bool = False,
    timeout: float = 300.0,
    whole: bool = False,
    python: str | None = None,
) -> PublicCompiled:
    """Runs an expression or a script once in a process of its own, and returns what torch.compile did to it.

    Your code calls torch.compile. With `whole`, ptexplore gives the whole expression to torch.compile. The other
    options are as in `ptexplore.trace`; `arguments` are for a script. Raises PtexploreError if the code cannot be
    run.

    >>> import ptexplore
    >>> setup = ["f = torch.compile(lambda x: x.sin() if x.sum() > 0 else x, backend='eager')"]
    >>> [at.reason.kind for at in ptexplore.compile("f(a)", setup=setup).breaks]
    ['Data-dependent branching']
    """
    with PublicWorkspace(python) as workspace:
        return workspace.compile(
            expression, script=script, arguments=arguments, variables=variables, setup=setup, contexts=contexts,
            grad=grad, backward=backward, timeout=timeout, whole=whole,
        )  # fmt: skip


def op(name: str, *, ladder: bool = False, python: str | None = None) -> Card:
    """Returns the card of an operator: schema, dispatch keys with their kernels, derivative, Python names.

    `ladder` adds what decomposes it: torch.export, torch.compile, prims. The first use imports Inductor in a process of
    its own, which takes seconds. Raises PtexploreError if no operator has this name.

    >>> import ptexplore
    >>> ptexplore.op("add.Tensor").operator.name
    'aten::add.Tensor'
    """
    with PublicWorkspace(python) as workspace:
        return workspace.op(name, ladder=ladder)


def explain_error(text: str, *, python: str | None = None) -> ErrorMessage:
    """Explains an error of PyTorch, given its text: a traceback, or only the message. torch is not imported.

    `missing` is the kernel that the dispatcher did not find. `modified` is the tensor that was written to after it was
    saved. `source` is the line of C++ that threw. Raises PtexploreError if nothing in the text is known.

    >>> import ptexplore
    >>> message = ptexplore.explain_error("Could not run 'aten::cumsum' with arguments from the 'SparseCPU' backend.")
    >>> message.missing.own[0]
    'CPU'
    """
    with PublicWorkspace(python) as workspace:
        return workspace.explain_error(text)


def find(
    query: str,
    *,
    kind: str | None = None,
    limit: int = 20,
    text: bool = False,
    declarations: bool = False,
    tree: str | None = None,
    python: str | None = None,
) -> FindView:
    """Searches for a query: returns symbols, operators, folders, files, notes and lines of text, grouped, best first.

    `best` holds the best matches of all groups. `kind` is a group ("symbol", "operator", …) or a kind of symbol
    ("class", …). `limit` is the greatest number of matches in a group. Raises PtexploreError if nothing matches; its
    `why` lists the closest names.

    >>> import ptexplore
    >>> ptexplore.find("conv2d", kind="operator").groups[0].hits[0].name
    'aten::conv2d'
    """
    with PublicWorkspace(python, tree) as workspace:
        return workspace.find(query, kind=kind, limit=limit, text=text, declarations=declarations)


def show(
    target: str,
    *,
    kind: str | None = None,
    everything: bool = False,
    every_key: bool = False,
    tree: str | None = None,
    python: str | None = None,
) -> ShowView:
    """Returns the source of a symbol, an operator, a file or a line. If the target is ambiguous, returns the choices.

    Raises PtexploreError if the target names nothing.

    >>> import ptexplore
    >>> ptexplore.show("torch.nn.functional.relu", tree="runtime").pages[0].spot.ref.path
    'torch/nn/functional.py'
    """
    with PublicWorkspace(python, tree) as workspace:
        return workspace.show(target, kind=kind, everything=everything, every_key=every_key)


def refs(
    symbol: str,
    *,
    kind: str | None = None,
    limit: int | None = None,
    tree: str | None = None,
    python: str | None = None,
) -> RefsView:
    """Returns the uses of a name, grouped by kind of use, with at most `limit` uses in each group.

    Raises PtexploreError if nothing has this name.

    >>> import ptexplore
    >>> ptexplore.refs("TensorIteratorBase", limit=1, tree="runtime").asked
    'TensorIteratorBase'
    """
    with PublicWorkspace(python, tree) as workspace:
        return workspace.refs(symbol, kind=kind, limit=limit)


def callers(
    symbol: str,
    *,
    depth: int = 3,
    limit: int | None = None,
    tree: str | None = None,
    python: str | None = None,
) -> CallersView:
    """Returns the callers of a function, their callers, and so on, `depth` levels up.

    `limit` is the greatest number of callers of each function; without it, there are as many as fit a screen. Raises
    PtexploreError if no function has this name.

    >>> import ptexplore
    >>> ptexplore.callers("torch.nn.functional.relu", depth=1, limit=1, tree="runtime").functions[0].name
    'torch.nn.functional.relu'
    """
    with PublicWorkspace(python, tree) as workspace:
        return workspace.callers(symbol, depth=depth, limit=limit)


def load(file: str | os.PathLike[str]) -> PublicTrace:
    """Loads the trace that `save` wrote into a file. torch is not needed.

    Raises PtexploreError if the file is not a saved trace.

    >>> import ptexplore
    >>> try:
    ...     ptexplore.load("nothing.trace")
    ... except ptexplore.PtexploreError as error:
    ...     print(error.message)
    nothing.trace cannot be read
    """
    from ptexplore.workspace.saved_traces import load_trace

    return PublicTrace(*load_trace(os.fspath(file)))


def _check_alone(options: AskedOfTrace) -> None:
    """Raises PtexploreError if a function is traced with options that only an expression or a script can have."""
    given = [name for name in names() if options.get(name) and name not in LIMITS]
    if given:
        why = f"it runs unchanged in this process; {', '.join(given)} can only be used with a text"
        raise PtexploreError("a function is traced without options", why, "trace(lambda: f(x))", USAGE)


def _check_text(role: str, value: object) -> str:
    """Returns `value` if it is a text, and "" for None. Raises PtexploreError for anything else.

    For a callable, the error says why a callable cannot be used.
    """
    if callable(value):
        why = "the text runs in another process, and a callable cannot be sent there with its variables"
        raise PtexploreError(f"{role} is a callable, not a text", why, 'trace("torch.add(a, b)")', USAGE)
    if value is not None and not isinstance(value, str):
        raise PtexploreError(f"{role} is a {type(value).__name__}, not a text", "", 'trace("torch.add(a, b)")', USAGE)
    return value or ""
