"""Entries of derivatives.yaml: their formulas with lines, and which input each edge of a node belongs to."""

from __future__ import annotations

from typing import Literal

from ptexplore.model.operators import Derivative, Formula
from ptexplore.model.place_reasons import NoGeneratedApply
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import DerivativeRef, FormulaRef
from ptexplore.resolve.dispatch.schema import arguments
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime, unknown
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store

NO_EDGE = ("non_differentiable",)  # instead of a formula: the input has no edge


def entry_of(store: Store, tree: SourceTree, derivative: Derivative) -> DerivativeRef:
    """Returns the reference to a derivative: the entry, and each formula with its line and its calls."""
    operator = store.operator(derivative.source_op)
    schema = operator.schema if operator else ""
    return DerivativeRef(
        source=in_runtime(tree, derivative.path, derivative.line, derivative.end_line),
        op=derivative.source_op,
        node=derivative.node,
        matched=derivative.matched,
        formulas=tuple(
            FormulaRef(f.inputs, f.line, mode(schema, f), tuple(f.calls), f.text) for f in derivative.formulas
        ),
    )


def mode(schema: str, formula: Formula) -> Literal["backward", "forward"]:
    """Returns the direction of a formula: "backward" if it is for inputs, "forward" if it is named after an output.

    `schema` is the schema of the entry's operator. Source: the head comment of tools/autograd/derivatives.yaml.
    """
    names = {a.name for a in arguments(schema)}
    return "backward" if {n.strip() for n in formula.inputs.split(",")} <= names else "forward"


def inputs_of_edges(store: Store, derivative: Derivative, entry: DerivativeRef, edges: int) -> tuple[str, ...] | None:
    """Returns the name of the input for each edge of a node; None if edges cannot be matched to inputs.

    A node has one edge for each tensor with a formula, in the order of the schema (set_next_edges of
    tools/autograd/gen_variable_type.py). A list of tensors has one edge for each tensor.
    """
    operator = store.operator(derivative.source_op)
    if operator is None:
        return None
    formulas = [f for f in entry.formulas if f.mode == "backward" and f.text.strip() not in NO_EDGE]
    named = {name.strip() for f in formulas for name in f.inputs.split(",")}
    inputs = [argument for argument in arguments(operator.schema) if argument.name in named]
    if len(inputs) != edges or len(inputs) != len(named) or any("[]" in a.type for a in inputs):
        return None
    return tuple(argument.name for argument in inputs)


def handwritten_apply(lookup: Lookup, name: str) -> SourceRef:
    """Returns the `apply` of a node in hand-written C++, if a source has it."""
    apply = lookup.function(f"{name if '::' in name else f'torch::autograd::{name}'}::apply")
    return apply if apply.precision != "unknown" else unknown(NoGeneratedApply(name))
