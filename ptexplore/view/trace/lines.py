"""The lines below a row: why a dispatch key was chosen, where the code is, and which places only declare a function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ptexplore.model import details as says
from ptexplore.model.details import Detail, Launched, OnDevice
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import CallNotTaken, Dispatch, FormulaRef, Hop, TransformLayer
from ptexplore.view.line import Line
from ptexplore.view.trace.amounts import seconds
from ptexplore.view.trace.memory_layouts import is_contiguous, of_copy, written
from ptexplore.view.words.details import described
from ptexplore.view.words.reasons import sentence

LONG_FORMULA = 100  # characters; a longer formula is cut, since its line in derivatives.yaml has all of it


def formulas_of(hop: Hop) -> str:
    """Returns the derivative formulas of a node as derivatives.yaml has them: "self = grad; other = grad * 2".

    Leaves out inputs that are known to need no gradient. Cuts a text of more than LONG_FORMULA characters.
    """
    text = "; ".join(f"{f.inputs} = {f.text}" for f in run_formulas(hop) if f.text)
    return text if len(text) <= LONG_FORMULA else f"{text[: LONG_FORMULA - 1].rstrip()}…"


def run_formulas(hop: Hop) -> tuple[FormulaRef, ...]:
    """Returns the backward formulas of a node, without those for inputs that are known to need no gradient."""
    known = hop.derivative.formulas if hop.derivative is not None else ()
    return tuple(f for f in known if f.mode == "backward" and f.needed is not False)


def short(name: str) -> str:
    """Removes the long namespaces that all generated nodes and formula functions share."""
    return name.removeprefix("torch::autograd::generated::details::").removeprefix("torch::autograd::generated::")


def lines_of(hop: Hop, *, full: bool) -> tuple[Line, ...]:
    """Returns the lines of one hop.

    With `full`, also adds each reason that the lines do not contain yet, and the calls not taken.
    """
    lines: list[Line] = []
    if hop.kind == "key":
        lines += reasoning(hop)
    if hop.kind == "launch":
        lines.append(Line("reason", described(launch_details(hop))))
    lines += places(hop)
    lines += in_memory(hop)
    lines += caught(hop)
    if full:
        texts = {line.text for line in lines}
        lines += [Line("note", words) for words in map(sentence, hop.why) if words not in texts]
        lines += map(_not_taken, hop.not_taken)
    return tuple(lines)


def in_memory(hop: Hop) -> Iterator[Line]:
    """Yields what an operator call copies and why, and each of its arguments that is not contiguous."""
    if hop.copy is not None:
        yield Line("reason", described(of_copy(hop)))
    for tensor in hop.tensors:
        if not is_contiguous(tensor):
            layout = says.ArgumentLayout(name=tensor.name, sizes=written(tensor.sizes), strides=written(tensor.strides))
            yield _reason(layout)


def caught(hop: Hop) -> Iterator[Line]:
    """Yields a line with the message of an operator's error that was caught, and the C++ line that raised it."""
    if hop.caught is not None and hop.caught.message:
        yield _place(says.CaughtErrorMade(message=hop.caught.message), hop.caught.source)


def launch_details(hop: Hop) -> tuple[Launched, OnDevice]:
    """Returns the details of a launch: that it was launched, and how long the device took."""
    took = hop.launch.took if hop.launch is not None else None
    return Launched(), OnDevice(took=seconds(took) if took is not None else "")


def _not_taken(call: CallNotTaken) -> Line:
    """Returns the line of a call that the source contains and this run did not make: its place and its condition."""
    line = _place(says.CallNotTakenAt(stub=call.stub, through=tuple(call.through)), call.called_at)
    return replace(line, also=_place(says.UnderCondition(), call.condition)) if call.condition else line


def reasoning(hop: Hop) -> list[Line]:
    """Returns the lines that explain why this key was chosen.

    At the first key of a call: the key set of each argument and the thread-local sets. Then: how an earlier kernel
    redispatched, which keys were skipped, and the entry in the dispatch table.
    """
    dispatch = hop.dispatch or Dispatch("", "", "", ())
    lines = []
    if dispatch.arguments is not None:
        by_set: dict[str, list[str]] = {}
        for name, keys in dispatch.arguments.items():
            by_set.setdefault(keys, []).append(name)
        lines += [_reason(says.ArgumentKeys(names=tuple(names), keys=keys)) for keys, names in by_set.items()]
        for name, sets in (dispatch.wrapped or {}).items():
            lines.append(_reason(says.WrapsKeys(name=name, sets=tuple(says.KeySet(keys=keys) for keys in sets))))
        if dispatch.unread:
            why = (dispatch.unread_why,) if dispatch.unread_why is not None else ()
            lines.append(_reason(says.KeysNotRead(names=dispatch.unread, why=why, few=len(why))))
        lines += map(_transform, dispatch.transforms)
        include, exclude = dispatch.tls_include, _fold(dispatch.tls_exclude or "")
        local = (
            *((says.KeysIncluded(keys=include),) if include else ()),
            *((says.KeysExcluded(keys=exclude),) if exclude else ()),
        )
        if local:
            why = (dispatch.tls_why,) if dispatch.tls_why is not None else ()
            lines.append(_reason(says.ThreadLocalKeys(sets=local, why=why)))
    if dispatch.redispatch is not None:
        lines.append(Line("reason", sentence(dispatch.redispatch)))
    highest = says.TakenHighestKey(
        keys=dispatch.set, unread=left_out(dispatch), entry=dispatch.entry, skipped=tuple(dispatch.skipped),
        few=len(dispatch.skipped),
    )  # fmt: skip
    return [*lines, _reason(highest)]


