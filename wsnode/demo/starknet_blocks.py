"""Blocks of an invented Starknet chain: any diffs become blocks with true roots, commitments and links."""

import hashlib
from typing import Any, Self

import msgspec

from wsnode.starknet.block import StarknetHeader, UnverifiedStarknetBlock
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.felt import ZERO, felt_text, number_felt
from wsnode.starknet.importer import head_of
from wsnode.starknet.native import StarknetTries, starknet_diff_commitment
from wsnode.starknet.roots import StateRoots
from wsnode.starknet.state_diff import StateDiff

VERSION = "0.14.1"
GENESIS_TIME = 1_700_000_000
BLOCK_SECONDS = 30
SEQUENCER = number_felt(0x5E9)
GAS_PRICE = {"price_in_fri": "0x1", "price_in_wei": "0x1"}


class StarknetBlockMaker:
    """Maker of one block after the other, from genesis on or after the head of a stored chain."""

    def __init__(self) -> None:
        self._tries = StarknetTries()
        self._number = 0
        self._hash = self._root = ZERO

    @classmethod
    def after_head(cls, chain: StarknetChain) -> Self:
        """Return a maker of the blocks that follow a chain's head."""
        maker = cls()
        with chain.reader() as reader:
            maker._tries = StateRoots.of_head(reader).tries
        with chain.snapshot() as snapshot:
            head = head_of(snapshot)
        if head is not None:
            number, maker._hash, maker._root = head
            maker._number = number + 1
        return maker

    def make(self, diff: StateDiff, timestamp: int | None = None) -> UnverifiedStarknetBlock:
        """Return the next block, with the changes `diff`; its time is `timestamp`, or else follows from its
        number.
        """
        self._tries.apply(*diff.packed())
        number, parent, old_root = self._number, self._hash, self._root
        self._number, self._root = number + 1, self._tries.root(True)
        self._hash = block_hash(number, parent, self._root)
        commitment = starknet_diff_commitment(*diff.packed(), b"".join(diff.deprecated))
        header = StarknetHeader(
            hash=self._hash,
            number=number,
            parent_hash=parent,
            root=self._root,
            timestamp=GENESIS_TIME + BLOCK_SECONDS * number if timestamp is None else timestamp,
            version=VERSION,
            commitment=commitment,
            more=header_members(diff, commitment),
        )
        return UnverifiedStarknetBlock(
            number=number, header=header, old_root=old_root, new_root=self._root, diff=diff
        )


def header_members(diff: StateDiff, commitment: bytes) -> dict[str, Any]:
    """Return the rest of a header: there are no transactions, and gas costs next to nothing."""
    return {
        "sequencer_address": felt_text(SEQUENCER),
        **{f"{kind}_gas_price": GAS_PRICE for kind in ("l1", "l2", "l1_data")},
        "l1_da_mode": "CALLDATA",
        **{f"{kind}_commitment": felt_text(ZERO) for kind in ("transaction", "event", "receipt")},
        "state_diff_commitment": felt_text(commitment),
        "transaction_count": 0,
        "event_count": 0,
        "state_diff_length": sum(map(len, msgspec.structs.astuple(diff))),
    }


def block_hash(number: int, parent: bytes, root: bytes) -> bytes:
    """Return a hash that no other block has; a real one would commit to transactions."""
    digest = hashlib.sha256(number.to_bytes(8, "big") + parent + root).digest()
    return bytes([digest[0] & 0x03]) + digest[1:]
