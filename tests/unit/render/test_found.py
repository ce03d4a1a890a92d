"""What `find` prints: in a terminal a few results of each kind, in a pipe all of them."""

from __future__ import annotations

import io

from rich.console import Console

from ptexplore.lookup.find import FindView, HitGroup
from ptexplore.lookup.trees import Candidate, Spot
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.render.terminal.search import print_find

TREE = TreeInfo("mini", "2.99.0", ("checkout",))


def hit(kind: str, name: str, precision: str = "located", command: str = "") -> Candidate:
    return Candidate(kind, name, "words", Spot(SourceRef("a.cpp", 3, "checkout", precision), TREE), command=command)


def found(few: int | None, *, full: bool = False, width: int = 100) -> list[str]:
    functions = tuple(hit("function", f"at::f{n}") for n in range(9))
    stops = tuple(hit("note", f"tour#stop{n}", "version-skew", f"ptexplore tour tour stop{n}") for n in range(9))
    view = FindView(
        "f", (HitGroup("symbol", functions, 4), HitGroup("note", stops, None)), (TREE,), best=functions[:2]
    )  # fmt: skip
    out = io.StringIO()
    print_find(Console(file=out, width=width), view, lambda _spot: None, full=full, few=few)
    return out.getvalue().splitlines()


def test_all_results_are_printed_or_a_few_with_their_number() -> None:
    for few, functions, more in ((None, range(9), 4), (3, range(5), 8)):
        text = "\n".join(found(few))
        assert [n for n in range(9) if f"at::f{n} " in text] == list(functions)
        assert f"  {more} more: --limit 0 shows all" in text
        assert [n for n in range(9) if f"#stop{n} " in text] == list(range(9 if few is None else 3))
        assert "  there are more: --limit N shows more" in text


def test_a_stop_is_one_row_with_the_command_that_opens_it() -> None:
    assert "  tour#stop0  words  stop  ptexplore tour tour stop0" in found(None)
    assert "version-skew" not in "\n".join(found(None))
    narrow = found(None, width=44)
    assert narrow[narrow.index("  tour#stop0  words  stop") + 1].strip() == "ptexplore tour tour stop0"


def test_only_a_place_that_is_not_certain_has_a_word_for_it() -> None:
    text = "\n".join(found(None, full=True))
    assert "located" not in text
    assert text.count("version-skew") == 9
