"""The forms of statements that PyTorch's C++ is written in: what each declares, and where."""

from __future__ import annotations

import pytest

from ptexplore.cpp.macros import MacroTable
from ptexplore.index.cpp.extract import extract

_MEMBERS = """namespace at::native {
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
_FORMS = """inline namespace CPU_CAPABILITY {
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
_SPECIAL = """using namespace c10;
enum class Kind : int { A, B };
Tensor Impl::call(const Tensor& self) { return self; }
auto [a, b] = two();
struct pybind::detail::caster<int> : public base<int> { int x; void f(int y); };
SymInt::operator SymFloat() const { return 1; }
T x(y), z2(3);
"""
# line, kind, scope and name, signature
_OF_MEMBERS = [
    (1, "namespace", "at::native", ""),
    (3, "function", "at::native::(anonymous namespace)::add", "(const Tensor & self, double alpha=1)"),
    (5, "struct", "at::native::Node", ""),
    (6, "function", "at::native::Node::Node", "(int x)"),
    (7, "function", "at::native::Node::~Node", "() override"),
    (8, "function declaration", "at::native::Node::run", "(std::vector<Tensor>) override"),
    (9, "function", "at::native::Node::operator==", "(const Node& other) const"),
    (10, "member", "at::native::Node::name", ""),
    (11, "typedef", "at::native::Node::schema", ""),
    (12, "member", "at::native::Node::held", ""),
    (13, "member", "at::native::Node::flag", ""),
    (15, "function", "at::native::get", "(T&& one)"),
    (16, "class declaration", "at::native::Later", ""),
    (17, "typedef", "at::native::pair_t", ""),
    (19, "function", "at::native::Node::call", "(c10::DispatchKeySet ks, ::std::optional<int64_t> dim) const"),
]
_OF_FORMS = [
    (3, "function declaration", "CPU_CAPABILITY::plain", "(struct Later* one, const char* format, ...)"),
    (4, "enum", "CPU_CAPABILITY::Kind", ""),
    (4, "enumerator", "CPU_CAPABILITY::Kind::A", ""),
    (4, "enumerator", "CPU_CAPABILITY::Kind::B", ""),
    (4, "enumerator", "CPU_CAPABILITY::Kind::C", ""),
    (5, "enumerator", "CPU_CAPABILITY::One", ""),
    (5, "enumerator", "CPU_CAPABILITY::Two", ""),
    (6, "enum", "CPU_CAPABILITY::Flags", ""),
    (6, "enumerator", "CPU_CAPABILITY::READ", ""),
    (7, "enumerator", "CPU_CAPABILITY::WRITE", ""),
    (8, "struct", "CPU_CAPABILITY::Holder", ""),
    (9, "function declaration", "CPU_CAPABILITY::Holder::Holder", '(const std::string& name = "")'),
    (10, "function", "CPU_CAPABILITY::Holder::Holder", "() noexcept"),
    (11, "function declaration", "CPU_CAPABILITY::Holder::~Holder", "() noexcept(false)"),
    (15, "function declaration", "CPU_CAPABILITY::Holder::operator bool", "() const noexcept"),
    (16, "function", "CPU_CAPABILITY::Holder::operator const T*", "() const"),
    (17, "function declaration", "CPU_CAPABILITY::Holder::read", "() && override"),
    (18, "function", "CPU_CAPABILITY::Holder::module", "() const &"),
    (19, "member", "CPU_CAPABILITY::Holder::sizes", ""),
    (19, "member", "CPU_CAPABILITY::Holder::rest", ""),
    (20, "member", "CPU_CAPABILITY::Holder::first", ""),
    (20, "member", "CPU_CAPABILITY::Holder::second", ""),
    (21, "member", "CPU_CAPABILITY::Holder::memory_", ""),
    (24, "function", "CPU_CAPABILITY::eps", "(const T& a, char* const b, T c[4])"),
    (25, "function", "CPU_CAPABILITY::call", "(Args&&... args)"),
    (26, "struct", "CPU_CAPABILITY::At", ""),
    (26, "function declaration", "CPU_CAPABILITY::At::at", "(int size = std::numeric_limits<int>::max())"),
    (27, "variable", "CPU_CAPABILITY::depth", ""),
    (28, "variable", "CPU_CAPABILITY::LARGEST", ""),
    (29, "variable", "CPU_CAPABILITY::fn", ""),
    (30, "function declaration", "CPU_CAPABILITY::wide", "(int one)"),
    (32, "function", "CPU_CAPABILITY::Holder::both", "(int one) const"),
]
_OF_SPECIAL = [
    (2, "enum", "Kind", ""),
    (2, "enumerator", "Kind::A", ""),
    (2, "enumerator", "Kind::B", ""),
    (3, "function", "c10::Impl::call", "(const Tensor& self)"),
    (5, "struct", "pybind::detail::caster", ""),
    (5, "member", "pybind::detail::caster::x", ""),
    (5, "function declaration", "pybind::detail::caster::f", "(int y)"),
    (6, "function", "c10::SymInt::operator SymFloat", "() const"),
    (7, "function declaration", "x", "(y)"),
    (7, "variable", "z2", ""),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(_MEMBERS, _OF_MEMBERS), (_FORMS, _OF_FORMS), (_SPECIAL, _OF_SPECIAL)],
    ids=["members", "forms", "special"],
)
def test_statements(text: str, expected: list[tuple[int, str, str, str]]) -> None:
    symbols, _, problems = extract("a.cpp", text, MacroTable({}))
    assert problems == []
    assert [
        (
            one.line,
            one.kind if one.role == "definition" else f"{one.kind} declaration",
            f"{one.scope}::{one.name}" if one.scope else one.name,
            one.signature,
        )
        for one in symbols
    ] == expected


def test_a_pointer_without_a_name_may_have_a_default() -> None:
    text = "struct A {\ntemplate <bool B> int get(int a, std::enable_if_t<!B>* = nullptr) const { return a; }\n};\n"
    symbols, _, problems = extract("a.cpp", text, MacroTable({}))
    assert problems == []
    assert [(one.qualified, one.parameters) for one in symbols] == [
        ("A", None),
        ("A::get", ("int", "std::enable_if_t<!B>*")),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "int f(" + "a<b, " * 10_000,
        "int x = " + "a<b<c" * 10_000,
        "int x = " + "f(g(" * 10_000,
        "void f(" + "const T& a = b<c>::d(), " * 6_000,
        "void f(" + "T* const a[3][4], " * 7_000 + ") const noexcept",
        "enum E { " + "A = (1 << (2)), " * 10_000 + "}",
        "enum E { " + "A = (" * 10_000,
        "X::X(int a) : " + "a(b(c(d))), " * 12_000,
        "template <" + "typename T = a<b || c<d>>, " * 5_000,
        "using A = B<" + "C<" * 15_000,
        "int a" + ", b" * 15_000,
        "T f() " + "const noexcept & " * 10_000,
        "A::" * 15_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_is_too_long(text: str) -> None:
    assert all(one.path == "a.cpp" for one in extract("a.cpp", f"{text}\n{text};", MacroTable({}))[0])
