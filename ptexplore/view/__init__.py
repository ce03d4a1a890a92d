"""Page data, built once from store, annotations and claims, for every renderer."""
