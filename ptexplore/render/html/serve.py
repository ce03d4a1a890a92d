"""Serves a written site on this machine only: on the loopback address, files only, nothing outside the folder."""

from __future__ import annotations

import functools
import os
import re
import socket
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ptexplore.errors import PtexploreError
from ptexplore.source.tree import leads_into_git

HOST = "127.0.0.1"
CONNECTIONS = 32  # at a time; a browser opens six
LOOKS = 0.2  # seconds between searches for a slow connection to end, while another one waits
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?", re.IGNORECASE)


class _Files(SimpleHTTPRequestHandler):
    """A handler for the files of one folder. It refuses links out of it and lists of folders, and logs nothing."""

    timeout = 20  # seconds that a connection may be silent, and may last at all while another one waits
    index_pages = ("index.html", "index.htm")  # for the address of a folder (http.server has this from 3.12 on)

    def send_head(self):  # type: ignore[no-untyped-def]
        root = os.path.realpath(self.directory)
        if _HOST.fullmatch(self.headers.get("Host", "")) is None:
            return self.send_error(403)  # a foreign host name that leads here
        if not self._is_asked_by_us():
            return self.send_error(403)
        path = self.translate_path(self.path)
        try:
            # Python's handler may choose any of these files. Each must be in this folder, and must open without
            # waiting.
            chosen = [path, *(os.path.join(path, page) for page in self.index_pages)]
            for file in chosen:
                if not self._is_served(os.path.realpath(file), root):
                    return self.send_error(404)
        except ValueError:  # a NUL, which no name contains
            return self.send_error(404)
        return super().send_head()

    def _is_asked_by_us(self) -> bool:
        """Whether a page of this site asks, or its reader. Otherwise scripts of other sites could read this site.

        A reader may follow a link from elsewhere. Browsers before 2023 do not say who asks.
        """
        who = self.headers.get("Sec-Fetch-Site", "none")
        how, what = self.headers.get("Sec-Fetch-Mode"), self.headers.get("Sec-Fetch-Dest")
        return who in ("same-origin", "none") or (how, what) == ("navigate", "document")

    def end_headers(self) -> None:
        """Tell each browser that no page of another site may load this, frame it, or take it for another type."""
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Content-Security-Policy", "frame-ancestors 'self'")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    @staticmethod
    def _is_served(real: str, root: str) -> bool:
        """Whether a path leads to a regular file or a folder of this site, or to nothing."""
        if real != root and not real.startswith(os.path.join(root, "")):
            return False
        if leads_into_git(real[len(root) :]):  # a site that is published with git has its repository in its folder
            return False
        try:
            mode = os.stat(real).st_mode
        except OSError:
            return True  # nothing is there: 404 in any case
        return stat.S_ISREG(mode) or stat.S_ISDIR(mode)

    def list_directory(self, path):  # type: ignore[no-untyped-def]  # noqa: ARG002
        return self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        del format, args


class _Server(ThreadingHTTPServer):
    """A server with a limit on connections: a further one waits until another one ends, or takes too long."""

    def __init__(self, port: int, handler: Callable[..., _Files]) -> None:
        self._room = threading.BoundedSemaphore(CONNECTIONS)
        self._began: dict[Any, float] = {}  # by connection, on time.monotonic
        super().__init__((HOST, port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a thread for a connection."""
        while not self._room.acquire(timeout=LOOKS):
            self._end_slow()
        self._began[request] = time.monotonic()
        super().process_request(request, client_address)

    def _end_slow(self) -> None:
        """End slow connections: one that sends a byte now and then would keep its place forever."""
        for request, began in list(self._began.items()):
            if time.monotonic() - began > _Files.timeout:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer on one connection, in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._began[request]
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: a reader went away, and that is no problem."""
        del request, client_address


def show_site(root: Path, port: int) -> None:
    """Serve until Ctrl-C. Raises PtexploreError if the port is taken."""
    handler = functools.partial(_Files, directory=str(root))
    try:
        server = _Server(port, handler)
    except OSError as error:
        why = error.strerror or str(error)
        raise PtexploreError(f"port {port} cannot be opened", why, "--serve 0 uses a free port") from error
    with server:
        print(f"http://{HOST}:{server.server_port}/ (Ctrl-C stops the server)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
