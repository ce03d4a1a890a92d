"""Show a written site on this machine alone: on the loopback address, files only, nothing outside the folder."""

from __future__ import annotations

import functools
import os
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ptexplore.errors import PtexploreError

HOST = "127.0.0.1"


class _Files(SimpleHTTPRequestHandler):
    """Files of one folder; links out of it and lists of folders are refused, and nobody's log is filled."""

    def send_head(self):  # type: ignore[no-untyped-def]
        root = os.path.realpath(self.directory)
        real = os.path.realpath(self.translate_path(self.path))
        if self.headers.get("Host", "").rpartition(":")[0] not in (HOST, "localhost"):
            return self.send_error(403)  # another site's name that leads here
        if real != root and not real.startswith(root + os.sep):
            return self.send_error(404)
        return super().send_head()

    def list_directory(self, path):  # type: ignore[no-untyped-def]  # noqa: ARG002
        return self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        del format, args


def show_site(root: Path, port: int) -> None:
    """Serve until Ctrl-C. Raises PtexploreError if the port is taken."""
    handler = functools.partial(_Files, directory=str(root))
    try:
        server = ThreadingHTTPServer((HOST, port), handler)
    except OSError as error:
        why = error.strerror or str(error)
        raise PtexploreError(f"port {port} cannot be opened", why, "--serve 0 takes a free one") from error
    with server:
        print(f"http://{HOST}:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