def _reason(detail: Detail) -> Line:
    return Line("reason", described((detail,)))


def _place(label: Detail, place: SourceRef | None) -> Line:
    """Returns a line with a place behind a label."""
    return Line("place", described((label,)), place)


def left_out(dispatch: Dispatch) -> tuple[str, ...]:
    """Returns the unread arguments, whose keys are missing from the printed set.

    If the stepped run read the whole set from a register, no keys are missing.
    """
    return dispatch.unread if dispatch.observed_raw is None else ()


def _transform(layer: TransformLayer) -> Line:
    """Returns the line of an active function transform, with the dimensions that it maps over."""
    mapped = tuple(says.MappedDimension(name=name, dim=dim) for name, dim in layer.dims.items())
    return _reason(says.InsideTransform(transform=layer.kind.lower(), level=layer.level, mapped=mapped))


def _fold(keys: str) -> str:
    """Shortens more than two Autocast keys to their number: all sixteen are always excluded, so names add nothing."""
    names = keys.split(", ")
    autocast = [n for n in names if n.startswith("Autocast")]
    others = [n for n in names if not n.startswith("Autocast")]
    return ", ".join([f"Autocast* ({len(autocast)})", *others]) if len(autocast) > 2 else keys


def places(hop: Hop) -> list[Line]:
    """Returns the lines with the places of a hop. Neighbouring places in the same file share a line.

    An operator has its YAML entry and its entry point, a kernel its body and its registration, a node its formulas.
    """
    return _together(_places(hop))


def brief_places(hop: Hop) -> list[Line]:
    """Returns the one place that says most about a hop.

    A node keeps all its places, since its formulas are its content.
    """
    if hop.kind == "node":
        return places(hop)
    known = (hop.source, hop.declaration, hop.registration)
    return [Line("place", "", next((ref for ref in known if ref is not None and leads_somewhere(ref)), hop.source))]


def _together(lines: list[Line]) -> list[Line]:
    """Puts two neighbouring places in the same file on one line."""
    together: list[Line] = []
    for line in lines:
        if together and together[-1].also is None and _same_file(together[-1].ref, line.ref):
            together[-1] = replace(together[-1], also=line)
        else:
            together.append(line)
    return together


def _same_file(first: SourceRef | None, second: SourceRef | None) -> bool:
    if first is None or second is None or first.line is None or second.line is None:
        return False
    return (first.path, first.tree) == (second.path, second.tree)


def _places(hop: Hop) -> list[Line]:
    if hop.kind == "impl":
        return impl_lines(hop)
    if hop.kind == "node" and hop.node is not None and hop.node.recorded:
        formulas = formulas_of(hop)
        return [Line("place", "", hop.source), *([Line("note", formulas)] if formulas else [])]
    if hop.node is not None and hop.node.reached:
        node = hop.node.reached
        note = says.ErrorBeforeNode(node=node) if hop.node.failed else says.TakesGradient(node=node)
        return [Line("place", "", hop.source), Line("note", described((note,)))]
    if hop.kind in ("stub", "native") and hop.registration is not None:
        return [Line("place", "", hop.source), _place(says.RegisteredAt(), hop.registration)]
    lines = [Line("place", "", hop.source)]
    if hop.operator is not None and hop.operator.yaml is not None:
        entry = Line("place", "", hop.operator.yaml)
        lines = [entry, *lines] if hop.source.line or hop.source.candidates else [entry]
    if hop.binding is not None and hop.binding.assigned is not None:
        lines = [Line("place", "", hop.binding.assigned), *lines]
    if hop.registration is not None and hop.registration.line:
        lines = [*(lines if leads_somewhere(hop.source) else []), Line("place", "", hop.registration)]
    if hop.declaration is not None and not leads_somewhere(hop.source):
        lines = [_place(says.DeclaredAt(), hop.declaration)]
    elif hop.declaration is not None and hop.source.precision == "version-skew":
        lines = [_place(says.DeclaredAt(), hop.declaration), *lines]
    if hop.derivative is not None and hop.source.path != hop.derivative.source.path:
        lines += [
            _place(says.FormulaFor(inputs=(f.inputs,)), replace(hop.derivative.source, line=f.line, end_line=None))
            for f in run_formulas(hop)
        ]
    return lines


def leads_somewhere(ref: SourceRef) -> bool:
    """Whether a reference has a line, or several candidate lines."""
    return ref.line is not None or bool(ref.candidates)


def impl_lines(hop: Hop, label: str = "") -> list[Line]:
    """Returns the place of a hand-written function: its body if a tree has it, else its declaration ("declared at").

    If the body is from another version, the declaration is shown too, since the declaration is from the running
    version.
    """
    body = Line("place", label, hop.source)
    if hop.declaration is None or (leads_somewhere(hop.source) and hop.source.precision != "version-skew"):
        return [body]
    declared = _place(says.DeclaredAt(label=label), hop.declaration)
    return [declared, Line("place", "", hop.source)] if leads_somewhere(hop.source) else [declared]
