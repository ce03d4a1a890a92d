"""Read the user's expression without running it, and bind its names (torch modules, --var, --setup, seeded tensors)."""

from __future__ import annotations

import ast
import builtins
import contextlib
import difflib
import hashlib
import linecache
import math
import os
import random
import re
import symtable
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from . import torch_api as api
from .kept import Kept, is_dynamos
from .process_state import ProcessState, TorchSettings
from .reasons import Said, reason
from .values import describe, fingerprint, random_states, tensors

if TYPE_CHECKING:
    from .messages import BoundNameData, RunRequestData

SEED_NAME = re.compile(r"[A-Za-z]\d*\Z")
SIZE = (3, 3)
OURS = "__ptexplore__"  # the namespace's own name
CLOSE = (3, 0.6)  # how many similar names are offered, and how similar they must be
ALL_SETUP = "<--setup>"
EXPRESSION, SCRIPT, SETUP = reason("given-expression"), reason("given-script"), reason("given-setup")
LOST = 3  # maximum number of used-up things that are named
OF_PYTHON = ("__warningregistry__", "__annotations__")  # names that Python adds to a namespace in which code runs
UNREPEATABLE = "repeat"  # the kind of Refused for an evaluation that cannot be repeated
A_CLONE = " (a clone, so no leaf: to write in place to a leaf that requires grad may be an error)"
_IN_PLACE_DUNDER = re.compile(r"__(set|del)item__\Z|__i(add|sub|mul|truediv|floordiv|mod|pow|and|or|xor|[lr]shift)__\Z")
_NOT_IN_PLACE = {"requires_grad_", "share_memory_"}
_WITHOUT_HISTORY = {"data", "detach", "grad"}  # a write to one of these is not in the autograd history of the leaf
# Functions of these modules with a trailing underscore write to a leaf with grad mode off, or only to its gradient.
_BEHIND_AUTOGRAD = ("torch.nn.init", "torch.nn.utils")


@dataclass(eq=False)
class Refused(Exception):
    """The user's text cannot be run.

    `kind` is the kind of failure, `reason` says why, and `where` the (line, column) in `source`, both counted from 1.
    `close` are similar names.
    """

    kind: str
    reason: Said
    where: tuple[int, int] | None = None
    source: str | None = None
    close: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return str(self.reason)


class Unrepeatable(Refused):
    """A further evaluation in this process would not find the state that the first one found; `reason` says why."""

    def __init__(self, why: Said) -> None:
        super().__init__(UNREPEATABLE, why)


class RandomNumbers:
    """The present state of all sources of random numbers."""

    def __init__(self) -> None:
        self._torch = {id(g): (g, api.generator_state(g)[1]) for g in api.random_generators()}
        self._python = random.getstate()
        numpy = sys.modules.get("numpy.random.mtrand")
        self._numpy: Any = numpy.get_state() if numpy is not None else None

    def put_back(self, seed: int) -> None:
        """Put each state back. A generator of a device that was not in use at that time gets this seed."""
        for generator in api.random_generators():
            if id(generator) in self._torch:
                self._torch[id(generator)][1](None)
            else:
                generator.manual_seed(seed)
        random.setstate(self._python)
        numpy = sys.modules.get("numpy.random.mtrand")
        if numpy is not None and self._numpy is not None:
            numpy.set_state(self._numpy)


def parse(expression: str, given: Said) -> ast.Expression:
    """Parse the expression; `given` says how it was given. Raises Refused if it is not one single expression."""
    source = expression.strip()
    if not source:
        raise Refused("empty", reason("given-empty", given=given))
    file = _file_of(given)
    try:
        tree = ast.parse(source, filename=file, mode="eval")
        compile(tree, file, "eval")  # some texts parse but are not expressions: `(yield)`
    except SyntaxError as error:
        raise _refused(error, source, given) from None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:  # NUL bytes, absurd nesting
        raise Refused("syntax", _does_not_parse(given, str(error))) from None
    return tree


