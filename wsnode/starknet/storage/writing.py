"""A block's rows in all tables, and their removal: the stored diff is the undo log."""

from collections.abc import Iterator

import msgspec

from wsnode.starknet.block import StateDiff, VerifiedStarknetBlock
from wsnode.starknet.body import StoredBody, decode_body
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.diff_json import decode_flat, flat_diff, state_diff
from wsnode.starknet.felt import ZERO, felt_bytes
from wsnode.starknet.storage.event_bloom import body_bloom
from wsnode.starknet.storage.tables import (
    BLOCKS,
    BODIES,
    CLASS_AT,
    CLASS_LEVEL,
    CLASSES,
    COMPILED_AT,
    DIFF_LEVEL,
    DIFFS,
    DROPPED,
    EVENT_BLOOMS,
    FIRST_BLOCK_KEY,
    FIRST_NAMED,
    INDEX_BYTES,
    META,
    MISSING,
    NONCE_AT,
    NUMBERS,
    STORAGE_AT,
    TRANSACTIONS,
    BlockRow,
    compress,
    decode_block,
    decompress,
    encode_block,
    entry_at,
    key_number,
    number_key,
)
from wsnode.store.environment import Writer
from wsnode.store.table import Table, last_key

DEPLOYED = b"\x01"
REPLACED = b"\x00"


def put_block(writer: Writer, block: VerifiedStarknetBlock, *, below: bool = False) -> None:
    """Write all rows of `block`, which is the next one, or the one `below` the first."""
    append = writer.put if below else writer.append
    number = number_key(block.number)
    header = block.header
    row = BlockRow(
        block.hash,
        header.parent_hash,
        block.old_root,
        block.new_root,
        header.timestamp,
        header.version,
        msgspec.json.encode(header.more) if header.more else b"",
    )
    append(BLOCKS, number, encode_block(row))
    append(DIFFS, number, compress(msgspec.json.encode(flat_diff(block.diff)), DIFF_LEVEL))
    if block.body is not None:
        put_body(writer, number, block.body, below=below)
    writer.put(NUMBERS, block.hash, number)
    writer.delete(DROPPED, block.hash)
    for table, subject, value in histories(block.diff):
        writer.put(table, subject + number, value)
    for class_hash in block.diff.named_classes():
        if (named := writer.get(FIRST_NAMED, class_hash)) is None or named > number:
            writer.put(FIRST_NAMED, class_hash, number)
            if writer.get(CLASSES, class_hash) is None:
                writer.put(MISSING, class_hash, number)


def put_body(writer: Writer, number: bytes, text: bytes, *, below: bool = False) -> None:
    """Write transactions and receipts of block `number`, their Bloom filter, and the places of
    transactions.
    """
    append = writer.put if below else writer.append
    append(BODIES, number, compress(text, DIFF_LEVEL))
    body = decode_body(text)
    append(EVENT_BLOOMS, number, body_bloom(body))
    for transaction_hash, place in transaction_places(number, body):
        writer.put(TRANSACTIONS, transaction_hash, place)


def transaction_places(number: bytes, body: StoredBody) -> Iterator[tuple[bytes, bytes]]:
    """Yield hash and place of each transaction of a block, as in the table `TRANSACTIONS`."""
    for index, transaction_hash in enumerate(body.hashes):
        yield felt_bytes(transaction_hash), number + index.to_bytes(INDEX_BYTES, "big")


def put_class(writer: Writer, found: ContractClass) -> None:
    """Write a class, which reorganisations do not remove."""
    text = bytes([found.kind]) + compress(found.rendered, CLASS_LEVEL)
    writer.put(CLASSES, found.class_hash, text)
    writer.delete(MISSING, found.class_hash)


