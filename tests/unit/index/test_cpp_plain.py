"""Statements that are read without the parser come out as the parser reads them."""

from __future__ import annotations

import pytest

from ptexplore.index.cpp import extract as extraction
from ptexplore.index.cpp.macros import MacroTable
from ptexplore.index.cpp.plain import Scan, scan

_WHOLLY = """namespace at::native {
namespace {
static inline Tensor add(const Tensor & self, double alpha=1) { return self; }
}
struct Node : public Base, Other<int> {
  explicit Node(int x) : a(f(x)), b{x} { go(); }
  ~Node() override {}
  virtual void run(std::vector<Tensor>) override;
  bool operator==(const Node& other) const { return true; }
  static constexpr const char* name = "x";
  using schema = Tensor (const Tensor &, int64_t);
  Tensor* held{};
  unsigned flag : 1;
};
template <typename T, typename = std::enable_if_t<(N > 1)>> T get(T&& one) { return one; }
class Later;
typedef std::pair<int, int> pair_t;
}
Tensor at::native::Node::call(c10::DispatchKeySet ks, ::std::optional<int64_t> dim) const { return {}; }
"""
_PARTLY = """using namespace c10;
enum class Kind : int { A, B };
Tensor Impl::call(const Tensor& self) { return self; }
auto [a, b] = two();
struct pybind::detail::caster<int> : public base<int> { int x; void f(int y); };
SymInt::operator SymFloat() const { return 1; }
T x(y), z2(3);
"""


@pytest.mark.parametrize("text", [_WHOLLY, _PARTLY])
def test_as_the_parser_reads_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly = extraction.extract("a.cpp", text, MacroTable({}))
    monkeypatch.setattr(extraction, "scan", lambda _: Scan([], [], None))
    assert plainly[0] == extraction.extract("a.cpp", text, MacroTable({}))[0]
    assert len(plainly[0]) > 5


def test_nothing_is_left_where_all_is_plain() -> None:
    assert scan("namespace a { int f(int b) {} struct C { int d; }; }").all is not None
    assert scan("namespace a { int f(int b) {} enum E { X }; }").all is None
