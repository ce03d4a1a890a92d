"""Single-stepping: machine code for a SIGTRAP handler, assembled here, and what installs and reads it."""
