"""Facts about C++ text: comments and brackets, macros and their expansion, names, types, conditions."""
