"""Attributes of a block to build, decided by a consensus client."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.state import BlockAttributes

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
