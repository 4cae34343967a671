"""Tokens: JSON Web Tokens signed with a shared secret, demanded by every request and every handshake."""

import base64
import hashlib
import hmac
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import OpenSite, Peer
from tests.server.http.test_connection import client
from wsnode.server.access.jwt import JwtVerifier, SecretError, read_secret
from wsnode.server.access.request_errors import HttpRequestRefusedError

SECRET = bytes(range(32))
NOW = 1_700_000_000


def encoded(content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def token(secret: bytes = SECRET, *, algorithm: str = "HS256", **claims: Any) -> str:
    signed = f"{encoded({'alg': algorithm, 'typ': 'JWT'})}.{encoded(claims)}"
    signature = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"Bearer {signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def tokens() -> JwtVerifier:
    return JwtVerifier(SECRET, lambda: NOW)


@pytest.mark.parametrize(("beyond", "is_taken"), [(0, True), (1, False)])
def test_a_token_has_a_bound(beyond: int, is_taken: bool) -> None:
    most = len("Bearer ") + 8192
    plain = len(token(iat=NOW, pad=""))
    # Three bytes are four characters.
    padded = next(
        sent
        for size in range((most - plain) * 3 // 4 - 8, most)
        if len(sent := token(iat=NOW, pad="a" * size)) >= most + beyond
    )
    assert len(padded) == most + beyond
    if is_taken:
        tokens().check(padded)
    else:
        with pytest.raises(HttpRequestRefusedError, match="8192 characters") as refused:
            tokens().check(padded)
        assert refused.value.status == 401


@pytest.mark.parametrize("drift", [-60, -59.5, 0, 1, 60])
def test_a_token_of_the_last_minute_or_the_next_is_taken(drift: float) -> None:
    tokens().check(token(iat=NOW + drift))


@pytest.mark.parametrize("drift", [-61, -60.5, 60.5, 61, 3600])
def test_an_older_or_a_later_one_is_not(drift: float) -> None:
    with pytest.raises(HttpRequestRefusedError, match="within 60 seconds") as refused:
        tokens().check(token(iat=NOW + drift))
    assert refused.value.status == 401


def test_the_scheme_may_have_any_case_and_other_claims_are_passed_over() -> None:
    sent = token(iat=NOW, id="validator", clv="client/v1", exp=1, iss=None)
    tokens().check(sent.replace("Bearer", "bEARER"))


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        ("", "missing token"),
        ("Basic abc", "missing token"),
        ("Bearer", "missing token"),
        (token(bytes(32), iat=NOW), "not signed with this node's secret"),
        (token(SECRET[:-1], iat=NOW), "not signed with this node's secret"),
        (token(SECRET + b"\0\1", iat=NOW), "not signed with this node's secret"),
        (token(algorithm="HS384", iat=NOW), "only tokens signed with HS256"),
        (token(algorithm="none", iat=NOW), "only tokens signed with HS256"),
        (f"Bearer {encoded({'alg': 'none'})}.{encoded({'iat': NOW})}.", "only tokens signed with HS256"),
        (
            f"Bearer {encoded({'alg': 'HS256'})}.{encoded({'iat': NOW})}.",
            "not signed with this node's secret",
        ),
        (token(), "malformed"),
        (token(iat="now"), "malformed"),
        (token(iat=None), "malformed"),
        (token(iat=True), "malformed"),
        ("Bearer a.b.c", "malformed"),
        ("Bearer é.b.c", "malformed"),
        ("Bearer abc", "malformed"),
    ],
)
def test_nothing_else_is(authorization: str, reason: str) -> None:
    with pytest.raises(HttpRequestRefusedError, match=reason) as refused:
        tokens().check(authorization)
    assert refused.value.status == 401


def test_a_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "jwt.hex"
    secret = read_secret(path)
    assert (len(secret), read_secret(path)) == (32, secret)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", [SECRET.hex(), f"0x{SECRET.hex()}\n", f"  {SECRET.hex().upper()}  "])
def test_a_secret_is_read_with_a_prefix_and_without(tmp_path: Path, text: str) -> None:
    path = tmp_path / "jwt.hex"
    path.write_text(text)
    assert read_secret(path) == SECRET


@pytest.mark.parametrize("text", ["", "0x", SECRET.hex()[:-2], SECRET.hex() + "00", "g" * 64, "é" * 64])
def test_a_file_of_anything_else_is_an_error_of_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "jwt.hex"
    path.write_text(text)
    with pytest.raises(SecretError, match=r"jwt\.hex") as error:
        read_secret(path)
    assert "\n" not in str(error.value)
    assert path.read_text() == text


async def test_every_request_over_http_needs_one(open_site: OpenSite) -> None:
    async with open_site(tokens=tokens()) as site:
        http = client(site)
        for _ in range(2):
            assert (await http.ask(target="/", Authorization=token(iat=NOW))).status == 200
        refused = await http.ask(target="/")
        assert (refused.status, refused.json["error"]["message"]) == (401, "missing token")
        assert (await client(site).ask(target="/", Authorization=token(iat=NOW - 61))).status == 401
        assert (await client(site).ask(target="/v3/key")).status == 401


async def test_a_handshake_needs_one_and_the_messages_after_it_none(open_site: OpenSite) -> None:
    async with open_site(tokens=tokens()) as site:
        response = await Peer(site.connect(), path="/").open()
        assert response.status_code == 401
        peer = await site.peer(path="/", Authorization=token(iat=NOW))
        for _ in range(2):
            await peer.call("number")
            assert (await peer.reply())["result"] == "0x1"


async def test_a_head_without_a_token_is_refused_before_its_body_has_arrived(open_site: OpenSite) -> None:
    async with open_site(tokens=tokens()) as site:
        kind = "Content-Type: application/json\r\nContent-Length: 1000000"
        head = f"POST / HTTP/1.1\r\nHost: node\r\n{kind}\r\n\r\n"
        assert (await site.http(head)).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o400])
def test_a_secret_of_some_is_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int) -> None:
    file = tmp_path / "jwt.hex"
    file.write_text("0x" + "ab" * 32)
    file.chmod(mode)
    assert read_secret(file) == b"\xab" * 32
    assert caplog.text == ""


def test_a_secret_that_everybody_may_read_is_taken_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "jwt.hex"
    file.write_text("0x" + "ab" * 32)
    file.chmod(0o644)
    assert read_secret(file) == b"\xab" * 32
    assert "everybody may read this secret (mode 0644)" in caplog.text


@pytest.mark.parametrize("mode", [0o666, 0o777, 0o602])
def test_a_secret_that_everybody_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "jwt.hex"
    file.write_text("0x" + "ab" * 32)
    file.chmod(mode)
    with pytest.raises(SecretError, match=rf"everybody may write it \(mode 0{mode:o}\): chmod 600"):
        read_secret(file)
