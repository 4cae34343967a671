"""Blocks and classes of a Starknet chain as the JSON of a dump, so that readers take them as imports do."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from wsnode.starknet.block import StarknetHeader, UnverifiedStarknetBlock
from wsnode.starknet.diff_json import decode_flat, nested_diff
from wsnode.starknet.dump.documents import read_document
from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.untrusted.decoding import JsonDecoder

MOST_NUMBER: Final = 2**63 - 1
"""Largest number of a block, and largest time in seconds."""


class UnreadableDocumentError(ValueError):
    """Error of a document that holds no block, or no classes; the text gives the reason."""


def block_document(view: StarknetSnapshot, number: int) -> bytes:
    """Return a stored block's header and state update as one JSON object."""
    row, diff = view.block(number), view.diff_text(number)
    assert row is not None, "the block is stored"
    assert diff is not None, "so is its diff"
    members: dict[str, Any] = {
        "block_hash": felt_text(row.hash),
        "block_number": number,
        "old_root": felt_text(row.old_root),
        "new_root": felt_text(row.new_root),
        "parent_hash": None if row.parent_hash is None else felt_text(row.parent_hash),
        "timestamp": row.timestamp,
        "starknet_version": row.version,
        "state_diff": nested_diff(decode_flat(diff)),
    }
    text = msgspec.json.encode({name: value for name, value in members.items() if value is not None})
    return text[:-1] + b"," + row.more[1:] if row.more else text


def read_block(text: bytes) -> UnverifiedStarknetBlock:
    """Return the block of a document.

    Raises:
        UnreadableDocumentError: The document holds no block.
    """
    document = read_document(text)
    update = document.update
    if update is None or update.number is None:
        raise UnreadableDocumentError(document.other or "it has no state update with a number")
    header = document.header or StarknetHeader(hash=update.hash)
    for number in (update.number, header.timestamp or 0):
        if not 0 <= number <= MOST_NUMBER:
            raise UnreadableDocumentError(f"{number} is no number of a block, nor a time")
    try:
        diff = update.diff()
    except ValueError as error:
        raise UnreadableDocumentError(str(error)) from None
    return UnverifiedStarknetBlock(
        number=update.number, header=header, old_root=update.old_root, new_root=update.new_root, diff=diff
    )


def classes_document(classes: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return definitions in the form of results, by hash, as one JSON object."""
    return msgspec.json.encode(
        {felt_text(class_hash): msgspec.Raw(rendered) for class_hash, rendered in classes}
    )


def read_classes(text: bytes) -> dict[bytes, bytes]:
    """Return the definitions of a document by hash, not yet verified.

    Raises:
        UnreadableDocumentError: The document holds no classes.
    """
    try:
        return {felt_bytes(name): bytes(definition) for name, definition in _decode(text).items()}
    except ValueError as error:
        raise UnreadableDocumentError(str(error)) from None


_decode = JsonDecoder[dict[str, msgspec.Raw]](dict[str, msgspec.Raw]).decode
