"""Who is answered: this machine, by its own address, and no foreign page."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.serve.serving import playground

pytest.importorskip("panel")

pytestmark = pytest.mark.xdist_group("playground")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    events = tmp_path_factory.mktemp("events") / "events.csv"
    events.write_text("ts,type\n1,A\n2,B\n")
    with playground(events) as address:
        yield urlsplit(address).port or 0


def get(port: int, path: str = "/", **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_the_page_is_given_to_this_machine(port: int) -> None:
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        status, text = get(port, Host=host)
        assert status == 200
        assert b"Augury playground" in text
    assert get(port, Origin=f"http://127.0.0.1:{port}")[0] == 200
    # A link on another page may lead here.
    assert get(port, Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="document")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "iframe"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Dest": "script"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/", "/static/js/bokeh.min.js", "/ws", "/autoload.js"])
def test_others_are_refused_whatever_they_ask_for(port: int, headers: dict[str, str], path: str) -> None:
    status, text = get(port, path, **{name: value.format(port=port) for name, value in headers.items()})
    assert status == 403
    assert text.startswith(b"this page answers")


def test_a_request_with_two_hosts_is_refused(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as talk:
        talk.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n".encode())
        assert talk.recv(64).split()[1] in (b"400", b"403")


def test_a_web_socket_of_a_foreign_page_is_refused(port: int) -> None:
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": base64.b64encode(bytes(16)).decode(),
    }
    assert get(port, "/ws", Origin="http://evil.example", **upgrade)[0] == 403
    # That of the page itself opens.
    assert get(port, "/ws", Origin=f"http://127.0.0.1:{port}", **upgrade)[0] == 101


def test_no_other_file_is_given(port: int) -> None:
    root = Path(__file__).parents[2]
    for path in (
        "/../../../../../../../../etc/passwd",
        "/static/../../../../../../../../etc/passwd",
        "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static/extensions/panel/../../../../../../../../etc/passwd",
        "/static/extensions/panel//etc/passwd",
        f"/static/{root / 'pyproject.toml'}",
        "/components/augury.serve.playground/x/y/resources/page.css",
        "/events.csv",
    ):
        status, text = get(port, path)
        assert status in (403, 404), path
        assert b"root:" not in text


def test_only_the_loopback_interface_is_listened_at(port: int) -> None:
    listening = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in _lines(Path(f"/proc/net/{table}"))
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    ]
    assert listening == [f"0100007F:{port:04X}"]


def _lines(path: Path) -> list[str]:
    if not path.exists():
        pytest.skip(f"there is no {path} on this system")
    return path.read_text().splitlines()[1:]
