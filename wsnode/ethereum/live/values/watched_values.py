"""Watched accounts and slots: their values, the JSON text of changed ones, and cursors of subscribers."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self, TypeAlias

import msgspec

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32, hexadecimal
from wsnode.ethereum.state import MissingStateError, State
from wsnode.jsonrpc.codec import decode_cursor, encode_cursor

_VERSION: Final = b"\x03"
_HASH: Final = 32
_NUMBER: Final = 7


class StateCursor(msgspec.Struct, frozen=True):
    """Block and state root of the values that a client has.

    ```text
    version 3 (1) | hash of a block (32) | its number (7) | state root (32)
    ```

    A patch of a development chain changes a block's state and not its hash, so the root is included.
    """

    head: Head
    root: bytes

    def __str__(self) -> str:
        number = self.head.number.to_bytes(_NUMBER)
        return encode_cursor(b"%b%b%b%b" % (_VERSION, self.head.hash, number, self.root))

    @classmethod
    def parse(cls, text: Any) -> Self:
        """Return the cursor in `text`.

        Raises:
            ValueError: The text is no cursor of this kind.
        """
        content = decode_cursor(text, _VERSION, _HASH + _NUMBER + _HASH)
        block_hash, rest = content[:_HASH], content[_HASH:]
        number = BlockNumber(int.from_bytes(rest[:_NUMBER]))
        return cls(Head(number, Hash32(block_hash)), rest[_NUMBER:])


ADDRESS_BYTES: Final = 20
ABSENT: Final = (0, 0, bytes(32))
"""Nonce, balance and code hash of an account that does not exist, as in eth_getProof."""

Key: TypeAlias = bytes
"""Address of an account, or address and 32 bytes of a slot."""


class Failure(msgspec.Struct, frozen=True):
    """JSON-RPC error (code, message, data) published in place of an account's values."""

    code: int
    message: str
    data: Any


Value: TypeAlias = tuple[int, int, bytes] | bytes | Failure
"""Nonce, balance and code hash of an account, or the 32 bytes of a slot, or the error in their place."""
Values: TypeAlias = Mapping[Key, Value]


class PublishedValues(msgspec.Struct, frozen=True):
    """Values, and the block and state to which they belong."""

    cursor: StateCursor
    values: Any
    """`Values`, or the form that another kind of watch keeps."""


class BlockState(msgspec.Struct, frozen=True):
    """Block, the state after it, and the block's timestamp."""

    cursor: StateCursor
    timestamp: int


def read_values(state: State, head: Head, keys: Iterable[Key]) -> dict[Key, Value]:
    """Return the values of the keys after a block.

    Raises:
        StateError: The state after the block is not kept.
        MissingStateError: Some values are not known: on a forked chain, or in a light folder.
    """
    values, lacking = read_known_values(state, head, keys)
    if lacking:
        raise joined(lacking.values())
    return values


def read_known_values(
    state: State, head: Head, keys: Iterable[Key]
) -> tuple[dict[Key, Value], dict[Key, MissingStateError]]:
    """Return the known values after a block, and for each other key the error with its missing state.

    Raises:
        StateError: The state after the block is not kept.
    """
    values: dict[Key, Value] = {}
    lacking: dict[Key, MissingStateError] = {}
    for key in keys:
        try:
            values[key] = _read(state, (head.number, head.hash), key)
        except MissingStateError as error:
            # The frames of the traceback would keep the state open for as long as the error is kept.
            error.__traceback__ = None
            lacking[key] = error
    return values, lacking


def joined(errors: Iterable[MissingStateError]) -> MissingStateError:
    """Return one error with the missing state of all `errors`, to be fetched together."""
    some = list(errors)
    first = some[0]
    first.accounts = list(dict.fromkeys(each for error in some for each in error.accounts))
    first.slots = list(dict.fromkeys(each for error in some for each in error.slots))
    return first


def _read(state: State, block: tuple[int, bytes], key: Key) -> Value:
    if len(key) == ADDRESS_BYTES:
        return state.account(key, block) or ABSENT
    return state.storage(key[:ADDRESS_BYTES], key[ADDRESS_BYTES:], block)


def changes_of(before: Values | None, after: Values) -> dict[str, dict[str, Any]]:
    """Return changed members of accounts and slots, by address; without `before`, all members."""
    accounts: dict[str, dict[str, Any]] = {}
    for key, value in after.items():
        old = None if before is None else before[key]
        if value == old or _fails_again(old, value):
            continue
        members = accounts.setdefault(hexadecimal(key[:ADDRESS_BYTES]), {})
        if isinstance(value, Failure):
            members["error"] = value
        elif isinstance(value, bytes):
            members.setdefault("slots", {})[hexadecimal(key[ADDRESS_BYTES:])] = hexadecimal(value)
        else:
            members |= _changed_members(old, value)
    return accounts


def _fails_again(old: Value | None, new: Value) -> bool:
    """Return True if both are errors with one code; their texts may differ in the block they name."""
    return isinstance(old, Failure) and isinstance(new, Failure) and old.code == new.code


def _changed_members(old: Value | None, new: tuple[int, int, bytes]) -> dict[str, str]:
    nonce, balance, code_hash = new
    shown = (("nonce", hex(nonce)), ("balance", hex(balance)), ("codeHash", hexadecimal(code_hash)))
    if not isinstance(old, tuple):
        return dict(shown)
    return {
        name: text for (name, text), before, after in zip(shown, old, new, strict=True) if before != after
    }


def render_values(place: BlockState, accounts: Mapping[str, Any], *, is_complete: bool = False) -> bytes:
    """Return the result of a notification with values."""
    return msgspec.json.encode({**place_members(place, is_complete=is_complete), "accounts": accounts})


def place_members(place: BlockState, *, is_complete: bool) -> dict[str, Any]:
    """Return the members of a result that name the block of its values."""
    head = place.cursor.head
    block: dict[str, Any] = {
        "blockNumber": hex(head.number),
        "blockHash": hexadecimal(head.hash),
        "timestamp": hex(place.timestamp),
    }
    return {**block, "complete": True} if is_complete else block
