"""What names of notes look like: of a stop, a lab, a concept.

The module is apart from `blocks.py`, because a trace checks names of stops and reads no notes.
"""

import re

ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
STOP = re.compile(r"[a-z0-9][a-z0-9-]{0,63}#[a-z0-9][a-z0-9-]{0,63}")
