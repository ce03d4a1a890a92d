"""Renderers: they format page data and decide nothing."""
