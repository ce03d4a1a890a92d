"""How scripts/accuracy compares names: the same rule for libclang's, the binary's, the index's and Ctags'."""

from __future__ import annotations

import re

_CAPABILITIES = "CPU_CAPABILITY|DEFAULT|AVX2|AVX512|VSX|ZVECTOR|SVE256"
_SEEN_THROUGH = re.compile(rf"(?:\((?:anonymous|unnamed)[^()]*\)|__anon\w+|\b(?:{_CAPABILITIES}))::")
_SIGN = re.compile(r"operator\s*(?=[^\w\s])\s*")
_COUNTER = re.compile(r"(TORCH_LIBRARY\w*_init_\w+?)_\d+$")
_CONVERSION = re.compile(r"((?:^|::)operator)(?:\s+(?!new\b|delete\b|co_await\b).*|::.*)$", re.DOTALL)


def plain(qualified: str) -> str:
    """A qualified name as compared.

    Looked through: anonymous namespaces, the CPU capability's namespace. Left out: the type of a conversion operator
    (each tool spells it its own way), the number that a registration block takes from __COUNTER__.
    """
    name = _SEEN_THROUGH.sub("", qualified)
    name = name.removesuffix("::CPU_CAPABILITY") + "::DEFAULT" if name.endswith("::CPU_CAPABILITY") else name
    name = _SIGN.sub("operator", name)
    name = _CONVERSION.sub(r"\1 T", name)
    return _COUNTER.sub(r"\1", name)


def last(qualified: str) -> str:
    """The last part of a name."""
    before, sign, after = qualified.rpartition("operator")
    if sign and (not before or before.endswith("::")):
        return sign + after
    return qualified.rpartition("::")[2]
