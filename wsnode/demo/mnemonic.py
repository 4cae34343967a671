"""Accounts from a phrase, as every wallet derives them: BIP-39, BIP-32, BIP-44 (m/44'/60'/0'/0/n)."""

import hmac
import re
from collections.abc import Sequence
from hashlib import pbkdf2_hmac, sha512
from typing import Final
from unicodedata import normalize

from wsnode.ethereum.state import public_key_of

# The order of secp256k1 (SEC 2, section 2.4.1).
_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_HARDENED: Final = 1 << 31
USUAL_PATH: Final = (44 + _HARDENED, 60 + _HARDENED, _HARDENED, 0)
"""Path m/44'/60'/0'/0; the number of an account follows it."""
_PATH_FORM: Final = re.compile(r"m((?:/[0-9]{1,10}'?)*)/?")
_SEED_ROUNDS: Final = 2048

_Node = tuple[int, bytes]
"""Private key, and its chain code."""


def derivation_path(text: str) -> tuple[int, ...]:
    """Return the numbers of a path such as `m/44'/60'/0'/0/` (BIP-32), hardened ones from 2^31 on.

    Raises:
        ValueError: The text is no derivation path.
    """
    found = _PATH_FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no derivation path, such as m/44'/60'/0'/0/")
    parts = [part for part in found[1].split("/") if part]
    numbers = [(int(part.rstrip("'")), part.endswith("'")) for part in parts]
    if any(number >= _HARDENED for number, _ in numbers):
        raise ValueError(f"{text!r}: the numbers of a derivation path are below 2^31")
    return tuple(number + _HARDENED * is_hardened for number, is_hardened in numbers)


def secrets(mnemonic: str, count: int, path: Sequence[int] = USUAL_PATH) -> list[bytes]:
    """Return the first `count` private keys, 32 bytes each; the checksum of the phrase is not checked."""
    words = " ".join(normalize("NFKD", mnemonic).split())
    seed = pbkdf2_hmac("sha512", words.encode(), b"mnemonic", _SEED_ROUNDS)
    node = _split(hmac.digest(b"Bitcoin seed", seed, sha512), 0)
    for index in path:
        node = _child(node, index, _public(node[0]))
    public = _public(node[0])
    return [_child(node, index, public)[0].to_bytes(32, "big") for index in range(count)]


def _child(node: _Node, index: int, public: bytes) -> _Node:
    secret, chain_code = node
    content = b"\0" + secret.to_bytes(32, "big") if index >= _HARDENED else public
    return _split(hmac.digest(chain_code, content + index.to_bytes(4, "big"), sha512), secret)


def _split(digest: bytes, secret: int) -> _Node:
    return (int.from_bytes(digest[:32], "big") + secret) % _ORDER, digest[32:]


def _public(secret: int) -> bytes:
    return public_key_of(secret.to_bytes(32, "big"))
