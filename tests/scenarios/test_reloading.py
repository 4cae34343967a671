"""SIGHUP: a new configuration takes effect completely, or not at all."""

import ssl
from pathlib import Path

import pytest

from tests.server.certificates import make_certificate
from wsnode.node.config import Config, ConfigurationError, NetworkConfig
from wsnode.node.config_file import read
from wsnode.node.running import RunningNode, reload
from wsnode.server.limits import Limits
from wsnode.server.server import Server
from wsnode.server.transport.encrypted import tls_context

CONFIG = Config(networks={"one": NetworkConfig("one")})


def handshake(context: ssl.SSLContext) -> bytes:
    """Return the certificate that the server side shows."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server),
        context.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = ends[0].getpeercert(binary_form=True)
    assert shown is not None
    return shown


@pytest.mark.parametrize(
    "failure",
    [
        ConfigurationError("wrong"),
        OSError("gone"),
        UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "no"),
        KeyError("bug"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_whatever_is_wrong_with_a_configuration_it_changes_nothing(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server([], Limits(threads=7))

    def fail() -> Config:
        raise failure

    reload(RunningNode(CONFIG, server, [], None), fail)
    assert server.limits.threads == 7
    assert caplog.text.count("the configuration stays as it was") == 1


@pytest.mark.parametrize(
    "content", [b"# caf\xe9", b"a = " + b"[" * 100_000, b"a = " + b"9" * 5000, b"\x00", b"listen = 5"]
)
def test_a_file_that_is_no_configuration_is_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"wsnode\.toml: "):
        read(file)


def test_a_certificate_with_anothers_key_leaves_the_one_in_force(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path / "first")
    other, _ = make_certificate(tmp_path / "second")
    context = tls_context(certificate, key)
    running = RunningNode(CONFIG, Server([]), [], context)
    before = handshake(context)
    reload(running, lambda: Config(networks={}, tls_cert=str(other), tls_key=str(key)))
    assert handshake(context) == before


def test_a_key_with_a_passphrase_is_refused_instead_of_asked_for(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path / "locked", passphrase="secret")
    with pytest.raises(ssl.SSLError):
        tls_context(certificate, key)
