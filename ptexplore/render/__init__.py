"""Renderers: they format the data of pages and decide nothing."""
