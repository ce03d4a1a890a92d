"""Data for pages, built from store, annotations and claims, for every renderer."""
