"""The screens that browse pushes and leaves."""
