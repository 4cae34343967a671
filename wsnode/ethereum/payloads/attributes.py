"""What a consensus client decides about the block to build."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.state import BlockAttributes

Withdrawal: TypeAlias = tuple[int, int, bytes, int]
"""Index, validator's index, address, amount in gwei."""


_VERSIONS: Final[dict[tuple[bool, ...], int]] = {
    (False, False, False, False): 1,
    (True, False, False, False): 2,
    (True, True, False, False): 3,
    (True, True, True, True): 4,
}
"""Versions of the structure by which members are there: withdrawals, beacon root, slot, gas limit."""


class PayloadAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """The Engine API's payload attributes; time in seconds, None for what was not given."""

    timestamp: int
    prev_randao: Hash32
    fee_recipient: Address
    withdrawals: tuple[Withdrawal, ...] | None = None
    parent_beacon_block_root: Hash32 | None = None
    slot_number: int | None = None
    target_gas_limit: int | None = None

    @property
    def version(self) -> int:
        """Return which version of the structure it is, 1 to 4, or 0 if it has the members of none."""
        members = self.withdrawals, self.parent_beacon_block_root, self.slot_number, self.target_gas_limit
        return _VERSIONS.get(tuple(member is not None for member in members), 0)

    def identity(self, parent: bytes, method_version: int) -> bytes:
        """Return the 8 bytes that stand for building on a parent with these attributes."""
        content = msgspec.msgpack.encode((bytes(parent), self), enc_hook=bytes)
        return bytes((method_version,)) + keccak256(content)[:7]

    def decided(self, gas_limit: int, extra_data: bytes = b"") -> BlockAttributes:
        """Return the attributes as the engine takes them, with what the builder decides."""
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
