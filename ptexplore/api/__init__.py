"""The public Python API: the questions of the commands, answered with records. `import ptexplore` exports the names."""
