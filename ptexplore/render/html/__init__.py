"""Write the pages of a site: escaped, without inline script or style, the same bytes whoever writes them."""
