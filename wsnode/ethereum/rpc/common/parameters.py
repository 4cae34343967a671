"""Types of eth_ methods' parameters: addresses, hashes, indices, storage keys, block references."""

from binascii import unhexlify
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.common.decoding import (
    ARGUMENT,
    decode_array,
    decode_bytes,
    decode_fixed,
    decode_quantity,
    kind,
    mismatch,
    parse_bytes,
    parse_quantity,
)
from wsnode.ethereum.rpc.common.schemas import ANY_ADDRESS, ANY_BYTES, ANY_HASH, ANY_QUANTITY, ANY_STORAGE_KEY
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, shortened
from wsnode.jsonrpc.parameters import PositionalDecoder
from wsnode.jsonrpc.schema import BOOLEAN, Schema, either, list_of, members
from wsnode.jsonrpc.session_limits import check_count

ADDRESS_TYPE = "common.Address"
HASH_TYPE = "common.Hash"


class Data(bytes):
    """Bytes of any length, as hex after `0x`."""

    __slots__ = ()


class BlockHash(Hash32):
    """Hash of a block: 32 bytes as hex after `0x`."""

    __slots__ = ()


class Index(int):
    """A position in a block, below 2**64."""


class Flag:
    """`true` or `false`."""

    __slots__ = ("is_set",)

    def __init__(self, *, is_set: bool) -> None:
        self.is_set = is_set


class StorageKey(str):
    """A storage slot: up to 32 bytes as hex; the prefix and leading zeros may be missing.

    Kept in the caller's spelling: `slot_of` parses it after the block is found, as geth does.
    """

    __slots__ = ()


class NumberOrTag(int):
    """A block's number as a quantity, or a tag: `earliest`, `latest`, `safe`, `finalized`, `pending`.

    A tag is the negative number that geth gives it.
    """


EARLIEST: Final = NumberOrTag(-5)
SAFE: Final = NumberOrTag(-4)
FINALIZED: Final = NumberOrTag(-3)
LATEST: Final = NumberOrTag(-2)
PENDING: Final = NumberOrTag(-1)
TAGS: Final = {
    "earliest": EARLIEST,
    "safe": SAFE,
    "finalized": FINALIZED,
    "latest": LATEST,
    "pending": PENDING,
}
TAG_NAMES: Final = {number: name for name, number in TAGS.items()}


BLOCK_NUMBER: Final = either({"enum": sorted(TAGS)}, ANY_QUANTITY)


class BlockParameter:
    """A block by `number` (or tag), or by `hash`; `require_canonical` refuses a side block's hash."""

    __slots__ = ("hash", "number", "require_canonical")

    def __init__(
        self, number: NumberOrTag | None, hash: Hash32 | None = None, *, require_canonical: bool = False
    ) -> None:
        self.number = number
        self.hash = hash
        self.require_canonical = require_canonical


BLOCK: Final = either(
    BLOCK_NUMBER,
    ANY_HASH,
    members({"blockNumber": BLOCK_NUMBER}, "blockNumber"),
    members({"blockHash": ANY_HASH, "requireCanonical": BOOLEAN}, "blockHash"),
)


class BlockParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[block]`, by number, tag or hash."""

    block: BlockParameter


_TAG_PARAMETERS: Final = {name: BlockParameter(number) for name, number in TAGS.items()}
LATEST_BLOCK: Final = _TAG_PARAMETERS["latest"]


def register_list(
    cls: type[tuple[Any, ...]],
    decode: Callable[[Any], Any],
    item: Schema,
    *,
    most: int,
    type_name: str,
    excess: RpcError | None = None,
) -> None:
    """Register `cls` as a JSON array of at most `most` items, each decoded by `decode`.

    A longer array is refused with `excess`, if given.
    """

    def decode_list(value: Any) -> Any:
        decode_array(value, type_name)
        if excess is not None and len(value) > most:
            raise excess
        check_count(len(value), most, "items")
        return cls(map(decode, value))

    register_type(cls, decode_list, list_of(item, most=most))


def decode_address(value: Any, place: str = ARGUMENT) -> Address:
    """Return the address that `value` writes."""
    return Address(decode_fixed(value, 20, ADDRESS_TYPE, place))


def decode_hash(value: Any, place: str = ARGUMENT) -> Hash32:
    """Return the hash that `value` writes."""
    return Hash32(decode_fixed(value, 32, HASH_TYPE, place))


def decode_block_number(value: Any) -> NumberOrTag:
    """Return the number or tag that `value` writes."""
    return _block_number(value if type(value) is str else "?")


# Clients repeat a few block parameters; errors are not cached.
@lru_cache(maxsize=4096)
def _block_number(text: str) -> NumberOrTag:
    if (tag := TAGS.get(text)) is not None:
        return tag
    if (number := parse_quantity(text, 64)) >= 1 << 63:
        raise ValueError("block number larger than int64")
    return NumberOrTag(number)


def decode_block_parameter(value: Any) -> BlockParameter:
    """Return the block that a tag, a quantity, a hash or an object names."""
    if type(value) is not str:
        return _decode_block_object(value)
    if (tag := _TAG_PARAMETERS.get(value)) is not None:
        return tag
    if len(value) == 66:
        return BlockParameter(None, Hash32(parse_bytes(value)))
    if (number := parse_quantity(value, 64)) >= 1 << 63:
        raise ValueError("blocknumber too high")
    return BlockParameter(NumberOrTag(number))


# Clients repeat a few slots.
@lru_cache(maxsize=4096)
def slot_of(key: str) -> bytes:
    """Return the 32 bytes of `key`; the prefix and leading zeros may be missing, as in geth.

    Raises:
        ValueError: It is too long or not hex.
    """
    digits = key[2:] if key[:2] in {"0x", "0X"} else key
    if len(digits) > 64:
        raise ValueError(f"storage key too long (want at most 32 bytes): {quoted(shortened(key))}")
    try:
        return unhexlify(digits.rjust(64, "0"))
    except ValueError:
        raise ValueError(f"invalid hex in storage key: {quoted(key)}") from None


def quoted(text: str) -> str:
    """Return `text` as Go's %q prints it."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(letter) or _printable(letter) for letter in text) + '"'


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _decode_block_object(value: Any) -> BlockParameter:
    if type(value) is not dict:
        raise mismatch(kind(value), "string")
    members = {name.lower(): member for name, member in value.items() if member is not None}
    number, block_hash = members.get("blocknumber"), members.get("blockhash")
    canonical = members.get("requirecanonical", False)
    if type(canonical) is not bool:
        raise mismatch("object", "string")
    try:
        parameter = BlockParameter(
            None if number is None else decode_block_number(number),
            None if block_hash is None else decode_hash(block_hash),
            require_canonical=canonical,
        )
    except ValueError:
        raise mismatch("object", "string") from None
    if number is not None and block_hash is not None:
        raise ValueError("cannot specify both BlockHash and BlockNumber, choose one or the other")
    if number is None and block_hash is None:
        raise ValueError("must specify either BlockHash or BlockNumber")
    return parameter


def _decode_flag(value: Any) -> Flag:
    if type(value) is not bool:
        raise mismatch(kind(value), "bool")
    return _SET if value else _UNSET


def _decode_storage_key(value: Any) -> StorageKey:
    if type(value) is not str:
        raise mismatch(kind(value), "string")
    return StorageKey(value)


_SET = Flag(is_set=True)
_UNSET = Flag(is_set=False)

register_type(Address, decode_address, ANY_ADDRESS)
register_type(Hash32, decode_hash, ANY_HASH)
register_type(BlockHash, lambda value: BlockHash(decode_hash(value)), ANY_HASH)
register_type(Data, lambda value: Data(decode_bytes(value)), ANY_BYTES)
register_type(Index, lambda value: Index(decode_quantity(value, 64, "hexutil.Uint")), ANY_QUANTITY)
register_type(Flag, _decode_flag, BOOLEAN)
register_type(StorageKey, _decode_storage_key, ANY_STORAGE_KEY)
register_type(NumberOrTag, decode_block_number, BLOCK_NUMBER)
register_type(BlockParameter, decode_block_parameter, BLOCK)


def account_of(params: Any) -> list[int]:
    """Return a list of the only account in `params`."""
    return numbers([params.address])


def any_contract(_params: Any) -> None:
    """Return None: the method can read any contract without naming it."""
    return


def numbers(addresses: Iterable[bytes]) -> list[int]:
    """Return addresses as numbers, the form of keys' contracts."""
    return [int.from_bytes(address) for address in addresses]


class TextParameters:
    """Decoder that passes parameters on as JSON text, for the engine to parse."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct: type[msgspec.Struct] | None = struct
        self.decode: Callable[[bytes], bytes] = bytes
        self._decoded = PositionalDecoder(struct)

    def explain(self, params: bytes) -> bytes:
        return params

    def read(self, params: Any) -> Any:
        """Return parameters in any form as the Struct; a Struct is returned unchanged.

        Raises:
            RpcError: They are invalid, with the reason for the caller.
        """
        return self._decoded.read(params) if isinstance(params, bytes) else params
