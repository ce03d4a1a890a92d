"""Reasons and details in words: each code has its template, a template speaks of all that its code holds."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields, is_dataclass

import pytest
from msgspec import Struct

from ptexplore.capture.not_captured import NotCaptured
from ptexplore.model import details as says
from ptexplore.model import ending_remarks, place_reasons, reasons, tensor_facts, trace_remarks
from ptexplore.model import remarks as says_beside
from ptexplore.model.actions import Action, Diagnose, GiveLonger, StepOperator
from ptexplore.model.codes import Reason, every
from ptexplore.model.ending_remarks import EndingRemark
from ptexplore.model.ladder import RUNGS, CoreReason, RungState
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view import words
from ptexplore.view.words import causes, details, ending, ladder, places, remarks, tensors, weights
from ptexplore.view.words import trace_remarks as of_traces
from ptexplore.view.words.actions import AS_COMMANDS, IN_PYTHON, as_command, in_python
from ptexplore.view.words.details import described
from ptexplore.view.words.ending import ending_in_words
from ptexplore.view.words.errors import in_words
from ptexplore.view.words.reasons import ENGLISH, sentence
from ptexplore.view.words.templates import Catalogue, filled, names
from ptexplore.view.words.trace_remarks import worded
from ptexplore.view.words.uses import certainty_in_words
from tests import nonsense


class Given(Struct, frozen=True):
    """A record to speak of."""

    one: str
    several: tuple[str, ...] = ()
    further: str = ""
    count: int = 0
    is_so: bool = False


CODES = [code for code in every(Reason) if code not in place_reasons.KINDS]
ALL = {**ENGLISH, **places.ENGLISH}
WORDED = {**ALL, **details.ENGLISH, **of_traces.ENGLISH, **ending.ENGLISH}


def test_each_code_has_a_template_that_speaks_of_all_its_arguments() -> None:
    for kind in CODES:
        assert names(ALL[kind]) == set(kind.__struct_fields__) - {"text"}, kind
    assert set(ALL) == set(CODES)
    of_places = {code for code in CODES if issubclass(code, place_reasons.PlaceReason)}
    assert set(places.ENGLISH) == of_places | {reasons.Said, reasons.UnknownCode}, (
        "what a search loads has the words of all places"
    )


def test_each_fact_about_a_tensor_has_a_template_that_speaks_of_all_its_arguments() -> None:
    for kind in tensor_facts.facts():
        assert names(tensors.ENGLISH[kind]) == set(kind.__struct_fields__), kind
    assert set(tensors.ENGLISH) == set(tensor_facts.facts())


def test_each_detail_has_a_template_that_speaks_of_all_its_arguments() -> None:
    for kind in says.codes():
        assert names(details.ENGLISH[kind]) == set(kind.__struct_fields__), kind
    assert set(details.ENGLISH) == set(says.codes())


@pytest.mark.parametrize(("kind", "catalogue"), [(TraceRemark, of_traces.ENGLISH), (EndingRemark, ending.ENGLISH)])
def test_each_remark_of_a_trace_has_a_template_that_speaks_of_all_its_arguments(
    kind: type[Struct], catalogue: Catalogue
) -> None:
    for code in every(kind):
        assert names(catalogue[code]) == set(code.__struct_fields__), code
    assert set(catalogue) == set(every(kind))


def test_each_code_of_a_ladder_has_a_template_that_speaks_of_all_its_arguments() -> None:
    codes = {*every(CoreReason), *every(RungState)}
    for code in codes:
        assert names(ladder.ENGLISH[code]) == set(code.__struct_fields__), code
    assert set(ladder.ENGLISH) == codes
    assert set(ladder.RUNGS) == set(RUNGS)


def test_each_verb_is_spelled_with_all_its_arguments() -> None:
    assert {kind: names(text) for kind, text in AS_COMMANDS.items()} == {
        kind: set(kind.__struct_fields__) for kind in Action.__subclasses__()
    }


def test_each_remark_has_words_that_speak_of_all_its_arguments() -> None:
    told_otherwise = {says_beside.MeanOther, says_beside.FoundByName}
    told_otherwise |= {says_beside.TypesNotIndexed, says_beside.ValuesNotIndexed}  # the site has their words in a table
    kinds = {kind for kind in vars(says_beside).values() if isinstance(kind, type) and is_dataclass(kind)}
    for kind, template in remarks.ENGLISH.items():
        whole = template + remarks.NAMED.get(kind, "") + remarks.TYPED.get(kind, "")
        assert names(whole) == {field.name for field in fields(kind)}, kind
    assert set(remarks.ENGLISH) == kinds - told_otherwise - {says_beside.AnswerRemark}


@pytest.mark.words
def test_a_remark_is_one_sentence() -> None:
    told = remarks.remark_in_words
    other = says_beside.MeanOther(4, 0, (("a::f", 5), ("b::f", 1)), 3)
    assert told(other).startswith("4 more lines with the name mean something else, by the text before the name")
    assert told(other).endswith("(a::f ×5, b::f ×1, … (3 spellings))")
    assert told(says_beside.FoundByName()).startswith("uses are found by name, not by types; overloads")
    assert told(says_beside.FoundByName(2)).startswith("uses are found by name, not by types; 2 definitions have")
    assert told(says_beside.ValuesNotIndexed("x")).endswith("ptexplore find --text x")
    assert told(says_beside.CopiesNotSearched("v", "v 2.6.0")) == (
        "lines in v 2.6.0's own copies of these files were not searched: --tree v"
    )
    assert "(a, b and 2 more)" in told(says_beside.IsRegistered("f", "f", ("a", "b"), 2))
    text = "lines of text that contain the query literally, "
    assert told(says_beside.LinesOfText(False, False)) == f"{text}capitals as typed"
    inside = "in small or capital letters; it may begin or end inside a word"
    assert told(says_beside.LinesOfText(True, True)) == text + inside


@pytest.mark.words
def test_how_many_lines_are_sure_is_one_sentence() -> None:
    assert certainty_in_words(1, 1, 2) == "it means one of the 2 definitions with that name"
    assert certainty_in_words(5, 3) == "3 mean this definition, 2 may mean another definition with that name"
    assert certainty_in_words(5, None) == ""


@pytest.mark.words
def test_an_action_is_spelled_by_who_shows_it() -> None:
    step = StepOperator("a b.py", "add.Tensor")
    assert as_command(step) == "ptexplore trace --script 'a b.py' --native-op add.Tensor"
    assert in_python(step) == "ptexplore.trace(script='a b.py', native_op='add.Tensor')"
    assert in_python(GiveLonger()) != as_command(GiveLonger())
    assert in_python(Diagnose()) == as_command(Diagnose())
    assert all("--" not in text for text in IN_PYTHON.values())


def test_an_error_gets_its_words_where_it_is_shown() -> None:
    """The workspace words it for a command line; Python's own interface, around that, in its own words."""
    with pytest.raises(NotCaptured) as caught, in_words(in_python), in_words():
        raise NotCaptured(reasons.NotEndedInTime(2.0), reasons.RunsTimeOver(GiveLonger()), GiveLonger())
    assert caught.value.message == str(caught.value) == sentence(reasons.NotEndedInTime(2.0))
    assert caught.value.why
    assert caught.value.hint == in_python(GiveLonger())


