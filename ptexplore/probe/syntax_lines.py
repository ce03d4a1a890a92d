"""The lines of operators that syntax called: `a + b`, `a[0]`, `if a:`. Python reports no call of them.

A function's marker in the profile has the calls that Python reported, and between two of them the operators by syntax.
The instructions that can run between two reported calls follow from the code of the function. Of these instructions,
only some can call an operator of that name. If all ways through them give an operator the same line, that line is
certain. Otherwise the operator has no line.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import NamedTuple, TypeAlias

from .paths import Path
from .taken import dis

# The order of the operators between two calls is not used if they are more than LONG, or if the number of instructions
# times their number is larger.
MOST_STATES = 30_000
LONG = 64
# How many different intervals between calls are looked at. Operators of further intervals have no line.
MOST_INTERVALS = 4_000
# Where a state is: at the first call, between the calls, at the last call, or at the last one after its operators.
FIRST, BETWEEN, LAST, ENDED = range(4)

_PLACED = frozenset(("select", "slice", "unsqueeze", "alias", "index", "item", "is_nonzero", "to", "expand", "view"))
_MADE = frozenset(("empty", "lift_fresh", "lift", "detach_", "_to_copy"))  # a list of indices becomes a tensor
_TRUTH = frozenset(("is_nonzero", "item", "_local_scalar_dense"))
_SUBSCRIPT = _PLACED | _MADE
_WRITES = frozenset(("fill_", "copy_", "index_put_", "_index_put_impl_"))  # the last operator of `a[0] = b`
_STORED = _SUBSCRIPT | _WRITES | {"squeeze"}
_BITS = {"&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"}
# The operators of ATen that an operator of Python can call as the outermost ones (torch/csrc/autograd/
# python_variable_methods.cpp, variable_methods). The other operators of Tensor are functions in Python.
_OF_SYMBOL: dict[str, frozenset[str]] = {
    "+": frozenset(("add", "add_")),
    "-": frozenset(("sub", "sub_")),
    "*": frozenset(("mul", "mul_")),
    "/": frozenset(("div", "div_", "true_divide")),
    "//": frozenset(("floor_divide", "floor_divide_")),
    "%": frozenset(("remainder", "remainder_")),
    "**": frozenset(("pow", "pow_")),
    "@": frozenset(("matmul",)),
    "[]": _SUBSCRIPT,
    **{
        sign: frozenset((f"__{name}__", f"__i{name}__", f"bitwise_{name}", f"bitwise_{name}_"))
        for sign, name in _BITS.items()
    },
}
# The names of these instructions in Python 3.10, which has one for each symbol.
_OF_OLD_NAME = {
    "ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "TRUE_DIVIDE": "/", "FLOOR_DIVIDE": "//", "MODULO": "%",
    "POWER": "**", "MATRIX_MULTIPLY": "@", "AND": "&", "OR": "|", "XOR": "^", "LSHIFT": "<<", "RSHIFT": ">>",
}  # fmt: skip
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne")) | _TRUTH  # lists compare their items, and test them
_OF_INSTRUCTION: dict[str, frozenset[str]] = {
    "UNARY_NEGATIVE": frozenset(("neg",)),
    "UNARY_INVERT": frozenset(("bitwise_not",)),
    "UNARY_POSITIVE": frozenset(("positive",)),
    "UNARY_NOT": _TRUTH,
    "TO_BOOL": _TRUTH,
    "BINARY_SUBSCR": _SUBSCRIPT,
    "BINARY_SLICE": _SUBSCRIPT,
    "STORE_SUBSCR": _STORED,
    "STORE_SLICE": _STORED,
    "COMPARE_OP": _COMPARISONS,
    "CONTAINS_OP": _COMPARISONS,
}
_TRANSPOSED = frozenset(("numpy_T", "mT", "mH", "matrix_H", "adjoint", "transpose", "permute", "t"))
_PART = frozenset(("real", "imag", "view_as_real", "select", "alias"))
_OF_ATTRIBUTE = {
    "T": _TRANSPOSED, "mT": _TRANSPOSED, "H": _TRANSPOSED, "mH": _TRANSPOSED, "real": _PART, "imag": _PART,
    "data": frozenset(("detach", "alias")),
}  # fmt: skip
# Functions in C that convert a tensor to a number.
_CONVERTERS = frozenset(("int", "float", "bool", "complex", "range", "sqrt", "log", "exp", "round"))
# Functions in C that call no operator by themselves. If they call Python, Python reports that. A function that takes
# all items of an iterator, such as `list`, is none of them: the iterator may be a `map` of a function in C.
_HARMLESS = frozenset((
    "len", "isinstance", "issubclass", "print", "enumerate", "zip", "str", "repr", "type", "id", "super", "hasattr",
    "callable", "append", "insert", "items", "keys", "values", "format", "startswith", "endswith", "strip", "time",
    "perf_counter", "monotonic", "flush", "write",
))  # fmt: skip
# With these in a function, a loop in it may call an operator for each item.
_LAZY = frozenset(("map", "filter", "accumulate", "starmap", "iter"))
_ENDS = ("RETURN", "RAISE", "RERAISE")  # how the names of instructions begin that continue nowhere
_ALWAYS = (
    "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP",
)  # fmt: skip
_BESIDE = ("PUSH_NULL", "EXTENDED_ARG", "NOP")
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs, *getattr(dis, "hasjump", ())))


@dataclass(frozen=True)
class _Instruction:
    """An instruction: its line, the next instructions, and the operators that it may call.

    None stands for any operator. An operator of `ends` is the last one.
    """

    line: int
    next: tuple[int, ...]
    calls: frozenset[str] | None
    ends: frozenset[str]
    is_call: bool


class _Code:
    """The instructions of a function. `number` gives an instruction's number by an offset in it."""

    def __init__(self, code: CodeType) -> None:
        listed = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
        self._offsets = [each.offset for each in listed]
        number_at = {offset: number for number, offset in enumerate(self._offsets)}
        targets = {each.argval for each in listed if each.opcode in _JUMPS}
        lines = _lines(code)
        handlers = list(_handlers(code, number_at))
        self.instructions: list[_Instruction] = []
        for number, each in enumerate(listed):
            leads: list[int] = []
            if not each.opname.startswith(_ENDS) and each.opname not in _ALWAYS and number + 1 < len(listed):
                leads.append(number + 1)
            if each.opcode in _JUMPS and each.argval in number_at:
                leads.append(number_at[each.argval])
            leads += (target for first, last, target in handlers if first <= each.offset < last)
            is_call = each.opname.startswith("CALL") and not each.opname.startswith("CALL_INTRINSIC")
            calls = _called(listed, number, targets) if is_call else _operators(each)
            ends = _ends(each.opname, calls)
            self.instructions.append(_Instruction(lines.get(each.offset, 0), tuple(leads), calls, ends, is_call))

    def number(self, offset: int) -> int:
        """Return the number of the instruction that contains an offset."""
        return max(bisect_right(self._offsets, offset) - 1, 0)


