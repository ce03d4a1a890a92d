"""The sentences about the end of a run, each with its label in the margin."""

from __future__ import annotations

from collections.abc import Mapping

from ptexplore.model import ending_remarks as says
from ptexplore.model.ending_remarks import EndingRemark
from ptexplore.view.words.templates import Catalogue, filled

MARGIN = 13  # characters; a space follows
_THAN_MARGIN = " "  # after a label longer than the margin

ENGLISH: Catalogue = {
    # --- what ended, and how ---
    says.TheExpression: "the expression",
    says.ItsBackward: "its backward",
    says.TheScript: "the script",
    says.TheBlock: "the recorded block",
    says.RaisedAtEnd: "{stage} raised {exception}[, {where}][: {words}]",
    says.RaisedElsewhere: "which was raised in {where}",
    says.CameFrom: "in {where}",
    says.Killed: "{stage} was killed by {signal}[: {words}]",
    says.Exited: "{stage} ended its own process by {by}[: {words}]",
    says.TimedOut: "{stage} was ended by --timeout[: {words}]",
    # --- the place ---
    says.DidYouMean: "{names: or }?",
    says.InTheCall: "{call}",
    says.YourLine: "{function}",
    says.InModule: "{module}",
    says.RaisedIn: "{function}, {how}",
    says.ThrownBy: "{function}",
    says.NotKnown: "not known",
    says.InCpp: "{function}",
    says.PythonLeft: "{function}",
    says.WasInPython: "{function}",
    says.RaisedThere: "{function}",
    says.YourCode: "{function}",
    says.FurtherOut: "{function}",
    says.MoreAround: "… {few} more{explained#: --explain error|}",
    says.WrittenAt: "{of}: {text}[, in {function}]",
    says.SomewhereIn: "{of}, somewhere in {function}, which begins at",
    # --- the hop, and the arguments ---
    says.LeftStep: "{step} {title}[, inside it {inner}]",
    says.StepInside: "{step}{step# |}{name}",
    says.ItWasGiven: "{arguments}",
    says.GivenTo: "{op}: {arguments}",
    says.ArgumentGiven: "{name}: {what}",
    says.InMemory: "{words}",
    says.WhatFailed: "{check}",
    says.ComparedAtEnd: "{values:; }",
    says.ValueCompared: "{text}, {what}[ of {argument}]",
    # --- other errors ---
    says.RaisedFrom: "{error}[, raised in {function}]",
    says.InHandling: "{error}[, raised in {function}]",
    says.ErrorSays: "{exception}[: {message}]",
    # --- the reason, and the remedy ---
    says.TorchsHint: "{hint}",
    says.Why: "{words}",
    says.ForExample: "{makes}: the index in each cell of its storage. {call} would need them in order",
    says.CellsDrawn: "{line}",
    says.ToMend: "{words}",
    says.CaseIs: "{sign}",
    says.ToMendCase: "{words}",
    # --- a missing kernel ---
    says.KernelIsThere: (
        "this torch has a kernel of {op} for {key}: the message is from another torch, or from another build"
    ),
    says.KernelMissing: (
        "{op} has no kernel for {key};[ {arguments} brought that key]{arguments#| it is not known which argument "
        "brought that key}"
    ),
    says.OwnKernels: "{keys}",
    says.DefaultKernel: "a default kernel for {few} other key{few#|s}[, {cpu: and } among them]",
    says.ToMakeItRun: "{ways:, or }",
    says.ConvertFirst: ".{conversion} first",
    says.RegisterKernel: 'a kernel of your own: m.impl("{base}", …) in a TORCH_LIBRARY_IMPL of {key}',
    says.NeighbourRegistered: "for example, {op} has one, registered at",
    # --- a tensor that was modified in place ---
    says.TheTensor: "{tensor}: {made}[, {recorded}]",
    says.ALeaf: "a leaf",
    says.ResultOf: "result {ordinal} of {node}",
    says.ViewRecordedAnew: "or a view that autograd recorded again after its base was changed in place",
    says.WhichRecord: "a node of {operators: or } or of a variant (in place, foreach)",
    says.ChangedInPlace: "in place {times} after it was saved: {since}",
    says.Once: "once",
    says.Times: "{few} time{few#|s}",
    says.NoSuchVersions: "{since}: these numbers are impossible; is the message complete?",
    says.Versions: "version {saved} was saved for backward, the tensor is at version {now}",
    says.ChangedBy: "{operators}",
    says.MayHaveChanged: "changed by one or more of {operators}",
    says.SavedBy: "{node}[, {recorded}]",
    says.ANode: "a node",
    says.NodeInsideOf: "the node inside {node}",
    says.MayBeFrom: (
        "operators that wrote to its memory after that: {operators}; writes that the tensor counts: {writes}"
    ),
    says.FirstWriter: "{operators: and }[{operators#, |}{versions}]",
    says.FurtherWriter: "{operators: and }[{operators#, |}{versions}]",
    says.VersionsPassed: "version {before} to {after}",
    says.MoreWriters: "and {few} more",
    says.WritersDerived: (
        "derived: these operators wrote to its memory after that, and the tensor counts the same number of writes"
    ),
    says.WhoWrote: "{command}  runs it once more, and watches the tensor",
    says.ToSeeWriters: "{command}  runs it once more, and watches the tensor",
    # --- a graph that was freed ---
    says.TheNode: "{node}, recorded by {operator}[ before backward {ordinal}]",
    says.FreedBy: "[backward {ordinal} of {few}]",
    says.UsedSinceBy: "{operator}",
    says.UsedFurtherBy: "{operator}",
    says.HeldBy: "{names}",
    says.LedToBy: "{names}",
    # --- what is known from the text of an error ---
    says.NoSuchOperatorAtEnd: "{op}: this torch has no operator with that name, so there is no table to show",
    says.ItNames: "{name}",
    says.ItsText: "{text}",
    says.OperatorsNamed: "{names}",
    says.OfRanks: "{ranks}[: {error}]",
    says.PythonLeftAt: "[{function} ]{path}:{line} (as the text says)",
    says.WordsAt: "{function}",
    says.OneOfThese: "“{words}” is in each of these places; the text does not say which of them raised the error",
    says.WordsInLibrary: "{libraries: and }: “{words}”; its line is only in the C++ source (ptexplore fetch)",
    says.LibraryToo: "{libraries: and }; its line is only in the C++ source (ptexplore fetch)",
    says.WordsNowhere: "not known: no long part of this text was found in the files and libraries of this torch",
    says.RaisedWhere: "raised[ by {function}()] where this holds: {condition}",
    says.RaisedUnless: "raised[ by {function}()] unless this holds: {condition}",
    says.CutOff: "the text ends inside the part that names the operator and its dispatch key: paste the whole message",
    says.NoExplanation: "not known",
}
# The label of a remark, in the margin. A remark that continues the line before has no label.
LABELS: Mapping[type[EndingRemark], str] = {
    says.DidYouMean: "did you mean",
    says.InTheCall: "in the call",
    says.YourLine: "your line",
    says.InModule: "in module",
    says.RaisedIn: "raised in",
    says.ThrownBy: "thrown by",
    says.InCpp: "in C++",
    says.PythonLeft: "Python stack",
    says.WasInPython: "in Python",
    says.RaisedThere: "raised there",
    says.YourCode: "your code",
    says.FurtherOut: "",
    says.LibraryToo: "",
    says.MoreAround: "",
    says.LeftStep: "in row",
    says.ItWasGiven: "arguments",
    says.GivenTo: "arguments of",
    says.InMemory: "in memory",
    says.WhatFailed: "failed check",
    says.ComparedAtEnd: "compared",
    says.RaisedFrom: "raised from",
    says.InHandling: "handling",
    says.TorchsHint: "torch's hint",
    says.Why: "why",
    says.ForExample: "for example",
    says.CellsDrawn: "",
    says.ToMend: "to fix it",
    says.CaseIs: "if",
    says.ToMendCase: "  to fix it",
    says.KernelIsThere: "why",
    says.KernelMissing: "why",
    says.OwnKernels: f"own kernels for{_THAN_MARGIN}",
    says.ToMakeItRun: f"to make it run{_THAN_MARGIN}",
    says.TheTensor: "the tensor",
    says.ChangedInPlace: "changed",
    says.NoSuchVersions: "versions",
    says.ChangedBy: "changed by",
    says.SavedBy: "saved by",
    says.MayBeFrom: "may be from",
    says.FirstWriter: "changed by",
    says.FurtherWriter: "",
    says.MoreWriters: "",
    says.WritersDerived: "",
    says.WhoWrote: "who wrote?",
    says.ToSeeWriters: "to see it",
    says.TheNode: "the node",
    says.FreedBy: "freed by",
    says.UsedSinceBy: "used later by",
    says.UsedFurtherBy: "",
    says.HeldBy: "held by",
    says.LedToBy: "reached from",
    says.ItNames: "names",
    says.ItsText: "source",
    says.OperatorsNamed: "operators",
    says.OfRanks: "ranks",
    says.PythonLeftAt: "Python stack",
    says.WordsAt: "written in",
    says.OneOfThese: "",
    says.WordsInLibrary: "written in",
    says.WordsNowhere: "written in",
    says.RaisedWhere: "why",
    says.RaisedUnless: "why",
    says.CutOff: "why",
    says.NoExplanation: "why",
}


def ending_in_words(remark: EndingRemark) -> str:
    """Returns a remark in words, after its label in the margin."""
    text = filled(ENGLISH[type(remark)], remark, ending_in_words)
    label = LABELS.get(type(remark))
    if label is None:
        return text
    return f"{label:{MARGIN}}{f' {text}' if text else ''}"
