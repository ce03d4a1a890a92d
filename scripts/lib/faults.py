"""Sixty faults in the rules of resolve/ and of the C++ names it reads: each is one small change that breaks one rule.

They were chosen from the rules, module by module, before anybody looked at which of them the tests notice. Where the
code around one changes, `old` and `new` follow it, and the rule stays the same.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One planted fault: the file below ptexplore/, the exact text there, what replaces it, the rule that breaks."""

    file: str
    old: str
    new: str
    rule: str


# Two passes of resolve/trace.py::PASSES, which stand one behind the other.
_KEYS = (
    "    Step(reasoning.reason,\n"
    '         "operators with names, bindings with places; the key sets that were read, the dispatcher\'s tables",\n'
    '         "below each operator call: its keys and kernels, and the functions that the text of a kernel calls"),\n'
)
_NODES = (
    "    Step(autograd.link,\n"
    '         "kernels; the result\'s graph, what is kept for backward",\n'
    '         "the nodes that a call recorded; for a node that ran: its formula, its forward call, its kept bytes"),\n'
)

FAULTS = (
    # --- the event trees, the user's calls, numbers ---
    Fault(
        "resolve/claims.py",
        'return self.events("frames") or self.events("ops")',
        'return self.events("ops") or self.events("frames")',
        "the frames pass gives the tree where there is one",
    ),
    Fault(
        "resolve/merge.py",
        "evidence = (seen, known.agreed[seen]) if seen in known.agreed else (seen,)",
        "evidence = (seen,)",
        "where both passes ran the same operators, a hop names both observations",
    ),
    Fault(
        "resolve/claims.py",
        "return dispatched if same else None",
        "return dispatched",
        "a dispatch pass that ran other operators says nothing of these calls",
    ),
    Fault(
        "resolve/merge.py",
        "in TENSOR_SYNTAX and call.callable.table:",
        "in TENSOR_SYNTAX:",
        "a call that ran no operator is shown only where it is torch's own",
    ),
    Fault(
        "resolve/claims.py",
        'ranked[2 if claim.hop.kind == "closed" else int(mere)]',
        'ranked[0 if claim.hop.kind == "closed" else int(mere)]',
        "code whose source is closed is numbered last",
    ),
    Fault(
        "resolve/claims.py",
        "self.changed[op] if op in self.changed else self.store.table(op)",
        "self.store.table(op)",
        "the traced process's own table counts where it differs",
    ),
    Fault(
        "resolve/trace.py",
        "".join((_KEYS, _NODES)),
        "".join((_NODES, _KEYS)),
        "autograd's nodes are linked after the kernels are there",
    ),
    # --- autograd, findings ---
    Fault(
        "resolve/autograd.py",
        "if derivative is not None and derivative.node == node:\n            return call, derivative",
        "if derivative is not None:\n            return call, derivative",
        "a forward kernel records a node only where its derivative makes that node",
    ),
    Fault(
        "resolve/autograd.py",
        'run = [f for f in entry.formulas if f.mode == "backward" and f.needed is not False]',
        "run = [f for f in entry.formulas if f.needed is not False]",
        "a forward-mode formula does not run in backward",
    ),
    Fault(
        "resolve/autograd.py",
        "if len({(d.path, d.line) for d in derivatives}) == 1:",
        "if derivatives:",
        "a node that several entries make is given no formula",
    ),
    Fault(
        "resolve/trace.py",
        "SteppedResult(equal=False):",
        "SteppedResult(equal=False | None):",
        "a result that was not compared does not differ",
    ),
    # --- dispatch: the sets ---
    Fault(
        "resolve/dispatch/reasoning.py",
        "keys = context.keys.difference(arguments.raw | state.include, state.exclude)\n",
        "keys = context.keys.difference(arguments.raw, state.exclude) | state.include\n",
        "the set is (arguments | include) - exclude",
    ),
    Fault(
        "resolve/dispatch/reasoning.py",
        "keys = context.keys.without(keys, name)",
        "pass",
        "a key whose entry is a fallthrough is masked out",
    ),
    Fault(
        "resolve/dispatch/reasoning.py",
        "current &= context.keys.after(then.after)",
        "current = context.keys.after(then.after)",
        "a redispatch goes on with what is left of its own set",
    ),
    Fault(
        "resolve/dispatch/reasoning.py",
        "if self.arguments.observed and self.state.certain and shown",
        "if self.arguments.observed and shown",
        "what follows from a state that nobody read is a prediction",
    ),
    Fault(
        "resolve/dispatch/reasoning.py",
        "call.claim.hop.evidence + call.arguments.evidence + call.state.evidence",
        "call.claim.hop.evidence + call.arguments.evidence",
        "a key names the observation of the thread-local sets",
    ),
    Fault(
        "resolve/keyset.py",
        "self._pairs.setdefault((functionality, bit), prefix + other)",
        "self._pairs.setdefault((functionality, bit), other)",
        "a pair that torch's parser does not know is named by its functionality and its backend",
    ),
    Fault(
        "resolve/dispatch/starting_sets.py",
        '("BackendSelect", "ADInplaceOrView")',
        '("BackendSelect",)',
        "c10's default include set has both",
    ),
    Fault(
        "resolve/dispatch/starting_sets.py",
        "why=InHandWrittenBinding(), certain=False)",
        "why=InHandWrittenBinding(), certain=True)",
        "a hand-written binding may hold a guard that is not followed",
    ),
    Fault(
        "resolve/dispatch/starting_sets.py",
        "if innermost in LAYERS:",
        "if innermost == LAYERS[0]:",
        "both layers of a function transform set the state anew",
    ),
    Fault(
        "resolve/dispatch/starting_sets.py",
        "BELOW in following for",
        "BELOW in line for",
        "a factory holds its guard on the line below its head",
    ),
    Fault(
        "resolve/dispatch/starting_sets.py",
        "raw = raw if since <= position else None",
        "raw = raw if since >= 0 else None",
        "an address counts from the call that recorded it: another tensor may have lain there before",
    ),
    Fault(
        "resolve/dispatch/starting_sets.py",
        "if since < position and",
        "if since <= position and",
        "what an operator makes is not among its own arguments",
    ),
    # --- dispatch: operators and schemas ---
    Fault(
        "resolve/dispatch/operator_calls.py",
        "if len(matching) == 1:",
        "if matching:",
        "an overload is named only where one alone takes the inputs",
    ),
    Fault(
        "resolve/dispatch/operator_calls.py",
        "if body is None or _BRANCH.search(body):",
        "if body is None:",
        "a kernel with branches need not call what its text names",
    ),
    Fault(
        "resolve/dispatch/operator_calls.py",
        'if source.precision != "located" or source.end_line is None:',
        "if source.end_line is None:",
        "only text of the running version tells overloads apart",
    ),
    Fault(
        "resolve/dispatch/schema.py",
        '_ALWAYS_RECORDED = {"Tensor", "int",',
        '_ALWAYS_RECORDED = {"Tensor", "Scalar", "int",',
        "the profiler keeps no complex Scalar, so that one may be missing",
    ),
    Fault(
        "resolve/dispatch/schema.py",
        'any("!" not in alias for alias in _ALIAS.findall(given))',
        "any(_ALIAS.findall(given))",
        "an argument that is only written to lends its memory to no result",
    ),
    # --- dispatch: kernels ---
    Fault(
        "facts/redispatch.py",
        'SetAfter("after_ADInplaceOrView_keyset", "ADInplaceOrView",',
        'SetAfter("after_ADInplaceOrView_keyset", "AutogradOther",',
        "the ADInplaceOrView kernel goes on below its own key",
    ),
    Fault(
        "resolve/dispatch/redispatch.py",
        "if guard in line:\n            return False",
        "if guard in line:\n            continue",
        "what a kernel calls below its guard is called under that guard",
    ),
    Fault(
        "resolve/dispatch/kernel_bodies.py",
        "active = [r for r in store.registrations(op) if not r.inactive]",
        "active = store.registrations(op)",
        "a registration that another one replaced is not behind the table's entry",
    ),
    Fault(
        "resolve/dispatch/kernel_bodies.py",
        "if k.key in (registration.key, None) and k.line]",
        "if k.line]",
        "a Python kernel is that of the registration's own key",
    ),
    Fault(
        "resolve/dispatch/kernel_bodies.py",
        "[r for r in at_line if r.key == key] or at_line",
        "at_line",
        "of several registrations at one line the key's own is behind the entry",
    ),
    Fault(
        "resolve/places/stubs.py",
        '(device == "CPU" and context in CAPABILITIES)',
        "(context in CAPABILITIES)",
        "CPU capabilities are of no other device",
    ),
    Fault(
        "resolve/places/stubs.py",
        "return functions if len(functions) == 1 else []",
        "return functions[:1]",
        "of two functions of one name in a file neither is followed",
    ),
    Fault(
        "resolve/places/stubs.py",
        "source.conditions.holds(row.guards, row.path) is not False]\n            if sum",
        "row.path]\n            if sum",
        "what the build leaves out registers no kernel",
    ),
    Fault(
        "resolve/dispatch/kernel_hops.py",
        "if len(devices) == 1 else None",
        "if devices else None",
        "tensors on two devices tell no device",
    ),
    # --- places ---
    Fault(
        "resolve/places/precision.py",
        'if recorded and relation != "version-skew":',
        "if recorded:",
        "a line of another version's tree is never more than version-skew",
    ),
    Fault(
        "resolve/places/precision.py",
        'if relation in ("runtime", "matches"):',
        'if relation in ("runtime", "matches", "consistent"):',
        "a consistent tree locates nothing",
    ),
    Fault(
        "resolve/places/lookup.py",
        "confirmed=source.checkout is not None)",
        "confirmed=True)",
        "a source without text confirms no record",
    ),
    Fault(
        "resolve/places/lookup.py",
        "if len(rows) == 1 and rows[0].block is not None:",
        "if rows and rows[0].block is not None:",
        "in another version's tree two registrations of one operator tell nothing",
    ),
    Fault(
        "resolve/places/sources.py",
        "for depth in range(len(scope), -1, -1)]",
        "for depth in range(len(scope), 0, -1)]",
        "a name can mean the global namespace's",
    ),
    Fault(
        "resolve/places/lookup.py",
        "several(places, lambda count: place_reasons.DeclaredTimes(qualified, count)) if places else None",
        "places[0] if places else None",
        "of overloads that nothing tells apart none is chosen",
    ),
    Fault(
        "resolve/python_places.py",
        "enumerate(lines, first) if wanted",
        "enumerate(lines, first - 1) if wanted",
        "a decorated function stands at the line of its def",
    ),
    Fault(
        "resolve/places/relation.py",
        'return None if checkout.modified else "matches"',
        'return "matches"',
        "a modified checkout does not match",
    ),
    Fault(
        "resolve/places/relation.py",
        "if records.confirmed != records.total:",
        "if not records.confirmed:",
        "one record that misses makes a tree another version's",
    ),
    # --- native ---
    Fault(
        "resolve/native/join.py",
        'if seen.kind in ("entry", "boxed-call"):\n            return None',
        'if seen.kind in ("entry", "boxed-call"):\n            continue',
        "a handle below another call is that call's",
    ),
    Fault(
        "resolve/native/chain.py",
        'if s.number < frame.number and s.function.landmark.kind == "lookup"]',
        'if s.function.landmark.kind == "lookup"]',
        "a table lookup after a boundary says nothing of it",
    ),
    Fault(
        "resolve/native/conclude.py",
        "if ran[: len(keys)] != keys:",
        "if ran != keys:",
        "a prediction that ends early is not wrong",
    ),
    Fault(
        "resolve/native/conclude.py",
        'if was.tree == "runtime" and was.precision in ("located", "registered"):',
        'if was.precision in ("located", "registered"):',
        "a kernel of another tree's text that did not run is no finding",
    ),
    Fault(
        "resolve/native/conclude.py",
        "at = parent.children.index(after) + 1 if after is not None else 0",
        "at = parent.children.index(after) if after is not None else 0",
        "what left no frame stands behind its neighbour",
    ),
    Fault(
        "resolve/native/join.py",
        "is_other = stepped.calls.of is not None and len(called) != stepped.calls.of",
        "is_other = stepped.calls.of is None and bool(called)",
        "a run that called the operator another number of times tells nothing by numbers",
    ),
    Fault(
        "resolve/native/lambdas.py",
        "sure = sure and number in (1, written.index(fitting[0]) + 1)",
        "sure = sure and number >= 1",
        "a lambda whose number the text does not have is not sure",
    ),
    Fault(
        "resolve/native/call_tree.py",
        "register=None if hidden is None else 1 + hidden)",
        "register=None if hidden is None else 2 - hidden)",
        "a hidden first argument moves the set by one register",
    ),
    Fault(
        "resolve/native/seen.py",
        "if mine and region.holds(frame) and frame not in taken:",
        "if mine and region.holds(frame):",
        "one frame is one hop's only",
    ),
    Fault(
        "resolve/native/sites.py",
        "if len(generated) == 1:",
        "if generated:",
        "two generated definitions of one name are both listed",
    ),
    Fault(
        "cpp/symbol_names.py",
        "if part.name != ANONYMOUS and part.name not in CAPABILITIES]",
        "if part.name != ANONYMOUS]",
        "the namespace of a CPU capability is not in the source",
    ),
    Fault(
        "cpp/types.py",
        '"size_t": "unsigned long",',
        '"size_t": "unsigned int",',
        "size_t is an unsigned long",
    ),
    Fault(
        "resolve/native/call_tree.py",
        "(library in calls.closed and not library.startswith(TORCHS)),",
        "library in calls.closed,",
        "torch's own libraries are open",
    ),
    Fault(
        "cpp/matching.py",
        "left = [symbol for symbol in visible if conditions.holds(symbol.guards, symbol.path) is not False]",
        "left = [symbol for symbol in visible if conditions.holds(symbol.guards, symbol.path)]",
        "a condition that nothing decides rules nothing out",
    ),
)
