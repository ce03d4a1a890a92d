"""The screens that `browse` opens and closes."""