def put_block_below(writer: Writer, block: VerifiedStarknetBlock) -> None:
    """Write all rows of `block`, the parent of the first stored block; it becomes the first block.

    The child's `old_root` was its source's word until now, so it is replaced by the state root of `block`.
    """
    key = number_key(block.number + 1)
    child = writer.get(BLOCKS, key)
    if child is not None and (row := decode_block(child)).old_root != block.new_root:
        writer.put(BLOCKS, key, encode_block(msgspec.structs.replace(row, old_root=block.new_root)))
    put_block(writer, block, below=True)
    writer.put(META, FIRST_BLOCK_KEY, number_key(block.number))


def prune_first_block(writer: Writer, number: int) -> None:
    """Remove the first block, `number`, which the window has left; the next block is the first one then.

    Of values that the window's blocks have not changed, histories keep the last one before the window.
    """
    key, following = number_key(number), writer.get(DIFFS, number_key(number + 1))
    row, body = writer.pop(BLOCKS, key), writer.pop(BODIES, key)
    writer.delete(DIFFS, key)
    if row is not None:
        writer.delete(NUMBERS, decode_block(row).hash)
    if body is not None:
        writer.delete(EVENT_BLOOMS, key)
        for transaction_hash, _ in transaction_places(key, decode_body(decompress(body))):
            writer.delete(TRANSACTIONS, transaction_hash)
    if following is not None:
        for table, subject, _ in histories(state_diff(decode_flat(decompress(following)))):
            if (entry := entry_at(writer, table, subject, number)) is not None:
                writer.delete(table, entry[0])
    writer.put(META, FIRST_BLOCK_KEY, number_key(number + 1))


def remove_blocks_above(writer: Writer, number: int) -> None:
    """Remove all blocks above `number`, the last one first."""
    while (key := last_key(writer, BLOCKS)) is not None and key_number(key) > number:
        _remove_block(writer, key_number(key))


def _remove_block(writer: Writer, number: int) -> None:
    key = number_key(number)
    row, frame = writer.pop(BLOCKS, key), writer.pop(DIFFS, key)
    if row is None or frame is None:
        return
    diff = state_diff(decode_flat(decompress(frame)))
    if (body := writer.pop(BODIES, key)) is not None:
        writer.delete(EVENT_BLOOMS, key)
        for transaction_hash, _ in transaction_places(key, decode_body(decompress(body))):
            writer.delete(TRANSACTIONS, transaction_hash)
    _note_dropped(writer, key, decode_block(row).hash)
    for table, subject, _ in histories(diff):
        writer.delete(table, subject + key)
    for class_hash in diff.named_classes():
        if writer.get(FIRST_NAMED, class_hash) == key:
            writer.delete(FIRST_NAMED, class_hash)
            writer.delete(MISSING, class_hash)


def _note_dropped(writer: Writer, key: bytes, block_hash: bytes) -> None:
    under = writer.get(BLOCKS, number_key(key_number(key) - 1)) if key_number(key) else None
    writer.delete(NUMBERS, block_hash)
    writer.put(DROPPED, block_hash, key + (ZERO if under is None else decode_block(under).hash))


def histories(diff: StateDiff) -> Iterator[tuple[Table, bytes, bytes]]:
    """Yield table, subject and value of each change of a block."""
    for address, key, value in diff.storage:
        yield STORAGE_AT, address + key, value.lstrip(b"\x00")
    replaced = dict(diff.replaced)
    deployed = dict(diff.deployed)
    for address, class_hash in diff.deployed:
        # If one block deploys a contract and replaces its class, the replacing class is stored, and the
        # contract still counts as new.
        yield CLASS_AT, address, replaced.get(address, class_hash) + DEPLOYED
    for address, class_hash in diff.replaced:
        if address not in deployed:
            yield CLASS_AT, address, class_hash + REPLACED
    for address, nonce in diff.nonces:
        yield NONCE_AT, address, nonce
    for class_hash, compiled in (*diff.declared, *diff.migrated):
        yield COMPILED_AT, class_hash, compiled
