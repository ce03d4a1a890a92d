"""What makes text safe for a terminal, under the name by which renderers know it; the tui has it from view/plain.py."""

from ptexplore.view.plain import clean, clean_lines

__all__ = ["clean", "clean_lines"]
