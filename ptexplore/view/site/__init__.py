"""The data of a site's pages."""
