"""Access control of local pages: only browsers on this machine that were given the address, and no other web page."""

from __future__ import annotations

from collections.abc import Awaitable

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)

LOOPBACK = "127.0.0.1"

LOOPBACK_NAMES = (LOOPBACK, "localhost")
"""Host names of this server on this machine; any other name may be DNS rebinding."""


def refusal(headers: HTTPHeaders, port: int) -> str | None:
    """The reason why a request is refused; None if it is allowed.

    >>> refusal(HTTPHeaders({"Host": "127.0.0.1:5006"}), 5006)
    >>> refusal(HTTPHeaders({"Host": "localhost:5006", "Origin": "http://evil.example"}), 5006)
    'this page answers no other origin'
    >>> refusal(HTTPHeaders({"Host": "evil.example:5006"}), 5006)
    'this page answers at 127.0.0.1:5006 only'
    """
    own = [f"{name}:{port}" for name in LOOPBACK_NAMES]
    hosts, origins = headers.get_list("Host"), headers.get_list("Origin")
    if len(hosts) != 1 or hosts[0].lower() not in own:
        return f"this page answers at {own[0]} only"
    if any(origin.lower() not in [f"http://{name}" for name in own] for origin in origins):
        return "this page answers no other origin"
    # Browsers send no origin with embedded resources, but do send the site of the embedding page.
    foreign = headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
    if foreign and headers.get("Sec-Fetch-Dest") != "document":
        return "this page answers no other origin"
    return None


class LoopbackOnly(HTTPServerConnectionDelegate):
    """Passes allowed requests on to an application; web sockets begin as requests too."""

    def __init__(self, application: HTTPServerConnectionDelegate) -> None:
        self.application = application
        self.port = 0
        """The port of the server, once it listens."""

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        return _Checked(self.application.start_request(server_conn, request_conn), request_conn, self.port)

    def on_close(self, server_conn: object) -> None:
        self.application.on_close(server_conn)


class _Checked(HTTPMessageDelegate):
    """One request, which reaches the application only if its headers are allowed."""

    def __init__(self, inner: HTTPMessageDelegate, connection: HTTPConnection, port: int) -> None:
        self.inner, self.connection, self.port = inner, connection, port
        self.refused: str | None = None

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        self.refused = refusal(headers, self.port)
        return None if self.refused is not None else self.inner.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return None if self.refused is not None else self.inner.data_received(chunk)

    def finish(self) -> None:
        if self.refused is None:
            self.inner.finish()
            return
        text = self.refused.encode()
        headers = HTTPHeaders({"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(text))})
        self.connection.write_headers(ResponseStartLine("HTTP/1.1", 403, "Forbidden"), headers, text)
        self.connection.finish()

    def on_connection_close(self) -> None:
        self.inner.on_connection_close()
