static PyMethodDef mini_methods[] = {
    {"blend", castPyCFunctionWithKeywords(mini_blend), METH_VARARGS | METH_KEYWORDS, nullptr},
    {(char*)"mirror",
     (PyCFunction)(void (*)(void))mini_mirror,
     METH_NOARGS,
     "turns { it } around"},
    {nullptr}};

void init(py::module& m) {
  m.def("level", &mini::level, py::arg("x"));
  if (verbose) {
    m.def("lambda", [](int x) { return x; });
  }
  auto cls = py::class_<Box, std::shared_ptr<Box>>(m, "Box");
  cls.def(py::init<int>())
      .def("size", &Box::size)
#ifdef WITH_FOLD
      .def_property_readonly("folded", &Box::folded)
#endif
      .def(py::pickle([](const Box& box) { throw std::runtime_error("never"); }))
      .def_static("make", wrap_pybind_function(Box::make<int>));
#define BOX(name) def(#name, &Box::name)
  cls.BOX(open).BOX(close);
}
static auto box = torch::class_<Box>("mini", "Box").def("unpack", &Box::unpack);