def _lines(code: CodeType) -> dict[int, int]:
    """Return the line of each offset."""
    return {
        offset: line for first, last, line in code.co_lines() if line is not None for offset in range(first, last, 2)
    }


def _handlers(code: CodeType, number_at: dict[int, int]) -> Iterator[tuple[int, int, int]]:
    """Yield the ranges of offsets that have a handler of exceptions, each with the handler's first instruction."""
    for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
        if entry.target in number_at:
            yield entry.start, entry.end, number_at[entry.target]


def _operators(each: dis.Instruction) -> frozenset[str] | None:
    """Return the operators that an instruction other than a call may call as the outermost ones."""
    name = each.opname
    if name == "BINARY_OP":
        sign = each.argrepr if each.argrepr == "[]" else each.argrepr.removesuffix("=")
        return _OF_SYMBOL.get(sign)
    if name.startswith(("BINARY_", "INPLACE_")) and name.partition("_")[2] in _OF_OLD_NAME:
        return _OF_SYMBOL[_OF_OLD_NAME[name.partition("_")[2]]]
    if name.startswith(("POP_JUMP", "JUMP_IF")):
        return _TRUTH
    if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
        return _OF_ATTRIBUTE.get(str(each.argval), frozenset())
    if name == "STORE_ATTR":
        return frozenset(("set_data",)) if each.argval == "data" else frozenset()
    return _OF_INSTRUCTION.get(name, frozenset())


def _ends(name: str, calls: frozenset[str] | None) -> frozenset[str]:
    """Return the operators after which an instruction calls no further one."""
    if name.startswith("STORE_"):
        return _WRITES
    is_one = name.startswith(("BINARY_", "INPLACE_", "UNARY_")) and calls is not None and not calls & _PLACED
    return calls if is_one and calls is not None else frozenset()


def _called(listed: Sequence[dis.Instruction], number: int, targets: Iterable[int]) -> frozenset[str] | None:
    """Return the operators that a call may call itself if nothing is reported; None: any operator."""
    name = _callee(listed, number, frozenset(targets))
    return frozenset() if name in _HARMLESS else _TRUTH if name in _CONVERTERS else None


