"""Statements that are read without the parser come out as the parser reads them."""

from __future__ import annotations

import time

import pytest

from ptexplore.index.cpp import extract as extraction
from ptexplore.index.cpp.macros import MacroTable
from ptexplore.index.cpp.plain import Scan, scan
from ptexplore.index.cpp.scopes import without_bodies

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
_MORE = """inline namespace CPU_CAPABILITY {
namespace py = pybind11;
extern "C" { int plain(struct Later* one, const char* format, ...); }
enum class Kind : int { A, B = (1 << 2), C = f(1, 2), };
enum { One, Two = One };
enum Flags : uint8_t { READ = 1u << 0u,
  WRITE };
struct Holder {
  explicit Holder(const std::string& name = "");
  constexpr Holder() noexcept {}
  ~Holder() noexcept(false);
  friend class Later;
  friend Other;
  using Base<int, 2>:: Base;
  explicit operator bool() const noexcept;
  operator const T*() const { return held; }
  virtual Tensor read() && override;
  AnyModule& module() const & { return *this; }
  int64_t sizes[2][3]{}, rest;
  bool first, second;
  std::unique_ptr<void*[]> memory_;
};
template <typename T, typename = std::enable_if_t<std::is_same_v<T, int> || !ok<T>>>
std::enable_if_t<!is_complex<T>::value && N == 1, T> inline eps(const T& a, char* const b, T c[4]) { return a; };
template <class... Args> void call(Args&&... args) {}
template <typename T> struct At<T, -1> { T at(int size = std::numeric_limits<int>::max()); };
thread_local int depth = std::max(1, 2);
constexpr int LARGEST = 1 << BITS;
const Functor fn = [](Node* n) -> Operator { return {}; };
unsigned long long int wide(int one);
std::tuple<int, Tensor> Holder::
    both(int one) const { return {}; }
}
"""
_PARTLY = """using namespace c10;
enum class Kind : int { A, B };
Tensor Impl::call(const Tensor& self) { return self; }
auto [a, b] = two();
struct pybind::detail::caster<int> : public base<int> { int x; void f(int y); };
SymInt::operator SymFloat() const { return 1; }
T x(y), z2(3);
"""


@pytest.mark.parametrize("text", [_WHOLLY, _MORE, _PARTLY])
def test_as_the_parser_reads_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly = extraction.extract("a.cpp", text, MacroTable({}))
    monkeypatch.setattr(extraction, "scan", lambda *_: Scan([], [], None))
    assert plainly[0] == extraction.extract("a.cpp", text, MacroTable({}))[0]
    assert len(plainly[0]) > 5


def test_nothing_is_left_where_all_is_plain() -> None:
    assert scan("namespace a { int f(int b) {} struct C { int d; }; }").all is not None
    assert scan("namespace a { int f(int b) {} enum E { X }; }").all is not None
    assert scan("namespace a { int f(int b) {} union E { int x; }; }").all is None


def test_of_those_forms_the_parser_gets_none() -> None:
    lines = [line for line in without_bodies(_MORE).splitlines() if "rest;" not in line]
    assert scan("\n".join(lines)).all is not None


@pytest.mark.parametrize(
    "text",
    [
        "int f(" + "a<b, " * 60_000,
        "int x = " + "a<b<c" * 60_000,
        "int x = " + "f(g(" * 60_000,
        "void f(" + "const T& a = b<c>::d(), " * 12_000,
        "void f(" + "T* const a[3][4], " * 15_000 + ") const noexcept",
        "enum E { " + "A = (1 << (2)), " * 20_000 + "}",
        "enum E { " + "A = (" * 60_000,
        "X::X(int a) : " + "a(b(c(d))), " * 25_000,
        "template <" + "typename T = a<b || c<d>>, " * 10_000,
        "using A = B<" + "C<" * 100_000,
        "int a" + ", b" * 100_000,
        "T f() " + "const noexcept & " * 20_000,
        "A::" * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    scan(text)
    scan(text + ";")
    assert time.process_time() - started < 3