def test_no_two_codes_say_the_same() -> None:
    texts = {kind: text for kind, text in ALL.items() if names(text) != {"reasons"}}  # lists of other reasons
    assert len(set(texts.values())) == len(texts)


@pytest.mark.parametrize(
    ("template", "given", "expected"),
    [
        ("of {one}", Given("a"), "of a"),
        ("{several}; {several: and }", Given("", ("a", "b")), "a, b; a and b"),
        ("{one}[ through {several}], at {further}", Given("a", (), "c"), "a, at c"),
        ("{one}[ through {several}], at {further}", Given("a", ("b",), "c"), "a through b, at c"),
        ("{one}[ ({further})]", Given("a"), "a"),
        ("[{further}: ]{one}", Given("a", (), "x"), "x: a"),
        ("no argument", Given("a"), "no argument"),
        ("{count} call{count#|s}", Given("", count=1), "1 call"),
        ("{count} call{count#|s}", Given("", count=1200), "1,200 calls"),
        ("in {is_so#each|it}", Given("", is_so=True), "in each"),
        ("in {is_so#each|it}", Given(""), "in it"),
        ("{several}[{several# → |}{one}]", Given("a", ("b",)), "b → a"),
        ("{several}[{several# → |}{one}]", Given("a"), "a"),  # what is not shown itself leaves nothing out
        ("{several}[{several# → |}{one}]", Given("", ("b",)), "b"),
        ("{one}", Given("{further} [x]", (), "b"), "{further} [x]"),  # what an argument holds is no template
    ],
)
def test_a_template_is_filled(template: str, given: Given, expected: str) -> None:
    assert filled(template, given, str) == expected


def test_a_reason_stands_in_the_one_that_follows_from_it() -> None:
    wrapped = reasons.ArgumentSets(("a", "b"), reasons.NotRead(reasons.MayBeWrapped()))
    inner = sentence(reasons.MayBeWrapped())
    assert "a, b" in sentence(wrapped)
    assert sentence(wrapped).endswith(inner)
    assert sentence(reasons.KeyNotKnown(wrapped)).endswith(sentence(wrapped))
    both = reasons.Together((reasons.LeftByGuards(), reasons.MayHoldNoNamesGuard()))
    assert sentence(both) == "; ".join(map(sentence, both.reasons))
    assert set(reasons.within(reasons.KeyNotKnown(wrapped))) >= {wrapped, reasons.MayBeWrapped()}


