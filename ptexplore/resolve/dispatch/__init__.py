"""The dispatcher's decisions: key sets, thread-local state, dispatch tables, kernels, stubs."""
