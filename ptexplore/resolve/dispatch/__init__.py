"""The dispatcher's own reasoning: key sets, thread-local state, tables, kernels, stubs."""
