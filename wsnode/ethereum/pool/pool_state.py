"""State on which a pool stands, and the fees and limits of the next block."""

from typing import Final

import msgspec

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.head import Head
from wsnode.ethereum.pool.order import BlockSpace
from wsnode.ethereum.pool.sender import AccountState
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import State
from wsnode.ethereum.storage import state_patches

NO_CODE: Final = keccak256(b"")
DELEGATION: Final = b"\xef\x01\x00"


class PoolState(msgspec.Struct, frozen=True):
    """Head, its header row, and the fees and limits of the block after it."""

    head: Head
    header: bytes
    space: BlockSpace
    state_root: Hash32
    """Root of the state after the head, with its patches."""
    chain_id: int
    """Chain id of the block after the head."""

    def account(self, state: State, address: bytes) -> AccountState:
        """Return an account in the state after the head; an unknown account is empty."""
        block = self.head.number, self.head.hash
        found = state.account(address, block)
        if found is None:
            return AccountState(0, 0)
        nonce, balance, code_hash = found
        if code_hash == NO_CODE:
            return AccountState(nonce, balance)
        is_delegated = state.code(address, block).startswith(DELEGATION)
        return AccountState(nonce, balance, code_hash, is_delegated)


def standpoint(view: Snapshot) -> PoolState:
    """Return the pool state at the view's head."""
    header = view.header(view.number)
    assert header is not None, "the head is stored"
    fields = header_fields(header)
    blobs = view.spec.blob_parameters(fields.timestamp)
    space = BlockSpace(
        base_fee=view.spec.next_base_fee(fields),
        blob_fee=view.spec.next_blob_base_fee(fields),
        gas_limit=fields.gas_limit,
        blobs=blobs[1] if blobs else 0,
    )
    return PoolState(
        view.head, header, space, state_patches.state_root(view.reader, view.number), view.chain_id
    )