@pytest.mark.words
def test_why_a_place_is_no_better_known_is_one_sentence() -> None:
    skew = place_reasons.OtherVersion("v2.6.0", "2.6.0", "2.7.0")
    inside = place_reasons.LambdaInside("f", "a.cpp:1234", place_reasons.SeveralLambdas(2))
    told = "a lambda inside f (a.cpp:1234): 2 lambdas there may be it, and the name does not decide between them"
    both = place_reasons.Joined((skew, inside))
    assert places.place_sentence(both) == f"v2.6.0 is 2.6.0, torch here 2.7.0; {told}"
    assert sentence(inside) == told, "whatever asks for any reason's words is given a place's too"
    assert places.place_sentence(place_reasons.RecordNamesLine(1234)).endswith("line 1234"), (
        "a line's number is no count"
    )
    assert places.place_sentence(place_reasons.EntryNamesNoFile("")).endswith(": nothing")


@pytest.mark.words
def test_what_a_row_says_is_one_phrase_a_detail() -> None:
    records = says.RecordsNodes(nodes=(says.RecordedOne(node="AddBackward0"),))
    keys = says.KnownAs(status="derived", told=(records, says.NextKey()))
    assert (
        described((keys, says.ThenKeys(keys=("A", "B"))))
        == "derived: records AddBackward0; next dispatch key; then A → B"
    )
    assert described((says.KnownAs(status="inlined"), keys)).startswith("inlined; derived: records")
    assert described((says.KnownAs(status="derived", of_key=True),)) == "key derived"
    function = (says.PythonFunction(), says.CallsItself(), says.HoldsBoth(operators=1, nodes=2, each=True))
    told = "Python, each call inside the previous one; 1 outermost operator call and 2 nodes in each"
    assert described(function) == told
    assert described((says.InOtherThread(), says.RunNode())) == "in another thread, order unknown; node"
    assert described(()) == ""


@pytest.mark.words
def test_what_stands_around_the_rows_is_one_sentence_a_remark() -> None:
    part = trace_remarks.PartStepped(
        instructions=6243,
        first=True,
        what=trace_remarks.OfOperator(op="aten::add"),
        alone=trace_remarks.CallAlone(call=trace_remarks.CallNumber(ordinal=1234)),
        cut=reasons.NotEndedInTime(2.0),
    )
    assert worded(part).startswith("6,243 instructions of aten::add (only call 1234), cut: ")
    warm = trace_remarks.NativePassWarm(parts=(part,), few=3, threads=1)
    assert (
        worded(warm) == f"stepping: {worded(part)}; 3 warm-ups, 1 thread (first calls and parallel paths are not shown)"
    )
    begins = trace_remarks.RunsBeginWith(first=("a", "b"), last=trace_remarks.More(few=2))
    assert worded(begins).startswith("each run begins with a, b and 2 more as --setup left them: ")
    assert worded(trace_remarks.RunsBeginWith(first=(), last="a")).startswith(
        "each run begins with a as --setup left it: "
    )
    assert (
        worded(trace_remarks.HelpersLeftOut(few=1234)) == "1234 Python helper calls that ran no operator are not shown"
    )
    functions = trace_remarks.AllFunctionCalls(count=1234, of=("add", trace_remarks.OneOperator()), cut=True)
    assert worded(functions) == "all 1,234 function calls in add and one operator until the cut"
    told = worded(trace_remarks.OneRun(time="2 s", threads=2, apart=(trace_remarks.ImportsBeside(),), recording=""))
    assert told == "one run of 2 s on 2 threads; not in it: imports"
    told = worded(trace_remarks.OneRun(time="2 s", threads=0, apart=(), recording="1 ms"))
    assert told == "one run of 2 s; recording took about 1 ms of it"
    saved = trace_remarks.SavedForBackward(
        size="4 kB", at_least=True, backwards=trace_remarks.FirstBackwards(seen="3", of="1000")
    )
    assert worded(saved) == "at least 4 kB saved for backward in the first 3 of 1000 calls of backward"
    none = trace_remarks.OperatorsCalled(calls=trace_remarks.CallsOfOperator(count=0), inner=False, saved=saved)
    assert worded(none) == f"0 operator calls; {worded(saved)}"
    modules = trace_remarks.ModuleCalls(few=0, backward=trace_remarks.More(few=2))
    assert worded(modules) == "0 module calls and 2 more in backward"
    assert worded(trace_remarks.Found(kind="cut", finding="x", few=2)) == "cut: x (2 times)"
    assert worded(trace_remarks.Found(kind="cut", finding="x")) == "cut: x"