def _callee(listed: Sequence[dis.Instruction], number: int, targets: frozenset[int]) -> str | None:
    """Return the name that a call calls, from the instructions before it; None if they do not show it."""
    call = listed[number]
    if call.opname not in ("CALL", "CALL_FUNCTION", "CALL_METHOD", "CALL_KW", "CALL_FUNCTION_KW"):
        return None
    wanted = (call.arg or 0) + (call.opname in ("CALL_KW", "CALL_FUNCTION_KW"))
    at = number - 1
    while at >= 0 and listed[at].opname in ("PRECALL", "KW_NAMES"):  # of this call
        at -= 1
    while at >= 0:  # back over the arguments
        before = listed[at]
        if before.opcode in _JUMPS or listed[at + 1].offset in targets:
            return None
        if wanted == 0 and before.opname not in _BESIDE:
            is_name = before.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_METHOD", "LOAD_ATTR")
            return str(before.argval) if is_name else None
        if wanted > 0:
            wanted -= dis.stack_effect(before.opcode, before.arg if before.opcode >= dis.HAVE_ARGUMENT else None)
            if wanted < 0:
                return None
        at -= 1
    return None


class _State(NamedTuple):
    """A place on a way: an instruction, how many of the operators ran, and whether it is the first or the last call."""

    number: int
    ran: int
    at: int


# The neighbour of some operators. A path: the reported call before or after them. A number: the profile began or ended
# here, at this offset in the function's code. None: an unknown call, or no call.
End: TypeAlias = "Path | int | None"


class SyntaxLines:
    """The lines of operators by syntax, of all functions of one recording. Each result is kept."""

    __slots__ = ("_codes", "_known", "_states")

    def __init__(self) -> None:
        self._codes: dict[CodeType, _Code | None] = {}
        self._known: dict[object, Sequence[int | None]] = {}
        self._states: dict[Path, object] = {}  # by function: which of its calls are reported in this profile

    def begin(self) -> None:
        """Start to fold a profile."""
        self._states.clear()

    def lines(self, path: Path, before: End, after: End, names: Sequence[str]) -> Sequence[int | None]:
        """Return the lines of operators that a function called by syntax between two reported calls; None: not known.

        `before` and `after`: see `End`.
        """
        if path.calls_others or path.label.code is None:
            return (None,) * len(names)
        in_order = len(names) <= LONG
        given = tuple(names) if in_order else tuple(dict.fromkeys(names))
        state = self._states.get(path)
        if state is None:
            state = self._states[path] = (len(path.others), *[inner.cold for inner in path.children.values()])
        key = (path, before, after, given, in_order, state)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_INTERVALS:
                return (None,) * len(names)
            known = self._known[key] = self._possible_lines(path, before, after, given, in_order=in_order)
        if in_order:
            return known
        by_name = dict(zip(given, known, strict=True))
        return [by_name[name] for name in names]

    def _possible_lines(
        self, path: Path, before: End, after: End, names: Sequence[str], *, in_order: bool
    ) -> Sequence[int | None]:
        assert path.label.code is not None
        code = self._code(path.label.code)
        if code is None or any(not name.startswith("aten::") for name in names):
            return (None,) * len(names)
        sites = _sites(path, code)
        in_order = in_order and len(code.instructions) * len(names) <= MOST_STATES
        others = frozenset(map(code.number, path.others))
        ways = _Ways(code, sites, others, _end(code, sites, before), _end(code, sites, after))
        bare = [name.removeprefix("aten::") for name in names]
        possible = ways.in_order(bare) if in_order else [ways.anywhere(name) for name in bare]
        return [next(iter(lines)) if len(lines) == 1 and 0 not in lines else None for lines in possible]

    def _code(self, code: CodeType) -> _Code | None:
        """Return the instructions of a function.

        Returns None if Python does not say where its exceptions lead, or if its loops may call operators.
        """
        if code not in self._codes:
            setups = sys.version_info < (3, 11) and any(
                each.opname.startswith("SETUP_") for each in dis.get_instructions(code)
            )
            is_lazy = not _LAZY.isdisjoint(code.co_names)
            self._codes[code] = None if setups or is_lazy else _Code(code)
        return self._codes[code]


def _sites(path: Path, code: _Code) -> dict[int, list[Path]]:
    """Return the paths that begin at the instructions of a function, by the number of the instruction."""
    sites: dict[int, list[Path]] = {}
    for key, inner in path.children.items():
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], int):
            sites.setdefault(code.number(key[1]), []).append(inner)
    return sites


def _end(code: _Code, sites: dict[int, list[Path]], end: End) -> frozenset[int] | int | None:
    """Return the instructions that call a path, or the one instruction at an offset; None if they are not known."""
    if isinstance(end, int):
        return code.number(end)
    return frozenset(number for number, paths in sites.items() if end in paths) or None


