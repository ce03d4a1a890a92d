"""The catalogue of one installed torch: operators, registrations, dispatch tables, bindings."""

CATALOGUE_FORMAT = 9  # version of the tables and of their content: a catalogue with another version is rebuilt
