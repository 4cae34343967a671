"""Structures of the Engine API: their versions, payload attributes, payload statuses, and built payloads."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, Literal, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import BuiltBlock, keccak256
from wsnode.ethereum.codec.rendering import render_payload
from wsnode.ethereum.pool.blobs import CELLS, Blob
from wsnode.ethereum.primitives.values import Address, Hash32, hexadecimal
from wsnode.ethereum.state import BlockAttributes, ChainSpec


class PayloadFork(IntEnum):
    """Forks with new structures in the Engine API, oldest first."""

    PARIS = 1
    SHANGHAI = 2
    CANCUN = 3
    PRAGUE = 4
    OSAKA = 5
    AMSTERDAM = 6


def payload_version(era: PayloadFork) -> int:
    """Return the version of ExecutionPayload and PayloadAttributes for blocks of an era."""
    return 4 if era >= PayloadFork.AMSTERDAM else min(era, PayloadFork.CANCUN)


def era_of(spec: ChainSpec, timestamp: int) -> PayloadFork:
    """Return the era of a block's timestamp, after the merge."""
    return PayloadFork(spec.engine_generation(timestamp))


BEFORE_THE_MERGE: Final = Hash32(bytes(32))
"""Hash in place of the last valid block if that is one of proof of work."""


class PayloadStatus(msgspec.Struct, frozen=True, rename="camel"):
    """Status of a payload or of a forkchoice's head (PayloadStatusV1 of the Engine API), with the hash of the
    latest valid block in hex, and the error; None becomes null.
    """

    status: Literal["VALID", "INVALID", "SYNCING", "ACCEPTED", "INVALID_BLOCK_HASH"]
    latest_valid_hash: str | None = None
    validation_error: str | None = None


SYNCING: Final = PayloadStatus("SYNCING")
ACCEPTED: Final = PayloadStatus("ACCEPTED")


def valid(block_hash: bytes) -> PayloadStatus:
    """Return the status of a valid block."""
    return PayloadStatus("VALID", hexadecimal(block_hash))


def invalid(latest_valid: bytes | None, error: str) -> PayloadStatus:
    """Return the status of an invalid block, or of a descendant of one."""
    return PayloadStatus("INVALID", None if latest_valid is None else hexadecimal(latest_valid), error)


def envelope(block: BuiltBlock, value: int, blobs: Sequence[Blob], era: PayloadFork) -> list[bytes]:
    """Return the JSON text of an era's engine_getPayload in pieces, since blobs make it large.

    `value` is the proposer's gain from the block, in wei.
    """
    payload = render_payload(block.header, block.body, block.access_list)
    pieces = [b'{"executionPayload":', payload, b',"blockValue":"0x%x"' % value]
    if era >= PayloadFork.CANCUN:
        pieces += [b',"blobsBundle":', *bundle(blobs), b',"shouldOverrideBuilder":false']
    if era >= PayloadFork.PRAGUE:
        pieces += [b',"executionRequests":', *_array(block.requests)]
    return [*pieces, b"}"]


def bundle(blobs: Sequence[Blob]) -> list[bytes]:
    """Return a blobs bundle in pieces: commitments, proofs and blobs."""
    return [
        b'{"commitments":',
        *_array([blob.commitment for blob in blobs]),
        b',"proofs":',
        *_array([proof for blob in blobs for proof in blob.proofs]),
        b',"blobs":',
        *_array([blob.content for blob in blobs]),
        b"}",
    ]


def blob_and_proofs(blob: Blob) -> list[bytes]:
    """Return a blob with the proofs of its cells, or with its single proof, in pieces."""
    pieces = [b'{"blob":"0x', blob.content.hex().encode()]
    if blob.has_cell_proofs:
        return [*pieces, b'","proofs":', *_array(blob.proofs), b"}"]
    return [*pieces, b'","proof":"0x', blob.proofs[0].hex().encode(), b'"}']


def cells_and_proofs(blob: Blob, cells: bytes, indices: Sequence[int]) -> list[bytes]:
    """Return the cells with these indices and their proofs, in pieces; `cells` has all cells in order."""
    size = len(cells) // CELLS
    named = (cells[index * size : (index + 1) * size] for index in indices)
    proofs = [blob.proofs[index] for index in indices]
    return [b'{"blob_cells":', *_array(named), b',"proofs":', *_array(proofs), b"}"]


def _array(items: Iterable[bytes]) -> Iterator[bytes]:
    """Yield an array of bytes in hexadecimal."""
    yield b"["
    for place, item in enumerate(items):
        yield b'"0x' if place == 0 else b',"0x'
        yield item.hex().encode()
        yield b'"'
    yield b"]"


Withdrawal: TypeAlias = tuple[int, int, bytes, int]
"""Withdrawal: index, validator's index, address, amount in gwei."""


_VERSIONS: Final[dict[tuple[bool, ...], int]] = {
    (False, False, False, False): 1,
    (True, False, False, False): 2,
    (True, True, False, False): 3,
    (True, True, True, True): 4,
}
"""Version of the structure by presence of withdrawals, beacon root, slot and gas limit."""


class PayloadAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """Payload attributes of the Engine API; time in seconds, None for members that were not sent."""

    timestamp: int
    prev_randao: Hash32
    fee_recipient: Address
    withdrawals: tuple[Withdrawal, ...] | None = None
    parent_beacon_block_root: Hash32 | None = None
    slot_number: int | None = None
    target_gas_limit: int | None = None

    @property
    def version(self) -> int:
        """Return the version of the structure, 1 to 4; 0 if its members fit no version."""
        members = self.withdrawals, self.parent_beacon_block_root, self.slot_number, self.target_gas_limit
        return _VERSIONS.get(tuple(member is not None for member in members), 0)

    def identity(self, parent: bytes, method_version: int) -> bytes:
        """Return the payload id, 8 bytes: the method's version, and a hash of parent and attributes."""
        content = msgspec.msgpack.encode((bytes(parent), self), enc_hook=bytes)
        return bytes((method_version,)) + keccak256(content)[:7]

    def decided(self, gas_limit: int, extra_data: bytes = b"") -> BlockAttributes:
        """Return the attributes in the engine's form, with the builder's gas limit and extra data."""
        withdrawals: Sequence[Withdrawal] = self.withdrawals or ()
        return BlockAttributes(
            timestamp=self.timestamp,
            fee_recipient=self.fee_recipient,
            prev_randao=self.prev_randao,
            gas_limit=gas_limit,
            parent_beacon_block_root=self.parent_beacon_block_root or bytes(32),
            extra_data=extra_data,
            withdrawals=withdrawals,
            slot_number=self.slot_number,
        )
