"""The public Python API: what the commands ask, answered with records. `import ptexplore` has its names."""
