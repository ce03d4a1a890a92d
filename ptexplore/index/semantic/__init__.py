"""References resolved by libclang: overloads, virtual calls."""
