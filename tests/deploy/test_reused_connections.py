"""WebSocket handshakes through proxies that keep connections to the node, and send any request on them."""

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from websockets.sync.client import connect

from tests.node_process import kept_address, post, started, until

CALL: Final = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'

NGINX: Final = """\
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    map $http_upgrade $upgrade {{
        default upgrade;
        '' '';
    }}
    upstream node {{
        server {node};
        keepalive 8;
    }}
    server {{
        listen {clients};
        location / {{
            proxy_pass http://node;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $upgrade;
        }}
    }}
}}
"""
HAPROXY: Final = """\
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
    timeout tunnel 60s
frontend clients
    bind {clients}
    default_backend nodes
backend nodes
    http-reuse always
    server node {node}
"""


@contextmanager
def running(command: list[str], log: Path, clients: str) -> Iterator[None]:
    """Run a proxy until the end; it answers when the block begins."""
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written)
    try:
        until("a node answers through it", lambda: answers(clients, process, log))
        yield
    finally:
        process.terminate()
        process.wait()


def answers(clients: str, process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    try:
        with urllib.request.urlopen(f"http://{clients}/healthz", timeout=5):
            return True
    except OSError:
        return False


def nginx(folder: Path, text: str) -> list[str]:
    (folder / "nginx.conf").write_text(text)
    return ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def haproxy(folder: Path, text: str) -> list[str]:
    (folder / "haproxy.cfg").write_text(text)
    return ["haproxy", "-f", str(folder / "haproxy.cfg")]


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"no `{tool}` on the path")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "configuration"),
    [
        pytest.param(nginx, NGINX, id="nginx", marks=needs("nginx")),
        pytest.param(haproxy, HAPROXY, id="haproxy", marks=needs("haproxy")),
    ],
)
def test_a_proxy_sends_a_handshake_on_a_connection_that_carried_calls(
    tmp_path: Path, command: Callable[[Path, str], list[str]], configuration: str
) -> None:
    with started("dev", "--quiet", "--listen", "127.0.0.1:0") as node, kept_address() as clients:
        address = node.bare(node.http_url).removeprefix("http://").removesuffix("/")
        text = configuration.format(folder=tmp_path, node=address, clients=clients)
        with running(command(tmp_path, text), tmp_path / "log", clients):
            for _ in range(3):
                # Alone, so the proxy has one idle connection to the node, and reuses it.
                assert "result" in json.loads(post(f"http://{clients}/", CALL))
                with connect(f"ws://{clients}/") as socket:
                    socket.send(CALL)
                    assert "result" in json.loads(socket.recv())
