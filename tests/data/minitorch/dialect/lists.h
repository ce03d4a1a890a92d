#pragma once
// Wrappers and list macros of a header, used by kernels.cpp.

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define PICK_(a, b, n, ...) n
#define PICK(...) PICK_(__VA_ARGS__, 2, 1)

// One argument: the operator; two: operator and overload.
#define WRAP1(op) m.impl(SELECT("mini::" #op), &wrapped<op>::call);
#define WRAP2(op, overload) m.impl(SELECT("mini::" #op "." #overload), &wrapped<op##_##overload>::call);
#define WRAP(...) GLUE(WRAP, PICK(__VA_ARGS__))(__VA_ARGS__)

#define FORALL_WRAPPED(_) \
  _(blend)                \
  _(blend, out)           \
  _(mirror)

#define VIEW_LIST(lib)                                             \
  lib.impl("mirror", torch::CppFunction::makeFallthrough());       \
  lib.impl("fold", torch::CppFunction::makeFallthrough());

#define TWICE(f, x) f(x) + f(x) * other /* no list: more than calls */