@pytest.mark.words
def test_what_is_said_of_an_ending_stands_behind_a_margin() -> None:
    freed = ending_remarks.FreedBy(ordinal=1, few=2)
    assert ending_in_words(freed) == "freed by      backward 1 of 2"
    written = ending_remarks.WrittenAt(of=freed, text="loss.backward()", function="step()")
    assert ending_in_words(written) == "freed by      backward 1 of 2: loss.backward(), in step()"
    unknown = ending_remarks.FreedBy(ordinal=None, few=None)
    assert ending_in_words(unknown) == "freed by     "
    assert ending_in_words(ending_remarks.OwnKernels(keys=("CPU", "CUDA"))) == "own kernels for  CPU, CUDA"
    assert ending_in_words(ending_remarks.MoreAround(few=1234)) == f"{'':12}  … 1234 more"
    missing = ending_remarks.KernelMissing(op="aten::f", key="MPS", arguments=())
    assert ending_in_words(missing).endswith("for MPS; it is not known which argument brought that key")
    versions = ending_remarks.VersionsPassed(before="999", after="1000")
    writer = ending_remarks.FurtherWriter(operators=("add_",), versions=versions)
    assert ending_in_words(writer) == f"{'':12}  add_, version 999 to 1000"
    unproven = ending_remarks.SomewhereIn(
        of=ending_remarks.FurtherWriter(operators=(), versions=None), function="step()"
    )
    assert ending_in_words(unproven) == f"{'':13}, somewhere in step(), which begins at"


@pytest.mark.words
def test_what_was_stepped_is_one_sentence() -> None:
    left = (reasons.KindsLeft(2, reasons.CalledOnce()), reasons.KindsLeft(1, reasons.ForkTooLate()))
    told = reasons.KindsStepped(1, 4, reasons.OneOfEach(), 6243, left, StepOperator("a b.py", "ones"), "ones")
    assert sentence(told) == (
        "1 of 4 kinds of operator calls and nodes was stepped, one call of each, 6,243 instructions; 2 other kinds "
        "not stepped: it was called once, and a first call is not stepped; 1 other kind not stepped: its fork did not "
        "end in time; "
        "ptexplore trace --script 'a b.py' --native-op ones steps the first call of ones"
    )
    assert sentence(reasons.KindsStepped(1, 1, reasons.CallsInAll(3))).endswith("was stepped, 3 calls in all")


@pytest.mark.words
def test_what_libraries_told_is_one_list() -> None:
    calls = (reasons.LibraryTold("oneDNN", "matmul", "2x2", "ref:any", 3), reasons.LibraryTold("MKL", "SGEMM", "N,N"))
    told = "the libraries reported: oneDNN's matmul by ref:any (2x2) ×3, MKL's SGEMM (N,N)"
    assert sentence(reasons.ToldOfCall(calls)) == f"about this call, in a separate run, {told}"
    assert sentence(reasons.ToldOfExpression(calls, 2)).endswith(f"{told} and 2 more")
    assert sentence(reasons.LibraryUnordered("MKL", 1, 2)).startswith(
        "MKL reported 1 call, in a separate run; by their"
    )
    assert sentence(reasons.LibraryUnordered("MKL", 3, 2, "mm")).startswith("mm: MKL reported 3 calls")


@pytest.mark.parametrize("code", WORDED, ids=lambda code: code.__name__)
def test_a_template_has_no_stray_blank(code: type[Struct]) -> None:
    """As where a long text was wrapped."""
    template = WORDED[code].removeprefix("{command}  ")  # which stands apart from what is said of it
    assert "  " not in template
    assert not any(wrong in template for wrong in (" ;", " ,", " [;", " [,", "[ ;", " ["))


def test_nonsense_replaces_every_catalogue() -> None:
    """A catalogue that scripts/nonsense does not know would keep its sentences, and a test could read them unseen."""
    others = (causes.ENGLISH, weights.ENGLISH)
    replaced = {id(table) for table in (*nonsense.CATALOGUES, *nonsense.TABLES, *nonsense.PAIRS, *others)}
    modules = [importlib.import_module(f"{words.__name__}.{one.name}") for one in pkgutil.iter_modules(words.__path__)]
    found = [(one.__name__, name, table) for one in modules for name, table in vars(one).items() if name.isupper()]
    left = [(module, name) for module, name, table in found if isinstance(table, dict) and id(table) not in replaced]
    assert len(found) > len(replaced)
    assert left == []
