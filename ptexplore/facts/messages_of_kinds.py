"""Kinds of messages: rows for a message that no other row recognises, which read the values in it.

They are the last ones of the table. The class of a row is `facts/message.py::Message`.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message
from ptexplore.facts.source import FactSource

OF_KINDS = (
    Message(
        "check-without-message",
        re.compile(r"Expected (?P<name>[^\n]{1,200}?) to be true, but got false"),
        (FactSource("c10/util/Exception.h", " to be true, but got false."),),
    ),
    Message(
        "not-the-same",
        re.compile(
            r"(?:must|should|to|needs?) (?:both |all )?(?:have|be (?:of|on)|share) (?:the )?same "
            r"(?P<name>(?:number of \w+|batch size|[a-z]+(?: size| type)?))"
        ),
        (),
    ),
    Message(
        "dimensions-expected",
        re.compile(
            r"(?:must|should|expect(?:s|ed)?|to)(?: \w+){0,3} (?:be |have |got |of )?(?:a |an )?"
            r"(?P<size>[1-5](?:[dD]\b|-[dD]\b| dim(?:ension)?s?\b|-dimensional))[^\n]{0,80}?"
            r"\b(?:got|found|received|has|is)\b[^\n\d(\[]{0,40}(?P<given>[0-9])(?:[dD]\b|-[dD]\b|-dim| dim|(?=[.)]?$))",
            re.MULTILINE,
        ),
        (),
    ),
    Message(
        "value-range",
        re.compile(
            r"(?P<name>[\w`'][\w.`' ]{0,39}?) (?:must|should|has to|needs to) be (?P<size>(?:a |an )?"
            r"(?:positive|non-negative|nonnegative|greater than|larger than|less than|smaller tha"
            r"n|at least|between|in (?:the range|range)|>=?|<=?)[^\n,;]{0,60}?)(?:,? (?:but|got|f"
            r"ound|instead)[^\n]{0,20}? (?P<given>-?[\d.]+(?:e-?\d+)?)|[.\n,;]|$)"
        ),
        (),
    ),
    Message(
        "only-supported",
        re.compile(
            r"(?P<name>[A-Za-z_][\w.:()`'\" -]{1,70}?) (?:currently )?(?:only (?:supports?|accepts?|takes?"
            r"|works? (?:on|with|for))"
            r"|is only (?:supported|implemented|available|valid|defined) (?:for|on|with|in|when))"
            r"(?! these backends) (?P<size>[^\n.;]{2,90}?)(?=[.;,\n]| but |$)"
        ),
        (),
    ),
    Message(
        "not-supported",
        re.compile(
            r"(?P<name>[A-Za-z_][\w.:()`'\", <>-]{2,110}?) (?:is|are) (?:currently |still )?not "
            r"(?:yet |currently |officially )?"
            r"(?P<given>supported|implemented)(?P<size>(?: yet)?(?: (?:for|on|with|in|by|when|if) [^\n.;,]{1,70})?)"
        ),
        (),
    ),
    Message("list-index", re.compile(r"\bIndexError: (?:list|tuple|string) index out of range"), ()),
    Message(
        "file-not-found",
        re.compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<given>[^'\n]{1,300})'"),
        (),
    ),
)