def parse_statements(text: str, given: Said) -> ast.Module:
    """Parse statements; `given` says how they were given. Raises Refused if the text is empty or is not Python."""
    source = text.strip()
    if not source:
        raise Refused("empty", reason("given-empty", given=given))
    file = _file_of(given)
    try:
        statements = ast.parse(source, filename=file)
        compile(source, file, "exec")
    except SyntaxError as error:
        where = (error.lineno or 1, error.offset or 1)
        raise Refused("syntax", _does_not_parse(given, error.msg), where=where, source=source) from None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise Refused("syntax", _does_not_parse(given, str(error))) from None
    return statements


def _does_not_parse(given: Said, error: str) -> Said:
    """Returns why Python's parser refuses a text. If the text nests too deeply, the parser gives no message."""
    because = reason("said", sentence=error) if error else reason("nests-beyond-parser")
    return reason("given-unparsed", given=given, because=because)


def _file_of(given: Said) -> str:
    """Returns the file name that Python's warnings about a text show."""
    return f"<{given['code'].removeprefix('given-')}>"


def variable(name: str) -> Said:
    """Returns the reason code for a value given for a name."""
    return reason("given-variable", name=name)


def raised(given: Said, error: BaseException) -> Said:
    """Returns the reason for an exception that a given text raised."""
    return reason("given-raised", given=given, exception=type(error).__name__, message=text_of(error))


def read(request: RunRequestData) -> ast.Expression | None:
    """Parse the requested expression. Returns None for a program. Raises Refused if the text is not Python."""
    script = request.get("script")
    if script is not None:
        check_script(script, request.get("script_sha256"))
    return None if is_program(request) else parse(request.get("expression") or "", EXPRESSION)


def is_program(request: RunRequestData) -> bool:
    """Returns whether a script or a module is run, not an expression."""
    return request.get("script") is not None or request.get("module") is not None


_codes: dict[tuple[str, str], CodeType] = {}


def code_of(expression: str, given: Said, file: str) -> CodeType:
    """Compile a text that is given beside the expression. Raises Refused as `parse` does.

    A process has one code object for each text, as a program has that runs the same code again.
    """
    if (expression, file) not in _codes:
        _codes[expression, file] = compile(parse(expression, given), file, "eval")
    return _codes[expression, file]


def _refused(error: SyntaxError, source: str, given: Said) -> Refused:
    try:
        statements = ast.parse(source).body
        compile(source, _file_of(given), "exec")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        where = (error.lineno or 1, error.offset or 1)
        return Refused("syntax", _does_not_parse(given, error.msg), where=where, source=source)
    if len(statements) > 1:
        return Refused("statements", reason("given-statements", given=given, count=len(statements)))
    return Refused("statements", reason("given-statement", given=given))


def script_file(script: str) -> str:
    """Returns a script's path as Python gives it to the script (`__file__`, tracebacks): after the current folder."""
    return script if os.path.isabs(script) else os.getcwd() + os.sep + script


def check_script(script: str, sha256: str | None = None) -> CodeType:
    """Read and compile a script once. Raises Refused if it cannot be read, is not Python, or has another hash."""
    try:
        with open(script, "rb") as file:
            source = file.read()
        if sha256 is not None and hashlib.sha256(source).hexdigest() != sha256:
            raise Refused("script", reason("script-changed"))
        return compile(source, script_file(script), "exec", dont_inherit=True)
    except SyntaxError as error:
        where = (error.lineno or 1, error.offset or 1)
        text = source.decode(errors="replace")
        raise Refused("script", _does_not_parse(SCRIPT, error.msg), where=where, source=text) from None
    except (OSError, ValueError, MemoryError, RecursionError) as error:
        raise Refused("script", _does_not_parse(SCRIPT, str(error))) from None


def free_names(expression: str) -> list[str]:
    """Returns the names that the expression reads and does not bind itself, in order of appearance."""
    source = expression.strip()
    tree = ast.parse(source, mode="eval")
    table = symtable.symtable(source, "<expression>", "eval")
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned()} | set(_kept_names(tree))
    outer: set[str] = set()
    scopes = [table]
    for scope in scopes:  # the loop adds scopes
        symbols = [s for s in scope.get_symbols() if s.is_global() or (scope is table and s.is_referenced())]
        outer.update(symbol.get_name() for symbol in symbols)
        scopes += scope.get_children()
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    names.sort(key=lambda n: (n.lineno, n.col_offset))
    return [name for name in dict.fromkeys(n.id for n in names) if name in outer - bound]


