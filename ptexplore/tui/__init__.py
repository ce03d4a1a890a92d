"""The screens of `ptexplore browse` (Textual): source, notes and tours in a terminal."""
