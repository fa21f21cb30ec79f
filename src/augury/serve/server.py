"""A server for one page, reachable only from this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from panel.io.application import build_applications
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets

from augury.errors import HostError
from augury.serve.guard import LOOPBACK, LOOPBACK_NAMES, LoopbackOnly

MAX_MESSAGE_BYTES = 64 << 20  # of a web socket message; a page of the viewer with 100,000 events has some 8 MB


def page_server(make_page: Callable[[], Any], title: str, port: int = 0) -> tuple[BaseServer, str]:
    """A server that creates a page for every visit, and its address; the caller starts it and runs its `io_loop`.

    It listens on the loopback interface, on `port` or any free one, and serves the page, the scripts that it needs and
    its web socket, but no files.
    """
    try:
        sockets = bind_sockets(port, LOOPBACK)
    except OSError as e:
        raise HostError("A704", f"port {port} cannot be listened at: {e.strerror or e}", "choose another --port") from e
    port = sockets[0].getsockname()[1]
    application = BokehTornado(
        build_applications(make_page, title=title, location=False),
        extra_websocket_origins=[f"{name}:{port}" for name in LOOPBACK_NAMES],
        websocket_max_message_size_bytes=MAX_MESSAGE_BYTES,
    )
    guard = LoopbackOnly(application)
    guard.port = port
    http = HTTPServer(guard)
    http.add_sockets(sockets)
    return BaseServer(IOLoop.current(), application, http), f"http://{LOOPBACK}:{port}/"


def serve_until_interrupted(server: BaseServer) -> None:
    """Serve until Ctrl-C."""
    server.start()
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        server.stop()
