"""Rewrite an expression's tree so that each call, operator, subscript and attribute passes a recorder on its way.

A call stays where it is: the recorder is handed the function and the arguments, and the expression's own frame
then makes the call, so `locals()`, `eval()` and whoever looks at its caller's frame see what they always see.
Evaluation order and short circuits stay. Lambdas, generators and f-strings run later, elsewhere or under
columns of their own; their insides are left alone.
"""

from __future__ import annotations

import ast
from typing import Any

SOURCE_LIMIT = 2000  # characters kept of one step's source

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not"}


class Rewriter(ast.NodeTransformer):
    """Puts calls of `helper`'s methods into a tree; `sites` says for each step what it is and where it stands."""

    def __init__(self, source: str, helper: str) -> None:
        self.source = source
        self.helper = helper
        self.sites: list[dict[str, Any]] = []

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        # The first iterable alone is evaluated here and now.
        node.generators[0].iter = self.visit(node.generators[0].iter)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node

    def visit_TemplateStr(self, node: ast.expr) -> ast.expr:
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        site = self._site(node, "call")
        callee = self._ask(node, "callee", site, self._callee(node.func))
        arguments = self._ask(node, "arguments", site, *[self.visit(argument) for argument in node.args])
        arguments.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        keywords = ast.keyword(None, self._ask(node, "keywords"))
        made = ast.Call(callee, [ast.Starred(arguments, ast.Load())], [keywords])
        return self._ask(node, "end", site, ast.copy_location(made, node))

    def _callee(self, node: ast.expr) -> ast.expr:
        """The function of a call: looking a method up is no step of its own, the call says which method it is."""
        if isinstance(node, ast.Attribute):
            return ast.copy_location(ast.Attribute(self.visit(node.value), node.attr, node.ctx), node)
        return self._visited(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            return node
        name = ast.Constant(BINARY[type(node.op)])
        site = self._site(node, "binop")
        return self._ask(node, "binary", site, name, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.operand, ast.Constant):
            return node
        site = self._site(node, "unaryop")
        return self._ask(node, "unary", site, ast.Constant(UNARY[type(node.op)]), self.visit(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """`a < b < c` becomes `a < b and b < c` with b evaluated once, as Python does it."""
        operands = [self.visit(node.left), *[self.visit(operand) for operand in node.comparators]]
        steps: list[ast.expr] = []
        kept: ast.Constant | None = None
        for number, operation in enumerate(node.ops):
            left = operands[number] if kept is None else self._ask(node, "kept", kept)
            right = operands[number + 1]
            kept = None
            if number + 1 < len(node.ops):
                kept = self._site(node, "compare")
                right = self._ask(node, "keep", kept, right)
            steps.append(self._compare(node, operation, left, right))
        return steps[0] if len(steps) == 1 else ast.copy_location(ast.BoolOp(ast.And(), steps), node)

    def _compare(self, node: ast.Compare, operation: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
        name = COMPARE.get(type(operation))
        if name is not None:
            return self._ask(node, "compare", self._site(node, "compare"), ast.Constant(name), left, right)
        if isinstance(operation, (ast.In, ast.NotIn)):
            found: ast.expr = self._ask(node, "contains", self._site(node, "compare"), left, right)
            negated = isinstance(operation, ast.NotIn)
            return ast.copy_location(ast.UnaryOp(ast.Not(), found), node) if negated else found
        return ast.copy_location(ast.Compare(left, [operation], [right]), node)  # `is` calls nothing

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        site = self._site(node, "subscript")
        return self._ask(node, "item", site, self.visit(node.value), self._index(node.slice))

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            parts = [
                self.visit(p) if p is not None else ast.Constant(None) for p in (node.lower, node.upper, node.step)
            ]
            return self._ask(node, "slice", *parts)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._index(e) for e in node.elts], ast.Load()), node)
        return self._visited(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        site = self._site(node, "attribute")
        return self._ask(node, "attribute", site, self.visit(node.value), ast.Constant(node.attr))

    def _visited(self, node: ast.expr) -> ast.expr:
        changed: ast.expr = self.visit(node)
        return changed

    def _site(self, node: ast.expr, syntax: str) -> ast.Constant:
        self.sites.append(
            {
                "source": (ast.get_source_segment(self.source, node) or "")[:SOURCE_LIMIT],
                "line": node.lineno,
                "col": node.col_offset,
                "end_col": node.end_col_offset,
                "syntax": syntax,
            }
        )
        return ast.Constant(len(self.sites) - 1)

    def _ask(self, node: ast.expr, method: str, *arguments: ast.expr) -> ast.Call:
        function = ast.Attribute(ast.Name(self.helper, ast.Load()), method, ast.Load())
        return ast.copy_location(ast.Call(function, list(arguments), []), node)


def rewrite(tree: ast.Expression, source: str, helper: str) -> tuple[ast.Expression, list[dict[str, Any]]]:
    """The instrumented tree and its sites. The namespace must hold the recorder under `helper`."""
    rewriter = Rewriter(source, helper)
    changed = ast.fix_missing_locations(rewriter.visit(tree))
    return changed, rewriter.sites