class _Ways:
    """All ways through a function's instructions from one reported call to the next one.

    `others`: the instructions that called functions of Python without paths. Any operator may come from there.
    No way leads over a call that would have been reported. `first` and `last` are the instructions of the two calls;
    None means any instruction. A number is an instruction at which a profile began or ended, between two calls.
    """

    def __init__(
        self,
        code: _Code,
        sites: dict[int, list[Path]],
        others: frozenset[int],
        first: frozenset[int] | int | None,
        last: frozenset[int] | int | None,
    ) -> None:
        self._all = code.instructions
        self._start = first if isinstance(first, int) else None
        self._first = first if isinstance(first, frozenset) else None
        self._stop = last if isinstance(last, int) else None
        self._last = last if isinstance(last, frozenset) else None
        self._sites = sites
        self._others = others
        self._reported = {number for number, paths in sites.items() if not any(path.cold for path in paths)} - others

    def _may_call(self, number: int, name: str) -> bool:
        """Whether an instruction between the two calls may call this operator without any report."""
        if number in self._others:
            return True
        each = self._all[number]
        if each.is_call and number in self._reported:
            return False
        return each.calls is None or name in each.calls

    def _may_call_beside(self, number: int, name: str) -> bool:
        """Whether the instruction of a reported call may call this operator itself, as `a - b` calls a method of b."""
        return not self._all[number].is_call and self._may_call(number, name)

    def _begins(self) -> list[int]:
        if self._start is not None:
            return [self._start]
        return [*range(len(self._all))] if self._first is None else [*self._first]

    def _next(self, number: int) -> Iterator[int]:
        """Yield the instructions after this one. A reported call may only be the last one."""
        for following in self._all[number].next:
            if following not in self._reported or (self._last is not None and following in self._last):
                yield following

    def in_order(self, names: Sequence[str]) -> list[set[int]]:
        """Return the possible lines of each operator: its lines on all ways that call the operators in this order."""
        count = len(names)
        leads = self._states(names)
        before: dict[_State, list[_State]] = {}
        for state, following in leads.items():
            for other in following:
                before.setdefault(other, []).append(state)
        lines: list[set[int]] = [set() for _ in names]
        pending = [state for state in leads if state.ran == count and self._may_end(state)]
        reached = set(pending)
        while pending:
            state = pending.pop()
            for earlier in before.get(state, ()):
                if earlier.ran < state.ran:
                    lines[earlier.ran].add(self._all[earlier.number].line)
                if earlier not in reached:
                    reached.add(earlier)
                    pending.append(earlier)
        return lines

    def _may_end(self, state: _State) -> bool:
        """Whether a way may end in a state."""
        if self._last is not None:
            return state.at >= LAST
        return self._stop is None or state.number == self._stop

    def _states(self, names: Sequence[str]) -> dict[_State, list[_State]]:
        """Return all states that a way can reach, each with the states that may follow."""
        begin = BETWEEN if self._first is None else FIRST
        pending = [_State(number, 0, begin) for number in self._begins()]
        known: dict[_State, list[_State]] = {}
        while pending:
            state = pending.pop()
            if state in known:
                continue
            number, ran, at = state
            leads: list[_State] = []
            if at == ENDED:
                known[state] = leads
                continue
            may_call = self._may_call if at == BETWEEN else self._may_call_beside
            if ran < len(names) and may_call(number, names[ran]):
                is_over = names[ran] in self._all[number].ends and number not in self._others
                leads += self._after(state, ran + 1) if is_over else [_State(number, ran + 1, at)]
            leads += self._after(state, ran)
            known[state] = leads
            pending += leads
        return known

    def _after(self, state: _State, ran: int) -> Iterator[_State]:
        """Yield the states after an instruction has ended, when so many operators ran."""
        if state.at == LAST:
            if ran > state.ran:  # its last operator
                yield _State(state.number, ran, ENDED)
            return
        for following in self._all[state.number].next:
            if following not in self._reported:
                yield _State(following, ran, BETWEEN)
            if self._last is not None and following in self._last:
                yield _State(following, ran, LAST)

    def anywhere(self, name: str) -> set[int]:
        """Return the lines that may call this operator on some way."""
        after = self._reachable(self._begins(), {number: list(self._next(number)) for number in range(len(self._all))})
        ends = [self._stop] if self._stop is not None else self._last
        if ends is not None:
            back: dict[int, list[int]] = {}
            for number in range(len(self._all)):
                for following in self._next(number):
                    back.setdefault(following, []).append(number)
            after &= self._reachable(ends, back)
        anchors = (self._first or frozenset()) | (self._last or frozenset())
        between = {number for number in after if number not in anchors or number not in self._reported}
        return {self._all[number].line for number in between if self._may_call(number, name)}

    def _reachable(self, begins: Iterable[int], leads: dict[int, list[int]]) -> set[int]:
        reached: set[int] = set()
        pending = list(begins)
        while pending:
            number = pending.pop()
            if number not in reached:
                reached.add(number)
                pending += leads.get(number, ())
        return reached