def names_read(tree: ast.Expression | ast.Module, text: str) -> list[str]:
    """Returns the names that an expression, or one of several statements, reads before it binds them."""
    if isinstance(tree, ast.Expression):
        return free_names(text)
    assigned: set[str] = set()
    names: list[str] = []
    for statement in tree.body:
        reads = [name for part in _read_parts(statement) for name in free_names(ast.unparse(part))]
        names += [name for name in reads if name not in assigned]
        assigned |= own_names(statement) | _defined(statement)
    return list(dict.fromkeys(names))


def _read_parts(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yields the expressions of a simple statement that are evaluated. Of any other statement, nothing is known."""
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
        yield statement.value
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    also_read = (ast.Subscript, ast.Attribute, *((ast.Name,) if isinstance(statement, ast.AugAssign) else ()))
    yield from (target for target in targets if isinstance(target, also_read))


def _defined(statement: ast.stmt) -> set[str]:
    """Returns the names that a statement binds by a definition or an import."""
    inner = [node for node in ast.walk(statement) if hasattr(node, "name") and isinstance(node.name, str)]
    imported = [alias.asname or alias.name.partition(".")[0] for alias in inner if isinstance(alias, ast.alias)]
    return {node.name for node in inner if not isinstance(node, ast.alias)} | set(imported)


def _kept_names(tree: ast.AST) -> Iterator[str]:
    """Yields the names that `:=` binds outside of lambdas. A comprehension's `:=` binds in the outer scope (PEP 572).

    From Python 3.12 on, symtable does not report that.
    """
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        pending += () if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node)


def called_names(tree: ast.AST) -> set[str]:
    """Returns names that are called: these cannot be tensors."""
    return {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def own_names(tree: ast.AST) -> set[str]:
    """Returns the names that the expression binds anywhere: parameters, loop variables, `:=`."""
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return stored | {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}


def attribute_chains(tree: ast.AST) -> Iterator[list[str]]:
    """Yields every `name.a.b` as ["name", "a", "b"]."""
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name):
            yield [inner.id, *reversed(parts)]


def changed_in_place(tree: ast.AST, values: Mapping[str, Any]) -> set[str]:
    """Returns names whose tensors the expression changes, by PyTorch's naming: `add_`, `inplace=True`, `__setitem__`.

    Names with `requires_grad_(False)` are left out: the method needs a leaf, and the leaf may then be changed.
    """

    def is_module(name: str) -> bool:
        return _is_module(values.get(name))

    roots, freed = set(), set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and _asks_no_gradient(node):
            freed.add(_root(node.func.value, is_module))
        if _is_in_place(node) and not _is_behind_autograd(node.func, values):
            target: ast.expr | None = node.args[0] if node.args else None
            if isinstance(node.func, ast.Attribute) and not _is_of_module(node.func.value, is_module):
                target = node.func.value
            roots.add(_root(target, is_module))
    return {root for root in roots - freed if root is not None}


def _asks_no_gradient(node: ast.Call) -> bool:
    given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "requires_grad")]
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_"
    return is_method and any(isinstance(value, ast.Constant) and value.value is False for value in given)


def _is_behind_autograd(node: ast.expr, values: Mapping[str, Any]) -> bool:
    """Returns whether a function belongs to torch and writes to a tensor without autograd's knowledge."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    value = values.get(node.id) if isinstance(node, ast.Name) else None
    for name in reversed(names):
        value = getattr(value, name, None) if _is_module(value) else None
    return type(value) is FunctionType and str(value.__module__).startswith(_BEHIND_AUTOGRAD)


def _is_of_module(node: ast.expr, is_module: Callable[[str], bool]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and is_module(node.id)


def _is_in_place(node: ast.Call) -> bool:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name.endswith("_") and not name.endswith("__") and name not in _NOT_IN_PLACE:
        return True
    given = [k.value for k in node.keywords if k.arg == "inplace"]
    in_place = any(not isinstance(value, ast.Constant) or value.value for value in given)
    return in_place or bool(_IN_PLACE_DUNDER.match(name))


def _root(node: ast.expr | None, is_module: Callable[[str], bool]) -> str | None:
    """Returns the name that a chain of methods and subscripts starts from.

    autograd refuses a write to a view of a leaf, as to the leaf. Returns None if the chain leaves the leaf: by a method
    that makes a new tensor (`a.sin()`), or by an attribute without history.
    """
    while not isinstance(node, ast.Name):
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            if isinstance(node, ast.Attribute) and node.attr in _WITHOUT_HISTORY:
                return None
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if _is_of_module(node.func.value, is_module):
                return None  # the result of a function is not a leaf
            if node.func.attr in _WITHOUT_HISTORY or api.makes_a_tensor(node.func.attr):
                return None
            node = node.func.value
        else:
            return None
    return node.id


def _module() -> ModuleType:
    """Returns the module that holds the expression's names, filled with the names that always exist.

    The module can be imported: so pickle finds the classes of --setup, and Dynamo finds the globals of functions. Each
    namespace has a new module, since a tracer or handler that an earlier --setup left needs the names of the earlier
    module. If Dynamo is loaded, the process has only one module, because Dynamo keeps the first one that it found.
    """
    module = sys.modules.get(OURS)
    if module is None or "torch._dynamo" not in sys.modules:
        module = sys.modules[OURS] = ModuleType(OURS)
    left = dict(module.__dict__)  # kept until the names exist again: freeing the old values may run the user's code
    names = module.__dict__
    names.clear()
    names.update(vars(ModuleType(OURS)), __builtins__=builtins)
    names.update(torch=torch, F=torch.nn.functional, nn=torch.nn, math=math)
    del left
    return module


def _keep_text(file: str, code: str) -> None:
    """Keep a text without a file where `inspect` finds it: TorchScript reads the source of what it compiles."""
    linecache.cache[file] = (len(code), None, [f"{line}\n" for line in code.splitlines()], file)


class Namespace:
    """The names that an expression sees, and where each comes from (`bound`).

    --setup runs once. For a further evaluation in this process, `renew` restores what the first one found.
    """

    def __init__(self, request: RunRequestData) -> None:
        self.request = request
        self.values: dict[str, Any] = _module().__dict__
        self.bound: list[BoundNameData] = []
        self._numpy_is_seeded = False
        self.is_again = False  # --setup had run in this process before
        self.made: dict[str, Any] = {}  # what --setup made, by name
        self.put_back: dict[str, None] = {}  # the names in `made` of objects that were changed, and put back
        self._before: dict[str, Any] = {}  # the names before --setup; `_after`: the names after it
        self._after: dict[str, Any] = {}
        self._kept: Kept | None = None
        self._drawn: RandomNumbers | None = None
        self._settings: TorchSettings | None = None

    def fill(self, tree: ast.Expression | ast.Module | None, *, repeats: bool = False, keeps: bool = False) -> None:
        """Seed, run --setup, make seeded tensors, evaluate --var. Raises Refused for a name that it cannot bind.

        With `repeats`, torch's settings after --setup are kept for a further evaluation. With `keeps`, the objects that
        --setup made are kept, too, for `renew`.
        """
        self._prepare()
        self._settings = TorchSettings() if repeats else None
        if keeps:
            self._after, self._drawn = dict(self.values), RandomNumbers()
            after = self._after.items()
            self.made = {n: v for n, v in after if n not in OF_PYTHON and self._before.get(n, self) is not v}
            self._kept = Kept(self.made)
        self._give(tree)

    def fill_again(self, tree: ast.Expression | None, before: Namespace) -> None:
        """Fill in a process in which --setup ran already, for the namespace `before`.

        Raises Unrepeatable if a setting that the evaluation left in torch cannot be restored. Raises it, too, if the
        second run of --setup changes the process once more; later runs are not checked.
        """
        self.is_again = True
        before.put_settings_back()
        self._settings = before._settings
        looks = not before.is_again
        state = ProcessState() if looks else None
        self._prepare()
        changes = state.changes() if state is not None else ()
        if changes:
            raise Unrepeatable(reason("needs-setup-again", because=changes[0]))
        self._give(tree)

    def put_settings_back(self) -> None:
        """Restore torch's settings as --setup left them. Raises Unrepeatable if torch cannot restore one."""
        left = self._settings.put_back() if self._settings is not None else []
        if left:
            raise Unrepeatable(reason("runs-in-what-is-left", settings=left))

    def _prepare(self) -> None:
        """Seed, and run --setup."""
        for name, text in self.request["variables"]:
            parse(text, variable(name))
        self._seed()
        self._sample()
        self._before = dict(self.values)
        for number, code in enumerate(self.request["setup"]):
            self._setup(number, code)

    def renew(self, tree: ast.Expression | None) -> None:
        """Bind the names as `fill` did, without running --setup again.

        The names of --setup and the objects that they lead to are restored. All other values are made anew. Raises
        Unrepeatable if an object of --setup cannot be restored.
        """
        if self._kept is None or self._drawn is None:
            raise ValueError("nothing was kept to be given again")
        self.put_settings_back()
        replaced = dict(self.values)  # kept until the names exist again: freeing the old values may run the user's code
        self.put_back |= {n: None for n in self.made if replaced.get(n, self) is not self._after[n]}
        for name in replaced.keys() - self._after.keys():
            if not is_dynamos(name):
                del self.values[name]
        self.values.update(self._after)
        lost = self._kept.put_back()
        self.put_back |= self._kept.changed
        if lost:
            raise Unrepeatable(reason("used-up", things=lost[:LOST] + [reason("and-more")] * (len(lost) > LOST)))
        self.bound = []
        if self.request.get("sample") is not None:
            self._seed()
            self._sample()
            self._before.update((entry["name"], self.values[entry["name"]]) for entry in self.bound)  # not from --setup
        self.seed_numpy()
        self._drawn.put_back(self._seed_number)
        self._give(tree)
        del replaced

    def _give(self, tree: ast.Expression | ast.Module | None) -> None:
        """List the names of --setup that are used, make seeded tensors, evaluate --var."""
        variables = [(name, parse(text, variable(name)), text) for name, text in self.request["variables"]]
        before = self._before
        needs = [(free_names(text), called_names(parsed)) for _, parsed, text in variables]
        if tree is not None:
            needs.append((names_read(tree, self.request.get("expression") or ""), called_names(tree)))
        given = {name for name, _, _ in variables}
        for name in dict.fromkeys(name for names, _ in needs for name in names):
            if name not in given and name in self.values and before.get(name, self) is not self.values[name]:
                self._bind(name, self.values[name], "setup")
        for names, called in needs:
            self._seeded(names, called, given)
        for name, _, text in variables:
            self._variable(name, text)
        for entry in self.bound:  # a later --var may have changed a value that was bound before
            entry["description"] = describe(self.values[entry["name"]])
        if self.request["grad"] and tree is not None:
            self._require_grad(changed_in_place(tree, self.values))

    def _seed(self) -> None:
        """Seed all sources of random numbers. numpy is only imported if a text names it: that takes 0.1 seconds."""
        random.seed(self._seed_number)
        torch.manual_seed(self._seed_number)
        texts = [self.request.get("expression") or "", *self.request["setup"]]
        texts += [text for _, text in self.request["variables"]]
        if any(re.search(r"\b(np|numpy)\b", text) for text in texts):
            with contextlib.suppress(ImportError):
                import numpy

                numpy.random.seed(self._seed_number)
                self.values["np"] = numpy
        self.seed_numpy()

    @property
    def _seed_number(self) -> int:
        return int(self.request.get("seed", 0))

    def seed_numpy(self) -> None:
        """Seed numpy's random numbers once, if numpy is loaded: a script may load it later, or never."""
        seed = getattr(sys.modules.get("numpy.random.mtrand"), "seed", None)
        if seed is not None and not self._numpy_is_seeded:
            self._numpy_is_seeded = True
            seed(self._seed_number)

    def _sample(self) -> None:
        """Bind the inputs of a survey's sample, which makes new values each time."""
        sample = self.request.get("sample")
        for name, value in sample()[1].items() if sample is not None else ():
            self._bind(name, value, "OpInfo")

    def digest(self, result: Any) -> str | None:
        """Returns a digest of a result; for a survey's sample, of inputs, gradients and random number states, too."""
        if self.request.get("sample") is None:
            return fingerprint(result)
        given = [self.values[entry["name"]] for entry in self.bound]
        gradients = [tensor.grad for tensor in tensors(given) if tensor.is_leaf]
        left = fingerprint([result, given, gradients])
        return left and hashlib.sha256(f"{left} {sorted(random_states().items())}".encode()).hexdigest()

    def _setup(self, number: int, code: str) -> None:
        file = f"<--setup {number + 1}>"
        _keep_text(file, code)
        if sys.version_info < (3, 13) or len(self.request["setup"]) == 1:  # from 3.13 on a class is found by its line
            _keep_text(ALL_SETUP, "\n".join(self.request["setup"]))
            self.values["__file__"] = ALL_SETUP  # `inspect` looks there for the module's classes
        try:
            exec(compile(code, file, "exec"), self.values)
        except SyntaxError as error:
            where = (error.lineno or 1, error.offset or 1) if error.filename == file else None
            raise Refused("setup", _does_not_parse(SETUP, error.msg), where=where, source=code) from error
        except BaseException as error:
            raise Refused("setup", raised(SETUP, error)) from error

    def _seeded(self, names: list[str], called: set[str], given: set[str]) -> None:
        for name in names:
            if name in self.values or name in given or hasattr(builtins, name):
                continue
            if not SEED_NAME.match(name):
                raise Refused("name", reason("name-undefined", name=name), close=self._near(name, given))
            if name in called:
                raise Refused("name", reason("name-called", name=name))
            self._bind(name, torch.randn(*SIZE), "seeded")

    def _near(self, name: str, given: set[str]) -> list[str]:
        """Returns names similar to an unknown one: visible names, and torch's functions by their full names."""
        near = difflib.get_close_matches(name, [*self.values, *dir(builtins), *given], *CLOSE)
        for prefix, module in (("torch", torch), ("F", torch.nn.functional), ("nn", torch.nn)):
            public = [n for n in dir(module) if not n.startswith("_")]
            near += [f"{prefix}.{n}" for n in difflib.get_close_matches(name, public, 1, 0.8)]
        return near[:4]

    def _variable(self, name: str, text: str) -> None:
        _keep_text(f"<--var {name}>", text)
        try:
            value = eval(code_of(text, variable(name), f"<--var {name}>"), self.values)
        except BaseException as error:
            raise Refused("variable", raised(variable(name), error)) from error
        self._bind(name, value, "variable")

    def _bind(self, name: str, value: Any, how: str) -> None:
        self.values[name] = value
        self.bound.append({"name": name, "description": describe(value), "how": how})

    def _require_grad(self, in_place: set[str]) -> None:
        """Make the bound floating-point tensors require grad. Those that the expression changes become non-leaves."""
        for entry in self.bound:
            name = entry["name"]
            value: Any = self.values.get(name)
            is_tensor = issubclass(type(value), torch.Tensor)
            if entry["how"] == "setup" or not is_tensor or not (value.is_floating_point() or value.is_complex()):
                continue
            value = value if value.requires_grad else value.detach().requires_grad_()
            entry["description"] = describe(value)
            if name in in_place and value.is_leaf:
                value = value.clone()
                entry["description"] += A_CLONE
            self.values[name] = value


def check_attributes(tree: ast.AST, values: dict[str, Any]) -> None:
    """Refuse a misspelt name of a module (`torch.ad`) before anything runs, and offer the closest real names."""
    own = own_names(tree)
    for first, *rest in attribute_chains(tree):
        value: Any = values.get(first)
        prefix = first
        for part in rest:
            if first in own or not _is_module(value):
                break
            try:
                inner = getattr(value, part)
            except AttributeError:
                close = [f"{prefix}.{n}" for n in difflib.get_close_matches(part, dir(value), *CLOSE)]
                raise Refused("attribute", reason("no-attribute", owner=prefix, name=part), close=close) from None
            except Exception:
                break  # the import of a lazy module failed: the expression itself will report that
            value, prefix = inner, f"{prefix}.{part}"


def _is_module(value: Any) -> bool:
    return issubclass(type(value), ModuleType)  # not isinstance: that asks the value's own __class__


def text_of(error: BaseException) -> str:
    """Returns an error's message. The error's class may be the user's, and its `__str__` may raise."""
    try:
        return str(error)
    except Exception:
        return "(its message cannot be read)"
