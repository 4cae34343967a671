"""Accounts of development chains, derived from a phrase: BIP-39, BIP-32, BIP-44 (m/44'/60'/0'/0/n)."""

import hmac
import re
from collections.abc import Sequence
from functools import cache
from hashlib import pbkdf2_hmac, sha512
from typing import Final
from unicodedata import normalize

import msgspec

from wsnode.ethereum.state import address_of, public_key_of

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


MNEMONIC: Final = "test test test test test test test test test test test junk"

# m/44'/60'/0'/0/0 to /9 of MNEMONIC, as anvil and hardhat print them. Never send real funds to them.
SECRETS: Final = (
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
    "47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
    "8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
    "92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
    "4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
    "dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
    "2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
)

ADDRESSES: Final = (
    "f39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "70997970c51812dc3a010c7d01b50e0d17dc79c8",
    "3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
    "90f79bf6eb2c4f870365e785982e1f101e93b906",
    "15d34aaf54267db7d7c367839aaf71a00a2c6a65",
    "9965507d1a55bcc2695c58ba16fb37d819b0a4dc",
    "976ea74026e726554db657fa54763abd0c3a0aa9",
    "14dc79964da2c08b23698b3d3cc7ca32193d9955",
    "23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f",
    "a0ee7a142d267c1f36714e4a8f75612f20a79720",
)


class FundedAccount(msgspec.Struct, frozen=True):
    """Development account: 20 bytes of address, 32 bytes of private key."""

    address: bytes
    secret: bytes


ACCOUNTS: Final = tuple(
    FundedAccount(address=bytes.fromhex(address), secret=bytes.fromhex(secret))
    for address, secret in zip(ADDRESSES, SECRETS, strict=True)
)

TRADERS: Final = 6


def derived(mnemonic: str, count: int, path: Sequence[int] = USUAL_PATH) -> list[FundedAccount]:
    """Return the first `count` accounts of a phrase below a derivation path."""
    if (mnemonic, tuple(path)) == (MNEMONIC, USUAL_PATH) and count <= len(ACCOUNTS):
        return list(ACCOUNTS[:count])
    return [
        FundedAccount(address=address_of(secret), secret=secret) for secret in secrets(mnemonic, count, path)
    ]


@cache
def traders() -> list[FundedAccount]:
    """Return the senders of the demo's traffic: the accounts after the first ten, which users have."""
    return derived(MNEMONIC, len(ACCOUNTS) + TRADERS)[len(ACCOUNTS) :]
