"""JSON Web Tokens of a port's clients, one in each request, signed with a secret known to both sides.

Source: execution-apis, src/engine/authentication.md; RFC 7515 for the form of a token.
"""

import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
import time
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from wsnode.jsonrpc.errors import INVALID_REQUEST, RpcError
from wsnode.server.access.request_errors import HttpRequestRefusedError
from wsnode.untrusted.decoding import JsonDecoder, MalformedError
from wsnode.untrusted.files import OversizedFileError, open_for_reading

logger = logging.getLogger("wsnode.server")
T = TypeVar("T")

SECRET_BYTES: Final = 32
MAX_DRIFT_SECONDS: Final = 60
_SCHEME: Final = "bearer"
_SECRET: Final = re.compile(rf"(0x)?[0-9a-fA-F]{{{2 * SECRET_BYTES}}}")
_MAX_CHARACTERS: Final = 8192


class SecretError(Exception):
    """Error of a secret's file that cannot be used; one line says why."""


class _Header(msgspec.Struct):
    alg: str


class _Claims(msgspec.Struct):
    iat: float
    """Time of issue in Unix seconds; other claims are ignored."""


_HEADER: Final = JsonDecoder(_Header)
_CLAIMS: Final = JsonDecoder(_Claims)


class JwtVerifier:
    """Verifier of tokens by a secret; no message shows the secret."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock

    def check(self, authorization: str) -> None:
        """Check that the `Authorization` header has a token signed with the secret, issued within 60 s of
        now.

        Raises:
            HttpRequestRefusedError: 401, with the reason.
        """
        scheme, _, token = authorization.strip().partition(" ")
        if scheme.lower() != _SCHEME or not token:
            raise _refused("missing token")
        signed, _, signature = token.strip().rpartition(".")
        header, _, claims = signed.partition(".")
        if len(token) > _MAX_CHARACTERS:
            raise _refused(f"a token has {_MAX_CHARACTERS} characters at most")
        if _decoded(header, _HEADER).alg != "HS256":
            raise _refused("only tokens signed with HS256 are accepted")
        expected = hmac.digest(self._secret, signed.encode(), hashlib.sha256)
        if not hmac.compare_digest(expected, _bytes(signature)):
            raise _refused("the token is not signed with this node's secret")
        self._check_time(_decoded(claims, _CLAIMS).iat)

    def _check_time(self, made: float) -> None:
        # The negated comparison also refuses NaN, which no comparison includes.
        if not abs(self._clock() - made) <= MAX_DRIFT_SECONDS:
            raise _refused(f"the token was not made within {MAX_DRIFT_SECONDS} seconds of now")


MAX_BYTES: Final = 4096


def read_secret(path: Path) -> bytes:
    """Return the secret of 32 bytes in a file of 64 hexadecimal digits.

    A missing file is made with a new secret.

    Raises:
        SecretError: The file cannot be read or made, all users may write it, or its content is no secret.
    """
    try:
        try:
            with open_for_reading(path) as file:
                mode = os.fstat(file.fileno()).st_mode
                content = file.read(MAX_BYTES + 1)
            if len(content) > MAX_BYTES:
                raise OversizedFileError(path, MAX_BYTES)
            text = content.decode("ascii")
        except FileNotFoundError:
            return _made(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SecretError(f"{path}: {error}") from error
    if mode & stat.S_IWOTH:
        raise SecretError(f"{path}: everybody may write it (mode {mode & 0o777:04o}): chmod 600 {path}")
    if mode & stat.S_IROTH:
        logger.warning(
            "%s: everybody may read this secret (mode %04o): chmod 600 %s", path, mode & 0o777, path
        )
    if _SECRET.fullmatch(text.strip()) is None:
        raise SecretError(f"{path}: a secret is {2 * SECRET_BYTES} hexadecimal digits, with or without 0x")
    return bytes.fromhex(text.strip().removeprefix("0x"))


def _made(path: Path) -> bytes:
    secret = secrets.token_bytes(SECRET_BYTES)
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"0x{secret.hex()}\n")
    return secret


def _decoded(part: str, decoder: JsonDecoder[T]) -> T:
    try:
        return decoder.decode(_bytes(part))
    except MalformedError:
        raise _refused("the token is malformed") from None


def _bytes(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part.encode("ascii") + b"=" * (-len(part) % 4))
    except (Base64Error, ValueError):
        raise _refused("the token is malformed") from None


def _refused(message: str) -> HttpRequestRefusedError:
    return HttpRequestRefusedError(401, RpcError(INVALID_REQUEST, message), {"WWW-Authenticate": "Bearer"})
