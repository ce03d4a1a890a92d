"""Saved traces are data from others: whole ones come back as they were, all others are refused in words."""

import json

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.model import Finding, Hop, SourceRef, Trail, TreeInfo
from ptexplore.view.document import trail_to_document
from ptexplore.view.saved import trail_from_document


def a_trail() -> Trail:
    place = SourceRef("build/aten/src/ATen/Operators_2.cpp", 12, "generated", "located")
    child = Hop(2, "op", "aten::add.Tensor", "observed", place, op="aten::add.Tensor", why=("seen",), evidence=(3,),
                instructions=812)  # fmt: skip
    unknown = SourceRef(None, None, None, "ambiguous", reason="two", candidates=(place, place))
    top = Hop(1, "binding", "torch.add", "derived", unknown, registration=place, children=(child,))
    return Trail(
        expression="torch.add(a, b)",
        bound={"a": "Tensor[3, 3]"},
        torch={"version": "2.13.0"},
        trees=(TreeInfo("runtime", "2.13.0", ("generated", "wheel")),),
        captured={"ops": True},
        result={"type": "Tensor"},
        findings=(Finding("cut", "cut here", 2),),
        hops=(top,),
    )


def test_round_trip() -> None:
    document = json.loads(json.dumps(trail_to_document(a_trail())))
    trail, session = trail_from_document(document, "x.json")
    assert trail == a_trail()
    assert session is None


def broken(**changes):
    return trail_to_document(a_trail()) | changes


def deep(levels: int):
    hop = trail_to_document(a_trail())["hops"][0]
    for _ in range(levels):
        hop = {**hop, "children": [hop]}
    return hop


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        broken(format="1"),
        broken(format=True),
        broken(hops={}),
        broken(hops=[{"kind": "op"}]),
        broken(expression=7),
        broken(hops=[{**trail_to_document(a_trail())["hops"][0], "kind": "evil"}]),
        broken(hops=[deep(500)]),
        broken(hops=[{**trail_to_document(a_trail())["hops"][0], "derivative": {}}]),
        broken(trees=[{"name": "x", "version": "1", "layers": ["moon"]}]),
    ],
)
def test_refused(document) -> None:
    with pytest.raises(PtexploreError) as caught:
        trail_from_document(document, "x.json")
    assert caught.value.exit_code == 2
    assert caught.value.message == "x.json is no saved trace"
    assert caught.value.why


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "a/../../b", "~/x", "a\0b"])
def test_a_path_out_of_a_tree_is_refused(path: str) -> None:
    document = trail_to_document(a_trail())
    document["hops"][0]["registration"]["path"] = path
    with pytest.raises(PtexploreError, match="no saved trace"):
        trail_from_document(document, "x.json")


def test_newer_format_says_so() -> None:
    with pytest.raises(PtexploreError, match="format 2") as caught:
        trail_from_document(broken(format=2), "x.json")
    assert "upgrade" in caught.value.hint
    assert caught.value.exit_code == 3


def test_only_https_links_survive() -> None:
    document = trail_to_document(a_trail())
    document["hops"][0]["registration"]["url"] = "javascript:alert(1)"
    trail, _ = trail_from_document(document, "x.json")
    assert trail.hops[0].registration is not None
    assert trail.hops[0].registration.url is None
