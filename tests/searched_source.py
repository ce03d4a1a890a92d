"""The small source tree with what find, show and refs must cope with: overloads, arms of an #if, hostile text."""

from __future__ import annotations

from pathlib import Path

from tests import small_source

LONG = 400  # lines of the file that needs a pager
FILES = small_source.FILES | {
    "aten/src/ATen/native/Mix.cpp": """#include <ATen/native/Blend.h>
namespace at::native {

// two of one name
template <typename T, int N = 3>
static inline T mix(
    T a,
    T b) {
  return a + b;
}
int mix(int a) {
  return mix<int>(a, 1);
}

#if defined(USE_CUDA)
int choose(int a) { return 1; }
#else
int choose(int a) { return 2; }
#endif

struct Mixer {
  Mixer(int n);
  virtual int turn(int a) { return mix(a); }
  bool operator()(int a) const { return a > 0; }
  Mixer& operator+=(int a);
};
struct FastMixer : public Mixer {
  int turn(int a) override { return at::native::mix(a) + other::mix(a); }
};
int use(Mixer& m) { return m.turn(1) + mix(2); }
}
namespace other {
int mix(int a) { return a; }
int through(int a) { return other::mix(a); }
}
""",
    "aten/src/ATen/test/mix_test.cpp": """namespace at {
int try_mix() { return at::native::mix(1); }
}
""",
    "torch/csrc/mix_bindings.cpp": """namespace torch {
static PyObject* THPMix(PyObject* self, PyObject* args) { return nullptr; }
static PyMethodDef mix_methods[] = {
  {"mix", THPMix, METH_VARARGS, nullptr},
  {nullptr}
};
}
""",
    "torch/csrc/hostile.cpp": """// \x1b[31mred\x1b]0;title\x07 [bold]markup[/bold] \u202eevil
int hostile_one() { return 1; } // \x1b[2J\x9b31m
const char* text = "[red]not markup[/red] a.*b(c|d)+ $(touch pwned)";
""",
    "torch/csrc/long.cpp": "int long_function(int a) {\n"
    + "".join(f"  a += {n}; /* line {n} */\n" for n in range(LONG))
    + "  return a;\n}\n",
    "torch/csrc/comment.cpp": "int before;\n/* one\n   int inside_comment;\n   of four\n   lines */\nint after;\n",
    "torch/csrc/oneline.cpp": "int wide[] = {" + "1, " * 400_000 + "0};\nint narrow() { return 1; }\n",
}


def write(folder: Path) -> Path:
    """Write the tree, and a file that is not UTF-8."""
    small_source.write(folder, FILES)
    (folder / "torch/csrc/latin.cpp").write_bytes("// caf\u00e9\nint latin_one() { return 1; }\n".encode("latin-1"))
    (folder / "torch/csrc/empty.cpp").write_bytes(b"")
    return folder
