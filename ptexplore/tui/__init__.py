"""The source, notes and tours as screens of a terminal (Textual): what `ptexplore browse` opens."""
