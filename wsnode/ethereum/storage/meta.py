"""Rows about the whole chain: schema, genesis, head, safe and finalized block, and light client."""

from typing import Final

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.storage.tables import META, number_from, number_key
from wsnode.store.environment import Reader, Writer

_SCHEMA: Final = b"schema"
_GENESIS: Final = b"genesis"
HEAD: Final = b"head"
SAFE: Final = b"safe"
FINALIZED: Final = b"finalized"
LIGHT_CLIENT: Final = b"beacon"


def schema_version(reader: Reader) -> int | None:
    """Return the schema version of the store, None for a new store."""
    stored = reader.get(META, _SCHEMA)
    return None if stored is None else int.from_bytes(stored, "big")


def genesis_hash(reader: Reader) -> Hash32:
    """Return the hash of the genesis block with which the store was created."""
    return Hash32(reader.get(META, _GENESIS) or b"")


def begin(writer: Writer, version: int, genesis: Hash32) -> None:
    """Write the schema version and the genesis hash of a new store."""
    writer.put(META, _SCHEMA, version.to_bytes(4, "big"))
    writer.put(META, _GENESIS, genesis)


def marked_head(reader: Reader, mark: bytes) -> Head | None:
    """Return the block at a mark (`HEAD`, `SAFE` or `FINALIZED`), None when it is not set."""
    stored = reader.get(META, mark)
    return None if stored is None else Head(number_from(stored[:8]), Hash32(stored[8:]))


def set_mark(writer: Writer, mark: bytes, head: Head) -> None:
    """Move a mark to a block."""
    writer.put(META, mark, number_key(head.number) + head.hash)


def light_client_row(reader: Reader) -> bytes | None:
    """Return the row of the light client that proves the head, None if there is none."""
    return reader.get(META, LIGHT_CLIENT)


def put_light_client_row(writer: Writer, row: bytes) -> None:
    """Store the row of the light client that proves the head."""
    writer.put(META, LIGHT_CLIENT, row)
