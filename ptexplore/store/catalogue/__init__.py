"""The catalogue of one runtime: operators, registrations, tables, bindings."""

CATALOGUE_FORMAT = 8  # of the tables and of what fills them: a catalogue of another one is made anew
