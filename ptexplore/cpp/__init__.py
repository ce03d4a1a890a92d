"""What is known of C++ text, once: comments and brackets, macros and their expansion, names, types, conditions."""
