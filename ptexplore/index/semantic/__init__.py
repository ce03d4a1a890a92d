"""References that libclang resolves: overloads, virtual calls."""
