"""Accounts from a phrase, as every wallet derives them: BIP-39, BIP-32, BIP-44 (m/44'/60'/0'/0/n)."""

import hmac
from hashlib import pbkdf2_hmac, sha512
from typing import Final
from unicodedata import normalize

# secp256k1: y² = x³ + 7 over the field of _PRIME, the generator and its order (SEC 2, section 2.4.1).
_PRIME: Final = 2**256 - 2**32 - 977
_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_GENERATOR: Final = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
    1,
)
_NOWHERE: Final = (1, 1, 0)
_HARDENED: Final = 1 << 31
_PATH: Final = (44 + _HARDENED, 60 + _HARDENED, _HARDENED, 0)
_SEED_ROUNDS: Final = 2048

Point = tuple[int, int, int]
_Node = tuple[int, bytes]
"""A private key and the chain code that goes with it."""


def secrets(mnemonic: str, count: int) -> list[bytes]:
    """Return the first private keys, 32 bytes each; the phrase is taken as it is, its checksum ignored."""
    words = " ".join(normalize("NFKD", mnemonic).split())
    seed = pbkdf2_hmac("sha512", words.encode(), b"mnemonic", _SEED_ROUNDS)
    node = _split(hmac.digest(b"Bitcoin seed", seed, sha512), 0)
    for index in _PATH:
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
    """Return the compressed public key."""
    x, y, z = _multiplied(_GENERATOR, secret)
    inverse = pow(z, -1, _PRIME)
    x, y = x * inverse**2 % _PRIME, y * inverse**3 % _PRIME
    return bytes([2 + y % 2]) + x.to_bytes(32, "big")


def _multiplied(point: Point, factor: int) -> Point:
    total = _NOWHERE
    for bit in f"{factor:b}":
        total = _doubled(total)
        if bit == "1":
            total = _added(total, point)
    return total


# Jacobian coordinates: (x, y, z) is the point (x / z², y / z³), so only the end needs a division.
def _doubled(point: Point) -> Point:
    x, y, z = point
    square = y * y % _PRIME
    middle = 4 * x * square % _PRIME
    slope = 3 * x * x % _PRIME
    new = (slope * slope - 2 * middle) % _PRIME
    return new, (slope * (middle - new) - 8 * square * square) % _PRIME, 2 * y * z % _PRIME


def _added(one: Point, other: Point) -> Point:
    """Return the sum of two points that differ, the second one with z = 1."""
    x, y, z = one
    if not z:
        return other
    square = z * z % _PRIME
    across, up = (other[0] * square - x) % _PRIME, (other[1] * square * z - y) % _PRIME
    second = across * across % _PRIME
    third = second * across % _PRIME
    new = (up * up - third - 2 * x * second) % _PRIME
    return new, (up * (x * second - new) - y * third) % _PRIME, z * across % _PRIME
