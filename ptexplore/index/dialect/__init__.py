"""PyTorch's own macros as rows: registrations, stubs, structured kernels, bindings, YAML entries."""
