"""Names and lines of one release's hand-written source, shipped with ptexplore."""
