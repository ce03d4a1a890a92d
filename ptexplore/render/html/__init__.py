"""Writes the pages of a site: escaped, without inline script or style, with the same bytes on every machine."""
