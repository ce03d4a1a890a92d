"""`ptexplore lsp`: a server that answers an editor over standard input and output."""

from __future__ import annotations

import os
import sys

from ptexplore.cli.options import Python
from ptexplore.errors import MISSING, PtexploreError

_OF_THE_EXTRA = ("pygls", "lsprotocol")


def lsp(python: Python = None) -> int:
    """Serve an editor (Language Server Protocol). Your editor starts this command; it is not for typing.

    In PyTorch's source it answers: definition, kernels, uses, hover, symbols, calls, stops of tours. It needs the index
    (`ptexplore index`), and builds nothing itself.
    """
    try:
        from ptexplore.surfaces.lsp import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_THE_EXTRA:
            raise
        why = "the package pygls, which speaks to editors, is not installed"
        raise PtexploreError("ptexplore lsp cannot start", why, 'pip install "ptexplore[lsp]"', MISSING) from error
    # The server closes its streams when the editor leaves. Nothing else may write between its messages.
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as read, os.fdopen(os.dup(sys.stdout.fileno()), "wb") as written:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        make_server(python).start_io(read, written)
    return 0
