"""Messages of Python, of numpy and of other packages, which stand in the scripts around torch.

The class of a row is `facts/message.py::Message`. A row before these is narrower.
"""

from __future__ import annotations

import re

from ptexplore.facts.message import Message

OF_PYTHON = (
    Message(
        "number-of-object",
        re.compile(
            r"(?P<owner>float|int|complex)\(\) argument must be a (?:string|real number|bytes-like"
            r")[^\n]{0,60}?, not '(?P<name>[\w.]+)'"
        ),
        (),
    ),
    Message(
        "math-domain",
        re.compile(r"math domain error|expected a (?:positive|nonnegative) (?:input|number), got"),
        (),
    ),
    Message(
        "divided-by-zero",
        re.compile(r"ZeroDivisionError"),
        (),
    ),
    Message(
        "name-undefined",
        re.compile(r"NameError: name '(?P<name>\w+)' is not defined"),
        (),
    ),
    Message(
        "name-unassigned",
        re.compile(
            r"(?:local variable '(?P<name>\w+)' referenced before assignment|cannot access (?:loca"
            r"l|free) variable '(?P<given>\w+)')"
        ),
        (),
    ),
    Message(
        "submodule-missing",
        re.compile(r"No module named '(?P<given>(?!torch\.)\w+)\.(?P<name>[\w.]+)'"),
        (),
    ),
    Message(
        "key-missing",
        re.compile(r"KeyError: '(?P<name>[^'\"\s]{1,200}(?: [^'\"\s]{1,80}){0,2})'$"),
        (),
    ),
    Message(
        "recursion",
        re.compile(r"maximum recursion depth exceeded"),
        (),
    ),
    Message(
        "unhashable",
        re.compile(r"unhashable type: '(?P<name>[\w.]+)'"),
        (),
    ),
    Message(
        "index-of-list",
        re.compile(r"list indices must be integers or slices, not (?P<name>\w+)"),
        (),
    ),
    Message(
        "text-as-number",
        re.compile(r"could not convert string to float: (?P<name>'[^'\n]{0,80}')"),
        (),
    ),
    Message(
        "numpy-broadcast",
        re.compile(
            r"operands could not be broadcast together with (?:remapped )?shapes (?P<name>\([^\n]{"
            r"1,120}\))"
        ),
        (),
    ),
    Message(
        "no-permission",
        re.compile(r"PermissionError: \[(?:Errno 13|WinError 5)\][^\n:]{0,60}: '(?P<name>[^'\n]{1,300})'"),
        (),
    ),
    Message(
        "host-memory",
        re.compile(
            r"\bMemoryError\b|Unable to allocate [\d.]+ [KMGT]iB for an array|\[Errno 12\] Cannot "
            r"allocate memory"
        ),
        (),
    ),
    Message(
        "text-decoded",
        re.compile(r"'(?P<name>[\w-]+)' codec can't decode byte"),
        (),
    ),
    Message(
        "name-not-importable",
        re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<owner>(?!torch\b)[\w.]+)'"),
        (),
    ),
    Message(
        "compared-classes",
        re.compile(
            r"'(?P<name>[<>]=?)' not supported between instances of '(?P<size>[\w.]+)' and '(?P<gi"
            r"ven>[\w.]+)'"
        ),
        (),
    ),
    Message(
        "connection-refused",
        re.compile(r"\[Errno 111\] Connection refused|ConnectionRefusedError"),
        (),
    ),
    Message(
        "image-not-read",
        re.compile(r"cannot identify image file|image file is truncated"),
        (),
    ),
    Message(
        "image-empty",
        re.compile(
            r"\(-215:Assertion failed\) !(?:_?src\.empty|ssize\.empty|dsize)|cv2\.error: [^\n]{0,2"
            r"00}(?:Bad argument|Assertion failed)"
        ),
        (),
    ),
    Message(
        "symbol-missing",
        re.compile(r"undefined symbol: (?P<name>(?!_Z|_?Py[A-Z]|THP|__nvJitLink|cu[a-z]|nccl|iJIT)\w+)"),
        (),
    ),
    Message(
        "lightning-scheduler",
        re.compile(
            r"The provided lr scheduler [^\n]{1,200} (?:is invalid|doesn't follow PyTorch's LRSche"
            r"duler API)"
        ),
        (),
    ),
    Message(
        "old-type-missing",
        re.compile(r"\b(?P<name>\w+) is not implemented for type (?P<given>(?:torch\.)?[\w.]+)"),
        (),
    ),
)
